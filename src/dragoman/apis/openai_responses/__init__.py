"""OpenAI's Responses API, and what other vendors serve under that name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from dragoman.apis.base.api import Api, Encoded, Problem, StreamDecoder, Tools
from dragoman.apis.base.conversation_order import History
from dragoman.errors import EngineError
from dragoman.model.conversation import AnyPart, MediaPart, OpaquePart, Reply, Usage
from dragoman.model.request import Definition, Request

from .content import write_content
from .families import FAMILIES, FEATURES, LIMITS
from .fields import NAME
from .items import read_items, read_logged
from .replies import read_error, read_reply, read_usage

if TYPE_CHECKING:
    from dragoman.apis.base.endpoints import Endpoints
    from dragoman.apis.base.message_reader import MessageReader
    from dragoman.apis.base.serving import ServerSide

_PARTS = attrgetter("parts")
_KEPT_THERE = ("previous_response_id", "conversation")


class OpenAIResponses(Api):
    """A request is a list of items, a response another; each item is said, thought, called or given."""

    name = NAME
    conversation_fields = ("instructions", "input")
    base_limits = LIMITS
    base_features = FEATURES
    families = FAMILIES

    # ── replies ────────────────────────────────────────────────────────────

    decode = staticmethod(read_reply)
    error = staticmethod(read_error)
    read_usage = staticmethod(read_usage)

    def stream(self) -> StreamDecoder:
        from .stream import ResponsesStream

        return ResponsesStream()

    read_logged = staticmethod(read_logged)

    def read_parts(self, items: Iterable[Any]) -> tuple[AnyPart, ...]:
        return read_items(list(items), reply=False)

    # ── requests ───────────────────────────────────────────────────────────

    def read_request(
        self, body: dict[str, Any], *, model: str | None = None, read: MessageReader | None = None
    ) -> Request:
        from .requests import read_request

        return read_request(body, model, read)

    def message_reader(self, body: dict[str, Any], *, model: str | None = None) -> MessageReader:
        from .requests import Reader

        return Reader()

    def _is_stored(self, request: Request) -> bool:
        if any(request.provider_options.get(name) for name in _KEPT_THERE):
            return True
        # This is asked for every request of a run, so it is to cost next to nothing for each of its parts.
        parts = chain.from_iterable(map(_PARTS, request.conversation))
        return any(part.item.get("type") == "item_reference" for part in parts if type(part) is OpaquePart)

    def _write_tools(self, definitions: tuple[Definition, ...], model: str) -> Tools:
        from .tools import write_tools

        return write_tools(definitions, self.limits(model), self.features(model))

    def server(self) -> ServerSide:
        from .serving import SERVER

        return SERVER

    def endpoints(self) -> Endpoints:
        from .endpoints import ResponsesEndpoints

        return ResponsesEndpoints(self)

    def _body(self, request: Request, history: History, tools: Tools | None) -> Encoded:
        from .requests import write_request

        return write_request(request, history, tools, self.features(request.model))

    def _takes(self, part: MediaPart, model: str) -> bool:
        return write_content(part, "input_text") is not None

    def _problems(self, request: Request) -> Iterable[Problem]:
        thinking = request.thinking
        if thinking is not None and thinking.level != "off" and not self.features(request.model).thinking:
            yield Problem("thinking", f"{request.model} does not think", "leave thinking out, or choose another model")
        if not request.model and "prompt" not in request.provider_options:
            yield Problem("model", "no model is named", "name one")


API = OpenAIResponses()
