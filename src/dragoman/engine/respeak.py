"""A history in other words: calls and results of one vocabulary, said in another's.

Used when a conversation goes on with another model. Each call is read by the dialect it was made in and written by the
facade it goes on in; what that cannot say is kept as it was and reported.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import msgspec

from dragoman.dialects import DIALECTS
from dragoman.errors import Unspeakable
from dragoman.model import (
    Call,
    CallPart,
    Conversation,
    ConversationItem,
    ExecutedBy,
    Message,
    NativeResult,
    Provenance,
    ResultPart,
)

from .facade import Facade
from .offer import Note

Speaker = Callable[[str], Facade]
"""Gives, for a dialect's name, the facade that conversation was led through."""


def respoken(conversation: Conversation, facade: Facade, speaker: Speaker) -> tuple[Conversation, tuple[Note, ...]]:
    """The conversation in the facade's words. Turns without a stated dialect, and those in it already, stay."""
    translation = _Translation(facade, speaker)
    items = tuple(translation.item(item) for item in conversation)
    return items, tuple(translation.notes)


class _Translation:
    def __init__(self, facade: Facade, speaker: Speaker) -> None:
        self.facade = facade
        self._speaker = cache(speaker)
        self.notes: list[Note] = []
        self._calls: dict[str, tuple[Facade, Call, tuple[tuple[Call, int], ...]]] = {}
        """Old id → who read it, what it was, and the calls it became, each with the number of its operation."""

    def item(self, item: ConversationItem) -> ConversationItem:
        made_by = item.provenance
        spoken = made_by.dialect if made_by is not None else None
        foreign = spoken is not None and spoken != self.facade.dialect.name and spoken in DIALECTS
        if item.role == "assistant" and made_by is not None and spoken is not None and foreign:
            return self._reply(item, made_by, self._speaker(spoken))
        if isinstance(item, Message) and self._calls and any(isinstance(part, ResultPart) for part in item.parts):
            return self._results(item)
        return item

    def _reply(self, item: ConversationItem, made_by: Provenance, old: Facade) -> ConversationItem:
        parts: list[object] = []
        for part in item.parts:
            if isinstance(part, CallPart) and part.call.executed_by is ExecutedBy.CLIENT:
                written = self._call(old.read_call(part.call), old)
                unchanged = len(written) == 1 and written[0].native is part.call
                parts += [part] if unchanged else [CallPart(call.native) for call in written]
            else:
                parts.append(part)
        return msgspec.structs.replace(
            item, parts=tuple(parts), provenance=msgspec.structs.replace(made_by, dialect=self.facade.dialect.name)
        )

    def _call(self, call: Call, old: Facade) -> tuple[Call, ...]:
        """The calls that say the same in the new words; the call itself when they cannot."""
        if call.failure is not None or not call.operations:
            return (_kept(call),)
        natives = []
        try:
            for number, operation in enumerate(call.operations):
                id = call.id if len(call.operations) == 1 else f"{call.id}_{number + 1}"
                written = self.facade.write_call(id, operation)
                if len(written) > 1:
                    written = tuple(
                        msgspec.structs.replace(one, id=f"{id}_{place + 1}") for place, one in enumerate(written)
                    )
                natives += [(native, operation, number) for native in written]
        except Unspeakable as error:
            self.notes.append(Note(call.native.name, f"a call stays in {old.dialect.name}'s words: {error.reason}"))
            return (_kept(call),)
        made = tuple((Call(native.id, (operation,), native), number) for native, operation, number in natives)
        self._calls[call.id] = (old, call, made)
        return tuple(one for one, _ in made)

    def _results(self, item: Message) -> Message:
        parts: list[object] = []
        for part in item.parts:
            known = self._calls.get(part.result.call_id) if isinstance(part, ResultPart) else None
            if known is None or not isinstance(part, ResultPart):
                parts.append(part)
            else:
                parts += [ResultPart(result) for result in self._result(part.result, *known)]
        return msgspec.structs.replace(item, parts=tuple(parts))

    def _result(
        self, native: NativeResult, old: Facade, call: Call, made: tuple[tuple[Call, int], ...]
    ) -> list[NativeResult]:
        outcomes = old.read_result(call, native).outcomes
        told: list[NativeResult] = []
        for one, number in made:
            outcome = outcomes[number] if number < len(outcomes) else outcomes[-1]
            told.append(self.facade.write_result(one, (outcome,)))
        return told


def _kept(call: Call) -> Call:
    """A call that stays in the old words. Text is taken as arguments only by a tool that was offered so."""
    said = call.native.arguments
    if not isinstance(said, str):
        return call
    return msgspec.structs.replace(call, native=msgspec.structs.replace(call.native, arguments={"input": said}))
