"""Requests to providers, counted in a database for all who share it: a limit holds for all workers together."""

from __future__ import annotations

import uuid
from typing import Final

from dragoman.engine.models import MINUTE, seconds_until_room
from dragoman.logs.stores import Database

TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS dragoman_requests (id TEXT PRIMARY KEY, provider TEXT NOT NULL, "
    "at DOUBLE PRECISION NOT NULL, tokens BIGINT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS dragoman_requests_time ON dragoman_requests (provider, at)",
    # One row for each provider: whoever changes it has the provider to itself until its transaction ends.
    "CREATE TABLE IF NOT EXISTS dragoman_rates (provider TEXT PRIMARY KEY, at DOUBLE PRECISION NOT NULL)",
)


class SharedLedger:
    """A `Ledger` in a database, by the database's clock."""

    def __init__(self, database: Database) -> None:
        self._database, self._now = database, database.clock
        database.script(TABLES)

    def enter(self, provider: str, requests: int | None, tokens: int | None, expected: int) -> str | float:
        """See `Ledger.enter`."""
        database = self._database
        with database.transaction():
            ((now,),) = database.execute(
                f"INSERT INTO dragoman_rates VALUES (?, {self._now}) "
                f"ON CONFLICT (provider) DO UPDATE SET at = {self._now} RETURNING at",
                provider,
            )
            database.execute("DELETE FROM dragoman_requests WHERE provider = ? AND at <= ?", provider, now - MINUTE)
            # The clock was put back: how long ago these were is not known, so they count for one minute more.
            database.execute("UPDATE dragoman_requests SET at = ? WHERE provider = ? AND at > ?", now, provider, now)
            known = database.execute(
                "SELECT at, tokens FROM dragoman_requests WHERE provider = ? ORDER BY at", provider
            )
            wait = seconds_until_room([(at, used) for at, used in known], now, requests, tokens, expected)
            if wait > 0:
                return wait
            id = uuid.uuid4().hex
            database.execute("INSERT INTO dragoman_requests VALUES (?, ?, ?, ?)", id, provider, now, expected)
        return id

    def used(self, id: str, tokens: int) -> None:
        """See `Ledger.used`."""
        self._database.execute("UPDATE dragoman_requests SET tokens = ? WHERE id = ?", tokens, id)

    def close(self) -> None:
        """Closes the database."""
        self._database.close()
