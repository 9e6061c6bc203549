"""What searches the web: the protocol, a SearXNG-style endpoint, and a search page shown in the browser.

Rule: nothing is invented. A `snippet` is text of the page, or a passage of an answer that cites the page, or `None`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from dragoman.errors import ConfigError, ToolError
from dragoman.model.outcomes import Page

from .address_policy import parse_url, place_of
from .page_text import shortened
from .search import within

if TYPE_CHECKING:
    from turbohtml import Element

    from .web import Web

_MOST_RESULT_PAGES: Final = 3


def narrowed(query: str, allowed: Sequence[str], blocked: Sequence[str]) -> str:
    """The query with the domains in the words every large search engine understands."""
    sites = " OR ".join(f"site:{domain}" for domain in allowed)
    only = [f"({sites})" if len(allowed) > 1 else sites] if allowed else []
    return " ".join((query, *only, *(f"-site:{domain}" for domain in blocked)))


class _Hit(msgspec.Struct):
    url: str
    title: str | None = None
    content: str | None = None
    publishedDate: str | None = None  # noqa: N815  SearXNG's own name for it


class _Hits(msgspec.Struct):
    results: list[_Hit]


class SearxngSearch:
    """Asks an endpoint that answers as SearXNG does: `?q=…&format=json` → `{"results": [{"url", "title", "content"}]}`.

    The endpoint may be at a private address: it was named in the settings.
    """

    def __init__(self, url: str | None, web: Web) -> None:
        if url is None:
            raise ConfigError(
                'search.url is not set; it says where SearXNG answers, such as "http://localhost:8888/search"'
            )
        try:
            self._url = parse_url(url)
        except ToolError as error:
            raise ConfigError(f"search.url: {error}") from error
        if self._url.path == "/":
            self._url = self._url.with_path("/search")
        self._web = web

    async def search(
        self, query: str, *, allowed_domains: Sequence[str], blocked_domains: Sequence[str], limit: int
    ) -> Sequence[Page]:
        words = narrowed(query, allowed_domains, blocked_domains)
        pages: dict[str, Page] = {}
        for number in range(1, _MOST_RESULT_PAGES + 1):
            hits = await self._ask(words, number)
            before = len(pages)
            for hit in hits:
                pages.setdefault(hit.url, _page(hit))
            enough = sum(within(url, allowed_domains, blocked_domains) for url in pages) >= limit
            if enough or len(pages) == before:
                break
        return list(pages.values())

    async def _ask(self, words: str, number: int) -> list[_Hit]:
        more = {"pageno": str(number)} if number > 1 else {}
        address = self._url.update_query(q=words, format="json", **more)
        answer = await self._web.get(str(address), also=[place_of(self._url)])
        try:
            return msgspec.json.decode(answer.body, type=_Hits).results
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ToolError(
                f"{self._url} did not answer as SearXNG does ({error}). Is the format json enabled there?",
                details={"endpoint": str(self._url)},
            ) from error


def _page(hit: _Hit) -> Page:
    return Page(url=hit.url, title=hit.title or None, snippet=hit.content or None, age=hit.publishedDate or None)


class BrowserSearch:
    """Shows a search page in the browser and takes the links that lead away from it.

    `url` has `{query}` where the words go. `result` selects (as in CSS) the element of one result, and within it `link`
    its link and `snippet` its text; without `result` every link that leads to another host counts, and has no snippet.
    """

    def __init__(
        self,
        url: str | None,
        web: Web,
        *,
        result: str | None = None,
        link: str = "a[href]",
        snippet: str | None = None,
    ) -> None:
        if url is None or "{query}" not in url:
            raise ConfigError(
                'search.url must hold "{query}" where the words go, such as "https://search.example/?q={query}"'
            )
        self._template, self._web = url, web
        self._result, self._link, self._snippet = result, link, snippet

    async def search(
        self, query: str, *, allowed_domains: Sequence[str], blocked_domains: Sequence[str], limit: int
    ) -> Sequence[Page]:
        from urllib.parse import quote_plus

        words = quote_plus(narrowed(query, allowed_domains, blocked_domains))
        address = self._template.replace("{query}", words)
        fetched = await self._web.browser.open(address, also=[place_of(parse_url(address))])
        import turbohtml

        document = turbohtml.parse(fetched.body.decode(errors="replace"), positions=False)
        if self._result is None:
            found = [self._hit(link, link, fetched.final_url) for link in document.select(self._link)]
        else:
            results = [(element, element.select_one(self._link)) for element in document.select(self._result)]
            found = [self._hit(link, element, fetched.final_url) for element, link in results if link is not None]
        return [page for page in found if page is not None]

    def _hit(self, link: Element, element: Element, address: str) -> Page | None:
        url = leads_to(address, str(link.attrs.get("href") or ""))
        title = " ".join(link.text.split())
        if url is None or not title:
            return None
        text = element.select_one(self._snippet) if self._snippet else None
        snippet = " ".join(text.text.split()) if text is not None else ""
        return Page(url=url, title=shortened(title, 300), snippet=snippet or None)


def leads_to(address: str, href: str) -> str | None:
    """Where a link on a search page leads, if away from it: also when it goes through the page's own redirect."""
    from urllib.parse import urljoin

    try:
        own = parse_url(address)
        url = parse_url(urljoin(address, href))
    except (ValueError, ToolError):
        return None
    if url.raw_host != own.raw_host:
        return str(url)
    for value in url.query.values():
        if value.startswith(("http://", "https://")):
            away = leads_to(address, value)
            if away is not None:
                return away
    return None
