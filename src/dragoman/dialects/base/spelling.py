"""How one vocabulary says one tool: a class whose fields are the native parameters.

From the one class come the schema offered to a model, reading a call (live or logged), writing
one, telling a result and reading one back, older names and shapes, and the declared loss.

Rules, checked when the class is created: every native parameter means something or is
`native_only` with a reason; every field of the operation is said, or `unsaid` with a reason
(its own, or the usual one of `reasons.py`), unless the tool is only read; overriding one
direction obliges the other, or a `read_only` reason.
"""

from __future__ import annotations

import re
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any, ClassVar, Generic, Literal, TypeVar, dataclass_transform

import msgspec

from dragoman.errors import DefinitionError
from dragoman.model import operations as op
from dragoman.model.calls import Content as Content, ExecutedBy, NativeResult
from dragoman.model.edit_rules import EditRules
from dragoman.model.outcomes import Failure, Outcome

from .conversions import (
    EMPTY_IS_UNSAID as EMPTY_IS_UNSAID,
    SECONDS as SECONDS,
    TEXT_OF_NUMBER as TEXT_OF_NUMBER,
    TUPLE as TUPLE,
    WHOLE as WHOLE,
    Conversion as Conversion,
    sayable_number as sayable_number,
    whole_number as whole_number,
)
from .default_words import Tells as Tells, tell, tell_all, understand
from .parts import Part, builder, calls_for, part_of, struct_in
from .reasons import UNSAID
from .refusals import Refusals as Refusals
from .versions import Row, absent as absent, earlier_classes, reasons_in, spans_of, was as was
from .words import Results

Spoken = TypeVar("Spoken", bound=op.Operation)
ResultWords = Results
NativeContent = tuple[Content, bool | None] | tuple[Content, bool | None, Any]
"""A result: its content, the error flag where the vocabulary sets one, and its item where text is not enough."""


class _Required:
    """Marks a parameter without a default."""

    def __repr__(self) -> str:
        return "required"


REQUIRED: Any = _Required()


class Parameter(msgspec.Struct, frozen=True):
    """What is declared of one native parameter. Exactly one of `means` and `reason` is given in the end."""

    means: str | None = None
    reason: str | None = None
    description: str = ""
    default: Any = REQUIRED
    name: str | None = None
    convert: Conversion | None = None
    since: str | None = None
    until: str | None = None
    schema: Mapping[str, Any] | None = None
    without: Mapping[str, str] = {}
    unhonoured: Mapping[str, str] = {}
    was: tuple[Row, ...] = ()
    inside: str | None = None
    """The field within the field that it means: `old` in `edits.old`."""

    @property
    def is_required(self) -> bool:
        return self.default is REQUIRED


def means(
    canonical: str | None = None,
    description: str = "",
    *,
    default: Any = REQUIRED,
    name: str | None = None,
    convert: Conversion | None = None,
    since: str | None = None,
    until: str | None = None,
    schema: Mapping[str, Any] | None = None,
    without: Mapping[str, str] = {},
    unhonoured: Mapping[str, str] = {},
    was: Row | tuple[Row, ...] = (),
) -> Any:
    """A native parameter that means the operation's field `canonical` (its own name when not given).

    `edits.old` means the field `old` of each item of `edits`: a call says one item, and an operation with several
    becomes several calls.
    `name` is the native name where it is no identifier; `since` and `until` are the first and last
    versions that had it; `schema` adds to what is offered (a bound, an enum); `without` names what
    stands inside it and has no meaning, with the reasons: kept, never offered; `unhonoured`
    describes it where whoever runs the tool does not honour a field of the operation, by that field;
    `was` says how it was before `since` (see `versions.py`).
    """
    field, _, inside = (canonical or "").partition(".")
    return Parameter(
        field or None,
        None,
        description,
        default,
        name,
        convert,
        since,
        until,
        schema,
        without,
        unhonoured,
        was if isinstance(was, tuple) else (was,),
        inside or None,
    )


