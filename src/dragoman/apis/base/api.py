"""What a wire API is: a pure codec between the model's types and one provider protocol's JSON. No I/O.

Rules: `encode` fixes what has one right form (pairing, order, ids) and says so in `report`; what it cannot fix it
refuses with every problem at once, before anything is sent. `decode` and a stream give the same `Reply`. Nothing an API
says is dropped: what has no typed place travels in `metadata` under the API's name, or as an `OpaquePart`.
"""

from __future__ import annotations

import abc
import functools
import math
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec

from dragoman.bounded import remember
from dragoman.errors import DefinitionError, EngineError, nearest
from dragoman.model import request as req
from dragoman.model.base import Value
from dragoman.model.calls import NativeCall, NativeResult
from dragoman.model.conversation import AnyPart, Conversation, ConversationItem, MediaPart, Message, Reply, Usage
from dragoman.model.json_text import DEEPEST, is_too_deep

from .conversation_order import History, Remark
from .encoded import Encoded as Encoded, Problem as Problem, Tools as Tools, described
from .lowered import Lowering
from .sse import Event, EventSplitter, EventTooLong

if TYPE_CHECKING:
    from .continued import Continued
    from .endpoints import Endpoints
    from .message_reader import MessageReader
    from .partial import PartialJson
    from .serving import ServerSide

Changed = TypeVar("Changed", bound=Value)


