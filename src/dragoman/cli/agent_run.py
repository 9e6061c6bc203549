"""`dragoman run --agent`: an agent that is written as a file, with those it starts, recorded as one tree."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import click
import msgspec

from dragoman.errors import EngineError

from .advice import advice
from .console import Console, ExitCode, exit_code_of, foreign
from .session import Session
from .session_options import Options

if TYPE_CHECKING:
    from dragoman.agents import Activation, Agent, FoundAgent, Kernel, Live
    from dragoman.engine import Approver, Engine, Question, RunResult, ToolPolicy
    from dragoman.model import AnyChunk, AnyEvent
    from dragoman.tools import Toolset


def run_agent(console: Console, options: Options, wanted: str, task: str) -> ExitCode:
    """Runs the agent of a file or a name."""
    from dragoman.agents import agent_named

    for name, given in (("--resume", options.resume), ("--system", options.system)):
        if given is not None:
            raise click.UsageError(f"{name} and --agent do not go together: the agent's file says who it is.")
    found = agent_named(wanted, console.configuration(), options.workspace or _here())
    assert found.agent is not None  # one that is not well defined was raised
    chosen = {"model": options.model or found.agent.model, "dialect": options.dialect or found.agent.dialect}
    with asyncio.Runner() as runner:
        session = AgentSession(console, msgspec.structs.replace(options, **chosen), found)
        try:
            runner.run(session.open_all())
            return runner.run(session.work(task))
        except KeyboardInterrupt:
            session.stopped()
            return ExitCode.INTERRUPTED
        finally:
            runner.run(session.close())


def _here() -> Any:
    from pathlib import Path

    return Path.cwd()


class AgentSession(Session):
    """A session whose turn is a whole tree of agents. What the first of them says is the result; all else is aside."""

    def __init__(self, console: Console, options: Options, found: FoundAgent) -> None:
        super().__init__(console, options)
        assert found.agent is not None
        self._found, self._agent = found, found.agent
        self._speaker = "main"

    async def open_all(self) -> None:
        await self._open(sending=True)

    async def work(self, task: str) -> ExitCode:
        """The task, done or not, and what it took."""
        self._open_record()
        kernel = await self._kernel()
        self.begins()
        began = time.monotonic()
        ended = await kernel.run(self._agent, task, run_id=self.id)
        self.view.pause()
        assert kernel.root is not None
        self.view.ended(_whole(ended, kernel.root, self.configuration.settings.prices), time.monotonic() - began)
        if self._refused:
            self._console.note(
                f"Refused, since nobody could be asked: {self._refused}. --yes allows what would be asked."
            )
        return await self._told_end(ended, kernel.root.cause)

    async def _told_end(self, ended: Activation, cause: Exception | None) -> ExitCode:
        if ended.status == "completed":
            return ExitCode.OK
        self._console.error(f"{ended.agent}: {ended.error}")
        if isinstance(cause, EngineError):
            for line in await advice(cause, self.model, self.orchestrator.engine):
                self._console.note(line)
        if ended.status == "cancelled":
            return ExitCode.INTERRUPTED
        from dragoman.errors import DragomanError

        return exit_code_of(cause) if isinstance(cause, DragomanError) else ExitCode.FAULT

    # ── the kernel ─────────────────────────────────────────────────────────

    async def _kernel(self) -> Kernel:
        from dragoman.agents import AgentLimits, Kernel, find_agents
        from dragoman.tools import Web

        others = [one for one in find_agents(self.configuration, self.folder) if one.agent is not None]
        known = [
            (one.trusted, self._offered(one.agent)) for one in others if one.agent is not None and not one.hidden_by
        ]
        # What was chosen on the command line is for this agent; those it starts ask whom their files name.
        chosen = {"model": self.model, "dialect": self._options.dialect}
        self._agent = msgspec.structs.replace(self._offered(self._agent), **chosen)
        search = self.configuration.settings.search
        return Kernel(
            [self._agent, *(agent for trusted, agent in known if trusted and agent.name != self._agent.name)],
            strangers=[agent for trusted, agent in known if not trusted],
            model=self.model,
            engines=self._engine_of,
            workspace=self.workspace,
            tools=await self._all_tools(),
            policy=self._policy_of_agent(),
            limits=None if self._found.trusted else AgentLimits(),
            approver=self._asks(),
            emit=self._emit,
            watch=self._watched,
            web=lambda found: Web(search=found, search_backend=search.backend, search_url=search.url),
            prices=self.configuration.settings.prices,
        )

    def _offered(self, agent: Agent) -> Agent:
        """The agent with the tools it has when its file names none: the usual ones, and those that start others."""
        if self._options.tools and agent.name == self._agent.name:
            names = [getattr(tool, "id", None) or tool.name for tool in self.orchestrator.toolset]
            return msgspec.structs.replace(agent, tools=tuple(names))
        if agent.tools is not None:
            return agent
        names = [tool.name for tool in self.orchestrator.toolset]
        servers = [f"{name}/*" for name in agent.mcp_servers]
        return msgspec.structs.replace(agent, tools=(*names, "search_web", "spawn_agent", *servers))

    async def _all_tools(self) -> Toolset:
        from dragoman.agents import builtin_toolset
        from dragoman.registry import TOOLS
        from dragoman.tools import Toolset

        tools = Toolset([TOOLS[name] for name in TOOLS]).merge(builtin_toolset(), on_duplicate="replace")
        if self._agent.mcp_servers:
            from dragoman.agents import McpServers, mcp_server_of

            why = None
            if not self._found.trusted:
                why = f"nobody vouches for {self._found.path}: read it, then trust its folder (dragoman trust)"
            rows = self._agent.mcp_servers.items()
            made = [mcp_server_of(name, row, origin=str(self._found.path), refused=why) for name, row in rows]
            servers = await self._stack.enter_async_context(McpServers(made))
            for name, problems in servers.problems.items():
                for problem in problems:
                    self._console.warn(f"MCP server {name}: {problem}")
            servers.join(tools)
        return tools

    def _policy_of_agent(self) -> ToolPolicy:
        from dragoman.agents import policy_for
        from dragoman.engine import Approval

        base = self.orchestrator.policy
        # Starting an agent does nothing that the agent would not ask for itself, and limits say how many there are.
        base = msgspec.structs.replace(base, approval=(*base.approval, Approval("allow", kind="agent")))
        policy, refused = policy_for(self._agent, base, trusted=self._found.trusted)
        for line in refused:
            self._console.warn(line)
        return policy

    def _engine_of(self, model: str) -> tuple[Engine, str]:
        from dragoman.engine import Retry, engine_for

        if model == self.model:
            return self.orchestrator.engine, self.orchestrator.model
        return engine_for(
            model,
            configuration=self.configuration,
            retry=Retry(times=self._retries()),
            record=self._wire() if self._options.record_wire is not None else None,
            notice=lambda error, wait: self.view.notice(error, wait),
        )

    def _asks(self) -> Approver:
        approver = self._approver()

        async def ask(question: Question) -> Any:
            if question.agent is not None and self._options.approval is None:
                self.view.begins(f"{foreign(question.agent, one_line=True)} asks:")
            said: Any = approver(question)
            return await said if hasattr(said, "__await__") else said

        return ask

    # ── what is seen ───────────────────────────────────────────────────────

    def _watched(self, live: Live, chunk: AnyChunk) -> None:
        if live.parent is None:
            self.view.chunk(chunk)

    def _emit(self, event: AnyEvent) -> None:
        from dragoman.model import AgentEnded, AgentStarted, ToolCalled, ToolReturned

        if isinstance(event, AgentStarted | AgentEnded):
            self.view.begins(_line(event))
        elif isinstance(event, ToolCalled | ToolReturned) and event.stream != self._speaker:
            self._speaker = event.stream
            self.view.begins(f"── {self._agent.name if event.stream == 'main' else event.stream}")
        super()._emit(event)


def _line(event: Any) -> str:
    """That an agent began, or ended, in one line."""
    from .show import short

    said = getattr(event, "prompt", None) or getattr(event, "text", None) or ""
    what = getattr(event, "status", "starts")
    return foreign(f"── {event.agent} {what}" + (f": {short(said, 120)}" if said else ""), one_line=True)


def _whole(ended: Activation, root: Live, prices: Any) -> RunResult:
    """What all of them took, as a run is told of."""
    from dragoman.engine import RunResult
    from dragoman.model import Usage

    charged = tuple(root.charged)
    usage = sum((used for _, used in charged), Usage())
    status: Any = "completed" if ended.status == "completed" else "failed"
    rounds = len(charged)
    return RunResult(
        ended.id, status, ended.text, ended.conversation, None, usage, rounds, charged=charged, prices=tuple(prices)
    )
