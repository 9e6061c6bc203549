"""Laws of agents at work: no order of events passes a limit, every activation ends once, every record can be read."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dragoman.agents import Agent, AgentLimits, CustomTool, Kernel, Live
from dragoman.engine import ScriptedEngine
from dragoman.errors import EngineError
from dragoman.logs import read, sessions_of
from dragoman.model import (
    AgentEnded,
    AgentStarted,
    AnyEvent,
    CallPart,
    FinishReason,
    NativeCall,
    Reply,
    Request,
    Session,
    SessionEnded,
    TextPart,
    Unreadable,
    Usage,
)
from tests.examples import examples

TOKENS = 10
"""What every answer costs."""


class Asked:
    """A question that waits for its answer."""

    def __init__(self, live: Live, answer: asyncio.Future[Reply]) -> None:
        self.live, self.answer = live, answer


class Model(ScriptedEngine):
    """A model that answers what the test says, when it says so."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__([])
        self._world, self._name = world, name

    async def ask(self, request: Request, observe: Any = None) -> Reply:
        return await self._world.asked(self._name, request)


LIMITS = st.builds(
    AgentLimits,
    max_depth=st.integers(0, 3),
    max_fanout=st.integers(0, 3),
    max_agents=st.integers(0, 5),
    max_concurrency=st.integers(1, 2),
    max_turns=st.integers(1, 5),
    max_tokens=st.one_of(st.none(), st.integers(1, 60)),
)


LUCK = st.integers(0, 4)
"""What ends things happens seldom: most runs are to go far."""


