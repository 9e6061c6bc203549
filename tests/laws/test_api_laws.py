"""Laws of every wire API that is listed: a new codec is held to them the moment it has its row."""

from __future__ import annotations

import base64
import copy
import json
from datetime import datetime
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, strategies as st

from dragoman.apis import APIS, Encoded
from dragoman.apis.base.endpoints import when
from dragoman.errors import DefinitionError, EngineError
from dragoman.model import (
    AnyChunk,
    ArgumentsChunk,
    CallFinished,
    CallPart,
    CallStarted,
    Conversation,
    FinishReason,
    FreeformDefinition,
    FunctionDefinition,
    Media,
    MediaPart,
    Message,
    NativeCall,
    NativeResult,
    ProviderDefinition,
    Reply,
    Request,
    ResultPart,
    TextChunk,
    TextPart,
    Thinking,
    ThinkingChunk,
    ToolChoice,
    assistant,
    system,
    user,
)
from tests.apis.samples import BODIES, STREAMS, as_bytes
from tests.examples import examples
from tests.strategies import JSON, JSON_OBJECT

ALL = sorted(APIS.built_in)
few = examples(40)


def test_every_api_has_samples() -> None:
    assert sorted(BODIES) == sorted(STREAMS) == ALL


# ── tokens ───────────────────────────────────────────────────────────────────

COUNTED = [  # what any of them writes in a usage
    *("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "service_tier"),
    *("cache_creation", "inference_geo", "server_tool_use", "output_tokens_details", "prompt_tokens", "total_tokens"),
    *("completion_tokens", "input_tokens_details", "promptTokenCount", "candidatesTokenCount", "other"),
]
USAGES = st.dictionaries(st.sampled_from(COUNTED), st.integers(-1, 10**6) | JSON)
USUAL_USAGES = st.fixed_dictionaries(
    dict.fromkeys(COUNTED[:4], st.sampled_from([0, 7, 10**6, 10**30] * 3 + [-1, True, 2.0, None])),
    optional=dict.fromkeys([*COUNTED[4:7], "other"], st.sampled_from(["standard", {"a": 1}, None, 0])),
)


@pytest.mark.parametrize("api", ALL)
@examples(200)
@given(usage=USUAL_USAGES | USAGES | JSON)
@example(usage=dict.fromkeys(COUNTED[:4], 0))
@example(usage=dict.fromkeys(COUNTED[:4], 7) | {"cache_creation": {"a": 1}, "service_tier": "b", "inference_geo": "c"})
def test_tokens_as_they_are_written_are_read_as_those_that_are_decoded(api: str, usage: Any) -> None:
    written = json.dumps(usage).encode()
    expected = APIS[api].read_usage(usage) if isinstance(usage, dict) else None
    assert APIS[api].read_usage_json(written) == expected
    assert APIS[api].read_usage_json(msgspec.Raw(written)) == expected


# ── replies ──────────────────────────────────────────────────────────────────


def fed(api: str, raw: bytes, cuts: list[int]) -> tuple[list[AnyChunk], Reply | str]:
    decoder, chunks, begin = APIS[api].stream(), [], 0
    for cut in [*sorted(cut % (len(raw) + 1) for cut in cuts), len(raw)]:
        chunks += decoder.feed(raw[begin:cut])
        begin = cut
    try:
        return chunks, decoder.close()
    except EngineError as error:
        return chunks, str(error)


@pytest.mark.parametrize("api", ALL)
@few
@given(st.lists(st.integers(0, 10**6), max_size=20), st.booleans(), st.sampled_from(["\n", "\r\n", "\r"]))
def test_a_stream_cut_anywhere_gives_the_reply_of_the_whole_body(
    api: str, cuts: list[int], named: bool, end: str
) -> None:
    for events, body in STREAMS[api]:
        raw = as_bytes(events, named=named, end=end)
        chunks, reply = fed(api, raw, cuts)
        assert (chunks, reply) == fed(api, raw, [])
        assert without_metadata(reply) == without_metadata(APIS[api].decode(body))


def without_metadata(reply: Reply | str) -> Any:
    assert isinstance(reply, Reply), reply
    return msgspec.structs.replace(reply, metadata={}, usage=msgspec.structs.replace(reply.usage, metadata={}))


@pytest.mark.parametrize("api", ALL)
def test_chunks_tell_what_the_reply_says(api: str) -> None:
    for events, _ in STREAMS[api]:
        chunks, reply = fed(api, as_bytes(events), [])
        assert isinstance(reply, Reply)
        assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)) == reply.text
        assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ThinkingChunk)) == reply.thinking
        started = [chunk.call_id for chunk in chunks if isinstance(chunk, CallStarted)]
        finished = [chunk.call for chunk in chunks if isinstance(chunk, CallFinished)]
        assert started == [call.id for call in reply.calls]
        assert sorted(finished, key=lambda call: started.index(call.id)) == list(reply.calls)
        for chunk in chunks:
            assert not isinstance(chunk, ArgumentsChunk) or chunk.call_id in started


