"""What is counted: every number once more by SQL and from the events, and the quick way against the whole."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies

from dragoman.context_windows import window_of
from dragoman.errors import LogError
from dragoman.logs import FORMATS, Filter, Index, Query, read, statistics
from dragoman.logs.formats.claude_code import FORMAT as CLAUDE_CODE
from dragoman.logs.history import failure_of
from dragoman.logs.history.costs import SEVERAL, Costs
from dragoman.logs.history.rows import UsageRow
from dragoman.logs.history.stats import BY
from dragoman.logs.history.usage import usage_rows
from dragoman.model import TokensUsed, ToolCalled, ToolReturned
from dragoman.prices import PRICES, cost
from tests.logs.samples import CLAUDE, CODEX, SAMPLES, lines

COUNTS = ("input_tokens", "cached_read_tokens", "cached_write_tokens", "output_tokens", "reasoning_tokens", "tokens")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A log of every format, and one of Claude Code that was gone on with under another id."""
    for format, samples in SAMPLES.items():
        for name, data in samples:
            path = tmp_path / format / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    again = CLAUDE.replace(b'"s-1"', b'"s-again"').replace(b"claude-x", b"claude-sonnet-4-5")
    (tmp_path / "s-again.jsonl").write_bytes(again.replace(b"req_", b"again_").replace(b"msg_", b"m_"))
    (tmp_path / "copied.jsonl").write_bytes(CLAUDE.replace(b'"s-1"', b'"s-copied"'))
    return tmp_path


def groups(query: Query, *by: Any, **asked: Any) -> dict[tuple[str | None, ...], Any]:
    return {tuple(one.group.values()): one for one in statistics(query, Filter(**asked), by).groups}


SQL = {
    "tool": "name",
    "operation": "operation",
    "client": "sessions.client",
    "model": "{}.model",
    "project": "coalesce(repository, project)",
    "session": "coalesce(parent_session, sessions.session)",
    "day": "strftime({}.time, '%Y-%m-%d')",
    "week": "strftime(date_trunc('week', {}.time), '%Y-%m-%d')",
    "month": "strftime({}.time, '%Y-%m')",
    "verdict": "verdict",
    "rule": "rule",
    "user": 'sessions."user"',
    "team": "team",
    "machine": "machine",
    "block": "strftime((SELECT max(began) FROM blocks WHERE began <= {}.time), '%Y-%m-%dT%H:%MZ')",
}
BLOCKS = """WITH RECURSIVE blocks(began) AS (
    SELECT date_trunc('hour', min(time)) FROM usage WHERE NOT repeated
    UNION ALL
    SELECT (SELECT date_trunc('hour', min(time)) FROM usage WHERE NOT repeated AND time >= began + INTERVAL 5 HOUR)
    FROM blocks WHERE began IS NOT NULL
)"""


def counted_by(by: str) -> str:
    """Which calls are counted: by verdict or rule, those that somebody decided about."""
    return "WHERE verdict IS NOT NULL" if by in ("verdict", "rule") else ""


@pytest.mark.parametrize("by", BY)
@pytest.mark.slow
def test_calls_failures_and_durations_are_what_sql_counts(home: Path, by: Any) -> None:
    query = Query(paths=[home])
    name = SQL[by].format("calls")
    asked = f"""{BLOCKS} SELECT {name}, count(*),
        count(*) FILTER (status = 'failed'), count(*) FILTER (status = 'waiting'),
        count(coalesce(duration, elapsed)), quantile_cont(coalesce(duration, elapsed), 0.5),
        quantile_cont(coalesce(duration, elapsed), 0.9), max(coalesce(duration, elapsed))
        FROM calls JOIN sessions USING (session, stream) {counted_by(by)} GROUP BY 1"""
    expected = {row[0]: row[1:] for row in query.sql(asked).rows}
    found = {
        names[0]: (
            *(one.calls.calls, one.calls.failures, one.calls.waiting, one.calls.timed),
            *(one.calls.median, one.calls.p90, one.calls.longest),
        )
        for names, one in groups(query, by).items()
        if one.calls.calls
    }
    assert {key: row[:4] for key, row in found.items()} == {key: row[:4] for key, row in expected.items()}
    for key, row in found.items():
        assert row[4:] == pytest.approx(expected[key][4:])


