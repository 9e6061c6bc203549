"""Agents at work: who may start whom, how each ends, and what is told of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from dragoman.agents import Activation, Agent, AgentLimits, Kernel
from dragoman.config import Sandbox
from dragoman.engine import Approval, Question, ScriptedEngine, ToolPolicy
from dragoman.errors import ConfigError, DefinitionError, EngineError
from dragoman.logs import sessions_of
from dragoman.model import (
    AgentEnded,
    AgentStarted,
    AnyEvent,
    ClientNoted,
    Failure,
    ModelAsked,
    Reply,
    Request,
    SessionEnded,
    SessionStarted,
    ToolChoice,
    ToolReturned,
    operations as op,
)
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace, MemoryWorkspace, Tool, Toolset

from .playing import Cast, agent, calls, custom, says, shape, spawns, told

BOSS, KID = agent("boss"), agent("kid")


def kernel_of(cast: Cast, *agents: Agent, **more: Any) -> Kernel:
    return Kernel(agents or (BOSS, KID), engines=cast, **more)


class Held:
    """A model that answers when it is let; `asked` is set while it is waited for."""

    def __init__(self, *answers: Any) -> None:
        self.asked, self.let = asyncio.Event(), asyncio.Event()
        self._script = ScriptedEngine(answers or [says("late")])

    async def ask(self, request: Request, observe: Any = None) -> Reply:
        self.asked.set()
        await self.let.wait()
        return await self._script.ask(request, observe)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._script, name)


# ── required calls ───────────────────────────────────────────────────────────


async def test_an_agent_out_of_turns_says_that_the_required_call_was_missing() -> None:
    cast = Cast(boss=[says("no"), says("no")])
    required = ToolPolicy(choice=ToolChoice("required"))
    ended = await kernel_of(cast, policy=required, limits=AgentLimits(max_turns=2)).run("boss", "Go")
    assert (ended.status, ended.error) == (
        "limited",
        "the limit on turns (2) was reached; the model did not make the required tool call; "
        "give the agent a larger max_turns, or a smaller task",
    )


async def test_an_agent_that_made_the_required_call_need_not_make_another_after_a_report() -> None:
    cast = Cast(
        boss=[calls(spawns("kid", "dig")), says("I wait."), says("Done.")],
        kid=[calls(spawns("nobody", "dig")), says("A bone.")],
    )
    required = ToolPolicy(choice=ToolChoice("required"))
    ended = await kernel_of(cast, policy=required).run("boss", "Go")
    assert (ended.status, ended.text) == ("completed", "Done.")


# ── starting, hearing, waiting ───────────────────────────────────────────────


async def test_a_child_works_beside_its_parent_and_its_answer_is_heard() -> None:
    cast = Cast(boss=[calls(spawns("kid", "dig")), says("I wait."), says("Done.")], kid=[says("A bone.")])
    ended = await kernel_of(cast).run("boss", "Go")
    assert shape(ended) == ("boss", "completed", [("kid", "completed", [])])
    assert told(ended) == ["Agent kid (id kid-1) is running."]
    assert ended.conversation[-2].parts[0].text == "Agent kid (kid-1) completed: A bone."  # type: ignore[union-attr]
    cast.finish()


async def test_a_child_in_the_foreground_is_waited_for_within_the_call() -> None:
    cast = Cast(boss=[calls(spawns("kid", "dig", background=False)), says("Done.")], kid=[says("A bone.")])
    ended = await kernel_of(cast, limits=AgentLimits(max_concurrency=1)).run("boss", "Go")
    assert ended.text == "Done."
    assert told(ended)[0] == "Agent kid (id kid-1) completed its task:\nA bone."
    cast.finish()


async def test_a_signal_is_queued_to_the_parent_and_a_root_has_nobody_to_tell() -> None:
    cast = Cast(
        boss=[
            calls(("signal_parent", {"message": "hello?"}), spawns("kid", "dig")),
            says("I wait."),
            says("So."),
            says("End."),
        ],
        kid=[calls(("signal_parent", {"message": "found it"})), says("A bone.")],
    )
    ended = await kernel_of(cast, limits=AgentLimits(max_concurrency=1)).run("boss", "Go")
    assert "this agent has no parent: it was started directly" in told(ended)[0]
    assert "signal_parent" not in cast.offered("boss")[0]
    assert "signal_parent" in cast.offered("kid")[0]
    heard = [str(item.parts[0].text) for item in ended.conversation[-4::2]]  # type: ignore[union-attr]
    assert heard == ["Agent kid (kid-1) says: found it", "Agent kid (kid-1) completed: A bone."]


async def test_waiting_gives_what_children_say_and_how_they_ended() -> None:
    cast = Cast(
        boss=[calls(spawns("kid", "dig")), calls(("wait_for_agent", {"agents": ["kid-1"]})), says("Done.")],
        kid=[says("A bone.")],
    )
    ended = await kernel_of(cast).run("boss", "Go")
    assert "Agent kid (id kid-1) completed its task:\nA bone." in told(ended)[1]
    assert ended.rounds == 3  # it was not told of the child once more
    cast.finish()


async def test_waiting_has_an_end_and_a_stranger_is_not_waited_for() -> None:
    held = Held()
    cast = Cast(
        boss=[
            calls(spawns("kid", "dig")),
            calls(("wait_for_agent", {"timeout_ms": 1}), ("wait_for_agent", {"agents": ["kid-7"]})),
            calls(("stop_agent", {"agent": "kid-1"})),
            says("Done."),
        ]
    )
    cast.engines["kid"] = held  # type: ignore[assignment]
    ended = await kernel_of(cast).run("boss", "Go")
    assert "The wait ended before all of them were done." in told(ended)[1]
    assert 'no agent below this one is called "kid-7"; there are: kid-1' in told(ended)[2]
    assert "was cancelled" in told(ended)[3]
    assert shape(ended) == ("boss", "completed", [("kid", "cancelled", [])])


async def test_the_more_urgent_has_the_next_place() -> None:
    order: list[str] = []

    def notes(name: str) -> Any:
        return lambda _: order.append(name) or says("ok")

    beside, awaited = spawns("beside", "a"), spawns("awaited", "b", background=False)
    cast = Cast(
        boss=[calls(spawns("first", "z")), calls(beside, awaited), says("x"), says("y"), says("z")],
        **{name: [notes(name)] for name in ("first", "beside", "awaited")},
    )
    agents = (BOSS, agent("first"), agent("beside"), agent("awaited"))
    await kernel_of(cast, *agents, limits=AgentLimits(max_concurrency=1)).run("boss", "Go")
    assert order == ["first", "awaited", "beside"]


# ── ends ─────────────────────────────────────────────────────────────────────


async def test_a_childs_failure_reaches_the_parent_as_a_result_and_not_as_an_error() -> None:
    cast = Cast(
        boss=[calls(spawns("kid", "dig", background=False)), says("A pity.")], kid=[EngineError("no more", status=500)]
    )
    ended = await kernel_of(cast).run("boss", "Go")
    assert shape(ended) == ("boss", "completed", [("kid", "failed", [])])
    assert told(ended)[0] == "Agent kid (id kid-1) failed:\nno more [500]"


async def test_a_child_without_a_model_fails_and_says_why() -> None:
    cast = Cast(boss=[calls(spawns("kid", "dig", background=False)), says("A pity.")])
    lost = agent("kid", model="nobody")
    ended = await kernel_of(cast, BOSS, lost).run("boss", "Go")
    assert ended.children[0].status == "failed"
    assert "nobody" in str(ended.children[0].error)


async def test_cancelling_the_run_cancels_all_below_it_whoever_works_or_waits() -> None:
    held = Held()
    grand = agent("grand")
    cast = Cast(
        boss=[calls(spawns("kid", "a"), spawns("kid", "b", background=False))],
        kid=[calls(spawns("grand", "c", background=False)), calls(spawns("grand", "d", background=False))],
    )
    cast.engines["grand"] = held  # type: ignore[assignment]
    events: list[AnyEvent] = []
    kernel = kernel_of(cast, BOSS, KID, grand, limits=AgentLimits(max_concurrency=1), emit=events.append)
    task = asyncio.create_task(kernel.run("boss", "Go"))
    await held.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert kernel.root is not None
    assert kernel.root.ended is not None
    statuses = {one.ended.status for one in kernel._live.values() if one.ended is not None}
    assert statuses == {"cancelled"}
    assert len([one for one in events if isinstance(one, SessionEnded)]) == len(kernel._live) >= 4
    assert kernel.root._slots.free == 1


class Clinging(Held):
    """A model whose question, once cancelled, takes its time to end: until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.ending = asyncio.Event()

    async def ask(self, request: Request, observe: Any = None) -> Reply:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ending.set()
            while not self.let.is_set():
                try:
                    await self.let.wait()
                except asyncio.CancelledError:
                    continue
        raise AssertionError("it was cancelled")


