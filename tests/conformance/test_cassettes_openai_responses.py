"""Every recorded exchange of the Responses API: replies, streams, errors and requests.

Exceptions are listed here with their reasons; a recording that is not listed and fails is a defect.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.apis.base.api import StreamDecoder
from dragoman.apis.base.conversation_order import Turn
from dragoman.apis.openai_responses import API
from dragoman.apis.openai_responses.writing import ItemWriter
from dragoman.errors import DefinitionError, EngineError
from dragoman.model.calls import NativeCall
from dragoman.model.conversation import Reply
from dragoman.model.request import (
    AnyChunk,
    ArgumentsChunk,
    CallFinished,
    CallStarted,
    CitationArrived,
    Finished,
    RefusalChunk,
    ResultArrived,
    TextChunk,
    ThinkingChunk,
    UsageArrived,
)

Cassette = dict[str, Any]

TERMINAL = ("response.completed", "response.incomplete")

FAILED_STREAMS = {
    "121ace4954ee": "rate_limit_exceeded",
    "7067845a073a": "unknown-error",
    "f34c0623eb3b": "insufficient_quota",
}
"""Streams that tell of an error → its code."""

BESIDE_THE_RESPONSE = {"3f4d6f87c018", "e2e6f92cc417", "ff665176b427"}
"""GitHub Copilot's last event has `copilot_usage` beside the response; the reply keeps it, a body alone has none."""

ENCRYPTED_AGAIN = {"6d07130d3c57"}
"""A program's fingerprint is encrypted anew in the last event: the call told at its end holds the first."""

MENDED_REQUESTS = {
    "150e668a11c2": "refused when recorded: a strict schema whose `unit` was not required",
    "af613dba1994": "refused when recorded: a reasoning item with an id before a message without one",
}

BESIDE_ALTERNATIVES = {
    *("105437e99a63", "1a1d78d74f0c", "1e4ddefedae6", "457ce3dccc9c", "659b593c4318", "65ee65cf31cd", "69bded18e1ec"),
    *("89e2f463b8f1", "93ff558e3df1", "9515ad65e2d0", "9b0fd598d13a", "b3e18a4d83d8", "c67833e890fc", "c7b771026cf5"),
    *("cf1ff25140c6", "dc89b6689c4a", "fa0ab8e99c52"),
}
"""One toolset: its strict schemas repeat beside `anyOf` what stands in one alternative; they are offered merged."""


@cache
def _all(folder: Path) -> tuple[Cassette, ...]:
    paths = sorted((folder / "cassettes" / "openai-responses").glob("*.json"))
    assert len(paths) == 1591
    return tuple(msgspec.json.decode(path.read_bytes()) for path in paths)


@pytest.fixture(scope="module")
def cassettes(shared: Path) -> tuple[Cassette, ...]:
    return _all(shared)


def short(cassette: Cassette) -> str:
    return str(cassette["id"]).rpartition("-")[2]


def wire(cassette: Cassette) -> bytes:
    """The stream as it came, or as it would have come where only its events were kept."""
    if cassette.get("raw_sse"):
        return str(cassette["raw_sse"]).encode()
    return b"".join(_event(one) for one in cassette["events"])


def _event(event: dict[str, Any]) -> bytes:
    data = event["data"]
    text = data.encode() if isinstance(data, str) else msgspec.json.encode(data)
    name = f"event: {event['event']}\n".encode() if event.get("event") else b""
    return name + b"data: " + text + b"\n\n"


def decoded(cassette: Cassette, pieces: Iterator[bytes] | list[bytes]) -> tuple[Reply | EngineError, list[AnyChunk]]:
    stream: StreamDecoder = API.stream()
    chunks = [chunk for piece in pieces for chunk in stream.feed(piece)]
    try:
        return stream.close(), chunks
    except EngineError as error:
        return error, chunks


def last_response(cassette: Cassette) -> dict[str, Any] | None:
    events = [one["data"] for one in cassette["events"] if isinstance(one["data"], dict)]
    ends = [one["response"] for one in events if one.get("type") in TERMINAL]
    return ends[-1] if ends else None


def whole_bodies(cassettes: tuple[Cassette, ...]) -> Iterator[tuple[Cassette, dict[str, Any]]]:
    for cassette in cassettes:
        if cassette.get("events"):
            body = last_response(cassette)
            if body is not None:
                yield cassette, body
        elif cassette["status"] < 400:
            yield cassette, cassette["response"]


# ── replies ──────────────────────────────────────────────────────────────────


def test_every_response_is_read_and_its_items_go_back_as_they_came(cassettes: tuple[Cassette, ...]) -> None:
    read = 0
    for cassette, body in whole_bodies(cassettes):
        reply = API.decode(body)
        writer = ItemWriter(unchecked=True)
        writer.turn(Turn("assistant", list(reply.parts), "reply"))
        assert writer.items == body["output"], cassette["id"]
        assert not writer.remarks, cassette["id"]
        read += 1
    assert read == 1561


