"""Where the pieces of a JSON document stand: the elements of one of its lists, as exact ranges of its bytes.

Rule: what is whole is found even when the document is not; what is left over is told by its range.
"""

from __future__ import annotations

import abc
import json
import re
from typing import Any

import msgspec

from dragoman.model import AnyEvent, Source

from .format import LinesReader

_value = json.JSONDecoder(strict=False).raw_decode
_blank = re.compile(r"[ \t\r\n]*")
_MARK = b"\xef\xbb\xbf"
"""The byte order mark some editors put before a text."""


class Pieces(msgspec.Struct):
    """A document's other members as one object, the ranges of the list's elements, and what could not be read."""

    members: bytes
    elements: list[tuple[int, int]]
    head: int
    """Where the list begins: its first element stands at or after it."""
    tail: int
    """Where the list ends: with its closing bracket, or where reading ended."""
    end: int
    """Where the document ends, or where reading ended."""
    problem: str | None = None


def pieces_of(data: bytes, listed: str) -> Pieces | None:
    """The pieces of an object, one of whose members is the list `listed`; `None` where there is no such list."""
    scan = _Scan(data, listed)
    try:
        scan.object()
    except (ValueError, RecursionError) as error:
        scan.problem = str(error) or type(error).__name__
    if scan.head is None:
        return None
    tail = scan.at if scan.tail is None else scan.tail
    members = b"{" + b",".join(data[start:end] for start, end in scan.members) + b"}"
    return Pieces(members, scan.elements, scan.head, tail, scan.at, scan.problem)


class DocumentReader(LinesReader):
    """Reads a document piece by piece, as if its other members and each element of its list were lines."""

    @abc.abstractmethod
    def document_ended(self, source: Source) -> AnyEvent:
        """What stands after the list, as an event."""

    def read_pieces(self, data: bytes, pieces: Pieces) -> list[AnyEvent]:
        """The events of a whole document, each pointing at its own bytes; what is left over is unreadable."""
        events: list[AnyEvent] = []
        self._read(pieces.members, Source(self.path, 0, pieces.head), events)
        for start, end in pieces.elements:
            self._read(data[start:end], Source(self.path, start, end - start), events)
        if pieces.end > pieces.tail:
            events.append(self.document_ended(Source(self.path, pieces.tail, pieces.end - pieces.tail)))
        if data[pieces.end :].strip():
            source = Source(self.path, pieces.end, len(data) - pieces.end)
            events.append(self.normaliser.unreadable(source, pieces.problem or "there is more after the document"))
        return events


class _Scan:
    """Goes through a document once. `at` is always the end of what was whole."""

    def __init__(self, data: bytes, listed: str) -> None:
        # In Latin-1 a byte is a character, so the positions in this text are offsets in the bytes.
        self._text = data.decode("latin-1")
        self._listed = listed
        self.at = len(_MARK) if data.startswith(_MARK) else 0
        self.members: list[tuple[int, int]] = []
        self.elements: list[tuple[int, int]] = []
        self.head: int | None = None
        self.tail: int | None = None
        self.problem: str | None = None

    def object(self) -> None:
        self._pass("{")
        while not self._passed("}"):
            start = self._skipped(self.at)
            name, end = self._read(start)
            self.at = end
            self._pass(":")
            if name == self._listed and self.head is None and self._passed("["):
                self.head = self.at
                self._list()
            else:
                _, end = self._read(self._skipped(self.at))
                self.members.append((start, end))
                self.at = end
            if not self._passed(","):
                self._pass("}")
                return

    def _list(self) -> None:
        while True:
            start = self._skipped(self.at)
            if self._text[start : start + 1] == "]":
                break
            _, end = self._read(start)
            self.elements.append((start, end))
            self.at = end
            if not self._passed(","):
                break
        self.tail = self._skipped(self.at)
        self._pass("]")

    def _read(self, start: int) -> tuple[Any, int]:
        return _value(self._text, start)

    def _skipped(self, at: int) -> int:
        found = _blank.match(self._text, at)
        return at if found is None else found.end()

    def _passed(self, mark: str) -> bool:
        at = self._skipped(self.at)
        if self._text[at : at + 1] != mark:
            return False
        self.at = at + 1
        return True

    def _pass(self, mark: str) -> None:
        if not self._passed(mark):
            raise ValueError(f"the document breaks off, or goes on otherwise than with {mark!r}")