@pytest.mark.parametrize("background", [True, False])
async def test_a_second_cancel_while_children_are_stopped_leaves_nobody_without_an_end(*, background: bool) -> None:
    clinging = Clinging()
    cast = Cast(boss=[calls(spawns("kid", "a", background=background)), says("I wait.")])
    cast.engines["kid"] = clinging  # type: ignore[assignment]
    events: list[AnyEvent] = []
    kernel = kernel_of(cast, emit=events.append)
    task = asyncio.create_task(kernel.run("boss", "Go"))
    await clinging.asked.wait()
    task.cancel()
    await clinging.ending.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    clinging.let.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert kernel.root is not None
    assert kernel.root.ended is not None
    assert shape(kernel.root.ended) == ("boss", "cancelled", [("kid", "cancelled", [])])
    assert [one.stream for one in events if isinstance(one, SessionEnded)] == ["kid-1", "main"]


async def test_an_agent_that_is_cancelled_twice_ends_after_those_below_it() -> None:
    clinging = Clinging()
    cast = Cast(boss=[calls(spawns("kid", "a", background=False))])
    cast.engines["kid"] = clinging  # type: ignore[assignment]
    kernel = kernel_of(cast)
    task = asyncio.create_task(kernel.run("boss", "Go", run_id="r"))
    await clinging.asked.wait()
    assert kernel.cancel("r")
    await clinging.ending.wait()
    for _ in range(3):
        assert kernel.cancel("r")
        await asyncio.sleep(0)
    clinging.let.set()
    assert shape(await task) == ("boss", "cancelled", [("kid", "cancelled", [])])


