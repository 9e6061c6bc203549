"""Qwen Code's logs: scripted sessions of five versions, and sessions found in the wild."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import FORMATS, read, recognise, sessions_of
from dragoman.logs.base.format import sample_of
from dragoman.model import (
    AgentEnded,
    AgentStarted,
    CallMcpTool,
    CommandOutcome,
    ContextCompacted,
    Failure,
    Interrupted,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unreadable,
)
from tests.conformance.conftest import SHARED
from tests.conformance.scripted_sessions import TRACES, missing_calls, sessions, untyped
from tests.conformance.scripted_truth import compare

FORMAT = "qwen_code"
SESSIONS = list(sessions("qwen-code", FORMAT))
KEEPS_NO_CALLS = {
    one.client for one in SESSIONS if not any(b'"functionCall"' in file.read_bytes() for file in one.files)
}
"""The first version keeps what was said, and no call."""
MISFILED = "session-system-only__ca8f42.jsonl"
"""A file of Qwen Code's that lies among Claude Code's in the wild."""


def same(name: str, arguments: Any, logged_name: str, logged: Any) -> bool:
    if isinstance(arguments, str):  # JSON that breaks off, which the client fixes
        return name == logged_name and isinstance(logged, dict) and json.dumps(logged).startswith(arguments)
    return name == logged_name and logged == arguments


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: f"{session.client}/{session.name}")
def test_every_scripted_call_is_found_and_typed(session: Any) -> None:
    events = session.events(FORMAT)
    missing = missing_calls(session, events, same)
    assert len(missing) == compare(session, events).unlogged.total(), missing
    assert [event for event in events if isinstance(event, Unreadable | UnknownRecord)] == []
    # A name nobody knows is one that this version did not know either, if it answered at all.
    outcomes = {event.call_id: event.result.outcomes for event in events if isinstance(event, ToolReturned)}
    for event in events:
        if isinstance(event, ToolCalled) and untyped([event]):
            given = outcomes.get(event.call_id)
            assert given is None or [getattr(one, "kind", None) for one in given] == ["unknown_tool"], event.call.native
    assert set(untyped(events)) <= {
        "no_such_tool",
        "tool_call",  # around a made-up name
        "echo",
        "toy__echo",
        "replace",
        "search_file_content",
    }


def test_no_call_is_told_twice_and_only_a_broken_turn_leaves_calls_without_results() -> None:
    orphans, calls, unlogged = [], 0, 0
    for session in SESSIONS:
        events = session.events(FORMAT)
        unlogged += compare(session, events).unlogged.total()
        called = [event.call_id for event in events if isinstance(event, ToolCalled)]
        returned = {event.call_id for event in events if isinstance(event, ToolReturned)}
        assert len(set(called)) == len(called), session.name
        calls += len(called)
        orphans += [session.name for id in called if id not in returned]
    assert calls == sum(len(session.calls) for session in SESSIONS) - unlogged
    # One turn held a call whose JSON broke off; the client answered none of its three.
    assert orphans == ["meta"] * 3


def test_failures_are_typed_by_what_happened() -> None:
    codes: Counter[int] = Counter()
    kinds: Counter[str] = Counter()
    timed_out = in_background = interrupted = 0
    for session in SESSIONS:
        for event in session.events(FORMAT):
            interrupted += isinstance(event, Interrupted)
            for outcome in event.result.outcomes if isinstance(event, ToolReturned) else ():
                if isinstance(outcome, Failure):
                    kinds[outcome.kind] += 1
                elif isinstance(outcome, CommandOutcome):
                    codes[outcome.exit_code or 0] += 1
                    timed_out += outcome.timed_out
                    in_background += outcome.running
    kept = [session for session in SESSIONS if session.client not in KEEPS_NO_CALLS]
    scripted = [str(arguments) for session in kept for _, _, arguments in session.calls]
    assert codes[3] == sum("sys.exit(3)" in call for call in scripted)
    assert codes[127] == 1
    assert (timed_out, interrupted, kinds["cancelled"]) == (1, 1, 1)
    assert in_background >= 2
    assert kinds["denied"] == 2
    assert kinds["unknown_tool"] >= 15
    assert kinds["invalid_arguments"] >= 10


def test_wrapped_tools_are_opened() -> None:
    (session,) = [one for one in SESSIONS if one.name == "meta"]
    called = [event for event in session.events(FORMAT) if isinstance(event, ToolCalled)]
    servers = [
        operation.server
        for event in called
        if event.call.native.name == "tool_call"
        for operation in event.call.operations
        if isinstance(operation, CallMcpTool)
    ]
    assert servers == ["toy"] * 6


@pytest.mark.parametrize("session", [one for one in SESSIONS if one.name in ("agents", "tour")], ids=lambda s: s.client)
def test_calls_of_sub_agents_hang_under_their_spawn(session: Any) -> None:
    events = session.events(FORMAT)
    calls = {event.call_id: event.call for event in events if isinstance(event, ToolCalled)}
    started = [event for event in events if isinstance(event, AgentStarted)]
    # 0.15.10 was not given the tool, 0.1.3 keeps no calls.
    assert len(started) == {"qwen-code": 4, "qwen-code@0.7.1": 1, "qwen-code@0.12.0": 1}.get(session.client, 0)
    streams = {}
    for event in started:
        spawn = calls[event.call_id].native.arguments
        assert isinstance(spawn, dict)
        assert event.prompt == spawn["prompt"]
        streams[spawn["prompt"].partition("[[S:")[2].removesuffix("]]")] = event.agent
    threads = {thread for thread, _, _ in session.calls} - {"main"}
    assert session.client in KEEPS_NO_CALLS or threads == set(streams)
    for thread, name, arguments in session.calls if streams else ():
        assert [
            event
            for event in events
            if isinstance(event, ToolCalled)
            if event.stream == streams.get(thread, "main")
            and same(name, arguments, event.call.native.name, event.call.native.arguments)
        ], (thread, name)
    ended = [event for event in events if isinstance(event, AgentEnded)]
    assert {event.agent: event.status for event in ended} == dict.fromkeys(streams.values(), "completed")
    for parent in sessions_of(events):
        linked = sorted(child.parent_call or "" for child in parent.children)
        assert linked == sorted(str(event.call_id) for event in started)


def test_tokens_equal_the_clients_own_totals() -> None:
    compared = 0
    for session in SESSIONS:
        used = sum(event.usage.total or 0 for event in session.events(FORMAT) if isinstance(event, TokensUsed))
        totals = _totals(TRACES / session.client / session.name)
        if totals:
            assert used == totals[-1], (session.client, session.name)
            compared += 1
    assert compared == 12


def _totals(folder: Path) -> list[int]:
    """What the client counted for the session so far, at the end of each of its runs."""
    kept = folder / "home/.qwen/usage_record.jsonl"
    if kept.is_file():
        records = [json.loads(line) for line in kept.read_text().splitlines()]
        return [sum(model["totalTokens"] for model in record["models"].values()) for record in records]
    lines = [
        json.loads(line) for path in sorted(folder.glob("stream*.jsonl")) for line in path.read_text().splitlines()
    ]
    return [line["usage"]["total_tokens"] for line in lines if line["type"] == "result"]


def test_compactions_say_why_and_how_much() -> None:
    told = [
        (session.name, event.trigger, event.tokens_before, event.tokens_after)
        for session in SESSIONS
        for event in session.events(FORMAT)
        if isinstance(event, ContextCompacted)
    ]
    assert told == [
        ("compress", "auto", 900143, 897448),
        ("compress", "auto", 18036, 15381),
        ("compress", "auto", 17914, 14962),
        ("resume", "manual", 20643, 17888),
    ]


def test_sessions_in_the_wild_are_read_whole() -> None:
    rows = [json.loads(line) for line in (SHARED / "traces-wild/index.jsonl").read_text().splitlines()]
    calls, lost, unreadable, files = 0, [], 0, 0
    for row in rows:
        if row["client"] != "qwen-code":
            continue
        path = SHARED / "traces-wild" / row["path"]
        files += 1
        assert recognise(path)[0] is FORMATS[FORMAT], row["path"]
        data = path.read_bytes()
        covered = bytearray(len(data))
        for event in read(path, FORMAT):
            assert not isinstance(event, UnknownRecord), (row["path"], event)
            unreadable += isinstance(event, Unreadable)
            assert event.source is not None
            begin, end = event.source.offset, event.source.offset + event.source.length
            covered[begin:end] = b"x" * (end - begin)
            if isinstance(event, ToolCalled):
                calls += 1
                if not event.call.operations or untyped([event]):
                    lost.append(event.call.native.name)
        assert bytes(byte for byte, is_covered in zip(data, covered, strict=True) if not is_covered).strip() == b""
    assert files >= 10
    assert unreadable == 2, "two fixtures hold a line that is no JSON"
    assert calls >= 9
    assert lost == ["read_file"], "a fixture that gives a parameter no version had"


def test_no_other_clients_file_is_taken_for_one() -> None:
    taken = []
    for folder in (TRACES, SHARED / "traces-wild"):
        for path in sorted(folder.rglob("*.json*")):
            client = path.relative_to(folder).parts[0].partition("@")[0]
            if client != "qwen-code" and path.suffix in (".json", ".jsonl"):
                taken += [path.name] if FORMATS[FORMAT].recognise(sample_of(path)) else []
    assert taken == [MISFILED]
