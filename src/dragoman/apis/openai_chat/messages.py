"""A conversation as `messages`.

Rules: an assistant's own fields go back as they came, but for those the protocol only sends (citations, what a
provider ran, a sound's data); thoughts go back to the model that had them, under the field they came in. A result is
a message of its own; media in it follow in a user's message after all results of the turn, since `tool` messages
carry text alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dragoman.apis.base.api import joined_name, read_arguments
from dragoman.apis.base.conversation_order import History, Remark, Turn
from dragoman.apis.base.encoded import not_shown
from dragoman.model.calls import ExecutedBy, NativeResult
from dragoman.model.conversation import (
    AnyPart,
    CallPart,
    MediaPart,
    OpaquePart,
    RefusalPart,
    Reply,
    ResultPart,
    TextPart,
    ThinkingPart,
)
from dragoman.model.json_values import as_list, as_object
from dragoman.model.outcomes import Media
from dragoman.model.request import Definition, Request

from .families import ways
from .media import takes_media, write_media
from .replies import read_block
from .tools import freeform_names
from .values import NAME, of_this_api, with_signature, write_json

_BLANK = ("content", "reasoning_content", "reasoning", "refusal")
"""Fields of a reply that are written back though they say nothing: a speaker that sends them may ask for them."""


def write_messages(request: Request, history: History, *, freeform: bool) -> tuple[list[dict[str, Any]], list[Remark]]:
    """Every turn in order, and what of them could not travel. `freeform`: whether the model has such tools."""
    writer = _Writer(request, freeform=freeform)
    for turn in history.turns:
        writer.turn(turn)
    writer.flush()
    return writer.messages, writer.remarks


def write_message(
    parts: Iterable[AnyPart], kept: dict[str, Any], definitions: tuple[Definition, ...]
) -> dict[str, Any]:
    """What a model says as one message of its own; `kept` are the fields that no part says."""
    writer = _Writer(Request("", (), definitions), freeform=True)
    writer.turn(Turn("assistant", list(parts), "reply", metadata={NAME: kept}))
    return writer.messages[0]


class _Writer:
    def __init__(self, request: Request, *, freeform: bool) -> None:
        self._has_freeform = freeform
        self.messages: list[dict[str, Any]] = []
        self.remarks: list[Remark] = []
        self._model = request.model
        self._ways = ways(request.model)
        self._freeform = freeform_names(request.definitions)
        self._legacy: dict[str, str] = {}
        self._waiting: list[dict[str, Any]] = []

    def turn(self, turn: Turn) -> None:
        if turn.role == "assistant":
            self.flush()
            self._assistant(turn)
            return
        results = [part for part in turn.parts if isinstance(part, ResultPart)]
        others: list[AnyPart] = [part for part in turn.parts if not isinstance(part, ResultPart)]
        for place, result in enumerate(results):
            self._result(turn, result, own=of_this_api(turn.metadata) if place == 0 and turn.role == "tool" else {})
        if others or not results:
            self.flush()
            self._said(turn, others)

    def flush(self) -> None:
        """Media of results, once all results of a turn are written."""
        if self._waiting:
            self.messages.append({"role": "user", "content": self._waiting})
            self._waiting = []

    def _note(self, turn: Turn, message: str) -> None:
        self.remarks.append(Remark(turn.where, message))

    # ── what is said to the model ──────────────────────────────────────────

    def _said(self, turn: Turn, parts: list[AnyPart]) -> None:
        role: str = "user" if turn.role == "tool" else turn.role
        kept = dict(of_this_api(turn.metadata))
        if role == "developer" and not self._ways.developer and not kept.pop("developer", False):
            self._note(turn, 'the role "developer" was told as "system": this model may not know it')
            role = "system"
        kept.pop("developer", None)
        if parts:
            kept.pop("content", None)  # what was there when there were none
        content = self._content(turn, parts)
        self.messages.append({"role": role, "content": content, **kept})

    def _content(self, turn: Turn, parts: Iterable[AnyPart]) -> Any:
        """A text where it is one text, else a list of blocks."""
        blocks: list[Any] = []
        for part in parts:
            if isinstance(part, OpaquePart) and part.api == NAME and "content" in part.item and len(part.item) == 1:
                return part.item["content"]
            block = self._block(turn, part)
            if block is not None:
                blocks.append(block)
        kept = list(parts)
        if len(kept) == 1 and isinstance(kept[0], TextPart) and not of_this_api(kept[0].metadata):
            return kept[0].text
        return blocks if blocks else ""

    def _block(self, turn: Turn, part: AnyPart) -> Any:
        if isinstance(part, TextPart):
            kept = of_this_api(part.metadata)
            return part.text if kept.get("bare") else {"type": "text", "text": part.text, **kept.get("block", {})}
        if isinstance(part, MediaPart):
            block = write_media(part) if self._takes(turn, part) else None
            if block is None:
                if turn.role == "assistant":
                    self._note(
                        turn, f"{part.media.media_type} that the model made cannot be sent back: it was left out"
                    )
                    return None
                self._note(turn, f"{part.media.media_type} cannot be sent: a text says so")
                block = {"type": "text", "text": not_shown(part.media)}
            elif block["type"] == "text":
                self._note(turn, f"{part.media.media_type} is sent as text")
            return block
        if isinstance(part, RefusalPart):
            kept = of_this_api(part.metadata)
            return {"type": "refusal", "refusal": part.text, **kept.get("block", {})}
        if isinstance(part, ThinkingPart):
            if of_this_api(part.metadata).get("field") == "content":
                return _thinking_block(part)
            self._note(turn, "thinking stands where only a model's turn may have it, and was left out")
            return None
        if isinstance(part, OpaquePart):
            if part.api == NAME:
                return part.item["value"] if set(part.item) == {"value"} else part.item
            self._note(turn, f"{part.item.get('type', 'an item')!r} of {part.api} was left out")
            return None
        self._note(turn, "a call that is not in a model's turn was left out")
        return None

    def _takes(self, turn: Turn, part: MediaPart) -> bool:
        """Whether media may stand in a turn; what came as this protocol's own block was taken before."""
        if of_this_api(part.metadata):
            return True
        return turn.role != "assistant" and takes_media(part, self._ways)

    # ── results ────────────────────────────────────────────────────────────

    def _result(self, turn: Turn, part: ResultPart, *, own: dict[str, Any]) -> None:
        result = part.result
        kept = of_this_api(part.metadata)
        content = self._result_content(turn, result, kept.get("content"))
        if result.call_id in self._legacy:
            self.messages.append({"role": "function", "name": self._legacy[result.call_id], "content": content})
            return
        extra = {key: value for key, value in own.items() if key not in ("role", "content", "tool_call_id")}
        self.messages.append({"role": "tool", "tool_call_id": result.call_id, "content": content, **extra})

    def _result_content(self, turn: Turn, result: NativeResult, recorded: Any) -> Any:
        if isinstance(recorded, list) and read_result_content(recorded) == result.content:
            return recorded
        if isinstance(result.content, str):
            return result.content
        texts = [piece for piece in result.content if isinstance(piece, str)]
        media = [piece for piece in result.content if not isinstance(piece, str)]
        blocks = [self._block(turn, MediaPart(piece)) for piece in media]
        sent = [block for block in blocks if block is not None]
        if sent:
            self._waiting.append({"type": "text", "text": f"What the call {result.call_id} returned beside its text:"})
            self._waiting += sent
            self._note(turn, f"media returned by {result.name or result.call_id!r} follow in a user's message")
        if not texts:
            return "(what was returned follows)" if sent else ""
        return texts[0] if len(texts) == 1 else [{"type": "text", "text": text} for text in texts]

    # ── the model's own turns ──────────────────────────────────────────────

    def _assistant(self, turn: Turn) -> None:
        message: dict[str, Any] = {"role": "assistant"}
        said: list[AnyPart] = []
        thoughts: list[ThinkingPart] = []
        calls: list[dict[str, Any]] = []
        for part in turn.parts:
            if isinstance(part, ThinkingPart):
                self._thought(turn, part, thoughts, said)
            elif isinstance(part, CallPart):
                self._call(turn, part, message, calls)
            elif isinstance(part, ResultPart):
                name = part.result.name or part.result.call_id
                self._note(
                    turn, f"the result of {name!r}, which the provider ran, was left out: it does not take it back"
                )
            elif isinstance(part, RefusalPart) and "block" not in of_this_api(part.metadata):
                message["refusal"] = part.text
            elif isinstance(part, MediaPart) and of_this_api(part.metadata).get("field") == "audio":
                self._spoken(turn, part, message)
            elif isinstance(part, MediaPart) and of_this_api(part.metadata).get("field") == "images":
                message.setdefault("images", []).append(write_media(part))
            else:
                said.append(part)
        if "audio" in message:
            said = [part for part in said if not _is_transcript(part)]
        self._answer(turn, said, message)
        message.update(_thoughts(thoughts))
        if calls:
            message["tool_calls"] = calls
        files = [item for part in said if isinstance(part, TextPart) for item in _files_read(part)]
        if files and turn.own:
            message["annotations"] = files
        self._left(turn, message)
        self.messages.append(message)

    def _answer(self, turn: Turn, said: list[AnyPart], message: dict[str, Any]) -> None:
        """`content`: as a list where it came as one, else as one text."""
        said = [part for part in said if not (isinstance(part, TextPart) and not part.text and part.citations)]
        listed = any(of_this_api(getattr(part, "metadata", {})).keys() & {"block", "bare", "field"} for part in said)
        if listed or any(not isinstance(part, TextPart) for part in said):
            message["content"] = self._content(turn, said)
        elif said:
            message["content"] = "".join(part.text for part in said if isinstance(part, TextPart))

    def _left(self, turn: Turn, message: dict[str, Any]) -> None:
        """Fields no part says: all of a message that was read from a request, of a reply only the blank ones."""
        kept = of_this_api(turn.metadata)
        if isinstance(turn.item, Reply):
            rest = as_object(kept.get("message"))
            kept = {key: rest[key] for key in _BLANK if key in rest and turn.same_model}
            if "refusal" in kept and kept["refusal"] is None:
                del kept["refusal"]
        for key, value in kept.items():
            if key not in message:
                message[key] = value
        if "content" not in message and not any(message.get(key) for key in ("tool_calls", "function_call", "audio")):
            message["content"] = None if "refusal" in message else ""
        elif "content" not in message and not isinstance(turn.item, Reply) and NAME not in turn.metadata:
            message["content"] = None

    def _thought(self, turn: Turn, part: ThinkingPart, thoughts: list[ThinkingPart], said: list[AnyPart]) -> None:
        field = of_this_api(part.metadata).get("field")
        unsigned = part.signature is None and part.encrypted is None and field != "reasoning_details"
        if not turn.same_model and not (unsigned and turn.own and self._kin(turn)):
            self._note(turn, "thinking of another model was left out")
        elif field == "content":
            said.append(part)
        elif field is None:
            self._note(turn, "thinking that did not come from this API was left out: it has no field for it")
        else:
            thoughts.append(part)

    def _kin(self, turn: Turn) -> bool:
        """Whether a model of the same maker said it: deepseek-reasoner answers as deepseek-v4-flash, and wants its
        thoughts back. Plain ones can do no harm there; signed ones are the very model's alone."""
        made_by = turn.item.provenance if turn.item is not None else None
        names = (self._model, (made_by.model if made_by is not None else None) or "")
        first, second = (re.split(r"[^a-z]+", name.rsplit("/", 1)[-1].lower())[0] for name in names)
        return first == second != ""

    def _spoken(self, turn: Turn, part: MediaPart, message: dict[str, Any]) -> None:
        if part.media.file_id is None:
            self._note(turn, "a spoken answer without an id cannot go back: its transcript does")
        else:
            message["audio"] = {"id": part.media.file_id}

    def _call(self, turn: Turn, part: CallPart, message: dict[str, Any], calls: list[dict[str, Any]]) -> None:
        call, kept = part.call, of_this_api(part.metadata)
        if call.executed_by is ExecutedBy.PROVIDER:
            self._note(turn, f"the call {call.name!r}, which the provider ran, does not go back: it was left out")
            return
        if call.item is not None and "function" not in call.item and "custom" not in call.item and turn.own:
            calls.append({**call.item, "id": call.id})
            return
        name = joined_name(call.namespace, call.name)
        if kept.get("legacy") and "function_call" not in message:
            self._legacy[call.id] = name
            message["function_call"] = {"name": name, "arguments": _arguments(part), **kept.get("function", {})}
            return
        is_text = isinstance(call.arguments, str) and name in self._freeform
        if kept.get("type") == "custom" or (is_text and self._has_freeform):
            inner = {"name": name, "input": _arguments(part), **kept.get("function", {})}
            item: dict[str, Any] = {"id": call.id, "type": "custom", "custom": inner}
        elif is_text:  # as the tool itself is offered: a function of one text
            inner = {"name": name, "arguments": write_json({"input": _arguments(part)})}
            item = {"id": call.id, "type": "function", "function": inner}
        else:
            inner = {"name": name, "arguments": _arguments(part), **kept.get("function", {})}
            item = {"id": call.id, "type": "function", "function": inner}
        extra = dict(kept.get("extra", {}))
        if part.signature is not None:
            if turn.same_model:
                extra["extra_content"] = with_signature(extra.get("extra_content"), part.signature)
            else:
                self._note(turn, f"the thought signature of the call {call.name!r} was left out: another model made it")
        extra.pop("late_id", None)
        calls.append({**item, **extra})


