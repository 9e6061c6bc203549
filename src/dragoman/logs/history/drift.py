"""What logs hold, compared with what is known of each client: its tools, its records and their fields, its results.

Rules: a call its client refused (no such tool, wrong arguments) is a model's mistake and no evidence, and neither is
one that it skipped. One that was never answered tells of its tool alone, and not where the client leaves calls of
unknown tools without an answer. A name or a parameter that is known at any version is known; what is declared to have
no meaning is known too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

import msgspec

from dragoman.dialects import DIALECTS, Dialect, Steer
from dragoman.logs.base.format import decoded
from dragoman.logs.base.likeness import Likeness
from dragoman.logs.base.normalise import is_perhaps_of_a_server, tells_without_result
from dragoman.logs.base.raw_bytes import Originals
from dragoman.model import Failure, NativeCall, events as ev, operations as op
from dragoman.registry import FORMATS
from dragoman.schema import schema_of
from dragoman.schema.values import type_of

from . import known_fields
from .discover import Found
from .known_fields import NO_VERSION
from .observed import Observed, look_alikes
from .shapes import AnySpelling, Progress, Shape, events_of_log, qualified, tool_named

if TYPE_CHECKING:
    from dragoman.dialects.plugins import Captured

# ── drift ────────────────────────────────────────────────────────────────────

Kind = Literal[
    "new_tool",
    "new_parameter",
    "missing_parameter",
    "changed_type",
    "changed_text",
    "new_record",
    "unreadable",
    "new_field",
    "missing_field",
    "renamed_field",
    "became_note",
    "left_as_text",
    "left_empty",
    "without_tokens",
    "without_calls",
]


class Drift(msgspec.Struct):
    """One way in which logs differ from what is known: what, in which versions, how often, where first."""

    kind: Kind
    client: str
    name: str
    """The tool, the kind of record, or the place of an object in a record."""
    parameter: str | None = None
    """The parameter, or the field."""
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
        if self.kind == "renamed_field":
            return f"{place} is missing, {self.seen} is new"
        return place if self.seen is None else f"{place}: {self.seen}"


class Additions(msgspec.Struct):
    """Fields of a version nobody captured that no known version has, and that take no other field's place."""

    client: str
    version: str
    fields: list[str] = []

    @property
    def what(self) -> str:
        """In a line."""
        shown = ", ".join(self.fields[:6]) + (" …" if len(self.fields) > 6 else "")
        count = "1 new field" if len(self.fields) == 1 else f"{len(self.fields)} new fields"
        return f"{self.client} {self.version}: {count}, in no known version: {shown}"


class Report:
    """What a check found: `drifts`, how many files, calls and refused calls it saw, and the tools nobody knows."""

    def __init__(
        self,
        drifts: list[Drift],
        files: int,
        calls: int,
        refused: int,
        tools: dict[str, list[Captured]],
        additions: list[Additions],
        shortened: dict[Path, int],
        unlike: dict[Path, str],
    ) -> None:
        self.drifts, self.files, self.calls, self.refused = drifts, files, calls, refused
        self.tools = tools
        """Client → its tools that are not known, as far as their calls show them."""
        self.additions = additions
        self.shortened = shortened
        """Logs that lack much of what their client always writes, and how many fields: shortened, or made by hand."""
        self.unlike = unlike
        """Logs that are like a client's and were written by another program."""

    def skeleton(self, language: Literal["toml", "python"] = "python") -> str:
        """The missing spellings as the draft of a dialect, one after the other; nothing where none is missing."""
        from dragoman.dialects.plugins import drafted

        return "\n".join(drafted(client, tools, language) for client, tools in self.tools.items())


def check_drift(
    files: Iterable[Found],
    progress: Progress | None = None,
    warn: Callable[[str], None] | None = None,
    passed: Iterable[Path] = (),
) -> Report:
    """Compares logs with what is known of their clients; of files in no known format, those that are like a log."""
    checker = _Checker()
    known = list(files)
    for found in [*known, *look_alikes(passed, alone=not known)]:
        checker.file(found, events_of_log(found, warn))
        if progress is not None:
            progress(1)
    return checker.report()


