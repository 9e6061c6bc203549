"""Tools from a raw JSON Schema: how their functions get the arguments, and the defaults that the schema states."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from dragoman import Context, Tool
from dragoman.errors import DefinitionError, ToolError
from dragoman.schema import Defaults, problems_against

WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "location": {"type": "string", "description": "City name or coordinates"},
        "units": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
    },
    "required": ["location"],
}


def made(run: Any, schema: dict[str, Any] = WEATHER, **traits: Any) -> Tool:
    return Tool("get_weather", "Get current weather for a location", schema, run, **traits)


def test_a_function_of_several_arguments_gets_each_and_the_defaults() -> None:
    weather = made(lambda location, units: f"{location} in {units}")
    assert weather.call_sync({"location": "Rome"}) == "Rome in celsius"
    assert weather.call_sync('{"units": "fahrenheit", "location": "Rome"}') == "Rome in fahrenheit"
    assert weather.parameters == WEATHER
    with pytest.raises(ToolError, match="location is required"):
        weather.call_sync({})


def test_a_function_of_one_dict_gets_the_defaults_too() -> None:
    assert made(lambda arguments: arguments).call_sync({"location": "Rome"}) == {"location": "Rome", "units": "celsius"}


async def test_what_the_run_gives_stands_beside_the_arguments() -> None:
    async def run(units: str, context: Context, *, location: str) -> str:
        return f"{location} in {units} for {context.run}"

    assert await made(run).call({"location": "Rome"}, Context(run="r1")) == "Rome in celsius for r1"


def test_a_default_of_the_function_serves_where_the_schema_has_none() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    assert made(lambda a=1, /, b=2: (a, b), schema).call_sync({"b": 5}) == (1, 5)


def test_further_arguments_go_to_keywords_or_are_refused() -> None:
    assert made(lambda location, **rest: rest).call_sync({"location": "Rome", "more": 1}) == {
        "units": "celsius",
        "more": 1,
    }
    with pytest.raises(ToolError, match="there is no parameter 'more'"):
        made(lambda location, units: 1).call_sync({"location": "Rome", "more": 1})


@pytest.mark.parametrize(
    "run, problem",
    [
        (lambda location: 1, "the schema has `units`, and `run` has no parameter of that name"),
        (lambda location, units, day: 1, "`run` takes `day`, which the schema does not have and nothing fills in"),
    ],
)
def test_a_function_that_does_not_fit_the_schema_is_refused(run: Any, problem: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        made(run)
    assert refused.value.problems == (problem,)


def test_an_argument_that_may_be_missing_needs_a_default_somewhere() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string", "default": None}}}
    with pytest.raises(DefinitionError) as refused:
        made(lambda a, b: 1, schema)
    reason = "which a call may leave out: make it required, or give it a default in the schema"
    assert refused.value.problems == (f"`run` needs `a`, {reason}", f"`run` needs `b`, {reason}")


# ── objects of a class ───────────────────────────────────────────────────────


@dataclasses.dataclass
class DataInput:
    location: str
    units: str


class StructInput(msgspec.Struct):
    location: str
    units: str


class ModelInput(BaseModel):
    location: str
    units: str


@pytest.mark.parametrize("kind", [DataInput, StructInput, ModelInput])
def test_one_parameter_of_a_class_gets_all_arguments_as_an_object(kind: Any) -> None:
    def run(inp: Any) -> Any:
        return inp

    run.__annotations__["inp"] = kind
    assert made(run).call_sync({"location": "Rome"}) == kind(location="Rome", units="celsius")


# ── defaults ─────────────────────────────────────────────────────────────────


def test_defaults_are_filled_in_at_any_depth() -> None:
    unit = {"type": "object", "properties": {"name": {"type": "string", "default": "m"}, "size": {"type": "integer"}}}
    schema: dict[str, Any] = {
        "type": "object",
        "$defs": {
            "unit": unit,
            "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node", "default": {}}}},
        },
        "properties": {
            "unit": {"$ref": "#/$defs/unit", "default": {}},
            "units": {"type": "array", "items": {"$ref": "#/$defs/unit"}},
            "tree": {"$ref": "#/$defs/node", "default": {}},
            "none": {"type": "string", "default": None},
            "either": {"anyOf": [unit, {"type": "null"}]},
        },
        "allOf": [{"properties": {"extra": {"default": 3}}}],
        "additionalProperties": unit,
    }
    given: dict[str, Any] = {"units": [{"size": 1}, {"name": "k"}], "other": {"size": 2}, "either": {}}
    assert made(lambda arguments: arguments, schema).call_sync(given) == {
        "unit": {"name": "m"},
        "units": [{"size": 1, "name": "m"}, {"name": "k"}],
        "tree": {},
        "extra": 3,
        "other": {"size": 2, "name": "m"},
        "either": {},
    }


def test_a_default_is_a_value_of_its_own_in_every_call() -> None:
    schema = {"type": "object", "properties": {"seen": {"type": "array", "default": []}}}
    keep = made(lambda seen: seen, schema)
    keep.call_sync({}).append(1)
    assert keep.call_sync({}) == []


def test_the_tool_of_a_server_gets_what_the_model_said() -> None:
    served = made(lambda arguments: arguments, mcp=("weather", "get"))
    assert served.call_sync({"location": "Rome"}) == {"location": "Rome"}


SCALARS = st.sampled_from(
    [{"type": "string"}, {"type": "integer", "default": 3}, {"type": "string", "default": 1}, {"default": [1]}, {}]
)
SCHEMAS = st.recursive(
    SCALARS,
    lambda inner: st.dictionaries(st.sampled_from("ab"), inner, max_size=2).map(
        lambda properties: {"type": "object", "properties": properties, "default": {}}
    ),
    max_leaves=6,
).map(lambda schema: {"type": "object", "properties": {"a": schema}})


@given(SCHEMAS)
def test_what_is_filled_in_fits_the_schema_and_is_complete(schema: dict[str, Any]) -> None:
    filled = Defaults(schema).fill({})
    assert problems_against(schema, filled) == []
    assert Defaults(schema).fill(filled) == filled


@given(
    st.recursive(
        st.none() | st.integers() | st.text("$a"),
        lambda inner: st.dictionaries(
            st.sampled_from(["$ref", "allOf", "properties", "default", "items", "$defs", "required"]), inner
        ),
        max_leaves=8,
    )
)
def test_any_schema_is_a_tool_or_a_definition_error(schema: Any) -> None:
    tool, problems = None, ()
    try:
        tool = made(lambda a, b: 1, {"type": "object", "properties": {"a": schema, "b": schema}})
    except DefinitionError as error:
        problems = error.problems
    assert (tool is None) == bool(problems)
