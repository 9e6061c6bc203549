"""`dragoman run --agent`: an agent that is written as a file, with those it starts, recorded as one tree."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click
import msgspec

from dragoman import agents, engine
from dragoman.agents import mcp
from dragoman.engine import models
from dragoman.errors import DragomanError, EngineError
from dragoman.model import events, operations as op
from dragoman.registry import TOOLS

from .advice import advice
from .given_answers import Given, answers_of
from .runner import Runner
from .session import Session
from .session_options import Options
from .terminal.console import Console, ExitCode, exit_code_of, foreign, here
from .terminal.streams import plugins_aside
from .terminal.visible import short

if TYPE_CHECKING:
    from dragoman.config import Sandbox
    from dragoman.model import AnyChunk, AnyEvent
    from dragoman.tools import Toolset


def run_agent(console: Console, options: Options, wanted: str, task: str, given: Given) -> ExitCode:
    """Runs the agent of a file or a name, or continues a run of it."""
    if options.system is not None:
        raise click.UsageError("--system and --agent do not go together: the agent's file says who it is.")
    configuration = console.configuration()
    with plugins_aside():
        found = agents.agent_named(wanted, configuration, options.workspace or here())
    assert found.agent is not None  # one that is not well defined was raised
    with Runner() as runner:
        # A run that is resumed may begin in another folder.
        session = AgentSession(console, options, found, os.path.abspath(wanted) if os.path.isfile(wanted) else wanted)
        try:
            runner.run(session.open_all())
            answers: Mapping[str, engine.Answer] = {}
            if session.recorded_before:
                if options.run_id is not None:  # a worker gives the task each time
                    if session.finished():
                        return ExitCode.OK
                    task = "" if session.conversation() else task
                    given = given.still_wanted(session.waiting_calls())
                answers = answers_of(session, task, given)
            code = runner.run(session.work(task, answers))
        except KeyboardInterrupt:
            session.stopped()
            return ExitCode.INTERRUPTED
        finally:
            runner.finish(session.close())
        if code is ExitCode.WAITING and options.run_id is None:  # a worker tells of its own
            runner.run(session.tell_waiting(task))
    hint = session.how_to_resume(code, "run") if code is ExitCode.WAITING else None
    if hint is not None:
        console.note(hint)
    return code


class AgentSession(Session):
    """A session whose turn is a whole tree of agents. What the first of them says is the result; all else is aside."""

    def __init__(self, console: Console, options: Options, found: agents.FoundAgent, named: str) -> None:
        assert found.agent is not None
        super().__init__(console, options._replace(dialect=options.dialect or found.agent.dialect))
        self._vouched_model = found.trusted or options.model is not None
        self._vouched_dialect = found.trusted or options.dialect is not None
        self._found, self._agent = found, found.agent
        self._named = named
        self._speaker = "main"
        self._vouched_models: set[str] = set()

    async def open_all(self) -> None:
        await self._open(sending=True)

    async def use_model(self, wanted: str | None, *, sending: bool = True) -> None:
        """The model named, else the one the run had before, else that of the agent's file."""
        if wanted is None and self._kept("model") is None:
            wanted = self._agent.model
        await super().use_model(wanted, sending=sending)

    @property
    def recorded_before(self) -> tuple[AnyEvent, ...]:
        """The events of the run that is continued."""
        continues = self._options.resume is not None or self._options.run_id is not None
        return tuple(self.events) if continues else ()

    def finished(self) -> bool:
        """Whether the first agent, and with it every other, has come to its end."""
        ended = [one for one in self.events if isinstance(one, events.SessionEnded) and one.stream == "main"]
        return bool(ended) and ended[-1].reason == "completed"

    def _noted_of_itself(self) -> dict[str, Any]:
        """The agent, so that a run that is resumed is one of it again."""
        return {"agent": self._named}

    async def work(self, task: str, answers: Mapping[str, engine.Answer]) -> ExitCode:
        """The task, done or not, and what it took."""
        self._open_record()
        recorded = self.recorded_before
        with plugins_aside():
            kernel = self._kernel()
        self.begins()
        began = time.monotonic()
        ended = await kernel.run(self._agent, task, run_id=self.id, recorded=recorded, answers=answers)
        self.view.pause()
        assert kernel.root is not None
        whole = _whole(ended, kernel, self.configuration.settings.prices)
        self.view.ended(whole, time.monotonic() - began)
        if self._refused:
            self._console.note(f"Calls refused, since nobody could be asked: {self._refused}. --yes allows them.")
        if ended.status == "waiting":
            return self._verdict(whole)
        return await self._told_end(ended, kernel.root.cause)

    async def _told_end(self, ended: agents.Activation, cause: Exception | None) -> ExitCode:
        if ended.status == "completed":
            return ExitCode.OK
        self._console.error(f"{ended.agent}: {ended.error}")
        if isinstance(cause, EngineError):
            for line in await advice(cause, self.model, self.orchestrator.engine):
                self._console.note(line)
        if ended.status == "cancelled":
            return ExitCode.INTERRUPTED
        return exit_code_of(cause) if isinstance(cause, DragomanError) else ExitCode.FAULT

    # ── the kernel ─────────────────────────────────────────────────────────

    _searches_tools = False  # an agent's file says which tools it has

    def _kernel(self) -> agents.Kernel:
        others = [one for one in agents.find_agents(self.configuration, self.folder) if one.agent is not None]
        known = [
            (one.trusted, self._offered(one.agent)) for one in others if one.agent is not None and not one.hidden_by
        ]
        trusted = [agent for vouched, agent in [(self._found.trusted, self._agent), *known] if vouched]
        self._vouched_models = {model for agent in trusted for model in agent.models}
        # What was chosen on the command line is for this agent; those it starts ask whom their files name.
        chosen: dict[str, Any] = {"model": self.model, "dialect": self._options.dialect}
        self._agent = msgspec.structs.replace(self._offered(self._agent), **chosen)
        return agents.Kernel(
            [self._agent, *(agent for trusted, agent in known if trusted and agent.name != self._agent.name)],
            strangers=[agent for trusted, agent in known if not trusted],
            model=self.model,
            configuration=self.configuration,
            engines=self._engine_of,
            workspace=self.workspace,
            instructions=self.instructions().text,
            hooks=self._hooks(),
            tools=self._all_tools(),
            policy=self._policy_of_agent(),
            sandbox=self._sandbox_of_agent(),
            limits=self._limits(),
            approver=self._asks(),
            emit=self._emit,
            watch=self._watched,
            web=lambda: engine.web_for(self.configuration),
            prices=self.configuration.settings.prices,
        )

    def _offered(self, agent: agents.Agent) -> agents.Agent:
        """The agent with the tools it has when its file names none: the usual ones, and those that start others."""
        if self._options.tools and agent.name == self._agent.name:
            names = [getattr(tool, "id", None) or tool.name for tool in self.orchestrator.toolset]
            return msgspec.structs.replace(agent, tools=tuple(names))
        if agent.tools is not None:
            return agent
        names = [tool.name for tool in self.orchestrator.toolset if "mcp" not in getattr(tool, "tags", ())]
        # Servers that are set up are for all; those that an agent brings, for it alone.
        others = self._found.agent.mcp_servers if self._found.agent is not None else {}
        servers = [name for name in self._open_servers() if name in agent.mcp_servers or name not in others]
        names = list(dict.fromkeys((*names, "search_web")))  # for an agent whose model can, though the first one cannot
        return msgspec.structs.replace(agent, tools=(*names, "spawn_agent", *(f"{name}/*" for name in servers)))

    def _own_servers(self) -> Sequence[agents.McpServer]:
        why = None
        if not self._found.trusted:
            is_ours = self._found.path.resolve().parts[-3:-1] == (".dragoman", "agents")
            first = "read it" if is_ours else "read it, put it into .dragoman/agents"
            why = f"nobody vouches for {self._found.path}: {first}, then run dragoman trust"
        project = self.configuration.project
        inside = project is not None and self._found.path.resolve().is_relative_to(project.root)
        base = project.root if project is not None and inside else self._found.path.resolve().parent
        servers = [
            mcp.mcp_server_of(name, row, origin=self._found.path.name, refused=why)
            for name, row in self._agent.mcp_servers.items()
        ]
        return [mcp.placed(server, base, mcp.own_folder(self.configuration)) for server in servers]

    def _open_servers(self) -> list[str]:
        return [] if self._servers is None else list(self._servers.connections)

    def _all_tools(self) -> Toolset:
        from dragoman.tools import Toolset

        skills = agents.skill_tool(self.configuration, self.folder)
        tools = Toolset([TOOLS[name] for name in TOOLS.built_in if name != "use_skill" or skills is None])
        if skills is not None:
            tools.register(skills)
        self._add_plugins(tools)
        if self._servers is not None:
            self._servers.join(tools)
        for name in self._agent.tools or ():
            server, slash, _ = name.partition("/")
            if slash and server != "*" and not any(fnmatchcase(one, server) for one in self._open_servers()):
                self._console.warn(
                    f"there is no tool {name}: no MCP server {server} runs; `dragoman mcp list` shows them"
                )
        return tools

    def _add_plugins(self, tools: Toolset) -> None:
        """Tools of plugins, without those that cannot be loaded: who names one of these was told so."""
        for name, tool in TOOLS.working():
            called = getattr(tool, "name", None) or tool.id
            if name not in TOOLS.built_in:
                if called in tools or called in op.OPERATIONS:
                    self._console.warn(f'the plugin\'s tool "{name}" is left out: there is a tool "{called}" already')
                else:
                    tools.register(tool)

    def _limits(self) -> agents.AgentLimits | None:
        limits, refused = agents.limits_for(self._agent, trusted=self._found.trusted)
        for line in refused:
            self._console.warn(f"{line}; only your own files, or trusted ones in .dragoman/agents, may loosen")
        return limits

    def _policy_of_agent(self) -> engine.ToolPolicy:
        base = self.orchestrator.policy
        # Starting an agent does nothing that the agent would not ask for itself, and limits say how many there are.
        base = msgspec.structs.replace(base, approval=(*base.approval, engine.Approval("allow", kind="agent")))
        policy, refused = agents.policy_for(self._agent, base, trusted=self._found.trusted)
        for line in refused:
            self._console.warn(line)
        return policy

    def _sandbox_of_agent(self) -> Sandbox:
        base = self._sandbox()
        for line in agents.sandbox_for(self._agent, base)[1]:
            self._console.warn(line)
        return base

    def _engine_of(self, model: str) -> tuple[engine.Engine, str]:
        if model == self.model:
            return self.orchestrator.engine, self.orchestrator.model
        return models.engine_for(
            model,
            configuration=self.configuration,
            vouched=model in self._vouched_models,
            retry=engine.Retry(times=self._retries()),
            record=self._wire() if self._options.record_wire is not None else None,
            notice=lambda error, wait: self.view.notice(error, wait),
            ledger=self._ledger(),
        )

    def _asks(self) -> engine.Approver:
        from .terminal.approver import DescribedApprover

        approver = self._approver()

        async def ask(question: engine.Question) -> Any:
            if question.agent is not None and self._options.approval is None:
                self.view.begins(f"{foreign(question.agent, one_line=True)} asks:")
            said: Any = approver(question)
            return await said if hasattr(said, "__await__") else said

        return DescribedApprover(ask, getattr(approver, "no_answers", None), getattr(approver, "puts_off", False))

    # ── what is seen ───────────────────────────────────────────────────────

    def _watched(self, live: agents.Live, chunk: AnyChunk) -> None:
        if live.parent is None:
            self._observe(chunk)

    def _emit(self, event: AnyEvent) -> None:
        from dragoman.model import AgentEnded, AgentStarted, ClientNoted, ToolCalled, ToolReturned

        if isinstance(event, ClientNoted) and event.name == "servers_not_started":
            why = "only those of the agent that is run are"
            self.view.begins(foreign(f"── {event.stream}: its MCP servers are not started: {why}", one_line=True))
        if isinstance(event, AgentStarted | AgentEnded):
            self.view.begins(_line(event))
        elif isinstance(event, ToolCalled | ToolReturned) and event.stream != self._speaker:
            self._speaker = event.stream
            self.view.begins(f"── {self._agent.name if event.stream == 'main' else event.stream}")
        super()._emit(event)


def _line(event: Any) -> str:
    """That an agent began, or ended, in one line."""
    said = getattr(event, "prompt", None) or getattr(event, "text", None) or ""
    what = getattr(event, "status", "starts")
    return foreign(f"── {event.agent} {what}" + (f": {short(said, 120)}" if said else ""), one_line=True)


def _whole(ended: agents.Activation, kernel: agents.Kernel, prices: Any) -> engine.RunResult:
    """What all of them took, as a run is told of."""
    from dragoman.model import Usage

    assert kernel.root is not None
    charged = tuple(kernel.root.charged)
    usage = sum((used for _, used in charged), Usage())
    status: Any = ended.status if ended.status in ("waiting", "completed") else "failed"
    return engine.RunResult(
        ended.id,
        status,
        ended.text,
        ended.conversation,
        None,
        usage,
        len(charged),
        kernel.waiting,
        charged=charged,
        prices=tuple(prices),
    )
