"""Streams of this protocol: events → chunks, and the reply the whole body would have given.

Rules: an item is known by its place (`output_index`), because ids rotate between the events of one item on some
servers. What an item or the last event says whole counts; what came in pieces counts where nothing whole came.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from dragoman.apis.base.api import StreamDecoder
from dragoman.errors import EngineError
from dragoman.model import request as req
from dragoman.model.calls import NativeCall
from dragoman.model.conversation import CallPart, RefusalPart, Reply, ResultPart, TextPart, ThinkingPart
from dragoman.model.json_values import as_list, as_name, as_object
from dragoman.model.request import ArgumentsChunk, TextChunk, ThinkingChunk

from .content import read_citation
from .fields import NAME, as_count, without
from .items import SEPARATOR, ItemReader, image_chunk, synthetic_id
from .replies import read_error, read_reply

_TERMINAL = ("response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done")
_STEPS = ("response.created", "response.in_progress", "response.queued")
_SILENT = ("keepalive", "ping")
_WHOLE = frozenset(
    {
        "response.output_text.done",
        "response.refusal.done",
        "response.content_part.added",
        "response.content_part.done",
        "response.reasoning_part.added",
        "response.reasoning_part.done",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_part.done",
        "response.reasoning_summary_text.done",
        "response.reasoning_text.done",
        "response.custom_tool_call_input.done",
        "response.mcp_call_arguments.done",
        "response.code_interpreter_call_code.done",
        "response.shell_call_command.added",
        "response.shell_call_command.done",
        "response.shell_call_output_content.delta",
        "response.shell_call_output_content.done",
    }
)
"""Events that repeat what deltas have said or the item will say."""


class _Item:
    """One item while it arrives."""

    __slots__ = ("annotations", "call", "code", "done", "item", "pieces", "places", "thought")

    def __init__(self, item: dict[str, Any]) -> None:
        self.item = item
        self.done = False
        self.call: str | None = None
        """The id under which its call was started."""
        self.pieces: list[str] = []
        """Of a call's arguments."""
        self.code: dict[int, list[str]] = {}
        """Pieces of code or of shell commands, by place."""
        self.places: dict[tuple[str, int], list[str]] = {}
        """(field, place) → pieces of text, refusal or thinking."""
        self.thought: tuple[str, int] | None = None
        """The place of the thinking that came last."""
        self.annotations: dict[int, list[dict[str, Any]]] = {}
        """Place → what was cited there."""


class _Text(msgspec.Struct, gc=False):
    """A plain event: more of a text. What else stands in it (its number, padding) is passed over in any case."""

    type: Literal["response.output_text.delta"]
    delta: str
    output_index: int
    content_index: int


class _Arguments(msgspec.Struct, gc=False):
    """A plain event: more of a call's arguments."""

    type: Literal["response.function_call_arguments.delta"]
    delta: str
    output_index: int


_PLAIN = {
    "response.output_text.delta": msgspec.json.Decoder(_Text).decode,
    "response.function_call_arguments.delta": msgspec.json.Decoder(_Arguments).decode,
}


