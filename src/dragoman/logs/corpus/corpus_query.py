"""Asking a corpus: its parts are put into an index of this machine, each once, and that is asked as any other.

Rules: a part that is in the index is not read again. A log that two parts hold is taken from one, in the version that
is newest. Of two machines' copies of one session, the one that is all in the other has no rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from dragoman.errors import LogError, MissingExtra, StorageError
from dragoman.logs.history.discover import Found
from dragoman.logs.history.index import Counts, Index
from dragoman.logs.history.indexed_file import FileRow
from dragoman.logs.history.prints import LONG_ID
from dragoman.logs.history.query import Query
from dragoman.logs.history.rows import (
    TABLES,
    AgentRow,
    CallRow,
    OperationRow,
    OutcomeRow,
    Row,
    SessionRow,
    StepRow,
    TurnRow,
    UsageRow,
)
from dragoman.logs.history.tables import Built
from dragoman.logs.history.whole_sessions import as_struct
from dragoman.model import AnyEvent

from .parts import PART_TABLES, Manifest, Manifests, Read, opened, rows_of
from .places import Place
from .sources import NO_LOG
from .told_again import Rows, told_again

Current = dict[str, tuple[Manifest, Read]]
"""Address → the part that says what the log holds, and its entry there."""
_IN: Final = " in "


class CorpusQuery(Query):
    """Queries a corpus. The index of it lies in `folder`."""

    has_files = False

    def __init__(self, place: Place, folder: Path) -> None:
        name = hashlib.blake2b(place.address.encode(), digest_size=12).hexdigest()
        try:
            index = Index(folder / f"{name}.sqlite")
        except StorageError as error:
            index = Index.in_memory()
            index.note = f"no index can be kept ({error}); all parts are read for this command"
        super().__init__(index)
        self._place, self._entries = place, Manifests(place, folder / name)

    def refresh(self, progress: Callable[[int], None] | None = None, found: Iterable[Found] | None = None) -> Counts:
        """Reads the parts that are new; `progress` is called for each log."""
        opened(self._place, is_made=False)
        current = current_logs(self._entries.read())
        changed, gone = self._compared(current)
        counts = Counts(files=len(current), unchanged=len(current) - len(changed), removed=len(gone))
        for address in gone:
            self.index.forget(address)
        parts: dict[str, list[str]] = {}
        for address in changed:
            parts.setdefault(current[address][0].part, []).append(address)
        with _database() as database:
            for addresses in parts.values():
                self._put(database, current, addresses, counts)
                if progress is not None:
                    progress(len(addresses))
        if changed:
            self._take_out_copies(current, changed)
        names = sorted(current, key=lambda name: name.replace("/", "\1"))
        self._walked = cache(lambda: names)
        self._count = len(current)
        self._begin()
        return counts

    def files(self) -> list[Found]:
        """No file of this machine."""
        return []

    def expected(self) -> int | None:
        """How many logs there are is known when the manifest was read."""
        return None

    def logs_of(self, id: str) -> list[Found]:
        """No file of this machine."""
        return []

    def _read(self, rows: list[SessionRow]) -> Iterator[AnyEvent]:
        """The events of these sessions, as the tables tell of them."""
        sessions = sorted({row.session for row in rows})
        keys = {(row.session, row.stream) for row in rows}
        marks = f"scopes.session IN ({', '.join('?' * len(sessions))})"

        def found(kind: type[Row]) -> list[Any]:
            name = next(name for name, one in TABLES.items() if one is kind)
            stored = self.looked().rows(name, marks, sessions)
            shifted = (self._all.shifted(as_struct(kind, row)) for row in stored)
            return [row for row in shifted if (row.session, row.stream) in keys]

        kinds: tuple[type[Row], ...] = (TurnRow, StepRow, CallRow, OperationRow, OutcomeRow, UsageRow)
        return told_again(Rows(rows, *map(found, kinds)))

    # ── which parts are new ────────────────────────────────────────────────

    def _compared(self, current: Current) -> tuple[list[str], list[str]]:
        """The logs that the index does not have as they are now, and those that are gone."""
        known = {row.path: row.home or "" for row in self.index.files()}
        changed: dict[str, None] = {}
        for address, (manifest, _) in current.items():
            if known.get(address, "").partition(_IN)[0] != manifest.part:
                changed[address] = None
        for address, home in known.items():
            holder = home.partition(_IN)[2]
            if holder and address in current and (holder in changed or holder not in current):
                changed[address] = None  # it was all in another log, which is another now
        return list(changed), [address for address in known if address not in current]

    def _put(self, database: Any, current: Current, addresses: list[str], counts: Counts) -> None:
        """Puts some logs of one part into the index."""
        manifest = current[addresses[0]][0]
        files = {address: Built({name: [] for name in TABLES}, []) for address in addresses}
        try:
            for table in PART_TABLES:
                for row in rows_of(database, self._place, manifest, table, files):
                    _add(files[row.file], table, row)
        except _errors() as error:
            raise LogError(f"part {manifest.part} of {self._place.address} cannot be read: {error}") from error
        self.index.put((_file_row(*current[address]), built) for address, built in files.items())
        counts.read_anew += len(files)
        counts.bytes += sum(current[address][1].bytes for address in files)

    # ── copies ─────────────────────────────────────────────────────────────

    def _take_out_copies(self, current: Current, changed: Iterable[str]) -> None:
        """Takes out the rows of logs that are all in another machine's log of the same session."""
        alike: dict[tuple[str, str], list[str]] = {}
        for address, (_, log) in current.items():
            alike.setdefault((log.format, address.rpartition("/")[2]), []).append(address)
        new = set(changed)
        self._take_out(self._prints(current), current)
        for addresses in alike.values():
            if len(addresses) > 1 and not new.isdisjoint(addresses):
                self._take_out(self._held(addresses, current), current)
        self.index.look_at(None)

    def _take_out(self, held: Iterable[tuple[str, str]], current: Current) -> None:
        """Takes out the rows of logs, each with the one that has all of it."""
        rows = [(_file_row(*current[one]), holder) for one, holder in held]
        for row, holder in rows:
            row.home = f"{row.home}{_IN}{holder}"
        self.index.put((row, _none()) for row, _ in rows)

    def _prints(self, current: Current) -> Iterator[tuple[str, str]]:
        """Each log that was only printed, and the one that the client kept of the same session (`history.prints`)."""
        left: list[str] = []
        for address in [one for one, (_, log) in current.items() if log.is_printed]:
            # Without an id, a session goes by the name of its file.
            sessions = self.index.sessions_in(address) - {Path(address).stem}
            kept = (one.path for one in self.index.files_with(sessions) if one.path in current)
            holder = next((one for one in kept if not current[one][1].is_printed), None)
            if holder is not None:
                yield address, holder
            elif self.index.sessions_in(address):
                left.append(address)
        if left:
            yield from self._prints_by_calls(left, current)

    def _prints_by_calls(self, printed: list[str], current: Current) -> Iterator[tuple[str, str]]:
        """The same for prints that name no session: by the ids of their calls."""
        formats = {current[one][1].format for one in printed}
        kept = [one for one, (_, log) in current.items() if log.format in formats and not log.is_printed]
        holders = {(current[one][1].format, call): one for one in kept for call in self._call_ids(one)}
        for address in printed:
            calls = self._call_ids(address)
            found = Counter(holders.get((current[address][1].format, call)) for call in calls)
            del found[None]
            if found and 2 * found.most_common(1)[0][1] > len(calls):
                yield address, str(found.most_common(1)[0][0])

    def _call_ids(self, address: str) -> set[str]:
        self.index.look_at([address])
        place = TABLES["calls"].__struct_fields__.index("call_id")
        return {row[place] for row in self.index.rows("calls") if len(row[place]) >= LONG_ID}

    def _held(self, addresses: list[str], current: Current) -> Iterator[tuple[str, str]]:
        """Each log that is all in another one, and that."""
        logs = {address: current[address][1] for address in addresses}
        longest_first = sorted(addresses, key=lambda one: (-logs[one].events, one))
        told = cache(self._told)
        for number, one in enumerate(longest_first):
            for other in longest_first[:number]:
                if _origin(logs[one]) == _origin(logs[other]) or _is_same_file(logs[one], logs[other]):
                    continue
                if told(one) and told(one) <= told(other):
                    yield one, other
                    break

    def _told(self, address: str) -> frozenset[tuple[Any, ...]]:
        """What a log says was done: its turns, calls and exchanges."""
        self.index.look_at([address])
        found: set[tuple[Any, ...]] = set()
        for table, names in _TOLD.items():
            fields = TABLES[table].__struct_fields__
            places = [fields.index(name) for name in names]
            found |= {(table, *(row[place] for place in places)) for row in self.index.rows(table)}
        return frozenset(found)


