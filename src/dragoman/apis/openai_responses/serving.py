"""The server's side of the Responses API: what its clients expect to be answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from dragoman.apis.base.offered_calls import found_tools
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
from dragoman.model.request import Definition, FunctionDefinition, ProviderDefinition, Request, Thinking

from .content import write_content
from .fields import NAME, mine, without
from .items import OUTPUTS
from .writing import is_own_search, write_call, write_reasoning

_CUT = {
    Finish.LENGTH: "max_output_tokens",
    Finish.CONTEXT_EXCEEDED: "max_output_tokens",
    Finish.FILTERED: "content_filter",
}


class ResponsesServer(OpenAiServer):
    """`POST /v1/responses`, `/v1/responses/input_tokens` and `GET /v1/models`."""

    name: ClassVar[str] = NAME
    effort_options: ClassVar[tuple[str, ...]] = ("reasoning.effort", "text.verbosity")
    thinking_options: ClassVar[tuple[str, ...]] = ("reasoning",)
    references: ClassVar[tuple[str, ...]] = (
        *("previous_response_id", "conversation", "prompt", "item_reference"),
        *("compaction", "compaction_summary"),  # the conversation before it, encrypted
    )

    def asked(self, method: str, path: str) -> Asked | None:
        if method == "POST" and path.endswith("/responses"):
            return Asked("reply")
        if method == "POST" and path.endswith("/responses/input_tokens"):
            return Asked("count")
        return super().asked(method, path)

    def plain(self, request: Request) -> Request:
        """Codex 0.166 looks for deferred tools itself: the search becomes a function, and what it found is offered."""
        only("background", request.provider_options.get("background"), usual=False)
        level = EFFORTS.get(as_text(as_object(request.provider_options.get("reasoning")).get("effort")) or "")
        if level is not None and request.thinking is None:
            request = msgspec.structs.replace(request, thinking=Thinking(level))
        searches = [one for one in request.definitions if is_own_search(one)]
        if not searches:
            return request
        results = (
            part.result for item in request.conversation for part in item.parts if isinstance(part, conv.ResultPart)
        )
        found = {(one.namespace, one.name): one for result in results for one in found_tools(result)}
        functions = {id(one): _as_function(one) for one in searches}
        definitions = (functions.get(id(one), one) for one in request.definitions)
        return msgspec.structs.replace(request, definitions=(*definitions, *found.values()))

    def reply(self, reply: conv.Reply, *, model: str, definitions: Sequence[Definition] = ()) -> dict[str, Any]:
        head = _head(reply.id, model)
        output = [item for _, item in _items(reply.parts, definitions)]
        return {**head, **_ending(reply), "output": output, "usage": _usage(reply)}

    def stream(
        self,
        *,
        model: str,
        id: str | None = None,
        definitions: Sequence[Definition] = (),
        options: Mapping[str, Any] | None = None,
    ) -> StreamWriter:
        return ResponseWriter(model, id, definitions)

    def counted(self, tokens: int) -> dict[str, Any]:
        return {"object": "response.input_tokens", "input_tokens": tokens}


def _as_function(search: Definition) -> Definition:
    assert isinstance(search, ProviderDefinition)
    text, schema = search.settings.get("description"), search.settings.get("parameters")
    described = text if isinstance(text, str) else "Look for tools that can be called but are not offered yet."
    return FunctionDefinition(search.name or search.wire_type, described, as_object(schema))


def _head(id: str | None, model: str) -> dict[str, Any]:
    return {"id": id or new_id("resp_"), "object": "response", "model": model}


_UNSTATED: dict[str, Any] = {
    # What the official clients read of every response, whatever was asked (types of openai 3.49.0).
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "temperature": None,
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
}


def _ending(reply: conv.Reply) -> dict[str, Any]:
    if is_own(reply, NAME):
        return mine(reply.metadata)
    cut = _CUT.get(reply.finish)
    if reply.finish is Finish.REFUSED and not any(isinstance(part, conv.RefusalPart) for part in reply.parts):
        cut = "content_filter"  # what was said before it was cut off is no whole answer
    status = {"status": "completed"} if cut is None else {"status": "incomplete", "incomplete_details": {"reason": cut}}
    return {"created_at": now(), **_UNSTATED, **status}


def _items(parts: Sequence[conv.AnyPart], definitions: Sequence[Definition]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The items of an output, each with the place of its last part. Texts that came in one message stay in one."""
    held: dict[str, Any] | None = None
    place = 0
    for number, part in enumerate(parts):
        said = mine(getattr(part, "metadata", {}))
        envelope, content = as_object(said.get("message")), None
        if isinstance(part, conv.TextPart | conv.RefusalPart | conv.MediaPart):
            content = write_content(part, "output_text")
        elif isinstance(part, conv.OpaquePart) and part.api == NAME and _is_piece(part.item):
            envelope, content = without(part.item, "content"), part.item["content"][0]
        if content is None or not envelope:
            item = _item(part, content, definitions)
            if item is None:
                continue
            if held is not None:
                yield place, held
                held = None
            yield number, item
        elif held is not None and without(held, "content") == envelope and said.get("index", 1) != 0:
            held["content"].append(content)
            place = number
        else:
            if held is not None:
                yield place, held
            held, place = {**envelope, "content": [content]}, number
    if held is not None:
        yield place, held


