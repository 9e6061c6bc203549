"""Agents that message each other, list each other, and resume one that has ended."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman.agents import AgentLimits, Kernel
from dragoman.engine import ScriptedEngine
from dragoman.logs import sessions_of
from dragoman.model import (
    AgentEnded,
    AgentStarted,
    AnyEvent,
    ClientNoted,
    Reply,
    Request,
    SessionStarted,
    TextPart,
    ToolReturned,
    operations as op,
)
from dragoman.tools import AgentInfo, Context, LimitsLeft, tool

from .playing import Cast, agent, calls, says, shape, spawns, told

BOSS, KID, AUNT = agent("boss"), agent("kid"), agent("aunt")


class Waits:
    """A model that answers a script, each answer only when a condition holds: agents then meet as the test means."""

    def __init__(self, *steps: tuple[asyncio.Event | None, Any, asyncio.Event | None]) -> None:
        self._steps = list(steps)
        self._script = ScriptedEngine([step for _, step, _ in steps])

    async def ask(self, request: Request, observe: Any = None) -> Reply:
        first, _, then = self._steps.pop(0)
        if first is not None:
            await first.wait()
        reply = await self._script.ask(request, observe)
        if then is not None:
            then.set()
        return reply

    def __getattr__(self, name: str) -> Any:
        return getattr(self._script, name)


def kernel_of(cast: Any, *agents: Any, **more: Any) -> Kernel:
    return Kernel(agents or (BOSS, KID, AUNT), engines=cast, **more)


def messages(to: str, message: str) -> tuple[str, dict[str, Any]]:
    return "message_agent", {"to": to, "message": message}


def said_to(request: Request) -> str:
    return "".join(part.text for part in request.conversation[-1].parts if isinstance(part, TextPart))


def outcomes(events: list[AnyEvent]) -> list[Any]:
    return [outcome for event in events if isinstance(event, ToolReturned) for outcome in event.result.outcomes]


# ── messages ─────────────────────────────────────────────────────────────────


async def test_agents_at_work_message_each_other() -> None:
    sent, answered = asyncio.Event(), asyncio.Event()
    engines: dict[str, Any] = {
        "boss": Waits(
            (None, calls(spawns("kid", "dig")), None),
            (None, calls(messages("kid-1", "Deeper!")), None),
            (None, says("I wait."), sent),
            (None, says("Good."), None),
            (None, says("Done."), None),
        ),
        "kid": Waits(
            (sent, says("I dug."), None),
            (None, calls(messages("parent", "How deep?")), answered),
            (None, says("A bone."), None),
        ),
    }
    ended = await kernel_of(lambda model: (engines[model], model)).run("boss", "Go")
    assert shape(ended) == ("boss", "completed", [("kid", "completed", [])])
    assert said_to(engines["kid"].requests[1]) == f"Agent boss ({ended.id}) says: Deeper!"
    heard = [said_to(request) for request in engines["boss"].requests[3:]]
    assert "Agent kid (kid-1) says: How deep?" in "\n".join(heard)
    assert "Agent kid (kid-1) completed: A bone." in "\n".join(heard)


async def test_siblings_message_each_other_by_name() -> None:
    both, sent = asyncio.Event(), asyncio.Event()
    engines: dict[str, Any] = {
        "boss": Waits(
            (None, calls(spawns("kid", "dig"), spawns("aunt", "cook")), None),
            (None, says("I wait."), both),
            (None, says("One is back."), None),
            (None, says("Done."), None),
        ),
        "kid": Waits((both, calls(messages("aunt", "I am hungry.")), None), (None, says("Dug."), sent)),
        "aunt": Waits((sent, says("Cooked."), None), (None, says("Here is soup."), None)),
    }
    ended = await kernel_of(lambda model: (engines[model], model)).run("boss", "Go")
    assert ended.status == "completed"
    assert said_to(engines["aunt"].requests[1]) == "Agent kid (kid-1) says: I am hungry."
    assert {child.agent: child.text for child in ended.children} == {"kid": "Dug.", "aunt": "Here is soup."}


async def test_a_message_to_an_agent_that_has_ended_resumes_it_with_its_conversation() -> None:
    events: list[AnyEvent] = []
    cast = Cast(
        boss=[
            calls(spawns("kid", "dig", background=False)),
            calls(messages("kid-1", "And where?")),
            says("I wait."),
            says("Done."),
        ],
        kid=[says("A bone."), says("In the garden.")],
    )
    ended = await kernel_of(cast, emit=events.append).run("boss", "Go")
    assert shape(ended) == ("boss", "completed", [("kid", "completed", []), ("kid", "completed", [])])
    again = cast.asked("kid")[1].conversation
    spoken = [part.text for item in again for part in item.parts if isinstance(part, TextPart)]
    assert spoken == ["You are kid.", "dig", "A bone.", f"Agent boss ({ended.id}) says: And where?"]
    assert told(ended)[1] == "Agent kid (id kid-2) is running."
    assert said_to(cast.asked("boss")[3]) == "Agent kid (kid-2) completed: In the garden."
    assert [event.agent for event in events if isinstance(event, AgentStarted)] == ["kid-1", "kid-2"]
    assert [event.agent for event in events if isinstance(event, AgentEnded)] == ["kid-1", "kid-2"]
    assert [event.stream for event in events if isinstance(event, SessionStarted)] == ["main", "kid-1", "kid-2"]
    assert [session.id for session in sessions_of(events)] == [ended.id]
    cast.finish()


async def test_an_old_id_means_the_activation_that_continues_it() -> None:
    cast = Cast(
        boss=[
            calls(spawns("kid", "dig", background=False)),
            calls(messages("kid-1", "And where?")),
            calls(("wait_for_agent", {"agents": ["kid-1"]})),
            says("Done."),
        ],
        kid=[says("A bone."), says("In the garden.")],
    )
    ended = await kernel_of(cast).run("boss", "Go")
    assert told(ended)[2] == "Agent kid (id kid-2) completed its task:\nIn the garden."
    cast.finish()


async def test_a_stopped_agent_is_resumed() -> None:
    begun, never = asyncio.Event(), asyncio.Event()

    class Stuck(Waits):
        async def ask(self, request: Request, observe: Any = None) -> Reply:
            begun.set()
            return await super().ask(request, observe)

    engines: dict[str, Any] = {
        "boss": Waits(
            (None, calls(spawns("kid", "dig")), None),
            (begun, calls(("stop_agent", {"agent": "kid-1"})), None),
            (None, calls(("resume_agent", {"agent": "kid-1"})), None),
            (None, says("I wait."), None),
            (None, says("Done."), None),
        ),
        "kid": Stuck((never, says("A bone."), None), (None, says("A bone."), None)),
    }
    engines["kid"]._script = ScriptedEngine([says("A bone.")])
    ended = await kernel_of(lambda model: (engines[model], model)).run("boss", "Go")
    assert [(child.status, child.text) for child in ended.children] == [("cancelled", ""), ("completed", "A bone.")]
    (asked,) = engines["kid"].requests
    assert [part.text for item in asked.conversation for part in item.parts] == [
        "You are kid.",
        "dig",
        "Continue your task from where you stopped.",
    ]


async def test_resuming_counts_as_starting_an_agent() -> None:
    cast = Cast(
        boss=[
            calls(spawns("kid", "dig", background=False)),
            calls(messages("kid-1", "And where?")),
            says("Done."),
        ],
        kid=[says("A bone.")],
    )
    events: list[AnyEvent] = []
    ended = await kernel_of(cast, limits=AgentLimits(max_fanout=1), emit=events.append).run("boss", "Go")
    assert shape(ended) == ("boss", "completed", [("kid", "completed", [])])
    assert "this agent may start 1 others, and has (max_fanout)" in outcomes(events)[-1].message
    assert ["resume_agent" in offered for offered in cast.offered("boss")] == [False, False, False]
    cast.finish()


async def test_only_the_agent_that_started_one_resumes_it() -> None:
    events: list[AnyEvent] = []
    cast = Cast(
        boss=[
            calls(spawns("aunt", "cook", background=False)),
            calls(spawns("kid", "dig", background=False)),
            says("x"),
        ],
        aunt=[says("Cooked.")],
        kid=[calls(messages("aunt-1", "More!")), says("A bone.")],
    )
    await kernel_of(cast, emit=events.append).run("boss", "Go")
    failures = [one.message for one in outcomes(events) if hasattr(one, "message")]
    assert failures == ["aunt-1 has ended, and only the agent that started it can resume it"]
    cast.finish()


@pytest.mark.parametrize(
    "to, problem",
    [("nobody", 'there is no other agent "nobody"; there are: kid-1'), ("boss", 'there is no other agent "boss"')],
)
async def test_a_message_to_nobody_says_who_is_there(to: str, problem: str) -> None:
    events: list[AnyEvent] = []
    cast = Cast(
        boss=[calls(spawns("kid", "dig", background=False)), calls(messages(to, "Hello?")), says("Done.")],
        kid=[says("A bone.")],
    )
    await kernel_of(cast, emit=events.append).run("boss", "Go")
    assert outcomes(events)[-1].message.startswith(problem)


async def test_the_list_says_who_is_who() -> None:
    cast = Cast(
        boss=[
            calls(spawns("kid", "dig", background=False)),
            calls(("list_agents", {})),
            says("Done."),
        ],
        kid=[calls(("list_agents", {"query": "BOSS"})), says("A bone.")],
    )
    events: list[AnyEvent] = []
    ended = await kernel_of(cast, emit=events.append).run("boss", "Go")
    from_kid, _, from_boss = outcomes(events)
    assert [(one.id, one.status, one.agent, one.description) for one in from_kid.agents] == [
        (ended.id, "running", "boss", "started this agent")
    ]
    assert [(one.id, one.status, one.description) for one in from_boss.agents] == [
        ("kid-1", "completed", "started by this agent")
    ]


async def test_they_are_offered_only_where_there_is_somebody() -> None:
    cast = Cast(boss=[calls(spawns("kid", "dig", background=False)), says("Done.")], kid=[says("A bone.")])
    await kernel_of(cast).run("boss", "Go")
    names = {"message_agent", "list_agents", "resume_agent"}
    assert [offered & names for offered in cast.offered("boss")] == [set(), names]
    assert [offered & names for offered in cast.offered("kid")] == [{"message_agent", "list_agents"}]


# ── what a tool knows ────────────────────────────────────────────────────────


def ask(name: str) -> tuple[str, dict[str, Any]]:
    return name, {}


async def test_a_tool_knows_the_agent_that_calls_it() -> None:
    seen: list[AgentInfo | None] = []

    @tool
    async def who(ctx: Context) -> str:
        """Who calls?"""
        seen.append(ctx.agent)
        return "noted"

    limits = AgentLimits(max_depth=2, max_fanout=3, max_agents=5, max_turns=4, max_tokens=1000)
    cast = Cast(
        boss=[calls(ask("who")), calls(spawns("kid", "dig", background=False)), calls(ask("who")), says("Done.")],
        kid=[calls(ask("who")), says("A bone.")],
    )
    ended = await kernel_of(cast, limits=limits, tools=[who]).run("boss", "Go")
    first, kid, last = seen
    assert first == AgentInfo("boss", ended.id, None, 0, LimitsLeft(2, 3, 5, 3, 985, None, None))
    assert kid == AgentInfo("kid", "kid-1", ended.id, 1, LimitsLeft(1, 3, 4, 3, 955, None, None))
    assert last == AgentInfo("boss", ended.id, None, 0, LimitsLeft(2, 2, 4, 1, 925, None, None))


async def test_the_time_that_is_left_is_that_of_the_agents_above_too() -> None:
    seen: list[AgentInfo | None] = []

    @tool
    async def who(ctx: Context) -> str:
        """Who calls?"""
        seen.append(ctx.agent)
        return "noted"

    cast = Cast(
        boss=[calls(spawns("kid", "dig", background=False)), says("Done.")], kid=[calls(ask("who")), says("A bone.")]
    )
    await kernel_of(cast, agent("boss", limits=AgentLimits(timeout=600)), KID, tools=[who]).run("boss", "Go")
    assert seen[0] is not None
    assert seen[0].left.seconds is not None
    assert 0 < seen[0].left.seconds <= 600


async def test_a_tool_starts_an_agent_under_the_limits() -> None:
    @tool(timeout=60)
    async def delegate(what: str, ctx: Context) -> str:
        """Has somebody else do it."""
        report = await ctx.spawn(what, agent="kid")
        return f"{report.id} {report.status}: {report.text}"

    events: list[AnyEvent] = []
    cast = Cast(
        boss=[calls(("delegate", {"what": "dig"})), calls(("delegate", {"what": "dig more"})), says("Done.")],
        kid=[says("A bone.")],
    )
    limits = AgentLimits(max_fanout=1)
    ended = await kernel_of(cast, limits=limits, tools=[delegate], emit=events.append).run("boss", "Go")
    assert shape(ended) == ("boss", "completed", [("kid", "completed", [])])
    done, failed = outcomes(events)
    assert done.text == "kid-1 completed: A bone."
    assert (failed.kind, failed.message) == (
        "denied",
        "kid was not started: this agent may start 1 others, and has (max_fanout)",
    )
    (started,) = (event for event in events if isinstance(event, AgentStarted))
    assert (started.agent, started.call_id) == ("kid-1", "delegate-0")
    cast.finish()


async def test_an_agent_that_a_tool_starts_is_bound_by_depth() -> None:
    @tool(timeout=60)
    async def delegate(ctx: Context) -> str:
        """Has somebody else do it."""
        return str((await ctx.spawn("go on", instructions="You are new.")).status)

    cast = Cast(boss=[calls(ask("delegate")), says("Done.")])
    events: list[AnyEvent] = []
    await kernel_of(cast, limits=AgentLimits(max_depth=0), tools=[delegate], emit=events.append).run("boss", "Go")
    assert "max_depth" in outcomes(events)[0].message


async def test_a_tool_outside_of_agents_has_no_agent_and_starts_none() -> None:
    from dragoman.engine import Orchestrator

    seen: list[AgentInfo | None] = []

    @tool
    async def who(ctx: Context) -> str:
        """Who calls?"""
        seen.append(ctx.agent)
        return str(await ctx.spawn("go"))

    events: list[AnyEvent] = []
    with ScriptedEngine([calls(ask("who")), "Done."]) as engine:
        await Orchestrator(engine, [who], model_name="m", dialect="plain", emit=events.append).run("go")
    assert seen == [None]
    assert outcomes(events)[0].message.startswith("this run cannot start agents")


async def test_a_tool_adds_an_event_of_its_own_to_the_record() -> None:
    @tool
    async def works(ctx: Context) -> str:
        """Works."""
        ctx.emit("row_written", {"table": "users", "rows": 3})
        return "ok"

    @tool
    def works_in_a_thread(ctx: Context) -> str:
        """Works in a thread."""
        ctx.emit("approval_wanted")
        return "ok"

    events: list[AnyEvent] = []
    cast = Cast(boss=[calls(ask("works"), ask("works_in_a_thread")), says("Done.")])
    await kernel_of(cast, tools=[works, works_in_a_thread], emit=events.append).run("boss", "Go")
    noted = [event for event in events if isinstance(event, ClientNoted)]
    assert sorted((event.name, event.call_id, event.stream, str(event.data)) for event in noted) == [
        ("tool.approval_wanted", "works_in_a_thread-1", "main", "{}"),
        ("tool.row_written", "works-0", "main", "{'table': 'users', 'rows': 3}"),
    ]


@pytest.mark.parametrize("name", ["", "a b", "x" * 101, "\x1b[2J"])
def test_the_name_of_an_event_is_a_plain_word(name: str) -> None:
    with pytest.raises(ValueError, match="an event's name"):
        Context().emit(name)


def test_the_data_of_an_event_is_json() -> None:
    with pytest.raises(TypeError):
        Context().emit("x", {"it": object()})


def test_every_operation_between_agents_has_a_tool() -> None:
    from dragoman.agents.agent_tool import agent_tools
    from dragoman.agents.tree import Live

    live = Live("x", BOSS, "go", None, AgentLimits())
    made = {tool.operation for tool in agent_tools(Kernel([BOSS]), live)}
    assert made == {
        op.SpawnAgent,
        op.WaitForAgent,
        op.StopAgent,
        op.SignalParent,
        op.MessageAgent,
        op.ResumeAgent,
        op.ListAgents,
    }


async def test_the_tool_of_the_page_on_tools_runs() -> None:
    import re
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "howto" / "add-a-tool.md").read_text()
    (program,) = re.findall(r"## A tool that knows its agent.*?```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)
    events: list[AnyEvent] = []
    reviewer = agent("boss", limits=AgentLimits(max_fanout=1))
    cast = Cast(
        boss=[calls(("review", {"path": "a.py"})), says("Fine."), calls(("review", {"path": "b.py"})), says("x")]
    )
    await kernel_of(cast, reviewer, tools=[names["review"]], emit=events.append).run("boss", "Go")
    assert [one.text for one in outcomes(events)] == ["Fine.", "No review: this agent may start no more agents."]
    assert [event.data for event in events if isinstance(event, ClientNoted)] == [
        {"path": "a.py", "status": "completed"}
    ]
