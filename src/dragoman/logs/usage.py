"""Tokens of logs without all else that is in them.

Rule: the rows are those an index would hold, as far as tokens go. What the index knows of an unchanged file is taken
from there; every other file is read by its format's reader for tokens, and the index is left as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from dragoman import config
from dragoman.model import TokensUsed
from dragoman.registry import FORMATS

from .costs import Costs
from .discover import Found
from .index import FileRow, _beside, moment_of
from .query import Key, Query, key
from .sessions import key_of
from .tables import TABLES, UsageRow, exchange_of

_PIECE: Final = 1 << 18
_TAKEN: Final = (
    *("session", "stream", "time", "client", "model", "exchange", "logged_cost"),
    *("input_tokens", "cached_read_tokens", "cached_write_tokens"),
    *("output_tokens", "reasoning_tokens", "tool_tokens", "tokens"),
)
"""The columns that rows have here."""


def usage_rows(query: Query) -> Iterator[UsageRow]:
    """Every exchange of the files a query is about, in their order: what it cost, and whether it was told before."""
    costs = Costs(config.current().settings.prices)
    seen: dict[str, Key] = {}
    for row in _plain_rows(query):
        row.cost = costs.of(row)
        if row.exchange is not None:
            row.repeated = seen.setdefault(row.exchange, key(row)) != key(row)
        yield row


def _plain_rows(query: Query) -> Iterator[UsageRow]:
    index, files = query.index, query.files()
    known = {row.path: row for row in index.files()}
    current = {str(one.path) for one in files if _is_current(one, known.get(str(one.path)))}
    index.look_at(str(one.path) for one in files if str(one.path) in current)
    stored = groupby(index.rows("usage"), key=itemgetter(_PLACES["file"]))
    at = next(stored, None)
    for one in files:
        path = str(one.path)
        if path not in current:
            yield from _read(one)
        elif at is not None and at[0] == path:
            yield from map(_row, at[1])
            at = next(stored, None)
    index.look_at(one.path for one in files)


def _is_current(found: Found, known: FileRow | None) -> bool:
    """Whether the index has all that is in a file now."""
    if known is None or known.error is not None or known.format != found.format:
        return False
    try:
        status = os.stat(found.path)
    except OSError:
        return False
    there = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    return there == (known.device, known.inode, known.size, known.modified) and known.beside == _beside(
        FORMATS[found.format], found.path
    )


def _read(found: Found) -> Iterator[UsageRow]:
    reader = FORMATS[found.format].usage_reader(found.path)
    try:
        with open(found.path, "rb") as file:
            while data := file.read(_PIECE):
                for event in reader.feed(data):
                    if type(event) is TokensUsed:
                        yield _row_of(event)
    except OSError:
        return  # it is gone, or not ours to read: as the index has it
    for event in reader.rest():
        if isinstance(event, TokensUsed):
            yield _row_of(event)


def _row_of(event: TokensUsed) -> UsageRow:
    usage = event.usage
    return UsageRow(
        session=event.session or key_of(event)[0],
        stream=event.stream,
        number=0,
        event=event.id,
        time=event.time,
        client=event.client,
        model=event.model,
        exchange=exchange_of(event),
        logged_cost=event.cost,
        input_tokens=usage.input_tokens,
        cached_read_tokens=usage.cached_read_tokens,
        cached_write_tokens=usage.cached_write_tokens,
        output_tokens=usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        tool_tokens=usage.tool_tokens,
        tokens=usage.total,
    )


_PLACES: Final = {name: place for place, name in enumerate(TABLES["usage"].__struct_fields__)}
_cells: Final = itemgetter(*(_PLACES[name] for name in (*_TAKEN, "event")))


def _row(stored: tuple[Any, ...]) -> UsageRow:
    values: dict[str, Any] = dict(zip((*_TAKEN, "event"), _cells(stored), strict=True))
    values["time"] = moment_of(values["time"])
    return UsageRow(number=0, **values)
