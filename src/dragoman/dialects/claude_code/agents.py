"""Claude Code's tools for other agents."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from dragoman.dialects.base.conversions import EMPTY_IS_UNSAID, among
from dragoman.dialects.base.default_words import text_of
from dragoman.dialects.base.spelling import Spelling, absent, means, native_only, was
from dragoman.dialects.base.words import (
    LINE,
    Template,
    body,
    by_hand,
    either,
    in_json,
    lines,
    maybe,
    one_of,
    or_none,
    single,
    skipped,
    way,
    without,
    words,
)
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import json_text, read_json

from .results import fields, plain_text, text_in


def _silent(_asked: op.Operation, report: out.AgentReport) -> out.AgentReport:
    return report if report.text else msgspec.structs.replace(report, text=None)


def _typed(_asked: op.Operation, outcome: out.Outcome, native: NativeResult) -> out.Outcome:
    """The log knows the agent's type."""
    if not isinstance(outcome, out.AgentsOutcome):
        return outcome
    agent = text_in(fields(native), "agentType")
    return out.AgentsOutcome(tuple(msgspec.structs.replace(one, agent=agent) for one in outcome.agents))


def _ended(*text: str, **facts: Any) -> Template:
    return words(
        out.AgentReport,
        *text,
        "agentId: {id}",
        maybe(" ({_how})", written=False),
        maybe("\nstatus: {status}", status="completed"),
        maybe("\nworktreePath: {_path}", written=False),
        maybe("\nworktreeBranch: {_branch}", written=False),
        maybe("\n<usage>{_used}", written=False),
        id=or_none(without(" "), "unknown"),
        _how=skipped(""),
        _path=skipped(""),
        _branch=skipped(""),
        _used=skipped("", "(?s:.*)"),
        **facts,
    )


_STARTED = words(
    out.AgentReport,
    "Async agent launched successfully.",
    maybe(" {_about}", written=False),
    "\nagentId: {id}",
    either(way("\n{_rest}"), way(" {_rest}")),
    status="running",
    text=None,
    id=without(" "),
    back=_silent,
    _about=skipped(""),
    _rest=skipped("The agent is working in the background. You will be notified when it completes.", "(?s:.*)"),
)
_ENDED = _ended("{text}\n", text=body(or_nothing=True))
REPORTS = one_of(
    single(
        out.AgentsOutcome,
        _STARTED,
        words(out.AgentReport, "{text}", status="completed", id=None, text=body(or_nothing=True)),
        _ENDED,
    ),
    read_first=(single(out.AgentsOutcome, _STARTED, _ENDED, _ended(text="")),),
    text=plain_text,
    recorded=_typed,
)


MODELS = ("sonnet", "opus", "haiku")
TEAM = "teams are an experiment of the client"
SPAWN_NEARLY = {
    "description": "it is required, so an empty one says nothing",
    "model": "only the client's own names of models can be said",
    "isolation": "only the client's own kinds can be said",
}
EFFORTS = ("low", "medium", "high", "xhigh", "max")


class Agent(Spelling[op.SpawnAgent]):
    """Give a task to another agent, which works on it by itself."""

    native_name, formerly = "Agent", ("Task",)
    results = REPORTS
    unless_said = {"background": False}
    since = "2.1.123"
    described_until = {"2.1.123": "Give a task to another agent and get its answer, or let it work in the background."}
    approximated = {**SPAWN_NEARLY, "effort": "only the client's own levels can be said"}
    unsaid = {"continues": "an agent goes on when a message is sent to it"}

    description: str = means("description", "The task in a few words.", convert=EMPTY_IS_UNSAID)
    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    subagent_type: str | None = means("agent", "The agent's type.", default=None)
    model: Literal["sonnet", "opus", "haiku", "fable"] | None = means(
        "model",
        "Model the agent uses.",
        default=None,
        since="2.1.197",
        convert=among(*MODELS, "fable"),
        was=was("2.1.123", type=Literal["sonnet", "opus", "haiku"] | None, convert=among(*MODELS)),
    )
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = means(
        "effort", "Reasoning effort of the agent.", default=None, since="2.1.325", convert=among(*EFFORTS)
    )
    run_in_background: bool | None = means(
        "background", "Run the agent in the background; do not wait for its result.", default=None
    )
    isolation: Literal["worktree", "remote"] | None = means(
        "isolation",
        "Give the agent its own copy of the files.",
        default=None,
        since="2.1.197",
        convert=among("worktree", "remote"),
        was=was("2.1.123", type=Literal["worktree"] | None, convert=among("worktree")),
    )


class AgentInTeam(Spelling[op.SpawnAgent]):
    """Give a task to another agent, which has a name and may be of a team."""

    native_name, formerly = "Agent", ("Task",)
    results = REPORTS
    unless_said = {"background": False}
    read_only = "only sessions that have teams switched on offer it"

    description: str = means("description", "The task in a few words.", convert=EMPTY_IS_UNSAID)
    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    name: str = means("name", "What to call it.")
    subagent_type: str | None = means("agent", "The agent's type.", default=None)
    model: str | None = means("model", "Model the agent uses.", default=None)
    run_in_background: bool | None = means(
        "background", "Run the agent in the background; do not wait for its result.", default=None
    )
    isolation: str | None = means("isolation", "Give the agent its own copy of the files.", default=None)
    max_turns: int | None = means("max_turns", "How many turns it may take.", default=None)
    resume: str | None = means("continues", "Id of an earlier agent to continue.", default=None)
    team_name: str | None = native_only(TEAM)
    mode: str | None = native_only("what an agent may do is the client's to ask")