@pytest.mark.parametrize("api", ALL)
def test_the_view_of_arguments_ends_as_the_call_does(api: str) -> None:
    for events, _ in STREAMS[api]:
        decoder = APIS[api].stream()
        started: list[CallStarted] = []
        for event in events:
            started += [chunk for chunk in decoder.feed(as_bytes([event])) if isinstance(chunk, CallStarted)]
            for call in started:
                decoder.arguments(call.call_id)
        reply = decoder.close()
        for call in reply.calls:
            if isinstance(call.arguments, dict) and decoder.pieces.get(call.id):
                assert decoder.arguments(call.id) == call.arguments


@pytest.mark.parametrize("api", ALL)
@given(JSON)
def test_any_json_is_a_reply_or_an_engine_error(api: str, value: Any) -> None:
    for body in (value, {"choices": value, "output": value, "content": value, "candidates": value, "usage": value}):
        answer(api, body)


def answer(api: str, body: Any) -> Reply | None:
    try:
        reply = APIS[api].decode(body)
    except EngineError:
        return None
    assert isinstance(reply, Reply)
    msgspec.json.decode(msgspec.json.encode(reply), type=Reply)
    assert all(call.id for call in reply.calls)
    assert reply.citations is not None
    assert reply.text is not None
    return reply


@pytest.mark.parametrize("api", ALL)
@examples(150)
@given(st.data())
def test_a_body_with_anything_anywhere_is_a_reply_or_an_engine_error(api: str, data: st.DataObject) -> None:
    body = data.draw(damaged(data.draw(st.sampled_from(BODIES[api]))))
    answer(api, body)


@st.composite
def damaged(draw: st.DrawFn, whole: Any) -> Any:
    """A body in which up to three places hold something else."""
    body = copy.deepcopy(whole)
    for _ in range(draw(st.integers(1, 3))):
        holder, key = draw(st.sampled_from(places(body)))
        if draw(st.booleans()) and isinstance(holder, dict):
            holder.pop(key, None)
        else:
            holder[key] = draw(JSON | st.sampled_from([-1, 10**30, 1e300, "", [], {}, [None], {"type": None}]))
        if not places(body):
            break
    return body


def places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        found.append((value, key))
        found += places(item)
    return found


@pytest.mark.parametrize("api", ALL)
@examples(100)
@given(st.data())
def test_a_stream_with_anything_anywhere_ends_in_a_reply_or_an_engine_error(api: str, data: st.DataObject) -> None:
    events, _ = data.draw(st.sampled_from(STREAMS[api]))
    broken = data.draw(damaged({"events": events})).get("events", []) if data.draw(st.booleans()) else events
    listed = broken if isinstance(broken, list) else [broken]
    order = data.draw(st.permutations(range(len(listed)))) if data.draw(st.booleans()) else range(len(listed))
    raw = b"".join(b"data: " + msgspec.json.encode(listed[index]) + b"\n\n" for index in order)
    raw = raw[: data.draw(st.integers(0, len(raw)))] if data.draw(st.booleans()) else raw
    chunks, reply = fed(api, raw, data.draw(st.lists(st.integers(0, 10**5), max_size=5)))
    whole_chunks, whole_reply = fed(api, raw, [])
    assert (chunks, reply) == (whole_chunks, whole_reply)


BETWEEN = st.sampled_from([b"", b": ping\n\n", b"\n", b"\r", b"data: ", b"data: \n\n", b"event: x\n", b"data: {}\n"])


