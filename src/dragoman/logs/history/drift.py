"""What logs really hold, held against what is known: the shapes of tools and records, and where they drifted.

Rules: a call its client refused (no such tool, wrong arguments) is a model's mistake and no evidence, and so are the
arguments of one it never answered. A name or a parameter that is known at any version is known; what is declared to
have no meaning is known too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, get_type_hints

import msgspec

from dragoman.dialects import DIALECTS, Dialect, Spelling, Steer
from dragoman.errors import LogError
from dragoman.logs.base.raw_bytes import Original, Originals
from dragoman.model import Failure, NativeCall, events as ev, operations as op
from dragoman.registry import FORMATS
from dragoman.schema import schema_of
from dragoman.schema.values import type_of

from .discover import Found, read_log

if TYPE_CHECKING:
    from dragoman.dialects.plugins import Captured

AnySpelling = type[Spelling[Any]]

# ── shapes ───────────────────────────────────────────────────────────────────

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
    """The shapes of one version of one client: what its tools were given, and its records."""

    def __init__(self) -> None:
        self.tools: dict[str, Shape] = {}
        self.records: dict[str, Shape] = {}

    def document(self) -> dict[str, Any]:
        """Names with their JSON Schemas."""
        return {
            "tools": {name: shape.schema() for name, shape in sorted(self.tools.items())},
            "records": {name: shape.schema() for name, shape in sorted(self.records.items())},
        }


Progress = Callable[[int], None]
NO_VERSION: Final = "unknown"


def extract_shapes(
    files: Iterable[Found], progress: Progress | None = None, warn: Callable[[str], None] | None = None
) -> dict[str, dict[str, Shapes]]:
    """Client → version → the shapes of what its logs hold."""
    learnt: dict[str, dict[str, Shapes]] = {}
    with Originals() as originals:
        for found in files:
            version, seen = NO_VERSION, set[ev.Source]()
            for event in _events(found, warn):
                version = event.version or version
                shapes = learnt.setdefault(found.format, {}).setdefault(version, Shapes())
                if isinstance(event, ev.ToolCalled):
                    native = event.call.native
                    shapes.tools.setdefault(_qualified(native), Shape()).learn(native.arguments, event.source)
                source = event.source
                if source is not None and source not in seen and not isinstance(event, ev.Unreadable):
                    seen.add(source)
                    for kind, value in _records(originals.of(source), source):
                        shapes.records.setdefault(kind, Shape()).learn(value, source)
            if progress is not None:
                progress(1)
    return learnt


def _events(found: Found, warn: Callable[[str], None] | None) -> Iterator[ev.AnyEvent]:
    try:
        yield from read_log(found)
    except LogError as error:
        if warn is None:
            raise
        warn(str(error))


def _records(original: Original | None, source: ev.Source) -> Iterator[tuple[str, Any]]:
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


# ── drift ────────────────────────────────────────────────────────────────────

Kind = Literal[
    "new_tool", "new_parameter", "missing_parameter", "changed_type", "changed_text", "new_record", "unreadable"
]


class Drift(msgspec.Struct):
    """One way in which logs differ from what is known: what, in which versions, how often, where first."""

    kind: Kind
    client: str
    name: str
    """The tool, or the kind of record."""
    parameter: str | None = None
    expected: str | None = None
    seen: str | None = None
    versions: list[str] = []
    count: int = 0
    source: ev.Source | None = None

    @property
    def what(self) -> str:
        """In a line."""
        place = self.name if self.parameter is None else f"{self.name}.{self.parameter}"
        if self.kind == "changed_type":
            return f"{place}: expected {self.expected}, seen {self.seen}"
        return place if self.seen is None else f"{place}: {self.seen}"


class Report:
    """What a check found: `drifts`, how many files, calls and refused calls it saw, and the tools nobody knows."""

    def __init__(
        self, drifts: list[Drift], files: int, calls: int, refused: int, tools: dict[str, list[Captured]]
    ) -> None:
        self.drifts, self.files, self.calls, self.refused = drifts, files, calls, refused
        self.tools = tools
        """Client → its tools that are not known, as far as their calls show them."""

    def skeleton(self, language: Literal["toml", "python"] = "python") -> str:
        """The missing spellings as the draft of a dialect, one after the other; nothing where none is missing."""
        from dragoman.dialects.plugins import drafted

        return "\n".join(drafted(client, tools, language) for client, tools in self.tools.items())


def check_drift(
    files: Iterable[Found], progress: Progress | None = None, warn: Callable[[str], None] | None = None
) -> Report:
    """Holds logs against the catalogue of dialects and formats."""
    checker = _Checker()
    for found in files:
        checker.file(found, _events(found, warn))
        if progress is not None:
            progress(1)
    return checker.report()


class _Checker:
    def __init__(self) -> None:
        self._found: dict[tuple[str, ...], Drift] = {}
        self._shapes: dict[tuple[str, str], Shape] = {}
        self._files = self._calls = self._refused = 0

    def file(self, found: Found, events: Iterable[ev.AnyEvent]) -> None:
        self._files += 1
        # Our own recordings are written by the very declarations they would be held against.
        dialect = None if found.format == "dragoman" else DIALECTS[FORMATS[found.format].dialect]
        waiting: dict[str, ev.ToolCalled] = {}
        for event in events:
            if isinstance(event, ev.ToolCalled):
                self._calls += 1
                waiting[event.call.id] = event
            elif isinstance(event, ev.ToolReturned):
                called = waiting.pop(event.result.call_id, None)
                if called is not None and dialect is not None:
                    self._call(found.format, dialect, called, event)
            elif isinstance(event, ev.UnknownRecord):
                self._add(found.format, event, "new_record", event.name or "?")
            elif isinstance(event, ev.Unreadable):
                self._add(found.format, event, "unreadable", "record", seen=event.reason)
        for called in waiting.values():
            if dialect is not None:
                self._call(found.format, dialect, called, None)

    def _call(self, client: str, dialect: Dialect, event: ev.ToolCalled, returned: ev.ToolReturned | None) -> None:
        if returned is not None and any(_is_refusal(outcome) for outcome in returned.result.outcomes):
            self._refused += 1
            return
        call = event.call
        if any(isinstance(operation, op.Unrecognised) for operation in call.operations):
            name = _qualified(call.native)
            self._add(client, event, "new_tool", name)
            self._shapes.setdefault((client, name), Shape()).learn(call.native.arguments, event.source)
            return
        if any(isinstance(operation, op.CallMcpTool | op.CallFunction) for operation in call.operations):
            return  # somebody's own, in no client's catalogue
        known = _known(dialect, call.native)
        if known is None or returned is None:
            return  # what was never answered may never have been looked at
        if call.failure is not None and isinstance(call.native.arguments, str):
            if not any(isinstance(outcome, Failure) for outcome in returned.result.outcomes):
                self._add(client, event, "changed_text", known.name, seen=call.failure.message)
            return  # otherwise a model's mistake: the client could not read it either
        for kind, parameter, expected, seen in known.differences(call.unmapped, unread=call.failure is not None):
            self._add(client, event, kind, known.name, parameter, expected, seen)

    def _add(
        self,
        client: str,
        event: ev.AnyEvent,
        kind: Kind,
        name: str,
        parameter: str | None = None,
        expected: str | None = None,
        seen: str | None = None,
    ) -> None:
        key = (client, kind, name, parameter or "", expected or "", seen or "")
        drift = self._found.get(key)
        if drift is None:
            drift = self._found[key] = Drift(kind, client, name, parameter, expected, seen, [], 0, event.source)
        drift.count += 1
        version = event.version or NO_VERSION
        if version not in drift.versions:
            drift.versions.append(version)

    def report(self) -> Report:
        from dragoman.dialects.plugins import Captured

        tools: dict[str, list[Captured]] = {}
        for (client, name), shape in self._shapes.items():
            tools.setdefault(client, []).append(Captured(name, "", _without_marks(shape.schema())))
        return Report(list(self._found.values()), self._files, self._calls, self._refused, tools)


def _is_refusal(outcome: Any) -> bool:
    return isinstance(outcome, Failure) and outcome.kind in ("unknown_tool", "invalid_arguments")


def _without_marks(schema: Any) -> Any:
    """A schema without what only tells where it was learnt."""
    if isinstance(schema, dict):
        return {name: _without_marks(one) for name, one in schema.items() if not name.startswith("x-")}
    return [_without_marks(one) for one in schema] if isinstance(schema, list) else schema


def _qualified(native: NativeCall) -> str:
    return native.name if native.namespace is None else f"{native.namespace}.{native.name}"


# ── what is known of a tool ──────────────────────────────────────────────────

Difference = tuple[Kind, str, str | None, str | None]


class _Known:
    """What the catalogue has under the name of one call."""

    def __init__(self, name: str, native: NativeCall, spellings: tuple[AnySpelling, ...], steer: Steer | None) -> None:
        self.name, self._native, self._spellings, self._steer = name, native, spellings, steer

    def differences(self, unmapped: Mapping[str, Any], *, unread: bool) -> Iterator[Difference]:
        arguments = self._native.arguments
        if isinstance(arguments, str):
            return  # words, or what a model meant to be JSON
        names = {wire for spelling in self._spellings for wire in spelling.__struct_encode_fields__}
        names |= set(self._steer.parameters) | set(self._steer.opens or ()) if self._steer is not None else set()
        for name, value in arguments.items():
            if name not in names:
                yield "new_parameter", name, None, type_of(value)
            else:
                yield from self._typed(name, value)
        for path, value in unmapped.items():
            outer = re.split(r"[.\[]", path, maxsplit=1)[0]
            if path != outer and outer in names and outer in arguments and not self._is_said_to_be_lost(outer, path):
                yield "new_parameter", re.sub(r"\[\d+\]", "[]", path), None, type_of(value)
        if unread and self._steer is None and self._spellings:
            missing = min((spelling.required - arguments.keys() for spelling in self._spellings), key=len)
            for name in sorted(missing):
                yield "missing_parameter", name, "required", None

    def _typed(self, name: str, value: Any) -> Iterator[Difference]:
        hints = [
            _hints(spelling)[field]
            for spelling in self._spellings
            for wire, field in zip(spelling.__struct_encode_fields__, spelling.__struct_fields__, strict=True)
            if wire == name
        ]
        problems = [problem for hint in hints if (problem := _problem(value, hint)) is not None]
        if hints and len(problems) == len(hints) and (self._steer is None or name not in self._steer.parameters):
            inner = re.search(r"at `\$(.*?)`", problems[0])
            seen = type_of(value) if inner is None else f"{type_of(value)} ({problems[0]})"
            yield "changed_type", name, _type_named(hints[0]), seen

    def _is_said_to_be_lost(self, outer: str, path: str) -> bool:
        inner = re.sub(r"\[\d+\]", "", path).removeprefix(f"{outer}.")
        for spelling in self._spellings:
            for wire, field in zip(spelling.__struct_encode_fields__, spelling.__struct_fields__, strict=True):
                declared = spelling.parameters[field]
                if wire == outer and any(inner == one or inner.startswith(f"{one}.") for one in declared.without):
                    return True
        return False


_hints = lru_cache(maxsize=4096)(get_type_hints)


def _problem(value: Any, hint: Any) -> str | None:
    try:
        msgspec.convert(_whole(value), hint)
    except msgspec.ValidationError as error:
        return str(error)
    except UnicodeEncodeError:
        return None
    return None


def _whole(value: Any) -> Any:
    """1.0 is a whole number in JSON, whoever wrote it so."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _whole(one) for name, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, list) else value


