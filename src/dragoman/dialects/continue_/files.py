"""Files: reading, listing and changing them."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from dragoman.dialects.base.conversions import FLAG
from dragoman.dialects.base.default_words import as_called
from dragoman.dialects.base.spelling import Refusals, ResultWords, Spelling, means
from dragoman.dialects.base.words import (
    CALLED,
    PATH,
    Template,
    body,
    lines,
    maybe,
    one_of,
    picture,
    single,
    skipped,
    words,
)
from dragoman.model import operations as op, outcomes as out
from dragoman.model.edit_rules import AS_GIVEN, EditRules, Step

NOT_OFFERED = "models call it, and no version that was captured offers it"

_PART_OF_FILE = words(
    out.FileOutcome,
    "Content of {asked.path} (from line {first_line}",
    maybe(", cut", truncated=False),
    "):\n{text}",
    path=CALLED,
    text=body(),
)


class Read(Spelling[op.ReadFile]):
    """Read a whole file, text or image. Use a shell command to read parts of a file that is too large."""

    native_name = "Read"
    unsaid = dict.fromkeys(("first_line", "last_line", "pages"), "a file is read whole")

    filepath: str = means("path", "Path of the file.")

    results = one_of(
        picture("Image file: {asked.path} ({media_type})"),
        words(
            out.FileOutcome, "Content of {asked.path}:\n{text}", path=CALLED, text=body(), first_line=1, truncated=False
        ),
        _PART_OF_FILE,
        read_first=(_PART_OF_FILE,),
    )


class List(Spelling[op.ListDirectory]):
    """List the files and folders directly inside a folder."""

    native_name = "List"

    dirpath: str = means("path", "Path of the folder.")

    results = one_of(
        words(
            out.DirectoryOutcome,
            "Files in {asked.path}:",
            "{entries}",
            maybe("\n[more entries are not shown]", truncated=False),
            path=CALLED,
            entries=lines(words(out.Entry, "{path} ({kind}", maybe(", {size} bytes"), ")"), leading=True),
        ),
        # The client ends the line of an empty folder (1.5.47).
        formerly=(words(out.DirectoryOutcome, "Files in {asked.path}:\n", path=CALLED, entries=()),),
    )


_HEAD = re.compile(r"Index: (.*)\n=+\n--- .*\n\+\+\+ .*\n")
_OUR_HEAD = re.compile(r"--- .*\n\+\+\+ .*\n")
_RULE = "=" * 67
_ONE_LINE = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@", re.MULTILINE)
"""Where a hunk stands; of a single line the client says the number too (1.5.47)."""


def _headed(operation: op.Operation, outcome: out.ChangesOutcome) -> out.ChangesOutcome:
    """A change whose difference begins as the client's do (1.5.47): the path, and a line under it."""
    changes = []
    for change in outcome.changes:
        if change.kind == "unchanged" and isinstance(operation, op.WriteFile) and not outcome.preview:
            # A file that is written as it was is told as any other, with a difference that has no lines.
            name = change.path.lstrip("/")
            change = msgspec.structs.replace(change, kind="modified", diff=f"--- a/{name}\n+++ b/{name}\n")
        found = _OUR_HEAD.match(change.diff or "")
        if found is not None and change.diff is not None:
            path = as_called(operation, change.path)
            head = f"Index: {path}\n{_RULE}\n--- {path}\n+++ {path}\n"
            hunks = _ONE_LINE.sub(
                lambda one: f"@@ -{one[1]}{one[2] or ',1'} +{one[3]}{one[4] or ',1'} @@", change.diff[found.end() :]
            )
            change = msgspec.structs.replace(change, diff=head + hunks)
        changes.append(change)
    return msgspec.structs.replace(outcome, changes=tuple(changes))


def _unless_one(count: str | None) -> str:
    return "" if count in (None, ",1") else str(count)


def _counted(_operation: op.Operation, outcome: Any) -> out.Outcome:
    """A change with its lines counted, where the difference shows them, and with the usual beginning."""
    (change,) = outcome.changes
    if change.diff is None:
        return out.ChangesOutcome((change,))
    if (head := _HEAD.match(change.diff)) is not None:
        name = head[1].lstrip("/")
        hunks = _ONE_LINE.sub(
            lambda one: f"@@ -{one[1]}{_unless_one(one[2])} +{one[3]}{_unless_one(one[4])} @@",
            change.diff[head.end() :],
        )
        change = msgspec.structs.replace(change, diff=f"--- a/{name}\n+++ b/{name}\n{hunks}")
    shown = change.diff.split("\n")
    body = shown[next((index for index, line in enumerate(shown) if line.startswith("@@")), len(shown)) :]
    added, removed = (sum(line.startswith(mark) for line in body) for mark in "+-")
    return out.ChangesOutcome((msgspec.structs.replace(change, added=added, removed=removed),))


