"""Choices that are the same are written in the same order.

`typing` takes `Literal["a", "b"] | None` and `Literal["b", "a"] | None` for one type and keeps the one it met first, so
the order of what is offered to a model, and every sample made of it, would depend on what was imported before.
"""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def test_the_same_choices_are_written_in_one_order() -> None:
    orders: dict[frozenset[object], dict[tuple[object, ...], str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
                names = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                values = tuple(name.value for name in names if isinstance(name, ast.Constant))
                orders.setdefault(frozenset(values), {}).setdefault(values, f"{path.name}:{node.lineno}")
    assert [found for found in orders.values() if len(found) > 1] == []
