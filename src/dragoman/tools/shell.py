"""Commands: run, left running as jobs, read, typed into, stopped, listed and watched.

Rules: a command sees only the environment it is allowed, and starts inside the workspace. Nothing it
started outlives the call, or, for a job or a standing shell, its `stop_command` or the `Shell`. A command that ran
is an outcome whatever its exit code, also when its time was up; only what could not be run at all fails.

A command that names a job and is not left in the background runs in the standing shell of that name, which is
started when it is first named: see `command.py`. A time that is up, or a call that is cancelled, ends the shell
with the command; `stop_command` ends it too. The next command starts a new one.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

import msgspec

from dragoman.environment import USUAL, passes
from dragoman.errors import ToolError, nearest
from dragoman.model import operations as op
from dragoman.model.outcomes import CommandOutcome, Job, JobsOutcome

from .context import Context
from .definition import Tool
from .processes.command import DRIVER, Command, StandingShell, Wrote as Wrote
from .processes.output import Chosen, StreamName, check_text, taken, taken_matching
from .processes.process import Process, start
from .processes.programs import find_program
from .processes.starter import Starter
from .processes.supervisor import new_brand

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence

    from dragoman.config import Sandbox

    from .processes.supervisor import Order
    from .sandbox.sandbox import Mode

    Listener = Callable[[StreamName, str], None]

_LONGEST_COMMAND = 128 * 1024 - 1  # what Linux takes as one argument
_LONGEST_LINE = 4096
_FOR_EVER_MS = 10**12
_NOT_STARTED = "the process that starts commands was ended"
_TRIES = 3  # to have a command started
_PATIENCE = 0.05  # seconds until it is asked again whether the call is still wanted
_TYPING_SECONDS = 5.0
_AFTER_TYPING_MS = 250


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one command may use. `processes` counts the whole tree; the others hold for each process in it."""

    processes: int | None = None
    cpu_seconds: int | None = None
    memory_bytes: int | None = None
    file_bytes: int | None = None

    def kept_by_system(self) -> list[tuple[int, int, int]]:
        """The limits the system keeps itself: its number for each, the soft value and the hard one."""
        import resource

        # A second between being told and being killed: a program may want to say why it ends.
        cpu_killed = None if self.cpu_seconds is None else self.cpu_seconds + 1
        wanted = (
            (resource.RLIMIT_CPU, self.cpu_seconds, cpu_killed),
            (resource.RLIMIT_AS, self.memory_bytes, self.memory_bytes),
            (resource.RLIMIT_FSIZE, self.file_bytes, self.file_bytes),
        )
        return [(limit, soft, hard) for limit, soft, hard in wanted if soft is not None and hard is not None]


