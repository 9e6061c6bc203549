"""What was captured of a client, read in one way for every dialect: its tool definitions, scripts and logs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from dragoman.dialects import Dialect
from dragoman.dialects.base.availability import offered_schema
from dragoman.model import NativeCall, operations as op

AnySpelling = Any


class Captured(msgspec.Struct):
    """One tool as one client sent it."""

    kind: str
    name: str | None = None
    schema: dict[str, Any] | None = None
    native: dict[str, Any] | None = None
    namespace: str | None = None
    format: dict[str, Any] | None = None

    @property
    def qualified(self) -> str:
        return f"{self.namespace}.{self.name}" if self.namespace else str(self.name)


class ToolSet(msgspec.Struct):
    """The tools of one request: of which version, to which models, in whose conversation."""

    version: str
    models: list[str]
    roles: list[str]
    tools: list[Captured]
    deferred_tool_names: list[str] = []

    @property
    def names(self) -> set[str]:
        """What the model could call: also what was held back until it is searched for."""
        return {tool.qualified for tool in self.tools if tool.kind != "native"} | set(self.deferred_tool_names)


class Capture(msgspec.Struct):
    """All tool sets of a client."""

    tool_sets: list[ToolSet]
    tool_to_versions: dict[str, list[str]]

    @property
    def versions(self) -> list[str]:
        found = {tool_set.version for tool_set in self.tool_sets}
        return sorted(found, key=lambda version: [int(number) for number in version.split(".")])

    def families(self, version: str) -> list[str]:
        """The models that had a conversation of their own with this version."""
        sets = (one for one in self.tool_sets if one.version == version and "main" in one.roles)
        return sorted({model for one in sets for model in one.models})

    def main_sets(self, version: str, family: str) -> list[ToolSet]:
        sets = (one for one in self.tool_sets if one.version == version and family in one.models)
        return [one for one in sets if "main" in one.roles]


@cache
def all_captured(shared: Path, client: str) -> Capture:
    """The same with the versions that were captured later."""
    return msgspec.json.decode((shared / "vocab-2" / f"{client}.json").read_bytes(), type=Capture)


@cache
def capture_of(shared: Path, client: str) -> Capture:
    return msgspec.json.decode((shared / "vocab" / f"{client}.json").read_bytes(), type=Capture)


# ── known ────────────────────────────────────────────────────────────────────


def spellings_of(dialect: Dialect, name: str) -> list[AnySpelling]:
    """The spellings that read calls of this name, with its namespace."""
    return [
        spelling
        for spelling in dialect.spellings
        for called in (spelling.native_name, *spelling.formerly)
        if name == (called if spelling.namespace is None else f"{spelling.namespace}.{called}")
    ]


def steered(dialect: Dialect) -> dict[str, tuple[str, ...]]:
    """The known parameters of each tool without shared meaning."""
    return {
        (name if steer.namespace is None else f"{steer.namespace}.{name}"): steer.parameters
        for steer in dialect.steering
        for name in (steer.name, *steer.formerly)
    }


def not_known(dialect: Dialect, capture: Capture) -> set[str]:
    """Tools, and `tool.parameter`, of any version that the dialect has never heard of."""
    provided = {spelling.wire_type for spelling in dialect.spellings}
    provided |= (
        set()
        if dialect.provider_dialect is None
        else {row.wire_type for row in dialect.provider_dialect.provider_tools}
    )
    strange: set[str] = set()
    for tool_set in capture.tool_sets:
        for tool in tool_set.tools:
            if tool.kind == "native":
                wire = tool.native["type"] if "type" in (tool.native or {}) else next(iter(tool.native or {}))
                if wire not in provided:
                    strange.add(str(wire))
                continue
            spellings = spellings_of(dialect, tool.qualified)
            steering = steered(dialect).get(tool.qualified)
            if not spellings and steering is None:
                strange.add(tool.qualified)
            known = {field for spelling in spellings for field in spelling.__struct_encode_fields__}
            known.update(steering or ())
            strange |= {f"{tool.qualified}.{name}" for name in _properties(tool.schema or {}) if name not in known}
    return strange


def read_as_unknown(dialect: Dialect, capture: Capture) -> set[str]:
    """Tools of the client that are read as somebody's function, or not at all."""
    names = {(tool.namespace, tool.name) for one in capture.tool_sets for tool in one.tools if tool.kind == "function"}
    return {
        str(name)
        for namespace, name in names
        for operation in dialect.read_call(NativeCall("1", str(name), {}, namespace=namespace)).operations
        if isinstance(operation, op.CallFunction | op.Unrecognised)
    }


# ── offered ──────────────────────────────────────────────────────────────────


def offered_names(dialect: Dialect, *, requested: bool) -> set[str]:
    """The functions this version offers: by itself, or only when asked for."""
    offered = [spelling for spelling in dialect.spellings if dialect.offers(spelling) and spelling.read_only is None]
    return {
        spelling.native_name if spelling.namespace is None else f"{spelling.namespace}.{spelling.native_name}"
        for spelling in offered
        if dialect.on_request(spelling) == requested and spelling.wire_type is None and spelling.provider_id is None
    }


