"""Full text of all sessions: what was said, thought, called and returned, in an index of words (SQLite's FTS5).

Rules: a file is read when it, or what is read with it, has changed, in one transaction; entries of files that are gone
are removed. Of one text the first 16,000 characters are indexed. The file can be deleted at any time: it is made again.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman import config
from dragoman.config.files import make_private
from dragoman.errors import LogError
from dragoman.model import events as ev, outcomes as out

from .export.blocks import outcome_blocks
from .history.discover import Found, read_log
from .history.indexed_file import FACTS, facts_of, name_of
from .history.layout import microseconds, moment_of
from .history.sessions import key_of, numbered
from .history.tables import as_json, failure_of, tag_of

_LAYOUT: Final = 4
LONGEST: Final = 16_000
_COLUMNS: Final = (
    *("session", "stream", "turn", "event", "kind", "client"),
    *("tool", "operation", "path", "failed", "time", "text"),
)
START, END = "\ue000", "\ue001"
"""What stands around a word that was found, in the snippet of a hit."""


class Hit(msgspec.Struct, kw_only=True):
    """An entry that holds what was sought."""

    session: str
    stream: str
    turn: int | None
    event: str
    """The id of the event; that of the call for a result."""
    kind: str
    """user, model, thought, call, result, note or error."""
    client: str | None
    tool: str | None
    operation: str | None
    path: str | None
    failed: bool
    time: Any
    snippet: str


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is sought: words that must all occur (`"two words"` together, the last one as a beginning), and filters."""

    words: str = ""
    client: str | None = None
    tool: str | None = None
    operation: str | None = None
    path: str | None = None
    """A part of the path that an operation is about."""
    failed: bool = False
    sessions: frozenset[str] | None = None
    """Only these sessions."""


class FullText:
    """An index of words over logs, in the user's cache folder or in memory."""

    def __init__(self, path: Path | None = None, *, in_memory: bool = False) -> None:
        place = None if in_memory else path or config.current().cache_dir / "search.sqlite"
        try:
            self._database = _opened(place)
        except (sqlite3.Error, OSError):
            with suppress(OSError):  # damaged: it is made again
                if place is not None:
                    os.unlink(place)
            try:
                self._database = _opened(place)
            except (sqlite3.Error, OSError):  # nowhere to write to: for this process only
                place = None
                self._database = _opened(None)
        self.is_in_memory = place is None

    def close(self) -> None:
        """Closes the database."""
        self._database.close()

    def update(self, found: Iterable[Found], progress: Callable[[int], None] | None = None) -> int:
        """Reads the files that changed; returns how many these were.

        Of the others nothing is held, for there may be very many.
        """
        database, read = self._database, 0
        seen = bytearray((database.execute("SELECT max(id) FROM files").fetchone()[0] or 0) + 1)
        for one in found:
            name, facts = name_of(one.name), facts_of(one)
            if facts is not None:
                which = f"SELECT id, {', '.join(FACTS)} FROM files WHERE path = ?"
                id, *known = database.execute(which, (name,)).fetchone() or (None,)
                if id is not None and id < len(seen):
                    seen[id] = 1
                if tuple(known) != facts:
                    self._read(one, name, id, facts)
                    read += 1
            if progress is not None:
                progress(1)
        for id in [id for (id,) in database.execute("SELECT id FROM files") if id < len(seen) and not seen[id]]:
            database.execute("BEGIN IMMEDIATE")
            self._forget(id)
            database.execute("COMMIT")
        return read

    def _read(self, found: Found, name: str, id: int | None, facts: tuple[Any, ...]) -> None:
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        try:
            if id is not None:
                self._forget(id)
            marks = ", ".join("?" * (len(FACTS) + 1))
            added = f"INSERT INTO files(path, {', '.join(FACTS)}) VALUES ({marks})"
            id = database.execute(added, (name, *facts)).lastrowid
            marks = ", ".join("?" * (len(_COLUMNS) + 1))
            with suppress(LogError):  # `dragoman doctor` tells what cannot be read
                database.executemany(
                    f"INSERT INTO entries(file, {', '.join(_COLUMNS)}) VALUES ({marks})",
                    ((id, *entry) for entry in entries_of(numbered(read_log(found)))),
                )
            database.execute("INSERT INTO words(rowid, text) SELECT id, text FROM entries WHERE file = ?", (id,))
        except BaseException:
            database.execute("ROLLBACK")
            raise
        database.execute("COMMIT")

    def _forget(self, id: int) -> None:
        # The index of words is told what it must forget: it keeps no texts of its own.
        self._database.execute(
            "INSERT INTO words(words, rowid, text) SELECT 'delete', id, text FROM entries WHERE file = ?", (id,)
        )
        self._database.execute("DELETE FROM entries WHERE file = ?", (id,))
        self._database.execute("DELETE FROM files WHERE id = ?", (id,))

    def search(self, wanted: Wanted, *, limit: int = 50, offset: int = 0) -> tuple[list[Hit], int]:
        """The best hits, and how many there are in all; without words the newest entries that fit."""
        conditions, values = _conditions(wanted)
        match = _match(wanted.words)
        if match is None and not conditions:
            return [], 0
        if wanted.sessions is not None:
            self._database.execute("CREATE TEMP TABLE IF NOT EXISTS chosen(session PRIMARY KEY)")
            self._database.execute("DELETE FROM chosen")
            self._database.executemany("INSERT INTO chosen VALUES (?)", ((one,) for one in wanted.sessions))
            conditions.append("entries.session IN (SELECT session FROM chosen)")
        columns = ", ".join(f"entries.{name}" for name in _COLUMNS[:-1])
        if match is None:
            source, order, text = "entries", "entries.time DESC", "substr(entries.text, 1, 200)"
        else:
            source, order = "words JOIN entries ON entries.id = words.rowid", "bm25(words), entries.id"
            text = f"snippet(words, 0, '{START}', '{END}', '…', 24)"
            conditions.insert(0, "words MATCH ?")
            values.insert(0, match)
        where = " AND ".join(conditions)
        (total,) = self._database.execute(f"SELECT count(*) FROM {source} WHERE {where}", values).fetchone()
        rows = self._database.execute(
            f"SELECT {columns}, {text} FROM {source} WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?",
            (*values, limit, offset),
        )
        return [_hit(row) for row in rows], total


