"""Settings of other programs in JSON, changed in place: comments, order and spacing of all else stay as they are."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

from dragoman.errors import ConfigError

_BLANK: Final = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_TEXT: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_OTHER: Final = re.compile(r"[-+.\w]+")


class Part(NamedTuple):
    """A value, and where it is in the text."""

    start: int
    end: int
    value: Any
    """A dict of parts, a list of parts, or the value itself."""


def read_json(text: str) -> Part:
    """The parts of a JSON text that may have comments and trailing commas; `ConfigError` for anything else."""
    part, place = _value(text, _blank(text, 0), 0)
    if _blank(text, place) != len(text):
        raise ConfigError(f"it is not JSON: there is more behind the end, at character {place}")
    return part


def plain(part: Part) -> Any:
    """The value of a part without places."""
    if isinstance(part.value, dict):
        return {name: plain(one) for name, one in part.value.items()}
    return [plain(one) for one in part.value] if isinstance(part.value, list) else part.value


def added(text: str, keys: tuple[str, ...], entry: Any) -> str:
    """The text with an entry at the end of the list below these keys; what is missing on the way is made."""
    if not text.strip():
        text = "{}\n"
    part = read_json(text)
    for place, key in enumerate(keys):
        if not isinstance(part.value, dict):
            raise ConfigError(f'"{".".join(keys[:place])}" is no object')
        if key not in part.value:
            made: Any = [entry]
            for outer in reversed(keys[place + 1 :]):
                made = {outer: made}
            return _inserted(text, part, f"{json.dumps(key)}: {_written(made, text, part)}")
        part = part.value[key]
    if not isinstance(part.value, list):
        raise ConfigError(f'"{".".join(keys)}" is no list')
    return _inserted(text, part, _written(entry, text, part))


def removed(text: str, keys: tuple[str, ...], mark: str) -> str:
    """The text without the entries of the list below these keys in which a text has `mark` in it."""
    while True:
        part = read_json(text)
        for key in keys:
            if not isinstance(part.value, dict) or key not in part.value:
                return text
            part = part.value[key]
        entries = part.value if isinstance(part.value, list) else []
        found = next((place for place, one in enumerate(entries) if mark in json.dumps(plain(one))), None)
        if found is None:
            return text
        if len(entries) == 1:
            start, end = part.start + 1, part.end - 1
        elif found:
            start, end = entries[found - 1].end, entries[found].end
        else:
            start, end = entries[0].start, entries[1].start
        text = text[:start] + text[end:]


def _indent_of(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip())]


def _written(value: Any, text: str, around: Part) -> str:
    indent = _indent_of(text, around.start) + "  "
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", f"\n{indent}")


def _inserted(text: str, around: Part, written: str) -> str:
    inside = list(around.value.values()) if isinstance(around.value, dict) else around.value
    indent = _indent_of(text, around.start)
    if not inside:
        return f"{text[: around.start + 1]}\n{indent}  {written}\n{indent}{text[around.end - 1 :]}"
    last = inside[-1].end
    comma = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*,", re.DOTALL).match(text, last)
    end = comma.end() if comma else last
    return f"{text[:end]}{'' if comma else ','}\n{indent}  {written}{text[end:]}"


def _blank(text: str, place: int) -> int:
    found = _BLANK.match(text, place)
    return found.end() if found else place


def _value(text: str, place: int, depth: int) -> tuple[Part, int]:
    opening = text[place : place + 1]
    if depth > 100:
        raise ConfigError("it is too deeply nested")
    if opening in ("{", "["):
        return _several(text, place, depth)
    found = _TEXT.match(text, place) if opening == '"' else _OTHER.match(text, place)
    try:
        value = json.loads(found[0]) if found else None
    except ValueError:
        found = None
    if found is None:
        raise ConfigError(f"it is not JSON at character {place}")
    return Part(place, found.end(), value), found.end()


def _several(text: str, start: int, depth: int) -> tuple[Part, int]:
    is_object = text[start] == "{"
    named: dict[str, Part] = {}
    listed: list[Part] = []
    place = _blank(text, start + 1)
    while text[place : place + 1] != ("}" if is_object else "]"):
        name = None
        if is_object:
            key, place = _value(text, place, depth + 1)
            name = key.value
            place = _blank(text, place)
            if not isinstance(name, str) or text[place : place + 1] != ":":
                raise ConfigError(f"it is not JSON at character {place}")
            place = _blank(text, place + 1)
        part, place = _value(text, place, depth + 1)
        if name is not None:
            named[name] = part
        else:
            listed.append(part)
        place = _blank(text, place)
        if text[place : place + 1] == ",":
            place = _blank(text, place + 1)
        elif text[place : place + 1] != ("}" if is_object else "]"):
            raise ConfigError(f"it is not JSON at character {place}")
    return Part(start, place + 1, named if is_object else listed), place + 1
