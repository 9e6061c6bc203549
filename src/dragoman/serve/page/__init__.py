"""The local page over all recorded sessions: a server on loopback that only reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .library import Library as Library
    from .server import Page as Page
else:
    __all__, __getattr__ = door(__name__, {"library": ("Library",), "server": ("Page",)})
