"""Claude Code's tools for files, folders and notebooks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from dragoman.dialects.base.conversions import SOME
from dragoman.dialects.base.default_words import as_called, understand, unnumbered, up_to_here
from dragoman.dialects.base.edits import NEW_TEXT, OLD_TEXT, has_written, or_new_file
from dragoman.dialects.base.sentences import numbered
from dragoman.dialects.base.spelling import TUPLE, Content, Refusals, Spelling, means, native_only, was
from dragoman.dialects.base.words import CALLED, by_hand, one_of, single, skipped, words
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.edit_rules import AS_GIVEN, EditRules, Step, WholeFileRules
from dragoman.model.json_text import converted

from .results import fields, list_in, number_in, plain_text, record, text_in, whole, without_reminders

# ── reading ──────────────────────────────────────────────────────────────────


_CUT = re.compile(
    r"<system-reminder>\nCut here: lines \d+ to \d+ of (\d+|more)\. [^\n]*\n</system-reminder>\s*\Z",
)


_PARTIAL_BEGINS = "[Truncated: PARTIAL view — "
_LONGEST_NOTE = 5000
_PARTIAL = re.compile(r"(?s:.)*?: showing lines \d+-\d+ of (\d+) total [^\n]*\]\s*\Z")
"""What 2.1.325 says after the first lines of a file that is too long, in a text of its own beside the result."""


def _file_written(outcome: out.FileOutcome, asked: op.Operation) -> str:
    outcome = up_to_here(asked, outcome)
    if not outcome.truncated:
        return numbered(outcome)
    last = outcome.first_line + outcome.text.count("\n")
    total = "more" if outcome.total_lines is None else outcome.total_lines
    return (
        f"{numbered(outcome)}\n\n<system-reminder>\nCut here: lines {outcome.first_line} to {last} of {total}. "
        "Read on with offset and limit.\n</system-reminder>\n"
    )


def _file_read(asked: op.ReadFile | op.ReadNotebook, native: NativeResult) -> out.Outcome:
    """From the record of the log, the cells of a notebook, or numbered lines."""
    known: Any = fields(native).get("file")
    content = text_in(known, "content")
    if content is not None and isinstance(native.content, str) and "cells" not in known:
        return _recorded_file(asked, known, content, len(native.content))
    cells = cells_of(without_reminders(native))
    if cells is not None:
        return out.NotebookOutcome(asked.path, cells)
    if not isinstance(native.content, str) and not all(isinstance(piece, str) for piece in native.content):
        return _seen(asked, native)
    if content is not None:
        return _recorded_file(asked, known, content, 0)
    text = plain_text(native)
    place = text.rfind(_PARTIAL_BEGINS, -_LONGEST_NOTE)  # looking for the pattern takes longer than all else here
    partial = _PARTIAL.match(text, place) if place >= 0 else None
    text = text if partial is None else text[:place].rstrip()
    # Up to 2.1.54 the number stood before an arrow. Of an empty file there are only reminders.
    lines = _numbered_lines(text, "\t") or _numbered_lines(text, "→") or (None if text else (1, ""))
    if lines is None or _is_another_number(text, asked):
        return out.TextOutcome(text)
    cut = _CUT.search(native.content) if isinstance(native.content, str) else None
    cut = cut or partial
    total = int(cut[1]) if cut is not None and cut[1] != "more" else None
    first = max(1, lines[0])  # asked for line 0, 2.1.17 counts from there
    return out.FileOutcome(asked.path, lines[1], first, total, truncated=cut is not None)


def _numbered_lines(text: str, mark: str) -> tuple[int, str] | None:
    """The number of the first line and the text of numbered lines.

    On the wire (2.1.325) the end of a result is trimmed before a reminder: of an empty last line the number is left.
    """
    return unnumbered(f"{text}{mark}" if _BARE_NUMBER.fullmatch(text, text.rfind("\n") + 1) else text, mark)


def _is_another_number(text: str, asked: op.ReadFile | op.ReadNotebook) -> bool:
    """Whether a number is all, and not that of the line that was asked for: then it is an answer, not an empty line."""
    if _BARE_NUMBER.fullmatch(text) is None:
        return False
    return int(text) not in (1, (asked.first_line if isinstance(asked, op.ReadFile) else None) or 1)


_BARE_NUMBER = re.compile(r" *[0-9]+")
_BEFORE_LINES = len("     1\t")


def _recorded_file(
    operation: op.ReadFile | op.ReadNotebook, known: dict[str, Any], content: str, told: int
) -> out.FileOutcome:
    """A file as the log has it beside its numbered lines, which are `told` characters long."""
    first, total, lines = known.get("startLine"), known.get("totalLines"), known.get("numLines")
    if type(first) is not int or not first:
        first = 1
    if type(total) is not int:
        return out.FileOutcome(operation.path, content, first)
    # `numLines` counts the lines that were read; that of a long file holds fewer (2.0.46 to 2.1.325): count those.
    if type(lines) is not int or told != len(content) + lines * _BEFORE_LINES:
        lines = content.count("\n") + 1
    last = first + lines - 1
    asked = operation.last_line if type(operation) is op.ReadFile else None
    cut = last < (total if asked is None else min(total, asked))
    return out.FileOutcome(operation.path, content, first, total, truncated=cut)


def _seen(operation: op.Operation, native: NativeResult) -> out.Outcome:
    outcome = understand(operation, without_reminders(native))
    known = fields(native).get("file")
    if not isinstance(outcome, out.ImageOutcome) or not isinstance(known, dict):
        return outcome
    dimensions = known.get("dimensions")
    image = msgspec.structs.replace(
        outcome.image,
        width=number_in(dimensions, "originalWidth"),
        height=number_in(dimensions, "originalHeight"),
        size=number_in(known, "originalSize"),
    )
    return out.ImageOutcome(image)


def _lines(offset: float | None, limit: float | None) -> tuple[int | None, int | None]:
    if offset is None and limit is None:
        return None, None
    start, count = whole(offset, "offset"), whole(limit, "limit")
    if (start is not None and start < 0) or (count is not None and count < 1):
        raise ValueError("offset must be 0 or more and limit 1 or more")
    first = None if start is None else start or 1  # 2.1.17 takes 0 for the beginning as well
    return first, None if count is None else (first or 1) + count - 1


def _limit(operation: op.ReadFile) -> int | None:
    """How many lines; `ValueError` for lines that cannot be said."""
    first, last = operation.first_line, operation.last_line
    if (first is not None and first < 1) or (last is not None and last < (first or 1)):
        raise ValueError("lines count from 1, and the last is not before the first")
    return None if last is None else last - (first or 1) + 1


WITHOUT_PAGES = "Read a file: a text as numbered lines, an image, or the cells of a notebook."


def _tree_written(outcome: out.DirectoryOutcome, asked: op.Operation) -> str:
    """The whole tree below a folder, two spaces a level, folders with a slash."""
    lines = [f"- {as_called(asked, outcome.path).rstrip('/')}/"]
    above: list[str] = []
    for entry in outcome.entries:
        *parents, name = entry.path.split("/")
        lines += [f"{'  ' * level}- {parent}/" for level, parent in _new_parents(above, parents)]
        lines.append(f"{'  ' * (len(parents) + 1)}- {name}{'/' if entry.kind == 'directory' else ''}")
        above = [*parents, name] if entry.kind == "directory" else parents
    return "\n".join(lines) + "\n"


def _tree_read(text: str, asked: op.ListDirectory) -> out.DirectoryOutcome | None:
    head, *lines = text.partition("\n\n")[0].removesuffix("\n").split("\n")
    found = [re.fullmatch(r"((?:  )+)- (.+?)(/?)", line) for line in lines]
    if not re.fullmatch(r"- .*/", head) or None in found:
        return None
    entries: list[out.Entry] = []
    above: list[str] = []
    for one in found:
        assert one is not None  # which was looked for above
        above = [*above[: len(one[1]) // 2 - 1], one[2]]
        entries.append(out.Entry("/".join(above), "directory" if one[3] else "file"))
    return out.DirectoryOutcome(asked.path, tuple(entries))


def _new_parents(above: Sequence[str], parents: Sequence[str]) -> list[tuple[int, str]]:
    """The folders to be told before an entry below them, each with its level."""
    known = 0
    while known < min(len(above), len(parents)) and above[known] == parents[known]:
        known += 1
    return [(level, parent) for level, parent in enumerate(parents, 1) if level > known]


TREES = one_of(
    by_hand(
        out.DirectoryOutcome,
        _tree_written,
        _tree_read,
        nearly={"entries": "an entry is a folder or a file, without its size"},
    ),
    text=plain_text,
)
"""By hand: the path of an entry depends on the lines above it."""


class LS(Spelling[op.ListDirectory]):
    """List the files and folders below a folder."""

    native_name = "LS"
    results = TREES
    until = "1.0.88"
    unsaid = {
        "depth": "the whole tree is listed",
        "limit": "the client decides how much is listed",
        "respect_ignore": "the client decides about ignored files",
    }

    path: str = means("path", "The folder, as an absolute path.")
    ignore: tuple[str, ...] | None = means("ignore", "Glob patterns to leave out.", default=None, convert=TUPLE)


# ── notebooks ────────────────────────────────────────────────────────────────

_CELL = re.compile(
    r'<cell id="(?P<id>[^"]*)">(?:<cell_type>(?P<kind>\w+)</cell_type>)?(?:<language>(?P<language>[^<]*)</language>)?'
    r'(?P<source>.*?)</cell id="(?P=id)">',
    re.DOTALL,
)


def _cells_written(outcome: out.NotebookOutcome, _asked: op.Operation) -> Content:
    """Cells in tags; what a cell printed follows it."""
    pieces: list[str | out.Media] = []
    for cell in outcome.cells:
        kind = "" if cell.cell_type == "code" else f"<cell_type>{cell.cell_type}</cell_type>"
        language = f"<language>{cell.language}</language>" if cell.language not in (None, "python") else ""
        id = cell.id or ""
        pieces.append(f'<cell id="{id}">{kind}{language}{cell.source}</cell id="{id}">')
        pieces += [f"\n{output}" if isinstance(output, str) else output for output in cell.outputs]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return "\n".join(texts) if len(texts) == len(pieces) else tuple(pieces)


def cells_of(native: NativeResult) -> tuple[out.Cell, ...] | None:
    """The cells of a result, from its record where there is one; `None` when it is no notebook."""
    structured = record(native)
    listed = structured if isinstance(structured, list) else list_in(fields(native).get("file"), "cells")
    if listed and all(text_in(cell, "source") is not None for cell in listed):
        return tuple(_recorded(cell) for cell in listed)
    pieces = [native.content] if isinstance(native.content, str) else list(native.content)
    if not pieces or not isinstance(pieces[0], str) or not pieces[0].startswith('<cell id="'):
        return None
    cells: list[out.Cell] = []
    for piece in pieces:
        if not isinstance(piece, str):
            cells[-1] = _with_output(cells[-1], piece)
            continue
        end = 0
        for found in _CELL.finditer(piece):
            _printed(cells, piece[end : found.start()].removesuffix("\n"))
            cells.append(
                out.Cell(found["source"], found["kind"] or "code", found["id"] or None, found["language"] or None)
            )
            end = found.end()
        _printed(cells, piece[end:])
        if not cells:
            return None
    return tuple(cells)


def _recorded(cell: dict[str, Any]) -> out.Cell:
    printed = [text_in(output, "text") for output in list_in(cell, "outputs") or []]
    return out.Cell(
        cell["source"],
        text_in(cell, "cellType") or "code",
        text_in(cell, "cell_id"),
        text_in(cell, "language"),
        tuple(text for text in printed if text is not None),
    )


def _printed(cells: list[out.Cell], text: str) -> None:
    """What stands between two cells belongs to the first; a newline sets either apart."""
    text = text.removeprefix("\n").removeprefix("\n")
    if cells and text.strip("\n"):
        cells[-1] = _with_output(cells[-1], text)


def _with_output(cell: out.Cell, output: str | out.Media) -> out.Cell:
    return msgspec.structs.replace(cell, outputs=(*cell.outputs, output))


FILES = one_of(
    by_hand(
        out.FileOutcome,
        _file_written,
        says=("text", "first_line", "truncated"),
        nearly={"total_lines": "it is said of a file that was cut"},
    ),
    by_hand(out.NotebookOutcome, _cells_written, nearly={"cells": "outputs are texts"}),
    from_native=_file_read,
)
"""By hand: the log has the file beside its numbered lines, and what is read may be a picture or a notebook."""


class Read(Spelling[op.ReadFile]):
    """Read a file: a text as numbered lines, an image, the cells of a notebook, or pages of a PDF."""

    native_name = "Read"
    results = FILES
    edit_rules = EditRules(cells=True)
    described_until = {"2.1.54": WITHOUT_PAGES}
    unhonoured = {"pages": WITHOUT_PAGES}

    file_path: str = means("path", "Path of the file.")
    offset: int | None = means(
        "first_line",
        "First line to read, from 1.",
        default=None,
        since="2.1.123",
        schema={"minimum": 0, "maximum": 2**53 - 1},
        was=was("2.1.54", type=float | None, schema=None),
    )
    limit: int | None = means(
        "last_line",
        "Number of lines to read.",
        default=None,
        since="2.1.123",
        schema={"exclusiveMinimum": 0, "maximum": 2**53 - 1},
        was=was("2.1.54", type=float | None, schema=None),
    )
    pages: str | None = means("pages", "Pages of a PDF: `3`, `1-5`.", default=None, since="2.1.54")
    allow_large: bool | None = native_only("how much is read at once is the workspace's to decide", since="2.1.325")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ReadFile(self.file_path, *_lines(self.offset, self.limit), self.pages),)

    @classmethod
    def from_operation(cls, operation: op.ReadFile) -> Read | None:
        try:
            limit = _limit(operation)
        except ValueError:
            return None
        return cls(file_path=operation.path, offset=operation.first_line, limit=limit, pages=operation.pages)


class NotebookRead(Spelling[op.ReadNotebook]):
    """Read the cells of a notebook with what they printed."""

    native_name = "NotebookRead"
    results = FILES
    until = "1.0.59"

    notebook_path: str = means("path", "The notebook, as an absolute path.")
    cell_id: str | None = means("cell_id", "Only this cell.", default=None)


# ── changing ─────────────────────────────────────────────────────────────────


_CREATED = re.compile(r"File created successfully at: ([^\n]+?)(?: \(file state is current[^\n]*)?")
_EDITED = re.compile(r"Applied \d+ edits? to ([^\n]+):\n")


def _change_written(outcome: out.ChangesOutcome, asked: op.Operation) -> str | None:
    if len(outcome.changes) != 1 or outcome.preview:
        return None
    change = outcome.changes[0]
    path = as_called(asked, change.path)
    current = f" {_CURRENT}" if change.current else ""
    by_edit = isinstance(asked, op.WriteFile) and not asked.overwrite
    if change.kind == "created" and not by_edit:
        return f"File created successfully at: {path}{current}"
    if not has_written(outcome) or (change.kind == "unchanged" and not isinstance(asked, op.WriteFile)):
        return None
    if isinstance(asked, op.EditFile) and all(edit.everywhere for edit in asked.edits):
        return f"The file {path} has been updated. All occurrences were successfully replaced.{current}"
    return f"The file {path} has been updated successfully.{current}"


_CURRENT = "(file state is current in your context — no need to Read it back)"
"""Since 2.1.197 (captured sessions; 2.1.123 ends before it)."""


def _change_read(text: str, asked: op.Operation) -> out.ChangesOutcome | None:
    path, is_new = _updated(text), False
    if path is None:
        created = _CREATED.fullmatch(text)
        found = created or _EDITED.match(text)
        if found is None:
            return None
        path, is_new = found[1], created is not None
    return out.ChangesOutcome((out.Change(path, "created" if is_new else "modified"),))


_UPDATED = "The file ", " has been updated"


def _updated(text: str) -> str | None:
    """The file that a text says to have been updated. It is found, not matched: a match would look at every letter."""
    head, words = _UPDATED
    if not text.startswith(head):
        return None
    end = text.find(words, len(head) + 1)
    while end >= 0 and not text.startswith((".", " successfully."), end + len(words)):
        end = text.find(words, end + 1)
    path = text[len(head) : end] if end >= 0 else "\n"
    return None if "\n" in path else path


def _changed(asked: op.Operation, outcome: out.Outcome, native: NativeResult) -> out.Outcome:
    """The log has the difference. An Edit that creates a file says "updated" (2.1.218, 2.1.325); its record has no text
    before it."""
    if not isinstance(outcome, out.ChangesOutcome):
        return outcome
    (change,) = outcome.changes
    known = fields(native)
    is_new = text_in(known, "oldString") == "" and isinstance(asked, op.WriteFile)
    hunks = list_in(known, "structuredPatch")
    diff, added, removed = _unified(change.path, hunks) if hunks else (None, None, None)
    kind = "created" if is_new else change.kind
    return out.ChangesOutcome((out.Change(change.path, kind, diff=diff, added=added, removed=removed),))


class _Hunk(msgspec.Struct, gc=False, rename="camel"):
    """A part of a patch, as the log has it."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: list[str]


