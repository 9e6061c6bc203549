"""The vocabularies: one module or package for each, which reads and writes its calls and results.

`DIALECTS` finds a dialect by name and loads it on first use.
"""

from __future__ import annotations

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
