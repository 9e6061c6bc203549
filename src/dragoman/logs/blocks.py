"""Blocks of five hours: the windows in which subscriptions of coding agents are limited.

A block begins with the full hour of the first exchange after the block before it has ended, and lasts five hours.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Final

import msgspec

BLOCK: Final = datetime.timedelta(hours=5)


def block_starts(times: Iterable[datetime.datetime]) -> list[datetime.datetime]:
    """When blocks began, in order."""
    starts: list[datetime.datetime] = []
    for time in sorted(times):
        if not starts or time >= starts[-1] + BLOCK:
            starts.append(time.astimezone(datetime.UTC).replace(minute=0, second=0, microsecond=0))
    return starts


class Running(msgspec.Struct, frozen=True):
    """A block that has not ended yet: how much of it is left, and what it will hold if work goes on as until now."""

    ends: datetime.datetime
    minutes_left: int
    tokens_a_minute: float
    projected_tokens: int
    projected_cost: float | None
    """US dollars; `None` where the cost until now is not known."""


def running(
    began: datetime.datetime, tokens: int | None, cost: float | None, now: datetime.datetime | None = None
) -> Running | None:
    """What is known of a block that is running; `None` for one that has ended."""
    now = now or datetime.datetime.now(datetime.UTC)
    left = began + BLOCK - now
    gone = (now - began).total_seconds() / 60
    if not datetime.timedelta(0) < left <= BLOCK or gone <= 0:
        return None
    share = (tokens or 0) / gone
    minutes = left.total_seconds() / 60
    return Running(
        ends=began + BLOCK,
        minutes_left=int(minutes),
        tokens_a_minute=round(share, 1),
        projected_tokens=round((tokens or 0) + share * minutes),
        projected_cost=None if cost is None else cost + cost / gone * minutes,
    )
