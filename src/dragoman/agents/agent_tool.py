"""The tools by which agents start, message, resume and stop one another, and custom tools, each a sub-agent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

import msgspec

from dragoman.errors import ConfigError, DefinitionError, DragomanError, ToolError
from dragoman.model import AgentReport, AgentsOutcome, JsonOutcome, Kind, TextOutcome, operations as op
from dragoman.schema import problems_against
from dragoman.tools import AgentInfo, Context, Tool
from dragoman.tools.running import Postponed

from .agent import Agent, AgentLimits, CustomTool
from .template import prompt_of

if TYPE_CHECKING:
    from dragoman.engine import Engine
    from dragoman.model.outcomes import AgentStatus

    from .tree import Activation, Live

_NO_END: Final = 7 * 24 * 3600.0
"""Seconds: the agents' own limits say how long, not those of a call."""
_PASSED_OVER: Final = ("effort", "isolation", "cwd", "history", "continues", "command")
"""What starting an agent may be asked for elsewhere, and does not mean anything here: it is not offered."""
_MOST_TOLD: Final = 40
_LONGEST_TOLD: Final = 200
"""Agents a model is told of, and letters of what each is for."""
_CONTINUE: Final = "Continue your task from where you stopped."
_AWAITED, _BESIDE = 1, 2
"""Priorities: somebody waits for one, and works on beside the other."""


class Starter(Protocol):
    """The kernel as these tools see it: it knows agents by name, and starts, finds and cancels them."""

    @property
    def prices(self) -> Any: ...

    def find(self, name: str) -> Agent: ...

    def knows(self, name: str) -> bool: ...

    def is_given(self, agent: Agent) -> bool: ...

    def names(self) -> tuple[str, ...]: ...

    def write(self, live: Live, name: str, description: str, instructions: str) -> Agent: ...

    def reach(self, model: str) -> tuple[Engine, str]: ...

    def admit(
        self,
        parent: Live,
        agent: Agent,
        input: str,
        *,
        call_id: str | None,
        lent: bool = True,
        check: Callable[[str], list[str]] | None = None,
        repairs: int = 0,
        priority: int = 1,
        resumes: Live | None = None,
        parks: bool = True,
    ) -> Live: ...

    def live(self, id: str) -> Live | None: ...

    def others(self, live: Live) -> list[Live]: ...

    def cancel(self, id: str) -> bool: ...


def agent_tools(kernel: Starter, live: Live) -> list[Tool]:
    """What one agent is given to deal with others."""

    word = None if live.dialect is None else live.dialect.word_for(op.SpawnAgent)
    beside = None if word is None else word.unless_said.get("background")

    async def spawn(wanted: op.SpawnAgent, context: Context) -> AgentsOutcome:
        awaited = (beside if wanted.background is None else wanted.background) is False
        return AgentsOutcome((await _spawned(kernel, live, wanted, context.call_id, awaited=awaited),))

    async def wait(wanted: op.WaitForAgent, context: Context) -> AgentsOutcome:
        children = [_child(kernel, live, id) for id in wanted.agents] if wanted.agents else list(live.children)
        timed_out = False
        if wanted.block is not False:
            seconds = None if wanted.timeout_ms is None else wanted.timeout_ms / 1000
            timed_out = not await _waited(live, children, seconds, context.call_id, every=bool(wanted.agents))
        live.heard_of |= {child.id for child in children if child.ended is not None}
        said = [AgentReport(status="unknown", text=words) for words in live.inbox]
        live.inbox.clear()
        return AgentsOutcome((*said, *(_state(child) for child in children)), timed_out=timed_out)

    async def stop(wanted: op.StopAgent, context: Context) -> AgentsOutcome:
        child = _child(kernel, live, wanted.agent)
        if kernel.cancel(child.id):
            live.give_place()
            await child.finished.wait()
        live.heard_of.add(child.id)
        return AgentsOutcome((_state(child),))

    async def signal(wanted: op.SignalParent, context: Context) -> TextOutcome:
        if live.parent is None:
            raise ToolError("this agent has no parent: it was started directly", kind="denied")
        live.parent.tell(f"Agent {live.agent.name} ({live.id}) says: {wanted.message}")
        return TextOutcome("The parent will hear it.")

    async def message(wanted: op.MessageAgent, context: Context) -> AgentsOutcome:
        other = _other(kernel, live, wanted.to)
        words = f"Agent {live.agent.name} ({live.id}) says: {wanted.message}"
        if other.ended is None:
            other.tell(words)
            return AgentsOutcome((_state(other),))
        if wanted.starts_turn is False:
            raise ToolError(f'"{wanted.to}" has ended ({other.ended.status}): resume it first', kind="denied")
        return AgentsOutcome((_state(_resumed(kernel, live, other, words, context.call_id)),))

    async def resume(wanted: op.ResumeAgent, context: Context) -> AgentsOutcome:
        child = _child(kernel, live, wanted.agent)
        if child.ended is None:
            return AgentsOutcome((_state(child),))
        return AgentsOutcome((_state(_resumed(kernel, live, child, _CONTINUE, context.call_id)),))

    async def everyone(wanted: op.ListAgents, context: Context) -> AgentsOutcome:
        query = (wanted.query or "").casefold()
        others = [one for one in kernel.others(live) if query in f"{one.id} {one.agent.name}".casefold()]
        return AgentsOutcome(tuple(_listed(one, live) for one in others))

    nearly = () if word is None or "model" not in word.approximated else ("model",)  # only its client knows those names
    roster = (op.SpawnAgent("a task", "by name"), "agent", _roster(kernel, live))
    silent = ("summary", "interrupt", "notify_when_idle")
    return [
        Tool.from_operation(op.SpawnAgent, spawn, timeout=_NO_END, ignored=(*_PASSED_OVER, *nearly), listed=roster),
        Tool.from_operation(op.WaitForAgent, wait, timeout=_NO_END, ignored=("since_turn",), repeatable=True),
        Tool.from_operation(op.StopAgent, stop),
        Tool.from_operation(op.SignalParent, signal),
        Tool.from_operation(op.MessageAgent, message, ignored=silent),
        Tool.from_operation(op.ResumeAgent, resume),
        Tool.from_operation(op.ListAgents, everyone, ignored=("scope",)),
    ]


