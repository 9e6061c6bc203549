"""Cursor's vocabulary: the tools of its agent as transcripts and its database name them.

From the public source of programs that read both, and samples (November 2026).

Transcripts have the names of today (`Read`, `StrReplace`); the database keeps those of the editor (`read_file_v2`,
`edit_file_v2`), whose parameters changed with it, so a parameter may have several names here.
"""

from __future__ import annotations

from typing import Any

from dragoman.model import operations as op

from .base.dialect import Dialect, Steer
from .base.spelling import Spelling, means, native_only
from .base.uncaptured import UNCAPTURED, PlannedItem, TextResult, edited, lines_from

_TOLD = "an explanation that is shown to the user"
_SERVER = "how the client shows it, or keeps it"


def _one(name: str, *values: str | None) -> str:
    """The first of these that was said."""
    for value in values:
        if value is not None:
            return value
    raise ValueError(f"{name} is required")


class Read(TextResult, Spelling[op.ReadFile]):
    """Read a file, or some lines of it."""

    native_name, formerly = "Read", ("ReadFile", "read_file", "read_file_v2")
    read_only = UNCAPTURED

    path: str | None = means(None, default=None)
    target_file: str | None = means(None, default=None)
    targetFile: str | None = means(None, default=None)  # noqa: N815 - the native name
    offset: int | None = means(None, default=None)
    limit: int | None = means(None, default=None)
    start_line_one_indexed: int | None = means(None, default=None)
    end_line_one_indexed_inclusive: int | None = means(None, default=None)
    should_read_entire_file: bool | None = native_only("without lines it is the whole file")
    effectiveUri: str | None = native_only(_SERVER)  # noqa: N815 - the native name
    charsLimit: int | None = native_only(_SERVER)  # noqa: N815 - the native name
    explanation: str | None = native_only(_TOLD)

    def to_operations(self) -> tuple[op.Operation, ...]:
        path = _one("path", self.path, self.target_file, self.targetFile)
        if self.offset is not None and self.offset < 0:
            return (op.ReadFile(path),)  # lines from the end: which they are, the call does not say
        first, last = lines_from(self.offset, self.limit)
        return (op.ReadFile(path, self.start_line_one_indexed or first, self.end_line_one_indexed_inclusive or last),)


class Write(TextResult, Spelling[op.WriteFile]):
    """Write a whole file."""

    native_name, formerly = "Write", ("write", "create_file")
    read_only = UNCAPTURED

    path: str | None = means(None, default=None)
    file_path: str | None = means(None, default=None)
    contents: str | None = means(None, default=None)
    content: str | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.WriteFile(_one("path", self.path, self.file_path), _one("contents", self.contents, self.content)),)


class StrReplace(TextResult, Spelling[op.EditFile]):
    """Replace a text in a file."""

    native_name, formerly = "StrReplace", ("search_replace",)
    read_only = UNCAPTURED

    path: str | None = means(None, default=None)
    file_path: str | None = means(None, default=None)
    relativeWorkspacePath: str | None = means(None, default=None)  # noqa: N815 - the native name
    old_string: str | None = means(None, default=None)
    oldString: str | None = means(None, default=None)  # noqa: N815 - the native name
    new_string: str | None = means(None, default=None)
    newString: str | None = means(None, default=None)  # noqa: N815 - the native name
    replace_all: bool | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        path = _one("path", self.path, self.file_path, self.relativeWorkspacePath)
        old = _one("old_string", self.old_string, self.oldString)
        new = _one("new_string", self.new_string, self.newString)
        return (edited(path, old, new, everywhere=self.replace_all),)


class Delete(TextResult, Spelling[op.DeleteFile]):
    """Delete a file."""

    native_name, formerly = "Delete", ("delete_file",)
    read_only = UNCAPTURED

    path: str | None = means(None, default=None)
    target_file: str | None = means(None, default=None)
    relativeWorkspacePath: str | None = means(None, default=None)  # noqa: N815 - the native name
    explanation: str | None = native_only(_TOLD)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.DeleteFile(_one("path", self.path, self.target_file, self.relativeWorkspacePath)),)


