"""Pages shown in a real Chromium, served on loopback: what it shows, and what no page can make it reach."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web as server

from dragoman.errors import ToolError
from dragoman.model.operations import FetchPage, FindInPage, SearchWeb, TakeScreenshot
from dragoman.model.outcomes import Match, MatchesOutcome, Media, Page, PagesOutcome
from dragoman.tools.context import Context
from dragoman.tools.processes.supervisor import descendants, processes
from dragoman.tools.web.search_backends import BrowserSearch
from dragoman.tools.web.tools import take_screenshot
from dragoman.tools.web.web import Web
from dragoman.tools.workspace.disk import DiskWorkspace
from dragoman.tools.workspace.media import picture_size
from dragoman.tools.workspace.memory import MemoryWorkspace
from tests.tools.pages import Names, endlessly, failure_of, page_of, serving, speaking
from tests.tools.test_web import answering

SCRIPTED = """<!doctype html><title>Made here</title><style>.no { display: none }</style>
<body><main id=all>loading</main><p class=no>hidden by style</p><noscript>no scripts</noscript>
<script>
    alert('a page may say something and nobody is there')
    fetch('/data').then(answer => answer.text()).then(text => {
        all.innerHTML = `<h1>Data</h1><p>The <b>data</b> is ${text}. <a href="more">More</a></p>`
        document.title = 'Made by script'
    })
