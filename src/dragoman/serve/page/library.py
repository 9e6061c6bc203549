"""What the page shows: the sessions of a query, kept up to date, and the few that were read last.

Rule: one thing at a time asks the index (`lock`); figures come from the same functions as those of the commands.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any, Final

import msgspec

from dragoman.errors import LogError
from dragoman.logs import Chosen, Filter, Found, Query, SessionRow, key_of, statistics
from dragoman.logs.export import Conversation, LongTranscript, conversations_of
from dragoman.logs.full_text import Wanted
from dragoman.logs.history import Group, Listing
from dragoman.model import AnyEvent, ToolCalled

from .long_session import LongSession
from .words import Searched, Words

ENTRIES: Final = 150
"""Entries of a session that are shown at once."""
LONG: Final = 6_000
"""Events from which on a session is long: of such a one only a part is shown at first."""
_FIRST: Final = (600, 900, 3_000)
"""How many more of them are read at a time until its first screen is full."""
_MOST_OF_AGENTS: Final = 4_000
"""Events of sub-agents that are read for the first screen of a long session."""
_KEPT: Final = 3
"""Sessions that stay in memory after they were shown."""
_ANSWERS: Final = 30
"""Answers about usage that stay."""
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
    """Can be gone through again and again, but for the beginning of a long session."""
    conversation: Conversation
    """That of the session, or of the sub-agent that was asked for."""
    is_beginning: bool = False
    """Whether only the first events of a long session are there; they are gone through once."""
    transcript: LongTranscript | None = None
    """A long session: its conversation has no entries, windows of it are asked for here."""
    lock: AbstractContextManager[Any] = nullcontext()
    """Held while a long session is gone through, so that it does not grow meanwhile."""
    is_of_another: bool = False
    """Whether its row is that of a sub-agent: what it cost is counted in its session."""


class _Counted(msgspec.Struct):
    """What was counted, after how many changes of logs, and until when it stands all the same."""

    groups: list[Group]
    total: Group
    changes: int
    until: float


class Library:
    """Sessions for the page. Methods may be called from any thread."""

    def __init__(self, query: Query) -> None:
        self.query, self.lock = query, threading.RLock()
        self.answering = threading.Lock()
        """Held while a statement is answered: one at a time, but nothing else waits for it."""
        self._is_stale = self._is_renewed = False
        self._spent: dict[str, Spent] | None = None
        self._is_spent_stale, self._next_spent = False, 0.0
        self._words: Words | None = None
        self._changes = 0
        """How often logs have changed."""
        self._counted: OrderedDict[tuple[str | None, ...], _Counted] = OrderedDict()
        self._long: OrderedDict[str, LongSession] = OrderedDict()
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
            self._refresh()
        elif self._is_renewed:
            self._is_renewed = False
            self._changes += 1
            self.query.as_indexed()
        return self.query

    def _refresh(self, found: Iterable[Found] | None = None) -> bool:
        self._is_stale = self._is_renewed = False
        counts = self.query.refresh(found=found)
        is_changed = bool(counts.read_on or counts.read_anew or counts.removed)
        if is_changed:
            self._is_spent_stale = True
            self._changes += 1
        return is_changed

    def look(self, most: int, since: float, *, is_read: bool = True) -> tuple[bool, list[Found]]:
        """Looks at all logs: whether any has changed, and those that were written to since, the newest `most`.

        Without `is_read` they are only found, which is over sooner: what changed is not read yet.
        """
        if not self.query.has_files:
            return False, []
        with self.lock:
            found = self.query.noting(most, since)
            is_changed = is_read and self._refresh(found)
            if not is_read:
                for _ in found:
                    pass
        if is_changed:
            self._words_changed()
        return is_changed, found.noted

    def agents_of_calls(self, row: SessionRow, calls: frozenset[str]) -> tuple[list[AnyEvent], list[SessionRow]]:
        """The events of the agents that these calls of a session started, and those agents.

        There are no more events than a few calls may cost: of what is beyond that, only the agents are known.
        """
        with self.lock:
            below = self.fresh().agents_of(row)
            started = [one for one in below if one.parent_call in calls]
            chosen, left = [], _MOST_OF_AGENTS
            for one in started:
                family = [one, *self.query.agents_of(one)]
                count = sum(other.events for other in family)
                if count <= left:
                    chosen.append(family)
                    left -= count
            events = [event for family in chosen for one in family for event in self.query.own_events_of(one)]
        return events, started

    def listing(self, asked: Filter, words: str, *, limit: int, offset: int) -> Listing:
        """Some sessions, newest first, and how many there are."""
        with self.lock:
            return self.fresh().listing(asked, words, limit=limit, offset=offset)

    def row(self, id: str) -> SessionRow:
        """The session with this id or that begins so."""
        with self.lock:
            return self.fresh().find(id)

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

    def counted(self, by: str, asked: Filter, words: tuple[str | None, ...]) -> tuple[list[Group], Group]:
        """Calls and exchanges by groups, and all together. `words` are the question's, in which `1w` is always a week.

        Counting goes through all calls. So an answer stands until a log changes, and while logs change all the time it
        stands for a few times as long as it took to find.
        """
        with self.lock:
            query = self.fresh()
            known = self._counted.get((by, *words))
            if known is not None and (known.changes == self._changes or time.monotonic() < known.until):
                return known.groups, known.total
            began = time.monotonic()
            found = statistics(query, asked, (by,))  # type: ignore[arg-type]
            now = time.monotonic()
            until = now + 5 * max(0.0, now - began - 0.1)
            self._counted[by, *words] = _Counted(found.groups, found.total, self._changes, until)
            self._counted.move_to_end((by, *words))
            while len(self._counted) > _ANSWERS:
                self._counted.popitem(last=False)
            return found.groups, found.total

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
                self._words = Words(self._searched, in_memory=self.fresh().index.is_in_memory)
        return self._words.search(wanted, limit=limit, offset=offset)

    def _searched(self) -> tuple[Iterable[Found], int]:
        """The logs whose words are searched: each session's once. They are found while they are read."""
        with self.lock:
            return self.fresh().without_copies()

    def session_ids(self, asked: Filter) -> frozenset[str]:
        """The ids of the sessions that are asked for, and of their sub-agents."""
        with self.lock:
            return self.fresh().session_ids(asked)

    def close(self) -> None:
        """Ends what goes on in the background."""
        for one in self._long.values():
            one.close()
        if self._words is not None:
            self._words.close()

    def session(self, id: str, stream: str | None = None, *, beginning: bool = False) -> Read:
        """A session by its id or how it begins; `stream` is one of its sub-agents.

        With `beginning` no more than the first events are read of a long session that was not read yet.
        """
        with self.lock:
            query = self.fresh()
            row = query.find(id)
            root = query.root_of(row)
            if row is not root and stream is None:
                stream = row.stream
            state = _state(query.logs_of(root.session))
            if query.has_files and root.events > LONG:
                fresh = LongTranscript(query.spooled(root.session), (root.session, root.stream))
                long = self._long.setdefault(root.session, LongSession())
                self._long.move_to_end(root.session)
                while len(self._long) > _KEPT:
                    self._long.popitem(last=False)
                if stream is None and beginning and not long.is_read:
                    long.read_soon(fresh)
                    events = islice(query.own_events_of(root), LONG)
                    return Read(row, events, _nothing_said(row), is_beginning=True, is_of_another=row is not root)
            else:
                return self._short(query, row, root, stream, state)
        transcript = long.read(fresh)
        wanted = (row.session, row.stream if stream is None else stream)
        found = [one for one in transcript.sources[1] if one[1] == wanted[1]]
        key = wanted if wanted in found or not found else found[0]
        said = Conversation(key[0], row.title or "Untitled session", [], [], [], key[1])
        if key[1] != "main" and row.stream == "main":
            said.title = f"Agent {key[1]}"
        return Read(row, transcript, said, transcript=transcript, lock=long.lock, is_of_another=row is not root)

    def _short(
        self, query: Query, row: SessionRow, root: SessionRow, stream: str | None, state: tuple[object, ...]
    ) -> Read:
        key = (root.session, state)
        if key not in self._read:
            # The files of agents may be read before that of their session.
            own = (root.session, root.stream)
            events = sorted(query.events_of(root.session), key=lambda event: key_of(event) != own)
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


