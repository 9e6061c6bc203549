"""Amp's vocabulary, from the public source of programs that read its threads (November 2026): never offered."""

from __future__ import annotations

from dragoman.model import operations as op

from .base.dialect import Dialect, Steer
from .base.mcp_names import McpNames
from .base.spelling import Spelling, means, native_only
from .base.uncaptured import UNCAPTURED, PlannedItem, TextResult, edited

_TOLD = "an explanation that is shown to the user"


class Read(TextResult, Spelling[op.ReadFile]):
    """Read a file, or some lines of it."""

    native_name, formerly = "Read", ("read_file",)
    read_only = UNCAPTURED

    path: str
    read_range: tuple[int, ...] | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        first, last = (*(self.read_range or ()), None, None)[:2]
        return (op.ReadFile(self.path, first, last),)


class ListDirectory(TextResult, Spelling[op.ListDirectory]):
    """List a folder."""

    native_name = "list_directory"
    read_only = UNCAPTURED

    path: str = "."


class CreateFile(TextResult, Spelling[op.WriteFile]):
    """Write a whole file."""

    native_name = "create_file"
    read_only = UNCAPTURED

    path: str
    content: str


class EditFile(TextResult, Spelling[op.EditFile]):
    """Replace a text in a file."""

    native_name = "edit_file"
    read_only = UNCAPTURED

    path: str
    old_str: str = means(None)
    new_str: str = means(None)
    replace_all: bool | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (edited(self.path, self.old_str, self.new_str, everywhere=self.replace_all),)


class UndoEdit(TextResult, Spelling[op.UndoEdit]):
    """Undo the last edit of a file."""

    native_name = "undo_edit"
    read_only = UNCAPTURED

    path: str


class Bash(TextResult, Spelling[op.RunCommand]):
    """Run a command."""

    native_name = "Bash"
    read_only = UNCAPTURED

    cmd: str = means("command")
    cwd: str | None = None


class Grep(TextResult, Spelling[op.SearchText]):
    """Search files."""

    native_name = "Grep"
    read_only = UNCAPTURED

    pattern: str
    path: str = "."
    glob: str | None = means("include", default=None)
    caseSensitive: bool | None = means("case_sensitive", default=None)  # noqa: N815 - the native name
    literal: bool = False


class Glob(TextResult, Spelling[op.FindFiles]):
    """Find files."""

    native_name = "glob"
    read_only = UNCAPTURED

    filePattern: str = means("pattern")  # noqa: N815 - the native name
    limit: int | None = None
    offset: int | None = native_only("pages of results are the client's own")


class Finder(TextResult, Spelling[op.SearchDocuments]):
    """Search the code for what a text means."""

    native_name, formerly = "finder", ("codebase_search_agent",)
    read_only = UNCAPTURED

    query: str


class Task(TextResult, Spelling[op.SpawnAgent]):
    """Give a task to another agent."""

    native_name = "Task"
    read_only = UNCAPTURED

    prompt: str
    description: str | None = None


class Oracle(TextResult, Spelling[op.SpawnAgent]):
    """Ask another model for advice."""

    native_name = "oracle"
    read_only = UNCAPTURED

    task: str = means("prompt")
    context: str | None = native_only(_TOLD)
    files: tuple[str, ...] | None = native_only("an agent reads files itself")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SpawnAgent(self.task, "oracle"),)


class TodoWrite(TextResult, Spelling[op.UpdatePlan]):
    """Say the plan."""

    native_name = "todo_write"
    read_only = UNCAPTURED

    todos: tuple[PlannedItem, ...] = means(None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UpdatePlan(tuple(one.item() for one in self.todos)),)


class TodoRead(TextResult, Spelling[op.ReadPlan]):
    """Read the plan."""

    native_name = "todo_read"
    read_only = UNCAPTURED


class WebSearch(TextResult, Spelling[op.SearchWeb]):
    """Search the web."""

    native_name = "web_search"
    read_only = UNCAPTURED

    query: str | None = means(None, default=None)
    objective: str | None = means(None, default=None)
    search_queries: tuple[str, ...] | None = native_only("the objective says what is searched for")
    num_results: int | None = means(None, default=None)
    max_results: int | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        query = self.query or self.objective
        if query is None:
            raise ValueError("query or objective is required")
        return (op.SearchWeb(query, limit=self.num_results or self.max_results),)


class ReadWebPage(TextResult, Spelling[op.FetchPage]):
    """Fetch a web page."""

    native_name = "read_web_page"
    read_only = UNCAPTURED

    url: str
    prompt: str | None = means(None, default=None)
    objective: str | None = means(None, default=None)
    raw: bool | None = native_only("a page comes as it is, or as text")
    forceRefetch: bool | None = native_only("pages are kept by the client")  # noqa: N815 - the native name

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.FetchPage(self.url, self.prompt or self.objective),)


class Skill(TextResult, Spelling[op.UseSkill]):
    """Load a skill."""

    native_name = "skill"
    read_only = UNCAPTURED

    name: str


_OWN = "it is the client's own"

DIALECT = Dialect(
    "amp",
    (
        *(Read, ListDirectory, CreateFile, EditFile, UndoEdit, Bash, Grep, Glob, Finder, Task, Oracle),
        *(TodoWrite, TodoRead, WebSearch, ReadWebPage, Skill),
    ),
    steering=(
        Steer("format_file", _OWN, ("path",)),
        Steer("get_diagnostics", _OWN, ("path",)),
        Steer("handoff", _OWN, ("goal", "follow", "mode")),
        Steer("librarian", "another agent searches code of others", ("query", "context")),
        Steer("look_at", "another model looks at a file", ("path", "objective", "context", "referenceFiles")),
        Steer("mermaid", _OWN, ("code", "citations")),
        Steer("read_mcp_resource", _OWN, ("server", "uri")),
        Steer("find_thread", _OWN, ("query", "limit")),
        Steer("read_thread", _OWN, ("threadID", "goal")),
    ),
    mcp=(McpNames("mcp__{server}__{tool}"),),
    unspoken=dict.fromkeys(
        (op.Reading, op.Searching, op.Writing, op.Executing, op.Fetching, op.Planning, op.Delegating), UNCAPTURED
    ),
)
