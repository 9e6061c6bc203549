"""Who may talk to our MCP server over HTTP, decided before anything of a request is read.

Rules: a browser lets any page send requests to this machine, so a request must not count only because it comes from
here. The `Host` must be the address that is served (a name that an attacker lets point here is none), an `Origin` must
be that address or one that was allowed by name, whatever port it has on this machine, and the token must be right.
What is there twice is refused: two readers could read it in two ways.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from hmac import compare_digest
from ipaddress import ip_address
from typing import Any, Final

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
BODY_SECONDS: Final = 30.0
"""How long a request has to arrive whole."""
MOST_SESSIONS: Final = 100
MOST_CONNECTIONS: Final = 200
_ONCE: Final = (b"host", b"origin", b"authorization", b"content-length", b"mcp-session-id")
_READABLE: Final = b"authorization, content-type, last-event-id, mcp-protocol-version, mcp-session-id"

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class Guard:
    """An application that passes on only the requests that may be answered.

    `hosts` are further names (`name` or `name:port`) by which it may be called, `origins` pages that may call it.
    """

    def __init__(
        self,
        app: Any,
        *,
        host: str,
        port: int,
        token: str | None,
        hosts: Collection[str] = (),
        origins: Collection[str] = (),
    ) -> None:
        self._app = app
        self._token = None if token is None else f"Bearer {token}".encode()
        self._any_address = host in ("0.0.0.0", "::")
        names = [_bracketed(name) for name in (LOOPBACK if host in LOOPBACK else (host,))]
        self._hosts = {f"{name}:{port}" for name in names} | {name.lower() for name in hosts}
        if port == 80:
            self._hosts.update(names)
        self._port = port
        self._origins = {origin.rstrip("/").lower() for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = {name: [value for key, value in scope["headers"] if key == name] for name, _ in scope["headers"]}
        origin = (headers.get(b"origin") or [b""])[0]
        refused = self._refusal(headers)
        if refused is not None:
            await _answer(send, *refused)
            return
        crossing = self._crossing(origin) if origin else []
        if scope["method"] == "OPTIONS" and crossing:
            await _answer(send, 204, b"", [*crossing, (b"access-control-allow-methods", b"GET, POST, DELETE")])
            return
        if self._token is not None and not compare_digest((headers.get(b"authorization") or [b""])[0], self._token):
            needed = [*crossing, (b"www-authenticate", b"Bearer")]
            await _answer(send, 401, b"a token is needed: Authorization: Bearer TOKEN", needed)
            return
        await self._app(scope, _in_time(receive), _with(send, crossing) if crossing else send)

    def _refusal(self, headers: Mapping[bytes, list[bytes]]) -> tuple[int, bytes] | None:
        for name in _ONCE:
            if len(headers.get(name, ())) > 1:
                return 400, b"the header " + name + b" is there more than once"
        host = _text(headers.get(b"host"))
        if not self._is_host(host):
            return 421, b"this server is not called so; --allow-host allows a further name"
        if b"origin" in headers:
            if self._is_origin(_text(headers[b"origin"]), host):
                return None
            return 403, b"pages of this origin may not use this server; --allow-origin allows one"
        # A request that a page makes without an Origin (an image, a form) still says where it comes from.
        if _text(headers.get(b"sec-fetch-site")) in ("cross-site", "same-site"):
            return 403, b"pages of other origins may not use this server"
        return None

    def _is_host(self, host: str) -> bool:
        name, _, port = host.rpartition(":")
        if host in self._hosts or (name in self._hosts and port.isdigit()):
            return bool(host)
        # Whoever is served at every address of the machine is called by any of them, but by no name: names can be made.
        return self._any_address and port == str(self._port) and _is_address(name.strip("[]"))

    def _is_origin(self, origin: str, host: str) -> bool:
        return origin in self._origins or origin in (f"http://{host}", f"https://{host}")

    def _crossing(self, origin: bytes) -> list[tuple[bytes, bytes]]:
        """What tells a browser that a page of an allowed origin may read the answer."""
        if origin.decode("latin-1").lower() not in self._origins:
            return []
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-allow-headers", _READABLE),
            (b"access-control-expose-headers", b"mcp-session-id"),
            (b"vary", b"Origin"),
        ]


def _text(values: list[bytes] | None) -> str:
    return values[0].decode("latin-1").strip().lower() if values else ""


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host.lower()


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


async def _answer(send: Send, status: int, body: bytes, headers: Collection[tuple[bytes, bytes]] = ()) -> None:
    told = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": [*told, *headers]})
    await send({"type": "http.response.body", "body": body})


def _with(send: Send, headers: Collection[tuple[bytes, bytes]]) -> Send:
    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *headers]}
        await send(message)

    return sending


def _in_time(receive: Receive) -> Receive:
    """A request that is taken for gone when it does not arrive whole in time."""
    end = asyncio.get_running_loop().time() + BODY_SECONDS
    whole = False

    async def receiving() -> Any:
        nonlocal whole
        if whole:
            return await receive()
        try:
            async with asyncio.timeout_at(end):
                message = await receive()
        except TimeoutError:
            return {"type": "http.disconnect"}
        whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    return receiving
