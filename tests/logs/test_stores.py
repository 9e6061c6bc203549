"""Records in files and in SQLite; `tests/conformance` has the same for PostgreSQL."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.config.files import make_private
from dragoman.errors import ConfigError, StorageError
from dragoman.logs import Index
from dragoman.logs.full_text import FullText
from dragoman.logs.stores import DatabaseStore, EventStore, FileStore, SqliteDatabase, database_of, store_for
from tests.logs import store_laws
from tests.logs.store_laws import Opened, read, said


@pytest.fixture(params=["file", "file with fsync", "sqlite", "sqlite with fsync"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    address = None if request.param.startswith("file") else "sqlite:runs.db"

    def store() -> EventStore:
        return store_for(address, folder=tmp_path, fsync="fsync" in request.param)

    return store


def test_a_store_gives_back_what_was_added(opened: Opened) -> None:
    store_laws.gives_back_what_was_added(opened)


def test_a_store_knows_only_runs_that_have_events(opened: Opened) -> None:
    store_laws.knows_only_runs_that_have_events(opened)


def test_a_run_is_held_by_one_process_at_a_time(opened: Opened) -> None:
    store_laws.is_held_by_one_at_a_time(opened)


def test_events_of_many_threads_are_all_stored(opened: Opened) -> None:
    store_laws.takes_events_of_many_threads(opened)


def test_whoever_was_replaced_as_the_writer_can_add_nothing(tmp_path: Path) -> None:
    store_laws.refuses_whoever_was_replaced(lambda: SqliteDatabase(tmp_path / "runs.db"))


def test_copies_of_a_database_are_its_records(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    store_laws.has_copies_that_are_the_records(lambda: SqliteDatabase(tmp_path / "runs.db"), folder)
    assert all(
        not stat.S_IMODE(path.stat().st_mode) & 0o077 for path in [*folder.glob("*/*"), *folder.rglob("*.json*")]
    )


def open_and_close(path: Path) -> None:
    """What any other process may do with a database while this one has it open."""
    program = (
        "import sqlite3, sys\n"
        "database = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "database.execute('SELECT count(*) FROM sqlite_master').fetchone()\n"
        "database.close()\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)


def test_what_is_stored_while_another_process_comes_and_goes_is_not_lost(tmp_path: Path) -> None:
    """Two connections of one process: the second must not end the locks that SQLite has for the first."""
    store = store_for("sqlite:runs.db", folder=tmp_path)
    record = store.open("r")
    for number in range(3):
        record(said(number))
        open_and_close(tmp_path / "runs.db")
    later = store_for("sqlite:runs.db", folder=tmp_path)
    assert read(later) == [said(number) for number in range(3)]
    record.close()


@pytest.mark.parametrize("opened", [SqliteDatabase, Index, FullText])
def test_a_second_connection_of_a_process_ends_no_lock_of_the_first(
    opened: Callable[[Path], object], tmp_path: Path
) -> None:
    """SQLite of another process removes the write-ahead log of a database that it believes nobody has open."""
    path = tmp_path / "some.db"
    connections = [opened(path), opened(path)]
    assert path.with_name("some.db-wal").exists()
    open_and_close(path)
    assert path.with_name("some.db-wal").exists()
    assert len(connections) == 2


def test_making_a_file_private_ends_no_lock_on_one_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    make_private(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    program = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'ab'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    with path.open("ab") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        make_private(path)
        done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True)
        assert "BlockingIOError" in done.stderr


def test_a_database_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    store = DatabaseStore(SqliteDatabase(tmp_path / "new" / "runs.db"))
    record = store.open("r")
    record(said(1))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").rglob("*")}
    assert all(not mode & 0o077 for mode in modes.values()), modes
    record.close()
    assert list((tmp_path / "new" / "runs.db-locks").iterdir()) == []


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "runs.db")
    DatabaseStore(database)
    database.execute("UPDATE dragoman_store SET version = 99")
    with pytest.raises(ConfigError, match="newer dragoman"):
        DatabaseStore(database)


def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "runs.db").write_text("this is no database, and long enough to be looked at\n" * 20)
    with pytest.raises(StorageError, match=r"cannot write .*runs.db: file is not a database"):
        store_for("sqlite:runs.db", folder=tmp_path)


@pytest.mark.parametrize("address", ["", "sqlite:", "sqlite://", "mysql://x/y", "runs.db", "/tmp/x"])
def test_an_address_that_names_no_database_is_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"sqlite:PATH or postgresql://"):
        store_for(address, folder=tmp_path)


@pytest.mark.parametrize("form", ["sqlite:{}", "sqlite:///{}", "sqlite:name.db", "sqlite:///name.db"])
def test_a_path_of_sqlite_may_be_relative_to_the_data_folder(form: str, tmp_path: Path) -> None:
    database_of(form.format(tmp_path / "name.db"), folder=tmp_path).close()
    assert (tmp_path / "name.db").exists()


def test_a_transaction_that_an_error_leaves_changes_nothing(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "runs.db")
    store = DatabaseStore(database)

    def fails() -> None:
        with database.transaction():
            database.execute("INSERT INTO dragoman_runs VALUES ('r', 1)")
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert database.execute("SELECT * FROM dragoman_runs") == []
    assert store.runs() == []


def test_a_record_that_cannot_be_begun_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where the folder should be")
    with pytest.raises(StorageError, match="is not a folder"):
        FileStore(tmp_path / "runs").open("r", advice="do this")


def test_half_a_line_that_a_killed_process_left_costs_no_other(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    record = store.open("r")
    record(said(1))
    record(said(2))
    record.close()
    os.truncate(store.path("r"), store.path("r").stat().st_size - 20)
    record = store.open("r")
    record(said(3))
    record.close()
    events = read(store)
    assert [events[0], events[-1]] == [said(1), said(3)]
    assert [event.__struct_config__.tag for event in events] == ["user_said", "unreadable", "user_said"]


def test_a_record_goes_on_in_no_file_that_took_the_place_of_its_own(tmp_path: Path) -> None:
    """Nor in its own, which nobody sees any more: what the run does then would be known to nobody."""
    path = tmp_path / "runs.db"
    store = DatabaseStore(SqliteDatabase(path))
    record = store.open("r-1")
    record(said(1))
    for file in tmp_path.glob("runs.db*"):
        if file.is_file():
            file.unlink()
    DatabaseStore(SqliteDatabase(path)).close()
    with pytest.raises(StorageError, match="replaced while it was in use"):
        record(said(2))
    record.close()
    assert store.runs() == []
    store.close()
