"""What every screen of the page has: its data, its HTML, and the frame around it."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec

from dragoman.logs.export import plain

Parameters = Mapping[str, str]
"""What an address says after its question mark."""

SCREENS: Final = {"/": "Sessions", "/search": "Search", "/usage": "Usage", "/compare": "Compare", "/sql": "SQL"}
_FIT_PAPER: Final = 7
"""Columns of any text that a sheet of paper has room for."""
_KEYS: Final = (
    ("j / k", "next / previous entry"),
    ("J / K", "next / previous turn"),
    ("/", "search"),
    ("f", "follow a session that grows"),
    ("g", "go to the list of sessions"),
    ("?", "show these keys"),
)


class Screen(msgspec.Struct):
    """One screen: what it shows as HTML, and the same as data."""

    title: str
    at: str
    """The address of its entry in the navigation."""
    body: list[str]
    data: Any = None
    status: int = 200


class Asked(Exception):
    """What was asked for cannot be shown; the message says why, `status` is that of HTTP."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def document(screen: Screen) -> str:
    """A screen as a page."""
    links = "".join(f'<a href="{path}"{current(is_it=path == screen.at)}>{name}</a>' for path, name in SCREENS.items())
    keys = "".join(f"<div><dt><kbd>{plain(key)}</kbd></dt><dd>{text}</dd></div>" for key, text in _KEYS)
    body = "\n".join(screen.body)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{plain(screen.title)} · dragoman</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/assets/transcript.css">
<link rel="stylesheet" href="/assets/page.css">
<script src="/assets/page.js" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="bar"><a class="brand" href="/">dragoman</a><nav aria-label="Screens">{links}</nav>
<form action="/search" role="search"><input type="search" name="q" aria-label="Search all sessions" placeholder="Search all sessions"></form>
</header>
<main id="main" tabindex="-1">
{body}
</main>
<dialog id="keys" aria-label="Keys"><h2>Keys</h2><dl class="keys">{keys}</dl><form method="dialog"><button>Close</button></form></dialog>
</body>
</html>
"""


def current(*, is_it: bool) -> str:
    """The attribute of a link to what is shown."""
    return ' aria-current="page"' if is_it else ""


def address(path: str, parameters: Mapping[str, object] | None = None, **changes: object) -> str:
    """An address with parameters, some of them changed; what is empty is left out."""
    given = {**(parameters or {}), **changes}
    kept = {name: str(value) for name, value in given.items() if value not in (None, "", False)}
    return f"{path}?{urlencode(kept, errors='surrogatepass')}" if kept else path


def session_address(id: str, **parameters: object) -> str:
    """Where a session is shown."""
    return address(f"/session/{quote(id, safe='', errors='surrogatepass')}", parameters)


def number(value: int | None) -> str:
    """A count with its thousands grouped; an empty text where it is not known."""
    return "" if value is None else f"{value:,}"


def ago(time: datetime.datetime | None, now: datetime.datetime | None = None) -> str:
    """How long ago something was, as people say it."""
    if time is None:
        return ""
    seconds = ((now or datetime.datetime.now(datetime.UTC)) - time).total_seconds()
    for length, name in (
        (86_400 * 365, "year"),
        (86_400 * 30, "month"),
        (86_400, "day"),
        (3600, "hour"),
        (60, "minute"),
    ):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {name}{'s' if count != 1 else ''} ago"
    return "just now" if seconds >= 0 else "in the future"


def moment(time: datetime.datetime | None) -> str:
    """A time as a tag that says both how long ago it was and when."""
    if time is None:
        return ""
    exact = time.astimezone(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f'<time datetime="{time.isoformat()}" title="{exact}">{ago(time)}</time>'


def hidden(parameters: Parameters, *without: str) -> str:
    """Fields of a form that keep what the address says already."""
    return "".join(
        f'<input type="hidden" name="{plain(name)}" value="{plain(value)}">'
        for name, value in parameters.items()
        if name not in without and value
    )


def table(
    head: Sequence[str], rows: Iterable[Iterable[str]], *, numbers: frozenset[int] = frozenset(), name: str = ""
) -> Iterator[str]:
    """A table; its cells are HTML. Columns of `numbers` are aligned to the right; `name` is what its style knows it by.

    A table with too many columns for a sheet of paper is printed with each row as a list, so its cells name their column.
    """
    is_broad = len(head) > _FIT_PAPER and name == "rows"
    if is_broad:
        name = f"{name} broad"
    yield f'<div class="wide" tabindex="0"><table{f" class={chr(34)}{name}{chr(34)}" if name else ""}><thead><tr>'
    yield "".join(f"<th{_side(place, numbers)}>{plain(name)}</th>" for place, name in enumerate(head))
    yield "</tr></thead><tbody>"
    for row in rows:
        cells = (
            f"<td{_side(place, numbers)}{f' data-column={chr(34)}{plain(head[place])}{chr(34)}' if is_broad else ''}>{cell}</td>"
            for place, cell in enumerate(row)
        )
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"


def _side(place: int, numbers: frozenset[int]) -> str:
    return ' class="number"' if place in numbers else ""


def pages(path: str, parameters: Parameters, page: int, last: int) -> Iterator[str]:
    """Links to the neighbours of a page."""
    if last <= 1:
        return
    before = f'<a rel="prev" href="{plain(address(path, parameters, page=page - 1))}">Newer</a>' if page > 1 else ""
    after = f'<a rel="next" href="{plain(address(path, parameters, page=page + 1))}">Older</a>' if page < last else ""
    yield f'<nav class="pages" aria-label="Pages">{before}<span>Page {page:,} of {last:,}</span>{after}</nav>'
