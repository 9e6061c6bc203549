"""What a protocol of front ends is: it reads what a client sends, and writes the events of a run. No I/O.

Rules: a text, a thought and a call are begun before they continue and ended before the next one begins, whatever the
order of the chunks. Where the hooks of an agent mask calls, arguments are written from the masked events only.
"""

from __future__ import annotations

import abc
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from dragoman.engine import Answer, RunResult
from dragoman.errors import ConfigError
from dragoman.model import (
    Content,
    ExecutedBy,
    Failure,
    Media,
    NativeCall,
    NativeResult,
    Result,
    conversation as conv,
    events as ev,
    request as req,
)
from dragoman.tools.workspace import measured

Kind = Literal["text", "thinking"]
Events = list[dict[str, Any]]


class Asked(msgspec.Struct, frozen=True):
    """What a client asks for: an answer to a conversation. `thread` and `run` are its own ids for both.

    `notes` says what of the request is not used. With `answers` (by the ids under which approval was asked for) it
    continues the run that waits for them, and the conversation the client has is not used.
    """

    conversation: conv.Conversation
    thread: str
    run: str
    messages: list[Any] = []
    """The messages as the client sent them."""
    notes: tuple[str, ...] = ()
    answers: Mapping[str, Answer] = {}


class Asking(msgspec.Struct, frozen=True):
    """A call that waits for approval: the id of its answer, the call as it may be shown, and why it is asked about."""

    id: str
    call: NativeCall
    reason: str | None = None


class Protocol(abc.ABC):
    """One protocol. `end` is sent after the last event.

    `asks_to_resume`: a GET asks for the rest of a stream. There is none, because a client that leaves cancels the run.
    """

    name: str
    headers: Mapping[str, str]
    end: bytes = b""
    asks_to_resume: bool = False

    @abc.abstractmethod
    def read(self, body: dict[str, Any], *, instructions: bool) -> Asked:
        """What a client asks for; `ConfigError` if it cannot be read.

        Without `instructions`, a message that instructs the model is refused.
        """

    @abc.abstractmethod
    def writer(self, asked: Asked, *, masked: bool) -> RunWriter:
        """A writer for one run. `masked`: arguments may be shown only as events show them."""


