"""The local page in a real Chromium, over real sessions: screens, keys, live sessions, hostile content."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Page as Tab, async_playwright

from dragoman.logs import Query
from dragoman.serve.page import Library, Page
from tests.conformance.conftest import SHARED
from tests.conformance.packages import npm_package
from tests.logs.samples import CLAUDE, CODEX, SAMPLES
from tests.serve.test_page import hostile

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
SCREENS = ("/", "/search?q=error", "/usage", "/usage?by=tool", "/sql?sql=SELECT+name+FROM+calls+LIMIT+5")
TABS = ("said", "changes", "timeline", "raw", "words")


class Opened:
    """A page that a browser has open, and all that the browser asked for and complained of."""

    def __init__(self, page: Page, context: BrowserContext, tab: Tab) -> None:
        self.page, self.context, self.tab = page, context, tab
        self.asked: list[str] = []
        self.wrong: list[str] = []
        context.on("request", lambda request: self.asked.append(request.url))
        tab.on("dialog", lambda dialog: self.wrong.append(f"dialog {dialog.message}"))
        tab.on("pageerror", lambda error: self.wrong.append(f"error {error}"))
        tab.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)

    async def go(self, path: str) -> None:
        await self.tab.goto(self.page.url + path)

    async def sessions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        page = 1
        while True:
            answer = await self.context.request.get(f"{self.page.url}/?format=json&page={page}")
            data = await answer.json()
            found += data["sessions"]
            if page >= data["pages"]:
                return found
            page += 1

    def check(self) -> None:
        """Nothing went wrong, and no request left the page's own address."""
        assert self.wrong == []
        assert [url for url in self.asked if not url.startswith((f"{self.page.url}/", "data:"))] == []


@asynccontextmanager
async def opened(*paths: Path, **options: Any) -> AsyncIterator[Opened]:
    query = Query(paths=paths)
    page = Page(Library(query))
    await page.start()
    try:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            context = await browser.new_context(**{"viewport": {"width": 1360, "height": 900}, **options})
            context.set_default_timeout(120_000)  # a busy machine is no mistake of the page
            tab = await context.new_page()
            one = Opened(page, context, tab)
            await tab.goto(page.opening())
            yield one
            await browser.close()
    finally:
        await page.close()
        query.close()


REAL = [
    SHARED / "traces" / "claude-code",
    SHARED / "traces" / "codex",
    SHARED / "traces" / "gemini-cli",
    SHARED / "traces" / "opencode",
    SHARED / "traces-wild" / "codex",
    SHARED / "traces-wild" / "claude-code",
]


async def paths_of(one: Opened) -> list[str]:
    """Every screen, with sessions that have something to show on it."""
    rows = await one.sessions()
    some = [row for row in rows if row["calls"] <= 60]  # axe takes long on long pages, and finds no more there
    largest = max(some, key=lambda row: row["calls"])["session"]
    agents = max(some, key=lambda row: row["agents"])["session"]
    unread = next(row["session"] for row in rows if row["unknown"] + row["unreadable"])
    paths = [*SCREENS, *(f"/session/{largest}?tab={tab}" for tab in TABS), f"/session/{agents}", f"/session/{unread}"]
    return [*paths, f"/session/{agents}?tab=timeline", f"/compare?a={largest}&b={agents}", f"/compare?a={largest}"]


@pytest.mark.parametrize("width", [1360, 390])
async def test_every_screen_of_real_sessions_fits_and_has_no_serious_problem_of_access(width: int) -> None:
    axe = (npm_package("axe-core", "4.10.3") / "axe.min.js").read_text()
    async with opened(*REAL, viewport={"width": width, "height": 844}) as one:
        for path in await paths_of(one):
            await one.go(path)
            assert await one.tab.evaluate("document.documentElement.scrollWidth") <= width, path
            await one.tab.evaluate(axe)  # out of the way of the page's own policy, as a developer's tools are
            for scheme in ("light", "dark"):
                await one.tab.emulate_media(color_scheme=scheme)
                found = await one.tab.evaluate("axe.run().then(found => found.violations)")
                serious = [
                    (problem["id"], problem["nodes"][0]["html"][:200])
                    for problem in found
                    if problem["impact"] in ("serious", "critical")
                ]
                assert serious == [], (path, scheme)
        one.check()


