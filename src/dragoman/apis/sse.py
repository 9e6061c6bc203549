"""Server-sent events from bytes that are cut anywhere.

Rule: an event is the same however its bytes arrive. Lines end in LF, CRLF or CR; a byte order mark, comments and
fields that carry nothing for us (`id`, `retry`) are passed over; several `data` lines are one, joined by newlines.
"""

from __future__ import annotations

Event = tuple[str | None, bytes]
"""The `event` line, where there was one, and the data."""

_MARK = b"\xef\xbb\xbf"


class EventSplitter:
    """Fed bytes, it gives whole events; `close` gives one that was never ended by an empty line."""

    __slots__ = ("_after_return", "_between", "_data", "_name", "_rest", "_started")

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: bytes | list[bytes] | None = None
        """The data of the event that is arriving; a list when it has several lines."""
        self._name: str | None = None
        self._started = False
        self._after_return = False
        self._between = False
        """Whether all that came was whole events."""

    def feed(self, data: bytes) -> list[Event]:
        """The events that are complete with these bytes."""
        if not self._started:
            start = self._without_mark(data)
            if start is None:
                return []
            data = start
        if self._after_return and data:
            self._after_return = False
            if data[:1] == b"\n":
                data = data[1:]
        if b"\r" in data:
            self._after_return = data[-1:] == b"\r"
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = data.split(b"\n")
        if self._between:  # the common case: a server that writes one whole event at a time, in one line
            match lines:
                case [said, b"", b""] if said.startswith(b"data: "):
                    return [(None, said[6:])]
                case [first, said, b"", b""] if said.startswith(b"data: ") and first in _NAMES:
                    return [(_NAMES[first], said[6:])]
        last = lines.pop()
        if not lines:  # no line ends here: joined once, when one does, so that a long line costs its length
            self._rest.append(data)
            self._between = False
            return []
        if self._rest:
            self._rest.append(lines[0])
            lines[0] = b"".join(self._rest)
            self._rest.clear()
        if last:
            self._rest.append(last)
        events: list[Event] = []
        name, held = self._name, self._data
        for line in lines:
            if not line:
                if held is not None:
                    events.append((name, held if isinstance(held, bytes) else b"\n".join(held)))
                    held = None
                name = None
            elif line.startswith(b"data:"):
                data = line[6:] if line.startswith(b"data: ") else line[5:]
                if held is None:
                    held = data
                elif type(held) is list:
                    held.append(data)
                else:
                    held = [held, data]  # type: ignore[list-item]  # it is bytes: neither None nor a list
            elif line in _NAMES:
                name = _NAMES[line]
            elif line.startswith(b"event:"):
                name = _named(line)
            elif line == b"data":
                held = [b""] if held is None else [*(held if type(held) is list else [held]), b""]
        self._name, self._data = name, held
        self._between = name is None and held is None and not last and not self._after_return
        return events

    def close(self) -> list[Event]:
        """What was begun and never ended."""
        held = [] if self._started else self._rest
        self._started = True
        if held:
            self._rest = []
            self.feed(b"".join(held))
        events = self.feed(b"\n\n")
        self._rest.clear()
        return events

    def _without_mark(self, data: bytes) -> bytes | None:
        """The first bytes without a byte order mark, or `None` while it may still be one."""
        self._rest.append(data)
        start = b"".join(self._rest)
        if len(start) < len(_MARK) and _MARK.startswith(start):
            return None
        self._started = True
        self._rest.clear()
        return start.removeprefix(_MARK)


_NAMES: dict[bytes, str] = {}
"""Lines that name an event, as they were read before: a stream has few."""


def _named(line: bytes) -> str:
    name = line[6:].strip().decode("utf-8", "replace")
    if len(_NAMES) < 100:
        _NAMES[line] = name
    return name
