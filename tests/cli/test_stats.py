"""`dragoman stats`, as somebody types it."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX, SAMPLES


@pytest.fixture
def reader(user: User) -> User:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    user.write(user.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.decode())
    return user


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_tools_are_counted_with_their_failures_and_durations(reader: User) -> None:
    done = reader.types("stats", "--by", "tool")
    assert done.code == 0
    assert rows(done.out) == [
        ["tool", "sessions", "calls", "failed", "waiting", "median", "p90", "longest"],
        ["Bash", "1", "1", "1", "(100%)", "0", "1.00s", "1.00s", "1.00s"],
        ["Read", "1", "1", "0", "0", "1.00s", "1.00s", "1.00s"],
        ["exec_command", "1", "1", "1", "(100%)", "0", "0.10s", "0.10s", "0.10s"],
        ["total", "2", "3", "2", "(67%)", "0", "1.00s", "1.00s", "1.00s"],
    ]
    assert "Failures: 2 × exit" in done.err


def test_several_columns_are_given_with_commas_or_one_by_one(reader: User) -> None:
    with_commas = reader.types("stats", "--by", "tool,model")
    assert with_commas == reader.types("stats", "--by", "tool", "--by", "model")
    assert (with_commas.code, with_commas.out.split()[:2]) == (0, ["tool", "model"])
    wrong = reader.types("stats", "--by", "tool,modl")
    assert (wrong.code, "'modl' is not one of 'tool', 'operation'" in wrong.err) == (2, True)


def test_what_is_not_known_is_a_question_mark_and_said(reader: User) -> None:
    done = reader.types("stats", "--by", "model", "--tokens")
    table = {line.split()[0]: line.split() for line in done.out.splitlines()}
    assert table["claude-x"] == ["claude-x", "1", "2", "20", "6", "?", "14", "?", "40", "?"]
    assert "is not known: no price is known for the model, or for a kind of its tokens (4)." in done.err
    assert "[[prices]] in the settings adds prices" in done.err


def test_a_price_of_the_users_own_is_used(reader: User) -> None:
    reader.settings(
        '[[prices]]\nmodel = "claude-x"\nvalid_from = 2025-01-01\ninput = "1"\ncached_read = "1"\noutput = "1"\n'
    )
    (group,) = reader.types("stats", "--by", "model", "--client", "claude_code", "--json").json["groups"]
    assert group["tokens"]["cost"] == pytest.approx(40 / 1e6)


def test_json_has_groups_and_the_total_and_tokens_alone_are_the_same(reader: User) -> None:
    whole = reader.types("stats", "--by", "day", "--by", "client", "--json").json
    assert whole["by"] == ["day", "client"]
    assert [one["group"] for one in whole["groups"]] == [
        {"day": "2026-01-01", "client": "codex"},
        {"day": "2026-01-01", "client": "claude_code"},
    ]
    alone = reader.types("stats", "--by", "day", "--by", "client", "--json", "--tokens").json
    assert [one["tokens"] for one in alone["groups"]] == [one["tokens"] for one in whole["groups"]]
    assert alone["total"]["calls"] is None


def test_filters_and_the_lab_command_of_the_same_name_work(reader: User) -> None:
    found = reader.types("lab", "stats", "--client", "codex", "--json").json["total"]
    assert (found["sessions"], found["calls"]["calls"]) == (1, 1)
    one = reader.types("stats", str(reader.home / ".claude"), "--tool", "Read", "--json").json["total"]
    assert (one["calls"]["calls"], one["tokens"]) == (1, None)
    assert reader.types("stats", "--by", "tool", "--limit", "1").err.startswith("2 more groups are not shown")


def test_nothing_to_count_and_what_cannot_be_counted_are_told(user: User) -> None:
    nothing = user.types("stats")
    assert (nothing.code, "No session was found to count." in nothing.err) == (1, True)
    wrong = user.types("stats", "--tokens", "--by", "tool")
    assert (wrong.code, "leave --tokens out" in wrong.err) == (2, True)
    assert user.types("stats", "--by", "colour").code == 2


def test_two_runs_give_the_same_bytes(reader: User) -> None:
    first = reader.types("stats", "--by", "tool", "--json").out
    assert json.loads(first)
    assert reader.types("stats", "--by", "tool", "--json").out == first


# ── over an export ───────────────────────────────────────────────────────────

EXPORTED = """
CREATE TABLE events AS SELECT row_number() OVER () AS place, * FROM read_json('{}', format = 'newline_delimited',
    maximum_object_size = 100000000, columns = {{kind: 'VARCHAR', session: 'VARCHAR', stream: 'VARCHAR',
    call_id: 'VARCHAR', call: 'JSON', outcomes: 'JSON[]', is_error: 'BOOLEAN', usage: 'JSON', model: 'VARCHAR',
    time: 'TIMESTAMP'}});
