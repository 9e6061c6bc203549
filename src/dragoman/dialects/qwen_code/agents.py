"""Agents, their teams and the tasks these share."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from dragoman.dialects.base.conversions import among, or_word
from dragoman.dialects.base.spelling import EMPTY_IS_UNSAID, Conversion, Spelling, means, native_only, was
from dragoman.dialects.base.todo_lists import AddingItem, ChangingItem
from dragoman.dialects.base.words import CALLED, Reads, body, either, one_of, single, skipped, way, without, words
from dragoman.model import operations as op, outcomes as out

TEAM = "only sessions that have teams switched on offer it"


class Created(msgspec.Struct, frozen=True):
    """What is said of an item that was added."""

    id: str
    text: str


class TaskCreate(AddingItem):
    """Add one thing to do to the team's plan."""

    native_name = "task_create"
    read_only = TEAM
    results = one_of(
        formerly=(
            words(
                Created,
                'Task #{id} created: "{text}"',
                of=out.PlanOutcome,
                to=lambda asked, said: out.PlanOutcome(
                    (msgspec.structs.replace(asked.item, id=said.id, text=said.text),)
                ),
                text=body(),
            ),
        )
    )


class TaskUpdate(ChangingItem):
    """Change one thing to do in the team's plan."""

    native_name = "task_update"
    read_only = TEAM


class TaskList(Spelling[op.ReadPlan]):
    """Read the team's plan."""

    native_name = "task_list"
    read_only = TEAM

    status: str | None = native_only("which tasks are listed is no part of the plan")
    owner: str | None = native_only("which tasks are listed is no part of the plan")
    blockedBy: str | None = native_only(  # noqa: N815 - the native name
        "which tasks are listed is no part of the plan"
    )


_STARTED = words(
    out.AgentReport,
    "Background agent launched successfully.\ntask_id: {id}",
    either(way(" {_rest}"), way("\n{_rest}"), way("")),
    status="running",
    agent=CALLED,
    text=Reads(None),
    id=without(" "),
    _rest=skipped(
        "(go on with it by send_message)\nIt works in the background; its result will be given to you.", "(?s:.*)"
    ),
)
REPORTS = one_of(
    single(
        out.AgentsOutcome,
        _STARTED,
        words(out.AgentReport, "{text}", status="completed", agent=CALLED, id=Reads(None), text=body(or_nothing=True)),
    ),
    default_first=True,
)
"""An agent that was started, with its id, or what it answered."""

SPAWN_UNSAID = {
    "effort": "an agent's type has its own",
    "cwd": "agents share the workspace",
    "continues": "an agent goes on when a message is sent to it",
}
_ALONE = "The whole task: the agent sees nothing else."
DESCRIBED = {"description": "a description is required, so an empty one says nothing"}


def _turns(turns: Any) -> str | None:
    if turns is None or (isinstance(turns, str) and re.fullmatch(r"all|[1-9][0-9]*", turns)):
        return turns
    raise ValueError(f"{turns!r} is no number of turns; take `all` or a number")


TURNS = Conversion(to=_turns, back=lambda turns: turns if re.fullmatch(r"all|[1-9][0-9]*", turns or "") else None)


class Agent(Spelling[op.SpawnAgent]):
    """Give a task to another agent; it works in the background and reports when it is done."""

    native_name = "agent"
    results = REPORTS
    unless_said = {"background": False}
    since = "0.15"
    unsaid = SPAWN_UNSAID
    described_until = {"0.15": "Give a task to another agent and get its answer, or let it work in the background."}
    approximated = {
        **DESCRIBED,
        "isolation": "only a worktree can be asked for",
        "history": "only all of it, or a number of turns, can be asked for",
    }

    description: str = means("description", "The task in a few words.", convert=EMPTY_IS_UNSAID)
    prompt: str = means("prompt", "The whole task.", since="0.24", was=was("0.15", description=_ALONE))
    subagent_type: str | None = means(
        "agent",
        "The agent's type.",
        default=None,
        since="0.24",
        was=was("0.15", schema={"enum": ["general-purpose", "Explore", "statusline-setup"]}),
    )
    fork_turns: Any = means(
        "history",
        "How much of this conversation the agent gets: `all`, or a number of recent turns.",
        default=None,
        since="0.24",
        convert=TURNS,
        schema={"oneOf": [{"type": "string", "enum": ["all"]}, {"type": "string", "pattern": "^[1-9][0-9]*$"}]},
    )
    fork_tools: tuple[str, ...] | None = means(
        "tools", "Names of the tools the agent may use.", default=None, since="0.24"
    )
    fork_profile: str | None = native_only("a profile is kept in the client's settings", since="0.24")
    run_in_background: bool | None = means(
        "background", "Run the agent in the background; do not wait for its result.", default=None
    )
    isolation: Literal["worktree"] | None = means(
        "isolation", "Give the agent its own copy of the files.", default=None, since="0.24", convert=among("worktree")
    )
    working_dir: str | None = means("cwd", "Folder the agent works in.", default=None, since="0.24")


