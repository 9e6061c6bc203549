"""Whether a log that is read as a client's was written by another program: a fork, or one that took over its format.

Two signs tell: the log names another program as its writer (`LogFormat.written_by_field`), or calls were carried out
of several tools that no version of the client had (`ToolsMet`). Its results are read as texts: all of them, or those
after the tool that gave it away.
"""

from __future__ import annotations

from dragoman.model import Call, events as ev

from .format import LogFormat
from .normalise import ToolsMet, may_be_of_another


class Likeness:
    """Takes the events of a log and says of what it is not."""

    def __init__(self, format: LogFormat) -> None:
        self._format = format
        self._program: str | None = None
        self._waiting: dict[str, Call] = {}
        self._tools = ToolsMet()

    def take(self, event: ev.AnyEvent) -> None:
        """The next event."""
        if isinstance(event, ev.SessionStarted):
            self._program = self._program or self._format.another_program(event.metadata)
        elif isinstance(event, ev.ToolCalled) and event.by == "model":
            self._waiting[event.call.id] = event.call
        elif isinstance(event, ev.ToolReturned):
            call = self._waiting.pop(event.result.call_id, None)
            if call is not None:
                self._tools.answered(call, event.result, self._format.name)

    @property
    def what(self) -> str | None:
        """The finding in a line; `None` where nothing speaks against the client."""
        client = self._format.name
        if self._format.foreign_words:
            return None
        if self._program is not None:
            return f"like {client}, not {client}: it names {self._program} as its writer; results are kept as text"
        if self._tools.are_of_another and may_be_of_another(client):
            listed = ", ".join(sorted(self._tools.strange)[:6])
            return f"like {client}, not {client}: no version of it had {listed}; results after them are kept as text"
        return None
