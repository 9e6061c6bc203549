"""What comes in a shape that no API describes is kept as it came, and what is null says nothing."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from dragoman.apis import APIS
from dragoman.errors import EngineError
from dragoman.model.conversation import Citation, FinishReason, MediaPart, Provenance, Reply, Span, TextPart
from dragoman.model.outcomes import Media

F = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": None}
TOOLS: dict[str, list[list[Any]]] = {
    "anthropic_messages": [
        [{"name": "f", "input_schema": {"type": "object"}}, "odd"],
        [{"name": 3, "input_schema": {"type": "object"}}],
        [{"type": "web_search_20250305", "name": ["web_search"]}],
        [{"name": "f", "input_schema": "object"}],
    ],
    "openai_responses": [
        [{"type": "namespace", "name": "n", "description": "Of n.", "tools": [F]}],
        [{"type": "namespace", "name": "n", "tools": [{**F, "name": None}]}],
        [{"type": "namespace", "name": "n", "tools": [F, {"type": "another", "name": "g"}]}],
        [{"type": "function", "parameters": {"type": "object"}}],
        [F, "odd"],
    ],
    "openai_chat": [["odd"], [{"type": "function", "function": "f"}]],
    "gemini_generate": [["odd"], [{"functionDeclarations": "f"}]],
}
MESSAGES: dict[str, dict[str, Any]] = {
    "anthropic_messages": {"max_tokens": 9, "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
    "openai_responses": {"input": [{"role": "user", "content": "x"}]},
    "openai_chat": {"messages": [{"role": "user", "content": "x"}]},
    "gemini_generate": {"contents": [{"role": "user", "parts": [{"text": "x"}]}]},
}
MODELS = {
    "anthropic_messages": "claude-sonnet-4-5",
    "openai_responses": "gpt-5.4",
    "openai_chat": "gpt-5.2",
    "gemini_generate": "gemini-3-pro",
}


def again(api: str, body: dict[str, Any]) -> Any:
    """A request that was read, as it is written."""
    return APIS[api].encode(APIS[api].read_request(json.loads(json.dumps(body)), model=MODELS[api])).body


@pytest.mark.parametrize("api, tools", [(api, tools) for api, rows in TOOLS.items() for tools in rows])
def test_tools_in_any_shape_are_sent_on_as_they_came(api: str, tools: list[Any]) -> None:
    assert again(api, {**MESSAGES[api], "model": MODELS[api], "tools": tools})["tools"] == tools


@pytest.mark.parametrize("tools", [*TOOLS["anthropic_messages"], "odd", None])
def test_of_tools_that_cannot_all_be_read_none_is_typed(tools: Any) -> None:
    api = "anthropic_messages"
    assert APIS[api].read_request({**MESSAGES[api], "model": MODELS[api], "tools": tools}).definitions == ()


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": "https://example.org/a.png"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {
            "type": "image_url",
            "image_url": {"url": "https://example.org/a.png"},
            "cache_control": {"type": "ephemeral"},
        },
    ],
)
def test_a_picture_in_any_shape_is_sent_on_as_it_came(block: dict[str, Any]) -> None:
    messages = [{"role": "user", "content": [block]}]
    assert again("openai_chat", {"model": "gpt-5.2", "messages": messages})["messages"] == messages


def fed(api: str, *events: dict[str, Any]) -> Any:
    stream = APIS[api].stream()
    for event in events:
        name = f"event: {event['type']}\n" if api == "anthropic_messages" else ""
        stream.feed(f"{name}data: {json.dumps(event)}\n\n".encode())
    return stream


@pytest.mark.parametrize(
    "content, unread",
    [
        (None, []),
        ({"parts": None}, []),
        ({"role": "model"}, []),
        ("words", ['{"content":"words"}']),
        ([1], ['{"content":[1]}']),
        ({"parts": "words"}, ['{"parts":"words"}']),
    ],
)
def test_gemini_content_of_another_shape_is_unread_and_null_is_nothing(content: Any, unread: list[str]) -> None:
    stream = fed("gemini_generate", {"candidates": [{"content": content, "finishReason": "STOP"}]})
    assert stream.unread == unread


@pytest.mark.parametrize("more", [{"willContinue": True}, {}])
def test_arguments_that_are_no_object_are_the_call_whether_more_is_promised_or_not(more: dict[str, Any]) -> None:
    """Nothing can be put into a text, so what comes after it is no part of that call."""
    call = {"functionCall": {"name": "f", "args": "some text", **more}}
    reply = fed("gemini_generate", {"candidates": [{"content": {"parts": [call]}, "finishReason": "STOP"}]}).close()
    assert [(one.name, one.arguments) for one in reply.calls] == [("f", "some text")]


def test_a_text_far_from_its_offset_is_found() -> None:
    text = "x" * 5000 + "here" + "x" * 10
    segment = {"startIndex": 1, "endIndex": 5, "text": "here"}
    content = {"parts": [{"text": text}]}
    body = {"candidates": [{"content": content, "groundingMetadata": {"groundingSupports": [{"segment": segment}]}}]}
    assert APIS["gemini_generate"].decode(body).citations == (Citation(span=Span(5000, 5004), location=segment),)


@pytest.mark.parametrize(
    "block, delta",
    [
        ({"type": "text", "text": ""}, {"type": "citations_delta"}),
        ({"type": "thinking", "thinking": ""}, {"type": "citations_delta", "citation": {"url": "u"}}),
        ({"type": "text", "text": ""}, {"type": "signature_delta", "signature": "s"}),
        ({"type": "thinking", "thinking": ""}, {"type": "signature_delta", "signature": 3}),
        ({"type": "text", "text": ""}, {"type": "compaction_delta", "content": "c"}),
    ],
)
def test_a_piece_that_its_block_cannot_have_changes_nothing_and_is_kept(
    block: dict[str, Any], delta: dict[str, Any]
) -> None:
    begin = {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}}
    events = (
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    )
    odd = fed("anthropic_messages", begin, *events).close()
    plain = fed("anthropic_messages", begin, events[0], *events[2:]).close()
    (part,), (bare,) = odd.parts, plain.parts
    kept = {**bare.metadata.get("anthropic_messages", {}), "deltas": [delta]}
    assert part == msgspec.structs.replace(bare, metadata={"anthropic_messages": kept})


@pytest.mark.parametrize(
    "made_by, block",
    [
        (
            "anthropic_messages",
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
        ),
        (
            "gemini_generate",
            {"type": "text", "text": "[The model made image/png, which cannot be sent to this client.]"},
        ),
    ],
)
def test_a_client_of_anthropics_api_gets_a_picture_only_of_its_own_models(made_by: str, block: dict[str, Any]) -> None:
    reply = Reply(
        (TextPart("see"), MediaPart(Media("image/png", data="AA"))),
        FinishReason.STOP,
        provenance=Provenance(api=made_by, model="m"),
    )
    content = APIS["anthropic_messages"].server().reply(reply, model="m")["content"]
    assert content == [{"type": "text", "text": "see"}, block]


def test_words_without_a_block_around_them_are_words_and_go_back_so() -> None:
    content = ["bare", {"type": "text", "text": "in a block"}]
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": "y"},
    ]
    body = {"model": MODELS["openai_chat"], "messages": messages}
    (_, said, _) = APIS["openai_chat"].read_request(json.loads(json.dumps(body))).conversation
    assert said.text == "barein a block"
    assert again("openai_chat", body)["messages"] == messages


@pytest.mark.parametrize("api", ["openai_chat", "openai_responses"])
@pytest.mark.parametrize("answer", [{}, {"id": "b"}, {"status": "completed"}, {"id": 1, "status": "completed"}])
def test_an_answer_without_the_name_or_the_state_of_a_batch_is_no_batch(api: str, answer: dict[str, Any]) -> None:
    asking = APIS[api].endpoints().batch("b")
    next(asking)
    with pytest.raises(EngineError, match="the answer is no batch"):
        asking.send(json.dumps(answer).encode())
