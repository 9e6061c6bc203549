"""The queue in SQLite; `tests/conformance` has the same for PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.errors import StorageError
from dragoman.fleet import Queue
from dragoman.logs.stores import SqliteDatabase
from tests.fleet.queue_laws import LAWS, Opened


@pytest.mark.parametrize("law", LAWS)
def test_a_law_of_the_queue_holds_in_sqlite(law: Callable[[Opened], None], tmp_path: Path) -> None:
    law(lambda: Queue(SqliteDatabase(tmp_path / "queue.db")))


def test_of_a_damaged_entry_a_number_is_nothing_and_the_rest_is_shown(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "queue.db")
    queue = Queue(database)
    added = queue.add("do it", folder="here")
    database.execute("UPDATE dragoman_queue SET attempts = 'many', worker = 'w' WHERE id = ?", added.id)
    (entry,) = queue.entries()
    assert (entry.task, entry.folder, entry.attempts, entry.worker) == ("do it", "here", 0, "w")
    assert entry.message.startswith("this entry is damaged: ")
    queue.close()


def test_a_queue_whose_file_was_removed_is_not_the_old_one_for_ever(tmp_path: Path) -> None:
    """A worker went on with a file that nobody else could see: tasks added since waited, and nothing said so."""
    path = tmp_path / "queue.db"
    queue = Queue(SqliteDatabase(path))
    queue.add("old")
    for file in tmp_path.glob("queue.db*"):
        file.unlink()
    with pytest.raises(StorageError, match=r"queue\.db.*removed while it was in use"):
        queue.take("w")
    assert not path.exists()
    added = Queue(SqliteDatabase(path)).add("new")
    taken = queue.take("w")
    assert taken is not None
    assert (taken.id, taken.task) == (added.id, "new")
    queue.close()
