"""Copilot CLI's vocabulary (1.0.102): files, shells, agents, and a plan that is kept as rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, get_args

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult
from dragoman.model.json_text import read_json

from .base.default_words import FailuresInWords, tell, tell_all, text_of, understand, up_to_here
from .base.dialect import Dialect, PlanApproval, Steer
from .base.mcp_names import McpNames
from .base.patch_text import GRAMMAR, by_ends, in_whole_lines, read_patch, write_patch
from .base.spelling import (
    EMPTY_IS_UNSAID,
    SECONDS,
    Content,
    Conversion,
    Freeform,
    ResultWords,
    Spelling,
    Tells,
    means,
    native_only,
    whole_number,
)
from .base.words import (
    ANY,
    CALLED,
    PATH,
    Kind,
    Reads,
    body,
    done,
    either,
    lines,
    maybe,
    one_of,
    one_stream,
    picture,
    refusal,
    single,
    skipped,
    way,
    without,
    words,
)

PATCHING = ("gpt-5*",)
"""Models that are given `apply_patch` and `rg`, where all others have `create`, `edit` and `grep`."""
EDITING = ("!gpt-5*",)
EXTENSIONS = "which extensions are loaded is the client's to decide"
BOARD = "what its agents leave for one another is the client's to keep"
HOSTED = "the agent that works on a pull request has it, and it is for those who review"
NOT_OFFERED = "models call it, and it was not offered where the client was captured"


def _among(*values: str) -> Conversion:
    """A native choice where we hold any name: what is not among them is not said."""
    return Conversion(to=lambda value: value, back=lambda value: value if value in values else None)


def _result(native: NativeResult) -> Mapping[str, Any]:
    """What the log keeps of a result beside its text."""
    found = native.item.get("result") if isinstance(native.item, dict) else None
    return found if isinstance(found, dict) else {}


def _media(native: NativeResult) -> tuple[out.Media, ...]:
    """Pictures beside the text: in the content, or named by the log, which keeps them elsewhere."""
    if not isinstance(native.content, str):
        return tuple(piece for piece in native.content if isinstance(piece, out.Media))
    kept = _result(native).get("binaryResultsForLlm")
    named = [one for one in kept if isinstance(one, dict)] if isinstance(kept, list) else []
    return tuple(
        out.Media(
            str(one.get("mimeType")),
            one["data"] if isinstance(one.get("data"), str) else None,
            file_id=one["assetId"] if isinstance(one.get("assetId"), str) else None,
            size=one["byteLength"] if isinstance(one.get("byteLength"), int) else None,
        )
        for one in named
    )


# ── reading files ────────────────────────────────────────────────────────────


_MORE = "[more entries are not shown]"


def _names_folder(path: str) -> bool:
    return path == "." or path.endswith("/")


class View(Spelling[op.ReadFile | op.ListDirectory]):
    """Look at a file, or some lines of it; at a folder (a slash at its end); at an image."""

    native_name = "view"
    approximated = {
        "ReadFile.first_line": "a last line is only said together with a first",
        "ListDirectory.path": "a slash at its end tells a folder from a file",
    }
    unsaid = {
        "ReadFile.pages": "there is no parameter for the pages of a document",
        "ListDirectory.ignore": "nothing is left out",
        "ListDirectory.depth": "the client decides how deep it looks",
        "ListDirectory.limit": "a folder is listed whole",
        "ListDirectory.respect_ignore": "nothing is left out",
        "ListDirectory.prefix": "a folder is listed, whatever its files are called",
    }

    path: str = means("path", "Path of the file, or of the folder with a slash at its end.")
    view_range: tuple[int, ...] | None = means(
        "first_line", "The first and the last line wanted, from 1; -1 is the end.", default=None
    )
    forceReadLargeFiles: bool | None = native_only("how large a file may be is the client's to know")  # noqa: N815

    def to_operations(self) -> tuple[op.Operation, ...]:
        if self.view_range is None:
            if _names_folder(self.path):
                return (op.ListDirectory(self.path.rstrip("/") or "/"),)
            return (op.ReadFile(self.path),)
        if len(self.view_range) != 2:
            raise ValueError("view_range: give the first line and the last")
        first, last = self.view_range
        return (op.ReadFile(self.path, first, None if last == -1 else last),)

    @classmethod
    def from_operation(cls, operation: op.ReadFile | op.ListDirectory) -> View | None:
        if isinstance(operation, op.ListDirectory):
            path = operation.path
            return cls(path=path if _names_folder(path) else f"{path}/")
        first, last = operation.first_line, operation.last_line
        if last == -1 or (first is None and last is None and _names_folder(operation.path)):
            return None  # it would mean the end of the file, or a folder
        wanted = None if first is None and last is None else (first or 1, -1 if last is None else last)
        return cls(path=operation.path, view_range=wanted)

    results = one_of(
        picture("Viewed image file successfully.", _media),
        words(
            out.FileOutcome,
            "{text}",
            maybe("\n[cut here; see more with view_range]", truncated=False),
            asked=op.ReadFile,
            path=CALLED,
            first_line=CALLED,
            text=body(),
            back=up_to_here,
        ),
        words(out.DirectoryOutcome, "", asked=op.ListDirectory, path=CALLED, entries=(), truncated=False),
        words(out.DirectoryOutcome, _MORE, asked=op.ListDirectory, path=CALLED, entries=(), truncated=True),
        words(
            out.DirectoryOutcome,
            "{entries}",
            maybe(f"\n{_MORE}", truncated=False),
            asked=op.ListDirectory,
            path=CALLED,
            # Names alone are given, so what a thing is is only known where a slash says it.
            entries=lines(
                words(out.Entry, "{path}/", kind="directory"),
                words(out.Entry, "{path}", kind=Reads("other")),
            ),
        ),
        read_first=(refusal("File too large to read at once"),),
    )


# ── changing files ───────────────────────────────────────────────────────────


class StrReplaceEditor(Spelling[op.ReadFile | op.WriteFile | op.EditFile | op.InsertText]):
    """Look at a file, make one, replace a text in one, or insert lines after a line."""

    native_name = "str_replace_editor"
    read_only = "the first versions had it for what are tools of their own since"

    command: Literal["view", "create", "str_replace", "insert"] = means(None)
    path: str = means("path")
    view_range: tuple[int, ...] | None = means("first_line", default=None)
    file_text: str | None = means("content", default=None)
    old_str: str | None = means("edits", default=None)
    new_str: str | None = means("text", default=None)
    insert_line: int | None = means("line", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        match self.command:
            case "view":
                return View(path=self.path, view_range=self.view_range).to_operations()
            case "create":
                return (op.WriteFile(self.path, self.file_text or "", overwrite=False),)
            case "str_replace":
                return Edit(path=self.path, old_str=self.old_str, new_str=self.new_str).to_operations()
            case "insert":
                if self.insert_line is None:
                    raise ValueError("insert_line: name the line to insert after")
                return (op.InsertText(self.path, self.insert_line, self.new_str or ""),)


class Create(Spelling[op.WriteFile]):
    """Make a new file; one that is there is never replaced."""

    native_name = "create"
    families = EDITING
    unsaid = {"overwrite": "a file that is there is never replaced"}

    path: str = means("path", "Path of the file.")
    file_text: str = means("content", "The whole content.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.WriteFile(self.path, self.file_text, overwrite=False),)

    @classmethod
    def from_operation(cls, operation: op.WriteFile) -> Create:
        return cls(path=operation.path, file_text=operation.content)

    results = one_of(
        single(
            out.ChangesOutcome,
            words(
                out.Change,
                "Created file {path} with {_length} characters",
                kind="created",
                path=PATH,
                _length=skipped(lambda asked: str(len(asked.content)), "[0-9]++"),
            ),
        )
    )


class Edit(Spelling[op.EditFile]):
    """Replace a text that stands exactly once in a file."""

    native_name = "edit"
    families = EDITING
    approximated = {"edits": "a text is matched, not whole lines; anchors and an expected count cannot be said"}
    unsaid = {"purpose": "there is no parameter for it"}

    path: str = means("path", "Path of the file.")
    old_str: str | None = means("edits", "The exact text to replace.", default=None)
    new_str: str | None = means(None, "The text to put in its place; none takes it out.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if self.old_str is None:
            raise ValueError("old_str: name the text to replace")
        return (op.EditFile(self.path, (op.Edit(self.old_str, self.new_str or ""),)),)

    @classmethod
    def from_operation(cls, operation: op.EditFile) -> tuple[Edit, ...] | None:
        edits = operation.edits
        if not edits or any(not edit.old or edit.everywhere or (edit.expected or 1) != 1 for edit in edits):
            return None  # a text that must be found elsewhere than in one place is never found so
        return tuple(cls(path=operation.path, old_str=edit.old, new_str=edit.new) for edit in edits)

    results = one_of(
        single(
            out.ChangesOutcome,
            words(out.Change, "No changes made: old_str and new_str are the same", kind="unchanged", path=CALLED),
            words(out.Change, "File {path} updated with changes.", kind="modified", path=PATH),
        )
    )


_HEADS: dict[str, Literal["created", "modified", "deleted"]] = {
    "Added": "created",
    "Modified": "modified",
    "Deleted": "deleted",
}


class ApplyPatch(Spelling[op.WriteFile | op.EditFile | op.DeleteFile | op.MoveFile]):
    """Change files with a patch: between "*** Begin Patch" and "*** End Patch" add, update (and move) or delete files.

    A new file's lines have "+" before them. An update names its places by "@@" and a line that stands
    above, shows lines with " ", takes them out with "-" and puts them in with "+".
    """

    native_name = "apply_patch"
    families = PATCHING
    freeform = Freeform("input", "lark", GRAMMAR)
    unsaid = {
        "WriteFile.overwrite": "a file that exists is replaced",
        "EditFile.purpose": "there is no place for it in a patch",
    }
    approximated = {
        "WriteFile.content": "a patch ends every line, so a last line without an end gets one",
        "EditFile.edits": "a patch speaks of whole lines, so a text is said as if it were whole lines",
    }

    input: str = means(None, "The whole patch.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return read_patch(self.input)

    @classmethod
    def from_operation(cls, operation: op.WriteFile | op.EditFile | op.DeleteFile | op.MoveFile) -> Any:
        patches = [write_patch((part,)) for part in by_ends(in_whole_lines(operation))]
        return tuple(cls(input=patch) for patch in patches if patch) if patches and all(patches) else None

    def from_outcomes(
        self, operations: tuple[op.Operation, ...], outcomes: tuple[out.Outcome, ...]
    ) -> tuple[Content, bool | None]:
        if not all(isinstance(outcome, out.ChangesOutcome) for outcome in outcomes):
            return tell_all(operations, outcomes), None
        changes = [change for one in outcomes if isinstance(one, out.ChangesOutcome) for change in one.changes]
        moved = {change.path for change in changes if change.kind == "moved"}
        kinds: dict[str, dict[str, None]] = {}
        for change in changes:
            if change.kind == "modified" and change.path in moved:
                continue  # it is told under the path it has now
            kind = {"moved": "created", "unchanged": "modified"}.get(change.kind, change.kind)
            kinds.setdefault(kind, {})[change.moved_to or change.path] = None
        lines = [
            f"{head} {len(kinds[kind])} file(s): {', '.join(kinds[kind])}"
            for head, kind in _HEADS.items()
            if kind in kinds
        ]
        return "\n".join(lines), None

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        listed: list[tuple[str, str]] = []
        for line in text_of(native.content).split("\n"):
            found = re.fullmatch(r"(Added|Modified|Deleted) \d+ file\(s\): (.*)", line, re.DOTALL)
            if found is None:
                return tuple(understand(operation, native) for operation in operations)
            listed += [(found[1], path) for path in found[2].split(", ")]
        moved = {operation.path: operation.to for operation in operations if isinstance(operation, op.MoveFile)}
        return tuple(_changed(operation, listed, moved) for operation in operations)


def _changed(operation: op.Operation, listed: Sequence[tuple[str, str]], moved: Mapping[str, str]) -> out.Outcome:
    """A file that was moved is listed as one that was added under its new name."""
    path = str(getattr(operation, "path", ""))
    goal = moved.get(path, path)
    head = next((head for head, name in listed if _same_path(name, goal)), None)
    head = head or next((head for head, name in listed if _same_path(name, path)), None)
    if head is None:
        return out.UnknownOutcome("the result does not name this file")
    if isinstance(operation, op.MoveFile) and head == "Added":
        return out.ChangesOutcome((out.Change(path, "moved", moved_to=operation.to),))
    kind = "modified" if isinstance(operation, op.EditFile) and goal != path else _HEADS[head]
    return out.ChangesOutcome((out.Change(path, kind),))


def _same_path(one: str, other: str) -> bool:
    """Whether two names are one file's, one of them perhaps absolute."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


