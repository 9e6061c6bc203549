"""The plan, which is written whole."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

import msgspec

from dragoman.dialects.base.default_words import tell, text_of, understand
from dragoman.dialects.base.spelling import Content, Spelling, Tells, means
from dragoman.dialects.base.todo_lists import plan_items
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import json_text, read_json


class Todo(msgspec.Struct, frozen=True):
    """One thing to do."""

    id: str
    content: str
    status: Literal["pending", "in_progress", "completed"]


_ITEMS = plan_items(Todo, "content")


class TodoWrite(Spelling[op.UpdatePlan]):
    """Keep the list of things to do: the whole list each time, at most one of them in progress."""

    native_name = "todo_write"
    on_request = "the client has it off unless a setting turns it on"
    on_request_since = "0.24"
    approximated = {"items": "an item is a text, a status and an id (empty: not said)"}

    todos: tuple[Todo, ...] = means("items", "The whole list, in order.", convert=_ITEMS)

    tells: ClassVar[Tells] = {out.PlanOutcome: ("items",)}
    _LIST = re.compile(
        r"Todos have been modified successfully.*?\n\n(\[[^\n]*\])\.[^\n]*\n</system-reminder>", re.DOTALL
    )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        try:
            kept = json_text(_ITEMS.back(outcome.items)) if isinstance(outcome, out.PlanOutcome) else None
        except ValueError:
            kept = None
        if kept is None:
            return tell(operation, outcome)
        return (
            "Todos have been modified successfully.\n\n<system-reminder>\n"
            f"The list is now:\n\n{kept}. Go on with it.\n</system-reminder>"
        )

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        found = self._LIST.match(text_of(native.content))
        try:
            todos = read_json(found[1] if found else "", type=tuple[Todo, ...])
        except msgspec.DecodeError:
            return understand(operation, native)
        return out.PlanOutcome(_ITEMS.to(todos))
