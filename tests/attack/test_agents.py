"""Models that start agents without end, agents that ask for more than those above them, and loops among them.

The model is a server on this machine that plays it; `dragoman` is a process that is measured.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import resource
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.agents import AgentLimits
from dragoman.logs import read
from dragoman.model import AgentEnded, AgentStarted, SessionEnded
from tests.cli.conftest import Answer, User, user
from tests.engine.loopback import Loopback, Raw, Turn, loopback

from .processes import PATIENCE

__all__ = ["user"]

USUAL = AgentLimits()
MOST_ASKS = 3000
"""Answers the model has at most: far more than any limit lets be asked."""


async def runs(user: User, server: Loopback, *words: str) -> tuple[Answer, int]:
    """`dragoman run` as a process, and the most memory it took, in megabytes."""
    keys = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "dragoman", "run", *words),
        cwd=user.here,
        env={**keys, **user.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-0123456789"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE * 2)
    except BaseException:
        process.kill()
        raise
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    return Answer(process.returncode or 0, out.decode(), err.decode()), memory


def record(user: User) -> list[Any]:
    (path,) = (Path(user.environ["DRAGOMAN_DATA_DIR"]) / "runs").glob("*.jsonl")
    return list(read(path))


def spawning(names: tuple[str, ...], each: int, *tools: str) -> Callable[[dict[str, Any]], Turn]:
    """A model that starts so many agents in every reply, each with a task of its own, as long as it is offered to.

    It does so by the first of these custom tools that is offered, else by name.
    """
    numbers = itertools.count()

    def answer(body: dict[str, Any]) -> Turn:
        offered = [one["function"]["name"] if "function" in one else one["name"] for one in body.get("tools", ())]
        tool = next((one for one in (*tools, "spawn_agent") if one in offered), None)
        if tool is None:
            return Turn("I can do no more.")
        made = []
        for _ in range(each):
            number = next(numbers)
            task = {"agent": names[number % len(names)], "prompt": f"task {number}", "background": True}
            made.append((f"c{number}", tool, task if tool == "spawn_agent" else {"text": f"{number}"}))
        return Turn("More.", calls=tuple(made))

    return answer


def tree(events: list[Any]) -> tuple[int, int, dict[str, int]]:
    """How many agents were started, how deep they lie, and how many each started."""
    depth = {"main": 0}
    starts: Counter[str] = Counter()
    for event in events:
        if isinstance(event, AgentStarted):
            depth[event.agent] = depth[event.stream] + 1
            starts[event.stream] += 1
    return len(depth) - 1, max(depth.values()), dict(starts)


AGENT = """---
name: {name}
description: Starts others.
model: openai:gpt-4.1
dialect: plain
{more}---
Start agents.
"""


def written(user: User, name: str, more: str = "") -> Path:
    return user.write(user.here / "agents" / f"{name}.md", AGENT.format(name=name, more=more))


async def test_a_model_that_starts_agents_without_end_is_stopped_by_the_limits(user: User) -> None:
    """However many agents a model starts, and however many at once, their number, depth and fan-out have limits."""
    path = written(user, "boss", "limits: {max_turns: 3, max_agents: 40}\n")
    written(user, "kid")
    async with loopback(*[spawning(("boss", "kid"), 20)] * MOST_ASKS) as server:
        answer, memory = await runs(user, server, "--agent", str(path), "--yes", "go")
    events = record(user)
    number, depth, starts = tree(events)
    assert answer.code in (0, 6), answer.err
    assert number == 40
    assert depth <= USUAL.max_depth
    assert max(starts.values()) <= USUAL.max_fanout
    assert len(server.requests) <= (number + 1) * 3
    ended = {event.agent for event in events if isinstance(event, AgentEnded)}
    assert len(ended) == number
    assert isinstance(events[-1], SessionEnded)
    assert memory < 400


async def test_custom_tools_count_as_agents_do(user: User) -> None:
    """A custom tool is an agent: what it starts is counted, whoever wrote it and however it is called."""
    tool = (
        "custom_tools:\n  - name: dig\n    description: Digs.\n"
        "    parameters: {text: {type: string}}\n    prompt: 'Dig {{text}}'\nlimits: {max_turns: 3, max_agents: 20}\n"
    )
    path = written(user, "boss", tool)
    async with loopback(*[spawning(("boss",), 20, "dig")] * MOST_ASKS) as server:
        answer, _ = await runs(user, server, "--agent", str(path), "--yes", "go")
    number, depth, starts = tree(record(user))
    assert answer.code in (0, 6), answer.err
    assert number == 20
    assert depth <= USUAL.max_depth
    assert max(starts.values()) <= USUAL.max_fanout


async def test_an_agent_file_cannot_have_more_than_the_one_above_it(user: User) -> None:
    """A file's limits hold only as far as they are stricter than those of the agents above, and than the usual ones."""
    greedy = "limits: {max_depth: 1000, max_fanout: 1000, max_agents: 100000, max_turns: 1000, max_tokens: 100000000}\n"
    path = written(user, "boss", "limits: {max_depth: 2, max_fanout: 3, max_agents: 5, max_turns: 4}\n")
    written(user, "kid", greedy)
    async with loopback(*[spawning(("kid",), 10)] * MOST_ASKS) as server:
        answer, _ = await runs(user, server, "--agent", str(path), "--yes", "go")
    number, depth, starts = tree(record(user))
    assert answer.code in (0, 6), answer.err
    assert (number, depth) == (5, 2)
    assert max(starts.values()) <= 3
    assert len(server.requests) <= 6 * 4


