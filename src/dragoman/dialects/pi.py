"""pi's vocabulary (0.74): seven small tools, four of them always offered, in the words its models know."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult

from .base.default_words import FailuresInWords, as_called, tell, text_of, understand, up_to_here
from .base.dialect import Dialect
from .base.spelling import (
    SECONDS,
    WHOLE,
    Content,
    Conversion,
    Spelling,
    Tells,
    means,
    native_only,
    sayable_number,
    whole_number,
)

BY_NAME = "the client offers it only when it is started with it"


INVERTED = Conversion(
    to=lambda ignore: None if ignore is None else not ignore,
    back=lambda heed: None if heed is None else not heed,
)
"""`ignoreCase` is our `case_sensitive`, the other way round."""


# ── reading files ────────────────────────────────────────────────────────────


class Read(Spelling[op.ReadFile]):
    """Read a text file, or `limit` of its lines from line `offset`; an image comes back as it is."""

    native_name = "read"
    unsaid = {"pages": "there is no parameter for the pages of a document"}

    path: str = means("path", "Path of the file.")
    offset: float | None = means("first_line", "First line to read, from 1.", default=None)
    limit: float | None = means("last_line", "How many lines to read.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        first, count = whole_number(self.offset), whole_number(self.limit)
        return (op.ReadFile(self.path, first, None if count is None else (first or 1) + count - 1),)

    @classmethod
    def from_operation(cls, operation: op.ReadFile) -> Read | None:
        first, last = operation.first_line, operation.last_line
        try:
            limit = None if last is None else sayable_number(last - (first or 1) + 1)
            return cls(path=operation.path, offset=sayable_number(first), limit=limit)
        except ValueError:
            return None

    tells: ClassVar[Tells] = {out.FileOutcome: ("text", "first_line", "truncated")}
    _CUT = re.compile(
        r"(.*)\n\n\[Showing lines (\d+)-(\d+) of (more than )?(\d+)(?: \([^)]*\))?\. "
        r"Use offset=\d+ to continue\.\]",
        re.DOTALL,
    )
    _MORE = re.compile(r"(.*)\n\n\[(\d+) more lines in file\. Use offset=(\d+) to continue\.\]", re.DOTALL)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if isinstance(outcome, out.ImageOutcome):
            return (f"Read image file [{outcome.image.media_type}]", outcome.image)
        if not isinstance(outcome, out.FileOutcome):
            return tell(operation, outcome)
        outcome = up_to_here(operation, outcome)
        last = outcome.first_line + outcome.text.count("\n")
        total = outcome.total_lines
        more = total is not None and total > last
        if outcome.truncated:
            counted = f"{total}" if more else f"more than {last}"
            note = f"Showing lines {outcome.first_line}-{last} of {counted}. Use offset={last + 1} to continue."
            return f"{outcome.text}\n\n[{note}]"
        if total is not None and total > last:
            return f"{outcome.text}\n\n[{total - last} more lines in file. Use offset={last + 1} to continue.]"
        return outcome.text

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        if not isinstance(native.content, str):
            images = [piece for piece in native.content if isinstance(piece, out.Media)]
            return out.ImageOutcome(images[0]) if len(images) == 1 else understand(operation, native)
        assert isinstance(operation, op.ReadFile)
        text, first = native.content, operation.first_line or 1
        if cut := self._CUT.fullmatch(text):
            total = None if cut[4] else int(cut[5])
            return out.FileOutcome(operation.path, cut[1], int(cut[2]), total, truncated=True)
        if more := self._MORE.fullmatch(text):
            return out.FileOutcome(operation.path, more[1], first, int(more[3]) - 1 + int(more[2]))
        return out.FileOutcome(operation.path, text, first)


# ── changing files ───────────────────────────────────────────────────────────


class Write(Spelling[op.WriteFile]):
    """Write a whole file; an existing one is replaced, folders that are missing are made."""

    native_name = "write"
    unsaid = {"overwrite": "an existing file is always replaced"}

    path: str = means("path", "Path of the file.")
    content: str = means("content", "The whole new content.")

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if isinstance(outcome, out.DoneOutcome) and outcome.note:
            return outcome.note
        if (
            not isinstance(outcome, out.ChangesOutcome)
            or not outcome.changes
            or outcome.changes[0].kind not in ("created", "modified")
        ):
            return tell(operation, outcome)
        size = len(self.content.encode("utf-8", "surrogatepass"))
        return f"Successfully wrote {size} bytes to {self.path}"

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        # Whether the file was there before is not said, so neither "created" nor "modified" would be true.
        text = text_of(native.content)
        return out.DoneOutcome(text) if text.startswith("Successfully wrote ") else understand(operation, native)


class Replacement(msgspec.Struct, frozen=True):
    """One piece of text and what takes its place."""

    oldText: str  # noqa: N815 - the native name
    newText: str  # noqa: N815 - the native name


_REPLACED = re.compile(
    r"Successfully replaced (?:(?P<count>\d+) block\(s\)|text) in (?P<path>.*?)\."
    r"(?: Changed \d+ characters to \d+ characters\.)?",
    re.DOTALL,
)
"""What is said of an edit; versions of 2025 counted characters, not blocks."""


class EditingFiles:
    """How edits are told: how many blocks were replaced in which file."""

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.ChangesOutcome) or len(outcome.changes) != 1:
            return tell(operation, outcome)
        change = outcome.changes[0]
        if change.kind != "modified" or not isinstance(operation, op.EditFile):
            return tell(operation, outcome)
        count = len(operation.edits) if change.replacements is None else change.replacements
        return f"Successfully replaced {count} block(s) in {as_called(operation, change.path)}."

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        found = _REPLACED.fullmatch(text_of(native.content))
        if found is None:
            return understand(operation, native)
        added, removed = _counted(native.item)
        count = None if found["count"] is None else int(found["count"])
        change = out.Change(found["path"], "modified", added=added, removed=removed, replacements=count)
        return out.ChangesOutcome((change,))


def _counted(item: Any) -> tuple[int | None, int | None]:
    """Lines added and removed, by the numbered difference the log keeps beside the result."""
    details = item.get("details") if isinstance(item, dict) else None
    difference = details.get("diff") if isinstance(details, dict) else None
    if not isinstance(difference, str):
        return None, None
    return len(re.findall(r"^\+ *\d", difference, re.MULTILINE)), len(re.findall(r"^- *\d", difference, re.MULTILINE))


class Edit(EditingFiles, Spelling[op.EditFile]):
    """Replace one or several pieces of text in a file; each must stand there exactly once, none within another."""

    native_name = "edit"
    approximated = {"edits": "a text is matched, not whole lines, and in the file as it was before the first edit"}
    unsaid = {"purpose": "there is no parameter for it"}

    path: str = means("path", "Path of the file.")
    edits: tuple[Replacement, ...] = means("edits", "The exact texts and what takes their place.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.EditFile(self.path, tuple(op.Edit(edit.oldText, edit.newText) for edit in self.edits)),)

    @classmethod
    def from_operation(cls, operation: op.EditFile) -> Edit | None:
        edits = operation.edits
        if not edits or any(not edit.old or edit.everywhere or (edit.expected or 1) != 1 for edit in edits):
            return None  # a text that must be found elsewhere than in one place is never found so
        return cls(path=operation.path, edits=tuple(Replacement(edit.old or "", edit.new) for edit in edits))


class EditOnce(EditingFiles, Spelling[op.EditFile]):
    """Replace a piece of text in a file, said flat."""

    native_name = "edit"
    read_only = "an older form that is still understood"

    path: str
    oldText: str  # noqa: N815 - the native name
    newText: str  # noqa: N815 - the native name

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.EditFile(self.path, (op.Edit(self.oldText, self.newText),)),)


# ── commands ─────────────────────────────────────────────────────────────────

_STATE = re.compile(
    r"(?P<output>.*?)(?:\n\n|\A)Command (?:exited with code (?P<code>-?\d+)"
    r"|(?P<timed>timed out)(?: after [\d.]+ seconds)?"
    r"|was ended by signal (?P<signal>\d+)|is still running(?: as job (?P<job>.+))?)",
    re.DOTALL,
)
_SHOWN = re.compile(r"(.*)\n\n\[Showing [^\n]*\. Full output: ([^\n]*)\]", re.DOTALL)
_NOTHING = "(no output)"


class Bash(Spelling[op.RunCommand]):
    """Run a command line with bash in the working folder; both output streams come back as one."""

    native_name = "bash"
    unsaid = {
        "cwd": "it runs in the working folder",
        "purpose": "there is no parameter for it",
        "background": "a command is left running with `&`",
        "wait_ms": "a command is always waited for",
        "job": "commands have no names",
        "shell": "it is always bash",
        "login": "it is never a login shell",
        "terminal": "there is never a terminal",
        "output_limit": "the client has one limit for all output",
        "unsandboxed": "there is no sandbox",
    }

    command: str = means("command", "The command line.")
    timeout: float | None = means("timeout_ms", "Seconds it may take.", default=None, convert=SECONDS)

    tells: ClassVar[Tells] = {out.CommandOutcome: ("exit_code", "signal", "running", "timed_out", "job")}

    def from_outcomes(
        self, operations: tuple[op.Operation, ...], outcomes: tuple[out.Outcome, ...]
    ) -> tuple[Content, bool | None]:
        """A command that did not end well is flagged as an error, though it ran."""
        (outcome,) = outcomes
        if not isinstance(outcome, out.CommandOutcome):
            return tell(operations[0], outcome), None
        printed = outcome.output if outcome.output is not None else (outcome.stdout or "") + (outcome.stderr or "")
        state = self._state(outcome)
        if outcome.output_path is not None:
            printed = f"{printed}\n\n[Showing the end. Full output: {outcome.output_path}]"
        printed = printed or _NOTHING
        return (printed, False) if state is None else (f"{printed}\n\nCommand {state}", not outcome.running)

    def _state(self, outcome: out.CommandOutcome) -> str | None:
        if outcome.timed_out:
            return "timed out" if self.timeout is None else f"timed out after {self.timeout:g} seconds"
        if outcome.running:
            return "is still running" + ("" if outcome.job is None else f" as job {outcome.job}")
        if outcome.signal is not None:
            return f"was ended by signal {outcome.signal}"
        return f"exited with code {outcome.exit_code}" if outcome.exit_code else None

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        state = _STATE.fullmatch(text)
        printed = state["output"] if state else text
        shown = _SHOWN.fullmatch(printed)
        printed, saved = (shown[1], shown[2]) if shown else (printed, None)
        printed = "" if printed == _NOTHING else printed
        if state is None:
            return out.CommandOutcome(0, output=printed, output_path=saved)
        return out.CommandOutcome(
            int(state["code"]) if state["code"] else None,
            output=printed,
            signal=int(state["signal"]) if state["signal"] else None,
            running=not (state["code"] or state["signal"] or state["timed"]),
            timed_out=bool(state["timed"]),
            job=state["job"],
            output_path=saved,
        )


class Powershell(Bash):
    """Run a command line with PowerShell."""

    native_name = "powershell"
    read_only = "it is offered on Windows alone"
    always = {"shell": "powershell"}
    unsaid = {name: reason for name, reason in Bash.unsaid.items() if name != "shell"}


class Codemode(Spelling[op.RunCode]):
    """Run a program in JavaScript that calls the other tools."""

    native_name = "codemode"
    read_only = "a tool of later versions than the one captured"

    code: str
    timeout: float | None = native_only("how long a program may take is no part of it")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.RunCode(self.code, "javascript"),)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        if not isinstance(native.content, str):
            return understand(operation, native)
        return out.CommandOutcome(output="" if native.content == "(no return value)" else native.content)


# ── searching ────────────────────────────────────────────────────────────────


def _limited(text: str, count: int, unit: str, *, cut: bool) -> str:
    return f"{text}\n\n[{count} {unit} limit reached]" if cut else text


def _unlimited(text: str) -> tuple[str, bool]:
    """The text without its note that there is more, and whether it had one."""
    found = re.fullmatch(r"(.*)\n\n\[[^\n]*limit[^\n]*\]", text, re.DOTALL)
    return (found[1], True) if found else (text, False)


_MATCHED = re.compile(r"(.+?)(?::(\d+):|-(\d+)-)(?: (.*))?")


class Grep(Spelling[op.SearchText]):
    """Search file contents with a regular expression; ignored files are passed over."""

    native_name = "grep"
    on_request = BY_NAME
    approximated = {
        "before": "one number counts the lines before and after a match",
        "after": "one number counts the lines before and after a match",
    }
    unsaid = {
        "exclude": "files are only chosen, never left out",
        "file_type": "files are chosen by glob",
        "mode": "the matching lines are always given",
        "multiline": "a match is within a line",
        "only_matching": "whole lines are given",
        "line_numbers": "lines always have their numbers",
        "offset": "results start at the first",
        "limit_per_file": "results are cut as a whole",
        "respect_ignore": "ignored files are always left out",
    }

    pattern: str = means("pattern", "The regular expression.")
    path: str = means("path", "The folder or file to search in.", default=".")
    glob: str | None = means("include", "Only files that match this glob.", default=None)
    ignoreCase: bool | None = means("case_sensitive", "Whether case is ignored.", default=None)  # noqa: N815 - native
    literal: bool = means("literal", "Take the pattern as plain text.", default=False)
    context: float | None = means("before", "Lines to show before and after each match.", default=None)
    limit: float | None = means("limit", "At most so many matches.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        around = whole_number(self.context)
        return (
            op.SearchText(
                self.pattern,
                self.path,
                include=self.glob,
                case_sensitive=INVERTED.to(self.ignoreCase),
                literal=self.literal,
                before=around,
                after=around,
                limit=whole_number(self.limit),
            ),
        )

    @classmethod
    def from_operation(cls, operation: op.SearchText) -> Grep:
        around = [count for count in (operation.before, operation.after) if count is not None]
        return cls(
            pattern=operation.pattern,
            path=operation.path,
            glob=operation.include,
            ignoreCase=INVERTED.back(operation.case_sensitive),
            literal=operation.literal,
            context=max(around, default=None),
            limit=operation.limit,
        )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.MatchesOutcome) or outcome.mode != "content":
            return tell(operation, outcome)
        if not outcome.matches:
            return "No matches found"
        lines = [line for match in outcome.matches for line in _match_lines(match)]
        return _limited("\n".join(lines), len(outcome.matches), "matches", cut=outcome.truncated)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        body, cut = _unlimited(text_of(native.content))
        if body == "No matches found":
            return out.MatchesOutcome(())
        matches = _matches_in(body.split("\n"), whole_number(self.context))
        return understand(operation, native) if matches is None else out.MatchesOutcome(matches, truncated=cut)


def _match_lines(match: out.Match) -> list[str]:
    line = match.line or 1
    matched = (match.text or "").split("\n")
    before = [f"{match.path}-{line - len(match.before) + index}- {text}" for index, text in enumerate(match.before)]
    found = [f"{match.path}:{line + index}: {text}" for index, text in enumerate(matched)]
    after = [f"{match.path}-{line + len(matched) + index}- {text}" for index, text in enumerate(match.after)]
    return [*before, *found, *after]


def _matches_in(lines: list[str], around: int | None) -> tuple[out.Match, ...] | None:
    """Every match stands between the lines around it; `None` when a line is neither."""
    matches: list[out.Match] = []
    before: list[str] = []
    for line in lines:
        found = _MATCHED.fullmatch(line)
        if found is None:
            return None
        path, text = found[1], found[4] or ""
        last = matches[-1] if matches else None
        if found[2]:
            matches.append(out.Match(path, int(found[2]), text, tuple(before)))
            before = []
        elif last is not None and not before and _follows(last, path, int(found[3]), around):
            matches[-1] = msgspec.structs.replace(last, after=(*last.after, text))
        else:
            before.append(text)
    return None if before else tuple(matches)


def _follows(match: out.Match, path: str, line: int, around: int | None) -> bool:
    within = around is None or len(match.after) < around
    return within and match.path == path and line == (match.line or 0) + len(match.after) + 1


class Find(Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern; ignored files are passed over."""

    native_name = "find"
    on_request = BY_NAME
    unsaid = {
        "case_sensitive": "there is no parameter for it",
        "respect_ignore": "ignored files are always left out",
    }

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    path: str = means("path", "The folder to look in.", default=".")
    limit: float | None = means("limit", "At most so many files.", default=None, convert=WHOLE)

    tells: ClassVar[Tells] = {out.PathsOutcome: ("paths", "truncated")}

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PathsOutcome):
            return tell(operation, outcome)
        listed = "\n".join(outcome.paths) if outcome.paths else "No files found matching pattern"
        return _limited(listed, len(outcome.paths), "results", cut=outcome.truncated)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        body, cut = _unlimited(text_of(native.content))
        paths = () if body == "No files found matching pattern" else tuple(body.split("\n"))
        return out.PathsOutcome(paths, truncated=cut)