class RunWriter(abc.ABC):
    """Writes one run. Each method gives the events to be sent now."""

    def __init__(self, asked: Asked, *, masked: bool) -> None:
        self._asked, self._masked = asked, masked
        self._open: tuple[Kind, str] | None = None
        """The part that was begun, and its id."""
        self._round = 0
        # A page knows calls by their ids. Some servers use the same ones in every reply: such a call gets another id.
        self._shown: dict[str, str] = {}
        """The id in the page of the last call with an id; all other ids below are those in the page."""
        self._taken = {
            part.call.id for item in asked.conversation for part in item.parts if isinstance(part, conv.CallPart)
        }
        """Ids that the page has already."""
        self._calls: set[str] = set()
        """Ids of calls that were begun in this run."""
        self._streamed: set[str] = set()
        """Ids of calls of whose arguments some were sent."""
        self._of_round: set[str] = set()
        """The own ids of calls that were begun in this round."""
        self._ended: set[str] = set()
        self._returned: set[str] = set()

    def item(self, item: Any) -> Events:
        """An item of the run: a chunk, an event, or anything else, which is passed over."""
        match item:
            case req.TextChunk() | req.RefusalChunk():
                return self._piece("text", item.text)
            case req.ThinkingChunk():
                return self._piece("thinking", item.text)
            case req.CallStarted():
                return [] if self._hides(item.executed_by) else self._begin_call(item.call_id, item.name)
            case req.ArgumentsChunk():
                return self._arguments(item)
            case req.CallFinished():
                return [] if self._hides(item.call.executed_by) else self._whole_call(item.call)
            case req.ResultArrived():
                return self._result(item.result, failed=bool(item.result.is_error))
            case req.MediaArrived():
                return [*self._close(), *self._media(item.media)]
            case req.CitationArrived():
                return self._citation(item.citation)
            case req.Restarted():
                ended = self._close_all()
                for known in (self._calls, self._streamed, self._ended, self._taken):
                    known -= {self._shown[id] for id in self._of_round}
                self._of_round = set()
                return [*ended, *self._restarted()]
            case ev.Event():
                return self._event(item) if item.stream == "main" else []
        return []

    def _event(self, event: ev.Event) -> Events:
        match event:
            case ev.ModelAsked():
                ended = [*self._close_all(), *self._end_round()] if self._round else []
                self._round += 1
                self._of_round = set()
                return [*ended, *self._begin_round()]
            case ev.ToolCalled():
                return self._whole_call(event.call.native)
            case ev.ToolReturned():
                return self._tool_returned(event.result)
        return []

    def continues(self, before: RunWriter) -> None:
        """Continues the run that another writer wrote until it waited: the page has what that one sent."""
        self._shown |= before._shown
        self._taken |= before._taken
        self._calls |= before._calls
        self._ended |= before._calls
        self._returned |= before._returned
        self._of_round |= before._of_round

    def waits(self, asking: Sequence[Asking], result: RunResult[Any]) -> Events:
        """The end of a run that waits for approval of calls."""
        shown = [event for one in asking for event in self._whole_call(one.call)]
        ended = [*self._close_all(), *(self._end_round() if self._round else [])]
        known = [Asking(one.id, self._in_page(one.call), one.reason) for one in asking]
        return [*shown, *ended, *self._ask(known, result)]

    def finished(self, result: RunResult[Any]) -> Events:
        """The end of a run that was completed."""
        return [*self._close_all(), *(self._end_round() if self._round else []), *self._finish(result)]

    def failed(self, message: str, code: str) -> Events:
        """The end of a run that was not."""
        return [*self._close_all(), *(self._end_round() if self._round else []), *self._fail(message, code)]

    # ── parts ──────────────────────────────────────────────────────────────

    def _hides(self, by: ExecutedBy) -> bool:
        return self._masked and by is ExecutedBy.CLIENT

    def _piece(self, kind: Kind, text: str) -> Events:
        if not text:
            return []
        before: Events = []
        if self._open is None or self._open[0] != kind:
            before = self._close()
            self._open = (kind, new_id())
            before += self._begin(*self._open)
        return [*before, self._more(*self._open, text)]

    def _close(self) -> Events:
        if self._open is None:
            return []
        part, self._open = self._open, None
        return self._end(*part)

    def _close_all(self) -> Events:
        """Ends the part that is open, and calls that will not be completed."""
        broken = sorted(self._calls - self._ended)
        self._ended |= self._calls
        return [*self._close(), *(event for id in broken for event in self._broken_call(id))]

    def _begin_call(self, id: str, name: str) -> Events:
        if id in self._of_round:
            return []
        self._of_round.add(id)
        shown = self._shown[id] = new_id() if id in self._taken else id
        self._calls.add(shown)
        self._taken.add(shown)
        return [*self._close(), *self._call(shown, name)]

    def _in_page(self, call: NativeCall) -> NativeCall:
        return msgspec.structs.replace(call, id=self._shown.get(call.id, call.id))

    def _arguments(self, chunk: req.ArgumentsChunk) -> Events:
        # With a path it is a piece of one value, not of the JSON text: those arguments are sent whole.
        if chunk.path is not None or not chunk.text:
            return []
        id = self._shown.get(chunk.call_id)
        if id is None or chunk.call_id not in self._of_round or id in self._ended:
            return []
        self._streamed.add(id)
        return [self._more_arguments(id, chunk.text)]

    def _whole_call(self, call: NativeCall) -> Events:
        """The end of a call, with all of it that was not sent before."""
        begun = self._begin_call(call.id, call.name)
        shown = self._in_page(call)
        if shown.id in self._ended:
            return []
        self._ended.add(shown.id)
        if shown.id not in self._streamed:
            begun.append(self._more_arguments(shown.id, arguments_text(call)))
        return [*begun, *self._end_call(shown)]

    def _tool_returned(self, result: Result) -> Events:
        if result.native is None:
            return []
        failed = bool(result.native.is_error) or any(isinstance(one, Failure) for one in result.outcomes)
        return self._result(result.native, failed=failed)

    def _result(self, result: NativeResult, *, failed: bool) -> Events:
        id = self._shown.get(result.call_id)
        if id is None or id not in self._ended or id in self._returned:
            return []  # results of earlier runs are sent when this one starts
        self._returned.add(id)
        return self._returned_call(msgspec.structs.replace(result, call_id=id), failed=failed)

    # ── what a protocol writes ─────────────────────────────────────────────

    @abc.abstractmethod
    def start(self) -> Events:
        """The beginning of the run."""

    @abc.abstractmethod
    def _begin_round(self) -> Events: ...

    @abc.abstractmethod
    def _end_round(self) -> Events: ...

    @abc.abstractmethod
    def _restarted(self) -> Events:
        """Takes back what was sent of this round."""

    @abc.abstractmethod
    def _begin(self, kind: Kind, id: str) -> Events: ...

    @abc.abstractmethod
    def _more(self, kind: Kind, id: str, text: str) -> dict[str, Any]: ...

    @abc.abstractmethod
    def _end(self, kind: Kind, id: str) -> Events: ...

    @abc.abstractmethod
    def _call(self, id: str, name: str) -> Events: ...

    @abc.abstractmethod
    def _more_arguments(self, id: str, text: str) -> dict[str, Any]: ...

    @abc.abstractmethod
    def _end_call(self, call: NativeCall) -> Events: ...

    @abc.abstractmethod
    def _broken_call(self, id: str) -> Events:
        """The end of a call that was not completed."""

    @abc.abstractmethod
    def _returned_call(self, result: NativeResult, *, failed: bool) -> Events: ...

    @abc.abstractmethod
    def _media(self, media: Media) -> Events: ...

    @abc.abstractmethod
    def _citation(self, citation: conv.Citation) -> Events: ...

    @abc.abstractmethod
    def _ask(self, asking: Sequence[Asking], result: RunResult[Any]) -> Events:
        """Asks for approval, and ends the run."""

    @abc.abstractmethod
    def _finish(self, result: RunResult[Any]) -> Events: ...

    @abc.abstractmethod
    def _fail(self, message: str, code: str) -> Events: ...


