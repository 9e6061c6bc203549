"""A JSON Schema turned into one check, and what is wrong with the schema itself.

Covers the keywords met in tool schemas; others are kept and not checked, `format` among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.errors import PatternError, nearest
from dragoman.patterns import Pattern, compiled

from .checks import (
    BOUNDS,
    KINDS,
    Check,
    ObjectCheck,
    Schema,
    any_of,
    anything,
    condition,
    in_turn,
    kind_check,
    leaf_check,
    list_check,
    not_,
    nothing,
    number_check,
    one_of,
    referred,
    text_check,
    values_check,
)
from .values import among, shown


class Compiler:
    """Compiles one schema. `problems` are those of the schema itself, each with a JSON pointer.

    `leaves` (from a walk over types) are the parts that a Python type alone decides.
    """

    def __init__(self, root: Schema, leaves: Mapping[int, tuple[Schema, Any]] | None = None) -> None:
        self.root = root
        self.problems: list[str] = []
        self._leaves = leaves or {}
        self._typed = leaves is not None
        self._references: dict[str, Check] = {}

    def compile(self, schema: Any, pointer: str = "#") -> Check:
        if schema is True:
            return anything
        if schema is False:
            return nothing
        if not isinstance(schema, dict):
            self._wrong(pointer, "a schema is an object, true or false")
            return anything
        if (leaf := self._leaves.get(id(schema))) is not None:
            return leaf_check(leaf[1])
        kinds = self._kinds(schema, pointer)
        makers = (
            self._reference,
            self._values,
            self._text,
            self._number,
            self._list,
            self._object,
            self._all_of,
            self._any_of,
            self._one_of,
            self._not,
            self._condition,
        )
        steps = [step for make in makers if (step := make(schema, pointer)) is not None]
        return kind_check(kinds, steps) if kinds else in_turn(steps)

    def _wrong(self, pointer: str, text: str) -> None:
        self.problems.append(f"{pointer}: {text}")

    # ── keywords' values ─────────────────────────────────────────────────────

    def _get(self, schema: Schema, keyword: str, kind: type | tuple[type, ...], pointer: str, expected: str) -> Any:
        """A keyword's value if it is there and of its kind; if it is there and is not, a problem."""
        value = schema.get(keyword)
        if value is None:
            return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self._wrong(f"{pointer}/{keyword}", f"must be {expected}, not {shown(value)}")
            return None
        return value

    def _count(self, schema: Schema, keyword: str, pointer: str) -> int | None:
        value: int | None = self._get(schema, keyword, int, pointer, "a whole number from 0")
        if value is not None and value < 0:
            self._wrong(f"{pointer}/{keyword}", f"must be a whole number from 0, not {value}")
            return None
        return value

    def _names(self, schema: Schema, keyword: str, pointer: str) -> tuple[str, ...]:
        names = self._get(schema, keyword, list, pointer, "a list of names") or []
        if not all(isinstance(name, str) for name in names):
            self._wrong(f"{pointer}/{keyword}", f"must be a list of names, not {shown(names)}")
            return ()
        return tuple(names)

    def _pattern(self, text: str, pointer: str) -> Pattern | None:
        try:
            return compiled(text)
        except PatternError as error:
            self._wrong(pointer, str(error))
            return None

    def _child(self, schema: Schema, keyword: str, pointer: str) -> Check | None:
        return self.compile(schema[keyword], f"{pointer}/{keyword}") if keyword in schema else None

    def _children(self, schema: Schema, keyword: str, pointer: str) -> list[Check]:
        children = self._get(schema, keyword, list, pointer, "a list of schemas") or []
        return [self.compile(child, f"{pointer}/{keyword}/{index}") for index, child in enumerate(children)]

    def _alternatives(self, schema: Schema, keyword: str, pointer: str) -> list[Check]:
        if schema.get(keyword) == []:
            self._wrong(f"{pointer}/{keyword}", "has no alternatives; list at least one schema")
        return self._children(schema, keyword, pointer)

    def _named_children(self, schema: Schema, keyword: str, pointer: str) -> dict[str, Check]:
        children = self._get(schema, keyword, dict, pointer, "an object of schemas") or {}
        return {name: self.compile(child, f"{pointer}/{keyword}/{name}") for name, child in children.items()}

    def _kinds(self, schema: Schema, pointer: str) -> tuple[str, ...]:
        stated = schema.get("type")
        kinds = stated if isinstance(stated, list) else [] if stated is None else [stated]
        known = tuple(kind for kind in kinds if isinstance(kind, str) and kind in KINDS)
        for kind in kinds:
            if kind not in known:
                self._wrong(f"{pointer}/type", f"{shown(kind)} is not a JSON type.{nearest(str(kind), KINDS)}")
        return known

    # ── references ───────────────────────────────────────────────────────────

    def _reference(self, schema: Schema, pointer: str) -> Check | None:
        reference = self._get(schema, "$ref", str, pointer, "a string")
        if reference is None:
            return None
        references = self._references
        if reference not in references:
            target = self._target(reference)
            if target is None:
                self._wrong(f"{pointer}/$ref", f"{shown(reference)} leads nowhere in this schema")
                return None
            if self._is_circular(reference):
                self._wrong(f"{pointer}/$ref", f"{shown(reference)} leads only to itself")
                return None
            # Entered before it is compiled, so that a schema may refer to itself.
            references[reference] = anything
            references[reference] = self.compile(target[0], reference)
        return lambda value, path, report: referred(references[reference], value, path, report)

    def _target(self, reference: str) -> tuple[Any] | None:
        """What a local reference leads to (in a tuple, for it may be false)."""
        if reference != "#" and not reference.startswith("#/"):
            return None
        node: Any = self.root
        for part in reference.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and key in node:
                node = node[key]
            elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
                node = node[int(key)]
            else:
                return None
        return (node,)

    def _is_circular(self, reference: str) -> bool:
        seen: set[str] = set()
        while reference not in seen:
            seen.add(reference)
            node = (self._target(reference) or (None,))[0]
            following = node.get("$ref") if isinstance(node, dict) else None
            if not isinstance(following, str):
                return False
            reference = following
        return True

    def _resolved(self, branches: list[Any]) -> list[Schema]:
        """The branches of a union after references: what the words of an error are chosen by."""
        resolved = []
        for branch in branches:
            seen: set[str] = set()
            node = branch
            while isinstance(node, dict) and isinstance(node.get("$ref"), str) and node["$ref"] not in seen:
                seen.add(node["$ref"])
                node = (self._target(node["$ref"]) or ({},))[0]
            resolved.append(node if isinstance(node, dict) else {})
        return resolved

    # ── keywords ─────────────────────────────────────────────────────────────

    def _values(self, schema: Schema, pointer: str) -> Check | None:
        values = self._get(schema, "enum", list, pointer, "a list of values")
        if "const" in schema:
            values = [schema["const"]] if values is None or among(schema["const"], values) else []
        return None if values is None else values_check(values)

    def _text(self, schema: Schema, pointer: str) -> Check | None:
        least, most = self._count(schema, "minLength", pointer), self._count(schema, "maxLength", pointer)
        text = self._get(schema, "pattern", str, pointer, "a regular expression")
        pattern = None if text is None else self._pattern(text, f"{pointer}/pattern")
        if least is None and most is None and pattern is None:
            return None
        return text_check(least, most, pattern)

    def _number(self, schema: Schema, pointer: str) -> Check | None:
        found = {keyword: self._get(schema, keyword, (int, float), pointer, "a number") for keyword in BOUNDS}
        bounds = {keyword: bound for keyword, bound in found.items() if bound is not None}
        if bounds.get("multipleOf", 1) <= 0:
            self._wrong(f"{pointer}/multipleOf", f"must be more than 0, not {bounds.pop('multipleOf')}")
        return number_check(bounds) if bounds else None

    def _list(self, schema: Schema, pointer: str) -> Check | None:
        if isinstance(schema.get("items"), list):
            self._wrong(f"{pointer}/items", "is a list, as in older drafts; write it as prefixItems")
            return None
        first = self._children(schema, "prefixItems", pointer)
        rest = self._child(schema, "items", pointer)
        least, most = self._count(schema, "minItems", pointer), self._count(schema, "maxItems", pointer)
        unique = self._get(schema, "uniqueItems", bool, pointer, "true or false") or False
        if not first and rest is None and least is None and most is None and not unique:
            return None
        # A Python set takes the same item twice, so for a typed reader this is advice to the model only.
        return list_check(first, rest or anything, least, most, unique=unique and not self._typed)

    def _object(self, schema: Schema, pointer: str) -> Check | None:
        keywords = ("properties", "patternProperties", "additionalProperties", "propertyNames")
        sizes = ("required", "dependentRequired", "minProperties", "maxProperties")
        if not any(keyword in schema for keyword in (*keywords, *sizes)):
            return None
        properties = self._named_children(schema, "properties", pointer)
        dependent = self._get(schema, "dependentRequired", dict, pointer, "an object of lists of names") or {}
        return ObjectCheck(
            properties=properties,
            defaults={
                name: schema["properties"][name]["default"]
                for name in properties
                if isinstance(schema["properties"][name], dict) and "default" in schema["properties"][name]
            },
            patterns=[
                (pattern, child)
                for text, child in self._named_children(schema, "patternProperties", pointer).items()
                if (pattern := self._pattern(text, f"{pointer}/patternProperties")) is not None
            ],
            additional=self._child(schema, "additionalProperties", pointer),
            closed=schema.get("additionalProperties") is False,
            names=self._child(schema, "propertyNames", pointer),
            required=self._names(schema, "required", pointer),
            dependent={name: self._names(dependent, name, f"{pointer}/dependentRequired") for name in dependent},
            least=self._count(schema, "minProperties", pointer),
            most=self._count(schema, "maxProperties", pointer),
        )

    def _all_of(self, schema: Schema, pointer: str) -> Check | None:
        checks = self._children(schema, "allOf", pointer)
        return in_turn(checks) if checks else None

    def _any_of(self, schema: Schema, pointer: str) -> Check | None:
        checks = self._alternatives(schema, "anyOf", pointer)
        return any_of(checks, self._resolved(schema["anyOf"])) if checks else None

    def _one_of(self, schema: Schema, pointer: str) -> Check | None:
        checks = self._alternatives(schema, "oneOf", pointer)
        return one_of(checks, self._resolved(schema["oneOf"])) if checks else None

    def _not(self, schema: Schema, pointer: str) -> Check | None:
        unwanted = self._child(schema, "not", pointer)
        return None if unwanted is None else not_(unwanted)

    def _condition(self, schema: Schema, pointer: str) -> Check | None:
        tested = self._child(schema, "if", pointer)
        then = self._child(schema, "then", pointer) or anything
        otherwise = self._child(schema, "else", pointer) or anything
        return None if tested is None else condition(tested, then, otherwise)
