"""A request as this protocol wants it: who may speak where, what each model takes, which headers it needs.

Rule: results come first in the user message after their calls; whatever is changed or left out is remarked.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.apis.base.api import Encoded, Tools
from dragoman.apis.base.conversation_order import History, Remark, Turn
from dragoman.apis.base.encoded import not_shown
from dragoman.apis.base.options import with_options
from dragoman.apis.lowering import Lowering
from dragoman.model import conversation as conv
from dragoman.model.calls import ExecutedBy, NativeCall, NativeResult
from dragoman.model.outcomes import Media
from dragoman.model.request import Request

from .blocks import inside, own, write_call, write_media, write_text, write_thinking
from .caching import mark
from .families import NAME, Family, same_claude
from .pictures import FEW, LARGEST_SIDE_OF_MANY, largest_side, longer_side
from .settings import headers, lower_response, max_tokens, write_choice, write_thinking_setting

Block = dict[str, Any]


class RequestWriter:
    """Writes one request."""

    def __init__(self, request: Request, history: History, tools: Tools | None, family: Family) -> None:
        self._request, self._turns, self._tools, self._family = request, history.turns, tools, family
        self._remarks: list[Remark] = []
        self._system: list[Block] = []
        self._messages: list[Block] = []
        self._results = 0
        """How many results the last message begins with."""
        self._toolsets: dict[str, str] = {}
        said = [part for turn in self._turns for part in turn.parts]
        self._largest_side = largest_side(said)
        self._begun = {part.call.id for part in said if isinstance(part, conv.CallPart) and _is_hosted(part.call)}
        self._ended = {
            part.result.call_id for part in said if isinstance(part, conv.ResultPart) and _is_hosted(part.result)
        }

    def encoded(self) -> Encoded:
        """The whole request."""
        for turn in self._turns:
            self._turn(turn)
        self._trim_prefill()
        if self._request.cache and "cache_control" not in self._request.provider_options:
            mark(self._system, self._messages)
        body = self._body()
        return Encoded(
            body=body,
            path="/v1/messages",
            headers=headers(body),
            lowering=self._tools.lowering if self._tools else Lowering(),
            report=tuple(self._remarks),
            tools=self._tools,
        )

    def _note(self, where: str, message: str) -> None:
        self._remarks.append(Remark(where, message))

    def _body(self) -> dict[str, Any]:
        request, options = self._request, self._request.provider_options
        body: dict[str, Any] = {
            "model": request.model,
            "max_tokens": max_tokens(request, self._family),
            "messages": self._messages,
        }
        if "anthropic_version" in options or not request.model:  # Bedrock, Vertex: in the URL (SDK 2.10.0)
            del body["model"]
        if self._system:
            plain = len(self._system) == 1 and self._system[0].keys() == {"type", "text"}
            body["system"] = self._system[0]["text"] if plain else self._system
        if self._tools is not None:
            body["tools"] = self._tools.wire
            choice = write_choice(request)
            if choice is not None:
                body["tool_choice"] = choice
        body |= self._thinking()
        if request.response_schema is not None:
            form = self._answer_format(request.response_schema)
            body["output_config"] = {**body.get("output_config", {}), "format": form}
        settings = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "stop_sequences": list(request.stop) or None,
            "stream": request.stream or None,
        }
        body |= {key: value for key, value in settings.items() if value is not None}
        container = self._waiting_container()
        if container is not None:
            body["container"] = container
        if request.seed is not None:
            self._note("seed", "this API takes no seed: it was left out")
        return with_options(body, options, self._remarks)

    def _answer_format(self, schema: dict[str, Any]) -> dict[str, Any]:
        lowered = lower_response(schema)
        for rewrite in lowered.rewrites:
            self._note(f"response_schema{rewrite.path}", rewrite.message)
        return {"type": "json_schema", "schema": lowered.schema}

    def _thinking(self) -> dict[str, Any]:
        written, remark = write_thinking_setting(self._request, self._family)
        if remark is not None:
            self._note("thinking", remark)
        if written.get("thinking", {}).get("type") == "enabled" and self._continues_unthought():
            self._note("thinking", "it is off for this request: the calls it goes on from were made without thinking")
            return {}
        return written

    def _waiting_container(self) -> str | None:
        """Where the code runs that made calls whose results come now: without its name the API takes none of them."""
        last = next((turn for turn in reversed(self._turns) if turn.role == "assistant"), None)
        if last is None or not isinstance(last.item, conv.Reply) or not last.own:
            return None
        items = [part.call.item or {} for part in last.parts if isinstance(part, conv.CallPart)]
        if not any(str(inside(item.get("caller"), "type")).startswith("code_execution") for item in items):
            return None
        id = inside(own(last.metadata).get("container"), "id")
        return id if isinstance(id, str) else None

    def _continues_unthought(self) -> bool:
        """Whether the request hands in results of a turn that has no thinking: then the API refuses to think."""
        results = 0
        for message in reversed(self._messages):
            kinds = [block["type"] for block in message["content"]] if isinstance(message["content"], list) else []
            if message["role"] == "user" and "tool_result" in kinds:
                results += 1
            elif message["role"] == "assistant" and results:
                return "tool_use" in kinds and kinds[0] not in ("thinking", "redacted_thinking")
            elif message["role"] != "system":
                return False
        return False

    # ── turns ──────────────────────────────────────────────────────────────

    def _turn(self, turn: Turn) -> None:
        if turn.role in ("system", "developer"):
            self._system_turn(turn)
        elif turn.role == "assistant":
            self._assistant_turn(turn)
        else:
            self._user_turn(turn)

    def _system_turn(self, turn: Turn) -> None:
        blocks = self._plain_blocks(turn)
        at_start = not self._messages or not self._family.system_turns
        texts = [block for block in blocks if block["type"] == "text"]
        if at_start and len(texts) < len(blocks):
            self._note(turn.where, "the system message holds text alone: the rest was left out")
        if self._messages and at_start and texts:
            message = "this model takes no system message inside a conversation: it was moved to the start"
            self._note(turn.where, message)
        if at_start:
            self._system += texts
        elif blocks:
            self._messages.append({"role": "system", "content": blocks})

    def _assistant_turn(self, turn: Turn) -> None:
        blocks = [block for part in turn.parts if (block := self._assistant_block(part, turn)) is not None]
        if not blocks:
            if turn.parts or turn.item is not None:
                self._note(turn.where, "the turn holds nothing this API takes back: it was left out")
            return
        self._messages.append({"role": "assistant", **_stated(turn), "content": blocks})

    def _user_turn(self, turn: Turn) -> None:
        results = [self._result_block(part, turn) for part in turn.parts if isinstance(part, conv.ResultPart)]
        blocks = results + self._plain_blocks(turn)
        if not blocks:
            return
        last = self._messages[-1] if self._messages else None
        if last is not None and last["role"] == "user" and (results or self._results):
            last["content"][self._results : self._results] = results
            last["content"] += blocks[len(results) :]
            self._results += len(results)
        else:
            self._messages.append({"role": "user", **_stated(turn), "content": blocks})
            self._results = len(results)

    def _trim_prefill(self) -> None:
        """The words the model goes on from may not end in space."""
        last = self._messages[-1] if self._messages else None
        if last is None or last["role"] != "assistant" or last["content"][-1]["type"] != "text":
            return
        block = last["content"][-1]
        said = block.get("text")
        text = said.rstrip() if isinstance(said, str) else None
        if text and text != said:
            last["content"][-1] = {**block, "text": text}
            self._note("conversation", "the space at the end of the model's last words was taken off")

    # ── parts ──────────────────────────────────────────────────────────────

    def _assistant_block(self, part: conv.AnyPart, turn: Turn) -> Block | None:
        if isinstance(part, conv.TextPart):
            return self._text_block(part, turn)
        if isinstance(part, conv.ThinkingPart):
            return self._thinking_block(part, turn)
        if isinstance(part, conv.CallPart):
            return self._call_block(part, turn)
        if isinstance(part, conv.ResultPart):
            return self._hosted_result_block(part.result, turn)
        if isinstance(part, conv.RefusalPart):
            told_beside = "stop_details" in own(part.metadata)
            return None if told_beside or not part.text else {"type": "text", "text": part.text}
        if isinstance(part, conv.MediaPart):
            self._note(turn.where, "a model's turn cannot hold media on this API: it was left out")
            return None
        return self._opaque_block(part, turn)

    def _text_block(self, part: conv.TextPart, turn: Turn) -> Block | None:
        if not part.text:
            self._note(turn.where, "an empty text was left out")
            return None
        if part.citations and not (turn.own and turn.role == "assistant"):
            whose = "of another API" if turn.role == "assistant" else f"in a {turn.role} message"
            self._note(turn.where, f"citations {whose} were left out")
            part = msgspec.structs.replace(part, citations=())
        return write_text(part)

    def _thinking_block(self, part: conv.ThinkingPart, turn: Turn) -> Block | None:
        if not turn.same_model and not self._is_same_claude(turn):
            self._note(turn.where, "thinking of another model was left out")
        elif part.encrypted is None and not part.signature:
            self._note(turn.where, "thinking without a signature was left out")
        else:
            return write_thinking(part)
        return None

    def _is_same_claude(self, turn: Turn) -> bool:
        made_by = None if turn.item is None or turn.item.provenance is None else turn.item.provenance.model
        return turn.own and made_by is not None and same_claude(made_by, self._request.model)

    def _call_block(self, part: conv.CallPart, turn: Turn) -> Block | None:
        call = part.call
        if _is_hosted(call) and self._is_abandoned(call, turn):
            self._note(
                turn.where, f"the call {call.name!r} ({call.id}), which the provider never finished, was left out"
            )
            return None
        block = {**write_call(call), **own(part.metadata)}
        toolset = block.get("toolset_name")
        if isinstance(toolset, str):
            self._toolsets[call.id] = toolset
        if isinstance(call.arguments, str):
            self._note(turn.where, f"the arguments of {call.name!r} are text: they go as its argument `input`")
        return block

    def _is_abandoned(self, call: NativeCall, turn: Turn) -> bool:
        """Whether the provider gave up a call: one in the last turn, or beside calls of ours, it goes on with."""
        if call.id in self._ended or turn is self._turns[-1]:
            return False
        return not any(isinstance(part, conv.CallPart) and not _is_hosted(part.call) for part in turn.parts)

    def _hosted_result_block(self, result: NativeResult, turn: Turn) -> Block | None:
        item = result.item
        if not _is_hosted(result) or not isinstance(item, dict) or "type" not in item:
            why = "has no block of this API"
        elif result.call_id not in self._begun:
            why = "has no call"
        else:
            return {**item, "tool_use_id": result.call_id}
        self._note(turn.where, f"the provider's result for {result.call_id!r} {why}: it was left out")
        return None

    def _opaque_block(self, part: conv.OpaquePart, turn: Turn) -> Block | None:
        if "type" in part.item and part.api == NAME:
            return part.item
        self._note(turn.where, f"{part.item.get('type', 'an item')!r} of {part.api} was left out")
        return None

    def _plain_blocks(self, turn: Turn) -> list[Block]:
        """What a user or a system message says, but for results."""
        blocks: list[Block] = []
        for part in turn.parts:
            block: Block | None = None
            if isinstance(part, conv.ResultPart):
                continue
            if isinstance(part, conv.TextPart):
                block = self._text_block(part, turn)
            elif isinstance(part, conv.MediaPart):
                block = self._media_block(part.media, turn)
                block = {**block, **own(part.metadata)}
            elif isinstance(part, conv.OpaquePart):
                block = self._opaque_block(part, turn)
            elif isinstance(part, conv.RefusalPart):
                block = {"type": "text", "text": part.text} if part.text else None
            else:
                self._note(turn.where, f"a {turn.role} message cannot hold {type(part).__name__}: it was left out")
            if block is not None:
                blocks.append(block)
        return blocks

    def _media_block(self, media: Media, turn: Turn) -> Block:
        block = write_media(media, self._largest_side)
        if block is not None:
            return block
        if longer_side(media) > self._largest_side == LARGEST_SIDE_OF_MANY:
            why = f"beside more than {FEW - 1} others a picture has {self._largest_side} pixels a side at most"
            self._note(turn.where, f"{why}: a text says where the larger one is")
        else:
            self._note(turn.where, f"{media.media_type} cannot be sent over this API: a text says where it is")
        return {"type": "text", "text": not_shown(media)}

    def _result_block(self, part: conv.ResultPart, turn: Turn) -> Block:
        result = part.result
        item = result.item if isinstance(result.item, dict) and result.item.get("type") == "tool_result" else {}
        block: Block = {
            "type": "tool_result",
            "tool_use_id": result.call_id,
            "content": self._result_content(result, turn),
        }
        if result.is_error is not None:
            block["is_error"] = result.is_error
        toolset = self._toolsets.get(result.call_id)
        if toolset is not None:
            block["toolset_name"] = toolset
        stated = {key: value for key, value in item.items() if key not in ("type", "tool_use_id", "is_error")}
        return {**block, **stated, **own(part.metadata)}

    def _result_content(self, result: NativeResult, turn: Turn) -> str | list[Block]:
        if isinstance(result.content, str):
            return result.content
        blocks: list[Block] = []
        for piece in result.content:
            if isinstance(piece, str):
                if piece:
                    blocks.append({"type": "text", "text": piece})
            elif result.is_error:
                self._note(turn.where, "the result of a failed call holds text alone: a text says what its media were")
                blocks.append({"type": "text", "text": not_shown(piece)})
            else:
                blocks.append(self._media_block(piece, turn))
        return blocks


def _is_hosted(native: NativeCall | NativeResult) -> bool:
    return native.executed_by is ExecutedBy.PROVIDER


def _stated(turn: Turn) -> Block:
    """What a message says beside its content. What a reply says there is about the reply, and stays here."""
    return own(turn.metadata) if isinstance(turn.item, conv.Message) else {}
