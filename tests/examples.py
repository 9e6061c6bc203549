"""How many examples a law is tried with: all of them in `make fuzz`, fewer in `make test`, which has five minutes."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

FEWEST = 8


def examples(number: int, **further: Any) -> settings:
    """The settings of a law that takes `number` examples instead of the usual 100.

    The profile (tests/conftest.py) decides what part of them is tried, but never fewer than 8 of them.
    """
    return settings(max_examples=max(number * settings().max_examples // 100, min(number, FEWEST)), **further)
