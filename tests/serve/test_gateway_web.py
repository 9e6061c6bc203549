"""What the gateway searches and fetches itself: a client whose provider would have done it, a model whose does not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from dragoman.model import Page, PagesOutcome
from dragoman.serve.gateway import Exchanged, Gateway, OwnWeb
from dragoman.tools import Web
from tests.engine.loopback import Raw, Turn, loopback

from .test_gateway import TOKEN, gateway, posted

SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
READ = {
    "name": "Read",
    "description": "Reads a file.",
    "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
}


class Library:
    """A search that finds one page, whatever is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def search(
        self, query: str, *, allowed_domains: Sequence[str], blocked_domains: Sequence[str], limit: int
    ) -> PagesOutcome:
        self.asked.append(query)
        return PagesOutcome((Page("https://example.com/bread", "How to bake", "Use flour."),))


async def answer(served: Gateway, *tools: dict[str, Any], messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks of an answer to a request of Anthropic's API."""
    body = {"model": "m", "max_tokens": 99, "messages": messages, "tools": list(tools)}
    headers = {"x-api-key": TOKEN, "anthropic-version": "1"}
    async with (
        aiohttp.ClientSession(headers=headers) as web,
        web.post(f"{served.url}/v1/messages", json=body) as response,
    ):
        assert response.status == 200, await response.text()
        blocks: list[dict[str, Any]] = (await response.json())["content"]
        return blocks


ASKED: list[dict[str, Any]] = [{"role": "user", "content": "How is bread baked?"}]


async def test_a_search_is_made_here_and_the_client_gets_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    library, shown = Library(), list[Exchanged]()
    script = (Turn(calls=(("id_1", "web_search", {"query": "baking"}),)), Turn("With flour."))
    async with gateway(monkeypatch, "openai_chat", *script, web=OwnWeb(Web(search=library)), watch=shown.append) as (
        served,
        upstream,
    ):
        said = await answer(served, SEARCH, messages=ASKED)
    assert [block["text"] for block in said] == ["With flour."]
    assert library.asked == ["baking"]
    assert shown[0].left_out == ()
    assert [tool["function"]["name"] for tool in upstream.requests[0].body["tools"]] == ["web_search"]
    told = upstream.requests[1].body["messages"][-1]
    assert (told["role"], told["tool_call_id"]) == ("tool", "id_1")
    assert "https://example.com/bread" in told["content"]


async def test_a_search_beside_a_call_of_the_client_is_answered_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by a gateway that was started anew in between."""
    calls = (("id_1", "web_search", {"query": "baking"}), ("id_2", "Read", {"file_path": "/a.txt"}))
    web = {"web": OwnWeb(Web(search=Library()))}
    async with gateway(monkeypatch, "openai_chat", Turn(calls=calls), folder=tmp_path, **web) as (served, _):
        blocks = await answer(served, SEARCH, READ, messages=ASKED)
    (read,) = [block for block in blocks if block["type"] == "tool_use"]
    assert read["name"] == "Read"
    result = {"type": "tool_result", "tool_use_id": read["id"], "content": "a loaf"}
    said = [*ASKED, {"role": "assistant", "content": blocks}, {"role": "user", "content": [result]}]
    async with gateway(monkeypatch, "openai_chat", Turn("Done."), folder=tmp_path, **web) as (served, upstream):
        await answer(served, SEARCH, READ, messages=said)
    told = {
        one["tool_call_id"]: one["content"] for one in upstream.requests[0].body["messages"] if one["role"] == "tool"
    }
    assert sorted(told) == ["id_1", "id_2"]
    assert "https://example.com/bread" in told["id_1"]
    assert "a loaf" in told["id_2"]


async def test_no_page_of_this_machine_is_fetched_for_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The addresses that may be reached are those of the tools: public ones."""
    fetch = {"type": "web_fetch_20250910", "name": "web_fetch"}
    async with loopback(Turn("A secret.")) as private:
        script = (Turn(calls=(("id_1", "web_fetch", {"url": f"{private.url}/"}),)), Turn("No."))
        async with gateway(monkeypatch, "openai_chat", *script, web=OwnWeb(Web())) as (served, upstream):
            await answer(served, fetch, messages=ASKED)
        assert private.requests == []
    assert "secret" not in str(upstream.requests[1].body)
    assert "127.0.0.1" in upstream.requests[1].body["messages"][-1]["content"]


async def test_nothing_is_searched_here_unless_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Exchanged] = []
    async with gateway(monkeypatch, "openai_chat", Turn("No."), watch=shown.append) as (served, upstream):
        await answer(served, SEARCH, messages=ASKED)
    assert "tools" not in upstream.requests[0].body
    assert shown[0].left_out == ("web_search",)


