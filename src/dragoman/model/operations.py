"""What a tool call means: one frozen struct per operation, the same whatever a vocabulary calls it.

Rules: equal meanings are equal values, so a field holds one thing in one unit
(lines count from 1, times are whole milliseconds, lists are tuples, a folder that
was not named is "."). `None` means "not said"; no default is ever invented for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Union

from .base import Value
from .file_operations import *  # noqa: F403 - every class there is one of these operations
from .operation_base import (
    WITH_SHELL as WITH_SHELL,
    Delegating as Delegating,
    Effects as Effects,
    Executing as Executing,
    Fetching as Fetching,
    Kind as Kind,
    Operation as Operation,
    Planning as Planning,
    Reading as Reading,
    Searching as Searching,
    Writing as Writing,
)

# ── shell ────────────────────────────────────────────────────────────────────


class RunCommand(Executing, frozen=True):
    """Run a shell command line.

    In the background it becomes a job, named by `job`; `wait_ms` is how long to wait for output before it is left
    running. Otherwise, unless it has a terminal, `job` names the standing shell it runs in, which keeps its folder,
    variables and functions from one command to the next until it is stopped.
    """

    tool_module = "tools.shell"
    in_short = "run {command}"
    effects = Effects.of("command", limit="timeout_ms wait_ms output_limit", comment="purpose", command="command")

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
    unspoken = WITH_SHELL
    tool_module = "tools.shell"
    effects = Effects.of("job", limit="wait_ms lines output_limit")

    job: str
    wait_ms: int | None = None
    lines: int | None = None
    pattern: str | None = None
    block: bool | None = None
    output_limit: int | None = None


class TypeInto(Executing, frozen=True):
    """Type `text` into a background job."""

    tool_module = "tools.shell"
    effects = Effects.of("text", limit="wait_ms output_limit", command="text")

    job: str
    text: str
    wait_ms: int | None = None
    output_limit: int | None = None


class StopCommand(Executing, frozen=True):
    """Stop a background job or a standing shell, and every process it started."""

    unspoken = WITH_SHELL
    tool_module = "tools.shell"
    effects = Effects.of("job")

    job: str


class ListCommands(Executing, frozen=True):
    """List the background jobs."""

    kind = Kind.READ
    tool_module = "tools.shell"


class WatchCommand(Executing, frozen=True):
    """Run a command, or follow a socket, in the background and be notified of each line it writes."""

    tool_module = "tools.shell"
    effects = Effects.of(
        "command", limit="timeout_ms idle_timeout_ms limit", comment="purpose", url="url", command="command"
    )

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

    `mode` selects the result: the matching lines, the files that have any, or counts per file.
    `include` and `exclude` are globs; `limit` and `offset` select a part of the results.
    """

    unspoken = WITH_SHELL
    tool_module = "tools.search"
    in_short = "search for {pattern} in {path}"
    effects = Effects.of("pattern path", limit="before after limit offset limit_per_file", path="path")

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

    tool_module = "tools.code"
    effects = Effects.of("pattern path", limit="limit", path="path")

    pattern: str
    language: str
    path: str = "."
    include: str | None = None
    limit: int | None = None


class RewriteCode(Writing, frozen=True):
    """Rewrite every place in the code that matches a syntax pattern; `preview` changes nothing."""

    tool_module = "tools.code"
    effects = Effects.of("pattern rewrite path include", path="path")

    pattern: str
    rewrite: str
    language: str
    path: str = "."
    include: str | None = None
    preview: bool = False


class SearchTools(Searching, frozen=True):
    """Search for tools that are available but were not offered up front."""

    effects = Effects.of("query", limit="limit")

    query: str
    limit: int | None = None


class SearchDocuments(Searching, frozen=True):
    """Search a document store."""

    effects = Effects.of("query", limit="limit")

    query: str
    stores: tuple[str, ...] = ()
    limit: int | None = None


