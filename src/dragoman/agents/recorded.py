"""What the record of a tree of agents says: who had started whom, how each ended, and what each was doing.

Rule: an agent that had ended, has ended. Any other goes on from its own conversation. What it had begun and of whose
end nothing is told is unknown, except the calls by which it started others: these are still there, and it has them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from dragoman.engine import Answer
from dragoman.engine.history import conversation_of, open_calls
from dragoman.model import (
    AgentsOutcome,
    Call,
    Conversation,
    Failure,
    FinishReason,
    NativeCall,
    Reply,
    Usage,
    events as ev,
    operations as op,
)

MAIN = "main"


class Earlier(msgspec.Struct, frozen=True):
    """What an activation did in an earlier process. `legs` are the runs it had begun, `charged` and `rounds` count."""

    conversation: Conversation
    events: tuple[ev.AnyEvent, ...]
    rounds: int
    charged: tuple[tuple[str, Usage], ...]
    legs: int

    @property
    def has_task(self) -> bool:
        """Whether it was given its task."""
        return any(isinstance(event, ev.UserSaid) for event in self.events)

    @property
    def is_at_rest(self) -> bool:
        """Whether its model has said all: it only waited for others, if for anything."""
        last = next(reversed(self.conversation), None)
        return isinstance(last, Reply) and last.finish is not FinishReason.PAUSED and not self.open_calls

    @property
    def open_calls(self) -> tuple[NativeCall, ...]:
        """Its calls that have no result yet."""
        return open_calls(self.events, stream=self.events[0].stream)

    @property
    def text(self) -> str:
        """The last it said."""
        return next((item.text for item in reversed(self.conversation) if isinstance(item, Reply)), "")

    def starting(self, custom_tools: Collection[str]) -> frozenset[str]:
        """Ids of its open calls that start an agent and do nothing else: what they started is in the record."""
        named = {event.call.id: event.call for event in self.events if isinstance(event, ev.ToolCalled)}
        return frozenset(
            call.id
            for call in self.open_calls
            if call.id in named
            and all(
                isinstance(one, op.SpawnAgent) or (isinstance(one, op.CallFunction) and one.name in custom_tools)
                for one in named[call.id].operations
            )
        )

    def allowed(self, calls: Collection[str]) -> dict[str, Answer]:
        """What was decided about these calls of its last reply when they were begun: they are not asked about again."""
        begun: dict[str, Answer] = {}
        for event in self.events:
            if isinstance(event, ev.ModelFinished):
                begun.clear()
            elif isinstance(event, ev.ToolCalled) and event.call.id in calls and event.decision is not None:
                digest = event.decision.arguments_digest
                if event.decision.verdict == "allowed" and digest is not None:
                    begun[digest] = Answer(allowed=True, by=event.decision.by, digest=digest)
        return begun


class Started(NamedTuple):
    """An agent that another one had started. `reported`: the one that started it knows how it ended."""

    event: ev.AgentStarted
    call: Call | None
    ended: ev.AgentEnded | None
    reported: bool


class Recorded:
    """The record of a tree. `anew`: what was used before does not count, since the user says something new."""

    def __init__(self, events: Sequence[ev.AnyEvent], *, anew: bool) -> None:
        self._events = tuple(events)
        self.count = len(self._events)
        self._counted_from = self.count if anew else _counted_from(self._events)

    @property
    def task(self) -> str:
        """What the first agent was given."""
        said = (one for one in self._events if isinstance(one, ev.UserSaid) and one.stream == MAIN)
        return next((one.text for one in said), "")

    def earlier(self, stream: str, id: str, history: Conversation = ()) -> Earlier | None:
        """What one activation did; `None` if it did nothing. `history` is what it had continued."""
        own = tuple(event for event in self._events if event.stream == stream)
        if not own:
            return None
        counted = [event for event in self._events[self._counted_from :] if event.stream == stream]
        charged = tuple((event.model or "", event.usage) for event in counted if isinstance(event, ev.TokensUsed))
        legs = [leg for event in own if (leg := _leg_of(event.id, id)) is not None]
        return Earlier(
            conversation=(*history, *conversation_of(own, stream=stream)),
            events=own,
            rounds=sum(isinstance(event, ev.ModelAsked) for event in counted),
            charged=charged,
            legs=max(legs, default=0) + 1,
        )

    def started(self) -> list[Started]:
        """Every agent that another one started, in order."""
        calls = {
            (event.stream, event.call_id): event.call for event in self._events if isinstance(event, ev.ToolCalled)
        }
        ended = {event.agent: place for place, event in enumerate(self._events) if isinstance(event, ev.AgentEnded)}
        found: list[Started] = []
        for event in self._events:
            if isinstance(event, ev.AgentStarted):
                place = ended.get(event.agent)
                end = None if place is None else self._events[place]
                assert end is None or isinstance(end, ev.AgentEnded)
                reported = place is not None and self._reported(event, self._events[place:])
                found.append(Started(event, calls.get((event.stream, event.call_id)), end, reported))
        return found

    def _reported(self, started: ev.AgentStarted, after: Sequence[ev.AnyEvent]) -> bool:
        """Whether the agent that had started another was told of its end: by a result, or in words."""
        for event in after:
            if event.stream != started.stream:
                continue
            if isinstance(event, ev.ToolReturned) and (
                event.result.call_id == started.call_id or started.agent in _reported(event)
            ):
                return True
            if isinstance(event, ev.UserSaid) and f"({started.agent})" in event.text:
                return True
        return False

    def messages(self) -> list[tuple[str, str, str]]:
        """What agents told one another: the stream of who did, of whom (empty: the one above), and the words."""
        calls = {
            (event.stream, event.call_id): event.call for event in self._events if isinstance(event, ev.ToolCalled)
        }
        found: list[tuple[str, str, str]] = []
        for event in self._events:
            call = calls.get((event.stream, event.call_id)) if isinstance(event, ev.ToolReturned) else None
            if call is None or not isinstance(event, ev.ToolReturned):
                continue
            for operation, outcome in zip(call.operations, event.result.outcomes, strict=False):
                if isinstance(operation, op.SignalParent) and not isinstance(outcome, Failure):
                    found.append((event.stream, "", operation.message))
                elif isinstance(operation, op.MessageAgent) and isinstance(outcome, AgentsOutcome) and outcome.agents:
                    found.append((event.stream, outcome.agents[0].id or "", operation.message))
        return found

    def has_read(self, stream: str, words: str) -> bool:
        """Whether an agent was given these words of another one."""
        for event in self._events:
            if event.stream == stream:
                if isinstance(event, ev.UserSaid) and words in event.text:
                    return True
                if isinstance(event, ev.ToolReturned) and words in _reported(event).values():
                    return True
        return False


def _leg_of(event: str, activation: str) -> int | None:
    """The run of an activation that an event is of, by its id: `RUN-ACTIVATION.LEG-NUMBER`."""
    whose, _, leg = event.rpartition("-")[0].rpartition(".")
    return int(leg) if whose.endswith(f"-{activation}") and leg.isdecimal() else None


def _reported(event: ev.ToolReturned) -> dict[str, str | None]:
    """The agents that a result is about, and what it says of each."""
    reports = [one for outcome in event.result.outcomes if isinstance(outcome, AgentsOutcome) for one in outcome.agents]
    return {one.id or f"words {number}": one.text for number, one in enumerate(reports)}


def _counted_from(events: Sequence[ev.AnyEvent]) -> int:
    """Where the counting of what was used begins: to continue after a limit is a decision to go on."""
    found = 0
    for place, event in enumerate(events):
        if event.stream == MAIN and (
            (isinstance(event, ev.UserSaid) and event.by == "user")
            or (isinstance(event, ev.SessionEnded) and event.reason == "limited")
        ):
            found = place
    return found