def offered_wrongly(dialect: Dialect, capture: Capture, version: str, family: str) -> list[str]:
    """What `at(version, family)` offers by itself that no conversation had, and what one had that it does not offer."""
    narrowed = dialect.at(version, family)
    usual, requested = offered_names(narrowed, requested=False), offered_names(narrowed, requested=True)
    left_out = requested | (set(steered(dialect)) - usual)
    sets = [one.names - left_out for one in capture.main_sets(version, family)]
    problems = [f"{version} {family} never had {sorted(usual - names)}" for names in sets[:1] if usual not in sets]
    everything = set().union(*sets)
    return problems + [f"{version} {family} had {name}" for name in sorted(everything - usual)]


def schema_differences(dialect: Dialect, capture: Capture, version: str) -> dict[str, list[str]]:
    """Per function of this version: where its offered schema differs from every captured one of that name."""
    found: dict[str, list[list[str]]] = {}
    for tool_set in (one for one in capture.tool_sets if one.version == version):
        narrowed = dialect.at(version, tool_set.models[0])
        for tool in tool_set.tools:
            offered = [one for one in spellings_of(narrowed, tool.qualified) if narrowed.offers(one)]
            offered = [one for one in offered if one.read_only is None and one.native_name == tool.name]
            if tool.schema is None or not offered:
                continue
            differences = _undeclared(offered[0], tool.schema, version)
            found.setdefault(tool.qualified, []).append(differences)
    return {name: variants[0] for name, variants in found.items() if all(variants)}


def _undeclared(spelling: AnySpelling, captured: dict[str, Any], version: str) -> list[str]:
    """Differences that are not parameters declared as native only, or names inside one that are."""
    declared: set[str] = set()
    for field, wire in zip(spelling.__struct_fields__, spelling.__struct_encode_fields__, strict=True):
        parameter = spelling.parameters[field]
        if parameter.reason is not None:
            declared.add(wire)
        declared |= {f"{wire}.{name}" for name in parameter.without}
    differences = differing(offered_schema(spelling, version), captured)
    return [f"{path} {what}" for path, what in differences if not (what == "is not offered" and path in declared)]


def differing(offered: dict[str, Any], captured: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Where two schemas differ in names, types, required names and enums."""
    ours, theirs = _plain(offered), _plain(captured)
    for word in ("type", "enum"):
        if ours.get(word) != theirs.get(word):
            yield path, f"has {word} {ours.get(word)}, not {theirs.get(word)}"
    if isinstance(ours.get("items"), dict) and isinstance(theirs.get("items"), dict):
        yield from differing(ours["items"], theirs["items"], f"{path}[]")
    names, captured_names = _properties(ours), _properties(theirs)
    if not captured_names and not names:
        return
    dot = f"{path}." if path else ""
    yield from ((f"{dot}{name}", "is not offered") for name in captured_names if name not in names)
    yield from ((f"{dot}{name}", "was never there") for name in names if name not in captured_names)
    for name in names.keys() & captured_names.keys():
        if (name in ours.get("required", ())) != (name in theirs.get("required", ())):
            yield f"{dot}{name}", "is required in one only"
        yield from differing(names[name], captured_names[name], f"{dot}{name}")


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schema.get("properties") or {}
    return found


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Gemini's words for types in small letters; a constant, or a choice of enums, as one enum in order."""
    schema = dict(schema)
    choices = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) == 1:  # what may be null may be left out, and is not offered as null
        return _plain({**{word: value for word, value in schema.items() if word != "anyOf"}, **choices[0]})
    if "anyOf" in schema and all("enum" in one or "const" in one for one in schema["anyOf"]):
        parts = [_plain(one) for one in schema.pop("anyOf")]
        schema.update(type=parts[0]["type"], enum=[value for part in parts for value in part["enum"]])
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]
    if "enum" in schema:
        schema["enum"] = sorted(schema["enum"])
    if isinstance(schema.get("type"), str):
        schema["type"] = schema["type"].lower()
    return schema


# ── recorded ─────────────────────────────────────────────────────────────────


def sessions(shared: Path, client: str) -> list[Path]:
    """The folders of recorded sessions, of all versions."""
    return sorted(path.parent for path in (shared / "traces").glob(f"{client}*/*/script.json") if _of(path, client))


def _of(path: Path, client: str) -> bool:
    return path.parts[-3].partition("@")[0] == client


def scripted_calls(session: Path) -> list[NativeCall]:
    """The calls a session's model was made to make: also with arguments that are no JSON, or a text."""
    script = msgspec.json.decode((session / "script.json").read_bytes())
    calls = [call for answer in script["answers"] for call in answer.get("calls") or () if "name" in call]
    return [
        NativeCall(
            str(number),
            call["name"],
            next(call[key] for key in ("args", "input", "rawargs") if key in call),
            namespace=call.get("namespace"),
        )
        for number, call in enumerate(calls)
    ]


def log_files(session: Path, *endings: str) -> Iterator[Path]:
    """The files the client left, in hidden folders too."""
    for folder, _, names in os.walk(session / "home"):
        yield from (Path(folder) / name for name in sorted(names) if name.endswith(endings))


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines():
        yield msgspec.json.decode(line)


def not_typed(dialect: Dialect, calls: Iterable[NativeCall]) -> set[str]:
    """The names of calls that mean nothing to the dialect."""
    return {
        call.name
        for call in calls
        for operation in dialect.read_call(call).operations
        if isinstance(operation, op.Unrecognised | op.CallFunction)
    }