def _unified(path: str, hunks: Sequence[Any]) -> tuple[str | None, int | None, int | None]:
    """A patch in parts as one unified diff, with what it adds and removes."""
    name = path.lstrip("/")
    diff = f"--- a/{name}\n+++ b/{name}\n"
    added = removed = 0
    try:
        for given in hunks:
            hunk = converted(given, _Hunk)
            body = "\n".join(("", *hunk.lines))
            diff += f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@{body}\n"
            added += body.count("\n+")
            removed += body.count("\n-")
    except msgspec.ValidationError:
        return None, None, None
    return diff, added, removed


CHANGES = one_of(
    by_hand(
        out.ChangesOutcome,
        _change_written,
        _change_read,
        nearly={"changes": "only that one file was created or updated is said"},
    ),
    text=plain_text,
    recorded=_changed,
)
"""By hand: from 1.0.59 to 2.0.76 (captured sessions) lines of the file follow the sentence, and may hold its words."""


REFUSALS = Refusals(
    {
        "no_match": "String to replace not found in file.\nString: {old}{note}",
        "many_matches": "Found {count} matches of the string to replace, but replace_all is false. To replace all "
        "occurrences, set replace_all to true. To replace only one occurrence, please provide more context to uniquely "
        "identify the instance.\nString: {old}",
        "no_change": "No changes to make: old_string and new_string are exactly the same.",
        "exists": "Cannot create new file - file already exists.",
        "not_read": "File has not been read yet. Read it first before writing to it.",
        "not_found": "File does not exist.",
    },
    ("<tool_use_error>", "</tool_use_error>"),
    (
        r"[^\x00-\x7f]|\\u[0-9a-fA-F]{4}",
        "\n(note: Edit also tried swapping \\uXXXX escapes and their characters; neither form matched, so the mismatch "
        "is likely elsewhere in old_string. Re-read the file and copy the exact surrounding text.)",
    ),
)


