"""Commands, in the five forms they have had."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.dialects.base.patch_text import (
    CODEX,
    FIRST_CODEX,
    Invocation,
    PatchForm,
    patch_in_arguments,
    patch_in_command,
    read_patch,
)
from dragoman.dialects.base.responses_items import argument_list, command_line
from dragoman.dialects.base.spelling import TEXT_OF_NUMBER, Conversion, Spelling, means, native_only, was
from dragoman.model import operations as op

from .families import CLASSIC, FIRST_CATALOGUE, MINI
from .results import CHARACTERS_PER_TOKEN, COMMANDS, COMMANDS_IN_JSON, SHELL_COMMANDS, OrPatched

TOKENS = Conversion(
    to=lambda tokens: None if tokens is None else tokens * CHARACTERS_PER_TOKEN,
    back=lambda characters: None if characters is None else -(-characters // CHARACTERS_PER_TOKEN),
)
NUMBER = {"type": "number"}
ESCALATED = "require_escalated"
PERMISSIONS = ("use_default", ESCALATED)
ROUNDED = "it is counted in tokens of four characters"
LOGIN = "a login shell is what is used when nothing is said, so saying it makes no difference"
REASON = "a reason is said only when it asks to run outside the sandbox"
"""0.166.0 refuses any other: "`justification` requires an explicit `sandbox_permissions`"."""
APPROVALS = "a rule for the client's own approvals"


def _patched(
    invocation: Invocation | None, directory: str | None, form: PatchForm = FIRST_CODEX
) -> tuple[op.Operation, ...] | None:
    """What a command that is really a patch means; its paths are those seen from where it runs."""
    if invocation is None:
        return None
    folders = [folder for folder in (directory, invocation.directory) if folder]
    place = folders[-1] if folders and folders[-1].startswith("/") else "/".join(folders)
    return read_patch(invocation.patch, place or None, form)


class ExecCommand(OrPatched, Spelling[op.RunCommand]):
    """Run a shell command. If it is still running after `yield_time_ms`, it continues as a session."""

    native_name = "exec_command"
    since, families = "0.101.0", CLASSIC
    bounds_tried = True  # of patches in commands; the enum below came after 0.133.0, and was there in 0.151.0
    unsaid = {
        "timeout_ms": "a command is watched for a while and never ended",
        "background": "a command that is not done in time continues in the background",
        "job": "the client numbers its sessions itself",
    }
    approximated = {"output_limit": ROUNDED, "purpose": REASON}

    cmd: str = means("command", "Shell command to run.")
    workdir: str | None = means("cwd", "Folder to run the command in.", default=None)
    shell: str | None = means("shell", "Shell to use.", default=None)
    login: bool | None = means("login", "Use a login shell.", default=None)
    tty: bool = means("terminal", "Run the command in a terminal.", default=False)
    yield_time_ms: int | None = means(
        "wait_ms", "How long to wait for output, in milliseconds.", default=None, schema=NUMBER
    )
    max_output_tokens: int | None = means(
        "output_limit", "Maximum output to return, in tokens.", default=None, schema=NUMBER
    )
    sandbox_permissions: str | None = means(
        "unsandboxed",
        f'"{ESCALATED}" asks to run it outside the sandbox.',
        default=None,
        since="0.140.0",
        schema={"enum": list(PERMISSIONS)},
        was=was("0.139.0", schema=None),
    )
    justification: str | None = means("purpose", "Why the command needs these permissions.", default=None)
    prefix_rule: tuple[str, ...] | None = native_only(APPROVALS)
    additional_permissions: dict[str, Any] | None = native_only(APPROVALS)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if "patch" in self.cmd:
            patched = _patched(patch_in_command(self.cmd), self.workdir, FIRST_CODEX if self.until else CODEX)
            if patched is not None:
                return patched
        # By position: most calls of most logs are read here.
        return (
            op.RunCommand(
                self.cmd,
                self.workdir,
                None,
                self.justification,
                False,  # noqa: FBT003 - background
                self.yield_time_ms,
                None,
                self.shell,
                self.login,
                self.tty,
                self.max_output_tokens and self.max_output_tokens * CHARACTERS_PER_TOKEN,
                self.sandbox_permissions == ESCALATED,
            ),
        )

    @classmethod
    def from_operation(cls, operation: op.RunCommand) -> ExecCommand:
        return cls(
            cmd=operation.command,
            workdir=operation.cwd,
            shell=operation.shell,
            login=operation.login,
            tty=operation.terminal,
            yield_time_ms=operation.wait_ms,
            max_output_tokens=TOKENS.back(operation.output_limit),
            sandbox_permissions=ESCALATED if operation.unsandboxed else None,
            justification=operation.purpose if operation.unsandboxed else None,
        )


INTERRUPT = "\u0003"


class WriteStdin(Spelling[op.ReadOutput | op.TypeInto | op.StopCommand]):
    """Type into a running session, or read its new output. Ctrl-C (\\u0003) ends it."""

    native_name = "write_stdin"
    results = COMMANDS
    since, families = "0.101.0", CLASSIC
    unsaid = {
        "ReadOutput.lines": "output is cut by its length",
        "ReadOutput.pattern": "all output is given back",
        "ReadOutput.block": "it always waits for as long as it was told to",
    }
    approximated = {"output_limit": ROUNDED}

    session_id: int = means("job", "Id of the session.", convert=TEXT_OF_NUMBER, schema=NUMBER)
    chars: str = means(None, "Text to type; empty to only read.", default="")
    yield_time_ms: int | None = means(
        "wait_ms", "How long to wait for output, in milliseconds.", default=None, schema=NUMBER
    )
    max_output_tokens: int | None = means(
        "output_limit", "Maximum output to return, in tokens.", default=None, schema=NUMBER
    )

    def to_operations(self) -> tuple[op.Operation, ...]:
        job, wait, limit = str(self.session_id), self.yield_time_ms, TOKENS.to(self.max_output_tokens)
        if self.chars == INTERRUPT:
            return (op.StopCommand(job),)
        if self.chars:
            return (op.TypeInto(job, self.chars, wait, limit),)
        return (op.ReadOutput(job, wait, output_limit=limit),)

    @classmethod
    def from_operation(cls, operation: op.ReadOutput | op.TypeInto | op.StopCommand) -> WriteStdin | None:
        try:
            session = TEXT_OF_NUMBER.back(operation.job)
        except ValueError:
            return None
        match operation:
            case op.StopCommand():
                return cls(session_id=session, chars=INTERRUPT)
            case op.TypeInto(text=text) if text in ("", INTERRUPT):
                return None
        return cls(
            session_id=session,
            chars=operation.text if isinstance(operation, op.TypeInto) else "",
            yield_time_ms=operation.wait_ms,
            max_output_tokens=TOKENS.back(operation.output_limit),
        )


class ShellCommand(OrPatched, Spelling[op.RunCommand]):
    """Run a shell command and wait until it ends."""

    native_name = "shell_command"
    since = until = "0.77.0"
    families = FIRST_CATALOGUE
    results = SHELL_COMMANDS
    unsaid = {
        "background": "commands are waited for",
        "job": "every command has a shell of its own",
        "shell": "the client chooses the shell",
    }
    approximated = {"purpose": REASON}

    command: str = means("command", "Shell command to run.")
    workdir: str | None = means("cwd", "Folder to run the command in.", default=None)
    timeout_ms: int | None = means("timeout_ms", "How long it may take, in milliseconds.", default=None, schema=NUMBER)
    login: bool | None = means("login", "Use a login shell.", default=None)
    sandbox_permissions: str | None = means(
        "unsandboxed", f'"{ESCALATED}" asks to run it outside the sandbox.', default=None
    )
    justification: str | None = means("purpose", "Why the command needs these permissions.", default=None)
    prefix_rule: tuple[str, ...] | None = native_only(APPROVALS, since="0.101.0", until="0.101.0")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return _patched(patch_in_command(self.command), self.workdir) or (
            op.RunCommand(
                self.command,
                self.workdir,
                self.timeout_ms,
                purpose=self.justification,
                login=self.login,
                unsandboxed=self.sandbox_permissions == ESCALATED,
            ),
        )

    @classmethod
    def from_operation(cls, operation: op.RunCommand) -> ShellCommand:
        return cls(
            command=operation.command,
            workdir=operation.cwd,
            timeout_ms=operation.timeout_ms,
            login=operation.login,
            sandbox_permissions=ESCALATED if operation.unsandboxed else None,
            justification=operation.purpose if operation.unsandboxed else None,
        )


class Shell(OrPatched, Spelling[op.RunCommand]):
    """Run a program with its arguments and wait until it ends; a command line is given to `bash -lc`."""

    native_name, formerly = "shell", ("container.exec",)
    results = COMMANDS_IN_JSON
    until = "0.44.0"
    families = (f"!{MINI}",)
    unsaid = {
        "background": "commands are waited for",
        "job": "every command has a shell of its own",
    }
    approximated = {"login": LOGIN, "purpose": REASON, "shell": "bash is what is used when nothing is said"}

    command: tuple[str, ...] = means("command", "The program and its arguments.")
    workdir: str | None = means("cwd", "Folder to run the command in.", default=None)
    timeout: int | None = means(
        "timeout_ms", "How long it may take, in milliseconds.", default=None, until="0.20.0", schema=NUMBER
    )
    timeout_ms: int | None = means(
        "timeout_ms", "How long it may take, in milliseconds.", default=None, since="0.44.0", schema=NUMBER
    )
    with_escalated_permissions: bool | None = means(
        "unsandboxed", "Whether to run it outside the sandbox.", default=None, since="0.44.0", until="0.44.0"
    )
    sandbox_permissions: str | None = means(
        "unsandboxed", f'"{ESCALATED}" asks to run it outside the sandbox.', default=None, since="0.77.0"
    )
    justification: str | None = means(
        "purpose", "Why the command needs these permissions.", default=None, since="0.44.0"
    )
    prefix_rule: tuple[str, ...] | None = native_only(APPROVALS, since="0.101.0", until="0.101.0")

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.command:
            raise ValueError("the command has no words; give the program to run")
        patched = _patched(patch_in_arguments(self.command), self.workdir)
        if patched is not None:
            return patched
        line, shell, login = command_line(self.command)
        return (
            op.RunCommand(
                line,
                self.workdir,
                self.timeout_ms if self.timeout_ms is not None else self.timeout,
                self.justification,
                shell=shell,
                login=login,
                unsandboxed=bool(self.with_escalated_permissions) or self.sandbox_permissions == ESCALATED,
            ),
        )

    @classmethod
    def from_operation(cls, operation: op.RunCommand) -> Shell | None:
        arguments = argument_list(operation)
        return arguments and cls(
            command=arguments,
            workdir=operation.cwd,
            timeout_ms=operation.timeout_ms,
            sandbox_permissions=ESCALATED if operation.unsandboxed else None,
            justification=operation.purpose if operation.unsandboxed else None,
        )


class ContainerExec(OrPatched, Spelling[op.RunCommand]):
    """Run a program with its arguments, in the words some models had for it."""

    native_name = "container.exec"
    results = COMMANDS_IN_JSON
    read_only = "the first client, in TypeScript, understood it too"

    cmd: tuple[str, ...]
    workdir: str | None = None
    timeout: int | None = None

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.cmd:
            raise ValueError("the command has no words; give the program to run")
        line, shell, login = command_line(self.cmd)
        return (op.RunCommand(line, self.workdir, self.timeout, shell=shell, login=login),)


class LocalShellAction(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the provider's own shell tool is to do."""

    type: str
    command: tuple[str, ...]
    timeout_ms: int | None = None
    working_directory: str | None = None
    env: dict[str, str] | None = None
    user: str | None = None


