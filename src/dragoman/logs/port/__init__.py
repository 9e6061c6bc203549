"""Sessions taken out of one client's log, to be continued elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .conversation import Told as Told, history_of as history_of
else:
    __all__, __getattr__ = door(__name__, {"conversation": ("Told", "history_of")})
