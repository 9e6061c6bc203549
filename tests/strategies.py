"""Hypothesis strategies made from the model's own types, so that a new type is covered the moment it exists."""

from __future__ import annotations

import datetime
import enum
import functools
import types
import typing
from typing import Any, Literal, get_args, get_origin

import msgspec
from hypothesis import strategies as st

from dragoman import model
from dragoman.model import file_operations

# Lone surrogates are no text of JSON; integers beyond 64 bits come back as floats from a JSON reader.
TEXT = st.text(max_size=12)
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False, width=32)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
JSON_OBJECT = st.dictionaries(TEXT, JSON, max_size=3)

_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(-(2**53), 2**53),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    type(None): st.none(),
    Any: JSON,
    datetime.datetime: st.datetimes(
        min_value=datetime.datetime(2000, 1, 1), max_value=datetime.datetime(2100, 1, 1)
    ).map(lambda time: time.replace(tzinfo=datetime.UTC)),
    # Two structs whose fields depend on one another say themselves what goes together.
    model.ToolChoice: st.sampled_from(["auto", "none", "required"]).map(model.ToolChoice)
    | TEXT.map(lambda name: model.ToolChoice("one", (name,)))
    | st.builds(
        lambda names, required: model.ToolChoice("subset", tuple(names), required),
        st.lists(TEXT, min_size=1, max_size=3),
        st.booleans(),
    ),
    model.Thinking: st.sampled_from(["off", "low", "medium", "high"]).map(model.Thinking)
    | st.integers(1, 10**6).map(lambda tokens: model.Thinking(tokens=tokens)),
}


@functools.cache
def values(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of any type the model uses."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (types.UnionType, typing.Union):
        return st.one_of([values(argument) for argument in arguments])
    if origin is tuple and arguments[-1:] == (Ellipsis,):
        return st.lists(values(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*[values(argument) for argument in arguments])
    if origin is dict:
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=2)
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return st.sampled_from(annotation)
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return st.deferred(lambda: _structs(annotation))
    raise TypeError(f"no strategy for {annotation!r}: add one here")


@functools.cache
def _structs(struct: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(struct)
    # A default stands half of the time: most real values leave most fields unsaid, and recursion ends.
    fields = {
        field.name: values(hints[field.name]) if field.required else st.just(_DEFAULT) | values(hints[field.name])
        for field in msgspec.structs.fields(struct)
    }
    return st.fixed_dictionaries(fields).map(
        lambda drawn: struct(**{name: value for name, value in drawn.items() if value is not _DEFAULT})
    )


_DEFAULT = object()


def structs() -> dict[str, type[msgspec.Struct]]:
    """Every struct of the model that can be an instance: what its modules define, roots left out."""
    found: dict[str, type[msgspec.Struct]] = {}
    for module in (
        file_operations,
        model.operations,
        model.outcomes,
        model.calls,
        model.conversation,
        model.request,
        model.events,
    ):
        for name, value in vars(module).items():
            if isinstance(value, type) and issubclass(value, msgspec.Struct) and value.__module__ == module.__name__:
                found[name] = value
    roots = {base for struct in found.values() for base in struct.__bases__}
    return {name: struct for name, struct in found.items() if struct not in roots}
