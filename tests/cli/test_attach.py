"""`-a`: texts, pictures and documents go with the task, as the same bytes."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import click
import pytest

from dragoman.cli.attachments import attached
from dragoman.model import Media
from dragoman.tools import Web
from tests.engine.loopback import Heard, Loopback, Turn, loopback

from .conftest import Answer, User
from .prepared import run
from .test_chat import chats
from .test_run import KEY

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAEklEQVR4nGNgYGD4DwMMcAYAlPoE/FQ1HKYAAAAASUVORK5CYII="
)
DONE = Turn("It is done.")


async def runs(user: User, server: Loopback, *words: str, stdin: bytes = b"") -> Answer:
    environ = {**user.environ, "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": KEY}
    return Answer.of(await asyncio.to_thread(run, ("run", *words), user.here, environ, stdin))


def parts(heard: Heard) -> list[Any]:
    return [part.get("text", part.get("source")) for part in heard.body["messages"][0]["content"]]


async def test_files_and_standard_input_are_sent_as_they_are(user: User) -> None:
    (user.here / "dot.png").write_bytes(PNG)
    (user.here / "notes.txt").write_text("tea\n", encoding="utf-8-sig")
    async with loopback(DONE) as server:
        words = ("-a", "notes.txt", "-a", "dot.png", "-a", "-", "--max-turns", "3", "what is it?")
        answer = await runs(user, server, *words, stdin=b"%PDF-1.7\n\xff")
    assert answer.code == 0, answer.err
    text, picture, document = parts(server.requests[0])
    assert text == "what is it?\n\nContents of notes.txt:\n\ntea\n"
    assert (picture["media_type"], base64.b64decode(picture["data"])) == ("image/png", PNG)
    assert (document["media_type"], base64.b64decode(document["data"])) == ("application/pdf", b"%PDF-1.7\n\xff")


async def test_what_cannot_be_attached_is_an_error_before_anything_is_sent(user: User) -> None:
    (user.here / "data.bin").write_bytes(b"\0\1\2")
    async with loopback() as server:
        for words, stdin, message in (
            (("-a", "data.bin", "x"), b"", "data.bin is neither a picture, a PDF document, a sound nor UTF-8 text."),
            (("-a", "missing", "x"), b"", "cannot read missing: No such file or directory."),
            (("-a", "-", "-"), b"x", "Standard input can be the task or an attachment, not both."),
            (("-a", f"{server.url}/x.png", "x"), b"", "127.0.0.1"),
        ):
            answer = await runs(user, server, *words, stdin=stdin)
            assert (answer.code, message in answer.err) == (2, True), answer.err
    assert server.requests == []


@contextmanager
def serving(pages: Mapping[str, tuple[str, bytes]], asked: list[str]) -> Iterator[str]:
    """A server on this machine, which `-a` reaches only where the address policy permits it. `asked`: its requests."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            kind, body = pages.get(self.path, ("text/html", b"<h1>Nothing here</h1>"))
            self.send_response(200 if self.path in pages else 404)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_what_an_address_serves_is_attached_as_what_it_is() -> None:
    pages = {
        "/dot.png": ("image/png", PNG),
        "/notes": ("text/plain", b"tea\n"),
        "/page": ("text/html", b"<html><title>T</title><body><h1>Tea</h1><p>It is hot.</p></body></html>"),
        "/paper": ("application/octet-stream", b"%PDF-1.7\n\xff"),
    }
    asked: list[str] = []
    with serving(pages, asked) as url:
        async with Web(allow=[url.removeprefix("http://")]) as web:
            picture, notes, page, paper = await attached([f"{url}{path}" for path in pages], web)
            with pytest.raises(click.BadParameter, match="404"):
                await attached([f"{url}/missing"], web)
        async with Web() as web:
            with pytest.raises(click.BadParameter, match=r"127\.0\.0\.1"):
                await attached([f"{url}/notes"], web)
    assert isinstance(picture, Media)
    assert isinstance(paper, Media)
    assert (picture.media_type, base64.b64decode(picture.data or "")) == ("image/png", PNG)
    assert (paper.media_type, base64.b64decode(paper.data or "")) == ("application/pdf", pages["/paper"][1])
    assert notes == f"Contents of {url}/notes:\n\ntea\n"
    assert page == f"Contents of {url}/page:\n\n# Tea\n\nIt is hot."
    assert asked == [*pages, "/missing"]


