"""The web in `dragoman run`: who searches for which model, what is asked first, and what is not offered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.cli.terminal.console import ExitCode
from tests.engine.loopback import Turn, loopback
from tests.engine.test_web_search import GEMINI_2, SEARCH

from .conftest import User
from .test_run import KEY, no_keys, runs

__all__ = ["no_keys"]


def names(body: dict[str, Any]) -> set[str]:
    """The tools of a request in any API, by name; a provider's own by its type."""
    found: set[str] = set()
    for tool in body["tools"]:
        if "functionDeclarations" in tool:
            found |= {one["name"] for one in tool["functionDeclarations"]}
        else:
            named = tool.get("function", tool)
            found.add(named.get("name") or named.get("type") or next(iter(tool)))
    return found


@pytest.mark.parametrize(
    "model, word",
    [
        ("anthropic:claude-sonnet-4-5", "WebSearch"),
        ("openai:gpt-5.1", "web_search"),
        ("gemini:gemini-2.5-pro", "google_web_search"),
        ("gemini:gemini-3-pro-preview", "google_web_search"),
    ],
)
async def test_a_model_whose_provider_searches_is_offered_search_without_being_told(
    user: User, model: str, word: str
) -> None:
    done = await runs(user, None, "--dry-run", "--json", "--model", model, "go")
    assert word in names(done.json["body"])


@pytest.mark.parametrize(
    "settings, expected",
    [
        (["policy.approval=allow"], "web_search_2"),
        (['policy.where={search_web="native"}'], "web_search_2"),
        (["policy.where.search_web=native"], "web_search_2"),
        (['policy.where={"search_web": "auto"}'], "WebSearch"),
    ],
)
async def test_the_provider_searches_within_its_reply_only_where_nobody_is_to_be_asked(
    user: User, settings: list[str], expected: str
) -> None:
    flags = [word for setting in settings for word in ("--set", setting)]
    done = await runs(user, None, "--dry-run", "--json", "--model", "claude-sonnet-4-5", *flags, "go")
    searches = [one.get("type") or one["name"] for one in done.json["body"]["tools"] if "earch" in one["name"]]
    assert [one for one in searches if one.startswith(expected)]


async def test_a_search_is_asked_about_like_any_fetch(user: User) -> None:
    called = Turn(calls=(("c1", "WebSearch", {"query": "tea"}),))
    async with loopback(called, Turn("Done.")) as server:
        refused = await runs(user, server, "--model", "claude-sonnet-4-5", "look it up")
    assert refused.code == ExitCode.OK
    assert "1 call was refused" in refused.err
    assert len(server.requests) == 2
    async with loopback(called, Turn("Tea is a drink."), Turn("Done.")) as server:
        done = await runs(user, server, "--yes", "--model", "claude-sonnet-4-5", "look it up")
    assert done.code == ExitCode.OK
    search, last = server.requests[1].body, server.requests[2].body
    assert [tool["name"] for tool in search["tools"]] == ["web_search"]
    assert "Tea is a drink." in json.dumps(last)


async def test_a_provider_with_a_key_searches_for_a_model_on_this_machine(user: User) -> None:
    called = Turn(calls=(("c1", "web_search", {"query": "tea"}),))
    async with loopback(SEARCH[GEMINI_2]) as gemini, loopback(called, Turn("Done.")) as server:
        done = await runs(
            user,
            None,
            *("--yes", "--model", "ollama:llama-4", "--set", "search.backend=gemini", "look it up"),
            OLLAMA_BASE_URL=server.url,
            GOOGLE_GEMINI_BASE_URL=gemini.url,
            GEMINI_API_KEY=KEY,
        )
    assert done.code == ExitCode.OK, done.err
    assert "Tea is a drink." in json.dumps(server.requests[1].body)
    assert gemini.requests[0].headers["x-goog-api-key"] == KEY


async def test_a_search_that_nobody_can_do_is_left_out_or_refused_by_name(user: User) -> None:
    done = await runs(user, None, "--dry-run", "--json", "--model", "ollama:llama-4", "go")
    assert "web_search" not in names(done.json["body"])
    named = await runs(user, None, "--dry-run", "--model", "ollama:llama-4", "--tools", "search_web", "go")
    assert named.code == ExitCode.USAGE
    assert "--tools: search_web cannot be offered: ollama has no web search" in named.err
    without_key = await runs(
        user, None, "--dry-run", "--json", "--model", "ollama:llama-4", "--set", "search.backend=gemini", "go"
    )
    assert "web_search" not in names(without_key.json["body"])
    assert "no key for gemini: set GEMINI_API_KEY" in without_key.err


def test_mcp_serve_refuses_a_search_without_a_backend(user: User) -> None:
    served = user.types("mcp", "serve", "--tools", "search_web")
    assert served.code == ExitCode.USAGE
    assert "search_web cannot be served: search.backend is not set" in served.err
