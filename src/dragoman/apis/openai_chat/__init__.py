"""Chat Completions: OpenAI's first chat protocol, and everything that speaks it.

`replies` and `stream` read answers, `requests` both ways of a request with `messages`, `tools` and `settings`;
`families` holds what is known of models, as data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.apis.base.api import Api, Encoded, Problem, StreamDecoder, Tools
from dragoman.apis.base.conversation_order import History
from dragoman.errors import EngineError
from dragoman.model.conversation import AnyPart, MediaPart, Reply, Usage
from dragoman.model.request import Definition, Limits, Request

from .families import FAMILIES, FEATURES, LIMITS, ways
from .faults import read_error
from .media import takes_media, write_media
from .replies import read_block, read_body, read_message
from .usage import read_usage
from .values import NAME

if TYPE_CHECKING:
    from dragoman.apis.base.endpoints import Endpoints
    from dragoman.apis.base.message_reader import MessageReader
    from dragoman.apis.base.serving import ServerSide


class OpenAIChat(Api):
    """The codec. See `Api` for what its methods promise."""

    name = NAME
    conversation_fields = ("messages",)
    base_limits = LIMITS
    base_features = FEATURES
    families = FAMILIES
    results_at_once = True  # "An assistant message with 'tool_calls' must be followed by tool messages responding to …"

    decode = staticmethod(read_body)
    error = staticmethod(read_error)
    read_usage = staticmethod(read_usage)

    def stream(self) -> StreamDecoder:
        from .stream import ChatStream

        return ChatStream()

    def read_parts(self, items: Iterable[Any]) -> tuple[AnyPart, ...]:
        """Messages of an assistant (their fields become parts) or blocks of content, in order."""
        parts: list[AnyPart] = []
        for place, item in enumerate(items):
            if isinstance(item, dict) and "role" in item:
                found, _ = read_message(item, seed=f"log\0{place}")
                parts += found
            else:
                parts.append(read_block(item))
        return tuple(parts)

    def read_request(
        self, body: dict[str, Any], *, model: str | None = None, read: MessageReader | None = None
    ) -> Request:
        from .requests import read_request

        return read_request(body, model, read)

    def message_reader(self, body: dict[str, Any], *, model: str | None = None) -> MessageReader:
        from .requests import Reader, model_of

        return Reader(model_of(body, model))

    def server(self) -> ServerSide:
        from .serving import SERVER

        return SERVER

    def endpoints(self) -> Endpoints:
        from .endpoints import ChatEndpoints

        return ChatEndpoints(self)

    def _body(self, request: Request, history: History, tools: Tools | None) -> Encoded:
        from .requests import write_request

        return write_request(request, history, tools, self.features(request.model))

    def _write_tools(self, definitions: tuple[Definition, ...], model: str) -> Tools:
        from .tools import write_tools

        return write_tools(definitions, self.features(model), self.limits(model))

    def _takes(self, part: MediaPart, model: str) -> bool:
        return takes_media(part, ways(model)) and write_media(part) is not None

    def _problems(self, request: Request) -> Iterable[Problem]:
        from .requests import problems_of

        return problems_of(request)


API = OpenAIChat()