def _is_piece(item: dict[str, Any]) -> bool:
    """Whether an item is a message with the one content that nobody could read."""
    content = item.get("content")
    return item.get("type") == "message" and isinstance(content, list) and len(content) == 1


def _item(
    part: conv.AnyPart, content: dict[str, Any] | None, definitions: Sequence[Definition]
) -> dict[str, Any] | None:
    match part:
        case conv.TextPart() | conv.RefusalPart() | conv.MediaPart():
            if isinstance(part, conv.MediaPart) or content is None:
                kind = part.media.media_type if isinstance(part, conv.MediaPart) else "content"
                content = {"type": "output_text", "text": not_shown(kind)}
            content = {"annotations": [], **content} if content["type"] == "output_text" else content
            return {**_message(), "content": [content]}
        case conv.ThinkingPart():
            if NAME in part.metadata:
                return write_reasoning(part)
            # What another maker's model thought: its words, and nothing that looks like a proof of them.
            summary = [{"type": "summary_text", "text": part.text}] if part.text else []
            return {"type": "reasoning", "id": new_id("rs_"), "summary": summary} if summary else None
        case conv.CallPart(call):
            if call.executed_by is ExecutedBy.PROVIDER and (call.item is None or "type" not in call.item):
                return None
            own = NAME in part.metadata or call.item is not None
            item = write_call(part, tuple(definitions))
            stated = {} if own else {"id": new_id("fc_"), "status": "completed"}
            return {"type": item["type"], **stated, **without(item, "type")}
        case conv.ResultPart(result):
            item = as_object(result.item)
            return item if as_text(item.get("type")) in OUTPUTS else None
        case conv.OpaquePart():
            return part.item if part.api == NAME else None


def _message() -> dict[str, Any]:
    return {"type": "message", "id": new_id("msg_"), "role": "assistant", "status": "completed"}


def _usage(reply: conv.Reply) -> dict[str, Any] | None:
    """The counts, those of a cache within the whole as this API has them."""
    usage = reply.usage
    if usage == conv.Usage():
        return None
    own = is_own(reply, NAME)
    rest = dict(mine(usage.metadata))
    parts = (usage.input_tokens, usage.cached_read_tokens, usage.cached_write_tokens, usage.tool_tokens)
    given = [count for count in parts if count is not None]
    needed = None if own else 0  # the types of openai 3.49.0 ask for all of them

    def stated(count: int | None) -> int | None:
        return needed if count is None else count

    inner = {
        "cached_tokens": stated(usage.cached_read_tokens),
        "cache_write_tokens": stated(usage.cached_write_tokens),
    }
    outer = {"reasoning_tokens": stated(usage.reasoning_tokens)}
    counts: dict[str, Any] = {
        "input_tokens": sum(given) if given else needed,
        "output_tokens": stated(usage.output_tokens),
    }
    counts["total_tokens"] = (counts["input_tokens"] or 0) + (counts["output_tokens"] or 0)
    for name, counted in (("input_tokens_details", inner), ("output_tokens_details", outer)):
        details = {**as_object(rest.get(name)), **{key: count for key, count in counted.items() if count is not None}}
        if details:
            counts[name] = details
    if own and usage.requests and "tool_usage" not in mine(reply.metadata):  # xAI: in its usage (grok-4.3)
        counts["server_side_tool_usage_details"] = {f"{tool}_calls": count for tool, count in usage.requests.items()}
    return {**{name: count for name, count in counts.items() if count is not None}, **without(rest, *counts)}


