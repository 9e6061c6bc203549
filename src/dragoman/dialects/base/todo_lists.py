"""A native list of things to do as the items of a plan: each has a text, a status and perhaps an id."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, get_args, get_type_hints

import msgspec

from dragoman.model import operations as op

from .conversions import Conversion


def plan_items(
    struct: type[msgspec.Struct], text: str, *, id: str | None = None, statuses: tuple[str, ...] = ()
) -> Conversion:
    """Between a tuple of these structs and plan items: `text` and `id` name their fields, an empty id says nothing.

    `statuses` are those an item may have, where the type of the struct's field does not say it.
    """
    known = statuses or get_args(get_type_hints(struct)["status"])

    words_of = attrgetter(text)
    id_of = attrgetter(id) if id else None

    def to(todos: tuple[Any, ...]) -> tuple[op.PlanItem, ...]:
        for todo in todos:
            if todo.status not in known:
                raise ValueError(f"{todo.status!r} is no status of an item; there are: {', '.join(known)}")
        if id_of is None:
            return tuple([op.PlanItem(words_of(todo), todo.status) for todo in todos])
        return tuple([op.PlanItem(words_of(todo), todo.status, id_of(todo) or None) for todo in todos])

    def back(items: tuple[op.PlanItem, ...]) -> tuple[Any, ...]:
        wrong = [item.status for item in items if item.status not in known]
        if wrong:
            raise ValueError(f"an item cannot be {wrong[0]} here")
        named = [{id: item.id or ""} if id else {} for item in items]
        return tuple(
            struct(**{text: item.text, "status": item.status, **one}) for item, one in zip(items, named, strict=True)
        )

    return Conversion(to, back)
