"""What holds of requests counted in a database: the tests of each database call these."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from dragoman.fleet import SharedLedger
from dragoman.logs.stores import Database

Connected = Callable[[], Database]


def lets_no_more_through_than_a_minute_has_room_for(connected: Connected) -> None:
    """Whoever asks: here four at once, each with a connection of its own."""
    ledgers = [SharedLedger(connected()) for _ in range(4)]
    found: list[str | float] = []

    def ask(ledger: SharedLedger) -> None:
        for _ in range(5):
            found.append(ledger.enter("openai", 7, None, 0))

    threads = [threading.Thread(target=ask, args=(ledger,)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(one, str) for one in found) == 7
    assert all(0 < one <= 60 for one in found if isinstance(one, float))
    assert isinstance(ledgers[0].enter("anthropic", 7, None, 0), str)  # another provider has room of its own


def counts_tokens_by_an_estimate_until_they_are_known(connected: Connected) -> None:
    ledger = SharedLedger(connected())
    first = ledger.enter("openai", None, 100, 60)
    assert isinstance(first, str)
    assert isinstance(ledger.enter("openai", None, 100, 60), float)
    ledger.used(first, 20)
    second = ledger.enter("openai", None, 100, 60)
    assert isinstance(second, str)
    ledger.used(second, 500)
    assert isinstance(ledger.enter("openai", None, 100, 1), float)


def has_room_again_after_a_minute(connected: Connected) -> None:
    database = connected()
    ledger = SharedLedger(database)
    assert isinstance(ledger.enter("openai", 1, 10, 500), str)  # it is larger than the limit, and alone
    assert ledger.enter("openai", 1, 10, 500) == pytest.approx(60, abs=5)
    database.execute("UPDATE dragoman_requests SET at = at - 61")
    assert isinstance(ledger.enter("openai", 1, 10, 500), str)
    assert database.execute("SELECT COUNT(*) FROM dragoman_requests") == [(1,)]


def waits_no_longer_than_a_minute_when_the_clock_is_put_back(connected: Connected) -> None:
    database = connected()
    ledger = SharedLedger(database)
    assert isinstance(ledger.enter("openai", 1, None, 0), str)
    database.execute("UPDATE dragoman_requests SET at = at + 3600")
    assert ledger.enter("openai", 1, None, 0) == pytest.approx(60, abs=5)
    database.execute("UPDATE dragoman_requests SET at = at - 61")
    assert isinstance(ledger.enter("openai", 1, None, 0), str)


LAWS = [
    lets_no_more_through_than_a_minute_has_room_for,
    counts_tokens_by_an_estimate_until_they_are_known,
    has_room_again_after_a_minute,
    waits_no_longer_than_a_minute_when_the_clock_is_put_back,
]
