"""What the GenAI conventions ask of a span, by their own model files.

`genai_spans.json` is made from the conventions' `model/gen-ai/spans.yaml` and `registry.yaml`: for each span its kind,
its operations and the requirement level of each attribute, with types and known values. For another version:

    python -m tests.genai_conventions VERSION FOLDER    FOLDER holds both files of that version
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("genai_spans.json")
_KNOWN: dict[str, Any] = json.loads(TABLE.read_text())
VERSION: str = _KNOWN["version"]
TYPES: dict[str, Any] = _KNOWN["types"]
"""Attribute → its type, or the values it is known to have."""
SPANS: dict[str, dict[str, Any]] = _KNOWN["spans"]
NAMES = set(TYPES)
OPERATIONS = set(TYPES["gen_ai.operation.name"])
PROVIDERS = set(TYPES["gen_ai.provider.name"])

OPERATION, CONVERSATION = "gen_ai.operation.name", "gen_ai.conversation.id"
_PYTHON: dict[str, type | tuple[type, ...]] = {"string": str, "int": int, "double": (int, float), "boolean": bool}


def spans_of(operation: object, kind: str) -> list[str]:
    """The conventions' spans of an operation."""
    return [name for name, span in SPANS.items() if operation in span["operations"] and span["kind"] == kind]


def missing(
    attributes: Mapping[str, Any],
    kind: str,
    *,
    failed: bool = False,
    available: Sequence[str] = (),
) -> list[str]:
    """What a span lacks, and what it says that the conventions do not.

    `available` are attributes that are conditionally required and whose condition holds.
    """
    operation = attributes.get(OPERATION)
    found = spans_of(operation, kind)
    if len(found) != 1:
        return [f"no {kind} span of {operation!r} is in the conventions"]
    levels: dict[str, str] = SPANS[found[0]]["attributes"]
    wanted = [name for name, level in levels.items() if level == "required"]
    wanted += [name for name, level in levels.items() if level == "conditionally_required" and name in available]
    wanted += ["error.type"] if failed else []
    problems = [f"{name} is required" for name in wanted if attributes.get(name) in (None, "")]
    if not failed and "error.type" in attributes:
        problems.append("error.type, though it did not fail")
    for name, value in attributes.items():
        if not name.startswith(("gen_ai.", "error.")):
            continue
        if name not in levels and name != CONVERSATION:  # which may be on any span, as the model's note on it says
            problems.append(f"{name} is not an attribute of {found[0]}")
        elif not _fits(TYPES.get(name), value):
            problems.append(f"{name} is not of type {TYPES[name]}: {value!r}")
    return problems


def missing_in_otlp(span: Mapping[str, Any], available: Sequence[str] = ()) -> list[str]:
    """The same of a span in OTLP's JSON."""
    attributes = {one["key"]: _value(one["value"]) for one in span["attributes"]}
    failed = span.get("status", {}).get("code") == 2
    return missing(attributes, {1: "internal", 3: "client"}[span["kind"]], failed=failed, available=available)


def _value(value: Mapping[str, Any]) -> Any:
    ((kind, given),) = value.items()
    if kind == "arrayValue":
        return [_value(one) for one in given["values"]]
    return int(given) if kind == "intValue" else given


def missing_in(span: Any, available: Sequence[str] = ()) -> list[str]:
    """The same of a span of OpenTelemetry's library."""
    failed = not span.status.is_ok and span.status.status_code.name == "ERROR"
    return missing(dict(span.attributes or {}), span.kind.name.lower(), failed=failed, available=available)


def _fits(type_: Any, value: Any) -> bool:
    if isinstance(type_, list):  # a known value, or one of one's own
        return isinstance(value, str)
    if type_ in _PYTHON:
        return isinstance(value, _PYTHON[type_]) and not (type_ == "int" and isinstance(value, bool))
    if type_ == "string[]":
        return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
    return True  # any: structured content, which is JSON where attributes cannot hold it


# ── from the model files ─────────────────────────────────────────────────────


def made_from(version: str, folder: Path) -> dict[str, Any]:
    """The table of a version's model files."""
    import yaml

    files = {name: (folder / name).read_bytes() for name in ("spans.yaml", "registry.yaml")}
    groups = {group["id"]: group for name in files for group in yaml.safe_load(files[name])["groups"]}
    types = dict(sorted(_types(groups)))
    spans = {name: group for name, group in groups.items() if name.startswith("span.gen_ai.")}
    named = {name: name.split(".")[2] for name in spans}
    # The span of a question is named after none of its operations; it has those that no other span is named after.
    known = types["gen_ai.operation.name"]
    rest = sorted(set(known) - set(named.values()))
    table = {
        name: {
            "kind": group["span_kind"],
            "operations": [named[name]] if named[name] in known else rest,
            "attributes": dict(sorted(_levels(group, groups).items())),
        }
        for name, group in sorted(spans.items())
    }
    made = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    return {"version": version, "made_from": made, "types": types, "spans": table}


def _types(groups: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for group in groups.values():
        for attribute in group.get("attributes", ()):
            if "id" in attribute:
                type_ = attribute["type"]
                yield (
                    attribute["id"],
                    type_ if isinstance(type_, str) else list(dict.fromkeys(one["value"] for one in type_["members"])),
                )
    yield "error.type", "string"  # of the general conventions, where spans.yaml takes it from


def _levels(group: Mapping[str, Any], groups: Mapping[str, Any]) -> dict[str, str]:
    levels = dict(_levels(groups[group["extends"]], groups)) if "extends" in group else {}
    for attribute in group.get("attributes", ()):
        level = attribute.get("requirement_level")
        if level is not None or attribute["ref"] not in levels:
            levels[attribute["ref"]] = level if isinstance(level, str) else next(iter(level or ("recommended",)))
    return levels


def _written(table: Mapping[str, Any]) -> str:
    parts = [f'"version": {json.dumps(table["version"])}', f'"made_from": {json.dumps(table["made_from"])}']
    types = ",\n".join(f"  {json.dumps(name)}: {json.dumps(type_)}" for name, type_ in table["types"].items())
    spans = ",\n".join(f"  {json.dumps(name)}: {json.dumps(span)}" for name, span in table["spans"].items())
    return "{\n" + ",\n".join([*parts, f'"types": {{\n{types}\n}}', f'"spans": {{\n{spans}\n}}']) + "\n}\n"


if __name__ == "__main__":
    TABLE.write_text(_written(made_from(sys.argv[1], Path(sys.argv[2]))))
