"""Places to work at: so many at once, given to whoever waits, the most urgent first."""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from itertools import count


class PrioritySemaphore:
    """A semaphore with priorities; a smaller number is more urgent, and equals go in the order they came."""

    def __init__(self, number: int) -> None:
        self.free = number
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = count()

    async def take(self, priority: int = 0) -> None:
        """Waits for a place. Cancelled while waiting, it holds none."""
        if self.free > 0 and not self._waiting:
            self.free -= 1
            return
        granted = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (priority, next(self._order), granted))
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self.give()  # it was given and taken away in the same moment
            raise

    def give(self) -> None:
        """Gives a place back; the most urgent of those who wait has it then."""
        self.free += 1
        while self.free > 0 and self._waiting:
            granted = heappop(self._waiting)[2]
            if not granted.done():
                self.free -= 1
                granted.set_result(None)
