"""Agents at work: a tree of activations under limits that count every way to start one.

Rules: an activation ends exactly once, as completed, failed, cancelled or limited. One whose call needs an answer that
comes later is parked, and so is one that has nothing left but to wait for it; all others go on. The run waits when the
first agent is parked, and goes on from its record with all of them. Whatever starts an agent goes through `admit`,
which decides without waiting: no interleaving passes a limit. A parent that waits for a child holds no
place to work, so waiting never blocks the ones waited for. What a child may do is never more than what its parent may.
"""

from __future__ import annotations

import asyncio
import datetime
import functools
import logging
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from dragoman.config import Sandbox
from dragoman.dialects import provider_tool
from dragoman.engine import (
    Answer,
    Approvals,
    Approver,
    Engine,
    Hooks,
    Orchestrator,
    Question,
    ToolPolicy,
    after_calls,
    verdict_on,
    web_for,
)
from dragoman.engine.models import (
    check_unvouched_model,
    configured_dialect,
    dialect_of,
    engine_for,
    set_sandbox,
    settings_for,
    split_model,
    vendor_of,
)
from dragoman.errors import ConfigError, DefinitionError, DragomanError, LimitReached, ToolError, nearest
from dragoman.model import AnyChunk, Call, NativeCall, Thinking, events as ev, operations as op
from dragoman.registry import DIALECTS, TOOLS
from dragoman.tools import Context, ProviderTool, Shell, Tool, Toolset, Web, Workspace, standard_context

from .agent import Agent, AgentLimits
from .agent_names import agents_by_name, bare_name, short_hash, stem_of
from .agent_tool import Host, agent_tools, custom_tool
from .endings import Parked, answer_of, complaint_about, out_of_turns, report_of
from .frontmatter_text import LARGEST_FILE
from .policies import policy_for
from .profiles import with_profile
from .recorded import Earlier, Recorded
from .restoring import restore
from .sandboxes import sandbox_for
from .tree import Activation, Live, Status, stricter

if TYPE_CHECKING:
    from dragoman.config import Chosen, Price
    from dragoman.engine import RunResult

_CANCELLED = "it was cancelled"


Engines = Callable[[str], tuple[Engine, str]]
"""Gives, for a model as an agent names it, the engine and the name to ask it by. The kernel closes the engine."""


_log = logging.getLogger("dragoman.agents")


