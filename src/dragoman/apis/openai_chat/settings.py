"""Settings of a request, both ways: thinking, tool choice, response schema and the plain numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from dragoman.apis.base.api import joined_name
from dragoman.apis.base.conversation_order import Remark
from dragoman.apis.lowering import OPENAI, OPENAI_STRICT, lower
from dragoman.model import request as req
from dragoman.model.json_values import as_name, as_object

from .families import ways

_LEVELS: tuple[Literal["off", "low", "medium", "high"], ...] = ("off", "low", "medium", "high")
_LOW, _MEDIUM = 2048, 8192
"""Up to so many tokens of thinking are little, and up to so many a fair amount."""


# ── thinking ─────────────────────────────────────────────────────────────────


def write_thinking(thinking: req.Thinking, model: str) -> tuple[dict[str, Any], str | None]:
    """What a body says for it, and what of it could not be said as it was given."""
    how = ways(model)
    level, lost = thinking.level, None
    if how.thinking_form is None:
        return {}, None if level == "off" else "this model does not think"
    if level is None:
        assert thinking.tokens is not None
        level = "low" if thinking.tokens <= _LOW else "medium" if thinking.tokens <= _MEDIUM else "high"
        if how.thinking_form not in ("reasoning", "enable"):
            lost = f"{thinking.tokens} tokens of thinking were told as {level!r}: this model takes no number"
    if how.thinking_form == "reasoning":
        if thinking.tokens is not None:
            return {"reasoning": {"max_tokens": thinking.tokens}}, None
        return {"reasoning": {"effort": "none" if level == "off" else level}}, None
    if how.thinking_form == "enable":
        said: dict[str, Any] = {"enable_thinking": level != "off"}
        if thinking.tokens is not None:
            said["thinking_budget"] = thinking.tokens
        elif level != "off":
            lost = f"how much to think ({level}) was left out: this model can only be told to think or not to"
        return said, lost
    if how.thinking_form == "type":
        if level == "off":
            return {"thinking": {"type": "disabled"}}, None
        return {"thinking": {"type": "enabled"}, "reasoning_effort": level}, lost
    if level == "off":
        if how.effort_off is None:
            return {}, "this model cannot be told not to think"
        return {"reasoning_effort": how.effort_off}, None
    return {"reasoning_effort": level}, lost


def read_thinking(rest: dict[str, Any], model: str) -> req.Thinking | None:
    """The setting whose words stand in a body, taken out of it."""
    candidates = [req.Thinking(level=level) for level in _LEVELS]
    tokens = as_object(rest.get("reasoning")).get("max_tokens", rest.get("thinking_budget"))
    if type(tokens) is int and tokens > 0:
        candidates.insert(0, req.Thinking(tokens=tokens))
    for thinking in candidates:
        said, _ = write_thinking(thinking, model)
        if said and all(key in rest and rest[key] == value for key, value in said.items()):
            for key in said:
                del rest[key]
            return thinking
    return None


# ── tool choice ──────────────────────────────────────────────────────────────


def write_choice(choice: req.ToolChoice, definitions: tuple[req.Definition, ...], *, freeform: bool) -> Any:
    """`tool_choice`; `None` for auto, which is what no word means. `freeform`: whether the model has such tools."""
    if choice.mode == "auto":
        return None
    if choice.mode in ("none", "required"):
        return choice.mode
    tools = [_chosen(name, definitions, freeform=freeform) for name in choice.names]
    if choice.mode == "one":
        return tools[0]
    mode = "required" if choice.required else "auto"
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


def _chosen(name: str, definitions: tuple[req.Definition, ...], *, freeform: bool) -> dict[str, Any]:
    for definition in definitions:
        if isinstance(definition, req.ProviderDefinition):
            if name in (definition.id, definition.name):
                return {"type": definition.wire_type}
        elif name in (definition.name, f"{definition.namespace}.{definition.name}"):
            kind = "custom" if freeform and isinstance(definition, req.FreeformDefinition) else "function"
            return {"type": kind, kind: {"name": joined_name(definition.namespace, definition.name)}}
    return {"type": "function", "function": {"name": name}}


def read_choice(given: Any) -> req.ToolChoice | None:
    """A `tool_choice`, or `None` for one we have no words for."""
    if given in ("auto", "none", "required"):
        return req.ToolChoice(given)
    if given == "any":  # Mistral's word (rig and pydantic-ai, January 2026)
        return req.ToolChoice("required")
    choice = as_object(given)
    name = _name_in(choice)
    if name is not None and choice.get("type") in (None, "function", "custom") and len(choice) <= 2:
        return req.ToolChoice("one", (name,))
    allowed = as_object(choice.get("allowed_tools"))
    if choice.get("type") == "allowed_tools" and isinstance(allowed.get("tools"), list):
        names = [_name_in(as_object(tool)) for tool in allowed["tools"]]
        if names and all(name is not None for name in names) and allowed.get("mode") in ("auto", "required"):
            return req.ToolChoice("subset", tuple(filter(None, names)), required=allowed["mode"] == "required")
    return None


def _name_in(choice: dict[str, Any]) -> str | None:
    inner = as_object(choice.get("function") or choice.get("custom"))
    return as_name(inner.get("name")) if len(inner) == 1 else None


# ── the shape of the answer ──────────────────────────────────────────────────


def write_response_format(request: req.Request, *, strict: bool) -> tuple[dict[str, Any], tuple[Remark, ...]]:
    """The schema an answer must fit. What the caller says of it (a name, strictness) is left to the caller."""
    schema = request.response_schema
    assert schema is not None
    own = as_object(as_object(request.provider_options.get("response_format")).get("json_schema"))
    if own:
        return {"type": "json_schema", "json_schema": {"schema": schema}}, ()
    name = re.sub(r"[^a-zA-Z0-9_-]+", "_", as_name(schema.get("title")) or "")[:64].strip("_") or "answer"
    lowered = lower(schema, OPENAI_STRICT)
    is_strict = strict and lowered.sound and lowered.undo is None  # nobody undoes it on an answer
    if not is_strict:
        lowered = lower(schema, OPENAI)
    inner = {"name": name, "schema": lowered.schema, **({"strict": True} if is_strict else {})}
    remarks = tuple(Remark("response_schema", f"{rewrite.path}: {rewrite.message}") for rewrite in lowered.rewrites)
    return {"type": "json_schema", "json_schema": inner}, remarks


def read_response_format(rest: dict[str, Any]) -> dict[str, Any] | None:
    """The schema in `response_format`, taken out of it; what else is said there stays with the caller's options."""
    given = rest.get("response_format")
    if not isinstance(given, dict) or given.get("type") != "json_schema":
        return None
    inner = given.get("json_schema")
    if not isinstance(inner, dict) or not isinstance(inner.get("schema"), dict) or len(inner) < 2:
        return None
    others = {key: value for key, value in inner.items() if key != "schema"}
    rest["response_format"] = {**given, "json_schema": others}
    schema: dict[str, Any] = inner["schema"]
    return schema


