"""Claude Code's tools for the web."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dragoman.dialects.base.default_words import tell, understand
from dragoman.dialects.base.spelling import TUPLE, Content, Spelling, means
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import json_text, read_json

from .results import fields, list_in, number_in, text_in, told


class WebFetch(Spelling[op.FetchPage]):
    """Fetch a page and answer a prompt from it."""

    native_name = "WebFetch"
    unhonoured = {"instructions": "Fetch a page as readable text."}
    approximated = {"instructions": "a prompt is required, so an empty one says nothing"}
    unsaid = {
        "format": "a model reads the page and answers",
        "timeout_ms": "the client has one time limit for all pages",
        "limit": "the client decides how much of a page is read",
    }

    url: str = means("url", "The page.", schema={"format": "uri"})
    prompt: str = means(
        "instructions",
        "What to find out or do with the page, for example `List the prices`; empty for the page itself.",
        unhonoured={"instructions": "Not used: the page itself is returned."},
    )
    offset: int | None = means(
        "offset",
        "Characters of the page to pass over before the first.",
        default=None,
        since="2.1.325",
        schema={"minimum": 0, "maximum": 2**53 - 1},
    )

    _CUT = re.compile(r"\n\n\[Cut here(?:; (\d+) characters in all)?\. Read on with offset\.\]\Z")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.FetchPage(self.url, self.prompt or None, offset=self.offset),)

    @classmethod
    def from_operation(cls, operation: op.FetchPage) -> WebFetch:
        return cls(url=operation.url, prompt=operation.instructions or "", offset=operation.offset)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PagesOutcome):
            return tell(operation, outcome)
        texts = [page.text or page.snippet or "" for page in outcome.pages]
        text = "\n\n".join(texts) if outcome.answer is None else outcome.answer
        if not any(page.truncated for page in outcome.pages):
            return text
        total = next((page.total_chars for page in outcome.pages if page.total_chars is not None), None)
        counted = "" if total is None else f"; {total} characters in all"
        return f"{text}\n\n[Cut here{counted}. Read on with offset.]"

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = told(native)
        cut = self._CUT.search(text)
        body = text if cut is None else text[: cut.start()]
        page = out.Page(
            self.url,
            status=number_in(fields(native), "code"),
            total_chars=int(cut[1]) if cut is not None and cut[1] else None,
            truncated=cut is not None,
        )
        if self.prompt:
            return out.PagesOutcome((page,), body)
        return out.PagesOutcome((msgspec.structs.replace(page, text=body),))


class WebSearch(Spelling[op.SearchWeb]):
    """Search the web; links come back, and what stands behind them."""

    native_name = "WebSearch"

    query: str = means("query", "What to search for.", schema={"minLength": 2})
    allowed_domains: tuple[str, ...] | None = means(
        "allowed_domains", "Only results from these domains.", default=None, convert=TUPLE
    )
    blocked_domains: tuple[str, ...] | None = means(
        "blocked_domains", "No results from these domains.", default=None, convert=TUPLE
    )

    _HEAD = re.compile(r'Web search results for query: "(.*?)"\n\n', re.DOTALL)
    _REMINDER = re.compile(r"\n\n\nREMINDER: [^\n]*\Z")

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PagesOutcome):
            return tell(operation, outcome)
        links = [{"title": page.title or page.url, "url": page.url} for page in outcome.pages]
        found = [f"Links: {json_text(links)}"] if links else []
        read = [f"{page.url}: {page.snippet or page.text}" for page in outcome.pages if page.snippet or page.text]
        answer = "\n\n".join(read) if outcome.answer is None else outcome.answer
        return "\n\n".join([f'Web search results for query: "{self.query}"', *found, answer])

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = told(native)
        head = self._HEAD.match(text)
        if head is None:
            return understand(operation, native)
        results = list_in(fields(native), "results")
        if results is not None:
            links = [link for result in results for link in list_in(result, "content") or []]
            answer = "\n\n".join(result for result in results if isinstance(result, str))
            return out.PagesOutcome(tuple(_pages(links)), answer, head[1])
        pages: list[out.Page] = []
        said: list[str] = []
        for part in self._REMINDER.sub("", text[head.end() :]).split("\n\n"):
            listed = _links(part)
            if listed is None:
                said.append(part)
            else:
                pages += _pages(listed)
        return out.PagesOutcome(tuple(pages), "\n\n".join(said), head[1])


def _links(part: str) -> list[Any] | None:
    try:
        links = read_json(part.removeprefix("Links: ")) if part.startswith("Links: [") else None
    except msgspec.DecodeError:
        return None
    return links if isinstance(links, list) else None


def _pages(links: list[Any]) -> list[out.Page]:
    found = [(text_in(link, "url"), text_in(link, "title")) for link in links]
    return [out.Page(url, None if title == url else title) for url, title in found if url is not None]
