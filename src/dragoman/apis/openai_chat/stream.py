"""A streamed Chat Completions answer: chunks as they come, and in the end the body that would have come whole.

Rule: the reply is made of the assembled body by the very functions that read a whole one. A value that is null or
empty never takes the place of one that says something; of a key that is told again the last value stands.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import msgspec

from dragoman.apis.base.api import StreamDecoder
from dragoman.apis.base.conversation_order import made_id
from dragoman.model import request as req
from dragoman.model.calls import ExecutedBy
from dragoman.model.conversation import CallPart, FinishReason, MediaPart, Reply, Usage
from dragoman.model.json_values import as_list, as_name, as_object
from dragoman.model.request import ArgumentsChunk, TextChunk, ThinkingChunk

from . import replies
from .faults import is_error, read_error
from .media import read_media
from .usage import read_usage
from .values import NAME, write_json

_PADDING = frozenset({"obfuscation", "p"})
"""Random text that hides how long a token is; it says nothing."""
_EACH = frozenset({"choices", "usage", "obfuscation", "p"})
_CONSTANT = _EACH | {"id", "object", "created", "model", "service_tier", "system_fingerprint", "provider"}
_CHOICE = frozenset({"index", "delta", "finish_reason", "message", "usage"})
_LOOKED_AT = 8
"""So many events are looked at for the usual keys: a stream that has not shown them by then never does."""
_PLAIN = dict.fromkeys(("index", "delta", "logprobs", "finish_reason")).keys()
_CALL = frozenset({"index", "id", "type", "function", "custom"})
_UNSET = msgspec.UNSET


class _Call:
    """A call of which more may come. It is started once its name and its id (or the lack of one) are known."""

    __slots__ = ("extra", "finished", "function", "given", "id", "is_custom", "name", "pieces", "place", "told")

    def __init__(self, place: int) -> None:
        self.place = place
        self.given: str | None = None
        self.name = ""
        self.id: str | None = None
        self.pieces: list[str] = []
        self.is_custom = False
        self.extra: dict[str, Any] = {}
        self.function: dict[str, Any] = {}
        self.finished = False
        self.told: tuple[dict[str, Any], CallPart] | None = None
        """What was told of it when it was finished, and what was made of that."""

    def item(self) -> dict[str, Any]:
        """The call as a whole body has it."""
        said = "".join(self.pieces)
        kind, key = ("custom", "input") if self.is_custom else ("function", "arguments")
        inner = {"name": self.name, key: said, **self.function}
        return {"id": self.given, "type": kind, kind: inner, **self.extra}

    def read(self) -> dict[str, Any] | CallPart:
        """The call as it was read, unless more of it came afterwards."""
        item = self.item()
        return self.told[1] if self.told is not None and self.told[0] == item else item


class _Choice:
    """One answer of which more may come."""

    __slots__ = (
        *("annotations", "audio", "blank", "blocks", "by_id", "by_index", "calls", "cited", "content", "details"),
        *("executed", "fields", "finish", "finished", "index", "known_details", "legacy", "rest", "seed", "taken"),
        *("texts", "voice"),
    )

    def __init__(self, index: int) -> None:
        self.index = index
        self.seed = ""
        self.content: list[str] = []
        self.blocks: list[tuple[dict[str, Any], list[str]]] | None = None
        self.texts: dict[str, list[str]] = {}
        self.voice: str | None = None  # of several fields that say the same thoughts, the one that tells them
        self.details: list[tuple[dict[str, Any], str, list[str]]] = []
        self.known_details: dict[str, tuple[dict[str, Any], list[str]]] = {}
        """Key, type and index of a detail that may go on → the last such detail."""
        self.annotations: list[Any] = []
        self.cited: set[str] = set()
        """The annotations, written out: looking through the list would cost the square of their number."""
        self.audio: dict[str, Any] | None = None
        self.executed: dict[Any, tuple[int, dict[str, Any]]] = {}
        """Place → position among them, and what is known of it."""
        self.legacy: _Call | None = None
        self.calls: list[_Call] = []
        self.by_index: dict[int, _Call] = {}
        self.by_id: dict[str, _Call] = {}
        self.taken: set[str] = set()
        self.blank: dict[str, Any] = {}
        self.fields: dict[str, Any] = {}
        self.rest: dict[str, Any] = {}
        self.finish: Any = None
        self.finished = False

    def message(self) -> dict[str, Any]:
        """The message as a whole body has it."""
        message: dict[str, Any] = {"role": "assistant", **self.blank, **self.fields}
        if self.blocks is not None:
            message["content"] = [_whole_block(block, pieces) for block, pieces in self.blocks]
        elif self.content:
            message["content"] = "".join(self.content)
        for key, pieces in self.texts.items():
            message[key] = "".join(pieces)
        if self.details:
            message["reasoning_details"] = [
                {**detail, key: "".join(pieces)} if pieces else detail for detail, key, pieces in self.details
            ]
        if self.annotations:
            message["annotations"] = self.annotations
        if self.audio is not None:
            message["audio"] = {**self.audio, **{key: _joined(key, self.audio[key]) for key in ("data", "transcript")}}
        if self.executed:
            message["executed_tools"] = [tool for _, tool in self.executed.values()]
        if self.legacy is not None:
            message["function_call"] = self.legacy.item()["function"]
        if self.calls:
            message["tool_calls"] = [call.read() for call in self.calls]
        return message


class _PlainFunction(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    arguments: str


class _PlainCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    index: int
    function: _PlainFunction


class _PlainDelta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    content: str | msgspec.UnsetType = msgspec.UNSET
    tool_calls: tuple[_PlainCall] | msgspec.UnsetType = msgspec.UNSET
    role: Literal["assistant"] = "assistant"


class _PlainChoice(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    index: int
    delta: _PlainDelta
    finish_reason: None = None
    logprobs: None = None


@lru_cache(maxsize=64)
def _plain_reader(keys: frozenset[str]) -> Callable[[bytes], Any]:
    """Reads events that have exactly these keys and say nothing but the next piece of a text or of a call."""
    told: dict[str, Any] = {"choices": tuple[_PlainChoice], "usage": None, "created": int}
    fields = [(key, told.get(key, str)) for key in sorted(keys)]
    return msgspec.json.Decoder(msgspec.defstruct("PlainEvent", fields, forbid_unknown_fields=True, gc=False)).decode


class ChatStream(StreamDecoder):
    """Decodes one streamed answer. Of several, the first tells its chunks; the others are alternatives of the reply."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self._head: dict[str, Any] = {}
        self._id: str | None = None
        self._choices: dict[int, _Choice] = {}
        self._first: _Choice | None = None
        self._usage: dict[str, Any] | None = None
        self._counted: Usage | None = None
        self._usual: Any = None
        self._seen = 0
        self._cited: set[str] = set()
        self._ended = False
        self._odd: list[Any] = []

    # ── events ─────────────────────────────────────────────────────────────

    def _plain_event(self, said: Any, chunks: list[req.AnyChunk]) -> bool:
        state = self._first
        choice: _PlainChoice = said.choices[0]
        if state is None or choice.index != state.index or self.error is not None:
            return False
        delta = choice.delta
        text, calls = delta.content, delta.tool_calls
        if calls is _UNSET:
            if text is _UNSET or not text or state.blocks is not None:
                return False
            state.content.append(text)
            chunks.append(TextChunk(text))
            return True
        call = state.by_index.get(calls[0].index) if text is _UNSET else None
        said = calls[0].function.arguments
        if call is None or call.id is None or call.is_custom or not said:
            return False
        call.pieces.append(said)
        chunks.append(ArgumentsChunk(call.id, said))
        return True

    def _event(self, name: str | None, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        is_usual = data.keys() == self._usual
        if not is_usual:
            self._top(data)
        choices = data.get("choices")
        if type(choices) is list:
            for choice in choices:
                if type(choice) is dict:
                    self._choice(choice, chunks)
                else:
                    self._odd.append(choice)
        usage = data.get("usage")
        if usage:
            self._count(usage, chunks)
        if not is_usual or name is not None:
            self._beside(name, data, chunks)

    def _top(self, data: dict[str, Any]) -> None:
        """Keeps what stands beside the choices. Once an event has only keys whose values never change, and has them
        all, others with the same keys are passed over."""
        if self._id is None:
            self._id = as_name(data.get("id"))
        head = self._head
        for key, value in data.items():
            if value or key not in head:
                head[key] = value
        self._seen += 1
        if self._seen < _LOOKED_AT and data.keys() <= _CONSTANT and all(data[key] or key in _EACH for key in data):
            self._usual = data.keys()
            if "choices" in data:
                self._plain_readers[None] = _plain_reader(frozenset(data))

    def _beside(self, name: str | None, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        """What else an event may tell: usage in Groq's place (`x_groq`, 2024 to 2026), sources, an error."""
        groq = as_object(data.get("x_groq")).get("usage")
        if groq and self._usage is None and not data.get("usage"):
            self._count(groq, chunks)
        if "citations" in data or "search_results" in data or "venice_parameters" in data:
            self._cite(data, chunks)
        if data.get("error") or name == "error" or ("choices" not in data and is_error(data)):
            self.error = read_error(None, {}, data)

    def _choice(self, choice: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        index = choice.get("index")
        state = self._choices.get(index) if type(index) is int else self._choices.get(0)
        if state is None:
            state = self._choices[replies.place_of(choice)] = _Choice(replies.place_of(choice))
            state.seed = f"{self._id or ''}\0{state.index}"
            if self._first is None:
                self._first = state
        told = chunks if state is self._first else []
        delta = choice.get("delta")
        if type(delta) is not dict:  # a whole message in the place of a delta, or none at all
            delta = choice.get("message") if not state.content and not state.calls else None
        if type(delta) is dict:
            for key, value in delta.items():
                if not value:
                    if key not in state.blank:
                        state.blank[key] = value
                elif key == "content" and type(value) is str:
                    if state.blocks is None:
                        state.content.append(value)
                    else:
                        self._block(state, {"type": "text", "text": value})
                    told.append(TextChunk(value))
                elif key == "tool_calls":
                    self._tool_calls(state, value, told)
                elif key != "role" or value != "assistant":
                    self._field(state, key, value, told)
        if len(choice) > 3 and (choice.keys() != _PLAIN or choice["logprobs"]):
            for key, value in choice.items():
                if value is not None and key not in _CHOICE:
                    _merge(state.rest, key, value)
            if choice.get("error"):
                self.error = read_error(None, {}, {"error": choice["error"]})
            if type(choice.get("usage")) is dict:
                self._count(choice["usage"], told)
        finish = choice.get("finish_reason")
        if finish:
            self._finish(state, finish, told)

    def _count(self, usage: Any, chunks: list[req.AnyChunk]) -> None:
        if type(usage) is not dict:
            return
        known = self._usage or {}
        self._usage = {**known, **{key: value for key, value in usage.items() if value is not None or key not in known}}
        self._counted = read_usage(self._usage)
        chunks.append(req.UsageArrived(self._counted))

    def _cite(self, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        """Sources of the whole answer, which Perplexity tells again with every event."""
        venice = as_object(data.get("venice_parameters")).get("web_search_citations")
        for result in [*as_list(venice), *as_list(data.get("search_results"))]:
            if isinstance(result, dict):
                self._cite_once(as_name(result.get("url")) or "", result, chunks)
        for address in as_list(data.get("citations")):
            if isinstance(address, str):
                self._cite_once(address, {"url": address}, chunks)

    def _cite_once(self, address: str, source: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        if address not in self._cited:
            self._cited.add(address)
            chunks.append(req.CitationArrived(replies.read_source(source)))

    # ── the fields of a delta ──────────────────────────────────────────────

    def _field(self, state: _Choice, key: str, value: Any, chunks: list[req.AnyChunk]) -> None:
        if key in ("reasoning_content", "reasoning", "refusal") and type(value) is str:
            pieces = state.texts.setdefault(key, [])
            pieces.append(value)
            if key == "refusal":
                chunks.append(req.RefusalChunk(value))
            elif state.voice is None or state.voice == key:
                state.voice = key
                chunks.append(ThinkingChunk(value))
        elif key == "content" and type(value) is list:
            for block in value:
                self._block(state, block)
                self._tell_block(block, chunks)
        elif key == "reasoning_details" and type(value) is list:
            for detail in value:
                self._detail(state, detail, chunks)
        elif key == "annotations" and type(value) is list:
            for annotation in value:
                written = write_json(annotation)
                if written not in state.cited:
                    state.cited.add(written)
                    state.annotations.append(annotation)
                    if isinstance(annotation, dict):
                        chunks.append(req.CitationArrived(replies.read_annotation(annotation)))
        elif key == "audio" and type(value) is dict:
            self._audio(state, value, chunks)
        elif key == "executed_tools" and type(value) is list and all(type(tool) is dict for tool in value):
            for tool in value:
                self._executed(state, tool, chunks)
        elif key == "function_call" and type(value) is dict:
            self._legacy(state, value, chunks)
        else:
            if key == "images" and type(value) is list:
                self._images(value, chunks)
            if key not in _PADDING:
                _merge(state.fields, key, value)

    def _block(self, state: _Choice, block: Any) -> None:
        """A block of content; more of the block before where it goes on with it."""
        if state.blocks is None:
            state.blocks = []
            if state.content:
                state.blocks.append(({"type": "text"}, state.content))
        if type(block) is not dict:
            block = {"type": "text", "text": block} if type(block) is str else {"type": "unknown", "value": block}
        text = _block_text(block)
        last = state.blocks[-1] if state.blocks else None
        if text is None:
            state.blocks.append((block, []))
        elif last is not None and last[1] and last[0].get("type") == block.get("type"):
            last[1].append(text)
            last[0].update({key: value for key, value in block.items() if key not in ("type", "text", "thinking")})
        else:
            kept = {key: value for key, value in block.items() if key not in ("text", "thinking")}
            state.blocks.append((kept, [text]))

    def _tell_block(self, block: Any, chunks: list[req.AnyChunk]) -> None:
        if isinstance(block, str):
            chunks.append(TextChunk(block))
            return
        text = _block_text(block) if isinstance(block, dict) else None
        if text:
            chunks.append(ThinkingChunk(text) if block.get("type") == "thinking" else TextChunk(text))
        elif text is None and isinstance(block, dict):
            part = read_media(block)
            if part is not None:
                chunks.append(req.MediaArrived(part.media))

    def _detail(self, state: _Choice, detail: Any, chunks: list[req.AnyChunk]) -> None:
        if type(detail) is not dict:
            state.details.append(({"type": "unknown", "value": detail}, "text", []))
            return
        kind = detail.get("type")
        key = "summary" if kind == "reasoning.summary" else "text"
        text = detail.get(key)
        if kind != "reasoning.encrypted" and (isinstance(text, str) or (text is None and "signature" in detail)):
            place = write_json([key, kind, detail.get("index")])
            found = state.known_details.get(place)
            if found is not None:
                known, pieces = found
                if isinstance(text, str):
                    pieces.append(text)
                known.update({name: value for name, value in detail.items() if name != key and value})
            else:
                kept = {name: value for name, value in detail.items() if name != key or text is None}
                pieces = [text] if isinstance(text, str) else []
                state.details.append((kept, key, pieces))
                state.known_details[place] = (kept, pieces)
            if isinstance(text, str) and text and state.voice in (None, "reasoning_details"):
                state.voice = "reasoning_details"
                chunks.append(ThinkingChunk(text))
        else:
            state.details.append((detail, key, []))

    def _audio(self, state: _Choice, audio: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        if state.audio is None:
            state.audio = {"data": [], "transcript": []}
        for key, value in audio.items():
            if key in ("data", "transcript"):
                if isinstance(value, str) and value:
                    state.audio[key].append(value)
                    if key == "transcript":
                        chunks.append(TextChunk(value))
            elif value is not None:
                state.audio[key] = value

    def _images(self, images: list[Any], chunks: list[req.AnyChunk]) -> None:
        for image in images:
            part = read_media(image) if isinstance(image, dict) else None
            if part is not None:
                chunks.append(req.MediaArrived(part.media))

    # ── calls ──────────────────────────────────────────────────────────────

    def _executed(self, state: _Choice, tool: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        index = tool.get("index")
        place = index if type(index) is int else len(state.executed)
        known = state.executed.get(place)
        position, before = (len(state.executed), {}) if known is None else known
        whole = {**before, **{key: value for key, value in tool.items() if value is not None or key not in before}}
        state.executed[place] = (position, whole)
        call, result = replies.read_executed(whole, state.seed, position)
        if known is None:
            chunks.append(req.CallStarted(call.id, call.name, call.namespace, ExecutedBy.PROVIDER))
            said = whole.get("arguments")
            if isinstance(said, str) and said:
                self.pieces[call.id] = [said]
                chunks.append(ArgumentsChunk(call.id, said))
        if result is not None and before.get("output") is None:
            chunks += [req.CallFinished(call), req.ResultArrived(result)]

    def _legacy(self, state: _Choice, call: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        known = state.legacy
        if known is None:
            known = state.legacy = _Call(0)
        known.name = known.name or as_name(call.get("name")) or ""
        said = _written(call.get("arguments"))
        if known.id is None and known.name:
            known.id = made_id(state.seed, "function_call")
            self.pieces[known.id] = known.pieces
            chunks.append(req.CallStarted(known.id, known.name))
            chunks += [ArgumentsChunk(known.id, piece) for piece in known.pieces]
        if said:
            known.pieces.append(said)
            if known.id is not None:
                chunks.append(ArgumentsChunk(known.id, said))
        for key, value in call.items():
            if key not in ("name", "arguments"):
                _merge(known.function, key, value)

    def _tool_calls(self, state: _Choice, items: Any, chunks: list[req.AnyChunk]) -> None:
        if type(items) is not list:
            state.blank["tool_calls"] = [*as_list(state.blank.get("tool_calls")), items]
            return
        for item in items:
            if type(item) is not dict:
                state.rest.setdefault("tool_calls", []).append(item)
                continue
            index = item.get("index")
            call = state.by_index.get(index) if type(index) is int else None
            function = item.get("function")
            if call is not None and call.id is not None and type(function) is dict and not item.get("id"):
                said = function.get("arguments")
                if not function.get("name") and type(said) is str and len(item) <= 4:  # more of a call we know
                    if said:
                        call.pieces.append(said)
                        chunks.append(ArgumentsChunk(call.id, said))
                    if len(item) > 2:
                        self._more(call, item, function)
                    continue
            self._piece(state, item, index if type(index) is int else None, chunks)

    def _piece(self, state: _Choice, item: dict[str, Any], index: int | None, chunks: list[req.AnyChunk]) -> None:
        """A piece of a call, in whatever form: its first, or one that has more to say than arguments."""
        function, custom = as_object(item.get("function")), as_object(item.get("custom"))
        is_custom = "custom" in item and not as_name(function.get("name")) and not function.get("arguments")
        inner = custom if is_custom else function
        id, name = as_name(item.get("id")), as_name(inner.get("name"))
        call = self._known(state, id, index, name)
        if call is None:
            call = _Call(len(state.calls))
            state.calls.append(call)
        if index is not None:
            state.by_index[index] = call
        if id is not None and call.id is None and call.given is None:
            call.given = id
            state.by_id[id] = call
        elif id is not None and id != call.given:
            call.extra["late_id"] = id
        call.is_custom = call.is_custom or (is_custom and not call.pieces)
        call.name = call.name or name or ""
        said = _written(inner.get("input" if call.is_custom else "arguments"))
        self._more(call, item, inner)
        if said:
            call.pieces.append(said)
        if call.id is not None:
            if said:
                chunks.append(ArgumentsChunk(call.id, said))
        elif call.name and (call.given is not None or call.pieces):
            self._start(state, call, chunks)

    def _known(self, state: _Choice, id: str | None, index: int | None, name: str | None) -> _Call | None:
        """The call a piece belongs to, or `None` when it begins one."""
        same_id = state.by_id.get(id) if id is not None else None
        if same_id is not None and name is not None and same_id.name not in ("", name):
            return None if not same_id.pieces or _is_whole(same_id.pieces) else same_id  # an id used again
        call = state.by_index.get(index) if index is not None else None
        if call is None:
            if same_id is not None and (index is None or name is None):
                return same_id
            # Without an index, or under one never seen, a piece with neither id nor name goes on with the last call.
            begins = id is not None or name is not None
            return None if begins or not state.calls else state.calls[-1]
        if same_id is not None:
            return same_id
        if name is None or not call.name:
            return call
        if id is not None and call.given is not None:  # another id and a name: several calls share one index
            return None if not call.pieces or _is_whole(call.pieces) else call
        if id is None and call.given is None:  # neither has an id: a name after whole arguments begins another call
            return None if call.pieces and _is_whole(call.pieces) else call
        return call

    def _more(self, call: _Call, item: dict[str, Any], inner: dict[str, Any]) -> None:
        for key, value in item.items():
            if value is not None and (key not in _CALL or (key == "custom" and not call.is_custom)):
                _merge(call.extra, key, value)
        if len(inner) > 1:
            for key, value in inner.items():
                if key not in ("name", "arguments", "input") and value is not None:
                    _merge(call.function, key, value)

    def _start(self, state: _Choice, call: _Call, chunks: list[req.AnyChunk]) -> None:
        call.id = replies.call_id(call.given, state.seed, call.place, state.taken)
        if state is self._first:  # those of an alternative are in the reply alone
            self.pieces[call.id] = call.pieces
        chunks.append(req.CallStarted(call.id, call.name))
        chunks += [ArgumentsChunk(call.id, piece) for piece in call.pieces]

    # ── the end ────────────────────────────────────────────────────────────

    def _finish(self, state: _Choice, finish: Any, chunks: list[req.AnyChunk]) -> None:
        if finish:
            state.finish = finish
        for call in state.calls:
            if call.finished:
                continue
            call.finished = True
            if call.id is None:
                self._start(state, call, chunks)
            assert call.id is not None
            item = call.item()
            call.told = (item, replies.read_call(item, state.seed, call.place, state.taken - {call.id}))
            chunks.append(req.CallFinished(call.told[1].call))
        if state.legacy is not None and state.legacy.id is not None and not state.legacy.finished:
            state.legacy.finished = True
            whole = replies.read_legacy_call(state.legacy.item()["function"], state.seed, set())
            chunks.append(req.CallFinished(whole.call))
        if not state.finished:
            state.finished = True
            self._sound(state, chunks)
            chunks.append(req.Finished(self._finish_reason(state)))

    def _sound(self, state: _Choice, chunks: list[req.AnyChunk]) -> None:
        if state.audio is not None and state.audio["data"]:
            parts, _ = replies.read_message({"audio": state.message()["audio"]}, seed="")
            chunks += [req.MediaArrived(part.media) for part in parts if isinstance(part, MediaPart)]

    def _finish_reason(self, state: _Choice) -> FinishReason:
        finish = replies.FINISHES.get(as_name(state.finish) or "", FinishReason.UNKNOWN)
        if finish is FinishReason.STOP or state.finish is None:
            if state.calls or state.legacy is not None:
                return FinishReason.CALLS
            return FinishReason.REFUSED if state.finish and "refusal" in state.texts else finish
        return finish

    def _done(self, chunks: list[req.AnyChunk]) -> None:
        self._ended = True
        for state in self._choices.values():
            self._finish(state, None, chunks if state is self._first else [])

    def _reply(self) -> Reply:
        body = {key: value for key, value in self._head.items() if key not in _PADDING}
        body["id"] = self._id or body.get("id")
        if self._usage is not None:
            body["usage"] = self._usage
            if isinstance(body.get("x_groq"), dict):
                body["x_groq"] = {key: value for key, value in body["x_groq"].items() if key != "usage"}
        choices: list[Any] = [
            {**state.rest, "index": state.index, "message": state.message(), "finish_reason": state.finish}
            for state in self._choices.values()
        ]
        reply = replies.read_choices(body, [*choices, *self._odd], seed=self._seed(), counted=self._counted)
        ended = any(state.finish if self._ended else state.finished for state in self._choices.values())
        if not ended and not (self._ended and reply.parts):  # `[DONE]` alone ends an answer, but is none
            reply = msgspec.structs.replace(reply, finish=FinishReason.INTERRUPTED)
        return reply

    def _seed(self) -> str:
        """What made ids are made of: the id the stream had when its first answer began."""
        return self._first.seed.partition("\0")[0] if self._first is not None else ""


def _merge(into: dict[str, Any], key: str, value: Any) -> None:
    """A field that arrives in pieces: lists grow, objects are merged, other values are replaced by the last one."""
    known = into.get(key)
    if isinstance(known, list) and isinstance(value, list):
        known += value
    elif isinstance(known, dict) and isinstance(value, dict):
        for name, inner in value.items():
            own = known.get(name)
            if isinstance(own, list) and isinstance(inner, list):
                own += inner
            elif inner is not None or name not in known:
                known[name] = list(inner) if isinstance(inner, list) else inner
    elif isinstance(value, dict):
        into[key] = {name: list(inner) if isinstance(inner, list) else inner for name, inner in value.items()}
    else:
        into[key] = list(value) if isinstance(value, list) else value


def _written(arguments: Any) -> str:
    """A piece of arguments; a whole object in their place is written out."""
    return arguments if isinstance(arguments, str) else "" if arguments is None else write_json(arguments)


def _is_whole(pieces: list[str]) -> bool:
    """Whether arguments are complete: checked only where they may be, so that looking often stays cheap."""
    if not pieces[-1].rstrip().endswith("}"):
        return False
    try:
        msgspec.json.decode("".join(pieces))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True


def _block_text(block: dict[str, Any]) -> str | None:
    """The text of a block that may go on in the next one, or `None` for a block that stands alone."""
    kind, text = block.get("type"), block.get("text")
    if kind == "text" and isinstance(text, str):
        return text
    thinking = block.get("thinking")
    if kind == "thinking" and isinstance(thinking, list):
        pieces = [as_object(piece) for piece in thinking]
        if all(piece.get("type") == "text" and isinstance(piece.get("text"), str) for piece in pieces):
            return "".join(piece["text"] for piece in pieces)
    return None


def _whole_block(block: dict[str, Any], pieces: list[str]) -> dict[str, Any]:
    if not pieces:
        return block
    text = "".join(pieces)
    if block.get("type") == "thinking":
        return {**block, "thinking": [{"type": "text", "text": text}]}
    return {**block, "text": text}


def _joined(key: str, pieces: list[str]) -> str:
    """Pieces of a text, or of base64 that may be padded piece by piece."""
    if key == "data" and any(piece.endswith("=") for piece in pieces[:-1]):
        try:
            return b64encode(b"".join(b64decode(piece) for piece in pieces)).decode()
        except ValueError:
            return "".join(pieces)
    return "".join(pieces)
