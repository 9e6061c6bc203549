"""The web searched by a provider's own search, one request for each search.

The request offers nothing but that search. A hit is a source the provider cites. Its snippet is what the provider
quotes of it, else the passage of the answer that it supports; a source that supports nothing has none. The answer
comes along.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dragoman.errors import ToolError
from dragoman.model import Citation, ExecutedBy, Page, PagesOutcome, Reply, Request, Usage, operations as op, user
from dragoman.tools import ProviderTool

from .capabilities import native_tool

if TYPE_CHECKING:
    from .engine import Engine


class GroundedSearch:
    """A `SearchBackend` that asks a model to search, and takes its answer and the sources of it.

    `spent` is called with the model and the tokens of each search. Gemini gives addresses that redirect to the pages,
    not the pages' own: a search that is limited to domains finds only pages given by their own address.
    """

    def __init__(
        self, engine: Engine, model: str, tool: ProviderTool, spent: Callable[[str, Usage], None] | None = None
    ) -> None:
        self._engine, self._model, self._tool, self._spent = engine, model, tool, spent

    async def search(
        self, query: str, *, allowed_domains: Sequence[str], blocked_domains: Sequence[str], limit: int
    ) -> PagesOutcome:
        from dragoman.dialects import provider_tool

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
        reply = await self._engine.ask(asked)
        if self._spent is not None:
            self._spent(reply.provenance.served or reply.provenance.model or self._model, reply.usage)
        return _found(reply)


def provider_search(
    engine: Any, model: str, *, spent: Callable[[str, Usage], None] | None = None
) -> GroundedSearch | None:
    """The search of a model's own provider, for a model that cannot be offered it beside functions; else `None`."""
    if engine.features(model).mixed_tools:
        return None
    row = native_tool(op.SearchWeb, engine.name, getattr(engine, "provider", ""), model)
    if row is None or row.executed_by is not ExecutedBy.PROVIDER:
        return None
    return GroundedSearch(engine, model, ProviderTool(row.id), spent)


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
