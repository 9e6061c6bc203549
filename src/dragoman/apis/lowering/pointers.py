"""Places in a schema: what a local `$ref` leads to, and whether a schema is small enough to be looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

MOST_VALUES = 50_000
"""JSON values in a schema, and nodes written for it: far beyond any tool, and done within a second."""
DEEPEST_VALUE = 200
DEEPEST_NODE = 60
"""Schemas within schemas; what is deeper is refused, before Python's own stack is."""

_CONTAINERS = ("$defs", "definitions")


def excess(schema: Any) -> str | None:
    """Why a schema is too large or too deep to be looked at, or `None`; itself bounded and without recursion."""
    waiting = [(schema, 0)]
    seen = 0
    while waiting:
        value, depth = waiting.pop()
        seen += 1
        if depth > DEEPEST_VALUE:
            return f"the schema is nested more than {DEEPEST_VALUE} values deep"
        children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if seen + len(waiting) + len(children) > MOST_VALUES:
            return f"the schema has more than {MOST_VALUES} values"
        waiting += [(child, depth + 1) for child in children]
    return None


def step(path: str, *parts: str | int) -> str:
    """A JSON pointer, further down."""
    return path + "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def target(root: Any, reference: str) -> tuple[Any] | None:
    """What a local reference leads to (in a tuple, for it may be false), or `None`."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    node = root
    for part in reference.split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isascii() and key.isdigit() and len(key) < 7 and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return (node,)


def leads_somewhere(root: Any, reference: str, known: Mapping[str, bool]) -> dict[str, bool]:
    """Whether a reference, and those it leads to in turn, arrive at a schema."""
    seen: dict[str, None] = {}
    arrives = False
    while reference not in seen:
        seen[reference] = None
        if reference in known:
            arrives = known[reference]
            break
        found = target(root, reference)
        if found is None or not isinstance(found[0], dict | bool):
            break
        following = found[0].get("$ref") if isinstance(found[0], dict) else None
        if not isinstance(following, str):
            arrives = True
            break
        reference = following
    return dict.fromkeys(seen, arrives)


def container(reference: str) -> tuple[str, str] | None:
    """The keyword and the name of a definition of the root, for a reference that leads to one."""
    parts = reference.split("/")
    if len(parts) == 3 and parts[0] == "#" and parts[1] in _CONTAINERS:
        return parts[1], unquote(parts[2]).replace("~1", "/").replace("~0", "~")
    return None
