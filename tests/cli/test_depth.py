"""JSON and TOML nested to any depth, in logs and in everything else a command reads: an answer or a typed error."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from dragoman.cli.terminal.console import ExitCode
from tests.logs.samples import CLAUDE

from .conftest import User

DEPTHS = (150, 480, 900, 100_000)
COMMANDS = (
    "doctor LOG",
    "show LOG",
    "show LOG --json",
    "events LOG",
    "sessions LOG",
    "analyse LOG",
    "pack LOG",
    "lab grep zzz LOG",
    "schema check LOG",
    "schema extract LOG --json",
    "export LOG --to html",
    "export LOG --to atif",
    "export LOG --to otel",
    "export LOG --to dragoman",
    "query --in LOG SELECT(arguments)FROM(calls)",
    "replay LOG --workspace .",
)


def objects(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


def lists(levels: int) -> str:
    return "[" * levels + "]" * levels


def deep_log(path: Path, levels: int) -> Path:
    """A log with a call, a result and a record of an unknown kind that are all nested so deeply."""
    head = '"sessionId": "s-1", "timestamp": "2026-01-01T00:00:00Z"'
    call = f'{{"type": "tool_use", "id": "t9", "name": "mcp__a__b", "input": {objects(levels)}}}'
    result = f'{{"type": "tool_result", "tool_use_id": "t9", "content": {lists(levels)}}}'
    lines = (
        f'{{"type": "assistant", "uuid": "u1", {head}, "message": {{"role": "assistant", "content": [{call}]}}}}',
        f'{{"type": "user", "uuid": "u2", {head}, "message": {{"role": "user", "content": [{result}]}}}}',
        f'{{"type": "a-new-kind", "uuid": "u3", {head}, "x": {objects(levels)}}}',
    )
    path.write_bytes(CLAUDE + "\n".join(lines).encode() + b"\n")
    return path


@pytest.mark.parametrize("levels", DEPTHS)
def test_a_log_of_any_depth_is_read_by_every_command(user: User, levels: int) -> None:
    log = str(deep_log(user.here / "log.jsonl", levels))
    for line in COMMANDS:
        answer = user.types(*(log if word == "LOG" else word for word in line.split()))
        assert answer.code in (ExitCode.OK, ExitCode.NO), (line, answer.err)


@pytest.mark.parametrize("levels", DEPTHS)
def test_what_is_typed_or_piped_in_is_read_or_refused(user: User, monkeypatch: pytest.MonkeyPatch, levels: int) -> None:
    translate = ("translate", "--from", "codex", "--to", "claude_code")
    for arguments in (objects(levels), lists(levels), f'"{objects(levels)}"'.replace('"a"', '\\"a\\"')):
        text = f'{{"name": "mcp__server__tool", "arguments": {arguments}}}'.encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        answer = user.types(*translate)
        assert answer.code in (ExitCode.OK, ExitCode.TOOL, ExitCode.DEFINITION), answer
    for line in (
        ("--set", f"policy.rules={lists(levels)}", "tools"),
        ("--set", f"providers.x={objects(levels)}", "tools"),
        ("say", "edit_file", "path=a", f"edits={lists(levels)}"),
    ):
        assert user.types(*line).code in (ExitCode.USAGE, ExitCode.DEFINITION), line


@pytest.mark.parametrize("levels", DEPTHS)
def test_files_of_settings_and_agents_are_read_or_refused(user: User, levels: int) -> None:
    user.write(user.here / "agents" / "good.md", "---\nname: good\ndescription: Good.\n---\nGood.\n")
    user.write(user.here / "agents" / "deep.md", f"---\nname: deep\ndescription: {lists(levels)}\n---\nDeep.\n")
    user.write(user.here / ".codex" / "config.toml", f"x = {lists(levels)}\n")
    user.write(user.here / ".mcp.json", objects(levels))
    answer = user.types("agents", "list")
    assert answer.code in (ExitCode.OK, ExitCode.NO), answer
    assert "good" in answer.out
    assert user.types("mcp", "list").code in (ExitCode.OK, ExitCode.NO)
    user.settings(f"x = {lists(levels)}\n")
    assert user.types("tools").code == ExitCode.DEFINITION
