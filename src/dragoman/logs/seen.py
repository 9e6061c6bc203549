"""Which of very many things were seen before: numbers alone are held, in sixteen bytes at most for each."""

from __future__ import annotations

from array import array
from typing import Final

_FIRST: Final = 1 << 10
_FULL: Final = 0.8


class Seen:
    """What was added, by its hash: a table of numbers, for a `set` takes seventy bytes for each."""

    def __init__(self) -> None:
        self._count = 0
        self._table = array("q", bytes(8 * _FIRST))
        """Each number where it belongs, or in the next place that was free; 0 is a free one."""

    def add(self, thing: object) -> bool:
        """Adds it; whether it is new."""
        number = hash(thing) or 1
        place = self._place_of(number)
        if self._table[place]:
            return False
        self._table[place] = number
        self._count += 1
        if self._count > _FULL * len(self._table):
            self._grow()
        return True

    def __contains__(self, thing: object) -> bool:
        return self._table[self._place_of(hash(thing) or 1)] != 0

    def _place_of(self, number: int) -> int:
        """The place of a number, or the free one that it would get."""
        table = self._table
        last = len(table) - 1
        place = number & last
        while (there := table[place]) and there != number:
            place = (place + 1) & last
        return place

    def _grow(self) -> None:
        before = self._table
        self._table = array("q", bytes(16 * len(before)))
        for number in before:
            if number:
                self._table[self._place_of(number)] = number