@pytest.mark.parametrize("api", ALL)
@examples(60)
@given(st.data())
def test_events_that_come_one_by_one_are_read_as_bytes_that_come_one_by_one(api: str, data: st.DataObject) -> None:
    events, _ = data.draw(st.sampled_from(STREAMS[api]))
    if data.draw(st.booleans()):
        listed = data.draw(damaged({"events": events})).get("events", [])
        events = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    named, end = data.draw(st.booleans()), data.draw(st.sampled_from(["\n", "\r\n", "\r"]))
    pieces = [piece for event in events for piece in (as_bytes([event], named=named, end=end), b"")]
    for _ in range(data.draw(st.integers(0, 3))):
        pieces.insert(data.draw(st.integers(0, len(pieces))), data.draw(BETWEEN))
    whole = b"".join(pieces)
    ends = [len(b"".join(pieces[:count])) for count in range(len(pieces))]
    assert fed(api, whole, ends) == fed(api, whole, [*range(len(whole))])


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("named", [True, False])
def test_a_line_end_inside_the_data_of_an_event_that_comes_alone_ends_the_line(api: str, named: bool) -> None:
    for events, _ in STREAMS[api]:
        pieces = [as_bytes([event], named=named) for event in events]
        for place, piece in enumerate(pieces):
            cut = [*pieces[:place], piece.replace(b", ", b",\r"), *pieces[place + 1 :]]
            ends = [len(b"".join(cut[:count])) for count in range(len(cut))]
            assert fed(api, b"".join(cut), ends) == fed(api, b"".join(cut), [])


@pytest.mark.parametrize("api", ALL)
@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_any_bytes_end_in_a_reply_or_an_engine_error(api: str, raw: bytes, cuts: list[int]) -> None:
    fed(api, raw, cuts)
    fed(api, b"data: " + raw + b"\n\n", cuts)


NOT_EVENTS = st.sampled_from(
    [
        *(b"[" * 100_000, b"{broken", b"\xff\xfe", b"upstream timed out", b"<html>", b"NaN", b'{"a": 1} {"b": 2}'),
        *(b"null", b"17", b'"text"', b"true", b"[1, 2]", b'["text"]', b"[null]"),
    ]
)


@pytest.mark.parametrize("api", ALL)
@few
@given(st.data())
def test_an_event_that_cannot_be_read_is_an_error_wherever_it_stands(api: str, data: st.DataObject) -> None:
    events, _ = data.draw(st.sampled_from(STREAMS[api]))
    raw = [as_bytes([event]) for event in events]
    raw.insert(data.draw(st.integers(0, len(raw) - 1)), b"data: " + data.draw(NOT_EVENTS) + b"\n\n")
    decoder = APIS[api].stream()
    decoder.feed(b"".join(raw) + b"data: [DONE]\n\n")
    with pytest.raises(EngineError, match="an event of the stream is not") as raised:
        decoder.close()
    assert (raised.value.code, type(raised.value.partial)) == ("protocol", Reply)


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("raw", [b"", b"data: [DONE]\n\n", b": ping\n\n" * 9, b"data:\n\ndata: {}\n\n", b"hello\n\n"])
def test_a_stream_without_an_answer_is_no_answer(api: str, raw: bytes) -> None:
    _, reply = fed(api, raw, [])
    assert isinstance(reply, str) or (reply.parts, reply.finish) == ((), FinishReason.INTERRUPTED)


@pytest.mark.parametrize("api", ALL)
@pytest.mark.slow
def test_a_stream_cut_at_any_byte_is_whole_or_known_to_be_cut(api: str) -> None:
    for events, _ in STREAMS[api]:
        raw = as_bytes(events)
        _, whole = fed(api, raw, [])
        assert isinstance(whole, Reply)
        for end in range(len(raw)):
            _, reply = fed(api, raw[:end], [])
            if isinstance(reply, Reply) and reply.finish is not FinishReason.INTERRUPTED:
                assert (reply.parts, reply.finish) == (whole.parts, whole.finish), raw[:end]


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("other", ALL)
def test_an_answer_of_another_api_is_no_answer(api: str, other: str) -> None:
    if api == other:
        return
    for body in BODIES[other]:
        with pytest.raises(EngineError):
            APIS[api].decode(body)
    for events, _ in STREAMS[other]:
        _, reply = fed(api, as_bytes(events) + b"data: [DONE]\n\n", [])
        assert isinstance(reply, str) or reply.finish is FinishReason.INTERRUPTED


