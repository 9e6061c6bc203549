"""The protocol of an event store: the record of a run can be added to by one process at a time, and read by all.

Rules: an event is stored before anything that follows from it happens, so that a call without a result may have had
its effect, and a call that is not in the record has not. An event is stored whole or not at all. A process that was
replaced as the writer of a record can add nothing more to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from dragoman.model import AnyEvent

BUSY: Final = "this run is still running in another process: wait for it, or stop it there"


class StoredRun(NamedTuple):
    """A run that has a record. `changed` is the time of its last event, in seconds since 1970."""

    id: str
    changed: float


class RunRecord(Protocol):
    """The record of one run, held by this process until it is closed. Safe from several threads."""

    def __call__(self, event: AnyEvent) -> None:
        """Adds an event; `StorageError` when it cannot be stored, from then on for every event."""

    def close(self) -> None:
        """Lets others continue the run."""


class EventStore(Protocol):
    """Keeps the records of runs."""

    place: str
    """Where that is, for messages; without a password."""

    def open(self, run: str, *, advice: str = "", advice_later: str | None = None) -> RunRecord:
        """Holds the record of a run, a new one if there is none. `ConfigError` while another process holds it.

        Read a record that is to be continued only after this, so that nobody can add to it in between. `advice` ends
        the `StorageError` of a record that cannot be written; `advice_later` once it was begun.
        """

    def is_held(self, run: str) -> bool:
        """Whether a process holds the record of this run now."""

    def read(self, run: str) -> Iterator[AnyEvent]:
        """The events of a run in their order; what cannot be read is `Unreadable`. `LogError` if there is no record."""

    def runs(self) -> list[StoredRun]:
        """The runs that have events, in no particular order."""

    def close(self) -> None:
        """Ends what the store itself holds open; records are closed one by one."""
