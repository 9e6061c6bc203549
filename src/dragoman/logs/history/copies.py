"""Logs that are copies of others in their folder.

Rule: a file all of whose bytes are the beginning of another file of its format beside it is a copy of that one,
whatever it is called; zeros at an end are none of its bytes. The fuller file counts, of equal ones the first without
zeros.
"""

from __future__ import annotations

import os
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from dragoman.logs.base.database import SQLITE, beginning, log_beside

_HEAD: Final = 4_096
_PIECE: Final = 1 << 20


class _File:
    """A file with its first bytes, and its length without zeros at its end."""

    def __init__(self, path: str, number: int) -> None:
        self.path, self.number = path, number
        with open(path, "rb") as file:
            self.head = file.read(_HEAD)
            self.size = os.fstat(file.fileno()).st_size
            self.length = self.size
            while self.length:
                begin = max(0, self.length - _PIECE)
                file.seek(begin)
                kept = file.read(self.length - begin).rstrip(b"\0")
                self.length = begin + len(kept)
                if kept:
                    break
        self.head = self.head[: self.length]

    def is_in(self, other: _File) -> bool:
        """Whether the other begins with all of its bytes."""
        if self.length > other.length or not other.head.startswith(self.head):
            return False
        with open(self.path, "rb") as mine, open(other.path, "rb") as its:
            left = self.length
            while left:
                piece = mine.read(min(_PIECE, left))
                if not piece or piece != its.read(len(piece)):
                    return False
                left -= len(piece)
        return True


def copies_among(files: Iterable[tuple[str, str]]) -> set[str]:
    """Of files, each with its format, the paths of those that are copies of others in their folder."""
    together: dict[tuple[str, str], list[_File]] = {}
    for number, (path, format) in enumerate(files):
        try:
            file = _File(path, number)
        except OSError:
            continue  # it is a folder, or has gone: whoever reads it says so
        if file.length and not _has_more_beside(file):
            together.setdefault((format, os.path.dirname(path)), []).append(file)
    return {path for ones in together.values() if len(ones) > 1 for path in _copies(ones)}


def _has_more_beside(file: _File) -> bool:
    """Whether it is a database of which a part is still in the file of its changes."""
    return file.head.startswith(SQLITE) and bool(beginning(log_beside(Path(file.path)), 1))


def _copies(files: list[_File]) -> Iterator[str]:
    whole: list[tuple[bytes, int]] = []
    """The first bytes of files that are none, in order, each with its place in the list."""
    files.sort(key=lambda one: (-one.length, one.size, one.number))
    for place, one in enumerate(files):
        at = bisect_left(whole, (one.head, -1))
        while at < len(whole) and whole[at][0].startswith(one.head) and not one.is_in(files[whole[at][1]]):
            at += 1
        if at < len(whole) and whole[at][0].startswith(one.head):
            yield one.path
        else:
            insort(whole, (one.head, place))
