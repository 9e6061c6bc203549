"""PostgreSQL as a database for records: for the processes of many machines."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2s
from typing import TYPE_CHECKING, Any

from dragoman.errors import ConfigError, MissingExtra, StorageError

if TYPE_CHECKING:
    import psycopg

    from .database import Row

_MAKING = "dragoman tables"


class PostgresDatabase:
    """One connection to a server. What was stored is on the server's disk, unless the server is set up otherwise.

    Locks are the connection's (advisory locks): a pooler between us and the server must keep one connection for one
    session.
    """

    clock = "EXTRACT(EPOCH FROM clock_timestamp())::float8"
    locking, skipping = "FOR SHARE", "FOR UPDATE SKIP LOCKED"

    def __init__(self, address: str) -> None:
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError as error:
            raise MissingExtra("postgres", "keeping records in PostgreSQL", error.name or "psycopg") from error
        self._address = address
        self._lock = threading.RLock()
        try:
            known = conninfo_to_dict(address)
        except psycopg.Error as error:
            raise ConfigError("store.url is no address of PostgreSQL: postgresql://user@host/database") from error
        self.place = f"postgresql://{known.get('host') or 'localhost'}/{known.get('dbname') or ''}"
        self._options: dict[str, Any] = {
            "autocommit": True,
            "connect_timeout": int(known.get("connect_timeout") or 10),
            "application_name": str(known.get("application_name") or "dragoman"),
        }
        self._held = 0
        """Locks and transactions that end with the connection."""
        self._is_closed = False
        with self._told():
            self._connection: psycopg.Connection[Row] = psycopg.connect(address, **self._options)

    def execute(self, sql: str, *values: Any) -> list[Row]:
        """See `Database.execute`."""
        with self._lock, self._told():
            cursor = self._connected().execute(sql.replace("?", "%s").encode(), values)
            return cursor.fetchall() if cursor.description is not None else []

    def _connected(self) -> psycopg.Connection[Row]:
        """The connection, made anew after the server was away, unless something was lost with the last one."""
        import psycopg

        if self._connection.closed and not self._held and not self._is_closed:
            self._connection = psycopg.connect(self._address, **self._options)
        return self._connection

    def script(self, statements: Sequence[str]) -> None:
        """See `Database.script`."""
        with self.transaction():
            # Two processes that make the same table at once would both try, and one fail.
            self.execute("SELECT pg_advisory_xact_lock(?)", _number(_MAKING))
            for statement in statements:
                self.execute(statement)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """See `Database.transaction`."""
        with self._lock, self._told(), self._connected().transaction():
            self._held += 1
            try:
                yield
            finally:
                self._held -= 1

    def lock(self, name: str) -> _AdvisoryLock | None:
        """See `Database.lock`. The server frees it when the connection ends."""
        number = _number(name)
        ((taken,),) = self.execute("SELECT pg_try_advisory_lock(?)", number)
        if not taken:
            return None
        with self._lock:
            self._held += 1
        return _AdvisoryLock(self, number)

    def unlock(self, number: int) -> None:
        """Gives a lock back; a connection that is over has none."""
        with self._lock:
            try:
                if not self._connection.closed:
                    self.execute("SELECT pg_advisory_unlock(?)", number)
            finally:
                self._held -= 1

    def another(self) -> PostgresDatabase:
        """See `Database.another`."""
        return PostgresDatabase(self._address)

    def close(self) -> None:
        """Closes the connection."""
        self._is_closed = True
        self._connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise StorageError(self.place, reason) from error


class _AdvisoryLock:
    def __init__(self, database: PostgresDatabase, number: int) -> None:
        self._database, self._number = database, number

    def close(self) -> None:
        """Gives it back."""
        self._database.unlock(self._number)


def _number(name: str) -> int:
    """What PostgreSQL knows a lock by."""
    return int.from_bytes(blake2s(name.encode(), digest_size=8).digest(), signed=True)
