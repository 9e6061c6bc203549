"""Settings on the wire: limits, choice, thinking by family, an answer's schema, and the headers a body needs."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.apis.base.api import chosen_by, joined_name, once
from dragoman.apis.lowering import ANTHROPIC_STRICT, Lowered, lower
from dragoman.model.request import ProviderDefinition, Request, Thinking, ToolChoice

from . import families
from .blocks import inside

# All traffic recorded until August 2026 is of this version. 2026-10-21 only refuses more: sampling parameters, and
# documents in the model's turns and citations in the user's, which are never written.
VERSION = "2023-06-01"


def max_tokens(request: Request, family: families.Family) -> int:
    """The limit the API demands."""
    return family.max_output_tokens if request.max_output_tokens is None else request.max_output_tokens


def lower_response(schema: dict[str, Any]) -> Lowered:
    """A schema for the answer, which may be anything where that of a tool's arguments is always an object."""
    if schema.get("type", "object") == "object":
        return lower(schema, ANTHROPIC_STRICT)
    shared = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    inner = {key: value for key, value in schema.items() if key not in shared}
    held = {"type": "object", "properties": {"answer": inner}, "required": ["answer"], "additionalProperties": False}
    lowered = lower({**held, **shared}, ANTHROPIC_STRICT)
    outer = lowered.schema
    kept = {key: outer[key] for key in ("$defs", "definitions") if key in outer}
    answer = outer.get("properties", {}).get("answer", inner)
    return msgspec.structs.replace(lowered, schema={**answer, **kept})


def write_choice(request: Request) -> dict[str, Any] | None:
    """`tool_choice`, where it says more than the default does."""
    choice = request.choice
    written: dict[str, Any] = {"type": {"required": "any", "one": "tool"}.get(choice.mode, choice.mode)}
    if choice.mode == "one":
        written["name"] = wire_name(choice.names[0], request)
    if request.parallel is False and choice.mode != "none":
        written["disable_parallel_tool_use"] = True
    return None if written == {"type": "auto"} else written


def wire_name(chosen: str, request: Request) -> str | None:
    """The name on the wire of a tool that is chosen by name or id; `None` where it has none."""
    for definition in request.definitions:
        if chosen in chosen_by(definition):
            if isinstance(definition, ProviderDefinition):
                return definition.name
            return joined_name(definition.namespace, definition.name)
    return chosen


def read_choice(raw: Any) -> ToolChoice | None:
    """The inverse; `None` for what we have no word for."""
    if not isinstance(raw, dict) or not raw.keys() <= {"type", "name", "disable_parallel_tool_use"}:
        return None
    kind, name = raw.get("type"), raw.get("name")
    if kind == "tool":
        return ToolChoice("one", (name,)) if isinstance(name, str) else None
    if "name" in raw:
        return None
    if kind == "any":
        return ToolChoice("required")
    return ToolChoice(kind) if kind in ("auto", "none") else None


def write_thinking_setting(request: Request, family: families.Family) -> tuple[dict[str, Any], str | None]:
    """What is sent for the thinking asked for, and what is to be said about it."""
    asked = request.thinking
    if asked is None:
        return {}, None
    if asked.level == "off":
        if family.thinks == "always":
            return {}, "this model always thinks: it cannot be switched off"
        return {"thinking": {"type": "disabled"}}, None
    if family.thinks == "budget" or (family.thinks == "both" and asked.tokens is not None):
        budget, remark = _budget(asked, max_tokens(request, family))
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}, remark
    level, remark = asked.level, None
    if asked.tokens is not None:
        level = next((name for name in ("low", "medium") if asked.tokens <= families.BUDGETS[name]), "high")
        remark = f"this model takes no number of tokens: it thinks with {level} effort"
    adaptive = {} if family.thinks == "always" else {"thinking": {"type": "adaptive"}}
    return {**adaptive, "output_config": {"effort": level}}, remark


def _budget(asked: Thinking, most: int) -> tuple[int, str | None]:
    if asked.tokens is not None:
        if asked.tokens >= families.LEAST_BUDGET:
            return asked.tokens, None
        return families.LEAST_BUDGET, f"the least this model thinks with is {families.LEAST_BUDGET} tokens"
    budget = families.BUDGETS[asked.level or "low"]
    if budget < most:
        return budget, None
    return max(families.LEAST_BUDGET, most // 2), "the budget was lowered to stay below max_output_tokens"


def headers(body: dict[str, Any]) -> dict[str, str]:
    """What the protocol wants beside a key. On Bedrock and Vertex the version stands in the
    body (anthropic 2.10.0)."""
    betas = sorted(_betas(body))
    headers = {} if "anthropic_version" in body else {"anthropic-version": VERSION}
    return {**headers, "anthropic-beta": ",".join(betas)} if betas else headers


@once
def _types_of(tools: list[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(one for tool in tools if isinstance(one := inside(tool, "type"), str)))


def _betas(body: dict[str, Any]) -> set[str]:
    betas = {beta for option, beta in families.OPTION_BETAS.items() if body.get(option) is not None}
    tools = body.get("tools")
    types = _types_of(tools) if isinstance(tools, list) else ()
    betas |= {beta for one in types if isinstance(one, str) and (beta := families.beta_of(one)) is not None}
    if body.get("mcp_servers") and "mcp_toolset" not in types:
        betas.add(families.MCP_BETA)
    management = body.get("context_management")
    edits = management.get("edits") if isinstance(management, dict) else None
    if isinstance(edits, list) and any(str(inside(edit, "type")).startswith("compact_") for edit in edits):
        betas.add(families.COMPACT_BETA)
    if inside(body.get("output_config"), "task_budget") is not None:
        betas.add(families.TASK_BUDGET_BETA)
    if inside(body.get("container"), "skills") is not None:
        betas.add(families.SKILLS_BETA)
    return betas | _content_betas(body.get("messages"))


def _content_betas(messages: Any) -> set[str]:
    betas: set[str] = set()
    for message in messages if isinstance(messages, list) else ():
        content = inside(message, "content")
        for block in content if isinstance(content, list) else ():
            if inside(block, "type") == "container_upload" or inside(inside(block, "source"), "type") == "file":
                betas.add(families.FILES_BETA)
            elif inside(block, "type") in ("tool_addition", "tool_removal"):
                betas.add(families.TOOL_CHANGES_BETA)
    return betas