WRITE_RULES = EditRules(
    read_first=True,
    decode_escapes=True,
    trim_new=True,
    whole_file=WholeFileRules(line_ends="as_given", byte_order_mark="not_alone", empty_is_new=True),
    encoding="utf_8_or_16",
    says_current=True,
)
"""Seen with 2.1.325 on loopback."""
EARLIER_WRITE_RULES = replace(WRITE_RULES, whole_file=replace(AS_GIVEN, empty_is_new=True), encoding="utf_8")
"""Seen with 2.1.150."""
SILENT_WRITE_RULES = replace(EARLIER_WRITE_RULES, says_current=False)
FIRST_WRITE_RULES = replace(SILENT_WRITE_RULES, decode_escapes=False)
"""Seen with 2.0.30 and 2.1.54; these also write CR twice where the new text and the file have CRLF, which is not done
here."""


class Write(Spelling[op.WriteFile]):
    """Write a whole file. An existing file is replaced, and must have been read before."""

    native_name = "Write"
    results = CHANGES
    edit_rules, edit_rules_until = (
        WRITE_RULES,
        {"2.1.54": FIRST_WRITE_RULES, "2.1.123": SILENT_WRITE_RULES, "2.1.150": EARLIER_WRITE_RULES},
    )
    refusals = REFUSALS

    file_path: str = means("path", "Path of the file.")
    content: str = means("content", "The whole new content.")