class Shell(TextResult, Spelling[op.RunCommand]):
    """Run a command."""

    native_name, formerly = "Shell", ("run_terminal_cmd", "run_terminal_command", "run_terminal_command_v2")
    read_only = UNCAPTURED

    command: str
    working_directory: str | None = means(None, default=None)
    cwd: str | None = means(None, default=None)
    description: str | None = means(None, default=None)
    explanation: str | None = means(None, default=None)
    is_background: bool | None = means(None, default=None)
    isBackground: bool | None = means(None, default=None)  # noqa: N815 - the native name
    block_until_ms: int | None = means("wait_ms", default=None)
    timeout: int | None = means("timeout_ms", default=None)
    required_permissions: tuple[str, ...] | None = native_only("what is allowed is the client's to decide")
    require_user_approval: bool | None = native_only("what is allowed is the client's to decide")
    requireUserApproval: bool | None = native_only(  # noqa: N815 - the native name
        "what is allowed is the client's to decide"
    )
    parsingResult: Any = native_only(_SERVER)  # noqa: N815 - the native name
    requestedSandboxPolicy: Any = native_only(_SERVER)  # noqa: N815 - the native name
    options: Any = native_only(_SERVER)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (
            op.RunCommand(
                self.command,
                self.working_directory or self.cwd or None,
                timeout_ms=self.timeout,
                purpose=self.description or self.explanation,
                background=self.is_background is True or self.isBackground is True or self.block_until_ms == 0,
                wait_ms=self.block_until_ms or None,
            ),
        )


class Grep(TextResult, Spelling[op.SearchText]):
    """Search files."""

    native_name, formerly = "Grep", ("grep", "grep_search", "ripgrep", "ripgrep_raw_search", "rg")
    read_only = UNCAPTURED

    pattern: str | None = means(None, default=None)
    query: str | None = means(None, default=None)
    path: str | None = means(None, default=None)
    glob: str | None = means(None, default=None)
    include_pattern: str | None = means(None, default=None)
    exclude_pattern: str | None = means("exclude", default=None)
    type: str | None = means("file_type", default=None)
    output_mode: str | None = means(None, default=None)
    outputMode: str | None = means(None, default=None)  # noqa: N815 - the native name
    any_case: bool | None = means(None, default=None, name="-i")
    caseInsensitive: bool | None = means(None, default=None)  # noqa: N815 - the native name
    case_sensitive: bool | None = means(None, default=None)
    multiline: bool | None = means(None, default=None)
    head_limit: int | None = means("limit", default=None)
    offset: int | None = None
    before: int | None = means("before", default=None, name="-B")
    after: int | None = means("after", default=None, name="-A")
    around: int | None = means(None, default=None, name="-C")
    explanation: str | None = native_only(_TOLD)

    def to_operations(self) -> tuple[op.Operation, ...]:
        mode = {"files_with_matches": "files", "count": "count"}.get(self.output_mode or self.outputMode or "")
        any_case = self.any_case if self.any_case is not None else self.caseInsensitive
        return (
            op.SearchText(
                _one("pattern", self.pattern, self.query),
                self.path or ".",
                self.glob or self.include_pattern,
                self.exclude_pattern,
                self.type,
                mode or "content",  # type: ignore[arg-type]
                self.case_sensitive if any_case is None else not any_case,
                multiline=self.multiline is True,
                before=self.around if self.before is None else self.before,
                after=self.around if self.after is None else self.after,
                limit=self.head_limit,
                offset=self.offset,
            ),
        )


class Glob(TextResult, Spelling[op.FindFiles]):
    """Find files."""

    native_name, formerly = "Glob", ("glob_file_search", "file_search")
    read_only = UNCAPTURED

    glob_pattern: str | None = means(None, default=None)
    globPattern: str | None = means(None, default=None)  # noqa: N815 - the native name
    query: str | None = means(None, default=None)
    target_directory: str | None = means(None, default=None)
    targetDirectory: str | None = means(None, default=None)  # noqa: N815 - the native name
    explanation: str | None = native_only(_TOLD)

    def to_operations(self) -> tuple[op.Operation, ...]:
        pattern = _one("glob_pattern", self.glob_pattern, self.globPattern, self.query)
        return (op.FindFiles(pattern, self.target_directory or self.targetDirectory or "."),)


class ListFolder(TextResult, Spelling[op.ListDirectory]):
    """List a folder."""

    native_name, formerly = "LS", ("list_dir", "list_dir_v2")
    read_only = UNCAPTURED

    path: str | None = means(None, default=None)
    target_directory: str | None = means(None, default=None)
    targetDirectory: str | None = means(None, default=None)  # noqa: N815 - the native name
    relative_workspace_path: str | None = means(None, default=None)
    ignore_globs: tuple[str, ...] | None = means(None, default=None)
    explanation: str | None = native_only(_TOLD)

    def to_operations(self) -> tuple[op.Operation, ...]:
        path = self.path or self.target_directory or self.targetDirectory or self.relative_workspace_path
        return (op.ListDirectory(path or ".", self.ignore_globs or ()),)


