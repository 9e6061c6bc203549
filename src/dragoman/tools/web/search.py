"""What a search backend is, and which hits are within the domains asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dragoman.errors import ToolError
from dragoman.model.outcomes import Page, PagesOutcome

from .address_policy import parse_url


class SearchBackend(Protocol):
    """Searches the web. The domains are there to narrow the search; results outside of them are left out afterwards.

    It returns pages, or a `PagesOutcome` with the pages and an answer that a model wrote from them. A row
    of SEARCH_BACKENDS names a callable that makes one of the address in the settings (or `None`) and the `Web`.
    One that needs longer than a page may take says how many seconds in its `timeout`.
    """

    async def search(
        self, query: str, *, allowed_domains: Sequence[str], blocked_domains: Sequence[str], limit: int
    ) -> Sequence[Page] | PagesOutcome:
        """The pages found, best first, at most `limit`. An empty sequence of domains does not restrict anything."""
        ...


def parse_domain(text: str) -> str:
    """A domain as hosts are compared with it: "*.Example.com." and "example.com" are the same."""
    bare = text.strip().removeprefix("*.").removeprefix(".")
    try:
        url = parse_url(f"https://{bare}/")
        if url.path == "/" and not url.query_string and not url.fragment and url.explicit_port is None:
            return url.raw_host or ""
    except ToolError:
        pass
    raise ToolError(f'"{text}" is no domain; write it like "example.com"', kind="invalid_arguments")


def within(url: str, allowed: Sequence[str], blocked: Sequence[str]) -> bool:
    """Whether a hit is a page, and within the domains: a domain stands for itself and all below it."""
    try:
        host = parse_url(url).raw_host or ""
    except ToolError:
        return False
    return not _in_any(host, blocked) and (not allowed or _in_any(host, allowed))


def _in_any(host: str, domains: Sequence[str]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)
