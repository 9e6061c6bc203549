"""Blocks of five hours: every exchange is in one, and they do not overlap."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given, strategies

from dragoman.logs.blocks import BLOCK, block_starts, running

NOON = datetime.datetime(2026, 3, 4, 12, tzinfo=datetime.UTC)
times = strategies.lists(
    strategies.integers(0, 60 * 24 * 30).map(lambda minutes: NOON + datetime.timedelta(minutes=minutes)), max_size=60
)


@given(times)
def test_every_exchange_is_in_exactly_one_block_and_no_block_is_empty(moments: list[datetime.datetime]) -> None:
    starts = block_starts(moments)
    holders = [[start for start in starts if start <= moment < start + BLOCK] for moment in moments]
    assert all(len(found) == 1 for found in holders)
    assert {start for found in holders for start in found} == set(starts)
    assert starts == sorted(starts)
    assert all((start.minute, start.second, start.microsecond) == (0, 0, 0) for start in starts)


@given(times, strategies.randoms())
def test_the_order_of_exchanges_does_not_matter(moments: list[datetime.datetime], chance: object) -> None:
    shuffled = list(moments)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert block_starts(shuffled) == block_starts(moments)


def test_a_block_begins_with_the_full_hour_of_the_first_exchange_after_the_last_block() -> None:
    at = [NOON + datetime.timedelta(hours=hours) for hours in (0.5, 4.9, 5.0, 5.75, 30)]
    assert block_starts(at) == [NOON, NOON + datetime.timedelta(hours=5), NOON + datetime.timedelta(hours=30)]


def test_a_running_block_says_what_is_left_and_what_it_will_hold() -> None:
    now = running(NOON, 6_000, 3.0, NOON + datetime.timedelta(hours=1))
    assert now is not None
    assert (now.ends, now.minutes_left, now.tokens_a_minute) == (NOON + BLOCK, 240, 100.0)
    assert (now.projected_tokens, now.projected_cost) == (30_000, pytest.approx(15.0))
    unknown = running(NOON, 6_000, None, NOON + datetime.timedelta(hours=1))
    assert unknown is not None
    assert unknown.projected_cost is None
    assert running(NOON, 6_000, 3.0, NOON + BLOCK) is None
