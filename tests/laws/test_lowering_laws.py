"""Laws of lowering: whatever the schema, whatever the API, whatever a model sends."""

from __future__ import annotations

import copy
import re
from typing import Any

import msgspec
from hypothesis import example, given, strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from dragoman.apis.lowering import (
    ANTHROPIC,
    ANTHROPIC_STRICT,
    GEMINI_JSON,
    GEMINI_SCHEMA,
    OPENAI,
    OPENAI_STRICT,
    Lowered,
    Rules,
    lower,
    restore,
)
from dragoman.apis.lowering.words import KNOWN
from tests.strategies import JSON, JSON_OBJECT

APIS = (OPENAI, OPENAI_STRICT, ANTHROPIC, ANTHROPIC_STRICT, GEMINI_JSON, GEMINI_SCHEMA)

# ── schemas as people write them ─────────────────────────────────────────────

NAMES = st.sampled_from(["a", "b", "c", "-A", "_A", "x y", "1st", "ä", "", "v" * 70])
REFERENCES = st.sampled_from(
    ["#/$defs/D", "#/$defs/E", "#/definitions/F", "#", "#/properties/a", "#/nowhere", "https://x/y"]
)
TEXTS = st.text("ab1", max_size=3)
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0]) | TEXTS
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.sampled_from("ab"), SCALARS, max_size=2)
COUNTS = st.integers(0, 3)


def keywords_of(**keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=keywords)


ANNOTATIONS = keywords_of(
    description=st.sampled_from(["", "What it is."]),
    title=st.just("T"),
    default=VALUES,
    examples=st.lists(VALUES, max_size=2),
)
STRINGS = keywords_of(
    minLength=COUNTS,
    maxLength=COUNTS,
    pattern=st.sampled_from(["^a", "b$", "(?=a)"]),
    format=st.sampled_from(["date", "uri", "x"]),
)
NUMBERS = keywords_of(
    minimum=st.integers(-3, 3),
    exclusiveMaximum=st.integers(-3, 3),
    multipleOf=st.sampled_from([1, 2, 0.5]),
    format=st.just("int32"),
)
KINDS = st.sampled_from(["string", "number", "integer", "boolean", "null", "array", "object"])


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return keywords_of(
        properties=st.dictionaries(NAMES, inner, max_size=3),
        required=st.lists(NAMES, max_size=2, unique=True),
        additionalProperties=st.booleans() | inner,
        minProperties=COUNTS,
        patternProperties=st.dictionaries(st.just("^a"), inner, max_size=1),
        dependentRequired=st.just({"a": ["b"]}),
        propertyNames=st.just({"maxLength": 3}),
    )


def closed_objects(inner: st.SearchStrategy[Any], *, stated: bool = False) -> st.SearchStrategy[dict[str, Any]]:
    """Those that often can be strict; `stated` when each says that it is closed."""
    closed = {"additionalProperties": st.just(False)}
    properties = st.dictionaries(NAMES, inner, max_size=3)
    return properties.flatmap(
        lambda names: st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.just(names),
                "required": st.lists(st.sampled_from(sorted(names)), unique=True) if names else st.just([]),
                **(closed if stated else {}),
            },
            optional={} if stated else closed,
        )
    )


def arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return keywords_of(
        items=inner,
        prefixItems=st.lists(inner, min_size=1, max_size=2),
        minItems=COUNTS,
        maxItems=COUNTS,
        uniqueItems=st.booleans(),
        contains=inner,
    )