class Task(Spelling[op.SpawnAgent]):
    """Give a task to another agent and get its answer, or let it work in the background."""

    native_name = "Task"
    results = REPORTS
    unless_said = {"background": False}
    since, until = "2.0.76", "2.1.54"
    approximated = SPAWN_NEARLY

    description: str = means("description", "The task in a few words.", convert=EMPTY_IS_UNSAID)
    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    subagent_type: str = means("agent", "The agent's type.")
    model: Literal["sonnet", "opus", "haiku"] | None = means(
        "model", "Model the agent uses.", default=None, convert=among(*MODELS)
    )
    resume: str | None = means("continues", "Id of an earlier agent to continue.", default=None)
    run_in_background: bool | None = means(
        "background", "Run the agent in the background; do not wait for its result.", default=None
    )
    isolation: Literal["worktree"] | None = means(
        "isolation",
        "Give the agent its own copy of the files.",
        default=None,
        since="2.1.54",
        convert=among("worktree"),
    )
    max_turns: int | None = means(
        "max_turns",
        "How many turns it may take.",
        default=None,
        since="2.1.54",
        schema={"exclusiveMinimum": 0, "maximum": 2**53 - 1},
    )
    # Seen in sessions of 2.1.34 that had teams switched on.
    name: str | None = means("name", "What to call it.", default=None, since="2.1.34", until="2.1.34")
    team_name: str | None = native_only(TEAM)


class TaskOfType(Spelling[op.SpawnAgent]):
    """Give a task to another agent and get its answer."""

    native_name = "Task"
    results = REPORTS
    unless_said = {"background": False}
    until = "1.0.88"
    approximated = {"description": SPAWN_NEARLY["description"]}
    unsaid = {"continues": "an agent that ended stays ended"}

    description: str = means("description", "The task in a few words.", convert=EMPTY_IS_UNSAID)
    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    subagent_type: str = means("agent", "The agent's type.", since="1.0.88", was=absent("1.0.59"))


ADDED = "the client adds it to the logged call; it repeats the others"


class Sent(msgspec.Struct, frozen=True):
    """How a message is answered."""

    success: bool
    message: str


SENT = one_of(
    in_json(
        out.DoneOutcome,
        Sent,
        to=lambda _asked, said: out.DoneOutcome(said.message) if said.success else None,
        back=lambda _asked, outcome: Sent(success=True, message=outcome.note or "Message sent"),
        says=("note",),
    )
)


def answer(native: NativeResult) -> dict[str, Any]:
    """The JSON object a message is answered with; empty when it is none."""
    try:
        said = read_json(text_of(native.content))
    except msgspec.DecodeError:
        return {}
    return said if isinstance(said, dict) else {}


class SendMessage(Spelling[op.MessageAgent]):
    """Send a message to another agent, which continues its work with it."""

    native_name = "SendMessage"
    results = SENT
    since = "2.1.197"

    to: str = means("to", "The agent: its id or name.", schema={"maxLength": 300})
    summary: str | None = means("summary", "The message in a few words.", default=None, schema={"maxLength": 200})
    message: str = means("message", "The message.")
    notify_when_idle: bool = means(
        "notify_when_idle", "Notify you when the agent has nothing left to do.", default=False, since="2.1.252"
    )
    type: str | None = native_only(ADDED)
    recipient: str | None = native_only(ADDED)
    recipient_kind: str | None = native_only(ADDED)
    content: str | None = native_only(ADDED)


class SendTeamMessage(Spelling[op.MessageAgent]):
    """Send a message to a member of a team."""

    native_name = "SendMessage"
    results = SENT
    until = "2.1.123"
    read_only = TEAM
    unsaid = {**SendMessage.unsaid, "notify_when_idle": "there is no such parameter"}

    recipient: str = means("to", "The member.")
    content: str = means("message", "The message.")
    summary: str | None = means("summary", "The message in a few words.", default=None)
    type: str | None = native_only("what becomes of a message is the team's to know")


class SendTeamSignal(Spelling[op.MessageAgent]):
    """Ask a member of a team to shut down, or answer what it asked."""

    native_name = "SendMessage"
    results = SENT
    read_only = TEAM
    unsaid = SendTeamMessage.unsaid

    to: str = means("to", "The member.")
    message: dict[str, Any] = means("message", "What is asked or answered.")
    summary: str | None = means("summary", "The message in a few words.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.MessageAgent(self.to, json_text(self.message), self.summary),)


class SubagentHandback(Spelling[op.ReturnToParent]):
    """Return the report to the agent that gave the task. This ends the task."""

    native_name = "SubagentHandback"
    results = SENT
    read_only = "agents have it from 2.1.273 on where their calls are judged by a model; no captured request offers it"

    message: str = means("result", "The whole report.")


_NONE = "No reachable agents"


def _none_listed(text: str, _asked: op.Operation) -> out.AgentsOutcome | None:
    """The sentence may stand among others."""
    return out.AgentsOutcome(()) if re.search(rf"^{_NONE}\b", text, re.MULTILINE) else None


class ListAgents(Spelling[op.ListAgents]):
    """List the agents that can be sent messages."""

    native_name = "ListAgents"
    since = "2.1.252"

    channel: str | None = means("scope", "List only agents on this channel.", default=None, schema={"maxLength": 256})
    q: str | None = means("query", "List only agents that match this text.", default=None, schema={"maxLength": 256})

    results = one_of(
        words(
            out.AgentsOutcome,
            "{agents}",
            agents=lines(
                words(
                    out.AgentReport, "- {name} [{id}] {status}", name=or_none(LINE, ""), id=or_none(without("]"), "")
                ),
                empty=_NONE,
            ),
        ),
        read_first=(by_hand(out.AgentsOutcome, lambda _outcome, _asked: None, _none_listed),),
        text=plain_text,
    )
