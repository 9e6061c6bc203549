"""What changed between two texts, as a unified diff with counts, at a cost that grows with their size and no faster.

Rule: the shortest way from one text to the other is shown, chosen as the program does that most clients show
differences with (jsdiff). Where that would take long, equal lines at both ends are passed over first; what is left is
compared line by line where it is short, and split at lines that occur once in either text where it is long; a long
stretch without any such line is told as replaced whole.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from .text import decode, printable, with_mark

DIFF_LIMIT = 1024 * 1024
"""A diff of more characters is not given; its counts are."""

_MOST_COMPARED = 64 * 1024 * 1024
_SHORT = 1000
_DEEPEST = 20
_MOST_STEPS = 40_000
"""Steps to look for the shortest way: some 0.2 s, enough for 280 lines that differ."""
_CONTEXT = 3


def difference(
    path: str, before: bytes | None, after: bytes | None, *, shows_line_ends: bool = False, shows_mark: bool = False
) -> dict[str, Any]:
    """The `diff`, `added` and `removed` of a change; nothing for what is not text, or is too much of it.

    CRLF is shown as LF, so that lines which differ in that alone are the same, unless line ends are to be shown.
    """
    if len(before or b"") + len(after or b"") > _MOST_COMPARED:
        return {}
    texts = [_text(data, shows_line_ends=shows_line_ends, shows_mark=shows_mark) for data in (before, after)]
    if texts[0] is None or texts[1] is None:
        return {}
    old, new = (lines_of(text) for text in texts if text is not None)
    changes = list(opcodes(old, new))
    added = sum(last - first for _, _, first, last in changes)
    removed = sum(last - first for first, last, _, _ in changes)
    # Only line ends or the byte order mark differ: there is no line to show.
    if not changes:
        return {"diff": "", "added": 0, "removed": 0}
    name = path.lstrip("/")
    names = (f"a/{name}" if before is not None else "/dev/null", f"b/{name}" if after is not None else "/dev/null")
    return {"diff": _unified(names, old, new, changes), "added": added, "removed": removed}


def _text(data: bytes | None, *, shows_line_ends: bool, shows_mark: bool) -> str | None:
    if data is None:
        return ""
    decoded = decode(data)
    if decoded is None:
        return None
    text, _ = with_mark(*decoded) if shows_mark else decoded
    return printable(text if shows_line_ends else text.replace("\r\n", "\n"))


def lines_of(text: str) -> list[str]:
    """Lines with their ends: a last line without one differs from the same line with it."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _unified(names: tuple[str, str], old: Sequence[str], new: Sequence[str], changes: Sequence[Span]) -> str | None:
    size = 0
    for first, last, new_first, new_last in changes:
        size += sum(map(len, old[first:last])) + sum(map(len, new[new_first:new_last]))
        if size > DIFF_LIMIT:
            return None
    parts = [f"--- {names[0]}\n+++ {names[1]}\n"]
    for hunk in hunks(old, new, changes):
        parts.append(f"{hunk.head}\n")
        for mark, line in hunk.lines:
            parts.append(f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{NO_NEWLINE}\n")
    text = "".join(parts)
    return text if len(text) <= DIFF_LIMIT else None


NO_NEWLINE: Final = "\\ No newline at end of file"


class Hunk(NamedTuple):
    """Lines that changed, and the lines around them. A line is (mark, text): `+` added, `-` removed, ` ` as it was.

    The text has its line end; only the last line of a file may have none.
    """

    head: str
    lines: tuple[tuple[str, str], ...]


def hunks(old: Sequence[str], new: Sequence[str], changes: Sequence[Span]) -> Iterator[Hunk]:
    """Changes with three lines of context; those whose context would meet are in one hunk."""
    for hunk in _hunks(changes):
        first, last = max(0, hunk[0][0] - _CONTEXT), min(len(old), hunk[-1][1] + _CONTEXT)
        shift = hunk[0][2] - hunk[0][0]
        new_first, new_last = first + shift, last + hunk[-1][3] - hunk[-1][1]
        lines: list[tuple[str, str]] = []
        position = first
        for old_first, old_last, from_new, to_new in hunk:
            lines += ((" ", line) for line in old[position:old_first])
            lines += (("-", line) for line in old[old_first:old_last])
            lines += (("+", line) for line in new[from_new:to_new])
            position = old_last
        lines += ((" ", line) for line in old[position:last])
        yield Hunk(f"@@ -{_range(first, last)} +{_range(new_first, new_last)} @@", tuple(lines))


def _range(first: int, last: int) -> str:
    """Lines as a hunk's head counts them: from 1; an empty range stands after the line before it."""
    count = last - first
    return f"{first + 1}" if count == 1 else f"{first + 1 if count else first},{count}"


Span = tuple[int, int, int, int]


def _hunks(changes: Sequence[Span]) -> Iterator[list[Span]]:
    """Changes whose context would meet, together."""
    hunk: list[Span] = []
    for change in changes:
        if hunk and change[0] - hunk[-1][1] > 2 * _CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def opcodes(old: Sequence[str], new: Sequence[str]) -> Iterator[Span]:
    """The stretches that differ, in order: (from, to) in the old lines and (from, to) in the new ones."""
    position = new_position = 0
    matches = _shortest(old, new)
    for start, new_start, size in (*(_matches(old, new) if matches is None else matches), (len(old), len(new), 0)):
        if start > position or new_start > new_position:
            yield position, start, new_position, new_start
        position, new_position = start + size, new_start + size


Run = tuple[int, int, int]
"""Equal lines: the first in the old text, the first in the new one, and how many."""


class _Path(NamedTuple):
    """A way into both texts: how many old lines are behind it, and the equal lines on it."""

    old: int
    runs: tuple[Any, Run] | None
    """The last run, after those before it."""


def _shortest(old: Sequence[str], new: Sequence[str]) -> list[Run] | None:
    """The equal lines on the shortest way from one text to the other (Myers, "An O(ND) Difference Algorithm"); of two
    that are as long, the one that jsdiff takes: removed lines first. `None`: too many steps."""
    steps = _MOST_STEPS + len(old) + len(new)
    # The diagonals (old lines minus new lines) that are still of use.
    last = len(old) + len(new)
    first = -last

    def follow(path: _Path, diagonal: int) -> _Path:
        start = at = path.old
        while at < len(old) and at - diagonal < len(new) and old[at] == new[at - diagonal]:
            at += 1
        return path if at == start else _Path(at, (path.runs, (start, start - diagonal, at - start)))

    reached: dict[int, _Path] = {0: follow(_Path(0, None), 0)}
    if reached[0].old == len(old) == len(new):
        return _listed(reached[0])
    for length in range(1, len(old) + len(new) + 1):
        for diagonal in range(max(first, -length), min(last, length) + 1, 2):
            removing, adding = reached.pop(diagonal - 1, None), reached.get(diagonal + 1)
            if adding is not None and not 0 < adding.old - diagonal <= len(new):
                adding = None
            if removing is not None and removing.old >= len(old):
                removing = None
            if removing is None and adding is None:
                reached.pop(diagonal, None)
                continue
            if adding is not None and (removing is None or removing.old < adding.old):
                path = follow(adding, diagonal)
            else:
                assert removing is not None
                path = follow(removing._replace(old=removing.old + 1), diagonal)
            base = adding if adding is not None else removing
            steps -= 1 + path.old - (base.old if base is not None else 0)
            if steps < 0:
                return None
            at_end, new_at_end = path.old >= len(old), path.old - diagonal >= len(new)
            if at_end and new_at_end:
                return _listed(path)
            reached[diagonal] = path
            if at_end:
                last = min(last, diagonal - 1)
            if new_at_end:
                first = max(first, diagonal + 1)
    return None


def _listed(path: _Path) -> list[Run]:
    runs: list[Run] = []
    rest = path.runs
    while rest is not None:
        rest, run = rest
        runs.append(run)
    return runs[::-1]


def _matches(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int]]:
    """Runs of equal lines, in order."""
    found: list[tuple[int, int, int]] = []
    stack = [(0, len(old), 0, len(new), 0)]
    while stack:
        first, last, new_first, new_last, depth = stack.pop()
        start, new_start = first, new_first
        while first < last and new_first < new_last and old[first] == new[new_first]:
            first, new_first = first + 1, new_first + 1
        if first > start:
            found.append((start, new_start, first - start))
        end = last
        while last > first and new_last > new_first and old[last - 1] == new[new_last - 1]:
            last, new_last = last - 1, new_last - 1
        if end > last:
            found.append((last, new_last, end - last))
        if first == last or new_first == new_last:
            continue
        if max(last - first, new_last - new_first) <= _SHORT:
            found += _compared(old, new, first, last, new_first, new_last)
        elif depth < _DEEPEST:
            stack += _split(old, new, first, last, new_first, new_last, depth + 1)
    return sorted(found)


