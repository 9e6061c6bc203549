"""JSON in texts, written, read and converted, also where it holds half a surrogate pair.

A model, a program or a log may well say half a character. UTF-8 has no bytes for it and JSON only an escape, so
msgspec refuses to write and to read it, and to look at a key with it, with an error of another kind than it states
(`UnicodeEncodeError`). Whatever others wrote is read with these functions.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")


def json_text(value: Any) -> str:
    """A value of the model, or any JSON value, as compact JSON."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        from json import dumps

        return dumps(msgspec.to_builtins(value), separators=(",", ":"))


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
