"""Counting what was done: calls, failures, tokens, cost and durations, in groups.

Rules: tokens of an exchange that another session or file told of before are left out, and how many such exchanges
there were is said. What is not known is counted as not known; it never becomes 0. Tokens belong to exchanges with a
model, so groups of tools or operations have none.
"""

from __future__ import annotations

import datetime
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from math import fsum
from typing import Any, Final, Literal, get_args

import msgspec

from dragoman import config
from dragoman.errors import LogError, nearest
from dragoman.logs.blocks import block_starts

from .costs import NO_PRICE, Costs
from .counted import COUNTED, HOOK, Counting
from .filter import EVERYTHING, Filter
from .query import Query
from .rows import CallRow, SessionRow, UsageRow
from .settled import settled_for_reading
from .usage import usage_rows
from .whole_sessions import Key, key

By = Literal[
    "tool",
    "operation",
    "client",
    "model",
    "project",
    "session",
    "day",
    "week",
    "month",
    "block",
    "verdict",
    "rule",
    "user",
    "team",
    "machine",
]
BY: Final[tuple[By, ...]] = get_args(By)
"""What can be grouped by. Days are those of UTC, a week is named by its Monday, a block of five hours by its first
hour; a call of several operations is of its first one, a sub-agent of the session that started it."""
_TIMES: Final = ("day", "week", "month", "block")
_OF_SESSIONS: Final = frozenset({"project", "session", "user", "team", "machine"})
_OF_DECISIONS: Final = frozenset({"verdict", "rule"})
_OF_CALLS: Final = frozenset({"tool", "operation", *_OF_DECISIONS})


class Calls(msgspec.Struct, kw_only=True):
    """Tool calls: how many, how they ended, how long they took.

    A duration is what the log says, else the time between call and result; `median` and `p90` lie between two calls
    where they must.
    """

    calls: int = 0
    failures: int = 0
    failed_by: dict[str, int] = {}
    """Kind of failure → how often."""
    waiting: int = 0
    """Calls without a result."""
    timed: int = 0
    """Calls whose duration is known; what follows is of these, in seconds."""
    median: float | None = None
    p90: float | None = None
    longest: float | None = None


class Tokens(msgspec.Struct, kw_only=True):
    """Exchanges with models: how many, their tokens and what they cost."""

    exchanges: int = 0
    repeated: int = 0
    """Exchanges another session or file told of before; not counted otherwise."""
    unsaid: int = 0
    """Exchanges whose log does not say how many tokens they took."""
    doubtful: int = 0
    """Exchanges whose output was logged before the reply was complete: the count is too low."""
    input_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    tool_tokens: int | None = None
    tokens: int | None = None
    cost: float | None = None
    """US dollars by the list prices of the day: of those exchanges whose price is known."""
    unpriced: int = 0
    """Exchanges whose price is not known: their cost is not in `cost`."""
    unpriced_by: dict[str, int] = {}
    """Why not, in a few words → how many of them."""
    logged_cost: float | None = None
    """US dollars as the logs say, where they do."""

    @property
    def reasons(self) -> str:
        """Why prices are not known, in a line: the commonest reason first, and what helps if something does."""
        helps = ". [[prices]] in the settings adds prices of models" if NO_PRICE in self.unpriced_by else ""
        return "; ".join(f"{why} ({count:,})" for why, count in self.unpriced_by.items()) + helps


class Group(msgspec.Struct, kw_only=True):
    """What was counted for one value of each thing grouped by; `None` is "the log does not say"."""

    group: dict[str, str | None]
    sessions: int
    """Sessions that had a call or an exchange in it; a sub-agent with an id of its own is one."""
    models: list[str] = []
    """The models of its exchanges, by name; none where tools or operations are counted by or chosen."""
    calls: Calls | None = None
    """`None` when only tokens were asked for."""
    tokens: Tokens | None = None
    """`None` where tools or operations are counted by or chosen."""


