"""Amounts and lengths of time as people read them, at the edges where the unit changes."""

from __future__ import annotations

import pytest

from dragoman.logs.export.transcript import dollars, duration


@pytest.mark.parametrize(
    "seconds, text",
    [
        (0, "0 ms"),
        (0.04, "40 ms"),
        (0.994, "994 ms"),
        (0.995, "1.0 s"),
        (9.94, "9.9 s"),
        (9.95, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (3599.4, "59 min 59 s"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
        (172_740, "47 h 59 min"),
        (172_800, "2 d 0 h"),
        (270_000, "3 d 3 h"),
    ],
)
def test_a_length_of_time_is_told_in_the_unit_that_fits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    "cost, text", [(0, "$0.00"), (0.0042, "$0.0042"), (0.99994, "$0.9999"), (1, "$1.00"), (1234.5, "$1,234.50")]
)
def test_an_amount_of_money_has_as_many_digits_as_it_needs(cost: float, text: str) -> None:
    assert dollars(cost) == text
