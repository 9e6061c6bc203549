"""The server of the page.

Rules:
- It listens on loopback alone. An address with a token opens it once; from then on a cookie that only this server gets
  (`HttpOnly`, `SameSite=Strict`) is the key. Host and Origin must be its own.
- It only reads: it answers GET and HEAD, and no address changes anything.
- Every answer forbids scripts and styles but its own, frames, and requests to anybody else.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dragoman.errors import DragomanError, LimitReached, LogError
from dragoman.logs.export import plain, style
from dragoman.serve.malformed import quiet

from .compare_screen import compare_screen
from .frame import Asked, Parameters, Screen, address, document
from .growing import Growing
from .library import Library
from .list_screen import sessions_screen
from .search_screen import search_screen
from .session_screen import session_screen
from .sql_screen import sql_screen
from .usage_screen import usage_screen

if TYPE_CHECKING:
    from aiohttp import web

PAGE: Final = logging.getLogger("dragoman.page")
LOOPBACK: Final = "127.0.0.1"
_NAMES: Final = (LOOPBACK, "localhost")
_COOKIE: Final = "dragoman_page"
_ASSETS: Final = {"page.css": "text/css", "page.js": "text/javascript"}
_EVERY: Final = 0.7
"""Seconds between two looks at the logs."""
_BEAT: Final = 15.0
"""Seconds after which a silent stream says that it is still there."""
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_SCREENS: Final[dict[str, Callable[[Library, Parameters], Screen]]] = {
    "/": sessions_screen,
    "/search": search_screen,
    "/usage": usage_screen,
    "/compare": compare_screen,
    "/sql": sql_screen,
}


class Page:
    """One server over one library. `token` opens it, once."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.token: str | None = secrets.token_urlsafe(24)
        self._key = secrets.token_urlsafe(32)
        self.port = 0
        self._runner: web.AppRunner | None = None
        self._stopping = threading.Event()
        self._watching: threading.Thread | None = None
        self._listeners: set[asyncio.Queue[set[str]]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    # ── life ───────────────────────────────────────────────────────────────

    async def start(self, port: int = 0) -> None:
        """Listens on loopback; `port` 0 takes a free one."""
        from aiohttp import web

        app = web.Application(client_max_size=0)
        app.router.add_route("*", r"/{path:[\s\S]*}", self._handle)  # an id may hold the end of a line
        self._runner = web.AppRunner(
            app, access_log=None, logger=quiet(PAGE.name), handler_cancellation=True, shutdown_timeout=1.0
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, LOOPBACK, port).start()
        self.port = self._runner.addresses[0][1]
        self._loop = asyncio.get_running_loop()
        self._watching = threading.Thread(target=self._watch, name="dragoman-page", daemon=True)
        self._watching.start()

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{LOOPBACK}:{self.port}"

    def opening(self, path: str = "/") -> str:
        """The address that opens the page, once."""
        return f"{self.url}{path}{'&' if '?' in path else '?'}token={self.token}"

    async def close(self) -> None:
        """Stops listening."""
        self._stopping.set()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._watching is not None:
            await asyncio.to_thread(self._watching.join)
        await asyncio.to_thread(self.library.close)

    # ── what is new ────────────────────────────────────────────────────────

    def _watch(self) -> None:
        """Looks at the logs until the end, and tells who listens which sessions have grown."""
        growing: Growing | None = None
        try:
            while not self._stopping.wait(_EVERY if growing is not None else 0):
                try:
                    growing = growing or Growing(self.library)
                    grown = growing.look()
                except (DragomanError, OSError) as error:
                    PAGE.warning("cannot look at the logs: %s", error)
                    continue
                if grown and self._loop is not None and not self._loop.is_closed():
                    self._loop.call_soon_threadsafe(self._tell, grown)
        finally:
            if growing is not None:
                growing.close()

    def _tell(self, grown: set[str]) -> None:
        for queue in self._listeners:
            queue.put_nowait(grown)

    async def _live(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        response = web.StreamResponse(headers={**_HEADERS, "Content-Type": "text/event-stream"})
        await response.prepare(request)
        queue: asyncio.Queue[set[str]] = asyncio.Queue()
        self._listeners.add(queue)
        try:
            await response.write(b"retry: 2000\n\n")
            while True:
                try:
                    grown = await asyncio.wait_for(queue.get(), _BEAT)
                except TimeoutError:
                    await response.write(b": still here\n\n")
                    continue
                data = msgspec.json.encode(sorted(grown))
                await response.write(b"event: grown\ndata: " + data + b"\n\n")
        except ConnectionError:
            return response
        finally:
            self._listeners.discard(queue)

    # ── one request ────────────────────────────────────────────────────────

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        refused = self._refused(request)
        if refused is not None:
            return _answer(request, Screen("Refused", "", [f"<h1>{plain(refused)}</h1>"], {"error": refused}, 403))
        given = request.query.get("token")
        if given is not None:
            return self._opened(request, given)
        if not hmac.compare_digest(request.cookies.get(_COOKIE, "").encode(), self._key.encode()):
            words = "This page needs the address that dragoman view printed. It opens once: start the command again."
            return _answer(request, Screen("Not open", "", [f"<h1>{words}</h1>"], {"error": words}, 401), bare=True)
        path = request.path
        if path == "/live":
            return await self._live(request)
        if path.startswith("/assets/"):
            return _asset(path.removeprefix("/assets/"))
        parameters = {name: value for name, value in request.query.items() if name != "format"}
        return _answer(request, await asyncio.to_thread(self._screen, path, parameters))

    def _refused(self, request: web.Request) -> str | None:
        """Why a request is not answered whatever it asks for."""
        if request.method not in ("GET", "HEAD"):
            return "This page only reads: it answers GET and HEAD."
        own = {f"{name}:{self.port}" for name in _NAMES}
        if request.headers.get("Host", "") not in own:
            return "This page answers requests to its own address only."
        origin = request.headers.get("Origin")
        if origin is not None and origin not in {f"http://{one}" for one in own}:
            return "This page answers no requests of other web pages."
        if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return "This page answers no requests of other web pages."
        return None

    def _opened(self, request: web.Request, given: str) -> web.StreamResponse:
        """Takes the token for the cookie; it is worth nothing from then on."""
        from aiohttp import web

        if self.token is None or not hmac.compare_digest(given.encode(), self.token.encode()):
            words = "This address was used before, or is not of this page. Start dragoman view again."
            return _answer(request, Screen("Not open", "", [f"<h1>{words}</h1>"], {"error": words}, 401), bare=True)
        self.token = None
        rest = request.rel_url.with_query([(name, value) for name, value in request.query.items() if name != "token"])
        response = web.Response(status=303, headers={**_HEADERS, "Location": str(rest)})
        response.set_cookie(_COOKIE, self._key, httponly=True, samesite="Strict", path="/")
        return response

    def _screen(self, path: str, parameters: Parameters) -> Screen:
        try:
            if path.startswith("/session/"):
                return session_screen(self.library, path.removeprefix("/session/"), parameters)
            if path in _SCREENS:
                return _SCREENS[path](self.library, parameters)
            return _problem(f"There is nothing at {path}.", 404)
        except Asked as error:
            return _problem(str(error), error.status)
        except LogError as error:
            sought = path.removeprefix("/session/") if path.startswith("/session/") else ""
            return _problem(str(error), 404, sought)
        except (LimitReached, DragomanError) as error:
            return _problem(str(error), 400)


def _problem(message: str, status: int, sought: str = "") -> Screen:
    text = message[:1].upper() + message[1:]
    title = "Not found" if status == 404 else "This cannot be shown"
    words = f"<p>{plain(text)}{'' if text.endswith(('.', '?')) else '.'}</p>"
    near = f'<a href="{plain(address("/", {"q": sought}))}">Sessions that match</a> · ' if sought else ""
    body = [f'<h1>{title}</h1>{words}<p>{near}<a href="/">All sessions</a></p>']
    return Screen(title, "", body, {"error": message}, status)


def _answer(request: web.Request, screen: Screen, *, bare: bool = False) -> web.Response:
    from aiohttp import web

    wants = request.query.get("format") == "json" or request.headers.get("Accept", "") == "application/json"
    if wants:
        data = msgspec.json.encode(screen.data, enc_hook=_plain)
        return web.Response(body=data, status=screen.status, headers=_HEADERS, content_type="application/json")
    text = f"<!DOCTYPE html><html lang=en><title>dragoman</title>{''.join(screen.body)}" if bare else document(screen)
    body = text.encode("utf-8", "backslashreplace")
    return web.Response(body=body, status=screen.status, headers=_HEADERS, content_type="text/html", charset="utf-8")


def _plain(value: Any) -> Any:
    """What DuckDB gives beside numbers, texts and times, as JSON has it."""
    return str(value)


def _asset(name: str) -> web.Response:
    from aiohttp import web

    if name == "transcript.css":
        return web.Response(text=style(), headers=_HEADERS, content_type="text/css")
    if name not in _ASSETS:
        return web.Response(status=404, headers=_HEADERS)
    text = (Path(__file__).parent / "assets" / name).read_text("utf-8")
    return web.Response(text=text, headers=_HEADERS, content_type=_ASSETS[name])
