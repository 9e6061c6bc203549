"""Claude Code's tools for commands, background tasks and scripts."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dragoman.dialects.base.spelling import Conversion, Spelling, means, native_only, was
from dragoman.dialects.base.words import (
    Results,
    by_hand,
    either,
    ended_badly,
    in_json,
    one_of,
    skipped,
    way,
    without,
    words,
)
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.edit_rules import EditRules

from .results import fields, keep, number_in, plain_text, saved_output, text_in, whole

EXIT_CODE = re.compile(r"Exit code (-?\d+)(?:\n|\Z)")
TIMED_OUT = re.compile(r"Command timed out(?: after [^\n]*)?(?:\n|\Z)")
"""How a command that ran and did not succeed is told, flagged as an error: the code from 2.0.55 on, the time in 1.0.59
and 1.0.88."""

_NOTE = re.compile(r"(?:\A|\n)Shell cwd was reset to [^\n]*\s*\Z")

WHOLE = Conversion(
    to=lambda number: None if number is None else whole(number, "timeout"),
    back=lambda number: number,
)
"""A native number of milliseconds."""


_SILENT = ("(Bash completed with no output)", "Tool ran without output")
_BACKGROUND = re.compile(
    r"(?:Command (?:running in background|was manually backgrounded by user)(?: with ID: (?P<started>[^\s.]+))?"
    r"|Command did not complete within its (?P<limit>\S+) timeout and was moved to the background"
    r"(?: \(ID: (?P<moved>[^)\s]+)\))?)"
    r"\.?(?: Output is being written to: (?P<path>[^\n]+?)(?:\. You will be notified[^\n]*|\.)?)?"
)


def _command_written(outcome: out.CommandOutcome, asked: op.Operation) -> str:
    """What it printed, before that its exit code where it is not zero, after that its task."""
    printed = _printed(outcome)
    if outcome.running:
        return "\n".join(filter(None, (printed, _background(asked, outcome))))
    if outcome.timed_out:
        limit = asked.timeout_ms if isinstance(asked, op.RunCommand) else None
        head = "Command timed out" if limit is None else f"Command timed out after {limit / 1000:g}s"
        killed = f"Exit code {outcome.exit_code}" if outcome.exit_code else None
        return "\n".join(filter(None, (killed, head, printed)))
    code = outcome.exit_code if outcome.signal is None else 128 + outcome.signal
    if code:
        return "\n".join(filter(None, (f"Exit code {code}", printed)))
    return printed or _SILENT[0]


def _command_read(asked: op.Operation, native: NativeResult) -> out.Outcome | None:
    content = native.content
    if not isinstance(content, str) and not all(isinstance(piece, str) for piece in content):
        return None
    text = plain_text(native)
    if native.is_error:
        return _unsuccessful(text)
    last = text.rfind("\n") + 1
    background = _BACKGROUND.fullmatch(text, last) if text.startswith("Command ", last) else None
    if background is not None:
        return _left_running(text[: max(0, last - 1)], background, fields(native))
    whole_output = saved_output(text)
    known = fields(native)
    job = text_in(known, "backgroundTaskId")
    if job is not None:  # in other words, as when the user sent it to the background (Claude Code 1.0.98, 2.1.218)
        return out.CommandOutcome(output=text_in(known, "stdout") or text, running=True, job=job)
    # `grep` without a match and the like count as success, and their exit code is not given (2.0.64, 2.1.14).
    unknown = known.get("interrupted") is True or text_in(known, "returnCodeInterpretation") is not None
    code = None if unknown else 0
    if whole_output is not None:
        left = _left(known, whole_output.left)
        streams = _streams(known, whole_output.text)
        return out.CommandOutcome(code, *streams, truncated=left, output_path=whole_output.path)
    if not known and text in _SILENT:
        return out.CommandOutcome(code, output="")
    return out.CommandOutcome(code, *_streams(known, text))


def _left(known: dict[str, Any], left: int) -> int:
    """How much of a long output is in the file alone: of what the record has of it, where there is one."""
    stdout, size = text_in(known, "stdout"), number_in(known, "persistedOutputSize")
    return left if stdout is None or size is None else max(0, size - len(stdout))


def _printed(outcome: out.CommandOutcome) -> str:
    pieces = (outcome.stdout, outcome.stderr) if outcome.output is None else (outcome.output,)
    printed = "\n".join(piece.rstrip("\n") for piece in pieces if piece).rstrip("\n")
    if outcome.truncated and outcome.output_path is not None:
        return keep(printed, outcome.output_path, outcome.truncated)
    return printed


def _background(operation: op.Operation, outcome: out.CommandOutcome) -> str:
    limit = operation.timeout_ms if isinstance(operation, op.RunCommand) else None
    if outcome.timed_out:
        id = f" (ID: {outcome.job})" if outcome.job else ""
        said = "its own" if limit is None else f"its {limit / 1000:g}s"
        head = f"Command did not complete within {said} timeout and was moved to the background{id}."
    else:
        head = "Command running in background" + (f" with ID: {outcome.job}." if outcome.job else ".")
    return head if outcome.output_path is None else f"{head} Output is being written to: {outcome.output_path}."


def _left_running(printed: str, found: re.Match[str], known: dict[str, Any]) -> out.CommandOutcome:
    job = text_in(known, "backgroundTaskId") or found["started"] or found["moved"]
    output = text_in(known, "stdout") or printed
    timed_out = found["limit"] is not None or number_in(known, "timedOutAfterMs") is not None
    return out.CommandOutcome(
        output=output or None, running=True, timed_out=timed_out, job=job, output_path=found["path"]
    )


def _unsuccessful(text: str) -> out.CommandOutcome:
    code = EXIT_CODE.match(text)
    timed_out = TIMED_OUT.match(text, 0 if code is None else code.end())
    if timed_out is not None:  # from 2.1 on after the exit code of a command that was ended
        return out.CommandOutcome(
            None if code is None else int(code[1]), output=text[timed_out.end() :], timed_out=True
        )
    if code is not None:
        return out.CommandOutcome(int(code[1]), output=text[code.end() :])
    # Up to 1.0.108 the exit code was not told; that it failed is in the flag of the result alone.
    return out.CommandOutcome(output=text)


def _streams(known: dict[str, Any], text: str) -> tuple[str | None, str | None, str | None]:
    """Both streams where they were kept apart (up to 2.0), else the one text. A note of the client's is in none."""
    stdout, stderr = text_in(known, "stdout"), text_in(known, "stderr")
    if stderr and (stderr := _without_note(stderr)):
        return stdout or "", stderr, None
    return None, None, _without_note(text) if stdout is None else stdout


