"""How the tables of the history are stored in SQLite: small columns as they are, texts compressed file by file.

Rules: a row names its stream by a number (`scopes`), not by file, session and stream. What is only ever shown (texts,
ids, JSON) is no column: it lies in one compressed blob for each time a file was read, and the row's `place` says where
in it. Everything that is counted or looked for is a column; names that come again and again are numbers (`words`).
`Index.rows` puts all of it together again.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import operator
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from .rows import KEYS, TABLES, AgentRow, Row
from .tables import Built

TEXTS: Final[dict[str, tuple[str, ...]]] = {
    "sessions": (),
    "turns": ("text",),
    "steps": ("said", "thought"),
    "calls": ("call_id", "event", "arguments"),
    "operations": ("call_id", "path", "about", "data"),
    "outcomes": ("call_id", "text"),
    "usage": ("event", "provider_id", "exchange", "requests"),
}
"""Table → its columns that lie in the blob."""
WORDS: Final[dict[str, frozenset[str]]] = {
    "sessions": frozenset({"client"}),
    "turns": frozenset({"opened_by", "said_by"}),
    "steps": frozenset({"model", "finish"}),
    "calls": frozenset(
        {"name", "namespace", "executed_by", "called_by", "operation", "status", "failure", "verdict", "model"}
    ),
    "operations": frozenset({"type", "kind"}),
    "outcomes": frozenset({"type", "failure"}),
    "usage": frozenset({"client", "model"}),
}
"""Table → its columns whose values are few: they are numbers of the table `words`."""
COMPUTED: Final = {"sessions": ("repository", "agents"), "usage": ("cost",)}
"""Columns that are made when they are asked for: they depend on settings, or on folders."""
NAMED: Final = ("file", "session", "stream")
"""What a scope says of all its rows."""
_PART: Final = 32
"""Bits of a place within one reading of a file."""
_PARTS: Final = 20
"""Bits of the number of a reading."""
_LEVEL: Final = 1
"""Of compression: the quickest is within a tenth of the best here."""

SCOPES: Final = (
    "CREATE TABLE scopes(id INTEGER PRIMARY KEY, file INTEGER, session TEXT, stream TEXT)",
    "CREATE INDEX scopes_file ON scopes(file)",
    "CREATE INDEX scopes_session ON scopes(session)",
    "CREATE INDEX scopes_stream ON scopes(stream) WHERE stream <> 'main'",
    "CREATE TABLE words(id INTEGER PRIMARY KEY, word TEXT UNIQUE NOT NULL)",
    "CREATE TABLE texts(id INTEGER PRIMARY KEY, provisional INTEGER, data BLOB)",
)
SUMMED: Final = (
    *("input_tokens", "cached_read_tokens", "cached_write_tokens", "output_tokens"),
    *("reasoning_tokens", "tool_tokens", "tokens"),
)
"""What of exchanges is added up."""
_OF_SUMS: Final = ("session", "scope", "number", "hour", "client")
USAGE_SUMS: Final = (
    *(*_OF_SUMS, "model", "repeated", "sort", "prompt"),
    *("exchanges", "logged", "unsaid", "doubtful", *SUMMED),
)
CALL_SUMS: Final = (*_OF_SUMS, "kinds", "seconds")
SUMS: Final = {"usage_sums": USAGE_SUMS, "call_sums": CALL_SUMS}
"""Table of sums (`sums`) → its columns."""
CALL_KINDS: Final = ("name", "operation", "model", "status", "failure")
AGENTS: Final = AgentRow.__struct_fields__[len(NAMED) :]


@functools.cache
def columns(table: str) -> tuple[str, ...]:
    """The columns of a table that are stored as such."""
    left_out = {*NAMED, *TEXTS[table], *COMPUTED.get(table, ())}
    return tuple(name for name in TABLES[table].__struct_fields__ if name not in left_out)


def statements() -> Iterator[str]:
    """What makes the tables. A number that is joined has a type: without one SQLite does not look it up by its key."""
    yield from SCOPES
    for table in TABLES:
        keys = KEYS.get(table)
        own = (*columns(table), *(("exchange_key INTEGER",) if table == "usage" else ()))
        if keys is None:
            named = ", ".join(("scope INTEGER", "place INTEGER", "provisional", *own))
            yield f"CREATE TABLE {table}({named}, PRIMARY KEY(scope, place)) WITHOUT ROWID"
        else:
            counted = keys[len(NAMED) - 1 :]
            more = (one for one in own if one not in counted)
            named = ", ".join(("scope INTEGER", *counted, "provisional", "place INTEGER", *more))
            key = ", ".join(("scope", *counted, "provisional"))
            yield f"CREATE TABLE {table}({named}, PRIMARY KEY({key})) WITHOUT ROWID"
    yield "CREATE INDEX usage_exchange ON usage(exchange_key) WHERE exchange_key IS NOT NULL"
    yield f"CREATE TABLE agents(scope INTEGER, provisional INTEGER, {', '.join(AGENTS)})"
    yield "CREATE INDEX agents_scope ON agents(scope)"
    for table, names in SUMS.items():
        yield f"CREATE TABLE {table}({', '.join(names)}, PRIMARY KEY(session, scope, number)) WITHOUT ROWID"
    yield f"CREATE TABLE call_kinds(id INTEGER PRIMARY KEY, {', '.join(CALL_KINDS)})"


def exchange_key(exchange: str | None) -> int | None:
    """A number for the name of an exchange, to look it up by."""
    if exchange is None:
        return None
    digest = hashlib.blake2b(exchange.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


# ── texts ────────────────────────────────────────────────────────────────────

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, list[list[str | None]]]).decode


def first_text(file: int) -> int:
    """The number of a file's first blob."""
    return file << _PARTS


