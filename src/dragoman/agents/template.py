"""Prompts with places for values: `{{parameter}}`, and nothing else.

Rule: one pass. A value is never looked into, so what a caller passes cannot bring places of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from dragoman.schema import to_text

if TYPE_CHECKING:
    from .agent import CustomTool

_PLACE: Final = re.compile(r"\{\{([^{}\n]+)\}\}")


def render(template: str, values: Mapping[str, Any]) -> str:
    """The template with its places filled; a place that no value is for stays as it is written.

    Text goes in as it is, everything else as JSON.
    """

    def filled(place: re.Match[str]) -> str:
        name = place[1].strip()
        return _written(values[name]) if name in values else place[0]

    return _PLACE.sub(filled, template)


def placeholders(template: str) -> tuple[str, ...]:
    """The names a template has places for, in the order they are first met, each once."""
    names = (place[1].strip() for place in _PLACE.finditer(template))
    return tuple(dict.fromkeys(name for name in names if name))


def prompt_of(tool: CustomTool, arguments: Mapping[str, Any]) -> str:
    """The prompt of one call; a parameter that was not given has its default, where it states one."""
    stated = tool.parameters.get("properties", {})
    defaults = {
        name: schema["default"] for name, schema in stated.items() if isinstance(schema, dict) and "default" in schema
    }
    return render(tool.prompt, {**defaults, **arguments})


def _written(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "null" if value is None else to_text(value)
