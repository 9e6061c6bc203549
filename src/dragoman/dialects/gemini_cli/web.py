"""Searching the web and fetching pages."""

from __future__ import annotations

import re

from dragoman.dialects.base.default_words import tell, text_of, understand
from dragoman.dialects.base.spelling import Content, Spelling, means
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult


class GoogleWebSearch(Spelling[op.SearchWeb]):
    """Search the web with Google; an answer with its sources comes back."""

    native_name = "google_web_search"
    unsaid = {
        "allowed_domains": "a search is not bound to domains",
        "blocked_domains": "a search is not bound to domains",
    }

    query: str = means("query", "What to search for.")

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PagesOutcome):
            return tell(operation, outcome)
        sources = [f"[{number}] {page.title or page.url} ({page.url})" for number, page in enumerate(outcome.pages, 1)]
        body = (
            outcome.answer
            if outcome.answer is not None
            else "\n".join(page.snippet or page.text or "" for page in outcome.pages)
        )
        cited = "\n\nSources:\n" + "\n".join(sources) if sources else ""
        return f'Web search results for "{self.query}":\n\n{body}{cited}'

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        found = re.match(r'Web search results for "(.*?)":\n\n', text, re.DOTALL)
        if found is None:
            return understand(operation, native)
        answer, _, listed = text[found.end() :].rpartition("\n\nSources:\n")
        sources = re.findall(r"^\[\d+\] (.*) \((\S+)\)$", listed, re.MULTILINE) if answer or listed else []
        if not sources:
            answer = text[found.end() :]
        pages = tuple(out.Page(url, None if title == url else title) for title, url in sources)
        return out.PagesOutcome(pages, answer, found[1])


_URL = re.compile(r"https?://[^\s<>\"'`)\]}]+")


class WebFetch(Spelling[op.FetchPage]):
    """Fetch the pages whose URLs are in a prompt, and follow its instructions."""

    native_name = "web_fetch"
    unhonoured = {"instructions": "Fetch pages by their URLs, as readable text."}
    unsaid = {
        "format": "a model reads the page and answers",
        "timeout_ms": "the client has one time limit for all pages",
        "offset": "a page is taken from its start",
        "limit": "the client decides how much of a page is read",
    }

    prompt: str = means(
        "instructions",
        "The URLs (at most 20) and what to do with their contents.",
        unhonoured={"instructions": "The URLs of the pages, at most 20."},
    )

    def to_operations(self) -> tuple[op.Operation, ...]:
        urls, instructions = pages_in(self.prompt)
        if not urls:
            raise ValueError("the prompt has no URL that starts with http:// or https://")
        return tuple(op.FetchPage(url, instructions) for url in urls)

    @classmethod
    def from_operation(cls, operation: op.FetchPage) -> WebFetch | None:
        if not _URL.fullmatch(operation.url):
            return None
        return cls(prompt=prompt_for([operation.url], operation.instructions))

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PagesOutcome):
            return tell(operation, outcome)
        texts = [page.text or page.snippet or "" for page in outcome.pages]
        return "\n\n".join(texts) if outcome.answer is None else outcome.answer

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        assert isinstance(operation, op.FetchPage)
        return out.PagesOutcome((out.Page(operation.url),), text_of(native.content))

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        """What was asked of several pages is answered once, for all of them."""
        return tuple(self.to_outcome(operation, native) for operation in operations)


def pages_in(prompt: str) -> tuple[list[str], str | None]:
    """The URLs of a prompt and what to do with them. URLs on lines of their own, before an empty line, are the
    pages and the rest is the instructions (`prompt_for` writes it so); else every URL is a page, and the whole
    prompt says what to do."""
    head, separator, rest = prompt.partition("\n\n")
    alone = head.split("\n")
    if all(_URL.fullmatch(line) for line in alone):
        return list(dict.fromkeys(alone)), rest if separator else None
    found = [url.rstrip(".,;:!?") for url in _URL.findall(prompt)]
    return list(dict.fromkeys(found)), prompt


def prompt_for(urls: list[str], instructions: str | None) -> str:
    """The inverse of `pages_in`."""
    return "\n".join(urls) + ("" if instructions is None else f"\n\n{instructions}")
