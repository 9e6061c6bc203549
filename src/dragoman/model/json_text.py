"""JSON in texts, written, read and converted, also where it holds half a surrogate pair.

A model, a program or a log may well say half a character. UTF-8 has no bytes for it and JSON only an escape, so
msgspec refuses to write and to read it, and to look at a key with it, with an error of another kind than it states
(`UnicodeEncodeError`). Whatever others wrote is read with these functions.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar, overload

import msgspec

T = TypeVar("T")


def json_text(value: Any, *, too_deep: str | None = None) -> str:
    """A value of the model, or any JSON value, as compact JSON. With `too_deep`, that instead of a `RecursionError`."""
    try:
        try:
            return msgspec.json.encode(value).decode()
        except UnicodeEncodeError:
            from json import dumps

            return dumps(msgspec.to_builtins(value), separators=(",", ":"))
    except RecursionError:
        if too_deep is None:
            raise
        return too_deep


def whole_json(value: Any) -> bytes:
    """A value as JSON in which each half of a character is U+FFFD, for readers that refuse to read half of one."""
    from json import dumps

    text = dumps(msgspec.to_builtins(value), separators=(",", ":"), ensure_ascii=False)
    # Halves are in strings alone; two that belong together are one character.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


@overload
def read_json(text: str) -> Any: ...


@overload
def read_json(text: str, type: type[T]) -> T: ...


@overload
def read_json(text: str, type: Any) -> Any: ...


def read_json(text: str, type: Any = Any) -> Any:
    """What a text says in JSON; `msgspec.DecodeError` when it is no JSON or not of this type."""
    try:
        return msgspec.json.decode(text, type=type)
    except UnicodeEncodeError:
        from json import loads

        try:
            return msgspec.convert(loads(text), type)
        except (ValueError, RecursionError) as error:
            raise msgspec.DecodeError(str(error)) from error
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error


@overload
def converted(value: Any, type: type[T]) -> T: ...


@overload
def converted(value: Any, type: Any) -> Any: ...


def converted(value: Any, type: Any) -> Any:
    """A JSON value as this type; `msgspec.ValidationError` when it is not of it."""
    try:
        return msgspec.convert(value, type)
    except UnicodeEncodeError as error:
        raise msgspec.ValidationError("a key or a word holds half a surrogate pair") from error
    except RecursionError as error:
        raise msgspec.ValidationError("it is nested too deeply") from error


DEEPEST: Final = 100
"""Levels of JSON that a provider may send. Python can read some 900, but what is done with a value afterwards (checks,
records, masks) takes several frames of the stack for each level, and would fail where nobody expects it."""


def is_too_deep(value: Any, written: str | bytes) -> bool:
    """Whether a value that was written like this has more than `DEEPEST` levels."""
    brackets = written.count("{") + written.count("[") if isinstance(written, str) else _brackets(written)
    if brackets <= DEEPEST:
        return False
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        below = (inner for one in level for inner in (one.values() if isinstance(one, dict) else one))
        level = [inner for inner in below if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _brackets(written: bytes) -> int:
    return written.count(b"{") + written.count(b"[")