class Api(abc.ABC):
    """One wire protocol. A codec has no state but a memory of toolsets it has already written."""

    name: ClassVar[str]
    base_limits: ClassVar[req.Limits] = req.Limits()
    base_features: ClassVar[req.Features] = req.Features()
    families: ClassVar[Sequence[tuple[str, Mapping[str, Any]]]] = ()
    """(glob of model names, changes to `Limits` and `Features`): every row that fits applies, later over earlier."""
    conversation_fields: ClassVar[tuple[str, ...]] = ()
    """The fields of a request that hold the conversation, and nothing else."""
    results_at_once: ClassVar[bool] = False
    """Whether nothing may be said between a call and its result."""

    def __init__(self) -> None:
        self._tools: dict[tuple[str, int], tuple[tuple[req.Definition, ...], Tools]] = {}
        """A model and the id of definitions → these definitions, which keeps the id their own, and the toolset."""
        self._tools_by_value: dict[tuple[str, bytes], Tools] = {}
        self._known: dict[tuple[type[Value], str], Any] = {}
        self._continued: Continued | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    # ── what each codec writes ─────────────────────────────────────────────

    @abc.abstractmethod
    def decode(self, body: dict[str, Any]) -> Reply:
        """A whole response as a reply. An error in it is raised as `EngineError`."""

    @abc.abstractmethod
    def stream(self) -> StreamDecoder:
        """A decoder for one streamed response."""

    @abc.abstractmethod
    def read_request(
        self, body: dict[str, Any], *, model: str | None = None, read: MessageReader | None = None
    ) -> req.Request:
        """A recorded request; `model` where the protocol names it in the URL. Unknown keys are `provider_options`.

        `read` has taken the messages already (`message_reader`), which `body` then does not have.
        """

    @abc.abstractmethod
    def error(self, status: int | None, headers: Mapping[str, str], body: Any) -> EngineError:
        """An error response; `body` is JSON already read, or bytes or text that may be none."""

    @abc.abstractmethod
    def read_parts(self, items: Iterable[Any]) -> tuple[AnyPart, ...]:
        """Blocks, items or parts of this protocol as a log holds them."""

    def read_logged(self, item: dict[str, Any]) -> NativeCall | NativeResult | None:
        """The client's own call, or its result, that an item of `read_parts` is, for those who never write it again.

        `None` for everything else, and where a codec has no quicker way to it: `read_parts` reads it.
        """
        return None

    @abc.abstractmethod
    def read_usage(self, usage: Any) -> Usage:
        """A usage object of this protocol."""

    def read_usage_json(self, usage: bytes | msgspec.Raw) -> Usage | None:
        """The same as it is written, as logs hold many of them; `None` for another JSON value."""
        value = msgspec.json.decode(usage)
        return self.read_usage(value) if isinstance(value, dict) else None

    @abc.abstractmethod
    def _body(self, request: req.Request, history: History, tools: Tools | None) -> Encoded:
        """The request on the wire, from a history that is in order and tools that are already written."""

    @abc.abstractmethod
    def _write_tools(self, definitions: tuple[req.Definition, ...], model: str) -> Tools:
        """A toolset on the wire, its schemas lowered."""

    def server(self) -> ServerSide:
        """What a server of this protocol answers; loaded when it is first asked for."""
        raise DefinitionError(f"the API {self.name!r}", ["it has no server's side: `server` is not written"])

    def message_reader(self, body: dict[str, Any], *, model: str | None = None) -> MessageReader:
        """What reads the messages of a request one by one; `body` is the request, with or without them."""
        raise DefinitionError(f"the API {self.name!r}", ["it has no server's side: `message_reader` is not written"])

    def endpoints(self) -> Endpoints:
        """What this protocol offers beside conversations; loaded when it is first asked for."""
        from .endpoints import no_endpoints

        return no_endpoints(self.name)

    def _problems(self, request: req.Request) -> Iterable[Problem]:
        """What this protocol alone minds in a request."""
        return ()

    def _takes(self, part: MediaPart, model: str) -> bool:
        """Whether what the user attaches can be sent to a model."""
        return True

    # ── what all share ─────────────────────────────────────────────────────

    def encode(self, request: req.Request) -> Encoded:
        """The request as it goes out; `DefinitionError` with every problem that cannot be fixed."""
        request = self._with_known_tools(request)
        history = self._history(request)
        problems = [problem for problem in self._all_problems(request, history) if not problem.fixed]
        if problems:
            raise DefinitionError(f"the request to {request.model}", map(str, problems), verdict="cannot be sent")
        encoded = self._body(request, history, self._written(request))
        report = (*history.remarks, *(encoded.tools.report if encoded.tools else ()), *encoded.report)
        return msgspec.structs.replace(encoded, report=report) if report != encoded.report else encoded

    def _counts_for_whole(self, item: ConversationItem) -> bool:
        """Whether an item is written otherwise beside others, however far away they are."""
        return False

    def encode_to_send(self, request: req.Request) -> Encoded:
        """The same as `encode`, for one who sends it and does not change its body.

        What the requests of a run have in common is written once: a run of many turns costs what is new in each.
        """
        if len(request.conversation) < _LONG or self._is_stored(request) or not self.conversation_fields:
            return self.encode(request)
        if self._continued is None:
            from .continued import Continued  # what reads logs needs none of it

            self._continued = Continued(self.conversation_fields[-1], self.encode, self._counts_for_whole)
        return self._continued.encode(self._with_known_tools(request)) or self.encode(request)

    def write_conversation(
        self, conversation: Conversation, model: str = "", *, report: list[Remark] | None = None
    ) -> dict[str, Any]:
        """The fields of a request body that hold a conversation, as an SDK takes them: `create(**fields, …)`.

        `model` matters where models of one API take different things. What is changed or left out is added to
        `report`. Raises `DefinitionError` for what this API cannot carry.
        """
        given: Any = conversation
        messages = (given,) if isinstance(given, str | Mapping) or not isinstance(given, Iterable) else tuple(given)
        wrong = [reprlib.repr(one) for one in messages if not isinstance(one, Message | Reply)]
        if wrong:
            told = f"{wrong[0]} is no message: make them with `user`, `assistant`, … or with read_conversation"
            raise DefinitionError(f"the conversation for {self.name}", [told], verdict="cannot be written")
        encoded = self.encode(req.Request(model or "any", messages))
        body = encoded.body
        if report is not None:
            report += encoded.report
        return {name: body[name] for name in self.conversation_fields if name in body}

    def read_conversation(self, fields: Mapping[str, Any]) -> Conversation:
        """The conversation of a request body, or of the fields that `write_conversation` gives."""
        given: Any = fields
        if not isinstance(given, Mapping):
            told = (
                f'it is a dict with its messages, {{"{self.conversation_fields[-1]}": […]}}, not {reprlib.repr(given)}'
            )
            raise DefinitionError(f"the conversation for {self.name}", [told], verdict="cannot be read")
        chosen = {name: fields[name] for name in self.conversation_fields if name in fields}
        if not chosen:
            names = " nor ".join(map(repr, self.conversation_fields))
            neither = "neither" if len(self.conversation_fields) > 1 else "no"
            raise DefinitionError(
                f"the conversation for {self.name}", [f"there is {neither} {names} in it"], verdict="cannot be read"
            )
        request = self.read_request(chosen, model="any")
        left = {name: value for name, value in request.provider_options.items() if value}
        if left:
            problems = [problem for name, value in left.items() for problem in self._unread(name, value)]
            raise DefinitionError(f"the conversation for {self.name}", problems, verdict="cannot be read")
        return request.conversation

    def _unread(self, field: str, value: Any) -> list[str]:
        """What cannot be read in a field of a conversation: the messages, where it has such."""
        if field not in self.conversation_fields:
            return [f"{self.conversation_fields[-1]}: {reprlib.repr(value)} is no message"]
        if not isinstance(value, list):
            return [f"{field} must be a list of messages, not {reprlib.repr(value)}"]
        reader = self.message_reader({}, model="any")
        wrong = [
            f"{field}[{at}] is no message: {reprlib.repr(one)}" for at, one in enumerate(value) if not reader.take(one)
        ]
        return wrong or [f"{field} holds what is no message: {reprlib.repr(value)}"]

    def validate(self, request: req.Request) -> tuple[Problem, ...]:
        """Every problem a provider, or its model, would have with this request, found without asking it.

        Beside what `encode` refuses or fixes: calls in the history of tools that the request does not offer, or
        with arguments that do not fit the schema offered.
        """
        from .offered_calls import call_problems  # it compiles schemas, which no run needs

        calls = (
            Problem(f"call {one.call.id} of {one.call.name}", one.message, "write it otherwise", accepted=True)
            for one in call_problems(request)
        )
        return (*self._all_problems(request, self._history(request)), *calls)

    def lowering(self, request: req.Request) -> Lowering:
        """What undoes, on a call's arguments, what was done to the schemas of this request's tools."""
        tools = self._written(request)
        return Lowering() if tools is None else tools.lowering

    def check(self, definition: req.Definition, model: str = "") -> tuple[Problem, ...]:
        """Every problem with one tool's definition."""
        return self._write_tools((definition,), model).problems

    def limits(self, model: str) -> req.Limits:
        """The limits of a model."""
        return self._of_family(self.base_limits, model)

    def features(self, model: str) -> req.Features:
        """What a model can do."""
        return self._of_family(self.base_features, model)

    def _of_family(self, base: Changed, model: str) -> Changed:
        key: tuple[type[Value], str] = (type(base), model)
        known: Changed | None = self._known.get(key)
        if known is None:
            known = self._looked_up(base, model)
            remember(self._known, key, known, _REMEMBERED)
        return known

    def _looked_up(self, base: Changed, model: str) -> Changed:
        changes: dict[str, Any] = {}
        names = base.__struct_fields__
        for pattern, row in self.families:
            if fnmatchcase(model, pattern):
                changes.update({field: value for field, value in row.items() if field in names})
        return msgspec.structs.replace(base, **changes) if changes else base

    def _history(self, request: req.Request) -> History:
        limits = self.limits(request.model)
        return History(
            request.conversation,
            api=self.name,
            model=request.model,
            id_pattern=limits.call_id_pattern,
            id_length=limits.call_id_length,
            stored=self._is_stored(request),
            at_once=self.results_at_once,
        )

    def _is_stored(self, request: req.Request) -> bool:
        """Whether the provider holds earlier turns of the conversation, so that a result may stand without its call."""
        return False

    def _written(self, request: req.Request) -> Tools | None:
        """The tools of a request, written the first time they are seen.

        A toolset is known by being the very same tuple, else by the value of its definitions: one that is made anew for
        each request is written once too.
        """
        definitions = request.definitions
        if not definitions:
            return None
        key = (request.model, id(definitions))
        entry = self._tools.get(key)
        if entry is None:
            entry = (definitions, self._written_by_value(definitions, request.model))
            remember(self._tools, key, entry, _REMEMBERED)
        return entry[1]

    def _written_by_value(self, definitions: tuple[req.Definition, ...], model: str) -> Tools:
        try:
            key = (model, _value_of(definitions))
        except (TypeError, ValueError, OverflowError, RecursionError):  # no JSON, which `written_tools` reports
            return self._newly_written(definitions, model)
        tools = self._tools_by_value.get(key)
        if tools is None:
            tools = self._newly_written(definitions, model)
            remember(self._tools_by_value, key, tools, _REMEMBERED)
        return tools

    def _newly_written(self, definitions: tuple[req.Definition, ...], model: str) -> Tools:
        tools = self._write_tools(definitions, model)
        return msgspec.structs.replace(tools, lowering=restoring(tools.lowering, definitions, self.features(model)))

    def _with_known_tools(self, request: req.Request) -> req.Request:
        """The request with the tuple of definitions that `once` knows."""
        tools = self._written(request)
        if tools is None or tools.definitions is request.definitions:
            return request
        return msgspec.structs.replace(request, definitions=tools.definitions)

    def _all_problems(self, request: req.Request, history: History) -> Iterable[Problem]:
        limits, features = self.limits(request.model), self.features(request.model)
        yield from (Problem(one.where, one.message, "encoding fixes it", fixed=True) for one in history.remarks)
        tools = self._written(request)
        if tools is not None:
            yield from tools.problems
        yield from choice_problems(request, features)
        yield from self._media_problems(request)
        if request.stream and not features.streaming:
            yield Problem("stream", "this model does not stream", "ask for the whole reply at once")
        if limits.stop_sequences is not None and len(request.stop) > limits.stop_sequences:
            message = f"{len(request.stop)} stop sequences; this API takes {limits.stop_sequences}"
            yield Problem("stop", message, "give fewer")
        yield from self._problems(request)

    def _media_problems(self, request: req.Request) -> Iterable[Problem]:
        """What the user attached and nobody has answered yet must be sent whole. Older media can be left out with a
        remark: another model may have seen them."""
        for item in reversed(request.conversation):
            if item.role == "assistant":
                return
            for part in item.parts if item.role == "user" else ():
                if isinstance(part, MediaPart) and not self._takes(part, request.model):
                    named = part.media.name or part.media.url or "an attachment"
                    message = f"{self.name} has no way to send {named} ({described(part.media)})"
                    yield Problem("conversation", message, "attach its text or another format, or use another API")


