"""What is counted over every recorded session: against the logs' own totals, SQL over the tables, and the events."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import Found, Index, Query, analyse_session, packed, read, statistics
from dragoman.logs.history import failure_of, find_logs
from dragoman.logs.history.stats import BY
from dragoman.model import TokensUsed, ToolCalled, ToolReturned
from tests.cli.conftest import User, user as user
from tests.cli.test_stats import counted_over_export
from tests.conformance.conftest import SHARED
from tests.conformance.scripted_sessions import sessions
from tests.conformance.test_logs_totals import TABLE, UNLOGGED
from tests.logs.test_stats import BLOCKS, SQL, counted_by

PLACES = ("traces", "traces-wild")


@pytest.fixture(scope="module", params=PLACES)
def query(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Query:
    files = [one for one in find_logs(str(SHARED / request.param)) if one.path.stat().st_size < 3_000_000]
    query = Query(Index(tmp_path_factory.mktemp("index") / "history.sqlite"), paths=[one.path for one in files])
    query.refresh()
    return query


@pytest.mark.parametrize("client", TABLE)
def test_tokens_are_the_logs_own_totals(client: str) -> None:
    format, total_of, number = TABLE[client]
    compared = 0
    for session in sessions(client, format):
        total = total_of(session)
        if total is None:
            continue
        compared += 1
        for tokens_only in (False, True):
            counted = statistics(Query(paths=session.files), tokens_only=tokens_only).total.tokens
            assert counted is not None
            if (session.client, session.name) in UNLOGGED:
                assert (counted.tokens or 0) < total
            elif not counted.repeated:
                assert (counted.tokens or 0) == total, (session.client, session.name)
            else:
                assert (counted.tokens or 0) < total
    assert compared == number


@pytest.mark.parametrize("by", BY)
def test_calls_are_what_sql_counts(query: Query, by: Any) -> None:
    seconds = "coalesce(duration, elapsed)"
    asked = f"""{BLOCKS} SELECT {SQL[by].format("calls")}, count(*), count(*) FILTER (status = 'failed'),
        count(*) FILTER (status = 'waiting'), count({seconds}), quantile_cont({seconds}, 0.5),
        quantile_cont({seconds}, 0.9), max({seconds})
        FROM calls JOIN sessions USING (session, stream) {counted_by(by)} GROUP BY 1"""
    expected = {row[0]: row[1:] for row in query.sql(asked).rows}
    found = {next(iter(one.group.values())): one.calls for one in statistics(query, by=(by,)).groups}
    counted = {name: one for name, one in found.items() if one is not None and one.calls}
    assert counted.keys() == expected.keys()
    for name, one in counted.items():
        assert (one.calls, one.failures, one.waiting, one.timed) == expected[name][:4]
        assert (one.median, one.p90, one.longest) == pytest.approx(expected[name][4:])


@pytest.mark.parametrize("by", ["client", "model", "project", "day"])
def test_tokens_and_cost_are_what_sql_adds_up(query: Query, by: Any) -> None:
    names = ("input_tokens", "cached_read_tokens", "cached_write_tokens", "output_tokens", "reasoning_tokens", "tokens")
    sums = ", ".join(f"sum(usage.{name}) FILTER (NOT repeated)" for name in names)
    # Files that name no session and are called the same are one session, whoever wrote them: a row has its own client.
    group = "usage.client" if by == "client" else SQL[by].format("usage")
    asked = f"""SELECT {group}, count(*) FILTER (NOT repeated), count(*) FILTER (repeated),
        count(*) FILTER (NOT repeated AND usage.cost IS NULL), {sums}, sum(usage.cost) FILTER (NOT repeated)
        FROM usage JOIN sessions USING (session, stream) GROUP BY 1"""
    expected = {row[0]: row[1:] for row in query.sql(asked).rows}
    found = {next(iter(one.group.values())): one.tokens for one in statistics(query, by=(by,)).groups}
    counted = {name: one for name, one in found.items() if one is not None and one.exchanges + one.repeated}
    assert counted.keys() == expected.keys()
    for name, one in counted.items():
        facts = (one.exchanges, one.repeated, one.unpriced, *(getattr(one, each) for each in names))
        assert facts == expected[name][:-1]
        assert one.cost == (None if expected[name][-1] is None else pytest.approx(expected[name][-1]))


def test_calls_and_failures_are_what_the_events_tell(query: Query) -> None:
    calls: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for family in query.families():
        named: dict[tuple[str, str, str], list[str]] = {}
        answered: set[tuple[str, str, str]] = set()
        events = list(query._read(family))
        for event in events:
            if isinstance(event, ToolCalled):
                calls[event.call.native.name] += 1
                named.setdefault((event.session or "", event.stream, event.call.id), []).append(event.call.native.name)
        for event in events:
            if isinstance(event, ToolReturned):
                key = (event.session or "", event.stream, event.result.call_id)
                native = event.result.native
                if key not in answered and any(failure_of(one, native) is not None for one in event.result.outcomes):
                    failures.update(named.get(key, ()))
                answered.add(key)
    found = {str(one.group["tool"]): one.calls for one in statistics(query, by=("tool",)).groups}
    assert {name: one.calls for name, one in found.items() if one is not None} == dict(calls)
    assert {name: one.failures for name, one in found.items() if one is not None and one.failures} == dict(failures)


@pytest.mark.parametrize("place", PLACES)
def test_a_reader_for_tokens_gives_what_the_whole_reader_gives(place: str) -> None:
    from dragoman.logs import FORMATS

    compared = 0
    for one in _small(SHARED / place):
        reader = FORMATS[one.format].usage_reader(one.path)
        quick = [*reader.feed(one.path.read_bytes()), *reader.rest()]
        expected = [event for event in read(one.path, one.format) if isinstance(event, TokensUsed)]
        assert [event for event in quick if isinstance(event, TokensUsed)] == expected, one.path
        compared += len(expected)
    assert compared > 100


def test_tokens_alone_are_the_same_with_and_without_an_index(query: Query) -> None:
    for by in ((), ("day",), ("client", "model")):
        whole = {tuple(one.group.values()): one.tokens for one in statistics(query, by=by).groups}  # type: ignore[arg-type]
        told = {names: one for names, one in whole.items() if one is not None and one.exchanges}
        for asked in (query, Query(paths=[one.path for one in query.files()])):
            found = statistics(asked, by=by, tokens_only=True)  # type: ignore[arg-type]
            quick = {tuple(one.group.values()): one.tokens for one in found.groups}
            assert {names: one for names, one in quick.items() if one is not None and one.exchanges} == told
            assert found.total.tokens == statistics(query).total.tokens


def test_every_session_can_be_analysed_and_handed_over(query: Query) -> None:
    analysed = failed = 0
    for row in query.sessions():
        found = analyse_session(query, row.session if row.stream == "main" else row.stream)
        analysed += 1
        failed += found.failures
        for finding in found.findings:
            assert finding.advice
            assert finding.spots
            assert all(spot.call_id is not None for spot in finding.spots) or finding.lens == "context"
    assert analysed
    assert failed
    for template in ("compact", "diagnose", "tools"):
        assert len(packed(query, template=template, largest=20_000)) <= 20_000  # type: ignore[arg-type]


def _small(folder: Path) -> list[Found]:
    return [one for one in find_logs(str(folder)) if one.path.stat().st_size < 3_000_000]


@pytest.mark.parametrize("client", TABLE)
def test_every_count_is_what_duckdb_counts_over_the_export(client: str, user: User) -> None:
    counted = 0
    for session in sessions(client, TABLE[client][0]):
        for file in session.files:
            counted_over_export(user, file)
            counted += 1
    assert counted
