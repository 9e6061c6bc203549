"""One connection to a provider: one request at a time, its response read as it arrives.

Rule: a response costs a bounded amount of memory and time, whatever the server sends. Headers, bodies and compressed
bodies have sizes they may not exceed (`Sizes`), silence and the lack of content have an end (`Times`), and each limit
that is reached is an `EngineError` that names the setting to change.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.errors import EngineError

if TYPE_CHECKING:
    from dragoman.config.settings import ProviderLimits

    from .unpacking import Unpacker

Sink = Callable[[bytes], "bool | None"]
"""Takes a body as it arrives. Returning False says that there was no content in these bytes: comments, pings."""


class Times(msgspec.Struct, frozen=True):
    """Seconds an exchange may take. `None`: no limit.

    `connect`: until there is a connection. `read`: without a single byte. `content`: without any content, while a
    server sends comments or pings to keep the connection open. `total`: the whole exchange; a retry is another one.
    """

    connect: float = 10.0
    read: float = 120.0
    content: float | None = 900.0
    total: float | None = 3600.0


class Sizes(msgspec.Struct, frozen=True):
    """The most that is accepted of one response, in bytes unless it says otherwise.

    `header_count`: number of headers. `header_bytes`: all headers together. `body`: a whole body or a whole stream,
    after decompression. `error_body`: the body of an error response. `event`: one event of a stream. `values`: number
    of JSON objects and arrays in a response, because three bytes of JSON can take seventy of memory.
    """

    header_count: int = 256
    header_bytes: int = 128 * 1024
    body: int = 64 * 1024 * 1024
    error_body: int = 1024 * 1024
    event: int = 32 * 1024 * 1024
    values: int = 2_000_000


SETTINGS = {
    "connect": "connect_timeout",
    "read": "read_timeout",
    "content": "content_timeout",
    "total": "total_timeout",
    "header_count": "max_header_count",
    "header_bytes": "max_header_bytes",
    "body": "max_body",
    "error_body": "max_error_body",
    "event": "max_event",
    "values": "max_values",
}
"""The field of `Times` or `Sizes` → the setting in `[providers.NAME.limits]`."""


class Bounds(msgspec.Struct, frozen=True):
    """The limits of one transport, and where its user can change them."""

    times: Times = Times()
    sizes: Sizes = Sizes()
    section: str | None = None
    """The section of the settings, `providers.openai.limits`; `None` where they were given in Python."""

    def reached(
        self, limit: str, message: str, *, code: str, status: int | None = None, retryable: bool = False
    ) -> EngineError:
        """The error for a limit that was reached."""
        if self.section is None:
            kind = "Times" if limit in Times.__struct_fields__ else "Sizes"
            where = f"{kind}({limit}=…) of the transport"
        else:
            where = f"{SETTINGS[limit]} in [{self.section}]"
        return EngineError(f"{message}; the limit is {where}", status=status, code=code, retryable=retryable)


def bounds_of(limits: ProviderLimits) -> Bounds:
    """The limits that a section of the settings states."""
    times, sizes = (
        {field: getattr(limits, SETTINGS[field]) for field in kind.__struct_fields__} for kind in (Times, Sizes)
    )
    return Bounds(Times(**times), Sizes(**sizes))


_PAGE = 64 * 1024
"""Bytes that are read of a web page."""


class Response(msgspec.Struct, frozen=True):
    """A response. `body` is empty where a sink took it."""

    status: int
    headers: dict[str, str]
    body: bytes = b""


class Stale(Exception):
    """A kept connection turned out to be closed before anything of a response came."""


class Connection(asyncio.Protocol):
    """One connection; httptools parses what arrives and calls the `on_…` methods."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._transport: Any = None
        self._done: asyncio.Future[Response] | None = None
        self._open = False
        self._used = False
        self._fresh = True
        self._timer: asyncio.TimerHandle | None = None

    # ── called by the event loop ───────────────────────────────────────────

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._open = transport, True

    def secured(self, transport: asyncio.Transport) -> None:
        self._transport, self._fresh = transport, True

    def data_received(self, data: bytes) -> None:
        if self._done is None or self._done.done():
            self.abort()  # bytes that no request asked for: the next response could not be trusted
            return
        self._heard = self._loop.time()
        self._fresh = False
        self._received += len(data)
        self._without_body += len(data)
        try:
            self._parser.feed_data(data)
            if self._pieces:
                self._hand_on()
            if self._without_body > self._bounds.sizes.header_bytes:  # a header or chunk extension without an end
                raise self._headers_too_large()
            if self._received > self._most + self._bounds.sizes.header_bytes:  # with chunk sizes and their extensions
                raise self._body_too_large()
        except Exception as error:  # noqa: BLE001 - errors of the parser, and whatever a sink raises
            if type(error).__module__.startswith("httptools"):
                cause = error.__context__
                self._fail(cause or EngineError(f"the answer is not HTTP: {error}", code="protocol", retryable=True))
            else:
                self._fail(error)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self._open = False
        if self._done is None or self._done.done():
            return
        if self._used and self._fresh:
            self._fail(Stale())
        elif self._until_closed and error is None:
            try:
                self.on_message_complete()
            except Exception as failure:  # noqa: BLE001 - what a sink raises, or a compressed body that was cut
                self._fail(failure)
        else:
            message = "the connection was closed in the middle of an answer"
            self._fail(EngineError(message, code="disconnected", retryable=True))

    # ── one exchange ───────────────────────────────────────────────────────

    @property
    def usable(self) -> bool:
        return self._open and not self._transport.is_closing()

    async def exchange(
        self,
        message: bytes,
        sink: Sink | None,
        begun: Callable[[Response], None] | None = None,
        *,
        tunnel: bool = False,
    ) -> Response:
        import httptools

        times, sizes = self._bounds.times, self._bounds.sizes
        self._loop = asyncio.get_running_loop()
        self._done = self._loop.create_future()
        self._sink, self._begun = sink, begun
        self._pieces: list[bytes] = []
        """Of the body, as they came with the last read."""
        self._whole = bytearray()
        """The body, where no sink takes it."""
        self.on_body = self._pieces.append  # before the parser is made: it looks its callbacks up then
        self._headers: dict[str, str] = {}
        self._status = 0
        self._tunnel = tunnel
        self._until_closed = False
        self._unpacker: Unpacker | None = None
        self._received = 0
        """Bytes of the response so far, as they came."""
        self._without_body = 0
        """Bytes since the last of the body: of headers, of interim responses, between chunks, or after the body."""
        self._header_count = self._header_bytes = 0
        self._body = 0
        """Bytes of the body so far, decompressed."""
        self._most = sizes.body
        self._parser: Any = httptools.HttpResponseParser(self)
        self._heard = self._moved = self._loop.time()
        self._silence = times.connect if tunnel else times.read
        self._timer = self._loop.call_later(min(self._silence, times.content or self._silence), self._look)
        self._transport.write(message)
        try:
            return await self._done
        finally:
            self._timer.cancel()
            self._done = self._sink = self._begun = None
            self._used = self._fresh = True

    @property
    def arrived(self) -> Response:
        """What came of the last response and was taken by no sink."""
        return Response(self._status, self._headers, bytes(self._whole) + b"".join(self._pieces))

    def abort(self) -> None:
        self._open = False
        if self._transport is not None:
            self._transport.abort()

    def drop(self) -> None:
        """Closes the socket of a connection whose loop can no longer do it."""
        self._open = False
        with suppress(RuntimeError, OSError):  # the loop says that it is closed; the socket is all that is left
            self._transport.abort()
        inner = getattr(self._transport.get_extra_info("socket"), "_sock", None)
        if inner is not None:
            inner.close()

    def _look(self) -> None:
        """Whether the server has been silent, or has sent no content, for too long.

        A timer that looks now and then costs less than one that is set again with every piece.
        """
        now, content = self._loop.time(), self._bounds.times.content
        left = self._heard + self._silence - now
        if left <= 0:
            error = self._bounds.reached(
                "connect" if self._tunnel else "read",
                f"nothing came for {self._silence:g} s",
                code="read_timeout",
                retryable=True,
            )
            self._fail(error)
            return
        if content is not None:
            if self._moved + content <= now:
                message = f"the server kept the connection open for {content:g} s without sending any content"
                self._fail(self._bounds.reached("content", message, code="content_timeout"))
                return
            left = min(left, self._moved + content - now)
        self._timer = self._loop.call_later(left, self._look)

    def _fail(self, error: BaseException) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(error)
        self.abort()

    # ── called by the parser ───────────────────────────────────────────────

    def on_message_begin(self) -> None:
        if self._done is None or self._done.done():  # a second response to one request
            raise EngineError("the server answered twice", code="protocol")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_count += 1
        self._header_bytes += len(name) + len(value)
        if self._header_count > self._bounds.sizes.header_count:
            raise self._bounds.reached(
                "header_count",
                f"the answer has more than {self._bounds.sizes.header_count:,} headers",
                code="headers_too_large",
            )
        if self._header_bytes > self._bounds.sizes.header_bytes:
            raise self._headers_too_large()
        key, said = name.decode("latin-1").lower(), value.decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {said}" if key in self._headers else said

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()
        if 100 <= self._status < 200:
            return  # an interim response: the real one is still to come
        framed = "content-length" in self._headers or "chunked" in self._headers.get("transfer-encoding", "").lower()
        self._until_closed = not framed
        if not 200 <= self._status < 300 or is_html(self._headers):
            self._sink = None  # an error, or a page that explains one, is read whole
            self._most = self._bounds.sizes.error_body
        coding = self._headers.get("content-encoding", "").strip().lower()
        if coding not in ("", "identity"):
            self._unpacker = self._unpacker_for(coding)
        if self._begun is not None:
            self._begun(Response(self._status, self._headers))
        if self._tunnel and self._status == 200:
            self.on_message_complete()

    def _unpacker_for(self, coding: str) -> Unpacker:
        from .unpacking import CODINGS, Unpacker

        if coding not in CODINGS:
            message = f"the answer is compressed as {coding[:40]!r}, which was not asked for and cannot be read"
            raise EngineError(message, status=self._status, code="encoding")
        return Unpacker(coding)

    def _hand_on(self) -> None:
        """Passes on what arrived together in one go: a burst of events costs one call, not one for each."""
        arrived = b"".join(self._pieces)
        self._pieces.clear()
        self._without_body = 0
        if self._unpacker is None:
            self._take(arrived)
            return
        try:
            for piece in self._unpacker.feed(arrived):
                self._take(piece)
                if self._done is None or self._done.done():
                    return
        except zlib.error as error:
            message = f"the compressed answer cannot be read: {error}"
            raise EngineError(message, status=self._status, code="encoding", retryable=True) from error

    def _take(self, data: bytes) -> None:
        self._body += len(data)
        if self._sink is None:
            self._whole += data
        if self._body > min(self._most, _PAGE) and is_html(self._headers):
            self._open = False  # no API: its title is all that is of interest
            self._answer()
            return
        if self._body > self._most:
            raise self._body_too_large()
        if self._sink is None or self._sink(data) is not False:
            self._moved = self._heard

    def on_message_complete(self) -> None:
        if 100 <= self._status < 200:
            self._headers = {}
            return
        if not self._tunnel and not self._parser.should_keep_alive():
            self._open = False
        if self._pieces:
            self._hand_on()
        if self._unpacker is not None and self._unpacker.cut:
            raise EngineError("the compressed answer was cut", status=self._status, code="disconnected", retryable=True)
        self._answer()

    def _answer(self) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_result(Response(self._status, self._headers, bytes(self._whole)))

    # ── limits ─────────────────────────────────────────────────────────────

    def _headers_too_large(self) -> EngineError:
        message = f"the answer has more than {self._bounds.sizes.header_bytes:,} bytes of headers"
        return self._bounds.reached("header_bytes", message, code="headers_too_large", status=self._status or None)

    def _body_too_large(self) -> EngineError:
        if 200 <= self._status < 300:
            return self._bounds.reached(
                "body", f"the answer is larger than {self._most:,} bytes", code="body_too_large", status=self._status
            )
        begins = one_line(bytes(self._whole[:1000]))
        message = f"the server answered {self._status} with more than {self._most:,} bytes, which begin {begins!r}"
        again = self._status in (408, 409, 425, 429) or self._status >= 500
        return self._bounds.reached(
            "error_body", message, code="error_body_too_large", status=self._status, retryable=again
        )


def is_html(headers: dict[str, str]) -> bool:
    """Whether a response says that it is a web page."""
    return headers.get("content-type", "").lower().startswith(("text/html", "application/xhtml"))


def one_line(text: bytes) -> str:
    """The beginning of a text, on one line."""
    return " ".join(text.decode("utf-8", "replace").split())[:200]
