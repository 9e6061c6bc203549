"""The standard tools of Inspect, from its public source and logs of 0.3.41 to 0.3.95: read, never offered.

Any other tool in a log was written for its evaluation: it is a function of that run.
"""

from __future__ import annotations

from typing import Literal

from dragoman.model import operations as op

from .base.dialect import Dialect, Steer
from .base.editor_commands import editor_operation
from .base.spelling import Spelling, means
from .base.uncaptured import UNCAPTURED, TextResult


class Bash(TextResult, Spelling[op.RunCommand]):
    """Run a command in a shell."""

    native_name = "bash"
    read_only = UNCAPTURED
    prints = True

    command: str | None = means(None, default=None)
    cmd: str | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        command = self.command if self.command is not None else self.cmd
        if command is None:
            raise ValueError("command is required")
        return (op.RunCommand(command),)


class TextEditor(TextResult, Spelling[op.ReadFile | op.WriteFile | op.EditFile | op.InsertText | op.UndoEdit]):
    """View, make and change files."""

    native_name = "text_editor"
    read_only = UNCAPTURED

    command: Literal["view", "create", "str_replace", "insert", "undo_edit"] = means(None)
    path: str = means(None)
    file_text: str | None = means(None, default=None)
    insert_line: int | None = means(None, default=None)
    insert_text: str | None = means(None, default=None)
    new_str: str | None = means(None, default=None)
    old_str: str | None = means(None, default=None)
    view_range: tuple[int, ...] | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (
            editor_operation(
                self.command,
                self.path,
                view_range=self.view_range,
                file_text=self.file_text,
                overwrite=True,
                old_str=self.old_str,
                new_str=self.new_str,
                insert_line=self.insert_line,
                insert_text=self.insert_text,
            ),
        )


class WebSearch(TextResult, Spelling[op.SearchWeb]):
    """Search the web."""

    native_name = "web_search"
    read_only = UNCAPTURED

    query: str


class Skill(TextResult, Spelling[op.UseSkill]):
    """Load a skill."""

    native_name = "skill"
    read_only = UNCAPTURED

    command: str = means("name")


_BROWSER = "a page in a browser is worked in step by step"
_OWN = "it is the evaluation's own"

DIALECT = Dialect(
    "inspect_ai",
    (Bash, TextEditor, WebSearch, Skill),
    steering=(
        Steer("bash_session", "a shell is typed into and read", ("action", "input")),
        Steer("computer", "a screen is looked at and worked on", ("action", "coordinate", "text", "duration")),
        Steer("memory", "a folder of notes", ("command", "path", "file_text", "old_str", "new_str", "view_range")),
        Steer("python", "code is run, and what it prints is the result", ("code",)),
        Steer("submit", "it ends a sample with its answer", ("answer",)),
        Steer("think", "the model's thoughts", ("thought",)),
        Steer("update_plan", _OWN, ("plan", "explanation")),
        Steer("web_browser_back", _BROWSER),
        Steer("web_browser_click", _BROWSER, ("element_id",)),
        Steer("web_browser_forward", _BROWSER),
        Steer("web_browser_go", _BROWSER, ("url",)),
        Steer("web_browser_refresh", _BROWSER),
        Steer("web_browser_scroll", _BROWSER, ("direction",)),
        Steer("web_browser_type", _BROWSER, ("element_id", "text")),
        Steer("web_browser_type_submit", _BROWSER, ("element_id", "text")),
    ),
    unspoken=dict.fromkeys(
        (op.Reading, op.Searching, op.Writing, op.Executing, op.Fetching, op.Planning, op.Delegating), UNCAPTURED
    ),
)