def native_only(
    reason: str,
    *,
    default: Any = None,
    name: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> Any:
    """A native parameter without shared meaning: read and kept, never offered, because of `reason`."""
    return Parameter(None, reason, "", default, name, None, since, until)


class Freeform(msgspec.Struct, frozen=True):
    """A tool whose input is text: the field that holds it, and the grammar it is offered with."""

    field: str
    syntax: Literal["lark", "regex"] | None = None
    grammar: str | None = None


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(means, native_only))
class SpellingMeta(msgspec.StructMeta):
    """Turns declared parameters into the fields of a struct, and checks the declaration."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> Any:
        parameters: dict[str, Parameter] = {}
        annotations = dict(namespace.get("__annotations__", {}))
        for field, annotation in annotations.items():
            if not str(annotation).startswith("ClassVar"):
                declared = namespace.get(field, REQUIRED)
                parameters[field] = declared if isinstance(declared, Parameter) else Parameter(default=declared)
        spans = spans_of(parameters, annotations, namespace)
        earlier: tuple[Any, ...] = ()
        if len(spans) > 1:
            earlier = earlier_classes(lambda older, facts: mcls(older, bases, dict(facts)), name, namespace, spans[1:])
            namespace = {key: value for key, value in namespace.items() if key not in parameters}
            namespace |= {"since": spans[0].since, **reasons_in(namespace, spans[0])}
            parameters, annotations = spans[0].parameters, spans[0].annotations
            namespace["__annotations__"] = annotations
        for field, declared in parameters.items():
            if declared.default is REQUIRED:
                namespace.pop(field, None)
            else:
                namespace[field] = declared.default
        renamed = {field: parameter.name for field, parameter in parameters.items() if parameter.name}
        if renamed:
            config["rename"] = renamed
        if any(base.__dictoffset__ for base in bases):
            config.setdefault("gc", True)  # a base without slots may hold anything, and what may refer to itself
        cls: Any = super().__new__(mcls, name, bases, namespace, frozen=True, kw_only=True, **config)
        inherited = getattr(cls.__base__, "parameters", {})
        cls.parameters = {**inherited, **parameters}
        cls.earlier = earlier
        if cls.native_name:
            _declare(cls)
        return cls


class Spelling(msgspec.Struct, Generic[Spoken], metaclass=SpellingMeta, gc=False):
    """The root of all spellings; see the module."""

    native_name: ClassVar[str] = ""
    namespace: ClassVar[str | None] = None
    formerly: ClassVar[tuple[str, ...]] = ()
    """Older names: read, never offered."""
    unsaid: ClassVar[Mapping[str, str]] = {}
    """Fields of the operation this tool cannot say, with the reason."""
    approximated: ClassVar[Mapping[str, str]] = {}
    """Fields it says only nearly, with the reason."""
    always: ClassVar[Mapping[str, Any]] = {}
    """Fields of the operation that this tool implies."""
    unhonoured: ClassVar[Mapping[str, str]] = {}
    """The description to offer where the runner of the tool ignores a field, by that field."""
    unless_said: ClassVar[Mapping[str, Any]] = {}
    """What the client does where a call leaves a field out; our own runner does the same."""
    read_only: ClassVar[str | None] = None
    """Why it is read and never written."""
    since: ClassVar[str | None] = None
    until: ClassVar[str | None] = None
    """First and last version that offered it; no last one: the newest does."""
    bounds_tried: ClassVar[bool] = False
    """Whether these versions were run, so that calls of versions between two captured ones are read by them."""
    earlier: ClassVar[tuple[type[Spelling[Any]], ...]] = ()
    """The same tool in earlier versions, made from the rows of its parameters."""
    described_until: ClassVar[Mapping[str, str]] = {}
    """The description offered up to a version, where the docstring does not fit it."""
    families: ClassVar[tuple[str, ...] | None] = None
    """Model families (globs; those with "!" before them are left out) that are offered it; `None`: all."""
    on_request: ClassVar[str | None] = None
    """Why it is not offered unless asked for by name."""
    on_request_since: ClassVar[str | None] = None
    """First version of which that is true; `None`: it always was."""
    only_by_id: ClassVar[str | None] = None
    """Why it is never offered for an operation, only as the provider's tool that was asked for by its id."""
    partial: ClassVar[str | None] = None
    """Why it does not stand for its operations: it reaches a part of what they can, so other tools are offered too."""
    freeform: ClassVar[Freeform | None] = None
    wire_type: ClassVar[str | None] = None
    settings: ClassVar[Mapping[str, Any]] = {}
    """What goes out beside the type of a tool the provider defines."""
    edit_rules: ClassVar[EditRules | None] = None
    """How the client finds the places of edits; `None`: exactly as they are written."""
    edit_rules_until: ClassVar[Mapping[str, EditRules]] = {}
    """The same up to a version, the earliest first."""
    refusals: ClassVar[Refusals | None] = None
    """The client's words for an edit that is refused."""
    provider_id: ClassVar[str | None] = None
    executed_by: ClassVar[ExecutedBy] = ExecutedBy.CLIENT

    operation_types: ClassVar[tuple[type[op.Operation], ...]] = ()
    parameters: ClassVar[dict[str, Parameter]] = {}
    meaningful: ClassVar[frozenset[str]] = frozenset()
    """The native names of the parameters that mean something."""
    required: ClassVar[frozenset[str]] = frozenset()
    """The native names of those without which a call cannot be read."""
    reshaped: ClassVar[bool] = False
    parts: ClassVar[Mapping[str, Part]] = {}
    refine: ClassVar[Callable[[Any], op.Operation] | None] = None
    """What a call means after all, given the operation its parameters say: nothing replaced by a text makes a file."""
    _build: ClassVar[Callable[[Any], op.Operation]]

    def to_operations(self) -> tuple[op.Operation, ...]:
        """What this call means."""
        return (type(self)._build(self),)

    @classmethod
    def from_operation(cls, operation: Spoken) -> Any:
        """This operation as a call of this tool, several calls, or `None` when it cannot say this value."""
        if any(getattr(operation, field) != implied for field, implied in cls.always.items()):
            return None
        try:
            return calls_for(cls, operation)
        except ValueError:
            return None  # a value this tool has no form for, or one it requires and was not said

    def meant_instead(self, operation: op.Operation, failure: Failure) -> op.Operation | None:
        """What this call means instead if `operation` failed like this: a folder where a file was expected."""
        return None

    def from_outcome(self, operation: op.Operation, outcome: Outcome) -> Content:
        """The outcome in this tool's wording. Failures are worded by the dialect."""
        told = None if self.results is None else self.results.write(operation, outcome)
        if told is not None:
            return told
        return tell(operation, outcome)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> Outcome:
        """Reads a result in this tool's wording. Failures that the dialect recognises do not get here."""
        outcome = None if self.results is None else self.results.read(operation, native)
        if outcome is not None:
            return outcome
        return understand(operation, native, has_words=self.results is not None)

    def from_outcomes(self, operations: tuple[op.Operation, ...], outcomes: tuple[Outcome, ...]) -> NativeContent:
        """All outcomes of one call as its one result."""
        if len(outcomes) == 1 and operations:
            flag = None if self.results is None else self.results.is_error(outcomes[0])
            return self.from_outcome(operations[0], outcomes[0]), flag
        return tell_all(operations, outcomes), None

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[Outcome, ...]:
        """One outcome per operation. A result that does not separate them is read for each."""
        if len(operations) == 1:  # as nearly every call has, and a list costs a call of its own
            return (self.to_outcome(operations[0], native),)
        return tuple([self.to_outcome(operation, native) for operation in operations])

    results: ClassVar[ResultWords | None] = None
    """How results are written and read; see `words.py`. Without it: by the default wording, or by the methods above."""
    tells: ClassVar[Tells] = {}
    """The fields of outcomes that this tool's wording preserves."""

    def native_arguments(self) -> dict[str, Any]:
        """The native arguments: every parameter that is not at its default."""
        arguments: dict[str, Any] = {}
        for field, wire, default in _wired(type(self)):
            value = getattr(self, field)
            if default is REQUIRED or value != default:
                arguments[wire] = value if type(value) in _PLAIN else _as_json(msgspec.to_builtins(value))
        return arguments