EDITS = "a text is matched, not whole lines; anchors and an expected count cannot be said"


EDIT_RULES = EditRules(
    steps=(
        Step(),
        Step(fold=("quotes",), write="file_quotes", counted="text"),
        Step(fold=("unicode_escapes",), write="file_escapes", counted="text"),
        Step(fold=("upper_unicode_escapes",), write="file_escapes", counted="text"),
    ),
    empty_old="fill_blank",
    read_first=True,
    notebooks=False,
    texts_view="kept",
    line_ends="majority",
    decode_escapes=True,
    trim_new=True,
    delete_line_end="after",
    whole_file=WholeFileRules(line_ends="any"),
    encoding="utf_8_or_16",
    says_current=True,
)
"""Seen with 2.1.150 and 2.1.325 on loopback. It edits a file that changed since it was read where the text is still
found; here such a file must be read again."""
SILENT_EDIT_RULES = replace(EDIT_RULES, says_current=False)
FIRST_EDIT_RULES = replace(
    SILENT_EDIT_RULES, steps=(Step(), Step(fold=("quotes",), counted="text")), decode_escapes=False
)
"""Seen with 2.0.30: quotes of the new text stay as they are, and escapes are nothing special."""


class Edit(Spelling[op.EditFile]):
    """Replace a piece of text in a file. It must occur exactly once in the file, unless all are replaced."""

    native_name = "Edit"
    results = CHANGES
    approximated = {"edits": EDITS}
    refine = or_new_file
    edit_rules, edit_rules_until = EDIT_RULES, {"2.0.30": FIRST_EDIT_RULES, "2.1.123": SILENT_EDIT_RULES}
    refusals = REFUSALS

    file_path: str = means("path", "Path of the file.")
    old_string: str = means("edits.old", OLD_TEXT, convert=SOME)
    new_string: str = means("edits.new", NEW_TEXT)
    replace_all: bool = means("edits.everywhere", "Replace every occurrence.", default=False)


