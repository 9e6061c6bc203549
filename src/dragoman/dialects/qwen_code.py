"""Qwen Code's vocabulary (0.1.3 … 0.24.4): one class per native tool, in the words its models know.

Tools that are not offered up front are called through `tool_call`, which is opened: what it carries is what is meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult
from dragoman.model.json_text import json_text, read_json

from .base.default_words import FailuresInWords, as_called, tell, text_of, understand
from .base.dialect import Dialect, PlanApproval, Steer
from .base.gemini_family import (
    EMPTY_FOLDER,
    EXIT_CODE,
    FACTS,
    FILE,
    SIGNAL,
    WHOLE_FILE,
    listed,
    none_ignored,
    noted_file,
)
from .base.mcp_names import McpNames
from .base.spelling import (
    EMPTY_IS_UNSAID,
    TUPLE,
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
from .base.words import (
    ANY,
    ASKED,
    Reads,
    Template,
    body,
    count_of,
    done,
    inside,
    maybe,
    one_of,
    one_stream,
    or_none,
    picture,
    skipped,
    stays_text,
    without,
    words,
)

FILTERS = "which ignore files count is the workspace's to decide"
NO_PAGES = {"pages": "there is no parameter for the pages of a document"}


def _display(native: NativeResult) -> dict[str, Any]:
    """What the log keeps for display beside a result, where that is data."""
    item = native.item
    shown = item.get("resultDisplay") if isinstance(item, dict) else None
    return shown if isinstance(shown, dict) else {}


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# ── reading files ────────────────────────────────────────────────────────────


class ReadingFiles:
    """How a file is told: as it is, or under a note that says which lines of how many these are."""

    tells: ClassVar[Tells] = {out.FileOutcome: ("text", "first_line")}
    results: ClassVar[ResultWords | None] = one_of(
        picture("Binary content provided (1 item(s))."),
        noted_file("", "{_about}\n\n---\n\n", skipped("", "[^\\n]*")),
        WHOLE_FILE,
        read_first=(stays_text("Jupyter Notebook ("), stays_text("[Unsupported ")),
    )


def _lines(offset: float | None, limit: float | None) -> tuple[int | None, int | None]:
    """First and last line, from an offset that counts from 0."""
    start, count = whole_number(offset), whole_number(limit)
    first = None if start is None else start + 1
    return first, None if count is None else (first or 1) + count - 1


def _offset(operation: op.ReadFile) -> dict[str, int | None]:
    first, last = operation.first_line, operation.last_line
    return {
        "offset": None if first is None else first - 1,
        "limit": None if last is None else last - (first or 1) + 1,
    }


OFFSET = "Lines to pass over before the first."
LIMIT = "How many lines to read."
OR_NULL = {"type": ["integer", "null"]}
NO_DOCUMENTS = {"pages": "Read a file by its absolute path, or `limit` of its lines from `offset` (from 0)."}


class ReadFile(ReadingFiles, Spelling[op.ReadFile]):
    """Read a file by its absolute path, or `limit` of its lines from `offset` (from 0), or pages of a document."""

    native_name = "read_file"
    unhonoured = NO_DOCUMENTS
    since = "0.24"

    file_path: str = means("path", "Absolute path of the file.")
    offset: int | None = means("first_line", OFFSET, default=None, schema=OR_NULL)
    limit: int | None = means("last_line", LIMIT, default=None, schema=OR_NULL)
    pages: str | None = means(
        "pages", "Pages of a document, for example `1-5`.", default=None, schema={"type": ["string", "null"]}
    )

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ReadFile(self.file_path, *_lines(self.offset, self.limit), self.pages),)

    @classmethod
    def from_operation(cls, operation: op.ReadFile) -> ReadFile:
        return cls(file_path=operation.path, pages=operation.pages, **_offset(operation))


class ReadFileByNumber(ReadingFiles, Spelling[op.ReadFile]):
    """Read a file by its absolute path, or `limit` of its lines from `offset` (from 0), or pages of a document."""

    native_name = "read_file"
    unhonoured = NO_DOCUMENTS
    since, until = "0.15", "0.15"

    file_path: str = means("path", "Absolute path of the file.")
    offset: float | None = means("first_line", OFFSET, default=None)
    limit: float | None = means("last_line", LIMIT, default=None)
    pages: str | None = means("pages", "Pages of a document, for example `1-5`.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ReadFile(self.file_path, *_lines(self.offset, self.limit), self.pages),)

    @classmethod
    def from_operation(cls, operation: op.ReadFile) -> ReadFileByNumber:
        return cls(file_path=operation.path, pages=operation.pages, **_offset(operation))


class ReadFileByAbsolutePath(ReadingFiles, Spelling[op.ReadFile]):
    """Read a file given by its absolute path, or `limit` of its lines from `offset` (from 0)."""

    native_name = "read_file"
    until = "0.12"
    unsaid = NO_PAGES

    absolute_path: str = means("path", "Absolute path of the file.")
    offset: float | None = means("first_line", OFFSET, default=None)
    limit: float | None = means("last_line", LIMIT, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ReadFile(self.absolute_path, *_lines(self.offset, self.limit)),)

    @classmethod
    def from_operation(cls, operation: op.ReadFile) -> ReadFileByAbsolutePath:
        return cls(absolute_path=operation.path, **_offset(operation))


class FilterOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which ignore files a listing respects."""

    respect_git_ignore: bool | None = None


QWEN_IGNORE = {"respect_qwen_ignore": FILTERS}
FILTER_OPTIONS = Conversion(
    to=lambda options: None if options is None else options.respect_git_ignore,
    back=lambda respect: None if respect is None else FilterOptions(respect),
)


class ReadManyFiles(Spelling[op.ReadFiles]):
    """Read all files that match one of several glob patterns."""

    native_name = "read_many_files"
    until = "0.7"

    paths: tuple[str, ...] = means("patterns", "Paths or glob patterns.")
    include: tuple[str, ...] = means(None, "More patterns.", default=())
    exclude: tuple[str, ...] = means("exclude", "Patterns to leave out.", default=())
    recursive: bool = native_only("a pattern says itself how deep it goes", default=True)
    useDefaultExcludes: bool = native_only(FILTERS, default=True)  # noqa: N815 - the native name
    file_filtering_options: FilterOptions | None = means(
        "respect_ignore", "Which ignore files count.", default=None, without=QWEN_IGNORE
    )

    def to_operations(self) -> tuple[op.Operation, ...]:
        options = self.file_filtering_options
        respect = options is None or options.respect_git_ignore is not False
        return (op.ReadFiles(self.paths + self.include, self.exclude, respect),)

    @classmethod
    def from_operation(cls, operation: op.ReadFiles) -> ReadManyFiles:
        options = None if operation.respect_ignore else FilterOptions(respect_git_ignore=False)
        return cls(paths=operation.patterns, exclude=operation.exclude, file_filtering_options=options)


