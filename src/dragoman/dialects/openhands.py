"""OpenHands CLI's vocabulary (1.16.0): one class per native tool, in the words its models know.

Every call but `think` and `finish` must say its `security_risk`; what it is worth is for the client to judge.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_values import as_integer

from .base.conversions import SECONDS
from .base.default_words import FailuresInWords, text_of, unnumbered
from .base.dialect import Dialect, Steer
from .base.editor_commands import editor_operation
from .base.sentences import numbered as number_lines
from .base.spelling import Spelling, means, native_only
from .base.words import by_hand, done, one_of, one_stream, picture

Risk = Literal["UNKNOWN", "LOW", "MEDIUM", "HIGH"]
_RISK = "Security risk of the call."
_SUMMARY = "what a call does is seen from the call"


def _item(native: NativeResult) -> dict[str, Any]:
    return native.item if isinstance(native.item, dict) else {}


# ── commands ─────────────────────────────────────────────────────────────────

_ENDED = re.compile(r"(.*)\n\[The command completed with exit code (-?\d+)\.[^\]]*\](?:\n.*)?", re.DOTALL)
_LATE = re.compile(r"(.*)\n\[The command timed out after [0-9.]+ seconds\..*", re.DOTALL)
_RESET = "Terminal session has been reset."
_SHELL = "terminal"
"""The one shell that all commands run in."""


def _command_written(outcome: out.CommandOutcome, asked: op.Operation) -> str | None:
    printed = (outcome.output or "").rstrip()  # no session of 1.16.0 has any before the note
    if outcome.timed_out and outcome.running:
        limit = getattr(asked, "timeout_ms", None) or 30_000
        return f"{printed}\n[The command timed out after {limit / 1000:.1f} seconds. You may wait longer.]"
    if outcome.running or outcome.timed_out or outcome.exit_code is None:
        return None
    return f"{printed}\n[The command completed with exit code {outcome.exit_code}.]"


def _command_read(text: str, _asked: op.Operation) -> out.CommandOutcome | None:
    ended, late = _ENDED.fullmatch(text), _LATE.fullmatch(text)
    if ended is not None:
        return out.CommandOutcome(int(ended[2]), output=ended[1])
    return None if late is None else out.CommandOutcome(output=late[1], running=True, timed_out=True)


def _recorded(asked: op.Operation, native: NativeResult) -> out.Outcome | None:
    """The exit code, which the log has beside the text; a shell that is still busy has -1."""
    item = _item(native)
    metadata, text = item.get("metadata"), text_of(native.content)
    if item.get("kind") != "TerminalObservation" or isinstance(asked, op.StopCommand):
        return None
    suffix = str(metadata.get("suffix")) if isinstance(metadata, dict) else ""
    code = item.get("exit_code")
    if code == -1:
        return out.CommandOutcome(output=text, running=True, timed_out="timed out" in suffix)
    return out.CommandOutcome(as_integer(code), output=text)


class Terminal(Spelling[op.RunCommand | op.TypeInto | op.ReadOutput | op.StopCommand]):
    """Run a command line in a shell that stays open; with `is_input`, type into what is running there."""

    native_name = "terminal"
    approximated = {"job": "there is one shell", "text": "it ends with a newline"}
    unsaid = {
        "cwd": "a command goes to another folder by itself, with `cd`",
        "background": "a command is left running with `&`",
        "shell": "it is always bash",
        "login": "it is never a login shell",
        "terminal": "it is always a terminal",
        "output_limit": "the client has one limit for all output",
        "unsandboxed": "there is no sandbox",
        "lines": "all output is given",
        "pattern": "all output is given",
        "block": "it waits for a while",
        "wait_ms": "it waits as long as a command may take",
    }

    command: str = means(
        "command", 'The command line; with `is_input`, keys such as "C-c", or empty to wait for output.'
    )
    is_input: bool = means(None, "Type the text into the running command.", default=False)
    timeout: float | None = means("timeout_ms", "Seconds to wait.", default=None)
    reset: bool = means(None, "Start a new shell.", default=False)
    security_risk: Risk | None = means(None, _RISK)
    summary: str | None = means("purpose", "What the command does, in a few words.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if self.reset:
            return (op.StopCommand(_SHELL),)
        limit = SECONDS.to(self.timeout)
        if self.is_input:
            return (op.TypeInto(_SHELL, self.command, limit) if self.command else op.ReadOutput(_SHELL, limit),)
        return (op.RunCommand(self.command, timeout_ms=limit, purpose=self.summary),)

    @classmethod
    def from_operation(cls, operation: op.RunCommand | op.TypeInto | op.ReadOutput | op.StopCommand) -> Terminal | None:
        match operation:
            case op.RunCommand(background=False, job=None | "terminal"):
                limit = SECONDS.back(operation.timeout_ms)
                return cls(command=operation.command, timeout=limit, security_risk="UNKNOWN", summary=operation.purpose)
            case op.TypeInto() if operation.text:
                return cls(
                    command=operation.text,
                    is_input=True,
                    timeout=SECONDS.back(operation.wait_ms),
                    security_risk="UNKNOWN",
                )
            case op.ReadOutput():
                return cls(command="", is_input=True, timeout=SECONDS.back(operation.wait_ms), security_risk="UNKNOWN")
            case op.StopCommand():
                return cls(command="", reset=True, security_risk="UNKNOWN")
        return None

    results = one_of(
        by_hand(
            out.CommandOutcome,
            _command_written,
            _command_read,
            nearly={
                "exit_code": "a command that is still running has none",
                "output": "white space at its end is cut off",
                "running": "it is said of a command that took too long",
                "timed_out": "such a command goes on",
            },
        ),
        formerly=(done(_RESET, begins=_RESET, asked=op.StopCommand),),
        back=one_stream,
        from_native=_recorded,
        unsaid={"signal": "it is said as an exit code", "job": "there is one shell"},
    )


# ── files ────────────────────────────────────────────────────────────────────

_CAT = re.compile(r"Here's the result of running `cat -n` on ([^\n]*):\n(.*)", re.DOTALL)
_FOLDER = re.compile(
    r"Here's the files and directories up to 2 levels deep in ([^\n]*), excluding hidden items:\n(.*)", re.DOTALL
)
_EDITED = re.compile(
    r"The file ([^\n]*) has been edited\. Here's the result of running `cat -n` on a snippet of .*", re.DOTALL
)
_CREATED = re.compile(r"File created successfully at: ([^\n]*)")
_UNDONE = re.compile(r"Last edit to ([^\n]*) undone successfully\..*", re.DOTALL)


def _file_written(outcome: out.FileOutcome, asked: op.ReadFile) -> str:
    shown = number_lines(outcome, "\t", 6)
    return f"Here's the result of running `cat -n` on {asked.path}:\n{shown}\n"


def _file_read(text: str, asked: op.Operation) -> out.Outcome | None:
    shown, listed = _CAT.fullmatch(text), _FOLDER.fullmatch(text)
    if shown is not None:
        lines = unnumbered(shown[2].removesuffix("\n"))
        return None if lines is None else out.FileOutcome(str(getattr(asked, "path", shown[1])), lines[1], lines[0])
    if listed is None:
        return None
    folder = listed[1].rstrip("/") + "/"
    rows = [row for row in listed[2].split("\n") if row and row != folder]
    if not all(row.startswith(folder) for row in rows):
        return None
    entries = [
        out.Entry(row.removeprefix(folder).rstrip("/"), "directory" if row.endswith("/") else "file") for row in rows
    ]
    return out.DirectoryOutcome(str(getattr(asked, "path", listed[1])), tuple(entries))


def _change_written(outcome: out.ChangesOutcome, asked: Any) -> str | None:
    if len(outcome.changes) != 1:
        return None
    kind = outcome.changes[0].kind
    if kind == "created" and isinstance(asked, op.WriteFile):
        return f"File created successfully at: {asked.path}"
    if kind == "modified" and isinstance(asked, op.UndoEdit):
        return f"Last edit to {asked.path} undone successfully."
    if kind != "modified" or not isinstance(asked, op.EditFile | op.InsertText):
        return None
    return (
        f"The file {asked.path} has been edited. "
        "Here's the result of running `cat -n` on a snippet of the edited file:\n"
    )


def _change_read(text: str, asked: op.Operation) -> out.ChangesOutcome | None:
    kinds: dict[type[op.Operation], tuple[re.Pattern[str], Any]] = {
        op.WriteFile: (_CREATED, "created"),
        op.EditFile: (_EDITED, "modified"),
        op.InsertText: (_EDITED, "modified"),
        op.UndoEdit: (_UNDONE, "modified"),
    }
    if type(asked) not in kinds:
        return None
    pattern, kind = kinds[type(asked)]
    found = pattern.fullmatch(text)
    return None if found is None else out.ChangesOutcome((out.Change(found[1], kind),))


class FileEditor(Spelling[op.ReadFile | op.WriteFile | op.EditFile | op.InsertText | op.UndoEdit]):
    """View, create and edit files; paths are absolute. `view` also lists folders and shows images."""

    native_name = "file_editor"
    approximated = {
        "edits": "a text is matched, not whole lines, and only where it occurs once; several are several calls",
        "last_line": "without a first line, lines are counted from 1",
        "first_line": "a range has a first line",
    }
    unsaid = {
        "pages": "there is no parameter for the pages of a document",
        "overwrite": "an existing file is never replaced",
        "purpose": "there is no parameter for it",
    }

    command: Literal["view", "create", "str_replace", "insert", "undo_edit"] = means(None, "What to do.")
    path: str = means("path", "Absolute path of the file or folder.")
    file_text: str | None = means("content", "`create`: the whole content of the new file.", default=None)
    old_str: str | None = means(None, "`str_replace`: the exact text to replace.", default=None)
    new_str: str | None = means(None, "`str_replace` and `insert`: the new text.", default=None)
    insert_line: int | None = means("line", "`insert`: the line after which to insert the text.", default=None)
    view_range: tuple[int, ...] | None = means(None, "`view`: the first and the last line.", default=None)
    security_risk: Risk | None = means(None, _RISK)
    summary: str | None = native_only(_SUMMARY)

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

    @classmethod
    def from_operation(cls, operation: op.ReadFile | op.WriteFile | op.EditFile | op.InsertText | op.UndoEdit) -> Any:
        path = operation.path
        match operation:
            case op.ReadFile(first_line=first, last_line=last):
                lines = None if first is None and last is None else (first or 1, -1 if last is None else last)
                return cls(command="view", path=path, view_range=lines, security_risk="UNKNOWN")
            case op.WriteFile(content=content):
                return cls(command="create", path=path, file_text=content, security_risk="UNKNOWN")
            case op.EditFile(edits=edits):
                plain = all(edit.old and not edit.everywhere and (edit.expected or 1) == 1 for edit in edits)
                return (
                    tuple(
                        cls(
                            command="str_replace",
                            path=path,
                            old_str=edit.old,
                            new_str=edit.new,
                            security_risk="UNKNOWN",
                        )
                        for edit in edits
                    )
                    if plain and edits
                    else None
                )
            case op.InsertText(line=line, text=text):
                return cls(command="insert", path=path, new_str=text, insert_line=line, security_risk="UNKNOWN")
        return cls(command="undo_edit", path=path, security_risk="UNKNOWN")

    results = one_of(
        picture("Image file {asked.path} read successfully. Displaying image content."),
        by_hand(
            out.FileOutcome,
            _file_written,
            _file_read,
            says=("text", "first_line"),
            asked=(op.ReadFile,),
        ),
        by_hand(
            out.ChangesOutcome,
            _change_written,
            _change_read,
            nearly={"changes": "one file, and what was done to it; the lines around are not read"},
        ),
        unsaid={"truncated": "a long file is cut without a word that can be read back"},
    )


# ── plans and agents ─────────────────────────────────────────────────────────


class TrackedTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """One item of the to-do list."""

    title: str
    notes: str = ""
    status: Literal["todo", "in_progress", "done"] = "todo"


_STATUS: dict[str, Any] = {"todo": "pending", "in_progress": "in_progress", "done": "completed"}
_NATIVE: dict[str, Any] = {ours: native for native, ours in _STATUS.items()}


def _plan(tasks: tuple[TrackedTask, ...]) -> tuple[op.PlanItem, ...]:
    return tuple(op.PlanItem(one.title, _STATUS[one.status], description=one.notes or None) for one in tasks)


def _plan_kept(_asked: op.Operation, native: NativeResult) -> out.Outcome | None:
    """The list, which the log has beside the sentence."""
    kept = _item(native).get("task_list")
    try:
        return (
            None
            if not isinstance(kept, list)
            else out.PlanOutcome(_plan(msgspec.convert(kept, tuple[TrackedTask, ...])))
        )
    except msgspec.ValidationError:
        return None


class TaskTracker(Spelling[op.UpdatePlan | op.ReadPlan]):
    """Update or read the to-do list: `plan` replaces it, `view` reads it."""

    native_name = "task_tracker"
    approximated = {"items": "an item is a text, notes and a status"}
    unsaid = {"explanation": "the list speaks for itself", "id": "the list is read whole"}

    command: Literal["view", "plan"] | None = means(None, "The command; default `view`.", default=None)
    task_list: tuple[TrackedTask, ...] | None = means("items", "`plan`: the whole list, in order.", default=None)
    security_risk: Risk | None = means(None, _RISK)
    summary: str | None = native_only(_SUMMARY)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UpdatePlan(_plan(self.task_list or ())) if self.command == "plan" else op.ReadPlan(),)

    @classmethod
    def from_operation(cls, operation: op.UpdatePlan | op.ReadPlan) -> TaskTracker | None:
        if isinstance(operation, op.ReadPlan):
            return cls(command="view", security_risk="UNKNOWN")
        if any(item.status not in _NATIVE for item in operation.items):
            return None
        tasks = [TrackedTask(item.text, item.description or "", _NATIVE[item.status]) for item in operation.items]
        return cls(command="plan", task_list=tuple(tasks), security_risk="UNKNOWN")

    results = one_of(
        formerly=(done("Task list has been updated", begins="Task list has been updated with "),),
        from_native=_plan_kept,
    )


def _report(_asked: op.Operation, native: NativeResult) -> out.Outcome | None:
    """The agent's answer, with what the log says of the task."""
    item = _item(native)
    if item.get("kind") != "TaskObservation" or native.is_error:
        return None
    status: Any = "completed" if item.get("status") == "completed" else "unknown"
    id, kind = item.get("task_id"), item.get("subagent")
    report = out.AgentReport(
        id if isinstance(id, str) else None,
        status,
        text_of(native.content),
        agent=kind if isinstance(kind, str) else None,
    )
    return out.AgentsOutcome((report,))


