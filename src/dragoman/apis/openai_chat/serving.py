"""The server's side of Chat Completions: what its clients expect to be answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from dragoman.apis.base.openai_serving import OpenAiServer
from dragoman.apis.base.serving import (
    EFFORTS,
    Asked,
    StreamWriter,
    event,
    is_own,
    new_id,
    not_shown,
    now,
    only,
)
from dragoman.errors import EngineError
from dragoman.model import conversation as conv
from dragoman.model.calls import ExecutedBy
from dragoman.model.conversation import FinishReason as Finish
from dragoman.model.json_values import as_object, as_text
from dragoman.model.request import Definition, Request, Thinking

from .messages import write_message
from .settings import read_numbers, read_thinking
from .values import NAME, of_this_api

_STOPPED = {
    Finish.LENGTH: "length",
    Finish.CONTEXT_EXCEEDED: "length",
    Finish.CALLS: "tool_calls",
    Finish.FILTERED: "content_filter",
    Finish.REFUSED: "content_filter",
}
"""Every other reason is `stop`."""

_WORDINGS = ("gpt-5.1", "any", "deepseek-chat", "qwen3", "mistral-any", "open/any")
"""A model for each way in which this protocol words a setting (`families`)."""

_OF_A_CHOICE = ("choice", "message")


class ChatServer(OpenAiServer):
    """`POST /v1/chat/completions` and `GET /v1/models`. This API has no way to count tokens."""

    name: ClassVar[str] = NAME
    effort_options: ClassVar[tuple[str, ...]] = (
        *("reasoning_effort", "reasoning", "enable_thinking", "thinking_budget", "thinking"),
        "verbosity",  # of GPT-5 alone
    )

    def asked(self, method: str, path: str) -> Asked | None:
        if method == "POST" and path.endswith("/chat/completions"):
            return Asked("reply")
        return super().asked(method, path)

    def plain(self, request: Request) -> Request:
        rest = dict(request.provider_options)
        rest.pop("stream_options", None)  # what is counted is told as the client wants it, and always asked for
        only("n", rest.get("n"), usual=1)
        found: dict[str, Any] = {}
        for model in _WORDINGS:
            found = {**read_numbers(rest, model), **found}
            if request.thinking is None and "thinking" not in found:
                thinking = read_thinking(rest, model)
                found |= {} if thinking is None else {"thinking": thinking}
        level = EFFORTS.get(as_text(rest.get("reasoning_effort")) or "")
        if level is not None and request.thinking is None:
            found.setdefault("thinking", Thinking(level))  # in its own words too, for models of this API
        changes = {name: value for name, value in found.items() if getattr(request, name) in (None, (), False)}
        return msgspec.structs.replace(request, provider_options=rest, **changes)

    def reply(self, reply: conv.Reply, *, model: str, definitions: Sequence[Definition] = ()) -> dict[str, Any]:
        choices = [_choice(one, place, definitions) for place, one in enumerate((reply, *reply.alternatives))]
        own = is_own(reply, NAME)
        rest = {name: said for name, said in of_this_api(reply.metadata).items() if name not in _OF_A_CHOICE}
        head = {
            "id": reply.id or new_id("chatcmpl-"),
            "object": "chat.completion",
            **({} if own else {"created": now()}),
        }
        return {**head, "model": model, **(rest if own else {}), "choices": choices, **_usage(reply)}

    def stream(
        self,
        *,
        model: str,
        id: str | None = None,
        definitions: Sequence[Definition] = (),
        options: Mapping[str, Any] | None = None,
    ) -> StreamWriter:
        counts = options is None or as_object(options.get("stream_options")).get("include_usage") is True
        return ChatWriter(model, id, definitions, counts=counts)

    def counted(self, tokens: int) -> dict[str, Any]:
        return {"input_tokens": tokens}


def _choice(reply: conv.Reply, place: int, definitions: Sequence[Definition]) -> dict[str, Any]:
    said = of_this_api(reply.metadata) if is_own(reply, NAME) else {}
    message = _message(reply.parts, as_object(said.get("message")), definitions)
    return {"index": place, "message": message, "finish_reason": _finish(reply), **as_object(said.get("choice"))}


def _finish(reply: conv.Reply) -> str | None:
    if is_own(reply, NAME):
        return reply.finish_raw
    if any(isinstance(part, conv.RefusalPart) for part in reply.parts):
        return "stop"  # the model refused in words: openai 3.49.0 raises an error for "content_filter"
    return _STOPPED.get(reply.finish, "stop")


def _message(parts: Iterable[conv.AnyPart], kept: dict[str, Any], definitions: Sequence[Definition]) -> dict[str, Any]:
    said: list[conv.AnyPart] = []
    fields: dict[str, Any] = {}
    executed: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    offset = 0
    for part in parts:
        own = of_this_api(getattr(part, "metadata", {}))
        if isinstance(part, conv.CallPart) and part.call.executed_by is ExecutedBy.PROVIDER:
            executed += [part.call.item] if part.call.namespace == "groq" and part.call.item is not None else []
            continue
        if isinstance(part, conv.ResultPart):
            continue  # it stands in the item of its call
        if isinstance(part, conv.TextPart):
            annotations += [_annotation(one, offset) for one in part.citations]
            if "audio" in own:
                fields.setdefault("audio", {})["transcript"] = part.text
                continue
            offset += len(part.text)
        elif isinstance(part, conv.ThinkingPart) and "field" not in own:
            if not part.text:
                continue
            # The field of most servers for a model's thoughts (DeepSeek, llama.cpp, Z.ai in 2026); OpenAI has none.
            part = conv.ThinkingPart(part.text, metadata={NAME: {"field": "reasoning_content"}})
        elif isinstance(part, conv.MediaPart) and own.get("field") == "audio":
            sound = {"id": part.media.file_id, "data": part.media.data, **as_object(own.get("item"))}
            fields.setdefault("audio", {}).update({name: value for name, value in sound.items() if value is not None})
            continue
        elif isinstance(part, conv.MediaPart) and not own:
            part = conv.TextPart(not_shown(part.media.media_type))
        said.append(part)
    message = write_message(said, kept, tuple(definitions))
    if executed:
        fields["executed_tools"] = executed
    if annotations:
        fields["annotations"] = annotations
    return {**message, **fields}


def _annotation(citation: conv.Citation, offset: int) -> dict[str, Any]:
    rest = dict(of_this_api(citation.metadata))
    if "item" in rest:
        return rest["item"]  # type: ignore[no-any-return]  # an annotation as it came
    typed = {"url": citation.url, "title": citation.title, "content": citation.quote}
    inner: dict[str, Any] = {name: value for name, value in typed.items() if value is not None}
    if citation.span is not None:
        inner |= {"start_index": citation.span.start + offset, "end_index": citation.span.end + offset}
    if "type" in rest:
        return {**rest, **(citation.location or {}), **inner}
    return {"type": "url_citation", "url_citation": {**rest, **(citation.location or {}), **inner}}


def _usage(reply: conv.Reply) -> dict[str, Any]:
    """The counts: those of a cache within the prompt, reasoning within the completion."""
    usage = reply.usage
    if usage == conv.Usage():
        return {}
    given = (usage.input_tokens, usage.cached_read_tokens, usage.cached_write_tokens, usage.tool_tokens)
    prompt = [count for count in given if count is not None]
    rest = of_this_api(usage.metadata)
    counts: dict[str, Any] = {
        "prompt_tokens": sum(prompt) if prompt else None,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
    }
    details: dict[str, dict[str, int | None]] = {
        "prompt_tokens_details": {
            "cached_tokens": usage.cached_read_tokens,
            "cache_write_tokens": usage.cached_write_tokens,
        },
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "server_tool_use_details": {f"{tool}_requests": count for tool, count in usage.requests.items()},
    }
    if not is_own(reply, NAME):
        counts = {name: count or 0 for name, count in counts.items()}
    said = {name: count for name, count in counts.items() if count is not None}
    for name, counted in details.items():
        whole = {**as_object(rest.get(name)), **{key: count for key, count in counted.items() if count is not None}}
        if whole:
            said[name] = whole
    return {"usage": {**said, **{name: value for name, value in rest.items() if name not in details}}}


class ChatWriter(StreamWriter):
    """Writes one streamed answer. Parts that arrive whole are sent at the end, in one message."""

    def __init__(self, model: str, id: str | None, definitions: Sequence[Definition], *, counts: bool) -> None:
        super().__init__(model, id or new_id("chatcmpl-"))
        self._definitions, self._counts = definitions, counts
        self._created = now()
        self._parts: list[conv.AnyPart] = []
        self._head: dict[str, Any] = {}

    def _event(self, *choices: dict[str, Any], **more: Any) -> bytes:
        created = {} if self._head else {"created": self._created}
        head = {"id": self._id, "object": "chat.completion.chunk", **created, "model": self._model, **self._head}
        return event({**head, "choices": list(choices), **more})

    def _said(self, delta: dict[str, Any]) -> bytes:
        return self._event({"index": 0, "delta": delta, "finish_reason": None})

    def start(self) -> bytes:
        return self._said({"role": "assistant"})

    def _begin(self, kind: Literal["text", "thinking"]) -> bytes:
        return b""

    def _more(self, kind: Literal["text", "thinking"], piece: str) -> bytes:
        return self._said({"content" if kind == "text" else "reasoning_content": piece})

    def _finish(self, kind: Literal["text", "thinking"], part: conv.AnyPart | None) -> bytes:
        if isinstance(part, conv.TextPart) and part.citations:
            return self._said({"annotations": [_annotation(one, 0) for one in part.citations]})
        return b""

    def _whole(self, part: conv.AnyPart) -> bytes:
        self._parts.append(part)
        return b""

    def _end(self, reply: conv.Reply) -> bytes:
        own = is_own(reply, NAME)
        said = of_this_api(reply.metadata) if own else {}
        delta = _message(self._parts, as_object(said.get("message")), self._definitions)
        delta["tool_calls"] = [{"index": place, **one} for place, one in enumerate(delta.get("tool_calls") or ())]
        delta = {
            name: value
            for name, value in delta.items()
            # The role was in the first piece: openai 3.49.0 appends the texts of all pieces, this one's too.
            if name != "role" and (value or (own and name in as_object(said.get("message"))))
        }
        events = [self._said(delta)] if delta else []
        rest = {name: value for name, value in said.items() if name not in _OF_A_CHOICE}
        ended = {"index": 0, "delta": {}, "finish_reason": _finish(reply), **as_object(said.get("choice"))}
        usage = _usage(reply)
        # Many programs read `choices[0]` of every piece: one without choices comes only to those that asked for it.
        events.append(self._event(ended, **rest, **({} if self._counts else usage)))
        for place, other in enumerate(reply.alternatives, 1):
            told = _choice(other, place, self._definitions)
            events.append(self._event({"delta": told.pop("message"), **told}))
        if usage and self._counts:
            events.append(self._event(**usage))
        return b"".join([*events, b"data: [DONE]\n\n"])

    def fail(self, error: EngineError) -> bytes:
        return event(SERVER.error(error)[1])


SERVER = ChatServer()
