"""Settings of other programs in JSON, changed in place: comments, order and spacing of all else stay as they are."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

from dragoman.errors import ConfigError

_IGNORED: Final = r"(?>\s+|//[^\n]*|/\*.*?\*/)*+"
"""Atomic: a comment ends at its first end, and a comma in it is none."""
_BLANK: Final = re.compile(_IGNORED, re.DOTALL)
_TEXT: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_COMMA: Final = re.compile(f"{_IGNORED},", re.DOTALL)
_OTHER: Final = re.compile(r"[-+.\w]+")


class Part(NamedTuple):
    """A value, and where it is in the text."""

    start: int
    end: int
    value: Any
    """A dict of parts, a list of parts, or the value itself."""
    named: int = -1
    """Where its name begins, in an object."""


def read_json(text: str) -> Part:
    """The parts of a JSON text that may have comments and trailing commas; `ConfigError` for anything else."""
    part, place = _value(text, _blank(text, text.startswith("\ufeff")), 0)  # a mark of the byte order
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
    if not text.strip("\ufeff \t\r\n"):
        text = f"{text}{{}}\n"
    part = read_json(text)
    for place, key in enumerate(keys):
        if not isinstance(part.value, dict):
            named = f'"{".".join(keys[:place])}"' if place else "what it holds"
            raise ConfigError(f"{named} is no object")
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
    """The text without the entries of the list below these keys in which a text has `mark` in it. Of an entry that has
    a list of its own, only what has the mark goes, if there is anything else in that list."""
    while True:
        part = read_json(text)
        for key in keys:
            if not isinstance(part.value, dict) or key not in part.value:
                return text
            part = part.value[key]
        found = _marked(part, mark)
        if found is None:
            return text
        text = _without(text, *found)


def without_empty(text: str, keys: tuple[str, ...]) -> str:
    """The text without the member of an object below these keys, if it holds nothing."""
    around, part = None, read_json(text)
    for key in keys:
        if not isinstance(part.value, dict) or key not in part.value:
            return text
        around, part = part, part.value[key]
    if around is None or part.value or not isinstance(part.value, dict | list) or text[part.start + 1 : part.end - 1]:
        return text
    members = sorted((Part(one.named, one.end, None) for one in around.value.values()), key=lambda one: one.start)
    place = next(place for place, one in enumerate(members) if one.start == part.named)
    text = _without(text, Part(around.start, around.end, members), place)
    empty = re.compile(r"\{\s*\}").match(text, around.start)
    return text if empty is None else f"{text[: around.start]}{{}}{text[empty.end() :]}"


def _without(text: str, around: Part, place: int) -> str:
    """The text without one entry of a list, and without one comma; comments stay."""
    entry = around.value[place]
    at = entry.start
    comma = _COMMA.match(text, entry.end)
    if comma is not None:
        text = text[: comma.end() - 1] + text[comma.end() :]
    text = text[: entry.start] + text[entry.end :]
    earlier = _COMMA.match(text, around.value[place - 1].end) if place and comma is None else None
    if earlier is not None:
        gap = text[earlier.end() : at]
        text, at = text[: earlier.end() - 1] + text[at if not gap.strip() else earlier.end() :], at - 1
        at -= len(gap) if not gap.strip() else 0
    first, last = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    if first and last >= 0 and not text[first:last].strip():
        text = text[:first] + text[last + 1 :]
    empty = re.compile(r"\[\s*\]").match(text, around.start)
    return text if empty is None else f"{text[: around.start]}[]{text[empty.end() :]}"


def _marked(part: Part, mark: str) -> tuple[Part, int] | None:
    """The list, and the place in it, of what is to be removed."""
    entries = part.value if isinstance(part.value, list) else []
    for place, one in enumerate(entries):
        if mark not in json.dumps(plain(one)):
            continue
        inner = one.value.values() if isinstance(one.value, dict) else ()
        for list_in_it in inner:
            if isinstance(list_in_it.value, list) and len(list_in_it.value) > 1:
                found = _marked(list_in_it, mark)
                if found is not None:
                    return found
        return part, place
    return None


def _indent_of(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip())]


def _written(value: Any, text: str, around: Part) -> str:
    indent = _indent_of(text, around.start) + "  "
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", f"\n{indent}")


def _inserted(text: str, around: Part, written: str) -> str:
    line = "\r\n" if "\r\n" in text else "\n"
    written = written.replace("\n", line)
    inside = list(around.value.values()) if isinstance(around.value, dict) else around.value
    indent = _indent_of(text, around.start)
    if not inside:
        comments = text[around.start + 1 : around.end - 1].strip()
        below = f"{line}{indent}{comments}" if comments else ""
        return f"{text[: around.start + 1]}{line}{indent}  {written}{below}{line}{indent}{text[around.end - 1 :]}"
    last = max(one.end for one in inside)  # of two members with one name, the last has the place of the first
    comma = _COMMA.match(text, last)
    end = comma.end() if comma else last
    return f"{text[:end]}{'' if comma else ','}{line}{indent}  {written}{text[end:]}"


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
    is_object, begin = text[start] == "{", start
    named: dict[str, Part] = {}
    listed: list[Part] = []
    place = _blank(text, start + 1)
    while text[place : place + 1] != ("}" if is_object else "]"):
        name = None
        if is_object:
            begin = place
            key, place = _value(text, place, depth + 1)
            name = key.value
            place = _blank(text, place)
            if not isinstance(name, str) or text[place : place + 1] != ":":
                raise ConfigError(f"it is not JSON at character {place}")
            place = _blank(text, place + 1)
        part, place = _value(text, place, depth + 1)
        if name is not None:
            named[name] = part._replace(named=begin)
        else:
            listed.append(part)
        place = _blank(text, place)
        if text[place : place + 1] == ",":
            place = _blank(text, place + 1)
        elif text[place : place + 1] != ("}" if is_object else "]"):
            raise ConfigError(f"it is not JSON at character {place}")
    return Part(start, place + 1, named if is_object else listed), place + 1
