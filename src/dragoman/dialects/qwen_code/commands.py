"""Commands, and those that run in the background or are watched."""

from __future__ import annotations

from typing import ClassVar

from dragoman.dialects.base.gemini_family import EXIT_CODE, FACTS, SIGNAL
from dragoman.dialects.base.spelling import REQUIRED, WHOLE, ResultWords, Spelling, means, was
from dragoman.dialects.base.words import (
    ANY,
    ASKED,
    Reads,
    Template,
    body,
    done,
    ended_badly,
    inside,
    maybe,
    one_of,
    one_stream,
    or_none,
    skipped,
    without,
    words,
)
from dragoman.model import operations as op, outcomes as out

RAN = (
    "Command: ",
    "Command timed out",
    "Background shell started",
    "Background command started",
    "Tool output was too large",
)
_CALLED = "Command: {asked.command}\nDirectory: {_folder}\nOutput: "
_FOLDER = skipped(lambda asked: asked.cwd or "(root)")
_JOB = or_none(without(""), "unknown")
_ENDED = words(
    out.CommandOutcome,
    _CALLED,
    "{output}",
    FACTS,
    asked_command=ASKED,
    output=body("(empty)", trim=True),
    exit_code=EXIT_CODE,
    signal=SIGNAL,
    job=ANY,
    _folder=_FOLDER,
    _error=skipped("(none)"),
)
_ENDED_ONCE = words(
    out.CommandOutcome,
    _CALLED,
    "{output}",
    FACTS,
    maybe("\nBackground PIDs: {_pids}"),
    maybe("\nProcess Group PGID: {_group}"),
    asked_command=ASKED,
    output=body("(empty)"),
    exit_code=EXIT_CODE,
    signal=SIGNAL,
    _folder=_FOLDER,
    _error=skipped(""),
    _pids=skipped(""),
    _group=skipped(""),
)
_LEFT = one_of(formerly=(_ENDED_ONCE,))


def _started(head: str) -> tuple[Template, ...]:
    """That a command was started, and whatever else is said of it."""
    return (
        words(
            out.CommandOutcome,
            f"{head} started.\nid: {{job}}",
            maybe("\npid: {_pid}"),
            maybe("\noutput file: {output_path}"),
            "{_more}",
            running=True,
            job=_JOB,
            _pid=without(""),
            output_path=without(""),
            _more=skipped("", "(?:\\n(?s:.*))?"),
        ),
    )


class RunningCommands:
    """How a command is told: itself, its folder, its output, and how it ended, each under a heading."""

    results: ClassVar[ResultWords | None] = one_of(
        words(
            out.CommandOutcome,
            "Background shell started.\nid: {job}",
            maybe("\noutput file: {output_path}"),
            running=True,
            timed_out=ANY,
            output=Reads(None),
            job=_JOB,
        ),
        words(
            out.CommandOutcome,
            "Command timed out before it could complete. Below is the output before it timed out:\n",
            "{output}",
            timed_out=True,
            output=body(trim=True),
        ),
        _ENDED,
        read_first=(*_started("Background shell"), *_started("Monitor")),
        formerly=(
            _ENDED_ONCE,
            words(
                out.CommandOutcome,
                "Command timed out{_when}:\n",
                "{output}",
                timed_out=True,
                output=body(),
                _when=skipped("", "[^\\n]*?"),
            ),
            # "There was no output before it timed out." (0.7.1 to 0.24.4)
            words(
                out.CommandOutcome,
                "Command timed out{_when}.",
                timed_out=True,
                output="",
                _when=skipped("", "[^\\n]*?(?=\\.\\Z)"),
            ),
            # 0.8.2
            words(
                out.CommandOutcome,
                "Background command started. PID: {job} (Use kill <pid> to stop)",
                running=True,
                output=None,
            ),
            words(
                out.CommandOutcome,
                "Tool output was too large and has been truncated.\n"
                "The full output has been saved to: {output_path}\n{_about}\n\nTruncated part of the output:\n",
                "{_ended}",
                _ended=inside(_LEFT),
                _about=skipped("", "(?s:.*?)"),
            ),
        ),
        back=one_stream,
        is_error=ended_badly,
    )


class RunShellCommand(RunningCommands, Spelling[op.RunCommand]):
    """Run a command line with bash, or leave it running in the background."""

    native_name = "run_shell_command"
    unsaid = {
        "wait_ms": "a background command is not watched",
        "job": "the client names background commands",
        "terminal": "the client decides whether there is a terminal",
        "unsandboxed": "the client decides about the sandbox",
    }

    command: str = means("command", "The command line.")
    is_background: bool = means(
        "background",
        "Run the command in the background.",
        default=False,
        since="0.12",
        was=was("0.7", default=REQUIRED),
    )
    timeout: int | None = means(
        "timeout_ms",
        "Timeout in milliseconds.",
        default=None,
        since="0.24",
        schema={"minimum": 1, "maximum": 600000},
        was=was("0.15", since="0.7", type=float | None, convert=WHOLE, schema=None),
    )
    description: str | None = means("purpose", "What the command does, for the user to read.", default=None)
    directory: str | None = means("cwd", "The folder to run the command in.", default=None)


_NUMBER = was("0.15", type=float | None, convert=WHOLE)


class Monitor(Spelling[op.WatchCommand]):
    """Run a command in the background and be notified of each line it writes."""

    native_name = "monitor"
    since = "0.15"
    unsaid = {"url": "only commands are watched", "timeout_ms": "it is watched until it is silent for long"}

    command: str = means("command", "The command line.")
    description: str | None = means("purpose", "What is watched, in a few words.", default=None)
    max_events: int | None = means("limit", "Stop after this many lines.", default=None, since="0.24", was=_NUMBER)
    idle_timeout_ms: int | None = means(
        "idle_timeout_ms",
        "Milliseconds without a line after which to stop.",
        default=None,
        since="0.24",
        was=_NUMBER,
    )
    directory: str | None = means("cwd", "The folder to run the command in.", default=None)

    results = one_of(
        words(
            out.CommandOutcome,
            "Monitor started.\nid: {job}",
            running=True,
            job=without(""),
            unsaid=dict.fromkeys(("exit_code", "signal", "timed_out", "output"), "a watched command has only started"),
        ),
        formerly=_started("Monitor"),
    )


class TaskStop(Spelling[op.StopCommand]):
    """Stop a background command, a watched one, or an agent."""

    native_name = "task_stop"
    since = "0.15"

    task_id: str = means("job", "Id of the command or agent.")

    results = one_of(done("Done.", "Cancellation requested"))
