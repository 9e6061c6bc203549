"""AG-UI, the protocol that CopilotKit and others speak (@ag-ui/core 1.0.0)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.engine import Answer, RunResult
from dragoman.errors import ConfigError
from dragoman.model import Content, Media, NativeCall, NativeResult, conversation as conv
from dragoman.tools.workspace import measured

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

_MEDIA = ("image", "audio", "video", "document")


class AgUi(Protocol):
    """`POST` of a `RunAgentInput`, answered with AG-UI's events.

    Tools that the front end runs itself, and state shared with it, are not used: a note says so.
    """

    name = "ag_ui"
    headers: Mapping[str, str] = {"content-type": "text/event-stream", "cache-control": "no-cache"}

    def read(self, body: dict[str, Any], *, instructions: bool) -> Asked:
        messages = objects(body.get("messages"), "messages")
        items: list[conv.ConversationItem] = []
        for message in messages:
            items += _read_message(message, instructions=instructions)
        context = [one for one in objects(body.get("context") or [], "context") if one.get("value")]
        if context and items:  # what the application knows of this moment belongs to what the user says now
            said = "\n".join(f"{one.get('description', '')}: {one['value']}" for one in context)
            last = items[-1]
            items[-1] = msgspec.structs.replace(last, parts=(conv.TextPart(f"Context:\n{said}\n\n"), *last.parts))
        notes = ["tools of the client are not used"] if body.get("tools") else []
        notes += ["the state of the client is not used"] if body.get("state") else []
        thread, run = (text_of(body, name) for name in ("threadId", "runId"))
        answers = dict(map(_read_answer, objects(body.get("resume") or [], "resume")))
        if answers and items and items[-1].role == "user":
            raise ConfigError("answer what the run waits for first, without a new message")
        conversation = tuple(items) if answers else checked(tuple(items))
        return Asked(conversation, thread, run, messages, tuple(notes), answers)

    def writer(self, asked: Asked, *, masked: bool) -> RunWriter:
        return AgUiWriter(asked, masked=masked)


def _read_message(message: dict[str, Any], *, instructions: bool) -> list[conv.ConversationItem]:
    role = message.get("role")
    match role:
        case "user":
            return [conv.Message("user", _read_content(message.get("content")))]
        case "assistant":
            text = message.get("content")
            parts: list[conv.AnyPart] = [conv.TextPart(text)] if isinstance(text, str) and text else []
            for call in objects(message.get("toolCalls") or [], "toolCalls"):
                function = call.get("function")
                if not isinstance(function, dict):
                    raise ConfigError("a tool call needs a function")
                arguments = read_arguments(function.get("arguments"))
                parts.append(conv.CallPart(NativeCall(text_of(call, "id"), text_of(function, "name"), arguments)))
            return [conv.Message("assistant", tuple(parts))] if parts else []
        case "tool":
            pieces = tuple(_piece(part) for part in _read_content(message.get("content")))
            content: Content = pieces[0] if len(pieces) == 1 and isinstance(pieces[0], str) else pieces
            result = NativeResult(text_of(message, "toolCallId"), content, is_error=bool(message.get("error")) or None)
            return [conv.Message("tool", (conv.ResultPart(result),))]
        case "system" | "developer":
            if not instructions:
                refuse_instructions(role)
            return [conv.Message(role, (conv.TextPart(text_of(message, "content")),))]
        case "reasoning" | "activity":  # a provider takes thoughts back signed only, and activities are the page's own
            return []
    raise ConfigError(f"a message cannot have the role {role!r}")


def _read_answer(entry: dict[str, Any]) -> tuple[str, Answer]:
    """What the user said to a call that waits for approval: `{"approved": true}`, or plain `true`."""
    id, payload = text_of(entry, "interruptId"), entry.get("payload")
    said = payload if isinstance(payload, dict) else {"approved": payload}
    if entry.get("status") == "cancelled":
        return id, Answer(allowed=False, reason="the user gave no answer")
    approved, reason = said.get("approved"), said.get("reason")
    if not isinstance(approved, bool):
        raise ConfigError('the answer to an approval is an object with "approved": true or false')
    return id, Answer(allowed=approved, reason=reason if isinstance(reason, str) and reason else None)


def _read_content(content: Any) -> tuple[conv.AnyPart, ...]:
    if isinstance(content, str):
        return (conv.TextPart(content),) if content else ()
    return tuple(_read_part(part) for part in objects(content, "the content of a message"))


def _read_part(part: dict[str, Any]) -> conv.AnyPart:
    kind, source = part.get("type"), part.get("source")
    if kind == "text":
        return conv.TextPart(text_of(part, "text"))
    if kind not in _MEDIA or not isinstance(source, dict):
        raise ConfigError(f"a part of a message cannot be of the type {kind!r}")
    mime = source.get("mimeType")
    if source.get("type") == "data":
        return conv.MediaPart(measured(Media(text_of(source, "mimeType"), text_of(source, "value"))))
    if source.get("type") == "url":
        return conv.MediaPart(read_url(source.get("value"), mime if isinstance(mime, str) else None))
    raise ConfigError(f"a source of the type {source.get('type')!r} cannot be read: send data or a URL")


def _piece(part: conv.AnyPart) -> str | Media:
    return part.media if isinstance(part, conv.MediaPart) else part.text  # type: ignore[union-attr]


def _content(content: Content) -> Any:
    """A result: text, or with pictures the parts of a message."""
    if isinstance(content, str) or not has_media(content):
        return content_text(content)
    return [_written(piece) for piece in content]


def _written(piece: str | Media) -> dict[str, Any]:
    if isinstance(piece, str) or data_url(piece) is None:
        return {"type": "text", "text": content_text((piece,))}
    kind = piece.media_type.partition("/")[0]
    source = {"type": "url", "value": piece.url} if piece.data is None else {"type": "data", "value": piece.data}
    return {"type": kind if kind in _MEDIA else "document", "source": {**source, "mimeType": piece.media_type}}


_ANSWER: Mapping[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved"],
}
"""The schema of the answer to a call that waits for approval."""


class AgUiWriter(RunWriter):
    """Writes AG-UI's events."""

    def __init__(self, asked: Asked, *, masked: bool) -> None:
        super().__init__(asked, masked=masked)
        self._message = ""
        """The id of the message that the calls of this round belong to."""
        self._made: list[dict[str, Any]] = []
        """The messages of this run so far, as a client has them."""
        self._kept = 0
        """How many of them are from earlier rounds."""

    def start(self) -> Events:
        begun = {"type": "RUN_STARTED", "threadId": self._asked.thread, "runId": self._asked.run}
        return [begun, *({"type": "CUSTOM", "name": "dragoman.note", "value": note} for note in self._asked.notes)]

    def _begin_round(self) -> Events:
        self._message, self._kept = new_id(), len(self._made)
        return [{"type": "STEP_STARTED", "stepName": f"round {self._round}"}]

    def _end_round(self) -> Events:
        return [{"type": "STEP_FINISHED", "stepName": f"round {self._round}"}]

    def _restarted(self) -> Events:
        del self._made[self._kept :]
        self._message = new_id()
        return [{"type": "MESSAGES_SNAPSHOT", "messages": [*self._asked.messages, *self._made]}]

    def _begin(self, kind: Kind, id: str) -> Events:
        if kind == "text":
            self._message = id
            self._made.append({"id": id, "role": "assistant", "content": ""})
            return [{"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}]
        self._made.append({"id": id, "role": "reasoning", "content": ""})
        return [
            {"type": "REASONING_START", "messageId": id},
            {"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"},
        ]

    def _more(self, kind: Kind, id: str, text: str) -> dict[str, Any]:
        self._made[-1]["content"] += text
        name = "TEXT_MESSAGE_CONTENT" if kind == "text" else "REASONING_MESSAGE_CONTENT"
        return {"type": name, "messageId": id, "delta": text}

    def _end(self, kind: Kind, id: str) -> Events:
        if kind == "text":
            return [{"type": "TEXT_MESSAGE_END", "messageId": id}]
        return [{"type": "REASONING_MESSAGE_END", "messageId": id}, {"type": "REASONING_END", "messageId": id}]

    def _call(self, id: str, name: str) -> Events:
        call = {"id": id, "type": "function", "function": {"name": name, "arguments": ""}}
        parent = next((one for one in self._made if one["id"] == self._message), None)
        if parent is None:
            parent = {"id": self._message, "role": "assistant"}
            self._made.append(parent)
        parent.setdefault("toolCalls", []).append(call)
        begun = {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name}
        return [{**begun, "parentMessageId": self._message}]

    def _more_arguments(self, id: str, text: str) -> dict[str, Any]:
        for message in self._made:
            for call in message.get("toolCalls", ()):
                if call["id"] == id:
                    call["function"]["arguments"] += text
        return {"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": text}

    def _end_call(self, call: NativeCall) -> Events:
        return [{"type": "TOOL_CALL_END", "toolCallId": call.id}]

    def _broken_call(self, id: str) -> Events:
        return [{"type": "TOOL_CALL_END", "toolCallId": id}]

    def _returned_call(self, result: NativeResult, *, failed: bool) -> Events:
        id, content = new_id(), _content(result.content)
        message = {"id": id, "role": "tool", "toolCallId": result.call_id, "content": content}
        self._made.append(message | ({"error": content_text(result.content)} if failed else {}))
        told = {"type": "TOOL_CALL_RESULT", "messageId": id, "toolCallId": result.call_id, "content": content}
        return [{**told, "role": "tool"}]

    def _media(self, media: Media) -> Events:
        value = {"mediaType": media.media_type, "url": data_url(media)}
        return [{"type": "CUSTOM", "name": "dragoman.media", "value": value}]

    def _citation(self, citation: conv.Citation) -> Events:
        value = {"url": citation.url, "title": citation.title, "quote": citation.quote}
        return [{"type": "CUSTOM", "name": "dragoman.citation", "value": value}]

    def _ask(self, asking: Sequence[Asking], result: RunResult[Any]) -> Events:
        interrupts = [
            {
                "id": one.id,
                "reason": "tool_call",
                "message": f"Run {one.call.name}?" + (f" {one.reason}" if one.reason else ""),
                "toolCallId": one.call.id,
                "responseSchema": _ANSWER,
            }
            for one in asking
        ]
        return [self._run_finished(result, {"type": "interrupt", "interrupts": interrupts})]

    def _finish(self, result: RunResult[Any]) -> Events:
        ended = self._run_finished(result, {"type": "success"})
        if result.output is not None:
            ended["result"] = msgspec.to_builtins(result.output, enc_hook=str)
        return [ended]

    def _run_finished(self, result: RunResult[Any], outcome: dict[str, Any]) -> dict[str, Any]:
        ended = {"type": "RUN_FINISHED", "threadId": self._asked.thread, "runId": self._asked.run}
        return {**ended, "outcome": outcome, "usage": [_usage(result.usage)]}

    def _fail(self, message: str, code: str) -> Events:
        return [{"type": "RUN_ERROR", "message": message, "code": code}]


def _usage(usage: conv.Usage) -> dict[str, Any]:
    """Tokens as the protocol counts them: its input tokens include those of the cache."""
    cached = (usage.cached_read_tokens, usage.cached_write_tokens)
    given = [count for count in (usage.input_tokens, *cached) if count is not None]
    counts = {
        "inputTokens": sum(given) if given else None,
        "outputTokens": usage.output_tokens,
        "reasoningTokens": usage.reasoning_tokens,
        "cachedInputTokens": cached[0],
        "cacheWriteInputTokens": cached[1],
    }
    return {name: count for name, count in counts.items() if count is not None}
