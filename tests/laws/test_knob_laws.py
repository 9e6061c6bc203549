"""A law of what an API and a model are said to take: every knob is set by somebody and read by somebody."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import dragoman
from dragoman.model.request import Features, Limits

SOURCES = Path(dragoman.__file__).parent
HOLDERS = re.compile(r"(?:.*\.)?_?(?:features|limits)(?:\(.*\))?", re.DOTALL)
"""How the code names a value of one of the two types; `rules` and `ways` are made from them field by field."""


FIELDS = {name for one in (Limits, Features) for name in one.__struct_fields__}


class Knobs:
    """The names that modules set and read."""

    def __init__(self, *sources: str) -> None:
        self.set: set[str] = set()
        self.read: set[str] = set()
        for source in sources:
            for node in ast.walk(ast.parse(source)):
                self._add(node)

    def _add(self, node: ast.AST) -> None:
        match node:
            case ast.keyword(arg=str(name)):
                self.set.add(name)
            case ast.Dict(keys=keys):  # a row of a family of models
                self.set |= {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
            case ast.Attribute(value=holder, attr=name):
                if name not in self.read and HOLDERS.fullmatch(ast.unparse(holder)):
                    self.read.add(name)


@cache
def knobs() -> Knobs:
    """Of every module that has the name of a field in it: parsing all of them takes seconds."""
    names = re.compile(rf"\b(?:{'|'.join(FIELDS)})\b")
    texts = [path.read_text("utf-8") for path in SOURCES.rglob("*.py") if path.name != "request.py"]
    return Knobs(*(text for text in texts if names.search(text)))


@pytest.mark.parametrize(
    "field", [f"{one.__name__}.{name}" for one in (Limits, Features) for name in one.__struct_fields__]
)
@pytest.mark.slow
def test_every_limit_and_feature_is_set_and_read(field: str) -> None:
    name = field.partition(".")[2]
    assert (name in knobs().set, name in knobs().read) == (True, True)


def test_a_knob_that_nobody_turns_is_found() -> None:
    found = Knobs("f(a=1)\n{'b': 2}\nself._limits.c\nfeatures(x).d\nother.e\ng = 1\n")
    assert (found.set, found.read) == ({"a", "b"}, {"c", "d"})
