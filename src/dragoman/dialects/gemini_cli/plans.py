"""The plan, which is written whole."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from dragoman.dialects.base.spelling import Spelling, means, was
from dragoman.dialects.base.todo_lists import plan_items
from dragoman.dialects.base.words import by_hand, one_of
from dragoman.model import operations as op, outcomes as out


class Todo(msgspec.Struct, frozen=True):
    """One item of the to-do list."""

    description: str
    status: Literal["pending", "in_progress", "completed", "cancelled", "blocked"]


class EarlierTodo(msgspec.Struct, frozen=True):
    """One thing to do, before anything could be blocked."""

    description: str
    status: Literal["pending", "in_progress", "completed", "cancelled"]


def _plan_written(outcome: out.PlanOutcome, _asked: op.Operation) -> str:
    if not outcome.items:
        return "Successfully cleared the todo list."
    lines = [f"{number}. [{item.status}] {item.text}" for number, item in enumerate(outcome.items, 1)]
    return "\n".join(["Successfully updated the todo list. The current list is now:", *lines])


def _plan_read(text: str, _asked: op.Operation) -> out.PlanOutcome | None:
    if not text.startswith(("Successfully cleared", "Successfully updated the todo list")):
        return None
    found = re.findall(r"^\d+\. \[(\w+)\] (.*)$", text, re.MULTILINE)
    return out.PlanOutcome(tuple(op.PlanItem(words, status) for status, words in found))


PLANS = one_of(
    by_hand(out.PlanOutcome, _plan_written, _plan_read, nearly={"items": "an item is a description and a status"})
)


class WriteTodos(Spelling[op.UpdatePlan]):
    """Update the to-do list. Send the whole list each time; at most one item may be in progress."""

    native_name = "write_todos"
    results = PLANS
    since = "0.24"
    families = ("gemini-2*",)
    approximated = {"items": "an item is a description and a status"}

    todos: tuple[Todo, ...] = means(
        "items",
        "The whole list, in order.",
        since="0.53",
        convert=plan_items(Todo, "description"),
        was=was("0.34", type=tuple[EarlierTodo, ...], convert=plan_items(EarlierTodo, "description")),
    )


class WriteTodosAtFirst(Spelling[op.UpdatePlan]):
    """Update the to-do list. Send the whole list each time; at most one item may be in progress."""

    native_name = "write_todos"
    results = PLANS
    since, until = "0.19", "0.19"
    families = ("gemini-*",)
    approximated = WriteTodos.approximated

    todos: tuple[EarlierTodo, ...] = means(
        "items", "The whole list, in order.", convert=plan_items(EarlierTodo, "description")
    )
