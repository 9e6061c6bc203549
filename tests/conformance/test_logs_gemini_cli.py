"""Gemini CLI's logs: scripted sessions of five versions, and sessions found in the wild."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import FORMATS, read, recognise, sessions_of
from dragoman.logs.base.format import sample_of
from dragoman.model import (
    AgentStarted,
    CommandOutcome,
    ContextCompacted,
    Failure,
    SessionStarted,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unreadable,
)
from tests.conformance.conftest import SHARED
from tests.conformance.scripted_sessions import TRACES, missing_calls, sessions, untyped
from tests.conformance.scripted_truth import compare

FORMAT = "gemini_cli"
SESSIONS = list(sessions("gemini-cli", FORMAT))
WITH_UNLOGGED_REQUESTS = {("gemini-cli", "meta"), ("gemini-cli@0.53.0", "tour")}
"""Sessions with requests of the client's own (a web search), whose tokens only its last words count."""


def same(name: str, arguments: Any, logged_name: str, logged: Any) -> bool:
    return name == logged_name and logged == arguments


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: f"{session.client}/{session.name}")
def test_every_scripted_call_is_found_and_typed(session: Any) -> None:
    events = session.events(FORMAT)
    missing = Counter(line.split()[1].rstrip(":") for line in missing_calls(session, events, same))
    assert missing == compare(session, events).unlogged
    assert [event for event in events if isinstance(event, Unreadable | UnknownRecord)] == []
    # A name nobody knows is one that this version did not know either.
    outcomes = {event.call_id: event.result.outcomes for event in events if isinstance(event, ToolReturned)}
    for event in events:
        if isinstance(event, ToolCalled) and untyped([event]):
            assert [getattr(one, "kind", None) for one in outcomes[event.call_id]] == ["unknown_tool"]
    assert set(untyped(events)) <= {"no_such_tool", "echo", "toy__echo"}


def test_no_call_is_told_twice_and_every_call_has_its_result() -> None:
    calls = unlogged = 0
    for session in SESSIONS:
        events = session.events(FORMAT)
        unlogged += compare(session, events).unlogged.total()
        called = [str(event.call_id) for event in events if isinstance(event, ToolCalled)]
        returned = [str(event.call_id) for event in events if isinstance(event, ToolReturned)]
        assert sorted(called) == sorted(returned), session.name
        assert len(set(called)) == len(called), session.name
        calls += len(called)
    assert calls == sum(len(session.calls) for session in SESSIONS) - unlogged


def test_failures_are_typed_by_what_happened() -> None:
    codes: Counter[int] = Counter()
    kinds: Counter[str] = Counter()
    timed_out = in_background = signalled = 0
    for session in SESSIONS:
        for event in session.events(FORMAT):
            for outcome in event.result.outcomes if isinstance(event, ToolReturned) else ():
                if isinstance(outcome, Failure):
                    kinds[outcome.kind] += 1
                elif isinstance(outcome, CommandOutcome):
                    codes[outcome.exit_code or 0] += 1
                    timed_out += outcome.timed_out
                    in_background += outcome.running
                    signalled += outcome.signal is not None
    scripted = [str(arguments) for session in SESSIONS for _, _, arguments in session.calls]
    assert codes[3] == sum("sys.exit(3)" in call for call in scripted)
    assert codes[127] == 1
    assert (timed_out, signalled) == (1, 1)
    assert in_background >= 1
    assert kinds["denied"] >= 6
    assert kinds["unknown_tool"] >= 30
    assert kinds["invalid_arguments"] >= 10


