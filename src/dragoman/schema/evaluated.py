"""Which properties and items of a value a schema has looked at; `unevaluatedProperties` is about the others.

Rule: only what fits counts, so an alternative that does not fit has looked at nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .checks import Check, Report, fits
from .ecma_patterns import compiled_pattern

Reached = Callable[[Any, Report], tuple[Any, str] | None]
"""What the reference of a schema leads to, with the resource it is in."""


class Evaluated:
    """Looks through one schema document. `checks` are its compiled schemas, by identity."""

    def __init__(self, checks: dict[int, Check], reached: Reached, draft: int) -> None:
        self._checks = checks
        self._reached = reached
        self._draft = draft

    def parts(self, schema: Any, value: Any, report: Report, *, but: str = "") -> set[Any]:
        """The names or places in a value that a schema has looked at, not counting its keyword `but`."""
        if not isinstance(schema, dict):
            return set()
        report.step()
        found = set(self._own(schema, value, report, but))
        for child in self._in_place(schema, value, report):
            found |= self.parts(child, value, report)
        if (reached := self._reached(schema, report)) is not None:
            target, resource = reached
            with report.inside(resource):
                found |= self.parts(target, value, report)
        return found

    def _fits(self, schema: Any, value: Any, report: Report) -> bool:
        return schema if isinstance(schema, bool) else fits(self._checks[id(schema)], value, report)

    def _own(self, schema: dict[str, Any], value: Any, report: Report, but: str) -> Iterator[Any]:
        if isinstance(value, dict):
            if {"additionalProperties", "unevaluatedProperties"} & schema.keys() - {but}:
                yield from value
            yield from schema.get("properties", {}).keys() & value.keys()
            for pattern in map(compiled_pattern, schema.get("patternProperties", ())):
                yield from filter(pattern.search, value)
        elif isinstance(value, list):
            listed = isinstance(schema.get("items"), list)
            rest = {"unevaluatedItems", "additionalItems" if listed else "items"} - {but}
            first = len(schema["items"]) if listed else len(schema.get("prefixItems", ()))
            yield from range(len(value) if rest & schema.keys() else min(first, len(value)))
            if "contains" in schema and self._draft != 2019:
                yield from (at for at, item in enumerate(value) if self._fits(schema["contains"], item, report))

    def _in_place(self, schema: dict[str, Any], value: Any, report: Report) -> Iterator[Any]:
        """Schemas that hold for the same value, and that it fits."""
        yield from schema.get("allOf", ())
        for keyword in ("anyOf", "oneOf"):
            yield from (child for child in schema.get(keyword, ()) if self._fits(child, value, report))
        if "if" in schema:
            applies = self._fits(schema["if"], value, report)
            yield from (schema["if"], schema.get("then")) if applies else (schema.get("else"),)
        for keyword in ("dependentSchemas", "dependencies"):
            if isinstance(value, dict):
                yield from (child for name, child in schema.get(keyword, {}).items() if name in value)
