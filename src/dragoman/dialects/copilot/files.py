"""Files: looking at them, making them, changing them, and patches."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

import msgspec
from msgspec.structs import replace

from dragoman.dialects.base.default_words import tell_all, text_of, understand, up_to_here
from dragoman.dialects.base.patch_text import ABOUT_PATCHES, COPILOT, changes_listed
from dragoman.dialects.base.patch_tool import PatchTool
from dragoman.dialects.base.spelling import Content, Refusals, Spelling, means, native_only
from dragoman.dialects.base.words import (
    CALLED,
    PATH,
    Reads,
    body,
    lines,
    maybe,
    numbered,
    one_of,
    picture,
    refusal,
    single,
    skipped,
    stays_text,
    words,
)
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.edit_rules import EditRules, Fold, PatchRules, Step

from .offered import EDITING, PATCHING
from .results import media_of

_MORE = "[more entries are not shown]"


def _names_folder(path: str) -> bool:
    return path == "." or path.endswith("/")


_SEEN = "Viewed image file successfully."
_PICTURE = (picture(_SEEN, media_of),)
_NO_LINES = (refusal("File too large to read at once"), stays_text(_SEEN))
"""What stands in the place of a file's lines: logs before 1.0.102 keep no picture beside the sentence about it."""
_LISTED = (
    words(out.DirectoryOutcome, "", asked=op.ListDirectory, path=CALLED, entries=(), truncated=False),
    words(out.DirectoryOutcome, _MORE, asked=op.ListDirectory, path=CALLED, entries=(), truncated=True),
    words(
        out.DirectoryOutcome,
        "{entries}",
        maybe(f"\n{_MORE}", truncated=False),
        asked=op.ListDirectory,
        path=CALLED,
        # The client prints bare names (0.0.390 to 1.0.102); a slash at the end, which we write, marks a folder.
        entries=lines(
            words(out.Entry, "{path}/", kind="directory"),
            words(out.Entry, "{path}", kind=Reads("other")),
        ),
    ),
)


class View(Spelling[op.ReadFile | op.ListDirectory]):
    """View a file or a range of its lines, an image, or a folder (a path that ends with a slash)."""

    native_name = "view"
    since: ClassVar[str | None] = "1.0.92"
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

    path: str = means("path", "Path of the file, or of a folder (ending with a slash).")
    view_range: tuple[int, ...] | None = means(
        "first_line", "First and last line to view, from 1; -1 is the end of the file.", default=None
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
        *_PICTURE,
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
        *_LISTED,
        read_first=_NO_LINES,
    )


_NUMBERED = (
    words(
        out.FileOutcome,
        "{text}",
        maybe("\n[cut here; see more with view_range]", truncated=False),
        asked=op.ReadFile,
        path=CALLED,
        text=numbered(". "),
        back=up_to_here,
    ),
)
"""0.0.390 to 1.0.80 number the lines, also those of a range. A text whose lines are not all numbered is bare."""


class NumberedView(View):
    """View a file or a range of its lines, an image, or a folder (a path that ends with a slash)."""

    since, until = None, "1.0.91"

    results = one_of(
        *_PICTURE,
        *_NUMBERED,
        *_LISTED,
        read_first=_NO_LINES,
        formerly=(words(out.FileOutcome, "{text}", asked=op.ReadFile, path=CALLED, first_line=CALLED, text=body()),),
    )


def never_replaced(operation: op.WriteFile) -> op.Operation:
    return msgspec.structs.replace(operation, overwrite=False)


