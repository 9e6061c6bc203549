"""What a run uses and may use, also for requests that its tools make beside its conversation.

Rule: what a tool's request takes counts for the run's usage, its cost and its limits, whichever provider answers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol

from dragoman.errors import ConfigError, LimitReached
from dragoman.model import Provenance, Usage

if TYPE_CHECKING:
    from dragoman.config import Price
    from dragoman.model import Reply, Request

    from .engine import Engine
    from .policy import ToolPolicy

Charged = tuple[str, Usage]
"""A model, and the tokens of one exchange with it."""


class Spending:
    """The tokens of one run, and the limits its policy sets to them and to what they cost."""

    def __init__(self, policy: ToolPolicy, provider: str, model: str, prices: Sequence[Price]) -> None:
        self.usage = Usage()
        self.charged: list[Charged] = []
        self.before: list[Charged] = []
        """What an earlier process used for this run; limits count it."""
        self._policy, self._provider, self._model, self._prices = policy, provider, model, prices

    def name_of(self, model: str | None) -> str:
        """The name that a model of the run's provider is charged under; the run's own where none is given."""
        return charged_name(Provenance(provider=self._provider, model=model), self._model)

    def count(self, reply: Reply) -> None:
        """Counts a reply of the run's own model."""
        self.charge(charged_name(reply.provenance, self._model), reply.usage)

    def charge(self, model: str, usage: Usage) -> None:
        """Counts one exchange."""
        self.usage = self.usage + usage
        self.charged.append((model, usage))

    @property
    def last_cost(self) -> float | None:
        """What the last exchange cost in US dollars, or `None` when that is not known."""
        return cost_of(self.charged[-1:], self._prices)

    def check_limits(self) -> None:
        """Raises before more is spent than may be; an answer that is already there is not taken back."""
        policy, charged = self._policy, [*self.before, *self.charged]
        if not charged or (policy.max_tokens is None and policy.max_cost is None):
            return
        total = sum((usage for _, usage in self.before), self.usage).total
        if policy.max_tokens is not None and total is None:
            raise LimitReached("tokens", policy.max_tokens, "the provider did not report how many were used")
        if policy.max_tokens is not None and total is not None and total > policy.max_tokens:
            raise LimitReached("tokens", policy.max_tokens)
        if policy.max_cost is not None:
            cost = cost_of(charged, self._prices)
            if cost is None:
                unknown = next(model for model, used in charged if cost_of([(model, used)], self._prices) is None)
                raise LimitReached("cost", policy.max_cost, f"what {unknown} costs is not known: add its price")
            if cost > policy.max_cost:
                raise LimitReached("cost", policy.max_cost)

    def check_price(self, model: str | None = None) -> None:
        """Raises when the run is to keep to a cost and the price of a model (its own, if not given) is unknown."""
        most, model = self._policy.max_cost, model or self.name_of(None)
        if most is None or not model:
            return
        if cost_of([(model, Usage(input_tokens=1, output_tokens=1))], self._prices) is None:
            raise ConfigError(
                f"max_cost is {most:g} and what {model} costs is not known: give its price (`prices=` here, "
                "[[prices]] in the settings file), or limit max_tokens instead"
            )


def cost_of(charged: Sequence[Charged], own: Sequence[Price]) -> float | None:
    """What exchanges cost in US dollars, or `None` when a price or a count is not known."""
    from dragoman.prices import cost

    prices = [cost(model, usage, own=own) for model, usage in charged]
    return (
        None if any(price is None for price in prices) else float(sum(price for price in prices if price is not None))
    )


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
