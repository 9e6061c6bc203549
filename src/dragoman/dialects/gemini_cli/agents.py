"""Agents that are given a task, and the end of one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from dragoman.dialects.base.default_words import tell, text_of, understand
from dragoman.dialects.base.spelling import Content, Spelling, means, native_only, was
from dragoman.dialects.base.words import done, one_of
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .options import WAIT


class ToldByAgents:
    """How a sub-agent's end is told: why it ended, and its result."""

    unless_said: ClassVar[Mapping[str, Any]] = {"background": False}

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.AgentsOutcome) or len(outcome.agents) != 1:
            return tell(operation, outcome)
        agent = outcome.agents[0]
        reasons = {"completed": "GOAL", "cancelled": "ABORTED", "limited": "MAX_TURNS"}
        return (
            f"Subagent '{agent.agent or agent.name or ''}' finished.\n"
            f"Termination Reason: {reasons.get(agent.status, 'ERROR')}\nResult:\n{agent.text or ''}"
        )

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        found = re.match(r"Subagent '(.*?)' finished\.\nTermination Reason: (\w+)\nResult:\n", text)
        if found is None:
            return understand(operation, native)
        statuses: dict[str, out.AgentStatus] = {
            "GOAL": "completed",
            "ABORTED": "cancelled",
            "MAX_TURNS": "limited",
            "TIMEOUT": "limited",
        }
        report = out.AgentReport(status=statuses.get(found[2], "failed"), text=text[found.end() :], agent=found[1])
        return out.AgentsOutcome((report,))


SPAWN_UNSAID = {
    "name": "an agent is called by its type alone",
    "description": "only the prompt is given",
    "effort": "an agent's type has its own",
    "cwd": "agents share the workspace",
    "continues": "an agent that ended stays ended",
}


class InvokeAgent(ToldByAgents, Spelling[op.SpawnAgent]):
    """Give a task to a specialised agent and wait for its result."""

    native_name = "invoke_agent"
    since = "0.53"
    unsaid = SPAWN_UNSAID

    agent_name: str = means("agent", "The agent's type.")
    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    wait_for_previous: bool | None = native_only(WAIT)


class DelegateToAgent(ToldByAgents, Spelling[op.SpawnAgent]):
    """Give a task to a specialised agent and wait for its result."""

    native_name = "delegate_to_agent"
    since, until = "0.24", "0.24"
    unsaid = SPAWN_UNSAID

    agent_name: str = means("agent", "The agent's type.", schema={"const": "codebase_investigator"})
    objective: str = means("prompt", "The whole task: the agent sees nothing else.")


class CodebaseInvestigator(ToldByAgents, Spelling[op.SpawnAgent]):
    """Have an agent look through the code base and report."""

    native_name = "codebase_investigator"
    since, until = "0.34", "0.34"
    always = {"agent": "codebase_investigator"}
    unsaid = SPAWN_UNSAID

    objective: str = means("prompt", "What to find out.")


class CodebaseInvestigatorAtFirst(CodebaseInvestigator):
    """Have an agent look through the code base and report."""

    since, until = "0.19", "0.19"


class Generalist(ToldByAgents, Spelling[op.SpawnAgent]):
    """Give any task to another agent and wait for its result."""

    native_name = "generalist"
    since, until = "0.34", "0.34"
    always = {"agent": "generalist"}
    unsaid = SPAWN_UNSAID

    request: str = means("prompt", "The whole task: the agent sees nothing else.")


class CliHelp(ToldByAgents, Spelling[op.SpawnAgent]):
    """Ask an agent that knows how this program is used."""

    native_name = "cli_help"
    since, until = "0.34", "0.34"
    always = {"agent": "cli_help"}
    unsaid = SPAWN_UNSAID

    question: str = means("prompt", "The question.")


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
