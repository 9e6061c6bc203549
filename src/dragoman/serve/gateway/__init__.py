"""Any coding agent on any model, in the model's own words: a server on loopback between the two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .clients import CLIENTS as CLIENTS, Client as Client
    from .routes import Route as Route, Routes as Routes, read_models as read_models, read_route as read_route
    from .server import Exchanged as Exchanged, Gateway as Gateway, Watch as Watch
    from .web import OwnWeb as OwnWeb
    from .words import Words as Words
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "clients": ("CLIENTS", "Client"),
            "routes": ("Route", "Routes", "read_models", "read_route"),
            "server": ("Exchanged", "Gateway", "Watch"),
            "web": ("OwnWeb",),
            "words": ("Words",),
        },
    )
