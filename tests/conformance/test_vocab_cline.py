"""Cline's dialect against its captured tool definitions and recorded sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from dragoman.dialects import DIALECTS
from dragoman.model import Call, CommandOutcome, NativeCall, NativeResult, Outcome
from tests.conformance import vocabulary as vocab

CLIENT = "cline"
DIALECT = DIALECTS["cline"].knowing(servers=("toy",))
MADE_UP = {"no_such"}


def test_every_scripted_call_means_something(shared: Path) -> None:
    sessions = vocab.sessions(shared, CLIENT)
    assert len(sessions) >= 1
    assert vocab.not_typed(DIALECT, [call for one in sessions for call in vocab.scripted_calls(one)]) == MADE_UP


# ── logs ─────────────────────────────────────────────────────────────────────


def logged(session: Path) -> Iterator[tuple[NativeCall, NativeResult]]:
    for path in vocab.log_files(session, ".messages.json"):
        calls: dict[str, NativeCall] = {}
        for message in msgspec.json.decode(path.read_bytes())["messages"]:
            for block in message["content"] if isinstance(message["content"], list) else ():
                if block["type"] == "tool_use":
                    calls[block["id"]] = NativeCall(block["id"], block["name"], block["input"])
                if block["type"] == "tool_result":
                    told = block["content"]
                    content = told if isinstance(told, str) else msgspec.json.encode(told).decode()
                    result = NativeResult(block["tool_use_id"], content, block.get("is_error"), item=block)
                    yield calls[block["tool_use_id"]], result


@pytest.fixture(scope="module")
def read(shared: Path) -> list[tuple[Call, Outcome]]:
    found = []
    for session in vocab.sessions(shared, CLIENT):
        for native, result in logged(session):
            call = DIALECT.read_call(native)
            found += [(call, outcome) for outcome in DIALECT.read_result(call, result).outcomes]
    return found


def test_every_logged_result_is_read_as_what_it_is(read: list[tuple[Call, Outcome]]) -> None:
    assert len(read) >= 24
    assert {
        call.native.name for call, outcome in read if type(outcome).__name__ in ("TextOutcome", "ContentOutcome")
    } == {"toy__echo"}, "only servers give mere text"


def test_failures_have_their_kinds(read: list[tuple[Call, Outcome]]) -> None:
    failed = [(call.native.name, getattr(outcome, "kind", None)) for call, outcome in read]
    assert [(name, kind) for name, kind in failed if kind is not None] == [
        ("read_files", "failed"),
        ("editor", "failed"),
        ("editor", "failed"),
        ("search_codebase", "failed"),
        ("toy__fail", "failed"),
        ("no_such", "unknown_tool"),
    ]


def test_a_failed_command_has_its_exit_code(read: list[tuple[Call, Outcome]]) -> None:
    failed = [outcome for call, outcome in read if "sys.exit(3)" in str(call.native.arguments)]
    assert failed == [CommandOutcome(3, stdout="partial\n", stderr="boom\n")]
