"""Providers and other servers that mean no good: endless, dripping, cut, compressed, silent or wrong answers."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dragoman.engine import HttpEngine, Orchestrator, Retry, ScriptedEngine, ToolPolicy
from dragoman.engine.transport import Times, Transport
from dragoman.errors import EngineError
from dragoman.model import CallPart, FinishReason, NativeCall, Reply, Request, user
from dragoman.tools import tool
from tests.engine.hostile import JSON, STREAM, Answers, endless, hostile, sends
from tests.engine.loopback import PATHS, Raw, Turn, loopback, played

ALL = sorted(PATHS)
REQUEST = Request("some-model", (user("hi"),))
KIB64 = b"x" * 65_536
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
SAID = b'data: {"choices": [{"index": 0, "delta": {"content": "x"}}]}\n\n'
ANSWER = played("openai_chat", Turn("hello"), stream=True).body


async def measured(kind: str, servers: dict[str, Answers]) -> dict[str, Any]:
    """What asking each of these servers ended in, and by how many megabytes the process that did so grew."""
    running: list[Any] = []
    try:
        urls = []
        for answers in (sends(STREAM, ANSWER), *servers.values()):
            running.append(hostile(answers))
            urls.append((await running[-1].__aenter__()).url)
        targets = [f"{kind}:{name}={url}" for name, url in zip(("first", *servers), urls, strict=True)]
        client = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tests.attack.hungry_client", *targets),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await client.communicate()
    finally:
        for server in running:
            await server.__aexit__(None, None, None)
    assert client.returncode == 0, err.decode()[-2000:]
    found: dict[str, Any] = json.loads(out)
    found["ended"] = {name.partition(":")[2]: said for name, said in found["ended"].items()}
    return found


# ── sizes ────────────────────────────────────────────────────────────────────

ENDLESS: dict[str, tuple[Answers, str]] = {
    "a body": (endless(JSON + b'{"a": "', KIB64), "body_too_large"),
    "an error": (endless(b"HTTP/1.1 500 X\r\n\r\n", KIB64), "error_body_too_large"),
    "a web page": (endless(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<html>", KIB64), "html"),
    "a header": (endless(b"HTTP/1.1 200 OK\r\nx: ", KIB64), "headers_too_large"),
    "headers": (endless(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n" * 9_999), "headers_too_large"),
    "interim responses": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 999), "headers_too_large"),
    "a chunk extension": (endless(CHUNKED + b"1;", KIB64), "headers_too_large"),
    "one line": (endless(STREAM + b"data: ", KIB64), "event_too_large"),
    "comments": (endless(STREAM, b":\n\n" * 20_000), "body_too_large"),
    "small events": (endless(STREAM, SAID * 999), "body_too_large"),
    "empty objects": (endless(STREAM, b'data: {"choices": [' + b"{}," * 9_999 + b"{}]}\n\n"), "body_too_large"),
    "a gzip bomb": (
        sends(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n\r\n",
            gzip.compress(b"\n" * 200_000_000, 1),
        ),
        "body_too_large",
    ),
}


async def test_whatever_a_provider_sends_takes_bounded_memory_and_ends_in_a_typed_error() -> None:
    """A provider cannot fill the memory: everything it can send without an end has a limit by default."""
    found = await measured("provider", {name: answers for name, (answers, _) in ENDLESS.items()})
    assert found["ended"] == {name: code for name, (_, code) in ENDLESS.items()}
    assert found["grown"] < 250  # megabytes; the largest body that is accepted has 64


async def test_pages_mcp_servers_and_downloads_have_limits_too() -> None:
    """No other server can fill the memory or the disk: a page, an MCP server's answer and a download have limits."""
    page = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n"
    bomb = b"content-encoding: gzip\r\n\r\n" + gzip.compress(b" " * 100_000_000, 1)
    of_pages = {
        "a page": endless(page + b"\r\n", KIB64),
        "an error": endless(page.replace(b"200", b"500") + b"\r\n", KIB64),
        "a bomb": sends(page + bomb),
        "a header": endless(b"HTTP/1.1 200 OK\r\nx: ", KIB64),
        "a drip": endless(page + b"\r\n", b".", every=0.1),
    }
    json_head = JSON.removesuffix(b"\r\n")
    of_mcp = {"an answer": endless(JSON, KIB64), "a bomb": sends(json_head + bomb)}
    of_downloads = {
        "a file": endless(b"HTTP/1.1 200 OK\r\n\r\n", KIB64),
        "a drip": endless(b"HTTP/1.1 200 OK\r\n\r\n", b".", every=0.1),
    }
    pages, servers, files = await asyncio.gather(
        measured("page", of_pages), measured("mcp", of_mcp), measured("download", of_downloads)
    )
    assert pages["ended"] == {
        "a page": "is larger than the 5,000,000 bytes a pag",
        "an error": "answered 500 OK",
        "a bomb": "is larger than the 5,000,000 bytes a pag",
        "a header": 'could not be fetched: 400, message="Got ',
        "a drip": "took too long",
    }
    assert servers["ended"] == {
        "an answer": "the answer is larger than 16,777,216 bytes.",
        "a bomb": "the answer is compressed as 'gzip', which was not asked for.",
    }
    assert files["ended"] == dict.fromkeys(of_downloads, "not_fetched, no more written than the file has")
    assert max(pages["grown"], files["grown"]) < 60
    assert servers["grown"] < 120


