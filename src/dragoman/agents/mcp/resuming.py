"""The last events of a server's streams, for clients whose connection broke and who come back for the rest."""

from __future__ import annotations

from collections import OrderedDict
from itertools import count
from typing import Any, Final

MOST_EVENTS: Final = 2000
"""Events kept of all streams together: the newest. A client that comes back later than that has lost the older ones."""
RETRY_MILLISECONDS: Final = 500
"""How long a client whose stream has ended should wait before it comes back."""


def event_store() -> Any:
    """An event store as the MCP package wants it, in memory and bounded."""
    from mcp.server.streamable_http import EventMessage, EventStore

    class Recent(EventStore):
        def __init__(self) -> None:
            self._events: OrderedDict[str, tuple[str, Any]] = OrderedDict()
            self._numbers = count(1)

        async def store_event(self, stream_id: str, message: Any) -> str:
            event = str(next(self._numbers))
            self._events[event] = (stream_id, message)
            while len(self._events) > MOST_EVENTS:
                self._events.popitem(last=False)
            return event

        async def replay_events_after(self, last_event_id: str, send_callback: Any) -> str | None:
            if last_event_id not in self._events:
                return None
            stream, _ = self._events[last_event_id]
            later = [
                (event, message)
                for event, (of, message) in self._events.items()
                if of == stream and int(event) > int(last_event_id) and message is not None
            ]
            for event, message in later:
                await send_callback(EventMessage(message, event))
            return stream

    return Recent()
