"""Tools on the wire, both ways: functions, freeform tools, tools a provider defines, and the older `functions`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from dragoman.apis.base.api import Problem, Tools, definitions_problems, foreign_tools, joined_name, once, written_tools
from dragoman.apis.base.conversation_order import Remark
from dragoman.apis.lowering import OPENAI, OPENAI_STRICT, LoweredTool, lower_tools
from dragoman.model.json_values import as_name, as_object
from dragoman.model.request import (
    Definition,
    Features,
    FreeformDefinition,
    FunctionDefinition,
    Limits,
    ProviderDefinition,
)

from .values import beside, of_this_api, write_json

BESIDE = {"plugins": list, "web_search_options": dict}
"""Tools that are no member of `tools` but a key of the body: a list of several, or one object."""

_OTHERS = ("anthropic", "google")
"""Vendors whose tools travel on protocols of their own; all others may have tools here."""


def write_tools(definitions: tuple[Definition, ...], features: Features, limits: Limits) -> Tools:
    """A toolset as `tools`, its schemas lowered."""
    report: list[Remark] = []
    given = [_sayable(definition, features, report) for definition in definitions]
    lowered, lowering = lower_tools(given, OPENAI, OPENAI_STRICT, limits)
    wire = [_written(tool, report) for tool in lowered if not _stands_beside(tool.definition)]
    problems = [*definitions_problems([one for one in given if not _stands_beside(one)], limits)]
    problems += foreign_tools(given, lambda vendor: vendor not in _OTHERS)
    problems += _lowering_problems(lowered)
    raw, unwritable = written_tools(wire)
    return Tools(definitions, wire, raw, lowering, tuple(report), (*problems, *unwritable))


def _lowering_problems(lowered: Iterable[LoweredTool]) -> Iterable[Problem]:
    for tool in lowered:
        for problem in tool.problems:
            yield Problem(f"tools.{tool.definition.name}", problem, "change its parameters, or leave `strict` out")


def _stands_beside(definition: Definition) -> bool:
    return isinstance(definition, ProviderDefinition) and definition.wire_type in BESIDE


@once
def written_beside(definitions: tuple[Definition, ...]) -> dict[str, Any]:
    """The tools that are keys of the body."""
    body: dict[str, Any] = {}
    for definition in definitions:
        if isinstance(definition, ProviderDefinition) and definition.wire_type in BESIDE:
            if BESIDE[definition.wire_type] is list:
                body.setdefault(definition.wire_type, []).append(definition.settings)
            else:
                body[definition.wire_type] = definition.settings
    return body


def _sayable(definition: Definition, features: Features, report: list[Remark]) -> Definition:
    """A definition in the terms of this protocol: one name, no deferral, text as an argument where need be."""
    if isinstance(definition, ProviderDefinition):
        return definition
    name = joined_name(definition.namespace, definition.name)
    where = f"tools.{name}"
    if definition.namespace is not None:
        report.append(Remark(where, f"the tool {definition.name!r} of {definition.namespace!r} is offered as {name!r}"))
        definition = msgspec.structs.replace(definition, name=name, namespace=None)
    if definition.deferred:
        report.append(Remark(where, "this API cannot defer a tool: it is offered at once"))
    if isinstance(definition, FreeformDefinition):
        return definition if features.freeform_tools else _as_function(definition, report)
    if definition.output_schema is not None:
        report.append(Remark(where, "this API has no place for what a tool returns: the output schema was left out"))
    if definition.strict is None and not features.strict_tools:
        return msgspec.structs.replace(definition, strict=False)
    return definition


def _as_function(definition: FreeformDefinition, report: list[Remark]) -> FunctionDefinition:
    told = "this model has no freeform tools: it is offered as a function with one text, `input`"
    report.append(Remark(f"tools.{definition.name}", told))
    said = "The whole input, as plain text."
    if definition.grammar is not None:
        said += f" It must match this {definition.syntax} grammar:\n{definition.grammar}"
    parameters = {
        "type": "object",
        "properties": {"input": {"type": "string", "description": said}},
        "required": ["input"],
        "additionalProperties": False,
    }
    return FunctionDefinition(definition.name, definition.description, parameters, strict=False)


def _written(tool: LoweredTool, report: list[Remark]) -> dict[str, Any]:
    definition = tool.definition
    if isinstance(definition, ProviderDefinition):
        return {"type": definition.wire_type, **definition.settings}
    kept = of_this_api(definition.metadata)
    outer = kept.get("tool", {})
    if isinstance(definition, FreeformDefinition):
        return {"type": "custom", "custom": {**_custom(definition), **kept.get("custom", {})}, **outer}
    report += [
        Remark(f"tools.{definition.name}", f"parameters{rewrite.path}: {rewrite.message}") for rewrite in tool.rewrites
    ]
    function: dict[str, Any] = {"name": definition.name}
    description = _described(tool.description, definition)
    if description:
        function["description"] = description
    if tool.schema is not None and "bare" not in kept:
        function["parameters"] = tool.schema
    if tool.strict:
        function["strict"] = True
    return {"type": "function", "function": {**function, **kept.get("function", {})}, **outer}


def _described(description: str, definition: FunctionDefinition) -> str:
    """The description, with the examples that have no field of their own here."""
    if not definition.examples:
        return description
    lines = [description, "", "Examples:"] if description else ["Examples:"]
    for example in definition.examples:
        line = f"- {write_json(example.input)}"
        if example.output is not None:
            line += f" gives {write_json(example.output)}"
        if example.description:
            line += f" ({example.description})"
        lines.append(line)
    return "\n".join(lines)


def _custom(definition: FreeformDefinition) -> dict[str, Any]:
    custom: dict[str, Any] = {"name": definition.name}
    if definition.description:
        custom["description"] = definition.description
    if definition.grammar is not None:
        grammar = {"syntax": definition.syntax or "lark", "definition": definition.grammar}
        custom["format"] = {"type": "grammar", "grammar": grammar}
    return custom


# ── reading ──────────────────────────────────────────────────────────────────


def read_tools(rest: dict[str, Any]) -> tuple[Definition, ...]:
    """The tools of a body, taken out of it; a list we cannot read stays whole."""
    found: list[Definition] = []
    for key, read in (("tools", _read_tool), ("functions", _read_legacy)):
        given = rest.get(key)
        if not isinstance(given, list):
            continue
        definitions = [read(tool) for tool in given]
        if all(definition is not None for definition in definitions):
            del rest[key]
            found += [definition for definition in definitions if definition is not None]
    return tuple(found)


def _read_tool(tool: Any) -> Definition | None:
    if not isinstance(tool, dict):
        return None
    kind = tool.get("type", "function")
    if kind == "function":
        return _read_function(tool.get("function"), _others(tool, "type", "function"))
    if kind == "custom":
        return _read_custom(tool.get("custom"), _others(tool, "type", "custom"))
    if not isinstance(kind, str) or not kind:
        return None
    id = kind.replace(":", ".", 1) if ":" in kind else f"openai.{kind}"
    return ProviderDefinition(id, kind, settings=_others(tool, "type"))


def _read_legacy(function: Any) -> Definition | None:
    definition = _read_function(function, {})
    if definition is None:
        return None
    return msgspec.structs.replace(definition, metadata=beside({**of_this_api(definition.metadata), "legacy": True}))


@once
def freeform_names(definitions: tuple[Definition, ...]) -> frozenset[str]:
    """The names of tools whose input is text, as they stand on the wire."""
    return frozenset(joined_name(one.namespace, one.name) for one in definitions if isinstance(one, FreeformDefinition))


@once
def is_legacy(definitions: tuple[Definition, ...]) -> bool:
    """Whether a toolset was, and so is, said in the words from before there were tools."""
    return bool(definitions) and all(
        isinstance(definition, FunctionDefinition) and of_this_api(definition.metadata).get("legacy") is True
        for definition in definitions
    )


def _read_function(function: Any, outer: dict[str, Any]) -> FunctionDefinition | None:
    if not isinstance(function, dict) or as_name(function.get("name")) is None:
        return None
    parameters, description = function.get("parameters"), function.get("description")
    strict = function.get("strict")
    kept: dict[str, Any] = {"tool": outer} if outer else {}
    inner = _others(function, "name")
    if isinstance(description, str):
        del inner["description"]
    if isinstance(parameters, dict) and parameters:
        del inner["parameters"]
    else:
        kept["bare"] = True
        parameters = {}
    if isinstance(strict, bool):
        del inner["strict"]
    if inner:
        kept["function"] = inner
    # What a recorded tool does not say is not strict, which is what the API took it for.
    return FunctionDefinition(
        function["name"],
        description if isinstance(description, str) else "",
        parameters,
        strict=strict is True,
        metadata=beside(kept),
    )


def _read_custom(custom: Any, outer: dict[str, Any]) -> FreeformDefinition | None:
    if not isinstance(custom, dict) or as_name(custom.get("name")) is None:
        return None
    kept: dict[str, Any] = {"tool": outer} if outer else {}
    inner = _others(custom, "name", "description", "format")
    description, form = custom.get("description"), custom.get("format")
    if description is not None and not isinstance(description, str):
        inner["description"] = description
    grammar = as_object(as_object(form).get("grammar"))
    syntax, definition = grammar.get("syntax"), as_name(grammar.get("definition"))
    if syntax not in ("lark", "regex") or definition is None:
        syntax = definition = None
        if form is not None:
            inner["format"] = form
    if inner:
        kept["custom"] = inner
    said = description if isinstance(description, str) else ""
    return FreeformDefinition(custom["name"], said, syntax, definition, metadata=beside(kept))


def _others(given: dict[str, Any], *known: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key not in known}
