"""One call takes a short way: how many functions it enters, which no busy machine changes."""

from __future__ import annotations

from bench.straight import MOST, calls_of_one_read


def test_one_read_enters_few_functions() -> None:
    # A second walk over the path is 45 more, a second task 25.
    assert calls_of_one_read() <= MOST
