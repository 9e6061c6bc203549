"""The plan, which is written whole."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from dragoman.dialects.base.spelling import Spelling, means
from dragoman.dialects.base.todo_lists import plan_items
from dragoman.dialects.base.words import by_hand, one_of
from dragoman.model import operations as op, outcomes as out
from dragoman.model.json_text import json_text, read_json


class Todo(msgspec.Struct, frozen=True):
    """One item of the to-do list."""

    id: str
    content: str
    status: Literal["pending", "in_progress", "completed"]


_ITEMS = plan_items(Todo, "content")


_LIST = re.compile(r"Todos have been modified successfully.*?\n\n(\[[^\n]*\])\.[^\n]*\n</system-reminder>", re.DOTALL)


def _plan_written(outcome: out.PlanOutcome, _asked: op.Operation) -> str | None:
    try:
        kept = json_text(_ITEMS.back(outcome.items))
    except ValueError:
        return None
    return (
        "Todos have been modified successfully.\n\n<system-reminder>\n"
        f"The list is now:\n\n{kept}. Go on with it.\n</system-reminder>"
    )


def _plan_read(text: str, _asked: op.Operation) -> out.PlanOutcome | None:
    found = _LIST.match(text)
    try:
        return out.PlanOutcome(_ITEMS.to(read_json(found[1] if found else "", type=tuple[Todo, ...])))
    except msgspec.DecodeError:
        return None


class TodoWrite(Spelling[op.UpdatePlan]):
    """Update the to-do list. Send the whole list each time; at most one item may be in progress."""

    native_name = "todo_write"
    on_request = "the client has it off unless a setting turns it on"
    on_request_since = "0.24"
    approximated = {"items": "an item is a text, a status and an id (empty: not said)"}

    todos: tuple[Todo, ...] = means("items", "The whole list, in order.", convert=_ITEMS)

    results = one_of(
        by_hand(out.PlanOutcome, _plan_written, _plan_read, says=("items",)),
    )
