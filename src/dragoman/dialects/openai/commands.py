"""Commands that the provider's tools ask for and we run: a list of command lines, or a program with its arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.dialects.base.default_words import PLAIN_FAILURES, tell, text_of, understand
from dragoman.dialects.base.responses_items import argument_list, command_line
from dragoman.dialects.base.spelling import NativeContent, Spelling, Tells, means, native_only
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import json_text, read_json
from dragoman.model.json_values import as_integer

# ── what commands gave ───────────────────────────────────────────────────────

_CODES: dict[str, int] = {
    "denied": 126,
    "unknown_tool": 127,
    "cancelled": 130,
    "invalid_arguments": 2,
    "failed": 1,
}
"""What a shell would say of a command that was not run: an output has an exit code or a timeout, nothing else."""

_NOT_KNOWN = -1
_SIGNAL_BASE = 128
_STATE = re.compile(
    r"(?:(?P<stderr>.*)\n)?\[(?:ended by signal (?P<signal>\d+)|running as job (?P<job>[^\n]+)|(?P<running>running)"
    r"|(?P<unknown>exit code not known))\]",
    re.DOTALL,
)


class ShellOutputs:
    """One output per command: both streams, and how it ended. What that cannot say stands at the end of stderr."""

    tells: Tells = {out.CommandOutcome: ("exit_code", "signal", "running", "timed_out", "job")}
    max_output_length: int | None

    def from_outcomes(self, operations: Sequence[op.Operation], outcomes: Sequence[out.Outcome]) -> NativeContent:
        told = [_output(operation, outcome) for operation, outcome in zip(operations, outcomes, strict=False)]
        return shell_result(told, self.max_output_length)

    def to_outcomes(self, operations: Sequence[op.Operation], native: NativeResult) -> tuple[out.Outcome, ...]:
        outputs = shell_outputs(native)
        if outputs is None or len(outputs) > len(operations):
            return tuple(understand(operation, native) for operation in operations)
        missing = [out.UnknownOutcome("there is no output for this command")] * (len(operations) - len(outputs))
        return (*map(_outcome, outputs), *missing)


def shell_result(outputs: list[dict[str, Any]], limit: int | None = None) -> NativeContent:
    """Outputs as the text of a result and as the item it travels in."""
    item: dict[str, Any] = {"type": "shell_call_output", "output": outputs}
    if limit is not None:
        item["max_output_length"] = limit
    return json_text(outputs), None, item


def shell_outputs(native: NativeResult) -> list[dict[str, Any]] | None:
    """The outputs a result holds, in its item or as its text; `None` when it holds anything else."""
    outputs: Any = native.item.get("output") if isinstance(native.item, dict) else None
    if outputs is None:
        try:
            outputs = read_json(text_of(native.content))
        except msgspec.DecodeError:
            return None
    known = isinstance(outputs, list) and all(isinstance(one, dict) and "outcome" in one for one in outputs)
    return outputs if known else None


def failed_output(failure: out.Failure) -> dict[str, Any]:
    """A command that was not run, as its shell would tell it."""
    return _ended("", PLAIN_FAILURES.words(failure), _CODES.get(failure.kind))


def _output(operation: op.Operation, outcome: out.Outcome) -> dict[str, Any]:
    match outcome:
        case out.Failure():
            return failed_output(outcome)
        case out.CommandOutcome():
            stdout = outcome.output if outcome.output is not None else outcome.stdout or ""
            code, state = _end(outcome)
            stderr = "\n".join(filter(None, (outcome.stderr, state)))
            return _ended(stdout, stderr, code)
    return _ended(text_of(tell(operation, outcome)), "", 0)


def _ended(stdout: str, stderr: str, code: int | None) -> dict[str, Any]:
    outcome = {"type": "timeout"} if code is None else {"type": "exit", "exit_code": code}
    return {"stdout": stdout, "stderr": stderr, "outcome": outcome}


def _end(outcome: out.CommandOutcome) -> tuple[int | None, str]:
    """The exit code (`None`: it did not end in its time), and in words what a code cannot say."""
    if outcome.running:
        return None, f"[running as job {outcome.job}]" if outcome.job else "[running]"
    if outcome.timed_out:
        return None, ""
    if outcome.signal is not None:
        return _SIGNAL_BASE + outcome.signal, f"[ended by signal {outcome.signal}]"
    return (_NOT_KNOWN, "[exit code not known]") if outcome.exit_code is None else (outcome.exit_code, "")


def _outcome(output: dict[str, Any]) -> out.Outcome:
    stdout, stderr = str(output.get("stdout") or ""), str(output.get("stderr") or "")
    match output["outcome"]:
        case {"type": "exit", "exit_code": int(code)} if as_integer(code) is not None:
            facts: dict[str, Any] = {"exit_code": code}
        case {"type": "timeout"}:
            facts = {"timed_out": True}
        case _:
            facts = {}
    failure = PLAIN_FAILURES.in_words(stderr)
    if failure is not None and not stdout and facts.get("exit_code") == _CODES.get(failure.kind):
        return failure
    state = _STATE.fullmatch(stderr)
    if state is not None:
        facts, stderr = _stated(state), state["stderr"] or ""
    return out.CommandOutcome(stdout=stdout, stderr=stderr, **facts)


def _stated(state: re.Match[str]) -> dict[str, Any]:
    if state["signal"]:
        return {"signal": int(state["signal"])}
    return {"running": True, "job": state["job"]} if state["job"] or state["running"] else {}


# ── the tools ────────────────────────────────────────────────────────────────

_ALONE = "commands are waited for"


class Shell(ShellOutputs, Spelling[op.RunCommand]):
    """Run shell commands, one after the other."""

    native_name = "shell"
    unsaid = {
        "cwd": "every command starts where the session does",
        "background": _ALONE,
        "wait_ms": _ALONE,
        "job": "every command has a shell of its own",
        "shell": "whoever runs it chooses the shell",
        "login": "whoever runs it chooses the shell",
        "unsandboxed": "there is no parameter for it",
    }

    commands: tuple[str, ...] = means(None, "The commands.")
    timeout_ms: int | None = means("timeout_ms", "How long each may take, in milliseconds.", default=None)
    max_output_length: int | None = means("output_limit", "Most output to give back, in characters.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.commands:
            raise ValueError("there are no commands; give at least one")
        return tuple(
            op.RunCommand(command, timeout_ms=self.timeout_ms, output_limit=self.max_output_length)
            for command in self.commands
        )

    @classmethod
    def from_operation(cls, operation: op.RunCommand) -> Shell:
        return cls(
            commands=(operation.command,), timeout_ms=operation.timeout_ms, max_output_length=operation.output_limit
        )


def _with(variables: Mapping[str, str], command: tuple[str, ...]) -> tuple[str, ...]:
    """A program with variables that are set for it alone."""
    if not variables:
        return command
    strange = next((name for name in variables if not name or "=" in name or name.startswith("-")), None)
    if strange is not None:
        raise ValueError(f"env: {strange!r} is no name for a variable")
    program = command if len(command) > 1 else ("bash", "-lc", *command)  # a word alone is a command line
    return ("env", *(f"{name}={value}" for name, value in variables.items()), *program)


class LocalShell(Spelling[op.RunCommand]):
    """Run a program with its arguments."""

    native_name = "local_shell"
    on_request = "only the first Codex model has it; `shell` took its place"
    unsaid = {
        "background": _ALONE,
        "wait_ms": _ALONE,
        "job": "every command has a shell of its own",
        "output_limit": "there is no parameter for it",
        "unsandboxed": "there is no parameter for it",
    }
    approximated = {
        "login": "a login shell is what is used when nothing is said, so saying it makes no difference",
        "shell": "bash is what is used when nothing is said",
    }

    type: str = native_only("there is one kind of action only", default=None)
    command: tuple[str, ...] = means("command", "The program and its arguments.")
    timeout_ms: int | None = means("timeout_ms", "How long it may take, in milliseconds.", default=None)
    working_directory: str | None = means("cwd", "Folder to run the command in.", default=None)
    env: dict[str, str] | None = means(None, "Variables to set for it.", default=None)
    user: str | None = native_only("commands run as the user who runs this")

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.command:
            raise ValueError("the command has no words; give the program to run")
        line, shell, login = command_line(_with(self.env or {}, self.command))
        return (op.RunCommand(line, self.working_directory, self.timeout_ms, shell=shell, login=login),)

    @classmethod
    def from_operation(cls, operation: op.RunCommand) -> LocalShell | None:
        arguments = argument_list(operation)
        return arguments and cls(
            type="exec", command=arguments, timeout_ms=operation.timeout_ms, working_directory=operation.cwd
        )
