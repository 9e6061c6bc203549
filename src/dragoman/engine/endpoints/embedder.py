"""Texts as vectors, by a provider's embedding model."""

from __future__ import annotations

import asyncio
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, get_args

import msgspec
from msgspec import UNSET

from dragoman.apis import Purpose, Vector
from dragoman.engine.engine import HttpEngine
from dragoman.engine.models.configured import settings_for
from dragoman.engine.models.providers import engine_for
from dragoman.engine.spending import charged_name, cost_of
from dragoman.errors import ConfigError, Unsupported
from dragoman.model import Provenance, Usage

if TYPE_CHECKING:
    from dragoman.config import Chosen, Price


class Embeddings(msgspec.Struct, frozen=True):
    """The vectors of texts, in the order of the texts; iterating gives them too.

    `usage` has the tokens that the provider counted, if it says how many.
    """

    vectors: tuple[Vector, ...]
    usage: Usage
    model: str
    prices: tuple[Price, ...] = ()
    """Prices of the caller's own."""

    def __iter__(self) -> Iterator[Vector]:
        return iter(self.vectors)

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, place: int) -> Vector:
        return self.vectors[place]

    def __repr__(self) -> str:
        size = len(self.vectors[0]) if self.vectors else 0
        return f"Embeddings({len(self.vectors)} of {size} numbers, model={self.model!r}, usage={self.usage!r})"

    @property
    def cost(self) -> float | None:
        """What they cost in US dollars; `None` if the price or the number of tokens is not known."""
        return cost_of([(self.model, self.usage)], self.prices) if self.vectors else 0.0


class Embedder:
    """Makes vectors of texts with one model.

    `model` is `provider:model`, for example "openai:text-embedding-3-small", or an engine together with `model_name`.
    Addresses and keys are those of the settings, as for `Orchestrator`. `dimensions` is the length of the vectors, for
    models that can shorten them. A provider without embeddings raises `Unsupported`.
    """

    def __init__(
        self,
        model: str | HttpEngine,
        *,
        model_name: str | None = None,
        dimensions: int | None = None,
        configuration: Chosen = UNSET,
        prices: Sequence[Price] | None = None,
    ) -> None:
        self.dimensions = dimensions
        given = settings_for(configuration, None, wanted=isinstance(model, str))
        if isinstance(model, str):
            engine, self.model = engine_for(model, configuration=given)
            if not isinstance(engine, HttpEngine):
                raise Unsupported(engine.name, "embeddings")
            self.engine = engine
        else:
            self.engine, self.model = model, model_name or ""
        own = given.settings.prices if prices is None and given is not None else prices
        self.prices = tuple(own or ())

    def __repr__(self) -> str:
        return f"Embedder({self.engine.provider}:{self.model})"

    async def embed(self, texts: str | Iterable[str], *, purpose: Purpose | None = None) -> Embeddings:
        """The vectors of texts, by as many requests as the provider's limits make necessary.

        `purpose` says what they are for, where a model makes a difference: "query" and "document" for search.
        """
        wanted: list[Any] = [texts] if isinstance(texts, str) or not isinstance(texts, Iterable) else list(texts)
        wrong = [text for text in wanted if not isinstance(text, str)]
        if wrong:
            raise ConfigError(f"embeddings are made of texts, not of {reprlib.repr(wrong[0])}")
        if purpose is not None and purpose not in get_args(Purpose):
            raise ConfigError(f"purpose must be one of {', '.join(get_args(Purpose))}, not {purpose!r}")
        endpoints = self.engine.api.endpoints()
        found = await self.engine.follow(
            endpoints.embed(self.model, wanted, dimensions=self.dimensions, purpose=purpose)
        )
        made_by = Provenance(provider=self.engine.provider or None, model=self.model)
        return Embeddings(found.vectors, found.usage, charged_name(made_by, self.model), self.prices)

    def embed_sync(self, texts: str | Iterable[str], *, purpose: Purpose | None = None) -> Embeddings:
        """`embed` for code without an event loop."""

        async def whole() -> Embeddings:
            try:
                return await self.embed(texts, purpose=purpose)
            finally:
                await self.close()

        return asyncio.run(whole())

    async def close(self) -> None:
        """Closes the connections."""
        await self.engine.close()
