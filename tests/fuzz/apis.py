"""The codecs: replies, streams, recorded requests and errors of every wire API."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.apis import APIS
from dragoman.errors import DefinitionError, EngineError
from dragoman.model import AnyChunk, CallStarted, Message, NativeResult, Reply, Request, ResultPart, user
from tests.apis.samples import BODIES, STREAMS, as_bytes
from tests.laws.test_api_laws import DEFINITIONS

from .drawing import Draw, pieces
from .target import Target

ALL = sorted(APIS.built_in)
REPLIES = {name: [msgspec.json.encode(body) for body in BODIES[name]] for name in ALL}
EVENTS = {name: [msgspec.json.encode(events) for events, _ in STREAMS[name]] for name in ALL}


# ── replies ──────────────────────────────────────────────────────────────────


def draw_reply(draw: Draw) -> tuple[str, Any]:
    api = draw.choice(ALL)
    return api, draw.json() if draw.one_in(20) else draw.damaged_json(REPLIES[api])


def check_reply(given: tuple[str, Any]) -> None:
    api, body = given
    try:
        reply = APIS[api].decode(body)
    except EngineError:
        return
    check_value(reply)
    check_sent_back(api, reply)


def check_value(reply: Reply) -> None:
    """A reply is the same after it was JSON, its calls have ids, and what is made of its parts can be asked for."""
    assert msgspec.json.decode(msgspec.json.encode(reply), type=Reply) == reply, "it is another reply after JSON"
    assert all(call.id for call in reply.calls), "a call has no id"
    assert isinstance(reply.text + reply.thinking, str)
    assert isinstance(reply.citations, tuple)


def check_sent_back(api: str, reply: Reply) -> None:
    """A reply can be sent on with the results of its calls, or is refused with every problem."""
    results = tuple(
        ResultPart(NativeResult(call.id, "ok", name=call.name)) for call in reply.calls if call.executed_by == "client"
    )
    request = Request("some-model", (user("go"), reply, Message("tool", results)))
    try:
        encoded = APIS[api].encode(request)
    except DefinitionError:
        return
    msgspec.json.decode(encoded.to_bytes())
    APIS[api].read_request(encoded.body, model="some-model")


# ── streams ──────────────────────────────────────────────────────────────────


def draw_stream(draw: Draw) -> tuple[str, list[bytes]]:
    api = draw.choice(ALL)
    events: Any = (
        draw.damaged_json(EVENTS[api]) if not draw.one_in(4) else msgspec.json.decode(draw.choice(EVENTS[api]))
    )
    listed = events if isinstance(events, list) else [events]
    if draw.one_in(10):
        draw.shuffle(listed)
    named = draw.one_in(2)
    end = draw.choice(("\n", "\n", "\r\n", "\r"))
    raw = b"".join(_event(event, named, end) for event in listed)
    if draw.one_in(3):
        raw = draw.damaged_bytes(raw, (b"data: ", b"event: ", b"\n\n", b"[DONE]", b"data: [DONE]\n\n", b'{"type":'))
    return api, pieces(raw, draw.cuts(len(raw)))


def _event(event: Any, named: bool, end: str) -> bytes:
    return as_bytes([event], named=named and isinstance(event, dict), end=end)


def check_stream(given: tuple[str, list[bytes]]) -> None:
    api, parts = given
    chunks, reply = fed(api, parts, look=True)
    assert (chunks, reply) == fed(api, [b"".join(parts)]), "cut in pieces it gives another reply"
    if isinstance(reply, Reply):
        check_value(reply)


def fed(api: str, parts: list[bytes], *, look: bool = False) -> tuple[list[AnyChunk], Reply | str]:
    decoder = APIS[api].stream()
    chunks: list[AnyChunk] = []
    for part in parts:
        chunks += decoder.feed(part)
        for chunk in chunks if look else ():
            if isinstance(chunk, CallStarted):
                decoder.arguments(chunk.call_id)
    try:
        return chunks, decoder.close()
    except EngineError as error:
        return chunks, str(error)


# ── requests and errors ──────────────────────────────────────────────────────


def _requests(api: str) -> list[bytes]:
    codec = APIS[api]
    found = []
    for body in BODIES[api]:
        reply = codec.decode(body)
        results = tuple(ResultPart(NativeResult(call.id, "ok", name=call.name)) for call in reply.calls)
        request = Request("some-model", (user("go"), reply, Message("tool", results), user("on")), DEFINITIONS)
        found.append(codec.encode(request).to_bytes())
    return found


REQUESTS = {name: _requests(name) for name in ALL}


def draw_request(draw: Draw) -> tuple[str, Any]:
    api = draw.choice(ALL)
    return api, draw.damaged_json(REQUESTS[api])


def check_request(given: tuple[str, Any]) -> None:
    api, body = given
    codec = APIS[api]
    try:
        request = codec.read_request(body, model="some-model")
    except DefinitionError:
        return
    except EngineError:
        assert not isinstance(body, dict), "an object is a request, however wrong"
        return
    assert msgspec.json.decode(msgspec.json.encode(request), type=Request) == request, "it is another one after JSON"
    try:
        encoded = codec.encode(request)
    except DefinitionError:
        return
    codec.read_request(encoded.body, model="some-model")


STATUSES = (None, 200, 301, 400, 401, 403, 404, 408, 413, 422, 429, 500, 502, 503, 529, 999)
ERRORS = [
    msgspec.json.encode(error)
    for error in (
        {"error": {"message": "no", "type": "invalid_request_error", "code": "x", "param": None}},
        {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}, "request_id": "req_1"},
        {"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "3s"}]}},
        [{"error": {"code": 500, "message": "no", "status": "INTERNAL"}}],
        {"detail": [{"loc": ["body"], "msg": "no"}], "message": "no"},
    )
]
HEADERS = ("Retry-After", "retry-after-ms", "x-request-id", "request-id", "content-type", "x-ratelimit-reset-tokens")


def draw_error(draw: Draw) -> tuple[str, int | None, dict[str, str], Any]:
    body: Any = draw.damaged_json(ERRORS)
    if draw.one_in(3):
        body = draw.damaged_bytes(msgspec.json.encode(body))
        body = body.decode(errors="replace") if draw.one_in(2) else body
    headers = {
        name: draw.choice(("2", "0", "-1", "1e9", "nan", "soon", draw.text(3))) for name in draw.some(HEADERS, 3)
    }
    return draw.choice(ALL), draw.choice(STATUSES), headers, body


def check_error(given: tuple[str, int | None, dict[str, str], Any]) -> None:
    api, status, headers, body = given
    error = APIS[api].error(status, headers, body)
    assert isinstance(error, EngineError)
    assert error.status == status or not (status and status >= 400), "it tells another status"
    assert isinstance(error.message, str)
    assert error.message, "it says nothing"
    assert error.retry_after is None or 0 <= error.retry_after < float("inf"), "no time to wait"


_STREAMS = [
    # what stood between two objects was judged after both of them where all came at once
    ("gemini_generate", [b'{"":""}}{"', b'"}']),
    ("gemini_generate", [b"[{} nul", b"l {}]"]),
    # what came behind [DONE] was finished by it where both came at once
    ("openai_chat", [b"data:[DONE]\n\n", b'data:{"choices":[{}]}\n\n']),
]

TARGETS = [
    Target("replies", draw_reply, check_reply),
    Target("streams", draw_stream, check_stream, examples=_STREAMS),
    Target(
        "requests",
        draw_request,
        check_request,
        examples=[("gemini_generate", {"contents": [{}], "tools": [True]}), ("gemini_generate", "")],
    ),
    Target("errors", draw_error, check_error),
]
