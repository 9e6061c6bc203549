"""Pages fetched, paged through, searched and searched for, from real servers on loopback."""

from __future__ import annotations

import asyncio
import gzip
import os
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import web as server

from dragoman.errors import ConfigError, MissingExtra, ToolError
from dragoman.model.operations import FetchPage, FindInPage, Kind, SearchWeb, TakeScreenshot
from dragoman.model.outcomes import Match, MatchesOutcome, Page, PagesOutcome
from dragoman.tools.context import Context
from dragoman.tools.processes.supervisor import descendants
from dragoman.tools.web.address_policy import Reach
from dragoman.tools.web.browser import picture_of
from dragoman.tools.web.browser_proxy import BrowserProxy
from dragoman.tools.web.page_text import AROUND
from dragoman.tools.web.search_backends import BrowserSearch, SearxngSearch, leads_to
from dragoman.tools.web.tools import fetch_page, find_in_page, search_web
from dragoman.tools.web.web import Web
from tests.tools.pages import Names, failure_of, page_of, saying, serving, speaking

TEA = """<!doctype html><html><head><title> All about
  tea </title><script>ignored()</script><style>p {}</style></head><body>
<nav><a href="/">Home</a></nav>
<main><h1>Tea</h1><p>Loose-leaf <b>tea</b> steeps <a href="steep?t=3">just off</a> the boil.</p>
<pre><code class="language-sh">brew --leaf 2
  --minutes 3</code></pre>
<table><tr><th>Kind</th><th>Minutes</th></tr><tr><td>green</td><td>2</td></tr></table>
<p hidden>unseen</p><p style="display: none">unseen too</p><template>not yet</template></main>
<footer>Printed on leaves.</footer></body></html>"""

TEA_MARKDOWN = """# Tea

Loose-leaf **tea** steeps [just off](http://HOST/kinds/steep?t=3) the boil.

```sh
brew --leaf 2
  --minutes 3
```

| Kind | Minutes |
| --- | --- |
| green | 2 |

---

Around the main text:

[Home](http://HOST/)

Printed on leaves."""


def answering(body: bytes | str, media_type: str | None = None, status: int = 200, **headers: str) -> server.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if media_type is not None:
        named["Content-Type"] = media_type
    return server.Response(body=body.encode() if isinstance(body, str) else body, status=status, headers=named)


# ── fetching ─────────────────────────────────────────────────────────────────


async def test_a_page_comes_as_markdown_with_the_main_text_first_and_nothing_lost() -> None:
    async with serving({"/kinds/tea": TEA}) as site, Web(allow=[site.place]) as web:
        url = site.url("/kinds/tea")
        text = TEA_MARKDOWN.replace("HOST", site.place)
        page = Page(
            url=url,
            title="All about tea",
            text=text,
            status=200,
            media_type="text/html",
            final_url=url,
            total_chars=len(text),
        )
        assert await web.fetch(FetchPage(url, instructions="how long?")) == PagesOutcome((page,), answer=None)


async def test_a_page_comes_as_plain_text_or_as_it_was_served() -> None:
    async with serving({"/": TEA}) as site, Web(allow=[site.place]) as web:
        text = await page_of(web, site.url(), format="text")
        assert text.text == (
            "Tea\n\nLoose-leaf tea steeps just off the boil.\n\n```sh\nbrew --leaf 2\n  --minutes 3\n```\n\n"
            f"Kind Minutes\n\ngreen 2{AROUND}Home\n\nPrinted on leaves."
        )
        html = await page_of(web, site.url(), format="html")
        assert (html.text, html.title) == (TEA, "All about tea")


@pytest.mark.parametrize(
    "media_type",
    ["application/json", "text/plain", "application/xml", "image/svg+xml", "text/markdown", "application/ld+json"],
)
async def test_text_that_is_no_html_comes_as_it_is(media_type: str) -> None:
    body = '{"<p>": "ü &amp; more"}\n'
    async with serving({"/": lambda: answering(body, media_type)}) as site, Web(allow=[site.place]) as web:
        page = await page_of(web, site.url())
        assert (page.text, page.media_type, page.title) == (body, media_type, None)


