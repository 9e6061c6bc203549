"""The first draft of a dialect in data, made from captured definitions of tools.

Rule: a guess is only what a dialect we have knows of such a tool, tried out on it; every guess is marked, and what is
not known is left to do, where `laws.to_do` finds it.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin

import msgspec

from dragoman.dialects.base.availability import AnySpelling
from dragoman.dialects.base.dialect import Dialect
from dragoman.dialects.base.spelling import REQUIRED, Spelling
from dragoman.dialects.base.versions import version_number
from dragoman.errors import DefinitionError
from dragoman.model import operations as op
from dragoman.registry import DIALECTS

from .draft_text import Draft, Language, written
from .from_data import from_content
from .laws import TO_DO, check

_NO_PARAMETER: Final = "there is no parameter for it"


class Captured(msgspec.Struct, frozen=True):
    """A tool as it was offered to a model."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    namespace: str | None = None

    @property
    def properties(self) -> dict[str, dict[str, Any]]:
        """Parameter → its schema."""
        listed = self.parameters.get("properties")
        named = listed.items() if isinstance(listed, dict) else ()
        return {name: schema if isinstance(schema, dict) else {} for name, schema in named}

    @property
    def required(self) -> tuple[str, ...]:
        """The names of the required parameters."""
        listed = self.parameters.get("required")
        return tuple(name for name in listed if isinstance(name, str)) if isinstance(listed, list) else ()


# ── reading what was captured ────────────────────────────────────────────────


def captured_tools(data: Any) -> tuple[list[Captured], list[str]]:
    """The tools in captured JSON, and what was left out of it and why.

    Takes a list of tools as OpenAI's Chat and Responses APIs, Anthropic's, Gemini's and MCP servers write them, a
    request that holds one under `tools`, a server's answer (`result`), or captures by version (`tool_sets`).
    """
    notes: list[str] = []
    if isinstance(data, dict) and isinstance(data.get("result"), dict):
        data = data["result"]
    if isinstance(data, dict) and isinstance(data.get("tool_sets"), list):
        data = _newest(data["tool_sets"], notes)
    elif isinstance(data, dict) and "tools" in data:
        data = data["tools"]
    tools: dict[tuple[str | None, str], Captured] = {}
    for tool in _tools(data if isinstance(data, list) else [data], None, notes):
        if tools.setdefault((tool.namespace, tool.name), tool) != tool:
            notes.append(f"{tool.name} is there in several forms; the first was taken")
    if not tools:
        raise DefinitionError(
            "what was captured",
            ['there is no tool in it: give a list of {"name": …, "description": …, "parameters": {…}}', *notes],
        )
    return list(tools.values()), list(dict.fromkeys(notes))


def _newest(sets: Sequence[Any], notes: list[str]) -> list[Any]:
    tables = [one for one in sets if isinstance(one, dict)]
    versions = sorted({str(one.get("version", "")) for one in tables}, key=version_number)
    if len(versions) > 1:
        notes.append(f"only the newest version is in it, {versions[-1]}; older ones: {', '.join(versions[:-1])}")
    newest = [one for one in tables if str(one.get("version", "")) == versions[-1]]
    listed = [one.get("tools") for one in newest]
    return [tool for tools in listed if isinstance(tools, list) for tool in tools]


def _tools(data: Sequence[Any], namespace: str | None, notes: list[str]) -> Iterator[Captured]:
    for index, tool in enumerate(data):
        if not isinstance(tool, dict):
            raise DefinitionError("what was captured", [f"tool {index + 1} is no object: {tool!r:.80}"])
        several = next((tool[key] for key in ("functionDeclarations", "function_declarations") if key in tool), None)
        if isinstance(several, list):
            yield from _tools(several, namespace, notes)
        elif tool.get("type") == "namespace" and isinstance(tool.get("tools"), list):
            yield from _tools(tool["tools"], str(tool.get("name")), notes)
        else:
            yield from _tool(tool, namespace, notes)


_SCHEMAS: Final = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "schema")


