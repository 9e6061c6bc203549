"""A long session that the page shows: read once, then read on as it grows.

Rule: the first screen does not wait for that. It is read a moment later, when nobody has asked for more before.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

from dragoman.errors import DragomanError
from dragoman.logs.export import LongTranscript

PAGE: Final = logging.getLogger("dragoman.page")
_SOON: Final = 1.0
"""Seconds after the first screen."""
_SHARE: Final = 20
"""How many times as long as it takes to read one anew, that changed otherwise than by growing, it is not."""


class _Closed(Exception):
    """The page ends, so the rest is not read."""


class LongSession:
    """One session. Whoever goes through its transcript holds `lock` meanwhile."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._transcript: LongTranscript | None = None
        self._state: list[object] = []
        """That of each file which it was read from."""
        self._next = 0.0
        self._timer: threading.Timer | None = None
        self._is_closed = False

    @property
    def is_read(self) -> bool:
        """Whether there is a transcript."""
        return self._transcript is not None

    def read(self, fresh: LongTranscript) -> LongTranscript:
        """The transcript, with what was added since; `fresh` is one of the same session that nothing was read of."""
        with self.lock:
            sources, state = fresh.sources, fresh.state()
            known = self._transcript
            if known is not None and (sources, state) == (known.sources, self._state):
                return known
            if known is not None and sources == known.sources and state[:-1] == self._state[:-1]:
                if known.read_on():
                    self._state = state
                    return known
            elif known is not None and time.monotonic() < self._next:
                return known
            began = time.monotonic()
            fresh.read(self._look)
            self._transcript, self._state = fresh, state
            self._next = time.monotonic() + _SHARE * (time.monotonic() - began)
            return fresh

    def read_soon(self, fresh: LongTranscript) -> None:
        """Reads it in the background, if nobody does before."""
        if self._timer is None:
            self._timer = threading.Timer(_SOON, self._read_quietly, (fresh,))
            self._timer.daemon = True
            self._timer.start()

    def _read_quietly(self, fresh: LongTranscript) -> None:
        try:
            self.read(fresh)
        except _Closed:
            pass
        except (DragomanError, OSError) as error:  # a request for it gets the same error
            PAGE.warning("cannot read a long session: %s", error)

    def _look(self) -> None:
        if self._is_closed:
            raise _Closed

    def close(self) -> None:
        """Ends reading."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
