"""pi's dialect against its captured tool definitions and recorded sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialects import DIALECTS
from dragoman.model import Call, CommandOutcome, Media, NativeCall, NativeResult, Outcome
from tests.conformance import vocabulary as vocab

CLIENT = "pi"
DIALECT = DIALECTS["pi"]
MADE_UP = {"no_such"}


def test_every_scripted_call_means_something(shared: Path) -> None:
    sessions = vocab.sessions(shared, CLIENT)
    assert len(sessions) >= 5
    assert vocab.not_typed(DIALECT, [call for one in sessions for call in vocab.scripted_calls(one)]) == MADE_UP


# ── logs ─────────────────────────────────────────────────────────────────────


def logged(session: Path) -> Iterator[tuple[NativeCall, NativeResult]]:
    calls: dict[str, NativeCall] = {}
    for path in vocab.log_files(session, ".jsonl"):
        for line in vocab.json_lines(path):
            message = line.get("message") or {}
            for block in message.get("content") or () if message.get("role") == "assistant" else ():
                if block["type"] == "toolCall":
                    calls[block["id"]] = NativeCall(block["id"], block["name"], block["arguments"])
            if message.get("role") == "toolResult":
                yield calls[message["toolCallId"]], result_of(message)


def result_of(message: dict[str, Any]) -> NativeResult:
    pieces = tuple(
        block["text"] if block["type"] == "text" else Media(block["mimeType"], block["data"])
        for block in message["content"]
    )
    content = pieces[0] if len(pieces) == 1 and isinstance(pieces[0], str) else pieces
    return NativeResult(message["toolCallId"], content, message["isError"], message["toolName"], item=message)


@pytest.fixture(scope="module")
def read(shared: Path) -> list[tuple[Call, Outcome]]:
    found = []
    for session in vocab.sessions(shared, CLIENT):
        for native, result in logged(session):
            call = DIALECT.read_call(native)
            found += [(call, outcome) for outcome in DIALECT.read_result(call, result).outcomes]
    return found


def test_every_logged_result_is_read_as_what_it_is(read: list[tuple[Call, Outcome]]) -> None:
    assert len(read) >= 35
    assert {
        call.native.name for call, outcome in read if type(outcome).__name__ in ("TextOutcome", "ContentOutcome")
    } == set()


def test_what_cannot_be_read_the_client_refused_too(read: list[tuple[Call, Outcome]]) -> None:
    refused = {call.native.name: getattr(outcome, "kind", outcome) for call, outcome in read if call.failure}
    assert refused == {"read": "invalid_arguments"}


def test_a_failed_command_has_its_exit_code_though_the_log_calls_it_an_error(read: list[tuple[Call, Outcome]]) -> None:
    failed = [outcome for call, outcome in read if "sys.exit(3)" in str(call.native.arguments)]
    assert failed == [CommandOutcome(3, output="boom\npartial\n")]
