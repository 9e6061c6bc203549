"""Doors: the names a package lets others import, each loaded on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any


def door(package: str, homes: Mapping[str, Sequence[str]]) -> tuple[list[str], Callable[[str], Any]]:
    """The `__all__` and the `__getattr__` of a package whose modules (`homes`) have these names.

    A type checker is told the same with plain imports: see any door that uses it. `dir` of the package lists the names,
    so that editors and shells complete them.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home_of:
            raise unknown_name(package, name, home_of)
        return getattr(import_module(f".{home_of[name]}", package), name)

    module = sys.modules[package]
    vars(module)["__dir__"] = lambda: sorted({*vars(module), *home_of})
    return sorted(home_of), load


def unknown_name(package: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error for a name that a package does not have, with the nearest one that it has."""
    from difflib import get_close_matches

    near = [] if name.startswith("_") else get_close_matches(name, known, 1)
    meant = f'. Did you mean "{near[0]}"?' if near else ""
    return AttributeError(f"module {package!r} has no attribute {name!r}{meant}")
