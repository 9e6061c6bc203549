"""Regular expressions of JSON Schema, which are JavaScript's, as Python writes them.

Rule: a pattern means what ECMA 262 says with Unicode semantics (draft 2020-12, section 6.4): `\\d`, `\\w` and `\\b`
know ASCII alone, `$` is the very end, `\\p{Lu}` is a general category. A pattern that only Python can read
(`(?P<name>…)`, `\\A`, `\\Z`, `(?i)`) was written for Python, and is read as Python's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from unicodedata import category

from dragoman.errors import PatternError, nearest
from dragoman.patterns import Pattern

Ranges = tuple[tuple[int, int], ...]
_LAST: Final = 0x10FFFF
_SPACE: Final[Ranges] = (
    *((0x9, 0xD), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029)),
    *((0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)),
)
_LINE_ENDS: Final = r"\n\r\u2028\u2029"
_PYTHONS: Final = re.compile(r"\(\?(?:P[<=>]|#|\(|>|[aiLmsux]+\))|\\[AZ]")
_ESCAPE: Final = re.compile(
    r"\\(?:c(?P<control>[A-Za-z])|u\{(?P<code>[0-9A-Fa-f]+)\}"
    r"|u(?P<high>[dD][89abAB][0-9A-Fa-f]{2})\\u(?P<low>[dD][c-fC-F][0-9A-Fa-f]{2})"
    r"|(?P<not>[pP])\{(?P<property>[^{}]*)\}|k<(?P<name>[^>]*)>|(?P<space>[sS])|(?P<other>.))",
    re.DOTALL,
)


@lru_cache(maxsize=256)
def compiled_pattern(text: str) -> Pattern:
    """The `Pattern` of a JSON Schema. Raises `PatternError` where it is none, or names what is not known here."""
    return Pattern(as_python(text), written=text)


def as_python(text: str) -> str:
    """A JSON Schema's pattern in Python's syntax."""
    for found in re.finditer(r"\\.|\(\?[^:=!<]*", text, re.DOTALL):
        if _PYTHONS.match(text, found.start()):
            return text
    out: list[str] = []
    place = 0
    while place < len(text):
        character = text[place]
        escape = _ESCAPE.match(text, place)
        if character == "[":
            piece, place = _class(text, place)
        elif escape is not None:
            piece, place = _escaped(escape, text), escape.end()
        elif text.startswith("(?<", place) and text[place + 3 : place + 4] not in ("=", "!"):
            piece, place = "(?P<", place + 3
        else:
            piece, place = {".": f"[^{_LINE_ENDS}]", "$": r"\Z"}.get(character, character), place + 1
        out.append(piece)
    return f"(?a:{''.join(out)})"


def _escaped(found: re.Match[str], text: str) -> str:
    if found["name"] is not None:
        return f"(?P={found['name']})"
    ranges = _ranges(found, text)
    if ranges is not None:
        return f"[{_written(ranges)}]" if ranges else "(?!)"
    return _single(found)


def _single(found: re.Match[str]) -> str:
    """An escape that stands for one character, or that Python has too."""
    if found["control"]:
        return re.escape(chr(ord(found["control"]) % 32))
    if found["code"]:
        number = int(found["code"], 16)
        return re.escape(chr(number)) if number <= _LAST else found[0]
    if found["high"]:
        return re.escape(chr(0x10000 + ((int(found["high"], 16) & 0x3FF) << 10) + (int(found["low"], 16) & 0x3FF)))
    return found[0]


def _class(text: str, start: int) -> tuple[str, int]:
    """A class of characters, and where it ends. One that does not end is left for Python to refuse."""
    place = start + 1
    negated = text.startswith("^", place)
    place += negated
    out: list[str] = []
    after_set = False
    while place < len(text) and text[place] != "]":
        found = _ESCAPE.match(text, place)
        ranges = _ranges(found, text) if found else None
        is_set = ranges is not None or (found is not None and found["other"] in tuple("dDwW"))
        if found is not None:
            out.append(_written(ranges) if ranges is not None else _single(found))
            place = found.end()
        elif text[place] == "-" and (after_set or _is_set(text, place + 1)):
            out.append(r"\-")  # no range begins or ends with a set
            place += 1
        else:
            out.append(re.escape(text[place]) if text[place] in "[&~|" else text[place])
            place += 1
        after_set = is_set
    inner = "".join(out)
    if place >= len(text):
        return text[start:], len(text)
    if not inner:
        return (r"[\s\S]" if negated else "(?!)"), place + 1
    return f"[{'^' if negated else ''}{inner}]", place + 1


def _is_set(text: str, place: int) -> bool:
    return re.match(r"\\[dDwWsSpP]", text[place : place + 2]) is not None


def _ranges(found: re.Match[str], text: str) -> Ranges | None:
    """The characters of an escape that stands for several; `None` for one that Python reads alike."""
    if found["space"]:
        return _SPACE if found["space"] == "s" else _complement(_SPACE)
    if found["property"] is None:
        return None
    ranges = _property(found["property"], text)
    return ranges if found["not"] == "p" else _complement(ranges)


def _written(ranges: Iterable[tuple[int, int]]) -> str:
    return "".join(f"{_code(first)}-{_code(last)}" if last > first else _code(first) for first, last in ranges)


def _code(number: int) -> str:
    return f"\\U{number:08x}"


def _complement(ranges: Ranges) -> Ranges:
    edges = [-1, *(edge for first, last in ranges for edge in (first, last)), _LAST + 1]
    gaps = ((edges[at] + 1, edges[at + 1] - 1) for at in range(0, len(edges), 2))
    return tuple((first, last) for first, last in gaps if first <= last)


# ── properties ───────────────────────────────────────────────────────────────

_CATEGORIES: Final = {
    "letter": "L", "cased_letter": "LC", "uppercase_letter": "Lu", "lowercase_letter": "Ll", "titlecase_letter": "Lt",
    "modifier_letter": "Lm", "other_letter": "Lo", "mark": "M", "combining_mark": "M", "nonspacing_mark": "Mn",
    "spacing_mark": "Mc", "enclosing_mark": "Me", "number": "N", "decimal_number": "Nd", "digit": "Nd",
    "letter_number": "Nl", "other_number": "No", "punctuation": "P", "punct": "P", "connector_punctuation": "Pc",
    "dash_punctuation": "Pd", "open_punctuation": "Ps", "close_punctuation": "Pe", "initial_punctuation": "Pi",
    "final_punctuation": "Pf", "other_punctuation": "Po", "symbol": "S", "math_symbol": "Sm", "currency_symbol": "Sc",
    "modifier_symbol": "Sk", "other_symbol": "So", "separator": "Z", "space_separator": "Zs", "line_separator": "Zl",
    "paragraph_separator": "Zp", "other": "C", "control": "Cc", "cntrl": "Cc", "format": "Cf", "surrogate": "Cs",
    "private_use": "Co", "unassigned": "Cn",
}  # fmt: skip
_SHORT: Final = frozenset(_CATEGORIES.values())


def _property(named: str, pattern: str) -> Ranges:
    """The characters of a property: a general category, or one of few others."""
    key, equals, value = named.partition("=")
    if equals and key in ("gc", "General_Category"):
        named = value
    short = named if named in _SHORT else _CATEGORIES.get(named.lower())
    if short is not None:
        return _of_category(short)
    if named in _OTHERS:
        return _OTHERS[named]
    near = nearest(named, [*_SHORT, *map(str.title, _CATEGORIES)])
    problem = f"names the Unicode property {named!r}; only general categories (L, Lu, Nd, …) are known.{near}"
    raise PatternError(pattern, problem)


_OTHERS: Final[dict[str, Ranges]] = {
    "Any": ((0, _LAST),),
    "ASCII": ((0, 0x7F),),
    "White_Space": (*((0x9, 0xD), (0x20, 0x20), (0x85, 0x85)), *_SPACE[2:-1]),
    "ASCII_Hex_Digit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}


@lru_cache(maxsize=40)
def _of_category(short: str) -> Ranges:
    """Half a second of work for the first pattern that names it."""
    wanted = ("Lu", "Ll", "Lt") if short == "LC" else (short,)
    found: list[tuple[int, int]] = []
    first: int | None = None
    for number in range(_LAST + 2):
        belongs = number <= _LAST and category(chr(number)).startswith(wanted)
        if belongs and first is None:
            first = number
        elif not belongs and first is not None:
            found.append((first, number - 1))
            first = None
    return tuple(found)
