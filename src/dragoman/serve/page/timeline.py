"""The tab *Timeline*: what took how long, as a picture made of lines and bars.

Lanes are one per agent, and as many for tools as ran at once. The time between the end of an answer and what the user
said next is a gap: long ones are drawn short, with their length written in them.
"""

from __future__ import annotations

import datetime
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal

import msgspec

from dragoman.logs import key_of
from dragoman.logs.export import about, duration, plain, waits_for_a_person
from dragoman.logs.history import failure_of
from dragoman.model import (
    AnyEvent,
    ModelSaid,
    ModelThought,
    ToolCalled,
    ToolReturned,
    UserSaid,
)

_WIDTH: Final = 1000.0
_ROW: Final = 22
_LONGEST_GAP: Final = 0.03
"""The share of the width that a gap takes at most."""
_LONGEST_ABOUT: Final = 80
BARS: Final = 600
"""Bars that are drawn at once."""


class Bar(msgspec.Struct):
    """One thing that took time."""

    kind: Literal["model", "tool", "failed", "person"]
    name: str
    stream: str
    event: str
    about: str
    """What a call is about, in a line; nothing for a model."""
    began: float
    ended: float
    """Both in seconds since the beginning of the session."""


class _Moment(msgspec.Struct, gc=False):
    """What of an event a timeline needs: a long session has very many."""

    time: datetime.datetime
    kind: Literal["user", "said", "model", "called", "returned", "other"]
    stream: tuple[str, str] = ("", "main")
    event: str = ""
    name: str = ""
    """The model, or the tool."""
    call: str = ""
    is_marked: bool = False
    """Whether a call waits for a person, or a result is a failure."""
    about: str = ""
    """What a call is about, in a line."""


def _moment(event: AnyEvent, time: datetime.datetime) -> _Moment:
    match event:
        case ToolCalled():
            native = event.call.native.name
            said = next((about(one) for one in event.call.operations), "")
            said = said if len(said) <= _LONGEST_ABOUT else f"{said[: _LONGEST_ABOUT - 1]}…"
            waits = waits_for_a_person(event)
            return _Moment(time, "called", key_of(event), event.id, native, event.call.id, waits, said)
        case ToolReturned():
            result = event.result
            failed = any(failure_of(one, result.native) is not None for one in result.outcomes)
            return _Moment(time, "returned", key_of(event), call=result.call_id, is_marked=failed)
        case ModelSaid() | ModelThought():
            return _Moment(time, "model", key_of(event), event.id, event.model or "model")
        case UserSaid():
            is_person = event.by == "user" and event.stream == "main"
            return _Moment(time, "user" if is_person else "said", key_of(event))
    return _Moment(time, "other")


def bars_of(events: Iterable[AnyEvent]) -> tuple[list[Bar], list[tuple[float, float]]]:
    """The bars, in order, and the gaps in which nobody worked."""
    timed = [_moment(event, event.time) for event in events if event.time is not None]
    timed.sort(key=lambda moment: moment.time)
    bars: list[Bar] = []
    last: dict[tuple[str, str], float] = {}
    waiting: dict[tuple[tuple[str, str], str], tuple[_Moment, float]] = {}
    gaps: list[tuple[float, float]] = []
    models: dict[tuple[str, str], str] = {}
    busy_until = 0.0
    for one in timed:
        key, now = one.stream, (one.time - timed[0].time).total_seconds()
        before = last.get(key, now)
        if one.kind == "user" and now > busy_until:
            gaps.append((busy_until, now))
        elif one.kind in ("model", "called") and now > before:
            name = one.name if one.kind == "model" else models.get(key, "model")
            bars.append(Bar("model", name, key[1], one.event, "", before, now))
        if one.kind == "model":
            models[key] = one.name
        elif one.kind == "called":
            waiting[key, one.call] = one, now
        elif one.kind == "returned" and (called := waiting.pop((key, one.call), None)) is not None:
            bars.append(_bar(*called, now, is_failure=one.is_marked))
        busy_until = max(busy_until, now)
        if one.kind != "other":  # after any of these the model, or a person, is next; book-keeping says nothing
            last[key] = now
    return sorted(bars, key=lambda bar: bar.began), [(begin, end) for begin, end in gaps if end - begin > 1]


def _bar(called: _Moment, began: float, ended: float, *, is_failure: bool) -> Bar:
    kind: Literal["tool", "failed", "person"]
    kind = "person" if called.is_marked else "failed" if is_failure else "tool"
    return Bar(kind, called.name, called.stream[1], called.event, called.about, began, max(began, ended))


def timeline(
    bars: list[Bar], gaps: list[tuple[float, float]], link: Callable[[str], str], begin: int = 0
) -> tuple[list[str], dict[str, Any]]:
    """The tab and its data; bars are drawn from one on, as many as `BARS`."""
    spent = _spent(bars, gaps)
    data = {
        "bars": bars,
        "gaps": [{"began": begin, "ended": end} for begin, end in gaps],
        "seconds": spent,
    }
    if not bars:
        return ['<p class="empty">The log has no times to draw.</p>'], data
    drawn = bars[begin : begin + BARS]
    first, last = drawn[0].began if begin else 0.0, max(bar.ended for bar in drawn)
    between = [(max(start, first), min(end, last)) for start, end in gaps if end > first and start < last]
    return [*_summary(spent), *_drawn(drawn, between, link, first), *_listed(bars, link)], data


