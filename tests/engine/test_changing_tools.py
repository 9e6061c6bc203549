"""What is offered may change between the rounds of one run."""

from __future__ import annotations

from dragoman.engine import Orchestrator, ScriptedEngine
from dragoman.model import CallPart, FinishReason, NativeCall, Reply, Request, ResultPart, TextPart
from dragoman.tools import Tool, Toolset


def _tool(name: str, run: object) -> Tool:
    return Tool(name, f"Does {name}.", {"type": "object", "properties": {}}, lambda _: run() if callable(run) else run)


def _call(id: str, name: str) -> Reply:
    return Reply((CallPart(NativeCall(id, name, {})),), FinishReason.CALLS)


class _Watched(ScriptedEngine):
    def __init__(self, *replies: Reply) -> None:
        super().__init__(replies)
        self.offered: list[list[str]] = []

    async def ask(self, request: Request, observe: object = None) -> Reply:
        self.offered.append([str(one.name) for one in request.definitions])
        return await super().ask(request, None)


async def test_a_tool_added_while_a_call_runs_is_offered_in_the_next_round_and_can_be_called() -> None:
    tools = Toolset()

    def grow() -> str:
        tools.register(_tool("late", "here"))
        return "grown"

    tools.register(_tool("grow", grow))
    engine = _Watched(_call("1", "grow"), _call("2", "late"), Reply((TextPart("Done."),), FinishReason.STOP))
    result = await Orchestrator(engine, tools, model_name="m").run("Go.")
    assert engine.offered == [["grow"], ["grow", "late"], ["grow", "late"]]
    told = [part.result.content for item in result.conversation for part in item.parts if isinstance(part, ResultPart)]
    assert told == ["grown", "here"]


async def test_a_tool_taken_away_is_no_longer_offered_and_a_call_of_it_is_told_so() -> None:
    tools = Toolset([_tool("stay", "ok")])
    tools.register(_tool("go", lambda: tools.unregister("go") and "gone"))
    engine = _Watched(_call("1", "go"), _call("2", "go"), Reply((TextPart("Done."),), FinishReason.STOP))
    result = await Orchestrator(engine, tools, model_name="m").run("Go.")
    assert engine.offered == [["stay", "go"], ["stay"], ["stay"]]
    told = [part.result for item in result.conversation for part in item.parts if isinstance(part, ResultPart)]
    assert told[1].is_error


async def test_a_hidden_tool_is_not_offered_but_answers() -> None:
    hidden: list[str] = []
    tools = Toolset([_tool("stay", lambda: hidden.append("secret") or "ok"), _tool("secret", "still here")])
    engine = _Watched(_call("1", "stay"), _call("2", "secret"), Reply((TextPart("Done."),), FinishReason.STOP))
    result = await Orchestrator(engine, tools, model_name="m", hidden=lambda: hidden).run("Go.")
    assert engine.offered == [["stay", "secret"], ["stay"], ["stay"]]
    told = [part.result.content for item in result.conversation for part in item.parts if isinstance(part, ResultPart)]
    assert told == ["ok", "still here"]
