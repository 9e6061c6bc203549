"""Tools known from public source and other people's logs alone: read, never offered, and no result is guessed at.

Rule: nobody captured how these tools word their results, so a result is the text it is. Only what the log itself keeps
apart (an exit code, an output, a failure) is read as such.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_values import as_integer

from .default_words import understand

UNCAPTURED = "it is known from public source alone, so it is read and never offered"
_CODES = ("exitCode", "exit_code", "returncode")
_OUTPUTS = ("output", "raw_output")


class TextResult:
    """Reads a result as the text it is, and what the log keeps beside it.

    `prints`: the text of a result is the output of the command, and nothing else.
    """

    prints: ClassVar[bool] = False

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        """One outcome for each operation."""
        return tuple([self._outcome(operation, native) for operation in operations])

    def _outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        content, item = native.content, native.item if isinstance(native.item, dict) else {}
        if isinstance(operation, op.RunCommand):
            code = next((known for key in _CODES if (known := as_integer(item.get(key))) is not None), None)
            printed = next((item[key] for key in _OUTPUTS if isinstance(item.get(key), str)), None)
            if code is not None or printed is not None or (self.prints and isinstance(content, str)):
                text = content if printed is None and isinstance(content, str) else printed
                return out.CommandOutcome(code, output=text)
        if content == "":
            return out.DoneOutcome()
        return understand(op.Unrecognised("", {}), native)


class PlannedItem(msgspec.Struct, frozen=True):
    """One thing to do, as most clients write it."""

    content: str
    status: str = "pending"
    id: str | int | None = None
    priority: str | None = None

    def item(self) -> op.PlanItem:
        """The item of a plan."""
        words: dict[str, op.PlanStatus] = {
            "todo": "pending",
            "in-progress": "in_progress",
            "in_progress": "in_progress",
            "completed": "completed",
            "done": "completed",
            "cancelled": "cancelled",
        }
        id = None if self.id is None else str(self.id)
        return op.PlanItem(self.content, words.get(self.status, "pending"), id, priority=self.priority)


def lines_from(offset: int | None, limit: int | None) -> tuple[int | None, int | None]:
    """The first and the last line of a range that is given by its first line and its length."""
    if limit is None:
        return offset, None
    return offset, (offset or 1) + limit - 1


def edited(path: str, old: str, new: str, *, everywhere: bool | None = None, purpose: str | None = None) -> op.EditFile:
    """One replacement in a file."""
    return op.EditFile(path, (op.Edit(old, new, everywhere=everywhere is True),), purpose)