def _without_note(text: str) -> str:
    return _NOTE.sub("", text) if "Shell cwd was reset to " in text else text


COMMANDS = one_of(
    by_hand(
        out.CommandOutcome,
        _command_written,
        says=("running", "timed_out", "job"),
        nearly={
            "exit_code": "a command that left a task or was not waited for has none",
            "output": "newlines at its end are cut off",
            "truncated": "the size of a saved output is said in round kilobytes",
            "output_path": "it is named for a command that is running, or whose output was cut",
        },
    ),
    from_native=_command_read,
    is_error=lambda outcome: bool(ended_badly(outcome)),
    unsaid={"signal": "it is said as the exit code 128 and more"},
)
"""By hand: whether a text tells of a failure depends on the error flag, and the log has the streams beside it."""


class Bash(Spelling[op.RunCommand]):
    """Run a command line with bash."""

    native_name = "Bash"
    results = COMMANDS
    edit_rules, edit_rules_until = EditRules(commands_read=True), {"2.0.30": EditRules()}
    unsaid = {
        "cwd": "a command goes to another folder by itself, with `cd`",
        "wait_ms": "a background command is left at once",
        "job": "the client names background commands",
        "login": "the client decides about login shells",
    }

    command: str = means("command", "The command line.")
    timeout: float | None = means("timeout_ms", "Timeout in milliseconds.", default=None, convert=WHOLE)
    description: str | None = means("purpose", "What the command does, in a few words.", default=None)
    run_in_background: bool = means("background", "Run the command in the background.", default=False, since="1.0.88")
    dangerouslyDisableSandbox: bool = means(  # noqa: N815 - the native name
        "unsandboxed", "Run the command outside the sandbox.", default=False, since="2.0.76"
    )


