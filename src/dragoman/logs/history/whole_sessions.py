"""Sessions as people know them: put together from their files, and sub-agents hung under what spawned them."""

from __future__ import annotations

import datetime
import os
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from dragoman.errors import LogError, StorageError

from .index import Index
from .indexed_file import FileRow, path_of
from .layout import TIMES, json_text, moment_of
from .projects import repositories_of
from .rows import AgentRow, Row, SessionRow
from .sessions import parents_of

Key = tuple[str, str]
"""A session's id and the stream."""
Table = TypeVar("Table", bound=Row)


def key(row: Row) -> Key:
    """What tells one agent's conversation from all others."""
    return row.session, row.stream


def is_copy(row: FileRow | None, seen: set[tuple[object, ...]]) -> bool:
    """Whether a log is one that was `seen` before, elsewhere: same name and size, and the same end (or all) of it."""
    if row is None or not row.size:
        return False
    facts = (row.format, row.path.rpartition("/")[2], row.size, row.tail, row.beside)
    is_known = facts in seen
    seen.add(facts)
    return is_known


def only_one(id: str, found: list[SessionRow]) -> SessionRow | None:
    """The only session that an id begins; `LogError` if there are several."""
    if len(found) > 1:
        shown = ", ".join(sorted(row.session for row in found)[:10])
        raise LogError(f"{id!r} begins {len(found)} sessions ({shown}); give more of the id")
    return found[0] if found else None


class _Kin:
    """A session's row as the search for its parent sees it."""

    def __init__(self, row: SessionRow) -> None:
        self.row = row
        self.id, self.stream = row.session, row.stream
        self.parent_session, self.parent_call = row.parent_session, row.parent_call
        self.started_agents: list[tuple[str, str | None]] = []
        self.first_words: str | None = None
        self._said: dict[str, list[str]] = {}

    def learn(self, agent: AgentRow) -> None:
        name = agent.agent_session or agent.agent
        if name is not None:
            self.started_agents.append((name, agent.call_id))
        elif agent.prompt is not None and agent.call_id is not None:
            self._said.setdefault(agent.prompt, []).append(agent.call_id)
        elif self.first_words is None:
            self.first_words = agent.prompt

    def calls_that_said(self, words: str | None) -> Sequence[str]:
        return () if words is None else self._said.get(words, ())


