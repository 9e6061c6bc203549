"""How often a provider may be asked: so many requests, and so many tokens, in any minute.

Rule: a request is counted before it is sent, with an estimate of its tokens, and what it really used is written down
when its reply has come. Whoever finds a minute full waits; nothing is refused.
"""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from dragoman.errors import EngineError

MINUTE: Final = 60.0
_BYTES_OF_A_TOKEN: Final = 4
_SHORTEST_WAIT: Final = 0.05


class Rates(msgspec.Struct, frozen=True):
    """What one provider may be asked in a minute; `None`: without a limit."""

    requests: int | None = None
    tokens: int | None = None


class Ledger(Protocol):
    """Where requests are counted: in this process, or for all who use one database."""

    def enter(self, provider: str, requests: int | None, tokens: int | None, expected: int) -> str | float:
        """Counts a request with its `expected` tokens and gives its id; or the seconds until there is room for it.

        A request that is larger than `tokens` alone has room when it would be the only one.
        """

    def used(self, id: str, tokens: int) -> None:
        """Says what a request really used."""


class MemoryLedger:
    """Counts the requests of this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._entries: dict[str, list[tuple[float, str, int]]] = {}

    def enter(self, provider: str, requests: int | None, tokens: int | None, expected: int) -> str | float:
        """See `Ledger.enter`."""
        with self._lock:
            now = self._clock()
            known = [one for one in self._entries.get(provider, ()) if one[0] > now - MINUTE]
            self._entries[provider] = known
            wait = seconds_until_room([(at, used) for at, _, used in known], now, requests, tokens, expected)
            if wait > 0:
                return wait
            id = uuid.uuid4().hex
            known.append((now, id, expected))
            return id

    def used(self, id: str, tokens: int) -> None:
        """See `Ledger.used`."""
        with self._lock:
            for known in self._entries.values():
                known[:] = [(at, one, tokens if one == id else used) for at, one, used in known]


def seconds_until_room(
    entries: list[tuple[float, int]], now: float, requests: int | None, tokens: int | None, expected: int
) -> float:
    """How long until a request fits among those of the last minute, given as (time, tokens), the oldest first."""
    count, sum_of_tokens, wait = len(entries), sum(used for _, used in entries), 0.0
    for at, used in entries:
        full = (requests is not None and count >= requests) or (
            tokens is not None and sum_of_tokens + expected > tokens
        )
        if not full:
            break
        count, sum_of_tokens, wait = count - 1, sum_of_tokens - used, at + MINUTE - now
    return wait


IN_THIS_PROCESS: Final = MemoryLedger()


class ProviderPace:
    """Keeps one provider's requests within its rates."""

    def __init__(self, provider: str, rates: Rates, ledger: Ledger | None = None) -> None:
        self._provider, self._rates = provider, rates
        self._ledger: Ledger = IN_THIS_PROCESS if ledger is None else ledger

    async def turn(self, body: bytes, notice: Callable[[EngineError, float], None] | None) -> str:
        """See `Pace.turn`."""
        rates, told = self._rates, False
        expected = len(body) // _BYTES_OF_A_TOKEN
        while True:
            found = await asyncio.to_thread(self._ledger.enter, self._provider, rates.requests, rates.tokens, expected)
            if isinstance(found, str):
                return found
            if notice is not None and not told:
                told = True
                limits = (("requests", rates.requests), ("tokens", rates.tokens))
                words = " and ".join(f"{number:,} {name}" for name, number in limits if number is not None)
                notice(EngineError(f"the limit of {words} in a minute for {self._provider} is reached"), found)
            await asyncio.sleep(max(found, _SHORTEST_WAIT))

    async def used(self, id: str, tokens: int | None) -> None:
        """See `Pace.used`."""
        if tokens is not None and self._rates.tokens is not None:
            await asyncio.to_thread(self._ledger.used, id, tokens)
