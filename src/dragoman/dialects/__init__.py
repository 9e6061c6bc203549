"""How each vocabulary says it: one file per vocabulary, read and written by the same declarations.

`DIALECTS` finds a dialect by name and loads it on first use.
"""

from __future__ import annotations

from dragoman.registry import DIALECTS as DIALECTS

from .dialect import (
    Dialect as Dialect,
    Failures as Failures,
    Loss as Loss,
    Steer as Steer,
    joined as joined,
)
from .fidelity import Fidelity as Fidelity
from .mcp_names import McpNames as McpNames
from .shell_intent import with_intents as with_intents
from .spelling import (
    Conversion as Conversion,
    Freeform as Freeform,
    ProviderExecuted as ProviderExecuted,
    Spelling as Spelling,
    means as means,
    native_only as native_only,
)
from .wording import tell as tell, understand as understand
