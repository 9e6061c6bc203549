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
    """An integer of 64 bits: what a database holds, and more than anybody counts. JSON may have 12 as `12.0`."""
    if type(value) is int:  # as nearly always, and readers ask this several times for each record
        return value if -(2**63) <= value < 2**63 else None
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        return None
    return value


def as_number(value: Any) -> float | None:
    """A number of a size that is meant: neither a truth value nor one that no float holds exactly."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1e15 < value < 1e15:
        return None
    return float(value)


def as_positive(value: Any) -> float | None:
    """A number above 0. Clients log 0 for a cost that they do not know."""
    number = as_number(value)
    return number if number is not None and number > 0 else None
