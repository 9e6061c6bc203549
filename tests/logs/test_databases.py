"""A copy of a database holds what the database holds, wherever the copy is opened: in memory or in a file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.logs.base.database import Copy

WORDS = [f"word {number}" for number in range(2_000)]


def made(path: Path, mode: str, *, larger_by: int = 0) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA journal_mode = {mode}")
    database.execute("PRAGMA wal_autocheckpoint = 0")
    database.execute("CREATE TABLE words (word TEXT, beside BLOB)")
    database.executemany("INSERT INTO words VALUES (?, NULL)", [(word,) for word in WORDS])
    if larger_by:
        database.execute("INSERT INTO words VALUES ('the last', zeroblob(?))", (larger_by,))
    database.commit()
    return database


def words_in_copy(path: Path) -> list[str]:
    copy = Copy(path)
    try:
        data = path.read_bytes()
        for start in range(0, len(data), 50_000):
            copy.write(data[start : start + 50_000])
        assert copy.size == len(data)
        with closing(copy.opened()) as database:
            return [word.decode() for (word,) in database.execute("SELECT word FROM words ORDER BY rowid")]
    finally:
        copy.close()


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_copy_of_a_closed_database_has_its_rows(tmp_path: Path, mode: str) -> None:
    """One that was used with a log says so in its header, also when its log is gone."""
    path = tmp_path / "one.db"
    made(path, mode).close()
    assert path.read_bytes()[18:20] == (b"\2\2" if mode == "wal" else b"\1\1")
    assert words_in_copy(path) == WORDS
    assert [one.name for one in tmp_path.iterdir()] == ["one.db"]


def test_a_copy_has_what_the_log_beside_the_database_holds(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    with closing(made(path, "wal")):
        assert (tmp_path / "one.db-wal").stat().st_size > 0
        assert words_in_copy(path) == WORDS


def test_a_database_too_large_for_memory_is_copied_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    made(path, "delete", larger_by=17 << 20).close()
    assert words_in_copy(path) == [*WORDS, "the last"]


@pytest.mark.parametrize("data", [b"", b"SQLite format 3\0", b"SQLite format 3\0" + b"x" * 5_000], ids=len)
def test_what_is_no_database_is_told_as_the_system_tells_it(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "one.db"
    path.write_bytes(data)
    with pytest.raises(sqlite3.Error):
        words_in_copy(path)
