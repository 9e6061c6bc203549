"""Whole responses, usage and errors of this protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.apis.base.api import as_json, retry_after, retryable
from dragoman.errors import EngineError
from dragoman.model.calls import ExecutedBy
from dragoman.model.conversation import AnyPart, CallPart, FinishReason, Provenance, RefusalPart, Reply, Usage
from dragoman.model.json_values import as_name, as_object, as_text

from .fields import NAME, as_count, own, without
from .items import read_items

_STOPPED = ("completed", "complete")  # the second: pydantic-ai in 2025, perhaps edited by hand
_CUT: Mapping[str, FinishReason] = {
    "max_output_tokens": FinishReason.LENGTH,
    "content_filter": FinishReason.FILTERED,
}


def read_reply(
    body: Any, *, output: list[Any] | None = None, ids: Mapping[int, str] | None = None, interrupted: bool = False
) -> Reply:
    """A response as a reply; `output` and `ids` are what a stream knows better, or knows alone."""
    if not isinstance(body, dict):
        raise EngineError(f"a JSON value of type {type(body).__name__} is no response of the Responses API")
    failed = body.get("error") or body.get("status") == "failed"
    if not interrupted and not _is_response(body):
        if failed:
            raise read_error(None, {}, body)
        raise EngineError(f"an object with {_named(body)} is no response of the Responses API")
    reply = _reply(body, body.get("output") if output is None else output, ids, interrupted=interrupted)
    if failed and not interrupted and body.get("status") not in _STOPPED:
        error = read_error(None, {}, body)
        error.partial = reply
        raise error
    return reply


def _is_response(body: dict[str, Any]) -> bool:
    return isinstance(body.get("output"), list) or as_text(body.get("object")) in ("response", "response.compaction")


def _named(body: dict[str, Any]) -> str:
    return "the keys " + ", ".join(sorted(map(str, body))[:8]) if body else "no keys"


def _reply(body: dict[str, Any], output: Any, ids: Mapping[int, str] | None, *, interrupted: bool) -> Reply:
    items = output if isinstance(output, list) else []
    parts = read_items(items, reply=True, ids=ids)
    rest = without(body, "id", "model", "output", "usage")
    for name, kind in (("id", str), ("model", str), ("output", list), ("usage", dict)):
        if body.get(name) is not None and not isinstance(body[name], kind):
            rest[name] = body[name]
    strange = {str(index): item for index, item in enumerate(items) if not isinstance(item, dict)}
    if strange:
        rest["items"] = strange
    finish, raw = (FinishReason.INTERRUPTED, None) if interrupted else _finish(body, parts)
    return Reply(
        parts=parts,
        finish=finish,
        finish_raw=raw,
        usage=read_usage(body.get("usage"), as_object(body.get("tool_usage"))),
        id=as_text(body.get("id")),
        provenance=Provenance(api=NAME, model=as_text(body.get("model"))),
        metadata=own(rest),
    )


def _finish(body: dict[str, Any], parts: tuple[AnyPart, ...]) -> tuple[FinishReason, str | None]:
    status = as_text(body.get("status"))
    if status == "incomplete":
        reason = as_text(as_object(body.get("incomplete_details")).get("reason"))
        return _CUT.get(reason or "", FinishReason.UNKNOWN), reason or status
    if as_text(body.get("object")) == "response.compaction":
        return FinishReason.COMPACTED, status
    if status == "failed":
        return FinishReason.ERROR, status
    if status == "cancelled":
        return FinishReason.INTERRUPTED, status
    if status not in _STOPPED:
        return FinishReason.UNKNOWN, status
    if any(isinstance(part, CallPart) and part.call.executed_by is ExecutedBy.CLIENT for part in parts):
        return FinishReason.CALLS, status
    if any(isinstance(part, RefusalPart) for part in parts):
        return FinishReason.REFUSED, status
    return FinishReason.STOP, status


# ── usage ────────────────────────────────────────────────────────────────────


def read_usage(usage: Any, tool_usage: Mapping[str, Any] | None = None) -> Usage:
    """A usage object; `tool_usage` is what a response says beside it of the provider's own tools.

    `input_tokens` counts those read from and written to the cache too: they are taken out of it.
    """
    said = as_object(usage)
    rest = dict(said)
    inner, outer = dict(as_object(said.get("input_tokens_details"))), dict(as_object(said.get("output_tokens_details")))
    cached, written = _counted(inner, "cached_tokens"), _counted(inner, "cache_write_tokens")
    reasoning = _counted(outer, "reasoning_tokens")
    given, output = _counted(rest, "input_tokens"), _counted(rest, "output_tokens")
    for name, details in (("input_tokens_details", inner), ("output_tokens_details", outer)):
        if isinstance(rest.get(name), dict):
            del rest[name]
            if details:
                rest[name] = details
    apart = (cached or 0) + (written or 0)
    if given is not None and given >= apart:  # a vendor whose count is smaller has already taken them out
        given -= apart
    if rest.get("total_tokens") == sum(count or 0 for count in (given, cached, written, output)):
        del rest["total_tokens"]
    return Usage(
        input_tokens=given,
        cached_read_tokens=cached,
        cached_write_tokens=written,
        output_tokens=output,
        reasoning_tokens=reasoning,
        requests=_requests(rest, tool_usage or {}),
        metadata=own(rest),
    )


def _counted(mapping: dict[str, Any], name: str) -> int | None:
    count = as_count(mapping.get(name))
    if count is not None:
        del mapping[name]
    return count


def _requests(rest: dict[str, Any], tool_usage: Mapping[str, Any]) -> dict[str, int]:
    """How often the provider's own tools were used: OpenAI's `tool_usage` (since May 2026), and xAI's details of its
    usage (grok-4.3)."""
    requests: dict[str, int] = {}
    for tool, used in tool_usage.items():
        count = as_count(as_object(used).get("num_requests"))
        if count is not None:
            requests[tool] = count
    details = rest.get("server_side_tool_usage_details")
    if isinstance(details, dict):
        counted = {name.removesuffix("_calls"): as_count(count) for name, count in details.items()}
        if None not in counted.values() and len(counted) == len(details):
            requests.update({name: count for name, count in counted.items() if count is not None})
            del rest["server_side_tool_usage_details"]
    return requests


# ── errors ───────────────────────────────────────────────────────────────────

_LATER = ("server_error", "rate_limit_exceeded", "vector_store_timeout")  # codes of a failed response in openai 3.49.0
# Recorded in 2025 (vercel/ai, chatlas); the first also where others say "too many requests" (OpenAI's guide on errors).
_NEVER = ("insufficient_quota", "invalid_api_key")
_REQUEST_ID = ("x-request-id", "request-id", "apim-request-id", "x-ms-request-id")


def read_error(status: int | None, headers: Mapping[str, str], body: Any) -> EngineError:
    """An error in any recorded shape: `{error: {…}}`, `{code, error: text}`, `{detail: …}`, an event, no JSON."""
    body = as_json(body)
    said = as_object(body)
    response = said.get("response")
    if isinstance(response, dict):  # response.failed
        said = response
    details = as_object(said.get("error")) or said
    message = (
        as_name(details.get("message"))
        or as_name(said.get("error"))
        or _detail(said.get("detail"))
        or (as_name(body) if not isinstance(body, dict) else None)
        or _nothing_said(status, said)
    )
    code = next((found for name in ("code", "type") if (found := _code(details.get(name))) is not None), None)
    lowered = {name.lower(): value for name, value in headers.items()}
    return EngineError(
        message,
        status=status,
        code=code,
        request_id=next((lowered[name] for name in _REQUEST_ID if lowered.get(name)), None),
        retryable=_again(status, lowered, {code, _code(details.get("type"))}),
        retry_after=retry_after(headers),
    )


def _code(value: Any) -> str | None:
    if value in ("error", "response.failed"):  # the name of the event, which says nothing
        return None
    return str(value) if type(value) is int else as_name(value)


def _detail(detail: Any) -> str | None:
    if isinstance(detail, list):
        return "; ".join(as_text(as_object(one).get("msg")) or str(one) for one in detail[:8]) or None
    return as_name(detail)


def _nothing_said(status: int | None, said: dict[str, Any]) -> str:
    if status is not None:
        return f"the provider answered with status {status} and no message"
    return f"the response ended as {said.get('status') or 'failed'} and gave no reason"


def _again(status: int | None, headers: Mapping[str, str], codes: set[str | None]) -> bool:
    stated = headers.get("x-should-retry", "").lower()
    if stated in ("true", "false"):
        return stated == "true"
    if codes & set(_NEVER):
        return False
    return retryable(status) or bool(codes & set(_LATER))
