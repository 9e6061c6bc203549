"""SQLite as a database for records: one file, for the processes of one machine."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2s
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from dragoman.config.files import make_private
from dragoman.errors import ConfigError, StorageError, writing

from .file_store import locked

if TYPE_CHECKING:
    import sqlite3

    from .database import Row

_PATIENCE = 30
"""Seconds to wait while another process writes."""


class SqliteDatabase:
    """One connection to a database file, which is made if it is not there.

    Without `fsync`, a process that is killed loses nothing, and a power cut may lose the last events, never the file.

    A file that was removed or replaced is not written to any more, which nobody would ever see: the one in its place is
    opened, unless a lock or a transaction was lost with it.
    """

    clock = "((julianday('now') - 2440587.5) * 86400.0)"
    locking = skipping = ""  # who writes has the whole database to itself

    def __init__(self, path: Path | str, *, fsync: bool = False) -> None:
        self.path, self._fsync = Path(path), fsync
        self.place = str(self.path)
        self._lock = threading.RLock()
        self._held = 0
        """Locks and transactions."""
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            make_private(self.path)  # only its owner can read it, nor the files beside it
        with self._told():
            self._open()

    def _open(self) -> None:
        import sqlite3

        connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        # Other programs can store what is no text: one such row must not keep the others from being read.
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if self._fsync else 'NORMAL'}")
        self._connection, self._file = connection, os.stat(self.path)

    def execute(self, sql: str, *values: Any) -> list[Row]:
        """See `Database.execute`."""
        with self._lock, self._told():
            return self._connected().execute(sql, values).fetchall()

    def _connected(self) -> sqlite3.Connection:
        try:
            found = os.stat(self.path)
        except FileNotFoundError as error:
            raise StorageError(self.path, "it was removed while it was in use") from error
        if not os.path.samestat(found, self._file):
            if self._held:
                raise StorageError(self.path, "it was replaced while it was in use")
            self._connection.close()
            self._open()
        return self._connection

    def script(self, statements: Sequence[str]) -> None:
        """See `Database.script`."""
        with self.transaction():
            for statement in statements:
                self.execute(statement)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """See `Database.transaction`."""
        with self._lock:
            self.execute("BEGIN IMMEDIATE")
            self._held += 1
            try:
                try:
                    yield
                except BaseException:
                    with suppress(StorageError):  # the first error is the one to tell
                        self.execute("ROLLBACK")
                    raise
                self.execute("COMMIT")
            finally:
                self._held -= 1

    def lock(self, name: str) -> _LockFile | None:
        """See `Database.lock`. The lock is a file beside the database: the system frees it when a process dies."""
        folder = self.path.with_name(f"{self.path.name}-locks")
        path = folder / blake2s(name.encode()).hexdigest()
        while True:
            with writing(path):
                folder.mkdir(exist_ok=True, mode=0o700)
                try:
                    file = locked(path)
                except ConfigError:
                    return None
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    with self._lock:
                        self._held += 1
                    return _LockFile(file, path, self._let_go)
            file.close()  # whoever had it has just removed it

    def _let_go(self) -> None:
        with self._lock:
            self._held -= 1

    def another(self) -> SqliteDatabase:
        """See `Database.another`."""
        return SqliteDatabase(self.path, fsync=self._fsync)

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        import sqlite3

        try:
            yield
        except (sqlite3.Error, FileNotFoundError) as error:
            raise StorageError(self.path, str(error)) from error


class _LockFile:
    """A locked file that goes when the lock does."""

    def __init__(self, file: BinaryIO, path: Path, ended: Callable[[], None]) -> None:
        self._file, self._path, self._ended = file, path, ended

    def close(self) -> None:
        """Removes the file, then lets go of it: who waits for it looks whether it is still there."""
        self._path.unlink(missing_ok=True)
        self._file.close()
        self._ended()