@st.composite
def damaged_bytes(draw: st.DrawFn, whole: bytes) -> bytes:
    """Bytes of which a few are lost, doubled, or others."""
    raw = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(raw)))
        until = draw(st.sampled_from([at, at + 1, at + 2, at + 9, len(raw)]))
        raw[at:until] = draw(
            st.binary(max_size=4) | st.sampled_from([b"", b"\n\n", b"\ndata: ", b"}", b'"', b"[DONE]"])
        )
    return bytes(raw)


@pytest.mark.parametrize("api", ALL)
@examples(200)
@given(st.data())
def test_damaged_bytes_are_an_error_or_say_what_they_say(api: str, data: st.DataObject) -> None:
    events, _ = data.draw(st.sampled_from(STREAMS[api]))
    raw = data.draw(damaged_bytes(as_bytes(events)))
    chunks, _ = fed(api, raw, data.draw(st.lists(st.integers(0, 10**5), max_size=5)))
    for chunk in chunks:
        if isinstance(chunk, TextChunk):
            forms = (chunk.text, json.dumps(chunk.text)[1:-1], json.dumps(chunk.text, ensure_ascii=False)[1:-1])
            assert any(form.encode("utf-8", "surrogatepass") in raw for form in forms)


@pytest.mark.parametrize("api", ALL)
def test_depth_is_no_danger(api: str) -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep, {"type": deep}] if _ < 3 else [deep]
    for body in BODIES[api]:
        for holder, key in places(copy.deepcopy(body))[:40]:
            holder[key] = deep
        answer(api, {**copy.deepcopy(body), "extra": deep})
    fed(api, b"data: " + b"[" * 100_000 + b"\n\n", [])


@pytest.mark.parametrize("api", ALL)
@given(
    st.sampled_from([400, 401, 404, 413, 422, 429, 500, 503, 529, None]),
    JSON | st.binary(max_size=40) | st.text(max_size=40),
)
def test_any_error_body_is_an_engine_error(api: str, status: int | None, body: Any) -> None:
    error = APIS[api].error(status, {"Retry-After": "2", "x-request-id": "r"}, body)
    assert isinstance(error, EngineError)
    assert error.status == status
    assert error.message
    assert error.retryable is (status in (429, 500, 503, 529))
    assert not error.retryable or error.retry_after == 2


_DIGITS = st.sampled_from(["0", "9", "2099", "31", "9" * 25, "-1", "1e999", "²"])
_DATES = st.builds("Thu, {} Nov {} {}:00:00 {}{}".format, *[_DIGITS] * 3, st.sampled_from(["+", "-", "GMT"]), _DIGITS)


@pytest.mark.parametrize("api", ALL)
@given(st.text(max_size=40) | _DATES | _DIGITS)
@example("Thu, 19 Nov 2099 10:00:00 +99999999999999999999")
@example("Thu, 19 Nov 99999999999999999999 10:00:00 GMT")
def test_any_retry_after_is_a_wait_or_none(api: str, text: str) -> None:
    wait = APIS[api].error(429, {"Retry-After": text}, {}).retry_after
    assert wait is None or 0 <= wait < 1e12


@given(st.floats() | st.integers() | st.text(max_size=40) | _DATES | JSON)
@example(1e20)
@example(-(10**18))
@example(float("nan"))
def test_any_time_of_an_answer_is_a_time_or_none(value: Any) -> None:
    assert isinstance(when(value), datetime | None)


# ── requests ─────────────────────────────────────────────────────────────────

WORDS = st.text("abc é😀\n", min_size=1, max_size=12)
NAMES = st.sampled_from(["weather", "patch", "find"])


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    """Conversations that are in order: some turns with calls, each answered."""
    items: list[Any] = [system(draw(WORDS))] if draw(st.booleans()) else []
    items.append(user(draw(WORDS)))
    for turn in range(draw(st.integers(0, 3))):
        calls = [
            NativeCall(f"call_{turn}_{number}", draw(NAMES), draw(JSON_OBJECT))
            for number in range(draw(st.integers(0, 3)))
        ]
        parts: list[Any] = [TextPart(draw(WORDS))] if draw(st.booleans()) or not calls else []
        items.append(Message("assistant", (*parts, *(CallPart(call) for call in calls))))
        results = [ResultPart(NativeResult(call.id, draw(WORDS), name=call.name)) for call in calls]
        if results:
            items.append(Message("tool", tuple(results)))
        else:
            items.append(user(draw(WORDS)))
    return tuple(items)


