"""How each vocabulary says it: one module or package per vocabulary, read and written by the same declarations.

`DIALECTS` finds a dialect by name and loads it on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.registry import DIALECTS as DIALECTS

from .base.default_words import tell as tell, understand as understand
from .base.dialect import (
    Dialect as Dialect,
    Failures as Failures,
    Loss as Loss,
    PlanApproval as PlanApproval,
    Steer as Steer,
    approval_told as approval_told,
)
from .base.fidelity import Fidelity as Fidelity
from .base.mcp_names import McpNames as McpNames
from .base.provider_rows import ProviderRow as ProviderRow, Settings as Settings
from .base.provider_tools import provider_dialect as provider_dialect, provider_tool as provider_tool
from .base.reading import Heard as Heard
from .base.shell_intent import with_intents as with_intents
from .base.spelling import (
    EMPTY_IS_UNSAID as EMPTY_IS_UNSAID,
    SECONDS as SECONDS,
    TEXT_OF_NUMBER as TEXT_OF_NUMBER,
    WHOLE as WHOLE,
    Conversion as Conversion,
    Freeform as Freeform,
    ProviderExecuted as ProviderExecuted,
    Spelling as Spelling,
    means as means,
    native_only as native_only,
)
from .base.web_action import WebAction as WebAction
from .base.writing import joined as joined

if TYPE_CHECKING:
    from .plugins.by_path import (
        dialect_from_file as dialect_from_file,
        dialect_named as dialect_named,
        dialects_in as dialects_in,
        is_dialect_file as is_dialect_file,
    )
    from .plugins.laws import (
        DIALECT_NAME as DIALECT_NAME,
        Problem as Problem,
        check as check,
        spoken as spoken,
    )
    from .plugins.skeleton import Captured as Captured, captured_tools as captured_tools, drafted as drafted

_LATER = {
    # Only needed to add a dialect, or to find one by its file.
    "dialect_from_file": "plugins.by_path",
    "dialect_named": "plugins.by_path",
    "dialects_in": "plugins.by_path",
    "is_dialect_file": "plugins.by_path",
    "DIALECT_NAME": "plugins.laws",
    "Problem": "plugins.laws",
    "check": "plugins.laws",
    "spoken": "plugins.laws",
    "Captured": "plugins.skeleton",
    "captured_tools": "plugins.skeleton",
    "drafted": "plugins.skeleton",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'dragoman.dialects' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_LATER[name]}", __name__), name)
