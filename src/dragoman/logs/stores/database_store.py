"""Records in a database: a row per event, and one per run that says who may add to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Final

from dragoman.errors import ConfigError, LogError, StorageError
from dragoman.logs.formats.dragoman import event_line, events_of_lines
from dragoman.model import AnyEvent

from .database import Database, Held
from .store import BUSY, StoredRun

VERSION: Final = 1
_AT_ONCE: Final = 500
TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS dragoman_store (version INTEGER NOT NULL)",
    # The number of times that a process took the run: only the last that did may add to its record.
    "CREATE TABLE IF NOT EXISTS dragoman_runs (run TEXT PRIMARY KEY, taken INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS dragoman_events (run TEXT NOT NULL, number INTEGER NOT NULL, "
    "at DOUBLE PRECISION NOT NULL, event TEXT NOT NULL, PRIMARY KEY (run, number))",
)


class DatabaseStore:
    """Keeps records in a database. The tables are made when they are first needed."""

    def __init__(self, database: Database) -> None:
        self._database, self.place = database, database.place
        database.script(TABLES)
        rows = database.execute("SELECT version FROM dragoman_store")
        if not rows:
            database.execute(
                "INSERT INTO dragoman_store SELECT ? WHERE NOT EXISTS (SELECT 1 FROM dragoman_store)", VERSION
            )
        elif max(rows)[0] > VERSION:
            raise ConfigError(f"{self.place} was made by a newer dragoman (version {max(rows)[0]}): update this one")

    def open(self, run: str, *, advice: str = "", advice_later: str | None = None) -> DatabaseRecord:
        """See `EventStore.open`."""
        database = self._database.another()  # with it a lock ends whose holder cannot reach the database any more
        try:
            held = database.lock(_lock_of(run))
            if held is None:
                raise ConfigError(BUSY)
            return DatabaseRecord(database, held, run, advice=advice, advice_later=advice_later)
        except BaseException as error:
            database.close()
            if isinstance(error, StorageError) and not error.advice:
                raise StorageError(error.path, error.reason, advice) from error
            raise

    def is_held(self, run: str) -> bool:
        """See `EventStore.is_held`."""
        held = self._database.lock(_lock_of(run))
        if held is not None:
            held.close()
        return held is None

    def read(self, run: str) -> Iterator[AnyEvent]:
        """See `EventStore.read`."""
        rows = self._database.execute("SELECT event FROM dragoman_events WHERE run = ? ORDER BY number", run)
        if not rows and not self._database.execute("SELECT 1 FROM dragoman_runs WHERE run = ?", run):
            raise LogError(f"{self.place} has no record of a run {run}")
        return events_of_lines((row[0].encode() for row in rows), run)

    def runs(self) -> list[StoredRun]:
        """See `EventStore.runs`."""
        last = "SELECT at FROM dragoman_events e WHERE e.run = r.run ORDER BY number DESC LIMIT 1"
        rows = self._database.execute(f"SELECT run, ({last}) FROM dragoman_runs r")
        return [StoredRun(run, at) for run, at in rows if at is not None]

    def numbers(self) -> list[tuple[str, int]]:
        """Each run that has events, with the number of its last one; they are counted from 1."""
        last = "SELECT MAX(number) FROM dragoman_events e WHERE e.run = r.run"
        rows = self._database.execute(f"SELECT run, ({last}) FROM dragoman_runs r ORDER BY run")
        return [(run, number) for run, number in rows if number is not None]

    def lines(self, run: str, *, after: int, until: int) -> Iterator[bytes]:
        """The events of a run from one number to another, each as the JSON of one line."""
        for begin in range(after, until, _AT_ONCE):
            rows = self._database.execute(
                "SELECT event FROM dragoman_events WHERE run = ? AND number > ? AND number <= ? ORDER BY number",
                run,
                begin,
                min(begin + _AT_ONCE, until),
            )
            for (event,) in rows:
                yield event.encode()

    def close(self) -> None:
        """See `EventStore.close`."""
        self._database.close()


def _lock_of(run: str) -> str:
    return f"run {run}"


class DatabaseRecord:
    """The record of one run, with a connection of its own."""

    def __init__(self, database: Database, held: Held, run: str, *, advice: str, advice_later: str | None) -> None:
        self._database, self._held, self._run = database, held, run
        self._advice = advice if advice_later is None else advice_later
        self._lock = threading.Lock()
        self._failure: StorageError | None = None
        # Whoever held it before, and does not know that its lock is gone, adds nothing from here on.
        ((self._taken,),) = database.execute(
            "INSERT INTO dragoman_runs VALUES (?, 1) ON CONFLICT (run) DO UPDATE SET taken = dragoman_runs.taken + 1 "
            "RETURNING taken",
            run,
        )
        ((self._number,),) = database.execute("SELECT COALESCE(MAX(number), 0) FROM dragoman_events WHERE run = ?", run)

    def __call__(self, event: AnyEvent) -> None:
        """Adds an event."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            try:
                self._add(event, event_line(event).decode())
            except StorageError as error:
                self._failure = StorageError(error.path, error.reason, self._advice)
                raise self._failure from error

    def _add(self, event: AnyEvent, line: str) -> None:
        added = self._database.execute(
            "INSERT INTO dragoman_events SELECT run, ?, ?, ? FROM dragoman_runs WHERE run = ? AND taken = ? "
            f"{self._database.locking} RETURNING number",
            self._number + 1,
            0.0 if event.time is None else event.time.timestamp(),
            line,
            self._run,
            self._taken,
        )
        if not added:
            raise StorageError(self._database.place, f"another process continues the run {self._run}")
        self._number += 1

    def close(self) -> None:
        """Lets others continue the run."""
        try:
            self._held.close()
        finally:
            self._database.close()
