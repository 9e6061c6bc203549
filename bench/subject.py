"""The tool every peer is asked to define and to call: nested types, a list, a choice, an optional, defaults.

Its parameter types are made by the data layer a column asks for. Annotations are real types and
not text, because not every peer reads text.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple

ARGUMENTS = (
    b'{"text":"late deliveries","conditions":[{"name":"weight","relation":"above","amount":7.5},'
    b'{"name":"days","relation":"below","amount":21}],"destination":{"line":"4 Quay Road","town":"Trieste",'
    b'"postcode":"34121"},"most":25,"order":"oldest","carrier":null}'
)
ANSWER = "late deliveries to Trieste: 2 conditions, most 25, oldest first"

ToolFunction = Callable[..., Awaitable[str]]

executed = 0


class Types(NamedTuple):
    condition: type
    destination: type


def msgspec_types() -> Types:
    from msgspec import Struct

    class Condition(Struct):
        """A bound on one number."""

        name: str
        relation: Literal["above", "below", "is"]
        amount: float

    class Destination(Struct):
        """Where a parcel goes."""

        line: str
        town: str
        postcode: str | None = None

    return Types(Condition, Destination)


def pydantic_types() -> Types:
    from pydantic import BaseModel

    class Condition(BaseModel):
        """A bound on one number."""

        name: str
        relation: Literal["above", "below", "is"]
        amount: float

    class Destination(BaseModel):
        """Where a parcel goes."""

        line: str
        town: str
        postcode: str | None = None

    return Types(Condition, Destination)


def tool_function(types: Types, name: str = "find_parcels") -> ToolFunction:
    """A new function object each time, so that nothing remembered about another one helps."""

    async def find_parcels(
        text: str,
        conditions: Any,
        destination: Any,
        most: int = 10,
        order: Literal["oldest", "newest"] = "newest",
        carrier: str | None = None,
    ) -> str:
        """Find parcels that are under way.

        Args:
            text: What to look for, in plain words.
            conditions: Bounds that every parcel must keep.
            destination: The address they are sent to.
            most: The largest number of parcels to list.
            order: Which parcels come first.
            carrier: Only parcels of this carrier.
        """
        global executed
        executed += 1
        return f"{text} to {destination.town}: {len(conditions)} conditions, most {most}, {order} first"

    find_parcels.__annotations__ |= {"conditions": list[types.condition], "destination": types.destination}  # type: ignore[name-defined]
    find_parcels.__name__ = find_parcels.__qualname__ = name
    return find_parcels
