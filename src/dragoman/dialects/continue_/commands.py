"""Commands, and jobs in the background."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dragoman.dialects.base.spelling import SECONDS, Spelling, means
from dragoman.dialects.base.words import by_hand, ended_badly, in_json, one_of
from dragoman.model import operations as op, outcomes as out
from dragoman.model.json_text import converted

_STDERR = "\nStderr: "
ENDED = re.compile(
    r"(?:Error executing tool Bash: )?Error \((?:exit code (?P<code>-?\d+|null)|ended by signal (?P<signal>\d+))\): "
    r"(?P<printed>.*)",
    re.DOTALL,
)
_TIMED_OUT = re.compile(r"(.*)\n\n\[Command timed out(?: after [\d.]+ seconds of no output)?\]", re.DOTALL)
_MOVED = re.compile(
    r"Command moved to background\.(?: Job ID: (?P<job>[^\n]*))?\nOutput so far:\n(?P<printed>.*)\n"
    r"Use CheckBackgroundJob[^\n]*",
    re.DOTALL,
)


def _printed(outcome: out.CommandOutcome) -> str:
    if outcome.output is not None:
        return outcome.output
    return (outcome.stdout or "") + (f"{_STDERR}{outcome.stderr}" if outcome.stderr else "")


def _streams(printed: str) -> dict[str, Any]:
    """What was printed: the streams apart where something was written to the second, else as one."""
    stdout, mark, stderr = printed.partition(_STDERR)
    return {"stdout": stdout, "stderr": stderr} if mark else {"output": printed}


def _ran(outcome: out.CommandOutcome, asked: op.RunCommand) -> str:
    printed = _printed(outcome)
    if outcome.timed_out:
        silent = "" if asked.timeout_ms is None else f" after {asked.timeout_ms / 1000:g} seconds of no output"
        return f"{printed}\n\n[Command timed out{silent}]"
    if outcome.running:
        job = "" if outcome.job is None else f" Job ID: {outcome.job}"
        use = "CheckBackgroundJob" + ("" if outcome.job is None else f'("{outcome.job}")')
        return f"Command moved to background.{job}\nOutput so far:\n{printed}\nUse {use} to check status."
    if outcome.signal is None and not outcome.exit_code:
        return printed
    end = f"ended by signal {outcome.signal}" if outcome.signal is not None else f"exit code {outcome.exit_code}"
    body = outcome.stderr or "" if not outcome.output and not outcome.stdout else printed
    return f"Error executing tool Bash: Error ({end}): {body}"


def _is_flagged(outcome: out.Outcome) -> bool | None:
    """A command that failed is an error, though it ran; one that timed out is not flagged."""
    return True if isinstance(outcome, out.CommandOutcome) and ended_badly(outcome) and not outcome.timed_out else None


def _how_it_ran(text: str, _asked: op.RunCommand) -> out.CommandOutcome:
    if ended := ENDED.fullmatch(text):
        # Of a command that failed the client gives the error output alone (1.5.11, 1.5.43, 1.5.47).
        streams = _streams(ended["printed"]) if _STDERR in ended["printed"] else {"stderr": ended["printed"]}
        code = int(ended["code"]) if ended["code"] not in (None, "null") else None
        return out.CommandOutcome(code, signal=int(ended["signal"]) if ended["signal"] else None, **streams)
    if timed := _TIMED_OUT.fullmatch(text):
        return out.CommandOutcome(timed_out=True, **_streams(timed[1]))
    if moved := _MOVED.fullmatch(text):
        return out.CommandOutcome(running=True, job=moved["job"], **_streams(moved["printed"]))
    # A command that failed and wrote no error output looks like one that succeeded (1.5.11, 1.5.43, 1.5.47).
    return out.CommandOutcome(0 if _STDERR in text else None, **_streams(text))


class Bash(Spelling[op.RunCommand]):
    """Run a command line in a login shell in the working folder. Stopped after `timeout` seconds of silence."""

    native_name = "Bash"
    approximated = {"timeout_ms": "the time counts from the last output, not from the start"}
    unsaid = {
        "background": "only the user moves a command to the background",
        "wait_ms": "a command is waited for until the user moves it to the background",
        "job": "the client names the jobs",
        "shell": "it is always the user's shell",
        "login": "it is always a login shell",
    }

    command: str = means("command", "The command line.")
    timeout: float | None = means(
        "timeout_ms",
        "Seconds without output before the command is stopped; default 180, maximum 600.",
        default=None,
        convert=SECONDS,
    )

    results = one_of(
        by_hand(
            out.CommandOutcome,
            _ran,
            _how_it_ran,
            says=("signal", "running", "timed_out", "job"),
            nearly={
                "exit_code": "0 is not given, and is read only beside an error output",
                "output": "of a command that failed it is read as the error output",
                "stdout": "without an error output, both streams are read as one text",
                "stderr": "of a command that did not fail it is read only where it is not empty",
            },
        ),
        is_error=_is_flagged,
    )


class KeptJob(msgspec.Struct, frozen=True, omit_defaults=True):
    """A background job, as a result tells it."""

    job_id: str
    status: str
    command: str | None = None
    output: str = ""
    started_at: str | None = None
    ended_at: str | None = None
    duration_seconds: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    error: str | None = None


class NoJob(msgspec.Struct, frozen=True):
    """That there is no such job, as a result tells it."""

    error: str
    available_jobs: list[dict[str, Any]]


def _kept(asked: op.ReadOutput, outcome: out.CommandOutcome) -> KeptJob:
    ended = "failed" if outcome.exit_code or outcome.signal is not None or outcome.timed_out else "completed"
    return KeptJob(
        asked.job,
        "running" if outcome.running else ended,
        output=_printed(outcome),
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        timed_out=outcome.timed_out,
    )


def _checked(_asked: op.Operation, said: dict[str, Any]) -> out.Outcome:
    if "available_jobs" in said:
        missing = converted(said, NoJob)
        return out.Failure("failed", missing.error, {"available_jobs": missing.available_jobs})
    job = converted(said, KeptJob)
    return out.CommandOutcome(
        job.exit_code,
        output=job.output,
        signal=job.signal,
        running=job.status in ("pending", "running"),
        timed_out=job.timed_out,
        job=job.job_id,
        duration_ms=None if job.duration_seconds is None else job.duration_seconds * 1000,
    )


class CheckBackgroundJob(Spelling[op.ReadOutput]):
    """Check a background job: its status, exit code and output."""

    native_name = "CheckBackgroundJob"
    unsaid = {
        "block": "it never waits",
        "output_limit": "all output is given",
    }

    job_id: str = means("job", "Id of the job.")

    results = one_of(
        in_json(
            out.CommandOutcome,
            dict[str, Any],
            to=_checked,
            back=_kept,
            says=("exit_code", "signal", "running", "timed_out"),
            nearly={"output": "both streams are one text", "job": "it is that of the call"},
            indent=2,
        )
    )