class World(RuleBasedStateMachine):
    """One run; each rule lets one thing happen. Every agent asks a model of its own, so it is known who asks."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.waiting: list[Asked] = []
        self.events: list[AnyEvent] = []
        self.broken: list[str] = []
        self.count = 0
        self.kernel: Kernel | None = None
        self.task: asyncio.Task[Any] | None = None

    @precondition(lambda self: self.task is None or self.task.done())
    @rule(root=LIMITS, kid=LIMITS, tool=st.one_of(st.none(), LIMITS))
    def begin(self, root: AgentLimits, kid: AgentLimits, tool: AgentLimits | None) -> None:
        self.check_end()
        self.events.clear()
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        made = CustomTool(name="look", description="Looks.", prompt="Look at {{text}}", parameters=schema, limits=tool)
        agents = [
            Agent(name="root", limits=root, custom_tools=(made,)),
            Agent(name="kid", limits=kid, custom_tools=(made,)),
        ]
        self.kernel = Kernel(agents, engines=lambda name: (Model(self, name), name), model="m", emit=self.events.append)
        self.task = self.loop.create_task(self.kernel.run("root", "go"))
        self.settle()

    async def asked(self, name: str, request: Request) -> Reply:
        """Whose question it is follows from who works just now: the task says it."""
        assert self.kernel is not None
        (live,) = [one for one in self.kernel._live.values() if one.task is asyncio.current_task()]
        rounds = live.rounds + (live._running.rounds if live._running else 0)
        # Noted, not raised: what is raised here is an agent's failure, and would be told as one.
        self.broken += [
            law
            for law, holds in (
                ("nobody is asked without a place to work", live._holds_place),
                ("nobody is asked over a budget", live.spent() is None),
                ("nobody is asked once too often", rounds <= live.limits.max_turns),
            )
            if not holds
        ]
        asked = Asked(live, self.loop.create_future())
        self.waiting.append(asked)
        try:
            return await asked.answer
        finally:
            self.waiting.remove(asked)

    def settle(self) -> None:
        async def quiet() -> None:
            for _ in range(80):
                await asyncio.sleep(0)

        self.loop.run_until_complete(quiet())

    def answer(self, which: int, reply: Reply | EngineError) -> None:
        asked = self.waiting[which % len(self.waiting)]
        if asked.answer.done():
            pass  # it was cancelled in this very moment
        elif isinstance(reply, EngineError):
            asked.answer.set_exception(reply)
        else:
            asked.answer.set_result(reply)
        self.settle()

    def call(self, kind: str) -> tuple[str, dict[str, Any]]:
        self.count += 1
        words = f"task {self.count}"
        ids = [] if self.kernel is None else list(self.kernel._live)
        someone = ids[self.count % len(ids)] if ids else "nobody"
        made: dict[str, tuple[str, dict[str, Any]]] = {
            "beside": ("spawn_agent", {"agent": "kid", "prompt": words, "background": True}),
            "awaited": ("spawn_agent", {"agent": "kid", "prompt": words, "background": False}),
            "again": ("spawn_agent", {"agent": "kid", "prompt": "the same"}),
            "made": ("spawn_agent", {"name": f"made{self.count}", "prompt": words, "system_prompt": "You."}),
            "nobody": ("spawn_agent", {"agent": "who", "prompt": words}),
            "look": ("look", {"text": words}),
            "signal": ("signal_parent", {"message": words}),
            "wait": ("wait_for_agent", {}),
            "wait for": ("wait_for_agent", {"agents": [someone]}),
            "look after": ("wait_for_agent", {"block": False}),
            "stop": ("stop_agent", {"agent": someone}),
            "stop at once": ("stop_agent", {"agent": f"kid-{len(ids)}"}),  # before its first step
        }
        return made[kind]

    KINDS = (
        "beside",
        "awaited",
        "look",
        "beside",
        "awaited",
        "look",
        "again",
        "made",
        "nobody",
        "signal",
        "wait",
        "wait for",
        "look after",
        "stop",
        "stop at once",
    )

    @precondition(lambda self: self.waiting)
    @rule(which=st.integers(0, 9), kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    def calls(self, which: int, kinds: list[str]) -> None:
        parts = [CallPart(NativeCall(f"c{self.count}-{n}", *self.call(kind))) for n, kind in enumerate(kinds)]
        self.answer(which, Reply(tuple(parts), FinishReason.CALLS, usage=Usage(input_tokens=TOKENS, output_tokens=0)))

    @precondition(lambda self: self.waiting)
    @rule(which=st.integers(0, 9))
    def says(self, which: int) -> None:
        self.answer(
            which, Reply((TextPart("done"),), FinishReason.STOP, usage=Usage(input_tokens=TOKENS, output_tokens=0))
        )

    @precondition(lambda self: self.waiting)
    @rule(which=st.integers(0, 9), luck=LUCK)
    def fails(self, which: int, luck: int) -> None:
        if not luck:
            self.answer(which, EngineError("broken"))

    @precondition(lambda self: self.kernel is not None)
    @rule(which=st.integers(0, 9), settled=st.booleans(), luck=LUCK)
    def cancels_one(self, which: int, settled: bool, luck: int) -> None:
        assert self.kernel is not None
        ids = list(self.kernel._live)
        if not luck:
            self.kernel.cancel(ids[which % len(ids)])
        if settled:
            self.settle()

    @precondition(lambda self: self.kernel is not None)
    @rule(times=st.integers(1, 3), luck=LUCK)
    def cancels_all(self, times: int, luck: int) -> None:
        assert self.task is not None
        for _ in range(0 if luck else times):
            self.task.cancel()
            self.loop.run_until_complete(asyncio.sleep(0))
        self.settle()

    # ── what always holds ──────────────────────────────────────────────────

    @invariant()
    def no_limit_is_passed(self) -> None:
        assert self.broken == []
        for live in [] if self.kernel is None else self.kernel._live.values():
            above = [one for one in live.lineage if one is not live]
            assert all(live.depth - one.depth <= one.limits.max_depth for one in above)
            assert len(live.children) <= live.limits.max_fanout
            assert live.started == sum(live in other.lineage for other in self.kernel._live.values()) - 1
            assert live.started <= live.limits.max_agents
            working = [asked for asked in self.waiting if live in asked.live.lineage]
            assert len(working) <= live.limits.max_concurrency
            held = [one for one in self.kernel._live.values() if live in one.lineage and one._holds_place]
            assert len(held) <= live.limits.max_concurrency
            rounds = live.rounds + (live._running.rounds if live._running else 0)
            assert rounds <= live.limits.max_turns
            if live.limits.max_tokens is not None:
                # What was under way when the last token was used up is not taken back.
                assert live.tokens < live.limits.max_tokens + TOKENS * live.limits.max_concurrency

    @invariant()
    def every_end_is_told_once(self) -> None:
        ended = Counter(one.stream for one in self.events if isinstance(one, SessionEnded))
        started = Counter(one.agent for one in self.events if isinstance(one, AgentStarted))
        reported = Counter(one.agent for one in self.events if isinstance(one, AgentEnded))
        assert all(count == 1 for count in (*ended.values(), *started.values(), *reported.values()))
        for live in [] if self.kernel is None else self.kernel._live.values():
            assert (live.ended is not None) == (ended[live.stream] == 1)
            if live.ended is not None:
                assert live.ended.status in ("completed", "failed", "cancelled", "limited")
                assert live.finished.is_set()
                assert not live._holds_place
                assert all(child.ended is not None for child in live.children)

    def check_end(self) -> None:
        """Of a run that has come to its end."""
        if self.task is None or self.kernel is None:
            return
        assert self.task.done(), "it goes on by itself to its end"
        self.every_end_is_told_once()
        for live in self.kernel._live.values():
            assert live.ended is not None
            assert live._slots.free == live.limits.max_concurrency
        if not self.task.cancelled():
            self.task.result()
        (tree,) = sessions_of(self.events)
        assert _streams(tree) == {live.stream for live in self.kernel._live.values()}

    def teardown(self) -> None:
        try:
            while self.waiting:
                self.says(0)
            self.settle()
            self.check_end()
        finally:
            self.loop.close()


def _streams(session: Session) -> set[str]:
    return {session.stream, *(stream for child in session.children for stream in _streams(child))}


TestWorld = World.TestCase
TestWorld.settings = examples(40, stateful_step_count=25, suppress_health_check=list(HealthCheck))


# ── killed ───────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_a_record_of_the_tree_so_far(tmp_path: Path) -> None:
    command, root = [sys.executable, "-m", "tests.agents.endless"], Path(__file__).parents[2]
    for moment in random.Random(11).sample(range(1, 160), 6):
        path = tmp_path / f"{moment}.jsonl"
        with subprocess.Popen([*command, str(path)], stdout=subprocess.PIPE, cwd=root) as run:
            assert run.stdout is not None
            assert len(run.stdout.read(moment)) == moment  # a byte for each event
            run.send_signal(signal.SIGKILL)
        events = list(read(path))
        whole = [event for event in events if not isinstance(event, Unreadable)]
        assert events[: len(whole)] == whole, "only the last line may be broken"
        assert len(whole) >= moment
        (tree,) = sessions_of(whole)
        started = {event.agent for event in whole if isinstance(event, AgentStarted)}
        assert {"main"} <= _streams(tree) <= {"main", *started}