class Kernel:
    """Runs agents. `agents` are known by name; those in the workspace's `agents/` folder are read when they are wanted.

    Agents of that folder and `strangers` are lent tools: they have at most those of the agent that starts them. `model`
    is for agents that name none; `tools` is what agents may be given. `policy` and `sandbox` hold for all of them,
    whatever their files say, and so does `limits`; without it the limits of the agent that is run hold for all below
    it. What of these is not given comes from the settings of this process, those that the command line reads;
    `configuration` names others, and with `None` none are read; `profile` chooses one of their profiles. Who gives
    `engines` asks models in their own way: then settings hold only if `configuration` is given. `approver` is asked by
    all, `Question.agent` says by whom. `emit` gets the events of the whole tree, and `watch` the chunks of every reply
    with the agent whose it is. `web` makes what one agent reaches the web with. `instructions` are those of the
    project: every agent gets them after its own, and those that `hooks.remind` gives, unless its file turns them off.
    The parameters from `prices` on are those of `Orchestrator`, and hold for every agent.
    """

    def __init__(
        self,
        agents: Iterable[Agent] = (),
        *,
        strangers: Iterable[Agent] = (),
        model: str | None = None,
        configuration: Chosen = UNSET,
        profile: str | None = None,
        engines: Engines | None = None,
        workspace: Workspace | None = None,
        instructions: str = "",
        tools: Toolset | Iterable[Tool | ProviderTool | Callable[..., Any]] = (),
        policy: ToolPolicy | None = None,
        sandbox: Sandbox | None = None,
        limits: AgentLimits | None = None,
        approver: Approver | None = None,
        hooks: Hooks = Hooks(),  # noqa: B008 - frozen
        emit: Callable[[ev.AnyEvent], None] | None = None,
        watch: Callable[[Live, AnyChunk], None] | None = None,
        web: Callable[[], Web] | None = None,
        prices: Sequence[Price] | None = None,
        thinking: Thinking | None = None,
        cache: bool | None = None,
        window: int | None = None,
        options: Mapping[str, Any] | None = None,
        max_output_tokens: int | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] = (),
        seed: int | None = None,
    ) -> None:
        self._configuration = given = settings_for(configuration, profile, wanted=engines is None)
        self.agents = agents_by_name(with_profile(agent, given) for agent in agents)
        self._strangers = {agent.name: with_profile(agent, given) for agent in strangers}
        self.workspace = workspace
        self._instructions = instructions
        self._vouches = True
        """Whether whoever made this kernel, or the user's own settings, chose `model`."""
        if given is not None:
            if model is None and given.settings.model is not None:
                model, self._vouches = given.settings.model, given.is_vouched("model")
            policy = ToolPolicy.configured(given, *(split_model(model) if model else ())) if policy is None else policy
            sandbox = set_sandbox(given, askable=approver is not None) if sandbox is None else sandbox
            prices = given.settings.prices if prices is None else prices
        self.model = model
        self.tools = tools if isinstance(tools, Toolset) else Toolset(tools)
        self.policy = ToolPolicy() if policy is None else policy
        self.sandbox = Sandbox(mode="off") if sandbox is None else sandbox
        self.limits = limits
        self.root: Live | None = None
        """The activation that `run` began with, also after it has ended."""
        self._engines = engines or (lambda name: engine_for(name, configuration=given))
        self._approver, self._hooks, self._emit = approver, hooks, emit
        self._watch, self.prices = watch, tuple(prices or ())
        self._thinking, self._cache, self._window, self._options = thinking, cache, window, options
        self._max_output_tokens, self._temperature, self._top_p = max_output_tokens, temperature, top_p
        self._stop_at, self._seed = stop, seed
        self._web = web or (Web if given is None else functools.partial(web_for, given))
        self._known: dict[str, tuple[Engine, str]] = {}
        self._vouched: set[str | None] = set()
        """Models that whoever made this kernel chose; no other may open or fetch a file."""
        self._live: dict[str, Live] = {}
        self._made: dict[str, Agent] = {}
        """Agents that an agent made, for this run only."""
        self._given: dict[str, Live] = {}
        """Digest of agent and input → the activation that was given it."""
        self._answers: Mapping[str, Answer] = {}
        self._asking = asyncio.Lock()
        self._approvals = Approvals()
        self._events = 0
        self._id = ""

    # ── running ────────────────────────────────────────────────────────────

    async def run(
        self,
        agent: Agent | str,
        input: str,
        *,
        run_id: str | None = None,
        recorded: Sequence[ev.AnyEvent] = (),
        answers: Mapping[str, Answer] | None = None,
    ) -> Activation:
        """Runs an agent, and every agent it starts, to completion. Cancelling it cancels all of them.

        With an approver that puts answers off, it may come to an end as `waiting` (see `waiting`). `recorded` are the
        events of a run that waited or was interrupted: it goes on, with every agent that had not ended; an `input` is
        said to the first of them then. It is its task if it had none yet, and else may be empty. `answers` decide calls
        that waited, by digest.
        """
        if self.root is not None and self.root.ended is None:
            raise ConfigError("this kernel runs an agent already: wait for its end, or make another kernel")
        agent = agent if isinstance(agent, str) else with_profile(agent, self._configuration)
        chosen = self.find(agent) if isinstance(agent, str) else agent
        given = self.agents.values() if isinstance(agent, str) else (*self.agents.values(), agent)
        self._vouched = {model for one in given for model in one.models}
        if self._vouches:
            self._vouched.add(self.model)
        self._id = run_id or uuid.uuid4().hex
        self._live.clear()
        self._given.clear()
        self._made.clear()
        self._asking = asyncio.Lock()
        limits = chosen.limits if self.limits is None else stricter(self.limits, chosen.limits)
        self._answers = answers or {}
        record = Recorded(recorded, anew=bool(input)) if recorded else None
        root = Live(self._id, chosen, input or ("" if record is None else record.task), None, limits)
        self._prepare(root, self.policy)
        self.root = self._live[root.id] = self._given[_digest(chosen, root.input)] = root
        before = await self._restored(root, record, input) if record is not None else []
        try:
            for live in (*before, root):
                self._begin(live)
            await root.finished.wait()
        finally:
            await self._stop([root])
            await self._close()
        return root.stop("waiting") if root.ended is None else root.ended

    async def _restored(self, root: Live, record: Recorded, words: str) -> list[Live]:
        """Those of a recorded tree that are to go on below its root."""
        self._events = record.count
        try:
            return restore(self, root, record, words)
        except BaseException:
            await self._close()
            raise

    @property
    def waiting(self) -> tuple[Call, ...]:
        """Every call of an agent that waits for an answer; what waits for such an agent is not among them."""
        lives = [one for one in self._live.values() if one.ended is None]
        return tuple(call for one in lives for call in one.waiting if call.id not in one.postponed)

    async def _close(self) -> None:
        """Closes every engine, also when one of them does not let itself be closed."""
        async with AsyncExitStack() as stack:
            for engine, _ in self._known.values():
                close = getattr(engine, "close", None)
                if close is not None:
                    stack.push_async_callback(close)
            self._known.clear()

    # ── agents by name ─────────────────────────────────────────────────────

    def find(self, name: str) -> Agent:
        """The agent with this name: from the workspace's `agents/` folder as it is now, else a given one."""
        from .frontmatter import parse_agent

        stem = self._stem(name)
        text = self._written(f"agents/{stem}.md") if stem in self._files() else None
        if text is not None:
            agent = parse_agent(text, path=f"agents/{stem}.md", format="dragoman", known=self.tools.names)
            return with_profile(agent, self._configuration)
        everyone = {**self._strangers, **self.agents, **self._made}
        known = everyone.get(name) or everyone.get(stem)
        if known is None:
            names = self.names()
            there = f" There are {', '.join(names)}." if names else " There are none."
            raise ConfigError(f'there is no agent "{name}".{nearest(stem, names) or there}')
        return known

    def knows(self, name: str) -> bool:
        """Whether an agent can be started by this name."""
        return not {name, self._stem(name)}.isdisjoint(self.names())

    def _stem(self, name: str) -> str:
        """The file that a name means: one that is there may be called whatever its folder holds."""
        bare = bare_name(name)
        return bare if bare in self._files() else stem_of(name)

    def is_given(self, agent: Agent) -> bool:
        """Whether it is one of the agents the kernel was created with, unchanged: no file of the workspace."""
        return self.agents.get(agent.name) is agent

    def names(self) -> tuple[str, ...]:
        """Every agent that can be started by name."""
        return tuple(dict.fromkeys((*self.agents, *self._strangers, *self._made, *self._files())))

    def _files(self) -> list[str]:
        """The files in the workspace's `agents/`, without their ending; none where that cannot be looked into."""
        if self.workspace is None:
            return []
        try:
            folder = self.workspace.entry("agents")
            below = self.workspace.entries("agents") if folder is not None and folder.kind == "directory" else []
        except ToolError:  # a link that leads out of the workspace, or to itself
            return []
        return [one.path.removesuffix(".md") for one in below if one.path.endswith(".md")]

    def _written(self, path: str) -> str | None:
        entry = None if self.workspace is None else self.workspace.entry(path)
        if self.workspace is None or entry is None:
            return None
        if (entry.size or 0) > LARGEST_FILE:
            raise DefinitionError(f"agent file {path!r}", [f"it is larger than {LARGEST_FILE} bytes: no agent is"])
        with self.workspace.open(path) as file:
            source = file.read()
        try:
            return source.decode("utf-8")
        except UnicodeDecodeError as error:
            line = source[: error.start].count(b"\n") + 1
            raise DefinitionError(f"agent file {path!r}", [f"line {line}: it is not UTF-8 text"]) from error

    def write(self, live: Live, name: str, description: str, instructions: str) -> Agent:
        """An agent of these instructions, or of this whole file, known by its name from now on.

        It is written into the workspace where the one who asks for it may write without being asked; else it is known
        for this run only.
        """
        import yaml

        from .frontmatter import parse_agent

        stem = self._stem(name)
        path = f"agents/{stem}.md"
        head = yaml.safe_dump({"name": stem, "description": description or stem}, allow_unicode=True, sort_keys=False)
        whole = instructions.lstrip()
        text = whole if whole.startswith(("---\n", "---\r\n")) else f"---\n{head}---\n{instructions}\n"
        agent = with_profile(
            parse_agent(text, path=path, format="dragoman", known=self.tools.names), self._configuration
        )
        writes = op.WriteFile(path, text)
        if self.workspace is not None and self._allowed(live, writes):
            self.workspace.apply((writes,), author=live.id)
        else:
            self._made[stem] = agent
        return agent

    def _allowed(self, live: Live, operation: op.Operation) -> bool:
        """Whether an agent may do something without anybody being asked."""
        tag = str(operation.__struct_config__.tag)
        call = Call("", (operation,), NativeCall("", tag, {}))
        verdict, _ = verdict_on(call, (TOOLS[tag],), live.policy, self.workspace)
        return verdict == "allow" and live.policy.allows(tag) and live.may_use(tag, tag)

    # ── starting ───────────────────────────────────────────────────────────

    def why_not(self, parent: Live) -> str | None:
        """The limit that prevents an agent from starting another one now, in words; `None` if there is none."""
        if parent.ended is not None:
            return "the agent that asks for it has ended"
        if parent.depth >= parent.deepest:
            return f"agents may not be nested deeper than {parent.deepest} here (max_depth)"
        if len(parent.children) >= parent.limits.max_fanout:
            return f"this agent may start {parent.limits.max_fanout} others, and has (max_fanout)"
        for one in parent.lineage:
            if one.started >= one.limits.max_agents:
                return f"{one.agent.name} and those below it may start {one.limits.max_agents} in all (max_agents)"
        spent = parent.spent(self.prices)
        return None if spent is None else str(spent)

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
    ) -> Live:
        """Starts an agent below another. Every start goes through here. Raises `ToolError` if a limit is reached.

        `lent`: it may use no tool that the one above it may not, whatever its file says.
        `check` finds fault with its answer; it is told so and asked again, at most `repairs` times. Of those who wait
        for a place to work, the one with the smallest `priority` has it first. With `resumes` it continues the
        conversation of an activation that has ended: an activation ends once, so this is another one, and it counts.
        """
        reason = self.why_not(parent)
        if reason is not None:
            raise ToolError(f"{agent.name} was not started: {reason}", kind="denied", details={"limit": reason})
        # The same words to an agent that is resumed are not the same task: its conversation has grown.
        digest = _digest(agent, input if resumes is None else f"{resumes.id}\n{input}")
        before = self._given.get(digest)
        if before is not None and (before.ended is None or before.ended.status == "completed"):
            raise ToolError(
                f"{agent.name} was not started: it was given the very same input before ({before.id}); a loop",
                kind="denied",
                details={"loop": before.id},
            )
        id = f"{agent.name.replace('/', '-')}-{len(self._live)}"
        live = Live(id, agent, input, parent, agent.limits, lent=lent, parks=parks, priority=priority)
        live.check, live.repairs = check, repairs
        if resumes is not None:
            live.conversation, live.model = resumes.conversation, resumes.model
            resumes.resumed = live
        refused = self._prepare(live, parent.policy)
        self._told(parent, ev.AgentStarted, call_id=call_id, agent=live.id, name=agent.name, prompt=input)
        if refused:
            self._told(live, ev.ClientNoted, name="policy_refused", data={"refused": list(refused)})
        servers = [name for name in agent.mcp_servers if not self._open(name)]
        if servers:
            self._told(live, ev.ClientNoted, name="servers_not_started", data={"servers": servers})
        parent.children.append(live)
        for one in parent.lineage:
            one.started += 1
        self._live[live.id] = self._given[digest] = live
        self._begin(live)
        return live

    def readmit(self, live: Live) -> None:
        """Makes one that an earlier process had started a part of the tree again."""
        assert live.parent is not None
        self._prepare(live, live.parent.policy)
        live.parent.children.append(live)
        for one in live.parent.lineage:
            one.started += 1
        self._live[live.id] = self._given[_digest(live.agent, live.input)] = live

    def _open(self, server: str) -> bool:
        """Whether tools of an MCP server are there: whoever makes the kernel opens it, the kernel itself none."""
        return any(f"mcp:{server}" in tool.tags for tool in self.tools if isinstance(tool, Tool))

    def _prepare(self, live: Live, bound: ToolPolicy) -> tuple[str, ...]:
        """Settles whom it asks and what it may do; gives what of its policy does not hold."""
        if live.model is None:
            live.model = live.parent.model if live.parent is not None else self.model
        policy, refused = policy_for(live.agent, bound, trusted=False)
        live.policy = msgspec.structs.replace(policy, agent=live.agent.name)
        above = self.sandbox if live.parent is None else live.parent.sandbox
        live.sandbox, looser = sandbox_for(live.agent, above)
        return (*refused, *looser)

    def _begin(self, live: Live) -> None:
        live.task = asyncio.create_task(self._work(live), name=f"agent {live.id}")
        # A task that is cancelled before its first step never runs: its activation ends all the same.
        live.task.add_done_callback(lambda _: self._end(live, "cancelled", _CANCELLED) if live.is_at_work else None)

    # ── one activation ─────────────────────────────────────────────────────

    async def _work(self, live: Live) -> None:
        status: Status = "failed"
        error: str | None = None
        try:
            async with asyncio.timeout(live.limits.timeout) as deadline, AsyncExitStack() as stack:
                live.deadline = deadline.when()
                live.context = await self._services(live, stack)
                await self._conversed(live)
            status = "completed"
        except Parked:
            self._park(live)
            return
        except asyncio.CancelledError:
            status, error = "cancelled", _CANCELLED
        except TimeoutError as failed:
            error, live.cause = f"TimeoutError: {failed}", failed
            if deadline.expired():
                live.cause = LimitReached("seconds", live.limits.timeout or 0, "give the agent a larger timeout")
                status, error = "limited", str(live.cause)
        except LimitReached as reached:
            status, error, live.cause = "limited", str(reached), reached
        except DragomanError as failed:
            error, live.cause = str(failed), failed
        except Exception as failed:  # noqa: BLE001 - an agent's failure is told to its parent, whatever it was
            error, live.cause = f"{type(failed).__name__}: {failed}", failed
        await self._stop(live.children)
        self._end(live, status, error)

    def _park(self, live: Live) -> None:
        """Stops an activation until an answer comes; all below it have ended or are parked."""
        live.stop("waiting")
        live.parked = True
        if live.parent is None:
            self._told(live, ev.SessionEnded, reason="interrupted")
        live.finished.set()
        if live.parent is not None:
            live.parent.news.set()

    def _end(self, live: Live, status: Status, error: str | None) -> None:
        """Ends an activation; all below it have ended."""
        live.end(status, error)
        try:
            self._told(live, ev.SessionEnded, reason=status, message=error)
            if live.parent is not None:
                said = live.text if status == "completed" else error
                self._told(live.parent, ev.AgentEnded, agent=live.id, status=status, text=said)
        finally:  # whoever waits hears of it, also when the record cannot be written any more
            live.finished.set()
            if live.parent is not None:
                live.parent.news.set()

    async def _stop(self, lives: Iterable[Live]) -> None:
        """Cancels, and waits for the end, also when it is itself cancelled meanwhile: nobody is left without an end."""
        left = [one for one in lives if one.is_at_work]
        for one in left:
            if one.task is not None:
                one.task.cancel()
        interrupted = False
        for one in left:
            while not one.finished.is_set():
                try:
                    await one.finished.wait()
                except asyncio.CancelledError:
                    interrupted = True
        if interrupted and asyncio.current_task() not in {one.task for one in self._live.values()}:
            raise asyncio.CancelledError

    async def _conversed(self, live: Live) -> None:
        """One run after the other, until nobody below has anything more to tell."""
        earlier = live.earlier
        if earlier is None or not earlier.has_task:
            live.text = answer_of(live, await self._leg(live, live.input))
        elif not earlier.is_at_rest:
            live.text = answer_of(live, await self._leg(live, "", earlier))
        live.earlier = None
        while (said := await self.next_message(live) or complaint_about(live)) is not None:
            live.text = answer_of(live, await self._leg(live, said))

    async def _leg(self, live: Live, words: str, earlier: Earlier | None = None) -> RunResult:
        """One run; with `earlier`, it goes on where that was interrupted or waited."""
        left = live.limits.max_turns - live.rounds
        if left < 1:
            raise out_of_turns(live)
        orchestrator = self._orchestrator(live, left)
        history = live.conversation
        watch = self._watch
        observe = None if watch is None else lambda chunk: watch(live, chunk)
        run_id, answers = f"{self._id}-{live.id}.{live.legs}", None
        if earlier is not None:
            # An agent that such a call started is attached to it; without one the call had not come to that.
            starting = earlier.starting({tool.name for tool in live.agent.custom_tools})
            answers = {**self._answers, **earlier.allowed(starting)}
        running = orchestrator.start(words, history=history, run_id=run_id, observe=observe, answers=answers)
        running.goes_on(history, () if earlier is None else earlier.events)
        if earlier is not None:
            running.doubtful -= starting
        live.legs += 1
        live.works(running)
        try:
            result = await running.result()
        finally:
            live.rests()
            live.attached.clear()
        live.waiting = result.waiting
        if isinstance(result.error, LimitReached) and result.error.limit == "iterations":
            raise out_of_turns(live, result.error) if live.rounds >= live.limits.max_turns else result.error
        return result

    def _orchestrator(self, live: Live, rounds: int) -> Orchestrator:
        engine, name = self._engine(live)
        stated = None if self._configuration is None else configured_dialect(self._configuration, name)
        dialect = live.agent.dialect or stated or dialect_of(name)
        live.dialect = DIALECTS[dialect] if isinstance(dialect, str) else dialect
        own, names = self._own_tools(live), self.names()
        toolset = self._toolset(live, own)
        policy = msgspec.structs.replace(
            live.policy,
            max_iterations=min(live.policy.max_iterations, rounds),
            # The call that is required was made before an earlier leg could end.
            choice=after_calls(live.policy.choice) if live.legs else live.policy.choice,
        )

        async def before(_: object) -> None:
            """Before the model is asked and before tools run: nothing begins over a budget, or without a place."""
            await live.take_place()
            spent = live.spent(self.prices)  # others may have used it up while it waited
            if spent is not None:
                raise spent
            nonlocal own, names
            if self.names() != names:  # somebody wrote an agent: who could start it is told
                own, names = self._own_tools(live), self.names()
            now = self._toolset(live, own)  # tools of servers come and go
            if now.list() != orchestrator.toolset.list():
                orchestrator.toolset = now

        orchestrator = Orchestrator(
            engine,
            toolset,
            policy,
            model_name=name,
            dialect=live.dialect,
            configuration=self._configuration,
            system=self._system(live.agent),
            workspace=self.workspace,
            context=live.context,
            hooks=self._hooks_of(live.agent),
            approver=self._approver_of(live),
            approvals=self._approvals,
            pause=before,
            hidden=lambda: self._hidden(live, orchestrator.toolset),
            emit=None if self._emit is None else lambda event: self._heard_event(live, event),
            prices=self.prices,
            thinking=self._thinking,
            cache=self._cache,
            window=self._window,
            options=self._options,
            max_output_tokens=self._max_output_tokens,
            temperature=self._temperature,
            top_p=self._top_p,
            stop=self._stop_at,
            seed=self._seed,
        )
        return orchestrator

    def _system(self, agent: Agent) -> str | None:
        """The system prompt of an agent."""
        project = self._instructions if agent.project_instructions else ""
        return "\n\n".join(text for text in (agent.instructions, project) if text) or None

    def _hooks_of(self, agent: Agent) -> Hooks:
        return self._hooks if agent.project_instructions else msgspec.structs.replace(self._hooks, remind=None)

    def _engine(self, live: Live) -> tuple[Engine, str]:
        if live.model is None:
            raise DefinitionError(f"agent {live.agent.name!r}", ["it names no model, and none was given"])
        return self.reach(live.model)

    def reach(self, model: str) -> tuple[Engine, str]:
        """The engine of a model, and the model's name there; raises an error if there is none."""
        if model not in self._known:
            if model not in self._vouched:
                check_unvouched_model(model)
            self._known[model] = self._engines(model)
        return self._known[model]

    async def _services(self, live: Live, stack: AsyncExitStack) -> Any:
        """What its tools are given: a shell, a plan and a web of its own, for as long as it works."""
        host = Host(self, live)
        if self.workspace is None:
            return Context(host=host, provides={Web: await stack.enter_async_context(self._web())})
        shell = Shell(sandbox=live.sandbox)
        context = await stack.enter_async_context(standard_context(self.workspace, shell=shell, web=self._web()))
        context.host = host
        return context

    def _approver_of(self, live: Live) -> Approver | None:
        approver = self._approver
        if approver is None:
            return None

        later = not live.parks and getattr(approver, "puts_off", False)
        why = "answers come later, and an agent that a function started cannot wait for them"
        no_answers = why if later else getattr(approver, "no_answers", None)
        return _AgentApprover(approver, live.agent.name, self._asking, no_answers)

    # ── tools ──────────────────────────────────────────────────────────────

    def _own_tools(self, live: Live) -> list[Tool | ProviderTool]:
        custom = [custom_tool(self, live, tool) for tool in live.agent.custom_tools]
        return [*agent_tools(self, live), *custom, *self._provider_tools(live)]

    def _provider_tools(self, live: Live) -> list[ProviderTool]:
        """Tools of the agent's provider that its file names by id; those it does not get are noted in the record.

        Only an agent that the caller chose names any: what a provider runs, nobody is asked about.
        """
        there = {tool.id for tool in self.tools if isinstance(tool, ProviderTool)}
        named = [name for name in live.agent.tools or () if name not in there and provider_tool(name) is not None]
        if not named:
            return []
        engine, _ = self._engine(live)
        vendor = vendor_of(getattr(engine, "provider", ""))
        chosen = live.parent is None or self.is_given(live.agent)
        offered = [name for name in named if chosen and vendor in ("", name.partition(".")[0])]
        left = [name for name in named if name not in offered]
        if left and not live.legs:
            why = f"the agent's model is served by {vendor}" if chosen else "nobody vouches for the agent"
            self._told(live, ev.ClientNoted, name="tools_not_offered", data={"tools": left, "reason": why})
        return [ProviderTool(name) for name in offered]

    def _toolset(self, live: Live, own: Iterable[Tool | ProviderTool]) -> Toolset:
        """What an agent may use: the tools its file names, its custom tools, and those that start and hear others."""
        return Toolset(tool for tool in (*self.tools, *own) if _may_use(live, tool))

    def _hidden(self, live: Live, toolset: Toolset) -> Collection[str]:
        """Tools that could only fail now."""
        hidden: list[str] = []
        full = self.why_not(live) is not None
        if full:
            hidden += ["spawn_agent", *(tool.name for tool in live.agent.custom_tools)]
            hidden += [] if live.children else ["wait_for_agent", "stop_agent"]
        if full or all(child.ended is None for child in live.children):
            hidden.append("resume_agent")
        if len(self._live) == 1:
            hidden += ["message_agent", "list_agents"]
        if live.parent is None:
            hidden.append("signal_parent")
        return [name for name in hidden if name in toolset.names and live.policy.allows(name)]

    # ── waiting and hearing ────────────────────────────────────────────────

    async def next_message(self, live: Live) -> str | None:
        """What others have to tell an agent, as one text; `None` when there is nothing and nobody left to wait for."""
        while True:
            live.news.clear()
            said = [*live.inbox]
            live.inbox.clear()
            for child in live.children:
                if child.ended is not None and child.id not in live.heard_of:
                    live.heard_of.add(child.id)
                    said.append(report_of(child.ended))
            if said:
                live.priority = 0  # others wait for its answer, perhaps
                return "\n\n".join(said)
            if all(child.ended is not None for child in live.children):
                return None
            if live.all_parked:
                raise Parked
            live.give_place()
            await live.news.wait()

    def live(self, id: str) -> Live | None:
        """The activation of this id, or the last one that continued it."""
        found = self._live.get(id)
        while found is not None and found.resumed is not None:
            found = found.resumed
        return found

    def others(self, live: Live) -> list[Live]:
        """All activations but this one, without those that another one continues."""
        return [one for one in self._live.values() if one is not live and one.resumed is None]

    def cancel(self, id: str) -> bool:
        """Stops an agent and all below it; False if no agent with that id is running."""
        live = self.live(id)
        if live is None or live.task is None or live.ended is not None:
            return False
        if live.parked:  # there is no task of it any more, nor of those below it
            for child in live.children:
                self.cancel(child.id)
            self._end(live, "cancelled", _CANCELLED)
            return True
        return live.task.cancel()

    # ── events ─────────────────────────────────────────────────────────────

    def _told(self, live: Live, kind: type[ev.Event], **facts: Any) -> None:
        if kind in (ev.AgentStarted, ev.AgentEnded):
            how = facts.get("status", "started")
            _log.info("agent %s (from %s): %s", facts.get("agent"), live.stream, how)
        if self._emit is None:
            return
        self._events += 1
        self._emit(
            kind(
                id=f"{self._id}-kernel-{self._events}",
                session=self._id,
                run=self._id,
                stream=live.stream,
                time=datetime.datetime.now(datetime.UTC),
                client="dragoman",
                **facts,
            )  # type: ignore[arg-type]
        )

    def _heard_event(self, live: Live, event: ev.AnyEvent) -> None:
        """An event of one run, as one of the tree: a stream begins once, and ends when its activation does."""
        assert self._emit is not None
        again = isinstance(event, ev.SessionStarted) and live.legs > 1 and not event.resumed
        if isinstance(event, ev.SessionEnded) or again:
            return
        changes: dict[str, Any] = {"session": self._id, "run": self._id, "stream": live.stream}
        if isinstance(event, ev.UserSaid) and (live.parent is not None or live.conversation):
            changes["by"] = "agent"
        self._emit(msgspec.structs.replace(event, **changes))


class _AgentApprover(msgspec.Struct, frozen=True):
    """Whom the calls of one agent are put to: one question at a time, whoever asks."""

    approver: Approver
    agent: str
    asking: asyncio.Lock
    no_answers: str | None

    async def __call__(self, question: Question) -> Answer | bool | None:
        async with self.asking:
            answer: Any = self.approver(msgspec.structs.replace(question, agent=self.agent))
            given: Answer | bool | None = await answer if hasattr(answer, "__await__") else answer
            return given


def _may_use(live: Live, tool: Tool | ProviderTool) -> bool:
    if isinstance(tool, ProviderTool):
        return live.may_use(tool.id)
    if tool.name == "signal_parent":
        return True  # whoever was started may say something to who started it
    if tool.name in ("wait_for_agent", "stop_agent", "resume_agent"):
        return live.may_use("spawn_agent", "spawn_agent")
    if tool.name in ("message_agent", "list_agents") and live.may_use("spawn_agent", "spawn_agent"):
        return True
    tag = None if tool.operation is None else str(tool.operation.__struct_config__.tag)
    return live.may_use(tool.name, tag, tool.tags)


def _digest(agent: Agent, input: str) -> str:
    return short_hash(msgspec.json.encode([agent.name, agent.instructions, input]))
