"""A streamed message, put together block by block.

Rule: what is put together is the very body a request without streaming would have given, and it is read the same way.
Blocks stand in the order they began, whatever their indexes say.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.apis.base.api import StreamDecoder, read_arguments
from dragoman.model import request as req
from dragoman.model.calls import ExecutedBy
from dragoman.model.conversation import FinishReason, MediaPart, Provenance, Reply, ResultPart, TextPart
from dragoman.model.request import ArgumentsChunk, TextChunk, ThinkingChunk

from .blocks import CALLS, call_id, read_block, read_call
from .families import NAME
from .replies import finish, read_error, read_reply, read_usage


class _Block:
    """A block that is being written."""

    __slots__ = ("call_id", "citations", "deltas", "json", "kind", "position", "raw", "stopped", "text", "thinking")

    def __init__(self, raw: dict[str, Any], position: int) -> None:
        self.raw, self.kind, self.position = raw, raw.get("type"), position
        self.call_id: str | None = None
        self.text: list[str] = []
        self.thinking: list[str] = []
        self.json: list[str] = []
        self.citations: list[Any] = []
        self.deltas: list[Any] = []
        self.stopped = False

    def whole(self) -> dict[str, Any]:
        """The block as it stands."""
        block = dict(self.raw)
        for key, pieces in (("text", self.text), ("thinking", self.thinking)):
            if pieces:
                start = block.get(key)
                block[key] = "".join([start, *pieces] if isinstance(start, str) else pieces)
        written = "".join(self.json)
        if written.strip():  # an input that came whole with the start stands, unless it was written out after all
            block["input"] = read_arguments(written)
        if self.citations:
            start = block.get("citations")
            block["citations"] = [*(start if isinstance(start, list) else ()), *self.citations]
        if self.deltas:
            block["deltas"] = self.deltas
        return block


class _Text(msgspec.Struct, tag="text_delta", tag_field="type", forbid_unknown_fields=True, gc=False):
    text: str


class _Json(msgspec.Struct, tag="input_json_delta", tag_field="type", forbid_unknown_fields=True, gc=False):
    partial_json: str


class _Thinking(msgspec.Struct, tag="thinking_delta", tag_field="type", forbid_unknown_fields=True, gc=False):
    thinking: str


class _Piece(msgspec.Struct, tag="content_block_delta", tag_field="type", forbid_unknown_fields=True, gc=False):
    """A plain event: the next piece of a block, and nothing else."""

    index: int
    delta: _Text | _Json | _Thinking


_read_piece = msgspec.json.Decoder(_Piece).decode


class MessageStream(StreamDecoder):
    """Decodes one streamed message."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self._message: dict[str, Any] = {}
        self._blocks: list[_Block] = []
        self._unstopped: list[_Block] = []
        self._open: dict[int, _Block] = {}
        self._taken: set[str] = set()
        self._client_calls = False
        self._begun = self._ended = self._told = False
        self._strange: list[Any] = []
        self._abandoned: list[Reply] = []
        self._plain_readers["content_block_delta"] = _read_piece

    def _plain_event(self, said: _Piece, chunks: list[req.AnyChunk]) -> bool:
        block, delta = self._open.get(said.index), said.delta
        if block is None or self.error is not None:
            return False
        if isinstance(delta, _Text):
            if block.kind != "text":
                return False
            if delta.text:
                block.text.append(delta.text)
                chunks.append(TextChunk(delta.text))
        elif isinstance(delta, _Json):
            if block.call_id is None:
                return False
            if delta.partial_json:
                block.json.append(delta.partial_json)
                chunks.append(ArgumentsChunk(block.call_id, delta.partial_json))
        else:
            if block.kind != "thinking":
                return False
            if delta.thinking:
                block.thinking.append(delta.thinking)
                chunks.append(ThinkingChunk(delta.thinking))
        return True

    def _event(self, name: str | None, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        kind = data.get("type", name)
        if kind == "content_block_delta":
            self._delta(data, chunks)
        elif kind == "content_block_start":
            self._start(data, chunks)
        elif kind == "content_block_stop":
            block = self._open.get(_index(data))
            if block is not None:
                self._stop(block, chunks)
        else:
            self._other(kind, data, chunks)

    def _other(self, kind: Any, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        if kind == "message_start":
            self._message_start(data, chunks)
        elif kind == "message_delta":
            self._message_delta(data, chunks)
        elif kind == "message_stop":
            self._ended = True
            self._stop_all(chunks)
            self._keep({key: value for key, value in data.items() if key != "type"})
        elif kind == "error" or (kind is None and "error" in data):
            self._stop_all(chunks)
            self.error = read_error(None, {}, data)
        elif kind != "ping":
            self._strange.append(data)

    # ── the message ────────────────────────────────────────────────────────

    def _message_start(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        message = data.get("message")
        if not isinstance(message, dict):
            self._strange.append(data)
            return
        if self._begun and message.get("id") != self._message.get("id"):
            self._begin_again(chunks)
        self._begun = True
        content = message.get("content")
        usage = self._message.get("usage")
        self._message = {**self._message, **{key: value for key, value in message.items() if key != "content"}}
        if usage is not None and message.get("usage") is None:
            self._message["usage"] = usage
        for block in content if isinstance(content, list) else ():
            self._stop(self._begin(block, chunks), chunks)
        if isinstance(message.get("usage"), dict):
            chunks.append(req.UsageArrived(read_usage(message["usage"])))

    def _begin_again(self, chunks: list[req.AnyChunk]) -> None:
        """A second message in one stream: the first was given up. What it said is kept as another answer."""
        self._stop_all(chunks)
        if self._blocks:
            self._abandoned.append(self._read())
        self._message, self._blocks, self._open, self._taken = {}, [], {}, set()
        self._client_calls = self._ended = self._told = False

    def _message_delta(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        delta, usage = data.get("delta"), data.get("usage")
        self._keep({key: value for key, value in data.items() if key not in ("type", "delta", "usage")})
        if isinstance(delta, dict):
            self._keep(delta)
        if isinstance(usage, dict):
            before = self._message.get("usage")
            said = {key: value for key, value in usage.items() if value is not None}
            self._message["usage"] = {**before, **said} if isinstance(before, dict) else said
            chunks.append(req.UsageArrived(read_usage(self._message["usage"])))
        raw = self._message.get("stop_reason")
        if raw is not None and not self._told:
            self._told = True
            self._stop_all(chunks)
            chunks.append(req.Finished(finish(raw, calls=self._client_calls)))

    def _keep(self, said: dict[str, Any]) -> None:
        self._message.update({key: value for key, value in said.items() if value is not None and key != "content"})

    # ── its blocks ─────────────────────────────────────────────────────────

    def _start(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        before = self._open.get(_index(data))
        if before is not None:  # the index is used again: what stood there is complete
            self._stop(before, chunks)
        self._open[_index(data)] = self._begin(data.get("content_block"), chunks)

    def _begin(self, raw: Any, chunks: list[req.AnyChunk]) -> _Block:
        block = _Block(raw if isinstance(raw, dict) else {"unread": raw}, len(self._blocks))
        self._blocks.append(block)
        self._unstopped.append(block)
        kind = block.raw.get("type")
        for key, chunk in (("text", TextChunk), ("thinking", ThinkingChunk)):
            said = block.raw.get(key)
            if kind == key and isinstance(said, str) and said:
                chunks.append(chunk(said))
        if isinstance(kind, str) and kind in CALLS:
            self._begin_call(block, chunks)
        return block

    def _begin_call(self, block: _Block, chunks: list[req.AnyChunk]) -> None:
        id = block.call_id = call_id(block.raw, block.position, self._taken)
        if id is None:
            return
        self.pieces[id] = block.json
        call = read_call(block.raw, id)
        self._client_calls = self._client_calls or call.executed_by is ExecutedBy.CLIENT
        chunks.append(req.CallStarted(id, call.name, call.namespace, call.executed_by))

    def _delta(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        delta = data.get("delta")
        index = data.get("index")
        block = self._open.get(index) if type(index) is int else None
        if type(delta) is not dict:
            self._strange.append(data)
            return
        if block is None:
            block = self._open.get(_index(data)) or self._unannounced(data, delta, chunks)
            if block is None:
                return
        self._add(block, delta, chunks)

    def _unannounced(self, data: dict[str, Any], delta: dict[str, Any], chunks: list[req.AnyChunk]) -> _Block | None:
        """A block whose start was never told, as far as its first delta says what it is."""
        kind = delta.get("type")
        if kind in ("text_delta", "citations_delta"):
            raw = {"type": "text", "text": ""}
        elif kind in ("thinking_delta", "signature_delta"):
            raw = {"type": "thinking", "thinking": ""}
        else:
            self._strange.append(data)
            return None
        block = self._open[_index(data)] = self._begin(raw, chunks)
        return block

    def _add(self, block: _Block, delta: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        kind, type_ = delta.get("type"), block.kind
        if kind == "text_delta" and type_ == "text" and isinstance(delta.get("text"), str):
            if delta["text"]:
                block.text.append(delta["text"])
                chunks.append(TextChunk(delta["text"]))
        elif kind == "input_json_delta" and block.call_id is not None and isinstance(delta.get("partial_json"), str):
            if delta["partial_json"]:
                block.json.append(delta["partial_json"])
                chunks.append(ArgumentsChunk(block.call_id, delta["partial_json"]))
        elif kind == "thinking_delta" and type_ == "thinking" and isinstance(delta.get("thinking"), str):
            if delta["thinking"]:
                block.thinking.append(delta["thinking"])
                chunks.append(ThinkingChunk(delta["thinking"]))
            if delta.get("estimated_tokens") is not None:
                block.raw = {**block.raw, "estimated_tokens": delta["estimated_tokens"]}
        elif kind == "signature_delta" and type_ == "thinking" and isinstance(delta.get("signature"), str):
            block.raw = {**block.raw, "signature": delta["signature"]}
        elif kind == "citations_delta" and type_ == "text" and "citation" in delta:
            block.citations.append(delta["citation"])
        elif kind == "compaction_delta" and type_ == "compaction":
            block.raw = {**block.raw, **delta, "type": type_}
        else:
            block.deltas.append(delta)

    def _stop(self, block: _Block, chunks: list[req.AnyChunk]) -> None:
        if block.stopped:
            return
        block.stopped = True
        whole = block.whole()
        if block.call_id is not None:
            given = whole.get("input")
            if not block.json and isinstance(given, dict) and given:
                self._tell_whole(block, given, chunks)
            chunks.append(req.CallFinished(read_call(whole, block.call_id)))
            return
        part = read_block(whole, block.position, set())
        if isinstance(part, ResultPart):
            chunks.append(req.ResultArrived(part.result))
        elif isinstance(part, MediaPart):
            chunks.append(req.MediaArrived(part.media))
        elif isinstance(part, TextPart):
            chunks.extend(req.CitationArrived(citation) for citation in part.citations)

    def _tell_whole(self, block: _Block, given: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        """Arguments that came whole with the start, told as a stream tells them."""
        assert block.call_id is not None
        try:
            text = msgspec.json.encode(given).decode()
        except (RecursionError, UnicodeEncodeError, msgspec.MsgspecError):  # nested deeper than it can be written
            return
        block.json.append(text)
        chunks.append(ArgumentsChunk(block.call_id, text))

    def _stop_all(self, chunks: list[req.AnyChunk]) -> None:
        for block in self._unstopped:
            self._stop(block, chunks)
        self._unstopped.clear()

    # ── the reply ──────────────────────────────────────────────────────────

    def _reply(self) -> Reply:
        reply = self._read()
        if self._strange:
            metadata = {**reply.metadata, NAME: {**reply.metadata.get(NAME, {}), "events": self._strange}}
            reply = msgspec.structs.replace(reply, metadata=metadata)
        if self._abandoned:
            reply = msgspec.structs.replace(reply, alternatives=tuple(self._abandoned))
        return reply

    def _read(self) -> Reply:
        if not self._begun and not self._blocks and not self._message:
            return Reply((), finish=FinishReason.INTERRUPTED, provenance=Provenance(api=NAME))
        message = {"type": "message", **self._message, "content": [block.whole() for block in self._blocks]}
        if message["type"] == "error":
            message["type"] = "message"
        reply = read_reply(message)
        if reply.finish_raw is None and not self._ended:
            reply = msgspec.structs.replace(reply, finish=FinishReason.INTERRUPTED)
        return reply


def _index(data: dict[str, Any]) -> int:
    """Where a block stands; what is no number is one place of its own."""
    index = data.get("index")
    return index if type(index) is int else -1