class Host:
    """What the tools of one agent know of it, and how they start others below it."""

    def __init__(self, kernel: Starter, live: Live) -> None:
        self._kernel, self._live = kernel, live

    def info(self) -> AgentInfo:
        live = self._live
        parent = None if live.parent is None else live.parent.id
        return AgentInfo(live.agent.name, live.id, parent, live.depth, live.left(self._kernel.prices))

    async def spawn(self, wanted: op.SpawnAgent, call_id: str | None, *, background: bool) -> AgentReport:
        # What started it is a function, which could not be continued in another process: so neither can it.
        return await _spawned(self._kernel, self._live, wanted, call_id, awaited=not background, parks=False)


# ── starting ─────────────────────────────────────────────────────────────────


async def _spawned(
    kernel: Starter, live: Live, operation: op.SpawnAgent, call_id: str | None, *, awaited: bool, parks: bool = True
) -> AgentReport:
    """Starts an agent below another, and waits for its end where somebody does."""
    child = live.attached.pop(call_id or "", None)
    if child is None:
        agent, lent = agent_for(kernel, live, operation)
        priority = _AWAITED if awaited else _BESIDE
        child = kernel.admit(live, agent, operation.prompt, call_id=call_id, lent=lent, priority=priority, parks=parks)
    if awaited:
        await _ended(kernel, live, child, call_id)
    return _state(child)


def _resumed(kernel: Starter, live: Live, child: Live, words: str, call_id: str | None) -> Live:
    """Continues the conversation of an agent that has ended, with these words; it works in the background."""
    if child.parent is not live:
        raise ToolError(f"{child.id} has ended, and only the agent that started it can resume it", kind="denied")
    live.heard_of.add(child.id)
    return kernel.admit(live, child.agent, words, call_id=call_id, lent=child.lent, priority=_BESIDE, resumes=child)


def _other(kernel: Starter, live: Live, name: str) -> Live:
    """The agent that is called so: by its id, as the parent, or by its name where only one has it."""
    if name.casefold() in ("parent", "main") and live.parent is not None:
        return live.parent if name.casefold() == "parent" else [*live.lineage][-1]
    others = kernel.others(live)
    named = kernel.live(name)
    fitting = [named] if named is not None and named is not live else [one for one in others if one.agent.name == name]
    working = [one for one in fitting if one.ended is None] or fitting
    if len(working) == 1:
        return working[0]
    ids = ", ".join(one.id for one in others) or "none"
    problem = f"{len(working)} agents are called" if working else "there is no other agent"
    raise ToolError(f'{problem} "{name}"; there are: {ids}', kind="invalid_arguments")


