"""No format reads something else by accident: the events of its samples are compared with a stored snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.sample_events import ALL, given, stored


@pytest.mark.parametrize("format", ALL)
def test_the_samples_are_read_as_in_the_snapshot(format: str, tmp_path: Path) -> None:
    assert given(format, tmp_path.resolve()) == stored(format)
