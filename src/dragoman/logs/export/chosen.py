"""What of a session is exported: the events a strategy keeps, with the originals it wants, redacted or not."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal

import msgspec

from dragoman.logs.base.raw_bytes import Originals
from dragoman.logs.history.sessions import key_of
from dragoman.logs.redaction.redact import Redactor
from dragoman.model import events as ev

from .lines import written

Strategy = Literal["raw", "clean", "reasoning"]
STRATEGIES: Final[dict[Strategy, str]] = {
    "raw": "every event, and the original record of each",
    "clean": "what was said and done, without the client's own book-keeping",
    "reasoning": "what was asked, thought, said and called; what tools gave is cut",
}

_NOISE: Final = (ev.ClientNoted, ev.UnknownRecord, ev.Unreadable, ev.ModelAsked, ev.SystemSaid, ev.ToolProgressed)
_THOUGHT: Final = (
    ev.SessionStarted,
    ev.UserSaid,
    ev.ModelSaid,
    ev.ModelThought,
    ev.ToolCalled,
    ev.ToolReturned,
    ev.AgentStarted,
    ev.AgentEnded,
)
CUT: Final = 200
"""How many characters of each text a tool gave `reasoning` keeps."""


class LeftOut(msgspec.Struct):
    """What the facts of a conversation say of events that are not exported themselves."""

    began: datetime.datetime | None = None
    ended: datetime.datetime | None = None
    unreadable: int = 0
    unknown: int = 0

    def add(self, event: ev.AnyEvent) -> None:
        """Counts one more."""
        if event.time is not None:
            self.began = event.time if self.began is None else min(self.began, event.time)
            self.ended = event.time if self.ended is None else max(self.ended, event.time)
        self.unreadable += isinstance(event, ev.Unreadable)
        self.unknown += isinstance(event, ev.UnknownRecord)


class Chosen:
    """The events to export; they can be iterated several times. Without a strategy: all of them, without originals."""

    def __init__(
        self,
        events: Callable[[], Iterable[ev.AnyEvent]],
        strategy: Strategy | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self._events, self.strategy, self._redactor = events, strategy, redactor
        self.left_out: dict[tuple[str, str], LeftOut] = {}
        """What a strategy left out, by conversation; known once the events were gone through."""
        if redactor is not None:
            last: Any = None
            for event, raw in self._kept():
                redactor.learn(event)
                if raw is not last:
                    redactor.learn(raw)
                last = raw

    def events(self) -> Iterator[ev.AnyEvent]:
        """The events alone."""
        return (event for event, _ in self.records())

    def records(self) -> Iterator[tuple[ev.AnyEvent, Any]]:
        """Each event with its original as JSON, or `None` if originals are not wanted."""
        last: tuple[Any, Any] = None, None
        for event, raw in self._kept():
            if self._redactor is not None:
                if raw is not last[0]:
                    last = raw, self._redactor.value(raw)
                event, raw = self._redactor.value(event), last[1]
            # Cut at last: half a secret is known by nothing.
            yield (_shortened(event) if self.strategy == "reasoning" else event), raw

    def _kept(self) -> Iterator[tuple[ev.AnyEvent, Any]]:
        last: tuple[Any, Any] = None, None
        self.left_out = {}
        with Originals() as originals:
            for event in self._events():
                if not is_kept(event, self.strategy):
                    self.left_out.setdefault(key_of(event), LeftOut()).add(event)
                    continue
                if self.strategy != "raw" or event.source is None:
                    yield event, None
                    continue
                if event.source != last[0]:
                    last = event.source, written(originals.of(event.source))
                yield event, last[1]  # several events of one record have the very same original


def is_kept(event: ev.AnyEvent, strategy: Strategy | None) -> bool:
    """Whether a strategy keeps an event."""
    if strategy is None or strategy == "raw":
        return True
    if isinstance(event, _NOISE) or (isinstance(event, ev.UserSaid) and event.by == "client"):
        return False
    return strategy == "clean" or isinstance(event, _THOUGHT)


def _shortened(event: ev.AnyEvent) -> ev.AnyEvent:
    if not isinstance(event, ev.ToolReturned):
        return event
    result = msgspec.structs.replace(event.result, native=None)
    return msgspec.structs.replace(event, result=_cut(result))


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= CUT else f"{value[:CUT]}… ({len(value) - CUT} characters cut)"
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **{name: _cut(getattr(value, name)) for name in value.__struct_fields__})
    if isinstance(value, dict):
        return {key: _cut(one) for key, one in value.items()}
    return type(value)(_cut(one) for one in value) if isinstance(value, list | tuple) else value
