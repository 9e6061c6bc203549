"""What `Annotated` says about a type, in msgspec's words and in those of annotated-types and pydantic."""

from __future__ import annotations

import datetime
import re
import types
import typing
from collections import abc
from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Meta

from .custom_types import has_pydantic_rules, is_predicate

Schema = dict[str, Any]

# What msgspec makes of the abstract collections; `Iterable` it would take without looking at the items.
COLLECTIONS: dict[Any, type] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    dict: dict,
    abc.Collection: list,
    abc.Iterable: list,
    abc.Sequence: list,
    abc.MutableSequence: list,
    abc.Set: set,
    abc.MutableSet: set,
    abc.Mapping: dict,
    abc.MutableMapping: dict,
}

_BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_LENGTHS = {
    "string": {"min_length": "minLength", "max_length": "maxLength"},
    "array": {"min_length": "minItems", "max_length": "maxItems"},
    "object": {"min_length": "minProperties", "max_length": "maxProperties"},
}
_CONSTRAINTS = (*_BOUNDS, "pattern", "min_length", "max_length")
# RFC 3339 demands an offset from UTC, so a time that must have none needs other words.
_WITHOUT_OFFSET = {"date-time": "local-date-time", "time": "partial-time"}


_ANNOTATED: Any = type(typing.Annotated[int, ""])


class Facts(NamedTuple):
    """Words for the schema, msgspec's own constraints, those of other libraries, and what cannot be read."""

    words: Schema
    own: list[Meta]
    foreign: dict[str, Any]
    problems: list[str]

    @property
    def constraints(self) -> dict[str, Any]:
        names = (*_CONSTRAINTS, "tz")
        own = {name: value for meta in self.own for name in names if (value := getattr(meta, name)) is not None}
        return {**own, **self.foreign}


def facts(metadata: tuple[Any, ...]) -> Facts:
    found = Facts({}, [], {}, [])
    for fact in metadata:
        library = type(fact).__module__.partition(".")[0]
        if isinstance(fact, str):
            found.words["description"] = fact
        elif isinstance(fact, Meta):
            found.own.append(fact)
            words = {name: getattr(fact, name) for name in ("title", "description", "examples")}
            found.words.update({name: value for name, value in words.items() if value is not None})
            found.words.update(fact.extra_json_schema or {})
        elif library in ("pydantic", "annotated_types"):
            _read_foreign(fact, found)
        elif isinstance(text := getattr(fact, "documentation", None), str):  # typing_extensions.Doc
            found.words["description"] = text
    return found


def _read_foreign(fact: Any, found: Facts) -> None:
    words = {name: getattr(fact, name, None) for name in ("description", "examples")}
    found.words.update({name: value for name, value in words.items() if value is not None})
    if is_predicate(fact) and not has_pydantic_rules(fact):
        found.problems.append("only pydantic checks a `Predicate`, and it is not imported; check it in your code")
    if getattr(fact, "alias", None):
        found.problems.append("a pydantic alias is not read here; name the parameter as it is to be called")
    for part in (fact, *(getattr(fact, "metadata", None) or ())):
        for name in _CONSTRAINTS:
            if (value := getattr(part, name, None)) is not None:
                found.foreign[name] = value.pattern if isinstance(value, re.Pattern) else value


def constrain(schema: Schema, constraints: Mapping[str, Any]) -> None:
    """Say constraints in a schema."""
    lengths = _LENGTHS.get(schema.get("type", ""), {})
    for name, value in constraints.items():
        if name in _BOUNDS:
            schema[_BOUNDS[name]] = value
        elif name == "pattern":
            schema["pattern"] = value
        elif name == "tz" and value is False:
            schema["format"] = _WITHOUT_OFFSET.get(schema.get("format", ""), schema.get("format"))
        elif name in lengths:
            schema[lengths[name]] = 4 * ((value + 2) // 3) if "contentEncoding" in schema else value


def narrowed(member: Any, constraints: Mapping[str, Any]) -> Any:
    """A member of a union with those constraints it can carry."""
    base = bare(member)
    kind = COLLECTIONS.get(typing.get_origin(base) or base, base)
    if kind in (int, float):
        fitting: tuple[str, ...] = tuple(_BOUNDS)
    elif kind is str:
        fitting = ("pattern", "min_length", "max_length")
    elif kind in (bytes, bytearray, list, tuple, set, frozenset, dict):
        fitting = ("min_length", "max_length")
    elif kind in (datetime.datetime, datetime.time):
        fitting = ("tz",)
    else:
        return member
    chosen = {name: constraints[name] for name in fitting if name in constraints}
    return typing.Annotated[member, Meta(**chosen)] if chosen else member


def origin_of(hint: Any) -> Any:
    """`typing.get_origin`, which is asked too often to be that slow."""
    kind = type(hint)
    if kind is types.UnionType:
        return kind
    return typing.Annotated if kind is _ANNOTATED else getattr(hint, "__origin__", None)


def bare(hint: Any) -> Any:
    """A type without the names and facts wrapped around it."""
    while True:
        if (supertype := getattr(hint, "__supertype__", None)) is not None:
            hint = supertype
        elif type(hint) is _ANNOTATED:
            hint = hint.__origin__
        else:
            return hint


def members(hint: Any) -> tuple[Any, ...]:
    """The members of a union, through the alias it may hide behind; a type that is no union is its own member."""
    origin = origin_of(hint)
    if origin is typing.Union or origin is types.UnionType:
        return tuple(inner for member in typing.get_args(hint) for inner in members(member))
    value = None if isinstance(hint, type) else getattr(hint, "__value__", None)
    return (hint,) if value is None else members(value)