# ── times ────────────────────────────────────────────────────────────────────

DRIPS: dict[str, Answers] = {
    "comments": endless(STREAM, b": ping\n\n", every=0.05),
    "a header": endless(b"HTTP/1.1 200 OK\r\nx: ", b"y", every=0.05),
    "interim responses": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n", every=0.05),
    "a chunk extension": endless(CHUNKED + b"1;", b"y", every=0.05),
    "letters": endless(STREAM, SAID, every=0.05),
    "nothing": sends(close=False),
    "half a header": sends(b"HTTP/1.1 200 OK\r\nx: y", close=False),
    "half an event": sends(STREAM, b'data: {"cho', close=False),
}


async def test_a_provider_that_drips_or_stalls_at_any_point_is_left_in_time() -> None:
    """A provider cannot hold a run for ever: silence, pings without content and a whole answer have an end."""
    assert None not in (Times().connect, Times().read, Times().content, Times().total)
    times = Times(connect=5, read=0.5, content=1, total=2)

    async def left(answers: Answers) -> str | None:
        async with hostile(answers) as server:
            engine = HttpEngine("openai_chat", Transport(server.url, times=times), retry=Retry(times=0))
            with pytest.raises(EngineError) as raised:
                await engine.ask(REQUEST, lambda chunk: None)
            async with asyncio.timeout(10):
                await server.nobody.wait()
            await engine.close()
            return raised.value.code

    codes = await asyncio.gather(*map(left, DRIPS.values()))
    assert dict(zip(DRIPS, codes, strict=True)) == {
        **dict.fromkeys(DRIPS, "content_timeout"),
        "letters": "total_timeout",
        **dict.fromkeys(("nothing", "half a header", "half an event"), "read_timeout"),
    }


