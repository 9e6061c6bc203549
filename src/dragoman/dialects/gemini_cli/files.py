"""Files: reading, listing, writing and replacing text in them."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

import msgspec

from dragoman.dialects.base.default_words import as_called, tell, text_of, understand
from dragoman.dialects.base.gemini_family import (
    EMPTY_FOLDER,
    FILE,
    SIZED_FILE,
    WHOLE_FILE,
    listed,
    none_ignored,
    noted_file,
)
from dragoman.dialects.base.spelling import (
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
from dragoman.dialects.base.words import one_of, picture, skipped, stays_text
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .results import first_line_left

FILTERS = "which ignore files count is the workspace's to decide"


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
        text = first_line_left(text_of(native.content))
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
