"""Factory droid's vocabulary (0.215.0): one class per native tool, in the words its models know.

The log's results of edits are JSON with the lines that changed; the model gets a sentence.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, Content, NativeResult
from dragoman.model.edit_rules import EditRules, PatchRules, WholeFileRules
from dragoman.model.json_text import read_json

from .base.conversions import EMPTY_IS_UNSAID, INVERTED, LINE_COUNT, SECONDS, WHOLE, Conversion, whole, whole_number
from .base.default_words import FailuresInWords, tell_all, text_of
from .base.dialect import Dialect, Steer
from .base.match_lines import as_ripgrep, by_mode, from_ripgrep, read_by_mode
from .base.mcp_names import McpNames
from .base.patch_text import ABOUT_PATCHES, DROID, PATCH_NEARLY, changes_listed
from .base.patch_tool import PatchTool
from .base.refusals import Refusals
from .base.spelling import Spelling, means, native_only
from .base.words import PATH, by_hand, ended_badly, lines, one_of, one_stream, picture, single, words

PATCHING = ("gpt-5*",)
EDITING = ("!gpt-5*",)
DEFERRED = "the client holds it back until it is searched for"

# ── files ────────────────────────────────────────────────────────────────────

_SHOWN = re.compile(
    r"(.*)\n\n<system-reminder>\[Showing lines (\d+)-(\d+) of \d+ total lines(, truncated[^\]]*)?\]</system-reminder>",
    re.DOTALL,
)


def _file_written(outcome: out.FileOutcome, _asked: op.ReadFile) -> str:
    if outcome.first_line == 1 and not outcome.truncated:
        return outcome.text
    last = outcome.first_line + outcome.text.count("\n")
    note = ", truncated to 60k characters" if outcome.truncated else ""
    total = last if outcome.total_lines is None else outcome.total_lines
    shown = f"[Showing lines {outcome.first_line}-{last} of {total} total lines{note}]"
    return f"{outcome.text}\n\n<system-reminder>{shown}</system-reminder>"


def _file_read(text: str, asked: op.ReadFile) -> out.FileOutcome | None:
    shown = _SHOWN.fullmatch(text)
    return None if shown is None else out.FileOutcome(asked.path, shown[1], int(shown[2]), truncated=bool(shown[4]))


def _file_kept(asked: op.Operation, native: NativeResult) -> out.Outcome | None:
    """The text of a file, which has no mark of its own: only that it is no error tells it."""
    if native.is_error is not False or not isinstance(native.content, str) or not isinstance(asked, op.ReadFile):
        return None
    return _file_read(native.content, asked) or out.FileOutcome(asked.path, native.content)


class Read(Spelling[op.ReadFile]):
    """Read a text file, or `limit` lines of it from line `offset`. An image is shown."""

    native_name = "Read"

    file_path: str = means("path", "Path of the file.")
    offset: float | None = means("first_line", "First line to read, from 1.", default=None, convert=WHOLE)
    limit: float | None = means("last_line", "Number of lines to read.", default=None, convert=whole(LINE_COUNT))
    image_quality: Literal["default", "high"] | None = native_only(
        "how far an image is scaled down is the client's own"
    )

    results = one_of(
        picture("Image file: {asked.path}"),
        by_hand(
            out.FileOutcome,
            _file_written,
            _file_read,
            nearly={
                "text": "it is told from a message by the error flag alone",
                "first_line": "a file that is read from its start has no note",
                "truncated": "it stands in a note",
                "total_lines": "the client counts an empty line after the last newline",
            },
        ),
        from_native=_file_kept,
        is_error=lambda outcome: False if isinstance(outcome, out.FileOutcome) else None,
    )


_LISTED = re.compile(r"([-dlcbps])[rwxsStT-]{9}[.+@]? +\d+ +\S+ +\S+ +(\d+) +\w+ +\d+ +[\d:]+ (.+)")
_KINDS: dict[str, Any] = {"-": "file", "d": "directory", "l": "link"}


def _listing_written(outcome: out.DirectoryOutcome, _asked: op.Operation) -> str | None:
    marks = {kind: mark for mark, kind in _KINDS.items()}
    if any(entry.kind not in marks or "\n" in entry.path or " -> " in entry.path for entry in outcome.entries):
        return None
    rows = [
        f"{marks[entry.kind]}rw-r--r-- 1 user user {entry.size or 0} Jan 1 00:00 {entry.path}"
        for entry in outcome.entries
    ]
    return "\n".join(["total 0", *rows, ""])


def _listing_read(text: str, asked: op.ListDirectory) -> out.DirectoryOutcome | None:
    head, *rows = text.removesuffix("\n").split("\n")
    found = [_LISTED.fullmatch(row) for row in rows]
    if not re.fullmatch(r"total \d+", head) or None in found:
        return None
    entries = [
        out.Entry(one[3].partition(" -> ")[0] if one[1] == "l" else one[3], _KINDS.get(one[1], "other"), int(one[2]))
        for one in found
        if one is not None and one[3] not in (".", "..")
    ]
    return out.DirectoryOutcome(asked.path, tuple(entries))


class Ls(Spelling[op.ListDirectory]):
    """List a folder."""

    native_name = "LS"

    directory_path: str = means("path", "The folder.", default=".")
    ignore_patterns: tuple[str, ...] = means(
        "ignore", "Glob patterns of entries to exclude.", default=(), name="ignorePatterns"
    )

    results = one_of(
        by_hand(
            out.DirectoryOutcome,
            _listing_written,
            _listing_read,
            nearly={"entries": "times are not read, and a size that is not known is 0"},
        )
    )


class Edited(msgspec.Struct, frozen=True):
    """What the log has of a changed file."""

    success: bool
    file_path: str
    linesAdded: int | None = None  # noqa: N815 - the native name
    linesRemoved: int | None = None  # noqa: N815 - the native name


def _edit_read(text: str, _asked: op.Operation) -> out.ChangesOutcome | None:
    try:
        said = read_json(text, type=Edited)
    except msgspec.DecodeError:
        return None
    if not said.success:
        return None
    return out.ChangesOutcome(
        (out.Change(said.file_path, "modified", added=said.linesAdded, removed=said.linesRemoved),)
    )


EDIT_RULES = EditRules(
    identical="accept",
    empty_old="fill_empty",
    file_view="all_lf",
    line_ends="majority",
    final_newline="restored",
    encoding="that_fits",
)
WRITE_RULES = EditRules(whole_file=WholeFileRules("most", "kept", "always"), encoding="that_fits")
PATCHING_RULES = EditRules(
    patch=PatchRules(
        passes=(("typography_nfc",), ("right_trim", "typography_nfc"), ("trim", "typography_nfc")),
        white_space="javascript",
        empty_last="any_line",
        missing_anchors="ignore",
        anchors="as_written_first",
        insert="cursor_or_end",
        line_ends="most",
        last_empty=True,
        at_end="preferred",
        no_change="accept",
        moves_as_is=True,
    ),
    whole_file=WholeFileRules("most", "kept", "new"),
    encoding="that_fits",
)
"""All seen with 0.215.0 on loopback."""
REFUSALS = Refusals(
    {
        "not_found": 'Cannot edit file that has not been read first. Please use the Read tool on "{path}" before '
        "attempting to edit it.",
        "no_match": "The text to replace was not found in the file. Please ensure the old_str parameter matches the "
        "exact text in the file, including whitespace and line breaks.",
        "many_matches": "Found {count} occurrences of the specified text, but change_all is false. Either:\n"
        "1. Provide more context in old_str to make it unique\n"
        "2. Set change_all to true if you want to replace all {count} occurrences",
    },
    around=("Error: Error: ", ""),
)


def _changed(sentence: str, *kinds: out.ChangeKind) -> Any:
    return single(out.ChangesOutcome, *(words(out.Change, sentence, kind=kind, path=PATH) for kind in kinds))


class Edit(Spelling[op.EditFile]):
    """Replace a piece of text in a file. It must occur exactly once, unless `change_all` is set."""

    native_name = "Edit"
    families = EDITING
    edit_rules = EDIT_RULES
    refusals = REFUSALS
    approximated = {"edits": "a text is matched, not whole lines"}

    file_path: str = means("path", "Path of the file.")
    old_str: str = means("edits.old", "The exact text to replace.")
    new_str: str = means("edits.new", "What to put in its place.")
    change_all: bool = means("edits.everywhere", "Replace every occurrence.", default=False)

    results = one_of(
        # "unchanged": so it is said of an edit that puts a text in its own place (0.215.0).
        _changed("The file {path} has been updated successfully.", "modified", "unchanged"),
        formerly=(by_hand(out.ChangesOutcome, lambda _outcome, _asked: None, _edit_read, says=("changes",)),),
    )


def _created(text: str, _asked: op.Operation) -> out.DoneOutcome | None:
    try:
        return out.DoneOutcome(text) if read_json(text, type=Edited).success else None
    except msgspec.DecodeError:
        return None


class Create(Spelling[op.WriteFile]):
    """Write a whole file; an existing one is replaced."""

    native_name = "Create"
    families = EDITING
    edit_rules = WRITE_RULES

    file_path: str = means("path", "Path of the file.")
    content: str = means("content", "The whole new content.")

    # 0.215.0 says so of a file that was there before, too.
    results = one_of(
        _changed("The file {path} has been created successfully.", "created", "modified", "unchanged"),
        formerly=(by_hand(out.DoneOutcome, lambda _outcome, _asked: None, _created, says=("note",)),),
    )


class PatchedFile(msgspec.Struct, frozen=True):
    """What the log has of one file of a patch."""

    file_path: str
    display_operation: str
    moved_to: str | None = None


class Patched(msgspec.Struct, frozen=True):
    """What the log has of a patch."""

    success: bool
    files: tuple[PatchedFile, ...]


_PATCHED = "Success. Applied changes to the following files:"
_LETTERS = {"created": "A", "modified": "M", "unchanged": "M", "moved": "M", "deleted": "D"}
_SAID: dict[str, out.ChangeKind] = {"A": "created", "M": "modified", "D": "deleted"}
_ROW = re.compile(r"[AMD] .+")
_OPERATIONS: dict[str, Any] = {"create": "created", "update": "modified", "delete": "deleted"}


class ApplyPatch(PatchTool):
    __doc__ = ABOUT_PATCHES
    native_name = "ApplyPatch"
    families = PATCHING
    edit_rules, form = PATCHING_RULES, DROID
    refusals = Refusals({"no_match": "Failed to apply patch: PatchApplicationError: Invalid context"}, ("Error: ", ""))
    approximated = {
        "WriteFile.content": "a last line without an end gets one in a new file",
        "EditFile.edits": PATCH_NEARLY["EditFile.edits"],
    }

    # The last line of a file that is replaced gets no end (0.215.0): an empty line after it says one.

    def to_operations(self) -> tuple[op.Operation, ...]:
        return tuple(
            op.WriteFile(one.path, one.content.removesuffix("\n")) if isinstance(one, op.WriteFile) else one
            for one in super().to_operations()
        )

    @classmethod
    def from_operation(cls, operation: op.WriteFile | op.EditFile | op.DeleteFile | op.MoveFile) -> Any:
        if isinstance(operation, op.WriteFile):
            operation = msgspec.structs.replace(operation, content=f"{operation.content}\n")
        return super().from_operation(operation)

    # Methods: one list is the result of all operations of a patch.

    def from_outcomes(
        self, operations: tuple[op.Operation, ...], outcomes: tuple[out.Outcome, ...]
    ) -> tuple[Content, bool | None]:
        changes = [change for one in outcomes if isinstance(one, out.ChangesOutcome) for change in one.changes]
        if len(changes) != len(outcomes):
            return tell_all(operations, outcomes), None
        moved = {change.path for change in changes if change.moved_to}
        lines = [
            f"{_LETTERS[change.kind]} {change.path}" + (f" -> {change.moved_to}" if change.moved_to else "")
            for change in changes
            if change.moved_to or change.path not in moved
        ]
        return "\n".join([_PATCHED, *lines]), None

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        text = text_of(native.content)
        head, *rows = text.split("\n")
        if head == _PATCHED and rows and all(map(_ROW.fullmatch, rows)):
            told = [(_SAID[row[0]], row[2:].rpartition(" -> ")[2]) for row in rows]
            return changes_listed(operations, told)
        try:
            said = read_json(text, type=Patched)
        except msgspec.DecodeError:
            return tuple(super(ApplyPatch, self).to_outcome(operation, native) for operation in operations)
        listed = [(_OPERATIONS.get(one.display_operation, "modified"), one.file_path) for one in said.files]
        return changes_listed(operations, listed, lambda _path: (None, None))


# ── searching ────────────────────────────────────────────────────────────────


class Glob(Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern."""

    native_name = "Glob"
    unsaid = {
        "case_sensitive": "there is no parameter for it",
        "respect_ignore": "ignored files are always left out",
        "limit": "the client has one limit for all lists",
    }

    patterns: str | tuple[str, ...] = means("pattern", "The glob pattern, or several, e.g. `src/**/*.ts`.")
    exclude_patterns: str | tuple[str, ...] | None = native_only(
        "files are only chosen, never left out", name="excludePatterns"
    )
    folder: str | None = means("path", "The folder to look in.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        patterns = (self.patterns,) if isinstance(self.patterns, str) else self.patterns
        if not patterns:
            raise ValueError("there is no pattern")
        return tuple(op.FindFiles(pattern, "." if self.folder is None else self.folder) for pattern in patterns)

    @classmethod
    def from_operation(cls, operation: op.FindFiles) -> Glob:
        return cls(patterns=operation.pattern, folder=None if operation.path == "." else operation.path)

    results = one_of(words(out.PathsOutcome, "{paths}", paths=lines(empty="No files found")))

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        """One list for all patterns: which file is of which is not said, so of several it stays text."""
        found = self.to_outcome(operations[0], native)
        if len(operations) > 1 and isinstance(found, out.PathsOutcome) and found.paths:
            found = out.TextOutcome(text_of(native.content))
        return (found,) * len(operations)


_NO_FILES, _NO_MATCHES = "No matching files found", "No matches found"


def _matches_written(outcome: out.MatchesOutcome, _asked: op.SearchText) -> str | None:
    if outcome.mode == "count":
        return None
    if not outcome.matches:
        return _NO_FILES if outcome.mode == "files" else _NO_MATCHES
    return "\n".join(by_mode(outcome.matches, outcome.mode, as_ripgrep))


def _matches_read(text: str, asked: op.SearchText) -> out.MatchesOutcome | None:
    if text in (_NO_FILES, _NO_MATCHES):
        return out.MatchesOutcome((), asked.mode)
    rows = text.split("\n")
    if asked.mode == "files" and not all(row.startswith(("./", "/")) or (row and " " not in row) for row in rows):
        return None  # a sentence, not a path
    matches = read_by_mode(rows, asked.mode, lambda shown: from_ripgrep(shown, asked.before))
    return None if matches is None else out.MatchesOutcome(matches, asked.mode)


class Grep(Spelling[op.SearchText]):
    """Search file contents with a regular expression (ripgrep's)."""

    native_name = "Grep"
    unsaid = {
        "exclude": "files are only chosen, never left out",
        "only_matching": "whole lines are given",
        "offset": "results start at the first",
        "limit_per_file": "results are cut as a whole",
        "respect_ignore": "ignored files are always left out",
    }
    approximated = {"mode": "matches are not counted"}

    pattern: str = means("pattern", "The regular expression.")
    path: str = means("path", "The file or folder to search in.", default=".")
    glob_pattern: str | None = means("include", "Only files that match this glob.", default=None)
    output_mode: Literal["file_paths", "content"] | None = means(
        "mode", "What to return: the files that contain a match (the default), or the matching lines.", default=None
    )
    case_insensitive: bool | None = means("case_sensitive", "Case-insensitive search.", default=None)
    type: str | None = means("file_type", "Only files of this type: `py`, `rust`.", default=None)
    context_before: float | None = means("before", "Lines to show before each match.", default=None)
    context_after: float | None = means("after", "Lines to show after each match.", default=None)
    context: float | None = means(None, "Lines to show before and after each match.", default=None)
    line_numbers: bool | None = means("line_numbers", "Show line numbers.", default=None)
    head_limit: float | None = means("limit", "Maximum number of results.", default=None)
    multiline: bool = means("multiline", "Let matches span lines.", default=False)
    fixed_string: bool = means(
        "literal", "Treat the pattern as plain text, not as a regular expression.", default=False
    )

    def to_operations(self) -> tuple[op.Operation, ...]:
        around = whole_number(self.context)
        before, after = whole_number(self.context_before), whole_number(self.context_after)
        return (
            op.SearchText(
                self.pattern,
                self.path,
                include=self.glob_pattern,
                file_type=self.type,
                mode="content" if self.output_mode == "content" else "files",
                case_sensitive=INVERTED.to(self.case_insensitive),
                literal=self.fixed_string,
                multiline=self.multiline,
                before=around if before is None else before,
                after=around if after is None else after,
                line_numbers=self.line_numbers,
                limit=whole_number(self.head_limit),
            ),
        )

    @classmethod
    def from_operation(cls, operation: op.SearchText) -> Grep | None:
        if operation.mode == "count":
            return None
        around = operation.before if operation.before == operation.after else None
        return cls(
            pattern=operation.pattern,
            path=operation.path,
            glob_pattern=operation.include,
            output_mode="content" if operation.mode == "content" else None,
            case_insensitive=INVERTED.back(operation.case_sensitive),
            type=operation.file_type,
            context_before=WHOLE.back(operation.before) if around is None else None,
            context_after=WHOLE.back(operation.after) if around is None else None,
            context=WHOLE.back(around),
            line_numbers=operation.line_numbers,
            head_limit=WHOLE.back(operation.limit),
            multiline=operation.multiline,
            fixed_string=operation.literal,
        )

    results = one_of(
        by_hand(
            out.MatchesOutcome,
            _matches_written,
            _matches_read,
            nearly={"mode": "it is that of the call; counts are not given"},
        ),
    )


# ── commands ─────────────────────────────────────────────────────────────────

_SILENT = "Command completed successfully"
_ENDED = re.compile(
    r"(?:Error: (?:Command failed \(exit code: -?\d+\)|Command not found\.[^\n]*)\n)?(.*)\n\n"
    r"\[Process exited with code (-?\d+)\]",
    re.DOTALL,
)
_LATE = re.compile(
    r"Command timed out after [0-9.]+ seconds\.[^\n]*(?:\n\nPartial output before timeout:\n(.*))?", re.DOTALL
)
_LEFT = re.compile(r"Background process started \(PID: (\d+)\)\n.*?^Output: ([^\n]+)\n.*", re.DOTALL | re.MULTILINE)
_SKIPPED = re.compile(r"(.*)\n\nFull command output saved to: (\S+)[^\n]*(?:\n.*)?", re.DOTALL)


def _command_written(outcome: out.CommandOutcome, asked: op.Operation) -> str | None:
    printed = outcome.output or ""
    if outcome.running:
        if (
            outcome.job is None
            or not outcome.job.isdecimal()
            or outcome.output_path is None
            or "\n" in outcome.output_path
        ):
            return None
        head = f"Background process started (PID: {outcome.job})"
        return f"{head}\nOutput: {outcome.output_path}\nStatus: Running in background"
    if outcome.timed_out:
        limit = (getattr(asked, "timeout_ms", None) or 60_000) / 1000
        return f"Command timed out after {limit:g} seconds.\n\nPartial output before timeout:\n{printed}"
    if outcome.exit_code is None:
        return None
    lead = f"Error: Command failed (exit code: {outcome.exit_code})\n" if outcome.exit_code else ""
    shown = f"{printed}\n" if printed else _SILENT if not lead else "\n"
    return f"{lead}{shown}\n\n[Process exited with code {outcome.exit_code}]"


def _command_read(text: str, _asked: op.Operation) -> out.CommandOutcome | None:
    ended, late, left = _ENDED.fullmatch(text), _LATE.fullmatch(text), _LEFT.fullmatch(text)
    if ended is not None:
        printed = ended[1].removesuffix("\n")
        saved = _SKIPPED.fullmatch(printed)
        if saved is not None:
            return out.CommandOutcome(int(ended[2]), output=saved[1], output_path=saved[2])
        return out.CommandOutcome(int(ended[2]), output="" if printed == _SILENT else printed)
    if late is not None:
        return out.CommandOutcome(output=late[1] or "", timed_out=True)
    if left is not None:
        return out.CommandOutcome(running=True, job=left[1], output_path=left[2])
    return None


class Execute(Spelling[op.RunCommand]):
    """Run a command line; with `fireAndForget`, in the background."""

    native_name = "Execute"
    approximated = {"purpose": "a summary is required: without a purpose it is that a command is run"}
    unsaid = {"wait_ms": "a background command is left at once", "job": "a background command is known by its process"}

    summary: str = means(
        "purpose",
        "What the command does, in three to eight words, starting with a capital letter.",
        convert=Conversion(to=lambda said: said or None, back=lambda ours: ours or "Run a command"),
    )
    command: str = means("command", "The command line.")
    timeout: float | None = means("timeout_ms", "Timeout in seconds; default 60.", default=None, convert=SECONDS)
    fire_and_forget: bool = means(
        "background", "Run the command in the background.", default=False, name="fireAndForget"
    )
    risk_level: Literal["high", "medium", "low"] | None = native_only(
        "how dangerous a command is, is for the client to ask", name="riskLevel"
    )
    risk_level_reason: str | None = native_only(
        "how dangerous a command is, is for the client to ask", name="riskLevelReason"
    )

    results = one_of(
        by_hand(
            out.CommandOutcome,
            _command_written,
            _command_read,
            nearly={
                "exit_code": "a command that was not waited for has none",
                "output": "the newline at its end is the client's",
                "running": "a command that is left running has a process and a file for its output",
                "job": "it is the number of the process",
                "timed_out": "it is said of a command that was ended",
                "output_path": "it is named for a command that is left running, or whose output was cut",
            },
        ),
        back=one_stream,
        is_error=ended_badly,
        unsaid={"signal": "it is said in the words of an error"},
    )


# ── agents ───────────────────────────────────────────────────────────────────


class Task(Spelling[op.SpawnAgent]):
    """Give a task to another agent; with `await`, wait for its answer."""

    native_name = "Task"
    unless_said = {"background": False}
    approximated = {
        "description": "a description is required, so an empty one says nothing",
        "agent": "a type is required: without one it is the worker",
        "background": "an answer is waited for, unless it is not to be",
    }

    subagent_type: str = means(
        "agent", "The agent's type.", convert=Conversion(lambda given: given, lambda ours: ours or "worker")
    )
    description: str = means("description", "The task in a few words.", convert=EMPTY_IS_UNSAID)
    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    image_paths: tuple[str, ...] | None = native_only("a task is text")
    complexity: Literal["light", "medium", "heavy"] | None = native_only(
        "how hard a task is, is for the client to weigh"
    )
    waits: bool = means(
        "background",
        "Wait for the answer.",
        default=False,
        name="await",
        convert=Conversion(to=lambda waits: not waits, back=lambda background: background is not True),
    )
    resume: str | None = means("continues", "Id of an earlier agent to continue.", default=None)


class TaskOutput(Spelling[op.WaitForAgent]):
    """Wait for an agent and get its answer."""

    native_name = "TaskOutput"
    approximated = {"agents": "exactly one is waited for"}
    unsaid = {"since_turn": "what an agent said last is what is given"}

    task_id: str = means("agents", "Id of the agent.")
    block: bool | None = means("block", "Wait until the agent has finished (the default).", default=None)
    timeout: float | None = means("timeout_ms", "Milliseconds to wait.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.WaitForAgent((self.task_id,), whole_number(self.timeout), self.block),)

    @classmethod
    def from_operation(cls, operation: op.WaitForAgent) -> TaskOutput | None:
        if len(operation.agents) != 1:
            return None
        return cls(task_id=operation.agents[0], block=operation.block, timeout=WHOLE.back(operation.timeout_ms))


class TaskStop(Spelling[op.StopAgent]):
    """Stop an agent."""

    native_name = "TaskStop"

    task_id: str = means("agent", "Id of the agent.")


# ── tools, people, the web ───────────────────────────────────────────────────

_LOADED = re.compile(r"(?:Already loaded|Loaded) \d+ tool\(s\): ([^\n.]*)\.?")


def _tools_read(text: str, _asked: op.Operation) -> out.ToolsOutcome | None:
    names = [name for found in _LOADED.findall(text) for name in found.split(", ") if name]
    return out.ToolsOutcome(tuple(names)) if names or text.startswith("Not found: ") else None


def _tools_written(outcome: out.ToolsOutcome, asked: op.SearchTools) -> str | None:
    if outcome.definitions or any(not re.fullmatch(r"[\w-]+", name) for name in outcome.names):
        return None
    if not outcome.names:
        return f"Not found: {asked.query.removeprefix('select:')}"
    return f"Loaded {len(outcome.names)} tool(s): {', '.join(outcome.names)}"


class ToolSearch(Spelling[op.SearchTools]):
    """Search for tools that were not offered up front: by keywords, or by name with `select:`."""

    native_name = "ToolSearch"

    query: str = means("query", "Keywords, or `select:` followed by comma-separated names.")
    max_results: int | None = means("limit", "Maximum number of results.", default=None)

    results = one_of(
        by_hand(
            out.ToolsOutcome, _tools_written, _tools_read, nearly={"names": "tools with definitions have other words"}
        ),
    )


class Skill(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "Skill"

    skill: str = means("name", "Name of the skill.")


class GenerateImage(Spelling[op.GenerateImage]):
    """Generate an image from a description."""

    native_name = "GenerateImage"
    unsaid = {"size": "there is no parameter for it", "format": "there is no parameter for it"}

    prompt: str = means("prompt", "The description.")
    input_image_paths: tuple[str, ...] | None = native_only("an image is made from words alone")


class FetchUrl(Spelling[op.FetchPage]):
    """Fetch a web page."""

    native_name = "FetchUrl"
    on_request = DEFERRED
    unsaid = {"format": "the text of the page comes back"}

    url: str = means("url", "URL of the page.")


class WebSearch(Spelling[op.SearchWeb]):
    """Search the web."""

    native_name = "WebSearch"
    on_request = DEFERRED
    unsaid = {
        "allowed_domains": "there is no parameter for it",
        "blocked_domains": "there is no parameter for it",
    }

    query: str = means("query", "What to search for.")
    num_results: int | None = means("limit", "Maximum number of results.", default=None, name="numResults")
    text: bool | None = native_only("how much of a page is shown is the client's own")


_TODO = re.compile(r"\d+\. \[(pending|in_progress|completed)\] (.*)")


class TodoWrite(Spelling[op.UpdatePlan]):
    """Replace the list of things to do, a text of lines such as `1. [pending] Run the tests`."""

    native_name = "TodoWrite"
    read_only = "no model was offered it when the client was captured"

    todos: str

    def to_operations(self) -> tuple[op.Operation, ...]:
        found = [_TODO.fullmatch(line) for line in self.todos.split("\n") if line.strip()]
        if None in found:
            raise ValueError("a line of it is no item")
        return (op.UpdatePlan(tuple(op.PlanItem(one[2], one[1]) for one in found if one)),)  # type: ignore[arg-type]


# ── failures ─────────────────────────────────────────────────────────────────


class DroidFailures(FailuresInWords):
    """Failures by their words; a command that ended badly is flagged as an error and is none."""

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """As for all, but that a command tells its own end."""
        ran = any(isinstance(operation, op.RunCommand) for operation in call.operations)
        if ran and _ENDED.fullmatch(text_of(native.content)) is not None:
            return None
        return super().understand(call, native)

    def kind(self, message: str) -> out.FailureKind:
        """As for all, without the word that stands before every error."""
        return super().kind(re.sub(r"\A(?:Error: )+", "", message))


FAILURES = DroidFailures(
    (
        (r"Not found: |Tool \S+ is registered but is not available", "unknown_tool"),
        (r"\S+ is required and must be|Invalid arguments|Failed to extract any file entries", "invalid_arguments"),
        (r"Tool \S+ is not permitted|Exec ended early: insufficient permission|The user rejected", "denied"),
        (r"Command terminated by signal|(?s:.*)\bcancelled\b", "cancelled"),
        (r"(?s:.*)\btimed out\b", "timed_out"),
    ),
    {
        "unknown_tool": "Error: Not found: {tool}. {message}",
        "invalid_arguments": "Error: Invalid arguments: {message}",
        "denied": "Error: Tool {tool} is not permitted in this exec session. {message}",
        "cancelled": "Error: The call was cancelled: {message}",
        "timed_out": "Error: The tool timed out: {message}",
    },
)

DIALECT = Dialect(
    "droid",
    (
        Read,
        Ls,
        Execute,
        Edit,
        ApplyPatch,
        Grep,
        Glob,
        Create,
        TaskOutput,
        TaskStop,
        ToolSearch,
        Skill,
        GenerateImage,
        Task,
        FetchUrl,
        WebSearch,
        TodoWrite,
    ),
    steering=(
        Steer("slack_post_file", "a service of the client's own"),
        Steer("GenerateDroid", "agents of the client's own are made with it"),
        Steer("Loop", "schedules are the client's own"),
    ),
    mcp=(McpNames("{server}___{tool}"),),
    failures=FAILURES,
    captured=("0.215.0",),
    default_family="claude-sonnet-4-5",
    unspoken={
        op.UpdatePlan: "no model was offered a list of things to do",
        op.ReadPlan: "no model was offered a list of things to do",
        op.MessageAgent: "an agent that ended is given another task",
        op.ResumeAgent: "an agent that ended is given another task",
        op.ListAgents: "the client tells which agents are running",
        op.ReadMcpResource: "the client has no tool for resources",
        op.ListMcpResources: "the client has no tool for resources",
    },
)
