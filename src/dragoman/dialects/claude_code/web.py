"""Claude Code's tools for the web."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dragoman.dialects.base.spelling import EMPTY_IS_UNSAID, TUPLE, Spelling, means
from dragoman.dialects.base.words import by_hand, one_of, page_text
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import json_text, read_json

from .results import fields, list_in, number_in, plain_text, text_in

_CUT = re.compile(r"\n\n\[Cut here(?:; (\d+) characters in all)?\. Read on with offset\.\]\Z")


def _page_written(outcome: out.PagesOutcome, _asked: op.FetchPage) -> str:
    if not any(page.truncated for page in outcome.pages):
        return page_text(outcome)
    total = next((page.total_chars for page in outcome.pages if page.total_chars is not None), None)
    counted = "" if total is None else f"; {total} characters in all"
    return f"{page_text(outcome)}\n\n[Cut here{counted}. Read on with offset.]"


def _page_read(text: str, asked: op.FetchPage) -> out.PagesOutcome:
    cut = _CUT.search(text)
    body = text if cut is None else text[: cut.start()]
    total = int(cut[1]) if cut is not None and cut[1] else None
    page = out.Page(asked.url, text=None if asked.instructions else body, total_chars=total, truncated=cut is not None)
    return out.PagesOutcome((page,), body if asked.instructions else None)


def _with_status(_asked: op.Operation, outcome: out.Outcome, native: NativeResult) -> out.Outcome:
    if not isinstance(outcome, out.PagesOutcome):
        return outcome
    status = number_in(fields(native), "code")
    pages = tuple(msgspec.structs.replace(page, status=status) for page in outcome.pages)
    return msgspec.structs.replace(outcome, pages=pages)


class WebFetch(Spelling[op.FetchPage]):
    """Fetch a page and answer a prompt from it."""

    native_name = "WebFetch"
    unhonoured = {"instructions": "Fetch a page as readable text."}
    approximated = {"instructions": "a prompt is required, so an empty one says nothing"}
    unsaid = {"format": "a model reads the page and answers"}

    url: str = means("url", "URL of the page.", schema={"format": "uri"})
    prompt: str = means(
        "instructions",
        "What to find out or do with the page, for example `List the prices`; empty for the page itself.",
        convert=EMPTY_IS_UNSAID,
        unhonoured={"instructions": "Not used: the page itself is returned."},
    )
    offset: int | None = means(
        "offset",
        "Number of characters of the page to skip.",
        default=None,
        since="2.1.325",
        schema={"minimum": 0, "maximum": 2**53 - 1},
    )

    results = one_of(
        by_hand(
            out.PagesOutcome,
            _page_written,
            _page_read,
            nearly={
                "pages": "one text is said of all, whether it was cut and how long it is",
                "answer": "it is the text",
            },
        ),
        text=plain_text,
        recorded=_with_status,
    )


_HEAD = re.compile(r'Web search results for query: "(.*?)"\n\n', re.DOTALL)
_REMINDER = re.compile(r"\n\n\nREMINDER: [^\n]*\Z")


def _pages_written(outcome: out.PagesOutcome, asked: op.SearchWeb) -> str:
    links = [{"title": page.title or page.url, "url": page.url} for page in outcome.pages]
    found = [f"Links: {json_text(links)}"] if links else []
    read = [f"{page.url}: {page.snippet or page.text}" for page in outcome.pages if page.snippet or page.text]
    answer = "\n\n".join(read) if outcome.answer is None else outcome.answer
    return "\n\n".join([f'Web search results for query: "{asked.query}"', *found, answer])


def _pages_read(_asked: op.SearchWeb, native: NativeResult) -> out.PagesOutcome | None:
    """The log has what was found beside the text, in which any part may look like a list of links."""
    text = plain_text(native)
    head = _HEAD.match(text)
    if head is None:
        return None
    results = list_in(fields(native), "results")
    if results is not None:
        links = [link for result in results for link in list_in(result, "content") or []]
        answer = "\n\n".join(result for result in results if isinstance(result, str))
        return out.PagesOutcome(tuple(_pages(links)), answer, head[1])
    pages: list[out.Page] = []
    said: list[str] = []
    for part in _REMINDER.sub("", text[head.end() :]).split("\n\n"):
        listed = _links(part)
        if listed is None:
            said.append(part)
        else:
            pages += _pages(listed)
    return out.PagesOutcome(tuple(pages), "\n\n".join(said), head[1])


class WebSearch(Spelling[op.SearchWeb]):
    """Search the web. Returns links with a summary of each page."""

    native_name = "WebSearch"

    query: str = means("query", "What to search for.", schema={"minLength": 2})
    allowed_domains: tuple[str, ...] | None = means(
        "allowed_domains", "Only results from these domains.", default=None, convert=TUPLE
    )
    blocked_domains: tuple[str, ...] | None = means(
        "blocked_domains", "No results from these domains.", default=None, convert=TUPLE
    )

    results = one_of(
        by_hand(
            out.PagesOutcome,
            _pages_written,
            nearly={"pages": "a page is its address and its title"},
        ),
        from_native=_pages_read,
    )


def _links(part: str) -> list[Any] | None:
    try:
        links = read_json(part.removeprefix("Links: ")) if part.startswith("Links: [") else None
    except msgspec.DecodeError:
        return None
    return links if isinstance(links, list) else None


def _pages(links: list[Any]) -> list[out.Page]:
    found = [(text_in(link, "url"), text_in(link, "title")) for link in links]
    return [out.Page(url, None if title == url else title) for url, title in found if url is not None]