class ListDirectory(Spelling[op.ListDirectory]):
    """List the files and folders directly inside a folder given by its absolute path."""

    native_name = "list_directory"
    until = "0.15"
    unsaid = {
        "depth": "only one level is listed",
        "limit": "the listing is not cut",
        "prefix": "a folder is listed, whatever its files are called",
    }

    path: str = means("path", "The folder to list.")
    ignore: tuple[str, ...] | None = means(
        "ignore", "Glob patterns of names to leave out.", default=None, convert=TUPLE
    )
    file_filtering_options: FilterOptions | None = means(
        "respect_ignore", "Whether ignore files count.", default=None, convert=FILTER_OPTIONS, without=QWEN_IGNORE
    )

    results = one_of(
        EMPTY_FOLDER,
        listed("Listed {_count} item(s) in {path}:\n---\n", "git-", FILE, count=count_of("entries")),
        formerly=(listed("Directory listing for {path}:\n", "", FILE),),
        back=none_ignored,
    )


ZOOMED = (0, 0, 1000, 1000)


class ZoomImage(Spelling[op.ViewImage]):
    """Look closely at a part of an image, given by its corners from 0 to 1000."""

    native_name = "zoom_image"
    since = "0.24"
    approximated = {"region": "corners go from 0 to 1000, whatever the size of the image"}
    unsaid = {"detail": "there is no parameter for it"}

    file_path: str = means("path", "Absolute path of the image.")
    x1: int = means("region", "Left edge.", schema={"minimum": 0, "maximum": 1000})
    y1: int = means(None, "Top edge.", schema={"minimum": 0, "maximum": 1000})
    x2: int = means(None, "Right edge.", schema={"minimum": 0, "maximum": 1000})
    y2: int = means(None, "Bottom edge.", schema={"minimum": 0, "maximum": 1000})

    def to_operations(self) -> tuple[op.Operation, ...]:
        corners = (self.x1, self.y1, self.x2, self.y2)
        return (op.ViewImage(self.file_path, region=None if corners == ZOOMED else corners),)

    @classmethod
    def from_operation(cls, operation: op.ViewImage) -> ZoomImage | None:
        x1, y1, x2, y2 = operation.region or ZOOMED
        if not all(0 <= edge <= 1000 for edge in (x1, y1, x2, y2)):
            return None
        return cls(file_path=operation.path, x1=x1, y1=y1, x2=x2, y2=y2)


# ── changing files ───────────────────────────────────────────────────────────


class ChangingFiles:
    """How a change is told: what happened to which file; the log counts the lines."""

    _TOLD = re.compile(
        r"(?:The file: (?P<updated>.+?) has been updated\.|Notebook (?P<notebook>.+?) has been updated\."
        r"|(?:Successfully created and wrote to new file|Created new file): (?P<created>.+?)"
        r"(?: with provided content)?\."
        r"|Successfully (?:overwrote|modified) file: (?P<modified>.+?)(?: \((?P<count>\d+) replacements?\))?\.)(?:\s|$)"
    )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.ChangesOutcome) or len(outcome.changes) != 1:
            return tell(operation, outcome)
        change = outcome.changes[0]
        if change.kind == "created":
            return f"Successfully created and wrote to new file: {as_called(operation, change.path)}."
        if change.kind != "modified":
            return tell(operation, outcome)
        if isinstance(operation, op.EditNotebook):
            return f"Notebook {as_called(operation, change.path)} has been updated. {operation.mode} cell."
        if isinstance(operation, op.WriteFile):
            return f"Successfully overwrote file: {as_called(operation, change.path)}."
        return f"The file: {as_called(operation, change.path)} has been updated."

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        found = self._TOLD.match(text_of(native.content))
        if found is None:
            return understand(operation, native)
        kind: Literal["created", "modified"] = "created" if found["created"] else "modified"
        path = found["created"] or found["updated"] or found["notebook"] or found["modified"]
        counts = _display(native).get("diffStat")
        counted = counts if isinstance(counts, dict) else {}
        change = out.Change(
            path,
            kind,
            added=_number(counted.get("model_added_lines")),
            removed=_number(counted.get("model_removed_lines")),
            replacements=int(found["count"]) if found["count"] else None,
        )
        return out.ChangesOutcome((change,))


class WriteFile(ChangingFiles, Spelling[op.WriteFile]):
    """Write a whole file; an existing one is replaced."""

    native_name = "write_file"
    unsaid = {"overwrite": "an existing file is always replaced"}

    file_path: str = means("path", "Absolute path of the file.")
    content: str = means("content", "The whole new content.")
    record_as_artifact: bool | None = native_only("what the client shows as a product is its own affair", since="0.24")


def _created(path: str, content: str) -> tuple[op.Operation, ...]:
    """Nothing replaced by something is how a file that is not there yet is created."""
    return (op.WriteFile(path, content, overwrite=False),)


OLD = "The exact text to replace, with enough around it to be unique."
NEW = "The text to put in its place."


class Edit(ChangingFiles, Spelling[op.EditFile]):
    """Replace a piece of text in a file by another; it must stand there exactly once unless all are replaced."""

    native_name = "edit"
    since = "0.7"
    approximated = {"edits": "a text is matched, not whole lines; anchors and an expected count cannot be said"}
    unsaid = {"purpose": "there is no parameter for it"}

    file_path: str = means("path", "Absolute path of the file.")
    old_string: str = means("edits", OLD)
    new_string: str = means(None, NEW)
    replace_all: bool = means(None, "Replace every occurrence.", default=False)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.old_string:
            return _created(self.file_path, self.new_string)
        edit = op.Edit(self.old_string, self.new_string, everywhere=self.replace_all)
        return (op.EditFile(self.file_path, (edit,)),)

    @classmethod
    def from_operation(cls, operation: op.EditFile) -> tuple[Edit, ...] | None:
        if not operation.edits or not all(edit.old for edit in operation.edits):
            return None
        return tuple(
            cls(
                file_path=operation.path,
                old_string=edit.old or "",
                new_string=edit.new,
                replace_all=edit.everywhere,
            )
            for edit in operation.edits
        )


class EditCounted(ChangingFiles, Spelling[op.EditFile]):
    """Replace a piece of text in a file by another, as many times as is expected."""

    native_name = "edit"
    until = "0.1"
    approximated = {"edits": "a text is matched, not whole lines; every occurrence must be counted beforehand"}
    unsaid = {"purpose": "there is no parameter for it"}

    file_path: str = means("path", "Absolute path of the file.")
    old_string: str = means("edits", OLD)
    new_string: str = means(None, NEW)
    expected_replacements: float | None = means(
        None, "How many times it must be replaced; once if not given.", default=None, schema={"minimum": 1}
    )

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.old_string:
            return _created(self.file_path, self.new_string)
        expected = whole_number(self.expected_replacements)
        edit = op.Edit(self.old_string, self.new_string, everywhere=(expected or 1) > 1, expected=expected)
        return (op.EditFile(self.file_path, (edit,)),)

    @classmethod
    def from_operation(cls, operation: op.EditFile) -> tuple[EditCounted, ...] | None:
        if not operation.edits or not all(edit.old for edit in operation.edits):
            return None
        return tuple(
            cls(
                file_path=operation.path,
                old_string=edit.old or "",
                new_string=edit.new,
                expected_replacements=edit.expected,
            )
            for edit in operation.edits
        )


