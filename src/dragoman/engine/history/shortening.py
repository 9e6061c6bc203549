"""Conversations that outgrow their model: old results are taken out first, then a summary stands for all of it.

Rules: a request that is known to be longer than the model takes is never sent. Whoever reads the record of a run sees
what was taken out and what stands for it, and a run that goes on from the record begins with the same conversation.

How long a request is nobody knows before it is sent. It is estimated from its bytes, and the estimate is corrected by
what the provider counted for the request before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from dragoman.errors import LimitReached
from dragoman.model import Definition, ExecutedBy, NativeResult, conversation as conv
from dragoman.model.token_estimate import content_tokens, estimated_tokens

SUMMARISE: Final = (
    "Summarise our conversation so far for yourself: it will be all you have. Keep the task and its constraints, what "
    "was decided and why, what was done, the files that matter with the facts you need about them, and what is left to "
    "do. Do not call any tool. Answer with the summary only."
)
SUMMARISED: Final = "This is a summary of our conversation so far; the messages themselves were removed.\n\n{summary}"
TAKEN_OUT: Final = "[This result was removed to make room. Call the tool again if you need it.]"

_ANSWER: Final = 8_192
"""Tokens left for the answer where the request does not say how many it may have."""
_FULL, _ROOMY = 0.95, 0.6
"""Share of the room above which a conversation is shortened, and the share it is brought down to."""
_PLAUSIBLE: Final = 0.4
"""Tokens for one that was estimated, that is 7.5 bytes for each: text has fewer. Servers that count less leave out what
they had in their cache, or count nothing."""
_RECENT: Final = 2
"""Messages with results that are kept whole: the model is working on them."""


class Room:
    """How much of a model's context a conversation takes. `window` is `None` where it is not known."""

    def __init__(self, window: int | None, answer: int | None) -> None:
        self.window = window
        self._answer = answer
        self._ratio = 1.0
        """Tokens the provider counts for one that was estimated."""
        self._known: dict[int, tuple[Any, int]] = {}
        """What was estimated already, by identity: a conversation grows at its end, and a toolset stays."""

    @property
    def most(self) -> int | None:
        """The tokens a request may have."""
        if self.window is None:
            return None
        answer = min(_ANSWER, self.window // 4) if self._answer is None else self._answer
        return max(1, self.window - answer)

    def tokens(self, conversation: conv.Conversation, definitions: Sequence[Definition]) -> int:
        """About how many tokens a request has."""
        return int(self._estimated(conversation, definitions) * self._ratio)

    def learn(self, conversation: conv.Conversation, definitions: Sequence[Definition], reply: conv.Reply) -> None:
        """Corrects the estimate by what the provider counted, unless so little that it cannot be all of it."""
        usage = reply.usage
        if usage.input_tokens is None:
            return
        counted = usage.input_tokens + (usage.cached_read_tokens or 0) + (usage.cached_write_tokens or 0)
        guessed = self._estimated(conversation, definitions)
        if guessed > 0 and counted / guessed >= _PLAUSIBLE:
            self._ratio = counted / guessed

    def learn_from(self, conversation: conv.Conversation, definitions: Sequence[Definition]) -> None:
        """The same from a conversation that an earlier run led."""
        for at in reversed(range(len(conversation))):
            reply = conversation[at]
            if isinstance(reply, conv.Reply) and reply.usage.input_tokens is not None:
                self.learn(conversation[:at], definitions, reply)
                return

    def _estimated(self, conversation: conv.Conversation, definitions: Sequence[Definition]) -> int:
        total = 0
        for one in (*conversation, *definitions):
            known = self._known.get(id(one))
            if known is None:
                known = self._known[id(one)] = (one, estimated_tokens((one,)))
            total += known[1]
        return total

    def is_full(self, tokens: int) -> bool:
        """Whether a request of so many tokens leaves the model too little room."""
        return self.most is not None and tokens > self.most * _FULL

    def was_refused(self, tokens: int) -> None:
        """The provider takes fewer tokens than was thought, or counts more of them."""
        most = self.most
        if most is None:
            self.window = tokens  # at the most: so much was too much
        elif tokens <= most:
            self._ratio *= 1.1 * most / max(1, tokens)

    def is_roomy(self, tokens: int) -> bool:
        """Whether a request of so many tokens leaves room for several more rounds."""
        return self.most is None or tokens <= self.most * _ROOMY

    def too_small(self) -> LimitReached:
        """What ends a run whose conversation cannot be made short enough."""
        advice = "use a model with a larger context, or give it a smaller task"
        reason = "the conversation is longer than the model takes"
        return LimitReached("context", self.window or 0, advice, reason=reason)


# ── shorter ──────────────────────────────────────────────────────────────────


def old_results(conversation: conv.Conversation) -> int:
    """How many results there are before the last messages that hold some: those the model is not working on."""
    counts = [sum(isinstance(part, conv.ResultPart) for part in item.parts) for item in conversation]
    return sum([count for count in counts if count][:-_RECENT])


def without_results(conversation: conv.Conversation, first: int) -> conv.Conversation:
    """The conversation with a note in place of its first results, those of them that are longer than the note."""
    left = first
    shorter: list[conv.ConversationItem] = []
    for item in conversation:
        parts = list(item.parts)
        for at, part in enumerate(parts):
            if isinstance(part, conv.ResultPart) and left > 0:
                left -= 1
                if _may_go(part.result):
                    result = msgspec.structs.replace(part.result, content=TAKEN_OUT, item=None)
                    parts[at] = msgspec.structs.replace(part, result=result)
        shorter.append(item if tuple(parts) == item.parts else msgspec.structs.replace(item, parts=tuple(parts)))
    return tuple(shorter)


def _may_go(result: NativeResult) -> bool:
    return result.executed_by is ExecutedBy.CLIENT and content_tokens(result.content) > 2 * content_tokens(TAKEN_OUT)


def summarised(conversation: conv.Conversation, summary: str) -> conv.Conversation:
    """What is left of a conversation once a summary stands for it: the instructions, and the summary."""
    instructions = tuple(item for item in conversation if item.role in ("system", "developer"))
    return (*instructions, conv.user(SUMMARISED.format(summary=summary)))


def ending(conversation: conv.Conversation, definitions: Sequence[Definition], room: Room) -> conv.Conversation:
    """The instructions and as much of the end of a conversation as a model can read at once."""
    instructions = tuple(item for item in conversation if item.role in ("system", "developer"))
    rest = [item for item in conversation if item.role not in ("system", "developer")]
    while len(rest) > 1 and room.is_full(room.tokens((*instructions, *rest), definitions)):
        del rest[0]
        while len(rest) > 1 and rest[0].role != "user":  # a conversation begins with what the user says
            del rest[0]
    return (*instructions, *rest)