_REMEMBERED = 64


class StreamDecoder(abc.ABC):
    """Decodes one streamed response. `feed` never raises: what went wrong is in `error`, and raised by `close`.

    An event that cannot be read ends the decoding: a reply without it would say less than the server did.

    A codec writes `_event` (one event's JSON → chunks appended) and `_reply` (the reply so far), and keeps the text
    of every call's arguments in `pieces`, so that a partial view costs nothing until somebody looks.

    Nearly all events of a stream say nothing but the next few letters. For those it may give `_plain_readers` a typed
    reader that takes nothing else, and write `_plain_event`: half the cost of reading them in full.
    """

    def __init__(self, api: str) -> None:
        self.api = api
        self.error: EngineError | None = None
        self.pieces: dict[str, list[str]] = {}
        """Call id → its arguments so far, piece by piece."""
        self.events = 0
        """How many events came."""
        self.unread: list[str] = []
        """Parts of events that have no place in a reply, as text: they are in its metadata."""
        self._plain_readers: dict[str | None, Callable[[bytes], Any]] = {}
        """Name of an event (`None` where events have none) → what reads a plain one and refuses all others."""
        self._refused = 0
        self._plain_name: str | None = None
        self._plain_head = b"data: "
        """The name of the last event that may be plain, how such an event begins, and how many lines it has."""
        self._plain_lines = 2
        self._splitter = EventSplitter()
        self._views: dict[str, tuple[PartialJson, int]] = {}

    @property
    def longest_event(self) -> int | None:
        """The most bytes one event may have; `None`: any number."""
        return self._splitter.longest

    @longest_event.setter
    def longest_event(self, longest: int | None) -> None:
        self._splitter.longest = longest

    def feed(self, data: bytes) -> list[req.AnyChunk]:
        """The chunks that are complete with these bytes."""
        chunks: list[req.AnyChunk] = []
        if data.startswith(self._plain_head) and self._take_one(data, chunks):
            return chunks
        splitter = self._splitter
        try:
            events = splitter.feed(data)
        except EventTooLong:
            self._too_long()
            return chunks
        self.events += len(events)
        self._take(events, chunks)
        if len(events) == 1 and events[0][0] != self._plain_name:
            self._expect(events[0][0])
        return chunks

    def _expect(self, name: str | None) -> None:
        """Sets what an event begins with that is like the one that came."""
        if name in self._plain_readers:
            self._plain_name = name
            self._plain_head = b"data: " if name is None else f"event: {name}\ndata: ".encode()
            self._plain_lines = 2 if name is None else 3

    def _take_one(self, data: bytes, chunks: list[req.AnyChunk]) -> bool:
        """Takes one whole event that is as plain as the last one, which is how they come while a model writes.

        Most of the cost of splitting bytes into events is to find out that there is nothing to split. False, with
        nothing done, for anything else.
        """
        lines, splitter = self._plain_lines, self._splitter
        if data.count(b"\n") != lines or splitter.rest or splitter.after_return or not splitter.started:
            return False
        if data.endswith(b"\n\n") and b"\r" not in data:
            end = -2
        elif lines == 2 and data.endswith(b"\r\n\r\n") and data.count(b"\r") == 2:
            end = -4
        else:
            return False
        read = self._plain_readers.get(self._plain_name)
        try:
            if read is None or not self._plain_event(read(data[len(self._plain_head) : end]), chunks):
                return False
        except _NO_JSON:
            return False
        self.events += 1
        self._refused = 0
        return True

    def end(self) -> list[req.AnyChunk]:
        """No more bytes come: the chunks of an event that was never ended."""
        chunks: list[req.AnyChunk] = []
        self._take(self._splitter.close(), chunks)
        return chunks

    def close(self) -> Reply:
        """The reply, whole; `EngineError` with the partial reply when the stream told of an error."""
        self.end()
        reply = self._reply()
        if self.error is not None:
            self.error.partial = reply
            raise self.error
        return reply

    def arguments(self, call_id: str) -> Any:
        """What is known of a call's arguments so far. All looks together cost time linear in the arguments."""
        from .partial import PartialJson

        view, seen = self._views.get(call_id) or (PartialJson(), 0)
        pieces = self.pieces.get(call_id, [])
        for piece in pieces[seen:]:
            view.feed(piece)
        self._views[call_id] = (view, len(pieces))
        return view.value

    def _take(self, events: Iterable[Event], chunks: list[req.AnyChunk]) -> None:
        readers, take_plain = self._plain_readers, self._plain_event
        for name, event in events:
            read = readers.get(name)
            if read is not None:
                try:
                    if take_plain(read(event), chunks):
                        self._refused = 0
                        continue
                except _NO_JSON:
                    pass
                self._refused += 1
                if self._refused == _REFUSED:
                    readers.clear()
            try:
                data = _decode(event)
                if is_too_deep(data, event):
                    raise RecursionError(f"it is nested more than {DEEPEST} levels deep")
            except _NO_JSON as error:
                self._no_json(name, event, error, chunks)
                continue
            if self.error is not None:
                return
            if type(data) is dict:
                self._event(name, data, chunks)
            else:
                self._no_object(name, data, chunks)

    def _plain_event(self, said: Any, chunks: list[req.AnyChunk]) -> bool:
        """Takes an event that a plain reader read; False, with nothing done, when it is to be read in full."""
        return False

    def _no_json(self, name: str | None, event: bytes, error: Exception, chunks: list[req.AnyChunk]) -> None:
        if self.error is not None or not event.strip():
            return
        if event.strip() == b"[DONE]":
            self._done(chunks)
            return
        text = shortened(event.decode("utf-8", "backslashreplace"))
        if name == "error":
            message = f"the server reports an error: {text}"
        else:
            message = f"an event of the stream is not JSON ({error}): {text}"
        self.error = EngineError(message, code="protocol", retryable=True)

    def _no_object(self, name: str | None, data: Any, chunks: list[req.AnyChunk]) -> None:
        """An event that is JSON, but no object."""
        text = shortened(msgspec.json.encode(data).decode())
        self.error = EngineError(f"an event of the stream is not a JSON object: {text}", code="protocol")

    def _too_long(self) -> None:
        if self.error is None:
            message = f"an event of the stream is larger than {self.longest_event:,} bytes"
            self.error = EngineError(message, code="event_too_large")

    @abc.abstractmethod
    def _event(self, name: str | None, data: dict[str, Any], chunks: list[req.AnyChunk]) -> None:
        """One event's JSON object → chunks appended."""

    @abc.abstractmethod
    def _reply(self) -> Reply:
        """The reply so far."""

    def _done(self, chunks: list[req.AnyChunk]) -> None:  # noqa: B027 - most protocols have nothing to do then
        """The stream said `[DONE]`: chunks of what it left open are appended."""


