"""How the tables of the history are stored in SQLite: small columns as they are, texts compressed file by file.

Rules: a row names its stream by a number (`scopes`), not by file, session and stream. What is only ever shown (texts,
ids, JSON) is no column: it lies in one compressed blob for each time a file was read, and the row's `place` says where
in it. Everything that is counted or looked for is a column; names that come again and again are numbers (`words`).
`Index.rows` puts all of it together again.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from .rows import KEYS, TABLES, AgentRow, Row

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
AGENTS: Final = AgentRow.__struct_fields__[len(NAMED) :]


def columns(table: str) -> tuple[str, ...]:
    """The columns of a table that are stored as such."""
    left_out = {*NAMED, *TEXTS[table], *COMPUTED.get(table, ())}
    return tuple(name for name in TABLES[table].__struct_fields__ if name not in left_out)


def statements() -> Iterator[str]:
    """What makes the tables."""
    yield from SCOPES
    for table in TABLES:
        keys = KEYS.get(table)
        own = (*columns(table), *(("exchange_key",) if table == "usage" else ()))
        if keys is None:
            named = ", ".join(("scope", "place", "provisional", *own))
            yield f"CREATE TABLE {table}({named}, PRIMARY KEY(scope, place)) WITHOUT ROWID"
        else:
            counted = keys[len(NAMED) - 1 :]
            named = ", ".join(("scope", *counted, "provisional", "place", *(one for one in own if one not in counted)))
            key = ", ".join(("scope", *counted, "provisional"))
            yield f"CREATE TABLE {table}({named}, PRIMARY KEY({key})) WITHOUT ROWID"
    yield "CREATE INDEX usage_exchange ON usage(exchange_key) WHERE exchange_key IS NOT NULL"
    yield f"CREATE TABLE agents(scope INTEGER, provisional INTEGER, {', '.join(AGENTS)})"
    yield "CREATE INDEX agents_scope ON agents(scope)"


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
