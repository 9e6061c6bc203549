"""The resources and anchors of a schema document, and what a reference in it leads to.

Rule: a reference is looked up in the document alone. Nothing is ever fetched.
"""

from __future__ import annotations

from typing import Any

_ONE = (
    *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"),
    *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
)
_LISTED = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")

DRAFTS = {
    "http://json-schema.org/schema": 2020,
    "https://json-schema.org/draft/2020-12/schema": 2020,
    "https://json-schema.org/draft/2019-09/schema": 2019,
    "http://json-schema.org/draft-07/schema": 7,
    "http://json-schema.org/draft-06/schema": 7,
    "http://json-schema.org/draft-04/schema": 7,
}
"""What `$schema` may say. Where draft 4 spells a keyword otherwise than draft 7, it is a problem of the schema."""


def draft_of(schema: Any) -> int | None:
    """The draft that a document is written for: 0 where it states none, `None` where it states an unknown one."""
    stated = schema.get("$schema", "") if isinstance(schema, dict) else ""
    if not stated:
        return 0
    name = stated.removesuffix("#") if isinstance(stated, str) else ""
    return next(
        (draft for known, draft in DRAFTS.items() if name.partition("://")[2] == known.partition("://")[2]), None
    )


class References:
    """Where each schema of a document stands: the URI it has, its anchors, and what its references lead to."""

    def __init__(self, root: Any, draft: int) -> None:
        self._ignores_siblings = draft == 7
        self._bases: dict[int, str] = {}
        self._resources: dict[str, Any] = {"": root}
        self._anchors: dict[tuple[str, str], Any] = {}
        self.dynamic: dict[str, dict[str, Any]] = {}
        """By name, the schemas that a dynamic reference may lead to, by resource."""
        self.has_dynamic = False
        self._index(root, "")
        self.root_base = self.base_of(root)

    def base_of(self, schema: Any) -> str:
        """The URI of the resource that a schema belongs to; empty for a document that states none."""
        return self._bases.get(id(schema), "")

    def find(self, reference: str, schema: Any) -> tuple[Any, str] | None:
        """What the reference of a schema leads to, and the resource it is in."""
        uri, fragment = self._absolute(reference, self.base_of(schema))
        if uri not in self._resources:
            return None
        if fragment and not fragment.startswith("/"):
            anchor = (uri, fragment)
            return (self._anchors[anchor], uri) if anchor in self._anchors else None
        return self._at(self._resources[uri], fragment, uri)

    def is_outside(self, reference: str, schema: Any) -> bool:
        """Whether a reference leads out of the document."""
        return self._absolute(reference, self.base_of(schema))[0] not in self._resources

    def dynamic_name(self, reference: str, schema: Any) -> str | None:
        """The name that is looked for again at run time, where a reference leads to a dynamic anchor."""
        uri, fragment = self._absolute(reference, self.base_of(schema))
        return fragment if uri in self.dynamic.get(fragment, {}) else None

    def _at(self, node: Any, pointer: str, base: str) -> tuple[Any, str] | None:
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and key in node:
                node = node[key]
            elif isinstance(node, list) and key.isascii() and key.isdigit() and int(key) < len(node):
                node = node[int(key)]
            else:
                return None
            base = self._bases.get(id(node), base)
        if isinstance(node, dict) and id(node) not in self._bases:
            self._index(node, base)  # Below a keyword that has no schemas of its own.
        return node, base

    def _absolute(self, reference: str, base: str) -> tuple[str, str]:
        """A reference as a URI and a fragment, the latter without percent-encoding."""
        uri, _, fragment = reference.partition("#")
        if uri and base:
            from urllib.parse import urljoin

            uri = urljoin(base, uri)
        if "%" in fragment:
            from urllib.parse import unquote

            fragment = unquote(fragment)
        return uri or base, fragment

    def _index(self, root: Any, base: str) -> None:
        waiting = [(root, base)]
        for node, base in waiting:
            if not isinstance(node, dict) or id(node) in self._bases:
                continue
            base = self._identified(node, base)
            self._bases[id(node)] = base
            self.has_dynamic |= "$dynamicRef" in node
            for keyword in _ONE:
                waiting.append((node.get(keyword), base))
            for keyword in _LISTED:
                if isinstance(children := node.get(keyword), list):
                    waiting += [(child, base) for child in children]
            for keyword in _NAMED:
                if isinstance(named := node.get(keyword), dict):
                    waiting += [(child, base) for child in named.values()]

    def _identified(self, node: dict[str, Any], base: str) -> str:
        """The resource a schema belongs to, after its own `$id` and anchors are known."""
        own = node.get("$id")
        if isinstance(own, str) and not (self._ignores_siblings and "$ref" in node):
            uri, fragment = self._absolute(own, base)
            if own.startswith("#"):
                self._anchors.setdefault((base, fragment), node)  # An anchor, up to draft 7.
            else:
                base = uri
                self._resources.setdefault(uri, node)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := node.get(keyword), str) and not self._ignores_siblings:
                self._anchors.setdefault((base, name), node)
                if keyword == "$dynamicAnchor":
                    self.dynamic.setdefault(name, {}).setdefault(base, node)
        return base
