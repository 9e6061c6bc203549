"""The index: what all logs of this machine say, as tables in one SQLite file that can be made again at any time.

Rules: a file whose identity, size and time are what they were is not opened; one that grew is read on from where it
ended, if its last bytes before that are what they were; any other is read anew. All rows of a file are written in one
transaction, together with those of some other files, so a process that is killed leaves whole files. Several processes
may update at once: whoever comes second finds the file done and lets its own work go.
"""

from __future__ import annotations

import functools
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import msgspec

from dragoman import config
from dragoman.config.files import OTHER_CACHE_DIR, make_private
from dragoman.errors import StorageError, writing

from .discover import Found
from .indexed_file import FACTS, FileReading, FileRow, digest, facts_of, name_of, path_of
from .layout import (
    AGENTS,
    COMPUTED,
    NAMED,
    SUMS,
    TEXTS,
    WORDS,
    FileTexts,
    Words,
    Writing,
    exchange_key,
    first_text,
    statements,
)
from .rows import KEYS, TABLES, AgentRow
from .tables import Built

_LAYOUT: Final = 11
"""Counts up when the tables or what is written to them change."""
_BATCH: Final = 200
_BATCH_BYTES: Final = 32 << 20
"""How many files, and how many bytes of logs, are written in one transaction."""
_LOOKED_UP_AT_ONCE: Final = 500
"""How many files are compared with what is known of them at a time."""
_PATIENCE: Final = 60.0
"""Seconds to wait for another process that is writing."""
_PAUSE: Final = 0.02
"""Seconds between two tries where SQLite itself does not wait."""

Progress = Callable[[int], None]


class Counts(msgspec.Struct):
    """What an update did with the files it was given."""

    files: int = 0
    unchanged: int = 0
    read_on: int = 0
    read_anew: int = 0
    removed: int = 0
    failed: int = 0
    bytes: int = 0
    """How many bytes of logs were read."""

    def add(self, read: FileReading) -> None:
        """Counts a file that was read and written."""
        self.bytes += read.bytes
        self.read_on += read.is_continued
        self.read_anew += not read.is_continued
        self.failed += read.row.error is not None


Parameters = ParamSpec("Parameters")
Given = TypeVar("Given")


def _storing(
    method: Callable[Concatenate[Index, Parameters], Given],
) -> Callable[Concatenate[Index, Parameters], Given]:
    """A method that writes: what SQLite says about the file (full, locked, read-only) is a `StorageError`."""

    @functools.wraps(method)
    def written(self: Index, /, *arguments: Parameters.args, **options: Parameters.kwargs) -> Given:
        try:
            return method(self, *arguments, **options)
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    return written