class Task(Spelling[op.SpawnAgent]):
    """Give a task to another agent and wait for its answer, or continue an earlier task."""

    native_name = "task"
    unsaid = {
        "name": "the client names agents",
        "system_prompt": "an agent's type has its own",
        "model": "an agent's type has its own",
        "effort": "there is no parameter for it",
        "background": "the answer is always waited for",
        "isolation": "agents share the workspace",
        "cwd": "an agent works where this one does",
        "history": "an agent starts with its prompt alone",
        "tools": "an agent's type has its own",
        "max_turns": "an agent's type has its own",
        "command": "there is no such parameter",
    }

    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    description: str | None = means("description", "The task in a few words.", default=None)
    subagent_type: str | None = means("agent", "The agent's type.", default=None)
    resume: str | None = means("continues", "Id of an earlier task to continue.", default=None)
    security_risk: Risk | None = means(None, _RISK)
    summary: str | None = native_only(_SUMMARY)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SpawnAgent(self.prompt, self.subagent_type, description=self.description, continues=self.resume),)

    @classmethod
    def from_operation(cls, operation: op.SpawnAgent) -> Task:
        return cls(
            prompt=operation.prompt,
            description=operation.description,
            subagent_type=operation.agent,
            resume=operation.continues,
            security_risk="UNKNOWN",
        )

    results = one_of(from_native=_report)


