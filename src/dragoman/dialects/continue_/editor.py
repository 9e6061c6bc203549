"""Tools of the extension for editors: read, never offered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman.dialects.base.default_words import text_of, understand
from dragoman.dialects.base.spelling import Conversion, Spelling, means, native_only
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

IN_EDITORS = "a tool of the extension for editors, which keeps its sessions in the same place"

_CUT_SHORT = "Truncation warning"
_ENDED_AS = re.compile(
    r"Command (?P<done>completed)|Command failed with exit code (?P<code>\d+)|Command (?P<late>timed out)"
)


def _pieces(native: NativeResult) -> list[dict[str, Any]]:
    """The pieces of a result as the log keeps them, each with its name; as one where they are not there."""
    kept = native.item.get("output") if isinstance(native.item, dict) else None
    pieces = [piece for piece in kept if isinstance(piece, dict)] if isinstance(kept, list) else []
    return pieces or [{"content": text_of(native.content)}]


def _told(native: NativeResult) -> tuple[str, bool]:
    """What a result says, and whether a warning stands beside it that this is not all."""
    pieces = _pieces(native)
    texts = [str(piece.get("content") or "") for piece in pieces if piece.get("name") != _CUT_SHORT]
    return "\n".join(texts), len(texts) < len(pieces)


class InEditors:
    """How the extension tells results: bare texts, and beside a text what it is of or how it ended."""

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text, cut = _told(native)
        match operation:
            case op.ReadFile():
                return out.FileOutcome(operation.path, text, operation.first_line or 1, truncated=cut)
            case op.RunCommand():
                return _ended(_pieces(native)[0], text)
            case op.ListDirectory():
                names = [] if text.startswith("No files/folders found in ") else text.split("\n")
                entries = [
                    out.Entry(name.removesuffix("/"), "directory" if name.endswith("/") else "file") for name in names
                ]
                return out.DirectoryOutcome(operation.path, tuple(entries), truncated=cut)
            case op.FindFiles():
                none = text.startswith(("No files/folders found in ", "The glob search returned no results"))
                return out.PathsOutcome(() if none else tuple(text.split("\n")), truncated=cut)
            case op.SearchText() if text.startswith("The search returned no results"):
                return out.MatchesOutcome(())
            case op.WriteFile() if text.startswith("File created"):
                return out.ChangesOutcome((out.Change(operation.path, "created"),))
            case op.EditFile() if text.startswith("Successfully edited"):
                return out.ChangesOutcome((out.Change(operation.path, "modified"),))
            case op.FetchPage():
                return out.PagesOutcome((out.Page(operation.url, text=text, truncated=cut),))
        return understand(operation, native)


def _ended(piece: dict[str, Any], text: str) -> out.CommandOutcome:
    status = str(piece.get("status") or "")
    ended = _ENDED_AS.match(status)
    if ended is None:
        return out.CommandOutcome(output=text, running="running in the background" in status)
    if ended["late"]:
        return out.CommandOutcome(output=text, timed_out=True)
    return out.CommandOutcome(0 if ended["done"] else int(ended["code"]), output=text)


class ReadInEditor(InEditors, Spelling[op.ReadFile]):
    """Read a whole file."""

    native_name, read_only = "read_file", IN_EDITORS
    formerly = ("builtin_read_file",)

    filepath: str = means("path")


class ReadRangeInEditor(InEditors, Spelling[op.ReadFile]):
    """Read lines of a file."""

    native_name, read_only = "read_file_range", IN_EDITORS
    formerly = ("builtin_read_file_range",)

    filepath: str = means("path")
    startLine: int = means("first_line")  # noqa: N815 - the native name
    endLine: int = means("last_line")  # noqa: N815 - the native name


class CreateInEditor(InEditors, Spelling[op.WriteFile]):
    """Write a new file; one that is there is left as it is."""

    native_name, read_only = "create_new_file", IN_EDITORS
    formerly = ("builtin_create_new_file",)
    always = {"overwrite": False}

    filepath: str = means("path")
    contents: str = means("content")


class OneReplacement(msgspec.Struct, frozen=True):
    """One of several edits."""

    old_string: str
    new_string: str
    replace_all: bool | None = None


class ReplaceInEditor(InEditors, Spelling[op.EditFile]):
    """Replace a piece of text in a file."""

    native_name, read_only = "single_find_and_replace", IN_EDITORS
    formerly = ("builtin_single_find_and_replace",)

    filepath: str = means("path")
    old_string: str = means("edits")
    new_string: str = means(None)
    replace_all: bool | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return _edited(self.filepath, (OneReplacement(self.old_string, self.new_string, self.replace_all),))


class EditInEditor(InEditors, Spelling[op.EditFile]):
    """Replace several pieces of text in a file, one after the other."""

    native_name, read_only = "multi_edit", IN_EDITORS
    formerly = ("builtin_multi_edit",)

    edits: tuple[OneReplacement, ...]
    filepath: str = means("path")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return _edited(self.filepath, self.edits)


def _edited(path: str, edits: Sequence[OneReplacement]) -> tuple[op.Operation, ...]:
    if not edits or not all(edit.old_string for edit in edits):
        raise ValueError("old_string: say what is to be replaced")
    return (
        op.EditFile(
            path, tuple(op.Edit(one.old_string, one.new_string, everywhere=one.replace_all or False) for one in edits)
        ),
    )


class RunInEditor(InEditors, Spelling[op.RunCommand]):
    """Run a command line."""

    native_name, read_only = "run_terminal_command", IN_EDITORS
    formerly = ("builtin_run_terminal_command",)

    command: str
    waitForCompletion: bool | None = means(  # noqa: N815 - the native name
        "background", default=None, convert=Conversion(lambda waits: waits is False, lambda background: not background)
    )


class SearchInEditor(InEditors, Spelling[op.SearchText]):
    """Search the project with a regular expression."""

    native_name, read_only = "grep_search", IN_EDITORS
    formerly = ("builtin_grep_search",)

    query: str = means("pattern")
    splitByFile: bool | None = native_only("how results are laid out")  # noqa: N815 - the native name


class FindInEditor(InEditors, Spelling[op.FindFiles]):
    """Find files by a glob pattern."""

    native_name, read_only = "file_glob_search", IN_EDITORS
    formerly = ("builtin_file_glob_search",)

    pattern: str


class ListInEditor(InEditors, Spelling[op.ListDirectory | op.FindFiles]):
    """List a folder, or all that is below it."""

    native_name, read_only = "ls", IN_EDITORS
    formerly = ("builtin_ls",)

    dirPath: str | None = means("path", default=None)  # noqa: N815 - the native name
    recursive: bool | None = means("pattern", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        path = self.dirPath or "."
        return (op.FindFiles("**/*", path) if self.recursive else op.ListDirectory(path),)


class SearchCodeInEditor(InEditors, Spelling[op.SearchDocuments]):
    """Search the project's index by meaning."""

    native_name, read_only = "codebase", IN_EDITORS
    formerly = ("builtin_codebase", "codebase_tool")

    query: str


class SearchWebInEditor(InEditors, Spelling[op.SearchWeb]):
    """Search the web."""

    native_name, read_only = "search_web", IN_EDITORS
    formerly = ("builtin_search_web",)

    query: str


class FetchInEditor(InEditors, Spelling[op.FetchPage]):
    """Fetch a web page."""

    native_name, read_only = "fetch_url_content", IN_EDITORS
    formerly = ("builtin_fetch_url_content",)

    url: str


class SkillInEditor(InEditors, Spelling[op.UseSkill]):
    """Load a skill."""

    native_name, read_only = "read_skill", IN_EDITORS

    skillName: str = means("name")  # noqa: N815 - the native name


READ = (
    ReadInEditor,
    ReadRangeInEditor,
    CreateInEditor,
    ReplaceInEditor,
    EditInEditor,
    RunInEditor,
    SearchInEditor,
    FindInEditor,
    ListInEditor,
    SearchCodeInEditor,
    SearchWebInEditor,
    FetchInEditor,
    SkillInEditor,
)
"""Read from logs, never offered."""
