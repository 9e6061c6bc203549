"""Claude Code's tools for the list of things to do: written whole up to 2.1.123, item by item since."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, cast, get_args

import msgspec
from msgspec import Meta

from dragoman.dialects.base.default_words import tell, understand
from dragoman.dialects.base.spelling import TUPLE, Content, Spelling, means
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import converted

from .results import fields, list_in, text_in, told

Status = Literal["pending", "in_progress", "completed"]
STATUSES: tuple[Status, ...] = ("pending", "in_progress", "completed")
PLAN_STATUSES = get_args(op.PlanStatus)

# ── the whole list ───────────────────────────────────────────────────────────

Words = Annotated[str, Meta(description="What is to be done.", min_length=1)]
Doing = Annotated[str, Meta(description="The same as it is said while it is being done.", min_length=1)]
State = Annotated[Status, Meta(description="How it stands with it.")]


class Todo(msgspec.Struct, frozen=True, gc=False):
    """One thing to do."""

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


def _doing(todo: Todo | AnyTodo) -> str | None:
    """A form for the time it is done that only repeats the words says nothing of its own."""
    return None if todo.activeForm == todo.content else todo.activeForm


def _items(todos: tuple[AnyTodo, ...]) -> tuple[op.PlanItem, ...]:
    return tuple([op.PlanItem(one.content, one.status, one.id, None, _doing(one), one.priority) for one in todos])


def _current(items: tuple[op.PlanItem, ...]) -> list[tuple[op.PlanItem, Status]]:
    """What was cancelled is no longer to be done; what is blocked still is."""
    return [
        (item, item.status if item.status in STATUSES else "pending") for item in items if item.status != "cancelled"
    ]


class TellingPlans:
    """How a plan that was written is told: in a sentence, without the plan."""

    __slots__ = ()

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PlanOutcome):
            return tell(operation, outcome)
        return "Todos have been modified successfully. Go on with them."

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        assert isinstance(operation, op.UpdatePlan)
        if not told(native).startswith("Todos have been modified successfully"):
            return understand(operation, native)
        try:
            todos = converted(fields(native).get("newTodos"), tuple[AnyTodo, ...])
        except msgspec.ValidationError:
            return out.PlanOutcome(operation.items)
        return out.PlanOutcome(_items(todos))


ITEMS = "an item that was cancelled is left out, one that is blocked is pending"
EXPLANATION = {"explanation": "the list speaks for itself"}
WHOLE = "The whole list, in order."


class TodoWrite(TellingPlans, Spelling[op.UpdatePlan]):
    """Keep the list of things to do: the whole list each time."""

    native_name = "TodoWrite"
    since = "2.0.76"
    on_request, on_request_since = "since 2.1.197 the list is kept item by item, unless that is switched off", "2.1.197"
    approximated = {"items": f"an item is its words, how they are said while it is done, and a status; {ITEMS}"}
    unsaid = EXPLANATION

    todos: tuple[Todo, ...] = means("items", WHOLE)

    def to_operations(self) -> tuple[op.Operation, ...]:
        items = [op.PlanItem(todo.content, todo.status, doing=_doing(todo)) for todo in self.todos]
        return (op.UpdatePlan(tuple(items)),)

    @classmethod
    def from_operation(cls, operation: op.UpdatePlan) -> TodoWrite | None:
        if not all(item.text for item in operation.items):
            return None
        todos = [Todo(item.text, status, item.doing or item.text) for item, status in _current(operation.items)]
        return cls(todos=tuple(todos))


class TodoWriteShort(TellingPlans, Spelling[op.UpdatePlan]):
    """Keep the list of things to do: the whole list each time."""

    native_name = "TodoWrite"
    since, until = "1.0.88", "1.0.88"
    approximated = {"items": f"an item is its words and a status; {ITEMS}"}
    unsaid = EXPLANATION

    todos: tuple[ShortTodo, ...] = means("items", WHOLE)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UpdatePlan(tuple([op.PlanItem(todo.content, todo.status) for todo in self.todos])),)

    @classmethod
    def from_operation(cls, operation: op.UpdatePlan) -> TodoWriteShort | None:
        if not all(item.text for item in operation.items):
            return None
        return cls(todos=tuple(ShortTodo(item.text, status) for item, status in _current(operation.items)))


class TodoWriteRanked(TellingPlans, Spelling[op.UpdatePlan]):
    """Keep the list of things to do: the whole list each time."""

    native_name = "TodoWrite"
    until = "1.0.59"
    approximated = {"items": f"an item is its words, a status, a priority and an id; {ITEMS}"}
    unsaid = EXPLANATION

    todos: tuple[RankedTodo, ...] = means("items", WHOLE)

    def to_operations(self) -> tuple[op.Operation, ...]:
        items = [op.PlanItem(todo.content, todo.status, todo.id, priority=todo.priority) for todo in self.todos]
        return (op.UpdatePlan(tuple(items)),)

    @classmethod
    def from_operation(cls, operation: op.UpdatePlan) -> TodoWriteRanked | None:
        if not all(item.text and item.id and item.priority in ("high", "medium", "low") for item in operation.items):
            return None
        return cls(
            todos=tuple(
                RankedTodo(item.text, status, cast(Any, item.priority), item.id or "")
                for item, status in _current(operation.items)
            )
        )


class TodoWriteMixed(TellingPlans, Spelling[op.UpdatePlan]):
    """Keep the list of things to do: the whole list each time."""

    native_name = "TodoWrite"
    read_only = "no version has all these names; each passes over those it does not know"
    approximated = TodoWriteRanked.approximated
    unsaid = EXPLANATION

    todos: tuple[AnyTodo, ...] = means("items", WHOLE)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UpdatePlan(_items(self.todos)),)


# ── item by item ─────────────────────────────────────────────────────────────


class TaskCreate(Spelling[op.AddPlanItem]):
    """Add one thing to do."""

    native_name = "TaskCreate"
    since = "2.1.197"
    approximated = {"item": "a new item is pending, without an id or anybody's name; a description is always written"}

    subject: str = means("item", "What is to be done, in a few words.")
    description: str = means(None, "What is to be done, in full.")
    activeForm: str | None = means(  # noqa: N815 - the native name
        None, "The same as it is said while it is being done.", default=None
    )
    metadata: dict[str, Any] | None = means(None, "Anything to keep beside it.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        item = op.PlanItem(
            self.subject, description=self.description or None, doing=self.activeForm, metadata=self.metadata
        )
        return (op.AddPlanItem(item),)

    @classmethod
    def from_operation(cls, operation: op.AddPlanItem) -> TaskCreate:
        item = operation.item
        return cls(subject=item.text, description=item.description or "", activeForm=item.doing, metadata=item.metadata)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PlanOutcome) or not outcome.items:
            return tell(operation, outcome)
        item = outcome.items[-1]
        return f"Task #{item.id or ''} created successfully: {item.text}"

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        assert isinstance(operation, op.AddPlanItem)
        found = re.fullmatch(r"Task #(\S*) created successfully: (.*)", told(native), re.DOTALL)
        if found is None:
            return understand(operation, native)
        return out.PlanOutcome((msgspec.structs.replace(operation.item, id=found[1] or None, text=found[2]),))


class TaskUpdate(Spelling[op.ChangePlanItem]):
    """Change one thing to do: its words, its status, who does it, what it waits for."""

    native_name = "TaskUpdate"
    since = "2.1.197"

    taskId: str = means("id", "The task's number.")  # noqa: N815 - the native name
    subject: str | None = means("text", "What is to be done, in a few words.", default=None)
    description: str | None = means("description", "What is to be done, in full.", default=None)
    activeForm: str | None = means(  # noqa: N815 - the native name
        "doing", "The same as it is said while it is being done.", default=None
    )
    status: Literal["pending", "in_progress", "completed", "deleted"] | None = means(
        "status", "How it stands with it; `deleted` removes it.", default=None
    )
    addBlocks: tuple[str, ...] | None = means(  # noqa: N815 - the native name
        "add_blocks", "Tasks that must wait for this one.", default=None
    )
    addBlockedBy: tuple[str, ...] | None = means(  # noqa: N815 - the native name
        "add_blocked_by", "Tasks this one must wait for.", default=None
    )
    owner: str | None = means("owner", "Who does it.", default=None)
    metadata: dict[str, Any] | None = means("metadata", "Anything to keep beside it.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        status = None if self.status == "deleted" else self.status
        return (
            op.ChangePlanItem(
                self.taskId,
                self.subject,
                status,
                self.description,
                self.activeForm,
                self.owner,
                TUPLE.to(self.addBlocks),
                TUPLE.to(self.addBlockedBy),
                self.metadata,
                deleted=self.status == "deleted",
            ),
        )

    @classmethod
    def from_operation(cls, operation: op.ChangePlanItem) -> TaskUpdate | None:
        status = operation.status
        if (status is not None and status not in STATUSES) or (operation.deleted and status is not None):
            return None
        return cls(
            taskId=operation.id,
            subject=operation.text,
            description=operation.description,
            activeForm=operation.doing,
            status="deleted" if operation.deleted else status,
            addBlocks=operation.add_blocks or None,
            addBlockedBy=operation.add_blocked_by or None,
            owner=operation.owner,
            metadata=operation.metadata,
        )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if isinstance(outcome, out.DoneOutcome) and (outcome.note or "").startswith("Updated task #"):
            return outcome.note or ""
        if not isinstance(outcome, out.PlanOutcome):
            return tell(operation, outcome)
        changed = [name for name in self.said() if name != "taskId"]
        return f"Updated task #{self.taskId} {', '.join(changed)}".rstrip()

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = told(native)
        return out.DoneOutcome(text) if text.startswith("Updated task #") else understand(operation, native)


class ReadingPlans:
    """How things to do are told: one a line, or one in full."""

    __slots__ = ()

    _ONE = re.compile(
        r"Task #(?P<id>\S*): (?P<text>[^\n]*)\nStatus: (?P<status>\w+)(?:\nDescription: (?P<description>.*?))??"
        r"(?:\nBlocked by: (?P<blocked_by>#[^\n]*))?(?:\nBlocks: (?P<blocks>#[^\n]*))?",
        re.DOTALL,
    )
    _LINE = re.compile(r"#(?P<id>\S*) \[(?P<status>\w+)\] (?P<text>.*?)(?: \[blocked by (?P<blocked_by>#[^\]]*)\])?")

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PlanOutcome):
            return tell(operation, outcome)
        if isinstance(operation, op.ReadPlan) and operation.id is not None and len(outcome.items) == 1:
            return _in_full(outcome.items[0])
        lines = [_in_a_line(item, str(number)) for number, item in enumerate(outcome.items, 1)]
        return "\n".join(lines) or "No tasks found"

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        known = fields(native)
        tasks = [known["task"]] if isinstance(known.get("task"), dict) else list_in(known, "tasks")
        items = None if tasks is None else [_recorded(task) for task in tasks]
        if items is not None and None not in items:
            return out.PlanOutcome(tuple(item for item in items if item is not None))
        text = told(native)
        if text == "No tasks found":
            return out.PlanOutcome(())
        one = self._ONE.fullmatch(text)
        lines = [one] if one is not None else [self._LINE.fullmatch(line) for line in text.split("\n")]
        if not all(line is not None and line["status"] in PLAN_STATUSES for line in lines):
            return understand(operation, native)
        return out.PlanOutcome(tuple(_told(line.groupdict()) for line in lines if line is not None))


def _in_full(item: op.PlanItem) -> str:
    lines = [f"Task #{item.id or ''}: {item.text}", f"Status: {item.status}"]
    if item.description is not None:
        lines.append(f"Description: {item.description}")
    if item.blocked_by:
        lines.append(f"Blocked by: {', '.join(f'#{id}' for id in item.blocked_by)}")
    if item.blocks:
        lines.append(f"Blocks: {', '.join(f'#{id}' for id in item.blocks)}")
    return "\n".join(lines)


def _in_a_line(item: op.PlanItem, number: str) -> str:
    owner = f" ({item.owner})" if item.owner else ""
    blocked = f" [blocked by {', '.join(f'#{id}' for id in item.blocked_by)}]" if item.blocked_by else ""
    return f"#{item.id or number} [{item.status}] {item.text}{owner}{blocked}"


def _recorded(task: Any) -> op.PlanItem | None:
    text, status = text_in(task, "subject"), text_in(task, "status") or "pending"
    if text is None or status not in PLAN_STATUSES:
        return None
    return op.PlanItem(
        text,
        cast(op.PlanStatus, status),
        text_in(task, "id"),
        text_in(task, "description"),
        owner=text_in(task, "owner"),
        blocks=_ids(list_in(task, "blocks")),
        blocked_by=_ids(list_in(task, "blockedBy")),
    )


def _ids(listed: list[Any] | None) -> tuple[str, ...]:
    return tuple(id for id in listed or () if isinstance(id, str))


def _told(line: dict[str, str | None]) -> op.PlanItem:
    """Whose it is stands in brackets after the words, which may end in brackets themselves: it is not told apart."""
    return op.PlanItem(
        line["text"] or "",
        cast(op.PlanStatus, line["status"]),
        line["id"] or None,
        line.get("description"),
        blocks=_numbers(line.get("blocks")),
        blocked_by=_numbers(line["blocked_by"]),
    )


def _numbers(text: str | None) -> tuple[str, ...]:
    return tuple(id.removeprefix("#") for id in text.split(", ")) if text else ()


class TaskList(ReadingPlans, Spelling[op.ReadPlan]):
    """List the things to do."""

    native_name = "TaskList"
    since = "2.1.197"
    always = {"id": None}


class TodoRead(ReadingPlans, Spelling[op.ReadPlan]):
    """Read the list of things to do."""

    native_name = "TodoRead"
    read_only = "first versions had it; none whose tools are known does"
    always = {"id": None}


class TaskGet(ReadingPlans, Spelling[op.ReadPlan]):
    """Read one thing to do in full."""

    native_name = "TaskGet"
    since = "2.1.197"

    taskId: str = means("id", "The task's number.")  # noqa: N815 - the native name
