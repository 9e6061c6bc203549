"""A conversation in other words: the calls and results of one vocabulary, said in another's.

Used when a conversation continues with another model. Each call is read in the vocabulary it was made in and said by
the facade it continues in; what that cannot say is told to the model as text, with its result, and noted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import msgspec

from dragoman.dialects import DIALECTS
from dragoman.dialects.translation import Translated, Translation, as_text
from dragoman.model import (
    AnyPart,
    CallPart,
    Conversation,
    ConversationItem,
    ExecutedBy,
    Media,
    Message,
    NativeCall,
    Provenance,
    Reply,
    ResultPart,
    user,
)

from .loop import is_empty
from .offer import Note, Offer

Speaker = Callable[[str], Offer]
"""Gives, for a dialect's name, the facade that conversation was led through."""


def respoken(conversation: Conversation, facade: Offer, speaker: Speaker) -> tuple[Conversation, tuple[Note, ...]]:
    """The conversation in the facade's words. Turns without a stated dialect, and those in it already, stay."""
    respeaking = _Respeaking(conversation, facade, speaker)
    items = tuple(new for item in conversation for new in respeaking.items(item))
    return items, tuple(respeaking.notes)


class _Respeaking:
    def __init__(self, conversation: Conversation, facade: Offer, speaker: Speaker) -> None:
        self._dialect = facade.dialect.name
        self._translation = cache(lambda dialect: Translation(speaker(dialect), facade, losses=False))
        results = [part.result for item in conversation for part in item.parts if isinstance(part, ResultPart)]
        self._answered = frozenset(result.call_id for result in results)
        self.notes: list[Note] = []
        self._said: dict[str, tuple[Translation, Translated]] = {}
        """Old id → what the call became, and by whom."""
        self._unsaid: dict[str, NativeCall] = {}
        """Old id → a call that is told as text, with its result."""

    def items(self, item: ConversationItem) -> Iterator[ConversationItem]:
        made_by = item.provenance
        spoken = made_by.dialect if made_by is not None else None
        foreign = spoken is not None and spoken != self._dialect and spoken in DIALECTS
        if item.role == "assistant" and made_by is not None and spoken is not None and foreign:
            yield from self._reply(item, made_by, self._translation(spoken))
        elif isinstance(item, Message) and any(isinstance(part, ResultPart) for part in item.parts):
            yield from self._results(item)
        else:
            yield item

    def _reply(self, item: ConversationItem, made_by: Provenance, words: Translation) -> Iterator[ConversationItem]:
        parts: list[AnyPart] = []
        for part in item.parts:
            if isinstance(part, CallPart) and part.call.executed_by is ExecutedBy.CLIENT:
                parts += self._call(part, words)
            else:
                parts.append(part)
        provenance = msgspec.structs.replace(made_by, dialect=self._dialect)
        new = msgspec.structs.replace(item, parts=tuple(parts), provenance=provenance)
        if len(parts) < len(item.parts) and is_empty(new if isinstance(new, Reply) else Reply(new.parts)):
            return  # nothing was said beside what is told as text: APIs refuse a turn without content
        yield new

    def _call(self, part: CallPart, words: Translation) -> list[CallPart]:
        """The calls that say the same in the new words; none where they cannot."""
        id = part.call.id
        translated = words.call(part.call)
        self._said.pop(id, None)
        self._unsaid.pop(id, None)
        if translated.calls:
            self._said[id] = (words, translated)
            return [CallPart(call.native) for call in translated.calls]
        if id not in self._answered:
            return [part]  # it is still to be answered, under its own id
        self._unsaid[id] = part.call
        self.notes += [Note(lost.tool, f"a call of it is told as text: {lost.reason}") for lost in translated.lost]
        return []

    def _results(self, item: Message) -> Iterator[Message]:
        parts: list[AnyPart] = []
        texts: list[str | Media] = []
        for part in item.parts:
            id = part.result.call_id if isinstance(part, ResultPart) else ""
            if isinstance(part, ResultPart) and id in self._said:
                words, translated = self._said[id]
                parts += [ResultPart(result) for result in words.split(translated, part.result).results]
            elif isinstance(part, ResultPart) and id in self._unsaid:
                texts.append(as_text(self._unsaid[id], part.result))
                texts += [piece for piece in part.result.content if isinstance(piece, Media)]
            else:
                parts.append(part)
        if parts:
            yield msgspec.structs.replace(item, parts=tuple(parts))
        if texts:
            yield user(*texts)
