"""opencode's vocabulary (1.1.11 … 1.18.33): one class per native tool, in the words its models know."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, get_args

import msgspec

from dragoman.errors import ToolError
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult
from dragoman.model.json_text import json_text, read_json

from .base.default_words import FailuresInWords, tell, tell_all, text_of, understand, up_to_here
from .base.dialect import Dialect, PlanApproval, Steer
from .base.mcp_names import McpNames
from .base.patch_text import by_ends, in_whole_lines, read_patch, write_patch
from .base.spelling import (
    EMPTY_IS_UNSAID,
    SECONDS,
    WHOLE,
    Content,
    Conversion,
    ResultWords,
    Spelling,
    Tells,
    means,
    native_only,
    whole_number,
)
from .base.words import PATH, Part, Reads, Template, count_of, lines, maybe, numbered, one_of, picture, skipped, words

PATCHING = ("gpt-5*",)
"""Models that are given `apply_patch`, since 1.1.53, where all others edit and write."""
EDITING = ("!gpt-5*",)
NOT_OFFERED = "models call it, and no version that was captured offers it"


def _metadata(native: NativeResult) -> Mapping[str, Any]:
    """What the log keeps beside a result: the state of the part, or the part with its state."""
    item = native.item
    state = item.get("state", item) if isinstance(item, dict) else None
    found = state.get("metadata") if isinstance(state, dict) else None
    return found if isinstance(found, dict) else {}


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# ── reading files ────────────────────────────────────────────────────────────


class ShownLines(msgspec.Struct, frozen=True):
    """Numbered lines of a file, and the note below them."""

    path: str
    text: str
    first_line: int = 1
    note: str | None = None


def _shown(operation: op.Operation, outcome: out.FileOutcome) -> ShownLines:
    outcome = _to_its_end(up_to_here(operation, outcome))
    return ShownLines(outcome.path, outcome.text, outcome.first_line, _file_note(outcome))


def _to_its_end(outcome: out.FileOutcome) -> out.FileOutcome:
    """Without the newline that ends the file: the note below says that nothing follows."""
    ends = outcome.text.endswith("\n") and outcome.total_lines == outcome.first_line + outcome.text.count("\n") - 1
    return msgspec.structs.replace(outcome, text=outcome.text[:-1]) if ends else outcome


def _file_note(outcome: out.FileOutcome) -> str | None:
    last = outcome.first_line + outcome.text.count("\n")
    total = outcome.total_lines
    on = f"Use offset={last + 1} to continue."
    if total is not None and total > last:
        return f"Showing lines {outcome.first_line}-{last} of {total}. {on}"
    if outcome.truncated:
        return f"Output capped. Showing lines {outcome.first_line}-{last}. {on}"
    return f"End of file - total {total} lines" if total == last else None


def _file(operation: op.ReadFile, shown: ShownLines) -> out.FileOutcome:
    note = shown.note or ""
    counted = re.search(r"(?:of|total) (\d+)(?: lines)?(?:\.|$)", note)
    total = int(counted[1]) if counted else None
    last = shown.first_line + shown.text.count("\n")
    # The note also stands under lines that are all that was asked for.
    cut = note.startswith("Showing") and last < min(total or last, operation.last_line or total or last)
    cut = cut or note.startswith("Output capped")
    return out.FileOutcome(operation.path, shown.text, shown.first_line, total, truncated=cut)


def _lines_in(before: str, tag: str, *, empty: bool = False, newline: str = "\n") -> Template:
    """Lines in a tag; below it the client puts reminders of its own."""
    text = "" if empty else "{text}"
    note = f"\n({{note}})\n</{tag}>{{_after}}"
    kinds: dict[str, Any] = {"text": Reads("")} if empty else {"text": numbered(": ", formerly=("| ",))}
    end = (note,) if empty else (maybe("\n\n({note})"), f"\n</{tag}>{{_after}}")
    path: dict[str, Any] = {"path": PATH} if "{path}" in before else {"path": Reads("")}
    return words(
        ShownLines,
        f"{before}<{tag}>{newline}{text}",
        *end,
        of=out.FileOutcome,
        to=_file,
        back=_shown,
        asked=op.ReadFile,
        _after=skipped("", "(?s:.*)"),
        **kinds,
        **path,
    )


def _entries(before: str, *end: Part, **facts: Any) -> Template:
    names = lines(words(out.Entry, "{path}/", kind="directory"), words(out.Entry, "{path}", kind=Reads("file")))
    listed: dict[str, Any] = {"entries": names} if "{entries}" in before else {"entries": ()}
    return words(
        out.DirectoryOutcome,
        f"<path>{{path}}</path>\n<type>directory</type>\n<entries>\n{before}",
        *end,
        "\n</entries>{_after}",
        to=_listed,
        path=PATH,
        _after=skipped("", "(?s:.*)"),
        **listed,
        **facts,
    )


def _listed(operation: Any, outcome: out.DirectoryOutcome) -> out.DirectoryOutcome:
    return msgspec.structs.replace(outcome, path=operation.path)


_PATH = "<path>{path}</path>\n<type>file</type>\n"
_MORE_ENTRIES = skipped("0 of more entries", "[^\\n]*")


class ReadingFiles:
    """How a file is told: numbered lines in a tag, and how many there are; a folder by its entries."""

    tells: ClassVar[Tells] = {out.FileOutcome: ("text", "first_line")}
    results: ClassVar[ResultWords | None] = one_of(
        picture("Image read successfully"),
        _lines_in(_PATH, "content"),
        _entries("", "\n\n(Showing {_more})", truncated=True, _more=_MORE_ENTRIES),
        _entries("", "\n\n(0 entries)", truncated=False),
        _entries("{entries}", "\n\n(Showing {_count} of more entries)", truncated=True, _count=count_of("entries")),
        _entries("{entries}", "\n\n({_count} entries)", truncated=False, _count=count_of("entries")),
        formerly=(
            # An empty file has no line at all (1.18.4).
            _lines_in(_PATH, "content", empty=True),
            _lines_in(_PATH, "content", empty=True, newline="\n\n"),
            # Some versions begin with the first line in the line of the tag.
            _lines_in(_PATH, "content", newline=""),
            # Up to 1.1.11 a file was given without its path, and in a tag of another name.
            *(_lines_in("", tag) for tag in ("content", "file")),
            *(_lines_in("", tag, empty=True) for tag in ("content", "file")),
            _entries("{entries}", "\n\n(Showing {_more})", truncated=True, _more=_MORE_ENTRIES),
            _entries("{entries}"),
        ),
    )

    def meant_instead(self, operation: op.Operation, failure: out.Failure) -> op.Operation | None:
        """A folder, read without a slash at its end, is listed."""
        if not isinstance(operation, op.ReadFile) or failure.details.get("reason") != "is_directory":
            return None
        return op.ListDirectory(operation.path) if operation.first_line is operation.last_line is None else None


READ_UNSAID = {
    "ReadFile.pages": "there is no parameter for the pages of a document",
    "ListDirectory.ignore": "nothing is left out",
    "ListDirectory.depth": "only one level is listed",
    "ListDirectory.respect_ignore": "nothing is left out",
    "ListDirectory.prefix": "a folder is listed, whatever its files are called",
}
READ_NEARLY = {"ListDirectory.path": "a slash at its end tells a folder from a file"}


def _to_read(path: str, first: int | None, count: int | None) -> tuple[op.Operation, ...]:
    if path.endswith("/") and first is None:
        return (op.ListDirectory(path.rstrip("/") or "/", limit=count),)
    return (op.ReadFile(path, first, None if count is None else (first or 1) + count - 1),)


def _from_read(operation: op.ReadFile | op.ListDirectory) -> tuple[str, int | None, int | None]:
    if isinstance(operation, op.ListDirectory):
        return operation.path.rstrip("/") + "/", None, operation.limit
    first, last = operation.first_line, operation.last_line
    return operation.path, first, None if last is None else last - (first or 1) + 1


class Read(ReadingFiles, Spelling[op.ReadFile | op.ListDirectory]):
    """Read a file, or `limit` of its lines from line `offset`; a folder is listed, an image comes back as it is."""

    native_name = "read"
    since = "1.18.4"
    unsaid = READ_UNSAID
    approximated = READ_NEARLY

    filePath: str = means("path", "Path of the file, or of the folder with a slash at its end.")  # noqa: N815 - native
    offset: int | None = means("first_line", "First line to read, from 1.", default=None, schema={"minimum": 0})
    limit: int | None = means("last_line", "How many lines or entries to read.", default=None, schema={"minimum": 0})

    def to_operations(self) -> tuple[op.Operation, ...]:
        return _to_read(self.filePath, self.offset, self.limit)

    @classmethod
    def from_operation(cls, operation: op.ReadFile | op.ListDirectory) -> Read | None:
        path, first, count = _from_read(operation)
        if isinstance(operation, op.ReadFile) and path.endswith("/") and first is None:
            return None
        return cls(filePath=path, offset=first, limit=count)


class ReadFromZero(ReadingFiles, Spelling[op.ReadFile | op.ListDirectory]):
    """Read a file, or `limit` of its lines after the first `offset`; a folder is listed."""

    native_name = "read"
    until = "1.1.53"
    unsaid = READ_UNSAID
    approximated = READ_NEARLY

    filePath: str = means("path", "Path of the file, or of the folder with a slash at its end.")  # noqa: N815 - native
    offset: float | None = means("first_line", "Lines to pass over before the first.", default=None)
    limit: float | None = means("last_line", "How many lines or entries to read.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        start = whole_number(self.offset)
        return _to_read(self.filePath, None if start is None else start + 1, whole_number(self.limit))

    @classmethod
    def from_operation(cls, operation: op.ReadFile | op.ListDirectory) -> ReadFromZero | None:
        path, first, count = _from_read(operation)
        if isinstance(operation, op.ReadFile) and path.endswith("/") and first is None:
            return None
        return cls(filePath=path, offset=None if first is None else first - 1, limit=count)


class List(Spelling[op.ListDirectory]):
    """List what a folder holds."""

    native_name = "list"
    read_only = NOT_OFFERED

    path: str = "."
    ignore: tuple[str, ...] = ()

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ListDirectory(self.path, self.ignore),)


# ── changing files ───────────────────────────────────────────────────────────


class WritingFiles:
    """How a written file is told: that it was done; the log knows whether the file was there before."""

    _DONE = "Wrote file successfully."

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if isinstance(outcome, out.DoneOutcome) and outcome.note == self._DONE:
            return outcome.note
        if (
            not isinstance(outcome, out.ChangesOutcome)
            or not outcome.changes
            or outcome.changes[0].kind not in ("created", "modified")
        ):
            return tell(operation, outcome)
        return self._DONE

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if text and not text.startswith(self._DONE):
            return understand(operation, native)
        existed = _metadata(native).get("exists")
        if not isinstance(existed, bool) or not isinstance(operation, op.WriteFile):
            return out.DoneOutcome(text or None)
        return out.ChangesOutcome((out.Change(operation.path, "modified" if existed else "created"),))


class Write(WritingFiles, Spelling[op.WriteFile]):
    """Write a whole file; an existing one is replaced."""

    native_name = "write"
    since, families = "1.1.53", EDITING
    unsaid = {"overwrite": "an existing file is always replaced"}

    content: str = means("content", "The whole new content.")
    filePath: str = means("path", "Path of the file.")  # noqa: N815 - the native name


class WriteForAll(Write):
    """Write a whole file; an existing one is replaced."""

    since, until, families = "1.1.11", "1.1.11", ("*",)


class EditingFiles:
    """How an edit is told: that it was applied; the log counts its lines."""

    _DONE = "Edit applied successfully."

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if isinstance(outcome, out.DoneOutcome) and outcome.note == self._DONE:
            return outcome.note
        if not isinstance(outcome, out.ChangesOutcome) or len(outcome.changes) != 1:
            return tell(operation, outcome)
        return self._DONE if outcome.changes[0].kind in ("modified", "created") else tell(operation, outcome)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if text and not text.startswith(self._DONE):
            return understand(operation, native)
        if not isinstance(operation, op.EditFile):
            return out.DoneOutcome(text or None)  # a file written by an edit of nothing may have been there or not
        counts = _metadata(native).get("filediff")
        added, removed = _lines_changed(counts)
        return out.ChangesOutcome((out.Change(operation.path, "modified", added=added, removed=removed),))


def _lines_changed(counts: Any) -> tuple[int | None, int | None]:
    if not isinstance(counts, dict):
        return None, None
    return _number(counts.get("additions")), _number(counts.get("deletions"))


class Edit(EditingFiles, Spelling[op.EditFile]):
    """Replace a piece of text in a file by another; it must stand there exactly once unless all are replaced."""

    native_name = "edit"
    since, families = "1.1.53", EDITING
    approximated = {"edits": "a text is matched, not whole lines; anchors and an expected count cannot be said"}
    unsaid = {"purpose": "there is no parameter for it"}

    filePath: str = means("path", "Path of the file.")  # noqa: N815 - the native name
    oldString: str = means("edits", "The exact text to replace, with enough around it to be unique.")  # noqa: N815
    newString: str = means(None, "The text to put in its place.")  # noqa: N815 - the native name
    replaceAll: bool | None = means(None, "Replace every occurrence.", default=None)  # noqa: N815 - the native name

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.oldString:
            return (op.WriteFile(self.filePath, self.newString),)
        edit = op.Edit(self.oldString, self.newString, everywhere=self.replaceAll or False)
        return (op.EditFile(self.filePath, (edit,)),)

    @classmethod
    def from_operation(cls, operation: op.EditFile) -> tuple[Edit, ...] | None:
        if not operation.edits or not all(edit.old for edit in operation.edits):
            return None
        return tuple(
            cls(
                filePath=operation.path,
                oldString=edit.old or "",
                newString=edit.new,
                replaceAll=edit.everywhere or None,
            )
            for edit in operation.edits
        )


class EditForAll(Edit):
    """Replace a piece of text in a file by another; it must stand there exactly once unless all are replaced."""

    since, until, families = "1.1.11", "1.1.11", ("*",)


class OneEdit(msgspec.Struct, frozen=True):
    """One of several edits."""

    oldString: str  # noqa: N815 - the native name
    newString: str  # noqa: N815 - the native name
    replaceAll: bool = False  # noqa: N815 - the native name
    filePath: str | None = None  # noqa: N815 - the native name


class MultiEdit(EditingFiles, Spelling[op.EditFile]):
    """Replace several pieces of text in a file, one after the other."""

    native_name = "multiedit"
    read_only = NOT_OFFERED

    filePath: str  # noqa: N815 - the native name
    edits: tuple[OneEdit, ...]

    def to_operations(self) -> tuple[op.Operation, ...]:
        if any(edit.filePath not in (None, self.filePath) for edit in self.edits):
            raise ValueError("all edits must be of the one file")
        edits = (op.Edit(edit.oldString, edit.newString, everywhere=edit.replaceAll) for edit in self.edits)
        return (op.EditFile(self.filePath, tuple(edits)),)


_UPDATED = "Success. Updated the following files:"
_LETTERS = {"created": "A", "modified": "M", "unchanged": "M", "moved": "M", "deleted": "D"}
_KINDS: dict[str, Literal["created", "modified", "deleted"]] = {"A": "created", "M": "modified", "D": "deleted"}


class ApplyPatch(Spelling[op.WriteFile | op.EditFile | op.DeleteFile | op.MoveFile]):
    """Change files with a patch: between "*** Begin Patch" and "*** End Patch" add, update (and move) or delete files.

    A new file's lines have "+" before them. An update names its places by "@@" and a line that stands
    above, shows lines with " ", takes them out with "-" and puts them in with "+".
    """

    native_name = "apply_patch"
    since, families = "1.1.53", PATCHING
    unsaid = {
        "WriteFile.overwrite": "a file that exists is replaced",
        "EditFile.purpose": "there is no place for it in a patch",
    }
    approximated = {
        "WriteFile.content": "a patch ends every line, so a last line without an end gets one",
        "EditFile.edits": "a patch speaks of whole lines, so a text is said as if it were whole lines",
    }

    patchText: str = means(None, "The whole patch.")  # noqa: N815 - the native name

    def to_operations(self) -> tuple[op.Operation, ...]:
        return read_patch(self.patchText)

    @classmethod
    def from_operation(cls, operation: op.WriteFile | op.EditFile | op.DeleteFile | op.MoveFile) -> Any:
        patches = [write_patch((part,)) for part in by_ends(in_whole_lines(operation))]
        return tuple(cls(patchText=patch) for patch in patches if patch) if all(patches) else None

    def from_outcomes(
        self, operations: tuple[op.Operation, ...], outcomes: tuple[out.Outcome, ...]
    ) -> tuple[Content, bool | None]:
        changes = [change for one in outcomes if isinstance(one, out.ChangesOutcome) for change in one.changes]
        if not all(isinstance(outcome, out.ChangesOutcome) for outcome in outcomes):
            return tell_all(operations, outcomes), None
        moved = {change.path: change.moved_to for change in changes if change.moved_to}
        lines = [f"{_LETTERS[change.kind]} {moved.get(change.path) or change.path}" for change in changes]
        return "\n".join([_UPDATED, *dict.fromkeys(lines)]), None

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        head, *lines = text_of(native.content).split("\n")
        if head != _UPDATED:
            return tuple(understand(operation, native) for operation in operations)
        listed = [(line[:1], line[2:]) for line in lines if line[:1] in _KINDS and line[1:2] == " "]
        moved = {operation.path: operation.to for operation in operations if isinstance(operation, op.MoveFile)}
        counts = _metadata(native).get("files")
        return tuple(_change(operation, listed, moved, counts) for operation in operations)


def _change(
    operation: op.Operation, listed: Sequence[tuple[str, str]], moved: Mapping[str, str], counts: Any
) -> out.Outcome:
    path = str(getattr(operation, "path", ""))
    goal = moved.get(path, path)
    letter = next((letter for letter, name in listed if _same_path(name, goal) or _same_path(name, path)), None)
    if letter is None:
        return out.UnknownOutcome("the result does not name this file")
    if isinstance(operation, op.MoveFile) and letter == "M":
        return out.ChangesOutcome((out.Change(path, "moved", moved_to=operation.to),))
    files = [one for one in counts if isinstance(one, dict)] if isinstance(counts, list) else []
    counted = next((one for one in files if _same_path(str(one.get("filePath")), path)), None)
    added, removed = _lines_changed(counted)
    return out.ChangesOutcome((out.Change(path, _KINDS[letter], added=added, removed=removed),))


def _same_path(one: str, other: str) -> bool:
    """Whether two names are one file's, one of them perhaps absolute."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


