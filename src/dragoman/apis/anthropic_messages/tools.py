"""Tools on the wire: schemas lowered, strict where nothing is lost, in the terms this API has."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.apis.base.api import Problem, Tools, definitions_problems, foreign_tools, joined_name, written_tools
from dragoman.apis.base.conversation_order import Remark
from dragoman.apis.lowering import ANTHROPIC, ANTHROPIC_STRICT, LoweredTool, lower_tools
from dragoman.model.request import Definition, Features, FreeformDefinition, FunctionDefinition, Limits

from .blocks import own


def write_tools(definitions: tuple[Definition, ...], limits: Limits, features: Features) -> Tools:
    """A toolset, its remarks and its problems."""
    remarks: list[Remark] = []
    offered = [_offered(definition, remarks) for definition in definitions]
    tools, lowering = lower_tools(offered, ANTHROPIC, ANTHROPIC_STRICT if features.strict_tools else None, limits)
    problems = [*definitions_problems(offered, limits), *foreign_tools(offered, lambda vendor: vendor == "anthropic")]
    for tool in tools:
        where = f"tools.{tool.definition.name}"
        remarks += [Remark(f"{where}{rewrite.path}", rewrite.message) for rewrite in tool.rewrites]
        problems += [Problem(where, problem, "change the tool's schema") for problem in tool.problems]
        examples = tool.definition.examples if isinstance(tool.definition, FunctionDefinition) else ()
        if any(example.output is not None or example.description for example in examples):
            remarks.append(Remark(where, "of its examples only the inputs travel"))
    if not features.tool_examples:
        tools = [_with_examples(tool, remarks) for tool in tools]
    wire = [_wire(tool) for tool in tools]
    raw, unwritable = written_tools(wire)
    return Tools(definitions, wire, raw, lowering, tuple(remarks), (*problems, *unwritable))


def _offered(definition: Definition, remarks: list[Remark]) -> Definition:
    """A definition in the terms this API has: no namespaces, no freeform input."""
    if not isinstance(definition, FunctionDefinition | FreeformDefinition):
        return definition
    name = joined_name(definition.namespace, definition.name)
    if name != definition.name:
        remarks.append(
            Remark(f"tools.{name}", f"this API has no namespaces: {definition.name!r} is offered as {name!r}")
        )
    if isinstance(definition, FunctionDefinition):
        callers = own(definition.metadata).get("allowed_callers")
        loose = definition.strict is None and callers not in (None, ["direct"])  # called from code, it cannot be strict
        if name == definition.name and not loose:
            return definition
        strict = False if loose else definition.strict
        return msgspec.structs.replace(definition, name=name, namespace=None, strict=strict)
    remarks.append(Remark(f"tools.{name}", "this API has no freeform tools: it is offered with one argument, `input`"))
    grammar = (
        f"\n\nThe input follows this {definition.syntax or ''} grammar:\n{definition.grammar}"
        if definition.grammar
        else ""
    )
    return FunctionDefinition(
        name,
        definition.description + grammar,
        {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]},
        strict=False,
        deferred=definition.deferred,
        metadata=definition.metadata,
    )


def is_deferred(definition: Definition) -> bool:
    """Whether a tool is found by search before it can be called."""
    if isinstance(definition, FunctionDefinition | FreeformDefinition):
        return definition.deferred
    return definition.settings.get("defer_loading") is True


def _with_examples(tool: LoweredTool, remarks: list[Remark]) -> LoweredTool:
    """A tool with its examples in its description, for models that have no field for them."""
    definition = tool.definition
    if not isinstance(definition, FunctionDefinition) or not definition.examples:
        return tool
    remarks.append(
        Remark(f"tools.{definition.name}", "this model has no place for examples: they are in the description")
    )
    shown = "\n".join(msgspec.json.encode(example.input).decode() for example in definition.examples)
    return msgspec.structs.replace(
        tool,
        definition=msgspec.structs.replace(definition, examples=()),
        description=f"{tool.description}\n\nExamples of its input:\n{shown}".lstrip(),
    )


def _wire(tool: LoweredTool) -> dict[str, Any]:
    definition = tool.definition
    if not isinstance(definition, FunctionDefinition | FreeformDefinition):
        name = {} if definition.name is None else {"name": definition.name}
        return {"type": definition.wire_type, **name, **definition.settings}
    written: dict[str, Any] = {"name": definition.name}
    if tool.description:
        written["description"] = tool.description
    written["input_schema"] = tool.schema if tool.schema is not None else {"type": "object", "properties": {}}
    if tool.strict:
        written["strict"] = True
    if definition.deferred:
        written["defer_loading"] = True
    if isinstance(definition, FunctionDefinition) and definition.examples:
        written["input_examples"] = [example.input for example in definition.examples]
    return {**written, **own(definition.metadata)}
