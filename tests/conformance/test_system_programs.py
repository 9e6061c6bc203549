"""The programs of the system that parts of dragoman rely on are here and do their work."""

from __future__ import annotations

import subprocess


def test_bubblewrap_shuts_a_command_in() -> None:
    shut_in = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-net", "--die-with-parent")
    done = subprocess.run([*shut_in, "touch", "/escaped"], capture_output=True, text=True)
    assert (done.returncode, "Read-only file system" in done.stderr) == (1, True), done


async def test_chromium_renders_a_page_for_playwright() -> None:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        # As root, and in most containers, Chromium has no sandbox of its own to use.
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = await browser.new_page()
        await page.goto("data:text/html,<p id=p></p><script>p.textContent = 6 * 7</script>")
        assert await page.inner_text("#p") == "42"
        await browser.close()
