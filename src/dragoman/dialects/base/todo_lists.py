"""Lists of things to do: the structs a client keeps them in, as items of a plan and back; and tools for one item."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Literal, get_args, get_type_hints

import msgspec

from dragoman.model import operations as op

from .conversions import EMPTY_IS_UNSAID, TUPLE, Conversion
from .spelling import Spelling, means

_FIELDS = {"id": "id", "priority": "priority", "activeForm": "doing"}
"""What the fields of a client's structs mean, beside the text and the status."""


def plan_items(struct: type[msgspec.Struct], text: str, *, statuses: tuple[str, ...] = ()) -> Conversion:
    """Between a tuple of these structs and plan items: `text` names the field of the words; an empty text says nothing.

    `statuses` are those an item may have, where the type of the struct's field does not say it.
    """
    known = statuses or get_args(get_type_hints(struct)["status"])
    words_of = attrgetter(text)
    named = {native: ours for native, ours in _FIELDS.items() if native in struct.__struct_fields__}

    def to(todos: tuple[Any, ...]) -> tuple[op.PlanItem, ...]:
        for todo in todos:
            if todo.status not in known:
                raise ValueError(f"{todo.status!r} is no status of an item; there are: {', '.join(known)}")
        if not named:
            return tuple([op.PlanItem(words_of(todo), todo.status) for todo in todos])
        return tuple([op.PlanItem(words_of(todo), todo.status, **_beside(todo)) for todo in todos])

    def _beside(todo: Any) -> dict[str, Any]:
        return {ours: getattr(todo, native) or None for native, ours in named.items()}

    def back(items: tuple[op.PlanItem, ...]) -> tuple[Any, ...]:
        wrong = [item.status for item in items if item.status not in known]
        if wrong:
            raise ValueError(f"an item cannot be {wrong[0]} here")
        beside = [{native: getattr(item, ours) or "" for native, ours in named.items()} for item in items]
        rows = [{text: item.text, "status": item.status, **more} for item, more in zip(items, beside, strict=True)]
        return msgspec.convert(rows, tuple[struct, ...])  # type: ignore[valid-type]

    return Conversion(to, back)


# ── one item ─────────────────────────────────────────────────────────────────


class AddingItem(Spelling[op.AddPlanItem]):
    """Adds one item, as Claude Code (2.1.325) and Qwen Code (0.24.4) do."""

    subject: str = means("item.text", "Short title of the task.")
    description: str = means("item.description", "Full description of the task.", convert=EMPTY_IS_UNSAID)
    activeForm: str | None = means(  # noqa: N815 - the native name
        "item.doing", 'Text to show while the task is in progress, such as "Running the tests".', default=None
    )
    metadata: dict[str, Any] | None = means("item.metadata", "Additional data to store with the task.", default=None)


class ChangingItem(Spelling[op.ChangePlanItem]):
    """Changes one item, as Claude Code (2.1.325) and Qwen Code (0.24.4) do."""

    taskId: str = means("id", "Number of the task.")  # noqa: N815 - the native name
    subject: str | None = means("text", "Short title of the task.", default=None)
    description: str | None = means("description", "Full description of the task.", default=None)
    activeForm: str | None = means(  # noqa: N815 - the native name
        "doing", 'Text to show while the task is in progress, such as "Running the tests".', default=None
    )
    status: Literal["pending", "in_progress", "completed", "deleted"] | None = means(
        "status", "The status of the task; `deleted` removes it.", default=None
    )
    addBlocks: tuple[str, ...] | None = means(  # noqa: N815 - the native name
        "add_blocks", "Tasks that cannot start before this one is completed.", default=None
    )
    addBlockedBy: tuple[str, ...] | None = means(  # noqa: N815 - the native name
        "add_blocked_by", "Tasks that must be completed before this one can start.", default=None
    )
    owner: str | None = means("owner", "Who works on the task.", default=None)
    metadata: dict[str, Any] | None = means("metadata", "Additional data to store with the task.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (
            op.ChangePlanItem(
                self.taskId,
                self.subject,
                None if self.status == "deleted" else self.status,
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
    def from_operation(cls, operation: op.ChangePlanItem) -> Any:
        status = operation.status
        if status not in (None, "pending", "in_progress", "completed") or (operation.deleted and status is not None):
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
