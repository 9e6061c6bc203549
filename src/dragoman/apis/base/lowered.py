"""A lowered schema, what was changed on the way, and the way back for arguments."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.errors import DefinitionError
from dragoman.model.base import Value
from dragoman.model.calls import NativeCall


class Rewrite(Value, frozen=True):
    """One change. `path` is a JSON pointer into the original; `lossy` when it cannot be undone exactly.

    `narrows` is the loss that a tool's author can live with: an open object is closed, or the type that keywords
    are about is stated, so that other properties or values of other types can no longer be given.
    """

    path: str
    rule: str
    message: str
    lossy: bool = False
    narrows: bool = False


class Undo(Value, frozen=True):
    """The inverse of a lowering on one value; every part is left as it is unless it is named here."""

    dropped: tuple[str, ...] = ()
    """Properties whose null stands for "not given"."""
    renamed: dict[str, str] = {}
    """Offered name of a property → its own."""
    properties: dict[str, Undo] = {}
    """By offered name."""
    additional: Undo | None = None
    items: Undo | None = None
    prefix: tuple[Undo | None, ...] = ()
    values: tuple[tuple[Any, Any], ...] = ()
    """Offered value → the one it stands for."""
    unwrapped: str | None = None
    """The only property of a wrapped root."""
    branches: tuple[Branch, ...] = ()
    """Alternatives: that of the first whose schema the value fits is undone."""
    reference: str | None = None
    """The `$ref` whose inverse this is, in the root's `definitions`."""
    definitions: dict[str, Undo] = {}


class Branch(Value, frozen=True):
    """One of several alternatives, as it was offered."""

    schema: dict[str, Any]
    undo: Undo | None = None


class Lowered(Value, frozen=True):
    """What an API is given for a schema. With `problems` it should not be sent."""

    schema: dict[str, Any]
    rewrites: tuple[Rewrite, ...] = ()
    problems: tuple[str, ...] = ()
    undo: Undo | None = None

    @property
    def lossless(self) -> bool:
        """Whether restored arguments mean exactly what the original schema could say."""
        return self.sound and not any(rewrite.narrows for rewrite in self.rewrites)

    @property
    def sound(self) -> bool:
        """Whether restored arguments always fit the original schema, which may have been narrowed."""
        return not self.problems and not any(rewrite.lossy for rewrite in self.rewrites)


TEXT = "input"
"""The one parameter of a function that stands for a tool whose input is plain text."""


class Lowering(Value, frozen=True):
    """The lowered tools of one request, by the name the model knows them by.

    `names` are those that a namespace was joined to; `texts` those whose input is text and travels as an object.
    """

    tools: dict[str, Lowered] = {}
    names: dict[str, tuple[str, str]] = {}
    texts: tuple[str, ...] = ()

    def call(self, native: NativeCall) -> NativeCall:
        """A call as it would be in the tools' own terms; the very same where nothing was lowered."""
        if not (self.tools or self.names or self.texts):
            return native
        changes: dict[str, Any] = {}
        if native.namespace is None and native.name in self.names:
            changes["namespace"], changes["name"] = self.names[native.name]
        arguments = native.arguments
        if isinstance(arguments, dict):
            if native.name in self.texts and isinstance(arguments.get(TEXT), str) and len(arguments) == 1:
                changes["arguments"] = arguments[TEXT]
            else:
                own = qualified(changes.get("namespace", native.namespace), changes.get("name", native.name))
                restored = self.undo(own if own in self.tools else native.name, arguments)
                if restored is not arguments:
                    changes["arguments"] = restored
        return msgspec.structs.replace(native, **changes) if changes else native

    def undo(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments of a call as the tool's own schema has them; as they are for a tool that was not changed."""
        lowered = self.tools.get(name)
        return arguments if lowered is None else restore(lowered, arguments)


def qualified(namespace: str | None, name: str) -> str:
    """The key of a tool in `Lowering.tools`."""
    return name if namespace is None else f"{namespace}.{name}"


def restore(lowered: Lowered, arguments: dict[str, Any]) -> dict[str, Any]:
    """The inverse of a lowering on arguments; what does not fit is left as it is, for validation to refuse."""
    if lowered.undo is None:
        return arguments
    restored = _undone(lowered.undo, arguments, lowered, 0)
    return restored if isinstance(restored, dict) else arguments


_DEEPEST = 150
"""Values within values that are undone: beyond what a model writes, within what Python's stack bears."""


def _undone(undo: Undo | None, value: Any, lowered: Lowered, depth: int) -> Any:
    if undo is None or depth > _DEEPEST:
        return value
    if undo.reference is not None and lowered.undo is not None:
        return _undone(lowered.undo.definitions.get(undo.reference), value, lowered, depth + 1)
    for offered, own in undo.values:
        if value == offered and type(value) is type(offered):
            return own
    branch = _branch_of(undo.branches, value, lowered)
    if branch is not None:
        value = _undone(branch.undo, value, lowered, depth + 1)
    if isinstance(value, dict):
        return _undone_object(undo, value, lowered, depth)
    if isinstance(value, list) and (undo.items is not None or undo.prefix):
        return [
            _undone(undo.prefix[index] if index < len(undo.prefix) else undo.items, item, lowered, depth + 1)
            for index, item in enumerate(value)
        ]
    return value


def _branch_of(branches: tuple[Branch, ...], value: Any, lowered: Lowered) -> Branch | None:
    """The alternative a value was written for: the first it fits, and rather one that has all its names.

    Some APIs know no closed objects, so that an object without properties fits everything.
    """
    fitting = [branch for branch in branches if fits(branch.schema, value, lowered.schema)]
    if isinstance(value, dict):
        for branch in fitting:
            if value.keys() <= branch.schema.get("properties", {}).keys():
                return branch
    return fitting[0] if fitting else None


def _undone_object(undo: Undo, value: dict[str, Any], lowered: Lowered, depth: int) -> Any:
    if undo.unwrapped is not None:
        inner = value.get(undo.unwrapped)
        if len(value) != 1 or not isinstance(inner, dict):
            return value
        return _undone(undo.properties.get(undo.unwrapped), inner, lowered, depth + 1)
    if not (undo.dropped or undo.renamed or undo.properties or undo.additional):
        return value
    return {
        undo.renamed.get(name, name): _undone(undo.properties.get(name, undo.additional), item, lowered, depth + 1)
        for name, item in value.items()
        if item is not None or name not in undo.dropped
    }


def fits(schema: dict[str, Any], value: Any, root: Any) -> bool:
    """Whether a value fits a schema that may refer to the definitions of `root`."""
    return bool(fitting(schema, [value], root))


def fitting(schema: dict[str, Any], values: list[Any], root: Any) -> list[Any]:
    """The values that fit a schema; all of them where it cannot be read."""
    from dragoman.schema import Reader

    definitions = {key: root[key] for key in ("$defs", "definitions") if isinstance(root, dict) and key in root}
    whole = {**definitions, "type": "object", "properties": {"value": schema}}
    try:
        reader = Reader.of_schema("alternative", whole)
    except DefinitionError:
        return values
    return [value for value in values if not reader.problems({"value": value})]
