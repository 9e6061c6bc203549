"""Copilot's logs: scripted sessions, and sessions found in the wild."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import FORMATS, read, recognise, sessions_of
from dragoman.model import (
    CommandOutcome,
    Failure,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unreadable,
)
from tests.conformance.conftest import SHARED
from tests.conformance.scripted_sessions import contains, missing_calls, sessions, untyped

FORMAT = "copilot"
SESSIONS = list(sessions("copilot", FORMAT))
MADE_UP = {"no_such"}
WILD = [
    SHARED / "traces-wild" / row["path"]
    for row in map(json.loads, (SHARED / "traces-wild/index.jsonl").read_text().splitlines())
    if row["client"] == "copilot-cli"
]


def same(name: str, arguments: Any, logged_name: str, logged: Any) -> bool:
    if name != logged_name:
        return False
    if isinstance(arguments, str) and logged == {}:
        return True  # arguments that are no JSON are kept as none at all
    return contains(arguments, logged)


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: f"{session.client}/{session.name}")
def test_every_scripted_call_is_found_and_typed(session: Any) -> None:
    events = session.events(FORMAT)
    assert missing_calls(session, events, same) == []
    assert set(untyped(events)) <= MADE_UP
    assert [event for event in events if isinstance(event, Unreadable | UnknownRecord)] == []
    made_up_by_client = [event for event in events if isinstance(event, ToolCalled) and event.by == "client"]
    assert len([event for event in events if isinstance(event, ToolCalled)]) == len(session.calls) + len(
        made_up_by_client
    )


def test_refusals_and_failures_are_told_apart() -> None:
    kinds: Counter[str] = Counter()
    codes: Counter[int | None] = Counter()
    for session in SESSIONS:
        for event in session.events(FORMAT):
            for outcome in event.result.outcomes if isinstance(event, ToolReturned) else ():
                if isinstance(outcome, Failure):
                    kinds[outcome.kind] += 1
                elif isinstance(outcome, CommandOutcome):
                    codes[outcome.exit_code] += 1
    assert kinds == {"failed": 12, "unknown_tool": 6, "invalid_arguments": 3, "denied": 2}
    assert codes[3] == 1


def test_tokens_equal_the_logs_own_totals() -> None:
    compared = 0
    for session in SESSIONS:
        for file in session.files:
            metrics: dict[str, Any] = {}
            for line in file.read_text().splitlines():
                record = json.loads(line)
                if record["type"] == "session.shutdown":
                    metrics = record["data"]["accountingSnapshot"]["agentMetrics"]
            used: Counter[str] = Counter()
            for event in read(file, FORMAT):
                if isinstance(event, TokensUsed):
                    used[event.stream] += event.usage.total or 0
            told = {
                agent: sum(one["usage"]["inputTokens"] + one["usage"]["outputTokens"] for one in per.values())
                for agent, per in ((agent, counted["modelMetrics"]) for agent, counted in metrics.items())
            }
            assert used == told, file
            compared += 1
    assert compared >= 7


def test_agents_hang_under_the_call_that_spawned_them() -> None:
    linked = 0
    for session in SESSIONS:
        events = session.events(FORMAT)
        calls = {event.call.id: event.call for event in events if isinstance(event, ToolCalled)}
        for parent in sessions_of(events):
            for child in parent.children:
                spawn = calls[child.parent_call or ""].native
                assert spawn.name == "task"
                assert child.turns[0].opened_by.text == spawn.arguments["prompt"]  # type: ignore[union-attr,index]
                linked += 1
    assert linked == 2


def test_what_the_client_prints_holds_the_same_calls_as_what_it_keeps() -> None:
    compared = 0
    for session in SESSIONS:
        kept = [event.call for event in session.events(FORMAT) if isinstance(event, ToolCalled)]
        streams = sorted((SHARED / "traces" / session.client / session.name).glob("stream*.jsonl"))
        assert all(recognise(stream)[0] is FORMATS[FORMAT] for stream in streams)
        printed = [event.call for file in streams for event in read(file) if isinstance(event, ToolCalled)]
        assert [call.native for call in printed] == [call.native for call in kept]
        compared += len(printed)
    assert compared >= 75


@pytest.mark.parametrize("path", WILD, ids=lambda path: path.stem[:40])
def test_sessions_in_the_wild_are_read_whole(path: Path) -> None:
    assert recognise(path)[0] is FORMATS[FORMAT]
    events = list(read(path))
    places = {event.source.offset for event in events if event.source is not None}
    assert len(places) == len([line for line in path.read_bytes().split(b"\n") if line.strip()])
    assert [event for event in events if isinstance(event, Unreadable | UnknownRecord)] == []
    assert untyped(events) == []
    assert all(event.call.failure is None for event in events if isinstance(event, ToolCalled))
