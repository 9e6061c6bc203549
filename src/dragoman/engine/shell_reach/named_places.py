"""Arguments of a call that hold a place or a program by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_PLACES: Final = re.compile("path|file|folder|dir|cwd|attachment|image|command|cmd|script|code|patch|ur[li]|target")
"""What is in the names of such arguments, in tools of which each client has its own."""


def places_in(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that hold a place or a program by their names. The others are what is said, and may be any text."""
    return {name: value for name, value in arguments.items() if _PLACES.search(plain_name(name))}


def plain_name(name: str) -> str:
    """A name without case: `shellCommand` and `shell-command` are `shell_command`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", name).lower()
