"""What was made of the beginnings of sequences, so that a longer one costs only what is new in it.

A client sends the whole conversation with every request. Whatever goes through it step by step (`Steps`) is kept at a
few places and continued from the last one that the next request has in common with it.

Rules:
- The same sequence gives the same, whether any of it was remembered or not.
- Memory is bounded by the number and the size of the requests; what was used longest ago is forgotten first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, Generic, Protocol, Self, TypeVar

SEQUENCES: Final = 64
BYTES: Final = 64 * 1024 * 1024
"""Of requests, as they were sent. In memory a conversation takes a few times as much."""
LAST: Final = 4
"""Steps are kept before each of the last items: Claude Code 2.1.325 moves its marks for the cache along in them."""
_EVERY: Final = 64
"""And at every so many items, for clients that change older ones."""


class Steps(Protocol):
    """What goes through a sequence item by item, and can be copied."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing that was taken would become something else because of what comes later."""
        ...

    def expect(self, items: Sequence[Any]) -> None:
        """These are the next items."""
        ...

    def take(self, item: Any) -> object: ...

    def fork(self) -> Self: ...


Kind = TypeVar("Kind", bound=Steps)


class Known(Generic[Kind]):
    """A sequence, and the steps through its beginnings by the number of items that they have taken."""

    def __init__(self, key: Hashable, items: Sequence[Any], steps: dict[int, Kind], size: int) -> None:
        self.key, self.items, self.steps, self.size = key, items, steps, size
        self.name = ""
        """Whatever its owner calls it."""

    def shared(self, items: Sequence[Any]) -> int:
        """How many items another sequence begins with as well."""
        most = min(len(self.items), len(items))
        if self.items[:most] == items[:most]:
            return most
        pairs = zip(self.items, items, strict=False)
        return next(number for number, (one, other) in enumerate(pairs) if one != other)


class Beginnings(Generic[Kind]):
    """The sequences that were used last."""

    def __init__(self) -> None:
        self._known: list[Known[Kind]] = []
        """The one used last comes last."""

    def closest(self, key: Hashable, items: Sequence[Any]) -> tuple[Known[Kind] | None, int]:
        """The sequence that has the longest beginning in common with this one, and how long it is."""
        found, most = None, 0
        for known in reversed(self._known):
            if known.key == key and (shared := known.shared(items)) > most:
                found, most = known, shared
                if most == len(known.items):
                    break
        return found, most

    def walked(
        self, key: Hashable, items: Sequence[Any], before: Known[Kind] | None, shared: int, new: Callable[[], Kind]
    ) -> tuple[Known[Kind], Kind]:
        """A sequence that is yet to be remembered, and steps that have taken all its items.

        `before` and `shared` are what `closest` found, and `new` begins with the first item.
        """
        steps = {} if before is None else {at: one for at, one in before.steps.items() if at <= shared}
        start = max(steps, default=0)
        here = steps[start].fork() if steps else new()
        here.expect(items[start:])
        for count, item in enumerate(items[start:], start + 1):
            here.take(item)
            if here.is_settled and (count >= len(items) - LAST or count % _EVERY == 0):
                steps[count] = here.fork()
        kept = {at: one for at, one in steps.items() if at >= len(items) - LAST or at % _EVERY == 0}
        return Known(key, items, kept, 0), here

    def remember(self, known: Known[Kind], size: int, instead_of: Known[Kind] | None) -> None:
        """Keeps a sequence, in the place of another one that it continues."""
        known.size = size
        if instead_of is not None:
            self._known.remove(instead_of)
        self._known.append(known)
        while len(self._known) > SEQUENCES or sum(one.size for one in self._known) > BYTES:
            del self._known[0]