_LONG = 40
"""Items of a conversation from which on it pays to keep what was written of it."""
_decode = msgspec.json.Decoder().decode
_NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_REFUSED = 16
"""After so many events in a row that were not plain, a stream is not tried for plain ones any more."""


# ── problems ─────────────────────────────────────────────────────────────────


def definitions_problems(definitions: Sequence[req.Definition], limits: req.Limits) -> Iterable[Problem]:
    """What is wrong with a toolset as a whole and with each tool of it, but for the schemas."""
    if limits.tools is not None and len(definitions) > limits.tools:
        yield Problem("tools", f"{len(definitions)} tools; this API takes {limits.tools}", "offer fewer, or defer some")
    names = [(definition.namespace_or_none, definition.name) for definition in map(_Named, definitions)]
    for name in sorted({str(name[1]) for name in names if name[1] is not None and names.count(name) > 1}):
        yield Problem(f"tools.{name}", "two tools have this name", "rename one")
    for definition in definitions:
        yield from definition_problems(definition, limits)


class _Named:
    """A definition's name and namespace, whatever kind it is."""

    def __init__(self, definition: req.Definition) -> None:
        self.name = definition.name
        self.namespace_or_none = None if isinstance(definition, req.ProviderDefinition) else definition.namespace


def definition_problems(definition: req.Definition, limits: req.Limits) -> Iterable[Problem]:
    """What is wrong with one tool, but for its schema."""
    if isinstance(definition, req.ProviderDefinition):
        return
    where = f"tools.{definition.name}"
    if limits.name_length is not None and len(definition.name) > limits.name_length:
        yield Problem(where, f"a name is at most {limits.name_length} characters", "shorten it")
    if limits.name_pattern is not None and not re.fullmatch(limits.name_pattern, definition.name):
        yield Problem(where, f"the name does not match {limits.name_pattern}", "rename it")


