"""Commands: shells that run on, what they print, and which there are."""

from __future__ import annotations

import re
from typing import Any, Literal

from dragoman.dialects.base.spelling import EMPTY_IS_UNSAID, SECONDS, Conversion, Spelling, means, native_only
from dragoman.dialects.base.versions import was
from dragoman.dialects.base.words import (
    ANY,
    body,
    by_hand,
    done,
    either,
    maybe,
    one_of,
    one_stream,
    skipped,
    way,
    words,
)
from dragoman.model import operations as op, outcomes as out

_NAMED = either(way("command with shellId: {job}", when_running=True), way("shellId: {job}"), way("command", job=None))
_STATE = either(
    way("timed out", timed_out=True, running=ANY),
    way("is still running{_more}", running=True),
    way("was ended by signal {signal}"),
    way("completed with exit code {exit_code}"),
    way("ended", exit_code=None),
)
_MORE_SAID = skipped("", "[^>]*")
_IN_SESSION = ("command with sessionId: {job} is still running{_more}>",)
"""How 0.0.390 named a shell; from 1.0.20 on it is a `shellId`."""
_FOOTER = ("\n<", _NAMED, " ", _STATE, ">")
_PRINTED = words(out.CommandOutcome, "{output}", *_FOOTER, output=body(trim=True), _more=_MORE_SAID)
_STARTED = words(
    out.CommandOutcome, "<command started in background", maybe(" with shellId: {job}"), ">", running=True, output=""
)
_READ_ONLY: dict[str, Any] = {
    "read_first": (
        words(
            out.CommandOutcome,
            "Output too large to read at once ({_size}). Saved to: {output_path}\n{_about}(first {_length} chars):\n",
            "{output}",
            *_FOOTER,
            output=body(),
            _size=skipped("", "[^)]*"),
            _about=skipped("", "(?s:.*?)"),
            _length=skipped("", "[0-9]++"),
            _more=_MORE_SAID,
        ),
    ),
    "formerly": (
        # The client prints no empty line where a command printed nothing (1.0.102).
        words(out.CommandOutcome, "<", _NAMED, " ", _STATE, ">", output="", _more=_MORE_SAID),
        # 0.0.390 to 1.0.55 name no shell where a command ended.
        words(out.CommandOutcome, "{output}\n<exited with exit code {exit_code}>", output=body(trim=True)),
        words(out.CommandOutcome, "<exited with exit code {exit_code}>", output=""),
        words(out.CommandOutcome, "{output}\n<", *_IN_SESSION, output=body(trim=True), running=True, _more=_MORE_SAID),
        words(out.CommandOutcome, "<", *_IN_SESSION, output="", running=True, _more=_MORE_SAID),
        words(out.CommandOutcome, "<command started in background with sessionId: {job}>", running=True, output=""),
    ),
}


class Bash(Spelling[op.RunCommand]):
    """Run a command line with bash and wait for it, or leave it running in a shell of its own."""

    native_name = "bash"
    approximated = {"purpose": "it is required, so an empty one says nothing"}
    unsaid = {
        "cwd": "a shell keeps its own folder",
        "timeout_ms": "a command that takes long is left running",
        "login": "there is no parameter for it",
        "terminal": "there is no parameter for it",
    }

    command: str = means("command", "The command line.")
    description: str = means("purpose", "What the command is for, in a few words.", convert=EMPTY_IS_UNSAID)
    shellId: str | None = means(  # noqa: N815 - the native name
        "job", "Name of the shell to run it in.", default=None, since="1.0.20", was=was("0.0.390", name="sessionId")
    )
    mode: Literal["sync", "async"] | None = means(
        "background",
        "Whether to wait for the command.",
        default=None,
        convert=Conversion(to=lambda mode: mode == "async", back=lambda background: "async" if background else None),
    )
    detach: bool | None = native_only("that it outlives the client is the client's own promise")
    initial_wait: float | None = means(
        "wait_ms", "Seconds to wait before the command continues in the background.", default=None, convert=SECONDS
    )

    results = one_of(_STARTED, _PRINTED, back=one_stream, **_READ_ONLY)


