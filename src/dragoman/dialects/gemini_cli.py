"""Gemini CLI's vocabulary (0.1.15 … 0.61): one class per native tool, in the words its models know."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, cast

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult
from dragoman.model.json_text import json_text, read_json

from .base.default_words import as_called, tell, tell_all, text_of, understand
from .base.dialect import Dialect, PlanApproval, Steer
from .base.gemini_family import (
    EMPTY_FOLDER,
    EXIT_CODE,
    FACTS,
    FILE,
    SIGNAL,
    SIZED_FILE,
    WHOLE_FILE,
    listed,
    none_ignored,
    noted_file,
)
from .base.mcp_names import McpNames
from .base.spelling import (
    TEXT_OF_NUMBER,
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
    Body,
    Reads,
    Template,
    body,
    count_of,
    done,
    inside,
    lines,
    maybe,
    one_of,
    one_stream,
    picture,
    skipped,
    stays_text,
    words,
)

WAIT = "the order in which calls run is the executor's to decide"
FILTERS = "which ignore files count is the workspace's to decide"
NOT_RETURNED = "the tool says only that it is done"

INVERTED = Conversion(
    to=lambda no: None if no is None else not no,
    back=lambda yes: None if yes is None else not yes,
)
"""`no_ignore` is our `respect_ignore`, the other way round."""


class FilterOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which ignore files a listing respects."""

    respect_git_ignore: bool | None = None


FILTER_OPTIONS_OR_ALL = Conversion(
    to=lambda options: options is None or options.respect_git_ignore is not False,
    back=lambda respect: None if respect else FilterOptions(respect_git_ignore=False),
)
GEMINI_IGNORE = {"respect_gemini_ignore": FILTERS}


FILTER_OPTIONS = Conversion(
    to=lambda options: None if options is None else options.respect_git_ignore,
    back=lambda respect: None if respect is None else FilterOptions(respect),
)


# ── results that were taken out of the conversation again ────────────────────

_MASKED = re.compile(
    r"<tool_output_masked>\n(?P<left>.*?)\s*(?:Output too large\. Full output available at: |Full string saved to: )"
    r"(?P<saved>[^\n]*?)\]?\n</tool_output_masked>",
    re.DOTALL,
)
"""What is left of an old result when the conversation grows long: its beginning and its end, and where it was saved.
A command's is left as it was told, without lines in its middle; any other's as the JSON it was sent in."""
_MASKED_FIRST = re.compile(r'\{\s*"(?:output|error)": "(?P<line>(?:[^"\\\n]|\\[^n\n])*)')


def _first_line(text: str) -> str:
    """The first line of what is left of a result, or the text itself where nothing was taken out."""
    masked = _MASKED.fullmatch(text)
    first = None if masked is None else _MASKED_FIRST.match(masked["left"])
    if first is None:
        return text
    try:
        return read_json(f'"{first["line"]}"', type=str)
    except msgspec.DecodeError:
        return text


# ── reading files ────────────────────────────────────────────────────────────


class ReadingFiles:
    """How a file is told: as it is, or under a note that says which lines of how many these are."""

    tells: ClassVar[Tells] = {out.FileOutcome: ("text", "first_line")}
    results: ClassVar[ResultWords | None] = one_of(
        picture("Binary content provided (1 item(s))."),
        noted_file(
            "\nIMPORTANT: The file content has been truncated.\nStatus: ",
            "{_about}\n--- FILE CONTENT (truncated) ---\n",
            skipped("\nAction: ask for the rest with 'start_line' and 'end_line'.\n", "(?s:.*?)"),
        ),
        WHOLE_FILE,
        read_first=(stays_text("<tool_output_masked>\n"),),
    )


class ReadFile(ReadingFiles, Spelling[op.ReadFile]):
    """Read a text file, or a range of its lines; an image or a sound comes back as it is."""

    native_name = "read_file"
    since = "0.53"
    unsaid = {"pages": "there is no parameter for the pages of a document"}

    file_path: str = means("path", "Path of the file.")
    start_line: int | None = means("first_line", "First line to read, from 1.", default=None, schema={"minimum": 1})
    end_line: int | None = means("last_line", "Last line to read, inclusive.", default=None, schema={"minimum": 1})


class ReadFileByNumber(ReadingFiles, Spelling[op.ReadFile]):
    """Read a text file, or a range of its lines; an image or a sound comes back as it is."""

    native_name = "read_file"
    since, until = "0.34", "0.34"
    unsaid = {"pages": "there is no parameter for the pages of a document"}

    file_path: str = means("path", "Path of the file.")
    start_line: float | None = means("first_line", "First line to read, from 1.", default=None, convert=WHOLE)
    end_line: float | None = means("last_line", "Last line to read, inclusive.", default=None, convert=WHOLE)


