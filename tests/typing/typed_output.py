"""What a type checker knows of typed answers. It is run by `make check`, which covers this folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, assert_type

import msgspec

from dragoman import Image, Orchestrator
from dragoman.engine import FinalOutput, PartialOutput


@dataclass
class Order:
    item: str
    count: int = 1


async def the_type_of_the_answer_is_known() -> None:
    orders = Orchestrator("openai:gpt-5.2", output=list[Order])
    assert_type((await orders.run("Order some tea.")).output, list[Order] | None)
    running = Orchestrator("openai:gpt-5.2", output=Order).start("Order some tea.")
    async for item in running:
        if isinstance(item, PartialOutput):
            assert_type(item.value, Any)
        elif isinstance(item, FinalOutput):
            assert_type(item.value, Order)
    result = await running.result()
    assert_type(result.output, Order | None)
    print(result.output.count)  # type: ignore[union-attr]  # a run may fail


async def without_a_type_anything_may_come() -> None:
    assert_type((await Orchestrator("openai:gpt-5.2").run("Hello?")).output, Any | None)
    assert_type(Orchestrator("openai:gpt-5.2", output={"type": "object"}), Orchestrator[Any])


async def of_a_union_mypy_knows_the_first_type_alone_so_it_is_stated() -> None:
    either: Orchestrator[int | str] = Orchestrator("openai:gpt-5.2", output=int | str)
    assert_type((await either.run("How many?")).output, int | str | None)


def what_is_a_type_but_no_class_may_be_asked_for(orders: Orchestrator) -> None:
    Orchestrator("openai:gpt-5.2", output=Literal["tea", "milk"])
    Orchestrator("openai:gpt-5.2", output=Annotated[int, msgspec.Meta(ge=1)])
    orders.run_sync("Which?", output=Literal["tea", "milk"])
    Orchestrator("openai:gpt-5.2", output=3)  # type: ignore[arg-type]


async def the_type_of_one_run_comes_before_that_of_the_orchestrator() -> None:
    orders = Orchestrator("openai:gpt-5.2", output=Order)
    assert_type((await orders.run("How many?", output=int)).output, int | None)
    assert_type(orders.run_sync("How many?", output=list[str]).output, list[str] | None)
    assert_type((await orders.start("How many?", output=int).result()).output, int | None)
    assert_type((await orders.run("Order some tea.")).output, Order | None)
    async for item in orders.stream("How many?", output=int):
        if isinstance(item, FinalOutput):
            assert_type(item.value, int)
    async for own in orders.stream("Order some tea."):
        if isinstance(own, FinalOutput):
            assert_type(own.value, Order)


def what_a_run_takes_is_known(model: Orchestrator) -> None:
    Orchestrator("openai:gpt-5.2", temperature=0.5, max_output_tokens=9, stop="END", seed=1, top_p=0.1)
    Orchestrator("openai:gpt-5.2", temprature=0.5)  # type: ignore[call-arg]
    Orchestrator("openai:gpt-5.2", max_output_tokens="many")  # type: ignore[arg-type]
    model.run_sync("Hello?", history=(), run_id="r", stream=True)
    model.run_sync(["What is this?", Image("picture.png")])
    model.run_sync(3)  # type: ignore[call-overload]
    model.run_sync("Hello?", runid="r")  # type: ignore[call-overload]
    model.prepare("Hello?", history="before")  # type: ignore[arg-type]
    model.resume([], prompt="Go on", streams=True)  # type: ignore[call-arg]


async def an_answer_by_a_json_schema_is_of_any_type(agent: Orchestrator[Order]) -> None:
    schema = {"type": "object"}
    assert_type((await agent.run("Order some tea.", output=schema)).output, Any | None)
    assert_type((await Orchestrator("openai:gpt-5.2", output=schema).run("Order some tea.")).output, Any | None)
