"""Dialects written as data: a TOML or YAML file becomes the same classes a Python file would hold.

`docs/howto/add-a-dialect.md` shows one. Rules: nothing in a file is run; every class is made by `SpellingMeta` and held
to its checks; all problems of a file are told at once, each with its place.
"""

from __future__ import annotations

import keyword
import re
import types
import typing
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

import msgspec

from dragoman.dialects.base.availability import AnySpelling
from dragoman.dialects.base.conversions import (
    EMPTY_IS_UNSAID,
    FROM_ZERO,
    INVERTED,
    LINE_COUNT,
    SAME,
    SECONDS,
    TEXT_OF_NUMBER,
    WHOLE,
    WHOLE_SECONDS,
    Conversion,
    unless_none,
    whole,
)
from dragoman.dialects.base.dialect import Dialect, Steer
from dragoman.dialects.base.mcp_names import McpNames
from dragoman.dialects.base.parts import struct_in, without_none
from dragoman.dialects.base.spelling import REQUIRED, Parameter, Spelling, SpellingMeta
from dragoman.errors import DefinitionError, nearest
from dragoman.model import operations as op
from dragoman.registry import DIALECTS

from .data_file import MISSING, DataFile, Table, parse
from .laws import TO_DO
from .result_data import results_of

_TO_DO_TOOL: Final = f"{TO_DO}: name its operation, or move it to `steering` with the reason"
_TO_DO_PARAMETER: Final = f"{TO_DO}: say what it means, or give a `native_only` reason"


