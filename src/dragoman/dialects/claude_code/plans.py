"""Claude Code's tools for the list of things to do: written whole up to 2.1.123, item by item since."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal, cast, get_args

import msgspec
from msgspec import Meta

from dragoman.dialects.base.spelling import Conversion, Spelling, Tells, means, was
from dragoman.dialects.base.todo_lists import AddingItem, ChangingItem, plan_items
from dragoman.dialects.base.words import (
    CALLED,
    Kind,
    Template,
    body,
    done,
    lines,
    maybe,
    one_of,
    or_none,
    single,
    skipped,
    without,
    words,
)
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import converted

from .results import fields, list_in, plain_text, text_in

Status = Literal["pending", "in_progress", "completed"]

# ── the whole list ───────────────────────────────────────────────────────────

Words = Annotated[str, Meta(description="What is to be done.", min_length=1)]
Doing = Annotated[
    str,
    Meta(description='Text to show while the task is in progress, such as "Running the tests".', min_length=1),
]
State = Annotated[Status, Meta(description="Status of the item: pending, in_progress or completed.")]


class Todo(msgspec.Struct, frozen=True, gc=False):
    """One item of the to-do list."""

    content: Words
    status: State
    activeForm: Doing  # noqa: N815 - the native name


class ShortTodo(msgspec.Struct, frozen=True, gc=False):
    """One thing to do, as 1.0.88 had it."""

    content: Words
    status: State


class RankedTodo(msgspec.Struct, frozen=True, gc=False):
    """One thing to do, as 1.0.59 had it."""

    content: Words
    status: State
    priority: Annotated[Literal["high", "medium", "low"], Meta(description="How much it matters.")]
    id: Annotated[str, Meta(description="Its name within the list.")]


class AnyTodo(msgspec.Struct, frozen=True, gc=False):
    """One thing to do, as models write it who have seen several versions."""

    content: str
    status: Status
    activeForm: str | None = None  # noqa: N815 - the native name
    priority: str | None = None
    id: str | None = None


def _todos(struct: type[msgspec.Struct]) -> Conversion:
    """What was cancelled is no longer to be done; what is blocked still is.

    A form for the time it is done that only repeats the words says nothing of its own.
    """
    items = plan_items(struct, "content", statuses=get_args(Status))

    def to(todos: tuple[Any, ...]) -> tuple[op.PlanItem, ...]:
        read = items.to(todos)
        return tuple([msgspec.structs.replace(one, doing=None) if one.doing == one.text else one for one in read])

    def back(plan: tuple[op.PlanItem, ...]) -> Any:
        current = [one for one in plan if one.status != "cancelled"]
        return items.back(tuple(map(_open, current)))

    return Conversion(to, back)


def _open(item: op.PlanItem) -> op.PlanItem:
    status = item.status if item.status in get_args(Status) else "pending"
    return msgspec.structs.replace(item, status=status, doing=item.doing or item.text)


_ANY = _todos(AnyTodo)


def _new_todos(_asked: op.Operation, outcome: out.Outcome, native: NativeResult) -> out.Outcome:
    """The log has the list as it is now."""
    try:
        return out.PlanOutcome(_ANY.to(converted(fields(native).get("newTodos"), tuple[AnyTodo, ...])))
    except msgspec.ValidationError:
        return outcome


WRITTEN = one_of(
    words(
        out.PlanOutcome,
        "Todos have been modified successfully{_more}",
        items=CALLED,
        explanation=CALLED,
        _more=skipped(". Go on with them.", "(?s:.*)"),
    ),
    text=plain_text,
    recorded=_new_todos,
)
ITEMS = (
    "an item is its words, how they are said while it is done, and a status (in 1.0.59 a priority and an id); "
    "an item that was cancelled is left out, one that is blocked is pending"
)
WHOLE = "The whole list, in order."


class TodoWrite(Spelling[op.UpdatePlan]):
    """Update the to-do list. Send the whole list each time."""

    native_name = "TodoWrite"
    on_request, on_request_since = "since 2.1.197 the list is kept item by item, unless that is switched off", "2.1.197"
    approximated = {"items": ITEMS}
    results = WRITTEN
    tells: ClassVar[Tells] = {}  # the plan is that of the call, whatever became of it

    todos: tuple[Todo, ...] = means(
        "items",
        WHOLE,
        since="2.0.76",
        convert=_todos(Todo),
        was=(
            was("1.0.59", type=tuple[RankedTodo, ...], convert=_todos(RankedTodo)),
            was("1.0.88", since="1.0.88", type=tuple[ShortTodo, ...], convert=_todos(ShortTodo)),
        ),
    )


class TodoWriteMixed(Spelling[op.UpdatePlan]):
    """Update the to-do list. Send the whole list each time."""

    native_name = "TodoWrite"
    read_only = "no version has all these names; each passes over those it does not know"
    approximated = {"items": ITEMS}
    results = WRITTEN
    tells: ClassVar[Tells] = {}

    todos: tuple[AnyTodo, ...] = means("items", WHOLE, convert=_ANY)


# ── item by item ─────────────────────────────────────────────────────────────


class Created(msgspec.Struct, frozen=True):
    """What is said of an item that was added."""

    id: str
    text: str


def _created(_asked: op.Operation, outcome: out.PlanOutcome) -> Created | None:
    return Created(outcome.items[-1].id or "", outcome.items[-1].text) if outcome.items else None


def _added(asked: op.AddPlanItem, said: Created) -> out.PlanOutcome:
    return out.PlanOutcome((msgspec.structs.replace(asked.item, id=said.id or None, text=said.text),))


class TaskCreate(AddingItem):
    """Add a task to the to-do list."""

    native_name = "TaskCreate"
    since = "2.1.197"
    approximated = {"item": "a new item is pending, without an id or anybody's name; a description is always written"}
    results = one_of(
        words(
            Created,
            "Task #{id} created successfully: {text}",
            of=out.PlanOutcome,
            to=_added,
            back=_created,
            text=body(),
        ),
        text=plain_text,
    )


def _updated(asked: op.ChangePlanItem) -> str:
    call = TaskUpdate.from_operation(asked)
    changed = [] if call is None else [name for name in call.native_arguments() if name != "taskId"]
    return f"Updated task #{asked.id} {', '.join(changed)}".rstrip()


class TaskUpdate(ChangingItem):
    """Update a task of the to-do list: its text, status, owner or dependencies."""

    native_name = "TaskUpdate"
    since = "2.1.197"
    results = one_of(
        done(_updated, "Updated task #", of=out.PlanOutcome, keeps_note=False),
        done("", "Updated task #", when=lambda outcome: bool(outcome.note)),
        text=plain_text,
    )


def _numbers(text: str) -> tuple[str, ...]:
    return tuple(id.removeprefix("#") for id in text.split(", "))


def _hashes(ids: tuple[str, ...]) -> str | None:
    return ", ".join(f"#{id}" for id in ids) if not any(set(",\n]") & set(id) for id in ids) else None


_ID = or_none(without(" :["), "")
_IDS = Kind(r"#[^\n\]]*", _numbers, _hashes)


def _in_full(*description: str, **facts: Any) -> Template:
    return words(
        op.PlanItem,
        "Task #{id}: {text}\nStatus: {status}",
        *description,
        maybe("\nBlocked by: {blocked_by}", blocked_by=()),
        maybe("\nBlocks: {blocks}", blocks=()),
        id=_ID,
        blocked_by=_IDS,
        blocks=_IDS,
        **facts,
    )


def _listed(_asked: op.Operation, outcome: out.PlanOutcome) -> out.PlanOutcome:
    """An item without an id has its number. Whose it is follows in brackets, which are not told from its words."""
    items = [
        msgspec.structs.replace(
            item, id=item.id or str(number), text=f"{item.text} ({item.owner})" if item.owner else item.text
        )
        for number, item in enumerate(outcome.items, 1)
    ]
    return out.PlanOutcome(tuple(items))


LIST = words(
    out.PlanOutcome,
    "{items}",
    back=_listed,
    items=lines(
        words(
            op.PlanItem,
            "#{id} [{status}] {text}",
            maybe(" [blocked by {blocked_by}]", blocked_by=()),
            id=_ID,
            blocked_by=_IDS,
        ),
        empty="No tasks found",
    ),
)
IN_FULL = single(
    out.PlanOutcome,
    _in_full("\nDescription: {description}", description=body()),
    _in_full(description=None),
)


def _recorded(_asked: op.Operation, native: NativeResult) -> out.PlanOutcome | None:
    known = fields(native)
    tasks = [known["task"]] if isinstance(known.get("task"), dict) else list_in(known, "tasks")
    items = None if tasks is None else [_recorded_item(task) for task in tasks]
    if items is None or None in items:
        return None
    return out.PlanOutcome(tuple(item for item in items if item is not None))


def _recorded_item(task: Any) -> op.PlanItem | None:
    text, status = text_in(task, "subject"), text_in(task, "status") or "pending"
    if text is None or status not in get_args(op.PlanStatus):
        return None
    return op.PlanItem(
        text,
        cast(op.PlanStatus, status),
        text_in(task, "id"),
        text_in(task, "description"),
        owner=text_in(task, "owner"),
        blocks=_ids(list_in(task, "blocks") or ()),
        blocked_by=_ids(list_in(task, "blockedBy") or ()),
    )


def _ids(listed: Iterable[Any]) -> tuple[str, ...]:
    return tuple(id for id in listed if isinstance(id, str))


class TaskList(Spelling[op.ReadPlan]):
    """List the tasks of the to-do list."""

    native_name = "TaskList"
    since = "2.1.197"
    always = {"id": None}
    results = one_of(LIST, formerly=(IN_FULL,), text=plain_text, from_native=_recorded)


class TodoRead(Spelling[op.ReadPlan]):
    """Read the list of things to do."""

    native_name = "TodoRead"
    read_only = "first versions had it; none whose tools are known does"
    always = {"id": None}
    results = TaskList.results


class TaskGet(Spelling[op.ReadPlan]):
    """Get one task of the to-do list, with its full description."""

    native_name = "TaskGet"
    since = "2.1.197"
    results = one_of(IN_FULL, LIST, text=plain_text, from_native=_recorded)

    taskId: str = means("id", "Number of the task.")  # noqa: N815 - the native name
