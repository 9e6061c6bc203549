"""What a run begins with, and what else may be said of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from dragoman.errors import ConfigError
from dragoman.model import AnyChunk, AnyEvent, Conversation, Media, Message, Reply, user
from dragoman.tools import ProviderTool

from .approval import Answer

Prompt = str | Media | Message | Conversation | Sequence[str | Media]
"""What a run begins with: what the user says (text, pictures and other files), a message, or several messages."""


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


def as_conversation(prompt: Any) -> Conversation:
    """The messages of a `Prompt`. Raises `ConfigError` for what is none."""
    if isinstance(prompt, (str, Media)):
        return (user(prompt),) if prompt else ()
    said = _pieces(prompt)
    if said and all(isinstance(piece, (str, Media)) for piece in said):
        return (user(*said),)
    return _messages(said, "a prompt is text, Image, Document or Audio, a list of these, or messages")


def as_history(history: Any) -> Conversation:
    """The messages of a conversation so far. Raises `ConfigError` for what are none."""
    return _messages(_pieces(history), "the history is the `conversation` of a result, or a tuple of messages")


def _pieces(given: Any) -> tuple[Any, ...]:
    alone = isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable)
    return (given,) if alone else tuple(given)


def _messages(said: tuple[Any, ...], rule: str) -> Conversation:
    strangers = [item for item in said if not isinstance(item, (Message, Reply, str, Media))]
    for item in strangers or said:
        if not isinstance(item, (Message, Reply)):
            made = "; APIS[…].read_conversation makes messages of a provider's dicts" if isinstance(item, dict) else ""
            raise ConfigError(f"{rule}, not {type(item).__name__}{made}")
    return said
