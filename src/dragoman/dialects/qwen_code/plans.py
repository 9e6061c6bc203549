"""The plan, which is written whole."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

import msgspec

from dragoman.dialects.base.default_words import tell, text_of, understand
from dragoman.dialects.base.spelling import Content, Spelling, Tells, means
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import json_text, read_json


class Todo(msgspec.Struct, frozen=True):
    """One thing to do."""

    id: str
    content: str
    status: Literal["pending", "in_progress", "completed"]


class TodoWrite(Spelling[op.UpdatePlan]):
    """Keep the list of things to do: the whole list each time, at most one of them in progress."""

    native_name = "todo_write"
    on_request = "the client has it off unless a setting turns it on"
    on_request_since = "0.24"
    approximated = {"items": "an item is a text, a status and an id (empty: not said)"}
    unsaid = {"explanation": "the list speaks for itself"}

    todos: tuple[Todo, ...] = means("items", "The whole list, in order.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UpdatePlan(tuple(_plan_item(todo) for todo in self.todos)),)

    @classmethod
    def from_operation(cls, operation: op.UpdatePlan) -> TodoWrite | None:
        todos = _todos(operation.items)
        return None if todos is None else cls(todos=todos)

    tells: ClassVar[Tells] = {out.PlanOutcome: ("items",)}
    _LIST = re.compile(
        r"Todos have been modified successfully.*?\n\n(\[[^\n]*\])\.[^\n]*\n</system-reminder>", re.DOTALL
    )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        todos = _todos(outcome.items) if isinstance(outcome, out.PlanOutcome) else None
        if todos is None:
            return tell(operation, outcome)
        kept = json_text(todos)
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
        return out.PlanOutcome(tuple(_plan_item(todo) for todo in todos))


def _plan_item(todo: Todo) -> op.PlanItem:
    return op.PlanItem(todo.content, todo.status, todo.id or None)


def _todos(items: tuple[op.PlanItem, ...]) -> tuple[Todo, ...] | None:
    """The list, or `None` when an item's status is none of its three."""
    todos: list[Todo] = []
    for item in items:
        if item.status == "cancelled" or item.status == "blocked":
            return None
        todos.append(Todo(item.id or "", item.text, item.status))
    return tuple(todos)
