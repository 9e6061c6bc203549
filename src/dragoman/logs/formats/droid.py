"""Factory droid's sessions (0.215.0): `sessions/<folder>/<session>.jsonl`, with `<session>.settings.json` beside it.

Messages hold blocks as in Anthropic's API, whichever API was used. Tokens are known per session only, from the settings
beside the log: they are counted once, at its end. `task-invocations.json` says which call started which session of
another agent. The number in `session_start.version` is the format's, not the program's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from dragoman.logs.base.format import LinesReader, LogFormat, LogReader, Places, Sample, decoded
from dragoman.logs.base.listing import files_in, read_beside
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import Media, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_values import as_integer, as_object, as_objects, as_text

CLIENT: Final = "droid"
_NOTES: Final = frozenset({"agent_turn_outcome", "compaction_state", "session_title", "todo_state"})


class Droid(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT

    def recognise(self, sample: Sample) -> float:
        records = [record for record in sample.records if isinstance(record, dict)]
        if any(_is_start(record) for record in records[:1]):
            return 0.95
        own = [one for one in records if one.get("type") == "message" and _is_own(as_object(one.get("message")))]
        return 0.7 if own else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        yield places.home / ".factory" / "sessions"

    def files(self, home: Path) -> Iterator[Path]:
        yield from files_in(home, "*.jsonl", "*/*.jsonl")

    def companions(self, path: Path) -> Iterator[Path]:
        yield _settings(path)
        yield _invocations(path)

    def reader(self, path: Path) -> LogReader:
        return _Reader(path)


def _is_start(record: dict[str, Any]) -> bool:
    return record.get("type") == "session_start" and isinstance(record.get("id"), str)


def _is_own(message: dict[str, Any]) -> bool:
    return "modelId" in message or "interactionMode" in message or "visibility" in message


def _settings(path: Path) -> Path:
    return path.with_suffix(".settings.json")


def _invocations(path: Path) -> Path:
    return path.parent.parent.parent / "task-invocations.json"


class _Reader(LinesReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path, Normaliser(CLIENT, CLIENT, path.stem))
        self._session: str | None = None
        self._model: str | None = None
        self._last: dict[str, str] = {}
        """Record → its last event."""
        self._servers: dict[str, set[str]] = {}

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "a record is a JSON object")
            return
        if _is_start(value):
            self._session = value["id"]
        parent = as_text(value.get("parentId"))
        place = Place(
            source=source,
            key=f"@{source.offset}",
            session=self._session,
            time=moment(value.get("timestamp")),
            parent=None if parent is None else self._last.get(parent),
        )
        last = yield from self.normaliser.or_noted(self._told(value, place), place, value.get("type"))
        if isinstance(value.get("id"), str):
            self._last[value["id"]] = last.id

    def _told(self, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        kind = as_text(value.get("type"))
        if kind == "session_start":
            yield from self._started(value, place)
        elif kind == "message":
            yield from self._message(as_object(value.get("message")), place)
        elif kind in _NOTES:
            data = {key: value[key] for key in value if key not in ("type", "id", "parentId", "timestamp")}
            yield self.normaliser.event(ev.ClientNoted, place, name=kind, data=data)
        else:
            yield self.normaliser.unknown(place, kind)

    def _started(self, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        settings = _beside(_settings(Path(self.path)))
        self._model = as_text(settings.get("model"))
        invoked = as_objects(_beside(_invocations(Path(self.path))).get("invocations"))
        above = next((one for one in invoked if one.get("childSessionId") == value["id"]), {})
        told = ("type", "id", "cwd")
        yield self.normaliser.event(
            ev.SessionStarted,
            place,
            cwd=as_text(value.get("cwd")),
            model=self._model,
            dialect=CLIENT,
            parent_session=as_text(above.get("parentSessionId")),
            parent_call=as_text(above.get("parentToolUseId")),
            metadata={key: value[key] for key in value if key not in told},
        )

    def _message(self, message: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        role, shown, content = message.get("role"), message.get("visibility"), message.get("content")
        model = as_text(message.get("modelId"))
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else as_objects(content)
        if role == "user" and shown == "user_only":
            words = "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))
            yield self.normaliser.event(ev.ErrorOccurred, place, message=words)
            return
        for block in blocks:
            if block.get("type") == "tool_result":
                yield self._result(block, place)
            elif role == "user":
                yield self._user(block, place, "client" if shown == "llm_only" else "user")
            else:
                yield self._model_block(block, place, model)

    def _user(self, block: dict[str, Any], place: Place, by: str) -> ev.AnyEvent:
        media = _media(block)
        if media is None and block.get("type") != "text":
            return self.normaliser.event(ev.ClientNoted, place, name=f"block/{block.get('type')}", data=block)
        text = as_text(block.get("text")) or ""
        return self.normaliser.event(ev.UserSaid, place, text=text, media=() if media is None else (media,), by=by)

    def _model_block(self, block: dict[str, Any], place: Place, model: str | None) -> ev.AnyEvent:
        kind = block.get("type")
        if kind == "text":
            return self.normaliser.event(ev.ModelSaid, place, text=as_text(block.get("text")) or "", model=model)
        if kind in ("thinking", "redacted_thinking"):
            text = as_text(block.get("thinking")) or ""
            return self.normaliser.event(ev.ModelThought, place, text=text, model=model, hidden=not text)
        if kind == "tool_use" and isinstance(block.get("name"), str):
            given = block.get("input")
            arguments = given if isinstance(given, dict | str) else {}
            if isinstance(arguments, dict) and arguments.keys() == {"input"} and block["name"] == "ApplyPatch":
                arguments = str(arguments["input"])  # a freeform call, kept as an object
            self._learn(block["name"])
            id = as_text(block.get("id")) or f"{place.key}.{place.number}"
            return self.normaliser.called(place, NativeCall(id, block["name"], arguments))
        return self.normaliser.event(ev.ClientNoted, place, name=f"block/{kind}", data=block)

    def _learn(self, name: str) -> None:
        """Only tools of MCP servers have three underscores in their names, and the server stands before them."""
        server, mark, tool = name.partition("___")
        if mark and tool not in self._servers.setdefault(server, set()):
            self._servers[server].add(tool)
            self.normaliser.knowing(servers=self._servers)

    def _result(self, block: dict[str, Any], place: Place) -> ev.AnyEvent:
        flag, content = block.get("is_error"), block.get("content")
        pieces: list[str | Media] = []
        for piece in as_objects(content):
            media = _media(piece)
            if media is not None:
                pieces.append(media)
            elif isinstance(piece.get("text"), str):
                pieces.append(piece["text"])
        native = NativeResult(
            as_text(block.get("tool_use_id")) or "",
            content if isinstance(content, str) else tuple(pieces),
            is_error=flag if isinstance(flag, bool) else None,
        )
        return self.normaliser.returned(place, native)

    def end(self) -> Iterator[ev.AnyEvent]:
        path = _settings(Path(self.path))
        usage = _beside(path).get("tokenUsage")
        if not isinstance(usage, dict):
            return
        source = ev.Source(str(path), 0, path.stat().st_size)
        place = Place(source=source, key="settings", session=self._session)
        yield self.normaliser.event(ev.TokensUsed, place, usage=_usage(usage), model=self._model)


# ── values ───────────────────────────────────────────────────────────────────


def _beside(path: Path) -> dict[str, Any]:
    """A JSON object in a file beside the log; empty where there is none."""
    try:
        return as_object(decoded(read_beside(path)))
    except OSError:
        return {}


def _usage(usage: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=as_integer(usage.get("inputTokens")),
        cached_read_tokens=as_integer(usage.get("cacheReadTokens")),
        cached_write_tokens=as_integer(usage.get("cacheCreationTokens")),
        output_tokens=as_integer(usage.get("outputTokens")),
        reasoning_tokens=as_integer(usage.get("thinkingTokens")),
    )


def _media(block: dict[str, Any]) -> Media | None:
    source = as_object(block.get("source"))
    data, kind = as_text(source.get("data")), as_text(source.get("media_type"))
    return None if data is None or kind is None else Media(kind, data=data)


FORMAT = Droid()
