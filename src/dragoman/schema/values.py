"""Plain JSON values: whether a value is one, how one is shown and where it stands, and what a result is as one."""

from __future__ import annotations

import enum
import math
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, cast

import msgspec

from .classes import class_info, has_fields

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


# ── types of other libraries ─────────────────────────────────────────────────


def is_pydantic(cls: Any) -> bool:
    """Whether a class is a pydantic model. pydantic is never loaded to find out: a model's author has loaded it."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(cls, type) and issubclass(cls, pydantic.BaseModel)


def is_path(cls: Any) -> bool:
    pathlib = sys.modules.get("pathlib")
    return pathlib is not None and isinstance(cls, type) and issubclass(cls, pathlib.PurePath)


def read_custom(kind: Any, value: Any) -> Any:
    """Read what msgspec leaves to others: pydantic's models, by their own strict rules, and paths."""
    if kind is object:
        return value
    if is_pydantic(kind):
        # Strict, and from JSON: its own silent coercions would go unreported, and a date is a text here.
        return kind.model_validate_json(msgspec.json.encode(value), strict=True)
    if is_path(kind) and isinstance(value, str):
        return kind(value)
    if isinstance(kind, type) and issubclass(kind, AnyOf):
        return _read_any(kind, value)
    raise TypeError(f"Expected `{getattr(kind, '__name__', kind)}`, got `{type(value).__name__}`")


# ── unions that msgspec does not decode ──────────────────────────────────────
# Of several classes without a tag, or with a class of another library. A class that knows every field is tried
# before one that would drop some of them; otherwise members are tried in the order in which they were written.


class _OfAll(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return True  # msgspec asks whether its hook gave what was wanted; a value of any member is that


class AnyOf(metaclass=_OfAll):
    """Stands for a union where msgspec is told what to decode: a class that it leaves to its hook."""

    members: ClassVar[tuple[Any, ...]]


def any_of(members: Sequence[Any]) -> type[AnyOf]:
    """The class that stands for a union of these."""
    return cast("type[AnyOf]", _OfAll("AnyOf", (AnyOf,), {"members": tuple(members)}))


def decodes(hint: Any) -> bool:
    """Whether msgspec decodes a union as it is. What is wrong beside that is told where types are checked."""
    try:
        msgspec.json.Decoder(hint, dec_hook=read_custom)
    except TypeError as error:
        return "union" not in str(error)
    except Exception:  # noqa: BLE001 - whatever it is, it is not that it is a union
        return True
    return True


def _read_any(kind: type[AnyOf], value: Any) -> Any:
    """The value as the first of the members that takes it."""
    keys = value.keys() if isinstance(value, dict) else None
    reasons = []
    for member in sorted(kind.members, key=lambda member: keys is None or not keys <= _names(member)):
        try:
            return msgspec.convert(value, member, str_keys=True, dec_hook=read_custom)
        except msgspec.ValidationError as error:
            reasons.append(str(error))
    raise ValueError("\nor ".join(reasons))


def _names(member: Any) -> set[str]:
    """The fields of a class, by the names they have in JSON."""
    if has_fields(member):
        return {field.name for field in class_info(member).fields}
    fields = getattr(member, "model_fields", {})  # pydantic's
    return {alias for name, field in fields.items() for alias in (name, field.alias, field.validation_alias) if alias}


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


# ── what a tool returned → JSON ──────────────────────────────────────────────


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
