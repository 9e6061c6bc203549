"""The seven tables as Parquet files in a folder, with the events they were made of: rows point into `events.jsonl`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, Final

from dragoman.errors import LogError, MissingExtra, StorageError
from dragoman.logs.history.query import Query
from dragoman.logs.history.rows import TABLES
from dragoman.logs.history.sql import load
from dragoman.logs.history.tables import as_json

from . import recording
from .chosen import Chosen

EVENTS: Final = "events.jsonl"
"""Our own recording of what was chosen: what columns `file`, `source_offset` and `source_length` speak of."""


def write(chosen: Chosen, out: BinaryIO | Path) -> None:
    if not isinstance(out, Path):
        raise LogError("the tables are several files: name a folder for them (-o FOLDER)")
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtra("query", "Parquet files", "duckdb") from error
    try:
        str(out).encode()
    except UnicodeEncodeError as error:
        raise StorageError(out, "DuckDB writes only to folders whose names are UTF-8") from error
    out.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (out / EVENTS).open("wb") as file:
        recording.write(chosen, file)
    query = Query(paths=[out / EVENTS])
    database = duckdb.connect(":memory:")
    try:
        for name in TABLES:
            load(database, query.stored_rows, name)
            _copy(database, f"SELECT * REPLACE ('{EVENTS}' AS file) FROM {name}", out / f"{name}.parquet")
        if chosen.strategy == "raw":
            _records(database, chosen, out)
    finally:
        database.close()
        query.close()


def _records(database: Any, chosen: Chosen, folder: Path) -> None:
    """The original of every event, by the event's id."""
    database.execute("CREATE TABLE records(event VARCHAR, file VARCHAR, raw VARCHAR)")
    rows: Iterable[tuple[str, str | None, str]] = (
        (event.id, None if event.source is None else event.source.file, raw if isinstance(raw, str) else as_json(raw))
        for event, raw in chosen.records()
        if raw is not None
    )
    for row in rows:
        database.execute("INSERT INTO records VALUES (?, ?, ?)", row)
    _copy(database, "SELECT * FROM records", folder / "records.parquet")


def _copy(database: Any, select: str, path: Path) -> None:
    quoted = str(path).replace("'", "''")
    database.execute(f"COPY ({select}) TO '{quoted}' (FORMAT parquet, COMPRESSION zstd)")
