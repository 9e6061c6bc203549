"""Names say what a value is: no function, class or field is called by a participle that could be anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SOURCE = Path(__file__).parents[2] / "src" / "dragoman"
VAGUE: Final = frozenset({"told", "heard", "kept", "said", "found"})
STORED: Final = {
    "logs/archive.py: KeptLog.kept",
    "logs/history/rows.py: StepRow.said",
    "model/events.py: Step.said",
    "model/file_operations.py: Edit.kept",
}
"""What recordings, tables and other people's queries name."""
LEFT: Final = {
    "logs/export/markup.py: Markup.said",
    "logs/export/transcript.py: Part.said",
    "logs/export/transcript.py: Said",
    "logs/history/discover.py: Found",
}
"""Older names that nobody has changed yet: the list may only get shorter."""


def names_in(body: list[ast.stmt], owner: str = "") -> Iterator[str]:
    """The functions, classes, methods and fields that a module defines; what is inside functions is left out."""
    for one in body:
        if isinstance(one, ast.ClassDef):
            yield f"{owner}{one.name}"
            yield from names_in(one.body, f"{one.name}.")
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{owner}{one.name}"
        elif owner and isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            yield f"{owner}{one.target.id}"


def test_no_public_name_is_a_participle_that_could_be_anything() -> None:
    vague = {
        f"{path.relative_to(SOURCE).as_posix()}: {name}"
        for path in SOURCE.rglob("*.py")
        for name in names_in(ast.parse(path.read_text()).body)
        if name.rpartition(".")[2].lower() in VAGUE and not name.startswith("_")
    }
    assert vague - STORED - LEFT == set()
    assert vague == STORED | LEFT
