"""What calls on files mean. The rules are those of `operations`, which has the rest and the table of all."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from .base import Value
from .operation_base import WITH_SHELL, Effects, Reading, Searching, Writing


class ReadFile(Reading, frozen=True):
    """Read a file, or its lines from `first_line` to `last_line` (from 1, inclusive), or `pages` of a document."""

    tool_module = "tools.files"
    in_short = "read {path}"
    effects = Effects.of("path", limit="first_line last_line", path="path")

    path: str
    first_line: int | None = None
    last_line: int | None = None
    pages: str | None = None


class ReadFiles(Reading, frozen=True):
    """Read every file that matches one of the glob `patterns`."""

    unspoken = "files are read one by one"
    tool_module = "tools.files"
    effects = Effects.of("patterns")

    patterns: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    respect_ignore: bool = True


class ReadNotebook(Reading, frozen=True):
    """Read all cells of a notebook, or one of them."""

    unspoken = "a notebook is read as text"
    tool_module = "tools.notebook"
    in_short = "read {path}"
    effects = Effects.of("path cell_id", path="path")

    path: str
    cell_id: str | None = None


class ViewImage(Reading, frozen=True):
    """View an image, or only the rectangle `region` of it (left, top, right, bottom in pixels)."""

    unspoken = "an image is read like any other file"
    tool_module = "tools.files"
    in_short = "view {path}"
    effects = Effects.of("path", path="path")

    path: str
    detail: str | None = None
    region: tuple[int, int, int, int] | None = None


class ListDirectory(Reading, frozen=True):
    """List the entries of a folder, down to `depth` levels (default 1), without those that match `ignore`.

    With `prefix` (which may be empty): list all files below the folder, at any depth, whose path relative to it
    begins with the prefix.
    """

    unspoken = WITH_SHELL
    tool_module = "tools.search"
    in_short = "list {path}"
    effects = Effects.of("path prefix", limit="depth limit", path="path")

    path: str = "."
    ignore: tuple[str, ...] = ()
    depth: int | None = None
    limit: int | None = None
    respect_ignore: bool | None = None
    prefix: str | None = None


class WriteFile(Writing, frozen=True):
    """Write a whole file; with `overwrite=False`, fail if it exists."""

    tool_module = "tools.files"
    in_short = "write {path}"
    effects = Effects.of("path content", path="path")

    path: str
    content: str
    overwrite: bool = True


class Edit(Value, frozen=True, gc=False):
    """One change: the text `old` becomes `new`."""

    # With `whole_lines` and no `old`, `new` is inserted after the last anchor, or at the end of the file. `kept` pairs
    # the lines that stay, by their numbers in `old` and `new`, where `line_pairs.kept_lines` finds others.
    old: Annotated[str | None, Meta(description="Text to replace, exactly as it is in the file; it must occur once.")]
    new: Annotated[str, Meta(description="Text to put in its place. Empty: the old text is deleted.")]
    everywhere: Annotated[bool, Meta(description="Replace every occurrence.")] = False
    expected: Annotated[int | None, Meta(description="How often `old` must occur; all are replaced.")] = None
    whole_lines: Annotated[bool, Meta(description="Match whole lines only.")] = False
    anchors: Annotated[tuple[str, ...], Meta(description="With `whole_lines`: lines above the place, in order.")] = ()
    at_end: Annotated[bool, Meta(description="With `whole_lines`: the place is at the end of the file.")] = False
    kept: Annotated[tuple[tuple[int, int], ...] | None, Meta(description="Lines that stay. Leave this out.")] = None


class EditFile(Writing, frozen=True):
    """Change parts of a file: all edits are applied in order, or none."""

    tool_module = "tools.files"
    in_short = "edit {path}"
    effects = Effects.of("path edits", comment="purpose", path="path")

    path: str
    edits: tuple[Edit, ...]
    purpose: str | None = None


class InsertText(Writing, frozen=True):
    """Insert `text` as new lines after line `line` (0: before the first)."""

    unspoken = "text is inserted by replacing the text around it"
    tool_module = "tools.files"
    in_short = "insert into {path} after line {line}"
    effects = Effects.of("path line text", path="path")

    path: str
    line: int
    text: str


class ReplaceLines(Writing, frozen=True):
    """Replace lines named by number and mark (`12:3fa`): `first` to `last`, or `first` alone; no `text` deletes."""

    unspoken = "lines are replaced by giving their text"
    tool_module = "tools.files"
    in_short = "replace lines {first} to {last} of {path}"
    effects = Effects.of("path first last text", path="path")

    path: str
    first: str
    text: str
    last: str | None = None


class DeleteFile(Writing, frozen=True):
    """Delete a file."""

    acp_kind = "delete"
    unspoken = WITH_SHELL
    tool_module = "tools.files"
    in_short = "delete {path}"
    effects = Effects.of("path", path="path")

    path: str


class MoveFile(Writing, frozen=True):
    """Move or rename a file."""

    acp_kind = "move"
    unspoken = WITH_SHELL
    tool_module = "tools.files"
    in_short = "move {path} to {to}"
    effects = Effects.of("path to", path="path to")

    path: str
    to: str


class UndoEdit(Writing, frozen=True):
    """Undo the last change made to a file in this run; repeated, the one before it."""

    tool_module = "tools.files"
    in_short = "undo the last change of {path}"
    effects = Effects.of("path", path="path")

    path: str


class EditNotebook(Writing, frozen=True):
    """Replace, insert (after `cell_id`, or first) or delete one cell of a notebook."""

    unspoken = "a notebook is edited as text"
    tool_module = "tools.notebook"
    in_short = "edit {path}"
    effects = Effects.of("path source cell_id", path="path")

    path: str
    source: str | None = None
    cell_id: str | None = None
    cell_type: Literal["code", "markdown"] | None = None
    mode: Literal["replace", "insert", "delete"] = "replace"


class FindFiles(Searching, frozen=True):
    """Find files whose path matches a glob `pattern`."""

    unspoken = WITH_SHELL
    tool_module = "tools.search"
    in_short = "find {pattern}"
    effects = Effects.of("pattern path", limit="limit", path="path")

    pattern: str
    path: str = "."
    case_sensitive: bool | None = None
    respect_ignore: bool | None = None
    limit: int | None = None