_CREATED = (
    single(
        out.ChangesOutcome,
        words(
            out.Change,
            "Created file {path} with {_length} characters",
            kind="created",
            path=PATH,
            # UTF-16 units, as JavaScript counts.
            _length=skipped(lambda asked: str(len(asked.content.encode("utf-16-le", "surrogatepass")) // 2), "[0-9]++"),
        ),
        asked=op.WriteFile,
    ),
)


class Create(Spelling[op.WriteFile]):
    """Create a new file. Fails if the file exists."""

    native_name = "create"
    families = EDITING
    unsaid = {"overwrite": "a file that is there is never replaced"}
    refine = never_replaced

    path: str = means("path", "Path of the file.")
    file_text: str = means("content", "The whole content.")

    results = one_of(*_CREATED)


_LETTERS: tuple[Fold, ...] = ("nfkc", "typography", "signs", "letter_case")
_LOOSE: tuple[Fold, ...] = (*_LETTERS, "no_spaces", "no_blank_lines")
_LOOSEST: tuple[Fold, ...] = (*_LOOSE, "line_end_semicolon")
EDIT_RULES = EditRules(
    steps=(
        Step(),
        Step("lines", ("trim",), write="file_lines", one_indent=True),
        Step("lines", (*_LETTERS, "spaces"), write="file_lines", one_indent=True),
        Step("lines", (*_LETTERS, "no_spaces"), write="file_lines", one_indent=True),
        Step("lines", _LOOSE, write="file_lines_loosely", one_indent=True),
        Step("lines", _LOOSEST, write="file_lines_loosely", one_indent=True),
        Step("parts", _LOOSEST, write="file_lines_loosely", one_indent=True),
        Step("parts", _LOOSEST, write="file_lines_loosely"),
    ),
    empty_old="fill_empty",
    empty_first=True,
    file_view="kept",
    byte_order_mark="text",
    texts_view="new_as_first",
    encoding="utf_8",
    delete_line_end="whole_lines",
)
"""Seen with 1.0.70, 1.0.89 and 1.0.102 on loopback; the client is closed, and what its loose steps do is inferred from
some 6,000 edits (1.0.102). What it damages is refused here (docs/decisions/edit-rules.md)."""
FIRST_EDIT_RULES = replace(
    EDIT_RULES, steps=(Step(), Step("lines", ("right_trim",))), file_view="lf", texts_view="lf", delete_line_end="after"
)
"""Seen with 1.0.30."""


REFUSALS = Refusals(
    {
        "no_match": "No match found: old_str not found in {path}; no changes made; you might want to try again with "
        "correct old_str",
        "many_matches": "Ambiguous match for old_str in {path}: pattern starting with {first} matched at lines {lines}"
        ". No changes made; try again with a more specific old_str.",
        "no_change": "No changes made: old_str and new_str are the same",
        "empty": "Invalid inputs: old_str is required",
    }
)
"""Seen with 1.0.102 on loopback."""


_EDITED = (
    single(
        out.ChangesOutcome,
        words(out.Change, "No changes made: old_str and new_str are the same", kind="unchanged", path=CALLED),
        words(out.Change, "File {path} updated with changes.", kind="modified", path=PATH),
        asked=(op.EditFile, op.InsertText),
    ),
)


class Edit(Spelling[op.EditFile]):
    """Replace a text that occurs exactly once in a file."""

    native_name = "edit"
    families = EDITING
    edit_rules, edit_rules_until = EDIT_RULES, {"1.0.30": FIRST_EDIT_RULES}
    refusals = REFUSALS
    approximated = {"edits": "a text is matched, not whole lines; anchors and an expected count cannot be said"}

    path: str = means("path", "Path of the file.")
    old_str: str | None = means("edits", "The exact text to replace.", default=None)
    new_str: str | None = means(None, "The text to put in its place; omit it to delete the old text.", default=None)

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

    results = one_of(*_EDITED)


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

    results = one_of(
        read_first=_NO_LINES,
        formerly=(
            *_NUMBERED,
            *_CREATED,
            *_EDITED,
        ),
    )


_HEADS: dict[str, out.ChangeKind] = {
    "Added": "created",
    "Modified": "modified",
    "Deleted": "deleted",
}


PATCHING_RULES = EditRules(
    patch=PatchRules(
        passes=(("trim",), (*_LETTERS, "spaces"), (*_LETTERS, "no_spaces")),
        white_space="javascript",
        empty_last="left_out_alone",
        anchors="any_line",
        line_ends="first_five",
        lone_returns="refuse",
        reindents=True,
        restores_end=True,
        byte_order_mark="text",
        moves_over=True,
    )
)
"""Seen with 1.0.102 and gpt-5.4 on loopback (gpt-5 gets no patches)."""


def _added(operation: op.WriteFile) -> op.Operation:
    """A file that is there is not added, and a single line without text gives an empty file (1.0.102)."""
    content = "" if operation.content == "\n" else operation.content
    return never_replaced(msgspec.structs.replace(operation, content=content))


class ApplyPatch(PatchTool):
    __doc__ = ABOUT_PATCHES
    native_name = "apply_patch"
    families = PATCHING
    edit_rules, form = PATCHING_RULES, COPILOT

    def to_operations(self) -> tuple[op.Operation, ...]:
        return tuple(_added(one) if isinstance(one, op.WriteFile) else one for one in super().to_operations())

    @classmethod
    def from_operation(cls, operation: op.WriteFile | op.EditFile | op.DeleteFile | op.MoveFile) -> Any:
        if isinstance(operation, op.WriteFile) and operation.content == "\n":
            return None
        return super().from_operation(operation)

    def from_outcomes(
        self, operations: tuple[op.Operation, ...], outcomes: tuple[out.Outcome, ...]
    ) -> tuple[Content, bool | None]:
        if not all(isinstance(outcome, out.ChangesOutcome) for outcome in outcomes):
            return tell_all(operations, outcomes), None
        changes = [change for one in outcomes if isinstance(one, out.ChangesOutcome) for change in one.changes]
        moved = {change.path for change in changes if change.kind == "moved"}
        kinds: dict[str, list[str]] = {}
        for change in changes:
            if change.kind == "modified" and change.path in moved:
                continue  # it is told under the path it has now
            # A file that was moved over another is listed as modified (1.0.102).
            moved_as = "modified" if change.replaced else "created"
            kind = {"moved": moved_as, "unchanged": "modified"}.get(change.kind, change.kind)
            kinds.setdefault(kind, []).append(change.moved_to or change.path)
        lines = [
            f"{head} {len(kinds[kind])} file(s): {', '.join(kinds[kind])}"
            for head, kind in _HEADS.items()
            if kind in kinds
        ]
        return "\n".join(lines), None

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        listed: list[tuple[out.ChangeKind | None, str]] = []
        for line in text_of(native.content).split("\n"):
            found = re.fullmatch(r"(Added|Modified|Deleted) \d+ file\(s\): (.*)", line, re.DOTALL)
            if found is None:
                return tuple(understand(operation, native) for operation in operations)
            listed += [(_HEADS[found[1]], path) for path in found[2].split(", ")]
        # A file that was moved is listed as one that was added under its new name (1.0.20 to 1.0.102).
        return changes_listed(operations, listed, moved_as="created")
