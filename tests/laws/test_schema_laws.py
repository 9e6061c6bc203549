"""Laws of schemas and readers: whatever the type, whatever the schema, whatever a model sends."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import string
import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, TypedDict, TypeVar

import annotated_types
import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from dragoman.errors import DefinitionError, ToolError
from dragoman.schema import Coerced, Reader, schema_of, to_json, to_text
from tests.strategies import JSON, JSON_OBJECT, TEXT

# ── every type gives a schema, and its values fit it ─────────────────────────


class Colour(enum.Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Point(NamedTuple):
    x: int
    y: float = 0.0


class Options(TypedDict, total=False):
    depth: int
    label: Annotated[str, "What to call it."]


@dataclasses.dataclass
class Tree:
    """A tree."""

    name: str
    branches: list[Tree] = dataclasses.field(default_factory=list)


@attrs.define
class Parcel:
    weight: float
    tags: list[str] = attrs.Factory(list)


class Circle(msgspec.Struct, tag="circle", forbid_unknown_fields=True):
    radius: float


class Square(msgspec.Struct, tag="square", rename="camel"):
    side_length: int = 1


class Row(msgspec.Struct, array_like=True):
    key: str
    value: int = 0


class Address(pydantic.BaseModel):
    """A postal address."""

    street: str
    number: int = pydantic.Field(default=1, ge=1)
    since: datetime.date | None = None


class Branch(pydantic.BaseModel):
    name: str
    parent: Branch | None = None


T = TypeVar("T")


@dataclasses.dataclass
class Page(Generic[T]):
    items: list[T]


UserId = NewType("UserId", int)

INTEGERS = st.integers(-(2**63), 2**63)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(string.ascii_letters, min_size=1, max_size=5)
TREES: st.SearchStrategy[Tree] = st.recursive(
    st.builds(Tree, TEXT), lambda inner: st.builds(Tree, TEXT, st.lists(inner, max_size=2)), max_leaves=4
)
BRANCHES: st.SearchStrategy[Branch] = st.recursive(
    st.builds(lambda name: Branch(name=name), TEXT),
    lambda inner: st.builds(lambda name, parent: Branch(name=name, parent=parent), TEXT, inner),
    max_leaves=3,
)

LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (str, TEXT),
    (int, INTEGERS),
    (float, FLOATS),
    (bool, st.booleans()),
    (None, st.none()),
    (Any, JSON),
    (object, JSON),
    (datetime.datetime, st.datetimes() | st.datetimes(timezones=st.just(datetime.UTC))),
    (datetime.date, st.dates()),
    (datetime.time, st.times()),
    (datetime.timedelta, st.timedeltas(datetime.timedelta(days=-999), datetime.timedelta(days=999))),
    (uuid.UUID, st.uuids()),
    (decimal.Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
    (bytes, st.binary(max_size=9)),
    (pathlib.PurePosixPath, NAMES.map(pathlib.PurePosixPath)),
    (UserId, INTEGERS),
    (Colour, st.sampled_from(Colour)),
    (Level, st.sampled_from(Level)),
    (Literal["a", 2, None, True], st.sampled_from(["a", 2, None, True])),
    (Point, st.builds(Point, INTEGERS, FLOATS)),
    (Options, st.fixed_dictionaries({}, optional={"depth": INTEGERS, "label": TEXT})),
    (Tree, TREES),
    (Parcel, st.builds(Parcel, FLOATS, st.lists(TEXT, max_size=2))),
    (Circle, st.builds(Circle, FLOATS)),
    (Circle | Square, st.builds(Circle, FLOATS) | st.builds(Square, INTEGERS)),
    (Row, st.builds(Row, TEXT, INTEGERS)),
    (Address, st.builds(lambda street, since: Address(street=street, since=since), TEXT, st.none() | st.dates())),
    (Branch, BRANCHES),
    (Page[int], st.builds(Page, st.lists(INTEGERS, max_size=2))),
    (Annotated[int, "How many."], INTEGERS),
    (Annotated[int, annotated_types.Interval(ge=3, lt=9)], st.integers(3, 8)),
    (Annotated[int | None, annotated_types.Gt(0)], st.none() | st.integers(1, 9)),
    (
        Annotated[str, pydantic.Field(min_length=2, max_length=4, description="Two to four.")],
        st.text("ab", min_size=2, max_size=4),
    ),
    (Annotated[str, msgspec.Meta(pattern="^[ab]+$")], st.text("ab", min_size=1, max_size=4)),
    (Annotated[list[int], annotated_types.Len(1, 3)], st.lists(INTEGERS, min_size=1, max_size=3)),
    (Annotated[bytes, msgspec.Meta(min_length=2, max_length=5)], st.binary(min_size=2, max_size=5)),
    (Annotated[datetime.datetime, msgspec.Meta(tz=False)], st.datetimes()),
]

Typed = tuple[Any, st.SearchStrategy[Any]]


def wrapped(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    """Types made from other types, each with the values it has."""
    keyed = st.sampled_from([(str, TEXT), (int, INTEGERS), (Colour, st.sampled_from(Colour)), (uuid.UUID, st.uuids())])
    return st.one_of(
        inner.map(lambda typed: (list[typed[0]], st.lists(typed[1], max_size=3))),
        inner.map(lambda typed: (Sequence[typed[0]], st.lists(typed[1], max_size=3))),
        inner.map(lambda typed: (tuple[typed[0], ...], st.lists(typed[1], max_size=3).map(tuple))),
        st.tuples(inner, inner).map(lambda two: (tuple[two[0][0], two[1][0]], st.tuples(two[0][1], two[1][1]))),
        st.tuples(keyed, inner).map(
            lambda two: (dict[two[0][0], two[1][0]], st.dictionaries(two[0][1], two[1][1], max_size=3))
        ),
        inner.map(lambda typed: (Mapping[str, typed[0]], st.dictionaries(TEXT, typed[1], max_size=3))),
        inner.map(lambda typed: (typed[0] | None, st.none() | typed[1]) if not is_nullable(typed[0]) else typed),
    )


def is_nullable(hint: Any) -> bool:
    return hint is None or hint is Any


TYPED = st.recursive(st.sampled_from(LEAVES), wrapped, max_leaves=3)
SETS = st.sampled_from(
    [
        (set[int], st.sets(INTEGERS)),
        (frozenset[str], st.frozensets(TEXT)),
        (set[Colour], st.sets(st.sampled_from(Colour))),
    ]
)


@given(st.data(), TYPED | SETS)
def test_every_value_of_a_type_fits_its_schema_and_is_read_back_as_it_was(data: st.DataObject, typed: Typed) -> None:
    hint, values = typed
    value = data.draw(values)
    reader = Reader.of_type(hint)
    plain = to_json(value)
    text = msgspec.json.encode(plain)
    Draft202012Validator.check_schema(reader.schema)
    Draft202012Validator(reader.schema).validate(plain)
    assert reader.problems(plain) == []
    assert reader.read(text) == (value, ())
    assert reader.read(text.decode()) == (value, ())


@given(TYPED)
def test_the_same_type_always_gives_the_same_schema(typed: Typed) -> None:
    one, other = json.dumps(schema_of(typed[0])), json.dumps(schema_of(typed[0]))
    assert one == other


def read_or_refused(reader: Reader[Any], arguments: Any) -> tuple[Any, tuple[Coerced, ...]] | ToolError:
    """What a reader makes of arguments. An exception of another kind goes through, and fails the test."""
    try:
        return reader.read(arguments)
    except ToolError as error:
        return error if error.kind == "invalid_arguments" else pytest.fail(f"refused as {error.kind}")


@given(TYPED, JSON)
def test_any_json_is_read_by_any_type_or_refused_with_paths(typed: Typed, value: Any) -> None:
    reader = Reader.of_type(typed[0])
    answer = read_or_refused(reader, msgspec.json.encode(value))
    if isinstance(answer, ToolError):
        assert answer.details["problems"]
    else:
        assert answer[1] or reader.problems(value) == []


@given(
    st.binary()
    | st.text()
    | st.sampled_from([b"[" * 10_000, b'{"a":' * 10_000, "\ud800", b'"\\ud800"', b"1" * 5000, b"1e999"])
)
def test_any_bytes_are_read_or_refused(arguments: bytes | str) -> None:
    for hint in (Tree, list[int], Any, Circle | Square, dict[str, Any]):
        read_or_refused(Reader.of_type(hint), arguments)


# ── raw schemas mean what JSON Schema says they mean ─────────────────────────

SMALL = st.integers(0, 3)
KEYS = st.sampled_from(["a", "b", "ab", "c"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 1.0, -2.0])
    | st.sampled_from(["", "a", "ab", "1", "true"])
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null"])


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(KEYS, inner, max_size=3)
    several = st.lists(inner, min_size=1, max_size=3)
    known: dict[str, st.SearchStrategy[Any]] = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "minimum": st.integers(-3, 3),
        "exclusiveMaximum": st.integers(-3, 3),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "minLength": SMALL,
        "maxLength": SMALL,
        "pattern": st.sampled_from(["^a", "b$", "1"]),
        "minItems": SMALL,
        "maxItems": SMALL,
        "uniqueItems": st.booleans(),
        "items": inner,
        "prefixItems": several,
        "properties": named,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "required": st.lists(KEYS, max_size=2, unique=True),
        "dependentRequired": st.dictionaries(KEYS, st.lists(KEYS, max_size=1), max_size=1),
        "minProperties": SMALL,
        "maxProperties": SMALL,
        "contains": inner,
        "minContains": SMALL,
        "maxContains": SMALL | st.sampled_from([1.0, 2.0]),
        "dependentSchemas": named,
        "unevaluatedItems": inner,
        "unevaluatedProperties": inner,
        "anyOf": several,
        "oneOf": several,
        "allOf": several,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "$ref": st.sampled_from(["#/$defs/one", "#/$defs/tree"]),
        "format": st.just("date"),
        "x-unknown": VALUES,
    }
    chosen = st.lists(st.sampled_from(sorted(known)), max_size=4, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: known[name] for name in names}))


DEFINITIONS = {
    "one": {"type": "integer", "minimum": 1},
    "tree": {"type": ["object", "integer"], "additionalProperties": {"$ref": "#/$defs/tree"}},
}
SCHEMAS = st.recursive(st.booleans() | keywords(st.booleans()), keywords, max_leaves=4)


def raw(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, "required": ["x"], "$defs": DEFINITIONS}


@given(SCHEMAS, VALUES)
def test_a_raw_schema_accepts_exactly_what_json_schema_accepts(schema: Any, value: Any) -> None:
    document = raw(schema)
    accepted = Draft202012Validator(document).is_valid({"x": value})
    problems = Reader.of_schema("probe", document).problems({"x": value})
    assert (problems == []) == accepted


EDGES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 1.0, 1.5, 2, 3, 4, "", "a", "ab", "abc", "b", "1"),
    *([], [1], [1, 1], [1, 2], [1, True], ["a", 1], [{}, {}], [1, 2, 3], [[1], [1]]),
    *({}, {"a": 1}, {"a": 1, "b": 2}, {"b": "x"}, {"ab": 1}, {"a": "x", "b": 1, "c": None}),
)
ALONE: tuple[Any, ...] = (
    *(True, False, {}, {"type": "array"}, {"type": "array", "items": {}}, {"items": {"type": "integer"}}),
    *({"minItems": 2}, {"maxItems": 1}, {"uniqueItems": True}, {"uniqueItems": False}),
    *({"prefixItems": [{"type": "integer"}]}, {"prefixItems": [{"type": "integer"}], "items": False}),
    *({"contains": {"const": 1}}, {"contains": {"const": 1}, "minContains": 2}, {"contains": {}, "maxContains": 1}),
    *({"contains": {"const": 1}, "minContains": 0}, {"minimum": 1}, {"maximum": 1}, {"exclusiveMinimum": 1}),
    *({"exclusiveMaximum": 1}, {"multipleOf": 2}, {"minLength": 2}, {"maxLength": 1}, {"pattern": "^a"}),
    *({"required": ["a"]}, {"minProperties": 2}, {"maxProperties": 1}, {"propertyNames": {"maxLength": 1}}),
    *({"properties": {"a": {"type": "string"}}}, {"properties": {"a": {}}, "additionalProperties": False}),
    *({"patternProperties": {"^a": {"type": "integer"}}}, {"additionalProperties": {"type": "integer"}}),
    *({"dependentRequired": {"a": ["b"]}}, {"const": 1}, {"enum": [1, "a"]}, {"not": {"type": "string"}}),
    *({"type": name} for name in ("string", "integer", "number", "boolean", "array", "object", "null")),
)


@pytest.mark.parametrize("schema", ALONE, ids=str)
def test_each_keyword_alone_accepts_at_its_edges_exactly_what_json_schema_accepts(schema: Any) -> None:
    document = raw(schema)
    validator, reader = Draft202012Validator(document), Reader.of_schema("probe", document)
    unlike = [v for v in EDGES if (reader.problems({"x": v}) == []) != validator.is_valid({"x": v})]
    assert unlike == []


@given(SCHEMAS, VALUES)
def test_what_is_read_leniently_fits_the_schema_and_what_fits_is_left_alone(schema: Any, value: Any) -> None:
    document = raw(schema)
    validator = Draft202012Validator(document)
    answer = read_or_refused(Reader.of_schema("probe", document), msgspec.json.encode({"x": value}))
    if isinstance(answer, ToolError):
        assert not validator.is_valid({"x": value})
        return
    read, coerced = answer
    assert validator.is_valid(read)
    if validator.is_valid({"x": value}):
        assert read == {"x": value}
        assert {each.rule for each in coerced} <= {"integer_from_number"}
    else:
        assert coerced


@given(SCHEMAS)
def test_a_well_formed_schema_is_kept_as_it_was_given(schema: Any) -> None:
    document = raw(schema)
    assert Reader.of_schema("probe", document).schema == document


KEYWORDS = [
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "default",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "if",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "then",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$schema",
]


@given(JSON_OBJECT | st.dictionaries(st.sampled_from(KEYWORDS), JSON, max_size=5))
def test_any_json_offered_as_a_schema_is_taken_or_refused_with_pointers(document: dict[str, Any]) -> None:
    problems: tuple[str, ...] = ()
    try:
        Reader.of_schema("probe", document)
    except DefinitionError as error:
        problems = error.problems
    assert all(problem.startswith("#") for problem in problems)


# ── results ──────────────────────────────────────────────────────────────────


@given(JSON)
def test_json_returned_by_a_tool_is_said_as_it_is(value: Any) -> None:
    assert to_json(value) == value
    assert isinstance(value, str) or value is None or json.loads(to_text(value)) == value
