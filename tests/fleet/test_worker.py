"""Workers with real processes: what becomes of an entry is what became of its process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import StorageError
from dragoman.fleet import Ended, Entry, Queue, Worker
from dragoman.logs.stores import FileStore, SqliteDatabase


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return Queue(SqliteDatabase(tmp_path / "queue.db"))


def meaning(code: int) -> Ended:
    return {0: Ended("done"), 8: Ended("waiting"), 4: Ended("queued", 0.0)}.get(code, Ended("failed"))


def worker(queue: Queue, folder: Path, **options: Any) -> Worker:
    """A worker whose program is a shell that does what the task says."""

    def command(entry: Entry) -> tuple[Sequence[str], Mapping[str, str]]:
        return ["sh", "-s"], {"PATH": os.environ["PATH"], "ID": entry.id}

    root = folder / "work"
    root.mkdir(exist_ok=True)
    return Worker(queue, FileStore(folder / "runs"), root, command, meaning, **options)


def ended(queue: Queue) -> dict[str, tuple[str, str, int]]:
    return {entry.task: (entry.state, entry.message, entry.attempts) for entry in queue.entries()}


async def test_an_entry_ends_as_its_process_did(queue: Queue, tmp_path: Path) -> None:
    tasks = ("exit 0", "echo help >&2; exit 8", "echo bad >&2; echo worse >&2; exit 7", "kill -9 $$", "exit 4")
    for task in tasks:
        queue.add(task)
    await worker(queue, tmp_path, most_attempts=3).work(until_empty=True, poll=0.01)
    assert ended(queue) == {
        "exit 0": ("done", "", 1),
        "echo help >&2; exit 8": ("waiting", "help", 1),
        "echo bad >&2; echo worse >&2; exit 7": ("failed", "bad\nworse", 1),
        "kill -9 $$": ("failed", "", 1),
        "exit 4": ("failed", "", 3),  # tried again, until it was too often
    }


async def test_a_folder_outside_the_workspace_is_refused(queue: Queue, tmp_path: Path) -> None:
    (tmp_path / "work" / "inside").mkdir(parents=True)
    (tmp_path / "work" / "out").symlink_to(tmp_path)
    for folder in ("inside", "..", "out", "/tmp", "nowhere"):
        queue.add("pwd > here", folder=folder)
    await worker(queue, tmp_path, concurrency=3).work(until_empty=True, poll=0.01)
    states = {entry.folder: entry.state for entry in queue.entries()}
    assert states == {"inside": "done", "..": "failed", "out": "failed", "/tmp": "failed", "nowhere": "failed"}
    assert (tmp_path / "work" / "inside" / "here").exists()
    assert not (tmp_path / "here").exists()


async def waited_for(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - another process makes it true
            await asyncio.sleep(0.01)


async def test_a_cancelled_entry_is_stopped(queue: Queue, tmp_path: Path) -> None:
    entry = queue.add("trap 'touch stopped; exit 143' TERM; touch begun; while :; do sleep 0.05; done")
    working = asyncio.ensure_future(worker(queue, tmp_path, silent=1.0).work(until_empty=True, poll=0.01))
    await waited_for((tmp_path / "work" / "begun").exists)
    assert queue.cancel(entry.id)
    await working
    assert (tmp_path / "work" / "stopped").exists()
    assert queue.entry(entry.id).state == "cancelled"


async def test_what_a_run_left_running_is_not_waited_for(queue: Queue, tmp_path: Path) -> None:
    """It may have the standard error of the run, and outlive it."""
    entry = queue.add("(while [ ! -e enough ]; do sleep 0.05; done) & echo well >&2; exit 7")
    await worker(queue, tmp_path).work(until_empty=True, poll=0.01)
    assert (queue.entry(entry.id).state, queue.entry(entry.id).message) == ("failed", "well")
    (tmp_path / "work" / "enough").touch()


async def test_what_a_stopped_worker_was_doing_is_queued_again(queue: Queue, tmp_path: Path) -> None:
    entry = queue.add("trap 'exit 143' TERM; touch begun; while :; do sleep 0.05; done")
    working = asyncio.ensure_future(worker(queue, tmp_path).work(poll=0.01))
    await waited_for((tmp_path / "work" / "begun").exists)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert (queue.entry(entry.id).state, queue.entry(entry.id).message) == ("queued", "its worker was stopped")


async def test_a_run_whose_record_is_held_is_not_begun_a_second_time(queue: Queue, tmp_path: Path) -> None:
    """The process of a worker that was killed may live on."""
    entry = queue.add("touch begun")
    record = FileStore(tmp_path / "runs").open(entry.id)
    await worker(queue, tmp_path, silent=1000.0).work(until_empty=True, poll=0.01)
    known = queue.entry(entry.id)
    assert (known.state, known.message) == ("queued", "its last process is still there")
    assert known.start_at - known.changed == pytest.approx(1000, abs=5)
    record.close()
    assert queue.retry(entry.id)
    await worker(queue, tmp_path).work(until_empty=True, poll=0.01)
    assert (queue.entry(entry.id).state, (tmp_path / "work" / "begun").exists()) == ("done", True)


async def test_what_a_dead_worker_had_is_taken_over(queue: Queue, tmp_path: Path) -> None:
    entry = queue.add("exit 0")
    assert queue.take("a worker that was never heard of") is not None
    await worker(queue, tmp_path).work(until_empty=True, poll=0.01)
    assert (queue.entry(entry.id).state, queue.entry(entry.id).attempts) == ("done", 2)


async def test_a_worker_that_works_is_not_taken_for_dead(queue: Queue, tmp_path: Path) -> None:
    entry = queue.add("touch begun; while [ ! -e ended ]; do sleep 0.05; done")
    working = asyncio.ensure_future(worker(queue, tmp_path).work(until_empty=True, poll=0.01))
    await waited_for((tmp_path / "work" / "begun").exists)
    assert queue.take_over(1000.0, 1) == []
    assert queue.entry(entry.id).state == "running"
    (tmp_path / "work" / "ended").touch()
    await working
    assert (queue.entry(entry.id).state, queue.entry(entry.id).attempts) == ("done", 1)


async def test_a_task_is_tried_five_times_and_one_task_runs_at_a_time_unless_told_otherwise(
    queue: Queue, tmp_path: Path
) -> None:
    alone = "[ ! -e running ] && touch running && sleep 0.05 && rm running"
    for task in ("exit 4", alone, alone):
        queue.add(task)
    await worker(queue, tmp_path).work(until_empty=True, poll=0.01)
    assert sorted((one.task, one.state, one.attempts) for one in queue.entries()) == [
        (alone, "done", 1),
        (alone, "done", 1),
        ("exit 4", "failed", 5),
    ]


async def test_somebody_is_told_once_and_again_only_after_a_failure(queue: Queue, tmp_path: Path) -> None:
    for task in ("exit 8", "exit 0", "exit 7"):
        queue.add(task)
    told: list[tuple[str, str]] = []
    problems = ["no network"]

    async def tell(entry: Entry) -> list[str]:
        told.append((entry.task, entry.state))
        return [problems.pop()] if problems and entry.state == "waiting" else []

    said: list[str] = []
    options: dict[str, Any] = {"tells": ("waiting", "failed"), "tell": tell, "say": said.append}
    await worker(queue, tmp_path, **options).work(until_empty=True, poll=0.01)
    assert sorted(told) == [("exit 7", "failed"), ("exit 8", "waiting")]
    assert [line for line in said if "nobody was told that it is waiting: no network" in line]
    left = {entry.task: entry.tell_at is not None for entry in queue.entries()}
    assert left == {"exit 8": True, "exit 0": False, "exit 7": False}
    told.clear()
    queue._database.execute("UPDATE dragoman_queue SET tell_at = 0 WHERE tell_at IS NOT NULL")
    await worker(queue, tmp_path, **options).work(until_empty=True, poll=0.01)
    assert told == [("exit 8", "waiting")]
    assert all(entry.tell_at is None for entry in queue.entries())


async def test_a_database_that_is_away_when_the_queue_is_empty_does_not_end_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = Queue(SqliteDatabase(tmp_path / "queue.db"))
    queue.add("touch done")
    looked, said = queue.entries, list[str]()
    away = iter([True, True, False])

    def entries(*states: Any, **options: Any) -> list[Entry]:
        if next(away, False):
            raise StorageError("queue.db", "it does not answer")
        return looked(*states, **options)

    monkeypatch.setattr(queue, "entries", entries)
    await worker(queue, tmp_path, say=said.append).work(until_empty=True, poll=0.01)
    assert [line for line in said if "it does not answer" in line] == ["cannot write queue.db: it does not answer"] * 2
    assert (tmp_path / "work" / "done").exists()
    assert next(away, None) is None


async def test_what_ends_while_the_database_is_away_is_said_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the entry would be running for as long as its worker lives."""
    queue = Queue(SqliteDatabase(tmp_path / "queue.db"))
    entry = queue.add("touch done")
    end, away = queue.end, iter([True, True, False])

    def ending(*words: Any, **options: Any) -> bool:
        if next(away, False):
            raise StorageError("queue.db", "it does not answer")
        return end(*words, **options)

    monkeypatch.setattr(queue, "end", ending)
    await worker(queue, tmp_path, silent=0.1).work(until_empty=True, poll=0.01)
    assert (queue.entry(entry.id).state, queue.entry(entry.id).attempts) == ("done", 1)
    assert next(away, None) is None
