"""Which lines a change of whole lines keeps."""

from __future__ import annotations

from collections.abc import Sequence

Pairs = tuple[tuple[int, int], ...]
"""Lines that stay: the number of each among the old and among the new lines, from 0."""


def kept_lines(old: Sequence[str], new: Sequence[str]) -> Pairs:
    """The lines that stay, as far as the texts tell: equal lines at both ends, then each new line in between with the
    first equal old line after the one before."""
    shorter = min(len(old), len(new))
    before = 0
    while before < shorter and old[before] == new[before]:
        before += 1
    after = 0
    while after < shorter - before and old[-1 - after] == new[-1 - after]:
        after += 1
    pairs = [(index, index) for index in range(before)]
    at = before
    for index in range(before, len(new) - after):
        try:
            found = old.index(new[index], at, len(old) - after)
        except ValueError:
            continue
        pairs.append((found, index))
        at = found + 1
    pairs += [(len(old) - count, len(new) - count) for count in range(after, 0, -1)]
    return tuple(pairs)
