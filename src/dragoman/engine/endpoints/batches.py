"""Many first requests at once, answered later and cheaper: a provider's batch API.

Rule: a batch is known by the id that the provider gave it, and by nothing that is kept here: another process can poll
it, cancel it and read its results.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from dragoman.apis import Batch, Endpoints
from dragoman.engine.engine import HttpEngine
from dragoman.engine.typed_output import refusal_in, unreadable
from dragoman.errors import ConfigError, DragomanError, ToolError, Unsupported
from dragoman.model import Reply, Usage

if TYPE_CHECKING:
    from dragoman.engine.orchestrator import Orchestrator
    from dragoman.engine.run_options import Prompt

AnswerT = TypeVar("AnswerT")


class BatchResult(msgspec.Struct, Generic[AnswerT], frozen=True):
    """The result of one item: the reply, as a run would have got it, or the error of this item alone.

    `output` is the typed answer, where the orchestrator asks for one; an answer that does not match is an `error`.
    """

    id: str
    reply: Reply | None = None
    error: DragomanError | None = None
    output: AnswerT | None = None

    @property
    def text(self) -> str:
        """The text of the reply; empty if there is none."""
        return "" if self.reply is None else self.reply.text


class BatchResults(Mapping[str, BatchResult[AnswerT]]):
    """The results of a batch by the ids of its items.

    An item that the provider says nothing about is missing. `unreadable` are results that could not be read, as the
    provider sent them.
    """

    def __init__(self, items: Mapping[str, BatchResult[AnswerT]], unreadable: tuple[str, ...] = ()) -> None:
        self._items, self.unreadable = dict(items), unreadable

    def __getitem__(self, id: str) -> BatchResult[AnswerT]:
        return self._items[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        failed = sum(one.error is not None for one in self.values())
        return f"BatchResults({len(self)} items, {failed} failed, {len(self.unreadable)} unreadable)"

    @property
    def usage(self) -> Usage:
        """The tokens of all replies. What they cost is not known here: batches have prices of their own."""
        return sum((one.reply.usage for one in self.values() if one.reply is not None), Usage())


class Batches(Generic[AnswerT]):
    """The batches of an orchestrator's provider.

    A batch holds one request for each prompt, the one that a run would begin with: the same instructions, tools,
    settings and type of the answer. Nothing runs calls that the replies make; read them in `reply.calls`.
    """

    def __init__(self, orchestrator: Orchestrator[AnswerT]) -> None:
        given: Any = orchestrator
        if not hasattr(given, "prepare"):
            raise ConfigError(f"batches are submitted for an Orchestrator, not for {given!r}")
        self._setup = orchestrator
        engine = orchestrator.engine
        if not isinstance(engine, HttpEngine):
            raise Unsupported(engine.name, "batches")
        self._engine = engine

    def __repr__(self) -> str:
        return f"Batches({self._setup!r})"

    async def submit(self, prompts: Mapping[str, Prompt]) -> Batch:
        """Submits prompts, each under an id of yours, and gives the batch. Keep its `id`.

        A failure after which the provider may have the batch is not retried: look for it there before you submit again.
        """
        setup = self._setup
        given: Any = prompts
        if not isinstance(given, Mapping) or not all(isinstance(id, str) for id in given):
            raise ConfigError('a batch is submitted as a dict of prompts by ids of yours: {"r1": "…", "r2": "…"}')
        if setup.output is not None and "response_schema" not in setup.settings:
            raise ConfigError(
                f"{setup.model} takes no schema for its answer with these tools, and a batch cannot ask again: "
                "leave out `output` or the tools"
            )
        encoded = {id: self._engine.prepare(setup.prepare(prompt).request) for id, prompt in prompts.items()}
        return await self._engine.follow(self._endpoints.submit_batch(encoded, setup.model))

    async def get(self, id: str) -> Batch:
        """The batch as it is now."""
        return await self._engine.follow(self._endpoints.batch(id))

    async def cancel(self, id: str) -> Batch:
        """Cancels a batch. What was answered before keeps its result."""
        return await self._engine.follow(self._endpoints.cancel_batch(id))

    async def wait(self, id: str, *, every: float = 30.0) -> Batch:
        """Asks every so many seconds until the batch has ended. Cancelling this does not cancel the batch."""
        while (batch := await self.get(id)).status != "ended":  # noqa: ASYNC110 - it happens at the provider
            await asyncio.sleep(every)
        return batch

    async def results(self, id: str) -> BatchResults[AnswerT]:
        """The results of a batch that has ended; `EngineError` with the code "batch_running" while it has not."""
        found = await self._engine.follow(self._endpoints.batch_replies(id))
        items = {id: self._result(id, one) for id, one in found.items.items()}
        return BatchResults(items, found.unreadable)

    def _result(self, id: str, found: Reply | DragomanError) -> BatchResult[AnswerT]:
        provider, output = self._engine.provider or None, self._setup.output
        if not isinstance(found, Reply):
            return BatchResult(id, error=found)
        made_by = msgspec.structs.replace(found.provenance, provider=provider, served=found.provenance.model)
        reply = msgspec.structs.replace(found, provenance=made_by)
        if output is None:
            return BatchResult(id, reply)
        try:
            value: Any = output.read(reply.text)
        except ToolError as error:
            why = refusal_in(reply) or unreadable(reply, error.message)
            return BatchResult(id, reply, ToolError(why, kind=error.kind, details=error.details))
        return BatchResult(id, reply, output=value)

    @property
    def _endpoints(self) -> Endpoints:
        return self._engine.api.endpoints()
