"""Copilot CLI's sessions of 2025: `history-session-state/session_*.json`, one document each.

`chatMessages` are the messages as they were sent; `timeline` is the same work as the user saw it, so it is only noted.
Tokens are in neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from dragoman.logs.base.json_ranges import MessagesReader
from dragoman.logs.base.normalise import Normaliser, Place
from dragoman.model import FinishReason, NativeCall, NativeResult, events as ev
from dragoman.model.json_values import as_object, as_text

from .chat_messages import arguments_of as arguments_of, text_of

LISTED: Final = "chatMessages"
_WORDS: Final = "1.0.91"
"""These documents name no version (sessions of 2025). The words of this one are read by their shape: lines with or
without numbers."""
_TOLD = frozenset({"sessionId", "startTime", "timeline"})


def recognise(document: Any) -> float:
    """How sure it is that a JSON value is such a session."""
    if not isinstance(document, dict) or not isinstance(document.get("sessionId"), str):
        return 0.0
    return 0.95 if isinstance(document.get(LISTED), list) else 0.0


class SessionReader(MessagesReader):
    """Reads one session."""

    listed = LISTED

    def __init__(self, path: Path, client: str) -> None:
        super().__init__(path, Normaliser(client, client, path.stem, unnamed=_WORDS))
        self._waiting: list[tuple[str, str]] = []
        """Calls without a result yet: (name, id)."""

    # ── records ────────────────────────────────────────────────────────────

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "a record is a JSON object")
        elif "role" in value:
            yield from self._message(value, self.place(source))
        elif "sessionId" in value:
            yield from self._header(value, source)
        else:
            yield self.normaliser.unknown(self.place(source), None)

    def _header(self, value: dict[str, Any], source: ev.Source) -> Iterator[ev.AnyEvent]:
        self.session = as_text(value["sessionId"])
        place = self.place(source, value.get("startTime"))
        metadata = {key: value[key] for key in value if key not in _TOLD}
        yield self.normaliser.event(ev.SessionStarted, place, metadata=metadata)
        if isinstance(value.get("timeline"), list):
            data = {"entries": len(value["timeline"])}
            yield self.normaliser.event(ev.ClientNoted, place, name="timeline", data=data)

    def _message(self, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        role, text = value["role"], text_of(value.get("content"))
        if role == "assistant":
            if text:
                yield self.normaliser.event(ev.ModelSaid, place, text=text)
            calls = value.get("tool_calls")
            for call in calls if isinstance(calls, list) else ():
                yield self._called(as_object(call), place)
            if calls:  # nothing else shows where a reply ended
                yield self.normaliser.event(ev.ModelFinished, place, finish=FinishReason.CALLS)
        elif role == "tool":
            yield self._returned(value, text, place)
        elif role == "user":
            if text:
                yield self.normaliser.event(ev.UserSaid, place, text=text)
        elif role in ("system", "developer"):
            yield self.normaliser.event(ev.SystemSaid, place, text=text)
        else:
            yield self.normaliser.unknown(place, f"message/{role}")
        if not place.number:
            yield self.normaliser.event(ev.ClientNoted, place, name=f"message/{role}/empty")

    def _called(self, call: dict[str, Any], place: Place) -> ev.AnyEvent:
        function = as_object(call.get("function"))
        name, id = as_text(function.get("name")) or "", as_text(call.get("id")) or f"{place.key}.{place.number}"
        self._waiting.append((name, id))
        return self.normaliser.called(place, NativeCall(id, name, arguments_of(function.get("arguments"))))

    def _returned(self, value: dict[str, Any], text: str, place: Place) -> ev.AnyEvent:
        """A result: of the call it names, or of the one of that tool that waits longest."""
        id, name = as_text(value.get("tool_call_id")), as_text(value.get("name"))
        found = next((one for one in self._waiting if one[1] == id or (id is None and name in (None, one[0]))), None)
        if found is not None:
            self._waiting.remove(found)
            id, name = found[1], found[0]
        return self.normaliser.returned(place, NativeResult(id or f"{place.key}.{place.number}", text, name=name))
