"""Whether a log that is read as a client's was written by another program: a fork, or one that took over its format.

Two signs tell: the log names another program as its writer (`LogFormat.written_by_field`), or calls were carried out
of several tools that no version of the client had. One such tool alone may be new in the client.
"""

from __future__ import annotations

from typing import Final

from dragoman.model import Failure, events as ev, operations as op

from .format import LogFormat

_FEWEST: Final = 2
_SHARE: Final = 0.25
"""How many names of tools, and what part of all of them, must be nobody's."""


class Likeness:
    """Takes the events of a log and says of what it is not."""

    def __init__(self, format: LogFormat) -> None:
        self._format = format
        self._program: str | None = None
        self._names: dict[str, str] = {}
        """Calls of tools nobody knows → the name of the tool."""
        self._known: set[str] = set()
        self._strange: set[str] = set()

    def take(self, event: ev.AnyEvent) -> None:
        """The next event."""
        if isinstance(event, ev.SessionStarted):
            self._program = self._program or self._format.another_program(event.metadata)
        elif isinstance(event, ev.ToolCalled) and event.by == "model":
            name = event.call.native.name
            if any(isinstance(one, op.Unrecognised) for one in event.call.operations):
                self._names[event.call.id] = name
            elif not any(isinstance(one, op.CallMcpTool | op.CallFunction) for one in event.call.operations):
                self._known.add(name)
        elif isinstance(event, ev.ToolReturned) and event.result.call_id in self._names:
            was_refused = any(isinstance(one, Failure) for one in event.result.outcomes)
            self._strange |= set() if was_refused else {self._names[event.result.call_id]}

    @property
    def what(self) -> str | None:
        """The finding in a line; `None` where nothing speaks against the client."""
        client = self._format.name
        if self._format.foreign_words:
            return None
        if self._program is not None:
            return f"like {client}, not {client}: it names {self._program} as its writer; results are kept as text"
        names = len(self._known | self._strange)
        if len(self._strange) >= _FEWEST and len(self._strange) >= _SHARE * names:
            listed = ", ".join(sorted(self._strange)[:6])
            return f"like {client}, not {client}: no version of it had {listed}"
        return None
