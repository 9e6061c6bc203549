"""SQL over the tables, in DuckDB: in a process of its own, closed to files and to the network, and within limits.

Rule: no statement outlives its limits. It may take so many seconds, give so many rows and hold so much memory; one that
reaches for more is ended, and `LimitReached` says which limit it was.
"""

from __future__ import annotations

import io
import os
import pickle
import re
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from itertools import islice
from pathlib import Path
from queue import Empty, Queue
from tempfile import TemporaryFile
from threading import Thread
from time import monotonic
from typing import Any, Final

import msgspec

from dragoman.config.files import ScratchFolder
from dragoman.environment import child_environment
from dragoman.errors import LimitReached, MissingExtra, QueryRefused

from .rows import TABLES, Row, columns_of


class SqlLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one statement: seconds, rows of its result, and bytes of memory."""

    seconds: float = 60.0
    rows: int = 100_000
    memory: int = 2 << 30

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be more than 0")


class Result(msgspec.Struct, frozen=True):
    """Rows and the names of their columns."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def dicts(self) -> list[dict[str, Any]]:
        """Each row by the names of its columns; of several with one name, the later ones are `name_1`, `name_2`, …"""
        names = distinct(self.columns)
        return [dict(zip(names, row, strict=True)) for row in self.rows]


def distinct(columns: Iterable[str]) -> list[str]:
    """Names of columns, each once: of several with one name, the later ones are `name_1`, `name_2`, …"""
    given = tuple(columns)
    names: list[str] = []
    for column in given:
        name, number = column, 0
        while name in names or (number and name in given):
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return names