class ResponsesStream(StreamDecoder):
    """Decodes one streamed response."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self._response: dict[str, Any] = {}
        self._items: dict[int, _Item] = {}
        self._last = -1
        """The last place an item has."""
        self._moved: dict[int, int] = {}
        """Where the newest item stands whose place another had already taken."""
        self._by_id: dict[str, int] = {}
        self._texts: dict[tuple[int, int], list[str]] = {}
        self._ended: dict[str, Any] | None = None
        self._beside: list[dict[str, Any]] = []
        """What events say that no response has a place for."""
        self._whole: Reply | None = None
        self._ids: dict[int, str] = {}
        """Place → the id under which its call was told of."""
        self._taken: set[str] = set()
        self._reader = ItemReader((), reply=True, ids=self._ids)
        self._plain_readers.update(_PLAIN)

    def _plain_event(self, said: _Text | _Arguments, chunks: list[req.AnyChunk]) -> bool:
        delta = said.delta
        if self._moved or not delta or self.error is not None:
            return False
        if type(said) is _Text:
            pieces = self._texts.get((said.output_index, said.content_index))
            if pieces is None:
                return False
            pieces.append(delta)
            chunks.append(TextChunk(delta))
            return True
        item = self._items.get(said.output_index)
        if item is None or item.call is None:
            return False
        item.pieces.append(delta)
        chunks.append(ArgumentsChunk(item.call, delta))
        return True

    def _event(self, name: str | None, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        kind = data.get("type")
        if not isinstance(kind, str):
            kind = name if name is not None else "error" if data.get("error") else ""
        known = _EVENTS.get(kind)
        if known is not None:
            known(self, data, chunks)
        elif kind in _STEPS:
            self._response = as_object(data.get("response")) or self._response
        elif kind in _TERMINAL:
            self._end(kind, data, chunks)
        elif kind not in _WHOLE and kind not in _SILENT and not _is_progress(kind):
            self._beside.append(data)

    # ── where a delta belongs ──────────────────────────────────────────────

    def _place(self, data: dict[str, Any]) -> int:
        """The place of the item an event speaks of: what it says, else where its item stands, else the last one."""
        place = data.get("output_index")
        if type(place) is int and place >= 0:
            return self._moved.get(place, place)
        id = as_name(data.get("item_id"))
        if id is not None and id in self._by_id:
            return self._by_id[id]
        return max(self._last, 0)

    def _item(self, data: dict[str, Any], kind: str) -> _Item:
        place = self._place(data)
        item = self._items.get(place)
        if item is None:
            item = self._items[place] = _Item({"type": kind})
            self._last = max(self._last, place)
            id = as_name(data.get("item_id"))
            if id is not None:
                item.item["id"] = id
        return item

    # ── deltas ─────────────────────────────────────────────────────────────

    def _text(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        delta = data.get("delta")
        if type(delta) is not str or not delta:
            return
        place, within = self._place(data), as_count(data.get("content_index")) or 0
        pieces = self._texts.get((place, within))
        if pieces is None:
            pieces = self._texts[place, within] = self._item(data, "message").places.setdefault(("text", within), [])
        pieces.append(delta)
        chunks.append(TextChunk(delta))

    def _refusal(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        delta = as_name(data.get("delta"))
        if delta is not None:
            places = self._item(data, "message").places
            places.setdefault(("refusal", as_count(data.get("content_index")) or 0), []).append(delta)
            chunks.append(req.RefusalChunk(delta))

    def _summary(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        self._think(data, ("summary", as_count(data.get("summary_index")) or 0), chunks)

    def _reasoning(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        self._think(data, ("content", as_count(data.get("content_index")) or 0), chunks)

    def _think(self, data: dict[str, Any], place: tuple[str, int], chunks: list[req.AnyChunk]) -> None:
        delta = as_name(data.get("delta"))
        if delta is None:
            return
        item = self._item(data, "reasoning")
        if item.thought is not None and item.thought != place:
            chunks.append(ThinkingChunk(SEPARATOR))
        item.thought = place
        item.places.setdefault(place, []).append(delta)
        chunks.append(ThinkingChunk(delta))

    def _arguments(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        delta = data.get("delta")
        if type(delta) is not str or not delta:
            return
        item = self._begun(data, chunks)
        assert item.call is not None
        item.pieces.append(delta)
        chunks.append(ArgumentsChunk(item.call, delta))

    def _begun(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> _Item:
        """The item of a call whose arguments come before it was told of."""
        item = self._item(data, _CALL_OF.get(str(data.get("type")), "function_call"))
        if item.call is None:
            self._start(self._place(data), item, chunks)
        if item.call is None:  # arguments of something that is no call
            self._name(self._place(data), item, synthetic_id(self._place(data)))
        return item

    def _whole_arguments(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        """Some servers send the arguments only whole."""
        item = self._begun(data, chunks)
        text = as_name(data.get("arguments"))
        if text is not None and not item.pieces and item.call is not None:
            item.pieces.append(text)
            chunks.append(ArgumentsChunk(item.call, text))

    def _code(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        self._piece_of_code(data, 0, "code", chunks)

    def _command(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        place = as_count(data.get("command_index")) or 0
        self._piece_of_code(data, place, f"commands[{place}]", chunks)

    def _piece_of_code(self, data: dict[str, Any], place: int, path: str, chunks: list[req.AnyChunk]) -> None:
        delta = as_name(data.get("delta"))
        if delta is None:
            return
        item = self._begun(data, chunks)
        if item.call is not None:
            item.code.setdefault(place, []).append(delta)
            chunks.append(ArgumentsChunk(item.call, delta, path))

    def _annotation(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        annotation = data.get("annotation")
        if isinstance(annotation, dict) and annotation:
            cited = self._item(data, "message").annotations
            cited.setdefault(as_count(data.get("content_index")) or 0, []).append(annotation)
            chunks.append(req.CitationArrived(read_citation(annotation)))

    def _partial_image(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        media = image_chunk(data)
        if media is not None:
            chunks.append(req.MediaArrived(media))

    # ── items ──────────────────────────────────────────────────────────────

    def _added(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        said = data.get("item")
        if not isinstance(said, dict):
            self._beside.append(data)
            return
        place = self._new_place(data, said)
        item = self._items.get(place)
        if item is None:
            item = self._items[place] = _Item(said)
        elif not item.done:
            item.item = said
        self._start(place, item, chunks)

    def _new_place(self, data: dict[str, Any], said: dict[str, Any]) -> int:
        """The place of an item: what the event says, else that of its id, else the next."""
        id, place = as_name(said.get("id")), data.get("output_index")
        if type(place) is not int or place < 0:
            known = self._by_id.get(id) if id is not None else None
            place = known if known is not None else self._last + 1
        else:
            place = self._free_place(place, said)
        if id is not None:
            self._by_id[id] = place
        self._last = max(self._last, place)
        return place

    def _free_place(self, place: int, said: dict[str, Any]) -> int:
        """The place an item was sent with, or the next when one that is complete and another stands there."""
        place_now = self._moved.get(place, place)
        item = self._items.get(place_now)
        if item is None or not item.done or _is_same(item.item, said):
            return place_now
        self._moved[place] = self._last + 1
        return self._last + 1

    def _name(self, place: int, item: _Item, id: str) -> None:
        item.call = self._ids[place] = id
        self._taken.add(id)
        self.pieces[id] = item.pieces

    def _start(self, place: int, item: _Item, chunks: list[req.AnyChunk]) -> None:
        """Tells of a call, once."""
        if item.call is not None:
            return
        call = _call_in(place, item.item)
        if call is None:
            return
        id = call.id if call.id not in self._taken else synthetic_id(place)
        self._name(place, item, id)
        chunks.append(req.CallStarted(id, call.name, call.namespace, call.executed_by))

    def _done_item(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        said = data.get("item")
        if not isinstance(said, dict):
            self._beside.append(data)
            return
        self._finish_item(self._new_place(data, said), said, chunks)

    def _finish_item(self, place: int, said: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        """An item as it is at its end: what no delta has told yet is told now."""
        item = self._items.setdefault(place, _Item(said))
        if item.done:
            item.item = said
            return
        item.item, item.done = said, True
        self._start(place, item, chunks)
        citations, told = 0, sum(map(len, item.annotations.values()))
        said_before = {"".join(pieces) for pieces in item.places.values()}
        for part in self._reader.read(place, said):
            if isinstance(part, CallPart):
                self._finish_call(item, part.call, chunks)
            elif isinstance(part, ResultPart):
                chunks.append(req.ResultArrived(part.result))
            elif isinstance(part, ThinkingPart) and part.text and item.thought is None:
                chunks.append(ThinkingChunk(part.text))
            elif isinstance(part, RefusalPart | TextPart):
                self._untold(item, part, said_before, chunks)
                for citation in part.citations if isinstance(part, TextPart) else ():
                    citations += 1
                    if citations > told:
                        chunks.append(req.CitationArrived(citation))

    def _finish_call(self, item: _Item, call: NativeCall, chunks: list[req.AnyChunk]) -> None:
        text = item.item.get("input" if item.item.get("type") == "custom_tool_call" else "arguments")
        if isinstance(text, str) and text and not item.pieces:
            item.pieces.append(text)
            chunks.append(ArgumentsChunk(call.id, text))
        chunks.append(req.CallFinished(call))

    def _untold(
        self, item: _Item, part: TextPart | RefusalPart, said_before: set[str], chunks: list[req.AnyChunk]
    ) -> None:
        place = part.metadata[NAME]["index"]
        field = "text" if isinstance(part, TextPart) else "refusal"
        if not part.text or (field, place) in item.places:
            return
        if part.text not in said_before:  # Bedrock counts places otherwise (gpt-oss-20b, August 2026)
            chunks.append(TextChunk(part.text) if isinstance(part, TextPart) else req.RefusalChunk(part.text))

    # ── the end ────────────────────────────────────────────────────────────

    def _end(self, kind: str, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        response = as_object(data.get("response"))
        self._response = response or self._response
        rest = without(data, "type", "response", "sequence_number")
        if rest:
            self._beside.append(rest)
        if kind == "response.failed":
            self._fail(data, chunks)
            return
        for place, item in enumerate(as_list(response.get("output"))):
            known = self._items.get(place)
            if isinstance(item, dict) and (known is None or not known.done):
                self._finish_item(place, item, chunks)
        if self._ended is not None:
            return
        self._ended = data
        try:
            reply = self._whole = self._said()
        except EngineError as error:
            self.error = error
            return
        chunks.append(req.UsageArrived(reply.usage))
        chunks.append(req.Finished(reply.finish))

    def _fail(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        self.error = read_error(None, {}, data)

    def _reply(self) -> Reply:
        reply = self._said() if self._whole is None else self._whole
        if not self._beside:
            return reply
        return msgspec.structs.replace(reply, metadata={NAME: {**reply.metadata.get(NAME, {}), "events": self._beside}})

    def _said(self) -> Reply:
        """The reply the items and the response give."""
        ended = self._ended is not None
        output, ids = self._output()
        body = {"output": [], **self._response}  # a stream whose last event has no output is still a response
        return read_reply(body, output=output, ids=ids, interrupted=not ended)

    def _output(self) -> tuple[list[Any], dict[int, str]]:
        """What the last event says whole, where it says it, else the items as they were told; and the ids told of."""
        whole = as_list(self._response.get("output")) if self._ended is not None else []
        if whole:
            return whole, self._ids
        places = sorted(self._items)
        items = [self._items[place] for place in places]
        ids = {position: self._ids[place] for position, place in enumerate(places) if place in self._ids}
        return [item.item if item.done else _assembled(item) for item in items], ids


def _is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two items that came under one place are one; without any id there is no telling them apart."""
    named = [(as_name(one.get(name)), as_name(other.get(name))) for name in ("call_id", "id")]
    told = [mine == its for mine, its in named if mine is not None and its is not None]
    return not told or any(told)