DEFINITIONS = tuple(
    FunctionDefinition(
        name,
        f"About {name}.",
        {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    )
    for name in ("weather", "patch", "find")
)


def spoken(conversation: Conversation) -> list[Any]:
    """What a conversation says, however its messages are cut."""
    said: list[Any] = []
    for item in conversation:
        role = "user" if item.role == "tool" else item.role
        for part in item.parts:
            if isinstance(part, TextPart):
                if said and said[-1][0] == "text" and said[-1][1] == role:
                    said[-1] = ("text", role, said[-1][2] + part.text)
                elif part.text:
                    said.append(("text", role, part.text))
            elif isinstance(part, CallPart):
                said.append(("call", part.call.name, part.call.arguments))
            elif isinstance(part, ResultPart):
                said.append(("result", part.result.content))
    return said


@pytest.mark.parametrize("api", ALL)
@examples(60)
@given(conversations(), st.sampled_from(["auto", "none", "required"]), st.booleans())
def test_what_is_encoded_reads_back_as_what_was_said(api: str, said: Conversation, choice: Any, stream: bool) -> None:
    request = Request("some-model", said, DEFINITIONS, ToolChoice(choice), stream=stream)
    encoded = APIS[api].encode(request)
    assert isinstance(encoded, Encoded)
    assert encoded.to_bytes() == msgspec.json.encode(encoded.body)
    back = APIS[api].read_request(encoded.body, model="some-model")
    assert spoken(back.conversation) == spoken(said)
    assert [definition.name for definition in back.definitions] == [definition.name for definition in DEFINITIONS]
    assert back.choice == request.choice
    assert back.model == "some-model"


@pytest.mark.parametrize("api", ALL)
def test_a_reply_goes_back_as_it_came(api: str) -> None:
    for body in BODIES[api]:
        reply = APIS[api].decode(body)
        results = tuple(
            ResultPart(NativeResult(call.id, "ok", name=call.name))
            for call in reply.calls
            if call.executed_by == "client"
        )
        request = Request("some-model", (user("go"), reply, Message("tool", results)))
        again = APIS[api].read_request(APIS[api].encode(request).body, model="some-model")
        assistant_parts = [part for item in again.conversation if item.role == "assistant" for part in item.parts]
        assert [part.call.arguments for part in assistant_parts if isinstance(part, CallPart)] == [
            call.arguments for call in reply.calls
        ]
        assert "".join(part.text for part in assistant_parts if isinstance(part, TextPart)) == reply.text


@pytest.mark.parametrize("api", ALL)
def test_an_unchanged_toolset_is_written_once(api: str) -> None:
    codec = APIS[api]
    first = codec.encode(Request("some-model", (user("a"),), DEFINITIONS))
    second = codec.encode(Request("some-model", (user("b"),), DEFINITIONS))
    assert first.tools is not None
    assert first.tools is second.tools
    assert first.body["tools"] is second.body["tools"]
    third = codec.encode(Request("some-model", (user("c"),), copy.deepcopy(DEFINITIONS)))
    assert third.tools is first.tools


DESCRIPTIONS = st.sampled_from(["", "About it.", "About \ud800"])
SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(NAMES, st.sampled_from([{"type": "string"}, {}]))},
    optional={"required": st.just(["find"]), "default": st.sampled_from([None, float("inf"), 1, True, 10**30, (1,)])},
)
OFFERED = (
    st.builds(
        FunctionDefinition, NAMES, DESCRIPTIONS, SCHEMAS, strict=st.none() | st.booleans(), deferred=st.booleans()
    )
    | st.builds(FreeformDefinition, NAMES, DESCRIPTIONS, namespace=st.none() | NAMES)
    | st.builds(ProviderDefinition, st.just("openai.file"), NAMES, settings=JSON_OBJECT)
)


@pytest.mark.parametrize("api", ALL)
@few
@given(toolsets=st.lists(st.lists(OFFERED, min_size=1, max_size=2).map(tuple), min_size=1, max_size=4))
def test_a_toolset_seen_before_is_written_as_by_a_codec_that_has_seen_none(api: str, toolsets: list[Any]) -> None:
    codec: Any = type(APIS[api])()
    for definitions in [*toolsets, *copy.deepcopy(toolsets), *(toolset[::-1] for toolset in toolsets)]:
        request = Request("some-model", (user("a"),), definitions)
        assert _written(codec, request) == _written(type(codec)(), request)


