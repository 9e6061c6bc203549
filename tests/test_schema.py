"""Schemas of types, readers of arguments, and what results become."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import pathlib
import subprocess
import sys
import typing
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import annotated_types
import attrs
import msgspec
import pydantic
import pytest
from msgspec import NODEFAULT, Meta

from dragoman.errors import DefinitionError, ToolError
from dragoman.schema import (
    Coerced,
    Described,
    Field,
    Reader,
    TooLarge,
    describe,
    has_fields,
    json_problems,
    schema_of,
    to_json,
    to_text,
)


def test_a_plain_dict_is_no_class_with_fields() -> None:
    class Row(TypedDict):
        name: str

    assert has_fields(Row)
    assert [kind for kind in (dict, dict[str, int], OrderedDict, list, str, Row(name="a")) if has_fields(kind)] == []


# ── docstrings ───────────────────────────────────────────────────────────────

GOOGLE = """Find parcels.

    All of them, if need be.

    Args:
        text: What to look for,
            in plain words.
        most (int): How many.

    Returns:
        The parcels.
    """
NUMPY = """Find parcels.

    All of them, if need be.

    Parameters
    ----------
    text : str
        What to look for,
        in plain words.
    most : int, optional
        How many.
    """
SPHINX = """Find parcels.

    All of them, if need be.

    :param text: What to look for,
        in plain words.
    :param int most: How many.
    :returns: The parcels.
    """


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_a_docstring_says_the_same_in_every_style(docstring: str) -> None:
    assert describe(docstring) == Described(
        "Find parcels.\n\nAll of them, if need be.",
        {"text": "What to look for, in plain words.", "most": "How many."},
    )


def test_a_docstring_without_sections_is_all_text() -> None:
    assert describe("Find parcels.\n\n    Note: they move.\n    ") == Described("Find parcels.\n\nNote: they move.", {})
    assert describe(None) == describe("") == Described("", {})


def test_numpy_parameters_that_share_a_line_share_their_text() -> None:
    docstring = "Add.\n\n    Parameters\n    ----------\n    x, y : int\n        A number.\n"
    assert describe(docstring).parameters == {"x": "A number.", "y": "A number."}


# ── types ────────────────────────────────────────────────────────────────────


class Colour(enum.Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Place(msgspec.Struct):
    """Where something is.

    Attributes:
        town: The name of the town.
    """

    town: str
    since: datetime.date | None = None


@dataclasses.dataclass
class Tree:
    name: str
    branches: list[Tree] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Shrub:
    name: str
    height: int = 1


class Cat(msgspec.Struct, tag="cat"):
    lives: int = 9


class Dog(msgspec.Struct, tag="dog", forbid_unknown_fields=True):
    name: str


class Corner(NamedTuple):
    x: int
    y: int = 0


class Options(TypedDict, total=False):
    depth: typing.Required[int]
    label: Annotated[str, "What to call it."]


SCHEMAS: list[tuple[Any, dict[str, Any]]] = [
    (Any, {}),
    (None, {"type": "null"}),
    (dict, {"type": "object"}),
    (dict[str, Any], {"type": "object"}),
    (
        dict[int, bool],
        {"type": "object", "propertyNames": {"pattern": "^-?[0-9]+$"}, "additionalProperties": {"type": "boolean"}},
    ),
    (list, {"type": "array", "items": {}}),
    (Iterable[int], {"type": "array", "items": {"type": "integer"}}),
    (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
    (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}),
    (
        tuple[int, str],
        {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "items": False,
            "minItems": 2,
            "maxItems": 2,
        },
    ),
    (int | float, {"type": "number"}),
    (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    (None | Annotated[int, "n"], {"anyOf": [{"type": "integer", "description": "n"}, {"type": "null"}]}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal["a", 1, None], {"enum": ["a", 1, None]}),
    (Colour, {"type": "string", "enum": ["red", "blue"], "description": "A colour."}),
    (
        dict[Colour, int],
        {
            "type": "object",
            "propertyNames": {"enum": ["red", "blue"], "description": "A colour."},
            "additionalProperties": {"type": "integer"},
        },
    ),
    (datetime.datetime, {"type": "string", "format": "date-time"}),
    (Annotated[datetime.datetime, Meta(tz=False)], {"type": "string", "format": "local-date-time"}),
    (Annotated[datetime.time, Meta(tz=False)], {"type": "string", "format": "partial-time"}),
    (decimal.Decimal, {"type": "string", "format": "decimal"}),
    (uuid.UUID, {"type": "string", "format": "uuid"}),
    (pathlib.Path, {"type": "string", "format": "path"}),
    (Annotated[bytes, Meta(max_length=4)], {"type": "string", "contentEncoding": "base64", "maxLength": 8}),
    (
        Annotated[int, Meta(ge=1, lt=9, description="some")],
        {"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "description": "some"},
    ),
    (
        Annotated[int, Meta(title="N", examples=[1], extra_json_schema={"x-unit": "kg"})],
        {"type": "integer", "title": "N", "examples": [1], "x-unit": "kg"},
    ),
    (Annotated[str, annotated_types.Len(1, 3)], {"type": "string", "minLength": 1, "maxLength": 3}),
    (
        Annotated[dict[str, int], annotated_types.MinLen(1)],
        {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1},
    ),
    (
        Annotated[float | str, pydantic.Field(gt=0, pattern="^a")],
        {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": "^a"}]},
    ),
    (
        Place,
        {
            "type": "object",
            "description": "Where something is.",
            "properties": {
                "town": {"type": "string", "description": "The name of the town."},
                "since": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": None},
            },
            "required": ["town"],
        },
    ),
    (
        Cat | Dog | None,
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        "type": {"type": "string", "const": "cat"},
                        "lives": {"type": "integer", "default": 9},
                    },
                    "required": ["type"],
                },
                {
                    "type": "object",
                    "properties": {"type": {"type": "string", "const": "dog"}, "name": {"type": "string"}},
                    "required": ["type", "name"],
                    "additionalProperties": False,
                },
                {"type": "null"},
            ]
        },
    ),
    (
        Dog,
        {
            "type": "object",
            "properties": {"type": {"type": "string", "const": "dog"}, "name": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": False,
        },
    ),
    (
        Corner,
        {
            "type": "array",
            "prefixItems": [{"type": "integer", "description": "x"}, {"type": "integer", "description": "y"}],
            "minItems": 1,
            "items": False,
            "maxItems": 2,
        },
    ),
    (
        Options,
        {
            "type": "object",
            "properties": {
                "depth": {"type": "integer"},
                "label": {"type": "string", "description": "What to call it."},
            },
            "required": ["depth"],
        },
    ),
]


@pytest.mark.parametrize("hint, schema", SCHEMAS, ids=[str(hint) for hint, _ in SCHEMAS])
def test_a_type_has_this_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint) == schema


class Town(msgspec.Struct):
    town: str


class Trip(msgspec.Struct):
    start: Town
    end: Annotated[Town, "Where it ends."]


class Stop(msgspec.Struct):
    at: Town


def test_a_class_used_once_is_written_where_it_is_used_and_one_used_twice_is_referred_to() -> None:
    place = {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}
    assert schema_of(list[Town]) == {"type": "array", "items": place}
    assert schema_of(Stop)["properties"] == {"at": place}
    assert schema_of(Trip) == {
        "type": "object",
        "properties": {
            "start": {"$ref": "#/$defs/Town"},
            "end": {"$ref": "#/$defs/Town", "description": "Where it ends."},
        },
        "required": ["start", "end"],
        "$defs": {"Town": place},
    }


def test_a_recursive_class_refers_to_itself() -> None:
    branches = {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "default": []}
    tree = {"type": "object", "properties": {"name": {"type": "string"}, "branches": branches}, "required": ["name"]}
    assert schema_of(list[Tree]) == {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "$defs": {"Tree": tree}}
    assert schema_of(Tree) == {**tree, "$defs": {"Tree": tree}}


def test_two_classes_of_one_name_get_two_entries() -> None:
    def named_box(kind: type) -> Any:
        return msgspec.defstruct("Box", [("inside", kind)])

    text, number = named_box(str), named_box(int)
    schema = schema_of(tuple[text, text, number, number])  # type: ignore[valid-type]
    assert schema["prefixItems"] == [{"$ref": f"#/$defs/{name}"} for name in ("Box", "Box", "Box_2", "Box_2")]
    assert [body["properties"]["inside"]["type"] for body in schema["$defs"].values()] == ["string", "integer"]


class Person(pydantic.BaseModel):
    """Somebody."""

    title: str = pydantic.Field(description="Dr, say.", min_length=1)
    colour: Colour = Colour.RED
    friends: list[Person] = []


class Pair(pydantic.BaseModel):
    left: Person
    born: datetime.date

    @pydantic.field_validator("born")
    @classmethod
    def not_yet(cls, born: datetime.date) -> datetime.date:
        if born.year > 2000:
            raise ValueError("is too young")
        return born


def test_a_pydantic_model_has_its_own_schema_without_titles() -> None:
    person = {
        "type": "object",
        "description": "Somebody.",
        "properties": {
            "title": {"type": "string", "description": "Dr, say.", "minLength": 1},
            "colour": {"type": "string", "description": "A colour.", "enum": ["red", "blue"], "default": "red"},
            "friends": {"type": "array", "items": {"$ref": "#/$defs/Person"}, "default": []},
        },
        "required": ["title"],
    }
    assert schema_of(list[Person] | None) == {
        "anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Person"}}, {"type": "null"}],
        "$defs": {"Person": person},
    }


def test_a_pydantic_model_is_read_by_its_own_rules_wherever_it_stands() -> None:
    reader = Reader.of_type(dict[str, list[Person]])
    assert reader.read('{"all":[{"title":"Dr","friends":[{"title":"Ms"}]}]}') == (
        {"all": [Person(title="Dr", friends=[Person(title="Ms")])]},
        (),
    )


class Opaque:
    pass


class Lost(msgspec.Struct):
    other: Nowhere  # type: ignore[name-defined]  # noqa: F821


REFUSED: list[tuple[Any, str]] = [
    (Opaque, "`Opaque` cannot be read from JSON"),
    (complex, "`complex` cannot be read from JSON"),
    (Callable[[int], int], "`Callable` cannot be read from JSON"),
    (list[Opaque], "`Opaque` cannot be read from JSON"),
    (dict[tuple[int, int], int], "the keys of a JSON object are texts"),
    (list["Nowhere"], "the type `Nowhere` cannot be resolved"),  # type: ignore[name-defined]  # noqa: F821
    (Lost, "Lost: the type `Nowhere` cannot be resolved"),
    (str | datetime.date, "more than one str-like type"),
    (Annotated[int, annotated_types.MinLen(1)], "`min_length`"),
    (Annotated[int, annotated_types.Ge(1), annotated_types.Gt(1)], "`ge`, `gt`: Cannot specify both"),
    (Annotated[bool | None, annotated_types.Ge(1)], "`ge` fits no member of"),
    (Annotated[str, pydantic.Field(alias="q")], "a pydantic alias is not read here"),
    (enum.Enum("Mixed", {"A": 1.5}), "Enums must contain either all str or all int values"),
]


@pytest.mark.parametrize("hint, problem", REFUSED, ids=[str(hint) for hint, _ in REFUSED])
def test_a_type_that_cannot_be_read_is_refused_with_the_reason(hint: Any, problem: str) -> None:
    with pytest.raises(DefinitionError) as refusal:
        Reader.of_type(hint)
    assert problem in str(refusal.value)


@pytest.mark.parametrize(
    "hint, given, expected",
    [
        (Place | Tree, {"town": "Rome"}, Place("Rome")),
        (Place | Tree, {"name": "oak"}, Tree("oak")),
        (Tree | Shrub, {"name": "box"}, Tree("box")),  # both know all of it: the first
        (Tree | Shrub, {"name": "box", "height": 2}, Shrub("box", 2)),
        (list[Tree | Shrub], [{"name": "a", "height": 2}, {"name": "b"}], [Shrub("a", 2), Tree("b")]),
        (dict[str, Shrub | str], {"a": {"name": "x"}, "b": "y"}, {"a": Shrub("x"), "b": "y"}),
        (Tree | Shrub | None, None, None),
        (Person | str, "nobody", "nobody"),
        (Person | Shrub, {"title": "Dr"}, Person(title="Dr")),
        (Person | Shrub, {"name": "box"}, Shrub("box")),
        (Annotated[Tree | Shrub, pydantic.Field(description="A plant.")], {"name": "box"}, Tree("box")),
        (tuple[Tree | Shrub, int], [{"name": "box", "height": 3}, 1], (Shrub("box", 3), 1)),
    ],
)
def test_a_union_of_classes_without_a_tag_is_read_as_the_one_that_knows_the_fields(
    hint: Any, given: Any, expected: Any
) -> None:
    reader = Reader.of_type(hint)
    assert reader.read(msgspec.json.encode(given))[0] == expected
    assert reader.problems(given) == []


def test_what_fits_no_class_of_a_union_says_what_each_of_them_lacks() -> None:
    reader = Reader.of_fields("probe", [Field("plant", Place | Shrub)])
    assert refused(reader, {"plant": {"height": 2}}) == [
        ("plant", "fits none of the alternatives: plant.town is required, or plant.name is required")
    ]
    assert reader.read({"plant": {"name": "box", "height": "2"}})[0].plant == Shrub("box", 2)


def test_every_problem_of_a_type_is_named_with_its_place() -> None:
    class Bad(msgspec.Struct):
        first: Opaque
        second: list[complex]

    with pytest.raises(DefinitionError) as refusal:
        Reader.of_fields("probe", [Field("one", Bad), Field("two", Place | Tree), Field("three", Opaque)])
    assert [problem.partition(" cannot")[0] for problem in refusal.value.problems] == [
        "parameter `one`: Bad.first: `Opaque`",
        "parameter `one`: Bad.second: `complex`",
        "parameter `three`: `Opaque`",
    ]


def test_what_only_the_decoder_refuses_is_named_for_each_parameter() -> None:
    with pytest.raises(DefinitionError) as refusal:
        Reader.of_fields("probe", [Field("one", str | datetime.date), Field("two", int), Field("three", str | bytes)])
    assert [problem.split(":")[0] for problem in refusal.value.problems] == ["parameter `one`", "parameter `three`"]


def test_defaults_are_said_when_json_can_say_them() -> None:
    marker = object()
    reader = Reader.of_fields(
        "probe",
        [
            Field("colour", Colour, Colour.RED, required=False),
            Field("place", Place, Place("Trieste"), required=False),
            Field("sloppy", int, None, required=False),
            Field("ids", list[int], [1], required=False),
            Field("thing", Any, marker, required=False),
        ],
    )
    defaults = {name: schema.get("default", "unsaid") for name, schema in reader.schema["properties"].items()}
    assert defaults == {
        "colour": "red",
        "place": {"town": "Trieste", "since": None},
        "sloppy": "unsaid",
        "ids": [1],
        "thing": "unsaid",
    }
    value, _ = reader.read("{}")
    assert (value.colour, value.sloppy, value.ids, value.thing) == (Colour.RED, None, [1], marker)


UNFIT: list[tuple[Any, Any]] = [
    (int, "bad"),
    (Literal["a"], "b"),
    (Annotated[int, Meta(ge=1)], 0),
    (Annotated[int, annotated_types.Ge(1)], 0),
    (float, float("nan")),
    (list[int], ["a"]),
    (set[int], {"a"}),
    (int, Colour.RED),
    (int, True),
]


@pytest.mark.parametrize("hint, default", UNFIT, ids=str)
def test_a_default_that_does_not_fit_its_own_type_is_refused_when_defined(hint: Any, default: Any) -> None:
    with pytest.raises(DefinitionError, match="parameter `one`: its default "):
        Reader.of_fields("probe", [Field("one", hint, default, required=False)])


def test_a_default_of_a_class_must_fit_too() -> None:
    with pytest.raises(DefinitionError, match=r"Inner\.one: its default "):
        schema_of(dataclasses.make_dataclass("Inner", [("one", int, "bad")]))


def test_an_endless_default_is_kept_and_not_said() -> None:
    reader = Reader.of_fields("probe", [Field("most", float, float("inf"), required=False)])
    assert (reader.schema["properties"], reader.read("{}")[0].most) == ({"most": {"type": "number"}}, float("inf"))


# ── lenient reading ──────────────────────────────────────────────────────────

PARAMETERS = [
    Field("text", str),
    Field("count", int, 10, required=False),
    Field("ratio", float, 0.5, required=False),
    Field("flag", bool, False, required=False),
    Field("names", list[str], [], required=False),
    Field("numbers", list[int], [], required=False),
    Field("place", Place | None, None, required=False),
    Field("places", list[Place], [], required=False),
    Field("level", Literal[1, 2], 1, required=False),
    Field("either", int | bool | None, None, required=False),
    Field("counts", dict[str, int], {}, required=False),
    Field("corner", Corner, Corner(0), required=False),
    Field("when", datetime.date, datetime.date(2020, 1, 1), required=False),
    Field("animal", Cat | Dog | None, None, required=False),
    Field("tree", Tree | None, None, required=False),
    Field("perhaps", list[str] | None, None, required=False),
]


@pytest.fixture(scope="module")
def reader() -> Reader[Any]:
    return Reader.of_fields("probe", PARAMETERS)


COERCIONS: list[tuple[dict[str, Any], Any, list[Coerced]]] = [
    ({"count": "3"}, 3, [Coerced("count", "number_from_text", "3", 3)]),
    ({"count": " -3 "}, -3, [Coerced("count", "number_from_text", " -3 ", -3)]),
    ({"count": "3.0"}, 3, [Coerced("count", "number_from_text", "3.0", 3)]),
    (
        {"count": "9007199254740993.0"},
        9007199254740993,
        [Coerced("count", "number_from_text", "9007199254740993.0", 9007199254740993)],
    ),
    ({"count": "1e30"}, 10**30, [Coerced("count", "number_from_text", "1e30", 10**30)]),
    ({"count": "1.5e1"}, 15, [Coerced("count", "number_from_text", "1.5e1", 15)]),
    ({"count": 3.0}, 3, [Coerced("count", "integer_from_number", 3.0, 3)]),
    ({"count": None}, 10, [Coerced("count", "null_as_omitted", None, 10)]),
    ({"ratio": "2.5e1"}, 25.0, [Coerced("ratio", "number_from_text", "2.5e1", 25.0)]),
    ({"flag": "true"}, True, [Coerced("flag", "boolean_from_text", "true", True)]),
    ({"flag": "False"}, False, [Coerced("flag", "boolean_from_text", "False", False)]),
    ({"names": "a"}, ["a"], [Coerced("names", "list_from_value", "a", ["a"])]),
    ({"names": '["a","b"]'}, ["a", "b"], [Coerced("names", "json_from_text", '["a","b"]', ["a", "b"])]),
    ({"names": "[a]"}, ["[a]"], [Coerced("names", "list_from_value", "[a]", ["[a]"])]),
    ({"perhaps": "null"}, None, [Coerced("perhaps", "json_from_text", "null", None)]),
    ({"perhaps": "nil"}, ["nil"], [Coerced("perhaps", "list_from_value", "nil", ["nil"])]),
    ({"either": " null"}, None, [Coerced("either", "json_from_text", " null", None)]),
    (
        {"numbers": "7"},
        [7],
        [Coerced("numbers", "list_from_value", "7", ["7"]), Coerced("numbers[0]", "number_from_text", "7", 7)],
    ),
    ({"numbers": [1, "2"]}, [1, 2], [Coerced("numbers[1]", "number_from_text", "2", 2)]),
    (
        {"place": '{"town":"Bari"}'},
        Place("Bari"),
        [Coerced("place", "json_from_text", '{"town":"Bari"}', {"town": "Bari"})],
    ),
    (
        {"places": {"town": "Bari"}},
        [Place("Bari")],
        [Coerced("places", "list_from_value", {"town": "Bari"}, [{"town": "Bari"}])],
    ),
    ({"level": "2"}, 2, [Coerced("level", "number_from_text", "2", 2)]),
    ({"either": "true"}, True, [Coerced("either", "boolean_from_text", "true", True)]),
    ({"counts": {"a b": "1"}}, {"a b": 1}, [Coerced('counts["a b"]', "number_from_text", "1", 1)]),
    ({"corner": ["1"]}, Corner(1), [Coerced("corner[0]", "number_from_text", "1", 1)]),
    ({"corner": 4}, Corner(4), [Coerced("corner", "list_from_value", 4, [4])]),
    ({"when": None}, datetime.date(2020, 1, 1), [Coerced("when", "null_as_omitted", None, "2020-01-01")]),
    ({"animal": {"type": "cat", "lives": "7"}}, Cat(7), [Coerced("animal.lives", "number_from_text", "7", 7)]),
    ({"animal": {"type": "cat", "lives": None}}, Cat(9), [Coerced("animal.lives", "null_as_omitted", None, 9)]),
    (
        {"tree": {"name": "a", "branches": {"name": "b", "branches": "[]"}}},
        Tree("a", [Tree("b")]),
        [
            Coerced(
                "tree.branches", "list_from_value", {"name": "b", "branches": "[]"}, [{"name": "b", "branches": "[]"}]
            ),
            Coerced("tree.branches[0].branches", "json_from_text", "[]", []),
        ],
    ),
]


@pytest.mark.parametrize("given, read, coerced", COERCIONS, ids=[str(given) for given, _, _ in COERCIONS])
def test_sloppy_arguments_are_read_and_each_liberty_is_reported(
    reader: Reader[Any], given: dict[str, Any], read: Any, coerced: list[Coerced]
) -> None:
    ((name, _),) = given.items()
    for arguments in ({"text": "", **given}, msgspec.json.encode({"text": "", **given})):
        value, found = reader.read(arguments)
        assert getattr(value, name) == read
        assert type(getattr(value, name)) is type(read)
        assert list(found) == coerced


def test_arguments_that_fit_are_read_without_a_liberty(reader: Reader[Any]) -> None:
    arguments = '{"text":"3","names":["1"],"either":true,"corner":[1,2],"animal":{"type":"dog","name":"null"}}'
    value, coerced = reader.read(arguments)
    assert (value.text, value.names, value.either, value.corner, value.animal) == (
        "3",
        ["1"],
        True,
        Corner(1, 2),
        Dog("null"),
    )
    assert coerced == ()


@pytest.mark.parametrize("nothing", ["", b"", "  \n", "null", b" null ", None])
def test_no_arguments_at_all_are_an_empty_object(nothing: Any) -> None:
    reader = Reader.of_fields("probe", [Field("count", int, 1, required=False)])
    value, (coerced,) = reader.read(nothing)
    assert value.count == 1
    assert (coerced.path, coerced.rule, coerced.after) == ("", "empty_as_object", {})
    raw, _ = Reader.of_schema("probe", {"type": "object"}).read(nothing)
    assert raw == {}


def test_arguments_that_are_json_in_a_json_text_are_opened() -> None:
    reader = Reader.of_fields("probe", [Field("count", int)])
    value, coerced = reader.read(r'"{\"count\": 2}"')
    assert value.count == 2
    assert coerced == (Coerced("", "json_from_text", '{"count": 2}', {"count": 2}),)


# ── refusals ─────────────────────────────────────────────────────────────────


def refused(reader: Reader[Any], arguments: Any) -> list[tuple[str, str]]:
    with pytest.raises(ToolError) as refusal:
        reader.read(arguments)
    assert refusal.value.kind == "invalid_arguments"
    assert refusal.value.message.startswith("probe cannot take these arguments: ")
    problems = refusal.value.details["problems"]
    assert refusal.value.details == {"problems": problems}
    return [(problem["path"], problem["message"]) for problem in problems]


WRONG: list[tuple[dict[str, Any], tuple[str, str]]] = [
    ({"count": 3.7}, ("count", "must be an integer, not 3.7")),
    ({"count": "3.7"}, ("count", 'must be an integer, not "3.7"')),
    ({"count": "three"}, ("count", 'must be an integer, not "three"')),
    ({"count": ""}, ("count", 'must be an integer, not ""')),
    ({"count": True}, ("count", "must be an integer, not true")),
    ({"count": "1e999"}, ("count", 'must be an integer, not "1e999"')),
    ({"flag": 1}, ("flag", "must be true or false, not 1")),
    ({"flag": "yes"}, ("flag", 'must be true or false, not "yes"')),
    ({"text": 3}, ("text", "must be a string, not 3")),
    ({"text": None}, ("text", "must be a string, not null")),
    ({"names": {"a": 1}}, ("names", 'must be a list, not {"a":1}')),
    ({"names": "[1,2]"}, ("names[1]", "must be a string, not 2")),
    ({"count": "9007199254740993.5"}, ("count", 'must be an integer, not "9007199254740993.5"')),
    ({"count": "1e-999999999"}, ("count", 'must be an integer, not "1e-999999999"')),
    ({"count": "1e999999999"}, ("count", 'must be an integer, not "1e999999999"')),
    ({"names": [None]}, ("names[0]", "must be a string, not null")),
    ({"names": None, "text": 1}, ("text", "must be a string, not 1")),
    ({"place": "Bari"}, ("place", 'must be an object, not "Bari"')),
    ({"place": {}}, ("place.town", "is required")),
    ({"place": '{"town":1}'}, ("place.town", "must be a string, not 1")),
    ({"places": [{"town": "a"}, {"town": 2}]}, ("places[1].town", "must be a string, not 2")),
    ({"place": {"town": "a", "since": "soon"}}, ("place.since", 'Invalid RFC3339 encoded date, not "soon"')),
    ({"when": "tomorrow"}, ("when", 'Invalid RFC3339 encoded date, not "tomorrow"')),
    ({"level": 3}, ("level", "must be one of 1, 2, not 3")),
    ({"either": "maybe"}, ("either", 'must be an integer or true or false or null, not "maybe"')),
    ({"counts": {"a b": None}}, ('counts["a b"]', "must be an integer, not null")),
    ({"corner": []}, ("corner", "must have at least 1 items, not 0")),
    ({"corner": [1, 2, 3]}, ("corner", "must have at most 2 items, not 3")),
    (
        {"animal": {"type": "cow"}},
        ("animal", 'must be an object with type "cat" or an object with type "dog" or null, not {"type":"cow"}'),
    ),
    ({"animal": {"type": "dog"}}, ("animal.name", "is required")),
    ({"animal": {"type": "dog", "name": "a", "nmae": "b"}}, ("animal.nmae", 'is not known here. Did you mean "name"?')),
    ({"tree": {"name": "a", "branches": [{"name": 1}]}}, ("tree.branches[0].name", "must be a string, not 1")),
    ({"cuont": 1}, ("cuont", 'is not known here. Did you mean "count"?')),
    ({"zzz": 1}, ("zzz", "is not known here.")),
]


@pytest.mark.parametrize("given, problem", WRONG, ids=[str(given) for given, _ in WRONG])
def test_arguments_that_do_not_fit_are_refused_with_path_and_reason(
    reader: Reader[Any], given: dict[str, Any], problem: tuple[str, str]
) -> None:
    for arguments in ({"text": "", **given}, msgspec.json.encode({"text": "", **given})):
        assert problem in refused(reader, arguments)


def test_every_problem_is_told_at_once(reader: Reader[Any]) -> None:
    arguments = '{"count":"x","places":[{"town":1},{}],"when":"soon","level":9,"unknown":0}'
    assert refused(reader, arguments) == [
        ("count", 'must be an integer, not "x"'),
        ("places[0].town", "must be a string, not 1"),
        ("places[1].town", "is required"),
        ("when", 'Invalid RFC3339 encoded date, not "soon"'),
        ("level", "must be one of 1, 2, not 9"),
        ("unknown", "is not known here."),
        ("text", "is required"),
    ]


NOT_JSON: list[tuple[Any, str]] = [
    ("{'text': 'a'}", "is not valid JSON"),
    ('{"text": "a"', "is not valid JSON: Input data was truncated"),
    ('{"text": "a"} {}', "is not valid JSON"),
    (b'{"text": "\xff"}', "is not valid JSON"),
    (r'{"text": "\ud800"}', "is not valid JSON: it holds half a surrogate pair, which is no text"),
    (rb'{"text": "\ud800x"}', "is not valid JSON: it holds half a surrogate pair, which is no text"),
    ('{"text": "\ud800"}', "is not valid JSON"),
    ('{"text": "a", "ratio": NaN}', "is not valid JSON"),
    ('{"text": "a", "ratio": 1e999}', "is not valid JSON: Number out of range"),
    ('{"text": "a", "count": ' + "9" * 5000 + "}", "is not valid JSON: Integer value out of range"),
    ("[" * 10_000, "is nested too deeply"),
    ('{"tree":' * 10_000, "is nested too deeply"),
    ("[1]", "must be an object, not [1]"),
    ("3", "must be an object, not 3"),
    ('"text"', 'must be an object, not "text"'),
    ([1], "must be an object, not [1]"),
    (3, "must be an object, not 3"),
]


@pytest.mark.parametrize("arguments, message", NOT_JSON, ids=range(len(NOT_JSON)))
def test_what_is_no_json_object_is_refused_as_a_whole(reader: Reader[Any], arguments: Any, message: str) -> None:
    ((path, found),) = refused(reader, arguments)
    assert path == ""
    assert found.startswith(message)


def test_a_mapping_that_is_no_json_is_refused_with_the_place(reader: Reader[Any]) -> None:
    arguments = {
        "text": "\ud800",
        "ratio": float("nan"),
        "counts": {1: 1},
        "when": datetime.date(2020, 1, 1),
        "names": {"a"},
    }
    assert refused(reader, arguments) == [
        ("text", "holds half a surrogate pair, which is no text"),
        ("ratio", "is nan, which JSON cannot say"),
        ("counts", "has the key 1, which is no text"),
        ("when", "is of the type `date`, which is not JSON"),
        ("names", "is of the type `set`, which is not JSON"),
    ]


def test_a_mapping_that_holds_itself_is_refused(reader: Reader[Any]) -> None:
    endless: dict[str, Any] = {"text": "a"}
    endless["tree"] = endless
    assert refused(reader, endless) == [("", "is nested too deeply")]


def test_any_kind_of_mapping_is_read(reader: Reader[Any]) -> None:
    value, coerced = reader.read(MappingProxyType({"text": "a", "place": MappingProxyType({"town": "b"})}))
    assert (value.text, value.place, coerced) == ("a", Place("b"), ())


def test_a_whole_number_of_any_size_is_read(reader: Reader[Any]) -> None:
    value, _ = reader.read('{"text": "", "count": ' + "9" * 100 + "}")
    assert value.count == int("9" * 100)


def test_of_a_key_given_twice_the_last_holds(reader: Reader[Any]) -> None:
    value, coerced = reader.read('{"text": "a", "text": "b"}')
    assert (value.text, coerced) == ("b", ())


class Even(msgspec.Struct):
    number: int

    def __post_init__(self) -> None:
        if self.number == 13:
            raise KeyError("unlucky")
        if self.number % 2:
            raise ValueError("must be even")


def test_a_types_own_validation_is_told_for_every_parameter() -> None:
    reader = Reader.of_fields(
        "probe", [Field("one", list[Even]), Field("two", Even), Field("three", Pair), Field("four", int)]
    )
    pair = {"left": {"title": ""}, "born": "2020-01-01"}
    arguments = {"one": [{"number": 2}, {"number": 3}], "two": {"number": 13}, "three": pair, "four": "x"}
    assert refused(reader, arguments) == [
        ("three.left.title", "must have at least 1 characters, not 0"),
        ("four", 'must be an integer, not "x"'),
        ("one[1]", "must be even"),
        ("two", "was refused by its type: KeyError: 'unlucky'"),
    ]
    pair["left"] = {"title": "Dr"}
    assert refused(reader, {**arguments, "four": 4}) == [
        ("one[1]", "must be even"),
        ("two", "was refused by its type: KeyError: 'unlucky'"),
        ("three.born", "is too young"),
    ]


class Herd(TypedDict):
    evens: dict[str, Even | None]
    pairs: tuple[Even, ...]


def test_a_types_own_validation_is_told_for_every_item_with_its_path() -> None:
    reader = Reader.of_fields(
        "probe",
        [
            Field("map", dict[str, Even]),
            Field("herd", Herd),
            Field("pairs", list[Pair]),
            Field("two", tuple[int, Even]),
        ],
    )
    odd, even = {"number": 3}, {"number": 2}
    young = {"left": {"title": "Dr"}, "born": "2020-01-01"}
    arguments = {
        "map": {"a b": odd, "c": even, "d": odd},
        "herd": {"evens": {"x": odd, "y": None, "z": odd}, "pairs": [even, odd]},
        "pairs": [young, young],
        "two": [1, odd],
    }
    assert refused(reader, arguments) == [
        ('map["a b"]', "must be even"),
        ("map.d", "must be even"),
        ("herd.evens.x", "must be even"),
        ("herd.evens.z", "must be even"),
        ("herd.pairs[1]", "must be even"),
        ("pairs[0].born", "is too young"),
        ("pairs[1].born", "is too young"),
        ("two[1]", "must be even"),
    ]


def test_a_pydantic_model_is_as_lenient_as_everything_else_and_as_open_about_it() -> None:
    reader = Reader.of_fields("probe", [Field("pair", Pair)])
    value, coerced = reader.read('{"pair":{"left":"{\\"title\\":\\"Dr\\",\\"colour\\":null}","born":"1999-01-01"}}')
    assert value.pair == Pair(left=Person(title="Dr"), born=datetime.date(1999, 1, 1))
    assert [each[:2] for each in coerced] == [("pair.left", "json_from_text"), ("pair.left.colour", "null_as_omitted")]


@dataclasses.dataclass
class Order:
    amount: Annotated[int, annotated_types.Gt(0)]


def test_constraints_that_msgspec_does_not_read_in_a_class_are_held_all_the_same() -> None:
    reader = Reader.of_fields("probe", [Field("order", Order)])
    assert refused(reader, '{"order":{"amount":0}}') == [("order.amount", "must be more than 0, not 0")]
    assert reader.read('{"order":{"amount":"2"}}')[0].order == Order(2)


@dataclasses.dataclass
class Counted:
    name: str
    length: int = dataclasses.field(init=False, default=0)

    def __post_init__(self) -> None:
        self.length = self.length or len(self.name)


@attrs.define
class Stamped:
    name: str
    stamp: int = attrs.field(init=False, default=7)


@dataclasses.dataclass
class Derived:
    name: str
    length: int = dataclasses.field(init=False)


@pytest.mark.parametrize("kind, own", [(Counted, "length"), (Stamped, "stamp")])
def test_a_field_only_its_class_may_set_is_neither_said_nor_read(kind: Any, own: str) -> None:
    reader = Reader.of_fields("probe", [Field("it", kind)])
    assert reader.schema["properties"]["it"] == {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    }
    assert reader.read('{"it":{"name":"abc"}}')[0].it == kind("abc")
    assert refused(reader, {"it": {"name": "abc", own: 9}}) == [(f"it.{own}", "is not known here.")]


def test_a_class_whose_own_field_could_not_be_left_out_is_refused() -> None:
    with pytest.raises(DefinitionError, match="`length` has init=False and no default"):
        schema_of(Derived)


@pytest.mark.parametrize(
    "arguments",
    [
        '{"price":1.10,"more":[123456789012345678901234567890.5,2.50],"COUNT"}',
        '{"price":1.10,"more":"[123456789012345678901234567890.5,2.50]","COUNT"}',
        '{"price":1.10,"more":[123456789012345678901234567890.5,"2.50"],"COUNT"}',
    ],
)
def test_a_decimal_keeps_every_digit_with_and_without_leniency(arguments: str) -> None:
    reader = Reader.of_fields(
        "probe", [Field("price", decimal.Decimal | None), Field("more", list[decimal.Decimal]), Field("count", int)]
    )
    for count in ("1", '"1"'):
        value, _ = reader.read(arguments.replace('"COUNT"', f'"count":{count}').encode())
        assert [str(each) for each in (value.price, *value.more)] == [
            "1.10",
            "123456789012345678901234567890.5",
            "2.50",
        ]


def test_one_decimal_in_a_list_of_its_own_keeps_every_digit() -> None:
    reader = Reader.of_fields("probe", [Field("prices", list[decimal.Decimal])])
    assert [str(each) for each in reader.read('{"prices":1.10}')[0].prices] == ["1.10"]


class Rights(enum.Flag, boundary=enum.STRICT):  # which is not the default in every Python 3.11
    """What may be done."""

    READ = 1
    WRITE = 2


def test_flags_are_read_alike_with_and_without_leniency() -> None:
    reader = Reader.of_fields("probe", [Field("rights", Rights), Field("count", int)])
    assert reader.schema["properties"]["rights"] == {
        "type": "integer",
        "description": "What may be done.\n\nA sum of 1 (READ), 2 (WRITE).",
    }
    for arguments in ({"rights": 3, "count": 1}, {"rights": 3, "count": "1"}, {"rights": "3", "count": 1}):
        assert reader.read(arguments)[0].rights == Rights.READ | Rights.WRITE
    assert refused(reader, {"rights": 8, "count": 1}) == [("rights", "Invalid enum value 8")]


def test_a_set_takes_the_same_item_twice() -> None:
    reader = Reader.of_fields("probe", [Field("ids", set[int]), Field("count", int)])
    value, coerced = reader.read('{"ids":[1,1],"count":"2"}')
    assert (value.ids, [each.path for each in coerced]) == ({1}, ["count"])


def test_a_reader_says_what_is_wrong_with_plain_json_without_any_leniency(reader: Reader[Any]) -> None:
    assert reader.problems({"text": "a", "count": "3"}) == [("count", 'must be an integer, not "3"')]
    assert reader.problems({"text": "a", "count": 3, "names": ("a",)}) == []
    assert reader.problems({"text": "a", "ratio": float("inf")}) == [("ratio", "is inf, which JSON cannot say")]
    assert Reader.of_type(list[Even]).problems([{"number": 1}]) == [("[0]", "must be even")]


# ── raw schemas ──────────────────────────────────────────────────────────────

SEARCH = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
        "sites": {"type": "array", "items": {"type": "string", "pattern": "^[a-z.]+$"}},
        "tree": {"$ref": "#/$defs/tree"},
    },
    "required": ["query"],
    "additionalProperties": False,
    "$defs": {"tree": {"type": "object", "additionalProperties": {"$ref": "#/$defs/tree"}}},
}


def test_a_raw_schema_is_read_with_the_same_leniency() -> None:
    reader = Reader.of_schema("probe", SEARCH)
    value, coerced = reader.read('{"query":"a","limit":"5","sites":"b.c","tree":{"x":"{}"}}')
    assert value == {"query": "a", "limit": 5, "sites": ["b.c"], "tree": {"x": {}}}
    assert [each.rule for each in coerced] == ["number_from_text", "list_from_value", "json_from_text"]
    assert reader.read('{"query":"a","limit":null}') == (
        {"query": "a"},
        (Coerced("limit", "null_as_omitted", None, 10),),
    )


def test_a_raw_schema_is_held_to() -> None:
    reader = Reader.of_schema("probe", SEARCH)
    assert refused(reader, '{"query":"","limit":"99","sites":["A"],"tree":{"x":{"y":1}},"qurey":1}') == [
        ("query", "must have at least 1 characters, not 0"),
        ("limit", "must be at most 50, not 99"),
        ("sites[0]", 'must match "^[a-z.]+$", not "A"'),
        ("tree.x.y", "must be an object, not 1"),
        ("qurey", 'is not known here. Did you mean "query"?'),
    ]


MALFORMED: list[tuple[Any, list[str]]] = [
    ({"type": "array"}, ['#/type: parameters are an object: say "type": "object"']),
    (
        {"type": "object", "properties": {"a": {"type": "strng"}}},
        ['#/properties/a/type: "strng" is not a JSON type. Did you mean "string"?'],
    ),
    ({"type": "object", "properties": {"a": 3}}, ["#/properties/a: a schema is an object, true or false"]),
    ({"type": "object", "properties": []}, ["#/properties: must be an object of schemas, not []"]),
    ({"type": "object", "required": "a"}, ['#/required: must be a list of names, not "a"']),
    ({"type": "object", "required": [1]}, ["#/required: must be a list of names, not [1]"]),
    ({"type": "object", "minProperties": -1}, ["#/minProperties: must be a whole number from 0, not -1"]),
    ({"type": "object", "minProperties": True}, ["#/minProperties: must be a whole number from 0, not true"]),
    (
        {"type": "object", "not": {"pattern": "("}},
        ['#/not/pattern: "(" is not a regular expression: missing ), unterminated subpattern at position 0'],
    ),
    ({"type": "object", "not": {"multipleOf": 0}}, ["#/not/multipleOf: must be more than 0, not 0"]),
    (
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "not": {"items": [{}]}},
        ["#/not/items: is a list, as in older drafts; write it as prefixItems"],
    ),
    ({"type": "object", "not": {"enum": 1}}, ["#/not/enum: must be a list of values, not 1"]),
    ({"type": "object", "not": {"$ref": "#/$defs/x"}}, ['#/not/$ref: "#/$defs/x" leads nowhere in this schema']),
    (
        {"type": "object", "not": {"$ref": "https://example.com"}},
        ['#/not/$ref: "https://example.com" is outside this schema, and is not fetched: copy it into $defs'],
    ),
    (
        {"type": "object", "anyOf": {}, "allOf": [1]},
        ["#/allOf/0: a schema is an object, true or false", "#/anyOf: must be a list of schemas, not {}"],
    ),
    (
        {"type": "object", "$schema": "https://example.com/mine"},
        [
            '#/$schema: "https://example.com/mine" is not known; use one of '
            "https://json-schema.org/draft/2020-12/schema, http://json-schema.org/draft-07/schema"
        ],
    ),
    (
        {"type": "object", "not": {"$recursiveRef": "#"}},
        ["#/not/$recursiveRef: is of the draft 2019-09; write it as $dynamicRef"],
    ),
    ({"type": "object", "maxProperties": 2.5}, ["#/maxProperties: must be a whole number from 0, not 2.5"]),
    ({"type": "object", "anyOf": []}, ["#/anyOf: has no alternatives; list at least one schema"]),
    ({"type": "object", "oneOf": []}, ["#/oneOf: has no alternatives; list at least one schema"]),
    (
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}},
        ['#/properties/a/$ref: "#/$defs/a" leads only to itself'],
    ),
    (True, ['#: parameters are an object: say "type": "object", not true']),
    ([], ['#: parameters are an object: say "type": "object", not []']),
    ({"type": "object", "default": float("inf")}, ["parameters.default is inf, which JSON cannot say"]),
]


@pytest.mark.parametrize("schema, problems", MALFORMED, ids=[str(schema) for schema, _ in MALFORMED])
def test_a_schema_that_is_not_well_formed_is_refused_when_defined(schema: Any, problems: list[str]) -> None:
    with pytest.raises(DefinitionError) as refusal:
        Reader.of_schema("probe", schema)
    assert list(refusal.value.problems) == problems


def test_a_reference_may_be_percent_encoded_named_by_an_anchor_or_nested_in_a_resource() -> None:
    schema = {
        "type": "object",
        "properties": {
            "encoded": {"$ref": "#/$defs/Partial%3CFoo%3E"},
            "anchored": {"$ref": "#small"},
            "nested": {"$ref": "https://example.com/other#/$defs/inner"},
        },
        "$defs": {
            "Partial<Foo>": {"type": "integer"},
            "named": {"$anchor": "small", "maxLength": 2.0},
            "other": {
                "$id": "https://example.com/other",
                "$defs": {"inner": {"$ref": "#/$defs/local"}, "local": {"type": "boolean"}},
            },
        },
    }
    reader = Reader.of_schema("probe", schema)
    assert reader.read('{"encoded":1,"anchored":"ab","nested":true}')[1] == ()
    assert refused(reader, '{"encoded":"a","anchored":"abc","nested":1}') == [
        ("encoded", 'must be an integer, not "a"'),
        ("anchored", "must have at most 2 characters, not 3"),
        ("nested", "must be true or false, not 1"),
    ]


def test_what_no_part_of_a_schema_knows_is_refused_with_its_name() -> None:
    schema = {
        "type": "object",
        "allOf": [{"properties": {"path": {"type": "string"}}}],
        "properties": {"items": {"type": "array", "contains": {"type": "integer"}, "unevaluatedItems": False}},
        "dependentSchemas": {"path": {"required": ["items"]}},
        "unevaluatedProperties": False,
    }
    reader = Reader.of_schema("probe", schema)
    assert reader.read('{"path":"a","items":[1]}')[1] == ()
    assert refused(reader, '{"path":"a","paht":1}') == [
        ("items", "is required"),
        ("paht", 'is not known here. Did you mean "path"?'),
    ]
    assert refused(reader, '{"items":["a"]}') == [
        ("items", "must have at least 1 items of the kind that `contains` asks for, not 0"),
        ("items[0]", "nothing may be given here"),
    ]


def test_draft_7_is_read_as_its_authors_meant_it() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "pair": {"items": [{"type": "string"}], "additionalItems": {"type": "integer"}},
            "alone": {"$ref": "#/definitions/text", "maxLength": 1},
        },
        "dependencies": {"pair": ["alone"], "alone": {"minProperties": 2}},
        "definitions": {"text": {"type": "string"}},
    }
    reader = Reader.of_schema("probe", schema)
    assert reader.read('{"pair":["a",1],"alone":"longer than 1"}')[1] == ()
    assert refused(reader, '{"pair":[1,"x"]}') == [
        ("pair[0]", "must be a string, not 1"),
        ("pair[1]", 'must be an integer, not "x"'),
        ("alone", 'is required beside "pair"'),
    ]


def test_what_one_part_of_a_schema_coerces_must_fit_the_others() -> None:
    schema = {"type": "object", "properties": {"a": {"maxItems": 0, "allOf": [{"type": "array"}]}}}
    assert refused(Reader.of_schema("probe", schema), '{"a":{}}') == [("a", "does not fit, not even as [{}]")]


def test_a_schema_is_copied_so_that_later_changes_do_not_reach_it() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
    reader = Reader.of_schema("probe", schema)
    schema["properties"]["a"]["type"] = "nonsense"
    assert reader.schema == {"type": "object", "properties": {"a": {"type": "string"}}}


def test_alternatives_are_told_apart_by_type_by_tag_and_by_what_they_expect() -> None:
    tagged = [
        {
            "type": "object",
            "properties": {"kind": {"const": kind}, "size": {"type": "integer"}},
            "required": ["kind", "size"],
        }
        for kind in ("a", "b")
    ]
    schema = {
        "type": "object",
        "properties": {
            "one": {"oneOf": tagged},
            "two": {"anyOf": [{"type": "string", "enum": ["x", "y"]}, {"type": "array", "items": {"type": "integer"}}]},
            "three": {"oneOf": [{"type": "integer"}, {"minimum": 2}]},
            "four": {"not": {"const": 4}},
        },
    }
    arguments = '{"one":{"kind":"b","size":"x"},"two":["y"],"three":3,"four":4}'
    assert refused(Reader.of_schema("probe", schema), arguments) == [
        ("one.size", 'must be an integer, not "x"'),
        ("two[0]", 'must be an integer, not "y"'),
        ("three", "must fit exactly one of the alternatives, and fits several"),
        ("four", "must not be 4"),
    ]


# ── results ──────────────────────────────────────────────────────────────────


@dataclasses.dataclass
class Report:
    place: Place
    tags: set[str]
    when: datetime.date


RESULTS: list[tuple[Any, Any]] = [
    ("text", "text"),
    (None, None),
    (True, True),
    (2**70, 2**70),
    (float("nan"), "NaN"),
    ([float("inf"), -float("inf")], ["Infinity", "-Infinity"]),
    ("\ud800", "?"),
    (("a", 1), ["a", 1]),
    ({3, 1, 2}, [1, 2, 3]),
    ({"b": 1, 2: "c"}, {"b": 1, "2": "c"}),
    (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    (MappingProxyType({"a": b"\x00"}), {"a": "AA=="}),
    (deque([1, 2]), [1, 2]),
    (range(2), [0, 1]),
    (Colour.BLUE, "blue"),
    (datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC), "2020-01-02T00:00:00Z"),
    (datetime.timedelta(hours=1), "PT3600S"),
    (decimal.Decimal("1.10"), "1.10"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (pathlib.PurePosixPath("a/b"), "a/b"),
    (Cat(3), {"type": "cat", "lives": 3}),
    (Corner(1), [1, 0]),
    (Person(title="Dr"), {"title": "Dr", "colour": "red", "friends": []}),
    (
        Report(Place("Bari"), {"a"}, datetime.date(2020, 1, 2)),
        {"place": {"town": "Bari", "since": None}, "tags": ["a"], "when": "2020-01-02"},
    ),
]


@pytest.mark.parametrize("value, plain", RESULTS, ids=[str(value) for value, _ in RESULTS])
def test_a_result_becomes_plain_json(value: Any, plain: Any) -> None:
    result = to_json(value)
    assert result == plain
    assert type(result) is type(plain)
    assert json_problems(result) == []


@pytest.mark.parametrize(
    "value, text",
    [("as it is", "as it is"), (None, ""), ({"b": [1, None]}, '{"b":[1,null]}'), (Colour.RED, "red"), (False, "false")],
)
def test_a_result_becomes_text_for_a_model(value: Any, text: str) -> None:
    assert to_text(value) == text


def test_a_dict_keeps_its_order() -> None:
    assert list(to_json({"z": 1, "a": 2})) == ["z", "a"]


def endless() -> list[Any]:
    holder: list[Any] = []
    holder.append(holder)
    return holder


@pytest.mark.parametrize(
    "value, message",
    [
        (object(), "the result: `object` cannot be said in JSON (it has no JSON form)"),
        ({"a": [Opaque()]}, "a[0]: `Opaque` cannot be said in JSON (it has no JSON form)"),
        (ValueError("x"), "the result: `ValueError` cannot be said in JSON (an exception is raised, not returned)"),
        ({(1, 2): 3}, "the result: `tuple` cannot be the key of a JSON object"),
        ((each for each in "ab"), "the result: `generator` cannot be said in JSON (it has no JSON form)"),
        (endless(), "the result is nested too deeply, or holds itself"),
    ],
    ids=range(6),
)
def test_a_result_that_json_cannot_say_is_an_error_that_says_where(value: Any, message: str) -> None:
    with pytest.raises(TypeError) as refusal:
        to_json(value)
    assert str(refusal.value) == message


# ── what is not loaded ───────────────────────────────────────────────────────


def test_pydantic_and_the_docstring_parser_are_not_loaded_unless_they_are_needed() -> None:
    program = """
import sys
from dragoman import tool
@tool
def add(one: int, two: list[float], three: dict[str, bool] | None = None) -> float:
    "Add numbers."
    return one + sum(two)
assert add.call_sync('{"one": "1", "two": 2}') == 3
assert add.call_sync('{"one": 1, "two": [2]}') == 3
print(sorted({"pydantic", "attr", "docstring_parser", "jsonschema", "asyncio"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert NODEFAULT is Field("a", int).default


def test_values_that_take_no_characters_count_against_the_most_as_well() -> None:
    assert to_json([None, True] * 10, most=1000) == [None, True] * 10
    with pytest.raises(TooLarge):
        to_json([None] * 1000, most=1000)
