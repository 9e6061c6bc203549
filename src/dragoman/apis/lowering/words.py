"""What JSON Schema's keywords are, and how those an API does not take are said to a model in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.schema.values import type_of

KINDS = ("string", "number", "integer", "boolean", "object", "array", "null")
ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$comment"}
)
"""Keywords that say something about a value and refuse none."""
UNSAID = frozenset(
    {
        *("$schema", "$id", "id", "$anchor", "$comment", "$vocabulary", "$dynamicAnchor", "$defs", "definitions"),
        *("readOnly", "writeOnly", "title", "propertyOrdering"),
    }
)
"""Keywords that are worth no words: whoever fills in a call gains nothing by them."""
OBJECT_KEYWORDS = frozenset(
    {
        *("properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"),
        *("maxProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties", "propertyOrdering"),
    }
)
ARRAY_KEYWORDS = frozenset(
    {
        *("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"),
        "unevaluatedItems",
    }
)
STRING_KEYWORDS = frozenset(
    {"minLength", "maxLength", "pattern", "contentEncoding", "contentMediaType", "contentSchema"}
)
NUMBER_KEYWORDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
ABOUT = {
    "object": OBJECT_KEYWORDS,
    "array": ARRAY_KEYWORDS,
    "string": STRING_KEYWORDS | {"format"},
    "number": NUMBER_KEYWORDS | {"format"},
    "integer": NUMBER_KEYWORDS | {"format"},
}
"""Keywords that say something of values of one type alone."""
ABOUT_ANY = frozenset[str]().union(*ABOUT.values())
_GENERAL = frozenset(
    {
        "type",
        "enum",
        "const",
        "format",
        "not",
        "if",
        "then",
        "else",
        "allOf",
        "anyOf",
        "oneOf",
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
    }
)
ASSERTIONS = OBJECT_KEYWORDS | ARRAY_KEYWORDS | STRING_KEYWORDS | NUMBER_KEYWORDS | _GENERAL
KNOWN = ASSERTIONS | ANNOTATIONS | UNSAID | {"$recursiveAnchor", "dependencies", "additionalItems"}

_LONGEST = 400

_SAID: dict[str, Callable[[Any], str]] = {
    "minLength": lambda value: f"at least {value} characters",
    "maxLength": lambda value: f"at most {value} characters",
    "pattern": lambda value: f"matches the regular expression {value}",
    "format": lambda value: f"in the format {value}",
    "minimum": lambda value: f"at least {text(value)}",
    "maximum": lambda value: f"at most {text(value)}",
    "exclusiveMinimum": lambda value: f"more than {text(value)}",
    "exclusiveMaximum": lambda value: f"less than {text(value)}",
    "multipleOf": lambda value: f"a multiple of {text(value)}",
    "minItems": lambda value: f"at least {value} items",
    "maxItems": lambda value: f"at most {value} items",
    "uniqueItems": lambda value: "no item twice" if value else "",
    "minProperties": lambda value: f"at least {value} properties",
    "maxProperties": lambda value: f"at most {value} properties",
    "const": lambda value: f"always {text(value)}",
    "default": lambda value: f"default: {text(value)}",
    "example": lambda value: f"for example {text(value)}",
    "examples": lambda value: (
        f"for example {' or '.join(map(text, value)) if isinstance(value, list) else text(value)}"
    ),
    "deprecated": lambda value: "deprecated" if value else "",
    "additionalProperties": lambda value: "" if isinstance(value, bool) else f"further properties: {text(value)}",
}


def in_words(keyword: str, value: Any) -> str:
    """A keyword as words for a model; empty when there is nothing to say."""
    if keyword in UNSAID:
        return ""
    words = _SAID[keyword](value) if keyword in _SAID else f"{keyword}: {text(value)}"
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


def text(value: Any) -> str:
    """A value as compact JSON."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return type(value).__name__


def described(node: dict[str, Any], words: list[str]) -> dict[str, Any]:
    """A schema whose description says more."""
    more = "; ".join(word for word in words if word)
    if not more:
        return node
    own = node.get("description")
    return {**node, "description": f"{own}\n({more})" if isinstance(own, str) and own else f"({more})"}


def is_of(value: Any, kind: str) -> bool:
    """Whether a JSON value is of a JSON type."""
    if kind == "integer":
        return (isinstance(value, int) and not isinstance(value, bool)) or (
            isinstance(value, float) and value.is_integer()
        )
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type_of(value) == kind


def kinds_of(node: dict[str, Any]) -> list[str]:
    """The types a schema names; none when it names none."""
    stated = node.get("type")
    kinds = stated if isinstance(stated, list) else [stated]
    return [kind for kind in kinds if isinstance(kind, str) and kind in KINDS]
