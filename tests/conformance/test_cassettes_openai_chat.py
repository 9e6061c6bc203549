"""Chat Completions against recorded traffic of OpenAI and of all who speak like it."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.apis import APIS
from dragoman.errors import DefinitionError, EngineError
from dragoman.model.conversation import FinishReason, Reply, user
from dragoman.model.request import (
    AnyChunk,
    ArgumentsChunk,
    CallFinished,
    CallStarted,
    Finished,
    Request,
    TextChunk,
    ThinkingChunk,
    UsageArrived,
)

API = APIS["openai_chat"]
NATIVE = "openai"

NO_ANSWER = {
    "openai-chat-576e6cd616f2": "a test server's echo of the address it was called by, with status 200",
}
"""Recordings with status 200 that hold neither an answer nor an error, and so rightly become an `EngineError`."""

NOT_THE_SAME = {
    "openai-chat-7ada87211acf": "a local server was sent two calls with one result: the other is answered as unknown",
    "openai-chat-d1cb4b92dda8": "strict with OpenAPI's `nullable`, which OpenRouter passes over: said as the type null",
    "openai-chat-d21d6b855e37": "the same tool once more",
}
"""Recorded requests that are written otherwise, and why."""


@pytest.fixture(scope="module")
def exchanges(shared: Path) -> list[dict[str, Any]]:
    found = [json.loads(file.read_bytes()) for file in sorted((shared / "cassettes/openai-chat").glob("*.json"))]
    assert len(found) >= 2487
    return found


def answers(exchanges: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for exchange in exchanges:
        body = exchange.get("response")
        if isinstance(body, dict) and exchange["status"] == 200 and isinstance(body.get("choices"), list):
            yield exchange, body


def stream_bytes(exchange: dict[str, Any]) -> bytes:
    if exchange.get("raw_sse") is not None:
        return str(exchange["raw_sse"]).encode()
    written = [one["data"] if isinstance(one["data"], str) else json.dumps(one["data"]) for one in exchange["events"]]
    return "".join(f"data: {data}\n\n" for data in written).encode()


def decoded(pieces: list[bytes]) -> tuple[Reply, list[AnyChunk], str | None]:
    decoder, chunks = API.stream(), []
    for piece in pieces:
        chunks += decoder.feed(piece)
    try:
        return decoder.close(), chunks, None
    except EngineError as error:
        return error.partial, chunks, str(error)


# ── answers ──────────────────────────────────────────────────────────────────


def test_every_recorded_answer_is_read(exchanges: list[dict[str, Any]]) -> None:
    refused = {}
    for exchange in exchanges:
        body = exchange.get("response")
        if exchange["status"] == 200 and isinstance(body, dict) and not body.get("error"):
            try:
                API.decode(body)
            except EngineError as error:
                refused[exchange["id"]] = error.message
    assert refused.keys() == NO_ANSWER.keys()
    natives = {exchange["id"] for exchange in exchanges if exchange["vendor"] == NATIVE}
    assert not natives & refused.keys()


TYPED = frozenset(
    {
        *("content", "text", "thinking", "reasoning", "reasoning_content", "summary", "data", "signature"),
        *("refusal", "arguments", "name", "input", "url", "title", "transcript", "thought_signature", "output"),
        *("snippet", "start_index", "end_index", "id"),
    }
)
BESIDE = (
    "logprobs",
    "provider_metadata",
    "moderation",
    "usage_breakdown",
    "results",
    "timings",
    "time_info",
    "metadata",
)
"""Objects that say nothing of the answer itself, and search results, which stand whole in their call's item."""
COUNTED = frozenset(
    {
        *("prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens"),
        *("num_cached_tokens", "cache_creation_input_tokens", "web_search_requests"),
    }
)
TOLD_TWICE = {"openai-chat-21ef882f0148": "the same tokens as read from and as written to the cache: counted once"}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path, value