async def test_a_body_without_a_type_is_html_if_it_looks_so_and_else_text() -> None:
    async def untyped(request: server.Request) -> server.StreamResponse:
        body = "<!-- x --><!DOCTYPE html><p>yes" if request.path == "/html" else "<p>no"
        return server.Response(body=body.encode(), headers={"Content-Type": ""})

    routes = {"/html": untyped, "/text": untyped}
    async with serving(routes) as site, Web(allow=[site.place]) as web:
        assert [(await page_of(web, site.url(path))).text for path in routes] == ["yes", "<p>no"]


async def test_a_long_page_is_given_part_by_part_of_one_and_the_same_copy() -> None:
    copies = iter(["abcdefghij", "changed meanwhile"])
    async with serving({"/": lambda: answering(next(copies), "text/plain")}) as site, Web(allow=[site.place]) as web:
        parts = [await page_of(web, site.url(), offset=offset, limit=4) for offset in (0, 4, 8)]
        seen = [(part.text, part.total_chars, part.truncated) for part in parts]
        assert seen == [("abcd", 10, True), ("efgh", 10, True), ("ij", 10, False)]
        assert site.asked == ["/"]
        assert (await page_of(web, site.url())).text == "changed meanwhile"


async def test_the_first_part_of_a_page_is_always_fetched_anew() -> None:
    copies = iter(["one one", "two two"])
    async with serving({"/": lambda: answering(next(copies), "text/plain")}) as site, Web(allow=[site.place]) as web:
        assert [(await page_of(web, site.url(), limit=3)).text for _ in range(2)] == ["one", "two"]


async def test_a_page_is_cut_at_fifty_thousand_characters_unless_told_otherwise() -> None:
    async with serving({"/": lambda: answering("x" * 60_000, "text/plain")}) as site, Web(allow=[site.place]) as web:
        page = await page_of(web, site.url())
        assert (len(page.text or ""), page.total_chars, page.truncated) == (50_000, 60_000, True)


async def test_an_offset_beyond_the_end_says_how_long_the_page_is() -> None:
    async with serving({"/": "<p>short"}) as site, Web(allow=[site.place]) as web:
        failure = await failure_of(page_of(web, site.url(), offset=6))
        assert (failure.kind, failure.details) == ("invalid_arguments", {"total_chars": 5})
        assert (await page_of(web, site.url(), offset=5)).text == ""


@pytest.mark.parametrize("wanted", [{"offset": -1}, {"limit": 0}, {"timeout_ms": 0}, {"timeout_ms": -5}])
async def test_senseless_numbers_are_refused(wanted: dict[str, int]) -> None:
    async with Web() as web:
        assert (await failure_of(page_of(web, "http://example.com/", **wanted))).kind == "invalid_arguments"


async def test_links_are_absolute_by_the_base_of_the_page_and_scripts_in_them_are_gone() -> None:
    html = """<base href="/deep/"><a href="x">one</a> <a href="//else.example/y">two</a> <a href="#z">three</a>
        <a href="javascript:alert(1)">four</a> <a href="http://[broken">five</a> <img src="p.png" alt="six">
        <img src="data:image/png;base64,AAAA" alt="seven">"""
    async with serving({"/": html}) as site, Web(allow=[site.place]) as web:
        here = f"http://{site.place}/deep/"
        assert (await page_of(web, site.url())).text == (
            f"[one]({here}x) [two](http://else.example/y) [three]({here}#z) four [five](http://[broken) "
            f"![six]({here}p.png) ![seven](data:image/png)"
        )


