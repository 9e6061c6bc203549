"""`make mapping` writes docs/reference/public.md with it: every public name, its module, and how stable it is."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

from tests.repository.test_doors import DOORS

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "public.md"

HEAD = """\
# Everything public

This page is generated (`make mapping`). A name is public if it is listed here, and you import it from the module it is
listed under. Everything else is internal and may change in any release.

**Stable** names change only with a [deprecation](../release.md#deprecation): those of `dragoman` itself, of
`dragoman.errors`, and the data of `dragoman.model` (operations, outcomes, calls, messages, requests and events; the
reference lists them).

**Provisional** names are meant for use and may change in a minor release (0.3, 0.4, …), with a line in the changelog
that says what to write instead.
"""


def stability(door: str) -> str:
    return "Stable" if door in ("dragoman", "dragoman.errors", "dragoman.model") else "Provisional"


def kind_of(value: object) -> str:
    if inspect.isclass(value):
        return "error" if issubclass(value, BaseException) else "class"
    return "function" if inspect.isroutine(value) else "value"


def text() -> str:
    parts = [HEAD]
    for door, names in DOORS.items():
        if door.split(".")[1:2] == ["cli"]:
            continue
        module = import_module(door)
        rows = [f"| `{name}` | {kind_of(getattr(module, name))} |\n" for name in sorted(names)]
        parts.append(f"## {door}\n\n{stability(door)}.\n\n| name | kind |\n|---|---|\n{''.join(rows)}")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(text())
