"""Tools the provider runs: sent, shown and echoed, never run here; keys that servers repeat are not shown."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from dragoman.engine import Exchange, HttpEngine, Orchestrator, Retry
from dragoman.engine.transport import Transport
from dragoman.errors import EngineError
from dragoman.model import AnyEvent, ExecutedBy, FinishReason, Request, Span, ToolCalled, ToolReturned, user
from dragoman.tools import ProviderTool, tool
from tests.engine.loopback import Raw, Turn, loopback

SEARCHED = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "played",
    "content": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "weather in Rome"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": [
                {"type": "web_search_result", "url": "https://w.example", "title": "W", "encrypted_content": "e"}
            ],
        },
        {
            "type": "text",
            "text": "It is sunny.",
            "citations": [
                {
                    "type": "web_search_result_location",
                    "url": "https://w.example",
                    "title": "W",
                    "cited_text": "sun",
                    "encrypted_index": "i",
                }
            ],
        },
    ],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 5, "output_tokens": 5},
}


def engine(api: str, url: str, key: str = "sk-very-secret", **options: Any) -> HttpEngine:
    headers = {"authorization": f"Bearer {key}", "x-api-key": key}
    return HttpEngine(api, Transport(url, headers=headers), retry=Retry(times=0), provider="anthropic", **options)


@tool
def web_search(query: str) -> str:
    """A search of the user's own."""
    raise AssertionError("the provider's call was run here")


async def test_a_hosted_call_is_shown_and_echoed_and_its_citations_reach_the_caller() -> None:
    events: list[AnyEvent] = []
    async with loopback(Raw(body=json.dumps(SEARCHED).encode()), Turn("Yes.")) as server:
        hosted = ProviderTool("anthropic.web_search_20250305", {"max_uses": 3})
        run = Orchestrator(
            engine("anthropic_messages", server.url), [hosted, web_search], model_name="claude-sonnet-4-5"
        )
        first = await run.run("How is Rome?", emit=events.append)
        await run.run("Sure?", history=first.conversation)
        await run.close()
    assert (first.status, first.rounds, first.text) == ("completed", 1, "It is sunny.")
    assert [(one.url, one.span) for one in first.citations] == [("https://w.example", Span(0, 12))]
    called = next(event for event in events if isinstance(event, ToolCalled))
    assert called.call.native.executed_by is ExecutedBy.PROVIDER
    assert type(called.call.operations[0]).__name__ == "SearchWeb"
    returned = next(event for event in events if isinstance(event, ToolReturned))
    assert type(returned.result.outcomes[0]).__name__ == "PagesOutcome"
    offered = server.requests[0].body["tools"]
    assert {"type": "web_search_20250305", "name": "web_search", "max_uses": 3} in offered
    assert len({one["name"] for one in offered}) == 2
    assert server.requests[1].body["messages"][1]["content"] == SEARCHED["content"]


async def test_a_turn_the_provider_paused_goes_on_with_the_same_blocks() -> None:
    paused = {**SEARCHED, "content": SEARCHED["content"][:1], "stop_reason": "pause_turn"}  # type: ignore[index]
    async with loopback(Raw(body=json.dumps(paused).encode()), Raw(body=json.dumps(SEARCHED).encode())) as server:
        hosted = ProviderTool("anthropic.web_search_20250305")
        run = Orchestrator(engine("anthropic_messages", server.url), [hosted], model_name="claude-sonnet-4-5")
        result = await run.run("How is Rome?")
        await run.close()
    assert (result.finish, result.rounds) == (FinishReason.STOP, 2)
    assert server.requests[1].body["messages"][-1]["content"] == paused["content"]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_key_that_a_server_repeats_is_shown_nowhere(stream: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "dragoman")
    recorded: list[Exchange] = []
    said = b'{"error": {"message": "Incorrect API key provided: sk-very-secret", "code": "invalid_api_key"}}'
    async with loopback(Raw(401, said)) as server:
        asked = engine("openai_chat", server.url, record=recorded.append)
        with pytest.raises(EngineError) as raised:
            await asked.ask(Request("m", (user("hi"),), stream=stream))
        await asked.close()
    assert "Incorrect API key provided: ***" in str(raised.value)
    for text in (str(raised.value), repr(raised.value.__dict__), str(recorded), caplog.text):
        assert "sk-very-secret" not in text


@pytest.mark.parametrize("api", ["anthropic_messages", "gemini_generate", "openai_chat", "openai_responses"])
@pytest.mark.parametrize("said", ['{"error": {"message": "sk-very-secret", "code": 500}}', "no JSON: sk-very-secret"])
async def test_a_key_in_a_stream_that_is_none_is_shown_nowhere(api: str, said: str) -> None:
    body = f"data: {said}\n\n".encode()
    async with loopback(Raw(body=body, content_type="text/event-stream")) as server:
        asked = engine(api, server.url)
        with pytest.raises(EngineError) as raised:
            await asked.ask(Request("m", (user("hi"),), stream=True))
        await asked.close()
    shown: BaseException | None = raised.value
    while shown is not None:
        assert "sk-very-secret" not in f"{shown} {shown.__dict__}"
        shown = shown.__cause__ or shown.__context__
