"""Recorded exchanges, read from the shared facts: what was asked, what was answered, byte by byte where it was kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from tests.conformance.conftest import SHARED

FOLDER = SHARED / "cassettes"
NAMES = {
    "openai_chat": "openai-chat",
    "openai_responses": "openai-responses",
    "anthropic_messages": "anthropic-messages",
    "gemini_generate": "gemini-generate",
}
OWNERS = {
    "openai_chat": "openai",
    "openai_responses": "openai",
    "anthropic_messages": "anthropic",
    "gemini_generate": "google",
}


class Cassette(msgspec.Struct):
    """One exchange."""

    id: str
    vendor: str
    status: int
    streaming: bool
    tags: list[str]
    fidelity: str = "http"
    model: str | None = None
    url_path: str | None = None
    framing: str | None = None
    request: Any = None
    response: Any = None
    response_headers: dict[str, Any] | None = None
    events: list[dict[str, Any]] | None = None
    raw_sse: str | None = None

    def of_owner(self, api: str) -> bool:
        """Whether the API's owner answered, and nobody made the exchange up."""
        return self.vendor == OWNERS[api] and "synthetic_suspect" not in self.tags

    @property
    def stream(self) -> bytes:
        """The streamed bytes; written anew from the events where only those were kept."""
        if self.raw_sse is not None:
            return self.raw_sse.encode("utf-8", "surrogatepass")
        return as_events(self.events or [])


def as_events(events: list[dict[str, Any]]) -> bytes:
    """Events as a server sends them."""
    lines: list[str] = []
    for event in events:
        if event.get("event"):
            lines.append(f"event: {event['event']}")
        data = event["data"]
        lines += [f"data: {data if isinstance(data, str) else json.dumps(data)}", ""]
    return "\n".join([*lines, ""]).encode()


@cache
def listed(api: str) -> tuple[str, ...]:
    """The files of one API's exchanges."""
    rows = [json.loads(line) for line in (FOLDER / "index.jsonl").read_text().splitlines()]
    return tuple(row["file"] for row in rows if row["provider_api"] == NAMES[api])


_decoder = msgspec.json.Decoder(Cassette)


def cassettes(api: str) -> Iterator[Cassette]:
    """Every exchange of one API."""
    files = listed(api)
    assert files, f"no recorded exchange of {api} under {FOLDER}"
    for file in files:
        yield _decoder.decode((FOLDER / file).read_bytes())
