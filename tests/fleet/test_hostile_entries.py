"""Entries that somebody wrote straight into the database: each fails by itself, and decides nothing."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ConfigError
from dragoman.fleet import Ended, Entry, Queue, Worker
from dragoman.logs.stores import FileStore, SqliteDatabase

GOOD: dict[str, Any] = {
    "task": "touch done",
    "folder": "",
    "state": "queued",
    "priority": 0,
    "added": 1.0,
    "start_at": 0.0,
    "every": None,
    "cron": None,
    "zone": None,
    "attempts": 0,
    "worker": None,
    "decisions": "[]",
    "message": "",
    "changed": 0.0,
    "tell_at": None,
}
HOSTILE: list[dict[str, Any]] = [
    {"id": "../../escaped"},
    {"id": "--yes"},
    {"id": "a/b"},
    {"id": None},
    {"id": b"\xff"},
    {"task": b"\xff\xfe"},
    {"folder": ".."},
    {"folder": "/"},
    {"folder": "a\0b"},
    {"folder": "x" * 5000},
    {"folder": "circle"},
    {"folder": "out"},
    {"folder": "inside/../../other"},
    {"folder": b"\xff"},
    {"decisions": '[["yes", "all"]]'},
    {"decisions": '[["approve", "all"]]'},
    {"decisions": '[["approve", "--yes"]]'},
    {"decisions": '[["sandbox=off", "00000000"]]'},
    {"decisions": "not json"},
    {"decisions": 3},
    {"cron": "every now and then", "zone": "UTC"},
    {"cron": "* * * * *", "zone": "../../etc/passwd"},
    {"priority": "first"},
    {"every": "often"},
    {"every": -5.0},
    {"every": 0},
]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "queue.db"
    Queue(SqliteDatabase(path)).close()
    return path


def written(database: Path, **facts: Any) -> None:
    row = {"id": uuid.uuid4().hex, **GOOD, **facts}
    with closing(sqlite3.connect(database)) as connection, connection:
        marks = ", ".join("?" * len(row))
        connection.execute(f"INSERT INTO dragoman_queue ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


def outside(folder: Path) -> set[str]:
    """What there is beside the workspace."""
    return {name.as_posix() for path in folder.rglob("*") if (name := path.relative_to(folder)).parts[0] != "work"}


async def worked(queue: Queue, folder: Path) -> list[list[str]]:
    """The programs that a worker started."""
    started: list[list[str]] = []

    def command(entry: Entry) -> tuple[Sequence[str], Mapping[str, str]]:
        decided = [word for one in entry.decisions for word in (f"--{one.verdict}", one.call)]
        started.append([*decided, "--run-id", entry.id])
        return ["sh", "-s"], {"PATH": os.environ["PATH"]}

    def meaning(code: int) -> Ended:
        return Ended("done" if code == 0 else "failed")

    store = FileStore(folder / "runs")
    await Worker(queue, store, folder / "work", command, meaning).work(until_empty=True, poll=0.01)
    return started


@pytest.mark.parametrize("facts", HOSTILE, ids=str)
async def test_a_hostile_entry_fails_alone_and_starts_nothing(
    database: Path, tmp_path: Path, facts: dict[str, Any]
) -> None:
    work = tmp_path / "work"
    (work / "inside").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (work / "out").symlink_to(tmp_path)
    (work / "circle").symlink_to(work / "circle")
    written(database, **facts)
    before = outside(tmp_path)
    with closing(Queue(SqliteDatabase(database))) as queue:
        good = queue.add("touch done")
        assert await worked(queue, tmp_path) == [["--run-id", good.id]]
        (other,) = (entry for entry in queue.entries() if entry.id != good.id)
        assert queue.entry(good.id).state == "done"
        expected = "queued" if facts.get("id", 0) is None else "failed"
        assert (other.state, bool(other.message)) == (expected, True)
    assert {name for name in outside(tmp_path) - before if not name.startswith("queue.db")} == set()


async def test_columns_that_nobody_knows_decide_nothing(database: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with closing(sqlite3.connect(database)) as connection, connection:
        for name in ("model", "policy", "plugins", "cwd"):
            connection.execute(f"ALTER TABLE dragoman_queue ADD COLUMN {name} TEXT")
    written(database, model="http://evil.example/v1", policy="allow", plugins="/tmp/evil.py", cwd="..")
    with closing(Queue(SqliteDatabase(database))) as queue:
        (entry,) = queue.entries()
        assert await worked(queue, tmp_path) == [["--run-id", entry.id]]


def test_the_record_of_a_run_lies_in_its_folder_whatever_the_run_is_called(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "runs")
    for name in ("../out", "a/b", "/etc/x", "..", "", "a\0b"):
        with pytest.raises(ConfigError, match="no id of a run"):
            store.open(name)
    assert not list(tmp_path.rglob("*.jsonl"))
