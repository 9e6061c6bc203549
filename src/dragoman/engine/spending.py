"""Requests to a model that a tool makes beside the conversation of a run: they are charged to that run.

Rule: what such a request takes counts for the run's usage, its cost and its limits, whichever provider answers it.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from dragoman.model import Provenance, Reply, Request, Usage

    from .engine import Engine


class Account(Protocol):
    """Where the requests of one run are counted."""

    def afford(self, model: str) -> None:
        """Raises when the run's limits do not allow another request to this model."""

    def charge(self, model: str, usage: Usage) -> None:
        """Counts one request."""


ACCOUNT: Final[ContextVar[Account | None]] = ContextVar("account", default=None)
"""The run whose tools are running here; `None` outside of runs."""


async def ask_beside(engine: Engine, request: Request) -> Reply:
    """The reply to a request that is no part of the run's conversation."""
    account = ACCOUNT.get()
    if account is not None:
        account.afford(request.model)
    reply = await engine.ask(request)
    if account is not None:
        account.charge(charged_name(reply.provenance, request.model), reply.usage)
    return reply


def charged_name(made_by: Provenance, asked: str) -> str:
    """The name that the price of a reply is looked up by: with the provider where that decides the price."""
    from dragoman.prices import FREE

    name = made_by.served or made_by.model or asked
    return f"{made_by.provider}:{name}" if made_by.provider in FREE else name
