"""The Messages protocol, as Anthropic and the clouds that host Claude speak it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from dragoman.apis.base.api import Api, Encoded, Problem, StreamDecoder, Tools
from dragoman.apis.base.conversation_order import History
from dragoman.errors import EngineError
from dragoman.model.conversation import (
    AnyPart,
    CallPart,
    ConversationItem,
    FinishReason,
    MediaPart,
    Reply,
    ResultPart,
    Usage,
)
from dragoman.model.request import Definition, Features, Request

from .blocks import read_blocks, write_media
from .families import FAMILIES, FEATURES, LEAST_BUDGET, LIMITS, NAME, Family
from .reading import read_request
from .replies import read_error, read_reply, read_usage, read_usual_usage
from .requests import RequestWriter
from .settings import lower_response, max_tokens, wire_name, write_thinking_setting
from .stream import MessageStream
from .tools import is_deferred, write_tools


class AnthropicMessages(Api):
    """`POST /v1/messages`."""

    name = NAME
    base_limits = LIMITS
    base_features = FEATURES
    families = FAMILIES
    results_at_once = True  # "Each `tool_use` block must have a corresponding `tool_result` block in the next message"

    def decode(self, body: dict[str, Any]) -> Reply:
        """A whole message."""
        return read_reply(body)

    def stream(self) -> StreamDecoder:
        """A decoder for one streamed message."""
        return MessageStream()

    def read_request(self, body: dict[str, Any], *, model: str | None = None) -> Request:
        """A recorded request; `model` where the URL names it."""
        return read_request(body, model or "", self.family)

    def error(self, status: int | None, headers: Mapping[str, str], body: Any) -> EngineError:
        """An error response."""
        return read_error(status, headers, body)

    def read_parts(self, items: Iterable[Any]) -> tuple[AnyPart, ...]:
        """Content blocks."""
        return read_blocks(items)

    def read_usage(self, usage: Any) -> Usage:
        """A usage object."""
        return read_usage(usage)

    def read_usage_json(self, usage: bytes | msgspec.Raw) -> Usage | None:
        """The same as it is written."""
        try:
            return read_usual_usage(usage)
        except msgspec.ValidationError:
            return super().read_usage_json(usage)

    def family(self, model: str) -> Family:
        """What a model takes that no other API has a word for."""
        return self._of_family(Family(), model)

    def features(self, model: str) -> Features:
        """What a model can do."""
        return msgspec.structs.replace(super().features(model), strict_tools=self.family(model).strict)

    def _body(self, request: Request, history: History, tools: Tools | None) -> Encoded:
        return RequestWriter(request, history, tools, self.family(request.model)).encoded()

    def _write_tools(self, definitions: tuple[Definition, ...], model: str) -> Tools:
        return write_tools(definitions, self.limits(model), self.features(model))

    def validate(self, request: Request) -> tuple[Problem, ...]:
        """Every problem the API would have with this request, those that writing it fixes included."""
        writer = RequestWriter(request, self._history(request), self._written(request), self.family(request.model))
        fixed = (Problem(one.where, one.message, "encoding fixes it", fixed=True) for one in writer.encoded().report)
        return (*super().validate(request), *fixed)

    # ── problems ───────────────────────────────────────────────────────────

    def _takes(self, part: MediaPart, model: str) -> bool:
        return write_media(part.media) is not None

    def _problems(self, request: Request) -> Iterable[Problem]:
        family = self.family(request.model)
        yield from _thinking_problems(request, family)
        yield from _sampling_problems(request, family)
        if request.definitions and all(map(is_deferred, request.definitions)):
            fix = "offer one that is not deferred, such as a tool that searches for tools"
            yield Problem("tools", "every tool is deferred: the model could call none", fix)
        if request.choice.mode == "one" and wire_name(request.choice.names[0], request) is None:
            message = f"{request.choice.names[0]!r} has no name to be chosen by"
            yield Problem("choice", message, 'choose "required", or a tool that has one')
        if request.response_schema is not None:
            if not self.features(request.model).response_schema:
                yield Problem("response_schema", "this model has none", "offer a tool with this schema and choose it")
            for problem in lower_response(request.response_schema).problems:
                yield Problem("response_schema", problem, "change the schema")
        if any(not word.strip() for word in request.stop):
            yield Problem("stop", "a stop sequence is nothing but space", "give one that holds a character")
        if "messages" not in request.provider_options:
            yield from _conversation_problems(request, family)


def _thinking_problems(request: Request, family: Family) -> Iterable[Problem]:
    asked = request.thinking
    if asked is None or asked.level == "off":
        return
    if family.thinks == "no":
        yield Problem("thinking", "this model does not think", "leave it out, or take a model that does")
        return
    setting = write_thinking_setting(request, family)[0].get("thinking", {})
    if setting.get("type") == "enabled":
        budget, most = setting["budget_tokens"], max_tokens(request, family)
        if budget >= most:
            message = f"{budget} tokens of thinking leave no room in max_output_tokens={most}"
            yield Problem("thinking", message, f"think with fewer (at least {LEAST_BUDGET}) or allow more output")
        forced = request.choice.mode in ("required", "one")
        if forced and family.thinks == "both":  # elsewhere every kind of thinking excludes it, and that is told for all
            message = "this model cannot be forced to call a tool while it thinks with a budget"
            yield Problem("choice", message, "choose auto, or give thinking a level")
        if request.top_p is not None and request.top_p < 0.95:
            yield Problem("top_p", "while the model thinks it is at least 0.95", "leave it out")
    if request.temperature not in (None, 1):
        yield Problem("temperature", "while the model thinks it is 1", "leave it out, or switch thinking off")


def _sampling_problems(request: Request, family: Family) -> Iterable[Problem]:
    temperature, top_p = request.temperature, request.top_p
    if temperature is not None and not 0 <= temperature <= 1:
        yield Problem("temperature", f"{temperature:g} is outside 0 to 1", "give one inside")
    if not family.sampling:
        for name, value in (("temperature", temperature), ("top_p", top_p)):
            if value not in (None, 1):
                yield Problem(name, "this model takes none", "leave it out")
    elif family.one_sampling and temperature is not None and top_p is not None:
        yield Problem("top_p", "this model takes a temperature or a top_p, not both", "leave one out")


def _conversation_problems(request: Request, family: Family) -> Iterable[Problem]:
    said = [item for item in request.conversation if item.role not in ("system", "developer")]
    if not said:
        yield Problem("conversation", "nothing is asked", "add a user message")
        return
    if said[-1].role == "assistant" and not _goes_on(said[-1]):
        thinks = request.thinking is not None and request.thinking.level != "off"
        if not family.prefill or thinks:
            why = "this model does not" if not family.prefill else "a thinking model does not"
            yield Problem("conversation", f"{why} go on from words put into its mouth", "end with a user message")


def _goes_on(turn: ConversationItem) -> bool:
    """Whether the model's last turn asks for more by itself: calls to answer, or the provider's tools under way."""
    if isinstance(turn, Reply) and turn.finish is FinishReason.PAUSED:
        return True
    return any(isinstance(part, CallPart | ResultPart) for part in turn.parts)


API = AnthropicMessages()
