"""Gemini CLI's dialect against its captured tool definitions and recorded sessions, every version and both families."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.dialects import DIALECTS
from dragoman.model import Call, CommandOutcome, Failure, Media, NativeCall, NativeResult, Outcome
from tests.conformance import vocabulary as vocab

CLIENT = "gemini-cli"
DIALECT = DIALECTS["gemini_cli"]
MADE_UP = {"no_such_tool", "toy__echo", "echo"}
"""Names in the scripts that mean nothing without a list of servers: of a made-up tool, and bare ones of MCP servers."""

OF_THE_RUN = {"activate_skill", "complete_task"}
"""Their schemas name what only that run had: its skills, the form of an agent's result."""


def test_offered_schemas_agree_with_the_captured_ones_but_for_what_is_declared(shared: Path) -> None:
    capture = vocab.capture_of(shared, CLIENT)
    different = {version: vocab.schema_differences(DIALECT, capture, version) for version in capture.versions}
    assert {version: set(found) - OF_THE_RUN for version, found in different.items()} == {
        version: set() for version in capture.versions
    }


def test_every_scripted_call_means_something(shared: Path) -> None:
    sessions = vocab.sessions(shared, CLIENT)
    assert len(sessions) >= 17
    assert vocab.not_typed(DIALECT, [call for one in sessions for call in vocab.scripted_calls(one)]) == MADE_UP


def test_bare_names_are_of_servers_that_are_known(shared: Path) -> None:
    knowing = DIALECT.knowing(servers=["toy"])
    calls = [call for one in vocab.sessions(shared, CLIENT) for call in vocab.scripted_calls(one)]
    assert vocab.not_typed(knowing, calls) == {"no_such_tool", "echo"}


# ── logs ─────────────────────────────────────────────────────────────────────


def logged(session: Path) -> Iterator[tuple[NativeCall, NativeResult]]:
    for path in vocab.log_files(session, ".json", ".jsonl"):
        documents = vocab.json_lines(path) if path.suffix == ".jsonl" else [msgspec.json.decode(path.read_bytes())]
        # A message is written again when its calls are done: the last one counts.
        records = {record["id"]: record for document in documents for record in records_in(document)}
        for record in records.values():
            yield NativeCall(record["id"], record["name"], record["args"]), result_of(record)


def records_in(document: Any) -> Iterator[dict[str, Any]]:
    if isinstance(document, dict):
        yield from document.get("toolCalls") or ()
        for value in document.values():
            yield from records_in(value)
    elif isinstance(document, list):
        for value in document:
            yield from records_in(value)


def result_of(record: dict[str, Any]) -> NativeResult:
    parts = record.get("result") or []
    responses = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    media = [
        Media(part["inlineData"]["mimeType"], part["inlineData"]["data"]) for part in parts if "inlineData" in part
    ]
    texts = [str(response.get("error", response.get("output", ""))) for response in responses]
    content = (*texts, *media) if media else "\n".join(texts)
    return NativeResult(record["id"], content, any("error" in response for response in responses), item=record)


@pytest.fixture(scope="module")
def read(shared: Path) -> list[tuple[Call, Outcome]]:
    found = []
    for session in vocab.sessions(shared, CLIENT):
        for native, result in logged(session):
            call = DIALECT.read_call(native)
            found += [(call, outcome) for outcome in DIALECT.read_result(call, result).outcomes]
    return found


def test_every_logged_result_is_read(read: list[tuple[Call, Outcome]]) -> None:
    assert len(read) >= 205


def test_what_cannot_be_read_the_client_refused_too(read: list[tuple[Call, Outcome]]) -> None:
    refused = {call.native.name: outcome for call, outcome in read if call.failure is not None}
    assert {name: getattr(outcome, "kind", outcome) for name, outcome in refused.items()} == {
        "read_file": "invalid_arguments",
        "web_fetch": "invalid_arguments",
        "write_todos": "invalid_arguments",
    }


def test_only_a_skill_is_a_text(read: list[tuple[Call, Outcome]]) -> None:
    texts = {
        call.native.name
        for call, outcome in read
        if type(outcome).__name__ == "TextOutcome" and DIALECT.spelling_of(call.native) is not None
    }
    assert texts == {"activate_skill"}


def test_a_failed_command_has_its_exit_code_though_the_log_calls_it_a_success(read: list[tuple[Call, Outcome]]) -> None:
    failed = [outcome for call, outcome in read if "sys.exit(3)" in str(call.native.arguments)]
    assert [outcome.exit_code for outcome in failed if isinstance(outcome, CommandOutcome)] == [3] * 5
    assert not any(isinstance(outcome, Failure) for outcome in failed)
