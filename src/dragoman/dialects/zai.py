"""Seven tools as Z.AI's GLM models like them: snake_case names, flat parameters, defaults that are said.

No client logs these tools, so results and failures have our own wording.
"""

from __future__ import annotations

from dragoman.model import operations as op

from .base.conversions import LINE_COUNT
from .base.dialect import Dialect
from .base.spelling import Conversion, Spelling, means

HERE = Conversion(to=lambda path: path or ".", back=lambda path: path)
"""An empty path is the working folder, as one that is left out."""


class ListDir(Spelling[op.ListDirectory]):
    """List the files and folders directly inside a folder."""

    native_name = "list_dir"
    approximated = {"path": "an empty path is the working folder"}
    unsaid = {
        "limit": "the listing is not cut",
    }

    path: str = means("path", "The folder to list.", default=".", convert=HERE)


class ReadFile(Spelling[op.ReadFile]):
    """Read a file, or `limit` lines of it from line `offset`."""

    native_name = "read_file"

    file_path: str = means("path", "Absolute path of the file.")
    offset: int | None = means("first_line", "First line to read, from 1.", default=None)
    limit: int | None = means("last_line", "Number of lines to read.", default=None, convert=LINE_COUNT)


class WriteFile(Spelling[op.WriteFile]):
    """Write a whole file. An existing file is replaced; missing folders are created."""

    native_name = "write_file"

    file_path: str = means("path", "Absolute path of the file.")
    content: str = means("content", "The whole new content.")


class EditFile(Spelling[op.EditFile]):
    """Replace a piece of text in a file. It must occur exactly once in the file."""

    native_name = "edit_file"
    approximated = {"edits": "a text is matched, not whole lines; anchors cannot be said"}

    file_path: str = means("path", "Absolute path of the file.")
    old_string: str = means("edits", "The exact text to replace, with enough around it to be unique.")
    new_string: str = means(None, "The text to put in its place.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.old_string:
            raise ValueError("old_string is empty; give the exact text to replace")
        return (op.EditFile(self.file_path, (op.Edit(self.old_string, self.new_string),)),)

    @classmethod
    def from_operation(cls, operation: op.EditFile) -> tuple[EditFile, ...] | None:
        edits = operation.edits
        if not edits or any(not edit.old or edit.everywhere or (edit.expected or 1) != 1 for edit in edits):
            return None  # what must be found in more places than one is not said as if in one
        return tuple(cls(file_path=operation.path, old_string=edit.old or "", new_string=edit.new) for edit in edits)


class RunCommand(Spelling[op.RunCommand]):
    """Run a command line in the working folder."""

    native_name = "run_command"
    unsaid = {
        "timeout_ms": "there is no parameter for it",
        "shell": "there is one shell",
        "login": "there is one shell",
        "unsandboxed": "there is no parameter for it",
    }

    command: str = means("command", "The command line.")


class GrepFiles(Spelling[op.SearchText]):
    """Search file contents with a regular expression. Returns matching lines with file and line number."""

    native_name = "grep_files"
    approximated = {"path": "an empty path is the working folder"}
    unsaid = {
        "include": "all files are searched",
        "exclude": "all files are searched",
        "file_type": "all files are searched",
        "case_sensitive": "the pattern itself says so",
        "limit": "results are not cut",
        "limit_per_file": "results are not cut",
        "respect_ignore": "there is no parameter for it",
    }

    pattern: str = means("pattern", "The regular expression.")
    path: str = means("path", "The folder to search in.", default=".", convert=HERE)


class FindFiles(Spelling[op.FindFiles]):
    """Find files whose path matches a glob pattern."""

    native_name = "find_files"
    approximated = {"path": "an empty path is the working folder"}
    unsaid = {
        "respect_ignore": "there is no parameter for it",
        "limit": "the list is not cut",
    }

    pattern: str = means("pattern", "The glob pattern, e.g. `src/**/*.ts`.")
    path: str = means("path", "The folder to look in.", default=".", convert=HERE)


DIALECT = Dialect(
    "zai",
    (ListDir, ReadFile, WriteFile, EditFile, RunCommand, GrepFiles, FindFiles),
    unspoken={
        op.SearchTools: "all tools are offered up front",
        op.CallMcpTool: "it has no names for the tools of servers",
        op.SteerClient: "there is no client to steer",
    },
)
