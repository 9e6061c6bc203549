"""The screen **Compare**: two sessions beside each other, operation by operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from dragoman.client_names import client_name
from dragoman.logs import Filter, SessionRow, key_of
from dragoman.logs.export import anchor, plain

from .aligned import Done, aligned, operations_done
from .frame import Parameters, Screen, address, moment, number, session_address, table
from .library import Library, Read, Spent
from .list_screen import cost_text, project_of, tokens_text

_MOST: Final = 3_000
"""Operations of each session that are compared."""
_LISTED: Final = 30
"""Sessions that are offered to compare with."""


def compare_screen(library: Library, parameters: Parameters) -> Screen:
    """The two, or the form that asks for them."""
    first, second = parameters.get("a", ""), parameters.get("b", "")
    body = ["<h1>Compare two sessions</h1>", *_form(first, second)]
    if not first or not second:
        body += _choices(library, first or second)
        return Screen("Compare", "/compare", body, {"rows": []})
    reads = [library.session(one) for one in (first, second)]
    done = []
    for read in reads:
        with read.lock:
            done.append(_done(read))
    rows = list(aligned(done[0], done[1], reads[0].row.cwd))
    spent = library.spent(read.row for read in reads if not read.is_of_another)
    body += _figures(reads, [spent.get(read.row.session) for read in reads])
    counts: Counter[str] = Counter(row.kind for row in rows)
    body.append(f'<p class="summary">{_summary(counts)}</p>')
    if any(len(some) == _MOST for some in done):
        body.append(f'<p class="warning">Only the first {_MOST:,} operations of each session are compared.</p>')
    cells = (
        [
            f'<span class="{row.kind.split()[-1]}">{row.kind}</span>',
            _cell(row.first, reads[0], row.fields),
            _cell(row.second, reads[1], row.fields),
        ]
        for row in rows
    )
    body += table(("kind", reads[0].conversation.title[:60], reads[1].conversation.title[:60]), cells, name="compared")
    data = [
        {"kind": row.kind, "a": _facts(row.first), "b": _facts(row.second), "differs_in": row.fields} for row in rows
    ]
    return Screen("Compare", "/compare", body, {"rows": data})


def _summary(counts: Counter[str]) -> str:
    words = {
        "same": "the same",
        "other result": "the same with another result",
        "differs": "alike",
        "first only": "only in the first",
        "second only": "only in the second",
    }
    said = [f"{counts[kind]:,} {word}" for kind, word in words.items() if counts[kind]]
    return f"Operations: {', '.join(said)}." if said else "Neither session called a tool."


def _done(read: Read) -> list[Done]:
    # Sub-agents that have a session of their own call their stream as it does.
    key = (read.conversation.id, read.conversation.stream)
    events = (event for event in read.events if key_of(event) == key)
    return list(islice(operations_done(events, read.row.cwd), _MOST))


def _form(first: str, second: str) -> Iterator[str]:
    yield '<form class="search" action="/compare"><div class="fields">'
    yield f'<label>first session <input name="a" value="{plain(first)}" required placeholder="id or its beginning"></label>'
    yield f'<label>second session <input name="b" value="{plain(second)}" required placeholder="id or its beginning"></label>'
    yield "<button>Compare</button></div></form>"


def _choices(library: Library, chosen: str) -> Iterator[str]:
    """Sessions to choose from: the newest, those of the same project first."""
    row = library.row(chosen) if chosen else None
    near = [] if row is None or project_of(row) is None else _newest(library, Filter(project=project_of(row)))
    rows = {one.session: one for one in (*near, *_newest(library, Filter()))}
    found = [one for id, one in rows.items() if row is None or id != row.session][:_LISTED]
    if not found:
        return
    yield f'<h2>{"Compare with" if row is not None else "Choose the first"}</h2><ul class="choices">'
    for one in found:
        link = address("/compare", {"a": row.session, "b": one.session} if row is not None else {"a": one.session})
        about = " · ".join(filter(None, (client_name(one.client or ""), Path(project_of(one) or "").name)))
        yield (
            f'<li><a href="{plain(link)}">{plain(one.title or one.session)}</a>'
            f' <span class="label">{plain(about)} {moment(one.started)}</span></li>'
        )
    yield "</ul>"


def _newest(library: Library, asked: Filter) -> list[SessionRow]:
    return library.listing(asked, "", limit=_LISTED + 1, offset=0).rows


def _figures(reads: list[Read], spent: list[Spent | None]) -> Iterator[str]:
    rows = [
        ["client", *(plain(client_name(read.row.client or "")) for read in reads)],
        ["model", *(plain(", ".join(read.row.models)) for read in reads)],
        ["turns", *(number(read.row.turns) for read in reads)],
        ["calls", *(number(read.row.calls) for read in reads)],
        ["failed", *(number(read.row.failures) for read in reads)],
        ["tokens", *(tokens_text(read.row, one) for read, one in zip(reads, spent, strict=True))],
        ["cost", *(cost_text(read.row, one) for read, one in zip(reads, spent, strict=True))],
    ]
    yield from table(("figure", "first", "second"), rows)


def _cell(done: Done | None, read: Read, fields: list[str]) -> str:
    if done is None:
        return ""
    name = anchor(done.event)
    link = f"{session_address(read.row.session, event=name)}#{name}"
    bad = ' <span class="bad">failed</span>' if done.failed else ""
    other = f'<p class="label">differs in {plain(", ".join(fields))}</p>' if fields else ""
    return f'<a href="{plain(link)}">{plain(done.kind)}</a> <code>{plain(done.about)}</code>{bad}{other}'


def _facts(done: Done | None) -> dict[str, Any] | None:
    if done is None:
        return None
    return {"event": done.event, "operation": done.kind, "about": done.about, "failed": done.failed}
