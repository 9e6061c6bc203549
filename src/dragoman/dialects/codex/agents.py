"""Other agents: the first generation, known by ids, and the second, known by names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dragoman.dialects.base.conversions import SOME
from dragoman.dialects.base.spelling import Conversion, Spelling, means, native_only
from dragoman.model import operations as op, outcomes as out

from .commands import NUMBER
from .families import UNKNOWN
from .results import (
    AgentResults,
    OneAgentResults,
    agent_report,
    status_of,
    text_or_none,
    waited,
)

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


class SpawnAgent(AgentResults, Spelling[op.SpawnAgent]):
    """Give a task to another agent, which works on it meanwhile."""

    native_name, namespace = "spawn_agent", "multi_agent_v1"
    since, families = "0.133.0", UNKNOWN
    unsaid = {**SPAWNED, "name": "the client names its agents itself"}
    approximated = {
        "agent": "kinds of agents are no longer told apart",
        "history": "the whole conversation is passed on, or nothing of it",
    }

    message: str | None = means("prompt", "The task.", default=None)
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

    def told(self, outcome: out.AgentsOutcome) -> Any:
        if len(outcome.agents) != 1 or outcome.agents[0].status != "running":
            return None
        return {"agent_id": outcome.agents[0].id, "nickname": outcome.agents[0].name}

    def heard(self, operation: op.Operation, told: Any) -> out.Outcome | None:
        match told:
            case {"agent_id": str(id) | (None as id), **rest}:
                return out.AgentsOutcome((out.AgentReport(id, "running", name=text_or_none(rest.get("nickname"))),))
        return None


class SendInput(AgentResults, Spelling[op.MessageAgent]):
    """Send a message to an agent."""

    native_name, namespace = "send_input", "multi_agent_v1"
    since, families = "0.133.0", UNKNOWN
    unsaid = {
        "summary": "a message has no summary",
        "starts_turn": "a message always starts a turn",
        "notify_when_idle": "the client always tells when an agent is done",
    }

    target: str = means("to", "The agent.")
    message: str | None = means("message", "What to say.", default=None)
    items: tuple[dict[str, Any], ...] | None = native_only(ITEMS)
    interrupt: bool = means("interrupt", "Whether it is to stop what it is doing.", default=False)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.MessageAgent(self.target, _spoken(self.message, self.items), interrupt=self.interrupt),)

    @classmethod
    def from_operation(cls, operation: op.MessageAgent) -> SendInput:
        return cls(target=operation.to, message=operation.message, interrupt=operation.interrupt)

    def heard(self, operation: op.Operation, told: Any) -> out.Outcome | None:
        match told:
            case {"submission_id": str(id)}:
                return out.DoneOutcome(id)
        return None


class WaitAgent(AgentResults, Spelling[op.WaitForAgent]):
    """Wait until one of these agents is done, and take what it says."""

    native_name, namespace = "wait_agent", "multi_agent_v1"
    since, families = "0.133.0", UNKNOWN
    unsaid = {"since_turn": "what an agent said last is what is given"}

    targets: tuple[str, ...] = means("agents", "The agents.", convert=SOME)
    timeout_ms: int | None = means("timeout_ms", "How long to wait, in milliseconds.", default=None, schema=NUMBER)

    def told(self, outcome: out.AgentsOutcome) -> Any:
        if any(report.id is None for report in outcome.agents):
            return None
        return {"status": {one.id: status_of(one) for one in outcome.agents}, "timed_out": outcome.timed_out}

    def heard(self, operation: op.Operation, told: Any) -> out.Outcome | None:
        return waited(told)


class ResumeAgent(OneAgentResults, Spelling[op.ResumeAgent]):
    """Open a closed agent again."""

    native_name, namespace = "resume_agent", "multi_agent_v1"
    since, families = "0.133.0", UNKNOWN

    id: str = means("agent", "The agent.")

    status_key = "status"


class CloseAgent(OneAgentResults, Spelling[op.StopAgent]):
    """Close an agent that is no longer needed."""

    native_name, namespace = "close_agent", "multi_agent_v1"
    since, families = "0.133.0", UNKNOWN

    target: str = means("agent", "The agent.")


class NamedSpawnAgent(AgentResults, Spelling[op.SpawnAgent]):
    """Give a task to another agent, which works on it meanwhile under a name of your choice."""

    native_name, namespace = "spawn_agent", "collaboration"
    since = "0.166.0"
    unsaid = {**SPAWNED, "agent": "all agents are of one kind"}

    task_name: str = means("name", "Name for the task.")
    message: str = means("prompt", "The task.")
    fork_turns: str | None = means(
        "history", "How much of this conversation it is given: all, none, or a number of turns.", default=None
    )
    model: str | None = means("model", "Model to use.", default=None)
    reasoning_effort: str | None = means("effort", "How hard it is to think.", default=None)

    def told(self, outcome: out.AgentsOutcome) -> Any:
        one = outcome.agents[0] if len(outcome.agents) == 1 else None
        return {"task_name": one.id} if one is not None and one.status == "running" else None

    def heard(self, operation: op.Operation, told: Any) -> out.Outcome | None:
        match told:
            case {"task_name": str(id)}:
                return out.AgentsOutcome((out.AgentReport(id, "running"),))
        return None


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

    target: str = means("to", "The agent.")
    message: str = means("message", "The task.")


class SendMessage(Spelling[op.MessageAgent]):
    """Tell an agent something; it reads it when it goes on."""

    native_name, namespace = "send_message", "collaboration"
    since = "0.166.0"
    unsaid = MESSAGED
    always = {"starts_turn": False}

    target: str = means("to", "The agent.")
    message: str = means("message", "What to say.")


class WaitForMail(AgentResults, Spelling[op.WaitForAgent]):
    """Wait until an agent has something to say."""

    native_name, namespace = "wait_agent", "collaboration"
    since = "0.166.0"
    unsaid = {
        "agents": "it waits for whichever agent speaks first",
        "since_turn": "what an agent said last is what is given",
    }

    timeout_ms: int | None = means("timeout_ms", "How long to wait, in milliseconds.", default=None, schema=NUMBER)

    def told(self, outcome: out.AgentsOutcome) -> Any:
        if outcome.agents:
            return None
        return {
            "message": "Wait timed out." if outcome.timed_out else "Wait completed.",
            "timed_out": outcome.timed_out,
        }

    def heard(self, operation: op.Operation, told: Any) -> out.Outcome | None:
        match told:
            case {"message": str(), "timed_out": bool(timed_out)}:
                return out.AgentsOutcome((), timed_out=timed_out)  # what they say comes as messages of their own
        return None


class InterruptAgent(OneAgentResults, Spelling[op.StopAgent]):
    """Stop what an agent is doing."""

    native_name, namespace = "interrupt_agent", "collaboration"
    since = "0.166.0"

    target: str = means("agent", "The agent.")


class ListAgents(AgentResults, Spelling[op.ListAgents]):
    """List the agents and how they stand."""

    native_name, namespace = "list_agents", "collaboration"
    since = "0.166.0"
    unsaid = {"query": "agents are found by the path of their name"}

    path_prefix: str | None = means("scope", "List only agents below this path.", default=None)

    def told(self, outcome: out.AgentsOutcome) -> Any:
        return {"agents": [{"agent_name": one.id, "agent_status": status_of(one)} for one in outcome.agents]}

    def heard(self, operation: op.Operation, told: Any) -> out.Outcome | None:
        match told:
            case {"agents": list(agents)} if all(isinstance(one, dict) for one in agents):
                return out.AgentsOutcome(
                    tuple(agent_report(text_or_none(one.get("agent_name")), one.get("agent_status")) for one in agents)
                )
        return None


COLLABORATION = (NamedSpawnAgent, FollowupTask, SendMessage, WaitForMail, InterruptAgent, ListAgents)
MULTI_AGENT = (SpawnAgent, SendInput, WaitAgent, ResumeAgent, CloseAgent)

BY_ID = "agents were named by other parameters before any captured version"


class SendInputById(AgentResults, Spelling[op.MessageAgent]):
    """Send a message to an agent."""

    native_name, read_only = "send_input", BY_ID

    id: str = means("to", "The agent.")
    message: str | None = means("message", "What to say.", default=None)
    items: tuple[dict[str, Any], ...] | None = native_only(ITEMS)
    interrupt: bool = means("interrupt", "Whether it is to stop what it is doing.", default=False)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.MessageAgent(self.id, _spoken(self.message, self.items), interrupt=self.interrupt),)


class CloseAgentById(OneAgentResults, Spelling[op.StopAgent]):
    """Close an agent that is no longer needed."""

    native_name, read_only = "close_agent", BY_ID

    id: str = means("agent", "The agent.")


class WaitByIds(AgentResults, Spelling[op.WaitForAgent]):
    """Wait until one of these agents is done."""

    native_name, read_only = "wait", BY_ID

    ids: tuple[str, ...] = means("agents", "The agents.")
    timeout_ms: int | None = means("timeout_ms", "How long to wait, in milliseconds.", default=None)

    def heard(self, operation: op.Operation, told: Any) -> out.Outcome | None:
        return waited(told)
