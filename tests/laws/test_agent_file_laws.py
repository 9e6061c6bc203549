"""Laws of agent files: whatever a file holds, it is an agent or a `DefinitionError` that names the file and lines."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dragoman import config
from dragoman.agents import find_agents, parse_agent
from dragoman.agents.frontmatter import AGENT_FORMATS
from dragoman.errors import DefinitionError
from tests.strategies import JSON, TEXT

VALID: dict[str, dict[str, Any]] = {
    "dragoman": {
        "name": "librarian",
        "description": "Answers questions.",
        "model": "openai:gpt-5",
        "dialect": "claude_code",
        "tools": ["read_file", "Grep", {"name": "one", "description": "One.", "prompt": "Do it."}],
        "custom_tools": [
            {
                "name": "summarise",
                "description": "Sum up one file.",
                "model": "openai:gpt-5",
                "parameters": {
                    "path": {"type": "string", "description": "The file.", "default": "a", "required": True},
                    "many": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}},
                },
                "result_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "$defs": {}},
                "limits": {"max_turns": 3, "timeout": 5},
                "repairs": 1,
                "prompt": "Read {{path}}.",
            },
            {
                "name": "whole",
                "description": "With a schema.",
                "parameters": {"type": "object", "properties": {"a": {"default": 1}}, "required": ["a"], "$defs": {}},
                "prompt": "Do it.",
            },
        ],
        "limits": {"max_depth": 2, "max_tokens": 100},
        "policy": {
            "default": "ask",
            "allow": ["read", {"path": "a*"}],
            "deny": "command:rm *",
            "ask": ["execute"],
            "results": {"read_file": 5},
            "retry": {"times": 2},
            "allowed": ["*"],
        },
        "mcp_servers": {"files": {"command": "x", "args": ["a"], "env": {"A": "b"}, "timeout": 5}},
    },
    "claude_code": {
        "name": "reviewer",
        "description": "Reviews.",
        "tools": ["Read", "Bash(git diff:*)", "mcp__github__*"],
        "disallowedTools": "Write, Edit",
        "model": "opus",
        "permissionMode": "plan",
        "maxTurns": 5,
        "mcpServers": ["slack", {"github": {"type": "http", "url": "http://x", "headers": {"A": "b"}}}],
        "hooks": {"Stop": [{"command": "x"}]},
    },
    "opencode": {
        "description": "Reviews.",
        "mode": "subagent",
        "model": "anthropic/claude-x",
        "tools": {"write": False, "bash": True},
        "permission": {"edit": "deny", "bash": {"git *": "allow", "*": "ask"}, "github_*": "deny"},
        "steps": 5,
    },
    "gemini_cli": {
        "name": "reviewer",
        "description": "Reviews.",
        "kind": "local",
        "tools": ["read_file", "mcp_github_x", "*"],
        "max_turns": 3,
        "timeout_mins": 5,
        "model": "gemini-2.5-pro",
        "temperature": 0.5,
        "mcp_servers": {"a": {"http_url": "http://x", "timeout": 500, "include_tools": ["x"], "exclude_tools": ["y"]}},
    },
    "codex": {
        "name": "reviewer",
        "description": "Reviews.",
        "developer_instructions": "Review.",
        "model": "gpt-5",
        "model_provider": "openai",
        "sandbox_mode": "read-only",
        "approval_policy": "never",
        "web_search": "disabled",
        "mcp_servers": {
            "a": {"command": "x", "env_vars": ["A"], "tool_timeout_sec": 5},
            "b": {"url": "http://x", "env_http_headers": {"A": "B"}, "bearer_token_env_var": "C"},
        },
    },
}


def places(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*place, key))


WORDS = sorted(
    {part for values in VALID.values() for place in places(values) for part in place if isinstance(part, str)}
)
NUMBERS = st.sampled_from([0, -1, 1, 2**70, -(10**30), 0.5, float("inf"), float("-inf"), float("nan"), 1e308])
SCHEMAS = st.sampled_from(
    [{"$ref": "#"}, {"$ref": "#/$defs/x"}, {"$ref": "http://127.0.0.1:9/x"}, {"type": "object"}, {"pattern": "("}]
)
ODD = JSON | NUMBERS | SCHEMAS | st.sampled_from(WORDS) | st.dictionaries(st.sampled_from(WORDS), JSON, max_size=2)


@st.composite
def spoiled(draw: st.DrawFn, format: str) -> dict[str, Any]:
    """What a good file says, with a few of its values replaced, removed or moved."""
    values = copy.deepcopy(VALID[format])
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from([place for place in places(values) if place]))
        holder: Any = values
        for step in way:
            holder = holder[step]
        match draw(st.sampled_from(["replace", "remove", "rename", "swap"])):
            case "remove":
                del holder[last]
            case "rename" if isinstance(holder, dict):
                holder[draw(st.sampled_from(WORDS) | TEXT)] = holder.pop(last)
            case "swap":
                other = draw(st.sampled_from([place for place in places(values) if place]))
                moved: Any = values
                for step in other:
                    moved = moved[step]
                holder[last] = copy.deepcopy(moved)
            case _:
                holder[last] = copy.deepcopy(draw(ODD))
        if not values:
            break
    return values


def toml_of(values: dict[str, Any]) -> str:
    """Values as TOML; what it cannot say is left out."""

    def said(value: Any) -> str | None:
        if isinstance(value, dict):
            inner = [f"{json.dumps(key)} = {one}" for key, each in value.items() if (one := said(each)) is not None]
            return f"{{{', '.join(inner)}}}"
        if isinstance(value, list):
            return f"[{', '.join(one for each in value if (one := said(each)) is not None)}]"
        if isinstance(value, float) and value != value:
            return "nan"
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            return "inf" if value > 0 else "-inf"
        return None if value is None else json.dumps(value)

    lines = [f"{json.dumps(key)} = {one}" for key, value in values.items() if (one := said(value)) is not None]
    return "\n".join([*lines, ""])


def text_of(format: str, values: dict[str, Any]) -> str:
    if format == "codex":
        return toml_of(values)
    rows = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in values.items()]
    return "\n".join(["---", *rows, "---", "Instructions.", ""])


def path_of(format: str) -> str:
    return f"folder/some.{'toml' if format == 'codex' else 'md'}"


def is_agent_or_problems_with_lines(text: str, format: str) -> None:
    path, raised = path_of(format), None
    try:
        agent = parse_agent(text, path=path, format=format)
    except DefinitionError as error:
        raised = error
    if raised is None:
        assert (bool(agent.name), agent.path) == (True, path)
        return
    assert (raised.where, bool(raised.problems)) == (path, True)
    for problem in raised.problems:
        found = re.match(r"line (\d+): (?s:.)", problem)
        assert found, problem
        assert 1 <= int(found[1]) <= text.count("\n") + 1, problem


@pytest.mark.parametrize("format", AGENT_FORMATS)
def test_the_good_files_are_good(format: str) -> None:
    assert parse_agent(text_of(format, VALID[format]), path=path_of(format), format=format).name


ODD_ONES: tuple[Any, ...] = (None, 5, "x", ["x", 1], {"x": {"x": ["x"]}})


@pytest.mark.parametrize("format", AGENT_FORMATS)
@pytest.mark.slow
def test_any_one_wrong_value_is_an_agent_or_its_problems_with_their_lines(format: str) -> None:
    for *way, last in (place for place in places(VALID[format]) if place):
        for odd in ODD_ONES:
            values = copy.deepcopy(VALID[format])
            holder: Any = values
            for step in way:
                holder = holder[step]
            holder[last] = odd
            is_agent_or_problems_with_lines(text_of(format, values), format)


@pytest.mark.parametrize("format", AGENT_FORMATS)
@given(data=st.data())
def test_a_file_with_wrong_values_is_an_agent_or_its_problems_with_their_lines(
    format: str, data: st.DataObject
) -> None:
    is_agent_or_problems_with_lines(text_of(format, data.draw(spoiled(format))), format)


YAML_PIECES = [
    *(
        "---",
        "...",
        "- ",
        ": ",
        "? ",
        "&a ",
        "*a",
        "<<: *a",
        "!!python/object/apply:os.system [x]",
        "!!binary x",
        "!x y",
    ),
    *(
        "{",
        "}",
        "[",
        "]",
        "'",
        '"',
        "|",
        ">-",
        "#",
        "%YAML 9.9",
        "\t",
        "\r",
        "\x00",
        "\x1b[31m",
        "\ud800",
        "\u2028",
        "\x85",
    ),
    *(
        "name: x\nname: y",
        "1: x",
        "~: x",
        "? [a]\n: b",
        "x: &a {y: *a}",
        "=",
        "0x10",
        "1_0",
        "12:30:45",
        "yes",
        "2024-01-01",
    ),
    *(
        "\ufeff",
        "[" * 300,
        "{a: " * 300,
        "- " * 300,
        "9" * 5000,
        "name: [",
        "parameters: x",
        "tools: {a: b}",
        "'''",
        '"""',
    ),
]


