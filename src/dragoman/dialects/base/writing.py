"""Writing one operation with the spellings that say it: the one that loses least does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.model import operations as op
from dragoman.model.calls import NativeCall

from .availability import AnySpelling
from .spelling import Spelling


def native_call(id: str, said: Spelling[Any]) -> NativeCall:
    arguments: dict[str, Any] | str = said.native_arguments()
    if said.freeform is not None and isinstance(arguments, dict):
        arguments = str(arguments.get(said.freeform.field, ""))
    return NativeCall(id, said.native_name, arguments, said.namespace, said.executed_by)


def joined(operations: Sequence[op.Operation]) -> tuple[op.Operation, ...]:
    """Edits of one file that follow one another are one: what one vocabulary says in two calls, another says in one."""
    result: list[op.Operation] = []
    for operation in operations:
        last = result[-1] if result else None
        if isinstance(operation, op.EditFile) and isinstance(last, op.EditFile) and _same_file(last, operation):
            result[-1] = op.EditFile(last.path, last.edits + operation.edits, last.purpose)
        else:
            result.append(operation)
    return tuple(result)


def _same_file(one: op.EditFile, other: op.EditFile) -> bool:
    return one.path == other.path and one.purpose == other.purpose


def nearest(
    spellings: Sequence[AnySpelling], operation: op.Operation
) -> tuple[tuple[Spelling[Any], ...], tuple[op.Operation, ...]] | None:
    """The calls of the spelling that loses least of the operation, and what they mean; `None` when none can say it."""
    best: tuple[int, tuple[Spelling[Any], ...], tuple[op.Operation, ...]] | None = None
    for spelling in spellings:
        said = spelling.from_operation(operation)
        if said is None:
            continue
        calls = said if isinstance(said, tuple) else (said,)
        meanings = joined([meant for call in calls for meant in call.to_operations()])
        if meanings == (operation,):
            return calls, meanings
        lost = _distance(operation, meanings)
        if best is None or lost < best[0]:
            best = (lost, calls, meanings)
    return None if best is None else best[1:]


def _distance(operation: op.Operation, meanings: tuple[op.Operation, ...]) -> int:
    if len(meanings) != 1 or type(meanings[0]) is not type(operation):
        return 1000 + len(meanings)
    return sum(getattr(meanings[0], field) != getattr(operation, field) for field in operation.__struct_fields__)


def tag_of(operation: op.Operation) -> str:
    return str(operation.__struct_config__.tag)