# ── web ──────────────────────────────────────────────────────────────────────


class SearchWeb(Fetching, frozen=True):
    """Search the web; `allowed_domains` and `blocked_domains` restrict the results."""

    tool_module = "tools.web.tools"
    in_short = "search the web for {query}"
    effects = Effects.of("query", limit="limit")

    query: str
    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()
    limit: int | None = None


class FetchPage(Fetching, frozen=True):
    """Fetch a page and, with `instructions`, say what is wanted from it."""

    tool_module = "tools.web.tools"
    in_short = "fetch {url}"
    effects = Effects.of("url instructions", limit="timeout_ms offset limit", url="url")

    url: str
    instructions: str | None = None
    format: Literal["text", "markdown", "html"] | None = None
    timeout_ms: int | None = None
    offset: int | None = None
    limit: int | None = None


class FindInPage(Fetching, frozen=True):
    """Find a text in a page."""

    tool_module = "tools.web.tools"
    effects = Effects.of("url pattern", url="url")

    url: str
    pattern: str


class TakeScreenshot(Fetching, frozen=True):
    """Take a screenshot of a page in a browser; `save_to` also writes it to a file."""

    tool_module = "tools.web.tools"
    in_short = "take a screenshot of {url}"
    effects = Effects.of("url", limit="width height", path="save_to", url="url")

    url: str
    full_page: bool = False
    width: int | None = None
    height: int | None = None
    save_to: str | None = None


# ── plan ─────────────────────────────────────────────────────────────────────

PlanStatus = Literal["pending", "in_progress", "completed", "cancelled", "blocked"]


class PlanItem(Value, frozen=True, gc=False):
    """One thing to do; `doing` describes it while it is in progress."""

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

    effects = Effects.of("items", comment="explanation")

    items: tuple[PlanItem, ...]
    explanation: str | None = None


class AddPlanItem(Planning, frozen=True):
    """Add one item to the plan."""

    unspoken = "the plan is written as a whole"
    effects = Effects.of("item")

    item: PlanItem


class ChangePlanItem(Planning, frozen=True):
    """Change one item of the plan; fields left out stay as they are. `deleted` removes the item."""

    unspoken = "the plan is written as a whole"
    effects = Effects.of("id text status description doing owner add_blocks add_blocked_by metadata deleted")

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
    effects = Effects.of("id")

    id: str | None = None


# ── agents ───────────────────────────────────────────────────────────────────


class SpawnAgent(Delegating, frozen=True):
    """Give a task to another agent; `agent` is its type, `continues` the id of an earlier agent to continue.

    `history` is how much of this conversation it gets: "all", "none" or a number of turns.
    """

    effects = Effects.of("prompt", limit="max_turns", comment="description")

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
    """Send a message to another agent; `interrupt` stops what it is doing."""

    effects = Effects.of("message", comment="summary")

    to: str
    message: str
    summary: str | None = None
    interrupt: bool = False
    starts_turn: bool | None = None
    notify_when_idle: bool = False


class WaitForAgent(Delegating, frozen=True):
    """Wait for other agents (any of them if none is named) and get their messages."""

    effects = Effects.of("agents", limit="timeout_ms")

    agents: tuple[str, ...] = ()
    timeout_ms: int | None = None
    block: bool | None = None
    since_turn: int | None = None


class StopAgent(Delegating, frozen=True):
    """Stop another agent."""

    effects = Effects.of("agent")

    agent: str


class ResumeAgent(Delegating, frozen=True):
    """Reopen a stopped agent."""

    effects = Effects.of("agent")

    agent: str


class ListAgents(Delegating, frozen=True):
    """List the other agents."""

    effects = Effects.of("query")

    query: str | None = None
    scope: str | None = None


class SignalParent(Delegating, frozen=True):
    """Send a message to the agent that started this one."""

    effects = Effects.of("message")

    message: str


