"""What a type checker says of calls of tools in Python. It is run by `make check`, which covers this folder.

Each wrong use is marked with the error it must give: a type checker that accepts one reports the mark as unused.
"""

from __future__ import annotations

from typing import Any, assert_type

from dragoman import TOOLS, Context, Tool, Toolset, tool


@tool
def weather(city: str, days: int = 1) -> str:
    """The weather of a city."""
    return city * days


@tool(timeout=5)
async def forecast(city: str, *, context: Context) -> list[int]:
    """The temperatures of a city."""
    return [len(city)]


class Shop:
    """A shop."""

    @tool
    def buy(self, item: str) -> int:
        """Buy something."""
        return len(item)

    @tool
    @staticmethod
    def close(when: str) -> None:
        """Close the shop."""

    borrowed = weather


async def right(shop: Shop, context: Context) -> Toolset:
    assert_type(weather("Rome"), str)
    assert_type(weather(city="Rome", days=2), str)
    assert_type(await forecast("Rome", context=context), list[int])
    assert_type(shop.buy("tea"), Any)
    shop.close("now")
    shop.borrowed("Rome")
    many: list[Tool] = [weather, forecast, shop.buy, TOOLS["read_file"]]
    return Toolset([*many, Tool("one", "One.", {"type": "object"}, lambda: 1)])


async def wrong(context: Context) -> None:
    weather(3)  # type: ignore[arg-type]
    weather("Rome", 1, 2)  # type: ignore[call-arg]
    weather(town="Rome")  # type: ignore[call-arg]
    weather("Rome").nothing  # type: ignore[attr-defined]  # noqa: B018
    await forecast("Rome")  # type: ignore[call-arg]
