"""opencode's dialect against its captured tool definitions and recorded sessions, every version and family."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.model import Call, CommandOutcome, Failure, Media, NativeCall, NativeResult, Outcome, TextOutcome
from tests.conformance import vocabulary as vocab

CLIENT = "opencode"
DIALECT: Dialect = DIALECTS["opencode"]
KNOWING = DIALECT.knowing(servers=["toy"])
MADE_UP = {"no_such_tool", "Bash"}
"""Names in the scripts that mean nothing: the client itself fixes the second before it keeps the call."""


def test_every_scripted_call_means_something(shared: Path) -> None:
    sessions = vocab.sessions(shared, CLIENT)
    assert len(sessions) >= 17
    assert vocab.not_typed(KNOWING, [call for one in sessions for call in vocab.scripted_calls(one)]) == MADE_UP


# ── logs ─────────────────────────────────────────────────────────────────────


def logged(session: Path) -> Iterator[tuple[NativeCall, NativeResult]]:
    for path in vocab.log_files(session, ".json"):
        document = msgspec.json.decode(path.read_bytes())
        rows = document["part"] if path.name == "tables.json" else [document] if "part" in path.parts else []
        for row in rows:
            data = row.get("data", row)
            part = msgspec.json.decode(data) if isinstance(data, str) else data
            if part["type"] == "tool" and part["state"]["status"] != "running":
                yield NativeCall(part["callID"], part["tool"], part["state"]["input"]), result_of(part)


def result_of(part: dict[str, Any]) -> NativeResult:
    state = part["state"]
    failed = state["status"] == "error"
    text = state["error"] if failed else state["output"]
    media = [Media(one["mime"], url=one["url"]) for one in state.get("attachments") or ()]
    return NativeResult(part["callID"], (text, *media) if media else text, failed, part["tool"], item=part)


@pytest.fixture(scope="module")
def read(shared: Path) -> list[tuple[Call, Outcome]]:
    found = []
    for session in vocab.sessions(shared, CLIENT):
        for native, result in logged(session):
            call = KNOWING.read_call(native)
            found += [(call, outcome) for outcome in KNOWING.read_result(call, result).outcomes]
    return found


def test_every_logged_result_is_read(read: list[tuple[Call, Outcome]]) -> None:
    assert len(read) >= 145


def test_what_cannot_be_read_the_client_refused_too(read: list[tuple[Call, Outcome]]) -> None:
    refused = {
        (call.native.name, outcome.kind if isinstance(outcome, Failure) else type(outcome).__name__)
        for call, outcome in read
        if call.failure is not None
    }
    assert refused == {
        ("apply_patch", "failed"),
        ("invalid", "unknown_tool"),
        ("invalid", "invalid_arguments"),
        ("read", "invalid_arguments"),
        ("todowrite", "invalid_arguments"),
    }


def test_nothing_but_what_servers_said_is_a_text(read: list[tuple[Call, Outcome]]) -> None:
    texts = {(call.native.name, outcome.text) for call, outcome in read if isinstance(outcome, TextOutcome)}
    # The lines of a long file are numbered with a gap where the recording was shortened.
    assert {name for name, text in texts if "characters cut" not in text} == {"toy_echo", "toy_add", "toy_stamp"}


def test_a_failed_command_has_its_exit_code_though_its_words_do_not_tell_it(
    read: list[tuple[Call, Outcome]],
) -> None:
    failed = [outcome for call, outcome in read if "sys.exit(3)" in str(call.native.arguments)]
    assert failed == [CommandOutcome(3, output="boom\npartial\n")] * 4


def test_what_the_user_would_not_have_is_denied(read: list[tuple[Call, Outcome]]) -> None:
    denied = [call.native.name for call, outcome in read if isinstance(outcome, Failure) and outcome.kind == "denied"]
    assert denied == ["webfetch"]
