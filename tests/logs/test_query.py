"""Asking recorded sessions: what filters choose, whole sessions by their ids, and SQL that can reach nothing else."""

from __future__ import annotations

import datetime
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dragoman.errors import LimitReached, LogError, QueryRefused
from dragoman.logs import Filter, Index, Places, Query, SqlLimits, numbered, read, sessions_of, statistics
from dragoman.logs.history import moment_asked
from dragoman.logs.history.rows import TABLES, CallRow, columns_of
from dragoman.logs.history.sql import CLOSED, Asked
from dragoman.model import ToolCalled, ToolReturned
from tests.logs.samples import CLAUDE, CODEX, OPENCODE, SAMPLES


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two sessions of Claude Code, one of Codex, one of Gemini CLI with a sub-agent in a file of its own."""
    (tmp_path / "s-1.jsonl").write_bytes(CLAUDE)
    later = CLAUDE.replace(b'"s-1"', b'"s-2"').replace(b"2026-01-01", b"2026-01-02").replace(b"claude-x", b"claude-y")
    (tmp_path / "s-2.jsonl").write_bytes(later.replace(b"req_", b"other_").replace(b"msg_", b"m_"))
    (tmp_path / "rollout-c-1.jsonl").write_bytes(CODEX)
    for name, data in SAMPLES["gemini_cli"][:2]:
        path = tmp_path / "gemini" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path


@pytest.fixture
def query(home: Path) -> Query:
    return Query(paths=[home])


def utc(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)


# ── sessions ─────────────────────────────────────────────────────────────────


def test_a_log_of_which_a_copy_lies_in_a_home_that_is_not_asked_is_listed(tmp_path: Path) -> None:
    for home in ("first", "second"):
        folder = tmp_path / home / ".claude" / "projects" / "p"
        folder.mkdir(parents=True)
        (folder / "s-1.jsonl").write_bytes(CLAUDE)
    with Index(tmp_path / "index.sqlite") as index:
        for home in ("first", "second", "first"):
            query = Query(index, places=Places(tmp_path / home))
            assert [(row.session, row.file) for row in query.sessions()] == [
                ("s-1", str(tmp_path / home / ".claude/projects/p/s-1.jsonl"))
            ]


def test_sessions_come_newest_first_and_sub_agents_only_when_asked_for(query: Query) -> None:
    assert [row.session for row in query.sessions()] == ["s-2", "c-1", "s-1", "g-1"]
    with_agents = query.sessions(with_agents=True)
    assert {(row.session, row.stream, row.parent_call) for row in with_agents if row.stream != "main"} == {
        ("g-1", "a-1", "agent_1")
    }


def test_a_log_that_calls_its_agent_main_takes_no_session_away(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    for session, agent in (("s-1", "main"), ("s-2", "a-2"), ("s-3", "a-3")):
        head = {"sessionId": session, "version": "2.1.300", "timestamp": "2026-01-05T12:00:00Z"}
        call = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "go", "description": "d"}}
        result = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
        lines = [
            {"type": "assistant", "uuid": "u1", "message": {"id": session, "role": "assistant", "content": [call]}},
            {"type": "user", "uuid": "u2", "message": {"role": "user", "content": [result]}}
            | {"toolUseResult": {"agentId": agent, "status": "completed", "content": []}},
        ]
        (folder / f"{session}.jsonl").write_text("".join(json.dumps({**head, **one}) + "\n" for one in lines))
    with Index(tmp_path / "index.sqlite") as index:
        for query in (Query(paths=[folder]), Query(index, places=Places(tmp_path))):
            assert [row.session for row in query.sessions()] == ["s-3", "s-2", "s-1"]


@pytest.mark.parametrize(
    "asked, expected",
    [
        (Filter(client="codex"), ["c-1"]),
        (Filter(since=utc("2026-01-02")), ["s-2"]),
        (Filter(until=utc("2026-01-02")), ["c-1", "s-1", "g-1"]),
        (Filter(model="claude"), ["s-2", "s-1"]),
        (Filter(model="claude-y"), ["s-2"]),
        (Filter(session="s-"), ["s-2", "s-1"]),
        (Filter(tool="Read"), ["s-2", "s-1"]),
        (Filter(operation="read_file", client="claude_code", limit=1), ["s-2"]),
        (Filter(tool="nothing"), []),
        (Filter(limit=2), ["s-2", "c-1"]),
    ],
    ids=repr,
)
def test_a_filter_chooses_sessions(query: Query, asked: Filter, expected: list[str]) -> None:
    assert [row.session for row in query.sessions(asked)] == expected


def test_a_session_is_given_whole_by_its_id_or_by_how_it_begins(query: Query, home: Path) -> None:
    (expected,) = sessions_of(read(home / "s-1.jsonl"))
    assert query.session("s-1") == expected
    assert query.session("c").id == "c-1"
    whole = query.session("g-1")
    assert [(child.stream, child.parent_call) for child in whole.children] == [("a-1", "agent_1")]
    assert query.session("a-1") == whole.children[0]


def test_an_id_that_means_several_sessions_or_none_is_an_error_that_says_so(query: Query) -> None:
    with pytest.raises(LogError, match=r"'s-' begins 2 sessions \(s-1, s-2\); give more of the id"):
        query.session("s-")
    with pytest.raises(LogError, match=r"no session begins with 'zz' among 4; `dragoman sessions` lists them"):
        query.session("zz")


def test_databases_that_end_with_the_same_page_are_no_copies(tmp_path: Path) -> None:
    places = [tmp_path / name / "opencode.db" for name in ("one", "same", "other")]
    for path in places:
        path.parent.mkdir()
    places[0].write_bytes(OPENCODE)
    with closing(sqlite3.connect(places[0])) as opened:
        opened.execute("CREATE TABLE last AS SELECT zeroblob(20000) AS page")
        opened.commit()
    data = places[0].read_bytes()
    places[1].write_bytes(data)
    places[2].write_bytes(data.replace(b"ses_", b"sez_"))
    query = Query(paths=[tmp_path])
    found = sorted(row.session[:4] for row in query.sessions())
    assert found == ["ses_"] * (len(found) // 2) + ["sez_"] * (len(found) // 2)
    assert found
    tokens = [statistics(Query(paths=some), tokens_only=True).total.sessions for some in ([places[0]], [tmp_path])]
    assert tokens == [len(found) // 2, len(found)]


def test_files_that_the_index_knows_beside_those_asked_for_stay_out_of_all_answers(home: Path, tmp_path: Path) -> None:
    with Index(tmp_path / "cache" / "history.sqlite") as index:
        Query(index, paths=[home]).refresh()
        one = Query(index, paths=[home / "s-1.jsonl"])
        assert [row.session for row in one.sessions()] == ["s-1"]
        assert {event.session for event in one.events()} == {"s-1"}
        for name in TABLES:
            assert {row["session"] for row in one.table(name).dicts()} == {"s-1"}
        assert one.sql("SELECT DISTINCT session FROM calls").rows == [("s-1",)]


# ── events ───────────────────────────────────────────────────────────────────


def test_events_are_those_of_the_log_with_their_turns_and_steps(query: Query, home: Path) -> None:
    assert list(query.events(Filter(session="s-1"))) == list(numbered(read(home / "s-1.jsonl")))


def test_events_come_with_the_newest_session_first_and_a_limit_counts_them(query: Query) -> None:
    everything = list(query.events())
    sessions = list(dict.fromkeys(event.session for event in everything if event.session is not None))
    assert sessions == ["s-2", "c-1", "s-1", "g-1"]
    assert list(query.events(Filter(limit=5))) == everything[:5]


def test_events_are_chosen_by_kind_tool_operation_and_time(query: Query) -> None:
    called = list(query.events(Filter(kind="tool_called", client="claude_code")))
    assert [event.call.native.name for event in called if isinstance(event, ToolCalled)] == ["Bash", "Read"] * 2
    of_read = list(query.events(Filter(tool="Read", session="s-1")))
    assert [type(event) for event in of_read] == [ToolCalled, ToolReturned]
    assert of_read == list(query.events(Filter(operation="read_file", session="s-1")))
    late = list(query.events(Filter(since=utc("2026-01-02T00:00:06"))))
    assert late
    assert {event.session for event in late} == {"s-2"}
    assert all(event.time is not None and event.time >= utc("2026-01-02T00:00:06") for event in late)


# ── tables and SQL ───────────────────────────────────────────────────────────


def test_a_table_is_given_for_the_sessions_asked_for(query: Query) -> None:
    table = query.table("calls", Filter(session="s-1"))
    assert table.columns == tuple(columns_of(TABLES["calls"]))
    assert [(row["session"], row["name"]) for row in table.dicts()] == [("s-1", "Bash"), ("s-1", "Read")]
    with pytest.raises(LogError, match=r"there is no table 'call'.*[Dd]id you mean"):
        query.table("call")


@pytest.mark.parametrize("name", TABLES)
def test_sql_sees_the_very_rows_of_every_table(query: Query, name: str) -> None:
    table, found = query.table(name), query.sql(f"SELECT * FROM {name}")
    assert found.columns == table.columns
    plain = [
        tuple(cell.replace(tzinfo=None) if isinstance(cell, datetime.datetime) else cell for cell in row)
        for row in table.rows
    ]
    assert sorted(found.rows, key=repr) == sorted(plain, key=repr)
    assert found.rows


def test_sql_joins_groups_and_lists_what_there_is(query: Query) -> None:
    asked = """
        SELECT s.client, c.name, count(*) FROM calls c JOIN sessions s USING (session, stream)
        WHERE s.client = 'claude_code' GROUP BY ALL ORDER BY ALL
    """
    assert query.sql(asked).rows == [("claude_code", "Bash", 2), ("claude_code", "Read", 2)]
    assert {name for (name,) in query.sql("SHOW TABLES").rows} == set(TABLES)
    (command,) = query.sql("SELECT DISTINCT arguments->>'$.command' FROM calls WHERE name = 'Bash'").rows
    assert command == ("false",)


def test_sql_that_is_wrong_is_told_in_the_words_of_the_database(query: Query) -> None:
    with pytest.raises(LogError, match="calls"):
        query.sql("SELECT nothing FROM calls")


def test_sql_reaches_neither_files_nor_the_network_nor_our_own_variables(query: Query, tmp_path: Path) -> None:
    secret, target = tmp_path / "secret.csv", tmp_path / "out"
    secret.write_text("a\n1\n")
    closed = [
        f"SELECT * FROM read_csv('{secret}')",
        f"SELECT * FROM read_text('{secret}')",
        f"SELECT * FROM read_json('{secret}')",
        f"SELECT * FROM '{secret}'",
        f"SELECT * FROM glob('{tmp_path}/*')",
        f"COPY calls TO '{target}'",
        f"COPY (SELECT 1) TO '{target}' (FORMAT parquet)",
        f"EXPORT DATABASE '{target}'",
        f"IMPORT DATABASE '{tmp_path}'",
        f"ATTACH '{target}'",
        f"ATTACH '{secret}' AS other (TYPE sqlite)",
        "INSTALL httpfs",
        "LOAD httpfs",
        f"LOAD '{secret}'",
        "SELECT * FROM read_csv('http://127.0.0.1:9/x')",
        "SELECT * FROM read_parquet('s3://bucket/x')",
        f"CREATE PERSISTENT SECRET one (TYPE s3, KEY_ID 'a', SECRET 'b', STORAGE '{target}')",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        f"SET temp_directory = '{target}'",
        f"SET home_directory = '{target}'",
        f"PRAGMA profiling_output = '{target}'",
        f"SET log_query_path = '{target}'",
        "SET memory_limit = '100GB'",
        "RESET memory_limit",
        "SET threads = 64",
        "SELECT * FROM closed",  # a variable of this very function
        "SELECT * FROM rows_of",
    ]
    with closing(duckdb.connect(":memory:")) as database:  # what the process that answers does, without a process each
        for setting in CLOSED:
            database.execute(setting)
        for statement in closed:
            with pytest.raises(duckdb.Error):
                database.execute(statement).fetchall()
    for statement in (closed[0], closed[-1]):
        with pytest.raises(QueryRefused):
            query.sql(statement)
    assert not target.exists()
    assert {path.name for path in Path.cwd().iterdir() if path.name.endswith((".tmp", ".db"))} == set()


# ── limits of SQL ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "limits, sql, limit",
    [
        (SqlLimits(rows=2), "SELECT * FROM range(3)", ("rows of a query", 2)),
        (SqlLimits(seconds=0.5), "SELECT count(*) FROM range(1000000000000)", ("seconds of a query", 0.5)),
        (
            SqlLimits(memory=64 << 20),
            "SELECT list(range) FROM range(100000000)",
            ("megabytes of memory of a query", 64),
        ),
        (
            SqlLimits(memory=128 << 20, rows=1_000_000),
            "SELECT repeat('x', 900) FROM range(200000)",
            ("megabytes of a query's result", 128),
        ),
    ],
)
@pytest.mark.slow
def test_a_statement_that_reaches_a_limit_is_ended_and_says_which(
    query: Query, limits: SqlLimits, sql: str, limit: tuple[str, float]
) -> None:
    with pytest.raises(LimitReached) as raised:
        query.sql(sql, limits)
    assert (raised.value.limit, raised.value.value) == limit


def test_as_many_rows_as_are_allowed_are_given(query: Query) -> None:
    assert query.sql("SELECT * FROM range(3)", SqlLimits(rows=3)).rows == [(0,), (1,), (2,)]


def test_rows_come_one_by_one_and_what_is_not_read_is_not_made(query: Query) -> None:
    with query.ask_sql("SELECT range AS number FROM range(1000000000000)") as asked:
        assert asked.columns == ("number",)
        assert list(islice(asked, 3)) == [(0,), (1,), (2,)]


def test_values_of_every_type_come_as_python_has_them(query: Query) -> None:
    asked = (
        "SELECT DATE '2020-01-01', 1.5::DECIMAL(4,2), INTERVAL 1 DAY, [1, 2], {'a': 1}, TIME '10:00', 'x'::BLOB, NULL"
    )
    assert query.sql(f"{asked}, TIMETZ '10:00:00+02', uuid() IS NULL").rows == [
        (
            datetime.date(2020, 1, 1),
            Decimal("1.50"),
            datetime.timedelta(days=1),
            [1, 2],
            {"a": 1},
            datetime.time(10),
            b"x",
            None,
            datetime.time(10, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
            False,
        )
    ]


@pytest.mark.parametrize("field", ["seconds", "rows", "memory"])
def test_a_limit_of_nothing_is_no_limit_that_can_be_set(field: str) -> None:
    with pytest.raises(ValueError, match=f"{field} must be more than 0"):
        SqlLimits(**{field: 0})


# ── times ────────────────────────────────────────────────────────────────────


def test_times_are_dates_or_ages() -> None:
    now = utc("2026-01-10T12:00:00")
    assert moment_asked("2d", now=now) == utc("2026-01-08T12:00:00")
    assert moment_asked("3h", now=now) == utc("2026-01-10T09:00:00")
    assert moment_asked("1w", now=now) == utc("2026-01-03T12:00:00")
    assert moment_asked("2026-01-02T03:04:05+01:00") == utc("2026-01-02T02:04:05")
    assert moment_asked("2026-01-02") == datetime.datetime(2026, 1, 2).astimezone(datetime.UTC)
    with pytest.raises(ValueError, match=r"neither a date .* nor an age"):
        moment_asked("yesterday")


@pytest.mark.parametrize("text", ["999999999d", "99999999999999999999w", "0001-01-01T00:00:00+14:00"])
def test_a_moment_beyond_all_days_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="all days"):
        moment_asked(text)


def test_what_reads_rows_for_a_statement_does_not_wait_until_it_is_answered(query: Query) -> None:
    held: list[bool] = []

    class Lock(nullcontext[None]):
        def __enter__(self) -> None:
            held.append(True)

        def __exit__(self, *_: object) -> None:
            held.pop()

    def rows_of(name: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        assert held == [True]
        return query.stored_rows(name, columns)

    with Asked(rows_of, "SELECT count(*) FROM calls", lock=Lock()) as asked:
        assert held == []
        assert next(iter(asked))[0] == len(list(query.rows(CallRow)))
