"""The list of public names that `make docs` adds to docs/reference/public.md: modules, names, and how stable they are.

It is made when the site is built and not kept, so it is never out of date.
"""

from __future__ import annotations

import inspect
from importlib import import_module

from tests.repository.test_doors import DOORS


def stability(door: str) -> str:
    return "Stable" if door in ("dragoman", "dragoman.errors", "dragoman.model") else "Provisional"


def kind_of(value: object) -> str:
    if inspect.isclass(value):
        return "error" if issubclass(value, BaseException) else "class"
    return "function" if inspect.isroutine(value) else "value"


def text() -> str:
    parts = list[str]()
    for door, names in DOORS.items():
        if door.split(".")[1:2] == ["cli"]:
            continue
        module = import_module(door)
        rows = [f"| `{name}` | {kind_of(getattr(module, name))} |\n" for name in sorted(names)]
        parts.append(f"## {door}\n\n{stability(door)}.\n\n| name | kind |\n|---|---|\n{''.join(rows)}")
    return "\n".join(parts)