def foreign_tools(definitions: Iterable[req.Definition], is_own: Callable[[str], bool]) -> Iterable[Problem]:
    """The tools that other vendors define, by the vendor their id begins with."""
    for definition in definitions:
        if isinstance(definition, req.ProviderDefinition):
            vendor, dot, _ = definition.id.partition(".")
            if dot and not is_own(vendor):
                message = f"it is a tool of {vendor}, which this API does not have"
                yield Problem(f"tools.{definition.id}", message, "offer a tool of this API's own, or a function")


def choice_problems(request: req.Request, features: req.Features) -> Iterable[Problem]:
    """What is wrong with which tools must be called."""
    choice = request.choice
    if choice.mode in ("required", "one", "subset") and not request.definitions:
        yield Problem("choice", f'"{choice.mode}" without a tool', "offer the tool, or choose auto")
        return
    if request.definitions and choice.mode not in features.choices:
        yield Problem("choice", f'this model has no choice "{choice.mode}"', f"use {', '.join(features.choices)}")
    # Only when a tool is named: what is not asked for costs nothing per tool.
    offered = {name for one in request.definitions for name in chosen_by(one)} if choice.names else set()
    for name in choice.names:
        if name not in offered:
            yield Problem("choice", f"no tool {name!r} is offered.{nearest(name, offered)}", "name one that is offered")
    thinks = request.thinking is not None and request.thinking.level != "off"
    forced = choice.mode in ("required", "one") or choice.required
    if thinks and forced and not features.forced_choice_with_thinking:
        yield Problem(
            "choice", "this model cannot be forced to call a tool while it thinks", "choose auto or switch thinking off"
        )


