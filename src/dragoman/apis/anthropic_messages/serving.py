"""The server's side of Messages: what Claude's clients expect to be answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from dragoman.apis.base.api import is_too_long, joined_name
from dragoman.apis.base.serving import (
    Asked,
    ServerSide,
    StreamWriter,
    event,
    is_own,
    known,
    new_id,
    not_shown,
    status_of,
)
from dragoman.errors import EngineError
from dragoman.model import conversation as conv
from dragoman.model.calls import ExecutedBy
from dragoman.model.conversation import FinishReason as Finish
from dragoman.model.json_text import json_text
from dragoman.model.request import Definition, Request

from .blocks import CALLS, write_media, write_text
from .families import NAME, Family
from .reading import is_form, read_thinking

_STOPPED = {
    Finish.STOP_SEQUENCE: "stop_sequence",
    Finish.LENGTH: "max_tokens",
    Finish.CALLS: "tool_use",
    Finish.PAUSED: "pause_turn",
    Finish.REFUSED: "refusal",
    Finish.FILTERED: "refusal",
    Finish.CONTEXT_EXCEEDED: "model_context_window_exceeded",
}
"""Every other reason is `end_turn`."""

_REQUESTS = {"web_search_requests": 0, "web_fetch_requests": 0}
"""What is said of both if any of the provider's tools was used (types of anthropic 2.8.0)."""

_WORDINGS = (Family(thinks="both"), Family(thinks="adaptive"))
"""A family for each way in which this protocol words how much to think."""

_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class MessagesServer(ServerSide):
    """`POST /v1/messages`, `/v1/messages/count_tokens` and `GET /v1/models`."""

    name: ClassVar[str] = NAME
    references: ClassVar[tuple[str, ...]] = ("container", "container_upload")
    effort_options: ClassVar[tuple[str, ...]] = ("thinking", "output_config.effort")
    thought_signature: ClassVar[str | None] = "dragoman"

    def asked(self, method: str, path: str) -> Asked | None:
        if method == "POST" and path.endswith("/messages"):
            return Asked("reply")
        if method == "POST" and path.endswith("/messages/count_tokens"):
            return Asked("count")
        return super().asked(method, path)

    def plain(self, request: Request) -> Request:
        options = dict(request.provider_options)
        form = options.get("output_format")  # the word of the beta, which programs still send
        if request.response_schema is None and is_form(form):
            del options["output_format"]
            request = msgspec.structs.replace(request, response_schema=form["schema"], provider_options=options)
        if request.thinking is not None:
            return request
        for family in _WORDINGS:
            thinking = read_thinking(options, request.max_output_tokens, family)
            if thinking is not None:
                return msgspec.structs.replace(request, thinking=thinking, provider_options=options)
        return request

    def reply(self, reply: conv.Reply, *, model: str, definitions: Sequence[Definition] = ()) -> dict[str, Any]:
        blocks = [block for part in reply.parts if (block := _block(part, reply)) is not None]
        head = _head(reply.id, model)
        return {**head, "content": blocks, **_ending(reply), "usage": _usage(reply)}

    def stream(
        self,
        *,
        model: str,
        id: str | None = None,
        definitions: Sequence[Definition] = (),
        options: Mapping[str, Any] | None = None,
    ) -> StreamWriter:
        return MessageWriter(model, id)

    def error(self, error: EngineError) -> tuple[int, dict[str, Any]]:
        status = status_of(error)
        kind = _ERRORS.get(status, "api_error" if status >= 500 else "invalid_request_error")
        message = error.message
        if is_too_long(error):  # documented words, by which opencode 1.18.33 shortens the conversation
            status, kind = 400, "invalid_request_error"
            message = message if "prompt is too long" in message else f"prompt is too long: {message}"
        return status, {"type": "error", "error": {"type": kind, "message": message}}

    def model(self, name: str, window: int | None) -> dict[str, Any]:
        since = "2025-01-01T00:00:00Z"
        said = {"type": "model", "id": name, "display_name": name, "created_at": since}
        return {**said, **known([("max_input_tokens", window)])}

    def models(self, windows: Mapping[str, int | None]) -> dict[str, Any]:
        names = list(windows)
        rows = [self.model(name, window) for name, window in windows.items()]
        ends = {"first_id": names[0], "last_id": names[-1]} if names else {"first_id": None, "last_id": None}
        return {"data": rows, "has_more": False, **ends}

    def counted(self, tokens: int) -> dict[str, Any]:
        return {"input_tokens": tokens}


def _head(id: str | None, model: str) -> dict[str, Any]:
    return {"id": id or new_id("msg_"), "type": "message", "role": "assistant", "model": model}


def _ending(reply: conv.Reply) -> dict[str, Any]:
    """Why the message ended, and what the API said of it beside the typed fields."""
    if is_own(reply, NAME):
        return {"stop_reason": reply.finish_raw, **reply.metadata.get(NAME, {})}
    stopped_by = reply.metadata.get(NAME, {}).get("stop_sequence")
    return {"stop_reason": _STOPPED.get(reply.finish, "end_turn"), "stop_sequence": stopped_by}


