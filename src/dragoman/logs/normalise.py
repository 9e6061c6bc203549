"""Native facts of a log → events: the only join between a format and a dialect.

Rule: a logged call is read by the very functions a live one is read by. Event ids are made of the session, the record
and a number, so reading twice gives the same ids.
"""

from __future__ import annotations

import datetime
from typing import Any, TypeVar

import msgspec

from dragoman.dialects import DIALECTS, Dialect
from dragoman.model import (
    Call,
    Decision,
    Event,
    NativeCall,
    NativeResult,
    Source,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unreadable,
)

Kind = TypeVar("Kind", bound=Event)


class Place(msgspec.Struct):
    """Where a record stands: what all its events have in common. `key` names the record within its session."""

    source: Source
    key: str
    session: str | None = None
    stream: str = "main"
    version: str | None = None
    time: datetime.datetime | None = None
    parent: str | None = None
    provider_id: str | None = None
    number: int = 0
    """How many events of this record there are so far."""


class Normaliser:
    """Makes the events of one file; remembers its calls, so that results find them in any order."""

    def __init__(self, dialect: str, client: str, file: str) -> None:
        self.client = client
        self._file = file
        self._dialect: Dialect = DIALECTS[dialect]
        self._versions: dict[str | None, Dialect] = {None: self._dialect}
        self.calls: dict[str, Call] = {}
        """Call id → the call, of this file."""
        self.returned_ids: set[str] = set()

    def at(self, version: str | None) -> Dialect:
        """The vocabulary as a version of the client spoke it."""
        known = self._versions.get(version)
        if known is None:
            known = self._versions[version] = self._dialect.at(version)
        return known

    def knowing(self, **what: Any) -> None:
        """What this run declared: MCP servers, functions of the user's."""
        self._dialect = self._dialect.knowing(**what)
        self._versions = {None: self._dialect}

    def event(self, kind: type[Kind], place: Place, **facts: Any) -> Kind:
        """An event of a record."""
        place.number += 1
        return kind(
            id=f"{place.session or self._file}:{place.key}:{place.number}",
            session=place.session,
            stream=place.stream,
            time=place.time,
            client=self.client,
            version=place.version,
            source=place.source,
            parent=place.parent,
            provider_id=place.provider_id,
            **facts,
        )

    def called(
        self, place: Place, native: NativeCall, *, by: str = "model", decision: Decision | None = None, **facts: Any
    ) -> ToolCalled:
        """A call, with its meaning."""
        call = self.at(place.version).read_call(native)
        self.calls[native.id] = call
        return self.event(ToolCalled, place, call=call, call_id=native.id, by=by, decision=decision, **facts)

    def returned(
        self, place: Place, native: NativeResult, *, duration: float | None = None, **facts: Any
    ) -> ToolReturned:
        """A result, read with the call it belongs to; one whose call is not in the file is read as it stands."""
        dialect = self.at(place.version)
        call = self.calls.get(native.call_id)
        if call is None:
            call = dialect.read_call(NativeCall(native.call_id, native.name or "", {}))
        self.returned_ids.add(native.call_id)
        result = dialect.read_result(call, native)
        if duration is not None:
            result = msgspec.structs.replace(result, duration=duration)
        return self.event(ToolReturned, place, result=result, call_id=native.call_id, **facts)

    def unreadable(self, source: Source, reason: str) -> Unreadable:
        """Bytes that are no record."""
        return Unreadable(id=f"{self._file}:@{source.offset}:0", client=self.client, reason=reason, source=source)

    def unknown(self, place: Place, name: str | None) -> UnknownRecord:
        """A record of a kind nobody knows."""
        return self.event(UnknownRecord, place, name=name)


def moment(text: Any) -> datetime.datetime | None:
    """A time as logs write it: ISO text, or seconds or milliseconds since 1970. What is none is `None`, never "now"."""
    if isinstance(text, str):
        try:
            time = datetime.datetime.fromisoformat(text)
        except ValueError:
            return None
        return time if time.tzinfo is not None else time.replace(tzinfo=datetime.UTC)
    if isinstance(text, int | float) and not isinstance(text, bool) and 0 < text < 1e14:
        return datetime.datetime.fromtimestamp(text / 1000 if text > 1e11 else text, datetime.UTC)
    return None
