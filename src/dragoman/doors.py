"""Doors: the names a package lets others import, each loaded on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def door(package: str, homes: Mapping[str, Sequence[str]]) -> tuple[list[str], Callable[[str], Any]]:
    """The `__all__` and the `__getattr__` of a package whose modules (`homes`) have these names.

    A type checker is told the same with plain imports: see any door that uses it.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f".{home_of[name]}", package), name)

    return sorted(home_of), load
