"""Which sessions grow while the page is open.

Rules: logs that were written to within the last hour are followed. All are looked at now and then, the more seldom the
longer that takes; what changed among them is in the index before anybody is told. Where an index is stored, a
connection of its own does that, so that no question waits for it.
"""

from __future__ import annotations

import time
from typing import Final

from dragoman.logs import Found
from dragoman.logs.history import Watch

from .library import Library

_LATELY: Final = 3600.0
"""Seconds for which a log that was written to is followed."""
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
        self._lately: list[Found] = []
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
        if self._own is None:
            return self._follow(self._library.files())
        since = time.time() - _LATELY
        walk = self._own.walk().noting(lambda found: found.status is None or found.status.st_mtime >= since)
        counts = self._own.refresh(found=walk)
        self._lately = walk.noted
        grown = self._follow(self._lately)
        if counts.read_on or counts.read_anew or counts.removed:
            self._tell()
            grown.add(UNNAMED)
        return grown

    def _follow(self, files: list[Found]) -> set[str]:
        """Follows these too; what appeared since is news."""
        self._lately = files
        if self._watch is None:
            self._watch = Watch(lambda: self._lately)
            return set()
        grown: set[str] = set()
        changed = []
        for found, sessions in self._watch.grown():
            changed.append(found)
            grown |= sessions
        if changed:
            self._read(changed)
        return grown
