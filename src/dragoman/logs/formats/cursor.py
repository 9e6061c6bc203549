"""Cursor's sessions: transcripts of its agent, and the database of its editor.

From the public source and samples of programs that read them (November 2026).
`agent-transcripts/<session>.jsonl` has what was said and called; results, times and tokens are not in it, but for the
time that stands in the user's own message. Older ones are plain text (`parts/cursor_text.py`). `state.vscdb` keeps
every message of the editor under a key of its own (`bubbleId:<session>:<message>`), with calls, results and some token
counts; `composerData:<session>` has their order.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dragoman.logs.base.database import SQLITE, glanced, log_beside
from dragoman.logs.base.database_reader import DatabaseReader
from dragoman.logs.base.format import EitherReader, LinesReader, LogFormat, LogReader, Places, Sample, decoded
from dragoman.logs.base.listing import files_in
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.logs.formats.parts.chat_messages import arguments_of
from dragoman.logs.formats.parts.cursor_text import BEGIN, TextTranscript, marks_of
from dragoman.model import CallMcpTool, FinishReason, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_text import json_text
from dragoman.model.json_values import as_integer, as_object, as_objects, as_text
from dragoman.registry import DIALECTS

if TYPE_CHECKING:
    import sqlite3

CLIENT: Final = "cursor"
_TRANSCRIPTS: Final = "agent-transcripts"
_QUERY: Final = re.compile(r"<user_query>\n?(.*?)\n?</user_query>", re.DOTALL)
_TIME: Final = re.compile(
    r"<timestamp>\w+, (\w{3}) (\d{1,2}), (\d{4}), (\d{1,2}):(\d{2}) (AM|PM) "
    r"\(UTC([+-]\d{1,2})(?::(\d{2}))?\)</timestamp>"
)
_MONTHS: Final = "JanFebMarAprMayJunJulAugSepOctNovDec"
_USER, _MODEL = 1, 2
_FAILED: Final = frozenset({"error", "failed", "cancelled", "rejected"})


class Cursor(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT
    endings = (".jsonl", ".vscdb", ".txt")
    captured = False
    lacks = (
        "transcripts have no results, no tokens, no models, and times in the user's messages only; those in plain text "
        "do not say where a thought ends"
    )

    def recognise(self, sample: Sample) -> float:
        if sample.head.startswith(SQLITE):
            tables = {name for (name,) in glanced(sample.path, "SELECT name FROM sqlite_master WHERE type = 'table'")}
            return 0.95 if "cursorDiskKV" in tables else 0.0
        if BEGIN.match(sample.head) and not sample.records:
            marked = b"<user_query>" in sample.head or _TRANSCRIPTS in sample.path.parts
            return 0.8 if marked else 0.0
        records = [one for one in sample.records if isinstance(one, dict)]
        if not records or not all(_is_own(one) for one in records):
            return 0.0
        if not any("role" in one for one in records):
            return 0.0
        marked = b"<user_query>" in sample.head or _TRANSCRIPTS in sample.path.parts
        return 0.9 if marked else 0.6

    def homes(self, places: Places) -> Iterator[Path]:
        yield places.home / ".cursor" / "projects"
        user = Path("Cursor") / "User" / "globalStorage"
        if places.system == "darwin":
            yield places.home / "Library" / "Application Support" / user
        elif places.system == "win32" and places.environment.get("APPDATA"):
            yield Path(places.environment["APPDATA"]) / user
        else:
            yield Path(places.environment.get("XDG_CONFIG_HOME") or places.home / ".config") / user

    def files(self, home: Path) -> Iterator[Path]:
        kept = f"*/{_TRANSCRIPTS}"
        lines = (f"{kept}/*.jsonl", f"{kept}/*/*.jsonl", f"{kept}/*/subagents/*.jsonl")
        for path in files_in(home, "state.vscdb", *lines, f"{kept}/*.txt", f"{kept}/*/*.txt"):
            if self.whole(path) == path:
                yield path

    def whole(self, path: Path) -> Path:
        """The newer transcript of a session that has both."""
        newer = path.with_suffix(".jsonl")
        return newer if path.suffix == ".txt" and newer.is_file() else path

    members = ((rf"(.*/{_TRANSCRIPTS}/.*)\.txt", r"\1.jsonl"),)

    def companions(self, path: Path) -> Iterator[Path]:
        if path.suffix == ".vscdb":
            yield log_beside(path)

    def text_records(self, data: bytes) -> Iterator[tuple[dict[str, Any], int, int]] | None:
        return marks_of(data) if BEGIN.match(data) else None

    def reader(self, path: Path) -> LogReader:
        return _Either(path)


def _is_own(record: dict[str, Any]) -> bool:
    """A message without any of the fields that other clients put beside it, or the end of a turn."""
    if record.get("type") == "turn_ended":
        return True
    message = record.get("message")
    return (
        record.get("role") in ("user", "assistant")
        and isinstance(message, dict)
        and isinstance(message.get("content"), list)
        and record.keys() <= {"role", "message", "timestamp"}
    )


class _Either(EitherReader):
    def choose(self, begin: bytes, *, is_whole: bool) -> LogReader | None:
        if len(begin) < len(SQLITE) and not is_whole:
            return None
        if not begin.strip():
            return None
        normaliser = Normaliser(CLIENT, CLIENT, self._path.stem)
        if begin.startswith(SQLITE):
            return _Database(self._path, normaliser)
        if begin.lstrip(b"\xef\xbb\xbf \t\r\n")[:5] == b"user:":
            return TextTranscript(self._path, normaliser, partial(_asked, normaliser), _parameters_of)
        return _Transcript(self._path, normaliser)


@cache
def _parameters_of(tool: str) -> frozenset[str]:
    """The names that parameters of a tool may have; none of an unknown tool."""
    dialect = DIALECTS[CLIENT]
    spelled = [one for one in dialect.spellings if tool in (one.native_name, *one.formerly)]
    steered = [one for one in dialect.steering if tool in (one.name, *one.formerly)]
    return frozenset(
        [name for one in spelled for name in one.__struct_encode_fields__]
        + [name for one in steered for name in one.parameters]
    )


# ── transcripts ──────────────────────────────────────────────────────────────


class _Transcript(LinesReader):
    def __init__(self, path: Path, normaliser: Normaliser) -> None:
        super().__init__(path, normaliser)
        self._session = path.stem
        folders = path.absolute().parent
        self._above = folders.parent.name if folders.name == "subagents" else None
        self._has_begun = False

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "a record is a JSON object")
            return
        place = Place(source, f"@{source.offset}", self._session, time=moment(value.get("timestamp")))
        if not self._has_begun:
            self._has_begun = True
            yield self.normaliser.event(ev.SessionStarted, place, parent_session=self._above)
        before = place.number
        role = value.get("role")
        blocks = as_objects(as_object(value.get("message")).get("content"))
        if value.get("type") == "turn_ended":
            yield self.normaliser.event(ev.ClientNoted, place, name="turn_ended", data=value)
        elif role == "user":
            for block in blocks:
                yield _asked(self.normaliser, block, place)
        elif role == "assistant":
            for block in blocks:
                yield self._reply(block, place)
            if any(block.get("type") == "tool_use" for block in blocks):
                yield self.normaliser.event(ev.ModelFinished, place, finish=FinishReason.CALLS)
        else:
            yield self.normaliser.unknown(place, as_text(value.get("type")) or as_text(role))
        if place.number == before:
            yield self.normaliser.event(ev.ClientNoted, place, name=f"message/{role}/empty")

    def _reply(self, block: dict[str, Any], place: Place) -> ev.AnyEvent:
        kind, event = block.get("type"), self.normaliser.event
        if kind == "text":
            return event(ev.ModelSaid, place, text=as_text(block.get("text")) or "")
        if kind == "thinking":
            text = as_text(block.get("thinking")) or as_text(block.get("text")) or ""
            return event(ev.ModelThought, place, text=text, hidden=not text)
        if kind == "tool_use" and isinstance(block.get("name"), str):
            id = as_text(block.get("id")) or f"{place.key}.{place.number}"
            return _called(self.normaliser, place, NativeCall(id, block["name"], arguments_of(block.get("input"))), {})
        return event(ev.ClientNoted, place, name=f"block/{kind}", data=block)


def _asked(normaliser: Normaliser, block: dict[str, Any], place: Place) -> ev.AnyEvent:
    if block.get("type") == "tool_result":
        content = block.get("content")
        told = content if isinstance(content, str) else "" if content is None else json_text(content)
        flag = block.get("is_error")
        id = as_text(block.get("tool_use_id")) or ""
        failed = flag if isinstance(flag, bool) else None
        return normaliser.returned(place, NativeResult(id, told, is_error=failed))
    text = as_text(block.get("text"))
    if text is None:
        return normaliser.event(ev.ClientNoted, place, name=f"block/{block.get('type')}", data=block)
    place.time = place.time or _said_at(text)
    said = _QUERY.search(text)
    return normaliser.event(
        ev.UserSaid,
        place,
        text=text if said is None else said[1],
        by="user" if said or "<" not in text else "client",
    )


def _said_at(text: str) -> datetime.datetime | None:
    """The time that stands in a user's message."""
    found = _TIME.search(text)
    if found is None or found[1] not in _MONTHS:
        return None
    hour = int(found[4]) % 12 + (12 if found[6] == "PM" else 0)
    minutes = int(found[8] or 0)
    offset = datetime.timedelta(hours=int(found[7]), minutes=-minutes if found[7].startswith("-") else minutes)
    try:
        zone = datetime.timezone(offset)
        month = _MONTHS.index(found[1]) // 3 + 1
        return datetime.datetime(int(found[3]), month, int(found[2]), hour, int(found[5]), tzinfo=zone)
    except ValueError:
        return None


