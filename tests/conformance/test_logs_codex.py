"""Codex's logs: scripted sessions of eight versions, and sessions found in the wild."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from dragoman.errors import LogError
from dragoman.logs import FORMATS, read, recognise, sessions_of
from dragoman.model import (
    CommandOutcome,
    Failure,
    Interrupted,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unreadable,
)
from tests.conformance.conftest import SHARED
from tests.conformance.scripted_sessions import contains, missing_calls, sessions, untyped

FORMAT = "codex"
SESSIONS = list(sessions("codex", FORMAT))
MADE_UP = {"no_such", "no_such_tool"}
SERVERS_UNKNOWN = {"toy__echo"}
"""Before 0.77 a tool of an MCP server was called by two names joined; which server there was, the log does not say."""


def same(name: str, arguments: Any, logged_name: str, logged: Any) -> bool:
    if name.rpartition(".")[2] != logged_name:
        return False
    if isinstance(logged, str):  # a text, or arguments that are no JSON
        return logged == arguments or (isinstance(arguments, dict) and logged in arguments.values())
    return contains(arguments, logged)


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: f"{session.client}/{session.name}")
def test_every_scripted_call_is_found_and_typed(session: Any) -> None:
    events = session.events(FORMAT)
    assert missing_calls(session, events, same) == []
    assert set(untyped(events)) <= MADE_UP | SERVERS_UNKNOWN
    assert [event for event in events if isinstance(event, Unreadable | UnknownRecord)] == []


def test_a_command_that_failed_is_a_command_with_an_exit_code() -> None:
    codes: Counter[int] = Counter()
    kinds: Counter[str] = Counter()
    interrupted = 0
    for session in SESSIONS:
        for event in session.events(FORMAT):
            interrupted += isinstance(event, Interrupted)
            for outcome in event.result.outcomes if isinstance(event, ToolReturned) else ():
                if isinstance(outcome, CommandOutcome) and outcome.exit_code:
                    codes[outcome.exit_code] += 1
                elif isinstance(outcome, Failure):
                    kinds[outcome.kind] += 1
    assert sum(codes.values()) >= 8
    assert kinds["unknown_tool"] >= 5
    assert kinds["invalid_arguments"] >= 2
    assert kinds["denied"] >= 2
    assert interrupted >= 1


def test_tokens_equal_the_logs_own_totals() -> None:
    compared = 0
    for session in SESSIONS:
        for file in session.files:
            total: int | None = None
            first: int | None = None
            for line in file.read_text().splitlines():
                payload = json.loads(line).get("payload") or {}
                info = payload.get("info") or {}
                counted = info.get("total_token_usage") or payload.get("thread_token_usage")
                if counted:
                    total = counted["total_tokens"]
                    last = info.get("last_token_usage") or payload.get("usage")
                    first = total - last["total_tokens"] if first is None else first
            if total is None:
                continue
            used = [event.usage.total or 0 for event in read(file, FORMAT) if isinstance(event, TokensUsed)]
            compared += 1
            assert sum(used) == total - (first or 0), file
    assert compared >= 15


def test_threads_hang_under_the_call_that_spawned_them() -> None:
    linked = 0
    for session in SESSIONS:
        events = session.events(FORMAT)
        calls = {event.call.id: event.call for event in events if isinstance(event, ToolCalled)}
        for parent in sessions_of(events):
            for child in parent.children:
                assert child.parent_call in calls, (session.client, session.name)
                assert calls[child.parent_call or ""].native.name == "spawn_agent"
                linked += 1
    assert linked >= 2


def test_sessions_in_the_wild_are_read_whole() -> None:
    rows = [json.loads(line) for line in (SHARED / "traces-wild/index.jsonl").read_text().splitlines()]
    calls, lost, unknown = 0, Counter[str](), Counter[str]()
    for row in rows:
        path = SHARED / "traces-wild" / row["path"]
        if row["client"] != "codex":
            continue
        try:
            chosen, _ = recognise(path)
        except LogError:
            assert row["n_records"] <= 2, row["path"]
            continue
        assert chosen is FORMATS[FORMAT], row["path"]
        for event in read(path, FORMAT):
            if isinstance(event, UnknownRecord):
                unknown[str(event.name)] += 1
            if isinstance(event, ToolCalled):
                calls += 1
                if not event.call.operations or untyped([event]):
                    lost[event.call.native.name] += 1
    assert calls > 500
    ours = {name: count for name, count in lost.items() if "__" not in name}
    assert sum(ours.values()) / calls <= 0.005, (lost, calls)
    assert sum(unknown.values()) <= 5, unknown


def test_what_is_printed_is_read_and_commands_failed_there_as_in_what_is_kept() -> None:
    compared = 0
    for session in SESSIONS:
        kept = Counter(_codes(session.events(FORMAT)))
        for stream in sorted((SHARED / "traces" / session.client / session.name).glob("stream*.jsonl")):
            if not stream.read_bytes().strip():
                continue
            assert recognise(stream)[0] is FORMATS[FORMAT], stream
            printed = list(read(stream))
            assert [event for event in printed if isinstance(event, Unreadable | UnknownRecord)] == [], stream
            codes = _codes(printed)
            # Of commands that programs of the model's ran, what is kept does not say of each that it succeeded. What is
            # printed says of one that took too long no more than 124.
            assert Counter(code for code in codes if code not in (0, 124)) <= kept, stream
            compared += len(codes)
    assert compared > 50


def _codes(events: Any) -> list[int]:
    """How the commands ended that a model ran."""
    outcomes = [outcome for event in events if isinstance(event, ToolReturned) for outcome in event.result.outcomes]
    ended = [outcome.exit_code for outcome in outcomes if isinstance(outcome, CommandOutcome)]
    return [code for code in ended if code is not None]