def test_calls_of_sub_agents_hang_under_their_spawn() -> None:
    (session,) = [one for one in SESSIONS if one.name == "agents"]
    events = session.events(FORMAT)
    calls = {event.call_id: event.call for event in events if isinstance(event, ToolCalled)}
    started = [event for event in events if isinstance(event, AgentStarted)]
    assert len(started) == 4
    streams = {}
    for event in started:
        spawn = calls[event.call_id].native.arguments
        assert isinstance(spawn, dict)
        assert event.prompt == spawn["prompt"]
        streams[spawn["prompt"].partition("[[S:")[2].removesuffix("]]")] = event.agent
    for thread, name, arguments in session.calls:
        stream = streams.get(thread, "main")
        assert [
            event
            for event in events
            if isinstance(event, ToolCalled)
            if event.stream == stream and same(name, arguments, event.call.native.name, event.call.native.arguments)
        ], (thread, name)
    (parent,) = sessions_of(events)
    assert sorted(child.parent_call or "" for child in parent.children) == sorted(
        str(event.call_id) for event in started
    )


def test_tokens_equal_the_clients_own_totals() -> None:
    compared = 0
    for session in SESSIONS:
        used = sum(event.usage.total or 0 for event in session.events(FORMAT) if isinstance(event, TokensUsed))
        logged = sum(sum(_totals(file).values()) for file in session.files)
        assert used == logged, (session.client, session.name)
        shown = _shown(TRACES / session.client / session.name)
        if len(shown) == 1 and (session.client, session.name) not in WITH_UNLOGGED_REQUESTS:
            assert used == shown[0], (session.client, session.name)
            compared += 1
    assert compared == 9


def _totals(file: Path) -> dict[str, int]:
    """Message → its total, read without the format."""
    text = file.read_text()
    records = (
        json.loads(text)["messages"] if file.suffix == ".json" else [json.loads(line) for line in text.splitlines()]
    )
    return {one["id"]: one["tokens"]["total"] for one in records if one.get("tokens")}


def _shown(folder: Path) -> list[int]:
    """What the client said at the end of each of its runs."""
    lines = [
        json.loads(line) for path in sorted(folder.glob("stream*.jsonl")) for line in path.read_text().splitlines()
    ]
    return [line["stats"]["total_tokens"] for line in lines if line["type"] == "result" and "stats" in line]


def test_resumes_and_compactions_are_told() -> None:
    by_name = {session.name: session.events(FORMAT) for session in SESSIONS if session.client == "gemini-cli"}
    resumed = [event for event in by_name["resume"] if isinstance(event, SessionStarted) and event.resumed]
    assert len(resumed) == 5
    (compacted,) = [event for event in by_name["compress"] if isinstance(event, ContextCompacted)]
    assert compacted.summary == "<state_snapshot>We looked at src/inventory.py.</state_snapshot>"


def _rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SHARED / "traces-wild/index.jsonl").read_text().splitlines()]


def test_sessions_in_the_wild_are_read_whole() -> None:
    calls, lost, files = 0, [], 0
    for row in _rows():
        if row["client"] != "gemini-cli":
            continue
        path = SHARED / "traces-wild" / row["path"]
        files += 1
        assert recognise(path)[0] is FORMATS[FORMAT], row["path"]
        data = path.read_bytes()
        covered = bytearray(len(data))
        for event in read(path, FORMAT):
            assert not isinstance(event, Unreadable | UnknownRecord), (row["path"], event)
            assert event.source is not None
            begin, end = event.source.offset, event.source.offset + event.source.length
            covered[begin:end] = b"x" * (end - begin)
            if isinstance(event, ToolCalled):
                calls += 1
                if not event.call.operations or untyped([event]):
                    lost.append(event.call.native.name)
        left = bytes(byte for byte, is_covered in zip(data, covered, strict=True) if not is_covered)
        assert left.strip(b" ,\r\n\t") == b"", row["path"]
    assert files >= 35
    assert calls >= 139
    # A call with a parameter the tool never had, which the client refused too, and a fixture's invented tool.
    assert sorted(lost) == ["search", "write_file"]


def test_no_other_clients_file_is_taken_for_one() -> None:
    taken = []
    for folder in (TRACES, SHARED / "traces-wild"):
        for path in sorted(folder.rglob("*.json*")):
            client = path.relative_to(folder).parts[0].partition("@")[0]
            if client != "gemini-cli" and path.suffix in (".json", ".jsonl"):
                taken += [path.name] if FORMATS[FORMAT].recognise(sample_of(path)) else []
    assert taken == []