# ── commands ─────────────────────────────────────────────────────────────────

_NAMED = either(way("command with shellId: {job}", when_running=True), way("shellId: {job}"), way("command", job=None))
_STATE = either(
    way("timed out", timed_out=True, running=ANY),
    way("is still running{_more}", running=True),
    way("was ended by signal {signal}"),
    way("completed with exit code {exit_code}"),
    way("ended", exit_code=None),
)
_MORE_SAID = skipped("", "[^>]*")
_FOOTER = ("\n<", _NAMED, " ", _STATE, ">")
_PRINTED = words(out.CommandOutcome, "{output}", *_FOOTER, output=body(trim=True), _more=_MORE_SAID)
_STARTED = words(
    out.CommandOutcome, "<command started in background", maybe(" with shellId: {job}"), ">", running=True, output=""
)
_READ_ONLY: dict[str, Any] = {
    "read_first": (
        words(
            out.CommandOutcome,
            "Output too large to read at once ({_size}). Saved to: {output_path}\n{_about}(first {_length} chars):\n",
            "{output}",
            *_FOOTER,
            output=body(),
            _size=skipped("", "[^)]*"),
            _about=skipped("", "(?s:.*?)"),
            _length=skipped("", "[0-9]++"),
            _more=_MORE_SAID,
        ),
    ),
    # The client prints no empty line where a command printed nothing (1.0.102).
    "formerly": (words(out.CommandOutcome, "<", _NAMED, " ", _STATE, ">", output="", _more=_MORE_SAID),),
}


class Bash(Spelling[op.RunCommand]):
    """Run a command line with bash and wait for it, or leave it running in a shell of its own."""

    native_name = "bash"
    approximated = {"purpose": "it is required, so an empty one says nothing"}
    unsaid = {
        "cwd": "a shell keeps its own folder",
        "timeout_ms": "a command that takes long is left running",
        "shell": "it is always bash",
        "login": "there is no parameter for it",
        "terminal": "there is no parameter for it",
        "output_limit": "the client has one limit for all output",
        "unsandboxed": "there is no sandbox",
    }

    command: str = means("command", "The command line.")
    description: str = means("purpose", "What it is for, in a few words.", convert=EMPTY_IS_UNSAID)
    shellId: str | None = means("job", "Name of the shell to run it in.", default=None)  # noqa: N815 - the native name
    mode: Literal["sync", "async"] | None = means(
        "background",
        "Whether to wait for it.",
        default=None,
        convert=Conversion(to=lambda mode: mode == "async", back=lambda background: "async" if background else None),
    )
    detach: bool | None = native_only("that it outlives the client is the client's own promise")
    initial_wait: float | None = means(
        "wait_ms", "Seconds to wait before it is left running.", default=None, convert=SECONDS
    )

    results = one_of(_STARTED, _PRINTED, back=one_stream, **_READ_ONLY)


