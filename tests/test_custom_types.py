"""Types that msgspec does not decode by itself: read with their own rules wherever they stand."""

from __future__ import annotations

import dataclasses
import datetime
import subprocess
import sys
from collections.abc import Callable
from typing import Annotated, Any, Generic, NamedTuple, NotRequired, TypedDict, TypeVar

import annotated_types
import attrs
import msgspec
import pydantic
import pytest
import typing_extensions
from hypothesis import given, strategies as st
from typing_extensions import TypeAliasType

from dragoman import tool
from dragoman.errors import DefinitionError, ToolError
from dragoman.schema import Reader, to_json

T = TypeVar("T")
DAY = datetime.date(2026, 11, 19)


@dataclasses.dataclass
class Circle:
    radius: int


@dataclasses.dataclass
class Box:
    width: int
    name: str = ""


Shape = Circle | Box


@dataclasses.dataclass
class Tree:
    shape: Shape
    branches: list[Tree] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Of(Generic[T]):
    one: T | Box
    named: dict[str, T] = dataclasses.field(default_factory=dict)


class Typed(TypedDict):
    shape: Shape
    count: NotRequired[int]


class Renamed(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    first_shape: Shape
    how_many: int | None = None


class Row(NamedTuple):
    shape: Shape
    count: int = 2


class Packed(msgspec.Struct, array_like=True):
    shape: Shape
    count: int = 3


class Drawn(msgspec.Struct, tag="drawn"):
    shape: Shape


class Named(msgspec.Struct, tag="named"):
    name: str


def upper(names: list[str]) -> list[str]:
    return [name.upper() for name in names]


@attrs.define
class Converted:
    _names: list[str] = attrs.field(converter=upper)
    size: int = attrs.field(default=1, alias="wide", validator=attrs.validators.gt(0))


@dataclasses.dataclass
class Around:
    inner: Converted
    day: datetime.date


@dataclasses.dataclass
class Positive:
    shape: Shape

    def __post_init__(self) -> None:
        if isinstance(self.shape, Circle) and self.shape.radius < 0:
            raise ValueError("the radius must not be negative")


@pydantic.dataclasses.dataclass
class Checked:
    size: int = pydantic.Field(ge=1)


class Ordered(pydantic.BaseModel):
    first: int
    last: int

    @pydantic.model_validator(mode="after")
    def in_order(self) -> Ordered:
        if self.first > self.last:
            raise ValueError("first is after last")
        return self


@dataclasses.dataclass
class Rules:
    size: Checked
    link: pydantic.HttpUrl
    doubled: Annotated[int, pydantic.AfterValidator(lambda value: value * 2)]
    even: Annotated[int, annotated_types.Predicate(lambda value: value % 2 == 0)] = 0


Nested = TypeAliasType("Nested", int | list["Nested"])


Written = TypeAliasType("Written", "dict[str, Written] | list[Written] | Shape | int")
Astray = TypeAliasType("Astray", "list[Nowhere]")  # type: ignore[name-defined]  # noqa: F821


class Extended(typing_extensions.TypedDict, total=False):
    """The class that pydantic asks for below Python 3.12, and which `typing` does not know as one of its own."""

    shape: typing_extensions.Required[Shape]
    others: list[Extended]


@dataclasses.dataclass
class Holds:
    nested: Nested
    other: Nested = 0


@pytest.mark.parametrize(
    "hint, given, expected",
    [
        (Tree, {"shape": {"radius": 1}, "branches": [{"shape": {"width": 2}}]}, Tree(Circle(1), [Tree(Box(2))])),
        (Of[int], {"one": 3, "named": {"a": 1}}, Of(3, {"a": 1})),
        (Of[Circle], {"one": {"radius": 3}, "named": {"a": {"radius": 1}}}, Of(Circle(3), {"a": Circle(1)})),
        (Typed, {"shape": {"width": 1, "name": "x"}}, {"shape": Box(1, "x")}),
        (Typed, {"shape": {"radius": 1}, "count": 2}, {"shape": Circle(1), "count": 2}),
        (Renamed, {"firstShape": {"radius": 1}, "howMany": 2}, Renamed(Circle(1), 2)),
        (Row, [{"radius": 1}], Row(Circle(1))),
        (Row, [{"radius": 1}, 5], Row(Circle(1), 5)),
        (Packed, [{"width": 1}], Packed(Box(1))),
        (
            list[Drawn | Named],
            [{"type": "named", "name": "x"}, {"type": "drawn", "shape": {"radius": 1}}],
            [Named("x"), Drawn(Circle(1))],
        ),
        (Converted, {"_names": ["a"], "size": 2}, Converted(["a"], 2)),
        (
            Around,
            {"inner": {"_names": ["a"]}, "day": "2026-11-19"},
            Around(Converted(["A"]), datetime.date(2026, 11, 19)),
        ),
        (Positive, {"shape": {"radius": 1}}, Positive(Circle(1))),
        (Checked, {"size": 3}, Checked(3)),
        (Nested, [1, [2, []]], [1, [2, []]]),
        (Holds, {"nested": [[1]]}, Holds([[1]])),
        (Written, {"a": [1, {"radius": 2}]}, {"a": [1, Circle(2)]}),
        (
            Extended,
            {"shape": {"radius": 1}, "others": [{"shape": {"width": 2}}]},
            {"shape": Circle(1), "others": [{"shape": Box(2)}]},
        ),
    ],
)
def test_a_class_is_read_with_what_is_inside_it(hint: Any, given: Any, expected: Any) -> None:
    reader = Reader.of_type(hint)
    assert reader.read(msgspec.json.encode(given))[0] == expected
    assert reader.problems(given) == []


def test_rules_of_pydantic_hold_beside_other_fields() -> None:
    reader = Reader.of_type(Rules)
    read = reader.read({"size": {"size": 2}, "link": "https://example.com/", "doubled": 4, "even": 6})[0]
    assert (read.size, str(read.link), read.doubled, read.even) == (Checked(2), "https://example.com/", 8, 6)


def test_a_name_that_an_alias_writes_and_nobody_knows_is_a_problem_of_the_definition() -> None:
    with pytest.raises(DefinitionError, match=r"the type `list\[Nowhere\]` cannot be resolved"):
        Reader.of_type(Astray)


def problems(hint: Any, value: Any) -> list[tuple[str, str]]:
    with pytest.raises(ToolError) as refusal:
        Reader.of_type(hint).read(value)
    return [(row["path"], row["message"]) for row in refusal.value.details["problems"]]


@pytest.mark.parametrize(
    "hint, given, expected",
    [
        (
            Tree,
            {"shape": {"radius": 1}, "branches": [{"shape": {"height": 2}}]},
            [
                (
                    "branches[0].shape",
                    "fits none of the alternatives: branches[0].shape.radius is required, "
                    "or branches[0].shape.width is required",
                )
            ],
        ),
        (Renamed, {"firstShape": {"radius": 1}, "more": 1}, [("more", "is not known here.")]),
        (
            list[Drawn | Named],
            [{"name": "x"}],
            [("[0]", 'must be an object with type "drawn" or an object with type "named", not {"name":"x"}')],
        ),
        (
            Around,
            {"inner": {"_names": ["a"], "size": 0}, "day": "today"},
            [("day", "Invalid RFC3339 encoded date"), ("inner", "'size' must be > 0")],
        ),
        (list[Positive], [{"shape": {"radius": -1}}], [("[0]", "the radius must not be negative")]),
        (
            Rules,
            {"size": {"size": 0}, "link": "?", "doubled": "x", "even": 3},
            [
                ("size.size", "must be at least 1, not 0"),
                ("doubled", 'must be an integer, not "x"'),
                ("link", "Input should be a valid URL, relative URL without a base"),
                ("even", "Predicate"),
            ],
        ),
        (Holds, {"nested": [["x"]]}, [("nested[0][0]", "must be an integer or a list")]),
    ],
)
def test_every_problem_inside_has_its_path(hint: Any, given: Any, expected: list[tuple[str, str]]) -> None:
    found = problems(hint, given)
    assert [path for path, _ in found] == [path for path, _ in expected]
    assert all(message.startswith(words) for (_, message), (_, words) in zip(found, expected, strict=True))


def test_a_problem_that_the_schema_shows_does_not_hide_one_that_only_a_type_knows() -> None:
    class Trip(pydantic.BaseModel):
        legs: list[Ordered]
        days: int
        link: pydantic.HttpUrl

    found = problems(Trip, {"legs": [{"first": 2, "last": 1}], "days": "many", "link": "no"})
    assert [path for path, _ in found] == ["days", "legs[0]", "link"]


def test_a_tool_takes_them_too() -> None:
    @tool
    def draw(tree: Tree, names: Converted) -> str:
        """Draw a tree."""
        return f"{tree.shape} {names._names}"

    arguments = {"tree": {"shape": {"radius": 1}}, "names": {"_names": ["a"]}}
    assert draw.call_sync(to_json(arguments)) == "Circle(radius=1) ['A']"


def test_a_function_in_annotated_that_nobody_would_call_is_refused() -> None:
    """Without pydantic; it was passed over in silence."""
    program = """
from typing import Annotated
from annotated_types import Predicate
from dragoman.errors import DefinitionError
from dragoman.schema import Reader
try:
    Reader.of_type(Annotated[int, Predicate(bool)])
except DefinitionError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "only pydantic checks a `Predicate`" in said


def test_what_pydantic_itself_refuses_is_a_problem_of_the_definition() -> None:
    class Odd:
        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
            raise TypeError("no such schema")

    with pytest.raises(DefinitionError, match="no such schema"):
        Reader.of_type(list[Odd])


SHAPES = st.builds(Circle, st.integers(-9, 9)) | st.builds(Box, st.integers(-9, 9), st.text(max_size=3))
TREES = st.recursive(
    st.builds(Tree, SHAPES), lambda inner: st.builds(Tree, SHAPES, st.lists(inner, max_size=3)), max_leaves=6
)


@given(TREES)
def test_what_is_written_is_read_again(tree: Tree) -> None:
    assert Reader.of_type(Tree).read(msgspec.json.encode(tree))[0] == tree


def test_a_lone_value_is_put_into_one_list_not_into_ever_more() -> None:
    """`"x"` for a list of lists of lists … was "nested too deeply"."""
    assert Reader.of_type(Annotated[list[Nested], "numbers"]).read(b"3")[0] == [3]
    assert problems(Holds, {"nested": "x"}) == [("nested", 'must be an integer or a list, not "x"')]
    definitions = {"grid": {"type": "array", "items": {"$ref": "#/$defs/grid"}}}
    schema = {"type": "object", "properties": {"grid": {"$ref": "#/$defs/grid"}}, "$defs": definitions}
    with pytest.raises(ToolError, match='grid must be a list, not "x"'):
        Reader.of_schema("probe", schema).read({"grid": "x"})


def test_an_alias_with_an_argument_means_what_the_argument_makes_of_it() -> None:
    pair = TypeAliasType("pair", tuple[T, T], type_params=(T,))  # type: ignore[misc]
    assert Reader.of_type(pair[int]).read(b"[1, 2]")[0] == (1, 2)
    assert problems(pair[int], b'[1, "x"]') == [("[1]", 'must be an integer, not "x"')]
