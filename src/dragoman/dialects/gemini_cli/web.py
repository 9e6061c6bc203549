"""Searching the web and fetching pages."""

from __future__ import annotations

import re

from dragoman.dialects.base.spelling import Spelling, means
from dragoman.dialects.base.words import body, by_hand, one_of, page_text, words
from dragoman.model import operations as op, outcomes as out


def _pages_written(outcome: out.PagesOutcome, asked: op.SearchWeb) -> str:
    sources = [f"[{number}] {page.title or page.url} ({page.url})" for number, page in enumerate(outcome.pages, 1)]
    snippets = "\n".join(page.snippet or page.text or "" for page in outcome.pages)
    body = snippets if outcome.answer is None else outcome.answer
    cited = "\n\nSources:\n" + "\n".join(sources) if sources else ""
    return f'Web search results for "{asked.query}":\n\n{body}{cited}'


def _pages_read(text: str, _asked: op.SearchWeb) -> out.PagesOutcome | None:
    found = re.match(r'Web search results for "(.*?)":\n\n', text, re.DOTALL)
    if found is None:
        return None
    answer, _, listed = text[found.end() :].rpartition("\n\nSources:\n")
    sources = re.findall(r"^\[\d+\] (.*) \((\S+)\)$", listed, re.MULTILINE) if answer or listed else []
    if not sources:
        answer = text[found.end() :]
    pages = tuple(out.Page(url, None if title == url else title) for title, url in sources)
    return out.PagesOutcome(pages, answer, found[1])


class GoogleWebSearch(Spelling[op.SearchWeb]):
    """Search the web with Google. Returns an answer with its sources."""

    native_name = "google_web_search"
    unsaid = {
        "allowed_domains": "a search is not bound to domains",
        "blocked_domains": "a search is not bound to domains",
    }

    query: str = means("query", "What to search for.")

    results = one_of(
        by_hand(
            out.PagesOutcome,
            _pages_written,
            _pages_read,
            nearly={"pages": "a page is its address and its title"},
        )
    )


_URL = re.compile(r"https?://[^\s<>\"'`)\]}]+")


class WebFetch(Spelling[op.FetchPage]):
    """Fetch the pages whose URLs are in a prompt, and follow its instructions."""

    native_name = "web_fetch"
    unhonoured = {"instructions": "Fetch pages by their URLs, as readable text."}
    unsaid = {"format": "a model reads the page and answers"}

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

    # One answer for all pages that the prompt names (0.47 to 0.56).
    results = one_of(
        words(
            out.TextOutcome,
            "{text}",
            text=body(),
            of=out.PagesOutcome,
            to=lambda asked, said: out.PagesOutcome((out.Page(asked.url),), said.text),
            back=lambda _asked, outcome: out.TextOutcome(page_text(outcome)),
        )
    )


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
