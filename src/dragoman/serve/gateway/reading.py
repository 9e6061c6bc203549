"""Requests as clients send them, read. What an earlier request of the same conversation had is not read again.

The messages of a request are told apart without being decoded, and compared with those of earlier requests byte by
byte. Only those that are new are decoded and read; the others are the very objects that they were, so that all that
follows can tell by identity what is new.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from dragoman.apis import Api, MessageReader
from dragoman.bounded import remember
from dragoman.errors import EngineError
from dragoman.model import Conversation, Definition, Request
from dragoman.model.token_estimate import estimated_tokens

from .beginnings import LAST, Beginnings

_TOOLSETS: Final = 64
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_NO_JSON: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


_ESCAPES: Final = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u([dD][89a-fA-F]..)|.)", re.DOTALL)
"""Escapes in JSON, pairs of surrogates among them; the group is half of one."""


def _whole_character(escape: re.Match[bytes]) -> bytes:
    """U+FFFD for half a character: clients in JavaScript cut texts within one, and then send it with every request."""
    return escape[0] if escape[1] is None else rb"\ufffd"


class _Messages:
    """Steps through the messages of a request: they are read, and the tokens of those that are settled are counted."""

    is_settled = True

    def __init__(self, reader: MessageReader) -> None:
        self.reader = reader
        self.are_read = True
        self._counted, self._tokens = 0, 0

    def expect(self, items: Sequence[Any]) -> None:
        pass

    def take(self, item: msgspec.Raw) -> None:
        self.are_read = self.are_read and self.reader.take(msgspec.json.decode(item))

    def fork(self) -> _Messages:
        self._count(self.reader.messages[:-1])  # the last one may still change
        new = _Messages(self.reader.fork())
        new.are_read, new._counted, new._tokens = self.are_read, self._counted, self._tokens
        return new

    def tokens(self, conversation: Conversation) -> int:
        """About how many tokens a conversation has that ends with these messages."""
        leading = len(conversation) - len(self.reader.messages)
        rest = (*conversation[:leading], *conversation[leading + self._counted :])
        return self._tokens + estimated_tokens(rest)

    def _count(self, messages: Sequence[Any]) -> None:
        self._tokens += estimated_tokens(messages[self._counted :])
        self._counted = max(self._counted, len(messages))


class Reading:
    """Reads the requests of all clients."""

    def __init__(self) -> None:
        self._known = Beginnings[_Messages]()
        self._toolsets: dict[tuple[str, bytes], tuple[tuple[Definition, ...], int]] = {}
        """The API and the tools of a request as they were sent → these tools, and their tokens."""

    def read(self, codec: Api, data: bytes, model: str | None) -> tuple[Request, int]:
        """A request, and about how many tokens it has; `EngineError` for what is none.

        `model` is the one that the path named, for APIs that name it there.
        """
        try:
            try:
                return self._read(codec, data, model)
            except msgspec.DecodeError:
                whole = _ESCAPES.sub(_whole_character, data)
                if whole == data:
                    raise
                return self._read(codec, whole, model)
        except _NO_JSON as error:
            raise EngineError(f"the request is no JSON: {error}", status=400) from error

    def _read(self, codec: Api, data: bytes, model: str | None) -> tuple[Request, int]:
        if data.lstrip()[:1] != b"{":
            msgspec.json.decode(data)
            raise EngineError("the request is no JSON object", status=400)
        raw, field = _fields(data), codec.conversation_fields[-1]
        messages = _list(raw[field]) if field in raw and bytes(memoryview(raw[field])[:1]) == b"[" else None
        body = {name: msgspec.json.decode(value) for name, value in raw.items() if name != field or messages is None}
        steps = None if messages is None else self._messages(codec, body, messages, len(data), model)
        if steps is None or not steps.are_read:
            if messages is not None:
                body[field] = [msgspec.json.decode(one) for one in messages]
            request = codec.read_request(body, model=model)
            return request, estimated_tokens((*request.conversation, *request.definitions))
        request = codec.read_request(body, model=model, read=steps.reader)
        definitions, tokens = self._definitions(codec.name, request.definitions, raw.get("tools"))
        request = msgspec.structs.replace(request, definitions=definitions)
        return request, steps.tokens(request.conversation) + tokens

    def _messages(
        self, codec: Api, body: dict[str, Any], messages: list[msgspec.Raw], size: int, model: str | None
    ) -> _Messages:
        reader = codec.message_reader(body, model=model)
        key = (codec.name, reader.model)
        before, shared = self._known.closest(key, messages)
        known, steps = self._known.walked(key, messages, before, shared, lambda: _Messages(reader))
        is_continued = before is not None and len(before.items) - shared <= LAST
        self._known.remember(known, size, before if is_continued else None)
        return steps

    def _definitions(
        self, api: str, read: tuple[Definition, ...], raw: msgspec.Raw | None
    ) -> tuple[tuple[Definition, ...], int]:
        """The very tools of an earlier request with the same ones, and their tokens."""
        if raw is None:
            return read, estimated_tokens(read)
        key = (api, bytes(raw))
        found = self._toolsets.get(key)
        if found is None:
            found = (read, estimated_tokens(read))
            remember(self._toolsets, key, found, _TOOLSETS)
        return found
