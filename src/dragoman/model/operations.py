"""What a tool call means: one frozen struct per operation, the same whatever a vocabulary calls it.

Rules: equal meanings are equal values, so a field holds one thing in one unit
(lines count from 1, times are whole milliseconds, lists are tuples, a folder that
was not named is "."). `None` means "not said"; no default is ever invented for it.
"""

from __future__ import annotations

import enum
from typing import Any, ClassVar, Literal

from .base import Tagged, Value


class Kind(enum.StrEnum):
    """What an operation does to the world; what policies and statistics group by."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    SEARCH = "search"
    FETCH = "fetch"
    PLAN = "plan"
    ASK = "ask"
    AGENT = "agent"
    OTHER = "other"


_WITH_SHELL = "it is done with a shell command"


class Operation(Tagged, frozen=True, gc=False):
    """The root of all operations. `kind` is ours, `acp_kind` the Agent Client Protocol's word for it."""

    kind: ClassVar[Kind] = Kind.OTHER
    acp_kind: ClassVar[str] = "other"
    unspoken: ClassVar[str] = "there is no native tool for it"
    """Why a vocabulary has no tool for it, where the vocabulary gives no other reason."""


class Reading(Operation, frozen=True):
    """Operations that look at files and change nothing."""

    kind = Kind.READ
    acp_kind = "read"


class Writing(Operation, frozen=True):
    """Operations that change files."""

    kind = Kind.WRITE
    acp_kind = "edit"


class Executing(Operation, frozen=True):
    """Operations that run programs or act on running ones."""

    kind = Kind.EXECUTE
    acp_kind = "execute"


class Searching(Operation, frozen=True):
    """Operations that look for something and change nothing."""

    kind = Kind.SEARCH
    acp_kind = "search"


class Fetching(Operation, frozen=True):
    """Operations that reach out to the network."""

    kind = Kind.FETCH
    acp_kind = "fetch"


class Planning(Operation, frozen=True):
    """Operations on the model's own list of things to do."""

    kind = Kind.PLAN
    acp_kind = "think"


class Delegating(Operation, frozen=True):
    """Operations on other agents."""

    kind = Kind.AGENT


# ── files ────────────────────────────────────────────────────────────────────


class ReadFile(Reading, frozen=True):
    """Read a file, or its lines from `first_line` to `last_line` (from 1, inclusive); `pages` of a document."""

    path: str
    first_line: int | None = None
    last_line: int | None = None
    pages: str | None = None


class ReadFiles(Reading, frozen=True):
    """Read every file that matches one of the glob `patterns`."""

    unspoken = "files are read one by one"

    patterns: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    respect_ignore: bool = True


class ReadNotebook(Reading, frozen=True):
    """Read the cells of a notebook, or one of them."""

    unspoken = "a notebook is read as text"

    path: str
    cell_id: str | None = None


class ViewImage(Reading, frozen=True):
    """Look at an image, or at the rectangle `region` (left, top, right, bottom in pixels) of it."""

    unspoken = "an image is read like any other file"

    path: str
    detail: str | None = None
    region: tuple[int, int, int, int] | None = None


class ListDirectory(Reading, frozen=True):
    """List what a folder holds, down to `depth` levels (default 1), without what matches `ignore`.

    With `prefix` (which may be empty): list all files below the folder, at any depth, whose path from there begins
    with it.
    """

    unspoken = _WITH_SHELL

    path: str = "."
    ignore: tuple[str, ...] = ()
    depth: int | None = None
    limit: int | None = None
    respect_ignore: bool | None = None
    prefix: str | None = None


class WriteFile(Writing, frozen=True):
    """Write a whole file; `overwrite=False` fails when it exists."""

    path: str
    content: str
    overwrite: bool = True


class Edit(Value, frozen=True, gc=False):
    """One change in a file: `old` becomes `new`.

    `old` must be found exactly once, unless `everywhere`; `expected` is how often it must be found.
    With `whole_lines` both are runs of whole lines, looked for after the `anchors` (lines found in
    order), and at the file's end if `at_end`; there `old=None` inserts `new` after the last anchor,
    or at the end of the file when there is none.
    """

    old: str | None
    new: str
    everywhere: bool = False
    expected: int | None = None
    whole_lines: bool = False
    anchors: tuple[str, ...] = ()
    at_end: bool = False


class EditFile(Writing, frozen=True):
    """Change parts of a file, edit after edit; all of them or none."""

    path: str
    edits: tuple[Edit, ...]
    purpose: str | None = None