@pytest.mark.parametrize("format", AGENT_FORMATS)
@given(
    cuts=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(YAML_PIECES) | st.text(max_size=6)), max_size=4
    )
)
def test_a_file_with_spoiled_text_is_an_agent_or_its_problems_with_their_lines(
    format: str, cuts: list[tuple[float, int, str]]
) -> None:
    text = text_of(format, VALID[format])
    for where, length, put in cuts:
        at = int(where * len(text))
        text = text[:at] + put + text[at + length :]
    is_agent_or_problems_with_lines(text, format)


@given(source=st.binary(max_size=80), kept=st.booleans())
def test_any_bytes_are_an_agent_or_its_problems_and_the_others_are_still_listed(
    source: bytes, kept: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("law")
    folder = root / "agents"
    folder.mkdir()
    good = text_of("dragoman", VALID["dragoman"])
    (folder / "good.md").write_text(good)
    (folder / "odd.md").write_bytes(good.encode()[:200] + source + good.encode()[200:] if kept else source)
    configuration = config.load(cwd=root, environ={"DRAGOMAN_CONFIG_DIR": str(root / "config")})
    found = {one.path.name: one for one in find_agents(configuration, root) if one.path.is_relative_to(root)}
    assert sorted(found) == ["good.md", "odd.md"]
    assert (found["good.md"].agent is None, found["odd.md"].agent is None) == (False, bool(found["odd.md"].problems))


def test_a_letter_that_a_key_writes_in_two_halves_is_that_letter() -> None:
    agent = parse_agent('---\nname: a\nmcp_servers: {"\\ud83d\\ude00": {command: x}}\n---\n', path="a.md")
    assert list(agent.mcp_servers) == ["\U0001f600"]
    is_agent_or_problems_with_lines('---\nname: a\nmcp_servers: {"\\ud83d": {command: x}}\n---\n', "dragoman")


def test_examples_are_read() -> None:
    for file in sorted((Path(__file__).parents[2] / "examples" / "agents").glob("*.md")):
        assert parse_agent(file.read_text(), path=str(file)).name
