"""Responses, usage and errors of this protocol.

Rule: whatever the JSON, reading gives a `Reply` or raises an `EngineError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from dragoman.apis.base.api import as_json, retry_after, retryable
from dragoman.errors import EngineError
from dragoman.model import conversation as conv
from dragoman.model.calls import ExecutedBy
from dragoman.model.json_values import as_integer

from .blocks import read_blocks
from .families import NAME

FINISH: Mapping[str, conv.FinishReason] = {
    "end_turn": conv.FinishReason.STOP,
    "stop_sequence": conv.FinishReason.STOP_SEQUENCE,
    "max_tokens": conv.FinishReason.LENGTH,
    "tool_use": conv.FinishReason.CALLS,
    "pause_turn": conv.FinishReason.PAUSED,
    "refusal": conv.FinishReason.REFUSED,
    "model_context_window_exceeded": conv.FinishReason.CONTEXT_EXCEEDED,
    "compaction": conv.FinishReason.COMPACTED,
}

_TYPED = frozenset({"content", "id", "model", "usage", "stop_reason"})


def read_reply(body: Any) -> conv.Reply:
    """A whole message."""
    if not isinstance(body, dict):
        raise EngineError(f"a {type(body).__name__} is no response of this API: a message object was expected")
    if body.get("type") == "error" or ("error" in body and "content" not in body):
        raise read_error(None, {}, body)
    parts = (*_content(body), *refusals(body))
    raw = body.get("stop_reason")
    id, model = body.get("id"), body.get("model")
    return conv.Reply(
        parts,
        finish=finish(raw, calls=any(map(is_client_call, parts))),
        finish_raw=raw if isinstance(raw, str) else None,
        usage=read_usage(body.get("usage")),
        id=id if isinstance(id, str) else None,
        provenance=conv.Provenance(api=NAME, model=model if isinstance(model, str) else None),
        metadata=_rest(body),
    )


def _content(body: dict[str, Any]) -> tuple[conv.AnyPart, ...]:
    content = body.get("content")
    if isinstance(content, list):
        return read_blocks(content)
    if isinstance(content, str):
        return (conv.TextPart(content),)
    completion = body.get("completion")  # text completions, as of claude-v2.1 on Bedrock (openllmetry)
    if isinstance(completion, str):
        return (conv.TextPart(completion),)
    if content is None and (body.get("type") == "message" or "stop_reason" in body):
        return ()
    raise EngineError("this is no response of this API: it has no content")


def _rest(body: dict[str, Any]) -> conv.Metadata:
    """What a message says beside its typed fields, and typed fields that were not what they should be."""
    rest = {key: value for key, value in body.items() if value is not None and key not in _TYPED}
    if rest.get("type") == "message":
        del rest["type"]
    if rest.get("role") == "assistant":
        del rest["role"]
    if isinstance(rest.get("completion"), str) and body.get("content") is None:
        del rest["completion"]
    for key in ("id", "model", "stop_reason"):
        if body.get(key) is not None and not isinstance(body[key], str):
            rest[key] = body[key]
    return {NAME: rest} if rest else {}


def refusals(body: dict[str, Any]) -> tuple[conv.RefusalPart, ...]:
    """Why the model refused, if the response explains it beside the content."""
    details = body.get("stop_details")
    if not isinstance(details, dict):
        return ()
    explanation = details.get("explanation")
    if not isinstance(explanation, str) or not explanation:
        return ()
    return (conv.RefusalPart(explanation, {NAME: {"stop_details": True}}),)


def is_client_call(part: conv.AnyPart) -> bool:
    """Whether this is a call for us to run."""
    return isinstance(part, conv.CallPart) and part.call.executed_by is ExecutedBy.CLIENT


def finish(raw: Any, *, calls: bool) -> conv.FinishReason:
    """Why the model stopped; `calls`: there are some for us to run."""
    reason = FINISH.get(raw, conv.FinishReason.UNKNOWN) if isinstance(raw, str) else conv.FinishReason.UNKNOWN
    return conv.FinishReason.CALLS if reason is conv.FinishReason.STOP and calls else reason


# ── usage ────────────────────────────────────────────────────────────────────

_COUNTED_APART = frozenset({"output_tokens_details", "server_tool_use"})
_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


def read_usage(usage: Any) -> conv.Usage:
    """A usage object: its counts exclude one another already."""
    if not isinstance(usage, dict):
        return conv.Usage() if usage is None else conv.Usage(metadata={NAME: {"usage": usage}})
    rest: dict[str, Any] = usage.copy()
    # Written out: it runs for every message of a log.
    fresh, cached = rest.pop("input_tokens", None), rest.pop("cache_read_input_tokens", None)
    kept, told = rest.pop("cache_creation_input_tokens", None), rest.pop("output_tokens", None)
    are_whole = type(fresh) is int and type(cached) is int and type(kept) is int and type(told) is int
    if not (are_whole and fresh >= 0 and cached >= 0 and kept >= 0 and told >= 0):
        if float in map(type, (fresh, cached, kept, told)):  # 12 may be written as 12.0
            fresh, cached, kept, told = map(as_integer, (fresh, cached, kept, told))
            named = zip(_COUNTS, (fresh, cached, kept, told), strict=True)
            usage = {**usage, **{name: count for name, count in named if count is not None}}
        fresh, cached, kept, told = [one if _is_count(one) else None for one in (fresh, cached, kept, told)]
        rest = {key: value for key, value in usage.items() if not (key in _COUNTS and _is_count(value))}
    if None in rest.values():
        rest = {key: value for key, value in rest.items() if value is not None}
    if _COUNTED_APART.isdisjoint(rest):
        return conv.Usage(fresh, cached, kept, told, metadata={NAME: rest} if rest else {})
    reasoning: int | None = None
    details = rest.get("output_tokens_details")
    if isinstance(details, dict) and _is_count(details.get("thinking_tokens")):
        reasoning = details["thinking_tokens"]
        if len(details) == 1:
            del rest["output_tokens_details"]
    requests: dict[str, int] = {}
    used = rest.get("server_tool_use")
    if isinstance(used, dict) and all(isinstance(key, str) and _is_count(value) for key, value in used.items()):
        requests = {key.removesuffix("_requests"): value for key, value in used.items()}
        del rest["server_tool_use"]
    return conv.Usage(fresh, cached, kept, told, reasoning, requests=requests, metadata={NAME: rest} if rest else {})


_Count = Annotated[int, msgspec.Meta(ge=0)]


class _UsualUsage(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A usage object as nearly all are that count no more than tokens."""

    input_tokens: _Count
    cache_creation_input_tokens: _Count
    cache_read_input_tokens: _Count
    output_tokens: _Count
    cache_creation: Any = None
    service_tier: Any = None
    inference_geo: Any = None


