"""Sums of what files say, kept in the index for each of their hours, so that a question adds up few rows.

Rules: the sums of a file are made anew, from all its rows, whenever one of these changes or is found to tell of what
another one told before (`settled`). A copy has none. A question about a part of an hour has the sums of that part made
for it; both are read in the same way.

`usage_sums` adds up the exchanges of a stream and an hour, by what their price depends on. `call_sums` lists the calls
of a stream and an hour: what each was, as a number of `call_kinds`, and how long it took. Both are in the order of
`session`, a number that stands for a session's id in all its files.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from .index import Index, current_rows
from .layout import CALL_KINDS, CALL_SUMS, SUMMED, SUMS, exchange_key

HOUR: Final = 3_600_000_000
HOUR_OF: Final = f"({{0}}.time - ({{0}}.time % {HOUR} + {HOUR}) % {HOUR}) / {HOUR}"
PRICED, UNPRICED, ALONE = range(3)
PRICE: Final = f"""CASE
 WHEN usage.logged_cost = 0 THEN {ALONE}
 WHEN usage.model IS NULL OR usage.time IS NULL OR usage.input_tokens IS NULL THEN {UNPRICED}
 WHEN usage.output_tokens IS NULL OR usage.earlier_output IS NOT NULL THEN {ALONE}
 WHEN coalesce(usage.tool_tokens, 0) <> 0 THEN {ALONE}
 ELSE {PRICED} END"""
"""How the cost of an exchange is found: with others of its day and model, not at all, or by itself."""
_USED: Final = " + ".join(
    f"{1 << bit} * (coalesce(usage.{name}, 0) > 0)"
    for bit, name in enumerate(("input_tokens", "cached_read_tokens", "cached_write_tokens", "output_tokens"))
)
"""Which kinds of tokens an exchange has: where one of them has no price, it has none."""
_PROMPT: Final = "usage.input_tokens + coalesce(usage.cached_read_tokens, 0) + coalesce(usage.cached_write_tokens, 0)"
CLIENT: Final = "(SELECT client FROM sessions WHERE sessions.scope = calls.scope LIMIT 1)"
UNTIMED: Final = float("-inf")
"""How long a call took of which that is not known."""

_COUNTED: Final = "scope NOT IN (SELECT scopes.id FROM files JOIN scopes ON scopes.file = files.id WHERE files.copy)"
"""Copies are few, so that a question about some sessions does not go through all."""


def renew(index: Index, scopes: Iterable[int], thresholds: Sequence[int]) -> None:
    """Makes the sums of these streams anew, within `Index.writing`."""
    index.fill("renewed", ("scope INTEGER PRIMARY KEY",), ((scope,) for scope in scopes))
    which = "scope IN (SELECT scope FROM temp.renewed)"
    keys = "SELECT session_key(session), id AS scope FROM scopes WHERE id IN (SELECT scope FROM temp.renewed)"
    for table in SUMS:
        index.write(f"DELETE FROM {table} WHERE (session, scope) IN ({keys})", [()])
    index.write(f"INSERT INTO usage_sums {_summed(f'usage.{which}', thresholds)}", [()])
    index.write(f"INSERT INTO call_sums VALUES ({', '.join('?' * len(CALL_SUMS))})", _listed(index, f"calls.{which}"))


def for_a_question(
    index: Index, table: str, which: Sequence[tuple[str, Sequence[Any]]], thresholds: Sequence[int]
) -> str:
    """Sums of those rows that fit one of the conditions: the name of a table that ends with this connection."""
    name = f"asked_{table}"
    rows = (
        row
        for one, values in which
        for row in (
            index.ask(_summed(one, thresholds), *values) if table == "usage_sums" else _listed(index, one, values)
        )
    )
    index.fill(name, SUMS[table], rows)
    return f"temp.{name}"


def _summed(which: str, thresholds: Sequence[int]) -> str:
    """What adds up the exchanges of the streams that are chosen."""
    cases = "".join(f" WHEN {_PROMPT} <= {most} THEN {number}" for number, most in enumerate(thresholds))
    bucket = f"CASE{cases} ELSE -1 END" if cases else "-1"
    sums = ", ".join(f"sum(usage.{name})" for name in SUMMED)
    return f"""SELECT session_key(scopes.session), usage.scope, row_number() OVER (PARTITION BY usage.scope),
 {HOUR_OF.format("usage")} AS hour, usage.client, usage.model, coalesce(usage.repeated, 0) AS repeated,
 3 * (16 * ({bucket}) + {_USED}) + {PRICE} AS sort, max({_PROMPT}),
 count(*), count(usage.logged_cost), sum(usage.tokens IS NULL), sum(usage.doubtful), {sums}
 FROM usage JOIN scopes ON scopes.id = usage.scope WHERE usage.{_COUNTED} AND {which}
 GROUP BY usage.scope, hour, usage.client, usage.model, repeated, sort"""


def _listed(index: Index, which: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
    """The calls of the streams that are chosen, put together by hour."""
    known = {kind: id for id, kind in kinds_of(index).items()}
    statement = f"""SELECT calls.scope, scopes.session, {HOUR_OF.format("calls")} AS hour,
 {", ".join(f"calls.{one}" for one in CALL_KINDS)}, coalesce(calls.duration, calls.elapsed)
 FROM calls JOIN scopes ON scopes.id = calls.scope WHERE calls.{_COUNTED} AND {which} AND {current_rows("calls")}
 ORDER BY calls.scope"""
    for (scope, session), rows in groupby(index.ask(statement, *values), key=itemgetter(0, 1)):
        hours: dict[int | None, tuple[array[int], array[float]]] = {}
        for _, _, hour, *kind, seconds in rows:
            if hour not in hours:
                hours[hour] = array("I"), array("d")
            number = known.get(named := tuple(kind))
            if number is None:
                number = known[named] = len(known) + 1
                index.write(
                    f"INSERT INTO call_kinds VALUES ({', '.join('?' * (1 + len(CALL_KINDS)))})", [(number, *named)]
                )
            hours[hour][0].append(number)
            hours[hour][1].append(UNTIMED if seconds is None else seconds)
        ((client,),) = index.ask(f"SELECT {CLIENT} FROM (SELECT ? AS scope) AS calls", scope)
        key = exchange_key(session)
        for number, (hour, (kinds, each)) in enumerate(hours.items()):
            yield key, scope, number, hour, client, kinds.tobytes(), each.tobytes()


def kinds_of(index: Index) -> dict[int, tuple[int | None, ...]]:
    """What the numbers of calls' kinds stand for: the columns of `call_kinds`."""
    return {id: tuple(kind) for id, *kind in index.ask("SELECT * FROM call_kinds")}
