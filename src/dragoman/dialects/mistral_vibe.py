"""Mistral Vibe's vocabulary (3.0.2): ten tools, of which `run_typescript` calls all others by `tools.group.name(…)`.

Results are JSON. What code called is in the log beside the code: those calls have the names with a dot, are read and
never offered. The code itself is a program, as Codex's is.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import read_json

from .base.conversions import FROM_ZERO, WHOLE_SECONDS
from .base.default_words import FailuresInWords, text_of
from .base.dialect import Dialect, Steer
from .base.mcp_names import McpNames
from .base.spelling import Spelling, means, native_only
from .base.words import by_hand, in_json, one_of

BY_CODE = "it is called from code alone"

# ── files ────────────────────────────────────────────────────────────────────


class ReadText(msgspec.Struct, frozen=True):
    """A file as a result tells it."""

    content: str
    path: str
    offset: int = 0
    total_lines: int | None = None
    file_size_bytes: int | None = None
    was_truncated: bool = False


FILES = one_of(
    in_json(
        out.FileOutcome,
        ReadText,
        to=lambda asked, said: out.FileOutcome(
            asked.path, said.content, said.offset + 1, said.total_lines, said.file_size_bytes, said.was_truncated
        ),
        back=lambda asked, outcome: ReadText(
            outcome.text,
            asked.path,
            outcome.first_line - 1,
            outcome.total_lines,
            outcome.total_bytes,
            outcome.truncated,
        ),
        says=("text", "first_line", "total_lines", "total_bytes", "truncated"),
    )
)


_NAME = re.compile(r"[\w.+@-]+/?")


def _may_be_folder(outcome: out.FileOutcome) -> bool:
    """Whether a path without an ending was read, and every line of it is a name."""
    lines = outcome.text.splitlines()
    return "." not in outcome.path.rsplit("/", 1)[-1] and bool(lines) and all(map(_NAME.fullmatch, lines))


class ReadFile(Spelling[op.ReadFile]):
    """Read a text file, or `limit` lines of it after the first `offset`. A folder is listed."""

    native_name = "read_file"
    results = FILES

    path: str = means("path", "Path of the file.")
    offset: int | None = means("first_line", "Number of lines to skip.", default=None, convert=FROM_ZERO)
    limit: int | None = means("last_line", "Number of lines to read.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        first = None if self.offset is None else self.offset + 1
        return (op.ReadFile(self.path, first, None if self.limit is None else (first or 1) + self.limit - 1),)

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        """The file that was read. A text that could also be a list of a folder, which has the same form, stays text."""
        found = super().to_outcomes(operations, native)
        (first, *_) = found
        if isinstance(first, out.FileOutcome) and _may_be_folder(first):
            return (out.TextOutcome(text_of(native.content)),) * len(found)
        return found

    @classmethod
    def from_operation(cls, operation: op.ReadFile) -> ReadFile | None:
        first, last = operation.first_line, operation.last_line
        count = None if last is None else last - (first or 1) + 1
        if count is not None and count < 1:
            return None
        return cls(path=operation.path, offset=None if first is None else first - 1, limit=count)

    unsaid = {"pages": "there is no parameter for the pages of a document"}


class ReadFileByCode(ReadFile):
    """Read a text file, from code."""

    native_name = "file_system.read_file"
    read_only = BY_CODE


class Written(msgspec.Struct, frozen=True):
    """A written file as a result tells it."""

    bytes_written: int
    file_existed: bool
    path: str


def _written(asked: op.WriteFile, outcome: out.ChangesOutcome) -> Written | None:
    if len(outcome.changes) != 1 or outcome.changes[0].kind not in ("created", "modified"):
        return None
    size = len(asked.content.encode("utf-8", "surrogatepass"))
    return Written(size, outcome.changes[0].kind == "modified", asked.path)


class WriteFile(Spelling[op.WriteFile]):
    """Write a whole file; an existing one is replaced."""

    native_name = "write_file"

    path: str = means("path", "Path of the file.")
    content: str = means("content", "The whole new content.")

    results = one_of(
        in_json(
            out.ChangesOutcome,
            Written,
            to=lambda _asked, said: out.ChangesOutcome(
                (out.Change(said.path, "modified" if said.file_existed else "created"),)
            ),
            back=_written,
            nearly={"changes": "one file that was made or changed"},
        )
    )


class WriteFileByCode(WriteFile):
    """Write a whole file, from code."""

    native_name = "file_system.write_file"
    read_only = BY_CODE


def _edited(text: str, asked: op.EditFile) -> out.ChangesOutcome | None:
    try:
        said = read_json(text)
    except msgspec.DecodeError:
        return None
    if not isinstance(said, dict) or not ({"blocks_applied", "file", "path", "file_path"} & said.keys()):
        return None
    return out.ChangesOutcome((out.Change(asked.path, "modified"),))


EDITS = one_of(formerly=(by_hand(out.ChangesOutcome, lambda _outcome, _asked: None, _edited, says=("changes",)),))


class Edit(Spelling[op.EditFile]):
    """Replace a piece of text in a file. It must occur exactly once, unless `replace_all` is set."""

    native_name = "edit"
    results = EDITS
    approximated = {"edits": "a text is matched, not whole lines"}

    file_path: str = means("path", "Path of the file.")
    old_string: str = means("edits.old", "The exact text to replace.")
    new_string: str = means("edits.new", "What to put in its place.")
    replace_all: bool = means("edits.everywhere", "Replace every occurrence.", default=False)


class EditByCode(Edit):
    """Replace a piece of text in a file, from code."""

    native_name = "file_system.edit"
    read_only = BY_CODE


class Block(msgspec.Struct, frozen=True):
    """One replacement."""

    old_str: str
    new_str: str
    replace_all: bool = False


class SearchReplace(Spelling[op.EditFile]):
    """Replace pieces of text in a file: how the client itself calls an edit."""

    native_name = "file_system.search_replace"
    results = EDITS
    read_only = BY_CODE

    file_path: str
    content: tuple[Block, ...]

    def to_operations(self) -> tuple[op.Operation, ...]:
        edits = [op.Edit(one.old_str, one.new_str, everywhere=one.replace_all) for one in self.content]
        return (op.EditFile(self.file_path, tuple(edits)),)


# ── commands ─────────────────────────────────────────────────────────────────


class Ran(msgspec.Struct, frozen=True):
    """A command as a result tells it."""

    command: str
    returncode: int
    stderr: str
    stdout: str
    timed_out: bool = False
    was_truncated: bool = False


def _ran(asked: Any, outcome: out.CommandOutcome) -> Ran | None:
    if outcome.running or (outcome.exit_code is None and not outcome.timed_out):
        return None
    stdout = outcome.output if outcome.stdout is None else outcome.stdout
    code = -9 if outcome.exit_code is None else outcome.exit_code
    return Ran(asked.command, code, outcome.stderr or "", stdout or "", outcome.timed_out)


def _ended(_asked: op.Operation, said: Ran) -> out.CommandOutcome:
    if said.returncode < 0:
        signal = None if said.timed_out else -said.returncode
        return out.CommandOutcome(None, said.stdout, said.stderr, signal=signal, timed_out=said.timed_out)
    return out.CommandOutcome(said.returncode, said.stdout, said.stderr, timed_out=said.timed_out)


_ONLY_READ = dict.fromkeys(("exit_code", "output", "running", "job", "timed_out", "signal"), "it is only read")
_SAVED = re.compile(
    r"<system>The tool output is large\.[^\n]*? saved to the file system under (?P<path>\S+)\.\n.*?"
    r"<truncated-output>\n(?P<said>.*?)\n</truncated-output>",
    re.DOTALL,
)
_OMITTED = re.compile(r"\n\[\.\.\. (\d+) characters omitted \.\.\.\]\n")


def _saved(text: str, asked: op.Operation) -> out.CommandOutcome | None:
    """A result that was too long for the model: its beginning and its end, and the file that has all of it."""
    found = _SAVED.match(text)
    try:
        said = None if found is None else read_json(found["said"], type=Ran)
    except msgspec.DecodeError:
        return None
    if found is None or said is None:
        return None
    cut = sum(int(count) for count in _OMITTED.findall(said.stdout + said.stderr))
    return msgspec.structs.replace(_ended(asked, said), truncated=cut, output_path=found["path"])


class Bash(Spelling[op.RunCommand]):
    """Run a command line in a new shell. Returns its output when it ends."""

    native_name = "bash"

    command: str = means("command", "The command line.")
    timeout_seconds: int | None = means(
        "timeout_ms", "Timeout in seconds; default 120.", default=None, convert=WHOLE_SECONDS
    )

    results = one_of(
        in_json(
            out.CommandOutcome,
            Ran,
            to=_ended,
            back=_ran,
            nearly={
                "exit_code": "a command that was ended has a negative one",
                "stdout": "output that was not kept apart is the first stream's",
                "stderr": "output that was not kept apart is the first stream's",
                "output": "both streams are given apart",
                "signal": "it is said as a negative exit code",
                "timed_out": "it is said of a command that was ended",
                "truncated": "that it was cut is said, and not how much",
            },
        ),
        unsaid={"running": "a command is always waited for", "job": "commands have no names"},
        formerly=(by_hand(out.CommandOutcome, lambda _outcome, _asked: None, _saved, nearly=_ONLY_READ),),
    )


class BashByCode(Bash):
    """Run a command line, from code."""

    native_name = "file_system.bash"
    read_only = BY_CODE


class Process(msgspec.Struct, frozen=True):
    """A background command as a result tells it."""

    processId: str  # noqa: N815 - the native name
    status: str
    exitCode: int | None = None  # noqa: N815 - the native name
    command: str | None = None


class Processes(msgspec.Struct, frozen=True):
    """All background commands as a result tells them."""

    processes: tuple[Process, ...]


def _process(text: str, _asked: op.Operation) -> out.CommandOutcome | None:
    try:
        said = read_json(text, type=Process)
    except msgspec.DecodeError:
        return None
    return out.CommandOutcome(said.exitCode, running=said.status == "running", job=said.processId)


def _processes(text: str, _asked: op.Operation) -> out.JobsOutcome | None:
    try:
        found = read_json(text, type=Processes).processes
    except msgspec.DecodeError:
        return None
    return out.JobsOutcome(
        tuple(out.Job(one.processId, one.command, one.status == "running", one.exitCode) for one in found)
    )


PROCESS = one_of(formerly=(by_hand(out.CommandOutcome, lambda _outcome, _asked: None, _process, nearly=_ONLY_READ),))


class ProcessStart(Spelling[op.RunCommand]):
    """Start a command in the background."""

    native_name = "process.start"
    read_only = BY_CODE
    results = PROCESS
    always = {"background": True}

    command: str
    cwd: str | None = None
    env: dict[str, str] | None = native_only("variables are the command's own affair")


class ProcessOutput(Spelling[op.ReadOutput]):
    """Read what a background command has written."""

    native_name = "process.output"
    read_only = BY_CODE
    results = PROCESS

    processId: str = means("job")  # noqa: N815 - the native name
    waitMs: int | None = means("wait_ms", default=None)  # noqa: N815 - the native name
    start: str | None = native_only("output is read on from where it was read", name="from")
    cursor: int | None = native_only("output is read on from where it was read")


class ProcessWrite(Spelling[op.TypeInto]):
    """Type into a background command."""

    native_name = "process.write"
    read_only = BY_CODE
    results = PROCESS

    processId: str  # noqa: N815 - the native name
    text: str | None = None
    control: str | None = None
    bytesBase64: str | None = None  # noqa: N815 - the native name

    def to_operations(self) -> tuple[op.Operation, ...]:
        text = next((one for one in (self.text, self.control, self.bytesBase64) if one is not None), None)
        if text is None:
            raise ValueError("there is nothing to type")
        return (op.TypeInto(self.processId, text),)


class ProcessStop(Spelling[op.StopCommand]):
    """Stop a background command."""

    native_name = "process.stop"
    read_only = BY_CODE
    results = PROCESS

    processId: str = means("job")  # noqa: N815 - the native name


class ProcessList(Spelling[op.ListCommands]):
    """List background commands."""

    native_name = "process.list"
    read_only = BY_CODE
    results = one_of(formerly=(by_hand(out.JobsOutcome, lambda _outcome, _asked: None, _processes, says=("jobs",)),))


# ── code ─────────────────────────────────────────────────────────────────────


def _returned(text: str, _asked: op.Operation) -> out.JsonOutcome | None:
    """What `main` returned."""
    try:
        return out.JsonOutcome(read_json(text))
    except msgspec.DecodeError:
        return None


class RunTypescript(Spelling[op.RunCode]):
    """Run a program in TypeScript whose `main` may call other tools as `await tools.group.name({…})`."""

    native_name = "run_typescript"
    unsaid = {"reason": "the program is the call itself"}

    code: str = means("code", "The program, with a function `main`.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.RunCode(self.code, "typescript"),)

    @classmethod
    def from_operation(cls, operation: op.RunCode) -> RunTypescript | None:
        return cls(code=operation.code) if operation.language in ("typescript", "javascript") else None

    approximated = {"language": "a program in JavaScript is one in TypeScript too"}
    results = one_of(formerly=(by_hand(out.JsonOutcome, lambda _outcome, _asked: None, _returned, says=("value",)),))


# ── agents ───────────────────────────────────────────────────────────────────


class AgentsSpawn(Spelling[op.SpawnAgent]):
    """Give a task to another agent, which works in the background."""

    native_name = "agents.spawn"
    read_only = BY_CODE
    always = {"background": True}

    name: str = means("name")
    message: str = means("prompt")
    config_name: str | None = means("agent", default=None)


class AgentsSend(Spelling[op.MessageAgent]):
    """Send a message to another agent."""

    native_name = "agents.send_message"
    read_only = BY_CODE

    agent_path: str = means("to")
    message: str = means("message")


class AgentsInterrupt(Spelling[op.StopAgent]):
    """Stop another agent."""

    native_name = "agents.interrupt"
    read_only = BY_CODE

    name: str = means("agent")


class AgentsList(Spelling[op.ListAgents]):
    """List the other agents."""

    native_name = "agents.list"
    read_only = BY_CODE


class Wait(Spelling[op.WaitForAgent]):
    """Wait until an agent or a background command has new output."""

    native_name = "wait"
    approximated = {"agents": "any is waited for", "timeout_ms": "a time is required: without one it is an hour"}
    unsaid = {"block": "it always waits", "since_turn": "what an agent said last is what is given"}

    timeout_ms: int = means("timeout_ms", "Milliseconds to wait.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.WaitForAgent((), self.timeout_ms),)

    @classmethod
    def from_operation(cls, operation: op.WaitForAgent) -> Wait | None:
        return None if operation.agents else cls(timeout_ms=operation.timeout_ms or 3_600_000)

    # 3.0.2 gives an agent's answer to the model in the user's name, not as a result.
    results = one_of(
        formerly=(
            by_hand(
                out.AgentsOutcome,
                lambda _outcome, _asked: None,
                lambda text, _asked: out.AgentsOutcome((), timed_out=True) if text == '{"reason":"timeout"}' else None,
                says=("agents", "timed_out"),
            ),
        )
    )


# ── the plan, tools, skills ──────────────────────────────────────────────────


class Todo(msgspec.Struct, frozen=True, omit_defaults=True):
    """One item of the to-do list."""

    id: str
    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"
    priority: Literal["high", "medium", "low"] = "medium"


class Todos(msgspec.Struct, frozen=True):
    """The list as a result tells it."""

    verb: str
    todos: tuple[Todo, ...]


def _items(todos: tuple[Todo, ...]) -> tuple[op.PlanItem, ...]:
    return tuple(op.PlanItem(one.content, one.status, one.id or None, priority=one.priority) for one in todos)


def _todos(items: tuple[op.PlanItem, ...]) -> tuple[Todo, ...] | None:
    rows = [
        {
            "id": item.id or str(number),
            "content": item.text,
            "status": item.status,
            "priority": item.priority or "medium",
        }
        for number, item in enumerate(items)
    ]
    try:
        return msgspec.convert(rows, tuple[Todo, ...])
    except msgspec.ValidationError:
        return None


def _listed(asked: op.Operation, outcome: out.PlanOutcome) -> Todos | None:
    todos = _todos(outcome.items)
    verb = "Updated" if isinstance(asked, op.UpdatePlan) else "Retrieved"
    return None if todos is None else Todos(verb, todos)


class TodoTool(Spelling[op.UpdatePlan | op.ReadPlan]):
    """Read the to-do list, or replace it with `write`."""

    native_name = "todo"
    approximated = {
        "items": "an item is a text, a status, an id and a priority, which are given where they are missing"
    }
    unsaid = {"explanation": "the list speaks for itself", "id": "the list is read whole"}

    action: Literal["read", "write"] = means(None, "What to do.")
    todos: tuple[Todo, ...] | None = means("items", "The whole list, in order.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UpdatePlan(_items(self.todos or ())) if self.action == "write" else op.ReadPlan(),)

    @classmethod
    def from_operation(cls, operation: op.UpdatePlan | op.ReadPlan) -> TodoTool | None:
        if isinstance(operation, op.ReadPlan):
            return cls(action="read")
        todos = _todos(operation.items)
        return None if todos is None else cls(action="write", todos=todos)

    results = one_of(
        in_json(
            out.PlanOutcome,
            Todos,
            to=lambda _asked, said: out.PlanOutcome(_items(said.todos)),
            back=_listed,
            nearly={"items": "an item is a text, a status, an id and a priority"},
        )
    )


class TodoByCode(TodoTool):
    """Read or replace the list of things to do, from code."""

    native_name = "vibe.todo"
    read_only = BY_CODE


_FOUND = re.compile(r"^(?:\d+\. |  - name: )([\w.]+)", re.MULTILINE)


def _tools(text: str, _asked: op.Operation) -> out.ToolsOutcome | None:
    return out.ToolsOutcome(tuple(dict.fromkeys(_FOUND.findall(text)))) if text.startswith("---\nmode: ") else None


class SearchToolFunctions(Spelling[op.SearchTools]):
    """Search for functions that code can call."""

    native_name = "search_tool_functions"
    unsaid = {"limit": "the client decides how many are shown"}
    Names = tuple[str, ...]

    mode: Literal["best_match", "details", "all_connector_capabilities"] | None = native_only(
        "how much is shown of each is the client's own"
    )
    query: str | None = means("query", "What the function should do.", default=None)
    functions: tuple[str, ...] | None = native_only("functions whose details are wanted are named in the query")
    functionNames: tuple[str, ...] | None = native_only("an older name of the same")  # noqa: N815 - the native name
    connectors: tuple[str, ...] | None = native_only("groups of functions are the client's own")

    def to_operations(self) -> tuple[op.Operation, ...]:
        named = (*(self.functions or ()), *(self.functionNames or ()), *(self.connectors or ()))
        return (op.SearchTools(self.query if self.query is not None else " ".join(named)),)

    @classmethod
    def from_operation(cls, operation: op.SearchTools) -> SearchToolFunctions:
        return cls(query=operation.query)

    results = one_of(formerly=(by_hand(out.ToolsOutcome, lambda _outcome, _asked: None, _tools, says=("names",)),))


class Skill(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "skill"

    name: str = means("name", "Name of the skill.")


# ── failures ─────────────────────────────────────────────────────────────────

FAILURES = FailuresInWords(
    (
        (
            r'(?s:.*)"name": ?"InvalidToolCall",\s*"message": ?"(?:unsupported top-level tool|unknown tool) ',
            "unknown_tool",
        ),
        (r'(?s:.*)"name": ?"InvalidToolCall"', "invalid_arguments"),
        (r'(?s:.*)"name": ?"tool_denied"', "denied"),
        (r'(?s:.*)"name": ?"Interrupted"', "cancelled"),
        (r"(?s:.*)\btimed out\b", "timed_out"),
    ),
    {
        "unknown_tool": '{"result":{"type":"error","error":{"name":"InvalidToolCall",'
        '"message":"unknown tool {tool}: {message}"}}}',
        "invalid_arguments": '{"result":{"type":"error","error":{"name":"InvalidToolCall","message":"{message}"}}}',
        "denied": '{"result":{"type":"error","error":{"name":"tool_denied","message":"{message}"}}}',
        "cancelled": '{"result":{"type":"error","error":{"name":"Interrupted","message":"{message}"}}}',
        "timed_out": "The tool timed out: {message}",
    },
)

DIALECT = Dialect(
    "mistral_vibe",
    (
        SearchToolFunctions,
        RunTypescript,
        Wait,
        ReadFile,
        WriteFile,
        Edit,
        Bash,
        Skill,
        TodoTool,
        ReadFileByCode,
        WriteFileByCode,
        EditByCode,
        SearchReplace,
        BashByCode,
        ProcessStart,
        ProcessOutput,
        ProcessWrite,
        ProcessStop,
        ProcessList,
        AgentsSpawn,
        AgentsSend,
        AgentsInterrupt,
        AgentsList,
        TodoByCode,
    ),
    steering=(
        Steer("unified_harness_scratchpad", "notes of the session are the client's own", ("action", "path", "content")),
        Steer("self.sleep", "the program waits", ("seconds",)),
    ),
    mcp=(McpNames("mcp_{server}.{tool}"),),
    failures=FAILURES,
    captured=("3.0.2",),
    default_family="devstral-2",
    unspoken={
        op.Delegating: "agents are started and reached from code",
        op.ReadOutput: "background commands are started and reached from code",
        op.TypeInto: "background commands are started and reached from code",
        op.StopCommand: "background commands are started and reached from code",
        op.ListCommands: "background commands are started and reached from code",
        op.SearchWeb: "the client has no tool to search the web",
        op.FetchPage: "it is done with a shell command",
        op.ReadMcpResource: "the client has no tool for resources",
        op.ListMcpResources: "the client has no tool for resources",
    },
)
