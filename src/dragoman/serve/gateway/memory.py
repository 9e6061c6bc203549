"""Conversations that were put into a model's words, so that the next request of each costs only what is new in it.

A client sends the whole conversation with every request. The walk through it (`requests.Walk`) is kept at a few places
of the conversation and continued from the last one that the next request has in common with it.

Rules:
- The same conversation gives the same request to the model, whether any of it was remembered or not.
- Memory is bounded by the number and the size of the requests; what was used longest ago is forgotten first.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any, Final

import msgspec

from dragoman.model import CallPart, Conversation, ConversationItem, MediaPart, RefusalPart, ResultPart, TextPart

from .conversations import name_in
from .requests import Walk

_CONVERSATIONS: Final = 64
_BYTES: Final = 64 * 1024 * 1024
"""Of requests, as they were sent. In memory a conversation takes a few times as much."""
_LAST: Final = 4
"""A walk is kept before each of the last messages: Claude Code 2.1.325 moves its marks for the cache along in them."""
_EVERY: Final = 64
"""And at every so many messages, for clients that change older ones."""


class _Known(msgspec.Struct, frozen=True):
    """A conversation and the walks through its beginnings, by the number of items that they have taken."""

    key: bytes
    name: str
    items: Conversation
    walks: dict[int, Walk]
    size: int

    def shared(self, items: Conversation) -> int:
        """How many items another conversation begins with as well."""
        most = min(len(self.items), len(items))
        if self.items[:most] == items[:most]:
            return most
        pairs = zip(self.items, items, strict=False)
        return next(number for number, (one, other) in enumerate(pairs) if one != other)

    def is_continued_by(self, items: Conversation, shared: int) -> bool:
        """Whether a conversation is this one with more in it, but for marks in the last messages."""
        rest = self.items[shared:]
        return len(rest) <= _LAST and list(map(said, rest)) == list(map(said, items[shared : len(self.items)]))


class Memory:
    """The conversations of all clients."""

    def __init__(self) -> None:
        self._known: list[_Known] = []
        """The one used last comes last."""

    def walked(self, key: bytes, items: Conversation, size: int, new: Callable[[], Walk]) -> tuple[str, Walk]:
        """The name of a conversation, and a walk that has taken all its items.

        `key` stands for the model and the words, `size` is that of the request, and `new` begins a walk.
        """
        before, shared = self._closest(key, items)
        walks = {} if before is None else {at: walk for at, walk in before.walks.items() if at <= shared}
        start = max(walks, default=0)
        walk = walks[start].fork() if walks else new()
        # The items of the earlier request stand for the equal ones of this, so that they are in memory once.
        items = items if before is None else (*before.items[:start], *items[start:])
        walk.expect(items[start:])
        for count, item in enumerate(items[start:], start + 1):
            walk.take(item)
            if walk.is_settled and (count >= len(items) - _LAST or count % _EVERY == 0):
                walks[count] = walk.fork()
        name = name_in(items)
        if before is not None and before.is_continued_by(items, shared):
            self._known.remove(before)
            name = name or before.name
        name = name or secrets.token_hex(6)
        kept = {at: one for at, one in walks.items() if at >= len(items) - _LAST or at % _EVERY == 0}
        self._known.append(_Known(key, name, items, kept, size))
        while len(self._known) > _CONVERSATIONS or sum(one.size for one in self._known) > _BYTES:
            del self._known[0]
        return name, walk

    def _closest(self, key: bytes, items: Conversation) -> tuple[_Known | None, int]:
        """The conversation that has the longest beginning in common with this one, and how long it is."""
        found, most = None, 0
        for known in reversed(self._known):
            if known.key == key and (shared := known.shared(items)) > most:
                found, most = known, shared
                if most == len(known.items):
                    break
        return found, most


def said(item: ConversationItem) -> tuple[Any, ...]:
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
