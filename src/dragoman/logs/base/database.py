"""SQLite databases of programs that may be writing to them: read without a lock, and with nothing made beside them.

Rule: what is read is a copy of the bytes, together with the write-ahead log that belongs to them.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from tempfile import TemporaryDirectory

SQLITE = b"SQLite format 3\x00"
"""How a database begins."""
_LOG_HEAD = 32
"""Bytes at the beginning of a write-ahead log that change when it begins anew."""


def glanced(path: Path, query: str) -> list[tuple[Any, ...]]:
    """What a query gives of the file alone, without its log: enough to know what kind of database it is.

    A file that is none, or is being changed at this moment, gives nothing.
    """
    import sqlite3

    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?immutable=1", uri=True)) as database:
            return database.execute(query).fetchall()
    except sqlite3.Error:
        return []


def log_beside(path: Path) -> Path:
    """Where the write-ahead log of a database is, if it has one."""
    return path.with_name(path.name + "-wal")


def beginning(path: Path, size: int) -> bytes:
    """The first bytes of a file; none where there is no such file."""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


class Copy:
    """The bytes of a database, given in pieces, put down where they may be opened."""

    def __init__(self, path: Path) -> None:
        from tempfile import TemporaryDirectory

        self._path = path
        self._folder: TemporaryDirectory[str] = TemporaryDirectory(prefix="dragoman-")
        self._file = Path(self._folder.name) / "copy.db"
        self._log = beginning(log_beside(path), _LOG_HEAD)
        self._open: IO[bytes] = self._file.open("wb")
        self.size = 0

    def write(self, data: bytes) -> None:
        """The next bytes."""
        self._open.write(data)
        self.size += len(data)

    def opened(self) -> sqlite3.Connection:
        """The database, with what its log holds; texts come as bytes, for what is no UTF-8 is still somebody's words.

        A log only grows until it begins anew, so one that was read after the database and begins as it did before
        holds every page that may have changed meanwhile. Else both are read once more.
        """
        import shutil
        import sqlite3

        self._open.close()
        for _ in range(5):
            log = beginning(log_beside(self._path), _LOG_HEAD)
            if log == self._log:
                break
            self._log = log
            shutil.copyfile(self._path, self._file)
            self.size = self._file.stat().st_size
        if self._log:
            shutil.copyfile(log_beside(self._path), log_beside(self._file))
        database = sqlite3.connect(self._file)
        database.text_factory = bytes
        database.execute("PRAGMA trusted_schema = OFF")
        return database

    def close(self) -> None:
        """Takes the copy away."""
        self._open.close()
        self._folder.cleanup()
