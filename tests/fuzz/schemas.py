"""JSON Schema: compiled, lowered for each API, and held against arguments."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.apis.lowering import Lowered, lower, restore
from dragoman.errors import DefinitionError, ToolError
from dragoman.schema import Reader
from tests.laws.test_lowering_laws import APIS, assert_settled

from .drawing import Draw
from .target import Target

SAMPLES = [
    msgspec.json.encode(schema)
    for schema in (
        {
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[a-z]+$", "format": "date"},
                "count": {"type": ["integer", "null"], "minimum": 0, "exclusiveMaximum": 9, "multipleOf": 2},
                "mode": {"enum": ["a", 1, None, True, [1], {"b": 2}], "default": "a"},
                "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "uniqueItems": True, "minItems": 1},
                "tree": {"$ref": "#/$defs/tree"},
            },
            "required": ["path", "mode"],
            "additionalProperties": False,
            "$defs": {
                "tag": {"type": "string", "description": "A tag."},
                "tree": {
                    "type": "object",
                    "properties": {"left": {"$ref": "#/$defs/tree"}, "value": {"const": 3}},
                    "patternProperties": {"^x-": True, "y$": {"type": "number"}},
                },
            },
        },
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"kind": {"const": "a"}, "n": {"type": "number"}},
                    "required": ["kind"],
                },
                {"oneOf": [{"type": "string"}, {"not": {"type": "null"}}], "title": "T", "examples": [1]},
            ],
            "allOf": [{"if": {"required": ["n"]}, "then": {"maxProperties": 2}, "else": {"minProperties": 1}}],
            "dependentRequired": {"a": ["b"]},
            "dependentSchemas": {"a": {"required": ["c"]}},
            "propertyNames": {"maxLength": 4},
            "unevaluatedProperties": False,
        },
        {
            "type": "object",
            "properties": {
                "list": {
                    "type": "array",
                    "prefixItems": [{"type": "integer"}, {}],
                    "items": False,
                    "contains": {"minimum": 1},
                },
                "any": True,
                "none": False,
                "nullable": {"type": "string", "nullable": True},
                "deep": {"definitions": {"F": {"$ref": "#"}}, "$ref": "#/properties/deep/definitions/F"},
                "named": {"$anchor": "n", "$id": "x", "$comment": "c", "readOnly": True, "contentEncoding": "base64"},
                "-A b": {"type": "object"},
            },
        },
    )
]
VALUES = [
    msgspec.json.encode(value)
    for value in (
        {"path": "abc", "count": 4, "mode": "a", "tags": ["x", "y"], "tree": {"left": {"value": 3}, "x-1": 2}},
        {"kind": "a", "n": 1.5, "list": [1, 2, 3], "any": None, "nullable": None},
        {"path": "2026-01-01", "count": "4", "mode": [1], "tags": "x", "deep": {"deep": {}}},
    )
]


SELDOM = 20
"""One case in so many is also shown to the independent judges of the laws, which take much longer than lowering."""


def draw_schema(draw: Draw) -> tuple[Any, Any]:
    return draw.damaged_json(SAMPLES, most=6), draw.damaged_json(VALUES)


def check_schema(given: tuple[Any, Any]) -> None:
    schema, value = given
    try:
        reader: Reader[Any] = Reader.of_schema("probe", schema)
    except DefinitionError as error:
        assert error.problems, "it is refused without a reason"
        return
    reader.problems(value)
    try:
        read, coerced = reader.read(msgspec.json.encode(value))
    except ToolError as error:
        assert error.kind == "invalid_arguments"
        assert error.details["problems"]
        return
    assert reader.problems(read) == [], "what was read does not fit the schema"
    assert coerced or read == value, "it was changed and nobody says so"


def draw_lowering(draw: Draw) -> tuple[Any, Any, list[int], bool]:
    return *draw_schema(draw), [draw.randrange(len(APIS))], draw.one_in(SELDOM)


def check_lowering(given: tuple[Any, Any, list[int], bool]) -> None:
    schema, value, chosen, judged = given
    before = msgspec.json.encode(schema)
    for rules in [APIS[number] for number in chosen]:
        lowered = lower(schema, rules)
        assert msgspec.json.encode(schema) == before, "the schema itself was changed"
        assert msgspec.json.decode(msgspec.json.encode(lowered), type=Lowered) == lowered
        if judged:
            assert_settled(lowered, rules)
        restored = restore(lowered, value if isinstance(value, dict) else {})
        assert isinstance(restored, dict)


TARGETS = [Target("schemas", draw_schema, check_schema), Target("lowering", draw_lowering, check_lowering)]