async def test_a_run_within_a_deadline_of_the_callers_ends_with_it() -> None:
    held = Held()
    cast = Cast(boss=[calls(spawns("kid", "dig", background=False))])
    cast.engines["kid"] = held  # type: ignore[assignment]
    kernel = kernel_of(cast)

    async def until_the_child_is_at_work() -> None:
        async with asyncio.timeout(None) as deadline:
            running = asyncio.ensure_future(kernel.run("boss", "Go"))
            await held.asked.wait()
            deadline.reschedule(0)
            await running

    with pytest.raises(TimeoutError):
        await until_the_child_is_at_work()
    assert kernel.root is not None
    assert kernel.root.ended is not None
    assert shape(kernel.root.ended) == ("boss", "cancelled", [("kid", "cancelled", [])])


async def test_an_agent_that_is_cancelled_before_its_first_step_ends_all_the_same() -> None:
    kernel: Kernel

    async def start_and_stop(_: Any) -> str:
        root = kernel.root
        assert root is not None
        child = kernel.admit(root, KID, "x", call_id=None)
        return f"{kernel.cancel(child.id)}"

    tool = Tool("start_and_stop", "Does both.", {"type": "object", "properties": {}}, start_and_stop)
    cast = Cast(boss=[calls(("start_and_stop", {})), says("Done."), says("Heard.")], kid=[])
    kernel = kernel_of(cast, tools=[tool])
    ended = await kernel.run("boss", "Go")
    assert shape(ended) == ("boss", "completed", [("kid", "cancelled", [])])


async def test_an_agent_can_be_cancelled_by_its_id_and_the_run_gives_its_end() -> None:
    held = Held()
    kernel = Kernel([BOSS], engines=lambda name: (held, name))  # type: ignore[arg-type, return-value]
    task = asyncio.create_task(kernel.run("boss", "Go", run_id="r"))
    await held.asked.wait()
    assert kernel.cancel("r")
    ended = await task
    assert (ended.status, ended.error) == ("cancelled", "it was cancelled")
    assert not kernel.cancel("r")
    assert not kernel.cancel("nobody")


async def test_a_kernel_runs_one_agent_at_a_time_and_another_after_it() -> None:
    held = Held(says("one"))
    kernel = Kernel([BOSS], engines=lambda name: (held, name))  # type: ignore[arg-type, return-value]
    task = asyncio.create_task(kernel.run("boss", "Go"))
    await held.asked.wait()
    with pytest.raises(ConfigError, match="runs an agent already"):
        await kernel.run("boss", "Go")
    held.let.set()
    assert (await task).text == "one"
    cast = Cast(boss=[says("two")])
    kernel._engines = cast
    assert (await kernel.run("boss", "Go")).text == "two"


async def test_every_engine_is_closed_also_when_one_does_not_let_itself_be() -> None:
    closed: list[str] = []

    class Closing(ScriptedEngine):
        async def close(self) -> None:
            closed.append("one")
            raise OSError("stuck")

    engines = {"boss": Closing([calls(spawns("kid", "x", background=False)), says("a")]), "kid": Closing([says("b")])}
    with pytest.raises(OSError, match="stuck"):
        await Kernel([BOSS, KID], engines=lambda name: (engines[name], name)).run("boss", "Go")
    assert closed == ["one", "one"]


async def test_a_listener_that_fails_ends_the_run_and_leaves_nobody_waiting() -> None:
    def listen(event: AnyEvent) -> None:
        if isinstance(event, ModelAsked) and event.stream != "main":
            raise OSError("disk full")

    cast = Cast(boss=[calls(spawns("kid", "x", background=False)), says("a")], kid=[says("b")])
    ended = await kernel_of(cast, emit=listen).run("boss", "Go")
    assert ended.children[0].error == "OSError: disk full"


async def test_what_nobody_knows_cannot_be_run() -> None:
    with pytest.raises(ConfigError, match=r'no agent "bos".* Did you mean "boss"'):
        await kernel_of(Cast()).run("bos", "Go")


def test_two_agents_of_one_name_are_refused() -> None:
    with pytest.raises(DefinitionError, match=r"two agents called 'boss' \(agents/boss.md\)"):
        Kernel([BOSS, agent("boss", path="agents/boss.md")])


# ── limits ───────────────────────────────────────────────────────────────────