def place_of(part: int, number: int) -> int:
    """Where the texts of a row lie: in the blob of which reading, and which of its table's there."""
    return part << _PART | number


def packed(texts: dict[str, list[list[str | None]]]) -> bytes | None:
    """Texts as they are stored; `None` where there are none."""
    kept = {table: rows for table, rows in texts.items() if rows}
    return zlib.compress(_encode(kept), _LEVEL) if kept else None


class FileTexts:
    """The texts of the file whose rows are gone through, read when the first of them is asked for."""

    def __init__(self, database: Any, table: str) -> None:
        self._database, self._table = database, table
        self._file = -1
        self._parts: dict[int, list[list[str | None]]] = {}

    def at(self, file: int, place: int) -> Sequence[str | None]:
        """The texts of a row, in the order of `TEXTS`."""
        if file != self._file:
            begin = first_text(file)
            found = self._database.execute(
                "SELECT id, data FROM texts WHERE id BETWEEN ? AND ?", (begin, first_text(file + 1) - 1)
            )
            self._parts = {id - begin: _decode(zlib.decompress(data)).get(self._table, []) for id, data in found}
            self._file = file
        return self._parts[place >> _PART][place & ((1 << _PART) - 1)]


def texts_of(table: str, rows: Iterable[Row]) -> list[list[str | None]]:
    """What of the rows of a table goes into the blob."""
    names = TEXTS[table]
    return [[getattr(row, name) for name in names] for row in rows] if names else []


# ── words ────────────────────────────────────────────────────────────────────


