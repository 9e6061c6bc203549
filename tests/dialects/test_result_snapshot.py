"""No wording of a result changes by accident: what is written and read is compared with a stored snapshot."""

from __future__ import annotations

import pytest

from tests.dialects.result_samples import FROZEN, snapshot, stored


@pytest.mark.parametrize("name", FROZEN)
def test_results_are_written_and_read_as_in_the_snapshot(name: str) -> None:
    assert snapshot(name) == stored(name)