def _is_transcript(part: AnyPart) -> bool:
    return isinstance(part, TextPart) and "audio" in of_this_api(part.metadata)


def _arguments(part: CallPart) -> str:
    """The arguments as text: the very text that came, unless somebody changed them."""
    arguments = part.call.arguments
    if isinstance(arguments, str):
        return arguments
    came = of_this_api(part.metadata).get("arguments")
    if isinstance(came, str) and read_arguments(came) == arguments:
        return came
    return write_json(arguments)


def _files_read(part: TextPart) -> list[Any]:
    """Annotations that want to go back: files OpenRouter has read (pydantic-ai, December 2025)."""
    items = [of_this_api(citation.metadata).get("item") for citation in part.citations]
    return [item for item in items if item is not None]


def _thoughts(parts: list[ThinkingPart]) -> dict[str, Any]:
    """The fields of thoughts, as they came."""
    fields: dict[str, Any] = {}
    details = [part for part in parts if of_this_api(part.metadata)["field"] == "reasoning_details"]
    if details:
        fields["reasoning_details"] = [_detail(part) for part in details]
    for part in parts:
        kept = of_this_api(part.metadata)
        field = kept["field"]
        if field == "extra_content" and part.signature is not None:
            fields[field] = with_signature(kept.get("item"), part.signature)
        elif field == "thought_signature":
            fields[field] = part.signature
        elif field != "reasoning_details":
            fields[field] = part.text
        whole = part.signature if field == "extra_content" else "".join(detail.text for detail in details) or part.text
        for key in kept.get("mirrored", ()):
            fields[key] = whole
    return fields


