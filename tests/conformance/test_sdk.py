"""The providers' own SDKs as judges: their types take every request we write, and they understand our server."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from dragoman.apis import APIS
from dragoman.errors import DefinitionError, EngineError
from dragoman.model import (
    CallPart,
    ExecutedBy,
    FreeformDefinition,
    FunctionDefinition,
    Media,
    MediaPart,
    NativeCall,
    NativeResult,
    Provenance,
    Reply,
    Request,
    TextPart,
    Thinking,
    ToolChoice,
    ToolExample,
    results_message,
    user,
)
from tests.conformance.cassettes import NAMES, OWNERS, cassettes
from tests.engine.loopback import Turn, loopback

# google-genai is compiled when it is first imported, and has escapes that Python warns of.
pytestmark = pytest.mark.filterwarnings("ignore:.*invalid escape sequence", "ignore::DeprecationWarning:google")


@cache
def judge(api: str) -> Callable[[dict[str, Any]], None]:
    """Raises `ValidationError` when the SDK's types do not take a body."""
    if api == "gemini_generate":
        from google.genai import types

        def take(body: dict[str, Any]) -> None:
            settings = dict(body.get("generationConfig") or body.get("generation_config") or {})
            beside = ("systemInstruction", "safetySettings", "tools", "toolConfig", "cachedContent", "labels")
            settings |= {key: body[key] for key in beside if key in body}
            types._GenerateContentParameters.model_validate(
                {"model": "m", "contents": body.get("contents"), "config": settings}
            )

        return take
    adapter: TypeAdapter[Any]
    if api == "openai_chat":
        from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming as Chat

        adapter = TypeAdapter(Chat)
    elif api == "openai_responses":
        from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming as Responses

        adapter = TypeAdapter(Responses)
    else:
        from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming as Messages

        adapter = TypeAdapter(Messages)

    def take_lazily(body: dict[str, Any]) -> None:
        consumed(adapter.validate_python({key: value for key, value in body.items() if key != "stream"}))

    return take_lazily


def consumed(value: Any) -> None:
    """Types that say `Iterable` are looked at only while they are iterated."""
    if isinstance(value, dict):
        for inner in value.values():
            consumed(inner)
    elif not isinstance(value, str | bytes | int | float | bool | None) and hasattr(value, "__iter__"):
        for inner in value:
            consumed(inner)


def takes(api: str, body: dict[str, Any]) -> str | None:
    try:
        judge(api)(body)
    except ValidationError as error:
        return str(error)[:400]
    return None


@pytest.mark.parametrize("api", NAMES)
def test_the_sdk_takes_every_recorded_request_as_we_write_it(api: str) -> None:
    refused: list[tuple[str, str]] = []
    checked = 0
    for cassette in cassettes(api):
        if cassette.vendor != OWNERS[api] or not isinstance(cassette.request, dict) or cassette.status != 200:
            continue
        if takes(api, cassette.request) is not None:
            continue  # the SDK does not know what was sent then: nothing to be learned here
        request = APIS[api].read_request(cassette.request, model=cassette.model)
        try:
            body = APIS[api].encode(request).body
        except DefinitionError:
            continue  # the tests of each API list those
        checked += 1
        why = takes(api, body)
        if why is not None:
            refused.append((cassette.id, why))
    assert checked > 400
    assert refused == []


TOOLS = (
    FunctionDefinition(
        "weather",
        "The weather.",
        {
            "type": "object",
            "properties": {
                "city": {"type": "string", "minLength": 1},
                "days": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None},
                "unit": {"enum": ["C", "F"]},
                "tags": {"type": "object", "additionalProperties": {"type": "string"}},
            },
            "required": ["city"],
        },
        examples=(ToolExample({"city": "Paris"}),),
    ),
    FunctionDefinition("nothing", "Takes nothing.", {"type": "object"}),
    FreeformDefinition("patch", "A patch.", "lark", 'start: "a"'),
)
ANSWER = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
ELSEWHERE = Provenance(api="elsewhere", model="m")
MODELS = {
    "openai_chat": ("gpt-4.1", "gpt-5", "o3"),
    "openai_responses": ("gpt-4.1", "gpt-5", "o3"),
    "anthropic_messages": ("claude-3-5-haiku-latest", "claude-sonnet-4-5", "claude-opus-4-7"),
    "gemini_generate": ("gemini-2.0-flash", "gemini-2.5-pro", "gemini-3-pro-preview"),
}


@pytest.mark.parametrize("api", NAMES)
def test_the_sdk_takes_what_we_write_for_every_setting(api: str) -> None:
    written = 0
    for model in MODELS[api]:
        stop = () if APIS[api].limits(model).stop_sequences == 0 else ("END",)
        for choice in (ToolChoice(), ToolChoice("none"), ToolChoice("required"), ToolChoice("one", ("weather",))):
            for thinking in (None, Thinking("off"), Thinking("low"), Thinking("high"), Thinking(tokens=2048)):
                for schema in (None, ANSWER):
                    request = Request(
                        model,
                        (user("hi"),),
                        TOOLS,
                        choice,
                        parallel=False,
                        thinking=thinking,
                        max_output_tokens=9000,
                        stop=stop,
                        response_schema=schema,
                    )
                    codec = APIS[api]
                    if any(not problem.fixed for problem in codec.validate(request)):
                        continue
                    written += 1
                    assert takes(api, codec.encode(request).body) is None, codec.encode(request).body
    assert written >= 40


