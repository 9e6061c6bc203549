"""Our MCP server over HTTP, called by pages in a browser, by names that lead here, and by whoever guesses."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from mcp import Client

from .processes import PATIENCE

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}
TOKEN = "open-sesame"
RIGHT = {"Authorization": f"Bearer {TOKEN}"}


@asynccontextmanager
async def serving(home: Path, *words: str, address: str = "127.0.0.1:0", **environ: str) -> AsyncIterator[list[str]]:
    """`dragoman mcp serve` as a process; gives what it says when it is ready, the URL first."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "dragoman", "mcp", "serve", "--tools", "read_file", "--http", address, *words),
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": "", "KEY": TOKEN, **environ},
        cwd=home,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(PATIENCE):
            first = (await process.stderr.readline()).decode()
            assert first.startswith("Serving at "), first
            said = [first.removeprefix("Serving at ").strip()]
            if not words:
                said.append((await process.stderr.readline()).decode().strip())
            yield said
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def asked(url: str, *headers: tuple[str, str], method: str = "POST", body: bytes | None = None) -> int:
    """The status of an answer to a request with exactly these headers, over a socket of its own."""
    host, _, port = url.removeprefix("http://").removesuffix("/mcp").rpartition(":")
    reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    content = json.dumps(HELLO).encode() if body is None else body
    lines = [f"{method} /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    usual = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    given = {name.lower() for name, _ in headers}
    lines += [f"{name}: {value}" for name, value in usual.items() if name not in given]
    lines += [] if "content-length" in given else [f"content-length: {len(content)}"]
    try:
        with suppress(ConnectionError):
            writer.write("\r\n".join([*lines, "", ""]).encode() + content)
            await writer.drain()
        return int((await reader.readline()).split()[1])
    finally:
        writer.close()


async def test_only_the_address_that_is_served_and_origins_that_were_allowed_are_let_in(tmp_path: Path) -> None:
    """No page in a browser can use the server, not even one served on this machine, unless its origin was allowed."""
    async with serving(tmp_path, "--token-env", "KEY", "--allow-origin", "https://app.example") as (url,):
        port = url.removesuffix("/mcp").rpartition(":")[2]
        here, token = ("Host", f"127.0.0.1:{port}"), ("Authorization", f"Bearer {TOKEN}")
        let_in: list[list[tuple[str, str]]] = [
            [],
            [("Origin", f"http://127.0.0.1:{port}")],
            [("Origin", "https://app.example")],
            [("Sec-Fetch-Site", "same-origin")],
            [("Sec-Fetch-Site", "none")],
        ]
        for headers in let_in:
            assert (headers, await asked(url, here, token, *headers)) == (headers, 200)
        for name in ("localhost", "[::1]", "LOCALHOST"):
            assert await asked(url, ("Host", f"{name}:{port}"), token) == 200
        turned_away = [
            f"http://localhost:{int(port) - 1}",
            "http://localhost",
            "http://127.0.0.1",
            f"http://localhost:{port}",  # called by another name than the page was
            f"http://127.0.0.1:{port}0",
            f"http://127.0.0.1:{port}.evil.example",
            "https://evil.example",
            "https://app.example.evil.example",
            "https://app.example:8443",
            "http://app.example",
            "null",
            "",
            f"http://127.0.0.1:{port}@evil.example",
            f"http://127.0.0.1:{port}, http://evil.example",
            f"http://127.1:{port}",
            "file://",
            "chrome-extension://abc",
        ]
        for origin in turned_away:
            assert (origin, await asked(url, here, token, ("Origin", origin))) == (origin, 403)
            assert await asked(url, here, ("Origin", origin), method="OPTIONS", body=b"") == 403
        for site in ("cross-site", "same-site"):
            assert await asked(url, here, token, ("Sec-Fetch-Site", site)) == 403


async def test_a_name_that_was_made_to_lead_here_is_not_answered(tmp_path: Path) -> None:
    """A request by another name than those that are served is refused: a page cannot come in by its own name."""
    async with serving(tmp_path, "--no-token", "--allow-host", "box.example") as (url,):
        port = url.removesuffix("/mcp").rpartition(":")[2]
        assert await asked(url, ("Host", f"127.0.0.1:{port}")) == 200
        assert await asked(url, ("Host", f"box.example:{port}")) == 200
        for host in (
            f"evil.example:{port}",
            "evil.example",
            f"127.0.0.1.evil.example:{port}",
            f"localhost.evil.example:{port}",
            f"127.0.0.1:{int(port) - 1}",
            "127.0.0.1",
            "localhost",
            f"evil.box.example:{port}",
            "",
        ):
            assert (host, await asked(url, ("Host", host))) == (host, 421)
        twice = [("Host", f"127.0.0.1:{port}"), ("Host", f"evil.example:{port}")]
        assert [await asked(url, *twice), await asked(url, *reversed(twice))] == [400, 400]
        assert await asked(url) in (400, 421)


async def test_without_the_token_nobody_is_served_and_one_is_made_unless_it_is_given(tmp_path: Path) -> None:
    """Over HTTP a random token is needed by default, which is printed, and the server listens on this machine alone."""
    async with serving(tmp_path, address=":0") as (url, needed):
        assert url.startswith("http://127.0.0.1:")
        assert needed.startswith("Clients must send: Authorization: Bearer ")
        token = needed.removeprefix("Clients must send: Authorization: Bearer ")
        assert len(token) >= 40
        here = ("Host", url.removeprefix("http://").removesuffix("/mcp"))
        assert await asked(url, here, ("Authorization", f"Bearer {token}")) == 200
        for wrong in ("", "Bearer", "Bearer ", f"Bearer {token[:-1]}", f"Basic {token}", token, "Bearer x"):
            assert (wrong, await asked(url, here, ("Authorization", wrong))) == (wrong, 401)
        assert await asked(url, here) == 401
        assert await asked(url, here, method="GET", body=b"") == 401
        assert await asked(url, here, method="DELETE", body=b"") == 401
        twice = [("Authorization", "Bearer x"), ("Authorization", f"Bearer {token}")]
        assert await asked(url, here, *twice) == 400


async def test_what_other_machines_can_reach_needs_a_token(tmp_path: Path) -> None:
    """An address that other machines reach is not served without a token, and is not answered by any made-up name."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "dragoman", "mcp", "serve", "--http", "0.0.0.0:0", "--no-token"),
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": ""},
        cwd=tmp_path,
    )
    _, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert (process.returncode, b"clients must need a token there" in err) == (3, True)
    async with serving(tmp_path, "--token-env", "KEY", address="0.0.0.0:0") as (url,):
        port = url.removesuffix("/mcp").rpartition(":")[2]
        near, token = f"http://127.0.0.1:{port}/mcp", ("Authorization", f"Bearer {TOKEN}")
        assert await asked(near, ("Host", f"127.0.0.1:{port}"), token) == 200
        assert await asked(near, ("Host", f"127.0.0.1:{port}")) == 401
        assert await asked(near, ("Host", f"evil.example:{port}"), token) == 421


async def test_bodies_sessions_and_connections_are_limited(tmp_path: Path) -> None:
    """A request has a size, and sessions a number; nothing that is sent makes the server fail for others."""
    async with serving(tmp_path, "--token-env", "KEY") as (url,):
        here, token = ("Host", url.removeprefix("http://").removesuffix("/mcp")), ("Authorization", f"Bearer {TOKEN}")
        assert await asked(url, here, token, body=b" " * 5_000_000) == 413
        assert await asked(url, here, token, ("Content-Length", "99999999999"), body=b"{}") == 413
        assert await asked(url, here, ("Content-Length", "99999999999"), body=b"{}") == 401  # and is not even read
        for odd in (
            b"",
            b"{",
            b"[" * 100_000,
            b"\xff\xfe",
            b'{"jsonrpc": "2.0"}',
            b"[]",
            json.dumps([HELLO] * 50).encode(),
        ):
            assert await asked(url, here, token, body=odd) in (400, 406, 413, 415, 422)
        assert await asked(url, here, token, ("Mcp-Session-Id", "0" * 32), body=b"{}") in (400, 404)
        opened = [await asked(url, here, token) for _ in range(105)]
        assert (opened[:100].count(200), set(opened[100:]) & {200}) == (100, set())


async def test_the_official_client_is_served_with_the_token_and_a_session_is_its_own(tmp_path: Path) -> None:
    """A client of the protocol's own package works, with the token in its header and without anything else."""
    (tmp_path / "a.txt").write_text("hello")
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    async with serving(tmp_path, "--token-env", "KEY") as (url,), asyncio.timeout(PATIENCE):
        async with (
            create_mcp_http_client(headers=RIGHT) as http,
            Client(streamable_http_client(url, http_client=http)) as one,
        ):
            read = await one.call_tool("vfs_read", {"path": "a.txt"})
        with pytest.raises(BaseException):  # noqa: B017, PT011 - an error of the package, in groups
            async with Client(url):
                pass
    assert "hello" in read.content[0].text
