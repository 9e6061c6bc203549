"""Every recorded reply of Gemini that is grounded in the web: its pages say what they support."""

from __future__ import annotations

from dragoman.apis import APIS
from dragoman.engine import ScriptedEngine
from dragoman.engine.grounded_search import GroundedSearch
from dragoman.model import Page, Reply
from dragoman.tools import ProviderTool

from .cassettes import Cassette, cassettes

API = APIS["gemini_generate"]
LEAST = 60
"""Recorded hits that must have a snippet."""


def reply_of(cassette: Cassette) -> Reply:
    if not cassette.streaming:
        return API.decode(cassette.response)
    stream = API.stream()
    stream.feed(cassette.stream)
    return stream.close()


async def test_every_recorded_hit_that_supports_something_has_a_snippet_and_the_answer_comes_along() -> None:
    pages: list[Page] = []
    replies = 0
    for cassette in cassettes("gemini_generate"):
        searched = "google_search" in str(cassette.request) or "googleSearch" in str(cassette.request)
        if cassette.status != 200 or not searched:
            continue
        reply = reply_of(cassette)
        web = {one.url for one in reply.citations if one.metadata.get("gemini_generate", {}).get("source") == "web"}
        if not web:
            continue
        search = GroundedSearch(ScriptedEngine([reply]), "any", ProviderTool("google.google_search"))
        outcome = await search.search("q", allowed_domains=(), blocked_domains=(), limit=100)
        assert outcome.answer == reply.text != ""
        supported = {one.url for one in reply.citations if one.span is not None}
        assert [page.url for page in outcome.pages if page.snippet is None and page.url in supported] == []
        pages += [page for page in outcome.pages if page.url in web]
        replies += 1
    assert replies >= 16
    assert sum(page.snippet is not None for page in pages) >= LEAST
    assert all(page.snippet is not None for page in pages)
