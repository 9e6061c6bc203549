"""What a program gives `Orchestrator` and its runs, checked where it is given.

Rule: a value of the wrong type is refused at once, with what was wanted, and not by whoever needs it first, later.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from typing import Any, Final, NamedTuple

from dragoman.dialects import Dialect
from dragoman.errors import ConfigError, nearest
from dragoman.model import Thinking
from dragoman.tools import Context

from .approval import Approvals
from .executor import Hooks
from .policy import ToolPolicy
from .run_options import RUN_OPTIONS


class _Wanted(NamedTuple):
    told: str
    fits: Callable[[Any], bool]


def _is_workspace(value: Any) -> bool:
    from dragoman.tools import Workspace

    return isinstance(value, Workspace)


def _is_dialect(value: Any) -> bool:
    return isinstance(value, str | Dialect)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_YES_OR_NO: Final = _Wanted("True or False", lambda value: isinstance(value, bool))
_FUNCTION: Final = _Wanted("a function", callable)
_WANTED: Final[Mapping[str, _Wanted]] = {
    "model": _Wanted(
        'a name like "openai:gpt-5.2", or an engine', lambda value: isinstance(value, str) or hasattr(value, "features")
    ),
    "policy": _Wanted("a ToolPolicy", lambda value: isinstance(value, ToolPolicy)),
    "system": _Wanted("text", lambda value: isinstance(value, str)),
    "workspace": _Wanted('a workspace, such as DiskWorkspace(".")', _is_workspace),
    "context": _Wanted("a Context", lambda value: isinstance(value, Context)),
    "dialect": _Wanted('a name like "claude_code", or a Dialect', _is_dialect),
    "hooks": _Wanted("Hooks", lambda value: isinstance(value, Hooks)),
    "approver": _FUNCTION,
    "approvals": _Wanted("Approvals", lambda value: isinstance(value, Approvals)),
    "pause": _FUNCTION,
    "hidden": _FUNCTION,
    "emit": _FUNCTION,
    "observe": _FUNCTION,
    "thinking": _Wanted('Thinking("high") or Thinking(tokens=4000)', lambda value: isinstance(value, Thinking)),
    "cache": _YES_OR_NO,
    "guard": _YES_OR_NO,
    "stream": _YES_OR_NO,
    "window": _Wanted("a number of tokens", _is_whole),
    "output_retries": _Wanted("a whole number, 0 or more", _is_whole),
    "options": _Wanted("a dict", lambda value: isinstance(value, Mapping)),
    "answers": _Wanted("a dict", lambda value: isinstance(value, Mapping)),
    "prices": _Wanted("a list of prices", lambda value: isinstance(value, Iterable) and not isinstance(value, str)),
    "stop": _Wanted("text, or a list of texts", lambda value: isinstance(value, Iterable)),
    "run_id": _Wanted("text", lambda value: isinstance(value, str)),
}


def check_arguments(**given: Any) -> None:
    """Raises `ConfigError` that names every argument of the wrong type. `None` is what was not given."""
    wrong = [
        f"{name} must be {wanted.told}, not {reprlib.repr(given[name])}"
        for name, wanted in _WANTED.items()
        if given.get(name) is not None and not wanted.fits(given[name])
    ]
    if wrong:
        raise ConfigError("; ".join(wrong))


def check_run_options(options: Mapping[str, Any], *, of_all_runs: Callable[..., None]) -> None:
    """Raises `TypeError` for an option that a run does not have, and `ConfigError` for a value of the wrong type.

    `of_all_runs` is what takes the options of all runs.
    """
    for name in sorted(set(options) - RUN_OPTIONS):
        if name in signature(of_all_runs).parameters:
            raise TypeError(f"{name!r} is not an option of one run: give it to Orchestrator(…)")
        raise TypeError(f"a run has no option {name!r}.{nearest(name, [*RUN_OPTIONS, 'output'])}")
    check_arguments(**options)
