"""What was said: messages, their parts, and the reply of a model.

Rule: what a provider needs back (signatures, encrypted reasoning, items we do not know)
travels in `metadata` or an `OpaquePart`, untouched, under the name of the API it came from.
"""

from __future__ import annotations

import enum
from typing import Any, Literal

from msgspec.structs import replace

from .base import Tagged, Value
from .calls import NativeCall, NativeResult
from .outcomes import Media

Metadata = dict[str, dict[str, Any]]
"""API name → what that API said beside the typed fields."""


class Span(Value, frozen=True):
    """Characters `start` up to, not including, `end` of the text a citation belongs to."""

    start: int
    end: int


class Citation(Value, frozen=True):
    """A source of something said.

    `span` is where in our own text it is cited; `quote` is the text cited, and `location` where in
    the source it stands (page, block, character range) in the provider's own terms.
    """

    url: str | None = None
    title: str | None = None
    document: str | None = None
    quote: str | None = None
    span: Span | None = None
    location: dict[str, Any] | None = None
    metadata: Metadata = {}


class Part(Tagged, frozen=True):
    """The root of all parts of a message."""


class TextPart(Part, frozen=True):
    """Text; the spans of its citations count within this text. `signature` must go back with it."""

    text: str
    citations: tuple[Citation, ...] = ()
    metadata: Metadata = {}
    signature: str | None = None


class ThinkingPart(Part, frozen=True):
    """What a model thought. `signature` proves it to the provider; `encrypted` is thought we cannot read."""

    text: str = ""
    signature: str | None = None
    encrypted: str | None = None
    id: str | None = None
    metadata: Metadata = {}


class MediaPart(Part, frozen=True):
    """An image, a sound or a file; `signature` must go back with it."""

    media: Media
    metadata: Metadata = {}
    signature: str | None = None


class CallPart(Part, frozen=True):
    """A tool call; `signature` is a thought signature that must go back with it."""

    call: NativeCall
    signature: str | None = None
    metadata: Metadata = {}


class ResultPart(Part, frozen=True):
    """The result of a tool call; `signature` must go back with it."""

    result: NativeResult
    metadata: Metadata = {}
    signature: str | None = None


class RefusalPart(Part, frozen=True):
    """The model's words when it would not do what was asked."""

    text: str
    metadata: Metadata = {}


class OpaquePart(Part, frozen=True):
    """A block of an API we do not know: kept whole and sent back as it came."""

    api: str
    item: dict[str, Any]


AnyPart = TextPart | ThinkingPart | MediaPart | CallPart | ResultPart | RefusalPart | OpaquePart


class Usage(Value, frozen=True, gc=False):
    """Tokens of one exchange. `None` is "not said", which is not 0.

    `input_tokens` are those neither read from nor written to a cache; `output_tokens` include
    `reasoning_tokens`. So nothing is counted twice: the four add up (`total`).
    `tool_tokens` are input a provider's own tools used; `requests` counts those tools' uses.
    """

    input_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    tool_tokens: int | None = None
    requests: dict[str, int] = {}
    metadata: Metadata = {}
    doubtful: tuple[str, ...] = ()
    """Which of these counts are likely too low, because the client logged them before the reply was complete, or are
    not known, because what it logged was below 0."""

    @property
    def total(self) -> int | None:
        """All tokens that were said, or `None` when none was."""
        counts = (
            self.input_tokens,
            self.cached_read_tokens,
            self.cached_write_tokens,
            self.output_tokens,
            self.tool_tokens,
        )
        said = [count for count in counts if count is not None]
        return sum(said) if said else None

    def __add__(self, other: Usage) -> Usage:
        """The counts of both. `metadata` describes one exchange and does not add up: it stays with the exchange."""
        return Usage(
            input_tokens=_sum(self.input_tokens, other.input_tokens),
            cached_read_tokens=_sum(self.cached_read_tokens, other.cached_read_tokens),
            cached_write_tokens=_sum(self.cached_write_tokens, other.cached_write_tokens),
            output_tokens=_sum(self.output_tokens, other.output_tokens),
            reasoning_tokens=_sum(self.reasoning_tokens, other.reasoning_tokens),
            tool_tokens=_sum(self.tool_tokens, other.tool_tokens),
            requests={
                tool: self.requests.get(tool, 0) + other.requests.get(tool, 0)
                for tool in sorted({*self.requests, *other.requests})
            },
            doubtful=self.doubtful
            if self.doubtful == other.doubtful
            else tuple(sorted({*self.doubtful, *other.doubtful})),
        )


def _sum(one: int | None, other: int | None) -> int | None:
    return one if other is None else other if one is None else one + other


class FinishReason(enum.StrEnum):
    """Why a model stopped."""

    STOP = "stop"
    STOP_SEQUENCE = "stop_sequence"
    LENGTH = "length"
    CALLS = "calls"
    PAUSED = "paused"
    REFUSED = "refused"
    FILTERED = "filtered"
    MALFORMED_CALL = "malformed_call"
    CONTEXT_EXCEEDED = "context_exceeded"
    COMPACTED = "compacted"
    INTERRUPTED = "interrupted"
    ERROR = "error"
    UNKNOWN = "unknown"


class Provenance(Value, frozen=True):
    """Where a turn came from: opaque state may go back only to the API and model that made it.

    `model` is the one that was asked; `served` the one that says it answered, where it is called otherwise.
    """

    api: str | None = None
    provider: str | None = None
    model: str | None = None
    dialect: str | None = None
    served: str | None = None


Role = Literal["system", "developer", "user", "assistant", "tool"]


