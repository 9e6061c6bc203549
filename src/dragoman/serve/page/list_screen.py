"""The screen **Sessions**: all sessions, newest first, chosen by the filters of `dragoman sessions`."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.client_names import client_name
from dragoman.logs import FORMATS, Filter, SessionRow
from dragoman.logs.export import dollars, plain
from dragoman.logs.history import moment_asked

from .frame import Asked, Parameters, Screen, address, hidden, moment, number, pages, session_address
from .library import Library, Spent

_ON_A_PAGE: Final = 50
_FACETS: Final = 12
_MORE_FACETS: Final = 200
"""Values of a facet that are shown, and those that are folded below them."""
_LIVE: Final = datetime.timedelta(minutes=2)
FILTERS: Final = ("client", "project", "model", "since", "until")


def filter_of(parameters: Parameters) -> Filter:
    """The filter that an address asks for."""
    given: dict[str, Any] = {name: parameters[name] for name in FILTERS if parameters.get(name)}
    if given.get("client") and given["client"] not in FORMATS:
        raise Asked(f"there is no client {given['client']!r}; there are {', '.join(FORMATS)}")
    for name in ("since", "until"):
        if name in given:
            try:
                given[name] = moment_asked(given[name])
            except ValueError as error:
                raise Asked(f"{name}: {error}") from error
    return Filter(**given)


def sessions_screen(library: Library, parameters: Parameters) -> Screen:
    """The list."""
    asked, words = filter_of(parameters), parameters.get("q", "")
    page = max(1, _whole(parameters.get("page", "1")))
    listing = library.listing(asked, words, limit=_ON_A_PAGE, offset=(page - 1) * _ON_A_PAGE)
    last = max(1, -(-listing.total // _ON_A_PAGE))
    if page > last:
        page = last
        listing = library.listing(asked, words, limit=_ON_A_PAGE, offset=(page - 1) * _ON_A_PAGE)
    shown, spent = listing.rows, library.spent(listing.rows)
    clients, projects = (_said(counts) for counts in (listing.clients, listing.projects))
    body = [
        '<div class="with-side"><aside class="side facets" aria-label="Filters">',
        *_facet("Client", "client", clients, parameters),
        *_facet("Project", "project", projects, parameters),
        "</aside>",
        '<section class="list">',
        *_head(parameters, listing.total),
        '<div id="found">',
        *_chosen(parameters),
        '<ul class="sessions" id="list">',
        *(_row(row, spent.get(row.session)) for row in shown),
        "</ul>",
        *([] if shown else [_nothing(parameters)]),
        *pages("/", parameters, page, last),
        "</div></section></div>",
    ]
    data = {
        "sessions": [session_facts(row, spent.get(row.session)) for row in shown],
        "total": listing.total,
        "page": page,
        "pages": last,
        "clients": dict(clients.most_common()),
        "projects": dict(projects.most_common()),
    }
    return Screen("Sessions", "/", body, data)


def session_facts(row: SessionRow, spent: Spent | None) -> dict[str, Any]:
    """A session as data."""
    facts: dict[str, Any] = msgspec.to_builtins(row)
    spent = spent or Spent()
    return {**facts, "cost": spent.cost, "unpriced": spent.unpriced, "tokens_with_agents": spent.tokens}


def is_live(row: SessionRow) -> bool:
    """Whether a session was written to just now."""
    return row.ended is not None and datetime.datetime.now(datetime.UTC) - row.ended < _LIVE


def project_of(row: SessionRow) -> str | None:
    """The project of a session, by the folder that all its worktrees share."""
    return row.repository or row.project


def tokens_text(row: SessionRow, spent: Spent | None) -> str:
    """The tokens of a session, with a mark where some are known to be too few."""
    tokens = tokens_of(row, spent)
    return "" if tokens is None else f"{number(tokens)}{'?' if row.doubtful else ''}"


def cost_text(row: SessionRow, spent: Spent | None) -> str:
    """What a session cost, with a mark where not all of it is known, or where its tokens are in doubt."""
    if spent is None:
        return ""
    if spent.cost is None:
        why = "the log lacks tokens, or the model has no known price; Usage says which"
        return f'<span title="{why}">price not known</span>'
    more = f' title="{spent.unpriced} exchanges of unknown price are not in it"' if spent.unpriced else ""
    doubt = "?" if row.doubtful else ""
    return f"<span{more}>{dollars(spent.cost)}{'+' if spent.unpriced else ''}{doubt}</span>"


def cost_words(row: SessionRow, spent: Spent) -> str:
    """The same in words."""
    doubt = " (doubtful)" if row.doubtful else ""
    unknown = (
        f"{spent.unpriced:,} exchange{'s' if spent.unpriced != 1 else ''} of unknown price" if spent.unpriced else ""
    )
    return " and ".join(one for one in ("" if spent.cost is None else f"{dollars(spent.cost)}{doubt}", unknown) if one)


def tokens_of(row: SessionRow, spent: Spent | None) -> int | None:
    """The tokens that its cost is of: with those of its sub-agents, where it has any."""
    return spent.tokens if row.agents and spent is not None else row.tokens


def _said(counts: Counter[str | None]) -> Counter[str]:
    """Those that have a name; where there are as many, by name."""
    return Counter({name: counts[name] for name in sorted(filter(None, counts))})


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 9 else 1


def _head(parameters: Parameters, count: int) -> Iterator[str]:
    yield f'<div class="list-head"><h1>{count:,} session{"s" if count != 1 else ""}</h1>'
    yield f'<form class="narrow" action="/">{hidden(parameters, "q", "page")}'
    value = plain(parameters.get("q", ""))
    yield (
        f'<input type="search" name="q" id="filter" value="{value}" autocomplete="off" data-as-you-type'
        ' aria-label="Filter sessions" placeholder="Filter by title, project, model"></form></div>'
    )


def _chosen(parameters: Parameters) -> Iterator[str]:
    """What the list was narrowed by, each with a link that takes it away."""
    chosen = [(name, parameters[name]) for name in (*FILTERS, "q") if parameters.get(name)]
    if chosen:
        yield '<p class="chosen filters">'
        for name, said in chosen:
            without = plain(address("/", {**parameters, name: "", "page": ""}))
            shown = client_name(said) if name == "client" else said
            yield f'<a href="{without}" title="Remove this filter">{"text" if name == "q" else name}: {plain(shown)} ×</a>'
        yield "</p>"


def _nothing(parameters: Parameters) -> str:
    if any(parameters.values()):
        return '<p class="empty">No session fits these filters. <a href="/">Show all sessions</a>.</p>'
    return '<p class="empty">No session was found. <code>dragoman sources</code> shows where they are looked for.</p>'


def _facet(title: str, name: str, counts: Counter[str], parameters: Parameters) -> Iterable[str]:
    if not counts:
        return
    chosen = parameters.get(name, "")
    shown = counts.most_common(_FACETS + _MORE_FACETS)
    short = (
        _short([value for value, _ in shown])
        if name == "project"
        else {value: client_name(value) for value, _ in shown}
    )
    yield f"<h2>{title}</h2><ul>"
    for place, (value, count) in enumerate(shown):
        if place == _FACETS:
            is_open = " open" if chosen in [other for other, _ in shown[_FACETS:]] else ""
            yield f'<li><details class="rest"{is_open}><summary>{len(counts) - _FACETS:,} more</summary><ul>'
        link = plain(address("/", {**parameters, name: "" if value == chosen else value, "page": ""}))
        words = plain(short[value])
        mark = ' aria-current="true"' if value == chosen else ""
        yield f'<li><a href="{link}"{mark} title="{plain(value)}"><span>{words}</span> <b>{count:,}</b></a></li>'
    if len(counts) > len(shown):
        yield f'<li class="rest">and {len(counts) - len(shown):,} with fewer sessions</li>'
    yield "</ul></details></li></ul>" if len(shown) > _FACETS else "</ul>"


def _short(paths: list[str]) -> dict[str, str]:
    """Folder → its name, with as many of those above it as tell it from the others."""
    parts = {path: Path(path).parts for path in paths}
    counts = Counter(one[-count:] for one in parts.values() for count in range(1, len(one) + 1))
    short: dict[str, str] = {}
    for path, one in parts.items():
        ending = next((one[-count:] for count in range(1, len(one) + 1) if counts[one[-count:]] == 1), None)
        short[path] = path if ending is None else str(Path(*ending))
    return short


def _row(row: SessionRow, spent: Spent | None) -> str:
    dot = '<span class="live" title="active now">active</span>' if is_live(row) else ""
    doubt = row.unreadable + row.unknown
    project, tokens = project_of(row), tokens_text(row, spent)
    with_agents = ' title="with those of its agents, as in dragoman usage session"' if row.agents and spent else ""
    about = [
        f'<span class="client">{plain(client_name(row.client or "unknown client"))}</span>',
        f'<span title="{plain(project)}">{plain(Path(project).name or project)}</span>' if project else "",
        plain(", ".join(row.models[:2])),
        moment(row.started),
    ]
    figures = [
        f"{row.turns:,} turn{'s' if row.turns != 1 else ''}",
        f"{row.calls:,} call{'s' if row.calls != 1 else ''}",
        f'<span class="bad">{row.failures:,} failed</span>' if row.failures else "",
        f"{row.agents:,} agent{'s' if row.agents != 1 else ''}" if row.agents else "",
        f"<span{with_agents}>{tokens} tokens</span>" if tokens else "",
        cost_text(row, spent),
        f'<span class="doubt" title="records that could not be read">{doubt:,} not read</span>' if doubt else "",
    ]
    return (
        f'<li data-session="{plain(row.session)}"><a class="title" href="{plain(session_address(row.session))}">'
        f"{plain(row.title or 'Untitled session')}</a>{dot}"
        f'<p class="meta">{_joined(about)}</p><p class="figures">{_joined(figures)}</p></li>'
    )


def _joined(parts: Iterable[str]) -> str:
    return "".join(f"<span>{part}</span>" for part in parts if part)
