"""Requests in a minute: counted in this process and in SQLite; `tests/conformance` has the same for PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from dragoman.engine.models.pace import MINUTE, MemoryLedger
from dragoman.logs.stores import SqliteDatabase
from tests.examples import examples

from .rate_laws import LAWS, Connected


@pytest.mark.parametrize("law", LAWS)
def test_a_law_of_rates_holds_in_sqlite(law: Callable[[Connected], None], tmp_path: Path) -> None:
    law(lambda: SqliteDatabase(tmp_path / "queue.db"))


REQUESTS = st.lists(st.tuples(st.floats(0, 90), st.integers(0, 300)), max_size=40)


@examples(100)
@given(REQUESTS, st.integers(1, 5) | st.none(), st.integers(1, 500) | st.none())
def test_no_minute_ever_has_more_than_it_may(
    wanted: list[tuple[float, int]], requests: int | None, tokens: int | None
) -> None:
    now = 0.0
    ledger = MemoryLedger(lambda: now)
    sent: list[tuple[float, int]] = []
    for pause, size in wanted:
        now += pause
        while isinstance(found := ledger.enter("p", requests, tokens, size), float):
            assert found > 0
            now += found
        sent.append((now, size))
    for at, _ in sent:
        # A hair less than a minute: the last bit of a sum of seconds is not exact.
        within = [size for then, size in sent if at - MINUTE + 1e-6 < then <= at]
        assert requests is None or len(within) <= requests
        assert tokens is None or sum(within) <= tokens or len(within) == 1
