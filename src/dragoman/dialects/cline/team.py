"""Cline's tools for other agents: those it makes for a task, and a team that keeps a list of tasks."""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from dragoman.dialects.base.spelling import EMPTY_IS_UNSAID, Conversion, Spelling, means, native_only
from dragoman.dialects.base.words import in_json, one_of
from dragoman.model import operations as op, outcomes as out

# ── agents ───────────────────────────────────────────────────────────────────

_ENDS: dict[str, out.AgentStatus] = {
    "completed": "completed",
    "error": "failed",
    "aborted": "cancelled",
    "interrupted": "interrupted",
    "max_iterations": "limited",
    "running": "running",
}


class Report(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What an agent had to say, as a result tells it."""

    agentId: Any = None  # noqa: N815 - the native name
    text: str | None
    finishReason: Any = None  # noqa: N815 - the native name


def _report(_asked: op.Operation, outcome: out.AgentsOutcome) -> Report | None:
    if len(outcome.agents) != 1 or outcome.timed_out:
        return None
    (agent,) = outcome.agents
    end = next((word for word, status in _ENDS.items() if status == agent.status), "unknown")
    return Report(agentId=agent.id, text=agent.text, finishReason=end)


def _agent(_asked: op.Operation, report: Report) -> out.AgentsOutcome:
    id, end = report.agentId, report.finishReason
    status = _ENDS.get(end, "unknown") if isinstance(end, str) else "unknown"
    return out.AgentsOutcome((out.AgentReport(id if isinstance(id, str) else None, status, report.text),))


ANY_JSON = in_json(
    out.JsonOutcome,
    dict[str, Any],
    to=lambda _asked, value: out.JsonOutcome(value),
    back=lambda _asked, outcome: outcome.value,
    says=("value",),
)
_UNNAMED = {"agents": "an agent's name, type and task are not given"}
REPORTS = one_of(
    in_json(out.AgentsOutcome, Report, to=_agent, back=_report, nearly=_UNNAMED), ANY_JSON, default_first=True
)


class SpawnAgent(Spelling[op.SpawnAgent]):
    """Create an agent for a task and wait for its answer."""

    native_name = "spawn_agent"
    results = REPORTS
    approximated = {"system_prompt": "it is required, so an empty one says nothing"}
    unsaid = {
        "description": "there is no parameter for it",
        "model": "an agent runs on the same model",
        "effort": "an agent runs as this one does",
        "tools": "an agent has the tools of this one",
        "max_turns": "there is no parameter for it",
        "continues": "only a teammate goes on",
    }

    systemPrompt: str = means("system_prompt", "System prompt of the agent.", convert=EMPTY_IS_UNSAID)  # noqa: N815 - native
    task: str = means("prompt", "The whole task.")


class TeamRunTask(Spelling[op.SpawnAgent]):
    """Give a task to a teammate, with or without waiting for its answer."""

    native_name = "team_run_task"
    results = REPORTS
    unsaid = {
        **{field: reason for field, reason in SpawnAgent.unsaid.items() if field not in ("background", "continues")},
        "system_prompt": "a teammate has its own",
    }

    agentId: str = means("continues", "The teammate.")  # noqa: N815 - the native name
    task: str = means("prompt", "The whole task.")
    taskId: str | None = native_only("a task may be tied to one of the team's list")  # noqa: N815 - the native name
    runMode: Literal["sync", "async"] | None = means(  # noqa: N815 - the native name
        "background",
        "Whether to wait for the answer.",
        default=None,
        convert=Conversion(
            to=lambda mode: None if mode is None else mode == "async",
            back=lambda background: None if background is None else ("async" if background else "sync"),
        ),
    )
    continueConversation: bool | None = native_only(  # noqa: N815 - the native name
        "a teammate may forget what it did before, which no operation says"
    )


class TeamShutdownTeammate(Spelling[op.StopAgent]):
    """Stop a teammate."""

    native_name = "team_shutdown_teammate"
    results = REPORTS

    agentId: str = means("agent", "The teammate.")  # noqa: N815 - the native name
    reason: str | None = native_only("the team keeps a record of its own")


class TeamMember(msgspec.Struct, frozen=True, omit_defaults=True):
    """One member of the team, as a result tells it."""

    agentId: str  # noqa: N815 - the native name
    role: str | None = None
    status: str | None = None
    description: str | None = None


class Team(msgspec.Struct, frozen=True):
    """The team, as a result tells it."""

    members: list[TeamMember]


_STATES: dict[str, out.AgentStatus] = {status: status for status in get_args(out.AgentStatus)}
_STATES["stopped"] = "cancelled"


def _members(_asked: op.Operation, team: Team) -> out.AgentsOutcome:
    return out.AgentsOutcome(
        tuple(
            out.AgentReport(one.agentId, _STATES.get(one.status or "", "unknown"), agent=one.role)
            for one in team.members
        )
    )


def _team(_asked: op.Operation, outcome: out.AgentsOutcome) -> Team | None:
    if any(agent.id is None for agent in outcome.agents):
        return None
    return Team([TeamMember(agent.id or "", agent.agent, agent.status) for agent in outcome.agents])


class TeamStatus(Spelling[op.ListAgents]):
    """List the members of the team and their status."""

    native_name = "team_status"
    results = one_of(
        in_json(
            out.AgentsOutcome,
            Team,
            to=_members,
            back=_team,
            nearly={"agents": "only the id, the type and the status of an agent are given"},
        ),
        formerly=(
            in_json(
                out.JsonOutcome,
                dict[str, Any],
                to=lambda _asked, value: out.JsonOutcome(value) if "members" in value else None,
                back=lambda _asked, _outcome: None,
            ),
        ),
        default_first=True,
    )


class TeamAwaitRuns(Spelling[op.WaitForAgent]):
    """Wait for a run of a teammate, or for all runs."""

    native_name = "team_await_runs"
    results = REPORTS
    approximated = {"agents": "a run is named, not the agent; with none named, all are awaited"}
    unsaid = {
        "timeout_ms": "there is no parameter for it",
        "since_turn": "a run is told whole",
    }

    runId: str | None = means("agents", "Id of the run; all runs if omitted.", default=None)  # noqa: N815 - native

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.WaitForAgent(() if self.runId is None else (self.runId,)),)

    @classmethod
    def from_operation(cls, operation: op.WaitForAgent) -> TeamAwaitRuns | None:
        if len(operation.agents) > 1:
            return None
        return cls(runId=operation.agents[0] if operation.agents else None)


NO_SUBJECT = "(no subject)"
"""A subject is required; this one says that there is none."""


class TeamSendMessage(Spelling[op.MessageAgent]):
    """Send a message to a teammate."""

    native_name = "team_send_message"
    results = REPORTS
    unsaid = {
        "starts_turn": "a teammate reads its messages when it can",
        "notify_when_idle": "there is no parameter for it",
    }

    toAgentId: str = means("to", "The teammate.")  # noqa: N815 - the native name
    subject: str = means(
        "summary",
        "Subject of the message.",
        convert=Conversion(
            to=lambda subject: None if subject == NO_SUBJECT else subject,
            back=lambda summary: NO_SUBJECT if summary is None else _said(summary),
        ),
    )
    body: str = means("message", "The message.")
    taskId: str | None = native_only("a message may be tied to a task of the team's list")  # noqa: N815 - native


def _said(summary: str) -> str:
    if not summary or summary == NO_SUBJECT:
        raise ValueError("a subject that is empty, or says that there is none, cannot be said")
    return summary


# ── plans ────────────────────────────────────────────────────────────────────


class KeptTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """One task of the team's list, as a result tells it."""

    title: str
    status: op.PlanStatus
    id: str | None = None
    description: str | None = None
    assignee: str | None = None
    dependsOn: tuple[str, ...] = ()  # noqa: N815 - the native name


_ACTIONS: dict[str, op.PlanStatus] = {"claim": "in_progress", "complete": "completed", "block": "blocked"}


class TaskList(msgspec.Struct, frozen=True, kw_only=True):
    """The team's list, as a result tells it."""

    action: Any = None
    tasks: list[KeptTask]


def _action(asked: op.Operation) -> str:
    if isinstance(asked, op.ChangePlanItem):
        return next(word for word, status in _ACTIONS.items() if status == asked.status)
    return "list" if isinstance(asked, op.ReadPlan) else "create"


def _tasks(asked: op.Operation, plan: out.PlanOutcome) -> TaskList:
    tasks = [
        KeptTask(item.text, item.status, item.id, item.description, item.owner, item.blocked_by) for item in plan.items
    ]
    return TaskList(action=_action(asked), tasks=tasks)


def _plan(_asked: op.Operation, kept: TaskList) -> out.PlanOutcome:
    return out.PlanOutcome(
        tuple(
            op.PlanItem(one.title, one.status, one.id, one.description, owner=one.assignee, blocked_by=one.dependsOn)
            for one in kept.tasks
        )
    )


class TeamTask(Spelling[op.AddPlanItem | op.ChangePlanItem | op.ReadPlan]):
    """Manage the team's tasks: create, list, claim, complete or block one."""

    native_name = "team_task"
    approximated = {"AddPlanItem.item": "a new task has a title, a description, an owner and what it depends on"}
    unsaid = {
        "ReadPlan.id": "the list is read whole",
        **{
            f"ChangePlanItem.{field}": "only how it stands with a task can be changed"
            for field in ("text", "description", "doing", "owner", "add_blocks", "add_blocked_by", "metadata")
        },
    }

    action: Literal["create", "list", "claim", "complete", "block"] = means("status", "What to do.")
    title: str | None = means("text", "Title of the new task.", default=None)
    description: str | None = means("item", "Description of the new task.", default=None)
    dependsOn: tuple[str, ...] = means(None, "Ids of tasks that the new task depends on.", default=())  # noqa: N815 - the native name
    assignee: str | None = means(None, "Who the new task is assigned to.", default=None)
    status: str | None = native_only("the list is asked for whole")
    taskId: str | None = means("id", "Id of the task to claim, complete or block.", default=None)  # noqa: N815 - native
    summary: str | None = native_only("what came of a task is the team's to know")
    reason: str | None = native_only("why a task is blocked is the team's to know")

    def to_operations(self) -> tuple[op.Operation, ...]:
        if self.action == "create":
            if self.title is None:
                raise ValueError("title: a new task needs one")
            return (
                op.AddPlanItem(
                    op.PlanItem(
                        self.title, description=self.description, owner=self.assignee, blocked_by=self.dependsOn
                    )
                ),
            )
        if self.action == "list":
            return (op.ReadPlan(),)
        if self.taskId is None:
            raise ValueError(f"taskId: name the task to {self.action}")
        return (op.ChangePlanItem(self.taskId, status=_ACTIONS[self.action]),)

    @classmethod
    def from_operation(cls, operation: op.AddPlanItem | op.ChangePlanItem | op.ReadPlan) -> TeamTask | None:
        match operation:
            case op.ReadPlan():
                return cls(action="list")
            case op.AddPlanItem(item=item):
                return cls(
                    action="create",
                    title=item.text,
                    description=item.description,
                    dependsOn=item.blocked_by,
                    assignee=item.owner,
                )
        action = next((word for word, status in _ACTIONS.items() if status == operation.status), None)
        if action is None or operation.deleted:
            return None
        return cls(action=action, taskId=operation.id)  # type: ignore[arg-type]

    results = one_of(
        in_json(
            out.PlanOutcome,
            TaskList,
            to=_plan,
            back=_tasks,
            nearly={"items": "a task has a title, a description, an owner, a status and what it depends on"},
        ),
        ANY_JSON,
        default_first=True,
    )
