"""What holds for every address, name, body and page the web tools are given."""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
import zlib
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Literal

from hypothesis import event, example, given, strategies as st

from dragoman.errors import ToolError
from dragoman.model.operations import FetchPage, SearchWeb
from dragoman.model.outcomes import Page, PagesOutcome
from dragoman.tools.web.address_policy import Place, Reach, parse_url, place_of
from dragoman.tools.web.page_text import decode, read_html
from dragoman.tools.web.search import within
from dragoman.tools.web.web import Inflater, Web, found_in
from tests.tools.pages import Names, page_of, saying, serving, speaking

FORBIDDEN_4 = "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16 224.0.0.0/3"
FORBIDDEN_6 = "::/96 fc00::/7 fe80::/10 ff00::/8 2001:db8::/32 2002::/16 2001::/32"


def within_networks(networks: str, bits: int) -> st.SearchStrategy[int]:
    found = [ipaddress.ip_network(network) for network in networks.split()]
    return st.sampled_from(found).flatmap(
        lambda network: st.integers(int(network.network_address), int(network.broadcast_address))
    )


def spelled(address: int) -> st.SearchStrategy[str]:
    """An IPv4 address in every way some program reads it."""
    a, b, c, d = address.to_bytes(4)
    plain = f"{a}.{b}.{c}.{d}"
    return st.sampled_from(
        [
            plain,
            f"{plain}.",
            str(address),
            hex(address),
            f"0{address:o}",
            f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
            f"{a:#x}.{b:#x}.{c:#x}.{d:#x}",
            f"{a:#X}.{b}.0{c:o}.{d}",
            f"{a}.{address & 0xFFFFFF}",
            f"{a}.{b}.{address & 0xFFFF}",
            plain.translate({ord("0") + digit: 0xFF10 + digit for digit in range(10)}),
            plain.replace(".", "。"),
            f"[::ffff:{plain}]",
            f"[::{plain}]",
            f"[64:ff9b::{plain}]",
            f"[2002:{address >> 16:x}:{address & 0xFFFF:x}::]",
        ]
    )


async def judged(url: str, reach: Reach) -> list[str] | ToolError:
    """Where a URL leads, or why it does not."""
    try:
        target = parse_url(url)
        reach.check_url(target)
        return await reach.addresses(place_of(target))
    except ToolError as error:
        return error


@given(within_networks(FORBIDDEN_4, 32).flatmap(spelled), st.sampled_from(["http", "https", "HTTP"]))
def test_no_spelling_of_a_forbidden_address_is_allowed(host: str, scheme: str) -> None:
    assert isinstance(asyncio.run(judged(f"{scheme}://{host}/x", Reach())), ToolError)


@given(within_networks(FORBIDDEN_6, 128))
def test_no_forbidden_address_of_the_new_protocol_is_allowed(address: int) -> None:
    assert isinstance(asyncio.run(judged(f"http://[{ipaddress.IPv6Address(address)}]/", Reach())), ToolError)