def _listed(one: Live, live: Live) -> AgentReport:
    """One agent in the list of another: what it is to it, and how it is doing."""
    if one is live.parent:
        relation = "started this agent"
    elif one in live.lineage:
        relation = "above this agent"
    elif one.parent is live:
        relation = "started by this agent"
    else:
        relation = f"started by {one.parent.id}" if one.parent is not None else ""
    return AgentReport(one.id, _status(one), agent=one.agent.name, description=relation or None)


def agent_for(kernel: Starter, live: Live, operation: op.SpawnAgent) -> tuple[Agent, bool]:
    """The agent to start, one that is there or one made of instructions; and whether its tools are lent to it."""
    if operation.continues is not None:
        raise ToolError(
            f'"{operation.continues}" cannot be continued by starting an agent: send it a message',
            kind="invalid_arguments",
        )
    name = operation.agent or operation.name
    try:
        if name is not None and (operation.system_prompt is None or kernel.knows(name)):
            agent = kernel.find(name)
        elif operation.system_prompt is not None:
            agent = kernel.write(live, name or "agent", operation.description or "", operation.system_prompt)
        else:
            agent = Agent(
                name="agent",
                instructions=live.agent.instructions,
                project_instructions=live.agent.project_instructions,
                dialect=live.agent.dialect,
                tools=live.agent.tools,
            )
        if operation.model is not None:
            kernel.reach(operation.model)
        return _narrowed(agent, operation), not kernel.is_given(agent)
    except (ConfigError, DefinitionError, ValueError) as error:
        raise ToolError(str(error), kind="invalid_arguments") from error


def _roster(kernel: Starter, live: Live) -> str:
    """What a model is told of the agents it can start by name; nothing when there are none but itself."""
    rows: list[str] = []
    names = kernel.names()
    for name in names:
        with suppress(DragomanError):  # what is wrong with a file is said to who starts it
            agent = kernel.find(name)
            twice = agent.name != name and agent.name in names  # a file, and the agent it is about
            about = " ".join(agent.description.split())
            if not twice and agent.name != live.agent.name:
                rows.append(f"- {name}: {_cut(about)}" if about else f"- {name}")
    hidden = len(rows) - _MOST_TOLD
    more = [f"… and {hidden} more"] if hidden > 0 else []
    return "\n".join(["Agents that are there:", *rows[:_MOST_TOLD], *more]) if rows else ""


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TOLD else f"{text[: _LONGEST_TOLD - 1]}…"


def _narrowed(agent: Agent, operation: op.SpawnAgent) -> Agent:
    """The agent with what was asked for beside: another model, fewer tools, fewer turns."""
    changes: dict[str, Any] = {}
    if operation.model is not None:
        changes |= {"model": operation.model, "dialect": None}
    if operation.tools is not None:
        # A name of one of the file's own custom tools is no name of a tool it is lent.
        changes["tools"] = tuple(name for name in operation.tools if agent.may_use(name, name))
        changes["custom_tools"] = tuple(tool for tool in agent.custom_tools if tool.name in operation.tools)
    if operation.max_turns is not None:
        most = min(operation.max_turns, agent.limits.max_turns)
        changes["limits"] = AgentLimits(**{**msgspec.structs.asdict(agent.limits), "max_turns": most})
    return msgspec.structs.replace(agent, **changes) if changes else agent


def _child(kernel: Starter, live: Live, id: str) -> Live:
    child = kernel.live(id)
    if child is None or child is live or live not in child.lineage:
        ids = ", ".join(one.id for one in live.children) or "none"
        raise ToolError(f'no agent below this one is called "{id}"; there are: {ids}', kind="invalid_arguments")
    return child


# ── waiting ──────────────────────────────────────────────────────────────────


async def _ended(kernel: Starter, live: Live, child: Live, call_id: str | None) -> Activation:
    """Waits for a child that nobody else waits for: who gives up waiting ends it.

    Where the child waits for an answer of a person, so does the call that waits for it.
    """
    live.give_place()
    try:
        await child.finished.wait()
    except asyncio.CancelledError:
        kernel.cancel(child.id)
        raise
    if child.ended is None:
        _postpone(live, call_id)
    live.heard_of.add(child.id)
    assert child.ended is not None
    return child.ended


