"""A streamed answer → typed chunks and the reply, for text and for arguments, in every wire API.

The floor splits the bytes into lines and decodes the JSON of each. The official SDK reads the same bytes through its
own streaming client, with its HTTP library answering from memory: no socket is opened.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import cache, partial
from typing import Any

from bench.benches import Bench, Target
from bench.stopwatch import per_call
from tests.engine.loopback import Turn, played

DELTAS = 3000
FEWEST = DELTAS - 5
PIECE = 1400
"""Bytes that come at once from a network: what one packet holds."""
TEXT = "".join(f" word{number % 10}" for number in range(DELTAS))
ARGUMENTS = {"text": TEXT[: -len('{"text": ""}')]}  # so that its JSON is cut as the text is
APIS = {
    "openai_chat": "openai",
    "openai_responses": "openai",
    "anthropic_messages": "anthropic",
    "gemini_generate": "google_genai",
}
"""Wire API → the environment of its official SDK."""


@cache
def stream_of(api: str, kind: str) -> bytes:
    """A response of some thousand deltas of one kind."""
    if kind == "text":
        return played(api, Turn(TEXT, pieces=DELTAS), stream=True).body
    if api == "gemini_generate":
        return b"".join(map(_event, _assignments()))
    return played(api, Turn(calls=(("call_1", "write", ARGUMENTS),), pieces=DELTAS), stream=True).body


def _event(data: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(data)}\r\n\r\n".encode()


def _assignments() -> Iterable[dict[str, Any]]:
    """Gemini streams arguments as values with their places."""
    text, size = ARGUMENTS["text"], len(TEXT) // DELTAS
    yield _candidate({"name": "write", "id": "call_1", "willContinue": True})
    for begin in range(0, len(text), size):
        said = {"jsonPath": "$.text", "stringValue": text[begin : begin + size], "willContinue": True}
        yield _candidate({"partialArgs": [said], "willContinue": True})
    yield _candidate({"partialArgs": [{"jsonPath": "$.text", "stringValue": ""}], "willContinue": True})
    yield _candidate({}, finishReason="STOP")


def _candidate(call: dict[str, Any], **more: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"functionCall": call}]}
    return {"candidates": [{"content": content, "index": 0, **more}], "modelVersion": "played", "responseId": "r1"}


def in_pieces(data: bytes) -> list[bytes]:
    return [data[begin : begin + PIECE] for begin in range(0, len(data), PIECE)]


def by_event(data: bytes) -> list[bytes]:
    end = b"\r\n\r\n" if b"\r\n\r\n" in data else b"\n\n"
    return [event + end for event in data.split(end) if event]


CUTS: dict[str, Callable[[bytes], list[bytes]]] = {"in pieces": in_pieces, "by event": by_event}


# ── columns: each gives what decodes the stream once, and says how many deltas it saw ──


def ours(api: str, kind: str, cut: str) -> Callable[[], int]:
    from dragoman import apis
    from dragoman.model import ArgumentsChunk, TextChunk

    codec = apis.APIS[api]
    pieces = CUTS[cut](stream_of(api, kind))
    wanted = TextChunk if kind == "text" else ArgumentsChunk

    def decode() -> int:
        decoder = codec.stream()
        for piece in pieces:
            decoder.feed(piece)
        decoder.close()
        return DELTAS

    decoder = codec.stream()
    chunks = [chunk for piece in pieces for chunk in decoder.feed(piece)]
    reply = decoder.close()
    said = reply.text if kind == "text" else reply.calls[0].arguments
    if said != (TEXT if kind == "text" else ARGUMENTS) or sum(type(chunk) is wanted for chunk in chunks) < FEWEST:
        raise SystemExit(f"{api} was not decoded as it was said")
    return decode


def floor(api: str, kind: str, cut: str) -> Callable[[], int]:
    from msgspec.json import Decoder

    pieces = CUTS[cut](stream_of(api, kind))
    read = Decoder().decode

    def decode() -> int:
        events = 0
        rest = b""
        for piece in pieces:
            lines = (rest + piece).split(b"\n")
            rest = lines.pop()
            for line in lines:
                if line[:6] == b"data: " and line[6:12] != b"[DONE]":
                    read(line[6:])
                    events += 1
        return events

    return decode


def official(api: str, kind: str, cut: str) -> Callable[[], Awaitable[int]]:
    import httpx2

    pieces = CUTS[cut](stream_of(api, kind))

    async def arriving() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    def answer(request: Any) -> Any:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=arriving())

    return SDKS[api](httpx2.AsyncClient(transport=httpx2.MockTransport(answer)))


MESSAGES: Any = [{"role": "user", "content": "Go on."}]


def openai_chat(client: Any) -> Callable[[], Awaitable[int]]:
    from openai import AsyncOpenAI

    chat = AsyncOpenAI(api_key="x", http_client=client).chat.completions

    async def decode() -> int:
        deltas = 0
        async for chunk in await chat.create(model="played", messages=MESSAGES, stream=True):
            deltas += bool(chunk.choices and (chunk.choices[0].delta.content or chunk.choices[0].delta.tool_calls))
        return deltas

    return decode


def openai_responses(client: Any) -> Callable[[], Awaitable[int]]:
    from openai import AsyncOpenAI

    responses = AsyncOpenAI(api_key="x", http_client=client).responses

    async def decode() -> int:
        deltas = 0
        async for event in await responses.create(model="played", input="Go on.", stream=True):
            deltas += event.type.endswith(".delta")
        return deltas

    return decode


def anthropic_messages(client: Any) -> Callable[[], Awaitable[int]]:
    from anthropic import AsyncAnthropic

    messages = AsyncAnthropic(api_key="x", http_client=client).messages

    async def decode() -> int:
        deltas = 0
        async for event in await messages.create(model="played", max_tokens=9, messages=MESSAGES, stream=True):
            deltas += event.type == "content_block_delta"
        return deltas

    return decode


def gemini_generate(client: Any) -> Callable[[], Awaitable[int]]:
    from google import genai
    from google.genai import types

    models: Any = genai.Client(api_key="x", http_options=types.HttpOptions(httpx_async_client=client)).aio.models

    async def decode() -> int:
        deltas = 0
        async for chunk in await models.generate_content_stream(model="played", contents="Go on."):
            part = chunk.candidates[0].content.parts[0]
            deltas += bool(part.text or (part.function_call and part.function_call.partial_args))
        return deltas

    return decode


SDKS: dict[str, Callable[[Any], Callable[[], Awaitable[int]]]] = {
    each.__name__: each for each in (openai_chat, openai_responses, anthropic_messages, gemini_generate)
}


# ── measuring ────────────────────────────────────────────────────────────────


def measure(api: str, kind: str, column: str) -> list[float]:
    who, _, cut = column.partition(", ")
    if who == "official SDK":
        return per_call(_on_a_loop(official(api, kind, cut)))
    decode = (ours if who == "ours" else floor)(api, kind, cut)
    _check(decode(), column)

    def several(times: int) -> None:
        for _ in range(times):
            decode()

    return per_call(several)


def _on_a_loop(decode: Callable[[], Awaitable[int]]) -> Callable[[int], object]:
    loop = asyncio.new_event_loop()

    async def several(times: int) -> None:
        for _ in range(times):
            _check(await decode(), "the official SDK")

    return lambda times: loop.run_until_complete(several(times))


def _check(deltas: int, column: str) -> None:
    if deltas < FEWEST:
        raise SystemExit(f"{column} saw {deltas} of {DELTAS} deltas")


def _bench(api: str, kind: str) -> Bench:
    environments = {"ours": "base", "floor": "base", "official SDK": APIS[api]}
    return Bench(
        question=f"decode a stream of {api}, {DELTAS} deltas of {kind}",
        environments={f"{who}, {cut}": where for who, where in environments.items() for cut in CUTS},
        floor="floor, in pieces",
        targets=[
            Target(f"ours, {cut}", f"{who}, {cut}", most)
            for cut in CUTS
            for who, most in (("floor", 3), ("official SDK", 1 / 15))
        ],
        measure=partial(measure, api, kind),
    )


BENCHES = {f"{api}:{kind}": _bench(api, kind) for api in APIS for kind in ("text", "arguments")}