class ReadFileByOffset(ReadingFiles, Spelling[op.ReadFile]):
    """Read a text file, or `limit` of its lines from `offset` (from 0)."""

    native_name = "read_file"
    since, until = "0.19", "0.24"
    unsaid = {"pages": "there is no parameter for the pages of a document"}

    file_path: str = means("path", "Path of the file.")
    offset: float | None = means(None, "Lines to pass over before the first.", default=None)
    limit: float | None = means(None, "How many lines to read.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ReadFile(self.file_path, *_lines(self.offset, self.limit)),)

    @classmethod
    def from_operation(cls, operation: op.ReadFile) -> ReadFileByOffset:
        return cls(file_path=operation.path, **_offset(operation))


class ReadFileByAbsolutePath(ReadingFiles, Spelling[op.ReadFile]):
    """Read a text file given by its absolute path, or `limit` of its lines from `offset` (from 0)."""

    native_name = "read_file"
    until = "0.1.15"
    unsaid = {"pages": "there is no parameter for the pages of a document"}

    absolute_path: str = means("path", "Absolute path of the file.")
    offset: float | None = means(None, "Lines to pass over before the first.", default=None)
    limit: float | None = means(None, "How many lines to read.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ReadFile(self.absolute_path, *_lines(self.offset, self.limit)),)

    @classmethod
    def from_operation(cls, operation: op.ReadFile) -> ReadFileByAbsolutePath:
        return cls(absolute_path=operation.path, **_offset(operation))


def _lines(offset: float | None, limit: float | None) -> tuple[int | None, int | None]:
    start, count = whole_number(offset), whole_number(limit)
    first = None if start is None else start + 1
    return first, None if count is None else (first or 1) + count - 1


def _offset(operation: op.ReadFile) -> dict[str, int | None]:
    first, last = operation.first_line, operation.last_line
    return {
        "offset": None if first is None else first - 1,
        "limit": None if last is None else last - (first or 1) + 1,
    }


class ReadManyFiles(Spelling[op.ReadFiles]):
    """Read all files that match one of several glob patterns."""

    native_name = "read_many_files"
    until = "0.1.15"

    paths: tuple[str, ...] = means("patterns", "Paths or glob patterns.")
    include: tuple[str, ...] = means(None, "More patterns.", default=())
    exclude: tuple[str, ...] = means("exclude", "Patterns to leave out.", default=())
    recursive: bool = native_only("a pattern says itself how deep it goes", default=True)
    useDefaultExcludes: bool = native_only(FILTERS, default=True)  # noqa: N815 - the native name
    file_filtering_options: FilterOptions | None = means(
        "respect_ignore", "Which ignore files count.", default=None, without=GEMINI_IGNORE
    )

    def to_operations(self) -> tuple[op.Operation, ...]:
        options = self.file_filtering_options
        respect = options is None or options.respect_git_ignore is not False
        return (op.ReadFiles(self.paths + self.include, self.exclude, respect),)

    @classmethod
    def from_operation(cls, operation: op.ReadFiles) -> ReadManyFiles:
        options = None if operation.respect_ignore else FilterOptions(respect_git_ignore=False)
        return cls(paths=operation.patterns, exclude=operation.exclude, file_filtering_options=options)


class ReadManyIncluded(Spelling[op.ReadFiles]):
    """Read all files that match one of several glob patterns."""

    native_name = "read_many_files"
    read_only = "the first version wants paths beside it"

    include: tuple[str, ...] = means("patterns", "Glob patterns.")
    exclude: tuple[str, ...] = means("exclude", "Patterns to leave out.", default=())
    recursive: bool = native_only("a pattern says itself how deep it goes", default=True)
    useDefaultExcludes: bool = native_only(FILTERS, default=True)  # noqa: N815 - the native name
    file_filtering_options: FilterOptions | None = means(
        "respect_ignore",
        "Which ignore files count.",
        default=None,
        convert=FILTER_OPTIONS_OR_ALL,
        without=GEMINI_IGNORE,
    )


class ListingDirectories:
    """How a listing is told: folders first, files with their sizes, what was left out counted."""

    results: ClassVar[ResultWords | None] = one_of(
        EMPTY_FOLDER,
        listed("Directory listing for {path}:\n", "", SIZED_FILE, FILE),
        back=none_ignored,
    )


class ListDirectory(ListingDirectories, Spelling[op.ListDirectory]):
    """List the files and folders directly inside a folder."""

    native_name = "list_directory"
    since = "0.19"
    unsaid = {
        "depth": "only one level is listed",
        "limit": "the listing is not cut",
        "prefix": "a folder is listed, whatever its files are called",
    }

    dir_path: str = means("path", "The folder to list.")
    ignore: tuple[str, ...] | None = means(
        "ignore", "Glob patterns of names to leave out.", default=None, convert=TUPLE
    )
    file_filtering_options: FilterOptions | None = means(
        "respect_ignore", "Whether ignore files count.", default=None, convert=FILTER_OPTIONS, without=GEMINI_IGNORE
    )


class ListDirectoryByPath(ListingDirectories, Spelling[op.ListDirectory]):
    """List the files and folders directly inside a folder given by its absolute path."""

    native_name = "list_directory"
    until = "0.1.15"
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
        "respect_ignore", "Whether ignore files count.", default=None, convert=FILTER_OPTIONS, without=GEMINI_IGNORE
    )


# ── changing files ───────────────────────────────────────────────────────────


class ChangingFiles:
    """How a change is told: what happened to which file, how many replacements."""

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.ChangesOutcome) or len(outcome.changes) != 1:
            return tell(operation, outcome)
        change = outcome.changes[0]
        if change.kind == "created":
            return f"Successfully created and wrote to new file: {as_called(operation, change.path)}."
        if change.kind == "modified" and isinstance(operation, op.WriteFile):
            return f"Successfully overwrote file: {as_called(operation, change.path)}."
        if change.kind == "modified":
            counted = "" if change.replacements is None else f" ({change.replacements} replacements)"
            return f"Successfully modified file: {as_called(operation, change.path)}{counted}."
        return tell(operation, outcome)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = _first_line(text_of(native.content))
        found = re.match(
            r"(?:Successfully )?(?P<created>[Cc]reated (?:and wrote to )?new file|Created new file)"
            r"|Successfully (?:overwrote file|modified file)",
            text,
        )
        named = re.match(
            r".*?: (?P<path>.+?)(?: \((?P<count>\d+) replacements?\))?(?: with provided content)?\.(?:\s|$)", text
        )
        if found is None or named is None:
            return understand(operation, native)
        count = int(named["count"]) if named["count"] else None
        kind: Literal["created", "modified"] = "created" if found["created"] else "modified"
        added, removed = _counted(native.item)
        return out.ChangesOutcome((out.Change(named["path"], kind, added=added, removed=removed, replacements=count),))


def _counted(item: Any) -> tuple[int | None, int | None]:
    """Lines added and removed, where the log's display record counts them."""
    display = item.get("resultDisplay") if isinstance(item, dict) else None
    counts = display.get("diffStat") if isinstance(display, dict) else None
    if not isinstance(counts, dict):
        return None, None
    return tuple(  # type: ignore[return-value]
        None if not isinstance(counts.get(key), int) else counts[key]
        for key in ("model_added_lines", "model_removed_lines")
    )


class WriteFile(ChangingFiles, Spelling[op.WriteFile]):
    """Write a whole file; an existing one is replaced."""

    native_name = "write_file"
    unsaid = {"overwrite": "an existing file is always replaced"}

    file_path: str = means("path", "Path of the file.")
    content: str = means("content", "The whole new content.")


class Replace(ChangingFiles, Spelling[op.EditFile]):
    """Replace a piece of text in a file by another; it must stand there exactly once unless several are allowed."""

    native_name = "replace"
    since = "0.34"
    approximated = {
        "edits": "a text is matched, not whole lines; anchors and an expected count cannot be said",
        "purpose": "an instruction is required, so an empty one says nothing",
    }

    file_path: str = means("path", "Path of the file.")
    instruction: str = means("purpose", "What the change is for, in a sentence.")
    old_string: str = means(None, "The exact text to replace, with enough around it to be unique.")
    new_string: str = means(None, "The text to put in its place.")
    allow_multiple: bool = means(None, "Replace every occurrence.", default=False)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.old_string:
            return _created(self.file_path, self.new_string)
        edit = op.Edit(self.old_string, self.new_string, everywhere=self.allow_multiple)
        return (op.EditFile(self.file_path, (edit,), self.instruction or None),)

    @classmethod
    def from_operation(cls, operation: op.EditFile) -> tuple[Replace, ...] | None:
        if not operation.edits or not all(edit.old for edit in operation.edits):
            return None
        return tuple(
            cls(
                file_path=operation.path,
                instruction=operation.purpose or "",
                old_string=edit.old or "",
                new_string=edit.new,
                allow_multiple=edit.everywhere,
            )
            for edit in operation.edits
        )


def _created(path: str, content: str) -> tuple[op.Operation, ...]:
    """Nothing replaced by something is how a file that is not there yet is created."""
    return (op.WriteFile(path, content, overwrite=False),)


def _counted_edit(call: ReplaceCounted | ReplaceUnexplained, purpose: str | None) -> tuple[op.Operation, ...]:
    if not call.old_string:
        return _created(call.file_path, call.new_string)
    expected = whole_number(call.expected_replacements)
    edit = op.Edit(call.old_string, call.new_string, everywhere=(expected or 1) > 1, expected=expected)
    return (op.EditFile(call.file_path, (edit,), purpose),)


COUNTED = "a text is matched, not whole lines; every occurrence must be counted beforehand"
EXPECTED = "How many times it must be replaced; once if not given."


