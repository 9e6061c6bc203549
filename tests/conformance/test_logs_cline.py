"""Cline's logs: a scripted session with a sub-agent, and tasks of the extension and of its fork in the wild."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import FORMATS, read, recognise, sessions_of
from dragoman.logs.base.format import sample_of
from dragoman.model import (
    CallMcpTool,
    CommandOutcome,
    Failure,
    ImageOutcome,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unreadable,
)
from tests.conformance.conftest import SHARED
from tests.conformance.scripted_sessions import missing_calls, sessions, untyped

FORMAT = "cline"
SESSIONS = list(sessions("cline", FORMAT))
MADE_UP = {"no_such"}


def same(name: str, arguments: Any, logged_name: str, logged: Any) -> bool:
    return (name, arguments) == (logged_name, logged)


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: f"{session.client}/{session.name}")
def test_every_scripted_call_is_found_and_typed(session: Any) -> None:
    events = session.events(FORMAT)
    assert (len(session.calls) >= 20, len(session.files)) == (True, 3)
    assert missing_calls(session, events, same) == []
    assert set(untyped(events)) == MADE_UP
    assert [event for event in events if isinstance(event, Unreadable | UnknownRecord)] == []
    called = [event.call.id for event in events if isinstance(event, ToolCalled)]
    assert sorted(called) == sorted(str(event.call_id) for event in events if isinstance(event, ToolReturned))
    servers = [one for event in events if isinstance(event, ToolCalled) for one in event.call.operations]
    assert [(one.server, one.tool) for one in servers if isinstance(one, CallMcpTool)] == [
        ("toy", "echo"),
        ("toy", "fail"),
    ]


def test_every_operation_of_a_batch_has_an_outcome_and_failures_are_told_apart() -> None:
    kinds: Counter[str] = Counter()
    codes: Counter[int | None] = Counter()
    pictures = 0
    for session in SESSIONS:
        events = session.events(FORMAT)
        calls = {event.call.id: event.call for event in events if isinstance(event, ToolCalled)}
        for event in events:
            if isinstance(event, ToolReturned):
                outcomes = event.result.outcomes
                assert len(outcomes) == len(calls[event.result.call_id].operations)
                kinds.update(outcome.kind for outcome in outcomes if isinstance(outcome, Failure))
                codes.update(outcome.exit_code for outcome in outcomes if isinstance(outcome, CommandOutcome))
                pictures += sum(isinstance(outcome, ImageOutcome) for outcome in outcomes)
    assert kinds == {"failed": 5, "unknown_tool": 1}
    assert codes == {0: 2, 3: 1}
    assert pictures == 1


def test_the_sub_agent_hangs_under_the_call_that_spawned_it() -> None:
    for session in SESSIONS:
        events = session.events(FORMAT)
        calls = {event.call.id: (event.stream, event.call) for event in events if isinstance(event, ToolCalled)}
        (parent,) = sessions_of(events)
        (child,) = parent.children
        stream, call = calls[child.parent_call or ""]
        assert (stream, call.native.name, child.parent_session) == ("main", "spawn_agent", parent.id)
        inner = [call.native.arguments for stream, call in calls.values() if stream == child.stream]
        assert inner == [arguments for thread, _, arguments in session.calls if thread == "sub1"]


def test_tokens_equal_the_sessions_own_totals() -> None:
    for session in SESSIONS:
        about = next(file for file in session.files if not file.name.endswith(".messages.json"))
        total = json.loads(about.read_text())["metadata"]["usage"]
        events = [event for event in session.events(FORMAT) if event.stream == "main"]
        used = [event.usage for event in events if isinstance(event, TokensUsed)]
        assert sum(usage.total or 0 for usage in used) == total["inputTokens"] + total["outputTokens"]
        assert sum(usage.cached_read_tokens or 0 for usage in used) == total["cacheReadTokens"]


def wild() -> list[tuple[str, Path]]:
    rows = [json.loads(line) for line in (SHARED / "traces-wild/index.jsonl").read_text().splitlines()]
    return [(row["client"], SHARED / "traces-wild" / row["path"]) for row in rows]


def test_tasks_of_the_extension_and_of_its_fork_are_read_whole_and_typed() -> None:
    calls, orphans, used, unread = 0, Counter[str](), 0, []
    for client, path in wild():
        if client != "cline-roo":
            continue
        format = recognise(path)[0].name
        assert format == ("roo_code" if "Roo-Code" in path.as_posix() else FORMAT)
        events = list(read(path, format))
        returned = {event.call_id for event in events if isinstance(event, ToolReturned)}
        unread += [event for event in events if isinstance(event, Unreadable | UnknownRecord)]
        used += sum(isinstance(event, TokensUsed) for event in events)
        for event in events:
            if isinstance(event, ToolCalled):
                calls += 1
                assert untyped([event]) == []
                # One was broken off by the client, which then ran it without its command.
                assert event.call.operations or event.call.native.name == "execute_command"
                orphans.update([event.call.native.name] if event.call_id not in returned else [])
    assert (calls, used, unread) == (73, 93, [])
    assert orphans == {"attempt_completion": 5}  # nobody answered


def test_no_other_clients_file_is_taken_for_one() -> None:
    others = [path for client, path in wild() if client != "cline-roo"]
    assert [path for path in others if FORMATS[FORMAT].recognise(sample_of(path))] == []
