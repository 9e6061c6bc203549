"""An operation from the parameters of a call, and calls from an operation, where each parameter means one field.

A parameter may mean a field inside a field (`edits.old`): then a call says one item, and an operation with several
items becomes several calls. Where a parameter counts lines, the field it means is the last of them.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from dragoman.generated import function
from dragoman.model import operations as op

from .conversions import SAME


class Part(NamedTuple):
    """A field that is said in parts: what its items are, and whether there may be several."""

    struct: type[msgspec.Struct]
    is_many: bool

    def items(self, value: Any) -> tuple[Any, ...]:
        """The items of a value of the field."""
        return value if self.is_many else (value,)


def without_none(hint: Any) -> Any:
    """The type without "not said"."""
    if typing.get_origin(hint) not in (types.UnionType, typing.Union):
        return hint
    return typing.Union[tuple(member for member in typing.get_args(hint) if member is not type(None))]  # noqa: UP007


def struct_in(hint: Any) -> type[msgspec.Struct] | None:
    """The struct that a type is, or holds."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint
    return next((found for inner in typing.get_args(hint) if (found := struct_in(inner)) is not None), None)


def part_of(operation: type[op.Operation], field: str) -> Part | None:
    """How a field of an operation is said in parts; `None` where it holds nothing that has fields."""
    hint = without_none(typing.get_type_hints(operation)[field])
    struct = struct_in(hint)
    return None if struct is None else Part(struct, typing.get_origin(hint) is tuple)


# ── reading ──────────────────────────────────────────────────────────────────


def _last_line(first: int | None, count: int | None) -> int | None:
    return None if count is None else (first or 1) + count - 1


def _called(name: str, struct: type[msgspec.Struct], values: Mapping[str, str]) -> str:
    """A call of a struct, with its first fields by position, which is quicker."""
    arguments: list[str] = []
    by_position = True
    for field in struct.__struct_fields__:
        by_position = by_position and field in values
        if field in values:
            arguments.append(values[field] if by_position else f"{field}={values[field]}")
    return f"{name}({', '.join(arguments)})"


def builder(cls: Any) -> Callable[[Any], op.Operation]:
    """How to make the operation from a call. It runs for every call read, so it is written out once, as by hand."""
    known: dict[str, Any] = {"operation": cls.operation_types[0], "last_line": _last_line, "refine": cls.refine}
    values: dict[str, str] = {}
    counted = {one.convert.counts_from for one in cls.parameters.values() if one.convert and one.convert.counts_from}
    first_of: dict[str | None, str] = {}
    for field, declared in cls.parameters.items():
        values[field] = f"call.{field}"
        if declared.convert is not None and declared.convert.to is not SAME.to:
            known[f"to_{field}"] = declared.convert.to
            values[field] = f"to_{field}(call.{field})"
        if declared.means in counted and declared.inside is None:
            first_of[declared.means] = values[field]
    said: dict[str, str] = {}
    parts: dict[str, dict[str, str]] = {}
    for field, declared in cls.parameters.items():
        if declared.means is None:
            continue
        value = values[field]
        if declared.convert is not None and declared.convert.counts_from is not None:
            value = f"last_line({first_of.get(declared.convert.counts_from)}, {value})"
        elif declared.means in first_of and declared.inside is None:
            value = f"(first_of_count := {value})"  # a count that follows begins there
            first_of[declared.means] = "first_of_count"
        if declared.inside is None:
            said[declared.means] = value
        else:
            parts.setdefault(declared.means, {})[declared.inside] = value
    for name, inner in parts.items():
        known[f"item_{name}"] = cls.parts[name].struct
        item = _called(f"item_{name}", cls.parts[name].struct, inner)
        said[name] = f"({item},)" if cls.parts[name].is_many else item
    for name, implied in cls.always.items():
        known[f"always_{name}"] = implied
        said[name] = f"always_{name}"
    made = _called("operation", cls.operation_types[0], said)
    made = made if cls.refine is None else f"refine({made})"
    build: Callable[[Any], op.Operation] = function("build", ("def build(call):", f"    return {made}"), known)
    return build


# ── writing ──────────────────────────────────────────────────────────────────


def calls_for(cls: Any, operation: op.Operation) -> Any:
    """The operation as a call of this tool or, in parts, as several. `None` or `ValueError`: it cannot say this one."""
    said = _native_values(cls, operation, None)
    if not cls.parts:
        return cls(**said)
    items = [part.items(getattr(operation, field)) for field, part in cls.parts.items()]
    calls = []
    for row in zip(*items, strict=True):
        apart: dict[str, Any] = {}
        for field, item in zip(cls.parts, row, strict=True):
            apart |= _native_values(cls, item, field)
        calls.append(cls(**said, **apart))
    if not calls or (len(calls) > 1 and not isinstance(operation, op.EditFile)):
        return None  # only edits of one file are one again when they are read
    for field, part in cls.parts.items():
        read = [item for call in calls for item in part.items(getattr(call.to_operations()[0], field, None))]
        if field not in cls.approximated and read != list(part.items(getattr(operation, field))):
            return None
    return tuple(calls)


def _native_values(cls: Any, holder: Any, part: str | None) -> dict[str, Any]:
    """The values of the parameters that mean fields of the operation, or of an item of its field `part`."""
    said: dict[str, Any] = {}
    for field, parameter in cls.parameters.items():
        if parameter.means is None or (parameter.inside is not None and parameter.means) != (part or False):
            continue
        value = getattr(holder, parameter.inside or parameter.means)
        convert = parameter.convert
        if convert is not None:
            if convert.counts_from is not None and value is not None:
                value = value - (getattr(holder, convert.counts_from) or 1) + 1
            value = convert.back(value)
        if value is None and parameter.is_required:
            raise ValueError(f"{field} is required, and no value is invented")
        said[field] = value
    return said