def _is_progress(kind: str) -> bool:
    """Whether an event only says how far a hosted tool is (`response.web_search_call.searching`)."""
    start, _, step = kind.rpartition(".")
    return start.startswith("response.") and step in _PROGRESS


_PROGRESS = ("in_progress", "searching", "interpreting", "generating", "completed", "failed", "incomplete")


def _call_in(place: int, item: dict[str, Any]) -> NativeCall | None:
    for part in ItemReader([item], reply=True).read(place, item):
        if isinstance(part, CallPart):
            return part.call
    return None


def _assembled(item: _Item) -> dict[str, Any]:
    """An item that never ended, as far as it had come."""
    said = dict(item.item)
    kind = said.get("type")
    if item.pieces:
        said["input" if kind == "custom_tool_call" else "arguments"] = "".join(item.pieces)
    if item.code and kind == "shell_call":
        commands = ["".join(pieces) for _, pieces in sorted(item.code.items())]
        said["action"] = {**as_object(said.get("action")), "commands": commands}
    elif item.code:
        said["code"] = "".join(item.code.get(0, []))
    told = sorted(item.places.items())
    if kind == "reasoning":
        for field, type_ in (("summary", "summary_text"), ("content", "reasoning_text")):
            pieces = [{"type": type_, "text": "".join(texts)} for (name, _), texts in told if name == field]
            if pieces:
                said[field] = pieces
    elif told:
        said.setdefault("role", "assistant")
        said["content"] = [
            {"type": "refusal", "refusal": "".join(texts)}
            if name == "refusal"
            else {"type": "output_text", "text": "".join(texts), "annotations": item.annotations.get(place, [])}
            for (name, place), texts in sorted(told, key=lambda one: one[0][1])
        ]
    return said


