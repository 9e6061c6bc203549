"""Matches as lines with their numbers, and lines around them: what every search tool prints in a form of its own.

A vocabulary says how one line is written and read; which lines belong to which match is found here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dragoman.model import outcomes as out


class MatchLine(NamedTuple):
    """One line of a result: of a match, or around one."""

    path: str
    number: int | None
    matched: bool
    text: str


def lines_of(match: out.Match, first: int | None = None) -> Iterator[MatchLine]:
    """The lines of a match and those around it. `first` is the number of a match whose line is not known."""
    line = first if match.line is None else match.line
    matched = (match.text or "").split("\n")
    texts = [*match.before, *matched, *match.after]
    for index, text in enumerate(texts, -len(match.before)):
        yield MatchLine(match.path, None if line is None else line + index, 0 <= index < len(matched), text)


def matches_in(lines: Iterable[MatchLine | None], within: int | None = None) -> tuple[out.Match, ...] | None:
    """The matches that lines show, one per matching line; `None` where there are lines and no match.

    `None` among the lines separates two stretches of a file. A line around a match belongs to the one before it if it
    follows there (and is one of the `within` lines that were asked for), else to the one after it.
    """
    found: list[tuple[MatchLine, list[str], list[str]]] = []
    before: list[str] = []
    after: list[str] | None = None
    path: str | None = None
    line: MatchLine | None = None
    for line in lines:
        if line is None or line.path != path:
            before, after, path = [], None, None if line is None else line.path
        if line is None:
            continue
        if line.matched:
            after = []
            found.append((line, before, after))
            before = []
        elif after is not None and not before and _follows(found[-1][0], len(after), line.number, within):
            after.append(line.text)
        else:
            before.append(line.text)
    if not found and line is not None:
        return None
    return tuple(
        [out.Match(one.path, one.number, one.text, tuple(before), tuple(after)) for one, before, after in found]
    )


def _follows(match: MatchLine, shown: int, number: int | None, within: int | None) -> bool:
    if within is not None and shown >= within:
        return False
    return number is None or match.number is None or number == match.number + shown + 1
