"""Other agents: the first generation, known by ids, and the second, known by names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.dialects.base.conversions import SOME
from dragoman.dialects.base.spelling import Conversion, Spelling, means, native_only
from dragoman.dialects.base.words import in_json, one_of
from dragoman.model import operations as op, outcomes as out

from .commands import NUMBER
from .families import UNKNOWN
from .results import agent_report, agents_in_json, one_agent, status_of

FORK = Conversion(
    to=lambda fork: None if fork is None else "all" if fork else "none",
    back=lambda history: {"all": True, "none": False}.get(history),
)
SPAWNED = {
    "description": "an agent is given its task and nothing beside it",
    "system_prompt": "agents have the client's own instructions",
    "background": "agents always run beside the one that started them",
    "isolation": "agents share one workspace",
    "cwd": "agents share one folder",
    "tools": "agents have the tools of the one that started them",
    "max_turns": "agents end when they are done",
    "continues": "an earlier agent is resumed or sent a message",
    "command": "agents are started by a task",
}
ITEMS = "pictures and mentions have no place in a prompt"


def _spoken(message: str | None, items: Sequence[Mapping[str, Any]] | None) -> str:
    texts = [str(item["text"]) for item in items or () if isinstance(item.get("text"), str)]
    if message is None and not texts:
        raise ValueError("there is nothing to say; give a message")
    return message if message is not None else "\n".join(texts)


def _running(outcome: out.AgentsOutcome) -> out.AgentReport | None:
    one = outcome.agents[0] if len(outcome.agents) == 1 else None
    return one if one is not None and one.status == "running" else None


def _started(_asked: op.Operation, said: Any) -> out.AgentsOutcome | None:
    match said:
        case {"agent_id": str(id) | (None as id), **rest}:
            name = rest.get("nickname")
            return out.AgentsOutcome((out.AgentReport(id, "running", name=name if isinstance(name, str) else None),))
    return None


class SpawnAgent(Spelling[op.SpawnAgent]):
    """Give a task to another agent, which works on it meanwhile."""

    native_name, namespace = "spawn_agent", "multi_agent_v1"
    since, families = "0.133.0", UNKNOWN
    unsaid = SPAWNED
    approximated = {
        "agent": "kinds of agents are no longer told apart",
        "history": "the whole conversation is passed on, or nothing of it",
    }

    message: str | None = means("prompt", "Description of the task.", default=None)
    items: tuple[dict[str, Any], ...] | None = native_only(ITEMS)
    agent_type: str | None = means("agent", "Kind of agent.", default=None, until="0.133.0")
    fork_context: bool | None = means("history", "Whether it is given this conversation.", default=None, convert=FORK)
    model: str | None = means("model", "Model to use.", default=None)
    reasoning_effort: str | None = means("effort", "How hard it is to think.", default=None)
    service_tier: str | None = native_only("how a provider is paid is no part of a task", until="0.151.0")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (
            op.SpawnAgent(
                _spoken(self.message, self.items),
                self.agent_type,
                model=self.model,
                effort=self.reasoning_effort,
                history=FORK.to(self.fork_context),
            ),
        )

    @classmethod
    def from_operation(cls, operation: op.SpawnAgent) -> SpawnAgent:
        return cls(
            message=operation.prompt,
            agent_type=operation.agent,
            fork_context=FORK.back(operation.history),
            model=operation.model,
            reasoning_effort=operation.effort,
        )

    results = agents_in_json(
        _started,
        lambda _asked, outcome: {"agent_id": one.id, "nickname": one.name} if (one := _running(outcome)) else None,
        "its type",
        "its task",
    )


class Submitted(msgspec.Struct, frozen=True):
    """How a message is answered."""

    submission_id: str


SUBMITTED = one_of(
    formerly=(
        in_json(
            out.DoneOutcome,
            Submitted,
            to=lambda _asked, said: out.DoneOutcome(said.submission_id),
            back=lambda _asked, _outcome: None,
        ),
    )
)


class SendInput(Spelling[op.MessageAgent]):
    """Send a message to an agent."""

    native_name, namespace = "send_input", "multi_agent_v1"
    since, families = "0.133.0", UNKNOWN

    target: str = means("to", "Id of the agent.")
    message: str | None = means("message", "What to say.", default=None)
    items: tuple[dict[str, Any], ...] | None = native_only(ITEMS)
    interrupt: bool = means("interrupt", "Whether it is to stop what it is doing.", default=False)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.MessageAgent(self.target, _spoken(self.message, self.items), interrupt=self.interrupt),)

    @classmethod
    def from_operation(cls, operation: op.MessageAgent) -> SendInput:
        return cls(target=operation.to, message=operation.message, interrupt=operation.interrupt)

    results = SUBMITTED


def _waited(_asked: op.Operation, said: Any) -> out.AgentsOutcome | None:
    match said:
        case {"status": dict(statuses), **rest}:
            reports = tuple(agent_report(id, status) for id, status in statuses.items())
            return out.AgentsOutcome(reports, timed_out=rest.get("timed_out") is True)
    return None


def _statuses(_asked: op.Operation, outcome: out.AgentsOutcome) -> Any:
    if any(report.id is None for report in outcome.agents):
        return None
    return {"status": {one.id: status_of(one) for one in outcome.agents}, "timed_out": outcome.timed_out}


WAITED = agents_in_json(_waited, _statuses, "its name", "its type", "its task")


class WaitAgent(Spelling[op.WaitForAgent]):
    """Wait until one of these agents is done, and return its answer."""

    native_name, namespace = "wait_agent", "multi_agent_v1"
    since, families = "0.133.0", UNKNOWN

    targets: tuple[str, ...] = means("agents", "The agents.", convert=SOME)
    timeout_ms: int | None = means("timeout_ms", "How long to wait, in milliseconds.", default=None, schema=NUMBER)

    results = WAITED


class ResumeAgent(Spelling[op.ResumeAgent]):
    """Open a closed agent again."""

    native_name, namespace = "resume_agent", "multi_agent_v1"
    since, families = "0.133.0", UNKNOWN

    id: str = means("agent", "Id of the agent.")

    results = one_agent("status")


STOPPED = one_agent("previous_status")


class CloseAgent(Spelling[op.StopAgent]):
    """Close an agent that is no longer needed."""

    native_name, namespace = "close_agent", "multi_agent_v1"
    results = STOPPED
    since, families = "0.133.0", UNKNOWN

    target: str = means("agent", "Id of the agent.")


def _named(_asked: op.Operation, said: Any) -> out.AgentsOutcome | None:
    match said:
        case {"task_name": str(id)}:
            return out.AgentsOutcome((out.AgentReport(id, "running"),))
    return None


class NamedSpawnAgent(Spelling[op.SpawnAgent]):
    """Give a task to another agent, which works on it meanwhile under a name of your choice."""

    native_name, namespace = "spawn_agent", "collaboration"
    since = "0.166.0"
    unsaid = SPAWNED

    task_name: str = means("name", "Name for the task.")
    message: str = means("prompt", "Description of the task.")
    fork_turns: str | None = means(
        "history", "How much of this conversation it is given: all, none, or a number of turns.", default=None
    )
    model: str | None = means("model", "Model to use.", default=None)
    reasoning_effort: str | None = means("effort", "How hard it is to think.", default=None)

    results = agents_in_json(
        _named,
        lambda _asked, outcome: {"task_name": one.id} if (one := _running(outcome)) else None,
        "its type",
        "its task",
    )


MESSAGED = {
    "summary": "a message has no summary",
    "interrupt": "an agent is interrupted by another tool",
    "notify_when_idle": "the client always tells when an agent is done",
}


class FollowupTask(Spelling[op.MessageAgent]):
    """Give an agent another task; it starts on it at once."""

    native_name, namespace = "followup_task", "collaboration"
    since = "0.166.0"
    unsaid = MESSAGED
    always = {"starts_turn": True}

    target: str = means("to", "Id of the agent.")
    message: str = means("message", "Description of the task.")


class SendMessage(Spelling[op.MessageAgent]):
    """Send a message to an agent; it reads the message when it continues."""

    native_name, namespace = "send_message", "collaboration"
    since = "0.166.0"
    unsaid = MESSAGED
    always = {"starts_turn": False}

    target: str = means("to", "Id of the agent.")
    message: str = means("message", "What to say.")


class MailWaited(msgspec.Struct, frozen=True):
    """That waiting is over."""

    message: str
    timed_out: bool


def _mail(*, timed_out: bool) -> MailWaited:
    return MailWaited("Wait timed out." if timed_out else "Wait completed.", timed_out)


class WaitForMail(Spelling[op.WaitForAgent]):
    """Wait until an agent has something to say."""

    native_name, namespace = "wait_agent", "collaboration"
    since = "0.166.0"
    unsaid = {"agents": "it waits for whichever agent speaks first"}

    timeout_ms: int | None = means("timeout_ms", "How long to wait, in milliseconds.", default=None, schema=NUMBER)

    # What agents say comes as messages of their own (0.166.0).
    results = one_of(
        in_json(
            out.AgentsOutcome,
            MailWaited,
            to=lambda _asked, said: out.AgentsOutcome((), timed_out=said.timed_out),
            back=lambda _asked, outcome: None if outcome.agents else _mail(timed_out=outcome.timed_out),
            says=("timed_out",),
            nearly={"agents": "agents are written in other words"},
        )
    )


class InterruptAgent(Spelling[op.StopAgent]):
    """Stop what an agent is doing."""

    native_name, namespace = "interrupt_agent", "collaboration"
    results = STOPPED
    since = "0.166.0"

    target: str = means("agent", "Id of the agent.")


class ListedAgent(msgspec.Struct, frozen=True):
    """One agent and its status."""

    agent_name: str | None = None
    agent_status: Any = None


class Listed(msgspec.Struct, frozen=True):
    """The agents."""

    agents: tuple[ListedAgent, ...]


class ListAgents(Spelling[op.ListAgents]):
    """List the agents and their status."""

    native_name, namespace = "list_agents", "collaboration"
    since = "0.166.0"
    unsaid = {"query": "agents are found by the path of their name"}

    path_prefix: str | None = means("scope", "List only agents below this path.", default=None)

    results = agents_in_json(
        lambda _asked, said: out.AgentsOutcome(
            tuple(agent_report(one.agent_name, one.agent_status) for one in said.agents)
        ),
        lambda _asked, outcome: Listed(tuple(ListedAgent(one.id, status_of(one)) for one in outcome.agents)),
        "its name",
        "its type",
        "its task",
        record=Listed,
    )


COLLABORATION = (NamedSpawnAgent, FollowupTask, SendMessage, WaitForMail, InterruptAgent, ListAgents)
MULTI_AGENT = (SpawnAgent, SendInput, WaitAgent, ResumeAgent, CloseAgent)

BY_ID = "agents were named by other parameters before any captured version"


class SendInputById(Spelling[op.MessageAgent]):
    """Send a message to an agent."""

    native_name, read_only = "send_input", BY_ID
    results = SUBMITTED

    id: str = means("to", "Id of the agent.")
    message: str | None = means("message", "What to say.", default=None)
    items: tuple[dict[str, Any], ...] | None = native_only(ITEMS)
    interrupt: bool = means("interrupt", "Whether it is to stop what it is doing.", default=False)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.MessageAgent(self.id, _spoken(self.message, self.items), interrupt=self.interrupt),)


class CloseAgentById(Spelling[op.StopAgent]):
    """Close an agent that is no longer needed."""

    native_name, read_only = "close_agent", BY_ID
    results = STOPPED

    id: str = means("agent", "Id of the agent.")


class WaitByIds(Spelling[op.WaitForAgent]):
    """Wait until one of these agents is done."""

    native_name, read_only = "wait", BY_ID

    ids: tuple[str, ...] = means("agents", "The agents.")
    timeout_ms: int | None = means("timeout_ms", "How long to wait, in milliseconds.", default=None)

    results = one_of(formerly=WAITED.current)
