"""What the writers of sessions share."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice

from dragoman.logs.base.writing import moments


def test_records_are_a_millisecond_apart() -> None:
    first = datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert [*islice(moments(first), 3)] == [f"2026-01-01T10:00:00.00{number}Z" for number in range(3)]
