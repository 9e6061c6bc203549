"""What clients send beside texts, from every API to every other: pictures, and results in any order."""

from __future__ import annotations

import base64
import json
from typing import Any

import aiohttp
import pytest

from dragoman.apis import APIS
from dragoman.model import FinishReason
from tests.agents.mcp_peer import PNG
from tests.engine.loopback import Raw, Turn

from .test_gateway import TOKEN, UPSTREAM, gateway, posted

_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
_URL = f"data:image/png;base64,{PNG}"
_ARGUMENTS = {"city": "Oslo"}
_WIRE = json.dumps(_ARGUMENTS)

# A picture of the user's, then two calls in one turn; the second is answered first. One of the results is a picture,
# where the API has pictures in results.
SENT: dict[str, tuple[str, dict[str, Any]]] = {
    "anthropic_messages": (
        "/v1/messages",
        {
            "max_tokens": 100,
            "tools": [{"name": name, "input_schema": _SCHEMA} for name in ("one", "two")],
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "tool_use", "id": "a", "name": "one", "input": _ARGUMENTS},
                        {"type": "tool_use", "id": "b", "name": "two", "input": _ARGUMENTS},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "b",
                            "content": [
                                {"type": "text", "text": "from two"},
                                {
                                    "type": "image",
                                    "source": {"type": "base64", "media_type": "image/png", "data": PNG},
                                },
                            ],
                        },
                        {"type": "tool_result", "tool_use_id": "a", "content": "from one"},
                    ],
                },
            ],
        },
    ),
    "openai_responses": (
        "/v1/responses",
        {
            "tools": [{"type": "function", "name": name, "parameters": _SCHEMA} for name in ("one", "two")],
            "input": [
                {"role": "user", "content": [{"type": "input_image", "image_url": _URL}]},
                {"type": "function_call", "call_id": "a", "name": "one", "arguments": _WIRE},
                {"type": "function_call", "call_id": "b", "name": "two", "arguments": _WIRE},
                {
                    "type": "function_call_output",
                    "call_id": "b",
                    "output": [
                        {"type": "input_text", "text": "from two"},
                        {"type": "input_image", "image_url": _URL},
                    ],
                },
                {"type": "function_call_output", "call_id": "a", "output": "from one"},
            ],
        },
    ),
    "openai_chat": (
        "/v1/chat/completions",
        {
            "tools": [
                {"type": "function", "function": {"name": name, "parameters": _SCHEMA}} for name in ("one", "two")
            ],
            "messages": [
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": _URL}}]},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "a", "type": "function", "function": {"name": "one", "arguments": _WIRE}},
                        {"id": "b", "type": "function", "function": {"name": "two", "arguments": _WIRE}},
                    ],
                },
                {"role": "tool", "tool_call_id": "b", "content": "from two"},
                {"role": "tool", "tool_call_id": "a", "content": "from one"},
            ],
        },
    ),
    "gemini_generate": (
        "/v1beta/models/m:generateContent",
        {
            "tools": [
                {"functionDeclarations": [{"name": name, "parametersJsonSchema": _SCHEMA} for name in ("one", "two")]}
            ],
            "contents": [
                {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}]},
                {
                    "role": "model",
                    "parts": [
                        {"functionCall": {"id": "a", "name": "one", "args": _ARGUMENTS}},
                        {"functionCall": {"id": "b", "name": "two", "args": _ARGUMENTS}},
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {
                            "functionResponse": {
                                "id": "b",
                                "name": "two",
                                "response": {"output": "from two"},
                                "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}],
                            }
                        },
                        {"functionResponse": {"id": "a", "name": "one", "response": {"output": "from one"}}},
                    ],
                },
            ],
        },
    ),
}


