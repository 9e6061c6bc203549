"""Kimi Code's tools for other agents, plans, people and the web."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from dragoman.dialects.base.conversions import EMPTY_IS_UNSAID
from dragoman.dialects.base.default_words import text_of
from dragoman.dialects.base.questions import questions
from dragoman.dialects.base.spelling import Spelling, means, native_only
from dragoman.dialects.base.words import (
    by_hand,
    one_of,
)
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .commands import task_fields

_STATUS: dict[str, Any] = {"completed": "completed", "running": "running", "failed": "failed", "killed": "cancelled"}


def _report_written(outcome: out.AgentsOutcome, _asked: op.Operation) -> str | None:
    if len(outcome.agents) != 1 or outcome.timed_out:
        return None
    (report,) = outcome.agents
    states = {ours: native for native, ours in _STATUS.items()}
    if report.status not in states or report.id is None or not re.fullmatch(r"\S+", report.id):
        return None
    agent = report.agent or ""
    if "\n" in agent:
        return None
    head = f"agent_id: {report.id}\nactual_subagent_type: {agent}\nstatus: {states[report.status]}"
    return head if report.text is None else f"{head}\n\n[summary]\n{report.text}"


_REPORT = re.compile(
    r"(?:task_id: (\S+)\nstatus: (\w+)\n)?agent_id: (\S+)\nactual_subagent_type: ([^\n]*)(?:\nstatus: (\w+))?",
    re.DOTALL,
)
_HINT = re.compile(r"\n\nresume_hint: [^\n]*\Z")


def _report_read(text: str, _asked: op.Operation) -> out.AgentsOutcome | None:
    found = _REPORT.match(text)
    if found is None:
        return None
    summary = text.partition("\n\n[summary]\n")
    said = _HINT.sub("", summary[2]) if summary[1] else None
    status = _STATUS.get(found[5] or found[2] or "", "unknown")
    return out.AgentsOutcome((out.AgentReport(found[3], status, said, agent=found[4] or None),))


REPORTS = one_of(
    by_hand(
        out.AgentsOutcome,
        _report_written,
        _report_read,
        nearly={"agents": "an agent without an id has no such record, nor has one that was limited"},
    )
)


class Agent(Spelling[op.SpawnAgent]):
    """Give a task to another agent, or continue one with `resume`."""

    native_name = "Agent"
    results = REPORTS
    approximated = {"description": "a description is required, so an empty one says nothing"}
    unless_said = {"background": False}

    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    description: str = means("description", "The task in a few words.", convert=EMPTY_IS_UNSAID)
    subagent_type: str | None = means("agent", "The agent's type.", default=None)
    resume: str | None = means("continues", "Id of an earlier agent to continue.", default=None)
    run_in_background: bool | None = means(
        "background", "Run the agent in the background; do not wait for its answer.", default=None
    )


_SWARM = re.compile(r'<subagent agent_id="([^"]*)"[^>]*? outcome="([^"]*)">(.*?)</subagent>', re.DOTALL)


class AgentSwarm(Spelling[op.SpawnAgent]):
    """Give one task to several agents, each for one of the `items`."""

    native_name = "AgentSwarm"
    read_only = "agents are started one by one"

    description: str
    prompt_template: str | None = None
    items: tuple[str, ...] = ()
    subagent_type: str | None = None
    resume_agent_ids: dict[str, Any] | None = None

    def to_operations(self) -> tuple[op.Operation, ...]:
        template = self.prompt_template or "{{item}}"
        new = [(template.replace("{{item}}", item), None) for item in self.items]
        old = [(str(prompt), id) for id, prompt in (self.resume_agent_ids or {}).items()]
        if not new and not old:
            raise ValueError("there is no item and no agent to resume")
        return tuple(
            op.SpawnAgent(prompt, self.subagent_type, description=self.description or None, continues=id)
            for prompt, id in new + old
        )

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        text = text_of(native.content)
        reports = [
            out.AgentsOutcome((out.AgentReport(id, _STATUS.get(outcome, "unknown"), said),))
            for id, outcome, said in _SWARM.findall(text)
        ]
        if len(reports) != len(operations):
            return (out.TextOutcome(text),) * max(1, len(operations))
        return tuple(reports)


def _waited(text: str, _asked: op.Operation) -> out.AgentsOutcome | None:
    if not text.startswith("wait_status: "):
        return None
    fields, output = task_fields(text.partition("[finished]")[2])
    timed_out = text.startswith("wait_status: timeout")
    if fields.get("kind") != "agent":
        return out.AgentsOutcome((), timed_out) if timed_out else None
    report = out.AgentReport(
        fields.get("agent_id"),
        _STATUS.get(fields.get("status", ""), "unknown"),
        output,
        agent=fields.get("subagent_type"),
        description=fields.get("description"),
    )
    return out.AgentsOutcome((report,), timed_out)


class WaitFor(Spelling[op.WaitForAgent]):
    """Wait for background agents and commands."""

    native_name = "WaitFor"
    approximated = {
        "agents": "one is waited for, or any",
        "timeout_ms": "a time is required: without one it is the longest",
    }

    timeout: int = means("timeout_ms", "Seconds to wait, at most 600.")
    task_id: str | None = means("agents", "Id of the task to wait for; any task if omitted.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.WaitForAgent(() if self.task_id is None else (self.task_id,), self.timeout * 1000),)

    @classmethod
    def from_operation(cls, operation: op.WaitForAgent) -> WaitFor | None:
        if len(operation.agents) > 1 or (operation.timeout_ms or 0) % 1000:
            return None
        return cls(
            timeout=(operation.timeout_ms or 600_000) // 1000, task_id=operation.agents[0] if operation.agents else None
        )

    unsaid = {"block": "it always waits", "since_turn": "what an agent said last is what is given"}
    results = one_of(
        formerly=(by_hand(out.AgentsOutcome, lambda _outcome, _asked: None, _waited, says=("agents", "timed_out")),)
    )


# ── plans, people, the web ───────────────────────────────────────────────────


class Todo(msgspec.Struct, frozen=True):
    """One item of the to-do list."""

    title: str
    status: Literal["pending", "in_progress", "done"]


_TO = {"done": "completed"}
_BACK: dict[str, Any] = {"pending": "pending", "in_progress": "in_progress", "completed": "done"}


def _to_items(todos: tuple[Todo, ...]) -> tuple[op.PlanItem, ...]:
    return tuple(op.PlanItem(todo.title, _TO.get(todo.status, todo.status)) for todo in todos)  # type: ignore[arg-type]


def _from_items(items: tuple[op.PlanItem, ...]) -> tuple[Todo, ...]:
    wrong = [item.status for item in items if item.status not in _BACK]
    if wrong:
        raise ValueError(f"an item cannot be {wrong[0]} here")
    return tuple(Todo(item.text, _BACK[item.status]) for item in items)


_ITEM = re.compile(r"  \[(pending|in_progress|done)\] (.*)")


def _plan_written(outcome: out.PlanOutcome, asked: op.Operation) -> str | None:
    if any(item.status not in _BACK or "\n" in item.text for item in outcome.items) or not outcome.items:
        return None
    rows = [f"  [{_BACK[item.status]}] {item.text}" for item in outcome.items]
    head = "Todo list updated.\n" if isinstance(asked, op.UpdatePlan) else ""
    return head + "\n".join(["Current todo list:", *rows])


def _plan_read(text: str, _asked: op.Operation) -> out.PlanOutcome | None:
    before, mark, listed = text.partition("Current todo list:\n")
    if not mark or before not in ("", "Todo list updated.\n"):
        return None
    found = [_ITEM.fullmatch(row) for row in listed.partition("\n\n")[0].split("\n")]
    if None in found:
        return None
    return out.PlanOutcome(_to_items(tuple(Todo(one[2], one[1]) for one in found if one)))  # type: ignore[arg-type]


PLANS = one_of(by_hand(out.PlanOutcome, _plan_written, _plan_read, nearly={"items": "an item is a text and a status"}))


class TodoList(Spelling[op.UpdatePlan | op.ReadPlan]):
    """Update the to-do list by sending the whole list, or read it by leaving out `todos`."""

    native_name = "TodoList"
    results = PLANS
    approximated = {"items": "an item is a text and a status"}
    unsaid = {"explanation": "the list speaks for itself", "id": "the list is read whole"}

    todos: tuple[Todo, ...] | None = means("items", "The whole list, in order.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ReadPlan() if self.todos is None else op.UpdatePlan(_to_items(self.todos)),)

    @classmethod
    def from_operation(cls, operation: op.UpdatePlan | op.ReadPlan) -> TodoList | None:
        if isinstance(operation, op.ReadPlan):
            return cls()
        try:
            return cls(todos=_from_items(operation.items))
        except ValueError:
            return None


class Choice(msgspec.Struct, frozen=True):
    """One answer to choose from."""

    label: str
    description: str = ""


class Asked(msgspec.Struct, frozen=True):
    """One question."""

    question: str
    options: tuple[Choice, ...]
    header: str = ""
    multi_select: bool = False


class AskUserQuestion(Spelling[op.AskUser]):
    """Ask the user one to four questions, each with two to four answers to choose from."""

    native_name = "AskUserQuestion"
    approximated = {"questions": "a question has answers to choose from, and no id"}

    questions: tuple[Asked, ...] = means("questions", "The questions.", convert=questions(Asked, most=4))
    background: bool | None = native_only("an answer is always waited for")


class FetchURL(Spelling[op.FetchPage]):
    """Fetch a web page."""

    native_name = "FetchURL"
    unsaid = {"format": "the text of the page comes back"}

    url: str = means("url", "URL of the page.")


class Skill(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "Skill"

    skill: str = means("name", "Name of the skill.")
    args: str | None = means("arguments", "Arguments of the skill.", default=None)
