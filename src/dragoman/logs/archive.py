"""Logs that are kept: their bytes in pieces, each stored once, compressed and named by its digest, in one SQLite file.

Rules:
- What is given back is, byte for byte, what was kept: every piece and every file has its SHA-256, which is compared
  when it is stored, when it is given back and by `verify`.
- A log is one file with those that are read together with it. A new version takes the place of the last one if it is at
  least as long and has all its sessions; else both are kept, for then something was taken out of the log.
- The file, and what is written from it, is readable by its owner alone. What is forgotten is overwritten.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from dragoman import config
from dragoman.config.files import OTHER_DATA_DIR, make_private
from dragoman.errors import LogError, StorageError, writing

_PIECE: Final = 1 << 18
"""Bytes of a piece. A log that grows shares all but its last one with the version before."""
_LEVEL: Final = 6
_TRIES: Final = 5
"""How often a log that changes while it is read is read again; a log of lines only grows, and is taken as it is."""
_AT_ONCE: Final = 500
"""Paths that are fetched together."""
_LAYOUT: Final = "1"
_TABLES: Final = """
CREATE TABLE about(name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE logs(id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, format TEXT NOT NULL, home TEXT);
CREATE TABLE versions(id INTEGER PRIMARY KEY, log INTEGER NOT NULL, kept REAL NOT NULL, sessions TEXT NOT NULL);
CREATE INDEX versions_log ON versions(log);
CREATE TABLE files(id INTEGER PRIMARY KEY, version INTEGER NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL,
    modified INTEGER NOT NULL, digest TEXT NOT NULL);
CREATE INDEX files_version ON files(version);
CREATE TABLE parts(file INTEGER NOT NULL, place INTEGER NOT NULL, piece INTEGER NOT NULL, PRIMARY KEY(file, place))
    WITHOUT ROWID;
CREATE INDEX parts_piece ON parts(piece);
CREATE TABLE pieces(id INTEGER PRIMARY KEY, digest BLOB UNIQUE NOT NULL, size INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE forgotten(session TEXT PRIMARY KEY) WITHOUT ROWID;
"""


class KeptFile(msgspec.Struct, frozen=True):
    """One file of a log as it was kept."""

    id: int
    path: str
    size: int
    modified: int
    """Nanoseconds since 1970."""
    digest: str


class KeptLog(msgspec.Struct, frozen=True):
    """One version of a log: its own file first, then those that are read with it."""

    version: int
    path: str
    format: str
    home: str | None
    kept: float
    """When, in seconds since 1970."""
    sessions: tuple[str, ...]
    files: tuple[KeptFile, ...]
    is_newest: bool

    @property
    def size(self) -> int:
        """Bytes, before they were compressed."""
        return sum(file.size for file in self.files)


class Totals(msgspec.Struct, frozen=True):
    """What the archive holds."""

    logs: int
    versions: int
    sessions: int
    bytes: int
    """Of all versions, as if each were stored by itself."""
    stored: int
    """Bytes of the pieces, each once and compressed."""


def default_path() -> Path:
    """Where the archive of this user is."""
    return config.current().data_dir / "kept.sqlite"


class _Changed(Exception):
    """A log changed while it was read."""


class Archive:
    """The archive in a file; without `create`, there must be one."""

    def __init__(self, path: Path | None = None, *, create: bool = True) -> None:
        self.path = path or default_path()
        if not create and not self.path.is_file():
            raise LogError("nothing was kept yet; `dragoman keep` does it")
        with writing(self.path, OTHER_DATA_DIR):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            make_private(self.path)
        try:
            self._database = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA trusted_schema = OFF")
            self._database.execute("PRAGMA secure_delete = ON")
            self._prepare()
        except sqlite3.Error as error:
            raise StorageError(self.path, str(error), OTHER_DATA_DIR) from error

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _prepare(self) -> None:
        with self._writing():
            if not self._database.execute("SELECT 1 FROM sqlite_master WHERE name = 'about'").fetchone():
                for statement in _TABLES.split(";"):
                    self._database.execute(statement)
                self._database.execute("INSERT INTO about VALUES ('layout', ?)", (_LAYOUT,))
        (layout,) = self._database.execute("SELECT value FROM about WHERE name = 'layout'").fetchone()
        if layout != _LAYOUT:
            raise StorageError(
                self.path, f"it was made by another version of dragoman (layout {layout})", OTHER_DATA_DIR
            )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            raise StorageError(self.path, str(error), OTHER_DATA_DIR) from error

    # ── keeping ────────────────────────────────────────────────────────────

    def keep(
        self, path: Path, format: str, *, sessions: Iterable[str], home: Path | None = None, beside: Iterable[Path] = ()
    ) -> bool:
        """Keeps a log as it is now; whether there was anything new in it. `OSError` if it cannot be read."""
        name, held = os.fspath(path), tuple(sorted(set(sessions)))
        for attempt in range(_TRIES):
            files = [path, *(one for one in beside if one.is_file())]
            facts = [_facts(one) for one in files]
            last = self._newest(name)
            if (
                last is not None
                and last.sessions == held
                and _facts_of(last) == list(zip(map(str, files), facts, strict=True))
            ):
                return False
            with suppress(_Changed):
                with self._writing():
                    self._store(name, format, home, held, files, last)
                    is_settled = len(files) == 1 or [_facts(one) for one in files] == facts
                    if not is_settled and attempt < _TRIES - 1:
                        raise _Changed
                break
        return True

    def _newest(self, path: str) -> KeptLog | None:
        return next((one for one in self.logs("logs.path = ?", (_stored(path),)) if one.is_newest), None)

    def _store(
        self,
        path: str,
        format: str,
        home: Path | None,
        sessions: tuple[str, ...],
        files: Sequence[Path],
        last: KeptLog | None,
    ) -> None:
        database = self._database
        database.execute(
            "INSERT INTO logs(path, format, home) VALUES (?, ?, ?)"
            " ON CONFLICT(path) DO UPDATE SET format = excluded.format, home = excluded.home",
            (_stored(path), format, None if home is None else _stored(os.fspath(home))),
        )
        (log,) = database.execute("SELECT id FROM logs WHERE path = ?", (_stored(path),)).fetchone()
        added = database.execute(
            "INSERT INTO versions(log, kept, sessions) VALUES (?, ?, ?)",
            (log, time.time(), json.dumps(sessions)),
        )
        version = int(added.lastrowid or 0)
        size = sum(self._store_file(version, one) for one in files)
        if last is not None and size >= last.size and set(sessions) >= set(last.sessions):
            self._remove([last.version])

    def _store_file(self, version: int, path: Path) -> int:
        database = self._database
        _, modified = _facts(path)
        row = database.execute(
            "INSERT INTO files VALUES (NULL, ?, ?, 0, ?, '')", (version, _stored(os.fspath(path)), modified)
        )
        file, whole, size = int(row.lastrowid or 0), hashlib.sha256(), 0
        with path.open("rb") as source:
            for place, data in enumerate(iter(lambda: source.read(_PIECE), b"")):
                whole.update(data)
                size += len(data)
                database.execute("INSERT INTO parts VALUES (?, ?, ?)", (file, place, self._piece(data)))
        database.execute("UPDATE files SET size = ?, digest = ? WHERE id = ?", (size, whole.hexdigest(), file))
        return size

    def _piece(self, data: bytes) -> int:
        """The piece with these bytes, stored if it is new."""
        digest = hashlib.sha256(data).digest()
        found = self._database.execute("SELECT id FROM pieces WHERE digest = ?", (digest,)).fetchone()
        if found is not None:
            return int(found[0])
        packed = zlib.compress(data, _LEVEL)
        if zlib.decompress(packed) != data:  # pragma: no cover - a broken machine
            raise StorageError(self.path, "what was compressed cannot be read back", OTHER_DATA_DIR)
        row = self._database.execute("INSERT INTO pieces VALUES (NULL, ?, ?, ?)", (digest, len(data), packed))
        return int(row.lastrowid or 0)

    def _remove(self, versions: Iterable[int]) -> None:
        """Takes versions out, and the pieces that no other needs."""
        for version in versions:
            database = self._database
            pieces = database.execute(
                "SELECT DISTINCT piece FROM parts JOIN files ON files.id = parts.file WHERE files.version = ?",
                (version,),
            ).fetchall()
            database.execute("DELETE FROM parts WHERE file IN (SELECT id FROM files WHERE version = ?)", (version,))
            database.execute("DELETE FROM files WHERE version = ?", (version,))
            database.execute("DELETE FROM versions WHERE id = ?", (version,))
            database.executemany(
                "DELETE FROM pieces WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM parts WHERE piece = ?1)", pieces
            )

    # ── asking ─────────────────────────────────────────────────────────────

    def logs(self, which: str = "1", values: Sequence[object] = ()) -> list[KeptLog]:
        """What was kept, the newest version of each log last."""
        rows = self._database.execute(
            "SELECT versions.id, logs.path, format, home, kept, sessions,"
            " versions.id = (SELECT max(id) FROM versions AS other WHERE other.log = logs.id)"
            f" FROM versions JOIN logs ON logs.id = versions.log WHERE {which} ORDER BY logs.path, versions.id",
            values,
        ).fetchall()
        return [
            KeptLog(
                version,
                os.fsdecode(path),
                format,
                None if home is None else os.fsdecode(home),
                kept,
                tuple(json.loads(sessions)),
                self._files(version),
                bool(is_newest),
            )
            for version, path, format, home, kept, sessions, is_newest in rows
        ]

    def _files(self, version: int) -> tuple[KeptFile, ...]:
        rows = self._database.execute(
            "SELECT id, path, size, modified, digest FROM files WHERE version = ? ORDER BY id", (version,)
        )
        return tuple(KeptFile(id, os.fsdecode(path), *facts) for id, path, *facts in rows)

    def paths(self) -> Iterator[tuple[str, int]]:
        """The path of every log, with its newest version: what is asked each time sessions are listed.

        There may be very many, so some are fetched at a time, and nobody who writes waits for the rest.
        """
        last = 0
        while rows := self._database.execute(
            "SELECT logs.id, path, (SELECT max(id) FROM versions WHERE log = logs.id) AS newest FROM logs"
            " WHERE logs.id > ? AND newest IS NOT NULL ORDER BY logs.id LIMIT ?",
            (last, _AT_ONCE),
        ).fetchall():
            yield from ((os.fsdecode(path), version) for _, path, version in rows)
            last = rows[-1][0]

    def log(self, version: int) -> KeptLog:
        """One version."""
        (found,) = self.logs("versions.id = ?", (version,))
        return found

    def with_session(self, id: str) -> list[KeptLog]:
        """The versions that hold a session, by its id or how it begins; `LogError` if that is none or several."""
        found = [one for one in self.logs() if any(session.startswith(id) for session in one.sessions)]
        ids = {session for one in found for session in one.sessions if session.startswith(id)}
        if not ids:
            raise LogError(f"no session that begins with {id!r} was kept; `dragoman keep list` shows what was")
        if id not in ids and len(ids) > 1:
            raise LogError(
                f"{id!r} begins {len(ids)} kept sessions ({', '.join(sorted(ids)[:10])}); give more of the id"
            )
        exact = id if id in ids else ids.pop()
        return [one for one in found if exact in one.sessions]

    def totals(self) -> Totals:
        """How much there is."""
        ask = self._database.execute
        sessions = {id for (text,) in ask("SELECT sessions FROM versions") for id in json.loads(text)}
        return Totals(
            logs=ask("SELECT count(*) FROM logs").fetchone()[0],
            versions=ask("SELECT count(*) FROM versions").fetchone()[0],
            sessions=len(sessions),
            bytes=ask("SELECT coalesce(sum(size), 0) FROM files").fetchone()[0],
            stored=ask("SELECT coalesce(sum(length(data)), 0) FROM pieces").fetchone()[0],
        )

    def content(self, file: KeptFile) -> Iterator[bytes]:
        """The bytes of a file, piece by piece; `LogError` where they are not what was kept."""
        whole, size = hashlib.sha256(), 0
        rows = self._database.execute(
            "SELECT digest, data FROM parts JOIN pieces ON pieces.id = parts.piece WHERE file = ? ORDER BY place",
            (file.id,),
        )
        for digest, packed in rows.fetchall() if file.size <= 64 * _PIECE else rows:
            try:
                data = zlib.decompress(packed)
            except zlib.error as error:
                raise self._damaged(file, str(error)) from error
            if hashlib.sha256(data).digest() != digest:
                raise self._damaged(file, "a piece of it is not what was stored")
            whole.update(data)
            size += len(data)
            yield data
        if (size, whole.hexdigest()) != (file.size, file.digest):
            raise self._damaged(file, "pieces of it are missing")

    def _damaged(self, file: KeptFile, reason: str) -> LogError:
        return LogError(f"{self.path} is damaged: {file.path} cannot be given back ({reason})")

    def verify(self) -> list[str]:
        """Reads everything; what is wrong, in words."""
        wrong = []
        for (text,) in self._database.execute("PRAGMA quick_check(20)"):
            if text != "ok":
                wrong.append(f"{self.path}: {text}")
        for log in self.logs():
            for file in log.files:
                try:
                    for _ in self.content(file):
                        pass
                except (LogError, sqlite3.Error) as error:
                    wrong.append(str(error))
        return wrong

    # ── giving back ────────────────────────────────────────────────────────

    def write(self, file: KeptFile, to: Path) -> None:
        """Writes a file as it was: its bytes and its time; only its owner can read it."""
        to.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = to.with_name(f".{to.name}.{os.getpid()}.part")
        try:
            with open(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as target:
                for data in self.content(file):
                    target.write(data)
            os.utime(part, ns=(file.modified, file.modified))
            os.replace(part, to)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(part)

    # ── forgetting ─────────────────────────────────────────────────────────

    def forget(self, sessions: Iterable[str], versions: Iterable[int]) -> None:
        """Takes versions out for good; their sessions are not kept again until they are named."""
        with self._writing():
            self._remove(versions)
            self._database.execute("DELETE FROM logs WHERE id NOT IN (SELECT log FROM versions)")
            self._database.executemany(
                "INSERT OR IGNORE INTO forgotten VALUES (?)", [(_stored(one),) for one in sessions]
            )
        try:
            self._database.execute("VACUUM")
        except sqlite3.Error as error:
            raise StorageError(self.path, str(error), OTHER_DATA_DIR) from error

    def forgotten(self) -> set[str]:
        """The sessions that are not kept again."""
        return {os.fsdecode(session) for (session,) in self._database.execute("SELECT session FROM forgotten")}

    def remember(self, sessions: Iterable[str]) -> None:
        """Lets sessions be kept again."""
        with self._writing():
            self._database.executemany("DELETE FROM forgotten WHERE session = ?", [(_stored(one),) for one in sessions])


def _stored(name: str) -> str | bytes:
    """A path or an id as SQLite keeps it: as text, or as the bytes of a name that is not UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return name.encode("utf-8", "surrogateescape")
    return name


def _facts(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _facts_of(log: KeptLog) -> list[tuple[str, tuple[int, int]]]:
    return [(file.path, (file.size, file.modified)) for file in log.files]


# ── logs whose original is gone ──────────────────────────────────────────────


def is_as_kept(file: KeptFile, path: Path) -> bool:
    """Whether a file has the bytes that were kept."""
    try:
        if not path.is_file() or path.is_symlink() or path.stat().st_size != file.size:
            return False
        with path.open("rb") as log:
            return hashlib.file_digest(log, "sha256").hexdigest() == file.digest
    except OSError:
        return False


def copies_folder() -> Path:
    """Where logs are written whose originals are gone, so that they can be read; it can be made again at any time."""
    return config.current().cache_dir / "kept"


def place_of(log: KeptLog, file: KeptFile, root: Path) -> Path:
    """Where a kept file is written below a folder: what is beside it in its home stays beside it."""
    home = log.home or os.path.dirname(log.path)
    inside = os.path.relpath(file.path, home)
    if inside.startswith(".."):
        inside = file.path.lstrip("/\\").replace(":", "")
    return root / hashlib.sha256(os.fsencode(home)).hexdigest()[:12] / inside


def is_anything_kept() -> bool:
    """Whether there is an archive."""
    return default_path().is_file()


class Names:
    """The names of logs that are there. A log that was moved is there: clients give logs long names of their own."""

    def __init__(self) -> None:
        from dragoman.logs.seen import Seen

        self._seen = Seen()

    def add(self, path: str) -> None:
        """A log that is there."""
        self._seen.add(path)
        if len(name := os.path.basename(path)) >= _OWN_NAME:
            self._seen.add(name)

    def has(self, path: str) -> bool:
        """Whether a log is there, here or elsewhere."""
        name = os.path.basename(path)
        return path in self._seen or (len(name) >= _OWN_NAME and name in self._seen)


_OWN_NAME: Final = 24


def gone_logs(there: Names) -> Iterator[tuple[Path, KeptLog]]:
    """Logs that were kept and are not `there` any more, each with a copy that can be read."""
    try:
        with Archive() as archive:
            for path, version in archive.paths():
                if there.has(path) or os.path.lexists(path):
                    continue
                log = archive.log(version)
                copy = _copied(archive, log)
                if copy is not None:
                    yield copy, log
    except StorageError as error:
        _WARNINGS.warning("kept sessions are left out: %s", error)


_WARNINGS: Final = logging.getLogger("dragoman.logs")


def _copied(archive: Archive, log: KeptLog) -> Path | None:
    """A copy of a log, written if it is not there yet; `None` if it cannot be."""
    root = copies_folder()
    try:
        for file in log.files:
            copy = place_of(log, file, root)
            if _facts_there(copy) != (file.size, file.modified):
                archive.write(file, copy)
    except (LogError, OSError) as error:
        _WARNINGS.warning("a kept session is left out: %s", error)
        return None
    return place_of(log, log.files[0], root)


def _facts_there(path: Path) -> tuple[int, int] | None:
    try:
        return _facts(path)
    except OSError:
        return None
