"""The walk over a schema that makes an API accept it, node by node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import blake2s
from typing import Any

from dragoman.apis.base.lowered import Undo, fitting
from dragoman.errors import PatternError
from dragoman.patterns import compiled
from dragoman.schema.values import among, type_of

from .inverse import choice, joined, texts
from .json_schema import or_null
from .merging import IMPOSSIBLE, both, disjoint, is_impossible
from .pointers import DEEPEST_NODE, step, target
from .resolving import Excess, Resolving, without
from .words import (
    ABOUT,
    ABOUT_ANY,
    ANNOTATIONS,
    ARRAY_KEYWORDS,
    ASSERTIONS,
    KNOWN,
    NUMBER_KEYWORDS,
    OBJECT_KEYWORDS,
    STRING_KEYWORDS,
    UNSAID,
    described,
    in_words,
    is_of,
    kinds_of,
    text,
)

Schema = dict[str, Any]
Step = tuple[Schema | None, Undo | None]
"""A lowered node, `None` where nothing can fit it, and its inverse."""

_LOOK_AROUND = re.compile(r"\(\?(?:[=!]|<[=!])")
_ANYTHING = ("string", "number", "boolean", "object")
_WITH_A_SCHEMA = frozenset(
    {
        *("not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"),
        "contentSchema",
    }
)
_WITH_SCHEMAS = frozenset({"patternProperties", "dependentSchemas"})
_BY_NAME = frozenset({"dependentRequired", "dependentSchemas", "patternProperties", "propertyNames"})
_MOST_COMPARED = 100
"""Schemas that are compared each with each."""
_OF_SCALARS = STRING_KEYWORDS | NUMBER_KEYWORDS
_TELLING = (
    ("object", OBJECT_KEYWORDS),
    ("array", ARRAY_KEYWORDS),
    ("string", STRING_KEYWORDS),
    ("number", NUMBER_KEYWORDS),
)


class Walk(Resolving):
    """One node after another, each made acceptable."""

    # ── one node ───────────────────────────────────────────────────────────

    def node(self, schema: Any, path: str, depth: int, within: tuple[str, ...] = ()) -> Step:
        """One schema, lowered. `within` are the references that are being written out around it."""
        self._spend(1)
        if depth > DEEPEST_NODE:
            raise Excess(f"#: schemas more than {DEEPEST_NODE} levels within one another")
        if is_impossible(schema):
            return (None if self._restricted else dict(IMPOSSIBLE)), None
        if not isinstance(schema, dict):
            if schema is not True:
                self._note(path, "malformed", "what is no schema is taken as one that takes any value", lossy=True)
            schema = {}
        if depth > 0:
            # What refers to them leads to the root's definitions now.
            schema = without(schema, "$defs", "definitions")
        node, within = self._resolved(self._spelled(schema, path), path, within, at_root=depth == 0)
        if "$ref" in node:
            referring = self._referring(node)
            return referring, Undo(reference=referring["$ref"])
        if is_impossible(node):
            return (None if self._restricted else dict(IMPOSSIBLE)), None
        return self._parts(node, path, depth, within)

    def _parts(self, node: Schema, path: str, depth: int, within: tuple[str, ...]) -> Step:
        if ({"anyOf", "oneOf"} & node.keys()) and self._restricted:
            return self._alternatives(node, path, depth, within)
        undos: list[Undo | None] = []
        if "allOf" in node or "anyOf" in node or "oneOf" in node:
            node, undos = self._combined(node, path, depth, within)
        node, values = self._values(node, path)
        if is_impossible(node):
            return None, None
        if values is not None:
            undos.append(values)
        node = self._typed(node, path)
        if self._restricted:
            node = self._to_the_point(node, path)
        possible, undo = self._object(node, path, depth, within)
        if possible is None:
            return None, None
        node = possible
        undos.append(undo)
        node, undo = self._array(node, path, depth, within)
        undos.append(undo)
        if not self._restricted:
            node = self._others(node, path, depth, within)
        return self._allowed(node, path), joined(undos)

    def _others(self, node: Schema, path: str, depth: int, within: tuple[str, ...]) -> Schema:
        """The schemas under keywords that only a lenient API takes."""
        node = dict(node)
        for keyword, value in node.items():
            place = step(path, keyword)
            if keyword in _WITH_A_SCHEMA and isinstance(value, dict):
                node[keyword] = self._under(value, place, depth, within)
            elif keyword in _WITH_SCHEMAS:
                node[keyword] = {
                    name: self._under(schema, step(place, name), depth, within) for name, schema in value.items()
                }
        if node.get("not") == {}:
            # It refused something, and what is no longer said of that must not make it refuse everything.
            self._note(path, "not", "`not` is left out, for what it refused cannot be said", lossy=True)
            del node["not"]
        return node

    def _under(self, schema: Any, path: str, depth: int, within: tuple[str, ...]) -> Schema:
        lowered, undo = self.node(schema, path, depth + 1, within)
        if undo is not None and undo.reference is None:
            self._note(path, "renamed", "names that are offered as others are known here by the old ones", lossy=True)
        return {} if lowered is None else lowered

    def _possible(self, lowered: Schema | None, path: str) -> Schema:
        if lowered is None:
            self._problem(path, "no value can fit this schema")
        return {} if lowered is None else lowered

    # ── alternatives ───────────────────────────────────────────────────────

    def _combined(
        self, node: Schema, path: str, depth: int, within: tuple[str, ...]
    ) -> tuple[Schema, list[Undo | None]]:
        """Combinations that may stay as they are, each of their schemas lowered."""
        node = dict(node)
        undos: list[Undo | None] = []
        for keyword in ("allOf", "anyOf", "oneOf"):
            if keyword in node:
                steps = [
                    self.node(branch, step(path, keyword, index), depth + 1, within)
                    for index, branch in enumerate(node[keyword])
                ]
                node[keyword] = [self._possible(lowered, step(path, keyword)) for lowered, _ in steps]
                if keyword == "allOf":
                    undos += [undo for _, undo in steps]
                else:
                    undos.append(choice([(lowered or {}, undo) for lowered, undo in steps]))
        return node, undos

    def _alternatives(self, node: Schema, path: str, depth: int, within: tuple[str, ...]) -> Step:
        """Alternatives alone: what stands beside them and refuses values goes into each of them."""
        keyword = "anyOf" if "anyOf" in node else "oneOf"
        if keyword == "anyOf" and "oneOf" in node:
            node = self._moved(node, ["oneOf"], path)
        branches = node[keyword]
        outer = {key: value for key, value in node.items() if key not in ASSERTIONS}
        base = {key: value for key, value in node.items() if key in ASSERTIONS and key != keyword}
        if base and all(only_requires(branch) for branch in branches):
            return self._parts(self._moved(node, [keyword], path), path, depth, within)
        if base:
            self._note(path, "any_of", "what holds for all alternatives is said in each")
            branches = [both(base, branch) for branch in branches]
        if keyword == "oneOf" and not self._takes("oneOf"):
            keyword = "anyOf"
            resolved = [self._seen_through(branch) for branch in branches[:_MOST_COMPARED]]
            apart = len(branches) <= _MOST_COMPARED and all(
                disjoint(one, other) for index, one in enumerate(resolved) for other in resolved[:index]
            )
            how = "" if apart else ", and a value may fit several"
            self._note(path, "one_of", f"exactly one of several is offered as any of them{how}", lossy=not apart)
        offered: list[tuple[Schema, Undo | None]] = []
        for index, branch in enumerate(branches):
            lowered, undo = self.node(branch, step(path, keyword, index), depth + 1, within)
            if lowered is None:
                self._note(path, "impossible", "an alternative that nothing fits is left out")
            else:
                offered.append((lowered, undo))
        if not offered:
            return None, None
        if any(undo is not None and undo.values for _, undo in offered) and texts(offered) > 1:
            self._note(path, "enum_text", "a value offered as text stands beside other texts", lossy=True)
        node = {**outer, keyword: [schema for schema, _ in offered]}
        return self._allowed(node, path), choice(offered)

    def _seen_through(self, schema: Any) -> Any:
        """A schema with its references and what holds at once merged, as far as one look goes."""
        if not isinstance(schema, dict):
            return schema
        looking = Resolving(self.original, self.rules)
        looking._written = self._written
        node, _ = looking._resolved(looking._spelled(schema, "#"), "#", (), at_root=True)
        return node

    # ── values ─────────────────────────────────────────────────────────────

    def _values(self, node: Schema, path: str) -> tuple[Schema, Undo | None]:
        """`const` and `enum` in the types the API lists; others as text, which is turned back."""
        allowed = self.rules.enum_types
        if allowed is None or not ({"enum", "const"} & node.keys()):
            return node, None
        values = self._listed(node)
        if not values:
            return dict(IMPOSSIBLE), None
        nulls = [value for value in values if value is None]
        rest = [value for value in values if value is not None]
        if self._takes("const") and "const" in node and type_of(values[0]) in allowed:
            kinds = [kind for kind in kinds_of(node) if is_of(values[0], kind)][:1]
            return {**without(node, "enum"), **({"type": kinds[0]} if kinds else {})}, None
        if not rest and "null" not in allowed:
            return {**_annotations(node), "type": "null"}, None
        if "const" in node:
            self._note(path, "const", "a constant is offered as an enum of one")
            node = {("enum" if key == "const" else key): value for key, value in node.items() if key != "enum"}
        undo = None
        if any(type_of(value) not in allowed for value in rest):
            node, rest, undo = self._as_text(node, rest, path)
        if nulls and "null" not in allowed:
            self._note(path, "null", "null stands beside the enum, not in it")
            kinds = [kind for kind in kinds_of(node) if kind != "null"] or list(dict.fromkeys(map(type_of, rest)))
            # The values were chosen by all that is said of them, which need not be said again.
            node = {**{key: value for key, value in node.items() if key not in ASSERTIONS}, "enum": rest}
            node["type"] = kinds[0] if len(kinds) == 1 else kinds
            return or_null(node, with_enum=False), undo
        if undo is not None:
            return {**node, "type": ["string", "null"] if nulls else "string", "enum": [*rest, *nulls]}, undo
        return {**node, "enum": values}, undo

    def _listed(self, node: Schema) -> list[Any]:
        """The values that fit the rest of the node too."""
        values = [node["const"]] if "const" in node else node["enum"]
        if "const" in node and "enum" in node and not among(node["const"], node["enum"]):
            return []
        kinds = kinds_of(node)
        if kinds:
            values = [value for value in values if any(is_of(value, kind) for kind in kinds)]
        said_otherwise = ("enum", "const", "type", "format")
        rest = {key: value for key, value in node.items() if key in ASSERTIONS and key not in said_otherwise}
        if "pattern" in rest and not _is_pattern(rest["pattern"]):
            del rest["pattern"]
        # Schemas within may be such as cannot be read, which is nothing to texts and numbers.
        plain = {key: rest.pop(key) for key in _OF_SCALARS & rest.keys()}
        for part in (plain, rest):
            if part:
                values = fitting(part, values, self.original)
        return values

    def _as_text(self, node: Schema, values: list[Any], path: str) -> tuple[Schema, list[str], Undo]:
        texts = {}
        for value in values:
            offered = value if isinstance(value, str) else text(value)
            if offered in texts:
                message = f"two values are offered as the same text, {offered!r}"
                self._note(path, "enum_text", message, lossy=True)
            else:
                texts[offered] = value
        self._note(path, "enum_text", "values of an enum are offered as text")
        changed = tuple((offered, value) for offered, value in texts.items() if not isinstance(value, str))
        kept = {
            key: value for key, value in node.items() if key not in ASSERTIONS and key not in ("examples", "example")
        }
        if "default" in kept and not isinstance(kept["default"], str) and kept["default"] is not None:
            kept["default"] = text(kept["default"])
        return {"type": "string", **kept, "enum": list(texts)}, list(texts), Undo(values=changed)

    # ── types ──────────────────────────────────────────────────────────────

    def _typed(self, node: Schema, path: str) -> Schema:
        if self.rules.untyped == "keep" or {"type", "allOf", "anyOf", "oneOf", "$ref"} & node.keys():
            return node
        if not self.rules.typed_values and {"enum", "const"} & node.keys():
            return node
        if values := ([node["const"]] if "const" in node else node.get("enum")):
            kinds = list(dict.fromkeys(map(type_of, values)))
            self._note(path, "type", "the type of the listed values is said")
            return {"type": kinds[0] if len(kinds) == 1 else kinds, **node}
        for kind, keywords in _TELLING:
            if keywords & node.keys():
                message = f"narrowed: the type {kind} is said, which the other keywords are about"
                self._note(path, "type", message, narrows=True)
                return {"type": kind, **node}
        if self.rules.untyped == "refuse":
            self._problem(path, f"{self.rules.name} takes no schema that takes any value; say a type")
            return node
        if about := [keyword for keyword in node if keyword in ASSERTIONS]:
            node = self._moved(node, about, path)
        self._note(path, "any", "any value is offered as the alternatives there are", lossy=True)
        kinds_of_any: list[Schema] = [{"type": kind} for kind in _ANYTHING]
        return {**node, "anyOf": [*kinds_of_any, {"type": "array", "items": {"type": "string"}}, {"type": "null"}]}

    def _to_the_point(self, node: Schema, path: str) -> Schema:
        """A node without keywords that say nothing of the types it names."""
        kinds = kinds_of(node)
        idle = ABOUT_ANY.difference(*(ABOUT.get(kind, ()) for kind in kinds)) & node.keys() if kinds else ()
        if idle:
            self._note(path, "keyword", f"left out, for they say nothing here: {', '.join(sorted(idle))}")
        return without(node, *idle)

    # ── objects ────────────────────────────────────────────────────────────

    def _object(self, node: Schema, path: str, depth: int, within: tuple[str, ...]) -> Step:
        if "object" not in kinds_of(node) and not (OBJECT_KEYWORDS & node.keys()):
            return node, None
        node = dict(node)
        original: Schema = node.get("properties", {})
        required = [name for name in node.get("required", ()) if isinstance(name, str)]
        closed = self._closes(node, path, depth)
        lowered: dict[str, Schema] = {}
        undos: dict[str, Undo] = {}
        dropped: list[str] = []
        names = self._names(node, path, closed=closed)
        for name, schema in original.items():
            place = step(path, "properties", name)
            one, undo = self.node(schema, place, depth + 1, within)
            if one is None:
                if name in required:
                    return None, None
                self._note(place, "impossible", "a property that nothing fits is left out", lossy=not closed)
                continue
            offered = names.get(name, name)
            if self.rules.all_required and name not in required:
                one = self._optional(one, schema, offered, place, dropped)
            lowered[offered] = one
            if undo is not None:
                undos[offered] = undo
        if "properties" in node:
            node["properties"] = lowered
        additional = self._additional(node, path, depth, within)
        self._require(node, required, {name: names.get(name, name) for name in original}, lowered, path)
        renamed = {offered: name for name, offered in names.items() if offered in lowered}
        undo = Undo(tuple(dropped), renamed, undos, additional)
        return node, None if undo == Undo() else undo

    def _closes(self, node: Schema, path: str, depth: int) -> bool:
        """Whether the object takes no other properties, in the end; said where the API wants it said."""
        stated = node.get("additionalProperties")
        unlisted = stated is True or isinstance(stated, dict) or "patternProperties" in node
        if self.rules.objects == "as_written":
            return stated is False and "patternProperties" not in node
        free = stated is None and not node.get("properties") and depth > 0
        if self.rules.objects == "always_closed":
            if "additionalProperties" in node:
                del node["additionalProperties"]
                if stated is False:
                    node.setdefault("properties", {})
                elif node.get("properties") or isinstance(stated, dict):
                    words = in_words("additionalProperties", stated)
                    node.update(described(node, [words]))
                    self._note(path, "open", "properties that are not listed cannot be offered", lossy=True)
                elif node.get("properties") == {}:
                    del node["properties"]
            elif "properties" in node:
                self._note(path, "closed", "narrowed: an object takes only the listed properties", narrows=True)
            return "properties" in node
        if unlisted or free:
            advice = "list them and say additionalProperties: false"
            self._problem(path, f"{self.rules.name} takes no object with properties that are not listed; {advice}")
        elif stated is None:
            self._note(
                path, "closed", "narrowed: an object says that it takes only the listed properties", narrows=True
            )
        node["additionalProperties"] = False
        if self.rules.all_required:
            node.setdefault("properties", {})
        return True

    def _names(self, node: Schema, path: str, *, closed: bool) -> dict[str, str]:
        """Own name → offered name, of the properties whose name the API refuses."""
        properties = node.get("properties", {})
        refused = [name for name in properties if not self._is_legal(name)]
        taken = {*properties, *node.get("required", ())} - set(refused)
        names: dict[str, str] = {}
        for name in refused:
            place = step(path, "properties", name)
            made = _legal(name, self.rules.parameter_name_length or 64)
            offered = next((one for one in made if one not in taken and self._is_legal(one)), None)
            if offered is None:
                fits_nothing = f"and none made from it fits {self.rules.parameter_name_pattern}"
                self._problem(place, f"{self.rules.name} refuses the name {name[:80]!r}, {fits_nothing}")
                continue
            taken.add(offered)
            names[name] = offered
            how = "" if closed else "; the API does not check it under its own name"
            self._note(place, "renamed", f"{name!r} is offered as {offered!r}{how}", lossy=not closed)
        if names and _BY_NAME & node.keys():
            self._note(path, "renamed", "keywords that go by names know only the old ones", lossy=True)
        return names

    def _is_legal(self, name: str) -> bool:
        pattern, longest = self.rules.parameter_name_pattern, self.rules.parameter_name_length
        return (longest is None or len(name) <= longest) and (
            pattern is None or re.fullmatch(pattern, name) is not None
        )

    def _optional(self, lowered: Schema, original: Any, name: str, path: str, dropped: list[str]) -> Schema:
        """An optional property where all are required: null stands for "not given"."""
        if self._takes_null(original):
            default = original.get("default", 0) if isinstance(original, dict) else 0
            lossy = default is not None
            why = ", so null and not given are one" if lossy else ""
            self._note(path, "required", f"an optional property is required{why}", lossy=lossy)
            return lowered
        self._note(path, "required", "an optional property is required; null stands for not given")
        dropped.append(name)
        return or_null(lowered, with_enum=True)

    def _takes_null(self, schema: Any, seen: frozenset[str] = frozenset(), depth: int = 0) -> bool:
        if not isinstance(schema, dict):
            return schema is not False
        self._spend(1)
        if depth > DEEPEST_NODE:
            return False
        node = self._spelled(schema, None)
        deeper = depth + 1
        reference = node.get("$ref")
        if isinstance(reference, str):
            found = target(self.original, reference)
            if reference in seen or (found is not None and not self._takes_null(found[0], seen | {reference}, deeper)):
                return False
        if kinds_of(node) and "null" not in kinds_of(node):
            return False
        if "const" in node and node["const"] is not None:
            return False
        if "enum" in node and not among(None, node["enum"]):
            return False
        if "not" in node and self._takes_null(node["not"], seen, deeper):
            return False
        if "oneOf" in node and sum(self._takes_null(branch, seen, deeper) for branch in node["oneOf"]) != 1:
            return False
        if "anyOf" in node and not any(self._takes_null(branch, seen, deeper) for branch in node["anyOf"]):
            return False
        return all(self._takes_null(branch, seen, deeper) for branch in node.get("allOf", ()))

    def _additional(self, node: Schema, path: str, depth: int, within: tuple[str, ...]) -> Undo | None:
        """Properties that are not listed, where they may be."""
        schema = node.get("additionalProperties")
        if not isinstance(schema, dict):
            return None
        lowered, undo = self.node(schema, step(path, "additionalProperties"), depth + 1, within)
        node["additionalProperties"] = False if lowered is None else lowered
        return undo

    def _require(
        self, node: Schema, required: list[str], names: dict[str, str], lowered: dict[str, Schema], path: str
    ) -> None:
        stated = [names.get(name, name) for name in required]
        if self.rules.declared_required and (unknown := [name for name in stated if name not in lowered]):
            self._note(path, "required", f"required but not listed: {', '.join(unknown)[:120]}", lossy=True)
            stated = [name for name in stated if name in lowered]
        if self.rules.all_required and set(stated) != set(lowered):
            stated = list(lowered)
        if "required" in node or (self.rules.all_required and "properties" in node):
            node["required"] = stated
        if "propertyOrdering" in node:
            node["propertyOrdering"] = [names.get(name, name) for name in node["propertyOrdering"]]

    # ── arrays ─────────────────────────────────────────────────────────────

    def _array(self, node: Schema, path: str, depth: int, within: tuple[str, ...]) -> tuple[Schema, Undo | None]:
        if "array" not in kinds_of(node) and not (ARRAY_KEYWORDS & node.keys()):
            return node, None
        node = dict(node)
        prefix: list[Undo | None] = []
        if "prefixItems" in node and not self._takes("prefixItems"):
            node = self._one_for_all(node, path)
        elif "prefixItems" in node:
            place = step(path, "prefixItems")
            steps = [
                self.node(one, step(place, index), depth + 1, within) for index, one in enumerate(node["prefixItems"])
            ]
            node["prefixItems"] = [self._possible(one, place) for one, _ in steps]
            prefix = [undo for _, undo in steps]
        items = None
        if "items" in node:
            lowered, items = self.node(node["items"], step(path, "items"), depth + 1, within)
            node["items"] = lowered
            if lowered is None or is_impossible(lowered):
                self._note(path, "items", "that there are no further items is said by their number")
                node = self._ended(node, len(prefix))
        elif self.rules.array_items and "array" in kinds_of(node):
            self._note(path, "items", "an array says what its items are")
            node["items"], items = self.node({}, step(path, "items"), depth + 1, within)
        if items is None and not any(prefix):
            return node, None
        return node, Undo(items=items, prefix=tuple(prefix) if any(prefix) else ())

    def _ended(self, node: Schema, length: int) -> Schema:
        """An array of so many items at the most; what an API wants said of the others is then of no weight."""
        node = {**without(node, "items"), "maxItems": min(node.get("maxItems", length), length)}
        if self.rules.array_items and "array" in kinds_of(node):
            node["items"] = {} if self.rules.untyped == "keep" else {"type": "string"}
        return node

    def _one_for_all(self, node: Schema, path: str) -> Schema:
        """A tuple as a list: exact when its items are alike and their number is fixed."""
        prefix = node["prefixItems"]
        rest = node.get("items", True)
        whole = node.get("maxItems") == len(prefix) or is_impossible(rest)
        alike = all(one == prefix[0] for one in prefix)
        sized = self._takes("maxItems") and self._takes("minItems")
        exact = alike and ((whole and sized) or rest == prefix[0])
        node = without(node, "prefixItems", "items")
        if whole:
            node["maxItems"] = len(prefix)
        kinds: list[Any] = []
        for one in [*prefix[:_MOST_COMPARED], *([] if whole else [rest])]:
            if one not in kinds and not is_impossible(one):
                kinds.append(one)
        how = "" if exact else ", and the place of each is not"
        self._note(path, "tuple", f"a list of alike items is offered for a tuple{how}", lossy=not exact)
        if len(prefix) > _MOST_COMPARED and not alike:
            return {**node, "items": {}}
        if not kinds:
            return {**node, "maxItems": 0}
        return {**node, "items": kinds[0] if len(kinds) == 1 else {"anyOf": kinds}}

    # ── keywords ───────────────────────────────────────────────────────────

    def _allowed(self, node: Schema, path: str) -> Schema:
        """A node without the keywords the API refuses: said in words, and reported."""
        moved = [keyword for keyword, value in node.items() if self._refuses(keyword, value)]
        return self._moved(node, moved, path) if moved else node

    def _refuses(self, keyword: str, value: Any) -> bool:
        rules = self.rules
        if keyword not in KNOWN:
            return not rules.unknown_keywords
        if not self._takes(keyword):
            return True
        if keyword == "format" and rules.formats is not None:
            return value not in rules.formats
        if keyword == "minItems" and rules.min_items is not None:
            return value not in rules.min_items
        if keyword == "patternProperties":
            return not all(map(_is_pattern, value))
        if keyword != "pattern":
            return False
        return not _is_pattern(value) or (not rules.look_around and _LOOK_AROUND.search(value) is not None)

    def _moved(self, node: Schema, keywords: list[str], path: str) -> Schema:
        words = []
        for keyword in keywords:
            value = node[keyword]
            if keyword in ("$defs", "definitions") or (keyword == "uniqueItems" and value is False):
                continue
            if keyword not in KNOWN:
                self._note(path, "keyword", f"{keyword} is left out")
                continue
            numeric = keyword == "format" and not ({"string"} & set(kinds_of(node)))
            lossy = keyword in ASSERTIONS and not numeric and keyword != "propertyOrdering"
            if keyword in UNSAID or keyword == "additionalProperties":
                self._note(path, "keyword", f"{keyword} is left out", lossy=lossy)
                continue
            words.append(in_words(keyword, value))
            self._note(path, "keyword", f"{keyword} is said in the description", lossy=lossy)
        return described(without(node, *keywords), words)


def _annotations(node: Schema) -> Schema:
    return {key: value for key, value in node.items() if key in ANNOTATIONS}


def _is_pattern(value: str) -> bool:
    """Whether a regular expression is one to Python; those of other dialects are said in words."""
    try:
        compiled(value)
    except PatternError:
        return False
    return True


def only_requires(schema: Any) -> bool:
    """Whether an alternative names only which properties must be there."""
    return isinstance(schema, dict) and "required" in schema and not (schema.keys() & ASSERTIONS) - {"required", "type"}


def _legal(name: str, longest: int) -> Iterator[str]:
    """Names made from a name: the same each time, the most readable first, told apart from others by a digest."""
    readable = re.sub(r"[^A-Za-z0-9_]", "_", name) or "_"
    if readable[0].isdigit():
        readable = f"_{readable}"
    digest = blake2s(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    yield readable
    yield f"{readable[: longest - 9]}_{digest}"
    # For a pattern of letters alone.
    yield re.sub(r"[^a-z]", "", name.lower())
    yield "p" + digest.translate(str.maketrans("0123456789", "ghijklmnop"))
