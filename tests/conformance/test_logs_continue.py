"""Continue's logs: a scripted session; the wild holds none."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from dragoman.logs import FORMATS
from dragoman.logs.base.format import sample_of
from dragoman.model import (
    CallMcpTool,
    CommandOutcome,
    Failure,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unreadable,
)
from tests.conformance.conftest import SHARED
from tests.conformance.scripted_sessions import missing_calls, sessions, untyped

FORMAT = "continue"
SESSIONS = list(sessions("continue", FORMAT))
MADE_UP = {"no_such"}


def same(name: str, arguments: Any, logged_name: str, logged: Any) -> bool:
    return (name, arguments) == (logged_name, logged)


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: f"{session.client}/{session.name}")
def test_every_scripted_call_is_found_and_typed(session: Any) -> None:
    events = session.events(FORMAT)
    assert (len(session.calls) >= 20, len(session.files)) == (True, 1)
    assert missing_calls(session, events, same) == []
    assert set(untyped(events)) == MADE_UP
    assert [event for event in events if isinstance(event, Unreadable | UnknownRecord)] == []
    called = [event.call.id for event in events if isinstance(event, ToolCalled)]
    assert sorted(called) == sorted(str(event.call_id) for event in events if isinstance(event, ToolReturned))
    servers = [one for event in events if isinstance(event, ToolCalled) for one in event.call.operations]
    assert [one.tool for one in servers if isinstance(one, CallMcpTool)] == ["echo", "fail"]


def test_failures_commands_that_failed_and_timeouts_are_told_apart() -> None:
    kinds: Counter[str] = Counter()
    ends: Counter[tuple[int | None, bool]] = Counter()
    for session in SESSIONS:
        for event in session.events(FORMAT):
            for outcome in event.result.outcomes if isinstance(event, ToolReturned) else ():
                if isinstance(outcome, Failure):
                    kinds[outcome.kind] += 1
                elif isinstance(outcome, CommandOutcome):
                    ends[outcome.exit_code, outcome.timed_out] += 1
    # `Edit` is a tool of the client's that was not offered in this run; `no_such` was made up.
    assert kinds == {"failed": 6, "unknown_tool": 2}
    # A command that ended well is told as one that failed in silence is, so its code is not known.
    assert ends == {(None, False): 1, (3, False): 1, (None, True): 1}


def test_tokens_equal_the_logs_own_totals() -> None:
    for session in SESSIONS:
        (file,) = session.files
        total = json.loads(file.read_text())["usage"]
        used = [event.usage for event in session.events(FORMAT) if isinstance(event, TokensUsed)]
        assert {
            "promptTokens": sum(usage.input_tokens or 0 for usage in used),
            "completionTokens": sum(usage.output_tokens or 0 for usage in used),
            "promptTokensDetails": {
                "cachedTokens": sum(usage.cached_read_tokens or 0 for usage in used),
                "cacheWriteTokens": sum(usage.cached_write_tokens or 0 for usage in used),
            },
        } == {key: total[key] for key in ("promptTokens", "completionTokens", "promptTokensDetails")}


def test_no_other_clients_file_is_taken_for_one() -> None:
    rows = [json.loads(line) for line in (SHARED / "traces-wild/index.jsonl").read_text().splitlines()]
    paths = [SHARED / "traces-wild" / row["path"] for row in rows]
    assert [path for path in paths if FORMATS[FORMAT].recognise(sample_of(path))] == []