class Finish(Spelling[op.ReturnToParent]):
    """End the task with a message to the user."""

    native_name = "finish"
    read_only = "the last message of an agent is its result, and only a text can be said with it"

    message: str = means("result")
    summary: str | None = native_only(_SUMMARY)


# ── failures ─────────────────────────────────────────────────────────────────

FAILURES = FailuresInWords(
    (
        (r"Tool '.*' not found", "unknown_tool"),
        (r"Error validating tool '|Invalid `\w+` parameter", "invalid_arguments"),
        (r"User rejected|Action rejected", "denied"),
        (r"(?s:.*)\b(?:cancelled|interrupted)\b", "cancelled"),
        (r"(?s:.*)\btimed out\b", "timed_out"),
    ),
    {
        "unknown_tool": "Tool '{tool}' not found. {message}",
        "invalid_arguments": "Error validating tool '{tool}': {message}",
        "denied": "User rejected the action: {message}",
        "cancelled": "The action was cancelled: {message}",
        "timed_out": "The action timed out: {message}",
    },
)

DIALECT = Dialect(
    "openhands",
    (Terminal, FileEditor, TaskTracker, Task, Finish),
    steering=(Steer("think", "a thought that is written down", ("thought", "summary")),),
    mcp_items={"MCPToolAction": ""},
    failures=FAILURES,
    captured=("1.16.0",),
    default_family="gpt-4o",
    unspoken={
        op.SearchTools: "all tools are offered up front",
        op.SearchWeb: "the client has no tool to search the web",
        op.FetchPage: "it is done with a shell command",
        op.MessageAgent: "an agent that ended is given another task",
        op.WaitForAgent: "an agent's answer is always waited for",
        op.ResumeAgent: "an agent that ended is given another task",
        op.StopAgent: "an agent's answer is always waited for",
        op.ListAgents: "an agent's answer is always waited for",
        op.ReadMcpResource: "the client has no tool for resources",
        op.ListMcpResources: "the client has no tool for resources",
        op.ListCommands: "there is one shell",
    },
)
