"""A client's request as the model is asked: its conversation, tools and settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, Final

import msgspec

from dragoman.dialects.translation import Respeaking
from dragoman.errors import EngineError
from dragoman.model import (
    AnyPart,
    CallPart,
    Conversation,
    ConversationItem,
    MediaPart,
    Message,
    NativeCall,
    NativeResult,
    OpaquePart,
    Provenance,
    Request,
    ResultPart,
    TextPart,
    ThinkingPart,
    ToolChoice,
    results_message,
)

from .conversations import Conversations, KnownReply, base_of
from .words import Group, Words

_BILLING: Final = re.compile(r"\s*x-anthropic-billing-header:[^\n]*\s*")
"""Claude Code's first words to Anthropic. They stayed the same through a session of 2.1.325; users report a part that
changes and spoils every prefix cache."""


_CUT: Final = "[Truncated: PARTIAL view"
"""How Claude Code 2.1.325 says, beside a result, that it shows the first lines of a file alone."""
_FILE: Final = "file_id"


class Prepared(msgspec.Struct, frozen=True):
    """What is to be done for a request: the client makes these `calls` next, or the model is asked `request`."""

    request: Request
    calls: tuple[NativeCall, ...]
    seen: frozenset[str]
    """The files that the client has read or written so far."""
    words: Words
    """The client's and the model's words, with the files that this conversation has read."""
    left_out: tuple[str, ...] = ()
    """Settings of the client that the model is not asked with."""


class _Open:
    """A reply whose calls the client is making."""

    def __init__(self, kept: KnownReply, groups: tuple[Group, ...]) -> None:
        self.kept, self.groups = kept, groups
        self.reminders: list[AnyPart] = []
        """What the client adds to results; it is told to the model after them."""
        self.results: dict[str, NativeResult] = {}
        self.latest: tuple[str, ...] = ()
        """The calls that the last message with results answers."""

    def fork(self) -> _Open:
        new = _Open(self.kept, self.groups)
        new.reminders, new.results, new.latest = [*self.reminders], {**self.results}, self.latest
        return new


class Walk:
    """Puts a client's conversation into the model's words, item by item. It can be copied and continued (`fork`)."""

    def __init__(
        self, words: Words, conversations: Conversations, dialects: tuple[str | None, str | None], api: str
    ) -> None:
        """`dialects` are the vocabularies of the client and of the model, `api` is that of the model."""
        self._words, self._conversations, self._api = words.fork(), conversations, api
        self._client = dialects[0]
        self._items: list[ConversationItem] = []
        self._open: _Open | None = None
        self._seen: set[str] = set()
        self._referred: frozenset[str] = frozenset()
        """What was said only by reference, possibly to something that the client's provider keeps."""
        self._unsaid: str | None = None
        """What a user said in a form that only the client's API has."""
        self._heads: dict[int, tuple[ConversationItem, ConversationItem]] = {}
        """The id of the first item → that item, which keeps the id its own, and what the model is told instead. Copies
        share it: what is the same object in the next request is not written again (`Api.encode_to_send`)."""
        translation, target = words.to_model, dialects[1]
        self._foreign: Respeaking | None = None
        """What puts calls that did not come from here into the model's words."""
        if translation is not None and target is not None:
            self._foreign = Respeaking(target, {self._client: translation}.get)

    def fork(self) -> Walk:
        """A copy: both go on from here independently."""
        new = copy(self)
        new._words, new._items, new._seen = self._words.fork(), [*self._items], {*self._seen}
        new._open = None if self._open is None else self._open.fork()
        new._foreign = None if self._foreign is None else self._foreign.fork()
        return new

    @property
    def is_settled(self) -> bool:
        """Whether nothing that was taken would become something else because of what comes later."""
        return self._foreign is None or not self._foreign.awaits

    def expect(self, items: Sequence[ConversationItem]) -> None:
        """These are the next items, so the results in them are known to come."""
        if self._foreign is not None:
            self._foreign.expect(items)

    def prepared(self, request: Request, model: str, *, same_api: bool, references: Sequence[str] = ()) -> Prepared:
        """The request to the model, or the calls that the client is to make first. It ends the walk.

        `references` are fields and items of the client's API that stand for what its provider keeps: another provider
        does not have it, so such a request is refused rather than asked without it.
        """
        if not same_api:
            for one in (*references, _FILE):
                if one in self._referred or request.provider_options.get(one) is not None:
                    message = f"{one} stands for content that {model} cannot read: send the content itself"
                    raise EngineError(message, status=400)
        if self._unsaid is not None:
            message = f"a user's {self._unsaid} cannot be sent to {model}: send its text"
            raise EngineError(message, status=400)
        calls: tuple[NativeCall, ...] = ()
        if self._open is not None:
            calls = self._words.next(self._open.groups, self._open.results)
        self._close()
        changes = {
            "model": model,
            "conversation": self._instructed(tuple(self._items)),
            "definitions": self._words.definitions,
            "choice": self._choice(request.choice),
            "stream": False,
        }
        if not same_api:
            # 1 is every API's default, and some models refuse to be told so.
            temperature = None if request.temperature == 1 else request.temperature
            changes |= {"provider_options": {}, "cache": True, "temperature": temperature, "top_p": None}
        new = msgspec.structs.replace(request, **changes)
        return Prepared(new, calls, frozenset(self._seen), self._words)

    def _add(self, *items: ConversationItem) -> None:
        """The next items for the model, which may still be in the client's words."""
        if self._foreign is None:
            self._items += items
        else:
            self._items += (new for item in items for new in self._foreign.items(item))

    # ── items ──────────────────────────────────────────────────────────────

    def take(self, item: ConversationItem) -> None:
        """The next item of the client's conversation."""
        self._referred |= set(filter(None, map(_reference, item.parts)))
        if item.role == "assistant":
            self._said(item)
            return
        others: list[AnyPart] = []
        results: list[AnyPart] = []
        answers = False
        for part in item.parts:
            if isinstance(part, ResultPart) and self._is_open(part.result):
                assert self._open is not None
                self._open.results[part.result.call_id] = self._words.searched(part.result)
                answers = True
            elif isinstance(part, ResultPart):
                result = self._words.searched(part.result)
                results.append(part if result is part.result else ResultPart(result))
            else:
                others += (*self._beside(part), self._told(part))
        others = self._cut(others, item)
        if results:
            assert isinstance(item, Message)
            self._close()
            self._add(msgspec.structs.replace(item, parts=(*results, *others)))
        elif others and any(map(_interrupts, others)):
            # Claude Code 2.1.325 sends what the user says next in the same message.
            self._close()
            self._add(Message("user", tuple(others), item.provenance, item.metadata))
        elif others and self._open is not None and (answers or item.role != "user" or all(map(_is_reminder, others))):
            # What comes with a result is a note of the client: Claude Code 2.1.325 adds reminders, and sentences such
            # as "The user hasn't heard from you in a while." What a user says comes in a message of its own.
            self._open.reminders += others
        elif others:
            self._close()
            assert isinstance(item, Message)
            role = "user" if item.role == "tool" else item.role
            self._add(Message(role, tuple(others), item.provenance, item.metadata))

    def _cut(self, others: list[AnyPart], item: ConversationItem) -> list[AnyPart]:
        """What comes with or after results, without the note that the one file that was read is longer."""
        if self._open is None:
            return others
        ids = tuple(part.result.call_id for part in item.parts if isinstance(part, ResultPart))
        self._open.latest = ids or self._open.latest
        note = next((part for part in others if isinstance(part, TextPart) and part.text.startswith(_CUT)), None)
        result = self._open.results.get(self._open.latest[0]) if len(self._open.latest) == 1 else None
        if note is None or result is None or not isinstance(result.content, str):
            return others
        told = msgspec.structs.replace(result, content=f"{result.content}\n\n{note.text}")
        self._open.results[result.call_id] = told
        return [part for part in others if part is not note]

    def _told(self, part: AnyPart) -> AnyPart:
        """What a user said, as text where it is in a form that the model's API does not have."""
        if not isinstance(part, OpaquePart) or part.api == self._api:
            return part
        text = "\n".join(_texts(part.item))
        if text and not _shows(part.item):
            return TextPart(text)
        self._unsaid = self._unsaid or _kind(part.item)
        return part

    def _beside(self, part: AnyPart) -> Iterator[TextPart]:
        """What a user says of a file in a field that only the client's API has (`context` of
        Anthropic's documents, 2.8.0 of its SDK)."""
        for api, said in part.metadata.items() if isinstance(part, MediaPart) else ():
            if api != self._api and isinstance(said.get("context"), str) and said["context"]:
                yield TextPart(said["context"])

    def _said_before(self, part: AnyPart) -> AnyPart:
        """What a model said, as text where only the client's API has it: the summary of a conversation
        (Anthropic, 2.8.0 of its SDK)."""
        if not isinstance(part, OpaquePart) or part.api == self._api:
            return part
        text = part.item.get("content")
        return TextPart(text) if isinstance(text, str) and text else part

    def _is_open(self, result: NativeResult) -> bool:
        return self._open is not None and base_of(result.call_id) == self._open.kept.base

    def _said(self, item: ConversationItem) -> None:
        calls = [part.call for part in item.parts if isinstance(part, CallPart)]
        for call in calls:
            self._seen |= self._words.paths(call)
        kept = self._conversations.of(item)
        if kept is not None and kept.vocabulary == self._words.vocabulary:
            if self._open is not None and self._open.kept.base == kept.base:
                return  # the next step of the same reply
            self._close()
            groups = self._words.groups(kept.reply, kept.base, kept.lowering, kept.seen, kept.answers)
            self._open = _Open(kept, groups)
            return
        self._close()
        parts = tuple(self._said_before(part) for part in item.parts if not isinstance(part, ThinkingPart))
        if parts:
            made_by = msgspec.structs.replace(item.provenance or Provenance(), dialect=self._client)
            self._add(msgspec.structs.replace(item, parts=parts, provenance=made_by))

    def _close(self) -> None:
        """Ends the reply whose calls were being made: it stands as the model said it, with results in its words."""
        if self._open is None:
            return
        done, self._open = self._open, None
        self._add(*done.kept.items)
        results = self._words.results(done.groups, done.results)
        if results:
            self._add(results_message(*results))
        if done.reminders:
            self._add(Message("user", tuple(done.reminders)))

    # ── the rest ───────────────────────────────────────────────────────────

    def _instructed(self, conversation: Conversation) -> Conversation:
        """The conversation without the client's line about billing, and with the names of tools explained."""
        if not conversation or conversation[0].role not in ("system", "developer"):
            return conversation
        first = conversation[0]
        known = self._heads.get(id(first))
        if known is not None:
            return (known[1], *conversation[1:])
        kept = [part for part in first.parts if not (isinstance(part, TextPart) and _BILLING.fullmatch(part.text))]
        text = "\n".join(part.text for part in kept if isinstance(part, TextPart))
        glossary = self._words.glossary(text)
        if glossary is not None:
            kept.append(TextPart(f"\n\n{glossary}"))
        told = msgspec.structs.replace(first, parts=tuple(kept))
        self._heads[id(first)] = (first, told)
        return (told, *conversation[1:])

    def _choice(self, choice: ToolChoice) -> ToolChoice:
        if not self._words.definitions:
            return ToolChoice()
        if not choice.names:
            return choice
        names = tuple(dict.fromkeys(map(self._words.offered_name, choice.names)))
        return msgspec.structs.replace(choice, names=names)


