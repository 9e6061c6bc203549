"""What `dragoman run` says and prints when a provider fails: one answer on standard output, or none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.engine.loopback import PATHS, Raw, Turn, loopback, played

from .conftest import User
from .test_run import KEY, no_keys, runs, starts

__all__ = ["no_keys"]

MODELS = {
    "anthropic_messages": "anthropic:m-1",
    "openai_responses": "openai:m-1",
    "openai_chat": "openai-chat:m-1",
    "gemini_generate": "gemini:m-1",
}
ALL = sorted(PATHS)
ANSWER = Turn("The answer is forty-two.", pieces=2)


def reached(url: str) -> dict[str, str]:
    names = ("ANTHROPIC", "OPENAI", "GEMINI")
    urls = {f"{name}_BASE_URL": url for name in ("ANTHROPIC", "OPENAI", "GOOGLE_GEMINI")}
    return {**urls, **{f"{name}_API_KEY": KEY for name in names}}


def cut(api: str) -> Raw:
    """The beginning of the answer, and then the connection is closed."""
    whole = played(api, ANSWER, stream=True)
    end = whole.body.index(b"\n\n", whole.body.index(b"The answer i")) + 2
    return Raw(body=whole.body, content_type=whole.content_type, stop_after=end)


# ── standard output ──────────────────────────────────────────────────────────


@pytest.mark.parametrize("api", ALL)
@pytest.mark.slow
async def test_a_pipe_gets_the_answer_once_however_often_it_broke_off(user: User, api: str) -> None:
    async with loopback(cut(api), ANSWER) as server:
        answer = await runs(user, None, "--model", MODELS[api], "hi", **reached(server.url))
    assert (answer.code, answer.out) == (0, "The answer is forty-two.\n")
    assert answer.err.count("trying again in") == 1
    assert "The answer broke off (the connection was closed in the middle of an answer) and starts again:" in answer.err


async def test_a_pipe_gets_nothing_of_an_answer_that_never_came_whole(user: User) -> None:
    async with loopback(*[cut("anthropic_messages")] * 2) as server:
        answer = await starts(user, server, "--retries", "1", "hi")
    assert (answer.code, answer.out) == (4, "")
    said = "The answer broke off after 12 characters, which are not printed."
    assert (said in answer.err, "error: the connection was closed in the middle of an answer" in answer.err) == (
        True,
        True,
    )


async def test_what_was_said_before_the_answer_that_failed_is_printed(user: User) -> None:
    read = Turn("I look.", calls=(("c1", "Read", {"file_path": "notes.txt"}),))
    async with loopback(read, cut("anthropic_messages")) as server:
        answer = await runs(user, server, "--retries", "0", "hi")
    assert (answer.code, answer.out) == (4, "I look.\n")


async def test_events_tell_of_the_whole_answer_alone(user: User) -> None:
    async with loopback(cut("anthropic_messages"), ANSWER) as server:
        answer = await runs(user, server, "--json", "hi")
    events = [json.loads(line) for line in answer.out.splitlines()]
    assert [event["text"] for event in events if event["kind"] == "model_said"] == ["The answer is forty-two."]
    assert "trying again in" in answer.err


# ── what is said of an error ─────────────────────────────────────────────────

ERRORS: dict[str, Any] = {
    "anthropic_messages": lambda status, said: {"type": "error", "error": {"type": "x_error", "message": said}},
    "openai_responses": lambda status, said: {"error": {"message": said, "type": "x_error", "code": None}},
    "openai_chat": lambda status, said: {"error": {"message": said, "type": "x_error", "code": None}},
    "gemini_generate": lambda status, said: {"error": {"code": status, "message": said, "status": "X"}},
}
KEYS = {
    "anthropic_messages": "ANTHROPIC_API_KEY",
    "openai_responses": "OPENAI_API_KEY",
    "openai_chat": "OPENAI_API_KEY",
    "gemini_generate": "GEMINI_API_KEY or GOOGLE_API_KEY",
}


@pytest.mark.parametrize("api", ALL)
async def test_each_status_is_told_in_the_providers_words_with_what_to_do(user: User, api: str) -> None:
    model = MODELS[api]
    provider = model.partition(":")[0]
    expected = {
        401: f"{provider} did not accept the key: check {KEYS[api]}.",
        403: f"{provider} refuses this request to this account: it may have no access to m-1, or not from here.",
        404: f'Is "m-1" a model of {provider}? Name another one: --model {provider}:NAME.',
        429: "Wait a while, check the limits of your account, or name another model: --model provider:model.",
        500: f"The fault is on the side of {provider}: try again later, or name another model.",
    }
    for status, told in expected.items():
        said = f"You asked for too much of {status}."
        raw = Raw(status, json.dumps(ERRORS[api](status, said)).encode())
        async with loopback(raw) as server:
            answer = await runs(user, None, "--retries", "0", "--model", model, "hi", **reached(server.url))
        assert (answer.code, answer.out) == (4, "")
        assert f"error: {said} [" in answer.err
        assert told in answer.err
        assert ("the key" in answer.err) is (status == 401)


async def test_a_key_that_gemini_calls_a_bad_argument_is_a_key_all_the_same(user: User) -> None:
    body = ERRORS["gemini_generate"](400, "API key not valid. Please pass a valid API key.")
    async with loopback(Raw(400, json.dumps(body).encode())) as server:
        answer = await runs(user, None, "--model", "gemini:m-1", "hi", **reached(server.url))
    assert "gemini did not accept the key: check GEMINI_API_KEY or GOOGLE_API_KEY." in answer.err


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("seconds", ["3600", "123456789"])
async def test_a_wait_longer_than_ours_is_told_and_not_begun(user: User, api: str, seconds: str) -> None:
    busy = Raw(429, json.dumps(ERRORS[api](429, "Too many requests.")).encode(), {"retry-after": seconds})
    async with loopback(busy, ANSWER) as server:
        answer = await runs(user, None, "--model", MODELS[api], "hi", **reached(server.url))
    assert (answer.code, answer.out, len(server.requests)) == (4, "", 1)
    assert f"Too many requests. (it asks for a wait of {seconds} s; the longest wait here is 120 s)" in answer.err
    assert "trying again" not in answer.err


@pytest.mark.parametrize("status", [429, 503])
async def test_a_wait_is_said_once_where_nothing_is_tried_again(user: User, status: int) -> None:
    busy = Raw(status, json.dumps(ERRORS["openai_chat"](status, "Busy.")).encode(), {"retry-after": "3600"})
    for retries in ("0", "2"):
        async with loopback(busy) as server:
            answer = await runs(
                user, None, "--retries", retries, "--model", MODELS["openai_chat"], "hi", **reached(server.url)
            )
        assert (answer.code, answer.err.count("asks for a wait of 3600 s")) == (4, 1)


PAGE = b"<!DOCTYPE html>\n<html><head>\n<title>502 Bad\n Gateway</title></head><body>" + b"<p>nginx</p>\n" * 500


@pytest.mark.parametrize("api", ALL)
@pytest.mark.slow
async def test_a_web_page_in_the_place_of_an_error_is_one_line(user: User, api: str) -> None:
    async with loopback(*[Raw(502, PAGE, content_type="text/html")] * 2) as server:
        answer = await runs(user, None, "--retries", "1", "--model", MODELS[api], "hi", **reached(server.url))
    assert (answer.code, answer.out, len(server.requests)) == (4, "", 2)
    told = [line for line in answer.err.splitlines() if "web page" in line]
    assert len(told) == 2
    assert all('the server sent a web page ("502 Bad Gateway"), not an answer of an API' in line for line in told)
    assert "<" not in answer.err


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "text/event-stream", "application/json"])
async def test_a_web_page_in_the_place_of_an_answer_is_told_at_once(user: User, api: str, content_type: str) -> None:
    page = PAGE.replace(b"502 Bad\n Gateway", b"Sign in to the hotel")
    async with loopback(*[Raw(200, page, content_type=content_type)] * 3) as server:
        answer = await runs(user, None, "--model", MODELS[api], "hi", **reached(server.url))
    assert (answer.code, answer.out, len(server.requests)) == (4, "", 1)
    assert 'the server sent a web page ("Sign in to the hotel"), not an answer of an API' in answer.err
    assert f"base_url in [providers.{MODELS[api].partition(':')[0]}] of your settings, or the variable" in answer.err
    assert "<" not in answer.err


async def test_a_redirect_is_not_followed_and_told_with_where_it_leads(user: User) -> None:
    away = Raw(307, b"", {"location": "https://elsewhere.example/v1"})
    async with loopback(*[away] * 3) as server:
        answer = await runs(user, server, "hi")
    assert (answer.code, answer.out, len(server.requests)) == (4, "", 1)
    assert "the server redirects to 'https://elsewhere.example/v1', and redirects are not followed" in answer.err


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize(
    "body, told",
    [
        (b"data: " + b"[" * 5_000 + b"\n\ndata: [DONE]\n\n", "an event of the stream is not JSON ("),
        (b"data: 17\n\ndata: [DONE]\n\n", "an event of the stream is not a JSON object: 17"),
        (b"data: [DONE]\n\n", "the response ended without an answer"),
        (b"", "the server sent an empty answer"),
        (b"nothing of the kind", "the answer is neither JSON nor a stream of events; it begins 'nothing of the kind'"),
    ],
)
async def test_an_answer_that_is_none_is_an_error(user: User, api: str, body: bytes, told: str) -> None:
    raw = Raw(200, body, content_type="text/event-stream")
    async with loopback(raw) as server:
        answer = await runs(user, None, "--retries", "0", "--model", MODELS[api], "hi", **reached(server.url))
    assert (answer.code, answer.out) == (4, "")
    assert told in answer.err
