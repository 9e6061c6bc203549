"""Runs as event streams for front ends: AG-UI, and the UI message stream of Vercel's AI SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .ag_ui import AgUi as AgUi
    from .protocol import Asked as Asked, Protocol as Protocol, RunWriter as RunWriter
    from .serving import FrontEnd as FrontEnd
    from .ui_messages import UiMessages as UiMessages
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "ag_ui": ("AgUi",),
            "protocol": ("Asked", "Protocol", "RunWriter"),
            "serving": ("FrontEnd",),
            "ui_messages": ("UiMessages",),
        },
    )