class InsertText(Writing, frozen=True):
    """Insert `text` as new lines after line `line` (0: before the first)."""

    unspoken = "text is inserted by replacing the text around it"

    path: str
    line: int
    text: str


class DeleteFile(Writing, frozen=True):
    """Delete a file."""

    acp_kind = "delete"
    unspoken = _WITH_SHELL

    path: str


class MoveFile(Writing, frozen=True):
    """Move or rename a file."""

    acp_kind = "move"
    unspoken = _WITH_SHELL

    path: str
    to: str


class UndoEdit(Writing, frozen=True):
    """Undo the last change that was made to a file in this run; done again, the one before."""

    path: str


class EditNotebook(Writing, frozen=True):
    """Replace, insert (after `cell_id`, or first) or delete one cell of a notebook."""

    unspoken = "a notebook is edited as text"

    path: str
    source: str | None = None
    cell_id: str | None = None
    cell_type: Literal["code", "markdown"] | None = None
    mode: Literal["replace", "insert", "delete"] = "replace"


class FindFiles(Searching, frozen=True):
    """Find files whose path matches a glob `pattern`."""

    unspoken = _WITH_SHELL

    pattern: str
    path: str = "."
    case_sensitive: bool | None = None
    respect_ignore: bool | None = None
    limit: int | None = None


# ── shell ────────────────────────────────────────────────────────────────────


class RunCommand(Executing, frozen=True):
    """Run a shell command line.

    In the background it becomes a job; `wait_ms` is how long to watch it before it is left running.
    `job` names the job it becomes or, when it is neither left in the background nor given a terminal, the standing
    shell it runs in: one that keeps its folder, variables and functions from one command to the next, until it is
    stopped.
    """

    command: str
    cwd: str | None = None
    timeout_ms: int | None = None
    purpose: str | None = None
    background: bool = False
    wait_ms: int | None = None
    job: str | None = None
    shell: str | None = None
    login: bool | None = None
    terminal: bool = False
    output_limit: int | None = None
    unsandboxed: bool = False
    """Whether it asks to run outside the sandbox."""


class ReadOutput(Executing, frozen=True):
    """Read what a background job has written since it was last read, waiting up to `wait_ms`."""

    kind = Kind.READ
    unspoken = _WITH_SHELL

    job: str
    wait_ms: int | None = None
    lines: int | None = None
    pattern: str | None = None
    block: bool | None = None
    output_limit: int | None = None


class TypeInto(Executing, frozen=True):
    """Type `text` into a background job."""

    job: str
    text: str
    wait_ms: int | None = None
    output_limit: int | None = None


class StopCommand(Executing, frozen=True):
    """Stop a background job, or a standing shell, and everything it started."""

    unspoken = _WITH_SHELL

    job: str


class ListCommands(Executing, frozen=True):
    """List the background jobs."""

    kind = Kind.READ


class WatchCommand(Executing, frozen=True):
    """Run a command, or follow a socket, in the background and be told of each line it writes."""

    command: str | None = None
    url: str | None = None
    purpose: str | None = None
    cwd: str | None = None
    timeout_ms: int | None = None
    idle_timeout_ms: int | None = None
    limit: int | None = None


# ── search ───────────────────────────────────────────────────────────────────


class SearchText(Searching, frozen=True):
    """Search file contents for a regular expression (`literal`: for the text itself).

    `mode` says what is wanted: the matching lines, the files that have any, or counts per file.
    `include` and `exclude` are globs; `limit` and `offset` cut the list of results.
    """

    unspoken = _WITH_SHELL

    pattern: str
    path: str = "."
    include: str | None = None
    exclude: str | None = None
    file_type: str | None = None
    mode: Literal["content", "files", "count"] = "content"
    case_sensitive: bool | None = None
    literal: bool = False
    multiline: bool = False
    only_matching: bool = False
    before: int | None = None
    after: int | None = None
    line_numbers: bool | None = None
    limit: int | None = None
    offset: int | None = None
    limit_per_file: int | None = None
    respect_ignore: bool | None = None


class SearchCode(Searching, frozen=True):
    """Search code for a syntax pattern (`$NAME` stands for one node, `$$$NAME` for several)."""

    pattern: str
    language: str
    path: str = "."
    include: str | None = None
    limit: int | None = None


class RewriteCode(Writing, frozen=True):
    """Rewrite every place in the code that matches a syntax pattern; `preview` changes nothing."""

    pattern: str
    rewrite: str
    language: str
    path: str = "."
    include: str | None = None
    preview: bool = False


