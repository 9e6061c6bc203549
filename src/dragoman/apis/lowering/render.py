"""Last touches where an API wants one type to a schema; Gemini's `Schema` besides, the OpenAPI form."""

from __future__ import annotations

from typing import Any

from .words import ABOUT, ABOUT_ANY, is_of, kinds_of

Schema = dict[str, Any]


def of_one_type(schema: Schema) -> Schema:
    """A schema that says several types by alternatives."""
    node = _over_children(schema, of_one_type)
    kinds = kinds_of(node)
    if not isinstance(node.get("type"), list):
        return node
    if len(kinds) == 1:
        return {**node, "type": kinds[0]}
    branches = [
        {"type": kind, **{key: value for key, value in node.items() if key in ABOUT.get(kind, ())}} for kind in kinds
    ]
    if "enum" in node:
        listed = [[value for value in node["enum"] if is_of(value, kind)] for kind in kinds]
        branches = [
            branch if branch["type"] == "null" else {**branch, "enum": values}
            for branch, values in zip(branches, listed, strict=True)
            if values
        ]
    shared = {key: value for key, value in node.items() if key not in ABOUT_ANY and key not in ("type", "enum")}
    if "allOf" in shared:
        return {**shared, "allOf": [*shared["allOf"], {"anyOf": branches}]}
    return {**shared, "anyOf": branches}


def gemini_schema(schema: Schema) -> Schema:
    """A schema, already of one type each, in the spelling of Gemini's `Schema`: upper case, and `nullable`."""
    node = _over_children(schema, gemini_schema)
    branches = node.get("anyOf")
    if branches is not None:
        several = [branch for branch in branches if branch.get("type") != "NULL"]
        outer = {key: value for key, value in node.items() if key != "anyOf"}
        if len(several) < len(branches) and several:
            outer["nullable"] = True
        if not several:
            node = {**outer, "type": "null"}
        elif len(several) == 1:
            node = {**several[0], **outer}
        else:
            node = {**outer, "anyOf": several}
    return {**node, "type": node["type"].upper()} if "type" in node else node


def _over_children(schema: Schema, change: Any) -> Schema:
    node = dict(schema)
    for keyword in ("properties", "$defs", "definitions"):
        if keyword in node:
            node[keyword] = {name: change(child) for name, child in node[keyword].items()}
    for keyword in ("anyOf", "allOf"):
        if keyword in node:
            node[keyword] = [change(child) for child in node[keyword]]
    if isinstance(node.get("items"), dict):
        node["items"] = change(node["items"])
    return node
