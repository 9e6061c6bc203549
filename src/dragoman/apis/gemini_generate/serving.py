"""The server's side of `generateContent`: what Gemini's clients expect to be answered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from dragoman.apis.base.api import is_too_long
from dragoman.apis.base.serving import (
    STATUSES,
    Asked,
    ServerSide,
    StreamWriter,
    event,
    is_own,
    known,
    new_id,
    only,
    status_of,
)
from dragoman.errors import EngineError
from dragoman.model import conversation as conv
from dragoman.model.calls import ExecutedBy
from dragoman.model.conversation import FinishReason as Finish
from dragoman.model.json_values import as_object
from dragoman.model.request import Definition, Request

from .fields import NAME
from .parts import own, write_call, write_media, write_provider_call, write_provider_result, write_words
from .reading import read_generation
from .tools import json_schema, wire_name

_STOPPED = {
    Finish.LENGTH: "MAX_TOKENS",
    Finish.CONTEXT_EXCEEDED: "MAX_TOKENS",
    Finish.FILTERED: "SAFETY",
    Finish.REFUSED: "SAFETY",
    Finish.MALFORMED_CALL: "MALFORMED_FUNCTION_CALL",
    Finish.ERROR: "OTHER",
}
"""Every other reason is `STOP`, calls included."""

_WORDINGS = ("gemini-3", "gemini-2.5-flash")
"""A model for each way in which this protocol words how much to think."""

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_PATH = re.compile(r"/models/(?P<model>.+):(?P<verb>generateContent|streamGenerateContent|countTokens)$")
_OF_THE_BODY = frozenset({"promptFeedback", "createTime", "modelStatus", "sdkHttpResponse", "candidates"})
"""What a response says beside its candidates; the rest of a reply's metadata its candidate says."""