class Ls(Spelling[op.ListDirectory]):
    """List the files and folders directly inside a folder, hidden ones too."""

    native_name = "ls"
    on_request = BY_NAME
    unsaid = {
        "ignore": "nothing is left out",
        "depth": "only one level is listed",
        "respect_ignore": "nothing is left out",
        "prefix": "a folder is listed, whatever its files are called",
    }

    path: str = means("path", "The folder to list.", default=".")
    limit: float | None = means("limit", "At most so many entries.", default=None, convert=WHOLE)

    tells: ClassVar[Tells] = {out.DirectoryOutcome: ("path", "truncated")}

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.DirectoryOutcome):
            return tell(operation, outcome)
        names = [entry.path + ("/" if entry.kind == "directory" else "") for entry in outcome.entries]
        return _limited("\n".join(names) or "(empty directory)", len(names), "entries", cut=outcome.truncated)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        body, cut = _unlimited(text_of(native.content))
        names = [] if body == "(empty directory)" else body.split("\n")
        entries = [out.Entry(name.removesuffix("/"), "directory" if name.endswith("/") else "file") for name in names]
        return out.DirectoryOutcome(self.path, tuple(entries), cut)


# ── failures ─────────────────────────────────────────────────────────────────


class PiFailures(FailuresInWords):
    """Failures by their words; a command that ended badly is flagged as an error and is none."""

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """As for all, but that a command tells its own end."""
        ran = any(isinstance(operation, op.RunCommand) for operation in call.operations)
        if ran and _STATE.fullmatch(text_of(native.content)):
            return None
        return super().understand(call, native)


