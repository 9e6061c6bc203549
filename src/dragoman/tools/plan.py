"""The plan a model keeps while it works: written whole, item by item, and read back."""

from __future__ import annotations

import threading

from msgspec.structs import replace

from dragoman.errors import ToolError, nearest
from dragoman.model import operations as op
from dragoman.model.outcomes import PlanOutcome

from .context import Context
from .definition import Tool


class Plan:
    """The plan of one run. Items that come without an id are numbered."""

    def __init__(self) -> None:
        self._items: tuple[op.PlanItem, ...] = ()
        self._explanation: str | None = None
        self._last_number = 0
        self._lock = threading.Lock()

    def outcome(self) -> PlanOutcome:
        """The plan as it stands."""
        return PlanOutcome(self._items, self._explanation)

    def write(self, items: tuple[op.PlanItem, ...], explanation: str | None = None) -> PlanOutcome:
        """Replace the whole plan."""
        with self._lock:
            given = [item.id for item in items if item.id is not None]
            twice = sorted({id for id in given if given.count(id) > 1})
            if twice:
                raise ToolError(f"two items have the id {twice[0]!r}", kind="invalid_arguments")
            self._last_number = 0
            self._items = ()
            for item in items:
                self._items += (self._numbered(item, set(given)),)
            self._explanation = explanation
            return self.outcome()

    def add(self, item: op.PlanItem) -> PlanOutcome:
        """Add one item at the end."""
        with self._lock:
            taken = {known.id for known in self._items if known.id is not None}
            if item.id in taken:
                raise ToolError(f"an item with the id {item.id!r} already exists", kind="invalid_arguments")
            self._items += (self._numbered(item, taken),)
            return self.outcome()

    def change(self, change: op.ChangePlanItem) -> PlanOutcome:
        """Change what is said of one item, or remove it."""
        with self._lock:
            item = self.find(change.id)
            if change.deleted:
                self._items = tuple(known for known in self._items if known is not item)
                return self.outcome()
            said = {
                name: value
                for name in ("text", "status", "description", "doing", "owner")
                if (value := getattr(change, name)) is not None
            }
            metadata = None if change.metadata is None else {**(item.metadata or {}), **change.metadata}
            changed = replace(
                item,
                **said,
                blocks=_together(item.blocks, change.add_blocks),
                blocked_by=_together(item.blocked_by, change.add_blocked_by),
                metadata=item.metadata if metadata is None else metadata,
            )
            self._items = tuple(changed if known is item else known for known in self._items)
            return self.outcome()

    def find(self, id: str) -> op.PlanItem:
        """The item with this id."""
        for item in self._items:
            if item.id == id:
                return item
        known = [item.id for item in self._items if item.id is not None]
        there = f"the plan has {', '.join(known)}." if known else "the plan is empty."
        raise ToolError(f"no item has the id {id!r}; {there}{nearest(id, known)}", details={"known": known})

    def _numbered(self, item: op.PlanItem, taken: set[str]) -> op.PlanItem:
        if item.id is not None:
            return item
        while True:
            self._last_number += 1
            if str(self._last_number) not in taken:
                return replace(item, id=str(self._last_number))


def _together(one: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *more)))


def _update(operation: op.UpdatePlan, context: Context) -> PlanOutcome:
    return context.get(Plan).write(operation.items, operation.explanation)


def _add(operation: op.AddPlanItem, context: Context) -> PlanOutcome:
    return context.get(Plan).add(operation.item)


def _change(operation: op.ChangePlanItem, context: Context) -> PlanOutcome:
    return context.get(Plan).change(operation)


def _read(operation: op.ReadPlan, context: Context) -> PlanOutcome:
    plan = context.get(Plan)
    return plan.outcome() if operation.id is None else PlanOutcome((plan.find(operation.id),))


update_plan = Tool.from_operation(op.UpdatePlan, _update)
add_plan_item = Tool.from_operation(op.AddPlanItem, _add)
change_plan_item = Tool.from_operation(op.ChangePlanItem, _change)
read_plan = Tool.from_operation(op.ReadPlan, _read, repeatable=True)
