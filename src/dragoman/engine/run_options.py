"""What may be said of one run, beside its prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

from dragoman.model import AnyChunk, AnyEvent, Conversation, Message
from dragoman.tools import ProviderTool

from .approval import Answer

Prompt = str | Message | Conversation
"""What a run begins with: a text of the user, a message, or several messages."""


class RunOptions(TypedDict, total=False):
    """The options of one run, for `run`, `run_sync`, `stream`, `start`, `resume` and `prepare` of an `Orchestrator`."""

    history: Conversation
    """The conversation so far, of any model: the prompt comes after it."""
    provider_tools: Sequence[ProviderTool]
    """Tools that the provider runs, offered in this run beside those of the toolset."""
    answers: Mapping[str, Answer] | None
    """Call id → what was decided about a call that waited."""
    observe: Callable[[AnyChunk], None] | None
    """Gets every chunk of a reply as it comes; the replies are streamed then."""
    emit: Callable[[AnyEvent], None] | None
    """Gets every event of this run, beside the `emit` of the `Orchestrator`."""
    run_id: str | None
    """The id of the run in its events; a new one is made by default."""
    stream: bool
    """Whether replies are streamed; `Orchestrator.stream` always streams."""


RUN_OPTIONS = frozenset(RunOptions.__annotations__)
