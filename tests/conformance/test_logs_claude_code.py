"""Claude Code's logs: scripted sessions of eight versions, and sessions found in the wild."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from dragoman.errors import LogError
from dragoman.logs import FORMATS, read, recognise, sessions_of
from dragoman.model import Failure, Interrupted, ToolCalled, ToolReturned, UnknownRecord, Unreadable
from tests.conformance.conftest import SHARED
from tests.conformance.scripted_sessions import contains, missing_calls, sessions, untyped

FORMAT = "claude_code"
SESSIONS = list(sessions("claude-code", FORMAT))
MADE_UP = {"NoSuchTool", "SlashCommand"}
"""Names the scripts made up; `SlashCommand` was never a tool of the versions that were run."""


def same(name: str, arguments: Any, logged_name: str, logged: Any) -> bool:
    if name != logged_name:
        return False
    if isinstance(logged, dict) and "__unparsedToolInput" in logged:
        return True  # the client could not parse it and keeps the text
    if name == "BashOutput" and isinstance(logged, dict) and "task_id" in logged:
        return contains(arguments.get("bash_id"), logged["task_id"])  # renamed by the client from 2.1.197 on
    return contains(arguments, logged)


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: f"{session.client}/{session.name}")
def test_every_scripted_call_is_found_and_typed(session: Any) -> None:
    events = session.events(FORMAT)
    assert missing_calls(session, events, same) == []
    assert set(untyped(events)) <= MADE_UP
    assert [event for event in events if isinstance(event, Unreadable | UnknownRecord)] == []


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: f"{session.client}/{session.name}")
def test_sub_agents_hang_under_the_call_that_spawned_them(session: Any) -> None:
    events = session.events(FORMAT)
    threads = {thread for thread, *_ in session.calls}
    prompts = {
        event.call.id: str(event.call.native.arguments)
        for event in events
        if isinstance(event, ToolCalled) and event.call.native.name in ("Agent", "Task", "Workflow")
    }
    for parent in sessions_of(events):
        for child in parent.children:
            if child.parent_call is None:
                words = getattr(child.turns[0].opened_by, "text", "")
                assert words == "Warmup", "the client itself spawns only these"
                continue
            # A workflow's script computes what it tells its agents; the client puts its own words before it.
            words = child.turns[0].opened_by.text.strip().splitlines()[-1].strip()  # type: ignore[union-attr]
            assert words in prompts[child.parent_call].replace("\\n", "\n")
    assert threads


def test_refusals_interrupts_and_failures_are_told_apart() -> None:
    kinds: Counter[str] = Counter()
    interrupted = 0
    for session in SESSIONS:
        for event in session.events(FORMAT):
            interrupted += isinstance(event, Interrupted)
            if isinstance(event, ToolReturned):
                kinds.update(outcome.kind for outcome in event.result.outcomes if isinstance(outcome, Failure))
    assert kinds["denied"] >= 10
    assert kinds["invalid_arguments"] >= 5
    assert kinds["unknown_tool"] >= 1
    assert kinds["cancelled"] >= 1
    assert interrupted >= 1


def test_tokens_equal_what_the_client_counted() -> None:
    """The client's own book-keeping (`cost-state`) adds up its requests, those for titles and summaries included."""
    compared = 0
    for session in SESSIONS:
        for file in session.files:
            total = 0
            for line in file.read_text(errors="replace").splitlines():
                record = json.loads(line)
                if record.get("type") == "cost-state":
                    total = sum(
                        usage[key]
                        for usage in record["modelUsage"].values()
                        for key in ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
                    )
            if total and "subagents" not in str(file):
                compared += 1
                counted = sum(
                    one.usage.total or 0 for one in sessions_of(session.events(FORMAT)) if one.stream == "main"
                )
                children = sum(
                    child.usage.total or 0 for one in sessions_of(session.events(FORMAT)) for child in one.children
                )
                assert counted + children <= total
    assert compared >= 1


def test_sessions_in_the_wild_are_read_whole() -> None:
    rows = [json.loads(line) for line in (SHARED / "traces-wild/index.jsonl").read_text().splitlines()]
    calls, lost = 0, Counter[str]()
    unreadable = 0
    for row in rows:
        path = SHARED / "traces-wild" / row["path"]
        if row["client"] != "claude-code" or "qwencode" in row["path"]:  # a look-alike, listed under the wrong name
            continue
        try:
            chosen, _ = recognise(path)
        except LogError:
            assert "malformed" in row["path"] or row["n_records"] <= 3, row["path"]
            continue
        assert chosen is FORMATS[FORMAT], row["path"]
        ends: set[int] = set()
        for event in read(path, FORMAT):
            assert event.source is not None
            ends.add(event.source.offset + event.source.length)
            unreadable += isinstance(event, Unreadable)
            if isinstance(event, ToolCalled):
                calls += 1
                if not event.call.operations or untyped([event]):
                    lost[event.call.native.name] += 1
        data = path.read_bytes()
        records = [line for line in data.split(b"\n") if line.strip()]
        assert len(ends) >= len(records) - 1
    assert calls > 1000
    assert sum(lost.values()) / calls <= 0.006, lost
    assert unreadable <= 6


def test_what_is_printed_says_what_is_kept() -> None:
    compared = 0
    for session in SESSIONS:
        kept = {event.call.id: event for event in session.events(FORMAT) if isinstance(event, ToolCalled)}
        for stream in sorted((SHARED / "traces" / session.client / session.name).glob("stream*.jsonl")):
            assert recognise(stream)[0] is FORMATS[FORMAT], stream
            printed = list(read(stream))
            assert [event for event in printed if isinstance(event, Unreadable | UnknownRecord)] == [], stream
            for event in printed:
                if isinstance(event, ToolCalled):
                    logged = kept[event.call.id]
                    assert (event.call.operations, event.call.failure) == (logged.call.operations, logged.call.failure)
                    assert (event.stream == "main") == (logged.stream == "main"), stream
                    compared += 1
    assert compared > 300
