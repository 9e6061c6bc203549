"""Telling somebody of a run: by a real program and by real requests."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from aiohttp import web

from dragoman.fleet import Notifier

FACTS = {"text": "it waits", "run": "5f0c"}


@asynccontextmanager
async def receiver(status: int = 204, location: str | None = None) -> AsyncIterator[tuple[str, list[tuple[str, str]]]]:
    """An address on this machine, and what was sent there: a header and the body."""
    heard: list[tuple[str, str]] = []

    async def take(request: web.Request) -> web.Response:
        heard.append((request.headers.get("authorization", ""), await request.text()))
        headers = {} if location is None else {"location": location}
        return web.Response(status=status, headers=headers, text="no such hook" if status >= 400 else None)

    app = web.Application()
    app.router.add_post("/hook/secret-token", take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        port = runner.addresses[0][1]
        yield f"http://127.0.0.1:{port}/hook/secret-token", heard
    finally:
        await runner.cleanup()


async def test_a_program_gets_the_facts_and_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    script = (
        "import os, sys; open('told', 'w').write(sys.stdin.read() + os.environ.get('ANTHROPIC_API_KEY', ' no key'))"
    )
    assert await Notifier(tmp_path, command=(sys.executable, "-c", script)).tell(FACTS) == []
    assert (tmp_path / "told").read_text() == json.dumps(FACTS, separators=(",", ":")) + " no key"


@pytest.mark.parametrize(
    "command, problem",
    [
        (("no-such-program",), "notify.command (no-such-program) could not be started"),
        (("sh", "-c", "echo bad >&2; exit 3"), "notify.command (sh) ended with code 3: bad"),
        (("./here",), "could not be started"),  # a program in the folder of the work is not found
    ],
)
async def test_a_program_that_fails_is_said(
    tmp_path: Path, command: tuple[str, ...], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "here").write_text("#!/bin/sh\ntouch ran\n")
    os.chmod(work / "here", 0o700)
    monkeypatch.chdir(work)
    (tmp_path / "own").mkdir()
    (found,) = await Notifier(tmp_path / "own", command=command).tell(FACTS)
    assert problem in found
    assert not (work / "ran").exists()


async def test_a_program_that_leaves_another_behind_has_told(tmp_path: Path) -> None:
    """It has its standard error too, and would be waited for; then somebody would be told every two minutes."""
    script = "(while [ ! -e enough ]; do sleep 0.05; done; touch gone) & cat > told"
    assert await Notifier(tmp_path, command=("sh", "-c", script)).tell(FACTS) == []
    assert json.loads((tmp_path / "told").read_text()) == FACTS
    assert not (tmp_path / "gone").exists()
    (tmp_path / "enough").touch()


@pytest.mark.parametrize("script", ["sleep 1000 | cat", "yes >&2", "trap '' TERM; while :; do sleep 0.05; done"])
async def test_a_program_that_hangs_is_stopped_with_all_it_started(
    tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.fleet.notice._PATIENCE", 0.3)
    (problem,) = await Notifier(tmp_path, command=("sh", "-c", f"echo $$ > pid; {script}")).tell(FACTS)
    assert problem == "notify.command (sh) was stopped: it took longer than 0.3 seconds"
    async with asyncio.timeout(30):
        while left_of_group(int((tmp_path / "pid").read_text())):  # noqa: ASYNC110 - the system ends them
            await asyncio.sleep(0.01)


def left_of_group(group: int) -> list[int]:
    """The processes of a group that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, of = path.read_text().rpartition(")")[2].split()[:3]
            if int(of) == group and state != "Z":
                found.append(int(path.parent.name))
    return found


async def test_an_address_gets_the_facts(tmp_path: Path) -> None:
    async with receiver() as (url, heard):
        headers = {"authorization": "Bearer abc"}
        assert await Notifier(tmp_path, url=url, headers=headers, allow_private=True).tell(FACTS) == []
    assert [(header, json.loads(body)) for header, body in heard] == [("Bearer abc", FACTS)]


async def test_a_private_address_needs_to_be_allowed_and_one_of_a_cloud_cannot_be(tmp_path: Path) -> None:
    async with receiver() as (url, heard):
        (problem,) = await Notifier(tmp_path, url=url).tell(FACTS)
        assert "may not be reached" in problem
        assert "notify.allow_private opens private addresses" in problem
        assert "secret-token" not in problem
    assert heard == []
    metadata = "http://169.254.169.254/latest"
    (problem,) = await Notifier(tmp_path, url=metadata, allow_private=True).tell(FACTS)
    assert "may not be reached" in problem


async def test_a_redirect_is_not_followed_and_an_error_is_said(tmp_path: Path) -> None:
    async with receiver() as (other, elsewhere), receiver(307, other) as (url, heard):
        (problem,) = await Notifier(tmp_path, url=url, allow_private=True).tell(FACTS)
    assert (len(heard), elsewhere) == (1, [])
    assert problem == "notify.url: the address answered 307 Temporary Redirect"
    async with receiver(404) as (url, _):
        (problem,) = await Notifier(tmp_path, url=url, allow_private=True).tell(FACTS)
    assert problem == "notify.url: the address answered 404 Not Found"