def _opened(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        make_private(path)
    database = sqlite3.connect(":memory:" if path is None else path, isolation_level=None, check_same_thread=False)
    try:
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        version = _version()
        database.execute("CREATE TABLE IF NOT EXISTS about(version TEXT)")
        if database.execute("SELECT version FROM about").fetchall() != [(version,)]:
            for (name,) in database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
                " AND name NOT LIKE 'words_%'"
            ).fetchall():
                database.execute(f'DROP TABLE IF EXISTS "{name}"')
            for statement in _STATEMENTS:
                database.execute(statement)
            database.execute("INSERT INTO about VALUES (?)", (version,))
    except BaseException:
        database.close()
        raise
    return database


def _version() -> str:
    from importlib.metadata import version

    return f"{version('dragoman')}/{_LAYOUT}"


_STATEMENTS: Final = (
    "CREATE TABLE about(version TEXT)",
    f"CREATE TABLE files(id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT UNIQUE, {', '.join(FACTS)})",
    f"CREATE TABLE entries(id INTEGER PRIMARY KEY, file INTEGER, {', '.join(_COLUMNS)})",
    "CREATE INDEX entries_file ON entries(file)",
    "CREATE VIRTUAL TABLE words USING fts5(text, content='entries', content_rowid='id', tokenize='unicode61')",
)


def entries_of(events: Iterable[ev.AnyEvent]) -> Iterator[tuple[Any, ...]]:
    """What of these events is searched, as rows; a result comes with what its call was."""
    calls: dict[tuple[tuple[str, str], str], tuple[str, str, str | None, str | None]] = {}
    for event in events:
        key = key_of(event)
        tool = operation = path = None
        failed, at = False, event.id
        match event:
            case ev.UserSaid(by="client"):
                continue
            case ev.UserSaid():
                kind, text = "user", event.text
            case ev.ModelSaid():
                kind, text = "model", event.text
            case ev.ModelThought():
                kind, text = "thought", event.text
            case ev.ErrorOccurred():
                kind, text, failed = "error", event.message, True
            case ev.ContextCompacted():
                kind, text = "note", event.summary or ""
            case ev.ToolCalled():
                call = event.call
                first = call.operations[0] if call.operations else None
                about = getattr(first, "path", None)
                tool, operation = call.native.name, None if first is None else tag_of(first)
                path = about if isinstance(about, str) else None
                calls[key, call.id] = (event.id, tool, operation, path)
                said = call.native.arguments
                kind, text = "call", f"{tool} {said if isinstance(said, str) else as_json(said)}"
            case ev.ToolReturned():
                known = calls.get((key, event.result.call_id))
                if known is not None:
                    at, tool, operation, path = known
                failed = any(failure_of(one, event.result.native) is not None for one in event.result.outcomes)
                kind, text = "result", "\n".join(_shown(one) for one in event.result.outcomes)
            case _:
                continue
        if text.strip() or failed:  # a command may fail without a word
            time = None if event.time is None else microseconds(event.time)
            text = text[:LONGEST].encode("utf-8", "replace").decode()
            yield (*key, event.turn, at, kind, event.client, tool, operation, path, failed, time, text)


def _shown(outcome: out.Outcome) -> str:
    """What people see of an outcome: what is found is said as it is shown."""
    return "\n".join(block.text for block in outcome_blocks(outcome))


def _conditions(wanted: Wanted) -> tuple[list[str], list[Any]]:
    conditions: list[str] = []
    values: list[Any] = []
    for name in ("client", "tool", "operation"):
        said = getattr(wanted, name)
        if said:
            conditions.append(f"entries.{name} = ?")
            values.append(said)
    if wanted.path:
        conditions.append("instr(entries.path, ?) > 0")
        values.append(wanted.path)
    if wanted.failed:
        conditions.append("entries.failed")
    return conditions, values


_WORD: Final = re.compile(r'"([^"]+)"|(\S+)')


def _match(words: str) -> str | None:
    """What people type → what FTS5 reads; all of it is text, nothing of it a command."""
    found = [first or second for first, second in _WORD.findall(words)]
    found = [one for one in (word.replace('"', "").strip() for word in found) if any(map(str.isalnum, one))]
    if not found:
        return None
    quoted = [f'"{one}"' for one in found]
    if not words.rstrip().endswith('"') and not words.endswith(" "):
        quoted[-1] += "*"
    return " ".join(quoted)


def _hit(row: tuple[Any, ...]) -> Hit:
    values = dict(zip((*_COLUMNS[:-1], "snippet"), row, strict=True))
    return Hit(**{**values, "failed": bool(values["failed"]), "time": moment_of(values["time"])})