class ReadBash(Spelling[op.ReadOutput]):
    """Read what a command in a shell has written, after a while."""

    native_name = "read_bash"
    approximated = {"wait_ms": "it is required, so nothing said is no waiting"}
    unsaid = {
        "lines": "all new output is given",
        "pattern": "all new output is given",
        "block": "it waits as long as it is told to",
        "output_limit": "the client has one limit for all output",
    }

    shellId: str = means("job", "Name of the shell.")  # noqa: N815 - the native name
    delay: float = means(
        "wait_ms",
        "Seconds to wait before reading.",
        convert=Conversion(SECONDS.to, lambda wait: SECONDS.back(wait or 0)),
    )

    results = one_of(_PRINTED, back=one_stream, **{**_READ_ONLY, "formerly": (_STARTED, *_READ_ONLY["formerly"])})


_STOPPED = "<command with id: {asked.job} stopped>"


class StopBash(Spelling[op.StopCommand]):
    """Stop the command in a shell."""

    native_name = "stop_bash"

    shellId: str = means("job", "Name of the shell.")  # noqa: N815 - the native name

    results = one_of(
        done(_STOPPED, ends=" stopped>", keeps_note=False),
        done(_STOPPED, ends=" stopped>", of=out.CommandOutcome),
    )


class ListBash(Spelling[op.ListCommands]):
    """List the shells and how it stands with their commands."""

    native_name = "list_bash"

    _JOB = re.compile(
        r"  shellId: (?P<id>[^,\n]+), [^\n]*?status: (?P<status>\w+)(?: \(exit code: (?P<code>-?\d+)\))?[^\n]*"
        r"(?:\n    current command: (?P<command>.*?))?(?=\n  shellId: |\Z)",
        re.DOTALL,
    )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.JobsOutcome):
            return tell(operation, outcome)
        lines = ["Active shell sessions:" if outcome.jobs else "No active shell sessions."]
        for job in outcome.jobs:
            status = "unknown" if job.running is None else "running" if job.running else "completed"
            code = "" if job.exit_code is None else f" (exit code: {job.exit_code})"
            lines.append(f"  shellId: {job.job}, status: {status}{code}")
            lines += [] if job.command is None else [f"    current command: {job.command}"]
        return "\n".join(lines)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if not re.match(r"(?:Active|No active) shell sessions", text, re.IGNORECASE):
            return understand(operation, native)
        return out.JobsOutcome(
            tuple(
                out.Job(
                    job["id"],
                    job["command"],
                    {"running": True, "completed": False}.get(job["status"]),
                    int(job["code"]) if job["code"] else None,
                )
                for job in self._JOB.finditer(text)
            )
        )


class Powershell(Bash):
    """Run a command line with PowerShell, which stands in the place of bash on Windows."""

    native_name = "powershell"
    read_only = "it is offered on Windows alone"
    always = {"shell": "powershell"}
    unsaid = {name: reason for name, reason in Bash.unsaid.items() if name != "shell"}


class ReadPowershell(ReadBash):
    """Read what a command in a shell of PowerShell has written, after a while."""

    native_name = "read_powershell"
    read_only = "it is offered on Windows alone"


class StopPowershell(StopBash):
    """Stop the command in a shell of PowerShell."""

    native_name = "stop_powershell"
    read_only = "it is offered on Windows alone"


class ListPowershell(ListBash):
    """List the shells of PowerShell and how it stands with their commands."""

    native_name = "list_powershell"
    read_only = "it is offered on Windows alone"


# ── searching ────────────────────────────────────────────────────────────────

_MODES = {"content": "content", "files_with_matches": "files", "count": "count"}
_CUT = "\n[more results are not shown]"
Paths = str | tuple[str, ...] | None


def _folders(paths: Paths) -> tuple[str, ...]:
    """The places to look in: a name, several, or (none given) here."""
    if isinstance(paths, str):
        return (paths,)
    return paths or (".",)


def _below(path: str, folder: str) -> bool:
    path, folder = path.removeprefix("./"), folder.removeprefix("./").rstrip("/")
    return folder in ("", ".") or path == folder or path.startswith(f"{folder}/")


class Grep(Spelling[op.SearchText]):
    """Search file contents with a regular expression; the files that match are given unless lines are asked for."""

    native_name = "grep"
    families = EDITING
    unsaid = {
        "exclude": "files are left out with a glob that begins with !",
        "literal": "the pattern is always an expression",
        "only_matching": "whole lines are given",
        "offset": "results start at the first",
        "limit_per_file": "results are cut as a whole",
        "respect_ignore": "the client decides about ignored files",
    }

    pattern: str = means("pattern", "The regular expression.")
    paths: Paths = means("path", "The folder or file to search in, or several.", default=None)
    # Models say it by an older name as well, and 1.0.74 still searched there.
    path: Paths = means("path", "The folder or file to search in.", default=None, until="0.0.420")
    output_mode: Literal["content", "files_with_matches", "count"] | None = means(
        "mode", "What is wanted: lines, files, or counts.", default=None
    )
    glob: str | None = means("include", "Only files that match this glob.", default=None)
    type: str | None = means("file_type", "Only files of this type, e.g. `py`.", default=None)
    insensitive: bool | None = means("case_sensitive", "Whether case is ignored.", default=None, name="-i")
    after: float | None = means("after", "Lines to show after each match.", default=None, name="-A")
    before: float | None = means("before", "Lines to show before each match.", default=None, name="-B")
    around: float | None = means(None, "Lines to show before and after each match.", default=None, name="-C")
    numbers: bool | None = means("line_numbers", "Show the numbers of lines.", default=None, name="-n")
    head_limit: float | None = means("limit", "At most so many results.", default=None)
    multiline: bool | None = means("multiline", "Let a match span lines.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        around = whole_number(self.around)
        before, after = whole_number(self.before), whole_number(self.after)
        return tuple(
            op.SearchText(
                self.pattern,
                folder,
                include=self.glob,
                file_type=self.type,
                mode=_MODES[self.output_mode or "files_with_matches"],  # type: ignore[arg-type]
                case_sensitive=None if self.insensitive is None else not self.insensitive,
                multiline=self.multiline or False,
                before=around if before is None else before,
                after=around if after is None else after,
                line_numbers=self.numbers,
                limit=whole_number(self.head_limit),
            )
            for folder in _folders(self.path if self.paths is None else self.paths)
        )

    @classmethod
    def from_operation(cls, operation: op.SearchText) -> Grep:
        before, after = operation.before, operation.after
        both = before is not None and before == after
        mode = next(native for native, ours in _MODES.items() if ours == operation.mode)
        return cls(
            pattern=operation.pattern,
            paths=None if operation.path == "." else operation.path,
            output_mode=None if mode == "files_with_matches" else mode,  # type: ignore[arg-type]
            glob=operation.include,
            type=operation.file_type,
            insensitive=None if operation.case_sensitive is None else not operation.case_sensitive,
            after=None if both else after,
            before=None if both else before,
            around=before if both else None,
            numbers=operation.line_numbers,
            head_limit=operation.limit,
            multiline=operation.multiline or None,
        )

    tells: ClassVar[Tells] = {out.MatchesOutcome: ("mode", "truncated")}
    _NONE = "No matches found."

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.MatchesOutcome):
            return tell(operation, outcome)
        if not outcome.matches:
            return self._NONE
        if outcome.mode == "files":
            lines = [match.path for match in outcome.matches]
        elif outcome.mode == "count":
            lines = [f"{match.path}:{match.count or 0}" for match in outcome.matches]
        else:
            lines = _match_lines(outcome.matches)
        return "\n".join(lines) + (_CUT if outcome.truncated else "")

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        assert isinstance(operation, op.SearchText)
        text = text_of(native.content)
        if text == self._NONE:
            return out.MatchesOutcome((), operation.mode)
        body = text.removesuffix(_CUT)
        lines = body.split("\n")
        if operation.mode == "files":
            matches: tuple[out.Match, ...] | None = tuple(out.Match(line) for line in lines)
        elif operation.mode == "count":
            matches = _counts_in(lines)
        else:
            matches = _matches_in(lines)
        if matches is None:
            return understand(operation, native)
        return out.MatchesOutcome(matches, operation.mode, truncated=body != text)

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        """One list for all places that were searched: to each what was found there."""
        return tuple(self._found_in(operation, native, alone=len(operations) == 1) for operation in operations)

    def _found_in(self, operation: op.Operation, native: NativeResult, *, alone: bool) -> out.Outcome:
        found = self.to_outcome(operation, native)
        if alone or not isinstance(found, out.MatchesOutcome) or not isinstance(operation, op.SearchText):
            return found
        there = tuple(match for match in found.matches if _below(match.path, operation.path))
        return msgspec.structs.replace(found, matches=there)