Given = TypeVar("Given")
Found = TypeVar("Found")

# Not JSON, which has one text for values that differ (null for infinity, too).
_value_of = msgspec.msgpack.Encoder().encode


def once(function: Callable[[Given], Found]) -> Callable[[Given], Found]:
    """Remembers what a function found out about a toolset, so that one that is unchanged costs nothing per tool.

    A toolset is known by being the very same object, which is kept, so that no other can take its place.
    """
    known: dict[int, tuple[Given, Found]] = {}

    @functools.wraps(function)
    def remembered(given: Given) -> Found:
        found = known.get(id(given))
        if found is None:
            found = (given, function(given))
            remember(known, id(given), found, _REMEMBERED)
        return found[1]

    return remembered


@once
def hosted_of(definitions: tuple[req.Definition, ...]) -> tuple[req.ProviderDefinition, ...]:
    """The tools of a toolset that a provider defines."""
    return tuple(one for one in definitions if isinstance(one, req.ProviderDefinition))


def chosen_by(definition: req.Definition) -> tuple[str, ...]:
    """The names a choice may give a definition: its own, and for a provider's tool its id."""
    if isinstance(definition, req.FunctionDefinition | req.FreeformDefinition):
        return (
            (definition.name,)
            if definition.namespace is None
            else (
                definition.name,
                f"{definition.namespace}.{definition.name}",
            )
        )
    return (definition.id,) if definition.name is None else (definition.id, definition.name)