OFFERED: dict[str, tuple[str, dict[str, Any], list[dict[str, Any]]]] = {
    # What a client offers of its own provider's tools, by the API of both.
    "anthropic_messages": (
        "/v1/messages",
        {"max_tokens": 9, "messages": ASKED},
        [
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 3, "allowed_domains": ["example.org"]},
            {"type": "bash_20250124", "name": "bash"},
        ],
    ),
    "openai_responses": (
        "/v1/responses",
        {"input": "How?"},
        [
            {"type": "web_search", "filters": {"allowed_domains": ["example.org"]}},
            {"type": "code_interpreter", "container": {"type": "auto"}},
        ],
    ),
    "gemini_generate": (
        "/v1beta/models/m:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "How?"}]}]},
        [{"googleSearch": {"excludeDomains": ["example.org"]}}, {"codeExecution": {}}],
    ),
}


@pytest.mark.parametrize("api", sorted(OFFERED))
async def test_tools_of_the_models_own_provider_are_offered_as_the_client_set_them(
    api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, asked, tools = OFFERED[api]
    async with gateway(monkeypatch, api, Turn("With flour.")) as (served, upstream):
        assert await posted(served, {"model": "m", **asked, "tools": tools}, path) == 200
    assert upstream.requests[0].body["tools"] == tools


@pytest.mark.parametrize(
    "upstream, kind", [("gemini_generate", "googleSearch"), ("anthropic_messages", "web_search_20260318")]
)
async def test_a_search_that_opens_pages_too_becomes_a_search(
    upstream: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of the two it became was left to chance."""
    asked = {"model": "m", "input": "How?", "tools": [{"type": "web_search"}]}
    async with gateway(monkeypatch, upstream, Turn("With flour.")) as (served, model):
        assert await posted(served, asked, "/v1/responses") == 200
    assert kind in json.dumps(model.requests[0].body["tools"])


GROUNDED: dict[str, Any] = {
    "candidates": [
        {
            "content": {"role": "model", "parts": [{"text": "With flour."}]},
            "finishReason": "STOP",
            "groundingMetadata": {
                "webSearchQueries": ["baking"],
                "groundingChunks": [{"web": {"uri": "https://example.com/bread", "title": "How to bake"}}],
                "groundingSupports": [
                    {"segment": {"startIndex": 0, "endIndex": 11, "text": "With flour."}, "groundingChunkIndices": [0]}
                ],
            },
        }
    ],
    "responseId": "r1",
}
CITED: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [
        {
            "type": "text",
            "text": "With flour.",
            "citations": [
                {
                    "type": "web_search_result_location",
                    "url": "https://example.com/bread",
                    "title": "How to bake",
                    "encrypted_index": "x",
                    "cited_text": "Use flour.",
                }
            ],
        }
    ],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


@pytest.mark.parametrize("api, found", [("gemini_generate", GROUNDED), ("anthropic_messages", CITED)])
@pytest.mark.parametrize("stream", [True, False])
async def test_the_pages_that_a_model_names_are_told_to_every_client(
    api: str, found: dict[str, Any], stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = json.dumps(found).encode()
    streamed = Raw(body=b"data: %s\n\n" % whole, content_type="text/event-stream")
    answer_ = streamed if stream and api == "gemini_generate" else Raw(body=whole)
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "How is bread baked?"}],
        "stream": answer_ is streamed,
    }
    async with (
        gateway(monkeypatch, api, answer_) as (served, _),
        aiohttp.ClientSession(headers={"x-api-key": TOKEN}) as web,
        web.post(f"{served.url}/v1/chat/completions", json=body) as response,
    ):
        text = await response.text()
    assert r"\n\nSources:\n- How to bake: https://example.com/bread" in text
    assert text.index("With flour.") < text.index("Sources:")
    assert text.count("Sources:") == text.count("With flour.") == 1


async def test_no_list_of_pages_is_added_to_an_answer_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    (candidate,) = GROUNDED["candidates"]
    said = {**candidate, "content": {"role": "model", "parts": [{"text": '{"a": 1}'}]}}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    for text, more in ((said, {}), (candidate, {"response_format": form})):
        async with (
            gateway(monkeypatch, "gemini_generate", Raw(body=json.dumps({"candidates": [text]}).encode())) as (
                served,
                _,
            ),
            aiohttp.ClientSession(headers={"x-api-key": TOKEN}) as web,
            web.post(f"{served.url}/v1/chat/completions", json={"model": "m", "messages": ASKED, **more}) as response,
        ):
            assert "Sources" not in await response.text()
