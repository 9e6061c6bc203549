"""Calls and exchanges counted by the index itself, from its sums: nothing is made of each of them.

Rule: the counts are those that going through all rows gives (`stats` does that where an index holds other files too).
"""

from __future__ import annotations

import datetime
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import merge
from itertools import groupby
from math import fsum
from operator import itemgetter
from typing import Any, Final

from dragoman import config
from dragoman.logs.blocks import block_starts

from .costs import NO_INPUT, NO_MODEL, NO_PRICE, NO_TIME, NO_TOKENS, THRESHOLDS, Costs
from .filter import EVERYTHING, Filter
from .index import Index
from .layout import SUMMED, json_text, moment_of
from .rows import UsageRow
from .scope_facts import ScopeFacts
from .sums import ALONE, HOUR, HOUR_OF, PRICE, PRICED, UNPRICED, UNTIMED, for_a_question, kinds_of
from .whole_sessions import Key

_DAY: Final = "(hour - (hour % 24 + 24) % 24) / 24"
"""The number of a day since 1970: several times as quick as its name."""
_TIMES: Final = {"day": _DAY, "week": _DAY, "month": _DAY, "block": "hour"}
"""Times by numbers that are named afterwards: blocks of five hours begin with a full one, so hours tell them."""
_OF_SCOPE: Final = {"project": "project", "session": "root"}
"""What is known by the session that a row is of → the column that numbers it."""
_KEYS: Final = _TIMES | {
    one: f"(SELECT {column} FROM temp.scope_facts WHERE scope_facts.scope = sums.scope)"
    for one, column in _OF_SCOPE.items()
}
"""What is not a column of sums itself → its SQL."""
_OF_KIND: Final = {"tool": 0, "operation": 1, "model": 2}
"""What calls of one kind have in common → its place in what `kinds_of` says."""
_STATUS, _FAILURE = 3, 4
_WORDS: Final = frozenset({*_OF_KIND, "client"})
COUNTED: Final = frozenset({*_WORDS, *_KEYS})
"""What can be grouped by here."""
HOOK: Final = " hook"
"""How the client of decisions ends. Its calls are in the client's own log too, and are counted there."""
_HELD: Final = 1 << 20
"""Bytes of calls that are held before they are counted."""

Names = tuple[str | None, ...]
_Key = tuple[Any, ...]


