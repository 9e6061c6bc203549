"""Define a tool once; speak it to every language model, run it, and read it back from any agent's log.

This is the public door. Each name is loaded on first use, so importing it costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # importing it from `typing` would cost a hook as much as asking a server does
if TYPE_CHECKING:
    from typing import Any

    from dragoman.engine import Orchestrator as Orchestrator, ToolPolicy as ToolPolicy
    from dragoman.errors import (
        DefinitionError as DefinitionError,
        DragomanError as DragomanError,
        EngineError as EngineError,
        LimitReached as LimitReached,
        LogError as LogError,
        ToolError as ToolError,
        Unspeakable as Unspeakable,
    )
    from dragoman.model import (
        Call as Call,
        Event as Event,
        Failure as Failure,
        NativeCall as NativeCall,
        NativeResult as NativeResult,
        Operation as Operation,
        Outcome as Outcome,
        Reply as Reply,
        Request as Request,
        Result as Result,
        ToolChoice as ToolChoice,
    )
    from dragoman.registry import TOOLS as TOOLS
    from dragoman.tools import (
        Audio as Audio,
        Context as Context,
        DiskWorkspace as DiskWorkspace,
        Document as Document,
        Image as Image,
        ProviderTool as ProviderTool,
        Tool as Tool,
        Toolset as Toolset,
        tool as tool,
    )

__version__ = "0.2.0"

_ROOMS = {
    "engine": ("Orchestrator", "ToolPolicy"),
    "errors": (
        "DefinitionError",
        "DragomanError",
        "EngineError",
        "LimitReached",
        "LogError",
        "ToolError",
        "Unspeakable",
    ),
    "model": (
        "Call",
        "Event",
        "Failure",
        "NativeCall",
        "NativeResult",
        "Operation",
        "Outcome",
        "Reply",
        "Request",
        "Result",
        "ToolChoice",
    ),
    "registry": ("TOOLS",),
    "tools": (
        "Audio",
        "Context",
        "DiskWorkspace",
        "Document",
        "Image",
        "ProviderTool",
        "Tool",
        "Toolset",
        "tool",
    ),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = sorted([*_ROOM_OF, "__version__"])


def __getattr__(name: str) -> Any:
    room = _ROOM_OF.get(name)
    if room is None:
        raise import_module(".doors", __name__).unknown_name(__name__, name, __all__)
    value = getattr(import_module(f".{room}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
