"""Kimi Code's tools for commands and background tasks."""

from __future__ import annotations

import re
from typing import Any

from dragoman.dialects.base.conversions import WHOLE_SECONDS
from dragoman.dialects.base.spelling import Spelling, means, native_only
from dragoman.dialects.base.words import (
    by_hand,
    ended_badly,
    one_of,
    one_stream,
)
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

_SILENT = "Command executed successfully."
FAILED = re.compile(r"(?:(.*)\n)?Command failed with exit code: (\d+)\.", re.DOTALL)
_NO_OUTPUT = re.compile(r"Process exited with code \d+")
_LEFT = re.compile(
    r"task_id: (\S+)\npid: \d+\n(?:description: [^\n]*\n)?status: running\n.*?(?:\n\nforeground_output:\n(.*))?",
    re.DOTALL,
)
_SAVED = re.compile(
    r"Tool output exceeded \d+ characters; the full output was saved to a file\.\n.*?^output_size_chars: (\d+)\n"
    r".*?^output_path: ([^\n]+)\n.*?\n\[preview: chars \[0, (\d+)\)\]\n(.*)",
    re.DOTALL | re.MULTILINE,
)


def _command_written(outcome: out.CommandOutcome, asked: op.Operation) -> str | None:
    printed = outcome.output or ""
    if outcome.running:
        if outcome.job is None:
            return None
        purpose = getattr(asked, "purpose", None) or "command"
        head = f"task_id: {outcome.job}\npid: 0\ndescription: {purpose}\nstatus: running\nautomatic_notification: true"
        return head + (f"\n\nforeground_output:\n{printed}" if printed or outcome.timed_out else "")
    if outcome.timed_out or outcome.signal is not None or outcome.exit_code is None:
        return None
    if outcome.exit_code:
        lead = f"Process exited with code {outcome.exit_code}" if not printed else printed.rstrip("\n")
        return f"{lead}\nCommand failed with exit code: {outcome.exit_code}."
    return printed or _SILENT


def _command_read(text: str, _asked: op.Operation) -> out.CommandOutcome | None:
    failed = FAILED.fullmatch(text)
    if failed is not None:
        printed = failed[1] or ""
        return out.CommandOutcome(int(failed[2]), output="" if _NO_OUTPUT.fullmatch(printed) else printed)
    left = _LEFT.fullmatch(text)
    if left is not None:  # a command that took too long continues in the background, with what it printed so far
        return out.CommandOutcome(output=left[2], running=True, timed_out=left[2] is not None, job=left[1])
    saved = _SAVED.match(text)
    if saved is not None:
        size, shown = int(saved[1]), int(saved[3])
        return out.CommandOutcome(0, output=saved[4][:shown], output_path=saved[2], truncated=max(0, size - shown))
    return None


def _succeeded(asked: op.Operation, native: NativeResult) -> out.Outcome | None:
    """What a command printed that succeeded: any text, told by the flag alone."""
    if native.is_error is not False or not isinstance(native.content, str):
        return None
    known = _command_read(native.content, asked)
    return known or out.CommandOutcome(0, output="" if native.content == _SILENT else native.content)


COMMANDS = one_of(
    by_hand(
        out.CommandOutcome,
        _command_written,
        _command_read,
        nearly={
            "exit_code": "a command that was not waited for has none",
            "output": "a newline before the exit code is the client's",
            "running": "it is said of a command that has a task",
            "timed_out": "a command that takes too long continues in the background",
            "job": "it is named for a command that is running",
            "output_path": "it is named for output that was cut",
            "truncated": "it is said of output that was saved",
        },
    ),
    back=one_stream,
    from_native=_succeeded,
    is_error=ended_badly,
    unsaid={"signal": "it is said as an exit code"},
)


class Bash(Spelling[op.RunCommand]):
    """Run a command line with bash. One that takes longer than `timeout` continues in the background."""

    native_name = "Bash"
    results = COMMANDS
    unsaid = {"wait_ms": "a background command is left at once", "job": "the client names background commands"}

    command: str = means("command", "The command line.")
    cwd: str | None = means("cwd", "The folder to run the command in.", default=None)
    timeout: int | None = means("timeout_ms", "Timeout in seconds; default 60.", default=None, convert=WHOLE_SECONDS)
    description: str | None = means("purpose", "What the command does, in a few words.", default=None)
    run_in_background: bool = means("background", "Run the command in the background.", default=False)
    disable_timeout: bool | None = native_only("a background command ends when it is done or stopped")


_FIELD = re.compile(r"^(status|exit_code|kind|description|subagent_type|agent_id|output_path): (.*)$", re.MULTILINE)


def task_fields(text: str) -> tuple[dict[str, str], str | None]:
    """The fields of a task's record and its output."""
    head, mark, output = text.partition("\n\n[output]\n")
    return dict(_FIELD.findall(head)), output.partition("\n\n[still_running]\n")[0] if mark else None


def _output_read(text: str, asked: Any) -> out.CommandOutcome | None:
    fields, output = task_fields(text)
    if "status" not in fields or f"task_id: {asked.job}" not in text:
        return None
    code = fields.get("exit_code", "")
    return out.CommandOutcome(
        int(code) if code.isdecimal() else None,
        output=output,
        running=fields["status"] == "running",
        timed_out=fields["status"] == "timed_out",
        job=asked.job,
        output_path=fields.get("output_path"),
    )


TASKS = one_of(
    formerly=(
        by_hand(
            out.CommandOutcome,
            lambda _outcome, _asked: None,
            _output_read,
            nearly=dict.fromkeys(
                ("exit_code", "output", "running", "timed_out", "job", "output_path"), "it is only read"
            ),
        ),
    )
)


class TaskOutput(Spelling[op.ReadOutput]):
    """Read the output of a background command or agent."""

    native_name = "TaskOutput"
    unsaid = {"block": "it never waits"}

    task_id: str = means("job", "Id of the task.")

    results = TASKS


class TaskStop(Spelling[op.StopCommand]):
    """Stop a background command or agent."""

    native_name = "TaskStop"

    task_id: str = means("job", "Id of the task.")
    reason: str | None = native_only("why it is stopped is not kept")

    results = TASKS


def _jobs_read(text: str, _asked: op.Operation) -> out.JobsOutcome | None:
    if not re.match(r"active_background_tasks: \d+", text):
        return None
    found = []
    for piece in text.split("\n---\n"):
        id = re.search(r"^task_id: (\S+)$", piece, re.MULTILINE)
        if id is not None:
            command = re.search(r"^command: (.*)$", piece, re.MULTILINE)
            running = re.search(r"^status: running$", piece, re.MULTILINE) is not None
            found.append(out.Job(id[1], None if command is None else command[1], running))
    return out.JobsOutcome(tuple(found))


class TaskList(Spelling[op.ListCommands]):
    """List background commands and agents."""

    native_name = "TaskList"
    results = one_of(formerly=(by_hand(out.JobsOutcome, lambda _outcome, _asked: None, _jobs_read, says=("jobs",)),))

    active_only: bool | None = native_only("all are listed")
    limit: int | None = native_only("all are listed")
