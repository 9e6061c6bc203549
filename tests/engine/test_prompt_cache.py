"""The provider's prompt cache: each request of a run begins with the one before it, and says so where an API asks."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dragoman import config
from dragoman.apis import APIS
from dragoman.engine import Orchestrator, RunResult
from dragoman.model import (
    Media,
    Message,
    NativeCall,
    NativeResult,
    OpaquePart,
    Provenance,
    Reply,
    Request,
    TextPart,
    ThinkingPart,
    Usage,
    system,
    user,
)
from dragoman.model.conversation import calls_message, results_message
from dragoman.tools import tool
from tests.engine.loopback import Turn, loopback
from tests.engine.test_end_to_end import ALL, MODELS, engine

MARK = {"type": "ephemeral"}
SAYS = {
    "openai_chat": "messages",
    "openai_responses": "input",
    "anthropic_messages": "messages",
    "gemini_generate": "contents",
}


@tool
def look(place: str) -> str:
    """What is there."""
    return f"a {place}"


def turns(rounds: int) -> list[Turn]:
    return [*(Turn("Next.", "hm", ((f"c{at}", "look", {"place": f"p{at}"}),)) for at in range(rounds)), Turn("Done.")]


async def requests_of(api: str, rounds: int = 4, **settings: Any) -> list[dict[str, Any]]:
    """The bodies of the requests of one run."""
    async with loopback(*turns(rounds)) as server:
        settings.setdefault("model_name", MODELS[api])
        run = Orchestrator(engine(api, server), [look], dialect="plain", system="Be brief.", **settings)
        assert (await run.run("Look around.")).text == "Done."
        await run.close()
    return [heard.body for heard in server.requests]


def unmarked(value: Any) -> Any:
    """A body without marks, and texts as blocks: how the provider compares two requests."""
    if isinstance(value, dict):
        return {key: unmarked(each) for key, each in value.items() if key != "cache_control"}
    return [unmarked(each) for each in value] if isinstance(value, list) else value


def marks(body: dict[str, Any]) -> list[Any]:
    """Where a request is marked: in the system prompt, and in which message and block."""
    blocks = body["system"] if isinstance(body.get("system"), list) else []
    found: list[Any] = ["system" for block in blocks if "cache_control" in block]
    for at, message in enumerate(body["messages"]):
        found += [(at, place) for place, block in enumerate(message["content"]) if "cache_control" in block]
    return found


@pytest.mark.parametrize("api", ALL)
async def test_every_request_begins_with_the_one_before(api: str) -> None:
    bodies = [unmarked(body) for body in await requests_of(api)]
    said = [body.pop(SAYS[api]) for body in bodies]
    for before, after in pairwise(said):
        assert after[: len(before)] == before
        assert len(after) > len(before)
    rest = [
        {key: value for key, value in unmarked(body).items() if key != SAYS.get(api, "contents")} for body in bodies
    ]
    assert all(each == rest[0] for each in rest)


async def test_claude_is_told_what_to_keep_up_to_the_end_of_the_last_two_user_messages() -> None:
    bodies = await requests_of("anthropic_messages")
    assert [marks(body) for body in bodies] == [
        ["system", (0, 0)],
        ["system", (0, 0), (2, 0)],
        ["system", (2, 0), (4, 0)],
        ["system", (4, 0), (6, 0)],
        ["system", (6, 0), (8, 0)],
    ]


async def test_a_request_repeats_the_last_mark_of_the_one_before() -> None:
    """So what was kept is found, however many blocks a turn adds: the API looks back 20 blocks and no further."""
    bodies = await requests_of("anthropic_messages")
    for before, after in pairwise(bodies):
        assert marks(before)[-1] in marks(after)


@pytest.mark.parametrize("api", ["openai_chat", "openai_responses"])
async def test_openai_is_told_which_conversation_it_is(api: str) -> None:
    first, again = await requests_of(api), await requests_of(api, rounds=1)
    keys = {body["prompt_cache_key"] for body in (*first, *again)}
    assert len(keys) == 1
    assert len(keys.pop()) <= 64  # the API's limit

    other = APIS[api].encode(Request(MODELS[api], (system("Be brief."), user("Something else.")), cache=True)).body
    assert other["prompt_cache_key"] not in {body["prompt_cache_key"] for body in first}


@pytest.mark.parametrize("api", ["openai_chat", "openai_responses"])
async def test_a_server_that_is_not_openai_is_told_nothing_it_may_refuse(api: str) -> None:
    for model in ("mistral-large-latest", "llama3.1", "grok-4"):
        assert all("prompt_cache_key" not in body for body in await requests_of(api, rounds=1, model_name=model))


@pytest.mark.parametrize("api", ALL)
async def test_it_can_be_turned_off(api: str) -> None:
    for body in await requests_of(api, rounds=1, cache=False):
        assert body == unmarked(body)
        assert "prompt_cache_key" not in body


def encoded(*conversation: Any, **fields: Any) -> dict[str, Any]:
    body: dict[str, Any] = (
        APIS["anthropic_messages"].encode(Request("claude-sonnet-4-5", conversation, cache=True, **fields)).body
    )
    return body


def test_marks_of_the_callers_own_are_left_as_they_are() -> None:
    own = {"anthropic_messages": {"cache_control": {"type": "ephemeral", "ttl": "1h"}}}
    body = encoded(system("Be brief."), Message("user", (TextPart("Look.", metadata=own),)))
    assert marks(body) == [(0, 0)]
    assert body["messages"][0]["content"][0]["cache_control"]["ttl"] == "1h"

    first = encoded(Message("system", (TextPart("Be brief.", metadata=own),)), user("Look."))
    assert marks(first) == ["system"]
    inside = {
        "type": "search_result",
        "source": "s",
        "title": "t",
        "content": [{"type": "text", "text": "x", "cache_control": MARK}],
    }
    assert marks(encoded(system("Be brief."), Message("user", (OpaquePart("anthropic_messages", inside),)))) == []

    whole = encoded(system("Be brief."), user("Look."), provider_options={"cache_control": MARK})
    assert (marks(whole), whole["cache_control"]) == ([], MARK)


def test_a_mark_stands_on_a_block_that_takes_one() -> None:
    picture = Media("image/png", "AAAA")
    assert marks(encoded(user("Look.", picture))) == [(0, 1)]
    call, result = NativeCall("c1", "look", {}), NativeResult("c1", "a place", False)
    reply = Reply(
        (ThinkingPart("hm", signature="s"),),
        provenance=Provenance(api="anthropic_messages", model="claude-sonnet-4-5"),
    )
    conversation = (user("Look."), reply, calls_message(call), results_message(result))
    body = encoded(*conversation)
    assert all(block["type"] not in ("thinking", "tool_use") for _, block in marked_blocks(body))
    assert len(marks(body)) == 2


def marked_blocks(body: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    return [(at, body["messages"][at]["content"][place]) for at, place in marks(body)]


def test_the_conversation_itself_is_not_changed() -> None:
    block = {"type": "search_result", "source": "s", "title": "t", "content": []}
    message = Message("user", (OpaquePart("anthropic_messages", block),))
    assert marks(encoded(message)) == [(0, 0)]
    assert "cache_control" not in block


def test_the_result_says_what_was_saved() -> None:
    usage = Usage(input_tokens=1_000, cached_read_tokens=10_000, cached_write_tokens=2_000, output_tokens=100)
    result = RunResult("r", "completed", "", (), None, usage, 1, charged=(("claude-sonnet-4-5", usage),))
    # $3 for a million tokens of input, $0.30 of those read from the cache, $3.75 of those written to it
    assert result.saved == pytest.approx((10_000 * (3 - 0.3) + 2_000 * (3 - 3.75)) / 1e6)
    unknown = RunResult("r", "completed", "", (), None, usage, 1, charged=(("nobody-knows", usage),))
    assert unknown.saved is None


def test_settings_turn_it_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    for said in (True, False):
        (tmp_path / "config.toml").write_text(f"cache = {str(said).lower()}\n")
        configuration = config.load(cwd=tmp_path, environ={"DRAGOMAN_CONFIG_DIR": str(tmp_path)})
        run = Orchestrator("anthropic:claude-sonnet-4-5", configuration=configuration, system="Be brief.")
        prepared = run.prepare("Look.").encoded
        assert prepared is not None
        assert bool(marks(prepared.body)) is said
