"""Pages: fetched and made readable, searched for, and searched through.

Rules: nothing is connected to that `reach` did not allow, on any redirect; nothing is read beyond the limits on
size and time, compressed or not; a page comes with how much of it there is, and a page that failed is no page.
With instructions a page is put to a `PageReader`, where there is one, and its answer is what the call gives.
"""

from __future__ import annotations

import re
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import msgspec

from dragoman.errors import ToolError
from dragoman.model.operations import FetchPage, FindInPage, SearchWeb
from dragoman.model.outcomes import Match, MatchesOutcome, Page, PagesOutcome

from .address_policy import REDIRECTS, LookUp, Place, Reach, guarded_resolver, parse_url, place_of, refused
from .fetched import HTML, Fetched, Limits, is_text, not_text, timed_out, too_large
from .page_text import Format, PageText, decode, read_html, shortened
from .pdf import can_read_pdf, read_pdf
from .search import SearchBackend, parse_domain, within

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession
    from yarl import URL

    from .browser import Browser

USER_AGENT: Final = "Mozilla/5.0 (compatible; dragoman)"
DEFAULT_LIMIT: Final = 50_000
"""How many characters of a page are given when the call does not say."""
READER_LIMIT: Final = 100_000
"""The same for a page that a model reads."""

MOST_MATCHES: Final = 100
_CONTEXT_LINES: Final = 2
_LONGEST_LINE: Final = 400
_LONGEST_PATTERN: Final = 1_000
_LONGEST_EXCERPT: Final = 500
_LONGEST_SNIPPET: Final = 1_000
_KEPT_PAGES: Final = 4
_PIECE: Final = 64 * 1024
_DEFAULT_RESULTS: Final = 5

_LONGEST_DOCUMENT: Final = 1_000_000
"""Characters of a PDF document that are read."""
_PDF: Final = "application/pdf"
_LOOKS_LIKE_HTML: Final = re.compile(
    rb"\s*(<!--.{0,1000}?-->\s*)?<(!doctype\s+html|html|head|body)\b", re.I | re.DOTALL
)


class PageReader(Protocol):
    """Follows instructions about a page: the answer is what a call gets."""

    async def read(self, page: Page, text: str, instructions: str) -> str:
        """The answer to `instructions` about a page with this text."""
        ...


