"""A log like a client's that another program wrote is said to be so, and read with doubt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import FORMATS, read
from dragoman.logs.base import Likeness
from dragoman.logs.base.checkpoint import restored, stored
from dragoman.logs.base.format import Storable
from dragoman.logs.history import check_drift, find_logs
from dragoman.model import CommandOutcome, Failure, Outcome, RunCommand, TextOutcome, ToolCalled, ToolReturned
from tests.logs.samples import CLAUDE, SAMPLES, _block, _codex, _told, lines


def finding(path: Path, format: str) -> str | None:
    likeness = Likeness(FORMATS[format])
    for event in read(path, format):
        likeness.take(event)
    return likeness.what


def rollout(originator: str) -> bytes:
    return lines(
        _codex("session_meta", {"id": "c-1", "cwd": "/p", "cli_version": "0.150.0", "originator": originator}),
        _codex(
            "response_item",
            {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "ls"}', "call_id": "x-1"},
        ),
        _codex(
            "response_item",
            {
                "type": "function_call_output",
                "call_id": "x-1",
                "output": "Wall time: 0.1 seconds\nProcess exited with code 3\nOutput:\na",
            },
        ),
    )


def outcome_of(path: Path) -> Outcome:
    (returned,) = [event for event in read(path) if isinstance(event, ToolReturned)]
    return returned.result.outcomes[0]


def test_a_log_that_names_another_program_is_like_the_client_and_its_results_are_text(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(rollout("codex_exec"))
    assert (finding(path, "codex"), type(outcome_of(path))) == (None, CommandOutcome)
    path.write_bytes(rollout("other_agent"))
    assert finding(path, "codex") == (
        "like codex, not codex: it names other_agent as its writer; results are kept as text"
    )
    assert isinstance(outcome_of(path), TextOutcome)
    (called,) = [event for event in read(path) if isinstance(event, ToolCalled)]
    assert called.call.operations == (RunCommand("ls"),)
    assert list(check_drift(find_logs(str(path))).unlike) == [path]


def use(number: int, name: str, *, worked: bool = True) -> list[dict[str, Any]]:
    id = f"t{number}"
    call = _block(f"u{number}", "u0", {"type": "tool_use", "id": id, "name": name, "input": {"command": "ls"}})
    said = "fine" if worked else f"<tool_use_error>Error: No such tool available: {name}</tool_use_error>"
    return [call, _told(f"u{number + 1}", f"u{number}", id, said, is_error=not worked)]


def test_a_log_with_several_tools_that_no_version_had_is_read_with_doubt(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    strange = [*use(20, "Frobnicate"), *use(22, "Teleport")]
    path.write_bytes(CLAUDE + lines(*strange, *use(24, "Bash"), *use(26, "Bash", worked=False)))
    assert finding(path, "claude_code") == (
        "like claude_code, not claude_code: no version of it had Frobnicate, Teleport; "
        "results after them are kept as text"
    )
    told = [event.result.outcomes[0] for event in read(path) if isinstance(event, ToolReturned)]
    assert told[-2] == TextOutcome("fine")
    assert isinstance(told[-1], Failure)
    path.write_bytes(CLAUDE + lines(*use(24, "Bash")))
    told = [event.result.outcomes[0] for event in read(path) if isinstance(event, ToolReturned)]
    assert isinstance(told[-1], CommandOutcome)


def test_calls_without_a_result_count_as_they_do_in_the_check_of_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(CLAUDE + lines(use(20, "Frobnicate")[0], *use(22, "Bash"), use(24, "Teleport")[0]))
    assert finding(path, "claude_code") == (
        "like claude_code, not claude_code: no version of it had Frobnicate, Teleport; "
        "not all their calls have a result"
    )
    report = check_drift(find_logs(str(path)))
    assert {one.name for one in report.drifts if one.kind == "new_tool"} == {"Frobnicate", "Teleport"}
    assert list(report.unlike) == [path]


def test_a_mark_in_a_name_excuses_no_tool_where_servers_are_named(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(CLAUDE + lines(*use(20, "Frob__nicate"), *use(22, "Tele__port")))
    assert (finding(path, "claude_code") or "").startswith("like claude_code, not claude_code: no version of it had Fr")
    path.write_bytes(CLAUDE + lines(*use(20, "mcp__frob__nicate"), *use(22, "mcp__tele__port")))
    assert finding(path, "claude_code") is None


def test_doubt_is_the_same_when_a_file_is_read_on(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    first = CLAUDE + lines(*use(20, "Frobnicate"), *use(22, "Teleport"))
    path.write_bytes(first)
    reader = FORMATS["claude_code"].reader(path)
    reader.feed(first)
    again = restored("claude_code", path, stored(reader, Storable()))
    assert again is not None
    (_, returned, *_) = again[0].feed(lines(*use(24, "Bash")))
    assert isinstance(returned, ToolReturned)
    assert returned.result.outcomes == (TextOutcome("fine"),)


def test_tools_of_a_client_that_nobody_captured_are_no_sign(tmp_path: Path) -> None:
    path = tmp_path / "p/agent-transcripts/s.txt"
    path.parent.mkdir(parents=True)
    calls = "".join(f"[Tool call] {name}\n  path: a\n" for name in ("Frobnicate", "Teleport"))
    results = "".join(f"\n[Tool result] {name}\nfine\n" for name in ("Frobnicate", "Teleport"))
    path.write_text(f"user:\n<user_query>\nGo.\n</user_query>\n\nassistant:\n{calls}{results}")
    assert sum(isinstance(event, ToolReturned) for event in read(path)) == 2
    assert finding(path, "cursor") is None


def test_one_new_tool_and_tools_that_a_model_made_up_are_no_sign(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(CLAUDE + lines(*use(20, "Frobnicate")))
    assert finding(path, "claude_code") is None
    path.write_bytes(CLAUDE + lines(*use(20, "Frobnicate", worked=False), *use(22, "Teleport", worked=False)))
    assert finding(path, "claude_code") is None
    assert any(
        isinstance(one, Failure)
        for event in read(path)
        if isinstance(event, ToolReturned)
        for one in event.result.outcomes
    )


@pytest.mark.parametrize("format", sorted(SAMPLES))
def test_no_sample_is_taken_for_another_program_s(format: str, tmp_path: Path) -> None:
    for name, data in SAMPLES[format]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        assert finding(path, format) is None
