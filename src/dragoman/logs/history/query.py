"""The one way to ask about recorded sessions: rows of tables, events of logs, whole sessions, SQL.

Everything is asked of an index that is brought up to the logs first. Over named files that is one in memory, which
leaves nothing behind.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from functools import cache
from itertools import islice, takewhile
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from dragoman import config
from dragoman.errors import LogError, StorageError, nearest
from dragoman.logs.archive import copies_folder
from dragoman.logs.base.format import Places
from dragoman.logs.base.reading import read
from dragoman.model import AnyEvent, Session

from .discover import Found, Noting, Walk, find_logs, homes, no_session
from .filter import EVERYTHING, Filter, chosen_events
from .index import Counts, Index, default_path
from .indexed_file import name_of, path_of
from .layout import cells_of
from .listing import Listing, choice, listed
from .projects import Project, projects_of
from .rows import TABLES, Row, SessionRow, UsageRow, columns_of
from .session_list import SessionList
from .sessions import key_of, numbered, sessions_of
from .whole_sessions import Key, Table, WholeSessions, as_struct, copies_in, is_copy, key

if TYPE_CHECKING:
    from .scope_facts import ScopeFacts
    from .settled import Repeats
    from .spooled import Spooled
    from .sql import Asked, Result, SqlLimits


_SHORT_ID: Final = 12
"""Characters of an id that people are shown where they tell it from all others."""


class Query:
    """Queries all logs on this machine, or the files and folders in `paths`.

    `homes` are the user's log folders by format; `folders` are further ones, with logs of any client. The index is
    updated before the first query; `refresh` updates it again.
    """

    has_files: ClassVar[bool] = True
    """Whether the logs are files of this machine; else only what the index has of them is known."""

    def __init__(
        self,
        index: Index | None = None,
        *,
        homes: Mapping[str, Path] | None = None,
        folders: Iterable[Path] = (),
        paths: Iterable[Path | str] | None = None,
        places: Places | None = None,
    ) -> None:
        self._homes, self._places, self._folders = homes, places, tuple(folders)
        self._paths = None if paths is None else [str(path) for path in paths]
        self._index = index
        self._is_fresh = False
        self._known: WholeSessions | None = None
        self._list: SessionList | None = None
        self._facts: ScopeFacts | None = None
        self._count = 0
        """How many files are queried."""
        self._walked: Callable[[], list[str]] = list
        """Gives the names of the files that are queried, in their order."""
        self._is_looking = False
        self._holders: dict[tuple[str, str], set[Key]] = {}
        """(Table, value) → the sessions that have it."""

    @property
    def index(self) -> Index:
        """The index that is asked."""
        if self._index is None and self._paths is not None:
            self._index = Index.in_memory()
        elif self._index is None:
            try:
                self._index = Index()
            except StorageError as error:
                self._index = _instead(error)
        return self._index

    def expected(self) -> int | None:
        """About how many files there are: as many as the index knows; `None` if it knows none yet."""
        return self.index.count() or None

    def close(self) -> None:
        """Closes the index, if one was opened."""
        if self._index is not None:
            self._index.close()

    def files(self) -> list[Found]:
        """The log files that are queried."""
        if self._paths is None:
            return list(self.walk())
        found: dict[str, Found] = {}
        for path in self._paths:
            for one in logs_named(path, self._places, self._homes, folders=self._folders):
                place = os.path.realpath(one.path)
                found[place] = _joined(found.get(place), one)
        if len(found) < 2:
            return list(found.values())
        from .prints import without_prints

        return without_prints(found.values())

    def without_copies(self) -> tuple[Iterable[Found], int]:
        """The logs that say what no other does (no copies, no prints of sessions with a log), and about how many."""
        found = self.files() if self._paths is not None else self.walk()
        index = self.settled()
        if index is None:
            return found, self.index.count()
        copies = {path for (path,) in index.ask("SELECT path FROM files WHERE copy")}
        return (one for one in found if name_of(one.name) not in copies), index.count() - len(copies)

    def walk(self) -> Walk:
        """The same, found while they are gone through."""
        return Walk(self._places, self._homes, self._folders)

    def noting(self, most: int, since: float) -> Noting:
        """The same logs for `refresh`, which notes those that were written to last."""
        return Noting(self.walk() if self._paths is None else self.files(), most, since)

    def refresh(self, progress: Callable[[int], None] | None = None, found: Iterable[Found] | None = None) -> Counts:
        """Updates the index from the logs; `progress` is called for each file.

        `found` is what `files` gave just now, so that the folders are not looked at twice.
        """
        if found is None:
            found = self.files() if self._paths is not None else self.walk()
        try:
            counts = self.index.update(found, progress, is_everything=self._paths is None)
        except StorageError as error:
            if self.index.is_in_memory:
                raise
            self.index.close()
            self._index = _instead(error)
            counts = self.index.update(found, progress)
        if self._paths is not None:
            for one in found:
                if one.sessions is not None:
                    self.index.keep_only(one.path, one.sessions)
        every = found
        self._walked = cache(lambda: [name_of(one.name) for one in every])
        self._count = counts.files
        self._begin()
        return counts

    def read_again(self, found: Iterable[Found]) -> None:
        """Updates the index from some logs of those that are queried, after `refresh`; new ones may be among them."""
        before = self.index.count()
        self.index.update(found)
        self._count += self.index.count() - before
        self._begin()

    def twin(self) -> Query | None:
        """The same query by a connection of its own, to update a stored index while this one answers.

        `None` where there is no such index, or it is not of files.
        """
        if self._paths is not None or not self.has_files or self.index.is_in_memory:
            return None
        index = Index(self.index.path)
        return Query(index, homes=self._homes, folders=self._folders, places=self._places)

    def as_indexed(self) -> None:
        """Answers from the index as it is, without looking at any log, until `refresh` is called.

        If no index can be stored, the logs are read all the same.
        """
        if self.index.is_in_memory:
            self.refresh()
            return
        index = self.index
        self._walked = cache(lambda: [path for (path,) in index.ask("SELECT path FROM files ORDER BY id")])
        self._count = index.count()
        self._begin()

    def _begin(self) -> None:
        self._is_fresh, self._is_looking, self._holders = True, False, {}
        self._known = self._list = self._facts = None

    def looked(self) -> Index:
        """The index, up to date; it gives the rows of those files alone that are queried."""
        if not self._is_fresh:
            self.refresh()
        if not self._is_looking:
            # What lies in homes that are not asked now stays in the index, and out of the answers; so does a copy of
            # what is asked.
            walked = self._walked()
            known = {row.path: row for row in self.index.files()}
            seen: set[tuple[object, ...]] = set()
            copies = copies_in(self.index, set(walked))
            own = (name for name in walked if name not in copies)
            self.index.look_at(path_of(name) for name in own if not is_copy(known.get(name), seen))
            self._is_looking = True
        return self.index

    def settled(self, *, is_new_index_made: bool = True) -> Index | None:
        """The index, up to date, with what is told twice decided; `None` if it is not of just the files queried.

        Without `is_new_index_made` it is `None` too if it knows no file yet.
        """
        if self._paths is not None or self.index.is_in_memory:
            return None
        if not self._is_fresh:
            if not is_new_index_made and not self.index.count():
                return None
            self.refresh()
        if not self.is_of_the_whole_index():
            return None
        from .settled import settle

        try:
            settle(self.index)
        except StorageError:
            return None
        return self.index

    def is_of_the_whole_index(self) -> bool:
        """Whether the index holds just the files that are queried."""
        if self._paths is not None or self.index.is_in_memory:
            return False
        return self.index.count() == self._count

    @property
    def _sessions(self) -> SessionList | WholeSessions:
        """All sessions: the list that the index keeps, if it is of just the files that are queried."""
        if self._known is not None:
            return self._known
        return self._stored_list() or self._all

    def _stored_list(self) -> SessionList | None:
        """The list that the index keeps; `None` if it is not of just the files that are queried."""
        if not self._is_fresh:
            self.refresh()
        if self._list is None and self.is_of_the_whole_index():
            with suppress(StorageError):  # then they are put together for this query
                self._list = SessionList(self.index, self._homes_in_order())
            self._is_looking = False
        return self._list

    def _homes_in_order(self) -> Iterator[str]:
        """The folders that `all_logs` goes through, one after the other."""
        for _, home in homes(self._places, self._homes):
            yield name_of(home)
        yield from map(name_of, self._folders)
        yield name_of(copies_folder())

    @property
    def _all(self) -> WholeSessions:
        if self._known is None:
            self._known = WholeSessions(self.looked())
        return self._known

    # ── sessions ───────────────────────────────────────────────────────────

    def sessions(self, asked: Filter = EVERYTHING, *, with_agents: bool = False) -> list[SessionRow]:
        """Sessions, newest first; `with_agents` includes sub-agents."""
        sessions = self._sessions
        if isinstance(sessions, SessionList) and asked.tool is None is asked.operation:
            matching = filter(choice(asked), sessions.rows(with_agents=with_agents))
            return list(islice(matching, asked.limit))
        rows = [row for row in self._all.rows if with_agents or not self._all.is_below(row)]
        found = self._matching(rows, asked)
        return found if asked.limit is None else found[: asked.limit]

    def listing(self, asked: Filter = EVERYTHING, words: str = "", *, limit: int, offset: int = 0) -> Listing:
        """Some sessions, newest first, and how many there are by client and by project: not by tool or operation.

        With `words`, those whose title, id, project, client or models hold all of them. However many sessions there
        are, only those that are given are read, where an index keeps their list.
        """
        sessions = self._sessions
        if isinstance(sessions, SessionList):
            return sessions.listing(asked, words, limit=limit, offset=offset)
        rows = (row for row in sessions.rows if not sessions.is_below(row))
        return listed(rows, asked, words, limit=limit, offset=offset)

    def _matching(self, rows: Iterable[SessionRow], asked: Filter) -> list[SessionRow]:
        found = list(filter(choice(asked), rows))
        for table, column, value in (("calls", "name", asked.tool), ("operations", "type", asked.operation)):
            if value is not None:
                keys = self._having(table, column, value)
                found = [row for row in found if any(key(one) in keys for one in self._all.family(row))]
        return found

    def _having(self, table: str, column: str, value: str) -> set[Key]:
        if (table, value) not in self._holders:
            columns = TABLES[table].__struct_fields__
            session, stream = columns.index("session"), columns.index("stream")
            rows = self.looked().rows(table, f"{table}.{column} = (SELECT id FROM words WHERE word = ?)", (value,))
            self._holders[table, value] = {(row[session], row[stream]) for row in rows}
        return self._holders[table, value]

    def count(self, asked: Filter = EVERYTHING, *, with_agents: bool = False) -> int:
        """How many sessions there are, whatever the limit."""
        chosen = msgspec.structs.replace(asked, limit=None)
        sessions = self._sessions
        if isinstance(sessions, SessionList) and chosen == EVERYTHING:
            return sessions.count(with_agents=with_agents)
        return len(self.sessions(chosen, with_agents=with_agents))

    def projects(self, asked: Filter = EVERYTHING) -> list[Project]:
        """The projects of the sessions asked for, all worktrees of a repository together; the newest first."""
        found = projects_of(self.sessions(msgspec.structs.replace(asked, limit=None)))
        return found if asked.limit is None else found[: asked.limit]

    def session(self, id: str) -> Session:
        """One session with its sub-agents, read from its log, by its id or a prefix of it."""
        row = self.find(id)
        # A sub-agent learns from the session above it which call spawned it.
        family = self._sessions.family(self._sessions.root(row))
        for session in _with_children(sessions_of(self._read(family))):
            if (session.id, session.stream) == key(row):
                return session
        raise LogError(f"session {row.session} is no longer in {row.file}; ask again")

    def events_of(self, id: str) -> Iterator[AnyEvent]:
        """All events of a session and its sub-agents, with turn and step; for a sub-agent, of its whole session."""
        row = self.find(id)
        return numbered(self._read(self._sessions.family(self._sessions.root(row))))

    def own_events_of(self, row: SessionRow) -> Iterator[AnyEvent]:
        """The events of a session, or of a sub-agent, without those of the agents below it."""
        return numbered(self._read([row]))

    def agents_of(self, row: SessionRow) -> list[SessionRow]:
        """All sub-agents below a session."""
        return self._sessions.family(row)[1:]

    def spooled(self, id: str) -> Spooled:
        """The same, to be read once and kept in a file: for a session that is too long for memory."""
        from .spooled import Spooled

        family = self._sessions.family(self._sessions.root(self.find(id)))
        files = [(path_of(file), format) for file, format in self._files_of(family)]
        return Spooled(files, frozenset(key(one) for one in family))

    def root_of(self, row: SessionRow) -> SessionRow:
        """The session that a sub-agent belongs to; a session itself."""
        return self._sessions.root(row)

    def row_of(self, session: str) -> SessionRow | None:
        """The row of the session with just this id, if there is one."""
        return self._sessions.row(session)

    def scope_facts(self) -> ScopeFacts | None:
        """The project and the session of everything that the index counts; `None` if it keeps no list of just these."""
        from .scope_facts import ScopeFacts

        sessions = self._stored_list()
        if self._facts is None and sessions is not None:
            self._facts = ScopeFacts(self.index, sessions)
        return self._facts

    def session_ids(self, asked: Filter) -> frozenset[str]:
        """The ids of the sessions that are asked for, and of their sub-agents: not by tool or operation."""
        facts = self.scope_facts()
        if facts is not None:
            return facts.ids_of(asked)
        return frozenset(one.session for row in self.sessions(asked) for one in self._all.family(row))

    def costs_of(self, rows: Iterable[SessionRow]) -> dict[str, tuple[float | None, int, int | None]] | None:
        """The same as `costs` of some sessions alone, by sums of the index; `None` if it is not of just these files."""
        from .counted import costs_of
        from .settled import settled_for_reading

        sessions, index = self._stored_list(), self.settled()
        if index is None or sessions is None:
            return None
        families = {row.session: [key(one) for one in sessions.family(row)] for row in rows}
        with settled_for_reading(index):
            return costs_of(index, families)

    def costs(self) -> dict[str, tuple[float | None, int, int | None]]:
        """Session → what it and its sub-agents cost, how many of their exchanges have no known price, and their tokens.

        An exchange that several sessions tell of is counted in the first.
        """
        roots = {key(row): self._all.root(row).session for row in self._all.rows}
        known: dict[str, list[float]] = {}
        unpriced: dict[str, int] = {}
        tokens: dict[str, int] = {}
        for row in self.rows(UsageRow):
            if row.repeated:
                continue
            root = roots[key(row)]
            if row.tokens is not None:
                tokens[root] = tokens.get(root, 0) + row.tokens
            costs = known.setdefault(root, [])
            if row.cost is None:
                unpriced[root] = unpriced.get(root, 0) + 1
            else:
                costs.append(row.cost)
        return {
            root: (fsum(costs) if costs else None, unpriced.get(root, 0), tokens.get(root))
            for root, costs in known.items()
        }

    def find(self, id: str) -> SessionRow:
        """The row of a session by its id or a prefix of it; that of a sub-agent by its own id. `last` is the newest."""
        found = self._sessions.beginning(id)
        if found is None and id == "last":
            found = next(iter(self.sessions(Filter(limit=1))), None)
        if found is not None:
            return found
        count, near = self.count(), nearest(id, self._sessions.ids())
        raise no_session(id, str(count) if count else "", f".{near}" if near else "")

    def in_short(self, id: str) -> str:
        """The beginning of a session's id that means this one alone: 12 characters, or as many as that takes."""
        shared = (
            sum(1 for _ in takewhile(lambda two: two[0] == two[1], zip(id, one, strict=False)))
            for one in self._sessions.beside(id)
        )
        length = max([_SHORT_ID, *(number + 1 for number in shared)])
        return id if length + 4 > len(id) else id[:length]

    def logs_of(self, id: str) -> list[Found]:
        """The files of a session and its sub-agents, by its id or a prefix of it; none if there is no such session."""
        sessions = self._sessions
        row = sessions.beginning(id)
        if row is None:
            return []
        family = sessions.family(row)
        meant = frozenset(one.session for one in family)
        found = dict.fromkeys(file for one in family for file in sessions.files_of(one))
        return [
            Found(Path(path_of(file)), format, sessions=None if sessions.sessions_in(file) <= meant else meant)
            for file, format in found
        ]

    # ── events ─────────────────────────────────────────────────────────────

    def events(self, asked: Filter = EVERYTHING) -> Iterator[AnyEvent]:
        """Events as the logs have them, each with its turn and step; the newest session first, sub-agents with theirs.

        `kind`, `tool` and `operation` choose events, as `since` and `until` do; all else chooses sessions.
        """
        count = 0
        for family in self.families(asked):
            for event in chosen_events(numbered(self._read(family)), asked):
                yield event
                count += 1
                if asked.limit is not None and count >= asked.limit:
                    return

    def families(self, asked: Filter = EVERYTHING) -> Iterator[list[SessionRow]]:
        """Sessions with their sub-agents, newest first; those that share a file together, so that it is read once."""
        chosen = msgspec.structs.replace(asked, limit=None)
        done: set[Key] = set()
        for row in self.sessions(chosen):
            if key(row) in done:
                continue
            together = self._all.together(row)
            wanted = {key(one) for one in self._matching(together, chosen)}
            done |= {key(one) for one in together}
            yield [below for one in together if key(one) in wanted for below in self._all.family(one)]

    def _read(self, rows: list[SessionRow]) -> Iterator[AnyEvent]:
        """The events of these sessions, and of no others that stand in their files."""
        keys, files = {key(row) for row in rows}, self._files_of(rows)
        return (event for file, format in files for event in read(path_of(file), format) if key_of(event) in keys)

    def _files_of(self, rows: list[SessionRow]) -> list[tuple[str, str]]:
        """The files that these sessions stand in, in the order they are read in, each with its format."""
        sessions = self._sessions
        files = {file: format for row in rows for file, format in sessions.files_of(row)}
        return [(file, files[file]) for file in sessions.sorted_files(files)]

    # ── tables ─────────────────────────────────────────────────────────────

    def table(self, name: str, asked: Filter = EVERYTHING) -> Result:
        """A table (`docs/reference/tables.md`), the rows of the sessions asked for; `limit` counts rows."""
        from .sql import Result

        if name not in TABLES:
            raise LogError(f"there is no table {name!r}; there are {', '.join(TABLES)}.{nearest(name, TABLES)}")
        columns = tuple(columns_of(TABLES[name]))
        rows = [tuple(getattr(row, column) for column in columns) for row in self.rows(TABLES[name], asked)]
        return Result(columns, rows)

    def rows(self, kind: type[Table], asked: Filter = EVERYTHING) -> Iterator[Table]:
        """The same as structs: `rows(CallRow)`."""
        name = next(name for name, one in TABLES.items() if one is kind)
        chosen = msgspec.structs.replace(asked, limit=None)
        wanted = {key(one) for row in self.sessions(chosen) for one in self._all.family(row)}
        if name == "sessions":
            found: Iterable[Any] = (row for row in self._all.rows if key(row) in wanted)
        else:
            found = (row for row in self._numbered_rows(name, kind) if key(row) in wanted)
        return islice(found, asked.limit)

    def _numbered_rows(self, name: str, kind: type[Row]) -> Iterator[Row]:
        """Rows as structs, their turns and calls counted on where a session stands in several files."""
        rows = (as_struct(kind, row) for row in self.looked().rows(name))
        shifted = (self._all.shifted(row) for row in rows)
        if kind is not UsageRow:
            return shifted
        from .settled import Repeats

        forks = {row.session: row.forked_from for row in self._all.rows if row.forked_from is not None}
        return _priced(shifted, Repeats(forks))  # type: ignore[arg-type]

    def stored_rows(self, name: str, columns: Sequence[str] | None = None) -> Iterator[tuple[Any, ...]]:
        """All rows of a table, as fast as possible: tuples of these columns (of the struct's fields), times in µs."""
        from .stored_rows import stored_rows

        kind = TABLES[name]
        fields = kind.__struct_fields__
        index, sessions = self.settled(), self._stored_list()
        if index is not None and sessions is not None:
            self._is_looking = False  # those are of all files
            return stored_rows(index, sessions, name, fields if columns is None else columns)
        get = cells_of(fields)
        whole = (
            (tuple(get(row)) for row in self.rows(kind))
            if kind in (SessionRow, UsageRow)
            else self._all.plainly_shifted(fields, self.looked().rows(name))
        )
        if columns is None:
            return whole
        places = [fields.index(one) for one in columns]
        return (tuple([row[place] for place in places]) for row in whole)

    def sql(
        self, text: str, limits: SqlLimits | None = None, *, lock: AbstractContextManager[Any] | None = None
    ) -> Result:
        """The result of an SQL statement over the tables, run by DuckDB without access to files or the network.

        Raises `LimitReached` if the statement takes too long, returns too many rows or needs too much memory. `lock` is
        held while rows are read: where several threads ask, none waits for the statement of another.
        """
        from .sql import asked_in_sql

        return asked_in_sql(self.stored_rows, text, limits, lock)

    def ask_sql(self, text: str, limits: SqlLimits | None = None) -> Asked:
        """The same row by row: a context with the `columns`, which gives the rows as they come."""
        from .sql import Asked

        return Asked(self.stored_rows, text, limits)


