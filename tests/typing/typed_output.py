"""What a type checker knows of typed answers. It is run by `make check`, which covers this folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

from dragoman import Orchestrator
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
        if isinstance(item, PartialOutput | FinalOutput):
            assert_type(item.value, Any)
    result = await running.result()
    assert_type(result.output, Order | None)
    print(result.output.count)  # type: ignore[union-attr]  # a run may fail


async def without_a_type_anything_may_come() -> None:
    assert_type((await Orchestrator("openai:gpt-5.2").run("Hello?")).output, Any | None)
    assert_type(Orchestrator("openai:gpt-5.2", output={"type": "object"}), Orchestrator[Any])


async def of_a_union_mypy_knows_the_first_type_alone_so_it_is_stated() -> None:
    either: Orchestrator[int | str] = Orchestrator("openai:gpt-5.2", output=int | str)
    assert_type((await either.run("How many?")).output, int | str | None)