def restoring(lowering: Lowering, definitions: Sequence[req.Definition], features: req.Features) -> Lowering:
    """The way back for names and kinds too: a namespace joined to a name, a text wrapped in an object."""
    names: dict[str, tuple[str, str]] = {}
    texts: list[str] = []
    for definition in definitions:
        if isinstance(definition, req.ProviderDefinition):
            continue
        wire = definition.name
        if definition.namespace is not None and not features.namespaces:
            wire = joined_name(definition.namespace, definition.name)
            names[wire] = (definition.namespace, definition.name)
        if isinstance(definition, req.FreeformDefinition) and not features.freeform_tools:
            texts.append(wire)
    if not names and not texts:
        return lowering
    return msgspec.structs.replace(lowering, names=names, texts=tuple(texts))


def joined_name(namespace: str | None, name: str) -> str:
    """A tool's name on a wire without namespaces."""
    return name if namespace is None else f"{namespace}__{name}"


# ── small things every codec needs ───────────────────────────────────────────


def written_tools(wire: list[Any]) -> tuple[msgspec.Raw, tuple[Problem, ...]]:
    """The tools of a body as the bytes they are, or the problem with them: half a character, a value JSON has not."""
    try:
        return msgspec.Raw(msgspec.json.encode(wire)), ()
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError) as error:
        problem = Problem("tools", f"they cannot be written as JSON ({error})", "use JSON values alone")
        return msgspec.Raw(b"[]"), (problem,)


