"""Codex's log: what each kind of record becomes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.logs import read, sessions_of
from dragoman.model import (
    AgentStarted,
    AnyEvent,
    CommandOutcome,
    Interrupted,
    ModelSaid,
    SessionStarted,
    SystemSaid,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UserSaid,
)
from tests.logs.samples import CODEX, _codex, lines


def events(tmp_path: Path, data: bytes, name: str = "rollout-c-1.jsonl") -> list[AnyEvent]:
    path = tmp_path / name
    path.write_bytes(data)
    return list(read(path, "codex"))


def item(**fields: Any) -> dict[str, Any]:
    return _codex("response_item", fields)


def test_what_was_said_twice_is_told_once(tmp_path: Path) -> None:
    told = events(tmp_path, CODEX)
    assert [event.text for event in told if isinstance(event, UserSaid)] == ["Mend it."]
    assert [event.text for event in told if isinstance(event, ModelSaid)] == ["Done."]


def test_what_only_an_event_tells_is_told_all_the_same(tmp_path: Path) -> None:
    told = events(tmp_path, lines(_codex("event_msg", {"type": "user_message", "message": "Hello?"})))
    assert [event.text for event in told if isinstance(event, UserSaid)] == ["Hello?"]


def test_cumulative_counters_are_told_as_what_was_used(tmp_path: Path) -> None:
    used = [event.usage for event in events(tmp_path, CODEX) if isinstance(event, TokensUsed)]
    assert [(one.input_tokens, one.cached_read_tokens, one.output_tokens) for one in used] == [(50, 50, 5), (40, 40, 4)]


def test_a_failed_command_is_a_command_with_its_exit_code(tmp_path: Path) -> None:
    (returned,) = [event for event in events(tmp_path, CODEX) if isinstance(event, ToolReturned)]
    (outcome,) = returned.result.outcomes
    assert isinstance(outcome, CommandOutcome)
    assert outcome.exit_code == 1


def test_roles_and_words_of_the_client(tmp_path: Path) -> None:
    def message(role: str, text: str) -> dict[str, Any]:
        return item(type="message", role=role, content=[{"type": "input_text", "text": text}])

    told = events(
        tmp_path,
        lines(
            message("developer", "Be brief."),
            message("user", "<environment_context>x</environment_context>"),
            message("user", "<turn_aborted>x</turn_aborted>"),
        ),
    )
    assert [type(event) for event in told] == [SystemSaid, UserSaid, Interrupted]
    assert isinstance(told[1], UserSaid)
    assert told[1].by == "client"


def test_records_without_an_envelope_are_read(tmp_path: Path) -> None:
    told = events(
        tmp_path,
        lines(
            {"id": "old-1", "timestamp": "2025-08-01T00:00:00Z", "instructions": None, "git": {"branch": "b"}},
            {"record_type": "state"},
            {"type": "function_call", "name": "shell", "arguments": '{"command": ["ls"]}', "call_id": "c1", "id": None},
            {"type": "function_call_output", "call_id": "c1", "output": '{"output":"a","metadata":{"exit_code":0}}'},
        ),
    )
    assert isinstance(told[0], SessionStarted)
    assert told[0].session == "old-1"
    assert sum(isinstance(event, ToolCalled) for event in told) == 1
    assert sum(isinstance(event, ToolReturned) for event in told) == 1


def test_a_thread_hangs_under_the_call_that_spawned_it(tmp_path: Path) -> None:
    arguments = '{"message": "Count."}'
    parent = lines(
        _codex("session_meta", {"id": "p-1", "cli_version": "0.166.0"}),
        item(type="function_call", name="spawn_agent", namespace="multi_agent_v1", arguments=arguments, call_id="c1"),
        item(type="function_call_output", call_id="c1", output='{"agent_id": "k-1", "nickname": "Ada"}'),
    )
    child = lines(
        _codex("session_meta", {"id": "k-1", "parent_thread_id": "p-1"}),
        item(type="message", role="user", content="Count."),
    )
    both = [*events(tmp_path, parent), *events(tmp_path, child, "rollout-k-1.jsonl")]
    assert [event.agent for event in both if isinstance(event, AgentStarted)] == ["k-1"]
    (session,) = sessions_of(both)
    assert [(one.id, one.parent_session, one.parent_call) for one in session.children] == [("k-1", "p-1", "c1")]