class Message(Tagged, frozen=True):
    """Something said by one side."""

    role: Role
    parts: tuple[AnyPart, ...]
    provenance: Provenance | None = None
    metadata: Metadata = {}

    @property
    def text(self) -> str:
        """All text of the message."""
        return _text(self.parts)


class Reply(Tagged, frozen=True):
    """What a model answered: the typed parts, and the views on them that callers want."""

    parts: tuple[AnyPart, ...]
    finish: FinishReason = FinishReason.UNKNOWN
    finish_raw: str | None = None
    usage: Usage = Usage()
    id: str | None = None
    request_id: str | None = None
    provenance: Provenance = Provenance()
    metadata: Metadata = {}
    alternatives: tuple[Reply, ...] = ()
    """Further answers, where several were asked for."""

    @property
    def role(self) -> Role:
        """In a conversation, a reply is the message of the assistant."""
        return "assistant"

    @property
    def text(self) -> str:
        """All text of the reply."""
        return _text(self.parts)

    @property
    def thinking(self) -> str:
        """All thinking we can read."""
        return "".join(part.text for part in self.parts if isinstance(part, ThinkingPart))

    @property
    def calls(self) -> tuple[NativeCall, ...]:
        """Every call, ours to run and the provider's own (`executed_by` tells)."""
        return tuple(part.call for part in self.parts if isinstance(part, CallPart))

    @property
    def results(self) -> tuple[NativeResult, ...]:
        """Results of calls the provider ran itself."""
        return tuple(part.result for part in self.parts if isinstance(part, ResultPart))

    @property
    def is_empty(self) -> bool:
        """Whether it has neither text nor calls; thinking does not count."""
        return all(
            isinstance(part, ThinkingPart) or (isinstance(part, TextPart) and not part.text.strip())
            for part in self.parts
        )

    @property
    def citations(self) -> tuple[Citation, ...]:
        """All citations, their spans counted within `text`."""
        found: list[Citation] = []
        offset = 0
        for part in self.parts:
            if isinstance(part, TextPart):
                found.extend(_shifted(citation, offset) for citation in part.citations)
                offset += len(part.text)
        return tuple(found)


ConversationItem = Message | Reply
Conversation = tuple[ConversationItem, ...]


def _text(parts: tuple[AnyPart, ...]) -> str:
    return "".join(part.text for part in parts if isinstance(part, TextPart))


def _shifted(citation: Citation, offset: int) -> Citation:
    if citation.span is None or offset == 0:
        return citation
    return replace(citation, span=Span(citation.span.start + offset, citation.span.end + offset))


def answered(conversation: Conversation, results: Message) -> Conversation:
    """The conversation with results of its last calls: all of one turn stand in one message, in the calls' order."""
    last = conversation[-1]
    if last.role != "tool":
        return (*conversation, results)
    asked = next((item for item in reversed(conversation) if item.role == "assistant"), last)
    calls = [part.call.id for part in asked.parts if isinstance(part, CallPart)]
    places = {id: place for place, id in reversed([*enumerate(calls)])}

    def place(part: object) -> int:
        return places.get(part.result.call_id, len(places)) if isinstance(part, ResultPart) else len(places)

    parts = tuple(sorted((*last.parts, *results.parts), key=place))
    return (*conversation[:-1], replace(last, parts=parts))


def system(text: str) -> Message:
    """Instructions for the model."""
    return Message("system", (TextPart(text),))


def user(*content: str | Media | AnyPart) -> Message:
    """What the user says: text, media or ready parts."""
    return Message("user", tuple(_part(piece) for piece in content))


def assistant(*content: str | Media | AnyPart) -> Message:
    """What a model said, written by hand."""
    return Message("assistant", tuple(_part(piece) for piece in content))


def calls_message(*calls: NativeCall) -> Message:
    """An assistant's message that makes these calls."""
    return Message("assistant", tuple(CallPart(call) for call in calls))


def results_message(*results: NativeResult) -> Message:
    """The results of calls, in the order given."""
    return Message("tool", tuple(ResultPart(result) for result in results))


def tool_call(name: str, arguments: dict[str, Any] | str | None = None, *, id: str | None = None) -> Message:
    """An assistant's message that calls one tool, written by hand. Without an `id` it gets one of its own."""
    if id is None:
        import uuid

        id = f"call_{uuid.uuid4().hex[:16]}"
    return calls_message(NativeCall(id, name, {} if arguments is None else arguments))


def tool_result(call: Message | NativeCall | str, *content: str | Media, is_error: bool | None = None) -> Message:
    """What a call gave, written by hand. `call` is the message that makes it, the call itself, or its id.

    Some APIs match a result with its call by the tool's name, so give the message or the call where you have it.
    """
    made = call
    if isinstance(made, Message):
        calls = [part.call for part in made.parts if isinstance(part, CallPart)]
        if len(calls) != 1:
            raise ValueError(f"the message makes {len(calls)} calls: name the one whose result this is")
        made = calls[0]
    said = content[0] if len(content) == 1 and isinstance(content[0], str) else tuple(content)
    named = made if isinstance(made, NativeCall) else None
    return results_message(
        NativeResult(
            made if isinstance(made, str) else made.id,
            said or "",
            is_error=is_error,
            name=None if named is None else named.name,
            namespace=None if named is None else named.namespace,
        )
    )


def _part(content: str | Media | AnyPart) -> AnyPart:
    if isinstance(content, str):
        return TextPart(content)
    if isinstance(content, Media):
        return MediaPart(content)
    if not isinstance(content, AnyPart):
        raise TypeError(
            f"a message is made of texts, media and parts, not {type(content).__name__}: "
            "for a file or bytes write Image(…), Document(…) or Audio(…)"
        )
    return content
