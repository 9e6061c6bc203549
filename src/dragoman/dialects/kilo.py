"""Kilo CLI's vocabulary (7.7.7): opencode's, which it was made from, and tools of its own."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.registry import DIALECTS

from .base.conversions import INVERTED
from .base.dialect import Dialect, Steer
from .base.opencode_family import AgentTask
from .base.reasons import usual
from .base.spelling import Spelling, means, native_only
from .base.words import by_hand, one_of

_OPENCODE: Dialect = DIALECTS["opencode"]  # by its name: no dialect imports another


def _like(name: str) -> Any:
    """The results of opencode's tool of this name."""
    return next(one for one in _OPENCODE.spellings if one.native_name == name).results


class Bash(Spelling[op.RunCommand]):
    """Run a command line in a shell. Returns standard output and standard error together."""

    native_name = "bash"
    results = _like("bash")
    unsaid = {"shell": "it is the user's shell"}

    command: str = means("command", "The command line.")
    timeout: int | None = means("timeout_ms", "Timeout in milliseconds.", default=None)
    workdir: str | None = means("cwd", "The folder to run the command in.", default=None)
    description: str | None = means("purpose", "What the command does, in a few words.", default=None)


class Grep(Spelling[op.SearchText]):
    """Search file contents with a regular expression."""

    native_name = "grep"
    results = _like("grep")
    approximated = {
        "before": "one number counts the lines before and after a match",
        "after": "one number counts the lines before and after a match",
    }
    unsaid = {
        "exclude": "files are only chosen, never left out",
        "file_type": "files are chosen by glob",
        "mode": "the matching lines are always given",
        "multiline": "a match is within a line",
        "only_matching": "whole lines are given",
        "line_numbers": "lines always have their numbers",
        "offset": "results start at the first",
        "limit_per_file": "results are cut as a whole",
        "respect_ignore": "ignored files are always left out",
    }

    pattern: str = means("pattern", "The regular expression.")
    path: str = means("path", "The folder to search in.", default=".")
    include: str | None = means("include", "Only files that match this glob.", default=None)
    context: int | None = means("before", "Lines to show before and after each match.", default=None)
    limit: int | None = means("limit", "Maximum number of matches.", default=None)
    literal: bool = means("literal", "Treat the pattern as plain text, not as a regular expression.", default=False)
    any_case: bool | None = means("case_sensitive", "Case-insensitive search.", default=None, name="ignoreCase")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (
            op.SearchText(
                self.pattern,
                self.path,
                include=self.include,
                case_sensitive=INVERTED.to(self.any_case),
                literal=self.literal,
                before=self.context,
                after=self.context,
                limit=self.limit,
            ),
        )

    @classmethod
    def from_operation(cls, operation: op.SearchText) -> Grep:
        around = [count for count in (operation.before, operation.after) if count is not None]
        return cls(
            pattern=operation.pattern,
            path=operation.path,
            include=operation.include,
            context=max(around) if around else None,
            limit=operation.limit,
            literal=operation.literal,
            any_case=INVERTED.back(operation.case_sensitive),
        )


class Task(AgentTask):
    """Give a task to another agent, or continue one that has ended."""

    native_name = "task"
    results = _like("task")

    task_id: str | None = means("continues", "Id of an earlier task to continue.", default=None)
    command: str | None = means("command", "The command that led to this task.", default=None)
    background: bool | None = means(
        "background", "Run the agent in the background; do not wait for its answer.", default=None
    )


# ── background processes ─────────────────────────────────────────────────────