class Web:
    """Fetches pages for one run. Use it with `async with`, or `close` it.

    Only public addresses are reached; `allow` names others ("localhost:8080", or an address and port, whatever name
    leads to it), `allow_private` opens loopback and private networks, but never the services that hold a machine's
    credentials. `max_bytes` holds for what is sent and for what it unpacks to. `timeout_ms` is for a whole page,
    redirects and all; a call may ask for up to `most_timeout_ms`. With `trust_env` the proxies of the environment are
    used: then the proxy makes the connections, and names it alone can look up are its to guard. With `render` a
    browser shows every page first; `chromium` is where it is, when not in the usual places. `search` is what
    searches the web, or `search_backend` and `search_url` say which backend is asked, and where; `why_no_search` says
    why neither is there although one was wanted. `reader` follows instructions about a page.
    """

    def __init__(
        self,
        *,
        allow: Sequence[str] = (),
        allow_private: bool = False,
        trust_env: bool = False,
        max_bytes: int = 5_000_000,
        timeout_ms: int = 30_000,
        most_timeout_ms: int = 120_000,
        connect_timeout_ms: int = 10_000,
        read_timeout_ms: int = 15_000,
        max_redirects: int = 5,
        user_agent: str = USER_AGENT,
        render: bool = False,
        chromium: str | None = None,
        search: SearchBackend | None = None,
        search_backend: str | None = None,
        search_url: str | None = None,
        why_no_search: str | None = None,
        reader: PageReader | None = None,
        look_up: LookUp | None = None,
    ) -> None:
        self.reach = Reach(allow, allow_private=allow_private, look_up=look_up)
        self.trust_env, self.user_agent, self.render, self.chromium = trust_env, user_agent, render, chromium
        self.max_redirects = max_redirects
        self.limits = Limits(
            max_bytes=max_bytes,
            timeout_ms=timeout_ms,
            most_timeout_ms=most_timeout_ms,
            connect_timeout_ms=connect_timeout_ms,
            read_timeout_ms=read_timeout_ms,
        )
        self._search, self._search_backend, self._search_url = search, search_backend, search_url
        self.why_no_search, self.reader = why_no_search, reader
        self._browser: Browser | None = None
        # Pages that were cut, so that their next part is of the same page.
        self._kept: OrderedDict[tuple[str, Format], tuple[Page, str]] = OrderedDict()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the browser, if there is one, the search and the reader. Connections end with their call."""
        self._kept.clear()
        browser, self._browser = self._browser, None
        try:
            if browser is not None:
                await browser.close()
        finally:
            for held in (self._search, self.reader):
                close = getattr(held, "close", None)
                if close is not None:
                    await close()

    @property
    def can_search(self) -> bool:
        """Whether there is something to search the web with."""
        return self._search is not None or self._search_backend is not None

    @property
    def browser(self) -> Browser:
        """The browser of this run; it starts when it is first asked for a page."""
        if self._browser is None:
            from .browser import Browser

            self._browser = Browser(self.reach, self.limits, self.chromium)
        return self._browser

    # ── the operations ───────────────────────────────────────────────────────

    async def fetch(
        self, operation: FetchPage, reader: PageReader | None = None, *, fetched: Fetched | None = None
    ) -> PagesOutcome:
        """A page, readable; its part from `offset` on, at most `limit` characters.

        With instructions, the answer of the reader (its own, else this one) from that part; without a reader, the part.
        `fetched` is what the server answered, if it was asked already.
        """
        import asyncio

        reader = (self.reader or reader) if operation.instructions else None
        default = DEFAULT_LIMIT if reader is None else READER_LIMIT
        offset, limit = operation.offset or 0, default if operation.limit is None else operation.limit
        if offset < 0 or limit < 1:
            raise ToolError("offset must be at least 0 and limit at least 1", kind="invalid_arguments")
        format: Format = operation.format or "markdown"
        kept = self._kept.get((operation.url, format)) if offset else None
        if kept is None:
            served = fetched or await self.open(operation.url, timeout_ms=operation.timeout_ms)
            title, text = await asyncio.to_thread(page_text, served, format)
            page = Page(
                url=operation.url,
                title=title,
                status=served.status,
                media_type=served.media_type,
                final_url=served.final_url,
                total_chars=len(text),
            )
        else:
            page, text = kept
        if offset > len(text):
            raise ToolError(
                f"offset {offset:,} is beyond the end: the page has {len(text):,} characters",
                kind="invalid_arguments",
                details={"total_chars": len(text)},
            )
        part = text[offset : offset + limit]
        cut = offset + limit < len(text)
        self._keep((operation.url, format), page, text, cut=cut)
        if reader is None or operation.instructions is None:
            return PagesOutcome((msgspec.structs.replace(page, text=part, truncated=cut),))
        answer = await reader.read(page, part, operation.instructions)
        return PagesOutcome((msgspec.structs.replace(page, truncated=cut),), answer)

    def _keep(self, key: tuple[str, Format], page: Page, text: str, *, cut: bool) -> None:
        self._kept.pop(key, None)
        if cut and len(text) <= self.limits.max_bytes:
            self._kept[key] = page, text
            if len(self._kept) > _KEPT_PAGES:
                self._kept.popitem(last=False)

    async def find(self, operation: FindInPage) -> MatchesOutcome:
        """Where a text occurs in a page; case and kinds of white space are ignored."""
        import asyncio

        words = operation.pattern.split()
        if not words or len(operation.pattern) > _LONGEST_PATTERN:
            raise ToolError(
                f"the text to find must have between 1 and {_LONGEST_PATTERN:,} characters", kind="invalid_arguments"
            )
        fetched = await self.open(operation.url)
        return await asyncio.to_thread(lambda: found_in(operation.url, page_text(fetched, "text").text, words))

    async def search(self, operation: SearchWeb, backend: SearchBackend | None = None) -> PagesOutcome:
        """Pages a search backend (this one, else its own) found, without those outside the domains asked for."""
        import asyncio

        if not operation.query.strip():
            raise ToolError("the query is empty; say what to search for", kind="invalid_arguments")
        limit = _DEFAULT_RESULTS if operation.limit is None else operation.limit
        if limit < 1:
            raise ToolError("limit must be at least 1", kind="invalid_arguments")
        allowed = tuple(parse_domain(domain) for domain in operation.allowed_domains)
        blocked = tuple(parse_domain(domain) for domain in operation.blocked_domains)
        backend = backend or self._searcher()
        seconds = getattr(backend, "timeout", None) or self.limits.seconds(None)
        try:
            async with asyncio.timeout(seconds):
                found = await backend.search(
                    operation.query, allowed_domains=allowed, blocked_domains=blocked, limit=limit
                )
        except TimeoutError as error:
            raise timed_out("the search", seconds) from error
        pages, answer = (found.pages, found.answer) if isinstance(found, PagesOutcome) else (found, None)
        unique = {page.url: _bounded(page) for page in reversed(pages) if within(page.url, allowed, blocked)}
        return PagesOutcome(tuple(reversed(unique.values()))[:limit], answer, operation.query)

    def _searcher(self) -> SearchBackend:
        from dragoman.registry import SEARCH_BACKENDS

        if self._search is None and self._search_backend is not None:
            make: Any = SEARCH_BACKENDS[self._search_backend]
            self._search = make(self._search_url, self)
        if self._search is None:
            why = self.why_no_search or (
                f"no search backend is set. Set search.backend in the settings: {', '.join(SEARCH_BACKENDS)} (with "
                "search.url), or a provider that searches, such as gemini."
            )
            raise ToolError(
                f"The web cannot be searched: {why}", details={"settings": ["search.backend", "search.url"]}
            )
        return self._search

    # ── fetching ─────────────────────────────────────────────────────────────

    async def open(self, url: str, *, timeout_ms: int | None = None) -> Fetched:
        """A page as it is served, or with `render` as a browser shows it."""
        if self.render:
            return await self.browser.open(url, timeout_ms=timeout_ms)
        return await self.get(url, timeout_ms=timeout_ms)

    async def get(
        self, url: str, *, timeout_ms: int | None = None, also: Sequence[Place] = (), any_type: bool = False
    ) -> Fetched:
        """What a server answers, within the limits; `also` are places this one call may reach besides.

        Only text is taken, and PDF documents that can be read here, unless `any_type`.
        """
        import asyncio

        import aiohttp

        target = parse_url(url)
        seconds = self.limits.seconds(timeout_ms)
        try:
            async with asyncio.timeout(seconds):
                return await self._follow(url, target, self.reach.also(*also), any_type=any_type)
        except TimeoutError as error:
            raise timed_out(url, seconds) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ToolError(
                f"{shortened(url, 300)} could not be fetched: {_reason(error)}", details={"url": url}
            ) from error

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Sends a body to an address, within the same limits; an answer that is no success is a `ToolError`.

        A redirect is none: what was meant for one address is not sent to another.
        """
        import asyncio

        import aiohttp

        target = parse_url(url)
        seconds = self.limits.seconds(None)
        try:
            async with asyncio.timeout(seconds):
                self.reach.check_url(target)
                proxy = await self._proxy(target, self.reach) if self.trust_env else None
                async with (
                    self._session(self.reach if proxy is None else Reach().also(place_of(proxy))) as session,
                    session.post(
                        target, data=body, headers=dict(headers), allow_redirects=False, proxy=proxy
                    ) as response,
                ):
                    if response.status >= 300:
                        raise await self._failed(url, response)
        except TimeoutError as error:
            raise timed_out(url, seconds) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ToolError(
                f"nothing could be sent to {shortened(url, 300)}: {_reason(error)}", details={"url": url}
            ) from error

    async def _follow(self, url: str, target: URL, reach: Reach, *, any_type: bool) -> Fetched:
        passed = [str(target)]
        for _ in range(self.max_redirects + 1):
            reach.check_url(target)
            answer = await self._ask(url, target, reach, any_type=any_type)
            if isinstance(answer, Fetched):
                return answer
            target = redirected(target, answer)
            check = REDIRECTS.get()
            if check is not None and (why := check(str(target))) is not None:
                raise refused(str(target), f"{passed[-1]} redirects to it, and {why}; fetch that address by itself")
            passed.append(str(target))
        raise ToolError(
            f"{shortened(url, 300)} leads from one address to the next: more than {self.max_redirects} redirects",
            details={"url": url, "redirects": passed},
        )

    async def _ask(self, url: str, target: URL, reach: Reach, *, any_type: bool) -> Fetched | str:
        """The answer to one request, or where it sends us."""
        proxy = await self._proxy(target, reach) if self.trust_env else None
        # A session for each request: no cookie, connection or address of one is there for another.
        async with (
            self._session(reach if proxy is None else Reach().also(place_of(proxy))) as session,
            session.get(target, allow_redirects=False, proxy=proxy) as response,
        ):
            location = response.headers.get("Location")
            if response.status in (301, 302, 303, 307, 308) and location is not None:
                return location
            return await self._read(url, response, any_type=any_type)

    def _session(self, reach: Reach) -> ClientSession:
        import aiohttp

        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(resolver=guarded_resolver(reach), use_dns_cache=False, force_close=True),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                total=None,
                sock_connect=self.limits.connect_timeout_ms / 1000,
                sock_read=self.limits.read_timeout_ms / 1000,
            ),
            # Unpacked here, where it can be stopped. Brotli and zstd are not asked for, so not needed.
            auto_decompress=False,
            headers={
                "User-Agent": self.user_agent,
                "Accept": "text/html, application/xhtml+xml, text/markdown, text/plain, application/json, */*;q=0.5",
                "Accept-Encoding": "gzip, deflate",
            },
        )

    async def _proxy(self, target: URL, reach: Reach) -> URL | None:
        from urllib.request import getproxies_environment, proxy_bypass

        from yarl import URL

        place = place_of(target)
        proxies = getproxies_environment()
        address = proxies.get(target.scheme)
        if address is None or proxy_bypass(place.host):
            return None
        try:
            await reach.addresses(place)
        except ToolError as error:
            # Any other failure means a name that only the proxy can look up.
            if error.kind == "denied":
                raise
        return URL(address if "://" in address else f"http://{address}")

    async def _read(self, url: str, response: ClientResponse, *, any_type: bool) -> Fetched:
        said = bool(response.headers.get("Content-Type", "").strip())
        media_type = response.content_type if said else None
        final_url = str(response.url)
        if response.status >= 300:
            raise await self._failed(url, response)
        is_readable = media_type is None or is_text(media_type) or (media_type == _PDF and can_read_pdf())
        if media_type is not None and not is_readable and not any_type:
            raise not_text(url, media_type, response.content_length)
        if (response.content_length or 0) > self.limits.max_bytes:
            raise too_large(url, self.limits.max_bytes, response.content_length)
        body = bytearray()
        async for piece in self._pieces(url, response):
            body += piece
            if len(body) > self.limits.max_bytes:
                raise too_large(url, self.limits.max_bytes, response.content_length)
        return Fetched(
            url=url,
            final_url=final_url,
            status=response.status,
            body=bytes(body),
            media_type=media_type,
            charset=response.charset if said else None,
        )

    async def _pieces(self, url: str, response: ClientResponse) -> AsyncIterator[bytes]:
        inflater = Inflater(url, response.headers.get("Content-Encoding", ""))
        sent = 0
        async for data in response.content.iter_any():
            sent += len(data)
            if sent > self.limits.max_bytes:
                raise too_large(url, self.limits.max_bytes, response.content_length)
            for piece in inflater.feed(data):
                yield piece
        inflater.finish()

    async def _failed(self, url: str, response: ClientResponse) -> ToolError:
        """The failure an error status is, with the beginning of what the server says about it."""
        details: dict[str, Any] = {"url": url, "final_url": str(response.url), "status": response.status}
        said = f"{response.status} {shortened(response.reason or '', 100)}".rstrip()
        if "Retry-After" in response.headers:
            details["retry_after"] = shortened(response.headers["Retry-After"], 100)
        if is_text(response.content_type):
            body = bytearray()
            async for piece in self._pieces(url, response):
                body += piece
                if len(body) >= _PIECE:
                    break
            text = decode(bytes(body[:_PIECE]), response.charset)
            if response.content_type in HTML:
                text = read_html(text, str(response.url), "text").text
            details["body"] = shortened(text.strip(), _LONGEST_EXCERPT)
        return ToolError(f"{shortened(url, 300)} answered {said}", details=details)


