"""Parts of a corpus: the rows of some logs in Parquet, and the entry in the manifest that makes them count.

Rules: a part is named by what it was made from and how, so the same work has the same name wherever it is done. Its
tables are written first and its entry last, each only if there is none; without its entry a part is nothing.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from dragoman.config.files import ScratchFolder
from dragoman.errors import ConfigError, LogError, MissingExtra, StorageError
from dragoman.logs.history.layout import TIMES, cells_of, writable
from dragoman.logs.history.rows import TABLES, AgentRow, Row, SessionRow, columns_of
from dragoman.logs.history.sql import selected_from_json
from dragoman.logs.history.tables import Built
from dragoman.logs.history.whole_sessions import FLAGS

from .places import Place
from .sources import Input, Labels

LAYOUT: Final = 1
"""Counts up when older versions could not read a corpus any more."""
ABOUT: Final = "corpus.json"
MANIFEST: Final = "manifest"
PART_TABLES: Final[dict[str, type[Row]]] = {**TABLES, "agents": AgentRow}
"""The tables of a part; `agents` says which call spawned which agent."""


class Read(msgspec.Struct, kw_only=True):
    """One log as the manifest knows it."""

    address: str
    version: str
    modified: int = 0
    size: int = 0
    format: str = ""
    whole: str | None = None
    labels: Labels = Labels()
    root: str = ""
    tail: str = ""
    """A digest of its last bytes, unpacked."""
    digest: str = ""
    """A digest of all of them."""
    beside: str = ""
    is_printed: bool = False
    """Whether it is what a client printed, and not the log that it keeps."""
    bytes: int = 0
    """How many were read, unpacked."""
    events: int = 0
    unreadable: int = 0
    unknown: int = 0


class Manifest(msgspec.Struct, kw_only=True):
    """The entry of a part: what it was made from and how."""

    layout: int = LAYOUT
    part: str
    made: str
    """Which reader made it, and whether secrets were taken out."""
    built: float
    """Seconds since 1970."""
    rows: dict[str, int] = {}
    logs: list[Read] = []


def part_name(made: str, inputs: list[Input]) -> str:
    """The name of the part that is made from these inputs."""
    facts = [(one.address, one.version, *msgspec.structs.astuple(one.labels)) for one in inputs]
    return hashlib.blake2b(msgspec.json.encode([made, sorted(facts)]), digest_size=20).hexdigest()


def table_name(table: str, part: str) -> str:
    """The object that has the rows of a table."""
    return f"{table}/{part}.parquet"


def entry_name(part: str) -> str:
    """The object that makes a part count."""
    return f"{MANIFEST}/{part}.json"


def opened(place: Place, *, is_made: bool) -> None:
    """Looks whether a place has a corpus that can be read here; with `is_made` a place without one gets one."""
    about = msgspec.json.encode({"dragoman corpus": LAYOUT})
    if is_made and place.put_new(ABOUT, about):
        return
    if not place.has(ABOUT):
        raise LogError(f"there is no corpus in {place.address}; `dragoman corpus build SRC {place.address}` makes one")
    try:
        layout = msgspec.json.decode(place.get(ABOUT))["dragoman corpus"]
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        raise LogError(f"{place.address}/{ABOUT} is not of a corpus; choose another place") from error
    if layout != LAYOUT:
        raise ConfigError(f"the corpus in {place.address} has layout {layout}; this version reads {LAYOUT}")


class Manifests:
    """Every entry of a corpus. An entry never changes, so one that was read is kept in `cache`."""

    def __init__(self, place: Place, cache: Path | None) -> None:
        self._place = place
        self._cache = cache if place.is_remote else None

    def read(self) -> Iterator[Manifest]:
        """The entries in the order of their names."""
        from concurrent.futures import ThreadPoolExecutor

        names = [one.name for one in self._place.listed(MANIFEST) if one.name.endswith(".json")]
        with ThreadPoolExecutor(16 if self._place.is_remote else 1) as pool:
            yield from pool.map(self._one, names)

    def _one(self, name: str) -> Manifest:
        kept = None if self._cache is None else self._cache / Path(name).name
        data = b""
        if kept is not None:
            with suppress(OSError):
                data = kept.read_bytes()
        try:
            return _decode(data)
        except msgspec.DecodeError:
            pass  # it is not there, or was written by half
        data = self._place.get(name)
        try:
            found = _decode(data)
        except msgspec.DecodeError as error:
            raise LogError(f"{self._place.address}/{name} is no entry of a manifest: {error}") from error
        if kept is not None:
            with suppress(OSError):
                kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                kept.write_bytes(data)
        return found


_decode = msgspec.json.Decoder(Manifest).decode


class PartWriter:
    """Gathers the rows of a part on the disk, so that memory does not grow with them."""

    def __init__(self) -> None:
        try:
            import duckdb
        except ImportError as error:
            raise MissingExtra("corpus", "building a corpus", "duckdb") from error
        self._duckdb: Any = duckdb
        self.rows = dict.fromkeys(PART_TABLES, 0)
        self._stack = ExitStack()
        self._encode = msgspec.json.Encoder().encode

    def __enter__(self) -> PartWriter:
        self._folder = self._stack.enter_context(ScratchFolder())
        self._files: dict[str, IO[bytes]] = {
            name: self._stack.enter_context((self._folder / f"{name}.json").open("wb")) for name in PART_TABLES
        }
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, address: str, built: Built, labels: Labels) -> None:
        """Adds the rows of a log."""
        for row in built.tables["sessions"]:
            assert isinstance(row, SessionRow)
            row.user, row.team, row.machine = labels.user, labels.team, labels.machine
        for name, rows in (*built.tables.items(), ("agents", built.agents)):
            self._write(name, address, rows)

    def _write(self, name: str, address: str, rows: Any) -> None:
        fields = PART_TABLES[name].__struct_fields__
        get, encode, write = cells_of(fields), self._encode, self._files[name].write
        flags = FLAGS.intersection(fields)
        for row in rows:
            row.file = address
            cells = dict(zip(fields, get(row), strict=True))
            for flag in flags:
                cells[flag] = int(cells[flag])  # as an index stores it
            try:
                line = encode(cells)
            except UnicodeEncodeError:
                line = encode({key: writable(value) for key, value in cells.items()})
            write(line)
            write(b"\n")
            self.rows[name] += 1

    def tables(self) -> Iterator[tuple[str, bytes]]:
        """Each table that has rows, as Parquet."""
        with self._duckdb.connect(":memory:", config={"threads": 1}) as database:
            database.execute("SET preserve_insertion_order = true")
            for name, file in self._files.items():
                file.close()
                if self.rows[name]:
                    yield name, self._parquet(database, name)

    def _parquet(self, database: Any, name: str) -> bytes:
        source, target = self._folder / f"{name}.json", self._folder / f"{name}.parquet"
        select = selected_from_json(PART_TABLES[name])
        quoted = str(target).replace("'", "''")
        statement = f"COPY ({select}) TO '{quoted}' (FORMAT parquet, COMPRESSION zstd)"
        try:
            database.execute(statement, [str(source)])
        except self._duckdb.Error:
            _rewritten(source)  # a number is longer than a column: the log itself still has it
            try:
                database.execute(statement, [str(source)])
            except self._duckdb.Error as error:
                raise StorageError(target, f"the rows of {name} cannot be written as Parquet: {error}") from error
        return target.read_bytes()


def _rewritten(path: Path) -> None:
    with path.open("rb") as file:
        lines = [
            msgspec.json.encode({key: writable(value) for key, value in msgspec.json.decode(line).items()})
            for line in file
        ]
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def rows_of(database: Any, place: Place, part: Manifest, table: str, addresses: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of a table in a part, of these logs."""
    if not part.rows.get(table):
        return
    kind = PART_TABLES[table]
    with ScratchFolder() as folder:
        path = folder / "part.parquet"
        with path.open("wb") as file:
            for piece in place.pieces(table_name(table, part.part)):
                file.write(piece)
        there = {
            name for name, *_ in database.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
        }
        names = [name for name in columns_of(kind) if name in there]  # an older version had fewer columns
        times = TIMES.intersection(names)
        cursor = database.execute(f"SELECT {', '.join(names)} FROM read_parquet(?)", [str(path)])
        while some := cursor.fetchmany(5_000):
            for row in some:
                cells = dict(zip(names, row, strict=True))
                if cells["file"] in addresses:
                    for name in times:
                        if cells[name] is not None:
                            cells[name] = cells[name].replace(tzinfo=datetime.UTC)
                    yield kind(**cells)
