"""Who searches the web for a model: its provider, in its own reply or in a request of its own, or a search backend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.config import load
from dragoman.engine import Approval, HttpEngine, Orchestrator, ToolPolicy, web_for
from dragoman.engine.transport import Transport
from dragoman.errors import ConfigError
from dragoman.model import Page, operations as op
from dragoman.registry import TOOLS
from dragoman.tools import Context, MemoryWorkspace, Tool, Web

from .loopback import Raw, Turn, loopback

CLAUDE = ("anthropic_messages", "anthropic", "claude-sonnet-4-5")
GPT = ("openai_responses", "openai", "gpt-5.1")
GEMINI_2 = ("gemini_generate", "gemini", "gemini-2.5-pro")
GEMINI_3 = ("gemini_generate", "gemini", "gemini-3-pro")
OLLAMA = ("openai_chat", "ollama", "llama-4")
ASKS = ToolPolicy(default="ask")
SEARCHES_ITSELF = {
    CLAUDE: "anthropic.web_search_20260209",
    GPT: "openai.web_search",
    GEMINI_3: "google.google_search",
}
Model = tuple[str, str, str]


class Found:
    """A search backend that always finds the same."""

    async def search(self, query: str, **_: Any) -> list[Page]:
        return [Page("https://a.example/tea", "Tea", snippet=f"Of {query}.")]


def orchestrator(model: Model, policy: ToolPolicy, *, url: str = "http://127.0.0.1:1", **more: Any) -> Orchestrator:
    api, provider, name = model
    tools = more.pop("tools", [TOOLS["search_web"], TOOLS["read_file"]])
    engine = HttpEngine(api, Transport(url), provider=provider)
    return Orchestrator(engine, tools, policy, model_name=name, workspace=MemoryWorkspace(), **more)


def offered(model: Model, policy: ToolPolicy, **more: Any) -> set[str]:
    request = orchestrator(model, policy, **more).prepare("go").request
    return {getattr(one, "id", None) or str(one.name) for one in request.definitions}


@pytest.mark.parametrize("model", SEARCHES_ITSELF)
def test_a_model_whose_provider_searches_is_offered_that_search_without_being_told(model: Model) -> None:
    names = offered(model, ToolPolicy())
    assert len(names) == 2
    assert any(name.split("_2")[0] == SEARCHES_ITSELF[model].split("_2")[0] for name in names)


WORDS = {CLAUDE: "WebSearch", GPT: "web_search", GEMINI_2: "google_web_search", GEMINI_3: "google_web_search"}


@pytest.mark.parametrize("model", WORDS)
@pytest.mark.parametrize(
    "policy",
    [
        ASKS,
        ToolPolicy(approval=(Approval("ask", operation="search_web"),)),
        ToolPolicy(approval=(Approval("deny", kind="fetch", arguments={"query": "*secret*"}),)),
        ToolPolicy(within=ASKS),
    ],
)
def test_a_search_that_a_rule_may_ask_about_is_a_call_of_ours_in_the_models_words(
    model: Model, policy: ToolPolicy
) -> None:
    assert WORDS[model] in offered(model, policy)


def test_a_model_that_cannot_have_both_is_offered_a_function_beside_its_others() -> None:
    assert "google_web_search" in offered(GEMINI_2, ToolPolicy())
    assert offered(GEMINI_2, ToolPolicy(), tools=[TOOLS["search_web"]]) == {"google.google_search"}


def test_a_search_that_nobody_can_do_is_not_offered_and_a_note_says_what_to_set() -> None:
    run = orchestrator(OLLAMA, ToolPolicy())
    assert run.why_no_search is not None
    (note,) = [one for one in run.prepare("go").notes if one.tool == "search_web"]
    assert note.message == f"it is not offered: {run.why_no_search}"
    assert "ollama has no web search" in note.message
    assert "searxng or browser" in note.message
    assert "gemini" in note.message
    assert offered(OLLAMA, ToolPolicy()) == {"vfs_read"}
    assert offered(CLAUDE, ToolPolicy(where={"search_web": "local"})) == {"Read"}
    assert offered(CLAUDE, ToolPolicy(where={"search_web": "native"}, approval=(Approval("deny", kind="fetch"),))) == {
        "Read"
    }


def test_a_backend_serves_a_model_whose_provider_does_not_search() -> None:
    context = Context(provides={Web: Web(search=Found())})
    assert offered(OLLAMA, ToolPolicy(), context=context) == {"vfs_read", "web_search"}
    local = ToolPolicy(where={"search_web": "local"})
    assert offered(CLAUDE, local, context=context) == {"Read", "WebSearch"}


def test_a_search_tool_of_the_callers_own_stays_as_it_is() -> None:
    async def mine(operation: op.SearchWeb) -> str:
        return operation.query

    own = Tool.from_operation(op.SearchWeb, mine)
    assert offered(CLAUDE, ToolPolicy(), tools=[own]) == {"WebSearch"}
    assert offered(OLLAMA, ToolPolicy(), tools=[own]) == {"web_search"}


GROUNDED = {
    "candidates": [
        {
            "content": {"role": "model", "parts": [{"text": "Tea is a drink."}]},
            "finishReason": "STOP",
            "groundingMetadata": {
                "groundingChunks": [{"web": {"uri": "https://a.example/tea", "title": "a.example"}}],
                "groundingSupports": [
                    {
                        "segment": {"startIndex": 0, "endIndex": 15, "text": "Tea is a drink."},
                        "groundingChunkIndices": [0],
                    }
                ],
            },
        }
    ],
    "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120},
    "modelVersion": "gemini-2.5-pro",
}
SEARCH = {
    GEMINI_2: Raw(body=json.dumps(GROUNDED).encode()),
    CLAUDE: Turn("Tea is a drink.", usage=(100, 20)),
    GPT: Turn("Tea is a drink.", usage=(100, 20)),
}


@pytest.mark.parametrize("model", SEARCH)
async def test_a_search_by_the_models_own_provider_is_a_request_of_its_own_and_charged_to_the_run(model: Model) -> None:
    script = (Turn(calls=(("1", WORDS[model], {"query": "tea"}),)), SEARCH[model], Turn(text="Done."))
    async with loopback(*script) as server:
        policy = ToolPolicy(approval=(Approval("ask", operation="search_web"),))
        run = orchestrator(model, policy, url=server.url, approver=lambda question: True)
        result = await run.run("go")
        await run.close()
    first, search, last = (heard.body for heard in server.requests)
    assert result.text == "Done."
    assert len(search["tools"]) == 1
    assert "Tea is a drink." in json.dumps(last)
    assert len(first["tools"]) == len(last["tools"])
    assert result.usage.total == 15 + 120 + 15
    assert [usage.total for _, usage in result.charged] == [15, 120, 15]


async def test_no_search_is_made_when_the_run_has_no_tokens_left() -> None:
    called = Turn(calls=(("1", "google_web_search", {"query": "tea"}), ("2", "google_web_search", {"query": "milk"})))
    async with loopback(called, SEARCH[GEMINI_2], Turn(text="Done.")) as server:
        policy = ToolPolicy(max_tokens=100, max_parallel=1)
        run = orchestrator(GEMINI_2, policy, url=server.url)
        result = await run.run("go")
        await run.close()
    assert len(server.requests) == 2
    assert (result.status, result.usage.total) == ("limited", 135)


# ── a provider as the backend of others ──────────────────────────────────────


async def test_a_provider_with_a_key_searches_for_every_other_model(tmp_path: Path) -> None:
    async with (
        loopback(SEARCH[GEMINI_2]) as gemini,
        loopback(Turn(calls=(("1", "web_search", {"query": "tea"}),)), Turn(text="Done.")) as server,
    ):
        settings = {
            "search.backend": "gemini",
            "providers.gemini.base_url": gemini.url,
            "providers.gemini.api_key": "k",
            "providers.ollama.base_url": server.url,
        }
        configuration = load(flags=settings, cwd=tmp_path, environ={"HOME": str(tmp_path)})
        run = Orchestrator(
            "ollama:llama-4", [TOOLS["search_web"]], workspace=MemoryWorkspace(), configuration=configuration
        )
        result = await run.run("go")
        await run.close()
    (search,) = gemini.requests
    assert search.path.startswith("/models/gemini-2.5-pro:generateContent")
    assert search.body["tools"] == [{"googleSearch": {}}]
    assert "https://a.example/tea" in json.dumps(server.requests[1].body)
    assert "Tea is a drink." in json.dumps(server.requests[1].body)
    assert [(model, usage.total) for model, usage in result.charged][1] == ("gemini-2.5-pro", 120)


@pytest.mark.parametrize(
    "backend, why",
    [
        ("gemini", "no key for gemini: set GEMINI_API_KEY"),
        (
            "deepseek",
            "deepseek has no web search that deepseek-chat can use; these have one: anthropic, openai, gemini",
        ),
        ("azure", "search.backend: name a model of azure, as azure:model"),
        ("local:x", "local has no web search"),
    ],
)
async def test_a_backend_that_cannot_search_says_why(backend: str, why: str, tmp_path: Path) -> None:
    flags = {"search.backend": backend}
    if backend == "deepseek":
        flags["providers.deepseek.api_key"] = "k"
    web = web_for(load(flags=flags, cwd=tmp_path, environ={"HOME": str(tmp_path)}), environment={})
    assert not web.can_search
    assert why in (web.why_no_search or "")
    await web.close()


def test_a_backend_that_is_unknown_is_an_error_with_the_nearest_name(tmp_path: Path) -> None:
    configuration = load(flags={"search.backend": "gemni"}, cwd=tmp_path, environ={"HOME": str(tmp_path)})
    with pytest.raises(ConfigError, match=r'no search backend and no provider .*Did you mean "gemini"'):
        web_for(configuration)


def test_where_is_a_setting(tmp_path: Path) -> None:
    flags = {"policy.where": {"search_web": "local"}}
    configuration = load(flags=flags, cwd=tmp_path, environ={"HOME": str(tmp_path)})
    assert ToolPolicy.from_settings(configuration.settings).where == {"search_web": "local"}