class PowerShell(Bash):
    """Run a command line with PowerShell."""

    native_name = "PowerShell"
    read_only = "it is offered on Windows alone"
    always = {"shell": "powershell"}
    unsaid = {field: reason for field, reason in Bash.unsaid.items() if field != "shell"}


# ── background tasks ─────────────────────────────────────────────────────────


def _tagged(text: str, tag: str) -> str | None:
    """What stands between two tags; an output is a text with a newline at either end."""
    found = re.search(rf"<{tag}>(.*?)</{tag}>(?=\n\n<|\s*\Z)", text, re.DOTALL)
    return None if found is None else found[1].removeprefix("\n")


_STATES: dict[str, out.AgentStatus] = {
    "running": "running",
    "in_progress": "running",
    "pending": "running",
    "completed": "completed",
    "failed": "failed",
    "killed": "cancelled",
}


def _task_written(outcome: out.CommandOutcome, asked: op.ReadOutput) -> str:
    state = "running" if outcome.running else "completed" if outcome.exit_code == 0 else "failed"
    return "\n\n".join(
        [
            f"<retrieval_status>{'not_ready' if outcome.running else 'success'}</retrieval_status>",
            f"<task_id>{outcome.job or asked.job}</task_id>",
            "<task_type>local_bash</task_type>",
            f"<status>{'killed' if outcome.signal is not None else state}</status>",
            *([] if outcome.exit_code is None else [f"<exit_code>{outcome.exit_code}</exit_code>"]),
            *_told_streams(outcome),
        ]
    )


def _task_read(text: str, asked: op.ReadOutput) -> out.Outcome:
    status = _tagged(text, "status")
    if status is None:
        return out.TextOutcome(text)
    job = _tagged(text, "task_id") or asked.job
    if _tagged(text, "task_type") == "local_agent":
        return out.AgentsOutcome((out.AgentReport(job, _STATES.get(status, "unknown"), _tagged(text, "output")),))
    code = _tagged(text, "exit_code")
    return out.CommandOutcome(
        int(code) if code is not None and re.fullmatch(r"-?\d+", code) else None,
        stdout=_tagged(text, "stdout"),
        stderr=_tagged(text, "stderr"),
        output=_tagged(text, "output"),
        running=_STATES.get(status) == "running",
        job=job,
    )


def _recorded_code(_asked: op.Operation, outcome: out.Outcome, native: NativeResult) -> out.Outcome:
    known = fields(native)
    code = number_in(known, "exitCode")
    if code is None:
        code = number_in(known.get("task"), "exitCode")
    if code is None or not isinstance(outcome, out.CommandOutcome):
        return outcome
    return msgspec.structs.replace(outcome, exit_code=code)


def _told_streams(outcome: out.CommandOutcome) -> list[str]:
    streams = (("stdout", outcome.stdout), ("stderr", outcome.stderr), ("output", outcome.output))
    return [f"<{tag}>\n{text.rstrip(chr(10))}\n</{tag}>" for tag, text in streams if text]


