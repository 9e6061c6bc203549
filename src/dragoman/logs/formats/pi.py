"""pi's sessions (0.30.2 … 0.84.4): `<time>_<session>.jsonl`, a tree by `id` and `parentId` (before version 2, a list).

A record that does not follow from the one before it goes back in the tree: what stands between no longer counts. The
number in `version` is the format's, not the client's. What `pi --mode json` prints begins with the same record and has
the same messages, each several times while it grows: it is told when it has ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dragoman.logs.base.format import LinesReader, LogFormat, LogReader, Places, Sample
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import FinishReason, Media, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_values import as_integer, as_object, as_objects, as_positive, as_text

CLIENT = "pi"

_NOTES = frozenset({"active_tools_change", "custom", "label", "session_info"})
"""Kinds of records that are the client's own book-keeping."""

_KINDS = _NOTES | {
    "branch_summary",
    "compaction",
    "custom_message",
    "message",
    "model_change",
    "session",
    "thinking_level_change",
}
_PRINTED = frozenset(
    {
        "agent_end",
        "agent_settled",
        "agent_start",
        "auto_compaction_start",
        "auto_retry_end",
        "auto_retry_start",
        "compaction_start",
        "entry_appended",
        "extension_error",
        "message_start",
        "message_update",
        "queue_update",
        "session_info_changed",
        "thinking_level_changed",
        "tool_execution_end",
        "tool_execution_start",
        "tool_execution_update",
        "turn_end",
        "turn_start",
    }
)
"""Kinds of records that are printed and tell what others tell too."""

_SHORTENED = frozenset({"auto_compaction_end", "compaction_end"})
_ENVELOPE = frozenset({"type", "id", "parentId", "timestamp"})

_FINISH = {
    "stop": FinishReason.STOP,
    "endTurn": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "toolUse": FinishReason.CALLS,
    "error": FinishReason.ERROR,
    "aborted": FinishReason.INTERRUPTED,
}


