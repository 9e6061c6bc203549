"""Agents: starting, reading, listing and writing to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, get_args

from dragoman.dialects.base.conversions import among, or_word
from dragoman.dialects.base.spelling import (
    EMPTY_IS_UNSAID,
    SECONDS,
    Conversion,
    ResultWords,
    Spelling,
    means,
    native_only,
)
from dragoman.dialects.base.words import Kind, body, by_hand, done, maybe, one_of, single, skipped, without, words
from dragoman.model import operations as op, outcomes as out

_AGENT_STATES: dict[str, out.AgentStatus] = {
    **{status: status for status in get_args(out.AgentStatus)},
    "idle": "completed",  # it has answered and waits for more (1.0.74 to 1.0.102)
}

_AGENT_ID = without(" .")
_ABOUT = (
    "agent_id: {id}",
    maybe(", agent_type: {agent}"),
    ", status: {status}",
    maybe(", description: {description}"),
)
_ELAPSED = (maybe(", elapsed: {_elapsed}", written=False),)
_ABOUT_KINDS: dict[str, Any] = {
    "id": without(","),
    "agent": without(","),
    "status": Kind(r"\w++", lambda word: _AGENT_STATES.get(word, "unknown"), str),
}
_READ_ABOUT: dict[str, Any] = {**_ABOUT_KINDS, "_is": skipped(""), "_elapsed": skipped("")}


class TellingAgents:
    """How an agent is told: its answer alone, or a line about it and what it said turn by turn."""

    unless_said: ClassVar[Mapping[str, Any]] = {"background": False}
    results: ClassVar[ResultWords | None] = one_of(
        single(
            out.AgentsOutcome,
            words(
                out.AgentReport,
                "Agent started in background with agent_id: {id}.",
                status="running",
                text=None,
                id=_AGENT_ID,
            ),
            asked=op.SpawnAgent,
            timed_out=False,
        ),
        single(
            out.AgentsOutcome,
            words(out.AgentReport, "Agent is {status}. ", *_ABOUT, "\n\n{text}", text=body(), **_ABOUT_KINDS),
            words(out.AgentReport, "Agent is {status}. ", *_ABOUT, text=None, **_ABOUT_KINDS),
            words(out.AgentReport, "{text}", id=None, status="completed", text=body(or_nothing=True)),
            timed_out=False,
        ),
        read_first=(
            single(
                out.AgentsOutcome,
                words(
                    out.AgentReport,
                    "Agent started in background with agent_id: {id}.{_more}",
                    id=_AGENT_ID,
                    status="running",
                    _more=skipped("", r"(?:\s(?s:.*))?"),
                ),
                words(out.AgentReport, "Agent {_is}", *_ABOUT, *_ELAPSED, "\n\n{text}", text=body(), **_READ_ABOUT),
                words(out.AgentReport, "Agent {_is}", *_ABOUT, *_ELAPSED, **_READ_ABOUT),
            ),
        ),
        default_first=True,
    )


class Task(TellingAgents, Spelling[op.SpawnAgent]):
    """Give a task to another agent, with or without waiting for its answer."""

    native_name = "task"
    approximated = {
        "agent": "a type is required; when none is said, it is general-purpose",
        "name": "it is required, so an empty one says nothing",
        "description": "it is required, so an empty one says nothing",
    }
    unsaid = {
        "max_turns": "there is no parameter for it",
        "continues": "an agent goes on when it is written to",
    }

    description: str = means("description", "The task in a few words.", convert=EMPTY_IS_UNSAID)
    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    agent_type: str = means(
        "agent",
        "The agent's type.",
        convert=or_word("general-purpose"),
        schema={"enum": ["explore", "task", "general-purpose", "code-review", "research", "security-review"]},
    )
    name: str = means("name", "A short name for the agent.", convert=EMPTY_IS_UNSAID)
    model: str | None = means("model", "Model the agent uses.", default=None)
    reasoning_effort: str | None = means("effort", "Reasoning effort of the agent.", default=None)
    context_tier: Literal["default", "long_context"] | None = native_only(
        "how much it can hold is the client's to know"
    )
    mode: Literal["sync", "background"] | None = means(
        "background",
        "Whether to wait for the answer.",
        default=None,
        convert=Conversion(
            to=lambda mode: None if mode is None else mode == "background",
            back=lambda background: None if background is None else ("background" if background else "sync"),
        ),
    )


class ReadAgent(TellingAgents, Spelling[op.WaitForAgent]):
    """Read the answer of an agent, with or without waiting for it."""

    native_name = "read_agent"

    agent_id: str = means("agents", "Id of the agent.")
    wait: bool | None = means("block", "Whether to wait until the agent has answered.", default=None)
    timeout: float | None = means("timeout_ms", "Maximum number of seconds to wait.", default=None)
    since_turn: int | None = means("since_turn", "Return only messages after this turn.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.WaitForAgent((self.agent_id,), SECONDS.to(self.timeout), self.wait, self.since_turn),)

    @classmethod
    def from_operation(cls, operation: op.WaitForAgent) -> ReadAgent | None:
        if len(operation.agents) != 1:
            return None
        try:
            timeout = SECONDS.back(operation.timeout_ms)
        except ValueError:
            return None
        return cls(agent_id=operation.agents[0], wait=operation.block, timeout=timeout, since_turn=operation.since_turn)


_NO_AGENTS = re.compile(r"No (?:\w+ ){0,3}agents\b")
_HEAD = re.compile(r"(\w+) \(\d+\):")
_LINE = re.compile(r'  \S+ (?P<name>.*?) \((?P<id>[^()]*)\): (?P<agent>.*?) - "(?P<about>.*?)"(?: \(.*\))?')


def _agents_written(outcome: out.AgentsOutcome, _asked: op.Operation) -> str | None:
    if any(agent.id is None for agent in outcome.agents):
        return None
    lines = ["Background agents:" if outcome.agents else "No background agents."]
    for status in dict.fromkeys(agent.status for agent in outcome.agents):
        group = [agent for agent in outcome.agents if agent.status == status]
        lines += ["", f"{status.capitalize()} ({len(group)}):"]
        lines += [f'  * {one.name or ""} ({one.id}): {one.agent or ""} - "{one.description or ""}"' for one in group]
    return "\n".join(lines)


def _agents_read(text: str, _asked: op.Operation) -> out.AgentsOutcome | None:
    if text == "<no background agents>":
        return out.AgentsOutcome(())
    if _NO_AGENTS.match(text):
        return out.AgentsOutcome(())
    if not text.startswith("Background agents:"):
        return None
    status: out.AgentStatus = "unknown"
    found: list[out.AgentReport] = []
    for line in text.split("\n"):
        if head := _HEAD.fullmatch(line):
            status = _AGENT_STATES.get(head[1].lower(), "unknown")
        elif one := _LINE.fullmatch(line):
            name, agent, about = (one[part] or None for part in ("name", "agent", "about"))
            found.append(out.AgentReport(one["id"], status, name=name, agent=agent, description=about))
    return out.AgentsOutcome(tuple(found))


class ListAgents(Spelling[op.ListAgents]):
    """List the other agents and their status."""

    native_name = "list_agents"
    approximated = {"scope": "only siblings, children and all can be said"}
    unsaid = {"query": "agents are listed, not searched"}

    include_completed: bool | None = native_only("agents that have ended are the client's to forget")
    scope: Literal["siblings", "children", "all"] | None = means(
        "scope", "Which agents to list.", default=None, convert=among("siblings", "children", "all")
    )

    results = one_of(
        by_hand(
            out.AgentsOutcome,
            _agents_written,
            _agents_read,
            nearly={"agents": "what an agent said is not listed, and they are sorted by their state"},
        )
    )


class WriteAgent(Spelling[op.MessageAgent]):
    """Send a message to another agent, or the same one to several."""

    native_name = "write_agent"

    agent_id: str | None = means("to", "Id of the agent.", default=None)
    agent_ids: tuple[str, ...] = means(None, "Ids of several agents.", default=())
    scope: Literal["siblings", "children"] | None = native_only("whom it reaches is the client's to know")
    message: str = means("message", "The message.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        named = (*(() if self.agent_id is None else (self.agent_id,)), *self.agent_ids)
        if not named or self.scope is not None:
            raise ValueError("agent_id: name the agent to write to")
        return tuple(op.MessageAgent(agent, self.message) for agent in named)

    @classmethod
    def from_operation(cls, operation: op.MessageAgent) -> WriteAgent:
        return cls(agent_id=operation.to, message=operation.message)

    results = one_of(done("Message delivered to agent {asked.to}.", "Message delivered"))
