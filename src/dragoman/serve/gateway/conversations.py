"""What models said, by the ids under which clients know their calls.

A client sends the whole conversation with every request, in its own words and without what only the model's maker can
read. So each reply with calls is kept as it came, signatures included, and takes the place of what the client sends
for it. The ids of calls that a client is given begin with the id of the conversation and of the reply, so a reply is
found again after a restart.

Rule: files are the user's alone (0600), one for a conversation. A reply goes back only to a model that speaks the words
it was made in; for any other, what the client sends for it is translated. Signatures go back only to the API and the
model that made them: that is the rule of `Api.encode`.
"""

from __future__ import annotations

import os
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from dragoman.apis import Lowering
from dragoman.model import CallPart, Conversation, Message, NativeResult, Reply

_BASE: Final = re.compile(r"call_([0-9a-f]{12})[0-9a-f]{8}(?=_)")
_REMEMBERED: Final = 4096


class KnownReply(msgspec.Struct, frozen=True):
    """A reply with calls, after what was said and answered before it without the client."""

    base: str
    items: tuple[Message | Reply, ...]
    lowering: Lowering = Lowering()
    """What undoes, on the calls, what was done to the schemas of the tools."""
    seen: frozenset[str] = frozenset()
    """The files the client had read or written when the reply came, which decides what it reads first."""
    answers: dict[str, NativeResult] = {}
    """The results of calls that the gateway made itself, by the ids that a client would know them by."""
    model: str | None = None
    """The model that made it, as the gateway names it."""
    vocabulary: str | None = None
    """The words of its calls (`Words.vocabulary`); `None` in a file of an older version, which did not say it."""

    @property
    def reply(self) -> Reply:
        """The reply whose calls the client is given."""
        last = self.items[-1]
        assert isinstance(last, Reply)
        return last


class Conversations:
    """All replies that are known. Without a `folder` nothing is written to disk."""

    def __init__(self, folder: Path | None, warn: Callable[[str], None] = lambda text: None) -> None:
        """`warn` gets a sentence when a reply cannot be written."""
        self._folder, self._warn = folder, warn
        self._kept: OrderedDict[str, KnownReply] = OrderedDict()
        self._loaded: set[str] = set()

    def new_base(self, name: str) -> str:
        """The beginning of the ids of a new reply's calls, in the conversation of this name."""
        return f"call_{name}{secrets.token_hex(4)}"

    def add(self, kept: KnownReply) -> None:
        """Keeps a reply."""
        self._remember(kept)
        if self._folder is None:
            return
        name = _BASE.match(f"{kept.base}_")
        assert name is not None
        path = self._folder / f"{name[1]}.jsonl"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
                file.write(msgspec.json.encode(kept) + b"\n")
        except OSError as error:  # it is in memory: only a restart loses it
            self._warn(f"cannot write {path}, which a restart of the gateway needs: {error.strerror or error}")

    def of(self, item: Message | Reply) -> KnownReply | None:
        """The reply that a client's message stands for; `None` when it did not come from here."""
        found = _found(item)
        if found is None:
            return None
        if found[0] not in self._kept:
            self._load(found[1])
        return self._kept.get(found[0])

    def _load(self, name: str) -> None:
        if self._folder is None or name in self._loaded:
            return
        self._loaded.add(name)
        try:
            lines = (self._folder / f"{name}.jsonl").read_bytes().splitlines()
        except OSError:
            return  # never kept, or removed by the user: the client's own words are used
        for line in lines:
            try:
                self._remember(_decoder.decode(line))
            except msgspec.DecodeError:
                continue  # a line that was cut off when the machine went down: the client's own words are used

    def _remember(self, kept: KnownReply) -> None:
        self._kept[kept.base] = kept
        while len(self._kept) > _REMEMBERED:
            oldest, _ = self._kept.popitem(last=False)
            found = _BASE.match(f"{oldest}_")
            if found is not None:
                self._loaded.discard(found[1])


_decoder = msgspec.json.Decoder(KnownReply)


def _found(item: Message | Reply) -> tuple[str, str] | None:
    """The base and the conversation in the id of a message's first call."""
    for part in item.parts:
        if isinstance(part, CallPart) and (found := _BASE.match(part.call.id)) is not None:
            return found[0], found[1]
    return None


def name_in(conversation: Conversation) -> str | None:
    """The name of a conversation as the ids of its last calls have it; `None` where none came from here."""
    return next((found[1] for item in reversed(conversation) if (found := _found(item)) is not None), None)


def base_of(call_id: str) -> str | None:
    """The beginning of a call's id, when it is one that was given here."""
    found = _BASE.match(call_id)
    return None if found is None else found[0]
