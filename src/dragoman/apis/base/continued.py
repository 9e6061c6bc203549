"""Requests of a run, of which each says what the one before it said and a little more: what was written is kept.

Rule: a request is written so only where that gives what `Api.encode` gives, and `None` is the answer everywhere else.
The conversation is cut before turns of the model. A part of it is kept if it was written without a remark, since then
it has every result of its calls and no call of a provider's that waits; and if nothing in it counts for the whole:
headers, marks for a cache, ids that occur again, what the API itself counts (`Api._counts_for_whole`). Items are known
by being the very same objects, which are values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import is_
from typing import Any, Final

import msgspec

from dragoman.bounded import remember
from dragoman.errors import DefinitionError
from dragoman.model.conversation import CallPart, Conversation, ConversationItem
from dragoman.model.request import Request

from .encoded import Encoded

_LAST_TURNS: Final = 3
"""Turns of the model at the end that are always written: rules on how a conversation ends look no further back."""
_REMEMBERED: Final = 32


class _Written(msgspec.Struct, frozen=True):
    """The beginning of a conversation as it is written."""

    bare: Request
    """The request without its conversation, which the writing depends on."""
    items: Conversation
    head: list[Any]
    """What the items before the first turn of the model are written as."""
    written: list[msgspec.Raw]
    """The messages of all items, as the bytes that are sent."""
    headers: dict[str, str]
    ids: frozenset[str]


class Continued:
    """Writes requests of one API with the help of what was written before. Threads may share it."""

    def __init__(
        self, field: str, encode: Callable[[Request], Encoded], counts: Callable[[ConversationItem], bool]
    ) -> None:
        """`field` of a body is the list that holds the conversation; `encode` writes a request as if it were alone.

        `counts` says of an item whether it is written otherwise beside others.
        """
        self._field, self._encode, self._counts = field, encode, counts
        self._known: dict[tuple[int, ...], _Written] = {}
        self._seen: dict[tuple[int, ...], tuple[Conversation, int]] = {}
        """How conversations begin that were written whole so far, and from how many items on it is tried again."""

    def encode(self, request: Request) -> Encoded | None:
        """The request as it goes out; its body is not to be changed, since parts of it are kept."""
        conversation = request.conversation
        begin = next((at for at, item in enumerate(conversation) if item.role == "assistant"), 0)
        cut = _cut(conversation)
        if not 0 < begin < cut or self._field in request.provider_options:
            return None
        if not any(item.role == "user" for item in conversation[:begin]):
            return None  # the name of a conversation is that of how it begins, up to its first user message
        bare = msgspec.structs.replace(request, conversation=(), cache=False)
        key = (id(conversation[0]), id(conversation[begin]))
        known = self._known.get(key)
        if known is None and not self._is_worth_it(key, conversation, begin):
            return None
        if known is None or not _continues(known, bare, conversation, cut):
            known = self._begun(bare, conversation[:begin])
        if known is not None and len(known.items) < cut:
            known = self._extended(known, conversation[len(known.items) : cut], begin)
        if known is None:
            self._known.pop(key, None)
            remember(self._seen, key, ((conversation[0], conversation[begin]), 2 * len(conversation)), _REMEMBERED)
            return None
        remember(self._known, key, known, _REMEMBERED)
        return self._ended(known, request, begin)

    def _is_worth_it(self, key: tuple[int, ...], conversation: Conversation, begin: int) -> bool:
        """Whether to try: the second request of a conversation shows that there are more, and where it could not be
        kept, trying costs as much as writing it."""
        seen = self._seen.get(key)
        if seen is None:
            remember(self._seen, key, ((conversation[0], conversation[begin]), 0), _REMEMBERED)
            return False
        return len(conversation) >= seen[1]

    def _begun(self, bare: Request, head: Conversation) -> _Written | None:
        if any(map(self._counts, head)):
            return None
        encoded = self._plain(msgspec.structs.replace(bare, conversation=head))
        if encoded is None:
            return None
        messages = encoded.body[self._field]
        written = _as_bytes(messages)
        return None if written is None else _Written(bare, head, messages, written, encoded.headers, _ids(head))

    def _extended(self, known: _Written, items: Conversation, begin: int) -> _Written | None:
        if any(map(self._counts, items)):
            return None
        encoded = self._plain(msgspec.structs.replace(known.bare, conversation=known.items[:begin] + items))
        more = None if encoded is None else self._after_head(known, encoded)
        ids = _ids(items)
        new = None if more is None or ids & known.ids else _as_bytes(more)
        if new is None or any(b'"cache_control"' in bytes(one) for one in new):
            return None
        return msgspec.structs.replace(
            known, items=known.items + items, written=known.written + new, ids=known.ids | ids
        )

    def _ended(self, known: _Written, request: Request, begin: int) -> Encoded | None:
        items = request.conversation[len(known.items) :]
        if any(map(self._counts, items)):
            return None
        encoded = self._plain(msgspec.structs.replace(request, conversation=known.items[:begin] + items))
        more = None if encoded is None else self._after_head(known, encoded)
        new = None if more is None or _ids(items) & known.ids else _as_bytes(more)
        if encoded is None or new is None:
            return None
        return msgspec.structs.replace(encoded, body={**encoded.body, self._field: known.written + new})

    def _plain(self, request: Request) -> Encoded | None:
        """A request as it is written alone, where nothing had to be changed for it."""
        try:
            encoded = self._encode(request)
        except DefinitionError:
            return None
        said = () if encoded.tools is None else encoded.tools.report
        return encoded if encoded.report == said and isinstance(encoded.body.get(self._field), list) else None

    def _after_head(self, known: _Written, encoded: Encoded) -> list[Any] | None:
        """What is written after the head, where head and headers are as they were."""
        written, count = encoded.body[self._field], len(known.head)
        return written[count:] if written[:count] == known.head and encoded.headers == known.headers else None


def _as_bytes(messages: list[Any]) -> list[msgspec.Raw] | None:
    """Messages as JSON; `None` where one holds half a character, which is written in another way."""
    try:
        return [msgspec.Raw(msgspec.json.encode(one)) for one in messages]
    except UnicodeEncodeError:
        return None


def _continues(known: _Written, bare: Request, conversation: Conversation, cut: int) -> bool:
    return len(known.items) <= cut and known.bare == bare and all(map(is_, known.items, conversation))


def _cut(conversation: Conversation) -> int:
    """Where the turns begin that are written anew: before a turn of the model that something else stands before."""
    turns = 0
    for at in range(len(conversation) - 1, 0, -1):
        if conversation[at].role == "assistant" and conversation[at - 1].role != "assistant":
            turns += 1
            if turns == _LAST_TURNS:
                return at
    return 0


def _ids(items: Iterable[ConversationItem]) -> frozenset[str]:
    return frozenset(part.call.id for item in items for part in item.parts if isinstance(part, CallPart))
