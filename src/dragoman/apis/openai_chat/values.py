"""What every part of the codec needs of loosely typed JSON: a value when it is of the kind wanted, else nothing."""

from __future__ import annotations

from typing import Any, Final

from dragoman.model.json_text import json_text
from dragoman.model.json_values import as_name, as_object

NAME: Final = "openai_chat"


def count_or_none(value: Any) -> int | None:
    """The value where it is a count."""
    if type(value) is int and 0 <= value < 2**62:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 2**62:
        return None
    return int(value) if int(value) == value and value >= 0 else None


def write_json(value: Any) -> str:
    """A JSON value as compact text."""
    return json_text(value, too_deep="(nested too deep to be written)")


def of_this_api(metadata: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What this API said beside the typed fields."""
    return metadata.get(NAME) or {}


def beside(values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Metadata of this API, or none where there is nothing to keep."""
    return {NAME: values} if values else {}


def signature_of(extra_content: Any) -> str | None:
    """The thought signature Gemini sends beside a message or a call."""
    return as_name(as_object(as_object(extra_content).get("google")).get("thought_signature"))


def without_signature(extra_content: dict[str, Any]) -> dict[str, Any]:
    """The same without the signature, which has its own place."""
    google = {key: value for key, value in extra_content["google"].items() if key != "thought_signature"}
    return {**extra_content, "google": google}


def with_signature(extra_content: Any, signature: str) -> dict[str, Any]:
    """The inverse: the signature back where it stood."""
    given = as_object(extra_content)
    return {**given, "google": {**as_object(given.get("google")), "thought_signature": signature}}
