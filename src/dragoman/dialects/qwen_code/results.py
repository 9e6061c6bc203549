"""What the log keeps for display beside a result."""

from __future__ import annotations

from typing import Any

from dragoman.model.calls import NativeResult


def display_of(native: NativeResult) -> dict[str, Any]:
    """What the log keeps for display beside a result, where that is data."""
    item = native.item
    shown = item.get("resultDisplay") if isinstance(item, dict) else None
    return shown if isinstance(shown, dict) else {}


def number_or_none(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
