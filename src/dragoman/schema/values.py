"""Plain JSON values: whether a value is one, how one is shown and where it stands, and what a result is as one."""

from __future__ import annotations

import enum
import math
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from .custom_types import is_path, is_pydantic

# A path is () or (path of the parent, key): cheap to extend, written out only in a message.
Path = tuple[Any, ...]
Problems = list[tuple[str, str]]

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def written(path: Path) -> str:
    """`filters[2].op`; a key that is no identifier stands in brackets."""
    parts: list[str] = []
    while path:
        path, key = path
        if isinstance(key, str) and _IDENTIFIER.fullmatch(key):
            if not path and not parts:
                return key
            parts.append(f".{key}")
        else:
            parts.append(f"[{shown(key)}]")
    return "".join(reversed(parts)).removeprefix(".")


def head(path: Path) -> str:
    """The name that a path begins with; of the whole, an empty one."""
    while path and path[0]:
        path = path[0]
    return str(path[1]) if path else ""


def written_parts(parts: Iterable[Any]) -> str:
    path: Path = ()
    for part in parts:
        path = (path, part)
    return written(path)


def shown(value: Any) -> str:
    """A value as JSON, cut to what a message can bear."""
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text)} characters)"


def type_of(value: Any) -> str:
    """What JSON Schema calls a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
    return "object"


def same(one: Any, other: Any) -> bool:
    """Equality as JSON has it: 1 is 1.0, true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return bool(one == other)


def among(value: Any, values: Iterable[Any]) -> bool:
    """Whether values hold one, as JSON has it."""
    return any(same(value, other) for other in values)


# ── is it JSON? ──────────────────────────────────────────────────────────────


def json_problems(value: Any) -> Problems:
    """Every reason, as (path, message), why a Python value is not plain JSON."""
    if _is_plain(value):
        return []
    problems: Problems = []
    try:
        _gather(value, (), problems)
    except RecursionError:
        return [("", "is nested too deeply")]
    return problems


_MANY = 10_000


def _is_plain(value: Any) -> bool:
    """Whether a value is JSON for certain: small, of JSON's own types, its texts ASCII."""
    left = [value]
    for value in left:
        kind = type(value)
        if kind is str:
            if not value.isascii():
                return False
        elif kind is dict:
            for key in value:
                if type(key) is not str or not key.isascii():
                    return False
            left.extend(value.values())
        elif kind is list:
            left.extend(value)
        elif kind is float:
            if not math.isfinite(value):
                return False
        elif value is not None and kind is not int and kind is not bool:
            return False
        if len(left) > _MANY:
            return False
    return True


def _gather(value: Any, path: Path, problems: Problems) -> None:
    kind = type(value)
    if kind is str:
        if not value.isascii() and _has_lone_surrogate(value):
            problems.append((written(path), "holds half a surrogate pair, which is no text"))
    elif kind is int or kind is bool or value is None:
        return
    elif kind is float:
        if not math.isfinite(value):
            problems.append((written(path), f"is {value}, which JSON cannot say"))
    elif kind is dict or isinstance(value, Mapping):
        for key, item in value.items():
            if type(key) is not str:
                problems.append((written(path), f"has the key {shown(key)}, which is no text"))
            else:
                _gather(key, (path, key), problems)
                _gather(item, (path, key), problems)
    elif kind is list or kind is tuple:
        for index, item in enumerate(value):
            _gather(item, (path, index), problems)
    else:
        problems.append((written(path), f"is of the type `{kind.__name__}`, which is not JSON"))


def _has_lone_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


# ── what a tool returned → JSON ──────────────────────────────────────────────


def _say_custom(value: Any, room: _Room) -> Any:
    if is_pydantic(type(value)):
        return value.model_dump(mode="json")
    if is_path(type(value)):
        return str(value)
    if isinstance(value, BaseException):
        raise TypeError("an exception is raised, not returned")
    if isinstance(value, Collection):
        room.check(len(value))
        return list(value)
    raise TypeError("it has no JSON form")


class TooLarge(ValueError):
    """A value is larger than what was asked for."""


class _Room:
    """The size a value may still have, counted while it is converted, so that an endless one is stopped in time."""

    __slots__ = ("left",)

    def __init__(self, most: int | None) -> None:
        self.left = sys.maxsize if most is None else most

    def take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise TooLarge

    def check(self, size: int) -> None:
        if size > self.left:
            raise TooLarge


_EACH = 16
"""What a value counts beside its characters: it takes memory and time, however short it is."""
_LONGEST_NUMBER = 4_300 * 3
"""Bits of a number that Python still writes out, whatever it is set to: at most 4,300 digits."""


def to_json(value: Any, *, most: int | None = None) -> Any:
    """Whatever a tool returned, as plain JSON: the same value always gives the same JSON.

    Sets are sorted; a number that JSON cannot say becomes its name ("NaN"), half a surrogate pair
    a question mark. Raises `TypeError` naming the place of what cannot be said, and `TooLarge` for what has more than
    `most` characters, or thereabouts.
    """
    try:
        return _plain(value, (), _Room(most))
    except RecursionError as error:
        raise TypeError("the result is nested too deeply, or holds itself") from error


def to_text(value: Any) -> str:
    """What a tool returned as text for a model: a string unchanged, `None` as an empty text, the rest as JSON."""
    if value is None:
        return ""
    plain = to_json(value)
    return plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()


def _plain(value: Any, path: Path, room: _Room) -> Any:
    room.take(_EACH)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return _plain(value.value, path, room)
    if isinstance(value, str):
        room.take(len(value))
        broken = not value.isascii() and _has_lone_surrogate(value)
        return value.encode(errors="replace").decode() if broken else str(value)
    if isinstance(value, int):
        if value.bit_length() > _LONGEST_NUMBER:
            raise TypeError(f"{written(path) or 'the result'}: a number with so many digits cannot be said in JSON")
        return int(value)
    if isinstance(value, float):
        names = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
        return float(value) if math.isfinite(value) else names[str(float(value))]
    if isinstance(value, (list, tuple)):
        return [_plain(item, (path, index), room) for index, item in enumerate(value)]
    if isinstance(value, (set, frozenset)):
        items = [_plain(item, path, room) for item in value]
        return sorted(items, key=lambda item: msgspec.json.encode(item, order="sorted"))
    if isinstance(value, Mapping):
        return {_plain_key(key, path, room): _plain(item, (path, key), room) for key, item in value.items()}
    if isinstance(value, (bytes, bytearray, memoryview)):
        room.check(len(value))
    try:
        plain = msgspec.to_builtins(
            value, str_keys=True, order="deterministic", enc_hook=lambda custom: _say_custom(custom, room)
        )
    except TooLarge:
        raise
    except (TypeError, ValueError) as error:
        place = written(path) or "the result"
        raise TypeError(f"{place}: `{type(value).__name__}` cannot be said in JSON ({error})") from error
    return _plain(plain, path, room)


def _plain_key(key: Any, path: Path, room: _Room) -> str:
    if type(key) is str:
        return str(_plain(key, path, room))
    try:
        (text,) = msgspec.to_builtins({key: None}, str_keys=True)
    except TypeError as error:
        place = written(path) or "the result"
        raise TypeError(f"{place}: `{type(key).__name__}` cannot be the key of a JSON object") from error
    return str(text)
