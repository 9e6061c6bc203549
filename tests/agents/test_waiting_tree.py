"""Trees of agents that wait for an answer, or were interrupted, and go on from their record as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from dragoman.agents import Agent, Kernel
from dragoman.engine import Answer, Approval, Question, ToolPolicy
from dragoman.errors import ConfigError
from dragoman.model import (
    AgentEnded,
    AgentStarted,
    AnyEvent,
    Reply,
    Request,
    ResultPart,
    SessionEnded,
    ToolCalled,
    ToolReturned,
    UnknownOutcome,
    UserSaid,
)
from dragoman.tools import Context, Tool

from .playing import Cast, agent, calls, custom, says, shape, spawns

MANY = 40


def results(request: Request) -> list[str]:
    parts = (part for item in request.conversation for part in item.parts)
    return [str(part.result.content) for part in parts if isinstance(part, ResultPart)]


def said_to(request: Request) -> list[str]:
    return [
        "".join(getattr(part, "text", "") for part in item.parts)
        for item in request.conversation
        if item.role == "user"
    ]


def plays(first: Reply, *, then: str = "Done: {}") -> list[Callable[[Request], Reply]]:
    """A model that makes these calls, once, and says what they gave; what it is told later it repeats."""

    def play(request: Request) -> Reply:
        given = results(request)
        return says(then.format(" | ".join((*given, *said_to(request)[1:])))) if given else first

    return [play] * MANY


class World:
    """What the tools of these agents do outside, and what is recorded."""

    def __init__(self, recorded: Sequence[AnyEvent] = ()) -> None:
        self.paid: list[int] = []
        self.events: list[AnyEvent] = [*recorded]
        self.asked: list[Question] = []

    def kernel(self, cast: Cast, *agents: Agent, approval: str = "ask", **more: Any) -> Kernel:
        def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return f"paid {amount}"

        def look() -> str:
            """Look."""
            return "seen"

        async def ask_another(context: Context) -> str:
            """Ask another agent, from a function."""
            return (await context.spawn("pay 7", agent="payer")).text or ""

        def put_off(question: Question) -> None:
            self.asked.append(question)

        rules: Any = (Approval(approval, tool="pay"),)
        return Kernel(
            agents,
            engines=cast,
            configuration=None,
            tools=[Tool.from_function(one) for one in (pay, look, ask_another)],
            policy=ToolPolicy(approval=rules),
            approver=put_off,
            emit=self.events.append,
            **more,
        )


ALL = ("pay", "look", "ask_another", "spawn_agent", "wait_for_agent", "signal_parent", "message_agent")


def family(boss: Reply) -> tuple[Callable[[], Cast], tuple[Agent, ...]]:
    """A boss, somebody who pays, and somebody who looks; the models are made anew for every process."""

    def cast() -> Cast:
        return Cast(
            boss=plays(boss),
            payer=plays(calls(("pay", {"amount": 7}))),
            looker=plays(calls(("look", {}))),
            middle=plays(calls(spawns("payer", "pay 7", background=False))),
        )

    return cast, tuple(agent(name, tools=ALL) for name in ("boss", "payer", "looker", "middle"))


def answers(world: World, *, allowed: bool) -> dict[str, Answer]:
    return {one.digest: Answer(allowed=allowed, by="user", digest=one.digest) for one in world.asked}


TREES = {
    "awaited": calls(spawns("payer", "pay 7", background=False), spawns("looker", "look", background=False)),
    "beside": calls(spawns("payer", "pay 7", background=True), spawns("looker", "look", background=True)),
    "deep": calls(spawns("middle", "see to it", background=False), spawns("looker", "look", background=False)),
    "own": calls(("pay", {"amount": 7}), spawns("looker", "look", background=False)),
}


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("allowed", [True, False])
async def test_a_tree_waits_and_goes_on_as_one(tree: str, *, allowed: bool) -> None:
    cast, agents = family(TREES[tree])
    before = World()
    kernel = before.kernel(cast(), *agents)
    waiting = await kernel.run("boss", "Go", run_id="r")
    assert (waiting.status, before.paid) == ("waiting", [])
    assert [call.native.name for call in kernel.waiting] == ["pay"]
    ends = [(event.agent, event.status) for event in before.events if isinstance(event, AgentEnded)]
    assert [end for end in ends if end[0].startswith("looker")] == [(ends[0][0], "completed")]  # it went on
    assert [event.reason for event in before.events if isinstance(event, SessionEnded) and event.stream == "main"] == [
        "interrupted"
    ]

    after = World(before.events)
    later = cast()
    ended = await after.kernel(later, *agents).run(
        "boss", "", run_id="r", recorded=tuple(before.events), answers=answers(before, allowed=allowed)
    )
    assert (ended.status, after.paid, after.asked) == ("completed", [7] if allowed else [], [])
    assert later.asked("looker") == []
    assert "seen" in ended.text
    assert ("paid 7" in ended.text) is allowed
    ids = [event.id for event in after.events]
    assert len(ids) == len(set(ids))
    assert sorted(event.agent for event in after.events if isinstance(event, AgentStarted)) == sorted(
        {event.agent for event in after.events if isinstance(event, AgentEnded)}
    )


async def test_a_tree_waits_again_while_there_is_no_answer() -> None:
    cast, agents = family(TREES["deep"])
    world = World()
    await world.kernel(cast(), *agents).run("boss", "Go", run_id="r")
    for _ in range(2):
        again = World(world.events)
        kernel = again.kernel(cast(), *agents)
        ended = await kernel.run("boss", "", run_id="r", recorded=tuple(world.events))
        assert (ended.status, again.paid, len(again.asked)) == ("waiting", [], 1)
        assert [call.native.name for call in kernel.waiting] == ["pay"]
        world = again
    last = World(world.events)
    ended = await last.kernel(cast(), *agents).run(
        "boss", "", run_id="r", recorded=tuple(world.events), answers=answers(world, allowed=True)
    )
    assert (ended.status, last.paid) == ("completed", [7])


async def test_a_custom_tool_waits_with_its_agent() -> None:
    boss = agent("boss", tools=("pay",), custom_tools=(custom("settle", model="payer"),))

    def cast() -> Cast:
        return Cast(boss=plays(calls(("settle", {"text": "it"}))), payer=plays(calls(("pay", {"amount": 7}))))

    world = World()
    assert (await world.kernel(cast(), boss).run("boss", "Go", run_id="r")).status == "waiting"
    after = World(world.events)
    ended = await after.kernel(cast(), boss).run(
        "boss", "", run_id="r", recorded=tuple(world.events), answers=answers(world, allowed=True)
    )
    assert (ended.status, ended.text, after.paid) == ("completed", "Done: Done: paid 7", [7])


async def test_an_agent_that_a_function_started_does_not_wait() -> None:
    """The function could not be continued in another process."""
    cast, agents = family(calls(("ask_another", {})))
    world = World()
    ended = await world.kernel(cast(), *agents).run("boss", "Go")
    assert shape(ended) == ("boss", "completed", [("payer", "failed", [])])
    assert world.paid == []


@pytest.mark.parametrize("tree", TREES)
async def test_a_tree_cut_off_at_any_event_repeats_no_effect_and_comes_to_its_end(tree: str) -> None:
    cast, agents = family(TREES[tree])
    whole = World()
    assert (await whole.kernel(cast(), *agents, approval="allow").run("boss", "Go", run_id="r")).status == "completed"
    assert whole.paid == [7]
    for cut in range(1, len(whole.events)):
        recorded = tuple(whole.events[:cut])
        begun = any(isinstance(event, ToolCalled) and event.call.native.name == "pay" for event in recorded)
        told = any(isinstance(event, ToolReturned) and "paid 7" in str(event.result.native) for event in recorded)
        after = World(recorded)
        task = "" if any(isinstance(event, UserSaid) for event in recorded) else "Go"
        ended = await after.kernel(cast(), *agents, approval="allow").run("boss", task, run_id="r", recorded=recorded)
        assert ended.status == "completed", (cut, ended.error)
        assert after.paid == ([] if begun else [7]), cut
        unknown = [
            event
            for event in after.events
            if isinstance(event, ToolReturned) and any(isinstance(one, UnknownOutcome) for one in event.result.outcomes)
        ]
        # Only what had begun, and was not told of, is unknown; an agent that was started is not.
        assert bool([one for one in unknown if one.result.call_id.startswith("pay")]) is (begun and not told), cut
        ids = [event.id for event in after.events]
        assert len(ids) == len(set(ids)), cut
        heard = [event.text for event in after.events if isinstance(event, UserSaid) and event.stream == "main"]
        assert heard[0] == "Go"
        assert heard.count("Go") == 1


async def test_limits_count_what_was_used_before() -> None:
    cast, agents = family(TREES["awaited"])
    world = World()
    policy = ToolPolicy(approval=(Approval("ask", tool="pay"),), max_tokens=50)
    await world.kernel(cast(), *agents).run("boss", "Go", run_id="r")
    after = World(world.events)
    kernel = after.kernel(cast(), *agents)
    kernel.policy = policy
    ended = await kernel.run("boss", "", run_id="r", recorded=tuple(world.events), answers=answers(world, allowed=True))
    assert ended.status == "limited"
    assert kernel.root is not None
    assert kernel.root.tokens >= 60  # four replies before


async def test_a_message_that_was_not_read_is_read_later() -> None:
    """The boss waits for the payer and the looker, so it has not heard what the looker said."""
    cast, agents = family(TREES["awaited"])
    world = World()
    speaking = cast()
    signal = calls(("signal_parent", {"message": "mind the gap"}))
    speaking.engines["looker"] = Cast(looker=plays(signal, then="Looked.")).engines["looker"]
    await world.kernel(speaking, *agents).run("boss", "Go", run_id="r")
    said = next(place for place, event in enumerate(world.events) if "The parent will hear it." in str(event))
    recorded = tuple(world.events[: said + 1])
    assert not any(isinstance(event, UserSaid) and "mind the gap" in event.text for event in recorded)
    after = World(recorded)
    kernel = after.kernel(speaking, *agents, approval="allow")
    assert (await kernel.run("boss", "", run_id="r", recorded=recorded)).status == "completed"
    heard = [event.text for event in after.events if isinstance(event, UserSaid) and event.stream == "main"]
    assert "".join(heard).count("mind the gap") == 1


async def test_an_agent_that_is_gone_is_named() -> None:
    cast, agents = family(TREES["awaited"])
    world = World()
    await world.kernel(cast(), *agents).run("boss", "Go", run_id="r")
    left = [one for one in agents if one.name != "payer"]
    with pytest.raises(ConfigError, match="the run cannot go on without its agent payer"):
        await World().kernel(cast(), *left).run("boss", "", run_id="r", recorded=tuple(world.events))


async def test_the_first_agent_is_told_something_new() -> None:
    cast, agents = family(TREES["awaited"])
    whole = World()
    await whole.kernel(cast(), *agents, approval="allow").run("boss", "Go", run_id="r")
    after = World(whole.events)
    ended = await after.kernel(cast(), *agents).run("boss", "And now?", run_id="r", recorded=tuple(whole.events))
    assert ended.status == "completed"
    assert "And now?" in ended.text
    assert after.paid == []
