"""Requests are read as if each were alone, whatever the gateway remembers of those before it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from dragoman.apis import APIS
from dragoman.errors import DefinitionError, EngineError
from dragoman.model import Request
from dragoman.model.token_estimate import estimated_tokens
from dragoman.serve.gateway.reading import Reading
from tests.examples import examples
from tests.laws.test_continued_laws import ALL, conversation_of, strange

TOOLS: dict[str, Any] = {
    "anthropic_messages": [{"name": "find", "description": "Find.", "input_schema": {"type": "object"}}],
    "openai_chat": [{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}],
    "openai_responses": [{"type": "function", "name": "find", "parameters": {"type": "object"}, "strict": False}],
    "gemini_generate": [{"functionDeclarations": [{"name": "find", "description": "Find."}]}],
}
WITHOUT_IDS: dict[str, Any] = {
    # What has no id of its own gets one by its place, and what belongs together is found by its order.
    "anthropic_messages": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "find", "input": {}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "b", "name": "find", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]},
    ],
    "openai_chat": [
        {"role": "assistant", "content": None, "function_call": {"name": "find", "arguments": "{}"}},
        {"role": "function", "name": "find", "content": "none"},
        {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "find", "arguments": ""}}]},
    ],
    "openai_responses": [
        {"type": "function_call", "name": "find", "arguments": "{}"},
        {"type": "tool_search_call", "arguments": {}, "execution": "client"},
        {"type": "tool_search_output", "tools": []},
    ],
    "gemini_generate": [
        {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {}}}, {"functionCall": {"name": "f"}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "1"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": {"output": "2"}}}, 7]},
    ],
}


def wire(api: str, items: list[Any]) -> dict[str, Any]:
    """A request as a client of this API sends it, with its tools."""
    codec: Any = type(APIS[api])()
    body = dict(codec.encode(Request("some-model", tuple(items))).body)
    return {**body, "model": "some-model", "tools": TOOLS[api]}


def read_alone(api: str, body: dict[str, Any]) -> tuple[Request, int]:
    request = APIS[api].read_request(msgspec.json.decode(msgspec.json.encode(body)))
    return request, estimated_tokens((*request.conversation, *request.definitions))


@pytest.mark.parametrize("api", ALL)
@examples(60)
@given(st.data())
def test_a_request_is_read_as_if_it_were_alone(api: str, data: st.DataObject) -> None:
    field, reading = APIS[api].conversation_fields[-1], Reading()
    items = conversation_of(6)
    for _ in range(data.draw(st.integers(0, 2))):
        place = data.draw(st.integers(2, len(items)))
        items[place:place] = data.draw(st.sampled_from(strange(api)))
    try:
        body = wire(api, items)
    except DefinitionError:  # it cannot be said in this API, so no client sends it
        body = wire(api, conversation_of(6))
    messages = body[field]
    for _ in range(data.draw(st.integers(0, 2))):
        place = data.draw(st.integers(0, len(messages)))
        messages[place:place] = WITHOUT_IDS[api]
    for length in data.draw(st.lists(st.integers(1, len(messages)), min_size=2, max_size=5)):
        sent = messages[:length]
        if data.draw(st.integers(0, 4)) == 0:
            sent[data.draw(st.integers(0, length - 1))] = data.draw(st.sampled_from([*messages, 7, None, "text"]))
        now = {**body, field: sent, "model": data.draw(st.sampled_from(["some-model", "other"]))}
        text = json.dumps(now, indent=data.draw(st.sampled_from([None, None, 1])))
        assert reading.read(APIS[api], text.encode(), None) == read_alone(api, now)


@pytest.mark.parametrize("api", ALL)
def test_what_a_request_has_in_common_with_the_one_before_is_not_read_again(api: str) -> None:
    field, reading = APIS[api].conversation_fields[-1], Reading()
    body = wire(api, conversation_of(100))
    shorter = {**body, field: body[field][:-4]}
    (before, _), (after, _) = (reading.read(APIS[api], msgspec.json.encode(one), None) for one in (shorter, body))
    fresh = read_alone(api, body)[0]
    assert after == fresh
    same = sum(one is other for one, other in zip(before.conversation, after.conversation, strict=False))
    assert same >= len(before.conversation) - 4
    assert before.definitions is after.definitions


@pytest.mark.parametrize(
    "data", [b"", b"[]", b'"text"', b"{", b'{"messages": [1,]}', b'{"a": "\xff"}', b"7", b"[" * 100_000]
)
@pytest.mark.parametrize("api", ALL)
def test_what_is_no_request_is_refused(api: str, data: bytes) -> None:
    with pytest.raises(EngineError) as refused:
        Reading().read(APIS[api], data, "some-model")
    assert refused.value.status == 400