# ── what both need ───────────────────────────────────────────────────────────


def new_id() -> str:
    """An id of a message or a part."""
    return uuid.uuid4().hex


def arguments_text(call: NativeCall) -> str:
    """The arguments of a call as text."""
    return call.arguments if isinstance(call.arguments, str) else msgspec.json.encode(call.arguments).decode()


def read_arguments(text: Any) -> dict[str, Any] | str:
    """The arguments of a call that a client sends back."""
    if not isinstance(text, str):
        return text if isinstance(text, dict) else {}
    try:
        value = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def content_text(content: Content) -> str:
    """A result as text; media are named."""
    pieces = (content,) if isinstance(content, str) else content
    return "".join(piece if isinstance(piece, str) else f"[{piece.media_type}]" for piece in pieces)


def has_media(content: Content) -> bool:
    """Whether a result has pictures, sounds or files that can be shown."""
    return not isinstance(content, str) and any(isinstance(piece, Media) and data_url(piece) for piece in content)


def data_url(media: Media) -> str | None:
    """A picture, sound or file as a URL that a browser can show."""
    return media.url if media.data is None else f"data:{media.media_type};base64,{media.data}"


def read_url(url: Any, media_type: str | None, name: str | None = None) -> Media:
    """Media that a client sends: inline, or at an address that the provider fetches. Never a file of this machine."""
    if not isinstance(url, str) or not url.startswith(("data:", "https://", "http://")):
        raise ConfigError("a file needs a data: or http(s): URL")
    if not url.startswith("data:"):
        return Media(media_type or "application/octet-stream", url=url, name=name)
    head, comma, data = url.removeprefix("data:").partition(",")
    if not comma or not head.endswith(";base64"):
        raise ConfigError("a data: URL of a file must be in base64")
    return measured(Media(media_type or head.removesuffix(";base64").partition(";")[0], data, name=name))


def checked(conversation: conv.Conversation) -> conv.Conversation:
    """The conversation, if it ends with what the user says.

    Calls without results at its end would be run as if a model had made them, and the client wrote this conversation.
    """
    if not conversation or conversation[-1].role != "user" or not conversation[-1].parts:
        raise ConfigError("the last message must be the user's")
    return conversation


def refuse_instructions(role: str) -> None:
    """Refuses a message that instructs the model."""
    raise ConfigError(
        f"a message of the role {role!r} instructs the model, which only the server may do; "
        "FrontEnd(client_instructions=True) lets clients do it"
    )


def text_of(message: Mapping[str, Any], key: str) -> str:
    """A text that a message must have."""
    value = message.get(key)
    if not isinstance(value, str):
        raise ConfigError(f"{key!r} of a message must be text")
    return value


def objects(value: Any, what: str) -> list[dict[str, Any]]:
    """A list of JSON objects."""
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ConfigError(f"{what} must be a list of JSON objects")
    return value
