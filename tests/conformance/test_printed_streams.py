"""What each client prints beside its log: recognised, read whole, and in agreement with the log."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from dragoman.logs import FORMATS, read, recognise
from dragoman.model import (
    AnyEvent,
    Failure,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unreadable,
)
from tests.conformance.conftest import SHARED
from tests.conformance.scripted_sessions import CLIENTS, ROOTS, Scripted, sessions

STREAMS = {
    f"{session.client}/{session.name}": (session, format, sorted(session.folder.glob("stream*.jsonl")))
    for client, format in CLIENTS.items()
    for session in sessions(client, format, ROOTS)
    if any(session.folder.glob("stream*.jsonl"))
}
SHOWN_ALONE = ("gemini_cli", "qwen_code")
"""Clients that print results as a person sees them, so that no outcome but a failure may be typed."""
NO_CALLS = ("continue", "cline@2.14.0/tour")
"""What prints words and tokens, and no call in the words of a tool."""


def printed(files: list[Path]) -> list[AnyEvent]:
    return [event for file in files for event in read(file)]


def of_main(events: list[AnyEvent]) -> Counter[str]:
    calls = [event.call.native for event in events if isinstance(event, ToolCalled) and event.stream == "main"]
    return Counter(f"{call.name} {call.arguments}" for call in calls)


@pytest.mark.parametrize("key", STREAMS)
def test_a_printed_stream_is_read_as_its_clients(key: str) -> None:
    _, format, files = STREAMS[key]
    for file in files:
        if file.stat().st_size:
            assert recognise(file)[0] is FORMATS[format]
    events = printed([file for file in files if file.stat().st_size])
    assert [event for event in events if isinstance(event, Unreadable | UnknownRecord)] == []
    assert events


@pytest.mark.parametrize("key", [key for key, (_, format, _) in STREAMS.items() if format in (*SHOWN_ALONE, "cline")])
def test_a_printed_stream_says_what_the_log_says(key: str) -> None:
    session, format, files = STREAMS[key]
    events, logged = printed(files), session.events(format)
    if key not in NO_CALLS and session.client != "qwen-code@0.1.3":
        assert not of_main(events) - of_main(logged) - scripted(session)
    if format in SHOWN_ALONE:
        given = [one for event in events if isinstance(event, ToolReturned) for one in event.result.outcomes]
        assert {type(one).__name__ for one in given} <= {"TextOutcome", "DoneOutcome", "Failure"}
        failed = [one for one in given if isinstance(one, Failure)]
        assert all(one.message for one in failed)


def scripted(session: Scripted) -> Counter[str]:
    return Counter(f"{name} {arguments}" for _, name, arguments in session.calls)


@pytest.mark.parametrize("key", [key for key in STREAMS if key.startswith(("gemini-cli", "cline@3", "cline/"))])
def test_tokens_of_a_printed_stream_are_those_it_counts(key: str) -> None:
    session, format, files = STREAMS[key]
    used = sum(event.usage.total or 0 for event in printed(files) if isinstance(event, TokensUsed))
    if format == "cline":
        assert used == sum(event.usage.total or 0 for event in session.events(format) if isinstance(event, TokensUsed))
    else:
        told = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        assert used == sum(line["stats"]["total_tokens"] for line in told if line["type"] == "result")


def test_totals_that_count_on_from_run_to_run_are_not_added() -> None:
    session, format, files = STREAMS["qwen-code/resume"]
    used = sum(event.usage.total or 0 for event in printed(files) if isinstance(event, TokensUsed))
    assert used == 102_618, "the replies of four runs; the last total, of all of them and more, is 139,695"
    assert {event.session for event in printed(files)} == {event.session for event in session.events(format)}


def test_a_resumed_run_of_codex_counts_what_is_new_alone() -> None:
    session, format, files = STREAMS["codex/compact"]
    events = printed(files)
    used = [event.usage.output_tokens for event in events if isinstance(event, TokensUsed)]
    assert used == [150, 60], "the second run tells 210, of both"
    assert {event.session for event in events} == {event.session for event in session.events(format)}


def test_every_client_prints_something_here() -> None:
    assert {format for _, format, _ in STREAMS.values()} == set(CLIENTS.values())
    assert SHARED.is_dir()
