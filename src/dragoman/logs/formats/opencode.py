"""opencode's sessions: a SQLite database, the older tree of JSON files, a session exported as one document, and the
lines `opencode run --format json` prints.

They hold the same things: a session, its messages, and each message's parts; a tool's part is the call and its result
in one. Lines hold the model's parts alone, each when it is done. A database is only ever read: from a copy of its
bytes, with the log (`-wal`) that stands beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.logs.base.database import SQLITE, Copy, beginning, glanced, log_beside
from dragoman.logs.base.format import Gathered, LogFormat, LogReader, Places, Sample
from dragoman.logs.base.json_ranges import pieces_of
from dragoman.logs.base.listing import files_in
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.logs.base.typed_or_none import mapping as _mapping, text as _text
from dragoman.model import (
    AgentEnded,
    AgentStarted,
    AnyEvent,
    ClientNoted,
    CommandInvoked,
    ContextCompacted,
    ErrorOccurred,
    ExecutedBy,
    FinishReason,
    HistoryRewound,
    Interrupted,
    Media,
    ModelFinished,
    ModelSaid,
    ModelThought,
    NativeCall,
    NativeResult,
    SessionStarted,
    Source,
    TokensUsed,
    UnknownRecord,
    Unreadable,
    Usage,
    UserSaid,
)

if TYPE_CHECKING:
    import sqlite3

CLIENT = "opencode"

_CUT_EXPORT = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"info"\s*:\s*\{\s*"id"\s*:\s*"ses_')
_NAME = re.compile(r"\w[\w-]*")
"""What a thing is called that a folder may be named by."""
_HELD = ("session", "message", "part")
"""The tables that hold sessions."""
_OTHER_TABLES = frozenset(
    {
        "__drizzle_migrations",
        "account",
        "account_state",
        "control_account",
        "credential",
        "data_migration",
        "event",
        "event_sequence",
        "migration",
        "permission",
        "project",
        "project_directory",
        "session_share",
        "todo",
        "workspace",
    }
)
"""Tables that are the client's own book-keeping."""
_NOTED_PARTS = frozenset({"agent", "file", "patch", "snapshot", "step-start"})

_PRINTED = frozenset({"error", "reasoning", "step_finish", "step_start", "text", "tool_use"})

_FINISH = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "tool-calls": FinishReason.CALLS,
    "content-filter": FinishReason.FILTERED,
    "error": FinishReason.ERROR,
}