class ReadBash(Spelling[op.ReadOutput]):
    """Read the output of a command that runs in a shell, after a delay."""

    native_name = "read_bash"
    approximated = {"wait_ms": "the parameter is required: without a value it does not wait"}
    unsaid = {"block": "it always waits for the given time"}

    shellId: str = means(  # noqa: N815 - the native name
        "job", "Name of the shell.", since="1.0.20", was=was("0.0.390", name="sessionId")
    )
    delay: float = means(
        "wait_ms",
        "Seconds to wait before reading.",
        convert=Conversion(SECONDS.to, lambda wait: SECONDS.back(wait or 0)),
    )

    results = one_of(_PRINTED, back=one_stream, **{**_READ_ONLY, "formerly": (_STARTED, *_READ_ONLY["formerly"])})


class WriteBash(Spelling[op.TypeInto]):
    """Type into a command that runs in a shell, and read what it has written after a while."""

    native_name = "write_bash"
    until = "1.0.55"
    approximated = {"wait_ms": "the parameter is required: without a value it does not wait"}
    unsaid = {"output_limit": "the client cuts a long output by itself"}

    shellId: str = means(  # noqa: N815 - the native name
        "job", "Name of the shell.", since="1.0.20", was=was("0.0.390", name="sessionId")
    )
    input: str = means("text", "What to type.", default="")
    delay: float = means(
        "wait_ms",
        "Seconds to wait before reading.",
        convert=Conversion(SECONDS.to, lambda wait: SECONDS.back(wait or 0)),
    )

    results = one_of(_PRINTED, back=one_stream, **{**_READ_ONLY, "formerly": (_STARTED, *_READ_ONLY["formerly"])})


_STOPPED = "<command with id: {asked.job} stopped>"


class StopBash(Spelling[op.StopCommand]):
    """Stop the command in a shell."""

    native_name = "stop_bash"

    shellId: str = means(  # noqa: N815 - the native name
        "job", "Name of the shell.", since="1.0.20", was=was("0.0.390", name="sessionId")
    )

    results = one_of(
        done(_STOPPED, ends=" stopped>", keeps_note=False),
        done(_STOPPED, ends=" stopped>", of=out.CommandOutcome),
    )


_JOB = re.compile(
    r"  shellId: (?P<id>[^,\n]+), [^\n]*?status: (?P<status>\w+)(?: \(exit code: (?P<code>-?\d+)\))?[^\n]*"
    r"(?:\n    current command: (?P<command>.*?))?(?=\n  shellId: |\Z)",
    re.DOTALL,
)


def _jobs_written(outcome: out.JobsOutcome, _asked: op.Operation) -> str:
    lines = ["Active shell sessions:" if outcome.jobs else "No active shell sessions."]
    for job in outcome.jobs:
        status = "unknown" if job.running is None else "running" if job.running else "completed"
        code = "" if job.exit_code is None else f" (exit code: {job.exit_code})"
        lines.append(f"  shellId: {job.job}, status: {status}{code}")
        lines += [] if job.command is None else [f"    current command: {job.command}"]
    return "\n".join(lines)


def _jobs_read(text: str, _asked: op.Operation) -> out.JobsOutcome | None:
    if not re.match(r"(?:Active|No active) shell sessions", text, re.IGNORECASE):
        return None
    states = {"running": True, "completed": False}
    return out.JobsOutcome(
        tuple(
            out.Job(one["id"], one["command"], states.get(one["status"]), int(one["code"]) if one["code"] else None)
            for one in _JOB.finditer(text)
        )
    )


class ListBash(Spelling[op.ListCommands]):
    """List the shells and the status of their commands."""

    native_name = "list_bash"

    results = one_of(by_hand(out.JobsOutcome, _jobs_written, _jobs_read, says=("jobs",)))


class Powershell(Bash):
    """Run a command line with PowerShell, which stands in the place of bash on Windows."""

    native_name = "powershell"
    read_only = "it is offered on Windows alone"
    always = {"shell": "powershell"}
    unsaid = {name: reason for name, reason in Bash.unsaid.items() if name != "shell"}


class ReadPowershell(ReadBash):
    """Read what a command in a shell of PowerShell has written, after a while."""

    native_name = "read_powershell"
    read_only = "it is offered on Windows alone"


class StopPowershell(StopBash):
    """Stop the command in a shell of PowerShell."""

    native_name = "stop_powershell"
    read_only = "it is offered on Windows alone"


class ListPowershell(ListBash):
    """List the PowerShell shells and the status of their commands."""

    native_name = "list_powershell"
    read_only = "it is offered on Windows alone"