# ── numbers and flags ────────────────────────────────────────────────────────


def write_numbers(request: req.Request) -> dict[str, Any]:
    """Everything of a request that is one value under one key."""
    how = ways(request.model)
    said: Mapping[str, Any] = {
        how.output_key: request.max_output_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "stop": list(request.stop) or None,
        how.seed_key: request.seed,
    }
    body = {key: value for key, value in said.items() if value is not None}
    if request.stream:
        body["stream"] = True
        if how.include_usage and "stream_options" not in request.provider_options:
            body["stream_options"] = {"include_usage": True}
    return body


def read_numbers(rest: dict[str, Any], model: str) -> dict[str, Any]:
    """The same, taken out of a body; a value of another kind stays there."""
    how = ways(model)
    fields: dict[str, Any] = {}
    for key, field in ((how.output_key, "max_output_tokens"), (how.seed_key, "seed")):
        if type(rest.get(key)) is int:
            fields[field] = rest.pop(key)
    for key in ("temperature", "top_p"):
        if type(rest.get(key)) in (int, float):
            fields[key] = rest.pop(key)
    stop = rest.get("stop")
    if isinstance(stop, str):
        stop = [stop]
    if isinstance(stop, list) and all(isinstance(word, str) for word in stop):
        fields["stop"] = tuple(stop)
        del rest["stop"]
    if isinstance(rest.get("stream"), bool):
        fields["stream"] = rest.pop("stream")
    return fields
