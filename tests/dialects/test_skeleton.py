"""The first draft of a dialect, made from captured definitions: what it guesses is what a known dialect means."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialects import DIALECTS
from dragoman.dialects.plugins import Captured, captured_tools, drafted
from dragoman.dialects.plugins.from_data import from_source
from dragoman.dialects.plugins.laws import TO_DO
from dragoman.errors import DefinitionError
from dragoman.model import operations as op
from dragoman.model.calls import NativeCall


def captured(dialect: str, *names: str) -> list[Captured]:
    """Tools as a request of the client's offers them."""
    definitions = [one for one in DIALECTS[dialect].definitions() if getattr(one, "parameters", None) is not None]
    listed = [
        {"name": one.name, "description": one.description, "input_schema": one.parameters}  # type: ignore[union-attr]
        for one in definitions
        if one.name in names
    ]
    tools, notes = captured_tools(listed)
    assert notes == []
    return tools


def table(*tools: Captured) -> list[dict[str, Any]]:
    return list(tomllib.loads(drafted("draft", tools))["tools"])


@pytest.mark.parametrize(
    "dialect, name, arguments",
    [
        ("claude_code", "Read", {"file_path": "a.py", "offset": 3, "limit": 4}),
        ("claude_code", "Write", {"file_path": "a.py", "content": "x"}),
        ("gemini_cli", "write_file", {"file_path": "a.py", "content": "x"}),
        ("opencode", "glob", {"pattern": "*.py", "path": "src"}),
        ("pi", "bash", {"command": "ls", "timeout": 5}),
        ("qwen_code", "run_shell_command", {"command": "ls", "is_background": False}),
    ],
)
def test_a_draft_of_a_known_tool_reads_its_calls_as_the_known_one_does(
    dialect: str, name: str, arguments: dict[str, Any]
) -> None:
    draft = from_source(Path("draft.toml"), drafted("draft", captured(dialect, name)).encode())
    call = NativeCall("1", name, arguments)
    assert draft.read_call(call).operations == DIALECTS[dialect].read_call(call).operations != ()


def test_a_draft_says_which_fields_its_tool_has_no_parameter_for_and_no_others() -> None:
    whole = Captured("Read", "Read.", {"properties": {"file_path": {"type": "string"}}, "required": ["file_path"]})
    (few,) = table(whole)
    assert few["operation"] == "read_file"
    assert few["parameters"].keys() == {"file_path"}
    assert few["unsaid"].keys() == set(op.ReadFile.__struct_fields__) - {"path"}
    (write,) = table(*captured("claude_code", "Write"))
    said = {one["means"] for one in write["parameters"].values()}
    assert write.get("unsaid", {}).keys() == set(op.WriteFile.__struct_fields__) - said
    (wait,) = table(*captured("claude_code", "TaskStop"))
    assert wait.get("unsaid", {}).keys() & {one.get("means") for one in wait["parameters"].values()} == set()


def test_of_an_unknown_tool_nothing_is_guessed() -> None:
    schema = {"properties": {"colour": {"type": ["null", "string"]}, "depth": {"anyOf": [{"type": "integer"}]}}}
    (tool,) = table(Captured("paint_the_shed", "", schema))
    assert tool["operation"] == TO_DO
    kinds = {name: one["type"] for name, one in tool["parameters"].items()}
    assert kinds == {"colour": "string", "depth": "integer"}
    assert "unsaid" not in tool


def test_captured_tools_are_found_in_the_form_of_every_api() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    forms: list[Any] = [
        {"name": "f", "description": "d", "input_schema": schema},
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": schema}},
        {"functionDeclarations": [{"name": "f", "description": "d", "parametersJsonSchema": schema}]},
        {"functionDeclarations": [{"name": "f", "description": "d", "parameters": {**schema, "type": "OBJECT"}}]},
    ]
    for form in forms:
        assert captured_tools([form]) == ([Captured("f", "d", schema)], [])
    tools, notes = captured_tools([{"type": "namespace", "name": "n", "tools": [forms[0]]}, {"type": "web_search"}])
    assert tools == [Captured("f", "d", schema, "n")]
    assert notes == ["left out, the provider's own: web_search"]
    with pytest.raises(DefinitionError, match="tool 1 is no object"):
        captured_tools(["f"])