class Stats(msgspec.Struct, kw_only=True):
    """The groups, the largest first, of days, weeks and months the newest first; and all of them together."""

    by: tuple[str, ...]
    groups: list[Group]
    left_out: int = 0
    """Groups beyond the limit."""
    total: Group


def statistics(
    query: Query,
    asked: Filter = EVERYTHING,
    by: Sequence[By] = (),
    *,
    tokens_only: bool = False,
    limit: int | None = None,
) -> Stats:
    """Counts what was asked for. Time and model choose calls and exchanges, all else chooses sessions.

    `tokens_only` ignores calls: logs that are not indexed yet are read for their tokens alone, which is much faster,
    and the index is not updated, unless sessions are needed (a project, or grouping by it or by session).
    """
    for one in by:
        if one not in BY:
            raise LogError(f"there is nothing called {one!r} to count by; there are {', '.join(BY)}.{nearest(one, BY)}")
    if tokens_only and _OF_CALLS.intersection(by):
        raise LogError(
            f"tokens belong to no {' or '.join(sorted(_OF_CALLS.intersection(by)))}: count by something else"
        )
    counting = _Counting(query, asked, tuple(by), tokens_only=tokens_only)
    groups = counting.groups()
    total = counting.total()
    shown = groups if limit is None else groups[:limit]
    return Stats(by=tuple(by), groups=shown, left_out=len(groups) - len(shown), total=total)


Names = tuple[str | None, ...]


class _Tally:
    """One group while it is being counted."""

    def __init__(self, prices: Costs) -> None:
        self._prices = prices
        self.sessions: set[str] = set()
        self.models: set[str] = set()
        self.counted_sessions: int | None = None
        self.calls = Calls(failed_by={})
        self.failed: Counter[str] = Counter()
        self.seconds: Counter[float] = Counter()
        """How long → how many calls took that long: as logs say it in milliseconds, many take as long as others."""
        self.tokens = Tokens()
        self.unpriced: Counter[str] = Counter()
        """Why a price is not known → of how many exchanges."""
        # Added up at the end, and exactly: a sum of dollars must not depend on the order of its groups.
        self.costs: list[float] = []
        self.logged_costs: list[float] = []

    def call(self, row: CallRow) -> None:
        self.sessions.add(row.session)
        self.calls.calls += 1
        self.calls.waiting += row.status == "waiting"
        if row.status == "failed":
            self.calls.failures += 1
            self.failed[row.failure or "failed"] += 1
        seconds = seconds_of(row)
        if seconds is not None:
            self.seconds[seconds] += 1

    def usage(self, row: UsageRow) -> None:
        self.sessions.add(row.session)
        counted = self.tokens
        if row.repeated:
            counted.repeated += 1
            return
        counted.exchanges += 1
        if row.model is not None:
            self.models.add(row.model)
        counted.unsaid += row.tokens is None
        counted.doubtful += row.doubtful
        _count(counted, row)
        if row.cost is None:
            self.unpriced[self._prices.why_unknown(row)] += 1
        else:
            self.costs.append(row.cost)
        if row.logged_cost is not None:
            self.logged_costs.append(row.logged_cost)

    def called(self, status: str, failure: str | None, seconds: float | None, count: int) -> None:
        """Adds so many calls that ended in one way and took as long."""
        self.calls.calls += count
        self.calls.waiting += count * (status == "waiting")
        if status == "failed":
            self.calls.failures += count
            self.failed[failure or "failed"] += count
        if seconds is not None:
            self.seconds[seconds] += count

    def used(self, counted: Mapping[str, int | None], cost: float | None, unpriced: Mapping[str, int]) -> None:
        """Adds what was counted of some exchanges."""
        for name, count in counted.items():
            if count is not None:
                setattr(self.tokens, name, (getattr(self.tokens, name) or 0) + count)
        if cost is not None:
            self.costs.append(cost)
        self.unpriced.update(unpriced)

    def merge(self, other: _Tally) -> None:
        """Adds what another group counted."""
        self.sessions |= other.sessions
        self.models |= other.models
        self.failed += other.failed
        self.seconds += other.seconds
        self.unpriced += other.unpriced
        self.costs += other.costs
        self.logged_costs += other.logged_costs
        for ours, theirs in ((self.calls, other.calls), (self.tokens, other.tokens)):
            for name in _ADDED[type(ours)]:
                said = getattr(theirs, name)
                if said is not None:
                    setattr(ours, name, (getattr(ours, name) or 0) + said)

    def group(self, names: dict[str, str | None]) -> Group:
        self.calls.failed_by = dict(sorted(self.failed.items(), key=lambda one: (-one[1], one[0])))
        if self.seconds:
            seconds = _Ranked(self.seconds)
            self.calls.timed = len(seconds)
            self.calls.median, self.calls.p90 = quantile(seconds, 0.5), quantile(seconds, 0.9)
            self.calls.longest = seconds[-1]
        self.tokens.unpriced = self.unpriced.total()
        self.tokens.unpriced_by = dict(sorted(self.unpriced.items(), key=lambda one: (-one[1], one[0])))
        self.tokens.cost = fsum(self.costs) if self.costs else None
        self.tokens.logged_cost = fsum(self.logged_costs) if self.logged_costs else None
        return Group(
            group=names,
            sessions=len(self.sessions) if self.counted_sessions is None else self.counted_sessions,
            models=sorted(self.models),
            calls=self.calls,
            tokens=self.tokens,
        )