async def test_on_paper_a_screen_is_what_it_shows_and_nothing_to_press() -> None:
    pressed = "header.bar, .actions, .tabs, .side, .pages a, button, .fields"
    async with opened(*REAL, viewport={"width": 700, "height": 990}) as one:  # about the width of A4
        await one.tab.emulate_media(media="print")
        for path in await paths_of(one):
            await one.go(path)
            shown = f"[...document.querySelectorAll('{pressed}')].filter(one => one.offsetParent).length"
            assert await one.tab.evaluate(shown) == 0, path
            assert await one.tab.evaluate("document.documentElement.scrollWidth") <= 700, path
            assert await one.tab.evaluate("document.querySelector('main').innerText.length") > 20, path
        for path in ("/sql?sql=SELECT+*+FROM+calls+LIMIT+5", "/usage?by=project"):  # nothing is cut off, no amount torn
            await one.go(path)
            assert await one.tab.evaluate("document.documentElement.scrollWidth") <= 700, path
            cells = "[...document.querySelectorAll('td')].filter(one => one.scrollWidth > one.clientWidth + 1).length"
            assert await one.tab.evaluate(cells) == 0, path
        assert (await one.tab.evaluate("document.body.innerText")).count("$") > 3
        await one.go("/?client=codex")
        assert "client: Codex" in await one.tab.inner_text("main")
        # Paper is white, also of who works on a dark screen.
        await one.tab.emulate_media(media="print", color_scheme="dark")
        ink = "getComputedStyle(document.querySelector('h1')).color"
        assert await one.tab.evaluate(ink) == "rgb(29, 33, 37)"
        await one.tab.emulate_media(media="screen", color_scheme="dark")
        assert await one.tab.evaluate(ink) == "rgb(229, 231, 233)"
        await one.tab.emulate_media(media="print", color_scheme="light")
        await one.go("/usage")
        bars = one.tab.locator("rect.bar")
        assert await bars.count() > 3
        assert (await bars.last.bounding_box() or {"width": 0})["width"] > 0
        one.check()


async def test_every_screen_is_there_as_json_for_the_same_cookie_alone() -> None:
    async with opened(*REAL) as one:
        for path in await paths_of(one):
            address = f"{one.page.url}{path}{'&' if '?' in path else '?'}format=json"
            answer = await one.context.request.get(address)
            assert (answer.status, answer.headers["content-type"]) == (200, "application/json"), path
            assert isinstance(await answer.json(), dict), path
        cookies = await one.context.cookies()
        await one.context.clear_cookies()
        assert (await one.context.request.get(address)).status == 401
        await one.context.add_cookies(cookies)  # type: ignore[arg-type]
        one.check()


async def test_every_real_session_opens_in_every_view() -> None:
    async with opened(*REAL) as one:
        rows = await one.sessions()
        assert len({row["client"] for row in rows}) >= 4
        for row in sorted(rows, key=lambda row: -row["events"])[:12]:
            for tab in TABS:
                await one.go(f"/session/{row['session']}?tab={tab}")
                assert await one.tab.locator("article.session > h1").count() == 1
        one.check()


