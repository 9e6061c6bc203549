"""Searching the web and fetching pages."""

from __future__ import annotations

import re
from typing import Literal

from dragoman.dialects.base.default_words import tell, text_of
from dragoman.dialects.base.spelling import EMPTY_IS_UNSAID, Content, Conversion, Spelling, absent, means, native_only
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult


class FetchingPages:
    """How a page is told: where it came from, and what a model made of it."""

    _HEAD = re.compile(
        r"URL: (?P<url>[^\n]*)\nStatus: (?P<status>\d+)[^\n|]*"
        r"(?:\| Content-Type: (?P<type>[^\n|]*?) ?(?:\|[^\n]*)?)?\n\n"
    )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PagesOutcome) or not outcome.pages:
            return tell(operation, outcome)
        page = outcome.pages[0]
        texts = [one.text or one.snippet or "" for one in outcome.pages]
        body = "\n\n".join(texts) if outcome.answer is None else outcome.answer
        if page.status is None:
            return body
        kind = "" if page.media_type is None else f" | Content-Type: {page.media_type}"
        return f"URL: {page.final_url or page.url}\nStatus: {page.status}{kind}\n\n{body}"

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        assert isinstance(operation, op.FetchPage)
        text = text_of(native.content)
        head = self._HEAD.match(text)
        if head is None:
            return out.PagesOutcome((out.Page(operation.url),), text)
        final = None if head["url"] == operation.url else head["url"]
        page = out.Page(operation.url, status=int(head["status"]), media_type=head["type"], final_url=final)
        return out.PagesOutcome((page,), text[head.end() :])


FORMAT = Conversion(to=lambda form: None if form == "auto" else form, back=lambda form: form)


class WebFetch(FetchingPages, Spelling[op.FetchPage]):
    """Fetch a page of the web and answer a question about it."""

    native_name = "web_fetch"
    unhonoured = {"instructions": "Fetch a page of the web as readable text."}
    unsaid = {"format": "a model reads the page and answers"}
    approximated = {"instructions": "a prompt is required, so an empty one says nothing"}

    url: str = means("url", "The page's address.")
    prompt: str = means(
        "instructions",
        "What to find out or do with the page; empty for the page itself.",
        convert=EMPTY_IS_UNSAID,
        unhonoured={"instructions": "Not used: the page itself is returned."},
    )
    format: Literal["auto", "markdown", "html", "text"] | None = means(
        "format", "The form the page is read in.", default=None, since="0.15", convert=FORMAT, was=absent("0.12")
    )


class WebSearch(Spelling[op.SearchWeb]):
    """Search the web."""

    native_name = "web_search"
    read_only = "the client offers it only where a search engine is set up, and none was in what was captured"

    query: str
    provider: str | None = native_only("which search engine is asked is the client's to decide")