_OF_EACH: Final = frozenset({"cost", "logged_cost", "unpriced", "unpriced_by"})
"""What is counted beside `Tokens`."""
_ADDED: Final[dict[type, tuple[str, ...]]] = {
    Calls: ("calls", "failures", "waiting"),
    Tokens: tuple(name for name in Tokens.__struct_fields__ if name not in _OF_EACH),
}


def _count(counted: Tokens, row: UsageRow) -> None:
    # Written out, because it runs for every exchange there is.
    if row.input_tokens is not None:
        counted.input_tokens = (counted.input_tokens or 0) + row.input_tokens
    if row.cached_read_tokens is not None:
        counted.cached_read_tokens = (counted.cached_read_tokens or 0) + row.cached_read_tokens
    if row.cached_write_tokens is not None:
        counted.cached_write_tokens = (counted.cached_write_tokens or 0) + row.cached_write_tokens
    if row.output_tokens is not None:
        counted.output_tokens = (counted.output_tokens or 0) + row.output_tokens
    if row.reasoning_tokens is not None:
        counted.reasoning_tokens = (counted.reasoning_tokens or 0) + row.reasoning_tokens
    if row.tool_tokens is not None:
        counted.tool_tokens = (counted.tool_tokens or 0) + row.tool_tokens
    if row.tokens is not None:
        counted.tokens = (counted.tokens or 0) + row.tokens


