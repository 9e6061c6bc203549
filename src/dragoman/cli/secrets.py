"""Keys and passwords that are known here, and texts, events and exchanges without them.

Rule: what is written down or shown beside a run never holds a value of the settings or the environment that is secret.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

if TYPE_CHECKING:
    from dragoman.config import Configuration

Kept = TypeVar("Kept", bound=msgspec.Struct)

_SHORTEST: Final = 8
MASK: Final = "********"


def secrets_of(configuration: Configuration, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Every text that is a secret here: those of the settings, and what the environment calls by such a name."""
    from dragoman.logs import SECRET_WORDS

    found = {value for name, value in environment.items() if any(word in name.upper() for word in SECRET_WORDS)}
    found |= set(_secret_settings(configuration.settings))
    return tuple(sorted((one.strip() for one in found if len(one.strip()) >= _SHORTEST), key=len, reverse=True))


def _secret_settings(value: Any) -> Iterator[str]:
    from dragoman.config import Secret

    if isinstance(value, Secret):
        yield value.reveal()
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _secret_settings(getattr(value, name))
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _secret_settings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _secret_settings(one)


def redacted(text: str, secrets: tuple[str, ...]) -> str:
    """Text without the secrets."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text


def without_secrets(value: Kept, secrets: tuple[str, ...]) -> Kept:
    """The same event, or whatever it is, with no secret in any of its texts; the thing itself where there was none."""
    try:
        written = msgspec.json.encode(value)
    except UnicodeEncodeError:  # a half surrogate somewhere: looked at text by text
        written = None
    if written is not None and not any(msgspec.json.encode(secret)[1:-1] in written for secret in secrets):
        return value
    from dragoman.logs import texts_changed

    return texts_changed(value, lambda text: redacted(text, secrets))