@pytest.mark.parametrize("by", ["client", "model", "project", "session", "day", "block"])
@pytest.mark.slow
def test_tokens_and_cost_are_what_sql_adds_up(home: Path, by: Any) -> None:
    query = Query(paths=[home])
    sums = ", ".join(f"sum({name}) FILTER (NOT repeated)" for name in (f"usage.{one}" for one in COUNTS))
    # Files that name no session and are called the same are one session, whoever wrote them: a row has its own client.
    group = "usage.client" if by == "client" else SQL[by].format("usage")
    asked = f"""{BLOCKS} SELECT {group}, count(*) FILTER (NOT repeated), count(*) FILTER (repeated),
        count(*) FILTER (NOT repeated AND usage.cost IS NULL), {sums},
        sum(usage.cost) FILTER (NOT repeated) FROM usage JOIN sessions USING (session, stream) GROUP BY 1"""
    expected = {row[0]: row[1:] for row in query.sql(asked).rows}
    found = {
        names[0]: one.tokens for names, one in groups(query, by).items() if one.tokens.exchanges + one.tokens.repeated
    }
    assert {
        name: (one.exchanges, one.repeated, one.unpriced, *(getattr(one, each) for each in COUNTS))
        for name, one in found.items()
    } == {name: row[:-1] for name, row in expected.items()}
    for name, one in found.items():
        assert one.cost == (None if expected[name][-1] is None else pytest.approx(expected[name][-1]))


def test_the_total_is_what_the_events_say(home: Path) -> None:
    query = Query(paths=[home])
    events = list(query.events())
    total = statistics(query).total
    results = {(one.session, one.result.call_id): one for one in reversed(events) if isinstance(one, ToolReturned)}
    calls = [one for one in events if isinstance(one, ToolCalled)]
    failures = [
        next(
            (kind for one in found.result.outcomes if (kind := failure_of(one, found.result.native)) is not None), None
        )
        for one in calls
        if (found := results.get((one.session, one.call.id))) is not None
    ]
    assert total.calls is not None
    assert (total.calls.calls, total.calls.failures) == (len(calls), len([one for one in failures if one]))
    assert total.calls.failed_by == dict(Counter(one for one in failures if one is not None))
    assert total.calls.waiting == len(calls) - len(failures)