class Task(Spelling[op.SpawnAgent]):
    """Give a task to another agent and wait for its answer."""

    native_name = "task"
    results = REPORTS
    unless_said = {"background": False}
    until = "0.12"
    unsaid = SPAWN_UNSAID
    approximated = {**DESCRIBED, "agent": "a type is required: without one it is the general agent"}

    description: str = means("description", "The task in a few words.", convert=EMPTY_IS_UNSAID)
    prompt: str = means("prompt", _ALONE)
    subagent_type: str = means(
        "agent", "The agent's type.", convert=or_word("general-purpose"), schema={"enum": ["general-purpose"]}
    )


MESSAGE_UNSAID = {
    "interrupt": "a message waits until the agent is ready",
    "starts_turn": "an agent always acts on a message",
    "notify_when_idle": "the client tells of every agent's end",
}


class CreateSubSession(Spelling[op.SpawnAgent]):
    """Give a task to a session of its own, which continues by itself."""

    native_name = "create_sub_session"
    read_only = "only a client that runs as a service has sessions to spare, and none was captured"

    prompt: str = means("prompt", "Description of the task.")
    completion: Literal["sent", "first-turn"] | None = means("background", "What to wait for.", default=None)
    model: str | None = means("model", "Model the agent uses.", default=None)
    name: str | None = means("name", "What to call it.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        background = None if self.completion is None else self.completion == "sent"
        return (op.SpawnAgent(self.prompt, name=self.name, model=self.model, background=background),)


class SendMessage(Spelling[op.MessageAgent]):
    """Send a message to another agent: to a running one by the id of its task, or to a member of a team by name."""

    native_name = "send_message"
    since = "0.24"
    unsaid = MESSAGE_UNSAID

    to: str | None = means("to", "Name of the team member.", default=None)
    task_id: str | None = means(None, "Id of the agent's task.", default=None)
    message: str = means("message", "The message.", schema={"minLength": 1})
    summary: str | None = means("summary", "The message in a few words.", default=None)
    type: Any = native_only("plans and shutdowns of a team are the client's own (0.21.2, 0.23.3)", until="0.23")

    def to_operations(self) -> tuple[op.Operation, ...]:
        if (self.to is None) == (self.task_id is None):
            raise ValueError("name either `to` or `task_id`")
        return (op.MessageAgent(self.task_id or self.to or "", self.message, self.summary),)

    @classmethod
    def from_operation(cls, operation: op.MessageAgent) -> SendMessage:
        return cls(task_id=operation.to, message=operation.message, summary=operation.summary)


class SendMessageToTask(Spelling[op.MessageAgent]):
    """Send a message to an agent that was started."""

    native_name = "send_message"
    since, until = "0.15", "0.15"
    unsaid = MESSAGE_UNSAID

    task_id: str = means("to", "The id of the agent's task.")
    message: str = means("message", "The message.")


class ListAgents(Spelling[op.ListAgents]):
    """List the agents that work in the background."""

    native_name = "list_agents"
    since = "0.24"

    results = one_of(
        words(
            out.AgentsOutcome,
            "No ordinary background subagents are available in this session.{_more}",
            agents=(),
            _more=skipped("", "(?s:.*)"),
        )
    )