async def test_depth_counts_every_way_to_start_and_what_could_only_fail_is_not_offered() -> None:
    tool = custom("look")
    boss = agent("boss", limits=AgentLimits(max_depth=1), custom_tools=(tool,))
    cast = Cast(
        boss=[calls(("look", {"text": "a"}), spawns("kid", "b", background=False)), says("Done.")],
        kid=[calls(spawns("kid", "deeper")), says("No."), says("?")],
    )
    cast.engines["boss"] = ScriptedEngine(
        [
            calls(("look", {"text": "a"})),
            calls(spawns("boss", "no")),
            says("looked"),
            calls(spawns("kid", "b", background=False)),
            says("Done."),
        ]
    )
    ended = await kernel_of(cast, boss, KID).run("boss", "Go")
    assert shape(ended) == ("boss", "completed", [("boss/look", "completed", []), ("kid", "completed", [])])
    assert "nested deeper than 1 here (max_depth)" in told(ended.children[0])[0]
    assert "nested deeper than 1 here (max_depth)" in told(ended.children[1])[0]
    starting = {"spawn_agent", "wait_for_agent", "stop_agent", "look"}
    assert [names & starting for names in cast.offered("boss")] == [starting, set(), set(), starting, starting]
    assert [names & starting for names in cast.offered("kid")] == [set(), set()]


async def test_fan_out_counts_custom_tools_and_spawns_together() -> None:
    boss = agent("boss", limits=AgentLimits(max_fanout=2), custom_tools=(custom("look", model="kid"),))
    many = calls(("look", {"text": "a"}), spawns("kid", "b"), spawns("kid", "c"), ("look", {"text": "d"}))
    cast = Cast(boss=[many, says("x"), says("y"), says("z")], kid=[says("1"), says("2")])
    ended = await kernel_of(cast, boss, KID).run("boss", "Go")
    assert len(ended.children) == 2
    assert [("may start 2 others, and has (max_fanout)" in text) for text in told(ended)] == [False, False, True, True]
    assert {"spawn_agent", "look"} <= cast.offered("boss")[0]
    assert not {"spawn_agent", "look"} & cast.offered("boss")[1]


async def test_all_agents_of_a_tree_are_counted_together() -> None:
    boss = agent("boss", limits=AgentLimits(max_agents=3))
    two = [calls(spawns("kid", "a", background=False), spawns("kid", "b", background=False)), says("x")]
    own = calls(spawns("grand", "c", background=False), spawns("grand", "d", background=False))
    cast = Cast(boss=two, kid=[own, says("1"), own, says("2")], grand=[says("g")] * 4)
    ended = await kernel_of(cast, boss, KID, agent("grand", model="grand")).run("boss", "Go")
    assert len([*everybody(ended)]) == 4
    refusals = [text for one in everybody(ended) for text in told(one) if "(max_agents)" in text]
    assert len(refusals) >= 1
    assert all("boss and those below it may start 3 in all (max_agents)" in text for text in refusals)


def everybody(ended: Activation) -> Iterator[Activation]:
    yield ended
    for child in ended.children:
        yield from everybody(child)


async def test_a_spawn_over_a_limit_is_a_typed_failure_that_names_it() -> None:
    events: list[AnyEvent] = []
    boss = agent("boss", limits=AgentLimits(max_fanout=0))
    cast = Cast(boss=[calls(spawns("kid", "a")), says("Done.")])
    await kernel_of(cast, boss, KID, emit=events.append).run("boss", "Go")
    failed = [one.result.outcomes[0] for one in events if isinstance(one, ToolReturned)]
    limit = "this agent may start 0 others, and has (max_fanout)"
    assert failed == [Failure("denied", f"kid was not started: {limit}", {"limit": limit})]


async def test_turns_are_limited_over_all_that_an_agent_is_told() -> None:
    boss = agent("boss", limits=AgentLimits(max_turns=2))
    cast = Cast(boss=[calls(spawns("kid", "a")), says("I wait."), says("never")], kid=[says("A bone.")])
    ended = await kernel_of(cast, boss, KID).run("boss", "Go")
    assert (ended.status, ended.rounds) == ("limited", 2)
    assert ended.error == "the limit on turns (2) was reached; give the agent a larger max_turns, or a smaller task"


async def test_tokens_are_counted_over_the_tree() -> None:
    boss = agent("boss", limits=AgentLimits(max_tokens=100))
    cast = Cast(boss=[calls(spawns("kid", "a", background=False)), says("never")], kid=[says("long", tokens=90)])
    ended = await kernel_of(cast, boss, KID).run("boss", "Go")
    assert (ended.status, ended.error) == (
        "limited",
        "the limit on tokens (100) was reached; boss and the agents below it share it",
    )
    assert ended.children[0].status == "completed"


async def test_a_child_stops_when_what_is_left_of_the_trees_tokens_is_used_up() -> None:
    boss = agent("boss", limits=AgentLimits(max_tokens=100))
    endless = [calls(("read_file", {"path": "a"}), tokens=40)] * 5
    cast = Cast(boss=[calls(spawns("kid", "a", background=False))], kid=endless)
    ended = await kernel_of(cast, boss, KID, workspace=MemoryWorkspace(), tools=[TOOLS["read_file"]]).run("boss", "Go")
    assert shape(ended) == ("boss", "limited", [("kid", "limited", [])])
    assert len(cast.asked("kid")) == 3  # 15 + 3 · 40 is the first sum over 100