def _compared(
    old: Sequence[str], new: Sequence[str], first: int, last: int, new_first: int, new_last: int
) -> list[tuple[int, int, int]]:
    from difflib import SequenceMatcher  # only when there is something to compare

    # Its own rule against frequent lines is left on: without it, a thousand equal lines take minutes.
    blocks = SequenceMatcher(None, old[first:last], new[new_first:new_last]).get_matching_blocks()
    return [(first + a, new_first + b, size) for a, b, size in blocks if size]


def _split(
    old: Sequence[str], new: Sequence[str], first: int, last: int, new_first: int, new_last: int, depth: int
) -> Iterable[tuple[int, int, int, int, int]]:
    """The stretches between lines that occur once on either side; none when there are no such lines."""
    once = {line for line, count in Counter(old[first:last]).items() if count == 1}
    once &= {line for line, count in Counter(new[new_first:new_last]).items() if count == 1}
    place = {line: index for index, line in enumerate(new[new_first:new_last], new_first) if line in once}
    pairs = [(index, place[line]) for index, line in enumerate(old[first:last], first) if line in once]
    if not pairs:
        return
    # A stretch begins with the lines that mark it, so those are matched by the pass over equal ends.
    following = None
    for index, new_index in _rising(pairs):
        if (index, new_index) != following:
            yield first, index, new_first, new_index, depth
            first, new_first = index, new_index
        following = index + 1, new_index + 1
    yield first, last, new_first, new_last, depth


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs in which both numbers rise; the first number of each rises already."""
    tops: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for index, (_, value) in enumerate(pairs):
        pile = bisect_left(tops, value)
        if pile == len(tops):
            tops.append(value)
            ends.append(index)
        else:
            tops[pile], ends[pile] = value, index
        previous.append(ends[pile - 1] if pile else -1)
    run: list[tuple[int, int]] = []
    index = ends[-1]
    while index >= 0:
        run.append(pairs[index])
        index = previous[index]
    return run[::-1]


_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def marked_lines(diff: str) -> Iterator[tuple[str, str]]:
    """The lines of a unified diff, each with what it is: `+`, `-`, ` `, `@`, `\\`, or "names" for the files' names.

    The head of a hunk says how many lines it has. So a line is known by its place: an added line may begin with "++ ",
    and then reads as the name of a file does.
    """
    old = new = 0
    lines = diff.removesuffix("\n").split("\n")
    begins = [line.startswith(mark) for line, mark in zip(lines, ("--- ", "+++ ", "@@ "), strict=False)]
    has_names = begins == [True, True, True]
    for number, line in enumerate(lines):
        head = _HUNK.match(line) if old <= 0 and new <= 0 else None
        if head is not None:
            old, new = (1 if count is None else int(count) for count in head.groups())
            yield "@", line
        elif old <= 0 and new <= 0:
            yield "names" if has_names and number < 2 else line[:1], line
        else:
            mark = line[:1]
            old -= mark in ("-", " ", "")
            new -= mark in ("+", " ", "")
            yield mark, line