class SemanticSearch(TextResult, Spelling[op.SearchDocuments]):
    """Search the code for what a text means."""

    native_name, formerly = "SemanticSearch", ("codebase_search", "semantic_search_full")
    read_only = UNCAPTURED

    query: str
    target_directories: tuple[str, ...] | None = native_only("where to look is not part of the question")
    num_results: int | None = means("limit", default=None)
    explanation: str | None = native_only(_TOLD)


class TodoWrite(TextResult, Spelling[op.UpdatePlan]):
    """Say the plan, or change some of it."""

    native_name, formerly = "TodoWrite", ("todo_write",)
    read_only = UNCAPTURED

    todos: tuple[PlannedItem, ...] = means(None)
    merge: bool | None = native_only("whether the items replace the plan or change it")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UpdatePlan(tuple(one.item() for one in self.todos)),)


class Task(TextResult, Spelling[op.SpawnAgent]):
    """Give a task to another agent."""

    native_name, formerly = "Task", ("task", "task_v2")
    read_only = UNCAPTURED

    prompt: str = ""
    description: str | None = None
    subagent_type: str | None = means("agent", default=None)
    subagentType: str | None = means(None, default=None)  # noqa: N815 - the native name
    model: str | None = None
    run_in_background: bool | None = means("background", default=None)
    resume: str | None = means("continues", default=None)
    readonly: bool | None = native_only("what an agent may do is the client's to decide")
    attachments: Any = native_only(_SERVER)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.prompt and not self.description:
            raise ValueError("prompt is required")
        return (
            op.SpawnAgent(
                self.prompt,
                self.subagent_type or self.subagentType,
                description=self.description,
                model=self.model,
                background=self.run_in_background,
                continues=self.resume,
            ),
        )


class WebSearch(TextResult, Spelling[op.SearchWeb]):
    """Search the web."""

    native_name, formerly = "WebSearch", ("web_search",)
    read_only = UNCAPTURED

    search_term: str | None = means(None, default=None)
    searchTerm: str | None = means(None, default=None)  # noqa: N815 - the native name
    query: str | None = means(None, default=None)
    explanation: str | None = native_only(_TOLD)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SearchWeb(_one("search_term", self.search_term, self.searchTerm, self.query)),)


class WebFetch(TextResult, Spelling[op.FetchPage]):
    """Fetch a web page."""

    native_name, formerly = "WebFetch", ("web_fetch",)
    read_only = UNCAPTURED

    url: str


class CallMcpTool(TextResult, Spelling[op.CallMcpTool]):
    """Call a tool of an MCP server."""

    native_name, formerly = "CallMcpTool", ("call_mcp_tool",)
    read_only = UNCAPTURED

    server: str | None = None
    toolName: str = means("tool")  # noqa: N815 - the native name
    arguments: dict[str, Any] = {}


_OWN = "it is the client's own"

DIALECT = Dialect(
    "cursor",
    (
        *(Read, Write, StrReplace, Delete, Shell, Grep, Glob, ListFolder, SemanticSearch, TodoWrite, Task),
        *(WebSearch, WebFetch, CallMcpTool),
    ),
    steering=(
        Steer("ApplyPatch", "nobody captured the form of its text", ("patch", "input")),
        Steer("AskQuestion", _OWN, ("title", "questions")),
        Steer("Await", _OWN, ("task_id", "block_until_ms", "pattern")),
        Steer("CreatePlan", _OWN, ("name", "overview", "plan", "todos")),
        Steer("EditNotebook", _OWN),
        Steer("FetchMcpResource", _OWN, ("server", "uri", "downloadPath")),
        Steer("GenerateImage", _OWN, ("description", "filename", "reference_image_paths")),
        Steer("ReadLints", _OWN, ("paths",)),
        Steer("SwitchMode", _OWN, ("target_mode_id", "explanation")),
        Steer("edit_file", "it says an edit in words that another model carries out", ("target_file", "instructions")),
        Steer("edit_file_v2", "its edit is kept elsewhere", ("relativeWorkspacePath", "contentsAfterEdit")),
        Steer("fetch_rules", _OWN, ("rule_names",)),
        Steer("read_lints", _OWN, ("paths",)),
        Steer("reapply", _OWN, ("target_file",)),
    ),
    unspoken=dict.fromkeys(
        (op.Reading, op.Searching, op.Writing, op.Executing, op.Fetching, op.Planning, op.Delegating), UNCAPTURED
    ),
)
