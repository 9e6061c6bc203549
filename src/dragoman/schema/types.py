"""Python types to JSON Schema (2020-12): plain, flat, in a fixed order, without titles."""

from __future__ import annotations

import datetime
import decimal
import enum
import math
import re
import sys
import types
import typing
import uuid
from collections import abc
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import NODEFAULT, Meta

from .classes import ClassInfo, class_info, has_fields, is_struct, is_typeddict, own_doc
from .constraints import COLLECTIONS, Schema, bare, constrain, facts, members, narrowed, origin_of
from .custom_types import (
    StandIn,
    any_of,
    by_pydantic,
    decodes,
    given_parts,
    given_type,
    has_converters,
    has_pydantic_rules,
    is_custom,
    is_path,
    is_pydantic,
    later,
    read_custom,
)
from .values import json_problems, shown, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .classes import Field

_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    dict: {"type": "object"},
    list: {"type": "array", "items": {}},
    tuple: {"type": "array", "items": {}},
    set: {"type": "array", "items": {}, "uniqueItems": True},
    frozenset: {"type": "array", "items": {}, "uniqueItems": True},
    object: {},
    msgspec.Raw: {},
}

# JSON has no words for these, so the schema only hints at them: their own type says whether a text is one.
_TEXTUAL: dict[Any, Schema] = {
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
    datetime.timedelta: {"type": "string", "format": "duration"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    decimal.Decimal: {"type": "string", "format": "decimal"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    bytearray: {"type": "string", "contentEncoding": "base64"},
    memoryview: {"type": "string", "contentEncoding": "base64"},
}

_PLAIN_VALUES = (str, int, float, bool, list, dict, tuple)

_MAPS_OF_SCHEMAS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS_OF_SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMAS = ("items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else")


class _Named:
    """A class met on the walk: its schema, and the places that use it."""

    __slots__ = ("body", "name", "recursive", "uses")

    def __init__(self, name: str) -> None:
        self.name = name
        self.body: Schema | None = None
        self.uses: list[Schema] = []
        self.recursive = False


class Walk:
    """One walk over Python types.

    Gathers the JSON Schema, the types msgspec is to decode (facts of other libraries in `Annotated`
    turned into its own), and every problem. Models do best with flat schemas, so a class is written
    where it is used; only one that is recursive or used again gets an entry in `$defs`.
    """

    __slots__ = (
        "_calling",
        "_named",
        "_open",
        "_places",
        "_stand_ins",
        "leaves",
        "must_call",
        "problems",
        "unenforced",
    )

    def __init__(self, *, calling: bool = False) -> None:
        self.problems: list[str] = []
        # Set when a class or fact was met that msgspec would pass by: walk again with `calling`, by which each class
        # is made by calling it. Few need it, and msgspec makes the others faster.
        self.must_call = False
        self._calling = calling
        self._stand_ins: dict[Any, type[StandIn]] = {}
        self._open: list[Any] = []  # the aliases that are being walked
        # id of a schema → itself, to keep the id its own, and the type that alone knows which texts are its values
        self.leaves: dict[int, tuple[Schema, Any]] = {}
        # Set when a class of the user's has facts that msgspec does not read: decoding alone does not hold them.
        self.unenforced = calling
        self._named: dict[Any, _Named] = {}
        self._places: list[tuple[str, str]] = []

    def parameters(self, fields: Sequence[Field]) -> tuple[Schema, list[Any]]:
        """The closed object of a tool's parameters, and the type to decode each with."""
        hints = []

        def walked() -> Iterator[tuple[Field, Schema]]:
            for field in fields:
                self._places.append(("parameter", field.name))
                schema, hint = self.schema(field.hint)
                self._check_default(field, hint)
                self._places.pop()
                hints.append(hint)
                yield field, schema

        schema = _object(walked(), closed=True)
        return self.finish(schema), hints

    def finish(self, root: Schema) -> Schema:
        """Write every class where it is used, or in `$defs`."""
        definitions: Schema = {}
        for named in self._named.values():
            body = named.body or {}
            reference = None
            if named.recursive or sum(use is not root for use in named.uses) > 1:
                name = _free_name(named.name, definitions)
                reference = {"$ref": f"#/$defs/{name}"}
                definitions[name] = body
            for use in named.uses:
                own = dict(use)
                use.clear()
                use.update(body if reference is None or use is root else reference)
                use.update(own)
        if definitions:
            root["$defs"] = definitions
        return root

    def schema(self, hint: Any) -> tuple[Schema, Any]:
        """The schema of a type, and the type msgspec is to decode it with (most often itself)."""
        if hint is Any:
            return {}, hint
        if isinstance(hint, type):
            schema = self._class(hint, hint)
            return schema, self._stand_ins.get(hint, hint)
        if hint is None:
            return {"type": "null"}, hint
        if isinstance(hint, (str, typing.ForwardRef)):
            name = hint if isinstance(hint, str) else hint.__forward_arg__
            if (alias := next((one for one in self._open if one.__name__ == name), None)) is not None:
                return self._alias(alias, None)
            if self._open and (meant := _written_type(name, self._open[-1])) is not None:
                return self.schema(meant)
            self._problem(f"the type `{name}` cannot be resolved")
            return {}, Any
        origin = origin_of(hint)
        if origin is typing.Annotated:
            return self._annotated(hint)
        if origin is typing.Union or origin is types.UnionType:
            return self._union(hint, typing.get_args(hint))
        if origin is typing.Literal:
            return _choices(typing.get_args(hint)), hint
        if origin in COLLECTIONS:
            return self._collection(hint, COLLECTIONS[origin], typing.get_args(hint))
        if isinstance(origin, type):
            schema = self._class(origin, hint)
            return schema, self._stand_ins.get(hint, hint)
        return self._alias(hint, origin)

    def _check_default(self, field: Field, hint: Any) -> None:
        """Plain values only: what an object of a class is like only that class knows."""
        default = field.default
        if type(default) is hint and hint in (str, int, bool):
            return
        if isinstance(default, float) and default != default:
            self._problem("its default is NaN, which JSON cannot say")
            return
        if isinstance(default, enum.Enum):
            default = default.value
        elif type(default) in (set, frozenset):
            default = list(default)
        if type(default) in _PLAIN_VALUES and not json_problems(default):
            try:
                msgspec.convert(default, hint, str_keys=True, dec_hook=read_custom)
            except msgspec.ValidationError as error:
                self._problem(f"its default {shown(default)} does not fit its type: {error}")
            except Exception:  # noqa: BLE001 - the type itself is wrong, which is told where types are checked
                pass

    def _problem(self, text: str) -> None:
        places = [f"{owner} `{name}`" if owner == "parameter" else f"{owner}.{name}" for owner, name in self._places]
        self.problems.append(": ".join([*places, text]))

    def _alias(self, hint: Any, origin: Any) -> tuple[Schema, Any]:
        """A name for another type: `NewType`, `type X = ...`, `Final`, a type variable."""
        meant = getattr(hint, "__supertype__", None) or getattr(hint, "__value__", None)
        if isinstance(hint, TypeVar):
            meant = hint.__bound__ or Any
        elif origin is typing.Final:
            (meant,) = typing.get_args(hint)
        elif (value := getattr(origin, "__value__", None)) is not None:
            meant = value[typing.get_args(hint)]  # the type itself would give what it means of any argument
        if meant is None:
            self._problem(_unsupported(hint))
            return {}, Any
        if (name := getattr(hint, "__name__", None)) is not None and hasattr(hint, "__value__"):
            return self._named_type(hint, name, meant)
        schema, inner = self.schema(meant)
        return schema, hint if inner is meant else inner

    def _named_type(self, hint: Any, name: str, meant: Any) -> tuple[Schema, Any]:
        """`type X = ...`, which may be met again in what it means; only then does it stand in `$defs`."""
        if hint in self._open and hint not in self._stand_ins:
            self.must_call = True
            self._named[hint], self._stand_ins[hint] = _Named(name), later()
        if hint in self._stand_ins:
            return self._use(hint, name, dict), self._stand_ins[hint]
        self._open.append(hint)
        schema, inner = self.schema(meant)
        self._open.pop()
        if hint not in self._stand_ins:
            return schema, hint if inner is meant and not typing.get_args(hint) else inner
        self._named[hint].body = schema
        given_type(self._stand_ins[hint], inner)
        return self._use(hint, name, dict), self._stand_ins[hint]

    def _annotated(self, hint: Any) -> tuple[Schema, Any]:
        base = hint.__origin__
        said = facts(hint.__metadata__)
        for problem in said.problems:
            self._problem(problem)
        if any(map(has_pydantic_rules, hint.__metadata__)):
            schema, stand_in = self._by_pydantic(hint)
            schema.update(said.words)
            return schema, stand_in
        constraints = said.constraints
        if constraints and len(options := members(base)) > 1:
            # msgspec takes constraints on a member of a union, people write them on the union.
            kept = tuple(narrowed(option, constraints) for option in options)
            if all(after is before for after, before in zip(kept, options, strict=True)):
                self._problem(f"{_listed(constraints)} fits no member of {shown_type(base)}")
            schema, inner = self._union(None, kept)
            schema.update(said.words)
            return schema, inner
        schema, inner = self.schema(base)
        constrain(schema, constraints)
        schema.update(said.words)
        if said.foreign:
            try:
                inner = typing.Annotated[(inner, *said.own, Meta(**said.foreign))]
            except (TypeError, ValueError) as error:
                self._problem(f"{_listed(said.foreign)}: {error}")
        else:
            inner = hint if inner is base else typing.Annotated[(inner, *hint.__metadata__)]
        if id(schema) in self.leaves:
            self.leaves[id(schema)] = (schema, inner)
        return schema, inner

    def _union(self, hint: Any, options: tuple[Any, ...]) -> tuple[Schema, Any]:
        flat = tuple(inner for option in options for inner in members(option))
        tagged = sum(map(is_struct, flat)) > 1
        branches: list[Schema] = []
        hints: list[Any] = []
        for option in sorted(flat, key=lambda option: option is None or option is type(None)):
            if tagged and is_struct(option):
                schema = self._struct(typing.get_origin(option) or option, option, in_union=True)
                inner = self._stand_ins.get(option, option)
            else:
                schema, inner = self.schema(option)
            branches.append(schema)
            hints.append(inner)
        if {"type": "number"} in branches:
            branches = [branch for branch in branches if branch != {"type": "integer"}]
        unchanged = hint is not None and all(any(inner is option for option in flat) for inner in hints)
        schema = branches[0] if len(branches) == 1 else {"anyOf": branches}
        whole = hint if unchanged else typing.Union[tuple(hints)]  # noqa: UP007 - as many as there are
        some = [inner for inner in hints if inner is not None and inner is not type(None)]
        classes = len(some) > 1 and any(has_fields(inner) or is_custom(inner) for inner in some)
        if classes and not decodes(whole):
            self.must_call = self.must_call or not all(map(decodes, some))
            return schema, any_of(some) if len(some) == len(hints) else any_of(some) | None
        return schema, whole

    def _collection(self, hint: Any, kind: type, arguments: tuple[Any, ...]) -> tuple[Schema, Any]:
        if not arguments and (kind is not tuple or hint is typing.Tuple):  # noqa: UP006 - tuple[()] has none either
            return dict(_PLAIN[kind]), kind
        if kind is dict:
            return self._mapping(hint, *arguments)
        if kind is tuple and (len(arguments) != 2 or arguments[1] is not ...):
            return self._tuple(hint, arguments)
        items, inner = self.schema(arguments[0])
        schema: Schema = {"type": "array", "items": items}
        if kind in (set, frozenset):
            schema["uniqueItems"] = True
        if inner is arguments[0] and typing.get_origin(hint) is not abc.Iterable:
            return schema, hint
        parameters: Any = (inner, ...) if kind is tuple else inner
        return schema, types.GenericAlias(kind, parameters)

    def _tuple(self, hint: Any, arguments: tuple[Any, ...]) -> tuple[Schema, Any]:
        walked = [self.schema(argument) for argument in arguments]
        schema: Schema = {"type": "array"}
        if walked:
            schema["prefixItems"] = [item for item, _ in walked]
            schema["items"] = False
        schema["minItems"] = schema["maxItems"] = len(walked)
        if all(inner is argument for (_, inner), argument in zip(walked, arguments, strict=True)):
            return schema, hint
        return schema, types.GenericAlias(tuple, tuple(inner for _, inner in walked))

    def _mapping(self, hint: Any, keys: Any, values: Any) -> tuple[Schema, Any]:
        schema: Schema = {"type": "object"}
        if not _can_be_key(bare(keys)):
            self._problem(f"the keys of a JSON object are texts, which {shown_type(keys)} cannot be read from")
        elif names := _key_schema(self.schema(keys)[0]):
            schema["propertyNames"] = names
        body, inner = self.schema(values)
        if values is not Any and values is not object:
            schema["additionalProperties"] = body
        return schema, hint if inner is values else types.GenericAlias(dict, (keys, inner))

    def _class(self, cls: Any, hint: Any) -> Schema:
        if (plain := _PLAIN.get(cls)) is not None:
            return dict(plain)
        if (textual := _TEXTUAL.get(cls)) is not None:
            return self._leaf(textual, cls)
        if isinstance(cls, enum.EnumMeta) and issubclass(cls, enum.Flag):
            return _flags(cls)
        if isinstance(cls, enum.EnumMeta):
            schema = _choices(tuple(member.value for member in list[enum.Enum](cls)))
            _describe(schema, own_doc(cls))
            return schema
        if is_struct(cls):
            return self._struct(cls, hint, in_union=False)
        if is_pydantic(cls):
            return self._pydantic(cls, cls.model_json_schema)
        if has_pydantic_rules(cls):
            schema, self._stand_ins[hint] = self._by_pydantic(hint)
            return schema
        if is_typeddict(cls) or hasattr(cls, "__dataclass_fields__") or hasattr(cls, "__attrs_attrs__"):
            return self._use(hint, _type_name(hint), lambda: self._fields(cls, hint))
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            return self._use(hint, _type_name(hint), lambda: self._row(cls, hint))
        if is_path(cls):
            return self._leaf({"type": "string", "format": "path"}, cls)
        self._problem(_unsupported(cls))
        return {}

    def _leaf(self, schema: Schema, hint: Any) -> Schema:
        schema = dict(schema)
        self.leaves[id(schema)] = (schema, hint)
        return schema

    def _use(self, key: Any, name: str, build: Callable[[], Schema]) -> Schema:
        """A place where a class is used: empty until `finish`."""
        named = self._named.get(key)
        if named is None:
            named = self._named[key] = _Named(name)
            named.body = build()
        elif named.body is None:
            named.recursive = True
        use: Schema = {}
        named.uses.append(use)
        return use

    def _struct(self, cls: Any, hint: Any, *, in_union: bool) -> Schema:
        if cls.__struct_config__.array_like:
            return self._use(hint, _type_name(hint), lambda: self._row(cls, hint))
        # Alone, a struct is read without its tag; among others the tag tells them apart.
        return self._use((hint, in_union), _type_name(hint), lambda: self._fields(cls, hint, tag_required=in_union))

    def _fields(self, cls: Any, hint: Any, *, tag_required: bool = False) -> Schema:
        config = getattr(cls, "__struct_config__", None)
        info = self._class_info(cls, hint)
        # Decoding alone would take a value for a field that only the class itself may set.
        self.unenforced = self.unenforced or info.sets_itself
        self.must_call = self.must_call or has_converters(cls)
        closed = info.sets_itself or (config is not None and config.forbid_unknown_fields)
        schema = _object(self._class_fields(cls, hint, info), closed=closed, description=info.text)
        if config is not None and config.tag is not None:
            kind = "integer" if isinstance(config.tag, int) else "string"
            tag = {"type": kind, "const": config.tag}
            schema["properties"] = {config.tag_field: tag, **schema["properties"]}
            if tag_required:
                schema["required"] = [config.tag_field, *schema.get("required", [])]
        return schema

    def _row(self, cls: Any, hint: Any) -> Schema:
        """A class that travels as a list: a named tuple, an array-like struct."""
        config = getattr(cls, "__struct_config__", None)
        if config is not None and config.tag is not None:
            self._problem(
                f"{shown_type(cls)} is array-like and tagged, which no plain schema can say; drop one of the two"
            )
        info = self._class_info(cls, hint)
        walked = list(self._class_fields(cls, hint, info))
        schema: Schema = {"type": "array"}
        _describe(schema, info.text)
        schema["prefixItems"] = [item for _, item in walked]
        for field, item in walked:
            item["description"] = field.description or item.get("description") or field.name
        schema["minItems"] = sum(field.required for field, _ in walked)
        if config is None or config.forbid_unknown_fields:
            schema["items"] = False
            schema["maxItems"] = len(walked)
        return schema

    def _class_info(self, cls: Any, hint: Any) -> ClassInfo:
        try:
            return class_info(hint)
        except NameError as error:
            self._problem(f"{cls.__name__}: the type `{error.name}` cannot be resolved")
        except (TypeError, ValueError, NotImplementedError) as error:
            self._problem(f"{cls.__name__}: {error}")
        return ClassInfo("", ())

    def _class_fields(self, cls: Any, hint: Any, info: ClassInfo) -> Iterator[tuple[Field, Schema]]:
        if self._calling:
            self._stand_ins.setdefault(hint, later())  # now: it may be met again in its own fields
        parts = []
        for field in info.fields:
            self._places.append((cls.__name__, field.name))
            schema, inner = self.schema(field.hint)
            self._check_default(field, inner)
            self._places.pop()
            self.unenforced = self.unenforced or inner is not field.hint
            parts.append((field.name, inner, field.required))
            yield field, schema
        if self._calling:
            try:
                given_parts(self._stand_ins[hint], hint, parts)
            except (TypeError, ValueError, NameError, RuntimeError) as error:
                self._problem(f"{cls.__name__}: {error}")

    def _by_pydantic(self, hint: Any) -> tuple[Schema, type[StandIn]]:
        """A type that is no model, and that pydantic reads."""
        self.must_call = True
        stand_in = by_pydantic(hint)
        return self._pydantic(hint, lambda: stand_in.adapter().json_schema()), stand_in

    def _pydantic(self, kind: Any, document_of: Callable[[], Schema]) -> Schema:
        try:
            document = document_of()
        except Exception as error:  # noqa: BLE001 - pydantic's own reasons, whichever they are
            self._problem(f"{shown_type(kind)}: pydantic gives no schema: {error}")
            return {}
        definitions = document.pop("$defs", {})
        if "properties" in document:
            return self._foreign_use(_type_name(kind), document, definitions)
        schema: Schema = self._foreign(document, definitions)
        return schema

    def _foreign(self, node: Any, definitions: Schema) -> Any:
        """pydantic's own schema without its titles, its classes treated as ours are."""
        if not isinstance(node, dict):
            return node
        if "$ref" not in node:
            parts = _mapped(node, lambda child: self._foreign(child, definitions))
            return {key: value for key, value in parts.items() if key not in ("title", "discriminator")}
        name = node["$ref"].rpartition("/")[2]
        target = definitions[name]
        use: Schema = (
            self._foreign(target, definitions) if "enum" in target else self._foreign_use(name, target, definitions)
        )
        use.update({key: value for key, value in node.items() if key != "$ref"})
        return use

    def _foreign_use(self, name: str, node: Schema, definitions: Schema) -> Schema:
        # Two models that hold the same class each bring a copy of its schema: equal ones are one.
        key = (name, msgspec.json.encode(node, order="sorted"))
        return self._use(key, name, lambda: self._foreign(node, definitions))


def _object(walked: Iterable[tuple[Field, Schema]], *, closed: bool, description: str = "") -> Schema:
    properties: Schema = {}
    required: list[str] = []
    for field, schema in walked:
        if field.description:
            schema["description"] = field.description
        if field.required:
            required.append(field.name)
        elif (default := _json_default(field.default, schema)) is not NODEFAULT:
            schema["default"] = default
        properties[field.name] = schema
    result: Schema = {"type": "object"}
    _describe(result, description)
    result["properties"] = properties
    if required:
        result["required"] = required
    if closed:
        result["additionalProperties"] = False
    return result


def _json_default(default: Any, schema: Schema) -> Any:
    """A default as this schema can say it, or `NODEFAULT`."""
    if default is NODEFAULT or type(default) in (str, bool, int):
        return default
    if default is None:
        # `x: int = None` is read as it is meant: null is not offered, and leaving it out gives None.
        return None if schema.get("type", "null") == "null" else NODEFAULT
    if isinstance(default, float) and not math.isfinite(default):
        return NODEFAULT
    try:
        return to_json(default)
    except TypeError:
        return NODEFAULT


def _describe(schema: Schema, text: str) -> None:
    if text:
        schema["description"] = text


def _choices(values: tuple[Any, ...]) -> Schema:
    kinds = {type(value) for value in values}
    schema = dict(_PLAIN.get(kinds.pop(), {})) if len(kinds) == 1 else {}
    if schema != {"type": "null"}:
        schema["enum"] = list(values)
    return schema


def _flags(cls: type[enum.Flag]) -> Schema:
    """Flags are added up, so that their members are not all of their values."""
    listed = ", ".join(f"{member.value} ({name})" for name, member in cls.__members__.items())
    schema: Schema = {"type": "integer"}
    _describe(schema, "\n\n".join(filter(None, (own_doc(cls), f"A sum of {listed}." if listed else ""))))
    return schema


def _can_be_key(kind: Any) -> bool:
    if kind is Any or typing.get_origin(kind) is typing.Literal or isinstance(kind, (enum.EnumMeta, TypeVar)):
        return True
    return kind in (str, int, float) or (kind in _TEXTUAL and kind not in (bytearray, memoryview))


def _key_schema(schema: Schema) -> Schema:
    """The schema of a key. Keys are always texts, so it need not say that; a number is one written as text."""
    if schema.get("type") in ("integer", "number"):
        if "enum" in schema:
            return {"enum": [str(value) for value in schema["enum"]]}
        return {"pattern": "^-?[0-9]+$"} if schema["type"] == "integer" else {}
    return {keyword: value for keyword, value in schema.items() if keyword != "type"}


def _mapped(schema: Schema, change: Callable[[Any], Any]) -> Schema:
    """A schema with `change` applied to each schema directly inside it."""
    result: Schema = {}
    for key, value in schema.items():
        if key in _MAPS_OF_SCHEMAS and isinstance(value, dict):
            result[key] = {name: change(child) for name, child in value.items()}
        elif key in _LISTS_OF_SCHEMAS and isinstance(value, list):
            result[key] = [change(child) for child in value]
        else:
            result[key] = change(value) if key in _SCHEMAS else value
    return result


def _type_name(hint: Any) -> str:
    origin = typing.get_origin(hint)
    if origin is None:
        return str(getattr(hint, "__name__", hint))
    return "_".join(map(_type_name, (origin, *typing.get_args(hint))))


def _free_name(name: str, taken: Schema) -> str:
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def shown_type(hint: Any) -> str:
    return f"`{hint.__qualname__ if isinstance(hint, type) else str(hint).replace('typing.', '')}`"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _written_type(text: str, alias: Any) -> Any:
    """The type that an alias writes as text, read where the alias was made; `None` if it has names not known there."""
    known = vars(sys.modules[alias.__module__]) if alias.__module__ in sys.modules else {}
    holder = types.SimpleNamespace(__annotations__={"type": text})
    try:
        return typing.get_type_hints(holder, dict(known), include_extras=True)["type"]
    except (NameError, SyntaxError, AttributeError, TypeError):
        return None


def _unsupported(hint: Any) -> str:
    return (
        f"{shown_type(hint)} cannot be read from JSON; use a scalar, an enum, a collection, a dataclass, "
        "a TypedDict, a NamedTuple, an attrs class, a msgspec Struct or a pydantic model"
    )