# ── searching ────────────────────────────────────────────────────────────────

_NONE_FOUND = "No files found"
_CUT = re.compile(r"(.*)\n\n\((?:Results are truncated|[^\n]*more results)[^\n]*\)", re.DOTALL)
_MORE = "(Results are truncated: give a narrower path or pattern.)"


def _uncut(text: str) -> tuple[str, bool]:
    found = _CUT.fullmatch(text)
    return (found[1], True) if found else (text, False)


class Glob(Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern, the newest first."""

    native_name = "glob"
    unsaid = {
        "case_sensitive": "there is no parameter for it",
        "respect_ignore": "ignored files are always left out",
        "limit": "the client has one limit for all",
    }

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    path: str = means("path", "The folder to look in.", default=".")

    tells: ClassVar[Tells] = {out.PathsOutcome: ("paths", "truncated")}

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PathsOutcome):
            return tell(operation, outcome)
        listed = "\n".join(outcome.paths) or _NONE_FOUND
        return f"{listed}\n\n{_MORE}" if outcome.truncated else listed

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        body, cut = _uncut(text_of(native.content))
        return out.PathsOutcome(() if body == _NONE_FOUND else tuple(body.split("\n")), truncated=cut)


class Grep(Spelling[op.SearchText]):
    """Search file contents with a regular expression."""

    native_name = "grep"
    unsaid = {
        "exclude": "files are only chosen, never left out",
        "file_type": "files are chosen by glob",
        "mode": "the matching lines are always given",
        "case_sensitive": "the pattern itself says so",
        "literal": "it is always a regular expression",
        "multiline": "a match is within a line",
        "only_matching": "whole lines are given",
        "before": "no lines around a match are given",
        "after": "no lines around a match are given",
        "line_numbers": "lines always have their numbers",
        "limit": "the client has one limit for all",
        "offset": "results start at the first",
        "limit_per_file": "results are cut as a whole",
        "respect_ignore": "ignored files are always left out",
    }

    pattern: str = means("pattern", "The regular expression.")
    path: str = means("path", "The folder to search in.", default=".")
    include: str | None = means("include", "Only files that match this glob.", default=None)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.MatchesOutcome) or outcome.mode != "content":
            return tell(operation, outcome)
        if not outcome.matches:
            return _NONE_FOUND
        blocks: dict[str, list[str]] = {}
        for match in outcome.matches:
            for index, line in enumerate((match.text or "").split("\n")):
                blocks.setdefault(match.path, []).append(f"  Line {(match.line or 1) + index}: {line}")
        count = outcome.total if outcome.total is not None else sum(len(lines) for lines in blocks.values())
        told = [f"{path}:\n" + "\n".join(lines) for path, lines in blocks.items()]
        return f"Found {count} matches\n" + "\n\n".join(told) + (f"\n\n{_MORE}" if outcome.truncated else "")

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        head = re.match(r"Found (\d+) match(?:es)?([^\n]*)\n", text)
        if text == _NONE_FOUND:
            return out.MatchesOutcome(())
        if head is None:
            return understand(operation, native)
        body, cut = _uncut(text[head.end() :])
        return out.MatchesOutcome(tuple(_matches(body)), total=int(head[1]), truncated=cut or bool(head[2]))


def _matches(body: str) -> list[out.Match]:
    matches: list[out.Match] = []
    path = ""
    for line in body.split("\n"):
        found = re.fullmatch(r"  Line (\d+): (.*)", line)
        if found is not None:
            matches.append(out.Match(path, int(found[1]), found[2]))
        elif line.endswith(":"):
            path = line[:-1]
    return matches


# ── commands ─────────────────────────────────────────────────────────────────

_NOTHING = "(no output)"
_SHELL_NOTE = re.compile(
    r"(?P<output>.*)\n\n<(?P<tag>shell_metadata|bash_metadata)>\n(?P<note>.*)\n</(?P=tag)>", re.DOTALL
)
_SAVED = re.compile(r"\.\.\.output truncated\.\.\.\n\nFull output saved to: ([^\n]*)\n\n")


def _shell_note(text: str) -> re.Match[str] | None:
    """What is said of a command after its output; most outputs have no such end, and are long."""
    return _SHELL_NOTE.fullmatch(text) if text.endswith("_metadata>") else None


class RunningCommands:
    """How a command is told: its output; what else there is to say stands in a tag after it.

    The client leaves the exit code out of its words: it is in the log, and we say it when it is not 0.
    """

    tells: ClassVar[Tells] = {out.CommandOutcome: ("signal", "running", "timed_out", "job")}

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.CommandOutcome):
            return tell(operation, outcome)
        printed = outcome.output if outcome.output is not None else (outcome.stdout or "") + (outcome.stderr or "")
        if outcome.output_path is not None:
            printed = f"...output truncated...\n\nFull output saved to: {outcome.output_path}\n\n{printed}"
        note = _state(outcome)
        return (printed or _NOTHING) + (f"\n\n<shell_metadata>\n{note}\n</shell_metadata>" if note else "")

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        noted = _shell_note(text)
        note = noted["note"] if noted else ""
        printed = noted["output"] if noted else text
        saved = _SAVED.match(printed)
        printed = printed[saved.end() :] if saved else printed
        code = re.search(r"exited with code (-?\d+)", note)
        signal = re.search(r"ended by signal (\d+)", note)
        running = re.search(r"is still running(?: as job (.+))?", note)
        exit_code = int(code[1]) if code else _number(_metadata(native).get("exit"))
        return out.CommandOutcome(
            exit_code,
            output="" if printed == _NOTHING else printed,
            signal=int(signal[1]) if signal else None,
            running=running is not None,
            timed_out="exceeding timeout" in note,
            job=running[1] if running else None,
            output_path=saved[1] if saved else None,
        )


def _state(outcome: out.CommandOutcome) -> str:
    if outcome.timed_out:
        return "shell tool terminated command after exceeding timeout"
    if outcome.running:
        return "the command is still running" + ("" if outcome.job is None else f" as job {outcome.job}")
    if outcome.signal is not None:
        return f"the command was ended by signal {outcome.signal}"
    return f"the command exited with code {outcome.exit_code}" if outcome.exit_code else ""


BASH_UNSAID = {
    "background": "a command is left running with `&`",
    "wait_ms": "a command is always waited for",
    "job": "commands have no names",
    "shell": "it is the user's shell",
    "login": "it is never a login shell",
    "terminal": "there is never a terminal",
    "output_limit": "the client has one limit for all output",
    "unsandboxed": "there is no sandbox",
}


class Bash(RunningCommands, Spelling[op.RunCommand]):
    """Run a command line in a shell; both output streams come back as one."""

    native_name = "bash"
    since = "1.18.4"
    unsaid = {**BASH_UNSAID, "purpose": "there is no parameter for it"}

    command: str = means("command", "The command line.")
    timeout: int | None = means("timeout_ms", "Milliseconds it may take.", default=None)
    workdir: str | None = means("cwd", "The folder to run it in.", default=None)


class BashDescribed(RunningCommands, Spelling[op.RunCommand]):
    """Run a command line in a shell; both output streams come back as one."""

    native_name = "bash"
    until = "1.1.53"
    unsaid = BASH_UNSAID
    approximated = {"purpose": "a description is required, so an empty one says nothing"}

    command: str = means("command", "The command line.")
    description: str = means("purpose", "What it does, in a few words.", convert=EMPTY_IS_UNSAID)
    timeout: float | None = means("timeout_ms", "Milliseconds it may take.", default=None, convert=WHOLE)
    workdir: str | None = means("cwd", "The folder to run it in.", default=None)


# ── web ──────────────────────────────────────────────────────────────────────


class FetchingPages:
    """How a page is told: as its text."""

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PagesOutcome):
            return tell(operation, outcome)
        texts = [page.text or page.snippet or "" for page in outcome.pages]
        return "\n\n".join(texts) if outcome.answer is None else outcome.answer

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        if not isinstance(native.content, str) or not isinstance(operation, op.FetchPage):
            return understand(operation, native)
        return out.PagesOutcome((out.Page(operation.url, text=native.content),))


PAGE_UNSAID = {
    "instructions": "the page itself comes back",
    "offset": "a page is taken from its start",
    "limit": "the client decides how much of a page is read",
}


class WebFetch(FetchingPages, Spelling[op.FetchPage]):
    """Fetch a page of the web."""

    native_name = "webfetch"
    since = "1.18.4"
    unsaid = PAGE_UNSAID

    url: str = means("url", "The page's address.")
    format: Literal["text", "markdown", "html"] | None = means("format", "The form wanted.", default=None)
    timeout: float | None = means("timeout_ms", "Seconds it may take.", default=None, convert=SECONDS)


class WebFetchFormatted(FetchingPages, Spelling[op.FetchPage]):
    """Fetch a page of the web in one of three forms."""

    native_name = "webfetch"
    until = "1.1.53"
    unsaid = PAGE_UNSAID

    url: str = means("url", "The page's address.")
    format: Literal["text", "markdown", "html"] = means("format", "The form wanted.")
    timeout: float | None = means("timeout_ms", "Seconds it may take.", default=None, convert=SECONDS)


class WebSearch(Spelling[op.SearchWeb]):
    """Search the web."""

    native_name = "websearch"
    read_only = NOT_OFFERED

    query: str
    numResults: int | None = None  # noqa: N815 - the native name
    livecrawl: str | None = native_only("how the search engine gets its pages is its own affair")
    type: str | None = native_only("how hard the search engine tries is its own affair")
    contextMaxCharacters: int | None = native_only("how much comes back is the search engine's affair")  # noqa: N815

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SearchWeb(self.query, limit=self.numResults),)


# ── plan ─────────────────────────────────────────────────────────────────────


class Todo(msgspec.Struct, frozen=True):
    """One thing to do."""

    content: str
    status: str
    priority: str


class EarlierTodo(msgspec.Struct, frozen=True):
    """One thing to do, when each had an id."""

    content: str
    status: str
    priority: str
    id: str


class KeptTodo(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing to do, as a result tells it."""

    content: str
    status: op.PlanStatus
    priority: str = ""
    id: str = ""


class TellingPlans:
    """How a plan is told: as the JSON it is kept in."""

    tells: ClassVar[Tells] = {out.PlanOutcome: ("items",)}

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PlanOutcome):
            return tell(operation, outcome)
        kept = [KeptTodo(item.text, item.status, item.priority or "", item.id or "") for item in outcome.items]
        return msgspec.json.format(json_text(kept).encode(), indent=2).decode()

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        try:
            kept = read_json(text_of(native.content), type=tuple[KeptTodo, ...])
        except msgspec.DecodeError:
            return understand(operation, native)
        return out.PlanOutcome(
            tuple(op.PlanItem(one.content, one.status, one.id or None, priority=one.priority or None) for one in kept)
        )


