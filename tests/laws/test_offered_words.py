"""What models read about tools is in words they can know: no class of ours is named in it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from dragoman import Toolset
from dragoman.dialects import DIALECTS
from dragoman.engine import Facade
from dragoman.model import operations, outcomes
from dragoman.registry import TOOLS

CLASSES = {
    name
    for module in (operations, outcomes)
    for name, value in vars(module).items()
    if inspect.isclass(value) and re.fullmatch(r"(?:[A-Z][a-z]+){2,}", name)
}


def texts(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a definition, with the path to it."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from texts(inner, f"{where}/{key}")
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from texts(inner, f"{where}/{number}")


def class_names_in(definition: Any) -> list[tuple[str, str]]:
    return [
        (where, word)
        for where, text in texts(msgspec.to_builtins(definition))
        for word in sorted(set(re.findall(r"\w+", text)) & CLASSES)
    ]


def test_the_names_that_must_not_occur_are_found() -> None:
    assert {"StopCommand", "EditFile", "CommandOutcome"} <= CLASSES
    assert class_names_in({"description": ["Runs until StopCommand."]}) == [("/description/0", "StopCommand")]


@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_no_definition_names_a_class_of_ours(dialect: str) -> None:
    facade = Facade(DIALECTS[dialect], Toolset([TOOLS[name] for name in TOOLS]))
    named = {one.name: class_names_in(one) for one in facade.definitions}
    assert {name: found for name, found in named.items() if found} == {}
    assert named


@pytest.mark.parametrize("name", list(TOOLS))
def test_no_tool_names_a_class_of_ours(name: str) -> None:
    tool = TOOLS[name]
    assert class_names_in({"description": tool.description, "parameters": tool.parameters}) == []
