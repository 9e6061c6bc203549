"""The laws every dialect is held to, each for one sample: the tests draw many, `dragoman dialect check` tries some.

A law gives the problems it finds; none means it holds. Nothing here knows a single dialect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from dragoman.dialects.base.availability import AnySpelling
from dragoman.dialects.base.default_words import text_of, up_to_here
from dragoman.dialects.base.dialect import Dialect
from dragoman.dialects.base.doubt import DOUBTED, doubted
from dragoman.dialects.base.writing import joined
from dragoman.errors import DefinitionError, DragomanError, Unspeakable
from dragoman.model import operations as op
from dragoman.model.calls import Call, NativeCall, NativeResult
from dragoman.model.outcomes import Failure, FileOutcome, Outcome, TextOutcome
from dragoman.model.request import FunctionDefinition, ProviderDefinition
from dragoman.schema import Reader

from .samples import ODD_VALUES, plain_outcomes, plain_values, telling_values

LEGAL_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
DIALECT_NAME: Final = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")
TO_DO: Final = "TODO"
"""How a reason begins that the author still has to write."""


class Problem(msgspec.Struct, frozen=True):
    """A law that does not hold: which, where in the vocabulary, what happens, and how it is fixed."""

    law: str
    where: str
    what: str
    fix: str


# ── what is offered ──────────────────────────────────────────────────────────


def definition_problems(dialect: Dialect) -> Iterator[Problem]:
    """Definitions are well formed, unique, described, and always in the same order."""
    if not DIALECT_NAME.fullmatch(dialect.name):
        what = "is no name for a dialect: small letters, digits and _, as in acme.shell"
        yield Problem("names", dialect.name, what, "give it another name")
    definitions = dialect.definitions()
    if definitions != dialect.definitions():
        yield Problem("order", dialect.name, "its definitions come in another order each time", "list them in a tuple")
    seen: set[tuple[str | None, str | None]] = set()
    for definition in definitions:
        if isinstance(definition, ProviderDefinition):
            continue  # named and described by the provider
        name, namespace = definition.name, getattr(definition, "namespace", None)
        if (namespace, name) in seen:
            yield Problem("names", name, "is offered twice", "keep one, or give both the versions that had them")
        seen.add((namespace, name))
        if not LEGAL_NAME.fullmatch(name):
            what = "is no name a provider accepts: letters, digits, _ and -, at most 64, no digit first"
            yield Problem("names", name, what, "write the name exactly as the client offers it")
        if not definition.description:
            yield Problem("descriptions", name, "is offered without a word about it", "describe what it does")
        if isinstance(definition, FunctionDefinition):
            yield from _schema_problems(definition)


def _schema_problems(definition: FunctionDefinition) -> Iterator[Problem]:
    try:
        Reader.of_schema(definition.name, definition.parameters)
    except DefinitionError as error:
        for problem in error.problems:
            yield Problem("schema", definition.name, problem, "fix the parameter's type or schema")
    for parameter, schema in definition.parameters["properties"].items():
        if not schema.get("description"):
            where = f"{definition.name}.{parameter}"
            yield Problem("descriptions", where, "is offered without a word about it", "describe what it is for")


def spoken(dialect: Dialect) -> tuple[str, ...]:
    """The tags of the operations that some tool of this vocabulary can write."""
    types = {operation for one in dialect.spellings if one.read_only is None for operation in one.operation_types}
    return tuple(tag for tag, operation in op.OPERATIONS.items() if operation in types)


# ── calls ────────────────────────────────────────────────────────────────────


def sayable(dialect: Dialect, operation: op.Operation) -> bool:
    """Whether this very value can be said."""
    try:
        return bool(dialect.write_call("1", operation))
    except Unspeakable:
        return False


def writing_problems(dialect: Dialect, operation: op.Operation) -> Iterator[Problem]:
    """What is written reads back as the same operation but for the stated loss."""
    tag = _tag(operation)
    try:
        written = dialect.write_call("1", operation)
    except Unspeakable:
        return  # this value cannot be said: an honest answer, bounded by `silence_problems`
    read = joined([meant for call in written for meant in dialect.read_call(call).operations])
    spelled = [dialect.spelling_of(call) for call in written]
    stated = {
        field.rpartition(".")[2] for one in spelled if one is not None for field in (*one.unsaid, *one.approximated)
    }
    where = f"{written[0].name if written else '?'} ({tag})"
    if [type(one) for one in read] != [type(operation)]:
        heard = [_tag(one) for one in read] or [f"{failure.message}" for failure in _failures(dialect, written)]
        fix = "make reading and writing exact inverses"
        yield Problem("read(write)", where, f"{operation!r} reads back as {', '.join(heard) or 'nothing'}", fix)
        return
    for field in operation.__struct_fields__:
        before, after = getattr(operation, field), getattr(read[0], field)
        if field not in stated and before != after:
            what = f"{field} is lost and nobody says so: {before!r} reads back as {after!r}"
            yield Problem("read(write)", where, what, f"say it, or state {field} as unsaid or approximated")


def _failures(dialect: Dialect, written: Iterable[NativeCall]) -> list[Failure]:
    return [failure for call in written if (failure := dialect.read_call(call).failure) is not None]


def silence_problems(dialect: Dialect, tag: str) -> Iterator[Problem]:
    """The plainest values of a spoken operation can be said."""
    if not any(sayable(dialect, sample) for sample in plain_values(op.OPERATIONS[tag])):
        yield Problem(
            "silence",
            tag,
            "is spoken, and none of its plainest values can be said",
            "give required parameters a meaning, or leave the operation unspoken with a reason",
        )


def argument_problems(dialect: Dialect, spelling: AnySpelling, arguments: dict[str, Any] | str) -> Iterator[Problem]:
    """Any arguments give operations or a typed failure, under every name the tool had."""
    for name in (spelling.native_name, *spelling.formerly):
        native = NativeCall("1", name, arguments, namespace=spelling.namespace)
        call = dialect.read_call(native)
        if call.native is not native:
            yield Problem("arguments", name, "the call read is not the call given", "keep the native call as it is")
        if bool(call.operations) == isinstance(call.failure, Failure):
            what = f"{arguments!r:.200} gives {'both operations and' if call.operations else 'neither operations nor'}"
            yield Problem("arguments", name, f"{what} a failure", "mean at least one operation, or raise ValueError")
        wrong = _wrong_types(call)
        if wrong is not None:
            what = f"the operation gets a value it cannot hold ({wrong}): from {arguments!r:.200}"
            yield Problem("arguments", name, what, "give the parameter the type of what it means, or a conversion")


def _wrong_types(call: Call) -> str | None:
    """Why a call is not the same after it was JSON: nothing else looks at the types of what was read."""
    try:
        same = msgspec.json.decode(msgspec.json.encode(call), type=Call) == call
    except msgspec.ValidationError as error:
        return str(error)
    return None if same else "it is another one after JSON"


def unknown_problems(dialect: Dialect, name: str, arguments: dict[str, Any]) -> Iterator[Problem]:
    """An unknown tool is kept as it was."""
    operations = dialect.read_call(NativeCall("1", name, arguments)).operations
    if [type(one) for one in operations] != [op.Unrecognised]:
        what = f"an unknown tool is read as {', '.join(map(_tag, operations)) or 'nothing'}"
        yield Problem("unknown tools", name, what, "let names of MCP tools have a mark of their own")


# ── results ──────────────────────────────────────────────────────────────────


def telling_problems(dialect: Dialect, operation: op.Operation, outcome: Outcome) -> Iterator[Problem]:
    """What a result tells is understood again; what survived being told once is told for ever."""
    call = dialect.read_call(dialect.write_call("1", operation)[0])
    where = f"{call.native.name} ({_tag(operation)})"
    first = _told_and_understood(dialect, call, outcome)
    second = _told_and_understood(dialect, call, first)
    if second != first:
        what = f"{first!r:.300} is understood as {second!r:.300} when it is told again"
        yield Problem("results", where, what, "make `to_outcome` read what `from_outcome` writes")
    if _is_doubted(dialect, call, outcome, first):
        return
    spelled = dialect.spelling_of(call.native)
    # Lines of a file that goes on may be told without the newline of the last one, and no other way.
    same = (outcome, up_to_here(operation, outcome)) if isinstance(outcome, FileOutcome) else (outcome,)
    if spelled is not None and spelled.results is not None and type(outcome) in spelled.tells:
        same = (*same, spelled.results.as_said(operation, outcome))
    for field in () if spelled is None else spelled.tells.get(type(outcome), ()):
        if getattr(first, field, None) not in [getattr(one, field) for one in same]:
            what = f"{field} is told and not understood: {getattr(outcome, field)!r:.200}"
            yield Problem("results", where, what, "read it in `to_outcome`, or take it out of `tells`")


def _is_doubted(dialect: Dialect, call: Call, outcome: Outcome, understood: Outcome) -> bool:
    """Whether a result stayed text because its words may say something else: a file that holds nothing but "OK"."""
    if type(outcome) not in DOUBTED or not isinstance(understood, TextOutcome):
        return False
    told = dialect.write_result(call, (outcome,) * len(call.operations))
    return understood.text == text_of(told.content) and doubted(outcome, told, call.operations) != outcome


def _told_and_understood(dialect: Dialect, call: Call, outcome: Outcome) -> Outcome:
    return dialect.read_result(call, dialect.write_result(call, (outcome,) * len(call.operations))).outcomes[0]


def hearing_problems(dialect: Dialect, operation: op.Operation, native: NativeResult) -> Iterator[Problem]:
    """Any result is understood as something, one outcome for each operation."""
    call = dialect.read_call(dialect.write_call("1", operation)[0])
    result = dialect.read_result(call, native)
    if result.native is not native or len(result.outcomes) != len(call.operations):
        what = f"{len(result.outcomes)} outcomes for {len(call.operations)} operations"
        yield Problem("results", call.native.name, what, "give one outcome for each operation")


def failure_problems(dialect: Dialect, operation: op.Operation, failure: Failure) -> Iterator[Problem]:
    """A failure is written as a failure and read back as one."""
    call = dialect.read_call(dialect.write_call("1", operation)[0])
    understood = dialect.read_result(call, dialect.write_result(call, (failure,))).outcomes[0]
    if not isinstance(understood, Failure):
        what = f"a failure ({failure.kind}) is understood as {understood!r:.200}"
        yield Problem("failures", call.native.name, what, "flag failures as errors, or word them so that they show")


# ── all of them, on samples ──────────────────────────────────────────────────


def check(dialect: Dialect) -> list[Problem]:
    """Every problem the laws find with samples, each once."""
    found = [
        *to_do(dialect),
        *_guarded("definitions", dialect.name, lambda: definition_problems(dialect)),
        *(problem for tag in spoken(dialect) for problem in _operation_problems(dialect, tag)),
        *(problem for spelling in dialect.spellings for problem in _reading_problems(dialect, spelling)),
        *_guarded("unknown tools", dialect.name, lambda: unknown_problems(dialect, "zz no such tool", {"a": 1})),
    ]
    first_of_kind: dict[tuple[str, str, str], Problem] = {}
    for problem in found:
        # The same thing shown by another sample is the same problem.
        first_of_kind.setdefault((problem.law, problem.where, problem.what.partition(": ")[0][:60]), problem)
    return list(first_of_kind.values())


def _operation_problems(dialect: Dialect, tag: str) -> Iterator[Problem]:
    yield from _guarded("silence", tag, lambda: silence_problems(dialect, tag))
    for sample in telling_values(op.OPERATIONS[tag]):
        yield from _guarded("read(write)", tag, lambda sample=sample: writing_problems(dialect, sample))  # type: ignore[misc]
    yield from _guarded("results", tag, lambda: _result_problems(dialect, tag))


def _result_problems(dialect: Dialect, tag: str) -> Iterator[Problem]:
    operation = next((one for one in plain_values(op.OPERATIONS[tag]) if sayable(dialect, one)), None)
    if operation is None:
        return  # which is a problem of its own
    for outcome in plain_outcomes(operation):
        yield from telling_problems(dialect, operation, outcome)
    for content in ("", "some words", '{"type":"text"}', "Error: it went wrong"):
        for is_error in (None, True, False):
            for item in (None, {}, "text", {"status": "failed"}):
                yield from hearing_problems(dialect, operation, NativeResult("1", content, is_error, item=item))
    for kind in ("failed", "denied", "timed_out", "cancelled", "invalid_arguments", "unknown_tool"):
        yield from failure_problems(dialect, operation, Failure(kind, "it went wrong"))


def _reading_problems(dialect: Dialect, spelling: AnySpelling) -> Iterator[Problem]:
    for arguments in _odd_arguments(spelling):
        yield from _guarded(
            "arguments",
            spelling.native_name,
            lambda arguments=arguments: argument_problems(dialect, spelling, arguments),  # type: ignore[misc]
        )


def _odd_arguments(spelling: AnySpelling) -> Iterator[dict[str, Any] | str]:
    names = spelling.__struct_encode_fields__
    yield from ({}, {"zz": 1}, "", "some words")
    for value in ODD_VALUES:
        yield dict.fromkeys(names, value)
        for name in names:
            yield {name: value}
            yield {**dict.fromkeys(names, "a"), name: value}


def _guarded(law: str, where: str, find: Callable[[], Iterable[Problem]]) -> list[Problem]:
    """A dialect that raises where it must not has a problem too; what it raised is shown."""
    try:
        return list(find())
    except (Exception, SystemExit) as error:  # noqa: BLE001 - its methods are anybody's code
        place = "" if isinstance(error, DragomanError) else _line_of(error)
        what = f"{type(error).__name__}: {error}{place}"
        return [Problem(law, where, what, "raise ValueError for arguments without meaning; return None for a value")]


def _line_of(error: BaseException) -> str:
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""


# ── what is left to do ───────────────────────────────────────────────────────


def to_do(dialect: Dialect) -> Iterator[Problem]:
    """Reasons that the author still has to write: what a skeleton leaves open."""
    fix = "say what it means, or why it has no meaning outside this client"
    for steer in dialect.steering:
        yield from _left("tool", steer.name, {"": steer.reason}, fix)
    for spelling in dialect.spellings:
        native = zip(spelling.__struct_fields__, spelling.__struct_encode_fields__, strict=True)
        reasons = {wire: spelling.parameters[field].reason or "" for field, wire in native}
        inside = {
            f"{field}.{name}": reason
            for field, declared in spelling.parameters.items()
            for name, reason in declared.without.items()
        }
        yield from _left("parameter", spelling.native_name, {**reasons, **inside}, fix)
        yield from _left("field", spelling.native_name, {**spelling.unsaid, **spelling.approximated}, "give the reason")
        native = zip(spelling.__struct_fields__, spelling.__struct_encode_fields__, strict=True)
        words = {wire: spelling.parameters[field].description for field, wire in native}
        yield from _left("description", spelling.native_name, {"": spelling.__doc__ or "", **words}, "describe it")
    tags = {operation.__struct_config__.tag: reason for operation, reason in dialect.unspoken.items()}
    yield from _left("operation", dialect.name, {str(tag): reason for tag, reason in tags.items()}, "give the reason")


def _left(kind: str, where: str, reasons: Mapping[str, str], fix: str) -> Iterator[Problem]:
    for name, reason in reasons.items():
        if reason.lstrip().startswith(TO_DO):
            yield Problem("to do", f"{where}.{name}".rstrip("."), f"this {kind} is left to do: {reason.strip()}", fix)


def _tag(operation: op.Operation) -> str:
    return str(operation.__struct_config__.tag)
