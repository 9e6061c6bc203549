"""What hostile addresses, names, servers and pages try, and that none of it works."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web as server
from yarl import URL

from dragoman.errors import ToolError
from dragoman.model.operations import FindInPage
from dragoman.tools.web.address_policy import Place, Reach, parse_url
from dragoman.tools.web.web import Web, redirected
from tests.ports import quiet_port
from tests.tools.pages import Names, endlessly, failure_of, page_of, saying, serving, speaking
from tests.tools.test_web import answering

# ── addresses ────────────────────────────────────────────────────────────────


def words(text: str) -> list[str]:
    return text.split()


LOOPBACK = words(
    """
    127.0.0.1 127.0.0.1. 127.1 127.0.1 127.00.00.01 0177.0.0.1 0177.0.0.01 0x7f.0.0.1 0x7f.1 0x7f000001 0X7F000001
    2130706433 017700000001 00000177.0.0.1 127.0.0.1%00 127.0.0.1%2f%2f 0 0.0.0.0 00.0.0.0 127.127.127.127
    127.255.255.255 ①②⑦.⓪.⓪.① １２７.０.０.１ 127。0。0。1 127｡0｡0｡1 𝟏𝟐𝟕.𝟎.𝟎.𝟏 ٣.0.0.1 [::1] [::] [0:0:0:0:0:0:0:1]
    [0000::0001] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [0:0:0:0:0:ffff:127.0.0.1] [64:ff9b::127.0.0.1]
    [64:ff9b::7f00:1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2002:7f00:1::1] [2001:0:7f00:1::]
    [2606:4700::5efe:127.0.0.1] [2606:4700::200:5efe:127.0.0.1] [::1%25lo] [::1%lo] localhost LOCALHOST localhost.
    LocalHost. ｌocalhost ⓛⓞⓒⓐⓛⓗⓞⓢⓣ
    """
)

PRIVATE = words(
    """
    10.0.0.1 172.16.0.1 172.31.255.254 192.168.1.1 169.254.169.254 169.254.0.1 169.254.170.2 100.64.0.1
    100.100.100.200 192.0.0.192 168.63.129.16 224.0.0.1 239.255.255.250 255.255.255.255 240.0.0.1 198.18.0.1
    192.0.2.1 198.51.100.1 203.0.113.1 192.88.99.1 2852039166 0xa9fea9fe 0251.0376.0251.0376
    [::ffff:169.254.169.254] [::ffff:10.0.0.1] [64:ff9b::a9fe:a9fe] [fd00:ec2::254] [fd20:ce::254] [fe80::1]
    [fec0::1] [fc00::1] [fdff::1] [ff02::1] [2001:db8::1] [2001::1] [2002:a00:1::] [100::1] [3fff::1] [4000::1]
    [8000::1] [e000::1] metadata.google.internal metadata METADATA.google.internal. instance-data
    """
)


def system_names() -> Names:
    return Names({"localhost": "127.0.0.1"})


@pytest.mark.parametrize("host", [*LOOPBACK, *PRIVATE])
async def test_no_spelling_of_a_private_address_is_reached(host: str) -> None:
    async with serving({"/": "secret"}) as site, Web(look_up=system_names()) as web:
        for url in (f"http://{host}:{site.port}/", f"http://{host}/"):
            assert (await failure_of(page_of(web, url))).kind in ("denied", "invalid_arguments")
        assert site.asked == []


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com@127.0.0.1:{port}/",
        "http://127.0.0.1:{port}@example.com/",
        "http://example.com#@127.0.0.1:{port}/",
        "http://example.com:80@127.0.0.1:{port}/",
        "http://127.0.0.1:{port}\\@example.com/",
        "http:\\\\127.0.0.1:{port}/",
        "http:/127.0.0.1:{port}/",
        "http:127.0.0.1:{port}/",
        "//127.0.0.1:{port}/",
        "127.0.0.1:{port}",
        "\thttp://127.0.0.1:{port}/",
        "ht\ntp://127.0.0.1:{port}/",
        "http://127.0.0.1:{port}/\r\nHost: x",
        "http://127.0.0.1 :{port}/",
        "http://127.0.0.1:{port} /",
        "http://[127.0.0.1]:{port}/",
        "http://127.0.0.1\u200b:{port}/",
        "http://127.0.0.1\x00:{port}/",
        "http://127.0.0.1:+{port}/",
    ],
)
async def test_no_trick_in_an_address_leads_to_a_private_one(url: str) -> None:
    async with serving({"/": "secret"}) as site, Web(look_up=system_names()) as web:
        await failure_of(page_of(web, url.format(port=site.port)))
        assert site.asked == []


@pytest.mark.parametrize(
    "url",
    words(
        """
        data:text/html,<p>x file:///etc/passwd file://localhost/etc/passwd javascript:alert(1) ftp://example.com/
        gopher://127.0.0.1:70/ about:blank blob:https://example.com/x view-source:http://example.com/
        ws://example.com/ chrome://version jar:http://example.com!/x dict://127.0.0.1/ ldap://127.0.0.1
        unix:/run/docker.sock http+unix://x/ https: http:// example.com /etc/passwd http://a:b@example.com/
        http://a@example.com/ http://example.com:0/ http://example.com:99999/
        """
    ),
)
async def test_only_whole_web_addresses_without_credentials_are_taken(url: str) -> None:
    async with Web(look_up=Names()) as web:
        failure = await failure_of(page_of(web, url))
        assert failure.kind == "invalid_arguments"
        assert "a:b" not in failure.message


@pytest.mark.parametrize("port", [1, 22, 25, 110, 143, 445, 993, 2049, 5060, 6000, 6667, 10080])
async def test_ports_of_other_services_are_refused(port: int) -> None:
    async with Web(look_up=Names({"example.com": "93.184.215.14"})) as web:
        assert (await failure_of(page_of(web, f"http://example.com:{port}/"))).kind == "denied"


async def test_public_addresses_are_allowed() -> None:
    for address in ("93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "64:ff9b::5db8:d70e"):
        reach = Reach(look_up=Names({"example.com": address}))
        reach.check_url(parse_url("http://example.com:8080/"))
        assert await reach.addresses(Place("example.com", 443)) == [address]


async def test_private_networks_can_be_opened_and_metadata_services_stay_shut() -> None:
    async with serving({"/": "<p>ours"}) as site, Web(allow_private=True) as web:
        assert (await page_of(web, site.url())).text == "ours"
        for host in ("169.254.169.254", "[fd00:ec2::254]", "100.100.100.200", "metadata.google.internal", "0.0.0.0"):
            assert (await failure_of(page_of(web, f"http://{host}/"))).kind == "denied"


async def test_what_is_allowed_is_one_place_and_no_other() -> None:
    async with serving({"/": "<p>ours"}) as site, serving({"/": "secret"}) as other:
        async with Web(allow=[f"localhost:{site.port}"], look_up=system_names()) as web:
            assert (await page_of(web, site.url(host="LOCALHOST."))).text == "ours"
            assert (await failure_of(page_of(web, other.url(host="localhost")))).kind == "denied"
            assert (await failure_of(page_of(web, site.url()))).kind == "denied"
        assert other.asked == []


# ── redirects and names ──────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("host", ["127.0.0.2", "//127.0.0.2", "0x7f.0.0.2", "inside.test", "[::ffff:127.0.0.2]"])
async def test_a_redirect_to_a_private_address_is_not_followed(status: int, host: str) -> None:
    async with serving({"/": "secret"}, host="127.0.0.2") as inside:
        location = f"{host}:{inside.port}/" if host.startswith("//") else f"http://{host}:{inside.port}/"
        routes = {"/": lambda: answering("", status=status, Location=location)}
        names = Names({"inside.test": "127.0.0.2"})
        async with serving(routes) as site, Web(allow=[site.place], look_up=names) as web:
            assert (await failure_of(page_of(web, site.url()))).kind in ("denied", "failed")
        assert inside.asked == []


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "data:text/html,x", "javascript:x", "http://[", "http://a:b@c/"]
)
async def test_a_redirect_to_what_is_no_page_is_not_followed(location: str) -> None:
    routes = {"/": lambda: answering("", status=302, Location=location)}
    async with serving(routes) as site, Web(allow=[site.place]) as web:
        assert "cannot be followed" in (await failure_of(page_of(web, site.url()))).message


async def test_an_encrypted_page_does_not_lead_to_one_that_is_not() -> None:
    with pytest.raises(ToolError, match="encrypted") as refusal:
        redirected(URL("https://a.example/x"), "http://a.example/x")
    assert refusal.value.kind == "denied"
    assert redirected(URL("http://a.example/x"), "https://a.example/x") == URL("https://a.example/x")


async def test_redirects_end_after_five_also_when_they_go_round() -> None:
    async def onwards(request: server.Request) -> server.StreamResponse:
        return answering("", status=302, Location=f"/?n={int(request.query.get('n', 0)) + 1}")

    routes = {"/": onwards, "/loop": lambda: answering("", status=302, Location="/loop")}
    async with serving(routes) as site, Web(allow=[site.place]) as web:
        failure = await failure_of(page_of(web, site.url()))
        assert ("more than 5 redirects" in failure.message, len(failure.details["redirects"])) == (True, 7)
        await failure_of(page_of(web, site.url("/loop")))
        assert site.asked == ["/", *(f"/?n={n}" for n in range(1, 6)), *["/loop"] * 6]


async def test_a_redirect_that_does_not_say_where_is_a_failure() -> None:
    async with serving({"/": lambda: answering("x", "text/plain", status=302)}) as site, Web(allow=[site.place]) as web:
        assert (await failure_of(page_of(web, site.url()))).details["status"] == 302


async def test_the_body_of_a_redirect_is_not_read() -> None:
    head = b"HTTP/1.1 302 Found\r\nLocation: %b\r\nContent-Length: 99999999999\r\n\r\n"
    async with (
        serving({"/": "<p>there"}) as there,
        speaking(endlessly(head % there.url().encode(), b"x" * 1000)) as site,
        Web(allow=[site.place, there.place]) as web,
    ):
        assert (await page_of(web, site.url())).text == "there"


async def test_a_name_is_looked_up_once_and_what_was_checked_is_connected_to() -> None:
    names = Names({"site.test": ["127.0.0.2", "127.0.0.1"]})
    # 127.0.0.2 stands for a public address, and 127.0.0.1 for what the name leads to afterwards.
    port = quiet_port("127.0.0.1", "127.0.0.2")
    async with (
        serving({"/": "<p>public"}, host="127.0.0.2", port=port) as public,
        serving({"/": "secret"}, port=port) as private,
        Web(allow=[public.place], look_up=names) as web,
    ):
        assert (await page_of(web, public.url(host="site.test"))).text == "public"
        assert names.asked == ["site.test"]
        assert (await failure_of(page_of(web, public.url(host="site.test")))).kind == "denied"
        assert private.asked == []


async def test_a_name_that_changes_between_redirects_is_checked_again() -> None:
    port = quiet_port("127.0.0.1", "127.0.0.2")
    async with (
        serving({"/": lambda: answering("", status=302, Location="/b")}, host="127.0.0.2", port=port) as public,
        serving({"/b": "secret"}, port=port) as private,
        Web(allow=[public.place], look_up=Names({"site.test": ["127.0.0.2", "127.0.0.1"]})) as web,
    ):
        assert (await failure_of(page_of(web, public.url(host="site.test")))).kind == "denied"
        assert (public.asked, private.asked) == (["/"], [])


async def test_a_name_with_one_private_address_among_others_is_refused_whole() -> None:
    async def both(host: str, port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    async with serving({"/": "secret"}, host="127.0.0.2") as site, Web(allow=[site.place], look_up=both) as web:
        assert (await failure_of(page_of(web, site.url(host="site.test")))).kind == "denied"
        assert site.asked == []


# ── bodies ───────────────────────────────────────────────────────────────────

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def bomb(packer: Callable[[], Any], megabytes: int) -> bytes:
    packing = packer()
    return b"".join(packing.compress(b"\0" * 1_000_000) for _ in range(megabytes)) + packing.flush()


@pytest.mark.parametrize(
    "encoding, pack",
    [
        ("gzip", lambda: bomb(lambda: zlib.compressobj(wbits=31), 100)),
        ("deflate", lambda: bomb(lambda: zlib.compressobj(), 100)),
        ("deflate", lambda: bomb(lambda: zlib.compressobj(wbits=-15), 100)),
        ("gzip", lambda: gzip.compress(b"x" * 100_000) * 500),
    ],
)
async def test_a_decompression_bomb_stops_at_the_limit(encoding: str, pack: Callable[[], bytes]) -> None:
    packed = pack()
    routes = {"/": lambda: answering(packed, "text/html", Content_Encoding=encoding)}
    async with serving(routes) as site, Web(allow=[site.place], max_bytes=1_000_000) as web:
        tracemalloc.start()
        failure = await failure_of(page_of(web, site.url()))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (failure.details["limit"], peak < 10_000_000) == (1_000_000, True)


async def test_a_bomb_in_an_error_page_is_not_unpacked_either() -> None:
    packed = bomb(lambda: zlib.compressobj(wbits=31), 100)
    routes = {"/": lambda: answering(packed, "text/plain", status=500, Content_Encoding="gzip")}
    async with serving(routes) as site, Web(allow=[site.place]) as web:
        tracemalloc.start()
        failure = await failure_of(page_of(web, site.url()))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (failure.details["status"], peak < 10_000_000) == (500, True)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "gzip,deflate", "compress", "x" * 5000])
async def test_what_was_not_asked_for_is_not_unpacked(encoding: str) -> None:
    routes = {"/": lambda: answering(b"\x1b\x03", "text/html", Content_Encoding=encoding)}
    async with serving(routes) as site, Web(allow=[site.place]) as web:
        assert "not asked for" in (await failure_of(page_of(web, site.url()))).message


@pytest.mark.parametrize(
    "packed", [gzip.compress(b"x" * 1000)[:-9], b"not packed", gzip.compress(b"x") + b"\x1f\x8bxx"]
)
async def test_a_broken_packed_body_is_a_failure(packed: bytes) -> None:
    routes = {"/": lambda: answering(packed, "text/html", Content_Encoding="gzip")}
    async with serving(routes) as site, Web(allow=[site.place]) as web:
        assert "cannot be unpacked" in (await failure_of(page_of(web, site.url()))).message


@pytest.mark.parametrize(
    "conversation",
    [
        endlessly(HEAD + b"\r\n", b"x" * 10_000),
        endlessly(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"400\r\n" + b"x" * 1024 + b"\r\n"),
        saying(HEAD + b"Content-Length: 100000000000\r\n\r\n"),
    ],
)
async def test_an_endless_body_stops_at_the_limit(
    conversation: Callable[[asyncio.StreamWriter], Awaitable[None]],
) -> None:
    async with speaking(conversation) as site, Web(allow=[site.place], max_bytes=100_000) as web:
        assert (await failure_of(page_of(web, site.url()))).details["limit"] == 100_000


@pytest.mark.parametrize(
    "conversation",
    [
        endlessly(HEAD, b"X-More: again\r\n"),
        endlessly(HEAD + b"X-Long: ", b"x" * 10_000),
        endlessly(b"HTTP/1.1 200 ", b"O" * 10_000),
        endlessly(b"", b"x" * 10_000),
        saying(b"\x16\x03\x01\x02\x00"),
        saying(b"hello\r\n\r\n"),
        saying(b""),
        saying(HEAD + b"Content-Length: 10\r\n\r\nshort"),
        saying(HEAD + b"Content-Length: -1\r\n\r\nx"),
        saying(HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx"),
        saying(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
        saying(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab"),
        saying(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\x00\r\n\r\n"),
    ],
)
async def test_a_server_that_does_not_speak_http_is_a_failure(
    conversation: Callable[[asyncio.StreamWriter], Awaitable[None]],
) -> None:
    async with speaking(conversation) as site, Web(allow=[site.place]) as web:
        failure = await failure_of(page_of(web, site.url()))
        assert (failure.kind, "could not be fetched" in failure.message) == ("failed", True)


def dripping(start: bytes, drop: bytes) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    """Write a little at a time, often enough to seem alive."""

    async def conversation(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while not writer.is_closing():
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(0.01)

    return conversation


async def silence(writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    "conversation",
    [
        silence,
        dripping(b"HTTP/1.1 200 OK\r\n", b"a"),
        dripping(HEAD + b"\r\n", b"x"),
        dripping(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        dripping(HEAD + b"Content-Length: 1000000\r\n\r\n", b"x"),
        dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        dripping(b"HTTP/1.1 500 Oh\r\nContent-Type: text/plain\r\n\r\n", b"x"),
    ],
)
async def test_a_server_that_drips_is_given_up_when_the_time_is_up(
    conversation: Callable[[asyncio.StreamWriter], Awaitable[None]],
) -> None:
    async with speaking(conversation) as site, Web(allow=[site.place]) as web:
        failure = await failure_of(page_of(web, site.url(), timeout_ms=300))
        assert (failure.kind, failure.details) == ("timed_out", {"seconds": 0.3})


async def test_a_server_that_falls_silent_is_given_up_before_the_time_is_up() -> None:
    async def part(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"\r\nsome")
        await silence(writer)

    async with speaking(part) as site, Web(allow=[site.place], read_timeout_ms=200) as web:
        assert (await failure_of(page_of(web, site.url()))).kind == "timed_out"


async def test_a_name_that_is_looked_up_for_ever_is_given_up() -> None:
    async def never(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    async with Web(look_up=never) as web:
        assert (await failure_of(page_of(web, "http://example.com/", timeout_ms=50))).kind == "timed_out"


async def test_a_fetch_that_is_cancelled_leaves_nothing_open() -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def watch(writer: asyncio.StreamWriter) -> None:
        asked.set()
        writer.write(HEAD + b"\r\n")
        try:
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.01)
        except ConnectionError:
            gone.set()
            raise

    async with speaking(watch) as site, Web(allow=[site.place]) as web:
        before = asyncio.all_tasks()
        fetching = asyncio.create_task(page_of(web, site.url()))
        await asked.wait()
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching
        await asyncio.wait_for(gone.wait(), 60)
        assert {task for task in asyncio.all_tasks() - before if not task.done()} <= {asyncio.current_task()}


# ── pages ────────────────────────────────────────────────────────────────────

DEEP = 100_000
BOMBS = {
    "divs": "<div>" * DEEP + "deep" + "</div>" * DEEP,
    "unclosed": "<b><i><u>" * DEEP + "deep",
    "quotes": "<blockquote>" * DEEP + "deep" + "\n<p>x" * DEEP,
    "lists": "<ul><li>" * DEEP + "deep",
    "tables": "<table><tr><td>" * 50_000 + "deep",
    "joined": "<table><tr><td colspan=2>" * 50_000 + "deep",
    "wide": "<table><tr>" + "<td>x" * DEEP + "<tr><td>deep" * DEEP,
    "misnested": "<b><p>" * 20_000 + "deep",
    "anchors": "<a href=x>" * DEEP + "deep",
    "hidden": "<div hidden>" * DEEP + "</div>" * DEEP + "deep",
    "mains": "<main>" * DEEP + "deep",
    "attributes": "<p " + " ".join(f"a{number}=1" for number in range(DEEP)) + ">deep",
    "links": "".join(f"<a href=../{number}>x</a>" for number in range(20_000)) + "deep",
    "spaces": "<pre>deep" + " " * 2_000_000 + "x",
    "comments": "deep<!--" * DEEP,
    "angles": "deep" + "<" * 1_000_000,
    "entities": "deep" + "&amp" * DEEP,
    "svg": "<svg>" * DEEP + "deep",
    "templates": "deep" + "<template>" * DEEP,
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("format", ["markdown", "text"])
@pytest.mark.slow
async def test_a_page_built_to_break_its_reader_is_read(name: str, format: str) -> None:
    async with serving({"/": BOMBS[name]}) as site, Web(allow=[site.place]) as web:
        page = await page_of(web, site.url(), format=format, limit=100_000_000)
        assert "deep" in (page.text or "")
        assert len(page.text or "") < 20 * len(BOMBS[name])


async def test_a_huge_title_is_cut_and_marked() -> None:
    async with serving({"/": "<title>" + "t " * 1_000_000 + "</title>x"}) as site, Web(allow=[site.place]) as web:
        title = (await page_of(web, site.url())).title or ""
        assert (len(title), title[-1]) == (300, "…")


@pytest.mark.parametrize("pattern", ["x", "x x", "X  x"])
async def test_a_text_is_found_in_one_enormous_line(pattern: str) -> None:
    async with serving({"/": lambda: answering("x " * 500_000, "text/plain")}) as site, Web(allow=[site.place]) as web:
        found = await web.find(FindInPage(site.url(), pattern))
        assert found.total == (500_000 if pattern == "x" else 250_000)
        assert all(len(match.text or "") < 500 for match in found.matches)


@pytest.mark.parametrize(
    "media_type",
    ["text/html; charset=\xff\xfe", "text/html; charset=" + "x" * 5000, "TEXT/HTML ; Charset=utf8;;;", "text/"],
)
async def test_a_strange_content_type_is_a_page_or_a_failure(media_type: str) -> None:
    said = HEAD.replace(b"text/html", media_type.encode("latin-1")) + b"Connection: close\r\n\r\n<p>page"
    async with speaking(saying(said)) as site, Web(allow=[site.place]) as web:
        assert "page" in ((await page_of(web, site.url())).text or "")