async def test_two_hundred_runs_against_a_provider_that_stalls_all_end_and_leave_nothing_open() -> None:
    """Runs that a provider leaves hanging all end with a typed error, and no socket, task or timer stays behind."""
    whole = played("openai_chat", Turn("A long answer."), stream=True)
    stalled = Raw(body=whole.body, content_type=whole.content_type, stall_after=len(whole.body) // 2)
    async with loopback(Turn("first")) as server:
        await asked("openai_chat", server.url)  # whatever is opened once and for all is open now
    before = open_files(), asyncio.all_tasks()
    async with loopback(*[stalled] * 200) as server:
        transport = Transport(server.url, times=Times(connect=60, read=2, total=120))
        engine = HttpEngine("openai_chat", transport, retry=Retry(times=0), provider="p")
        orchestrator = Orchestrator(engine, model_name="some-model")
        runs = [orchestrator.run("hi", stream=True) for _ in range(200)]
        ended = await asyncio.gather(*runs, return_exceptions=True)
        await engine.close()
        async with asyncio.timeout(10):
            await server.nobody.wait()
        assert transport._idle == {}
    assert {type(error) for error in ended} == {EngineError}
    assert {error.code for error in ended if isinstance(error, EngineError)} == {"read_timeout"}
    async with asyncio.timeout(10):  # the server's own ends are closed by its loop, which is this one
        while set(open_files()) - set(before[0]):  # noqa: ASYNC110 - nothing tells of a closed file
            await asyncio.sleep(0.01)
    assert asyncio.all_tasks() == before[1]


def open_files() -> list[str]:
    links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    return sorted(os.readlink(link) for link in links if os.path.exists(link))


# ── what an answer says ──────────────────────────────────────────────────────


@pytest.mark.parametrize("api", ALL)
async def test_a_stream_cut_at_any_byte_is_a_whole_answer_or_an_error(api: str) -> None:
    """Half an answer is never taken for a whole one, wherever the connection is closed."""
    turn = Turn("Yes.", calls=(("c1", "add", {"a": 1}),), pieces=1)
    body = played(api, turn, stream=True).body
    async with loopback(turn) as server:
        whole = await asked(api, server.url)
    assert isinstance(whole, Reply)
    ends = asyncio.Queue[int]()
    for end in range(len(body)):
        ends.put_nowait(end)
    replies: dict[int, Reply | EngineError] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1]
        writer.write(STREAM + body[: int(path.split(b"/")[1])])  # no length, so the end of the connection is the end
        await writer.drain()
        writer.close()

    async def ask_all(url: str) -> None:
        while not ends.empty():
            end = ends.get_nowait()
            replies[end] = await asked(api, f"{url}/{end}")

    server_ = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server_:
        url = f"http://127.0.0.1:{server_.sockets[0].getsockname()[1]}"
        await asyncio.gather(*(ask_all(url) for _ in range(8)))
    complete = {end: reply for end, reply in replies.items() if isinstance(reply, Reply)}
    assert len(replies) == len(body)
    assert all((reply.parts, reply.finish) == (whole.parts, whole.finish) for reply in complete.values())
    assert all(end > len(body) // 2 for end in complete)


async def asked(api: str, url: str) -> Reply | EngineError:
    engine = HttpEngine(api, Transport(url), retry=Retry(times=0))
    try:
        return await engine.ask(REQUEST, lambda chunk: None)
    except EngineError as error:
        return error
    finally:
        await engine.close()


async def test_an_answer_cut_in_its_headers_or_chunks_is_an_error() -> None:
    """A response that says how long it is, and is shorter, is an error at every byte; so is a reset connection."""
    events = played("openai_chat", Turn("Yes.", pieces=1), stream=True).body
    response = CHUNKED + b"%x\r\n%s\r\n0\r\n\r\n" % (len(events), events)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        end, _, how = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].split(b"/")[1].partition(b"-")
        writer.write(response[: int(end)])
        await writer.drain()
        if how == b"reset":
            writer.transport.abort()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ended = [
            await asked("openai_chat", f"{url}/{end}-{how}")
            for how in ("closed", "reset")
            for end in range(0, len(response), 7)
        ]
        assert isinstance(await asked("openai_chat", f"{url}/{len(response)}-closed"), Reply)
    assert {type(one) for one in ended} == {EngineError}
    assert {one.code for one in ended if isinstance(one, EngineError)} == {"disconnected"}