def _tool(tool: Mapping[str, Any], namespace: str | None, notes: list[str]) -> Iterator[Captured]:
    inner = tool.get("function")
    tool = inner if isinstance(inner, dict) else tool
    name = tool.get("name")
    schema = next((tool[key] for key in _SCHEMAS if isinstance(tool.get(key), dict)), None)
    if not isinstance(name, str) or not name:
        kind = tool.get("type")
        notes.append(f"left out, the provider's own: {kind if isinstance(kind, str) else ', '.join(map(str, tool))}")
        return
    if schema is None and (tool.get("type") == "custom" or str(tool.get("kind", "")).startswith("custom")):
        notes.append(f"left out, its input is text: {name}; write it in Python")
        return
    if schema is None and (tool.get("type") not in (None, "function") or tool.get("kind") == "native"):
        notes.append(f"left out, the provider's own: {name}")
        return
    place = tool.get("namespace") or namespace
    yield Captured(name, str(tool.get("description") or ""), _lowered(schema or {}), place)


def _lowered(schema: Any) -> Any:
    """Gemini writes types in capitals."""
    if isinstance(schema, list):
        return [_lowered(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value.lower() if key == "type" and isinstance(value, str) else _lowered(value)
        for key, value in schema.items()
    }


# ── what the dialects we have know of it ─────────────────────────────────────


def drafted(name: str, tools: Sequence[Captured], language: Language = "toml") -> str:
    """The file of a dialect that has these tools, in their order."""
    return written(name, [_draft(tool) for tool in tools], language)


def _draft(tool: Captured) -> Draft:
    for dialect, spelling in _candidates(tool):
        table = _guessed(tool, spelling)
        if _holds(table):
            return Draft(table, f"{spelling.native_name} of {dialect}")
    return _steered(tool) or Draft(_open(tool))


def _steered(tool: Captured) -> Draft | None:
    """A tool some dialect knows to have no shared meaning."""
    for name in DIALECTS.built_in:
        for steer in DIALECTS[name].steering:
            if tool.name in (steer.name, *steer.formerly) and not steer.fallback and steer.carries is None:
                table: dict[str, Any] = {"name": tool.name, "reason": steer.reason}
                if tool.namespace is not None:
                    table["namespace"] = tool.namespace
                if tool.properties:
                    table["parameters"] = list(tool.properties)
                return Draft(table, f"{steer.name} of {name}", steers=True)
    return None


def _holds(table: dict[str, Any]) -> bool:
    try:
        dialect = from_content({"name": "draft", "tools": [table]})
    except DefinitionError:
        return False
    return all(problem.law == "to do" for problem in check(dialect))


def _open(tool: Captured) -> dict[str, Any]:
    """An unknown tool: its parameters as they are, its meaning left to the author."""
    table = _head(tool, TO_DO)
    parameters = {wire: {"means": TO_DO, **_shape(schema)} for wire, schema in tool.properties.items()}
    return {**table, "parameters": parameters} if parameters else table


def _head(tool: Captured, operation: str) -> dict[str, Any]:
    table = {"name": tool.name, "description": tool.description.strip() or f"{TO_DO}: describe what it does"}
    if tool.namespace is not None:
        table["namespace"] = tool.namespace
    return {**table, "operation": operation}


def _shape(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a captured schema says of one parameter."""
    kind = _kind(schema)
    shape = {"type": kind} if kind else {}
    return {**shape, "description": str(schema.get("description") or "").strip() or f"{TO_DO}: describe it"}


def _kind(schema: Mapping[str, Any]) -> str | None:
    kinds = schema.get("type")
    if isinstance(kinds, list):
        kinds = next((one for one in kinds if one != "null"), None)
    if kinds is None and isinstance(schema.get("anyOf"), list):
        inner = [_kind(one) for one in schema["anyOf"] if isinstance(one, dict)]
        kinds = next((one for one in inner if one not in (None, "null")), None)
    return kinds if isinstance(kinds, str) else None


def _candidates(tool: Captured) -> list[tuple[str, AnySpelling]]:
    """Tools of the same name, then tools of the same parameters; those that share most first.

    Where tools that share as much mean different operations, nobody knows which, and there is none.
    """
    wires = {_plainly(wire) for wire in tool.properties}
    named: list[_Candidate] = []
    alike: list[_Candidate] = []
    for name in DIALECTS.built_in:
        dialect: Dialect = DIALECTS[name]
        for spelling in dialect.spellings:
            if len(spelling.operation_types) != 1 or spelling.freeform is not None:
                continue
            known = {_plainly(wire) for wire in spelling.__struct_encode_fields__}
            shared = len(wires & known)
            names = (spelling.native_name, *spelling.formerly)
            exact = len(set(tool.properties) & set(spelling.__struct_encode_fields__)) + (tool.name in names)
            candidate = _Candidate((4 * shared - len(wires ^ known), exact), name, spelling)
            if _plainly(tool.name) in map(_plainly, names):
                if shared or not wires:
                    named.append(candidate)
            elif shared >= 2 and wires <= known:
                alike.append(candidate)
    return _agreed(named) or _agreed(alike)


class _Candidate(NamedTuple):
    """A known tool, and how much it shares: first what sounds the same, then what is written the same."""

    weight: tuple[int, int]
    dialect: str
    spelling: AnySpelling


def _agreed(candidates: list[_Candidate]) -> list[tuple[str, AnySpelling]]:
    if not candidates:
        return []
    best = max(one.weight for one in candidates)
    meanings = {one.spelling.operation_types[0] for one in candidates if one.weight == best}
    if len(meanings) > 1:
        return []
    same = [one for one in candidates if one.spelling.operation_types[0] in meanings]
    same.sort(key=lambda one: one.weight, reverse=True)
    return [(one.dialect, one.spelling) for one in same]


def _plainly(name: str) -> str:
    """A name as it sounds: `filePath` and `file_path` are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower()) or name


# ── asking a known tool what a parameter means ───────────────────────────────


def _guessed(tool: Captured, spelling: AnySpelling) -> dict[str, Any]:
    """The tool as a table whose parameters mean what the known tool's of the same names do."""
    asked = _Asked(spelling)
    wire_names = {_plainly(wire): wire for wire in spelling.__struct_encode_fields__}
    wires = {wire: wire_names[_plainly(wire)] for wire in tool.properties if _plainly(wire) in wire_names}
    operation = spelling.operation_types[0]
    parameters: dict[str, dict[str, Any]] = {}
    for wire, schema in tool.properties.items():
        meaning = asked.meaning(wires[wire], list(wires.values()), schema) if wire in wires else None
        parameters[wire] = _declared(meaning, schema, operation, required=wire in tool.required)
    parameters = _without_doubles(parameters)
    table = _head(tool, str(operation.__struct_config__.tag))
    fields = {one.get("means", "").partition(".")[0] for one in parameters.values()}
    implied = {field: value for field, value in spelling.always.items() if value is not None}  # TOML has no null
    if implied:
        table["always"] = msgspec.to_builtins(implied)
    silent = [field for field in operation.__struct_fields__ if field not in fields and field not in implied]
    if silent:
        table["unsaid"] = dict.fromkeys(silent, _NO_PARAMETER)
    return {**table, "parameters": parameters} if parameters else table


def _without_doubles(parameters: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Two parameters for one meaning are one too many: the author has to choose."""
    meanings = [one.get("means") for one in parameters.values()]
    return {
        wire: {**one, "means": TO_DO} if one.get("means") and meanings.count(one["means"]) > 1 else one
        for wire, one in parameters.items()
    }


def _declared(
    meaning: Mapping[str, Any] | None, schema: Mapping[str, Any], operation: type[op.Operation], *, required: bool
) -> dict[str, Any]:
    if meaning is None:
        return {"means": TO_DO, **_shape(schema)}
    if "native_only" in meaning:
        return {**meaning, "type": _kind(schema)} if _kind(schema) else dict(meaning)
    declared = {**meaning, **_shape(schema)}
    field = next((one for one in msgspec.structs.fields(operation) if one.name == meaning["means"]), None)
    if field is not None and required and not field.required:
        declared["required"] = True
    choices = schema.get("enum")
    if isinstance(choices, list) and "values" not in meaning and all(isinstance(one, str) for one in choices):
        declared["schema"] = {"enum": choices}
    return declared


Reading = Callable[[Any, Any, Mapping[str, Any]], bool]
"""Whether a value of ours is what a native one becomes; the last are all values of the operation."""


def _is_last_line(native: Any, ours: Any, leaves: Mapping[str, Any]) -> bool:
    first = leaves.get("first_line")
    return _is_number(native) and first is not None and bool(ours == first + native - 1)


# The more particular ones first: a value that fits two is what the first of them says.
_READINGS: Final[Mapping[str, Reading]] = {
    "line_count": _is_last_line,
    "": lambda native, ours, _: _same(native, ours),
    "seconds": lambda native, ours, _: _is_number(native) and ours == native * 1000,
    "from_zero": lambda native, ours, _: _is_number(native) and ours == native + 1,
    "number_as_text": lambda native, ours, _: _is_number(native) and ours == str(native),
    "not": lambda native, ours, _: isinstance(native, bool) and ours is (not native),
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(native: Any, ours: Any) -> bool:
    if isinstance(native, bool):
        return native is ours
    return native == list(ours) if isinstance(native, list) and isinstance(ours, tuple) else bool(native == ours)


class _Asked:
    """A known tool, asked by calling it twice with one argument changed and looking at what changed in its meaning."""

    def __init__(self, spelling: AnySpelling) -> None:
        self.spelling = spelling
        self._hints = typing.get_type_hints(spelling)
        self._fields = dict(zip(spelling.__struct_encode_fields__, spelling.__struct_fields__, strict=True))

    def meaning(self, wire: str, others: Sequence[str], schema: Mapping[str, Any]) -> dict[str, Any] | None:
        """What a parameter means, in the words of a dialect file, or `None` when that does not show."""
        declared = self.spelling.parameters[self._fields[wire]]
        if declared.reason is not None:
            return {"native_only": declared.reason}
        hint = _bare(self._hints[self._fields[wire]])
        struct = _struct(hint)
        if struct is not None:
            return self._inside(wire, others, struct, schema)
        if get_origin(hint) is Literal:
            return self._words(wire, others, get_args(hint))
        compared = self._compared(wire, others, *_pair(hint, 0))
        if compared is None:
            return None
        leaf, convert = compared
        if convert == "seconds" and _kind(schema) == "integer":
            convert = "whole_seconds"
        if convert == "" and hint is str and self._empty_is_unsaid(wire, others, leaf):
            convert = "empty_is_unsaid"
        return {"means": leaf, "convert": convert} if convert else {"means": leaf}

    def _empty_is_unsaid(self, wire: str, others: Sequence[str], leaf: str) -> bool:
        leaves = self._leaves({wire: ""}, others)
        return leaves is not None and leaves.get(leaf, "") is None

    def _words(self, wire: str, others: Sequence[str], words: Sequence[Any]) -> dict[str, Any] | None:
        """Native words, each with ours."""
        read = [self._leaves({wire: word}, others) for word in words]
        readings = [leaves for leaves in read if leaves is not None]
        if len(readings) < len(words) or len(words) < 2:
            return None
        changed = [leaf for leaf in readings[0] if len({repr(leaves.get(leaf)) for leaves in readings}) == len(words)]
        if len(changed) != 1 or not all(isinstance(leaves[changed[0]], str) for leaves in readings):
            return None
        ours = [leaves[changed[0]] for leaves in readings]
        same = list(words) == ours
        return {"means": changed[0]} if same else {"means": changed[0], "values": dict(zip(words, ours, strict=True))}

    def _inside(
        self, wire: str, others: Sequence[str], struct: type[msgspec.Struct], schema: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """A list of objects: what each of their fields means."""
        hints = typing.get_type_hints(struct)
        names = dict(zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True))
        captured = Captured("", "", _items_of(schema))
        whole: dict[str, Any] = {}
        canonical: set[str] = set()
        for inner in captured.properties:
            if inner not in names:
                whole[inner] = {"means": TO_DO, **_shape(captured.properties[inner])}
                continue
            meaning = self._inner(wire, others, struct, inner, _bare(hints[names[inner]]))
            if meaning is None:
                return None
            leaf, _, field = meaning.pop("means").partition(".")
            canonical.add(leaf)
            whole[inner] = {"means": field, **meaning, **_shape(captured.properties[inner])}
        return {"means": canonical.pop(), "items": whole} if len(canonical) == 1 else None

    def _inner(
        self, wire: str, others: Sequence[str], struct: type[msgspec.Struct], inner: str, hint: Any
    ) -> dict[str, Any] | None:
        least = _sample(struct, 0)
        if get_origin(hint) is Literal:
            words = get_args(hint)
            read = [self._leaves({wire: [{**least, inner: word}]}, others) for word in words]
            readings = [leaves for leaves in read if leaves is not None]
            changed = {
                leaf for leaf in (readings[0] if readings else {}) if len({repr(one.get(leaf)) for one in readings}) > 1
            }
            if len(readings) < len(words) or len(changed) != 1:
                return None
            leaf = changed.pop()
            ours = [leaves[leaf] for leaves in readings]
            same = list(words) == ours
            return {"means": leaf} if same else {"means": leaf, "values": dict(zip(words, ours, strict=True))}
        one, other = _pair(hint, 3)
        compared = self._compared(wire, others, [{**least, inner: one}], [{**least, inner: other}], one, other)
        return None if compared is None or "." not in compared[0] else {"means": compared[0], **_converted(compared[1])}

    def _compared(
        self, wire: str, said: Sequence[str], one: Any, other: Any, first: Any = None, second: Any = None
    ) -> tuple[str, str] | None:
        """The one place in the meaning that follows a value, and by which conversion."""
        first, second = (one, other) if first is None else (first, second)
        for others in (said, ()):
            before, after = self._leaves({wire: one}, others), self._leaves({wire: other}, others)
            if before is None or after is None:
                continue
            changed = [leaf for leaf in before if leaf in after and before[leaf] != after[leaf]]
            ways = [
                (leaf, convert)
                for leaf in changed
                for convert, fits in _READINGS.items()
                if fits(first, before[leaf], before) and fits(second, after[leaf], after)
            ]
            followed = {leaf for leaf, _ in ways}
            # The last line follows the first where lines are counted; only what the value itself shows up in counts.
            if len(followed) == 1:
                return ways[0]
        return None

    def _leaves(self, values: Mapping[str, Any], others: Sequence[str]) -> dict[str, Any] | None:
        """What a call means, taken apart; `None` when it means no single operation."""
        arguments: dict[str, Any] = {}
        for index, wire in enumerate(self._fields):
            declared = self.spelling.parameters[self._fields[wire]]
            if declared.default is REQUIRED or (wire in others and declared.reason is None):
                arguments[wire] = _sample(_bare(self._hints[self._fields[wire]]), index + 5)
        try:
            call: Spelling[Any] = msgspec.convert({**arguments, **values}, self.spelling)
            operations = call.to_operations()
        except Exception:  # noqa: BLE001 - a tool that cannot be asked so tells nothing
            return None
        return dict(_taken_apart(operations[0])) if len(operations) == 1 else None


def _converted(convert: str) -> dict[str, str]:
    return {"convert": convert} if convert else {}


def _items_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    items = schema.get("items", schema)
    return items if isinstance(items, dict) else {}


def _taken_apart(struct: msgspec.Struct, before: str = "") -> Iterator[tuple[str, Any]]:
    for field in struct.__struct_fields__:
        value = getattr(struct, field)
        if isinstance(value, tuple) and len(value) == 1 and isinstance(value[0], msgspec.Struct):
            value = value[0]
        if isinstance(value, msgspec.Struct) and not before:
            yield from _taken_apart(value, f"{field}.")
        else:
            yield f"{before}{field}", value


def _bare(hint: Any) -> Any:
    if get_origin(hint) in (types.UnionType, typing.Union):
        return next(member for member in get_args(hint) if member is not type(None))
    return hint


def _struct(hint: Any) -> type[msgspec.Struct] | None:
    if get_origin(hint) in (tuple, list):
        hint = get_args(hint)[0]
    return hint if isinstance(hint, type) and issubclass(hint, msgspec.Struct) else None


def _pair(hint: Any, seed: int) -> tuple[Any, Any]:
    """Two values that differ in every way that could show."""
    return _sample(hint, seed), (not _sample(hint, seed) if hint is bool else _sample(hint, seed + 97))


def _sample(hint: Any, seed: int) -> Any:
    hint = _bare(hint)
    origin = get_origin(hint) or hint
    if origin is Literal:
        return get_args(hint)[0]
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct):
        hints = typing.get_type_hints(origin)
        fields = msgspec.structs.fields(origin)
        return {f.encode_name: _sample(hints[f.name], seed + index) for index, f in enumerate(fields) if f.required}
    if origin in (list, tuple):
        return [_sample(get_args(hint)[0], seed)] if get_args(hint) else [f"word{seed}"]
    if origin is dict:
        return {f"key{seed}": f"word{seed}"}
    samples: dict[Any, Any] = {bool: True, int: 3 + seed, float: 3 + seed}
    return samples.get(origin, f"word{seed}")
