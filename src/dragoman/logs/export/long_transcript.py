"""A transcript too long to hold in memory: what stands where in it, so that any window of it can be written.

Rule: a window is what `conversations_of` says of the same entries. Every event is gone through once, in order, and only
its place is kept; the events of a window are fetched by their numbers.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from itertools import chain
from typing import Final

from dragoman.logs.history.sessions import Relations, key_of, parents_of
from dragoman.logs.history.spooled import Spooled
from dragoman.logs.history.tables import failure_of
from dragoman.model import events as ev

from .chosen import Chosen, is_kept
from .markup import hash_of
from .transcript import (
    Conversation,
    Part,
    Said,
    Spending,
    Teller,
    TurnLine,
    begins_part,
    conversations_of,
    title_of_said,
)

Key = tuple[str, str]
Fetch = Callable[[Iterable[int]], Iterable[ev.AnyEvent]]
"""Gives the events with these numbers, which are in order."""

_MOST_OF_AGENT: Final = 4_000
"""Events of an agent that is shown inside its call; of a longer one there is only a link."""


class LongTranscript:
    """A session that is read once. One thread at a time uses it.

    It begins with the events of the session `own`: the files of its agents may be read before that of the session.
    """

    def __init__(self, spooled: Spooled, own: Key | None = None) -> None:
        self._spooled, self._own = spooled, own
        self._firm = _Places()
        """Those of the events that stay when the log grows."""
        self._places = self._firm

    @property
    def sources(self) -> tuple[list[tuple[str, str]], frozenset[Key]]:
        """The files it is read from, each with its format, and whose events are meant."""
        return self._spooled.files, self._spooled.keys

    def state(self) -> list[object]:
        """What tells whether these files are as they were, one value each."""
        return self._spooled.state()

    def read(self, take: Callable[[], None] = lambda: None) -> None:
        """Reads everything, the first time; `take` is called for each event."""
        firm = self._firm.take

        def taken(event: ev.AnyEvent) -> None:
            take()
            firm(event)

        self._add(self._spooled.read(taken))

    def read_on(self) -> bool:
        """Reads what was added to the log since; false if it changed otherwise, and then this is of no more use."""
        last = self._spooled.read_on(self._firm.take)
        if last is not None:
            self._add(last)
        return last is not None

    def _add(self, last: list[ev.AnyEvent]) -> None:
        self._places = self._firm.copied() if last else self._firm
        for event in last:
            self._places.take(event)

    def __iter__(self) -> Iterator[ev.AnyEvent]:
        """All events, in order."""
        spool, own = self._spooled.spool, self._places.events(self._own)
        if len(own) == len(spool):  # most sessions have no agents: their events are fetched as they lie
            yield from spool
            return
        yield from spool.some(own)
        yield from spool.some(_others(own, len(spool)))

    def count(self, key: Key) -> int:
        """How many entries a conversation has."""
        return self._places.entries(key)

    def entry_at(self, key: Key, anchor: str) -> int | None:
        """The entry with an anchor; that of its call, for a result."""
        number = self._places.number_of(anchor)
        return None if number is None else self._places.entry_at(key, number)

    def event_at(self, anchor: str) -> ev.AnyEvent | None:
        """The event with an anchor."""
        number = self._places.number_of(anchor)
        return None if number is None else next(iter(self._spooled.spool.some([number])))

    def window(self, key: Key, title: str, begin: int, size: int) -> Conversation:
        """A part of a conversation, with the agents that its calls started."""
        return self._places.conversation(key, title, begin, size, self._spooled.spool.some)

    @property
    def records(self) -> int:
        """How many records its logs have."""
        return len(self._places.records)

    def record_at(self, anchor: str) -> int | None:
        """The record that the event with an anchor was read from."""
        number = self._places.number_of(anchor)
        if number is None:
            return None
        return self._records().index(bisect_right(self._places.records, number) - 1)

    def events_of_records(self, begin: int, end: int) -> Iterator[ev.AnyEvent]:
        """The events of some records."""
        firsts = self._places.records
        for record in self._records()[begin:end]:
            following = firsts[record + 1] if record + 1 < len(firsts) else self._places.count
            yield from self._spooled.spool.between(firsts[record], following)

    def _records(self) -> array[int]:
        """The records in order."""
        own, order, others = self._places.events(self._own), array("L"), array("L")
        for record, first in enumerate(self._places.records):
            (order if _is_in(own, first) else others).append(record)
        return order + others


def _others(numbers: array[int], end: int) -> Iterator[int]:
    """The numbers before an end that are not among these, which are in order."""
    begin = 0
    for number in chain(numbers, (end,)):
        yield from range(begin, number)
        begin = number + 1


def _is_in(numbers: array[int], number: int) -> bool:
    place = bisect_left(numbers, number)
    return place < len(numbers) and numbers[place] == number


class _Places:
    """The places of all entries of a session and its agents."""

    def __init__(self) -> None:
        self.count = 0
        self._spending = Spending()
        self._teller = Teller([], self._spending)
        self._streams: dict[Key, _Stream] = {}
        self._hashes = array("Q")
        """Of each event, what its anchor says."""
        self.records = array("L")
        """The events that are the first of their records."""
        self._source: ev.Source | None = None

    def copied(self) -> _Places:
        """One that goes on by itself."""
        other = copy(self)
        other._hashes, other.records = self._hashes[:], self.records[:]
        other._streams = {key: stream.copied() for key, stream in self._streams.items()}
        return other

    def take(self, event: ev.AnyEvent) -> None:
        """The next event."""
        number, key = self.count, key_of(event)
        self.count += 1
        self._hashes.append(hash_of(event.id))
        if not number or event.source != self._source:
            self._source = event.source
            self.records.append(number)
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = _Stream(*key)
        stream.relations.learn(event)
        stream.events.append(number)
        if is_kept(event, "clean"):
            self._place(stream, event, number)

    def _place(self, stream: _Stream, event: ev.AnyEvent, number: int) -> None:
        if isinstance(event, ev.ToolReturned):
            result = event.result
            failed = any(failure_of(one, result.native) is not None for one in result.outcomes)
            if stream.answered(result.call_id, number, failed=failed):
                return
            stream.add(event, number, Said("note", "", []))
        elif isinstance(event, ev.ToolCalled):
            stream.add(event, number, Said("call", "", []))
            stream.called(event.call.id, number)
        elif (said := self._teller.entry(event, None, None)) is not None:
            stream.add(event, number, said)

    # ── asking ─────────────────────────────────────────────────────────────

    def entries(self, key: Key) -> int:
        """How many things were said in a conversation."""
        return len(self._streams[key].entries) if key in self._streams else 0

    def events(self, key: Key | None) -> array[int]:
        """The events of a conversation."""
        return array("L") if key is None or key not in self._streams else self._streams[key].events

    def number_of(self, anchor: str) -> int | None:
        """The event with an anchor."""
        try:
            return self._hashes.index(int(anchor[1:], 16))
        except (ValueError, OverflowError):
            return None

    def entry_at(self, key: Key, number: int) -> int | None:
        """Which entry an event is, or its result is of."""
        if key not in self._streams:
            return None
        stream = self._streams[key]
        for sought in (number, next((call for call, result in stream.results.items() if result == number), number)):
            place = bisect_left(stream.entries, sought)
            if place < len(stream.entries) and stream.entries[place] == sought:
                return place
        return None

    def conversation(self, key: Key, title: str, begin: int, size: int, fetch: Fetch) -> Conversation:
        """A window of a conversation, with the agents that its calls started."""
        stream = self._streams.get(key)
        if stream is None:
            return Conversation(key[0], title, [], [], [], key[1])
        children = self._children(key)
        numbers = stream.entries[begin : begin + size]
        results = {number: stream.results[number] for number in numbers if number in stream.results}
        wanted = sorted({*numbers, *results.values()})
        events = dict(zip(wanted, fetch(wanted), strict=True))
        called = {event.call.id for event in events.values() if isinstance(event, ev.ToolCalled)}
        agents: list[tuple[str | None, Conversation]]
        agents = [(call, self._agent(one, fetch)) for call, one in children if call in called]
        told = Teller(agents, self._spending).parts_of(
            (events[number], None, None if number not in results else (events[results[number]], None))  # type: ignore[misc]
            for number in numbers
        )
        if told and told[0].number is None and (turn := stream.turn_at(begin)) is not None:
            told[0] = Part(turn, told[0].said)
        beside: list[Conversation] = []
        if begin + size >= len(stream.entries):
            beside = [self._agent(one, fetch) for call, one in children if call not in stream.calls]
        return Conversation(key[0], title, [], told, beside, key[1], stream.turn_lines())

    def _children(self, key: Key) -> list[tuple[str | None, Key]]:
        relations = [stream.relations for stream in self._streams.values()]
        found = zip(relations, parents_of(relations), strict=True)
        return [
            (call, (one.id, one.stream))
            for one, (parent, call) in found
            if parent is not None and (parent.id, parent.stream) == key
        ]

    def _agent(self, key: Key, fetch: Fetch) -> Conversation:
        """An agent inside the call that started it."""
        family = [key]
        for one in family:
            family += [below for _, below in self._children(one)]
        count = sum(len(self._streams[one].events) for one in family)
        if count > _MOST_OF_AGENT:
            return Conversation.only_named(*key, count)
        numbers = sorted(number for one in family for number in self._streams[one].events)
        found = conversations_of(Chosen(lambda: fetch(numbers), "clean"))
        return next((one for one in found if (one.id, one.stream) == key), found[0])


class _Stream:
    """The places of one conversation."""

    def __init__(self, id: str, stream: str) -> None:
        self.relations = Relations(id, stream)
        self.events = array("L")
        self.entries = array("L")
        self.results: dict[int, int] = {}
        """Call → its result."""
        self.calls: set[str] = set()
        self.turns: list[TurnLine] = []
        self._waiting: dict[str, deque[tuple[int, int]]] = {}
        """Calls without a result so far, each with its turn's place in the list."""
        self._early: dict[str, deque[tuple[int, bool]]] = {}
        """Results without a call so far, each with whether it failed."""

    def copied(self) -> _Stream:
        other = copy(self)
        other.relations = copy(self.relations)
        other.relations.started_agents = self.relations.started_agents[:]
        other.relations.spawns = self.relations.spawns[:]
        other.events, other.entries, other.results = self.events[:], self.entries[:], dict(self.results)
        other.calls, other.turns = set(self.calls), [copy(turn) for turn in self.turns]
        other._waiting = {id: deque(calls) for id, calls in self._waiting.items()}
        other._early = {id: deque(results) for id, results in self._early.items()}
        return other

    def add(self, event: ev.AnyEvent, number: int, said: Said) -> None:
        """The next entry."""
        if not self.turns or begins_part(event, self.turns[-1].number):
            self.turns.append(TurnLine(event.turn, len(self.entries)))
        self.entries.append(number)
        turn = self.turns[-1]
        turn.failed += said.failed
        if said.kind == "user" and not turn.words:
            turn.words = title_of_said(said)

    def called(self, id: str, number: int) -> None:
        """An entry that is a call; its result may have stood before it."""
        self.calls.add(id)
        if early := self._early.get(id):
            result, failed = early.popleft()
            self.results[number] = result
            self.turns[-1].failed += failed
            place = bisect_left(self.entries, result)
            del self.entries[place]
            for turn in self.turns:
                turn.place -= turn.place > place
            if not early:
                del self._early[id]
        else:
            self._waiting.setdefault(id, deque()).append((number, len(self.turns) - 1))

    def answered(self, id: str, number: int, *, failed: bool) -> bool:
        """Whether a result has a call before it."""
        if waiting := self._waiting.get(id):
            call, turn = waiting.popleft()
            self.results[call] = number
            self.turns[turn].failed += failed
            if not waiting:
                del self._waiting[id]
            return True
        self._early.setdefault(id, deque()).append((number, failed))
        return False

    def turn_lines(self) -> list[TurnLine]:
        """The turns that have entries: that of a result whose call came later may have lost its only one."""
        ends = [*(turn.place for turn in self.turns), len(self.entries)][1:]
        return [turn for turn, end in zip(self.turns, ends, strict=True) if turn.place < end]

    def turn_at(self, entry: int) -> int | None:
        """The turn that an entry is of."""
        place = bisect_right(self.turns, entry, key=lambda turn: turn.place) - 1
        return self.turns[place].number if place >= 0 else None