def test_every_text_thought_call_citation_and_count_of_a_response_is_in_its_typed_place(
    cassettes: tuple[Cassette, ...],
) -> None:
    for cassette, body in whole_bodies(cassettes):
        reply = API.decode(body)
        items = [item for item in body["output"] if isinstance(item, dict)]
        # A compaction gives back what the user said, which is not the model's word.
        messages = [item for item in items if item["type"] == "message" and item.get("role") != "user"]
        contents = [one for item in messages for one in item["content"]]
        texts = [one["text"] for one in contents if "text" in one]
        assert reply.text == "".join(texts), cassette["id"]
        for item in items:
            if item["type"] == "reasoning":
                for piece in [*item.get("summary", []), *(item.get("content") or [])]:
                    assert piece["text"] in reply.thinking, cassette["id"]
            if item["type"] in ("function_call", "custom_tool_call"):
                assert (item["call_id"], item["name"]) in {(call.id, call.name) for call in reply.calls}, cassette["id"]
        annotations = [one for content in contents for one in content.get("annotations") or ()]
        assert [(one.get("url"), one.get("file_id")) for one in annotations] == [
            (one.url, one.document) for one in reply.citations
        ], cassette["id"]
        usage = body.get("usage")
        if usage:
            assert reply.usage.total == usage["input_tokens"] + usage["output_tokens"], cassette["id"]


# ── streams ──────────────────────────────────────────────────────────────────


def streams(cassettes: tuple[Cassette, ...]) -> Iterator[Cassette]:
    return (cassette for cassette in cassettes if cassette.get("events"))


def test_every_stream_gives_the_reply_of_the_whole_body(cassettes: tuple[Cassette, ...]) -> None:
    seen = 0
    for cassette in streams(cassettes):
        reply, _ = decoded(cassette, [wire(cassette)])
        seen += 1
        if short(cassette) in FAILED_STREAMS:
            assert isinstance(reply, EngineError)
            assert reply.code == FAILED_STREAMS[short(cassette)]
            assert isinstance(reply.partial, Reply)
            continue
        assert isinstance(reply, Reply), cassette["id"]
        body = last_response(cassette)
        assert body is not None
        if not body["output"]:  # told by its items alone
            done = [one["data"] for one in cassette["events"] if one["data"].get("type") == "response.output_item.done"]
            body = {**body, "output": [one["item"] for one in done]}
        whole = API.decode(body)
        if short(cassette) in BESIDE_THE_RESPONSE:
            (beside,) = reply.metadata[API.name].pop("events")
            assert beside.keys() == {"copilot_usage"}
        assert reply == whole, cassette["id"]
    assert seen == 520


def test_the_chunks_of_every_stream_say_what_the_reply_says(cassettes: tuple[Cassette, ...]) -> None:
    for cassette in streams(cassettes):
        reply, chunks = decoded(cassette, [wire(cassette), b"\n\n"])  # some fixtures end without the last empty line
        if isinstance(reply, EngineError):
            continue
        where = cassette["id"]
        assert text_of(chunks, TextChunk) == reply.text, where
        assert text_of(chunks, ThinkingChunk) == reply.thinking, where
        assert text_of(chunks, RefusalChunk) == "".join(
            part.text for part in reply.parts if type(part).__name__ == "RefusalPart"
        ), where
        assert [one.call_id for one in chunks if isinstance(one, CallStarted)] == [call.id for call in reply.calls], (
            where
        )
        finished = tuple(one.call for one in chunks if isinstance(one, CallFinished))
        if short(cassette) not in ENCRYPTED_AGAIN:
            assert finished == reply.calls, where
        assert tuple(one.result for one in chunks if isinstance(one, ResultArrived)) == reply.results, where
        assert len([one for one in chunks if isinstance(one, CitationArrived)]) == len(reply.citations), where
        assert [one.usage for one in chunks if isinstance(one, UsageArrived)] == [reply.usage], where
        assert [one.finish for one in chunks if isinstance(one, Finished)] == [reply.finish], where
        for call in finished:
            assert said(call) in (arguments_of(chunks, call.id), None), where


def text_of(chunks: list[AnyChunk], kind: type[TextChunk | ThinkingChunk | RefusalChunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, kind))


def arguments_of(chunks: list[AnyChunk], call_id: str) -> Any:
    text = "".join(one.text for one in chunks if isinstance(one, ArgumentsChunk) and one.call_id == call_id)
    try:
        return msgspec.json.decode(text) if text else {}
    except msgspec.DecodeError:
        return text


def said(call: NativeCall) -> Any:
    """What the deltas of a call must add up to; `None` where an item says its arguments otherwise."""
    return call.arguments if call.item is None else None


def test_a_stream_is_the_same_however_its_bytes_are_cut(cassettes: tuple[Cassette, ...]) -> None:
    chance = random.Random(6)
    for cassette in streams(cassettes):
        data = wire(cassette)
        whole, chunks = decoded(cassette, [data])
        cuts: list[list[bytes]] = [cut(data, sorted(chance.randrange(len(data)) for _ in range(12)))]
        if len(data) < 6_000:
            cuts.append([data[place : place + 1] for place in range(len(data))])
        for pieces in cuts:
            again, same_chunks = decoded(cassette, pieces)
            assert same_chunks == chunks, cassette["id"]
            assert outcome(again) == outcome(whole), cassette["id"]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


