"""HTTP to a provider: the only place that opens a socket to one.

One connection carries one exchange at a time and is kept for the next. What arrives is handed to the caller as it
arrives, from inside the event loop's own callback: between the socket and the codec there is no queue and no task.

Rules: every wait has an end (connecting, silence, the whole exchange); cancelling closes the socket at once; an error
never carries a key or a body that was sent.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, quote, urlsplit

import msgspec

from dragoman.errors import ConfigError, EngineError

if TYPE_CHECKING:
    import ssl

Sink = Callable[[bytes], None]


class Times(msgspec.Struct, frozen=True):
    """Seconds: to connect, without a single byte while an answer is awaited, and for the whole exchange."""

    connect: float = 10.0
    read: float = 120.0
    total: float | None = None


class Response(msgspec.Struct, frozen=True):
    """What came back. `body` is empty where a sink took it."""

    status: int
    headers: dict[str, str]
    body: bytes = b""


class Transport:
    """Exchanges with one server, named by its base URL. Several event loops may use it, each in its own thread."""

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        times: Times = Times(),  # noqa: B008 - frozen
        proxy: str | None = None,
        tls: ssl.SSLContext | None = None,
        keep: int = 64,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.times = times
        self._url = _checked(self.base_url)
        self._host = self._url.hostname or ""
        self._secure = self._url.scheme == "https"
        self._port = self._url.port or (443 if self._secure else 80)
        self._proxy = _checked_proxy(proxy) if proxy else _proxy_of(self._url)
        self._tls = tls
        self._keep = keep
        self._idle: dict[asyncio.AbstractEventLoop, list[_Connection]] = {}
        self._head = self._written_head(dict(headers or {}))
        self._secrets = _secrets(headers or {})

    def _written_head(self, headers: dict[str, str]) -> bytes:
        default = 443 if self._secure else 80
        host = f"[{self._host}]" if ":" in self._host else self._host
        lines = {"host": host if self._port == default else f"{host}:{self._port}"}
        lines |= {"accept-encoding": "identity", "user-agent": "dragoman", "content-type": "application/json"}
        if self._proxy is not None and not self._secure:
            lines |= _proxy_authorization(self._proxy)
        lines |= {name.lower(): value for name, value in headers.items()}
        return _lines(lines)

    async def exchange(
        self,
        path: str,
        body: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        sink: Sink | None = None,
        method: str = "POST",
        broken: Callable[[Response], None] | None = None,
    ) -> Response:
        """Sends one request. A successful answer goes to `sink`, piece by piece, where one is given.

        `broken` is told what had come of an answer that broke off, before the error is raised.
        """
        loop = asyncio.get_running_loop()
        idle = self._idle.get(loop)  # connections belong to the loop they were made in
        if idle is None:
            self._forget_ended_loops()
            idle = self._idle[loop] = []
        target = f"{self._url.path.rstrip('/')}{path if path.startswith('/') else '/' + path}"
        if self._url.query:  # some servers want their version there
            target += f"{'&' if '?' in target else '?'}{self._url.query}"
        if self._proxy is not None and not self._secure:
            target = f"http://{_where(self._url)}{target}"
        head = f"{method} {target} HTTP/1.1\r\n".encode() + self._head + _lines(headers or {})
        message = b"%scontent-length: %d\r\n\r\n%s" % (head, len(body), body)
        if self.times.total is None:
            return await self._exchanged(message, sink, idle, broken)
        try:
            async with asyncio.timeout(self.times.total) as limit:
                return await self._exchanged(message, sink, idle, broken)
        except TimeoutError as error:
            if not limit.expired():
                raise  # a sink's own
            raise self._failure(f"no complete answer within {self.times.total:g} s", code="total_timeout") from error

    async def _exchanged(
        self, message: bytes, sink: Sink | None, idle: list[_Connection], broken: Callable[[Response], None] | None
    ) -> Response:
        while idle:
            connection = idle.pop()
            if connection.usable:
                try:
                    return await self._on(connection, message, sink, idle, broken)
                except _Stale:
                    continue  # the server had closed it: nothing of an answer came, so it is asked anew
        return await self._on(await self._connected(), message, sink, idle, broken)

    async def _on(
        self,
        connection: _Connection,
        message: bytes,
        sink: Sink | None,
        idle: list[_Connection],
        broken: Callable[[Response], None] | None,
    ) -> Response:
        try:
            response = await connection.exchange(message, sink, self.times.read)
        except BaseException as error:
            connection.abort()
            if broken is not None and not isinstance(error, _Stale):
                broken(connection.arrived)
            raise
        if connection.usable and len(idle) < self._keep:
            idle.append(connection)
        else:
            connection.abort()
        return response

    # ── connecting ─────────────────────────────────────────────────────────

    async def _connected(self) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.times.connect):
                if self._proxy is not None:
                    return await self._through_proxy(loop, self._proxy)
                context = self._context() if self._secure else None
                _, connection = await loop.create_connection(
                    lambda: _Connection(self._failure), self._host, self._port, ssl=context
                )
                return connection
        except TimeoutError as error:
            message = f"no connection to {_where(self._url)}{self._by_way} within {self.times.connect:g} s"
            raise self._failure(message, code="connect_timeout") from error
        except OSError as error:
            message, code = _connect_message(self._url, error, self._by_way)
            raise self._failure(message, code, retryable=not _is_certificate(error)) from error

    @property
    def _by_way(self) -> str:
        return "" if self._proxy is None else f" by way of the proxy {_where(self._proxy)}"

    async def _through_proxy(self, loop: asyncio.AbstractEventLoop, proxy: SplitResult) -> _Connection:
        """A connection by way of a proxy: as it is for http, through a tunnel for https."""
        context = self._context() if proxy.scheme == "https" else None
        port = proxy.port or (443 if proxy.scheme == "https" else 80)
        transport, connection = await loop.create_connection(
            lambda: _Connection(self._failure), proxy.hostname or "", port, ssl=context
        )
        if self._secure:
            try:
                await self._tunnel(loop, proxy, transport, connection)
            except BaseException:
                connection.abort()
                raise
        return connection

    async def _tunnel(
        self,
        loop: asyncio.AbstractEventLoop,
        proxy: SplitResult,
        transport: asyncio.WriteTransport,
        connection: _Connection,
    ) -> None:
        host = f"[{self._host}]" if ":" in self._host else self._host
        where = f"{host}:{self._port}"
        lines = {"host": where} | _proxy_authorization(proxy)
        answer = await connection.exchange(
            f"CONNECT {where} HTTP/1.1\r\n".encode() + _lines(lines) + b"\r\n", None, self.times.connect, tunnel=True
        )
        if answer.status != 200:
            raise self._failure(f"the proxy {proxy.hostname} refused a tunnel", status=answer.status, code="proxy")
        secured = await loop.start_tls(transport, connection, self._context(), server_hostname=self._host)
        if secured is None:
            raise self._failure("the tunnel was closed while it was being secured", code="proxy")
        connection.secured(secured)

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            import ssl

            self._tls = ssl.create_default_context()
        return self._tls

    def _failure(
        self, message: str, code: str = "network", *, status: int | None = None, retryable: bool = True
    ) -> EngineError:
        return EngineError(message, status=status, code=code, retryable=retryable)

    def redact(self, text: str) -> str:
        """A text without the keys this transport sends: some servers repeat them in their answers."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    async def close(self) -> None:
        """Closes what is kept open."""
        for connection in self._idle.pop(asyncio.get_running_loop(), ()):
            connection.abort()
        self._forget_ended_loops()
        await asyncio.sleep(0)  # closing is done by the loop

    def _forget_ended_loops(self) -> None:
        """Lets go of connections whose loop has ended without closing them: nobody can use them any more."""
        for loop in [loop for loop in list(self._idle) if loop.is_closed()]:
            for connection in self._idle.pop(loop, ()):
                connection.drop()


