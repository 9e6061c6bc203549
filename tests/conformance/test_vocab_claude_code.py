"""Claude Code's dialect against its captured tool definitions and recorded sessions, every version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.dialects import DIALECTS
from dragoman.model import Call, Media, NativeCall, NativeResult, Outcome
from tests.conformance import vocabulary as vocab

CLIENT = "claude-code"
DIALECT = DIALECTS["claude_code"]
MADE_UP = {"NoSuchTool"}
"""Names in the scripts that no version ever had. `SlashCommand` is none: versions between the probed ones had it."""


def test_a_difference_would_be_seen(shared: Path) -> None:
    capture = vocab.capture_of(shared, CLIENT)
    (older,) = (one for one in capture.tool_sets if one.version == "2.1.123" and "main" in one.roles)
    agent = next(tool.schema for tool in older.tools if tool.name == "Agent")
    offered = next(one for one in DIALECT.definitions() if one.name == "Agent")
    assert agent is not None
    assert sorted(vocab.differing(offered.parameters, agent)) == [
        ("effort", "was never there"),
        ("isolation", "has enum ['remote', 'worktree'], not ['worktree']"),
        ("model", "has enum ['fable', 'haiku', 'opus', 'sonnet'], not ['haiku', 'opus', 'sonnet']"),
    ]


def test_every_scripted_call_means_something(shared: Path) -> None:
    sessions = vocab.sessions(shared, CLIENT)
    assert len(sessions) >= 23
    assert vocab.not_typed(DIALECT, [call for one in sessions for call in vocab.scripted_calls(one)]) == MADE_UP


# ── logs ─────────────────────────────────────────────────────────────────────


def logged(session: Path) -> Iterator[tuple[NativeCall, NativeResult]]:
    for path in vocab.log_files(session, ".jsonl"):
        calls: dict[str, NativeCall] = {}
        for line in vocab.json_lines(path):
            # Requests are logged too, with the same blocks and less in them.
            message = line["message"] if line.get("type") in ("user", "assistant") else {}
            blocks = message.get("content")
            for block in blocks if isinstance(blocks, list) else ():
                if block.get("type") == "tool_use":
                    calls[block["id"]] = NativeCall(block["id"], block["name"], block["input"])
                elif block.get("type") == "tool_result" and block["tool_use_id"] in calls:
                    yield calls[block["tool_use_id"]], result_of(block, line)


def result_of(block: dict[str, Any], line: dict[str, Any]) -> NativeResult:
    content = block.get("content", "")
    pieces = content if isinstance(content, str) else tuple(map(piece, content))
    beside = {key: line[key] for key in ("toolUseResult", "permissionDecision", "toolDenialKind") if key in line}
    return NativeResult(block["tool_use_id"], pieces, block.get("is_error"), item=beside or None)


def piece(block: dict[str, Any]) -> str | Media:
    if block["type"] == "text":
        return str(block["text"])
    if block["type"] == "image":
        return Media(block["source"]["media_type"], block["source"]["data"])
    return msgspec.json.encode(block).decode()


@pytest.fixture(scope="module")
def read(shared: Path) -> list[tuple[Call, NativeResult, Outcome]]:
    found = []
    for session in vocab.sessions(shared, CLIENT):
        for native, result in logged(session):
            call = DIALECT.read_call(native)
            found += [(call, result, outcome) for outcome in DIALECT.read_result(call, result).outcomes]
    return found


def test_every_logged_result_is_read(read: list[tuple[Call, NativeResult, Outcome]]) -> None:
    assert len(read) >= 392


def test_what_cannot_be_read_the_client_refused_too(read: list[tuple[Call, NativeResult, Outcome]]) -> None:
    refused = {call.native.name: outcome for call, _, outcome in read if call.failure is not None}
    assert {name: getattr(outcome, "kind", outcome) for name, outcome in refused.items()} == {
        "Bash": "invalid_arguments",
        "Read": "invalid_arguments",
    }


def test_only_what_the_log_tells_without_numbers_stays_a_text(read: list[tuple[Call, NativeResult, Outcome]]) -> None:
    texts = {
        call.native.name
        for call, _, outcome in read
        if type(outcome).__name__ == "TextOutcome" and DIALECT.spelling_of(call.native) is not None
    }
    assert texts == {"Grep"}  # one search asked for lines without their numbers


def test_a_failed_command_has_its_exit_code_whatever_the_log_calls_it(
    read: list[tuple[Call, NativeResult, Outcome]],
) -> None:
    failed = [outcome for call, _, outcome in read if "sys.exit(3)" in str(call.native.arguments)]
    codes = [getattr(outcome, "exit_code", outcome) for outcome in failed]
    # Two old versions did not log the code.
    assert (codes.count(3), codes.count(None), len(codes)) == (6, 2, 8)