@given(st.integers(0, 2**32 - 1).map(ipaddress.IPv4Address) | st.integers(0, 2**128 - 1).map(ipaddress.IPv6Address))
@example(ipaddress.IPv4Address("168.63.129.15"))
@example(ipaddress.IPv6Address("2606:2800:21f:cb07:6820:80da:af6b:8b2c"))
def test_what_is_allowed_is_public_by_pythons_own_tables_whether_named_or_written(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    host = f"[{address}]" if address.version == 6 else str(address)
    written = asyncio.run(judged(f"http://{host}/", Reach(look_up=Names({str(address): str(address)}))))
    named = asyncio.run(judged("http://name.test/", Reach(look_up=Names({"name.test": str(address)}))))
    assert isinstance(named, ToolError) == isinstance(written, ToolError)
    if not isinstance(named, ToolError):
        assert named == [str(address)]
        assert address.is_global
        assert not address.is_multicast


URLS = (
    st.text(max_size=60)
    | st.from_regex(r"\A(https?:)?/?/?[^/]{0,20}(:[0-9]{0,6})?(/.*)?\Z")
    | st.builds(
        "{}://{}{}:{}{}".format,
        st.sampled_from(["http", "https", "HtTp", "ftp", ""]),
        st.sampled_from(["", "a@", "a:b@", "@"]),
        st.text(max_size=20)
        | st.sampled_from(["name.test", "localhost", "127.0.0.1", "[::1]", "xn--a", "a..b", "%31"]),
        st.integers(-1, 70_000) | st.text(max_size=3),
        st.text(max_size=20),
    )
)


@given(URLS)
@example("http://user@xn--a/")
def test_any_text_is_an_address_in_canonical_form_or_a_failure(text: str) -> None:
    try:
        url = parse_url(text)
    except ToolError as failure:
        event(failure.kind)
        return
    assert parse_url(str(url)) == url
    assert place_of(url).host.isascii()
    assert place_of(url).host == place_of(url).host.lower()
    assert url.user is None


@given(st.lists(URLS, min_size=1, max_size=20), st.sampled_from([None, -1, 0, 5]))
def test_fetching_any_text_is_a_page_or_a_failure(texts: list[str], number: int | None) -> None:
    async def everywhere_is_here(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async def run() -> None:
        # Port 80 of this machine is refused; so is everything else but the one server.
        async with (
            serving({"/": "<p>page"}) as site,
            Web(allow=[site.place], look_up=everywhere_is_here, timeout_ms=2_000) as web,
        ):
            for text in [*texts, site.url(host="name.test")]:
                if not _is_public_number(text):
                    with suppress(ToolError):
                        outcome = await web.fetch(FetchPage(text, offset=number, limit=number))
                        assert isinstance(outcome, PagesOutcome)

    asyncio.run(run())


def _is_public_number(text: str) -> bool:
    """Addresses that need no name are connected to; a test connects to none but its own."""
    try:
        host = place_of(parse_url(text)).host
        return ipaddress.ip_address(host).is_global
    except (ToolError, ValueError):
        return False


ANSWERS = st.binary(max_size=300) | st.lists(
    st.sampled_from(
        [
            *(
                b"HTTP/1.1 200 OK",
                b"HTTP/1.0 404",
                b"HTTP/1.1 302 Found",
                b"HTTP/1.1 100",
                b"HTTP/2 200 OK",
                b"ICY 200",
            ),
            *(b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"\0", b":", b" ", b"\xff", b"0\r\n\r\n", b"5\r\nhello\r\n"),
            *(b"Content-Type: text/html", b"Content-Type: text/plain; charset=utf-16", b"Content-Type: ;;;"),
            *(b"Content-Length: 5", b"Content-Length: x", b"Transfer-Encoding: chunked", b"Transfer-Encoding: x"),
            *(b"Content-Encoding: gzip", b"Content-Encoding: br", b"Location: /", b"Location: http://10.0.0.1/"),
            *(
                b"Connection: upgrade",
                b"Upgrade: websocket",
                b"Set-Cookie: a=b; Domain=test",
                b"<p>page",
                gzip.compress(b"x"),
            ),
        ]
    ),
    max_size=14,
).map(b"".join)


@given(st.lists(ANSWERS, min_size=1, max_size=10))
def test_any_answer_is_a_page_or_a_failure(answers: list[bytes]) -> None:
    async def run() -> None:
        for answer in answers:
            async with speaking(saying(answer)) as site, Web(allow=[site.place], timeout_ms=2_000) as web:
                with suppress(ToolError):
                    assert isinstance(await web.fetch(FetchPage(site.url())), PagesOutcome)

    asyncio.run(run())


# ── bodies ───────────────────────────────────────────────────────────────────


@given(st.binary(max_size=200), st.text(max_size=20) | st.sampled_from(["utf-8", "utf-16", "cp1252", "big5", "idna"]))
def test_any_bytes_are_text_under_any_label(data: bytes, label: str) -> None:
    assert isinstance(decode(data, label), str)
    decode(data, label).encode()


@given(st.text(max_size=200), st.sampled_from(["utf-8", "gb18030"]))
def test_text_in_an_encoding_that_is_named_comes_back(text: str, label: str) -> None:
    assert decode(text.encode(label), label) == text.removeprefix("\ufeff")


PACKERS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "identity": bytes,
}


@given(st.binary(max_size=5000), st.sampled_from(sorted(PACKERS)), st.lists(st.integers(0, 5000), max_size=5))
def test_a_body_cut_anywhere_unpacks_to_the_same(data: bytes, encoding: str, cuts: list[int]) -> None:
    packed = PACKERS[encoding](data)
    inflater = Inflater("http://x/", encoding)
    edges = sorted({0, len(packed), *(min(cut, len(packed)) for cut in cuts)})
    pieces = [piece for start, end in pairwise(edges) for piece in inflater.feed(packed[start:end])]
    inflater.finish()
    assert b"".join(pieces) == data


@given(st.binary(max_size=500), st.sampled_from(["gzip", "deflate"]))
@example(gzip.compress(b"x")[:-1], "gzip")
def test_any_bytes_unpack_or_fail(data: bytes, encoding: str) -> None:
    inflater = Inflater("http://x/", encoding)
    with suppress(ToolError):
        assert all(isinstance(piece, bytes) for piece in inflater.feed(data))
        inflater.finish()


# ── pages ────────────────────────────────────────────────────────────────────

WORDS = st.text("abcdefghij", min_size=4, max_size=8)
TAGS = (
    *("p", "div", "section", "article", "main", "aside", "nav", "header", "footer", "h1", "h3", "pre", "details"),
    *("b", "i", "em", "strong", "a", "span", "code", "q", "li", "ul", "td", "tr", "table", "noscript", "button"),
)


def html_of(words: Sequence[str], tags: Sequence[str], *, closed: bool) -> str:
    parts = []
    for word, tag in zip(words, tags, strict=False):
        parts.append(f"<{tag}>{word} " + (f"</{tag}>" if closed else ""))
    return "".join(parts)


@given(
    st.lists(WORDS, max_size=12),
    st.lists(st.sampled_from(TAGS), min_size=12, max_size=12),
    st.booleans(),
    st.sampled_from(["markdown", "text"]),
)
def test_no_word_a_reader_sees_is_lost(
    words: list[str], tags: list[str], closed: bool, format: Literal["markdown", "text"]
) -> None:
    text = read_html(html_of(words, tags, closed=closed), "http://x/", format).text
    assert [word for word in words if word not in text] == []


@given(WORDS, st.sampled_from(["script", "style", "template", "div hidden", 'p style="color:red;display:none"']))
def test_no_word_a_reader_does_not_see_is_shown(word: str, tag: str) -> None:
    html = f"<p>seen</p><{tag}>{word}</{tag.split()[0]}><p>seen too</p>"
    assert read_html(html, "http://x/", "text").text == "seen\n\nseen too"


@given(st.text(max_size=300), st.sampled_from(["markdown", "text", "html"]), st.text(max_size=20), st.booleans())
def test_any_text_is_a_page(html: str, format: Literal["markdown", "text", "html"], url: str, rendered: bool) -> None:
    title, text = read_html(html, url, format, rendered=rendered)
    assert title is None or 0 < len(title) <= 300
    assert isinstance(text, str)


@given(st.text(min_size=1, max_size=60), st.integers(1, 70))
def test_the_parts_of_a_page_are_the_whole(text: str, limit: int) -> None:
    async def run() -> None:
        body = text.encode(errors="replace")
        async with serving({"/": body}) as site, Web(allow=[site.place]) as web:
            whole = await page_of(web, site.url(), format="html")
            total = whole.total_chars or 0
            parts = [
                await page_of(web, site.url(), format="html", offset=offset, limit=limit)
                for offset in range(0, max(total, 1), limit)
            ]
            assert "".join(part.text or "" for part in parts) == whole.text
            assert [part.truncated for part in parts] == [True] * (len(parts) - 1) + [False]

    if "\0" not in text:
        asyncio.run(run())


@given(st.text("aAbB \n", max_size=200), st.text("ab", min_size=1, max_size=3))
def test_every_place_of_a_text_is_found_and_said(text: str, pattern: str) -> None:
    found = found_in("u", text, [pattern])
    assert found.total == text.lower().count(pattern)
    lines = text.split("\n")
    for match in found.matches:
        line, column = match.line or 0, match.column or 0
        assert match.text == lines[line - 1]
        assert lines[line - 1][column - 1 :].lower().startswith(pattern)
        assert (*match.before, match.text, *match.after) == tuple(lines[max(0, line - 3) : line + 2])


# ── searching ────────────────────────────────────────────────────────────────

DOMAINS = st.sampled_from(["example", "tea.example", "shop.tea.example", "evil-tea.example", "tea.example.test", "a"])


@given(DOMAINS, st.lists(DOMAINS, max_size=3), st.lists(DOMAINS, max_size=3), st.integers(1, 5))
def test_a_hit_is_within_the_domains_label_by_label(
    host: str, allowed: list[str], blocked: list[str], limit: int
) -> None:
    class Everything:
        async def search(
            self, query: str, *, allowed_domains: Sequence[str], blocked_domains: Sequence[str], limit: int
        ) -> Sequence[Page]:
            return [Page(f"https://{host}/{number}") for number in range(10)]

    def below(domain: str) -> bool:
        labels = domain.split(".")
        return host.split(".")[-len(labels) :] == labels

    expected = (not allowed or any(map(below, allowed))) and not any(map(below, blocked))
    assert within(f"http://{host.upper()}./", allowed, blocked) == expected
    wanted = SearchWeb("x", tuple(allowed), tuple(blocked), limit)
    outcome = asyncio.run(Web(search=Everything()).search(wanted))
    assert len(outcome.pages) == (limit if expected else 0)


@given(st.text(max_size=20), st.integers(0, 70_000))
def test_a_place_reads_back_as_it_is_written(host: str, port: int) -> None:
    try:
        place = place_of(parse_url(f"http://{host}:{port}/"))
    except ToolError:
        return
    reach = Reach([str(place)], look_up=Names({place.host: "127.0.0.1"}))
    assert asyncio.run(reach.addresses(Place(place.host, place.port))) == ["127.0.0.1"]