class Pi(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT
    own_words = ("!!",)  # a flag of the record
    written_by = "pi_writer.PiWriter"

    def recognise(self, sample: Sample) -> float:
        records = [record for record in sample.records if isinstance(record, dict)]
        kinds = _KINDS | _PRINTED | _SHORTENED | {"message_end"}
        known = [record for record in records if as_text(record.get("type")) in kinds]
        if 2 * len(known) <= len(records):
            return 0.0
        if any(_is_header(record) for record in known[:1]):
            return 0.95 if any("message" in record or "parentId" in record for record in known) else 0.6
        return 0.7 if any(_is_own_message(record) for record in known) else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        configured = places.environment.get("PI_CODING_AGENT_DIR")
        for root in ([Path(configured)] if configured else []) + [places.home / ".pi" / "agent"]:
            yield root / "sessions"

    below = "*.jsonl"

    def reader(self, path: Path) -> LogReader:
        return _Reader(path)


def _is_header(record: dict[str, Any]) -> bool:
    return record.get("type") == "session" and {"id", "timestamp", "cwd"} <= record.keys()


def _is_own_message(record: dict[str, Any]) -> bool:
    """Whether a record is a message as only this client writes them; others have the same envelope."""
    message = as_object(record.get("message"))
    if message.get("role") in ("toolResult", "bashExecution"):
        return True
    return message.get("role") == "assistant" and any(
        block.get("type") == "toolCall" for block in as_objects(message.get("content"))
    )


class _Reader(LinesReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path, Normaliser(CLIENT, CLIENT, path.stem))
        self._session: str | None = None
        self._leaf: str | None = None
        """The record the next one follows from, unless the user goes back."""
        self._last_events: dict[str, str] = {}
        """Record → its last event."""

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "a record is a JSON object")
            return
        resumed = self._session is not None
        if value.get("type") == "session":
            self._session = as_text(value.get("id")) or self._session
        place = self._place(value, source)
        if value.get("type") == "session":
            yield self._started(value, place, resumed=resumed)
            return
        yield from self._went_back(value, place)
        last = yield from self.normaliser.or_noted(self._told(value, place), place, value.get("type"))
        if isinstance(value.get("id"), str):
            self._leaf = value["id"]
            self._last_events[value["id"]] = last.id

    def _place(self, value: dict[str, Any], source: ev.Source) -> Place:
        id, parent = as_text(value.get("id")), as_text(value.get("parentId"))
        return Place(
            source=source,
            key=f"@{source.offset}" if id is None else f"{id}@{source.offset}",
            session=self._session,
            time=moment(value.get("timestamp") or as_object(value.get("message")).get("timestamp")),
            parent=None if parent is None else self._last_events.get(parent, parent),
            provider_id=as_text(as_object(value.get("message")).get("responseId")),
        )

    def _started(self, value: dict[str, Any], place: Place, *, resumed: bool) -> ev.AnyEvent:
        origin = as_text(value.get("parentSession"))
        told = {*_ENVELOPE, "cwd", "modelId"}
        return self.normaliser.event(
            ev.SessionStarted,
            place,
            cwd=as_text(value.get("cwd")),
            model=as_text(value.get("modelId")),
            resumed=resumed,
            forked_from=None if origin is None else _session_of(origin),
            metadata={key: value[key] for key in value if key not in told},
        )

    def _went_back(self, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        """Whether a record follows from another one than the last."""
        if "parentId" not in value or self._leaf is None or value["parentId"] == self._leaf:
            return
        yield self.normaliser.event(ev.HistoryRewound, place, to=place.parent)

    def _told(self, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        kind, event = as_text(value.get("type")), self.normaliser.event
        if kind in ("message", "message_end") and isinstance(value.get("message"), dict):
            yield from self._message(value["message"], place)
        elif kind == "model_change":
            model = as_text(value.get("modelId")) or as_text(value.get("model"))
            yield event(ev.ModelChanged, place, model=model, settings=_beside(value, "modelId", "model"))
        elif kind == "thinking_level_change":
            yield event(ev.ModelChanged, place, settings=_beside(value))
        elif kind == "compaction":
            yield self._compacted(value, place)
            yield from self._used(value.get("usage"), place, None)
        elif kind == "branch_summary":
            yield event(ev.UserSaid, place, text=as_text(value.get("summary")) or "", by="client")
            yield from self._used(value.get("usage"), place, None)
        elif kind == "custom_message":
            yield from self._user(value.get("content"), place, by="client")
        elif kind in _SHORTENED and isinstance(value.get("result"), dict):
            yield self._compacted(value["result"], place)
        elif kind in _PRINTED or kind in _SHORTENED:
            yield event(ev.ClientNoted, place, name=kind, call_id=as_text(value.get("toolCallId")))
        elif kind in _NOTES:
            name = kind if kind != "custom" else f"custom/{value.get('customType')}"
            yield event(ev.ClientNoted, place, name=name, data=_beside(value))
        else:
            yield self.normaliser.unknown(place, kind)

    # ── messages ───────────────────────────────────────────────────────────

    def _message(self, message: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        role = message.get("role")
        if role == "assistant":
            yield from self._assistant(message, place)
        elif role == "toolResult":
            yield self._result(message, place)
            yield from self._used(message.get("usage"), place, None)
        elif role == "user":
            yield from self._user(message.get("content"), place, by="user")
        elif role in ("custom", "hookMessage"):  # the second: version 2 of the format, before 0.52
            yield from self._user(message.get("content"), place, by="client")
        elif role == "branchSummary":
            yield self.normaliser.event(ev.UserSaid, place, text=as_text(message.get("summary")) or "", by="client")
        elif role == "compactionSummary":
            yield self._compacted(message, place)
        elif role == "bashExecution":
            # The user's own command, not the model's: `!` lets the model see it, `!!` does not (sessions of July 2026).
            mark = "!!" if message.get("excludeFromContext") is True else "!"
            yield self.normaliser.event(ev.CommandInvoked, place, name=mark, arguments=as_text(message.get("command")))
            data = {key: message[key] for key in message if key not in ("role", "command")}
            yield self.normaliser.event(ev.ClientNoted, place, name="bashExecution", data=data)
        elif role == "system":
            yield self.normaliser.event(ev.SystemSaid, place, text="\n".join(_texts(message.get("content"))))
        else:
            yield self.normaliser.unknown(place, f"message/{role}")

    def _assistant(self, message: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        model, content = as_text(message.get("model")), message.get("content")
        if isinstance(content, str) and content:
            yield self.normaliser.event(ev.ModelSaid, place, text=content, model=model)
        for block in as_objects(content):
            yield self._block(block, place, model)
        yield from self._ended(message, place, model)

    def _block(self, block: dict[str, Any], place: Place, model: str | None) -> ev.AnyEvent:
        kind = block.get("type")
        if kind == "text":
            return self.normaliser.event(ev.ModelSaid, place, text=as_text(block.get("text")) or "", model=model)
        if kind == "thinking":
            text = as_text(block.get("thinking")) or ""
            hidden = not text or block.get("redacted") is True
            return self.normaliser.event(ev.ModelThought, place, text=text, model=model, hidden=hidden)
        if kind == "toolCall" and isinstance(block.get("name"), str):
            arguments = block.get("arguments")
            native = NativeCall(
                as_text(block.get("id")) or f"{place.key}.{place.number}",
                block["name"],
                arguments if isinstance(arguments, dict | str) else {} if arguments is None else str(arguments),
            )
            return self.normaliser.called(place, native)
        media = _media(block)
        if media is not None:
            return self.normaliser.event(ev.ModelSaid, place, text="", model=model, media=(media,))
        return self.normaliser.event(ev.ClientNoted, place, name=f"block/{kind}", data=block)

    def _ended(self, message: dict[str, Any], place: Place, model: str | None) -> Iterator[ev.AnyEvent]:
        """The tokens and the end of a reply."""
        reason = message.get("stopReason")
        yield from self._used(message.get("usage"), place, model)
        words = as_text(message.get("errorMessage"))
        if reason == "aborted":
            yield self.normaliser.event(ev.Interrupted, place, text=words)
        elif reason == "error" or words is not None:
            yield self.normaliser.event(ev.ErrorOccurred, place, message=words or "the model's reply failed")
        if isinstance(reason, str):
            finish = _FINISH.get(reason, FinishReason.UNKNOWN)
            yield self.normaliser.event(ev.ModelFinished, place, finish=finish, model=model)

    def _used(self, usage: Any, place: Place, model: str | None) -> Iterator[ev.AnyEvent]:
        """What a reply used, or the client for a summary, or a tool that asked a model itself."""
        if isinstance(usage, dict):
            yield self.normaliser.event(ev.TokensUsed, place, usage=_usage(usage), model=model, cost=_cost(usage))

    def _user(self, content: Any, place: Place, *, by: str) -> Iterator[ev.AnyEvent]:
        text = "\n".join(_texts(content))
        media = tuple(one for block in as_objects(content) if (one := _media(block)) is not None)
        if text or media:
            yield self.normaliser.event(ev.UserSaid, place, text=text, media=media, by=by)

    def _result(self, message: dict[str, Any], place: Place) -> ev.AnyEvent:
        flag = message.get("isError")
        native = NativeResult(
            as_text(message.get("toolCallId")) or "",
            _content(message.get("content")),
            is_error=flag if isinstance(flag, bool) else None,
            name=as_text(message.get("toolName")),
            item=message,
        )
        return self.normaliser.returned(place, native)

    def _compacted(self, value: dict[str, Any], place: Place) -> ev.AnyEvent:
        return self.normaliser.event(
            ev.ContextCompacted,
            place,
            summary=as_text(value.get("summary")),
            tokens_before=as_integer(value.get("tokensBefore")),
        )


# ── values ───────────────────────────────────────────────────────────────────


def _session_of(path: str) -> str:
    """The session whose file this is: `<time>_<session>.jsonl`."""
    name = re.split(r"[\\/]", path)[-1].removesuffix(".jsonl")
    return name.rpartition("_")[2]


def _beside(value: dict[str, Any], *told: str) -> dict[str, Any]:
    """What a record holds beside its envelope and the fields named."""
    return {key: value[key] for key in value if key not in _ENVELOPE and key not in told}


def _usage(usage: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=as_integer(usage.get("input")),
        cached_read_tokens=as_integer(usage.get("cacheRead")),
        cached_write_tokens=as_integer(usage.get("cacheWrite")),
        output_tokens=as_integer(usage.get("output")),
    )


def _cost(usage: dict[str, Any]) -> float | None:
    """The client's own estimate; 0 for a model whose price it does not know (0.74.2)."""
    return as_positive(as_object(usage.get("cost")).get("total"))


def _content(content: Any) -> str | tuple[str | Media, ...]:
    """What a result says: its text, or texts and pictures in their order."""
    if isinstance(content, str):
        return content
    pieces: list[str | Media] = []
    for block in as_objects(content):
        media = _media(block)
        if media is not None:
            pieces.append(media)
        elif isinstance(block.get("text"), str):
            pieces.append(block["text"])
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return "\n".join(texts) if len(texts) == len(pieces) else tuple(pieces)


def _media(block: dict[str, Any]) -> Media | None:
    data, kind = as_text(block.get("data")), as_text(block.get("mimeType"))
    return None if data is None or kind is None else Media(kind, data=data)


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content] if content else []
    return [block["text"] for block in as_objects(content) if isinstance(block.get("text"), str) and block["text"]]


FORMAT = Pi()
