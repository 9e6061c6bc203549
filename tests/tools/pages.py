"""Servers on loopback to fetch from, well-behaved and not, and names that lead to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from io import BytesIO

from aiohttp import web

from dragoman.errors import ToolError
from dragoman.model.operations import FetchPage
from dragoman.model.outcomes import Page
from dragoman.tools.web.web import Web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Answer = str | bytes | Callable[[], web.Response] | Handler


class Site:
    """A server that is there; `asked` are the paths it was asked for."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.asked: list[str] = []

    @property
    def place(self) -> str:
        return f"{self.host}:{self.port}"

    def url(self, path: str = "/", host: str | None = None) -> str:
        return f"http://{host or self.host}:{self.port}{path}"


@asynccontextmanager
async def serving(routes: Mapping[str, Answer], *, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Site]:
    """Serve these paths: text is HTML, bytes are bytes of HTML, a function makes its own answer."""

    async def answer(request: web.Request) -> web.StreamResponse:
        site.asked.append(request.path_qs)
        route = routes.get(request.path)
        if route is None:
            return web.Response(status=404, text="there is no such page")
        if isinstance(route, str | bytes):
            return web.Response(
                body=BytesIO(route.encode() if isinstance(route, str) else route),
                content_type="text/html",
                charset="utf-8" if isinstance(route, str) else None,
            )
        if asyncio.iscoroutinefunction(route):
            response: web.StreamResponse = await route(request)
            return response
        return route()  # type: ignore[call-arg, return-value]

    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0)
    await runner.setup()
    listener = web.TCPSite(runner, host, port)
    await listener.start()
    site = Site(host, runner.addresses[0][1])
    try:
        yield site
    finally:
        await runner.cleanup()


@asynccontextmanager
async def speaking(
    conversation: Callable[[asyncio.StreamWriter], Awaitable[None]], *, host: str = "127.0.0.1"
) -> AsyncIterator[Site]:
    """A server that reads a request's head and then writes whatever it likes, until the other side has had enough."""
    conversations: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        conversations.add(task)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            site.asked.append(head.split(b" ", 2)[1].decode())
            await conversation(writer)
        except (ConnectionError, EOFError):
            pass
        finally:
            conversations.discard(task)
            writer.close()

    server = await asyncio.start_server(accept, host, 0)
    site = Site(host, server.sockets[0].getsockname()[1])
    try:
        yield site
    finally:
        server.close()
        for conversation_task in conversations:
            conversation_task.cancel()
        await asyncio.gather(*conversations, return_exceptions=True)
        await server.wait_closed()


def saying(*parts: bytes) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    """Write these bytes and end."""

    async def conversation(writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()

    return conversation


def endlessly(start: bytes, again: bytes) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    """Write the start, and then the same again for as long as anybody listens."""

    async def conversation(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while not writer.is_closing():
            writer.write(again)
            await writer.drain()

    return conversation


class Names:
    """Names and the addresses they lead to; a list is answered one after the other, its last for good."""

    def __init__(self, names: Mapping[str, str | Sequence[str]] | None = None) -> None:
        self._names = names or {}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        found = self._names.get(host)
        if found is None:
            raise ToolError(f'there is no host named "{host}"')
        if isinstance(found, str):
            return [found]
        return [found[min(self.asked.count(host), len(found)) - 1]]


async def page_of(web: Web, url: str, **wanted: object) -> Page:
    """The page a fetch gives."""
    (page,) = (await web.fetch(FetchPage(url, **wanted))).pages  # type: ignore[arg-type]
    return page


async def failure_of(awaitable: Awaitable[object]) -> ToolError:
    """The failure something ends with."""
    try:
        await awaitable
    except ToolError as error:
        return error
    raise AssertionError("it did not fail")
