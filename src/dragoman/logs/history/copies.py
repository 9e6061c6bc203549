"""Logs that are copies of others in their folder, or compressed elsewhere.

Rule: a file all of whose bytes are the beginning of another file of its format beside it is a copy of that one,
whatever it is called; zeros at an end are none of its bytes. The fuller file counts, of equal ones the first without
zeros. A compressed log is compared, by what it holds, with those of its name in any folder.
"""

from __future__ import annotations

import os
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Final

from dragoman.errors import LogError
from dragoman.logs.base.compressed import ENDINGS, open_log
from dragoman.logs.base.database import SQLITE, beginning, log_beside

_HEAD: Final = 4_096
_PIECE: Final = 1 << 20


Open = Callable[[str], IO[bytes]]


def _as_it_is(path: str) -> IO[bytes]:
    return open(path, "rb")


class _File:
    """A file with its first bytes, and its length without zeros at its end."""

    def __init__(self, path: str, number: int, opened: Open = _as_it_is) -> None:
        self.path, self.number, self._opened = path, number, opened
        with opened(path) as file:
            self.head = file.read(_HEAD)
            self.size = self.length = file.seek(0, os.SEEK_END)
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
        with self._opened(self.path) as mine, other._opened(other.path) as its:
            left = self.length
            while left:
                piece = mine.read(min(_PIECE, left))
                if not piece or piece != its.read(len(piece)):
                    return False
                left -= len(piece)
        return True


def copies_among(files: Iterable[tuple[str, str]]) -> set[str]:
    """Of files, each with its format, the paths of those that are copies of others."""
    together: dict[tuple[str, str], list[tuple[str, int]]] = {}
    named: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for number, (path, format) in enumerate(files):
        together.setdefault((format, os.path.dirname(path)), []).append((path, number))
        named.setdefault((format, _plain_name_of(path)), []).append((path, number))
    copies = {path for ones in together.values() for path in _copies_of(ones, _as_it_is)}
    for ones in named.values():
        if any(path.endswith(ENDINGS) for path, _ in ones):
            copies.update(_copies_of([one for one in ones if one[0] not in copies], open_log))
    return copies


def _plain_name_of(path: str) -> str:
    name = os.path.basename(path)
    return next((name.removesuffix(ending) for ending in ENDINGS if name.endswith(ending)), name)


def _copies_of(files: list[tuple[str, int]], opened: Open) -> Iterator[str]:
    if len(files) < 2:
        return
    ones = []
    for path, number in files:
        try:
            file = _File(path, number, opened)
        except (OSError, LogError):
            continue  # it is a folder, is damaged or has gone: whoever reads it says so
        if file.length and not _has_more_beside(file):
            ones.append(file)
    yield from _copies(ones)


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