class Rg(Grep):
    """Search file contents with a regular expression; the files that match are given unless lines are asked for."""

    native_name = "rg"
    families = PATCHING


def _match_lines(matches: Sequence[out.Match]) -> list[str]:
    """As ripgrep prints them."""
    lines: list[str] = []
    for match in matches:
        if lines and (match.before or match.after):
            lines.append("--")
        line, matched = match.line, (match.text or "").split("\n")
        if line is None:
            lines += [f"{match.path}:{text}" for text in matched]
            continue
        first = line - len(match.before)
        lines += [f"{match.path}-{first + index}-{text}" for index, text in enumerate(match.before)]
        lines += [f"{match.path}:{line + index}:{text}" for index, text in enumerate(matched)]
        lines += [f"{match.path}-{line + len(matched) + index}-{text}" for index, text in enumerate(match.after)]
    return lines


def _counts_in(lines: Sequence[str]) -> tuple[out.Match, ...] | None:
    counts = [line.rpartition(":") for line in lines]
    if not all(path and count.isdecimal() for path, _, count in counts):
        return None
    return tuple(out.Match(path, count=int(count)) for path, _, count in counts)


def _matches_in(lines: Sequence[str]) -> tuple[out.Match, ...] | None:
    """Matches with the lines around them; without numbers, a path and a line each. `None` when a line is neither."""
    matches: list[out.Match] = []
    before: list[str] = []
    fresh = True
    for line in lines:
        if line == "--":
            before, fresh = [], True
            continue
        found = re.fullmatch(r"(.+?)(?::(\d+):|-(\d+)-)(.*)", line, re.DOTALL)
        if found is None:
            bare = re.fullmatch(r"(.+?):(.*)", line, re.DOTALL)
            if bare is None:
                return None
            matches.append(out.Match(bare[1], None, bare[2]))
        elif found[2]:
            matches.append(out.Match(found[1], int(found[2]), found[4], tuple(before)))
            before, fresh = [], False
        elif fresh or matches[-1].path != found[1]:
            before.append(found[4])
        else:
            last = matches[-1]
            matches[-1] = msgspec.structs.replace(last, after=(*last.after, found[4]))
    return tuple(matches)