@pytest.mark.parametrize("limit, value", [("tokens", "1000"), ("cost", "0.001")])
async def test_tokens_and_cost_are_shared_by_the_whole_tree_while_it_runs(user: User, limit: str, value: str) -> None:
    """What agents use counts for all above them, also when many work at once: over a limit, nobody is asked again."""
    price = '[[prices]]\nmodel = "played"\ninput = "1"\noutput = "1"\n'
    user.settings(f"{price}[policy]\nmax_{limit} = {value}\n")
    path = written(user, "boss")
    spawn = spawning(("boss",), 8)

    def costly(body: dict[str, Any]) -> Turn:
        turn = spawn(body)
        return Turn(turn.text, calls=turn.calls, usage=(90, 10))

    async with loopback(*[costly] * MOST_ASKS) as server:
        answer, _ = await runs(user, server, "--agent", str(path), "--yes", "go")
    assert answer.code == 6, answer.err
    assert f"the limit on {limit} ({value}) was reached" in answer.err
    # Each that was being asked when the limit was reached may still be answered.
    assert 10 <= len(server.requests) <= 10 + USUAL.max_concurrency


async def test_a_time_limit_ends_the_whole_tree_also_while_models_are_silent(user: User) -> None:
    """When an agent's time is over, it and all below it end, whatever they wait for."""
    path = written(user, "boss", "limits: {timeout: 3}\n")
    silent = Raw(no_answer=True)
    async with loopback(spawning(("boss",), 3), *[silent] * MOST_ASKS) as server:
        answer, _ = await runs(user, server, "--agent", str(path), "--yes", "go")
    assert answer.code == 6, answer.err
    assert "the limit on seconds (3) was reached" in answer.err
    assert len(server.requests) == 4


async def test_two_agents_that_start_each_other_end(user: User) -> None:
    """Agents that hand the same task to one another are a loop, and with ever new tasks they end at the depth limit."""
    path = written(user, "ping")
    written(user, "pong")

    def hand_over(body: dict[str, Any]) -> Turn:
        said = json.dumps(body["messages"] if "messages" in body else body.get("input"))
        turns = said.count('"tool"') + said.count("function_call_output")
        if turns or "spawn_agent" not in json.dumps(body.get("tools", ())):
            return Turn("It goes no further.")
        call = {"agent": "pong" if "ping" in said else "ping", "prompt": "the same", "background": False}
        return Turn("You do it.", calls=(("c1", "spawn_agent", call),))

    async with loopback(*[hand_over] * MOST_ASKS) as server:
        answer, _ = await runs(user, server, "--agent", str(path), "--yes", "the same, ping")
    number, depth, _ = tree(record(user))
    assert answer.code == 0, answer.err
    assert (number <= 3, depth <= 3) == (True, True)
    assert len(server.requests) < 20