async def test_cost_is_counted_over_the_tree_and_a_model_without_a_price_is_not_asked() -> None:
    from dragoman.config import Price

    dear, free = Decimal(1_000_000), Decimal(0)
    prices = [Price(model=name, input=dear, output=free) for name in ("boss", "kid")]
    cast = Cast(boss=[calls(spawns("kid", "a", background=False)), says("never")], kid=[says("dear", tokens=55)])
    ended = await kernel_of(cast, policy=ToolPolicy(max_cost=50.0), prices=prices).run("boss", "Go")
    assert (ended.status, ended.children[0].status) == ("limited", "completed")
    assert str(ended.error).startswith("the limit on cost (50) was reached")
    unknown = await kernel_of(Cast(boss=[]), policy=ToolPolicy(max_cost=50.0)).run("boss", "Go")
    assert unknown.status == "failed"
    assert "what boss costs is not known" in str(unknown.error)


async def test_time_is_limited_also_while_waiting_for_a_child() -> None:
    boss = agent("boss", limits=AgentLimits(timeout=0.5, max_concurrency=1))
    cast = Cast(boss=[calls(spawns("kid", "a", background=False))])
    cast.engines["kid"] = Held()  # type: ignore[assignment]
    ended = await kernel_of(cast, boss, KID).run("boss", "Go")
    assert shape(ended) == ("boss", "limited", [("kid", "cancelled", [])])
    assert ended.error == "the limit on seconds (0.5) was reached; give the agent a larger timeout"


async def test_a_child_is_never_given_more_than_its_parent_has() -> None:
    boss = agent("boss", limits=AgentLimits(max_turns=3, max_fanout=1, max_tokens=1000))
    kid = agent("kid", limits=AgentLimits(max_turns=99, max_fanout=99, max_tokens=None, max_depth=99))
    cast = Cast(boss=[calls(spawns("kid", "a", background=False)), says("x")], kid=[says("y")])
    kernel = kernel_of(cast, boss, kid)
    await kernel.run("boss", "Go")
    child = kernel._live["kid-1"]
    assert child.limits == AgentLimits(max_turns=3, max_fanout=1, max_tokens=1000, max_depth=5)
    assert child.deepest == 5


async def test_the_same_agent_with_the_same_input_is_a_loop() -> None:
    cast = Cast(
        boss=[calls(spawns("boss", "Go"), spawns("kid", "a"), spawns("kid", "a")), says("x"), says("y")],
        kid=[says("1")],
    )
    ended = await kernel_of(cast).run("boss", "Go")
    loops = [text for text in told(ended) if "the very same input before" in text]
    assert len(loops) == 2
    assert len(ended.children) == 1


async def test_what_failed_may_be_tried_again() -> None:
    again = calls(spawns("kid", "a", background=False))
    cast = Cast(boss=[again, again, says("x")], kid=[EngineError("once"), says("1")])
    ended = await kernel_of(cast).run("boss", "Go")
    assert [child.status for child in ended.children] == ["failed", "completed"]


# ── what an agent may do ─────────────────────────────────────────────────────

READ, WRITE = TOOLS["read_file"], TOOLS["write_file"]


async def test_an_agent_is_offered_what_its_file_names() -> None:
    cast = Cast(boss=[says("x")])
    boss = agent("boss", tools=("read_file",))
    await kernel_of(cast, boss, workspace=MemoryWorkspace(), tools=[READ, WRITE]).run("boss", "Go")
    assert cast.offered("boss") == [{"vfs_read"}]


async def test_a_tool_that_comes_while_an_agent_works_is_offered_in_its_next_round() -> None:
    tools = Toolset()

    async def grow(_: Any) -> str:
        tools.register(Tool("late", "Comes late.", {"type": "object", "properties": {}}, lambda _: "here"))
        return "grown"

    tools.register(Tool("grow", "Grows.", {"type": "object", "properties": {}}, grow))
    cast = Cast(boss=[calls(("grow", {})), calls(("late", {})), says("x")])
    ended = await kernel_of(cast, tools=tools).run("boss", "Go")
    assert told(ended) == ["grown", "here"]
    assert ["late" in names for names in cast.offered("boss")] == [False, True, True]


async def test_an_agent_made_by_another_is_lent_no_more_than_that_one_has_and_one_of_the_callers_is() -> None:
    boss = agent("boss", tools=("read_file", "spawn_agent"))
    made = ("spawn_agent", {"name": "made", "prompt": "a", "system_prompt": "You.", "model": "kid"})
    cast = Cast(boss=[calls(made, spawns("kid", "b")), says("x"), says("y"), says("z")], kid=[says("1"), says("2")])
    await kernel_of(cast, boss, KID, workspace=MemoryWorkspace(), tools=[READ, WRITE]).run("boss", "Go")
    among = {"spawn_agent", "wait_for_agent", "stop_agent", "signal_parent", "message_agent", "list_agents"}
    assert [names - among for names in cast.offered("kid")] == [{"vfs_read"}, {"vfs_read", "vfs_write"}]


async def test_a_policy_binds_all_below_it_whatever_their_files_say() -> None:
    policy = ToolPolicy(approval=(Approval("deny", path="secret*"),))
    kid = agent("kid", policy={"default": "allow", "approval": [{"verdict": "allow", "operation": "read_file"}]})
    cast = Cast(
        boss=[calls(spawns("kid", "a", background=False)), says("x")],
        kid=[calls(("vfs_read", {"path": "secret.txt"})), says("y")],
    )
    workspace = MemoryWorkspace({"secret.txt": "x"})
    ended = await kernel_of(cast, BOSS, kid, workspace=workspace, tools=[READ], policy=policy).run("boss", "Go")
    assert "This call was not allowed: rule 1 (path=secret*)" in told(ended.children[0])[0]


