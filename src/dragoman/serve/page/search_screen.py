"""The screen **Search**: the full text of all sessions, best first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.client_names import client_name
from dragoman.logs import SessionRow
from dragoman.logs.export import anchor, plain
from dragoman.logs.full_text import Hit, Wanted

from .frame import Parameters, Screen, address, moment, pages, session_address
from .library import Library
from .list_screen import filter_of, project_of
from .words import Searched

_ON_A_PAGE: Final = 40
_FIELDS: Final = {"op": "operation", "tool": "tool", "path": "path", "project": "project", "since": "since"}
_HINTS: Final = {"op": "edit_file", "tool": "Bash", "path": "src/", "project": "name", "since": "1w"}


def search_screen(library: Library, parameters: Parameters) -> Screen:
    """The form, and what was found."""
    words = parameters.get("q", "")
    asked = filter_of(parameters)
    chosen = asked.project or asked.since or asked.until or asked.model
    wanted = Wanted(
        words=words,
        client=asked.client,
        tool=parameters.get("tool"),
        operation=parameters.get("op"),
        path=parameters.get("path"),
        failed=parameters.get("failed") == "1",
        sessions=library.session_ids(asked) if chosen else None,
    )
    text = parameters.get("page", "1")
    page = int(text) if text.isdecimal() and 0 < len(text) < 7 and int(text) else 1
    found = library.search(wanted, limit=_ON_A_PAGE, offset=(page - 1) * _ON_A_PAGE)
    hits, total = found.hits, found.total
    rows = library.rows_of(hit.session for hit in hits)
    body = ["<h1>Search</h1>", *_form(parameters), '<div id="found">']
    if not library.has_words:
        why = "A corpus has no full text to search. Its tables can be asked with SQL, and the list filters titles."
        body.append(f'<p class="summary">{why}</p>')
    elif any(parameters.values()):
        body += _summary(found, address("/search", parameters))
    body += ['<ol class="hits" id="list">', *(_hit(hit, rows.get(hit.session)) for hit in hits), "</ol>"]
    body += [*pages("/search", parameters, page, max(1, -(-total // _ON_A_PAGE))), "</div>"]
    data = {"total": total, "unread": found.unread, "problem": found.problem, "hits": [_facts(hit) for hit in hits]}
    return Screen("Search", "/search", body, data)


def _summary(found: Searched, again: str) -> Iterator[str]:
    more = ""
    if found.problem is not None:
        more = f' <span class="bad">Not all logs could be read: {plain(found.problem)}</span>'
    elif found.unread != 0:
        left = "Logs are" if found.unread is None else f"{found.unread:,} log{'s are' if found.unread != 1 else ' is'}"
        more = f' so far. {left} still being read for the search. <a href="{plain(again)}" data-again>Search again</a>'
    yield f'<p class="summary" aria-live="polite">{found.total:,} place{"s" if found.total != 1 else ""} found{more}</p>'


def _facts(hit: Hit) -> dict[str, Any]:
    facts: dict[str, Any] = msgspec.to_builtins(hit)
    return {**facts, "anchor": anchor(hit.event), "snippet": "".join(text for text, _ in _pieces(hit.snippet))}


def _form(parameters: Parameters) -> Iterator[str]:
    yield '<form class="search" action="/search">'
    yield (
        f'<input type="search" name="q" id="filter" value="{plain(parameters.get("q", ""))}" data-as-you-type autofocus'
        ' aria-label="Words" placeholder="Words; &quot;two words&quot; together" autocomplete="off">'
    )
    yield '<div class="fields">'
    for name, label in _FIELDS.items():
        value = plain(parameters.get(name, ""))
        yield f'<label>{label} <input name="{name}" value="{value}" placeholder="{_HINTS[name]}"></label>'
    checked = " checked" if parameters.get("failed") == "1" else ""
    yield f'<label><input type="checkbox" name="failed" value="1"{checked}> failed only</label><button>Search</button>'
    yield "</div></form>"


def _hit(hit: Hit, row: SessionRow | None) -> str:
    link = f"{session_address(hit.session, agent='' if hit.stream == 'main' else hit.stream, event=anchor(hit.event))}"
    title = plain((row.title if row is not None else None) or hit.session)
    project = "" if row is None else Path(project_of(row) or "").name
    about = [hit.kind, hit.tool or "", client_name(hit.client or ""), project]
    told = "".join(f"<span>{plain(one)}</span>" for one in about if one)
    failed = '<span class="bad">failed</span>' if hit.failed else ""
    pieces = _pieces(_EMPTY_LINES.sub("\n", hit.snippet))
    marked = "".join(f"<mark>{plain(text)}</mark>" if found else plain(text) for text, found in pieces)
    return (
        f'<li><a class="title" href="{plain(link)}#{anchor(hit.event)}">{title}</a>'
        f'<p class="snippet">{marked}</p><p class="meta">{told}{failed}<span>{moment(hit.time)}</span></p></li>'
    )


_EMPTY_LINES: Final = re.compile(r"\n\s*\n")
_FOUND: Final = re.compile("\ue000([^\ue000\ue001]*)\ue001")


def _pieces(snippet: str) -> Iterator[tuple[str, bool]]:
    """A snippet in pieces, each with whether it is what was found; stray marks are of the text itself."""
    at = 0
    for match in _FOUND.finditer(snippet):
        yield snippet[at : match.start()].translate(_MARKS), False
        yield match[1], True
        at = match.end()
    yield snippet[at:].translate(_MARKS), False


_MARKS: Final = {0xE000: None, 0xE001: None}
