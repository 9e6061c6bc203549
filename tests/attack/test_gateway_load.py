"""Attacks on `dragoman gateway` by its clients: their secrets, many of them at once, and those that leave."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.engine.loopback import Answer, Loopback, Raw, Turn, loopback, played

from .test_gateway import KEY, TOKEN, surroundings

CANARY = "canary-of-the-client"
HEADERS = (
    # What clients send of keys, accounts, devices and sessions, and what a proxy on the way may add.
    *("Cookie", "Proxy-Authorization", "X-Auth-Token", "X-Account", "X-Forwarded-For", "X-Forwarded-User", "Forwarded"),
    *("Anthropic-Organization-Id", "X-Anthropic-Account", "X-Claude-Code-Session-Id", "X-Stainless-Runtime", "X-App"),
    *("OpenAI-Organization", "OpenAI-Project", "ChatGPT-Account-Id", "Session_id", "Originator", "X-Codex-Turn-State"),
    *(
        "X-Goog-User-Project",
        "X-Goog-Api-Client",
        "X-Gemini-Api-Privileged-User-Id",
        "X-Github-Token",
        "Editor-Version",
    ),
    *("X-Request-Id", "Traceparent", "Baggage", "Referer", "From", "Idempotency-Key", "User-Agent", "Anthropic-Beta"),
)
PERSONAL = {
    "/v1/messages": {"metadata": {"user_id": CANARY}},
    "/v1/chat/completions": {"user": CANARY, "safety_identifier": CANARY, "metadata": {"a": CANARY}},
    "/v1/responses": {"user": CANARY, "safety_identifier": CANARY, "client_metadata": {"a": CANARY}},
    "/v1beta/models/m:generateContent": {"labels": {"a": CANARY}},
}
ASKED: dict[str, dict[str, Any]] = {
    "/v1/messages": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]},
    "/v1/chat/completions": {"model": "m", "messages": [{"role": "user", "content": "Hello?"}]},
    "/v1/responses": {"model": "m", "input": "Hello?"},
    "/v1beta/models/m:generateContent": {"contents": [{"role": "user", "parts": [{"text": "Hello?"}]}]},
}


def address(folder: Path) -> str | None:
    """The address that a gateway printed."""
    found = re.search(r"http://127\.0\.0\.1:\d+", (folder / "output").read_text())
    return None if found is None else found[0]


def written(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@asynccontextmanager
async def gateway(folder: Path, *script: Answer) -> AsyncIterator[tuple[Process, str, Loopback]]:
    """A gateway in a process of its own before a scripted provider; its output goes to the file `output`."""
    words = ("gateway", "--model", "openai:gpt-5.5", "--token-env", "MY_GATEWAY_TOKEN", "--watch")
    with (folder / "output").open("wb") as output:
        async with loopback(*script) as upstream:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "dragoman", *words),
                cwd=folder,
                env=surroundings(folder) | {"OPENAI_BASE_URL": upstream.url},
                stdout=output,
                stderr=output,
            )
            try:
                async with asyncio.timeout(30):
                    while (found := address(folder)) is None:  # noqa: ASYNC110 - a file tells nobody that it grew
                        await asyncio.sleep(0.02)
                yield process, found, upstream
            finally:
                process.terminate()
                await asyncio.wait_for(process.wait(), 30)


async def test_what_a_client_says_of_itself_is_passed_on_to_nobody(tmp_path: Path) -> None:
    """What a client sends in its headers and in fields about its user is not passed on, recorded or shown."""
    headers = {**dict.fromkeys(HEADERS, CANARY), "Authorization": f"Bearer {CANARY}", "x-api-key": TOKEN}
    async with (
        gateway(tmp_path, *[Turn("Fine.")] * 4) as (_, url, upstream),
        aiohttp.ClientSession(headers=headers) as web,
    ):
        for path, body in ASKED.items():
            async with web.post(url + path, json=body | PERSONAL[path]) as response:
                assert response.status == 200, await response.text()
                answer = f"{response.headers} {await response.text()}"
            assert KEY not in answer
            assert CANARY not in answer
        async with web.post(
            url + "/v1/messages", headers={"x-api-key": CANARY}, json=ASKED["/v1/messages"]
        ) as response:
            assert response.status == 401
            assert CANARY not in await response.text()
    heard = json.dumps([[one.path, one.headers, one.body] for one in upstream.requests])
    files = written(tmp_path)
    assert len(upstream.requests) == 4
    assert any("sessions" in path.parts for path in files)  # so there was something to look through
    assert [secret for secret in (CANARY, TOKEN) if secret in heard] == []
    assert [path for path, data in files.items() if CANARY.encode() in data or KEY.encode() in data] == []


def open_files(process: Process) -> int:
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def resident(process: Process) -> int:
    """Memory of a process in bytes."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def closed(process: Process, upstream: Loopback, before: int) -> None:
    """Waits until the process has no more files open than before. The provider closes its side first."""
    await upstream.stop()
    async with asyncio.timeout(30):
        while open_files(process) > before:  # noqa: ASYNC110 - nothing tells of a closed file
            await asyncio.sleep(0.05)


async def test_many_clients_at_once_and_clients_that_leave_cost_nothing_afterwards(tmp_path: Path) -> None:
    """Requests that came at once, failed or were abandoned leave no open connection and no memory behind."""
    size = 100_000
    whole = played("openai_responses", Turn("One two three four.", pieces=4), stream=True)
    half = len(whole.body) // 2
    endings = {
        "answered": Turn("Fine."),
        "cut": Raw(200, whole.body, content_type=whole.content_type, stop_after=half),
        "refused": Raw(401, b'{"error": {"message": "no"}}'),
        "left": Raw(200, whole.body, content_type=whole.content_type, stall_after=half),
    }

    def answer(body: dict[str, Any]) -> Turn | Raw:
        return endings[next(name for name in endings if f"[{name}]" in json.dumps(body)[:300])]

    async def ask(web: aiohttp.ClientSession, url: str, ending: str) -> str:
        # A new text each time, so that none of them is a conversation that is known.
        text = f"[{ending}] {os.urandom(size // 2).hex()}"
        body = {"model": "m", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": text}]}
        async with web.post(f"{url}/v1/messages", json=body, headers={"x-api-key": TOKEN}) as response:
            if ending == "left":
                first = await response.content.readany()
                return "left" if b"message_start" in first else first.decode()
            said = await response.text()
        if response.status != 200:
            return str(response.status)
        return "whole" if "message_stop" in said else "error" if "event: error" in said else "half"

    async with (
        gateway(tmp_path, *[answer] * 5000) as (process, url, upstream),
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True)) as web,
    ):
        assert await ask(web, url, "answered") == "whole"
        await closed(process, upstream, open_files(process))
        before = open_files(process)
        kept = []
        for _ in range(5):
            said = await asyncio.gather(*(ask(web, url, name) for name in [*endings] * 25))
            assert said == ["whole", "error", "401", "left"] * 25
            await closed(process, upstream, before)
            kept.append(resident(process))
    # The last two batches sent 20 MB. What is remembered of conversations is bounded; the first three batches fill it.
    assert kept[-1] - kept[2] < 10_000_000, [one // 1_000_000 for one in kept]
