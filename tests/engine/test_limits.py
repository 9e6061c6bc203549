"""Every limit on what a server may send, over real sockets: each is a typed error that names the setting to change."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.config import Provider, load
from dragoman.config.settings import ProviderLimits
from dragoman.engine import HttpEngine, Retry
from dragoman.engine.connection import SETTINGS, Bounds, bounds_of
from dragoman.engine.models import engine_for
from dragoman.engine.transport import Sizes, Times, Transport
from dragoman.errors import EngineError
from dragoman.model import AnyChunk, Request, user
from tests.engine.hostile import JSON, STREAM, Answers, Hostile, endless, hostile, sends
from tests.engine.loopback import PATHS, Turn, played

ALL = sorted(PATHS)
REQUEST = Request("some-model", (user("hi"),))
SMALL = Sizes(header_count=20, header_bytes=10_000, body=200_000, error_body=20_000, event=50_000, values=5_000)
KIB = b"x" * 1024


async def failed(
    answers: Answers,
    *,
    api: str = "openai_chat",
    sizes: Sizes = SMALL,
    times: Times = Times(connect=10, read=30, content=None, total=30),  # noqa: B008 - frozen
    stream: bool = True,
    retry: Retry = Retry(times=1, base=0),  # noqa: B008 - frozen
    section: str | None = "providers.p.limits",
) -> tuple[EngineError, Hostile]:
    """The error that asking such a server ends in; nothing stays open after it."""
    async with hostile(answers) as server:
        transport = Transport(server.url, times=times, sizes=sizes, section=section)
        engine = HttpEngine(api, transport, retry=retry, provider="p")
        with pytest.raises(EngineError) as raised:
            await engine.ask(REQUEST, (lambda chunk: None) if stream else None)
        async with asyncio.timeout(10):
            await server.nobody.wait()
        await engine.close()
    return raised.value, server


def facts(error: EngineError) -> tuple[str | None, int | None, bool]:
    return error.code, error.status, error.retryable


# ── headers ──────────────────────────────────────────────────────────────────

HEADERS: dict[str, Answers] = {
    "a header without an end": endless(b"HTTP/1.1 200 OK\r\nx: ", KIB),
    "headers without an end": endless(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n" * 50),
    "a status line without an end": endless(b"HTTP/1.1 200 ", KIB),
    "one header too many": sends(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 21 + b"\r\n{}"),
    "large headers in one piece": sends(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 10_001 + b"\r\n\r\n{}"),
    "interim responses without an end": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 9),
    "interim responses with headers": endless(b"", b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"),
    "a chunk extension without an end": endless(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;", KIB),
    "trailers without an end": endless(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n", b"x: y\r\n" * 50
    ),
    "a trailer without an end": endless(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n0\r\nx: ", KIB
    ),
}


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("stream", [False, True])
async def test_headers_are_limited_in_number_and_size(name: str, stream: bool) -> None:
    error, server = await failed(HEADERS[name], stream=stream)
    assert (error.code, error.retryable, server.asked) == ("headers_too_large", False, 1)
    assert "in [providers.p.limits]" in error.message


# ── bodies ───────────────────────────────────────────────────────────────────

CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
BODIES: dict[str, Answers] = {
    "JSON without an end": endless(JSON, b'{"a": "' + KIB),
    "a text without an end": endless(STREAM, b"data: {}\n\n" + KIB + b"\n\n"),
    "comments without an end": endless(STREAM, b": " + KIB + b"\n\n"),
    "a stated length": sends(b"HTTP/1.1 200 OK\r\ncontent-length: 300000\r\n\r\n{" + b" " * 299_999),
    "chunks of one byte": endless(CHUNKED, b"1\r\n\n\r\n" * 100),
    "chunks with long extensions": endless(CHUNKED, b"1;" + KIB + b"\r\n\n\r\n"),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_body_is_limited(name: str, stream: bool) -> None:
    error, server = await failed(BODIES[name], stream=stream)
    assert (*facts(error), server.asked) == ("body_too_large", 200, False, 1)
    assert "larger than 200,000 bytes" in error.message
    assert "max_body in [providers.p.limits]" in error.message


@pytest.mark.parametrize("status", [400, 429, 500])
async def test_the_body_of_an_error_is_limited_and_its_beginning_shown(status: int) -> None:
    answers = endless(b"HTTP/1.1 %d X\r\n\r\nIt broke. " % status, KIB)
    error, server = await failed(answers)
    again = status >= 429
    assert (*facts(error), server.asked) == ("error_body_too_large", status, again, 2 if again else 1)
    assert f"answered {status} with more than 20,000 bytes, which begin 'It broke. xxx" in error.message
    assert "max_error_body in [providers.p.limits]" in error.message


@pytest.mark.parametrize("status", [200, 403, 502])
@pytest.mark.parametrize("coding", ["identity", "gzip"])
async def test_a_web_page_without_an_end_is_a_web_page(status: int, coding: str) -> None:
    head = b"HTTP/1.1 %d X\r\ncontent-type: text/html\r\ncontent-encoding: %s\r\n\r\n" % (status, coding.encode())
    page = b"<html><title>Sign in</title>" + b"<p>" * 10_000
    if coding == "identity":
        error, server = await failed(endless(head + page, b"<p>" * 1_000))
    else:
        error, server = await failed(sends(head, gzip.compress(page + b"<p>" * 10_000_000)))
    again = status >= 500
    assert (error.status, error.retryable, server.asked) == (status, again, 2 if again else 1)
    assert 'the server sent a web page ("Sign in"), not an answer of an API' in error.message


@pytest.mark.parametrize("kind", [b"text/plain", b"application/json", b"text/event-stream"])
@pytest.mark.parametrize(
    "page", [b"\xef\xbb\xbf \r\n<html><title>Sign in</title>", b"<!-- x -->\n<HTML><h1>Sign in</h1>"]
)
async def test_a_web_page_is_known_by_how_it_begins(kind: bytes, page: bytes) -> None:
    error, _ = await failed(sends(b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n\r\n" % kind, page))
    assert error.message.startswith('the server sent a web page ("Sign in"), not an answer of an API')


def packed(coding: str, data: bytes) -> bytes:
    return gzip.compress(data) if coding.endswith("gzip") else zlib.compress(data)


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate"])
@pytest.mark.parametrize("stream", [False, True])
async def test_what_a_compressed_body_expands_to_is_limited(coding: str, stream: bool) -> None:
    bomb = packed(coding, b"\n" * 10_000_000)  # some 10 kB
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: %s\r\n\r\n" % coding.encode()
    error, server = await failed(sends(head + bomb), stream=stream)
    assert (*facts(error), server.asked) == ("body_too_large", 200, False, 1)


async def test_the_compressed_body_of_an_error_is_limited() -> None:
    head = b"HTTP/1.1 503 X\r\ncontent-encoding: gzip\r\n\r\n"
    error, _ = await failed(sends(head + gzip.compress(b"x" * 5_000_000)))
    assert facts(error) == ("error_body_too_large", 503, True)


@pytest.mark.parametrize("coding", ["br", "zstd", "compress", "gzip, gzip", "rot13"])
@pytest.mark.parametrize("status", [200, 500])
async def test_a_coding_that_cannot_be_read_is_named(coding: str, status: int) -> None:
    head = b"HTTP/1.1 %d X\r\ncontent-encoding: %s\r\n\r\nwhatever" % (status, coding.encode())
    error, server = await failed(sends(head))
    assert (*facts(error), server.asked) == ("encoding", status, False, 1)
    assert repr(coding) in error.message


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_a_compressed_body_that_is_damaged_or_cut_is_an_error(stream: bool, coding: str) -> None:
    whole = packed(coding, played("openai_chat", Turn("hello"), stream=stream).body)
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: %s\r\n\r\n" % coding.encode()
    for body, code in ((b"\0" + whole, "encoding"), (whole[:-1], "disconnected"), (whole + b"junk", "encoding")):
        error, _ = await failed(sends(head + body), stream=stream)
        assert (error.code, error.retryable) == (code, True)


async def test_several_gzip_members_are_one_body() -> None:
    body = played("openai_chat", Turn("hello"), stream=True).body
    packed = gzip.compress(body[:100]) + gzip.compress(body[100:])
    async with hostile(sends(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n", packed)) as server:
        engine = HttpEngine("openai_chat", Transport(server.url))
        assert (await engine.ask(REQUEST, lambda chunk: None)).text == "hello"
        await engine.close()


# ── streams ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("begins", [b'data: {"a": "', b"data: ", b": ", b"event: ", b"\n: a\n"])
async def test_one_event_is_limited(api: str, begins: bytes) -> None:
    error, server = await failed(endless(STREAM + begins, KIB), api=api)
    assert (error.code, error.retryable, server.asked) == ("event_too_large", False, 1)
    assert "larger than 50,000 bytes" in error.message
    assert "max_event in [providers.p.limits]" in error.message


async def test_one_object_of_a_json_array_is_limited() -> None:
    error, _ = await failed(endless(STREAM + b'[{"a": "', KIB), api="gemini_generate")
    assert error.code == "event_too_large"


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("stream", [False, True])
async def test_the_values_of_json_are_limited(api: str, stream: bool) -> None:
    """An empty object is two bytes on the wire and sixty-four in memory."""
    sizes = Sizes(values=300_000)
    events = b'data: {"choices": [], "candidates": [], "a": [' + b"{}," * 9_000 + b"{}]}\n\n"
    whole = b'{"a": [' + b"[]," * 400_000 + b"[]]}"
    answers = endless(STREAM, events) if stream else sends(JSON, whole)
    error, server = await failed(answers, api=api, sizes=sizes, stream=stream)
    assert (error.code, error.retryable, server.asked) == ("body_too_large", False, 1)
    assert "more than 300,000 JSON objects and arrays" in error.message
    assert "max_values in [providers.p.limits]" in error.message


@pytest.mark.parametrize("api", ALL)
async def test_what_had_come_of_an_answer_is_kept_with_the_error(api: str) -> None:
    stream = played(api, Turn("The first words.", pieces=1), stream=True).body
    end = stream.index(b"\n\n", stream.index(b"The first words.")) + 2
    error, _ = await failed(endless(STREAM + stream[:end], b": " + KIB + b"\n\n"), api=api)
    assert (error.code, error.partial.text) == ("body_too_large", "The first words.")


# ── times ────────────────────────────────────────────────────────────────────

DRIPS: dict[str, Answers] = {
    "comments": endless(STREAM, b": ping\n\n", every=0.02),
    "a comment without an end": endless(STREAM + b": ", b"x", every=0.02),
    "events without content": endless(STREAM, b'event: ping\ndata: {"type": "ping"}\n\n', every=0.02),
    "a header": endless(b"HTTP/1.1 200 OK\r\nx: ", b"y", every=0.02),
    "interim responses": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n", every=0.02),
    "a chunk extension": endless(CHUNKED + b"1;", b"y", every=0.02),
}


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("name", DRIPS)
@pytest.mark.slow
async def test_a_connection_kept_open_without_content_has_an_end(api: str, name: str) -> None:
    error, server = await failed(DRIPS[name], api=api, times=Times(connect=5, read=5, content=0.2, total=None))
    assert (error.code, error.retryable, server.asked) == ("content_timeout", False, 1)
    assert "without sending any content; the limit is content_timeout in [providers.p.limits]" in error.message


@pytest.mark.parametrize("stream", [False, True])
async def test_a_body_that_never_ends_ends_with_the_whole_time(stream: bool) -> None:
    event = b'data: {"choices": [{"index": 0, "delta": {"content": "x"}}]}\n\n' if stream else b" "
    answers = endless(STREAM if stream else JSON, event, every=0.02)
    error, server = await failed(answers, times=Times(connect=5, read=5, content=5, total=0.3), stream=stream)
    assert (error.code, error.retryable, server.asked) == ("total_timeout", False, 1)
    assert "within 0.3 s; the limit is total_timeout in [providers.p.limits]" in error.message


async def test_content_counts_as_progress_however_long_it_takes() -> None:
    pieces = [f"data: {json.dumps(event)}\n\n".encode() for event in _chat_events("a" * 22)]

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.1)
        writer.write(b"data: [DONE]\n\n")
        writer.write_eof()

    chunks: list[AnyChunk] = []
    async with hostile(answer) as server:
        engine = HttpEngine("openai_chat", Transport(server.url, times=Times(read=30, content=2.0, total=None)))
        reply = await engine.ask(REQUEST, chunks.append)  # type: ignore[arg-type]
        await engine.close()
    assert reply.text == "a" * 22


def _chat_events(text: str) -> list[dict[str, Any]]:
    said = [{"choices": [{"index": 0, "delta": {"content": letter}}]} for letter in text]
    return [*said, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]


async def test_without_a_section_the_limit_is_named_as_python_has_it() -> None:
    error, _ = await failed(endless(JSON, KIB), section=None, stream=False)
    assert "the limit is Sizes(body=…) of the transport" in error.message
    error, _ = await failed(endless(STREAM, b":\n\n", every=0.02), section=None, times=Times(total=0.1))
    assert "the limit is Times(total=…) of the transport" in error.message


def test_there_is_a_limit_to_everything_by_default() -> None:
    limits = {**{name: getattr(Times(), name) for name in Times.__struct_fields__}}
    limits |= {name: getattr(Sizes(), name) for name in Sizes.__struct_fields__}
    assert [name for name, value in limits.items() if value is None or value <= 0] == []


# ── one answer to one request ────────────────────────────────────────────────


async def test_a_second_answer_to_one_request_is_not_taken_for_the_first() -> None:
    body = played("openai_chat", Turn("the first"), stream=False).body
    forged = played("openai_chat", Turn("the second"), stream=False).body
    answers = b"".join(
        b"HTTP/1.1 200 OK\r\nx-said: %s\r\ncontent-length: %d\r\n\r\n%s" % (name, len(one), one)
        for name, one in ((b"one", body), (b"two", forged))
    )
    async with hostile(sends(answers, close=False)) as server:
        transport = Transport(server.url)
        response = await transport.exchange("/chat/completions", b"{}")
        assert (response.headers["x-said"], response.body) == ("one", body)
        async with asyncio.timeout(5):
            await server.nobody.wait()  # the connection is not used again
        await transport.close()


# ── settings ─────────────────────────────────────────────────────────────────


def test_the_settings_have_a_name_and_the_same_default_for_every_limit() -> None:
    assert bounds_of(ProviderLimits()) == Bounds(Times(), Sizes())
    assert sorted(SETTINGS.values()) == sorted(ProviderLimits.__struct_fields__)
    assert list(SETTINGS) == [*Times.__struct_fields__, *Sizes.__struct_fields__]


@pytest.mark.parametrize("limit", SETTINGS)
def test_each_limit_is_settable_for_one_provider(tmp_path: Path, limit: str) -> None:
    folder = tmp_path / "dragoman"
    folder.mkdir()
    (folder / "config.toml").write_text(f"[providers.ollama.limits]\n{SETTINGS[limit]} = 7\n")
    found = load(cwd=tmp_path, environ={"DRAGOMAN_CONFIG_DIR": str(folder)})
    assert found.warnings == ()
    made = {}
    for name in ("ollama", "llamacpp"):
        engine, _ = engine_for(f"{name}:m", configuration=found, environment={})
        assert isinstance(engine, HttpEngine)
        made[name] = engine.transport.bounds
    kind = "times" if limit in Times.__struct_fields__ else "sizes"
    changed = msgspec.structs.replace(getattr(Bounds(), kind), **{limit: 7})
    section = "providers.ollama.limits"
    assert made["ollama"] == msgspec.structs.replace(Bounds(section=section), **{kind: changed})
    assert made["llamacpp"] == Bounds(section="providers.llamacpp.limits")


@pytest.mark.parametrize("limit", SETTINGS)
def test_a_project_can_lower_a_limit_and_not_raise_it(tmp_path: Path, limit: str) -> None:
    usual = getattr(ProviderLimits(), SETTINGS[limit])
    for value, holds in ((1, True), (int(usual) + 1, False)):
        (tmp_path / "dragoman.toml").write_text(f"[providers.ollama.limits]\n{SETTINGS[limit]} = {value}\n")
        found = load(cwd=tmp_path, environ={"DRAGOMAN_CONFIG_DIR": str(tmp_path / "none")})
        section = found.settings.providers.get("ollama")
        assert getattr((section or Provider()).limits, SETTINGS[limit]) == (value if holds else usual)
        assert bool(found.warnings) is not holds


async def test_a_limit_may_be_infinite() -> None:
    limits = Times(content=float("inf"), total=float("inf"))
    body = played("openai_chat", Turn("hello"), stream=True).body
    async with hostile(sends(STREAM, body)) as server:
        engine = HttpEngine("openai_chat", Transport(server.url, times=limits))
        assert (await engine.ask(REQUEST, lambda chunk: None)).text == "hello"
        await engine.close()
