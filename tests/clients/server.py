"""A model on this machine for real clients: it plays scripted turns in whatever API it is asked in, and keeps requests.

Only a request that offers tools and holds the mark takes the next turn: clients also ask for titles and summaries.
A page for clients that fetch pages is served over TLS, which Claude Code insists on.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

import trustme

from tests.engine.loopback import PATHS, Raw, Turn, played

MARK = "[[the scripted turn]]"
PAGE = "<!DOCTYPE html><title>A page</title><body><p>The word of the page is heliotrope.</p></body>"


class Script:
    """The turns to be played, and the requests that took them.

    The turns of a sub-agent are in `child`: its requests have the mark of the child alone.
    """

    def __init__(self, turns: Sequence[Turn], mark: str = MARK, child: Script | None = None) -> None:
        self.turns, self.mark, self.child = list(turns), mark, child
        self.taken: list[dict[str, Any]] = []
        self.api = ""
        self._lock = threading.Lock()

    def answer(self, api: str, body: dict[str, Any]) -> Turn | Raw:
        """What a request is answered."""
        text = json.dumps(body, ensure_ascii=False)
        if self.child is not None and self.mark not in text and self.child.mark in text:
            return self.child.answer(api, body)
        with self._lock:
            if not offers_tools(body) or self.mark not in text:
                return Turn(text="A title")
            self.api = api
            self.taken.append(body)
            number = len(self.taken) - 1
            return self.turns[number] if number < len(self.turns) else Turn(text="There is nothing more to do.")


def offers_tools(body: dict[str, Any]) -> bool:
    tools = body.get("tools") or []
    return any("functionDeclarations" in one or "name" in one or "function" in one for one in tools)


class Answering(Protocol):
    """What is played: a script, or one after another."""

    def answer(self, api: str, body: dict[str, Any]) -> Turn | Raw:
        """What a request is answered."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: Answering

    def log_message(self, format: str, *values: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send(json.dumps({"object": "list", "data": [], "models": []}).encode())

    def do_POST(self) -> None:
        data = self._body()
        api = next((api for api, mark in PATHS.items() if mark in self.path), None)
        if re.search("count_?tokens", self.path, re.IGNORECASE):
            self._send(json.dumps({"input_tokens": 100, "totalTokens": 100}).encode())
        elif api is None:
            self._send(b"{}", status=404)
        else:
            body = json.loads(data)
            stream = bool(body.get("stream")) or "streamGenerateContent" in self.path
            answer = self.script.answer(api, body)
            said = played(api, answer, stream=stream) if isinstance(answer, Turn) else answer
            self._send(said.body, status=said.status, content_type=said.content_type)

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        data = b""
        while length := int(self.rfile.readline(), 16):
            data += self.rfile.read(length)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def _send(self, body: bytes, *, status: int = 200, content_type: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Page(_Handler):
    def do_GET(self) -> None:
        self._send(PAGE.encode(), content_type="text/html")


@contextmanager
def served(script: Answering) -> Iterator[int]:
    """Plays a script; gives the port."""
    with _serving(ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"script": script}))) as port:
        yield port


@contextmanager
def page_served(folder: Path) -> Iterator[tuple[str, Path]]:
    """Serves the page; gives its address, and a file in this folder with the certificate to be trusted for it."""
    authority, context = trustme.CA(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own, trusted = folder / "own.pem", folder / "trusted.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(own))
    context.load_cert_chain(own)
    authority.cert_pem.write_to_path(str(trusted))
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with _serving(server) as port:
        yield f"https://127.0.0.1:{port}/page", trusted


@contextmanager
def _serving(server: ThreadingHTTPServer) -> Iterator[int]:
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
