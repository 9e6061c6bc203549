"""Claude Code's log: what each kind of record becomes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dragoman.logs import read, sessions_of
from dragoman.logs.normalise import Normaliser, Place
from dragoman.model import (
    AgentStarted,
    AnyEvent,
    ClientNoted,
    CommandInvoked,
    CommandOutcome,
    ContextCompacted,
    ErrorOccurred,
    Failure,
    FinishReason,
    Interrupted,
    ModelFinished,
    ModelSaid,
    ModelThought,
    NativeCall,
    NativeResult,
    SessionStarted,
    Source,
    TextOutcome,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unreadable,
    UserSaid,
)
from tests.logs.samples import CLAUDE, _block, _claude, _told, lines


def events(tmp_path: Path, data: bytes, name: str = "s-1.jsonl") -> list[AnyEvent]:
    path = tmp_path / name
    path.write_bytes(data)
    return list(read(path, "claude_code"))


def test_a_session_is_told_record_by_record(tmp_path: Path) -> None:
    told = events(tmp_path, CLAUDE)
    assert [type(event) for event in told] == [
        ClientNoted,
        SessionStarted,
        UserSaid,
        ModelThought,
        ToolCalled,
        ToolReturned,
        ToolCalled,
        ToolReturned,
        TokensUsed,
        ModelFinished,
        ModelSaid,
        UnknownRecord,
        TokensUsed,
        ModelFinished,
    ]
    started = told[1]
    assert isinstance(started, SessionStarted)
    assert (started.cwd, started.branch, started.session, started.version) == ("/p", "main", "s-1", "2.1.300")


def test_tokens_of_a_message_are_counted_once_though_a_result_stands_between_its_lines(tmp_path: Path) -> None:
    (session,) = sessions_of(events(tmp_path, CLAUDE))
    assert session.usage.total == 2 * (10 + 7 + 3)
    assert [len(turn.steps) for turn in session.turns] == [2]
    assert [len(step.tools) for step in session.turns[0].steps] == [2, 0]


def test_a_failed_command_is_a_command_with_its_exit_code(tmp_path: Path) -> None:
    returned = [event for event in events(tmp_path, CLAUDE) if isinstance(event, ToolReturned)]
    (outcome,) = returned[0].result.outcomes
    assert isinstance(outcome, CommandOutcome)
    assert outcome.exit_code == 1


def one(tmp_path: Path, record: dict[str, Any]) -> AnyEvent:
    return events(tmp_path, lines(record))[-1]


def said(text: str, **more: Any) -> dict[str, Any]:
    return _claude("user", "u1", None, message={"role": "user", "content": text}, **more)


def test_what_users_and_clients_say(tmp_path: Path) -> None:
    assert isinstance(one(tmp_path, said("[Request interrupted by user for tool use]")), Interrupted)
    command = one(tmp_path, said("<command-name>/compact</command-name><command-args>now</command-args>"))
    assert isinstance(command, CommandInvoked)
    assert (command.name, command.arguments) == ("/compact", "now")
    for fact in ({"isMeta": True}, {"isCompactSummary": True}, {"origin": {"kind": "task-notification"}}):
        event = one(tmp_path, said("hm", **fact))
        assert isinstance(event, UserSaid)
        assert event.by == "client"


def test_trouble_and_compaction(tmp_path: Path) -> None:
    retried = one(
        tmp_path, _claude("system", "u1", None, subtype="api_error", error={"status": 529, "message": "busy"})
    )
    assert isinstance(retried, ErrorOccurred)
    assert (retried.status, retried.message, retried.retried) == (529, "busy", True)
    facts = {"trigger": "manual", "preTokens": 9, "postTokens": 2}
    compacted = one(tmp_path, _claude("system", "u1", None, subtype="compact_boundary", compactMetadata=facts))
    assert isinstance(compacted, ContextCompacted)
    assert (compacted.trigger, compacted.tokens_before, compacted.tokens_after) == ("manual", 9, 2)
    fatal = _block("u2", "u1", {"type": "text", "text": "API Error: 400"}) | {"isApiErrorMessage": True}
    assert isinstance(one(tmp_path, fatal), ErrorOccurred)


def test_a_denial_is_a_denial(tmp_path: Path) -> None:
    call = _block("u1", "u0", {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "rm"}})
    text = "Permission to use Bash with command rm has been denied."
    told = events(tmp_path, lines(call, _told("u2", "u1", "t1", text, is_error=True, result=f"Error: {text}")))
    (returned,) = [event for event in told if isinstance(event, ToolReturned)]
    (outcome,) = returned.result.outcomes
    assert isinstance(outcome, Failure)
    assert outcome.kind == "denied"


def test_sub_agents_inline_and_in_files_of_their_own_are_linked(tmp_path: Path) -> None:
    call = _block(
        "u1", "u0", {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "Count.", "description": "d"}}
    )
    inline = _claude("user", "u2", None, message={"role": "user", "content": "Count."}) | {"isSidechain": True}
    main = events(tmp_path, lines(call, inline))
    (session,) = sessions_of(main)
    assert [child.parent_call for child in session.children] == ["t1"]
    result = _told("u3", "u1", "t1", "done", result={"agentId": "a7", "status": "completed"})
    agent = _claude("user", "u4", None, message={"role": "user", "content": "Count."}, agentId="a7") | {
        "isSidechain": True
    }
    both = [*events(tmp_path, lines(call, result)), *events(tmp_path, lines(agent), "agent-a7.jsonl")]
    assert any(isinstance(event, AgentStarted) for event in both)
    (session,) = sessions_of(both)
    assert [(child.stream, child.parent_call) for child in session.children] == [("a7", "t1")]


def test_bad_lines_are_kept_and_cost_nothing_else(tmp_path: Path) -> None:
    good = lines(said("hello"))
    told = events(tmp_path, good + b'{"half\n' + b"\x00\x00\x00\n" + b"[1]\n" + b'"\\ud800"\n' + good[:-1])
    assert sum(isinstance(event, Unreadable) for event in told) == 4
    assert sum(isinstance(event, UserSaid) for event in told) == 2


def test_half_a_surrogate_pair_does_not_cost_the_line(tmp_path: Path) -> None:
    data = lines(said("x")).replace(b'"x"', b'"x \\ud83d"')
    assert isinstance(events(tmp_path, data)[-1], UserSaid)


def test_a_usage_with_bytes_that_are_no_text_is_counted_all_the_same(tmp_path: Path) -> None:
    message = {"id": "m", "model": "x", "content": [], "usage": {"input_tokens": 3, "a": "?"}}
    record = _claude("assistant", "u1", None, message=message)
    told = events(tmp_path, lines(record).replace(b'"?"', b'"\xff"'))
    assert [event.usage.input_tokens for event in told if isinstance(event, TokensUsed)] == [3]


def test_empty_lines_are_no_records_and_keep_the_places_of_others(tmp_path: Path) -> None:
    first, second = lines(said("a")), lines(said("b"))
    told = [event for event in events(tmp_path, first + b"\n \n" + second) if isinstance(event, UserSaid)]
    places = [event.source and (event.source.offset, event.source.length) for event in told]
    assert places == [(0, len(first)), (len(first) + 3, len(second))]


def test_the_end_of_a_message_has_its_reason(tmp_path: Path) -> None:
    told = events(tmp_path, lines(_block("u1", "u0", {"type": "text", "text": "a"}, "max_tokens")))
    (finished,) = [event for event in told if isinstance(event, ModelFinished)]
    assert finished.finish is FinishReason.LENGTH


def test_a_line_that_is_not_quite_in_its_shape_is_read_as_far_as_it_is(tmp_path: Path) -> None:
    odd = said("hm") | {"version": 2, "timestamp": "2025-06-01", "isMeta": "no", "data": ["x"]}
    event = one(tmp_path, odd)
    assert isinstance(event, UserSaid)
    assert (event.text, event.by, event.version) == ("hm", "user", None)
    assert event.time == datetime(2025, 6, 1, tzinfo=UTC)


def test_parts_of_kinds_that_are_not_usual_stand_beside_those_that_are(tmp_path: Path) -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
    record = _block("u1", "u0", {"type": "text", "text": "I look."})
    record["message"]["content"] += [search, "and so on"]
    told = [event for event in events(tmp_path, lines(record)) if isinstance(event, ToolCalled | ModelSaid)]
    assert [getattr(event, "text", None) for event in told] == ["I look.", None, "and so on"]
    assert isinstance(told[1], ToolCalled)
    assert told[1].call.native.name == "web_search"


def test_the_result_of_a_call_that_cannot_be_read_is_its_text(tmp_path: Path) -> None:
    call = _block(
        "u1", "u0", {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a", "limit": -1}}
    )
    told = events(tmp_path, lines(call, _told("u2", "u1", "t1", "what it gave")))
    (returned,) = [event for event in told if isinstance(event, ToolReturned)]
    assert returned.result.outcomes == (TextOutcome("what it gave"),)


def test_of_very_many_calls_only_the_last_are_remembered_after_their_results() -> None:
    normaliser = Normaliser("claude_code", "claude_code", "f", remembers=2)
    place = Place(Source("f", 0, 1), "k")
    for number in range(5):
        normaliser.called(place, NativeCall(f"t{number}", "Bash", {"command": "ls"}))
        if number:
            normaliser.returned(place, NativeResult(f"t{number}", "x"))
    assert sorted(normaliser.calls) == ["t0", "t3", "t4"]
