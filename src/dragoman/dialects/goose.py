"""Goose's vocabulary (1.34.0): the tools of its own extensions, in the words its models know.

There is no tool to read a file: it is done with a shell command.
"""

from __future__ import annotations

import re
from typing import Any

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult
from dragoman.model.json_values import as_integer

from .base.conversions import WHOLE_SECONDS
from .base.default_words import FailuresInWords, text_of
from .base.dialect import Dialect, Steer
from .base.mcp_names import McpNames
from .base.spelling import Spelling, means, native_only
from .base.words import PATH, by_hand, done, ended_badly, one_of, one_stream, single, skipped, words

# ── files ────────────────────────────────────────────────────────────────────


class Edit(Spelling[op.EditFile]):
    """Replace a piece of text in a file. It must occur exactly once."""

    native_name = "edit"
    approximated = {"edits": "a text is matched, not whole lines, and only where it occurs once"}

    path: str = means("path", "Path of the file.")
    before: str = means("edits.old", "The exact text to replace.")
    after: str = means("edits.new", "What to put in its place.")

    results = one_of(
        single(
            out.ChangesOutcome,
            words(
                out.Change,
                "Edited {path} ({_old} -> {_new})",
                kind="modified",
                path=PATH,
                _old=skipped("1 lines", "[0-9]++ lines"),
                _new=skipped("1 lines", "[0-9]++ lines"),
            ),
        )
    )


def _lines_of(asked: op.WriteFile) -> str:
    return f"{len(asked.content.splitlines())} lines"


class Write(Spelling[op.WriteFile]):
    """Write a whole file; an existing one is replaced."""

    native_name = "write"

    path: str = means("path", "Path of the file.")
    content: str = means("content", "The whole new content.")

    results = one_of(
        single(
            out.ChangesOutcome,
            *(
                words(
                    out.Change,
                    f"{word} {{path}} ({{_lines}})",
                    kind=kind,
                    path=PATH,
                    _lines=skipped(_lines_of, "[0-9]++ lines"),
                )
                for word, kind in (("Created", "created"), ("Wrote", "modified"))
            ),
        )
    )


_ROW = re.compile(r"( *)(.+?)(/)?  \[[0-9.]+[KMG]?\]")


def _tree_written(outcome: out.DirectoryOutcome, _asked: op.Operation) -> str | None:
    rows: list[str] = []
    shown: list[str] = []
    for entry in outcome.entries:
        *above, name = entry.path.split("/")
        if above != shown[: len(above)] or entry.kind not in ("file", "directory") or "\n" in name or not name.strip():
            return None  # an entry without the folder it is in
        shown = [*above, name]
        rows.append(f"{'  ' * len(above)}{name}{'/' if entry.kind == 'directory' else ''}  [0]")
    return "\n".join(rows) + "\n" if rows else None


