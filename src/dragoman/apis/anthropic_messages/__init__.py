"""The Messages protocol, as Anthropic and the clouds that host Claude speak it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.apis.base.api import Api, Encoded, Problem, StreamDecoder, Tools
from dragoman.apis.base.conversation_order import History
from dragoman.errors import EngineError
from dragoman.model.conversation import AnyPart, ConversationItem, MediaPart, Reply, Usage
from dragoman.model.request import Definition, Features, Request

from .blocks import read_blocks, write_media
from .families import FAMILIES, FEATURES, LIMITS, NAME, Family
from .pictures import LARGEST_SIDE_OF_MANY, longer_side, pictures_in
from .replies import read_error, read_reply, read_usage, read_usual_usage

if TYPE_CHECKING:
    from dragoman.apis.base.endpoints import Endpoints
    from dragoman.apis.base.message_reader import MessageReader
    from dragoman.apis.base.serving import ServerSide


class AnthropicMessages(Api):
    """`POST /v1/messages`."""

    name = NAME
    conversation_fields = ("system", "messages")
    base_limits = LIMITS
    base_features = FEATURES
    families = FAMILIES
    results_at_once = True  # "Each `tool_use` block must have a corresponding `tool_result` block in the next message"

    decode = staticmethod(read_reply)
    error = staticmethod(read_error)
    read_parts = staticmethod(read_blocks)
    read_usage = staticmethod(read_usage)

    def stream(self) -> StreamDecoder:
        from .stream import MessageStream

        return MessageStream()

    def read_request(
        self, body: dict[str, Any], *, model: str | None = None, read: MessageReader | None = None
    ) -> Request:
        from .reading import read_request

        return read_request(body, model or "", self.family, read)

    def message_reader(self, body: dict[str, Any], *, model: str | None = None) -> MessageReader:
        from .reading import Reader

        return Reader()

    def read_usage_json(self, usage: bytes | msgspec.Raw) -> Usage | None:
        try:
            return read_usual_usage(usage)
        except msgspec.ValidationError:
            return super().read_usage_json(usage)

    def family(self, model: str) -> Family:
        """What a model takes that no other API has a word for."""
        return self._of_family(Family(), model)

    def features(self, model: str) -> Features:
        return msgspec.structs.replace(super().features(model), strict_tools=self.family(model).strict)

    def server(self) -> ServerSide:
        from .serving import SERVER

        return SERVER

    def endpoints(self) -> Endpoints:
        from .endpoints import MessagesEndpoints

        return MessagesEndpoints()

    def _body(self, request: Request, history: History, tools: Tools | None) -> Encoded:
        from .requests import RequestWriter

        return RequestWriter(request, history, tools, self.family(request.model)).encoded()

    def _write_tools(self, definitions: tuple[Definition, ...], model: str) -> Tools:
        from .tools import write_tools

        return write_tools(definitions, self.limits(model), self.features(model))

    def validate(self, request: Request) -> tuple[Problem, ...]:
        """Every problem the API would have with this request, those that writing it fixes included."""
        report = self._body(request, self._history(request), self._written(request)).report
        fixed = (Problem(one.where, one.message, "encoding fixes it", fixed=True) for one in report)
        return (*super().validate(request), *fixed)

    def _takes(self, part: MediaPart, model: str) -> bool:
        return write_media(part.media) is not None

    def _counts_for_whole(self, item: ConversationItem) -> bool:
        return any(longer_side(media) > LARGEST_SIDE_OF_MANY for media in pictures_in(item.parts))

    def _problems(self, request: Request) -> Iterable[Problem]:
        from .problems import problems_of

        return problems_of(request, self.family(request.model), self.features(request.model))


API = AnthropicMessages()
