"""Choices that are the same are written in the same order.

`typing` takes `Literal["a", "b"] | None` and `Literal["b", "a"] | None` for one type and keeps the one it met first, so
the order of what is offered to a model, and every sample made of it, would depend on what was imported before.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
# Parsing every module takes seconds; the choices of a type have no brackets of their own.
_CHOICES = re.compile(r"\bLiteral(\[[^\]]*\])")


def choices_in(text: str) -> list[tuple[int, tuple[object, ...]]]:
    """The line of each list of choices, and its values."""
    found = []
    for match in _CHOICES.finditer(text):
        listed = ast.parse(f"({match[1]})", mode="eval").body
        assert isinstance(listed, ast.List)
        values = tuple(value.value for value in listed.elts if isinstance(value, ast.Constant))
        found.append((text.count("\n", 0, match.start()) + 1, values))
    return found


def test_the_same_choices_are_written_in_one_order() -> None:
    orders: dict[frozenset[object], dict[tuple[object, ...], str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for line, values in choices_in(path.read_text()):
            orders.setdefault(frozenset(values), {}).setdefault(values, f"{path.name}:{line}")
    assert [found for found in orders.values() if len(found) > 1] == []


@pytest.mark.parametrize(
    "text, choices",
    [
        ('x: Literal["a", "b"] | None\ny: Literal["b", "a"]', [(1, ("a", "b")), (2, ("b", "a"))]),
        ('A = Literal[\n    "a",\n    # why\n    "b",\n]', [(1, ("a", "b"))]),
        ('typing.Literal["a", 1, True, None]', [(1, ("a", 1, True, None))]),
        ("Literal[*NAMES]", [(1, ())]),
    ],
)
def test_choices_are_found_as_a_parser_finds_them(text: str, choices: list[tuple[int, tuple[object, ...]]]) -> None:
    assert choices_in(text) == choices