class ProviderExecuted(Spelling[Spoken]):
    """A tool the provider runs itself: offered by its id, read from its replies, never run here."""

    executed_by = ExecutedBy.PROVIDER


_PLAIN = frozenset((str, int, float, bool, type(None)))


@cache
def _wired(spelling: type[Spelling[Any]]) -> tuple[tuple[str, str, Any], ...]:
    """The fields of a spelling with their native names and defaults."""
    named = zip(spelling.__struct_fields__, spelling.__struct_encode_fields__, strict=True)
    return tuple((field, wire, spelling.parameters[field].default) for field, wire in named)


def _as_json(value: Any) -> Any:
    """A value as JSON would give it back: a tuple is a list."""
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    return {key: _as_json(item) for key, item in value.items()} if isinstance(value, dict) else value


@cache
def structs_in(holder: type[msgspec.Struct]) -> tuple[tuple[str, type[msgspec.Struct]], ...]:
    """The fields that hold structs, or lists of them, by their native names."""
    if not any(map(_may_hold_structs, _annotations(holder))):
        return ()  # to make types of all annotations takes long, and most tools take texts and numbers
    hints = typing.get_type_hints(holder)
    named = zip(holder.__struct_encode_fields__, holder.__struct_fields__, strict=True)
    found = [(wire, struct_in(hints[field])) for wire, field in named]
    return tuple((wire, struct) for wire, struct in found if struct is not None)


