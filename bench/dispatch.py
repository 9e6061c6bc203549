"""Validating one call's JSON arguments and running the tool, as an agent does it; and how many functions that enters.

`dispatch:count` is a count, not CPU time: see `straight.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from bench import subject
from bench.benches import Bench, Target
from bench.stopwatch import per_call
from bench.straight import MOST, calls_of_one_read
from bench.subject import ANSWER, ARGUMENTS, msgspec_types, pydantic_types, tool_function

Call = Callable[[], Awaitable[Any]]


def ours() -> Call:
    from dragoman import tool

    defined = tool(tool_function(msgspec_types()))
    return lambda: defined.call(ARGUMENTS)


def msgspec() -> Call:
    """The leanest there is: a table, one typed decode, and a positional call written out for this signature."""
    import inspect

    from msgspec import defstruct, json

    function = tool_function(msgspec_types())
    parameters = inspect.signature(function).parameters
    fields = [
        (name, given.annotation) if given.default is given.empty else (name, given.annotation, given.default)
        for name, given in parameters.items()
    ]
    decode = json.Decoder(defstruct("Arguments", fields)).decode
    spread = ", ".join(f"a.{name}" for name in parameters)
    run = eval(f"lambda a: function({spread})", {"function": function})
    table = {function.__name__: (decode, run)}
    name = function.__name__

    def call() -> Awaitable[str]:
        decode, run = table[name]
        running: Awaitable[str] = run(decode(ARGUMENTS))
        return running

    return call


def pydantic() -> Call:
    from pydantic import TypeAdapter

    function: Any = tool_function(pydantic_types())
    adapter: TypeAdapter[Any] = TypeAdapter(function)
    return lambda: adapter.validate_json(ARGUMENTS)


def pydantic_ai() -> Call:
    from pydantic_ai import FunctionToolset, RunContext, Tool
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tool_manager import ToolManager
    from pydantic_ai.usage import RunUsage

    function = tool_function(pydantic_types())
    manager = ToolManager(FunctionToolset([Tool(function)]))
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage(), prompt="", run_step=0)
    text = ARGUMENTS.decode()
    ready: list[Any] = []

    async def call() -> Any:
        if not ready:
            ready.append(await manager.for_run_step(context))
        return await ready[0].handle_call(ToolCallPart(function.__name__, text, tool_call_id="1"))

    return call


def openai_agents() -> Call:
    from agents import function_tool
    from agents.tool_context import ToolContext

    defined = function_tool(tool_function(pydantic_types()), strict_mode=False)
    text = ARGUMENTS.decode()

    def call() -> Awaitable[Any]:
        context = ToolContext(context=None, tool_name=defined.name, tool_call_id="1", tool_arguments=text)
        return defined.on_invoke_tool(context, text)  # type: ignore[no-any-return]

    return call


COLUMNS = {each.__name__: each for each in (ours, msgspec, pydantic, pydantic_ai, openai_agents)}


def measure(column: str) -> list[float]:
    call = COLUMNS[column]()
    loop = asyncio.new_event_loop()

    async def several(times: int) -> Any:
        for _ in range(times):
            answer = await call()
        return answer

    answer = loop.run_until_complete(several(1))
    if subject.executed != 1 or ANSWER not in str(answer):
        raise SystemExit(f"{column} did not run the tool as asked: {answer!r}")
    return per_call(lambda times: loop.run_until_complete(several(times)))


def count(column: str) -> list[float]:
    return [calls_of_one_read() if column == "ours" else MOST]


BENCHES = {
    "run": Bench(
        question="validate one call's arguments and run the tool",
        environments={
            "ours": "base",
            "msgspec": "base",
            "pydantic": "pydantic",
            "pydantic_ai": "pydantic_ai",
            "openai_agents": "openai_agents",
        },
        floor="msgspec",
        targets=(Target("ours", "msgspec", 3), Target("ours", "pydantic_ai", 1 / 5)),
        measure=measure,
    ),
    "count": Bench(
        question="Python calls of one Read through the executor (a count, not CPU time)",
        environments=dict.fromkeys(("ours", f"{MOST} calls"), "base"),
        floor=f"{MOST} calls",
        targets=(Target("ours", f"{MOST} calls", 1),),
        measure=count,
    ),
}
