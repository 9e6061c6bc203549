"""What each API accepts of JSON Schema, as data.

Sources: the providers' pages on structured outputs and function calling, their SDKs' own transformations,
and recorded requests with their answers; where these differ, what was answered counts.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What one API accepts. `None` for a set or a number is "no bound known"."""

    name: str
    keywords: frozenset[str] | None = None
    """Known keywords that may stand in a schema; the others are moved into its description."""
    unknown_keywords: bool = True
    """Whether keywords that JSON Schema does not define (`x-…`, `strict`) may stay."""
    references: Literal["definitions", "none"] = "definitions"
    """Local `$ref`s: to definitions of the root, or written out."""
    reference_siblings: bool = True
    recursion: bool = True
    type_lists: bool = True
    """Whether a schema may name several types; if not, they are alternatives."""
    enum_types: frozenset[str] | None = None
    """JSON types an enum may list; values of other types are offered as text."""
    formats: frozenset[str] | None = None
    look_around: bool = True
    """Whether a pattern may look ahead or behind."""
    min_items: frozenset[int] | None = None
    """The values of `minItems` that are taken."""
    untyped: Literal["keep", "alternatives", "refuse"] = "keep"
    """A schema that takes any value: kept, written out as alternatives, or refused."""
    typed_values: bool = False
    """Whether an enum or a constant must name its type besides."""
    objects: Literal["as_written", "closed", "always_closed"] = "as_written"
    """`closed`: each object must say `additionalProperties: false`; `always_closed`: it cannot say anything else."""
    all_required: bool = False
    """Every property is required; an optional one takes null instead."""
    declared_required: bool = False
    """Only declared properties may be required."""
    array_items: bool = False
    """An array must say what its items are."""
    root_properties: bool = False
    """The root must have `properties`, if empty."""
    omit_empty: bool = False
    """A tool without parameters is sent without a schema."""
    upper_case_types: bool = False
    """Types in upper case, and null by `nullable: true`: the OpenAPI form."""
    parameter_name_pattern: str | None = None
    parameter_name_length: int | None = None
    depth: int | None = None
    properties: int | None = None
    enum_values: int | None = None
    characters: int | None = None
    """Names, definitions' names, enum and const values together."""


_STRING_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)  # OpenAI's guide on structured outputs; Anthropic's page has `uri` besides

OPENAI = Rules(name="OpenAI", array_items=True, root_properties=True)

OPENAI_STRICT = Rules(
    name="OpenAI strict",
    keywords=frozenset(
        {
            *(
                "$schema",
                "$defs",
                "definitions",
                "$ref",
                "$id",
                "$comment",
                "title",
                "description",
                "default",
                "examples",
            ),
            *("type", "enum", "const", "anyOf", "properties", "required", "additionalProperties", "items"),
            *("minItems", "maxItems", "pattern", "format"),
            *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        }
    ),
    reference_siblings=False,
    enum_types=frozenset({"string", "number", "integer", "boolean", "null"}),
    formats=_STRING_FORMATS,
    look_around=False,
    untyped="refuse",
    typed_values=True,
    objects="closed",
    all_required=True,
    declared_required=True,
    array_items=True,
    root_properties=True,
    depth=10,
    properties=5000,
    enum_values=1000,
    characters=120_000,
)

_ANTHROPIC_NAMES = r"[a-zA-Z0-9_.-]{1,64}"  # the API's message when a property's name is something else

ANTHROPIC = Rules(name="Anthropic", parameter_name_pattern=_ANTHROPIC_NAMES, parameter_name_length=64)

ANTHROPIC_STRICT = Rules(
    name="Anthropic strict",
    keywords=frozenset(
        {
            *("$defs", "definitions", "$ref", "title", "description"),
            *("type", "enum", "const", "anyOf", "allOf", "properties", "required", "additionalProperties", "items"),
            *("minItems", "format"),
        }
    ),
    unknown_keywords=False,
    reference_siblings=False,
    recursion=False,
    type_lists=False,
    enum_types=frozenset({"string", "number", "integer", "boolean", "null"}),
    formats=_STRING_FORMATS | {"uri"},
    min_items=frozenset({0, 1}),
    untyped="refuse",
    objects="closed",
    declared_required=True,
    array_items=True,
    parameter_name_pattern=_ANTHROPIC_NAMES,
    parameter_name_length=64,
)

_GEMINI_NAMES = r"[A-Za-z_][A-Za-z0-9_]*"

GEMINI_JSON = Rules(
    name="Gemini",
    keywords=frozenset(
        {
            *("$id", "$defs", "$ref", "$anchor", "title", "description", "default"),
            *("type", "enum", "anyOf", "oneOf", "properties", "required", "additionalProperties", "propertyOrdering"),
            *("items", "prefixItems", "minItems", "maxItems", "minimum", "maximum", "format"),
        }
    ),
    unknown_keywords=False,
    reference_siblings=False,
    enum_types=frozenset({"string", "number", "integer"}),
    formats=frozenset({"date-time", "date", "time", "int32", "int64", "float", "double"}),
    declared_required=True,
    array_items=True,
    omit_empty=True,
    parameter_name_pattern=_GEMINI_NAMES,
    parameter_name_length=64,
)

GEMINI_SCHEMA = Rules(
    name="Gemini Schema",
    keywords=frozenset(
        {
            *("title", "description", "default", "example", "type", "nullable", "enum", "format", "anyOf"),
            *("properties", "required", "propertyOrdering", "minProperties", "maxProperties"),
            *("items", "minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength", "pattern"),
        }
    ),
    unknown_keywords=False,
    references="none",
    recursion=False,
    type_lists=False,
    enum_types=frozenset({"string"}),
    formats=frozenset({"enum", "date-time", "int32", "int64", "float", "double"}),
    untyped="alternatives",
    typed_values=True,
    objects="always_closed",
    declared_required=True,
    array_items=True,
    omit_empty=True,
    upper_case_types=True,
    parameter_name_pattern=_GEMINI_NAMES,
    parameter_name_length=64,
)