FAILURES = PiFailures(
    (
        (r"Tool .* not found", "unknown_tool"),
        (r'Validation failed for tool "', "invalid_arguments"),
        (r"Tool execution was blocked", "denied"),
        (r"(?s:.*)(?:Command|Operation) aborted$|Script aborted: ", "cancelled"),
        (r"(?s:.*)\btimed out\b", "timed_out"),
    ),
    {
        "unknown_tool": "Tool {tool} not found. {message}",
        "invalid_arguments": 'Validation failed for tool "{tool}":\n  - {message}',
        "denied": "Tool execution was blocked: {message}",
        "cancelled": "{message}\n\nOperation aborted",
        "timed_out": "The tool timed out: {message}",
    },
)


DIALECT = Dialect(
    "pi",
    (Read, Bash, Powershell, Edit, EditOnce, Write, Grep, Find, Ls, Codemode),
    failures=FAILURES,
    unspoken={
        op.FetchPage: "it is done with a shell command",
        op.Planning: "plans are kept in files",
        op.Delegating: "the client has no other agents",
        op.CallMcpTool: "the client has no MCP servers",
        op.ReadMcpResource: "the client has no MCP servers",
        op.ListMcpResources: "the client has no MCP servers",
        op.SteerClient: "the client has no tools of its own kind",
    },
)
