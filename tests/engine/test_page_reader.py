"""Pages fetched with instructions: a model reads them, and its answer is what the caller gets."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from dragoman.config import Price, load
from dragoman.dialects import DIALECTS
from dragoman.engine import Facade, HttpEngine, Orchestrator, ToolPolicy, web_for
from dragoman.engine.offer import Note
from dragoman.engine.transport import Transport
from dragoman.errors import ToolError
from dragoman.model import FunctionDefinition, TokensUsed, operations as op
from dragoman.registry import TOOLS
from dragoman.tools import Context, MemoryWorkspace, Toolset, Web

from .loopback import Loopback, Raw, Turn, loopback

PAGE = Raw(body=b"<title>Shop</title><p>The price is 40 euros. The colour is red.</p>", content_type="text/html")
ANSWER = Turn("40 euros", usage=(100, 20))
CLAUDE = ("anthropic_messages", "anthropic", "claude-sonnet-4-5")
GPT = ("openai_chat", "openai", "gpt-4.1")
GEMINI = ("gemini_generate", "gemini", "gemini-2.5-pro")
QWEN = ("openai_chat", "alibaba", "qwen3-coder")
PLAYED = Price(model="played", input=Decimal(1), output=Decimal(1))
"""What the model costs that the server says it is."""
CALLS: dict[tuple[str, str, str], Any] = {
    CLAUDE: lambda url: ("WebFetch", {"url": url, "prompt": "say only the price"}),
    GPT: lambda url: ("web_fetch", {"url": url, "instructions": "say only the price"}),
    GEMINI: lambda url: ("web_fetch", {"prompt": f"{url} say only the price"}),
    QWEN: lambda url: ("web_fetch", {"url": url, "prompt": "say only the price"}),
}


def orchestrator(model: tuple[str, str, str], server: Loopback, policy: ToolPolicy, **more: Any) -> Orchestrator:
    api, provider, name = model
    engine = HttpEngine(api, Transport(server.url), provider=provider)
    context = Context(workspace=MemoryWorkspace(), provides={Web: more.pop("web", None) or Web(allow_private=True)})
    return Orchestrator(engine, [TOOLS["fetch_page"]], policy, model_name=name, context=context, **more)


@pytest.mark.parametrize("model", CALLS)
async def test_the_answer_is_what_the_caller_gets_and_it_is_charged_to_the_run(model: tuple[str, str, str]) -> None:
    events: list[Any] = []
    async with loopback(PAGE) as site:
        script = (Turn(calls=(("1", *CALLS[model](site.url)),)), ANSWER, Turn("Done."))
        async with loopback(*script) as server:
            run = orchestrator(model, server, ToolPolicy(), emit=events.append)
            result = await run.run("What does it cost?")
            await run.close()
    asked, reading, last = (heard.body for heard in server.requests)
    assert "The price is 40 euros. The colour is red." in json.dumps(reading)
    assert "say only the price" in json.dumps(reading)
    assert "tools" not in reading  # a page cannot make the reader do anything
    assert "40 euros" in json.dumps(last)
    assert "The colour is red" not in json.dumps(last)
    assert len(asked["tools"]) == 1
    assert [usage.total for _, usage in result.charged] == [15, 120, 15]
    assert result.usage.total == 150
    assert [event.usage.total for event in events if isinstance(event, TokensUsed)] == [15, 120, 15]
    assert result.notes == (
        () if model != GPT else tuple(note for note in result.notes if "has no words for it" in note.message)
    )


async def test_without_instructions_the_page_itself_is_given() -> None:
    async with loopback(PAGE) as site:
        script = (Turn(calls=(("1", "WebFetch", {"url": site.url, "prompt": ""}),)), Turn("Done."))
        async with loopback(*script) as server:
            run = orchestrator(CLAUDE, server, ToolPolicy())
            await run.run("go")
            await run.close()
    assert "The colour is red." in json.dumps(server.requests[1].body)


@pytest.mark.parametrize(
    "policy, why",
    [
        (ToolPolicy(max_tokens=20), "tokens"),
        (ToolPolicy(max_cost=0.00001), "cost"),
    ],
)
async def test_no_page_is_read_beyond_the_limits_of_the_run(policy: ToolPolicy, why: str) -> None:
    """The first reply uses the limit up: nothing more is asked."""
    async with loopback(PAGE) as site:
        script = (Turn(calls=(("1", *CALLS[CLAUDE](site.url)),), usage=(15, 10)), ANSWER)
        async with loopback(*script) as server:
            run = orchestrator(CLAUDE, server, policy, prices=[PLAYED])
            result = await run.run("go")
            await run.close()
    assert (result.status, getattr(result.error, "limit", None)) == ("limited", why)
    assert len(server.requests) == 1


async def test_what_is_read_counts_for_the_limits_of_the_run() -> None:
    async with loopback(PAGE) as site:
        script = (Turn(calls=(("1", *CALLS[CLAUDE](site.url)),)), ANSWER, Turn("Done."))
        async with loopback(*script) as server:
            run = orchestrator(CLAUDE, server, ToolPolicy(max_tokens=100))
            result = await run.run("go")
            await run.close()
    assert (result.status, result.usage.total, len(server.requests)) == ("limited", 135, 2)


async def test_a_reader_whose_price_is_not_known_is_not_asked_under_a_limit_on_cost(tmp_path: Path) -> None:
    async with loopback(PAGE) as site, loopback() as reading:
        flags = {"web.reader_model": "ollama:small", "providers.ollama.base_url": reading.url}
        web = web_for(load(flags=flags, cwd=tmp_path, environ={"HOME": str(tmp_path)}))
        web.reach = Web(allow_private=True).reach
        async with loopback(Turn(calls=(("1", *CALLS[CLAUDE](site.url)),)), Turn("Done.")) as server:
            run = orchestrator(CLAUDE, server, ToolPolicy(max_cost=1.0), web=web, prices=[PLAYED])
            await run.run("go")
            await run.close()
        await web.close()
    assert reading.requests == []
    assert "what small costs is not known" in json.dumps(server.requests[1].body)


async def test_another_model_reads_where_the_settings_name_one(tmp_path: Path) -> None:
    async with loopback(PAGE) as site, loopback(Turn("40 euros", usage=(7, 3))) as reading:
        flags = {"web.reader_model": "ollama:small", "providers.ollama.base_url": reading.url}
        web = web_for(load(flags=flags, cwd=tmp_path, environ={"HOME": str(tmp_path)}))
        web.reach = Web(allow_private=True).reach
        async with loopback(Turn(calls=(("1", *CALLS[CLAUDE](site.url)),)), Turn("Done.")) as server:
            run = orchestrator(CLAUDE, server, ToolPolicy(), web=web)
            result = await run.run("go")
            await run.close()
        await web.close()
    assert [heard.body["model"] for heard in reading.requests] == ["small"]
    assert [usage.total for _, usage in result.charged] == [15, 10, 15]
    assert "40 euros" in json.dumps(server.requests[1].body)


async def test_a_page_is_read_up_to_a_limit_and_the_rest_by_its_offset() -> None:
    class Counts:
        def __init__(self) -> None:
            self.read_so_far: list[int] = []

        async def read(self, page: Any, text: str, instructions: str) -> str:
            self.read_so_far.append(len(text))
            return instructions

    reader = Counts()
    long = Raw(body=b"x" * 150_000, content_type="text/plain")
    async with loopback(long, long) as site, Web(allow_private=True, reader=reader) as web:
        first = await web.fetch(op.FetchPage(site.url, "count"))
        rest = await web.fetch(op.FetchPage(site.url, "count", offset=100_000))
        part = await web.fetch(op.FetchPage(site.url, "count", limit=10, offset=5))
    assert reader.read_so_far == [100_000, 50_000, 10]
    assert [outcome.pages[0].truncated for outcome in (first, rest, part)] == [True, False, True]
    assert {outcome.pages[0].text for outcome in (first, rest, part)} == {None}


async def test_a_reader_that_fails_or_says_nothing_is_a_failure_that_says_how_to_get_the_page() -> None:
    for reply in (Turn(""), Raw(status=400, body=b'{"error": {"message": "too long"}}')):
        async with loopback(PAGE) as site, loopback(reply) as server:
            run = orchestrator(CLAUDE, server, ToolPolicy())
            from dragoman.engine.page_reader import ModelReader

            engine = run.engine
            async with Web(allow_private=True, reader=ModelReader(lambda engine=engine: (engine, "m"))) as web:
                with pytest.raises(ToolError, match=r"was fetched, but m .* without\s+instructions"):
                    await web.fetch(op.FetchPage(site.url, "price"))
            await run.close()


# ── no promise without a model ───────────────────────────────────────────────


def described(name: str, **more: Any) -> tuple[str, tuple[Note, ...]]:
    facade = Facade(DIALECTS[name], Toolset([TOOLS["fetch_page"]]), **more)
    (definition,) = facade.definitions
    assert isinstance(definition, FunctionDefinition)
    return definition.description, facade.notes


@pytest.mark.parametrize(
    "name, promise, plainly",
    [
        ("claude_code", "Fetch a page and answer a prompt from it.", "Fetch a page as readable text."),
        (
            "gemini_cli",
            "Fetch the pages whose URLs are in a prompt, and follow its instructions.",
            "Fetch pages by their URLs, as readable text.",
        ),
    ],
)
def test_without_a_model_nothing_is_promised_and_a_note_says_so(name: str, promise: str, plainly: str) -> None:
    native = {"claude_code": "WebFetch", "gemini_cli": "web_fetch"}[name]
    note = Note(
        native,
        "its parameter 'prompt' is required, but not used here: no model reads the page, and the page itself is "
        "returned",
    )
    assert described(name) == (plainly, (note,))
    assert described(name, honoured={op.FetchPage: ("instructions",)}) == (promise, ())
