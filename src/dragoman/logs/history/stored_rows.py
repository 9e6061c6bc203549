"""Rows of tables as an index holds them, for SQL: of the columns that are asked for alone.

Rule: they are the rows that `Query.rows` gives, in the order that the index came to know their files in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from dragoman import config

from .costs import Costs
from .index import Index, current_rows
from .layout import SUMMED, cells_of, moment_of
from .rows import UsageRow
from .session_list import SessionList

_PLACED: Final = ("file", "session", "stream")
_PRICED: Final = ("client", "model", "time", "logged_cost", "earlier_output", *SUMMED)
_PARTS: Final = f"""SELECT scopes.session, scopes.stream, files.path, sessions.turns, sessions.calls FROM sessions
 JOIN scopes ON scopes.id = sessions.scope JOIN files ON files.id = scopes.file
 WHERE NOT files.copy AND {current_rows("sessions")}
 AND (session, stream) IN (SELECT session, stream FROM scopes GROUP BY session, stream HAVING count(*) > 1)"""


def stored_rows(index: Index, sessions: SessionList, name: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a table of a settled index, as they are stored."""
    if name == "sessions":
        get = cells_of((*columns, "file"))
        return (tuple(get(row))[:-1] for row in sessions.rows(with_agents=True))
    counted = [which for which in ("turn", "call") if which in columns]
    shifts = _shifts(index, sessions) if counted else {}
    more = (*(_PLACED if shifts else ()), *(_PRICED if "cost" in columns else ()))
    index.look_at(None)
    rows = index.rows(name, "NOT files.copy", columns=(*columns, *more))
    if "cost" in columns:
        rows = _priced(rows, columns.index("cost"))
    return _shifted(rows, columns, shifts) if shifts else rows


def _priced(rows: Iterator[tuple[Any, ...]], cost: int) -> Iterator[tuple[Any, ...]]:
    """Exchanges with what they cost; the last cells say what that depends on, and are taken away."""
    costs = Costs(config.current().settings.prices)
    for row in rows:
        cells: dict[str, Any] = dict(zip(_PRICED, row[-len(_PRICED) :], strict=True))
        cells["time"] = moment_of(cells["time"])
        priced = costs.of(UsageRow(session="", stream="", number=0, event="", **cells))
        yield (*row[:cost], priced, *row[cost + 1 : -len(_PRICED)])


Shifts = dict[tuple[str, str, str], dict[str, int]]


def _shifts(index: Index, sessions: SessionList) -> Shifts:
    """(File, session, stream) → how many turns and calls of the session stand in files before it, if any do."""
    parts: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
    for session, stream, file, turns, calls in index.ask(_PARTS):
        parts.setdefault((session, stream), {})[file] = turns, calls
    found: Shifts = {}
    for (session, stream), files in parts.items():
        before = {"turn": 0, "call": 0}
        for file in sessions.sorted_files(files):
            if any(before.values()):
                found[file, session, stream] = dict(before)
            before["turn"] += files[file][0]
            before["call"] += files[file][1]
    return found


def _shifted(rows: Iterator[tuple[Any, ...]], columns: Sequence[str], shifts: Shifts) -> Iterator[tuple[Any, ...]]:
    """Rows whose turns and calls count within the whole session; their last cells say where they stand."""
    count = len(columns)
    places = [(columns.index(which), which) for which in ("turn", "call") if which in columns]
    for row in rows:
        shift = shifts.get(row[count : count + len(_PLACED)])
        if shift is None:
            yield row[:count]
            continue
        cells = list(row[:count])
        for place, which in places:
            if cells[place] is not None:
                cells[place] += shift[which]
        yield tuple(cells)
