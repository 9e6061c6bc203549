"""Files: reading, listing, writing and replacing text in them."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from dragoman.dialects.base.conversions import (
    EMPTY_IS_UNSAID,
    FROM_ZERO,
    LINE_COUNT,
    SOME,
    TUPLE,
    WHOLE,
    whole,
)
from dragoman.dialects.base.default_words import text_of
from dragoman.dialects.base.edits import NEW_TEXT, OLD_TEXT, or_new_file
from dragoman.dialects.base.gemini_family import (
    COUNTED,
    EMPTY_FOLDER,
    EXPECTED,
    FILE,
    FILTER_OPTIONS,
    FILTER_OPTIONS_OR_ALL,
    FILTERS,
    IGNORE_FILES,
    LISTING_UNSAID,
    SIZED_FILE,
    WHOLE_FILE,
    FilterOptions,
    ReadingManyFiles,
    change_results,
    counted_or_new_file,
    listed,
    none_ignored,
    noted_file,
)
from dragoman.dialects.base.spelling import Refusals, Spelling, Tells, absent, means, native_only, was
from dragoman.dialects.base.words import one_of, picture, skipped, stays_text
from dragoman.model import operations as op, outcomes as out
from dragoman.model.edit_rules import EditRules, Step, WholeFileRules

from .results import first_line_left

_BY_NUMBER = was("0.34", since="0.34", type=float | None, convert=WHOLE, schema=None)


class ReadFile(Spelling[op.ReadFile]):
    """Read a text file, or a range of its lines; an image or a sound comes back as it is."""

    native_name = "read_file"
    described_until = {
        "0.24": "Read a text file, or `limit` of its lines from `offset` (from 0).",
        "0.1.15": "Read a text file given by its absolute path, or `limit` of its lines from `offset` (from 0).",
    }

    file_path: str = means(
        "path",
        "Path of the file.",
        since="0.19",
        was=was("0.1.15", name="absolute_path", description="Absolute path of the file."),
    )
    start_line: int | None = means(
        "first_line", "First line to read, from 1.", default=None, since="0.53", schema={"minimum": 1}, was=_BY_NUMBER
    )
    end_line: int | None = means(
        "last_line", "Last line to read, inclusive.", default=None, since="0.53", schema={"minimum": 1}, was=_BY_NUMBER
    )
    offset: float | None = means(
        "first_line", "Number of lines to skip.", default=None, until="0.24", convert=whole(FROM_ZERO)
    )
    limit: float | None = means(
        "last_line", "Number of lines to read.", default=None, until="0.24", convert=whole(LINE_COUNT)
    )

    tells: ClassVar[Tells] = {out.FileOutcome: ("text", "first_line")}
    results = one_of(
        picture("Binary content provided (1 item(s))."),
        noted_file(
            "\nIMPORTANT: The file content has been truncated.\nStatus: ",
            "{_about}\n--- FILE CONTENT (truncated) ---\n",
            skipped("\nAction: ask for the rest with 'start_line' and 'end_line'.\n", "(?s:.*?)"),
        ),
        WHOLE_FILE,
        read_first=(stays_text("<tool_output_masked>\n"),),
    )


class ReadManyFiles(ReadingManyFiles):
    """Read all files that match one of several glob patterns."""

    native_name = "read_many_files"
    until = "0.1.15"


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
        without=IGNORE_FILES,
    )


class ListDirectory(Spelling[op.ListDirectory]):
    """List the files and folders directly inside a folder."""

    native_name = "list_directory"
    described_until = {"0.1.15": "List the files and folders directly inside a folder given by its absolute path."}
    unsaid = LISTING_UNSAID

    dir_path: str = means("path", "The folder to list.", since="0.19", was=was("0.1.15", name="path"))
    ignore: tuple[str, ...] | None = means("ignore", "Glob patterns of names to exclude.", default=None, convert=TUPLE)
    file_filtering_options: FilterOptions | None = means(
        "respect_ignore",
        "Whether to respect ignore files such as .gitignore.",
        default=None,
        convert=FILTER_OPTIONS,
        without=IGNORE_FILES,
    )

    results = one_of(EMPTY_FOLDER, listed("Directory listing for {path}:\n", "", SIZED_FILE, FILE), back=none_ignored)


def _modified(_asked: op.Operation, change: out.Change, path: str) -> str:
    counted = "" if change.replacements is None else f" ({change.replacements} replacements)"
    sentence = f"Successfully modified file: {path}{counted}."
    return sentence + _code(change)


def _code(change: out.Change) -> str:
    """Lines around the changes, with an ellipsis for those between."""
    if not change.shown:
        return ""
    lines, following = [], 1
    for part in change.shown:
        lines += [*(["..."] if part.first_line > following else []), part.text]
        following = part.first_line + part.text.count("\n") + 1
    cut = change.total_lines is not None and following <= change.total_lines
    return "\n".join([" Here is the updated code:", *lines, *(["..."] if cut else [])])


CHANGES = change_results(_modified, lambda native: first_line_left(text_of(native.content)), _code)


WRITE_RULES = EditRules(
    whole_file=WholeFileRules(line_ends="any", byte_order_mark="text"),
    encoding="utf_8",
    shows="places",
    shown_around=5,
)
"""Seen with 0.53.0 and 0.61.0 on loopback."""
FIRST_WRITE_RULES = replace(WRITE_RULES, shows="nothing")
"""Seen with 0.28.2, which also takes white space off both ends of the text; that is not done here."""


class WriteFile(Spelling[op.WriteFile]):
    """Write a whole file; an existing one is replaced."""

    native_name = "write_file"
    results = CHANGES
    edit_rules, edit_rules_until = WRITE_RULES, {"0.28.2": FIRST_WRITE_RULES}

    file_path: str = means("path", "Path of the file.")
    content: str = means("content", "The whole new content.")


EDIT_RULES = EditRules(
    steps=(
        Step(),
        Step("lines", ("trim",), write="reindent", one_line_end=True),
        Step("tokens", write="reindent"),
        Step("similar", write="reindent", drop_last_empty="old", least_characters=10, similarity=0.9, cost=4e8),
    ),
    identical="refuse_if_found",
    empty_old="create",
    placeholders=(
        "rest of",
        "rest of method",
        "rest of methods",
        "rest of code",
        "unchanged code",
        "unchanged method",
        "unchanged methods",
    ),
    byte_order_mark="text",
    line_ends="any",
    encoding="utf_8",
    final_newline="restored",
    shows="places",
    shown_around=5,
)
"""Seen with 0.61.0 on loopback. Where nothing fits, the client may ask a model for a better pair of texts; no such
request is made here."""
BEFORE_SIMILAR = replace(EDIT_RULES, steps=EDIT_RULES.steps[:3], placeholders=(), shows="nothing")
"""Seen with 0.28.2."""


REFUSALS = Refusals(
    {
        "no_match": "Could not find an exact match for 'old_string' in '{path}'. If previous edits modified the file "
        "or you are modifying lines outside your recent read window, please use ReadFile to inspect the target lines "
        "before retrying with an exact 'old_string'.",
        "many_matches": "Failed to edit, Expected 1 occurrence but found {count} for old_string in file: {path}. If "
        "you intended to replace multiple occurrences, set 'allow_multiple' to true.",
        "no_change": "No changes to apply. The old_string and new_string are identical in file: {path}",
        "exists": "File already exists, cannot create: {path}",
        "placeholder": "`new_string` contains an omission placeholder (for example 'rest of methods ...'). Provide "
        "exact literal replacement text.",
    }
)


class Replace(Spelling[op.EditFile]):
    """Replace a piece of text in a file. It must occur exactly once in the file, unless several are allowed."""

    native_name = "replace"
    results = CHANGES
    since = "0.34"
    approximated = {
        "edits": "a text is matched, not whole lines; anchors and an expected count cannot be said",
        "purpose": "an instruction is required, so an empty one says nothing",
    }
    refine = or_new_file
    edit_rules, refusals = EDIT_RULES, REFUSALS

    file_path: str = means("path", "Path of the file.")
    instruction: str = means("purpose", "What the change is for, in a sentence.", convert=EMPTY_IS_UNSAID)
    old_string: str = means("edits.old", OLD_TEXT, convert=SOME)
    new_string: str = means("edits.new", NEW_TEXT)
    allow_multiple: bool = means("edits.everywhere", "Replace every occurrence.", default=False)


class ReplaceCounted(Spelling[op.EditFile]):
    """Replace a piece of text in a file, as many times as is expected."""

    native_name = "replace"
    results = CHANGES
    until = "0.24"
    approximated = {"edits": COUNTED, "purpose": Replace.approximated["purpose"]}
    refine = counted_or_new_file
    edit_rules = BEFORE_SIMILAR

    file_path: str = means("path", "Path of the file.")
    instruction: str = means(
        "purpose", "What the change is for, in a sentence.", since="0.19", convert=EMPTY_IS_UNSAID, was=absent("0.1.15")
    )
    old_string: str = means("edits.old", OLD_TEXT, convert=SOME)
    new_string: str = means("edits.new", NEW_TEXT)
    expected_replacements: float | None = means(
        "edits.expected", EXPECTED, default=None, convert=WHOLE, schema={"minimum": 1}
    )
