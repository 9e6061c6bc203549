"""Cline's sessions (3.0.57 … 3.0.65): `<session>.messages.json`, the messages, and `<session>.json`, its facts.

A sub-agent's messages are a document of its own, which names its parent's session but not the call that spawned it;
its first words are that call's task. A document is rewritten as a whole, so events are told when all of it is there.
The extension for editors keeps its tasks otherwise: see `cline_task`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dragoman.logs.base.format import EitherReader, LogReader, Places, Sample
from dragoman.logs.base.json_ranges import DocumentReader, pieces_of
from dragoman.logs.base.listing import files_below, files_in
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import FinishReason, Media, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.calls import Content
from dragoman.model.json_text import read_json
from dragoman.model.json_values import as_integer, as_object, as_objects, as_positive, as_text

from .parts.cline_stream import StreamReader, is_printed
from .parts.cline_task import (
    TaskFormat,
    TaskReader,
    TaskStreamReader,
    is_printed_task,
    kept_by_editors,
    recognise as recognise_task,
)

CLIENT = "cline"

_LISTED = "messages"
_SYSTEM = "system_prompt"
_MESSAGES_NAME = "*.messages.json"
_EXTENSION = "saoudrizwan.claude-dev"
_CUT_TASK = re.compile(
    rb'\s*\[\s*\{\s*(?:"role"\s*:\s*"user".{0,200}?"<task>|"ts"\s*:\s*\d+\s*,\s*"type"\s*:\s*"(?:say|ask)")', re.DOTALL
)
_CUT_DOCUMENT = re.compile(rb'\s*\{.{0,200}?"agent"\s*:.{0,400}?"sessionId"\s*:.{0,400}?"origin"\s*:\s*\{', re.DOTALL)
_PRINTED = re.compile(rb'\{\s*"ts"\s*:\s*"[^"]*"\s*,\s*"type"\s*:\s*"(?:hook_event|agent_event|run_result)"')
_PRINTED_TASK = re.compile(rb'\{\s*(?:"type"\s*:\s*"task_started"|"ts"\s*:\s*\d+\s*,\s*"type"\s*:\s*"(?:say|ask)")')
_ENOUGH = 256
"""Bytes that tell a stream from a document."""
_WRAPPED = re.compile(r'<user_input mode="([^"]*)">(.*)</user_input>', re.DOTALL)
_SAID_IN_PIECES = frozenset({"text", "image"})


class Cline(TaskFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT
    unnamed_server = "__"  # what 3.0.57 to 3.0.65 print: `toy__echo`, and no list of servers
    answers_unknown = False  # 2.14.0 goes on with the next request
    written_by = "cline_writer.ClineWriter"

    def recognise(self, sample: Sample) -> float:
        document = sample.document
        if isinstance(document, list):
            return recognise_task(document)
        if document is None and (is_printed(sample.records) or is_printed_task(sample.records)):
            return 0.9
        if not isinstance(document, dict):
            cut = document is None and (_CUT_DOCUMENT.match(sample.head) or _CUT_TASK.match(sample.head))
            return 0.6 if cut else 0.0
        if isinstance(document.get("sessionId"), str) and isinstance(document.get(_LISTED), list):
            return 0.95 if "agent" in document and isinstance(document.get("origin"), dict) else 0.0
        return 0.9 if {"session_id", "messages_path", "workspace_root", "enable_tools"} <= document.keys() else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        given = places.environment.get
        root = Path(given("CLINE_DIR") or places.home / ".cline")
        data = Path(given("CLINE_DATA_DIR") or root / "data")
        yield Path(given("CLINE_SESSION_DATA_DIR") or data / "sessions")
        yield data / "tasks"
        yield places.home / ".cline" / "data" / "sessions"
        yield from kept_by_editors(places, _EXTENSION)

    def files(self, home: Path) -> Iterator[Path]:
        yield from super().files(home)
        for folder in sorted({path.parent for path in files_below(home, _MESSAGES_NAME)}):
            about = folder / f"{folder.name}.json"
            if about.is_file():
                yield about
            yield from files_in(folder, _MESSAGES_NAME)

    def reader(self, path: Path) -> LogReader:
        return _Either(path)


class _Either(EitherReader):
    """Reads a session or a task: a list is one of a task's."""

    def choose(self, begin: bytes, *, is_whole: bool) -> LogReader | None:
        first = begin.lstrip(b"\xef\xbb\xbf \t\r\n")
        if not first and not (is_whole and begin.strip()):
            return None
        if first.startswith(b"["):
            return TaskReader(self._path, CLIENT)
        line, line_ended, _ = first.partition(b"\n")
        if not line_ended and len(begin) < _ENOUGH and not is_whole:
            return None
        if _PRINTED_TASK.match(line):
            return TaskStreamReader(self._path, CLIENT)
        return _StreamReader(self._path) if _PRINTED.match(line) else _Reader(self._path)