class Index:
    """The tables of all logs, stored in a file (by default in the user's cache folder) or in memory."""

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = Path(path) if path is not None else default_path()
        self.note: str | None = None
        """What happened to an index that could not be used."""
        self._looked: list[str] | None = None
        self._is_looking = False
        self._words = Words()
        self._database = self._opened()

    @classmethod
    def in_memory(cls) -> Index:
        """An index in memory, which ends with the process."""
        return cls(":memory:")

    @property
    def is_in_memory(self) -> bool:
        """Whether there is no file behind it."""
        return str(self.path) == ":memory:"

    def close(self) -> None:
        """Closes the database."""
        self._database.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ── opening ────────────────────────────────────────────────────────────

    def _opened(self) -> sqlite3.Connection:
        try:
            return self._connected()
        except sqlite3.DatabaseError as error:
            if self.is_in_memory or not _is_damage(error):
                raise self._unusable(error) from error
            with writing(self.path, OTHER_CACHE_DIR):
                self._put_aside(str(error))
            try:
                return self._connected()
            except sqlite3.DatabaseError as again:
                raise self._unusable(again) from again

    def _unusable(self, error: sqlite3.Error) -> StorageError:
        return StorageError(self.path, str(error), OTHER_CACHE_DIR)

    def _connected(self) -> sqlite3.Connection:
        if not self.is_in_memory:
            self._made_private()
        database = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            database.execute("PRAGMA trusted_schema = OFF")
            # In memory, what is sorted for a sum would take a megabyte for each thousand sessions.
            database.execute("PRAGMA temp_store = FILE")
            _patiently(database, "PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.create_function("session_key", 1, exchange_key, deterministic=True)
            self._prepared(database)
        except BaseException:
            database.close()
            raise
        return database

    def _made_private(self) -> None:
        """It holds what was said in sessions, which is nobody else's business; SQLite's own files get the same mode."""
        with writing(self.path.parent, OTHER_CACHE_DIR):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(OSError):
            make_private(self.path)

    def _prepared(self, database: sqlite3.Connection) -> None:
        if _version_of(database) == _version():
            return
        with _transaction(database):
            version = _version_of(database)
            if version == _version():
                return  # another process was first
            if version is not None:
                self.note = f"the index was made by another version ({version}) and is made anew"
            names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (name,) in names:
                if not name.startswith("sqlite_"):
                    database.execute(f'DROP TABLE "{name}"')
            for statement in _statements():
                database.execute(statement)
            database.execute("INSERT INTO about VALUES ('version', ?)", (_version(),))

    def _put_aside(self, reason: str) -> None:
        """Takes a damaged file out of the way, with what belongs to it. The last such one is kept."""
        aside = self.path.with_name(self.path.name + ".damaged")
        with suppress(FileNotFoundError):  # another process may have done it
            os.replace(self.path, aside)
        for ending in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(f"{self.path}{ending}")
        self.note = f"the index was damaged ({reason}); it was put aside as {aside} and is made anew"

    # ── updating ───────────────────────────────────────────────────────────

    @_storing
    def update(
        self, found: Iterable[Found], progress: Progress | None = None, *, is_everything: bool = False
    ) -> Counts:
        """Updates the tables from these files. With `is_everything`, files that no longer exist are removed."""
        return self._updated(found, progress, is_everything=is_everything)

    def _updated(
        self, found: Iterable[Found], progress: Progress | None, *, is_everything: bool, anew: bool = False
    ) -> Counts:
        # They may be gone through twice; what is found anew each time is not held.
        found = list(found) if isinstance(found, Iterator) else found
        try:
            return self._updated_once(found, progress, is_everything=is_everything, anew=anew)
        except sqlite3.DatabaseError as error:
            if self.is_in_memory or not _is_damage(error):
                raise
            self._database.close()
            self._put_aside(str(error))
            self._database = self._connected()
            return self._updated_once(found, None, is_everything=is_everything)

    def _updated_once(
        self, found: Iterable[Found], progress: Progress | None, *, is_everything: bool, anew: bool = False
    ) -> Counts:
        self._is_looking = False
        counts = Counts()
        batch: list[FileReading] = []
        seen = bytearray((next(self.ask("SELECT max(id) FROM files"))[0] or 0) + 1)
        for one, path, (id, before) in self._compared(found):
            counts.files += 1
            if id < len(seen):
                seen[id] = 1
            now = facts_of(one)
            if now is None:
                self._forget(path)
                counts.removed += before is not None
            elif (before == now and not anew) or (read := self._read(one, now, anew=anew)) is None:
                counts.unchanged += 1
            else:
                batch.append(read)
                if len(batch) == _BATCH or sum(read.bytes for read in batch) > _BATCH_BYTES:
                    self._write_batch(batch, counts)
            if progress is not None:
                progress(1)
        self._write_batch(batch, counts)
        if is_everything:
            self._forget_others(seen, counts, anew=anew)
        return counts

    def _forget_others(self, seen: bytearray, counts: Counts, *, anew: bool) -> None:
        """Removes files that were there before and are gone; with `anew` all that were not found now."""
        known = self.ask("SELECT id, path FROM files WHERE id < ?", len(seen))
        for path in [path for id, path in known if not seen[id]]:
            if anew or not os.path.exists(path_of(path)):
                self._forget(path)
                counts.removed += 1

    def _compared(self, found: Iterable[Found]) -> Iterator[tuple[Found, str, tuple[int, tuple[Any, ...] | None]]]:
        """Each file with its name, its number and what `facts_of` said when it was read.

        That is `None` for one that could not be read. Some are looked up at a time, so that memory does not grow.
        """
        walk = iter(found)
        while some := list(islice(walk, _LOOKED_UP_AT_ONCE)):
            names = [name_of(one.name) for one in some]
            which = (
                f"SELECT path, id, error, {', '.join(FACTS)} FROM files WHERE path IN ({', '.join('?' * len(names))})"
            )
            known = {
                path: (id, None if error is not None else tuple(facts))
                for path, id, error, *facts in self._database.execute(which, names).fetchall()
            }
            for one, name in zip(some, names, strict=True):
                yield one, name, known.get(name, (0, None))

    def _read(self, found: Found, facts: tuple[Any, ...], *, anew: bool = False) -> FileReading | None:
        """What is new in a file, or all of it; `None` if another process has read it meanwhile."""
        known = self.file(name_of(found.path))
        is_usable = known is not None and not anew and known.error is None
        if is_usable and tuple(getattr(known, one) for one in FACTS) == facts:
            return None
        row = FileRow(
            path=name_of(found.path),
            home=None if found.home is None else name_of(found.home),
            generation=0 if known is None else known.generation,
            **dict(zip(FACTS, facts, strict=True)),
        )
        continued = None if anew else known
        return FileReading(found, row, continued, self._state_of(continued))

    def _write_batch(self, batch: list[FileReading], counts: Counts) -> None:
        """Writes what was read of some files, and empties the list.

        A file that another process has written meanwhile is compared with what that one wrote.
        """
        if not batch:
            return
        with self._whole():
            late = [read for read in batch if not self._written(read)]
        for read in batch:
            if read not in late:
                counts.add(read)
        batch.clear()
        for read in late:
            self._write_late(read.found, counts)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """What is written within is written whole or not at all."""
        try:
            with _transaction(self._database):
                yield
        except BaseException:
            self._words.forget()
            raise

    def _write_late(self, found: Found, counts: Counts) -> None:
        while (facts := facts_of(found, is_looked_at_again=True)) is not None:
            read = self._read(found, facts)
            if read is None:
                counts.unchanged += 1
                return
            with self._whole():
                is_written = self._written(read)
            if is_written:
                counts.add(read)
                return

    def _state_of(self, known: FileRow | None) -> bytes | None:
        if known is None:
            return None
        found = self._database.execute("SELECT state FROM files WHERE path = ?", (known.path,)).fetchone()
        return None if found is None else found[0]

    @_storing
    def put(self, files: Iterable[tuple[FileRow, Built]]) -> None:
        """Writes files that were read elsewhere: what they say now, whatever was known of them."""
        with self._whole():
            for row, built in files:
                known = self.file(row.path)
                row.generation = 0 if known is None else known.generation
                self._write_file(row, built, Built({}, []), is_continued=False)

    @_storing
    def forget(self, path: str) -> None:
        """Removes a file."""
        self._forget(path)

    def _written(self, read: FileReading) -> bool:
        """Writes what was read of a file, unless another process has written it meanwhile."""
        return self._write_file(read.row, read.firm, read.provisional, is_continued=read.is_continued)

    def _write_file(self, row: FileRow, firm: Built, provisional: Built, *, is_continued: bool) -> bool:
        database = self._database
        there = database.execute("SELECT id, generation FROM files WHERE path = ?", (row.path,)).fetchone()
        id, generation = there if there is not None else (None, 0)
        if generation != row.generation:
            return False
        row.generation += 1
        if id is None:
            id = int(database.execute("INSERT INTO files(path) VALUES (?)", (row.path,)).lastrowid or 0)
        else:
            self._unlist(id, with_related=True)
            self._remove_rows(id, only_provisional=is_continued)
        Writing(database, id, self._words).write(firm, provisional)
        settings = ", ".join(f"{name} = ?" for name in _FILE_COLUMNS)
        values = [getattr(row, name) for name in _FILE_COLUMNS]
        database.execute(f"UPDATE files SET {settings} WHERE id = ?", (*values, id))
        database.execute("INSERT OR IGNORE INTO unsettled VALUES (?)", (id,))
        self._unlist(id)
        return True

    def keep_only(self, path: Path | str, sessions: Iterable[str]) -> None:
        """Removes a file's other sessions: for an index in memory that is used for one session."""
        assert self.is_in_memory  # else the file would be taken to be read
        kept = tuple(sessions)
        other = (
            "SELECT id FROM scopes WHERE file = (SELECT id FROM files WHERE path = ?)"
            f" AND session NOT IN ({', '.join('?' * len(kept))})"
        )
        for table in (*TABLES, "agents"):
            self._database.execute(f"DELETE FROM {table} WHERE scope IN ({other})", (name_of(path), *kept))
        self._database.execute(f"DELETE FROM scopes WHERE id IN ({other})", (name_of(path), *kept))

    def _remove_rows(self, file: int, *, only_provisional: bool) -> None:
        remove = self._database.execute
        which = " AND provisional" if only_provisional else ""
        remove(
            "INSERT OR IGNORE INTO unsettled_exchanges SELECT exchange_key FROM usage WHERE exchange_key IS NOT NULL"
            f" AND scope IN (SELECT id FROM scopes WHERE file = ?){which}",
            (file,),
        )
        remove("INSERT OR IGNORE INTO unsettled VALUES (?)", (file,))
        for table in SUMS:
            sums = "SELECT session_key(session), id FROM scopes WHERE file = ?"
            remove(f"DELETE FROM {table} WHERE (session, scope) IN ({sums})", (file,))
        for table in (*TABLES, "agents"):
            remove(f"DELETE FROM {table} WHERE scope IN (SELECT id FROM scopes WHERE file = ?){which}", (file,))
        remove(f"DELETE FROM texts WHERE id BETWEEN ? AND ?{which}", (first_text(file), first_text(file + 1) - 1))
        remove("DELETE FROM scopes WHERE file = ? AND id NOT IN (SELECT scope FROM sessions)", (file,))

    def _forget(self, path: str) -> None:
        with _transaction(self._database):
            found = self._database.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
            if found is not None:
                self._unlist(found[0], with_related=True)
                self._remove_rows(found[0], only_provisional=False)
                self._database.execute("DELETE FROM files WHERE id = ?", found)

    # ── asking ─────────────────────────────────────────────────────────────

    def files(self, which: str = "1", *values: Any) -> list[FileRow]:
        """Every indexed file, or those of which a condition of SQL holds, without the state of its reader."""
        return self._file_rows(f"WHERE {which} ORDER BY id", *values)

    def count(self) -> int:
        """How many files are indexed."""
        (count,) = self._database.execute("SELECT count(*) FROM files").fetchone()
        return int(count)

    def _file_rows(self, which: str, *values: Any) -> list[FileRow]:
        names = [name for name in _FILE_COLUMNS if name != "state"]
        rows = self._database.execute(f"SELECT {', '.join(names)} FROM files {which}", values)
        return [FileRow(**dict(zip(names, row, strict=True))) for row in rows]

    def file(self, path: str) -> FileRow | None:
        """One file, without the state of its reader."""
        return next(iter(self._file_rows("WHERE path = ?", path)), None)

    def look_at(self, paths: Iterable[Path | str] | None) -> None:
        """Restricts later answers to these files, in this order; `None` removes the restriction."""
        self._looked = None if paths is None else [name_of(path) for path in paths]
        self._is_looking = False

    def looked_at(self) -> dict[str, str]:
        """The files that answers are restricted to, in order, each with its format."""
        self._look()
        statement = "SELECT path, format FROM looked CROSS JOIN files ON files.id = looked.id ORDER BY looked.place"
        return dict(self._database.execute(statement))

    def _look(self) -> None:
        if self._is_looking:
            return
        database = self._database
        database.execute("CREATE TEMP TABLE IF NOT EXISTS looked(place INTEGER PRIMARY KEY, id INTEGER)")
        with nullcontext() if database.in_transaction else _transaction(database, kind="DEFERRED"):
            database.execute("DELETE FROM looked")
            if self._looked is None:
                database.execute("INSERT INTO looked(id) SELECT id FROM files ORDER BY id")
            else:
                paths = ((path,) for path in self._looked)
                database.executemany("INSERT INTO looked(id) SELECT id FROM files WHERE path = ?", paths)
        self._is_looking = True

    def rows(
        self, table: str, where: str = "", values: Iterable[Any] = (), *, columns: Sequence[str] | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of a table as they are stored, all its columns in their order, or these; `file` is the path.

        Where a row was read from the end of a file that may still grow, that row stands for the one before it.
        """
        names = TABLES[table].__struct_fields__ if columns is None else tuple(columns)
        texts = [name for name in TEXTS[table] if name in names]
        selected = ", ".join(_selected(table, name) for name in names)
        # Files are gone through in their order, and the rows of each by their key: nothing has to be sorted.
        statement = (
            f"SELECT {selected}{f', looked.id, {table}.place' if texts else ''}"
            " FROM looked CROSS JOIN files ON files.id = looked.id CROSS JOIN scopes ON scopes.file = looked.id"
            f" CROSS JOIN {table} ON {table}.scope = scopes.id WHERE {current_rows(table)}"
        )
        if where:
            statement += f" AND ({where})"
        self._look()
        found = self._database.execute(f"{statement} ORDER BY looked.place", tuple(values))
        return self._spelled(table, names, found)

    def _spelled(
        self, table: str, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]
    ) -> Iterator[tuple[Any, ...]]:
        """Rows with their words and texts."""
        words = self.words()
        numbers = [place for place, name in enumerate(names) if name in WORDS[table]]
        texts = [
            (place, kept) for kept, name in enumerate(TEXTS[table]) for place, one in enumerate(names) if one == name
        ]
        at = FileTexts(self._database, table).at
        for row in rows:
            cells = list(row)
            if texts:
                place = cells.pop()
                kept = at(cells.pop(), place)
                for column, text in texts:
                    cells[column] = kept[text]
            for column in numbers:
                cells[column] = words[cells[column]]
            yield tuple(cells)

    def agents(self) -> list[AgentRow]:
        """Which call spawned which agent, as far as the logs say."""
        statement = (
            f"SELECT files.path, scopes.session, scopes.stream, {', '.join(AGENTS)}"
            " FROM looked CROSS JOIN files ON files.id = looked.id CROSS JOIN scopes ON scopes.file = looked.id"
            " CROSS JOIN agents ON agents.scope = scopes.id ORDER BY looked.place, agents.rowid"
        )
        self._look()
        names = AgentRow.__struct_fields__
        return [AgentRow(**dict(zip(names, row, strict=True))) for row in self._database.execute(statement)]

    def write(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Writes, within `writing`."""
        self._database.executemany(statement, values)

    def words(self) -> dict[int | None, str | None]:
        """Number → word, for columns whose values are few."""
        return self._words.known(self._database)

    # ── the list of sessions (`session_list.SessionList`) ──────────────────

    def ask(self, statement: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """What a statement gives."""
        return iter(self._database.execute(statement, values))

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Makes a table that only this connection has, and that ends with it."""
        self._database.execute(f"DROP TABLE IF EXISTS temp.{table}")
        self._database.execute(f"CREATE TEMP TABLE {table}({', '.join(columns)})")
        with nullcontext() if self._database.in_transaction else _transaction(self._database, kind="DEFERRED"):
            self._database.executemany(f"INSERT INTO temp.{table} VALUES ({', '.join('?' * len(columns))})", rows)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """What is written within is written whole, and nobody else writes meanwhile."""
        try:
            with _transaction(self._database):
                yield
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What is asked within is asked of the index as it is at the first question, whoever writes meanwhile."""
        with _transaction(self._database, kind="DEFERRED"):
            yield

    def unlisted(self, limit: int) -> set[str]:
        """Some sessions that changed since they were put on the list."""
        return {id for (id,) in self._database.execute("SELECT session FROM unlisted LIMIT ?", (limit,))}

    def _unlist(self, file: int, *, with_related: bool = False) -> None:
        """Notes that the sessions of a file are to be listed anew; those that hang under them too, if they go away."""
        ids = [id for (id,) in self._database.execute("SELECT DISTINCT session FROM scopes WHERE file = ?", (file,))]
        related = {other for id in ids for other in self.related(id)} if with_related else set()
        changed = ((id,) for id in {*ids, *related})
        self._database.executemany("INSERT OR IGNORE INTO unlisted VALUES (?)", changed)

    def related(self, id: str) -> set[str]:
        """The sessions that spawned a session, and those that it spawned: as far as names tell."""
        rows = self._database.execute
        known = rows(_KNOWN, (id,)).fetchall()
        own = {id, *(stream for stream, _ in known if stream != "main")}
        spawned = {name for pair in rows(_SPAWNED, (id,)) for name in pair}
        found = {parent for _, parent in known} | {other for (other,) in rows(_CHILDREN, (id,))}
        for name in spawned - {None}:
            found |= {other for (other,) in rows(_CALLED, (name, name))}
        for name in own:
            found |= {other for (other,) in rows(_SPAWNING, (name, name))}
        return found - {None, id}

    def files_with(self, sessions: Iterable[str]) -> list[FileRow]:
        """The files that these sessions stand in."""
        of = "SELECT DISTINCT file FROM scopes WHERE session = ?"
        ids = {file for session in sessions for (file,) in self._database.execute(of, (session,))}
        return [row for id in sorted(ids) for row in self._file_rows("WHERE id = ?", id)]

    def file_ids(self, paths: Iterable[str]) -> dict[str, int]:
        """File → the number that tables know it by."""
        of = "SELECT id FROM files WHERE path = ?"
        return {path: id for path in paths for (id,) in self._database.execute(of, (path,))}

    def sessions_in(self, path: Path | str) -> set[str]:
        """The sessions that stand in a file."""
        of = "SELECT DISTINCT session FROM scopes JOIN files ON files.id = scopes.file WHERE path = ?"
        return {id for (id,) in self._database.execute(of, (name_of(path),))}

    def list_anew(self, sessions: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Replaces what the list says of some sessions."""
        written = list(rows)
        ids = [(id,) for id in sessions]
        self._database.executemany("DELETE FROM session_list WHERE session = ?", ids)
        self._database.executemany(f"INSERT INTO session_list VALUES ({', '.join('?' * len(_LISTED))})", written)
        self._database.executemany("DELETE FROM unlisted WHERE session = ?", ids)

    def folders(self) -> dict[str, str]:
        """Folder → the repository it was last seen in."""
        return dict(self._database.execute("SELECT folder, repository FROM folders"))

    @_storing
    def remember(self, repositories: Mapping[str, str]) -> None:
        """Stores which repository the folders belong to, for when they no longer exist."""
        if repositories:
            with _transaction(self._database):
                self._database.executemany("INSERT OR REPLACE INTO folders VALUES (?, ?)", repositories.items())

    # ── keeping ────────────────────────────────────────────────────────────

    @_storing
    def info(self) -> dict[str, Any]:
        """Its path, size and contents."""
        count = self._database.execute
        sizes = [os.path.getsize(path) for path in self._paths() if os.path.exists(path)]
        files = self.files()
        return {
            "path": str(self.path),
            "version": _version(),
            "bytes": sum(sizes),
            "files": len(files),
            "log_bytes": sum(row.size for row in files),
            "unreadable": sum(row.unreadable for row in files),
            "unknown": sum(row.unknown for row in files),
            "failed": [{"path": row.path, "error": row.error} for row in files if row.error is not None],
            "rows": {name: count(_counting(name)).fetchone()[0] for name in TABLES},
        }

    @_storing
    def rebuild(
        self, found: Iterable[Found], progress: Progress | None = None, *, is_everything: bool = False
    ) -> Counts:
        """Reads these files again from the beginning; with `is_everything`, removes all others.

        Each file is replaced in its own transaction, so that queries made meanwhile miss none.
        """
        return self._updated(found, progress, is_everything=is_everything, anew=True)

    @_storing
    def vacuum(self) -> int:
        """Frees the space of deleted rows; returns the number of bytes freed."""
        before = sum(os.path.getsize(path) for path in self._paths() if os.path.exists(path))
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._database.execute("VACUUM")
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return before - sum(os.path.getsize(path) for path in self._paths() if os.path.exists(path))

    def _paths(self) -> tuple[str, ...]:
        return (str(self.path), f"{self.path}-wal", f"{self.path}-shm")


def default_path() -> Path:
    """Where the index of this user is."""
    return config.current().cache_dir / "history.sqlite"


# ── how it is stored ─────────────────────────────────────────────────────────

_FILE_COLUMNS: Final = FileRow.__struct_fields__
_LISTED: Final = (
    *("session", "stream", "started", "ended", "parent", "place", "client", "folder", "project", "models", "sought"),
    *("data", "files"),
)
_LOOKED_UP: Final = (
    ("files", "copy", "copy"),
    ("files", "events", "events = unreadable AND events > 0"),
    ("session_list", "started DESC, session DESC, stream DESC, parent", ""),
    ("session_list", "client, folder, project", "parent IS NULL"),
    ("session_list", "parent", "parent IS NOT NULL"),
    ("session_list", "folder", ""),
    ("sessions", "parent_session", "parent_session IS NOT NULL"),
    ("agents", "agent", "agent IS NOT NULL"),
    ("agents", "agent_session", "agent_session IS NOT NULL"),
)
"""What is looked up, beside the rows of a file: table, columns, and which rows."""
_KNOWN: Final = (
    "SELECT DISTINCT stream, parent_session FROM scopes JOIN sessions ON sessions.scope = scopes.id WHERE session = ?"
)
_SPAWNED: Final = "SELECT agent, agent_session FROM scopes JOIN agents ON agents.scope = scopes.id WHERE session = ?"
_CHILDREN: Final = (
    "SELECT DISTINCT session FROM sessions JOIN scopes ON scopes.id = sessions.scope WHERE parent_session = ?"
)
_CALLED: Final = (
    "SELECT session FROM scopes WHERE session = ?"
    " UNION SELECT session FROM scopes WHERE stream = ? AND stream <> 'main'"
)
_SPAWNING: Final = " UNION ".join(
    f"SELECT session FROM agents JOIN scopes ON scopes.id = agents.scope WHERE {name} = ?"
    for name in ("agent", "agent_session")
)
_INTEGERS: Final = frozenset({"device", "inode", "size", "modified", "events", "unreadable", "unknown", "generation"})


def _selected(table: str, name: str) -> str:
    if name == "file":
        return "files.path"
    if name in NAMED:
        return f"scopes.{name}"
    return "NULL" if name in COMPUTED.get(table, ()) or name in TEXTS[table] else f"{table}.{name}"


def current_rows(table: str) -> str:
    """The rows of a table that hold: those read from the end of a file stand for the ones before them."""
    keys = KEYS.get(table)
    if keys is None:
        return "1"
    same = " AND ".join(f"later.{name} = {table}.{name}" for name in ("scope", *keys[len(NAMED) - 1 :]))
    # Few files have such rows, and looking for them by scope takes less than by row.
    growing = f"{table}.scope NOT IN (SELECT scope FROM sessions WHERE provisional)" if table != "sessions" else "0"
    return (
        f"({table}.provisional OR {growing}"
        f" OR NOT EXISTS (SELECT 1 FROM {table} AS later WHERE later.provisional AND {same}))"
    )


def _counting(table: str) -> str:
    keys = KEYS.get(table)
    if keys is None:
        return f"SELECT count(*) FROM {table}"
    counted = ", ".join(("scope", *keys[len(NAMED) - 1 :]))
    return f"SELECT count(*) FROM (SELECT 1 FROM {table} GROUP BY {counted})"


def _statements() -> Iterator[str]:
    yield "CREATE TABLE about(name TEXT PRIMARY KEY, value TEXT)"
    own = ", ".join(f"{name} {'INTEGER' if name in _INTEGERS else ''}" for name in _FILE_COLUMNS if name != "path")
    named = "id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT UNIQUE NOT NULL"
    yield f"CREATE TABLE files({named}, {own}, copy INTEGER DEFAULT 0)"
    yield from statements()
    yield "CREATE TABLE folders(folder TEXT PRIMARY KEY, repository TEXT)"
    yield "CREATE TABLE unlisted(session TEXT PRIMARY KEY) WITHOUT ROWID"
    yield "CREATE TABLE unsettled(file INTEGER PRIMARY KEY)"
    yield "CREATE TABLE unsettled_exchanges(exchange INTEGER PRIMARY KEY)"
    yield f"CREATE TABLE session_list({', '.join(_LISTED)}, PRIMARY KEY(session, stream))"
    for table, looked_up, which in _LOOKED_UP:
        name = f"{table}_{looked_up.partition(' ')[0].rstrip(',')}"
        yield f"CREATE INDEX {name} ON {table}({looked_up}){f' WHERE {which}' if which else ''}"


@functools.cache
def _version() -> str:
    """What an index must have been made by: another version may read logs otherwise."""
    from importlib.metadata import version

    return f"{version('dragoman')}/{_LAYOUT}/{digest(chr(10).join(_statements()).encode())[:12]}"


def _patiently(database: sqlite3.Connection, statement: str) -> None:
    """Two processes may open a new index at once, or one that a crash left: for that SQLite itself does not wait."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            database.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)


def _version_of(database: sqlite3.Connection) -> str | None:
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'about'").fetchone():
        return None
    found = database.execute("SELECT value FROM about WHERE name = 'version'").fetchone()
    return None if found is None else str(found[0])


@contextmanager
def _transaction(database: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    database.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        if database.in_transaction:  # on a full disk SQLite has rolled back already
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether an error says that the file is no database or a broken one, not that it is locked or read-only."""
    return (
        getattr(error, "sqlite_errorcode", None)
        in (
            sqlite3.SQLITE_CORRUPT,
            sqlite3.SQLITE_NOTADB,
        )
        or type(error) is sqlite3.DatabaseError
    )