def _reference(part: AnyPart) -> str | None:
    """What a part stands for that is not in it: the type of an item, or a file."""
    match part:
        case MediaPart(media) if media.file_id is not None and media.data is None and media.url is None:
            return _FILE
        case OpaquePart(item={"type": str(kind)}):
            return kind
    return None


_TEXTS: Final = ("title", "source", "context", "text")
"""Where the words are in documents that are given as blocks and in results of a search (Anthropic's
API, 2.8.0 of its SDK)."""


def _texts(value: Any) -> Iterator[str]:
    """The words in an item, in the order in which they stand in it."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, str):
                yield from [inner] if name in _TEXTS and inner else ()
            else:
                yield from _texts(inner)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _shows(value: Any) -> bool:
    """Whether there is anything in an item that is no text."""
    if isinstance(value, dict):
        return "image" in str(value.get("type")) or any(map(_shows, value.values()))
    return isinstance(value, list) and any(map(_shows, value))


def _kind(item: dict[str, Any]) -> str:
    content = item.get("content")
    inner = content[0] if "type" not in item and isinstance(content, list) and content else item
    return str(inner.get("type", "content")) if isinstance(inner, dict) else "content"


def _interrupts(part: AnyPart) -> bool:
    """Whether a client says that the user stopped what it was doing (`claude_code.failures`)."""
    return isinstance(part, TextPart) and part.text.lstrip().startswith("[Request interrupted by user")


def _is_reminder(part: AnyPart) -> bool:
    return isinstance(part, TextPart) and part.text.lstrip().startswith("<system-reminder>")
