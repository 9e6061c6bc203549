"""Matches as lines with their numbers, and lines around them: what every search tool prints in a form of its own.

A vocabulary says how one line is written and read; which lines belong to which match is found here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from dragoman.model import outcomes as out


class MatchLine(NamedTuple):
    """One line of a result: of a match, or around one."""

    path: str
    number: int | None
    matched: bool
    text: str


Line = tuple[str, int | None, bool, str]
"""What a `MatchLine` holds: results have thousands of them, and those without names are made in a fifth of the time."""


def lines_of(match: out.Match, first: int | None = None) -> Iterator[MatchLine]:
    """The lines of a match and those around it. `first` is the number of a match whose line is not known."""
    line = first if match.line is None else match.line
    matched = (match.text or "").split("\n")
    texts = [*match.before, *matched, *match.after]
    for index, text in enumerate(texts, -len(match.before)):
        yield MatchLine(match.path, None if line is None else line + index, 0 <= index < len(matched), text)


def matches_in(lines: Iterable[Line | None], within: int | None = None) -> tuple[out.Match, ...] | None:
    """The matches that lines show, one per matching line; `None` where there are lines and no match.

    `None` among the lines separates two stretches of a file. A line around a match belongs to the one before it if it
    follows there (and is one of the `within` lines that were asked for), else to the one after it.
    """
    found: list[tuple[str, int | None, str, list[str], list[str]]] = []
    before: list[str] = []
    after: list[str] | None = None
    path: str | None = None
    last: int | None = None
    line: Line | None = None
    for line in lines:
        if line is None:
            before, after, path = [], None, None
            continue
        its, number, matched, text = line
        if its != path:
            before, after, path = [], None, its
        if matched:
            after, last = [], number
            found.append((its, number, text, before, after))
            before = []
        elif after is not None and not before and _follows(last, len(after), number, within):
            after.append(text)
        else:
            before.append(text)
    if not found and line is not None:
        return None
    return tuple([out.Match(its, number, text, tuple(pre), tuple(post)) for its, number, text, pre, post in found])


def _follows(match: int | None, shown: int, number: int | None, within: int | None) -> bool:
    """Whether a line follows the match with that number, of which so many lines were shown after it."""
    if within is not None and shown >= within:
        return False
    return number is None or match is None or number == match + shown + 1


# ── as search tools print them ───────────────────────────────────────────────


def by_mode(matches: Sequence[out.Match], mode: str, shown: Callable[[Sequence[out.Match]], list[str]]) -> list[str]:
    """The lines of matches: paths, `path:count`, or what `shown` makes of them."""
    if mode == "files":
        return [match.path for match in matches]
    return [f"{match.path}:{match.count or 0}" for match in matches] if mode == "count" else shown(matches)


def read_by_mode(
    lines: Sequence[str], mode: str, read: Callable[[Sequence[str]], tuple[out.Match, ...] | None]
) -> tuple[out.Match, ...] | None:
    """The matches of such lines; `None` where a line is none of them."""
    if mode == "files":
        return tuple([out.Match(line) for line in lines])
    if mode != "count":
        return read(lines)
    counts = [line.rpartition(":") for line in lines]
    if not all(path and count.isdecimal() for path, _, count in counts):
        return None
    return tuple([out.Match(path, count=int(count)) for path, _, count in counts])


def matched_lines(matches: Iterable[out.Match]) -> list[str]:
    """The lines of matches alone, as `path:7:text`."""
    lines = [line for match in matches for line in lines_of(match, 1) if line.matched]
    return [f"{line.path}:{line.number}:{line.text}" for line in lines]


def as_ripgrep(matches: Iterable[out.Match], named: Callable[[str], bool] = lambda _path: True) -> list[str]:
    """As ripgrep prints them: `path:7:text`, `path-8-text` around a match. `named`: whether a path is printed."""
    shown: list[str] = []
    for match in matches:
        if shown and (match.before or match.after):
            shown.append("--")
        if match.line is not None and match.last_line is not None:  # a match may end with empty lines
            missing = match.last_line - match.line - (match.text or "").count("\n")
            match = msgspec.structs.replace(match, text=(match.text or "") + "\n" * missing)
        path = (match.path,) if named(match.path) else ()
        for line in lines_of(match):
            number = () if line.number is None else (str(line.number),)
            shown.append((":" if line.matched else "-").join((*path, *number, line.text)))
    return shown


_RIPGREP = re.compile(r"(.+?)(?::(\d+):|-(\d+)-)(.*)")


def from_ripgrep(lines: Iterable[str], within: int | None = None) -> tuple[out.Match, ...] | None:
    """The matches of such lines with numbers (`within` as in `matches_in`); `None` where a line is none of them."""
    read: list[Line | None] = []
    for line in lines:
        found = _RIPGREP.fullmatch(line)
        if found is None and line != "--":
            return None
        read.append(None if found is None else (found[1], int(found[2] or found[3]), bool(found[2]), found[4]))
    return matches_in(read, within)


def in_groups(
    lines: Iterable[str], heading: re.Pattern[str], line: re.Pattern[str]
) -> tuple[tuple[out.Match, ...] | None, list[str]]:
    """The matches below headings that name their files, and the lines that are neither.

    `heading` is a pattern with the path, `line` one with a number, a mark (":" for a match) and a text.
    """
    read: list[Line | None] = []
    strange: list[str] = []
    path: str | None = None
    numbered = line.fullmatch
    for one in lines:
        found = numbered(one)
        if found is not None and path is not None:
            number, mark, text = found.groups()
            read.append((path, int(number), mark == ":", text))
        elif (head := heading.fullmatch(one)) is not None:
            path = head[1]
            read.append(None)
        elif one == "--":
            read.append(None)
        else:
            strange.append(one)
    return matches_in(read), strange
