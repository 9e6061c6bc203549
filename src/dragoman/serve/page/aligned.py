"""Two sessions beside each other: which operations of one are which of the other.

Rules: order is kept. First equal operations are paired; between those, operations of one kind on the same thing; between
those, commands and questions in nearly the same words. What is left was done in one session alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any, Final, Literal

import msgspec

from dragoman.engine.history import same_outcomes
from dragoman.logs.export import about
from dragoman.logs.history import failure_of
from dragoman.model import AnyEvent, Result, ToolCalled, ToolReturned, operations as op

_BESIDE: Final = frozenset({"purpose", "description", "timeout"})
"""What says nothing of what is done."""
_LONGEST: Final = 120
"""Characters of what an operation is about."""
_ALIKE: Final = 0.6
"""The share of words that two have in common at least to be taken for one another."""
_LARGEST: Final = 40_000
"""Pairs of a gap that are looked at for such words."""

Pair = tuple[int | None, int | None]


class Done:
    """One operation of a session: what it means, for comparing, and how it ended. `folder` is where the session ran."""

    def __init__(
        self, event: ToolCalled, operation: op.Operation | None, result: Result | None, folder: str | None
    ) -> None:
        self.event, self.result = event.id, result
        native = event.call.native
        self.kind = native.name if operation is None else str(operation.__struct_config__.tag)
        self.failed = result is not None and any(failure_of(one, result.native) is not None for one in result.outcomes)
        given: Any = {"arguments": native.arguments} if operation is None else msgspec.to_builtins(operation)
        self.fields: dict[str, Any] = {
            name: _relative(value, folder) for name, value in given.items() if name not in _BESIDE
        }
        self.about = about(self.fields, _LONGEST)

    @cached_property
    def whole(self) -> str:
        """All that it says, for comparing."""
        return f"{self.kind} {sorted(self.fields.items())!r}"

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of what it is about."""
        return frozenset(self.about.split())

    def likeness(self, other: Done) -> float:
        """The share of words that both have; 0 for another kind of operation."""
        if self.kind != other.kind or not self.words or not other.words:
            return 0.0
        return len(self.words & other.words) / len(self.words | other.words)


class Row(msgspec.Struct):
    """Two operations that stand beside each other, or one."""

    kind: Literal["same", "other result", "differs", "first only", "second only"]
    first: Done | None
    second: Done | None
    fields: list[str] = []
    """In what they differ."""


def operations_done(events: Iterable[AnyEvent], folder: str | None) -> Iterator[Done]:
    """The operations of a session's calls, in order; a call that was not understood is one."""
    called: list[ToolCalled] = []
    returned: dict[str, Result] = {}
    for event in events:
        if isinstance(event, ToolCalled):
            called.append(event)
        elif isinstance(event, ToolReturned):
            returned.setdefault(event.result.call_id, event.result)
    for event in called:
        result, operations = returned.get(event.call.id), event.call.operations
        for place, operation in enumerate(operations or (None,)):
            own = result
            if result is not None and len(operations) > 1 and len(result.outcomes) == len(operations):
                own = msgspec.structs.replace(result, outcomes=(result.outcomes[place],))
            yield Done(event, operation, own, folder)


def aligned(first: Sequence[Done], second: Sequence[Done], folder: str | None) -> Iterator[Row]:
    """The operations of both, each once."""
    for one, other in _paired([done.whole for done in first], [done.whole for done in second], first, second):
        if one is None or other is None:
            yield Row(
                "second only" if one is None else "first only",
                None if one is None else first[one],
                None if other is None else second[other],
            )
            continue
        left, right = first[one], second[other]
        if left.whole == right.whole:
            kind: Literal["same", "other result"]
            kind = "same" if same_outcomes(left.result, right.result, folder) else "other result"
            yield Row(kind, left, right)
        else:
            names = {**left.fields, **right.fields}
            fields = [name for name in names if left.fields.get(name) != right.fields.get(name)]
            yield Row("differs", left, right, fields)


def _paired(whole: list[str], others: list[str], first: Sequence[Done], second: Sequence[Done]) -> Iterator[Pair]:
    for is_equal, a, b, c, d in _blocks(whole, others):
        if is_equal:
            yield from zip(range(a, b), range(c, d), strict=True)
            continue
        left = [f"{done.kind} {done.about}" if done.about else done.whole for done in first[a:b]]
        right = [f"{done.kind} {done.about}" if done.about else done.whole for done in second[c:d]]
        for is_alike, e, f, g, h in _blocks(left, right):
            if is_alike:
                yield from zip(range(a + e, a + f), range(c + g, c + h), strict=True)
            else:
                yield from _by_words(first, second, range(a + e, a + f), range(c + g, c + h))


def _blocks(first: list[str], second: list[str]) -> Iterator[tuple[bool, int, int, int, int]]:
    for tag, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        yield tag == "equal", a, b, c, d


def _by_words(first: Sequence[Done], second: Sequence[Done], some: range, others: range) -> Iterator[Pair]:
    """The pairs of a gap that have most words in common, in order; the rest for themselves."""
    pairs: list[tuple[int, int]] = []
    if some and others and len(some) * len(others) <= _LARGEST:
        pairs = _best(first, second, some, others)
    one, other = some.start, others.start
    for a, b in [*pairs, (some.stop, others.stop)]:
        yield from ((at, None) for at in range(one, a))
        yield from ((None, at) for at in range(other, b))
        if a < some.stop:
            yield a, b
        one, other = a + 1, b + 1


def _best(first: Sequence[Done], second: Sequence[Done], some: range, others: range) -> list[tuple[int, int]]:
    """The pairs, in order, whose likenesses add up to the most."""
    sums = [[0.0] * (len(others) + 1) for _ in range(len(some) + 1)]
    likenesses: dict[tuple[int, int], float] = {}
    for i in reversed(range(len(some))):
        for j in reversed(range(len(others))):
            best = max(sums[i + 1][j], sums[i][j + 1])
            likeness = first[some[i]].likeness(second[others[j]])
            if likeness >= _ALIKE:
                likenesses[i, j] = likeness
                best = max(best, likeness + sums[i + 1][j + 1])
            sums[i][j] = best
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(some) and j < len(others):
        if (i, j) in likenesses and sums[i][j] == likenesses[i, j] + sums[i + 1][j + 1]:
            pairs.append((some[i], others[j]))
            i, j = i + 1, j + 1
        elif sums[i][j] == sums[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _relative(value: Any, folder: str | None) -> Any:
    """A value with the paths in it as seen from a folder: so that two sessions in two folders compare."""
    if folder is None or folder in ("", "/"):
        return value
    if isinstance(value, str):
        return "." if value == folder else value.replace(f"{folder.rstrip('/')}/", "")
    if isinstance(value, dict):
        return {name: _relative(one, folder) for name, one in value.items()}
    return [_relative(one, folder) for one in value] if isinstance(value, list) else value
