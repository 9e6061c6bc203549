"""What holds of every event store: the tests of each store call these."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from dragoman.errors import ConfigError, LogError, StorageError
from dragoman.logs.formats.dragoman import read_events
from dragoman.logs.stores import Database, DatabaseStore, EventStore, copy_records
from dragoman.logs.stores.database_store import DatabaseRecord
from dragoman.model import AnyEvent, UserSaid

Opened = Callable[[], EventStore]


def said(number: int, text: str = "words") -> UserSaid:
    time = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=number)
    return UserSaid(id=f"r-{number}", session="r", run="r", time=time, text=f"{text} {number}", by="user")


def read(store: EventStore, run: str = "r") -> list[AnyEvent]:
    return [msgspec.structs.replace(event, source=None) for event in store.read(run)]


def copied(folder: Path) -> list[AnyEvent]:
    """The events of all copies."""
    files = sorted(folder.rglob("*.jsonl"))
    return [msgspec.structs.replace(event, source=None) for file in files for event in read_events(file)]


def gives_back_what_was_added(opened: Opened) -> None:
    store = opened()
    odd = [said(1), said(2, "\ud800 half"), said(3, "zero \x00 line\nend"), said(4, "é" * 200_000), said(5, "? % %s")]
    record = store.open("r")
    for event in odd[:3]:
        record(event)
    assert read(store) == odd[:3]  # while it is being written
    record.close()
    record = store.open("r")
    for event in odd[3:]:
        record(event)
    record.close()
    assert read(opened()) == odd
    assert [run.id for run in store.runs()] == ["r"]


def knows_only_runs_that_have_events(opened: Opened) -> None:
    store = opened()
    assert store.runs() == []
    with pytest.raises(LogError):
        list(store.read("r"))
    for number, run in enumerate(("a", "b")):
        record = store.open(run)
        record(said(number))
        record.close()
    assert sorted(run.id for run in store.runs()) == ["a", "b"]


def is_held_by_one_at_a_time(opened: Opened) -> None:
    first, second = opened(), opened()
    record = first.open("r")
    with pytest.raises(ConfigError, match="running in another process"):
        second.open("r")
    second.open("other").close()
    record(said(1))
    record.close()
    again = second.open("r")
    again(said(2))
    again.close()
    assert read(first) == [said(1), said(2)]


def takes_events_of_many_threads(opened: Opened) -> None:
    store = opened()
    record = store.open("r")
    threads = [threading.Thread(target=lambda n=n: [record(said(n * 50 + m)) for m in range(50)]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    record.close()
    assert sorted(event.id for event in store.read("r")) == sorted(f"r-{number}" for number in range(200))


def refuses_whoever_was_replaced(connected: Callable[[], Database]) -> None:
    """A process that lost its lock without knowing (its connection broke, its machine slept) can add nothing more."""
    store = DatabaseStore(connected())
    lost = store.open("r")
    assert isinstance(lost, DatabaseRecord)
    lost(said(1))
    lost._held.close()
    record = store.open("r")
    for event in (said(2), said(3)):
        with pytest.raises(StorageError, match="another process continues the run r"):
            lost(event)
    record(said(4))
    assert read(store) == [said(1), said(4)]
    record.close()
    lost.close()


def has_copies_that_are_the_records(connect: Callable[[], Database], folder: Path) -> None:
    """Copies are brought up to date by what is new alone, whatever became of them meanwhile."""
    asked: list[tuple[str, int, int]] = []

    class Watched(DatabaseStore):
        def lines(self, run: str, *, after: int, until: int) -> Iterator[bytes]:
            asked.append((run, after, until))
            return super().lines(run, after=after, until=until)

    def copies() -> tuple[list[AnyEvent], list[tuple[str, int, int]]]:
        asked.clear()
        copy_records(store, folder)
        return copied(folder), list(asked)

    store = Watched(connect())
    assert copies() == ([], [])
    events = [said(1), said(2, "\ud800 half"), said(3, "zero \x00 line\nend")]
    record = store.open("r")
    record(events[0])
    assert copies() == (events[:1], [("r", 0, 1)])
    for event in events[1:]:
        record(event)
    record.close()
    assert copies() == (events, [("r", 1, 3)])
    assert copies() == (events, [])
    (file,) = folder.rglob("*.jsonl")
    with file.open("ab") as written:  # a copy that was killed
        written.write(b'{"type":"user_said","te')
    assert copies() == (events, [("r", 3, 3)])
    file.write_bytes(file.read_bytes()[:-40])
    assert copies() == (events, [("r", 0, 3)])
    file.unlink()
    assert copies() == (events, [("r", 0, 3)])
    for odd in ("../../outside", "a/b", "", "x" * 5000, "é"):
        record = store.open(odd)
        record(events[0])
        record.close()
    everything, _ = copies()
    assert len(everything) == len(events) + 5
    assert {file.parent for file in folder.parent.rglob("*.jsonl")} == {file.parent}
    for table in ("dragoman_events", "dragoman_runs"):
        connect().execute(f"DELETE FROM {table} WHERE run <> 'r'")
    assert copies() == (events, [])
    store.close()