async def test_a_table_with_joined_cells_stays_html_without_what_only_a_browser_needs() -> None:
    html = (
        '<table class="x" onclick="y()"><tr><td colspan="2" style="z">both</td></tr></table><pre class="language-c">i'
    )
    async with serving({"/": html}) as site, Web(allow=[site.place]) as web:
        assert (await page_of(web, site.url())).text == (
            '<table><tbody><tr><td colspan="2">both</td></tr></tbody></table>\n\n```c\ni\n```'
        )


async def test_several_articles_are_left_in_their_order() -> None:
    html = "<p>before<article>one</article><article>two</article><p>after"
    async with serving({"/": html}) as site, Web(allow=[site.place]) as web:
        assert (await page_of(web, site.url())).text == "before\n\none\n\ntwo\n\nafter"


@pytest.mark.parametrize(
    "body, media_type",
    [
        ("<p>naïve €".encode("cp1252"), "text/html; charset=ISO-8859-1"),
        ("<p>naïve €".encode("utf-16-le"), "text/html; charset=utf-16le"),
        ("\ufeff<p>naïve €".encode("utf-16-be"), "text/html; charset=utf-8"),
        ("\ufeff<p>naïve €".encode(), "text/html; charset=iso-8859-1"),
        ("<meta charset=windows-1252><p>naïve €".encode("cp1252"), "text/html"),
        ('<meta content="text/html; charset=cp1252" http-equiv=x><p>naïve €'.encode("cp1252"), "text/html"),
        ("<meta charset=utf-16><p>naïve €".encode(), "text/html"),
        ("<p>naïve €".encode(), "text/html"),
        ("<p>naïve €".encode("cp1252"), "text/html"),
        ("<p>naïve €".encode(), "text/html; charset=klingon"),
        ("<p>naïve €".encode(), "text/html; charset=punycode"),
        ("<p>naïve €".encode(), 'text/html; charset="unicode_escape"'),
    ],
)
async def test_the_encoding_is_the_marks_then_the_servers_then_the_pages_then_what_fits(
    body: bytes, media_type: str
) -> None:
    async with serving({"/": lambda: answering(body, media_type)}) as site, Web(allow=[site.place]) as web:
        assert (await page_of(web, site.url())).text == "naïve €"


async def test_bytes_that_mean_nothing_are_marked() -> None:
    body = b"<p>a\xffb"
    routes = {"/": lambda: answering(body, "text/html; charset=utf-8")}
    async with serving(routes) as site, Web(allow=[site.place]) as web:
        assert (await page_of(web, site.url())).text == "a\ufffdb"


@pytest.mark.parametrize(
    "encoding, packed",
    [
        ("gzip", gzip.compress(b"<p>unpacked")),
        ("x-gzip", gzip.compress(b"<p>unpacked")),
        ("gzip", gzip.compress(b"<p>un") + gzip.compress(b"packed")),
        ("gzip", gzip.compress(b"<p>unpacked") + b"\0" * 20),
        ("deflate", zlib.compress(b"<p>unpacked")),
        ("deflate", zlib.compress(b"<p>unpacked")[2:-4]),
        ("identity", b"<p>unpacked"),
    ],
)
async def test_a_packed_page_is_unpacked(encoding: str, packed: bytes) -> None:
    routes = {"/": lambda: answering(packed, "text/html", Content_Encoding=encoding)}
    async with serving(routes) as site, Web(allow=[site.place]) as web:
        assert (await page_of(web, site.url())).text == "unpacked"


async def test_a_redirect_is_followed_and_the_page_says_where_it_is() -> None:
    routes = {"/": lambda: answering("", status=302, Location="two?x=1"), "/two": "<p>here"}
    async with serving(routes) as site, Web(allow=[site.place]) as web:
        page = await page_of(web, site.url())
        assert (page.url, page.final_url, page.text) == (site.url(), site.url("/two?x=1"), "here")


