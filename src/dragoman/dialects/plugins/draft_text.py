"""A draft of a dialect as the text of a file, every guess in it marked: TOML, or Python for those who need methods."""

from __future__ import annotations

import re
import typing
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, get_args, get_origin

import msgspec

from dragoman.dialects.base.parts import struct_in, without_none
from dragoman.dialects.base.spelling import Spelling
from dragoman.model import operations as op

from .from_data import class_name, field_names
from .laws import TO_DO

Language = Literal["toml", "python"]


class Draft(msgspec.Struct, frozen=True):
    """A tool as a table of a dialect file; `source` is the tool of a dialect it was guessed from."""

    table: dict[str, Any]
    source: str | None = None
    steers: bool = False


def written(name: str, drafts: Sequence[Draft], language: Language) -> str:
    """The text of the file."""
    return _toml(name, drafts) if language == "toml" else _python(name, drafts)


_HEAD: Final = (
    "Drafted from captured tools: `dragoman dialect check` says what is left to do.",
    "What is marked as a guess is what another vocabulary means by such a name: look at each.",
)

# ── TOML ─────────────────────────────────────────────────────────────────────


def _toml(name: str, drafts: Sequence[Draft]) -> str:
    lines = [*(f"# {line}" for line in _HEAD), f"name = {_value(name)}"]
    lines += ["# Operations it has no tool for, each with the reason:", "# [unspoken]", '# search_web = "…"']
    for draft in drafts:
        lines += ["", *(_toml_steer(draft) if draft.steers else _toml_tool(draft))]
    return "\n".join(lines) + "\n"


def _toml_steer(draft: Draft) -> Iterator[str]:
    yield "[[steering]]"
    for key, value in draft.table.items():
        yield f"{key} = {_value(value)}" + (f"  # guess: as {draft.source}" if key == "reason" else "")


def _toml_tool(draft: Draft) -> Iterator[str]:
    yield "[[tools]]"
    table = draft.table
    guess = "" if draft.source is None else "  # guess"
    for key in ("name", "namespace", "description"):
        if key in table:
            yield f"{key} = {_value(table[key])}"
    known = (
        f"  # guess: as {draft.source}"
        if draft.source
        else "  # an operation of `dragoman tools --fidelity`, or move it to steering"
    )
    yield f"operation = {_value(table['operation'])}{known}"
    for key in ("always", "unsaid"):
        if key in table:
            yield ""
            yield f"[tools.{key}]"
            yield from (f"{_key(field)} = {_value(value)}{guess}" for field, value in table[key].items())
    flat = {wire: one for wire, one in table.get("parameters", {}).items() if "items" not in one}
    nested = {wire: one for wire, one in table.get("parameters", {}).items() if "items" in one}
    if flat:
        yield ""
        yield "[tools.parameters]"
        yield from (_toml_parameter(_key(wire), one, draft) for wire, one in flat.items())
    for wire, one in nested.items():
        yield ""
        yield f"[tools.parameters.{_key(wire)}]{guess}"
        yield from (f"{key} = {_value(value)}" for key, value in one.items() if key != "items")
        yield from (_toml_parameter(f"items.{_key(inner)}", each, draft) for inner, each in one["items"].items())