def from_file(path: Path) -> Dialect:
    """The dialect a TOML or YAML file describes."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise DefinitionError(
            f"dialect file {path.name!r}", [f"cannot be read ({error.strerror})"], str(path)
        ) from error
    return from_source(path, source)


def from_source(path: Path, source: bytes) -> Dialect:
    """The same from the content of a file that was read before."""
    return _from_data(parse(path, source))


def from_content(content: dict[str, Any]) -> Dialect:
    """The same from the values such a file holds."""
    return _from_data(DataFile(Path("values"), content, {}))


def _from_data(file: DataFile) -> Dialect:
    problems: list[str] = []
    dialect = _dialect(Table(file, (), file.content, problems))
    if dialect is None or problems:
        raise DefinitionError(f"dialect file {file.path.name!r}", problems, str(file.path))
    return dialect


def declared_name(path: Path, source: bytes) -> str:
    """The name a file gives its dialect; nothing else of it is looked at."""
    name = parse(path, source).content.get("name")
    if not isinstance(name, str) or not name:
        raise DefinitionError(f"dialect file {path.name!r}", ['it has no `name`: write name = "acme"'], str(path))
    return name


def _dialect(table: Table) -> Dialect | None:
    name = table.text("name")
    table.text("description")  # for people who read the file
    if name is None:
        table.problem('it has no `name`: write name = "acme"')
    tools = [_tool(one) for one in table.tables("tools")]
    if not tools:
        table.problem("it has no tools: write [[tools]] with a name, a description, an operation and parameters")
    steering = [_steer(one) for one in table.tables("steering")]
    unspoken = {_operation(table, tag, "unspoken", tag): why for tag, why in table.reasons("unspoken").items()}
    settings: dict[str, Any] = {
        "mcp": _mcp(table),
        "default_family": table.text("default_family"),
        "captured": table.texts("captured"),
        "provider_dialect": _provider_dialect(table),
    }
    table.close()
    if table.problems:
        return None
    try:
        return Dialect(
            name or "",
            [one for one in tools if isinstance(one, type)],
            unspoken={operation: why for operation, why in unspoken.items() if operation is not None},
            steering=[one for one in [*steering, *tools] if isinstance(one, Steer)],
            **settings,
        )
    except DefinitionError as error:
        table.problems.extend(error.problems)
        return None


def _steer(table: Table) -> Steer:
    name, reason = _needed(table, "name"), _needed(table, "reason")
    steer = Steer(
        name,
        reason,
        parameters=table.texts("parameters"),
        action=table.text("action"),
        namespace=table.text("namespace"),
        formerly=table.texts("formerly"),
        since=table.text("since"),
        until=table.text("until"),
    )
    table.close()
    return steer


def _mcp(table: Table) -> tuple[McpNames, ...]:
    names = []
    for index, template in enumerate(table.texts("mcp")):
        try:
            names.append(McpNames(template))
        except ValueError as error:
            table.problem(str(error), "mcp", index)
    return tuple(names)


def _provider_dialect(table: Table) -> str | None:
    name = table.text("provider_dialect")
    if name is not None and name not in DIALECTS:
        table.problem(f'there is no dialect "{name}".{nearest(name, DIALECTS)}', "provider_dialect")
    return name


def _needed(table: Table, key: str) -> str:
    value = table.text(key)
    if value is None and key not in table.content:
        table.problem(f"it has no `{key}`")
    return value or ""


# ── tools ────────────────────────────────────────────────────────────────────

_NO_MEANING: Final = (op.CallFunction, op.SteerClient, op.Unrecognised)


def _operation(table: Table, tag: str, *place: str) -> type[op.Operation] | None:
    operation = op.OPERATIONS.get(tag)
    if operation is None:
        table.problem(f'there is no operation "{tag}".{nearest(tag, op.OPERATIONS)}', *place)
    return operation


def _tool(table: Table) -> AnySpelling | Steer | None:
    before = len(table.problems)
    name, tag = _needed(table, "name"), _needed(table, "operation")
    operation = None if tag in ("", TO_DO) else _operation(table, tag, "operation")
    if operation in _NO_MEANING:
        table.problem("a tool without shared meaning is listed under `steering`, with the reason", "operation")
    class_facts: dict[str, Any] = {
        "native_name": name,
        "__doc__": _needed(table, "description"),
        "namespace": table.text("namespace"),
        "formerly": table.texts("formerly"),
        "since": table.text("since"),
        "until": table.text("until"),
        "on_request": table.text("on_request"),
        "read_only": table.text("read_only"),
        "families": table.texts("families") or None,
        "unsaid": table.reasons("unsaid"),
        "approximated": table.reasons("approximated"),
    }
    class_facts["results"] = results_of(table, operation)
    implied = table.table("always")
    parameters = table.table("parameters")
    table.close()
    if operation is None:
        names = () if parameters is None else tuple(parameters.content)
        to_do = Steer(name, _TO_DO_TOOL, names, None, class_facts["namespace"], class_facts["formerly"])
        return to_do if tag == TO_DO else None
    fields = _Fields(operation)
    class_facts["always"] = {} if implied is None else _always(implied, fields)
    for lost in ("unsaid", "approximated"):
        for field in class_facts[lost]:
            fields.check(table, field, lost, field)
    inner = [] if parameters is None else parameters.inner_tables()
    declared = [_parameter(key, one, fields, class_facts["approximated"]) for key, one in inner]
    meanings = {one.parameter.means for one in declared if one is not None}
    for field in class_facts["always"]:
        if field in meanings:
            table.problem("is implied and said by a parameter: keep one", "always", field)
    if len(table.problems) > before:
        return None
    return _made(table, operation, class_facts, [one for one in declared if one is not None])


class _Fields:
    """The fields of an operation, or of a struct inside one: their types, and what they are when not said."""

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        self.struct = struct
        self.hints = typing.get_type_hints(struct)
        self.defaults: dict[str, Any] = {}
        for field in msgspec.structs.fields(struct):
            default = REQUIRED if field.required else field.default
            if field.default_factory is not msgspec.NODEFAULT:
                default = field.default_factory()
            self.defaults[field.name] = default

    def check(self, table: Table, name: str, *place: str) -> bool:
        if name in self.defaults:
            return True
        fields = ", ".join(self.defaults) or "no fields"
        owner = self.struct.__struct_config__.tag or self.struct.__name__
        table.problem(f'{owner} has no "{name}"; it has: {fields}.{nearest(name, self.defaults)}', *place)
        return False


def _always(table: Table, fields: _Fields) -> dict[str, Any]:
    """Fields a tool implies. Their names become code in `Spelling`, so none gets there that is not a field's."""
    values: dict[str, Any] = {}
    for name in table.content:
        value = table.anything(name)
        if fields.check(table, name, name):
            try:
                values[name] = msgspec.convert(value, fields.hints[name])
            except msgspec.ValidationError as error:
                table.problem(f"does not fit the operation: {error}", name)
    return values


# ── parameters ───────────────────────────────────────────────────────────────


class _Named(msgspec.Struct, frozen=True):
    """A conversion a file can name: the types on both sides, and what it does."""

    native: Any
    ours: Any
    conversion: Conversion


CONVERSIONS: Final[Mapping[str, _Named]] = {
    "seconds": _Named(float, int, SECONDS),
    "whole_seconds": _Named(int, int, WHOLE_SECONDS),
    "number_as_text": _Named(int, str, TEXT_OF_NUMBER),
    "empty_is_unsaid": _Named(str, str, EMPTY_IS_UNSAID),
    "from_zero": _Named(int, int, FROM_ZERO),
    "not": _Named(bool, bool, INVERTED),
    "line_count": _Named(int, int, LINE_COUNT),
}
"""What a native value may be converted by: units, numbers counted from zero, words turned around."""


