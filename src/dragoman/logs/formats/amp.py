"""Amp's threads: `threads/T-<uuid>.json`, messages as in Anthropic's API.

From the public source and samples of programs that read them (November 2026).
A result stands in a user's message as `run`: its status, and what it gave as `result` (or `progress`). Tokens are with
each reply since January 2026; before, in `usageLedger`, which is read where no reply has any. A thread is rewritten as
a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlparse

from dragoman.logs.base.format import LogFormat, LogReader, Places, Sample
from dragoman.logs.base.json_ranges import MessagesReader
from dragoman.logs.base.listing import files_in
from dragoman.logs.base.normalise import Normaliser, Place
from dragoman.model import FinishReason, Media, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_text import json_text
from dragoman.model.json_values import as_integer, as_object, as_objects, as_text

CLIENT: Final = "amp"
_FAILED: Final = frozenset({"error", "cancelled", "rejected-by-user"})
_EDITORS: Final = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")


class Amp(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT
    captured = False
    lacks = "replies have no time of their own, and threads before January 2026 have tokens per request only"

    def recognise(self, sample: Sample) -> float:
        thread = sample.document
        if not isinstance(thread, dict) or not isinstance(thread.get("messages"), list):
            return 0.0
        id = as_text(thread.get("id")) or ""
        return 0.95 if id.startswith("T-") and ("v" in thread or "env" in thread) else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        given = places.environment.get("AMP_DATA_DIR") or places.environment.get("AMP_HOME")
        if given:
            yield Path(given) / "threads"
        data = places.environment.get("XDG_DATA_HOME")
        yield (Path(data) if data else places.home / ".local" / "share") / "amp" / "threads"
        for editor in _EDITORS:  # until threads were kept in one place (readers of 2026)
            yield places.home / ".config" / editor / "User" / "globalStorage" / "sourcegraph.amp" / "threads3"

    def files(self, home: Path) -> Iterator[Path]:
        yield from files_in(home, "T-*.json")

    def reader(self, path: Path) -> LogReader:
        return _Reader(path, Normaliser(CLIENT, CLIENT, path.stem))


class _Reader(MessagesReader):
    listed = "messages"

    def __init__(self, path: Path, normaliser: Normaliser) -> None:
        super().__init__(path, normaliser)
        self._ledger: list[dict[str, Any]] = []
        self._head: ev.Source | None = None
        self._was_counted = False

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "a message is a JSON object")
        elif "role" not in value and "id" in value:
            yield self._started(value, source)
        else:
            place = self.place(source, as_object(value.get("meta")).get("sentAt"))
            yield from self._message(value, place)
            if not place.number:
                yield self.normaliser.event(ev.ClientNoted, place, name=f"message/{value.get('role')}/empty")

    def _started(self, value: dict[str, Any], source: ev.Source) -> ev.AnyEvent:
        self.session, self._head = as_text(value.get("id")), source
        self._ledger = as_objects(as_object(value.get("usageLedger")).get("events"))
        initial = as_object(as_object(value.get("env")).get("initial"))
        trees = as_objects(initial.get("trees"))
        folder = as_text(initial.get("cwd")) or (_folder(trees[0].get("uri")) if trees else None)
        place = self.place(source, value.get("created"))
        place.version = as_text(as_object(initial.get("platform")).get("clientVersion"))
        told = ("id", "created", "usageLedger")
        metadata = {key: value[key] for key in value if key not in told}
        return self.normaliser.event(ev.SessionStarted, place, cwd=folder, metadata=metadata)

    def _message(self, message: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        role, content = message.get("role"), message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else as_objects(content)
        if role not in ("user", "assistant", "info"):
            yield self.normaliser.unknown(place, f"message/{role}")
            return
        called = False
        for block in blocks:
            if role == "assistant":
                called = called or block.get("type") == "tool_use"
                yield self._reply(block, as_text(as_object(message.get("usage")).get("model")), place)
            elif block.get("type") == "tool_result":
                yield self._returned(block, place)
            elif block.get("type") == "summary":
                yield self._summary(as_object(block.get("summary")), place)
            else:
                yield self._asked(block, "user" if role == "user" else "client", place)
        if role == "assistant":
            yield from self._counted(message, place, called=called)

    def _asked(self, block: dict[str, Any], by: str, place: Place) -> ev.AnyEvent:
        media = _media(block)
        text = as_text(block.get("text"))
        if text is None and media is None:
            return self.normaliser.event(ev.ClientNoted, place, name=f"block/{block.get('type')}", data=block)
        said = () if media is None else (media,)
        return self.normaliser.event(ev.UserSaid, place, text=text or "", media=said, by=by)

    def _summary(self, summary: dict[str, Any], place: Place) -> ev.AnyEvent:
        return self.normaliser.event(ev.ContextCompacted, place, summary=as_text(summary.get("summary")))

    def _reply(self, block: dict[str, Any], model: str | None, place: Place) -> ev.AnyEvent:
        kind, event = block.get("type"), self.normaliser.event
        if kind == "text":
            return event(ev.ModelSaid, place, text=as_text(block.get("text")) or "", model=model)
        if kind in ("thinking", "redacted_thinking"):
            text = as_text(block.get("thinking")) or ""
            return event(ev.ModelThought, place, text=text, model=model, hidden=not text)
        if kind == "tool_use" and isinstance(block.get("name"), str):
            given = block.get("input")
            id = as_text(block.get("id")) or f"{place.key}.{place.number}"
            return self.normaliser.called(
                place, NativeCall(id, block["name"], given if isinstance(given, dict | str) else {})
            )
        return event(ev.ClientNoted, place, name=f"block/{kind}", data=block)

    def _returned(self, block: dict[str, Any], place: Place) -> ev.AnyEvent:
        run = as_object(block.get("run"))
        status, given = run.get("status"), run.get("result", run.get("progress"))
        error = as_object(run.get("error")).get("message", run.get("error"))
        kept = as_object(given)
        text = as_text(error) if status in _FAILED and error else None
        if text is None:
            text = as_text(given) or as_text(kept.get("output")) or as_text(kept.get("content"))
        if text is None:
            text = "" if given is None else json_text(given)
        id = as_text(block.get("toolUseID")) or as_text(block.get("tool_use_id")) or ""
        failed = None if status is None else status in _FAILED
        return self.normaliser.returned(place, NativeResult(id, text, is_error=failed, item=kept or None))

    def _counted(self, message: dict[str, Any], place: Place, *, called: bool) -> Iterator[ev.AnyEvent]:
        usage = message.get("usage")
        if isinstance(usage, dict):
            self._was_counted = True
            model = as_text(usage.get("model"))
            yield self.normaliser.event(ev.TokensUsed, place, usage=_usage(usage), model=model)
        elif called:
            yield self.normaliser.event(ev.ModelFinished, place, finish=FinishReason.CALLS)
        if as_object(message.get("state")).get("type") == "cancelled":
            yield self.normaliser.event(ev.Interrupted, place)

    def end(self) -> Iterator[ev.AnyEvent]:
        if self._was_counted or self._head is None:
            return
        for number, entry in enumerate(self._ledger):
            tokens = as_object(entry.get("tokens"))
            if tokens:
                place = self.place(self._head, entry.get("timestamp"))
                place.key = f"ledger.{number}"
                usage = Usage(
                    input_tokens=as_integer(tokens.get("input")), output_tokens=as_integer(tokens.get("output"))
                )
                yield self.normaliser.event(ev.TokensUsed, place, usage=usage, model=as_text(entry.get("model")))


# ── values ───────────────────────────────────────────────────────────────────


def _usage(usage: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=as_integer(usage.get("inputTokens")),
        cached_read_tokens=as_integer(usage.get("cacheReadInputTokens")),
        cached_write_tokens=as_integer(usage.get("cacheCreationInputTokens")),
        output_tokens=as_integer(usage.get("outputTokens")),
    )


def _media(block: dict[str, Any]) -> Media | None:
    source = as_object(block.get("source"))
    kind, data = as_text(source.get("mediaType")) or as_text(source.get("media_type")), as_text(source.get("data"))
    return None if kind is None else Media(kind, data=data, url=as_text(source.get("url")))


def _folder(uri: Any) -> str | None:
    return unquote(urlparse(uri).path) if isinstance(uri, str) and uri.startswith("file:") else None


FORMAT = Amp()
