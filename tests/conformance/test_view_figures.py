"""Every figure on the page, over real sessions, is that of the command and of SQL."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.cli import main
from dragoman.logs import Chosen, Query
from dragoman.logs.export import conversations_of, dollars, duration
from dragoman.serve.page import Library, Page
from tests.conformance.conftest import SHARED

REAL = [SHARED / "traces"]
GROUPS = ("day", "week", "month", "block", "project", "model", "client", "tool", "operation")


class Shown:
    """The page over the real sessions, and the commands over the same."""

    def __init__(self, page: Page, capsys: pytest.CaptureFixture[str]) -> None:
        self._page, self._capsys = page, capsys

    @property
    def query(self) -> Query:
        return self._page.library.query

    def screen(self, path: str, **parameters: str) -> Any:
        screen = self._page._screen(path, parameters)
        assert screen.status == 200, (path, parameters)
        return json.loads(msgspec.json.encode(screen.data, enc_hook=str))

    def html(self, path: str, **parameters: str) -> list[str]:
        return self._page._screen(path, parameters).body

    def printed(self, *words: str) -> list[Any]:
        self._capsys.readouterr()
        assert main([*words, "--json"]) == 0
        return [json.loads(line) for line in self._capsys.readouterr().out.splitlines()]

    def command(self, *words: str) -> Any:
        (told,) = self.printed(*words)
        return told

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        named = [word for path in REAL for word in ("--in", str(path))]
        return [tuple(row.values()) for row in self.printed("query", statement, *named)]

    def sessions(self) -> list[dict[str, Any]]:
        first = self.screen("/")
        rest = (self.screen("/", page=str(number)) for number in range(2, first["pages"] + 1))
        return [row for screen in (first, *rest) for row in screen["sessions"]]


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Shown]:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CACHE", "DATA", "CONFIG"):
        monkeypatch.setenv(f"DRAGOMAN_{name}_DIR", str(tmp_path / name.lower()))
    query = Query(paths=REAL)
    library = Library(query)
    yield Shown(Page(library), capsys)
    library.close()
    query.close()


def test_sessions_are_those_of_the_command_and_of_sql(shown: Shown) -> None:
    rows = shown.sessions()
    listed = shown.command("sessions", "--all", *map(str, REAL))
    assert len(rows) > 40
    assert [row["session"] for row in rows] == [row["id"] for row in listed]
    both = (rows[0].keys() & listed[0].keys()) - {"started", "ended"}  # their time zone is written in two ways
    assert {"title", "turns", "calls", "failures", "tokens", "models", "agents", "unknown"} <= both
    for row, told_of in zip(rows, listed, strict=True):
        assert {name: row[name] for name in both} == {name: told_of[name] for name in both}
        for name in ("started", "ended"):
            times = [one[name] and datetime.fromisoformat(one[name]) for one in (row, told_of)]
            assert times[0] == times[1]
    told = shown.sql(
        "SELECT session, turns, steps, calls, failures, tokens, agents FROM sessions WHERE parent_session IS NULL"
    )
    names = ("session", "turns", "steps", "calls", "failures", "tokens", "agents")
    assert {tuple(row[name] for name in names) for row in rows} == set(told)


def test_costs_are_those_of_sql_with_each_exchange_counted_once(shown: Shown) -> None:
    rows = shown.sessions()
    priced = "SELECT session, sum(cost), count(*) FILTER (cost IS NULL) FROM usage WHERE NOT repeated GROUP BY 1"
    told = {session: (cost, unpriced) for session, cost, unpriced in shown.sql(priced)}
    alone = [row for row in rows if not row["agents"] and row["session"] in told]
    assert len(alone) > 30
    assert [row["unpriced"] for row in alone] == [told[row["session"]][1] for row in alone]
    assert {row["session"]: row["cost"] for row in alone if row["cost"] is not None} == pytest.approx(
        {row["session"]: told[row["session"]][0] for row in alone if told[row["session"]][0] is not None}
    )
    total = shown.command("stats", "--by", "client", "--tokens", *map(str, REAL))["total"]["tokens"]
    assert sum(row["cost"] or 0 for row in rows) == pytest.approx(total["cost"])
    assert sum(row["unpriced"] for row in rows) == total["unpriced"]


def test_tokens_and_cost_of_a_session_are_with_its_agents_each_exchange_counted_once(shown: Shown) -> None:
    groups = shown.command("usage", "session", "--all", *map(str, REAL))["groups"]
    told = {one["group"]["session"]: one["tokens"] for one in groups}
    with_agents = [row for row in shown.sessions() if row["agents"]]
    assert len(with_agents) >= 4
    for row in with_agents:
        tokens = told[row["session"]]
        assert (row["tokens_with_agents"], row["unpriced"]) == (tokens["tokens"], tokens["unpriced"])
        assert row["cost"] == (None if tokens["cost"] is None else pytest.approx(tokens["cost"]))
        head = "".join(shown.html(f"/session/{row['session']}"))
        agents = f" with {row['agents']:,} agent{'s' if row['agents'] != 1 else ''}"
        assert f"<dd>{tokens['tokens']:,}{agents}" in head
        exported = conversations_of(Chosen(partial(shown.query.events_of, row["session"]), "clean"))
        assert dict(exported[0].facts)["tokens"].startswith(f"{tokens['tokens']:,}{agents}")


def test_durations_and_figures_of_each_step_are_those_of_sql(shown: Shown) -> None:
    calls = shown.sql(
        "SELECT session, event, coalesce(duration, elapsed), status = 'failed' FROM calls WHERE stream = 'main'"
    )
    known = {(session, event): (seconds, failed) for session, event, seconds, failed in calls}
    usage = shown.sql("SELECT session, event, tokens, cost FROM usage WHERE stream = 'main'")
    spent = {(session, event): (tokens, cost) for session, event, tokens, cost in usage}
    timed = used = 0
    for row in sorted(shown.sessions(), key=lambda row: -row["calls"])[:25]:
        begin, total = 0, 1
        while begin < total:
            screen = shown.screen(f"/session/{row['session']}", **{"from": str(begin)})
            total = screen["total"]
            begin += 150
            for entry in screen["entries"]:
                place = (row["session"], entry["event"])
                if entry["kind"] == "call":
                    seconds, failed = known[place]
                    assert entry.get("seconds") == (None if seconds is None else pytest.approx(seconds)), place
                    assert entry.get("failed", False) == failed
                    timed += seconds is not None
                elif entry["kind"] == "usage":
                    tokens, cost = spent[place]
                    assert tokens is None or f"{tokens:,} tokens" in entry["title"], place
                    assert (dollars(cost) if cost is not None else "price not known") in entry["title"], place
                    used += 1
    assert timed > 300
    assert used > 300


def test_the_timeline_counts_calls_as_sql_does(shown: Shown) -> None:
    calls = shown.sql("SELECT session, event, elapsed FROM calls WHERE elapsed IS NOT NULL")
    known = {(session, event): elapsed for session, event, elapsed in calls}
    seen = 0
    for row in sorted(shown.sessions(), key=lambda row: -row["calls"])[:15]:
        bars = shown.screen(f"/session/{row['session']}", tab="timeline", all="1")["bars"]
        for bar in bars:
            place = (row["session"], bar["event"])
            if bar["kind"] in ("tool", "failed") and place in known:
                assert bar["ended"] - bar["began"] == pytest.approx(known[place], abs=1e-5), place
                seen += 1
    assert seen > 200


def test_the_totals_of_the_timeline_are_those_of_sql_with_agents(shown: Shown) -> None:
    elapsed = "SELECT coalesce(s.parent_session, s.session), sum(c.elapsed) FROM calls c JOIN sessions s"
    told = dict(shown.sql(f"{elapsed} USING (session, stream) WHERE c.elapsed IS NOT NULL GROUP BY 1"))
    seen = 0
    for row in shown.sessions():
        screen = shown.screen(f"/session/{row['session']}", tab="timeline", all="1")
        spent = screen["seconds"]
        assert spent["tools"] == pytest.approx(told.get(row["session"], 0), abs=1e-4), row["session"]
        asked = [bar["ended"] - bar["began"] for bar in screen["bars"] if bar["kind"] == "person"]
        assert spent["waiting for a person"] == pytest.approx(sum(asked))
        if spent["tools"]:
            head = "".join(shown.html(f"/session/{row['session']}", tab="timeline", all="1"))
            assert f"<dt>tools</dt><dd>{duration(spent['tools'])}</dd>" in head
            seen += 1
    assert seen > 40


def test_the_lines_of_changes_are_those_of_sql(shown: Shown) -> None:
    changed = (
        "SELECT c.session, c.event, sum(o.added), sum(o.removed) FROM calls c JOIN outcomes o USING (session, call_id)"
        " WHERE c.stream = o.stream AND NOT o.repeated AND NOT o.failed AND o.added IS NOT NULL GROUP BY 1, 2"
    )
    told = {(session, event): lines for session, event, *lines in shown.sql(changed)}
    seen, folded = set[tuple[str, str]](), 0
    for row in shown.sessions():
        lines: dict[str, list[int]] = {}
        for file in shown.screen(f"/session/{row['session']}", tab="changes", all="1")["files"]:
            steps = file["steps"]
            for step in steps:
                added, removed = lines.get(step["event"], (0, 0))
                lines[step["event"]] = [added + (step["added"] or 0), removed + (step["removed"] or 0)]
            # Where neither the client nor a diff says how many lines a step changed, the sum is not known either.
            counts = [[step[name] for step in steps] for name in ("added", "removed")]
            sums = [None if None in one else sum(one) for one in counts]
            if len(steps) == 1 or file["diff"] is None:
                assert [file["added"], file["removed"]] == sums, file["path"]
                continue
            added, removed = sums
            # What is written over leaves no trace.
            if None not in (added, removed) and [step["note"] for step in steps].count("created") < 2:
                assert file["added"] - file["removed"] == added - removed, file["path"]
                folded += 1
        for event, counted in lines.items():
            if (place := (row["session"], event)) in told:
                assert counted == told[place], place
                seen.add(place)
    assert seen == told.keys()
    assert len(seen) > 30
    assert folded


@pytest.mark.parametrize(
    "asked, condition",
    [
        ({"tool": "Bash"}, "name = 'Bash'"),
        ({"op": "edit_file"}, "operation = 'edit_file'"),
        ({"op": "run_command"}, "operation = 'run_command'"),
        ({"failed": "1"}, "status = 'failed'"),
        ({"failed": "1", "tool": "Bash"}, "status = 'failed' AND name = 'Bash'"),
    ],
)
def test_a_search_finds_as_many_calls_as_sql(shown: Shown, asked: dict[str, str], condition: str) -> None:
    while (first := shown.screen("/search", **asked))["unread"] != 0:
        time.sleep(0.2)
    pages = range(1, -(-first["total"] // 40) + 1)
    hits = [hit for page in pages for hit in shown.screen("/search", **asked, page=str(page))["hits"]]
    assert len(hits) == first["total"]
    assert f"{first['total']:,} places found" in "".join(shown.html("/search", **asked))
    kind = "result" if "failed" in asked else "call"
    found = sorted((hit["session"], hit["event"]) for hit in hits if hit["kind"] == kind)
    assert found == sorted(shown.sql(f"SELECT session, event FROM calls WHERE {condition}"))
    assert len(found) > 5


def test_an_id_that_is_missing_is_missing_among_as_many_as_are_listed(shown: Shown) -> None:
    total = shown.screen("/")["total"]
    assert f" among {total}; " in "".join(shown.html("/session/there-is-none"))


@pytest.mark.parametrize("by", GROUPS)
def test_usage_is_that_of_stats(shown: Shown, by: str) -> None:
    screen, counted = shown.screen("/usage", by=by), shown.command("stats", "--by", by, "--all", *map(str, REAL))
    assert screen["groups"]
    assert screen["groups"] == counted["groups"]
    assert screen["total"] == counted["total"]


def test_the_cards_of_usage_are_what_sql_counts(shown: Shown) -> None:
    (row,) = shown.sql(
        "SELECT (SELECT count(DISTINCT session) FROM (SELECT session FROM calls UNION SELECT session FROM usage)),"
        " (SELECT count(*) FROM calls), (SELECT count(*) FILTER (status = 'failed') FROM calls),"
        " (SELECT sum(tokens) FROM usage WHERE NOT repeated), (SELECT sum(cost) FROM usage WHERE NOT repeated),"
        " (SELECT count(*) FILTER (cost IS NULL) FROM usage WHERE NOT repeated),"
        " (SELECT count(*) FILTER (doubtful > 0) FROM usage WHERE NOT repeated)"
    )
    sessions, calls, failed, tokens, cost, unpriced, doubtful = row
    assert doubtful  # Claude Code 2.1.54 logs counts too early
    cards = dict(re.findall(r"<dt>([^<]+)</dt><dd[^>]*>([^<]*)</dd>", "".join(shown.html("/usage"))))
    assert cards.keys() >= {"Sessions", "Cost", "Tokens", "Calls"}
    assert (cards["Sessions"], cards["Calls"], cards["Tokens"]) == (f"{sessions:,}", f"{calls:,}", f"{tokens:,}?")
    assert cards["Cost"] == f"{dollars(cost)}?"
    text = "".join(shown.html("/usage"))
    assert f"{unpriced:,} exchanges of unknown price are not in it" in text
    assert f"{failed / calls:.1%} failed" in text
    listed = shown.screen("/")["total"]
    silent = shown.sql(
        "SELECT count(*) FROM sessions WHERE parent_session IS NULL AND session NOT IN"
        " (SELECT session FROM calls UNION SELECT session FROM usage)"
    )
    agents = shown.sql(
        "SELECT count(DISTINCT session) FROM sessions WHERE parent_session IS NOT NULL AND parent_session <> session"
        " AND session IN (SELECT session FROM calls UNION SELECT session FROM usage)"
    )
    assert sessions == listed - silent[0][0] + agents[0][0]  # the list has those without a call, and agents not at all


def test_the_calls_of_a_session_and_of_a_comparison_are_those_of_sql(shown: Shown) -> None:
    calls = "SELECT session, count(*), count(*) FILTER (status = 'failed') FROM calls WHERE stream = 'main' GROUP BY 1"
    told = {session: (count, failed) for session, count, failed in shown.sql(calls)}
    rows = [row for row in shown.sessions() if row["session"] in told and not row["agents"]]
    clients = sorted({row["client"] for row in rows})
    of = ([row for row in rows if row["client"] == client] for client in clients)
    chosen = [max(some, key=lambda row: row["calls"]) for some in of]
    assert len(chosen) >= 4
    for row in chosen:
        screen = shown.screen(f"/session/{row['session']}")
        assert {name: screen["session"][name] for name in row} == row
        said = [entry for entry in screen["entries"] if entry["kind"] == "call"]
        assert (len(said), sum(entry.get("failed", False) for entry in said)) == told[row["session"]]
        assert shown.screen(f"/session/{row['session']}", tab="changes").keys() >= {"files"}
    first, second = chosen[:2]
    compared = shown.screen("/compare", a=first["session"], b=second["session"])["rows"]
    for side, row in (("a", first), ("b", second)):
        there = [one[side] for one in compared if one[side] is not None]
        failed = {one["event"] for one in there if one["failed"]}  # a call may be several operations
        assert (len({one["event"] for one in there}), len(failed)) == told[row["session"]]


def test_what_a_statement_gives_is_what_the_command_gives(shown: Shown) -> None:
    statement = "SELECT name, count(*) AS calls FROM calls GROUP BY 1 ORDER BY 2 DESC, 1"
    assert [tuple(row) for row in shown.screen("/sql", sql=statement)["rows"]] == shown.sql(statement)