@pytest.mark.parametrize("api", ALL)
def test_a_codec_forgets_the_oldest_toolsets(api: str) -> None:
    codec = type(APIS[api])()
    first = codec.encode(Request("some-model", (user("a"),), DEFINITIONS)).tools
    for number in range(200):
        other = FunctionDefinition(f"f{number}", "x", {"type": "object"})
        codec.encode(Request("some-model", (user("a"),), (other,)))
    again = codec.encode(Request("some-model", (user("a"),), DEFINITIONS)).tools
    assert again == first
    assert again is not first


def _written(codec: Any, request: Request) -> Any:
    try:
        encoded = codec.encode(request)
    except DefinitionError as error:
        return error.problems
    return encoded.to_bytes(), encoded.report, encoded.lowering, codec.validate(request)


@pytest.mark.parametrize("api", ALL)
def test_every_problem_is_told_at_once_and_nothing_is_sent(api: str) -> None:
    bad = (
        FunctionDefinition("no spaces allowed", "x", {"type": "object"}),
        FunctionDefinition("x" * 200, "x", {"type": "object"}),
    )
    request = Request("some-model", (user("a"),), bad, ToolChoice("one", ("wether",)))
    problems = APIS[api].validate(request)
    assert {problem.where for problem in problems} >= {"tools.no spaces allowed", f"tools.{'x' * 200}", "choice"}
    with pytest.raises(DefinitionError) as raised:
        APIS[api].encode(request)
    assert len(raised.value.problems) == len([problem for problem in problems if not problem.fixed])


@pytest.mark.parametrize(
    "api, most",
    [("openai_chat", 128), ("openai_responses", 128), ("gemini_generate", 512), ("anthropic_messages", None)],
)
def test_as_many_tools_are_offered_as_the_api_takes_and_no_more(api: str, most: int | None) -> None:
    tools = tuple(FunctionDefinition(f"f{number}", "x", {"type": "object"}) for number in range((most or 999) + 1))
    for offered, is_wrong in ((tools[:-1], False), (tools, most is not None)):
        found = APIS[api].validate(Request("some-model", (user("a"),), offered))
        assert any(problem.where == "tools" for problem in found) is is_wrong


@pytest.mark.parametrize("api", ALL)
def test_a_definition_is_checked_alone(api: str) -> None:
    assert APIS[api].check(DEFINITIONS[0]) == ()
    assert APIS[api].check(FunctionDefinition("bad name!", "", {"type": "object"}))
    assert isinstance(APIS[api].check(FreeformDefinition("patch", "A patch.")), tuple)


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("thinking", [None, Thinking("off"), Thinking("low"), Thinking("high"), Thinking(tokens=2000)])
def test_thinking_is_lowered_or_told(api: str, thinking: Thinking | None) -> None:
    request = Request("some-model", (user("a"),), thinking=thinking, max_output_tokens=8000)
    encoded = APIS[api].encode(request)
    plain = APIS[api].encode(msgspec.structs.replace(request, thinking=None))
    if thinking is not None and thinking.level != "off":
        assert encoded.body != plain.body or encoded.report


@pytest.mark.parametrize("api", ALL)
def test_options_of_the_caller_go_through_untouched(api: str) -> None:
    options = {"someNewOption": {"a": [1]}, "metadata": {"k": "v"}}
    encoded = APIS[api].encode(Request("some-model", (user("a"), assistant("b"), user("c")), provider_options=options))
    assert encoded.body["someNewOption"] == {"a": [1]}
    assert encoded.body["metadata"] == {"k": "v"}
    assert APIS[api].read_request(encoded.body, model="some-model").provider_options.get("someNewOption") == {"a": [1]}


@pytest.mark.parametrize("api", ALL)
def test_a_tool_of_another_protocols_owner_is_refused_before_the_wire(api: str) -> None:
    owners = {"anthropic.bash_20250124": "bash_20250124", "google.google_search": "google_search"}
    own = {"anthropic_messages": "anthropic", "gemini_generate": "google"}.get(api)
    for id, kind in owners.items():
        problems = [problem.where for problem in APIS[api].check(ProviderDefinition(id, kind))]
        assert (f"tools.{id}" in problems) == (not id.startswith(f"{own}."))