class _Counting:
    """Goes through calls and exchanges once."""

    def __init__(self, query: Query, asked: Filter, by: tuple[str, ...], *, tokens_only: bool) -> None:
        self._query, self._asked, self._by, self._tokens_only = query, asked, by, tokens_only
        self._tallies: dict[Names, _Tally] = {}
        self._prices = Costs(config.current().settings.prices)
        # What is asked of calls and exchanges themselves is not asked of their sessions as well.
        self._sessions_asked = Filter(project=asked.project, session=asked.session, client=asked.client)
        needs_sessions = not _OF_SESSIONS.isdisjoint(by)
        self._is_light = tokens_only and not needs_sessions and asked.project is None is asked.session
        self._known = _Known()
        # Where calls are chosen, the tokens of a session are not theirs.
        self._has_tokens = not _OF_CALLS.intersection(by) and asked.tool is None is asked.operation
        self._sessions: int | None = None
        """How many sessions there are in all groups together, where the index has counted them."""
        if COUNTED.issuperset(by):
            index = query.settled(is_new_index_made=not self._is_light)
            of_sessions = needs_sessions or (asked.project, asked.session) != (None, None)
            known = query.scope_facts() if index is not None and of_sessions else None
            if index is not None and (known is not None or not of_sessions):
                with settled_for_reading(index):
                    self._take_counts(Counting(index, asked, by, known=known))
                return
        if not self._is_light:
            self._known.rows = {key(row): row for row in query.rows(SessionRow, self._sessions_asked)}
        if "session" in by:
            self._known.roots = {one: query.root_of(row).session for one, row in self._known.rows.items()}
        if "block" in by:
            # Those of all work with a client, whatever is counted: what was asked for does not move them.
            rows = usage_rows(query) if self._is_light else query.rows(UsageRow, Filter(client=asked.client))
            self._known.blocks = block_starts(
                row.time
                for row in rows
                if row.time is not None and not row.repeated and asked.client in (None, row.client)
            )
        if not tokens_only:
            self._count_calls()
        if self._has_tokens:
            self._count_usage()

    def _take_counts(self, counting: Counting) -> None:
        """Takes what the index has counted."""
        tables = [*([] if self._tokens_only else ["call_sums"]), *(["usage_sums"] if self._has_tokens else [])]
        if not self._tokens_only:
            for names, status, failure, seconds, count in counting.calls():
                self._tally(names).called(status, failure, seconds, count)
        if self._has_tokens:
            for names, count in counting.repeated():
                self._tally(names).tokens.repeated += count
            for names, model, counted, cost, unpriced in counting.tokens():
                self._tally(names).used(counted, cost, unpriced)
                self._tally(names).models |= {model} - {""}
            for names, alone, why in counting.alone() if counting.has_alone else ():
                self._tally(names).used({}, alone, {why: 1} if why is not None else {})
            for names, logged in counting.logged_costs() if counting.has_logged else ():
                self._tally(names).logged_costs.append(logged)
        groups, self._sessions = counting.sessions(tables)
        for names, sessions in groups.items():
            self._tally(names).counted_sessions = sessions

    def _count_calls(self) -> None:
        asked = self._asked
        name_of = [_CALL_NAMES[one] for one in self._by]
        judged = bool(_OF_DECISIONS.intersection(self._by))
        for row in self._query.rows(CallRow, self._sessions_asked):
            if judged and row.verdict is None:
                continue
            if not judged and asked.client is None and (_client_of_call(row, self._known) or "").endswith(HOOK):
                continue
            if asked.tool not in (None, row.name) or asked.operation not in (None, row.operation):
                continue
            if _is_asked(row.time, row.model, asked):
                self._tally(tuple([one(row, self._known) for one in name_of])).call(row)

    def _count_usage(self) -> None:
        asked = self._asked
        name_of = [_USAGE_NAMES[one] for one in self._by]
        rows = usage_rows(self._query) if self._is_light else self._query.rows(UsageRow, self._sessions_asked)
        is_chosen = (asked.client, asked.model, asked.since, asked.until) != (None, None, None, None)
        for row in rows:
            if is_chosen and not (_is_asked(row.time, row.model, asked) and asked.client in (None, row.client)):
                continue
            self._tally(tuple([one(row, self._known) for one in name_of])).usage(row)

    def _tally(self, names: Names) -> _Tally:
        found = self._tallies.get(names)
        if found is None:
            found = self._tallies[names] = _Tally(self._prices)
        return found

    def groups(self) -> list[Group]:
        if not self._by:
            return []
        groups = sorted((self._made(tally, names) for names, tally in self._tallies.items()), key=_order)
        # Sorting is stable: within a day the order stays.
        return sorted(groups, key=_time, reverse=True)

    def total(self) -> Group:
        whole = _Tally(self._prices)
        for tally in self._tallies.values():
            whole.merge(tally)
        whole.counted_sessions = self._sessions
        return self._made(whole, None)

    def _made(self, tally: _Tally, names: Names | None) -> Group:
        made = tally.group({} if names is None else dict(zip(self._by, names, strict=True)))
        made.calls = None if self._tokens_only else made.calls
        made.tokens = made.tokens if self._has_tokens else None
        return made


