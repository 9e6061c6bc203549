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

from dragoman.errors import LogError
from dragoman.logs.base.compressed import is_compressed
from dragoman.logs.base.format import LinesReader, LogFormat, is_of_lines
from dragoman.model import AnyEvent
from dragoman.registry import FORMATS

from .discover import Found, read_log
from .sessions import Counter, key_of, numbered

_PIECE = 1 << 20
_TAIL = 1_024
_SELDOM = 10.0
"""Seconds between two searches for new files, at most."""
State = tuple[tuple[int, int, int, int], ...]
"""Of each file a log consists of: device, inode, size, time of the last change."""


class Watch:
    """Follows logs; `find` says which there are, and is asked again and again.

    What stands in a log when the following begins is not told, unless `from_start`; a log that appears later is told
    from its beginning.
    """

    def __init__(self, find: Callable[[], Iterable[Found]], *, from_start: bool = False) -> None:
        self._find = find
        self._began = _Beginning()
        self._files = {found.path: _File(found, self._began, is_new=from_start) for found in find()}

    def look(self, *, for_files: bool = True) -> Iterator[AnyEvent]:
        """The events since the last look, file by file; without `for_files` no new ones are searched for."""
        if for_files:
            self._search()
        for file in list(self._files.values()):
            try:
                yield from file.news()
            except (OSError, LogError):
                file.look_again()  # it went away, or cannot be read at this moment: the next look will tell

    def _search(self) -> None:
        for found in self._find():
            if found.path not in self._files:
                self._files[found.path] = _File(found, self._began, is_new=True)

    def events(self, *, every: float = 0.5, files_every: float = 2.0) -> Iterator[AnyEvent]:
        """Events as they come, without end: files are looked at `every` so many seconds.

        New ones are searched for every `files_every` seconds; where there are very many, less often.
        """
        next_search = 0.0
        while True:
            began = time.monotonic()
            search = began >= next_search
            if search:
                self._search()
                next_search = began + max(files_every, min(_SELDOM, 50 * (time.monotonic() - began)))
            yield from self.look(for_files=False)
            time.sleep(every)


class _File:
    """One log that is followed."""

    def __init__(self, found: Found, began: _Beginning, *, is_new: bool) -> None:
        self._found, self._began, self._is_new = found, began, is_new
        self._format: LogFormat = FORMATS[found.format]
        self._seen: State = () if is_new else self._state()
        self._before = self._seen
        self._reader: LinesReader | None = None
        self._counters: dict[tuple[str, str], Counter] = {}
        self._offset = 0
        self._tail = b""
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

    def look_again(self) -> None:
        """What could not be read has not been seen: it is read when it is back, although it did not change."""
        self._seen = self._before

    def news(self) -> Iterator[AnyEvent]:
        """The events since the last time."""
        state = self._state()
        if not state or state == self._seen:
            return
        before = self._before = self._seen
        self._seen = state
        fresh = self._format.reader(self._found.path)
        if isinstance(fresh, LinesReader) and is_of_lines(fresh) and not is_compressed(self._found.path):
            events = self._new_lines(fresh, before)
        else:
            events = self._new_events()
        meant = self._found.sessions
        for event in events:
            if meant is None or key_of(event)[0] in meant:
                yield event

    def _new_lines(self, fresh: LinesReader, before: State) -> Iterator[AnyEvent]:
        with self._found.path.open("rb") as file:
            facts = os.fstat(file.fileno())
            same = bool(before) and before[0][:2] == (facts.st_dev, facts.st_ino)
            if self._reader is None or not same or facts.st_size < self._offset or not self._goes_on(file):
                known = before[0][2] if self._reader is None and same and not self._is_new else 0
                self._reader, self._offset, self._counters, self._tail = fresh, 0, {}, b""
                file.seek(0)
                for _ in self._read(file, min(known, facts.st_size)):
                    pass  # what was there before: read, to know the calls that are answered now
            file.seek(self._offset)
            yield from self._read(file, None)

    def _goes_on(self, file: BinaryIO) -> bool:
        """Whether a file still ends, where reading stopped, with the bytes it ended with: else it was written anew."""
        file.seek(self._offset - len(self._tail))
        return file.read(len(self._tail)) == self._tail

    def _read(self, file: BinaryIO, length: int | None) -> Iterator[AnyEvent]:
        assert self._reader is not None
        left = length
        while data := file.read(_PIECE if left is None else min(left, _PIECE)):
            self._offset += len(data)
            self._tail = (self._tail + data)[-_TAIL:]
            left = None if left is None else left - len(data)
            yield from numbered(self._reader.feed(data), self._counters)

    def _new_events(self) -> Iterator[AnyEvent]:
        for event in numbered(read_log(self._found)):
            if event.id in self._told:
                continue
            self._told.add(event.id)
            if self._is_new or (event.time is not None and event.time >= self._began.on_the_clock()):
                yield event


class _Beginning:
    """When the following began, on a clock that may be set back meanwhile: then clients date what is new earlier."""

    def __init__(self) -> None:
        self._time, self._count = datetime.datetime.now(datetime.UTC), time.monotonic()

    def on_the_clock(self) -> datetime.datetime:
        """The moment as the clock has it now. One that was set forward changes nothing: new events are still later."""
        gone_by = datetime.timedelta(seconds=time.monotonic() - self._count)
        return min(self._time, datetime.datetime.now(datetime.UTC) - gone_by)
