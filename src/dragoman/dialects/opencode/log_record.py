"""What opencode's log keeps beside the text of a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.model.calls import NativeResult


def metadata(native: NativeResult) -> Mapping[str, Any]:
    """The metadata of a result: in the state of the part, or in the part with its state."""
    item = native.item
    state = item.get("state", item) if isinstance(item, dict) else None
    found = state.get("metadata") if isinstance(state, dict) else None
    return found if isinstance(found, dict) else {}


def number(value: Any) -> int | None:
    """A whole number, if it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