def answered(api: str, body: dict[str, Any]) -> dict[str, str]:
    """The results in a request by the names of the tools that gave them, as JSON."""
    names: dict[str, str] = {}
    results: dict[str, str] = {}
    if api == "gemini_generate":
        parts = [part for one in body["contents"] for part in one["parts"]]
        given = [part["functionResponse"] for part in parts if "functionResponse" in part]
        return {one["name"]: json.dumps(one) for one in given}
    if api == "openai_responses":
        for one in body["input"]:
            if one.get("type") == "function_call":
                names[one["call_id"]] = one["name"]
            elif one.get("type") == "function_call_output":
                results[names[one["call_id"]]] = json.dumps(one["output"])
    elif api == "openai_chat":
        for one in body["messages"]:
            names |= {call["id"]: call["function"]["name"] for call in one.get("tool_calls", ())}
            if one["role"] == "tool":
                results[names[one["tool_call_id"]]] = json.dumps(one["content"])
    else:
        for block in (block for one in body["messages"] for block in one["content"]):
            if block["type"] == "tool_use":
                names[block["id"]] = block["name"]
            elif block["type"] == "tool_result":
                results[names[block["tool_use_id"]]] = json.dumps(block["content"])
    return results


@pytest.mark.parametrize("upstream_api", sorted(UPSTREAM))
@pytest.mark.parametrize("api", sorted(SENT))
async def test_pictures_and_results_in_another_order_arrive_in_every_api(
    api: str, upstream_api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, body = SENT[api]
    async with gateway(monkeypatch, upstream_api, Turn("Fine.")) as (served, upstream):
        assert await posted(served, {"model": "m", **body}, path) == 200
    (heard,) = upstream.requests
    results = answered(upstream_api, heard.body)
    assert {name: f"from {name}" in text for name, text in results.items()} == {"one": True, "two": True}
    assert json.dumps(heard.body).count(PNG) == json.dumps(body).count(PNG)


FOUND = {
    "type": "search_result",
    "source": "https://example.org/bread",
    "title": "Bread",
    "content": [{"type": "text", "text": "Of flour."}],
}
IN_BLOCKS = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "With yeast."}]}}
SHOWN = {"type": "base64", "media_type": "image/png", "data": PNG}
PICTURE = {"type": "document", "source": {"type": "content", "content": [{"type": "image", "source": SHOWN}]}}