def beginning_of(library: Library, read: Read) -> Conversation:
    """The first screen of a long session of which only the beginning is read, with the agents that its calls started."""
    events, found = iter(read.events), read.conversation
    some: list[AnyEvent] = []
    for more in _FIRST:
        some.extend(islice(events, more))
        found = next(iter(conversations_of(Chosen(lambda: some, "clean"))), found)
        if sum(len(part.said) for part in found.parts) > ENTRIES:
            break
    shown = {said.event for part in found.window(0, ENTRIES).parts for said in part.said}
    calls = {event.call.id: event.id for event in some if isinstance(event, ToolCalled) and event.id in shown}
    if not read.row.agents or not calls:
        return found.window(0, ENTRIES)
    of_agents, agents = library.agents_of_calls(read.row, frozenset(calls))
    if of_agents:
        whole = conversations_of(Chosen(lambda: [*some, *of_agents], "clean"))
        found = next((one for one in whole if (one.id, one.stream) == (found.id, found.stream)), found)
    found = found.window(0, ENTRIES)
    entries = {said.event: said for part in found.parts for said in part.said}
    for one in agents:
        said = entries[calls[one.parent_call or ""]]
        if all((other.id, other.stream) != (one.session, one.stream) for other in said.agents):
            said.agents = [*said.agents, Conversation.only_named(one.session, one.stream, one.events)]
    return found


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
    """What tells whether logs are as they were; `LogError` if one is no file any more."""
    found: list[object] = []
    for file in files:
        try:
            facts = os.stat(file.path)
        except OSError:
            continue
        if not stat.S_ISREG(facts.st_mode):  # to open a pipe waits for whoever writes to it
            raise LogError(f"{file.path} is not a file any more")
        found.append((str(file.path), facts.st_size, facts.st_mtime_ns))
    return tuple(found)
