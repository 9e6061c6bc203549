"""JSON Schema turned into what an API accepts, with what was changed and the inverse on arguments.

Rules: nothing here raises, whatever the JSON; every change is reported: as lossy where arguments the original refuses
would pass or some it takes can no longer be said, as narrowing where an object is closed or a type stated.
`restore` undoes what was not lossy, exactly.
"""

from __future__ import annotations

from dragoman.apis.base.lowered import Branch, Lowered, Lowering, Rewrite, Undo, restore

from .root import lower
from .rules import ANTHROPIC, ANTHROPIC_STRICT, GEMINI_JSON, GEMINI_SCHEMA, OPENAI, OPENAI_STRICT, Rules
from .tools import LoweredTool, lower_tools

__all__ = [
    "ANTHROPIC",
    "ANTHROPIC_STRICT",
    "GEMINI_JSON",
    "GEMINI_SCHEMA",
    "OPENAI",
    "OPENAI_STRICT",
    "Branch",
    "Lowered",
    "LoweredTool",
    "Lowering",
    "Rewrite",
    "Rules",
    "Undo",
    "lower",
    "lower_tools",
    "restore",
]