def _instead(error: StorageError) -> Index:
    """An index in memory, for when none can be kept: asking needs no place to write to."""
    index = Index.in_memory()
    index.note = f"no index can be kept ({error}); all logs are read for this command"
    return index


def logs_named(
    wanted: str,
    places: Places | None = None,
    named: Mapping[str, Path] | None = None,
    format: str | None = None,
    folders: Iterable[Path] = (),
    passed: list[Path] | None = None,
) -> list[Found]:
    """The logs a path, a folder, a session's id or `last` means; an id is looked up in the index, then in files' names.

    `last` is the newest session, unless a file or a session is called so.
    With `passed`, files in no known format are added to it and are no error.
    Where there is no index yet and a file is named so, that is the one: to read every log for an index may take long.
    """
    folders = tuple(folders)
    if format is not None or not wanted or "/" in wanted or "\0" in wanted or os.path.lexists(wanted):
        return find_logs(wanted, places, named, format, folders, passed)
    if not os.path.isfile(default_path()):
        with suppress(LogError):
            return find_logs(wanted, places, named, format, folders, passed)
    with closing(Query(homes=named, folders=folders, places=places)) as query:
        query.refresh()
        found = query.logs_of(wanted)
        if not found and wanted == "last":
            found = [log for row in query.sessions(Filter(limit=1)) for log in query.logs_of(row.session)]
    return found or find_logs(wanted, places, named, format, folders, passed)


def _joined(before: Found | None, found: Found) -> Found:
    """What is meant of a file that was named twice."""
    if before is None or before.sessions is None:
        return before or found
    return (
        found
        if found.sessions is None
        else Found(found.path, found.format, found.home, before.sessions | found.sessions)
    )


def _with_children(sessions: Iterable[Session]) -> Iterator[Session]:
    for session in sessions:
        yield session
        yield from _with_children(session.children)


def _priced(rows: Iterable[UsageRow], repeats: Repeats) -> Iterator[UsageRow]:
    """Usage with what it cost by the list prices of its day, and whether it was told before."""
    from .costs import Costs

    costs = Costs(config.current().settings.prices)
    for row in rows:
        row.cost = costs.of(row)
        row.repeated = repeats.has(row)
        yield row
