"""The reader of a log that is a SQLite database: its bytes are gathered, then read from a copy of them."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.logs.base.database import Copy
from dragoman.logs.base.format import LogReader
from dragoman.logs.base.normalise import Normaliser, Place
from dragoman.model import AnyEvent, Source, Unreadable

if TYPE_CHECKING:
    import sqlite3


class DatabaseReader(LogReader):
    """Reads a database. A format writes `events`, which gives the events of an opened one.

    A database that cannot be read is one `Unreadable`; a table that cannot be, another.
    """

    def __init__(self, path: Path, normaliser: Normaliser) -> None:
        self.path = path
        self.normaliser = normaliser
        self._copy: Copy | None = None
        self._whole = Source(str(path), 0, 0)
        self._bad: list[AnyEvent] = []

    @abc.abstractmethod
    def events(self, database: sqlite3.Connection) -> Iterator[AnyEvent]:
        """The events of an opened database."""

    def feed(self, data: bytes) -> list[AnyEvent]:
        if self._copy is None:
            if not data.strip():
                return []  # blank lines are no database, and no words of anybody
            self._copy = Copy(self.path)
        self._copy.write(data)
        return []

    def close(self) -> list[AnyEvent]:
        return list(self.rest())

    def rest(self) -> Iterator[AnyEvent]:
        if self._copy is None:
            return
        import sqlite3

        copy, self._copy = self._copy, None
        database = None
        try:
            database = copy.opened()
            self._whole = Source(str(self.path), 0, copy.size)
            yield from self.events(database)
            yield from self._bad
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            self._whole = Source(str(self.path), 0, copy.size)
            yield self.unread("database", str(error))
        finally:
            if database is not None:
                database.close()
            copy.close()

    def row(self, table: str, name: Any) -> Source:
        """Where a row is."""
        return msgspec.structs.replace(self._whole, row=f"{table}:{name}")

    def rows(self, database: sqlite3.Connection, table: str, order: str = "rowid") -> list[dict[str, Any]]:
        """The rows of a table, texts as `str`, as far as they can be read: a bad page costs what it holds."""
        import sqlite3

        found: list[dict[str, Any]] = []
        try:
            cursor = database.execute(f'SELECT * FROM "{table}" ORDER BY {order}')
            names = [column[0] for column in cursor.description]
            for row in cursor:
                found.append({name: _plain(value) for name, value in zip(names, row, strict=True)})
        except sqlite3.Error as error:
            self._bad.append(self.unread(table, str(error)))
        return found

    def unread(self, name: str, reason: str, session: str | None = None) -> AnyEvent:
        """What could not be read."""
        source = self._whole if name == "database" else self.row(name, "*")
        return self.normaliser.event(Unreadable, Place(source=source, key=name, session=session), reason=reason)


def _plain(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
