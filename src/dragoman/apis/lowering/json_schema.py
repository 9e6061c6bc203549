"""One node of a schema in the words of JSON Schema 2020-12: older drafts, OpenAPI's `nullable`, slips of the pen."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Protocol

from dragoman.schema.values import among

from .words import ANNOTATIONS, ASSERTIONS, KINDS, NUMBER_KEYWORDS, UNSAID, kinds_of

Schema = dict[str, Any]


class Report(Protocol):
    """Takes note of a change."""

    def __call__(self, rule: str, message: str, *, lossy: bool = False) -> None: ...


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _is_schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_schema, value))


def _is_schema_map(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_schema, value.values()))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) != float("inf")
    )


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_anchor(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[A-Za-z_][-A-Za-z0-9._]*", value) is not None


_FORMS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("$schema", "$ref", "$dynamicRef", "$recursiveRef", "$comment"), _is_text),
    **dict.fromkeys(("$anchor", "$dynamicAnchor", "$recursiveAnchor"), _is_anchor),
    "$id": lambda value: isinstance(value, str) and "#" not in value[:-1],
    "$vocabulary": lambda value: isinstance(value, dict) and all(map(_is_flag, value.values())),
    **dict.fromkeys(("description", "title", "format", "pattern", "contentEncoding", "contentMediaType"), _is_text),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly", "uniqueItems"), _is_flag),
    **dict.fromkeys(("examples", "enum"), lambda value: isinstance(value, list)),
    **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"), _is_schema_map),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), _is_schemas),
    **dict.fromkeys(("items", "additionalProperties", "not", "if", "then", "else", "contains"), _is_schema),
    **dict.fromkeys(("propertyNames", "unevaluatedProperties", "unevaluatedItems", "contentSchema"), _is_schema),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count),
    **dict.fromkeys(("minContains", "maxContains"), _is_count),
    **dict.fromkeys(NUMBER_KEYWORDS, _is_number),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(("required", "propertyOrdering"), _is_names),
    "dependentRequired": lambda value: isinstance(value, dict) and all(map(_is_names, value.values())),
    "dependencies": lambda value: False,  # what could be said in newer words has been
}
"""All that the meta-schema of 2020-12 asks of a keyword, but for patterns: what they may say is the API's affair."""


def spelled(schema: Schema, report: Report, *, keep_nullable: bool, upper_case: bool) -> Schema:
    """A node whose keywords all have the form JSON Schema gives them; the same object when they had."""
    node = schema
    if isinstance(node.get("items"), list):
        node = _tuple(node)
        report("spelling", "a list of `items` is said as `prefixItems`")
    if _is_dependent(node):
        node = _dependent(node)
        report("spelling", "`dependencies` is said as `dependentRequired` and `dependentSchemas`")
    node = _referring(node, report)
    node = _bounds(node, report)
    node = _typed(node, report, upper_case=upper_case)
    malformed = [keyword for keyword, value in node.items() if keyword in _FORMS and not _FORMS[keyword](value)]
    if malformed:
        # An empty list of alternatives and a missing value alike: nothing is said by them.
        node = {keyword: value for keyword, value in node.items() if keyword not in malformed}
        lossy = not ANNOTATIONS.union(UNSAID).issuperset(malformed)
        report("malformed", f"left out: {', '.join(malformed)} (not of the form JSON Schema gives it)", lossy=lossy)
    node = _once(node, report)
    if "nullable" in node and not keep_nullable:
        node = _nullable(node)
        if not upper_case:
            report("null", "`nullable` is said by the type null")
    return node


def _referring(node: Schema, report: Report) -> Schema:
    """References that are resolved while a value is checked; one by a pointer means what `$ref` means."""
    found = [keyword for keyword in ("$dynamicRef", "$recursiveRef") if keyword in node]
    if not found:
        return node
    reference = node.get("$dynamicRef")
    node = {keyword: value for keyword, value in node.items() if keyword not in found}
    if found == ["$dynamicRef"] and "$ref" not in node and isinstance(reference, str) and reference.startswith("#/"):
        report("spelling", "`$dynamicRef` to a pointer is said as `$ref`")
        return {**node, "$ref": reference}
    report("reference", f"{found[0]} cannot be offered, so any value is taken", lossy=True)
    return node


