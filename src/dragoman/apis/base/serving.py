"""The server's side of a wire API: replies, streams, errors and lists as a client of that API expects them.

`Api.read_request` reads what a client asks. Here its answers are written, so that `Api.decode` and `Api.stream` read
back the same reply. What only another API's provider understands (its own tools' items, its opaque blocks) is left
out: a client of this API could not read it.
"""

from __future__ import annotations

import abc
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

import msgspec

from dragoman.errors import EngineError
from dragoman.model import conversation as conv
from dragoman.model.calls import ExecutedBy
from dragoman.model.request import Definition, Request

What = Literal["reply", "count", "models"]
_MODELS = re.compile(r"/models(?:/(?P<model>.+))?$")


class Asked(msgspec.Struct, frozen=True):
    """What a client asks for by its path: a reply, a number of tokens, or the models.

    `model` and `stream` where the path states them and not the body; of the models, the only one that is asked for.
    """

    what: What
    model: str | None = None
    stream: bool | None = None


class ServerSide(abc.ABC):
    """Writes what a server of one API answers."""

    name: ClassVar[str]
    personal: ClassVar[tuple[str, ...]] = ("metadata", "user", "safety_identifier", "client_metadata", "labels")
    """Fields of requests in which clients state accounts and devices."""
    references: ClassVar[tuple[str, ...]] = ()
    """Fields of requests, and types of items in them, that stand for content which the API's own provider keeps."""
    effort_options: ClassVar[tuple[str, ...]] = ()
    """Fields of requests in which only some models of this API are told how much to think or to write."""
    thinking_options: ClassVar[tuple[str, ...]] = ()
    """Fields of requests that only models that think take."""
    thought_signature: ClassVar[str | None] = None
    """The signature of a thought whose real one the client is not given, where clients of this API want one."""

    def asked(self, method: str, path: str) -> Asked | None:
        """What is asked for under a path; `None` where this API has nothing there."""
        found = _MODELS.search(path) if method == "GET" else None
        return None if found is None else Asked("models", found["model"])

    def plain(self, request: Request) -> Request:
        """A client's request without what only this API has, as far as another can carry it in its own way.

        `Api.read_request` reads settings as they are worded for the model that is named. A client may call its model
        anything here, so other wordings of the API are read as well. `EngineError` where another kind of answer is
        wanted than one that is given at once.
        """
        return request

    def for_another(self, options: dict[str, Any], *, thinks: bool) -> dict[str, Any]:
        """The `provider_options` of a request that goes to another model than the one it names, of this same API.

        How much to think was read into the request, and is worded anew for that model, which may not know these words.
        `thinks` is whether it thinks at all.
        """
        for path in self.effort_options if thinks else (*self.effort_options, *self.thinking_options):
            options = _without(options, path.split("."))
        return options

    @abc.abstractmethod
    def reply(self, reply: conv.Reply, *, model: str, definitions: Sequence[Definition] = ()) -> dict[str, Any]:
        """A whole response. `model` is the name the client asked for, `definitions` the tools it offered."""

    @abc.abstractmethod
    def stream(
        self,
        *,
        model: str,
        id: str | None = None,
        definitions: Sequence[Definition] = (),
        options: Mapping[str, Any] | None = None,
    ) -> StreamWriter:
        """A writer for one streamed response; `options` are the `provider_options` of the request, where known."""

    @abc.abstractmethod
    def error(self, error: EngineError) -> tuple[int, dict[str, Any]]:
        """The status and the body of an error response."""

    @abc.abstractmethod
    def model(self, name: str, window: int | None) -> dict[str, Any]:
        """A model; `window` is its context window in tokens, where it is known."""

    @abc.abstractmethod
    def models(self, windows: Mapping[str, int | None]) -> dict[str, Any]:
        """The list of models; `windows` are their context windows by their names."""

    @abc.abstractmethod
    def counted(self, tokens: int) -> dict[str, Any]:
        """The answer to a request to count tokens."""


