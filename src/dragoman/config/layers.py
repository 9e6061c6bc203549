"""Reading one source of settings (a file, the environment, flags) into a layer of values that know their origin."""

from __future__ import annotations

import os
import re
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from dragoman.errors import ConfigError, nearest
from dragoman.policy_rule import PolicyRule

from .files.ordinary_file import read_ordinary_file
from .files.toml_text import TextPlace, read_toml
from .kinds import Kind, file_named
from .settings import Field, Key, Place, Secret, Settings, fields_of, known_settings, place_of

PREFIX: Final = "DRAGOMAN_"

# A settings file is written by hand. What is larger is a mistake or an attack, and a project's file is read unasked.
LARGEST_FILE: Final = 256 * 1024


class Origin(msgspec.Struct, frozen=True):
    """Where a value was set: the layer, the file, variable or flag, and the line when it is certain."""

    layer: Literal["default", "user", "project", "environment", "flag"]
    source: str | None = None
    line: int | None = None
    profile: str | None = None
    """The profile that states it, if it was chosen."""

    def __str__(self) -> str:
        if self.source is None:
            return self.layer
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{self.layer} {place}" if self.profile is None else f"profile {self.profile}, {self.layer} {place}"


class LayerValue(msgspec.Struct, frozen=True):
    """A value of one layer."""

    value: Any
    origin: Origin
    field: Field


Layer = dict[Key, LayerValue]


class Reader:
    """Reads one source into a layer, and collects everything that is wrong with it."""

    def __init__(
        self,
        layer: Literal["default", "user", "project", "environment", "flag"],
        source: str,
        base: Path,
        *,
        lines: Mapping[Key, int] | None = None,
        from_text: bool = False,
    ) -> None:
        self.layer, self.source, self.base = layer, source, base
        self.lines = lines or {}
        self.from_text = from_text
        self.found: Layer = {}
        self.problems: list[str] = []

    def origin(self, path: Key) -> Origin:
        within = (path[:length] for length in range(len(path), 0, -1))
        return Origin(self.layer, self.source, next((self.lines[part] for part in within if part in self.lines), None))

    def problem(self, path: Key, text: str) -> None:
        origin = self.origin(path)
        place = self.source if origin.line is None else f"{self.source}:{origin.line}"
        self.problems.append(f"{place}: {'.'.join(path)}: {text}")

    def table(self, data: Any, table: type[msgspec.Struct], path: Key = ()) -> None:
        if not isinstance(data, dict):
            self.problem(path, f"expected a table, got {_kind(data)}")
            return
        fields = fields_of(table)
        for name, value in data.items():
            if name not in fields:
                self.problem((*path, name), f"there is no such setting.{_nearest_setting(name, path, fields)}")
            else:
                self.field(value, fields[name], (*path, name))

    def at(self, place: Place, value: Any) -> None:
        if place.field.kind not in (Kind.PATH, Kind.STORAGE) and isinstance(value, str) and not _is_utf8(value):
            self.problem(place.path, "expected UTF-8 text")
            return
        (self.entry if place.one else self.field)(value, place.field, place.path)

    def field(self, value: Any, field: Field, path: Key) -> None:
        if not field.named:
            self.entry(value, field, path)
            return
        value = self.unpacked(value)
        if not isinstance(value, dict):
            self.problem(path, f"expected a table, got {_kind(value)}")
            return
        for name, inner in value.items():
            self.entry(inner, field, (*path, name))

    def entry(self, value: Any, field: Field, path: Key) -> None:
        if field.table is not None:
            self.table(self.unpacked(value), field.table, path)
            return
        lax = self.from_text and isinstance(value, str)
        if lax and _is_list(field.hint):
            value, lax = self.unpacked(value), False
        if field.listed is not None and not self.listed_names_known(value, field.listed, path):
            return
        if self.layer == "environment" and _names_relative_file(field, value):
            # A variable is set for every folder, and this would be another file in each of them.
            self.problem(path, "expected the whole path of the file, beginning with / or ~")
            return
        try:
            converted = msgspec.convert(value, field.hint, strict=not lax, dec_hook=self.hook)
        except msgspec.ValidationError as error:
            self.problem(path, _in_words(error, field.hint))
        else:
            if field.kind is Kind.RULES:
                converted = tuple(msgspec.structs.replace(rule, source=_SOURCES[self.layer]) for rule in converted)
            self.found[path] = LayerValue(self.rooted(converted, field), self.origin(path), field)

    def rooted(self, value: Any, field: Field) -> Any:
        """A name that is a file, with its whole path: like a path it is relative to the file that says it."""
        named = file_named(field.kind, value)
        return value if named is None else f"{named[0]}{self.whole(named[1])}"

    def whole(self, path: str) -> Path:
        return Path(os.path.normpath(self.base / os.path.expanduser(path)))

    def unpacked(self, value: Any) -> Any:
        """A table or an array is JSON, or as in TOML, where only text can be written (the environment, flags)."""
        if not (self.from_text and isinstance(value, str)):
            return value
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            pass
        if "\n" in value or not value.strip().startswith(("{", "[")):
            return value
        try:
            return read_toml(f"value = {value}")[0]["value"]
        except (ValueError, RecursionError):
            return value

    def listed_names_known(self, value: Any, table: type[msgspec.Struct], path: Key) -> bool:
        fields = [name for name in table.__struct_fields__ if table is not PolicyRule or name != "source"]
        rows = value if isinstance(value, list) else []
        unknown = [name for row in rows if isinstance(row, dict) for name in row if name not in fields]
        for name in unknown:
            self.problem((*path, name), f"there is no such setting.{nearest(name, fields)}")
        return not unknown

    def hook(self, kind: type, value: object) -> object:
        """Text becomes a path (relative to the file that says it) or a secret."""
        if not isinstance(value, str):
            raise ValueError(f"expected text, got {_kind(value)}")
        if kind is Secret:
            return Secret(value)
        return self.whole(value)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _names_relative_file(field: Field, value: Any) -> bool:
    """Whether code or a model would be taken from a file relative to the current folder."""
    texts = value if isinstance(value, list) else [value]
    if field.kind is Kind.CODE:
        files = [text for text in texts if isinstance(text, str)]
    else:
        files = [named[1] for text in texts if (named := file_named(field.kind, text)) is not None]
    return any(not os.path.isabs(os.path.expanduser(file)) for file in files)