@pytest.mark.parametrize("upstream_api", sorted(UPSTREAM))
async def test_documents_that_only_anthropic_has_are_told_as_text(
    upstream_api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were left out without a word."""
    asked = [{"role": "user", "content": [FOUND, IN_BLOCKS, {"type": "text", "text": "How?"}]}]
    body = {"model": "m", "max_tokens": 9, "messages": asked}
    async with gateway(monkeypatch, upstream_api, Turn("Fine.")) as (served, upstream):
        assert await posted(served, body) == 200
    sent = json.dumps(upstream.requests[0].body)
    assert all(words in sent for words in ("https://example.org/bread", "Bread", "Of flour.", "With yeast.", "How?"))
    assert ('"search_result"' in sent) == (upstream_api == "anthropic_messages")


@pytest.mark.parametrize(
    "path, message",
    [
        ("/v1/messages", {"role": "user", "content": [PICTURE]}),
        ("/v1/messages", {"role": "user", "content": [{"type": "container_upload", "file_id": "file_1"}]}),
        ("/v1/responses", {"role": "user", "content": [{"type": "input_hologram", "hologram": "x"}]}),
        ("/v1/chat/completions", {"role": "user", "content": [{"type": "hologram", "hologram": "x"}]}),
    ],
)
async def test_what_a_model_cannot_be_told_is_refused(
    path: str, message: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [message], "input": [message]}
    body.pop("input" if path != "/v1/responses" else "messages")
    async with gateway(monkeypatch, "gemini_generate", Turn("Fine.")) as (served, upstream):
        assert await posted(served, body, path) == 400
    assert upstream.requests == []


@pytest.mark.parametrize(
    "said, heard",
    [
        (r"cut \ud83d", "cut \ufffd"),
        (r"\ude00 cut", "\ufffd cut"),
        (r"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (r"\ud83d \\ud83d \"\\\ud83d\"", '\ufffd \\ud83d "\\\ufffd"'),
    ],
)
async def test_half_a_character_does_not_spoil_a_conversation(
    said: str, heard: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs in JavaScript cut texts by halves of characters, and write the half as an escape."""
    data = b'{"model": "m", "messages": [{"role": "user", "content": "%s"}]}' % said.encode()
    async with (
        gateway(monkeypatch, "openai_chat", Turn("Fine.")) as (served, upstream),
        aiohttp.ClientSession(headers={"x-api-key": TOKEN}) as web,
        web.post(f"{served.url}/v1/chat/completions", data=data) as response,
    ):
        assert response.status == 200
    assert upstream.requests[0].body["messages"][0]["content"] == heard


async def test_a_picture_in_the_alphabet_for_urls_reaches_every_api_in_the_usual_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = base64.b64encode(bytes(range(248, 256)) * 3).decode()
    sent = {"mimeType": "image/png", "data": data.replace("+", "-").replace("/", "_")}
    asked = {"contents": [{"role": "user", "parts": [{"text": "What is it?"}, {"inlineData": sent}]}]}
    for api in UPSTREAM:
        async with (
            gateway(monkeypatch, api, Turn("A picture.")) as (served, upstream),
            aiohttp.ClientSession(headers={"x-goog-api-key": TOKEN}) as web,
            web.post(f"{served.url}/v1beta/models/m:generateContent", json=asked) as response,
        ):
            assert response.status == 200
        assert data in json.dumps(upstream.requests[0].body), api


REFUSAL = {"index": 0, "message": {"role": "assistant", "content": None, "refusal": "I will not."}}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("client", ["openai_chat", "openai_responses"])
async def test_a_refusal_in_words_is_one_for_the_client_too(
    client: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
    whole = {**head, "choices": [{**REFUSAL, "finish_reason": "stop"}]}
    pieces = [{"role": "assistant", "refusal": "I will"}, {"refusal": " not."}, {}]
    events = [
        {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": one, "finish_reason": end}]}
        for one, end in zip(pieces, (None, None, "stop"), strict=True)
    ]
    streamed = "".join(f"data: {json.dumps(one)}\n\n" for one in events) + "data: [DONE]\n\n"
    answer = Raw(body=json.dumps(whole).encode())
    if stream:
        answer = Raw(body=streamed.encode(), content_type="text/event-stream")
    path = {"openai_chat": "/v1/chat/completions", "openai_responses": "/v1/responses"}[client]
    said = {"input": "Do harm."} if client == "openai_responses" else {"messages": [user("Do harm.")]}
    async with (
        gateway(monkeypatch, "openai_chat", answer) as (served, _),
        aiohttp.ClientSession(headers={"x-api-key": TOKEN}) as web,
        web.post(served.url + path, json={"model": "m", **said, "stream": stream}) as response,
    ):
        text = await response.text()
    decoder = APIS[client].stream()
    if stream:
        decoder.feed(text.encode())
    reply = decoder.close() if stream else APIS[client].decode(json.loads(text))
    assert [type(part).__name__ for part in reply.parts] == ["RefusalPart"]
    assert (reply.parts[0].text, reply.finish) == ("I will not.", FinishReason.REFUSED)
    assert "content_filter" not in text


async def test_the_sequence_that_an_answer_stopped_at_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "One"}],
        "stop_reason": "stop_sequence",
        "stop_sequence": "END",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    async with (
        gateway(monkeypatch, "anthropic_messages", Raw(body=json.dumps(answer).encode())) as (served, _),
        aiohttp.ClientSession(headers={"x-api-key": TOKEN}) as web,
        web.post(
            f"{served.url}/v1/messages",
            json={"model": "m", "max_tokens": 9, "stop_sequences": ["END"], "messages": [user("Count.")]},
        ) as response,
    ):
        told = await response.json()
    assert (told["stop_reason"], told["stop_sequence"]) == ("stop_sequence", "END")


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


async def test_a_file_of_text_reaches_a_server_that_takes_no_such_files_as_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "Ten beans.\n"}
    content = [{"type": "document", "source": source, "title": "beans.txt"}, {"type": "text", "text": "How many?"}]
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]}
    async with gateway(monkeypatch, "openai_chat", Turn("Ten.")) as (served, upstream):
        assert await posted(served, asked) == 200
    texts = [{"type": "text", "text": text} for text in ("Contents of beans.txt:\n\nTen beans.\n", "How many?")]
    assert upstream.requests[0].body["messages"] == [{"role": "user", "content": texts}]


