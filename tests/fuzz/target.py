"""What is fuzzed: a name, how an input is drawn, and what must hold for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .drawing import Draw


class Target(NamedTuple):
    """One thing that reads what others wrote.

    `draw` gives an input made of plain values, so that it can be shown and made smaller. `check` reads it; any
    exception it raises is a failure. `examples` are inputs that failed once, or that should be tried every time.
    """

    name: str
    draw: Callable[[Draw], Any]
    check: Callable[[Any], None]
    examples: Sequence[Any] = ()

    def case(self, seed: int, number: int) -> Any:
        """The input of a case: always the same for a seed and a number."""
        return self.draw(Draw(f"{seed}/{self.name}/{number}"))