class NotebookEdit(ChangingFiles, Spelling[op.EditNotebook]):
    """Replace, insert or delete one cell of a notebook."""

    native_name = "notebook_edit"
    since = "0.24"

    notebook_path: str = means("path", "Absolute path of the notebook.")
    cell_id: str | None = means("cell_id", "The cell; an inserted one comes after it, or first.", default=None)
    new_source: str | None = means("source", "The cell's new source.", default=None)
    cell_type: Literal["code", "markdown"] | None = means("cell_type", "The cell's type.", default=None)
    edit_mode: Literal["replace", "insert", "delete"] = means("mode", "What to do.", default="replace")


# ── searching ────────────────────────────────────────────────────────────────


def _where(path: str) -> str:
    return "in the workspace directory" if path == "." else f"within {path}"


class FindingFiles:
    """How found files are told: how many, then one a line."""

    tells: ClassVar[Tells] = {out.PathsOutcome: ("paths",)}

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PathsOutcome) or not isinstance(operation, op.FindFiles):
            return tell(operation, outcome)
        where = f'"{operation.pattern}" {_where(operation.path)}'
        if not outcome.paths:
            return f"No files found matching pattern {where}"
        cut = ["---", "[more files follow: truncated]"] if outcome.truncated else []
        return "\n".join([f"Found {len(outcome.paths)} file(s) matching {where}:", "---", *outcome.paths, *cut])

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if text.startswith("No files found matching pattern"):
            return out.PathsOutcome(())
        head = re.match(r"Found (\d+) file\(s\) matching .*?:\n(?:---\n)?", text, re.DOTALL)
        if head is None:
            return understand(operation, native)
        listed, _, note = text[head.end() :].partition("\n---\n[")
        paths = tuple(listed.split("\n"))
        cut = "truncated" in note
        return out.PathsOutcome(paths, int(head[1]) if cut and int(head[1]) > len(paths) else None, cut)


class Glob(FindingFiles, Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern, the newest first."""

    native_name = "glob"
    since = "0.7"
    unsaid = {
        "case_sensitive": "there is no parameter for it",
        "respect_ignore": "ignored files are always left out",
        "limit": "the client has one limit for all",
    }

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    path: str = means("path", "The folder to look in.", default=".")


class GlobFiltered(FindingFiles, Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern, the newest first."""

    native_name = "glob"
    until = "0.1"
    unsaid = {"limit": "the list is not cut"}

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    path: str = means("path", "The folder to look in.", default=".")
    case_sensitive: bool | None = means("case_sensitive", "Whether case matters.", default=None)
    respect_git_ignore: bool | None = means("respect_ignore", "Whether ignored files are left out.", default=None)
    respect_qwen_ignore: bool | None = native_only(FILTERS)


class SearchingText:
    """How matches are told: counted, then one a line with its file and number."""

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.MatchesOutcome) or not isinstance(operation, op.SearchText):
            return tell(operation, outcome)
        where = f'for pattern "{operation.pattern}" {_where(operation.path)}'
        if not outcome.matches:
            return f"No matches found {where}."
        if outcome.mode != "content":
            return tell(operation, outcome)
        lines = [
            f"{match.path}:{(match.line or 1) + index}:{line}"
            for match in outcome.matches
            for index, line in enumerate((match.text or "").split("\n"))
        ]
        count = outcome.total if outcome.total is not None else len(lines)
        noun = "match" if count == 1 else "matches"
        cut = ["---", "[more lines follow: truncated]"] if outcome.truncated else []
        return "\n".join([f"Found {count} {noun} {where}:", "---", *lines, *cut])

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if text.startswith("No matches found"):
            return out.MatchesOutcome(())
        head = re.match(r"Found (\d+) match(?:es)? .*?:\n---\n", text, re.DOTALL)
        if head is None:
            return understand(operation, native)
        listed, _, note = text[head.end() :].partition("\n---\n[")
        found = re.findall(r"^(.+?):(\d+):(.*)$", listed, re.MULTILINE)
        matches = tuple(out.Match(path, int(line), words) for path, line, words in found)
        return out.MatchesOutcome(matches, total=int(head[1]), truncated="truncated" in note)


GREP_UNSAID = {
    "exclude": "files are only chosen, never left out",
    "file_type": "files are chosen by glob",
    "mode": "the matching lines are always given",
    "case_sensitive": "case never matters",
    "literal": "it is always a regular expression",
    "multiline": "a match is within a line",
    "only_matching": "whole lines are given",
    "before": "no lines around a match are given",
    "after": "no lines around a match are given",
    "line_numbers": "lines always have their numbers",
    "offset": "results start at the first",
    "limit_per_file": "results are cut as a whole",
    "respect_ignore": "ignored files are always left out",
}


class GrepSearch(SearchingText, Spelling[op.SearchText]):
    """Search file contents with a regular expression."""

    native_name = "grep_search"
    since = "0.24"
    unsaid = GREP_UNSAID

    pattern: str = means("pattern", "The regular expression.")
    glob: str | None = means("include", "Only files that match this glob.", default=None)
    path: str = means("path", "The folder or file to search in.", default=".")
    limit: int | None = means("limit", "At most so many matching lines.", default=None, schema={"minimum": 1})


class GrepSearchByNumber(SearchingText, Spelling[op.SearchText]):
    """Search file contents with a regular expression."""

    native_name = "grep_search"
    until = "0.15"
    unsaid = GREP_UNSAID

    pattern: str = means("pattern", "The regular expression.")
    glob: str | None = means("include", "Only files that match this glob.", default=None)
    path: str = means("path", "The folder or file to search in.", default=".")
    limit: float | None = means("limit", "At most so many matching lines.", default=None, convert=WHOLE)


class GrepSearchIncluding(SearchingText, Spelling[op.SearchText]):
    """Search file contents with a regular expression."""

    native_name = "grep_search"
    read_only = "0.1 and before say it so where ripgrep is missing, which was there when it was captured"
    unsaid = GREP_UNSAID

    pattern: str = means("pattern", "The regular expression.")
    include: str | None = means("include", "Only files that match this glob.", default=None)
    path: str = means("path", "The folder to search in.", default=".")
    maxResults: float | None = means(  # noqa: N815 - the native name
        "limit", "At most so many matching lines.", default=None, convert=WHOLE
    )


class ToolSearch(Spelling[op.SearchTools]):
    """Look for tools that were not offered up front: by words, or by name with `select:`."""

    native_name = "tool_search"
    since = "0.15"

    query: str = means("query", "Words, or `select:` and names with commas between them.", schema={"minLength": 1})
    max_results: int | None = means("limit", "At most so many; 5 if not given.", default=None)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.ToolsOutcome) or outcome.definitions:
            return tell(operation, outcome)
        if not outcome.names:
            return f"Not found: {self.query.removeprefix('select:')}"
        named = [json_text({"name": name}) for name in outcome.names]
        return "<functions>\n" + "\n".join(f"<function>{one}</function>" for one in named) + "\n</functions>"

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if text.startswith("Not found: "):
            return out.ToolsOutcome(())
        found = re.findall(r'<function>\s*\{[^{}]*?"name":\s*"((?:[^"\\]|\\.)*)"', text)
        if not found:
            return understand(operation, native)
        return out.ToolsOutcome(tuple(read_json(f'"{name}"', type=str) for name in found))