class Words:
    """The numbers of names that come again and again; of those that are written, and of those that are read."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._words: dict[int | None, str | None] = {None: None}

    def forget(self) -> None:
        """To be called when what was written last is taken back."""
        self.__init__()  # type: ignore[misc]

    def number(self, database: Any, word: str | None) -> int | None:
        """The number of a word, which is written if it is new."""
        if word is None:
            return None
        found = self._numbers.get(word)
        if found is None:
            written = word.encode("utf-8", "replace").decode()
            database.execute("INSERT OR IGNORE INTO words(word) VALUES (?)", (written,))
            (found,) = database.execute("SELECT id FROM words WHERE word = ?", (written,)).fetchone()
            self._numbers[word] = found
        return found

    def known(self, database: Any) -> dict[int | None, str | None]:
        """Number → word, of all there are."""
        newest = database.execute("SELECT max(id) FROM words").fetchone()[0]
        if newest not in self._words:
            self._words = {None: None, **dict(database.execute("SELECT id, word FROM words"))}
        return self._words


# ── cells ────────────────────────────────────────────────────────────────────

TIMES: Final = frozenset({"started", "ended", "time", "returned"})
LISTS: Final = frozenset({"models"})


class Writing:
    """The rows of one reading of a file, as they are written."""

    def __init__(self, database: sqlite3.Connection, file: int, words: Words) -> None:
        self._database, self._file, self._words = database, file, words
        known = database.execute("SELECT session, stream, id FROM scopes WHERE file = ?", (file,))
        self._scopes = {(session, stream): id for session, stream, id in known}
        begin = first_text(file)
        last = database.execute("SELECT max(id) FROM texts WHERE id BETWEEN ? AND ?", (begin, first_text(file + 1) - 1))
        self._part = (last.fetchone()[0] or begin - 1) - begin + 1

    def write(self, firm: Built, provisional: Built) -> None:
        """Writes what was read: for good, and what the end of the file alone told."""
        for is_provisional, built in enumerate((firm, provisional)):
            self._write(built, is_provisional)
            self._part += 1

    def _write(self, built: Built, provisional: int) -> None:
        texts = {}
        for table, rows in built.tables.items():
            if rows:
                texts[table] = texts_of(table, rows)
                self._insert(table, ("place", *columns(table)), self._numbered(table, rows), provisional)
        self._insert("agents", AGENTS, zip(built.agents, map(cells_of(AGENTS), built.agents), strict=True), provisional)
        try:
            data = packed(texts)
        except UnicodeEncodeError:
            data = packed({table: [list(map(writable, row)) for row in rows] for table, rows in texts.items()})
        if data is not None:
            row = (first_text(self._file) + self._part, provisional, data)
            self._database.execute("INSERT INTO texts VALUES (?, ?, ?)", row)

    def _numbered(self, table: str, rows: Iterable[Row]) -> Iterator[tuple[Row, Iterable[Any]]]:
        names = columns(table)
        cells = cells_of(names)
        words = [place for place, name in enumerate(names, 1) if name in WORDS[table]]
        number_of = functools.partial(self._words.number, self._database)
        for number, row in enumerate(rows):
            found = [place_of(self._part, number), *cells(row)]
            for place in words:
                found[place] = number_of(found[place])
            yield row, found

    def _insert(
        self, table: str, names: tuple[str, ...], rows: Iterable[tuple[Row, Iterable[Any]]], provisional: int
    ) -> None:
        values: list[tuple[Any, ...]]
        if table == "usage":
            names = (*names, "exchange_key")
            values = [
                (self._scope(row), provisional, *cells, exchange_key(row.exchange))  # type: ignore[attr-defined]
                for row, cells in rows
            ]
        else:
            values = [(self._scope(row), provisional, *cells) for row, cells in rows]
        statement = (
            f"INSERT OR REPLACE INTO {table}(scope, provisional, {', '.join(names)})"
            f" VALUES ({', '.join('?' * (len(names) + 2))})"
        )
        try:
            self._database.executemany(statement, values)
        except (UnicodeEncodeError, OverflowError):
            self._database.executemany(statement, [tuple(map(writable, row)) for row in values])

    def _scope(self, row: Row) -> int:
        key = row.session, row.stream
        found = self._scopes.get(key)
        if found is None:
            values = (self._file, *map(writable, key))
            made = self._database.execute("INSERT INTO scopes(file, session, stream) VALUES (?, ?, ?)", values)
            found = self._scopes[key] = int(made.lastrowid or 0)
        return found


@functools.cache
def cells_of(names: tuple[str, ...]) -> Callable[[Row], Iterable[Any]]:
    """What gives the cells of a row as they are stored."""
    get = operator.attrgetter(*names)
    times = [place for place, name in enumerate(names) if name in TIMES]
    lists = [place for place, name in enumerate(names) if name in LISTS]
    if not times and not lists:
        return get

    def cells(row: Row) -> list[Any]:
        found = list(get(row))
        for place in times:
            if found[place] is not None:
                found[place] = microseconds(found[place])
        for place in lists:
            found[place] = json_text(found[place])
        return found

    return cells


def writable(cell: Any) -> Any:
    """Half surrogates have no UTF-8, and a number may be longer than a column: the log itself still has both."""
    if isinstance(cell, str):
        return cell.encode("utf-8", "replace").decode()
    return None if isinstance(cell, int) and abs(cell) >= 1 << 63 else cell


def json_text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_FIRST, _LAST = (
    round(one.replace(tzinfo=datetime.UTC).timestamp()) * 1_000_000
    for one in (datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 31))
)


def microseconds(time: datetime.datetime) -> int | None:
    """A time as it is stored; one at the end of all days, which is none in UTC, is not known."""
    count = round(time.timestamp() * 1_000_000)
    return count if _FIRST <= count <= _LAST else None


def moment_of(count: int | None) -> datetime.datetime | None:
    """A time as it was stored."""
    return None if count is None else datetime.datetime.fromtimestamp(count / 1_000_000, datetime.UTC)
