"""Tools that are searched for: those that are found are offered from the next round on."""

from __future__ import annotations

import pytest

from dragoman.engine import Orchestrator, ScriptedEngine
from dragoman.errors import DefinitionError
from dragoman.model import CallPart, FinishReason, NativeCall, Reply, Request, ResultPart, TextPart
from dragoman.tools import ProviderTool, Tool, Toolset, search_tools_in


def _tool(name: str, description: str) -> Tool:
    return Tool(name, description, {"type": "object", "properties": {}}, lambda _: f"{name} ran")


LATER = [
    _tool("send_mail", "Send an electronic letter."),
    _tool("read_mail", "Read the letters that came."),
    _tool("weather", "Tell how the weather is. Sends nothing."),
]


class _Watched(ScriptedEngine):
    def __init__(self, *replies: Reply) -> None:
        super().__init__(replies)
        self.seen: list[Request] = []

    async def ask(self, request: Request, observe: object = None) -> Reply:
        self.seen.append(request)
        return await super().ask(request, None)


def _calls(*calls: tuple[str, dict[str, object]]) -> Reply:
    parts = [CallPart(NativeCall(str(number), name, said)) for number, (name, said) in enumerate(calls)]
    return Reply(tuple(parts), FinishReason.CALLS)


async def _results(*replies: Reply) -> tuple[list[list[str]], list[object], _Watched]:
    tools = Toolset()
    tools.register(search_tools_in(tools, LATER))
    engine = _Watched(*replies, Reply((TextPart("Done."),), FinishReason.STOP))
    result = await Orchestrator(engine, tools, model_name="m").run("Go.")
    told = [part.result.content for item in result.conversation for part in item.parts if isinstance(part, ResultPart)]
    return [[str(one.name) for one in request.definitions] for request in engine.seen], told, engine


async def test_a_found_tool_is_offered_and_called_in_the_rounds_that_follow() -> None:
    offered, told, engine = await _results(
        _calls(("search_tools", {"query": "send mail", "limit": 1})), _calls(("send_mail", {}))
    )
    assert offered == [["search_tools"], ["search_tools", "send_mail"], ["search_tools", "send_mail"]]
    assert told == ["Tools you can call from now on:\n- send_mail: Send an electronic letter.", "send_mail ran"]
    assert "read_mail, send_mail, weather" in engine.seen[0].definitions[0].description  # type: ignore[union-attr]


async def test_a_tool_that_was_not_found_cannot_be_called() -> None:
    _, told, _ = await _results(_calls(("weather", {})), _calls(("search_tools", {"query": "zebra"})))
    assert "weather" in str(told[0])
    assert "ran" not in str(told[0])
    assert told[1] == "No tools were found."


async def test_tools_can_be_chosen_by_name() -> None:
    offered, _, _ = await _results(_calls(("search_tools", {"query": "select:weather,nothing,read_mail"})))
    assert offered[1] == ["search_tools", "weather", "read_mail"]


def test_a_providers_tool_cannot_be_found_later() -> None:
    with pytest.raises(DefinitionError, match="offer it up front"):
        search_tools_in(Toolset(), [ProviderTool("anthropic.web_search_20250305")])
