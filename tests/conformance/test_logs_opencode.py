"""opencode's logs: scripted sessions of four versions (databases and trees), and sessions found in the wild."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import FORMATS, read, recognise, sessions_of
from dragoman.model import (
    CallFunction,
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

FORMAT = "opencode"
SESSIONS = list(sessions("opencode", FORMAT))
OF_SERVERS = {"toy_add", "toy_echo", "toy_fail", "toy_picture", "toy_stamp"}
"""Tools of an MCP server; which part of the name is the server's, the log does not say."""
WILD = [
    (SHARED / "traces-wild" / row["path"], row)
    for row in map(json.loads, (SHARED / "traces-wild/index.jsonl").read_text().splitlines())
    if row["client"] in ("opencode", "opencode-storage")
]


def same(name: str, arguments: Any, logged_name: str, logged: Any) -> bool:
    if logged_name == "invalid":  # a tool that was not offered, or arguments that are no JSON
        return bool(logged["tool"] == name)
    return name.lower() == logged_name and contains(arguments, logged)  # the client fixes the case of a name


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: f"{session.client}/{session.name}")
def test_every_scripted_call_is_found_and_typed(session: Any) -> None:
    events = session.events(FORMAT)
    assert missing_calls(session, events, same) == []
    assert set(untyped(events)) <= OF_SERVERS
    for event in events:
        if isinstance(event, ToolCalled) and event.call.native.name in OF_SERVERS:
            assert isinstance(event.call.operations[0], CallFunction)
    assert [event for event in events if isinstance(event, Unreadable | UnknownRecord)] == []
    assert len([event for event in events if isinstance(event, ToolCalled)]) == len(session.calls)


def test_refusals_and_failures_are_told_apart() -> None:
    kinds: Counter[str] = Counter()
    codes: Counter[int | None] = Counter()
    timed_out = 0
    for session in SESSIONS:
        for event in session.events(FORMAT):
            for outcome in event.result.outcomes if isinstance(event, ToolReturned) else ():
                if isinstance(outcome, Failure):
                    kinds[outcome.kind] += 1
                elif isinstance(outcome, CommandOutcome):
                    codes[outcome.exit_code] += 1
                    timed_out += outcome.timed_out
    assert kinds["denied"] == 1
    assert kinds["unknown_tool"] == 15
    assert kinds["invalid_arguments"] >= 3
    assert timed_out >= 1
    assert codes[3] >= 1
    assert codes[1] >= 1


def test_a_tool_that_ran_when_the_client_was_stopped_has_no_result() -> None:
    (session,) = [session for session in SESSIONS if session.name == "interrupt"]
    events = session.events(FORMAT)
    assert len([event for event in events if isinstance(event, ToolCalled)]) == 1
    assert not [event for event in events if isinstance(event, ToolReturned)]
    (told,) = sessions_of(events)
    assert [step.status for step in told.turns[0].steps] == ["in_progress"]


def test_tokens_equal_the_logs_own_totals() -> None:
    compared = 0
    for session in SESSIONS:
        for file in session.files:
            if file.suffix != ".db":
                continue
            with sqlite3.connect(f"{file.as_uri()}?immutable=1", uri=True) as database:
                totals = dict(
                    database.execute(
                        "SELECT id, tokens_input + tokens_output + tokens_reasoning"
                        " + tokens_cache_read + tokens_cache_write FROM session"
                    )
                )
                costs = dict(database.execute("SELECT id, cost FROM session"))
            database.close()
            used: Counter[str] = Counter()
            paid: Counter[str] = Counter()
            for event in read(file, FORMAT):
                if isinstance(event, TokensUsed):
                    id = str(event.session) if event.stream == "main" else event.stream
                    used[id] += event.usage.total or 0
                    paid[id] += event.cost or 0  # type: ignore[assignment]
            assert {id: used[id] for id in totals} == totals, file
            assert {id: pytest.approx(paid[id]) for id in costs} == costs, file
            compared += len(totals)
    assert compared >= 19


def test_agents_hang_under_the_call_that_spawned_them() -> None:
    linked = 0
    for session in SESSIONS:
        events = session.events(FORMAT)
        calls = {event.call.id: event.call for event in events if isinstance(event, ToolCalled)}
        for parent in sessions_of(events):
            assert parent.stream == "main"
            for child in parent.children:
                spawn = calls[child.parent_call or ""].native
                assert spawn.name == "task"
                assert child.turns[0].opened_by.text == spawn.arguments["prompt"]  # type: ignore[union-attr,index]
                linked += 1
    assert linked == 6


def test_every_row_is_told_of() -> None:
    compared = 0
    for session in SESSIONS:
        for file in session.files:
            if file.suffix != ".db":
                continue
            told = {event.source.row for event in read(file, FORMAT) if event.source is not None}
            with sqlite3.connect(f"{file.as_uri()}?immutable=1", uri=True) as database:
                held = {
                    f"{table}:{id}"
                    for table in ("session", "message", "part")
                    for (id,) in database.execute(f"SELECT id FROM {table}")
                }
            database.close()
            assert held <= told
            compared += len(held)
    assert compared >= 556


@pytest.mark.parametrize("path, row", WILD, ids=lambda one: one.stem[:40] if isinstance(one, Path) else "")
def test_sessions_in_the_wild_are_read_whole(path: Path, row: dict[str, Any]) -> None:
    assert recognise(path)[0] is FORMATS[FORMAT]
    events = list(read(path))
    assert [event for event in events if isinstance(event, Unreadable | UnknownRecord)] == []
    assert untyped(events) == []
    assert len([event for event in events if isinstance(event, ToolCalled)]) == sum(row["tools"].values())
    aborted = row["notes"].partition("MessageAbortedError=")[2]
    assert len([event for event in events if isinstance(event, Interrupted)]) == int(aborted or 0)
    if row["client"] == "opencode":
        document = json.loads(path.read_bytes())
        parts = sum(len(message["parts"]) for message in document["messages"])
        places = {(event.source.offset, event.source.length) for event in events if event.source is not None}
        assert len(places) == 1 + len(document["messages"]) + parts
        totals = document["info"].get("tokens")
        if totals is not None:
            told = sum(event.usage.total or 0 for event in events if isinstance(event, TokensUsed))
            assert told == totals["input"] + totals["output"] + totals["reasoning"] + sum(totals["cache"].values())


def test_no_other_clients_file_is_taken_for_one_of_these() -> None:
    looked = 0
    for row in map(json.loads, (SHARED / "traces-wild/index.jsonl").read_text().splitlines()):
        path = SHARED / "traces-wild" / row["path"]
        if row["client"] in ("opencode", "opencode-storage", "copilot-cli") or path.suffix not in (".json", ".jsonl"):
            continue
        from dragoman.logs.base.format import sample_of

        sample = sample_of(path)
        assert [FORMATS[name].recognise(sample) for name in ("opencode", "copilot")] == [0, 0], path
        looked += 1
    assert looked >= 200