def _plan_item(todo: Todo | EarlierTodo) -> op.PlanItem:
    if todo.status not in get_args(op.PlanStatus):
        raise ValueError(f"{todo.status!r} is no status; take one of {', '.join(get_args(op.PlanStatus))}")
    id = todo.id if isinstance(todo, EarlierTodo) else ""
    return op.PlanItem(todo.content, todo.status, id or None, priority=todo.priority or None)  # type: ignore[arg-type]


class TodoWrite(TellingPlans, Spelling[op.UpdatePlan]):
    """Keep the list of things to do: the whole list each time, at most one of them in progress."""

    native_name = "todowrite"
    since = "1.18.4"
    approximated = {"items": "an item is a text, a status and a priority (empty: not said)"}
    unsaid = {"explanation": "the list speaks for itself"}

    todos: tuple[Todo, ...] = means("items", "The whole list, in order.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UpdatePlan(tuple(_plan_item(todo) for todo in self.todos)),)

    @classmethod
    def from_operation(cls, operation: op.UpdatePlan) -> TodoWrite:
        return cls(todos=tuple(Todo(item.text, item.status, item.priority or "") for item in operation.items))


class TodoWriteWithIds(TellingPlans, Spelling[op.UpdatePlan]):
    """Keep the list of things to do: the whole list each time, at most one of them in progress."""

    native_name = "todowrite"
    until = "1.1.53"
    approximated = {"items": "an item is a text, a status, a priority and an id (empty: not said)"}
    unsaid = {"explanation": "the list speaks for itself"}

    todos: tuple[EarlierTodo, ...] = means("items", "The whole list, in order.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UpdatePlan(tuple(_plan_item(todo) for todo in self.todos)),)

    @classmethod
    def from_operation(cls, operation: op.UpdatePlan) -> TodoWriteWithIds:
        todos = (EarlierTodo(one.text, one.status, one.priority or "", one.id or "") for one in operation.items)
        return cls(todos=tuple(todos))


class TodoRead(TellingPlans, Spelling[op.ReadPlan]):
    """Read the list of things to do."""

    native_name = "todoread"
    until = "1.1.11"
    unsaid = {"id": "the list is read whole"}


# ── agents ───────────────────────────────────────────────────────────────────


class ToldByAgents:
    """How a sub-agent's end is told: its result in tags that name its session."""

    unless_said: ClassVar[Mapping[str, Any]] = {"background": False}
    _STATES: ClassVar[dict[str, out.AgentStatus]] = {
        "completed": "completed",
        "running": "running",
        "error": "failed",
        "cancelled": "cancelled",
        "interrupted": "interrupted",
        "limited": "limited",
    }
    _NOW = re.compile(
        r'<task(?: id="(?P<id>[^"]*)")? state="(?P<state>[^"]*)">\n<task_(?:result|error)>\n(?P<text>.*)\n'
        r"</task_(?:result|error)>\n</task>",
        re.DOTALL,
    )
    # 1.1.53 and 1.1.11 told it so
    _BEFORE = re.compile(r"task_id: (?P<id>\S+)[^\n]*\n\n<task_result>\n(?P<text>.*)\n</task_result>", re.DOTALL)
    _FIRST = re.compile(r"(?P<text>.*)\n\n<task_metadata>\nsession_id: (?P<id>\S+)\n</task_metadata>", re.DOTALL)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.AgentsOutcome) or len(outcome.agents) != 1:
            return tell(operation, outcome)
        agent = outcome.agents[0]
        state = next((word for word, status in self._STATES.items() if status == agent.status), "unknown")
        id = "" if agent.id is None else f' id="{agent.id}"'
        return f'<task{id} state="{state}">\n<task_result>\n{agent.text or ""}\n</task_result>\n</task>'

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        agent = operation.agent if isinstance(operation, op.SpawnAgent) else None
        if now := self._NOW.fullmatch(text):
            status = self._STATES.get(now["state"], "unknown")
            return out.AgentsOutcome((out.AgentReport(now["id"], status, now["text"], agent=agent),))
        earlier = self._BEFORE.fullmatch(text) or self._FIRST.fullmatch(text)
        if earlier is None:
            return understand(operation, native)
        return out.AgentsOutcome((out.AgentReport(earlier["id"], "completed", earlier["text"], agent=agent),))


SPAWN_UNSAID = {
    "name": "an agent is called by its type alone",
    "system_prompt": "an agent's type has its own",
    "model": "an agent's type has its own",
    "effort": "an agent's type has its own",
    "background": "the answer is always waited for",
    "isolation": "agents share the workspace",
    "cwd": "agents share the workspace",
    "history": "an agent starts with its prompt alone",
    "tools": "an agent's type has its own",
    "max_turns": "an agent's type has its own",
}
SPAWN_NEARLY = {
    "description": "a description is required, so an empty one says nothing",
    "agent": "a type is required: without one it is the general agent",
}
GENERAL = Conversion(to=lambda agent: agent, back=lambda agent: agent or "general")


class Task(ToldByAgents, Spelling[op.SpawnAgent]):
    """Give a task to another agent and wait for its result, or go on with one that ended."""

    native_name = "task"
    since = "1.1.53"
    unsaid = SPAWN_UNSAID
    approximated = SPAWN_NEARLY

    description: str = means("description", "The task in a few words.", convert=EMPTY_IS_UNSAID)
    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    subagent_type: str = means("agent", "The agent's type.", convert=GENERAL)
    task_id: str | None = means("continues", "An earlier task to go on with.", default=None)
    command: str | None = means("command", "The command that led to this task.", default=None)


class TaskBySession(ToldByAgents, Spelling[op.SpawnAgent]):
    """Give a task to another agent and wait for its result, or go on with one that ended."""

    native_name = "task"
    until = "1.1.11"
    unsaid = SPAWN_UNSAID
    approximated = SPAWN_NEARLY

    description: str = means("description", "The task in a few words.", convert=EMPTY_IS_UNSAID)
    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    subagent_type: str = means("agent", "The agent's type.", convert=GENERAL)
    session_id: str | None = means("continues", "An earlier session to go on with.", default=None)
    command: str | None = means("command", "The command that led to this task.", default=None)


# ── people and extensions ────────────────────────────────────────────────────


class AskedOption(msgspec.Struct, frozen=True):
    """One answer to choose from."""

    label: str
    description: str


class AskedQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question to the user."""

    question: str
    header: str
    options: tuple[AskedOption, ...]
    multiple: bool = False


class AskUser(Spelling[op.AskUser]):
    """Ask the user one or several questions."""

    native_name = "question"
    until = "1.1.53"
    approximated = {"questions": "a question has no id, no default, and its options no preview"}

    questions: tuple[AskedQuestion, ...] = means("questions", "The questions.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (
            op.AskUser(
                tuple(
                    op.Question(
                        asked.question,
                        tuple(op.Option(option.label, option.description or None) for option in asked.options),
                        asked.header or None,
                        asked.multiple,
                    )
                    for asked in self.questions
                )
            ),
        )

    @classmethod
    def from_operation(cls, operation: op.AskUser) -> AskUser:
        return cls(
            questions=tuple(
                AskedQuestion(
                    question.text,
                    question.header or "",
                    tuple(AskedOption(option.label, option.description or "") for option in question.options),
                    question.multiple,
                )
                for question in operation.questions
            )
        )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.AnswersOutcome) or not outcome.answers:
            return tell(operation, outcome)
        said = (f'"{one.question}"="{one.text or ", ".join(one.choices)}"' for one in outcome.answers)
        return f"User has answered your questions: {', '.join(said)}."

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if not text.startswith("User has answered your questions: "):
            return understand(operation, native)
        found = re.findall(r'"(.*?)"="(.*?)"', text, re.DOTALL)
        return out.AnswersOutcome(tuple(out.Answer(question, text=answer) for question, answer in found))


class UseSkill(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "skill"
    unsaid = {"arguments": "a skill takes none"}

    name: str = means("name", "The skill's name.")


class ListedResource(msgspec.Struct, frozen=True, omit_defaults=True, rename={"media_type": "mimeType"}):
    """One resource as it is listed."""

    name: str | None = None
    uri: str | None = None
    uriTemplate: str | None = None  # noqa: N815 - the native name
    description: str | None = None
    media_type: str | None = None
    server: str | None = None


class ListedResources(msgspec.Struct, frozen=True, omit_defaults=True):
    """The list itself, under one of two names."""

    resources: tuple[ListedResource, ...] | None = None
    resourceTemplates: tuple[ListedResource, ...] | None = None  # noqa: N815 - the native name


class ListingResources:
    """How resources are told: as JSON."""

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.ResourcesOutcome):
            return tell(operation, outcome)
        templates = isinstance(operation, op.ListMcpResources) and operation.templates
        listed = tuple(
            ListedResource(
                one.name,
                None if templates else one.uri,
                one.uri if templates else None,
                one.description,
                one.media_type,
                one.server,
            )
            for one in outcome.resources
        )
        whole = ListedResources(resourceTemplates=listed) if templates else ListedResources(listed)
        return msgspec.json.format(json_text(whole).encode(), indent=2).decode()

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        try:
            listed = read_json(text_of(native.content), type=ListedResources)
        except msgspec.DecodeError:
            return understand(operation, native)
        found = listed.resources if listed.resources is not None else listed.resourceTemplates
        if found is None:
            return understand(operation, native)
        return out.ResourcesOutcome(
            tuple(
                out.Resource(one.uri or one.uriTemplate or "", one.name, one.description, one.media_type, one.server)
                for one in found
            )
        )


LIST_UNSAID = {"uri": "resources are not listed by folder", "cursor": "the list is given whole"}


class ListMcpResources(ListingResources, Spelling[op.ListMcpResources]):
    """List the resources that MCP servers offer."""

    native_name = "list_mcp_resources"
    since = "1.18.4"
    always = {"templates": False}
    unsaid = LIST_UNSAID

    server: str | None = means("server", "Only this server's.", default=None)


class ListMcpResourceTemplates(ListingResources, Spelling[op.ListMcpResources]):
    """List the resource templates that MCP servers offer."""

    native_name = "list_mcp_resource_templates"
    since = "1.18.4"
    always = {"templates": True}
    unsaid = LIST_UNSAID

    server: str | None = means("server", "Only this server's.", default=None)


class ReadMcpResource(Spelling[op.ReadMcpResource]):
    """Read a resource of an MCP server."""

    native_name = "read_mcp_resource"
    since = "1.18.4"

    server: str = means("server", "The server.")
    uri: str = means("uri", "The resource's URI.")

    _TOLD = re.compile(r"Resource: ([^\n]*)\n(?:MIME: ([^\n]*)\n)?(.*)", re.DOTALL)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.ResourcesOutcome) or len(outcome.resources) != 1:
            return tell(operation, outcome)
        resource = outcome.resources[0]
        if resource.text is None:
            return tell(operation, outcome)
        kind = "" if resource.media_type is None else f"MIME: {resource.media_type}\n"
        return f"Resource: {resource.uri}\n{kind}{resource.text}"

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        found = self._TOLD.fullmatch(native.content) if isinstance(native.content, str) else None
        if found is None:
            return understand(operation, native)
        return out.ResourcesOutcome((out.Resource(found[1], media_type=found[2], server=self.server, text=found[3]),))


# ── failures ─────────────────────────────────────────────────────────────────


class Invalid(Spelling[op.Unrecognised]):
    """A call the client could not make sense of, kept in place of it: the tool that was called, and what was wrong."""

    native_name = "invalid"
    read_only = "the client writes it, never a model"

    tool: str
    error: str

    def to_operations(self) -> tuple[op.Operation, ...]:
        kind = "unknown_tool" if "unavailable tool" in self.error else "invalid_arguments"
        raise ToolError(self.error, kind=kind, details={"tool": self.tool})


class OpencodeFailures(FailuresInWords):
    """Failures by their words; what became of a call that could not be read is no error to the log."""

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """As for all, but that an interrupted command and an unreadable call look like successes."""
        text = text_of(native.content)
        if call.native.name == Invalid.native_name and call.failure is not None:
            return out.Failure(call.failure.kind, text, call.failure.details)
        noted = _shell_note(text)
        if noted is not None and "aborted the command" in noted["note"]:
            return out.Failure("cancelled", text)
        return super().understand(call, native)

    def kind(self, message: str) -> out.FailureKind:
        """As for all; up to 1.2 the kind of the exception stands before its words, and says nothing."""
        return super().kind(re.sub(r"\AError: ", "", message))


FAILURES = OpencodeFailures(
    (
        (r".*Model tried to call unavailable tool", "unknown_tool"),
        (
            r"The (?:user|\S+ tool) .*invalid arguments|The arguments provided to the tool are invalid",
            "invalid_arguments",
        ),
        (r"The user (?:rejected permission|has specified a rule|dismissed this question)", "denied"),
        (r"Tool execution aborted", "cancelled"),
        (r"(?s:.*)\btimed out\b", "timed_out"),
    ),
    {
        "unknown_tool": "Model tried to call unavailable tool '{tool}'. {message}",
        "invalid_arguments": "The {tool} tool was called with invalid arguments: {message}",
        "denied": "The user rejected permission to use this specific tool call. {message}",
        "cancelled": "Tool execution aborted. {message}",
        "timed_out": "The tool timed out: {message}",
    },
)


DIALECT = Dialect(
    "opencode",
    (
        ApplyPatch,
        Bash,
        BashDescribed,
        Edit,
        EditForAll,
        MultiEdit,
        Glob,
        Grep,
        ListMcpResourceTemplates,
        ListMcpResources,
        Read,
        ReadFromZero,
        List,
        ReadMcpResource,
        UseSkill,
        Task,
        TaskBySession,
        TodoWrite,
        TodoWriteWithIds,
        TodoRead,
        WebFetch,
        WebFetchFormatted,
        WebSearch,
        Write,
        WriteForAll,
        AskUser,
        Invalid,
    ),
    steering=(
        Steer("plan_enter", "a mode of the client"),
        Steer("plan_exit", "a mode of the client", approves=PlanApproval()),
    ),
    mcp=(McpNames("{server}_{tool}"),),
    failures=FAILURES,
    default_family="claude-sonnet-4-5",
    captured=("1.1.11", "1.1.53", "1.18.4", "1.18.33"),
    unspoken={
        op.SearchTools: "all tools are offered up front",
        op.MessageAgent: "an agent that ended is given another task",
        op.WaitForAgent: "an agent's answer is always waited for",
        op.ResumeAgent: "an agent that ended is given another task",
    },
)