def _tree_read(text: str, asked: op.ListDirectory) -> out.DirectoryOutcome | None:
    folders: list[str] = []
    entries = []
    for row in text.removesuffix("\n").split("\n"):
        found = _ROW.fullmatch(row)
        if found is None or len(found[1]) % 2 or len(found[1]) // 2 > len(folders):
            return None
        folders = folders[: len(found[1]) // 2]
        entries.append(out.Entry("/".join([*folders, found[2]]), "directory" if found[3] else "file"))
        folders.append(found[2])
    return out.DirectoryOutcome(asked.path, tuple(entries))


class Tree(Spelling[op.ListDirectory]):
    """List a folder and the folders in it, with the number of lines of each file."""

    native_name = "tree"
    unsaid = {"respect_ignore": "ignored files are always left out"}

    path: str = means("path", "The folder.")
    depth: int | None = means("depth", "Number of levels to list; default 2.", default=None)

    results = one_of(
        by_hand(
            out.DirectoryOutcome,
            _tree_written,
            _tree_read,
            nearly={"entries": "sizes are counted in lines, and an entry is listed below its folder"},
        )
    )


# ── commands ─────────────────────────────────────────────────────────────────

_NOTHING = "(no output)"
_ENDED = re.compile(r"(.*)\n\nCommand exited with code (-?\d+)", re.DOTALL)
_TIMED_OUT = re.compile(r"(.*)\n\nCommand timed out(?: after \d+ seconds)?", re.DOTALL)
_SAVED = re.compile(r"\[Output exceeded .*?Full output saved to (\S+?)\.(?: |\])")


def _command_written(outcome: out.CommandOutcome, asked: op.Operation) -> str | None:
    if outcome.running or outcome.signal is not None:
        return None
    printed = (outcome.output or "").rstrip("\n") or _NOTHING
    if outcome.timed_out:
        limit = getattr(asked, "timeout_ms", None)
        return f"{printed}\n\nCommand timed out" + (f" after {limit // 1000} seconds" if limit else "")
    if outcome.exit_code is None:
        return None
    return f"{printed}\n\nCommand exited with code {outcome.exit_code}" if outcome.exit_code else printed


def _command_read(text: str, _asked: op.Operation) -> out.CommandOutcome | None:
    ended, late = _ENDED.fullmatch(text), _TIMED_OUT.fullmatch(text)
    if ended is not None:
        return out.CommandOutcome(int(ended[2]), output="" if ended[1] == _NOTHING else ended[1])
    if late is not None:
        return out.CommandOutcome(output="" if late[1] == _NOTHING else late[1], timed_out=True)
    return out.CommandOutcome(0, output="") if text == _NOTHING else None


def _recorded(asked: op.Operation, native: NativeResult) -> out.Outcome | None:
    """Both streams and the exit code, which the log has beside the text."""
    item = native.item if isinstance(native.item, dict) else {}
    kept = item.get("structuredContent")
    if isinstance(kept, dict) and isinstance(kept.get("stdout"), str):
        stderr = kept.get("stderr")
        saved = _SAVED.search(text_of(native.content))
        return out.CommandOutcome(
            as_integer(kept.get("exit_code")),
            kept["stdout"],
            stderr if isinstance(stderr, str) else None,
            timed_out=kept.get("timed_out") is True,
            output_path=None if saved is None else saved[1],
        )
    text = text_of(native.content)
    if native.is_error is False and _command_read(text, asked) is None:
        return out.CommandOutcome(0, output=text)
    return None


class Shell(Spelling[op.RunCommand]):
    """Run a command line. Returns its output when it ends."""

    native_name = "shell"

    command: str = means("command", "The command line.")
    timeout_secs: int | None = means("timeout_ms", "Timeout in seconds.", default=None, convert=WHOLE_SECONDS)

    results = one_of(
        by_hand(
            out.CommandOutcome,
            _command_written,
            _command_read,
            nearly={
                "exit_code": "that of a command that succeeded is known by the flag",
                "output": "newlines at its end are cut off",
                "timed_out": "it is said of a command that was ended",
            },
        ),
        back=one_stream,
        from_native=_recorded,
        is_error=ended_badly,
        unsaid={
            "signal": "it is not said how a command was ended",
            "running": "a command is always waited for",
            "job": "commands have no names",
        },
    )


# ── the plan ─────────────────────────────────────────────────────────────────

_TASK = re.compile(r"[-*] \[([ xX])\] (.*\S)")


def _items(content: str) -> tuple[op.PlanItem, ...]:
    """A list of boxes, or one item: the plan is free text."""
    found = [_TASK.fullmatch(line) for line in content.split("\n")]
    if content and all(found):
        return tuple(op.PlanItem(one[2], "pending" if one[1] == " " else "completed") for one in found if one)
    return (op.PlanItem(content),) if content else ()


class TodoWrite(Spelling[op.UpdatePlan]):
    """Replace the whole to-do list: lines of text such as `- [ ] Run the tests`."""

    native_name = "todo__todo_write"
    approximated = {"items": "an item is a line that is ticked off or not"}
    unsaid = {"explanation": "the list speaks for itself"}

    content: str = means("items", "The whole list.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UpdatePlan(_items(self.content)),)

    @classmethod
    def from_operation(cls, operation: op.UpdatePlan) -> TodoWrite | None:
        marks = {"pending": " ", "completed": "x"}
        if any(item.status not in marks for item in operation.items):
            return None
        content = "\n".join(f"- [{marks[item.status]}] {item.text}" for item in operation.items)
        written = [(item.text, item.status) for item in _items(content)]
        same = written == [(item.text, item.status) for item in operation.items]
        return cls(content=content) if same else None

    results = one_of(formerly=(done("Updated", begins="Updated (", ends=" chars)"),))


# ── agents ───────────────────────────────────────────────────────────────────

_STARTED = re.compile(r'Task (\S+) started in background: "')
_RESULT = re.compile(
    r"# Background Task Result: (\S+)\n\n.*?\*\*Status:\*\* (\S+) [^\n]*\n.*?\n## Output\n\n(.*)", re.DOTALL
)
_TASK_ID = re.compile(r"\d{8}_\d+")


def _agents_written(outcome: out.AgentsOutcome, asked: op.Operation) -> str | None:
    if len(outcome.agents) != 1 or outcome.timed_out:
        return None
    (report,) = outcome.agents
    if report.status == "running" and report.id and report.text is None and " " not in report.id:
        return f'Task {report.id} started in background: ""'
    if isinstance(asked, op.SpawnAgent):
        return report.text if report.status == "completed" and report.id is None and report.text else None
    if report.status != "completed" or not report.id or " " in report.id or "\n" in report.id or report.text is None:
        return None
    return f"# Background Task Result: {report.id}\n\n**Status:** \u2713 Completed\n\n## Output\n\n{report.text}"


def _agents_read(text: str, asked: op.Operation) -> out.AgentsOutcome | None:
    started, ended = _STARTED.match(text), _RESULT.fullmatch(text)
    if started is not None:
        return out.AgentsOutcome((out.AgentReport(started[1], "running"),))
    if ended is not None:
        status: Any = "completed" if ended[2] == "\u2713" else "failed"
        return out.AgentsOutcome((out.AgentReport(ended[1], status, ended[3]),))
    if isinstance(asked, op.SpawnAgent) and text:
        return out.AgentsOutcome((out.AgentReport(status="completed", text=text),))
    return None


def _named(_asked: op.Operation, outcome: out.Outcome, native: NativeResult) -> out.Outcome:
    """The agent's session, which the log has beside its answer."""
    item = native.item if isinstance(native.item, dict) else {}
    meta = item.get("_meta")
    id = meta.get("subagent_session_id") if isinstance(meta, dict) else None
    if not isinstance(id, str) or not isinstance(outcome, out.AgentsOutcome) or outcome.agents[0].id is not None:
        return outcome
    report = outcome.agents[0]
    return out.AgentsOutcome((out.AgentReport(id, report.status, report.text),))


REPORTS = one_of(
    by_hand(
        out.AgentsOutcome,
        _agents_written,
        _agents_read,
        nearly={"agents": "an agent that failed has no such words, and one that is waited for has no id"},
    ),
    recorded=_named,
)


class Delegate(Spelling[op.SpawnAgent]):
    """Give a task to another agent; with `async`, do not wait for its result."""

    native_name = "delegate"
    results = REPORTS
    approximated = {"background": "an agent is waited for unless it is started with `async`"}
    unsaid = {
        "name": "the client names agents",
        "description": "there is no parameter for it",
        "system_prompt": "an agent's type has its own",
        "effort": "there is no parameter for it",
        "isolation": "agents share the workspace",
        "cwd": "an agent works where this one does",
        "history": "an agent starts with its prompt alone",
        "continues": "an agent that ended stays ended",
        "command": "there is no such parameter",
    }

    instructions: str | None = means("prompt", "The whole task: the agent sees nothing else.", default=None)
    source: str | None = means("agent", "The agent or recipe to use.", default=None)
    values: dict[str, Any] | None = native_only("values of a recipe are the client's own", name="parameters")
    extensions: tuple[str, ...] | None = means("tools", "Extensions the agent may use.", default=None)
    provider: str | None = native_only("the model says it")
    model: str | None = means("model", "Model the agent uses.", default=None)
    temperature: float | None = native_only("how a model is sampled is not the task's")
    max_turns: int | None = means("max_turns", "Maximum number of turns.", default=None)
    in_background: bool = means(
        "background", "Run the agent in the background; do not wait for its answer.", default=False, name="async"
    )

    def to_operations(self) -> tuple[op.Operation, ...]:
        if self.instructions is None and self.source is None:
            raise ValueError("instructions or source is required")
        return (
            op.SpawnAgent(
                self.instructions or "",
                self.source,
                model=self.model,
                background=True if self.in_background else None,
                tools=self.extensions,
                max_turns=self.max_turns,
            ),
        )

    @classmethod
    def from_operation(cls, operation: op.SpawnAgent) -> Delegate | None:
        if not operation.prompt and operation.agent is None:
            return None
        return cls(
            instructions=operation.prompt or None,
            source=operation.agent,
            model=operation.model,
            in_background=operation.background is True,
            extensions=operation.tools,
            max_turns=operation.max_turns,
        )


class Load(Spelling[op.WaitForAgent | op.StopAgent]):
    """Wait for an agent in the background and get its answer, or stop it with `cancel`."""

    native_name = "load"
    read_only = "the same tool loads instructions, and only the client's own ids tell an agent from them"
    results = REPORTS

    source: str
    cancel: bool = False

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not _TASK_ID.fullmatch(self.source):
            raise ValueError("it names a source of instructions, not an agent")
        return (op.StopAgent(self.source) if self.cancel else op.WaitForAgent((self.source,)),)


class LoadSkill(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "load_skill"

    name: str = means("name", "Name of the skill.")


# ── servers ──────────────────────────────────────────────────────────────────


class ListResources(Spelling[op.ListMcpResources]):
    """List the resources of MCP servers."""

    native_name = "extensionmanager__list_resources"

    extension_name: str | None = means("server", "Name of the server; all servers if omitted.", default=None)


def _resource(text: str, asked: op.ReadMcpResource) -> out.ResourcesOutcome | None:
    uri, blank, content = text.partition("\n\n")
    if not blank or uri != asked.uri:
        return None
    return out.ResourcesOutcome((out.Resource(uri, server=asked.server, text=content),))


class ReadResource(Spelling[op.ReadMcpResource]):
    """Read a resource of an MCP server."""

    native_name = "extensionmanager__read_resource"
    approximated = {"server": "the server is required"}

    uri: str = means("uri", "URI of the resource.")
    extension_name: str = means("server", "Name of the MCP server.")

    results = one_of(
        formerly=(by_hand(out.ResourcesOutcome, lambda _outcome, _asked: None, _resource, says=("resources",)),)
    )


# ── failures ─────────────────────────────────────────────────────────────────


class GooseFailures(FailuresInWords):
    """Failures by their words; a command that ended badly is flagged as an error and is none."""

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """As for all, but that a command tells its own end."""
        if any(isinstance(operation, op.RunCommand) for operation in call.operations):
            item = native.item if isinstance(native.item, dict) else {}
            ended = _command_read(text_of(native.content), call.operations[0])
            if isinstance(item.get("structuredContent"), dict) or ended is not None:
                return None
        return super().understand(call, native)


FAILURES = GooseFailures(
    (
        (r"(?:-32002: )?Tool '.*' not found", "unknown_tool"),
        (r"(?:-32602: |Error: Failed to parse arguments)", "invalid_arguments"),
        (r"The user has declined|Permission denied", "denied"),
        (r"(?s:.*)\b(?:cancelled|canceled|interrupted)\b", "cancelled"),
        (r"(?s:.*)\btimed out\b", "timed_out"),
    ),
    {
        "unknown_tool": "-32002: Tool '{tool}' not found. {message}",
        "invalid_arguments": "Error: Failed to parse arguments: {message}",
        "denied": "The user has declined to run this tool. {message}",
        "cancelled": "The call was cancelled: {message}",
        "timed_out": "The tool timed out: {message}",
    },
)

_APPS = "small apps are the client's own"

DIALECT = Dialect(
    "goose",
    (Shell, Edit, Write, Tree, TodoWrite, Delegate, Load, LoadSkill, ListResources, ReadResource),
    steering=(
        Steer(
            "analyze",
            "an outline of code has no shared form",
            ("path", "focus", "max_depth", "follow_depth", "force"),
        ),
        Steer("apps__create_app", _APPS, ("prd",)),
        Steer("apps__delete_app", _APPS, ("name",)),
        Steer("apps__iterate_app", _APPS, ("name", "feedback")),
        Steer("apps__list_apps", _APPS),
        Steer(
            "extensionmanager__manage_extensions",
            "which extensions are on is the client's own",
            ("action", "extension_name"),
        ),
        Steer("extensionmanager__search_available_extensions", "which extensions there are is the client's own"),
        Steer("load", "sources of instructions are the client's own", ("source", "cancel"), fallback=True),
    ),
    mcp=(McpNames("{server}__{tool}"),),
    failures=FAILURES,
    captured=("1.34.0",),
    default_family="gpt-4o",
    unspoken={
        op.ReadFile: "it is done with a shell command",
        op.FetchPage: "it is done with a shell command",
        op.SearchWeb: "the client has no tool to search the web",
        op.SearchTools: "all tools are offered up front",
        op.MessageAgent: "an agent that ended stays ended",
        op.ResumeAgent: "an agent that ended stays ended",
        op.WaitForAgent: "the answer of an agent in the background is loaded by an id of the client's own",
        op.StopAgent: "an agent in the background is stopped by an id of the client's own",
        op.ListAgents: "the client tells which agents are running",
    },
)
