"""A whole schema lowered: its root, which is always an object, its definitions and its size."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dragoman.apis.base.lowered import Lowered, Undo

from .counting import counted, recursive
from .inverse import pruned
from .merging import is_impossible
from .pointers import container, excess, step, target
from .render import gemini_schema, of_one_type
from .resolving import Excess, without
from .rules import Rules
from .walk import Walk, only_requires
from .words import kinds_of

Schema = dict[str, Any]

WRAPPER = "arguments"
"""The property that holds the arguments where the API refuses alternatives at the root."""

_NEWEST = 2020
_REFUSED_AT_ROOT = ("enum", "const", "not", "if", "then", "else")


def lower(schema: Any, rules: Rules) -> Lowered:
    """What an API that has `rules` is given for a schema."""
    nothing: Schema = {"type": "OBJECT" if rules.upper_case_types else "object", "properties": {}}
    if (why := excess(schema)) is not None:
        return Lowered(nothing, problems=(f"#: {why}",))
    walk = _Whole(schema, rules)
    try:
        lowered, undo = walk.root()
    except Excess as excessive:
        return Lowered(nothing, problems=(str(excessive),))
    if lowered is None:
        return Lowered(nothing, tuple(walk.rewrites.values()), tuple(walk.problems))
    walk.count(lowered)
    if not rules.type_lists:
        lowered = of_one_type(lowered)
    if rules.upper_case_types:
        lowered = gemini_schema(lowered)
    return Lowered(lowered, tuple(walk.rewrites.values()), tuple(walk.problems), undo)


class _Whole(Walk):
    """The schema as a whole."""

    def root(self) -> tuple[Schema | None, Undo | None]:
        """The whole schema: always an object, for that is what arguments are."""
        if not isinstance(self.original, dict | bool):
            self._problem("#", "a schema is an object, true or false")
            return None, None
        node = self._root_node({} if self.original is True else self.original)
        if node is None:
            return None, None
        lowered, undo = self.node(node, "#", 0)
        if lowered is None:
            self._problem("#", "no arguments can fit this schema")
            return None, None
        if self.rules.root_properties:
            lowered.setdefault("properties", {})
        if WRAPPER in node.get("properties", {}) and self._wrapped:
            undo = Undo(unwrapped=WRAPPER, properties=undo.properties if undo is not None else {})
        lowered = self._with_definitions(lowered)
        if self._respelled and "$schema" in lowered and self._draft and self._draft < _NEWEST:
            self._note("#", "spelling", "`$schema` names 2020-12, whose words these are")
            lowered["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        return lowered, self._whole(undo)

    _wrapped = False

    def _root_node(self, schema: Any) -> Schema | None:
        """The root as a plain object, wrapped where it is one of several."""
        if is_impossible(schema):
            self._problem("#", "no arguments can fit this schema")
            return None
        node, _ = self._resolved(self._spelled(without(schema, "nullable"), "#"), "#", (), at_root=True)
        kinds = kinds_of(node)
        if kinds and "object" not in kinds:
            self._problem("#", f'arguments are always an object, not {" or ".join(kinds)}; say "type": "object"')
            return None
        if node.get("type") != "object":
            if len(kinds) > 1:
                self._note("#", "root", "arguments are always an object, so the other types are left out")
            elif not kinds and not ({"anyOf", "oneOf"} & node.keys()):
                self._note("#", "root", 'the root says "type": "object"')
            node = {"type": "object", **{key: value for key, value in node.items() if key != "type"}}
        for keyword in ("anyOf", "oneOf"):
            while keyword in node and not self._wrapped:
                narrowed = self._root_alternatives(node, keyword)
                if narrowed is None:
                    return None
                if len(narrowed.get(keyword, ())) > 1 and narrowed[keyword] == node.get(keyword):
                    break
                node = narrowed
        if is_impossible(node):
            self._problem("#", "no arguments can fit this schema")
            return None
        node = without(node, "nullable")  # arguments are never null
        moved = [keyword for keyword in _REFUSED_AT_ROOT if keyword in node]
        if moved:
            node = self._moved(node, moved, "#")
        return self._wrap(node) if {"anyOf", "oneOf"} & node.keys() else node

    def _root_alternatives(self, node: Schema, keyword: str) -> Schema | None:
        """The root without alternatives that no object fits, and without a choice of one."""
        branches = [branch for branch in node[keyword] if self._may_be_object(branch)]
        if len(branches) < len(node[keyword]):
            self._note("#", "root", "arguments are always an object, so the other alternatives are left out")
        if not branches:
            self._problem("#", "arguments are always an object, and none of the alternatives is one")
            return None
        rest = {key: value for key, value in node.items() if key != keyword}
        if len(branches) == 1:
            one, _ = self._resolved({**rest, "allOf": [*rest.get("allOf", []), branches[0]]}, "#", (), at_root=True)
            return one
        if all(only_requires(branch) for branch in branches):
            return self._moved(node, [keyword], "#")
        return {**rest, keyword: branches}

    def _may_be_object(self, schema: Any) -> bool:
        seen: set[str] = set()
        while isinstance(schema, dict) and isinstance(schema.get("$ref"), str) and schema["$ref"] not in seen:
            seen.add(schema["$ref"])
            schema = (target(self.original, schema["$ref"]) or (True,))[0]
        if not isinstance(schema, dict):
            return schema is not False
        kinds = [kind.lower() for kind in _listed(schema.get("type")) if isinstance(kind, str)]
        return not kinds or "object" in kinds

    def _wrap(self, node: Schema) -> Schema:
        self._wrapped = True
        self._note("#", "wrapped", f"alternatives at the root are offered inside one property, {WRAPPER!r}")
        outside = ("$defs", "definitions", "$schema", "$id")
        inner = {key: value for key, value in node.items() if key not in outside}
        wrapper: Schema = {key: value for key, value in node.items() if key in outside}
        return {
            **wrapper,
            "type": "object",
            "properties": {WRAPPER: inner},
            "required": [WRAPPER],
            "additionalProperties": False,
        }

    def _with_definitions(self, root: Schema) -> Schema:
        """The root with its definitions, each lowered once; those met on the way may bring others."""
        own = self.original if isinstance(self.original, dict) else {}
        for keyword in ("$defs", "definitions"):
            names = own.get(keyword)
            if self.rules.references == "none":
                root.pop(keyword, None)
            elif isinstance(names, dict) and self._takes(keyword):
                for name in names:
                    self._refer(step("#", keyword, name))
        while self._waiting:
            self._define(self._waiting.pop(0))
        for keyword, definitions in self._definitions.items():
            order = own[keyword] if isinstance(own.get(keyword), dict) else {}
            known = {name: definitions[name] for name in order if name in definitions}
            root[keyword] = {**known, **definitions}
        if not self.rules.recursion and (name := recursive(root)) is not None:
            self._problem(name, f"{self.rules.name} takes no schema that refers to itself")
        return root

    def _define(self, reference: str) -> None:
        keyword, name = container(self._offered[reference]) or ("$defs", reference)
        schema = (target(self.original, reference) or (True,))[0]
        lowered, undo = self.node(schema, reference, 1, (reference,))
        self._definitions.setdefault(keyword, {})[name] = self._possible(lowered, reference)
        if undo is not None:
            self._undos[self._offered[reference]] = undo

    def _whole(self, undo: Undo | None) -> Undo | None:
        """The root's inverse with those of the definitions it comes by, and nothing that changes nothing."""
        live: set[str] = set()
        while found := {name for name, one in self._undos.items() if name not in live and pruned(one, live)}:
            live |= found
        undo = None if undo is None else pruned(undo, live)
        if undo is None:
            return None
        definitions = {name: kept for name in live if (kept := pruned(self._undos[name], live)) is not None}
        return replace(undo, definitions={name: definitions[name] for name in self._undos if name in definitions})

    def count(self, schema: Schema) -> None:
        """Problems where the whole is more than the API takes."""
        rules = self.rules
        found = counted(schema)
        for words, number, most in (
            ("levels of objects", found["depth"], rules.depth),
            ("properties", found["properties"], rules.properties),
            ("enum values", found["enum_values"], rules.enum_values),
            ("characters in names and values", found["characters"], rules.characters),
        ):
            if most is not None and number > most:
                self._problem("#", f"{rules.name} takes at most {most} {words}, and there are {number}")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