def _toml_parameter(key: str, declared: Mapping[str, Any], draft: Draft) -> str:
    guessed = draft.source is not None and declared.get("means") != TO_DO
    return f"{key} = {_value(declared)}" + ("  # guess" if guessed else "")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    """A value as TOML writes it: JSON is nearly the same."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            text = msgspec.json.encode(value.encode("utf-8", "replace").decode()).decode()
            return text.replace("\x7f", "\\u007f")
        case Mapping():
            return "{ " + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(_value(inner) for inner in value) + "]"
    return repr(value)


# ── Python ───────────────────────────────────────────────────────────────────

_CONVERSIONS: Final = {
    "seconds": "SECONDS",
    "number_as_text": "TEXT_OF_NUMBER",
    "empty_is_unsaid": "EMPTY_IS_UNSAID",
    "whole": "WHOLE",
    "line_count": "",  # a method counts
}
_TAKEN: Final = {"Any", "Dialect", "False", "Literal", "None", "Spelling", "Steer", "True", *_CONVERSIONS.values()}
_TYPES: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "dict[str, Any]"}


def _python(name: str, drafts: Sequence[Draft]) -> str:
    """Tools become classes, with methods where they say a thing in parts; lists of objects are left to do."""
    classes: dict[int, _Class] = {}
    for index, draft in enumerate(drafts):
        if draft.source is not None and not draft.steers and _is_speakable(draft):
            taken = {*_TAKEN, *(one.name for one in classes.values())}
            classes[index] = _Class(draft, _free(class_name(draft.table["name"]), taken))
    conversions = {word for one in classes.values() for word in one.conversions()}
    imported = sorted({"Dialect", "Spelling", "Steer", "means", "native_only", *conversions})
    lines = ['"""' + f"The vocabulary of {name}.", "", *_HEAD, '"""', "", "from __future__ import annotations", ""]
    lines += ["from typing import Any, Literal", "", f"from dragoman.dialects import {', '.join(imported)}"]
    lines += ["from dragoman.model import operations as op"]
    for one in classes.values():
        lines += ["", "", *one.lines()]
    lines += ["", "", "DIALECT = Dialect(", f"    {name!r},", "    ("]
    lines += [f"        {one.name}," for one in classes.values()]
    lines += ["    ),", "    steering=("]
    lines += [f"        {_steer(draft)}" for index, draft in enumerate(drafts) if index not in classes]
    lines += ["    ),", ")", "", f"DIALECTS = {{{name!r}: DIALECT}}"]
    return "\n".join(lines) + "\n"


def _is_speakable(draft: Draft) -> bool:
    declared = draft.table.get("parameters", {}).values()
    listed = any("items" in one or "values" in one for one in declared)
    parts = {one["means"].partition(".")[0] for one in declared if "." in one.get("means", "")}
    known = all(one.get("convert", "seconds") in _CONVERSIONS for one in declared)
    return known and not listed and len(parts) <= 1


def _steer(draft: Draft) -> str:
    table = draft.table
    place = f", namespace={table['namespace']!r}" if "namespace" in table else ""
    parameters = f"{tuple(table.get('parameters', ()))!r}{place}"
    if draft.steers:
        return f"Steer({table['name']!r}, {table['reason']!r}, {parameters}),  # guess: as {draft.source}"
    means = table["operation"] if draft.source else "its operation is not known"
    reason = f"{TO_DO}: write it as a class ({means}), or say why it has no meaning elsewhere"
    return f"Steer({table['name']!r}, {reason!r}, {parameters}),"


class _Class:
    """One tool as the text of a class."""

    def __init__(self, draft: Draft, name: str) -> None:
        self.draft, self.name, self.table = draft, name, draft.table
        self.operation = op.OPERATIONS[self.table["operation"]]
        self.declared: dict[str, Mapping[str, Any]] = self.table.get("parameters", {})
        self.names = field_names(self.declared, Spelling)
        self.hints = typing.get_type_hints(self.operation)

    def conversions(self) -> Iterator[str]:
        return filter(None, (self._conversion(one) for one in self.declared.values()))

    def _conversion(self, declared: Mapping[str, Any]) -> str:
        """The name of the conversion a parameter needs, or nothing."""
        named, meant = declared.get("convert"), declared.get("means", TO_DO)
        if named not in (None, "line_count"):
            return _CONVERSIONS[named]
        return "WHOLE" if declared.get("type") == "number" and meant != TO_DO and self._type(meant) is int else ""

    def _type(self, meaning: str) -> Any:
        field, _, inside = meaning.partition(".")
        hint = typing.get_type_hints(self._struct(field))[inside] if inside else self.hints[field]
        return without_none(hint)

    def _struct(self, field: str) -> type[msgspec.Struct]:
        struct = struct_in(self.hints[field])
        assert struct is not None  # what is said in parts has parts
        return struct

    def lines(self) -> Iterator[str]:
        table = self.table
        yield f"class {self.name}(Spelling[op.{self.operation.__name__}]):  # guess: as {self.draft.source}"
        yield f"    __doc__ = {table['description']!r}"
        yield ""
        yield f"    native_name = {table['name']!r}"
        if "namespace" in table:
            yield f"    namespace = {table['namespace']!r}"
        for key in ("always", "unsaid"):
            if key in table:
                yield f"    {key} = {{"
                yield from (f"        {field!r}: {value!r},  # guess" for field, value in table[key].items())
                yield "    }"
        if self.declared:
            yield ""
        seen: set[str] = set()
        for wire, declared in self.declared.items():
            yield self._field(wire, declared, seen)
        yield from self._methods()

    def _field(self, wire: str, declared: Mapping[str, Any], seen: set[str]) -> str:
        name = self.names[wire]
        renamed = "" if name == wire else f", name={wire!r}"
        reason = declared.get("native_only")
        if reason is None and declared["means"] == TO_DO:
            reason = f"{TO_DO}: say what it means, or why it means nothing elsewhere"
        if reason is not None:
            guess = "" if reason.startswith(TO_DO) else "  # guess"
            return f"    {name}: Any = native_only({reason!r}{renamed}){guess}"
        field, _, inside = declared["means"].partition(".")
        meaning = repr(None if inside and field in seen else field)
        seen.add(field)
        default = self._default(declared)
        given = "" if default is msgspec.NODEFAULT else f", default={default!r}"
        constant = self._conversion(declared)
        convert = f", convert={constant}" if constant else ""
        more = f", schema={declared['schema']!r}" if "schema" in declared else ""
        saying = f"means({meaning}, {declared['description']!r}{given}{renamed}{convert}{more})"
        return f"    {name}: {self._annotation(declared, default)} = {saying}  # guess"

    def _default(self, declared: Mapping[str, Any]) -> Any:
        field, _, inside = declared["means"].partition(".")
        holder = self._struct(field) if inside else self.operation
        found = next(one for one in msgspec.structs.fields(holder) if one.name == (inside or field))
        if found.required or declared.get("required"):
            return msgspec.NODEFAULT
        return found.default if found.default_factory is msgspec.NODEFAULT else found.default_factory()

    def _annotation(self, declared: Mapping[str, Any], default: Any) -> str:
        ours, convert = self._type(declared["means"]), self._conversion(declared)
        if get_origin(ours) is Literal and not convert:
            kind = f"Literal[{', '.join(map(repr, get_args(ours)))}]"
        elif get_origin(ours) is tuple:
            kind = "tuple[str, ...]"
        else:
            kind = _TYPES.get(declared.get("type", ""), "Any")
        return f"{kind} | None" if default is None else kind

    # A tool that says a field in parts, or lines by their number, is read and written by two methods.

    def _methods(self) -> Iterator[str]:
        meant = {wire: one for wire, one in self.declared.items() if one.get("means", TO_DO) != TO_DO}
        parts = {wire: one["means"].partition(".") for wire, one in meant.items() if "." in one["means"]}
        count = next((wire for wire, one in meant.items() if one.get("convert") == "line_count"), None)
        if not parts and count is None:
            return
        flat = {wire: one["means"] for wire, one in meant.items() if wire not in parts and wire != count}
        to = [f"{meaning}={self._to(wire)}" for wire, meaning in flat.items()]
        to += [f"{field}={value!r}" for field, value in self.table.get("always", {}).items()]
        back = [f"{self.names[wire]}={self._back(wire, f'operation.{meaning}')}" for wire, meaning in flat.items()]
        yield ""
        yield "    def to_operations(self) -> tuple[op.Operation, ...]:"
        if count is not None:
            first = next((self._to(wire) for wire, meaning in flat.items() if meaning == "first_line"), "1")
            lines = self._to(count)
            yield f"        last = None if {lines} is None else ({first} or 1) + {lines} - 1"
            to.append("last_line=last")
            back.append(f"{self.names[count]}=lines")
        if parts:
            field = next(iter(parts.values()))[0]
            inner = ", ".join(f"{inside}={self._to(wire)}" for wire, (_, _, inside) in parts.items())
            struct = self._struct(field).__name__
            to.append(f"{field}=(op.{struct}({inner}),)" if self._many(field) else f"{field}=op.{struct}({inner})")
        yield f"        return (op.{self.operation.__name__}({', '.join(to)}),)"
        yield ""
        yield "    @classmethod"
        yield f"    def from_operation(cls, operation: op.{self.operation.__name__}) -> Any:"
        if count is not None:
            yield "        last, first = operation.last_line, operation.first_line or 1"
            yield "        lines = None if last is None else last - first + 1"
        if not parts:
            yield f"        return cls({', '.join(back)})"
            return
        yield from self._written_apart(parts, back)

    def _written_apart(self, parts: Mapping[str, tuple[str, str, str]], back: list[str]) -> Iterator[str]:
        field = next(iter(parts.values()))[0]
        needed = [
            f"one.{inside} is None"
            for wire, (_, _, inside) in parts.items()
            if self._default(self.declared[wire]) is msgspec.NODEFAULT
        ]
        said = [f"{self.names[wire]}={self._back(wire, f'one.{inside}')}" for wire, (_, _, inside) in parts.items()]
        values = f"operation.{field}" if self._many(field) else f"(operation.{field},)"
        several = self._many(field) and self.operation is not op.EditFile
        if needed:
            yield f"        if any({' or '.join(needed)} for one in {values}):"
            yield "            return None  # it must be said, and nothing is invented"
        yield f"        calls = tuple(cls({', '.join([*back, *said])}) for one in {values})"
        heard = f"call.to_operations()[0].{field}"
        meant = f"[one for call in calls for one in {heard}]" if self._many(field) else f"[{heard} for call in calls]"
        yield f"        if {meant} != list({values}){' or len(calls) > 1' if several else ''}:"
        yield "            return None  # it holds what this tool has no words for"
        yield "        return calls or None"

    def _many(self, field: str) -> bool:
        return get_origin(without_none(self.hints[field])) is tuple

    def _to(self, wire: str) -> str:
        constant = self._conversion(self.declared[wire])
        value = f"self.{self.names[wire]}"
        return f"{constant}.to({value})" if constant else value

    def _back(self, wire: str, value: str) -> str:
        constant = self._conversion(self.declared[wire])
        return f"{constant}.back({value})" if constant else value


def _free(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "Too"
    return name
