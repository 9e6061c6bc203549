"""Conversations that were put into a model's words, so that the next request of each costs only what is new in it.

The walk through a conversation (`requests.Walk`) is kept at a few places of it (`beginnings`).

Rule: the same conversation gives the same request to the model, whether any of it was remembered or not.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable
from typing import Any

from dragoman.model import CallPart, Conversation, ConversationItem, MediaPart, RefusalPart, ResultPart, TextPart

from .beginnings import LAST, Beginnings, Known
from .conversations import name_in
from .requests import Walk


class Memory:
    """The conversations of all clients."""

    def __init__(self) -> None:
        self._known = Beginnings[Walk]()

    def walked(self, key: Hashable, items: Conversation, size: int, new: Callable[[], Walk]) -> tuple[str, Walk]:
        """The name of a conversation, and a walk that has taken all its items.

        `key` stands for the model and the words, `size` is that of the request, and `new` begins a walk.
        """
        before, shared = self._known.closest(key, items)
        if before is not None:  # so that they are in memory once, and known by identity to all that comes after
            items = (*before.items[:shared], *items[shared:])
        known, walk = self._known.walked(key, items, before, shared, new)
        continued = before if before is not None and _is_continued_by(before, items, shared) else None
        name = name_in(items) if continued is None else name_in(items[shared:]) or continued.name
        known.name = name or secrets.token_hex(6)
        self._known.remember(known, size, continued)
        return known.name, walk


def _is_continued_by(known: Known[Walk], items: Conversation, shared: int) -> bool:
    """Whether a conversation is a known one with more in it, but for marks in the last messages."""
    rest = known.items[shared:]
    return len(rest) <= LAST and list(map(words_of, rest)) == list(map(words_of, items[shared : len(known.items)]))


def words_of(item: ConversationItem) -> tuple[Any, ...]:
    """What an item says, without marks and signatures: a client sends back a reply with others than it came with."""
    parts: list[Any] = []
    for part in item.parts:
        match part:
            case TextPart() | RefusalPart():
                parts.append(part.text.strip())
            case CallPart(call):
                parts.append((call.id, call.name))
            case ResultPart(result):
                parts.append((result.call_id, result.content))
            case MediaPart(media):
                parts.append(media)
    return item.role, [part for part in parts if part]