class _Checker:
    def __init__(self) -> None:
        self._found: dict[tuple[str, ...], Drift] = {}
        self._shapes: dict[tuple[str, str], Shape] = {}
        self._additions: dict[tuple[str, str], Additions] = {}
        self._shortened: dict[Path, int] = {}
        self._unlike: dict[Path, str] = {}
        self._files = self._calls = self._refused = 0

    def file(self, found: Found, events: Iterable[ev.AnyEvent]) -> None:
        self._files += 1
        # Our own recordings are written by the very declarations they would be held against.
        format = FORMATS[found.format]
        dialect = None if format.foreign_words else DIALECTS[format.dialect]
        waiting: dict[str, ev.ToolCalled] = {}
        observed, likeness = Observed(found), Likeness(format)
        for event in events:
            observed.event(event)
            likeness.take(event)
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
            if dialect is not None and tells_without_result(found.format, has_results=bool(observed.results)):
                self._call(found.format, dialect, called, None)
        if likeness.what is not None:
            self._unlike[found.path] = likeness.what
        known = known_fields.known_of(found.format)
        if known is not None:
            counted = observed.finish()
            form = known_fields.form_of(known, counted)
            falls = list(_falls(observed, form.reading))
            self._fields(observed, form, counted, known.read, fell=bool(falls))
            versions = sorted(observed.versions)
            for kind, name, seen, count, source in falls:
                self._put(found.format, versions, kind, name, None, None, seen, count, source)

    def _fields(
        self, observed: Observed, form: known_fields.Form, counted: known_fields.Counted, read: list[str], *, fell: bool
    ) -> None:
        """The fields that are new, missing, renamed or of another type."""
        client, versions = observed.found.format, sorted(observed.versions)
        differences, left_out = known_fields.differences(form, counted, versions, read, fell=fell)
        if left_out:
            self._shortened[observed.found.path] = left_out
        captured = not read and known_fields.is_captured(form, versions)
        missing = {one.place: one for one in reversed(differences) if one.kind == "missing_field"}
        new = {one.place: one for one in reversed(differences) if one.kind == "new_field"}
        for one in differences:
            if one.kind == "new_record" and one.source in observed.unknown:
                continue  # its reader says so
            if one.kind in ("new_field", "new_record") and not captured and one.place not in missing:
                version = versions[-1] if versions else NO_VERSION
                added = self._additions.setdefault((client, version), Additions(client, version, []))
                name = one.place if one.field is None else f"{one.place}.{one.field}"
                if name not in added.fields:
                    added.fields.append(name)
                continue
            kind: Kind = one.kind
            seen = one.seen
            if missing.get(one.place) is one and one.place in new:
                kind, seen = "renamed_field", new[one.place].field
            elif new.get(one.place) is one and one.place in missing:
                continue  # told with the one that is missing
            self._put(client, versions, kind, one.place, one.field, one.expected, seen, one.count, one.source)

    def _call(self, client: str, dialect: Dialect, event: ev.ToolCalled, returned: ev.ToolReturned | None) -> None:
        if returned is not None and any(_is_refusal(outcome) for outcome in returned.result.outcomes):
            self._refused += 1
            return
        call = event.call
        name = qualified(call.native)
        if any(isinstance(operation, op.Unrecognised) for operation in call.operations) or (
            any(isinstance(operation, op.CallMcpTool | op.CallFunction) for operation in call.operations)
            and _is_nearly_own(dialect, name)
        ):
            if not _is_evidence(client, name, returned):
                return
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
        failed = any(isinstance(outcome, Failure) for outcome in returned.result.outcomes)
        for kind, parameter, expected, seen in known.differences(call.unmapped, unread=call.failure is not None):
            if failed and kind != "changed_type":
                continue  # a model's slip, as far as anybody can tell: the client did not carry it out
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
        version = event.version or NO_VERSION
        self._put(client, [version], kind, name, parameter, expected, seen, 1, event.source)

    def _put(
        self,
        client: str,
        versions: list[str],
        kind: Kind,
        name: str,
        parameter: str | None,
        expected: str | None,
        seen: str | None,
        count: int,
        source: ev.Source | None,
    ) -> None:
        key = (client, kind, name, parameter or "", expected or "", seen or "")
        drift = self._found.get(key)
        if drift is None:
            drift = self._found[key] = Drift(kind, client, name, parameter, expected, seen, [], 0, source)
        drift.count += count
        drift.versions += [version for version in versions or [NO_VERSION] if version not in drift.versions]

    def report(self) -> Report:
        from dragoman.dialects.plugins import Captured

        tools: dict[str, list[Captured]] = {}
        for (client, name), shape in self._shapes.items():
            tools.setdefault(client, []).append(Captured(name, "", _without_marks(shape.schema())))
        return Report(
            list(self._found.values()),
            self._files,
            self._calls,
            self._refused,
            tools,
            list(self._additions.values()),
            self._shortened,
            self._unlike,
        )


