"""Sub-agents of a session: their conversations, and the calls of a ported session that they hang under.

Rule: an agent is written only under a call of the new session that starts an agent. Its id there is one that the writer
made, and the conversation names it by that id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from dragoman.dialects import Dialect
from dragoman.logs.history.sessions import key_of, sessions_of
from dragoman.model import (
    AnyEvent,
    AnyPart,
    Call,
    CallPart,
    Conversation,
    NativeCall,
    NativeResult,
    ResultPart,
    Session,
    operations as op,
    outcomes as out,
)

from .conversation import legal_id


class SubAgent(msgspec.Struct, frozen=True):
    """The conversation of an agent that a call of a session started."""

    id: str
    """Its id in the log that it was read from."""
    call_id: str | None
    """The call that started it, if that is known."""
    conversation: Conversation
    below: int = 0
    """How many agents it started itself, or they did."""


ReadStream = Callable[[list[AnyEvent], str], Conversation]
"""Reads the conversation in one stream of a session's events."""


def sub_agents(events: Iterable[AnyEvent], session: str | None, read: ReadStream) -> tuple[SubAgent, ...]:
    """The agents that a session started, in the order of their start. `events` may be those of several sessions."""
    events = list(events)
    found: list[SubAgent] = []
    for root in sessions_of(events):
        if root.stream == "main" and session in (None, root.id):
            found += [_read(child, events, read) for child in root.children]
    return tuple(one for one in found if one.conversation)


def _read(child: Session, events: Sequence[AnyEvent], read: ReadStream) -> SubAgent:
    key = (child.id, child.stream)
    said = read([event for event in events if key_of(event) == key], child.stream)
    call = None if child.parent_call is None else legal_id(child.parent_call)
    return SubAgent(child.id if child.stream == "main" else child.stream, call, said, _count(child))


def _count(session: Session) -> int:
    return sum(1 + _count(child) for child in session.children)


def starting_calls(conversation: Conversation, dialect: Dialect) -> dict[str, NativeCall]:
    """The calls that start agents, by id."""
    calls = (part.call for item in conversation for part in item.parts if isinstance(part, CallPart))
    return {
        call.id: call
        for call in calls
        if any(isinstance(one, op.SpawnAgent) and not one.continues for one in dialect.read_call(call).operations)
    }


def renamed(conversation: Conversation, dialect: Dialect, ids: Mapping[str, str]) -> Conversation:
    """A conversation in the words of `dialect`, with its agents under other ids."""
    if all(old == new for old, new in ids.items()):
        return conversation
    calls: dict[str, Call] = {}
    items = []
    for item in conversation:
        parts = tuple(new for part in item.parts for new in _renamed(part, dialect, ids, calls))
        items.append(item if parts == item.parts else msgspec.structs.replace(item, parts=parts))
    return tuple(items)


def _renamed(part: AnyPart, dialect: Dialect, ids: Mapping[str, str], calls: dict[str, Call]) -> Iterator[AnyPart]:
    match part:
        case CallPart(native):
            call = calls[native.id] = dialect.read_call(native)
            meant = tuple(_operation(one, ids) for one in call.operations)
            if meant != call.operations and len(meant) == 1:
                (new,) = dialect.write_call(native.id, meant[0])
                calls[native.id] = dialect.read_call(new)
                yield CallPart(new)
                return
        case ResultPart(native) if native.call_id in calls:
            yield ResultPart(_result(native, calls[native.call_id], dialect, ids))
            return
    yield part


def _result(native: NativeResult, call: Call, dialect: Dialect, ids: Mapping[str, str]) -> NativeResult:
    outcomes = dialect.read_result(call, native).outcomes
    new = tuple(_outcome(one, ids) for one in outcomes)
    return native if new == outcomes else dialect.write_result(call, new)


def _operation(meant: op.Operation, ids: Mapping[str, str]) -> op.Operation:
    match meant:
        case op.SpawnAgent(continues=str(id)) if id in ids:
            return msgspec.structs.replace(meant, continues=ids[id])
        case op.MessageAgent(to=id) if id in ids:
            return msgspec.structs.replace(meant, to=ids[id])
        case op.StopAgent(agent=id) | op.ResumeAgent(agent=id) if id in ids:
            return msgspec.structs.replace(meant, agent=ids[id])
        case op.WaitForAgent(agents=agents):
            return msgspec.structs.replace(meant, agents=tuple(ids.get(one, one) for one in agents))
    return meant


def _outcome(outcome: out.Outcome, ids: Mapping[str, str]) -> out.Outcome:
    if not isinstance(outcome, out.AgentsOutcome):
        return outcome
    reports = tuple(
        one if one.id is None else msgspec.structs.replace(one, id=ids.get(one.id, one.id)) for one in outcome.agents
    )
    return msgspec.structs.replace(outcome, agents=reports)
