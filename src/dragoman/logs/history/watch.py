"""Following logs as they are written: what is new since one looked last, and nothing twice.

Of a log in lines only the new bytes are read. One that is written anew as a whole (a document, a database) is read
again when it changed, and the events that were there before are passed over. A file that was replaced begins anew; one
that appears later is found. Where the system tells what changes (`notices`), nothing else is looked at, and everything
only now and then; elsewhere all files are asked each time whether they changed.
"""

from __future__ import annotations

import datetime
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from dragoman.errors import LogError
from dragoman.logs.base.compressed import is_compressed
from dragoman.logs.base.format import LinesReader, LogFormat, is_of_lines
from dragoman.model import AnyEvent
from dragoman.registry import FORMATS

from .discover import Found, read_log
from .notices import Notices
from .sessions import Counter, key_of, numbered

_PIECE = 1 << 20
_TAIL = 1_024
_SELDOM = 10.0
"""Seconds between two searches for new files, at most; and between two looks at everything, at least."""
_SHARE = 1_000
"""How many times as long as such a look takes there is none after it, where changes are told."""
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

    @property
    def readers(self) -> int:
        """How many of its logs have news that were read: of each what was read is held."""
        return sum(file.is_held for file in self._files.values())

    def __len__(self) -> int:
        return len(self._files)

    def follow_only(self, paths: Iterable[Path]) -> None:
        """Stops following all others. If one of them is found again, it is read from its beginning."""
        kept = set(paths)
        self._files = {path: file for path, file in self._files.items() if path in kept}

    def look(self, *, for_files: bool = True) -> Iterator[AnyEvent]:
        """The events since the last look, file by file; without `for_files` no new ones are searched for."""
        if for_files:
            self._search()
        for file in list(self._files.values()):
            yield from self._news(file)

    def grown(self, *, for_files: bool = True) -> Iterator[tuple[Found, set[str]]]:
        """Each log with events since the last look, and the sessions that these are of."""
        if for_files:
            self._search()
        for file in list(self._files.values()):
            if sessions := {key_of(event)[0] for event in self._news(file)}:
                found = file.found
                # What the system said of it when it was found is no longer so.
                yield Found(found.path, found.format, found.home, found.sessions), sessions

    def _news(self, file: _File) -> Iterator[AnyEvent]:
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

        New ones are searched for every `files_every` seconds; where there are very many, less often. Where the system
        tells of changes, a file is looked at after one, and new ones are searched for then.
        """
        notices = Notices.opened()
        if notices is not None:
            with closing(notices):
                yield from self._noticed(notices, every, files_every)
        yield from self._polled(every, files_every)

    def _noticed(self, notices: Notices, every: float, files_every: float) -> Iterator[AnyEvent]:
        """Events as they come, until the system tells of no more folders."""
        next_search = next_look = 0.0
        search = False
        while True:
            began = time.monotonic()
            if began >= next_look:
                self._search()
                near = self._near()
                if not notices.listen(near):
                    return
                yield from self.look(for_files=False)
                next_look = time.monotonic() + max(_SELDOM, _SHARE * (time.monotonic() - began))
                next_search, search = time.monotonic() + files_every, False
            elif search and began >= next_search:
                before = set(self._files)
                self._search()
                near = self._near()
                if not notices.listen(near):
                    return
                for path in self._files.keys() - before:
                    yield from self._news(self._files[path])
                cost = time.monotonic() - began
                next_search, search = time.monotonic() + max(files_every, min(_SELDOM, 50 * cost)), False
            until = next_search if search else next_look
            told = notices.wait(until - time.monotonic())
            if told is None:
                next_look = 0.0
                continue
            changed, is_new = told
            search = search or is_new
            for file in {id(one): one for place in changed for one in _meant(near, *place)}.values():
                yield from self._news(file)
            if changed:
                time.sleep(every)

    def _near(self) -> dict[str, dict[str, list[_File]]]:
        """Folder → name of a file in it → the logs that it is read for; folders above hold none themselves."""
        near: dict[str, dict[str, list[_File]]] = {}
        for file in self._files.values():
            for path in file.paths():
                folder, _, name = str(path).rpartition(os.sep)
                near.setdefault(folder, {}).setdefault(name, []).append(file)
            for above in file.folders():
                near.setdefault(above, {})
        return near

    def _polled(self, every: float, files_every: float) -> Iterator[AnyEvent]:
        next_search = 0.0
        while True:
            began = time.monotonic()
            search = began >= next_search
            if search:
                self._search()
                next_search = began + max(files_every, min(_SELDOM, 50 * (time.monotonic() - began)))
            yield from self.look(for_files=False)
            time.sleep(every)


def _meant(near: dict[str, dict[str, list[_File]]], folder: str, name: str) -> Iterable[_File]:
    """The logs that a change in a folder may be of: those the file is read for, else all that have files there."""
    there = near.get(folder, {})
    return there[name] if name in there else {id(one): one for each in there.values() for one in each}.values()


class _File:
    """One log that is followed."""

    def __init__(self, found: Found, began: _Beginning, *, is_new: bool) -> None:
        self.found, self._began, self._is_new = found, began, is_new
        self._format: LogFormat = FORMATS[found.format]
        self._seen: State = () if is_new else self._state()
        self._before = self._seen
        self._reader: LinesReader | None = None
        self._counters: dict[tuple[str, str], Counter] = {}
        self._offset = 0
        self._tail = b""
        self._told: set[str] = set()

    @property
    def is_held(self) -> bool:
        """Whether something of it is in memory: what its reader knows, or the ids of its events."""
        return self._reader is not None or bool(self._told)

    def paths(self) -> Iterator[Path]:
        """The files that it is read from."""
        yield self.found.path
        yield from self._format.companions(self.found.path)

    def folders(self) -> Iterator[str]:
        """The folders above it, as far as logs are searched for."""
        home = self.found.home
        if home is not None and home in self.found.path.parents:
            for folder in self.found.path.parents:
                yield str(folder)
                if folder == home:
                    return

    def _state(self) -> State:
        found = []
        for path in self.paths():
            try:
                facts = os.stat(path)
            except OSError:
                continue
            if not stat.S_ISREG(facts.st_mode):  # to open a pipe waits for whoever writes to it
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
        fresh = self._format.reader(self.found.path)
        if isinstance(fresh, LinesReader) and is_of_lines(fresh) and not is_compressed(self.found.path):
            events = self._new_lines(fresh, before)
        else:
            events = self._new_events()
        meant = self.found.sessions
        for event in events:
            if meant is None or key_of(event)[0] in meant:
                yield event

    def _new_lines(self, fresh: LinesReader, before: State) -> Iterator[AnyEvent]:
        with self.found.path.open("rb") as file:
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
        for event in numbered(read_log(self.found)):
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
