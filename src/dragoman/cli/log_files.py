"""What the commands over logs share: which files, their events, and one event as a line of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from dragoman.logs import Found
    from dragoman.model import AnyEvent

    from .console import Console


def files_of(console: Console, wanted: tuple[str, ...]) -> list[Found]:
    """The log files that were named, or every one on this machine."""
    from dragoman.logs import all_logs, find_logs

    named = console.configuration().settings.logs.homes
    if not wanted:
        return list(all_logs(named=named))
    return [found for one in wanted for found in find_logs(one, named=named)]


def events_of(console: Console, files: list[Found]) -> Iterator[AnyEvent]:
    """Their events, numbered by turn and step; progress is shown on long work."""
    from dragoman.logs import numbered, read

    def all_events() -> Iterator[AnyEvent]:
        with console.progress("reading", len(files)) as advance:
            for found in files:
                yield from read(found.path, found.format)
                advance(1)

    return numbered(all_events())


def as_line(event: AnyEvent, *, raw: bool = False) -> dict[str, Any]:
    """An event as machines read it: the same keys for every kind, those that say nothing left out."""
    facts: dict[str, Any] = msgspec.to_builtins(event)
    line: dict[str, Any] = {}
    for key in ("id", "session", "client", "version", "time", "stream", "turn", "step", "kind"):
        if key in facts:
            line[key] = facts.pop(key)
    line.setdefault("stream", "main")
    call = facts.pop("call", None)
    if call is not None:
        native = call["native"]
        line["call"] = {"id": call["id"], "name": native["name"], "arguments": native.get("arguments", {})}
        line["operations"] = call["operations"]
        line["executed_by"] = native.get("executed_by", "client")
        beside = {key: call[key] for key in ("unmapped", "failure", "intents", "coercions") if call.get(key)}
        line["call"] |= beside
    result = facts.pop("result", None)
    if result is not None:
        native = result.get("native") or {}
        line["outcomes"] = result["outcomes"]
        line["executed_by"] = native.get("executed_by", "client")
        if "duration" in result:
            line["duration"] = result["duration"]
    source = facts.pop("source", None)
    line |= facts
    if source is not None:
        line["source"] = source
        if raw:
            line["raw"] = _bytes(event)
    return line


def _bytes(event: AnyEvent) -> str | dict[str, str]:
    """The original bytes: as text where they are that, else in base64."""
    from pathlib import Path

    source = event.source
    assert source is not None
    with Path(source.file).open("rb") as file:
        file.seek(source.offset)
        data = file.read(source.length)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        from base64 import b64encode

        return {"base64": b64encode(data).decode()}
