"""What every part of the codec needs of loosely typed JSON: a value when it is of the kind wanted, else nothing."""

from __future__ import annotations

from hashlib import blake2s
from typing import Any, Final

import msgspec

NAME: Final = "openai_chat"


def object_or_empty(value: Any) -> dict[str, Any]:
    """The value where it is an object."""
    return value if isinstance(value, dict) else {}


def list_or_empty(value: Any) -> list[Any]:
    """The value where it is a list."""
    return value if isinstance(value, list) else []


def text_or_none(value: Any) -> str | None:
    """The value where it is a text that says something."""
    return value if isinstance(value, str) and value else None


def count_or_none(value: Any) -> int | None:
    """The value where it is a count."""
    if type(value) is int and 0 <= value < 2**62:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 2**62:
        return None
    return int(value) if int(value) == value and value >= 0 else None


def write_json(value: Any) -> str:
    """A JSON value as compact text; half a character, which no JSON can hold, is told by its number."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return _escaped(value)
    except RecursionError:
        return "(nested too deep to be written)"


def _escaped(value: Any) -> str:
    from json import dumps

    try:
        return dumps(value, separators=(",", ":"))
    except RecursionError:
        return "(nested too deep to be written)"


def of_this_api(metadata: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What this API said beside the typed fields."""
    return metadata.get(NAME) or {}


def beside(values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Metadata of this API, or none where there is nothing to keep."""
    return {NAME: values} if values else {}


def made_id(*place: object) -> str:
    """A call id for a call that has none of its own: the same for the same place, another for any other."""
    written = "\0".join(map(str, place))
    return f"call_{blake2s(written.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"


def signature_of(extra_content: Any) -> str | None:
    """The thought signature Gemini sends beside a message or a call."""
    return text_or_none(object_or_empty(object_or_empty(extra_content).get("google")).get("thought_signature"))


def without_signature(extra_content: dict[str, Any]) -> dict[str, Any]:
    """The same without the signature, which has its own place."""
    google = {key: value for key, value in extra_content["google"].items() if key != "thought_signature"}
    return {**extra_content, "google": google}


def with_signature(extra_content: Any, signature: str) -> dict[str, Any]:
    """The inverse: the signature back where it stood."""
    given = object_or_empty(extra_content)
    return {**given, "google": {**object_or_empty(given.get("google")), "thought_signature": signature}}
