"""The messages of a request read one after another, so that a later request with the same beginning goes on from it."""

from __future__ import annotations

import abc
from copy import copy
from typing import Any, Self

from dragoman.model.conversation import Message


class MessageReader(abc.ABC):
    """Reads the messages, contents or items of one API in their order."""

    def __init__(self, model: str = "") -> None:
        self.model = model
        """The name that the request gives the model: what is read may state it."""
        self.messages: list[Message] = []
        """What was read. The last one may still change with what comes next."""

    @abc.abstractmethod
    def take(self, message: Any) -> bool:
        """Reads the next one; False, with nothing changed, where this API has no such thing."""

    def ended(self) -> list[Message]:
        """The messages, where nothing comes any more: a copy may go on, this may not."""
        return self.messages

    def fork(self) -> Self:
        """A copy: both go on from here independently."""
        new = copy(self)
        new.messages = [*self.messages]
        return new
