"""What an event was read from: the bytes its source points at, or the row of a database it names.

Rule: bytes are given as they stand in the file, whatever they are; nothing is decoded, fixed or left out.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING

from dragoman.errors import LogError
from dragoman.model import Source

from .compressed import open_log
from .database import Copy

if TYPE_CHECKING:
    import sqlite3

Cell = bytes | int | float | None
Original = bytes | dict[str, Cell]
"""The bytes, or a row: its columns with their texts as bytes."""

_PIECE = 1 << 20


class Originals:
    """Reads the originals of events; the last file used stays open until `close`."""

    def __init__(self) -> None:
        self._path: str | None = None
        self._file: IO[bytes] | None = None
        self._copy: Copy | None = None
        self._database: sqlite3.Connection | None = None

    def of(self, source: Source) -> Original | None:
        """The original; `None` for a whole table, and for a row that no longer exists."""
        try:
            self._open(source.file)
            return self._bytes(source) if source.row is None else self._row(source.row)
        except OSError as error:
            raise LogError(f"cannot read {source.file} again: {error.strerror}") from error

    def close(self) -> None:
        """Closes every file that was opened."""
        if self._database is not None:
            self._database.close()
        if self._copy is not None:
            self._copy.close()
        if self._file is not None:
            self._file.close()
        self._path = self._file = self._copy = self._database = None

    def __enter__(self) -> Originals:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _open(self, path: str) -> None:
        if path != self._path:
            self.close()
            self._file, self._path = open_log(path), path

    def _bytes(self, source: Source) -> bytes:
        assert self._file is not None
        self._file.seek(source.offset)
        return self._file.read(source.length)

    def _row(self, name: str) -> dict[str, Cell] | None:
        table, _, id = name.partition(":")
        if id == "*":
            return None
        import sqlite3

        quoted = table.replace('"', '""')
        try:
            database = self._opened()
            names = {column[1] for column in database.execute(f'PRAGMA table_info("{quoted}")')}
            named = "id" if b"id" in names else "rowid"
            cursor = database.execute(f'SELECT * FROM "{quoted}" WHERE {named} = ?', (id,))
            found = cursor.fetchone()
        except sqlite3.Error as error:
            raise LogError(f"cannot read row {name} of {self._path} again: {error}") from error
        if found is None:
            return None
        return dict(zip((column[0] for column in cursor.description), found, strict=True))

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            assert self._file is not None
            assert self._path is not None
            self._copy = Copy(Path(self._path))
            self._file.seek(0)
            while data := self._file.read(_PIECE):
                self._copy.write(data)
            self._database = self._copy.opened()
        return self._database