async def test_an_error_status_fails_with_the_beginning_of_what_the_server_says() -> None:
    routes = {
        "/gone": lambda: answering("<title>x</title><h1>Gone</h1>" + "y" * 600, "text/html", status=410),
        "/busy": lambda: answering("later", "text/plain", status=429, Retry_After="7"),
        "/image": lambda: answering(b"\x89PNG", "image/png", status=500),
    }
    async with serving(routes) as site, Web(allow=[site.place]) as web:
        gone, busy, image = [await failure_of(page_of(web, site.url(path))) for path in routes]
        assert (gone.kind, gone.message) == ("failed", f"{site.url('/gone')} answered 410 Gone")
        at = {"url": site.url("/gone"), "final_url": site.url("/gone")}
        assert gone.details == {**at, "status": 410, "body": "Gone\n\n" + "y" * 493 + "…"}
        assert (busy.details["status"], busy.details["retry_after"], busy.details["body"]) == (429, "7", "later")
        assert "body" not in image.details


async def test_what_is_no_text_fails_with_its_type_and_size() -> None:
    routes = {
        "/paper": lambda: answering(b"PK\x03\x04 ....", "application/zip"),
        "/file": lambda: answering(b"\0" * 30, "application/octet-stream"),
        "/liar": lambda: answering(b"\x89PNG\r\n\x1a\n\0\0\0\x0d", "text/plain"),
    }
    async with serving(routes) as site, Web(allow=[site.place]) as web:
        failures = [await failure_of(page_of(web, site.url(path))) for path in routes]
        assert [(failure.details["media_type"], failure.details["size"]) for failure in failures] == [
            ("application/zip", 9),
            ("application/octet-stream", 30),
            ("image/png", 12),
        ]
        assert "no page of text but application/zip, 9 bytes" in failures[0].message


async def test_no_page_at_all_is_a_failure() -> None:
    async with serving({"/": ""}) as site:
        closed = site.url()
    async with Web(allow=[closed.removeprefix("http://").rstrip("/")], look_up=Names()) as web:
        assert "could not be fetched" in (await failure_of(page_of(web, closed))).message
        assert (await failure_of(page_of(web, "http://unknown.example/"))).message == (
            'there is no host named "unknown.example"'
        )


async def test_a_server_that_does_not_speak_securely_is_a_failure() -> None:
    async with serving({"/": "<p>x"}) as site, Web(allow=[site.place]) as web:
        failure = await failure_of(page_of(web, site.url().replace("http:", "https:")))
        assert (failure.kind, "could not be fetched" in failure.message) == ("failed", True)


async def test_nothing_of_one_fetch_is_sent_with_the_next() -> None:
    seen: list[dict[str, str]] = []

    async def watched(request: server.Request) -> server.StreamResponse:
        seen.append({name: value for name, value in request.headers.items() if name not in ("Host", "Connection")})
        return answering("<p>x", "text/html", Set_Cookie="id=1; Path=/")

    async with serving({"/": watched}) as site, Web(allow=[site.place], user_agent="tester") as web:
        await page_of(web, site.url())
        await page_of(web, site.url())
    assert seen[0] == seen[1]
    assert seen[0].keys() == {"User-Agent", "Accept", "Accept-Encoding"}
    assert (seen[0]["User-Agent"], seen[0]["Accept-Encoding"]) == ("tester", "gzip, deflate")


async def test_a_call_may_give_itself_less_time_or_more_up_to_the_most() -> None:
    web = Web(timeout_ms=30_000, most_timeout_ms=60_000)
    assert [web.limits.seconds(given) for given in (None, 500, 45_000, 1_000_000)] == [30, 0.5, 45, 60]


