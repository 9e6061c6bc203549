"""Agents that are given a task, and the end of one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from dragoman.dialects.base.spelling import Spelling, means, native_only, was
from dragoman.dialects.base.words import Results, by_hand, done, one_of
from dragoman.model import operations as op, outcomes as out

from .options import WAIT

_REASONS: dict[str, out.AgentStatus] = {
    "GOAL": "completed",
    "ABORTED": "cancelled",
    "MAX_TURNS": "limited",
    "TIMEOUT": "limited",
}
_FINISHED = re.compile(r"Subagent '(.*?)' finished\.\nTermination Reason: (\w+)\nResult:\n")


def _agent_written(outcome: out.AgentsOutcome, _asked: op.Operation) -> str | None:
    if len(outcome.agents) != 1:
        return None
    agent = outcome.agents[0]
    if agent.status in ("running", "unknown"):
        return None  # the client's words (0.19.4 to 0.61) are for agents that have ended
    reason = next((word for word, status in _REASONS.items() if status == agent.status), "ERROR")
    name = agent.agent or agent.name or ""
    return f"Subagent '{name}' finished.\nTermination Reason: {reason}\nResult:\n{agent.text or ''}"


def _agent_read(text: str, _asked: op.Operation) -> out.AgentsOutcome | None:
    found = _FINISHED.match(text)
    if found is None:
        return None
    status = _REASONS.get(found[2], "failed")
    return out.AgentsOutcome((out.AgentReport(status=status, text=text[found.end() :], agent=found[1]),))


class SpawningAgents:
    """Agents whose answer is waited for: why one ended, and its result."""

    unless_said: ClassVar[Mapping[str, Any]] = {"background": False}
    results: ClassVar[Results | None] = one_of(
        by_hand(
            out.AgentsOutcome,
            _agent_written,
            _agent_read,
            nearly={"agents": "of an agent its type, its answer and why it ended are said"},
        )
    )


SPAWN_UNSAID = {
    "name": "an agent is called by its type alone",
    "description": "only the prompt is given",
    "effort": "an agent's type has its own",
    "cwd": "agents share the workspace",
    "continues": "an agent that ended stays ended",
}


class InvokeAgent(SpawningAgents, Spelling[op.SpawnAgent]):
    """Give a task to a specialised agent and wait for its result."""

    native_name = "invoke_agent"
    since = "0.53"
    unsaid = SPAWN_UNSAID

    agent_name: str = means("agent", "The agent's type.")
    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    wait_for_previous: bool | None = native_only(WAIT)


class DelegateToAgent(SpawningAgents, Spelling[op.SpawnAgent]):
    """Give a task to a specialised agent and wait for its result."""

    native_name = "delegate_to_agent"
    since, until = "0.24", "0.24"
    unsaid = SPAWN_UNSAID

    agent_name: str = means("agent", "The agent's type.", schema={"const": "codebase_investigator"})
    objective: str = means("prompt", "The whole task: the agent sees nothing else.")


class CodebaseInvestigator(SpawningAgents, Spelling[op.SpawnAgent]):
    """Have an agent look through the code base and report."""

    native_name = "codebase_investigator"
    since, until = "0.34", "0.34"
    always = {"agent": "codebase_investigator"}
    unsaid = SPAWN_UNSAID

    objective: str = means("prompt", "What to find out.")
    wait_for_previous: bool | None = native_only(WAIT)


class CodebaseInvestigatorAtFirst(CodebaseInvestigator):
    """Have an agent look through the code base and report."""

    since, until = "0.19", "0.19"


class Generalist(SpawningAgents, Spelling[op.SpawnAgent]):
    """Give any task to another agent and wait for its result."""

    native_name = "generalist"
    since, until = "0.34", "0.34"
    always = {"agent": "generalist"}
    unsaid = SPAWN_UNSAID

    request: str = means("prompt", "The whole task: the agent sees nothing else.")
    wait_for_previous: bool | None = native_only(WAIT)


class CliHelp(SpawningAgents, Spelling[op.SpawnAgent]):
    """Ask an agent that knows how this program is used."""

    native_name = "cli_help"
    since, until = "0.34", "0.34"
    always = {"agent": "cli_help"}
    unsaid = SPAWN_UNSAID

    question: str = means("prompt", "The question.")
    wait_for_previous: bool | None = native_only(WAIT)


class CompleteTask(Spelling[op.ReturnToParent]):
    """End this agent's task and hand over its result."""

    native_name = "complete_task"
    since = "0.19"
    on_request = "only a sub-agent has a task to end"
    results = one_of(done("Output submitted and task completed.", keeps_note=False))
    described_until = {"0.53": "End this agent's task and hand over its report."}

    result: Any = means(
        "result",
        "The result, in the form the agent was told.",
        since="0.61",
        schema={"type": "object"},
        was=was("0.53", name="report", description="The report, in the form the agent was told."),
    )
    wait_for_previous: bool | None = native_only(WAIT)
