"""Tools on the wire: all function declarations in one entry, each of the provider's own tools in one of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from dragoman.apis.base.api import Problem, Tools, definitions_problems, foreign_tools, written_tools
from dragoman.apis.base.conversation_order import Remark
from dragoman.apis.lowering import GEMINI_JSON, GEMINI_SCHEMA, lower_tools
from dragoman.model.request import (
    Definition,
    Features,
    FreeformDefinition,
    FunctionDefinition,
    Limits,
    ProviderDefinition,
    ToolExample,
)

from .families import takes_json_schema
from .fields import NAME, camel, camel_name, word_of, write_json

AS_SENT = "declaration"
"""Where a definition that was read keeps its declaration: an accepted schema goes back as it was."""

_INPUT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
_DEEPEST = 100


def wire_name(name: str, namespace: str | None) -> str:
    """A tool's name where there are no namespaces."""
    return name if namespace is None else f"{namespace}__{name}"


class GeminiTools(Tools, frozen=True, kw_only=True):
    """A toolset, and what of it the settings of every request depend on."""

    mixed: bool
    strict: bool


def are_mixed(definitions: Iterable[Definition]) -> bool:
    """Whether functions are offered beside tools the provider runs; those for a screen are called as functions are."""
    hosted = [isinstance(one, ProviderDefinition) for one in definitions if not _is_for_a_screen(one)]
    return any(hosted) and not all(hosted)


def _is_for_a_screen(definition: Definition) -> bool:
    return isinstance(definition, ProviderDefinition) and camel_name(definition.wire_type) == "computerUse"


def write_tools(definitions: tuple[Definition, ...], model: str, limits: Limits, features: Features) -> Tools:
    """A toolset on the wire, made once however many requests offer it."""
    report: list[Remark] = []
    functions = [
        _as_function(one, report) for one in definitions if isinstance(one, FunctionDefinition | FreeformDefinition)
    ]
    problems = [*definitions_problems((*functions, *_hosted(definitions)), limits)]
    problems += foreign_tools(definitions, lambda vendor: vendor == "google")
    declarations, lowering = _declarations(functions, model, limits, report, problems)
    wire: list[Any] = []
    for definition in definitions:
        if isinstance(definition, ProviderDefinition):
            wire.append(_entry(definition))
        elif not any("functionDeclarations" in entry for entry in wire):
            wire.append({"functionDeclarations": declarations})
    raw, unwritable = written_tools(wire)
    problems += unwritable
    mixed = are_mixed(definitions)
    if mixed and not features.mixed_tools:
        message = "this model does not take functions beside the provider's own tools"
        problems.append(Problem("tools", message, "offer one kind, or ask a model from Gemini 3 on"))
    return GeminiTools(
        definitions=definitions,
        wire=wire,
        raw=raw,
        lowering=lowering,
        report=tuple(report),
        problems=tuple(problems),
        mixed=mixed,
        strict=any(function.strict for function in functions),
    )


def _hosted(definitions: Iterable[Definition]) -> list[ProviderDefinition]:
    return [one for one in definitions if isinstance(one, ProviderDefinition)]


def _entry(definition: ProviderDefinition) -> dict[str, Any]:
    """A tool of the provider's; a field that holds a list is its own only setting."""
    key = camel_name(definition.wire_type)
    settings = definition.settings
    return {key: settings[key] if settings.keys() == {key} and isinstance(settings[key], list) else settings}


def _as_function(definition: FunctionDefinition | FreeformDefinition, report: list[Remark]) -> FunctionDefinition:
    """A definition as the one kind there is: a function with a plain name."""
    name = wire_name(definition.name, definition.namespace)
    where = f"tools.{name}"
    if definition.namespace is not None:
        report.append(Remark(where, f"there are no namespaces: {definition.name!r} is offered as {name!r}"))
    if definition.deferred:
        report.append(Remark(where, "tools cannot be deferred: it is offered at once"))
    if isinstance(definition, FunctionDefinition):
        return msgspec.structs.replace(definition, name=name, namespace=None)
    report.append(Remark(where, "there are no freeform tools: its text is the parameter `input` of a function"))
    description = definition.description
    if definition.grammar is not None:
        description += f"\n\n`input` follows this {definition.syntax or 'formal'} grammar:\n{definition.grammar}"
    return FunctionDefinition(name, description, _INPUT, metadata=definition.metadata)