_TOLD: Final = {
    "turns": ("session", "stream", "turn", "text_length", "source_offset"),
    "calls": ("session", "stream", "event"),
    "usage": ("session", "stream", "event"),
}
"""What tells one log's rows from another's, in every copy of it."""


def _origin(log: Read) -> tuple[str | None, str]:
    return log.labels.machine, log.root


def _is_same_file(one: Read, other: Read) -> bool:
    """Whether two logs are the same to the last byte: of those the index takes the first."""
    return (one.size, one.tail, one.beside) == (other.size, other.tail, other.beside)


def _none() -> Built:
    return Built({name: [] for name in TABLES}, [])


def _add(built: Built, table: str, row: Row) -> None:
    if isinstance(row, AgentRow):
        built.agents.append(row)
    else:
        built.tables[table].append(row)


def _file_row(manifest: Manifest, log: Read) -> FileRow:
    return FileRow(
        path=log.address,
        format=log.format,
        home=manifest.part,
        size=log.size,
        modified=log.modified,
        beside=log.beside,
        tail=log.tail,
        events=log.events,
        unreadable=log.unreadable,
        unknown=log.unknown,
    )


def current_logs(manifests: Iterable[Manifest]) -> Current:
    """Every log of a corpus, each from one part: in the version that was written last, as it was read last."""
    found: dict[str, tuple[tuple[Any, ...], Manifest, Read]] = {}
    for manifest in manifests:
        for log in manifest.logs:
            order = (log.modified, manifest.built, manifest.part)
            before = found.get(log.address)
            if before is None or order > before[0]:
                found[log.address] = order, manifest, log
    return {address: (manifest, log) for address, (_, manifest, log) in found.items() if log.format != NO_LOG}


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtra("corpus", "asking a corpus", "duckdb") from error
    return duckdb


def _database() -> Any:
    return _duckdb().connect(":memory:")


def _errors() -> tuple[type[Exception], ...]:
    return (_duckdb().Error, KeyError, TypeError)