class StreamWriter(abc.ABC):
    """Writes one streamed response as server-sent events.

    Texts and thoughts may be given in pieces as they come (`text`, `thinking`) and then as the whole part; every other
    part is given whole. `end` or `fail` comes last. All return bytes to be sent at once, possibly none.
    """

    def __init__(self, model: str, id: str | None) -> None:
        self._model, self._id = model, id
        self._open: Literal["text", "thinking"] | None = None
        """Which kind of part has been begun in pieces."""

    def text(self, piece: str) -> bytes:
        """More of a text."""
        return self._piece("text", piece) if piece else b""

    def thinking(self, piece: str) -> bytes:
        """More of a thought."""
        return self._piece("thinking", piece) if piece else b""

    def _piece(self, kind: Literal["text", "thinking"], piece: str) -> bytes:
        begun = b""
        if self._open != kind:
            begun = self._closed() + self._begin(kind)
            self._open = kind
        return begun + self._more(kind, piece)

    def part(self, part: conv.AnyPart) -> bytes:
        """A whole part, or the end of the one that was begun in pieces."""
        kinds: tuple[tuple[type, str], ...] = ((conv.TextPart, "text"), (conv.ThinkingPart, "thinking"))
        if any(isinstance(part, type_) and self._open == kind for type_, kind in kinds):
            return self._closed(part)
        return self._closed() + self._whole(part)

    def _closed(self, part: conv.AnyPart | None = None) -> bytes:
        if self._open is None:
            return b""
        kind, self._open = self._open, None
        return self._finish(kind, part)

    def end(self, reply: conv.Reply) -> bytes:
        """The end of the response: why it ended and what it used. The parts of `reply` have been written."""
        return self._closed() + self._end(reply)

    @abc.abstractmethod
    def start(self) -> bytes:
        """What comes before anything of the reply is known."""

    @abc.abstractmethod
    def _begin(self, kind: Literal["text", "thinking"]) -> bytes:
        """The beginning of a part that comes in pieces."""

    @abc.abstractmethod
    def _more(self, kind: Literal["text", "thinking"], piece: str) -> bytes:
        """More of it."""

    @abc.abstractmethod
    def _finish(self, kind: Literal["text", "thinking"], part: conv.AnyPart | None) -> bytes:
        """The end of it; `part` is the whole of it, where that is known."""

    @abc.abstractmethod
    def _whole(self, part: conv.AnyPart) -> bytes:
        """A part that was not begun."""

    @abc.abstractmethod
    def _end(self, reply: conv.Reply) -> bytes:
        """The last events."""

    @abc.abstractmethod
    def fail(self, error: EngineError) -> bytes:
        """The last events of a response that failed after it had begun: never those of a normal end."""


def written(writer: StreamWriter, reply: conv.Reply, *, pieces: int | None = None) -> Iterator[bytes]:
    """A whole reply as a stream; with `pieces`, texts and thoughts in pieces of so many characters."""
    yield writer.start()
    for part in reply.parts:
        if pieces is not None and isinstance(part, conv.TextPart | conv.ThinkingPart):
            write = writer.text if isinstance(part, conv.TextPart) else writer.thinking
            for begin in range(0, len(part.text), pieces):
                yield write(part.text[begin : begin + pieces])
        yield writer.part(part)
    yield writer.end(reply)


# ── what all of them need ────────────────────────────────────────────────────


def event(data: Any, name: str | None = None) -> bytes:
    """One server-sent event."""
    body = msgspec.json.encode(data)
    return b"data: %s\n\n" % body if name is None else b"event: %s\ndata: %s\n\n" % (name.encode(), body)


def is_own(reply: conv.Reply, api: str) -> bool:
    """Whether a reply was read from a response of this very API, so that its own words go back as they came."""
    return reply.provenance.api == api


def is_ours(part: conv.AnyPart) -> bool:
    """Whether a part is a call for the client to run."""
    return isinstance(part, conv.CallPart) and part.call.executed_by is ExecutedBy.CLIENT


def new_id(prefix: str) -> str:
    """An id of a response, an item or the like."""
    return f"{prefix}{uuid.uuid4().hex[:24]}"


def now() -> int:
    """The time in seconds, as responses state it."""
    return int(datetime.now(UTC).timestamp())


def not_shown(media_type: str) -> str:
    """The text for a picture, sound or file that a client of this API cannot be sent."""
    return f"[The model made {media_type}, which cannot be sent to this client.]"


EFFORTS: Mapping[str, Literal["off", "low", "medium", "high"]] = {
    "none": "off",
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
"""How much to think in all the words that APIs have for it, and the nearest of ours."""


def only(name: str, value: Any, *, usual: Any) -> None:
    """Refuses a request for another kind of answer than one that is given at once."""
    if value not in (None, usual):
        message = f"{name}={value!r} cannot be answered through the gateway, which gives one answer at once"
        raise EngineError(f"{message}; leave it out", status=400)


def _without(options: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Options without one field; an object that has nothing else is left out with it."""
    name, *below = path
    inner = options.get(name)
    rest = {key: value for key, value in options.items() if key != name}
    if below and isinstance(inner, dict) and (kept := _without(inner, below)):
        rest[name] = kept
    return rest if not below or isinstance(inner, dict) else options


STATUSES: Mapping[int, int] = {529: 503}
"""Statuses of one maker only, and what the others use for it."""


def status_of(error: EngineError) -> int:
    """The status of an error response.

    An error without one is the server's fault and may pass, unless the provider named it in the middle of a response
    and it will not: a client need not ask again when a quota is used up.
    """
    if error.status is not None and 400 <= error.status < 600:
        return error.status
    return 400 if error.code is not None and not error.retryable else 502


def known(values: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The values that are said."""
    return {name: value for name, value in values if value is not None}
