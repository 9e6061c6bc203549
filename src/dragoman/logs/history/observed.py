"""One log as drift looks at it: the fields in its files, and what its reader made of its records."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from dragoman.dialects import Dialect
from dragoman.errors import LogError
from dragoman.logs.base.format import Places, decoded
from dragoman.logs.base.raw_bytes import Originals
from dragoman.model import JsonOutcome, TextOutcome, UnknownOutcome, events as ev, operations as op
from dragoman.registry import DIALECTS, FORMATS

from .discover import Found
from .known_fields import Counted, Readings, looks_like
from .record_fields import TextRecords, Walk, records_of
from .shapes import qualified, records_by_kind, tool_named

_NOTES = (ev.ClientNoted, ev.UnknownRecord)
_SAID = (ev.ModelSaid, ev.ToolCalled)
_WORD = re.compile(r"[a-z]+(?:[_-][a-z]+)*")


class Observed:
    """What is learnt of one log, event by event."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.versions: set[str] = set()
        self.readings = Readings({}, {})
        self.noted: dict[ev.Source, bool] = {}
        """Each record, and whether it gave nothing but notes."""
        self.unknown: set[ev.Source] = set()
        self._calls: dict[str, ev.ToolCalled] = {}
        self._replies: set[ev.Source] = set()
        self._counted: set[ev.Source] = set()
        self.calls = self.results = 0
        self.used = self.uncounted = 0
        """How many times tokens were told, and how many times a count, or each, was no number that can be."""
        self.as_text: dict[str, ev.ToolReturned] = {}
        """Tool → its first result that is but a text."""

    def event(self, event: ev.AnyEvent) -> None:
        """Adds one event of the log."""
        if event.version:
            self.versions.add(event.version)
        source = event.source
        if source is not None and not isinstance(event, ev.Unreadable):
            self.noted[source] = isinstance(event, _NOTES) and self.noted.get(source, True)
        if isinstance(event, ev.UnknownRecord) and source is not None:
            self.unknown.add(source)
        elif isinstance(event, ev.ToolReturned):
            self._returned(event)
        elif isinstance(event, ev.TokensUsed) and source is not None:
            usage = event.usage
            if usage.total is not None or usage.metadata or usage.doubtful:  # `{}` has no count that could be read
                self.used += 1
                self.uncounted += usage.total is None or any(getattr(usage, name) is None for name in usage.doubtful)
            if usage.total:
                self._counted.add(source)
        elif isinstance(event, _SAID) and source is not None:
            self._replies.add(source)
        if isinstance(event, ev.ToolCalled):
            self.calls += 1
            self._calls[event.call.id] = event

    def _returned(self, event: ev.ToolReturned) -> None:
        self.results += 1
        called = self._calls.get(event.result.call_id)
        if called is None or not called.call.operations:
            return
        if any(isinstance(one, op.CallMcpTool | op.CallFunction | op.Unrecognised) for one in called.call.operations):
            return
        name = qualified(called.call.native)
        counts = self.readings.tools.setdefault(name, [0, 0])
        counts[0] += 1
        silent = self.readings.silent.setdefault(name, [0, 0])
        silent[0] += 1
        silent[1] += event.result.native is not None and not _says_anything(event.result.native.content)
        if any(isinstance(one, TextOutcome | JsonOutcome | UnknownOutcome) for one in event.result.outcomes):
            counts[1] += 1
            self.as_text.setdefault(name, event)

    def finish(self) -> Counted:
        """The fields of its files, when all events were seen."""
        self.readings.replies = len(self._replies)
        self.readings.counted = len(self._counted)
        self.readings.empty = len(self._counted - self._replies)
        format, path = FORMATS[self.found.format], self.found.path
        files = {path, *(Path(source.file) for source in self.noted), *format.companions(path)}
        return counted_in(files, DIALECTS[format.dialect], path, format.text_records)

    def kinds(self, originals: Originals, sources: Iterable[ev.Source]) -> dict[str, list[ev.Source]]:
        """The kinds of these records."""
        found: dict[str, list[ev.Source]] = {}
        for source in sources:
            try:
                original = originals.of(source)
            except LogError:
                continue  # it has gone since, and its events are told
            for kind, _ in records_by_kind(original, source):
                found.setdefault(kind, []).append(source)
        return found


def _says_anything(content: Any) -> bool:
    """Whether there is a value in what a tool returned, in JSON or not."""
    if isinstance(content, str) and content[:1] in ("{", "["):
        given = decoded(content.encode("utf-8", "replace"))
        return _says_anything(given) if isinstance(given, dict | list) else True
    if isinstance(content, dict):
        return any(map(_says_anything, content.values()))
    if isinstance(content, list | tuple):
        return any(map(_says_anything, content))
    return content is not None and content != ""


def counted_in(
    files: Iterable[Path],
    dialect: Dialect | None,
    main: Path | None = None,
    text_records: TextRecords | None = None,
) -> Counted:
    """The fields of these files, as those of one log.

    A record in a file beside the `main` one that does not say of which kind it is has the place `<name of the file>:`.
    """

    def is_own(tool: str) -> bool:
        return dialect is not None and any(tool_named(dialect, tool))

    walk, counted = Walk(is_own), Counted(is_document=main is not None and is_document(main))
    for path in sorted(files):
        named = path.stem.rpartition(".")[2]
        is_beside = main is not None and named not in main.stem and _WORD.fullmatch(named) is not None
        for root, value, source in records_of(path, text_records):
            for place, fields in walk.objects(value, root, f"{named}:" if is_beside else "record"):
                counted.add(place, fields, source)
    return counted


def is_document(path: Path) -> bool:
    """Whether a log is one JSON value, by its name."""
    return ".json" in path.suffixes


def look_alikes(passed: Iterable[Path], *, alone: bool) -> list[Found]:
    """Of files in no known format those that are a client's logs all the same, or like them.

    A file is a client's if it lies where that client keeps its logs. One that was named `alone` is like the client that
    has most of its fields; among other files that would be a guess, as exports of sessions have the same names.
    """
    found = []
    for path in passed:
        if not os.path.isfile(path):
            continue  # a pipe, or a link that leads nowhere: `doctor` says what it is
        client = client_that_keeps(path)
        if client is None and alone and (like := looks_like(counted_in([path], None))) is not None:
            client = like[0]
        if client is not None:
            found.append(Found(path, client))
    return found


def client_that_keeps(path: Path) -> str | None:
    """The client in whose folder of logs a file lies, in whatever home folder that is."""
    whole = path.absolute()
    for above in whole.parents:
        for name, home in _homes_in(above):
            if whole.is_relative_to(home) and whole in _kept_in(name, home):
                return name
    return None


@lru_cache(maxsize=1024)
def _homes_in(folder: Path) -> list[tuple[str, Path]]:
    return [
        (name, home) for name, format in FORMATS.working() for home in format.homes(Places(folder)) if home.is_dir()
    ]


@lru_cache(maxsize=64)
def _kept_in(name: str, home: Path) -> set[Path]:
    return {path.absolute() for path in FORMATS[name].files(home)}
