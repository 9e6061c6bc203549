"""The screen **Compare**: two sessions beside each other, operation by operation."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import islice
from typing import Any, Final

from dragoman.client_names import client_name
from dragoman.engine.history import same_outcomes
from dragoman.logs import key_of
from dragoman.logs.export import anchor, plain
from dragoman.logs.history import failure_of
from dragoman.model import AnyEvent, ToolCalled, ToolReturned

from .frame import Parameters, Screen, number, session_address, table
from .library import Library, Read, Spent
from .list_screen import cost_text, tokens_of

_MOST: Final = 2_000
"""Calls of each session that are compared."""


class _Done:
    """One call: what it means, for comparing, and how it ended."""

    def __init__(self, event: ToolCalled, returned: ToolReturned | None) -> None:
        operations = event.call.operations
        outcomes = () if returned is None else returned.result.outcomes
        native = None if returned is None else returned.result.native
        self.event = event
        self.failed = any(failure_of(one, native) is not None for one in outcomes)
        self.result = None if returned is None else returned.result
        self.same = tuple(operations) or (event.call.native.name, repr(event.call.native.arguments))
        self.kind = str(operations[0].__struct_config__.tag) if operations else event.call.native.name
        names = ("path", "command", "pattern", "query", "url", "name", "tool")
        about = (getattr(one, name, None) for one in operations for name in names)
        self.about = next((" ".join(one.split())[:120] for one in about if isinstance(one, str) and one), "")

    def __hash__(self) -> int:
        return hash(repr(self.same))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Done) and self.same == other.same


def compare_screen(library: Library, parameters: Parameters) -> Screen:
    """The two, or the form that asks for them."""
    first, second = parameters.get("a", ""), parameters.get("b", "")
    body = ["<h1>Compare two sessions</h1>", *_form(first, second)]
    if not first or not second:
        return Screen("Compare", "/compare", body, {"rows": []})
    reads = [library.session(one, events_only=True) for one in (first, second)]
    done = [_done(read) for read in reads]
    rows = list(_rows(done[0], done[1], reads[0].row.cwd))
    spent = library.spent(read.row for read in reads if not read.is_of_another)
    body += _figures(reads, [spent.get(read.row.session) for read in reads])
    same, other = (sum(kind == one for kind, _, _ in rows) for one in ("same", "other result"))
    body.append(
        f'<p class="summary">{same:,} calls are the same, {other:,} gave another result, {len(rows) - same - other:,} differ.</p>'
    )
    cells = (
        [f'<span class="{kind}">{kind}</span>', _cell(one, reads[0]), _cell(other, reads[1])]
        for kind, one, other in rows
    )
    body += table(("", reads[0].conversation.title[:60], reads[1].conversation.title[:60]), cells)
    data = [{"kind": kind, "a": _facts(one), "b": _facts(other)} for kind, one, other in rows]
    return Screen("Compare", "/compare", body, {"rows": data})


def _done(read: Read) -> list[_Done]:
    returned: dict[str, ToolReturned] = {}
    # Sub-agents that have a session of their own call their stream as it does.
    key = (read.conversation.id, read.conversation.stream)
    events: list[AnyEvent] = [event for event in read.events if key_of(event) == key]
    for event in events:
        if isinstance(event, ToolReturned):
            returned.setdefault(event.result.call_id, event)
    called = (event for event in events if isinstance(event, ToolCalled))
    return [_Done(event, returned.get(event.call.id)) for event in islice(called, _MOST)]


def _rows(
    first: list[_Done], second: list[_Done], folder: str | None
) -> Iterator[tuple[str, _Done | None, _Done | None]]:
    """The same calls stand in one row, whatever came of them; in between, what only one has."""
    for tag, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if tag == "equal":
            for left, right in zip(first[a:b], second[c:d], strict=True):
                yield "same" if same_outcomes(left.result, right.result, folder) else "other result", left, right
            continue
        for place in range(max(b - a, d - c)):
            one = first[a + place] if a + place < b else None
            other = second[c + place] if c + place < d else None
            kind = (
                "differs" if one is not None and other is not None else "first only" if other is None else "second only"
            )
            yield kind, one, other


def _form(first: str, second: str) -> Iterator[str]:
    yield '<form class="search" action="/compare"><div class="fields">'
    yield f'<label>first session <input name="a" value="{plain(first)}" required placeholder="id or its beginning"></label>'
    yield f'<label>second session <input name="b" value="{plain(second)}" required placeholder="id or its beginning"></label>'
    yield "<button>Compare</button></div></form>"


def _figures(reads: list[Read], spent: list[Spent | None]) -> Iterator[str]:
    rows = [
        ["client", *(plain(client_name(read.row.client or "")) for read in reads)],
        ["model", *(plain(", ".join(read.row.models)) for read in reads)],
        ["turns", *(number(read.row.turns) for read in reads)],
        ["calls", *(number(read.row.calls) for read in reads)],
        ["failed", *(number(read.row.failures) for read in reads)],
        ["tokens", *(number(tokens_of(read.row, one)) for read, one in zip(reads, spent, strict=True))],
        ["cost", *map(cost_text, spent)],
    ]
    yield from table(("", "first", "second"), rows)


def _cell(done: _Done | None, read: Read) -> str:
    if done is None:
        return ""
    name = anchor(done.event.id)
    link = f"{session_address(read.row.session, event=name)}#{name}"
    bad = ' <span class="bad">failed</span>' if done.failed else ""
    return f'<a href="{plain(link)}">{plain(done.kind)}</a> <code>{plain(done.about)}</code>{bad}'


def _facts(done: _Done | None) -> dict[str, Any] | None:
    if done is None:
        return None
    return {"event": done.event.id, "operation": done.kind, "about": done.about, "failed": done.failed}