class Counting:
    """Counts of an index that is settled, in groups."""

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
        self._kinds = kinds_of(index)
        self._chosen = self._chosen_kinds()
        """The kinds of calls that are asked for; `None` is all of them."""
        self._made: dict[str, str] = {}
        """Table → the sums that are asked, as SQL."""
        self._named_keys: dict[_Key, Names] = {}
        self._blocks: list[int] = []
        """The hours that blocks begin with: of all work with a client, for what was asked for does not move them."""
        if "block" in by:
            everything = Counting(index, Filter(client=asked.client), ())
            hours = everything._ask("usage_sums", "DISTINCT hour", "NOT repeated AND hour IS NOT NULL")
            self._blocks = list(map(_hour, block_starts(_beginning(hour) for (hour,) in hours)))

    # ── calls ──────────────────────────────────────────────────────────────

    def calls(self) -> Iterator[tuple[Names, str, str | None, float | None, int]]:
        """Group, status, kind of failure, how long they took as far as it is known → how many calls."""
        for key, counted in self._counted_calls().items():
            names: dict[int, Names | None] = {}
            for (kind, seconds), count in counted.items():
                if kind not in names:
                    names[kind] = self._of_call(key, kind)
                named = names[kind]
                if named is not None:
                    what = self._kinds[kind]
                    status, failure = self._words[what[_STATUS]] or "", self._words[what[_FAILURE]]
                    yield named, status, failure, None if seconds == UNTIMED else seconds, count

    def _counted_calls(self) -> dict[_Key, Counter[tuple[int, float]]]:
        """Group, as far as it is not told by the kind of call → kind and duration → how many."""
        found: dict[_Key, Counter[tuple[int, float]]] = {}
        held: dict[_Key, tuple[bytearray, bytearray]] = {}
        size = 0

        def count() -> None:
            for key, (kinds, seconds) in held.items():
                found.setdefault(key, Counter()).update(zip(_kinds_in(kinds), array("d", seconds), strict=True))
            held.clear()

        for kinds, seconds, *key in self._ask("call_sums", ", ".join(("kinds", "seconds", *self._keys("call_sums")))):
            parts = held.get(group := tuple(key))
            if parts is None:
                parts = held[group] = bytearray(), bytearray()
            parts[0].extend(kinds)
            parts[1].extend(seconds)
            size += len(kinds) + len(seconds)
            if size > _HELD:
                count()
                size = 0
        count()
        return found

    def _of_call(self, key: _Key, kind: int) -> Names | None:
        """The group of calls of a kind; `None` if they are not asked for."""
        if self._chosen is not None and kind not in self._chosen:
            return None
        rest, what = iter(key), self._kinds[kind]
        return self._named([what[_OF_KIND[one]] if one in _OF_KIND else next(rest) for one in self._by])

    def _chosen_kinds(self) -> frozenset[int] | None:
        asked, words = self._asked, self._words
        if asked.tool is asked.operation is asked.model is None:
            return None

        def is_chosen(kind: tuple[int | None, ...]) -> bool:
            tool, operation, model = (words[kind[place]] for place in _OF_KIND.values())
            return (
                asked.tool in (None, tool)
                and asked.operation in (None, operation)
                and (asked.model is None or (model is not None and model.startswith(asked.model)))
            )

        return frozenset(number for number, kind in self._kinds.items() if is_chosen(kind))

    # ── exchanges ──────────────────────────────────────────────────────────

    def repeated(self) -> Iterator[tuple[Names, int]]:
        """Group → how many exchanges were told of before."""
        for *names, count in self._in_groups(self._keys("usage_sums"), "coalesce(sum(exchanges), 0)", "repeated"):
            yield self._named(names), count

    def tokens(self) -> Iterator[tuple[Names, str, dict[str, int | None], float | None, dict[str, int]]]:
        """Group, model, what is counted of it, what that cost, and why exchanges have no known price → how many."""
        sums = ", ".join(f"sum({name})" for name in SUMMED)
        counts = "sum(exchanges), sum(logged), sum(unsaid), sum(doubtful)"
        # To sort rows into groups is most of the work, so they have as few keys as can be.
        kept = [one for one in self._by if _TIMES.get(one) != _DAY]
        keys = (*self._keys("usage_sums", kept), _DAY, "model", "sort")
        self.has_alone = self.has_logged = False
        for found in self._in_groups(keys, f"max(prompt), {counts}, {sums}", "NOT repeated"):
            rest = found[len(kept) :]
            day, model, sort, prompt, count, logged, unsaid, doubtful = rest[: -len(SUMMED)]
            of_group = iter(found)
            names = [next(of_group) if one in kept else day for one in self._by]
            price = sort % 3
            self.has_alone = self.has_alone or price == ALONE
            self.has_logged = self.has_logged or logged > 0
            tokens: dict[str, int | None] = dict(zip(SUMMED, rest[-len(SUMMED) :], strict=True))
            cost = None
            if price == PRICED:
                summed = UsageRow(session="", stream="", number=0, event="", **(tokens | {"tool_tokens": None}))  # type: ignore[arg-type]
                cost = self._costs.of_sum(self._words[model] or "", _date(day), prompt, summed)
            counted = tokens | {"exchanges": count, "unsaid": unsaid, "doubtful": doubtful}
            why: dict[str, int] = {}
            if price == PRICED and cost is None:
                why = {NO_PRICE: count}
            elif price == UNPRICED:
                known = None if model is None else self._words[model]
                other = NO_MODEL if known is None else NO_TIME if day is None else NO_INPUT
                why = {other: count} if other != NO_INPUT else {NO_TOKENS: unsaid, NO_INPUT: count - unsaid}
                why = {one: of for one, of in why.items() if of}
            yield self._named(names), self._words[model] or "", counted, cost, why

    def alone(self) -> Iterator[tuple[Names, float | None, str | None]]:
        """Group → what exchanges cost that have a price of their own, or why that is not known."""
        names = ("model", "client", "time", "logged_cost", "earlier_output", *SUMMED)
        for key, row in self._one_by_one(f"{PRICE} = {ALONE}", f"(sort % 3 + 3) % 3 = {ALONE}", names):
            cells: dict[str, Any] = dict(zip(names, row, strict=True))
            cells["model"], cells["client"] = self._words[cells["model"]], self._words[cells["client"]]
            cells["time"] = moment_of(cells["time"])
            made = UsageRow(session="", stream="", number=0, event="", **cells)
            cost = self._costs.of(made)
            yield key, cost, self._costs.why_unknown(made) if cost is None else None

    def logged_costs(self) -> Iterator[tuple[Names, float]]:
        """Group → what the log says that an exchange cost."""
        for key, (cost,) in self._one_by_one("usage.logged_cost IS NOT NULL", "logged > 0", ("logged_cost",)):
            yield key, cost

    def _one_by_one(self, which: str, holding: str, names: Sequence[str]) -> Iterator[tuple[Names, tuple[Any, ...]]]:
        """Exchanges that are not added up, each with its group; `holding` says of sums whether they have such ones."""
        where = f"NOT usage.repeated AND {which} AND {self._within('usage')}"
        having = f"usage.scope IN (SELECT scope FROM {self._sums('usage_sums')} WHERE {holding})"
        source = f"(SELECT usage.*, {HOUR_OF.format('usage')} AS hour FROM usage WHERE {where} AND {having})"
        keys = self._keys("usage_sums")
        for row in self._ask("usage_sums", ", ".join((*keys, *names)), source=source):
            yield self._named(row[: len(keys)]), row[len(keys) :]

    # ── sessions ───────────────────────────────────────────────────────────

    def sessions(self, tables: Iterable[str]) -> tuple[Counter[Names], int]:
        """Group → how many sessions had a call or an exchange in it; and in how many there was any."""
        found, count = Counter[Names](), 0
        each = [self._groups_of_sessions(table) for table in tables]
        for _, some in groupby(each[0] if len(each) == 1 else merge(*each, key=_session), key=_session):
            for one in set().union(*(names for _, names in some)):
                found[one] += 1
            count += 1
        return found, count

    def _groups_of_sessions(self, table: str) -> Iterator[tuple[int, set[Names]]]:
        """Each session, in their order, with its groups."""
        is_of_kind = table == "call_sums" and (self._chosen is not None or not _OF_KIND.keys().isdisjoint(self._by))
        named: dict[_Key, dict[int, Names | None]] = {}
        what = ("session", "kinds" if is_of_kind else "NULL", *self._keys(table))
        rows = self._ask(table, ", ".join(what), then="ORDER BY session")
        for session, some in groupby(rows, key=_session):
            groups: set[Names] = set()
            for _, kinds, *key in some:
                if not is_of_kind:
                    groups.add(self._named(key))
                    continue
                known = named.setdefault(tuple(key), {})
                for kind in set(_kinds_in(kinds)):
                    if kind not in known:
                        known[kind] = self._of_call(tuple(key), kind)
                    one = known[kind]
                    if one is not None:
                        groups.add(one)
            if groups:
                yield session, groups

    # ── SQL ────────────────────────────────────────────────────────────────

    def _in_groups(self, keys: Sequence[str], what: str, only: str) -> Iterator[tuple[Any, ...]]:
        return self._ask("usage_sums", ", ".join((*keys, what)), only, f"GROUP BY {', '.join(keys)}" if keys else "")

    def _ask(
        self, table: str, what: str, only: str = "1", then: str = "", *, source: str | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """What a statement gives about the sums that are asked for, or about a `source` that has their columns."""
        where, values = self._where(table)
        source = self._sums(table) if source is None else source
        return self._index.ask(f"SELECT {what} FROM {source} AS sums WHERE {where} AND {only} {then}", *values)

    def _keys(self, table: str, by: Sequence[str] | None = None) -> list[str]:
        """What rows of sums are grouped by."""
        known = self._by if by is None else by
        return [_KEYS.get(one, one) for one in known if table == "usage_sums" or one not in _OF_KIND]

    def _sums(self, table: str) -> str:
        """The sums of the time that is asked about, as SQL."""
        if table not in self._made:
            self._made[table] = self._chosen_sums(table)
        return self._made[table]

    def _chosen_sums(self, table: str) -> str:
        """Those that are kept; and where a time begins or ends within an hour, or they are others, some made for it."""
        rows, thresholds = ("usage" if table == "usage_sums" else "calls"), self._costs.thresholds
        if self._scopes is not None:
            of_them = f"{rows}.scope IN (SELECT value FROM json_each(?)) AND {self._within(rows)}"
            return for_a_question(self._index, table, [(of_them, (self._scopes,))], thresholds)
        if rows == "usage" and thresholds != THRESHOLDS:
            return for_a_question(self._index, table, [(self._within(rows), ())], thresholds)
        begin, end = self._times()
        if begin is end is None:
            return table
        first = None if begin is None else -(-begin // HOUR)
        last = None if end is None else end // HOUR
        whole = " AND ".join((*(f"hour >= {one}" for one in _given(first)), *(f"hour < {one}" for one in _given(last))))
        parts = [
            (
                f"{rows}.scope IN (SELECT scope FROM {table} WHERE hour = {hour}) AND {self._within(rows)}"
                f" AND {HOUR_OF.format(rows)} = {hour}",
                (),
            )
            for hour in sorted({one // HOUR for one in _given(begin, end) if one % HOUR})
        ]
        made = for_a_question(self._index, table, parts, thresholds)
        return f"(SELECT * FROM {table} WHERE {whole} UNION ALL SELECT * FROM {made})"

    def _within(self, rows: str) -> str:
        """Which rows are of the time that is asked about."""
        begin, end = self._times()
        within = (*(f"{rows}.time >= {one}" for one in _given(begin)), *(f"{rows}.time < {one}" for one in _given(end)))
        return " AND ".join(within) or "1"

    def _times(self) -> tuple[int | None, int | None]:
        """The time that is asked about, in microseconds: from when, and until before when."""
        since, until = (None if one is None else _microseconds(one) for one in (self._asked.since, self._asked.until))
        return since, until

    def _where(self, table: str) -> tuple[str, list[Any]]:
        asked = self._asked
        where, values = ["1"], list[Any]()
        if self._roots is not None:
            of_session = "SELECT scope FROM temp.scope_facts WHERE root IN (SELECT value FROM json_each(?))"
            where.append(f"sums.scope IN ({of_session})")
            values.append(self._roots)
        if asked.client is not None:
            where.append("sums.client = (SELECT id FROM words WHERE word = ?)")
            values.append(asked.client)
        elif table == "call_sums":
            hooks = [number for number, word in self._words.items() if word is not None and word.endswith(HOOK)]
            if hooks:
                where.append(f"coalesce(sums.client, 0) NOT IN ({', '.join(map(str, hooks))})")
        if asked.model is not None and table == "usage_sums":
            where.append("sums.model IN (SELECT id FROM words WHERE substr(word, 1, ?) = ?)")
            values += [len(asked.model), asked.model]
        return " AND ".join(where), values

    def _named(self, key: Sequence[Any]) -> Names:
        """The names of a group whose key has all that is grouped by."""
        found = self._named_keys.get(known := tuple(key))
        if found is None:
            found = tuple([self._name(one, kind) for one, kind in zip(known, self._by, strict=True)])
            self._named_keys[known] = found
        return found

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
        unpriced[root] += sum(without.values())
    for (scope,), cost, _ in counting.alone():
        root = roots[scope]
        known.setdefault(root, []).extend(() if cost is None else (cost,))
        unpriced[root] += cost is None
    return {root: (fsum(costs) if costs else None, unpriced[root], tokens.get(root)) for root, costs in known.items()}


_session = itemgetter(0)


def _kinds_in(packed: bytes | bytearray) -> memoryview[int]:
    return memoryview(packed).cast("I")


def _given(*some: int | None) -> list[int]:
    return [one for one in some if one is not None]


def _microseconds(time: datetime.datetime) -> int:
    return round(time.timestamp() * 1_000_000)


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
