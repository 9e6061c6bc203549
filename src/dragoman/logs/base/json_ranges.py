"""Where the pieces of a JSON document stand: the elements of one of its lists, as exact ranges of its bytes.

Rule: what is whole is found even when the document is not; what is left over is told by its range. After an element
that cannot be read the list goes on with the next that begins as one before it did.
"""

from __future__ import annotations

import abc
import json
import re
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from dragoman.model import AnyEvent, ClientNoted, Source

from .format import Gathered, LinesReader
from .normalise import Normaliser, Place, moment

_value = json.JSONDecoder(strict=False).raw_decode
_object = re.compile(r'\{\s*"([^"\\]*)"\s*:')
_blank = re.compile(r"[ \t\r\n]*")
_values = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_member = re.compile(rb'[ \t\r\n]*([{,])[ \t\r\n]*"([^"\\]*)"[ \t\r\n]*:[ \t\r\n]*')
_gap = re.compile(rb"[ \t\r\n]*,?[ \t\r\n]*")
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
    bad: list[tuple[int, int, str]] = []
    """Ranges within the list that are no elements, and why."""


def pieces_of(data: bytes, listed: str) -> Pieces | None:
    """The pieces of an object, one of whose members is the list `listed`; `None` where there is no such list."""
    return _pieces_of_whole(data, listed) or pieces_searched(data, listed)


def _pieces_of_whole(data: bytes, listed: str) -> Pieces | None:
    """The same of a document that is whole, as nearly all are: msgspec finds the ends of its values, in a third of
    the time. Nothing for any other, and for one where a name comes twice or is not written as it is said."""
    try:
        values = _values(data)
        elements = _elements(values[listed])
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    at, head, tail = 0, 0, 0
    opened, found, members = b"{", [], []
    for name, value in values.items():
        begun = _member.match(data, at)
        written = bytes(value)
        if begun is None or begun[1] != opened or begun[2] != name.encode():
            return None
        start = begun.end()
        at, opened = start + len(written), b","
        if data[start:at] != written:
            return None
        if name != listed:
            members.append(data[begun.start(2) - 1 : at])
            continue
        head = tail = start + 1
        for element in elements:
            begin = _past(data, tail)
            tail = begin + len(memoryview(element))
            found.append((begin, tail))
        tail = _past(data, tail)
    end = _past(data, at)
    if data[end : end + 1] != b"}":
        return None
    return Pieces(b"{" + b",".join(members) + b"}", found, head, tail, end + 1)


def _past(data: bytes, at: int) -> int:
    """Where the next value stands, or the bracket that closes."""
    gap = _gap.match(data, at)
    return at if gap is None else gap.end()


def pieces_searched(data: bytes, listed: str) -> Pieces | None:
    """The same of any document, damaged or not, value by value."""
    scan = _Scan(data, listed)
    try:
        scan.object()
    except (ValueError, RecursionError) as error:
        scan.problem = str(error) or type(error).__name__
    if scan.head is None:
        return None
    tail = scan.at if scan.tail is None else scan.tail
    members = b"{" + b",".join(data[start:end] for start, end in scan.members) + b"}"
    return Pieces(members, scan.elements, scan.head, tail, scan.at, scan.problem, scan.bad)


class DocumentReader(LinesReader):
    """Reads a document, when all of it is there, as if its other members and each element of its list were lines."""

    def __init__(self, path: Path, normaliser: Normaliser) -> None:
        super().__init__(path, normaliser)
        self._gathered = Gathered(path)

    def feed(self, data: bytes) -> list[AnyEvent]:
        self._gathered.append(data)
        return []

    def read_lines(self, data: bytes) -> list[AnyEvent]:
        """The events of a file that turned out to have lines."""
        return super().feed(data) + super().close()

    @abc.abstractmethod
    def document_ended(self, source: Source) -> AnyEvent:
        """What stands after the list, as an event."""

    def read_pieces(self, data: bytes, pieces: Pieces, begin: int = 0) -> list[AnyEvent]:
        """The events of a whole document, each pointing at its own bytes; what is left over is unreadable.

        `begin` is where in its file the document begins.
        """
        events: list[AnyEvent] = []
        self._read(pieces.members, Source(self.path, begin, pieces.head), events)
        bad = {start: (end, reason) for start, end, reason in pieces.bad}
        for start, end in sorted([*pieces.elements, *((start, end) for start, end, _ in pieces.bad)]):
            source = Source(self.path, begin + start, end - start)
            if start in bad:
                self._unreadable(source, bad[start][1], events)
            else:
                self._read(data[start:end], source, events)
        events += self.end()
        if pieces.end > pieces.tail:
            events.append(self.document_ended(Source(self.path, begin + pieces.tail, pieces.end - pieces.tail)))
        if data[pieces.end :].strip():
            source = Source(self.path, begin + pieces.end, len(data) - pieces.end)
            self._unreadable(source, pieces.problem or "there is more after the document", events)
        return events


class MessagesReader(DocumentReader):
    """Reads a document with a list of messages."""

    listed: ClassVar[str]
    """The member that is the list."""

    def __init__(self, path: Path, normaliser: Normaliser) -> None:
        super().__init__(path, normaliser)
        self.session: str | None = None
        self.version: str | None = None

    def close(self) -> list[AnyEvent]:
        data = self._gathered.take()
        return self.document(data) if data.strip() else []

    def document(self, data: bytes, begin: int = 0) -> list[AnyEvent]:
        """The events of a document that begins at this place of its file."""
        pieces = pieces_of(data, self.listed)
        if pieces is None:
            reason = f"a document without {self.listed}"
            return [self.normaliser.unreadable(Source(self.path, begin, len(data)), reason)]
        return self.read_pieces(data, pieces, begin)

    def document_ended(self, source: Source) -> AnyEvent:
        return self.normaliser.event(ClientNoted, self.place(source), name="document/end")

    def place(self, source: Source, time: Any = None) -> Place:
        """The place of a record."""
        key = f"@{source.offset}"
        return Place(source=source, key=key, session=self.session, version=self.version, time=moment(time))


def _first_names(value: Any) -> tuple[str, ...]:
    """The names of an object's first two members, by which those of one list are alike."""
    return tuple(value)[:2] if isinstance(value, dict) else ()


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
        self.bad: list[tuple[int, int, str]] = []
        self._beginnings: set[tuple[str, ...]] = set()
        """The first names of the elements so far."""

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
            try:
                value, end = self._read(start)
            except (ValueError, RecursionError) as error:
                following = self._next_element(start)
                if following is None:
                    raise
                self.bad.append((start, following, str(error) or type(error).__name__))
                self.at = following
                continue
            self._beginnings.add(_first_names(value))
            self.elements.append((start, end))
            self.at = end
            if not self._passed(","):
                break
        self.tail = self._skipped(self.at)
        self._pass("]")

    def _next_element(self, start: int) -> int | None:
        """Where the next element stands that begins as one before it did: objects within it begin otherwise."""
        names = {names[0] for names in self._beginnings if names}
        for found in _object.finditer(self._text, start + 1):
            if found[1] not in names:
                continue
            try:
                value, end = self._read(found.start())
            except (ValueError, RecursionError):
                continue
            end = self._skipped(end)
            if _first_names(value) in self._beginnings and self._text[end : end + 1] in (",", "]", ""):
                return found.start()
        return None

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