# ── commands ─────────────────────────────────────────────────────────────────

_RAN = ("Command: ", "Command timed out", "Background shell started", "Tool output was too large")
_CALLED = "Command: {asked.command}\nDirectory: {_folder}\nOutput: "
_FOLDER = skipped(lambda asked: asked.cwd or "(root)")
_JOB = or_none(without(""), "unknown")
_ENDED = words(
    out.CommandOutcome,
    _CALLED,
    "{output}",
    FACTS,
    asked_command=ASKED,
    output=body("(empty)", trim=True),
    exit_code=EXIT_CODE,
    signal=SIGNAL,
    job=ANY,
    _folder=_FOLDER,
    _error=skipped("(none)"),
)
_ENDED_ONCE = words(
    out.CommandOutcome,
    _CALLED,
    "{output}",
    FACTS,
    maybe("\nBackground PIDs: {_pids}"),
    maybe("\nProcess Group PGID: {_group}"),
    asked_command=ASKED,
    output=body("(empty)"),
    exit_code=EXIT_CODE,
    signal=SIGNAL,
    _folder=_FOLDER,
    _error=skipped(""),
    _pids=skipped(""),
    _group=skipped(""),
)
_LEFT = one_of(formerly=(_ENDED_ONCE,))


def _started(head: str) -> tuple[Template, ...]:
    """That a command was started, and whatever else is said of it."""
    return (
        words(
            out.CommandOutcome,
            f"{head} started.\nid: {{job}}",
            maybe("\npid: {_pid}"),
            maybe("\noutput file: {output_path}"),
            "{_more}",
            running=True,
            job=_JOB,
            _pid=without(""),
            output_path=without(""),
            _more=skipped("", "(?:\\n(?s:.*))?"),
        ),
    )


class RunningCommands:
    """How a command is told: itself, its folder, its output, and how it ended, each under a heading."""

    results: ClassVar[ResultWords | None] = one_of(
        words(
            out.CommandOutcome,
            "Background shell started.\nid: {job}",
            maybe("\noutput file: {output_path}"),
            running=True,
            timed_out=ANY,
            output=Reads(None),
            job=_JOB,
        ),
        words(
            out.CommandOutcome,
            "Command timed out before it could complete. Below is the output before it timed out:\n",
            "{output}",
            timed_out=True,
            output=body(trim=True),
        ),
        _ENDED,
        read_first=(*_started("Background shell"), *_started("Monitor")),
        formerly=(
            _ENDED_ONCE,
            words(
                out.CommandOutcome,
                "Command timed out{_when}:\n",
                "{output}",
                timed_out=True,
                output=body(),
                _when=skipped("", "[^\\n]*?"),
            ),
            words(
                out.CommandOutcome,
                "Tool output was too large and has been truncated.\n"
                "The full output has been saved to: {output_path}\n{_about}\n\nTruncated part of the output:\n",
                "{_ended}",
                _ended=inside(_LEFT),
                _about=skipped("", "(?s:.*?)"),
            ),
        ),
        back=one_stream,
    )

    def from_outcomes(
        self, operations: tuple[op.Operation, ...], outcomes: tuple[out.Outcome, ...]
    ) -> tuple[Content, bool | None]:
        """A command that did not end well is flagged as an error, though it ran."""
        (operation,), (outcome,) = operations, outcomes
        told = None if self.results is None else self.results.write(operation, outcome)
        if told is None or not isinstance(outcome, out.CommandOutcome):
            return tell(operation, outcome), None
        failed = outcome.timed_out or bool(outcome.exit_code or outcome.signal)
        return told, failed and not outcome.running


COMMAND_UNSAID = {
    "wait_ms": "a background command is not watched",
    "job": "the client names background commands",
    "shell": "it is always bash",
    "login": "it is never a login shell",
    "terminal": "the client decides whether there is a terminal",
    "output_limit": "the client has one limit for all output",
    "unsandboxed": "the client decides about the sandbox",
}


class RunShellCommand(RunningCommands, Spelling[op.RunCommand]):
    """Run a command line with bash, or leave it running in the background."""

    native_name = "run_shell_command"
    since = "0.24"
    unsaid = COMMAND_UNSAID

    command: str = means("command", "The command line.")
    is_background: bool = means("background", "Leave it running in the background.", default=False)
    timeout: int | None = means(
        "timeout_ms", "Milliseconds it may take.", default=None, schema={"minimum": 1, "maximum": 600000}
    )
    description: str | None = means("purpose", "What it does, for the user to read.", default=None)
    directory: str | None = means("cwd", "The folder to run it in.", default=None)


class RunShellCommandByNumber(RunningCommands, Spelling[op.RunCommand]):
    """Run a command line with bash, or leave it running in the background."""

    native_name = "run_shell_command"
    since, until = "0.12", "0.15"
    unsaid = COMMAND_UNSAID

    command: str = means("command", "The command line.")
    is_background: bool = means("background", "Leave it running in the background.", default=False)
    timeout: float | None = means("timeout_ms", "Milliseconds it may take.", default=None, convert=WHOLE)
    description: str | None = means("purpose", "What it does, for the user to read.", default=None)
    directory: str | None = means("cwd", "The folder to run it in.", default=None)


class RunShellCommandStated(RunningCommands, Spelling[op.RunCommand]):
    """Run a command line with bash, or leave it running in the background."""

    native_name = "run_shell_command"
    until = "0.7"
    unsaid = COMMAND_UNSAID

    command: str = means("command", "The command line.")
    is_background: bool = means("background", "Leave it running in the background.")
    timeout: float | None = means("timeout_ms", "Milliseconds it may take.", default=None, convert=WHOLE, since="0.7")
    description: str | None = means("purpose", "What it does, for the user to read.", default=None)
    directory: str | None = means("cwd", "The folder to run it in.", default=None)


class WatchingCommands:
    """How a watched command is told: that it was started, and its id."""

    results: ClassVar[ResultWords | None] = one_of(
        words(
            out.CommandOutcome,
            "Monitor started.\nid: {job}",
            running=True,
            job=without(""),
            unsaid=dict.fromkeys(("exit_code", "signal", "timed_out", "output"), "a watched command has only started"),
        ),
        formerly=_started("Monitor"),
    )


WATCH_UNSAID = {"url": "only commands are watched", "timeout_ms": "it is watched until it is silent for long"}


class Monitor(WatchingCommands, Spelling[op.WatchCommand]):
    """Run a command in the background and be told of each line it writes."""

    native_name = "monitor"
    since = "0.24"
    unsaid = WATCH_UNSAID

    command: str = means("command", "The command line.")
    description: str | None = means("purpose", "What is watched, in a few words.", default=None)
    max_events: int | None = means("limit", "Stop after so many lines.", default=None)
    idle_timeout_ms: int | None = means(
        "idle_timeout_ms", "Milliseconds without a line after which to stop.", default=None
    )
    directory: str | None = means("cwd", "The folder to run it in.", default=None)


