"""The data types that every other package uses. This package imports no other of ours.

`operations` is what calls mean, `outcomes` what they returned, `calls` both together with their native
form, `conversation` the messages, `request` what is sent to a model, `events` what happened in a run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .calls import *
    from .conversation import *
    from .events import *
    from .operations import *
    from .outcomes import *
    from .request import *

# In the order they stand on each other: asking for an operation does not load the events.
_MODULES = ("operations", "outcomes", "calls", "conversation", "request", "events")


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        if name in _MODULES:
            return import_module(f".{name}", __name__)
        for module_name in _MODULES:
            value = vars(import_module(f".{module_name}", __name__)).get(name)
            if value is not None:
                globals()[name] = value
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
