"""TOML and YAML files as plain values that know the lines they stand on.

Rule: nothing in a file is run and nothing in it grows: no tags, no aliases, no key twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.config.files import TextPlace as Place, read_toml, read_yaml
from dragoman.errors import DefinitionError, nearest

LARGEST_FILE: Final = 4 * 1024 * 1024


class DataFile(msgspec.Struct, frozen=True):
    """What a file holds, and the line of each place in it, as far as that is known."""

    path: Path
    content: dict[str, Any]
    lines: dict[Place, int]

    def where(self, place: Place) -> str:
        """ "line 7, tools[0].name": the line of the place, or of what it stands in."""
        written = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
        within = (place[:length] for length in range(len(place), 0, -1))
        line = next((self.lines[part] for part in within if part in self.lines), None)
        return ", ".join(filter(None, (f"line {line}" if line else "", written)))


def parse(path: Path, source: bytes) -> DataFile:
    """Reads a file by its suffix; what cannot be read is a `DefinitionError` with the line."""
    if len(source) > LARGEST_FILE:
        raise _unreadable(path, [f"it is larger than {LARGEST_FILE} bytes, which no vocabulary needs"])
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source[: error.start].count(b"\n") + 1
        raise _unreadable(path, [f"line {line}: it is not UTF-8 text; save it as UTF-8"]) from error
    try:
        return _parse_toml(path, text) if path.suffix == ".toml" else _parse_yaml(path, text)
    except RecursionError as error:
        raise _unreadable(path, ["it is nested too deeply"]) from error


def _unreadable(path: Path, problems: Iterable[str]) -> DefinitionError:
    return DefinitionError(f"dialect file {path.name!r}", problems, str(path))


# ── TOML ─────────────────────────────────────────────────────────────────────


def _parse_toml(path: Path, text: str) -> DataFile:
    try:
        content, lines = read_toml(text)
    except ValueError as error:  # TOML's own, or Python's about a number of too many digits
        raise _unreadable(path, [f"it is not valid TOML: {error}"]) from error
    return DataFile(path, content, lines)


# ── YAML ─────────────────────────────────────────────────────────────────────


def _parse_yaml(path: Path, text: str) -> DataFile:
    value, lines, wrong = read_yaml(text)
    problems = [f"line {line}: {message}" for line, message in wrong]
    content = {} if value is None else value
    if not problems and not isinstance(content, dict):
        problems.append("it holds no table of keys")
    if problems:
        raise _unreadable(path, problems)
    return DataFile(path, content, lines)


# ── taking a table apart ─────────────────────────────────────────────────────

_KINDS: Final[Mapping[type, str]] = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    list: "a list",
    dict: "a table",
}


class Table:
    """One table of a file, taken apart key by key; what is wrong is written down, what was not asked for too."""

    def __init__(self, file: DataFile, place: Place, content: dict[str, Any], problems: list[str]) -> None:
        self.file, self.place, self.content, self.problems = file, place, content, problems
        self._known: list[str] = []

    def problem(self, message: str, *at: str | int) -> None:
        """Notes what is wrong here, or at a key of this table."""
        where = self.file.where((*self.place, *at))
        self.problems.append(f"{where}: {message}" if where else message)

    def text(self, key: str) -> str | None:
        """A text, or `None`; an empty one is a mistake."""
        value: str | None = self._of(key, str)
        if value is not None and not value.strip():
            self.problem("is empty", key)
            return None
        return value

    def flag(self, key: str) -> bool | None:
        value: bool | None = self._of(key, bool)
        return value

    def anything(self, key: str) -> Any:
        """Whatever stands there; `MISSING` when nothing does."""
        self._known.append(key)
        return self.content.get(key, MISSING)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        values: list[Any] = self._of(key, list) or []
        for index, value in enumerate(values):
            if not isinstance(value, str):
                self.problem(f"must be a text, not {value!r:.60}", key, index)
        return tuple(value for value in values if isinstance(value, str))

    def reasons(self, key: str) -> dict[str, str]:
        """Names with a text each."""
        inner = self.table(key)
        if inner is None:
            return {}
        found = {name: inner.text(name) for name in inner.content}
        return {name: text for name, text in found.items() if text is not None}

    def table(self, key: str) -> Table | None:
        """A table within this one."""
        value = self._of(key, dict)
        return None if value is None else Table(self.file, (*self.place, key), value, self.problems)

    def tables(self, key: str) -> list[Table]:
        """A list of tables."""
        values: list[Any] = self._of(key, list) or []
        for index, value in enumerate(values):
            if not isinstance(value, dict):
                self.problem(f"must be a table, not {value!r:.60}", key, index)
        return [
            Table(self.file, (*self.place, key, index), value, self.problems)
            for index, value in enumerate(values)
            if isinstance(value, dict)
        ]

    def inner_tables(self) -> list[tuple[str, Table]]:
        """Every key of this table, each of which must hold a table."""
        found = [(key, self.table(key)) for key in self.content]
        return [(key, table) for key, table in found if table is not None]

    def close(self) -> None:
        """Everything was asked for: what is left is not known here."""
        for key in self.content:
            if key not in self._known:
                known = ", ".join(self._known)
                self.problem(f'there is no key "{key}" here; known: {known}.{nearest(key, self._known)}', key)

    def _of(self, key: str, kind: type) -> Any:
        value = self.anything(key)
        if value is MISSING:
            return None
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.problem(f"must be {_KINDS[kind]}, not {value!r:.60}", key)
            return None
        return value


class _Missing:
    """Marks a key that is not there, which is not the same as one that holds nothing."""


MISSING: Final = _Missing()
