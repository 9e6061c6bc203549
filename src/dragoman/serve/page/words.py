"""The full text behind the search of the page.

Rule: a search waits for logs that changed, but not for long: a thread reads them on, and what was read until then is
searched. So a first search over very many logs answers at once, and says how many are left to read.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from dragoman.errors import DragomanError
from dragoman.logs import Found
from dragoman.logs.full_text import FullText, Hit, Wanted

_PATIENCE: Final = 1.0
"""Seconds that a search waits for the logs that changed."""


class Searched(msgspec.Struct):
    """What a search found."""

    hits: list[Hit] = []
    total: int = 0
    unread: int | None = 0
    """Logs that are still to be read; `None` while they are being counted."""
    problem: str | None = None
    """Why logs could not be read."""


class _Closed(Exception):
    """The page ends, so the rest of the logs is not read."""


class Words:
    """The full text of the logs that `files` finds, and about how many these are. Methods may be called from any thread.

    There may be very many, so they may be found while they are read.
    """

    def __init__(self, files: Callable[[], tuple[Iterable[Found], int]], *, in_memory: bool) -> None:
        self._files = files
        self._text = FullText(in_memory=in_memory)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_stale, self._is_closed = True, False
        self._unread: int | None = None
        self._problem: str | None = None

    def changed(self) -> None:
        """Logs have changed: the next search looks at them."""
        self._is_stale = True

    def close(self) -> None:
        """Stops reading."""
        self._is_closed = True
        if self._thread is not None:
            self._thread.join()
        self._text.close()

    def search(self, wanted: Wanted, *, limit: int, offset: int) -> Searched:
        """Places that hold what is sought, best first."""
        with self._lock:
            if self._text.is_in_memory:
                if self._is_stale:
                    self._is_stale = False
                    self._text.update(self._files()[0])
                self._unread = 0
            elif self._is_stale and not self._is_reading():
                self._is_stale = False
                self._unread, self._problem = None, None
                self._thread = threading.Thread(target=self._read, name="dragoman-words", daemon=True)
                self._thread.start()
        if self._thread is not None:
            self._thread.join(_PATIENCE)
        with self._lock:
            hits, total = self._text.search(wanted, limit=limit, offset=offset)
        return Searched(hits, total, self._unread, self._problem)

    def _is_reading(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _read(self) -> None:
        """Reads what changed, by a connection of its own: what is searched meanwhile waits for nothing."""
        try:
            files, self._unread = self._files()
            text = FullText()
            try:
                text.update(files, self._count)
            finally:
                text.close()
            self._unread = 0
        except _Closed:
            pass
        except (DragomanError, OSError, sqlite3.Error) as error:
            self._problem = str(error)
            self._is_stale = True

    def _count(self, files: int) -> None:
        if self._is_closed:
            raise _Closed
        self._unread = max(1, (self._unread or 0) - files)
