"""Calls and exchanges counted by the index itself: sums by SQL, so that nothing is made of each of them.

Rule: the counts are those that going through all rows gives (`stats` does that where an index holds other files too).
"""

from __future__ import annotations

import datetime
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import fsum
from typing import Any, Final

from dragoman import config
from dragoman.logs.blocks import block_starts

from .costs import Costs
from .filter import EVERYTHING, Filter
from .index import Index, current_rows
from .layout import json_text, microseconds, moment_of
from .rows import UsageRow
from .scope_facts import ScopeFacts
from .whole_sessions import Key

_SECOND: Final = "({0}.time - ({0}.time % 1000000 + 1000000) % 1000000) / 1000000"
_TIMES: Final = {
    "day": f"date({_SECOND}, 'unixepoch')",
    "week": f"date({_SECOND}, 'unixepoch', 'weekday 0', '-6 days')",
    "month": f"strftime('%Y-%m', {_SECOND}, 'unixepoch')",
}
_PERIOD: Final = "({{0}}.time - ({{0}}.time % {0} + {0}) % {0}) / {0}"
_DAY: Final = _PERIOD.format(86_400_000_000)
"""The number of a day since 1970: several times as quick as its name."""
_HOUR: Final = _PERIOD.format(3_600_000_000)
"""That of an hour: blocks of five hours begin with a full one, so the hour of something tells its block."""
_BLOCK: Final = f"(SELECT max(hour) FROM temp.block_starts WHERE hour <= {_HOUR})"
_CLIENT: Final = "(SELECT client FROM sessions WHERE sessions.scope = calls.scope LIMIT 1)"
_CALLS: Final = {"tool": "calls.name", "operation": "calls.operation", "model": "calls.model", "client": _CLIENT}
_USAGE: Final = {"model": "usage.model", "client": "usage.client", "scope": "usage.scope"}
_WORDS: Final = frozenset({*_CALLS, *_USAGE} - {"scope"})
_OF_SCOPE: Final = {"project": "project", "session": "root"}
"""What is known by the session that a row is of → the column that numbers it."""
COUNTED: Final = frozenset({*_WORDS, *_TIMES, *_OF_SCOPE, "block"})
"""What can be grouped by here."""
HOOK: Final = " hook"
"""How the client of decisions ends. Its calls are in the client's own log too, and are counted there."""
_QUICK: Final = {**dict.fromkeys(_TIMES, _DAY), "block": _HOUR}
"""Times by numbers that are named afterwards."""
_KINDS: Final = (
    *("input_tokens", "cached_read_tokens", "cached_write_tokens", "output_tokens"),
    *("reasoning_tokens", "tool_tokens", "tokens"),
)
_PRICED, _UNPRICED, _ALONE = range(3)
_PRICE: Final = f"""CASE
 WHEN usage.logged_cost = 0 THEN {_ALONE}
 WHEN usage.model IS NULL OR usage.time IS NULL OR usage.input_tokens IS NULL THEN {_UNPRICED}
 WHEN coalesce(usage.tool_tokens, 0) <> 0 OR usage.output_tokens IS NULL THEN {_ALONE}
 ELSE {_PRICED} END"""
"""How the cost of an exchange is found: with others of its day and model, not at all, or by itself."""
_USED: Final = " + ".join(
    f"{1 << bit} * (coalesce(usage.{name}, 0) > 0)"
    for bit, name in enumerate(("input_tokens", "cached_read_tokens", "cached_write_tokens", "output_tokens"))
)
"""Which kinds of tokens an exchange has: where one of them has no price, it has none."""
_PROMPT: Final = "usage.input_tokens + coalesce(usage.cached_read_tokens, 0) + coalesce(usage.cached_write_tokens, 0)"
_COPIES: Final = "scope NOT IN (SELECT scopes.id FROM scopes JOIN files ON files.id = scopes.file WHERE files.copy)"

Names = tuple[str | None, ...]


