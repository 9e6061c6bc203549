"""The commands of Anthropic's text editor (`view`, `create`, `str_replace`, …), which other clients took over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from dragoman.model import operations as op

Value = TypeVar("Value")


def viewed(path: str, view_range: Sequence[int] | None) -> op.ReadFile:
    """The lines of a file: all, or those from the first to the last of a range; -1 is the end."""
    first, last = (*(view_range or ()), None, None)[:2]
    return op.ReadFile(path, first, None if last == -1 else last)


def editor_operation(
    command: str,
    path: str,
    *,
    view_range: Sequence[int] | None = None,
    file_text: str | None = None,
    overwrite: bool = False,
    old_str: str | None = None,
    new_str: str | None = None,
    insert_line: int | None = None,
    insert_text: str | None = None,
) -> op.Operation:
    """What a command means; `ValueError` where it lacks a parameter. `insert` takes `insert_text` or `new_str`."""
    match command:
        case "view":
            return viewed(path, view_range)
        case "create":
            return op.WriteFile(path, given("file_text", file_text), overwrite=overwrite)
        case "str_replace":
            return op.EditFile(path, (op.Edit(given("old_str", old_str), new_str or ""),))
        case "insert":
            text = new_str if insert_text is None else insert_text
            return op.InsertText(path, given("insert_line", insert_line), given("insert_text", text))
        case "undo_edit":
            return op.UndoEdit(path)
    raise ValueError(f"command: there is no {command!r}")


def given(name: str, value: Value | None) -> Value:
    """A parameter that a command needs."""
    if value is None:
        raise ValueError(f"{name}: it must be given")
    return value
