"""How a run ended, what it said and what it used."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Generic, Literal

import msgspec

from dragoman.errors import DragomanError
from dragoman.model import (
    Call,
    Citation,
    Conversation,
    Failure,
    FinishReason,
    Media,
    MediaPart,
    Reply,
    ResultPart,
    Usage,
)

from .executor import Metrics
from .offer import Note
from .spending import Charged, cost_of
from .typed_output import OutputT

if TYPE_CHECKING:
    from dragoman.config import Price

    from .task_guard import TaskReport

Status = Literal["completed", "limited", "waiting", "failed", "stopped"]


class RunResult(msgspec.Struct, Generic[OutputT], frozen=True):
    """How a run ended. `status`: the model was done; a limit was reached; calls wait for an answer; a tool's failure
    ended it (`on_error="abort"`), or the guard found that the task was not done; it was stopped between two rounds."""

    id: str
    status: Status
    text: str
    conversation: Conversation
    reply: Reply | None
    usage: Usage
    rounds: int
    waiting: tuple[Call, ...] = ()
    error: DragomanError | Failure | None = None
    metrics: Mapping[str, Metrics] = {}
    notes: tuple[Note, ...] = ()
    charged: tuple[Charged, ...] = ()
    """The model and the tokens of each exchange."""
    prices: tuple[Price, ...] = ()
    """Prices of the caller's own."""
    output: OutputT | None = None
    """The typed answer, where `Orchestrator(output=…)` asked for one; `None` unless the run is completed."""
    report: TaskReport | None = None
    """What was changed and run, where a guard watched the run (`Orchestrator(guard=True)`)."""

    def __repr__(self) -> str:
        shown = [f"status={self.status!r}", f"text={reprlib.repr(self.text)}"]
        shown += [] if self.output is None else [f"output={reprlib.repr(self.output)}"]
        shown += [] if self.error is None else [f"error={reprlib.repr(self.error)}"]
        shown += [f"waiting={len(self.waiting)}"] if self.waiting else []
        return f"RunResult({', '.join(shown)}, rounds={self.rounds}, usage={self.usage!r})"

    def followed_by(self, later: RunResult[OutputT]) -> RunResult[OutputT]:
        """Both results as one: how the later one ended, and what both used."""
        return msgspec.structs.replace(
            later,
            text=later.text or self.text,
            usage=self.usage + later.usage,
            rounds=self.rounds + later.rounds,
            charged=(*self.charged, *later.charged),
        )

    @property
    def cost(self) -> float | None:
        """What the run cost in US dollars, or `None` when a price or a count is not known."""
        return cost_of(self.charged, self.prices)

    @property
    def saved(self) -> float | None:
        """How much the provider's prompt cache saved, in US dollars; `None` if unknown."""
        from dragoman.prices import saved

        amounts = [saved(model, usage, own=self.prices) for model, usage in self.charged]
        return None if None in amounts else float(sum(amount for amount in amounts if amount is not None))

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The sources of the last reply, their spans counted within `text`."""
        return () if self.reply is None else self.reply.citations

    @property
    def media(self) -> tuple[Media, ...]:
        """The pictures, sounds and files that the model made in this run, itself or with a tool of its provider."""
        replies = [message for message in self.conversation if isinstance(message, Reply)]
        made: list[Media] = []
        for reply in replies[-self.rounds :] if self.rounds else ():
            for part in reply.parts:
                if isinstance(part, MediaPart):
                    made.append(part.media)
                elif isinstance(part, ResultPart) and not isinstance(part.result.content, str):
                    made += [piece for piece in part.result.content if isinstance(piece, Media)]
        return tuple(made)

    @property
    def finish(self) -> FinishReason | None:
        """Why the model stopped in the last reply."""
        return None if self.reply is None else self.reply.finish
