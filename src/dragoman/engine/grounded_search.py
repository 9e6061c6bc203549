"""The web searched by a provider's own search, one request for each search.

The request offers nothing but that search. A hit is a source the provider cites. Its snippet is what the provider
quotes of it, else the passage of the answer that it supports; a source that supports nothing has none. The answer
comes along.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from dragoman.dialects import provider_tool
from dragoman.errors import ToolError
from dragoman.model import Citation, Page, PagesOutcome, Reply, Request, operations as op, user
from dragoman.tools import ProviderTool

from .models.who_runs import native_tool
from .spending import ask_beside

if TYPE_CHECKING:
    from .engine import Engine


class GroundedSearch:
    """A `SearchBackend` that asks a model to search, and takes its answer and the sources of it.

    Each search is charged to the run that asks for it. Gemini gives addresses that redirect to the pages,
    not the pages' own: a search that is limited to domains finds only pages given by their own address.
    """

    timeout: Final = 100.0
    """Seconds one search may take: a model searches several times and reads what it finds."""

    def __init__(self, engine: Engine, model: str, tool: ProviderTool) -> None:
        self._engine, self._model, self._tool = engine, model, tool

    async def search(
        self, query: str, *, allowed_domains: Sequence[str], blocked_domains: Sequence[str], limit: int
    ) -> PagesOutcome:
        row = provider_tool(self._tool.id)
        assert row is not None  # it was found in the catalogue
        only = f" Use only pages of {', '.join(allowed_domains)}." if allowed_domains else ""
        never = f" Use no page of {', '.join(blocked_domains)}." if blocked_domains else ""
        words = f"Search the web and answer with what you find, citing each source.{only}{never}\n\n{query}"
        asked = Request(
            model=self._model,
            conversation=(user(words),),
            definitions=(row.offer(self._tool.settings),),
        )
        return _found(await ask_beside(self._engine, asked))


def provider_search(engine: Engine, model: str) -> GroundedSearch | None:
    """The search of a model's own provider, in a request of its own; `None` where it has none."""
    row = native_tool(op.SearchWeb, engine.name, getattr(engine, "provider", ""), model)
    return None if row is None else GroundedSearch(engine, model, ProviderTool(row.id))


def _found(reply: Reply) -> PagesOutcome:
    """The answer, and the pages that are cited, each once, in the order they are first cited."""
    cited: dict[str, list[Citation]] = {}
    for citation in reply.citations:
        if citation.url is not None:
            cited.setdefault(citation.url, []).append(citation)
    if not cited and not reply.text and not reply.results:
        raise ToolError("the provider's search answered with nothing: no text and no sources")
    pages = tuple(
        Page(url, next((one.title for one in citations if one.title), None), snippet=_snippet(reply.text, citations))
        for url, citations in cited.items()
    )
    return PagesOutcome(pages, reply.text or None)


def _snippet(text: str, citations: Sequence[Citation]) -> str | None:
    """What these citations quote of their page, else the passages of the answer they support."""
    quotes = [citation.quote for citation in citations if citation.quote]
    passages = quotes or [_passage(text, citation) for citation in citations if citation.span is not None]
    told = list(dict.fromkeys(stripped for passage in passages if (stripped := passage.strip())))
    return " … ".join(told) or None


def _passage(text: str, citation: Citation) -> str:
    """The passage a citation supports. OpenAI marks the link it puts behind a passage: then it is what precedes it."""
    span, url = citation.span, citation.url
    assert span is not None
    assert url is not None
    marked = text[span.start : span.end]
    if url not in marked:
        return marked
    before = text[: span.start].rpartition("\n")[2]
    # Links behind earlier passages of the line: this passage begins after the last of them.
    return _LINK.split(before)[-1].rstrip(" (")


_LINK = re.compile(r"\(?\[[^\]\n]*\]\([^)\s]*\)\)?")