class ReplaceCounted(ChangingFiles, Spelling[op.EditFile]):
    """Replace a piece of text in a file by another, as many times as is expected."""

    native_name = "replace"
    since, until = "0.19", "0.24"
    approximated = {"edits": COUNTED, "purpose": Replace.approximated["purpose"]}

    file_path: str = means("path", "Path of the file.")
    instruction: str = means("purpose", "What the change is for, in a sentence.")
    old_string: str = means(None, "The exact text to replace, with enough around it to be unique.")
    new_string: str = means(None, "The text to put in its place.")
    expected_replacements: float | None = means(None, EXPECTED, default=None, schema={"minimum": 1})

    def to_operations(self) -> tuple[op.Operation, ...]:
        return _counted_edit(self, self.instruction or None)

    @classmethod
    def from_operation(cls, operation: op.EditFile) -> tuple[ReplaceCounted, ...] | None:
        if not operation.edits or not all(edit.old for edit in operation.edits):
            return None
        return tuple(
            cls(
                file_path=operation.path,
                instruction=operation.purpose or "",
                old_string=edit.old or "",
                new_string=edit.new,
                expected_replacements=edit.expected,
            )
            for edit in operation.edits
        )


class ReplaceUnexplained(ChangingFiles, Spelling[op.EditFile]):
    """Replace a piece of text in a file by another, as many times as is expected."""

    native_name = "replace"
    until = "0.1.15"
    approximated = {"edits": COUNTED}
    unsaid = {"purpose": "there is no parameter for it"}

    file_path: str = means("path", "Path of the file.")
    old_string: str = means("edits", "The exact text to replace, with enough around it to be unique.")
    new_string: str = means(None, "The text to put in its place.")
    expected_replacements: float | None = means(None, EXPECTED, default=None, schema={"minimum": 1})

    def to_operations(self) -> tuple[op.Operation, ...]:
        return _counted_edit(self, None)

    @classmethod
    def from_operation(cls, operation: op.EditFile) -> tuple[ReplaceUnexplained, ...] | None:
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


# ── searching ────────────────────────────────────────────────────────────────


def _sought(operation: Any) -> str:
    return f'"{operation.pattern}" within {operation.path}'


_LOOKED_FOR = skipped(_sought, "(?s:.*?)")
_NOT_FOUND = skipped(_sought, "(?s:.*)")


class FindingFiles:
    """How found files are told: how many, then one a line."""

    results: ClassVar[ResultWords | None] = one_of(
        words(out.PathsOutcome, "No files found matching pattern {_about}", paths=(), _about=_NOT_FOUND),
        words(
            out.PathsOutcome,
            "Found {_count} file(s) matching {_about}:\n",
            "{paths}",
            paths=lines(),
            _count=count_of("paths"),
            _about=_LOOKED_FOR,
        ),
    )


