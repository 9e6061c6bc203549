"""The example of the README: one tool, defined once, presented to a model and called as a model calls it."""

from typing import Literal

from dragoman import tool


@tool(timeout=10)
async def find_orders(customer: str, limit: int = 10, sort: Literal["newest", "oldest"] = "newest") -> list[str]:
    """Find the orders of a customer.

    Args:
        customer: Name of the customer.
        limit: Maximum number of orders.
    """
    return [f"{sort} order {number} of {customer}" for number in range(1, limit + 1)]


print(find_orders.parameters)
print(find_orders.call_sync('{"customer": "Ada", "limit": "2"}'))
