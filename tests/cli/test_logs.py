"""The commands over logs, on small logs of our own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX


def parsed(text: str) -> Any:
    return json.loads(text)


@pytest.fixture
def reader(user: User) -> User:
    """Somebody with a session of Claude Code and one of Codex at home."""
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    user.write(user.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.decode())
    return user


def test_sessions_of_all_clients_are_listed(reader: User) -> None:
    done = reader.types("sessions", "--json")
    assert done.code == 0
    found = {one["id"]: one for one in parsed(done.out)}
    assert {id: (one["client"], one["calls"], one["turns"]) for id, one in found.items()} == {
        "s-1": ("claude_code", 2, 1),
        "c-1": ("codex", 1, 1),
    }
    assert [one["id"] for one in parsed(reader.types("sessions", "--client", "codex", "--json").out)] == ["c-1"]


def test_events_have_the_keys_machines_rely_on(reader: User) -> None:
    lines = [parsed(line) for line in reader.types("events", "s-1", "--raw").out.splitlines()]
    called = next(line for line in lines if line["kind"] == "tool_called")
    assert called["call"] == {"id": "t1", "name": "Bash", "arguments": {"command": "false"}}
    assert called["operations"] == [{"type": "run_command", "command": "false"}]
    assert (called["session"], called["client"], called["version"]) == ("s-1", "claude_code", "2.1.300")
    assert (called["stream"], called["turn"], called["step"], called["executed_by"]) == ("main", 0, 0, "client")
    file = reader.home / ".claude/projects/-p/s-1.jsonl"
    source = called["source"]
    assert source["file"] == str(file)
    assert file.read_bytes()[source["offset"] : source["offset"] + source["length"]].decode() == called["raw"]
    returned = next(line for line in lines if line["kind"] == "tool_returned")
    assert returned["outcomes"][0]["type"] == "command_outcome"
    used = next(line for line in lines if line["kind"] == "tokens_used")
    assert used["usage"]["output_tokens"] == 7


def test_show_and_sources_and_doctor(reader: User) -> None:
    shown = reader.types("show", "s-1").out
    assert "→ Bash  RunCommand false" in shown
    assert "exit 1" in shown
    sources = parsed(reader.types("sources", "--json").out)
    assert {(one["format"], one["files"]) for one in sources} == {("claude_code", 1), ("codex", 1)}
    checked = reader.types("doctor", "--json")
    assert checked.code == 1
    assert {name for one in parsed(checked.out) for name in one["unknown"]} == {"a-new-kind", "a_new_kind"}


def test_what_is_not_there_is_said_with_what_to_do(reader: User) -> None:
    done = reader.types("show", "zzz")
    assert done.code == 5
    assert "dragoman sessions" in done.err
