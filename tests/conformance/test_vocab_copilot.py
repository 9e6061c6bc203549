"""Copilot CLI's dialect against its captured tool definitions and recorded sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.dialects import DIALECTS
from dragoman.model import Call, CommandOutcome, Failure, NativeCall, NativeResult, Outcome
from tests.conformance import vocabulary as vocab

CLIENT = "copilot"
DIALECT = DIALECTS["copilot"].knowing(servers=("toy",))
MADE_UP = {"no_such"}


def test_every_scripted_call_means_something(shared: Path) -> None:
    sessions = vocab.sessions(shared, CLIENT)
    assert len(sessions) >= 7
    assert vocab.not_typed(DIALECT, [call for one in sessions for call in vocab.scripted_calls(one)]) == MADE_UP


# ── logs ─────────────────────────────────────────────────────────────────────


def logged(session: Path) -> Iterator[tuple[NativeCall, NativeResult]]:
    calls: dict[str, NativeCall] = {}
    for path in vocab.log_files(session, "events.jsonl"):
        for event in vocab.json_lines(path):
            data = event["data"]
            for request in data.get("toolRequests") or () if event["type"] == "assistant.message" else ():
                calls[request["toolCallId"]] = NativeCall(request["toolCallId"], request["name"], request["arguments"])
            if event["type"] == "tool.execution_complete":
                text = data["result"]["content"] if data["success"] else data["error"]["message"]
                id = data["toolCallId"]
                yield calls[id], NativeResult(id, text, not data["success"], item=data)


@pytest.fixture(scope="module")
def read(shared: Path) -> list[tuple[Call, Outcome]]:
    found = []
    for session in vocab.sessions(shared, CLIENT):
        for native, result in logged(session):
            call = DIALECT.read_call(native)
            found += [(call, outcome) for outcome in DIALECT.read_result(call, result).outcomes]
    return found


def test_every_logged_result_is_read_as_what_it_is(read: list[tuple[Call, Outcome]]) -> None:
    assert len(read) >= 79
    assert {
        call.native.name for call, outcome in read if type(outcome).__name__ in ("TextOutcome", "ContentOutcome")
    } == {
        "fetch_copilot_cli_documentation",
        "session_store_sql",
        "sql",
        "toy-add",
        "toy-echo",
        "toy-picture",
        "toy-stamp",
    }, "only servers and queries of the client's own tables give mere text"


def test_failures_have_their_kinds(read: list[tuple[Call, Outcome]]) -> None:
    kinds: dict[str, set[str]] = {}
    for call, outcome in read:
        if isinstance(outcome, Failure):
            kinds.setdefault(outcome.kind, set()).add(call.native.name)
    assert kinds == {
        "denied": {"bash", "create"},
        "failed": {
            "apply_patch",
            "create",
            "edit",
            "grep",
            "read_agent",
            "read_bash",
            "skill",
            "sql",
            "toy-fail",
            "view",
        },
        "invalid_arguments": {"apply_patch", "bash", "view"},
        "unknown_tool": {"ask_user", "no_such", "report_intent", "store_memory", "update_todo", "web_fetch"},
    }


def test_a_failed_command_has_its_exit_code_though_the_log_calls_it_a_success(read: list[tuple[Call, Outcome]]) -> None:
    failed = [outcome for call, outcome in read if "sys.exit(3)" in str(call.native.arguments)]
    assert failed == [CommandOutcome(3, output="boom\npartial", job="1")]
