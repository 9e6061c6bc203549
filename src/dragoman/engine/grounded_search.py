"""The web searched by a provider's own search, one request for each search.

For models that cannot be offered functions beside their provider's search: the request here offers nothing else. A hit
is a source the provider cites; its snippet is what the provider quotes of it, or `None`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dragoman.errors import ToolError
from dragoman.model import ExecutedBy, Page, Reply, Request, Usage, operations as op, user
from dragoman.tools import ProviderTool

from .capabilities import native_tool

if TYPE_CHECKING:
    from .engine import Engine


class GroundedSearch:
    """A `SearchBackend` that asks a model to search, and takes the sources of its answer.

    `spent` is told what each search cost in tokens. Gemini gives addresses that lead on to the pages, not the pages'
    own: a search that is narrowed to domains finds only what it names by its own address.
    """

    def __init__(
        self, engine: Engine, model: str, tool: ProviderTool, spent: Callable[[str, Usage], None] | None = None
    ) -> None:
        self._engine, self._model, self._tool, self._spent = engine, model, tool, spent

    async def search(
        self, query: str, *, allowed_domains: Sequence[str], blocked_domains: Sequence[str], limit: int
    ) -> Sequence[Page]:
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
        return _pages(reply)


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


def _pages(reply: Reply) -> list[Page]:
    """The pages that are cited, each once, in the order they are first cited."""
    pages: dict[str, Page] = {}
    for citation in reply.citations:
        if citation.url is None:
            continue
        known = pages.get(citation.url)
        if known is None or (known.snippet is None and citation.quote):
            pages[citation.url] = Page(citation.url, citation.title, snippet=citation.quote or None)
    if not pages and not reply.text and not reply.results:
        raise ToolError("the provider's search answered with nothing: no text and no sources")
    return list(pages.values())
