"""Runs for front ends over HTTP: an ASGI application (Starlette, FastAPI), a handler for aiohttp, or plain bytes.

Rules: a request starts a run only if its content type is JSON, which a page of another origin cannot send without the
server's consent (CORS). A client that stops reading cancels the run. An error that is not ours is logged here, and the
client learns only that the run failed.
"""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dragoman.engine import Orchestrator, Running, RunResult
from dragoman.errors import ConfigError, DragomanError, EngineError
from dragoman.model import AnyEvent

from .ag_ui import AgUi
from .approvals import PageApprover, WaitingRun, WaitingRuns
from .protocol import Asked, Protocol, RunWriter
from .ui_messages import UiMessages

if TYPE_CHECKING:
    from aiohttp import web

LOG = logging.getLogger("dragoman.serve")

Agent = Orchestrator[Any] | Callable[[Mapping[str, Any]], Orchestrator[Any]]
"""What runs, or what makes it from the body of a request."""

_PROTOCOLS: Mapping[str, type[Protocol]] = {"ag_ui": AgUi, "ui_messages": UiMessages}


class FrontEnd:
    """Answers the requests of a front end with the events of runs.

    `protocol` is "ag_ui" or "ui_messages" (Vercel's AI SDK), or a `Protocol`. The object is an ASGI application that
    answers every POST; `aiohttp` is a handler for aiohttp; `stream` gives the bytes for anything else.

    The conversation comes from the client with every request, so the client may have written any part of it. Messages
    that instruct the model are refused unless `client_instructions` is true. Check in front of this who is asking.

    With `approvals`, calls that need a yes are asked about in the page, after the agent's own approver where it has
    one. The runs that wait are kept in the memory of this object.
    """

    def __init__(
        self,
        agent: Agent,
        protocol: Literal["ag_ui", "ui_messages"] | Protocol,
        *,
        client_instructions: bool = False,
        approvals: bool = False,
        max_body: int = 16 * 1024 * 1024,
        keep_alive: float = 15.0,
    ) -> None:
        given: Any = agent
        if not isinstance(given, Orchestrator) and not callable(given):
            raise ConfigError(f"a FrontEnd takes an Orchestrator, or a function that gives one, not {given!r}")
        if not isinstance(protocol, Protocol) and protocol not in _PROTOCOLS:
            raise ConfigError(f"a protocol is one of {', '.join(_PROTOCOLS)}, not {protocol!r}")
        self._agent = agent
        self.protocol = _PROTOCOLS[protocol]() if isinstance(protocol, str) else protocol
        self._instructions, self._max_body, self._keep_alive = client_instructions, max_body, keep_alive
        self._waiting = WaitingRuns() if approvals else None

    def __repr__(self) -> str:
        return f"FrontEnd({self._agent!r}, {type(self.protocol).__name__})"

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of a streamed response."""
        return self.protocol.headers

    # ── without a framework ────────────────────────────────────────────────

    def read(self, body: bytes) -> tuple[Orchestrator[Any], Asked]:
        """What a request asks for, and of whom; `ConfigError` if it cannot be read."""
        try:
            said = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ConfigError(f"the request is not JSON: {error}") from error
        if not isinstance(said, dict):
            raise ConfigError("the request must be a JSON object")
        asked = self.protocol.read(said, instructions=self._instructions)
        if asked.answers:
            self._waiting_run(asked)
        return self._agent if isinstance(self._agent, Orchestrator) else self._agent(said), asked

    async def stream(self, body: bytes) -> AsyncGenerator[bytes, None]:
        """The events of the run that a request asks for, as server-sent events.

        `ConfigError` at the first step if the request cannot be read. Closing the iterator cancels the run.
        """
        agent, asked = self.read(body)
        async with aclosing(self._events(agent, asked)) as pieces:
            async for piece in pieces:
                yield piece

    def _waiting_run(self, asked: Asked) -> WaitingRun:
        if self._waiting is None:
            raise ConfigError("approvals are not asked for in this page: FrontEnd(approvals=True) does it")
        return self._waiting.run_of(asked)

    async def _events(self, agent: Orchestrator[Any], asked: Asked) -> AsyncGenerator[bytes, None]:
        writer = self.protocol.writer(asked, masked=agent.hooks.mask is not None)
        yield _sse(writer.start())
        approver, events = PageApprover(agent.approver), list[AnyEvent]()
        if self._waiting is not None:
            agent = copy.copy(agent)
            agent.approver = approver
        try:
            running = self._started(agent, asked, writer, events)
        except ConfigError as error:  # somebody else has answered since the request was read
            yield _sse(_failed(writer, error)) + self.protocol.end
            return
        async with aclosing(running.__aiter__()) as items:
            waiting: asyncio.Task[Any] | None = None
            try:
                while True:
                    waiting = waiting or asyncio.ensure_future(anext(items, None))
                    done, _ = await asyncio.wait([waiting], timeout=self._keep_alive)
                    if not done:
                        yield b":\n\n"  # a comment: who does not read it any more is noticed
                        continue
                    item = waiting.result()
                    waiting = None
                    if item is None:
                        break
                    yield _sse(writer.item(item))
                result = await running.result()
                if self._waiting is not None and result.status == "waiting":
                    kept = self._waiting.keep(asked, running.id, result, events, approver.questions, writer)
                    yield _sse(writer.waits(kept.asking(), result))
                else:
                    yield _sse(_ended(writer, result))
            except Exception as error:  # noqa: BLE001 - the response has begun: its end says what went wrong
                yield _sse(_failed(writer, error))
            finally:
                if waiting is not None and not waiting.done():
                    waiting.cancel()
                    with suppress(asyncio.CancelledError):
                        await waiting
        yield self.protocol.end

    def _started(
        self, agent: Orchestrator[Any], asked: Asked, writer: RunWriter, events: list[AnyEvent]
    ) -> Running[Any]:
        """The run that answers a request: a new one, or one that waited for what the client says now."""
        if not asked.answers:
            return agent.start(history=asked.conversation, stream=True, emit=events.append)
        kept = self._waiting_run(asked)
        writer.continues(kept.writer)
        answers = kept.answers(asked.answers)
        events += kept.events
        running = agent.start(
            history=kept.conversation, stream=True, emit=events.append, answers=answers, run_id=kept.run
        )
        running.goes_on(kept.conversation, kept.events)
        running.counts_from(kept.events)
        if self._waiting is not None:
            self._waiting.forget(kept.run)
        return running

    def _refused(self, method: str, content_type: str) -> tuple[int, str] | None:
        if method == "GET" and self.protocol.asks_to_resume:
            return 204, ""
        if method != "POST":
            return 405, "send a POST request"
        if content_type.partition(";")[0].strip().lower() != "application/json":
            return 415, "the content type must be application/json"
        return None

    # ── aiohttp ────────────────────────────────────────────────────────────

    async def aiohttp(self, request: web.Request) -> web.StreamResponse:
        """A handler: `app.router.add_post("/agent", front_end.aiohttp)`."""
        from aiohttp import web

        refused = self._refused(request.method, request.headers.get("content-type", ""))
        if refused is not None:
            said = web.json_response({"error": refused[1]}, status=refused[0])
            return said if refused[1] else web.Response(status=refused[0])
        body = await request.read()
        try:
            agent, asked = self.read(body)
        except DragomanError as error:
            return web.json_response({"error": str(error)}, status=400)
        response = web.StreamResponse(headers=dict(self.headers))
        await response.prepare(request)
        async with aclosing(self._events(agent, asked)) as pieces:
            async for piece in pieces:
                await response.write(piece)
        return response

    # ── ASGI ───────────────────────────────────────────────────────────────

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        """The ASGI application: `Mount("/agent", front_end)` in Starlette, `app.mount("/agent", …)` in FastAPI."""
        if scope["type"] != "http":
            raise ConfigError(f"this application answers HTTP requests, not {scope['type']!r}")
        headers = {name.lower(): value for name, value in scope["headers"]}
        kind = headers.get(b"content-type", b"").decode("latin-1")
        refused = self._refused(scope["method"], kind)
        body = b"" if refused is not None else await self._received(receive)
        if body is None:
            refused = (413, f"the request has more than {self._max_body} bytes")
        if refused is None:
            try:
                agent, asked = self.read(body or b"")
            except DragomanError as error:
                refused = (400, str(error))
        if refused is not None:
            content = msgspec.json.encode({"error": refused[1]}) if refused[1] else b""
            await _begin(send, refused[0], {"content-type": "application/json"} if content else {})
            await send({"type": "http.response.body", "body": content})
            return
        await _begin(send, 200, self.headers)
        sending = asyncio.ensure_future(self._sent(agent, asked, send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait([sending, leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                if not task.done():
                    task.cancel()
            await asyncio.wait([sending, leaving])
        if not sending.cancelled():
            sending.result()

    async def _sent(self, agent: Orchestrator[Any], asked: Asked, send: Any) -> None:
        async with aclosing(self._events(agent, asked)) as pieces:
            async for piece in pieces:
                if piece:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _received(self, receive: Any) -> bytes | None:
        """The body of a request; `None` if it is too large."""
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return b""
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._max_body:
                return None
        return bytes(body)


async def _begin(send: Any, status: int, headers: Mapping[str, str]) -> None:
    lines = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": lines})


async def _left(receive: Any) -> None:
    """Waits until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _sse(events: list[dict[str, Any]]) -> bytes:
    return b"".join(b"data: %s\n\n" % msgspec.json.encode(event, enc_hook=str) for event in events)


def _ended(writer: RunWriter, result: RunResult[Any]) -> list[dict[str, Any]]:
    if result.status == "completed":
        return writer.finished(result)
    if result.status == "waiting":
        names = ", ".join(call.native.name for call in result.waiting)
        return writer.failed(f"the run waits for an approval of {names}, which cannot be given here", "waiting")
    return writer.failed(str(result.error or f"the run ended as {result.status}"), result.status)


def _failed(writer: RunWriter, error: Exception) -> list[dict[str, Any]]:
    if isinstance(error, EngineError):
        return writer.failed(error.message, error.code or "engine")
    if isinstance(error, DragomanError):
        return writer.failed(str(error), type(error).__name__)
    LOG.error("a run for a front end failed", exc_info=error)
    return writer.failed("the run failed; the server's log says why", "internal")
