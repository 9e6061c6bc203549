"""The one way out of the browser: a proxy on loopback that every request of a page must pass.

Rule: a browser looks names up by itself and follows redirects, frames, scripts and sockets by itself; so it is given
no network of its own, and what connects for it is `reach`, which connects to the addresses it checked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, Self

from dragoman.errors import ToolError

from .address_policy import Place, Reach, parse_url, place_of

if TYPE_CHECKING:
    from yarl import URL

_LARGEST_HEAD: Final = 64 * 1024
_PIECE: Final = 64 * 1024
_MOST_CONNECTIONS: Final = 256

# What concerns the connection to a proxy, and is not passed on.
_OWN: Final = (b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization")


class BrowserProxy:
    """A proxy for one page, for as long as the context lasts.

    It counts what it lets in, and keeps the reasons for what it turned away.
    """

    def __init__(self, reach: Reach, *, max_bytes: int, connect_seconds: float) -> None:
        self._reach, self.max_bytes, self._connect_seconds = reach, max_bytes, connect_seconds
        self._connections: set[asyncio.Task[None]] = set()
        self._failures: dict[Place, ToolError] = {}
        self.last_failure: ToolError | None = None
        self._received = 0
        # In the gate's own answers, so that no server's is taken for one.
        self._sign = token_hex(16)
        self._server: asyncio.Server

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_LARGEST_HEAD)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def overrun(self) -> bool:
        """Whether more came than may."""
        return self._received > self.max_bytes

    def failure(self, url: URL, headers: Mapping[str, str]) -> ToolError | None:
        """Why this request was turned away, if the answer to it was the gate's own."""
        return self._failures.get(place_of(url)) if headers.get("x-gate") == self._sign else None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if len(self._connections) <= _MOST_CONNECTIONS:
                await self._serve(reader, writer)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            pass  # either side went away, or does not speak HTTP: the browser sees a connection that ends
        except asyncio.CancelledError:
            pass  # by `__aexit__` alone; Python 3.11 logs a connection's task that ends cancelled as an error
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, *_ = head.split(b"\r\n", 1)[0].decode("ascii").split(" ")
        tunnel = method == "CONNECT"
        authority, _, path = target.removeprefix("http://").partition("/")
        try:
            # The path is the browser's own affair and goes on as it is.
            url = parse_url(f"http://{authority}/")
        except ToolError:
            writer.write(self._answer(b"400 Bad Request"))
            return
        try:
            self._reach.check_url(url)
            far_reader, far_writer = await self._connect(place_of(url))
        except ToolError as error:
            self._failures[place_of(url)] = self.last_failure = error
            writer.write(self._answer(b"403 Forbidden" if error.kind == "denied" else b"502 Bad Gateway"))
            return
        try:
            if tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await _first_of(_copy(reader, far_writer), self._receive(far_reader, writer))
            else:
                far_writer.write(
                    b"%b /%b HTTP/1.1\r\n%b" % (method.encode(), path.encode(), _closing(head).split(b"\r\n", 1)[1])
                )
                await _first_of(_copy(reader, far_writer), self._relay(far_reader, writer))
        finally:
            far_writer.close()

    def _answer(self, status: bytes) -> bytes:
        head = b"HTTP/1.1 %b\r\nX-Gate: %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        return head % (status, self._sign.encode())

    async def _connect(self, place: Place) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reason = "it has no address"
        try:
            async with asyncio.timeout(self._connect_seconds):
                for address in await self._reach.addresses(place):
                    try:
                        return await asyncio.open_connection(address, place.port, limit=_LARGEST_HEAD)
                    except OSError as error:
                        reason = str(error)
        except TimeoutError:
            reason = f"no answer in {self._connect_seconds:g} seconds"
        raise ToolError(f"{place} cannot be connected to: {reason}", details={"host": place.host, "port": place.port})

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """An answer, after which the connection ends: the next request may be for another place."""
        head = await reader.readuntil(b"\r\n\r\n")
        while head.split(b" ", 2)[1].startswith(b"1"):
            self._received += len(head)  # a server may send any number of these
            if self.overrun:
                return
            writer.write(head)
            await writer.drain()
            head = await reader.readuntil(b"\r\n\r\n")
        writer.write(_closing(head))
        await self._receive(reader, writer)

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not self.overrun and (data := await reader.read(_PIECE)):
            self._received += len(data)
            writer.write(data)
            await writer.drain()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_PIECE):
        writer.write(data)
        await writer.drain()


async def _first_of(*ways: Coroutine[Any, Any, None]) -> None:
    """Both directions, until one of them is over."""
    tasks = [asyncio.create_task(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _closing(head: bytes) -> bytes:
    """A head that says the connection ends with this message."""
    first, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    passed = [field for field in fields if field.split(b":", 1)[0].strip().lower() not in _OWN]
    return b"\r\n".join([first, *passed, b"Connection: close", b"", b""])
