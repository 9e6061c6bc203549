"""Logs that are copies of others: in their folder, or of the same session in another.

Rule: a file all of whose bytes are the beginning of another file is a copy of that one, whatever it is called, if that
one is beside it or tells of the same session; zeros at an end are none of its bytes. What is left of a log may be taken
for one of another format, so these are compared too. A compressed log is compared by what it holds. The fuller file
counts, of equal ones the first without zeros. A log that is read with files beside it is compared in its folder alone:
those of the other may be fuller.
"""

from __future__ import annotations

import os
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from dragoman.errors import LogError
from dragoman.logs.base.compressed import ENDINGS, open_log, unpacked_pieces
from dragoman.logs.base.database import SQLITE, beginning, log_beside
from dragoman.registry import FORMATS

_HEAD: Final = 4_096
_PIECE: Final = 1 << 20

SessionsIn = Callable[[str], set[str]]
"""The sessions that a file tells of."""


class _File:
    """A file with its first bytes, without zeros at their end."""

    def __init__(self, path: str, number: int) -> None:
        self.path, self.number = path, number
        self.head = _beginning_of(path).rstrip(b"\0")
        self.length = self.size = 0

    def measure(self) -> bool:
        """Finds its size, and its length without zeros at its end; whether it is a file that could be a copy."""
        try:
            with open_log(self.path) as file:
                self.size = self.length = file.seek(0, os.SEEK_END)
                while self.length:
                    begin = max(0, self.length - _PIECE)
                    file.seek(begin)
                    kept = file.read(self.length - begin).rstrip(b"\0")
                    self.length = begin + len(kept)
                    if kept:
                        break
        except (OSError, LogError):
            return False  # it is damaged or has gone: whoever reads it says so
        return not self._has_more_beside()

    def _has_more_beside(self) -> bool:
        """Whether it is a database of which a part is still in the file of its changes."""
        return self.head.startswith(SQLITE) and bool(beginning(log_beside(Path(self.path)), 1))

    def is_in(self, other: _File) -> bool:
        """Whether the other begins with all of its bytes."""
        if self.length > other.length or not other.head.startswith(self.head):
            return False
        with open_log(self.path) as mine, open_log(other.path) as its:
            left = self.length
            while left:
                piece = mine.read(min(_PIECE, left))
                if not piece or piece != its.read(len(piece)):
                    return False
                left -= len(piece)
        return True


def _beginning_of(path: str) -> bytes:
    """The first bytes of what a file holds; none of what cannot be read."""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
            if not path.endswith(ENDINGS):
                return head
            file.seek(0)
            return next(iter(unpacked_pieces(path, file, head)), b"")[:_HEAD]
    except (OSError, LogError):
        return b""


def copies_among(files: Iterable[tuple[str, str]], sessions_in: SessionsIn) -> Iterator[str]:
    """Of files, each with its format, the paths of those that are copies of others."""
    known = dict(files)
    if len(known) < 2:
        return
    ones = [one for one in _alike([_File(path, number) for number, path in enumerate(known)]) if one.measure()]
    sessions = cache(sessions_in)
    is_alone = cache(lambda path: not any(map(os.path.exists, FORMATS[known[path]].companions(Path(path)))))

    def may_be(one: _File, other: _File) -> bool:
        if os.path.dirname(one.path) == os.path.dirname(other.path):
            return True
        if not is_alone(one.path) or not is_alone(other.path):
            return False
        return not sessions(one.path).isdisjoint(sessions(other.path))

    whole: list[tuple[bytes, int]] = []
    """The first bytes of files that are none, in order, each with its place in the list."""
    ones.sort(key=lambda one: (-one.length, one.size, one.number))
    for place, one in enumerate(ones):
        at = bisect_left(whole, (one.head, -1))
        while at < len(whole) and whole[at][0].startswith(one.head):
            other = ones[whole[at][1]]
            if may_be(one, other) and one.is_in(other):
                yield one.path
                break
            at += 1
        else:
            insort(whole, (one.head, place))


def _alike(files: list[_File]) -> list[_File]:
    """Those files whose first bytes another begins with, and the others: all the rest are copies of nothing."""
    found: set[int] = set()
    around: list[_File] = []
    for one in sorted((one for one in files if one.head), key=lambda one: one.head):
        while around and not one.head.startswith(around[-1].head):
            around.pop()
        if around:
            found |= {one.number, *(other.number for other in around)}
        around.append(one)
    return [one for one in files if one.number in found]
