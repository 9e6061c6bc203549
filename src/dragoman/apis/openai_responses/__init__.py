"""OpenAI's Responses API, and what other vendors serve under that name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.apis.base.api import Api, Encoded, Problem, StreamDecoder, Tools
from dragoman.apis.base.conversation_order import History, Remark, Turn, conversation_key
from dragoman.apis.base.options import with_options
from dragoman.apis.lowering import OPENAI_STRICT, Lowering, lower
from dragoman.errors import EngineError
from dragoman.model.conversation import AnyPart, MediaPart, OpaquePart, Reply, TextPart, Usage
from dragoman.model.request import Definition, Request

from .content import write_media
from .families import FAMILIES, FEATURES, LIMITS, effort, unchecked_reasoning
from .fields import NAME, mine
from .items import read_items
from .replies import read_error, read_reply, read_usage
from .requests import read_request
from .stream import ResponsesStream
from .tools import write_choice, write_tools
from .writing import ItemWriter

_KEPT_THERE = ("previous_response_id", "conversation")


class OpenAIResponses(Api):
    """A request is a list of items, a response another; each item is said, thought, called or given."""

    name = NAME
    base_limits = LIMITS
    base_features = FEATURES
    families = FAMILIES

    # ── replies ────────────────────────────────────────────────────────────

    def decode(self, body: dict[str, Any]) -> Reply:
        return read_reply(body)

    def stream(self) -> StreamDecoder:
        return ResponsesStream()

    def error(self, status: int | None, headers: Mapping[str, str], body: Any) -> EngineError:
        return read_error(status, headers, body)

    def read_parts(self, items: Iterable[Any]) -> tuple[AnyPart, ...]:
        return read_items(list(items), reply=False)

    def read_usage(self, usage: Any) -> Usage:
        return read_usage(usage)

    # ── requests ───────────────────────────────────────────────────────────

    def read_request(self, body: dict[str, Any], *, model: str | None = None) -> Request:
        return read_request(body, model)

    def _history(self, request: Request) -> History:
        limits = self.limits(request.model)
        return History(
            request.conversation,
            api=self.name,
            model=request.model,
            id_pattern=limits.call_id_pattern,
            id_length=limits.call_id_length,
            stored=_is_stored(request),
        )

    def _write_tools(self, definitions: tuple[Definition, ...], model: str) -> Tools:
        return write_tools(definitions, self.limits(model), self.features(model))

    def _body(self, request: Request, history: History, tools: Tools | None) -> Encoded:
        report: list[Remark] = []
        body: dict[str, Any] = {"model": request.model} if request.model else {}  # a stored prompt has its own
        turns = history.turns
        if turns and _is_instructions(turns[0]):
            (part,) = turns[0].parts
            assert isinstance(part, TextPart)
            body["instructions"] = part.text
            turns = turns[1:]
        writer = ItemWriter(
            definitions=request.definitions,
            freeform=self.features(request.model).freeform_tools,
            stored=request.provider_options.get("store") is not False,
            unchecked=unchecked_reasoning(request.model),
        )
        for turn in turns:
            writer.turn(turn)
        report += writer.remarks
        if writer.items or "prompt" not in request.provider_options:
            body["input"] = writer.items
        if tools is not None:
            body["tools"] = tools.wire
        choice = write_choice(request.choice, request.definitions)
        if choice is not None:
            body["tool_choice"] = choice
        self._settings(request, body, report)
        return Encoded(
            with_options(body, request.provider_options, report),
            path="/responses",
            lowering=tools.lowering if tools is not None else Lowering(),
            report=tuple(report),
            tools=tools,
        )

    def _settings(self, request: Request, body: dict[str, Any], report: list[Remark]) -> None:
        said = {
            "parallel_tool_calls": request.parallel,
            "max_output_tokens": request.max_output_tokens,
            "temperature": request.temperature,
            "top_p": request.top_p,
            "stream": True if request.stream else None,
        }
        body.update({name: value for name, value in said.items() if value is not None})
        if request.cache and self.features(request.model).cache_key:
            body["prompt_cache_key"] = conversation_key(request.conversation)
        if request.thinking is not None and self.features(request.model).thinking:
            word, remark = effort(request.thinking, request.model)
            body["reasoning"] = {"effort": word}
            if remark is not None:
                report.append(Remark("thinking", remark))
        if request.response_schema is not None:
            body["text"] = {"format": _answer_format(request)}
        if request.seed is not None:
            report.append(Remark("seed", "this API takes no seed: it was left out"))

    def _takes(self, part: MediaPart, model: str) -> bool:
        return write_media(part.media) is not None

    def _problems(self, request: Request) -> Iterable[Problem]:
        thinking = request.thinking
        if thinking is not None and thinking.level != "off" and not self.features(request.model).thinking:
            yield Problem("thinking", f"{request.model} does not think", "leave thinking out, or choose another model")
        if not request.model and "prompt" not in request.provider_options:
            yield Problem("model", "no model is named", "name one")


def _is_stored(request: Request) -> bool:
    """Whether the provider holds earlier turns, so that a result may stand without its call."""
    if any(request.provider_options.get(name) for name in _KEPT_THERE):
        return True
    return any(
        isinstance(part, OpaquePart) and part.item.get("type") == "item_reference"
        for item in request.conversation
        for part in item.parts
    )


def _is_instructions(turn: Turn) -> bool:
    """Whether a turn is a system text of ours; one that was read from among the items goes back there."""
    text = len(turn.parts) == 1 and isinstance(turn.parts[0], TextPart) and not mine(turn.parts[0].metadata)
    return turn.role == "system" and text and NAME not in turn.metadata


def _answer_format(request: Request) -> dict[str, Any]:
    """The form of the answer: strict where the schema needs no change for it, since nothing undoes one in an answer."""
    schema = request.response_schema or {}
    asked = request.provider_options.get("text")
    asked = asked.get("format") if isinstance(asked, dict) else None
    form = {"type": "json_schema", "name": "answer", "schema": schema}
    if isinstance(asked, dict) and "strict" in asked:
        return form
    lowered = lower(schema, OPENAI_STRICT)
    return {**form, "strict": lowered.lossless and lowered.schema == schema}


API = OpenAIResponses()