async def test_one_approver_is_asked_by_all_and_hears_who_asks() -> None:
    asked: list[str | None] = []

    def approve(question: Question) -> bool:
        asked.append(question.agent)
        return True

    policy = ToolPolicy(approval=(Approval("ask", operation="read_file"),))
    reads = calls(("vfs_read", {"path": "a"}))
    cast = Cast(boss=[reads, calls(spawns("kid", "a", background=False)), says("x")], kid=[reads, says("y")])
    workspace = MemoryWorkspace({"a": "x"})
    await kernel_of(cast, workspace=workspace, tools=[READ], policy=policy, approver=approve).run("boss", "Go")
    assert asked == ["boss", "kid"]


async def test_a_call_that_waits_for_an_answer_makes_the_run_wait() -> None:
    policy = ToolPolicy(default="ask")
    cast = Cast(boss=[calls(("vfs_read", {"path": "a"}))])
    kernel = kernel_of(cast, workspace=MemoryWorkspace(), tools=[READ], policy=policy, approver=lambda _: None)
    ended = await kernel.run("boss", "Go")
    assert (ended.status, ended.error) == ("waiting", None)
    assert [call.operations for call in kernel.waiting] == [(op.ReadFile("a"),)]


async def test_an_approver_may_take_its_time_and_a_child_goes_on_then() -> None:
    asked, answer = asyncio.Event(), asyncio.Event()

    async def approve(_: Question) -> bool:
        asked.set()
        await answer.wait()
        return True

    reads = calls(("vfs_read", {"path": "a"}))
    cast = Cast(boss=[calls(spawns("kid", "a")), says("x"), says("y")], kid=[reads, says("Read.")])
    policy = ToolPolicy(approval=(Approval("ask", operation="read_file"),))
    kernel = kernel_of(cast, workspace=MemoryWorkspace({"a": "x"}), tools=[READ], policy=policy, approver=approve)
    task = asyncio.create_task(kernel.run("boss", "Go"))
    await asked.wait()
    answer.set()
    assert shape(await task) == ("boss", "completed", [("kid", "completed", [])])


# ── agents written as files ──────────────────────────────────────────────────


def written(instructions: str, more: str = "") -> str:
    return f"---\nname: digger\ndescription: Digs.\nmodel: kid\n{more}---\n{instructions}\n"


async def test_a_file_written_under_agents_is_that_agent_from_then_on() -> None:
    def writes(text: str) -> tuple[str, dict[str, Any]]:
        return "vfs_write", {"path": "agents/digger.md", "content": text}

    cast = Cast(
        boss=[
            calls(writes(written("Dig deep."))),
            calls(spawns("agents/digger.md", "one", background=False)),
            calls(writes(written("Dig wide."))),
            calls(spawns("digger", "two", background=False)),
            says("Done."),
        ],
        kid=[says("1"), says("2")],
    )
    await kernel_of(cast, workspace=MemoryWorkspace(), tools=[READ, WRITE]).run("boss", "Go")
    systems = [str(request.conversation[0].parts[0].text) for request in cast.asked("kid")]  # type: ignore[union-attr]
    assert [text.strip() for text in systems] == ["Dig deep.", "Dig wide."]


async def test_a_file_is_started_by_its_name_whatever_letters_that_has() -> None:
    names = ("料理人", "code.review", "agent", "two words")
    workspace = MemoryWorkspace({f"agents/{name}.md": written(f"You are {name}.") for name in names})
    started = [calls(spawns(name, f"for {name}", background=False)) for name in (*names, "agents/code.review.md")]
    cast = Cast(boss=[*started, says("Done.")], kid=[says("ok")] * 5)
    await kernel_of(cast, workspace=workspace).run("boss", "Go")
    systems = [str(request.conversation[0].parts[0].text) for request in cast.asked("kid")]  # type: ignore[union-attr]
    assert systems == [f"You are {name}." for name in (*names, "code.review")]


@pytest.mark.parametrize("names", [("料理人", "画家"), ("🍵", "🎨")])
async def test_agents_made_with_names_in_other_scripts_are_not_one_another(names: tuple[str, str]) -> None:
    def made(name: str) -> tuple[str, dict[str, Any]]:
        more = {"system_prompt": f"You are {name}.", "model": "kid", "background": False}
        return "spawn_agent", {"name": name, "prompt": "Go", **more}

    cast = Cast(boss=[*(calls(made(name)) for name in names), says("x")], kid=[says("1"), says("2")])
    await kernel_of(cast, workspace=MemoryWorkspace()).run("boss", "Go")
    systems = [str(request.conversation[0].parts[0].text) for request in cast.asked("kid")]  # type: ignore[union-attr]
    assert systems == [f"You are {name}." for name in names]


