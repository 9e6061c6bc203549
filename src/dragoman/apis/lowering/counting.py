"""What is counted over a lowered schema, and whether a definition of it holds itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .pointers import step
from .words import kinds_of

Schema = dict[str, Any]


def recursive(root: Schema) -> str | None:
    """A definition that holds itself."""
    holds = {
        step("#", keyword, name): _references(schema)
        for keyword in ("$defs", "definitions")
        for name, schema in root.get(keyword, {}).items()
    }
    finished: set[str] = set()
    for start in holds:
        around: dict[str, Iterator[str]] = {start: iter(holds[start])} if start not in finished else {}
        while around:
            innermost = next(reversed(around))
            following = next(around[innermost], None)
            if following is None:
                finished.add(innermost)
                del around[innermost]
            elif following in around:
                return following
            elif following not in finished:
                around[following] = iter(holds.get(following, ()))
    return None


def _references(schema: Any) -> list[str]:
    found = []
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                found.append(value["$ref"])
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return found


def counted(schema: Schema) -> dict[str, int]:
    found = {"depth": 0, "properties": 0, "enum_values": 0, "characters": 0}
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    while waiting:
        node, depth = waiting.pop()
        if not isinstance(node, dict):
            continue
        depth += "object" in kinds_of(node)
        found["depth"] = max(found["depth"], depth)
        properties = node.get("properties", {})
        found["properties"] += len(properties)
        listed = [*node.get("enum", ()), *([node["const"]] if "const" in node else ())]
        found["enum_values"] += len(node.get("enum", ()))
        found["characters"] += sum(map(len, properties)) + sum(len(value) for value in listed if isinstance(value, str))
        for keyword in ("$defs", "definitions"):
            found["characters"] += sum(map(len, node.get(keyword, {})))
            waiting += [(child, 0) for child in node.get(keyword, {}).values()]
        children = [*properties.values(), node.get("items"), node.get("additionalProperties")]
        for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
            children += node.get(keyword, ())
        waiting += [(child, depth) for child in children]
    return found