def test_an_exchange_two_sessions_tell_of_is_counted_once_and_said(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(CLAUDE)
    alone = statistics(Query(paths=[tmp_path])).total.tokens
    (tmp_path / "b.jsonl").write_bytes(CLAUDE.replace(b'"s-1"', b'"s-2"'))
    both = statistics(Query(paths=[tmp_path])).total.tokens
    assert alone is not None
    assert alone.tokens == 40
    assert both == msgspec.structs.replace(alone, repeated=2)


def test_what_is_not_known_is_counted_and_never_zero(home: Path) -> None:
    found = groups(Query(paths=[home]), "model", client="claude_code")
    unknown = found[("claude-x",)].tokens
    assert (unknown.cost, unknown.unpriced, unknown.reasoning_tokens) == (None, unknown.exchanges, None)
    known = found[("claude-sonnet-4-5",)].tokens
    # Two exchanges of 10 new, 3 read and 7 written tokens at 3, 0.30 and 15 dollars a million.
    assert known.cost == pytest.approx(2 * (10 * 3 + 3 * 0.3 + 7 * 15) / 1e6)
    assert known.unpriced == 0


def test_median_and_p90_are_those_of_statistics() -> None:
    from dragoman.logs.history.stats import quantile

    numbers = [0.5, 1.0, 4.0, 9.0, 100.0]
    assert quantile(numbers, 0.5) == median(numbers)
    assert quantile(numbers, 0.9) == pytest.approx(quantiles(numbers, n=10, method="inclusive")[-1])
    assert quantile([3.0], 0.9) == 3.0


def test_time_model_tool_and_operation_choose_what_is_counted(home: Path) -> None:
    query = Query(paths=[home / "s-again.jsonl"])
    late = datetime.datetime(2026, 1, 1, 0, 0, 5, tzinfo=datetime.UTC)

    def counted(**asked: Any) -> tuple[int, int | None]:
        total = statistics(query, Filter(**asked)).total
        assert total.calls is not None
        return total.calls.calls, None if total.tokens is None else total.tokens.exchanges

    assert counted() == (2, 2)
    assert counted(since=late) == (1, 2)
    assert counted(until=late) == (1, 0)
    assert counted(model="claude-son") == (2, 2)
    assert counted(model="gpt") == (0, 0)
    assert counted(tool="Bash") == (1, None)
    assert counted(operation="read_file") == (1, None)
    assert counted(client="codex") == (0, 0)


def test_several_things_can_be_counted_by_at_once_and_a_limit_says_what_it_left_out(home: Path) -> None:
    query = Query(paths=[home])
    found = groups(query, "day", "client")
    assert list(found) == sorted(found, key=lambda one: one[0] or "", reverse=True)
    assert ("2026-01-01", "claude_code") in found
    whole = statistics(query, by=("tool",))
    cut = statistics(query, by=("tool",), limit=2)
    assert (cut.groups, cut.left_out) == (whole.groups[:2], len(whole.groups) - 2)
    assert cut.total == whole.total
    assert all(one.tokens is None for one in whole.groups)


def test_what_cannot_be_counted_by_is_an_error_that_says_so(home: Path) -> None:
    query = Query(paths=[home])
    with pytest.raises(LogError, match=r"nothing called 'tol' to count by; .* Did you mean \"tool\"\?"):
        statistics(query, by=("tol",))  # type: ignore[arg-type]
    with pytest.raises(LogError, match="tokens belong to no tool"):
        statistics(query, by=("tool",), tokens_only=True)


# ── the quick way ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("format", SAMPLES)
def test_a_reader_for_tokens_gives_the_tokens_the_whole_reader_gives(format: str, home: Path) -> None:
    for name, _ in SAMPLES[format]:
        path = home / format / name
        if not path.exists():
            continue
        reader = FORMATS[format].usage_reader(path)
        quick = [*reader.feed(path.read_bytes()), *reader.rest()]
        assert [one for one in quick if isinstance(one, TokensUsed)] == [
            one for one in read(path, format) if isinstance(one, TokensUsed)
        ]


def test_a_reader_for_tokens_follows_inline_sub_agents_and_damage_as_the_whole_reader_does(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    inline = CLAUDE.replace(b'"isSidechain": false', b'"isSidechain": true')
    bad = CLAUDE.replace(b'"content": [{"type": "text"', b'"content": [7, {"type": "text"')
    broken = CLAUDE.replace(b'"usage": {"input_tokens": 10', b'"usage": {"input_tokens": "x"')
    for data in (inline, bad, broken, b"no json\n[1]\n" + CLAUDE, CLAUDE.replace(b"Fix it.", b"Fix \xff it.")):
        path.write_bytes(data)
        reader = CLAUDE_CODE.usage_reader(path)
        quick = [one for one in (*reader.feed(data), *reader.rest()) if isinstance(one, TokensUsed)]
        assert quick == [one for one in read(path, "claude_code") if isinstance(one, TokensUsed)]
        assert quick


@pytest.mark.parametrize("by", [(), ("day",), ("client", "model")])
def test_tokens_alone_are_the_same_without_an_index_with_one_and_with_half_of_one(home: Path, by: Any) -> None:
    whole = statistics(Query(paths=[home]), by=by)
    expected = msgspec.structs.replace(whole, groups=[], total=msgspec.structs.replace(whole.total, calls=None))

    def found(index: Index | None) -> tuple[Any, Any]:
        counted = statistics(Query(index, paths=[home]), by=by, tokens_only=True)
        tokens = {tuple(one.group.values()): one.tokens for one in counted.groups}
        return tokens, counted.total.tokens

    told = {tuple(one.group.values()): one.tokens for one in whole.groups if one.tokens and one.tokens.exchanges}
    for index in (None, Index.in_memory(), Index.in_memory()):
        if index is not None:
            Query(index, paths=[home / "claude_code"]).refresh()
        tokens, total = found(index)
        assert {names: one for names, one in tokens.items() if one.exchanges} == told
        assert total == expected.total.tokens


def test_tokens_alone_leave_the_index_as_it_is_and_see_a_file_that_grew(home: Path, tmp_path: Path) -> None:
    with Index(tmp_path / "cache" / "history.sqlite") as index:
        path = home / "s-again.jsonl"
        Query(index, paths=[path]).refresh()
        before = index.files()
        path.write_bytes(
            path.read_bytes() + CLAUDE.replace(b'"s-1"', b'"s-new"').replace(b"msg_", b"new_").replace(b"req_", b"n_")
        )
        query = Query(index, paths=[path])
        assert len(list(usage_rows(query))) == 4
        assert index.files() == before
        assert statistics(query).total.tokens == statistics(query, tokens_only=True).total.tokens


# ── windows ──────────────────────────────────────────────────────────────────


def test_context_windows_are_found_as_prices_are_and_unknown_is_none() -> None:
    assert window_of("claude-sonnet-4-5-20250929") == 200_000
    assert window_of("anthropic/claude-sonnet-4.5[1m]") == 1_000_000
    assert window_of("gpt-5.1-codex") == 400_000
    assert window_of("gemini-2.5-pro") == 1_048_576
    assert window_of("gpt-5.9") is None
    assert window_of(None) is None


# ── costs ────────────────────────────────────────────────────────────────────


@given(
    strategies.sampled_from(sorted({price.model for price in PRICES})),
    *[strategies.none() | strategies.integers(0, 10**9)] * 4,
)
def test_what_an_exchange_costs_is_what_prices_say(
    model: str, fresh: int | None, read: int | None, write: int | None, output: int | None
) -> None:
    time = datetime.datetime(2026, 8, 1, tzinfo=datetime.UTC)
    row = UsageRow(session="s", stream="main", number=0, event="e", time=time, model=model)
    row.input_tokens, row.cached_read_tokens, row.cached_write_tokens, row.output_tokens = fresh, read, write, output
    expected = cost(model, row, time.date())
    assert Costs().of(row) == (None if expected is None else float(expected))


@given(
    strategies.sampled_from(sorted({price.model for price in PRICES})),
    strategies.lists(
        strategies.tuples(*[strategies.sampled_from([0, 1, 70_000, 150_000, 300_000])] * 4), min_size=1, max_size=4
    ),
    strategies.booleans(),
)
def test_a_sum_costs_what_its_exchanges_do_or_is_not_known(
    model: str, exchanges: list[tuple[int, int, int, int]], is_output_told: bool
) -> None:
    time = datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)

    def row(tokens: Sequence[int]) -> UsageRow:
        made = UsageRow(session="s", stream="main", number=0, event="e", time=time, model=model)
        made.input_tokens, made.cached_read_tokens, made.cached_write_tokens, made.output_tokens = tokens
        made.tokens = sum(tokens)
        return made

    costs = Costs()
    summed = row([sum(kind) for kind in zip(*exchanges, strict=True)])
    summed.earlier_output = 0
    if is_output_told:
        summed.earlier_output, summed.output_tokens = summed.output_tokens, 0
    found, each = costs.of(summed), [costs.of(row(one)) for one in exchanges]
    is_flat = all(price.over == 0 for price in PRICES if price.model == model)
    if found is not None:
        assert found == pytest.approx(sum(one or 0 for one in each))
    elif costs.why_unknown(summed) == SEVERAL:
        assert not is_flat
    else:
        assert None in each


def test_copies_of_a_log_are_counted_once(tmp_path: Path) -> None:
    for folder in ("here", "backup"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "s-1.jsonl").write_bytes(CLAUDE)
    (tmp_path / "here" / "link").symlink_to(tmp_path / "backup")
    once = statistics(Query(paths=[tmp_path / "here" / "s-1.jsonl"]))
    both = Query(paths=[tmp_path])
    assert statistics(both) == once
    assert [(row.session, row.turns, row.calls, row.tokens) for row in both.sessions()] == [
        (row.session, row.turns, row.calls, row.tokens)
        for row in Query(paths=[tmp_path / "here" / "s-1.jsonl"]).sessions()
    ]
    quick = statistics(Query(paths=[tmp_path]), tokens_only=True)
    assert quick.total.tokens == once.total.tokens


def test_tokens_of_a_log_that_was_continued_twice_are_counted_once(tmp_path: Path) -> None:
    (tmp_path / "s-1.jsonl").write_bytes(CLAUDE)
    older = tmp_path / "older" / "s-1.jsonl"
    older.parent.mkdir()
    *begin, last, _ = CLAUDE.splitlines(keepends=True)
    older.write_bytes(b"".join(begin) + last.replace(b"}", b" }", 1))  # a mere copy is not read at all
    once = statistics(Query(paths=[tmp_path / "s-1.jsonl"])).total.tokens
    for query in (Query(paths=[tmp_path]), Query(paths=[tmp_path / "s-1.jsonl", older])):
        for tokens_only in (False, True):
            found = statistics(query, tokens_only=tokens_only).total.tokens
            assert found is not None
            assert found.repeated > 0
            assert msgspec.structs.replace(found, repeated=0) == once


@pytest.mark.parametrize("tokens_only", [False, True])
def test_a_day_is_one_of_utc_whatever_zone_a_log_writes(tmp_path: Path, tokens_only: bool) -> None:
    (tmp_path / "s-1.jsonl").write_bytes(CLAUDE.replace(b"T00:", b"T23:").replace(b".000Z", b".000-05:00"))
    found = statistics(Query(paths=[tmp_path]), by=("day",), tokens_only=tokens_only)
    assert [one.group for one in found.groups] == [{"day": "2026-01-02"}]


def test_a_fork_counts_what_it_did_itself_and_not_what_it_copied(tmp_path: Path) -> None:
    records = [json.loads(line) for line in CODEX.splitlines()]
    first = tmp_path / "rollout-1.jsonl"
    first.write_bytes(lines(*records))
    meta = records[0] | {"payload": records[0]["payload"] | {"id": "c-2", "forked_from_id": "c-1"}}
    # What is counted last in a log is another number in the fork: it was told there, and went on otherwise.
    last = max(number for number, one in enumerate(records) if b"token_count" in msgspec.json.encode(one))
    own = msgspec.json.decode(msgspec.json.encode(records[last]))
    own["payload"]["info"]["last_token_usage"]["output_tokens"] += 1_000
    own["payload"]["info"]["total_token_usage"]["output_tokens"] += 1_000
    (tmp_path / "rollout-2.jsonl").write_bytes(lines(meta, *records[1:last], own, *records[last + 1 :]))
    once = statistics(Query(paths=[first])).total.tokens
    assert once is not None
    indexed = Index(tmp_path / "index.sqlite")
    Query(indexed, paths=[first, tmp_path / "rollout-2.jsonl"]).refresh()
    for index in (None, indexed):
        for tokens_only in (False, True):
            query = Query(index, paths=[first, tmp_path / "rollout-2.jsonl"])
            both = statistics(query, tokens_only=tokens_only).total.tokens
            assert both is not None
            assert (both.exchanges, both.repeated) == (once.exchanges + 1, once.exchanges - 1)


@pytest.mark.parametrize("client, cost", [("dragoman", 0.0), ("opencode", None), ("somebody", None), (None, None)])
def test_a_logged_cost_of_nothing_counts_only_where_the_client_knows_what_is_free(
    client: str | None, cost: float | None
) -> None:
    usage = {"input_tokens": 10, "output_tokens": 3, "logged_cost": 0.0}
    place = {"file": "a.jsonl", "session": "s", "stream": "main", "number": 0, "event": "e"}
    row = msgspec.convert({**place, **usage, "client": client, "model": "a-model-without-a-price"}, UsageRow)
    assert Costs().of(row) == cost
