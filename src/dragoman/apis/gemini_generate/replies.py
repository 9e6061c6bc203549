"""A response body as a reply: candidates, why they ended, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from dragoman.apis.base.api import as_json, retry_after, retryable
from dragoman.errors import EngineError
from dragoman.model.calls import ExecutedBy
from dragoman.model.conversation import AnyPart, CallPart, FinishReason, Provenance, Reply, Usage
from dragoman.model.json_values import as_list, as_name

from .citations import cited
from .fields import NAME, camel, count_of, metadata_of, word_of
from .parts import Pairing, PartReader

FINISH_NUMBERS: Final = (
    *("FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "BLOCKLIST"),
    *("PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "MODEL_ARMOR", "IMAGE_SAFETY"),
    *("IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER", "UNEXPECTED_TOOL_CALL", "NO_IMAGE"),
)
"""Reasons by their number, as Vertex gives them (gemini-2.5-pro, 2025-06 to 2025-12, opentelemetry-python-contrib)."""

_FINISH: Final = {
    "STOP": FinishReason.STOP,
    "MAX_TOKENS": FinishReason.LENGTH,
    "MALFORMED_FUNCTION_CALL": FinishReason.MALFORMED_CALL,
    "UNEXPECTED_TOOL_CALL": FinishReason.MALFORMED_CALL,
    "CONTINUATION": FinishReason.PAUSED,
    **dict.fromkeys(
        (
            *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"),
            *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
        ),
        FinishReason.FILTERED,
    ),
    **dict.fromkeys(
        (
            *("TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE", "NO_IMAGE", "IMAGE_OTHER"),
            "OTHER",
        ),
        FinishReason.ERROR,
    ),
}

_KNOWN: Final = frozenset({"candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId", "createTime"})


def read_body(body: Any, *, seed: str | None = None, counted: Usage | None = None) -> Reply:
    """A whole response. `seed` makes the ids of calls without one; by itself it is the response's own id.

    `counted` is its usage, where that was read before.
    """
    said = camel(body)
    if "error" in said:
        raise read_error(None, {}, body)
    if not _KNOWN & said.keys():
        raise EngineError(f"the body is no response of {NAME}: none of {', '.join(sorted(_KNOWN))} is in it")
    id = as_name(said.get("responseId"))
    seed = (id or "") if seed is None else seed
    model = as_name(said.get("modelVersion"))
    candidates = [candidate for candidate in as_list(said.get("candidates")) if isinstance(candidate, dict)]
    rest = {
        key: value
        for key, value in said.items()
        if key not in ("candidates", "usageMetadata")
        and not (key == "responseId" and value == id)
        and not (key == "modelVersion" and value == model)
    }
    odd = [one for one in as_list(said.get("candidates")) if not isinstance(one, dict)]
    if odd or not isinstance(said.get("candidates"), list | None):
        rest["candidates"] = odd or said["candidates"]
    usage = read_usage(said.get("usageMetadata")) if counted is None else counted
    provenance = Provenance(api=NAME, model=model)
    if not candidates:
        return _blocked(said, Reply((), usage=usage, id=id, provenance=provenance, metadata=metadata_of(rest)))
    replies = [_read_candidate(camel(one), place, seed) for place, one in enumerate(candidates)]
    first = replies[0]
    return Reply(
        first.parts,
        finish=first.finish,
        finish_raw=first.finish_raw,
        usage=usage,
        id=id,
        provenance=provenance,
        metadata=metadata_of({**rest, **first.metadata.get(NAME, {})}),
        alternatives=tuple(
            Reply(
                other.parts,
                finish=other.finish,
                finish_raw=other.finish_raw,
                id=id,
                provenance=provenance,
                metadata=other.metadata,
            )
            for other in replies[1:]
        ),
    )


def _blocked(said: dict[str, Any], reply: Reply) -> Reply:
    """A reply without a candidate: the prompt was refused, or nothing was said yet."""
    feedback = camel(said.get("promptFeedback"))
    reason = feedback.get("blockReason")
    if not reason and not feedback.get("blockReasonMessage"):
        return reply
    return replace(reply, finish=FinishReason.FILTERED, finish_raw=str(reason) if reason else None)


def _read_candidate(candidate: dict[str, Any], place: int, seed: str) -> Reply:
    content = camel(candidate.get("content"))
    reader = PartReader(Pairing(seed, place))
    for part in as_list(content.get("parts")):
        reader.read(part)
    rest = {key: value for key, value in candidate.items() if key not in ("content", "finishReason", "index")}
    odd = {key: value for key, value in content.items() if key not in ("parts", "role")}
    if reader.odd or not isinstance(content.get("parts"), list | None):
        odd["parts"] = reader.odd or content["parts"]
        if not reader.parts:
            rest["unread"] = [odd["parts"]]
    if content.get("role", "model") != "model":
        odd["role"] = content["role"]
    if not isinstance(candidate.get("content"), dict | None):
        rest["content"] = candidate["content"]
    elif odd:
        rest["content"] = odd
    raw = candidate.get("finishReason")
    parts = cited(reader.parts, candidate)
    return Reply(
        parts,
        finish=finish_of(raw, parts),
        finish_raw=None if raw is None else str(raw),
        metadata=metadata_of(rest),
    )


def finish_of(raw: Any, parts: tuple[AnyPart, ...]) -> FinishReason:
    """Why it ended. There is no reason for calls of its own: a normal stop with calls for us is one."""
    finish = _FINISH.get(word_of(raw, FINISH_NUMBERS) or "", FinishReason.UNKNOWN)
    if finish is FinishReason.STOP and any(_ours(part) for part in parts):
        return FinishReason.CALLS
    return finish


def _ours(part: AnyPart) -> bool:
    return isinstance(part, CallPart) and part.call.executed_by is ExecutedBy.CLIENT


# ── usage ────────────────────────────────────────────────────────────────────


def read_usage(usage: Any) -> Usage:
    """Cached tokens are counted inside the prompt, thoughts outside the candidates, tools' prompts apart from both."""
    said = camel(usage)
    prompt, cached = count_of(said.get("promptTokenCount")), count_of(said.get("cachedContentTokenCount"))
    answer, thoughts = count_of(said.get("candidatesTokenCount")), count_of(said.get("thoughtsTokenCount"))
    spent = [count for count in (answer, thoughts) if count is not None]
    typed = {
        "promptTokenCount": prompt,
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": answer,
        "thoughtsTokenCount": thoughts,
        "toolUsePromptTokenCount": count_of(said.get("toolUsePromptTokenCount")),
    }
    rest = {key: value for key, value in said.items() if typed.get(key) is None}
    return Usage(
        input_tokens=None if prompt is None else max(0, prompt - (cached or 0)),
        cached_read_tokens=cached,
        output_tokens=sum(spent) if spent else None,
        reasoning_tokens=thoughts,
        tool_tokens=typed["toolUsePromptTokenCount"],
        metadata=metadata_of(rest),
    )