class Counting:
    """Counts of an index whose repeated exchanges are decided, in groups."""

    def __init__(
        self,
        index: Index,
        asked: Filter,
        by: Sequence[str],
        scopes: Iterable[int] | None = None,
        known: ScopeFacts | None = None,
    ) -> None:
        self._index, self._asked, self._by = index, asked, tuple(by)
        self._words = index.words()
        self._costs = Costs(config.current().settings.prices)
        self._known = known
        """The project and the session of each scope; needed to group by them or to choose by them."""
        self._scopes = None if scopes is None else json_text(list(scopes))
        """Only the rows of these are counted."""
        self._roots: str | None = None
        """Only the rows of these sessions and their sub-agents are."""
        if known is not None and (asked.project, asked.session) != (None, None):
            self._roots = known.roots_of(Filter(project=asked.project, session=asked.session, client=asked.client))
        self.has_alone = self.has_logged = True
        """Whether there are exchanges with a price of their own, and with a cost in the log; `tokens` finds out."""
        self._blocks: list[int] = []
        """The hours that blocks begin with."""
        if "block" in by:
            self._find_blocks()

    def _find_blocks(self) -> None:
        """Finds the blocks of all work with a client, whatever is counted: what was asked for does not move them."""
        self._blocks = list(map(_hour, block_starts(map(_beginning, self._working_hours()))))
        self._index.fill("block_starts", ("hour INTEGER PRIMARY KEY",), ((hour,) for hour in self._blocks))

    def _working_hours(self) -> Iterator[int]:
        everything = Counting(self._index, Filter(client=self._asked.client), ())
        where, values = everything._where("usage")
        only = "usage.time IS NOT NULL AND NOT usage.repeated"
        return (
            hour
            for (hour,) in self._index.ask(
                f"SELECT DISTINCT {_HOUR.format('usage')} FROM usage WHERE {where} AND {only}", *values
            )
        )

    # ── calls ──────────────────────────────────────────────────────────────

    def calls(self) -> Iterator[tuple[Names, str, str | None, int]]:
        """Group, status, kind of failure → how many."""
        for *names, status, failure, count in self._ask("calls", "calls.status, calls.failure", "count(*)"):
            yield self._named(names), self._words[status] or "", self._words[failure], count

    def seconds(self) -> dict[Names, array[float]]:
        """Group → how long each call took, as far as it is known."""
        found: dict[tuple[Any, ...], array[float]] = {}
        took = "coalesce(calls.duration, calls.elapsed)"
        for *names, seconds in self._ask("calls", "", took, f"{took} IS NOT NULL", in_groups=False):
            key = tuple(names)
            if key not in found:
                found[key] = array("d")
            found[key].append(seconds)
        named: dict[Names, array[float]] = {}
        for key, each in found.items():
            named.setdefault(self._named(key), array("d")).extend(each)
        return named

    # ── exchanges ──────────────────────────────────────────────────────────

    def repeated(self) -> Iterator[tuple[Names, int]]:
        """Group → how many exchanges were told of before."""
        for *names, count in self._ask("usage", "", "count(*)", "usage.repeated"):
            yield self._named(names), count

    def tokens(self) -> Iterator[tuple[Names, str, dict[str, int | None], float | None, int]]:
        """Group, model, what is counted of it, what that cost, and how many of its exchanges have no known price."""
        sums = ", ".join(f"sum(usage.{name})" for name in _KINDS)
        counts = "count(*), count(usage.logged_cost), sum(usage.tokens IS NULL), sum(usage.doubtful)"
        # To sort rows into groups is most of the work, so they have as few keys as can be.
        kept = [one for one in self._by if _QUICK.get(one) != _DAY]
        within = f"{_DAY.format('usage')}, usage.model, 3 * (16 * ({self._bucket()}) + {_USED}) + {_PRICE}"
        self.has_alone = self.has_logged = False
        for found in self._ask("usage", within, f"max({_PROMPT}), {counts}, {sums}", "NOT usage.repeated", by=kept):
            rest = found[len(kept) :]
            day, model, sort, prompt, count, logged, unsaid, doubtful = rest[: -len(_KINDS)]
            of_group = iter(found)
            names = [next(of_group) if one in kept else day for one in self._by]
            price = sort % 3
            self.has_alone = self.has_alone or price == _ALONE
            self.has_logged = self.has_logged or logged > 0
            tokens: dict[str, int | None] = dict(zip(_KINDS, rest[-len(_KINDS) :], strict=True))
            cost = None
            if price == _PRICED:
                summed = UsageRow(session="", stream="", number=0, event="", **(tokens | {"tool_tokens": None}))  # type: ignore[arg-type]
                cost = self._costs.of_sum(self._words[model] or "", _date(day), prompt, summed)
            counted = tokens | {"exchanges": count, "unsaid": unsaid, "doubtful": doubtful}
            yield (
                self._named(names),
                self._words[model] or "",
                counted,
                cost,
                count if price != _ALONE and cost is None else 0,
            )

    def alone(self) -> Iterator[tuple[Names, float | None]]:
        """Group → what exchanges cost that have a price of their own."""
        names = ("model", "client", "time", "logged_cost", *_KINDS)
        what = ", ".join(f"usage.{name}" for name in names)
        wanted = f"NOT usage.repeated AND {_PRICE} = {_ALONE}"
        for row in self._ask("usage", "", what, wanted, in_groups=False):
            cells: dict[str, Any] = dict(zip(names, row[len(self._by) :], strict=True))
            cells["model"], cells["client"] = self._words[cells["model"]], self._words[cells["client"]]
            cells["time"] = moment_of(cells["time"])
            made = UsageRow(session="", stream="", number=0, event="", **cells)
            yield self._named(row[: len(self._by)]), self._costs.of(made)

    def logged_costs(self) -> Iterator[tuple[Names, float]]:
        """Group → what the log says that an exchange cost."""
        wanted = "NOT usage.repeated AND usage.logged_cost IS NOT NULL"
        for *names, cost in self._ask("usage", "", "usage.logged_cost", wanted, in_groups=False):
            yield self._named(names), cost

    # ── sessions ───────────────────────────────────────────────────────────

    def sessions(self, tables: Iterable[str], *, in_groups: bool) -> dict[Names, int]:
        """Group → how many sessions had a call or an exchange in it."""
        by = self._by if in_groups else ()
        parts, values = [], []
        for table in tables:
            where, given = self._where(table)
            keys = "".join(f", {one}" for one in self._keys(table, by, {**_TIMES, "day": _DAY, "block": _BLOCK}))
            parts.append(f"SELECT {table}.scope AS scope{keys} FROM {table} WHERE {where}")
            values += given
        names = [f"k{number}" for number in range(len(by))]
        grouped = f" GROUP BY {', '.join(names)}" if names else ""
        statement = (
            f"WITH part({', '.join(('scope', *names))}) AS ({' UNION '.join(parts)})"
            f" SELECT {', '.join((*names, 'count(DISTINCT scopes.session)'))}"
            f" FROM part JOIN scopes ON scopes.id = part.scope{grouped}"
        )
        return {self._named(found, by): count for *found, count in self._index.ask(statement, *values)}

    # ── SQL ────────────────────────────────────────────────────────────────

    def _ask(
        self,
        table: str,
        within: str,
        what: str,
        only: str = "1",
        *,
        in_groups: bool = True,
        by: Sequence[str] | None = None,
    ) -> Iterator[tuple[Any, ...]]:
        where, values = self._where(table)
        keys = [*self._keys(table, self._by if by is None else by, _QUICK), *([within] if within else [])]
        selected = ", ".join((*keys, what))
        grouped = f" GROUP BY {', '.join(keys)}" if in_groups and keys else ""
        return self._index.ask(f"SELECT {selected} FROM {table} WHERE {where} AND {only}{grouped}", *values)

    def _keys(self, table: str, by: Sequence[str], times: Mapping[str, str]) -> list[str]:
        known = _CALLS if table == "calls" else _USAGE
        named = {
            one: f"(SELECT {column} FROM temp.scope_facts WHERE scope = {table}.scope)"
            for one, column in _OF_SCOPE.items()
        }
        return [(known | named)[one] if one in known or one in named else times[one].format(table) for one in by]

    def _where(self, table: str) -> tuple[str, list[Any]]:
        asked = self._asked
        where, values = [f"{table}.{_COPIES}", current_rows(table)], list[Any]()
        if self._scopes is not None:
            where.append(f"{table}.scope IN (SELECT value FROM json_each(?))")
            values.append(self._scopes)
        if self._roots is not None:
            of_session = "SELECT scope FROM temp.scope_facts WHERE root IN (SELECT value FROM json_each(?))"
            where.append(f"{table}.scope IN ({of_session})")
            values.append(self._roots)
        if table == "calls" and asked.client is None:
            hooks = [number for number, word in self._words.items() if word is not None and word.endswith(HOOK)]
            if hooks:
                where.append(f"coalesce({_CLIENT}, 0) NOT IN ({', '.join(map(str, hooks))})")
        if asked.since is not None:
            where.append(f"{table}.time >= ?")
            values.append(microseconds(asked.since))
        if asked.until is not None:
            where.append(f"{table}.time < ?")
            values.append(microseconds(asked.until))
        if asked.model is not None:
            where.append(f"{table}.model IN (SELECT id FROM words WHERE substr(word, 1, ?) = ?)")
            values += [len(asked.model), asked.model]
        chosen = {"tool": asked.tool, "operation": asked.operation} if table == "calls" else {}
        known = _CALLS if table == "calls" else _USAGE
        for name, word in (*chosen.items(), ("client", asked.client)):
            if word is not None:
                where.append(f"{known[name]} = (SELECT id FROM words WHERE word = ?)")
                values.append(word)
        return " AND ".join(where), values

    def _bucket(self) -> str:
        """Between which thresholds of prices a prompt is."""
        cases = "".join(
            f" WHEN {_PROMPT} <= {most} THEN {number}" for number, most in enumerate(self._costs.thresholds)
        )
        return f"CASE{cases} ELSE -1 END" if cases else "-1"

    def _named(self, names: Sequence[Any], by: Sequence[str] | None = None) -> Names:
        by = self._by if by is None else by
        return tuple([self._name(one, kind) for one, kind in zip(names, by, strict=True)])

    def _name(self, one: Any, kind: str) -> Any:
        if kind in _WORDS:
            return self._words[one]
        if kind == "scope" or one is None:
            return one
        if kind == "block":
            place = bisect_right(self._blocks, one)
            return f"{_beginning(self._blocks[place - 1]):%Y-%m-%dT%H:%MZ}" if place else None
        if kind in _OF_SCOPE:
            assert self._known is not None
            return self._known.name(kind, one)
        return _name(one, kind)