class _StreamReader(StreamReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path, CLIENT)

    def content(self, output: Any) -> Content:
        return _content(output)


class _Reader(DocumentReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path, Normaliser(CLIENT, CLIENT, path.stem))
        self._stem = path.stem
        self._session: str | None = None
        self._stream = "main"
        self._version: str | None = None
        self._mode: str | None = None
        self._system: str | None = None
        self._ends_with_system = False
        self._prompted = False
        self._keys: set[str] = set()

    # ── a document ─────────────────────────────────────────────────────────

    def close(self) -> list[ev.AnyEvent]:
        data = self._gathered.take()
        events: list[ev.AnyEvent] = []
        pieces = pieces_of(data, _LISTED)
        if pieces is None:
            self._read(data, ev.Source(self.path, 0, len(data)), events)
            return events
        self._learn_servers([data[start:end] for start, end in pieces.elements])
        self._ends_with_system = f'"{_SYSTEM}"'.encode() in data[pieces.tail : pieces.end]
        return self.read_pieces(data, pieces)

    def document_ended(self, source: ev.Source) -> ev.AnyEvent:
        """What stands after the messages: the system's words, as a rule."""
        place = self._place(f"{self._stem}.end", source)
        if self._ends_with_system and self._system is not None:
            return self.normaliser.event(ev.SystemSaid, place, text=self._system)
        return self.normaliser.event(ev.ClientNoted, place, name="document/end")

    def _learn_servers(self, elements: list[bytes]) -> None:
        """Servers whose tools gave results in the protocol's shape: a name alone (`a__b`) does not prove one."""
        servers: dict[str, set[str]] = {}
        for element in elements:
            if b"tool_result" not in element or b"__" not in element:
                continue
            try:
                message = msgspec.json.decode(element)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue  # it becomes `Unreadable` when its turn comes
            for block in as_objects(as_object(message).get("content")):
                server, mark, tool = (as_text(block.get("name")) or "").partition("__")
                if server and mark and tool and _is_from_server(block.get("content")):
                    servers.setdefault(server, set()).add(tool)
        if servers:
            self.normaliser.knowing(servers=servers)

    # ── records ────────────────────────────────────────────────────────────

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "a record is a JSON object")
        elif "role" in value:
            yield from self._message(value, source)
        elif "session_id" in value:
            yield from self._about(value, source)
        elif "sessionId" in value:
            yield from self._header(value, source)
        else:
            yield self.normaliser.unknown(self._place(f"{self._stem}@{source.offset}", source), None)

    def _place(self, key: str, source: ev.Source, time: Any = None) -> Place:
        if key in self._keys:
            key = f"{key}@{source.offset}"
        self._keys.add(key)
        return Place(
            source=source,
            key=key,
            session=self._session,
            stream=self._stream,
            version=self._version,
            time=moment(time),
        )

    def _header(self, value: dict[str, Any], source: ev.Source) -> Iterator[ev.AnyEvent]:
        """The beginning of a document of messages."""
        origin = as_object(value.get("origin"))
        parent, agent = as_text(origin.get("parentThreadId")), as_text(origin.get("subagent"))
        self._session, self._version = as_text(value.get("sessionId")), as_text(origin.get("version"))
        if parent and agent:
            # The session of a sub-agent is `<session>__<agent>`, also that of a parent which is one itself (3.0.57).
            self._session, self._stream = parent.partition("__")[0], agent
        place = self._place(self._stem, source)
        told = ("sessionId", _SYSTEM)
        metadata = {key: value[key] for key in value if key not in told}
        yield self.normaliser.event(ev.SessionStarted, place, parent_session=parent, metadata=metadata)
        self._system = as_text(value.get(_SYSTEM))
        if self._system is not None and not self._ends_with_system:
            yield self.normaliser.event(ev.SystemSaid, place, text=self._system)

    def _about(self, value: dict[str, Any], source: ev.Source) -> Iterator[ev.AnyEvent]:
        """What is known of a session, beside its messages; its tokens are those of the messages added up."""
        facts = as_object(value.get("metadata"))
        self._session = as_text(value.get("session_id"))
        self._version = as_text(as_object(facts.get("sessionHistoryOrigin")).get("version"))
        place = self._place(self._stem, source, value.get("started_at"))
        told = ("session_id", "cwd", "model", "started_at", "ended_at", "status", "exit_code")
        yield self.normaliser.event(
            ev.SessionStarted,
            place,
            cwd=as_text(value.get("cwd")),
            project=as_text(value.get("workspace_root")),
            branch=as_text(as_object(facts.get("git")).get("branch")),
            model=as_text(value.get("model")),
            parent_session=as_text(value.get("parent_session_id")),
            metadata={key: value[key] for key in value if key not in told},
        )
        if value.get("ended_at") is not None:
            place.time = moment(value["ended_at"])
            data = {key: value[key] for key in ("status", "exit_code") if key in value}
            yield self.normaliser.event(ev.ClientNoted, place, name="session/ended", data=data)

    # ── messages ───────────────────────────────────────────────────────────

    def _message(self, value: dict[str, Any], source: ev.Source) -> Iterator[ev.AnyEvent]:
        id = as_text(value.get("id"))
        place = self._place(f"{self._stem}@{source.offset}" if id is None else id, source, value.get("ts"))
        if value["role"] == "assistant":
            yield from self._assistant(value, place)
        elif value["role"] == "user":
            yield from self._user(value, place)
        else:
            yield self.normaliser.unknown(place, f"message/{value['role']}")
        if not place.number:
            yield self.normaliser.event(ev.ClientNoted, place, name=f"message/{value['role']}/empty")

    def _assistant(self, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        content, model = value.get("content"), as_text(as_object(value.get("modelInfo")).get("id"))
        if isinstance(content, str) and content:
            yield self.normaliser.event(ev.ModelSaid, place, text=content, model=model)
        for block in as_objects(content):
            yield self._block(block, place, model)
        metrics = value.get("metrics")
        if isinstance(metrics, dict):
            yield self.normaliser.event(ev.TokensUsed, place, usage=_usage(metrics), model=model, cost=_cost(metrics))
        elif any(block.get("type") == "tool_use" for block in as_objects(content)):
            yield self.normaliser.event(ev.ModelFinished, place, finish=FinishReason.CALLS, model=model)

    def _block(self, block: dict[str, Any], place: Place, model: str | None) -> ev.AnyEvent:
        kind = block.get("type")
        if kind == "text":
            return self.normaliser.event(ev.ModelSaid, place, text=as_text(block.get("text")) or "", model=model)
        if kind == "thinking":
            text = as_text(block.get("thinking")) or ""
            return self.normaliser.event(ev.ModelThought, place, text=text, model=model, hidden=not text)
        if kind == "redacted_thinking":
            return self.normaliser.event(ev.ModelThought, place, text="", model=model, hidden=True)
        if kind == "tool_use" and isinstance(block.get("name"), str):
            arguments = block.get("input")
            native = NativeCall(
                as_text(block.get("id")) or f"{place.key}.{place.number}",
                block["name"],
                arguments if isinstance(arguments, dict | str) else {} if arguments is None else _encoded(arguments),
            )
            return self.normaliser.called(place, native)
        return self.normaliser.event(ev.ClientNoted, place, name=f"block/{kind}", data=block)

    def _user(self, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        content = value.get("content")
        texts: list[str] = [content] if isinstance(content, str) else []
        media: list[Media] = []
        for block in as_objects(content):
            picture = _media(block)
            if block.get("type") == "tool_result":
                yield self.normaliser.returned(place, _result(block))
            elif block.get("type") == "text":
                texts.append(as_text(block.get("text")) or "")
            elif picture is not None:
                media.append(picture)
            else:
                yield self.normaliser.event(ev.ClientNoted, place, name=f"block/{block.get('type')}", data=block)
        text = "\n".join(text for text in texts if text)
        if text or media:
            yield from self._said(text, tuple(media), place)

    def _said(self, text: str, media: tuple[Media, ...], place: Place) -> Iterator[ev.AnyEvent]:
        wrapped = _WRAPPED.fullmatch(text)
        if wrapped is not None:
            text = wrapped[2]
            if wrapped[1] != self._mode:
                self._mode = wrapped[1]
                yield self.normaliser.event(ev.ClientNoted, place, name="mode", data={"mode": self._mode})
        by = "user" if self._stream == "main" or self._prompted else "agent"
        self._prompted = True
        yield self.normaliser.event(ev.UserSaid, place, text=text, media=media, by=by)


# ── values ───────────────────────────────────────────────────────────────────


def _result(block: dict[str, Any]) -> NativeResult:
    flag = block.get("is_error")
    return NativeResult(
        as_text(block.get("tool_use_id")) or "",
        _content(block.get("content")),
        is_error=flag if isinstance(flag, bool) else None,
        name=as_text(block.get("name")),
    )


def _content(content: Any) -> str | tuple[str | Media, ...]:
    """What a result says: its text, texts and pictures, or the list of a batch's entries as the JSON it was sent as."""
    if isinstance(content, str):
        return content
    blocks = as_objects(content)
    if not isinstance(content, list) or any(as_text(block.get("type")) not in _SAID_IN_PIECES for block in blocks):
        return "" if content is None else _encoded(content)
    pieces = [_media(block) or as_text(block.get("text")) or "" for block in blocks]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return "\n".join(texts) if len(texts) == len(pieces) else tuple(pieces)


def _is_from_server(content: Any) -> bool:
    """Whether a result has the shape of the Model Context Protocol: an object with a list of typed pieces."""
    try:
        given = read_json(content) if isinstance(content, str) else content
    except msgspec.DecodeError:
        return False
    pieces = as_object(given).get("content")
    return isinstance(pieces, list) and all(isinstance(as_object(piece).get("type"), str) for piece in pieces)


def _usage(metrics: dict[str, Any]) -> Usage:
    """Tokens of a reply; the input counts what the cache gave and took (OpenAI's way), where it can."""
    prompt, answer = as_integer(metrics.get("inputTokens")), as_integer(metrics.get("outputTokens"))
    read, wrote = as_integer(metrics.get("cacheReadTokens")), as_integer(metrics.get("cacheWriteTokens"))
    cached = (read or 0) + (wrote or 0)
    return Usage(
        input_tokens=prompt - cached if prompt is not None and prompt >= cached else prompt,
        cached_read_tokens=read,
        cached_write_tokens=wrote,
        output_tokens=answer,
    )


def _cost(metrics: dict[str, Any]) -> float | None:
    """The client's own estimate; 0 for a model whose price it does not know."""
    return as_positive(metrics.get("cost"))


def _media(block: dict[str, Any]) -> Media | None:
    source = as_object(block.get("source")) or block
    data = as_text(source.get("data"))
    kind = as_text(source.get("mediaType")) or as_text(source.get("media_type"))
    return Media(kind, data=data) if data is not None and kind is not None else None


def _encoded(value: Any) -> str:
    """JSON; halves of surrogates, which only the standard library writes, stay as they were."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


FORMAT = Cline()
