"""Single values of the tables: how long a call took, and JSON that is cut."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.logs.history import tables
from dragoman.model import CommandOutcome, NativeResult, Outcome, Result, Source, TextOutcome, ToolReturned


@pytest.mark.parametrize(
    "outcomes, told, expected",
    [
        ((CommandOutcome(0, duration_ms=1500),), None, 1.5),
        ((CommandOutcome(0, duration_ms=500), CommandOutcome(0, duration_ms=250)), None, 0.75),
        ((CommandOutcome(0), TextOutcome("x")), None, None),
        ((CommandOutcome(0, duration_ms=1500),), 2.0, 2.0),
    ],
)
def test_how_long_a_call_took(outcomes: tuple[Outcome, ...], told: float | None, expected: float | None) -> None:
    result = Result("c", outcomes, duration=told, native=NativeResult("c", ""))
    event = ToolReturned(id="1", client="x", result=result, source=Source("f", 0, 1))
    assert tables.logged_duration(event) == expected


def _nested(value: Any, levels: int, *, as_list: bool) -> Any:
    for _ in range(levels):
        value = [value] if as_list else {"a": value}
    return value


@pytest.mark.parametrize("as_list", [True, False])
def test_json_that_is_cut_has_at_most_fifty_levels(as_list: bool) -> None:
    assert tables._shortened(_nested("x" * 9, 50, as_list=as_list), 5) == _nested("xxxx…", 50, as_list=as_list)
    assert tables._shortened(_nested("x", 51, as_list=as_list), 5) == _nested(None, 50, as_list=as_list)
