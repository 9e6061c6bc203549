"""A model on this machine for real clients: it plays scripted turns in whatever API it is asked in, and keeps requests.

Only a request that offers tools and holds the mark takes the next turn: clients also ask for titles and summaries.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.engine.loopback import PATHS, Turn, played

MARK = "[[the scripted turn]]"


class Script:
    """The turns to be played, and the requests that took them."""

    def __init__(self, turns: Sequence[Turn], mark: str = MARK) -> None:
        self.turns, self.mark = list(turns), mark
        self.taken: list[dict[str, Any]] = []
        self.api = ""
        self._lock = threading.Lock()

    def answer(self, api: str, body: dict[str, Any]) -> Turn:
        with self._lock:
            if not _offers_tools(body) or self.mark not in json.dumps(body, ensure_ascii=False):
                return Turn(text="A title")
            self.api = api
            self.taken.append(body)
            number = len(self.taken) - 1
            return self.turns[number] if number < len(self.turns) else Turn(text="There is nothing more to do.")


def _offers_tools(body: dict[str, Any]) -> bool:
    tools = body.get("tools") or []
    return any("functionDeclarations" in one or "name" in one or "function" in one for one in tools)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: Script

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
            said = played(api, self.script.answer(api, body), stream=stream)
            self._send(said.body, content_type=said.content_type)

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


@contextmanager
def served(script: Script) -> Iterator[int]:
    """Plays a script; gives the port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"script": script}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
