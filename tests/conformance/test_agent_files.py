"""Agent files of other clients against what those clients really offered and what their models really called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.agents import parse_agent
from dragoman.agents.tool_words import meant_by, words_of
from dragoman.dialects import DIALECTS
from dragoman.model import operations as op
from tests.conformance import vocabulary as vocab

LISTED: dict[str, tuple[str, Callable[[list[str]], str]]] = {
    # client → its dialect, and how its agent files list tools
    "claude-code": ("claude_code", lambda names: f"tools: {', '.join(names)}"),
    "gemini-cli": ("gemini_cli", lambda names: f"tools: [{', '.join(names)}]"),
    "opencode": ("opencode", lambda names: f"tools: {{{', '.join(f'{name}: true' for name in names)}}}"),
}
# Tools of the servers that the captured runs were given beside the client's own.
STRANGERS = ("toy", "mcp")


def offered(shared: Path, client: str) -> list[str]:
    """Every name that any version of the client offered under its own name."""
    names = {name for one in vocab.capture_of(shared, client).tool_sets for name in one.names}
    return sorted(name for name in names if not name.startswith(STRANGERS))


@pytest.mark.parametrize("client", LISTED)
def test_every_tool_a_client_ever_offered_can_be_listed_in_its_agent_files(client: str, shared: Path) -> None:
    format, listed = LISTED[client]
    names = offered(shared, client)
    assert len(names) >= 15
    agent = parse_agent(f"---\nname: a\ndescription: d\n{listed(names)}\n---\nx", path="a.md", format=format)
    meant = {tag for name in names for tag in words_of(format)[name]}
    if format == "opencode":  # where nothing is denied everything stays allowed
        assert agent.tools is None
    else:
        assert set(agent.tools or ()) == meant
        kept = agent.unmapped.get("tools", [])
        assert kept == [name for name in names if not words_of(format)[name]]


# A file that is not there yet is made by replacing nothing in it. Who may only edit may not do that here.
MORE_THAN_LISTED = {
    "claude-code": {"Edit": {"write_file"}},
    "gemini-cli": {"replace": {"write_file"}},
    "opencode": {"edit": {"write_file"}},
}


@pytest.mark.parametrize("client", LISTED)
def test_who_may_use_a_tool_may_do_what_its_recorded_calls_did(client: str, shared: Path) -> None:
    format, _ = LISTED[client]
    dialect, words = DIALECTS[format], words_of(format)
    beyond: dict[str, set[str]] = {}
    looked_at = 0
    for session in vocab.sessions(shared, client):
        for native in vocab.scripted_calls(session):
            for operation in dialect.read_call(native).operations:
                plain = isinstance(operation, op.SteerClient | op.Unrecognised | op.CallMcpTool | op.CallFunction)
                if plain or native.name not in words:
                    continue
                looked_at += 1
                tag = str(operation.__struct_config__.tag)
                if tag not in words[native.name]:
                    beyond.setdefault(native.name, set()).add(tag)
    assert looked_at >= 50
    assert beyond == MORE_THAN_LISTED[client]


@pytest.mark.parametrize("client", LISTED)
def test_a_name_no_version_ever_had_is_not_known(client: str, shared: Path) -> None:
    format, _ = LISTED[client]
    assert [name for name in offered(shared, client) if meant_by(format, f"{name}_x") is not None] == []
