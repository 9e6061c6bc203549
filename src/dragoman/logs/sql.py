"""SQL over the tables, in DuckDB: closed to files and to the network before anybody's SQL is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.errors import MissingExtra, QueryRefused

from .tables import TABLES, columns_of


class Result(msgspec.Struct, frozen=True):
    """Rows and the names of their columns."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def dicts(self) -> list[dict[str, Any]]:
        """Each row by the names of its columns; of several with one name, the later ones are `name_1`, `name_2`, …"""
        names: list[str] = []
        for column in self.columns:
            name, number = column, 0
            while name in names or (number and name in self.columns):
                number += 1
                name = f"{column}_{number}"
            names.append(name)
        return [dict(zip(names, row, strict=True)) for row in self.rows]


_CLOSED: Final = (
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET python_enable_replacements = false",  # else a name in the SQL may be a variable of ours
    "SET temp_directory = ''",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


Rows = Callable[[str], Iterable[tuple[Any, ...]]]
"""Table → its rows as they are stored, their cells in the order of the struct's fields."""


def asked_in_sql(rows_of: Rows, text: str) -> Result:
    """What a statement gives. What is wrong with it is a `LogError` in the database's own words."""
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtra("query", "SQL over the history", "duckdb") from error
    database = duckdb.connect(":memory:")
    try:
        for name in _named(text):
            load(database, rows_of, name)
        for statement in _CLOSED:
            database.execute(statement)
        try:
            asked = database.execute(text)
            if asked is None:
                raise QueryRefused("there is no statement in the SQL; `SELECT * FROM sessions` would be one")
            columns = tuple(column[0] for column in asked.description or ())
            return Result(columns, asked.fetchall() if columns else [])
        except duckdb.Error as error:
            raise QueryRefused(f"the SQL was not understood or not allowed: {error}") from error
    finally:
        database.close()


def _named(text: str) -> list[str]:
    """The tables a text may mean; all of them when it names none, for then it may ask what there is."""
    words = set(re.findall(r"\w+", text.lower()))
    return [name for name in TABLES if name in words] or list(TABLES)


def load(database: Any, rows_of: Rows, name: str) -> None:
    """Fills a table. As lines of JSON, because that is by far the quickest way in without further packages."""
    from tempfile import TemporaryDirectory

    kind = TABLES[name]
    columns, fields = columns_of(kind), kind.__struct_fields__
    encoder = msgspec.json.Encoder()
    with TemporaryDirectory(prefix="dragoman-") as folder:
        path = Path(folder) / "rows.json"
        with path.open("wb") as file:
            for row in rows_of(name):
                file.write(encoder.encode(dict(zip(fields, row, strict=True))))
                file.write(b"\n")
        declared = ", ".join(f"{column} {type}" for column, type in columns.items())
        given = ", ".join(f"{column}: '{_GIVEN.get(type, type)}'" for column, type in columns.items())
        taken = ", ".join(_TAKEN.get(type, "{}").format(column) for column, type in columns.items())
        database.execute(f"CREATE TABLE {name}({declared})")
        database.execute(
            f"INSERT INTO {name} SELECT {taken} FROM read_json(?, format = 'newline_delimited', columns = {{{given}}})",
            [str(path)],
        )


_GIVEN: Final = {"TIMESTAMP": "BIGINT", "VARCHAR[]": "VARCHAR", "BOOLEAN": "BIGINT"}
"""How a type is stored, where that is otherwise."""
_TAKEN: Final = {
    "TIMESTAMP": "make_timestamp({})",
    "VARCHAR[]": "CAST(CAST({} AS JSON) AS VARCHAR[])",
    "BOOLEAN": "CAST({} AS BOOLEAN)",
}
