"""SQL over an index is given the columns that it names, and its answers are those of tables with all columns."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import QueryRefused
from dragoman.logs import Index, Places, Query
from dragoman.logs.history import sql
from dragoman.logs.history.rows import TABLES, columns_of
from dragoman.logs.history.sql import asked_in_sql
from tests.logs.test_counted import Slowly, line
from tests.logs.test_session_list import changes

NAMED: list[tuple[str, str, set[str]]] = [
    ("SELECT operation, count(*) FROM calls GROUP BY 1", "calls", {"operation"}),
    ('SELECT "Name" AS op FROM Calls c WHERE c.turn > 0 ORDER BY op', "calls", {"name", "turn"}),
    ("WITH a AS (SELECT status FROM calls) SELECT a.status FROM a", "calls", {"status"}),
    ("SELECT s.cwd FROM sessions s JOIN calls USING (session, stream)", "calls", {"session", "stream"}),
    ("SELECT max(turn) OVER w FROM calls WINDOW w AS (PARTITION BY call_id)", "calls", {"turn", "call_id"}),
    ("SELECT count(*) FROM calls", "calls", {"turn"}),
]
ALL = [
    "SELECT * FROM calls",
    "FROM calls",
    "SELECT calls FROM calls",
    "SELECT row(c) FROM calls c",
    "SELECT columns('n.*') FROM calls",
    "SELECT s.cwd FROM sessions s NATURAL JOIN calls",
    "SELECT x FROM calls AS t(x)",
    "DESCRIBE calls",
    "PIVOT (SELECT status, name FROM calls) ON status USING count(*)",
    "SELECT column_name FROM information_schema.columns, calls",
    "SELECT column_name FROM duckdb_columns(), calls",
    "SELECT column_name FROM duckdb_columns, calls",
    "CREATE TABLE x AS SELECT name FROM calls; SELECT count(*) FROM x",
]


class Asking:
    """Tables without rows, and which columns of them were asked for."""

    def __init__(self) -> None:
        self.columns: dict[str, set[str]] = {}

    def __call__(self, name: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        self.columns[name] = set(columns)
        return iter(())


@pytest.mark.parametrize("text, table, columns", NAMED)
def test_columns_that_are_named_are_all_that_is_read(text: str, table: str, columns: set[str]) -> None:
    asking = Asking()
    asked_in_sql(asking, text)
    assert asking.columns[table] == columns


@pytest.mark.parametrize("text", ALL)
def test_where_others_may_be_meant_all_columns_are_read(text: str) -> None:
    asking = Asking()
    asked_in_sql(asking, text)
    assert asking.columns["calls"] == columns_of(TABLES["calls"]).keys()


def test_a_name_that_is_no_column_is_refused_with_those_there_are() -> None:
    with pytest.raises(QueryRefused, match="source_offset"):
        asked_in_sql(Asking(), "SELECT source_ofset FROM calls")


def test_a_column_that_is_meant_and_not_named_is_read_after_all(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = sql._chosen
    monkeypatch.setattr(sql, "_chosen", lambda name, named: chosen(name, named and ["turn"]))
    asking = Asking()
    assert asked_in_sql(asking, "SELECT name FROM calls").columns == ("name",)
    assert asking.columns["calls"] == columns_of(TABLES["calls"]).keys()


@pytest.mark.parametrize("seed", range(2))
def test_rows_are_those_of_going_through_everything(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    folder = tmp_path / "home" / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    made = changes(draw, folder, line)
    done = []
    for _ in range(5):
        done += [next(made) for _ in range(draw.randrange(1, 5))]
        with Index(tmp_path / "index.sqlite") as index, Index(tmp_path / "index.sqlite") as other:
            quick, slow = (
                Query(index, places=Places(tmp_path / "home")),
                Slowly(other, places=Places(tmp_path / "home")),
            )
            for name, kind in TABLES.items():
                rows = Counter(slow.stored_rows(name))
                assert Counter(quick.stored_rows(name)) == rows, (done, name)
                some = draw.sample(kind.__struct_fields__, 3)
                few = [Counter(one.stored_rows(name, some)) for one in (quick, slow)]
                assert few[0] == few[1], (done, name, some)