class ResponseWriter(StreamWriter):
    """Writes one streamed response."""

    def __init__(self, model: str, id: str | None, definitions: Sequence[Definition]) -> None:
        super().__init__(model, id)
        self._definitions = definitions
        self._number = -1
        self._output: list[dict[str, Any]] = []
        self._item: dict[str, Any] = {}
        self._pieces: list[str] = []
        self._waiting: list[conv.AnyPart] = []
        """Parts that may stand in one item with the next."""
        self._created = now()

    def _event(self, kind: str, **said: Any) -> bytes:
        self._number += 1
        return event({"type": kind, "sequence_number": self._number, **said}, kind)

    def _response(self, **said: Any) -> dict[str, Any]:
        if self._id is None:
            self._id = new_id("resp_")
        return {**_head(self._id, self._model), **said}

    def start(self) -> bytes:
        response = self._response(created_at=self._created, status="in_progress", **_UNSTATED, output=[], usage=None)
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    # ── in pieces ──────────────────────────────────────────────────────────

    def _begin(self, kind: Literal["text", "thinking"]) -> bytes:
        self._pieces = []
        before = self._flushed()
        place = len(self._output)
        if kind == "text":
            self._item = {**_message(), "status": "in_progress", "content": []}
            part: dict[str, Any] = {"type": "output_text", "text": "", "annotations": []}
            added = {"content_index": 0}
            second = "response.content_part.added"
        else:
            self._item = {"type": "reasoning", "id": new_id("rs_"), "summary": []}
            part = {"type": "summary_text", "text": ""}
            added = {"summary_index": 0}
            second = "response.reasoning_summary_part.added"
        first = self._event("response.output_item.added", output_index=place, item=self._item)
        return before + first + self._event(second, item_id=self._item["id"], output_index=place, **added, part=part)

    def _more(self, kind: Literal["text", "thinking"], piece: str) -> bytes:
        self._pieces.append(piece)
        name, index = _DELTAS[kind]
        where = {"item_id": self._item["id"], "output_index": len(self._output), index: 0}
        return self._event(f"{name}.delta", **where, delta=piece, **_LIKELIHOODS[kind])

    def _finish(self, kind: Literal["text", "thinking"], part: conv.AnyPart | None) -> bytes:
        text, place = "".join(self._pieces), len(self._output)
        name, index = _DELTAS[kind]
        where = {"item_id": self._item["id"], "output_index": place, index: 0}
        if kind == "text":
            content: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
            if isinstance(part, conv.TextPart):
                content = {**content, **(write_content(part, "output_text") or {})}
            item = {**self._item, "status": "completed", "content": [content]}
            ended = "response.content_part.done"
        else:
            content = {"type": "summary_text", "text": text}
            item = {**self._item, "summary": [content]}
            ended = "response.reasoning_summary_part.done"
        done = self._event(f"{name}.done", **where, text=text, **_LIKELIHOODS[kind])
        done += self._event(ended, **where, part=content)
        self._output.append(item)
        return done + self._event("response.output_item.done", output_index=place, item=item)

    # ── whole ──────────────────────────────────────────────────────────────

    def _whole(self, part: conv.AnyPart) -> bytes:
        self._waiting.append(part)
        if isinstance(part, conv.TextPart | conv.RefusalPart | conv.MediaPart | conv.OpaquePart):
            return b""
        return self._flushed()

    def _flushed(self) -> bytes:
        waiting, self._waiting = self._waiting, []
        return b"".join(self._written(item) for _, item in _items(waiting, self._definitions))

    def _written(self, item: dict[str, Any]) -> bytes:
        place = len(self._output)
        self._output.append(item)
        kind = _CALLS.get(str(item.get("type")))
        if kind is None:
            added = self._event("response.output_item.added", output_index=place, item=item)
            return added + self._event("response.output_item.done", output_index=place, item=item)
        field, name = kind
        where = {"item_id": item.get("id"), "output_index": place}
        begun = {**item, field: "", **({"status": "in_progress"} if "status" in item else {})}
        said = item.get(field)
        events = [self._event("response.output_item.added", output_index=place, item=begun)]
        if isinstance(said, str):
            events.append(self._event(f"{name}.delta", **where, delta=said))
            events.append(self._event(f"{name}.done", **where, **{field: said}))
        return b"".join([*events, self._event("response.output_item.done", output_index=place, item=item)])

    def _end(self, reply: conv.Reply) -> bytes:
        last = self._flushed()
        said = {"created_at": self._created, **_ending(reply)}
        if is_own(reply, NAME):
            said = _ending(reply)
        response = self._response(**said, output=self._output, usage=_usage(reply))
        status = as_text(said.get("status")) or "completed"
        name = status if status in ("completed", "incomplete", "failed", "cancelled") else "completed"
        return last + self._event(f"response.{name}", response=response)

    def fail(self, error: EngineError) -> bytes:
        body = SERVER.error(error)[1]["error"]
        told = {"code": body["code"] or "server_error", "message": body["message"]}
        said = {"created_at": self._created, **_UNSTATED, "status": "failed", "error": told}
        return self._event("response.failed", response=self._response(**said, output=self._output, usage=None))


_DELTAS: dict[Literal["text", "thinking"], tuple[str, str]] = {
    "text": ("response.output_text", "content_index"),
    "thinking": ("response.reasoning_summary_text", "summary_index"),
}
_LIKELIHOODS: dict[Literal["text", "thinking"], dict[str, Any]] = {"text": {"logprobs": []}, "thinking": {}}
"""How likely each piece was, which events of texts always state (types of openai 3.49.0)."""
_CALLS = {
    "function_call": ("arguments", "response.function_call_arguments"),
    "custom_tool_call": ("input", "response.custom_tool_call_input"),
}
SERVER = ResponsesServer()
