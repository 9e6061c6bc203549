"""A law of what an API and a model are said to take: every knob is set by somebody and read by somebody."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import msgspec
import pytest

import dragoman
from dragoman.model.request import Features, Limits

SOURCES = Path(dragoman.__file__).parent
HOLDERS = re.compile(r"(?:.*\.)?_?(?:features|limits)(?:\(.*\))?", re.DOTALL)
"""How the code names a value of one of the two types; `rules` and `ways` are made from them field by field."""


@cache
def _nodes() -> tuple[ast.AST, ...]:
    trees = [ast.parse(path.read_text("utf-8")) for path in SOURCES.rglob("*.py") if path.name != "request.py"]
    return tuple(node for tree in trees for node in ast.walk(tree))


def is_set(field: str) -> bool:
    """By a keyword, or by a key of a row of a family of models."""
    return any(
        (isinstance(node, ast.keyword) and node.arg == field)
        or (isinstance(node, ast.Dict) and any(isinstance(k, ast.Constant) and k.value == field for k in node.keys))
        for node in _nodes()
    )


def is_read(field: str) -> bool:
    """As an attribute of what is called features or limits."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == field and HOLDERS.fullmatch(ast.unparse(node.value))
        for node in _nodes()
    )


@pytest.mark.parametrize(
    "field", [f"{one.__name__}.{name}" for one in (Limits, Features) for name in one.__struct_fields__]
)
def test_every_limit_and_feature_is_set_and_read(field: str) -> None:
    name = field.partition(".")[2]
    assert (is_set(name), is_read(name)) == (True, True)


def test_a_knob_that_nobody_turns_is_found() -> None:
    class Dead(msgspec.Struct):
        parameter_colours: int = 0

    (name,) = Dead.__struct_fields__
    assert (is_set(name), is_read(name)) == (False, False)