_CALL_OF = {
    "response.custom_tool_call_input.delta": "custom_tool_call",
    "response.mcp_call_arguments.delta": "mcp_call",
    "response.code_interpreter_call_code.delta": "code_interpreter_call",
    "response.shell_call_command.delta": "shell_call",
}

_EVENTS: dict[str, Callable[[ResponsesStream, dict[str, Any], list[req.AnyChunk]], None]] = {
    "response.output_text.delta": ResponsesStream._text,
    "response.function_call_arguments.delta": ResponsesStream._arguments,
    "response.function_call_arguments.done": ResponsesStream._whole_arguments,
    "response.custom_tool_call_input.delta": ResponsesStream._arguments,
    "response.mcp_call_arguments.delta": ResponsesStream._arguments,
    "response.code_interpreter_call_code.delta": ResponsesStream._code,
    "response.shell_call_command.delta": ResponsesStream._command,
    "response.refusal.delta": ResponsesStream._refusal,
    "response.reasoning_summary_text.delta": ResponsesStream._summary,
    "response.reasoning_text.delta": ResponsesStream._reasoning,
    "response.output_text.annotation.added": ResponsesStream._annotation,
    "response.output_text_annotation.added": ResponsesStream._annotation,
    "response.image_generation_call.partial_image": ResponsesStream._partial_image,
    "response.output_item.added": ResponsesStream._added,
    "response.output_item.done": ResponsesStream._done_item,
    "error": ResponsesStream._fail,
}
