"""Reading what a log may hold in any shape: the value where it is what was expected, else nothing."""

from __future__ import annotations

from typing import Any


def mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
