"""Qwen Code's dialect against its captured tool definitions and recorded sessions, every version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.model import Call, CommandOutcome, Failure, Media, NativeCall, NativeResult, Outcome, TextOutcome
from tests.conformance import vocabulary as vocab

CLIENT = "qwen-code"
DIALECT: Dialect = DIALECTS["qwen_code"]
MADE_UP = {"no_such_tool", "toy__echo", "echo", "tool_call"}
"""Names in the scripts that mean nothing here: other clients', made-up ones (one in a `tool_call`), a server's bare."""

UNTYPED = {"list_agents"}
"""Its captured schema is empty: not even that of an object."""


def test_offered_schemas_agree_with_the_captured_ones_but_for_what_is_declared(shared: Path) -> None:
    capture = vocab.capture_of(shared, CLIENT)
    different = {version: vocab.schema_differences(DIALECT, capture, version) for version in capture.versions}
    assert {
        version: {name: what for name, what in found.items() if name not in UNTYPED}
        for version, found in different.items()
    } == {version: {} for version in capture.versions}


def test_every_scripted_call_means_something(shared: Path) -> None:
    sessions = vocab.sessions(shared, CLIENT)
    assert len(sessions) >= 14
    calls = [call for one in sessions for call in vocab.scripted_calls(one)]
    assert vocab.not_typed(DIALECT, calls) == MADE_UP
    carried = [call.arguments for call in calls if call.name == "tool_call" and isinstance(call.arguments, dict)]
    inner = [NativeCall("1", arguments["name"], arguments["arguments"]) for arguments in carried]
    assert vocab.not_typed(DIALECT, inner) == {"no_such_deferred"}


# ── logs ─────────────────────────────────────────────────────────────────────


def logged(session: Path) -> Iterator[tuple[NativeCall, NativeResult]]:
    for path in vocab.log_files(session, ".jsonl"):
        calls: dict[str, NativeCall] = {}
        for line in vocab.json_lines(path):
            parts = (line.get("message") or {}).get("parts") or ()
            for part in parts:
                if "functionCall" in part:
                    call = part["functionCall"]
                    calls[call["id"]] = NativeCall(call["id"], call["name"], call["args"])
                if "functionResponse" in part and line["type"] == "tool_result":
                    yield calls[part["functionResponse"]["id"]], result_of(part["functionResponse"], line)


def result_of(part: dict[str, Any], line: dict[str, Any]) -> NativeResult:
    response = part["response"]
    text = str(response.get("error", response.get("output", "")))
    inline = [inner["inlineData"] for inner in part.get("parts") or () if "inlineData" in inner]
    media = [Media(one["mimeType"], one["data"]) for one in inline]
    content: str | tuple[str | Media, ...] = (text, *media) if media else text
    return NativeResult(part["id"], content, "error" in response, part["name"], item=line["toolCallResult"])


@pytest.fixture(scope="module")
def read(shared: Path) -> list[tuple[Call, Outcome]]:
    found = []
    for session in vocab.sessions(shared, CLIENT):
        for native, result in logged(session):
            call = DIALECT.read_call(native)
            found += [(call, outcome) for outcome in DIALECT.read_result(call, result).outcomes]
    return found


def test_every_logged_result_is_read(read: list[tuple[Call, Outcome]]) -> None:
    assert len(read) >= 165


def test_what_cannot_be_read_the_client_refused_too(read: list[tuple[Call, Outcome]]) -> None:
    refused = [(call.native.arguments, outcome) for call, outcome in read if call.failure is not None]
    assert refused
    assert [outcome for _, outcome in refused if not isinstance(outcome, Failure)] == []


def test_what_is_a_text_is_known(read: list[tuple[Call, Outcome]]) -> None:
    spelled = [(call, outcome) for call, outcome in read if DIALECT.spelling_of(call.native) is not None]
    texts = {(call.native.name, outcome.text[:20]) for call, outcome in spelled if isinstance(outcome, TextOutcome)}
    assert texts == {
        ("read_file", "[Unsupported image f"),
        ("read_file", "Jupyter Notebook (py"),
        ("skill", "[omitted]"),
        ("tool_search", "<functions>[omitted]"),
        ("tool_search", "[omitted]"),
    }


def test_a_failed_command_has_its_exit_code_whatever_the_log_calls_it(read: list[tuple[Call, Outcome]]) -> None:
    failed = [outcome for call, outcome in read if "sys.exit(3)" in str(call.native.arguments)]
    assert [outcome.exit_code for outcome in failed if isinstance(outcome, CommandOutcome)] == [3] * 4
    assert not any(isinstance(outcome, Failure) for outcome in failed)


def test_denials_and_interrupts_are_told_apart(read: list[tuple[Call, Outcome]]) -> None:
    kinds = [outcome.kind for _, outcome in read if isinstance(outcome, Failure)]
    assert (kinds.count("denied"), kinds.count("cancelled")) == (2, 1)
