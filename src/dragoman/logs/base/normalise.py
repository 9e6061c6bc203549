"""Native facts of a log → events: the only join between a format and a dialect.

Rule: a logged call is read by the very functions a live one is read by. Event ids are made of the session, the record
and a number, so reading twice gives the same ids.
"""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Callable, Generator, Iterable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import msgspec

from dragoman.generated import function
from dragoman.model import (
    Call,
    DoneOutcome,
    Failure,
    NativeCall,
    NativeResult,
    Outcome,
    Result,
    TextOutcome,
    Usage,
    events as ev,
    operations as op,
)
from dragoman.registry import DIALECTS, FORMATS

if TYPE_CHECKING:
    from dragoman.dialects import CallReading, Dialect

Kind = TypeVar("Kind", bound=ev.Event)


class Place(msgspec.Struct, gc=False):
    """The location of a record, shared by all its events. `key` identifies the record within its session."""

    source: ev.Source
    key: str
    session: str | None = None
    stream: str = "main"
    version: str | None = None
    time: datetime.datetime | None = None
    parent: str | None = None
    provider_id: str | None = None
    number: int = 0
    """How many events of this record there are so far."""


class Standing(Protocol):
    """The same of a record that says it itself."""

    source: ev.Source
    session: str | None
    stream: str
    version: str | None
    time: datetime.datetime | None
    parent: str | None
    provider_id: str | None
    number: int


