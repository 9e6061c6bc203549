"""The vocabulary of SWE-agent and mini-SWE-agent: read, never offered.

From their public source and the trajectories in it: of mini-SWE-agent 1.9.1 to 2.2.7, and of SWE-agent until August
2026. The commands of SWE-agent that are not here (`edit`, `scroll_down`, `goto`, …) work on the file that is open,
which a call does not name.
"""

from __future__ import annotations

import re
from typing import Literal

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .base.dialect import Dialect, Steer
from .base.editor_commands import editor_operation
from .base.spelling import Spelling, means
from .base.uncaptured import UNCAPTURED, TextResult

_RETURNED = re.compile(r"<returncode>(-?\d+)</returncode>\n<output>\n?(.*?)\n?</output>", re.DOTALL)


class Bash(TextResult, Spelling[op.RunCommand]):
    """Run a command in a shell."""

    native_name = "bash"
    read_only = UNCAPTURED
    prints = True

    command: str

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        """What a command printed; mini-SWE-agent puts its exit code before it."""
        told = _RETURNED.fullmatch(native.content.strip()) if isinstance(native.content, str) else None
        if told is None or (isinstance(native.item, dict) and "returncode" in native.item):
            return super().to_outcomes(operations, native)
        return (out.CommandOutcome(int(told[1]), output=told[2]),) * len(operations)


class Editor(TextResult, Spelling[op.ReadFile | op.WriteFile | op.EditFile | op.InsertText | op.UndoEdit]):
    """View, make and change files."""

    native_name = "str_replace_editor"
    read_only = UNCAPTURED

    command: Literal["view", "create", "str_replace", "insert", "undo_edit"] = means(None)
    path: str = means(None)
    file_text: str | None = means(None, default=None)
    old_str: str | None = means(None, default=None)
    new_str: str | None = means(None, default=None)
    insert_line: int | None = means(None, default=None)
    view_range: tuple[int, ...] | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (
            editor_operation(
                self.command,
                self.path,
                view_range=self.view_range,
                file_text=self.file_text,
                old_str=self.old_str,
                new_str=self.new_str,
                insert_line=self.insert_line,
            ),
        )


class Open(TextResult, Spelling[op.ReadFile]):
    """Open a file at a line and show what is around it."""

    native_name = "open"
    read_only = UNCAPTURED

    path: str
    line_number: int | None = means("first_line", default=None)


class FindFile(TextResult, Spelling[op.FindFiles]):
    """Find files by name."""

    native_name = "find_file"
    read_only = UNCAPTURED

    file_name: str = means("pattern")
    dir: str = means("path", default=".")


class SearchDir(TextResult, Spelling[op.SearchText]):
    """Search the files of a folder."""

    native_name = "search_dir"
    read_only = UNCAPTURED

    search_term: str = means("pattern")
    dir: str = means("path", default=".")


_WINDOW = "it works on the file that is open, which the call does not name"

DIALECT = Dialect(
    "swe_agent",
    (Bash, Editor, Open, FindFile, SearchDir),
    steering=(
        Steer("create", _WINDOW, ("filename",)),
        Steer("edit", _WINDOW, ("start_line", "end_line", "replacement_text", "search", "replace", "replace-all")),
        Steer("goto", _WINDOW, ("line_number",)),
        Steer("insert", _WINDOW, ("text", "line")),
        Steer("scroll_down", _WINDOW),
        Steer("scroll_up", _WINDOW),
        Steer("search_file", _WINDOW, ("search_term", "file")),
        Steer("submit", "it ends the run with the changes made so far"),
        Steer("exit_forfeit", "it ends the run"),
    ),
    unspoken=dict.fromkeys(
        (op.Reading, op.Searching, op.Writing, op.Executing, op.Fetching, op.Planning, op.Delegating), UNCAPTURED
    ),
)
