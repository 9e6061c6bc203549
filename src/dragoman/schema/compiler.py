"""A JSON Schema turned into one check, and what is wrong with the schema itself.

Covers JSON Schema 2020-12 and draft 7 whole. Rule: what cannot be checked is a problem of the schema: a reference that
leads out of it, an unknown draft. As the standard has it, `format`, the `content…` keywords and unknown ones
describe a value and refuse none.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from dragoman.errors import PatternError, nearest
from dragoman.patterns import Pattern

from .checks import (
    BOUNDS,
    KINDS,
    Check,
    ObjectCheck,
    Report,
    Schema,
    any_of,
    anything,
    condition,
    contains_check,
    dependent_check,
    entered,
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
    unevaluated_check,
    values_check,
)
from .ecma_patterns import compiled_pattern
from .evaluated import Evaluated
from .references import DRAFTS, References, draft_of
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
        self._checks: dict[int, Check] = {}
        draft = draft_of(root)
        if draft is None:
            known = ", ".join(sorted({name for name in DRAFTS if "2020" in name or "draft-07" in name}, reverse=True))
            self._wrong("#/$schema", f"{shown(root['$schema'])} is not known; use one of {known}")
        self._draft = draft or 0

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
        self._checks[id(schema)] = check = self._compiled(schema, pointer)
        return check

    def _compiled(self, schema: Schema, pointer: str) -> Check:
        if self._draft == 7 and "$ref" in schema:
            return self._reference(schema, pointer) or anything  # Up to draft 7 it stands alone.
        self._identified(schema, pointer)
        kinds = self._kinds(schema, pointer)
        makers = (
            self._reference,
            self._dynamic_reference,
            self._values,
            self._text,
            self._number,
            self._list,
            self._contains,
            self._object,
            self._all_of,
            self._any_of,
            self._one_of,
            self._not,
            self._condition,
            self._dependent,
            self._unevaluated_properties,
            self._unevaluated_items,
        )
        steps = [step for make in makers if (step := make(schema, pointer)) is not None]
        check = kind_check(kinds, steps) if kinds else in_turn(steps)
        return self._entered(check, self._references.base_of(schema)) if "$id" in schema else check

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
        value: float | None = self._get(schema, keyword, (int, float), pointer, "a whole number from 0")
        if value is not None and (value < 0 or value != int(value)):
            self._wrong(f"{pointer}/{keyword}", f"must be a whole number from 0, not {value}")
            return None
        return None if value is None else int(value)

    def _names(self, schema: Schema, keyword: str, pointer: str) -> tuple[str, ...]:
        names = self._get(schema, keyword, list, pointer, "a list of names") or []
        if not all(isinstance(name, str) for name in names):
            self._wrong(f"{pointer}/{keyword}", f"must be a list of names, not {shown(names)}")
            return ()
        return tuple(names)

    def _pattern(self, text: str, pointer: str) -> Pattern | None:
        try:
            return compiled_pattern(text)
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

    @cached_property
    def _references(self) -> References:
        return References(self.root, self._draft)

    def _identified(self, schema: Schema, pointer: str) -> None:
        """Problems of what a schema says that it is."""
        name = self._get(schema, "$id", str, pointer, "a URI")
        if name is not None and "#" in name.removesuffix("#") and self._draft > 7:
            self._wrong(f"{pointer}/$id", f"{shown(name)} has a fragment; name a part of a schema by $anchor")
        nested = draft_of(schema) if schema is not self.root and name is not None else 0
        if nested != 0 and (nested or 0) != (self._draft or 2020):
            self._wrong(f"{pointer}/$schema", "must be the draft of the whole document")
        if "$recursiveRef" in schema:
            self._wrong(f"{pointer}/$recursiveRef", "is of the draft 2019-09; write it as $dynamicRef")

    def _entered(self, check: Check, resource: str) -> Check:
        """A check of another resource, which counts only for dynamic references."""
        return entered(check, resource) if self._references.has_dynamic else check

    def _reference(self, schema: Schema, pointer: str) -> Check | None:
        reference = self._get(schema, "$ref", str, pointer, "a string")
        if reference is None:
            return None
        if self._is_circular(schema):
            self._wrong(f"{pointer}/$ref", f"{shown(reference)} leads only to itself")
            return None
        return self._following(schema, "$ref", pointer)

    def _dynamic_reference(self, schema: Schema, pointer: str) -> Check | None:
        reference = self._get(schema, "$dynamicRef", str, pointer, "a string")
        check = None if reference is None else self._following(schema, "$dynamicRef", pointer)
        if check is None or reference is None:
            return None
        name = self._references.dynamic_name(reference, schema)
        if name is None:
            return check
        bound = {
            resource: self._entered(self._led_to(target, f"#{name}"), resource)
            for resource, target in self._references.dynamic[name].items()
        }
        return lambda value, path, report: referred(bound[self._outermost(name, report)], value, path, report)

    def _outermost(self, name: str, report: Report) -> str:
        """The resource whose anchor of this name counts: the first that was entered of those that have it."""
        entered_first = (self._references.root_base, *report.resources)
        return next(resource for resource in entered_first if resource in self._references.dynamic[name])

    def _following(self, schema: Schema, keyword: str, pointer: str) -> Check | None:
        """What a reference leads to."""
        reference = schema[keyword]
        found = self._references.find(reference, schema)
        if found is None:
            outside = self._references.is_outside(reference, schema)
            why = (
                "is outside this schema, and is not fetched: copy it into $defs"
                if outside
                else "leads nowhere in this schema"
            )
            self._wrong(f"{pointer}/{keyword}", f"{shown(reference)} {why}")
            return None
        return self._entered(self._led_to(found[0], reference), found[1])

    def _led_to(self, target: Any, pointer: str) -> Check:
        if not isinstance(target, dict):
            return self.compile(target, pointer)
        checks, key = self._checks, id(target)
        if key not in checks:
            # Entered before it is compiled, so that a schema may refer to itself.
            checks[key] = anything
            self.compile(target, pointer)
        return lambda value, path, report: referred(checks[key], value, path, report)

    def _reached(self, schema: Schema, report: Report) -> tuple[Any, str] | None:
        """What the reference of a schema leads to while a value is checked."""
        if "$ref" in schema:
            return self._references.find(schema["$ref"], schema)
        if "$dynamicRef" not in schema:
            return None
        if (name := self._references.dynamic_name(schema["$dynamicRef"], schema)) is None:
            return self._references.find(schema["$dynamicRef"], schema)
        resource = self._outermost(name, report)
        return self._references.dynamic[name][resource], resource

    def _is_circular(self, schema: Any) -> bool:
        seen: set[int] = set()
        while isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
            if id(schema) in seen:
                return True
            seen.add(id(schema))
            schema = (self._references.find(schema["$ref"], schema) or (None,))[0]
        return False

    def _resolved(self, branches: list[Any]) -> list[Schema]:
        """The branches of a union after references: what the words of an error are chosen by."""
        resolved = []
        for branch in branches:
            seen: set[int] = set()
            node = branch
            while isinstance(node, dict) and isinstance(node.get("$ref"), str) and id(node) not in seen:
                seen.add(id(node))
                node = (self._references.find(node["$ref"], node) or ({},))[0]
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
            if self._draft == 2020:
                self._wrong(f"{pointer}/items", "is a list, as in older drafts; write it as prefixItems")
                return None
            first = self._children(schema, "items", pointer)
            rest = self._child(schema, "additionalItems", pointer)
        else:
            first = self._children(schema, "prefixItems", pointer)
            rest = self._child(schema, "items", pointer)
        least, most = self._count(schema, "minItems", pointer), self._count(schema, "maxItems", pointer)
        unique = self._get(schema, "uniqueItems", bool, pointer, "true or false") or False
        if not first and rest is None and least is None and most is None and not unique:
            return None
        # A Python set takes the same item twice, so for a typed reader this is advice to the model only.
        return list_check(first, rest or anything, least, most, unique=unique and not self._typed)

    def _contains(self, schema: Schema, pointer: str) -> Check | None:
        wanted = self._child(schema, "contains", pointer)
        least, most = self._count(schema, "minContains", pointer), self._count(schema, "maxContains", pointer)
        return None if wanted is None else contains_check(wanted, 1 if least is None else least, most)

    def _object(self, schema: Schema, pointer: str) -> Check | None:
        keywords = ("properties", "patternProperties", "additionalProperties", "propertyNames")
        sizes = ("required", "dependentRequired", "dependencies", "minProperties", "maxProperties")
        if not any(keyword in schema for keyword in (*keywords, *sizes)):
            return None
        properties = self._named_children(schema, "properties", pointer)
        dependent = {
            name: self._names(named, name, f"{pointer}/{keyword}")
            for keyword in ("dependentRequired", "dependencies")
            if isinstance(named := self._get(schema, keyword, dict, pointer, "an object of lists of names"), dict)
            for name in named
            if keyword == "dependentRequired" or isinstance(named[name], list)
        }
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
            dependent=dependent,
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

    def _dependent(self, schema: Schema, pointer: str) -> Check | None:
        """Schemas that hold beside a property; up to draft 7 under the same keyword as names, which `_object` reads."""
        checks = [
            dependent_check(name, self.compile(child, f"{pointer}/{keyword}/{name}"))
            for keyword in ("dependentSchemas", "dependencies")
            if isinstance(named := self._get(schema, keyword, dict, pointer, "an object of schemas"), dict)
            for name, child in named.items()
            if keyword == "dependentSchemas" or not isinstance(child, list)
        ]
        return in_turn(checks) if checks else None

    @cached_property
    def _evaluated(self) -> Evaluated:
        return Evaluated(self._checks, self._reached, self._draft)

    def _unevaluated_properties(self, schema: Schema, pointer: str) -> Check | None:
        return self._unevaluated(schema, "unevaluatedProperties", dict, pointer)

    def _unevaluated_items(self, schema: Schema, pointer: str) -> Check | None:
        return self._unevaluated(schema, "unevaluatedItems", list, pointer)

    def _unevaluated(self, schema: Schema, keyword: str, kind: type, pointer: str) -> Check | None:
        rest = self._child(schema, keyword, pointer)
        if rest is None or self._draft == 7:
            return None
        seen = self._evaluated
        return unevaluated_check(kind, lambda value, report: seen.parts(schema, value, report, but=keyword), rest)