CREATE TABLE results AS SELECT session, stream, call_id, min_by(len(list_filter(outcomes, lambda one:
        one->>'type' = 'failure' OR (one->>'type' = 'command_outcome' AND (one->>'timed_out' = 'true'
        OR one->>'signal' IS NOT NULL OR coalesce(one->>'exit_code', '0') <> '0'
        OR (is_error AND one->>'exit_code' IS NULL AND coalesce(one->>'running', 'false') = 'false'))))) > 0,
        place) AS failed
    FROM events WHERE kind = 'tool_returned' GROUP BY ALL;
"""
CALLS = """SELECT call->>'name', count(*), count(*) FILTER (failed), count(*) FILTER (failed IS NULL)
    FROM events LEFT JOIN results USING (session, stream, call_id) WHERE kind = 'tool_called' GROUP BY 1"""
TOKENS = "SELECT model, count(*), " + ", ".join(
    f"sum(CAST(usage->>'{kind}' AS BIGINT))"
    for kind in ("input_tokens", "cached_read_tokens", "cached_write_tokens", "output_tokens", "reasoning_tokens")
)


def counted_over_export(user: User, path: Path) -> None:
    """Every number of calls and tokens, by DuckDB over what `export --to jsonl` writes."""
    exported = user.here / "events.jsonl"
    exported.unlink(missing_ok=True)
    done = user.types("export", str(path), "--to", "jsonl", "-o", str(exported))
    assert done.code == 0, done.err
    with duckdb.connect() as database:
        for statement in EXPORTED.format(exported).split(";\n"):
            if statement.strip():
                database.execute(statement)
        calls = {row[0]: row[1:] for row in database.execute(CALLS).fetchall()}
        tokens = {
            row[0]: row[1:]
            for row in database.execute(f"{TOKENS} FROM events WHERE kind = 'tokens_used' GROUP BY 1").fetchall()
        }
    tools = user.types("stats", str(path), "--by", "tool", "--all", "--json").json["groups"]
    assert calls == {
        one["group"]["tool"]: tuple(one["calls"][name] for name in ("calls", "failures", "waiting")) for one in tools
    }
    models = user.types("stats", str(path), "--by", "model", "--all", "--json", "--tokens").json["groups"]
    kinds = ("input_tokens", "cached_read_tokens", "cached_write_tokens", "output_tokens", "reasoning_tokens")
    if not any(one["tokens"]["repeated"] for one in models):
        assert tokens == {
            one["group"]["model"]: (one["tokens"]["exchanges"], *(one["tokens"][kind] for kind in kinds))
            for one in models
        }


@pytest.mark.parametrize("format", SAMPLES)
@pytest.mark.slow
def test_every_count_is_what_duckdb_counts_over_the_export(user: User, format: str) -> None:
    for name, data in SAMPLES[format]:
        path = user.here / "logs" / format / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    counted_over_export(user, user.here / "logs" / format)
