"""`dragoman query`: SQL over the history."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import User
from tests.logs.samples import CLAUDE


@pytest.fixture
def reader(user: User) -> User:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    return user


def test_sql_gives_a_table_or_a_line_of_json_per_row(reader: User) -> None:
    asked = "SELECT name, count(*) AS times, min(time) AS first FROM calls GROUP BY name ORDER BY name"
    assert [line.split() for line in reader.types("query", asked).out.splitlines()] == [
        ["name", "times", "first"],
        ["Bash", "1", "2026-01-01", "00:00:03"],
        ["Read", "1", "2026-01-01", "00:00:05"],
    ]
    found = [json.loads(line) for line in reader.types("query", asked, "--json").out.splitlines()]
    assert found == [
        {"name": "Bash", "times": 1, "first": "2026-01-01T00:00:03"},
        {"name": "Read", "times": 1, "first": "2026-01-01T00:00:05"},
    ]


def test_memory_is_limited_in_megabytes(reader: User) -> None:
    asked = "SELECT current_setting('memory_limit') AS memory"
    assert reader.types("query", asked, "--max-memory", "100", "--json").json == {"memory": "100.0 MiB"}


def test_named_files_are_asked_alone(reader: User, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_bytes(CLAUDE.replace(b'"s-1"', b'"s-9"'))
    found = reader.types("query", "SELECT session FROM sessions", "--in", str(other), "--json")
    assert found.json == {"session": "s-9"}


def test_files_are_out_of_reach_and_mistakes_are_told(reader: User) -> None:
    refused = reader.types("query", "SELECT * FROM read_csv('/etc/passwd')")
    assert (refused.code, "not allowed" in refused.err) == (2, True)
    wrong = reader.types("query", "SELECT nothing FROM calls")
    assert (wrong.code, "nothing" in wrong.err) == (2, True)
    assert reader.types("query").code == 2


def test_the_tables_are_described(reader: User) -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "tables.md"
    assert reader.types("query", "--tables").out == page.read_text()


def test_columns_of_one_name_are_all_there(reader: User) -> None:
    asked = "SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS a"
    assert reader.types("query", asked, "--json").json == {"a": 1, "a_2": 2, "a_1": 3, "a_3": 4}


@pytest.mark.parametrize("text", ["", " ", "/* nothing */", ";"])
def test_no_statement_at_all_is_told(reader: User, text: str) -> None:
    wrong = reader.types("query", text)
    assert (wrong.code, "no statement" in wrong.err) == (2, True)
