"""Reading JSON that may be of any shape: both spellings of a key, and only values of the expected type.

Rule: only keys the protocol itself defines are renamed; arguments, responses and schemas are the caller's and stay.
"""

from __future__ import annotations

import re
from hashlib import blake2s
from typing import Any, Final

import msgspec

NAME: Final = "gemini_generate"

_TOO_DEEP: Final = '"(nested too deeply to be shown)"'
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


def listed(value: Any) -> list[Any]:
    """A list, or nothing."""
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str | None:
    """A text that says something, or `None`."""
    return value if isinstance(value, str) and value else None


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


def json_text(value: Any) -> str:
    """A value as compact JSON; half a surrogate pair or a number beyond 64 bits, which msgspec refuses, included."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, OverflowError, ValueError):
        from json import dumps

        return dumps(value, separators=(",", ":"))
    except RecursionError:
        return _TOO_DEEP


def made_id(*place: object) -> str:
    """An id for a call that came without one: the same for the same place."""
    text = "\0".join(map(str, place)).encode("utf-8", "surrogatepass")
    return f"call_{blake2s(text, digest_size=12).hexdigest()}"


def kept(said: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Metadata of this API, where there is any."""
    return {NAME: said} if said else {}
