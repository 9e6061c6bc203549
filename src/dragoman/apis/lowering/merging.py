"""Two schemas as one that both hold for, and whether two schemas can hold for one value.

Rule: a merge says whether it is exact; what is not is still a schema, but not one that means the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dragoman.schema.values import among, same

from .words import ANNOTATIONS, KINDS, OBJECT_KEYWORDS, is_of, kinds_of

Schema = dict[str, Any]

_TIGHTER: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
_TOGETHER = (
    frozenset({"if", "then", "else"}),
    frozenset({"contains", "minContains", "maxContains"}),
    frozenset({"prefixItems", "items"}),
    frozenset({"unevaluatedProperties"}),
    frozenset({"unevaluatedItems"}),
)
"""Keywords that are read together."""
_MOST_COMPARISONS = 1_000_000
IMPOSSIBLE: Schema = {"not": {}}


def is_impossible(schema: Any) -> bool:
    """Whether a schema plainly holds for nothing."""
    return schema is False or (
        isinstance(schema, dict) and (schema.get("not") in ({}, True) or schema.get("enum") == [])
    )


def both(one: Any, other: Any) -> Any:
    """A schema that both hold for, merged only when it is looked at."""
    if one is True or one == {}:
        return other
    if other is True or other == {}:
        return one
    if is_impossible(one) or is_impossible(other):
        return False
    return one if one == other else {"allOf": [one, other]}


_IN_PLACE = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"})


def said_of_the_rest(schema: Schema) -> Schema:
    """A schema with what is unevaluated said of what is additional, where the two are the same."""
    if _IN_PLACE & schema.keys() or not ({"unevaluatedProperties", "unevaluatedItems"} & schema.keys()):
        return schema
    schema = dict(schema)
    if "unevaluatedProperties" in schema:
        schema.setdefault("additionalProperties", schema.pop("unevaluatedProperties"))
    if "unevaluatedItems" in schema and "contains" not in schema:
        schema.setdefault("items", schema.pop("unevaluatedItems"))
    return schema


def merged(one: Schema, other: Schema) -> tuple[Schema, list[str]]:
    """One schema for two, and the keywords of the second that had to be left out for it."""
    left_out: list[str] = []
    result = dict(one)
    if OBJECT_KEYWORDS & one.keys() and OBJECT_KEYWORDS & other.keys():
        _merge_objects(result, one, other, left_out)
    apart = _not_combined(one, other)
    for keyword, value in other.items():
        if keyword in apart:
            left_out.append(keyword)
        elif keyword not in one:
            result.setdefault(keyword, value)
        elif keyword not in ("properties", "required", "additionalProperties") and not same(one[keyword], value):
            _merge_keyword(result, keyword, value, left_out)
    if result.get("type") == []:
        return dict(IMPOSSIBLE), left_out
    return result, left_out


def _not_combined(one: Schema, other: Schema) -> frozenset[str]:
    """Keywords of the second that would mean something else beside those of the first."""
    apart: frozenset[str] = frozenset()
    for group in _TOGETHER:
        mine, theirs = group & one.keys(), group & other.keys()
        if mine and theirs and not all(keyword in one and same(one[keyword], other[keyword]) for keyword in theirs):
            apart |= theirs
    if "prefixItems" not in one and "prefixItems" not in other:
        apart -= {"items"}
    return apart


def _merge_keyword(result: Schema, keyword: str, value: Any, left_out: list[str]) -> None:
    own = result[keyword]
    if keyword == "type":
        kinds = _common(kinds_of({"type": own}), kinds_of({"type": value}))
        result["type"] = kinds[0] if len(kinds) == 1 else kinds
    elif keyword == "enum" and len(own) * len(value) > _MOST_COMPARISONS:
        left_out.append(keyword)
    elif keyword == "enum":
        result["enum"] = [item for item in own if among(item, value)]
    elif keyword == "const":
        result["enum"] = []
    elif keyword in _TIGHTER:
        result[keyword] = _TIGHTER[keyword](own, value)
    elif keyword == "uniqueItems":
        result[keyword] = True
    elif keyword == "items":
        result[keyword] = both(own, value)
    elif keyword == "allOf":
        result[keyword] = [*own, *value]
    elif keyword == "description":
        if value not in own:
            result[keyword] = value if own in value else f"{own}\n{value}"
    elif keyword not in ANNOTATIONS and not keyword.startswith(("$", "x-")):
        left_out.append(keyword)


def _merge_objects(result: Schema, one: Schema, other: Schema, left_out: list[str]) -> None:
    first, second = one.get("properties", {}), other.get("properties", {})
    rest_of_first, rest_of_second = one.get("additionalProperties", True), other.get("additionalProperties", True)
    properties = {}
    for name in [*first, *(name for name in second if name not in first)]:
        schema = both(first.get(name, rest_of_first), second.get(name, rest_of_second))
        # A name that one of them refuses may be left out only where the other names are refused too.
        if not (schema is False and (rest_of_first is False or rest_of_second is False)):
            properties[name] = schema
    if properties or first or second:
        result["properties"] = properties
    if "required" in one or "required" in other:
        result["required"] = list(dict.fromkeys([*one.get("required", []), *other.get("required", [])]))
    if "additionalProperties" in one or "additionalProperties" in other:
        result["additionalProperties"] = both(rest_of_first, rest_of_second)
        if "patternProperties" in one or "patternProperties" in other:
            left_out.append("patternProperties")


def _common(some: list[str], others: list[str]) -> list[str]:
    wider = {"integer": "number"}
    return [kind for kind in some if kind in others or wider.get(kind) in others] + [
        kind for kind in others if kind not in some and wider.get(kind) in some
    ]


def disjoint(one: Any, other: Any) -> bool:
    """Whether it is plain that no value fits both schemas: by type, by value, or by a tag that both require."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return one is False or other is False
    if not _common(_possible(one), _possible(other)):
        return True
    if (some := _listed(one)) is not None and (others := _listed(other)) is not None:
        return not any(among(value, others) for value in some)
    return "object" in kinds_of(one) and "object" in kinds_of(other) and _tagged_apart(one, other)


def _tagged_apart(one: Schema, other: Schema) -> bool:
    if kinds_of(one) != ["object"] or kinds_of(other) != ["object"]:
        return False
    first, second = one.get("properties"), other.get("properties")
    if not isinstance(first, dict) or not isinstance(second, dict):
        return False
    for name in first:
        if name in second and name in one.get("required", ()) and name in other.get("required", ()):
            some, others = _listed(first[name]), _listed(second[name])
            if some is not None and others is not None and not any(among(value, others) for value in some):
                return True
    return False


def _possible(schema: Schema) -> list[str]:
    values = _listed(schema)
    kinds = kinds_of(schema) or list(KINDS)
    return kinds if values is None else [kind for kind in kinds if any(is_of(value, kind) for value in values)]


def _listed(schema: Any) -> list[Any] | None:
    if not isinstance(schema, dict):
        return None
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None