class Normaliser:
    """Makes the events of one file; remembers its calls, so that results find them in any order."""

    not_stored: ClassVar = frozenset({"readings"})
    """What spares work and says nothing: it is not stored, as somebody's own vocabulary could not be."""

    def __init__(
        self,
        dialect: str | Dialect,
        client: str,
        file: str,
        *,
        remembers: int | None = None,
        key: str = "{place.key}",
        unnamed: str | None = None,
    ) -> None:
        self.client = client
        self._file, self._key = file, key
        spoken: Dialect = DIALECTS[dialect] if isinstance(dialect, str) else dialect
        self._dialect: Dialect = spoken if unnamed is None else _narrowed(spoken, unnamed)
        """The vocabulary of a log that names no version: of version `unnamed`, or the newest."""
        self._version: str | None = None
        self._spoken: Dialect = self._dialect
        """The vocabulary as the version spoke it whose records are being read."""
        self._makers: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._make_called = self.maker(ev.ToolCalled, "call", "call_id", "by")
        self._make_returned = self.maker(ev.ToolReturned, "result", "call_id")
        self.calls: dict[str, Call] = {}
        """Call id → the call, of this file; to be changed by the methods below alone."""
        self.readings: dict[str, CallReading] = {}
        """The same of those that wait for a result, with what spares finding their words again to read it."""
        self.returned_ids: set[str] = set()
        """The calls that have their result, where all are kept."""
        self._remembers = remembers
        """How many calls that have their result are kept for another one, at least half as many; `None`: all."""
        self._answered: deque[str] = deque()
        self.doubts = False
        """Whether the log is another program's, so that only what a result says as text is sure."""
        self.tools = ToolsMet()

    def at(self, version: str | None) -> Dialect:
        """The vocabulary of a version of the client."""
        if version != self._version:
            self._version = version
            self._spoken = self._dialect if version is None else _narrowed(self._dialect, version)
        return self._spoken

    def knowing(self, **what: Any) -> None:
        """What this run declared: MCP servers, functions of the user's."""
        self._version, self._spoken = None, self._dialect.knowing(**what)
        self._dialect = self._spoken

    def event(self, kind: type[Kind], place: Standing, **facts: Any) -> Kind:
        """An event of a record."""
        make: Callable[..., Kind] = self._makers.get((kind, *facts)) or self.maker(kind, *facts)
        return make(place, **facts)

    def maker(self, kind: type[Kind], *facts: str, key: str | None = None) -> Callable[..., Kind]:
        """What makes events of a kind, given their place and these facts: `maker(ModelSaid, "text")(place, text)`.

        It runs for every event of a log, so it is written out once, as by hand. `key` is what its id has of the place,
        where that is not what all others of this file have of it.
        """
        make: Callable[..., Kind] = _maker(kind, facts, key or self._key)(self.client, self._file)
        self._makers[kind, *facts] = make
        return make

    def called(self, place: Standing, native: NativeCall, by: str = "model") -> ev.ToolCalled:
        """A call, with its meaning."""
        reading = (self._spoken if place.version == self._version else self.at(place.version)).read_with_reader(native)
        self.calls[native.id] = call = reading[0]
        self.readings[native.id] = reading
        return self._make_called(place, call, native.id, by)

    def returned(self, place: Standing, native: NativeResult, duration: float | None = None) -> ev.ToolReturned:
        """A result, read with its call; without a call in the file, it is kept as it is."""
        dialect = self._spoken if place.version == self._version else self.at(place.version)
        id = native.call_id
        reading = self.readings.pop(id, None)
        if reading is not None:
            call = reading[0]
            result = dialect.read_result(call, native, reading[1])
        else:
            call = self.calls.get(id) or dialect.read_call(NativeCall(id, native.name or "", {}))
            result = dialect.read_result(call, native)
        self.tools.answered(call, result, self.client)
        if self._remembers is None:
            self.returned_ids.add(id)
        else:
            self._answered.append(id)
            if len(self._answered) > self._remembers:
                self._forget(self._remembers // 2)
        if self.doubts or (self.tools.are_of_another and may_be_of_another(self.client)):
            result = _doubted(dialect, result)
        if duration is not None:
            result = msgspec.structs.replace(result, duration=duration)
        return self._make_returned(place, result, id)

    def displayed(self, place: Standing, native: NativeResult) -> ev.ToolReturned:
        """A result as the client shows it to a person, which is not what the model was given: a text or a failure."""
        id = native.call_id
        call = self.calls.get(id)
        text = native.content if isinstance(native.content, str) else ""
        outcome: Outcome = TextOutcome(text) if text else DoneOutcome()
        if native.is_error:
            asked = call or Call(id, (), NativeCall(id, native.name or "", {}))
            outcome = self.at(place.version).failures.understand(asked, native) or Failure("failed", text)
        self.readings.pop(id, None)
        self.returned_ids.add(id)
        outcomes = (outcome,) * max(1, len(call.operations) if call is not None else 1)
        return self._make_returned(place, Result(id, outcomes, native=native), id)

    def _forget(self, but: int) -> None:
        """A log may have more calls than memory should hold, and hardly one is answered twice, long after."""
        while len(self._answered) > but:
            self.calls.pop(self._answered.popleft(), None)

    def forget_all(self) -> None:
        """Forgets all calls: another session follows, whose calls may have the same ids."""
        self.calls.clear()
        self.readings.clear()

    def meant(self, call: Call) -> None:
        """What a call that was told means after all."""
        self.calls[call.id] = call
        self.readings.pop(call.id, None)

    def unreadable(
        self, source: ev.Source, reason: str, session: str | None = None, stream: str = "main"
    ) -> ev.Unreadable:
        """Bytes that are no record; in a file of lines they belong to the session that was told of before them."""
        id = f"{self._file}:@{source.offset}:0"
        return ev.Unreadable(id=id, session=session, stream=stream, client=self.client, reason=reason, source=source)

    def or_noted(
        self, events: Iterable[ev.AnyEvent], place: Standing, name: str | None
    ) -> Generator[ev.AnyEvent, None, ev.AnyEvent]:
        """The events of a record, or a note that it says nothing; returns the last of them."""
        last: ev.AnyEvent | None = None
        for last in events:
            yield last
        if last is None:
            last = self.event(ev.ClientNoted, place, name=f"{name}/empty")
            yield last
        return last

    def unknown(self, place: Standing, name: str | None) -> ev.UnknownRecord:
        """A record of a kind nobody knows."""
        return self.event(ev.UnknownRecord, place, name=name)


class ToolsMet(msgspec.Struct):
    """The tools whose calls were carried out in a log: those its client has, and those that no version of it had.

    Several of the latter, and not a few among all, say that another program wrote the log. One alone may be new in the
    client, and one that was refused is a model's invention. Where a log does not name its servers, a name with the
    mark of theirs (`LogFormat.unnamed_server`) may be one of their tools.
    """

    fewest: ClassVar = 2
    share: ClassVar = 0.25
    """How many names of tools, and what part of all of them, must be nobody's."""

    known: set[str] = set()
    strange: set[str] = set()

    def answered(self, call: Call, result: Result, client: str) -> None:
        """A call and what it gave; tools of servers and of the user say nothing."""
        for operation in call.operations[:1]:
            kind = type(operation)
            if kind is op.Unrecognised:
                name = call.native.name
                if not is_perhaps_of_a_server(client, name) and not any(
                    isinstance(one, Failure) for one in result.outcomes
                ):
                    self.strange.add(name)
            elif kind is not op.CallMcpTool and kind is not op.CallFunction:
                self.known.add(call.native.name)

    def unanswered(self, call: Call, client: str) -> None:
        """A call to which the log has no result, where that says something of its tool (`tells_without_result`)."""
        is_strange = any(isinstance(one, op.Unrecognised) for one in call.operations[:1])
        if is_strange and not is_perhaps_of_a_server(client, call.native.name):
            self.strange.add(call.native.name)

    @property
    def are_of_another(self) -> bool:
        """Whether they are those of another program."""
        strange = len(self.strange)
        return strange >= self.fewest and strange >= self.share * (strange + len(self.known))


def is_perhaps_of_a_server(client: str, name: str) -> bool:
    """Whether a tool that nobody knows is named as those of servers are, in logs that do not name their servers."""
    mark = FORMATS[client].unnamed_server
    return mark is not None and mark in name.strip(mark)


def tells_without_result(client: str, *, has_results: bool) -> bool:
    """Whether a call without a result tells of its tool: where a log has none at all, or where its client answers
    calls of tools that it does not know."""
    format = FORMATS[client]
    return not has_results or (format.answers_unknown and format.captured)


@cache
def may_be_of_another(client: str) -> bool:
    """Whether all tools of a client are known, so that a log of it with others is not its own."""
    format = FORMATS[client]
    return bool(format.captured and not format.foreign_words)


def _doubted(dialect: Dialect, result: Result) -> Result:
    """A result of another program: a failure that is marked as one, or what it is for a tool that nobody knows."""
    if result.native is None:
        return result
    id = result.call_id
    nobodys = Call(id, (op.Unrecognised("", {}),), NativeCall(id, "", {}))
    (told,) = dialect.read_result(nobodys, result.native).outcomes
    outcomes = tuple(one if isinstance(one, Failure) else told for one in result.outcomes)
    return msgspec.structs.replace(result, outcomes=outcomes)


def read_again(returned: ev.ToolReturned, called: ev.ToolCalled) -> ev.ToolReturned:
    """A result that stood before its call, and so was read without it, as that call's."""
    native = returned.result.native
    if native is None or called.client is None or called.client not in FORMATS:
        return returned
    if FORMATS[called.client].foreign_words:
        return returned  # whose words they are, the log alone said
    dialect = _narrowed(DIALECTS[FORMATS[called.client].dialect], called.version)
    outcomes = dialect.read_result(called.call, native).outcomes
    return msgspec.structs.replace(returned, result=msgspec.structs.replace(returned.result, outcomes=outcomes))


@lru_cache(maxsize=64)
def _narrowed(dialect: Dialect, version: str | None) -> Dialect:
    """A vocabulary at a version takes longer to make than a short log takes to read."""
    return dialect.at(version)


@cache
def _maker(kind: type[ev.Event], facts: tuple[str, ...], key: str) -> Callable[[str, str], Callable[..., Any]]:
    common = ("session", "stream", "time", "version", "source", "parent", "provider_id")
    said = {
        "id": "id",
        "client": "client",
        **{name: f"place.{name}" for name in common},
        **{name: name for name in facts},
    }
    if kind is ev.TokensUsed:
        said["usage"] = "possible(usage)"
    # In the order of the fields, in which they are found at once; what is no field is refused by the kind itself.
    told = [f"{name}={said.pop(name)}" for name in kind.__struct_fields__ if name in said]
    told += [f"{name}={value}" for name, value in said.items()]
    lines = (
        "def of_file(client, file):",
        f"    def make({', '.join(('place', *facts))}):",
        "        if place.number:",
        "            place.number = number = place.number + 1",
        "            id = f'{place.session or file}:" + key + ":{number}'",
        "        else:",  # most records have but one
        "            place.number = 1",
        "            id = f'{place.session or file}:" + key + ":1'",
        f"        return kind({', '.join(told)})",
        "    return make",
    )
    of_file: Callable[[str, str], Callable[..., Any]] = function("of_file", lines, {"kind": kind, "possible": possible})
    return of_file


def possible(usage: Usage) -> Usage:
    """Tokens without counts that cannot be, as nobody uses fewer than none. They are marked as doubtful."""
    said = (usage.input_tokens, usage.cached_read_tokens, usage.cached_write_tokens, usage.output_tokens)
    if not any(count is not None and count < 0 for count in (*said, usage.reasoning_tokens, usage.tool_tokens)):
        return usage
    counts = {name: getattr(usage, name) for name in usage.__struct_fields__ if name.endswith("_tokens")}
    none: dict[str, Any] = {name: None for name, count in counts.items() if count is not None and count < 0}
    return msgspec.structs.replace(usage, **none, doubtful=tuple(dict.fromkeys((*usage.doubtful, *none))))


def moment(text: Any) -> datetime.datetime | None:
    """A time as logs write it: ISO text, or seconds or milliseconds since 1970. `None` if it is not a time."""
    if isinstance(text, str):
        try:
            time = datetime.datetime.fromisoformat(text)
        except ValueError:
            return None
        return time if time.tzinfo is not None else time.replace(tzinfo=datetime.UTC)
    if isinstance(text, int | float) and not isinstance(text, bool) and 0 < text < 1e14:
        return datetime.datetime.fromtimestamp(text / 1000 if text > 1e11 else text, datetime.UTC)
    return None