def _is_list(hint: Any) -> bool:
    return typing.get_origin(_bare(hint)) is tuple


def _bare(hint: Any) -> Any:
    return hint.__origin__ if hasattr(hint, "__metadata__") else hint


_SOURCES: Final = {
    "default": "the defaults",
    "user": "your settings",
    "project": "the project's settings",
    "environment": "the environment",
    "flag": "--set",
}
"""Whose rules those of a layer are."""

_WORDS: Final = {
    "object": "a table",
    "dict": "a table",
    "array": "an array",
    "list": "an array",
    "str": "text",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "null": "nothing",
}


def _kind(value: object) -> str:
    return _WORDS.get(type(value).__name__, type(value).__name__)


def _in_words(error: msgspec.ValidationError, hint: Any) -> str:
    """What was expected, in the words of somebody who writes TOML."""
    bare = _bare(hint)
    if typing.get_origin(bare) is Literal:
        return f"expected one of {', '.join(map(repr, typing.get_args(bare)))}"
    text = str(error)
    for name, word in _WORDS.items():
        text = re.sub(rf"`{name}( \| null)?`", word, text)
    return (text[:1].lower() + text[1:]).replace("`", "")


def _nearest_setting(name: str, path: Key, fields: Mapping[str, Field]) -> str:
    elsewhere = [key for key, _ in known_settings() if key.split(".")[-1] == name]
    return nearest(name, fields) or (f' Did you mean "{elsewhere[0]}"?' if elsewhere and not path else "")


def default_layer(settings: Settings) -> Layer:
    return dict(_leaves(settings))


def _leaves(table: msgspec.Struct, path: Key = ()) -> Iterator[tuple[Key, LayerValue]]:
    for name, field in fields_of(type(table)).items():
        value = getattr(table, name)
        if field.table is not None and not field.named:
            yield from _leaves(value, (*path, name))
        elif not field.named:
            yield (*path, name), LayerValue(value, Origin("default"), field)


