"""Which sessions grow while the page is open.

Rules: the logs that were written to last are followed, `FOLLOWED` of them at most: of those of the hour before the page
was opened the newest, and whatever is written to from then on. A reader is held only of one that has grown. All logs
are checked now and then, less often the longer that takes; what changed among them is indexed before the pages are
updated, and is followed from then on. Where an index is stored, a connection of its own does that, so that no
question waits for it.
"""

from __future__ import annotations

import heapq
import time
from typing import Final

from dragoman.logs import Found
from dragoman.logs.history import Watch

from .library import Library

_LATELY: Final = 3600.0
"""Seconds before the page was opened: a log that was written to since then is followed."""
_GRAIN: Final = 2.0
"""Seconds that the time of a file may be behind the clock: the grain of FAT."""
FOLLOWED: Final = 200
"""Logs that are followed at once: to ask after one costs 10 microseconds each time, and thousands may be restored."""
_SOONEST, _LATEST = 2.0, 60.0
"""Seconds between two looks at all logs."""
_SHARE: Final = 50
"""How many times as long as such a look takes there is none after it."""
UNNAMED: Final = ""
"""Stands for sessions that changed, and that nobody knows by name yet."""


class Growing:
    """What is new in the sessions of a library. One thread asks it."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._own = library.query.twin()
        self._followed: dict[str, Found] = {}
        self._since = time.time() - _LATELY
        """Logs that were written to since then, and are not followed, have grown unseen."""
        self._watch: Watch | None = None
        # What is in the index was read just before the page began; without one, what is there now must be known.
        self._next = 0.0 if self._own is None else time.monotonic() + _SOONEST

    def close(self) -> None:
        """Closes the connection of its own."""
        if self._own is not None:
            self._own.close()

    def look(self) -> set[str]:
        """The sessions that grew since the last look."""
        grown: set[str] = set()
        changed: list[Found] = []
        if self._watch is not None:
            for found, sessions in self._watch.grown(for_files=False):
                changed.append(found)
                grown |= sessions
        if changed:
            self._read(changed)
        began = time.monotonic()
        if began >= self._next:
            grown |= self._look_at_all()
            took = time.monotonic() - began
            self._next = began + max(_SOONEST, min(_LATEST, _SHARE * took))
        return grown

    def _read(self, changed: list[Found]) -> None:
        if self._own is None:
            self._library.changed()
            return
        self._own.read_again(changed)
        self._tell()

    def _tell(self) -> None:
        assert self._own is not None
        if self._own.settled() is None:  # the index has other files too: only a look at all of them tells these apart
            self._library.changed()
        else:
            self._library.renewed()

    def _look_at_all(self) -> set[str]:
        now = time.time()
        if self._own is None:
            # At first they are only found: what is written before they are followed has no name when it is told.
            is_read = self._watch is not None
            is_changed, noted = self._library.look(FOLLOWED, self._since, is_read=is_read)
        else:
            found = self._own.noting(FOLLOWED, self._since)
            counts = self._own.refresh(found=found)
            is_changed, noted = bool(counts.read_on or counts.read_anew or counts.removed), found.noted
        self._since = now - _GRAIN
        grown = self._follow(noted)
        if is_changed:
            if self._own is not None:
                self._tell()
            grown.add(UNNAMED)
        return grown

    def _follow(self, noted: list[Found]) -> set[str]:
        """Follows these too; what was written since the last look at all is news."""
        self._followed |= {found.name: found for found in noted}
        last = heapq.nlargest(FOLLOWED, self._followed.values(), key=_written)
        self._followed = {found.name: found for found in last}
        if self._watch is None:
            self._watch = Watch(lambda: list(self._followed.values()))
            return set()
        self._watch.follow_only(found.path for found in last)
        grown: set[str] = set()
        changed = []
        for found, sessions in self._watch.grown():
            changed.append(found)
            grown |= sessions
        if changed:
            self._read(changed)
        return grown


def _written(found: Found) -> int:
    assert found.status is not None  # it was noted with it
    return found.status.st_mtime_ns