async def test_keys_move_through_a_session_and_between_screens(tmp_path: Path) -> None:
    (tmp_path / "s-1.jsonl").write_bytes(CLAUDE)
    async with opened(tmp_path) as one:
        tab = one.tab
        await tab.keyboard.press("j")
        assert await tab.locator("li.at").count() == 1
        await tab.keyboard.press("Enter")
        await tab.wait_for_url("**/session/s-1")
        entries = await tab.locator("#said > article, #said > details").count()
        seen: list[str | None] = []
        for _ in range(entries):
            await tab.keyboard.press("j")
            seen.append(await tab.locator(".at").get_attribute("id"))
        assert len(set(seen)) == entries
        await tab.keyboard.press("k")
        assert await tab.locator(".at").get_attribute("id") == seen[-2]
        await tab.keyboard.press("J")
        await tab.keyboard.press("K")
        assert "turn" in (await tab.locator(".at").get_attribute("class") or "")
        await tab.keyboard.press("f")
        assert await tab.locator("#follow").get_attribute("aria-pressed") == "true"
        await tab.keyboard.press("?")
        assert await tab.locator("#keys").is_visible()
        await tab.keyboard.press("Escape")
        await tab.keyboard.press("/")
        assert await tab.evaluate("document.activeElement.name") == "q"
        await tab.keyboard.type("fix\n")
        await tab.wait_for_url("**/search?q=fix")
        await tab.locator("h1").click()
        await tab.keyboard.press("g")
        await tab.wait_for_url(f"{one.page.url}/")
        one.check()


async def test_commands_are_copied_and_tools_hidden_at_a_press(tmp_path: Path) -> None:
    (tmp_path / "s-1.jsonl").write_bytes(CLAUDE)
    async with opened(tmp_path) as one:
        await one.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await one.go("/session/s-1")
        for words, command in (("continue", "dragoman run --from s-1 "), ("port", "dragoman port s-1 --to codex")):
            await one.tab.get_by_role("button", name=words).click()
            await one.tab.get_by_text("Copied").first.wait_for()
            assert await one.tab.evaluate("navigator.clipboard.readText()") == command
        assert await one.tab.locator("details.call").first.is_visible()
        await one.tab.locator("#prose").click()
        await one.tab.wait_for_url("**/session/s-1?prose=1")
        assert not await one.tab.locator("details.call").first.is_visible()
        assert await one.tab.locator("article.model").last.is_visible()
        assert await one.tab.locator("#prose").get_attribute("aria-pressed") == "true"
        one.check()


async def test_where_one_stopped_reading_is_marked_at_the_next_visit(tmp_path: Path) -> None:
    log = tmp_path / "s-1.jsonl"
    log.write_bytes(CLAUDE)
    async with opened(tmp_path) as one:
        await one.go("/session/s-1")
        last = await one.tab.locator("#said > [id]").last.get_attribute("id")
        assert await one.tab.locator(".seen-until").count() == 0
        await one.go("/")
        head = {"sessionId": "s-1", "type": "user", "timestamp": "2027-01-01T00:00:00Z", "cwd": "/p", "uuid": "new"}
        with log.open("a") as file:
            file.write(json.dumps({**head, "message": {"role": "user", "content": "one more thing"}}) + "\n")
        while not await one.tab.get_by_text("one more thing").count():
            await one.go("/session/s-1")
        assert await one.tab.locator(".seen-until").count() == 1
        before = "document.querySelector('.seen-until').previousElementSibling.id"
        assert await one.tab.evaluate(before) == last
        one.check()


async def test_the_list_narrows_as_one_types_and_the_address_says_so(tmp_path: Path) -> None:
    (tmp_path / "s-1.jsonl").write_bytes(CLAUDE)
    (tmp_path / "rollout-c-1.jsonl").write_bytes(CODEX)
    async with opened(tmp_path) as one:
        assert await one.tab.locator("#list > li").count() == 2
        await one.tab.locator("#filter").fill("s-1")
        await one.tab.wait_for_url("**/?q=s-1")
        assert await one.tab.locator("#list > li").count() == 1
        await one.tab.reload()
        assert await one.tab.locator("#list > li").count() == 1
        one.check()


