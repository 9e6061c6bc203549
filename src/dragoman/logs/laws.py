"""The laws every log format is held to, on one log of its own making: `check_format` is for whoever writes one.

A law gives the problems it finds; none means it holds. Nothing here knows a single format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from dragoman.dialects import DIALECTS
from dragoman.dialects.plugins import Problem
from dragoman.errors import nearest
from dragoman.model import AnyEvent, TokensUsed

from .base.compressed import open_log
from .base.format import LinesReader, LogFormat, LogReader, sample_of
from .base.reading import confidences
from .history.sessions import numbered, sessions_of

_DAMAGE: Final = (b"\xff", b"{", b'"', b"\n", b"null\n")
_PLACES: Final = 16
"""How many places of a log are damaged, one at a time."""


def check_format(format: LogFormat, path: Path) -> list[Problem]:
    """Every problem the laws find with a log in this format."""
    with open_log(path) as file:
        data = file.read()
    found: list[Problem] = []
    for law in (_known, _recognised, _the_same_in_pieces, _kept, _counted, _unbroken):
        try:
            found += law(format, path, data)
        except Exception as error:  # noqa: BLE001 - a format under test may raise anything; that is what is asked
            name = law.__name__.strip("_").replace("_", " ")
            found.append(Problem(name, path.name, f"raises {type(error).__name__}: {error}", "it must never raise"))
    return found


def _known(format: LogFormat, path: Path, data: bytes) -> Iterator[Problem]:
    if format.dialect not in DIALECTS:
        what = f"speaks {format.dialect!r}, which is no dialect.{nearest(format.dialect, DIALECTS)}"
        yield Problem("dialect", format.name, what, "list its dialect too, or name the one its calls are in")


def _recognised(format: LogFormat, path: Path, data: bytes) -> Iterator[Problem]:
    sure = format.recognise(sample_of(path))
    if not 0.5 < sure <= 1:
        yield Problem("recognised", path.name, f"it is {sure} sure of its own log", "give more than 0.5, at most 1")
    others = {name: confidence for name, confidence in confidences(path).items() if name != format.name}
    for name, confidence in others.items():
        if confidence >= sure:
            yield Problem("recognised", path.name, f"{name} is as sure ({confidence})", "look for what is its alone")


def _the_same_in_pieces(format: LogFormat, path: Path, data: bytes) -> Iterator[Problem]:
    whole = _events(format.reader(path), data)
    if whole != _events(format.reader(path), data):
        yield Problem(
            "twice", path.name, "reading it twice gives other events", "make ids of the record, not of chance"
        )
    if whole != _events(format.reader(path), data, size=1):
        yield Problem("pieces", path.name, "fed byte by byte it gives other events", "wait for whole records")
    ids = [event.id for event in whole]
    for id in sorted({id for id in ids if ids.count(id) > 1}):
        yield Problem("ids", path.name, f"two events have the id {id!r}", "give `Place` a key of its own per record")


def _kept(format: LogFormat, path: Path, data: bytes) -> Iterator[Problem]:
    reader = format.reader(path)
    events = _events(reader, data)
    covered: set[int] = set()
    for event in events:
        source = event.source
        if source is None or source.offset < 0 or source.offset + source.length > len(data):
            yield Problem(
                "sources", event.id, "it does not point at bytes of its file", "pass the record's `source` on"
            )
        else:
            covered.add(source.offset)
        if msgspec.json.decode(msgspec.json.encode(event), type=AnyEvent) != event:
            yield Problem("plain", event.id, "written as JSON it reads as another event", "use plain JSON values")
    if isinstance(reader, LinesReader):
        yield from _uncovered(data, covered)
    sessions_of(numbered(events))


def _uncovered(data: bytes, covered: set[int]) -> Iterator[Problem]:
    try:
        msgspec.json.decode(data)
        return  # one document, whatever lines it is written on
    except msgspec.DecodeError:
        pass
    offset = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip() and offset and offset not in covered:  # a first line may do no more than name the format
            what = "it ends in no event"
            yield Problem(
                "nothing dropped", f"line {number}", what, "give `unknown(place, kind)` for what is not known"
            )
        offset += len(line) + 1


def _counted(format: LogFormat, path: Path, data: bytes) -> Iterator[Problem]:
    whole = [event for event in _events(format.reader(path), data) if isinstance(event, TokensUsed)]
    alone = [event for event in _events(format.usage_reader(path), data) if isinstance(event, TokensUsed)]
    if [event.usage for event in whole] != [event.usage for event in alone]:
        yield Problem("tokens", path.name, "`usage_reader` gives other tokens than `reader`", "make both say the same")


def _unbroken(format: LogFormat, path: Path, data: bytes) -> Iterator[Problem]:
    for place in range(0, len(data), max(1, len(data) // _PLACES)):
        for damage in _DAMAGE:
            broken = data[:place] + damage + data[place + 8 :]
            yield from _harmless(lambda broken=broken: _events(format.reader(path), broken), path, place)  # type: ignore[misc]


def _harmless(read: Callable[[], list[AnyEvent]], path: Path, place: int) -> Iterator[Problem]:
    try:
        sessions_of(numbered(read()))
    except Exception as error:  # noqa: BLE001 - that it raises anything is the problem
        what = f"damaged at byte {place} it raises {type(error).__name__}: {error}"
        yield Problem("damage", path.name, what, "look at a value's type before using it")


def _events(reader: LogReader, data: bytes, size: int = 1 << 18) -> list[AnyEvent]:
    events: list[AnyEvent] = []
    for begin in range(0, len(data), size):
        events += reader.feed(data[begin : begin + size])
    return [*events, *reader.rest()]