class Glob(Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern."""

    native_name = "glob"
    unsaid = {
        "case_sensitive": "there is no parameter for it",
        "respect_ignore": "the client decides about ignored files",
        "limit": "the client has one limit for all lists",
    }

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    paths: Paths = means("path", "The folder to look in, or several.", default=None)
    path: Paths = means("path", "The folder to look in.", default=None, until="0.0.420")

    def to_operations(self) -> tuple[op.Operation, ...]:
        folders = _folders(self.path if self.paths is None else self.paths)
        return tuple(op.FindFiles(self.pattern, folder) for folder in folders)

    @classmethod
    def from_operation(cls, operation: op.FindFiles) -> Glob:
        return cls(pattern=operation.pattern, paths=None if operation.path == "." else operation.path)

    results = one_of(
        words(out.PathsOutcome, "No files matched the pattern.", maybe(_CUT, truncated=False), paths=()),
        words(out.PathsOutcome, "{paths}", maybe(_CUT, truncated=False), paths=lines()),
    )

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        """One list for all places that were looked in: to each what was found there."""
        found = self.to_outcome(operations[0], native)
        if len(operations) == 1 or not isinstance(found, out.PathsOutcome):
            return (found,) * len(operations)
        return tuple(
            out.PathsOutcome(
                tuple(path for path in found.paths if _below(path, str(getattr(operation, "path", ".")))),
                truncated=found.truncated,
            )
            for operation in operations
        )


class ToolSearchTool(Spelling[op.SearchTools]):
    """Look for tools that were not offered up front."""

    native_name, formerly = "tool_search_tool", ("tool_search_tool_regex",)
    on_request = "only agents that work for another are offered it"

    pattern: str = means("query", "What to look for.")
    limit: int | None = means("limit", "At most so many tools.", default=None)


# ── plans ────────────────────────────────────────────────────────────────────

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<word>[A-Za-z_][A-Za-z_0-9]*)|(?P<number>-?\d+)|(?P<mark>[(),=;*]))", re.DOTALL
)
_STATUSES: dict[str, op.PlanStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "done": "completed",
    "blocked": "blocked",
    "completed": "completed",
    "cancelled": "cancelled",
}
_WORDS_OF_STATUS = {"pending": "pending", "in_progress": "in_progress", "completed": "done", "blocked": "blocked"}


class _Statement:
    """The words of one SQL statement, taken one after the other; what is not expected raises `ValueError`."""

    def __init__(self, tokens: Sequence[tuple[str, str]]) -> None:
        self._tokens = list(tokens)

    def next(self) -> tuple[str, str]:
        if not self._tokens:
            raise ValueError("the statement ends too early to be read as one about the plan")
        return self._tokens.pop(0)

    def word(self, *words: str) -> None:
        for word in words:
            kind, found = self.next()
            if kind == "text" or found.lower() != word:
                raise ValueError(f"{found!r} stands where {word!r} is read; only plain statements on todos are")

    def name(self) -> str:
        kind, found = self.next()
        if kind != "word":
            raise ValueError(f"{found!r} is no name")
        return found.lower()

    def value(self) -> str | None:
        kind, found = self.next()
        if kind == "text":
            return found[1:-1].replace("''", "'")
        if kind == "number":
            return found
        if found.lower() in ("null", "current_timestamp"):
            return None
        raise ValueError(f"{found!r} is computed, so what it will be is not known")

    def sees(self, word: str) -> bool:
        return bool(self._tokens) and self._tokens[0][0] != "text" and self._tokens[0][1].lower() == word

    def takes(self, word: str) -> bool:
        seen = self.sees(word)
        if seen:
            self._tokens.pop(0)
        return seen

    def ends(self) -> bool:
        return not self._tokens

    def values(self) -> list[str | None]:
        """A list in brackets."""
        self.word("(")
        found = [self.value()]
        while self.takes(","):
            found.append(self.value())
        self.word(")")
        return found

    def names(self) -> list[str]:
        self.word("(")
        found = [self.name()]
        while self.takes(","):
            found.append(self.name())
        self.word(")")
        return found


def _statements(query: str) -> Iterator[_Statement]:
    tokens: list[tuple[str, str]] = []
    position, end = 0, len(query.rstrip())
    while position < end:
        found = _TOKEN.match(query, position)
        if found is None or found.lastgroup is None:
            raise ValueError(f"{query[position : position + 20]!r} is more than is read of SQL")
        position = found.end()
        if found[found.lastgroup] == ";":
            if tokens:
                yield _Statement(tokens)
            tokens = []
        else:
            tokens.append((found.lastgroup, found[found.lastgroup]))
    if tokens:
        yield _Statement(tokens)


def _plan_operations(query: str) -> tuple[op.Operation, ...]:
    """What plain statements with literal values do to the plan; any other raises `ValueError`."""
    operations: list[op.Operation] = []
    for statement in _statements(query):
        verb = statement.name()
        if verb not in _VERBS:
            raise ValueError(f"{verb!r} does nothing to the plan that is understood")
        operations += _VERBS[verb](statement)
        if not statement.ends():
            raise ValueError("the statement goes on after what is read of it")
    if not operations:
        raise ValueError("there is no statement")
    return tuple(operations)


def _inserted(statement: _Statement) -> list[op.Operation]:
    statement.word("into")
    table, columns = statement.name(), statement.names()
    statement.word("values")
    rows = [statement.values()]
    while statement.takes(","):
        rows.append(statement.values())
    if any(len(row) != len(columns) for row in rows):
        raise ValueError("a row has not as many values as there are columns")
    named = [dict(zip(columns, row, strict=True)) for row in rows]
    if table == "todo_deps":
        return list(_dependencies(named))
    if table != "todos":
        raise ValueError(f"{table!r} is not the plan")
    return [op.AddPlanItem(_item(row)) for row in named]


def _dependencies(rows: Sequence[Mapping[str, str | None]]) -> Iterator[op.ChangePlanItem]:
    waits: dict[str, list[str]] = {}
    for row in rows:
        item, other = row.get("todo_id"), row.get("depends_on")
        if item is None or other is None or len(row) != 2:
            raise ValueError("a dependency has a todo_id and a depends_on")
        waits.setdefault(item, []).append(other)
    for item, others in waits.items():
        yield op.ChangePlanItem(item, add_blocked_by=tuple(others))


_COLUMNS = ("id", "title", "description", "status")


def _item(row: Mapping[str, str | None]) -> op.PlanItem:
    if row.get("title") is None or not set(row) <= set(_COLUMNS):
        raise ValueError(f"a todo has a title and some of {', '.join(_COLUMNS)}")
    return op.PlanItem(
        str(row["title"]), _status(row.get("status")) or "pending", row.get("id"), row.get("description")
    )


def _status(word: str | None) -> op.PlanStatus | None:
    if word is not None and word not in _STATUSES:
        raise ValueError(f"{word!r} is no status of a todo")
    return None if word is None else _STATUSES[word]


def _which(statement: _Statement) -> list[str]:
    """The ids a statement is about: of one, or of several in a list."""
    statement.word("where", "id")
    if statement.takes("in"):
        found = statement.values()
    else:
        statement.word("=")
        found = [statement.value()]
    if None in found:
        raise ValueError("NULL is no id")
    return [str(id) for id in found]


def _updated(statement: _Statement) -> list[op.Operation]:
    statement.word("todos", "set")
    values: dict[str, str | None] = {}
    while True:
        column = statement.name()
        statement.word("=")
        values[column] = statement.value()
        if not statement.takes(","):
            break
    values.pop("updated_at", None)  # the table's own, whatever it is set to
    if not values or not set(values) <= {"title", "description", "status"} or None in values.values():
        raise ValueError("of a todo the title, the description and the status are changed")
    return [
        op.ChangePlanItem(id, values.get("title"), _status(values.get("status")), values.get("description"))
        for id in _which(statement)
    ]


def _deleted(statement: _Statement) -> list[op.Operation]:
    statement.word("from", "todos")
    return [op.ChangePlanItem(id, deleted=True) for id in _which(statement)]


def _selected(statement: _Statement) -> list[op.Operation]:
    statement.word("*", "from", "todos")
    return [op.ReadPlan()] if statement.ends() else [op.ReadPlan(id) for id in _which(statement)]


_VERBS = {"insert": _inserted, "update": _updated, "delete": _deleted, "select": _selected}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


ONE_CHANGE = "one statement deletes, changes, or adds what an item waits for"


class Sql(Spelling[op.AddPlanItem | op.ChangePlanItem | op.ReadPlan]):
    """Keep the plan: rows of the table todos (id, title, description, status: pending, in_progress, done, blocked).

    What one waits for are rows of todo_deps (todo_id, depends_on). Only plain statements with
    literal values are understood.
    """

    native_name = "sql"
    approximated = {
        "AddPlanItem.item": "a todo has an id, a title, a description and a status",
        **{f"ChangePlanItem.{field}": ONE_CHANGE for field in ("text", "status", "description", "add_blocked_by")},
    }
    unsaid = {
        f"ChangePlanItem.{field}": "the table has no column for it"
        for field in ("doing", "owner", "add_blocks", "metadata")
    }

    description: str | None = native_only("a title of the statement, for people to read")
    query: str = means("id", "The statement.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return _plan_operations(self.query)

    @classmethod
    def from_operation(cls, operation: op.AddPlanItem | op.ChangePlanItem | op.ReadPlan) -> Sql | None:
        match operation:
            case op.ReadPlan(id=None):
                return cls(description="Read the plan", query="SELECT * FROM todos")
            case op.ReadPlan(id=str(id)):
                return cls(description="Read the plan", query=f"SELECT * FROM todos WHERE id = {_quoted(id)}")
            case op.AddPlanItem(item=item):
                return cls._adding(item)
            case op.ChangePlanItem():
                query = _changing(operation)
                return None if query is None else cls(description="Change the plan", query=query)
        return None

    @classmethod
    def _adding(cls, item: op.PlanItem) -> Sql | None:
        status = _WORDS_OF_STATUS.get(item.status)
        if status is None:
            return None
        row = {"id": item.id, "title": item.text, "description": item.description, "status": status}
        said = {column: _quoted(value) for column, value in row.items() if value is not None}
        query = f"INSERT INTO todos ({', '.join(said)}) VALUES ({', '.join(said.values())})"
        return cls(description="Add to the plan", query=query)

    _TABLE = re.compile(r"(\d+) row\(s\) returned(?::\n\n(\|.*?))?(?:\n\n.*)?", re.DOTALL)
    _HEADS = ("id", "title", "description", "status")

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if isinstance(outcome, out.DoneOutcome):
            return outcome.note or "1 row(s) changed."
        if not isinstance(outcome, out.PlanOutcome):
            return tell(operation, outcome)
        rows = [
            (item.id or "", item.text, item.description or "", _WORDS_OF_STATUS.get(item.status, item.status))
            for item in outcome.items
        ]
        lines = [_row(cells) for cells in (self._HEADS, ("---",) * len(self._HEADS), *rows)]
        return f"{len(rows)} row(s) returned:\n\n" + "\n".join(lines)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if re.match(r"\d+ row\(s\) (?!returned)", text):
            return out.DoneOutcome(text)
        found = self._TABLE.fullmatch(text)
        items = None if found is None else _items((found[2] or "").split("\n"))
        return understand(operation, native) if items is None else out.PlanOutcome(items)

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        """One statement changes several items: what is told is said of each."""
        return tuple(self.to_outcome(operation, native) for operation in operations)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _items(lines: Sequence[str]) -> tuple[op.PlanItem, ...] | None:
    """The items of a table; `None` when it is not the plan."""
    rows = [[cell.replace("\\|", "|") for cell in line[2:-2].split(" | ")] for line in lines if line]
    if not rows:
        return ()
    heads = rows[0]
    if "title" not in heads or any(len(row) != len(heads) for row in rows):
        return None
    named = [dict(zip(heads, row, strict=True)) for row in rows[2:]]
    if any(row.get("status", "pending") not in _STATUSES for row in named):
        return None
    return tuple(
        op.PlanItem(
            row["title"],
            _STATUSES[row.get("status", "pending")],
            _cell(row.get("id")),
            _cell(row.get("description")),
        )
        for row in named
    )


def _cell(cell: str | None) -> str | None:
    return None if cell in (None, "", "NULL", "null") else cell


def _changing(operation: op.ChangePlanItem) -> str | None:
    which = f"WHERE id = {_quoted(operation.id)}"
    if operation.deleted:
        return f"DELETE FROM todos {which}"
    if operation.status is not None and operation.status not in _WORDS_OF_STATUS:
        return None
    status = None if operation.status is None else _WORDS_OF_STATUS[operation.status]
    values = {"title": operation.text, "description": operation.description, "status": status}
    said = [f"{column} = {_quoted(value)}" for column, value in values.items() if value is not None]
    if said:
        return f"UPDATE todos SET {', '.join(said)} {which}"
    rows = ", ".join(f"({_quoted(operation.id)}, {_quoted(other)})" for other in operation.add_blocked_by)
    return f"INSERT INTO todo_deps (todo_id, depends_on) VALUES {rows}" if rows else None


class UpdateTodo(Spelling[op.UpdatePlan]):
    """Keep the plan as a Markdown list."""

    native_name = "update_todo"
    read_only = NOT_OFFERED

    todos: str

    def to_operations(self) -> tuple[op.Operation, ...]:
        boxes = re.findall(r"^\s*[-*+] \[([ xX])\] ?(.*)$", self.todos, re.MULTILINE)
        return (
            op.UpdatePlan(tuple(op.PlanItem(text, "pending" if box == " " else "completed") for box, text in boxes)),
        )


# ── agents ───────────────────────────────────────────────────────────────────

_AGENT_STATES: dict[str, out.AgentStatus] = {
    **{status: status for status in get_args(out.AgentStatus)},
    "idle": "completed",  # it has answered, and waits for more
}


_AGENT_ID = without(" .")
_ABOUT = (
    "agent_id: {id}",
    maybe(", agent_type: {agent}"),
    ", status: {status}",
    maybe(", description: {description}"),
)
_ELAPSED = (maybe(", elapsed: {_elapsed}", said=False),)
_ABOUT_KINDS: dict[str, Any] = {
    "id": without(","),
    "agent": without(","),
    "status": Kind(r"\w++", lambda word: _AGENT_STATES.get(word, "unknown"), str),
}
_READ_ABOUT: dict[str, Any] = {**_ABOUT_KINDS, "_is": skipped(""), "_elapsed": skipped("")}


class TellingAgents:
    """How an agent is told: its answer alone, or a line about it and what it said turn by turn."""

    unless_said: ClassVar[Mapping[str, Any]] = {"background": False}
    results: ClassVar[ResultWords | None] = one_of(
        single(
            out.AgentsOutcome,
            words(
                out.AgentReport,
                "Agent started in background with agent_id: {id}.",
                status="running",
                text=None,
                id=_AGENT_ID,
            ),
            asked=op.SpawnAgent,
            timed_out=False,
        ),
        single(
            out.AgentsOutcome,
            words(out.AgentReport, "Agent is {status}. ", *_ABOUT, "\n\n{text}", text=body(), **_ABOUT_KINDS),
            words(out.AgentReport, "Agent is {status}. ", *_ABOUT, text=None, **_ABOUT_KINDS),
            words(out.AgentReport, "{text}", id=None, status="completed", text=body(or_nothing=True)),
            timed_out=False,
        ),
        read_first=(
            single(
                out.AgentsOutcome,
                words(
                    out.AgentReport,
                    "Agent started in background with agent_id: {id}.{_more}",
                    id=_AGENT_ID,
                    status="running",
                    _more=skipped("", r"(?:\s(?s:.*))?"),
                ),
                words(out.AgentReport, "Agent {_is}", *_ABOUT, *_ELAPSED, "\n\n{text}", text=body(), **_READ_ABOUT),
                words(out.AgentReport, "Agent {_is}", *_ABOUT, *_ELAPSED, **_READ_ABOUT),
            ),
        ),
        default_first=True,
    )


class Task(TellingAgents, Spelling[op.SpawnAgent]):
    """Give a task to another agent, and wait for its answer or not."""

    native_name = "task"
    approximated = {
        "agent": "a type is required; when none is said, it is general-purpose",
        "name": "it is required, so an empty one says nothing",
        "description": "it is required, so an empty one says nothing",
    }
    unsaid = {
        "system_prompt": "an agent's type has its own",
        "isolation": "an agent works where this one does",
        "cwd": "an agent works where this one does",
        "history": "an agent starts with its prompt alone",
        "tools": "an agent's type has its own",
        "max_turns": "there is no parameter for it",
        "continues": "an agent goes on when it is written to",
        "command": "there is no such parameter",
    }

    description: str = means("description", "The task in a few words.", convert=EMPTY_IS_UNSAID)
    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    agent_type: str = means(
        "agent",
        "The agent's type.",
        convert=Conversion(to=lambda agent: agent, back=lambda agent: agent or "general-purpose"),
        schema={"enum": ["explore", "task", "general-purpose", "code-review", "research", "security-review"]},
    )
    name: str = means("name", "A short name for the agent.", convert=EMPTY_IS_UNSAID)
    model: str | None = means("model", "Which model it runs on.", default=None)
    reasoning_effort: str | None = means("effort", "How hard it thinks.", default=None)
    context_tier: Literal["default", "long_context"] | None = native_only(
        "how much it can hold is the client's to know"
    )
    mode: Literal["sync", "background"] | None = means(
        "background",
        "Whether to wait for its answer.",
        default=None,
        convert=Conversion(
            to=lambda mode: None if mode is None else mode == "background",
            back=lambda background: None if background is None else ("background" if background else "sync"),
        ),
    )


class ReadAgent(TellingAgents, Spelling[op.WaitForAgent]):
    """Read what an agent has said, waiting for it or not."""

    native_name = "read_agent"

    agent_id: str = means("agents", "The agent.")
    wait: bool | None = means("block", "Whether to wait until it has answered.", default=None)
    timeout: float | None = means("timeout_ms", "Seconds to wait at most.", default=None)
    since_turn: int | None = means("since_turn", "Only what was said after this turn.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.WaitForAgent((self.agent_id,), SECONDS.to(self.timeout), self.wait, self.since_turn),)

    @classmethod
    def from_operation(cls, operation: op.WaitForAgent) -> ReadAgent | None:
        if len(operation.agents) != 1:
            return None
        try:
            timeout = SECONDS.back(operation.timeout_ms)
        except ValueError:
            return None
        return cls(agent_id=operation.agents[0], wait=operation.block, timeout=timeout, since_turn=operation.since_turn)


class ListAgents(Spelling[op.ListAgents]):
    """List the other agents and how each is doing."""

    native_name = "list_agents"
    approximated = {"scope": "only siblings, children and all can be said"}
    unsaid = {"query": "agents are listed, not searched"}

    include_completed: bool | None = native_only("agents that have ended are the client's to forget")
    scope: Literal["siblings", "children", "all"] | None = means(
        "scope", "Whose agents.", default=None, convert=_among("siblings", "children", "all")
    )

    _HEAD = re.compile(r"(\w+) \(\d+\):")
    _LINE = re.compile(r'  \S+ (?P<name>.*?) \((?P<id>[^()]*)\): (?P<agent>.*?) - "(?P<about>.*?)"(?: \(.*\))?')

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.AgentsOutcome) or any(agent.id is None for agent in outcome.agents):
            return tell(operation, outcome)
        lines = ["Background agents:" if outcome.agents else "No background agents."]
        for status in dict.fromkeys(agent.status for agent in outcome.agents):
            group = [agent for agent in outcome.agents if agent.status == status]
            lines += ["", f"{status.capitalize()} ({len(group)}):"]
            lines += [
                f'  * {one.name or ""} ({one.id}): {one.agent or ""} - "{one.description or ""}"' for one in group
            ]
        return "\n".join(lines)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if text == "<no background agents>":
            return out.AgentsOutcome(())
        if not re.match(r"(?:Background agents:|No )", text):
            return understand(operation, native)
        status: out.AgentStatus = "unknown"
        found: list[out.AgentReport] = []
        for line in text.split("\n"):
            if head := self._HEAD.fullmatch(line):
                status = _AGENT_STATES.get(head[1].lower(), "unknown")
            elif one := self._LINE.fullmatch(line):
                name, agent, about = (one[part] or None for part in ("name", "agent", "about"))
                found.append(out.AgentReport(one["id"], status, name=name, agent=agent, description=about))
        return out.AgentsOutcome(tuple(found))


class WriteAgent(Spelling[op.MessageAgent]):
    """Send a message to another agent, or the same one to several."""

    native_name = "write_agent"
    unsaid = {
        "summary": "there is no parameter for it",
        "interrupt": "an agent reads its messages when it can",
        "starts_turn": "a message always starts a turn",
        "notify_when_idle": "it is always told when an agent is idle",
    }

    agent_id: str | None = means("to", "The agent.", default=None)
    agent_ids: tuple[str, ...] = means(None, "Several agents.", default=())
    scope: Literal["siblings", "children"] | None = native_only("whom it reaches is the client's to know")
    message: str = means("message", "The message.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        named = (*(() if self.agent_id is None else (self.agent_id,)), *self.agent_ids)
        if not named or self.scope is not None:
            raise ValueError("agent_id: name the agent to write to")
        return tuple(op.MessageAgent(agent, self.message) for agent in named)

    @classmethod
    def from_operation(cls, operation: op.MessageAgent) -> WriteAgent:
        return cls(agent_id=operation.to, message=operation.message)

    results = one_of(done("Message delivered to agent {asked.to}.", "Message delivered"))


# ── web, people, memory, skills ──────────────────────────────────────────────


class WebFetch(Spelling[op.FetchPage]):
    """Fetch a page."""

    native_name = "web_fetch"
    read_only = NOT_OFFERED

    url: str
    max_length: int | None = means("limit", default=None)
    start_index: int | None = means("offset", default=None)

    raw: bool | None = native_only("a page is given as the client reads it")

    _PAGE = re.compile(r"(?P<before>.*?)Contents of (?P<url>\S+):\n(?P<text>.*)", re.DOTALL)
    _MORE = re.compile(r"(?P<text>.*)\n\n<note>Content truncated\. [^\n]*</note>", re.DOTALL)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.FetchPage(self.url, offset=self.start_index, limit=self.max_length),)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        found = self._PAGE.fullmatch(text_of(native.content))
        if found is None or found["url"] != self.url:
            return understand(operation, native)
        more = self._MORE.fullmatch(found["text"])
        text = found["text"] if more is None else more["text"]
        return out.PagesOutcome((out.Page(self.url, text=text, truncated=more is not None),))


class AskUser(Spelling[op.AskUser]):
    """Ask the user a question, or some with the form their answers are to have."""

    native_name = "ask_user"
    read_only = NOT_OFFERED

    question: str | None = None
    choices: tuple[str, ...] = ()
    allow_freeform: bool | None = native_only("whoever is asked may always say something else")
    message: str | None = None
    requestedSchema: dict[str, Any] | None = None  # noqa: N815 - the native name

    _ANSWER = re.compile(r"User (?P<how>selected|responded): (?P<words>.*)", re.DOTALL)
    _NOBODY = "The user is not available to respond"

    def to_operations(self) -> tuple[op.Operation, ...]:
        fields = _mapping(_mapping(self.requestedSchema).get("properties"))
        if self.question is not None or not fields:
            asked = self.question or self.message
            if asked is None:
                raise ValueError("there is no question; give one")
            return (op.AskUser((op.Question(asked, tuple(op.Option(choice) for choice in self.choices)),)),)
        return (op.AskUser(tuple(_field_asked(name, _mapping(field), self.message) for name, field in fields.items())),)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        found = self._ANSWER.fullmatch(text_of(native.content))
        if found is None or found["words"].startswith(self._NOBODY) or not isinstance(operation, op.AskUser):
            return understand(operation, native)
        asked, words = operation.questions[0], found["words"]
        if len(operation.questions) > 1:  # which words answer which question cannot be told for sure
            return out.TextOutcome(words)
        is_chosen = found["how"] == "selected" or words in [option.label for option in asked.options]
        answer = out.Answer(asked.text, (words,)) if is_chosen else out.Answer(asked.text, text=words)
        return out.AnswersOutcome((answer,))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _field_asked(name: str, field: dict[str, Any], message: str | None) -> op.Question:
    """The question a field of a form asks."""
    is_list = field.get("type") == "array"
    options = _mapping(field.get("items")).get("enum") if is_list else field.get("enum")
    labels = [option for option in options if isinstance(option, str)] if isinstance(options, list) else []
    words = next((text for key in ("title", "description") if isinstance(text := field.get(key), str)), name)
    return op.Question(words, tuple(map(op.Option, labels)), message, multiple=is_list, id=name)


class StoreMemory(Spelling[op.SaveMemory]):
    """Remember a fact about a subject."""

    native_name = "store_memory"
    read_only = NOT_OFFERED

    fact: str
    subject: str | None = None
    citations: str | tuple[str, ...] | None = native_only("where a fact is from is told to people")
    reason: str | None = native_only("why it is worth remembering is told to people")
    scope: str | None = native_only("whose memory it is, is the client's to know")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SaveMemory(self.fact, self.subject),)


class Skill(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "skill"
    unsaid = {"arguments": "a skill takes none"}

    skill: str = means("name", "Name of the skill.")


# ── tools of an agent that only searches, and of the editor ──────────────────

EDITOR = "an agent that only searches has it, and the chat of the editor, which keeps its sessions in the same form"
TOLD = "it is told to people"


class EditorResults:
    """The editor keeps that a call went well, and not always what it gave."""

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        if native.content == "":
            return (out.DoneOutcome(),) * len(operations)
        return tuple(understand(operation, native) for operation in operations)


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

    query: str
    isRegexp: bool = False  # noqa: N815 - the native name
    includePattern: str | None = None  # noqa: N815 - the native name
    maxResults: int | None = None  # noqa: N815 - the native name
    includeIgnoredFiles: bool | None = None  # noqa: N815 - the native name

    def to_operations(self) -> tuple[op.Operation, ...]:
        heeded = None if self.includeIgnoredFiles is None else not self.includeIgnoredFiles
        return (
            op.SearchText(
                self.query,
                include=self.includePattern,
                literal=not self.isRegexp,
                limit=self.maxResults,
                respect_ignore=heeded,
            ),
        )


class FileSearch(EditorResults, Spelling[op.FindFiles]):
    """Find files by a glob."""

    native_name = "file_search"
    read_only = EDITOR

    query: str
    maxResults: int | None = None  # noqa: N815 - the native name

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.FindFiles(self.query, limit=self.maxResults),)


class SemanticSearch(EditorResults, Spelling[op.SearchDocuments]):
    """Search the code for what a text means."""

    native_name, formerly = "semantic_search", ("search_code_subagent",)
    read_only = EDITOR
    unsaid = {"stores": "the workspace is what is searched", "limit": "the client decides how much it gives"}

    query: str


class ListDir(EditorResults, Spelling[op.ListDirectory]):
    """List a folder."""

    native_name = "list_dir"
    read_only = EDITOR

    path: str

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ListDirectory(self.path),)


class CreateFile(EditorResults, Spelling[op.WriteFile]):
    """Make a new file."""

    native_name = "create_file"
    read_only = EDITOR

    filePath: str  # noqa: N815 - the native name
    content: str = ""

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.WriteFile(self.filePath, self.content, overwrite=False),)


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

    filePath: str  # noqa: N815 - the native name
    oldString: str  # noqa: N815 - the native name
    newString: str  # noqa: N815 - the native name
    explanation: str | None = None

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (Replaced(self.filePath, self.oldString, self.newString, self.explanation).operation(),)


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

    id: str

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ReadOutput(self.id),)


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


class WebSearch(Spelling[op.SearchWeb]):
    """Search the web; a server of the provider's does it and says what it found."""

    native_name = "web_search"
    read_only = NOT_OFFERED

    query: str

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SearchWeb(self.query),)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        try:
            told = read_json(text_of(native.content))
        except msgspec.DecodeError:
            return understand(operation, native)
        match told:
            case {"type": "output_text", "text": {"value": str(answer), **rest}}:
                cited = rest.get("annotations")
                pages = dict.fromkeys(_cited(one) for one in cited) if isinstance(cited, list) else {}
                return out.PagesOutcome(tuple(page for page in pages if page is not None), answer, self.query)
        return understand(operation, native)