class MonitorByNumber(WatchingCommands, Spelling[op.WatchCommand]):
    """Run a command in the background and be told of each line it writes."""

    native_name = "monitor"
    since, until = "0.15", "0.15"
    unsaid = WATCH_UNSAID

    command: str = means("command", "The command line.")
    description: str | None = means("purpose", "What is watched, in a few words.", default=None)
    max_events: float | None = means("limit", "Stop after so many lines.", default=None, convert=WHOLE)
    idle_timeout_ms: float | None = means(
        "idle_timeout_ms", "Milliseconds without a line after which to stop.", default=None, convert=WHOLE
    )
    directory: str | None = means("cwd", "The folder to run it in.", default=None)


class TaskStop(Spelling[op.StopCommand]):
    """Stop a background command, a watched one, or an agent."""

    native_name = "task_stop"
    since = "0.15"

    task_id: str = means("job", "Its id.")

    results = one_of(done("Done.", "Cancellation requested"))


# ── web ──────────────────────────────────────────────────────────────────────


class FetchingPages:
    """How a page is told: where it came from, and what a model made of it."""

    _HEAD = re.compile(
        r"URL: (?P<url>[^\n]*)\nStatus: (?P<status>\d+)[^\n|]*"
        r"(?:\| Content-Type: (?P<type>[^\n|]*?) ?(?:\|[^\n]*)?)?\n\n"
    )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PagesOutcome) or not outcome.pages:
            return tell(operation, outcome)
        page = outcome.pages[0]
        texts = [one.text or one.snippet or "" for one in outcome.pages]
        body = "\n\n".join(texts) if outcome.answer is None else outcome.answer
        if page.status is None:
            return body
        kind = "" if page.media_type is None else f" | Content-Type: {page.media_type}"
        return f"URL: {page.final_url or page.url}\nStatus: {page.status}{kind}\n\n{body}"

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        assert isinstance(operation, op.FetchPage)
        text = text_of(native.content)
        head = self._HEAD.match(text)
        if head is None:
            return out.PagesOutcome((out.Page(operation.url),), text)
        final = None if head["url"] == operation.url else head["url"]
        page = out.Page(operation.url, status=int(head["status"]), media_type=head["type"], final_url=final)
        return out.PagesOutcome((page,), text[head.end() :])


PAGE_UNSAID = {
    "timeout_ms": "the client has one time limit for all pages",
    "offset": "a page is taken from its start",
    "limit": "the client decides how much of a page is read",
}
ASKED_OF_PAGE = "What to find out or do with the page; empty for the page itself."
NOT_ASKED_OF_PAGE = {"instructions": "Not used: the page itself is returned."}
PAGE_NEARLY = {"instructions": "a prompt is required, so an empty one says nothing"}
FORMAT = Conversion(to=lambda form: None if form == "auto" else form, back=lambda form: form)


class WebFetch(FetchingPages, Spelling[op.FetchPage]):
    """Fetch a page of the web and answer a question about it."""

    native_name = "web_fetch"
    unhonoured = {"instructions": "Fetch a page of the web as readable text."}
    since = "0.15"
    unsaid = PAGE_UNSAID
    approximated = PAGE_NEARLY

    url: str = means("url", "The page's address.")
    prompt: str = means("instructions", ASKED_OF_PAGE, convert=EMPTY_IS_UNSAID, unhonoured=NOT_ASKED_OF_PAGE)
    format: Literal["auto", "markdown", "html", "text"] | None = means(
        "format", "The form the page is read in.", default=None, convert=FORMAT
    )


class WebFetchUnformatted(FetchingPages, Spelling[op.FetchPage]):
    """Fetch a page of the web and answer a question about it."""

    native_name = "web_fetch"
    unhonoured = {"instructions": "Fetch a page of the web as readable text."}
    until = "0.12"
    unsaid = {**PAGE_UNSAID, "format": "a model reads the page and answers"}
    approximated = PAGE_NEARLY

    url: str = means("url", "The page's address.")
    prompt: str = means("instructions", ASKED_OF_PAGE, convert=EMPTY_IS_UNSAID, unhonoured=NOT_ASKED_OF_PAGE)


class WebSearch(Spelling[op.SearchWeb]):
    """Search the web."""

    native_name = "web_search"
    read_only = "the client offers it only where a search engine is set up, and none was in what was captured"

    query: str
    provider: str | None = native_only("which search engine is asked is the client's to decide")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SearchWeb(self.query),)


# ── plan ─────────────────────────────────────────────────────────────────────


class Todo(msgspec.Struct, frozen=True):
    """One thing to do."""

    id: str
    content: str
    status: Literal["pending", "in_progress", "completed"]


