"""The conversation a record of events tells of: what a run goes on from."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman.engine.loop import unanswered
from dragoman.model import (
    AnyEvent,
    ContextCompacted,
    Conversation,
    ConversationItem,
    HistoryRewound,
    Media,
    Message,
    ModelAsked,
    ModelFinished,
    NativeCall,
    Reply,
    ResultPart,
    SessionStarted,
    SystemSaid,
    ToolReturned,
    UserSaid,
    system,
    user,
)
from dragoman.model.conversation import answered

from .shortening import summarised, without_results


def conversation_of(events: Iterable[AnyEvent]) -> Conversation:
    """What was said in a run of ours, exactly: replies whole, results as the model was told them.

    Where agents started others, it is what was said with the first of them. Calls that a provider ran are in the
    replies themselves. A call without a result stays open.
    """
    items: list[ConversationItem] = []
    places: dict[str, int] = {}
    early: list[ToolReturned] | None = None
    """Results of calls whose reply has not come to its end yet; `None` while no reply is awaited."""
    for event in events:
        if event.stream != "main":
            continue
        places[event.id] = len(items)
        if isinstance(event, HistoryRewound):
            del items[places.get(event.to or "", 0) :]
        elif isinstance(event, ContextCompacted):
            shorter = without_results(tuple(items), event.removed or 0)
            items = [*(shorter if event.summary is None else summarised(shorter, event.summary))]
        elif isinstance(event, SystemSaid):
            items.append(system(event.text))
        elif isinstance(event, UserSaid):
            if event.by == "client" and items and isinstance(items[-1], Reply) and items[-1].is_empty:
                items.pop()  # an empty reply was not sent back with the request to try again
            content: list[str | Media] = [event.text] if event.text else []
            items.append(user(*content, *event.media))
        elif isinstance(event, SessionStarted):
            early = None
        elif isinstance(event, ModelAsked):
            early = []
        elif isinstance(event, ModelFinished) and event.reply is not None:
            items.append(event.reply)
            for returned in early or ():
                _answer(items, returned)
            early = None
        elif isinstance(event, ToolReturned):
            if early is None:
                _answer(items, event)
            else:
                early.append(event)
    return tuple(items)


def open_calls(events: Iterable[AnyEvent]) -> tuple[NativeCall, ...]:
    """The calls of a run of ours that have no result yet."""
    return unanswered(conversation_of(events))


def _answer(items: list[ConversationItem], event: ToolReturned) -> None:
    native = event.result.native
    if native is not None and native.executed_by != "provider" and items:
        items[:] = answered(tuple(items), Message("tool", (ResultPart(native),)))
