"""What each field of an operation does to its effect: what a question shows, rules match and "always" leaves open.

Rule: a field that its operation does not put into a group is a setting, the strictest group: it is shown, and an
"always" holds for the same value only.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from .operation_base import Effects, Operation


def fields_of(operation: Operation) -> Effects:
    """The groups of an operation's fields."""
    return _fields_of(type(operation))


@cache
def _fields_of(operation: type[Operation]) -> Effects:
    known = operation.effects
    grouped = {*known.subject, *known.limit, *known.comment}
    rest = tuple(name for name in operation.__struct_fields__ if name not in grouped)
    return msgspec.structs.replace(known, setting=rest)


def stated(operation: Operation) -> Iterator[tuple[str, Any]]:
    """The fields that are not at their defaults, with their values, in the order of the operation."""
    for field in msgspec.structs.fields(operation):
        value = getattr(operation, field.name)
        if field.default is not msgspec.NODEFAULT and type(value) is type(field.default) and value == field.default:
            continue
        if field.default_factory is not msgspec.NODEFAULT and value == field.default_factory():
            continue
        yield field.name, value
