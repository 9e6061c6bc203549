"""Server-sent events from bytes that are cut anywhere.

Rule: an event is the same however its bytes arrive. Lines end in LF, CRLF or CR; a byte order mark, comments and
fields that carry nothing for us (`id`, `retry`) are passed over; several `data` lines are one, joined by newlines.
"""

from __future__ import annotations

Event = tuple[str | None, bytes]
"""The `event` line, where there was one, and the data."""

_MARK = b"\xef\xbb\xbf"


class EventTooLong(Exception):
    """An event has more bytes than are accepted and has not ended."""


class EventSplitter:
    """Fed bytes, it gives whole events; `close` gives one that was never ended by an empty line.

    `longest` is the most bytes an event may have; `feed` raises `EventTooLong` for one that has more.
    """

    __slots__ = ("after_return", "longest", "rest", "started")

    def __init__(self) -> None:
        self.longest: int | None = None
        self.rest = bytearray()
        """What came of an event that has not ended."""
        self.started = False
        """Whether more came than what may be a byte order mark."""
        self.after_return = False
        """Whether the last byte was a CR, which a LF may belong to."""

    def feed(self, data: bytes) -> list[Event]:
        """The events that are complete with these bytes."""
        if not self.started:
            start = self._without_mark(data)
            if start is None:
                return []
            data = start
        if self.after_return and data:
            self.after_return = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            self.after_return = data[-1:] == b"\r"
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not data:
            return []
        rest = self.rest
        if rest:
            ends = b"\n\n" in data or (data[:1] == b"\n" and rest[-1:] == b"\n")
            rest += data
            if not ends:
                self._check_length()
                return []
            data = bytes(rest)
            rest.clear()
        if data[-2:] != b"\n\n":
            end = data.rfind(b"\n\n") + 2
            if end == 1:
                rest += data
                self._check_length()
                return []
            rest += data[end:]
            data = data[:end]
        return _plain_events(data) or _events(data)

    def _check_length(self) -> None:
        if self.longest is not None and len(self.rest) > self.longest:
            raise EventTooLong

    def close(self) -> list[Event]:
        """What was begun and never ended."""
        whole = bytes(self.rest) + b"\n\n"
        self.started = True
        self.rest.clear()
        return _events(whole)

    def _without_mark(self, data: bytes) -> bytes | None:
        """The first bytes without a byte order mark, or `None` while it may still be one."""
        self.rest += data
        start = bytes(self.rest)
        if len(start) < len(_MARK) and _MARK.startswith(start):
            return None
        self.started = True
        self.rest.clear()
        return start.removeprefix(_MARK)


def _plain_events(data: bytes) -> list[Event] | None:
    """Whole events as servers write them: one line of data each, all with a name or all without. `None` if not so."""
    if data.startswith(b"data: "):
        ends = data.count(b"\n")
        if ends == 2:
            return [(None, data[6:-2])] if len(data) > 8 else None
        found = data[6:-2].split(b"\n\ndata: ")
        return [(None, said) for said in found] if ends == 2 * len(found) and all(found) else None
    lines = data.split(b"\n")
    if b"data: " in lines:
        return None
    if len(lines) == 4 and lines[0] in _NAMES and lines[1].startswith(b"data: ") and not lines[2]:
        return [(_NAMES[lines[0]], lines[1][6:])]
    names, said = lines[:-1:3], lines[1::3]
    if len(lines) % 3 != 1 or any(lines[2::3]):
        return None
    try:
        events: list[Event] = [
            (_NAMES[name], one[6:]) for name, one in zip(names, said, strict=True) if one.startswith(b"data: ")
        ]
    except KeyError:
        return None
    return events if len(events) == len(said) else None


def _events(data: bytes) -> list[Event]:
    """Whole events, whatever lines they have."""
    if b"data" not in data:  # comments and empty lines, of which a server may send any number
        return []
    events: list[Event] = []
    name: str | None = None
    held: list[bytes] = []
    for line in data.split(b"\n"):
        if not line:
            if any(held):  # an event without data is none
                events.append((name, b"\n".join(held)))
            held = []
            name = None
        elif line.startswith(b"data:"):
            held.append(line[6:] if line.startswith(b"data: ") else line[5:])
        elif line.startswith(b"event:"):
            name = _NAMES.get(line) or _named(line)
        elif line == b"data":
            held.append(b"")
    return events


_NAMES: dict[bytes, str] = {}
"""Lines that name an event, as they were read before: a stream has few."""


def _named(line: bytes) -> str:
    name = line[6:].strip().decode("utf-8", "replace")
    if len(_NAMES) < 100 and len(line) < 100:
        _NAMES[line] = name
    return name