def _declarations(
    functions: list[FunctionDefinition], model: str, limits: Limits, report: list[Remark], problems: list[Problem]
) -> tuple[list[dict[str, Any]], Any]:
    key, rules = ("parametersJsonSchema", GEMINI_JSON) if takes_json_schema(model) else ("parameters", GEMINI_SCHEMA)
    # Calls are held to their schemas by a mode of the whole request, so strict tools are lowered as the others are.
    strict = rules if takes_json_schema(model) else None
    lowered, lowering = lower_tools([one for one in functions if _as_sent(one) is None], rules, strict, limits)
    by_name = {id(one.definition): one for one in lowered}
    declarations: list[dict[str, Any]] = []
    for function in functions:
        written: dict[str, Any] = {"name": function.name}
        one = by_name.get(id(function))
        description = described(function.description if one is None else one.description, function.examples)
        if description:
            written["description"] = description
        if one is None:
            written.update(_as_sent(function) or {})
        else:
            where = f"tools.{function.name}"
            report.extend(Remark(f"{where}{rewrite.path}", rewrite.message) for rewrite in one.rewrites)
            problems.extend(Problem(where, problem, "change the schema") for problem in one.problems)
            if one.schema is not None:
                written[key] = one.schema
        if function.output_schema is not None:
            written.setdefault("responseJsonSchema", function.output_schema)
        written.update({key: value for key, value in function.metadata.get(NAME, {}).items() if key != AS_SENT})
        declarations.append(written)
    return declarations, lowering


def described(description: str, examples: tuple[ToolExample, ...]) -> str:
    """A description with the tool's examples, which have no place of their own here."""
    if not examples:
        return description
    lines = [f"- {write_json(one.input)}" + (f": {one.description}" if one.description else "") for one in examples]
    return "\n".join([description, "", "Good calls:", *lines]).strip()


# ── reading ──────────────────────────────────────────────────────────────────

_TYPE_NUMBERS = ("TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
_SCHEMAS = ("parametersJsonSchema", "parameters")


def read_declaration(declaration: Any) -> FunctionDefinition | None:
    """A recorded declaration; its schema is read as JSON Schema and kept as it was sent."""
    said = {key: value for key, value in camel(declaration).items() if value is not None}
    name, description = said.get("name"), said.get("description", "")
    sent = {key: said[key] for key in _SCHEMAS if key in said}
    if not isinstance(name, str) or not isinstance(description, str) or len(sent) > 1:
        return None
    schema: Any = next(iter(sent.values()), {})
    if not isinstance(schema, dict):
        return None
    output = said.get("responseJsonSchema")
    typed = {"name", "description", *sent}
    if isinstance(output, dict):
        typed.add("responseJsonSchema")
    rest = {key: value for key, value in said.items() if key not in typed}
    return FunctionDefinition(
        name,
        description,
        json_schema(schema),
        output_schema=output if isinstance(output, dict) else None,
        metadata={NAME: {AS_SENT: sent, **rest}},
    )


def _as_sent(function: FunctionDefinition) -> dict[str, Any] | None:
    """The schema a definition was read with, while its parameters are still those."""
    sent = function.metadata.get(NAME, {}).get(AS_SENT)
    if not isinstance(sent, dict):
        return None
    schema: Any = next(iter(sent.values()), {})
    return sent if isinstance(schema, dict) and json_schema(schema) == function.parameters else None


def json_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """`Schema`, the older subset, as JSON Schema: types in small letters, `nullable` as a type."""
    read = _json_schema(schema, _DEEPEST)
    assert isinstance(read, dict)
    return read or {"type": "object", "properties": {}}


def _json_schema(schema: Any, depth: int) -> Any:
    if not isinstance(schema, dict) or depth == 0:
        return schema
    read: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str | int):
            read[key] = (word_of(value, _TYPE_NUMBERS) or "").lower()
        elif key in ("properties", "$defs", "defs") and isinstance(value, dict):
            read[key] = {name: _json_schema(below, depth - 1) for name, below in value.items()}
        elif key in ("items", "additionalProperties"):
            read[key] = _json_schema(value, depth - 1)
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems") and isinstance(value, list):
            read[key] = [_json_schema(below, depth - 1) for below in value]
        else:
            read[key] = value
    if read.get("nullable") is True and isinstance(read.get("type"), str):
        del read["nullable"]
        read["type"] = [read["type"], "null"]
    return read