def redirected(target: URL, location: str) -> URL:
    """Where a redirect leads; an encrypted page does not lead to one that is not."""
    from urllib.parse import urljoin

    where = f"{target} redirects to {shortened(location, 300)}"
    try:
        following = parse_url(urljoin(str(target), location))
    except (ValueError, ToolError) as error:
        raise ToolError(f"{where}, which cannot be followed: {error}", details={"location": location}) from error
    if target.scheme == "https" and following.scheme == "http":
        raise refused(str(following), f"{target} is encrypted and redirects to it, which is not", location=location)
    return following


class Inflater:
    """Unpacks a body as it comes, a bounded piece at a time: whoever takes the pieces may stop after any."""

    def __init__(self, url: str, encoding: str) -> None:
        self._url = url
        self._encoding = encoding.strip().lower().removeprefix("x-")
        if self._encoding not in ("", "identity", "gzip", "deflate"):
            raise ToolError(
                f'{shortened(url, 300)} came packed as "{shortened(encoding, 100)}", which was not asked for',
                details={"url": url, "encoding": encoding},
            )
        self._zlib: Any = None
        self._over = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What these bytes unpack to."""
        if self._encoding in ("", "identity"):
            yield data
            return
        try:
            while data and not self._over:
                if self._zlib is None:
                    self._zlib = zlib.decompressobj(self._window(data))
                piece = self._zlib.decompress(data, _PIECE)
                while piece:
                    yield piece
                    data = self._zlib.unconsumed_tail
                    piece = self._zlib.decompress(data, _PIECE) if not self._zlib.eof else b""
                data = self._next_member()
        except zlib.error as error:
            raise self._broken(str(error)) from error

    def _window(self, data: bytes) -> int:
        if self._encoding == "gzip":
            return zlib.MAX_WBITS | 16
        # "deflate" is meant to have a header, and by many servers is sent without.
        return zlib.MAX_WBITS if data[0] & 0x0F == 8 else -zlib.MAX_WBITS

    def _next_member(self) -> bytes:
        """What follows a packed stream that has ended: another one, or filling to be passed over."""
        if not self._zlib.eof:
            return b""
        rest: bytes = self._zlib.unused_data
        if self._encoding == "gzip" and rest.startswith(b"\x1f"):
            self._zlib = None
            return rest
        self._over = bool(rest)
        return b""

    def finish(self) -> None:
        """The body has ended: was it whole?"""
        if self._zlib is not None and not self._zlib.eof:
            raise self._broken("it ends early")

    def _broken(self, reason: str) -> ToolError:
        return ToolError(
            f"{shortened(self._url, 300)} is packed as {self._encoding} and cannot be unpacked: {reason}",
            details={"url": self._url},
        )


def page_text(fetched: Fetched, format: Format) -> PageText:
    """What was fetched as title and text; what is no text fails, saying what it is."""
    if fetched.body.startswith(b"%PDF-") and can_read_pdf():
        return PageText(None, read_pdf(fetched.url, fetched.body, None, characters=_LONGEST_DOCUMENT).text)
    media_type = fetched.media_type or ("text/html" if _LOOKS_LIKE_HTML.match(fetched.body[:2000]) else "text/plain")
    text = decode(fetched.body, fetched.charset)
    if "\0" in text[:8000]:
        from dragoman.tools.workspace.media import media_kind

        known = media_kind(fetched.body)
        raise not_text(fetched.url, known.media_type if known else media_type, len(fetched.body))
    if media_type in HTML:
        return read_html(text, fetched.final_url, format, rendered=fetched.rendered)
    return PageText(None, text)


def _bounded(page: Page) -> Page:
    """A hit whose snippet is not too long."""
    if page.snippet is None or len(page.snippet) <= _LONGEST_SNIPPET:
        return page
    return msgspec.structs.replace(page, snippet=shortened(page.snippet, _LONGEST_SNIPPET))


def found_in(url: str, text: str, words: Sequence[str]) -> MatchesOutcome:
    """Every place the words stand one after the other, the first of them with the lines around it."""
    pattern = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
    matches: list[Match] = []
    total = counted = lines = 0
    for found in pattern.finditer(text):
        total += 1
        if total <= MOST_MATCHES:
            lines += text.count("\n", counted, found.start())
            counted = found.start()
            matches.append(_match(url, text, found, lines + 1))
    return MatchesOutcome(tuple(matches), total=total, files=1 if total else 0, truncated=total > len(matches))


def _match(url: str, text: str, found: re.Match[str], line: int) -> Match:
    start, end = _line_around(text, found.start(), found.end())
    column = found.start() - start
    shown = text[start:end]
    if len(shown) > _LONGEST_LINE:
        first = max(0, column - _LONGEST_LINE // 2)
        last = max(column + len(found[0]), first + _LONGEST_LINE)
        shown = ("…" if first else "") + shown[first:last] + ("…" if last < len(shown) else "")
    last_line = line + found[0].count("\n")
    return Match(
        path=url,
        line=line,
        text=shown,
        before=_lines_before(text, start),
        after=_lines_after(text, end),
        column=column + 1,
        last_line=None if last_line == line else last_line,
    )


def _line_around(text: str, start: int, end: int) -> tuple[int, int]:
    stop = text.find("\n", end)
    return text.rfind("\n", 0, start) + 1, len(text) if stop < 0 else stop


def _lines_before(text: str, start: int) -> tuple[str, ...]:
    lines: list[str] = []
    while start > 0 and len(lines) < _CONTEXT_LINES:
        begin = text.rfind("\n", 0, start - 1) + 1
        lines.insert(0, shortened(text[begin : start - 1], _LONGEST_LINE))
        start = begin
    return tuple(lines)


def _lines_after(text: str, end: int) -> tuple[str, ...]:
    lines: list[str] = []
    while end < len(text) and len(lines) < _CONTEXT_LINES:
        _, stop = _line_around(text, end + 1, end + 1)
        lines.append(shortened(text[end + 1 : stop], _LONGEST_LINE))
        end = stop
    return tuple(lines)


# ── how things fail ──────────────────────────────────────────────────────────


def _reason(error: Exception) -> str:
    return shortened(str(error) or type(error).__name__, 300)


# ── the tools ────────────────────────────────────────────────────────────────