class GenerateServer(ServerSide):
    """`POST …/models/MODEL:generateContent`, `:streamGenerateContent`, `:countTokens` and `GET …/models`."""

    name: ClassVar[str] = NAME
    effort_options: ClassVar[tuple[str, ...]] = tuple(
        f"generationConfig.thinkingConfig.{name}"
        for name in ("thinkingBudget", "thinking_budget", "thinkingLevel", "thinking_level")
    )
    thinking_options: ClassVar[tuple[str, ...]] = ("generationConfig.thinkingConfig",)
    references: ClassVar[tuple[str, ...]] = ("cachedContent",)

    def asked(self, method: str, path: str) -> Asked | None:
        found = _PATH.search(path) if method == "POST" else None
        if found is None:
            return super().asked(method, path)
        if found["verb"] == "countTokens":
            return Asked("count", found["model"])
        return Asked("reply", found["model"], found["verb"] == "streamGenerateContent")

    def plain(self, request: Request) -> Request:
        config = dict(as_object(request.provider_options.get("generationConfig")))
        only("candidateCount", config.get("candidateCount"), usual=1)
        found: dict[str, Any] = {}
        for model in _WORDINGS if request.thinking is None else ():
            found = {**read_generation(config, model), **found}
        schema = config.get("responseSchema")
        if request.response_schema is None and isinstance(schema, dict):
            del config["responseSchema"]
            config.pop("responseMimeType", None)
            found["response_schema"] = json_schema(schema)
        if not found:
            return request
        left = {name: value for name, value in config.items() if value is not None}
        options = {name: value for name, value in request.provider_options.items() if name != "generationConfig"}
        options |= {"generationConfig": left} if left else {}
        return msgspec.structs.replace(request, provider_options=options, **found)

    def reply(self, reply: conv.Reply, *, model: str, definitions: Sequence[Definition] = ()) -> dict[str, Any]:
        parts = [written for part in reply.parts if (written := _part(part)) is not None]
        id = {"responseId": reply.id} if reply.id is not None else {}
        return {**_ended(reply, {"role": "model", "parts": parts}), "modelVersion": model, **id}

    def stream(
        self,
        *,
        model: str,
        id: str | None = None,
        definitions: Sequence[Definition] = (),
        options: Mapping[str, Any] | None = None,
    ) -> StreamWriter:
        return ContentWriter(model, id or new_id(""))

    def error(self, error: EngineError) -> tuple[int, dict[str, Any]]:
        status = STATUSES.get(status_of(error), status_of(error))
        status = 400 if is_too_long(error) else status
        word = _STATUSES.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")
        said: dict[str, Any] = {"code": status, "message": error.message, "status": word}
        if error.retry_after is not None:
            kind = "type.googleapis.com/google.rpc.RetryInfo"
            said["details"] = [{"@type": kind, "retryDelay": f"{error.retry_after:.15g}s"}]
        return status, {"error": said}

    def model(self, name: str, window: int | None) -> dict[str, Any]:
        verbs = ["generateContent", "countTokens"]
        said = {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": verbs}
        return {**said, **known([("inputTokenLimit", window)])}

    def models(self, windows: Mapping[str, int | None]) -> dict[str, Any]:
        return {"models": [self.model(name, window) for name, window in windows.items()]}

    def counted(self, tokens: int) -> dict[str, Any]:
        return {"totalTokens": tokens}


def _part(part: conv.AnyPart) -> dict[str, Any] | None:
    match part:
        case conv.TextPart() | conv.ThinkingPart() | conv.RefusalPart():
            return write_words(part)
        case conv.MediaPart(media):
            signed = {} if part.signature is None else {"thoughtSignature": part.signature}
            data = write_media(media)
            return None if data is None else {**data, **signed, **own(part)}
        case conv.CallPart(call):
            if call.executed_by is ExecutedBy.PROVIDER:
                return write_provider_call(part) if _is_part(call.item) else None
            return write_call(part, wire_name(call.name, call.namespace))
        case conv.ResultPart(result):
            return write_provider_result(result) if _is_part(result.item) else None
        case conv.OpaquePart():
            return part.item if part.api == NAME else None


def _is_part(item: Any) -> bool:
    """Whether an item is a part of this API: other providers' items are named by their type."""
    return isinstance(item, dict) and "type" not in item


def _ended(reply: conv.Reply, content: dict[str, Any]) -> dict[str, Any]:
    """A body with the last of the reply: why it ended, its usage, and what the API said beside that."""
    said = reply.metadata.get(NAME, {}) if is_own(reply, NAME) else {}
    rest = {name: value for name, value in said.items() if name not in _OF_THE_BODY}
    body = {name: value for name, value in said.items() if name in _OF_THE_BODY and name != "candidates"}
    usage = {"usageMetadata": _usage(reply.usage)} if reply.usage != conv.Usage() else {}
    if is_own(reply, NAME) and not reply.parts and "promptFeedback" in said:
        return {**body, **usage, **rest}
    odd = rest.pop("content", None)
    content = {**content, **odd} if isinstance(odd, dict) else content
    finish = _finish(reply.finish_raw if is_own(reply, NAME) else _STOPPED.get(reply.finish, "STOP"))
    candidate = {"content": content, **finish, "index": 0, **rest}
    others = [_candidate(other, place) for place, other in enumerate(reply.alternatives, 1)]
    return {"candidates": [candidate, *others], **body, **usage}


def _finish(raw: str | None) -> dict[str, Any]:
    if raw is None:
        return {}
    return {"finishReason": int(raw) if raw.isdecimal() else raw}  # numbers: Vertex in 2025


def _candidate(reply: conv.Reply, place: int) -> dict[str, Any]:
    parts = [written for part in reply.parts if (written := _part(part)) is not None]
    finish = _finish(reply.finish_raw)
    return {"content": {"role": "model", "parts": parts}, **finish, "index": place, **reply.metadata.get(NAME, {})}


def _usage(usage: conv.Usage) -> dict[str, Any]:
    """The counts: the cached ones within the prompt, thoughts beside the candidates."""
    given = (usage.input_tokens, usage.cached_read_tokens, usage.cached_write_tokens)
    prompt = [count for count in given if count is not None]
    answer = None if usage.output_tokens is None else usage.output_tokens - (usage.reasoning_tokens or 0)
    counts = {
        "promptTokenCount": sum(prompt) if prompt else None,
        "cachedContentTokenCount": usage.cached_read_tokens,
        "candidatesTokenCount": answer,
        "thoughtsTokenCount": usage.reasoning_tokens,
        "toolUsePromptTokenCount": usage.tool_tokens,
    }
    said = {name: count for name, count in counts.items() if count is not None}
    if NAME not in usage.metadata and usage.total is not None:
        said["totalTokenCount"] = usage.total
    return {**said, **usage.metadata.get(NAME, {})}


class ContentWriter(StreamWriter):
    """Writes one streamed response: every event is a response with the parts that came since the last."""

    def _said(self, *parts: dict[str, Any]) -> bytes:
        candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
        return event({"candidates": [candidate], "modelVersion": self._model, "responseId": self._id})

    def start(self) -> bytes:
        return b""

    def _begin(self, kind: Literal["text", "thinking"]) -> bytes:
        return b""

    def _more(self, kind: Literal["text", "thinking"], piece: str) -> bytes:
        return self._said({"text": piece} if kind == "text" else {"text": piece, "thought": True})

    def _finish(self, kind: Literal["text", "thinking"], part: conv.AnyPart | None) -> bytes:
        signature = getattr(part, "signature", None)
        if signature is None:
            return b""
        thought = {} if kind == "text" else {"thought": True}
        return self._said({"text": "", **thought, "thoughtSignature": signature})

    def _whole(self, part: conv.AnyPart) -> bytes:
        written = _part(part)
        return b"" if written is None else self._said(written)

    def _end(self, reply: conv.Reply) -> bytes:
        return event(
            {**_ended(reply, {"role": "model", "parts": []}), "modelVersion": self._model, "responseId": self._id}
        )

    def fail(self, error: EngineError) -> bytes:
        # Google's own SDKs take no event for an error: they look for JSON that is not one, as Google's server sends it.
        # Gemini CLI 0.61.0 otherwise takes what came before for the whole answer.
        body = SERVER.error(error)[1]
        return event(body) + msgspec.json.encode(body)


SERVER = GenerateServer()
