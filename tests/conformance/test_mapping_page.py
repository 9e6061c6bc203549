"""The page of operations and vocabularies, looked at in a real Chromium: on a desk by day, on a phone by night."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from dragoman.cli import main

DATA = """name = "acme"
[[tools]]
name = "<img src=x onerror=alert(1)>"
description = "Delete a file."
operation = "delete_file"
[tools.parameters]
path = { description = "The file." }
"""


@pytest.mark.parametrize(
    "width, scheme, ground", [(1400, "light", "rgb(255, 255, 255)"), (390, "dark", "rgb(20, 24, 31)")]
)
async def test_the_page_is_readable_and_loads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int, scheme: str, ground: str
) -> None:
    monkeypatch.setenv("DRAGOMAN_CONFIG_DIR", str(tmp_path / "none"))
    page_file, dialect = tmp_path / "page.html", tmp_path / "acme.toml"
    dialect.write_text(DATA)
    words = ["--dialect", str(dialect), "--dialect", "claude_code", "--dialect", "codex", "--dialect", "plain"]
    assert main(["tools", "--fidelity", "--html", str(page_file), *words]) == 0
    asked: list[str] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        context = await browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)  # type: ignore[arg-type]
        page = await context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: asked.append(dialog.message))
        await page.goto(page_file.as_uri())
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == ground
        assert await page.evaluate("document.images.length + document.scripts.length") == 0
        await page.click('a[href="#search_text"]')
        assert await page.locator("#search_text").is_visible()
        assert "it is always a regular expression" in await page.locator("#search_text").inner_text()
        await browser.close()
    assert asked == [page_file.as_uri()]