@pytest.mark.parametrize("api", ALL)
def test_half_a_character_is_replaced_where_it_is_sent_and_refused_in_tools(api: str) -> None:
    """Anthropic refuses a request with half of one, and with it every later request of the conversation."""
    prompt = user("half \ud83d, whole \ud83d\ude00")
    call = Message("assistant", (CallPart(NativeCall("1", "f")),))
    result = Message("tool", (ResultPart(NativeResult("1", "name\udcff.txt")),))
    sent = APIS[api].encode(Request("m", (prompt, call, result))).to_bytes()
    text = json.dumps(json.loads(sent), ensure_ascii=False)
    assert [text.count(one) for one in ("half \ufffd, whole 😀", "name\ufffd.txt", "\ufffd")] == [1, 1, 2]
    assert b"\\ud" not in sent.lower()
    tool = FunctionDefinition("look", "half \ud83d", {"type": "object"})
    assert [problem.where for problem in APIS[api].check(tool)] == ["tools"]


@pytest.mark.parametrize("api", ALL)
def test_results_are_placed_whatever_was_said_meanwhile(api: str) -> None:
    """The same conversation, in order and out of order: a message came in while two calls ran."""
    calls = Message("assistant", (CallPart(NativeCall("a", "f")), CallPart(NativeCall("b", "f"))))
    one, two = (Message("tool", (ResultPart(NativeResult(id, id)),)) for id in "ab")
    meanwhile = user("Hurry.")
    orders = ((one, two, meanwhile), (one, meanwhile, two), (meanwhile, one, two))
    written = [written_words(APIS[api].encode(Request("m", (user("Go."), calls, *order)))) for order in orders]
    assert all(words == written[0] for words in written[1:]) or api == "openai_responses"  # takes them in any order


def written_words(encoded: Encoded) -> tuple[bool, bool]:
    """Whether both results come before what was said meanwhile, in the body as it is written."""
    body = encoded.to_bytes().decode()
    places = [body.rindex('"a"'), body.rindex('"b"')]
    return max(places) < body.rindex("Hurry."), "Hurry." in body


# ── media ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("api", ALL)
@few
@given(content=st.binary(min_size=1), media_type=st.sampled_from(["image/png", "image/jpeg", "application/pdf"]))
def test_bytes_that_are_given_arrive_as_the_same_bytes(api: str, content: bytes, media_type: str) -> None:
    given_bytes: Any = content
    media = Media(media_type, given_bytes, name="a")
    said: Conversation = (user("look", media),)
    body = msgspec.json.decode(APIS[api].encode(Request("m", said)).to_bytes())
    assert base64.b64encode(content).decode() in {text.rpartition(",")[2] for text in texts_in(body)}
    (message,) = APIS[api].read_request(body, model="m").conversation
    (arrived,) = (part.media for part in message.parts if isinstance(part, MediaPart))
    assert base64.b64decode(arrived.data or "") == content


def texts_in(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in texts_in(one)]


@pytest.mark.parametrize("api", ALL)
@few
@given(family=st.sampled_from(["image", "audio", "video", "application", "text", "font"]), kind=st.sampled_from("abc"))
def test_media_that_is_attached_is_sent_or_refused_but_never_left_out(api: str, family: str, kind: str) -> None:
    content: Any = b"\x89PNG"
    request = Request("m", (user("look", Media(f"{family}/{kind}", content)),))
    problems = APIS[api].validate(request)
    if problems:
        assert all(f"{family}/{kind}" in problem.message for problem in problems)
        with pytest.raises(DefinitionError, match=f"{family}/{kind}"):
            APIS[api].encode(request)
    else:
        texts = {
            text.rpartition(",")[2] for text in texts_in(msgspec.json.decode(APIS[api].encode(request).to_bytes()))
        }
        assert base64.b64encode(content).decode() in texts


@pytest.mark.parametrize("api", ALL)
def test_media_of_an_earlier_turn_is_left_out_with_a_remark_where_it_cannot_be_sent(api: str) -> None:
    content: Any = b"x"
    said = (user("listen", Media("font/woff", content)), assistant("I did."), user("go on"))
    encoded = APIS[api].encode(Request("m", said))
    sent = "eA==" in {text.rpartition(",")[2] for text in texts_in(msgspec.json.decode(encoded.to_bytes()))}
    assert sent or any("font/woff" in remark.message for remark in encoded.report)
