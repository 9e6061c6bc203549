"""Reading one call with the spellings of its name: plainly where it fits as it is, leniently where nothing does."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from dragoman.errors import ToolError
from dragoman.model import operations as op
from dragoman.model.calls import Call, Coercion, ExecutedBy, NativeCall, NativeResult
from dragoman.model.json_text import converted
from dragoman.model.outcomes import Failure, FailureKind, Outcome
from dragoman.schema import Reader

from .availability import AnySpelling
from .spelling import Spelling, knows_all, left_over, structs_in

_HERE = ExecutedBy.CLIENT  # for what runs for every call: reaching a member is slow
_convert = msgspec.convert


def is_plain(native: NativeCall) -> bool:
    """Whether a call is run here and says no more than its name and its arguments, as nearly every one does."""
    return native.item is None and native.executed_by is _HERE and native.namespace is None


class UnspelledReader:
    """Reads the results of calls that have no spelling."""

    def __init__(self, understand: Callable[[op.Operation, NativeResult], Outcome]) -> None:
        self._understand = understand

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[Outcome, ...]:
        """One outcome per operation."""
        return tuple([self._understand(operation, native) for operation in operations])


ResultReader = Spelling[Any] | UnspelledReader
CallReading = tuple[Call, ResultReader | None]
"""A call, and what reads its result where that is known: the spelling it fits as it is."""

Nested = tuple[tuple[str, type[msgspec.Struct]], ...]
Plain = tuple[tuple[AnySpelling, frozenset[str], Nested], ...]
"""The spellings of a name, each with the names of its parameters that mean something, and those that hold objects."""


def read_plainly(spellings: Plain, native: NativeCall) -> CallReading | None:
    """A call that fits a spelling of its name as it is and says nothing else; `None`: it has to be looked at.

    Nearly every call does, so this is all that reading one takes; of such a call all else here says the same.
    """
    arguments = native.arguments
    if type(arguments) is not dict:
        return None
    for spelling, meaningful, nested in spellings:
        if not meaningful.issuperset(arguments) or (nested and not _knows_inside(nested, arguments)):
            continue
        try:
            said = _convert(arguments, spelling)
            return Call(native.id, said.to_operations(), native), said
        except (ValueError, ToolError):
            continue
    return None


def read_best(spellings: tuple[AnySpelling, ...], native: NativeCall) -> CallReading:
    """Reads with the first spelling that fits; of several shapes under one name, the one that leaves least unmapped."""
    read: list[CallReading] = []
    fitting: list[Spelling[Any]] = []
    able, arguments = spellings, native.arguments
    if not isinstance(arguments, str):
        able = tuple([spelling for spelling in spellings if spelling.required.issubset(arguments)])
        if not able:  # then what is missing is said by the one that leaves least unmapped
            return read_as(min(spellings, key=lambda spelling: len(arguments.keys() - spelling.meaningful)), native)
    for spelling in able:
        said = _strictly(spelling, native.arguments)
        if said is None:
            continue
        if _says_all(spelling, native.arguments):
            reading = _meant(said, native, {})
            if reading[0].failure is None:
                return reading
            read.append(reading)
        else:
            fitting.append(said)
    read += [_meant(said, native, _unmapped(type(said), native.arguments)) for said in fitting]
    if all(call.failure is not None for call, _ in read):  # liberties are only taken where nothing fits as it is
        read = [read_as(spelling, native) for spelling in able]
    return min(read, key=_misfit)


def _misfit(reading: CallReading) -> tuple[bool, int, int]:
    call = reading[0]
    return (call.failure is not None, len(call.coercions), len(call.unmapped))


def read_as(spelling: AnySpelling, native: NativeCall) -> CallReading:
    """Reads with one spelling, if need be with the liberties a tool takes."""
    said = _strictly(spelling, native.arguments)
    unmapped = _unmapped(spelling, native.arguments)
    if said is not None:
        return _meant(said, native, unmapped)
    arguments = as_mapping(spelling, native.arguments)
    if arguments is None:
        return unread(native, f"expected a JSON object, got {native.arguments!r:.80}"), None
    if arguments.keys().isdisjoint(spelling.__struct_encode_fields__):
        refused = _refusal_of_nothing(spelling, native.name)
        if refused is not None:
            failure = Failure("invalid_arguments", refused[0], {"problems": [dict(one) for one in refused[1]]})
            return Call(native.id, (), native, unmapped, failure=failure), None
    try:
        said, coercions = _leniently(spelling, arguments, native.name)
    except ToolError as error:
        failure = Failure("invalid_arguments", str(error), error.details)
        return Call(native.id, (), native, unmapped, failure=failure), None
    return _meant(said, native, unmapped, coercions)


def _strictly(spelling: AnySpelling, said: dict[str, Any] | str) -> Spelling[Any] | None:
    """The arguments as they are, `None` when one is missing or not of its type."""
    arguments = said if isinstance(said, dict) else as_mapping(spelling, said)
    if arguments is None or not arguments.keys() >= spelling.required:
        return None
    try:
        return converted(arguments, spelling)
    except msgspec.ValidationError:
        return None


def _says_all(spelling: AnySpelling, arguments: dict[str, Any] | str) -> bool:
    """Whether nothing is left unmapped."""
    if type(arguments) is not dict:
        return True
    return spelling.meaningful.issuperset(arguments) and _knows_inside(structs_in(spelling), arguments)


def _knows_inside(nested: Nested, arguments: dict[str, Any]) -> bool:
    """Whether nothing stands inside the arguments that hold objects that is not known there."""
    for wire, struct in nested:  # noqa: SIM110 - a generator costs as much as what it would do here
        if wire in arguments and not knows_all(struct, arguments[wire]):
            return False
    return True


def _unmapped(spelling: AnySpelling, arguments: dict[str, Any] | str) -> dict[str, Any]:
    if isinstance(arguments, str):
        return {}
    meaningful = spelling.meaningful
    unmapped: dict[str, Any] = {}
    if not meaningful.issuperset(arguments):
        unmapped = {key: value for key, value in arguments.items() if key not in meaningful}
    for wire, struct in structs_in(spelling):
        if wire in arguments and wire not in unmapped:
            unmapped.update(left_over(struct, arguments[wire], wire))
    return unmapped


def _meant(
    said: Spelling[Any], native: NativeCall, unmapped: dict[str, Any], coercions: tuple[Coercion, ...] = ()
) -> CallReading:
    try:
        operations = said.to_operations()
    except ValueError as error:
        return unread(native, str(error), unmapped), None
    except ToolError as error:  # the call itself says that, and how, it went wrong
        kind = msgspec.convert(error.kind, FailureKind)
        return Call(native.id, (), native, unmapped, failure=Failure(kind, error.message, error.details)), None
    return Call(native.id, operations, native, unmapped, coercions), said


def as_mapping(spelling: AnySpelling, arguments: dict[str, Any] | str) -> dict[str, Any] | None:
    if isinstance(arguments, dict):
        return arguments
    return {spelling.freeform.field: arguments} if spelling.freeform is not None else None


def convert_leniently(spelling: AnySpelling, arguments: dict[str, Any], name: str) -> Spelling[Any]:
    try:
        said: Spelling[Any] = converted(arguments, spelling)
        return said
    except msgspec.ValidationError:
        return _leniently(spelling, arguments, name)[0]


def _leniently(
    spelling: AnySpelling, arguments: dict[str, Any], name: str
) -> tuple[Spelling[Any], tuple[Coercion, ...]]:
    """Reads sloppy arguments as a tool would, each liberty taken reported; raises `ToolError` when that fails too."""
    known = {name: arguments[name] for name in spelling.__struct_encode_fields__ if name in arguments}
    said, coerced = _reader(spelling, name).read(known)
    return said, tuple(Coercion(*each) for each in coerced)


@cache
def _refusal_of_nothing(spelling: AnySpelling, name: str) -> tuple[str, list[dict[str, Any]]] | None:
    """What is wrong with a call that says nothing the tool knows: a reply that was cut leaves many of them in a log."""
    try:
        _reader(spelling, name).read({})
    except ToolError as error:
        return error.message, error.details["problems"]
    return None


@cache
def _reader(spelling: AnySpelling, name: str) -> Reader[Spelling[Any]]:
    """A reader that speaks of the tool by the name it was called."""
    return Reader.of_type(spelling, name)


def unread(native: NativeCall, message: str, unmapped: dict[str, Any] | None = None) -> Call:
    details = {"tool": native.name, "problems": [{"path": "", "message": message}]}
    failure = Failure("invalid_arguments", f"{native.name}: {message}", details)
    return Call(native.id, (), native, unmapped or {}, failure=failure)