def costs_of(index: Index, families: Mapping[str, Iterable[Key]]) -> dict[str, tuple[float | None, int, int | None]]:
    """Session → what it and its sub-agents, whose keys are given, cost, how many exchanges have no price, and tokens.

    A session without any exchange is not among them.
    """
    of = "SELECT id FROM scopes WHERE session = ? AND stream = ?"
    roots = {id: root for root, keys in families.items() for one in keys for (id,) in index.ask(of, *one)}
    counting = Counting(index, EVERYTHING, ("scope",), roots)
    known: dict[str, list[float]] = {}
    unpriced: Counter[str] = Counter()
    tokens: dict[str, int] = {}
    for (scope,), _, counted, cost, without in counting.tokens():
        root, count = roots[scope], counted["tokens"]
        if count is not None:
            tokens[root] = tokens.get(root, 0) + count
        known.setdefault(root, []).extend(() if cost is None else (cost,))
        unpriced[root] += without
    for (scope,), cost in counting.alone():
        root = roots[scope]
        known.setdefault(root, []).extend(() if cost is None else (cost,))
        unpriced[root] += cost is None
    return {root: (fsum(costs) if costs else None, unpriced[root], tokens.get(root)) for root, costs in known.items()}


def _date(day: int) -> datetime.date:
    return datetime.date.fromordinal(_FIRST + day)


def _beginning(hour: int) -> datetime.datetime:
    return datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(hours=hour)


def _hour(time: datetime.datetime) -> int:
    return int(time.timestamp()) // 3600


@lru_cache(maxsize=1 << 14)
def _name(day: int | str | None, kind: str) -> str | None:
    """What the day, week or month of a day is called; one that has its name keeps it."""
    if day is None or isinstance(day, str):
        return day
    date = _date(day)
    if kind == "week":
        date -= datetime.timedelta(days=date.weekday())
    return date.isoformat()[:7] if kind == "month" else date.isoformat()


_FIRST: Final = datetime.date(1970, 1, 1).toordinal()