FILM, SOUND = Media("video/mp4", data="QUJD"), Media("audio/x-wav", data="QUJD")
IMAGE, PAPER = Media("image/png", data="QUJD"), Media("application/pdf", data="QUJD", name="a.pdf")


@pytest.mark.parametrize("api", NAMES)
def test_the_sdk_takes_media_wherever_they_stand(api: str) -> None:
    every = (FILM, SOUND, Media("audio/L16;rate=24000", data="QUJD"), IMAGE, PAPER)
    talk = (
        user("See.", *every),
        Reply((TextPart("So."), *map(MediaPart, every), CallPart(NativeCall("a", "f"))), provenance=ELSEWHERE),
        results_message(NativeResult("a", ("seen", *every))),
    )
    for model in MODELS[api]:
        assert takes(api, APIS[api].encode(Request(model, talk)).body) is None


@pytest.mark.parametrize("api", NAMES)
def test_the_sdk_takes_every_recorded_exchange_of_another_api(api: str) -> None:
    """Each conversation with its answer, its calls answered, goes on with a model of another provider."""
    refused: list[tuple[str, str]] = []
    checked = 0
    for other in NAMES:
        for cassette in cassettes(other):
            if other == api or cassette.streaming or cassette.status != 200 or not cassette.of_owner(other):
                continue
            if not isinstance(cassette.request, dict) or not isinstance(cassette.response, dict):
                continue
            try:
                reply = APIS[other].decode(cassette.response)
            except EngineError:
                continue
            asked = APIS[other].read_request(cassette.request, model=cassette.model)
            results = [NativeResult(call.id, "done") for call in reply.calls if call.executed_by is ExecutedBy.CLIENT]
            talk = (*asked.conversation, reply, results_message(*results), user("Go on."))
            checked += 1
            why = takes(api, APIS[api].encode(Request(MODELS[api][1], talk)).body)
            if why is not None:
                refused.append((cassette.id, why))
    assert checked > 1_000
    assert refused == []


# ── the SDKs as clients of the server our own tests talk to ──────────────────

TURN = Turn("Hello there.", "hm", (("call_1", "weather", {"city": "Paris"}),), usage=(12, 8))


@pytest.mark.parametrize("stream", [False, True])
async def test_openai_understands_our_server(stream: bool) -> None:
    from openai import AsyncOpenAI

    async with loopback(TURN, TURN) as server:
        client = AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0)
        messages: Any = [{"role": "user", "content": "hi"}]
        if stream:
            async with client.chat.completions.stream(model="m", messages=messages) as streamed:
                async for _ in streamed:
                    pass
                chat: Any = await streamed.get_final_completion()
            async with client.responses.stream(model="m", input="hi") as events:
                async for _ in events:
                    pass
                response: Any = await events.get_final_response()
        else:
            chat = await client.chat.completions.create(model="m", messages=messages)
            response = await client.responses.create(model="m", input="hi")
        await client.close()
    message = chat.choices[0].message
    assert (message.content, message.tool_calls[0].function.arguments) == ("Hello there.", '{"city": "Paris"}')
    assert response.output_text == "Hello there."
    assert response.output[-1].call_id == "call_1"
    assert response.usage.total_tokens == 20


@pytest.mark.parametrize("stream", [False, True])
async def test_anthropic_understands_our_server(stream: bool) -> None:
    from anthropic import AsyncAnthropic

    async with loopback(TURN) as server:
        client = AsyncAnthropic(base_url=server.url, api_key="k", max_retries=0)
        said: Any = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}]}
        if stream:
            async with client.messages.stream(**said) as streamed:
                message: Any = await streamed.get_final_message()
        else:
            message = await client.messages.create(**said)
        await client.close()
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    assert message.content[2].input == {"city": "Paris"}
    assert message.usage.output_tokens == 8


@pytest.mark.parametrize("stream", [False, True])
async def test_google_understands_our_server(stream: bool) -> None:
    from google import genai

    async with loopback(TURN) as server:
        client = genai.Client(api_key="k", http_options={"base_url": server.url})
        text, calls = "", []
        if stream:
            async for chunk in await client.aio.models.generate_content_stream(model="m", contents="hi"):
                parts = chunk.candidates[0].content.parts or []  # type: ignore[index, union-attr]
                text += "".join(part.text for part in parts if part.text and not part.thought)
                calls += [part.function_call for part in parts if part.function_call]
        else:
            whole = await client.aio.models.generate_content(model="m", contents="hi")
            text = "".join(part.text for part in whole.candidates[0].content.parts if part.text and not part.thought)  # type: ignore[index, union-attr, misc]
            calls = list(whole.function_calls or [])
    assert text == "Hello there."
    assert [(call.name, call.args) for call in calls if call] == [("weather", {"city": "Paris"})]
