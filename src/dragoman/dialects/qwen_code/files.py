"""Files: reading, listing, writing and replacing text in them, and images."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

import msgspec

from dragoman.dialects.base.default_words import as_called, tell, text_of, understand
from dragoman.dialects.base.gemini_family import EMPTY_FOLDER, FILE, WHOLE_FILE, listed, none_ignored, noted_file
from dragoman.dialects.base.spelling import (
    TUPLE,
    Content,
    Conversion,
    ResultWords,
    Spelling,
    Tells,
    means,
    native_only,
    whole_number,
)
from dragoman.dialects.base.words import count_of, one_of, picture, skipped, stays_text
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .results import display_of, number_or_none

FILTERS = "which ignore files count is the workspace's to decide"
NO_PAGES = {"pages": "there is no parameter for the pages of a document"}


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
        counts = display_of(native).get("diffStat")
        counted = counts if isinstance(counts, dict) else {}
        change = out.Change(
            path,
            kind,
            added=number_or_none(counted.get("model_added_lines")),
            removed=number_or_none(counted.get("model_removed_lines")),
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
