"""Random changes of one field in real sessions: renamed, removed, or of another type, wherever it stands.

Which fields there are is found in the JSON itself, that in texts too. Left alone is what is not the client's: arguments
of calls, notebooks, names of files and models; and what stands in fewer than three objects.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dragoman.logs.history.record_fields import OPAQUE, is_name
from tests.conformance.test_drift_of_fields import SESSIONS, SHARED, Change, removed, renamed, retyped, told_after

Kind = Literal["renamed", "removed", "retyped"]
CHANGES: dict[Kind, Any] = {"renamed": renamed, "removed": removed, "retyped": retyped}


class RandomChange(NamedTuple):
    """One change, and in how many objects it is made."""

    client: str
    session: str
    kind: Kind
    field: str
    objects: int
    in_text: bool

    @property
    def change(self) -> Change:
        """What is done to each object."""
        made: Change = CHANGES[self.kind](self.field)
        return made

    def is_told(self, folder: Path) -> bool:
        """Whether `schema check` says the name."""
        told = told_after(self.change, SHARED / self.session, folder)
        return self.field in told


def random_changes(seed: int, number: int) -> Iterator[RandomChange]:
    """The same changes for the same seed."""
    chance = random.Random(seed)
    every = [(client, session) for client, sessions in sorted(SESSIONS.items()) for session in sessions]
    for _ in range(number):
        client, session = chance.choice(every)
        fields = fields_in(session)
        field, (objects, in_text) = chance.choice(sorted(fields.items()))
        kind = chance.choice(sorted(CHANGES))
        yield RandomChange(client, session, kind, field, objects, in_text)


@cache
def fields_in(session: str) -> dict[str, tuple[int, bool]]:
    """Each name of a field of the client's, in how many objects it is, and whether in texts alone."""
    outside: dict[str, int] = {}
    inside: dict[str, int] = {}
    for path in sorted((SHARED / session / "home").rglob("*")):
        if path.suffix in (".json", ".jsonl", ".db") and path.is_file():
            for value in values_of(path.read_bytes()):
                for name, is_in_text in names_in(value, is_in_text=False):
                    counts = inside if is_in_text else outside
                    counts[name] = counts.get(name, 0) + 1
    return {
        name: (outside.get(name, 0) + inside.get(name, 0), name not in outside)
        for name in outside.keys() | inside.keys()
        if outside.get(name, 0) + inside.get(name, 0) >= 3
    }


def values_of(data: bytes) -> Iterator[Any]:
    """The JSON values of a file."""
    if data.startswith(b"SQLite format 3"):
        database = sqlite3.connect(":memory:")
        database.deserialize(data)
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        for (table,) in tables.fetchall():
            cursor = database.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in cursor.description]
            for row in cursor:
                cells = dict(zip(names, row, strict=True))
                yield {name: parsed(cell) if isinstance(cell, str) else cell for name, cell in cells.items()}
        return
    try:
        yield json.loads(data)
    except ValueError:
        for line in data.splitlines():
            if line.strip():
                yield json.loads(line)


def parsed(cell: str) -> Any:
    try:
        return json.loads(cell) if cell.startswith(("{", "[{")) else cell
    except ValueError:
        return cell


def names_in(value: Any, *, is_in_text: bool) -> Iterator[tuple[str, bool]]:
    """The names of fields in a value, and whether each stands in a text."""
    if isinstance(value, str) and value.startswith("{"):
        inner = parsed(value)
        if isinstance(inner, dict) and "nbformat" not in inner:  # a notebook is a file that was read
            yield from names_in(inner, is_in_text=True)
    elif isinstance(value, dict):
        for name, one in value.items():
            if is_name(name) and one is not None:  # what is null has no type, and often no meaning
                yield name, is_in_text
            if name not in OPAQUE:
                yield from names_in(one, is_in_text=is_in_text)
    elif isinstance(value, list):
        for one in value:
            yield from names_in(one, is_in_text=is_in_text)
