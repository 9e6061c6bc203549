"""Tokens of logs without all else that is in them.

Rule: the rows are those an index would hold, as far as tokens go. What the index knows of an unchanged file is taken
from there; every other file is read by its format's reader for tokens, and the index is left as it is.
"""

from __future__ import annotations

import datetime
import filecmp
import os
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from dragoman import config
from dragoman.errors import LogError
from dragoman.logs.base.compressed import open_log, plain_name
from dragoman.logs.base.database import SQLITE
from dragoman.model import SessionStarted, TokensUsed
from dragoman.registry import FORMATS

from .costs import Costs
from .discover import Found
from .indexed_file import FileRow, companions_of, name_of, tail_of
from .layout import microseconds, moment_of
from .query import Query
from .rows import TABLES, UsageRow
from .sessions import key_of
from .settled import Repeats
from .tables import exchange_of

_PIECE: Final = 1 << 18
_TAKEN: Final = (
    *("file", "session", "stream", "time", "client", "model", "exchange", "logged_cost", "earlier_output"),
    *("input_tokens", "cached_read_tokens", "cached_write_tokens"),
    *("output_tokens", "reasoning_tokens", "tool_tokens", "tokens", "doubtful"),
)
"""The columns that rows have here."""


def usage_rows(query: Query) -> Iterator[UsageRow]:
    """Every exchange of the files a query is about, in their order: what it cost, and whether it was told before."""
    if not query.has_files:
        yield from query.rows(UsageRow)
        return
    costs = Costs(config.current().settings.prices)
    forks: dict[str, str] = {}
    repeats = Repeats(forks)
    for row in _plain_rows(query, forks):
        row.cost = costs.of(row)
        row.repeated = repeats.has(row)
        yield row


def _plain_rows(query: Query, forks: dict[str, str]) -> Iterator[UsageRow]:
    """The rows; which sessions are forks is known before theirs come."""
    index, files = query.index, _once(query.files())
    known = {row.path: row for row in index.files()}
    current = {name for one in files if _is_current(one, known.get(name := name_of(one.path)))}
    index.look_at(one.path for one in files if name_of(one.path) in current)
    session, base = (TABLES["sessions"].__struct_fields__.index(name) for name in ("session", "forked_from"))
    forks |= {row[session]: row[base] for row in index.rows("sessions", "sessions.forked_from IS NOT NULL")}
    stored = groupby(index.rows("usage"), key=itemgetter(_PLACES["file"]))
    at = next(stored, None)
    for one in files:
        name = name_of(one.path)
        if name not in current:
            yield from _read(one, name, forks)
        elif at is not None and at[0] == name:
            yield from map(_row, at[1])
            at = next(stored, None)
    index.look_at(one.path for one in files)


def _once(files: Iterable[Found]) -> list[Found]:
    """The files without those that are copies of others, as `query.is_copy` knows them."""
    kept: list[Found] = []
    same: dict[tuple[str, str, int], list[Found]] = {}
    for one in files:
        try:
            size = os.path.getsize(one.path)
        except OSError:
            size = 0
        before = same.setdefault((one.format, one.path.name, size), [])
        if not (size and before and any(_ends_alike(one, other, size) for other in before)):
            kept.append(one)
            before.append(one)
    return kept


def _ends_alike(one: Found, other: Found, size: int) -> bool:
    """Different databases often end with the same page: they are compared whole."""
    if any(companions_of(FORMATS[found.format], found.path) for found in (one, other)):
        return False
    try:
        with open(one.path, "rb") as first, open(other.path, "rb") as second:
            if first.read(len(SQLITE)) == SQLITE:
                return filecmp.cmp(one.path, other.path, shallow=False)
            return tail_of(first, size) == tail_of(second, size)
    except OSError:
        return False


def _is_current(found: Found, known: FileRow | None) -> bool:
    """Whether the index has all that is in a file now."""
    if known is None or known.error is not None or known.format != found.format or found.sessions is not None:
        return False
    try:
        status = os.stat(found.path)
    except OSError:
        return False
    there = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    return there == (known.device, known.inode, known.size, known.modified) and known.beside == companions_of(
        FORMATS[found.format], found.path
    )


def _read(found: Found, name: str, forks: dict[str, str]) -> Iterator[UsageRow]:
    for row in _rows_read(found, name, forks):
        if found.sessions is None or row.session in found.sessions:
            yield row


def _rows_read(found: Found, name: str, forks: dict[str, str]) -> Iterator[UsageRow]:
    reader = FORMATS[found.format].usage_reader(plain_name(found.path))
    try:
        with open_log(found.path) as file:
            while data := file.read(_PIECE):
                for event in reader.feed(data):
                    if type(event) is TokensUsed:
                        yield usage_row(event, name)
                    elif type(event) is SessionStarted and event.session and event.forked_from:
                        forks[event.session] = event.forked_from
    except (OSError, LogError):
        return  # it is gone, or not ours to read: as the index has it
    for event in reader.rest():
        if isinstance(event, TokensUsed):
            yield usage_row(event, name)


def usage_row(event: TokensUsed, file: str) -> UsageRow:
    """The row of an exchange, as far as tokens and cost go."""
    usage, time = event.usage, event.time
    if time is not None and time.tzinfo is not datetime.UTC:
        time = moment_of(microseconds(time))  # as it comes out of an index: days are those of UTC
    return UsageRow(
        file=file,
        session=event.session or key_of(event)[0],
        stream=event.stream,
        number=0,
        event=event.id,
        time=time,
        client=event.client,
        model=event.model,
        exchange=exchange_of(event),
        logged_cost=event.cost,
        earlier_output=event.earlier_output,
        input_tokens=usage.input_tokens,
        cached_read_tokens=usage.cached_read_tokens,
        cached_write_tokens=usage.cached_write_tokens,
        output_tokens=usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        tool_tokens=usage.tool_tokens,
        tokens=usage.total,
        doubtful=1 if usage.doubtful else 0,
    )


_PLACES: Final = {name: place for place, name in enumerate(TABLES["usage"].__struct_fields__)}
_cells: Final = itemgetter(*(_PLACES[name] for name in (*_TAKEN, "event")))


def _row(stored: tuple[Any, ...]) -> UsageRow:
    values: dict[str, Any] = dict(zip((*_TAKEN, "event"), _cells(stored), strict=True))
    values["time"] = moment_of(values["time"])
    return UsageRow(number=0, **values)
