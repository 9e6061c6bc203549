"""The shapes of what logs hold, learnt from them: JSON Schemas of tools, results, records and tokens."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from dragoman.dialects import Dialect, Spelling, Steer
from dragoman.errors import LogError
from dragoman.logs.base.raw_bytes import Original, Originals
from dragoman.model import NativeCall, events as ev
from dragoman.schema.values import type_of

from .discover import Found, read_log
from .known_fields import NO_VERSION

AnySpelling = type[Spelling[Any]]

_MOST_VALUES: Final = 8
_MOST_NAMES: Final = 60
"""An object with more names than this is a table of somebody's data: its names say nothing."""
_DEEPEST: Final = 50
"""Levels of a value that are learnt: below them only types are counted."""
_WORD: Final = re.compile(r"[A-Za-z0-9_.:/+-]{1,32}")


class Shape:
    """What JSON values in one place look like, learnt one by one."""

    def __init__(self) -> None:
        self.count = 0
        self.types: Counter[str] = Counter()
        self.names: dict[str, Shape] = {}
        self.items: Shape | None = None
        self.words: dict[str, int] | None = {}
        """Texts and how often they were seen; `None` when there are too many to be a choice."""
        self.seen: ev.Source | None = None

    def learn(self, value: Any, source: ev.Source | None, deepest: int = _DEEPEST) -> None:
        """Adds one value, seen there."""
        self.count += 1
        self.seen = self.seen or source
        kind = type_of(value)
        self.types[kind] += 1
        if not deepest:
            return
        if kind == "object":
            for name, one in value.items():
                self.names.setdefault(str(name), Shape()).learn(one, source, deepest - 1)
        elif kind == "array":
            self.items = self.items or Shape()
            for one in value:
                self.items.learn(one, source, deepest - 1)
        if kind == "string" and self.words is not None:
            if len(self.words) < _MOST_VALUES or value in self.words:
                self.words[value] = self.words.get(value, 0) + 1
            else:
                self.words = None

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of what was seen. `x-count` says how often, `x-seen` where first."""
        kinds = sorted(self.types)
        schema: dict[str, Any] = {"type": kinds[0] if len(kinds) == 1 else kinds} if kinds else {}
        if "object" in self.types:
            schema |= self._object()
        if self.items is not None and self.items.count:
            schema["items"] = self.items.schema()
        if (choice := self._choice()) is not None:
            schema["enum"] = choice
        schema["x-count"] = self.count
        if self.seen is not None:
            row = {} if self.seen.row is None else {"row": self.seen.row}
            schema["x-seen"] = {"file": self.seen.file, "offset": self.seen.offset, **row}
        return schema

    def _object(self) -> dict[str, Any]:
        objects = self.types["object"]
        if len(self.names) > _MOST_NAMES:
            every = Shape()
            for one in self.names.values():
                every.count += one.count
                every.types += one.types
            return {"additionalProperties": {"type": sorted(every.types), "x-count": every.count}}
        required = [name for name, one in self.names.items() if one.count == objects]
        properties = {name: one.schema() for name, one in self.names.items()}
        return {"properties": properties, **({"required": required} if required else {})}

    def _choice(self) -> list[str] | None:
        """The texts, where there are few, short ones that come again and again, and nothing else."""
        if not self.words or set(self.types) != {"string"} or self.count < 2 * len(self.words):
            return None
        return sorted(self.words) if all(_WORD.fullmatch(word) for word in self.words) else None


class Shapes:
    """The shapes of one version of one client: what its tools were given and gave back, its records, its tokens."""

    def __init__(self) -> None:
        self.tools: dict[str, Shape] = {}
        self.records: dict[str, Shape] = {}
        self.results: dict[str, Shape] = {}
        """Tool → what its results hold beside their content, or the content where that is all."""
        self.usage = Shape()
        """What is read of the tokens."""

    def document(self) -> dict[str, Any]:
        """Names with their JSON Schemas."""
        return {
            "tools": {name: shape.schema() for name, shape in sorted(self.tools.items())},
            "records": {name: shape.schema() for name, shape in sorted(self.records.items())},
            "results": {name: shape.schema() for name, shape in sorted(self.results.items())},
            "usage": self.usage.schema(),
        }


Progress = Callable[[int], None]


def extract_shapes(
    files: Iterable[Found], progress: Progress | None = None, warn: Callable[[str], None] | None = None
) -> dict[str, dict[str, Shapes]]:
    """Client → version → the shapes of what its logs hold."""
    learnt: dict[str, dict[str, Shapes]] = {}
    with Originals() as originals:
        for found in files:
            version, seen, tools = NO_VERSION, set[ev.Source](), dict[str, str]()
            for event in events_of_log(found, warn):
                version = event.version or version
                shapes = learnt.setdefault(found.format, {}).setdefault(version, Shapes())
                if isinstance(event, ev.ToolCalled):
                    native = event.call.native
                    tools[native.id] = qualified(native)
                    shapes.tools.setdefault(tools[native.id], Shape()).learn(native.arguments, event.source)
                elif isinstance(event, ev.ToolReturned) and (given := event.result.native) is not None:
                    name = tools.get(given.call_id) or given.name or "unknown"
                    value = given.item if given.item is not None else msgspec.to_builtins(given.content)
                    shapes.results.setdefault(name, Shape()).learn(value, event.source)
                elif isinstance(event, ev.TokensUsed):
                    shapes.usage.learn(msgspec.to_builtins(event.usage), event.source)
                source = event.source
                if source is not None and source not in seen and not isinstance(event, ev.Unreadable):
                    seen.add(source)
                    for kind, value in records_by_kind(originals.of(source), source):
                        shapes.records.setdefault(kind, Shape()).learn(value, source)
            if progress is not None:
                progress(1)
    return learnt


def events_of_log(found: Found, warn: Callable[[str], None] | None) -> Iterator[ev.AnyEvent]:
    """The events of a log; what keeps it from being read is warned of."""
    try:
        yield from read_log(found)
    except LogError as error:
        if warn is None:
            raise
        warn(str(error))


def records_by_kind(original: Original | None, source: ev.Source) -> Iterator[tuple[str, Any]]:
    """The JSON of an original, by the kind of record it is; what is no JSON has no shape."""
    if isinstance(original, dict):
        table = (source.row or "").partition(":")[0]
        yield table, {column: _cell(cell) for column, cell in original.items()}
        return
    if original is None:
        return
    try:
        value = msgspec.json.decode(original)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    yield kind_of(value), value


def _cell(cell: Any) -> Any:
    if not isinstance(cell, bytes):
        return cell
    try:
        return json.loads(cell) if cell[:1] in (b"{", b"[") else cell.decode()
    except (ValueError, RecursionError):
        return cell.decode("utf-8", "replace")


_SAYS_KIND: Final = ("type", "kind", "role", "event", "say")
_INNER: Final = ("payload", "message", "data", "part", "state", "update")


def kind_of(record: Any) -> str:
    """What a record calls itself, and what stands in it: `response_item/function_call`."""
    if not isinstance(record, Mapping):
        return type_of(record)
    names = [_own_kind(record)]
    names += [_own_kind(record[name]) for name in _INNER if isinstance(record.get(name), Mapping)]
    said = [name for name in names if name is not None]
    return "/".join(dict.fromkeys(said)) or "record"


def _own_kind(value: Mapping[str, Any]) -> str | None:
    said = next((value[name] for name in _SAYS_KIND if isinstance(value.get(name), str)), None)
    return said if said is not None and _WORD.fullmatch(said) else None


def qualified(native: NativeCall) -> str:
    """The name of a tool, with what it belongs to."""
    return native.name if native.namespace is None else f"{native.namespace}.{native.name}"


@lru_cache(maxsize=4096)
def tool_named(dialect: Dialect, name: str) -> tuple[tuple[AnySpelling, ...], Steer | None]:
    """What a vocabulary has under a name, at any version."""

    def is_called(one: Any, own: str) -> bool:
        before = "" if one.namespace is None else f"{one.namespace}."
        return name in (f"{before}{own}", *(f"{before}{older}" for older in one.formerly))

    spellings = tuple(one for one in dialect.spellings if is_called(one, one.native_name))
    return spellings, next((one for one in dialect.steering if is_called(one, one.name)), None)
