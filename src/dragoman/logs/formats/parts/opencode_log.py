"""The sessions of opencode, and of clients made from it: a SQLite database, the older tree of JSON files, a session
exported as one document, and the lines `opencode run --format json` prints.

They hold the same things: a session, its messages, and each message's parts; a tool's part is the call and its result
in one. Lines hold the model's parts alone, each when it is done. A database is only ever read: from a copy of its
bytes, with the log (`-wal`) that stands beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from dragoman.logs.base.database import SQLITE, Copy, beginning, glanced, log_beside
from dragoman.logs.base.format import Gathered, LogFormat, LogReader, Places, Sample
from dragoman.logs.base.json_ranges import pieces_of
from dragoman.logs.base.listing import files_in, read_beside
from dragoman.logs.base.normalise import Normaliser, Place
from dragoman.model import (
    AnyEvent,
    ClientNoted,
    Source,
    UnknownRecord,
    Unreadable,
)
from dragoman.model.json_values import as_object

from .opencode_session import Record, Session, created

if TYPE_CHECKING:
    import sqlite3

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
        "kilo_board",
        "kilo_board_message",
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

_PRINTED = frozenset({"error", "reasoning", "step_finish", "step_start", "text", "tool_use"})


class OpencodeLog(LogFormat):
    """The format; see the module. A client made from opencode keeps its files elsewhere, in a folder of its name."""

    folder: ClassVar[str]
    """The folder of the client's data."""
    variable: ClassVar[str]
    """The environment variable that names its database."""

    def recognise(self, sample: Sample) -> float:
        if sample.head.startswith(SQLITE):
            return 0.95 if holds_sessions(sample.path) else 0.0
        if isinstance(sample.document, dict):
            return 0.95 if _kind_of(sample.document) is not None else 0.0
        if any(is_printed(record) for record in sample.records):
            return 0.9
        return 0.6 if _CUT_EXPORT.match(sample.head) else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        named = places.environment.get(self.variable, "")
        if named and Path(named).is_absolute():
            yield Path(named).parent
        for variable in ("XDG_DATA_HOME", *(("LOCALAPPDATA", "APPDATA") if places.system == "win32" else ())):
            if places.environment.get(variable):
                yield Path(places.environment[variable]) / self.folder
        yield places.home / ".local" / "share" / self.folder
        if places.system == "darwin":
            yield places.home / "Library" / "Application Support" / self.folder

    def files(self, home: Path) -> Iterator[Path]:
        databases = [path for path in files_in(home, "*.db") if holds_sessions(path)]
        yield from databases
        # The tree of files stays after its sessions were migrated to a database (no home seen has both).
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

    members = (
        (r"(.*)/session/(?:message|part)/(\w+)/(?:\w+/)?\w+\.json", r"\1/session/info/\2.json"),
        (r"(.*)/message/(\w+)/\w+\.json", r"\1/session/*/\2.json"),
        (r"(.*)/part/(msg_\w+)/\w+\.json", r"\1/message/*/\2.json"),
    )

    def related(self, path: Path) -> Iterator[Path]:
        """The sessions that spawned this one, each where the one below it names it."""
        if path.suffix != ".json" or _root_of(path) is None:
            return
        seen, one = {path}, path
        while isinstance(above := _object(beginning(one, 1 << 20)).get("parentID"), str) and _NAME.fullmatch(above):
            one = path.with_name(f"{above}.json")
            if one in seen:
                return
            seen.add(one)
            yield one

    def companions(self, path: Path) -> Iterator[Path]:
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
        return _Reader(path, self.name, self.dialect)


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
    if is_printed(document):
        return "line"
    if id.startswith("msg_") and document.get("role") in ("user", "assistant"):
        return "message"
    return "part" if id.startswith("prt_") and {"messageID", "type"} <= document.keys() else None


def is_printed(record: Any) -> bool:
    """Whether a line is one that the client prints: a part that is done, or an error, and of which session."""
    if not isinstance(record, dict) or not isinstance(record.get("sessionID"), str) or "timestamp" not in record:
        return False
    kind, part = record.get("type"), record.get("part")
    return kind in _PRINTED and (isinstance(record.get("error"), dict) if kind == "error" else isinstance(part, dict))


# ── databases ────────────────────────────────────────────────────────────────


