"""The definition of a tool as approvals bind it: a digest, and what differs between two definitions.

Rule: everything a definition states counts: name, description, schema, hints (kind, repeatable), limits, and where the
tool comes from. An approval holds for the definition it was given for and for no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2s
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from dragoman.tools import Tool


class DefinitionChange(msgspec.Struct, frozen=True):
    """One part of a tool's definition that is not as it was; `None` where it is missing."""

    tool: str
    part: str
    """Where it is in the definition: `description`, `parameters.properties.path.type`, …"""
    before: Any
    after: Any


def definition_of(tool: Tool) -> dict[str, Any]:
    """The whole definition as plain JSON, without anything that can run."""
    operation = None if tool.operation is None else str(tool.operation.__struct_config__.tag)
    return {**tool.snapshot(), "operation": operation}


def definition_digest(tool: Tool) -> str:
    """Names this very definition: any change of it gives another digest."""
    return digest(definition_of(tool))


def digest(value: Any) -> str:
    """Names a value: equal plain data gives equal digests."""
    return blake2s(canonical(value), digest_size=16).hexdigest()


def canonical(value: Any) -> bytes:
    """The one JSON text of a value. A lone surrogate, which has no UTF-8, is written as JSON's own escape."""
    try:
        return msgspec.json.encode(value, order="sorted")
    except UnicodeEncodeError:
        import json

        plain = msgspec.to_builtins(value)
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode(
            "utf-8", "backslashreplace"
        )


def definition_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[DefinitionChange, ...]:
    """What differs between two definitions (see `definition_of`), part by part; empty when they are the same."""
    name = str(after.get("name") or before.get("name"))
    return tuple(DefinitionChange(name, part, old, new) for part, old, new in _differences(before, after, ""))


_MISSING: Final = object()


def _differences(before: Any, after: Any, part: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}, key=str):
            inner = f"{part}.{key}" if part else str(key)
            yield from _differences(before.get(key, _MISSING), after.get(key, _MISSING), inner)
    # JSON tells 1 from 1.0 and from true; Python does not.
    elif type(before) is not type(after) or (before is not after and canonical(before) != canonical(after)):
        yield part, None if before is _MISSING else before, None if after is _MISSING else after
