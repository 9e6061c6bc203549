"""HTTP to a provider: the only place that opens a socket to one.

One connection carries one exchange at a time and is kept for the next. What arrives is handed to the caller as it
arrives, from inside the event loop's own callback: between the socket and the codec there is no queue and no task.

Rules: every wait has an end and every size a limit (`connection.py`); cancelling closes the socket at once; an error
never carries a key or a body that was sent.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, quote, unquote, urlsplit

from dragoman.errors import ConfigError, EngineError

from .connection import (
    Bounds as Bounds,
    Connection,
    Response as Response,
    Sink as Sink,
    Sizes as Sizes,
    Stale,
    Times as Times,
    bounds_of as bounds_of,
)

if TYPE_CHECKING:
    import ssl


class Transport:
    """Exchanges with one server, named by its base URL. Several event loops may use it, each in its own thread.

    `times` and `sizes` limit what one response may take; `section` is the section of the settings that they are from,
    which an error names.
    """

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        times: Times = Times(),  # noqa: B008 - frozen
        sizes: Sizes = Sizes(),  # noqa: B008 - frozen
        section: str | None = None,
        proxy: str | None = None,
        tls: ssl.SSLContext | None = None,
        keep: int = 64,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.bounds = Bounds(times, sizes, section)
        self._url = _checked(self.base_url)
        self._host = self._url.hostname or ""
        self._secure = self._url.scheme == "https"
        self._port = self._url.port or (443 if self._secure else 80)
        self._proxy = _checked_proxy(proxy) if proxy else _proxy_of(self._url)
        self._tls = tls
        self._keep = keep
        self._idle: dict[asyncio.AbstractEventLoop, list[Connection]] = {}
        self._headers = self._own_headers(dict(headers or {}))
        self._head = _lines(self._headers)
        self._secrets = _secrets(headers or {})

    def _own_headers(self, headers: dict[str, str]) -> dict[str, str]:
        default = 443 if self._secure else 80
        host = f"[{self._host}]" if ":" in self._host else self._host
        lines = {"host": host if self._port == default else f"{host}:{self._port}"}
        lines |= {"accept-encoding": "identity", "user-agent": "dragoman", "content-type": "application/json"}
        if self._proxy is not None and not self._secure:
            lines |= _proxy_authorization(self._proxy)
        return lines | {name.lower(): value for name, value in headers.items()}

    async def exchange(
        self,
        path: str,
        body: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        sink: Sink | None = None,
        method: str = "POST",
        begun: Callable[[Response], None] | None = None,
        broken: Callable[[Response], None] | None = None,
    ) -> Response:
        """Sends one request. A successful answer goes to `sink`, piece by piece, where one is given.

        `begun` gets the status and headers of a response before its body, `broken` what had come of one that broke off.
        """
        loop = asyncio.get_running_loop()
        idle = self._idle.get(loop)  # connections belong to the loop they were made in
        if idle is None:
            self._forget_ended_loops()
            idle = self._idle[loop] = []
        target = f"{self._url.path.rstrip('/')}{path if path.startswith('/') else '/' + path}"
        if self._url.query:  # such as `?api-version=…` of Azure (openai 3.51.0)
            target += f"{'&' if '?' in target else '?'}{self._url.query}"
        if self._proxy is not None and not self._secure:
            target = f"http://{_where(self._url)}{target}"
        head = f"{method} {target} HTTP/1.1\r\n".encode() + self._head_with(headers or {})
        message = b"%scontent-length: %d\r\n\r\n%s" % (head, len(body), body)
        total = self.bounds.times.total
        if total is None:
            return await self._exchanged(message, sink, idle, begun, broken)
        try:
            async with asyncio.timeout(total) as limit:
                return await self._exchanged(message, sink, idle, begun, broken)
        except TimeoutError as error:
            if not limit.expired():
                raise  # a sink's own
            message_ = f"no complete answer within {total:g} s"
            raise self.bounds.reached("total", message_, code="total_timeout") from error

    def _head_with(self, headers: Mapping[str, str]) -> bytes:
        """The headers of every request and those of this one, which come before them."""
        if "content-type" in headers:
            return _lines({**self._headers, **headers})
        return self._head + _lines(headers)

    async def _exchanged(
        self,
        message: bytes,
        sink: Sink | None,
        idle: list[Connection],
        begun: Callable[[Response], None] | None,
        broken: Callable[[Response], None] | None,
    ) -> Response:
        while idle:
            connection = idle.pop()
            if connection.usable:
                try:
                    return await self._on(connection, message, sink, idle, begun, broken)
                except Stale:
                    continue  # the server had closed it: nothing of an answer came, so it is asked anew
        return await self._on(await self._connected(), message, sink, idle, begun, broken)

    async def _on(
        self,
        connection: Connection,
        message: bytes,
        sink: Sink | None,
        idle: list[Connection],
        begun: Callable[[Response], None] | None,
        broken: Callable[[Response], None] | None,
    ) -> Response:
        try:
            response = await connection.exchange(message, sink, begun)
        except BaseException as error:
            connection.abort()
            if broken is not None and not isinstance(error, Stale):
                broken(connection.arrived)
            raise
        kept = self._idle.get(asyncio.get_running_loop()) is idle  # not closed while the answer came
        if kept and connection.usable and len(idle) < self._keep:
            idle.append(connection)
        else:
            connection.abort()
        return response

    # ── connecting ─────────────────────────────────────────────────────────

    async def _connected(self) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.bounds.times.connect):
                if self._proxy is not None:
                    return await self._through_proxy(loop, self._proxy)
                context = self._context() if self._secure else None
                _, connection = await loop.create_connection(
                    lambda: Connection(self.bounds), self._host, self._port, ssl=context
                )
                return connection
        except TimeoutError as error:
            message = f"no connection to {_where(self._url)}{self._by_way} within {self.bounds.times.connect:g} s"
            raise self.bounds.reached("connect", message, code="connect_timeout", retryable=True) from error
        except OSError as error:
            message, code = _connect_message(self._url, error, self._by_way)
            raise self._failure(message, code, retryable=not _is_certificate(error)) from error

    @property
    def _by_way(self) -> str:
        return "" if self._proxy is None else f" by way of the proxy {_where(self._proxy)}"

    async def _through_proxy(self, loop: asyncio.AbstractEventLoop, proxy: SplitResult) -> Connection:
        """A connection by way of a proxy: as it is for http, through a tunnel for https."""
        context = self._context() if proxy.scheme == "https" else None
        port = proxy.port or (443 if proxy.scheme == "https" else 80)
        transport, connection = await loop.create_connection(
            lambda: Connection(self.bounds), proxy.hostname or "", port, ssl=context
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
        connection: Connection,
    ) -> None:
        host = f"[{self._host}]" if ":" in self._host else self._host
        where = f"{host}:{self._port}"
        lines = {"host": where} | _proxy_authorization(proxy)
        answer = await connection.exchange(
            f"CONNECT {where} HTTP/1.1\r\n".encode() + _lines(lines) + b"\r\n", None, tunnel=True
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
        """Lets go of connections whose loop has ended without closing them: they cannot be used any more."""
        for loop in [loop for loop in list(self._idle) if loop.is_closed()]:
            for connection in self._idle.pop(loop, ()):
                connection.drop()


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
