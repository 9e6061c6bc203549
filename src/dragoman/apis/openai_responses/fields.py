"""Reading values whose type nobody promised: the value when it is what it should be, else nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dragoman.model.conversation import Metadata

NAME: Final = "openai_responses"
"""The API's name: the key under which everything of its own travels."""


def as_count(value: Any) -> int | None:
    """A number of things, or nothing; `true` is no number."""
    return value if type(value) is int and value >= 0 else None


def without(mapping: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """What else a mapping says."""
    return {name: value for name, value in mapping.items() if name not in names}


def own(said: Mapping[str, Any]) -> Metadata:
    """Metadata of this API; none where there is nothing to say."""
    return {NAME: dict(said)} if said else {}


def mine(metadata: Metadata) -> dict[str, Any]:
    """What this API said beside the typed fields."""
    return metadata.get(NAME, {})
