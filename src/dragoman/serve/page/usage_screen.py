"""The screen **Usage**: tokens, cost, calls and durations, the figures of `dragoman stats`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dragoman.client_names import client_name
from dragoman.logs.export import dollars, duration, plain
from dragoman.logs.history import Group

from .frame import Asked, Parameters, Screen, address, current, number, table
from .library import Library
from .list_screen import FILTERS, filter_of

_BY: Final = {
    "day": "Day",
    "week": "Week",
    "month": "Month",
    "block": "5 hours",
    "project": "Project",
    "model": "Model",
    "client": "Client",
    "tool": "Tool",
    "operation": "Operation",
}
_WORDS: Final = {"block": "block of 5 hours"}
"""What a group is called in a sentence, where that is not its tab."""
_IN_TIME: Final = ("day", "week", "month", "block")
_PLOTTED: Final = 60
"""Bars of a plot: the newest, or the largest."""
_SHOWN: Final = 200
_FITS: Final = 10
"""Characters of a figure that fit a card in its usual size, on a phone too."""
_SINCE: Final = {"": "All time", "1d": "24 hours", "1w": "7 days", "30d": "30 days", "90d": "90 days"}


def usage_screen(library: Library, parameters: Parameters) -> Screen:
    """The plots and the table."""
    by = parameters.get("by") or "day"
    if by not in _BY:
        raise Asked(f"there is nothing called {by!r} to count by; there are {', '.join(_BY)}")
    words = tuple(parameters.get(name) for name in FILTERS)
    groups, total = library.counted(by, filter_of(parameters), words)
    body = ["<h1>Usage</h1>", *_choices(parameters, by), *_cards(total)]
    if not groups:
        body.append('<p class="empty">Nothing was recorded in this time.</p>')
    plotted = _in_time(groups)[-_PLOTTED:] if by in _IN_TIME else groups[:_PLOTTED]
    if any(group.tokens is not None and group.tokens.tokens for group in plotted):
        body += _plot(
            "Tokens", by, [(_name(one, by), float(_tokens(one) or 0), number(_tokens(one))) for one in plotted]
        )
        body += _plot("Cost", by, [(_name(one, by), _cost(one) or 0.0, _money(one)) for one in plotted])
    if any(group.calls is not None and group.calls.calls for group in plotted):
        calls = [(_name(one, by), float(one.calls.calls if one.calls else 0), _calls(one)) for one in plotted]
        body += _plot("Calls", by, calls)
    body += _table(groups[:_SHOWN], total, by)
    if len(groups) > _SHOWN:
        body.append(f'<p class="label">{len(groups) - _SHOWN:,} more are not shown; the JSON has all.</p>')
    data = {"by": by, "groups": groups, "total": total}
    return Screen("Usage", "/usage", body, data)


def _in_time(groups: list[Group]) -> list[Group]:
    """Those with a time, oldest first."""
    return [one for one in reversed(groups) if any(one.group.values())]


def _choices(parameters: Parameters, by: str) -> Iterator[str]:
    yield '<nav class="tabs" aria-label="Count by">'
    for name, word in _BY.items():
        link = plain(address("/usage", {**parameters, "by": "" if name == "day" else name}))
        yield f'<a href="{link}"{current(is_it=name == by)}>{word}</a>'
    yield '</nav><p class="chosen" role="group" aria-label="Time">'
    for since, word in _SINCE.items():
        mark = ' aria-current="true"' if parameters.get("since", "") == since else ""
        yield f'<a href="{plain(address("/usage", {**parameters, "since": since}))}"{mark}>{word}</a>'
    yield "</p>"


def _cards(total: Group) -> Iterator[str]:
    tokens, calls = total.tokens, total.calls
    cards: list[tuple[str, str, str]] = [("Sessions", number(total.sessions), "with a call or a reply, agents too")]
    if tokens is not None:
        read, fresh = tokens.cached_read_tokens, tokens.input_tokens
        whole = (read or 0) + (fresh or 0) + (tokens.cached_write_tokens or 0)
        unknown = "list prices"
        if tokens.unpriced:
            unknown = f"{tokens.unpriced:,} exchanges of unknown price are not in it: {tokens.reasons}"
        mark = "?" if tokens.doubtful else ""
        cards.append(("Cost", "not known" if tokens.cost is None else dollars(tokens.cost) + mark, unknown))
        doubtful = f", the output of {tokens.doubtful:,} doubtful" if tokens.doubtful else ""
        cards.append(("Tokens", number(tokens.tokens) + mark, f"{tokens.exchanges:,} exchanges{doubtful}"))
        if whole and read is not None:
            cards.append(("From caches", f"{read / whole:.0%}", "of the input"))
    if calls is not None:
        share = f"{calls.failures / calls.calls:.1%} failed" if calls.calls else ""
        cards.append(("Calls", number(calls.calls), share))
        if calls.median is not None:
            cards.append(("Median call", duration(calls.median), f"90% within {duration(calls.p90 or 0)}"))
    yield '<dl class="cards">'
    for name, value, more in cards:
        size = ' class="long"' if len(value) > _FITS else ""  # a number is never broken
        yield f"<div><dt>{name}</dt><dd{size}>{plain(value)}</dd><dd>{plain(more)}</dd></div>"
    yield "</dl>"


def _plot(title: str, by: str, bars: list[tuple[str, float, str]]) -> Iterator[str]:
    largest = max((value for _, value, _ in bars), default=0.0)
    if not largest:
        return
    width, height = 1000.0, 150
    step = width / max(len(bars), 8)
    name, most = next((name[:60], words) for name, value, words in bars if value == largest)
    ends = f"{bars[0][0]} to {bars[-1][0]}; most on {name}:" if by in _IN_TIME and len(bars) > 1 else f"most: {name},"
    yield (
        f'<figure class="plot"><figcaption>{title} by {_WORDS.get(by, _BY[by].lower())}'
        f" <span>{plain(ends)} {plain(most)}</span></figcaption>"
    )
    yield f'<svg viewBox="0 0 {width:.0f} {height}" role="img" aria-label="{title}; the table below has the figures">'
    for place, (name, value, words) in enumerate(bars):
        tall = value / largest * height
        yield f'<g><rect class="hit" x="{place * step:.1f}" y="0" width="{step:.1f}" height="{height}"/>'
        yield (
            f'<rect class="bar" x="{place * step + step * 0.1:.1f}" y="{height - tall:.1f}" width="{step * 0.8:.1f}"'
            f' height="{tall:.1f}" rx="2"/><title>{plain(name)}: {plain(words)}</title></g>'
        )
    yield "</svg></figure>"


def _table(groups: list[Group], total: Group, by: str) -> Iterator[str]:
    head = [_BY[by], "sessions", "calls", "failed", "median"]
    with_tokens = total.tokens is not None
    if with_tokens:
        head += ["input", "cache read", "cache write", "output", "tokens", "cost"]
    rows = [[plain(_name(one, by)), *_figures(one, with_tokens=with_tokens)] for one in groups]
    rows.append(["<b>Total</b>", *(f"<b>{cell}</b>" for cell in _figures(total, with_tokens=with_tokens))])
    yield from table(head, rows, numbers=frozenset(range(1, len(head))), name="usage-table")


def _figures(group: Group, *, with_tokens: bool) -> list[str]:
    calls, tokens = group.calls, group.tokens
    cells = [number(group.sessions)]
    cells += (
        ["", "", ""]
        if calls is None
        else [
            number(calls.calls),
            f'<span class="bad">{calls.failures:,}</span>' if calls.failures else "0",
            "" if calls.median is None else duration(calls.median),
        ]
    )
    if with_tokens and tokens is not None:
        mark = "?" if tokens.doubtful else ""  # the output was logged before the reply was complete
        cells += [number(one) for one in (tokens.input_tokens, tokens.cached_read_tokens, tokens.cached_write_tokens)]
        cells += [number(tokens.output_tokens) + mark, number(tokens.tokens) + mark, plain(_money(group))]
    return cells


def _name(group: Group, by: str) -> str:
    name = group.group[by]
    return "not known" if not name else client_name(name) if by == "client" else name


def _tokens(group: Group) -> int | None:
    return None if group.tokens is None else group.tokens.tokens


def _cost(group: Group) -> float | None:
    return None if group.tokens is None else group.tokens.cost


def _money(group: Group) -> str:
    if group.tokens is None or (group.tokens.cost is None and not group.tokens.unpriced):
        return ""
    doubt = "?" if group.tokens.doubtful else ""
    known = "not known" if group.tokens.cost is None else f"{dollars(group.tokens.cost)}{doubt}"
    return (
        f"{known} + {group.tokens.unpriced:,} unpriced"
        if group.tokens.unpriced and group.tokens.cost is not None
        else known
    )


def _calls(group: Group) -> str:
    if group.calls is None:
        return ""
    return f"{group.calls.calls:,}, {group.calls.failures:,} failed"
