"""TOML text as plain values, with the line of each key.

Rule: reading takes time that grows with the text. `tomllib` needs time that grows with the square of the number of
parts of a dotted key, so a key with very many parts is refused before it is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

TextPlace = tuple[str | int, ...]
"""Keys and indexes that lead to a value: `("tools", 0, "name")`."""

MOST_PARTS: Final = 100
"""Parts a dotted key may have."""

# Each part matches from its first character on, ended or not, so that no text is looked at twice.
_STRING_OR_COMMENT: Final = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*(?:"""|\\?\Z)'
    r"|'''(?:[^']|'(?!''))*(?:'''|\Z)"
    r'|"(?:[^"\\\n]|\\.)*"?'
    r"|'[^'\n]*'?"
    r"|#[^\n]*",
    re.DOTALL,
)
_MULTI_LINE: Final = re.compile(r"\"\"\"|'''")


def read_toml(text: str) -> tuple[dict[str, Any], dict[TextPlace, int]]:
    """The values of a text, and the line each key is written on; a key in an inline table is on the line of its table.

    Raises `ValueError` where the text is not TOML, and `RecursionError` where it is nested too deeply.
    """
    import tomllib  # costs as much as all of msgspec's own Python: only when there is a file

    _check_parts(text)
    return tomllib.loads(text), _lines_of_keys(text)


def _check_parts(text: str) -> None:
    bare = _STRING_OR_COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    for number, line in enumerate(bare.split("\n"), 1):
        if line.count(".") > MOST_PARTS:
            raise ValueError(f"more than {MOST_PARTS} dots in keys or numbers (at line {number}, column 1)")


def _lines_of_keys(text: str) -> dict[TextPlace, int]:
    """Each line is read by itself: `tomllib` keeps no positions, and a second parser could disagree with it."""
    lines: dict[TextPlace, int] = {}
    counts: dict[TextPlace, int] = {}
    table: TextPlace = ()
    in_string = False
    for number, line in enumerate(text.split("\n"), 1):
        keys = () if in_string else _keys_of(line.strip())
        in_string ^= len(_MULTI_LINE.findall(line)) % 2 == 1
        if not keys:
            continue
        if not line.lstrip().startswith("["):
            lines.setdefault((*table, *keys), number)
            continue
        table = (*_numbered(keys[:-1], counts), keys[-1])
        if line.lstrip().startswith("[["):
            counts[table] = counts.get(table, -1) + 1
            table = (*table, counts[table])
        lines.setdefault(table, number)
    return lines


def _keys_of(line: str) -> tuple[str, ...]:
    """The keys that a line begins with, as a header or before its value; none where it is something else."""
    import tomllib

    try:
        data: Any = tomllib.loads(line if line.startswith("[") else f"{line.partition('=')[0]}=0")
    except (ValueError, RecursionError):
        return ()
    keys: list[str] = []
    while data and isinstance(data, dict | list):
        if isinstance(data, list):
            data = data[0]
            continue
        key, data = next(iter(data.items()))
        keys.append(key)
    return tuple(keys)


def _numbered(keys: tuple[str, ...], counts: Mapping[TextPlace, int]) -> TextPlace:
    """A header's keys with the index of the last element of each list they go through."""
    place: TextPlace = ()
    for key in keys:
        place = (*place, key)
        if place in counts:
            place = (*place, counts[place])
    return place
