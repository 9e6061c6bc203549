"""Tools of other vendors whose wire is OpenAI's: Groq's compound models and xAI."""

from __future__ import annotations

from typing import Any

from dragoman.dialects.base.default_words import text_of, understand
from dragoman.dialects.base.spelling import ProviderExecuted, means, native_only
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

GROQ = "groq"
_GROQ_ALONE = "Groq's models call it by themselves"


def _pages(item: Any) -> tuple[out.Page, ...]:
    """What a search of Groq's found: as data, where it was given."""
    match item:
        case {"search_results": {"results": [_, *_] as results}} | {"browser_results": [_, *_] as results}:
            found = [one for one in results if isinstance(one, dict)]
            return tuple(
                out.Page(str(one.get("url") or ""), _text(one.get("title")), snippet=_text(one.get("content")))
                for one in found
            )
    return ()


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


class GroqSearch(ProviderExecuted[op.SearchWeb]):
    """Search the web."""

    native_name, namespace = "search", GROQ
    formerly = ("browser_search", "browser.search", "web_search")
    read_only = _GROQ_ALONE

    query: str | None = None
    topn: int | None = None
    source: str | None = native_only("which search engine is the provider's to decide")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SearchWeb(self.query or "", limit=self.topn),)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        pages = _pages(native.item)
        if not pages:
            return understand(operation, native) if native.content else out.DoneOutcome()
        return out.PagesOutcome(pages, query=self.query)


class GroqVisit(ProviderExecuted[op.FetchPage]):
    """Open a page."""

    native_name, namespace = "visit", GROQ
    formerly = ("visit_website",)
    read_only = _GROQ_ALONE

    url: str | None = None

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.FetchPage(self.url or ""),)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        return out.PagesOutcome((out.Page(self.url or "", text=text),)) if text else out.DoneOutcome()


class GroqPython(ProviderExecuted[op.RunCode]):
    """Run Python."""

    native_name, namespace = "python", GROQ
    formerly = ("code_interpreter",)
    read_only = _GROQ_ALONE

    code: str | None = None

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.RunCode(self.code or "", "python"),)


class XSearch(ProviderExecuted[op.SearchWeb]):
    """Search the posts on X."""

    native_name = "x_search"
    read_only = "only xAI's models have it, and call it by themselves"

    query: str = means("query")
    limit: int | None = means("limit", default=None)
    count: int | None = means("limit", default=None)
    mode: str | None = native_only("newest or best first is the model's to choose")
    from_date: str | None = native_only("posts are not asked for by their day elsewhere")
    to_date: str | None = native_only("posts are not asked for by their day elsewhere")
    min_score_threshold: float | None = native_only("how near a post must come is the provider's measure")
    usernames: tuple[str, ...] | None = native_only("posts are not asked for by their author elsewhere")
    exclude_usernames: tuple[str, ...] | None = native_only("posts are not asked for by their author elsewhere")

    def to_operations(self) -> tuple[op.Operation, ...]:
        limit = self.limit if self.limit is not None else self.count
        return (op.SearchWeb(self.query, allowed_domains=("x.com",), limit=limit),)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        return understand(operation, native) if native.content else out.DoneOutcome()
