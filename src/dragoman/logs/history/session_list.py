"""The list of all sessions, kept in the index, so that the newest ones can be shown without looking at all others.

Rules: the list is what `WholeSessions` says of the same files. When a file changes, the sessions in it are put together
anew, with all that they are related to: other files of the same session, what spawned it and what it spawned.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from dragoman.errors import StorageError

from .index import Index
from .layout import json_text, microseconds, moment_of
from .projects import repositories_of
from .rows import SessionRow
from .whole_sessions import Key, WholeSessions, is_copy, key, only_one

_SOME: Final = 500
"""How many changed sessions are put together at once."""
_ROWS: Final = "SELECT data FROM session_list"
_NEWEST: Final = "ORDER BY started DESC, session DESC, stream DESC"
"""A session without a time comes last: SQLite takes NULL for the least."""
_FIELDS: Final = SessionRow.__struct_fields__
_TIMED: Final = ("started", "ended")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Any]).decode


class SessionList:
    """The stored list. `walked` gives the names of the files that sessions are read from, in their order."""

    def __init__(self, index: Index, walked: Callable[[], Sequence[str]]) -> None:
        self._index, self._walked = index, walked
        self._places: dict[str, int] | None = None
        self._repositories: dict[str, str] | None = None
        self._bring_up_to_date()

    def place_of(self, file: str) -> int:
        """The place of a file among all files."""
        if self._places is None:
            self._places = {name: place for place, name in enumerate(self._walked())}
        return self._places.get(file, len(self._places))

    # ── asking ─────────────────────────────────────────────────────────────

    def rows(self, *, with_agents: bool = False) -> Iterator[SessionRow]:
        """Sessions, newest first; `with_agents` includes sub-agents."""
        which = "" if with_agents else "WHERE parent IS NULL"
        return self._found(f"{which} {_NEWEST}")

    def count(self, *, with_agents: bool = False) -> int:
        """How many sessions there are; `with_agents` includes sub-agents."""
        which = "" if with_agents else "WHERE parent IS NULL"
        (count,) = next(self._index.ask(f"SELECT count(*) FROM session_list {which}"))
        return int(count)

    def beginning(self, id: str) -> SessionRow | None:
        """The session with this id or prefix of it; a sub-agent by its own id. `LogError` if a prefix means several."""
        for exact in ("session = ? AND stream = 'main'", "stream = ?", "session = ?"):
            for row in self._found(f"WHERE {exact} {_NEWEST} LIMIT 1", id):
                return row
        begins = "session >= ? AND substr(session, 1, ?) = ?"
        return only_one(id, list(self._found(f"WHERE stream = 'main' AND {begins}", id, len(id), id)) if id else [])

    def ids(self) -> list[str]:
        """The ids of all sessions."""
        return [id for (id,) in self._index.ask(f"SELECT session FROM session_list WHERE stream = 'main' {_NEWEST}")]

    def root(self, row: SessionRow) -> SessionRow:
        """The session a sub-agent is of, whichever agents are between."""
        while True:
            found = self._index.ask("SELECT parent FROM session_list WHERE session = ? AND stream = ?", *key(row))
            parent = next(found, (None,))[0]
            if parent is None:
                return row
            row = next(self._found("WHERE session = ? AND stream = ?", *msgspec.json.decode(parent)))

    def family(self, row: SessionRow) -> list[SessionRow]:
        """A session and all sub-agents below it."""
        family = [row]
        for one in family:
            family += self._found("WHERE parent = ? ORDER BY place", _named(key(one)))
        return family

    def files_of(self, row: SessionRow) -> list[tuple[str, str]]:
        """The files a session stands in, each with its format."""
        return list(
            self._index.ask(
                "SELECT files.path, files.format FROM session_list, json_each(session_list.files) AS one"
                " JOIN files ON files.id = one.value WHERE session = ? AND stream = ? ORDER BY one.key",
                *key(row),
            )
        )

    def sessions_in(self, file: str) -> set[str]:
        """The sessions that stand in a file."""
        return self._index.sessions_in(file)

    def _found(self, which: str, *values: Any) -> Iterator[SessionRow]:
        for (data,) in self._index.ask(f"{_ROWS} {which}", *values):
            row = _unpacked(data)
            row.repository = self._repository(row.cwd or row.project)
            yield row

    def _repository(self, folder: str | None) -> str | None:
        if folder is None:
            return None
        if self._repositories is None:
            remembered = self._index.folders()
            folders = self._index.ask("SELECT DISTINCT folder FROM session_list WHERE folder IS NOT NULL")
            found = self._repositories = repositories_of([one for (one,) in folders], remembered)
            with suppress(StorageError):  # it is for later; the answer of now does not need it
                self._index.remember({one: root for one, root in found.items() if remembered.get(one) != root})
        return self._repositories.get(folder)

    # ── keeping ────────────────────────────────────────────────────────────

    def _bring_up_to_date(self) -> None:
        while changed := self._index.unlisted(_SOME):
            with self._index.writing():
                related = self._related(changed)
                self._index.list_anew(related, self._rows_of(related))

    def _related(self, changed: set[str]) -> set[str]:
        """These sessions, and all whose rows depend on them, by the names that `parents_of` looks for."""
        known, waiting = set(changed), list(changed)
        while waiting:
            for other in self._index.related(waiting.pop()):
                if other not in known:
                    known.add(other)
                    waiting.append(other)
        return known

    def _rows_of(self, sessions: set[str]) -> Iterator[tuple[Any, ...]]:
        files = sorted(self._index.files_with(sessions), key=lambda one: self.place_of(one.path))
        seen: set[tuple[object, ...]] = set()
        self._index.look_at(one.path for one in files if not is_copy(one, seen))
        whole = WholeSessions(self._index, find_repositories=False)
        ids = self._index.file_ids(one.path for one in files)
        places = {key(row): place for place, row in enumerate(whole.in_order)}
        for row in whole.rows:
            if row.session in sessions:
                above = whole.above(row)
                yield (
                    *key(row),
                    None if row.started is None else microseconds(row.started),
                    None if above is None else _named(key(above)),
                    places[key(row)],
                    row.cwd or row.project,
                    _packed(row),
                    json_text([ids[file] for file, _ in whole.files_of(row)]),
                )


def _packed(row: SessionRow) -> bytes:
    """A row as the list keeps it: its cells without their names, times as they are stored."""
    return _encode([microseconds(one) if isinstance(one, datetime.datetime) else one for one in _cells(row)])


def _cells(row: SessionRow) -> list[Any]:
    return [getattr(row, name) for name in _FIELDS]


def _unpacked(data: bytes) -> SessionRow:
    values: dict[str, Any] = dict(zip(_FIELDS, _decode(data), strict=True))
    for name in _TIMED:
        values[name] = moment_of(values[name])
    return SessionRow(**values)


def _named(one: Key) -> str:
    return msgspec.json.encode(one).decode()