def _time(group: Group) -> str:
    return next((group.group[one] or "" for one in _TIMES if one in group.group), "")


def _order(group: Group) -> tuple[int, int, tuple[str, ...]]:
    tokens = 0 if group.tokens is None else group.tokens.tokens or 0
    calls = 0 if group.calls is None else group.calls.calls
    names = tuple(name or "" for name in group.group.values())
    return -tokens, -calls, names


def _is_asked(time: datetime.datetime | None, model: str | None, asked: Filter) -> bool:
    if asked.model is not None and (model is None or not model.startswith(asked.model)):
        return False
    if asked.since is not None and (time is None or time < asked.since):
        return False
    return asked.until is None or (time is not None and time < asked.until)


def seconds_of(row: CallRow) -> float | None:
    """How long a call took: as its log says, else by the times of call and result."""
    return row.duration if row.duration is not None else row.elapsed


class _Ranked(Sequence[float]):
    """Values in order, of which only the different ones are held."""

    def __init__(self, counted: Counter[float]) -> None:
        self._values = sorted(counted)
        self._ends = list(accumulate(counted[value] for value in self._values))

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, place: Any) -> Any:
        return self._values[bisect_right(self._ends, place % len(self))]


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which that share lies, between two values where it must; `quantile_cont` in SQL."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _day(time: datetime.datetime | None) -> str | None:
    return None if time is None else _written(time.date())


def _week(time: datetime.datetime | None) -> str | None:
    return None if time is None else _written(time.date() - datetime.timedelta(days=time.weekday()))


def _month(time: datetime.datetime | None) -> str | None:
    return None if time is None else _written(time.date())[:7]


_written = lru_cache(maxsize=4096)(datetime.date.isoformat)


class _Known:
    """What names of groups are made of, beside the row itself."""

    def __init__(self) -> None:
        self.rows: dict[Key, SessionRow] = {}
        self.roots: dict[Key, str] = {}
        self.blocks: list[datetime.datetime] = []

    def block(self, time: datetime.datetime | None) -> str | None:
        """The block something was in: a call after the last exchange of one still belongs to it."""
        place = 0 if time is None else bisect_right(self.blocks, time)
        return f"{self.blocks[place - 1]:%Y-%m-%dT%H:%MZ}" if place else None


def _client_of_call(row: CallRow, known: _Known) -> str | None:
    found = known.rows.get(key(row))
    return None if found is None else found.client


def _project(row: CallRow | UsageRow, known: _Known) -> str | None:
    found = known.rows.get(key(row))
    return None if found is None else found.repository or found.project


def _of_session(name: str) -> Callable[[CallRow | UsageRow, _Known], str | None]:
    return lambda row, known: getattr(known.rows.get(key(row)), name, None)


def _session(row: CallRow | UsageRow, known: _Known) -> str | None:
    return known.roots.get(key(row))


_CALL_NAMES: Final[dict[str, Callable[[CallRow, _Known], str | None]]] = {
    "tool": lambda row, _: row.name,
    "operation": lambda row, _: row.operation,
    "client": _client_of_call,
    "model": lambda row, _: row.model,
    "project": _project,
    "session": _session,
    "day": lambda row, _: _day(row.time),
    "week": lambda row, _: _week(row.time),
    "month": lambda row, _: _month(row.time),
    "block": lambda row, known: known.block(row.time),
    "verdict": lambda row, _: row.verdict,
    "rule": lambda row, _: row.rule,
    **{name: _of_session(name) for name in ("user", "team", "machine")},
}
_USAGE_NAMES: Final[dict[str, Callable[[UsageRow, _Known], str | None]]] = {
    "client": lambda row, _: row.client,
    "model": lambda row, _: row.model,
    "project": _project,
    "session": _session,
    "day": lambda row, _: _day(row.time),
    "week": lambda row, _: _week(row.time),
    "month": lambda row, _: _month(row.time),
    "block": lambda row, known: known.block(row.time),
    **{name: _of_session(name) for name in ("user", "team", "machine")},
}