TASKS = one_of(
    by_hand(
        out.CommandOutcome,
        _task_written,
        _task_read,
        says=("running",),
        nearly={
            "job": "a job that is not known is that of the call",
            "exit_code": "a command that runs has none",
            **dict.fromkeys(
                ("stdout", "stderr", "output"), "newlines at its end are cut off, and an empty one is not said"
            ),
        },
    ),
    text=plain_text,
    recorded=_recorded_code,
    unsaid={"signal": "a command that was killed is read without it", "timed_out": "nothing is said of time"},
)
"""By hand: the tags stand in any order and number (1.0.88 to 2.1.325), and an output may hold any of them."""


class TaskOutput(Spelling[op.ReadOutput]):
    """Read what a background task has written, waiting for its end if asked to."""

    native_name, formerly = "TaskOutput", ("BashOutput",)
    results = TASKS
    since, until = "2.0.76", "2.1.252"
    described_until = {
        "2.0.76": "Read what a background task has written; waits for its end by default.",
    }

    task_id: str = means("job", "Id of the task.")
    block: bool = means(
        "block",
        "Wait for its end.",
        since="2.1.54",
        schema={"default": True},
        was=was("2.0.76", type=bool | None, default=None, schema=None),
    )
    timeout: float = means(
        "wait_ms",
        "Milliseconds to wait.",
        since="2.1.54",
        convert=WHOLE,
        schema={"default": 30000, "minimum": 0, "maximum": 600000},
        was=was("2.0.76", type=float | None, default=None, schema={"minimum": 0, "maximum": 600000}),
    )


class BashOutput(Spelling[op.ReadOutput]):
    """Read what a background command has written since it was last read."""

    native_name = "BashOutput"
    results = TASKS
    since, until = "1.0.88", "1.0.88"
    unsaid = {"block": "it never waits"}

    bash_id: str = means("job", "The background command.")
    filter: str | None = means("pattern", "Only lines that match this regular expression.", default=None)


