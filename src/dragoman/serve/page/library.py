"""What the page shows: the sessions of a query, kept up to date, and the few that were read last.

Rule: one thing at a time asks the index (`lock`); figures come from the same functions as those of the commands.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice
from typing import Final

import msgspec

from dragoman.logs import Chosen, Filter, Found, Query, SessionRow
from dragoman.logs.export import Conversation, conversations_of
from dragoman.logs.full_text import FullText, Hit, Wanted
from dragoman.model import AnyEvent

_LONG, _FIRST = 6_000, 1_500
"""Events from which on a session is long, and how many are read to show how it begins."""
_KEPT: Final = 3
"""Sessions that stay in memory after they were shown."""


class Spent(msgspec.Struct):
    """What a session and its sub-agents cost; exchanges told of twice are counted once."""

    cost: float | None = None
    unpriced: int = 0
    """Exchanges whose price is not known."""


class Read(msgspec.Struct):
    """A session that was read: its events and its conversations, sub-agents inside."""

    row: SessionRow
    events: list[AnyEvent]
    conversation: Conversation
    """That of the session, or of the sub-agent that was asked for."""
    is_beginning: bool = False
    """Whether only the first events of a long session were read."""


class Library:
    """Sessions for the page. Methods may be called from any thread."""

    def __init__(self, query: Query) -> None:
        self.query, self.lock = query, threading.RLock()
        self._is_stale = self._are_words_stale = False
        self._spent: dict[str, Spent] | None = None
        self._is_spent_stale, self._next_spent = False, 0.0
        self._words: FullText | None = None
        self._all: list[SessionRow] | None = None
        """All sessions, newest first, until one changes: every screen of a long list asks for them."""
        self._read: OrderedDict[tuple[object, ...], tuple[list[AnyEvent], list[Conversation]]] = OrderedDict()

    def changed(self) -> None:
        """Logs have changed: the next question looks at them."""
        self._is_stale = self._are_words_stale = True

    def fresh(self) -> Query:
        """The query, after it has read what changed."""
        if self._is_stale:
            self._is_stale = False
            counts = self.query.refresh()
            if counts.read_on or counts.read_anew or counts.removed:
                self._is_spent_stale, self._all = True, None
        return self.query

    def files(self) -> list[Found]:
        """The logs that there are now."""
        with self.lock:
            return self.query.files()

    def sessions(self, asked: Filter, words: str = "") -> list[SessionRow]:
        """Sessions, newest first; with `words`, those whose title, id, project or model hold all of them."""
        with self.lock:
            query = self.fresh()
            if self._all is None:
                self._all = query.sessions()
            found = query.chosen(self._all, asked)
        wanted = words.lower().split()
        return [row for row in found if _holds(row, wanted)] if wanted else found

    def chosen(self, rows: list[SessionRow], asked: Filter) -> list[SessionRow]:
        """Those of some sessions that are asked for."""
        return self.query.chosen(rows, asked)

    def spent(self) -> dict[str, Spent]:
        """Session → what it cost, sub-agents included."""
        with self.lock:
            query = self.fresh()
            # Counting all costs takes a while where there are very many sessions: then it is not done all the time.
            is_due = self._is_spent_stale and time.monotonic() >= self._next_spent
            if self._spent is None or is_due:
                began = time.monotonic()
                self._spent = {root: Spent(*found) for root, found in query.costs().items()}
                now = time.monotonic()
                self._is_spent_stale, self._next_spent = False, now + 20 * max(0.0, now - began - 0.1)
            return self._spent

    @property
    def has_words(self) -> bool:
        """Whether words can be searched: a corpus has no full text."""
        return self.query.has_files

    def search(self, wanted: Wanted, *, limit: int, offset: int) -> tuple[list[Hit], int]:
        """Places that hold what is sought, best first, and how many there are."""
        if not self.has_words:
            return [], 0
        with self.lock:
            if self._words is None:
                self._words = FullText(in_memory=self.fresh().index.is_in_memory)
                self._words.update(self.query.files())
                self._are_words_stale = False
            elif self._are_words_stale:
                self._are_words_stale = False
                self._words.update(self.query.files())
            return self._words.search(wanted, limit=limit, offset=offset)

    def session(self, id: str, stream: str | None = None, *, beginning: bool = False) -> Read:
        """A session by its id or how it begins; `stream` is one of its sub-agents.

        With `beginning`, of a long session that is not in memory only the first events are read.
        """
        with self.lock:
            query = self.fresh()
            row = query.find(id)
            root = query.root_of(row)
            if row is not root and stream is None:
                stream = row.stream
            state = _state(query.logs_of(root.session))
            key = (root.session, state)
            if key not in self._read and beginning and stream is None and row.events > _LONG:
                events = list(islice(query.events_of(root.session), _FIRST))
                (first, *_) = conversations_of(Chosen(lambda: events, "clean"))
                return Read(row, events, first, is_beginning=True)
            if key not in self._read:
                events = list(query.events_of(root.session))
                self._read[key] = events, conversations_of(Chosen(lambda: events, "clean"))
            self._read.move_to_end(key)
            while len(self._read) > _KEPT:
                self._read.popitem(last=False)
            events, conversations = self._read[key]
        found = {(one.id, one.stream): one for one in all_of(conversations)}
        wanted = (row.session, row.stream if stream is None else stream)
        chosen = found.get(wanted) or next((one for key, one in found.items() if key[1] == wanted[1]), None)
        return Read(row, events, chosen or conversations[0])


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


def _holds(row: SessionRow, words: list[str]) -> bool:
    text = " ".join([row.title or "", row.session, row.project or "", row.client or "", *row.models]).lower()
    return all(word in text for word in words)