class _Stale(Exception):
    """A kept connection turned out to be closed before anything of an answer came."""


class _Connection(asyncio.Protocol):
    """One connection; httptools reads what arrives and calls the `on_…` methods."""

    def __init__(self, failure: Callable[..., EngineError]) -> None:
        self._failure = failure
        self._transport: Any = None
        self._done: asyncio.Future[Response] | None = None
        self._open = False
        self._used = False
        self._fresh = True
        self._heard = 0.0
        self._timer: asyncio.TimerHandle | None = None

    # ── of the event loop ──────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._open = transport, True

    def secured(self, transport: asyncio.Transport) -> None:
        self._transport, self._fresh = transport, True

    def data_received(self, data: bytes) -> None:
        if self._done is None:
            self.abort()  # a server that speaks unasked is not to be trusted with the next question
            return
        self._heard = self._loop.time()
        self._fresh = False
        try:
            self._parser.feed_data(data)
            self._hand_on()
        except Exception as error:  # noqa: BLE001 - the parser's own errors, and what a sink raises
            if type(error).__module__.startswith("httptools"):
                said = error.__context__ or self._failure(f"the answer is no HTTP: {error}", code="protocol")
                self._fail(said)
            else:
                self._fail(error)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self._open = False
        if self._done is None or self._done.done():
            return
        if self._used and self._fresh:
            self._fail(_Stale())
        elif self._until_closed and error is None:
            self.on_message_complete()
        else:
            self._fail(self._failure("the connection was closed in the middle of an answer", code="disconnected"))

    # ── one exchange ───────────────────────────────────────────────────────

    @property
    def usable(self) -> bool:
        return self._open and not self._transport.is_closing()

    async def exchange(self, message: bytes, sink: Sink | None, silence: float, *, tunnel: bool = False) -> Response:
        import httptools

        self._loop = asyncio.get_running_loop()
        self._done = self._loop.create_future()
        self._sink = sink
        self._pieces: list[bytes] = []
        self.on_body = self._pieces.append  # before the parser is made: it looks its callbacks up then
        self._headers: dict[str, str] = {}
        self._status = 0
        self._tunnel = tunnel
        self._until_closed = False
        self._unpack: Any = None
        self._parser: Any = httptools.HttpResponseParser(self)
        self._heard, self._silence = self._loop.time(), silence
        self._timer = self._loop.call_later(silence, self._look)
        self._transport.write(message)
        try:
            return await self._done
        finally:
            self._timer.cancel()
            self._done, self._sink = None, None
            self._used = self._fresh = True

    @property
    def arrived(self) -> Response:
        """What came of the last answer that no sink has taken."""
        return Response(self._status, self._headers, b"".join(self._pieces))

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
        """Whether the other side has been silent for too long; looked at once per silence, not once per piece."""
        left = self._heard + self._silence - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        else:
            self._fail(self._failure(f"nothing came for {self._silence:g} s", code="read_timeout"))

    def _fail(self, error: BaseException) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(error)
        self.abort()

    # ── of the parser ──────────────────────────────────────────────────────

    def on_header(self, name: bytes, value: bytes) -> None:
        key, said = name.decode("latin-1").lower(), value.decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {said}" if key in self._headers else said

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()
        if 100 <= self._status < 200:
            return  # "go on": the answer itself is still to come
        framed = "content-length" in self._headers or "chunked" in self._headers.get("transfer-encoding", "").lower()
        self._until_closed = not framed
        coding = self._headers.get("content-encoding", "").lower()
        if coding in ("gzip", "x-gzip", "deflate"):  # nobody asked for it, and some gateways do it all the same
            import zlib

            self._unpack = zlib.decompressobj(47 if coding != "deflate" else 15)
        if not 200 <= self._status < 300:
            self._sink = None  # an error is read whole
        if self._tunnel and self._status == 200:
            self.on_message_complete()

    def _hand_on(self) -> None:
        """Gives the sink what arrived together in one go: a burst of events costs one call, not one for each."""
        if self._pieces and self._sink is not None:
            arrived = b"".join(self._pieces)
            self._pieces.clear()
            self._sink(arrived if self._unpack is None else self._unpack.decompress(arrived))

    def on_message_complete(self) -> None:
        if 100 <= self._status < 200:
            self._headers = {}
            return
        if not self._tunnel and not self._parser.should_keep_alive():
            self._open = False
        self._hand_on()
        if self._done is not None and not self._done.done():
            body = b"".join(self._pieces)
            body = body if self._unpack is None or not body else self._unpack.decompress(body)
            self._done.set_result(Response(self._status, self._headers, body))