def outcome(reply: Reply | EngineError) -> Any:
    return (str(reply), reply.partial) if isinstance(reply, EngineError) else reply


def test_a_stream_cut_off_anywhere_gives_what_had_come(cassettes: tuple[Cassette, ...]) -> None:
    chance = random.Random(7)
    for cassette in streams(cassettes):
        events = wire(cassette).split(b"\n\n")
        kept = events[: chance.randrange(len(events))]
        if any(b"response.completed" in one or b"response.incomplete" in one or b"error" in one for one in kept):
            continue
        reply, chunks = decoded(cassette, [b"\n\n".join([*kept, b""])])
        assert isinstance(reply, Reply)
        assert reply.finish == "interrupted"
        assert reply.text == text_of(chunks, TextChunk), cassette["id"]
        assert reply.thinking == text_of(chunks, ThinkingChunk), cassette["id"]
        assert [call.id for call in reply.calls] == [one.call_id for one in chunks if isinstance(one, CallStarted)]


# ── errors ───────────────────────────────────────────────────────────────────


def test_every_recorded_error_says_what_went_wrong(cassettes: tuple[Cassette, ...]) -> None:
    seen = 0
    for cassette in cassettes:
        if cassette["status"] < 400:
            continue
        headers, body = cassette.get("response_headers") or {}, cassette["response"]
        error = API.error(cassette["status"], headers, body)
        details = body["error"] if isinstance(body.get("error"), dict) else body
        message = details.get("message") or details.get("error") or details.get("detail")
        request_id = next((value for name, value in headers.items() if name.lower() == "x-request-id"), None)
        assert message is None or error.message == message, cassette["id"]
        assert (error.status, error.request_id) == (cassette["status"], request_id), cassette["id"]
        assert error.code == (details.get("code") or details.get("type")), cassette["id"]
        assert not error.retryable, cassette["id"]
        as_bytes = API.error(cassette["status"], headers, msgspec.json.encode(body))
        assert str(as_bytes) == str(error)
        seen += 1
    assert seen == 27


# ── requests ─────────────────────────────────────────────────────────────────


def test_every_recorded_request_is_read_and_written_again(cassettes: tuple[Cassette, ...]) -> None:
    differing: dict[str, str] = {}
    seen = 0
    for cassette in cassettes:
        body = cassette.get("request")
        if not isinstance(body, dict):
            continue
        seen += 1
        try:
            again = API.encode(API.read_request(body)).body
        except DefinitionError as error:
            differing[short(cassette)] = str(error)
            continue
        if equivalent(again) != equivalent(body):
            differing[short(cassette)] = "another body"
    assert seen == 1500
    assert differing.keys() - BESIDE_ALTERNATIVES == MENDED_REQUESTS.keys(), differing


def equivalent(body: dict[str, Any]) -> dict[str, Any]:
    """A body without what makes no difference."""
    plain = {name: value for name, value in body.items() if value is not None}  # null is "not given"
    for name, default in (("tool_choice", "auto"), ("stream", False), ("tools", [])):  # the API's defaults
        if plain.get(name) == default:
            del plain[name]
    given = plain.get("input")
    if isinstance(given, str):  # a text is one message of the user
        given = [{"role": "user", "content": given}]
    if isinstance(given, list):
        plain["input"] = [_plain_item(item) for item in given]
    if "tools" in plain:
        plain["tools"] = [_plain_tool(tool) for tool in plain["tools"]]
    if isinstance(plain.get("text"), dict) and isinstance(plain["text"].get("format"), dict):
        form = {name: value for name, value in plain["text"]["format"].items() if value is not None}
        plain["text"] = {**plain["text"], "format": form}
    return plain


def _plain_item(item: dict[str, Any]) -> dict[str, Any]:
    """A message whose only content is a text says the same as one whose content is that text."""
    content = item.get("content")
    if "role" not in item or not isinstance(content, list) or len(content) != 1:
        return item
    (only,) = content
    if only.get("type") not in ("input_text", "output_text") or only.get("annotations"):
        return item
    return {**item, "content": only["text"]} if only.keys() <= {"type", "text", "annotations"} else item


def _plain_tool(tool: dict[str, Any]) -> dict[str, Any]:
    """Null is "not given"; an empty description says nothing, and neither does an empty list of required ones."""
    plain = {name: value for name, value in tool.items() if value is not None and (name, value) != ("description", "")}
    if tool.get("type") == "namespace":
        plain["tools"] = [_plain_tool(one) for one in tool["tools"]]
    schema = plain.get("parameters")
    if isinstance(schema, dict) and schema.get("required") == []:
        plain["parameters"] = {name: value for name, value in schema.items() if name != "required"}
    return plain
