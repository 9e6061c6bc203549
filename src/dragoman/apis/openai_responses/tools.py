"""Tools and the choice among them, on the wire and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from dragoman.apis.base.api import Problem, Tools, chosen_by, definitions_problems, foreign_tools, written_tools
from dragoman.apis.base.conversation_order import Remark
from dragoman.apis.lowering import OPENAI, OPENAI_STRICT, LoweredTool, lower_tools
from dragoman.model import request as req
from dragoman.model.json_values import as_list, as_name, as_object, as_text

from .fields import mine, own, without
from .items import compact

FREEFORM_FIELD = "input"
"""The one parameter of a freeform tool that is offered as a function."""

# ── writing ──────────────────────────────────────────────────────────────────


def write_tools(definitions: tuple[req.Definition, ...], limits: req.Limits, features: req.Features) -> Tools:
    """A toolset on the wire; the members of a namespace stand together where the first of them stands."""
    problems = list(definitions_problems(definitions, limits))
    report: list[Remark] = []
    offered = [_offered(one, features, report) for one in definitions]
    lowered, lowering = lower_tools(offered, OPENAI, OPENAI_STRICT if features.strict_tools else None, limits)
    wire: list[Any] = []
    namespaces: dict[str, dict[str, Any]] = {}
    for original, tool in zip(definitions, lowered, strict=True):
        definition = tool.definition
        where = f"tools.{definition.name or getattr(definition, 'id', '')}"
        problems += [Problem(where, problem, "change the tool's schema") for problem in tool.problems]
        report += [Remark(f"{where}{one.path}", one.message) for one in tool.rewrites]
        written = _written(tool, features, report, where)
        namespace = None if isinstance(definition, req.ProviderDefinition) else definition.namespace
        if namespace is None:
            wire.append(written)
            continue
        group = namespaces.get(namespace)
        if group is None:
            described = {
                "description": f"The tools of {namespace}.",
                **_of_namespace(original),
            }
            group = namespaces[namespace] = {"type": "namespace", "name": namespace, **described, "tools": []}
            wire.append(group)
        group["tools"].append(written)
    problems += foreign_tools(definitions, lambda vendor: vendor not in _OTHERS)
    raw, unwritable = written_tools(wire)
    return Tools(definitions, wire, raw, lowering, tuple(report), (*problems, *unwritable))


def _of_namespace(definition: req.Definition) -> dict[str, Any]:
    """What was said of a definition's namespace."""
    return (
        {} if isinstance(definition, req.ProviderDefinition) else as_object(mine(definition.metadata).get("namespace"))
    )


def _offered(definition: req.Definition, features: req.Features, report: list[Remark]) -> req.Definition:
    """A freeform tool as a function with one text, where the model takes no freeform tools."""
    if isinstance(definition, req.FunctionDefinition):
        if definition.strict is None and "strict" in mine(definition.metadata):
            return msgspec.structs.replace(definition, strict=False)  # it was read without `strict`: nothing is changed
        return definition
    if not isinstance(definition, req.FreeformDefinition) or features.freeform_tools:
        return definition
    where = f"tools.{definition.name}"
    report.append(Remark(where, f"a freeform tool is offered as a function with the parameter {FREEFORM_FIELD!r}"))
    grammar = f"\n\nIt follows this {definition.syntax} grammar:\n{definition.grammar}" if definition.grammar else ""
    return req.FunctionDefinition(
        definition.name,
        definition.description + grammar,
        {"type": "object", "properties": {FREEFORM_FIELD: {"type": "string"}}, "required": [FREEFORM_FIELD]},
        namespace=definition.namespace,
        deferred=definition.deferred,
    )


def _written(tool: LoweredTool, features: req.Features, report: list[Remark], where: str) -> dict[str, Any]:
    definition = tool.definition
    if isinstance(definition, req.ProviderDefinition):
        return {"type": definition.wire_type, **definition.settings}
    wire: dict[str, Any]
    if isinstance(definition, req.FreeformDefinition):
        wire = {"type": "custom", "name": definition.name}
        if definition.grammar is not None:
            wire["format"] = {
                "type": "grammar",
                "syntax": definition.syntax or "lark",
                "definition": definition.grammar,
            }
    else:
        wire = {"type": "function", "name": definition.name, "parameters": tool.schema, "strict": tool.strict}
        if definition.output_schema is not None:
            wire["output_schema"] = definition.output_schema
    examples = definition.examples if isinstance(definition, req.FunctionDefinition) else ()
    description = with_examples(tool.description, examples)
    if description:
        wire["description"] = description
    if definition.deferred and features.deferred_tools:
        wire["defer_loading"] = True
    elif definition.deferred:
        report.append(Remark(where, "this model does not search for tools: it is offered at once"))
    return {**wire, **without(mine(definition.metadata), "namespace")}


def with_examples(description: str, examples: Sequence[req.ToolExample]) -> str:
    """A description that shows examples, for an API that has no other place for them."""
    if not examples:
        return description
    lines = ["Examples:"]
    for example in examples:
        why = f"{example.description}: " if example.description else ""
        gives = "" if example.output is None else f" → {compact(example.output)}"
        lines.append(f"- {why}{compact(example.input)}{gives}")
    return "\n".join([*([description, ""] if description else []), *lines])


# ── reading ──────────────────────────────────────────────────────────────────


def read_tools(tools: Any) -> tuple[req.Definition, ...] | None:
    """Recorded tools; `None` when they are no list of tools."""
    if not isinstance(tools, list) or not all(isinstance(one, dict) and as_name(one.get("type")) for one in tools):
        return None
    return tuple(definition for one in tools for definition in _read_tool(one))