async def test_what_is_around_the_list_follows_what_one_types(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"s-{number}.jsonl").write_bytes(CLAUDE.replace(b"s-1", f"s-{number}".encode()))
    (tmp_path / "rollout-c-1.jsonl").write_bytes(CODEX)
    async with opened(tmp_path) as one:
        await one.go("/")
        assert await one.tab.locator(".pages").inner_text() == "Page 1 of 2\nOlder"
        await one.tab.locator("#filter").fill("no session of this name")
        await one.tab.get_by_text("No session fits these filters").wait_for()
        assert await one.tab.locator(".pages").count() == 0
        await one.tab.locator("#filter").fill("s-")
        await one.tab.get_by_text("Page 1 of 2").wait_for()
        assert await one.tab.locator(".pages a").get_attribute("href") == "/?q=s-&page=2"
        assert await one.tab.locator(".chosen").inner_text() == "text: s- ×"
        await one.go("/search")
        await one.tab.locator("#filter").fill("the")
        await one.tab.get_by_text(" found").first.wait_for()
        one.check()


async def test_a_session_of_several_parts_grows_and_is_followed(tmp_path: Path) -> None:
    log = tmp_path / "s-1.jsonl"
    head = {"sessionId": "s-1", "type": "user", "timestamp": "2027-01-01T00:00:00Z", "cwd": "/p"}

    def say(number: int) -> str:
        said = {"role": "user", "content": f"thing {number} of many"}
        return json.dumps({**head, "uuid": f"u-{number}", "message": said}) + "\n"

    log.write_text("".join(say(number) for number in range(449)))
    async with opened(tmp_path) as one:
        await one.go("/session/s-1?from=300")
        assert await one.tab.locator(".pages").first.inner_text() == "Earlier\n301–449 of 449"
        while not one.page._listeners:
            await one.tab.wait_for_timeout(20)
        for number in range(449, 452):
            with log.open("a") as file:
                file.write(say(number))
            if number == 450:  # the first of a new part
                await one.tab.keyboard.press("f")
            shown = one.tab.locator("#said").get_by_text(f"thing {number} of many")
            if number < 450:
                await shown.wait_for(timeout=15_000)
        await shown.wait_for(timeout=15_000)
        assert await one.tab.locator("#said > .pages").count() == 2
        assert await one.tab.locator("#said > :last-child").get_attribute("class") == "pages"
        await one.tab.wait_for_function("scrollY > 1000")
        one.check()


async def test_a_growing_session_grows_on_the_page(tmp_path: Path) -> None:
    log = tmp_path / "s-1.jsonl"
    log.write_bytes(CLAUDE)
    async with opened(tmp_path) as one:
        await one.go("/session/s-1")
        before = await one.tab.locator("#said > *").count()
        head = {"sessionId": "s-1", "type": "user", "timestamp": "2027-01-01T00:00:00Z", "cwd": "/p"}
        # Until the page listens, what is new would be told to nobody.
        while not one.page._listeners:
            await one.tab.wait_for_timeout(20)
        for number in range(3):
            said = {"role": "user", "content": f"one more thing, **{number}**"}
            with log.open("a") as file:
                file.write(json.dumps({**head, "uuid": f"new-{number}", "message": said}) + "\n")
            await one.tab.get_by_text(f"one more thing, {number}").first.wait_for(timeout=15_000)
        assert await one.tab.locator("#said > *").count() > before
        await one.tab.reload()
        assert await one.tab.locator("#said strong").count() == 3
        one.check()


async def test_scripts_in_every_field_of_a_log_do_nothing(tmp_path: Path) -> None:
    lines = [json.dumps(hostile(json.loads(line))) for line in CLAUDE.splitlines()]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    async with opened(tmp_path) as one:
        (row,) = await one.sessions()
        paths = ["/", "/search?q=alert", "/usage?by=project", "/sql?sql=SELECT+*+FROM+sessions"]
        for path in [*paths, *(f"/session/{row['session']}?tab={tab}" for tab in TABS)]:
            await one.go(path)
            assert await one.tab.evaluate("document.scripts.length") == 1
            assert await one.tab.evaluate("document.querySelectorAll('img, iframe, object, [onerror]').length") == 0
        one.check()


