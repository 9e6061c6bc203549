"""Roo Code's vocabulary: that of Cline's extension, which it began as, and its own.

From its public source (as of November 2026) and tasks of February to October 2025 among its tests.
Its tools are read and never offered: nobody captured the client. What Cline's extension has alone is left out.
"""

from __future__ import annotations

import msgspec

from dragoman.model import operations as op

from .base import cline_family as family
from .base.dialect import Dialect, Steer
from .base.mcp_names import McpNames
from .base.spelling import means, native_only
from .base.uncaptured import UNCAPTURED


class Replacement(msgspec.Struct, frozen=True):
    """One text and what takes its place."""

    search: str
    replace: str


def _edits(replacements: tuple[Replacement, ...]) -> tuple[op.Edit, ...]:
    if not replacements or not all(one.search for one in replacements):
        raise ValueError("operations: each needs a text to search for")
    return tuple(op.Edit(one.search, one.replace) for one in replacements)


class ApplyDiff(family.InWords[op.EditFile]):
    """Replace whole lines of a file, block by block, or texts one by one."""

    native_name = "apply_diff"

    path: str = means()
    diff: str | None = means("edits", default=None)
    operations: tuple[Replacement, ...] | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        edits = family.edits_in(self.diff or "") if self.operations is None else _edits(self.operations)
        return (op.EditFile(self.path, edits),)


class SearchAndReplace(family.InWords[op.EditFile]):
    """Replace texts in a file: one wherever it is, or several one by one."""

    native_name = "search_and_replace"

    path: str = means()
    search: str | None = means("edits", default=None)
    replace: str | None = means(None, default=None)
    operations: tuple[Replacement, ...] | None = means(None, default=None)
    use_regex: bool | str | None = means(None, default=None)
    ignore_case: bool | str | None = means(None, default=None)
    start_line: int | str | None = means(None, default=None)
    end_line: int | str | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if self.operations is not None:
            return (op.EditFile(self.path, _edits(self.operations)),)
        if not self.search or self.replace is None:
            raise ValueError("search: say which text is replaced, and by what")
        if any(str(one).lower() == "true" for one in (self.use_regex, self.ignore_case)):
            raise ValueError("use_regex: which texts an expression means depends on the file")
        if self.start_line or self.end_line:
            raise ValueError("start_line: which texts are between two lines depends on the file")
        return (op.EditFile(self.path, (op.Edit(self.search, self.replace, everywhere=True),)),)


class NewTask(family.InWords[op.SpawnAgent]):
    """Begin a task in a mode; this one waits for it."""

    native_name = "new_task"

    message: str = means("prompt")
    mode: str | None = means("agent", default=None)
    mode_slug: str | None = means(None, default=None)
    todos: str | None = native_only("what there is to do, for the one that begins")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SpawnAgent(self.message, self.mode or self.mode_slug),)


_OWN = "modes are the client's own"

DIALECT = Dialect(
    "roo_code",
    (
        *(family.ReadFileBefore, family.WriteToFile, ApplyDiff, SearchAndReplace, family.EditByText),
        *(family.ApplyPatch, family.InsertContent, family.ExecuteCommand, family.ReadCommandOutput),
        *(family.SearchFiles, family.ListFiles, family.CodebaseSearch, family.AskFollowupQuestion),
        *(family.UseMcpTool, family.AccessMcpResource, family.UpdateTodoList, NewTask, family.UseSkillBefore),
        family.GenerateImage,
    ),
    steering=(
        Steer("attempt_completion", "it says that the task is done, and waits for the user", ("result", "command")),
        Steer("browser_action", "the browser is the client's own", ("action", "url", "coordinate", "text", "size")),
        Steer("list_code_definition_names", "it is an outline the client makes", ("path",)),
        Steer("switch_mode", _OWN, ("mode_slug", "reason")),
        Steer("fetch_instructions", "instructions are the client's own", ("task",)),
        Steer("run_slash_command", "commands are the client's own", ("command", "args")),
    ),
    mcp=(McpNames("mcp--{server}--{tool}"), McpNames("mcp_{server}_{tool}")),
    unspoken=dict.fromkeys(
        (op.Reading, op.Searching, op.Writing, op.Executing, op.Fetching, op.Planning, op.Delegating), UNCAPTURED
    ),
)