def file_layer(layer: Literal["user", "project"], path: Path, content: bytes, *, base: Path) -> Reader:
    try:
        data, lines = read_toml(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}:{line}: not UTF-8 text; save the file as UTF-8") from error
    except ValueError as error:  # TOML's own, or Python's about a number of too many digits
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: not valid settings: nested too deeply") from error
    reader = Reader(layer, str(path), base, lines=_without_indexes(lines))
    reader.table(data, Settings)
    return reader


def _without_indexes(lines: Mapping[TextPlace, int]) -> dict[Key, int]:
    """The first line of each key, whichever element of a list it belongs to."""
    keys: dict[Key, int] = {}
    for place, line in lines.items():
        keys.setdefault(tuple(part for part in place if isinstance(part, str)), line)
    return keys


def read_settings_file(path: Path) -> bytes | None:
    """The bytes of a settings file, or nothing when there is none."""
    try:
        return read_ordinary_file(path, LARGEST_FILE)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise ConfigError(f"{path}: {error}; settings are read from ordinary files of text only") from error


def environment_layer(environ: Mapping[str, str], cwd: Path) -> tuple[list[Reader], list[str]]:
    readers, warnings = [], []
    for variable, value in sorted(environ.items()):
        name = variable.removeprefix(PREFIX)
        if name == variable or name == "CONFIG_DIR" or not value:
            continue
        place = place_of(name.split("__"))
        if place is None:
            warnings.extend(_mistyped(variable, name))
            continue
        reader = Reader("environment", variable, cwd, from_text=True)
        reader.at(place, value)
        readers.append(reader)
    return readers, warnings


def _mistyped(variable: str, name: str) -> list[str]:
    """A warning, when the variable looks meant for us: others use the prefix too, as container links do."""
    suggestion = nearest(name, [key.replace(".", "__").upper() for key, _ in known_settings()])
    if not suggestion and "__" not in name:
        return []
    whole = suggestion.replace('"', f'"{PREFIX}', 1)
    return [f"{variable} names no setting and is ignored.{whole}"]


def flag_layer(flags: Mapping[str, object], cwd: Path) -> list[Reader]:
    readers = []
    for key, value in flags.items():
        reader = Reader("flag", key, cwd, from_text=True)
        place = place_of(key.split("."))
        if place is None:
            known = [name for name, _ in known_settings()]
            reader.problems.append(f"{key}: there is no such setting.{nearest(key, known)}")
        else:
            reader.at(place, value)
        readers.append(reader)
    return readers


def merged(*layers: Mapping[Key, LayerValue]) -> Layer:
    """Later layers win, but rules of all layers hold. In the order of the settings: equal ones are shown equally."""
    merged: Layer = {}
    for layer in layers:
        for path, found in layer.items():
            before = merged.get(path)
            if found.field.kind is Kind.RULES and before is not None:
                found = msgspec.structs.replace(found, value=(*before.value, *found.value))
            merged[path] = found
    return {path: merged[path] for path in _paths(merged, Settings)}


def _paths(layer: Mapping[Key, LayerValue], table: type[msgspec.Struct], path: Key = ()) -> Iterator[Key]:
    for name, field in fields_of(table).items():
        here = (*path, name)
        for each in [(*here, chosen) for chosen in _chosen(layer, here)] if field.named else [here]:
            if field.table is not None:
                yield from _paths(layer, field.table, each)
            elif each in layer:
                yield each


def _chosen(layer: Mapping[Key, LayerValue], path: Key) -> list[str]:
    """The names the user chose within a table of named things."""
    return sorted({key[len(path)] for key in layer if key[: len(path)] == path})


def built(table: type[msgspec.Struct], layer: Mapping[Key, LayerValue], path: Key = ()) -> Any:
    """The settings as one typed value."""
    values: dict[str, Any] = {}
    for name, field in fields_of(table).items():
        here = (*path, name)
        if field.named:
            values[name] = {each: _value(field, layer, (*here, each)) for each in _chosen(layer, here)}
        elif field.table is not None or here in layer:
            values[name] = _value(field, layer, here)
    return table(**values)


def _value(field: Field, layer: Mapping[Key, LayerValue], path: Key) -> Any:
    return layer[path].value if field.table is None else built(field.table, layer, path)