async def test_a_broken_file_tells_the_model_every_problem_with_its_line() -> None:
    workspace = MemoryWorkspace(
        {"agents/digger.md": "---\nname: digger\nmodle: x\nlimits:\n  max_depth: -1\n---\nDig.\n"}
    )
    cast = Cast(boss=[calls(spawns("digger", "one")), says("Done.")])
    ended = await kernel_of(cast, workspace=workspace).run("boss", "Go")
    (text,) = told(ended)
    assert "line 3" in text
    assert "max_depth" in text
    assert "line 5" in text


async def test_spawning_with_instructions_writes_a_file_and_an_agent_that_is_there_is_not_overwritten() -> None:
    def made(prompt: str, words: str) -> tuple[str, dict[str, Any]]:
        more = {"system_prompt": words, "model": "kid", "background": False}
        return "spawn_agent", {"name": "digger.md", "prompt": prompt, **more}

    workspace = MemoryWorkspace()
    cast = Cast(
        boss=[calls(made("a", "Dig deep.")), calls(made("b", "Dig wide.")), says("x")], kid=[says("1"), says("2")]
    )
    await kernel_of(cast, workspace=workspace).run("boss", "Go")
    with workspace.open("agents/digger.md") as file:
        assert file.read() == b"---\nname: digger\ndescription: digger\n---\nDig deep.\n"
    assert len(cast.asked("kid")) == 2


@pytest.mark.parametrize("begin", ["---\n", "\n---\n", "---\r\n"])
async def test_instructions_may_be_a_whole_file_and_what_it_says_holds(begin: str) -> None:
    text = f"{begin}name: digger\ntools: [read_file]\n---\nDig.\n"
    made = (
        "spawn_agent",
        {"name": "digger", "prompt": "a", "system_prompt": text, "model": "kid", "background": False},
    )
    cast = Cast(boss=[calls(made), says("x")], kid=[says("1")])
    await kernel_of(cast, workspace=MemoryWorkspace(), tools=[READ, WRITE]).run("boss", "Go")
    assert cast.offered("kid") == [{"vfs_read", "signal_parent"}]
    assert str(cast.asked("kid")[0].conversation[0].parts[0].text).strip() == "Dig."  # type: ignore[union-attr]


async def test_who_may_not_write_makes_agents_for_the_run_only() -> None:
    made = ("spawn_agent", {"name": "digger", "prompt": "a", "system_prompt": "Dig.", "model": "kid"})
    workspace = MemoryWorkspace()
    cast = Cast(boss=[calls(made), says("x"), says("y")], kid=[says("1")])
    policy = ToolPolicy(approval=(Approval("deny", kind="write"),))
    kernel = kernel_of(cast, workspace=workspace, policy=policy)
    ended = await kernel.run("boss", "Go")
    assert ended.children[0].agent == "digger"
    assert workspace.entry("agents") is None
    assert "digger" in kernel.names()


async def test_a_name_that_leads_elsewhere_is_only_a_name(tmp_path: Any) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret.md").write_text("---\nname: secret\ndescription: x\n---\nHm.\n")
    cast = Cast(boss=[calls(spawns("../../secret", "one")), says("Done.")])
    ended = await kernel_of(cast, workspace=DiskWorkspace(tmp_path / "inside")).run("boss", "Go")
    assert 'there is no agent "../../secret"' in told(ended)[0]


@pytest.mark.parametrize("target", ["/etc", "/nowhere", "agents"])
async def test_a_folder_of_agents_that_leads_elsewhere_holds_none_and_costs_nothing(tmp_path: Any, target: str) -> None:
    (tmp_path / "agents").symlink_to(target)
    cast = Cast(boss=[calls(spawns("kid", "a", background=False)), says("Done.")], kid=[says("ok")])
    kernel = kernel_of(cast, workspace=DiskWorkspace(tmp_path))
    assert shape(await kernel.run("boss", "Go")) == ("boss", "completed", [("kid", "completed", [])])
    assert kernel.names() == ("boss", "kid")


# ── the record ───────────────────────────────────────────────────────────────


async def test_the_events_of_a_tree_are_one_session_with_a_stream_for_each_agent() -> None:
    cast = Cast(boss=[calls(spawns("kid", "dig")), says("I wait."), says("Done.")], kid=[says("A bone.")])
    events: list[AnyEvent] = []
    await kernel_of(cast, emit=events.append).run("boss", "Go", run_id="r1")
    assert len({event.id for event in events}) == len(events)
    assert {event.session for event in events} == {"r1"}
    for stream in ("main", "kid-1"):
        kinds = [type(event) for event in events if event.stream == stream]
        assert (kinds[0], kinds[-1]) == (SessionStarted, SessionEnded)
        assert (kinds.count(SessionStarted), kinds.count(SessionEnded)) == (1, 1)
    started = [event for event in events if isinstance(event, AgentStarted)]
    ended = [event for event in events if isinstance(event, AgentEnded)]
    assert [(one.stream, one.agent, one.call_id, one.prompt) for one in started] == [
        ("main", "kid-1", "spawn_agent-0", "dig")
    ]
    assert [(one.stream, one.agent, one.status, one.text) for one in ended] == [
        ("main", "kid-1", "completed", "A bone.")
    ]
    (session,) = sessions_of(events)
    assert [(child.stream, child.parent_call) for child in session.children] == [("kid-1", "spawn_agent-0")]


