"""A client's request as the model is asked: its conversation, tools and settings."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from dragoman.dialects.translation import Translation, respoken
from dragoman.model import (
    AnyPart,
    CallPart,
    Conversation,
    ConversationItem,
    Message,
    NativeCall,
    NativeResult,
    Provenance,
    Request,
    ResultPart,
    TextPart,
    ThinkingPart,
    ToolChoice,
    results_message,
)

from .conversations import Conversations, Kept, base_of
from .words import Group, Words

_BILLING: Final = re.compile(r"\s*x-anthropic-billing-header:[^\n]*\s*")
"""Claude Code's first words to Anthropic; users report a part of it that changes and spoils every prefix cache."""


class Prepared(msgspec.Struct, frozen=True):
    """What is to be done for a request: the client makes these `calls` next, or the model is asked `request`."""

    request: Request
    calls: tuple[NativeCall, ...]
    seen: frozenset[str]
    """The files that the client has read or written so far."""


class _Open:
    """A reply whose calls the client is making."""

    def __init__(self, kept: Kept, groups: tuple[Group, ...]) -> None:
        self.kept, self.groups = kept, groups
        self.reminders: list[AnyPart] = []
        """What the client adds to results; it is told to the model after them."""
        self.results: dict[str, NativeResult] = {}


class Preparing:
    """Puts a client's conversation into the model's words, item by item."""

    def __init__(self, words: Words, conversations: Conversations, dialects: tuple[str | None, str | None]) -> None:
        self._words, self._conversations = words, conversations
        self._client, self._model = dialects
        self._items: list[ConversationItem] = []
        self._open: _Open | None = None
        self._foreign = False
        self._seen: set[str] = set()

    def prepared(self, request: Request, model: str, *, same_api: bool) -> Prepared:
        """The request to the model, or the calls that the client is to make first."""
        for item in request.conversation:
            self._take(item)
        calls: tuple[NativeCall, ...] = ()
        if self._open is not None:
            calls = self._words.next(self._open.groups, self._open.results)
        self._close()
        conversation: Conversation = tuple(self._items)
        if self._foreign and self._words.to_model is not None and self._model is not None:
            conversation = respoken(conversation, self._model, self._translation).conversation
        changes = {
            "model": model,
            "conversation": self._instructed(conversation),
            "definitions": self._words.definitions,
            "choice": self._choice(request.choice),
            "stream": False,
        }
        if not same_api:
            # 1 is every API's default, and some models refuse to be told so.
            temperature = None if request.temperature == 1 else request.temperature
            changes |= {"provider_options": {}, "cache": True, "temperature": temperature, "top_p": None}
        return Prepared(msgspec.structs.replace(request, **changes), calls, frozenset(self._seen))

    def _translation(self, dialect: str) -> Translation | None:
        return self._words.to_model if dialect == self._client else None

    # ── items ──────────────────────────────────────────────────────────────

    def _take(self, item: ConversationItem) -> None:
        if item.role == "assistant":
            self._said(item)
            return
        others: list[AnyPart] = []
        results: list[AnyPart] = []
        answers = False
        for part in item.parts:
            if isinstance(part, ResultPart) and self._is_open(part.result):
                assert self._open is not None
                self._open.results[part.result.call_id] = part.result
                answers = True
            elif isinstance(part, ResultPart):
                results.append(part)
            else:
                others.append(part)
        if results:
            assert isinstance(item, Message)
            self._close()
            self._items.append(msgspec.structs.replace(item, parts=(*results, *others)))
        elif others and self._open is not None and (answers or item.role != "user" or all(map(_is_reminder, others))):
            # What comes with a result is a note of the client: Claude Code 2.1.325 adds reminders, and sentences such
            # as "The user hasn't heard from you in a while." What a user says comes in a message of its own.
            self._open.reminders += others
        elif others:
            self._close()
            assert isinstance(item, Message)
            role = "user" if item.role == "tool" else item.role
            self._items.append(Message(role, tuple(others), item.provenance, item.metadata))

    def _is_open(self, result: NativeResult) -> bool:
        return self._open is not None and base_of(result.call_id) == self._open.kept.base

    def _said(self, item: ConversationItem) -> None:
        calls = [part.call for part in item.parts if isinstance(part, CallPart)]
        for call in calls:
            self._seen |= self._words.paths(call)
        kept = self._conversations.of(item)
        if kept is not None:
            if self._open is not None and self._open.kept.base == kept.base:
                return  # the next step of the same reply
            self._close()
            groups = self._words.groups(kept.reply, kept.base, kept.lowering, kept.seen)
            self._open = _Open(kept, groups)
            return
        self._close()
        parts = tuple(part for part in item.parts if not isinstance(part, ThinkingPart))
        if parts:
            self._foreign = self._foreign or bool(calls)
            made_by = item.provenance or Provenance()
            self._items.append(
                msgspec.structs.replace(
                    item, parts=parts, provenance=msgspec.structs.replace(made_by, dialect=self._client)
                )
            )

    def _close(self) -> None:
        """Ends the reply whose calls were being made: it stands as the model said it, with results in its words."""
        if self._open is None:
            return
        done, self._open = self._open, None
        self._items += done.kept.items
        results = self._words.results(done.groups, done.results)
        if results:
            self._items.append(results_message(*results))
        if done.reminders:
            self._items.append(Message("user", tuple(done.reminders)))

    # ── the rest ───────────────────────────────────────────────────────────

    def _instructed(self, conversation: Conversation) -> Conversation:
        """The conversation without the client's line about billing, and with the names of tools explained."""
        if not conversation or conversation[0].role not in ("system", "developer"):
            return conversation
        first = conversation[0]
        kept = [part for part in first.parts if not (isinstance(part, TextPart) and _BILLING.fullmatch(part.text))]
        text = "\n".join(part.text for part in kept if isinstance(part, TextPart))
        glossary = self._words.glossary(text)
        if glossary is not None:
            kept.append(TextPart(f"\n\n{glossary}"))
        return (msgspec.structs.replace(first, parts=tuple(kept)), *conversation[1:])

    def _choice(self, choice: ToolChoice) -> ToolChoice:
        if not self._words.definitions:
            return ToolChoice()
        if not choice.names:
            return choice
        names = tuple(dict.fromkeys(self._words.names.get(name, name) for name in choice.names))
        return msgspec.structs.replace(choice, names=names)


def _is_reminder(part: AnyPart) -> bool:
    return isinstance(part, TextPart) and part.text.lstrip().startswith("<system-reminder>")