def _spent(bars: list[Bar], gaps: list[tuple[float, float]]) -> dict[str, float]:
    """On what the time was spent, in seconds; what ran at once counts each for itself."""
    return {
        "model": sum(bar.ended - bar.began for bar in bars if bar.kind == "model"),
        "tools": sum(bar.ended - bar.began for bar in bars if bar.kind in ("tool", "failed")),
        "waiting for a person": sum(bar.ended - bar.began for bar in bars if bar.kind == "person"),
        "idle": sum(end - begin for begin, end in gaps),
    }


def _summary(spent: dict[str, float]) -> Iterator[str]:
    yield '<dl class="facts">'
    yield from (f"<div><dt>{name}</dt><dd>{duration(seconds)}</dd></div>" for name, seconds in spent.items() if seconds)
    yield "</dl>"


def _drawn(bars: list[Bar], gaps: list[tuple[float, float]], link: Callable[[str], str], start: float) -> Iterator[str]:
    place, end = _scale(bars, gaps, start)
    lanes = _lanes(bars)
    height = (max(lanes.values()) + 1) * _ROW + 24
    yield (
        f'<div class="wide" tabindex="0"><svg class="timeline" viewBox="0 0 {_WIDTH:.0f} {height}" role="group"'
        f' aria-label="What ran when: {len(bars)} bars over {duration(end - start)}">'
    )
    for begin, finish in gaps:
        left, right = place(begin), place(finish)
        yield f'<rect class="gap" x="{left:.1f}" y="0" width="{max(1, right - left):.1f}" height="{height - 20}">'
        yield f"<title>{duration(finish - begin)} without work</title></rect>"
    for number, bar in enumerate(bars):
        left, right = place(bar.began), place(bar.ended)
        agent = "" if bar.stream == "main" else f" (agent {bar.stream})"
        words = f"{_named(bar)}{agent}: {duration(bar.ended - bar.began)}"
        if bar.kind == "person":
            words += ", a person was waited for"
        yield (
            f'<a href="{plain(link(bar.event))}" aria-label="{plain(words)}"><rect class="{bar.kind}" x="{left:.1f}" y="{lanes[number] * _ROW + 3}"'
            f' width="{max(1.5, right - left):.1f}" height="{_ROW - 6}" rx="2"><title>{plain(words)}</title></rect></a>'
        )
    yield f'<text x="0" y="{height - 6}">{duration(start) if start else 0}</text>'
    yield f'<text x="{_WIDTH:.0f}" y="{height - 6}" text-anchor="end">{duration(end)}</text></svg></div>'
    yield (
        '<p class="legend"><span class="model">model</span><span class="tool">tool</span><span class="failed">failed tool'
        '</span><span class="person">waiting for a person</span><span class="gap">idle</span></p>'
        '<p class="label">A lane for the model of each agent, then one for each tool that runs at once. What runs at once'
        " counts each for itself, and a call that started an agent lasts until the agent ends.</p>"
    )


def _scale(bars: list[Bar], gaps: list[tuple[float, float]], start: float) -> tuple[Callable[[float], float], float]:
    """What gives a moment its place, and the last moment; gaps are drawn short."""
    end = max(bar.ended for bar in bars)
    idle = sum(finish - begin for begin, finish in gaps)
    working = max(end - start - idle, 0.001)
    share = min(_LONGEST_GAP, 0.5 / max(1, len(gaps)))
    widths = [min(share * _WIDTH, (finish - begin) / (end - start) * _WIDTH) for begin, finish in gaps]
    unit = (_WIDTH - sum(widths)) / working
    moments, places = [start], [0.0]
    for (begin, finish), width in zip(gaps, widths, strict=True):
        before = places[-1] + (begin - moments[-1]) * unit
        moments += [begin, finish]
        places += [before, before + width]

    def place(moment: float) -> float:
        at = bisect_right(moments, moment) - 1
        if at % 2 == 0:  # between two gaps, or beside the only ones
            return places[at] + (moment - moments[at]) * unit
        share = (moment - moments[at]) / (moments[at + 1] - moments[at])
        return places[at] + share * (places[at + 1] - places[at])

    return place, end


def _lanes(bars: list[Bar]) -> dict[int, int]:
    """Each bar's lane: the models of one agent share one, tools take the next that is free."""
    lanes: dict[int, int] = {}
    models: dict[str, int] = {}
    for bar in bars:
        models.setdefault(bar.stream, len(models))
    free: list[float] = []
    for number, bar in enumerate(bars):
        if bar.kind == "model":
            lanes[number] = models[bar.stream]
            continue
        lane = next((at for at, until in enumerate(free) if until <= bar.began), len(free))
        if lane == len(free):
            free.append(0.0)
        free[lane] = bar.ended
        lanes[number] = len(models) + lane
    return lanes


def _named(bar: Bar) -> str:
    return f"{bar.name} {bar.about}" if bar.about else bar.name


def _listed(bars: list[Bar], link: Callable[[str], str]) -> Iterator[str]:
    """The longest ones in words."""
    longest = sorted(bars, key=lambda bar: bar.began - bar.ended)[:10]
    yield '<h2>Longest</h2><ol class="longest">'
    for bar in longest:
        agent = "" if bar.stream == "main" else f" of agent {bar.stream}"
        words = f"{_named(bar)}{agent}{', waiting for a person' if bar.kind == 'person' else ''}"
        took = duration(bar.ended - bar.began)
        yield f'<li><a href="{plain(link(bar.event))}">{plain(words)}</a> <span>{took}</span></li>'
    yield "</ol>"