class SearchTools(Searching, frozen=True):
    """Look for tools that are available but were not offered up front."""

    query: str
    limit: int | None = None


class SearchDocuments(Searching, frozen=True):
    """Search a document store."""

    query: str
    stores: tuple[str, ...] = ()
    limit: int | None = None


# ── web ──────────────────────────────────────────────────────────────────────


class SearchWeb(Fetching, frozen=True):
    """Search the web, only in `allowed_domains` or without `blocked_domains` when they are given."""

    query: str
    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()
    limit: int | None = None


class FetchPage(Fetching, frozen=True):
    """Fetch a page and, with `instructions`, say what is wanted from it."""

    url: str
    instructions: str | None = None
    format: Literal["markdown", "text", "html"] | None = None
    timeout_ms: int | None = None
    offset: int | None = None
    limit: int | None = None


class FindInPage(Fetching, frozen=True):
    """Find a text in a page."""

    url: str
    pattern: str


class TakeScreenshot(Fetching, frozen=True):
    """Take a picture of a page as a browser shows it; `save_to` also writes it to a file."""

    url: str
    full_page: bool = False
    width: int | None = None
    height: int | None = None
    save_to: str | None = None


# ── plan ─────────────────────────────────────────────────────────────────────

PlanStatus = Literal["pending", "in_progress", "completed", "cancelled", "blocked"]


class PlanItem(Value, frozen=True, gc=False):
    """One thing to do; `doing` is how to say it while it is being done."""

    text: str
    status: PlanStatus = "pending"
    id: str | None = None
    description: str | None = None
    doing: str | None = None
    priority: str | None = None
    owner: str | None = None
    blocks: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    metadata: dict[str, Any] | None = None


class UpdatePlan(Planning, frozen=True):
    """Replace the whole plan."""

    items: tuple[PlanItem, ...]
    explanation: str | None = None


class AddPlanItem(Planning, frozen=True):
    """Add one item to the plan."""

    unspoken = "the plan is written as a whole"

    item: PlanItem


class ChangePlanItem(Planning, frozen=True):
    """Change what is said of one item; what is `None` stays. `deleted` removes it."""

    unspoken = "the plan is written as a whole"

    id: str
    text: str | None = None
    status: PlanStatus | None = None
    description: str | None = None
    doing: str | None = None
    owner: str | None = None
    add_blocks: tuple[str, ...] = ()
    add_blocked_by: tuple[str, ...] = ()
    metadata: dict[str, Any] | None = None
    deleted: bool = False


class ReadPlan(Planning, frozen=True):
    """Read the plan, or one item of it."""

    unspoken = "the plan is written as a whole"

    id: str | None = None


# ── agents ───────────────────────────────────────────────────────────────────


class SpawnAgent(Delegating, frozen=True):
    """Give a task to another agent; `agent` is its type, `continues` an earlier agent to go on with.

    `history` says how much of this conversation it is given ("all", "none", or a number of turns).
    """

    prompt: str
    agent: str | None = None
    name: str | None = None
    description: str | None = None
    system_prompt: str | None = None
    model: str | None = None
    effort: str | None = None
    background: bool | None = None
    isolation: str | None = None
    cwd: str | None = None
    history: str | None = None
    tools: tuple[str, ...] | None = None
    max_turns: int | None = None
    continues: str | None = None
    command: str | None = None


class MessageAgent(Delegating, frozen=True):
    """Send a message to another agent; `interrupt` makes it stop what it is doing."""

    to: str
    message: str
    summary: str | None = None
    interrupt: bool = False
    starts_turn: bool | None = None
    notify_when_idle: bool = False


class WaitForAgent(Delegating, frozen=True):
    """Wait for other agents (any of them when none is named) and take what they have to say."""

    agents: tuple[str, ...] = ()
    timeout_ms: int | None = None
    block: bool | None = None
    since_turn: int | None = None


class StopAgent(Delegating, frozen=True):
    """Stop another agent."""

    agent: str


class ResumeAgent(Delegating, frozen=True):
    """Open a stopped agent again."""

    agent: str


class ListAgents(Delegating, frozen=True):
    """List the other agents."""

    query: str | None = None
    scope: str | None = None


class SignalParent(Delegating, frozen=True):
    """Tell the agent that started this one something."""

    message: str