CLOSED: Final = (
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET python_enable_replacements = false",  # else a name in the SQL may be a variable of the program
    "SET temp_directory = ''",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_ROW_BYTES: Final = 16 << 20
"""Bytes one row may have."""
_PROGRAM: Final = Path(__file__).with_name("sql_process.py")
_OUT_OF_MEMORY: Final = (-6, -7, -9, -11)
"""How a program ends that is given no more memory: abort, bus error, killed by the system, segmentation fault."""
_OUT_OF_TIME: Final = -24
_PASSED_ON: Final = ("PATH", "HOME", "TZ", "LANG", "LC_ALL", "PYTHONPATH", "PYTHONHOME")

Rows = Callable[[str, Sequence[str]], Iterable[tuple[Any, ...]]]
"""Table and columns → its rows as they are stored."""
Lock = AbstractContextManager[Any]


class Asked:
    """A statement being answered: the columns, then the rows as they come. Leaving it ends the statement.

    What is wrong with the statement is a `QueryRefused` in the database's own words. `lock` is held while rows are
    read for it, and not while it is answered, which may take long.
    """

    def __init__(self, rows_of: Rows, text: str, limits: SqlLimits | None = None, lock: Lock | None = None) -> None:
        self._rows_of, self._text, self._limits = rows_of, text, limits or SqlLimits()
        self._lock: Lock = lock or nullcontext()
        self.columns: tuple[str, ...] = ()
        self.received = 0
        """Bytes of the answer so far."""
        self._left = self._limits.seconds
        self._stack = ExitStack()
        self._messages: Queue[bytes | None] = Queue(1)
        """What the process says; `None` when it has ended."""

    @property
    def names(self) -> list[str]:
        """The columns by names that differ."""
        return distinct(self.columns)

    def __enter__(self) -> Asked:
        packages = _packages()
        try:
            self._text.encode()
        except UnicodeEncodeError as error:
            raise QueryRefused(f"the SQL is not Unicode text (character {error.start + 1})") from error
        is_answered = self._is_answered(packages) or self._is_answered(packages, is_whole=True)
        assert is_answered
        return self

    def _is_answered(self, packages: str, *, is_whole: bool = False) -> bool:
        """Starts the process and gives it what it asks for; with `is_whole`, all columns of the tables.

        Else `False` says that the statement means a column that it does not name.
        """
        with ExitStack() as stack, ScratchFolder() as folder:
            self._stack = stack
            self._start(packages)
            named = self._expect("named", limited=False)
            columns = None if is_whole else named
            statements: list[tuple[str, list[Any]]] = [(f"SET memory_limit = '{self._limits.memory // 1024}KiB'", [])]
            declared = []
            with self._lock:
                for name in _named(self._text):
                    chosen = _chosen(name, columns)
                    statements += _filled(folder, self._rows_of, name, chosen)
                    if columns is not None:
                        declared.append(f"CREATE OR REPLACE TABLE {_declared(name, columns_of(TABLES[name]))}")
            self._tell({"statements": [*statements, *((one, []) for one in CLOSED)], "declared": declared})
            self._expect("filled", limited=False)
            kind, value = self._next(("columns", "whole"))
            if kind == "columns":
                self.columns = tuple(value)
                self._stack = stack.pop_all()
            return kind == "columns"

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        given = 0
        while (kind_and_value := self._next(("rows", "end")))[0] == "rows":
            for row in kind_and_value[1]:
                if given == self._limits.rows:
                    raise LimitReached("rows of a query", given, "add a LIMIT to the SQL, or allow more rows")
                given += 1
                yield row

    # ── the process ────────────────────────────────────────────────────────

    def _start(self, packages: str) -> None:
        order = {
            "starter": os.getpid(),
            "packages": packages,
            "sql": self._text,
            "tables": list(TABLES),
            "memory": self._limits.memory,
            "seconds": self._limits.seconds,
            "row_bytes": _ROW_BYTES,
        }
        self._messages = Queue(1)  # of a process before this one, something may be left
        self._errors = self._stack.enter_context(TemporaryFile())  # noqa: SIM115 - entered here
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=child_environment(*_PASSED_ON),
        )
        listening = Thread(target=self._listen, name="dragoman-sql", daemon=True)
        self._stack.callback(self._end, listening)
        listening.start()
        self._tell(order)

    def _tell(self, order: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # if it has ended, that is heard when it is listened to
            self._process.stdin.write(msgspec.json.encode(order) + b"\n")
            self._process.stdin.flush()

    def _listen(self) -> None:
        """Reads what the process says, one message ahead: a reader that takes its time keeps it waiting."""
        assert self._process.stdout is not None
        with self._process.stdout as pipe:
            while len(size := pipe.read(8)) == 8:
                (length,) = struct.unpack(">Q", size)
                content = pipe.read(length) if length <= 2 * _ROW_BYTES else b""
                if len(content) < length:
                    break
                self._messages.put(content)
        self._messages.put(None)

    def _end(self, listening: Thread) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        while listening.is_alive():
            with suppress(Empty):
                self._messages.get(timeout=0.05)

    def _expect(self, kind: str, *, limited: bool = True) -> Any:
        return self._next((kind,), limited=limited)[1]

    def _next(self, kinds: tuple[str, ...], *, limited: bool = True) -> tuple[str, Any]:
        """The next message, one of these kinds; any other says why there is none."""
        content = self._message(limited=limited)
        if content is None:
            raise self._died()
        self.received += len(content)
        kind, value = _Unpickler(content).load()
        if kind in kinds:
            return kind, value
        if kind == "memory":
            raise self._out_of_memory()
        if kind == "row":
            raise LimitReached("megabytes in one row of a query", _ROW_BYTES >> 20, "select shorter values")
        if kind == "nothing":
            raise QueryRefused("there is no statement in the SQL; `SELECT * FROM sessions` would be one")
        raise QueryRefused(f"the SQL was not understood or not allowed: {value}")

    def _message(self, *, limited: bool) -> bytes | None:
        """What the process says next. Only waiting for it counts as its time."""
        while True:
            began = monotonic()
            try:
                # In short waits, so that Ctrl-C is seen to on every system.
                return self._messages.get(timeout=max(0.01, min(self._left, 0.5)) if limited else 0.5)
            except Empty:
                pass
            finally:
                self._left -= (monotonic() - began) if limited else 0.0
            if self._left <= 0:
                raise LimitReached("seconds of a query", self._limits.seconds, "ask for less, or allow more time")

    def _died(self) -> Exception:
        """Why the process ended without an answer."""
        status = self._process.wait()
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - 2000))
        said = self._errors.read().decode("utf-8", "replace").strip()
        if "MemoryError" in said or "bad_alloc" in said or status in _OUT_OF_MEMORY:
            return self._out_of_memory()
        if status == _OUT_OF_TIME:
            return LimitReached("seconds of a query", self._limits.seconds, "ask for less, or allow more time")
        return QueryRefused(f"the process that answers SQL ended with status {status}: {said or 'it wrote nothing'}")

    def _out_of_memory(self) -> LimitReached:
        return LimitReached("megabytes of memory of a query", self._limits.memory >> 20, "ask for less, or allow more")


