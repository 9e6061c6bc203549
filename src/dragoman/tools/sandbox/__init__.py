"""What a command may reach: bubblewrap, Landlock, seatbelt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .enclosure import Enclosure as Enclosure
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "enclosure": ("Enclosure",),
        },
    )