class Shell:
    """Runs the commands of one run and keeps its jobs. Use it with `async with`, or `close` it.

    `default_timeout_ms` is for commands that are waited for, not for jobs. `environment` is set for every command;
    `allow` names more variables to pass on (a name with a `*` never passes on what looks like a secret).
    `output_limit` is how many characters of output a call returns when it does not say, `most_output` how many are
    kept of each stream. `sandbox` is a mode ("auto": a sandbox where one works here) or `dragoman.config.Sandbox`
    with everything that can be set about it; without it commands are not confined. `observer` hears all output as it
    comes.
    """

    def __init__(
        self,
        *,
        default_timeout_ms: int | None = None,
        output_limit: int = 30_000,
        most_output: int = 1_000_000,
        environment: Mapping[str, str] | None = None,
        allow: Sequence[str] = (),
        sandbox: Mode | Sandbox = "off",
        limits: Limits | None = None,
        most_jobs: int = 16,
        grace_ms: int = 500,
        observer: Callable[[Wrote], None] | None = None,
    ) -> None:
        from dragoman.config import Sandbox

        from .sandbox.enclosure import Enclosure
        from .sandbox.sandbox import check_mode

        options = sandbox if isinstance(sandbox, Sandbox) else Sandbox(mode=sandbox, unsandboxed="deny")
        check_mode(options.mode)
        self._default_timeout_ms = default_timeout_ms
        self._output_limit, self._most_output = output_limit, most_output
        self._environment, self._allow = dict(environment or {}), tuple(allow)
        self.enclosure = Enclosure(options)
        self._limits = limits or Limits()
        self._most_jobs, self._grace_ms = most_jobs, grace_ms
        self._observer = observer
        self._starter = Starter()
        self._commands: dict[str, Command] = {}
        self._jobs: dict[str, Command] = {}
        self._turns: dict[str, deque[asyncio.Event]] = {}
        self._count = 0
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End every command and all its processes. They also end with this process."""
        import asyncio

        self._closed = True
        await asyncio.gather(*(command.process.end() for command in self._commands.values()))
        self._commands.clear()
        self._jobs.clear()
        self._starter.close()
        self.enclosure.close()

    # -- the operations

    async def run(self, operation: op.RunCommand, context: Context) -> CommandOutcome:
        """Run a command to its end, or leave it running as a job; in a standing shell when it names one."""
        if operation.job is not None and not operation.background and not operation.terminal:
            return await self._run_in(operation.job, operation, context)
        limit = self._limit(operation.output_limit)
        may_stay = operation.background or operation.wait_ms is not None
        seconds = _seconds("wait_ms", operation.wait_ms, least=0) or 0.0 if may_stay else None
        command = await self._start(operation, context, lambda _: _report_to(context), may_stay=may_stay)
        stays = False
        try:
            ended = await self._ended(command, seconds, context)
            stays = operation.background or not ended
        finally:
            if not stays:
                await self._end(command)
        command.listener = None
        if stays:
            self._jobs[command.name] = command
        if operation.background and operation.wait_ms is None:
            # Nobody waited, so nothing is told yet: all of it is still there to be read.
            return CommandOutcome(running=True, job=command.name, sandbox=command.sandbox)
        named = operation.job is not None or stays
        return self._outcome(command, limit, job=command.name if named else None)

    async def read(self, operation: op.ReadOutput, context: Context) -> CommandOutcome:
        """The new output of a job since it was last read; waits for its end if the call says so."""
        limit = self._limit(operation.output_limit)
        command = self._job(operation.job)
        seconds = _seconds("wait_ms", operation.wait_ms, least=0)
        if operation.block is False or (operation.block is None and seconds is None):
            seconds = 0.0
        await self._ended(command, seconds, context)
        matching = None if operation.pattern is None else await self._matching(command, operation.pattern)
        return self._outcome(command, limit, job=command.name, lines=operation.lines, matching=matching)

    async def _matching(self, command: Command, pattern: str) -> Chosen:
        """The new lines that match."""
        process = command.process
        process.catch_up()
        running = command.running
        found = await taken_matching(process.streams, pattern, running=running)
        if command.running or not running:
            return found
        process.catch_up()  # it has ended meanwhile, so that no further read fetches what is left
        rest = await taken_matching(process.streams, pattern, running=False)
        return [(text + more, cut + missing) for (text, cut), (more, missing) in zip(found, rest, strict=True)]

    async def type(self, operation: op.TypeInto, context: Context) -> CommandOutcome:
        """Type into a job; returns what it wrote until it ended or the time to wait was over."""
        limit = self._limit(operation.output_limit)
        command = self._job(operation.job)
        seconds = _seconds("wait_ms", operation.wait_ms, least=0)
        check_text("text", operation.text)
        process = command.process
        process.catch_up()
        if operation.text and not command.running:
            raise ToolError(f'Job "{command.name}" has ended ({_how_it_ended(command)}): nothing was typed.')
        if operation.text == "\x03" and not process.order["terminal"]:
            process.say("interrupt")
        elif problem := await process.type(operation.text, _TYPING_SECONDS if seconds is None else seconds):
            raise ToolError(
                f'Job "{command.name}" {problem}. '
                "Commands that are started in the background or with a terminal have an input."
            )
        await self._ended(command, _AFTER_TYPING_MS / 1000 if seconds is None else seconds, context)
        return self._outcome(command, limit, job=command.name)

    async def stop(self, operation: op.StopCommand, context: Context) -> CommandOutcome:
        """End a job or a standing shell, and everything it started; its last output.

        Calls that came before for the same standing shell are waited for, as if they all were commands in it.
        """
        async with self._turn(operation.job, context):
            command = self._job(operation.job)
            await self._end(command)
        if isinstance(command, StandingShell):
            command.end_told = True
        return self._outcome(command, self._output_limit, job=command.name)

    async def list(self) -> JobsOutcome:
        """The jobs, oldest first."""
        for command in self._jobs.values():
            command.process.catch_up()
        return JobsOutcome(
            tuple(
                Job(name, command.text, running=command.running, exit_code=command.exit_code)
                for name, command in self._jobs.items()
            )
        )

    async def watch(self, operation: op.WatchCommand, context: Context) -> CommandOutcome:
        """Start a job whose lines are reported as they come, until it ends or a limit is reached."""
        if operation.url is not None:
            raise ToolError("Following a socket is not available: watch a command instead.")
        if operation.command is None:
            raise ToolError("There is nothing to watch: give a command.", kind="invalid_arguments")
        if operation.limit is not None and operation.limit < 1:
            raise ToolError(f"limit is {operation.limit}; it must be 1 or more.", kind="invalid_arguments")
        idle = _seconds("idle_timeout_ms", operation.idle_timeout_ms)
        run = op.RunCommand(operation.command, cwd=operation.cwd, timeout_ms=operation.timeout_ms)
        lines: list[Lines] = []

        def add_lines_of(command: Command) -> Listener:
            lines[:] = [Lines(command.process, context.progress, operation.limit, idle)]
            return lines[0].add

        command = await self._start(run, context, add_lines_of, may_stay=True)
        lines[0].rest()
        self._jobs[command.name] = command
        return CommandOutcome(running=True, job=command.name, sandbox=command.sandbox)

    # -- standing shells

    async def _run_in(self, name: str, operation: op.RunCommand, context: Context) -> CommandOutcome:
        """Run a command in a standing shell, which waits for its turn; it may be left running there."""
        limit = self._limit(operation.output_limit)
        seconds = _seconds("wait_ms", operation.wait_ms, least=0)
        timeout = self._timeout(operation, may_stay=seconds is not None)
        async with self._turn(name, context):
            shell, folder = await self._standing(name, operation, context)
            shell.listener = _report_to(context)
            try:
                await self._ready(shell, context)
                self._jobs[name] = shell
                await shell.begin(operation.command, folder=folder, seconds=timeout)
                await self._ended(shell, seconds, context)
            except BaseException:
                await self._end(shell)
                raise
            finally:
                shell.listener = None
            if not shell.alive:
                await self._end(shell)
            return self._outcome(shell, limit, job=name)

    @asynccontextmanager
    async def _turn(self, name: str, context: Context) -> AsyncIterator[None]:
        """Wait until the calls that came before are through with the standing shell of this name."""
        import asyncio

        turns, mine = self._turns.setdefault(name, deque()), asyncio.Event()
        turns.append(mine)
        try:
            while turns[0] is not mine:
                context.cancellation.raise_if_cancelled()
                with suppress(TimeoutError):
                    await asyncio.wait_for(mine.wait(), _PATIENCE)
            yield
        finally:
            turns.remove(mine)
            if turns:
                turns[0].set()
            else:
                self._turns.pop(name, None)

    async def _standing(
        self, name: str, operation: op.RunCommand, context: Context
    ) -> tuple[StandingShell, str | None]:
        """The standing shell of this name, and the folder to go to in it; a new one where there is none that lives."""
        known = self._jobs.get(name)
        news = None
        if isinstance(known, StandingShell):
            self._check(operation)
            known.process.catch_up()
            if known.running:
                raise _taken(name)
            if known.alive:
                return known, self._same(known, operation, context)
            if not known.end_told:
                news = f"this is a new shell: the one before had ended ({_how_it_ended(known)})"
        shell = await self._start(operation, context, lambda _: _report_to(context), may_stay=True, standing=True)
        assert isinstance(shell, StandingShell)
        shell.news = news
        return shell, None

    def _same(self, shell: StandingShell, operation: op.RunCommand, context: Context) -> str | None:
        """The folder to go to in a shell that is there; fails when something else was asked for than it is."""
        root, cwd = _folders(operation.cwd, context)
        other = f'The standing shell "{shell.name}"'
        if root != shell.root:
            raise ToolError(f"{other} stands in another workspace: choose another name.")
        if self.enclosure.mechanism(unsandboxed=operation.unsandboxed).name != shell.sandbox:
            # A command that did not ask to leave the sandbox must not find itself outside, nor the other way round.
            where = "inside" if operation.unsandboxed else "outside"
            raise ToolError(f"{other} runs {where} the sandbox: choose another name.", kind="denied")
        if operation.login and not shell.login:
            raise ToolError(f"{other} is no login shell: stop it first, or choose another name.")
        if operation.shell is not None:
            _bash(operation.shell, self._child_environment(terminal=False))
        return None if operation.cwd is None else cwd

    async def _ready(self, shell: StandingShell, context: Context) -> None:
        """Wait until a new shell takes commands: what reads its input while it starts must not get them."""
        while not shell.ready:
            context.cancellation.raise_if_cancelled()
            await shell.process.wait(lambda: shell.ready, _PATIENCE)

    # -- starting and ending

    def _check(self, operation: op.RunCommand) -> None:
        if self._closed:
            raise ToolError("Commands cannot be run any more: the shell was closed.")
        self._attach()
        check_text("command", operation.command, nul=False)
        if len(operation.command.encode()) > _LONGEST_COMMAND:
            raise ToolError(
                f"The command is longer than {_LONGEST_COMMAND:,} bytes, the most the system takes: "
                "write it to a file and run that.",
                kind="invalid_arguments",
            )

    def _timeout(self, operation: op.RunCommand, *, may_stay: bool) -> float | None:
        default_ms = None if may_stay else self._default_timeout_ms
        return _seconds("timeout_ms", default_ms if operation.timeout_ms is None else operation.timeout_ms)

    async def _start(
        self,
        operation: op.RunCommand,
        context: Context,
        listen: Callable[[Command], Listener],
        *,
        may_stay: bool,
        standing: bool = False,
    ) -> Command:
        """Start a command and wait until it has begun; `listen` gives what hears its output.

        A command can kill the process that starts commands, and an order that it had just been sent is then lost. Such
        a command has done nothing, so it is ordered again.
        """
        name: str | None = None
        for more_tries in reversed(range(_TRIES)):
            command = self._order(operation, context, name, may_stay=may_stay, standing=standing)
            command.listener, name = listen(command), command.name
            begun = False
            try:
                begun = await self._began(command)
            finally:
                if not begun:
                    await self._end(command)
            if begun:
                return command
            self._refuse(command, lost=not more_tries)
        raise AssertionError("the last try returns or raises")

    def _order(
        self, operation: op.RunCommand, context: Context, name: str | None, *, may_stay: bool, standing: bool
    ) -> Command:
        self._check(operation)
        root, cwd = _folders(operation.cwd, context)
        environment = self._child_environment(terminal=operation.terminal)
        program = (_bash if standing else _program)(operation.shell, environment)
        # A bash whose input is a socket takes itself for a remote one, which reads what others do not.
        arguments = [program, *(["--norc"] if standing else []), *(["-l"] if operation.login else [])]
        arguments += ["-c", DRIVER if standing else operation.command]
        if name is None:
            name = self._name(operation.job, may_stay=may_stay)
        around = self.enclosure.around(arguments, root=root, cwd=cwd, unsandboxed=operation.unsandboxed)
        with around as (mechanism, wrapped):
            environment |= wrapped.environment
            order: Order = {
                "arguments": wrapped.arguments,
                "environment": environment,
                "cwd": cwd,
                "terminal": operation.terminal,
                "brand": new_brand(),
                "timeout": None if standing else self._timeout(operation, may_stay=may_stay),
                "grace": self._grace_ms / 1000,
                "processes": self._limits.processes,
                "limits": self._limits.kept_by_system(),
                "confinement": wrapped.confinement,
                "opened": list(wrapped.opened),
            }
            command = (
                StandingShell(name, sandbox=mechanism.name, root=root, program=program, login=bool(operation.login))
                if standing
                else Command(name, operation.command, may_stay=may_stay, sandbox=mechanism.name)
            )
            command.observer = self._observer
            command.process = start(
                order,
                self._starter,
                keyboard=operation.background,
                most=self._most_output,
                on_output=command.add_output,
                controlled=standing,
            )
        self._commands[name] = command
        return command

    def _attach(self) -> None:
        """Take all jobs along into this event loop: what nobody reads would block them."""
        for command in self._commands.values():
            command.process.attach()

    async def _began(self, command: Command) -> bool:
        """Wait until it has begun; whether it has."""
        process = command.process
        while not await process.wait(lambda: process.started or process.failed is not None or process.gone, _PATIENCE):
            process.rouse()
        return process.failed is None and process.begun

    def _refuse(self, command: Command, *, lost: bool) -> None:
        """Say why a command did not begin; that its order was lost only where it is not sent again."""
        process = command.process
        why = process.failed or "".join(stream.take().text(1000)[0] for stream in process.streams).strip()
        if why or lost:
            raise ToolError(f"The command could not be started: {why or _NOT_STARTED}")

    async def _ended(self, command: Command, seconds: float | None, context: Context) -> bool:
        """Wait until it has ended, at most so long and no longer than somebody wants to know."""
        until = None if seconds is None else monotonic() + seconds
        while True:
            context.cancellation.raise_if_cancelled()
            left = _PATIENCE if until is None else max(0.0, min(_PATIENCE, until - monotonic()))
            if await command.wait_for_end(left):
                return True
            if until is not None and monotonic() >= until:
                return False
            command.process.rouse()

    async def _end(self, command: Command) -> None:
        await command.process.end()
        self._commands.pop(command.name, None)

    # -- jobs

    def _name(self, wanted: str | None, *, may_stay: bool) -> str:
        """What a new command is called; those that are over make room for it."""
        over = [name for name, command in self._commands.items() if command.process.gone]
        for name in over:
            del self._commands[name]
        if wanted is not None and wanted in self._commands:
            raise _taken(wanted)
        if may_stay and sum(command.may_stay for command in self._commands.values()) >= self._most_jobs:
            raise ToolError(f"There are {self._most_jobs} jobs already, the most there can be: stop one of them first.")
        ended = [name for name in self._jobs if name not in self._commands]
        for name in ended[: max(0, len(ended) - self._most_jobs)]:
            del self._jobs[name]
        if wanted is not None:
            self._jobs.pop(wanted, None)
            return wanted
        self._count += 1
        while str(self._count) in self._commands or str(self._count) in self._jobs:
            self._count += 1
        return str(self._count)

    def _job(self, name: str) -> Command:
        self._attach()
        if name in self._jobs:
            return self._jobs[name]
        known = ", ".join(f'"{known}"' for known in self._jobs)
        raise ToolError(
            f'There is no job "{name}". '
            + (f"The jobs are {known}." if known else "No job was left running.")
            + nearest(name, self._jobs),
            details={"jobs": list(self._jobs)},
        )

    # -- what a command is given

    def _child_environment(self, *, terminal: bool) -> dict[str, str]:
        allowed = (*USUAL, *self._allow)
        passed = {name: os.environ[name] for name in os.environ if passes(name, allowed)}
        if terminal:
            passed.setdefault("TERM", "xterm")
        return {**passed, **self._environment}

    # -- what it gave

    def _limit(self, wanted: int | None) -> int:
        if wanted is not None and wanted < 0:
            raise ToolError(f"output_limit is {wanted}; it must be 0 or more.", kind="invalid_arguments")
        return min(self._output_limit if wanted is None else wanted, self._most_output)

    def _outcome(
        self,
        command: Command,
        limit: int,
        *,
        job: str | None,
        lines: int | None = None,
        matching: Chosen | None = None,
    ) -> CommandOutcome:
        process = command.process
        process.catch_up()
        texts, cut = taken(process.streams, limit, lines=lines, matching=matching)
        notes = [*self._notes(process), *self.enclosure.notes(command, "".join(filter(None, texts.values())))]
        if isinstance(command, StandingShell):
            more, left_out = _shell_notes(command, limit)
            notes, cut = [*notes, *more], cut + left_out
        for note in notes:
            last = process.streams[-1].name
            gap = "\n" if texts[last] and not texts[last].endswith("\n") else ""
            texts[last] += f"{gap}dragoman: {note}\n"
        return CommandOutcome(
            exit_code=command.exit_code,
            **texts,
            signal=command.signal,
            running=command.running,
            timed_out=process.timed_out,
            job=job,
            truncated=cut,
            duration_ms=command.duration_ms,
            sandbox=command.sandbox,
        )

    def _notes(self, process: Process) -> Iterator[str]:
        """What happened to a command that its exit code does not say."""
        if process.too_many is not None:
            yield f"killed, since it ran {process.too_many} processes at once; {self._limits.processes} are allowed"
        elif process.lost:
            yield "the process that watches it was killed, so how it ended is not known"


class Lines:
    """Reports each line of a command, and stops it after so many lines or so long without one."""

    def __init__(
        self, process: Process, report: Callable[[str], None], limit: int | None, idle_seconds: float | None
    ) -> None:
        self._process, self._report = process, report
        self._left, self._idle_seconds = limit, idle_seconds
        self._parts: dict[StreamName, str] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, stream: StreamName, text: str) -> None:
        *whole, part = (self._parts.get(stream, "") + text).split("\n")
        if part and (not text or len(part) > _LONGEST_LINE):
            whole.append(part)
            part = ""
        self._parts[stream] = part
        for line in whole[: self._left]:
            self._report(line)
        if self._left is not None:
            self._left = max(0, self._left - len(whole))
            if not self._left:
                self._process.say("stop")
        if whole:
            self.rest()

    def rest(self) -> None:
        """Begin to count the time without a line anew."""
        import asyncio

        if self._timer is not None:
            self._timer.cancel()
        if self._idle_seconds is not None and self._process.running:
            self._timer = asyncio.get_running_loop().call_later(self._idle_seconds, self._idle)

    def _idle(self) -> None:
        if self._process.running:
            self._process.timed_out = True
            self._process.say("stop")


def _folders(cwd: str | None, context: Context) -> tuple[str, str]:
    """The workspace's root on this machine, and the folder in it to start in."""
    from .workspace.disk import DiskWorkspace
    from .workspace.tree import missing

    workspace = context.workspace
    if not isinstance(workspace, DiskWorkspace):
        raise ToolError(
            f"There are no processes in a virtual workspace, and {workspace.name} is one: "
            "its files are in memory alone. Use the tools for files, or a workspace on disk."
        )
    asked = "." if cwd is None else cwd
    path = workspace.resolve(asked)
    entry = workspace.entry(path)
    if entry is None:
        raise missing(workspace, asked)
    if entry.kind != "directory":
        raise ToolError(f'"{asked}" is not a folder: a command must start in one.', kind="invalid_arguments")
    return str(workspace.root), str(workspace.root / path)


