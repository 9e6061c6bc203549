"""SQLite databases of programs that may be writing to them: read without a lock, and with nothing made beside them.

Rule: what is read is a copy of the bytes, together with the write-ahead log that belongs to them.
"""

from __future__ import annotations

import os
import stat
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dragoman.errors import LogError

if TYPE_CHECKING:
    import sqlite3

    from dragoman.config.files import ScratchFolder

SQLITE = b"SQLite format 3\x00"
"""How a database begins."""
_IN_MEMORY = 16 << 20
"""Bytes of a database that are held in memory; of a larger one, a file is made."""
_LOG_HEAD = 32
"""Bytes at the beginning of a write-ahead log that change when it begins anew."""

_LARGEST_LOG = 4 << 30
"""Bytes of a write-ahead log that is copied. Clients keep theirs at a few MiB."""


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
    """The first bytes of a file; none where there is no such file, or a pipe or device, which may have no end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return b""
    try:
        return os.read(descriptor, size) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(descriptor)


class Copy:
    """The bytes of a database, given in pieces, put where they may be opened: in memory, or in a file of their own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pieces: list[bytes] = []
        self._folder: ScratchFolder | None = None
        self._open: IO[bytes] | None = None
        self._log = beginning(log_beside(path), _LOG_HEAD)
        self.size = 0

    def write(self, data: bytes) -> None:
        """The next bytes."""
        self.size += len(data)
        if self._open is None and self.size <= _IN_MEMORY:
            self._pieces.append(data)
        else:
            (self._open or self._put_down()).write(data)

    def opened(self) -> sqlite3.Connection:
        """The database, with what its log holds; texts come as bytes, for what is no UTF-8 is still somebody's words.

        A log only grows until it begins anew, so one that was read after the database and begins as it did before
        holds every page that may have changed meanwhile. Else both are read once more.
        """
        log = beginning(log_beside(self._path), _LOG_HEAD)
        database = None if self._open is not None or log or self._log else self._in_memory()
        if database is None:
            database = self._in_a_file()
        database.text_factory = bytes
        database.execute("PRAGMA trusted_schema = OFF")
        return database

    def _in_memory(self) -> sqlite3.Connection | None:
        """A database without a log, where this build of SQLite can open bytes: making a folder and taking it away
        takes longer than reading what most of them hold."""
        import sqlite3

        if not self.size or not hasattr(sqlite3.Connection, "deserialize"):
            return None
        data = b"".join(self._pieces)
        if data[18:20] == b"\2\2":  # it is used with a log; SQLite opens no such bytes, and all of it is here
            data = data[:18] + b"\1\1" + data[20:]
        database = sqlite3.connect(":memory:")
        try:
            database.deserialize(data)
        except sqlite3.Error:
            database.close()
            raise
        return database

    def _in_a_file(self) -> sqlite3.Connection:
        import shutil
        import sqlite3

        (self._open or self._put_down()).close()
        file = self._file
        for _ in range(5):
            log = beginning(log_beside(self._path), _LOG_HEAD)
            if log == self._log:
                break
            self._log = log
            shutil.copyfile(self._path, file)
            self.size = file.stat().st_size
        if self._log:
            beside = log_beside(self._path)
            if beside.stat().st_size > _LARGEST_LOG:
                raise LogError(f"{beside} has more than {_LARGEST_LOG >> 30} GiB, too much for the log of a database")
            shutil.copyfile(beside, log_beside(file))
        return sqlite3.connect(file)

    def _put_down(self) -> IO[bytes]:
        from dragoman.config.files import ScratchFolder

        self._folder = ScratchFolder()
        self._open = self._file.open("wb")
        self._open.writelines(self._pieces)
        self._pieces.clear()
        return self._open

    @property
    def _file(self) -> Path:
        assert self._folder is not None
        return self._folder.path / "copy.db"

    def close(self) -> None:
        """Takes the copy away."""
        self._pieces.clear()
        if self._open is not None:
            self._open.close()
        if self._folder is not None:
            self._folder.close()
