"""What `qwen -o stream-json` prints: records in the shape of Claude Code's stream, with Qwen Code's own words.

One kind of block stands in a record, and only the last record of a reply has its tokens. What a result shows is what a
person sees, so it stays text. The totals at the end count on from run to run of a session (0.5 to 0.24), so they are
not added; what sub-agents used is told nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dragoman.logs.base.format import LinesReader
from dragoman.logs.base.normalise import Normaliser, Place
from dragoman.model import FinishReason, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_values import as_integer, as_object, as_objects, as_text


def is_printed(records: tuple[Any, ...]) -> bool:
    """Whether these records are those of such a stream."""
    return any(
        as_object(record).get("type") == "system" and "qwen_code_version" in as_object(record) for record in records
    )


class StreamReader(LinesReader):
    """Reads one run."""

    def __init__(self, path: Path, client: str) -> None:
        super().__init__(path, Normaliser(client, client, path.stem))
        self._session: str | None = None
        self._version: str | None = None

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "a record is a JSON object")
            return
        self._session = as_text(value.get("session_id")) or self._session
        place = self._place(value, source)
        kind = value.get("type")
        if kind == "assistant":
            yield from self._replied(as_object(value.get("message")), place)
        elif kind == "user":
            yield from self._heard(as_object(value.get("message")), place)
        elif kind == "system" and value.get("subtype") == "init":
            yield self._begun(value, place)
        elif kind == "result":
            yield from self._ended(value, place)
        elif kind in ("system", "stream_event"):
            yield self.normaliser.event(ev.ClientNoted, place, name=f"{kind}/{value.get('subtype') or 'event'}")
        else:
            yield self.normaliser.unknown(place, as_text(kind))
        if not place.number:
            yield self.normaliser.event(ev.ClientNoted, place, name=f"message/{kind}")

    def _place(self, value: Mapping[str, Any], source: ev.Source) -> Place:
        return Place(
            source=source,
            key=as_text(value.get("uuid")) or f"@{source.offset}",
            session=self._session,
            stream=as_text(value.get("parent_tool_use_id")) or "main",
            version=self._version,
        )

    def _begun(self, value: Mapping[str, Any], place: Place) -> ev.AnyEvent:
        self._version = place.version = as_text(value.get("qwen_code_version"))
        place.key += ".init"  # the first record has the session's own id (0.5.2 to 0.24.4)
        servers = [as_text(one.get("name")) for one in as_objects(value.get("mcp_servers"))]
        tools = value.get("tools")
        named = {server: tuple(tools) if isinstance(tools, list) else () for server in servers if server}
        if len(named) == 1:  # of several servers, nothing says whose a bare name is (0.5.2, 0.8.2)
            known = {name for name in next(iter(named.values())) if self.normaliser.at(self._version).knows(str(name))}
            named = {server: tuple(name for name in names if name not in known) for server, names in named.items()}
            self.normaliser.knowing(servers=named)
        return self.normaliser.event(
            ev.SessionStarted, place, cwd=as_text(value.get("cwd")), model=as_text(value.get("model"))
        )

    def _replied(self, message: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        model = as_text(message.get("model"))
        for block in as_objects(message.get("content")):
            if block.get("type") == "thinking":
                text = as_text(block.get("thinking")) or ""
                yield self.normaliser.event(ev.ModelThought, place, text=text, model=model, hidden=not text)
            elif block.get("type") == "text":
                yield self.normaliser.event(ev.ModelSaid, place, text=as_text(block.get("text")) or "", model=model)
            elif block.get("type") == "tool_use":
                id, name = as_text(block.get("id")) or place.key, as_text(block.get("name")) or ""
                yield self.normaliser.called(place, NativeCall(id, name, dict(as_object(block.get("input")))))
            else:
                yield self.normaliser.event(ev.ClientNoted, place, name=f"block/{block.get('type')}")
        usage = _usage(as_object(message.get("usage")))
        if usage.total:
            yield self.normaliser.event(ev.TokensUsed, place, usage=usage, model=model)
        if message.get("stop_reason") is not None:
            calls = message.get("stop_reason") == "tool_use"
            finish = FinishReason.CALLS if calls else FinishReason.STOP
            yield self.normaliser.event(ev.ModelFinished, place, finish=finish, model=model)

    def _heard(self, message: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else as_objects(content)
        for block in blocks:
            if block.get("type") == "tool_result":
                flag = block.get("is_error")
                text = block.get("content")
                native = NativeResult(
                    as_text(block.get("tool_use_id")) or "",
                    text if isinstance(text, str) else "",
                    is_error=flag if isinstance(flag, bool) else None,
                )
                yield self.normaliser.displayed(place, native)
            elif block.get("type") == "text":
                by = "user" if place.stream == "main" else "agent"
                yield self.normaliser.event(ev.UserSaid, place, text=as_text(block.get("text")) or "", by=by)
            else:
                yield self.normaliser.event(ev.ClientNoted, place, name=f"block/{block.get('type')}")

    def _ended(self, value: Mapping[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        failed = value.get("is_error") is True
        message = as_text(as_object(value.get("error")).get("message")) if failed else None
        yield self.normaliser.event(ev.SessionEnded, place, reason="failed" if failed else "completed", message=message)


def _usage(told: Mapping[str, Any]) -> Usage:
    given, cached, output = (
        as_integer(told.get(key)) for key in ("input_tokens", "cache_read_input_tokens", "output_tokens")
    )
    return Usage(
        input_tokens=None if given is None else max(0, given - (cached or 0)),
        cached_read_tokens=cached,
        output_tokens=output,
    )