</script>"""


def data() -> server.Response:
    return answering("here", "text/plain")


# ── pages ────────────────────────────────────────────────────────────────────


async def test_a_page_is_read_after_its_scripts_have_run() -> None:
    async with serving({"/": SCRIPTED, "/data": data}) as site, Web(allow=[site.place], render=True) as web:
        text = f"# Data\n\nThe **data** is here. [More]({site.url('/more')})"
        page = Page(
            url=site.url(),
            title="Made by script",
            text=text,
            status=200,
            media_type="text/html",
            final_url=site.url(),
            total_chars=len(text),
        )
        assert await web.fetch(FetchPage(site.url())) == PagesOutcome((page,))
        assert await web.find(FindInPage(site.url(), "DATA is")) == MatchesOutcome(
            (Match(site.url(), 3, "The data is here. More", ("Data", ""), (), column=5),), total=1, files=1
        )


async def test_what_is_no_page_comes_as_it_is_or_fails_saying_what_it_is() -> None:
    routes = {
        "/json": lambda: answering('{"a": "ü"}', "application/json"),
        "/latin": lambda: answering("naïve".encode("latin-1"), "text/plain; charset=iso-8859-1"),
        "/picture": lambda: answering(b"\x89PNG\r\n\x1a\n", "image/png"),
        "/paper": lambda: answering(b"%PDF-1.7\n", "application/pdf"),
        "/file": lambda: answering(b"\0\1", "application/octet-stream"),
        "/attached": lambda: answering("x", "text/html", Content_Disposition="attachment; filename=x.html"),
        "/gone": lambda: answering("<h1>Gone</h1>", "text/html", status=410),
        "/busy": lambda: answering("later", "text/plain", status=503),
    }
    async with serving(routes) as site, Web(allow=[site.place], render=True) as web:
        assert (await page_of(web, site.url("/json"))).text == '{"a": "ü"}'
        assert (await page_of(web, site.url("/latin"))).text == "naïve"
        for path in ("/picture", "/paper", "/file", "/attached"):
            failure = await failure_of(page_of(web, site.url(path)))
            assert "no page of text" in failure.message or "file to download" in failure.message
        gone, busy = [await failure_of(page_of(web, site.url(path))) for path in ("/gone", "/busy")]
        assert (gone.details["status"], gone.details["body"]) == (410, "Gone")
        assert (busy.message, busy.details["body"]) == (
            f"{site.url('/busy')} answered 503 Service Unavailable",
            "later",
        )
        assert (await failure_of(page_of(web, "http://nowhere.invalid/"))).message.startswith("there is no host named")


async def test_nothing_of_one_page_is_there_for_the_next() -> None:
    seen: list[str | None] = []

    async def watched(request: server.Request) -> server.StreamResponse:
        if request.path == "/":
            seen.append(request.headers.get("Cookie"))
        html = "<body><script>document.body.append(localStorage.n || 'first'); localStorage.n = 'again'</script>"
        return answering(html, "text/html", Set_Cookie="id=1; Path=/")

    async with serving({"/": watched}) as site, Web(allow=[site.place], render=True) as web:
        assert [(await page_of(web, site.url())).text for _ in range(2)] == ["first", "first"]
        assert seen == [None, None]


async def test_a_page_that_never_stops_asking_is_read_as_it_is_by_then() -> None:
    html = "<body>busy<script>setInterval(() => fetch('/data'), 50)</script>"
    async with serving({"/": html, "/data": data}) as site, Web(allow=[site.place], render=True) as web:
        assert (await page_of(web, site.url())).text == "busy"


async def test_several_pages_are_shown_at_once_by_one_browser() -> None:
    routes = {f"/{number}": f"<body><script>document.body.append('page {number}')</script>" for number in range(6)}
    async with serving(routes) as site, Web(allow=[site.place], render=True) as web:
        pages = await asyncio.gather(*(page_of(web, site.url(path)) for path in routes))
        assert [page.text for page in pages] == [f"page {number}" for number in range(6)]


# ── pictures ─────────────────────────────────────────────────────────────────


async def test_a_picture_of_a_page_has_the_size_asked_for_and_is_saved_where_it_should_be(tmp_path: Path) -> None:
    html = "<body style='margin: 0; background: red'><div style='height: 3000px'>"
    async with serving({"/": html}) as site, Web(allow=[site.place]) as web:
        workspace = MemoryWorkspace()
        context = Context(workspace=workspace, provides={Web: web})
        outcome = await take_screenshot.call({"url": site.url(), "save_to": "shots/page.png"}, context)
        picture = base64.b64decode(outcome.image.data)
        assert outcome.image == Media(
            "image/png",
            data=outcome.image.data,
            path="shots/page.png",
            width=1280,
            height=800,
            size=len(picture),
        )
        assert (picture_size(picture), workspace.read("shots/page.png")) == ((1280, 800), picture)

        small = await web.browser.screenshot(TakeScreenshot(site.url(), width=200, height=100))
        whole = await web.browser.screenshot(TakeScreenshot(site.url(), full_page=True, width=300))
        assert (picture_size(small), picture_size(whole)) == ((200, 100), (300, 3000))

        on_disk = Context(workspace=DiskWorkspace(tmp_path), provides={Web: web})
        await take_screenshot.call({"url": site.url(), "save_to": "page.png"}, on_disk)
        assert picture_size((tmp_path / "page.png").read_bytes()) == (1280, 800)


async def test_a_picture_that_cannot_be_taken_or_kept_is_refused_before_anything_is_done() -> None:
    async with (
        serving({"/": "<body style='margin: 0'><div style='height: 100000px'>"}) as site,
        Web(allow=[site.place]) as web,
    ):
        context = Context(workspace=MemoryWorkspace(), provides={Web: web})
        for wanted, kind in (
            ({"save_to": "../out.png"}, "denied"),
            ({"save_to": "page.jpg"}, "invalid_arguments"),
            ({"width": 100_000}, "invalid_arguments"),
            ({"height": -1}, "invalid_arguments"),
            ({"width": 0}, "invalid_arguments"),
        ):
            assert (await failure_of(take_screenshot.call({"url": site.url(), **wanted}, context))).kind == kind
        assert (await failure_of(take_screenshot.call({"url": "http://10.0.0.1/"}, context))).kind == "denied"
        assert site.asked == []
        failure = await failure_of(take_screenshot.call({"url": site.url(), "full_page": True}, context))
        assert (failure.kind, failure.details["height"]) == ("failed", 100_000)


async def test_an_error_page_can_be_looked_at() -> None:
    async with serving({}) as site, Web(allow=[site.place]) as web:
        assert picture_size(await web.browser.screenshot(TakeScreenshot(site.url()))) == (1280, 800)


# ── what a page may not reach ────────────────────────────────────────────────

# Every way out of a page we know of, towards HOST; it is done when each of them has failed or had its time.
REACHING = """<!doctype html><head>
<link rel=stylesheet href="http://HOST/style"><link rel=prefetch href="http://HOST/prefetch">
<link rel=preload as=script href="http://HOST/preload"><link rel=preconnect href="http://HOST/">
<link rel=dns-prefetch href="http://HOST/"><link rel=modulepreload href="http://HOST/module">
<link rel=icon href="http://HOST/icon"><link rel=manifest href="http://HOST/manifest">
<style>@import "http://HOST/import"; @font-face { font-family: f; src: url(http://HOST/font) } p { font-family: f }
body { background: url(http://HOST/background) }</style>
<script type=speculationrules>{"prerender": [{"source": "list", "urls": ["http://HOST/prerender"]}]}</script>
</head><body><p>text</p><img src="http://HOST/image"><img srcset="http://HOST/srcset 1x">
<script src="http://HOST/script"></script>
<iframe src="http://HOST/frame"></iframe><iframe src="/away"></iframe><iframe src="/refresh"></iframe>
<iframe srcdoc="<img src='http://HOST/srcdoc'>"></iframe>
<object data="http://HOST/object"></object><embed src="http://HOST/embed">
<video src="http://HOST/video" autoplay muted></video><audio src="http://HOST/audio" autoplay></audio>
<svg><image href="http://HOST/svg"/></svg><img src="/away">
<form id=form method=post action="http://HOST/form" target=inner></form>
<iframe name=inner></iframe><a id=anchor href="#x" ping="http://HOST/ping">x</a>
<script>
const tries = [], wait = made => new Promise(done => { made.onload = made.onerror = made.onopen = made.onclose = done })
tries.push(fetch('http://HOST/fetch', {mode: 'no-cors'}))
tries.push(fetch('http://HOST/post', {method: 'POST', mode: 'no-cors', body: 'x'}))
tries.push(fetch('/away', {mode: 'no-cors'}))
tries.push(wait(new WebSocket('ws://HOST/socket')), wait(new EventSource('http://HOST/events')))
const request = new XMLHttpRequest(); request.open('GET', 'http://HOST/xhr'); tries.push(wait(request)); request.send()
navigator.sendBeacon('http://HOST/beacon', 'x'); form.submit(); anchor.click()
window.open('http://HOST/popup'); new Worker(URL.createObjectURL(new Blob(["importScripts('http://HOST/worker')"])))
const connection = new RTCPeerConnection({iceServers: [{urls: ['stun:UDP', 'stun:HOST']},
    {urls: ['turn:HOST?transport=tcp', 'turn:UDP?transport=udp'], username: 'x', credential: 'x'}]})
connection.createDataChannel('x'); connection.createOffer().then(offer => connection.setLocalDescription(offer))
tries.push(new Promise(done => { connection.onicecandidate = event => event.candidate || done() }))
try { new WebTransport('https://HOST/transport').closed.catch(() => 0) } catch {}
if (navigator.serviceWorker) tries.push(navigator.serviceWorker.register('/worker.js'))
const enough = new Promise(done => setTimeout(done, 4000))
Promise.race([Promise.allSettled(tries), enough]).then(() => { document.body.append(' done') })
</script>"""


def reaching(host: str, udp: str) -> dict[str, Any]:
    return {
        "/": REACHING.replace("HOST", host).replace("UDP", udp),
        "/away": lambda: answering("", status=302, Location=f"http://{host}/away"),
        "/refresh": f'<meta http-equiv=refresh content="0; url=http://{host}/refresh">',
        "/worker.js": lambda: answering("oninstall = () => fetch('http://HOST/installed')", "text/javascript"),
    }


async def everything(request: server.Request) -> server.StreamResponse:
    return answering("secret", "text/plain", Access_Control_Allow_Origin="*")


PATHS = """style prefetch preload module import font background image srcset script frame away refresh srcdoc
object embed video audio svg form ping fetch post socket events xhr beacon popup worker"""


@pytest.mark.parametrize("name", ["127.0.0.2", "inside.test", "[::ffff:127.0.0.2]"])
async def test_nothing_a_page_does_reaches_a_private_address(name: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.bind(("127.0.0.2", 0))
        ear.setblocking(False)
        udp = f"127.0.0.2:{ear.getsockname()[1]}"
        async with serving({f"/{path}": everything for path in PATHS.split()}, host="127.0.0.2") as inside:
            async with (
                serving(reaching(f"{name}:{inside.port}", udp)) as site,
                Web(allow=[site.place], render=True, look_up=Names({"inside.test": "127.0.0.2"})) as web,
            ):
                page = await page_of(web, site.url())
            assert (page.text or "").endswith("done")
            assert inside.asked == []
        with pytest.raises(BlockingIOError):
            ear.recv(1)


async def test_the_page_that_tries_everything_would_reach_what_is_allowed() -> None:
    async with serving({f"/{path}": everything for path in PATHS.split()}, host="127.0.0.2") as inside:
        async with (
            serving(reaching(inside.place, "127.0.0.2:9")) as site,
            Web(allow=[site.place, inside.place], render=True) as web,
        ):
            await page_of(web, site.url())
        reached = {path.strip("/") for path in inside.asked}
        # Some are up to the browser's mood; these are not.
        sure = {"style", "import", "image", "script", "frame", "away", "refresh", "object", "fetch", "post", "xhr"}
        assert sure | {"socket", "events", "beacon", "worker", "form", "video"} <= reached


@pytest.mark.parametrize("status", [302, 307])
async def test_a_redirect_to_a_private_address_is_refused(status: int) -> None:
    async with serving({"/": "secret"}, host="127.0.0.2") as inside:
        routes = {
            "/": lambda: answering("", status=status, Location=inside.url()),
            "/tls": lambda: answering("", status=status, Location=f"https://{inside.place}/"),
            "/file": lambda: answering("", status=status, Location="file:///etc/passwd"),
        }
        async with serving(routes) as site, Web(allow=[site.place], render=True) as web:
            failures = [await failure_of(page_of(web, site.url(path))) for path in routes]
            assert [failure.kind for failure in failures] == ["denied", "denied", "failed"]
        assert inside.asked == []


async def test_a_script_cannot_lead_the_page_itself_to_a_private_address() -> None:
    async with serving({"/": "secret"}, host="127.0.0.2") as inside:
        html = f"<body>before<script>location = '{inside.url()}'</script>"
        async with serving({"/": html}) as site, Web(allow=[site.place], render=True) as web:
            assert (await failure_of(page_of(web, site.url()))).kind == "denied"
        assert inside.asked == []


async def test_a_page_a_script_leads_on_to_is_the_page() -> None:
    routes = {"/": "<body>before<script>location = '/next'</script>", "/next": "<title>Next</title>after"}
    async with serving(routes) as site, Web(allow=[site.place], render=True) as web:
        page = await page_of(web, site.url())
        assert (page.title, page.text, page.final_url) == ("Next", "after", site.url("/next"))


async def test_a_name_that_changes_leads_the_browser_nowhere_else() -> None:
    names = Names({"site.test": ["127.0.0.2", "127.0.0.1"]})
    html = "<body>public<script>fetch('/b').then(a => a.text()).then(t => document.body.append(t))</script>"
    async with (
        serving({"/": html, "/b": "public too"}, host="127.0.0.2") as public,
        serving({"/": "secret", "/b": "secret"}, port=public.port) as private,
        Web(allow=[public.place], render=True, look_up=names) as web,
    ):
        assert (await page_of(web, public.url(host="site.test"))).text == "public"
        assert (public.asked, private.asked) == (["/"], [])


# ── limits ───────────────────────────────────────────────────────────────────


async def test_a_page_that_never_ends_is_given_up_and_the_browser_goes_on() -> None:
    routes = {"/loop": "<body><script>while (true);</script>", "/": "<p>fine"}
    async with serving(routes) as site, Web(allow=[site.place], render=True) as web:
        assert (await page_of(web, site.url())).text == "fine"
        failure = await failure_of(page_of(web, site.url("/loop"), timeout_ms=2_000))
        assert (failure.kind, failure.details) == ("timed_out", {"seconds": 2.0})
        assert (await page_of(web, site.url())).text == "fine"


async def test_a_page_that_loads_without_end_stops_at_the_limit() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/javascript\r\n\r\n"
    async with (
        speaking(endlessly(head, b"x;\n" * 10_000)) as endless,
        serving({"/": f"<script src={endless.url()}></script>"}) as site,
        Web(allow=[site.place, endless.place], render=True, max_bytes=50_000) as web,
    ):
        assert (await failure_of(page_of(web, site.url()))).details["limit"] == 500_000


async def test_a_page_that_makes_itself_huge_is_too_large() -> None:
    html = "<body><script>document.body.append('x'.repeat(2_000_000))</script>"
    async with serving({"/": html}) as site, Web(allow=[site.place], render=True, max_bytes=1_000_000) as web:
        assert (await failure_of(page_of(web, site.url()))).details["limit"] == 1_000_000


async def test_a_page_that_takes_all_memory_fails_alone() -> None:
    html = "<body><script>const all = []; while (true) all.push(new Array(1e6).fill({}))</script>"
    async with serving({"/": html, "/fine": "<p>fine"}) as site, Web(allow=[site.place], render=True) as web:
        await failure_of(page_of(web, site.url(), timeout_ms=3_000))
        assert (await page_of(web, site.url("/fine"))).text == "fine"


# ── the process ──────────────────────────────────────────────────────────────


@pytest.fixture(params=["short", "long"])
def temporary_folder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, with nobody else's in it. Some systems have one that is deep down."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) if request.param == "short" else Path(folder) / ("x" * 30)
        path.mkdir(exist_ok=True)
        monkeypatch.setenv("TMPDIR", str(path))
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield path


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def named_chromium(running: set[int]) -> list[int]:
    """The processes that are browsers, the first of them first."""
    found = []
    for process in sorted(running):
        with suppress(OSError):
            if b"--user-data-dir" in Path(f"/proc/{process}/cmdline").read_bytes():
                found.append(process)
    return found


def environment(process: int) -> bytes:
    with suppress(FileNotFoundError, ProcessLookupError):  # some of them come and go
        return Path(f"/proc/{process}/environ").read_bytes()
    return b""


async def test_nothing_of_the_browser_outlives_its_end(temporary_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "not for pages")
    running = descendants(os.getpid())
    async with serving({"/": "<p>x"}) as site:
        async with Web(allow=[site.place], render=True) as web:
            await page_of(web, site.url())
            started = descendants(os.getpid()) - running
            assert [process for process in started if b"SECRET_KEY" in environment(process)] == []
            assert names_in(temporary_folder) != []
            await web.close()
            assert started.isdisjoint(processes())
            assert names_in(temporary_folder) == []
            # Closed is not broken: it starts again when it is asked again.
            await page_of(web, site.url())
        assert (descendants(os.getpid()), names_in(temporary_folder)) == (running, [])


async def test_a_browser_that_was_killed_is_started_again(temporary_folder: Path) -> None:
    async with serving({"/": "<p>x"}) as site, Web(allow=[site.place], render=True) as web:
        await page_of(web, site.url())
        browser = named_chromium(descendants(os.getpid()))[0]
        os.kill(browser, signal.SIGKILL)
        with suppress(ToolError):  # it may be asked before it is known to be gone
            await page_of(web, site.url())
        assert (await page_of(web, site.url())).text == "x"
        assert browser not in processes()
    assert names_in(temporary_folder) == []


async def test_a_call_that_is_cancelled_while_the_browser_starts_leaves_nothing(temporary_folder: Path) -> None:
    running = descendants(os.getpid())
    async with Web(render=True, look_up=Names()) as web:
        showing = asyncio.create_task(page_of(web, "http://name.test/"))
        await asyncio.sleep(0)
        showing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await showing
    assert (names_in(temporary_folder), descendants(os.getpid())) == ([], running)


# ── searching ────────────────────────────────────────────────────────────────

RESULTS = """<body><a href="/settings">Settings</a><script>
    const say = (href, title, text) => document.body.insertAdjacentHTML('beforeend',
        `<div class=hit><h3><a href="${href}">${title}</a></h3><p class=text>${text}</p></div>`)
    const words = new URLSearchParams(location.search).get('q')
    say('https://tea.example/a', 'Tea  A', 'found for ' + words)
    say('/l/?to=https%3A%2F%2Fother.example%2Fb', 'Other', '')
    say('/more', 'More results', 'not a hit')
</script>"""


async def test_a_search_page_is_read_in_the_browser() -> None:
    async with serving({"/find": RESULTS}) as site, Web() as web:
        template = site.url("/find?q={query}")
        plain = Web(search=BrowserSearch(template, web))
        tea, other = Page("https://tea.example/a", "Tea A"), Page("https://other.example/b", "Other")
        assert await plain.search(SearchWeb("a b")) == PagesOutcome((tea, other), query="a b")
        exact = Web(search=BrowserSearch(template, web, result=".hit", link="h3 a", snippet=".text"))
        found = await exact.search(SearchWeb("a b", blocked_domains=("other.example",)))
        told = Page("https://tea.example/a", "Tea A", snippet="found for a b -site:other.example")
        assert found == PagesOutcome((told,), query="a b")
        assert site.asked[0] == "/find?q=a+b"
