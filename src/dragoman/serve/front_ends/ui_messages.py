"""The UI message stream of Vercel's AI SDK, which `useChat` reads (ai 7.0.173)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.engine import Answer, RunResult
from dragoman.errors import ConfigError
from dragoman.model import Content, FinishReason, Media, NativeCall, NativeResult, conversation as conv
from dragoman.model.json_text import json_text

from .protocol import (
    Asked,
    Asking,
    Events,
    Kind,
    Protocol,
    RunWriter,
    checked,
    content_text,
    data_url,
    has_media,
    new_id,
    objects,
    read_arguments,
    read_url,
    refuse_instructions,
    text_of,
)

_FINISHES = {
    FinishReason.LENGTH: "length",
    FinishReason.CONTEXT_EXCEEDED: "length",
    FinishReason.REFUSED: "content-filter",
    FinishReason.FILTERED: "content-filter",
}


class UiMessages(Protocol):
    """`POST` of `{id, messages}`, as `DefaultChatTransport` sends it, answered with chunks of one assistant message."""

    name = "ui_messages"
    headers: Mapping[str, str] = {
        "content-type": "text/event-stream",
        "cache-control": "no-cache",
        "x-vercel-ai-ui-message-stream": "v1",
        "x-accel-buffering": "no",
    }
    end = b"data: [DONE]\n\n"
    asks_to_resume = True

    def read(self, body: dict[str, Any], *, instructions: bool) -> Asked:
        messages = objects(body.get("messages"), "messages")
        items: list[conv.ConversationItem] = []
        for message in messages:
            items += _read_message(message, instructions=instructions)
        thread = body.get("id")
        thread = thread if isinstance(thread, str) else new_id()
        last = messages[-1] if messages else {}
        if last.get("role") == "assistant" and (answers := _read_answers(last)):
            # The client adds what comes now to this message, if it begins with its id.
            return Asked(tuple(items), thread, text_of(last, "id"), messages, answers=answers)
        return Asked(checked(tuple(items)), thread, new_id(), messages)

    def writer(self, asked: Asked, *, masked: bool) -> RunWriter:
        return UiMessageWriter(asked, masked=masked)


def _read_message(message: dict[str, Any], *, instructions: bool) -> list[conv.ConversationItem]:
    role, parts = message.get("role"), objects(message.get("parts"), "the parts of a message")
    if role == "user":
        return [conv.Message("user", tuple(one for part in parts for one in _read_part(part)))]
    if role == "system":
        if not instructions:
            refuse_instructions(role)
        return [conv.Message("system", tuple(one for part in parts for one in _read_part(part)))]
    if role != "assistant":
        raise ConfigError(f"a message cannot have the role {role!r}")
    items: list[conv.ConversationItem] = []
    said: list[conv.AnyPart] = []
    results: list[conv.AnyPart] = []
    for part in [*parts, {"type": "step-start"}]:
        kind = part.get("type")
        if kind == "step-start":  # the results of one step come before the next
            items += [conv.Message("assistant", tuple(said))] if said else []
            items += [conv.Message("tool", tuple(results))] if results else []
            said, results = [], []
        elif kind == "dynamic-tool" or str(kind).startswith("tool-"):
            name = text_of(part, "toolName") if kind == "dynamic-tool" else str(kind).removeprefix("tool-")
            id = text_of(part, "toolCallId")
            result = _read_result(id, part)
            if result is not None:  # a call that was interrupted has none, and says nothing
                said.append(conv.CallPart(NativeCall(id, name, read_arguments(part.get("input")))))
                results.append(conv.ResultPart(result))
        else:
            said += _read_part(part)
    return items


def _read_answers(message: dict[str, Any]) -> dict[str, Answer]:
    """What the user said to calls that wait for approval."""
    answers: dict[str, Answer] = {}
    for part in objects(message.get("parts"), "the parts of a message"):
        approval = part.get("approval")
        if part.get("state") == "approval-responded" and isinstance(approval, dict):
            reason = approval.get("reason")
            answers[text_of(approval, "id")] = Answer(
                allowed=approval.get("approved") is True, reason=reason if isinstance(reason, str) and reason else None
            )
    return answers


def _read_part(part: dict[str, Any]) -> tuple[conv.AnyPart, ...]:
    kind = part.get("type")
    if kind == "text":
        text = text_of(part, "text")
        return (conv.TextPart(text),) if text else ()
    if kind == "file":
        mime, name = part.get("mediaType"), part.get("filename")
        mime = mime if isinstance(mime, str) and "/" in mime else None
        return (conv.MediaPart(read_url(part.get("url"), mime, name if isinstance(name, str) else None)),)
    if kind in ("reasoning", "reasoning-file", "source-url", "source-document", "custom") or str(kind).startswith(
        "data-"
    ):
        return ()  # a provider takes thoughts back signed only; the others are for the page
    raise ConfigError(f"a part of a message cannot be of the type {kind!r}")


def _read_result(id: str, part: dict[str, Any]) -> NativeResult | None:
    match part.get("state"):
        case "output-available":
            return NativeResult(id, _read_output(part.get("output")))
        case "output-error":
            return NativeResult(id, text_of(part, "errorText"), is_error=True)
        case "output-denied":
            approval = part.get("approval")
            reason = approval.get("reason") if isinstance(approval, dict) else None
            return NativeResult(id, f"The user refused this call{f': {reason}' if reason else '.'}", is_error=True)
    return None


def _read_output(output: Any) -> Content:
    """What a tool gave: text, JSON as text, or the texts and files that `_output` writes."""
    if isinstance(output, str):
        return output
    files = isinstance(output, list) and any(isinstance(one, dict) and one.get("type") == "file" for one in output)
    if not files or not all(isinstance(one, dict) and one.get("type") in ("text", "file") for one in output):
        return json_text(output)
    parts = [part for one in output for part in _read_part(one)]
    return tuple(part.media if isinstance(part, conv.MediaPart) else part.text for part in parts)  # type: ignore[union-attr]


def _output(content: Content) -> Any:
    """What a tool gave: text, or with pictures a list of texts and files in the form of the parts of a message."""
    if isinstance(content, str) or not has_media(content):
        return content_text(content)
    return [part for piece in content for part in _piece(piece)]


def _piece(piece: str | Media) -> Events:
    if isinstance(piece, str):
        return [{"type": "text", "text": piece}]
    url = data_url(piece)
    if url is None:
        return [{"type": "text", "text": content_text((piece,))}]
    return [{"type": "file", "url": url, "mediaType": piece.media_type}]


class UiMessageWriter(RunWriter):
    """Writes the chunks of one assistant message."""

    def start(self) -> Events:
        return [{"type": "start", "messageId": self._asked.run}]

    def _begin_round(self) -> Events:
        return [{"type": "start-step"}]

    def _end_round(self) -> Events:
        return [{"type": "finish-step"}]

    def _restarted(self) -> Events:
        return [{"type": "reset-step"}]

    def _begin(self, kind: Kind, id: str) -> Events:
        return [{"type": f"{_NAMES[kind]}-start", "id": id}]

    def _more(self, kind: Kind, id: str, text: str) -> dict[str, Any]:
        return {"type": f"{_NAMES[kind]}-delta", "id": id, "delta": text}

    def _end(self, kind: Kind, id: str) -> Events:
        return [{"type": f"{_NAMES[kind]}-end", "id": id}]

    def _call(self, id: str, name: str) -> Events:
        return [{"type": "tool-input-start", "toolCallId": id, "toolName": name, "dynamic": True}]

    def _more_arguments(self, id: str, text: str) -> dict[str, Any]:
        return {"type": "tool-input-delta", "toolCallId": id, "inputTextDelta": text}

    def _end_call(self, call: NativeCall) -> Events:
        whole = {"type": "tool-input-available", "toolCallId": call.id, "toolName": call.name, "dynamic": True}
        return [{**whole, "input": call.arguments}]

    def _broken_call(self, id: str) -> Events:
        return []

    def _returned_call(self, result: NativeResult, *, failed: bool) -> Events:
        which = {"toolCallId": result.call_id, "dynamic": True}
        if failed:
            return [{"type": "tool-output-error", **which, "errorText": content_text(result.content)}]
        return [{"type": "tool-output-available", **which, "output": _output(result.content)}]

    def _media(self, media: Media) -> Events:
        return [part for part in _piece(media) if part["type"] == "file"]

    def _citation(self, citation: conv.Citation) -> Events:
        if citation.url is None:
            return []
        source = {"type": "source-url", "sourceId": new_id(), "url": citation.url}
        return [source | ({"title": citation.title} if citation.title else {})]

    def _ask(self, asking: Sequence[Asking], result: RunResult[Any]) -> Events:
        requests = []
        for one in asking:
            request = {"type": "tool-approval-request", "approvalId": one.id, "toolCallId": one.call.id}
            requests.append(request | ({"reason": one.reason} if one.reason else {}))
        return [*requests, {"type": "finish", "finishReason": "tool-calls"}]

    def _finish(self, result: RunResult[Any]) -> Events:
        finish = None if result.finish is None else _FINISHES.get(result.finish, "stop")
        output: Events = []
        if result.output is not None:
            output = [{"type": "data-output", "data": msgspec.to_builtins(result.output, enc_hook=str)}]
        return [*output, {"type": "finish", "finishReason": finish or "other"}]

    def _fail(self, message: str, code: str) -> Events:
        return [{"type": "error", "errorText": message}, {"type": "finish", "finishReason": "error"}]


_NAMES: dict[Kind, str] = {"text": "text", "thinking": "reasoning"}