async def test_what_a_file_asks_for_beyond_its_bounds_is_noted_and_not_done() -> None:
    events: list[AnyEvent] = []
    kid = agent("kid", policy={"max_cost": 100.0, "timeout": 9999.0})
    cast = Cast(boss=[calls(spawns("kid", "a", background=False)), says("x")], kid=[says("y")])
    kernel = kernel_of(cast, BOSS, kid, emit=events.append)
    await kernel.run("boss", "Go")
    noted = [one.data for one in events if isinstance(one, ClientNoted)]
    assert noted == [{"refused": ["policy.timeout: 9999.0 is looser than 30.0"]}]
    assert kernel._live["kid-1"].policy.timeout == 30.0


async def test_chunks_are_seen_with_the_agent_they_come_from() -> None:
    seen: list[str] = []
    cast = Cast(boss=[calls(spawns("kid", "a", background=False)), says("x")], kid=[says("y")])
    await kernel_of(cast, watch=lambda live, _: seen.append(live.agent.name)).run("boss", "Go")
    assert list(dict.fromkeys(seen)) == ["boss", "kid"]


def test_an_activation_is_data() -> None:
    made = Activation(id="a", agent="b", input="c", status="completed")
    assert msgspec.json.decode(msgspec.json.encode(made), type=Activation) == made
    assert op.SpawnAgent("x").kind == "agent"


async def test_servers_that_nobody_opened_for_a_child_are_noted() -> None:
    kid = agent("kid", mcp_servers={"near": {"command": "near-mcp"}, "open": {"command": "open-mcp"}})
    tool = Tool("mcp__open__x", "x", {"type": "object", "properties": {}}, lambda _: "x", tags=("mcp", "mcp:open"))
    cast = Cast(boss=[calls(spawns("kid", "a", background=False)), says("x")], kid=[says("y")])
    events: list[AnyEvent] = []
    await kernel_of(cast, BOSS, kid, tools=[tool], emit=events.append).run("boss", "Go")
    noted = [(one.stream, one.name, one.data) for one in events if isinstance(one, ClientNoted)]
    assert noted == [("kid-1", "servers_not_started", {"servers": ["near"]})]


# ── models that nobody vouches for ───────────────────────────────────────────


async def test_a_model_cannot_choose_a_model_that_opens_or_fetches_a_file() -> None:
    opened: list[str] = []
    cast = Cast(
        boss=[
            calls(*(spawns("kid", "dig", model=model) for model in ("local:./evil.gguf", "local:qwen2.5-coder-1.5b"))),
            says("Done."),
        ]
    )

    def engines(model: str) -> Any:
        opened.append(model)
        return cast(model)

    ended = await Kernel((BOSS, KID), engines=engines).run("boss", "Go")
    assert (ended.status, opened) == ("completed", ["boss"])
    first, second = told(ended)
    assert ("more than the name of a model" in first, "would run in this process" in second) == (True, True)


async def test_a_strangers_agent_cannot_choose_a_model_file_and_one_that_was_given_can() -> None:
    file = "local:./model.gguf"
    opened: list[str] = []
    cast = Cast(boss=[calls(spawns("kid", "one", background=False)), says("Done.")])
    cast.engines[file] = ScriptedEngine([says("Hello.")])

    def engines(model: str) -> Any:
        opened.append(model)
        return cast(model)

    kid = agent("kid", model=file)
    ended = await Kernel((BOSS,), strangers=(kid,), engines=engines).run("boss", "Go")
    assert (shape(ended), opened) == (("boss", "completed", [("kid", "failed", [])]), ["boss"])
    cast.engines["boss"] = ScriptedEngine([calls(spawns("kid", "one", background=False)), says("Done.")])
    given = await Kernel((BOSS, kid), engines=engines).run("boss", "Go")
    assert (shape(given), opened) == (("boss", "completed", [("kid", "completed", [])]), ["boss", "boss", file])


async def test_the_sandbox_of_an_agent_holds_for_all_below_it_and_only_gets_stricter() -> None:
    boss = agent("boss", sandbox={"network": False, "hidden": (".env",)})
    kid = agent("kid", sandbox={"network": True, "unsandboxed": "deny", "hidden": ("keys",)})
    cast = Cast(boss=[calls(spawns("kid", "a", background=False)), says("x")], kid=[says("y")])
    events: list[AnyEvent] = []
    kernel = kernel_of(cast, boss, kid, sandbox=Sandbox(mode="auto"), emit=events.append)
    await kernel.run("boss", "Go")
    assert kernel.root is not None
    assert kernel.root.sandbox == Sandbox(mode="auto", network=False, hidden=(".env",))
    assert kernel._live["kid-1"].sandbox == Sandbox(
        mode="auto", network=False, hidden=(".env", "keys"), unsandboxed="deny"
    )
    noted = [one.data for one in events if isinstance(one, ClientNoted)]
    assert noted == [
        {"refused": ["sandbox.network: true is not stricter than false, so only your own settings may set it"]}
    ]