_decode_usual = msgspec.json.Decoder(_UsualUsage).decode


def read_usual_usage(usage: bytes | msgspec.Raw) -> conv.Usage:
    """What `read_usage` reads, at half the cost; `msgspec.ValidationError` for one that is not as most are."""
    said = _decode_usual(usage)
    rest: dict[str, Any] = {}
    if said.cache_creation is not None:
        rest["cache_creation"] = said.cache_creation
    if said.service_tier is not None:
        rest["service_tier"] = said.service_tier
    if said.inference_geo is not None:
        rest["inference_geo"] = said.inference_geo
    return conv.Usage(
        said.input_tokens,
        said.cache_read_input_tokens,
        said.cache_creation_input_tokens,
        said.output_tokens,
        metadata={NAME: rest} if rest else {},
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


# ── errors ───────────────────────────────────────────────────────────────────

_AGAIN = frozenset({"api_error", "overloaded_error", "rate_limit_error", "timeout_error"})
_REQUEST_IDS = ("request-id", "x-request-id", "x-amzn-requestid")


def read_error(status: int | None, headers: Mapping[str, str], body: Any) -> EngineError:
    """An error, as the API itself or a cloud that hosts it says it."""
    said = as_json(body)
    if isinstance(said, list) and len(said) == 1:  # Google's APIs send a streamed error so (google-genai 3.3)
        said = said[0]
    lowered = {name.lower(): value for name, value in headers.items()}
    message, code = _message(said)
    request_id = said.get("request_id") if isinstance(said, dict) else None
    if not isinstance(request_id, str):
        request_id = next((lowered[name] for name in _REQUEST_IDS if name in lowered), None)
    again = retryable(status) if status is not None and status >= 400 else code in _AGAIN
    told = lowered.get("x-should-retry")
    return EngineError(
        message or (f"the provider answered with status {status}" if status else "the provider told of an error"),
        status=status,
        code=code,
        request_id=request_id,
        retryable=told == "true" if told in ("true", "false") else again,
        retry_after=retry_after(headers),
    )


def _message(said: Any) -> tuple[str, str | None]:
    if isinstance(said, str):
        return said.strip(), None
    if not isinstance(said, dict):
        return "", None
    error = said.get("error")
    if isinstance(error, str):
        return error, _word(said.get("type"), said.get("code"))
    where = error if isinstance(error, dict) else said
    message = next((value for key in ("message", "Message") if isinstance(value := where.get(key), str)), "")
    kind = where.get("type") if isinstance(error, dict) else None
    return message, _word(kind, where.get("status"), where.get("__type"), where.get("code"))


def _word(*candidates: Any) -> str | None:
    for one in candidates:
        if isinstance(one, str) and one:
            return one
        if isinstance(one, int) and not isinstance(one, bool):
            return str(one)
    return None
