"""Inverses put together: of alternatives, of several at once, and without what changes nothing."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dragoman.apis.base.lowered import Branch, Undo

from .words import kinds_of

Schema = dict[str, Any]


def choice(offered: list[tuple[Schema, Undo | None]]) -> Undo | None:
    """The inverse of alternatives, when one of them has any."""
    if not any(undo for _, undo in offered):
        return None
    return Undo(branches=tuple(Branch(schema, undo) for schema, undo in offered))


def texts(offered: list[tuple[Schema, Undo | None]]) -> int:
    """How many of several alternatives may be a text."""
    return sum(not kinds_of(schema) or "string" in kinds_of(schema) for schema, _ in offered)


def joined(undos: list[Undo | None]) -> Undo | None:
    """One inverse of several that are about different things."""
    parts: dict[str, Any] = {}
    for undo in undos:
        if undo is not None:
            for field in undo.__struct_fields__:
                value = getattr(undo, field)
                if value and isinstance(value, dict):
                    parts[field] = {**parts.get(field, {}), **value}
                elif value:
                    parts[field] = value
    return Undo(**parts) if parts else None


def pruned(undo: Undo | None, live: set[str]) -> Undo | None:
    """An inverse without the parts that change nothing, given which of the definitions' do."""
    if undo is None or (undo.reference is not None and undo.reference not in live):
        return None
    branches = tuple(Branch(branch.schema, pruned(branch.undo, live)) for branch in undo.branches)
    prefix = tuple(pruned(one, live) for one in undo.prefix)
    kept = {name: one for name, part in undo.properties.items() if (one := pruned(part, live)) is not None}
    rest = replace(
        undo,
        properties=kept,
        additional=pruned(undo.additional, live),
        items=pruned(undo.items, live),
        prefix=prefix if any(prefix) else (),
        branches=branches if any(branch.undo for branch in branches) else (),
    )
    return None if rest == Undo() else rest