class Glob(FindingFiles, Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern."""

    native_name = "glob"
    since = "0.19"
    unsaid = {"limit": "the list is not cut"}

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    dir_path: str = means("path", "The folder to look in.", default=".")
    case_sensitive: bool | None = means("case_sensitive", "Whether case matters.", default=None)
    respect_git_ignore: bool | None = means("respect_ignore", "Whether ignored files are left out.", default=None)
    respect_gemini_ignore: bool | None = native_only(FILTERS)


class GlobByPath(FindingFiles, Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern."""

    native_name = "glob"
    until = "0.1.15"
    unsaid = {"limit": "the list is not cut"}

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    path: str = means("path", "The folder to look in.", default=".")
    case_sensitive: bool | None = means("case_sensitive", "Whether case matters.", default=None)
    respect_git_ignore: bool | None = means("respect_ignore", "Whether ignored files are left out.", default=None)


class SearchingText:
    """How matches are told: counted, then by file, each line with its number."""

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        counted = isinstance(outcome, out.MatchesOutcome) and outcome.mode == "count"
        if not isinstance(outcome, out.MatchesOutcome) or not isinstance(operation, op.SearchText) or counted:
            return tell(operation, outcome)
        where = f'for pattern "{operation.pattern}" in path "{operation.path}"'
        if not outcome.matches:
            return f"No matches found {where}."
        if outcome.mode == "files":
            paths = [match.path for match in outcome.matches]
            return "\n".join([f"Found {len(paths)} files with matches {where}:", *paths])
        lines: list[str] = []
        path: str | None = None
        for match in outcome.matches:
            if match.path != path:
                path = match.path
                lines += ["---", f"File: {path}"]
            lines += _matched(match)
        count = outcome.total if outcome.total is not None else len(outcome.matches)
        noun = "match" if count == 1 else "matches"
        return "\n".join([f"Found {count} {noun} {where}:", *lines, "---"])

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        mode = operation.mode if isinstance(operation, op.SearchText) else "content"
        if text.startswith("No matches found"):
            return out.MatchesOutcome((), mode, 0)
        files = re.match(r"Found (\d+) files? with matches ", text)
        if files:
            paths = text.split("\n")[-int(files[1]) :]
            return out.MatchesOutcome(tuple(out.Match(path) for path in paths), "files")
        head = re.match(r"Found (\d+) match(?:es)? ", text)
        if head is None:
            return out.TextOutcome(text)
        return out.MatchesOutcome(tuple(_matches(text.split("\n"))), "content", int(head[1]))


def _matched(match: out.Match) -> list[str]:
    line = match.line or 1
    before = [f"L{line - len(match.before) + index}- {text}" for index, text in enumerate(match.before)]
    after = [f"L{line + index}- {text}" for index, text in enumerate(match.after, 1)]
    return [*before, f"L{line}: {match.text or ''}", *after]


def _matches(lines: list[str]) -> list[out.Match]:
    matches: list[out.Match] = []
    path = ""
    before: list[str] = []
    for line in lines:
        if line.startswith("File: "):
            path, before = line[6:], []
            continue
        found = re.fullmatch(r"L(\d+)([:-]) (.*)", line)
        if found is None:
            continue
        if found[2] == ":":
            matches.append(out.Match(path, int(found[1]), found[3], tuple(before)))
            before = []
        elif matches and matches[-1].path == path and int(found[1]) == _next_line(matches[-1]) and not before:
            matches[-1] = msgspec.structs.replace(matches[-1], after=(*matches[-1].after, found[3]))
        else:
            before.append(found[3])
    return matches


def _next_line(match: out.Match) -> int:
    """The line that would belong to it as well: one further on stands before the next match."""
    return (match.line or 0) + len(match.after) + 1


class GrepSearch(SearchingText, Spelling[op.SearchText]):
    """Search file contents with a regular expression."""

    native_name = "grep_search"
    since = "0.34"
    approximated = {"mode": "matches are not counted per file: the matching lines are given"}
    unsaid = {
        "exclude": "the native parameter of that name leaves out lines, not files",
        "file_type": "files are chosen by glob",
        "multiline": "a match is within a line",
        "only_matching": "whole lines are given",
        "line_numbers": "lines always have their numbers",
        "offset": "results start at the first",
    }

    pattern: str = means("pattern", "The regular expression.")
    dir_path: str = means("path", "The folder or file to search in.", default=".")
    include_pattern: str | None = means("include", "Only files that match this glob.", default=None)
    exclude_pattern: str | None = native_only("it is a regular expression that drops matching lines")
    names_only: bool = means("mode", "Give only the names of the files that match.", default=False)
    case_sensitive: bool | None = means("case_sensitive", "Whether case matters.", default=None, since="0.53")
    fixed_strings: bool = means("literal", "Take the pattern as plain text.", default=False, since="0.53")
    context: int | None = means(
        None, "Lines to show before and after each match.", default=None, since="0.53", schema={"minimum": 0}
    )
    after: int | None = means(
        "after", "Lines to show after each match.", default=None, since="0.53", schema={"minimum": 0}
    )
    before: int | None = means(
        "before", "Lines to show before each match.", default=None, since="0.53", schema={"minimum": 0}
    )
    no_ignore: bool | None = means("respect_ignore", "Search ignored files too.", default=None, since="0.53")
    max_matches_per_file: int | None = means(
        "limit_per_file", "At most so many matches per file.", default=None, schema={"minimum": 1}
    )
    total_max_matches: int | None = means(
        "limit", "At most so many matches in all.", default=None, schema={"minimum": 1}
    )

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (
            op.SearchText(
                self.pattern,
                self.dir_path,
                include=self.include_pattern,
                mode="files" if self.names_only else "content",
                case_sensitive=self.case_sensitive,
                literal=self.fixed_strings,
                before=self.context if self.before is None else self.before,
                after=self.context if self.after is None else self.after,
                limit=self.total_max_matches,
                limit_per_file=self.max_matches_per_file,
                respect_ignore=INVERTED.to(self.no_ignore),
            ),
        )

    @classmethod
    def from_operation(cls, operation: op.SearchText) -> GrepSearch:
        around = operation.before if operation.before == operation.after else None
        return cls(
            pattern=operation.pattern,
            dir_path=operation.path,
            include_pattern=operation.include,
            names_only=operation.mode == "files",
            case_sensitive=operation.case_sensitive,
            fixed_strings=operation.literal,
            context=around,
            before=operation.before if around is None else None,
            after=operation.after if around is None else None,
            no_ignore=INVERTED.back(operation.respect_ignore),
            max_matches_per_file=operation.limit_per_file,
            total_max_matches=operation.limit,
        )


class SearchFileContent(SearchingText, Spelling[op.SearchText]):
    """Search file contents with a regular expression."""

    native_name = "search_file_content"
    since, until = "0.19", "0.24"
    unsaid = {
        **{field: reason for field, reason in GrepSearch.unsaid.items() if field != "exclude"},
        "exclude": "files are only chosen, never left out",
        "mode": "the matching lines are always given",
        "case_sensitive": "case never matters",
        "literal": "it is always a regular expression",
        "before": "no lines around a match are given",
        "after": "no lines around a match are given",
        "limit": "results are not cut",
        "limit_per_file": "results are not cut",
        "respect_ignore": "ignored files are always left out",
    }

    pattern: str = means("pattern", "The regular expression.")
    dir_path: str = means("path", "The folder to search in.", default=".")
    include: str | None = means("include", "Only files that match this glob.", default=None)


class SearchFileContentByPath(SearchingText, Spelling[op.SearchText]):
    """Search file contents with a regular expression."""

    native_name = "search_file_content"
    until = "0.1.15"
    unsaid = SearchFileContent.unsaid

    pattern: str = means("pattern", "The regular expression.")
    path: str = means("path", "The folder to search in.", default=".")
    include: str | None = means("include", "Only files that match this glob.", default=None)


# ── commands ─────────────────────────────────────────────────────────────────


_GROUP = "\nProcess Group PGID: {job}"
_PRINTED = body("(empty)", trim=True)
_ONCE_SAID = (maybe("\nBackground PIDs: {_pids}"), maybe(_GROUP))
_ONCE: dict[str, Any] = {"output": body("(empty)"), "_error": skipped(""), "_pids": skipped("")}


def _exited(_operation: op.Operation, outcome: out.CommandOutcome) -> out.CommandOutcome:
    """Where neither a code nor a signal is named, it ended well."""
    if outcome.exit_code is None and outcome.signal is None:
        return msgspec.structs.replace(outcome, exit_code=0)
    return outcome


_CODE, _BY_SIGNAL = maybe("\nExit Code: {exit_code}"), maybe("\nSignal: {signal}")
_OLDER = (
    # Up to 0.24 each fact was always there, below the command and its folder.
    words(
        out.CommandOutcome,
        "Command: {_command}\nOutput: ",
        "{output}",
        FACTS,
        *_ONCE_SAID,
        of=out.CommandOutcome,
        to=_exited,
        _command=skipped("", "(?s:.*?)"),
        exit_code=EXIT_CODE,
        signal=SIGNAL,
        **_ONCE,
    ),
    # From 0.34 only what there was to say; an error and the processes left behind are no longer printed since 0.53.
    words(
        out.CommandOutcome,
        "Output: {output}",
        "\nError: {_error}",
        _CODE,
        _BY_SIGNAL,
        *_ONCE_SAID,
        of=out.CommandOutcome,
        to=_exited,
        **_ONCE,
    ),
    words(
        out.CommandOutcome,
        "Output: {output}",
        _CODE,
        _BY_SIGNAL,
        "\nBackground PIDs: {_pids}",
        maybe(_GROUP),
        of=out.CommandOutcome,
        to=_exited,
        output=body("(empty)"),
        _pids=skipped(""),
    ),
)
_STARTED_SO = (
    words(
        out.CommandOutcome,
        "Command moved to background (PID: {job}).{_more}",
        running=True,
        _more=skipped("", "[^\\n]*+"),
    ),
    words(
        out.CommandOutcome,
        "Command moved to background (PID: {job}).{_more}\n",
        "{output}",
        running=True,
        output=body(),
        _more=skipped("", "[^\\n]*+"),
    ),
    words(
        out.CommandOutcome,
        "Command was automatically cancelled because it exceeded the timeout{_more}:\n",
        "{output}",
        timed_out=True,
        output=body(),
        _more=skipped("", "[^\\n]*?"),
    ),
)
_PRINTED_SO = one_of(
    around=("<untrusted_context>\n", "\n</untrusted_context>"),
    formerly=(
        *_OLDER,
        words(
            out.CommandOutcome,
            "Output: {output}",
            _CODE,
            _BY_SIGNAL,
            maybe(_GROUP),
            of=out.CommandOutcome,
            to=_exited,
            output=_PRINTED,
        ),
    ),
)


def _masked(lead: str) -> tuple[Template, Template]:
    """What is left of an old result when the conversation grows long: its beginning, its end, where it was saved."""
    end = (f"{lead}{{output_path}}", maybe("]"), "\n</tool_output_masked>")
    left = Body(lambda text, _asked: text.rstrip(), lambda _text, _asked: None)
    return (
        words(out.CommandOutcome, "<tool_output_masked>\n{_printed}", *end, _printed=inside(_PRINTED_SO)),
        words(out.CommandOutcome, "<tool_output_masked>\n{output}", *end, output=left),
    )


def _in_one(operation: op.Operation, outcome: Any) -> Any:
    """One stream; nothing is said of an exit code that is not known, as of one that is 0."""
    outcome = one_stream(operation, outcome)
    return outcome if outcome.running or outcome.timed_out else _exited(operation, outcome)


class RunningCommands:
    """How a command is told: its output and, only when it is not zero, its exit code."""

    results: ClassVar[ResultWords | None] = one_of(
        words(
            out.CommandOutcome,
            "Command moved to background (PID: {job}).\n",
            "{output}",
            running=True,
            timed_out=ANY,
            output=body(trim=True, some=True),
        ),
        words(
            out.CommandOutcome,
            "Command moved to background (PID: {job}).",
            running=True,
            timed_out=ANY,
            output=Reads(None),
        ),
        words(
            out.CommandOutcome,
            "Command was automatically cancelled because it exceeded the timeout. "
            "Below is the output before it was cancelled:\n",
            "{output}",
            timed_out=True,
            output=body(trim=True),
        ),
        words(
            out.CommandOutcome,
            "Output: {output}",
            maybe("\nExit Code: {exit_code}"),
            "\nSignal: {signal}",
            maybe(_GROUP),
            output=_PRINTED,
        ),
        words(
            out.CommandOutcome,
            "Output: {output}",
            maybe("\nExit Code: {exit_code}", exit_code=0),
            maybe(_GROUP),
            signal=None,
            output=_PRINTED,
        ),
        around=("<untrusted_context>\n", "\n</untrusted_context>"),
        back=_in_one,
        read_first=(*_OLDER, *_STARTED_SO),
        formerly=(
            *_masked("Output too large. Full output available at: "),
            *_masked("Full string saved to: "),
            words(
                out.CommandOutcome,
                "Output too large.{_about}full output see: {output_path}\n",
                "{_printed}",
                _printed=inside(_PRINTED_SO),
                _about=skipped("", "[^\\n]*?"),
            ),
        ),
    )


def _untrusted(text: str) -> str:
    return f"<untrusted_context>\n{text}\n</untrusted_context>"


def _trusted(text: str) -> str:
    return text.removeprefix("<untrusted_context>\n").removesuffix("\n</untrusted_context>")


class RunShellCommand(RunningCommands, Spelling[op.RunCommand]):
    """Run a command line with bash; it runs in a process group of its own."""

    native_name = "run_shell_command"
    since = "0.19"
    unsaid = {
        "timeout_ms": "the client has one time limit for all commands",
        "job": "a background command is named by its process id",
        "shell": "it is always bash",
        "login": "it is never a login shell",
        "terminal": "the client decides whether there is a terminal",
        "output_limit": "the client has one limit for all output",
        "unsandboxed": "the client decides about the sandbox",
    }

    command: str = means("command", "The command line.")
    description: str | None = means("purpose", "What it does, for the user to read.", default=None)
    dir_path: str | None = means("cwd", "The folder to run it in.", default=None)
    is_background: bool = means("background", "Leave it running in the background.", default=False, since="0.34")
    delay_ms: int | None = means(
        "wait_ms", "Milliseconds to watch a background command for.", default=None, since="0.53"
    )


class RunShellCommandInDirectory(RunningCommands, Spelling[op.RunCommand]):
    """Run a command line with bash; it runs in a process group of its own."""

    native_name = "run_shell_command"
    until = "0.1.15"
    unsaid = {
        **RunShellCommand.unsaid,
        "background": "a command is left running with `&`",
        "wait_ms": "a command is left running with `&`",
    }

    command: str = means("command", "The command line.")
    description: str | None = means("purpose", "What it does, for the user to read.", default=None)
    directory: str | None = means("cwd", "The folder to run it in.", default=None)


def _first_stream(_operation: op.Operation, outcome: Any) -> Any:
    """The log of a command that runs on is what it wrote to the first stream."""
    return msgspec.structs.replace(outcome, output=outcome.stdout or "") if outcome.output is None else outcome


_SHOWN: dict[str, Any] = {
    "output": body(),
    "_shown": skipped("", "[0-9]++"),
    "_all": skipped("", "[0-9]++"),
}


class ReadBackgroundOutput(Spelling[op.ReadOutput]):
    """Read the last lines a background command has written."""

    native_name = "read_background_output"
    since = "0.53"
    unsaid = {
        "pattern": "lines are not filtered",
        "block": "it never waits for the end",
        "output_limit": "output is cut by lines",
    }

    pid: int = means("job", "The process id of the background command.", convert=TEXT_OF_NUMBER)
    lines: int | None = means("lines", "How many of the last lines.", default=None, schema={"minimum": 1})
    delay_ms: int | None = means("wait_ms", "Milliseconds to wait before reading.", default=None)
    wait_for_previous: bool | None = native_only(WAIT)

    results = one_of(
        words(out.CommandOutcome, "Full Log Output:\n", "{output}", output=body()),
        formerly=(words(out.CommandOutcome, "Showing last {_shown} of {_all} lines:\n", "{output}", **_SHOWN),),
        back=_first_stream,
        unsaid=dict.fromkeys(("exit_code", "signal", "running", "timed_out", "job"), "only the output is given"),
    )


class ListBackgroundProcesses(Spelling[op.ListCommands]):
    """List the commands that run in the background."""

    native_name = "list_background_processes"
    since = "0.53"

    wait_for_previous: bool | None = native_only(WAIT)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.JobsOutcome):
            return tell(operation, outcome)
        if not outcome.jobs:
            return "No background processes found."
        return "\n".join(
            f"- [PID {job.job}] {'RUNNING' if job.running else f'EXITED (Exit Code: {job.exit_code})'}: `{job.command}`"
            for job in outcome.jobs
        )

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        jobs = []
        for line in text.split("\n"):
            found = re.fullmatch(r"- \[PID (.+?)\] (RUNNING|EXITED)(?: \(Exit Code: (-?\d+)\))?.*?: `(.*)`", line)
            if found:
                code = int(found[3]) if found[3] else None
                jobs.append(out.Job(found[1], found[4], found[2] == "RUNNING", code))
        if not jobs and not text.startswith("No background processes"):
            return understand(operation, native)
        return out.JobsOutcome(tuple(jobs))