def _annotations(holder: type[msgspec.Struct]) -> Iterator[Any]:
    for base in holder.__mro__:
        yield from vars(base).get("__annotations__", {}).values()


_PLAIN = frozenset(["str", "int", "float", "bool", "None", "Any", "dict", "list", "tuple", "Literal"])
_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|([A-Za-z_][\w.]*)")


def _may_hold_structs(annotation: Any) -> bool:
    if not isinstance(annotation, str):
        return True
    return not annotation.startswith("ClassVar") and not _PLAIN.issuperset(filter(None, _WORD.findall(annotation)))


def knows_all(struct: type[msgspec.Struct], value: Any) -> bool:
    """Whether nothing stands inside an argument that is not known there."""
    known, nested = _known_in(struct)
    if isinstance(value, list):
        if not nested and _OBJECTS.issuperset(map(type, value)):
            return known.issuperset(chain.from_iterable(value))
        return all([knows_all(struct, item) for item in value])  # noqa: C419 - twice as fast
    if not isinstance(value, dict):
        return True
    return known.issuperset(value) and all(knows_all(inner, value[wire]) for wire, inner in nested if wire in value)


def left_over(struct: type[msgspec.Struct], value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """What stands inside an argument and is not known there: `todos[0].id`."""
    known, nested = _known_in(struct)
    if isinstance(value, list):
        for index, item in enumerate(value):
            if nested or not isinstance(item, dict) or not known.issuperset(item):
                yield from left_over(struct, item, f"{path}[{index}]")
    elif isinstance(value, dict):
        yield from ((f"{path}.{key}", inner) for key, inner in value.items() if key not in known)
        for wire, inner_struct in nested:
            if wire in value:
                yield from left_over(inner_struct, value[wire], f"{path}.{wire}")


_OBJECTS = frozenset({dict})


@cache
def _known_in(struct: type[msgspec.Struct]) -> tuple[frozenset[str], tuple[tuple[str, type[msgspec.Struct]], ...]]:
    return frozenset(struct.__struct_encode_fields__), structs_in(struct)


_ROOTS = (Spelling, *Spelling.__mro__)


def _declare(cls: Any) -> None:
    """Fills in what follows from a declaration, and refuses a declaration that hides a loss."""
    problems: list[str] = []
    cls.operation_types = _operation_types(cls)
    if not cls.operation_types:
        problems.append("it names no operation: write `class X(Spelling[op.ReadFile])`")
    if not (cls.__doc__ or "").strip():
        problems.append("it has no docstring, which is the description offered to the model")
    reads = cls.to_operations is not Spelling.to_operations
    writes = "from_operation" in {name for base in cls.__mro__ if base not in _ROOTS for name in vars(base)}
    cls.reshaped = reads
    canonical = {field: operation for operation in cls.operation_types for field in operation.__struct_fields__}
    cls.parameters = {
        field: _resolved(field, parameter, canonical, problems, by_method=reads)
        for field, parameter in cls.parameters.items()
    }
    if not problems:
        fields = {
            parameter.means: canonical[parameter.means] for parameter in cls.parameters.values() if parameter.inside
        }
        cls.parts = {field: part_of(operation, field) for field, operation in fields.items()}
    cls.meaningful = frozenset(
        wire
        for field, wire in zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
        if cls.parameters[field].reason is None
    )
    cls.required = frozenset(
        wire
        for field, wire in zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
        if cls.parameters[field].default is REQUIRED
    )
    if cls.results is not None and "tells" not in vars(cls):
        cls.tells = cls.results.tells
    if reads and not writes and cls.read_only is None:
        problems.append("`to_operations` is overridden, so `from_operation` must be too (or `read_only` says why not)")
    if writes and not reads:
        problems.append("`from_operation` is overridden, so `to_operations` must be too")
    if len(cls.operation_types) == 1 and not (reads and cls.read_only):
        cls.unsaid = {**_usually_unsaid(cls), **cls.unsaid}
    if not reads and cls.operation_types:
        problems.extend(_unsaid_problems(cls, canonical))
        if not problems:
            cls._build = builder(cls)
    for declared in (cls.unsaid, cls.approximated):
        problems.extend(
            f"{field!r} is declared lost or approximated, but no such field exists"
            for field in declared
            if field.rpartition(".")[2] not in canonical
        )
    if problems:
        raise DefinitionError(f"spelling {cls.__name__!r} of {cls.native_name!r}", problems, _where(cls))


def _operation_types(cls: Any) -> tuple[type[op.Operation], ...]:
    for base in getattr(cls, "__orig_bases__", ()):
        for argument in typing.get_args(base):
            members = typing.get_args(argument) if isinstance(argument, types.UnionType) else (argument,)
            if all(isinstance(member, type) and issubclass(member, op.Operation) for member in members):
                return tuple(members)
    return ()


def _resolved(
    field: str, parameter: Parameter, canonical: Mapping[str, Any], problems: list[str], *, by_method: bool
) -> Parameter:
    """A bare field means the operation's field of the same name; by a method it may mean anything."""
    if parameter.reason is not None:
        if not parameter.reason.strip():
            problems.append(f"{field!r} is `native_only` without a reason")
        return parameter
    meaning = parameter.means or field
    if meaning in canonical and parameter.inside is not None:
        part = part_of(canonical[meaning], meaning)
        if part is None or parameter.inside not in part.struct.__struct_fields__:
            problems.append(f"{field!r} means {parameter.inside!r} inside {meaning!r}, which is not there")
    if meaning in canonical:
        return msgspec.structs.replace(parameter, means=meaning)
    if parameter.means is not None or not by_method:
        problems.append(f"{field!r} means {meaning!r}, which the operation does not have; name its meaning or a reason")
    return parameter


def _usually_unsaid(cls: Any) -> dict[str, str]:
    """The fields of the operation that no parameter means, with their usual reasons."""
    (operation,) = cls.operation_types
    said = {parameter.means for parameter in cls.parameters.values()}.union(cls.always, cls.approximated)
    reasons = {field: UNSAID.get(f"{operation.__name__}.{field}") for field in operation.__struct_fields__}
    return {field: reason for field, reason in reasons.items() if reason is not None and field not in said}


def _unsaid_problems(cls: Any, canonical: Mapping[str, Any]) -> list[str]:
    if len(cls.operation_types) > 1:
        return ["it speaks several operations, so `to_operations` and `from_operation` must say which"]
    meanings = [(one.means, one.inside) for one in cls.parameters.values() if one.means]
    said = {field for field, _ in meanings}
    operation = cls.operation_types[0]
    required = {field.name for field in msgspec.structs.fields(operation) if field.required}
    problems = [
        f"the operation's {field!r} is neither said nor `unsaid`"
        for field in canonical
        if field not in said and field not in cls.unsaid and field not in cls.always and cls.read_only is None
    ]
    problems += [
        f"two parameters mean {'.'.join(filter(None, meaning))!r}, so a method must say which"
        for meaning in dict.fromkeys(meanings)
        if meanings.count(meaning) > 1
    ]
    problems += [f"{field!r} is said and `unsaid`" for field in said if field in cls.unsaid]
    problems += [
        f"the operation's {field!r} is required, so it cannot be unsaid" for field in cls.unsaid if field in required
    ]
    return problems


def _where(cls: Any) -> str | None:
    module = sys.modules.get(cls.__module__)
    return getattr(module, "__file__", None)