class WholeSessions:
    """Every session of an index: put together from its files, hung under its parent, newest first."""

    def __init__(self, index: Index, *, find_repositories: bool = True) -> None:
        formats = index.looked_at()
        self.order = {path: number for number, path in enumerate(formats)}
        """File → its place among all files."""
        self.files: dict[Key, list[tuple[str, str]]] = {}
        """Session → the files it stands in, each with its format."""
        self._shifts: dict[tuple[str, str, str], tuple[int, int]] = {}
        """(File, session, stream) → how many turns and calls stand in files before it."""
        merged: dict[Key, SessionRow] = {}
        parts = [as_struct(SessionRow, row) for row in index.rows("sessions")]
        for row in sorted(parts, key=lambda one: self.order[one.file]):
            self.files.setdefault(key(row), []).append((row.file, formats[row.file]))
            known = merged.get(key(row))
            if known is None:
                merged[key(row)] = row
            else:
                self._shifts[(row.file, *key(row))] = (known.turns, known.calls)
                _add(known, row)
        for row in merged.values():
            row.project = row.project or row.cwd
        self._hang(merged, index)
        self.in_order = list(merged.values())
        """The sessions in the order of their files."""
        if find_repositories:
            self._find_repositories(index)
        self.rows = sorted(merged.values(), key=_began, reverse=True)
        self._ids: list[str] | None = None
        """The ids in alphabetical order, once they are asked for."""
        self._by_file: dict[str, list[SessionRow]] = {}
        for row in self.rows:
            for file, _ in self.files[key(row)]:
                self._by_file.setdefault(file, []).append(row)

    def _find_repositories(self, index: Index) -> None:
        remembered = index.folders()
        folders = {folder for row in self.in_order if (folder := row.cwd or row.project) is not None}
        repositories = repositories_of(folders, remembered)
        for row in self.in_order:
            row.repository = repositories.get(row.cwd or row.project or "")
        with suppress(StorageError):  # it is for later; the answer of now does not need it
            index.remember({one: root for one, root in repositories.items() if remembered.get(one) != root})

    def _hang(self, rows: dict[Key, SessionRow], index: Index) -> None:
        kin = {one: _Kin(row) for one, row in rows.items()}
        for agent in index.agents():
            kin[key(agent)].learn(agent)
        self._below: dict[Key, list[SessionRow]] = {}
        self._above: dict[Key, SessionRow] = {}
        for one, (parent, call) in zip(kin.values(), parents_of(list(kin.values())), strict=True):
            if parent is not None:
                one.row.parent_session, one.row.parent_call = parent.id, call
                self._below.setdefault(key(parent.row), []).append(one.row)
                self._above[key(one.row)] = parent.row
                parent.row.agents += 1

    def beginning(self, id: str) -> SessionRow | None:
        """The session with this id or prefix of it; a sub-agent by its own id. `LogError` if a prefix means several."""
        rows = self.rows
        exact = [row for row in rows if row.session == id and row.stream == "main"]
        exact = exact or [row for row in rows if row.stream == id] or [row for row in rows if row.session == id]
        if exact:
            return exact[0]
        found = [row for row in rows if id and row.session.startswith(id)]
        # Of some sessions only what an agent did is there.
        mains = [row for row in found if row.stream == "main"]
        return only_one(id, mains or list({row.session: row for row in found}.values()))

    def ids(self) -> list[str]:
        """The ids of all sessions."""
        return [row.session for row in self.rows if row.stream == "main"]

    def beside(self, id: str) -> list[str]:
        """The ids just before and after this one in their alphabetical order."""
        if self._ids is None:
            self._ids = sorted(self.ids())
        before, after = bisect_left(self._ids, id), bisect_right(self._ids, id)
        return self._ids[max(0, before - 1) : before] + self._ids[after : after + 1]

    def above(self, row: SessionRow) -> SessionRow | None:
        """What spawned it, if that is here."""
        return self._above.get(key(row))

    def files_of(self, row: SessionRow) -> list[tuple[str, str]]:
        """The files a session stands in, each with its format."""
        return self.files[key(row)]

    def sorted_files(self, files: Iterable[str]) -> list[str]:
        """Files in the order that all are gone through."""
        return sorted(files, key=self.order.__getitem__)

    def row(self, session: str) -> SessionRow | None:
        """The session with just this id."""
        return next((row for row in self.rows if row.session == session and row.stream == "main"), None)

    def is_below(self, row: SessionRow) -> bool:
        """Whether it is a sub-agent of one that is here."""
        return key(row) in self._above

    def root(self, row: SessionRow) -> SessionRow:
        """The session a sub-agent is of, whichever agents are between."""
        while (above := self._above.get(key(row))) is not None:
            row = above
        return row

    def family(self, row: SessionRow) -> list[SessionRow]:
        """A session and all sub-agents below it."""
        family = [row]
        for one in family:
            family += self._below.get(key(one), ())
        return family

    def together(self, row: SessionRow) -> list[SessionRow]:
        """The sessions that share files with this one, itself among them, newest first."""
        found: dict[Key, SessionRow] = {}
        seen: set[str] = set()
        waiting = [row]
        while waiting:
            one = self.root(waiting.pop())
            if key(one) in found:
                continue
            found[key(one)] = one
            for below in self.family(one):
                for file, _ in self.files[key(below)]:
                    if file not in seen:
                        seen.add(file)
                        waiting += self._by_file[file]
        return sorted(found.values(), key=_began, reverse=True)

    def sessions_in(self, file: str) -> set[str]:
        """The sessions that stand in a file."""
        return {row.session for row in self._by_file[file]}

    def shifted(self, row: Row) -> Row:
        """A row with its turn and call counted within the whole session."""
        turns, calls = self._shifts.get((row.file, row.session, row.stream), (0, 0))
        for name, shift in (("turn", turns), ("call", calls)):
            number = getattr(row, name, None)
            if shift and number is not None:
                setattr(row, name, number + shift)
        return row

    def plainly_shifted(self, columns: tuple[str, ...], rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """The same for rows as they are stored."""
        if not self._shifts:
            return rows
        places = [(columns.index(name), which) for which, name in enumerate(("turn", "call")) if name in columns]
        return (self._plainly_shifted(row, places) for row in rows)

    def _plainly_shifted(self, row: tuple[Any, ...], places: list[tuple[int, int]]) -> tuple[Any, ...]:
        shifts = self._shifts.get(row[:3])
        if shifts is None:
            return row
        cells = list(row)
        for place, which in places:
            if cells[place] is not None:
                cells[place] += shifts[which]
        return tuple(cells)


def _began(row: SessionRow) -> tuple[datetime.datetime, str, str]:
    """What sessions are ordered by; those that began together always in the same order."""
    return row.started or _LONG_AGO, row.session, row.stream


_LONG_AGO = datetime.datetime.min.replace(tzinfo=datetime.UTC)


def as_struct(kind: type[Table], row: tuple[Any, ...]) -> Table:
    """A row as it is stored → as it is asked for."""
    values: dict[str, Any] = dict(zip(kind.__struct_fields__, row, strict=True))
    for name in TIMES & values.keys():
        values[name] = moment_of(values[name])
    for name in FLAGS & values.keys():
        values[name] = bool(values[name])
    if "models" in values:
        values["models"] = msgspec.json.decode(values["models"])
        values["agents"] = 0
    return kind(**values)


FLAGS = frozenset({"intent", "failed", "repeated"})
_COUNTS = (
    *("input_tokens", "cached_read_tokens", "cached_write_tokens", "output_tokens", "reasoning_tokens", "tool_tokens"),
    *("tokens", "turns", "steps", "calls", "failures", "events", "unreadable", "unknown"),
)


_SAID_ONCE = (
    *("client", "cwd", "project", "branch", "title", "parent_session", "parent_call", "forked_from"),
    *("user", "team", "machine"),
)


def _add(row: SessionRow, more: SessionRow) -> None:
    """The rest of a session that stands in a further file."""
    for name in _COUNTS:
        said = [count for count in (getattr(row, name), getattr(more, name)) if count is not None]
        setattr(row, name, sum(said) if said else None)
    for name in _SAID_ONCE:
        setattr(row, name, getattr(row, name) or getattr(more, name))
    row.version = more.version or row.version
    row.models = list(dict.fromkeys((*row.models, *more.models)))
    row.started = min((one for one in (row.started, more.started) if one is not None), default=None)
    row.ended = max((one for one in (row.ended, more.ended) if one is not None), default=None)


# ── what is counted once ─────────────────────────────────────────────────────

_SHARED: Final = """id IN (SELECT file FROM scopes AS one WHERE
 session IN (SELECT session FROM scopes GROUP BY session HAVING count(*) > 1) AND
 EXISTS (SELECT 1 FROM scopes WHERE session = one.session AND stream = one.stream AND file <> one.file))"""
_SHARED_AMONG: Final = """path IN (SELECT value FROM json_each(?)) AND EXISTS (SELECT 1 FROM scopes AS one WHERE
 one.file = files.id AND EXISTS
 (SELECT 1 FROM scopes WHERE session = one.session AND stream = one.stream AND file <> one.file))"""


def copies_in(index: Index, among: Collection[str] | None = None) -> set[str]:
    """Of these files of an index, or of all, the names of those that say what others say: copies, and prints of
    sessions with a log.

    Files are compared that tell of one session, or of nothing. Beside one in which nothing can be read, nothing says of
    which session it is: all in its folder are looked at. Of all others nothing is held, for there may be very many.
    """
    shared = index.files(_SHARED) if among is None else index.files(_SHARED_AMONG, json_text(list(among)))
    found = {one.path: one for one in (*shared, *_beside_unread(index)) if among is None or one.path in among}
    if len(found) < 2:
        return set()
    # Whoever asks, of equal ones the same is a copy.
    rows = sorted(found.values(), key=lambda one: one.path.split("/"))
    perhaps = {path_of(one.path): one for one in rows}
    from .copies import copies_among

    copies = {
        perhaps[path].path
        for path in copies_among(((path, one.format) for path, one in perhaps.items()), index.sessions_in)
    }
    names = {one.path for one in shared} - copies
    return copies | _prints_in(index, [one for one in rows if one.path in names])


def _beside_unread(index: Index) -> Iterator[FileRow]:
    """The files in which nothing can be read, and all in their folders."""
    unread = index.files("events = unreadable AND events > 0")
    for folder in {os.path.dirname(one.path) for one in unread}:
        # `0` comes after `/`: between them is all that is below the folder.
        below = index.files("path > ? AND path < ?", f"{folder}/", f"{folder}0")
        yield from (one for one in below if os.path.dirname(one.path) == folder)


def _prints_in(index: Index, rows: list[FileRow]) -> set[str]:
    """Those of files that a client printed of a session that another of them stores."""
    from .prints import is_printed  # it loads the fields of every client's records, and few histories have such files

    printed = [one for one in rows if is_printed(Path(path_of(one.path)), one.format)]
    names = {one.path for one in printed}
    stored = {id for one in rows if one.path not in names for id in index.sessions_in(one.path)} if printed else set()
    # Without an id, a session goes by the name of its file, as others of that name do.
    return {one.path for one in printed if stored & (index.sessions_in(one.path) - {Path(path_of(one.path)).stem})}
