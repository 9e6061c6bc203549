"""A worker: takes tasks from a queue, runs each in a process of its own, and takes over what dead workers left.

Rules: a run is a process, so that one that hangs, leaks or dies costs no other. What a run has done is known from its
record alone; a worker only says how it ended. A run whose record another process still holds is not begun.
"""

from __future__ import annotations

import asyncio
import os
import socket
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from dragoman.errors import StorageError
from dragoman.logs.stores import EventStore

from .program import Program
from .queue import Entry, Queue, State

_LONGEST_MESSAGE: Final = 2000
_GRACE: Final = 30.0
"""Seconds that a run has to put itself in order when it is to stop."""


_TOLD_AGAIN: Final = 120.0
_TOLD_UNTIL: Final = 86_400.0
"""Seconds after which it is tried again to tell somebody, and after which that is given up for what has ended."""


class Ended(NamedTuple):
    """What the end of a process means for its entry; `retried`: after how many seconds it is tried again."""

    state: State
    retried: float | None = None


class Worker:
    """Runs up to `concurrency` tasks at once, in folders of `root`. `store` keeps the records of their runs.

    `command` gives the program that begins or continues the run of an entry, with the environment it gets; the task is
    its standard input. `meaning` says what the exit code of that program means. `say` is told what happens. A worker
    that is not heard of for `silent` seconds is dead. `tell` tells somebody of an entry that has come to one of the
    states `tells`, and gives what went wrong; then it is tried again later.
    """

    def __init__(
        self,
        queue: Queue,
        store: EventStore,
        root: Path,
        command: Callable[[Entry], tuple[Sequence[str], Mapping[str, str]]],
        meaning: Callable[[int], Ended],
        *,
        concurrency: int = 1,
        silent: float = 30.0,
        most_attempts: int = 5,
        say: Callable[[str], None] = lambda _: None,
        tells: Collection[State] = (),
        tell: Callable[[Entry], Awaitable[Sequence[str]]] | None = None,
    ) -> None:
        self.id = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._queue, self._store, self._root = queue, store, root.resolve()
        self._command, self._meaning = command, meaning
        self._concurrency, self._silent, self._most = concurrency, silent, most_attempts
        self._say, self._tells, self._tell = say, frozenset(tells if tell is not None else ()), tell
        self._telling: set[asyncio.Task[None]] = set()
        self._running: dict[asyncio.Task[None], Entry] = {}
        self._wake = asyncio.Event()

    async def work(self, *, until_empty: bool = False, poll: float = 1.0) -> None:
        """Works until it is cancelled, or with `until_empty` until nothing is left that could be run now."""
        beats = 0.0
        loop = asyncio.get_running_loop()
        try:
            while True:
                try:
                    if loop.time() >= beats:
                        self._queue.beat(self.id)
                        self._watch()
                        beats = loop.time() + self._silent / 4
                    self._fill()
                    if until_empty and not self._running and not self._queue.entries(("running",), most=1):
                        return
                except StorageError as error:  # the database is away: what runs, runs on
                    self._say(str(error))
                    beats = 0.0
                self._wake.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(poll):
                        await self._wake.wait()
        finally:
            await self._stop()

    def _watch(self) -> None:
        for entry in self._queue.take_over(self._silent, self._most, telling="failed" in self._tells):
            self._say(f"{entry.id[:8]}: its worker is gone; it is queued again")
        if self._tells:
            for entry in self._queue.to_tell(_TOLD_AGAIN, _TOLD_UNTIL):
                self._tell_of(entry)

    def _tell_of(self, entry: Entry) -> None:
        task = asyncio.get_running_loop().create_task(self._told(entry))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _told(self, entry: Entry) -> None:
        assert self._tell is not None
        try:
            problems = await self._tell(entry)
            if not problems:
                self._queue.mark_notified(entry.id)
        except StorageError as error:  # the database is away: whoever finds the entry tells of it
            problems = [str(error)]
        for problem in problems:
            self._say(f"{entry.id[:8]}: nobody was told that it is {entry.state}: {problem}")

    def _fill(self) -> None:
        while len(self._running) < self._concurrency:
            entry = self._queue.take(self.id)
            if entry is None:
                return
            task = asyncio.get_running_loop().create_task(self._run(entry))
            self._running[task] = entry
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        entry = self._running.pop(task)
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._say(f"{entry.id[:8]}: {error}")  # its entry stays taken: when this worker is gone, another continues

    async def _run(self, entry: Entry) -> None:
        """Runs one entry and says what became of it, once the database is there to hear it."""
        try:
            ended, message = await self._ran(entry)
        except (StorageError, OSError) as error:  # it could not be begun
            ended, message = Ended("queued", self._silent), str(error)
        while True:
            try:
                self._end(entry, ended, message)
                return
            except StorageError as error:  # this worker lives: nobody else would end it
                self._say(f"{entry.id[:8]}: {error}")
                await asyncio.sleep(self._silent / 10)

    async def _ran(self, entry: Entry) -> tuple[Ended, str]:
        folder = self._folder_of(entry)
        if folder is None:
            return Ended("failed"), f"there is no folder {entry.folder!r} in {self._root}"
        if self._store.is_held(entry.id):  # the process of a worker that died may have lived on
            return Ended("queued", self._silent), "its last process is still there"
        words, environment = self._command(entry)
        self._say(f"{entry.id[:8]}: begins")
        program = await Program.start(words, folder=folder, environment=environment, given=entry.task.encode())
        try:
            code = await self._followed(program, entry)
        except BaseException:
            await program.stop(_GRACE)
            with suppress(StorageError):
                self._queue.end(entry, "queued", "its worker was stopped")
            raise
        ended = self._meaning(code)
        if ended.retried is not None and entry.attempts >= self._most:
            ended = Ended("failed")
        return ended, "" if ended.state == "done" else program.last_words(_LONGEST_MESSAGE)

    def _folder_of(self, entry: Entry) -> Path | None:
        """The folder that an entry names, if it is one and lies in the workspace, wherever links lead."""
        try:
            folder = (self._root / entry.folder).resolve()
            return folder if folder.is_relative_to(self._root) and folder.is_dir() else None
        except (OSError, ValueError, RuntimeError):  # no path at all, or links in a circle
            return None

    async def _followed(self, program: Program, entry: Entry) -> int:
        """Waits for the end of a process, and gives its exit code. One that was cancelled is stopped."""

        async def watch() -> None:
            taken = True
            while taken:
                await asyncio.sleep(self._silent / 10)
                with suppress(StorageError):  # the database is away: what is running goes on
                    taken = self._queue.still_taken(entry)
            await program.stop(_GRACE)

        watching = asyncio.ensure_future(watch())
        try:
            return await program.ended()
        finally:
            watching.cancel()
            await asyncio.wait([watching])

    def _end(self, entry: Entry, ended: Ended, message: str) -> None:
        telling = _TOLD_AGAIN if ended.state in self._tells else None
        if self._queue.end(entry, ended.state, message, after=ended.retried or 0.0, telling=telling):
            self._say(f"{entry.id[:8]}: {ended.state}")
            if telling is not None:
                self._tell_of(self._queue.entry(entry.id))
        else:
            self._say(f"{entry.id[:8]}: it was cancelled, or another worker has it")

    async def _stop(self) -> None:
        if self._telling:
            await asyncio.wait([*self._telling])
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait([*self._running])
        with suppress(StorageError):
            self._queue.leave(self.id)