# ── web ──────────────────────────────────────────────────────────────────────


class GoogleWebSearch(Spelling[op.SearchWeb]):
    """Search the web with Google; an answer with its sources comes back."""

    native_name = "google_web_search"
    unsaid = {
        "allowed_domains": "a search is not bound to domains",
        "blocked_domains": "a search is not bound to domains",
        "limit": "the number of results cannot be chosen",
    }

    query: str = means("query", "What to search for.")

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PagesOutcome):
            return tell(operation, outcome)
        sources = [f"[{number}] {page.title or page.url} ({page.url})" for number, page in enumerate(outcome.pages, 1)]
        body = (
            outcome.answer
            if outcome.answer is not None
            else "\n".join(page.snippet or page.text or "" for page in outcome.pages)
        )
        cited = "\n\nSources:\n" + "\n".join(sources) if sources else ""
        return f'Web search results for "{self.query}":\n\n{body}{cited}'

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        found = re.match(r'Web search results for "(.*?)":\n\n', text, re.DOTALL)
        if found is None:
            return understand(operation, native)
        answer, _, listed = text[found.end() :].rpartition("\n\nSources:\n")
        sources = re.findall(r"^\[\d+\] (.*) \((\S+)\)$", listed, re.MULTILINE) if answer or listed else []
        if not sources:
            answer = text[found.end() :]
        pages = tuple(out.Page(url, None if title == url else title) for title, url in sources)
        return out.PagesOutcome(pages, answer, found[1])


