"""opencode's tools for plans and other agents."""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from dragoman.dialects.base.opencode_family import AgentTask
from dragoman.dialects.base.spelling import Spelling, means, was
from dragoman.dialects.base.todo_lists import plan_items
from dragoman.dialects.base.words import (
    CALLED,
    Template,
    body,
    choice,
    in_json,
    maybe,
    one_of,
    single,
    skipped,
    without,
    words,
)
from dragoman.model import operations as op, outcomes as out

# ── plan ─────────────────────────────────────────────────────────────────────


class Todo(msgspec.Struct, frozen=True):
    """One item of the to-do list."""

    content: str
    status: str
    priority: str


class EarlierTodo(msgspec.Struct, frozen=True):
    """One thing to do, when each had an id."""

    content: str
    status: str
    priority: str
    id: str


class KeptTodo(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing to do, as a result tells it."""

    content: str
    status: op.PlanStatus
    priority: str = ""
    id: str = ""


STATUSES = get_args(op.PlanStatus)
PLANS = one_of(
    in_json(
        out.PlanOutcome,
        tuple[KeptTodo, ...],
        to=lambda _asked, kept: out.PlanOutcome(
            tuple(op.PlanItem(one.content, one.status, one.id or None, priority=one.priority or None) for one in kept)
        ),
        back=lambda _asked, plan: [
            KeptTodo(item.text, item.status, item.priority or "", item.id or "") for item in plan.items
        ],
        says=("items",),
        nearly={"items": "an item is a text, a status, a priority and an id"},
        indent=2,
    )
)


class TodoWrite(Spelling[op.UpdatePlan]):
    """Update the to-do list. Send the whole list each time; at most one item may be in progress."""

    native_name = "todowrite"
    results = PLANS
    approximated = {"items": "an item is a text, a status, a priority and, up to 1.1.53, an id (empty: not said)"}

    todos: tuple[Todo, ...] = means(
        "items",
        "The whole list, in order.",
        since="1.18.4",
        convert=plan_items(Todo, "content", statuses=STATUSES),
        was=was("1.1.53", type=tuple[EarlierTodo, ...], convert=plan_items(EarlierTodo, "content", statuses=STATUSES)),
    )


class TodoRead(Spelling[op.ReadPlan]):
    """Read the list of things to do."""

    native_name = "todoread"
    results = PLANS
    until = "1.1.11"


# ── agents ───────────────────────────────────────────────────────────────────


_STATES = ("completed", "running", "cancelled", "interrupted", "limited", "unknown")
_STATE = choice({"error": "failed", **{state: state for state in _STATES}})


def _report(*parts: Any, **facts: Any) -> Template:
    return words(out.AgentReport, *parts, id=without(' "'), agent=CALLED, text=body(or_nothing=True), **facts)


def _tagged(state: str, tag: str, **facts: Any) -> Template:
    end = f' state="{state}">\n<{tag}>\n{{text}}\n</{tag}>\n</task>'
    return _report("<task", maybe(' id="{id}"'), end, **facts)


REPORTS = one_of(
    single(out.AgentsOutcome, _tagged("{status}", "task_result", status=_STATE)),
    formerly=(
        single(
            out.AgentsOutcome,
            _tagged("{status}", "task_error", status=_STATE),
            *(
                _tagged("{_state}", tag, status="unknown", _state=skipped("", '[^"]*'))
                for tag in ("task_result", "task_error")
            ),
            _report(  # 1.1.53
                "task_id: {id}",
                maybe(" {_how}", written=False),
                "\n\n<task_result>\n{text}\n</task_result>",
                status="completed",
                _how=skipped(""),
            ),
            _report(  # 1.1.11
                "{text}\n\n<task_metadata>\nsession_id: {id}\n</task_metadata>", status="completed"
            ),
        ),
    ),
)


class Task(AgentTask):
    """Give a task to another agent and wait for its result, or continue one that has ended."""

    native_name = "task"
    results = REPORTS

    task_id: str | None = means(
        "continues",
        "Id of an earlier task to continue.",
        default=None,
        since="1.1.53",
        was=was("1.1.11", name="session_id", description="An earlier session to continue."),
    )
    command: str | None = means("command", "The command that led to this task.", default=None)