class Stopped(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stopped task, as a result tells it: only versions up to 2.0.76 say `shell_id`."""

    message: str
    task_id: Any = None
    task_type: Any = None
    output: Any = None
    shell_id: Any = None


def _stopped(asked: op.StopCommand, outcome: out.CommandOutcome) -> Stopped | None:
    if outcome.running:
        return None
    job = outcome.job or asked.job
    return Stopped(f"Successfully stopped task: {job}", job, "local_bash", _printed(outcome) or None)


def _job_of(asked: op.StopCommand, said: Stopped) -> out.CommandOutcome | None:
    if not said.message.startswith(("Successfully stopped", "Successfully killed")):
        return None
    job = next((id for id in (said.task_id, said.shell_id) if isinstance(id, str) and id), asked.job)
    return out.CommandOutcome(job=job, output=said.output if isinstance(said.output, str) else None)


STOPPED = one_of(
    in_json(out.CommandOutcome, Stopped, to=_job_of, back=_stopped, says=("job", "output")),
    text=plain_text,
    unsaid=dict.fromkeys(("exit_code", "signal", "running", "timed_out"), "a stopped task has no other state"),
)


class TaskStop(Spelling[op.StopCommand]):
    """Stop a background task."""

    native_name, formerly = "TaskStop", ("KillShell", "KillBash")
    results = STOPPED
    since = "2.1.54"

    task_id: str | None = means("job", "Id of the task.", default=None)
    shell_id: str | None = means(None, "Deprecated: use `task_id`.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        job = self.shell_id if self.task_id is None else self.task_id
        if job is None:
            raise ValueError("task_id is missing")
        return (op.StopCommand(job),)

    @classmethod
    def from_operation(cls, operation: op.StopCommand) -> TaskStop:
        return cls(task_id=operation.job)


class KillShell(Spelling[op.StopCommand]):
    """Stop a background command."""

    native_name = "KillShell"
    results = STOPPED
    since, until = "2.0.76", "2.0.76"

    shell_id: str = means("job", "The background command.")


class KillBash(Spelling[op.StopCommand]):
    """Stop a background command."""

    native_name = "KillBash"
    results = STOPPED
    since, until = "1.0.88", "1.0.88"

    shell_id: str = means("job", "The background command.")


# ── watching, scripts ────────────────────────────────────────────────────────


def _started(head: str, rest: str, *ends: str) -> Results:
    """A task that was started and runs on. `ends`: what may follow its name; the first is written."""
    return one_of(
        words(
            out.CommandOutcome,
            head,
            either(*(way(f"{end}{{_rest}}" if end else "") for end in ends)),
            running=True,
            job=without(" ,)"),
            _rest=skipped(rest, "(?s:.*)"),
            unsaid=dict.fromkeys(("exit_code", "signal", "output", "timed_out"), "a task that runs has only its name"),
        ),
        text=plain_text,
    )


class Socket(msgspec.Struct, frozen=True, omit_defaults=True):
    """A web socket."""

    url: str


class Monitor(Spelling[op.WatchCommand]):
    """Run a command in the background and be notified of each line it writes."""

    native_name = "Monitor"
    since = "2.1.325"
    approximated = {
        "purpose": "a description is required, so an empty one says nothing",
        "timeout_ms": "it is required: five minutes when nothing was said",
    }
    unsaid = {
        "cwd": "a command goes to another folder by itself, with `cd`",
        "idle_timeout_ms": "only the whole time is limited",
        "limit": "the number of events is not limited",
    }

    description: str = means("purpose", "What is watched, in a few words.")
    timeout_ms: float = means(
        "timeout_ms",
        "Stop watching after this many milliseconds.",
        schema={"default": 300000, "minimum": 1000, "maximum": 3600000},
    )
    command: str | None = means("command", "Command whose output lines are reported.", default=None)
    ws: Socket | None = native_only("our own tools follow commands only, so a web socket is read and not offered")
    persistent: bool | None = native_only("a watch that outlives the session is the client's to keep", until="2.1.252")

    def to_operations(self) -> tuple[op.Operation, ...]:
        url = None if self.ws is None else self.ws.url
        if (url is None) == (self.command is None):
            raise ValueError("either command or ws must be given")
        timeout = whole(self.timeout_ms, "timeout_ms")
        return (op.WatchCommand(self.command, url, self.description or None, timeout_ms=timeout),)

    @classmethod
    def from_operation(cls, operation: op.WatchCommand) -> Monitor | None:
        if (operation.url is None) == (operation.command is None):
            return None
        return cls(
            description=operation.purpose or "",
            timeout_ms=300000 if operation.timeout_ms is None else operation.timeout_ms,
            command=operation.command,
            ws=None if operation.url is None else Socket(operation.url),
        )

    results = _started("Monitor started (task {job}", ". You will be notified on each event.", ")", ",")


STORED = "a script kept under a name or in a file is the client's to find"


class Workflow(Spelling[op.RunCode]):
    """Run a JavaScript program in the background."""

    native_name = "Workflow"
    since = "2.1.197"
    always = {"language": "javascript"}
    unsaid = {"reason": "it is said of a program that was read, not to one that is run"}

    script: str | None = means("code", "The program.", default=None, schema={"maxLength": 524288})
    name: str | None = native_only(STORED)
    scriptPath: str | None = native_only(STORED)  # noqa: N815 - the native name
    args: Any = native_only("a program has its values within")
    description: str | None = native_only("shown in the client's display")
    title: str | None = native_only("shown in the client's display")
    resumeFromRunId: str | None = native_only("which runs there were is the client's to know")  # noqa: N815

    def to_operations(self) -> tuple[op.Operation, ...]:
        if self.script is None:
            raise ValueError(STORED)
        return (op.RunCode(self.script, "javascript"),)

    @classmethod
    def from_operation(cls, operation: op.RunCode) -> Workflow | None:
        return cls(script=operation.code) if operation.language == "javascript" else None

    results = _started(
        "Workflow launched in background. Task ID: {job}", "You will be notified when it completes.", "\n", " ", ""
    )
