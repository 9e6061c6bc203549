"""Servers that answer with whatever bytes they like, for as long as they like: over real sockets, on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Answers = Callable[[asyncio.StreamWriter], Awaitable[None]]

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
JSON = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n"


class Hostile:
    """A server; `asked` counts the requests, `nobody` is set while no connection is open."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.asked = 0
        self.url = ""
        self.nobody = asyncio.Event()
        self.nobody.set()
        self._open: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        self.nobody.clear()
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            await reader.readexactly(int(lengths[0].partition(b":")[2]) if lengths else 0)
            self.asked += 1
            await self.answers(writer)
            with suppress(ConnectionError):
                await reader.read()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()
            self._open.discard(task)
            if not self._open:
                self.nobody.set()

    async def stop(self) -> None:
        for task in list(self._open):
            task.cancel()
        if self._open:
            await asyncio.wait(list(self._open))


@asynccontextmanager
async def hostile(answers: Answers) -> AsyncIterator[Hostile]:
    """A server that answers every request in this way."""
    served = Hostile(answers)
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield served
    finally:
        await served.stop()
        server.close()
        await server.wait_closed()


def sends(*pieces: bytes, close: bool = True) -> Answers:
    """Sends these bytes, and closes the connection or leaves it open."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if close:
            writer.write_eof()

    return answer


def endless(begin: bytes, again: bytes, *, every: float = 0.0) -> Answers:
    """Sends a beginning, and then the same bytes for ever: as fast as they are taken, or one by one."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(begin)
        while True:
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(every)

    return answer
