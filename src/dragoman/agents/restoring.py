"""A tree of agents made again from its record, so that it goes on as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from dragoman.errors import ConfigError, ToolError
from dragoman.model import operations as op

from .agent import Agent
from .agent_tool import Starter, agent_for, check_of, custom_agent
from .recorded import Recorded, Started
from .tree import Live, Status

_LOST: Final = "what had started it was interrupted"


class Forest(Starter, Protocol):
    """The kernel as the one who makes its tree again."""

    def readmit(self, live: Live) -> None: ...


def restore(kernel: Forest, root: Live, record: Recorded, words: str) -> list[Live]:
    """Makes the tree below `root` what the record says it was; gives those that have not ended and are to go on.

    `words` are said to the first agent.
    """
    lives = {root.stream: root}
    earlier = record.earlier(root.stream, root.id)
    if earlier is not None:
        root.remember(earlier)
        root.inbox += [words] if words and earlier.has_task else []
    left: list[Live] = []
    for one in record.started():
        parent = lives[one.event.stream]
        again = _started_again(kernel, parent, one)
        before = again.resumes
        live = Live(one.event.agent, again.agent, one.event.prompt or "", parent, again.agent.limits, lent=again.lent)
        live.check, live.repairs = again.check, again.repairs
        if before is not None:
            live.conversation, live.model, before.resumed = before.conversation, before.model, live
        kernel.readmit(live)
        lives[live.stream] = live
        earlier = record.earlier(live.stream, live.id, live.conversation)
        if earlier is not None:
            live.remember(earlier)
        call_id = one.event.call_id or ""
        if parent.earlier is not None and call_id in {call.id for call in parent.earlier.open_calls}:
            parent.attached[call_id] = live
        if one.reported:
            parent.heard_of.add(live.id)
        if one.ended is not None or not again.known:
            _end(live, one)
        else:
            left.append(live)
    for stream, to, message in record.messages():
        sender = lives[stream]
        target = lives.get(to, root if to == root.id else None) if to else sender.parent
        told = f"Agent {sender.agent.name} ({sender.id}) says: {message}"
        if target is not None and target.ended is None and not record.has_read(target.stream, told):
            target.tell(told)
    return left


def _end(live: Live, started: Started) -> None:
    """Makes it one that has ended, as its record says; one that nobody can continue was cancelled."""
    ended = started.ended
    status: Status = "cancelled" if ended is None else "failed" if ended.status == "unknown" else ended.status
    said = _LOST if ended is None else ended.text
    live.text = said or "" if status == "completed" else live.text
    live.end(status, None if status == "completed" else said)
    live.finished.set()


class _Again(NamedTuple):
    """An agent as a recorded call had started it. `known`: it is one that can go on."""

    agent: Agent
    lent: bool = True
    check: Callable[[str], list[str]] | None = None
    repairs: int = 0
    resumes: Live | None = None
    known: bool = True


def _started_again(kernel: Starter, live: Live, started: Started) -> _Again:
    """The agent that a call of this one had started, found in the way the call found it.

    One that has not ended must still be there: what is missing is said.
    """
    name = started.event.name or started.event.agent
    operation = started.call.operations[0] if started.call is not None and started.call.operations else None
    if isinstance(operation, op.ResumeAgent | op.MessageAgent):
        wanted = operation.agent if isinstance(operation, op.ResumeAgent) else operation.to
        before = kernel.live(wanted) or next((one for one in live.children[::-1] if one.agent.name == wanted), None)
        if before is not None:
            return _Again(before.agent, before.lent, resumes=before)
    if isinstance(operation, op.SpawnAgent):
        try:
            return _Again(*agent_for(kernel, live, operation))
        except ToolError as error:
            if started.ended is None:
                raise ConfigError(f"the run cannot go on without its agent {name}: {error.message}") from error
    if isinstance(operation, op.CallFunction):
        tool = next((one for one in live.agent.custom_tools if one.name == operation.name), None)
        if tool is not None:
            return _Again(custom_agent(live, tool), check=check_of(tool), repairs=tool.repairs)
    return _Again(Agent(name=name), known=False)