def _cited(annotation: Any) -> out.Page | None:
    match annotation:
        case {"url_citation": {"url": str(url), **rest}}:
            title = rest.get("title")
            return out.Page(url, title if isinstance(title, str) else None)
    return None


class ToDo(msgspec.Struct, frozen=True):
    """One thing to do."""

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
    agentName: str | None = None  # noqa: N815 - the native name
    model: str | None = None

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SpawnAgent(self.prompt, self.agentName, description=self.description, model=self.model),)


# ── results of servers, and failures ─────────────────────────────────────────


class CopilotUnspelled:
    """Results of servers: their text, pictures beside it, and the same as data where the log has it."""

    def tell(self, operations: Sequence[op.Operation], outcomes: Sequence[out.Outcome]) -> Content:
        """As everywhere."""
        return tell_all(operations, outcomes)

    def understand(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        """The text with what stands beside it."""
        media, structured = _media(native), _result(native).get("structuredContent")
        if not isinstance(native.content, str) or (not media and structured is None):
            return understand(operation, native)
        return out.ContentOutcome((native.content, *media), structured)


class CopilotFailures(FailuresInWords):
    """Failures by the log's code for them, and by their words."""

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """A result that is flagged; that a rule denied it, or the user did, has a code of its own."""
        failure = super().understand(call, native)
        error = native.item.get("error") if isinstance(native.item, dict) else None
        denied = isinstance(error, dict) and error.get("code") in ("denied", "rejected")
        return out.Failure("denied", failure.message) if failure is not None and denied else failure


FAILURES = CopilotFailures(
    (
        (r"Tool '.*' does not exist", "unknown_tool"),
        (r'"[^"\n]*": |Failed to parse patch: ', "invalid_arguments"),
        (r"Permission denied because", "denied"),
        (r"Operation cancelled", "cancelled"),
        (r"(?s:.*)\btimed out\b", "timed_out"),
    ),
    {
        "unknown_tool": "Tool '{tool}' does not exist. {message}",
        "invalid_arguments": '"{tool}": {message}',
        "denied": "Permission denied because {message}",
        "cancelled": "Operation cancelled: {message}",
        "timed_out": "It timed out: {message}",
    },
)

NO_TOOL = "there is no native tool for it"
SHELL = "it is done with a shell command"

DIALECT = Dialect(
    "copilot",
    (
        Bash,
        ReadBash,
        StopBash,
        ListBash,
        Powershell,
        ReadPowershell,
        StopPowershell,
        ListPowershell,
        View,
        StrReplaceEditor,
        Create,
        Edit,
        ApplyPatch,
        Skill,
        Sql,
        ReadAgent,
        ListAgents,
        WriteAgent,
        Grep,
        Rg,
        Glob,
        Task,
        ToolSearchTool,
        UpdateTodo,
        WebFetch,
        AskUser,
        StoreMemory,
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
        WebSearch,
        ManageTodoList,
        RunSubagent,
    ),
    default_family="claude-sonnet-4.5",
    steering=(
        Steer("fetch_copilot_cli_documentation", "it reads the client's own manual"),
        Steer(
            "sql",
            "only plain statements about the plan have a shared meaning; others query the session's own tables",
            ("description", "query"),
            otherwise=True,
        ),
        Steer(
            "session_store_sql", "it queries the client's record of past sessions", ("description", "query", "source")
        ),
        Steer(
            "write_agent",
            "a message to all agents of a kind is the client's to deliver",
            ("agent_id", "agent_ids", "scope", "message"),
            otherwise=True,
        ),
        Steer("report_intent", "it is a headline for those who watch", ("intent",)),
        Steer("task_complete", "it ends the client's mode of working on alone", ("summary",)),
        Steer(
            "exit_plan_mode",
            "a mode of the client",
            ("summary", "actions", "recommendedAction"),
            approves=PlanApproval("summary"),
        ),
        Steer(
            "lsp",
            "what language servers know has no shared form",
            (*("operation", "file", "line", "character", "newName", "includeDeclaration", "query", "language"),),
        ),
        Steer("extensions_manage", EXTENSIONS, ("operation", "name", "description", "location")),
        Steer("extensions_reload", EXTENSIONS),
        Steer("manage_schedule", "when it works is the client's to decide", ("action", "interval", "prompt", "id")),
        Steer("context_board", BOARD, ("command", "src", "name", "description", "context")),
        Steer("read_inbox", BOARD, ("entry_id", "mark_as_read")),
        Steer("send_inbox", BOARD, ("summary", "content")),
        Steer("vote_memory", "which memories are kept is the client's to decide"),
        Steer("report_progress", HOSTED, ("commitMessage", "prDescription")),
        Steer("reply_to_comment", HOSTED, ("reply", "comment_id")),
        Steer("create_pull_request", HOSTED, ("title", "description", "draft")),
        Steer("code_review", HOSTED, ("prTitle", "prDescription")),
        Steer("codeql_checker", HOSTED),
        Steer("parallel_validation", HOSTED, ("prTitle", "prDescription", "trivialChangeDeclaration")),
        Steer("gh-advisory-database", HOSTED, ("dependencies",)),
        Steer("get_errors", "what the editor knows of its files is its own", ("filePaths", "ranges")),
    ),
    mcp=(McpNames("{server}-{tool}"), McpNames("{tool}")),
    failures=FAILURES,
    unspelled=CopilotUnspelled(),
    unspoken={
        op.ReadFiles: "files are read one by one",
        op.ReadNotebook: "a notebook is read as the text it is",
        op.ViewImage: "an image is looked at with view",
        op.InsertText: "text is inserted by replacing what stands around it",
        op.DeleteFile: SHELL,
        op.MoveFile: SHELL,
        op.UndoEdit: "no native tool undoes a change",
        op.EditNotebook: "a notebook is edited as the text it is",
        op.TypeInto: "a shell takes no input while a command runs",
        op.WatchCommand: NO_TOOL,
        op.SearchCode: NO_TOOL,
        op.RewriteCode: NO_TOOL,
        op.SearchDocuments: NO_TOOL,
        op.SearchWeb: NO_TOOL,
        op.FetchPage: SHELL,
        op.FindInPage: NO_TOOL,
        op.TakeScreenshot: NO_TOOL,
        op.UpdatePlan: "the plan is kept row by row",
        op.StopAgent: NO_TOOL,
        op.ResumeAgent: "an agent goes on when it is written to",
        op.SignalParent: NO_TOOL,
        op.ReturnToParent: "an agent's last words are its result",
        op.AskUser: "a question is asked in the answer itself",
        op.SaveMemory: "memories are files",
        op.RecallMemory: "memories are files",
        op.ReadMcpResource: NO_TOOL,
        op.ListMcpResources: NO_TOOL,
        op.RunCode: SHELL,
        op.GenerateImage: NO_TOOL,
        op.UseComputer: NO_TOOL,
    },
)
