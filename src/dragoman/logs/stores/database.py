"""What a store and a queue need of a database; SQLite and PostgreSQL have it.

SQL is written once, in what both understand: `?` stands for a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

Row = tuple[Any, ...]


class Held(Protocol):
    """A lock that ends with the process, or with its connection to the database."""

    def close(self) -> None:
        """Gives it back."""


class Database(Protocol):
    """One connection. Safe from several threads."""

    place: str
    """Where it is, for messages; without a password."""
    locking: str
    """Ends a SELECT whose rows nobody may change until the transaction ends."""
    clock: str
    """The time as seconds since 1970: one clock for all who use the database."""
    skipping: str
    """Ends a SELECT for rows to change, without those that others are changing."""

    def execute(self, sql: str, *values: Any) -> list[Row]:
        """Runs a statement, in a transaction of its own where none is open; gives its rows."""

    def script(self, statements: Sequence[str]) -> None:
        """Runs statements that make tables, as one, while no other process does."""

    def transaction(self) -> AbstractContextManager[None]:
        """Makes several statements one: all of them or, if an error leaves it, none."""

    def lock(self, name: str) -> Held | None:
        """Takes a lock with a name; `None` if another connection has it."""

    def another(self) -> Database:
        """One more connection to the same database."""

    def close(self) -> None:
        """Closes the connection; its locks are given back."""
