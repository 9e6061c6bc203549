"""Arguments that arrive as assignments to JSONPaths, one value or one piece of a text at a time."""

from __future__ import annotations

import re
from typing import Any

from dragoman.model.json_text import DEEPEST

from .fields import camel, write_json

_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]'"\s]+)|\[(?P<index>\d{1,9})\]|\[(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]"""
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_MOST_SKIPPED = 1_000
"""How far past a list's end an assignment may reach: a wrong index must not cost memory."""


def steps_of(path: str) -> list[str | int] | None:
    """`$.a['b'][0]` as its steps, or `None` when it is no path to one value."""
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            return None
        if found["index"] is not None:
            steps.append(int(found["index"]))
        else:
            steps.append(found["name"] if found["name"] is not None else _unquoted(found["quoted"]))
        at = found.end()
    return steps if len(steps) < DEEPEST else None


def _unquoted(text: str) -> str:
    return _ESCAPE.sub(_character, text[1:-1])


def _character(found: re.Match[str]) -> str:
    escaped = found[1]
    return chr(int(escaped[1:], 16)) if len(escaped) == 5 else _ESCAPED.get(escaped, escaped)


class PathArguments:
    """The arguments of one call as far as they were assigned. `value` is alive: it is filled in place."""

    def __init__(self) -> None:
        self.value: dict[str, Any] = {}
        self.unplaced: list[Any] = []
        """Assignments that lead nowhere, as they came."""
        self._open: tuple[str, list[str | int], list[str]] | None = None
        """The path of the text that goes on, its steps, and its pieces that are not yet in `value`."""

    def assign(self, said: Any) -> tuple[str, str] | None:
        """Takes one assignment; gives its path and what it adds there as text."""
        given = camel(said)
        path = given.get("jsonPath")
        found = _value_of(given)
        if not isinstance(path, str) or found is None:
            self.unplaced.append(said)
            return None
        value = found[0]
        if self._open is not None and self._open[0] == path and isinstance(value, str):
            self._open[2].append(value)
        else:
            self.settle()
            steps = steps_of(path)
            if not steps or not _place(self.value, steps, value):
                self.unplaced.append(said)
                return None
            self._open = (path, steps, []) if isinstance(value, str) else None
        if given.get("willContinue") is not True:
            self.settle()
            self._open = None
        return path, value if isinstance(value, str) else write_json(value)

    def settle(self) -> dict[str, Any]:
        """The arguments with every piece in its place."""
        if self._open is not None and self._open[2]:
            _, steps, pieces = self._open
            holder = _held(self.value, steps[:-1])
            text = holder[steps[-1]]
            holder[steps[-1]] = None  # held by nobody else, a text grows in place: all pieces together cost its length
            text += "".join(pieces)
            holder[steps[-1]] = text
            pieces.clear()
        return self.value


def _value_of(said: dict[str, Any]) -> tuple[Any] | None:
    for key in ("stringValue", "numberValue", "boolValue"):
        if key in said:
            return (said[key],)
    return (None,) if "nullValue" in said else None


def _held(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        value = value[step]
    return value


def _place(root: dict[str, Any], steps: list[str | int], value: Any) -> bool:
    """Sets a value where the steps lead, making what is not yet there; whether they lead anywhere."""
    at: Any = root
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if not _has_room(at, step):
            return False
        if following is None:
            at[step] = value
            return True
        below = at[step]
        if not isinstance(below, list if isinstance(following, int) else dict):
            if below is not None:
                return False
            below = at[step] = [] if isinstance(following, int) else {}
        at = below
    return False


def _has_room(at: Any, step: str | int) -> bool:
    if isinstance(step, str):
        if not isinstance(at, dict):
            return False
        at.setdefault(step, None)
        return True
    if not isinstance(at, list) or step > len(at) + _MOST_SKIPPED:
        return False
    at.extend([None] * (step + 1 - len(at)))
    return True
