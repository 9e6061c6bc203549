"""What the page shows: the sessions of a query, kept up to date, and the few that were read last.

Rule: one thing at a time asks the index (`lock`); figures come from the same functions as those of the commands.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final

import msgspec

from dragoman.logs import Chosen, Filter, Found, Query, SessionRow
from dragoman.logs.export import Conversation, conversations_of
from dragoman.logs.full_text import Wanted
from dragoman.logs.history import Listing
from dragoman.model import AnyEvent

from .words import Searched, Words

ENTRIES: Final = 150
"""Entries of a session that are shown at once."""
LONG: Final = 6_000
"""Events from which on a session is long: of such a one only a part is shown at first."""
_FIRST: Final = (600, 900, 3_000)
"""How many more of them are read at a time until its first screen is full."""
_KEPT: Final = 3
"""Sessions that stay in memory after they were shown."""
_MOST_HELD: Final = 30_000
"""Events of all of them; of the one that was shown last there may be more."""


class Spent(msgspec.Struct):
    """What a session and its sub-agents cost; exchanges told of twice are counted once."""

    cost: float | None = None
    unpriced: int = 0
    """Exchanges whose price is not known."""
    tokens: int | None = None
    """Those of the sub-agents among them."""


class Read(msgspec.Struct):
    """A session that was read: its events and its conversations, sub-agents inside."""

    row: SessionRow
    events: Iterable[AnyEvent]
    """Can be gone through again and again; those of a long session may be read from its log each time."""
    conversation: Conversation
    """That of the session, or of the sub-agent that was asked for."""
    is_beginning: bool = False
    """Whether only the first events of a long session were read."""
    is_long: bool = False
    """Whether its events are read from the log when they are gone through."""
    is_of_another: bool = False
    """Whether its row is that of a sub-agent: what it cost is counted in its session."""


class Library:
    """Sessions for the page. Methods may be called from any thread."""

    def __init__(self, query: Query) -> None:
        self.query, self.lock = query, threading.RLock()
        self._is_stale = self._is_renewed = False
        self._spent: dict[str, Spent] | None = None
        self._is_spent_stale, self._next_spent = False, 0.0
        self._words: Words | None = None
        self._read: OrderedDict[tuple[object, ...], tuple[list[AnyEvent], list[Conversation]]] = OrderedDict()

    def prepare(self) -> None:
        """Brings the list and the costs up to the logs, so that no screen waits for that."""
        with self.lock:
            rows = self.fresh().listing(limit=1).rows
            self.query.costs_of(rows)

    def changed(self) -> None:
        """Logs have changed: the next question looks at them."""
        self._is_stale = True
        self._words_changed()

    def renewed(self) -> None:
        """The index was updated elsewhere: the next question looks there, and at no log."""
        self._is_renewed = True
        self._words_changed()

    def _words_changed(self) -> None:
        if self._words is not None:
            self._words.changed()

    def fresh(self) -> Query:
        """The query, after it has read what changed."""
        if self._is_stale:
            self._is_stale = self._is_renewed = False
            counts = self.query.refresh()
            if counts.read_on or counts.read_anew or counts.removed:
                self._is_spent_stale = True
        elif self._is_renewed:
            self._is_renewed = False
            self.query.as_indexed()
        return self.query

    def files(self) -> list[Found]:
        """The logs that there are now."""
        with self.lock:
            return self.query.files()

    def listing(self, asked: Filter, words: str, *, limit: int, offset: int) -> Listing:
        """Some sessions, newest first, and how many there are."""
        with self.lock:
            return self.fresh().listing(asked, words, limit=limit, offset=offset)

    def rows_of(self, ids: Iterable[str]) -> dict[str, SessionRow]:
        """The sessions with these ids."""
        with self.lock:
            query = self.fresh()
            return {id: row for id in set(ids) if (row := query.row_of(id)) is not None}

    def spent(self, rows: Iterable[SessionRow]) -> dict[str, Spent]:
        """Session → what it cost, sub-agents included; of these sessions, which are no sub-agents."""
        chosen = list(rows)
        with self.lock:
            some = self.fresh().costs_of(chosen)
            if some is None:
                everything = self._all_spent()
                return {row.session: everything[row.session] for row in chosen if row.session in everything}
            return {root: Spent(*found) for root, found in some.items()}

    def _all_spent(self) -> dict[str, Spent]:
        """The same of all sessions, where there is no index to ask for some."""
        # Counting all costs takes a while where there are very many sessions: then it is not done all the time.
        is_due = self._is_spent_stale and time.monotonic() >= self._next_spent
        if self._spent is None or is_due:
            began = time.monotonic()
            self._spent = {root: Spent(*found) for root, found in self.query.costs().items()}
            now = time.monotonic()
            self._is_spent_stale, self._next_spent = False, now + 20 * max(0.0, now - began - 0.1)
        return self._spent

    @property
    def has_words(self) -> bool:
        """Whether words can be searched: a corpus has no full text."""
        return self.query.has_files

    def search(self, wanted: Wanted, *, limit: int, offset: int) -> Searched:
        """Places that hold what is sought, best first."""
        if not self.has_words:
            return Searched()
        with self.lock:
            if self._words is None:
                self._words = Words(self.query.files, in_memory=self.fresh().index.is_in_memory)
        return self._words.search(wanted, limit=limit, offset=offset)

    def session_ids(self, asked: Filter) -> frozenset[str]:
        """The ids of the sessions that are asked for, and of their sub-agents."""
        with self.lock:
            return self.fresh().session_ids(asked)

    def close(self) -> None:
        """Ends what goes on in the background."""
        if self._words is not None:
            self._words.close()

    def session(
        self, id: str, stream: str | None = None, *, beginning: bool = False, events_only: bool = False
    ) -> Read:
        """A session by its id or how it begins; `stream` is one of its sub-agents.

        Of a long session that is not in memory only the first events are read with `beginning`, and none at all with
        `events_only`: they are read when they are gone through, and its conversation has no entries.
        """
        with self.lock:
            query = self.fresh()
            row = query.find(id)
            root = query.root_of(row)
            if row is not root and stream is None:
                stream = row.stream
            state = _state(query.logs_of(root.session))
            key = (root.session, state)
            is_long = key not in self._read and stream is None and row.events > LONG
            if is_long and events_only:
                logged = _Logged(self, root.session)
                return Read(row, logged, _nothing_said(row), is_long=True, is_of_another=row is not root)
            if is_long and beginning:
                events, first = _beginning(query.events_of(root.session))
                first = first or _nothing_said(row)
                return Read(row, events, first, is_beginning=True, is_of_another=row is not root)
            if key not in self._read:
                events = list(query.events_of(root.session))
                self._read[key] = events, conversations_of(Chosen(lambda: events, "clean"))
            self._read.move_to_end(key)
            while len(self._read) > 1 and (len(self._read) > _KEPT or self._held() > _MOST_HELD):
                self._read.popitem(last=False)
            events, conversations = self._read[key]
        found = {(one.id, one.stream): one for one in all_of(conversations)}
        wanted = (row.session, row.stream if stream is None else stream)
        chosen = found.get(wanted) or next((one for key, one in found.items() if key[1] == wanted[1]), None)
        chosen = chosen or (conversations[0] if conversations else _nothing_said(row))
        return Read(row, events, chosen, is_of_another=row is not root)

    def _held(self) -> int:
        return sum(len(events) for events, _ in self._read.values())


class _Logged:
    """The events of a session, read from its log."""

    def __init__(self, library: Library, id: str) -> None:
        self._library, self._id = library, id

    def __iter__(self) -> Iterator[AnyEvent]:
        # Where they are is asked of the index before the first of them; from then on only the logs are read.
        with self._library.lock:
            events = self._library.query.events_of(self._id)
            first = next(events, None)
        return events if first is None else chain((first,), events)


def _beginning(events: Iterator[AnyEvent]) -> tuple[list[AnyEvent], Conversation | None]:
    """The first events of a session, and the conversation they make: no more than fill the first screen."""
    read: list[AnyEvent] = []
    first = None
    for more in _FIRST:
        read.extend(islice(events, more))
        first = next(iter(conversations_of(Chosen(lambda: read, "clean"))), None)
        if first is not None and sum(len(part.said) for part in first.parts) > ENTRIES:
            break
    return read, first


def _nothing_said(row: SessionRow) -> Conversation:
    """That of a log of which nothing is understood: its bytes can be shown all the same."""
    return Conversation(row.session, row.title or "Untitled session", [], [], [], row.stream)


def all_of(conversations: Iterable[Conversation]) -> Iterable[Conversation]:
    """Conversations and those of all agents in them."""
    for one in conversations:
        yield one
        yield from all_of(one.agents)
        for part in one.parts:
            for said in part.said:
                yield from all_of(said.agents)


def _state(files: Iterable[Found]) -> tuple[object, ...]:
    found: list[object] = []
    for file in files:
        try:
            facts = os.stat(file.path)
        except OSError:
            continue
        found.append((str(file.path), facts.st_size, facts.st_mtime_ns))
    return tuple(found)
