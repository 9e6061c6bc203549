"""MCP servers over HTTP that answer with more than they should."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from dragoman.agents.mcp import http as mcp_http
from dragoman.agents.mcp.connection import Connection
from dragoman.agents.mcp.settings import mcp_server_at
from dragoman.engine import Retry
from tests.engine.hostile import Answers, endless, hostile, sends

JSON = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
BODY = b'{"jsonrpc": "2.0", "id": 1, "result": {}}'


async def problem(answers: Answers) -> str:
    async with hostile(answers) as server:
        connection = Connection(mcp_server_at(f"{server.url}/mcp"), Retry(), 30, lambda: None)
        await connection.tried()
        await connection.close()
    (said,) = connection.problems
    return said


@pytest.mark.parametrize("again", [b"x" * 65_536, b" " * 65_536])
async def test_a_json_answer_without_an_end_is_given_up(again: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_http, "LARGEST_BODY", 1_000_000)
    said = await problem(endless(JSON + b"\r\n", again))
    assert "the answer is larger than 1,000,000 bytes" in said


async def test_an_error_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_http, "LARGEST_BODY", 1_000_000)
    said = await problem(endless(JSON.replace(b"200", b"500") + b"\r\n", b"x" * 65_536))
    assert "Server returned an error response" in said


async def test_a_compressed_answer_is_refused_before_it_is_read() -> None:
    packed = gzip.compress(BODY)
    head = JSON + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
    said = await problem(sends(head, packed))
    assert "the answer is compressed as 'gzip', which was not asked for" in said


@pytest.fixture(scope="module")
def older() -> Iterator[str]:
    """The address of a server that speaks SSE alone."""
    command = [sys.executable, str(Path(__file__).with_name("mcp_asking.py")), "--sse"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/sse"
        process.terminate()


@pytest.mark.parametrize("or_sse", [True, False])
async def test_a_server_that_speaks_sse_alone_is_reached_where_it_may_be_one(older: str, or_sse: bool) -> None:
    server = msgspec.structs.replace(mcp_server_at(older), or_sse=or_sse)
    connection = Connection(server, Retry(), 30, lambda: None)
    await connection.tried()
    names = [tool.name for tool in connection.tools]
    problems = connection.problems
    await connection.close()
    assert (("mcp__server__book" in names), problems == ()) == (or_sse, or_sse)


async def test_what_streamable_http_answers_is_told_where_sse_is_refused_too() -> None:
    async with hostile(sends(b"HTTP/1.1 500 Broken\r\ncontent-length: 0\r\n\r\n")) as server:
        at = msgspec.structs.replace(mcp_server_at(f"{server.url}/mcp"), or_sse=True)
        connection = Connection(at, Retry(), 30, lambda: None)
        await connection.tried()
        await connection.close()
    assert connection.problems == ("The MCP server server is not running: Server returned an error response.",)