class OneEdit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of several edits."""

    old_string: Annotated[str, msgspec.Meta(description="The exact text to replace.")]
    new_string: Annotated[str, msgspec.Meta(description="The text to put in its place.")]
    replace_all: Annotated[bool, msgspec.Meta(description="Replace every occurrence.")] = False


class MultiEdit(Spelling[op.EditFile]):
    """Make several edits in one file, one after the other: all of them or none."""

    native_name = "MultiEdit"
    results = CHANGES
    until = "1.0.88"
    approximated = {"edits": EDITS}
    edit_rules = FIRST_EDIT_RULES

    file_path: str = means("path", "Path of the file.")
    edits: tuple[OneEdit, ...] = means("edits", "The edits, in order.", schema={"minItems": 1})

    def to_operations(self) -> tuple[op.Operation, ...]:
        edits = [op.Edit(edit.old_string, edit.new_string, everywhere=edit.replace_all) for edit in self.edits]
        if not edits:
            raise ValueError("there are no edits")
        if edits[0].old:
            return (op.EditFile(self.file_path, tuple(edits)),)
        created = op.WriteFile(self.file_path, edits[0].new, overwrite=False)
        return (created, op.EditFile(self.file_path, tuple(edits[1:]))) if edits[1:] else (created,)

    @classmethod
    def from_operation(cls, operation: op.EditFile) -> MultiEdit | None:
        if not operation.edits or not all(edit.old for edit in operation.edits):
            return None
        edits = tuple(OneEdit(edit.old or "", edit.new, edit.everywhere) for edit in operation.edits)
        return cls(file_path=operation.path, edits=edits)


_VERBS = {"replace": "Updated", "insert": "Inserted", "delete": "Deleted"}


def _edited_cell(asked: op.EditNotebook) -> str:
    cell = f" {asked.cell_id}" if asked.cell_id and asked.mode != "insert" else ""
    return cell if asked.mode == "delete" else f"{cell} with {asked.source or ''}"


class NotebookEdit(Spelling[op.EditNotebook]):
    """Replace, insert (after `cell_id`, or first) or delete one cell of a notebook."""

    native_name = "NotebookEdit"

    notebook_path: str = means("path", "Path of the notebook.")
    cell_id: str | None = means("cell_id", "The cell to change, or to insert after.", default=None)
    new_source: str = means("source", "The cell's new source; empty for a cell that is deleted.")
    cell_type: Literal["code", "markdown"] | None = means(
        "cell_type", "Type of the cell; required when inserting.", default=None
    )
    edit_mode: Literal["replace", "insert", "delete"] = means("mode", "What to do.", default="replace")

    def to_operations(self) -> tuple[op.Operation, ...]:
        gone = self.edit_mode == "delete" and not self.new_source
        source = None if gone else self.new_source
        return (op.EditNotebook(self.notebook_path, source, self.cell_id, self.cell_type, self.edit_mode),)

    @classmethod
    def from_operation(cls, operation: op.EditNotebook) -> NotebookEdit | None:
        deletes = operation.mode == "delete"
        if (operation.source is None and not deletes) or (operation.source == "" and deletes):
            return None  # the tool requires a source (1.0.59 to 2.1.325), and an empty one says none
        return cls(
            notebook_path=operation.path,
            cell_id=operation.cell_id,
            new_source=operation.source or "",
            cell_type=operation.cell_type,
            edit_mode=operation.mode,
        )

    results = one_of(
        single(
            out.ChangesOutcome,
            words(
                out.Change,
                "{_verb} cell{_rest}",
                kind="modified",
                path=CALLED,
                _verb=skipped(lambda asked: _VERBS[asked.mode], "Updated|Inserted|Deleted"),
                _rest=skipped(_edited_cell, r"\b(?s:.*)"),
            ),
        ),
        text=plain_text,
    )