def _detail(part: ThinkingPart) -> dict[str, Any]:
    item = dict(of_this_api(part.metadata)["item"])
    kind = item.get("type")
    if part.encrypted is not None:
        item["data"] = part.encrypted
    elif part.text:
        item["summary" if kind == "reasoning.summary" else "text"] = part.text
    if part.signature is not None:
        item["signature"] = part.signature
    if part.id is not None:
        item["id"] = part.id
    return item


def _thinking_block(part: ThinkingPart) -> dict[str, Any]:
    kept = of_this_api(part.metadata)
    form = kept.get("form")
    if form == "text":
        thinking: Any = part.text
    else:
        thinking = kept["thinking"] if form == "" else [{"type": "text", "text": part.text}]
    signed = {} if part.signature is None else {"signature": part.signature}
    return {"type": "thinking", "thinking": thinking, **signed, **kept.get("block", {})}


def read_result_content(content: list[Any]) -> tuple[str | Media, ...] | str:
    """The content of a `tool` message that is a list: texts and media, or the JSON of what is neither."""
    pieces: list[str | Media] = []
    for block in as_list(content):
        part = read_block(block)
        if isinstance(part, TextPart):
            pieces.append(part.text)
        else:
            pieces.append(part.media if isinstance(part, MediaPart) else write_json(block))
    return tuple(pieces)