def _postpone(live: Live, call_id: str | None) -> NoReturn:
    live.postponed.add(call_id or "")
    raise Postponed


async def _waited(live: Live, children: list[Live], seconds: float | None, call_id: str | None, *, every: bool) -> bool:
    """Waits for these children to end, `every` one or any, or for one of them to say something.

    False when the time was over first. Where all that have not ended wait for an answer of a person, so does this call.
    """

    def enough() -> bool:
        ended = [child.ended is not None for child in children]
        news = any(done and child.id not in live.heard_of for done, child in zip(ended, children, strict=True))
        return bool(live.inbox) or all(ended) or (news and not every)

    if enough():
        return True
    live.give_place()
    try:
        async with asyncio.timeout(seconds):
            while not enough():
                if all(child.parked for child in children if child.ended is None):
                    _postpone(live, call_id)
                live.news.clear()
                await live.news.wait()
    except TimeoutError:
        return False
    return True


def _status(one: Live) -> AgentStatus:
    return "running" if one.ended is None or one.ended.status == "waiting" else one.ended.status


def _state(child: Live) -> AgentReport:
    ended = child.ended
    if ended is None:
        return AgentReport(child.id, "running", agent=child.agent.name)
    text = ended.text if ended.status == "completed" else ended.error
    return AgentReport(child.id, _status(child), text or None, agent=child.agent.name)


# ── custom tools ─────────────────────────────────────────────────────────────


def custom_tool(kernel: Starter, live: Live, tool: CustomTool) -> Tool:
    """A tool of an agent's own: its call is a sub-agent that is given the rendered prompt; its answer is checked."""

    async def run(arguments: Mapping[str, Any], context: Context) -> Any:
        child = live.attached.pop(context.call_id or "", None)
        if child is not None:
            return _given(tool, await _ended(kernel, live, child, context.call_id))
        agent = custom_agent(live, tool)
        words = prompt_of(tool, arguments)
        if tool.result_schema is not None:
            schema = msgspec.json.encode(tool.result_schema).decode()
            words = f"{words}\n\nAnswer with one JSON value and nothing else. It must fit this JSON Schema:\n{schema}"
        check = check_of(tool)
        child = kernel.admit(live, agent, words, call_id=context.call_id, check=check, repairs=tool.repairs)
        return _given(tool, await _ended(kernel, live, child, context.call_id))

    return Tool(tool.name, tool.description, tool.parameters, run, timeout=_NO_END, kind=Kind.AGENT)


def custom_agent(live: Live, tool: CustomTool) -> Agent:
    """The agent that does the work of a custom tool."""
    return Agent(
        name=f"{live.agent.name}/{tool.name}",
        description=tool.description,
        project_instructions=live.agent.project_instructions,
        model=tool.model or live.model,
        dialect=live.agent.dialect if tool.model is None else None,
        tools=live.agent.tools,
        policy=live.agent.policy,
        limits=tool.limits or msgspec.structs.replace(live.limits, timeout=None),
    )


def check_of(tool: CustomTool) -> Callable[[str], list[str]] | None:
    """What finds fault with an answer; `None` when any text will do."""
    schema = tool.result_schema
    if schema is None:
        return None

    def problems(text: str) -> list[str]:
        value = _value(text)
        return ["it is no JSON value"] if value is _NOTHING else problems_against(schema, value)

    return problems


_NOTHING: Any = object()
_FENCE = re.compile(r"\A\s*```\w*\s*\n(.*?)\s*```\s*\Z", re.DOTALL)


def _value(text: str) -> Any:
    """The JSON value of an answer, also within a code fence: models put it there."""
    fenced = _FENCE.match(text)
    try:
        return msgspec.json.decode(fenced[1] if fenced else text.strip())
    except (msgspec.DecodeError, RecursionError):
        return _NOTHING


def _given(tool: CustomTool, ended: Activation) -> Any:
    if ended.status != "completed":
        details = {"agent": ended.id, "status": ended.status, **({"raw": ended.text} if ended.text else {})}
        kind = "cancelled" if ended.status == "cancelled" else "failed"
        raise ToolError(f"{tool.name}: {ended.error}", kind=kind, details=details)
    if tool.result_schema is None:
        return ended.text
    value = _value(ended.text)
    return JsonOutcome(None) if value is None else value  # nothing at all would be told as "Done."
