"""The queue in SQLite; `tests/conformance` has the same for PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.fleet import Queue
from dragoman.logs.stores import SqliteDatabase
from tests.fleet.queue_laws import LAWS, Opened


@pytest.mark.parametrize("law", LAWS)
def test_a_law_of_the_queue_holds_in_sqlite(law: Callable[[Opened], None], tmp_path: Path) -> None:
    law(lambda: Queue(SqliteDatabase(tmp_path / "queue.db")))
