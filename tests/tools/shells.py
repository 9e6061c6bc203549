"""Commands to test with, and ways to see from outside what they left behind."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec

from dragoman.errors import ToolError
from dragoman.model.operations import Operation, ReadOutput, RunCommand, TypeInto
from dragoman.model.outcomes import CommandOutcome
from dragoman.tools import shell as tools
from dragoman.tools.context import Context
from dragoman.tools.processes.supervisor import descendants
from dragoman.tools.shell import Shell
from dragoman.tools.workspace.disk import DiskWorkspace

PATIENCE = 60
"""Seconds after which a call that should have come back is a failure, on the slowest machine."""


class Bench:
    """A folder, a shell and what was reported from it."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.shell = Shell(**options)
        self.reported: list[str] = []
        self.on_report: Callable[[str], None] = lambda _: None
        self.context = Context(
            workspace=DiskWorkspace(folder, durable=False), provides={Shell: self.shell}, report=self._report
        )

    def _report(self, message: str, fraction: float | None) -> None:
        self.reported.append(message)
        self.on_report(message)

    async def __aenter__(self) -> Bench:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shell.close()

    async def do(self, operation: Operation) -> Any:
        """What the tool for an operation gives; what it raises comes through."""
        tool = getattr(tools, str(operation.__struct_config__.tag))
        async with asyncio.timeout(PATIENCE):
            return await tool.run(operation, self.context)

    async def run(self, command: str, **options: Any) -> CommandOutcome:
        """What a command gave, without how long it took."""
        return timeless(await self.do(RunCommand(command, **options)))

    async def failure(self, operation: Operation) -> ToolError:
        """The failure of an operation that must fail."""
        try:
            given = await self.do(operation)
        except ToolError as error:
            return error
        raise AssertionError(f"it was done: {given}")

    async def until(self, given: CommandOutcome, text: str, **options: Any) -> str:
        """All a job has written since `given`, up to a text it will write."""
        assert given.job is not None
        output = given.output or given.stdout or ""
        while text not in output:
            assert given.running, f"it ended without writing {text!r}: {given}"
            given = await self.do(ReadOutput(given.job, wait_ms=20, **options))
            output += given.output or given.stdout or ""
        return output

    def pipe(self, name: str = "pipe") -> str:
        """A named pipe in the folder, for commands to wait at or to hold."""
        path = str(self.folder / name)
        os.mkfifo(path)
        return path


async def typed(bench: Bench, job: str, text: str, until: str) -> str:
    """Type, and read until the answer has come."""
    return await bench.until(await bench.do(TypeInto(job, text, wait_ms=0)), until)


def timeless(outcome: CommandOutcome) -> CommandOutcome:
    assert outcome.duration_ms is None or outcome.duration_ms >= 0
    return msgspec.structs.replace(outcome, duration_ms=None)


class Held:
    """Watches a named pipe that commands hold open for writing: sees whether anybody still does."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def text(self) -> str:
        """What its holders wrote; fails while there is one of them."""
        data = b""
        while piece := os.read(self._descriptor, 4096):
            data += piece
        return data.decode()


def write_to(path: str, text: str) -> None:
    """Write to a named pipe that somebody reads."""
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.write(descriptor, text.encode())
    os.close(descriptor)


def possessions() -> dict[str, Any]:
    """What this process holds: open files, threads, and processes below it."""
    return {
        "files": {name: _target(name) for name in os.listdir("/proc/self/fd") if _target(name)},
        # Those that ran a plain function wait for the next one.
        "threads": {thread.name for thread in threading.enumerate()} - {"dragoman-tool"},
        "processes": descendants(os.getpid()),
    }


def _target(descriptor: str) -> str | None:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except FileNotFoundError:
        return None  # the one that lists the folder


async def nothing_left() -> AsyncIterator[None]:
    """What a test holds afterwards is what it held before."""
    before = possessions()
    yield
    after = possessions()
    assert after == before, {kind: (before[kind], after[kind]) for kind in before if after[kind] != before[kind]}
