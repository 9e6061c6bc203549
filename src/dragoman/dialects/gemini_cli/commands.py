"""Commands, and those that run in the background."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec

from dragoman.dialects.base.gemini_family import EXIT_CODE, FACTS, SIGNAL
from dragoman.dialects.base.spelling import TEXT_OF_NUMBER, ResultWords, Spelling, means, native_only, was
from dragoman.dialects.base.words import (
    ANY,
    Body,
    Reads,
    Template,
    body,
    by_hand,
    inside,
    maybe,
    one_of,
    one_stream,
    skipped,
    words,
)
from dragoman.model import operations as op, outcomes as out

from .options import WAIT

_GROUP = "\nProcess Group PGID: {job}"
_PRINTED = body("(empty)", trim=True)
_ONCE_SAID = (maybe("\nBackground PIDs: {_pids}"), maybe(_GROUP))
_ONCE: dict[str, Any] = {"output": body("(empty)"), "_error": skipped(""), "_pids": skipped("")}


def _exited(_operation: op.Operation, outcome: out.CommandOutcome) -> out.CommandOutcome:
    """Where neither a code nor a signal is named, it ended well."""
    if outcome.exit_code is None and outcome.signal is None:
        return msgspec.structs.replace(outcome, exit_code=0)
    return outcome


_CODE, _BY_SIGNAL = maybe("\nExit Code: {exit_code}"), maybe("\nSignal: {signal}")
_OLDER = (
    # Up to 0.24 each fact was always there, below the command and its folder.
    words(
        out.CommandOutcome,
        "Command: {_command}\nOutput: ",
        "{output}",
        FACTS,
        *_ONCE_SAID,
        of=out.CommandOutcome,
        to=_exited,
        _command=skipped("", "(?s:.*?)"),
        exit_code=EXIT_CODE,
        signal=SIGNAL,
        **_ONCE,
    ),
    # From 0.34 only what there was to say; an error and the processes left behind are no longer printed since 0.53.
    words(
        out.CommandOutcome,
        "Output: {output}",
        "\nError: {_error}",
        _CODE,
        _BY_SIGNAL,
        *_ONCE_SAID,
        of=out.CommandOutcome,
        to=_exited,
        **_ONCE,
    ),
    words(
        out.CommandOutcome,
        "Output: {output}",
        _CODE,
        _BY_SIGNAL,
        "\nBackground PIDs: {_pids}",
        maybe(_GROUP),
        of=out.CommandOutcome,
        to=_exited,
        output=body("(empty)"),
        _pids=skipped(""),
    ),
)
_STARTED_SO = (
    words(
        out.CommandOutcome,
        "Command moved to background (PID: {job}).{_more}",
        running=True,
        _more=skipped("", "[^\\n]*+"),
    ),
    words(
        out.CommandOutcome,
        "Command moved to background (PID: {job}).{_more}\n",
        "{output}",
        running=True,
        output=body(),
        _more=skipped("", "[^\\n]*+"),
    ),
    words(
        out.CommandOutcome,
        "Command was automatically cancelled because it exceeded the timeout{_more}:\n",
        "{output}",
        timed_out=True,
        output=body(),
        _more=skipped("", "[^\\n]*?"),
    ),
)
_PRINTED_SO = one_of(
    around=("<untrusted_context>\n", "\n</untrusted_context>"),
    formerly=(
        *_OLDER,
        words(
            out.CommandOutcome,
            "Output: {output}",
            _CODE,
            _BY_SIGNAL,
            maybe(_GROUP),
            of=out.CommandOutcome,
            to=_exited,
            output=_PRINTED,
        ),
    ),
)


def _masked(lead: str) -> tuple[Template, Template]:
    """What is left of an old result when the conversation grows long: its beginning, its end, where it was saved."""
    end = (f"{lead}{{output_path}}", maybe("]"), "\n</tool_output_masked>")
    left = Body(lambda text, _asked: text.rstrip(), lambda _text, _asked: None)
    return (
        words(out.CommandOutcome, "<tool_output_masked>\n{_printed}", *end, _printed=inside(_PRINTED_SO)),
        words(out.CommandOutcome, "<tool_output_masked>\n{output}", *end, output=left),
    )


def _in_one(operation: op.Operation, outcome: Any) -> Any:
    """One stream; nothing is said of an exit code that is not known, as of one that is 0."""
    outcome = one_stream(operation, outcome)
    return outcome if outcome.running or outcome.timed_out else _exited(operation, outcome)


class RunningCommands:
    """How a command is told: its output and, only when it is not zero, its exit code."""

    results: ClassVar[ResultWords | None] = one_of(
        words(
            out.CommandOutcome,
            "Command moved to background (PID: {job}).\n",
            "{output}",
            running=True,
            timed_out=ANY,
            output=body(trim=True, some=True),
        ),
        words(
            out.CommandOutcome,
            "Command moved to background (PID: {job}).",
            running=True,
            timed_out=ANY,
            output=Reads(None),
        ),
        words(
            out.CommandOutcome,
            "Command was automatically cancelled because it exceeded the timeout. "
            "Below is the output before it was cancelled:\n",
            "{output}",
            timed_out=True,
            output=body(trim=True),
        ),
        words(
            out.CommandOutcome,
            "Output: {output}",
            maybe("\nExit Code: {exit_code}"),
            "\nSignal: {signal}",
            maybe(_GROUP),
            output=_PRINTED,
        ),
        words(
            out.CommandOutcome,
            "Output: {output}",
            maybe("\nExit Code: {exit_code}", exit_code=0),
            maybe(_GROUP),
            signal=None,
            output=_PRINTED,
        ),
        around=("<untrusted_context>\n", "\n</untrusted_context>"),
        back=_in_one,
        read_first=(*_OLDER, *_STARTED_SO),
        formerly=(
            *_masked("Output too large. Full output available at: "),
            *_masked("Full string saved to: "),
            words(
                out.CommandOutcome,
                "Output too large.{_about}full output see: {output_path}\n",
                "{_printed}",
                _printed=inside(_PRINTED_SO),
                _about=skipped("", "[^\\n]*?"),
            ),
        ),
    )


class RunShellCommand(RunningCommands, Spelling[op.RunCommand]):
    """Run a command line with bash; it runs in a process group of its own."""

    native_name = "run_shell_command"
    unsaid = {
        "job": "a background command is named by its process id",
        "terminal": "the client decides whether there is a terminal",
        "unsandboxed": "the client decides about the sandbox",
        "wait_ms": "a command is left running with `&`",
    }

    command: str = means("command", "The command line.")
    description: str | None = means("purpose", "What the command does, for the user to read.", default=None)
    dir_path: str | None = means(
        "cwd", "The folder to run the command in.", default=None, since="0.19", was=was("0.1.15", name="directory")
    )
    is_background: bool = means("background", "Run the command in the background.", default=False, since="0.34")
    delay_ms: int | None = means(
        "wait_ms", "Milliseconds to wait for output of a background command.", default=None, since="0.53"
    )


def _first_stream(_operation: op.Operation, outcome: Any) -> Any:
    """The log of a command that runs on is what it wrote to the first stream."""
    return msgspec.structs.replace(outcome, output=outcome.stdout or "") if outcome.output is None else outcome


_SHOWN: dict[str, Any] = {
    "output": body(),
    "_shown": skipped("", "[0-9]++"),
    "_all": skipped("", "[0-9]++"),
}


class ReadBackgroundOutput(Spelling[op.ReadOutput]):
    """Read the last lines of output of a background command."""

    native_name = "read_background_output"
    since = "0.53"
    unsaid = {
        "pattern": "lines are not filtered",
        "block": "it never waits for the end",
        "output_limit": "output is cut by lines",
    }

    pid: int = means("job", "The process id of the background command.", convert=TEXT_OF_NUMBER)
    lines: int | None = means("lines", "Number of lines to return, from the end.", default=None, schema={"minimum": 1})
    delay_ms: int | None = means("wait_ms", "Milliseconds to wait before reading.", default=None)
    wait_for_previous: bool | None = native_only(WAIT)

    results = one_of(
        words(out.CommandOutcome, "Full Log Output:\n", "{output}", output=body()),
        formerly=(words(out.CommandOutcome, "Showing last {_shown} of {_all} lines:\n", "{output}", **_SHOWN),),
        back=_first_stream,
        unsaid=dict.fromkeys(("exit_code", "signal", "running", "timed_out", "job"), "only the output is given"),
    )


_JOB = re.compile(r"- \[PID (.+?)\] (RUNNING|EXITED)(?: \(Exit Code: (-?\d+)\))?.*?: `(.*)`")


def _jobs_written(outcome: out.JobsOutcome, _asked: op.Operation) -> str:
    lines = [
        f"- [PID {job.job}] {'RUNNING' if job.running else f'EXITED (Exit Code: {job.exit_code})'}: `{job.command}`"
        for job in outcome.jobs
    ]
    return "\n".join(lines) or "No background processes found."


def _jobs_read(text: str, _asked: op.Operation) -> out.JobsOutcome | None:
    found = [one for one in map(_JOB.fullmatch, text.split("\n")) if one is not None]
    if not found and not text.startswith("No background processes"):
        return None
    jobs = [out.Job(one[1], one[4], one[2] == "RUNNING", int(one[3]) if one[3] else None) for one in found]
    return out.JobsOutcome(tuple(jobs))


class ListBackgroundProcesses(Spelling[op.ListCommands]):
    """List the commands that run in the background."""

    native_name = "list_background_processes"
    since = "0.53"

    wait_for_previous: bool | None = native_only(WAIT)

    results = one_of(by_hand(out.JobsOutcome, _jobs_written, _jobs_read, says=("jobs",)))