class TodoWrite(Spelling[op.UpdatePlan]):
    """Keep the list of things to do: the whole list each time, at most one of them in progress."""

    native_name = "todo_write"
    on_request = "the client has it off unless a setting turns it on"
    on_request_since = "0.24"
    approximated = {"items": "an item is a text, a status and an id (empty: not said)"}
    unsaid = {"explanation": "the list speaks for itself"}

    todos: tuple[Todo, ...] = means("items", "The whole list, in order.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UpdatePlan(tuple(_plan_item(todo) for todo in self.todos)),)

    @classmethod
    def from_operation(cls, operation: op.UpdatePlan) -> TodoWrite | None:
        todos = _todos(operation.items)
        return None if todos is None else cls(todos=todos)

    tells: ClassVar[Tells] = {out.PlanOutcome: ("items",)}
    _LIST = re.compile(
        r"Todos have been modified successfully.*?\n\n(\[[^\n]*\])\.[^\n]*\n</system-reminder>", re.DOTALL
    )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        todos = _todos(outcome.items) if isinstance(outcome, out.PlanOutcome) else None
        if todos is None:
            return tell(operation, outcome)
        kept = json_text(todos)
        return (
            "Todos have been modified successfully.\n\n<system-reminder>\n"
            f"The list is now:\n\n{kept}. Go on with it.\n</system-reminder>"
        )

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        found = self._LIST.match(text_of(native.content))
        try:
            todos = read_json(found[1] if found else "", type=tuple[Todo, ...])
        except msgspec.DecodeError:
            return understand(operation, native)
        return out.PlanOutcome(tuple(_plan_item(todo) for todo in todos))


def _plan_item(todo: Todo) -> op.PlanItem:
    return op.PlanItem(todo.content, todo.status, todo.id or None)


def _todos(items: tuple[op.PlanItem, ...]) -> tuple[Todo, ...] | None:
    """The list, or `None` when an item's status is none of its three."""
    todos: list[Todo] = []
    for item in items:
        if item.status == "cancelled" or item.status == "blocked":
            return None
        todos.append(Todo(item.id or "", item.text, item.status))
    return tuple(todos)


# ── agents ───────────────────────────────────────────────────────────────────


TEAM = "only sessions that have teams switched on offer it"


class TaskCreate(Spelling[op.AddPlanItem]):
    """Add one thing to do to the team's plan."""

    native_name = "task_create"
    read_only = TEAM

    subject: str = means("item", "What is to be done, in a few words.")
    description: str = means(None, "What is to be done, in full.")
    activeForm: str | None = means(  # noqa: N815 - the native name
        None, "The same as it is said while it is being done.", default=None
    )
    metadata: dict[str, Any] | None = means(None, "Anything to keep beside it.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        item = op.PlanItem(
            self.subject, description=self.description or None, doing=self.activeForm, metadata=self.metadata
        )
        return (op.AddPlanItem(item),)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        assert isinstance(operation, op.AddPlanItem)
        found = re.fullmatch(r'Task #(\S+) created: "(.*)"', text_of(native.content), re.DOTALL)
        if found is None:
            return understand(operation, native)
        return out.PlanOutcome((msgspec.structs.replace(operation.item, id=found[1], text=found[2]),))


class TaskUpdate(Spelling[op.ChangePlanItem]):
    """Change one thing to do in the team's plan."""

    native_name = "task_update"
    read_only = TEAM

    taskId: str = means("id", "The task's number.")  # noqa: N815 - the native name
    subject: str | None = means("text", "What is to be done, in a few words.", default=None)
    description: str | None = means("description", "What is to be done, in full.", default=None)
    activeForm: str | None = means(  # noqa: N815 - the native name
        "doing", "The same as it is said while it is being done.", default=None
    )
    status: Literal["pending", "in_progress", "completed", "deleted"] | None = means(
        "status", "How it stands with it; `deleted` removes it.", default=None
    )
    owner: str | None = means("owner", "Who does it.", default=None)
    addBlocks: tuple[str, ...] | None = means(  # noqa: N815 - the native name
        "add_blocks", "Tasks that must wait for this one.", default=None
    )
    addBlockedBy: tuple[str, ...] | None = means(  # noqa: N815 - the native name
        "add_blocked_by", "Tasks this one must wait for.", default=None
    )
    metadata: dict[str, Any] | None = means("metadata", "Anything to keep beside it.", default=None)
    unsaid = {"deleted": "it is said as a status"}

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (
            op.ChangePlanItem(
                self.taskId,
                self.subject,
                None if self.status == "deleted" else self.status,
                self.description,
                self.activeForm,
                self.owner,
                self.addBlocks or (),
                self.addBlockedBy or (),
                self.metadata,
                deleted=self.status == "deleted",
            ),
        )


class TaskList(Spelling[op.ReadPlan]):
    """Read the team's plan."""

    native_name = "task_list"
    read_only = TEAM
    unsaid = {"id": "the plan is read whole"}

    status: str | None = native_only("which tasks are listed is no part of the plan")
    owner: str | None = native_only("which tasks are listed is no part of the plan")
    blockedBy: str | None = native_only(  # noqa: N815 - the native name
        "which tasks are listed is no part of the plan"
    )


class ToldByAgents:
    """How an agent is told: that it was started, with its id, or what it answered."""

    unless_said: ClassVar[Mapping[str, Any]] = {"background": False}
    _STARTED = re.compile(r"Background agent launched successfully\.\ntask_id: (\S+)")

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.AgentsOutcome) or len(outcome.agents) != 1:
            return tell(operation, outcome)
        agent = outcome.agents[0]
        if agent.status == "running" and agent.id is not None:
            return (
                f"Background agent launched successfully.\ntask_id: {agent.id} (go on with it by send_message)\n"
                "It works in the background; its result will be given to you."
            )
        return agent.text or "" if agent.status == "completed" else tell(operation, outcome)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        agent = operation.agent if isinstance(operation, op.SpawnAgent) else None
        if started := self._STARTED.match(text):
            return out.AgentsOutcome((out.AgentReport(started[1], "running", agent=agent),))
        if text.startswith('{"type":'):
            return understand(operation, native)
        return out.AgentsOutcome((out.AgentReport(status="completed", text=text, agent=agent),))


SPAWN_UNSAID = {
    "name": "the client names agents",
    "system_prompt": "an agent's type has its own",
    "model": "an agent's type has its own",
    "effort": "an agent's type has its own",
    "max_turns": "an agent's type has its own",
    "continues": "an agent goes on when a message is sent to it",
    "command": "there is no such parameter",
}
SPAWN_APART = {
    "isolation": "agents share the workspace",
    "cwd": "agents share the workspace",
    "history": "an agent starts with its prompt alone",
    "tools": "an agent's type has its own",
}
DESCRIBED = {"description": "a description is required, so an empty one says nothing"}


def _turns(turns: Any) -> str | None:
    if turns is None or (isinstance(turns, str) and re.fullmatch(r"all|[1-9][0-9]*", turns)):
        return turns
    raise ValueError(f"{turns!r} is no number of turns; take `all` or a number")


TURNS = Conversion(to=_turns, back=lambda turns: turns if re.fullmatch(r"all|[1-9][0-9]*", turns or "") else None)
WORKTREE = Conversion(to=lambda kind: kind, back=lambda kind: kind if kind == "worktree" else None)


class Agent(ToldByAgents, Spelling[op.SpawnAgent]):
    """Give a task to another agent; it works in the background and reports when it is done."""

    native_name = "agent"
    since = "0.24"
    unsaid = SPAWN_UNSAID
    approximated = {
        **DESCRIBED,
        "isolation": "only a worktree can be asked for",
        "history": "only all of it, or a number of turns, can be asked for",
    }

    description: str = means("description", "The task in a few words.", convert=EMPTY_IS_UNSAID)
    prompt: str = means("prompt", "The whole task.")
    subagent_type: str | None = means("agent", "The agent's type.", default=None)
    fork_turns: Any = means(
        "history",
        "How much of this conversation it is given: `all`, or the last so many turns.",
        default=None,
        convert=TURNS,
        schema={"oneOf": [{"type": "string", "enum": ["all"]}, {"type": "string", "pattern": "^[1-9][0-9]*$"}]},
    )
    fork_tools: tuple[str, ...] | None = means("tools", "Names of the tools it may use.", default=None)
    fork_profile: str | None = native_only("a profile is kept in the client's settings")
    run_in_background: bool | None = means("background", "Do not wait for it.", default=None)
    isolation: Literal["worktree"] | None = means(
        "isolation", "Give it a copy of the files to itself.", default=None, convert=WORKTREE
    )
    working_dir: str | None = means("cwd", "The folder it works in.", default=None)


class AgentOfThree(ToldByAgents, Spelling[op.SpawnAgent]):
    """Give a task to another agent and have its answer, or let it work in the background."""

    native_name = "agent"
    since, until = "0.15", "0.15"
    unsaid = {**SPAWN_UNSAID, **SPAWN_APART}
    approximated = DESCRIBED

    description: str = means("description", "The task in a few words.", convert=EMPTY_IS_UNSAID)
    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    subagent_type: str | None = means(
        "agent",
        "The agent's type.",
        default=None,
        schema={"enum": ["general-purpose", "Explore", "statusline-setup"]},
    )
    run_in_background: bool | None = means("background", "Do not wait for it.", default=None)


GENERAL = Conversion(to=lambda agent: agent, back=lambda agent: agent or "general-purpose")


class Task(ToldByAgents, Spelling[op.SpawnAgent]):
    """Give a task to another agent and wait for its answer."""

    native_name = "task"
    until = "0.12"
    unsaid = {**SPAWN_UNSAID, **SPAWN_APART, "background": "the answer is always waited for"}
    approximated = {**DESCRIBED, "agent": "a type is required: without one it is the general agent"}

    description: str = means("description", "The task in a few words.", convert=EMPTY_IS_UNSAID)
    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    subagent_type: str = means("agent", "The agent's type.", convert=GENERAL, schema={"enum": ["general-purpose"]})


