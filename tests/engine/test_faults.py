"""Everything a network and a provider can do wrong, over real sockets: each has a typed end, nothing is left open."""

from __future__ import annotations

import asyncio
import json
import ssl
from contextlib import suppress
from typing import Any

import pytest
import trustme

from dragoman.engine import HttpEngine, Orchestrator, Retry
from dragoman.engine.transport import Times, Transport
from dragoman.errors import ConfigError, EngineError
from dragoman.model import AnyChunk, Request, Restarted, TextChunk, user
from tests.engine.loopback import PATHS, Answer, Loopback, Raw, Turn, loopback, played
from tests.ports import nobody_listening

ALL = sorted(PATHS)
QUICK = Times(connect=60.0, read=0.3, total=60.0)  # where it is expected to give up
PATIENT = Times(connect=60.0, read=60.0, total=60.0)  # where it is not, however busy the machine is
AT_ONCE = Retry(times=2, base=0.0)
NEVER = Retry(times=0)
REQUEST = Request("some-model", (user("hi"),))


def engine(api: str, url: str, *, retry: Retry = NEVER, times: Times = PATIENT, **options: Any) -> HttpEngine:
    return HttpEngine(
        api,
        Transport(url, times=times, headers={"authorization": "Bearer sk-secret"}),
        retry=retry,
        provider="p",
        **options,
    )


async def failed(
    api: str, *answers: Answer, stream: bool = False, retry: Retry = NEVER, times: Times = PATIENT
) -> tuple[EngineError, Loopback]:
    """The error that asking ends in."""
    async with loopback(*answers) as server:
        asked = engine(api, server.url, retry=retry, times=times)
        with pytest.raises(EngineError) as raised:
            await asked.ask(REQUEST, (lambda chunk: None) if stream else None)
        await asked.close()
        await gone(server)
    assert "sk-secret" not in str(raised.value)
    assert raised.value.provider == "p"
    return raised.value, server


async def gone(server: Loopback) -> None:
    """Waits until the server sees no open connection; fails when one stays."""
    async with asyncio.timeout(60):
        await server.nobody.wait()


async def test_a_server_that_is_not_there() -> None:
    with nobody_listening() as port, pytest.raises(EngineError) as raised:
        await engine("openai_chat", f"http://127.0.0.1:{port}").ask(REQUEST)
    assert (raised.value.code, raised.value.retryable) == ("connect", True)
    assert "is the server running?" in str(raised.value)


async def test_a_name_nobody_knows() -> None:
    with pytest.raises(EngineError) as raised:
        await engine("openai_chat", "http://no-such-host.invalid").ask(REQUEST)
    assert raised.value.code in ("dns", "connect")


def test_an_address_that_is_none_and_a_key_with_a_line_break_are_refused_without_being_shown() -> None:
    with pytest.raises(ConfigError, match="no URL of a server"):
        Transport("localhost:8080")
    with pytest.raises(ConfigError) as raised:
        Transport("http://localhost", headers={"authorization": "Bearer sk-secret\n"})
    assert "sk-secret" not in str(raised.value)


