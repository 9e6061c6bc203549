"""Reading JSON that may be of any shape: both spellings of a key, and only values of the expected type.

Rule: only keys the protocol itself defines are renamed; arguments, responses and schemas are the caller's and stay.
"""

from __future__ import annotations

import re
from typing import Any, Final

from dragoman.model.json_text import json_text

NAME: Final = "gemini_generate"

_AFTER_UNDERSCORE = re.compile(r"_([a-z0-9])")


def camel(value: Any) -> dict[str, Any]:
    """An object with its keys in camelCase, as the protocol also takes them in snake_case; `{}` for anything else."""
    if not isinstance(value, dict):
        return {}
    for key in value:
        if "_" in key:
            return {camel_name(name): held for name, held in value.items()}
    return value


def camel_name(name: str) -> str:
    """`thought_signature` → `thoughtSignature`."""
    return _AFTER_UNDERSCORE.sub(lambda found: found[1].upper(), name)


def count_of(value: Any) -> int | None:
    """A count, or `None`; protobuf's JSON also writes whole numbers as text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 2**62:
        return None
    return int(value) if value == int(value) else None


def word_of(value: Any, numbered: tuple[str, ...]) -> str | None:
    """A value of an enumeration by its name, where it was sent by its number."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return numbered[value] if 0 <= value < len(numbered) else str(value)


def write_json(value: Any) -> str:
    """A value as compact JSON."""
    return json_text(value, too_deep='"(nested too deeply to be shown)"')


def metadata_of(said: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Metadata of this API, where there is any."""
    return {NAME: said} if said else {}
