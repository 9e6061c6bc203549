"""Python types to JSON Schema, and JSON to Python types: the only place that knows how.

Rules it guards: arguments that fit cost one validated decode and nothing else; arguments that
do not are read leniently by seven named rules, each use of which is reported, or are refused with
every problem at once and by no other exception than `ToolError`; what a schema states is what
its reader holds to.
"""

from __future__ import annotations

from .classes import ClassInfo, Field, class_info, has_fields
from .defaults import Defaults
from .docstrings import Described, describe
from .reader import Coerced, Reader, checker, problems_against, schema_of
from .values import TooLarge, json_problems, to_json, to_text

__all__ = [
    "ClassInfo",
    "Coerced",
    "Defaults",
    "Described",
    "Field",
    "Reader",
    "TooLarge",
    "checker",
    "class_info",
    "describe",
    "has_fields",
    "json_problems",
    "problems_against",
    "schema_of",
    "to_json",
    "to_text",
]
