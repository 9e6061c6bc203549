"""JSON values whose type nobody promised: the value where it is of the type wanted, else nothing."""

from __future__ import annotations

from typing import Any


def as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [one for one in as_list(value) if isinstance(one, dict)]


def as_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def as_name(value: Any) -> str | None:
    """A text that is not empty."""
    return value if isinstance(value, str) and value else None


def as_integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
