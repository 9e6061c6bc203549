"""Settings of a request as the model gets them, whatever the client calls its model and whatever the model takes."""

from __future__ import annotations

import io
import json
import time
from typing import Any

import aiohttp
import pytest

from dragoman.serve.gateway import Exchanged, Routes
from tests.engine.loopback import Raw, Turn
from tests.serve.test_gateway import TOKEN, gateway, posted

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
PATHS = {
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "anthropic_messages": "/v1/messages",
    "gemini_generate": "/v1beta/models/any:generateContent",
}
SAYING = {
    "openai_chat": {"model": "any", "messages": [{"role": "user", "content": "Hi"}]},
    "openai_responses": {"model": "any", "input": "Hi"},
    "anthropic_messages": {"model": "any", "max_tokens": 9000, "messages": [{"role": "user", "content": "Hi"}]},
    "gemini_generate": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
}
NOT_SETTINGS = ("messages", "input", "contents", "model", "prompt_cache_key")
API_OF = {"anthropic": "anthropic_messages", "gemini": "gemini_generate", "openai": "openai_responses"}


async def told(
    monkeypatch: pytest.MonkeyPatch, client: str, settings: dict[str, Any], model: str
) -> tuple[int, dict[str, Any]]:
    """The status of the answer, and the settings that the model was sent."""
    upstream_api = API_OF.get(model.partition(":")[0], "openai_chat")
    async with (
        gateway(monkeypatch, upstream_api, Turn("Hello."), routes=Routes((model,))) as (served, upstream),
        aiohttp.ClientSession(headers={"x-api-key": TOKEN}) as web,
        web.post(served.url + PATHS[client], json={**SAYING[client], **settings}) as response,
    ):
        await response.read()
    sent = upstream.requests[0].body if upstream.requests else {}
    return response.status, {name: value for name, value in sent.items() if name not in NOT_SETTINGS}


