"""The data types that every other package uses. This package imports no other of ours.

`operations` is what calls mean, `outcomes` what they returned, `calls` both together with their native
form, `conversation` the messages, `request` what is sent to a model, `events` what happened in a run.
"""

from __future__ import annotations

import sys
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
    # Python itself tells the nearest name of `__dir__`, where an error of this kind ends a program.
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    homes = [import_module(f".{module}", __name__) for module in _MODULES]
    own = [name for home in homes for name, value in vars(home).items() if _is_own(value, home.__name__)]
    return sorted({*globals(), *_MODULES, *own})


def _is_own(value: Any, module: str) -> bool:
    return getattr(value, "__module__", None) == module and not getattr(value, "__name__", "_").startswith("_")
