"""Files: reading, listing, writing and replacing text in them, and images."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec.structs import replace

from dragoman.dialects.base.conversions import FROM_ZERO, LINE_COUNT, SOME, TUPLE, WHOLE, whole
from dragoman.dialects.base.edits import NEW_TEXT, OLD_TEXT, or_new_file
from dragoman.dialects.base.gemini_family import (
    COUNTED,
    EMPTY_FOLDER,
    EXPECTED,
    FILE,
    FILTER_OPTIONS,
    IGNORE_FILES,
    LISTING_UNSAID,
    WHOLE_FILE,
    FilterOptions,
    ReadingManyFiles,
    change_results,
    counted_or_new_file,
    listed,
    none_ignored,
    noted_file,
)
from dragoman.dialects.base.spelling import Refusals, Spelling, Tells, means, native_only, was
from dragoman.dialects.base.words import count_of, one_of, picture, skipped, stays_text
from dragoman.model import operations as op, outcomes as out
from dragoman.model.edit_rules import EditRules, Step, WholeFileRules

OR_NULL = {"type": ["integer", "null"]}


class ReadFile(Spelling[op.ReadFile]):
    """Read a file by its absolute path, or `limit` of its lines from `offset` (from 0), or pages of a document."""

    native_name = "read_file"
    unhonoured = {"pages": "Read a file by its absolute path, or `limit` of its lines from `offset` (from 0)."}
    described_until = {
        "0.12": "Read a file given by its absolute path, or `limit` of its lines from `offset` (from 0)."
    }

    file_path: str = means("path", "Absolute path of the file.", since="0.15", was=was("0.12", name="absolute_path"))
    offset: int | None = means(
        "first_line",
        "Number of lines to skip.",
        default=None,
        since="0.24",
        convert=FROM_ZERO,
        schema=OR_NULL,
        was=was("0.15", type=float | None, convert=whole(FROM_ZERO), schema=None),
    )
    limit: int | None = means(
        "last_line",
        "Number of lines to read.",
        default=None,
        since="0.24",
        convert=LINE_COUNT,
        schema=OR_NULL,
        was=was("0.15", type=float | None, convert=whole(LINE_COUNT), schema=None),
    )
    pages: str | None = means(
        "pages",
        "Pages of a document, for example `1-5`.",
        default=None,
        since="0.24",
        schema={"type": ["string", "null"]},
        was=was("0.15", since="0.15", schema=None),
    )

    tells: ClassVar[Tells] = {out.FileOutcome: ("text", "first_line")}
    results = one_of(
        picture("Binary content provided (1 item(s))."),
        noted_file("", "{_about}\n\n---\n\n", skipped("", "[^\\n]*")),
        WHOLE_FILE,
        read_first=(stays_text("Jupyter Notebook ("), stays_text("[Unsupported ")),
    )


class ReadManyFiles(ReadingManyFiles):
    """Read all files that match one of several glob patterns."""

    native_name = "read_many_files"
    until = "0.7"


class ListDirectory(Spelling[op.ListDirectory]):
    """List the files and folders directly inside a folder given by its absolute path."""

    native_name = "list_directory"
    until = "0.15"
    unsaid = LISTING_UNSAID

    path: str = means("path", "The folder to list.")
    ignore: tuple[str, ...] | None = means("ignore", "Glob patterns of names to exclude.", default=None, convert=TUPLE)
    file_filtering_options: FilterOptions | None = means(
        "respect_ignore",
        "Whether to respect ignore files such as .gitignore.",
        default=None,
        convert=FILTER_OPTIONS,
        without=IGNORE_FILES,
    )

    results = one_of(
        EMPTY_FOLDER,
        listed("Listed {_count} item(s) in {path}:\n---\n", "git-", FILE, count=count_of("entries")),
        formerly=(listed("Directory listing for {path}:\n", "", FILE),),
        back=none_ignored,
    )


ZOOMED = (0, 0, 1000, 1000)


class ZoomImage(Spelling[op.ViewImage]):
    """Zoom in on a part of an image, given by its corners as coordinates from 0 to 1000."""

    native_name = "zoom_image"
    since = "0.24"
    approximated = {"region": "corners go from 0 to 1000, whatever the size of the image"}

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


def _updated(asked: op.Operation, change: out.Change, path: str) -> str:
    if isinstance(asked, op.EditNotebook):
        return f"Notebook {path} has been updated. {asked.mode} cell."
    return f"The file: {path} has been updated.{_excerpt(change)}"


def _excerpt(change: out.Change) -> str:
    if not change.shown:
        return ""
    (part,) = change.shown
    last = part.first_line + part.text.count("\n")
    lines = f"Showing lines {part.first_line}-{last} of {change.total_lines} from the edited file:"
    return f" {lines}\n\n---\n\n{part.text}"


CHANGES = change_results(_updated, shown=_excerpt)


WRITE_RULES = EditRules(
    read_first=True,
    whole_file=WholeFileRules(line_ends="any", byte_order_mark="not_twice_in_utf_8"),
    encoding="that_fits",
)
"""Seen with 0.15.10 and 0.24.4 on loopback. The client writes "?" for a character that the file's encoding lacks; here
such a text is refused."""
FIRST_WRITE_RULES = EditRules(whole_file=WholeFileRules(line_ends="as_given"), encoding="utf_8")
"""Seen with 0.10.1."""


class WriteFile(Spelling[op.WriteFile]):
    """Write a whole file; an existing one is replaced."""

    native_name = "write_file"
    results = CHANGES
    edit_rules, edit_rules_until = WRITE_RULES, {"0.10.1": FIRST_WRITE_RULES}
    refusals = Refusals({"not_read": "File {path} has not been read in this session."})

    file_path: str = means("path", "Absolute path of the file.")
    content: str = means("content", "The whole new content.")
    record_as_artifact: bool | None = native_only("what the client shows as a product is its own affair", since="0.24")


EDIT_RULES = EditRules(
    steps=(
        Step(counted="text"),
        Step(fold=("typography",), counted="text"),
        Step("lines", ("right_trim",), counted="text", with_line_end=True),
        Step("lines", ("typography", "right_trim"), counted="text", with_line_end=True),
        Step("lines", ("right_trim",), counted="text", drop_last_empty="both"),
        Step("lines", ("typography", "right_trim"), counted="text", drop_last_empty="both"),
    ),
    identical="refuse_if_unchanged",
    empty_old="create",
    read_first=True,
    notebooks=False,
    byte_order_mark="not_twice_in_utf_8",
    texts_view="kept",
    line_ends="any",
    encoding="that_fits",
    delete_line_end="sought",
    shows="span",
    shown_around=4,
    shown_most=1000,
)
"""Seen with 0.24.4 on loopback."""
FIRST_EDIT_RULES = replace(EDIT_RULES, read_first=False, notebooks=True)
"""Seen with 0.10.1, which also wrote every line end as LF; here CRLF stays."""


REFUSALS = Refusals(
    {
        "no_match": "Failed to edit, 0 occurrences found for old_string in {path}. No edits made. The exact text in "
        "old_string was not found. Ensure you're not escaping content incorrectly and check whitespace, indentation, "
        "and context. Use read_file tool to verify.",
        "many_matches": "Failed to edit. Found {count} occurrences for old_string in {path} but replace_all was not "
        "enabled.",
        "no_change": "No changes to apply. The old_string and new_string are identical in file: {path}",
        "exists": "File already exists, cannot create: {path}",
        "not_read": "File {path} has not been read in this session.",
    }
)


class Edit(Spelling[op.EditFile]):
    """Replace a piece of text in a file. It must occur exactly once in the file, unless all are replaced."""

    native_name, formerly = "edit", ("replace",)  # 0.21.2 and 0.23.3 still take the old name
    results = CHANGES
    since = "0.7"
    approximated = {"edits": "a text is matched, not whole lines; anchors and an expected count cannot be said"}
    refine = or_new_file
    edit_rules, edit_rules_until = EDIT_RULES, {"0.10.1": FIRST_EDIT_RULES}
    refusals = REFUSALS

    file_path: str = means("path", "Absolute path of the file.")
    old_string: str = means("edits.old", OLD_TEXT, convert=SOME)
    new_string: str = means("edits.new", NEW_TEXT)
    replace_all: bool = means("edits.everywhere", "Replace every occurrence.", default=False)


class EditCounted(Spelling[op.EditFile]):
    """Replace a piece of text in a file, as many times as is expected."""

    native_name = "edit"
    results = CHANGES
    until = "0.1"
    approximated = {"edits": COUNTED}
    refine = counted_or_new_file
    edit_rules = FIRST_EDIT_RULES

    file_path: str = means("path", "Absolute path of the file.")
    old_string: str = means("edits.old", OLD_TEXT, convert=SOME)
    new_string: str = means("edits.new", NEW_TEXT)
    expected_replacements: float | None = means(
        "edits.expected", EXPECTED, default=None, convert=WHOLE, schema={"minimum": 1}
    )


class NotebookEdit(Spelling[op.EditNotebook]):
    """Replace, insert or delete one cell of a notebook."""

    native_name = "notebook_edit"
    results = CHANGES
    since = "0.24"

    notebook_path: str = means("path", "Absolute path of the notebook.")
    cell_id: str | None = means(
        "cell_id", "Id of the cell. A new cell is inserted after it, or at the beginning.", default=None
    )
    new_source: str | None = means("source", "The cell's new source.", default=None)
    cell_type: Literal["code", "markdown"] | None = means("cell_type", "The cell's type.", default=None)
    edit_mode: Literal["replace", "insert", "delete"] = means("mode", "What to do.", default="replace")
