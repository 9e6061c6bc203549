"""Pages as a browser shows them: their text after scripts have run, and pictures of them.

Rules: every request of a page goes through a `BrowserProxy`, which lets it reach what the run may reach; each page is
shown in a fresh context, without cookies, downloads or service workers; nothing of the browser outlives `close`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from email.message import Message
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dragoman.environment import child_environment
from dragoman.errors import ToolError
from dragoman.installation import install_command
from dragoman.model.operations import TakeScreenshot
from dragoman.registry import need
from dragoman.tools.processes.programs import find_program
from dragoman.tools.processes.supervisor import PROCESS_FILES, processes

from .address_policy import Place, Reach, parse_url
from .browser_proxy import BrowserProxy
from .fetched import HTML, Fetched, Limits, is_text, not_text, timed_out, too_large
from .page_text import decode, read_html, shortened

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium, BrowserContext, Page as Tab, Playwright, Response

WIDTH: Final = 1280
HEIGHT: Final = 800
LARGEST_WINDOW: Final = 4096
TALLEST_PAGE: Final = 16_000
"""Above this, in pixels, Chromium leaves parts of a picture blank."""

LARGEST_PICTURE: Final = 10_000_000
_AT_ONCE: Final = 4
_SETTLE_MS: Final = 2_000
_NO_PICTURE_NOW: Final = "Unable to capture screenshot"
_PICTURE_TRIES: Final = 20
_PICTURE_PAUSE_SECONDS: Final = 0.1
_CLOSE_SECONDS: Final = 5.0
_CLOSE_CHECKS: Final = 500
# A page is more than its text: scripts, fonts and pictures are counted too.
_BYTES_FOR_EACH_OF_TEXT: Final = 10
_LONGEST_EXCERPT: Final = 500
_MARKER: Final = "DRAGOMAN_BROWSER"
_PROFILE: Final = b"--user-data-dir="
_LONGEST_FOLDER: Final = 103 - len("/org.chromium.Chromium.XXXXXX/SingletonSocket")

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_ELSEWHERE: Final = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
_ARGUMENTS: Final = (
    # Names are looked up by the proxy alone; what would be looked up past it is not found.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--dns-prefetch-disable",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--js-flags=--max-old-space-size=512",
)
_ENVIRONMENT: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "FONTCONFIG_PATH", "FONTCONFIG_FILE")

# What style sheets hide is marked, so that it is left out of the text as what the page itself marks is.
_MARK_HIDDEN: Final = """() => {
    for (const element of document.querySelectorAll('body *'))
        if (getComputedStyle(element).display === 'none') element.setAttribute('hidden', '')
}"""


class Shown(NamedTuple):
    """A page in a tab, and the answer it came with."""

    tab: Tab
    response: Response
    media_type: str | None


class Browser:
    """The Chromium of one run: started for the first page, used for all, ended by `close`.

    It belongs to the event loop it was first used in. As root it runs without its own sandbox, which Chromium
    cannot set up then; run as another user to have it.
    """

    def __init__(self, reach: Reach, limits: Limits, chromium: str | None) -> None:
        self._reach, self._limits, self._chromium = reach, limits, chromium
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._process: _Process | None = None

    async def open(self, url: str, *, timeout_ms: int | None = None, also: Sequence[Place] = ()) -> Fetched:
        """A page's document after its scripts have run; other text as it was served."""
        async with self._show(url, timeout_ms=timeout_ms, also=also, width=WIDTH, height=HEIGHT) as shown:
            if shown.response.status >= 400:
                raise await _failed(url, shown)
            if shown.media_type is not None and not is_text(shown.media_type):
                raise not_text(url, shown.media_type, _length(shown.response))
            is_page = shown.media_type in (None, *HTML)
            body = await _document(shown.tab) if is_page else await shown.response.body()
            if len(body) > self._limits.max_bytes:
                raise too_large(url, self._limits.max_bytes, len(body))
            return Fetched(
                url=url,
                final_url=shown.tab.url,
                status=shown.response.status,
                body=body,
                media_type=shown.media_type,
                charset="utf-8",  # of text too: the browser has read it, and gives what it read
                rendered=is_page,
            )

    async def screenshot(self, operation: TakeScreenshot) -> bytes:
        """A picture of a page as PNG, whatever its status."""
        width = WIDTH if operation.width is None else operation.width
        height = HEIGHT if operation.height is None else operation.height
        if not (1 <= width <= LARGEST_WINDOW and 1 <= height <= LARGEST_WINDOW):
            raise ToolError(f"width and height must be between 1 and {LARGEST_WINDOW:,}", kind="invalid_arguments")
        async with self._show(operation.url, timeout_ms=None, also=(), width=width, height=height) as shown:
            if operation.full_page:
                await _check_size(operation.url, shown.tab)
            picture = await picture_of(shown.tab, full_page=operation.full_page)
        if len(picture) > LARGEST_PICTURE:
            raise ToolError(
                f"the picture has {len(picture):,} bytes, more than {LARGEST_PICTURE:,}; "
                "take a smaller part of the page, with width and height",
                details={"url": operation.url, "size": len(picture)},
            )
        return picture

    # ── showing ──────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def _show(
        self, url: str, *, timeout_ms: int | None, also: Sequence[Place], width: int, height: int
    ) -> AsyncIterator[Shown]:
        seconds = self._limits.seconds(timeout_ms)
        proxy = self._proxy_for(url, also)
        try:
            async with asyncio.timeout(seconds), self._room:
                chromium = await self._started()
                try:
                    async with proxy, self._context(chromium, proxy, width, height) as context:
                        yield await _load(url, context, proxy)
                except _playwright_error() as error:
                    raise _not_shown(url, error) from error
        except TimeoutError as error:
            raise timed_out(url, seconds) from error

    def _proxy_for(self, url: str, also: Sequence[Place] = ()) -> BrowserProxy:
        """What every request of a page goes through; raises `ToolError` where the page itself is out of reach."""
        reach = self._reach.also(*also)
        reach.check_url(parse_url(url))
        most = self._limits.max_bytes * _BYTES_FOR_EACH_OF_TEXT
        return BrowserProxy(reach, max_bytes=most, connect_seconds=self._limits.connect_timeout_ms / 1000)

    @asynccontextmanager
    async def page(self, url: str, *, width: int = WIDTH, height: int = HEIGHT) -> AsyncIterator[Tab]:
        """A page that stays open for as long as the context is, to be acted on."""
        seconds = self._limits.seconds(None)
        proxy = self._proxy_for(url)
        chromium = await self._started()
        try:
            async with proxy, self._context(chromium, proxy, width, height) as context:
                try:
                    async with asyncio.timeout(seconds):
                        shown = await _load(url, context, proxy)
                except TimeoutError as error:
                    raise timed_out(url, seconds) from error
                context.set_default_timeout(seconds * 1000)
                yield shown.tab
        except _playwright_error() as error:
            raise _not_shown(url, error) from error

    @asynccontextmanager
    async def _context(
        self, chromium: Chromium, proxy: BrowserProxy, width: int, height: int
    ) -> AsyncIterator[BrowserContext]:
        context = await chromium.new_context(
            proxy={"server": proxy.address, "bypass": "<-loopback>"},
            viewport={"width": width, "height": height},
            service_workers="block",
            accept_downloads=False,
        )
        # The call's timeout is the only one; Playwright's would raise an error of another type.
        context.set_default_timeout(0)
        try:
            yield context
        finally:
            try:
                await asyncio.wait_for(context.close(), _CLOSE_SECONDS)
            except (TimeoutError, _playwright_error()):
                # It hangs or has crashed: end it, the next page starts another.
                await self.close()

    async def _started(self) -> Chromium:
        if self._process is None or self._process.ended:
            await self.close()
            self._process = _Process(self._chromium)
        return await self._process.chromium()

    async def close(self) -> None:
        """End the browser and everything it left."""
        process, self._process = self._process, None
        if process is not None:
            await process.close()


