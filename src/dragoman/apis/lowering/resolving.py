"""References and schemas that hold at once, written out where an API does not take them as they are.

Rule: the work is bounded, whatever the schema: so much looked at and written, and a reference is written
out inside itself once at the most.
"""

from __future__ import annotations

import re
from typing import Any

from dragoman.apis.base.lowered import Rewrite, Undo
from dragoman.schema.references import draft_of

from .json_schema import spelled
from .merging import IMPOSSIBLE, is_impossible, merged, said_of_the_rest
from .pointers import MOST_VALUES, container, leads_somewhere, step, target
from .rules import Rules
from .words import ASSERTIONS, OBJECT_KEYWORDS, in_words, kinds_of, text

Schema = dict[str, Any]


class Excess(Exception):
    """A schema that asks for more than is spent on any."""


class Resolving:
    """One schema on its way to one API: what is known of it, and what has been reported."""

    def __init__(self, schema: Any, rules: Rules) -> None:
        self.original = schema
        self.rules = rules
        self.rewrites: dict[tuple[str, str, str], Rewrite] = {}
        self.problems: dict[str, None] = {}
        self._written = 0
        self._restricted = rules.keywords is not None
        self._definitions: dict[str, dict[str, Schema]] = {}
        self._undos: dict[str, Undo] = {}
        self._offered: dict[str, str] = {}
        self._waiting: list[str] = []
        self._known: dict[str, bool] = {}
        self._draft = draft_of(schema)
        self._respelled = False
        """Whether something is said in newer words."""

    # ── reports ────────────────────────────────────────────────────────────

    def _note(self, path: str, rule: str, message: str, *, lossy: bool = False, narrows: bool = False) -> None:
        self.rewrites.setdefault((path, rule, message), Rewrite(path, rule, message, lossy, narrows))

    def _problem(self, path: str, message: str) -> None:
        self.problems.setdefault(f"{path}: {message}")

    def _spend(self, number: int) -> None:
        """Counts what is looked at and written, so that a small schema cannot ask for endless work."""
        self._written += number
        if self._written > MOST_VALUES:
            raise Excess(f"#: more than {MOST_VALUES} schemas once references are written out")

    def _takes(self, keyword: str) -> bool:
        return self.rules.keywords is None or keyword in self.rules.keywords

    def _spelled(self, schema: Schema, path: str | None) -> Schema:
        """A node in the words of today; without a path it is only looked at, and nothing is noted."""

        def report(rule: str, message: str, *, lossy: bool = False) -> None:
            if path is not None:
                self._note(path, rule, message, lossy=lossy)
                self._respelled |= rule == "spelling"

        if self._draft == 7 and "$ref" in schema and (beside := _BESIDE_NOTHING & schema.keys()):
            said = text({key: schema[key] for key in schema if key in beside})
            report("reference", f"what counts for nothing beside a reference in draft 7 is left out: {said[:120]}")
            schema = without(schema, *beside)
        return spelled(schema, report, keep_nullable=not self._restricted, upper_case=self.rules.upper_case_types)

    # ── references, and what holds at once ─────────────────────────────────

    def _resolved(
        self, node: Schema, path: str, within: tuple[str, ...], *, at_root: bool = False
    ) -> tuple[Schema, tuple[str, ...]]:
        """A node without what must be written out: a reference, or schemas that hold at once."""
        while True:
            self._spend(1)
            if "$ref" in node:
                if not self._leads_somewhere(node["$ref"]):
                    node = self._astray(node, path)
                    continue
                if not at_root and self._stays(node):
                    return node, within
                node, within = self._written_out(node, path, within)
            elif "allOf" in node and (at_root or not self._keeps_all_of(node)):
                node, within = self._merged(node, path, within)
            else:
                return node, within

    def _leads_somewhere(self, reference: str) -> bool:
        if reference not in self._known:
            self._known |= leads_somewhere(self.original, reference, self._known)
        return self._known[reference]

    def _astray(self, node: Schema, path: str) -> Schema:
        message = f"{text(node['$ref'])} leads nowhere in this schema, so any value is taken"
        self._note(path, "reference", message, lossy=True)
        return without(node, "$ref")

    def _stays(self, node: Schema) -> bool:
        """Whether a reference may stand as it is."""
        if self.rules.references == "none":
            return False
        siblings = {key for key in node if key != "$ref"}
        return not siblings or (self.rules.reference_siblings and not siblings & ASSERTIONS)

    def _refer(self, reference: str) -> str:
        """How a reference is offered: as it is when it leads to a definition of the root, else to a new one."""
        if reference not in self._offered:
            self._offered[reference] = self._free_name(reference)
            self._waiting.append(reference)
        return self._offered[reference]

    def _free_name(self, reference: str) -> str:
        found = container(reference)
        if found is not None and self._takes(found[0]):
            return reference
        taken = set(self._offered.values())
        own = self.original.get("$defs") if isinstance(self.original, dict) else None
        taken |= {step("#", "$defs", name) for name in own} if isinstance(own, dict) else set()
        name = re.sub(r"[^A-Za-z0-9_]+", "_", reference.rsplit("/", 1)[-1]).strip("_") or "root"
        number = 1
        offered = f"#/$defs/{name}"
        while offered in taken:
            number += 1
            offered = f"#/$defs/{name}_{number}"
        return offered

    def _referring(self, node: Schema) -> Schema:
        return {**node, "$ref": self._refer(node["$ref"])}

    def _written_out(self, node: Schema, path: str, within: tuple[str, ...]) -> tuple[Schema, tuple[str, ...]]:
        """What a reference leads to, in its place; inside itself, what can be said of it without."""
        reference = node["$ref"]
        siblings = without(node, "$ref")
        if reference in within:
            return self._cut(node, siblings, path), within
        found = (target(self.original, reference) or (True,))[0]
        self._note(path, "reference", f"{reference} is written out")
        if not isinstance(found, dict):
            return (siblings if found is True else dict(IMPOSSIBLE)), within
        found = self._spelled(without(found, "$defs", "definitions"), reference)
        self._spend(len(found.get("properties", ())))
        found = self._alone(found, path, beside=bool(siblings.keys() & ASSERTIONS))
        whole, left_out = merged(siblings, found)
        self._left_out(path, left_out, found)
        return whole, (*within, reference)

    def _cut(self, node: Schema, siblings: Schema, path: str) -> Schema:
        if self.rules.references != "none":
            lossy = bool(siblings.keys() & ASSERTIONS)
            self._note(
                path,
                "reference",
                f"what stands beside a reference to itself is left out: {text(siblings)[:120]}",
                lossy=lossy,
            )
            return {"$ref": node["$ref"]}
        self._note(path, "recursion", f"{node['$ref']} holds itself; further in, any object is taken", lossy=True)
        found = (target(self.original, node["$ref"]) or (True,))[0]
        kinds = kinds_of(self._spelled(found, node["$ref"])) if isinstance(found, dict) else []
        return {**siblings, "type": kinds[0] if kinds else "object"}

    def _keeps_all_of(self, node: Schema) -> bool:
        """Whether schemas that hold at once may stay apart: not where each would close its object to the others."""
        if not self._takes("allOf"):
            return False
        if not self._restricted and self.rules.parameter_name_pattern is None:
            return True
        if self._restricted and {"enum", "const"} & node.keys():
            return False  # what can be said of the values decides which of them are listed
        return not any(map(self._has_names, node["allOf"]))

    def _has_names(self, schema: Any) -> bool:
        """Whether a schema is about an object, also by what it holds at once, which may be merged into it."""
        self._spend(1)
        if not isinstance(schema, dict):
            return False
        node = self._spelled(schema, None)
        return (
            "$ref" in node
            or bool(OBJECT_KEYWORDS & node.keys())
            or "object" in kinds_of(node)
            or any(map(self._has_names, node.get("allOf", ())))
        )

    def _merged(self, node: Schema, path: str, within: tuple[str, ...]) -> tuple[Schema, tuple[str, ...]]:
        """A node with all its `allOf` in it, flat."""
        branches = node["allOf"]
        whole = without(node, "allOf")
        self._note(path, "all_of", "schemas that hold at once are offered as one")
        unevaluated = whole.get("unevaluatedProperties")
        for index, branch in enumerate(branches):
            place = step(path, "allOf", index)
            if is_impossible(branch):
                return dict(IMPOSSIBLE), within
            if not isinstance(branch, dict):
                continue
            branch = self._spelled(without(branch, "$defs", "definitions"), place)
            while "$ref" in branch and self._leads_somewhere(branch["$ref"]):
                reference = branch["$ref"]
                if reference in within:
                    self._note(place, "recursion", f"{reference} holds itself at once; left out", lossy=True)
                    branch = without(branch, "$ref")
                else:
                    branch, within = self._written_out(branch, place, within)
            if "$ref" in branch:
                branch = self._astray(branch, place)
            self._spend(1 + len(whole.get("properties", ())) + len(branch.get("properties", ())))
            branch = self._alone(branch, place, beside=len(branches) > 1 or bool(whole.keys() & ASSERTIONS))
            whole, left_out = merged(whole, branch)
            self._left_out(place, left_out, branch)
            if is_impossible(whole):
                return dict(IMPOSSIBLE), within
        if unevaluated is False and not ({"anyOf", "oneOf", "if", "patternProperties", "allOf"} & whole.keys()):
            whole.setdefault("additionalProperties", False)
            whole = without(whole, "unevaluatedProperties")
        return whole, within

    def _alone(self, schema: Schema, path: str, *, beside: bool) -> Schema:
        """A schema that may stand beside others: what it says of the rest does not count their properties and items."""
        schema = said_of_the_rest(schema)
        unmergeable = list({"unevaluatedProperties", "unevaluatedItems"} & schema.keys()) if beside else []
        self._left_out(path, unmergeable, schema)
        return without(schema, *unmergeable)

    def _left_out(self, path: str, keywords: list[str], schema: Schema) -> None:
        if keywords:
            words = "; ".join(filter(None, (in_words(keyword, schema.get(keyword)) for keyword in keywords)))
            self._note(path, "all_of", f"what cannot be merged is left out: {words}", lossy=True)


_BESIDE_NOTHING = ASSERTIONS - {"$ref"} | {"dependencies", "additionalItems"}


def without(node: Schema, *keywords: str) -> Schema:
    return {key: value for key, value in node.items() if key not in keywords}
