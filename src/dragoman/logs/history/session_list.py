"""The list of all sessions, kept in the index, so that the newest ones can be shown without looking at all others.

Rules: the list is what `WholeSessions` says of the same files. When a file changes, the sessions in it are put together
anew, with all that they are related to: other files of the same session, what spawned it and what it spawned.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec

from dragoman.errors import StorageError

from .filter import Filter
from .index import Index
from .indexed_file import FileRow
from .layout import json_text, microseconds, moment_of, writable
from .listing import Listing, OfProject, name_of_project, sought_in, words_of
from .projects import repositories_of
from .rows import SessionRow
from .whole_sessions import Key, WholeSessions, copies_in, is_copy, key, only_one

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
    """The stored list. `homes` are the folders that logs lie in, in the order that they are gone through."""

    def __init__(self, index: Index, homes: Iterable[str]) -> None:
        self._index = index
        self._homes = {home: place for place, home in enumerate(homes)}
        self._repositories: dict[str, str] | None = None
        self._bring_up_to_date()

    def sorted_files(self, files: Iterable[str]) -> list[str]:
        """Files in the order that all are gone through."""
        names = list(files)
        if len(names) < 2:
            return names
        known = [row for name in names if (row := self._index.file(name)) is not None]
        return [row.path for row in sorted(known, key=self._place_of)]

    def _place_of(self, file: FileRow) -> tuple[int, list[str]]:
        """Homes come one after the other, and the files of each by the parts of their paths."""
        return self._homes.get(file.home or "", len(self._homes)), file.path.split("/")

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

    def listing(self, asked: Filter, words: str, *, limit: int, offset: int) -> Listing:
        """Some sessions of those that are asked for, newest first; and how many there are, by client and by project."""
        where, values = _which(asked, words)
        listing, of_project = Listing(), None if asked.project is None else OfProject(asked.project)
        meant: list[tuple[str | None, str | None]] = []
        counted = f"SELECT client, folder, project, count(*) FROM session_list WHERE {where} GROUP BY 1, 2, 3"
        for client, folder, project, count in self._index.ask(counted, *values):
            repository = self.repository_of(folder)
            is_meant = of_project is None or of_project.has(project, folder, repository)
            if is_meant:
                listing.clients[client] += count
            if asked.client is None or client == asked.client:
                listing.projects[name_of_project(repository, project)] += count
                if is_meant:
                    listing.total += count
                    meant.append((folder, project))
        if asked.client is not None:
            where, values = f"{where} AND client = ?", [*values, asked.client]
        if of_project is not None:
            where += " AND (folder, project) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))"
            values = [*values, json_text(meant)]
        # Which rows are meant is found in an index; only those are read.
        some = f"rowid IN (SELECT rowid FROM session_list WHERE {where} {_NEWEST} LIMIT ? OFFSET ?)"
        listing.rows = list(self._found(f"WHERE {some} {_NEWEST}", *values, limit, offset))
        return listing

    def numbers(self, asked: Filter) -> list[int]:
        """The sessions that are asked for, by their numbers in the list."""
        where, values = _which(asked, "")
        if asked.client is not None:
            where, values = f"{where} AND client = ?", [*values, asked.client]
        of_project = None if asked.project is None else OfProject(asked.project)
        meant: dict[tuple[str | None, str | None], bool] = {}
        found: list[int] = []
        for number, *pair in self._index.ask(f"SELECT rowid, folder, project FROM session_list WHERE {where}", *values):
            folder, project = pair
            if (folder, project) not in meant:
                meant[folder, project] = of_project is None or of_project.has(
                    project, folder, self.repository_of(folder)
                )
            if meant[folder, project]:
                found.append(number)
        return found

    def row(self, session: str) -> SessionRow | None:
        """The session with just this id."""
        return next(self._found("WHERE session = ? AND stream = 'main'", session), None)

    def beginning(self, id: str) -> SessionRow | None:
        """The session with this id or prefix of it; a sub-agent by its own id. `LogError` if a prefix means several."""
        for exact in ("session = ? AND stream = 'main'", "stream = ?", "session = ?"):
            for row in self._found(f"WHERE {exact} {_NEWEST} LIMIT 1", id):
                return row
        begins = "session >= ? AND substr(session, 1, ?) = ?"
        if not id:
            return None
        found = list(self._found(f"WHERE stream = 'main' AND {begins}", id, len(id), id))
        if not found:  # of some sessions only what an agent did is there
            agents = self._found(f"WHERE {begins} {_NEWEST}", id, len(id), id)
            found = list({row.session: row for row in agents}.values())
        return only_one(id, found)

    def ids(self) -> Iterator[str]:
        """The ids of all sessions."""
        return (id for (id,) in self._index.ask(f"SELECT session FROM session_list WHERE stream = 'main' {_NEWEST}"))

    def beside(self, id: str) -> list[str]:
        """The ids just before and after this one in their alphabetical order."""
        which = "SELECT session FROM session_list WHERE stream = 'main' AND session"
        asked = (f"{which} < ? ORDER BY session DESC LIMIT 1", f"{which} > ? ORDER BY session LIMIT 1")
        return [other for one in asked for (other,) in self._index.ask(one, id)]

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
            row.repository = self.repository_of(row.cwd or row.project)
            yield row

    def repository_of(self, folder: str | None) -> str | None:
        """The folder that all worktrees of a folder's repository share, if it is in one."""
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
        files = sorted(self._index.files_with(sessions), key=self._place_of)
        seen: set[tuple[object, ...]] = set()
        copies = copies_in(self._index, {one.path for one in files})
        self._index.look_at(one.path for one in files if one.path not in copies and not is_copy(one, seen))
        whole = WholeSessions(self._index, find_repositories=False)
        ids = self._index.file_ids(one.path for one in files)
        places = {key(row): place for place, row in enumerate(whole.in_order)}
        for row in whole.rows:
            if row.session in sessions:
                above = whole.above(row)
                yield (
                    *key(row),
                    None if row.started is None else microseconds(row.started),
                    None if row.ended is None else microseconds(row.ended),
                    None if above is None else _named(key(above)),
                    places[key(row)],
                    row.client,
                    row.cwd or row.project,
                    row.project,
                    json_text(row.models),
                    sought_in(row),
                    _packed(row),
                    json_text([ids[file] for file, _ in whole.files_of(row)]),
                )


def _which(asked: Filter, words: str) -> tuple[str, list[Any]]:
    """The sessions of a filter, but for its client and project: those are counted."""
    where, values = ["parent IS NULL"], list[Any]()
    if asked.session is not None:
        where.append("substr(session, 1, ?) = ?")
        values += [len(asked.session), asked.session]
    if asked.model is not None:
        where.append("EXISTS (SELECT 1 FROM json_each(models) WHERE substr(value, 1, ?) = ?)")
        values += [len(asked.model), asked.model]
    for name, moment, sign in (("ended", asked.since, ">="), ("started", asked.until, "<")):
        if moment is not None:
            where.append(f"{name} {sign} ?")
            values.append(microseconds(moment))
    for word in words_of(words):
        where.append("instr(sought, ?)")
        values.append(writable(word))
    return " AND ".join(where), values


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