def _lines(headers: Mapping[str, str]) -> bytes:
    problems = [name for name, value in headers.items() if any(mark in f"{name}{value}" for mark in "\r\n\0")]
    if problems:  # never the value: it may be a key
        raise ConfigError(f"the header {problems[0]!r} holds a line break; a key copied with one is the usual cause")
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("latin-1", "replace")


_SECRET_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie", "proxy-authorization")


def _secrets(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The keys among headers, longest first; one too short to be told from ordinary words is none."""
    said = [value.split(" ", 1)[-1].strip() for name, value in headers.items() if name.lower() in _SECRET_HEADERS]
    return tuple(sorted({value for value in said if len(value) >= 6}, key=len, reverse=True))


def _checked(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        shown = re.sub(r"//[^/]*@", "//***@", url)
        raise ConfigError(f"{shown!r} is no URL of a server; write http://host:port/path or https://host/path")
    return parts


def _checked_proxy(named: str) -> SplitResult:
    scheme, known, _ = named.partition("://")
    if known and scheme.lower().startswith("socks"):
        raise ConfigError(
            f"the proxy {_where(urlsplit(named))} speaks {scheme}, and SOCKS is not spoken here: "
            "name an HTTP proxy (HTTPS_PROXY=http://host:port), or list this server in NO_PROXY"
        )
    return _checked(named if known else f"http://{named}")


def _proxy_of(url: SplitResult) -> SplitResult | None:
    """The proxy the environment names for a server. A server on this machine is never asked through one."""
    from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

    host = url.hostname or ""
    if host == "localhost" or host.startswith("127.") or host == "::1":
        return None
    proxies = getproxies_environment()
    named = proxies.get(url.scheme) or proxies.get("all")
    if not named or proxy_bypass_environment(host, proxies):
        return None
    return _checked_proxy(named)


def _proxy_authorization(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    from base64 import b64encode
    from urllib.parse import unquote

    said = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"proxy-authorization": f"Basic {b64encode(said.encode()).decode()}"}


def _is_certificate(error: OSError) -> bool:
    return type(error).__name__ == "SSLCertVerificationError"


def _where(url: SplitResult) -> str:
    """Host and port, without a name and a password that may stand before them."""
    return url.netloc.rpartition("@")[2]


def _connect_message(url: SplitResult, error: OSError, by_way: str = "") -> tuple[str, str]:
    where = f"{_where(url)}{by_way}"
    if _is_certificate(error):
        return (
            f"the certificate of {where} is not trusted: {error.strerror or error}; is this the right address?",
            "tls",
        )
    if type(error).__module__ == "ssl":
        return f"no secure connection to {where}: {error.strerror or error}; is it http instead of https?", "tls"
    if type(error).__name__ == "gaierror":
        return f"the name {url.hostname}{by_way} is not known here; is the network up, and the address right?", "dns"
    return f"cannot connect to {where}: {error.strerror or error}; is the server running?", "connect"


def quoted(part: str) -> str:
    """A model's name, or the like, as a part of a path."""
    return quote(part, safe="-_.~:@/")