def read_arguments(text: str | None) -> dict[str, Any] | str:
    """A call's arguments as a mapping, or the text itself when it is no JSON object. Nothing said is `{}`."""
    if text is None or not text.strip():
        return {}
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text
    if value is None:
        return {}
    return value if isinstance(value, dict) and not is_too_deep(value, text) else text


def as_json(body: Any) -> Any:
    """An error body as JSON where it is that, else as text: of a web page its title, of a long text its beginning."""
    if isinstance(body, bytes | bytearray | memoryview):
        body = bytes(body).decode("utf-8", "replace")
    if isinstance(body, str):
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            if body.removeprefix("\ufeff").lstrip()[:1] == "<":
                return f"the server sent a web page{page_title(body)}, not an answer of an API"
            return shortened(body, 2000)
    return body


def page_title(page: str) -> str:
    """The title of a web page, or else its first words, in brackets; nothing where it has neither."""
    from html import unescape

    page = page[:100_000]
    match = _TITLE.search(page)
    title = " ".join(unescape(match[1] if match is not None else _TAG.sub(" ", page)).split())
    return f' ("{shortened(title, 100)}")' if title else ""


_TITLE = re.compile(r"<(?:title|h1)\b[^<>]*>([^<]+)", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")


def shortened(text: str, length: int = 200) -> str:
    """A text, or its beginning where it is longer."""
    text = text.strip()
    return text if len(text) <= length else f"{text[:length].rstrip()}…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds a provider asks to wait, in the headers' several forms."""
    lowered = {name.lower(): value for name, value in headers.items()}
    milliseconds = _number(lowered.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    header = lowered.get("retry-after")
    seconds = _number(header)
    if seconds is not None or header is None:
        return seconds
    from email.utils import parsedate_to_datetime

    try:
        then = parsedate_to_datetime(header)
    except (ValueError, OverflowError):  # a year or a zone of twenty digits
        return None
    seconds = math.ceil((then - datetime.now(UTC)).total_seconds()) if then.tzinfo else 0
    return float(seconds) if seconds > 0 else None  # a moment that has gone by says nothing: clocks differ


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None


def retryable(status: int | None) -> bool:
    """Whether the same request may succeed later."""
    return status in (408, 409, 425, 429, 529) or (status is not None and 500 <= status < 600 and status != 501)


def is_too_long(error: EngineError) -> bool:
    """Whether a provider refused a request because it is longer than the model takes."""
    message = f"{error.code or ''} {error.message}".lower()
    return any(words in message for words in _TOO_LONG)


_TOO_LONG = (
    # What providers say of a request that is longer than the model takes.
    "context_length_exceeded",  # OpenAI's code, recorded by ruby_llm in 2026 at Azure, OpenRouter, DeepSeek and others
    "prompt is too long",  # Anthropic: "prompt is too long: 208310 tokens > 200000 maximum" (claude-code#12186)
    "exceeds the maximum number of tokens",  # Gemini: "The input token count (…) exceeds the maximum number of tokens"
    "maximum context length",  # recorded by ruby_llm in 2026 at OpenRouter and DeepSeek
    "exceeds the available context size",  # recorded by rig in 2026 at llama.cpp (Qwen3-1.7B)
)
