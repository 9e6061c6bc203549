"""TOML and YAML files as plain values that know the lines they stand on.

Rule: nothing in a file is run and nothing in it grows: no tags, no aliases, no key twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dragoman.config.files import TomlPlace as Place, read_toml
from dragoman.errors import DefinitionError, nearest

if TYPE_CHECKING:
    import yaml

LARGEST_FILE: Final = 4 * 1024 * 1024
DEEPEST: Final = 100
"""Brackets of YAML that may be open at once."""


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

_PLAIN_SCALARS: Final = {
    # The words of YAML 1.2: "no", "on" and "12:30" are text.
    "bool": (r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    "null": (r"^(?:~|null|Null|NULL|)$", "~nN\0"),
    "int": (r"^[-+]?[0-9]+$", "-+0123456789"),
    "float": (r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
}


_KNOWN_TAGS: Final = tuple(f"tag:yaml.org,2002:{kind}" for kind in ("map", "seq", "str", *_PLAIN_SCALARS))


def _parse_yaml(path: Path, text: str) -> DataFile:
    import yaml

    try:
        loader = _loader(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark is not None else ""
        raise _unreadable(path, [f"{line}it is not valid YAML: {error.problem or error.context}"]) from error
    except yaml.reader.ReaderError as error:
        line = f"line {text[: error.position].count(chr(10)) + 1}: "
        character = f"U+{ord(text[error.position]):04X}"
        raise _unreadable(path, [f"{line}it is not valid YAML: the character {character} is not allowed"]) from error
    reading = _Reading()
    content = {} if root is None else reading.value(root, ())
    if not isinstance(content, dict):
        reading.problems.append("it holds no table of keys")
    if reading.problems:
        raise _unreadable(path, reading.problems)
    return DataFile(path, content, reading.lines)


def _loader(text: str) -> yaml.SafeLoader:
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers: dict[str, Any] = {}

        def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: N803 - PyYAML's name
            # PyYAML looks at every open bracket again for each token: thousands of them take it seconds.
            if self.flow_level >= DEEPEST:
                raise RecursionError
            super().fetch_flow_collection_start(TokenClass)

    for name, (pattern, first) in _PLAIN_SCALARS.items():
        letters = ["" if letter == "\0" else letter for letter in first]
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(pattern), letters)
    return Loader(text)


class _Reading:
    """One walk over the nodes of a file."""

    def __init__(self) -> None:
        self.lines: dict[Place, int] = {}
        self.problems: list[str] = []
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, place: Place, line: int | None = None) -> Any:
        """The plain value of a node; `line` is that of its key."""
        import yaml

        line = node.start_mark.line + 1 if line is None else line
        self.lines[place] = line
        if id(node) in self._seen:
            self.problems.append(f"line {line}: aliases (`*name`) are not read; write it out")
            return None
        self._seen.add(id(node))
        if not node.tag.startswith(_KNOWN_TAGS):
            self.problems.append(f"line {line}: the tag {node.tag!r} is not read")
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(inner, (*place, index)) for index, inner in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        import yaml

        found: dict[str, Any] = {}
        for key, inner in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self.problems.append(f"line {line}: a key must be a word")
                continue
            if key.value in found:
                self.problems.append(f'line {line}: "{key.value}" is there twice')
            found[key.value] = self.value(inner, (*place, key.value), line)
        return found

    def _scalar(self, node: yaml.Node) -> Any:
        try:
            match node.tag.rpartition(":")[2]:
                case "bool":
                    return node.value.lower() == "true"
                case "null":
                    return None
                case "int":
                    return int(node.value)
                case "float":
                    return float(node.value)
        except ValueError:  # `!!int "a"`, or more digits than Python reads
            self.problems.append(f"line {node.start_mark.line + 1}: {node.value!r:.60} is no number")
        return node.value


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
