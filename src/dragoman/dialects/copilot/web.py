"""Fetching pages, and searching the web."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dragoman.dialects.base.default_words import text_of, understand
from dragoman.dialects.base.spelling import Spelling, means, native_only
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import read_json

from .offered import NOT_OFFERED


class WebFetch(Spelling[op.FetchPage]):
    """Fetch a web page."""

    native_name = "web_fetch"
    read_only = NOT_OFFERED

    url: str
    max_length: int | None = means("limit", default=None)
    start_index: int | None = means("offset", default=None)
    raw: bool | None = native_only("a page is given as the client reads it")

    _PAGE = re.compile(r"(?P<before>.*?)Contents of (?P<url>\S+):\n(?P<text>.*)", re.DOTALL)
    _MORE = re.compile(r"(?P<text>.*)\n\n<note>Content truncated\. [^\n]*</note>", re.DOTALL)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        found = self._PAGE.fullmatch(text_of(native.content))
        if found is None or found["url"] != self.url:
            return understand(operation, native)
        more = self._MORE.fullmatch(found["text"])
        text = found["text"] if more is None else more["text"]
        return out.PagesOutcome((out.Page(self.url, text=text, truncated=more is not None),))


class WebSearch(Spelling[op.SearchWeb]):
    """Search the web; a server of the provider's does it and says what it found."""

    native_name = "web_search"
    read_only = NOT_OFFERED

    query: str

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        try:
            told = read_json(text_of(native.content))
        except msgspec.DecodeError:
            return understand(operation, native)
        match told:
            case {"type": "output_text", "text": {"value": str(answer), **rest}}:
                cited = rest.get("annotations")
                pages = dict.fromkeys(_cited(one) for one in cited) if isinstance(cited, list) else {}
                return out.PagesOutcome(tuple(page for page in pages if page is not None), answer, self.query)
        return understand(operation, native)


def _cited(annotation: Any) -> out.Page | None:
    match annotation:
        case {"url_citation": {"url": str(url), **rest}}:
            title = rest.get("title")
            return out.Page(url, title if isinstance(title, str) else None)
    return None
