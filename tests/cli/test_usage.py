"""`dragoman usage`, as somebody types it, and the line that a client's status line asks for."""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dragoman.serve import status_line
from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX

NOW = datetime.datetime.now(datetime.UTC)


def exchange(session: str, time: datetime.datetime, name: str, model: str = "claude-opus-4-5") -> str:
    usage = {
        "input_tokens": 1000,
        "cache_read_input_tokens": 2000,
        "cache_creation_input_tokens": 0,
        "output_tokens": 100,
    }
    message = {
        "id": name,
        "role": "assistant",
        "stop_reason": "end_turn",
        "model": model,
        "usage": usage,
        "content": [{"type": "text", "text": "x"}],
    }
    head = {"type": "assistant", "sessionId": session, "uuid": name, "requestId": name, "version": "2.1.0", "cwd": "/p"}
    return json.dumps({**head, "timestamp": time.isoformat().replace("+00:00", "Z"), "message": message}) + "\n"


@pytest.fixture
def reader(user: User) -> User:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    user.write(user.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.decode())
    lines = [exchange("today", NOW - datetime.timedelta(minutes=minutes), f"m{minutes}") for minutes in (3, 2, 1)]
    user.write(user.home / ".claude/projects/-p/today.jsonl", "".join(lines))
    return user


COST = (1000 * 5 + 2000 * 0.5 + 100 * 25) / 1e6


@pytest.mark.parametrize("name, by", [("daily", "day"), ("weekly", "week"), ("monthly", "month"), ("blocks", "block")])
def test_figures_are_those_of_stats_and_of_sql_the_newest_first(reader: User, name: str, by: str) -> None:
    shown = reader.types("usage", name, "--json").json
    counted = reader.types("stats", "--by", by, "--tokens", "--json").json
    assert shown["groups"] == counted["groups"]
    assert shown["total"] == counted["total"]
    names = [one["group"][by] for one in shown["groups"]]
    assert names == sorted(names, reverse=True)
    asked = "SELECT sum(tokens), sum(cost) FROM usage WHERE NOT repeated"
    row = reader.types("query", asked, "--json").json
    assert list(row.values()) == [shown["total"]["tokens"]["tokens"], pytest.approx(shown["total"]["tokens"]["cost"])]


def test_a_day_is_the_default_and_thousands_are_grouped(reader: User) -> None:
    done = reader.types("usage")
    assert done == reader.types("usage", "daily")
    newest = done.out.splitlines()[1].split()
    assert newest == [f"{NOW:%Y-%m-%d}", "claude-opus-4-5", "3,000", "0", "6,000", "300", "9,300", f"${3 * COST:.2f}"]


def test_sessions_are_listed_the_newest_first_with_what_they_cost(reader: User) -> None:
    groups = reader.types("usage", "session", "--json").json["groups"]
    assert groups[0]["group"] == {"session": "today"}
    assert groups[0]["tokens"]["cost"] == pytest.approx(3 * COST)
    assert {one["group"]["session"] for one in groups} == {"today", "s-1", "c-1"}
    assert reader.types("usage", "session", "--limit", "1").err.count("2 more are not shown") == 1


def test_the_running_block_says_when_it_ends(reader: User) -> None:
    running = reader.types("usage", "blocks", "--json").json["running"]
    assert 0 < running["minutes_left"] <= 300
    assert running["projected_tokens"] >= 9_300
    assert "ends in" in reader.types("usage", "blocks").err


@pytest.mark.slow
def test_tables_fit_the_terminal_and_break_no_name_and_no_number(reader: User) -> None:
    tries = [(width, name) for width in (60, 80, 120, 200) for name in ("daily", "blocks", "session")]
    screens = reader.sees_each(*((width, {"NO_COLOR": "1"}, ("usage", name)) for width, name in tries))
    first = {"daily": f"{NOW:%Y-%m-%d}", "blocks": r"\d{4}-\d\d-\d\dT\d\d:00Z", "session": "today"}
    for (width, name), screen in zip(tries, screens, strict=True):
        lines = [
            re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).split("\r")[-1].rstrip() for line in screen.out.splitlines()
        ]
        assert max(len(line) for line in lines) <= width
        assert any("9,300" in line.split() for line in lines), (width, name)
        assert any(re.match(first[name], line) for line in lines), (width, name)


def test_nothing_recorded_is_said(user: User) -> None:
    done = user.types("usage")
    assert (done.code, done.out) == (1, "")
    assert "dragoman sources" in done.err


# ── the line ─────────────────────────────────────────────────────────────────


def line(user: User, asked: Any = None) -> str:
    """What a client's status line shows, from a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "dragoman", "usage", "line"],
        env=user.environ,
        cwd=user.here,
        input="" if asked is None else json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def test_the_line_says_the_cost_of_session_day_and_block(reader: User) -> None:
    asked = {"session_id": "today", "model": {"id": "claude-opus-4-5", "display_name": "Opus\x1b[31m 4.5"}}
    first = line(reader, asked)  # counts
    again = line(reader, asked)  # knows
    whole, block = first.strip().rsplit(" · ", 1)
    price = f"${3 * COST:.2f}"
    assert whole == f"Opus[31m 4.5 · {price} session · {price} today"
    assert block.startswith(f"{price} block, ")
    assert again.startswith(whole)
    assert line(reader).startswith(f"{price} today")
    figures = Path(reader.environ["DRAGOMAN_CACHE_DIR"]) / status_line.FILE
    assert figures.stat().st_mode & 0o777 == 0o600


def test_figures_that_are_old_are_counted_again_by_another_process(reader: User) -> None:
    line(reader)
    folder = Path(reader.environ["DRAGOMAN_CACHE_DIR"])
    figures = json.loads((folder / status_line.FILE).read_text())
    made = time.time() - 60
    (folder / status_line.FILE).write_text(
        json.dumps({**figures, "made": made, "took": 0.1, "today": figures["today"] | {"cost": 77.0}})
    )
    assert line(reader).startswith("$77.00 today")
    until = time.monotonic() + 60
    while json.loads((folder / status_line.FILE).read_text())["made"] == made:
        assert time.monotonic() < until
        os.sched_yield()
    assert line(reader).startswith(f"${3 * COST:.2f} today")


def test_nothing_that_a_client_says_breaks_the_line(reader: User) -> None:
    line(reader)
    for asked in (
        "nonsense",
        [],
        {"session_id": ["x"]},
        {"session_id": 7, "model": "m"},
        {"model": {"id": 3}},
        {"session_id": None},
    ):
        assert line(reader, asked).startswith(f"${3 * COST:.2f} today")
