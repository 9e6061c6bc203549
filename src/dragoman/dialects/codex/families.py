"""Which models are offered what: the client's catalogue of models, as globs."""

from __future__ import annotations

from typing import Any

CODE_MODE = ("gpt-5.6*", "gpt-6*", "gpt-daybreak*", "codex-auto-review*")
CLASSIC = tuple(f"!{family}" for family in CODE_MODE)
MINI = "codex-mini*"
FIRST_CATALOGUE = ("gpt-5-codex*", "gpt-5.1-codex*", "gpt-5.2*")
CATALOGUE = ("gpt-5.2*", "gpt-5.5*")
COLLABORATING = ("gpt-5.6*", "gpt-6*", "gpt-daybreak*", "!gpt-5.6-luna*")
UNKNOWN = (*CLASSIC, *(f"!{family}" for family in CATALOGUE))


def variant(spelling: Any, **declared: Any) -> Any:
    """The same tool where it is offered under another namespace, to other models or in other versions."""
    told = {"__doc__": spelling.__doc__, "__module__": spelling.__module__, **declared}
    return type(spelling)(spelling.__name__, (spelling,), told)
