"""No wording of a result changes by accident: what is written and read is compared with a stored snapshot."""

from __future__ import annotations

import re

import pytest

from dragoman.dialects import DIALECTS
from dragoman.model import NativeCall, NativeResult
from tests.dialects.result_samples import FROZEN, snapshot, stored


@pytest.mark.parametrize("name", FROZEN)
def test_results_are_written_and_read_as_in_the_snapshot(name: str) -> None:
    assert snapshot(name) == stored(name)


@pytest.mark.parametrize("name", FROZEN)
def test_a_number_of_any_length_in_a_result_is_read_or_stays_text(name: str) -> None:
    """Python raises `ValueError` for a number of more than 4,300 digits."""
    dialect = DIALECTS[name]
    for row in stored(name):
        if isinstance(row.get("written"), str) and re.search(r"\d", row["written"]):
            call = dialect.read_call(NativeCall("1", row["tool"], row["arguments"]))
            for digits in ("9" * 5000, "\u0663" * 5000):
                text = re.sub(r"\d+", digits, row["written"])
                assert dialect.read_result(call, NativeResult("1", text)).outcomes, text