async def test_proxies_of_the_environment_are_used_only_when_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        serving({"/": "<p>x"}) as site,
        speaking(saying(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nby proxy")) as proxy,
    ):
        monkeypatch.setenv("http_proxy", proxy.place)
        monkeypatch.delenv("no_proxy", raising=False)
        async with Web(allow=[site.place]) as careful, Web(allow=[site.place], trust_env=True) as trusting:
            assert [(await page_of(web, site.url())).text for web in (careful, trusting)] == ["x", "by proxy"]
            assert proxy.asked == [site.url()]
            assert (await failure_of(page_of(trusting, "http://10.1.2.3/"))).kind == "denied"
            only_the_proxy_knows = await page_of(trusting, "http://inside.invalid/")
            assert only_the_proxy_knows.text == "by proxy"
            monkeypatch.setenv("no_proxy", "127.0.0.1")
            assert (await page_of(trusting, site.url())).text == "x"


# ── finding ──────────────────────────────────────────────────────────────────


async def test_a_text_is_found_with_its_line_and_what_stands_around_it() -> None:
    html = "<p>one<p>two<p>The <b>Earl</b>\n Grey<p>four<p>five"
    async with serving({"/": html}) as site, Web(allow=[site.place]) as web:
        assert await web.find(FindInPage(site.url(), "earl  GREY")) == MatchesOutcome(
            (
                Match(
                    path=site.url(),
                    line=5,
                    text="The Earl Grey",
                    before=("two", ""),
                    after=("", "four"),
                    column=5,
                ),
            ),
            total=1,
            files=1,
        )


async def test_a_text_is_found_across_lines_and_at_both_ends() -> None:
    routes = {"/": lambda: answering("ab\ncd\nab", "text/plain")}
    async with serving(routes) as site, Web(allow=[site.place]) as web:
        found = await web.find(FindInPage(site.url(), "ab cd"))
        assert found.matches == (Match(site.url(), 1, "ab\ncd", (), ("ab",), column=1, last_line=2),)
        found = await web.find(FindInPage(site.url(), "ab"))
        assert found.matches == (
            Match(site.url(), 1, "ab", (), ("cd", "ab"), column=1),
            Match(site.url(), 3, "ab", ("ab", "cd"), (), column=1),
        )


async def test_a_text_that_is_not_there_is_no_failure() -> None:
    async with serving({"/": "<p>tea"}) as site, Web(allow=[site.place]) as web:
        assert await web.find(FindInPage(site.url(), "t.a")) == MatchesOutcome((), total=0, files=0)


async def test_many_matches_are_counted_and_the_first_hundred_given() -> None:
    routes = {"/": lambda: answering("tea " * 150, "text/plain")}
    async with serving(routes) as site, Web(allow=[site.place]) as web:
        found = await web.find(FindInPage(site.url(), "tea"))
        assert (len(found.matches), found.total, found.truncated) == (100, 150, True)


async def test_a_long_line_is_given_around_the_match_and_marked_where_it_is_cut() -> None:
    routes = {"/": lambda: answering("x" * 1000 + "tea" + "y" * 1000, "text/plain")}
    async with serving(routes) as site, Web(allow=[site.place]) as web:
        (match,) = (await web.find(FindInPage(site.url(), "tea"))).matches
        assert (match.text, match.column) == ("…" + "x" * 200 + "tea" + "y" * 197 + "…", 1001)


@pytest.mark.parametrize("pattern", ["", " \n", "x" * 1001])
async def test_a_text_to_find_must_be_one(pattern: str) -> None:
    async with Web() as web:
        assert (await failure_of(web.find(FindInPage("http://example.com", pattern)))).kind == "invalid_arguments"


# ── searching ────────────────────────────────────────────────────────────────

HITS = """{"query": "tea", "results": [
  {"url": "https://tea.example/a", "title": "A", "content": "about a", "publishedDate": "2024-01-02", "score": 1},
  {"url": "https://shop.tea.example/b", "title": "B", "content": ""},
  {"url": "https://evil-tea.example/c", "title": "C"},
  {"url": "https://tea.example.evil.test/d", "title": "D"},
  {"url": "https://tea.example/a", "title": "A again"},
  {"url": "javascript:alert(1)", "title": "E"},
  {"url": "https://other.test/f", "title": "", "content": "about f"}]}"""

A = Page("https://tea.example/a", "A", snippet="about a", age="2024-01-02")
B = Page("https://shop.tea.example/b", "B")
C = Page("https://evil-tea.example/c", "C")
D = Page("https://tea.example.evil.test/d", "D")
F = Page("https://other.test/f", snippet="about f")


@pytest.mark.parametrize(
    "wanted, found",
    [
        (SearchWeb("tea"), (A, B, C, D, F)),
        (SearchWeb("tea", limit=2), (A, B)),
        (SearchWeb("tea", allowed_domains=("tea.example",)), (A, B)),
        (SearchWeb("tea", allowed_domains=("*.Tea.Example.",)), (A, B)),
        (SearchWeb("tea", blocked_domains=("tea.example",)), (C, D, F)),
        (SearchWeb("tea", allowed_domains=("tea.example",), blocked_domains=("shop.tea.example",)), (A,)),
        (SearchWeb("tea", allowed_domains=("example",)), (A, B, C)),
        (SearchWeb("tea", allowed_domains=("nowhere.test",)), ()),
    ],
)
async def test_hits_say_what_the_endpoint_said_and_only_within_the_domains(
    wanted: SearchWeb, found: tuple[Page, ...]
) -> None:
    async with serving({"/search": lambda: answering(HITS, "application/json")}) as site, Web() as web:
        web = Web(search=SearxngSearch(site.url(), web))
        assert await web.search(wanted) == PagesOutcome(found, query="tea")


async def test_the_endpoint_is_asked_in_words_search_engines_know_and_for_more_until_there_is_enough() -> None:
    async def paged(request: server.Request) -> server.StreamResponse:
        number = request.query.get("pageno", "1")
        return answering(f'{{"results": [{{"url": "https://a.example/{number}"}}]}}', "application/json")

    async with serving({"/find": paged}) as site, Web() as web:
        backend = SearxngSearch(site.url("/find?lang=en"), web)
        pages = await backend.search(
            "x y", allowed_domains=["a.example", "b.example"], blocked_domains=["c.d"], limit=2
        )
        assert pages == [Page("https://a.example/1"), Page("https://a.example/2")]
        words = "/find?lang=en&q=x+y+(site:a.example+OR+site:b.example)+-site:c.d&format=json"
        assert site.asked == [words, f"{words}&pageno=2"]


async def test_an_endpoint_of_the_settings_may_be_private_and_what_it_redirects_to_may_not() -> None:
    async with serving({"/": "secret"}, host="127.0.0.2") as inside:
        routes = {"/search": lambda: answering("", status=302, Location=inside.url())}
        async with serving(routes) as site, Web() as web:
            failure = await failure_of(Web(search=SearxngSearch(site.url(), web)).search(SearchWeb("x")))
            assert (failure.kind, inside.asked) == ("denied", [])


@pytest.mark.parametrize("answer", ["<p>blocked", "{}", '{"results": [{"title": "no url"}]}', b"\xff\xfe"])
async def test_an_endpoint_that_answers_otherwise_is_named(answer: str | bytes) -> None:
    async with serving({"/search": answer}) as site, Web() as web:
        failure = await failure_of(
            SearxngSearch(site.url(), web).search("x", allowed_domains=(), blocked_domains=(), limit=1)
        )
        assert "did not answer as SearXNG does" in failure.message


async def test_without_a_backend_a_search_says_what_to_set() -> None:
    async with Web() as web:
        failure = await failure_of(web.search(SearchWeb("x")))
        assert (failure.kind, failure.details) == ("failed", {"settings": ["search.backend", "search.url"]})


async def test_a_backend_can_be_anything_that_searches() -> None:
    class Provider:
        async def search(
            self, query: str, *, allowed_domains: Sequence[str], blocked_domains: Sequence[str], limit: int
        ) -> Sequence[Page]:
            return [Page(f"https://{domain}/", snippet=f"{query} {limit}") for domain in ("a.example", "b.example")]

    async with Web(search=Provider()) as web:
        outcome = await web.search(SearchWeb("x", blocked_domains=("a.example",)))
        assert outcome == PagesOutcome((Page("https://b.example/", snippet="x 5"),), query="x")


@pytest.mark.parametrize(
    "wanted",
    [
        SearchWeb(" "),
        SearchWeb("x", limit=0),
        SearchWeb("x", allowed_domains=("https://a.example/",)),
        SearchWeb("x", blocked_domains=("a.example/path",)),
        SearchWeb("x", blocked_domains=("a b",)),
        SearchWeb("x", allowed_domains=("",)),
        SearchWeb("x", allowed_domains=("a.example:80",)),
        SearchWeb("x", allowed_domains=("user@a.example",)),
    ],
)
async def test_a_senseless_search_is_refused(wanted: SearchWeb) -> None:
    async with Web() as web:
        assert (await failure_of(web.search(wanted))).kind == "invalid_arguments"


async def test_a_backend_without_its_address_is_a_mistake_in_the_settings() -> None:
    for make in (SearxngSearch, BrowserSearch):
        with pytest.raises(ConfigError, match=r"search\.url"):
            make(None, Web())
    with pytest.raises(ConfigError, match=r"search\.url"):
        SearxngSearch("search.example", Web())
    with pytest.raises(ConfigError, match=r"\{query\}"):
        BrowserSearch("https://search.example/", Web())


@pytest.mark.parametrize(
    "href, leads",
    [
        ("https://away.example/x", "https://away.example/x"),
        ("/settings", None),
        ("/l/?uddg=https%3A%2F%2Faway.example%2Fx&rut=1", "https://away.example/x"),
        ("/l/?a=1&b=https://search.example/more", None),
        ("javascript:void(0)", None),
        ("http://[", None),
        ("", None),
    ],
)
def test_a_link_of_a_search_page_counts_when_it_leads_away(href: str, leads: str | None) -> None:
    assert leads_to("https://search.example/?q=x", href) == leads


# ── the tools ────────────────────────────────────────────────────────────────


async def test_the_tools_use_the_web_of_the_run() -> None:
    async with serving({"/": "<p>tea"}) as site, Web(allow=[site.place]) as web:
        context = Context(provides={Web: web})
        fetched = await fetch_page.call({"url": site.url()}, context)
        assert fetched.pages[0].text == "tea"
        assert (await find_in_page.call({"url": site.url(), "pattern": "tea"}, context)).total == 1
        assert (await failure_of(search_web.call({"query": "tea"}, context))).kind == "failed"
        assert [(tool.name, tool.kind) for tool in (fetch_page, find_in_page, search_web)] == [
            ("fetch_page", Kind.FETCH),
            ("find_in_page", Kind.FETCH),
            ("search_web", Kind.FETCH),
        ]


async def test_a_browser_that_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Web(render=True, look_up=Names()) as web:
        monkeypatch.setenv("PATH", "")
        failure = await failure_of(web.fetch(FetchPage("http://example.com/")))
        assert "apt-get install chromium" in failure.message
        monkeypatch.setitem(sys.modules, "playwright.async_api", None)
        with pytest.raises(MissingExtra, match="install 'playwright>="):
            await web.browser.screenshot(TakeScreenshot("http://example.com/"))


async def test_a_program_that_is_no_chromium_says_so() -> None:
    async with Web(render=True, chromium="/bin/true", look_up=Names()) as web:
        failure = await failure_of(web.fetch(FetchPage("http://example.com/")))
        assert (failure.details, "/bin/true could not be started" in failure.message) == (
            {"chromium": "/bin/true"},
            True,
        )


async def test_a_place_to_allow_must_be_one() -> None:
    for entry in ("localhost", "http://localhost:80", "a b:1", "localhost:x", ":80", "127.1:80"):
        with pytest.raises(ConfigError, match="host:port"):
            Web(allow=[entry])


async def test_playwrights_own_process_gets_no_key_unless_a_user_starts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import playwright.async_api

    from dragoman.tools.web.browser import _started

    monkeypatch.setenv("SOME_API_KEY", "not for others")

    def environments() -> list[bytes]:
        return [Path(f"/proc/{process}/environ").read_bytes() for process in descendants(os.getpid())]

    ours = await _started(playwright.async_api)
    try:
        assert environments() != []
        assert [one for one in environments() if b"SOME_API_KEY" in one] == []
        theirs = await playwright.async_api.async_playwright().start()
        try:
            assert [b"SOME_API_KEY=not for others" in one for one in environments()].count(True) == 1
        finally:
            await theirs.stop()
    finally:
        await ours.stop()


async def test_the_gate_of_the_browser_passes_requests_on_and_ends_each_connection() -> None:
    """Told in full in the conformance tests, with a browser; here so far as any HTTP client can tell."""
    import aiohttp

    async def echo(request: server.Request) -> server.StreamResponse:
        return server.Response(text=f"{request.method} {request.path_qs} {await request.text()}")

    async with (
        serving({"/a b": echo}) as site,
        BrowserProxy(Reach([site.place]), max_bytes=10_000, connect_seconds=5) as gate,
        aiohttp.ClientSession() as client,
    ):
        async with client.post(site.url("/a b?q=%2F"), data="body", proxy=gate.address) as response:
            assert (await response.text(), response.headers["Connection"]) == ("POST /a%20b?q=/ body", "close")
        for refused in ("http://127.0.0.2:8080/", "http://10.0.0.1/", "http://169.254.169.254/"):
            async with client.get(refused, proxy=gate.address) as response:
                assert response.status == 403
        with pytest.raises(aiohttp.ClientHttpProxyError, match="403"):
            await client.get("https://127.0.0.2/", proxy=gate.address)
        assert isinstance(gate.last_failure, ToolError)


@pytest.mark.parametrize("again", [b"HTTP/1.1 100 Continue\r\n\r\n" * 99, b"x: y\r\n" * 99])
async def test_the_gate_of_the_browser_ends_an_answer_that_never_begins(again: bytes) -> None:
    closed = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            while True:
                writer.write(again)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            closed.set()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    place = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with listening, BrowserProxy(Reach([place]), max_bytes=1_000_000, connect_seconds=5) as gate:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(gate.address.rpartition(":")[2]))
        writer.write(b"GET http://%s/ HTTP/1.1\r\n\r\n" % place.encode())
        async with asyncio.timeout(20):
            while await reader.read(65_536):
                pass
            await closed.wait()
        writer.close()