@pytest.mark.parametrize(
    "settings, model, expected",
    [
        ({"temperature": 0.3}, "anthropic:claude-sonnet-4-5", {"max_tokens": 64_000, "temperature": 0.3}),
        ({"temperature": 0}, "anthropic:claude-opus-4-7", {"max_tokens": 128_000}),
        ({"temperature": 1.7}, "anthropic:claude-sonnet-4-5", {"max_tokens": 64_000, "temperature": 1}),
        ({"temperature": 0.3}, "openai:gpt-5.5", {}),
        ({"temperature": 0.3, "top_p": 0.5}, "openai-chat:o3", {}),
        ({"temperature": 0.3}, "openai-chat:gpt-4o", {"temperature": 0.3}),
        (
            {"temperature": 0.3, "reasoning_effort": "high"},
            "anthropic:claude-sonnet-4-5",
            {"max_tokens": 64_000, "thinking": {"type": "enabled", "budget_tokens": 16_384}},
        ),
        ({"max_tokens": 32_000}, "openai-chat:gpt-4o", {"max_tokens": 16_384}),
        ({"max_tokens": 200_000}, "anthropic:claude-sonnet-4-5", {"max_tokens": 64_000}),
        ({"max_tokens": 500, "reasoning_effort": "high"}, "anthropic:claude-sonnet-4-5", {"max_tokens": 500}),
    ],
)
async def test_a_model_is_sent_no_setting_that_it_refuses(
    settings: dict[str, Any], model: str, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await told(monkeypatch, "openai_chat", settings, model) == (200, expected)


LOW = {"generationConfig": {"thinkingConfig": {"thinkingLevel": "low", "includeThoughts": True}}}


@pytest.mark.parametrize(
    "client, settings, model, expected",
    [
        ("openai_chat", {"reasoning_effort": "none"}, "gemini:gemini-3-pro-preview", LOW),
        ("openai_responses", {"reasoning": {"effort": "none"}}, "gemini:gemini-3-pro-preview", LOW),
        (
            "gemini_generate",
            {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}},
            "gemini:gemini-3-pro",
            LOW,
        ),
        ("openai_chat", {"reasoning_effort": "xhigh", "verbosity": "low"}, "openai-chat:gpt-4o", {}),
        ("openai_chat", {"reasoning_effort": "xhigh"}, "openai-chat:o3", {"reasoning_effort": "high"}),
        ("openai_responses", {"reasoning": {"effort": "xhigh", "summary": "auto"}}, "openai:gpt-4o", {}),
        (
            "openai_responses",
            {"reasoning": {"effort": "xhigh", "summary": "auto"}, "text": {"verbosity": "low"}},
            "openai:gpt-5",
            {"reasoning": {"effort": "high", "summary": "auto"}},
        ),
        (
            "anthropic_messages",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "max"}},
            "anthropic:claude-3-5-haiku-latest",
            {"max_tokens": 8192},
        ),
        (
            "anthropic_messages",
            {"thinking": {"type": "enabled", "budget_tokens": 2000}},
            "anthropic:claude-opus-4-8",
            {"max_tokens": 9000, "thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}},
        ),
        (
            "anthropic_messages",
            {"model": "claude-opus-4-8", "thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}},
            "anthropic:claude-opus-4-8",
            {"max_tokens": 9000, "thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}},
        ),
    ],
)
async def test_how_much_to_think_is_worded_for_the_model_that_is_asked(
    client: str, settings: dict[str, Any], model: str, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await told(monkeypatch, client, settings, model) == (200, expected)


FLASH = "gemini:gemini-2.5-flash"


@pytest.mark.parametrize(
    "client, settings, expected",
    [
        ("openai_chat", {"max_completion_tokens": 50}, {"maxOutputTokens": 50}),
        ("openai_chat", {"max_tokens": 50}, {"maxOutputTokens": 50}),
        ("openai_chat", {"random_seed": 7}, {"seed": 7}),
        ("openai_chat", {"reasoning_effort": "xhigh"}, {"thinkingBudget": 24_576}),
        ("openai_chat", {"reasoning": {"effort": "low"}}, {"thinkingBudget": 1024}),
        ("openai_chat", {"thinking": {"type": "disabled"}}, {"thinkingBudget": 0}),
        ("openai_responses", {"reasoning": {"effort": "minimal"}}, {"thinkingBudget": 1024}),
        ("anthropic_messages", {"thinking": {"type": "adaptive"}}, {"thinkingBudget": 24_576}),
        (
            "anthropic_messages",
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
            {"thinkingBudget": 1024},
        ),
        (
            "anthropic_messages",
            {"max_tokens": 64_000, "thinking": {"type": "enabled", "budget_tokens": 31_999}},
            {"thinkingBudget": 24_576},
        ),
    ],
)
async def test_a_setting_is_read_in_every_wording_of_the_clients_api(
    client: str, settings: dict[str, Any], expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, sent = await told(monkeypatch, client, settings, FLASH)
    config = {**sent["generationConfig"], **sent["generationConfig"].get("thinkingConfig", {})}
    assert (status, {name: config.get(name) for name in expected}) == (200, expected)


@pytest.mark.parametrize("config", [{"thinkingLevel": "HIGH"}, {"thinkingBudget": 20_000, "includeThoughts": True}])
async def test_how_much_a_gemini_client_wants_thought_is_read_by_level_and_by_tokens(
    config: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"generationConfig": {"thinkingConfig": config}}
    status, sent = await told(monkeypatch, "gemini_generate", asked, "openai:gpt-5.5")
    assert (status, sent) == (200, {"reasoning": {"effort": "high"}})


@pytest.mark.parametrize("model", ["anthropic:claude-sonnet-4-5", "openai:gpt-5.5", FLASH])
async def test_a_schema_of_geminis_older_kind_holds_the_answer_of_every_model(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """google-genai 3.1.0 sends `response_schema=` so."""
    older = {"type": "OBJECT", "properties": {"a": {"type": "INTEGER"}}, "required": ["a"]}
    asked = {"generationConfig": {"responseMimeType": "application/json", "responseSchema": older}}
    status, sent = await told(monkeypatch, "gemini_generate", asked, model)
    text = json.dumps(sent)
    assert status == 200
    assert '"properties": {"a": {"type": "integer"}}' in text
    assert "responseSchema" not in text


@pytest.mark.parametrize(
    "client, settings",
    [
        ("openai_chat", {"n": 2}),
        ("openai_responses", {"background": True}),
        ("gemini_generate", {"generationConfig": {"candidateCount": 2}}),
    ],
)
async def test_another_kind_of_answer_than_one_at_once_is_refused(
    client: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for model in ("openai:gpt-5.5", FLASH):
        assert await told(monkeypatch, client, settings, model) == (400, {})


async def test_an_answer_that_was_cut_off_by_a_refusal_is_not_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    half = Turn("I will now", finish="refusal")
    async with (
        gateway(monkeypatch, "anthropic_messages", half) as (served, _),
        aiohttp.ClientSession(headers={"x-api-key": TOKEN}) as web,
        web.post(f"{served.url}/v1/responses", json=SAYING["openai_responses"]) as response,
    ):
        answer = await response.json()
    assert (answer["status"], answer["incomplete_details"]) == ("incomplete", {"reason": "content_filter"})


async def pieces(monkeypatch: pytest.MonkeyPatch, **settings: Any) -> list[dict[str, Any]]:
    said = Turn("Hello.", calls=(("c1", "weather", {"city": "Oslo"}),))
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    asked = {**SAYING["openai_chat"], "tools": [tool], "stream": True, **settings}
    async with (
        gateway(monkeypatch, "anthropic_messages", said) as (served, _),
        aiohttp.ClientSession(headers={"x-api-key": TOKEN}) as web,
        web.post(f"{served.url}/v1/chat/completions", json=asked) as response,
    ):
        lines = (await response.text()).splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


async def test_every_piece_has_a_choice_unless_the_client_asked_for_one_with_the_counts_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many programs read `chunk.choices[0]` of every piece."""
    came = await pieces(monkeypatch)
    assert all(one["choices"] for one in came)
    assert came[-1]["usage"]["total_tokens"] == 15
    came = await pieces(monkeypatch, stream_options={"include_usage": True})
    assert [one["usage"]["total_tokens"] for one in came if not one["choices"]] == [15]


async def test_the_role_of_a_streamed_message_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """openai 3.49.0 appends the texts of all pieces: the role became "assistantassistant"."""
    came = await pieces(monkeypatch)
    roles = [choice["delta"]["role"] for one in came for choice in one["choices"] if "role" in choice["delta"]]
    assert roles == ["assistant"]


@pytest.mark.parametrize("others", [(), ("openai:gpt-5.4",)])
async def test_nobody_waits_here_for_a_provider_that_is_busy(
    others: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client is told how long to wait, or the next model is asked."""
    busy = Raw(429, b'{"error": {"message": "slow down"}}', headers={"retry-after": "50"})
    begun = time.monotonic()
    async with (
        gateway(monkeypatch, "openai_responses", busy, Turn("Hello."), routes=Routes(("openai:gpt-5.5", *others))) as (
            served,
            _,
        ),
        aiohttp.ClientSession(headers={"x-api-key": TOKEN}) as web,
        web.post(f"{served.url}/v1/messages", json=SAYING["anthropic_messages"]) as response,
    ):
        status, wait = response.status, response.headers.get("retry-after")
    assert time.monotonic() - begun < 20
    assert (status, wait) == ((200, None) if others else (429, "50"))


async def answered(url: str, client: str, data: bytes) -> tuple[int, dict[str, Any]]:
    async with (
        aiohttp.ClientSession(headers={"x-api-key": TOKEN}) as web,
        web.post(url + PATHS[client], data=io.BytesIO(data)) as response,
    ):
        return response.status, await response.json()


@pytest.mark.parametrize("client", sorted(PATHS))
async def test_a_request_that_cannot_be_answered_is_refused_in_the_clients_api(
    client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One without a message would be paid for; one of more than 64 MB is refused by the server below."""
    empty = json.dumps({**SAYING[client], "messages": [], "input": [], "contents": []}).encode()
    cases = [(413, b'{"a":"' + b"x" * (65 << 20) + b'"}'), (400, b"{}"), (400, empty)]
    async with gateway(monkeypatch, "openai_chat", Turn("Hello.")) as (served, upstream):
        for expected, data in cases:
            status, body = await answered(served.url, client, data)
            assert (status, bool(body["error"]["message"])) == (expected, True)
    assert upstream.requests == []


@pytest.mark.parametrize("client", sorted(PATHS))
async def test_a_defect_is_told_in_the_clients_api_and_logged(
    client: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with gateway(monkeypatch, "openai_chat", Turn("Hello.")) as (served, _):
        with monkeypatch.context() as broken:
            broken.setattr(Routes, "models", lambda *values: 1 / 0)
            status, body = await answered(served.url, client, json.dumps(SAYING[client]).encode())
        assert (await answered(served.url, client, json.dumps(SAYING[client]).encode()))[0] == 200
    assert (status, "ZeroDivisionError" in body["error"]["message"]) == (500, True)
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("said", [Turn("Hello, you."), Turn(calls=(("c1", "weather", {"city": "Oslo"}),))])
async def test_the_events_of_a_streamed_response_are_numbered_in_their_order(
    said: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = {"type": "function", "name": "weather", "parameters": {"type": "object"}}
    asked = {**SAYING["openai_responses"], "tools": [tool], "stream": True}
    async with (
        gateway(monkeypatch, "anthropic_messages", said) as (served, _),
        aiohttp.ClientSession(headers={"x-api-key": TOKEN}) as web,
        web.post(f"{served.url}/v1/responses", json=asked) as response,
    ):
        lines = (await response.text()).splitlines()
    numbers = [json.loads(line[6:])["sequence_number"] for line in lines if line.startswith("data: {")]
    assert numbers == [*range(len(numbers))]


@pytest.mark.parametrize("client", sorted(PATHS))
async def test_a_client_is_told_when_waiting_does_not_help(client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """anthropic 2.8.0 and openai 3.49.0 ask again after 429, unless this header says that they need not."""
    used_up = {"message": "You exceeded your current quota", "code": "insufficient_quota"}
    spent = Raw(429, json.dumps({"error": used_up}).encode())
    busy = Raw(429, b'{"error": {"message": "slow down"}}', headers={"retry-after": "30.2"})
    async with (
        gateway(monkeypatch, "openai_chat", spent, busy) as (served, _),
        aiohttp.ClientSession(headers={"x-api-key": TOKEN}) as web,
    ):
        told = []
        for _ in range(2):
            async with web.post(served.url + PATHS[client], json=SAYING[client]) as response:
                headers = response.headers
                told.append((response.status, headers.get("x-should-retry"), headers.get("retry-after")))
    assert told == [(429, "false", None), (429, None, "31")]


HELD = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize("word", ["output_format", "output_config"])
@pytest.mark.parametrize("model", ["openai:gpt-5.5", "openai-chat:gpt-5.5", FLASH, "anthropic:claude-sonnet-4-5"])
async def test_a_schema_in_either_word_of_anthropics_api_holds_the_answer_of_every_model(
    word: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = {"type": "json_schema", "schema": HELD}
    asked: dict[str, Any] = {word: form if word == "output_format" else {"format": form}}
    status, sent = await told(monkeypatch, "anthropic_messages", asked, model)
    assert status == 200
    assert json.dumps(HELD["properties"]) in json.dumps(sent)
    assert "output_format" not in sent


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("model", ["openai:gpt-5.5", "openai-chat:gpt-5.5"])
async def test_a_tool_that_a_client_wants_held_to_its_schema_is_held_to_it(
    model: str, strict: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = {"name": "look", "description": "Looks.", "parameters": HELD, "strict": strict}
    asked = {"tools": [{"type": "function", "function": function}]}
    _, sent = await told(monkeypatch, "openai_chat", asked, model)
    (tool,) = sent["tools"]
    assert tool.get("function", tool).get("strict", False) is strict


async def test_what_a_model_is_not_asked_with_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"top_k": 7, "top_p": 0.5, "temperature": 1, "stop_sequences": ["a"], "service_tier": "auto"}
    seen: list[Exchanged] = []
    async with gateway(monkeypatch, "openai_responses", Turn("Hello."), watch=seen.append) as (served, _):
        body = {**SAYING["anthropic_messages"], **settings, "metadata": {"user_id": "x"}}
        assert await posted(served, body) == 200
    assert seen[0].left_out == ("top_p", "stop", "top_k", "service_tier")