@pytest.mark.parametrize("api", ALL)
async def test_a_stream_that_is_reset_in_the_middle(api: str) -> None:
    whole = played(api, Turn("A long answer that never ends.", pieces=10), stream=True)
    cut = Raw(body=whole.body, content_type=whole.content_type, stop_after=len(whole.body) // 2, reset=True)
    error, _ = await failed(api, cut, stream=True)
    assert error.retryable


@pytest.mark.parametrize("api", ALL)
async def test_a_stream_that_ends_early_in_good_order(api: str) -> None:
    whole = played(api, Turn("A long answer.", pieces=4), stream=True)
    events = whole.body.split(b"\n\n")
    half = b"\n\n".join(events[: len(events) // 2]) + b"\n\n"
    error, _ = await failed(api, Raw(body=half, content_type=whole.content_type), stream=True)
    assert (error.code, error.retryable) == ("interrupted", True)
    assert error.partial is not None


@pytest.mark.parametrize("api", ALL)
async def test_half_an_event_at_the_end(api: str) -> None:
    whole = played(api, Turn("A long answer.", pieces=4), stream=True)
    end = whole.body.index(b"answer", len(whole.body) // 4) if b"answer" in whole.body[len(whole.body) // 4 :] else 200
    error, _ = await failed(api, Raw(body=whole.body[:end], content_type=whole.content_type), stream=True)
    assert error.retryable


@pytest.mark.parametrize("stream", [False, True])
async def test_a_server_that_falls_silent(stream: bool) -> None:
    whole = played("openai_chat", Turn("A long answer."), stream=stream)
    stalled = Raw(body=whole.body, content_type=whole.content_type, stall_after=len(whole.body) // 2)
    error, _ = await failed("openai_chat", stalled, stream=stream, times=QUICK)
    assert (error.code, error.retryable) == ("read_timeout", True)


async def test_a_server_that_never_answers() -> None:
    error, _ = await failed("openai_chat", Raw(no_answer=True), times=QUICK)
    assert error.code == "read_timeout"


async def test_a_slow_drip_is_bounded_by_the_whole() -> None:
    whole = played("openai_chat", Turn("x" * 2000), stream=True)
    async with loopback(Raw(body=whole.body, content_type=whole.content_type, drip=0.01)) as server:
        asked = engine("openai_chat", server.url, times=Times(connect=1, read=1, total=0.5))
        with pytest.raises(EngineError) as raised:
            await asked.ask(REQUEST, lambda chunk: None)
        await gone(server)
    assert raised.value.code == "total_timeout"


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("status", [429, 500, 503, 529])
async def test_what_passes_is_tried_again_and_no_oftener_than_said(api: str, status: int) -> None:
    busy = Raw(status, b'{"error": {"message": "busy", "type": "overloaded_error"}}')
    error, server = await failed(api, *[busy] * 9, retry=AT_ONCE)
    assert (error.status, error.retryable, len(server.requests)) == (status, True, 3)


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_what_does_not_pass_is_not_tried_again(api: str, status: int) -> None:
    error, server = await failed(api, Raw(status, b'{"error": {"message": "no"}}'), retry=AT_ONCE)
    assert (error.status, error.retryable, len(server.requests)) == (status, False, 1)


@pytest.mark.parametrize("api", ALL)
async def test_it_works_the_second_time(api: str) -> None:
    waits: list[float] = []
    async with loopback(Raw(429, b"{}", {"retry-after": "0.01"}), Turn("there")) as server:
        asked = engine(api, server.url, retry=Retry(times=1, base=30), notice=lambda _, wait: waits.append(wait))
        reply = await asked.ask(REQUEST)
        await asked.close()
    assert reply.text == "there"
    assert waits == [0.01]


async def test_a_wait_that_is_asked_for_is_made_in_steps_no_longer_than_the_longest() -> None:
    waits: list[float] = []
    busy = [Raw(429, b"{}", {"retry-after": wait}) for wait in ("0.015", "0.005")]
    async with loopback(*busy, Turn("there")) as server:
        asked = engine(
            "openai_chat", server.url, retry=Retry(times=2, longest=0.01), notice=lambda _, wait: waits.append(wait)
        )
        await asked.ask(REQUEST)
        await asked.close()
    assert waits == [0.01, 0.005]


@pytest.mark.parametrize("asked, patience", [("86400", "0.03"), ("0.031", "0.03")])
async def test_a_longer_wait_than_there_is_patience_for_is_told_and_not_begun(asked: str, patience: str) -> None:
    error, server = await failed(
        "openai_chat", Raw(429, b"busy", {"retry-after": asked}), Turn("never"), retry=Retry(times=3, longest=0.01)
    )
    assert len(server.requests) == 1
    assert error.message == f"busy (it asks for a wait of {asked} s; the longest wait here is {patience} s)"
    assert (error.status, error.retryable, error.retry_after) == (429, True, float(asked))


async def test_a_wait_until_a_moment_is_told_in_whole_seconds_and_one_that_is_over_says_nothing() -> None:
    far = Raw(429, b"busy", {"retry-after": "Wed, 21 Oct 2199 07:28:00 GMT"})
    error, _ = await failed("openai_chat", far, Turn("never"), retry=Retry(times=3, longest=0.01))
    assert error.retry_after == int(error.retry_after or 0) > 0
    assert f"it asks for a wait of {error.retry_after:.0f} s;" in error.message
    waits: list[float] = []
    over = Raw(429, b"{}", {"retry-after": "Wed, 21 Oct 1999 07:28:00 GMT"})
    async with loopback(over, Turn("there")) as server:
        asked = engine(
            "openai_chat",
            server.url,
            retry=Retry(times=2, base=0.02, jitter=0.0),
            notice=lambda error, wait: waits.append(wait),
        )
        await asked.ask(REQUEST)
        await asked.close()
    assert waits == [0.02]


@pytest.mark.parametrize("api", ALL)
async def test_a_broken_stream_is_asked_for_anew_and_the_observer_is_told(api: str) -> None:
    whole = played(api, Turn("A long answer.", pieces=6), stream=True)
    cut = Raw(body=whole.body, content_type=whole.content_type, stop_after=len(whole.body) * 3 // 4)
    chunks: list[AnyChunk] = []
    async with loopback(cut, Turn("A long answer.", pieces=6)) as server:
        asked = engine(api, server.url, retry=AT_ONCE)
        reply = await asked.ask(REQUEST, chunks.append)  # type: ignore[arg-type]
        await asked.close()
    assert reply.text == "A long answer."
    places = [index for index, chunk in enumerate(chunks) if isinstance(chunk, Restarted)]
    assert len(places) == 1
    said = "".join(chunk.text for chunk in chunks[places[0] :] if isinstance(chunk, TextChunk))
    assert said == reply.text


async def test_nothing_is_asked_for_anew_once_something_began() -> None:
    whole = played("openai_chat", Turn("A long answer.", pieces=6), stream=True)
    cut = Raw(body=whole.body, content_type=whole.content_type, stop_after=len(whole.body) * 3 // 4)
    async with loopback(cut, Turn("never")) as server:
        asked = engine("openai_chat", server.url, retry=AT_ONCE)
        with pytest.raises(EngineError):
            await asked.ask(REQUEST, lambda chunk: True)
        assert len(server.requests) == 1
        await asked.close()


IN_A_GOOD_ANSWER = {
    "openai_chat": {"error": {"message": "quota", "code": "insufficient_quota"}},
    "openai_responses": {
        "id": "r",
        "object": "response",
        "status": "failed",
        "error": {"code": "server_error", "message": "quota"},
        "output": [],
    },
    "anthropic_messages": {"type": "error", "error": {"type": "overloaded_error", "message": "quota"}},
    "gemini_generate": {"error": {"code": 503, "message": "quota", "status": "UNAVAILABLE"}},
}


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("stream", [False, True])
async def test_an_error_inside_a_good_answer(api: str, stream: bool) -> None:
    error, _ = await failed(api, Raw(body=json.dumps(IN_A_GOOD_ANSWER[api]).encode()), stream=stream)
    assert "quota" in error.message


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("body", [b"", b"<html>gateway</html>", b"[1, 2", b"null", b"\xff\xfe", b"{}"])
async def test_an_answer_that_is_none(api: str, body: bytes) -> None:
    async with loopback(Raw(body=body)) as server:
        asked = engine(api, server.url)
        try:
            reply = await asked.ask(REQUEST)
        except EngineError:
            pass
        else:
            assert body == b"{}"
            assert reply.parts == ()
        await asked.close()


async def test_what_is_no_http() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"SSH-2.0-OpenSSH\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(EngineError) as raised:
            await engine("openai_chat", f"http://127.0.0.1:{port}").ask(REQUEST)
    assert raised.value.code == "protocol"


async def test_a_whole_answer_where_a_stream_was_asked_for() -> None:
    body = played("openai_chat", Turn("all at once"), stream=False).body
    chunks: list[AnyChunk] = []
    async with loopback(Raw(body=body)) as server:
        asked = engine("openai_chat", server.url)
        reply = await asked.ask(REQUEST, chunks.append)  # type: ignore[arg-type]
        await asked.close()
    assert reply.text == "all at once"
    assert [chunk.text for chunk in chunks if isinstance(chunk, TextChunk)] == ["all at once"]


async def test_a_server_that_takes_the_call_and_never_greets_is_given_up_in_time() -> None:
    left = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1_000):
            pass
        writer.close()
        left.set()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    asked = engine("openai_chat", f"https://127.0.0.1:{port}", times=Times(connect=0.1, read=60, total=20))
    try:
        with pytest.raises(EngineError) as raised:
            await asked.ask(REQUEST)
        async with asyncio.timeout(60):
            await left.wait()
    finally:
        await asked.close()
        server.close()
    assert (raised.value.code, raised.value.retryable) == ("connect_timeout", True)


async def test_a_kept_connection_that_was_closed_meanwhile_is_replaced() -> None:
    async with loopback(Turn("one"), Turn("two")) as server:
        asked = engine("openai_chat", server.url)
        assert (await asked.ask(REQUEST)).text == "one"
        await server.stop()
        assert (await asked.ask(REQUEST)).text == "two"
        await asked.close()
        await gone(server)
    assert server.connections == 2


async def test_cancelling_closes_the_stream_at_once() -> None:
    whole = played("openai_chat", Turn("A long answer."), stream=True)
    stalled = Raw(body=whole.body, content_type=whole.content_type, stall_after=len(whole.body) // 2)
    async with loopback(stalled) as server:
        asked = engine("openai_chat", server.url, times=Times(read=60))
        seen = asyncio.Event()
        task = asyncio.ensure_future(asked.ask(REQUEST, lambda chunk: seen.set()))
        await seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await gone(server)


async def test_an_observer_that_raises_ends_the_exchange() -> None:
    def refuse(chunk: AnyChunk) -> None:
        raise ZeroDivisionError

    async with loopback(Turn("hello")) as server:
        asked = engine("openai_chat", server.url)
        with pytest.raises(ZeroDivisionError):
            await asked.ask(REQUEST, refuse)
        await gone(server)


def tls() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context, and that of a client who trusts it."""
    authority = trustme.CA()
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(serving)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    return serving, trusting


async def test_a_certificate_nobody_trusts_and_one_that_is_trusted() -> None:
    serving, trusting = tls()
    async with loopback(Turn("secret"), tls=serving) as server:
        with pytest.raises(EngineError) as raised:
            await engine("openai_chat", server.url).ask(REQUEST)
        assert (raised.value.code, raised.value.retryable) == ("tls", False)
        asked = HttpEngine("openai_chat", Transport(server.url, tls=trusting, times=PATIENT), retry=NEVER)
        assert (await asked.ask(REQUEST)).text == "secret"
        await asked.close()


async def test_https_spoken_to_http() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(EngineError) as raised:
            await engine("openai_chat", f"https://127.0.0.1:{port}").ask(REQUEST)
    assert raised.value.code == "tls"


async def test_a_tunnel_through_a_proxy() -> None:
    serving, trusting = tls()
    asked_for: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked_for.append(head)
        host, port = head.split(b" ")[1].rsplit(b":", 1)
        to_reader, to_writer = await asyncio.open_connection(host.decode(), int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

        async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            while data := await source.read(4096):
                target.write(data)
            target.close()

        await asyncio.gather(copy(reader, to_writer), copy(to_reader, writer), return_exceptions=True)

    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with proxy, loopback(Turn("through"), tls=serving) as server:
        port = proxy.sockets[0].getsockname()[1]
        transport = Transport(server.url, tls=trusting, times=PATIENT, proxy=f"http://me:pass@127.0.0.1:{port}")
        asked = HttpEngine("openai_chat", transport, retry=NEVER)
        assert (await asked.ask(REQUEST)).text == "through"
        await asked.close()
        await gone(server)
    assert b"proxy-authorization: Basic bWU6cGFzcw==" in asked_for[0]


async def test_two_hundred_runs_at_once() -> None:
    number = 200
    async with loopback(*[Turn("fine", pieces=4)] * number) as server:
        asked = engine("openai_chat", server.url, times=Times(connect=30, read=30))
        run = Orchestrator(asked, model_name="some-model")
        results = await asyncio.gather(*(run.run("hi", stream=True) for _ in range(number)))
        await asked.close()
        await gone(server)
    assert [result.text for result in results] == ["fine"] * number


async def test_no_task_is_left_behind() -> None:
    before = asyncio.all_tasks()
    await failed("openai_chat", Raw(500, b"{}"), retry=AT_ONCE)
    async with loopback(Turn("x")) as server:
        asked = engine("openai_chat", server.url)
        await asked.ask(REQUEST)
        await asked.close()
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_that_was_packed_though_nobody_asked(stream: bool) -> None:
    import gzip

    whole = played("openai_chat", Turn("unpacked"), stream=stream)
    packed = Raw(body=gzip.compress(whole.body), content_type=whole.content_type, headers={"content-encoding": "gzip"})
    async with loopback(packed) as server:
        asked = engine("openai_chat", server.url)
        reply = await asked.ask(Request("m", (user("hi"),), stream=stream))
        await asked.close()
    assert reply.text == "unpacked"


HINTS = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("size", [1, 10_000])
async def test_what_a_server_says_before_its_answer_is_passed_over(stream: bool, size: int) -> None:
    whole = played("openai_chat", Turn("the answer"), stream=stream)
    answer = HINTS + b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(whole.body), whole.body)
    left = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for begin in range(0, len(answer), size):
            writer.write(answer[begin : begin + size])
            await writer.drain()
        with suppress(ConnectionError):
            await reader.read()
        writer.close()
        left.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        asked = engine("openai_chat", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        reply = await asked.ask(Request("m", (user("hi"),), stream=stream))
        await asked.close()
        await left.wait()
    assert reply.text == "the answer"


async def test_a_server_that_says_go_on_and_leaves() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        asked = engine("openai_chat", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        with pytest.raises(EngineError) as raised:
            await asked.ask(REQUEST)
    assert raised.value.code == "disconnected"


async def test_one_transport_serves_the_loops_of_several_threads() -> None:
    async with loopback(*[Turn("fine")] * 90) as server:
        # The server runs in this process too: whatever holds the interpreter up for a moment is silence.
        asked = engine("openai_chat", server.url, times=Times(connect=60, read=60))
        run = Orchestrator(asked, model_name="some-model")

        def several() -> list[str]:
            async def at_once() -> list[str]:
                try:
                    return [result.text for result in await asyncio.gather(*(run.run("hi") for _ in range(10)))]
                finally:
                    await run.close()

            return [text for _ in range(2) for text in asyncio.run(at_once())] + [
                run.run_sync("hi").text for _ in range(10)
            ]

        texts = await asyncio.gather(*(asyncio.to_thread(several) for _ in range(3)))
        await gone(server)
    assert texts == [["fine"] * 30] * 3


async def test_a_connection_whose_answer_comes_after_the_transport_was_closed_is_closed_too() -> None:
    asked = asyncio.Event()
    go_on = asyncio.Event()

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await go_on.wait()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        assert await reader.read() == b""
        writer.close()
        left.set()

    left = asyncio.Event()
    server = await asyncio.start_server(late, "127.0.0.1", 0)
    async with server:
        transport = Transport(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        task = asyncio.ensure_future(transport.exchange("/", b""))
        await asked.wait()
        await transport.close()
        go_on.set()
        assert (await task).body == b"{}"
        async with asyncio.timeout(60):
            await left.wait()


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_proxy_that_never_answers_leaves_no_connection(cancelled: bool) -> None:
    came, left = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        came.set()
        assert await reader.read() == b""
        writer.close()
        left.set()

    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with proxy:
        address = f"http://me:pass-word@127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        times = Times(connect=60 if cancelled else 0.5, read=60)
        asked = HttpEngine("openai_chat", Transport("https://example.invalid", times=times, proxy=address), retry=NEVER)
        task = asyncio.ensure_future(asked.ask(REQUEST))
        if cancelled:
            await came.wait()
            task.cancel()
        await asyncio.wait([task])
        if came.is_set():  # the time may be over before the proxy is asked
            async with asyncio.timeout(60):
                await left.wait()
    if not cancelled:
        error = task.exception()
        assert isinstance(error, EngineError)
        assert error.code in ("connect_timeout", "read_timeout")
        assert "pass-word" not in str(error)


def test_a_password_in_an_address_is_not_shown() -> None:
    with pytest.raises(ConfigError) as raised:
        Transport("https://example.org", proxy="socks5://me:pass-word@proxy.example:1080")
    assert "pass-word" not in str(raised.value)
    assert "proxy.example" in str(raised.value)
    assert "SOCKS is not spoken here: name an HTTP proxy" in str(raised.value)


def test_a_socks_proxy_of_the_environment_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ALL_PROXY", "socks5h://proxy.example:1080")
    with pytest.raises(ConfigError, match=r"speaks socks5h.*NO_PROXY"):
        Transport("https://example.org")
    monkeypatch.setenv("NO_PROXY", "example.org")
    Transport("https://example.org")


async def test_a_proxy_that_is_not_there_is_named() -> None:
    with nobody_listening() as port:
        transport = Transport("https://example.invalid", times=PATIENT, proxy=f"http://me:pass-word@127.0.0.1:{port}")
        with pytest.raises(EngineError) as raised:
            await HttpEngine("openai_chat", transport, retry=NEVER).ask(REQUEST)
    assert f"proxy 127.0.0.1:{port}" in str(raised.value)
    assert "pass-word" not in str(raised.value)


async def test_a_certificate_for_another_name() -> None:
    serving, trusting = tls()
    async with loopback(Turn("never"), tls=serving) as server:
        address = server.url.replace("127.0.0.1", "localhost")
        asked = HttpEngine("openai_chat", Transport(address, tls=trusting, times=PATIENT), retry=AT_ONCE)
        with pytest.raises(EngineError) as raised:
            await asked.ask(REQUEST)
    assert (raised.value.code, raised.value.retryable, server.requests) == ("tls", False, [])


async def test_an_address_in_six_groups() -> None:
    served = Loopback([Turn("hello")])
    server = await asyncio.start_server(served.serve, "::1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        asked = engine("openai_chat", f"http://[::1]:{port}/v1")
        assert (await asked.ask(REQUEST)).text == "hello"
        await asked.close()
        await gone(served)
    assert served.requests[0].headers["host"] == f"[::1]:{port}"


async def test_a_key_that_a_server_repeats_in_a_header_is_not_recorded() -> None:
    exchanges: list[Any] = []
    async with loopback(
        Raw(body=played("openai_chat", Turn("x"), stream=False).body, headers={"x-echo": "sk-secret"})
    ) as server:
        asked = engine("openai_chat", server.url, record=exchanges.append)
        await asked.ask(REQUEST)
        await asked.close()
    assert exchanges[0].response_headers["x-echo"] == "***"


@pytest.mark.parametrize("api", ALL)
async def test_what_an_address_asks_for_is_asked_for_each_time(api: str) -> None:
    async with loopback(Turn("hello")) as server:
        asked = engine(api, f"{server.url}/openai/?api-version=2024-10-21")
        assert (await asked.ask(REQUEST, lambda chunk: None)).text == "hello"
        await asked.close()
    path, _, query = server.requests[0].path.partition("?")
    assert path.startswith("/openai/")
    assert PATHS[api] in path
    assert "api-version=2024-10-21" in query.split("&")
