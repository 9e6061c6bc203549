"""Searching the web and fetching pages."""

from __future__ import annotations

import re
from typing import Literal

from dragoman.dialects.base.spelling import EMPTY_IS_UNSAID, Conversion, Spelling, absent, means, native_only
from dragoman.dialects.base.words import by_hand, one_of, page_text
from dragoman.model import operations as op, outcomes as out

_HEAD = re.compile(
    r"URL: (?P<url>[^\n]*)\nStatus: (?P<status>\d+)[^\n|]*"
    r"(?:\| Content-Type: (?P<type>[^\n|]*?) ?(?:\|[^\n]*)?)?\n\n"
)


def _page_written(outcome: out.PagesOutcome, _asked: op.FetchPage) -> str | None:
    if not outcome.pages:
        return None
    page = outcome.pages[0]
    if page.status is None:
        return page_text(outcome)
    kind = "" if page.media_type is None else f" | Content-Type: {page.media_type}"
    return f"URL: {page.final_url or page.url}\nStatus: {page.status}{kind}\n\n{page_text(outcome)}"


def _page_read(text: str, asked: op.FetchPage) -> out.PagesOutcome:
    head = _HEAD.match(text)
    if head is None:
        return out.PagesOutcome((out.Page(asked.url),), text)
    final = None if head["url"] == asked.url else head["url"]
    page = out.Page(asked.url, status=int(head["status"]), media_type=head["type"], final_url=final)
    return out.PagesOutcome((page,), text[head.end() :])


FORMAT = Conversion(to=lambda form: None if form == "auto" else form, back=lambda form: form)


class WebFetch(Spelling[op.FetchPage]):
    """Fetch a web page and answer a question about it."""

    native_name = "web_fetch"
    unhonoured = {"instructions": "Fetch a web page as readable text."}
    unsaid = {"format": "a model reads the page and answers"}
    approximated = {"instructions": "a prompt is required, so an empty one says nothing"}

    url: str = means("url", "URL of the page.")
    prompt: str = means(
        "instructions",
        "What to find out or do with the page; empty for the page itself.",
        convert=EMPTY_IS_UNSAID,
        unhonoured={"instructions": "Not used: the page itself is returned."},
    )
    format: Literal["auto", "markdown", "html", "text"] | None = means(
        "format", "Format of the page.", default=None, since="0.15", convert=FORMAT, was=absent("0.12")
    )

    results = one_of(
        by_hand(
            out.PagesOutcome,
            _page_written,
            _page_read,
            nearly={"pages": "of the first page the address, status and type are said", "answer": "it is the text"},
        )
    )


class WebSearch(Spelling[op.SearchWeb]):
    """Search the web."""

    native_name = "web_search"
    read_only = "the client offers it only where a search engine is set up, and none was in what was captured"

    query: str
    provider: str | None = native_only("which search engine is asked is the client's to decide")
