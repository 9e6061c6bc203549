"""opencode's tools for files and folders, in the words of 1.1.11 … 1.18.33."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from dragoman.dialects.base.conversions import FLAG, SOME
from dragoman.dialects.base.default_words import tell_all, text_of, understand, up_to_here
from dragoman.dialects.base.edits import NEW_TEXT, OLD_TEXT, has_written
from dragoman.dialects.base.patch_text import (
    ABOUT_PATCHES,
    OPENCODE,
    PATCH_NEARLY,
    PATCH_UNSAID,
    SUCCESS,
    changed_files,
    changes_listed,
    patches_for,
    read_patch,
    same_path,
)
from dragoman.dialects.base.spelling import Content, Refusals, ResultWords, Spelling, Tells, means, whole_number
from dragoman.dialects.base.words import (
    CALLED,
    PATH,
    Part,
    Reads,
    Template,
    by_hand,
    count_of,
    done,
    lines,
    maybe,
    numbered,
    one_of,
    picture,
    single,
    skipped,
    words,
)
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.edit_rules import AS_GIVEN, EditRules, PatchRules, Step, WholeFileRules

PATCHING = ("gpt-5*",)
"""Models that are given `apply_patch`, since 1.1.53, where all others edit and write."""
EDITING = ("!gpt-5*",)
NOT_OFFERED = "models call it, and no version that was captured offers it"


def metadata(native: NativeResult) -> Mapping[str, Any]:
    """The metadata of a result: in the state of the part, or in the part with its state."""
    item = native.item
    state = item.get("state", item) if isinstance(item, dict) else None
    found = state.get("metadata") if isinstance(state, dict) else None
    return found if isinstance(found, dict) else {}


def number(value: Any) -> int | None:
    """A whole number, if it is one."""
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
    # The note is also printed below a range that was read whole (1.3.2 to 1.18.33).
    cut = note.startswith("Showing") and last < min(total or last, operation.last_line or total or last)
    cut = cut or note.startswith("Output capped")
    return out.FileOutcome(operation.path, shown.text, shown.first_line, total, truncated=cut)


def _lines_in(before: str, tag: str, *, empty: bool = False, newline: str = "\n") -> Template:
    """Lines in a tag; below it the client may put reminders of its own."""
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
            # 1.3.2 begins with the first line in the line of the tag.
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
    """Read a file, or `limit` lines of it from line `offset`. A folder is listed, and an image is shown."""

    native_name = "read"
    since = "1.18.4"
    unsaid = READ_UNSAID
    approximated = READ_NEARLY

    filePath: str = means("path", "Path of the file, or of a folder (ending with a slash).")  # noqa: N815 - native
    offset: int | None = means("first_line", "First line to read, from 1.", default=None, schema={"minimum": 0})
    limit: int | None = means("last_line", "Number of lines or entries to read.", default=None, schema={"minimum": 0})

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

    filePath: str = means("path", "Path of the file, or of a folder (ending with a slash).")  # noqa: N815 - native
    offset: float | None = means("first_line", "Number of lines to skip.", default=None)
    limit: float | None = means("last_line", "Number of lines or entries to read.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        start = whole_number(self.offset)
        return _to_read(self.filePath, None if start is None else start + 1, whole_number(self.limit))

    @classmethod
    def from_operation(cls, operation: op.ReadFile | op.ListDirectory) -> ReadFromZero | None:
        path, first, count = _from_read(operation)
        if isinstance(operation, op.ReadFile) and path.endswith("/") and first is None:
            return None
        return cls(filePath=path, offset=None if first is None else first - 1, limit=count)


def _tree_read(text: str, asked: op.ListDirectory) -> out.DirectoryOutcome | None:
    """The tree that 1.0.162 prints: the folder itself, then what it holds, two spaces deeper for each level."""
    head, *listed = text.removesuffix("\n").split("\n")
    if not head.endswith("/") or (not head.startswith("/") and head.rstrip("/") != asked.path.rstrip("/")):
        return None
    entries: list[out.Entry] = []
    folders: list[str] = []
    for line in listed:
        found = _TREE_LINE.fullmatch(line)
        depth = 0 if found is None else len(found["indent"]) // 2
        if found is None or not 0 < depth <= len(folders) + 1:
            return None
        del folders[depth - 1 :]
        path = "/".join((*folders, found["name"]))
        entries.append(out.Entry(path, "directory" if found["folder"] else "file"))
        if found["folder"]:
            folders.append(found["name"])
    return out.DirectoryOutcome(asked.path, tuple(entries))


def _tree_written(outcome: out.DirectoryOutcome, asked: op.ListDirectory) -> str | None:
    """The same; `None` where it is no such tree: a folder comes before what it holds."""
    text = f"{outcome.path.rstrip('/')}/\n"
    for entry in outcome.entries:
        indent = "  " * (entry.path.count("/") + 1)
        text += f"{indent}{entry.path.rpartition('/')[2]}{'/' * (entry.kind == 'directory')}\n"
    read = _tree_read(text, asked)
    return text if read is not None and read.entries == outcome.entries and not outcome.truncated else None


_TREE_LINE = re.compile(r"(?P<indent>(?:  )+)(?P<name>[^ /][^/]*)(?P<folder>/?)")


class List(Spelling[op.ListDirectory]):
    """List what a folder holds."""

    results = one_of(
        by_hand(
            out.DirectoryOutcome,
            _tree_written,
            _tree_read,
            says=("path",),
            nearly={"entries": "the sizes of files are lost, and each folder comes before what it holds"},
        )
    )

    native_name = "list"
    read_only = NOT_OFFERED

    path: str = "."
    ignore: tuple[str, ...] = ()

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ListDirectory(self.path, self.ignore),)


# ── changing files ───────────────────────────────────────────────────────────


_WRITTEN = "Wrote file successfully."
_EDITED = "Edit applied successfully."


def _written(operation: op.Operation, outcome: out.Outcome, native: NativeResult) -> out.Outcome:
    """The log knows whether the file was there before."""
    existed = metadata(native).get("exists")
    if not isinstance(existed, bool) or not isinstance(operation, op.WriteFile):
        return outcome
    return out.ChangesOutcome((out.Change(operation.path, "modified" if existed else "created"),))


def _counted(_operation: op.Operation, outcome: out.Outcome, native: NativeResult) -> out.Outcome:
    """The log counts the lines of an edit."""
    if not isinstance(outcome, out.ChangesOutcome):
        return outcome
    added, removed = _lines_changed(metadata(native).get("filediff"))
    return out.ChangesOutcome((msgspec.structs.replace(outcome.changes[0], added=added, removed=removed),))


def _lines_changed(counts: Any) -> tuple[int | None, int | None]:
    if not isinstance(counts, dict):
        return None, None
    return number(counts.get("additions")), number(counts.get("deletions"))


WRITE_RULES = EditRules(whole_file=WholeFileRules(line_ends="as_given", byte_order_mark="one"), encoding="utf_8")
"""Seen with 1.18.33 on loopback."""
FIRST_WRITE_RULES = EditRules(read_first=True, whole_file=AS_GIVEN, encoding="utf_8")
"""Seen with 1.1.53 and 1.2.15."""


class Write(Spelling[op.WriteFile]):
    """Write a whole file; an existing one is replaced."""

    native_name = "write"
    since, families = "1.1.53", EDITING
    edit_rules, edit_rules_until = WRITE_RULES, {"1.2.15": FIRST_WRITE_RULES}

    content: str = means("content", "The whole new content.")
    filePath: str = means("path", "Path of the file.")  # noqa: N815 - the native name

    # 1.0.162 and 1.1.11 log an empty text.
    results = one_of(
        done(_WRITTEN, of=out.ChangesOutcome, when=has_written),
        formerly=(words(out.DoneOutcome, "", note=None),),
        recorded=_written,
    )


class WriteForAll(Write):
    """Write a whole file; an existing one is replaced."""

    since, until, families = "1.1.11", "1.1.11", ("*",)


_MORE = skipped("", "(?s:.*)")  # what checkers say of the file (1.0.162 to 1.18.33)
_EDITS = one_of(
    single(
        out.ChangesOutcome,
        words(out.Change, f"{_EDITED}{{_more}}", kind="modified", path=CALLED, _more=_MORE),
        words(out.Change, f"{_EDITED}{{_more}}", kind="created", path=CALLED, _more=_MORE),
        asked=op.EditFile,
    ),
    # An edit of nothing writes a file, which 1.2.15 replaces and 1.18.33 does not.
    done(
        _EDITED,
        of=out.ChangesOutcome,
        when=lambda outcome: len(outcome.changes) == 1 and has_written(outcome),
        asked=op.WriteFile,
    ),
    formerly=(
        single(out.ChangesOutcome, words(out.Change, "", kind="modified", path=CALLED), asked=op.EditFile),
        words(out.DoneOutcome, "", note=None, asked=op.WriteFile),
    ),
    recorded=_counted,
)


def replaced_or_written(operation: op.EditFile) -> op.Operation:
    """The edit, or the file that is written where nothing is replaced by something."""
    edit = operation.edits[0]
    # Two empty texts are refused as being the same (1.18.33).
    return operation if edit.old or not edit.new else op.WriteFile(operation.path, edit.new)


EDIT_RULES = EditRules(
    steps=(
        Step(many="next", counted="overlapping"),
        Step("lines", ("trim",), "next", "overlapping", drop_last_empty="old"),
        Step(
            "anchors",
            (),
            "next",
            "overlapping",
            drop_last_empty="old",
            least_lines=3,
            similarity=0.65,
            length_share=0.25,
        ),
        Step("words", (), "next", "overlapping"),
        Step("block", ("spaces",), "next", "overlapping"),
        Step("block", ("dedent",), "next", "overlapping"),
        Step("text", ("escapes",), "next", "overlapping"),
        Step("block", ("escapes",), "next", "overlapping"),
        Step("text", ("trim_whole",), "next", "overlapping"),
        Step("block", ("trim_whole",), "next", "overlapping"),
        Step("anchors", (), "next", "overlapping", drop_last_empty="old", least_lines=3, equal_share=0.5),
    ),
    empty_old="create",
    file_view="kept",
    byte_order_mark="one",
    texts_view="as_file",
    whole_file=WRITE_RULES.whole_file,
    encoding="utf_8",
    most_lines=True,
)
"""Seen with 1.18.33 on loopback."""
FIRST_EDIT_RULES = replace(EDIT_RULES, empty_old="refuse", read_first=True, texts_view="kept", most_lines=False)
"""Seen with 1.2.15, where an empty old text also replaced a whole file."""
REFUSALS = Refusals(
    {
        "no_match": "Could not find oldString in the file. It must match exactly, including whitespace, indentation, "
        "and line endings.",
        "many_matches": "Found multiple matches for oldString. Provide more surrounding context to make the match "
        "unique.",
        "no_change": "No changes to apply: oldString and newString are identical.",
        "too_large_a_match": "Refusing replacement because the matched span is much larger than oldString. Re-read the "
        "file and provide the full exact oldString for the intended replacement.",
        "exists": "oldString cannot be empty when editing an existing file. Provide the exact text to replace, or use "
        "write for an intentional full-file replacement.",
    }
)
"""Seen with 1.18.33 on loopback."""


class Edit(Spelling[op.EditFile]):
    """Replace a piece of text in a file. It must occur exactly once in the file, unless all are replaced."""

    native_name = "edit"
    results = _EDITS
    since, families = "1.1.53", EDITING
    approximated = {"edits": "a text is matched, not whole lines; anchors and an expected count cannot be said"}
    refine = replaced_or_written
    edit_rules, edit_rules_until = EDIT_RULES, {"1.2.15": FIRST_EDIT_RULES}
    refusals = REFUSALS

    filePath: str = means("path", "Path of the file.")  # noqa: N815 - the native name
    oldString: str = means("edits.old", OLD_TEXT, convert=SOME)  # noqa: N815 - the native name
    newString: str = means("edits.new", NEW_TEXT)  # noqa: N815 - the native name
    replaceAll: bool | None = means(  # noqa: N815 - the native name
        "edits.everywhere", "Replace every occurrence.", default=None, convert=FLAG
    )


class EditForAll(Edit):
    """Replace a piece of text in a file. It must occur exactly once in the file, unless all are replaced."""

    since, until, families = "1.1.11", "1.1.11", ("*",)


class OneEdit(msgspec.Struct, frozen=True):
    """One of several edits."""

    oldString: str  # noqa: N815 - the native name
    newString: str  # noqa: N815 - the native name
    replaceAll: bool = False  # noqa: N815 - the native name
    filePath: str | None = None  # noqa: N815 - the native name


class MultiEdit(Spelling[op.EditFile]):
    """Replace several pieces of text in a file, one after the other."""

    native_name = "multiedit"
    results = _EDITS
    read_only = NOT_OFFERED

    filePath: str  # noqa: N815 - the native name
    edits: tuple[OneEdit, ...]

    def to_operations(self) -> tuple[op.Operation, ...]:
        if any(edit.filePath not in (None, self.filePath) for edit in self.edits):
            raise ValueError("all edits must be of the one file")
        edits = (op.Edit(edit.oldString, edit.newString, everywhere=edit.replaceAll) for edit in self.edits)
        return (op.EditFile(self.filePath, tuple(edits)),)


_LETTERS = {"created": "A", "modified": "M", "unchanged": "M", "moved": "M", "deleted": "D"}
_KINDS: dict[str, out.ChangeKind] = {"A": "created", "M": "modified", "D": "deleted"}


def _with_one_end(content: str) -> str:
    """A new file as it is written: an empty last line is the end of the line before (1.18.33)."""
    return content.removesuffix("\n") if content == "\n" or content.endswith("\n\n") else content


def _added(outcome: out.ChangesOutcome) -> out.ChangesOutcome:
    replaced = ("modified", "unchanged")
    return out.ChangesOutcome(
        tuple(
            msgspec.structs.replace(change, kind="created") if change.kind in replaced else change
            for change in outcome.changes
        )
    )


PATCHING_RULES = EditRules(
    patch=PatchRules(
        passes=((), ("right_trim",), ("trim",), ("trim", "typography_ellipsis")),
        white_space="javascript",
        empty_last="left_out_after_others",
        insert="end",
        anchors="trimmed_both",
        line_ends="lf",
        returns="text",
        byte_order_mark="one",
        keeps_context=False,
        ends_file=True,
        blank_end=True,
        at_end="ignored",
        no_change="accept",
        moves_over=True,
    ),
    whole_file=replace(AS_GIVEN, byte_order_mark="text_once"),
    encoding="utf_8",
)
"""Seen in its source (d545d8f, 2026-08-19), and with 1.18.33 on loopback. It passes over hunks without "@@", and over
all that follow "*** End of File", without a word; here such a patch is refused."""


class ApplyPatch(Spelling[op.WriteFile | op.EditFile | op.DeleteFile | op.MoveFile]):
    __doc__ = ABOUT_PATCHES
    native_name = "apply_patch"
    edit_rules = PATCHING_RULES
    since, families = "1.1.53", PATCHING
    unsaid, approximated = PATCH_UNSAID, PATCH_NEARLY

    patchText: str = means(None, "The whole patch.")  # noqa: N815 - the native name

    def to_operations(self) -> tuple[op.Operation, ...]:
        return tuple(
            op.WriteFile(one.path, _with_one_end(one.content)) if isinstance(one, op.WriteFile) else one
            for one in read_patch(self.patchText, form=OPENCODE)
        )

    @classmethod
    def from_operation(cls, operation: op.WriteFile | op.EditFile | op.DeleteFile | op.MoveFile) -> Any:
        if isinstance(operation, op.WriteFile) and _with_one_end(operation.content) != operation.content:
            operation = msgspec.structs.replace(operation, content=f"{operation.content}\n")
        patches = patches_for(operation)
        return patches and tuple(cls(patchText=patch) for patch in patches)

    # Methods: one list is the result of all operations of a patch.

    def from_outcomes(
        self, operations: tuple[op.Operation, ...], outcomes: tuple[out.Outcome, ...]
    ) -> tuple[Content, bool | None]:
        # A file that is added is listed so, even where another was there (1.18.33).
        told = (
            _added(outcome)
            if isinstance(operation, op.WriteFile) and isinstance(outcome, out.ChangesOutcome)
            else outcome
            for operation, outcome in zip(operations, outcomes, strict=False)
        )
        listed = changed_files([*told, *outcomes[len(operations) :]], _LETTERS)
        return tell_all(operations, outcomes) if listed is None else "\n".join([SUCCESS, *listed]), None

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        head, *lines = text_of(native.content).split("\n")
        if head != SUCCESS:
            return tuple(understand(operation, native) for operation in operations)
        listed = [(_KINDS[line[0]], line[2:]) for line in lines if line[:1] in _KINDS and line[1:2] == " "]
        counts = metadata(native).get("files")
        files = [one for one in counts if isinstance(one, dict)] if isinstance(counts, list) else []

        def counted(path: str) -> tuple[int | None, int | None]:
            return _lines_changed(next((one for one in files if same_path(str(one.get("filePath")), path)), None))

        return changes_listed(operations, listed, counted)