class _Said(msgspec.Struct, frozen=True):
    """One native parameter, ready to become a field of a class."""

    wire: str
    annotation: Any
    parameter: Parameter


_WIRE_NAME: Final = re.compile(r'[^"\\\x00-\x1f]*')


def _parameter(wire: str, table: Table, fields: _Fields, nearly: Collection[str]) -> _Said | None:
    """One parameter; `nearly` are the fields that may lose something by being said."""
    before = len(table.problems)
    if not _WIRE_NAME.fullmatch(wire):
        table.problem("its name holds a quotation mark, a backslash or a control character, which no parameter may")
    meaning, reason = table.text("means"), table.text("native_only")
    if meaning == TO_DO:
        meaning, reason = None, _TO_DO_PARAMETER
    description = table.text("description") or ""
    since, until = table.text("since"), table.text("until")
    if reason is not None:
        for key in ("type", "schema", "values", "items", "convert", "required", "default"):
            table.anything(key)  # it is kept as it comes, whatever is said of its form
        table.close()
        if meaning is not None:
            table.problem("says what it means and why it means nothing: keep one of `means` and `native_only`")
        declared = Parameter(None, reason, description, None, wire, None, since, until)
        return _Said(wire, Any, declared)
    canonical, _, inside = (meaning or wire).partition(".")
    if not fields.check(table, canonical, *(["means"] if meaning else [])):
        _ask_for_the_rest(table)
        return None
    holder, field = fields, canonical
    if inside:
        struct = struct_in(fields.hints[canonical])
        if struct is None:
            table.problem(f'"{canonical}" holds nothing that has fields', "means")
            _ask_for_the_rest(table)
            return None
        holder, field = _Fields(struct), inside
        if not holder.check(table, inside, "means"):
            _ask_for_the_rest(table)
            return None
    form = _form(wire, table, holder, field, lossy=canonical in nearly)
    default = _default(table, holder, field, form)
    schema = table.table("schema")
    table.close()
    if len(table.problems) > before:
        return None
    convert = _at_default(form.conversion, default, holder.hints[field])
    declared = Parameter(
        canonical,
        None,
        description,
        default,
        wire,
        convert,
        since,
        until,
        None if schema is None else schema.content,
        form.without,
        inside=inside or None,
    )
    optional = default is None and type(None) not in get_args(form.annotation)
    annotation = form.annotation | None if optional else form.annotation
    return _Said(wire, annotation, declared)


def _ask_for_the_rest(table: Table) -> None:
    """Nothing can be said of keys whose meaning hangs on one that is wrong, but unknown ones are still unknown."""
    for key in ("type", "schema", "values", "items", "convert", "required", "default"):
        table.anything(key)
    table.close()


class _Form(msgspec.Struct, frozen=True):
    """The type of a native value, and how it becomes ours."""

    annotation: Any
    conversion: Conversion | None = None
    without: Mapping[str, str] = {}


def _form(wire: str, table: Table, fields: _Fields, field: str, *, lossy: bool) -> _Form:
    ours = without_none(fields.hints[field])
    kind, named = table.text("type"), table.text("convert")
    words, items = table.reasons("values"), table.table("items")
    if sum(one is not None for one in (named, words or None, items)) > 1:
        table.problem("only one of `convert`, `values` and `items` says how it becomes ours")
    if words:
        _check_kind(table, kind, {"string"}, "")
        return _words(table, words, ours)
    if items is not None:
        return _items(wire, table, items, ours, lossy=lossy)
    if named is None:
        is_whole = kind == "number" and ours is int  # a native number of which only the whole ones mean something
        _check_kind(table, kind, {"number"} if is_whole else _kinds(ours), _fitting(kind, ours))
        return _Form(float, WHOLE) if is_whole else _Form(ours)
    if named not in CONVERSIONS:
        names = ", ".join(CONVERSIONS)
        table.problem(f'there is no conversion "{named}"; known: {names}.{nearest(named, CONVERSIONS)}', "convert")
        return _Form(ours)
    conversion = CONVERSIONS[named]
    if not _kinds(conversion.ours) & _kinds(ours):
        table.problem(f'"{named}" does not give what {field!r} holds', "convert")
    convert = conversion.conversion
    if convert is LINE_COUNT and (fields.struct is not op.ReadFile or field != "last_line"):
        table.problem('counts lines to the "last_line" of read_file and nothing else', "convert")
    if kind == "number" and conversion.native is int:
        return _Form(float, whole(convert))
    _check_kind(table, kind, _kinds(conversion.native), "")
    return _Form(conversion.native, convert)