class _Unpickler(pickle.Unpickler):
    """Reads values of SQL and nothing else: no message can name a class beside these."""

    _KNOWN: Final = {
        ("datetime", "date"),
        ("datetime", "datetime"),
        ("datetime", "time"),
        ("datetime", "timedelta"),
        ("datetime", "timezone"),
        ("decimal", "Decimal"),
        ("uuid", "UUID"),
    }

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content))

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._KNOWN:
            raise QueryRefused(f"the SQL gave a value of a type that is not known here: {module}.{name}")
        return super().find_class(module, name)


def asked_in_sql(rows_of: Rows, text: str, limits: SqlLimits | None = None, lock: Lock | None = None) -> Result:
    """What a statement gives, whole; its rows together are bounded by the limit on memory as well."""
    bounds = limits or SqlLimits()
    with Asked(rows_of, text, bounds, lock) as asked:
        rows: list[tuple[Any, ...]] = []
        for row in asked:
            if asked.received > bounds.memory:
                megabytes = bounds.memory >> 20
                raise LimitReached("megabytes of a query's result", megabytes, "ask for less, or read it row by row")
            rows.append(row)
        return Result(asked.columns, rows)


def _packages() -> str:
    """The folder that DuckDB is installed in."""
    from importlib.util import find_spec

    found = find_spec("duckdb")
    if found is None or found.origin is None:
        raise MissingExtra("query", "SQL over the history", "duckdb")
    return str(Path(found.origin).parents[1])


def _named(text: str) -> list[str]:
    """The tables a text may mean; all of them when it names none, for then it may ask what there is."""
    words = set(re.findall(r"\w+", text.lower()))
    return [name for name in TABLES if name in words] or list(TABLES)


# ── tables ───────────────────────────────────────────────────────────────────


def load(database: Any, rows_of: Rows, name: str) -> None:
    """Fills a table of a database of our own."""
    with ScratchFolder() as folder:
        for statement, values in _filled(folder, rows_of, name, columns_of(TABLES[name])):
            database.execute(statement, values)


_LINES: Final = 1_000
"""Rows that are written at once."""


def _chosen(name: str, named: Iterable[str] | None) -> dict[str, str]:
    """The columns of a table that are named, each with its type; one where none is, for rows are counted too."""
    columns = columns_of(TABLES[name])
    if named is None:
        return columns
    wanted = frozenset(named)
    chosen = {column: type for column, type in columns.items() if column in wanted}
    return chosen or dict([next(one for one in columns.items() if one[1] == "BIGINT")])


def _declared(name: str, columns: dict[str, str]) -> str:
    return f"{name}({', '.join(f'{column} {type}' for column, type in columns.items())})"


def _filled(folder: Path, rows_of: Rows, name: str, columns: dict[str, str]) -> list[tuple[str, list[Any]]]:
    """Writes these columns of a table to a file; gives the statements that read it.

    As lines of JSON, because that is by far the quickest way in without further packages.
    """
    encoder = msgspec.json.Encoder()
    path = folder / f"{name}.json"
    with path.open("wb") as file:
        rows = iter(rows_of(name, tuple(columns)))
        while some := [dict(zip(columns, row, strict=True)) for row in islice(rows, _LINES)]:
            file.write(encoder.encode_lines(some))
    return [
        (f"CREATE TABLE {_declared(name, columns)}", []),
        (f"INSERT INTO {name} {_selected_from_json(columns)}", [str(path)]),
    ]


def selected_from_json(kind: type[Row]) -> str:
    """What reads the rows of a table from a file of JSON lines, as they are stored; the file is the parameter."""
    return _selected_from_json(columns_of(kind))


def _selected_from_json(columns: dict[str, str]) -> str:
    given = ", ".join(f"{column}: '{_GIVEN.get(type, type)}'" for column, type in columns.items())
    taken = ", ".join(f"{_TAKEN.get(type, '{}').format(column)} AS {column}" for column, type in columns.items())
    return f"SELECT {taken} FROM read_json(?, format = 'newline_delimited', columns = {{{given}}})"


_GIVEN: Final = {"TIMESTAMP": "BIGINT", "VARCHAR[]": "VARCHAR", "BOOLEAN": "BIGINT"}
"""How a type is stored, where that is otherwise."""
_TAKEN: Final = {
    "TIMESTAMP": "make_timestamp({})",
    "VARCHAR[]": "CAST(CAST({} AS JSON) AS VARCHAR[])",
    "BOOLEAN": "CAST({} AS BOOLEAN)",
}
