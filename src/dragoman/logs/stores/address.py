"""The store that an address names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from dragoman.errors import ConfigError

from .database_store import DatabaseStore
from .file_store import FileStore

if TYPE_CHECKING:
    from .database import Database
    from .store import EventStore

_FORMS: Final = "sqlite:PATH or postgresql://user@host/database"


def store_for(address: str | None, *, folder: Path, fsync: bool = False) -> EventStore:
    """Where records are kept: in files of `folder`, unless an address names a database.

    With `fsync`, every event is on the disk before the run continues; PostgreSQL does that by itself.
    """
    if address is None:
        return FileStore(folder, fsync=fsync)
    return DatabaseStore(database_of(address, folder=folder, fsync=fsync))


def database_of(address: str, *, folder: Path, fsync: bool = False) -> Database:
    """The database of an address: `sqlite:PATH`, relative to `folder`, or `postgresql://…`."""
    scheme, colon, rest = address.partition(":")
    if colon and scheme in ("postgresql", "postgres"):
        from .postgres import PostgresDatabase

        return PostgresDatabase(address)
    if colon and scheme == "sqlite" and rest.strip("/"):
        from .sqlite import SqliteDatabase

        # As everywhere: sqlite:///relative and sqlite:////absolute; sqlite:path is one or the other as it looks.
        path = rest.removeprefix("///") if rest.startswith("///") else rest
        return SqliteDatabase(folder / path, fsync=fsync)
    raise ConfigError(f"store.url names no database that is known here: it is {_FORMS}")
