"""One tree of activations: who started whom, how each ended, and what all of them have used so far.

Rule: what an agent uses counts for every agent above it, and what it may do is never more than what they may.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Literal

import msgspec

from dragoman.config import Price, Sandbox
from dragoman.dialects import Dialect
from dragoman.engine import Running, ToolPolicy
from dragoman.errors import LimitReached
from dragoman.model import Call, Conversation, Usage
from dragoman.tools import Context, LimitsLeft

from .agent import Agent, AgentLimits
from .priority_semaphore import PrioritySemaphore
from .recorded import Earlier

Status = Literal["completed", "failed", "cancelled", "limited"]
"""How an agent can end."""


class Activation(msgspec.Struct, frozen=True, kw_only=True):
    """How one agent's work ended. `text` is its last message; `error` says why it did not complete.

    One that is `waiting` has not ended: it, or agents below it, need an answer that comes later.
    """

    id: str
    agent: str
    input: str
    status: Status | Literal["waiting"]
    text: str = ""
    error: str | None = None
    depth: int = 0
    parent: str | None = None
    usage: Usage = Usage()
    rounds: int = 0
    conversation: Conversation = ()
    children: tuple[Activation, ...] = ()


class Live:
    """A running activation, or one that has ended (`ended`)."""

    def __init__(
        self,
        id: str,
        agent: Agent,
        input: str,
        parent: Live | None,
        limits: AgentLimits,
        *,
        lent: bool = True,
        parks: bool = True,
        priority: int = 1,
    ) -> None:
        self.id, self.agent, self.input, self.parent, self.lent = id, agent, input, parent, lent
        self.parks: bool = parks and (parent is None or parent.parks)
        """Whether it can wait for an answer that comes after this process: not where a function called it."""
        self.limits: AgentLimits = limits
        if parent is not None:
            # The time of those above runs for it as well: when theirs is over, so is it.
            self.limits = msgspec.structs.replace(stricter(parent.limits, limits), timeout=limits.timeout)
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.deepest: int = self.depth + self.limits.max_depth
        if parent is not None:
            self.deepest = min(self.deepest, parent.deepest)
        self.policy = ToolPolicy()
        self.sandbox = Sandbox(mode="off")
        self.model: str | None = agent.model
        self.dialect: Dialect | None = None
        """The vocabulary it is spoken to in, once that is settled."""
        self.children: list[Live] = []
        self.started = 0
        """Agents that it and all below it started so far."""
        self.inbox: list[str] = []
        """What others told it, not read yet."""
        self.heard_of: set[str] = set()
        """Ids of ended children that it was told about."""
        self.news = asyncio.Event()
        self.finished = asyncio.Event()
        self.ended: Activation | None = None
        self.cause: Exception | None = None
        """What made it fail."""
        self.waiting: tuple[Call, ...] = ()
        """Calls of its own whose approval was put off."""
        self.parked = False
        """Whether it has stopped, for now: it or agents below it wait for an answer."""
        self.postponed: set[str] = set()
        """Ids of its calls that wait for agents below it."""
        self.earlier: Earlier | None = None
        """What it did in an earlier process, until it goes on from there."""
        self.attached: dict[str, Live] = {}
        """Agents that it had started in an earlier process, by the call that did."""
        self.task: asyncio.Task[None] | None = None
        self.context: Context | None = None
        self.priority = priority
        self.rounds = 0
        self.text = ""
        """The last it said."""
        self.check: Callable[[str], list[str]] | None = None
        self.repairs = 0
        self.conversation: Conversation = ()
        self._slots = PrioritySemaphore(self.limits.max_concurrency)
        self._holds_place = False
        self._usage = Usage()
        self._charged: list[tuple[str, Usage]] = []
        self._running: Running | None = None
        self.deadline: float | None = None
        """When its time is over, as the event loop counts; `None`: it has no end, or has not begun."""
        self.resumed: Live | None = None
        """The activation that continues this one's conversation."""
        self.legs = 0
        """Runs it has begun."""

    @property
    def stream(self) -> str:
        """The name of its events' stream: `main` for the first agent, else its id."""
        return "main" if self.parent is None else self.id

    @property
    def lineage(self) -> Iterator[Live]:
        """Itself and those above it."""
        one: Live | None = self
        while one is not None:
            yield one
            one = one.parent

    def may_use(self, name: str, operation: str | None = None, tags: Collection[str] = ()) -> bool:
        """Whether it may use a tool; what it was lent is at most what the one above it may use."""
        if not self.agent.may_use(name, operation, tags):
            return False
        return self.parent is None or not self.lent or self.parent.may_use(name, operation, tags)

    # ── places to work at ──────────────────────────────────────────────────

    async def take_place(self) -> None:
        """Waits until it may work: so many at once within each agent above it. Does nothing where it works already.

        From itself upwards: whoever waits for a place further up holds only ones further down, so no two wait
        for each other.
        """
        if self._holds_place:
            return
        taken: list[PrioritySemaphore] = []
        try:
            for one in self.lineage:
                await one._slots.take(self.priority)
                taken.append(one._slots)
        except asyncio.CancelledError:
            for slots in taken:
                slots.give()
            raise
        self._holds_place, self.priority = True, 1

    def give_place(self) -> None:
        """Frees its place while it waits for others, or when it is done. It takes a place again before it continues."""
        if self._holds_place:
            self._holds_place = False
            for one in self.lineage:
                one._slots.give()

    # ── what was used ──────────────────────────────────────────────────────

    @property
    def usage(self) -> Usage:
        """Tokens of its own so far."""
        return self._usage if self._running is None else self._usage + self._running.usage

    @property
    def charged(self) -> list[tuple[str, Usage]]:
        """The model and the tokens of each exchange, of it and of all below it."""
        own = [*self._charged, *(self._running.charged if self._running is not None else ())]
        return own + [one for child in self.children for one in child.charged]

    @property
    def tokens(self) -> int:
        """The tokens that it and all below it used, as far as they were counted."""
        return (self.usage.total or 0) + sum(child.tokens for child in self.children)

    def spent(self, prices: Sequence[Price] = ()) -> LimitReached | None:
        """The limit on tokens or cost that was reached, its own or one of an agent above it."""
        for one in self.lineage:
            owner = f"{one.agent.name} and the agents below it share it"
            most = min((n for n in (one.limits.max_tokens, one.policy.max_tokens) if n is not None), default=None)
            if most is not None and one.tokens >= most:
                return LimitReached("tokens", most, owner)
            ceiling = one.policy.max_cost
            if ceiling is not None and one.charged:
                cost = _cost(one.charged, prices)
                if cost is None:
                    unknown = next(model for model, used in one.charged if _cost([(model, used)], prices) is None)
                    return LimitReached("cost", ceiling, f"what {unknown} costs is not known: add its price")
                if cost >= ceiling:
                    return LimitReached("cost", ceiling, owner)
        return None

    def left(self, prices: Sequence[Price] = ()) -> LimitsLeft:
        """What it may still use, counting the limits of those above it."""
        tokens, costs, ends = [], [], []
        for one in self.lineage:
            tokens += [most - one.tokens for most in (one.limits.max_tokens, one.policy.max_tokens) if most is not None]
            if one.policy.max_cost is not None:
                used = _cost(one.charged, prices)
                costs += [] if used is None else [one.policy.max_cost - used]
            ends += [] if one.deadline is None else [one.deadline]
        rounds = self.rounds + (self._running.rounds if self._running is not None else 0)
        return LimitsLeft(
            depth=max(0, self.deepest - self.depth),
            fanout=max(0, self.limits.max_fanout - len(self.children)),
            agents=max(0, min(one.limits.max_agents - one.started for one in self.lineage)),
            turns=max(0, self.limits.max_turns - rounds),
            tokens=max(0, min(tokens)) if tokens else None,
            cost=max(0.0, min(costs)) if costs else None,
            seconds=max(0.0, min(ends) - asyncio.get_running_loop().time()) if ends else None,
        )

    def remember(self, earlier: Earlier) -> None:
        """Takes over what it had done in an earlier process."""
        self.earlier, self.conversation, self.text = earlier, earlier.conversation, earlier.text
        self.rounds, self.legs = earlier.rounds, earlier.legs
        self._charged = [(model or self.model or "", usage) for model, usage in earlier.charged]
        self._usage = sum((usage for _, usage in earlier.charged), Usage())

    def works(self, running: Running) -> None:
        """Makes a run the current one: what that uses counts here while it goes on."""
        self._running = running

    def rests(self) -> None:
        """Takes over what its current run used and said: the run is over."""
        running, self._running = self._running, None
        if running is not None:
            self.rounds += running.rounds
            self.conversation = running.conversation
            self._usage += running.usage
            self._charged += running.charged

    # ── hearing and ending ─────────────────────────────────────────────────

    def tell(self, words: str) -> None:
        """Queues a message for it."""
        self.inbox.append(words)
        self.news.set()

    def end(self, status: Status, error: str | None) -> Activation:
        """Ends it, once: stops counting, frees its place and keeps how it ended."""
        self.parked = False
        self.ended = self.stop(status, error)
        return self.ended

    def stop(self, status: Status | Literal["waiting"], error: str | None = None) -> Activation:
        """Stops counting and frees its place; how it is then."""
        self.rests()
        self.give_place()
        return Activation(
            id=self.id,
            agent=self.agent.name,
            input=self.input,
            status=status,
            text=self.text,
            error=error,
            depth=self.depth,
            parent=None if self.parent is None else self.parent.id,
            usage=self.usage,
            rounds=self.rounds,
            conversation=self.conversation,
            children=tuple(child.ended for child in self.children if child.ended is not None),
        )

    @property
    def is_at_work(self) -> bool:
        """Whether it has neither ended nor is parked."""
        return self.ended is None and not self.parked

    @property
    def all_parked(self) -> bool:
        """Whether everyone below it that has not ended waits for an answer."""
        return all(child.parked for child in self.children if child.ended is None)


def stricter(one: AgentLimits, other: AgentLimits) -> AgentLimits:
    """Of each limit the smaller."""

    def least(field: str) -> Any:
        values = [value for value in (getattr(one, field), getattr(other, field)) if value is not None]
        return min(values, default=None)

    return AgentLimits(**{field: least(field) for field in AgentLimits.__struct_fields__})


def _cost(charged: Sequence[tuple[str, Usage]], own: Sequence[Price]) -> float | None:
    from dragoman.prices import cost

    each = [cost(model, usage, own=own) for model, usage in charged]
    return None if None in each else float(sum(one for one in each if one is not None))