_URL = re.compile(r"https?://[^\s<>\"'`)\]}]+")


class WebFetch(Spelling[op.FetchPage]):
    """Fetch the pages whose URLs are in a prompt, and follow its instructions."""

    native_name = "web_fetch"
    unhonoured = {"instructions": "Fetch pages by their URLs, as readable text."}
    unsaid = {
        "format": "a model reads the page and answers",
        "timeout_ms": "the client has one time limit for all pages",
        "offset": "a page is taken from its start",
        "limit": "the client decides how much of a page is read",
    }

    prompt: str = means(
        "instructions",
        "The URLs (at most 20) and what to do with their contents.",
        unhonoured={"instructions": "The URLs of the pages, at most 20."},
    )

    def to_operations(self) -> tuple[op.Operation, ...]:
        urls, instructions = pages_in(self.prompt)
        if not urls:
            raise ValueError("the prompt has no URL that starts with http:// or https://")
        return tuple(op.FetchPage(url, instructions) for url in urls)

    @classmethod
    def from_operation(cls, operation: op.FetchPage) -> WebFetch | None:
        if not _URL.fullmatch(operation.url):
            return None
        return cls(prompt=prompt_for([operation.url], operation.instructions))

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PagesOutcome):
            return tell(operation, outcome)
        texts = [page.text or page.snippet or "" for page in outcome.pages]
        return "\n\n".join(texts) if outcome.answer is None else outcome.answer

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        assert isinstance(operation, op.FetchPage)
        return out.PagesOutcome((out.Page(operation.url),), text_of(native.content))

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        """What was asked of several pages is answered once, for all of them."""
        return tuple(self.to_outcome(operation, native) for operation in operations)


def pages_in(prompt: str) -> tuple[list[str], str | None]:
    """The URLs of a prompt and what to do with them. URLs on lines of their own, before an empty line, are the
    pages and the rest is the instructions (`prompt_for` writes it so); else every URL is a page, and the whole
    prompt says what to do."""
    head, separator, rest = prompt.partition("\n\n")
    alone = head.split("\n")
    if all(_URL.fullmatch(line) for line in alone):
        return list(dict.fromkeys(alone)), rest if separator else None
    found = [url.rstrip(".,;:!?") for url in _URL.findall(prompt)]
    return list(dict.fromkeys(found)), prompt


def prompt_for(urls: list[str], instructions: str | None) -> str:
    """The inverse of `pages_in`."""
    return "\n".join(urls) + ("" if instructions is None else f"\n\n{instructions}")


# ── plan, agents, memory, extensions ─────────────────────────────────────────


class Todo(msgspec.Struct, frozen=True):
    """One thing to do."""

    description: str
    status: Literal["pending", "in_progress", "completed", "cancelled", "blocked"]


EarlierStatus = Literal["pending", "in_progress", "completed", "cancelled"]


class EarlierTodo(msgspec.Struct, frozen=True):
    """One thing to do, before anything could be blocked."""

    description: str
    status: EarlierStatus


class TellingPlans:
    """How a plan is told: numbered, each with its state."""

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.PlanOutcome):
            return tell(operation, outcome)
        if not outcome.items:
            return "Successfully cleared the todo list."
        lines = [f"{number}. [{item.status}] {item.text}" for number, item in enumerate(outcome.items, 1)]
        return "\n".join(["Successfully updated the todo list. The current list is now:", *lines])

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if text.startswith("Successfully cleared"):
            return out.PlanOutcome(())
        if not text.startswith("Successfully updated the todo list"):
            return understand(operation, native)
        found = re.findall(r"^\d+\. \[(\w+)\] (.*)$", text, re.MULTILINE)
        return out.PlanOutcome(tuple(op.PlanItem(words, status) for status, words in found))


