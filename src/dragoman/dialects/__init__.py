"""How each vocabulary says it: one file per vocabulary, read and written by the same declarations.

`DIALECTS` finds a dialect by name and loads it on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.registry import DIALECTS as DIALECTS

from .dialect import (
    Dialect as Dialect,
    Failures as Failures,
    Heard as Heard,
    Loss as Loss,
    PlanApproval as PlanApproval,
    Steer as Steer,
    approval_told as approval_told,
    joined as joined,
)
from .fidelity import Fidelity as Fidelity
from .mcp_names import McpNames as McpNames
from .provider_rows import (
    ProviderRow as ProviderRow,
    Settings as Settings,
    provider_dialect as provider_dialect,
    provider_tool as provider_tool,
)
from .shell_intent import with_intents as with_intents
from .spelling import (
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
from .web_action import WebAction as WebAction
from .wording import tell as tell, understand as understand

if TYPE_CHECKING:
    from .by_path import (
        dialect_from_file as dialect_from_file,
        dialect_named as dialect_named,
        dialects_in as dialects_in,
        is_dialect_file as is_dialect_file,
    )
    from .laws import (
        DIALECT_NAME as DIALECT_NAME,
        Problem as Problem,
        check as check,
        spoken as spoken,
        unstated as unstated,
    )
    from .skeleton import Captured as Captured, captured_tools as captured_tools, drafted as drafted

_LATER = {
    # Only needed to add a dialect, or to find one by its file.
    "dialect_from_file": "by_path",
    "dialect_named": "by_path",
    "dialects_in": "by_path",
    "is_dialect_file": "by_path",
    "DIALECT_NAME": "laws",
    "Problem": "laws",
    "check": "laws",
    "spoken": "laws",
    "unstated": "laws",
    "Captured": "skeleton",
    "captured_tools": "skeleton",
    "drafted": "skeleton",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'dragoman.dialects' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_LATER[name]}", __name__), name)
