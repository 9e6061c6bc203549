"""Whether a log that is read as a client's was written by another program: a fork, or one that took over its format.

Two signs tell: the log names another program as its writer (`LogFormat.written_by_field`), or it has calls of several
tools that no version of the client had (`ToolsMet`), which were carried out or have no result. Its results are read as
texts: all of them, or those after the tool that gave it away.
"""

from __future__ import annotations

from dragoman.model import Call, events as ev

from .format import LogFormat
from .normalise import ToolsMet, may_be_of_another, tells_without_result


class Likeness:
    """Takes the events of a log and says of what it is not."""

    def __init__(self, format: LogFormat) -> None:
        self._format = format
        self._program: str | None = None
        self._waiting: dict[str, Call] = {}
        self._tools = ToolsMet()
        self._has_results = False

    def take(self, event: ev.AnyEvent) -> None:
        """The next event."""
        if isinstance(event, ev.SessionStarted):
            self._program = self._program or self._format.another_program(event.metadata)
        elif isinstance(event, ev.ToolCalled) and event.by == "model":
            self._waiting[event.call.id] = event.call
        elif isinstance(event, ev.ToolReturned):
            self._has_results = True
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
        every = ToolsMet(set(self._tools.known), set(self._tools.strange))
        if tells_without_result(client, has_results=self._has_results):
            for call in self._waiting.values():
                every.unanswered(call, client)
        if every.are_of_another and may_be_of_another(client):
            listed = ", ".join(sorted(every.strange)[:6])
            return f"like {client}, not {client}: no version of it had {listed}; not all their calls have a result"
        return None