def joined(*parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(*parts).map(lambda chosen: {key: value for part in chosen for key, value in part.items()})


def typed(kind: str, *parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    either = st.sampled_from([{"type": kind}] * 4 + [{"type": [kind, "null"]}, {"type": kind, "nullable": True}, {}])
    return joined(either, *parts, ANNOTATIONS)


def schemas_within(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        closed_objects(inner),
        typed("object", objects(inner)),
        typed("array", arrays(inner)),
        joined(ANNOTATIONS, several.map(lambda branches: {"anyOf": branches})),
        joined(ANNOTATIONS, several.map(lambda branches: {"oneOf": branches})),
        joined(ANNOTATIONS, several.map(lambda branches: {"allOf": branches})),
        joined(objects(inner), several.map(lambda branches: {"anyOf": branches})),
        inner.map(lambda one: {"not": one}),
        st.tuples(inner, inner).map(lambda pair: {"if": pair[0], "then": pair[1]}),
    )


LEAVES = st.one_of(
    st.booleans(),
    st.just({}),
    typed("string", STRINGS),
    typed("number", NUMBERS),
    typed("integer", NUMBERS),
    KINDS.map(lambda kind: {"type": kind}),
    st.lists(KINDS, min_size=1, max_size=3, unique=True).map(lambda kinds: {"type": kinds}),
    joined(ANNOTATIONS, VALUES.map(lambda value: {"const": value})),
    joined(ANNOTATIONS, st.lists(VALUES, min_size=1, max_size=3).map(lambda values: {"enum": values})),
    st.lists(st.integers(0, 3), min_size=1, max_size=3).map(lambda values: {"type": "integer", "enum": values}),
    joined(ANNOTATIONS, REFERENCES.map(lambda reference: {"$ref": reference})),
)
NODES = st.recursive(LEAVES, schemas_within, max_leaves=6)
DEFINITIONS = st.fixed_dictionaries(
    {},
    optional={
        "$defs": st.fixed_dictionaries({"D": NODES, "E": NODES}),
        "definitions": st.fixed_dictionaries({"F": NODES}),
    },
)
SCHEMAS = joined(
    st.one_of(
        closed_objects(NODES),
        typed("object", objects(NODES)),
        st.lists(closed_objects(NODES), min_size=1, max_size=2).map(lambda branches: {"anyOf": branches}),
        schemas_within(NODES).filter(lambda schema: isinstance(schema, dict)),
    ),
    DEFINITIONS,
)

# Schemas that most APIs can be given without loss: what a strict one does to them is undone exactly.
TIDY_LEAVES = st.one_of(
    joined(st.sampled_from(["string", "integer", "number", "boolean"]).map(lambda kind: {"type": kind}), ANNOTATIONS),
    st.sampled_from(
        [{"type": ["string", "null"], "default": None}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}]
    ),
    st.lists(SCALARS, min_size=1, max_size=3).map(lambda values: {"enum": values}),
    st.lists(st.integers(0, 3), min_size=1, max_size=3).map(lambda values: {"type": "integer", "enum": values}),
    VALUES.map(lambda value: {"const": value}),
    st.sampled_from(["#/$defs/D", "#/$defs/E", "#/definitions/F"]).map(lambda reference: {"$ref": reference}),
    st.just({"$ref": "#/$defs/E", "description": "Beside it."}),
)


def tidy_within(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        closed_objects(inner, stated=True),
        closed_objects(inner, stated=True),
        inner.map(lambda items: {"type": "array", "items": items}),
        inner.map(lambda one: {"type": "array", "prefixItems": [one, one], "items": False, "minItems": 2}),
        several.map(lambda branches: {"anyOf": branches}),
        several.map(lambda branches: {"oneOf": branches}),
        st.tuples(closed_objects(inner, stated=True), closed_objects(inner, stated=True)).map(
            lambda pair: {"allOf": list(pair)}
        ),
    )


TIDY_NODES = st.recursive(TIDY_LEAVES, tidy_within, max_leaves=5)
PLAIN_LEAVES = TIDY_LEAVES.filter(lambda leaf: "$ref" not in leaf)
TIDY = joined(
    closed_objects(TIDY_NODES)
    | st.lists(closed_objects(TIDY_NODES), min_size=2, max_size=2).map(lambda branches: {"anyOf": branches}),
    st.fixed_dictionaries(
        {
            "$defs": st.fixed_dictionaries(
                {
                    "D": closed_objects(PLAIN_LEAVES | TIDY_NODES, stated=True),
                    "E": closed_objects(PLAIN_LEAVES, stated=True),
                }
            ),
            "definitions": st.fixed_dictionaries({"F": PLAIN_LEAVES}),
        }
    ),
)

# JSON that looks like a schema only by its keys.
KEYS = st.sampled_from(sorted([*KNOWN, "nullable", "x-own"]))
NONSENSE = st.recursive(
    JSON | st.sampled_from(["object", "STRING", "#", "(", 0, 1, -1, 1.0]),
    lambda inner: st.dictionaries(KEYS, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=12,
)


# ── the laws ─────────────────────────────────────────────────────────────────


@given(schema=NONSENSE)
@example(schema={"required": ["object", "object"]})
@example(schema={"type": ["object", "object"], "dependentRequired": {"a": ["b", "b"]}})
@example(schema={"dependencies": {"a": ["b", "b"], "b": {"type": "STRING"}}, "patternProperties": {"(": {}}})
@example(schema={"properties": {"a": {"pattern": "(", "multipleOf": 0, "$id": "a#b", "$anchor": " ", "examples": 1}}})
def test_any_json_is_lowered_or_a_problem(schema: Any) -> None:
    before = copy.deepcopy(schema)
    for rules in APIS:
        lowered = lower(schema, rules)
        assert schema == before
        assert lower(schema, rules) == lowered
        assert msgspec.json.decode(msgspec.json.encode(lowered), type=Lowered) == lowered
        assert_settled(lowered, rules)


@given(schema=SCHEMAS | TIDY)
@example(schema={"$defs": {"E": {"not": {"allOf": [{"allOf": [{"type": ["string", "number", "object"]}]}]}}}})
@example(schema={"properties": {"a": {"allOf": [{"type": "OBJECT"}, {"allOf": [{"type": "STRING"}]}]}}})
@example(schema={"properties": {"a": {"title": "T", "not": {"$ref": "#/nowhere"}}, "b": {"not": {"type": "x"}}}})
@example(schema={"properties": {"a": {"items": {"allOf": [{"type": ["object"]}, {"type": ["string"]}]}}}})
@example(schema={"properties": {"a": {"$ref": "#/$defs/E", "$defs": {"D": {"$ref": "x"}}}}, "$defs": {"E": {}}})
@example(schema={"properties": {"a": {"const": 1, "type": ["integer"]}, "b": {"$anchor": "a", "enum": [None, []]}}})
@example(schema={"properties": {"a": {"allOf": [{"const": 1}], "anyOf": [{"type": ["integer", "number"]}]}}})
@example(schema={"properties": {"a": {"enum": [1], "minimum": 2, "properties": {"b": {"type": "x"}}}}})
@example(schema={"properties": {"a": {"type": ["object", "boolean"], "const": False, "properties": {"b": {}}}}})
@example(schema={"properties": {"-A": {}}, "required": ["_A", "-A"]})
def test_what_is_offered_obeys_the_rules_of_the_api_and_is_lowered_to_itself(schema: Any) -> None:
    before = copy.deepcopy(schema)
    for rules in APIS:
        lowered = lower(schema, rules)
        assert schema == before
        assert_settled(lowered, rules)


@given(schema=SCHEMAS | TIDY | TIDY, data=st.data())
def test_restored_arguments_fit_the_original_when_nothing_is_lost(schema: Any, data: st.DataObject) -> None:
    for rules in APIS:
        lowered = lower(schema, rules)
        if lowered.lossless:
            lenient = rules in (OPENAI, ANTHROPIC)  # these keep `nullable`, which says nothing to JSON Schema
            offered = lowered.schema if lenient else plain(lowered.schema, closed=rules is GEMINI_SCHEMA)
            arguments = data.draw(instances(offered, offered, 0), label=f"arguments for {rules.name}")
            if problems_of(offered, arguments) == []:
                restored = restore(lowered, arguments)
                original = schema if lenient else plain(schema)
                assert problems_of(original, restored) in ([], None), (lowered, arguments, restored)


@given(schema=SCHEMAS | TIDY, arguments=JSON_OBJECT)
def test_whatever_a_model_sends_is_restored_or_left_as_it_is(schema: Any, arguments: dict[str, Any]) -> None:
    before = copy.deepcopy(arguments)
    for rules in APIS:
        lowered = lower(schema, rules)
        restored = restore(lowered, arguments)
        assert isinstance(restored, dict)
        assert arguments == before
        if lowered.undo is None:
            assert restored is arguments


def assert_settled(lowered: Lowered, rules: Rules) -> None:
    """What may be sent obeys the rules, and lowering it again finds nothing to do."""
    if not lowered.problems:
        assert refusals(lowered.schema, rules) == []
        again = lower(lowered.schema, rules)
        assert (again.schema, again.problems, again.undo) == (lowered.schema, (), None)


# ── judges of our own, apart from the code under test ────────────────────────


def problems_of(schema: Any, value: Any) -> list[str] | None:
    """What JSON Schema has against a value; `None` where the schema asks for itself of the same value, without end."""
    try:
        return [error.message for error in Draft202012Validator(schema).iter_errors(value)]
    except RecursionError:
        return None


def plain(schema: Any, *, closed: bool = False) -> Any:
    """JSON Schema for what is written in OpenAPI's words; `closed` where an object with properties has no others."""
    if isinstance(schema, list):
        return [plain(one, closed=closed) for one in schema]
    if not isinstance(schema, dict):
        return schema
    node = {}
    for key, value in schema.items():
        if key in ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas") and isinstance(
            value, dict
        ):
            node[key] = {name: plain(one, closed=closed) for name, one in value.items()}
        elif key in ("enum", "const", "default", "examples", "required", "dependentRequired"):
            node[key] = value
        else:
            node[key] = plain(value, closed=closed)
    if isinstance(node.get("type"), str):
        node["type"] = node["type"].lower()
    if closed and "properties" in node:
        node["additionalProperties"] = False
    if node.pop("nullable", False) is True:
        definitions = {key: node.pop(key) for key in ("$defs", "definitions") if key in node}
        return {**definitions, "anyOf": [node, {"type": "null"}]}
    return node


def instances(schema: Any, root: Any, depth: int) -> st.SearchStrategy[Any]:
    """Values that likely fit a schema; the caller checks."""
    if depth > 6 or not isinstance(schema, dict) or schema == {}:
        return VALUES
    if "$ref" in schema:
        node = root
        for part in schema["$ref"].split("/")[1:]:
            node = node[part]
        return instances(node, root, depth + 1)
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    choices = []
    for key in ("anyOf", "oneOf", "allOf"):
        if "type" not in schema and key in schema:
            choices += [instances(branch, root, depth + 1) for branch in schema[key]]
    if choices:
        return st.one_of(choices)
    kinds = schema.get("type", ["object", "string", "integer"])
    by_kind = {
        "string": st.text("ab1", min_size=min(schema.get("minLength", 0), 3), max_size=4),
        "integer": st.integers(-4, 4),
        "number": st.integers(-4, 4) | st.sampled_from([0.5, -1.5]),
        "boolean": st.booleans(),
        "null": st.none(),
        "array": lists(schema, root, depth),
        "object": mappings(schema, root, depth),
    }
    return st.one_of([by_kind[kind] for kind in (kinds if isinstance(kinds, list) else [kinds])])


def lists(schema: Any, root: Any, depth: int) -> st.SearchStrategy[Any]:
    items = instances(schema.get("items", {}), root, depth + 1)
    prefix = [instances(one, root, depth + 1) for one in schema.get("prefixItems", ())]
    first = min(schema.get("minItems", 0), 3)
    rest = st.lists(items, min_size=max(0, first - len(prefix)), max_size=max(3, first))
    return st.tuples(st.tuples(*prefix), rest).map(lambda pair: [*pair[0], *pair[1]])


def mappings(schema: Any, root: Any, depth: int) -> st.SearchStrategy[Any]:
    properties = schema.get("properties", {})
    required = [name for name in schema.get("required", ()) if name in properties]
    listed = st.fixed_dictionaries(
        {name: instances(properties[name], root, depth + 1) for name in required},
        optional={name: instances(one, root, depth + 1) for name, one in properties.items() if name not in required},
    )
    additional = schema.get("additionalProperties", True)
    if additional is False:
        return listed
    extra = instances(additional, root, depth + 1) if isinstance(additional, dict) else VALUES
    # Not by a name that was offered as another: a model is not told it, and validation would see to it.
    others = st.dictionaries(
        st.sampled_from(["c", "y", "z"]).filter(lambda name: name not in properties), extra, max_size=2
    )
    return st.tuples(listed, others).map(lambda pair: {**pair[1], **pair[0]})


STRICT_OPENAI_KEYWORDS = {
    *(
        "$schema",
        "$id",
        "$comment",
        "$defs",
        "definitions",
        "$ref",
        "title",
        "description",
    ),
    *(
        "default",
        "examples",
        "type",
        "enum",
        "const",
        "anyOf",
        "properties",
        "required",
    ),
    *(
        "additionalProperties",
        "items",
        "minItems",
        "maxItems",
        "pattern",
        "format",
        "minimum",
    ),
    *(
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    ),
}
STRICT_ANTHROPIC_KEYWORDS = {
    *(
        "$defs",
        "definitions",
        "$ref",
        "title",
        "description",
        "type",
        "enum",
        "const",
        "anyOf",
    ),
    *(
        "allOf",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "format",
    ),
}
GEMINI_KEYWORDS = {
    *(
        "$id",
        "$defs",
        "$ref",
        "$anchor",
        "title",
        "description",
        "default",
        "type",
        "enum",
        "anyOf",
    ),
    *(
        "oneOf",
        "properties",
        "required",
        "additionalProperties",
        "propertyOrdering",
        "items",
    ),
    *(
        "prefixItems",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "format",
    ),
}
GEMINI_SCHEMA_KEYWORDS = {
    *(
        "title",
        "description",
        "default",
        "example",
        "type",
        "nullable",
        "enum",
        "format",
        "anyOf",
    ),
    *(
        "properties",
        "required",
        "propertyOrdering",
        "minProperties",
        "maxProperties",
        "items",
    ),
    *(
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "pattern",
    ),
}
STANDARD = {
    *(
        "patternProperties",
        "propertyNames",
        "dependentRequired",
        "dependentSchemas",
        "not",
        "if",
    ),
    *(
        "then",
        "else",
        "contains",
        "uniqueItems",
        "prefixItems",
        "oneOf",
        "allOf",
        "minLength",
    ),
    *(
        "maxLength",
        "minProperties",
        "maxProperties",
        "unevaluatedItems",
        "unevaluatedProperties",
    ),
    *(
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "pattern",
        "const",
    ),
}


def refusals(schema: Any, rules: Rules) -> list[str]:
    """Why an API would refuse a schema: written from what the providers document and answered."""
    found: list[str] = []
    kind = "OBJECT" if rules is GEMINI_SCHEMA else "object"
    if schema.get("type") != kind:
        found.append("the root is no object")
    if schema.keys() & {"anyOf", "oneOf", "allOf", "enum", "not", "const", "$ref"}:
        found.append("the root is something else besides an object")
    if rules in (OPENAI, OPENAI_STRICT) and "properties" not in schema:
        found.append("the root has no properties")
    if rules in (OPENAI, ANTHROPIC):
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            found.append(f"no JSON Schema: {error.message}")
    _refusals_within(schema, schema, rules, found, levels=0)
    if rules is ANTHROPIC_STRICT and _is_recursive(schema):
        found.append("a definition holds itself")
    return found


def _refusals_within(node: Any, root: Any, rules: Rules, found: list[str], levels: int) -> None:
    if not isinstance(node, dict):
        found.append(f"no schema: {node!r}")
        return
    if "$ref" in node:
        _resolves(node["$ref"], root, found)
        if rules not in (OPENAI, ANTHROPIC) and len(node) > 1:
            found.append("something beside a reference")
    _JUDGES[rules.name](node, found)
    kinds = node.get("type")
    if "object" in (kinds if isinstance(kinds, list) else [kinds]):
        levels += 1
    if rules is OPENAI_STRICT and levels > 10:
        found.append("more than ten levels")
    if (
        rules in (OPENAI, OPENAI_STRICT, GEMINI_JSON, GEMINI_SCHEMA)
        and kinds in ("array", "ARRAY")
        and "items" not in node
    ):
        found.append("an array without items")
    for key in ("properties", "$defs", "definitions"):
        for child in node.get(key, {}).values():
            _refusals_within(child, root, rules, found, 0 if key != "properties" else levels)
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for child in node.get(key, ()):
            _refusals_within(child, root, rules, found, levels)
    if "items" in node:
        _refusals_within(node["items"], root, rules, found, levels)


def _resolves(reference: str, root: Any, found: list[str]) -> None:
    node = root
    parts = reference.split("/")
    if parts[0] != "#" or len(parts) != 3 or parts[1] not in ("$defs", "definitions"):
        found.append(f"a reference to {reference}")
        return
    for part in parts[1:]:
        node = node.get(part, {}) if isinstance(node, dict) else {}
        if node == {} and part == parts[1]:
            found.append(f"{reference} leads nowhere")


def _is_recursive(root: Any) -> bool:
    def reaches(node: Any, seen: tuple[str, ...]) -> bool:
        if isinstance(node, list):
            return any(reaches(one, seen) for one in node)
        if not isinstance(node, dict):
            return False
        reference = node.get("$ref")
        if isinstance(reference, str):
            _, container, name = reference.split("/")
            return reference in seen or reaches(root[container][name], (*seen, reference))
        return any(
            reaches(one, seen) for key, one in node.items() if key not in ("enum", "const", "default", "required")
        )

    return reaches(root, ())


def _kind(value: Any) -> str:
    names = {
        bool: "boolean",
        str: "string",
        int: "number",
        float: "number",
        list: "array",
        dict: "object",
        type(None): "null",
    }
    return names[type(value)]


def _anyone(node: Any, found: list[str]) -> None:
    pass


def _openai_strict(node: Any, found: list[str]) -> None:
    found += [f"keyword {key}" for key in node.keys() & (STANDARD - STRICT_OPENAI_KEYWORDS)]
    _closed(node, found)
    if "object" in (node.get("type") or ()) and set(node.get("required", ())) != set(node.get("properties", {})):
        found.append("not all properties are required")
    if not node.keys() & {"type", "anyOf", "$ref"}:
        found.append("no type")
    if {_kind(value) for value in node.get("enum", ())} & {"array", "object"}:
        found.append("an enum of lists or objects")
    if re.search(r"\(\?[=!<]", node.get("pattern", "")):
        found.append("a pattern that looks around")


def _anthropic(node: Any, found: list[str]) -> None:
    found += [f"name {name}" for name in node.get("properties", {}) if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name)]