def holds_sessions(path: Path) -> bool:
    """Whether a database has the client's tables; those of a new one may still be in the log beside it."""
    names = {name for (name,) in glanced(path, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    if names >= set(_HELD):
        return True
    logged = beginning(log_beside(path), 1 << 20)
    return all(re.search(rb"CREATE TABLE\s+[`\"]?%b\b" % name.encode(), logged) for name in _HELD)


# ── reading ──────────────────────────────────────────────────────────────────


class _Reader(LogReader):
    def __init__(self, path: Path, client: str, dialect: str) -> None:
        self._path = path
        self._begin = b""
        self._copy: Copy | None = None
        self._pieces = Gathered(path)
        self.normaliser = Normaliser(dialect, client, path.stem)
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
            if any(is_printed(line) for line, _, _ in lines):
                yield from self._printed(lines)
            else:
                yield self.unread(whole, "document", str(error))
            return
        kind = _kind_of(value) if isinstance(value, dict) else None
        record = Record(value, whole, self._path.stem)
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
        tellers: dict[str, Session] = {}
        for value, offset, length in lines:
            source = Source(str(self._path), offset, length)
            id = value.get("sessionID") if isinstance(value, dict) else None
            if isinstance(id, str):
                teller = tellers.setdefault(id, Session(self.normaliser, self.learn, id, None))
                yield from teller.printed(Record(value, source, f"@{offset}"))
            else:
                yield self.unread(source, f"@{offset}", "it is no line of a run")

    def _export(self, data: bytes) -> Iterator[AnyEvent]:
        path = str(self._path)
        pieces = pieces_of(data, "messages")
        if pieces is None:
            yield self.unread(Source(path, 0, len(data)), "document", "a session without messages")
            return
        bad = [self.unread(Source(path, start, end - start), f"@{start}", reason) for start, end, reason in pieces.bad]
        header = Record(_object(pieces.members).get("info", {}), Source(path, 0, pieces.head), "info")
        messages: list[Record] = []
        parts: dict[str, list[Record]] = {}
        for start, end in pieces.elements:
            source = Source(path, start, end - start)
            inner = pieces_of(data[start:end], "parts")
            info = _object(data[start:end] if inner is None else inner.members).get("info")
            if not isinstance(info, dict):
                bad.append(self.unread(source, f"@{start}", "a message without its facts"))
                continue
            message = Record(info, source, f"@{start}")
            messages.append(message)
            for begin, finish in inner.elements if inner is not None else ():
                at = Source(path, start + begin, finish - begin)
                value = _object(data[start + begin : start + finish])
                parts.setdefault(message.id, []).append(Record(value, at, f"@{at.offset}"))
        yield from self.told(header, messages, parts)
        yield from bad
        rest = Source(path, pieces.end, len(data) - pieces.end)
        if data[pieces.end :].strip():
            yield self.unread(rest, f"@{pieces.end}", pieces.problem or "there is more after the document")

    def _tree(self, session: Record) -> Iterator[AnyEvent]:
        """A session of the tree, with its messages and parts from the files beside it."""
        root, id = _root_of(self._path), session.id
        if root is None or not _NAME.fullmatch(id):
            yield from self.told(session, [], {})
            return
        older = root / "session" / "message" / id  # each project had its own tree (before 1.0.162)
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

    def _records(self, folder: Path, bad: list[AnyEvent]) -> Iterator[Record]:
        for path in files_in(folder, "*.json"):
            try:
                data = read_beside(path)
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
                yield Record(value, source, path.stem)
            else:
                bad.append(self.unread(source, path.stem, "a record is a JSON object"))

    def _first(self, id: str) -> str | None:
        """The session an agent works for: the first of those that spawned one another."""
        folder = self._path.parent
        return _first_of(id, lambda name: _object(beginning(folder / f"{name}.json", 1 << 20)))

    # ── a session ──────────────────────────────────────────────────────────

    def told(
        self,
        session: Record | str | None,
        messages: Iterable[Record],
        parts: dict[str, list[Record]],
        root: str | None = None,
    ) -> Iterator[AnyEvent]:
        """The events of one session: of its record, or of what names it while that is not here."""
        self.normaliser.forget_all()  # another session of the file may have the same ids
        self.normaliser.returned_ids.clear()
        teller = Session(self.normaliser, self.learn, session, root)
        yield from teller.begun()
        ordered = sorted(messages, key=lambda message: (created(message.value), message.id))
        for message in ordered:
            yield from teller.message(message, parts.pop(message.id, []))
        for orphans in parts.values():
            yield from teller.message(None, orphans)
        yield from teller.ended()

    def learn(self, name: str) -> None:
        """A tool that ran and is none of the client's own was declared in that run.

        One that was not declared would have been kept as `invalid` (1.0.162 to 1.18.4). All tools of servers and
        plug-ins have a mark in their names; which part of it is the server's is said nowhere.
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

    def _sessions(self) -> list[Record]:
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
            found.append(Record(value, self._row("session", str(row.get("id"))), str(row.get("id"))))
        return sorted(found, key=lambda record: (created(record.value), record.id))

    def _homeless(self, tables: list[str], sessions: Mapping[str, Any]) -> set[str]:
        """Sessions that messages and parts name and no row is of."""
        found: set[str] = set()
        for table in ("message", "part"):
            if table in tables:
                rows = self._readable(f"SELECT DISTINCT session_id FROM {table}", table)
                found |= {str(row["session_id"]) for row in rows}
        return found - sessions.keys()

    def _session(self, id: str, sessions: Mapping[str, Record], tables: list[str]) -> Iterator[AnyEvent]:
        messages = list(self._held("message", id)) if "message" in tables else []
        parts: dict[str, list[Record]] = {}
        for part in self._held("part", id) if "part" in tables else ():
            parts.setdefault(str(part.value["messageID"]), []).append(part)
        root = _first_of(id, lambda name: sessions[name].value if name in sessions else {})
        self._latest = root or id
        yield from self._reader.told(sessions.get(id, id), messages, parts, root)

    def _held(self, table: str, session: str) -> Iterator[Record]:
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
            yield Record(value, source, id)

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


# ── what parts say ───────────────────────────────────────────────────────────


def _first_of(id: str, found: Callable[[str], Mapping[str, Any]]) -> str | None:
    """The uppermost of the sessions above one, as far as they are found."""
    first, above = None, found(id).get("parentID")
    seen = {id}
    while isinstance(above, str) and above not in seen:
        seen.add(above)
        first, above = above, found(above).get("parentID")
    return first


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
        return as_object(_decoded(data))
    except ValueError:
        return {}