def _check_kind(table: Table, kind: str | None, fitting: set[str], advice: str) -> None:
    if kind is not None and kind not in fitting:
        expected = " or ".join(sorted(fitting))
        table.problem(f'is "{kind}", but what it means takes {expected}{advice}', "type")


def _fitting(kind: str | None, ours: Any) -> str:
    """The conversions that would make a native type fit."""
    names = [
        name for name, one in CONVERSIONS.items() if kind in _kinds(one.native) and _kinds(one.ours) & _kinds(ours)
    ]
    return f"; `convert` may be: {', '.join(names)}" if names else ""


def _words(table: Table, words: Mapping[str, str], ours: Any) -> _Form:
    """Native words for ours, one for one."""
    choices = get_args(ours) if get_origin(ours) is Literal else None
    for native, word in words.items():
        if choices is not None and word not in choices:
            table.problem(f'"{word}" is none of {", ".join(choices)}.{nearest(word, choices)}', "values", native)
    if len(set(words.values())) < len(words):
        table.problem("two native words mean the same, so writing one would be a guess", "values")
    back = {word: native for native, word in words.items()}

    def native_word(word: str | None) -> str | None:
        if word is not None and word not in back:
            raise ValueError(f"there is no native word for {word!r}")
        return None if word is None else back[word]

    return _Form(Literal[tuple(words)], Conversion(unless_none(dict(words).__getitem__), native_word))


def _items(wire: str, table: Table, items: Table, ours: Any, *, lossy: bool) -> _Form:
    """A struct, or a list of them, whose fields have native names of their own."""
    struct, many = struct_in(ours), get_origin(ours) is tuple
    if struct is None:
        table.problem("what it means has no fields inside", "items")
        return _Form(ours)
    fields, before = _Fields(struct), len(table.problems)
    nearly = fields.defaults if lossy else ()
    read = [_parameter(key, one, fields, nearly) for key, one in items.inner_tables()]
    parameters = [one for one in read if one is not None]
    typed = [one for one in parameters if one.parameter.reason is None]
    without = {one.wire: one.parameter.reason for one in parameters if one.parameter.reason is not None}
    if any(one.parameter.inside or one.parameter.convert is LINE_COUNT for one in typed):
        table.problem("inside `items`, a parameter cannot mean a nested field or count lines", "items")
    for key, one in items.inner_tables():
        for unused in {"schema", "since", "until"}.intersection(one.content):
            table.problem(f"`{unused}` is said of the whole parameter, not of what stands inside it", "items", key)
    missing = [name for name, default in fields.defaults.items() if default is REQUIRED]
    missing = [name for name in missing if name not in {one.parameter.means for one in typed}]
    if missing:
        table.problem(f"nothing in it means {', '.join(map(repr, missing))}, which must be said", "items")
    if len(table.problems) > before:
        return _Form(ours)
    native = _native_struct(wire, typed)
    conversion = _between(native, struct, typed, lossy=lossy)
    if not many:
        return _Form(native, Conversion(unless_none(conversion.to), unless_none(conversion.back)), without=without)
    several = Conversion(
        to=lambda values: tuple(conversion.to(value) for value in values or ()),
        back=lambda values: tuple(conversion.back(value) for value in values),
    )
    return _Form(tuple[native, ...], several, without=without)  # type: ignore[valid-type]


def _native_struct(name: str, said: list[_Said]) -> type[msgspec.Struct]:
    names = field_names([one.wire for one in said], msgspec.Struct)
    rows: list[Any] = []
    for one in said:
        row = (names[one.wire], _described(one.annotation, one.parameter.description))
        rows.append(row if one.parameter.default is REQUIRED else (*row, one.parameter.default))
    rename = {names[one.wire]: one.wire for one in said}
    return msgspec.defstruct(class_name(name), rows, rename=rename, kw_only=True, frozen=True, omit_defaults=True)


def _described(annotation: Any, description: str) -> Any:
    return typing.Annotated[annotation, msgspec.Meta(description=description)] if description else annotation


def _between(
    native: type[msgspec.Struct], struct: type[msgspec.Struct], said: list[_Said], *, lossy: bool
) -> Conversion:
    names = dict(zip(native.__struct_encode_fields__, native.__struct_fields__, strict=True))

    def to(value: Any) -> Any:
        return struct(**{_meaning(one): _to(one, getattr(value, names[one.wire])) for one in said})

    def back(value: Any) -> Any:
        written = native(**{names[one.wire]: _back(one, getattr(value, _meaning(one))) for one in said})
        if not lossy and to(written) != value:
            raise ValueError("it holds what has no native name")
        return written

    return Conversion(to, back)


