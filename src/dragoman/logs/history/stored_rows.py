"""Rows of the tables as SQLite holds them: cells, times and lists, and one reading of a file written whole."""

from __future__ import annotations

import datetime
import functools
import operator
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from .layout import (
    AGENTS,
    WORDS,
    Words,
    columns,
    exchange_key,
    first_text,
    packed,
    place_of,
    texts_of,
)
from .rows import Row
from .tables import Built

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
            data = packed({table: [list(map(_writable, row)) for row in rows] for table, rows in texts.items()})
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
            self._database.executemany(statement, [tuple(map(_writable, row)) for row in values])

    def _scope(self, row: Row) -> int:
        key = row.session, row.stream
        found = self._scopes.get(key)
        if found is None:
            values = (self._file, *map(_writable, key))
            made = self._database.execute("INSERT INTO scopes(file, session, stream) VALUES (?, ?, ?)", values)
            found = self._scopes[key] = int(made.lastrowid or 0)
        return found


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


def _writable(cell: Any) -> Any:
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
