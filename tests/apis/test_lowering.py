"""Lowering by example: one schema, what each API is given for it, and the way back."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from dragoman.apis.base.api import restoring
from dragoman.apis.lowering import (
    ANTHROPIC,
    ANTHROPIC_STRICT,
    GEMINI_JSON,
    GEMINI_SCHEMA,
    OPENAI,
    OPENAI_STRICT,
    Lowered,
    LoweredTool,
    Lowering,
    Rewrite,
    Rules,
    Undo,
    lower,
    lower_tools,
    restore,
)
from dragoman.model.calls import NativeCall
from dragoman.model.request import Features, FreeformDefinition, FunctionDefinition, Limits, ProviderDefinition

APIS = (OPENAI, OPENAI_STRICT, ANTHROPIC, ANTHROPIC_STRICT, GEMINI_JSON, GEMINI_SCHEMA)


def parameters(properties: dict[str, Any] | None = None, *required: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties or {},
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def offered(schema: Any, rules: Rules) -> Any:
    """What stands for the parameter `x`."""
    lowered = lower(parameters({"x": schema}, "x"), rules)
    assert lowered.problems == ()
    return lowered.schema["properties"]["x"]


def lossy(schema: Any, rules: Rules) -> list[str]:
    return [rewrite.rule for rewrite in lower(parameters({"x": schema}, "x"), rules).rewrites if rewrite.lossy]


# ── nothing to do ────────────────────────────────────────────────────────────


def test_a_plain_schema_is_offered_as_it_is_and_nothing_is_reported() -> None:
    schema = parameters({"path": {"type": "string", "description": "Where."}}, "path", description="Reads.")
    for rules in (OPENAI, OPENAI_STRICT, ANTHROPIC, ANTHROPIC_STRICT, GEMINI_JSON):
        assert lower(schema, rules) == Lowered(schema)
    for rules in APIS:
        assert lower(schema, rules).lossless


def test_geminis_own_form_has_types_in_upper_case_and_no_additional_properties() -> None:
    schema = parameters({"x": {"type": "array", "items": {"type": ["integer", "null"]}}})
    assert lower(schema, GEMINI_SCHEMA) == Lowered(
        {
            "type": "OBJECT",
            "properties": {"x": {"type": "ARRAY", "items": {"type": "INTEGER", "nullable": True}}},
            "required": [],
        }
    )


def test_lenient_apis_keep_every_keyword_and_the_order_of_keys() -> None:
    schema = {
        "properties": {"x": {"pattern": "^a", "type": "string", "x-note": 1, "minLength": 2}},
        "type": "object",
        "patternProperties": {"^y": {"type": "integer"}},
        "$schema": "https://json-schema.org/draft/2020-12/schema",
    }
    for rules in (OPENAI, ANTHROPIC):
        assert list(lower(schema, rules).schema.items()) == list(schema.items())


# ── tools without parameters ─────────────────────────────────────────────────


@pytest.mark.parametrize("schema", [{}, True, {"type": "object"}, {"type": ["object", "null"]}])
def test_a_tool_without_parameters_is_an_object_with_none(schema: Any) -> None:
    assert lower(schema, OPENAI).schema == {"type": "object", "properties": {}}
    assert lower(schema, ANTHROPIC).schema == {"type": "object"}
    assert lower(schema, OPENAI_STRICT).schema == {
        "type": "object",
        "additionalProperties": False,
        "properties": {},
        "required": [],
    }
    assert lower(schema, GEMINI_SCHEMA).schema == {"type": "OBJECT"}


def test_gemini_is_given_no_schema_for_a_tool_without_parameters() -> None:
    tool = FunctionDefinition("now", "The time.", parameters())
    for rules in (GEMINI_JSON, GEMINI_SCHEMA):
        (lowered,), _ = lower_tools([tool], rules, None, Limits())
        assert lowered.schema is None
    (lowered,), _ = lower_tools([tool], OPENAI, None, Limits())
    assert lowered.schema == parameters()


# ── strict: optional parameters ──────────────────────────────────────────────


def test_strict_openai_requires_everything_and_null_stands_for_not_given() -> None:
    schema = parameters({"path": {"type": "string"}, "limit": {"type": "integer", "default": 9}}, "path")
    lowered = lower(schema, OPENAI_STRICT)
    assert lowered == Lowered(
        parameters({"path": {"type": "string"}, "limit": {"type": ["integer", "null"], "default": 9}}, "path", "limit"),
        (Rewrite("#/properties/limit", "required", "an optional property is required; null stands for not given"),),
        undo=Undo(dropped=("limit",)),
    )
    assert lowered.lossless
    assert restore(lowered, {"path": "a", "limit": None}) == {"path": "a"}
    assert restore(lowered, {"path": "a", "limit": 3}) == {"path": "a", "limit": 3}
    assert restore(lowered, {"path": None}) == {"path": None}


def test_a_null_that_the_schema_takes_is_not_dropped() -> None:
    nullable = {"type": ["string", "null"]}
    lowered = lower(parameters({"x": nullable}), OPENAI_STRICT)
    assert restore(lowered, {"x": None}) == {"x": None}
    assert not lowered.lossless  # not given and null are two things, and only one can be said
    assert lower(parameters({"x": {**nullable, "default": None}}), OPENAI_STRICT).lossless


def test_every_kind_of_optional_parameter_can_be_null() -> None:
    kinds: dict[str, Any] = {
        "enum": {"type": "string", "enum": ["a"]},
        "const": {"type": "string", "const": "a"},
        "union": {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "Either."},
        "inner": parameters({"y": {"type": "string"}}, description="An object."),
        "list": {"type": "array", "items": {"type": "string"}},
        "reference": {"$ref": "#/$defs/D"},
    }
    lowered = lower(parameters(kinds, **{"$defs": {"D": {"type": "string"}}}), OPENAI_STRICT)
    null = {"type": "null"}
    inner = {**parameters({"y": {"type": ["string", "null"]}}, "y")}
    assert lowered.schema["properties"] == {
        "enum": {"type": ["string", "null"], "enum": ["a", None]},
        "const": {"anyOf": [{"type": "string", "const": "a"}, null]},
        "union": {"anyOf": [{"type": "string"}, {"type": "integer"}, null], "description": "Either."},
        "inner": {"description": "An object.", "anyOf": [inner, null]},
        "list": {"anyOf": [{"type": "array", "items": {"type": "string"}}, null]},
        "reference": {"anyOf": [{"$ref": "#/$defs/D"}, null]},
    }
    assert restore(lowered, dict.fromkeys(kinds)) == {}
    assert restore(lowered, {"inner": {"y": None}}) == {"inner": {}}


def test_anthropics_strict_tools_keep_optional_parameters() -> None:
    schema = parameters({"a": {"type": "string"}, "b": {"type": "string"}}, "a")
    assert lower(schema, ANTHROPIC_STRICT) == Lowered(schema)


# ── strict: open objects, any value ──────────────────────────────────────────


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
        {},
        {"type": "array"},
        {"type": "array", "items": {}},
    ],
)
def test_what_takes_anything_cannot_be_strict_and_is_never_closed_in_silence(schema: Any) -> None:
    for rules in (OPENAI_STRICT, ANTHROPIC_STRICT):
        assert len(lower(parameters({"x": schema}, "x"), rules).problems) == 1
    for rules in (OPENAI, ANTHROPIC):
        assert lower(parameters({"x": schema}, "x"), rules).lossless


def test_an_object_that_lists_its_properties_is_closed_without_loss() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    for rules in (OPENAI_STRICT, ANTHROPIC_STRICT):
        assert offered(inner, rules) == {**inner, "additionalProperties": False}
        assert lossy(inner, rules) == []


def test_geminis_own_form_offers_any_value_as_alternatives() -> None:
    assert offered({"description": "Whatever."}, GEMINI_SCHEMA) == {
        "description": "Whatever.",
        "nullable": True,
        "anyOf": [
            {"type": "STRING"},
            {"type": "NUMBER"},
            {"type": "BOOLEAN"},
            {"type": "OBJECT"},
            {"type": "ARRAY", "items": {"type": "STRING"}},
        ],
    }


def test_an_array_says_what_its_items_are() -> None:
    assert offered({"type": "array"}, OPENAI) == {"type": "array", "items": {}}
    assert offered({"type": ["array", "null"], "items": {"type": "string"}}, GEMINI_SCHEMA) == {
        "type": "ARRAY",
        "items": {"type": "STRING"},
        "nullable": True,
    }


# ── values ───────────────────────────────────────────────────────────────────


def test_an_enum_of_numbers_is_offered_to_gemini_as_text_and_turned_back() -> None:
    schema = parameters({"x": {"type": "integer", "enum": [1, 2], "default": 1, "minimum": 0}})
    lowered = lower(schema, GEMINI_SCHEMA)
    assert lowered.schema["properties"] == {"x": {"type": "STRING", "default": "1", "enum": ["1", "2"]}}
    assert lowered.lossless
    assert restore(lowered, {"x": "2"}) == {"x": 2}
    assert restore(lowered, {"x": "7"}) == {"x": "7"}
    assert restore(lowered, {"x": 2}) == {"x": 2}
    assert offered({"enum": [1, 2]}, GEMINI_JSON) == {"enum": [1, 2]}


def test_null_in_an_enum_stands_beside_it() -> None:
    schema = {"enum": ["a", True, None]}
    assert offered(schema, GEMINI_SCHEMA) == {"type": "STRING", "enum": ["a", "true"], "nullable": True}
    assert offered(schema, GEMINI_JSON) == {"anyOf": [{"enum": ["a", "true"], "type": "string"}, {"type": "null"}]}
    lowered = lower(parameters({"x": schema}), GEMINI_SCHEMA)
    assert [restore(lowered, {"x": value}) for value in ("a", "true", None)] == [{"x": "a"}, {"x": True}, {"x": None}]


def test_values_that_become_the_same_text_are_reported_as_lost() -> None:
    assert lossy({"enum": ["1", 1]}, GEMINI_SCHEMA) == ["enum_text"]
    assert lossy({"anyOf": [{"type": "string"}, {"const": 1}]}, GEMINI_SCHEMA) == ["enum_text"]


def test_objects_in_an_enum_are_offered_as_text_and_turned_back() -> None:
    schema = parameters({"x": {"enum": [{"a": 1}, [2]]}})
    lowered = lower(schema, OPENAI_STRICT)
    assert lowered.schema["properties"]["x"]["enum"] == ['{"a":1}', "[2]", None]
    assert restore(lowered, {"x": '{"a":1}'}) == {"x": {"a": 1}}


def test_a_constant_is_an_enum_of_one_where_there_is_no_const() -> None:
    assert offered({"const": "a"}, GEMINI_SCHEMA) == {"type": "STRING", "enum": ["a"]}
    assert offered({"const": None}, GEMINI_SCHEMA) == {"type": "NULL"}
    assert offered({"enum": ["b", "a"], "const": "a", "title": "T"}, GEMINI_SCHEMA) == {
        "type": "STRING",
        "title": "T",
        "enum": ["a"],
    }
    assert offered({"const": "a"}, OPENAI_STRICT) == {"type": "string", "const": "a"}
    assert offered({"const": "a"}, ANTHROPIC_STRICT) == {"const": "a"}


# ── unions ───────────────────────────────────────────────────────────────────


def test_null_is_said_in_all_the_ways_there_are() -> None:
    spellings: list[Any] = [
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"oneOf": [{"type": "null"}, {"type": "string"}]},
        {"type": "string", "nullable": True},
    ]
    for spelling in spellings:
        assert offered(spelling, GEMINI_SCHEMA) == {"type": "STRING", "nullable": True}
        assert lossy(spelling, OPENAI_STRICT) == []
    assert offered(spellings[3], OPENAI_STRICT) == {"type": ["string", "null"]}
    assert offered(spellings[0], ANTHROPIC_STRICT) == spellings[1]


def test_exactly_one_of_alternatives_that_exclude_each_other_is_any_of_them() -> None:
    cat = parameters({"kind": {"const": "cat"}}, "kind")
    dog = parameters({"kind": {"const": "dog"}}, "kind")
    assert lossy({"oneOf": [cat, dog]}, OPENAI_STRICT) == []
    assert lossy({"oneOf": [{"type": "string"}, {"type": "integer"}]}, OPENAI_STRICT) == []
    assert lossy({"oneOf": [{"type": "number"}, {"type": "integer"}]}, OPENAI_STRICT) == ["one_of"]


def test_the_alternative_that_fits_is_undone() -> None:
    cat = parameters({"kind": {"const": "cat"}, "lives": {"type": "integer"}}, "kind")
    dog = parameters({"kind": {"const": "dog"}, "lives": {"type": ["integer", "null"], "default": None}}, "kind")
    lowered = lower(parameters({"pet": {"anyOf": [cat, dog]}}, "pet"), OPENAI_STRICT)
    assert lowered.lossless
    assert restore(lowered, {"pet": {"kind": "cat", "lives": None}}) == {"pet": {"kind": "cat"}}
    assert restore(lowered, {"pet": {"kind": "dog", "lives": None}}) == {"pet": {"kind": "dog", "lives": None}}
    assert restore(lowered, {"pet": {"kind": "cow", "lives": None}}) == {"pet": {"kind": "cow", "lives": None}}


def test_schemas_that_hold_at_once_are_merged() -> None:
    schema = {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"], "description": "One."},
            {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["b"]},
        ],
        "description": "Both.",
        "unevaluatedProperties": False,
    }
    assert offered(schema, OPENAI_STRICT) == {
        "description": "Both.\nOne.",
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert lossy(schema, OPENAI_STRICT) == []
    assert lossy({"allOf": [{"type": "string", "pattern": "a"}, {"pattern": "b"}]}, OPENAI_STRICT) == ["all_of"]


def test_a_choice_of_which_parameters_are_required_is_said_in_words() -> None:
    schema = parameters({"a": {"type": "string"}, "b": {"type": "string"}})
    lowered = lower({**schema, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, OPENAI)
    assert lowered.schema == {**schema, "description": '(anyOf: [{"required":["a"]},{"required":["b"]}])'}
    assert not lowered.lossless


# ── the root ─────────────────────────────────────────────────────────────────


def test_alternatives_at_the_root_are_wrapped_and_unwrapped() -> None:
    by_id, by_name = parameters({"id": {"type": "integer"}}, "id"), parameters({"name": {"type": "string"}})
    for rules in APIS:
        lowered = lower({"anyOf": [by_id, by_name, {"type": "null"}]}, rules)
        assert list(lowered.schema["properties"]) == ["arguments"]
        assert restore(lowered, {"arguments": {"id": 1}}) == {"id": 1}
        assert restore(lowered, {"id": 1}) == {"id": 1}
        assert lowered.lossless
    strict = lower({"anyOf": [by_id, by_name]}, OPENAI_STRICT)
    assert restore(strict, {"arguments": {"name": None}}) == {}


def test_a_root_that_leads_elsewhere_is_written_out() -> None:
    inner = parameters({"child": {"$ref": "#/$defs/T"}})
    lowered = lower({"$ref": "#/$defs/T", "$defs": {"T": inner}}, OPENAI)
    assert lowered.schema == {**inner, "$defs": {"T": inner}}
    assert lower({"anyOf": [inner, {"type": "null"}], "$defs": {"T": inner}}, OPENAI).schema == lowered.schema


@pytest.mark.parametrize(
    "schema", [False, {"not": {}}, {"type": "string"}, [], 3, None, {"anyOf": [{"type": "string"}]}]
)
def test_what_cannot_be_arguments_is_a_problem(schema: Any) -> None:
    for rules in APIS:
        assert len(lower(schema, rules).problems) == 1


# ── references ───────────────────────────────────────────────────────────────

TREE = parameters(
    {"root": {"$ref": "#/$defs/Node"}},
    "root",
    **{"$defs": {"Node": parameters({"name": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}}, "name")}},
)


def test_a_schema_that_holds_itself_stays_where_the_api_takes_it() -> None:
    for rules in (OPENAI, ANTHROPIC, GEMINI_JSON):
        assert lower(TREE, rules) == Lowered(TREE)
    strict = lower(TREE, OPENAI_STRICT)
    assert strict.lossless
    assert restore(strict, {"root": {"name": "a", "next": {"name": "b", "next": None}}}) == {
        "root": {"name": "a", "next": {"name": "b"}}
    }
    assert lower(TREE, ANTHROPIC_STRICT).problems == (
        "#/$defs/Node: Anthropic strict takes no schema that refers to itself",
    )


def test_a_schema_that_holds_itself_is_written_out_once_for_geminis_own_form() -> None:
    lowered = lower(TREE, GEMINI_SCHEMA)
    assert lowered.schema["properties"]["root"]["properties"]["next"] == {"type": "OBJECT"}
    assert [rewrite.rule for rewrite in lowered.rewrites if rewrite.lossy] == ["recursion"]


def test_what_stands_beside_a_reference_is_merged_into_it() -> None:
    schema = parameters(
        {"a": {"$ref": "#/$defs/D", "description": "Here."}}, "a", **{"$defs": {"D": {"type": "string", "title": "D"}}}
    )
    assert lower(schema, OPENAI) == Lowered(schema)
    for rules in (OPENAI_STRICT, ANTHROPIC_STRICT, GEMINI_JSON):
        assert lower(schema, rules).schema["properties"]["a"] == {
            "description": "Here.",
            "type": "string",
            "title": "D",
        }


def test_references_to_other_places_lead_to_definitions() -> None:
    schema = parameters({"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}, "c": {"$ref": "#"}}, "a")
    lowered = lower(schema, OPENAI)
    assert lowered.schema["properties"]["b"] == {"$ref": "#/$defs/a"}
    assert lowered.schema["properties"]["c"] == {"$ref": "#/$defs/root"}
    assert lowered.schema["$defs"]["a"] == {"type": "string"}
    assert lowered.problems == ()
    strict = lower(schema, OPENAI_STRICT)
    assert restore(strict, {"a": "x", "b": None, "c": {"a": "y", "b": "z", "c": None}}) == {
        "a": "x",
        "c": {"a": "y", "b": "z"},
    }


@pytest.mark.parametrize("reference", ["#/$defs/Missing", "https://example.com/a.json", "#/$defs/Loop", "other"])
def test_a_reference_to_nowhere_takes_any_value_and_is_reported(reference: str) -> None:
    schema = parameters({"a": {"$ref": reference}}, **{"$defs": {"Loop": {"$ref": "#/$defs/Loop"}}})
    lowered = lower(schema, OPENAI)
    assert lowered.schema["properties"]["a"] == {}
    assert "reference" in [rewrite.rule for rewrite in lowered.rewrites if rewrite.lossy]


# ── names, tuples, constraints, older drafts ─────────────────────────────────


def test_names_that_gemini_refuses_are_changed_and_turned_back() -> None:
    names = {"-A": 1, "_A": 2, "n": 3, "1st": 4, "x" * 70: 5}
    schema = parameters({name: {"type": "integer"} for name in names}, "-A")
    lowered = lower(schema, GEMINI_JSON)
    known = list(lowered.schema["properties"])
    assert known[1:4] == ["_A", "n", "_1st"]
    assert known[0].startswith("_A_")
    assert len(known[4]) == 64
    assert lowered.schema["required"] == [known[0]]
    assert restore(lowered, dict(zip(known, names.values(), strict=True))) == names
    assert lower(schema, OPENAI) == Lowered(schema)


def test_a_tuple_of_alike_items_is_a_list_of_that_length() -> None:
    pair = {"type": "array", "prefixItems": [{"type": "number"}] * 2, "items": False, "minItems": 2}
    assert offered(pair, OPENAI_STRICT) == {
        "type": "array",
        "minItems": 2,
        "maxItems": 2,
        "items": {"type": "number"},
    }
    assert lossy(pair, OPENAI_STRICT) == []
    assert lossy({**pair, "prefixItems": [{"type": "number"}, {"type": "string"}]}, OPENAI_STRICT) == ["tuple"]
    old = {"type": "array", "items": [{"type": "number"}] * 2, "additionalItems": False, "minItems": 2}
    assert offered(old, OPENAI_STRICT) == offered(pair, OPENAI_STRICT)


def test_constraints_an_api_does_not_take_are_said_in_the_description() -> None:
    schema = {"type": "string", "description": "A name.", "minLength": 2, "format": "uri", "examples": ["a"], "x-y": 1}
    assert offered(schema, GEMINI_JSON) == {
        "type": "string",
        "description": 'A name.\n(at least 2 characters; in the format uri; for example "a")',
    }
    assert lossy(schema, GEMINI_JSON) == ["keyword", "keyword"]


def test_older_drafts_and_slips_are_put_right() -> None:
    assert offered({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, OPENAI) == {
        "type": "integer",
        "exclusiveMinimum": 1,
    }
    assert offered({"type": "STRING"}, OPENAI) == {"type": "string"}
    assert offered({"type": "string", "enum": "a", "required": None}, OPENAI) == {"type": "string"}
    assert offered(True, OPENAI) == {}
    assert offered({"type": "array", "items": False}, OPENAI) == {"type": "array", "maxItems": 0, "items": {}}


def test_keywords_of_another_form_are_left_out_and_names_are_said_once() -> None:
    slips = {"type": ["object", "OBJECT"], "required": ["a", "a"], "multipleOf": 0, "$anchor": "1 2", "readOnly": "yes"}
    assert offered(slips, OPENAI) == {"type": ["object"], "required": ["a"]}
    assert lossy({"type": "string", "readOnly": "yes", "examples": 1}, OPENAI) == []
    assert lossy({"type": "number", "multipleOf": 0}, OPENAI) == ["malformed"]


def test_dependencies_of_older_drafts_are_said_in_newer_words() -> None:
    older = {"type": "object", "dependencies": {"a": ["b"], "c": {"required": ["d"]}}}
    assert offered(older, OPENAI) == {
        "type": "object",
        "dependentRequired": {"a": ["b"]},
        "dependentSchemas": {"c": {"required": ["d"]}},
    }
    assert lossy(older, GEMINI_JSON) == ["keyword", "keyword"]


DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def test_a_schema_in_newer_words_names_their_draft() -> None:
    for words in ({"dependencies": {"a": ["b"]}}, {"properties": {"a": {"type": "array", "items": [{}]}}}):
        lowered = lower({"$schema": DRAFT_7, **parameters(), **words}, ANTHROPIC)
        assert lowered.schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert lowered.lossless
    assert lower({"$schema": DRAFT_7, **parameters()}, ANTHROPIC).schema["$schema"] == DRAFT_7


def test_what_counts_for_nothing_beside_a_reference_in_draft_7_is_left_out() -> None:
    beside = {"$ref": "#/definitions/d", "description": "Names.", "maxItems": 2}
    schema = parameters({"a": beside}, "a", definitions={"d": {"type": "array", "items": {"type": "string"}}})
    older, newer = (lower(one, ANTHROPIC) for one in ({"$schema": DRAFT_7, **schema}, schema))
    assert older.schema["properties"]["a"] == {"$ref": "#/definitions/d", "description": "Names."}
    assert older.lossless
    assert "maxItems" in newer.schema["properties"]["a"]


def test_a_pattern_of_another_dialect_is_said_in_words() -> None:
    for rules in (OPENAI, ANTHROPIC):
        assert offered({"type": "string", "pattern": "("}, rules) == {
            "type": "string",
            "description": "(matches the regular expression ()",
        }
        assert lossy({"type": "object", "patternProperties": {"(": {}}}, rules) == ["keyword"]


def test_what_cannot_be_said_inside_a_not_does_not_refuse_everything() -> None:
    for rules in (OPENAI, ANTHROPIC):
        assert offered({"type": "string", "not": {"$ref": "#/nowhere"}}, rules) == {"type": "string"}
        assert lossy({"type": "string", "not": {"type": "x"}}, rules) == ["malformed", "not"]


def test_an_array_without_items_is_said_by_their_number() -> None:
    for items in (False, {"allOf": [{"type": "object"}, {"type": "string"}]}):
        empty = {"type": "array", "items": items}
        assert offered(empty, OPENAI_STRICT) == {"type": "array", "maxItems": 0, "items": {"type": "string"}}
        assert offered(empty, ANTHROPIC) == {"type": "array", "maxItems": 0}
        assert lossy(empty, OPENAI_STRICT) == []


def test_a_constant_names_one_type_where_several_are_refused() -> None:
    assert offered({"type": ["string", "integer"], "const": 1}, ANTHROPIC_STRICT) == {"type": "integer", "const": 1}


def test_a_parameter_that_nothing_fits_is_left_out() -> None:
    lowered = lower(parameters({"a": False, "b": {"type": "string"}}, "b"), OPENAI_STRICT)
    assert lowered.schema == parameters({"b": {"type": "string"}}, "b")
    assert lowered.lossless


# ── bombs ────────────────────────────────────────────────────────────────────


def doubling(levels: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {
        f"D{level}": parameters({name: {"$ref": f"#/$defs/D{level + 1}"} for name in "ab"}, "a", "b")
        for level in range(levels)
    }
    definitions[f"D{levels}"] = {"type": "string"}
    return parameters({"x": {"$ref": "#/$defs/D0"}}, "x", **{"$defs": definitions})


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = parameters({"x": schema}, "x")
    return schema


def test_references_that_double_at_every_level_stop() -> None:
    schema = doubling(50)
    assert lower(schema, OPENAI) == Lowered(schema)
    (problem,) = lower(schema, GEMINI_SCHEMA).problems
    assert "more than" in problem


def test_a_schema_ten_thousand_levels_deep_is_a_problem() -> None:
    schema = deep(10_000)
    for rules in APIS:
        assert lower(schema, rules).problems == ("#: the schema is nested more than 200 values deep",)
        assert lower({"enum": [schema]}, rules).problems == ("#: the schema is nested more than 200 values deep",)


def test_definitions_that_nest_without_end_are_cut_or_a_problem() -> None:
    chain = {f"D{level}": {"type": "array", "items": {"$ref": f"#/$defs/D{level + 1}"}} for level in range(500)}
    schema = parameters({"x": {"$ref": "#/$defs/D0"}}, "x", **{"$defs": {**chain, "D500": {"type": "string"}}})
    assert lower(schema, OPENAI) == Lowered(schema)
    assert len(lower(schema, GEMINI_SCHEMA).problems) == 1


def test_schemas_that_hold_at_once_without_end_stop() -> None:
    definitions = {f"D{level}": {"allOf": [{"$ref": f"#/$defs/D{level + 1}"}] * 2} for level in range(60)}
    schema = parameters({"x": {"$ref": "#/$defs/D0"}}, "x", **{"$defs": {**definitions, "D60": {"type": "string"}}})
    for rules in APIS:
        assert isinstance(lower(schema, rules), Lowered)
    itself = parameters({"x": {"$ref": "#/$defs/A"}}, **{"$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}]}}})
    for rules in APIS:
        assert isinstance(lower(itself, rules), Lowered)


def test_more_values_than_anybody_needs_are_a_problem() -> None:
    wide = parameters({f"p{number}": {"type": "string"} for number in range(60_000)})
    for rules in APIS:
        assert lower(wide, rules).problems == ("#: the schema has more than 50000 values",)


def test_strict_openai_counts_levels_and_properties() -> None:
    assert lower(deep(10), OPENAI_STRICT).problems == ()
    assert lower(deep(11), OPENAI_STRICT).problems == (
        "#: OpenAI strict takes at most 10 levels of objects, and there are 11",
    )
    many = parameters({f"p{number}": {"type": "string"} for number in range(5001)})
    assert len(lower(many, OPENAI_STRICT).problems) == 1


def test_arguments_of_any_depth_are_restored_without_error() -> None:
    arguments: Any = None
    for _ in range(900):
        arguments = {"name": "a", "next": arguments}
    restored = restore(lower(TREE, OPENAI_STRICT), {"root": arguments})
    assert restored["root"]["name"] == "a"


# ── the tools of a request ───────────────────────────────────────────────────


def function(name: str, schema: dict[str, Any], *, strict: bool | None = None) -> FunctionDefinition:
    return FunctionDefinition(name, f"Does {name}.", schema, strict=strict)


CLOSED = parameters({"a": {"type": "string"}}, "a")
OPEN = parameters({"a": {"type": "object"}}, "a")


def test_a_tool_is_strict_where_nothing_is_lost_by_it() -> None:
    tools, lowering = lower_tools(
        [function("closed", CLOSED), function("open", OPEN), function("loose", CLOSED, strict=False)],
        OPENAI,
        OPENAI_STRICT,
        Limits(),
    )
    assert [(tool.strict, tool.problems) for tool in tools] == [(True, ()), (False, ()), (False, ())]
    assert lowering == Lowering({"closed": Lowered(CLOSED), "open": Lowered(OPEN), "loose": Lowered(CLOSED)})


def test_a_tool_that_asks_to_be_strict_is_or_says_why_not() -> None:
    (fixed, refused, nowhere), _ = lower_tools(
        [
            function("fixed", parameters({"a": {"type": "string", "minLength": 2}}, "a"), strict=True),
            function("refused", OPEN, strict=True),
            function("third", CLOSED, strict=True),
        ],
        ANTHROPIC,
        ANTHROPIC_STRICT,
        Limits(strict_tool_count=2),
    )
    assert (fixed.strict, fixed.problems) == (True, ())
    assert len(refused.problems) == 1
    assert nowhere.problems == ()
    (alone,), _ = lower_tools([function("t", CLOSED, strict=True)], GEMINI_JSON, None, Limits())
    assert alone.strict is False
    assert len(alone.problems) == 1


def test_strict_tools_are_the_first_that_fit_the_counted_limits() -> None:
    optional = parameters({name: {"type": "string"} for name in "abc"})
    union = parameters({"a": {"type": ["string", "null"]}}, "a")
    tools = [function(f"t{number}", schema) for number, schema in enumerate([optional, optional, union, union, CLOSED])]
    limits = Limits(strict_tool_count=3, strict_optional_parameters=5, strict_unions=1)
    lowered, _ = lower_tools(tools, ANTHROPIC, ANTHROPIC_STRICT, limits)
    assert [tool.strict for tool in lowered] == [True, False, True, False, True]
    assert [tool.strict for tool in lower_tools([*tools, tools[4]], ANTHROPIC, ANTHROPIC_STRICT, limits)[0]] == [
        *[tool.strict for tool in lowered],
        False,
    ]
    asked = [*tools, function("asked", CLOSED, strict=True)]
    assert [tool.strict for tool in lower_tools(asked, ANTHROPIC, ANTHROPIC_STRICT, limits)[0]] == [
        *(True, False, True, False, False),
        True,
    ]


def test_other_definitions_keep_their_place() -> None:
    grammar = FreeformDefinition("patch", "Patches.")
    search = ProviderDefinition("openai.web_search", "web_search", "web_search")
    tools, lowering = lower_tools([grammar, function("f", CLOSED), search], OPENAI, None, Limits())
    assert tools == [
        LoweredTool(grammar, description="Patches."),
        LoweredTool(function("f", CLOSED), CLOSED, description="Does f."),
        LoweredTool(search),
    ]
    assert list(lowering.tools) == ["f"]


def test_arguments_of_unknown_and_unchanged_tools_are_left_alone() -> None:
    _, lowering = lower_tools([function("f", CLOSED)], OPENAI, None, Limits())
    arguments = {"a": None}
    assert lowering.undo("f", arguments) is arguments
    assert lowering.undo("nobody", arguments) is arguments


def test_limits_of_a_model_tighten_the_rules() -> None:
    limits = Limits(parameter_name_pattern="[a-z]+", parameter_name_length=20, schema_depth=1)
    (tool,), lowering = lower_tools([function("f", parameters({"X-y": {"type": "string"}}))], OPENAI, None, limits)
    assert tool.schema == parameters({"xy": {"type": "string"}})
    (nested,), _ = lower_tools([function("f", deep(2))], OPENAI, None, limits)
    assert nested.problems == ("#: OpenAI takes at most 1 levels of objects, and there are 2",)
    assert lowering.undo("f", {"xy": "a"}) == {"X-y": "a"}


def test_the_schema_given_is_never_changed() -> None:
    schemas = [TREE, CLOSED, OPEN, doubling(3), {"anyOf": [CLOSED, OPEN]}, {"allOf": [CLOSED, {"nullable": True}]}]
    before = copy.deepcopy(schemas)
    for schema in schemas:
        for rules in APIS:
            lower(schema, rules)
    assert schemas == before


def test_calls_of_joined_names_and_of_equal_names_find_their_own_way_back() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    other = {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": False}
    tools = [
        FunctionDefinition("find", "One.", schema, namespace="one"),
        FunctionDefinition("find", "Two.", other, namespace="two"),
    ]
    _, lowering = lower_tools(tools, OPENAI, OPENAI_STRICT, Limits())
    assert lowering.call(NativeCall("1", "find", {"a": None}, "one")).arguments == {}
    assert lowering.call(NativeCall("1", "find", {"b": None}, "two")).arguments == {}
    assert lowering.call(NativeCall("1", "find", {"b": None}, "one")).arguments == {"b": None}
    joined = restoring(lowering, tools, Features())
    assert joined.call(NativeCall("1", "two__find", {"b": None})) == NativeCall("1", "find", {}, "two")
    text = restoring(Lowering(), [FreeformDefinition("patch", "P.")], Features())
    assert text.call(NativeCall("1", "patch", {"input": "x"})) == NativeCall("1", "patch", "x")
    untouched = NativeCall("1", "patch", {"input": "x", "more": 1})
    assert text.call(untouched) is untouched


def test_an_alternative_without_names_does_not_take_what_was_written_for_another() -> None:
    empty = {"type": "object", "properties": {}, "additionalProperties": False}
    named = {"type": "object", "properties": {"-A": {"type": "string"}}, "required": ["-A"]}
    lowered = lower({"type": "object", "properties": {"x": {"anyOf": [empty, named]}}}, GEMINI_SCHEMA)
    assert restore(lowered, {"x": {"_A": "v"}}) == {"x": {"-A": "v"}}
