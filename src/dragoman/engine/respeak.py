"""A conversation in the words of the facade it continues in, when it continues with another model."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.dialects import DIALECTS
from dragoman.dialects.translation import WHOLE, Translation, respoken as respoken_in
from dragoman.model import Conversation

from .offer import Note, Offer

Speaker = Callable[[str], Offer]
"""Gives, for a dialect's name, the facade that conversation was led through."""


def respoken(conversation: Conversation, facade: Offer, speaker: Speaker) -> tuple[Conversation, tuple[Note, ...]]:
    """The conversation in the facade's words, and which tools' calls are told as text."""

    def translation(dialect: str) -> Translation | None:
        is_foreign = dialect != facade.dialect.name and dialect in DIALECTS
        if not is_foreign:
            return None
        return Translation(speaker(dialect), facade, offered=facade.definitions, losses=False)

    new = respoken_in(conversation, facade.dialect.name, translation)
    told = [one for one in new.lost if one.field == WHOLE]
    return new.conversation, tuple(Note(one.tool, f"a call of it is sent as text: {one.reason}") for one in told)