def _type_named(hint: Any) -> str:
    schema = schema_of(hint)
    if "enum" in schema:
        return " | ".join(str(one) for one in schema["enum"])
    kinds = schema.get("type") or [one.get("type", "object") for one in schema.get("anyOf", ())]
    named = [kinds] if isinstance(kinds, str) else [str(one) for one in kinds]
    return " | ".join(one for one in named if one != "null") or "anything"


def _known(dialect: Dialect, native: NativeCall) -> _Known | None:
    """What the catalogue has under this name; of a tool that carries another's call, what it has of that one."""
    name = _qualified(native)
    spellings, steer = _named(dialect, name)
    if not spellings and steer is None and native.namespace is not None:
        spellings, steer = _named(dialect, native.name)
    if not spellings and steer is None:
        return None if dialect.beside is None else _known(dialect.beside, native)
    inner = None if steer is None or spellings else steer.opened(native)
    if inner is not None:
        return _known(dialect, inner)
    return _Known(name, native, spellings, steer)


@lru_cache(maxsize=4096)
def _named(dialect: Dialect, name: str) -> tuple[tuple[AnySpelling, ...], Steer | None]:
    def is_called(one: Any, own: str) -> bool:
        before = "" if one.namespace is None else f"{one.namespace}."
        return name in (f"{before}{own}", *(f"{before}{older}" for older in one.formerly))

    spellings = tuple(one for one in dialect.spellings if is_called(one, one.native_name))
    return spellings, next((one for one in dialect.steering if is_called(one, one.name)), None)