_Fall = tuple[Kind, str, str | None, int, ev.Source | None]


def _falls(observed: Observed, known: known_fields.Reading) -> Iterator[_Fall]:
    """What was read of other logs of this client and is not read of this one."""
    readings = observed.readings
    with Originals() as originals:
        notes = [source for source, is_note in observed.noted.items() if is_note and source not in observed.unknown]
        for kind, sources in observed.kinds(originals, notes).items():
            if kind in known.records:
                yield "became_note", kind, None, len(sources), sources[0]
    for name, returned in observed.as_text.items():
        count = readings.tools[name][1]
        if name in known.tools and count > 1:
            yield "left_as_text", name, None, count, returned.source
    telling = [readings.silent[name] for name in known.telling if name in readings.silent]
    empty, results = sum(one[1] for one in telling), sum(one[0] for one in telling)
    if empty > 1 and 2 * empty > results:
        yield "left_empty", "results", f"{empty} of {results} are empty, of tools that always say something", 1, None
    if readings.replies >= 3 and readings.counted < known.tokens * readings.replies / 2:
        yield "without_tokens", "replies", f"{readings.counted} of {readings.replies} replies have tokens", 1, None
    elif 2 * observed.uncounted > observed.used:
        seen = f"{observed.uncounted} of {observed.used} times counts are no number, or below 0"
        yield "without_tokens", "replies", seen, 1, None
    if readings.counted >= 3 and readings.empty > (known.empty + 0.3) * readings.counted:
        seen = f"{readings.empty} of {readings.counted} replies with tokens neither say nor call anything"
        yield "without_calls", "replies", seen, 1, None
    elif observed.results >= 3 and not observed.calls:
        yield "without_calls", "replies", f"{observed.results} results, and no call they belong to", 1, None


def _is_refusal(outcome: Any) -> bool:
    return isinstance(outcome, Failure) and outcome.kind in ("unknown_tool", "invalid_arguments")


def _is_evidence(client: str, name: str, returned: ev.ToolReturned | None) -> bool:
    """Whether the client has a tool nobody knows: it did not skip the call, and did not hand it to a server.

    Where a log does not say which tools are a server's, those have a name with a mark and results in the shape of the
    protocol; in other logs that shape says nothing, as their names tell whose a tool is.
    """
    if returned is None:
        return True
    if any(isinstance(outcome, Failure) and outcome.kind == "cancelled" for outcome in returned.result.outcomes):
        return False
    if not is_perhaps_of_a_server(client, name):
        return True
    content = None if returned.result.native is None else returned.result.native.content
    given = decoded(content.encode("utf-8", "replace")) if isinstance(content, str) and content[:1] == "{" else None
    pieces = given.get("content") if isinstance(given, dict) else None
    return not isinstance(pieces, list) or not all(isinstance(one, dict) and "type" in one for one in pieces)


@lru_cache(maxsize=4096)
def _is_nearly_own(dialect: Dialect, name: str) -> bool:
    """Whether what reads like a tool of a server or a user (`background_process2`) is called almost as one of ours."""
    own = [one.native_name for one in dialect.spellings] + [one.name for one in dialect.steering]
    return name not in own and bool(get_close_matches(name, own, n=1, cutoff=0.9))


def _without_marks(schema: Any) -> Any:
    """A schema without what only tells where it was learnt."""
    if isinstance(schema, dict):
        return {name: _without_marks(one) for name, one in schema.items() if not name.startswith("x-")}
    return [_without_marks(one) for one in schema] if isinstance(schema, list) else schema


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
        names |= set(self._steer.parameters) | set(self._steer.carries or ()) if self._steer is not None else set()
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
    name = qualified(native)
    spellings, steer = tool_named(dialect, name)
    if not spellings and steer is None and native.namespace is not None:
        spellings, steer = tool_named(dialect, native.name)
    if not spellings and steer is None:
        return None if dialect.provider_dialect is None else _known(dialect.provider_dialect, native)
    inner = None if steer is None or spellings else steer.carried(native)
    if inner is not None:
        return _known(dialect, inner)
    return _Known(name, native, spellings, steer)
