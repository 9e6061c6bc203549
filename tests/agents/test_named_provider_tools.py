"""Agent files that name a provider's own tools by id."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.agents import Agent, Kernel, parse_agent
from dragoman.engine import ScriptedEngine
from dragoman.errors import DefinitionError
from dragoman.model import AnyEvent, ClientNoted
from dragoman.registry import TOOLS
from dragoman.tools import MemoryWorkspace

from .playing import calls, says, spawns

SEARCH = "anthropic.web_search_20250305"


def file(*tools: str, name: str = "scout") -> Agent:
    return parse_agent(f"---\nname: {name}\ndescription: Looks.\ntools: [{', '.join(tools)}]\n---\nLook.\n")


class Served(ScriptedEngine):
    """A model of one provider."""

    def __init__(self, provider: str, *steps: Any) -> None:
        super().__init__(steps)
        self.provider = provider


async def offered(engine: ScriptedEngine, agents: list[Agent], **more: Any) -> tuple[list[list[str]], list[Any]]:
    events: list[AnyEvent] = []
    kernel = Kernel(
        agents,
        engines=lambda model: (engine, "some-model"),
        model="x:some-model",
        workspace=MemoryWorkspace(),
        tools=[TOOLS["read_file"]],
        emit=events.append,
        **more,
    )
    await kernel.run(agents[0].name, "Go")
    noted = [event.data for event in events if isinstance(event, ClientNoted) and event.name == "tools_not_offered"]
    return [[str(one.name) for one in request.definitions] for request in engine.requests], noted


async def test_a_file_names_a_tool_of_the_models_provider() -> None:
    agent = file("read_file", SEARCH)
    assert agent.tools == ("read_file", SEARCH)
    assert await offered(Served("anthropic", says("Done.")), [agent]) == ([["vfs_read", "web_search"]], [])


async def test_a_tool_of_another_provider_is_left_out_and_noted() -> None:
    names, noted = await offered(Served("openai", says("Done.")), [file("read_file", SEARCH)])
    assert names == [["vfs_read"]]
    assert noted == [{"tools": [SEARCH], "reason": "the agent's model is served by openai"}]


async def test_gemini_is_google() -> None:
    names, noted = await offered(Served("gemini", says("Done.")), [file("google.url_context")])
    assert (len(names[0]), noted) == (1, [])


async def test_an_agent_that_nobody_vouches_for_names_none() -> None:
    boss = file("read_file", "spawn_agent", SEARCH, name="boss")
    engine = Served("anthropic", calls(spawns("scout", "look", background=False)), says("Nothing."), says("Done."))
    names, noted = await offered(engine, [boss], strangers=[file("read_file", SEARCH)])
    assert "web_search" in names[0]
    assert "web_search" not in names[1]
    assert noted == [{"tools": [SEARCH], "reason": "nobody vouches for the agent"}]


@pytest.mark.parametrize(
    "name, problem",
    [
        ("anthropic.web_search_2025030", 'there is no tool "anthropic.web_search_2025030"'),
        ("anthropic.computer_20250124", "needs settings (settings.display_width_px is required"),
    ],
)
def test_an_id_that_cannot_be_asked_for_is_a_problem_of_the_file(name: str, problem: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        file("read_file", name)
    assert problem in str(raised.value)
