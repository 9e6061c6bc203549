"""Every operation a dialect speaks has a saying, so that a person can read how it is said."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from dragoman.dialects import DIALECTS
from dragoman.model import operations as op

BY_LOOP = {"plain"}  # test_plain says every operation there is


@cache
def _said() -> dict[str, set[str]]:
    """Dialect → names of operations that stand in a `says(…)` for it, read from the sayings themselves."""
    found: dict[str, set[str]] = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for function in ast.parse(path.read_text()).body:
            operations = {
                node.attr
                for node in ast.walk(function)
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "op"
            }
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "says":
                    for dialect in _dialects(call):
                        found.setdefault(dialect, set()).update(operations)
    return found


def _dialects(says: ast.Call) -> set[str]:
    """The dialects a saying names; one that is a word of Python's own stands in `**{"continue": …}`."""
    unpacked = [keyword.value for keyword in says.keywords if keyword.arg is None]
    keys = [key for value in unpacked if isinstance(value, ast.Dict) for key in value.keys]
    return {keyword.arg for keyword in says.keywords if keyword.arg is not None} | {
        str(key.value) for key in keys if isinstance(key, ast.Constant)
    }


@pytest.mark.parametrize("name", [name for name in DIALECTS.built_in if name not in BY_LOOP])
def test_every_operation_a_dialect_speaks_is_said(name: str) -> None:
    dialect = DIALECTS[name]
    spoken = {one.__name__ for one in op.OPERATIONS.values() if dialect.speaks(one)}
    assert spoken - _said().get(name, set()) == set()
