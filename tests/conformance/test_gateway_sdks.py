"""The providers' own SDKs as clients of the gateway: they understand what it writes, whole and streamed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from dragoman.serve.gateway import Routes
from tests.engine.loopback import Raw, Turn, played
from tests.serve.test_gateway import TOKEN, gateway

pytestmark = pytest.mark.filterwarnings("ignore:.*invalid escape sequence", "ignore::DeprecationWarning:google")

TOOL = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
Said = tuple[str, list[tuple[str, Any]], int]
"""Text, calls and tokens of the answer, as a client's program sees them."""


def anthropic(url: str, *, stream: bool) -> Said:
    from anthropic import Anthropic

    asked: dict[str, Any] = {
        "model": "a-model",
        "max_tokens": 1000,
        "messages": [{"role": "user", "content": "Weather?"}],
        "tools": [{"name": "weather", "description": "Weather of a city.", "input_schema": TOOL}],
    }
    client = Anthropic(base_url=url, api_key=TOKEN, max_retries=0)
    if stream:
        with client.messages.stream(**asked) as events:
            message: Any = events.get_final_message()
    else:
        message = client.messages.create(**asked)
    text = "".join(block.text for block in message.content if block.type == "text")
    calls = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
    assert message.stop_reason == "tool_use"
    return text, calls, message.usage.input_tokens + message.usage.output_tokens


def responses(url: str, *, stream: bool) -> Said:
    import json

    from openai import OpenAI

    asked: dict[str, Any] = {
        "model": "gpt-5.5",
        "input": "Weather?",
        "tools": [{"type": "function", "name": "weather", "description": "", "parameters": TOOL, "strict": False}],
    }
    client = OpenAI(base_url=f"{url}/v1", api_key=TOKEN, max_retries=0)
    if stream:
        with client.responses.stream(**asked) as events:
            response: Any = events.until_done().get_final_response()
    else:
        response = client.responses.create(**asked)
    calls = [(item.name, json.loads(item.arguments)) for item in response.output if item.type == "function_call"]
    assert response.status == "completed"
    return response.output_text, calls, response.usage.total_tokens


def chat(url: str, *, stream: bool) -> Said:
    import json

    from openai import OpenAI

    asked: dict[str, Any] = {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "Weather?"}],
        "tools": [{"type": "function", "function": {"name": "weather", "description": "", "parameters": TOOL}}],
    }
    client = OpenAI(base_url=f"{url}/v1", api_key=TOKEN, max_retries=0)
    if stream:
        with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as events:
            completion: Any = events.get_final_completion()
    else:
        completion = client.chat.completions.create(**asked)
    (choice,) = completion.choices
    calls = [(one.function.name, json.loads(one.function.arguments)) for one in choice.message.tool_calls]
    assert choice.finish_reason == "tool_calls"
    return choice.message.content, calls, completion.usage.total_tokens