async def test_the_page_works_without_scripts(tmp_path: Path) -> None:
    (tmp_path / "s-1.jsonl").write_bytes(CLAUDE)
    async with opened(tmp_path, java_script_enabled=False) as one:
        await one.tab.locator("a.title").first.click()
        await one.tab.wait_for_url("**/session/s-1")
        for word in ("Changes", "Timeline", "Raw", "Other words", "Said"):
            await one.tab.locator(".tabs").get_by_text(word, exact=True).click()
            assert await one.tab.locator(".tabs [aria-current]").inner_text() == word
        await one.tab.locator(".bar input").fill("fix")
        await one.tab.keyboard.press("Enter")
        await one.tab.wait_for_url("**/search?q=fix")
        assert await one.tab.locator(".hits > li").count() >= 1
        one.check()


HEAD = {"sessionId": "0b6f9d1e", "version": "2.1.300", "cwd": "/home/ada/inventory"}
FREE = "A free item is **skipped** because `0` is falsy:\n\n- `total` tests `if price`\n- it should test `is not None`"
SHOWN: Any = (
    ("user", "The total is wrong when an item is free. Fix it, and add a test."),
    (
        "assistant",
        [
            {"type": "text", "text": FREE},
            {
                "type": "tool_use",
                "id": "c1",
                "name": "Edit",
                "input": {
                    "file_path": "/home/ada/inventory/total.py",
                    "old_string": "    if item.price:\n",
                    "new_string": "    if item.price is not None:\n",
                },
            },
        ],
    ),
    ("user", [{"type": "tool_result", "tool_use_id": "c1", "content": "The file has been updated."}]),
    (
        "assistant",
        [
            {"type": "text", "text": "Now the tests."},
            {"type": "tool_use", "id": "c2", "name": "Bash", "input": {"command": "python -m pytest -q"}},
        ],
    ),
    ("user", [{"type": "tool_result", "tool_use_id": "c2", "content": "12 passed in 0.31s"}]),
    ("assistant", [{"type": "text", "text": "Free items count now; **12 tests pass**."}]),
)


def shown_log() -> str:
    """A short session in Claude Code's format, for pictures."""
    lines = []
    for number, (role, content) in enumerate(SHOWN):
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            usage = {"input_tokens": 1200, "cache_read_input_tokens": 9000, "output_tokens": 240}
            message |= {"id": f"m{number}", "model": "claude-sonnet-4-5", "usage": usage}
        time = f"2026-11-16T09:30:{number * 7:02}Z"
        lines.append(json.dumps({**HEAD, "type": role, "uuid": f"r{number}", "timestamp": time, "message": message}))
    return "\n".join(lines) + "\n"


async def test_the_pictures_of_the_documentation_are_of_this_page(tmp_path: Path) -> None:
    """A picture that is missing is written: to make one anew, delete it and run this."""
    for format in ("claude_code", "codex", "gemini_cli", "qwen_code", "opencode"):
        for name, data in SAMPLES[format]:
            path = tmp_path / "logs" / format / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    (tmp_path / "logs" / "claude_code" / "0b6f9d1e.jsonl").write_text(shown_log())
    made = tmp_path / "made"
    made.mkdir()
    async with opened(tmp_path / "logs", viewport={"width": 1200, "height": 720}) as one:
        await one.tab.screenshot(path=made / "view-sessions.png")
        await one.go("/session/0b6f9d1e")
        await one.tab.screenshot(path=made / "view-session.png")
        one.check()
    PICTURES.mkdir(exist_ok=True)
    for picture in made.iterdir():
        kept = PICTURES / picture.name
        if not kept.exists():
            shutil.copy(picture, kept)
        assert picture.stat().st_size > 10_000
