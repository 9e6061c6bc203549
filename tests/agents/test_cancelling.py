"""A run is cancelled at every step it takes, and again while it stops: everybody ends once, and gives all back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman.agents import AgentLimits, Kernel
from dragoman.engine import Approval, Question, ScriptedEngine, ToolPolicy
from dragoman.model import AgentEnded, AgentStarted, AnyEvent, Reply, Request, SessionEnded
from dragoman.registry import TOOLS
from dragoman.tools import MemoryWorkspace

from .playing import agent, calls, custom, says, spawns

MOST_STEPS = 1000


class Slow(ScriptedEngine):
    """A model that lets others go first."""

    async def ask(self, request: Request, observe: Any = None) -> Reply:
        await steps(3)
        return await super().ask(request, observe)


async def steps(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def approve(_: Question) -> bool:
    await steps(3)
    return True


def kernel_of(events: list[AnyEvent]) -> Kernel:
    """Children beside and awaited, a custom tool that is repaired, a grandchild, questions, one place to work at."""
    scripts: dict[str, list[Any]] = {
        "boss": [
            calls(spawns("kid", "a"), ("look", {"text": "q"}), spawns("kid", "b", background=False)),
            calls(("wait_for_agent", {})),
            *[says("heard")] * 4,
        ],
        "kid": [
            calls(("vfs_read", {"path": "a"}), ("signal_parent", {"message": "m"})),
            says("one"),
            calls(spawns("grand", "g", background=False)),
            says("two"),
            says("three"),
        ],
        "look": [says("no"), says("no"), says("{}")],
        "grand": [calls(("vfs_read", {"path": "a"})), says("g")],
    }
    engines = {name: Slow(script) for name, script in scripts.items()}
    look = custom("look", model="look", result_schema={"type": "object"})
    return Kernel(
        [agent("boss", custom_tools=(look,), limits=AgentLimits(max_concurrency=1)), agent("kid"), agent("grand")],
        engines=lambda name: (engines[name], name),
        workspace=MemoryWorkspace({"a": "x"}),
        tools=[TOOLS["read_file"]],
        policy=ToolPolicy(approval=(Approval("ask", operation="read_file"),)),
        approver=approve,
        emit=events.append,
    )


def stop(kernel: Kernel, task: asyncio.Task[Any], *, root: bool) -> None:
    if not root:
        task.cancel()
    elif kernel.root is not None:
        kernel.cancel(kernel.root.id)


async def cancelled_at(step: int, again: int, *, root: bool) -> bool:
    """Cancels a run after so many steps, and once more after so many; False when it had ended by then."""
    events: list[AnyEvent] = []
    kernel = kernel_of(events)
    before = asyncio.all_tasks()
    task = asyncio.create_task(kernel.run("boss", "Go"))
    await steps(step)
    if task.done():
        await task
        return False
    stop(kernel, task, root=root)
    await steps(again)
    stop(kernel, task, root=root)
    await asyncio.wait((task,))
    everyone = list(kernel._live.values())
    assert {one.ended.status if one.ended else None for one in everyone} <= {"completed", "cancelled"}
    assert all(one._slots.free == one.limits.max_concurrency for one in everyone)
    ended = [event.stream for event in events if isinstance(event, SessionEnded)]
    assert sorted(ended) == sorted(one.stream for one in everyone)
    told = {kind: sorted(e.agent for e in events if isinstance(e, kind)) for kind in (AgentStarted, AgentEnded)}
    assert told[AgentStarted] == told[AgentEnded]
    await steps(2)
    assert asyncio.all_tasks() == before
    return True


@pytest.mark.parametrize("again, root", [(1, False), (4, True)])
@pytest.mark.slow
async def test_whenever_it_is_cancelled_everybody_ends_once_and_gives_all_back(again: int, *, root: bool) -> None:
    step = 0
    while await cancelled_at(step, again, root=root):
        step += 1
        assert step < MOST_STEPS
    assert step > 50
