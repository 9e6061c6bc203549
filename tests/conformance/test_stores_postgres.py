"""Records in PostgreSQL: what holds of every store, and what becomes of a run when its server ends."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from dragoman.errors import ConfigError, StorageError
from dragoman.logs.stores import DatabaseStore, PostgresDatabase
from tests.agents import killed_trees
from tests.conformance.postgres import Server, serving
from tests.engine.killed_runs import assert_no_effect_twice_or_lost
from tests.logs import store_laws
from tests.logs.store_laws import Opened, read, said


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def connect(server: Server) -> Iterator[Callable[[], PostgresDatabase]]:
    """Makes connections to a database that begins with nothing in it."""
    with ExitStack() as stack:

        def connected() -> PostgresDatabase:
            database = PostgresDatabase(server.address)
            stack.callback(database.close)
            return database

        for table in ("dragoman_store", "dragoman_runs", "dragoman_events"):
            connected().execute(f"DROP TABLE IF EXISTS {table}")
        yield connected


@pytest.mark.parametrize(
    "law",
    [
        store_laws.gives_back_what_was_added,
        store_laws.knows_only_runs_that_have_events,
        store_laws.is_held_by_one_at_a_time,
        store_laws.takes_events_of_many_threads,
    ],
)
def test_every_law_of_a_store_holds(law: Callable[[Opened], None], connect: Callable[[], PostgresDatabase]) -> None:
    law(lambda: DatabaseStore(connect()))


def test_whoever_was_replaced_as_the_writer_can_add_nothing(connect: Callable[[], PostgresDatabase]) -> None:
    store_laws.refuses_whoever_was_replaced(connect)


def test_copies_of_a_database_are_its_records(connect: Callable[[], PostgresDatabase], tmp_path: Path) -> None:
    store_laws.has_copies_that_are_the_records(connect, tmp_path / "data")


def test_a_killed_run_repeats_no_effect_and_says_which_are_unknown(
    connect: Callable[[], PostgresDatabase], server: Server, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "tests.engine.killed_runs", server.address, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    assert_no_effect_twice_or_lost(json.loads(done.stdout))


def test_a_killed_tree_that_waits_for_people_repeats_no_effect(
    connect: Callable[[], PostgresDatabase], server: Server, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "tests.agents.killed_trees", server.address, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    killed_trees.assert_no_effect_twice_or_lost(json.loads(done.stdout))


def test_a_record_ends_with_its_server_and_loses_nothing_that_was_stored(
    server: Server, connect: Callable[[], PostgresDatabase]
) -> None:
    record = DatabaseStore(connect()).open("r", advice_later="continue later")
    record(said(1))
    server.stop("immediate")
    server.start()
    for event in (said(2), said(3)):  # not even once the server is back: others may have continued the run
        with pytest.raises(StorageError, match="continue later"):
            record(event)
    record.close()
    store = DatabaseStore(connect())
    record = store.open("r")
    record(said(4))
    record.close()
    assert read(store) == [said(1), said(4)]


def test_a_server_that_is_not_there_is_a_clear_error_without_the_password() -> None:
    with pytest.raises(StorageError) as caught:
        PostgresDatabase("postgresql://me:secret@127.0.0.1:1/base")
    assert "postgresql://127.0.0.1/base" in str(caught.value)
    assert "secret" not in str(caught.value)
    with pytest.raises(ConfigError, match="no address of PostgreSQL"):
        PostgresDatabase("postgresql://me@host/base?what=this")
