"""The vocabularies: one module or package for each, which reads and writes its calls and results.

`DIALECTS` finds a dialect by name and loads it on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door
from dragoman.registry import DIALECTS as DIALECTS

if TYPE_CHECKING:
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
    from .base.patch_text import read_patch_in_form as read_patch_in_form
    from .base.provider_rows import ProviderRow as ProviderRow, Settings as Settings
    from .base.provider_tools import provider_dialect as provider_dialect, provider_tool as provider_tool
    from .base.reading import CallReading as CallReading
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
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "base.default_words": ("tell", "understand"),
            "base.dialect": ("Dialect", "Failures", "Loss", "PlanApproval", "Steer", "approval_told"),
            "base.fidelity": ("Fidelity",),
            "base.mcp_names": ("McpNames",),
            "base.patch_text": ("read_patch_in_form",),
            "base.provider_rows": ("ProviderRow", "Settings"),
            "base.provider_tools": ("provider_dialect", "provider_tool"),
            "base.reading": ("CallReading",),
            "base.shell_intent": ("with_intents",),
            "base.spelling": (
                "EMPTY_IS_UNSAID",
                "SECONDS",
                "TEXT_OF_NUMBER",
                "WHOLE",
                "Conversion",
                "Freeform",
                "ProviderExecuted",
                "Spelling",
                "means",
                "native_only",
            ),
            "base.web_action": ("WebAction",),
            "base.writing": ("joined",),
        },
    )
    __all__ += ["DIALECTS"]