def _program(wanted: str | None, environment: Mapping[str, str]) -> str:
    """The shell that reads the command line."""
    if wanted is None:
        return "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"
    path = environment.get("PATH")
    check_text("shell", wanted, nul=False)
    found = find_program(wanted, path) if os.path.isabs(wanted) or "/" not in wanted else None
    if found is not None:
        return os.path.abspath(found)
    known = [name for name in ("bash", "dash", "fish", "ksh", "sh", "zsh") if find_program(name, path)]
    raise ToolError(
        f'There is no shell "{wanted}" here; there is {", ".join(known)}.{nearest(wanted, known)}',
        kind="invalid_arguments",
    )


def _bash(wanted: str | None, environment: Mapping[str, str]) -> str:
    """The bash that stands; no other shell is known to keep what it is asked to."""
    program = _program(wanted, environment)
    if os.path.basename(program) != "bash" and wanted is None:
        program = _program("bash", environment)
    if os.path.basename(program) != "bash":
        raise ToolError(
            f'A standing shell is bash, and "{wanted}" is not: leave the shell out, or the job.',
            kind="invalid_arguments",
        )
    return program


def _shell_notes(shell: StandingShell, limit: int) -> tuple[list[str], int]:
    """What is to be known about a standing shell beside what its command gave, and how many characters were cut."""
    notes = [] if shell.news is None else [shell.news]
    shell.news = None
    late, cut = shell.written_meanwhile(limit // 4)
    if late:
        notes.append(f"between the commands, the background wrote:\n{late.removesuffix(chr(10))}")
    if not shell.alive and not shell.end_told:
        shell.end_told = True
        notes.append("the shell has ended with this command: the next one starts in a new shell")
    return notes, cut


def _report_to(context: Context) -> Listener:
    """What passes output on as progress of the call."""
    return lambda _, text: context.progress(text) if text else None


def _taken(name: str) -> ToolError:
    return ToolError(f'Job "{name}" is still there: stop it, or choose another name.')


def _seconds(name: str, milliseconds: int | None, *, least: int = 1) -> float | None:
    if milliseconds is not None and milliseconds < least:
        raise ToolError(f"{name} is {milliseconds}; it must be {least} or more.", kind="invalid_arguments")
    return None if milliseconds is None else min(milliseconds, _FOR_EVER_MS) / 1000


def _how_it_ended(command: Command) -> str:
    process = command.process
    if process.lost:
        return "nobody knows how"
    return f"signal {process.signal}" if process.signal is not None else f"exit code {process.exit_code}"


def _with_shell(act: Callable[[Shell, Any, Context], Awaitable[CommandOutcome]]) -> Callable[..., Any]:
    """What a tool does that a method of the run's shell does."""

    async def run(operation: Any, context: Context) -> CommandOutcome:
        return await act(context.get(Shell), operation, context)

    return run


async def _list(operation: op.ListCommands, context: Context) -> JobsOutcome:
    return await context.get(Shell).list()


run_command = Tool.from_operation(op.RunCommand, _with_shell(Shell.run), name="run_command")
read_output = Tool.from_operation(op.ReadOutput, _with_shell(Shell.read), name="read_output")
type_into = Tool.from_operation(op.TypeInto, _with_shell(Shell.type), name="type_into")
stop_command = Tool.from_operation(op.StopCommand, _with_shell(Shell.stop), name="stop_command", repeatable=True)
list_commands = Tool.from_operation(op.ListCommands, _list, name="list_commands", repeatable=True)
watch_command = Tool.from_operation(op.WatchCommand, _with_shell(Shell.watch), name="watch_command")
