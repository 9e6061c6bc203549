"""Conversations taken from recordings and logs: continued, translated, replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .from_recording import (
        conversation_of as conversation_of,
        open_calls as open_calls,
        open_calls_of_all as open_calls_of_all,
    )
    from .replaying import REPLAYED as REPLAYED, Replayed as Replayed, replay as replay, same_outcomes as same_outcomes
    from .shortening import SUMMARISE as SUMMARISE
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "from_recording": ("conversation_of", "open_calls", "open_calls_of_all"),
            "replaying": ("REPLAYED", "Replayed", "replay", "same_outcomes"),
            "shortening": ("SUMMARISE",),
        },
    )