def _edits(operation: Any) -> str:
    count = len(operation.edits)
    return f"{count} edit{'s' * (count != 1)}"


def _with_difference(sentence: str) -> tuple[Template, Template]:
    """A changed file with the difference, and without one."""
    kinds: dict[str, Any] = {"_edits": skipped(_edits, "[0-9]++ edits?")} if "{_edits}" in sentence else {}
    return (
        words(out.Change, f"{sentence}\nDiff:\n", "{diff}", kind="modified", path=PATH, diff=body(), **kinds),
        words(out.Change, sentence, kind="modified", path=PATH, diff=None, **kinds),
    )


class ChangingFiles:
    """How a changed file is told: what was done to which file, and the difference where there was one before."""

    results: ClassVar[ResultWords | None] = one_of(
        single(
            out.ChangesOutcome,
            words(out.Change, "Successfully created file: {path}", kind="created", path=PATH),
            *_with_difference("Successfully wrote to file: {path}"),
            asked=op.WriteFile,
        ),
        single(out.ChangesOutcome, *_with_difference("Successfully edited {path} with {_edits}"), asked=op.EditFile),
        then=_counted,
        back=_headed,
    )


WRITE_RULES = EditRules(whole_file=replace(AS_GIVEN, empty_is_new=True), encoding="utf_8", diff_line_ends=True)
"""Seen with 1.5.47 on loopback."""


class Write(ChangingFiles, Spelling[op.WriteFile]):
    """Write a whole file. An existing file is replaced; missing folders are created."""

    native_name = "Write"
    edit_rules = WRITE_RULES

    filepath: str = means("path", "Path of the file.")
    content: str = means("content", "The whole new content.")


class OneEdit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One edit: the exact text and its replacement."""

    old_string: str
    new_string: str
    replace_all: bool | None = None


EDIT_RULES = EditRules(
    steps=(
        Step(),
        Step(fold=("trim_whole",), write="shift_indent"),
        Step(fold=("case",), write="shift_indent"),
        Step(fold=("no_spaces",), write="shift_indent"),
    ),
    repeat=True,
    empty_old="insert_first",
    read_first=True,
    file_view="kept",
    byte_order_mark="text",
    texts_view="kept",
    encoding="utf_8",
    diff_line_ends=True,
)
"""Seen with 1.5.47 on loopback."""


REFUSALS = Refusals(
    {
        "no_match": 'Edit at index {index}: string not found in file: "{old}"',
        "many_matches": 'Edit at index {index}: String "{old}" appears {count} times in the file. Either provide a '
        "more specific string with surrounding context to make it unique, or use replace_all=true to replace all "
        "occurrences.",
        "no_change": "edit at index {index}: old_string and new_string must be different",
    }
)


class MultiEdit(ChangingFiles, Spelling[op.EditFile]):
    """Replace one or several pieces of text in a file, in order. All edits are applied, or none."""

    native_name = "MultiEdit"
    edit_rules, refusals = EDIT_RULES, REFUSALS
    approximated = {"edits": "a text is matched, not whole lines; anchors and an expected count cannot be said"}

    file_path: str = means("path", "Path of the file.")
    edits: tuple[OneEdit, ...] = means("edits", "The edits, in order: each replaces an exact text with a new one.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        edits = (op.Edit(one.old_string, one.new_string, everywhere=one.replace_all or False) for one in self.edits)
        return (op.EditFile(self.file_path, tuple(edits)),)

    @classmethod
    def from_operation(cls, operation: op.EditFile) -> MultiEdit | None:
        edits = operation.edits
        if not edits or any(not edit.old or ((edit.expected or 1) != 1 and not edit.everywhere) for edit in edits):
            return None  # a text that must be found so often, or nowhere, is never found so
        said = (OneEdit(edit.old or "", edit.new, edit.everywhere or None) for edit in edits)
        return cls(file_path=operation.path, edits=tuple(said))


class Edit(ChangingFiles, Spelling[op.EditFile]):
    """Replace a piece of text in a file."""

    native_name = "Edit"
    read_only = NOT_OFFERED

    file_path: str = means("path")
    old_string: str = means("edits.old")
    new_string: str = means("edits.new")
    replace_all: bool | None = means("edits.everywhere", default=None, convert=FLAG)