MESSAGE_UNSAID = {
    "interrupt": "a message waits until the agent is ready",
    "starts_turn": "an agent always acts on a message",
    "notify_when_idle": "the client tells of every agent's end",
}


class CreateSubSession(Spelling[op.SpawnAgent]):
    """Give a task to a session of its own, which goes on by itself."""

    native_name = "create_sub_session"
    read_only = "only a client that runs as a service has sessions to spare, and none was captured"
    unsaid = {
        "agent": "a session is of no kind",
        "description": "the prompt says it",
        "system_prompt": "a session has its own",
        "effort": "there is no parameter for it",
        "isolation": "there is no parameter for it",
        "cwd": "a session works where this one does",
        "history": "a session starts with its prompt alone",
        "tools": "a session has its own",
        "max_turns": "there is no parameter for it",
        "continues": "a session is always a new one",
        "command": "there is no parameter for it",
    }

    prompt: str = means("prompt", "The task.")
    completion: Literal["sent", "first-turn"] | None = means("background", "What to wait for.", default=None)
    model: str | None = means("model", "Which model it runs on.", default=None)
    name: str | None = means("name", "What to call it.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        background = None if self.completion is None else self.completion == "sent"
        return (op.SpawnAgent(self.prompt, name=self.name, model=self.model, background=background),)


class SendMessage(Spelling[op.MessageAgent]):
    """Send a message to another agent: one that was started, by its task's id, or one of a team, by its name."""

    native_name = "send_message"
    since = "0.24"
    unsaid = MESSAGE_UNSAID

    to: str | None = means("to", "The name of one of the team.", default=None)
    task_id: str | None = means(None, "The id of an agent's task.", default=None)
    message: str = means("message", "The message.", schema={"minLength": 1})
    summary: str | None = means("summary", "The message in a few words.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if (self.to is None) == (self.task_id is None):
            raise ValueError("name either `to` or `task_id`")
        return (op.MessageAgent(self.task_id or self.to or "", self.message, self.summary),)

    @classmethod
    def from_operation(cls, operation: op.MessageAgent) -> SendMessage:
        return cls(task_id=operation.to, message=operation.message, summary=operation.summary)


class SendMessageToTask(Spelling[op.MessageAgent]):
    """Send a message to an agent that was started."""

    native_name = "send_message"
    since, until = "0.15", "0.15"
    unsaid = {**MESSAGE_UNSAID, "summary": "there is no parameter for it"}

    task_id: str = means("to", "The id of the agent's task.")
    message: str = means("message", "The message.")


class ListAgents(Spelling[op.ListAgents]):
    """List the agents that work in the background."""

    native_name = "list_agents"
    since = "0.24"
    unsaid = {"query": "all are listed", "scope": "all are listed"}

    _NONE = "No ordinary background subagents are available in this session."

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        none = isinstance(outcome, out.AgentsOutcome) and not outcome.agents
        return self._NONE if none else tell(operation, outcome)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        none = text_of(native.content).startswith(self._NONE)
        return out.AgentsOutcome(()) if none else understand(operation, native)


# ── people, memory, extensions ───────────────────────────────────────────────


class AskedOption(msgspec.Struct, frozen=True):
    """One answer to choose from."""

    label: str
    description: str


class AskedQuestion(msgspec.Struct, frozen=True):
    """One question to the user."""

    question: str
    header: str
    options: tuple[AskedOption, ...]
    multiSelect: bool  # noqa: N815 - the native name


class AskUserQuestion(Spelling[op.AskUser]):
    """Ask the user one or several questions."""

    native_name = "ask_user_question"
    since, until = "0.12", "0.12"
    approximated = {"questions": "a question has no id, no default, and its options no preview"}

    questions: tuple[AskedQuestion, ...] = means("questions", "The questions, one to four.")
    metadata: dict[str, Any] | None = native_only("where a question came from is the client's own affair")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (
            op.AskUser(
                tuple(
                    op.Question(
                        asked.question,
                        tuple(op.Option(option.label, option.description or None) for option in asked.options),
                        asked.header or None,
                        asked.multiSelect,
                    )
                    for asked in self.questions
                )
            ),
        )

    @classmethod
    def from_operation(cls, operation: op.AskUser) -> AskUserQuestion:
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


class SaveMemory(Spelling[op.SaveMemory]):
    """Remember a fact about the user or the project for later conversations."""

    native_name = "save_memory"
    until = "0.12"
    unsaid = {"key": "facts have no names"}

    fact: str = means("text", "The fact, in one sentence.")
    scope: Literal["global", "project"] | None = native_only("where memories are kept is the client's to decide")

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.DoneOutcome):
            return tell(operation, outcome)
        return outcome.note or f'Okay, I\'ve remembered that: "{self.fact}"'

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        return out.DoneOutcome(text) if text.startswith("Okay, ") else understand(operation, native)


class ImageGen(Spelling[op.GenerateImage]):
    """Make an image from a description."""

    native_name = "image_gen"
    read_only = "the client offers it only where a model for images is set up, and none was in what was captured"
    unsaid = {"format": "there is no parameter for it"}

    prompt: str | None = means("prompt", "What to show.")
    size: str | None = means("size", "Its width and height.", default=None)


class UseSkill(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "skill"
    since = "0.12"

    skill: str = means("name", "The skill's name.")
    args: str | None = means("arguments", "What the skill is given.", default=None, since="0.24")


class ReadMcpResource(Spelling[op.ReadMcpResource]):
    """Read a resource of an MCP server."""

    native_name = "read_mcp_resource"
    since = "0.24"

    server_name: str = means("server", "The server.")
    uri: str = means("uri", "The resource's URI.")

    _TOLD = re.compile(
        r"\n?--- Content from MCP resource (?P<name>[^\n]*?)(?P<mark> \[\w+\])? ---\n\n(?P<text>.*)\n\n"
        r"--- End of MCP resource [^\n]* ---\n?",
        re.DOTALL,
    )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.ResourcesOutcome) or len(outcome.resources) != 1:
            return tell(operation, outcome)
        resource = outcome.resources[0]
        if resource.text is None:
            return tell(operation, outcome)
        name = f"{resource.server or self.server_name}:{resource.uri}"
        return f"\n--- Content from MCP resource {name} ---\n\n{resource.text}\n\n--- End of MCP resource {name} ---\n"

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        found = self._TOLD.fullmatch(text_of(native.content))
        if found is None:
            return understand(operation, native)
        return out.ResourcesOutcome((out.Resource(self.uri, server=self.server_name, text=found["text"]),))


# ── failures ─────────────────────────────────────────────────────────────────

_ERROR_TYPES: dict[str, out.FailureKind] = {
    "execution_denied": "denied",
    "invalid_tool_params": "invalid_arguments",
    "tool_not_registered": "unknown_tool",
    "execution_timeout": "timed_out",
}


_REFUSED = "User did not allow tool call"
"""What a call is told that the user did not approve; its state is that of one that was stopped."""


class QwenFailures(FailuresInWords):
    """The log names the type of an error; a command that ended badly is flagged as one and is none."""

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """A cancelled call by its state, any other by the type of its error, or by its words."""
        text = text_of(native.content)
        record = native.item if isinstance(native.item, dict) else {}
        if record.get("status") == "cancelled":
            return out.Failure("denied" if _REFUSED in text else "cancelled", text)
        ran = any(isinstance(operation, op.RunCommand) for operation in call.operations)
        if ran and text.startswith(_RAN):
            return None
        known = _ERROR_TYPES.get(str(record.get("errorType")))
        return out.Failure(known, text) if known is not None and native.is_error else super().understand(call, native)


FAILURES = QwenFailures(
    (
        (r'Tool "[^"]*" (?:not found|is a built-in tool that is disabled)', "unknown_tool"),
        (r'\[tool_call bridge refused\] Deferred tool "', "unknown_tool"),
        (r"params\b.* must |Invalid parameters|The '\w+' (?:parameter )?(?:cannot|must)", "invalid_arguments"),
        (rf".*\bpermission was declined\b|.*\bdenied\b|.*{_REFUSED}", "denied"),
        (r"\[Operation Cancelled\]", "cancelled"),
        (r"(?s:.*)\btimed out\b", "timed_out"),
    ),
    {
        "unknown_tool": 'Tool "{tool}" not found in registry. {message}',
        "invalid_arguments": "Invalid parameters: {message}",
        "denied": 'Qwen Code requires permission to use "{tool}", but that permission was declined. {message}',
        "cancelled": "[Operation Cancelled] Reason: {message}",
        "timed_out": "The tool timed out: {message}",
    },
)

NO_TOOL = "there is no native tool for it"
SHELL = "it is done with a shell command"
SCHEDULE = "the client's own schedule"
WORK = "the client's own worktrees"

DIALECT = Dialect(
    "qwen_code",
    (
        Agent,
        AgentOfThree,
        Task,
        Edit,
        EditCounted,
        Glob,
        GlobFiltered,
        GrepSearch,
        GrepSearchByNumber,
        GrepSearchIncluding,
        ListAgents,
        ListDirectory,
        NotebookEdit,
        ReadFile,
        ReadFileByNumber,
        ReadFileByAbsolutePath,
        ReadManyFiles,
        RunShellCommand,
        RunShellCommandByNumber,
        RunShellCommandStated,
        UseSkill,
        ToolSearch,
        WriteFile,
        Monitor,
        MonitorByNumber,
        ReadMcpResource,
        SendMessage,
        SendMessageToTask,
        TaskStop,
        WebFetch,
        WebFetchUnformatted,
        WebSearch,
        ZoomImage,
        TodoWrite,
        TaskCreate,
        TaskUpdate,
        TaskList,
        CreateSubSession,
        ImageGen,
        AskUserQuestion,
        SaveMemory,
    ),
    steering=(
        Steer(
            "tool_call",
            "it carries calls of tools that are not offered up front",
            ("name", "arguments"),
            since="0.24",
            opens=("name", "arguments"),
        ),
        Steer("get_goal", "a goal the client keeps", since="0.24"),
        Steer("update_goal", "a goal the client keeps", ("status", "reason", "blockerKind"), since="0.24"),
        Steer("cron_create", SCHEDULE, ("cron", "prompt", "recurring", "durable", "sessionMode"), since="0.24"),
        Steer("cron_delete", SCHEDULE, ("id",), since="0.24"),
        Steer("cron_list", SCHEDULE, since="0.24"),
        Steer("loop_wakeup", SCHEDULE, ("delaySeconds", "prompt", "reason"), since="0.24"),
        Steer("enter_worktree", WORK, ("name",), since="0.24"),
        Steer("exit_worktree", WORK, ("name", "action", "discard_changes"), since="0.24"),
        Steer("exit_plan_mode", "a mode of the client", ("plan",), until="0.12", approves=PlanApproval("plan")),
        Steer(
            "record_artifact",
            "a product in the client's display",
            (
                "title",
                "kind",
                "storage",
                "description",
                "workspacePath",
                "managedId",
                "url",
                "mimeType",
                "sizeBytes",
                "metadata",
            ),
            since="0.24",
        ),
        Steer("report_findings", "a report in the client's display", ("level", "findings"), since="0.24"),
        # Told by the client's own list of its tools; no captured request has offered them.
        Steer("enter_plan_mode", "a mode of the client", ("userRequested",)),
        Steer("structured_output", "the answer, in whatever shape the one who asked wants it"),
        Steer("team_create", "teams are an experiment of the client", ("team_name", "description")),
        Steer("team_delete", "teams are an experiment of the client"),
        Steer("team_plan_approval", "teams are an experiment of the client", ("request_id", "action", "message")),
        Steer(
            "workflow",
            "a script of the client's own kind",
            ("script", "scriptPath", "args", "resumeFromRunId", "run_in_background"),
        ),
        Steer("artifact", "a page in the client's display", ("file_path", "title")),
        Steer("display_image", "a picture in the client's display", ("file_path",)),
        Steer(
            "lsp",
            "what language servers know has no shared form",
            (
                *("operation", "filePath", "line", "character", "endLine", "endCharacter", "includeDeclaration"),
                *("query", "callHierarchyItem", "serverName", "limit", "diagnostics", "codeActionKinds"),
            ),
        ),
    ),
    mcp=(McpNames("mcp__{server}__{tool}"), McpNames("{tool}")),
    failures=FAILURES,
    captured=("0.1.3", "0.7.1", "0.12.0", "0.15.10", "0.24.4"),
    unspoken={
        op.ReadFiles: "files are read one by one",
        op.ReadNotebook: "a notebook is read with read_file",
        op.ListDirectory: SHELL,
        op.InsertText: "text is inserted by replacing what stands around it",
        op.DeleteFile: SHELL,
        op.MoveFile: SHELL,
        op.UndoEdit: "no native tool undoes a change",
        op.ReadOutput: "a background command's output is a file",
        op.TypeInto: NO_TOOL,
        op.ListCommands: NO_TOOL,
        op.SearchCode: NO_TOOL,
        op.RewriteCode: NO_TOOL,
        op.SearchDocuments: NO_TOOL,
        op.SearchWeb: "the client offers it only where a search engine is set up",
        op.FindInPage: "no native tool searches within a page",
        op.TakeScreenshot: NO_TOOL,
        op.AddPlanItem: "the plan is written whole",
        op.ChangePlanItem: "the plan is written whole",
        op.ReadPlan: "the plan is written whole",
        op.WaitForAgent: "an agent's end is told when it comes",
        op.StopAgent: "an agent is stopped as a background command is",
        op.ResumeAgent: "an agent goes on when a message is sent to it",
        op.SignalParent: NO_TOOL,
        op.ReturnToParent: "an agent's last words are its result",
        op.AskUser: "a question is asked in the answer itself",
        op.SaveMemory: "memories are files",
        op.RecallMemory: "memories are files",
        op.ListMcpResources: NO_TOOL,
        op.RunCode: NO_TOOL,
        op.GenerateImage: NO_TOOL,
        op.UseComputer: NO_TOOL,
    },
)