def _anthropic_strict(node: Any, found: list[str]) -> None:
    _anthropic(node, found)
    found += [f"keyword {key}" for key in node.keys() - STRICT_ANTHROPIC_KEYWORDS]
    _closed(node, found)
    if node.get("minItems", 0) not in (0, 1):
        found.append("minItems")
    if not node.keys() & {"type", "anyOf", "allOf", "$ref", "const", "enum"}:
        found.append("no type")
    if isinstance(node.get("type"), list):
        found.append("several types")


def _closed(node: Any, found: list[str]) -> None:
    if "object" in (node.get("type") or ()) and node.get("additionalProperties") is not False:
        found.append("an open object")


def _gemini(node: Any, found: list[str]) -> None:
    found += [
        f"name {name}" for name in node.get("properties", {}) if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name)
    ]
    found += [f"keyword {key}" for key in node.keys() - GEMINI_KEYWORDS]
    found += [f"required {name}" for name in node.get("required", ()) if name not in node.get("properties", {})]
    if {_kind(value) for value in node.get("enum", ())} - {"string", "number"}:
        found.append("an enum of something else than strings and numbers")


def _gemini_schema(node: Any, found: list[str]) -> None:
    found += [
        f"name {name}" for name in node.get("properties", {}) if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name)
    ]
    found += [f"keyword {key}" for key in node.keys() - GEMINI_SCHEMA_KEYWORDS]
    found += [f"required {name}" for name in node.get("required", ()) if name not in node.get("properties", {})]
    if "type" not in node and "anyOf" not in node:
        found.append("no type")
    if "type" in node and node["type"] not in ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"):
        found.append(f"type {node['type']}")
    if "enum" in node and (node["type"] != "STRING" or not all(isinstance(value, str) for value in node["enum"])):
        found.append("an enum of something else than strings")


_JUDGES = {
    "OpenAI": _anyone,
    "OpenAI strict": _openai_strict,
    "Anthropic": _anthropic,
    "Anthropic strict": _anthropic_strict,
    "Gemini": _gemini,
    "Gemini Schema": _gemini_schema,
}


def test_the_judges_refuse_what_the_providers_refused() -> None:
    node: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}, "required": []}
    assert refusals(node, OPENAI_STRICT) == ["an open object", "not all properties are required"]
    assert refusals({"type": "string"}, ANTHROPIC) == ["the root is no object"]
    assert refusals({"type": "OBJECT", "properties": {"-A": {"type": "string"}}}, GEMINI_SCHEMA) == [
        "name -A",
        "type string",
    ]
    assert isinstance(lower(node, OPENAI_STRICT), Lowered)
