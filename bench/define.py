"""Defining one tool: from a function to its name, description, JSON Schema and a way to decode its arguments."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from bench.benches import Bench, Target
from bench.stopwatch import per_call
from bench.subject import ToolFunction, Types, msgspec_types, pydantic_types, tool_function

Define = Callable[[ToolFunction], Any]


def ours() -> tuple[Types, Define]:
    from dragoman import tool

    def define(function: ToolFunction) -> Any:
        defined = tool(function)
        return defined, defined.parameters

    return msgspec_types(), define


def msgspec() -> tuple[Types, Define]:
    import inspect

    from msgspec import defstruct, json

    def define(function: ToolFunction) -> Any:
        fields = [
            (name, given.annotation) if given.default is given.empty else (name, given.annotation, given.default)
            for name, given in inspect.signature(function).parameters.items()
        ]
        arguments = defstruct(function.__name__, fields)
        return function.__name__, function.__doc__, json.schema(arguments), json.Decoder(arguments)

    return msgspec_types(), define


def pydantic() -> tuple[Types, Define]:
    from pydantic import TypeAdapter

    def define(function: Any) -> Any:
        adapter: TypeAdapter[Any] = TypeAdapter(function)
        return function.__name__, function.__doc__, adapter.json_schema(), adapter

    return pydantic_types(), define


def pydantic_ai() -> tuple[Types, Define]:
    from pydantic_ai import Tool

    def define(function: ToolFunction) -> Any:
        defined = Tool(function)
        return defined, defined.tool_def

    return pydantic_types(), define


def openai_agents() -> tuple[Types, Define]:
    from agents import function_tool

    return pydantic_types(), lambda function: function_tool(function, strict_mode=False)


COLUMNS = {each.__name__: each for each in (ours, msgspec, pydantic, pydantic_ai, openai_agents)}


def measure(column: str) -> list[float]:
    types, define = COLUMNS[column]()
    number = count()

    def repeat(times: int) -> None:
        for _ in range(times):
            define(tool_function(types, f"find_parcels_{next(number)}"))

    return per_call(repeat)


BENCH = Bench(
    question="define one tool",
    environments={
        "ours": "base",
        "msgspec": "base",
        "pydantic": "pydantic",
        "pydantic_ai": "pydantic_ai",
        "openai_agents": "openai_agents",
    },
    floor="msgspec",
    targets=(Target("ours", "msgspec", 1.5),),
    measure=measure,
)
