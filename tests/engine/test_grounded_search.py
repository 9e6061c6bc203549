"""What a provider's own search finds: pages with the passages they support, and the answer."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.apis import APIS
from dragoman.engine import ScriptedEngine
from dragoman.engine.grounded_search import GroundedSearch
from dragoman.errors import ToolError
from dragoman.model import FinishReason, Page, PagesOutcome, Reply, operations as op
from dragoman.tools import ProviderTool, Web


def gemini(text: str, chunks: list[dict[str, Any]], supports: list[tuple[str, list[int]]]) -> Reply:
    """A reply of Gemini, grounded in these pages; each passage of the text rests on some of them."""
    found = [
        {"segment": {"startIndex": text.index(said), "endIndex": text.index(said) + len(said), "text": said}}
        | {"groundingChunkIndices": places}
        for said, places in supports
    ]
    grounding = {"groundingChunks": [{"web": chunk} for chunk in chunks], "groundingSupports": found}
    content = {"role": "model", "parts": [{"text": text}]}
    candidate = {"content": content, "finishReason": "STOP", "groundingMetadata": grounding}
    return APIS["gemini_generate"].decode({"candidates": [candidate], "modelVersion": "gemini-2.5-pro"})


def openai(text: str, *links: tuple[str, str]) -> Reply:
    """A reply of OpenAI: an annotation marks the link behind a passage, not the passage."""
    annotations = [
        {"type": "url_citation", "start_index": text.index(link), "end_index": text.index(link) + len(link)}
        | {"url": url, "title": "A title"}
        for link, url in links
    ]
    content = [{"type": "output_text", "text": text, "annotations": annotations}]
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}
    return APIS["openai_responses"].decode({"id": "r", "status": "completed", "model": "gpt-5", "output": [message]})


def anthropic(*blocks: dict[str, Any]) -> Reply:
    return APIS["anthropic_messages"].decode(
        {"id": "m", "role": "assistant", "model": "claude", "content": list(blocks), "stop_reason": "end_turn"}
    )


async def found(reply: Reply) -> PagesOutcome:
    search = GroundedSearch(ScriptedEngine([reply]), "any", ProviderTool("google.google_search"))
    return await search.search("tea", allowed_domains=(), blocked_domains=(), limit=5)


A = {"uri": "https://a.example/tea", "title": "a.example"}
B = {"uri": "https://b.example", "title": "b.example"}
C = {"uri": "https://c.example", "title": "c.example"}


async def test_a_grounded_page_has_the_passages_it_supports_as_its_snippet_and_the_answer_comes_along() -> None:
    text = "Tea is a drink. It is grown in hills. Cups are round."
    reply = gemini(text, [A, B, C], [("Tea is a drink.", [0]), ("It is grown in hills.", [0, 1])])
    assert await found(reply) == PagesOutcome(
        (
            Page("https://a.example/tea", "a.example", snippet="Tea is a drink. … It is grown in hills."),
            Page("https://b.example", "b.example", snippet="It is grown in hills."),
            Page("https://c.example", "c.example"),  # nothing that was said rests on it
        ),
        text,
    )


async def test_a_marked_link_stands_for_the_passage_before_it() -> None:
    one, two = "([A](https://a.example/tea))", "([B](https://b.example))"
    text = f"# Tea\n\n- Tea is a drink. {one} It is grown in hills. {two}\nCups are round."
    reply = openai(text, (one, "https://a.example/tea"), (two, "https://b.example"))
    outcome = await found(reply)
    assert [page.snippet for page in outcome.pages] == ["- Tea is a drink.", "It is grown in hills."]
    assert outcome.answer == text


async def test_what_a_provider_quotes_of_a_page_comes_before_what_it_says_itself() -> None:
    quote = {"type": "web_search_result_location", "url": "https://a.example/tea", "title": "Tea"}
    quote |= {"cited_text": "Tea: a drink of leaves.", "encrypted_index": "x"}
    reply = anthropic({"type": "text", "text": "A drink.", "citations": [quote]}, {"type": "text", "text": " Yes."})
    assert await found(reply) == PagesOutcome(
        (Page("https://a.example/tea", "Tea", snippet="Tea: a drink of leaves."),), "A drink. Yes."
    )


async def test_an_answer_without_sources_is_an_answer_and_nothing_at_all_is_a_failure() -> None:
    assert await found(gemini("Nobody knows.", [], [])) == PagesOutcome((), "Nobody knows.")
    with pytest.raises(ToolError, match="answered with nothing"):
        await found(Reply((), FinishReason.STOP))


async def test_the_tool_gives_the_answer_and_bounds_the_snippets() -> None:
    text = "tea " * 1_000
    search = GroundedSearch(
        ScriptedEngine([gemini(text, [A], [(text.strip(), [0])])]), "any", ProviderTool("google.google_search")
    )
    async with Web(search=search) as web:
        outcome = await web.search(op.SearchWeb("tea"))
    assert (outcome.answer, outcome.query) == (text, "tea")
    (page,) = outcome.pages
    assert page.snippet == text[:999] + "…"