class Ready(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a process counts as ready."""

    pattern: str | None = None
    port: int | None = None
    timeout: int | None = None


_FIELD = re.compile(r"^(id|status|command|exit_code): (.*)$", re.MULTILINE)


def _process(text: str, asked: op.Operation) -> out.Outcome | None:
    if isinstance(asked, op.ReadOutput):
        return None  # its output alone, which may be any text
    pieces = [dict(_FIELD.findall(piece)) for piece in re.split(r"\n(?=id: )", text)]
    if not all({"id", "status"} <= piece.keys() for piece in pieces):
        return None
    jobs = [out.Job(one["id"], one.get("command"), one["status"] == "running") for one in pieces]
    if isinstance(asked, op.ListCommands):
        return out.JobsOutcome(tuple(jobs))
    code = pieces[0].get("exit_code", "")
    return out.CommandOutcome(int(code) if code.isdecimal() else None, running=bool(jobs[0].running), job=jobs[0].job)


class BackgroundProcess(Spelling[op.RunCommand | op.ListCommands | op.ReadOutput | op.StopCommand]):
    """Start a command in the background, list background commands, read the output of one, or stop it."""

    native_name = "background_process"
    unsaid = {
        "timeout_ms": "it runs until it ends",
        "wait_ms": "it is left at once",
        "job": "the client names background commands",
        "shell": "it is the user's shell",
        "login": "it is never a login shell",
        "terminal": "there is never a terminal",
        "output_limit": "the client has one limit for all output",
        "unsandboxed": "there is no sandbox",
        "lines": "all output is given",
        "pattern": "all output is given",
        "block": "it never waits",
    }
    approximated = {"background": "it is always in the background"}

    action: Literal["start", "list", "status", "logs", "stop", "restart"] = means(None, "What to do.")
    command: str | None = means("command", "The command line to start.", default=None)
    id: str | None = means(None, "Id of the process to read or stop.", default=None)
    workdir: str | None = means("cwd", "The folder to run the command in.", default=None)
    description: str | None = means("purpose", "What the command does, in a few words.", default=None)
    ready: Ready | None = native_only("when a process counts as ready is for the client to see")
    inherit: bool | None = native_only("which variables it gets is the client's own")
    persistent: bool | None = native_only("how long it lives is the client's own")

    def to_operations(self) -> tuple[op.Operation, ...]:
        match self.action:
            case "start" if self.command is not None:
                return (op.RunCommand(self.command, self.workdir, purpose=self.description, background=True),)
            case "list":
                return (op.ListCommands(),)
            case "logs" if self.id is not None:
                return (op.ReadOutput(self.id),)
            case "stop" if self.id is not None:
                return (op.StopCommand(self.id),)
        raise ValueError(f"{self.action} has no shared meaning, or lacks a command or an id")

    @classmethod
    def from_operation(
        cls, operation: op.RunCommand | op.ListCommands | op.ReadOutput | op.StopCommand
    ) -> BackgroundProcess | None:
        match operation:
            case op.RunCommand(background=True):
                return cls(
                    action="start", command=operation.command, workdir=operation.cwd, description=operation.purpose
                )
            case op.ListCommands():
                return cls(action="list")
            case op.ReadOutput(job=job):
                return cls(action="logs", id=job)
            case op.StopCommand(job=job):
                return cls(action="stop", id=job)
        return None

    results = one_of(
        formerly=(
            by_hand(
                out.CommandOutcome,
                lambda _outcome, _asked: None,
                _process,
                nearly=dict.fromkeys(("exit_code", "output", "running", "job", "timed_out"), "it is only read"),
            ),
        )
    )


class BoardPost(Spelling[op.MessageAgent]):
    """Send a message to another agent, or to `all` of them."""

    native_name = "board_post"

    to: str = means("to", "Id of the agent.")
    type: Literal["INFO", "ASK", "RESULT", "HOLD", "VETO"] = means(None, "Type of the message.")
    body: str = means("message", "The message.")
    reply_to: str | None = native_only("messages follow one another by themselves")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.MessageAgent(self.to, self.body),)

    @classmethod
    def from_operation(cls, operation: op.MessageAgent) -> BoardPost:
        return cls(to=operation.to, type="INFO", body=operation.message)

    unsaid = usual(op.MessageAgent, "summary interrupt starts_turn notify_when_idle")


_WAKING = "schedules are the client's own"

DIALECT = _OPENCODE.named(
    "kilo",
    captured=("7.7.7",),
    steering=(
        Steer(
            "background_process",
            "a process that is restarted or asked for its state",
            (*BackgroundProcess.__struct_encode_fields__,),
            fallback=True,
        ),
        Steer("board_read", "what other agents wrote is the client's own", ("since", "limit")),
        Steer("kilo_local_recall", "earlier sessions are the client's own", ("mode", "query", "sessionID", "limit")),
        Steer("schedule_wakeup", _WAKING, ("prompt", "delay", "when", "reason")),
        Steer("cancel_wakeup", _WAKING, ("action", "id")),
    ),
).but(Bash, Grep, Task, BackgroundProcess, BoardPost)