@pytest.mark.parametrize("address, kind", [("https://e.org/a.jpg?x=1", "image/jpeg"), ("https://e.org/a", "image/*")])
async def test_a_picture_at_an_address_has_a_type_where_the_api_asks_for_one(
    address: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = [{"type": "image_url", "image_url": {"url": address}}]
    asked = {"model": "m", "messages": [{"role": "user", "content": content}]}
    async with gateway(monkeypatch, "gemini_generate", Turn("A bean.")) as (served, upstream):
        assert await posted(served, asked, "/v1/chat/completions") == 200
    (part,) = upstream.requests[0].body["contents"][0]["parts"]
    assert part == {"fileData": {"mimeType": kind, "fileUri": address}}


@pytest.mark.parametrize("api", ["openai_chat", "openai_responses", "gemini_generate"])
async def test_the_summary_of_a_conversation_is_told_to_every_model(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anthropic's API makes one of what came before, and gets it back as a block of its own."""
    said = [
        {"role": "assistant", "content": [{"type": "compaction", "content": "They counted ten beans."}]},
        {"role": "user", "content": "How many?"},
    ]
    async with gateway(monkeypatch, api, Turn("Ten.")) as (served, upstream):
        assert await posted(served, {"model": "m", "max_tokens": 9, "messages": said}) == 200
    assert "They counted ten beans." in json.dumps(upstream.requests[0].body)


@pytest.mark.parametrize("kind", ["compaction", "compaction_summary"])
async def test_a_conversation_that_only_its_provider_can_read_is_refused(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [{"type": kind, "encrypted_content": "x"}, {"role": "user", "content": "Go on."}]
    async with gateway(monkeypatch, "anthropic_messages", Turn("Yes.")) as (served, upstream):
        assert await posted(served, {"model": "m", "input": said}, "/v1/responses") == 400
        assert upstream.requests == []


@pytest.mark.parametrize("detail", ["low", "high"])
async def test_how_closely_a_picture_is_looked_at_is_told_between_the_apis_of_one_maker(
    detail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = {"type": "image_url", "image_url": {"url": _URL, "detail": detail}}
    response = {"type": "input_image", "image_url": _URL, "detail": detail}
    async with gateway(monkeypatch, "openai_responses", Turn("Yes.")) as (served, upstream):
        asked = {"model": "m", "messages": [{"role": "user", "content": [chat]}]}
        assert await posted(served, asked, "/v1/chat/completions") == 200
    assert upstream.requests[0].body["input"][0]["content"] == [response]
    async with gateway(monkeypatch, "openai_chat", Turn("Yes.")) as (served, upstream):
        assert (
            await posted(served, {"model": "m", "input": [{"role": "user", "content": [response]}]}, "/v1/responses")
            == 200
        )
    assert upstream.requests[0].body["messages"][0]["content"] == [chat]


async def test_what_a_user_says_of_a_document_is_told_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    document = {"type": "document", "source": source, "title": "beans.pdf", "context": "From last year."}
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [document]}]}
    for api in UPSTREAM:
        async with gateway(monkeypatch, api, Turn("Ten.")) as (served, upstream):
            assert await posted(served, asked) == 200
        said = json.dumps(upstream.requests[0].body)
        assert said.count("From last year.") == said.count("JVBERi0=") == 1, api
        own = api == "anthropic_messages"
        assert (said.index("From last year.") > said.index("JVBERi0=")) is own, api