async def ran(folder: Path, url: str, *words: str) -> tuple[int | None, str, str]:
    """`dragoman run` as a process with its output in pipes."""
    home = {name: str(folder / name) for name in ("HOME", "DRAGOMAN_CONFIG_DIR", "DRAGOMAN_DATA_DIR")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "dragoman", "run", "--model", "anthropic:m", *words, "hi"),
        cwd=folder,
        env={"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "sk-secret-key", "ANTHROPIC_BASE_URL": url, **home},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_an_event_that_cannot_be_read_is_never_an_empty_success(tmp_path: Path) -> None:
    """An answer that cannot be read ends a run with an error and a failing exit code, never with an empty answer."""
    nonsense = (b"data: " + b"[" * 9_999 + b"\n\n", b"data: 17\n\n", b"data: null\n\n", b"")
    servers = [Raw(200, body + b"data: [DONE]\n\n", content_type="text/event-stream") for body in nonsense]

    async def run(raw: Raw) -> tuple[int | None, str, bool]:
        async with loopback(raw) as server:
            code, out, err = await ran(tmp_path, server.url, "--retries", "0", "--no-record")
        return code, out, "error: " in err

    assert await asyncio.gather(*map(run, servers)) == [(4, "", True)] * len(servers)


UNREAD = {
    "openai_chat": b'{"choices": [{"index": 0, "delta": {"content": %s}, "finish_reason": "stop"}]}',
    "gemini_generate": b'{"candidates": [{"content": {"parts": %s}, "finishReason": "STOP"}]}',
    "anthropic_messages": b'{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": %s}}',
}
_ENDS = {
    "openai_chat": b"data: [DONE]\n\n",
    "anthropic_messages": b'data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}\n\n'
    b'data: {"type": "message_stop"}\n\n',
}


@pytest.mark.parametrize("api", UNREAD)
@pytest.mark.parametrize("value", [b"5", b'{"a": 1}', b"true", b"[1]"])
async def test_a_text_that_is_none_is_never_an_empty_success(api: str, value: bytes) -> None:
    """An answer of which nothing can be read is an error that shows it, also where its end says that all is well."""
    event = b"data: " + UNREAD[api] % value + b"\n\n"
    async with hostile(sends(STREAM, event, _ENDS.get(api, b""))) as server:
        error = await asked(api, server.url)
    assert isinstance(error, EngineError)
    assert (error.code, error.retryable) == ("protocol", False)
    assert error.message.startswith("nothing in the answer can be read; it holds ")


async def test_a_pipe_gets_one_whole_answer_or_none(tmp_path: Path) -> None:
    """What is written to a pipe is a whole answer, and nothing of one that broke off."""
    whole = played("anthropic_messages", Turn("The answer.", pieces=2), stream=True)
    end = whole.body.index(b"\n\n", whole.body.index(b"The an")) + 2
    cut = Raw(body=whole.body, content_type=whole.content_type, stop_after=end)
    async with loopback(cut, Turn("The answer.")) as again, loopback(cut) as never:
        fixed, failed = await asyncio.gather(
            ran(tmp_path, again.url, "--retries", "1"), ran(tmp_path, never.url, "--retries", "0")
        )
    assert fixed[:2] == (0, "The answer.\n")
    assert failed[:2] == (4, "")


# ── where it is sent ─────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_of_a_provider_is_not_followed(status: int) -> None:
    """A key and a conversation are sent to the address they were given for, and nowhere else."""
    async with hostile(sends(STREAM, ANSWER)) as other:
        head = b"HTTP/1.1 %d X\r\nlocation: %s/\r\ncontent-length: 0\r\n\r\n" % (status, other.url.encode())
        async with hostile(sends(head)) as server:
            error = await asked("openai_chat", server.url)
    assert isinstance(error, EngineError)
    assert (error.code, error.retryable, server.asked, other.asked) == ("redirect", False, 1, 0)


PROXIES: dict[str, tuple[Answers, str]] = {
    "a refusal": (sends(b"HTTP/1.1 407 X\r\ncontent-length: 0\r\n\r\n"), "proxy"),
    "a tunnel to nowhere": (sends(b"HTTP/1.1 200 OK\r\n\r\n"), "connect"),
    "no HTTP": (sends(b"SSH-2.0-OpenSSH\r\n\r\n"), "protocol"),
    "headers without an end": (endless(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n" * 999), "headers_too_large"),
    "a body without an end": (endless(b"HTTP/1.1 403 X\r\n\r\n", KIB64), "error_body_too_large"),
    "silence": (sends(close=False), "connect_timeout"),
    "a closed connection": (sends(), "disconnected"),
}


async def test_a_proxy_that_misbehaves_is_a_typed_error() -> None:
    """A proxy is trusted no more than a provider: whatever it answers ends in a typed error in time."""

    async def through(answers: Answers) -> str | None:
        async with hostile(answers) as proxy:
            times = Times(connect=1, read=1, total=20)
            transport = Transport("https://provider.invalid", times=times, proxy=proxy.url)
            engine = HttpEngine("openai_chat", transport, retry=Retry(times=0))
            with pytest.raises(EngineError) as raised:
                await engine.ask(REQUEST)
            await engine.close()
            return raised.value.code

    codes = await asyncio.gather(*(through(answers) for answers, _ in PROXIES.values()))
    assert dict(zip(PROXIES, codes, strict=True)) == {name: code for name, (_, code) in PROXIES.items()}


# ── long runs ────────────────────────────────────────────────────────────────


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_two_thousand_rounds_take_no_more_memory_than_their_conversation() -> None:
    """A run of any length keeps its conversation and nothing else: each round adds as much as the one before."""
    rounds = 2_000
    counted: list[int] = []

    def step(number: int) -> Any:
        def answer(request: Request) -> Reply | str:
            if number % 500 == 0:
                gc.collect()
                counted.append(len(gc.get_objects()))
            if number == rounds:
                return "done"
            return Reply((CallPart(NativeCall(f"c{number}", "add", {"a": number, "b": 1})),), FinishReason.CALLS)

        return answer

    engine = ScriptedEngine([step(number) for number in range(1, rounds + 1)])
    orchestrator = Orchestrator(engine, [add], model_name="m", policy=ToolPolicy(max_iterations=rounds + 1))
    result = await orchestrator.run("add")
    assert (result.text, result.rounds) == ("done", rounds)
    growth = [after - before for before, after in pairwise(counted)]
    assert all(grown <= growth[0] + 500 for grown in growth), growth
    assert growth[0] < 500 * 40