def changed(body: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    other = copy.deepcopy(body)
    holder: Any = other
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return other


def typed(value: Any) -> Any:
    """What a value says in typed fields, without metadata and the provider's own items."""
    if isinstance(value, msgspec.Struct):
        fields = [field for field in value.__struct_fields__ if field not in ("metadata", "item")]
        return type(value).__name__, tuple((field, typed(getattr(value, field))) for field in fields)
    if isinstance(value, tuple | list):
        return tuple(map(typed, value))
    return tuple((key, typed(inner)) for key, inner in value.items()) if isinstance(value, dict) else value


def another(path: tuple[Any, ...], value: Any) -> Any:
    """A value to take this one's place, where this one should be found in a typed field; else `None`."""
    key = path[-1] if isinstance(path[-1], str) else path[-2]
    if any(part in BESIDE for part in path[:-1]):
        return None
    if path[0] == "usage":
        return value + 1 if key in COUNTED and type(value) is int else None
    if path[0] == "citations":
        return f"{value}x"
    if key not in TYPED or (key == "id" and "tool_calls" not in path and "reasoning_details" not in path):
        return None
    if type(value) is int:
        return value + 1 if value else None
    if not isinstance(value, str) or not value:
        return None
    return '{"another": 1}' if key == "arguments" else f"{value}x"


def test_every_text_call_citation_thought_and_count_of_an_answer_has_its_typed_place(
    exchanges: list[dict[str, Any]],
) -> None:
    lost, tried = [], 0
    for exchange, body in answers(exchanges):
        if body.get("error"):
            continue
        before = typed(API.decode(body))
        for path, value in leaves(body):
            instead = another(path, value) if len(path) > 1 else None
            if instead is None or (exchange["id"] in TOLD_TWICE and path[-1] == "cache_write_tokens"):
                continue
            tried += 1
            if typed(API.decode(changed(body, path, instead))) == before:
                lost.append((exchange["id"], path))
    assert lost == []
    assert tried > 9000


RESPONSE_ONLY = (
    "annotations",
    "executed_tools",
    "provider_metadata",
    "padding",
    "name",
    "parsed",
    "reasoning_encrypted",
)
MENDED = {
    "openai-chat-978ba9cd91ba": "a call without arguments goes back with `{}`, which the protocol demands",
    "openai-chat-cec6ec84bc7e": "a call without an id goes back with a made one, which its result can name",
}


def test_an_answer_goes_back_as_it_came(exchanges: list[dict[str, Any]]) -> None:
    other = {}
    for exchange, body in answers(exchanges):
        message = body["choices"][0].get("message") if body["choices"] else None
        if not isinstance(message, dict) or body.get("error"):
            continue
        reply = API.decode(body)
        sent = API.encode(Request(body.get("model") or "m", (user("?"), reply))).body["messages"][1]
        if comparable(sent) != comparable(message):
            other[exchange["id"]] = (sent, message)
    assert other.keys() == MENDED.keys()


def comparable(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what only an answer has, and without fields that say nothing."""
    kept = {
        key: value
        for key, value in message.items()
        if key not in (*RESPONSE_ONLY, "audio") and value not in (None, [], "", {"arguments": "", "name": ""})
    }
    if "tool_calls" in kept:
        calls = [{key: value for key, value in call.items() if key != "index"} for call in kept["tool_calls"]]
        kept["tool_calls"] = [{"type": "function", **call} for call in calls]
    return {"role": "assistant", **kept}


# ── streams ──────────────────────────────────────────────────────────────────


def test_a_stream_is_the_same_however_its_bytes_are_cut(exchanges: list[dict[str, Any]]) -> None:
    chance, small = random.Random(6), 0
    for exchange in exchanges:
        if not exchange.get("events"):
            continue
        data = stream_bytes(exchange)
        whole = decoded([data])
        cuts = sorted(chance.sample(range(1, len(data)), min(len(data) - 1, 1 + len(data) // 150)))
        pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        assert decoded(pieces) == whole, exchange["id"]
        if len(data) < 4000:
            small += 1
            assert decoded([data[place : place + 1] for place in range(len(data))]) == whole, exchange["id"]
    assert small > 50


BROKEN_OFF = {"openai-chat-1007e21a7d25": "Groq tells of an error in the middle of the stream"}


def test_the_chunks_of_a_stream_add_up_to_its_reply(exchanges: list[dict[str, Any]]) -> None:
    broken, count = {}, 0
    for exchange in exchanges:
        if not exchange.get("events"):
            continue
        count += 1
        reply, chunks, error = decoded([stream_bytes(exchange)])
        if error is not None:
            broken[exchange["id"]] = error
        arguments: dict[str, str] = {}
        for chunk in chunks:
            if isinstance(chunk, ArgumentsChunk):
                arguments[chunk.call_id] = arguments.get(chunk.call_id, "") + chunk.text
        assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)) == reply.text
        assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ThinkingChunk)) == reply.thinking
        if error is None:
            assert tuple(chunk.call for chunk in chunks if isinstance(chunk, CallFinished)) == reply.calls
            assert tuple(chunk.call_id for chunk in chunks if isinstance(chunk, CallStarted)) == tuple(
                call.id for call in reply.calls
            )
            assert [chunk.finish for chunk in chunks if isinstance(chunk, Finished)] == [reply.finish], exchange["id"]
        usages = [chunk.usage for chunk in chunks if isinstance(chunk, UsageArrived)]
        assert usages[-1:] == ([reply.usage] if usages else [])
    assert broken.keys() == BROKEN_OFF.keys()
    assert count == sum(1 for exchange in exchanges if exchange.get("events")) >= 707


def test_a_streamed_reply_says_what_its_events_say(exchanges: list[dict[str, Any]]) -> None:
    """The events put together here in the plainest way, by another hand than the decoder's."""
    compared = 0
    for exchange in exchanges:
        events = [one["data"] for one in exchange.get("events") or [] if isinstance(one["data"], dict)]
        deltas = [
            choice.get("delta") or {}
            for event in events
            for choice in event.get("choices") or []
            if choice.get("index", 0) == 0
        ]
        if not deltas:
            continue
        reply, _, _ = decoded([stream_bytes(exchange)])
        if all(isinstance(delta.get("content"), str | None) and not delta.get("audio") for delta in deltas):
            assert reply.text == "".join(delta.get("content") or "" for delta in deltas)
        for key in ("reasoning_content", "reasoning"):
            assert reply.thinking.startswith("".join(delta.get(key) or "" for delta in deltas))
        called: dict[int, dict[str, str]] = {}
        for call in (call for delta in deltas for call in delta.get("tool_calls") or []):
            one = called.setdefault(call.get("index", 0), {"id": "", "name": "", "arguments": ""})
            one["id"] = one["id"] or call.get("id") or ""
            one["name"] = one["name"] or call["function"].get("name") or ""
            one["arguments"] += call["function"].get("arguments") or ""
        ours = [call for call in reply.calls if call.executed_by == "client"]
        if called:
            compared += 1
            assert [(call.id, call.name) for call in ours] == [(one["id"], one["name"]) for one in called.values()]
            for call, one in zip(ours, called.values(), strict=True):
                assert call.arguments == read(one["arguments"])
    assert compared > 200


def read(arguments: str) -> Any:
    try:
        return json.loads(arguments) or {} if arguments else {}
    except json.JSONDecodeError:
        return arguments


ARTEFACT = {"openai-chat-978ba9cd91ba": "a call without arguments, which cutting gives empty ones"}


def test_a_whole_answer_sent_in_pieces_gives_the_same_reply(exchanges: list[dict[str, Any]]) -> None:
    chance, other = random.Random(7), set()
    for exchange, body in answers(exchanges):
        if body.get("error"):
            continue
        events = [f"data: {json.dumps(event)}\n\n".encode() for event in in_pieces(body, chance)]
        reply, _, error = decoded([*events, b"data: [DONE]\n\n"])
        assert error is None
        if reply != API.decode(body):
            other.add(exchange["id"])
    assert other == ARTEFACT.keys()


def in_pieces(body: dict[str, Any], chance: random.Random) -> Iterator[dict[str, Any]]:
    """A whole body as a server would stream it."""
    head = {key: value for key, value in body.items() if key not in ("choices", "usage")}

    def event(choice: dict[str, Any], delta: dict[str, Any], finish: Any = None, **more: Any) -> dict[str, Any]:
        return {**head, "choices": [{"index": choice.get("index", 0), "delta": delta, "finish_reason": finish, **more}]}

    for choice in body["choices"]:
        message = choice.get("message") or {}
        texts = {
            key: message[key] for key in ("reasoning", "reasoning_content", "content", "refusal") if key in message
        }
        texts = {key: value for key, value in texts.items() if isinstance(value, str) and value}
        calls = message.get("tool_calls") or []
        left = {
            key: value for key, value in message.items() if key not in texts and not (calls and key == "tool_calls")
        }
        yield event(choice, left)
        for key, value in texts.items():
            yield from (event(choice, {key: part}) for part in cut(value, chance))
        for index, call in enumerate(calls):
            if call.get("type") == "custom":
                yield event(choice, {"tool_calls": [{**call, "index": index}]})
                continue
            begun = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
            yield event(choice, {"tool_calls": [begun]})
            for part in cut(call["function"].get("arguments") or "", chance):
                yield event(choice, {"tool_calls": [{"index": index, "function": {"arguments": part}}]})
        others = {
            key: value for key, value in choice.items() if key not in ("message", "index", "finish_reason", "delta")
        }
        yield event(choice, {}, choice.get("finish_reason"), **others)
    if "usage" in body:
        yield {**head, "choices": [], "usage": body["usage"]}


def cut(text: str, chance: random.Random) -> list[str]:
    pieces = []
    while text:
        end = chance.randint(1, 40)
        pieces.append(text[:end])
        text = text[end:]
    return pieces


def test_several_streamed_answers_are_all_in_the_reply(exchanges: list[dict[str, Any]]) -> None:
    several = 0
    for exchange in exchanges:
        indexes = {
            choice.get("index", 0)
            for one in exchange.get("events") or []
            if isinstance(one["data"], dict)
            for choice in one["data"].get("choices") or []
        }
        if len(indexes) > 1:
            several += 1
            reply, _, _ = decoded([stream_bytes(exchange)])
            assert 1 + len(reply.alternatives) == len(indexes)
    assert several


def test_a_stream_that_stops_early_is_interrupted(exchanges: list[dict[str, Any]]) -> None:
    tried = 0
    for exchange in exchanges[::7]:
        if exchange.get("raw_sse") and '"finish_reason"' in exchange["raw_sse"] and exchange["vendor"] == NATIVE:
            data = stream_bytes(exchange)
            end = data.find(b"\n\n", len(data) // 3)
            head = data[: end + 2]
            if end > 0 and b'"finish_reason":"' not in head and b'"finish_reason": "' not in head:
                tried += 1
                assert decoded([head])[0].finish is FinishReason.INTERRUPTED, exchange["id"]
    assert tried > 10


# ── errors ───────────────────────────────────────────────────────────────────


def test_every_recorded_error_is_an_engine_error_that_says_what_it_said(exchanges: list[dict[str, Any]]) -> None:
    count = 0
    for exchange in exchanges:
        if exchange["status"] < 400:
            continue
        count += 1
        headers, body = exchange.get("response_headers") or {}, exchange["response"]
        error = API.error(exchange["status"], headers, body)
        told = body.get("error", body) if isinstance(body, dict) else body
        said = told if isinstance(told, str) else told.get("message") or told.get("detail")
        assert said.strip() in error.message, exchange["id"]
        assert error.status == exchange["status"]
        if isinstance(told, dict) and isinstance(told.get("code"), str):
            assert error.code == told["code"]
        given = {name.lower(): value for name, value in headers.items()}.get("x-request-id")
        assert given is None or error.request_id == given
        assert error.retryable == (exchange["status"] in (408, 409, 429) or exchange["status"] >= 500)
    assert count > 60


def test_an_error_inside_a_good_response_is_raised(exchanges: list[dict[str, Any]]) -> None:
    found = 0
    for exchange in exchanges:
        body = exchange.get("response")
        if exchange["status"] == 200 and isinstance(body, dict) and body.get("error"):
            found += 1
            with pytest.raises(EngineError) as caught:
                API.decode(body)
            assert (caught.value.status, caught.value.code) == (400, "content_filter")
    assert found == 1


# ── requests ─────────────────────────────────────────────────────────────────


def equivalent(body: dict[str, Any]) -> dict[str, Any]:
    """A body without differences that mean nothing to who gets it."""
    plain = {key: value for key, value in body.items() if value is not None}  # null is what absence means
    if isinstance(plain.get("stop"), str):
        plain["stop"] = [plain["stop"]]  # one of them, or a list of one
    for key in ("tools", "stop"):
        if plain.get(key) == []:
            del plain[key]  # none of them
    for key in ("tool_choice", "function_call"):
        if plain.get(key) == "auto":
            del plain[key]  # the documented default
    if plain.get("tool_choice") == "any":
        plain["tool_choice"] = "required"  # Mistral's older word for it, and it takes both
    if isinstance(plain.get("tool_choice"), dict):
        plain["tool_choice"] = {"type": "function", **plain["tool_choice"]}
    if plain.get("stream") is False:
        del plain["stream"]  # the default
    if plain.get("stream_options") == {"include_usage": True}:
        del plain["stream_options"]  # we ask every stream for its usage
    if "tools" in plain:
        plain["tools"] = [_plain_tool(tool) for tool in plain["tools"]]
    plain["messages"] = [_plain_message(message) for message in plain["messages"]]
    return plain


def _plain_tool(tool: dict[str, Any]) -> dict[str, Any]:
    if "function" not in tool:
        return tool
    function = dict(tool["function"])
    for key in ("description", "strict"):
        if not function.get(key):
            function.pop(key, None)  # no description, and not strict, is what absence means
    return {"type": "function", **tool, "function": function}


def _plain_message(message: dict[str, Any]) -> dict[str, Any]:
    plain = {key: value for key, value in message.items() if value is not None}
    if plain.get("tool_calls") == []:
        del plain["tool_calls"]
    if "tool_calls" in plain:
        plain["tool_calls"] = [{"type": "function", **call} for call in plain["tool_calls"]]
    return plain


def test_every_recorded_request_is_read_and_written_the_same(exchanges: list[dict[str, Any]]) -> None:
    other, count = {}, 0
    for exchange in exchanges:
        body = exchange.get("request")
        if not isinstance(body, dict):
            continue
        count += 1
        try:
            written = API.encode(API.read_request(body)).body
        except DefinitionError as error:
            other[exchange["id"]] = str(error)
            continue
        if equivalent(written) != equivalent(body):
            other[exchange["id"]] = "is written otherwise"
    assert other.keys() == NOT_THE_SAME.keys()
    assert count >= 2397


def test_a_recorded_request_that_was_answered_has_no_problem_left(exchanges: list[dict[str, Any]]) -> None:
    left = {}
    for exchange in exchanges:
        body = exchange.get("request")
        if exchange["status"] == 200 and isinstance(body, dict):
            problems = [one for one in API.validate(API.read_request(body)) if not (one.fixed or one.accepted)]
            if problems:
                left[exchange["id"]] = list(map(str, problems))
    assert left == {}


def test_settings_and_tools_of_recorded_requests_have_their_typed_fields(exchanges: list[dict[str, Any]]) -> None:
    for exchange in exchanges:
        body = exchange.get("request")
        if not isinstance(body, dict):
            continue
        request = API.read_request(body)
        assert len(request.conversation) == len(body["messages"])
        assert len(request.definitions) == len(body.get("tools") or []) + len(body.get("functions") or [])
        assert request.temperature == body.get("temperature")
        assert request.top_p == body.get("top_p")
        assert request.stream == bool(body.get("stream"))
        untyped = {"messages", "tools", "functions", "temperature", "top_p", "stream", "model"}
        left = {key for key in request.provider_options if body.get(key) is not None} & untyped
        assert left == set(), exchange["id"]