# ── the database ─────────────────────────────────────────────────────────────


class _Database(DatabaseReader):
    def events(self, database: sqlite3.Connection) -> Iterator[ev.AnyEvent]:
        query = "SELECT rowid, key, value FROM cursorDiskKV WHERE key GLOB ? ORDER BY key"
        bubbles: dict[str, dict[str, tuple[int, Any]]] = {}
        for rowid, key, value in database.execute(query, ("bubbleId:*",)):
            _, session, bubble = (*_words(key).split(":", 2), "", "")[:3]
            bubbles.setdefault(session, {})[bubble] = (rowid, decoded(_bytes(value)))
        for rowid, key, value in database.execute(query, ("composerData:*",)):
            session = _words(key).partition(":")[2]
            source = self.row("cursorDiskKV", rowid)
            composer = decoded(_bytes(value))
            if not isinstance(composer, dict):
                yield self.normaliser.event(
                    ev.Unreadable, Place(source, f"{rowid}", session), reason="a session is a JSON object"
                )
                continue
            yield from self._session(session, composer, bubbles.pop(session, {}), source)
        for session, left in bubbles.items():
            yield from self._session(session, {}, left, None)

    def _session(
        self, session: str, composer: dict[str, Any], bubbles: dict[str, tuple[int, Any]], source: ev.Source | None
    ) -> Iterator[ev.AnyEvent]:
        self.normaliser.forget_all()
        if source is not None:
            place = Place(source, "session", session, time=moment(composer.get("createdAt")))
            above = as_text(as_object(composer.get("subagentInfo")).get("parentComposerId"))
            kept = ("name", "unifiedMode", "status", "createdOnBranch", "_v")
            yield self.normaliser.event(
                ev.SessionStarted,
                place,
                model=_model(composer.get("modelConfig")),
                branch=as_text(composer.get("createdOnBranch")),
                parent_session=above,
                metadata={key: composer[key] for key in kept if composer.get(key) is not None},
            )
        inline = as_objects(composer.get("conversation"))
        order = [as_text(one.get("bubbleId")) for one in as_objects(composer.get("fullConversationHeadersOnly"))]
        for number, bubble in enumerate(inline):
            place = Place(source or self._whole, f"inline.{number}", session, time=_time(bubble))
            yield from self._bubble(bubble, place)
        named = [one for one in order if one is not None and one in bubbles]
        for id in [*named, *(one for one in bubbles if one not in set(named))]:
            rowid, bubble = bubbles[id]
            place = Place(self.row("cursorDiskKV", rowid), id, session)
            if not isinstance(bubble, dict):
                yield self.normaliser.event(ev.Unreadable, place, reason="a message is a JSON object")
                continue
            place.time = _time(bubble)
            yield from self._bubble(bubble, place)

    def _bubble(self, bubble: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        kind, text, event = bubble.get("type"), as_text(bubble.get("text")) or "", self.normaliser.event
        if kind == _USER:
            if text:
                yield event(ev.UserSaid, place, text=text)
        elif kind == _MODEL:
            model = _model(bubble.get("modelInfo")) or _model(bubble)
            for thought in _thoughts(bubble):
                yield event(ev.ModelThought, place, text=thought, model=model)
            if text:
                yield event(ev.ModelSaid, place, text=text, model=model)
            tool = bubble.get("toolFormerData")
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                yield from self._tool(tool, place)
            yield from self._tokens(as_object(bubble.get("tokenCount")), model, place)
        else:
            yield self.normaliser.unknown(place, f"message/{kind}")
        if not place.number:
            yield event(ev.ClientNoted, place, name=f"message/{kind}/empty")

    def _tool(self, tool: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        given = tool.get("rawArgs") or tool.get("params")
        params = _object_in(tool.get("params"))
        id = as_text(tool.get("toolCallId")) or f"{place.key}.call"
        yield _called(self.normaliser, place, NativeCall(id, tool["name"], arguments_of(given)), params)
        yield self.normaliser.event(ev.ModelFinished, place, finish=FinishReason.CALLS)
        result, status = tool.get("result"), tool.get("status")
        refused = tool.get("userDecision") == "rejected"
        if result is None and status not in _FAILED and not refused:
            return
        error = tool.get("error")
        text = result if isinstance(result, str) else "" if result is None else json_text(result)
        if not text and error:
            text = error if isinstance(error, str) else json_text(error)
        failed = refused or status in _FAILED
        kept = _object_in(result)
        yield self.normaliser.returned(place, NativeResult(id, text, is_error=failed, item=kept or None))

    def _tokens(self, counted: dict[str, Any], model: str | None, place: Place) -> Iterator[ev.AnyEvent]:
        given, made = as_integer(counted.get("inputTokens")), as_integer(counted.get("outputTokens"))
        if given or made:  # most have 0 (samples of 2026): nobody counted
            usage = Usage(input_tokens=given, output_tokens=made)
            yield self.normaliser.event(ev.TokensUsed, place, usage=usage, model=model)


# ── values ───────────────────────────────────────────────────────────────────


def _called(normaliser: Normaliser, place: Place, native: NativeCall, params: dict[str, Any]) -> ev.ToolCalled:
    """A call; that of a server's tool, which has the server's name beside it or none that is sure."""
    called = normaliser.called(place, native)
    if not native.name.startswith(("mcp_", "mcp-")):
        return called
    tool = next(iter(as_objects(params.get("tools"))), {})
    arguments = native.arguments if isinstance(native.arguments, dict) else {}
    name = as_text(tool.get("name"))
    if name is not None:
        arguments = as_object(decoded((as_text(tool.get("parameters")) or "").encode())) or arguments
    meaning = CallMcpTool(as_text(tool.get("serverName")), name or native.name[len("mcp_") :], arguments)
    call = msgspec.structs.replace(called.call, operations=(meaning,), failure=None)
    normaliser.meant(call)
    return msgspec.structs.replace(called, call=call)


def _object_in(value: Any) -> dict[str, Any]:
    """An object, or the one whose text this is."""
    return as_object(decoded(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value)


def _thoughts(bubble: dict[str, Any]) -> list[str]:
    """The thoughts of a message, which has one or a list of them."""
    found = [as_object(bubble.get("thinking")), *as_objects(bubble.get("allThinkingBlocks"))]
    return list(dict.fromkeys(text for one in found if (text := as_text(one.get("text")))))


def _model(config: Any) -> str | None:
    name = as_text(as_object(config).get("modelName"))
    return None if name in (None, "", "default") else name


def _time(bubble: dict[str, Any]) -> datetime.datetime | None:
    return moment(bubble.get("createdAt")) or moment(as_object(bubble.get("timingInfo")).get("clientStartTime"))


def _words(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else b"" if value is None else str(value).encode("utf-8", "replace")


FORMAT = Cursor()