class ReturnToParent(Delegating, frozen=True):
    """End the task of this agent with a result."""

    unspoken = "the last message of an agent is its result"
    effects = Effects.of("result")

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
    tool_module = "tools.asking"
    effects = Effects.of("questions")

    questions: tuple[Question, ...]


class SaveMemory(Operation, frozen=True):
    """Save a text to remember beyond this conversation."""

    unspoken = "memories are files"
    tool_module = "tools.memories"
    effects = Effects.of("text key")

    text: str
    key: str | None = None


class RecallMemory(Operation, frozen=True):
    """Search what was saved to remember."""

    kind = Kind.READ
    acp_kind = "read"
    unspoken = "memories are files"
    tool_module = "tools.memories"
    effects = Effects.of("query", limit="limit")

    query: str | None = None
    limit: int | None = None


class CallMcpTool(Operation, frozen=True):
    """Call a tool of a Model Context Protocol server; `server` is `None` where the vocabulary does not name it."""

    effects = Effects.of("arguments")

    server: str | None
    tool: str
    arguments: dict[str, Any] = {}


class ReadMcpResource(Operation, frozen=True):
    """Read a resource of a Model Context Protocol server."""

    kind = Kind.READ
    acp_kind = "read"
    effects = Effects.of("uri")

    uri: str
    server: str | None = None


class ListMcpResources(Operation, frozen=True):
    """List the resources (or resource templates, or those below `uri`) of Model Context Protocol servers."""

    kind = Kind.READ
    acp_kind = "read"
    effects = Effects.of("uri", limit="cursor")

    server: str | None = None
    uri: str | None = None
    templates: bool = False
    cursor: str | None = None


class UseSkill(Operation, frozen=True):
    """Load a skill: instructions for a kind of work."""

    unspoken = "skills are files that are read"
    tool_module = "agents.skills"
    effects = Effects.of("arguments")

    name: str
    arguments: str | None = None


class RunCode(Executing, frozen=True):
    """Run a program."""

    unspoken = WITH_SHELL
    tool_module = "tools.run_code"
    effects = Effects.of("code", comment="reason", command="code")

    code: str
    language: str
    reason: str | None = None
    """In a log: why the program was not read as the operations it performs."""


class GenerateImage(Operation, frozen=True):
    """Generate an image from a description."""

    effects = Effects.of("prompt")

    prompt: str | None = None
    size: str | None = None
    format: str | None = None


class UseComputer(Executing, frozen=True):
    """Act on a screen: click, type, scroll, look."""

    effects = Effects.of("arguments")

    action: str
    arguments: dict[str, Any] = {}


# ── what has no shared meaning ───────────────────────────────────────────────


class CallFunction(Operation, frozen=True):
    """Call a tool the user declared in that very run."""

    effects = Effects.of("arguments")

    name: str
    arguments: dict[str, Any] = {}


class SteerClient(Operation, frozen=True):
    """Use a known tool of one client without shared meaning: plan mode, worktrees, schedules, goals."""

    effects = Effects.of("arguments")

    action: str
    arguments: dict[str, Any] = {}


class Unrecognised(Operation, frozen=True):
    """A call of an unknown tool: kept as it was, never guessed at."""

    effects = Effects.of("arguments")

    name: str
    arguments: dict[str, Any] | str = {}


OPERATIONS: dict[str, type[Operation]] = {
    str(one.__struct_config__.tag): one
    for one in list(vars().values())
    if isinstance(one, type) and issubclass(one, Operation) and one.__module__ != Operation.__module__
}
"""Every operation by its tag: `read_file`, `run_command`, …"""

STANDARD_TOOLS = {tag: f"dragoman.{one.tool_module}:{tag}" for tag, one in OPERATIONS.items() if one.tool_module}
"""Where the standard tool of each operation is, for the registry."""

if TYPE_CHECKING:
    AnyOperation = Operation
else:
    AnyOperation = Union[tuple(OPERATIONS.values())]  # noqa: UP007 - made from the table
