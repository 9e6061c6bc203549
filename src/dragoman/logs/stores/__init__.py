"""Where the records of runs are kept: files, SQLite or PostgreSQL, behind one protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .address import database_of as database_of, store_for as store_for
    from .copies import copy_records as copy_records
    from .database import Database as Database, Held as Held
    from .database_store import DatabaseStore as DatabaseStore
    from .file_store import FileStore as FileStore
    from .postgres import PostgresDatabase as PostgresDatabase
    from .sqlite import SqliteDatabase as SqliteDatabase
    from .store import EventStore as EventStore, RunRecord as RunRecord, StoredRun as StoredRun
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "address": ("database_of", "store_for"),
            "copies": ("copy_records",),
            "database": ("Database", "Held"),
            "database_store": ("DatabaseStore",),
            "file_store": ("FileStore",),
            "postgres": ("PostgresDatabase",),
            "sqlite": ("SqliteDatabase",),
            "store": ("EventStore", "RunRecord", "StoredRun"),
        },
    )