async def test_a_chat_attaches_to_the_first_message_alone(user: User) -> None:
    (user.here / "notes.txt").write_text("tea\n")
    async with loopback(DONE, DONE) as server:
        await chats(user, server, "one\ntwo\n", "-a", "notes.txt")
    assert parts(server.requests[0]) == ["one\n\nContents of notes.txt:\n\ntea\n"]
    assert server.requests[1].body["messages"][-1]["content"][0]["text"] == "two"


async def test_a_chat_sends_the_files_a_message_names_and_says_which_it_cannot(user: User) -> None:
    (user.here / "notes.txt").write_text("tea\n")
    (user.here / "data.bin").write_bytes(bytes(range(256)))
    async with loopback(DONE) as server:
        answer = await chats(user, server, "see @notes.txt, @data.bin and @nothing\n")
    assert parts(server.requests[0]) == ["see @notes.txt, @data.bin and @nothing\n\nContents of notes.txt:\n\ntea\n"]
    assert ("with notes.txt" in answer.err, "@data.bin is left out: " in answer.err) == (True, True)
    assert "@nothing" not in answer.err


async def test_what_is_no_address_of_the_web_is_not_taken_for_a_file(user: User) -> None:
    async with loopback() as server:
        answer = await runs(user, server, "-a", "ftp://example.com/a.png", "look")
    assert (answer.code, server.requests) == (2, [])
    assert "ftp://example.com/a.png: only addresses that begin with https:// or http:// can be fetched" in answer.err


async def test_a_limit_on_the_cost_ends_the_run(user: User) -> None:
    user.settings("[[prices]]\nmodel = 'claude-sonnet-4-5'\ninput = 1000\noutput = 1000\n")
    (user.here / "a").write_text("a")
    call = Turn("I look.", calls=(("c1", "Glob", {"pattern": "*"}),))
    async with loopback(call, DONE) as server:
        answer = await runs(user, server, "--max-cost", "0.001", "look")
    assert (answer.code, len(server.requests)) == (6, 1)
    assert "the limit on cost (0.001) was reached" in answer.err


async def test_a_typed_answer_is_the_only_thing_on_standard_output(user: User) -> None:
    (user.here / "answer.json").write_text('{"type": "object", "properties": {"n": {"type": "integer"}}}')
    (user.here / "types_here.py").write_text(
        "from dataclasses import dataclass\n@dataclass\nclass Answer:\n    n: int\n    why: str = 'so'\n"
    )
    (user.here / "a").write_text("a")
    look = Turn("I look.", calls=(("c1", "Glob", {"pattern": "*"}),))
    async with loopback(look, Turn('{"n": 3}'), Turn('{"n": "x"}'), Turn('{"n": 4}'), *[Turn("no")] * 3) as server:
        schema = await runs(user, server, "--schema", "answer.json", "count")
        typed = await runs(user, server, "--schema", "types_here.py:Answer", "count")
        never = await runs(user, server, "--schema", "types_here.py:Answer", "count")
        wrong = await runs(user, server, "--schema", "types_here.py:Nothing", "count")
    assert (schema.code, schema.json) == (0, {"n": 3}), schema.err
    assert (typed.code, typed.json) == (0, {"n": 4, "why": "so"}), typed.err
    assert (never.code, never.out) == (1, "")
    assert "the answer does not fit the type that was asked for" in never.err
    assert (wrong.code, "types_here.py has no Nothing." in wrong.err) == (2, True)
