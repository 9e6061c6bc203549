"""The official example servers, through our client; every provider takes their tools as they are listed."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from bench.environments import LAB, uv
from dragoman.agents.mcp.servers import McpServer, McpServers, mcp_server_at, mcp_tool_name
from dragoman.apis import APIS
from dragoman.config import Secret
from dragoman.dialects import DIALECTS
from dragoman.engine import Facade
from dragoman.model import Failure, outcomes as out
from dragoman.tools import Context, Tool
from dragoman.tools.running import outcome_of

NPM = ("server-everything", "server-filesystem", "server-memory")
PYPI = ("mcp-server-time", "mcp-server-git")


@pytest.fixture(scope="session")
def npm() -> Path:
    """Where npm has put the servers; made on first use and kept."""
    home = LAB / "mcp-npm"
    if not all((home / "node_modules" / "@modelcontextprotocol" / name).is_dir() for name in NPM):
        home.mkdir(parents=True, exist_ok=True)
        (home / "package.json").write_text('{"private": true}')
        program = shutil.which("npm")
        assert program is not None, "npm is needed for the servers written in JavaScript"
        words = [program, "install", "--no-audit", "--no-fund", *(f"@modelcontextprotocol/{name}" for name in NPM)]
        subprocess.run(words, cwd=home, check=True, capture_output=True)
    return home / "node_modules" / "@modelcontextprotocol"


@pytest.fixture(scope="session")
def pypi() -> Path:
    """The programs of servers from PyPI, in an environment of their own: they want another `mcp` than we do."""
    home = LAB / "mcp-pypi"
    if not all((home / "bin" / name).exists() for name in PYPI):
        shutil.rmtree(home, ignore_errors=True)
        uv("venv", "--python", sys.executable, str(home))
        uv("pip", "install", "--python", str(home / "bin" / "python"), *PYPI)
    return home / "bin"


async def call(servers: McpServers, server: str, tool: str, **arguments: Any) -> out.Outcome:
    found = servers.toolset.get(mcp_tool_name(server, tool))
    assert isinstance(found, Tool)
    return await outcome_of(lambda: found.call(arguments, Context()))


def offered_everywhere(servers: McpServers) -> None:
    """Every provider takes every tool, in every vocabulary, under a name it allows."""
    for name, problems in servers.problems.items():
        raise AssertionError(f"{name}: {problems}")
    for api in APIS.values():
        for dialect in DIALECTS.values():
            for definition in Facade(dialect, servers.toolset, api.limits("")).definitions:
                assert not [one for one in api.check(definition) if not one.fixed], definition
    for tool in servers.toolset:
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", tool.name)


def everything(npm: Path, *words: str) -> McpServer:
    return mcp_server_at("node", str(npm / "server-everything/dist/index.js"), *words, name="everything")


async def test_the_server_that_has_everything(npm: Path) -> None:
    async with McpServers([everything(npm, "stdio")]) as servers:
        offered_everywhere(servers)
        await has_everything(servers)


async def has_everything(servers: McpServers) -> None:
    assert await call(servers, "everything", "echo", message="hüllo 🎻") == out.TextOutcome("Echo: hüllo 🎻")
    picture = await call(servers, "everything", "get-tiny-image")
    assert isinstance(picture, out.ContentOutcome)
    assert [one.media_type for one in picture.content if isinstance(one, out.Media)] == ["image/png"]
    weather = await call(servers, "everything", "get-structured-content", location="New York")
    assert isinstance(weather, out.ContentOutcome)
    assert set(weather.structured) == {"temperature", "conditions", "humidity"}
    linked = await call(servers, "everything", "get-resource-links")
    assert isinstance(linked, out.ContentOutcome)
    assert sum("demo://resource/" in str(one) for one in linked.content) == 3
    heard: list[float | None] = []
    slow = servers.toolset.get("mcp__everything__trigger-long-running-operation")
    assert isinstance(slow, Tool)
    report = Context(report=lambda _, fraction: heard.append(fraction))
    await slow.call({"duration": 1, "steps": 4}, report)
    assert heard == [0.25, 0.5, 0.75, 1.0]
    echo = servers.toolset.get("mcp__everything__echo")
    assert isinstance(echo, Tool)
    # It says that it only reads; that counts where the user trusts this server's hints, which nobody did here.
    assert (echo.kind, echo.repeatable) == (None, False)


@asynccontextmanager
async def listening(npm: Path, transport: str, port: int) -> AsyncIterator[None]:
    """The server that has everything, over HTTP."""
    process = await asyncio.create_subprocess_exec(
        "node",
        str(npm / "server-everything/dist/index.js"),
        transport,
        env={**os.environ, "PORT": str(port)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        assert process.stdout is not None
        while str(port) not in (line := (await process.stdout.readline()).decode()):
            assert line, "the server ended before it listened"
        yield
    finally:
        process.kill()
        await process.communicate()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.mark.parametrize("transport, path", [("streamableHttp", "mcp"), ("sse", "sse")])
async def test_the_same_over_http_also_after_the_server_was_started_anew(npm: Path, transport: str, path: str) -> None:
    port = free_port()
    kind: Literal["http", "sse"] = "sse" if transport == "sse" else "http"
    server = McpServer(name="everything", transport=kind, url=f"http://127.0.0.1:{port}/{path}")
    servers = McpServers([server])
    try:
        async with listening(npm, transport, port):
            await servers.__aenter__()
            offered_everywhere(servers)
            await has_everything(servers)
        async with listening(npm, transport, port):
            # Whether the end of the old session is seen by now or by this call, the next one has a new session.
            first = await call(servers, "everything", "echo", message="who?")
            assert isinstance(first, out.TextOutcome) or "is not running" in str(first)
            assert await call(servers, "everything", "echo", message="again") == out.TextOutcome("Echo: again")
            await servers.close()
    finally:
        await servers.close()


async def test_the_server_of_files(npm: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    program = str(npm / "server-filesystem/dist/index.js")
    async with McpServers([mcp_server_at("node", program, str(tmp_path), name="files")]) as servers:
        offered_everywhere(servers)
        read = await call(servers, "files", "read_text_file", path=str(tmp_path / "a.txt"))
        assert isinstance(read, out.ContentOutcome)
        assert read.content == ("one\ntwo\n",)
        await call(servers, "files", "write_file", path=str(tmp_path / "b.txt"), content="ß")
        outside = await call(servers, "files", "read_text_file", path="/etc/passwd")
        assert isinstance(outside, Failure)
        assert "denied" in outside.message.lower()
    assert (tmp_path / "b.txt").read_text() == "ß"


async def test_the_server_of_memories(npm: Path, tmp_path: Path) -> None:
    program = str(npm / "server-memory/dist/index.js")
    server = McpServer(
        name="memory",
        transport="stdio",
        command=("node", program),
        env={"MEMORY_FILE_PATH": Secret(str(tmp_path / "memory.jsonl"))},
    )
    async with McpServers([server]) as servers:
        offered_everywhere(servers)
        entity = {"name": "Ada", "entityType": "person", "observations": ["wrote a program"]}
        await call(servers, "memory", "create_entities", entities=[entity])
        graph = await call(servers, "memory", "read_graph")
        assert isinstance(graph, out.ContentOutcome)
        assert graph.structured["entities"][0]["name"] == "Ada"


async def test_servers_of_an_older_package(pypi: Path, tmp_path: Path) -> None:
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(tmp_path)], check=True)
    time = mcp_server_at(str(pypi / "mcp-server-time"), name="time")
    git = mcp_server_at(str(pypi / "mcp-server-git"), name="git")
    async with McpServers([time, git]) as servers:
        offered_everywhere(servers)
        now = await call(servers, "time", "get_current_time", timezone="Europe/Vienna")
        assert isinstance(now, out.ContentOutcome)
        assert now.structured["timezone"] == "Europe/Vienna"
        wrong = await call(servers, "time", "get_current_time", timezone="Nowhere/Land")
        assert isinstance(wrong, Failure)
        status = await call(servers, "git", "git_status", repo_path=str(tmp_path))
        assert isinstance(status, out.TextOutcome)
        assert "No commits yet" in status.text
