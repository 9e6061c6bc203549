"""Following logs as they are written: what is new since one looked last, and nothing twice.

Of a log in lines only the new bytes are read. One that is written anew as a whole (a document, a database) is read
again when it changed, and the events that were there before are passed over. A file that was replaced begins anew; one
that appears later is found. Nothing is read that did not change, so looking costs next to nothing.
"""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from dragoman.model import AnyEvent
from dragoman.registry import FORMATS

from .discover import Found
from .format import LinesReader, LogFormat, is_of_lines
from .reading import read
from .sessions import Counter, numbered

_PIECE = 1 << 20
State = tuple[tuple[int, int, int, int], ...]
"""Of each file a log consists of: device, inode, size, time of the last change."""


class Watch:
    """Follows logs; `find` says which there are, and is asked again and again.

    What stands in a log when the following begins is not told, unless `from_start`; a log that appears later is told
    from its beginning.
    """

    def __init__(self, find: Callable[[], Iterable[Found]], *, from_start: bool = False) -> None:
        self._find = find
        self._began = datetime.datetime.now(datetime.UTC)
        self._files = {found.path: _File(found, self._began, is_new=from_start) for found in find()}

    def look(self, *, for_files: bool = True) -> Iterator[AnyEvent]:
        """The events since the last look, file by file; without `for_files` no new ones are searched for."""
        for found in self._find() if for_files else ():
            if found.path not in self._files:
                self._files[found.path] = _File(found, self._began, is_new=True)
        for file in list(self._files.values()):
            try:
                yield from file.news()
            except OSError:
                continue  # it went away, or cannot be read at this moment: the next look will tell

    def events(self, *, every: float = 0.5, files_every: float = 2.0) -> Iterator[AnyEvent]:
        """Events as they come, without end: files are looked at `every` so many seconds."""
        searched = 0.0
        while True:
            search = time.monotonic() - searched >= files_every
            if search:
                searched = time.monotonic()
            yield from self.look(for_files=search)
            time.sleep(every)


class _File:
    """One log that is followed."""

    def __init__(self, found: Found, began: datetime.datetime, *, is_new: bool) -> None:
        self._found, self._began, self._is_new = found, began, is_new
        self._format: LogFormat = FORMATS[found.format]
        self._seen: State = () if is_new else self._state()
        self._reader: LinesReader | None = None
        self._counters: dict[tuple[str, str], Counter] = {}
        self._offset = 0
        self._told: set[str] = set()

    def _state(self) -> State:
        found = []
        for path in (self._found.path, *self._format.beside(self._found.path)):
            try:
                facts = os.stat(path)
            except OSError:
                continue
            found.append((facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns))
        return tuple(found)

    def news(self) -> Iterator[AnyEvent]:
        """The events since the last time."""
        state = self._state()
        if not state or state == self._seen:
            return
        before, self._seen = self._seen, state
        fresh = self._format.reader(self._found.path)
        if isinstance(fresh, LinesReader) and is_of_lines(fresh):
            yield from self._new_lines(fresh, before)
        else:
            yield from self._new_events()

    def _new_lines(self, fresh: LinesReader, before: State) -> Iterator[AnyEvent]:
        with self._found.path.open("rb") as file:
            facts = os.fstat(file.fileno())
            same = bool(before) and before[0][:2] == (facts.st_dev, facts.st_ino)
            if self._reader is None or not same or facts.st_size < self._offset:
                known = before[0][2] if self._reader is None and same and not self._is_new else 0
                self._reader, self._offset, self._counters = fresh, 0, {}
                for _ in self._read(file, min(known, facts.st_size)):
                    pass  # what was there before: read, to know the calls that are answered now
            file.seek(self._offset)
            yield from self._read(file, None)

    def _read(self, file: BinaryIO, length: int | None) -> Iterator[AnyEvent]:
        assert self._reader is not None
        left = length
        while data := file.read(_PIECE if left is None else min(left, _PIECE)):
            self._offset += len(data)
            left = None if left is None else left - len(data)
            yield from numbered(self._reader.feed(data), self._counters)

    def _new_events(self) -> Iterator[AnyEvent]:
        for event in numbered(read(self._found.path, self._found.format)):
            if event.id in self._told:
                continue
            self._told.add(event.id)
            if self._is_new or (event.time is not None and event.time >= self._began):
                yield event