class Opencode(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT

    def recognise(self, sample: Sample) -> float:
        if sample.head.startswith(SQLITE):
            return 0.95 if _holds_sessions(sample.path) else 0.0
        if isinstance(sample.document, dict):
            return 0.95 if _kind_of(sample.document) is not None else 0.0
        if any(_is_printed(record) for record in sample.records):
            return 0.9
        return 0.6 if _CUT_EXPORT.match(sample.head) else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        named = places.environment.get("OPENCODE_DB", "")
        if named and Path(named).is_absolute():
            yield Path(named).parent
        for variable in ("XDG_DATA_HOME", *(("LOCALAPPDATA", "APPDATA") if places.system == "win32" else ())):
            if places.environment.get(variable):
                yield Path(places.environment[variable]) / "opencode"
        yield places.home / ".local" / "share" / "opencode"
        if places.system == "darwin":
            yield places.home / "Library" / "Application Support" / "opencode"

    def files(self, home: Path) -> Iterator[Path]:
        databases = [path for path in files_in(home, "*.db") if _holds_sessions(path)]
        yield from databases
        # The tree stays where it was when its sessions are taken over into a database.
        known = {id for path in databases for (id,) in glanced(path, "SELECT id FROM session")}
        trees = files_in(home, "storage/session/*/*.json", "project/*/storage/session/info/*.json")
        yield from (path for path in trees if path.stem not in known)

    def whole(self, path: Path) -> Path:
        """A message and a part are read with their session, where its file is in the tree."""
        if path.suffix != ".json" or not path.stem.startswith(("msg_", "prt_")):
            return path
        id = _object(beginning(path, 1 << 26)).get("sessionID")
        if not isinstance(id, str) or not re.fullmatch(r"\w+", id):
            return path
        found = (
            session for root in list(path.absolute().parents)[:5] for session in files_in(root, f"session/*/{id}.json")
        )
        return next(found, path)

    def beside(self, path: Path) -> Iterator[Path]:
        """The log of a database; of a session in the tree its messages and their parts."""
        if path.suffix == ".db":
            yield log_beside(path)
            return
        root, id = _root_of(path), path.stem
        if root is None:
            return
        yield from (root / kind / f"{id}.json" for kind in ("todo", "session_diff"))
        older = root / "session" / "message" / id
        is_older = path.absolute().parent.name == "info"
        messages = files_in(older if is_older else root / "message" / id, "*.json")
        yield from messages
        for message in messages:
            within = root / "session" / "part" / id if is_older else root / "part"
            yield from files_in(within / message.stem, "*.json")

    def reader(self, path: Path) -> LogReader:
        return _Reader(path)


def _root_of(path: Path) -> Path | None:
    """The folder of the tree a session's file is in, if there are so many above it."""
    parents = path.absolute().parents
    return parents[2] if len(parents) > 2 else None


def _kind_of(document: Mapping[str, Any]) -> str | None:
    """What a JSON object of the client's is: a session with all it holds, or one of the files of the tree."""
    info, messages, id = document.get("info"), document.get("messages"), str(document.get("id"))
    if isinstance(info, dict) and isinstance(messages, list):
        return "export" if str(info.get("id")).startswith("ses_") else None
    if id.startswith("ses_") and "time" in document and ("projectID" in document or "title" in document):
        return "session"
    if not isinstance(document.get("sessionID"), str):
        return None
    if _is_printed(document):
        return "line"
    if id.startswith("msg_") and document.get("role") in ("user", "assistant"):
        return "message"
    return "part" if id.startswith("prt_") and {"messageID", "type"} <= document.keys() else None


def _is_printed(record: Any) -> bool:
    """Whether a line is one that the client prints: a part that is done, or an error, and of which session."""
    if not isinstance(record, dict) or not isinstance(record.get("sessionID"), str) or "timestamp" not in record:
        return False
    kind, part = record.get("type"), record.get("part")
    return kind in _PRINTED and (isinstance(record.get("error"), dict) if kind == "error" else isinstance(part, dict))


# ── databases ────────────────────────────────────────────────────────────────


def _holds_sessions(path: Path) -> bool:
    """Whether a database has the client's tables; those of a new one may still be in the log beside it."""
    names = {name for (name,) in glanced(path, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    if names >= set(_HELD):
        return True
    logged = beginning(log_beside(path), 1 << 20)
    return all(re.search(rb"CREATE TABLE\s+[`\"]?%b\b" % name.encode(), logged) for name in _HELD)


# ── reading ──────────────────────────────────────────────────────────────────


class _Record(msgspec.Struct):
    """A session, a message or a part: what it says, where it stands, and its name where it has no id."""

    value: dict[str, Any]
    source: Source
    name: str

    @property
    def id(self) -> str:
        id = self.value.get("id")
        return id if isinstance(id, str) and id else self.name


class _Reader(LogReader):
    def __init__(self, path: Path) -> None:
        self._path = path
        self._begin = b""
        self._copy: Copy | None = None
        self._pieces = Gathered(path)
        self.normaliser = Normaliser(CLIENT, CLIENT, path.stem)
        self._functions: set[str] = set()

    def feed(self, data: bytes) -> list[AnyEvent]:
        if self._copy is not None:
            self._copy.write(data)
        elif self._pieces.has_begun:
            self._pieces.append(data)
        else:
            self._begin += data
            if self._begin.startswith(SQLITE):
                self._copy = Copy(self._path)
                self._copy.write(self._begin)
            elif not SQLITE.startswith(self._begin):
                self._pieces.append(self._begin)
        return []

    def close(self) -> list[AnyEvent]:
        return list(self.rest())

    def rest(self) -> Iterator[AnyEvent]:
        if self._copy is not None:
            copy, self._copy = self._copy, None
            try:
                yield from self._database(copy)
            finally:
                copy.close()
            return
        data = self._pieces.take() or self._begin
        self._begin = b""
        if data.strip():
            yield from self._document(data)

    def unread(self, source: Source, name: str, reason: str, session: str | None = None) -> AnyEvent:
        """What could not be read of a file or a row."""
        return self.normaliser.event(Unreadable, Place(source=source, key=name, session=session), reason=reason)

    # ── a database ─────────────────────────────────────────────────────────

    def _database(self, copy: Copy) -> Iterator[AnyEvent]:
        import sqlite3

        whole = Source(str(self._path), 0, copy.size)
        try:
            database = copy.opened()
        except (sqlite3.Error, OSError) as error:
            yield self.unread(whole, "database", str(error))
            return
        try:
            yield from _Tables(self, database, Source(str(self._path), 0, copy.size)).events()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            yield self.unread(whole, "database", str(error))
        finally:
            database.close()

    # ── documents ──────────────────────────────────────────────────────────

    def _document(self, data: bytes) -> Iterator[AnyEvent]:
        whole = Source(str(self._path), 0, len(data))
        if _CUT_EXPORT.match(data):
            yield from self._export(data)
            return
        try:
            value = _decoded(data)
        except ValueError as error:
            lines = list(_lines(data))
            if any(_is_printed(line) for line, _, _ in lines):
                yield from self._printed(lines)
            else:
                yield self.unread(whole, "document", str(error))
            return
        kind = _kind_of(value) if isinstance(value, dict) else None
        record = _Record(value, whole, self._path.stem)
        if kind == "export":
            yield from self._export(data)
        elif kind == "session":
            yield from self._tree(record)
        elif kind == "line":
            yield from self._printed([(value, 0, len(data))])
        elif kind == "message":
            yield from self.told(value["sessionID"], [record], {})
        elif kind == "part":
            yield from self.told(value["sessionID"], [], {str(value["messageID"]): [record]})
        else:
            yield self.normaliser.event(UnknownRecord, Place(source=whole, key="document"))

    def _printed(self, lines: list[tuple[Any, int, int]]) -> Iterator[AnyEvent]:
        """What the client printed of a run, line by line: (value, offset, length)."""
        tellers: dict[str, _Session] = {}
        for value, offset, length in lines:
            source = Source(str(self._path), offset, length)
            id = value.get("sessionID") if isinstance(value, dict) else None
            if isinstance(id, str):
                teller = tellers.setdefault(id, _Session(self, id, None))
                yield from teller.printed(_Record(value, source, f"@{offset}"))
            else:
                yield self.unread(source, f"@{offset}", "it is no line of a run")

    def _export(self, data: bytes) -> Iterator[AnyEvent]:
        path = str(self._path)
        pieces = pieces_of(data, "messages")
        if pieces is None:
            yield self.unread(Source(path, 0, len(data)), "document", "a session without messages")
            return
        bad = [self.unread(Source(path, start, end - start), f"@{start}", reason) for start, end, reason in pieces.bad]
        header = _Record(_object(pieces.members).get("info", {}), Source(path, 0, pieces.head), "info")
        messages: list[_Record] = []
        parts: dict[str, list[_Record]] = {}
        for start, end in pieces.elements:
            source = Source(path, start, end - start)
            inner = pieces_of(data[start:end], "parts")
            info = _object(data[start:end] if inner is None else inner.members).get("info")
            if not isinstance(info, dict):
                bad.append(self.unread(source, f"@{start}", "a message without its facts"))
                continue
            message = _Record(info, source, f"@{start}")
            messages.append(message)
            for begin, finish in inner.elements if inner is not None else ():
                at = Source(path, start + begin, finish - begin)
                value = _object(data[start + begin : start + finish])
                parts.setdefault(message.id, []).append(_Record(value, at, f"@{at.offset}"))
        yield from self.told(header, messages, parts)
        yield from bad
        rest = Source(path, pieces.end, len(data) - pieces.end)
        if data[pieces.end :].strip():
            yield self.unread(rest, f"@{pieces.end}", pieces.problem or "there is more after the document")

    def _tree(self, session: _Record) -> Iterator[AnyEvent]:
        """A session of the tree, with its messages and parts from the files beside it."""
        root, id = _root_of(self._path), session.id
        if root is None or not _NAME.fullmatch(id):
            yield from self.told(session, [], {})
            return
        older = root / "session" / "message" / id  # as it was while each project had a tree of its own
        folder = older if self._path.absolute().parent.name == "info" else root / "message" / id
        bad: list[AnyEvent] = []
        messages = list(self._records(folder, bad))
        parts = {}
        for message in messages:
            if not _NAME.fullmatch(message.id):
                continue  # what has no such name has no folder either
            within = older.parents[1] / "part" / id / message.id if folder == older else root / "part" / message.id
            parts[message.id] = list(self._records(within, bad))
        first = self._first(id)
        yield from self.told(session, messages, parts, first)
        for kind in ("todo", "session_diff"):
            path = root / kind / f"{id}.json"
            if path.is_file():
                source = Source(str(path), 0, path.stat().st_size)
                stream = "main" if first is None else id
                place = Place(source=source, key=f"{kind}/{id}", session=first or id, stream=stream)
                yield self.normaliser.event(ClientNoted, place, name=kind)
        yield from bad

    def _records(self, folder: Path, bad: list[AnyEvent]) -> Iterator[_Record]:
        for path in files_in(folder, "*.json"):
            try:
                data = path.read_bytes()
            except OSError as error:
                bad.append(self.unread(Source(str(path), 0, 0), path.stem, str(error)))
                continue
            source = Source(str(path), 0, len(data))
            try:
                value = _decoded(data)
            except ValueError as error:
                bad.append(self.unread(source, path.stem, str(error)))
                continue
            if isinstance(value, dict):
                yield _Record(value, source, path.stem)
            else:
                bad.append(self.unread(source, path.stem, "a record is a JSON object"))

    def _first(self, id: str) -> str | None:
        """The session an agent works for: the first of those that spawned one another."""
        folder = self._path.parent
        return _first_of(id, lambda name: _object(beginning(folder / f"{name}.json", 1 << 20)))

    # ── a session ──────────────────────────────────────────────────────────

    def told(
        self,
        session: _Record | str | None,
        messages: Iterable[_Record],
        parts: dict[str, list[_Record]],
        root: str | None = None,
    ) -> Iterator[AnyEvent]:
        """The events of one session: of its record, or of what names it while that is not here."""
        self.normaliser.forget_all()  # a session that was made from another has that one's calls under the same ids
        self.normaliser.returned_ids.clear()
        teller = _Session(self, session, root)
        yield from teller.begun()
        ordered = sorted(messages, key=lambda message: (_created(message.value), message.id))
        for message in ordered:
            yield from teller.message(message, parts.pop(message.id, []))
        for orphans in parts.values():
            yield from teller.message(None, orphans)
        yield from teller.ended()

    def learn(self, name: str) -> None:
        """A tool that ran and is none of the client's own was declared in that run.

        One that was not declared would have been kept as `invalid`. All tools of servers and plug-ins have a mark in
        their names; which part of it is the server's is said nowhere.
        """
        if "_" in name and name not in self._functions and not self.normaliser.at(None).knows(name):
            self._functions.add(name)
            self.normaliser.knowing(functions=self._functions)


class _Tables:
    """Reads the tables of a database."""

    def __init__(self, reader: _Reader, database: sqlite3.Connection, source: Source) -> None:
        self._reader, self._database, self._whole = reader, database, source
        self._bad: list[AnyEvent] = []
        self._latest: str | None = None
        """The session of the user's that was told last: the book-keeping of all stands with it."""

    def events(self) -> Iterator[AnyEvent]:
        import sqlite3

        query = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        tables = [_words(name) for (name,) in self._database.execute(query)]
        sessions = {record.id: record for record in self._sessions()} if "session" in tables else {}
        for id in [*sessions, *sorted(self._homeless(tables, sessions))]:
            try:
                yield from self._session(id, sessions, tables)
            except sqlite3.Error as error:
                yield self._reader.unread(self._row("session", id), f"session:{id}", str(error), id)
        for table in tables:
            if table not in _HELD and not table.startswith("sqlite_"):
                yield from self._noted(table)
        yield from self._bad

    def _row(self, table: str, name: str) -> Source:
        return msgspec.structs.replace(self._whole, row=f"{table}:{name}")

    def _rows(self, query: str, *given: str) -> Iterator[dict[str, Any]]:
        cursor = self._database.execute(query, given)
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield {
                name: _words(value) if isinstance(value, bytes) and name != "data" else value
                for name, value in zip(names, row, strict=True)
            }

    def _readable(self, query: str, table: str, *given: str) -> Iterator[dict[str, Any]]:
        """The rows of a table as far as they can be read: a bad page costs what it holds, another layout that table."""
        import sqlite3

        try:
            yield from self._rows(query, *given)
        except sqlite3.Error as error:
            name = "/".join((table, *given))
            self._bad.append(self._reader.unread(self._row(table, "*"), name, str(error), *given))

    def _sessions(self) -> list[_Record]:
        found = []
        for row in self._readable("SELECT * FROM session", "session"):
            value = {
                "id": row.get("id"),
                "parentID": row.get("parent_id"),
                "directory": row.get("directory"),
                "title": row.get("title"),
                "version": row.get("version"),
                "agent": row.get("agent"),
                "model": _object(_encoded(row.get("model"))),
                "revert": _object(_encoded(row.get("revert"))),
                "time": {"created": row.get("time_created")},
            }
            found.append(_Record(value, self._row("session", str(row.get("id"))), str(row.get("id"))))
        return sorted(found, key=lambda record: (_created(record.value), record.id))

    def _homeless(self, tables: list[str], sessions: Mapping[str, Any]) -> set[str]:
        """Sessions that messages and parts name and no row is of."""
        found: set[str] = set()
        for table in ("message", "part"):
            if table in tables:
                rows = self._readable(f"SELECT DISTINCT session_id FROM {table}", table)
                found |= {str(row["session_id"]) for row in rows}
        return found - sessions.keys()

    def _session(self, id: str, sessions: Mapping[str, _Record], tables: list[str]) -> Iterator[AnyEvent]:
        messages = list(self._held("message", id)) if "message" in tables else []
        parts: dict[str, list[_Record]] = {}
        for part in self._held("part", id) if "part" in tables else ():
            parts.setdefault(str(part.value["messageID"]), []).append(part)
        root = _first_of(id, lambda name: sessions[name].value if name in sessions else {})
        self._latest = root or id
        yield from self._reader.told(sessions.get(id, id), messages, parts, root)

    def _held(self, table: str, session: str) -> Iterator[_Record]:
        for row in self._readable(f"SELECT * FROM {table} WHERE session_id = ? ORDER BY id", table, session):
            id = str(row.get("id"))
            source = self._row(table, id)
            try:
                value = _decoded(_encoded(row.get("data")))
                if not isinstance(value, dict):
                    raise ValueError("a record is a JSON object")
            except ValueError as error:
                self._bad.append(self._reader.unread(source, f"{table}:{id}", str(error), session))
                continue
            value |= {"id": id, "sessionID": session}
            if table == "part":
                value["messageID"] = row.get("message_id")
            yield _Record(value, source, id)

    def _noted(self, table: str) -> Iterator[AnyEvent]:
        import sqlite3

        quoted = table.replace('"', '""')
        place = Place(source=self._row(table, "*"), key=f"table/{table}", session=self._latest)
        try:
            ((count,),) = self._database.execute(f'SELECT count(*) FROM "{quoted}"')
        except sqlite3.Error as error:
            yield self._reader.unread(place.source, place.key, str(error), self._latest)
            return
        if table in _OTHER_TABLES:
            yield self._reader.normaliser.event(ClientNoted, place, name=f"table/{table}", data={"rows": count})
        elif count:
            yield self._reader.normaliser.unknown(place, f"table/{table}")


class _Session:
    """Tells of one session, record by record."""

    def __init__(self, reader: _Reader, session: _Record | str | None, root: str | None) -> None:
        self._reader, self._normaliser = reader, reader.normaliser
        self._record = session if isinstance(session, _Record) else None
        self._value: dict[str, Any] = self._record.value if self._record is not None else {}
        id = session.id if isinstance(session, _Record) else session
        root = root or _text(self._value.get("parentID"))
        self._home, self._stream = (id, "main") if root is None else (root, str(id))
        self._version = _text(self._value.get("version"))
        self._revert = _mapping(self._value.get("revert"))
        self._trigger: str | None = None
        self._last: str | None = None
        self._kept: tuple[str | None] | None = None
        """The last event that still counts, once what was gone back to has been reached."""

    def begun(self) -> Iterator[AnyEvent]:
        if self._record is None:
            return
        model = _mapping(self._value.get("model"))
        place = self._place(self._record, _mapping(self._value.get("time")).get("created"))
        yield self._normaliser.event(
            SessionStarted,
            place,
            cwd=_text(self._value.get("directory")),
            model=_text(model.get("id")) or _text(model.get("modelID")),
            parent_session=_text(self._value.get("parentID")),
            metadata={key: self._value[key] for key in ("title", "agent") if isinstance(self._value.get(key), str)},
        )

    def ended(self) -> Iterator[AnyEvent]:
        if self._revert and self._record is not None:
            place = self._place(self._record, None)
            place.key += "/revert"
            yield self._normaliser.event(HistoryRewound, place, to=self._kept[0] if self._kept else None)

    def message(self, message: _Record | None, parts: list[_Record]) -> Iterator[AnyEvent]:
        """A message and its parts; parts whose message is lost are told as far as they tell themselves."""
        info = message.value if message is not None else {}
        parts = sorted(parts, key=lambda part: part.id)
        events = self._message(message, info, parts)
        for event in self._safely(events, message or parts[0]) if message or parts else ():
            self._last = event.id
            yield event

    def printed(self, line: _Record) -> Iterator[AnyEvent]:
        """A line of a run: a part of the model's, or an error; what the user said is not printed."""
        part, error, time = line.value.get("part"), line.value.get("error"), line.value.get("timestamp")
        if isinstance(part, dict):
            info = {"role": "assistant", "time": {"created": time}}
            yield from self._safely(self._part(_Record(part, line.source, line.name), info, ()), line)
        elif isinstance(error, dict):
            yield self._error(error, self._place(line, time), retried=False)
        else:
            yield self._normaliser.unknown(self._place(line, time), _text(line.value.get("type")))

    def _message(self, message: _Record | None, info: dict[str, Any], parts: list[_Record]) -> Iterator[AnyEvent]:
        if message is not None:
            self._reached(message.id, None)
            yield self._normaliser.event(
                ClientNoted,
                self._place(message, _created(info)),
                name=f"message/{info.get('role')}",
                data={key: info[key] for key in ("agent", "mode") if isinstance(info.get(key), str)},
            )
        media = tuple(read for part in parts if (read := _media(part.value)) is not None)
        for part in parts:
            self._reached(_text(part.value.get("messageID")), part.id)
            for event in self._safely(self._part(part, info, media), part):
                if isinstance(event, UserSaid) and event.by != "client":
                    media = ()
                yield event
        if message is not None and info.get("role") == "assistant":
            yield from self._replied(message, info, parts)

    def _safely(self, events: Iterator[AnyEvent], record: _Record) -> Iterator[AnyEvent]:
        """The same; a record of a known kind in a shape nobody has seen is kept, and costs nothing else."""
        try:
            yield from events
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
            place = self._place(record, None)
            place.key += "/unread"
            yield self._normaliser.event(Unreadable, place, reason=f"{type(error).__name__}: {error}")

    def _place(self, record: _Record, time: Any) -> Place:
        parent = record.value.get("messageID") or record.value.get("parentID")
        return Place(
            source=record.source,
            key=record.id,
            session=self._home,
            stream=self._stream,
            version=self._version,
            time=moment(time),
            parent=parent if isinstance(parent, str) else None,
        )

    def _reached(self, message: str | None, part: str | None) -> None:
        """Whether this is what the user went back to: it and what follows counts no more."""
        at = (self._revert.get("messageID"), self._revert.get("partID"))
        if self._kept is None and message is not None and at == (message, part):
            self._kept = (self._last,)

    # ── parts ──────────────────────────────────────────────────────────────

    def _part(self, part: _Record, info: dict[str, Any], media: tuple[Media, ...]) -> Iterator[AnyEvent]:
        value = part.value
        kind, times = value.get("type"), _mapping(value.get("time"))
        place = self._place(part, times.get("start") or times.get("created") or _created(info))
        model = _text(info.get("modelID"))
        if kind == "text":
            yield self._text(value, info, media, place)
        elif kind == "reasoning":
            text = _text(value.get("text")) or ""
            yield self._normaliser.event(ModelThought, place, text=text, model=model, hidden=not text)
        elif kind == "tool" and isinstance(value.get("tool"), str):
            yield from self._tool(value, place)
        elif kind == "step-finish":
            yield from self._step(value, model, place)
        elif kind == "compaction":
            self._trigger = "auto" if value.get("auto") is True else "manual"
            yield self._normaliser.event(ClientNoted, place, name="part/compaction", data={"trigger": self._trigger})
        elif kind == "retry":
            yield self._error(_mapping(value.get("error")), place, retried=True)
        elif kind == "subtask":
            yield self._subtask(value, place)
        elif isinstance(kind, str) and kind in _NOTED_PARTS:
            yield self._normaliser.event(ClientNoted, place, name=f"part/{kind}")
        else:
            yield self._normaliser.unknown(place, f"part/{kind}" if isinstance(kind, str) else None)

    def _text(self, value: dict[str, Any], info: dict[str, Any], media: tuple[Media, ...], place: Place) -> AnyEvent:
        text, role = _text(value.get("text")) or "", info.get("role")
        if role == "assistant" and info.get("summary") is True:
            trigger, self._trigger = self._trigger, None
            return self._normaliser.event(ContextCompacted, place, summary=text, trigger=trigger)
        if role == "assistant":
            return self._normaliser.event(ModelSaid, place, text=text, model=_text(info.get("modelID")))
        if role != "user":
            return self._normaliser.event(ClientNoted, place, name="part/text", data={"text": text})
        if value.get("synthetic") is True:
            return self._normaliser.event(UserSaid, place, text=text, by="client")
        by = "user" if self._stream == "main" else "agent"
        return self._normaliser.event(UserSaid, place, text=text, media=media, by=by)

    def _subtask(self, value: dict[str, Any], place: Place) -> AnyEvent:
        """Work that a command of the user's gives to an agent."""
        prompt, command = _text(value.get("prompt")) or "", _text(value.get("command"))
        if command is None:
            return self._normaliser.event(UserSaid, place, text=prompt)
        return self._normaliser.event(CommandInvoked, place, name=f"/{command}", arguments=prompt)

    def _tool(self, value: dict[str, Any], place: Place) -> Iterator[AnyEvent]:
        name, state = value["tool"], _mapping(value.get("state"))
        id = _text(value.get("callID")) or place.key
        if id in self._normaliser.calls:  # some providers number the calls of each reply anew
            id = f"{id}/{place.key}"
        self._reader.learn(name)
        given, times, metadata = state.get("input"), _mapping(state.get("time")), _mapping(state.get("metadata"))
        if not given and isinstance(state.get("raw"), str) and state["raw"]:
            given = state["raw"]
        hosted = _mapping(value.get("metadata")).get("providerExecuted") is True
        native = NativeCall(
            id,
            name,
            given if isinstance(given, dict | str) else {} if given is None else str(given),
            executed_by=ExecutedBy.PROVIDER if hosted else ExecutedBy.CLIENT,
        )
        place.time = moment(times.get("start")) or place.time
        yield self._normaliser.called(place, native)
        agent = _text(metadata.get("sessionId")) or _text(metadata.get("sessionID"))
        if agent is not None and name == "task":
            yield self._agent_started(agent, id, _mapping(given), place)
        status = state.get("status")
        if status not in ("completed", "error"):
            return  # it is running, or was when the client ended
        start, end = moment(times.get("start")), moment(times.get("end"))
        place.time = end or place.time
        took = (end - start).total_seconds() if start is not None and end is not None else None
        yield self._normaliser.returned(place, _result(id, value, state), duration=took)
        if agent is not None and name == "task":
            ending = "completed" if status == "completed" else "failed"
            yield self._normaliser.event(AgentEnded, place, agent=agent, status=ending, call_id=id)

    def _agent_started(self, agent: str, id: str, given: dict[str, Any], place: Place) -> AnyEvent:
        return self._normaliser.event(
            AgentStarted,
            place,
            agent=agent,
            agent_session=agent,
            name=_text(given.get("subagent_type")),
            prompt=_text(given.get("prompt")),
            call_id=id,
        )

    # ── how a reply ended ──────────────────────────────────────────────────

    def _step(self, value: dict[str, Any], model: str | None, place: Place) -> Iterator[AnyEvent]:
        tokens = value.get("tokens")
        if isinstance(tokens, dict):
            yield self._tokens(tokens, value.get("cost"), model, place)
        finish = _FINISH.get(str(value.get("reason")), FinishReason.UNKNOWN)
        yield self._normaliser.event(ModelFinished, place, finish=finish, model=model)

    def _tokens(self, tokens: dict[str, Any], cost: Any, model: str | None, place: Place) -> AnyEvent:
        known = cost if isinstance(cost, int | float) and cost > 0 else None  # 0 is also what an unknown price costs
        return self._normaliser.event(TokensUsed, place, usage=_usage(tokens), model=model, cost=known)

    def _replied(self, message: _Record, info: dict[str, Any], parts: list[_Record]) -> Iterator[AnyEvent]:
        """What the message itself knows of its end: what went wrong, and its tokens where no step counted them."""
        place = self._place(message, _mapping(info.get("time")).get("completed") or _created(info))
        place.number = 1
        tokens = info.get("tokens")
        counted = any(part.value.get("type") == "step-finish" for part in parts)
        if isinstance(tokens, dict) and not counted and _usage(tokens).total:
            yield self._tokens(tokens, info.get("cost"), _text(info.get("modelID")), place)
        error = info.get("error")
        if isinstance(error, dict):
            yield self._error(error, place, retried=False)

    def _error(self, error: dict[str, Any], place: Place, *, retried: bool) -> AnyEvent:
        name, data = _text(error.get("name")), _mapping(error.get("data"))
        message = _text(data.get("message")) or name or "an error without words"
        if name == "MessageAbortedError":
            return self._normaliser.event(Interrupted, place, text=message)
        status = data.get("statusCode")
        return self._normaliser.event(
            ErrorOccurred,
            place,
            message=message,
            status=status if isinstance(status, int) else None,
            code=name,
            retried=retried,
        )


# ── what parts say ───────────────────────────────────────────────────────────


def _result(id: str, part: dict[str, Any], state: dict[str, Any]) -> NativeResult:
    failed = state.get("status") == "error"
    text = _text(state.get("error" if failed else "output")) or ""
    attached = state.get("attachments")
    listed = [one for one in attached if isinstance(one, dict)] if isinstance(attached, list) else []
    media = tuple(read for one in listed if (read := _media(one)) is not None)
    return NativeResult(id, (text, *media) if media else text, is_error=failed, item=part)


def _media(part: Mapping[str, Any]) -> Media | None:
    """A file beside the words: its bytes, or where it is."""
    url = part.get("url")
    if part.get("type") != "file" or not isinstance(url, str):
        return None
    kind, name = _text(part.get("mime")) or "application/octet-stream", _text(part.get("filename"))
    head, mark, data = url.partition(";base64,")
    if mark and head.startswith("data:"):
        return Media(kind, data=data, name=name)
    return Media(kind, url=url, name=name)


def _usage(tokens: Mapping[str, Any]) -> Usage:
    """Tokens as they are counted here. The total tells whether thoughts are part of the answer or beside it; where
    there is none they are part of it, unless they are more."""
    cache = _mapping(tokens.get("cache"))
    given, answer, thoughts, total = (_count(tokens.get(key)) for key in ("input", "output", "reasoning", "total"))
    read, written = _count(cache.get("read")), _count(cache.get("write"))
    rest = (given or 0) + (answer or 0) + (read or 0) + (written or 0)
    beside = (thoughts or 0) > (answer or 0) if total is None else total != rest
    return Usage(
        input_tokens=given,
        cached_read_tokens=read,
        cached_write_tokens=written,
        output_tokens=(answer or 0) + (thoughts or 0) if beside else answer,
        reasoning_tokens=thoughts,
    )


def _first_of(id: str, found: Callable[[str], Mapping[str, Any]]) -> str | None:
    """The uppermost of the sessions above one, as far as they are found."""
    first, above = None, found(id).get("parentID")
    seen = {id}
    while isinstance(above, str) and above not in seen:
        seen.add(above)
        first, above = above, found(above).get("parentID")
    return first


def _created(value: Mapping[str, Any]) -> float:
    created = _mapping(value.get("time")).get("created")
    return created if isinstance(created, int | float) and not isinstance(created, bool) else 0


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# ── bytes ────────────────────────────────────────────────────────────────────


def _words(data: Any) -> str:
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)


def _encoded(value: Any) -> bytes:
    return value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else b""


def _lines(data: bytes) -> Iterator[tuple[Any, int, int]]:
    """The JSON values of lines, or nothing for one that is none, with where each stands."""
    offset = 0
    for line in data.splitlines(keepends=True):
        if line.strip():
            try:
                value = _decoded(line)
            except ValueError:
                value = None
            yield value, offset, len(line)
        offset += len(line)


def _decoded(data: bytes) -> Any:
    """A JSON value; also one with half surrogates or a byte order mark, which most readers refuse."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        import json

        try:
            return json.loads(data.decode("utf-8-sig", "surrogateescape"), strict=False)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error


def _object(data: bytes) -> dict[str, Any]:
    """A JSON object; an empty one for what is none."""
    try:
        return _mapping(_decoded(data))
    except ValueError:
        return {}


FORMAT = Opencode()