def _read_tool(tool: dict[str, Any]) -> Iterable[req.Definition]:
    kind = tool["type"]
    members = as_list(tool.get("tools"))
    if kind == "namespace" and members and as_name(tool.get("name")) and all(_is_member(one) for one in members):
        for index, member in enumerate(members):
            beside = {"namespace": without(tool, "type", "name", "tools")} if index == 0 else {}
            yield _read_own(member, tool["name"], beside)
    elif kind in ("function", "custom") and as_name(tool.get("name")) is not None:
        yield _read_own(tool, None, {})
    else:
        yield req.ProviderDefinition(provider_id(kind), kind, settings=without(tool, "type"))


def _is_member(tool: Any) -> bool:
    return (
        isinstance(tool, dict) and tool.get("type") in ("function", "custom") and as_name(tool.get("name")) is not None
    )


def provider_id(wire_type: str) -> str:
    """The stable id of a provider's tool, from its type on the wire (`openrouter:web_search` names its vendor)."""
    vendor, _, name = wire_type.rpartition(":")
    return f"{vendor or _VENDOR_OF.get(wire_type, 'openai')}.{name}"


_VENDOR_OF: Mapping[str, str] = {"x_search": "xai"}
_OTHERS = ("anthropic", "google")
"""Vendors whose tools travel on protocols of their own; all others may have tools here."""


def _read_own(tool: dict[str, Any], namespace: str | None, beside: dict[str, Any]) -> req.Definition:
    rest = without(tool, "type", "name")
    description = as_text(rest.get("description"))
    deferred = rest.get("defer_loading") is True
    for name, typed in (("description", description is not None), ("defer_loading", deferred)):
        if typed:
            del rest[name]
    if tool["type"] == "custom":
        form = as_object(rest.get("format"))
        grammar, syntax = as_text(form.get("definition")), form.get("syntax")
        if form.get("type") == "grammar" and grammar is not None and syntax in ("lark", "regex") and len(form) == 3:
            del rest["format"]
        else:
            grammar = syntax = None
        return req.FreeformDefinition(
            tool["name"], description or "", syntax, grammar, namespace, deferred, own({**rest, **beside})
        )
    parameters, output, strict = rest.get("parameters"), rest.get("output_schema"), rest.get("strict")
    if isinstance(parameters, dict):
        del rest["parameters"]
    if isinstance(output, dict):
        del rest["output_schema"]
    if isinstance(strict, bool):
        del rest["strict"]
    else:
        rest.setdefault("strict", None)  # what was not said is not decided for it
    return req.FunctionDefinition(
        tool["name"],
        description or "",
        as_object(parameters),
        namespace=namespace,
        strict=strict if isinstance(strict, bool) else None,
        output_schema=output if isinstance(output, dict) else None,
        deferred=deferred,
        metadata=own({**rest, **beside}),
    )


# ── the choice ───────────────────────────────────────────────────────────────

_CHOSEN_BY_TYPE = (
    *("file_search", "web_search_preview", "web_search_preview_2025_03_11", "computer", "computer_use_preview"),
    *("image_generation", "code_interpreter", "apply_patch", "shell", "programmatic_tool_calling"),
)
"""Hosted tools a choice can name by their type; any other is the only one of the tools that are allowed."""


def write_choice(choice: req.ToolChoice, definitions: Sequence[req.Definition]) -> Any:
    """`tool_choice`; `None` where nothing needs to be said."""
    match choice.mode:
        case "auto":
            return None
        case "none" | "required":
            return choice.mode
        case "one":
            (chosen,) = _chosen(choice.names, definitions)
            if chosen["type"] in ("function", "custom", "mcp", *_CHOSEN_BY_TYPE):
                return chosen
            return {"type": "allowed_tools", "mode": "required", "tools": [chosen]}
    mode = "required" if choice.required else "auto"
    return {"type": "allowed_tools", "mode": mode, "tools": _chosen(choice.names, definitions)}


def _chosen(names: Sequence[str], definitions: Sequence[req.Definition]) -> list[dict[str, Any]]:
    by_name = {name: definition for definition in reversed(definitions) for name in chosen_by(definition)}
    return [_reference(by_name[name]) for name in names]


def _reference(definition: req.Definition) -> dict[str, Any]:
    if isinstance(definition, req.ProviderDefinition):
        label = definition.settings.get("server_label")
        beside = {"server_label": label} if definition.wire_type == "mcp" and label is not None else {}
        return {"type": definition.wire_type, **beside}
    kind = "custom" if isinstance(definition, req.FreeformDefinition) else "function"
    return {"type": kind, "name": definition.name}


def read_choice(said: Any, definitions: Sequence[req.Definition]) -> req.ToolChoice | None:
    """A recorded choice; `None` for one that can only go back as it came."""
    if said in ("auto", "none", "required"):
        return req.ToolChoice(said)
    if not isinstance(said, dict):
        return None
    tools = as_list(said.get("tools"))
    names = [_name_of(one, definitions) for one in (tools if said.get("type") == "allowed_tools" else [said])]
    known = tuple(name for name in names if name is not None)
    if not known or len(known) != len(names):
        return None
    if said.get("type") == "allowed_tools":
        choice = req.ToolChoice("subset", known, required=said.get("mode") == "required")
    else:
        choice = req.ToolChoice("one", known)
    return choice if write_choice(choice, definitions) == said else None


def _name_of(reference: Any, definitions: Sequence[req.Definition]) -> str | None:
    return next((chosen_by(one)[0] for one in definitions if _reference(one) == reference), None)
