"""Gemini's `generateContent` and `streamGenerateContent`, as AI Studio and Vertex speak them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from dragoman.apis.base.api import Api, Encoded, Problem, StreamDecoder, Tools
from dragoman.apis.base.conversation_order import History
from dragoman.errors import EngineError
from dragoman.model.conversation import AnyPart, MediaPart, Reply, Usage
from dragoman.model.request import Definition, Features, Limits, Request

from .families import FAMILIES, FEATURES, LIMITS
from .fields import NAME
from .parts import Pairing, PartReader, write_media
from .replies import read_body, read_error, read_usage
from .stream import GeminiStream

if TYPE_CHECKING:
    from dragoman.apis.base.endpoints import Endpoints
    from dragoman.apis.base.message_reader import MessageReader
    from dragoman.apis.base.serving import ServerSide


class GeminiGenerate(Api):
    """The codec. A model is named plainly ("gemini-3-flash-preview") or with its path, as Vertex has it."""

    name: ClassVar[str] = NAME
    conversation_fields: ClassVar[tuple[str, ...]] = ("systemInstruction", "contents")
    base_limits: ClassVar[Limits] = LIMITS
    base_features: ClassVar[Features] = FEATURES
    families: ClassVar[tuple[tuple[str, Mapping[str, Any]], ...]] = FAMILIES

    stream = staticmethod(GeminiStream)
    error = staticmethod(read_error)
    read_usage = staticmethod(read_usage)

    def decode(self, body: Any) -> Reply:
        """A whole response; also a stream's chunks in one list, as they come without `alt=sse`."""
        if isinstance(body, list):
            whole = GeminiStream()
            whole._no_object(None, body, [])
            return whole.close()
        return read_body(body)

    def read_parts(self, items: Iterable[Any]) -> tuple[AnyPart, ...]:
        reader = PartReader(Pairing("parts"))
        for item in items:
            reader.read(item)
        return tuple(reader.parts)

    def read_request(
        self, body: dict[str, Any], *, model: str | None = None, read: MessageReader | None = None
    ) -> Request:
        from .reading import read_request

        return read_request(body, model, read)

    def message_reader(self, body: dict[str, Any], *, model: str | None = None) -> MessageReader:
        from .reading import Reader, model_of

        return Reader(model_of(body, model))

    def server(self) -> ServerSide:
        from .serving import SERVER

        return SERVER

    def endpoints(self) -> Endpoints:
        from .endpoints import GenerateEndpoints

        return GenerateEndpoints()

    def _body(self, request: Request, history: History, tools: Tools | None) -> Encoded:
        from .requests import write_request

        return write_request(request, history, tools, self.features(request.model))

    def _write_tools(self, definitions: tuple[Definition, ...], model: str) -> Tools:
        from .tools import write_tools

        return write_tools(definitions, model, self.limits(model), self.features(model))

    def _takes(self, part: MediaPart, model: str) -> bool:
        return write_media(part.media) is not None

    def _problems(self, request: Request) -> Iterable[Problem]:
        from .problems import problems_of

        return problems_of(request, self.features(request.model))


API = GeminiGenerate()