def _meaning(said: _Said) -> str:
    return said.parameter.inside or said.parameter.means or ""


def _to(said: _Said, value: Any) -> Any:
    convert = said.parameter.convert
    return value if convert is None else convert.to(value)


def _back(said: _Said, value: Any) -> Any:
    convert = said.parameter.convert
    value = value if convert is None else convert.back(value)
    if value is None and said.parameter.default is REQUIRED:
        raise ValueError(f"{said.wire} must be said")
    return value


def _default(table: Table, fields: _Fields, field: str, form: _Form) -> Any:
    """What leaving a parameter out means: nothing said, unless the file says otherwise."""
    required, value = table.flag("required"), table.anything("default")
    ours = fields.defaults[field]
    if value is not MISSING and required:
        table.problem("is required, so it has no default", "default")
    if required or (required is None and value is MISSING and ours is REQUIRED):
        return REQUIRED
    if value is MISSING:
        if ours is REQUIRED:
            table.problem(f"{field!r} must be said: make the parameter required, or give it a default", "required")
            return REQUIRED
        return ours if form.conversion is None else _native_default(form, ours)
    try:
        return msgspec.convert(value, form.annotation)
    except msgspec.ValidationError as error:
        table.problem(f"does not fit its type: {error}", "default")
        return REQUIRED


def _native_default(form: _Form, ours: Any) -> Any:
    """Our own default in native words, where it has any."""
    if ours is None or form.conversion is None:
        return None
    try:
        return form.conversion.back(ours)
    except ValueError:
        return None


def _at_default(conversion: Conversion | None, default: Any, ours: Any) -> Conversion | None:
    """Where leaving a parameter out means something, "not said" can only be written by leaving it out."""
    if default is REQUIRED or default is None or type(None) not in get_args(ours):
        return conversion
    base = conversion or SAME
    return Conversion(base.to, lambda value: default if value is None else base.back(value), base.counts_from)


# ── types ────────────────────────────────────────────────────────────────────

_KINDS: Final = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", tuple: "array"}
_ANY_KIND: Final = {"string", "integer", "number", "boolean", "object", "array"}


def _kinds(hint: Any) -> set[str]:
    """The JSON types a value of this type has."""
    origin = get_origin(hint) or hint
    if origin in (types.UnionType, typing.Union):
        return {kind for member in get_args(hint) if member is not type(None) for kind in _kinds(member)}
    if origin is Literal:
        return {_KINDS[type(value)] for value in get_args(hint)}
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct):
        return {"object"}
    return {_KINDS[origin]} if origin in _KINDS else set(_ANY_KIND)


# ── classes ──────────────────────────────────────────────────────────────────


def _made(
    table: Table, operation: type[op.Operation], facts: Mapping[str, Any], said: list[_Said]
) -> AnySpelling | None:
    """The class of a tool."""
    try:
        return _class(operation, facts, said)
    except DefinitionError as error:
        for problem in error.problems:
            table.problem(problem)
        return None


def _class(operation: type[op.Operation], facts: Mapping[str, Any], said: list[_Said]) -> AnySpelling:
    names = field_names([one.wire for one in said], Spelling)
    namespace: dict[str, Any] = {
        "__module__": __name__,
        "__qualname__": class_name(facts["native_name"]),
        "__annotations__": {names[one.wire]: one.annotation for one in said},
        "__orig_bases__": (Spelling[operation],),  # type: ignore[valid-type]
        **facts,
        **{names[one.wire]: one.parameter for one in said},
    }
    made: AnySpelling = SpellingMeta(class_name(facts["native_name"]), (Spelling,), namespace)
    return made


def field_names(wires: Iterable[str], base: type) -> dict[str, str]:
    """An identifier for each native name: its own, unless Python or the class it goes into means something by it."""
    names: dict[str, str] = {}
    for wire in wires:
        name = re.sub(r"\W", "_", wire, flags=re.ASCII).lstrip("_")
        if not name or name[0].isdigit():
            name = f"parameter_{name}"
        while keyword.iskeyword(name) or hasattr(base, name) or name in names.values():
            name += "_"
        names[wire] = name
    return names


def class_name(name: str) -> str:
    """A name for the class of a tool."""
    words = re.findall(r"[A-Za-z0-9]+", name)
    joined = "".join(word[:1].upper() + word[1:] for word in words)
    return joined if joined[:1].isalpha() else f"Tool{joined}"
