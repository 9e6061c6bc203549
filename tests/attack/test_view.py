"""Attacks on `dragoman view` as a process: who can open its page, and what a hostile log can do there."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.attack.test_gateway import KEY, listening, surroundings
from tests.logs.samples import CLAUDE
from tests.serve.test_page import Tags, hostile

PATHS = ("/", "/session/s-1", "/session/s-1?tab=raw", "/search?q=a", "/usage", "/compare", "/sql", "/live")


@contextmanager
def viewing(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """A page over a hostile log: its process, its port, and the path that opens it."""
    log = folder / ".claude/projects/-p/s-1.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("\n".join(json.dumps(hostile(json.loads(line))) for line in CLAUDE.splitlines()) + "\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "dragoman", "view", "--json", "--no-open"],
        cwd=folder,
        env=surroundings(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        address = urlsplit(told["open"])
        assert address.port is not None
        yield process, address.port, f"{address.path}?{address.query}"
    finally:
        process.terminate()
        process.communicate(timeout=30)


def ask(
    port: int, path: str, headers: Mapping[str, str] | None = None, method: str = "GET"
) -> tuple[int, http.client.HTTPMessage, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, headers=dict(headers or {}))
        answer = connection.getresponse()
        # A stream of what is new has no end.
        streams = answer.headers.get_content_type() == "text/event-stream"
        return answer.status, answer.headers, "" if streams else answer.read().decode()
    finally:
        connection.close()


def test_only_the_browser_that_was_opened_is_answered_and_only_for_reading(tmp_path: Path) -> None:
    """The page listens on 127.0.0.1 alone, opens once, for one browser, and answers no other web page and no write."""
    with viewing(tmp_path) as (process, port, opening):
        assert listening(process.pid) == {"0100007F"}
        assert {ask(port, path)[0] for path in PATHS} == {401}
        assert ask(port, opening, {"Host": "rebound.example"})[0] == 403
        status, headers, _ = ask(port, opening)
        assert status == 303
        cookie = {"Cookie": str(headers["Set-Cookie"]).partition(";")[0]}
        assert ask(port, opening)[0] == 401
        assert {ask(port, path, cookie)[0] for path in PATHS} == {200}
        for path in PATHS:
            assert ask(port, path, {**cookie, "Host": f"rebound.example:{port}"})[0] == 403
            assert ask(port, path, {**cookie, "Origin": "https://evil.example"})[0] == 403
            assert ask(port, path, {**cookie, "Sec-Fetch-Site": "cross-site"})[0] == 403
            assert ask(port, path, cookie, "POST")[0] == 403


def test_a_hostile_log_puts_no_script_on_the_page_and_no_key_is_in_it(tmp_path: Path) -> None:
    """What a log says is text on the page: it brings no script, no picture and no address that is loaded."""
    with viewing(tmp_path) as (_, port, opening):
        cookie = {"Cookie": str(ask(port, opening)[1]["Set-Cookie"]).partition(";")[0]}
        views = [f"/session/s-1?tab={tab}" for tab in ("said", "changes", "timeline", "raw", "words")]
        for path in ("/", "/search?q=alert", "/usage?by=project", *views):
            status, headers, text = ask(port, path, cookie)
            assert status == 200
            assert "script-src 'self'" in headers["Content-Security-Policy"]
            assert KEY not in text
            tags = Tags()
            tags.feed(text)
            loaded = [one for _, one in tags.found if "src" in one or "srcset" in one]
            assert loaded == [{"src": "/assets/page.js", "defer": None}]
            assert [one for _, one in tags.found if any(name.startswith("on") or name == "style" for name in one)] == []


def test_what_is_no_http_is_refused_without_a_word_on_the_terminal(tmp_path: Path) -> None:
    """Any program of this machine can send anything to the port: the page goes on, and the terminal shows nothing."""
    with viewing(tmp_path) as (process, port, _):
        for garbage in (b"\x16\x03\x01\x1b]0;owned\x07\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                connection.sendall(garbage)
                assert connection.recv(100).startswith(b"HTTP/1.0 400 ")
        assert ask(port, "/")[0] == 401
        process.terminate()
        _, written = process.communicate(timeout=30)
    assert ("Traceback" in written, "owned" in written) == (False, False), written
