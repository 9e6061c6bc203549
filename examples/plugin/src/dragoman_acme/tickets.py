"""Acme's tool: tickets by their number."""

from __future__ import annotations

from dragoman import tool
from dragoman.errors import ToolError

_TICKETS = {7: "The door squeaks.", 12: "The lamp is on by day."}


@tool(kind="read", repeatable=True)
def find_ticket(number: int) -> dict[str, str | int]:
    """Find a ticket.

    Args:
        number: The number of the ticket.
    """
    if number not in _TICKETS:
        raise ToolError(f"there is no ticket {number}; there are {', '.join(map(str, _TICKETS))}")
    return {"number": number, "text": _TICKETS[number]}
