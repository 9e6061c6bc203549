"""Of random changes in real sessions nearly all are told by name, with a seed that nobody looked at before.

What is not told is a field that some sessions of its version do without.
"""

from __future__ import annotations

from pathlib import Path

from tests.conformance.random_changes import random_changes

SEED = 20261118
NUMBER = 200
UNTOLD = 6
"""Two were not told when this was written, three to seven of 200 with other seeds."""


def test_random_changes_of_one_field_are_told(tmp_path: Path) -> None:
    every = list(random_changes(SEED, NUMBER))
    assert len({(one.session, one.kind, one.field) for one in every}) > NUMBER / 2
    untold = [one for number, one in enumerate(every) if not one.is_told(tmp_path / str(number))]
    assert len(untold) <= UNTOLD, untold
