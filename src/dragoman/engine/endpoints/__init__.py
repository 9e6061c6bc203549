"""What providers offer beside conversations: embeddings and batches. Tokens are counted by `Orchestrator`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .batches import Batches as Batches, BatchResult as BatchResult, BatchResults as BatchResults
    from .embedder import Embedder as Embedder, Embeddings as Embeddings
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "batches": ("Batches", "BatchResult", "BatchResults"),
            "embedder": ("Embedder", "Embeddings"),
        },
    )
