"""Errors in every shape that speakers of Chat Completions send them, as `EngineError`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.apis.base.api import as_json, retry_after, retryable
from dragoman.errors import EngineError
from dragoman.model.json_values import as_name, as_object

from .values import write_json

_LONGEST = 2000
_HOPELESS = frozenset({"insufficient_quota", "billing_hard_limit_reached", "account_deactivated"})
"""Codes that come with a status one would try again, and never pass by waiting."""
_REQUEST_IDS = ("x-request-id", "request-id", "apim-request-id", "x-ms-request-id", "x-groq-request-id", "cf-ray")


def read_error(status: int | None, headers: Mapping[str, str], body: Any) -> EngineError:
    """An error response, or an error inside a response that began well."""
    body = as_json(body)
    whole = as_object(body)
    error = whole.get("error")
    inner = error if isinstance(error, dict) else whole
    code = _code(inner, whole)
    status = _status(status, inner)
    return EngineError(
        _message(body, inner),
        status=status,
        code=code,
        request_id=_request_id(headers, whole),
        retryable=retryable(status) and code not in _HOPELESS,
        retry_after=retry_after(headers),
    )


def no_response(body: Any) -> EngineError:
    """JSON that is neither an answer nor an error of this API."""
    keys = ", ".join(sorted(map(str, body))[:8]) if isinstance(body, dict) else type(body).__name__
    return EngineError(f"this is no response of Chat Completions, which has `choices`: it has {keys or 'nothing'}")


def is_error(body: dict[str, Any]) -> bool:
    """Whether a body without an answer tells of an error."""
    return bool(body.get("error")) or body.get("object") == "error" or "detail" in body or "message" in body


def _message(body: Any, inner: dict[str, Any]) -> str:
    error = as_object(body).get("error")
    said = error if isinstance(error, str) else _said(inner)
    if said is None:
        said = body if isinstance(body, str) else write_json(body) if body not in (None, {}) else ""
    raw = as_name(as_object(inner.get("metadata")).get("raw"))
    if raw is not None and raw not in said:  # OpenRouter: what the provider behind it said (gemini-2.0-flash)
        said = f"{said}: {raw}"
    return said.strip()[:_LONGEST] or "the provider gave no reason"


def _said(inner: dict[str, Any]) -> str | None:
    for key in ("message", "detail", "error", "msg"):
        value = inner.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list | dict) and value:  # a list of what did not validate
            return write_json(value)
    return None


def _code(inner: dict[str, Any], whole: dict[str, Any]) -> str | None:
    code, kind = inner.get("code"), as_name(inner.get("type"))
    if isinstance(code, str) and code:
        return code
    if kind is not None and kind != "error":
        return kind
    if isinstance(code, int) and not isinstance(code, bool):
        return str(code)
    return as_name(whole.get("code"))


def _status(status: int | None, inner: dict[str, Any]) -> int | None:
    """The status of the exchange, unless that says nothing went wrong and the error knows better."""
    if status is not None and status >= 400:
        return status
    for key in ("status_code", "status", "code", "raw_status_code"):
        value = inner.get(key)
        if isinstance(value, str) and value.isdecimal() and len(value) == 3:
            value = int(value)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return status


def _request_id(headers: Mapping[str, str], whole: dict[str, Any]) -> str | None:
    lowered = {name.lower(): value for name, value in headers.items()}
    for name in _REQUEST_IDS:
        if lowered.get(name):
            return lowered[name]
    return as_name(whole.get("request_id")) or as_name(whole.get("id"))
