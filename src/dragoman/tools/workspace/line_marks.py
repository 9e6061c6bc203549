"""Short marks of lines: a model names a line by its number and its mark, so a stale number is noticed.

A mark is three hexadecimal digits of the line's text without the white space at its end; a line is named `12:3fa`.
"""

from __future__ import annotations

import re
from zlib import crc32

_NAME = re.compile(r"([0-9]{1,9}):([0-9a-f]{3})")


def mark_of(line: str) -> str:
    """The mark of a line's text."""
    return f"{crc32(line.rstrip().encode('utf-8', 'surrogatepass')) & 0xFFF:03x}"


def line_name(number: int, line: str) -> str:
    """A line by its number (from 1) and its mark: `12:3fa`."""
    return f"{number}:{mark_of(line)}"


def read_line_name(name: str) -> tuple[int, str] | None:
    """The number and the mark in the name of a line, or `None` when it is none."""
    found = _NAME.fullmatch(name.strip())
    return None if found is None else (int(found[1]), found[2])


def with_line_names(text: str, first_line: int = 1, mark: str = "|") -> str:
    """Every line of a text behind its name: `12:3fa|text`. An end of the last line begins no other one."""
    ended = text.endswith("\n")
    lines = text[: -1 if ended else None].split("\n") if text else []
    named = [f"{line_name(number, line)}{mark}{line}" for number, line in enumerate(lines, first_line)]
    return "\n".join(named) + ("\n" if ended else "")
