"""Lines that somebody types at the terminal."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path


class Keyboard:
    """The lines somebody types at the terminal. Waiting for one can be cancelled."""

    def __init__(self, descriptor: int, *, own: bool) -> None:
        self._descriptor, self._own = descriptor, own
        self._rest = b""

    @classmethod
    def attached(cls) -> Keyboard | None:
        """The keyboard, when somebody sits at it who sees what is asked."""
        if sys.stderr is None or not sys.stderr.isatty():
            return None
        if sys.stdin is not None and sys.stdin.isatty():
            return cls(sys.stdin.fileno(), own=False)
        if not Path("/dev/tty").exists():
            return None
        try:
            # Standard input is something else, a task in a pipe perhaps; the terminal is still there.
            return cls(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY), own=True)
        except OSError:
            return None

    def forget(self) -> None:
        """What was typed so far is no answer to what comes next."""
        self._rest = b""
        try:
            import termios
        except ImportError:  # a system without terminals of this kind
            return
        termios.tcflush(self._descriptor, termios.TCIFLUSH)

    async def line(self) -> str | None:
        """The next line, or `None` at the end of the input."""
        while b"\n" not in self._rest:
            data = await self._read()
            if not data:
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace")

    async def _read(self) -> bytes:
        loop = asyncio.get_running_loop()
        typed: asyncio.Future[None] = loop.create_future()
        try:
            loop.add_reader(self._descriptor, _settle, typed)
        except NotImplementedError:  # Windows: its loop cannot wait for a console
            return await asyncio.to_thread(os.read, self._descriptor, 4096)
        try:
            await typed
        finally:
            loop.remove_reader(self._descriptor)
        return os.read(self._descriptor, 4096)

    def close(self) -> None:
        if self._own:
            os.close(self._descriptor)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
