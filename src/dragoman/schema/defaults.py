"""Defaults of a JSON Schema, filled in where a value leaves them out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from .reader import problems_against


class Defaults:
    """Fills the `default` of each property that a value leaves out into it, at any depth.

    Properties in `allOf` and behind `$ref` count; those of alternatives (`anyOf`, `oneOf`, `if`) do not, since which of
    them is meant cannot be told. A default that does not fit its own schema, such as null for a text, is not filled in.
    """

    __slots__ = ("_fits", "_root")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._root = schema
        self._fits: dict[int, bool] = {}
        """Whether the default of a schema fits it, by the identity of that schema: the root keeps it alive."""

    def fill(self, value: Any) -> Any:
        """A value that fits the schema, with its defaults."""
        return self._filled(self._root, value, ())

    def has(self, name: str) -> bool:
        """Whether a property of the object itself has a default that is filled in."""
        return name in self._object(self._root, {}, ())

    def _filled(self, schema: Any, value: Any, inside: tuple[str, ...]) -> Any:
        """`inside` are the references that led to a default being filled in: one that holds itself ends there."""
        for node in self._nodes(schema):
            if isinstance(value, dict):
                value = self._object(node, value, inside)
            elif isinstance(value, list):
                value = self._array(node, value, inside)
        return value

    def _object(self, node: Mapping[str, Any], value: dict[str, Any], inside: tuple[str, ...]) -> dict[str, Any]:
        properties = node.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        result = dict(value)
        for name, schema in properties.items():
            if name in value:
                result[name] = self._filled(schema, value[name], inside)
                continue
            found = next((one for one in self._nodes(schema) if "default" in one), None)
            reference = str(schema.get("$ref", "")) if isinstance(schema, Mapping) else ""
            if found is None or (reference and reference in inside) or not self._is_fit(schema, found["default"]):
                continue
            within = (*inside, reference) if reference else inside
            result[name] = self._filled(schema, deepcopy(found["default"]), within)
        other = node.get("additionalProperties")
        for name in value.keys() - properties.keys() if isinstance(other, Mapping) else ():
            result[name] = self._filled(other, value[name], inside)
        return result

    def _array(self, node: Mapping[str, Any], value: list[Any], inside: tuple[str, ...]) -> list[Any]:
        first = node.get("prefixItems")
        first = first if isinstance(first, list) else []
        rest = node.get("items", {})
        return [
            self._filled(first[index] if index < len(first) else rest, item, inside) for index, item in enumerate(value)
        ]

    def _is_fit(self, schema: Mapping[str, Any], default: Any) -> bool:
        known = self._fits.get(id(schema))
        if known is None:
            definitions = {key: self._root[key] for key in ("$defs", "definitions") if key in self._root}
            known = self._fits[id(schema)] = not problems_against({**schema, **definitions}, default)
        return known

    def _nodes(self, schema: Any, seen: tuple[str, ...] = ()) -> Iterator[Mapping[str, Any]]:
        """A schema and all that hold with it: what it refers to, and the parts of its `allOf`."""
        if not isinstance(schema, Mapping):
            return
        yield schema
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in seen:
            yield from self._nodes(self._target(reference), (*seen, reference))
        parts = schema.get("allOf")
        for part in parts if isinstance(parts, list) else ():
            yield from self._nodes(part, seen)

    def _target(self, reference: str) -> Any:
        node: Any = self._root
        for step in reference.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            node = node.get(key) if isinstance(node, Mapping) else None
        return node if reference.startswith("#") else None