class _Process:
    """One Chromium, and what runs it: both end together, and the folder they kept things in is removed."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._playwright: Playwright | None = None
        self._groups: set[tuple[int, str]] = set()
        self._folders: list[Path] = []
        self._starting = asyncio.create_task(self._start())

    @property
    def ended(self) -> bool:
        if not self._starting.done():
            return False
        failed = self._starting.cancelled() or self._starting.exception() is not None
        return failed or not self._starting.result().is_connected()

    async def chromium(self) -> Chromium:
        # A call that is cancelled must not leave behind a browser nobody knows of.
        return await asyncio.shield(self._starting)

    async def _start(self) -> Chromium:
        playwright = need("browser", "showing pages in a browser", "playwright.async_api")
        path = self._path or _find_chromium()
        root = hasattr(os, "geteuid") and os.geteuid() == 0
        home = Path(tempfile.mkdtemp(prefix="dragoman-browser-"))
        self._folders.append(home)
        self._playwright = await _started(playwright)
        try:
            chromium: Chromium = await self._playwright.chromium.launch(
                executable_path=path,
                chromium_sandbox=not root,
                args=_ARGUMENTS,
                # Contexts have proxies of their own; the browser itself has nothing to ask anybody.
                proxy={"server": "http://127.0.0.1:9", "bypass": "<-loopback>"},
                env={
                    **child_environment(*_ENVIRONMENT),
                    **{name: str(home) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")},
                    # It opens a socket in there, and the path of a socket must be short.
                    "TMPDIR": str(home if len(str(home)) <= _LONGEST_FOLDER else home.parent),
                    _MARKER: home.name,
                },
                artifacts_dir=home / "artifacts",
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
            )
        except playwright.Error as error:
            advice = "" if root else " If it has no sandbox to use here, allow user namespaces on this system."
            raise ToolError(
                f"{path} could not be started: {_telling_line(error)}{advice}", details={"chromium": path}
            ) from error
        self._note_traces(home.name)
        return chromium

    async def close(self) -> None:
        # How it failed to start was told to whoever waited for it.
        (chromium,) = await asyncio.gather(self._starting, return_exceptions=True)
        if not isinstance(chromium, BaseException):
            await chromium.close()
        # Before Playwright ends: it waits for the last of them to remove what it made.
        await _ended(self._groups)
        if self._playwright is not None:
            await self._playwright.stop()
        for folder in self._folders:
            with suppress(FileNotFoundError):  # Playwright removes its own, if it still can
                await asyncio.to_thread(shutil.rmtree, folder)

    def _note_traces(self, marker: str) -> None:
        """What must be gone in the end, also when the browser is killed: its process group, and its profile.

        Only where the system shows processes as files; elsewhere Playwright's own care must do.
        """
        for process in _marked(marker):
            with suppress(OSError):
                self._groups.add(_group(process))
                for argument in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0"):
                    if argument.startswith(_PROFILE):
                        profile = Path(os.fsdecode(argument.removeprefix(_PROFILE)))
                        self._folders.append(profile)
                        # Where its socket is, when that is a folder of its own beside the others.
                        socket = Path(os.readlink(profile / "SingletonSocket"))
                        if socket.parent.parent == profile.parent:
                            self._folders.append(socket.parent)


def _marked(marker: str) -> set[int]:
    """Every living process that was started with this marker in its environment."""
    wanted = f"{_MARKER}={marker}".encode()
    found: set[int] = set()
    for process in processes():
        with suppress(OSError):
            if wanted in Path(f"{PROCESS_FILES}/{process}/environ").read_bytes().split(b"\0"):
                found.add(process)
    return found


def _group(process: int) -> tuple[int, str]:
    """A process's group and program: the number alone may be another's by now."""
    return os.getpgid(process), os.readlink(f"/proc/{process}/exe")


async def _ended(groups: set[tuple[int, str]]) -> None:
    """Chromium is closed when its first process has ended: wait for the others, which are no more of use."""
    for _ in range(_CLOSE_CHECKS):
        left = False
        for process in processes() if groups else ():
            with suppress(OSError):
                if _group(process) in groups:
                    left = True
                    os.kill(process, signal.SIGKILL)
        if not left:
            return
        await asyncio.sleep(_CLOSE_SECONDS / _CLOSE_CHECKS)


_starting_ours: ContextVar[bool] = ContextVar("_starting_ours", default=False)


async def _started(playwright: Any) -> Playwright:
    """Playwright, whose own process gets no more of our environment than the browser does.

    It has no option for that, so where it asks for the environment of that process it is given ours. A program that
    uses Playwright itself is not affected.
    """
    transport: Any = import_module("playwright._impl.transport")
    asked = getattr(transport, "get_driver_env", None)
    if asked is None:
        raise ToolError(
            "this version of Playwright cannot be kept from passing all our environment on, with the keys in it; "
            f"install another: {install_command('playwright==1.65.*')}"
        )
    if not hasattr(asked, "ours"):

        def environment() -> dict[str, str]:
            whole: dict[str, str] = asked()
            wanted = {
                *child_environment(*_ENVIRONMENT, "HOME", "TMPDIR"),
                *(one for one in whole if one.startswith("PW_")),
            }
            return {name: value for name, value in whole.items() if name in wanted} if _starting_ours.get() else whole

        environment.ours = True  # type: ignore[attr-defined]
        transport.get_driver_env = environment
    token = _starting_ours.set(True)
    try:
        started: Playwright = await playwright.async_playwright().start()
        return started
    finally:
        _starting_ours.reset(token)


def _find_chromium() -> str:
    found = next(filter(None, map(find_program, _NAMES)), None)
    found = found or next(filter(os.path.exists, _ELSEWHERE), None)
    if found is None:
        raise ToolError(
            "no Chromium was found on this system. Install it (on Debian and Ubuntu: apt-get install chromium), "
            "or say where it is: Web(chromium=…).",
            details={"looked_for": [*_NAMES, *_ELSEWHERE]},
        )
    return found


def _playwright_error() -> type[Exception]:
    from playwright.async_api import Error

    return Error


async def _load(url: str, context: BrowserContext, proxy: BrowserProxy) -> Shown:
    """Go to a page and wait until it has settled, or for a moment if it never does."""
    from playwright.async_api import TimeoutError as StillBusy

    tab = await context.new_page()
    shown: list[Response] = []

    def note(response: Response) -> None:
        # A script may lead on to another page: what is read in the end came with the last of these.
        if response.request.is_navigation_request() and response.frame == tab.main_frame:
            shown[:] = [response] if not 300 <= response.status < 400 else shown

    tab.on("response", note)
    try:
        await tab.goto(url, wait_until="load")
    except _playwright_error():
        # Nothing but the page itself was asked for yet, so what the proxy last turned away is the reason.
        if proxy.last_failure is not None:
            raise proxy.last_failure from None
        raise
    # Some pages never stop asking: what is there by then is the page.
    with suppress(StillBusy):
        await tab.wait_for_load_state("networkidle", timeout=_SETTLE_MS)
    if not shown:
        raise ToolError(f"{shortened(url, 300)} is no page a browser loads", details={"url": url})
    (response,) = shown
    failure = proxy.failure(parse_url(response.url), response.headers)
    if failure is not None:
        raise failure
    if proxy.overrun:
        raise too_large(url, proxy.max_bytes, None)
    fields = Message()
    fields["Content-Type"] = response.headers.get("content-type", "")
    said = "content-type" in response.headers
    return Shown(tab, response, fields.get_content_type() if said else None)


async def picture_of(tab: Tab, *, full_page: bool = False) -> bytes:
    """What a tab shows, as PNG.

    Chromium cannot take a picture in the moment when one page takes the place of another (seen in 156 on a busy
    machine, after a click on a link), so it is asked again.
    """
    for _ in range(_PICTURE_TRIES - 1):
        try:
            return await tab.screenshot(full_page=full_page, type="png", animations="disabled")
        except _playwright_error() as error:
            if _NO_PICTURE_NOW not in str(error):
                raise
        await asyncio.sleep(_PICTURE_PAUSE_SECONDS)
        await tab.wait_for_load_state("load")
    return await tab.screenshot(full_page=full_page, type="png", animations="disabled")


async def _document(tab: Tab) -> bytes:
    await tab.evaluate(_MARK_HIDDEN)
    return (await tab.content()).encode(errors="replace")


async def _check_size(url: str, tab: Tab) -> None:
    width, height = await tab.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    if width > LARGEST_WINDOW or height > TALLEST_PAGE:
        raise ToolError(
            f"the whole page is {width:,} × {height:,} pixels, more than {LARGEST_WINDOW:,} × {TALLEST_PAGE:,}; "
            "take it without full_page",
            details={"url": url, "width": width, "height": height},
        )


async def _failed(url: str, shown: Shown) -> ToolError:
    """The failure an error status is, with the beginning of what the page says about it."""
    status, text = shown.response.status, shown.response.status_text
    details: dict[str, Any] = {"url": url, "final_url": shown.tab.url, "status": status}
    if shown.media_type in HTML:
        said = read_html(decode(await _document(shown.tab), "utf-8"), url, "text", rendered=True).text
        details["body"] = shortened(said.strip(), _LONGEST_EXCERPT)
    elif is_text(shown.media_type or ""):
        said = decode(await shown.response.body(), "utf-8")
        details["body"] = shortened(said.strip(), _LONGEST_EXCERPT)
    return ToolError(f"{shortened(url, 300)} answered {status} {text}".rstrip(), details=details)


def _length(response: Response) -> int | None:
    length = response.headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else None


def _not_shown(url: str, error: Exception) -> ToolError:
    said = _first_line(error)
    if "Download is starting" in said or "ERR_ABORTED" in said:
        said = "it is a file to download, not a page"
    return ToolError(f"{shortened(url, 300)} could not be shown: {said}", details={"url": url})


def _first_line(error: Exception) -> str:
    return shortened(str(error).strip().split("\n", 1)[0], 300)


def _telling_line(error: Exception) -> str:
    """Why it ended, out of all that it wrote before."""
    fatal = [line for line in str(error).splitlines() if "FATAL" in line or "error while loading" in line]
    return shortened(fatal[0].strip(), 300) if fatal else _first_line(error)