class ReturnToParent(Delegating, frozen=True):
    """End this agent's task with its result."""

    unspoken = "the last message of an agent is its result"

    result: Any


# ── people, memory, extensions ───────────────────────────────────────────────


class Option(Value, frozen=True):
    """One answer to choose from."""

    label: str
    description: str | None = None
    preview: str | None = None


class Question(Value, frozen=True):
    """One question, with answers to choose from or open."""

    text: str
    options: tuple[Option, ...] = ()
    header: str | None = None
    multiple: bool = False
    id: str | None = None
    default: str | None = None


class AskUser(Operation, frozen=True):
    """Ask the user."""

    kind = Kind.ASK
    unspoken = "the model asks in its answer"

    questions: tuple[Question, ...]


class SaveMemory(Operation, frozen=True):
    """Remember a text beyond this conversation."""

    unspoken = "memories are files"

    text: str
    key: str | None = None


class RecallMemory(Operation, frozen=True):
    """Look up what was remembered."""

    kind = Kind.READ
    acp_kind = "read"
    unspoken = "memories are files"

    query: str | None = None
    limit: int | None = None


class CallMcpTool(Operation, frozen=True):
    """Call a tool of a Model Context Protocol server; `server` is `None` where the vocabulary does not name it."""

    server: str | None
    tool: str
    arguments: dict[str, Any] = {}


class ReadMcpResource(Operation, frozen=True):
    """Read a resource of a Model Context Protocol server."""

    kind = Kind.READ
    acp_kind = "read"

    uri: str
    server: str | None = None


class ListMcpResources(Operation, frozen=True):
    """List the resources (or resource templates, or those below `uri`) of Model Context Protocol servers."""

    kind = Kind.READ
    acp_kind = "read"

    server: str | None = None
    uri: str | None = None
    templates: bool = False
    cursor: str | None = None


class UseSkill(Operation, frozen=True):
    """Load a skill: instructions for a kind of work."""

    unspoken = "skills are files that are read"

    name: str
    arguments: str | None = None


class RunCode(Executing, frozen=True):
    """Run a program; `reason` says why it could not be read as the operations it performs."""

    unspoken = _WITH_SHELL

    code: str
    language: str
    reason: str | None = None


class GenerateImage(Operation, frozen=True):
    """Make an image from a description."""

    prompt: str | None = None
    size: str | None = None
    format: str | None = None


class UseComputer(Executing, frozen=True):
    """Act on a screen: click, type, scroll, look."""

    action: str
    arguments: dict[str, Any] = {}


# ── what has no shared meaning ───────────────────────────────────────────────


class CallFunction(Operation, frozen=True):
    """Call a tool the user declared in that very run."""

    name: str
    arguments: dict[str, Any] = {}


class SteerClient(Operation, frozen=True):
    """Use a known tool of one client without shared meaning: plan mode, worktrees, schedules, goals."""

    action: str
    arguments: dict[str, Any] = {}


class Unrecognised(Operation, frozen=True):
    """A call of a tool nobody knows: kept as it was, never guessed at."""

    name: str
    arguments: dict[str, Any] | str = {}


AnyOperation = (
    ReadFile
    | ReadFiles
    | ReadNotebook
    | ViewImage
    | ListDirectory
    | WriteFile
    | EditFile
    | InsertText
    | DeleteFile
    | MoveFile
    | UndoEdit
    | EditNotebook
    | FindFiles
    | RunCommand
    | ReadOutput
    | TypeInto
    | StopCommand
    | ListCommands
    | WatchCommand
    | SearchText
    | SearchCode
    | RewriteCode
    | SearchTools
    | SearchDocuments
    | SearchWeb
    | FetchPage
    | FindInPage
    | TakeScreenshot
    | UpdatePlan
    | AddPlanItem
    | ChangePlanItem
    | ReadPlan
    | SpawnAgent
    | MessageAgent
    | WaitForAgent
    | StopAgent
    | ResumeAgent
    | ListAgents
    | SignalParent
    | ReturnToParent
    | AskUser
    | SaveMemory
    | RecallMemory
    | CallMcpTool
    | ReadMcpResource
    | ListMcpResources
    | UseSkill
    | RunCode
    | GenerateImage
    | UseComputer
    | CallFunction
    | SteerClient
    | Unrecognised
)

OPERATIONS: dict[str, type[Operation]] = {
    operation.__struct_config__.tag: operation for operation in AnyOperation.__args__
}
"""Every operation by its tag: `read_file`, `run_command`, …"""
