"""What a caller sends beside what we write: options in the provider's own terms.

Rule: options add. Tools are offered beside ours, objects are merged, and a value of ours that an option replaces is in
the report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from .conversation_order import Remark

_LISTS: Final = ("tools", "functions")
"""Fields of a request that hold the tools: a list of the caller's own comes after ours."""
_VERSION: Final = re.compile(r"(?:_\d{8}|_preview(?:_\d{4}_\d\d_\d\d)?)$")


def merged(ours: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """A body, or options, with further options over it: tools are appended, objects merged, anything else replaced."""
    result = dict(ours)
    for key, value in options.items():
        mine: Any = result.get(key)
        result[key] = [*mine, *value] if _adds(key, mine, value) else _over(mine, value)
    return result


def _adds(key: str, mine: Any, value: Any) -> bool:
    return key in _LISTS and isinstance(mine, list | tuple) and isinstance(value, list | tuple)


def _over(mine: Any, value: Any) -> Any:
    if not isinstance(mine, dict) or not isinstance(value, dict):
        return value
    return {**mine, **{key: _over(mine.get(key), inner) for key, inner in value.items()}}


def with_options(body: dict[str, Any], options: Mapping[str, Any], report: list[Remark]) -> dict[str, Any]:
    """A body with the caller's options over it; what of ours they replace is added to the report."""
    if not options:
        return body
    report += [
        Remark(f"options.{path}", f"it replaces {ours} of this request") for path, ours in _replaced(body, options)
    ]
    return merged(body, options)


def _replaced(body: Mapping[str, Any], options: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for key, value in options.items():
        if key not in body or body[key] == value or (not path and _adds(key, body[key], value)):
            continue
        here = f"{path}{key}"
        if isinstance(body[key], dict) and isinstance(value, dict):
            yield from _replaced(body[key], value, f"{here}.")
        else:
            yield here, _shown(body[key])


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value, enc_hook=repr).decode("utf-8", "replace")
    return text if len(text) <= 80 else f"{text[:80]}…"


class RawTool(msgspec.Struct, frozen=True):
    """A tool in the provider's own terms: what it may be called by, and whether the caller answers its calls."""

    names: tuple[str, ...]
    is_function: bool


def raw_tools(options: Mapping[str, Any]) -> tuple[RawTool, ...]:
    """The tools that options offer beside ours, on whatever API."""
    listed = [entry for key in _LISTS for entry in _entries(options.get(key))]
    return tuple(_raw_tool(entry) for entry in listed)


def _entries(value: Any) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []


def _raw_tool(entry: Mapping[str, Any]) -> RawTool:
    declared = [one for key in ("functionDeclarations", "function_declarations") for one in _entries(entry.get(key))]
    inner = entry.get("function")
    named = [one.get("name") for one in (*declared, *([inner] if isinstance(inner, Mapping) else []), entry)]
    names = [name for name in named if isinstance(name, str)]
    if names:
        is_function = bool(declared) or entry.get("type") in (None, "function", "custom")
        return RawTool(tuple(names), is_function)
    kind = entry.get("type")
    # Gemini's have no type: each is a key of its own (google-genai 3.1).
    kinds = [kind] if isinstance(kind, str) else [_snake(key) for key in entry]
    return RawTool(
        tuple(dict.fromkeys(name for kind in kinds for name in (kind, _VERSION.sub("", kind)))), is_function=False
    )


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", key).lower()