# ── errors ───────────────────────────────────────────────────────────────────

_PASSING: Final = frozenset({"UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED", "DEADLINE_EXCEEDED", "INTERNAL"})


def read_error(status: int | None, headers: Mapping[str, str], body: Any) -> EngineError:
    """An error of this API, alone or as the only element of a list."""
    said = as_json(body)
    if isinstance(said, list):
        said = next((one for one in said if isinstance(one, dict) and "error" in one), said)
    error = said.get("error") if isinstance(said, dict) else None
    given = camel(error)
    status = status if status is not None else count_of(given.get("code"))
    code = as_name(given.get("status"))
    message = as_name(given.get("message")) or as_name(error) or as_name(said)
    lowered = {name.lower(): value for name, value in headers.items()}
    wait = retry_after(headers)
    return EngineError(
        message or "the provider gave an error without a message",
        status=status,
        code=code if code is not None else _reason(given),
        request_id=lowered.get("x-request-id") or lowered.get("x-goog-request-id"),
        retryable=retryable(status) or code in _PASSING,
        retry_after=wait if wait is not None else _retry_delay(given),
    )


def _details(error: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    found = [one for one in as_list(error.get("details")) if isinstance(one, dict)]
    return [one for one in found if str(one.get("@type", "")).endswith(kind)]


def _reason(error: dict[str, Any]) -> str | None:
    stated = error.get("code")
    reasons = [as_name(one.get("reason")) for one in _details(error, "ErrorInfo")]
    return next((one for one in reasons if one), None if stated is None else str(stated))


def _retry_delay(error: dict[str, Any]) -> float | None:
    for one in _details(error, "RetryInfo"):
        delay = one.get("retryDelay")
        try:
            seconds = float(delay.removesuffix("s")) if isinstance(delay, str) else None
        except ValueError:
            seconds = None
        if seconds is not None and 0 <= seconds < 1e9:
            return seconds
    return None
