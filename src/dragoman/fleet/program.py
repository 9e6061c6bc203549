"""A program that is started for a task or a notice: its input, its end, and the last that it said.

Rule: what counts is the end of the program itself. Whatever it leaves running in the background has its standard error
too, and is not waited for; a program that does not end is killed with all that it started in its group.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

_PIECE: Final = 1 << 16
_PIECES: Final = 20
"""How much of what a program says is kept."""


class Program:
    """A program that runs. Start it with `start`."""

    def __init__(self, process: asyncio.subprocess.Process, errors: int) -> None:
        self._process, self._errors = process, errors
        self._said: deque[bytes] = deque(maxlen=_PIECES)
        asyncio.get_running_loop().add_reader(errors, self._listen)

    @classmethod
    async def start(
        cls, words: Sequence[str], *, folder: Path, environment: Mapping[str, str], given: bytes
    ) -> Program:
        """Starts a program in a session of its own, with this as its standard input. `OSError` if it cannot be."""
        read, write = os.pipe()
        try:
            os.set_blocking(read, False)
            # No pipe of asyncio: its `wait` waits for the ends of those.
            with TemporaryFile() as file:
                file.write(given)
                file.seek(0)
                process = await asyncio.create_subprocess_exec(
                    *words,
                    cwd=folder,
                    env=dict(environment),
                    stdin=file,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=write,
                    start_new_session=True,
                )
        except BaseException:
            os.close(read)
            raise
        finally:
            os.close(write)
        return cls(process, read)

    async def ended(self) -> int:
        """Its exit code, once it has ended."""
        try:
            return await self._process.wait()
        finally:
            if self._process.returncode is not None:
                self._close()

    def last_words(self, most: int) -> str:
        """The last that it said on its standard error."""
        return b"".join(self._said).decode("utf-8", "replace").strip()[-most:]

    async def stop(self, grace: float) -> None:
        """Asks it to end and, if it does not within so many seconds, kills it with its group."""
        if self._process.returncode is None and grace > 0:
            with suppress(ProcessLookupError):
                self._process.terminate()
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self._process.wait()
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
        self._close()

    def _listen(self) -> None:
        with suppress(BlockingIOError):
            data = os.read(self._errors, _PIECE)
            self._said.append(data)
            if not data:
                asyncio.get_running_loop().remove_reader(self._errors)

    def _close(self) -> None:
        if self._errors < 0:
            return
        asyncio.get_running_loop().remove_reader(self._errors)
        with suppress(BlockingIOError):  # what it said last; a program in the background may say more for ever
            for _ in range(_PIECES):
                if not (data := os.read(self._errors, _PIECE)):
                    break
                self._said.append(data)
        os.close(self._errors)
        self._errors = -1
