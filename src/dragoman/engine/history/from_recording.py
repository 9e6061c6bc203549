"""The conversation a record of events tells of: what a run goes on from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dragoman.engine.loop import by_client, unanswered
from dragoman.model import Media, NativeCall, conversation as conv, events as ev
from dragoman.model.conversation import answered

from .shortening import summarised, without_results


def conversation_of(events: Iterable[ev.AnyEvent], *, stream: str = "main") -> conv.Conversation:
    """What was said in a run of ours, exactly: replies whole, results as the model was told them.

    Where agents started others, it is what was said with the first of them, or with the one whose `stream` is named.
    Calls that a provider ran are in the replies themselves. A call without a result stays open.
    """
    items: list[conv.ConversationItem] = []
    places: dict[str, int] = {}
    early: list[ev.ToolReturned] | None = None
    """Results of calls whose reply has not come to its end yet; `None` while no reply is awaited."""
    for event in events:
        if event.stream != stream:
            continue
        places[event.id] = len(items)
        if isinstance(event, ev.HistoryRewound):
            del items[places.get(event.to or "", 0) :]
        elif isinstance(event, ev.ContextCompacted):
            shorter = without_results(tuple(items), event.removed or 0)
            items = [*(shorter if event.summary is None else summarised(shorter, event.summary))]
        elif isinstance(event, ev.SystemSaid):
            items.append(conv.system(event.text))
        elif isinstance(event, ev.UserSaid):
            if event.by == "client" and items and isinstance(items[-1], conv.Reply) and items[-1].is_empty:
                items.pop()  # an empty reply was not sent back with the request to try again
            content: list[str | Media] = [event.text] if event.text else []
            said = by_client if event.by == "client" else conv.user
            items.append(said(*content, *event.media))
        elif isinstance(event, ev.SessionStarted):
            early = None
        elif isinstance(event, ev.ModelAsked):
            early = []
        elif isinstance(event, ev.ModelFinished) and event.reply is not None:
            items.append(event.reply)
            for returned in early or ():
                _answer(items, returned)
            early = None
        elif isinstance(event, ev.ToolReturned):
            if early is None:
                _answer(items, event)
            else:
                early.append(event)
    return tuple(items)


def open_calls(events: Iterable[ev.AnyEvent], *, stream: str = "main") -> tuple[NativeCall, ...]:
    """The calls of a run of ours that have no result yet."""
    return unanswered(conversation_of(events, stream=stream))


def open_calls_of_all(events: Sequence[ev.AnyEvent]) -> tuple[NativeCall, ...]:
    """The same, of the first agent and of every one below it that has not ended."""
    ended = {event.agent for event in events if isinstance(event, ev.AgentEnded)}
    started = [event.agent for event in events if isinstance(event, ev.AgentStarted)]
    streams = ["main", *(one for one in dict.fromkeys(started) if one not in ended)]
    return tuple(call for stream in streams for call in open_calls(events, stream=stream))


def _answer(items: list[conv.ConversationItem], event: ev.ToolReturned) -> None:
    native = event.result.native
    if native is not None and native.executed_by != "provider" and items:
        items[:] = answered(tuple(items), conv.Message("tool", (conv.ResultPart(native),)))