class WriteTodos(TellingPlans, Spelling[op.UpdatePlan]):
    """Keep the list of things to do: the whole list each time, at most one of them in progress."""

    native_name = "write_todos"
    since = "0.53"
    families = ("gemini-2*",)
    approximated = {"items": "an item is a description and a status"}
    unsaid = {"explanation": "the list speaks for itself"}

    todos: tuple[Todo, ...] = means("items", "The whole list, in order.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UpdatePlan(tuple(op.PlanItem(todo.description, todo.status) for todo in self.todos)),)

    @classmethod
    def from_operation(cls, operation: op.UpdatePlan) -> WriteTodos:
        return cls(todos=tuple(Todo(item.text, item.status) for item in operation.items))


class WriteTodosUnblocked(TellingPlans, Spelling[op.UpdatePlan]):
    """Keep the list of things to do: the whole list each time, at most one of them in progress."""

    native_name = "write_todos"
    since, until = "0.24", "0.34"
    families = ("gemini-2*",)
    approximated = {"items": "an item is a description and a status"}
    unsaid = {"explanation": "the list speaks for itself"}

    todos: tuple[EarlierTodo, ...] = means("items", "The whole list, in order.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UpdatePlan(tuple(op.PlanItem(todo.description, todo.status) for todo in self.todos)),)

    @classmethod
    def from_operation(cls, operation: op.UpdatePlan) -> WriteTodosUnblocked | None:
        if any(item.status == "blocked" for item in operation.items):
            return None
        return cls(todos=tuple(EarlierTodo(item.text, cast(EarlierStatus, item.status)) for item in operation.items))


class WriteTodosAtFirst(WriteTodosUnblocked):
    """Keep the list of things to do: the whole list each time, at most one of them in progress."""

    since, until = "0.19", "0.19"
    families = ("gemini-*",)


class ToldByAgents:
    """How a sub-agent's end is told: why it ended, and its result."""

    unless_said: ClassVar[Mapping[str, Any]] = {"background": False}

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.AgentsOutcome) or len(outcome.agents) != 1:
            return tell(operation, outcome)
        agent = outcome.agents[0]
        reasons = {"completed": "GOAL", "cancelled": "ABORTED", "limited": "MAX_TURNS"}
        return (
            f"Subagent '{agent.agent or agent.name or ''}' finished.\n"
            f"Termination Reason: {reasons.get(agent.status, 'ERROR')}\nResult:\n{agent.text or ''}"
        )

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        found = re.match(r"Subagent '(.*?)' finished\.\nTermination Reason: (\w+)\nResult:\n", text)
        if found is None:
            return understand(operation, native)
        statuses: dict[str, out.AgentStatus] = {
            "GOAL": "completed",
            "ABORTED": "cancelled",
            "MAX_TURNS": "limited",
            "TIMEOUT": "limited",
        }
        report = out.AgentReport(status=statuses.get(found[2], "failed"), text=text[found.end() :], agent=found[1])
        return out.AgentsOutcome((report,))


SPAWN_UNSAID = {
    "name": "an agent is called by its type alone",
    "description": "only the prompt is given",
    "system_prompt": "an agent's type has its own",
    "model": "an agent's type has its own",
    "effort": "an agent's type has its own",
    "background": "the answer is always waited for",
    "isolation": "agents share the workspace",
    "cwd": "agents share the workspace",
    "history": "an agent starts with its prompt alone",
    "tools": "an agent's type has its own",
    "max_turns": "an agent's type has its own",
    "continues": "an agent that ended stays ended",
    "command": "there is no such parameter",
}


class InvokeAgent(ToldByAgents, Spelling[op.SpawnAgent]):
    """Give a task to a specialised agent and wait for its result."""

    native_name = "invoke_agent"
    since = "0.53"
    unsaid = SPAWN_UNSAID

    agent_name: str = means("agent", "The agent's type.")
    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    wait_for_previous: bool | None = native_only(WAIT)


class DelegateToAgent(ToldByAgents, Spelling[op.SpawnAgent]):
    """Give a task to a specialised agent and wait for its result."""

    native_name = "delegate_to_agent"
    since, until = "0.24", "0.24"
    unsaid = SPAWN_UNSAID

    agent_name: str = means("agent", "The agent's type.", schema={"const": "codebase_investigator"})
    objective: str = means("prompt", "The whole task: the agent sees nothing else.")


class CodebaseInvestigator(ToldByAgents, Spelling[op.SpawnAgent]):
    """Have an agent look through the code base and report."""

    native_name = "codebase_investigator"
    since, until = "0.34", "0.34"
    always = {"agent": "codebase_investigator"}
    unsaid = SPAWN_UNSAID

    objective: str = means("prompt", "What to find out.")


class CodebaseInvestigatorAtFirst(CodebaseInvestigator):
    """Have an agent look through the code base and report."""

    since, until = "0.19", "0.19"


class Generalist(ToldByAgents, Spelling[op.SpawnAgent]):
    """Give any task to another agent and wait for its result."""

    native_name = "generalist"
    since, until = "0.34", "0.34"
    always = {"agent": "generalist"}
    unsaid = SPAWN_UNSAID

    request: str = means("prompt", "The whole task: the agent sees nothing else.")


class CliHelp(ToldByAgents, Spelling[op.SpawnAgent]):
    """Ask an agent that knows how this program is used."""

    native_name = "cli_help"
    since, until = "0.34", "0.34"
    always = {"agent": "cli_help"}
    unsaid = SPAWN_UNSAID

    question: str = means("prompt", "The question.")


class CompletingTasks:
    """How the end of a task is told: in a sentence."""

    results: ClassVar[ResultWords | None] = one_of(done("Output submitted and task completed.", keeps_note=False))


class CompleteTask(CompletingTasks, Spelling[op.ReturnToParent]):
    """End this agent's task and hand over its result."""

    native_name = "complete_task"
    since = "0.61"
    on_request = "only a sub-agent has a task to end"

    result: Any = means("result", "The result, in the form the agent was told.", schema={"type": "object"})
    wait_for_previous: bool | None = native_only(WAIT)


class CompleteTaskWithReport(CompletingTasks, Spelling[op.ReturnToParent]):
    """End this agent's task and hand over its report."""

    native_name = "complete_task"
    since, until = "0.19", "0.53"
    on_request = CompleteTask.on_request

    report: Any = means("result", "The report, in the form the agent was told.", schema={"type": "object"})
    wait_for_previous: bool | None = native_only(WAIT)


class Remembered(msgspec.Struct, frozen=True):
    """How a memory is answered."""

    success: Literal[True]
    message: str


class SaveMemory(Spelling[op.SaveMemory]):
    """Remember a fact about the user or the project for later conversations."""

    native_name = "save_memory"
    until = "0.34"
    unsaid = {"key": "facts have no names"}

    fact: str = means("text", "The fact, in one sentence.")

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.DoneOutcome):
            return tell(operation, outcome)
        return json_text({"success": True, "message": outcome.note or "Okay."})

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        try:
            said = read_json(text_of(native.content), type=Remembered)
        except msgspec.DecodeError:
            return understand(operation, native)
        return out.DoneOutcome(said.message)


class ListMcpResources(Spelling[op.ListMcpResources]):
    """List the resources that MCP servers offer."""

    native_name = "list_mcp_resources"
    since = "0.53"
    unsaid = {
        "uri": "resources are not listed by folder",
        "templates": "templates are not listed",
        "cursor": "the list is given whole",
    }

    serverName: str | None = means("server", "Only this server's.", default=None)  # noqa: N815 - the native name
    wait_for_previous: bool | None = native_only(WAIT)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.ResourcesOutcome):
            return tell(operation, outcome)
        if not outcome.resources:
            return "No MCP resources found."
        return "Available MCP Resources:\n" + "".join(
            f"- {resource.server or ''}:{resource.uri} | {resource.name or ''}\n" for resource in outcome.resources
        )

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if text.startswith("No MCP resources found"):
            return out.ResourcesOutcome(())
        found = re.findall(r"^- (.*?):(\S+)(?: \| (.*?))?$", text, re.MULTILINE)
        if not text.startswith("Available MCP Resources:"):
            return understand(operation, native)
        return out.ResourcesOutcome(
            tuple(out.Resource(uri, name or None, server=server or None) for server, uri, name in found)
        )


class ReadMcpResource(Spelling[op.ReadMcpResource]):
    """Read a resource of an MCP server."""

    native_name = "read_mcp_resource"
    since = "0.53"
    unsaid = {"server": "a resource is found by its URI"}

    uri: str = means("uri", "The resource's URI.")
    wait_for_previous: bool | None = native_only(WAIT)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.ResourcesOutcome) or any(one.text is None for one in outcome.resources):
            return tell(operation, outcome)
        return "\n".join(resource.text or "" for resource in outcome.resources)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        if not isinstance(native.content, str):
            return understand(operation, native)
        return out.ResourcesOutcome((out.Resource(self.uri, text=native.content),))


