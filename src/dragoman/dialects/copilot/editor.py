"""Tools of an agent that only searches, and of the editor: read, never offered."""

from __future__ import annotations

import msgspec

from dragoman.dialects.base.conversions import INVERTED
from dragoman.dialects.base.default_words import understand
from dragoman.dialects.base.spelling import Spelling, means, native_only
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

EDITOR = "an agent that only searches has it, and the chat of the editor, which keeps its sessions in the same form"
TOLD = "an explanation that is shown to the user"


class EditorResults:
    """The editor keeps that a call went well, and not always what it gave."""

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        if native.content == "":
            return (out.DoneOutcome(),) * len(operations)
        return tuple(understand(operation, native, has_words=True) for operation in operations)


class ReadFile(EditorResults, Spelling[op.ReadFile]):
    """Read some lines of a file."""

    native_name = "read_file"
    read_only = EDITOR

    filePath: str  # noqa: N815 - the native name
    startLine: int | None = None  # noqa: N815 - the native name
    endLine: int | None = None  # noqa: N815 - the native name
    offset: int | None = None
    limit: int | None = None

    def to_operations(self) -> tuple[op.Operation, ...]:
        first, last = self.startLine or self.offset, self.endLine
        if last is None and self.limit is not None:
            last = (first or 1) + self.limit - 1
        return (op.ReadFile(self.filePath, first, last),)


class GrepSearch(EditorResults, Spelling[op.SearchText]):
    """Search files for a text or an expression."""

    native_name = "grep_search"
    read_only = EDITOR

    query: str = means("pattern")
    isRegexp: bool = means("literal", default=False, convert=INVERTED)  # noqa: N815 - the native name
    includePattern: str | None = means("include", default=None)  # noqa: N815 - the native name
    maxResults: int | None = means("limit", default=None)  # noqa: N815 - the native name
    includeIgnoredFiles: bool | None = means(  # noqa: N815 - the native name
        "respect_ignore", default=None, convert=INVERTED
    )


class FileSearch(EditorResults, Spelling[op.FindFiles]):
    """Find files by a glob."""

    native_name = "file_search"
    read_only = EDITOR

    query: str = means("pattern")
    maxResults: int | None = means("limit", default=None)  # noqa: N815 - the native name


class SemanticSearch(EditorResults, Spelling[op.SearchDocuments]):
    """Search the code for what a text means."""

    native_name, formerly = "semantic_search", ("search_code_subagent",)
    read_only = EDITOR

    query: str


class ListDir(EditorResults, Spelling[op.ListDirectory]):
    """List a folder."""

    native_name = "list_dir"
    read_only = EDITOR

    path: str


class CreateFile(EditorResults, Spelling[op.WriteFile]):
    """Make a new file."""

    native_name = "create_file"
    read_only = EDITOR
    always = {"overwrite": False}

    filePath: str = means("path")  # noqa: N815 - the native name
    content: str = ""


class Replaced(msgspec.Struct, frozen=True):
    """A text in a file and what takes its place."""

    filePath: str  # noqa: N815 - the native name
    oldString: str  # noqa: N815 - the native name
    newString: str  # noqa: N815 - the native name
    explanation: str | None = None

    def operation(self) -> op.EditFile:
        return op.EditFile(self.filePath, (op.Edit(self.oldString, self.newString),), self.explanation)


class ReplaceString(EditorResults, Spelling[op.EditFile]):
    """Replace a text in a file."""

    native_name = "replace_string_in_file"
    read_only = EDITOR

    filePath: str = means("path")  # noqa: N815 - the native name
    oldString: str = means("edits.old")  # noqa: N815 - the native name
    newString: str = means("edits.new")  # noqa: N815 - the native name
    explanation: str | None = means("purpose", default=None)


class MultiReplaceString(EditorResults, Spelling[op.EditFile]):
    """Replace texts in several places."""

    native_name = "multi_replace_string_in_file"
    read_only = EDITOR

    replacements: tuple[Replaced, ...] = means(None)
    explanation: str | None = native_only(TOLD)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.replacements:
            raise ValueError("there is nothing to replace; give replacements")
        return tuple(one.operation() for one in self.replacements)


class RunInTerminal(EditorResults, Spelling[op.RunCommand]):
    """Run a command in the editor's terminal."""

    native_name = "run_in_terminal"
    read_only = EDITOR

    command: str
    explanation: str | None = None
    goal: str | None = native_only(TOLD)
    isBackground: bool = False  # noqa: N815 - the native name
    mode: str | None = None
    timeout: int | None = None

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (
            op.RunCommand(
                self.command,
                timeout_ms=self.timeout or None,
                purpose=self.explanation,
                background=self.isBackground or self.mode == "async",
            ),
        )


class GetTerminalOutput(EditorResults, Spelling[op.ReadOutput]):
    """Read what a command in the editor's terminal has written."""

    native_name = "get_terminal_output"
    read_only = EDITOR

    id: str = means("job")


class FetchWebpage(EditorResults, Spelling[op.FetchPage]):
    """Fetch pages and what they say of a question."""

    native_name = "fetch_webpage"
    read_only = EDITOR

    urls: tuple[str, ...] = means(None)
    query: str | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.urls:
            raise ValueError("there is no page; give urls")
        return tuple(op.FetchPage(url, self.query) for url in self.urls)


class ToDo(msgspec.Struct, frozen=True):
    """One item of the to-do list."""

    title: str
    status: str = "not-started"
    id: int | str | None = None
    description: str | None = None


_TO_DO: dict[str, op.PlanStatus] = {"not-started": "pending", "in-progress": "in_progress", "completed": "completed"}


class ManageTodoList(EditorResults, Spelling[op.UpdatePlan | op.ReadPlan]):
    """Say the plan, or read it."""

    native_name = "manage_todo_list"
    read_only = EDITOR

    operation: str | None = means(None, default=None)
    todoList: tuple[ToDo, ...] | None = means(None, default=None)  # noqa: N815 - the native name

    def to_operations(self) -> tuple[op.Operation, ...]:
        if self.todoList is None or self.operation == "read":
            return (op.ReadPlan(),)
        return (op.UpdatePlan(tuple(map(_planned, self.todoList))),)


def _planned(item: ToDo) -> op.PlanItem:
    id = None if item.id is None else str(item.id)
    return op.PlanItem(item.title, _TO_DO.get(item.status, "pending"), id, item.description)


class RunSubagent(EditorResults, Spelling[op.SpawnAgent]):
    """Give a task to another agent and wait for its answer."""

    native_name = "runSubagent"
    read_only = EDITOR

    prompt: str
    description: str | None = None
    agentName: str | None = means("agent", default=None)  # noqa: N815 - the native name
    model: str | None = None


READ = (
    ReadFile,
    GrepSearch,
    FileSearch,
    SemanticSearch,
    ListDir,
    CreateFile,
    ReplaceString,
    MultiReplaceString,
    RunInTerminal,
    GetTerminalOutput,
    FetchWebpage,
    ManageTodoList,
    RunSubagent,
)
"""Read from logs, never offered."""