def _tuple(node: Schema) -> Schema:
    node = {("prefixItems" if keyword == "items" else keyword): value for keyword, value in node.items()}
    if "additionalItems" in node:
        node["items"] = node.pop("additionalItems")
    if node["prefixItems"] == []:
        del node["prefixItems"]
    return node


def _is_dependent(node: Schema) -> bool:
    found = node.get("dependencies")
    newer = {"dependentRequired", "dependentSchemas"} & node.keys()
    return isinstance(found, dict) and not newer and all(_is_names(one) or _is_schema(one) for one in found.values())


def _dependent(node: Schema) -> Schema:
    """The dependencies of draft 7: names and schemas under one keyword."""
    node = dict(node)
    dependencies = node.pop("dependencies")
    for keyword, is_it in (("dependentRequired", _is_names), ("dependentSchemas", _is_schema)):
        if found := {name: one for name, one in dependencies.items() if is_it(one)}:
            node[keyword] = found
    return node


def _once(node: Schema, report: Report) -> Schema:
    """Lists of names in which none stands twice."""
    changed: Schema = {}
    if "required" in node:
        changed["required"] = list(dict.fromkeys(node["required"]))
    if "dependentRequired" in node:
        changed["dependentRequired"] = {
            name: list(dict.fromkeys(names)) for name, names in node["dependentRequired"].items()
        }
    if all(node[keyword] == value for keyword, value in changed.items()):
        return node
    report("spelling", "a name that is required twice is said once")
    return {**node, **changed}


def _bounds(node: Schema, report: Report) -> Schema:
    """The exclusive bounds of draft 4, which were true or false beside the bound."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(node.get(exclusive), bool):
            report("spelling", f"`{exclusive}` is said as a number")
            node = dict(node)
            if node.pop(exclusive) and bound in node:
                node[exclusive] = node.pop(bound)
    return node


def _typed(node: Schema, report: Report, *, upper_case: bool) -> Schema:
    if "type" not in node:
        return node
    stated = node["type"]
    kinds = stated if isinstance(stated, list) else [stated]
    lowered = [kind.lower() if isinstance(kind, str) else kind for kind in kinds]
    known = list(dict.fromkeys(kind for kind in lowered if isinstance(kind, str) and kind in KINDS))
    if known and known == kinds:
        return node
    if not kinds or any(kind not in KINDS for kind in lowered):
        report("malformed", "left out: a type that JSON does not have", lossy="any" not in lowered)
        if "any" in lowered or "type_unspecified" in lowered:
            known = []
    elif not upper_case or len(known) < len(kinds):
        report("spelling", "types are named once, in lower case")
    node = dict(node)
    if known:
        node["type"] = known if isinstance(stated, list) else known[0]
    else:
        del node["type"]
    return node


def _nullable(node: Schema) -> Schema:
    node = dict(node)
    return or_null(node, with_enum=True) if node.pop("nullable") is True else node


def or_null(node: Schema, *, with_enum: bool) -> Schema:
    """A schema that takes null too; `with_enum` when null may stand in an enum."""
    if "anyOf" in node and not ({"type", "enum", "const", "$ref", "allOf", "oneOf", "not", "if"} & node.keys()):
        if any(isinstance(branch, dict) and "null" in kinds_of(branch) for branch in node["anyOf"]):
            return node
        return {**node, "anyOf": [*node["anyOf"], {"type": "null"}]}
    kinds = kinds_of(node)
    plain = (
        kinds
        and not ({"object", "array"} & set(kinds))
        and not ({"const", "$ref", "allOf", "oneOf", "anyOf", "not", "if"} & node.keys())
    )
    if plain and ("enum" not in node or with_enum):
        nulled = {**node, "type": kinds if "null" in kinds else [*kinds, "null"]}
        if "enum" in node and not among(None, node["enum"]):
            nulled["enum"] = [*node["enum"], None]
        return nulled
    outer: Schema = {keyword: node[keyword] for keyword in node if keyword not in ASSERTIONS}
    inner = {keyword: value for keyword, value in node.items() if keyword not in outer}
    if not inner:
        return node
    return {**outer, "anyOf": [inner, {"type": "null"}]}