class LocalShell(OrPatched, Spelling[op.RunCommand]):
    """Run a program with its arguments; the provider defines the tool."""

    native_name = wire_type = "local_shell"
    results = COMMANDS_IN_JSON
    until = "0.77.0"
    families = (MINI,)
    unsaid = {
        **Shell.unsaid,
        "unsandboxed": "there is no parameter for it",
    }
    approximated = Shell.approximated

    action: LocalShellAction | None = means(None, default=None)
    type: str | None = native_only("there is one kind of action only")
    command: tuple[str, ...] | None = means(None, default=None)
    timeout_ms: int | None = means(None, default=None)
    working_directory: str | None = means("cwd", default=None)
    env: dict[str, str] | None = native_only("commands share one environment")
    user: str | None = native_only("commands run as the user who started the client")

    def to_operations(self) -> tuple[op.Operation, ...]:
        action = self.action or LocalShellAction(
            "exec", self.command or (), timeout_ms=self.timeout_ms, working_directory=self.working_directory
        )
        if not action.command:
            raise ValueError("the command has no words; give the program to run")
        patched = _patched(patch_in_arguments(action.command), action.working_directory)
        if patched is not None:
            return patched
        line, shell, login = command_line(action.command)
        return (op.RunCommand(line, action.working_directory, action.timeout_ms, shell=shell, login=login),)

    @classmethod
    def from_operation(cls, operation: op.RunCommand) -> LocalShell | None:
        arguments = argument_list(operation)
        if arguments is None:
            return None
        action = LocalShellAction("exec", arguments, timeout_ms=operation.timeout_ms, working_directory=operation.cwd)
        return cls(action=action)