def gemini(url: str, *, stream: bool) -> Said:
    from google import genai
    from google.genai import types

    client = genai.Client(api_key=TOKEN, http_options=types.HttpOptions(base_url=url))
    declared: Any = types.FunctionDeclaration(name="weather", description="", parameters_json_schema=TOOL)
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declared])])
    asked: dict[str, Any] = {"model": "gemini-2.5-pro", "contents": "Weather?", "config": config}
    answers = (
        list(client.models.generate_content_stream(**asked)) if stream else [client.models.generate_content(**asked)]
    )
    parts = [part for one in answers for part in (one.candidates[0].content.parts or ())]
    calls = [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]
    text = "".join(part.text for part in parts if part.text)
    return text, calls, answers[-1].usage_metadata.total_token_count


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("sdk", [anthropic, responses, chat, gemini])
@pytest.mark.parametrize("upstream", ["anthropic_messages", "openai_responses", "openai_chat", "gemini_generate"])
async def test_the_sdk_of_a_maker_reads_an_answer_of_any_other(
    sdk: Callable[..., Said], stream: bool, upstream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Turn("I will look.", calls=(("c1", "weather", {"city": "Oslo"}),), usage=(100, 20))
    async with gateway(monkeypatch, upstream, said) as (served, _):
        heard = await asyncio.to_thread(sdk, served.url, stream=stream)
    assert heard == ("I will look.", [("weather", {"city": "Oslo"})], 120)


@pytest.mark.parametrize("sdk", [anthropic, responses, chat, gemini])
async def test_no_sdk_takes_an_answer_that_broke_off_for_a_whole_one(
    sdk: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = played("openai_chat", Turn("One two three four five six.", pieces=6), stream=True)
    cut = Raw(200, whole.body, content_type=whole.content_type, stop_after=len(whole.body) // 2)
    async with gateway(monkeypatch, "openai_chat", cut, cut) as (served, _):
        with pytest.raises(Exception, match=r"in the middle of an answer|receive a `response.completed`"):
            await asyncio.to_thread(sdk, served.url, stream=True)


Listed = tuple[list[str], str, str]
"""The models that are listed, the last of them asked for alone, and what it answers."""


def anthropic_models(url: str) -> Listed:
    from anthropic import Anthropic

    client = Anthropic(base_url=url, api_key=TOKEN, max_retries=0)
    names = [one.id for one in client.models.list()]
    asked: Any = [{"role": "user", "content": "Hi"}]
    said: Any = client.messages.create(model=names[-1], max_tokens=100, messages=asked)
    return names, client.models.retrieve(names[-1]).id, said.content[0].text


def openai_models(url: str) -> Listed:
    from openai import OpenAI

    client = OpenAI(base_url=f"{url}/v1", api_key=TOKEN, max_retries=0)
    names = [one.id for one in client.models.list()]
    return names, client.models.retrieve(names[-1]).id, client.responses.create(model=names[-1], input="Hi").output_text


def gemini_models(url: str) -> Listed:
    from google import genai
    from google.genai import types

    client = genai.Client(api_key=TOKEN, http_options=types.HttpOptions(base_url=url))
    names = [str(one.name) for one in client.models.list()]
    alone = client.models.get(model=names[-1])
    counted = client.models.count_tokens(model=names[-1], contents="Hi")
    assert counted.total_tokens
    said = client.models.generate_content(model=names[-1], contents="Hi")
    return [one.removeprefix("models/") for one in names], str(alone.name).removeprefix("models/"), str(said.text)


@pytest.mark.parametrize("sdk", [anthropic_models, openai_models, gemini_models])
async def test_every_sdk_finds_the_models_of_the_list_under_their_names(
    sdk: Callable[[str], Listed], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["openai:gpt-5.5", "openai-chat:some/model"]
    async with gateway(monkeypatch, "openai_chat", Turn("Hello."), routes=Routes(tuple(names))) as (served, upstream):
        assert await asyncio.to_thread(sdk, served.url) == (names, names[-1], "Hello.")
    assert [heard.body["model"] for heard in upstream.requests] == ["some/model"]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("upstream", ["anthropic_messages", "openai_responses", "openai_chat", "gemini_generate"])
async def test_a_thought_has_a_signature_whoever_thought_it(
    upstream: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs send `block.signature` back; the model's own is kept here."""
    from anthropic import Anthropic

    def asked(url: str) -> list[tuple[str, str]]:
        client = Anthropic(base_url=url, api_key=TOKEN, max_retries=0)
        question: Any = [{"role": "user", "content": "Why?"}]
        if stream:
            with client.messages.stream(model="m", max_tokens=100, messages=question) as events:
                content = events.get_final_message().content
        else:
            content = client.messages.create(model="m", max_tokens=100, messages=question).content
        return [(one.thinking, one.signature) for one in content if one.type == "thinking"]

    async with gateway(monkeypatch, upstream, Turn("So.", thinking="Let me see.")) as (served, _):
        assert await asyncio.to_thread(asked, served.url) == [("Let me see.", "dragoman")]