async def test_the_search_backend_is_found_by_the_name_in_the_settings() -> None:
    answer = '{"results": [{"url": "https://a.example/1"}]}'
    async with (
        serving({"/search": lambda: answering(answer, "application/json")}) as site,
        Web(search_backend="searxng", search_url=site.url()) as web,
    ):
        assert await web.search(SearchWeb("tea")) == PagesOutcome((Page("https://a.example/1"),), query="tea")


class _Turning:
    """A tab that cannot be photographed for a few moments: another page is taking its place."""

    def __init__(self, failures: int, says: str) -> None:
        self.failures, self.says = failures, says

    async def screenshot(self, **_: Any) -> bytes:
        from playwright.async_api import Error

        if self.failures:
            self.failures -= 1
            raise Error(f"Page.screenshot: Protocol error (Page.captureScreenshot): {self.says}")
        return b"picture"

    async def wait_for_load_state(self, state: str) -> None:
        assert state == "load"


async def test_a_picture_waits_until_one_page_has_taken_the_place_of_another() -> None:
    from playwright.async_api import Error

    busy = "Unable to capture screenshot"
    assert await picture_of(cast("Any", _Turning(2, busy))) == b"picture"
    with pytest.raises(Error, match="Target closed"):
        await picture_of(cast("Any", _Turning(1, "Target closed")))