def _block(part: conv.AnyPart, reply: conv.Reply | None) -> dict[str, Any] | None:
    """A part as a block; `None` for what a client of this API cannot be told."""
    match part:
        case conv.TextPart():
            return {**part.metadata.get(NAME, {}), **write_text(part)}
        case conv.ThinkingPart():
            said = {"type": "redacted_thinking", "data": part.encrypted}
            if part.encrypted is None:
                said = {"type": "thinking", "thinking": part.text}
                said |= {} if part.signature is None else {"signature": part.signature}
            return {**part.metadata.get(NAME, {}), **said}
        case conv.CallPart():
            return _call(part)
        case conv.ResultPart(result):
            item = result.item
            mine = isinstance(item, dict) and str(item.get("type")).endswith("_tool_result")
            return item if mine else None
        case conv.RefusalPart():
            told_beside = "stop_details" in part.metadata.get(NAME, {})
            return None if told_beside or not part.text else {"type": "text", "text": part.text}
        case conv.MediaPart(media):
            own = reply is not None and is_own(reply, NAME)
            block = write_media(media) if own else None
            return (
                {"type": "text", "text": not_shown(media.media_type)}
                if block is None
                else block | part.metadata.get(NAME, {})
            )
        case conv.OpaquePart():
            return (
                (part.item.get("unread") if part.item.keys() == {"unread"} else part.item) if part.api == NAME else None
            )


def _call(part: conv.CallPart) -> dict[str, Any] | None:
    call = part.call
    if call.item is not None and call.item.get("type") in tuple(CALLS):
        return call.item
    hosted = call.executed_by is ExecutedBy.PROVIDER
    if hosted and call.item is not None:
        return None
    # A client that gets text where an object is promised fails; one argument `input` it can at least refuse.
    given = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
    kind = "server_tool_use" if hosted else "tool_use"
    return {"type": kind, "id": call.id, "name": joined_name(call.namespace, call.name), "input": given}


def _usage(reply: conv.Reply) -> dict[str, Any]:
    """The counts; a client of this API reads the first and the last whether they were counted or not."""
    usage = reply.usage
    rest = dict(usage.metadata.get(NAME, {}))
    if usage.reasoning_tokens is not None:
        details = rest.get("output_tokens_details")
        rest["output_tokens_details"] = {
            **(details if isinstance(details, dict) else {}),
            "thinking_tokens": usage.reasoning_tokens,
        }
    if usage.requests:
        always = {} if is_own(reply, NAME) else _REQUESTS
        rest["server_tool_use"] = {**always, **{f"{tool}_requests": count for tool, count in usage.requests.items()}}
    tools = usage.tool_tokens
    counts = {
        "input_tokens": usage.input_tokens if not tools else (usage.input_tokens or 0) + tools,
        "cache_creation_input_tokens": usage.cached_write_tokens,
        "cache_read_input_tokens": usage.cached_read_tokens,
        "output_tokens": usage.output_tokens,
    }
    needed = {} if is_own(reply, NAME) else {"input_tokens": 0, "output_tokens": 0}
    return {**needed, **{name: count for name, count in counts.items() if count is not None}, **rest}


def _begun(kind: Literal["text", "thinking"]) -> dict[str, Any]:
    """A text or thought before its first piece. Programs read the signature of every thought (anthropic 2.8.0)."""
    return {"type": kind, kind: ""} | ({"signature": ""} if kind == "thinking" else {})


class MessageWriter(StreamWriter):
    """Writes one streamed message."""

    def __init__(self, model: str, id: str | None) -> None:
        super().__init__(model, id)
        self._index = -1

    def start(self) -> bytes:
        usage = {"input_tokens": 0, "output_tokens": 0}  # counted at the end
        message = {**_head(self._id, self._model), "content": [], "stop_reason": None, "stop_sequence": None}
        return event({"type": "message_start", "message": {**message, "usage": usage}}, "message_start")

    def _started(self, block: dict[str, Any]) -> bytes:
        self._index += 1
        said = {"type": "content_block_start", "index": self._index, "content_block": block}
        return event(said, "content_block_start")

    def _delta(self, **delta: Any) -> bytes:
        said = {"type": "content_block_delta", "index": self._index, "delta": delta}
        return event(said, "content_block_delta")

    def _stopped(self) -> bytes:
        return event({"type": "content_block_stop", "index": self._index}, "content_block_stop")

    def _begin(self, kind: Literal["text", "thinking"]) -> bytes:
        return self._started(_begun(kind))

    def _more(self, kind: Literal["text", "thinking"], piece: str) -> bytes:
        return (
            self._delta(type="text_delta", text=piece)
            if kind == "text"
            else self._delta(type="thinking_delta", thinking=piece)
        )

    def _finish(self, kind: Literal["text", "thinking"], part: conv.AnyPart | None) -> bytes:
        said = b""
        if isinstance(part, conv.ThinkingPart) and part.signature is not None:
            said = self._delta(type="signature_delta", signature=part.signature)
        elif isinstance(part, conv.TextPart):
            cited = write_text(part).get("citations", ())
            said = b"".join(self._delta(type="citations_delta", citation=one) for one in cited)
        return said + self._stopped()

    def _whole(self, part: conv.AnyPart) -> bytes:
        block = _block(part, None)
        if block is None or not isinstance(block, dict):
            return b""
        kind = block.get("type")
        if kind in ("text", "thinking"):
            cited = ("citations",) if block.get("citations") else ()  # they come one by one; none at all come at once
            said = {name: value for name, value in block.items() if name not in (kind, "signature", *cited)}
            begun = self._started({**said, **_begun(kind)})
            more = self._more("text" if kind == "text" else "thinking", block[kind]) if block[kind] else b""
            return begun + more + self._finish("text" if kind == "text" else "thinking", part)
        if kind in CALLS and isinstance(block.get("input"), dict):
            begun = self._started({**block, "input": {}})
            return (
                begun + self._delta(type="input_json_delta", partial_json=json_text(block["input"])) + self._stopped()
            )
        return self._started(block) + self._stopped()

    def _end(self, reply: conv.Reply) -> bytes:
        delta = {"type": "message_delta", "delta": _ending(reply), "usage": _usage(reply)}
        return event(delta, "message_delta") + event({"type": "message_stop"}, "message_stop")

    def fail(self, error: EngineError) -> bytes:
        return event(SERVER.error(error)[1], "error")


SERVER = MessagesServer()