class ActivateSkill(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "activate_skill"
    since = "0.24"
    unsaid = {"arguments": "a skill takes none"}

    name: str = means("name", "The skill's name.")


class AskedOption(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer to choose from."""

    label: str
    description: str = ""


class AskedQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question to the user."""

    question: str
    header: str = ""
    type: Literal["choice", "text", "yesno"] | None = None
    options: tuple[AskedOption, ...] = ()
    multiSelect: bool = False  # noqa: N815 - the native name


class AskUser(Spelling[op.AskUser]):
    """Ask the user one or several questions."""

    native_name = "ask_user"
    since = "0.34"
    on_request = "the client offers it only when a user is there to answer"
    approximated = {"questions": "a question has no id, no default, and its options no preview"}

    questions: tuple[AskedQuestion, ...] = means(
        "questions", "The questions, one to four.", without={"placeholder": "shown in the client's display"}
    )

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.AskUser(tuple(_question(asked) for asked in self.questions)),)

    @classmethod
    def from_operation(cls, operation: op.AskUser) -> AskUser:
        return cls(questions=tuple(_asked(question) for question in operation.questions))


def _question(asked: AskedQuestion) -> op.Question:
    options = tuple(op.Option(option.label, option.description or None) for option in asked.options)
    if asked.type == "yesno" and not options:
        options = (op.Option("Yes"), op.Option("No"))
    return op.Question(asked.question, options, asked.header or None, asked.multiSelect)


def _asked(question: op.Question) -> AskedQuestion:
    options = tuple(AskedOption(option.label, option.description or "") for option in question.options)
    kind: Literal["choice", "text"] = "choice" if options else "text"
    return AskedQuestion(question.text, question.header or "", kind, options, question.multiple)


# ── failures ─────────────────────────────────────────────────────────────────


_REFUSED = re.compile(r"\[Operation Cancelled\] Reason: User (?:denied|did not allow)")
"""What a call is told to be that the user did not approve; its state is that of one that was stopped."""


class GeminiFailures:
    """A failure is a result under `error`; what kind it is, only its words tell, or the state of its record."""

    _KINDS: tuple[tuple[re.Pattern[str], out.FailureKind], ...] = (
        (re.compile(r'Tool "[^"]*" not found'), "unknown_tool"),
        (
            re.compile(r"Tool execution denied by policy|Path not in workspace|.*\[Blocked Host\]|.*\bdenied\b"),
            "denied",
        ),
        (
            re.compile(r"params\b.* must |Invalid parameters|The '\w+' (?:parameter )?(?:cannot|must)"),
            "invalid_arguments",
        ),
        (_REFUSED, "denied"),
        (re.compile(r"\[Operation Cancelled\]|.*cancelled by the user", re.IGNORECASE), "cancelled"),
        (re.compile(r".*\btimed out\b", re.IGNORECASE), "timed_out"),
    )

    def tell(self, call: Call, failure: out.Failure) -> tuple[Content, bool | None]:
        """The message, so worded that its kind is understood again."""
        message = failure.message
        if self._kind(message) == failure.kind:
            return message, True
        words = {
            "unknown_tool": f'Tool "{call.native.name}" not found. {message}',
            "denied": f"Tool execution denied by policy. {message}",
            "invalid_arguments": f"Invalid parameters: {message}",
            "cancelled": f"[Operation Cancelled] Reason: {message}",
            "timed_out": f"The tool timed out: {message}",
            "failed": message,
        }
        return words[failure.kind], True

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """A result flagged as an error, with its kind by its words; a call that was cancelled has no result."""
        text = text_of(native.content)
        if isinstance(native.item, dict) and native.item.get("status") == "cancelled":
            return out.Failure("denied" if _REFUSED.match(text) else "cancelled", text)
        return out.Failure(self._kind(text), text) if native.is_error else None

    def _kind(self, message: str) -> out.FailureKind:
        return next((kind for pattern, kind in self._KINDS if pattern.match(message)), "failed")


class FromOutside:
    """What MCP servers say is told as something from outside, in a tag."""

    def tell(self, operations: Sequence[op.Operation], outcomes: Sequence[out.Outcome]) -> Content:
        """The outcomes in our own words; a text of a server's in its tag."""
        told = tell_all(operations, outcomes)
        outside = any(isinstance(operation, op.CallMcpTool) for operation in operations)
        return _untrusted(told) if outside and isinstance(told, str) else told

    def understand(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        """The same without the tag."""
        content = native.content
        plain = _trusted(content) if isinstance(content, str) else tuple(map(_trusted_piece, content))
        return understand(operation, msgspec.structs.replace(native, content=plain))


_OUTSIDE = re.compile(r"\A(\[Tool [^\n]*\]\n)?<untrusted_context>\n(.*)\n</untrusted_context>\Z", re.DOTALL)


def _trusted_piece(piece: str | out.Media) -> str | out.Media:
    return _OUTSIDE.sub(r"\1\2", piece) if isinstance(piece, str) else piece


NO_TOOL = "there is no native tool for it"
SHELL = "it is done with a shell command"

DIALECT = Dialect(
    "gemini_cli",
    (
        ReadFile,
        ReadFileByNumber,
        ReadFileByOffset,
        ReadFileByAbsolutePath,
        ReadManyFiles,
        ReadManyIncluded,
        ListDirectory,
        ListDirectoryByPath,
        Glob,
        GlobByPath,
        GrepSearch,
        SearchFileContent,
        SearchFileContentByPath,
        WriteFile,
        Replace,
        ReplaceCounted,
        ReplaceUnexplained,
        RunShellCommand,
        RunShellCommandInDirectory,
        ReadBackgroundOutput,
        ListBackgroundProcesses,
        GoogleWebSearch,
        WebFetch,
        WriteTodos,
        WriteTodosUnblocked,
        WriteTodosAtFirst,
        InvokeAgent,
        DelegateToAgent,
        CodebaseInvestigator,
        CodebaseInvestigatorAtFirst,
        Generalist,
        CliHelp,
        CompleteTask,
        CompleteTaskWithReport,
        SaveMemory,
        ListMcpResources,
        ReadMcpResource,
        ActivateSkill,
        AskUser,
    ),
    steering=(
        Steer("enter_plan_mode", "a mode of the client", ("reason",), since="0.53"),
        Steer(
            "exit_plan_mode",
            "a mode of the client",
            ("plan_filename",),
            since="0.61",
            approves=PlanApproval("plan_filename", is_file=True),
        ),
        Steer(
            "update_topic",
            "a heading in the client's display",
            ("title", "summary", "strategic_intent", "wait_for_previous"),
            since="0.53",
        ),
        Steer("get_internal_docs", "the client's own manual", ("path",), since="0.61"),
    ),
    mcp=(McpNames("mcp_{server}_{tool}"), McpNames("{server}__{tool}"), McpNames("{tool}")),
    failures=GeminiFailures(),
    unspelled=FromOutside(),
    default_family="gemini-2.5-pro",
    beside="google",
    captured=("0.1.15", "0.19.4", "0.24.0", "0.34.0", "0.53.0", "0.61.0"),
    unspoken={
        op.ReadFiles: NO_TOOL,
        op.ReadNotebook: "a notebook is read as the text it is",
        op.ViewImage: "an image is read with read_file",
        op.InsertText: "text is inserted by replacing what stands around it",
        op.DeleteFile: SHELL,
        op.MoveFile: SHELL,
        op.UndoEdit: "no native tool undoes a change",
        op.EditNotebook: "a notebook is edited as the text it is",
        op.TypeInto: NO_TOOL,
        op.StopCommand: SHELL,
        op.WatchCommand: NO_TOOL,
        op.SearchCode: NO_TOOL,
        op.RewriteCode: NO_TOOL,
        op.SearchTools: NO_TOOL,
        op.SearchDocuments: NO_TOOL,
        op.FindInPage: "no native tool searches within a page",
        op.TakeScreenshot: NO_TOOL,
        op.AddPlanItem: "the plan is written whole",
        op.ChangePlanItem: "the plan is written whole",
        op.ReadPlan: "the plan is written whole",
        op.MessageAgent: NO_TOOL,
        op.WaitForAgent: "an agent's answer is always waited for",
        op.StopAgent: NO_TOOL,
        op.ResumeAgent: NO_TOOL,
        op.ListAgents: NO_TOOL,
        op.SignalParent: NO_TOOL,
        op.SaveMemory: "memories are files",
        op.RecallMemory: "memories are files",
        op.RunCode: NO_TOOL,
        op.GenerateImage: NO_TOOL,
        op.UseComputer: NO_TOOL,
    },
)
