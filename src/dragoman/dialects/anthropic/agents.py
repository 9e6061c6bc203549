"""The file tools of the agents Anthropic hosts: seen in their sessions, never offered by a request of ours."""

from __future__ import annotations

from dragoman.dialects.base.spelling import Spelling, means, native_only
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .commands import BY_COMMAND, STANDING, command_in

HOSTED = "only an agent that Anthropic hosts has it"


class AgentBash(Spelling[op.RunCommand]):
    """Run a command line."""

    native_name = "bash"
    read_only = HOSTED
    unsaid = {field: reason for field, reason in BY_COMMAND.items() if field not in ("timeout_ms", "job")}
    always = {"job": STANDING}

    command: str = means("command", "The command line.")
    timeout_ms: int = means("timeout_ms", "How long it may take, in milliseconds.")
    restart: bool | None = native_only("beside a command it asks for nothing")

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        return command_in(native)


class AgentRead(Spelling[op.ReadFile]):
    """Read a file, or some lines of it."""

    native_name = "read"
    read_only = HOSTED

    file_path: str = means("path", "Path of the file.")
    view_range: tuple[int, ...] | None = means("first_line", "The first and the last line.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if self.view_range is None:
            return (op.ReadFile(self.file_path),)
        if len(self.view_range) != 2:
            raise ValueError("view_range: give the first line and the last")
        first, last = self.view_range
        return (op.ReadFile(self.file_path, first, None if last == -1 else last),)


class AgentWrite(Spelling[op.WriteFile]):
    """Write a whole file."""

    native_name = "write"
    read_only = HOSTED
    always = {"overwrite": True}

    file_path: str = means("path", "Path of the file.")
    content: str = means("content", "Its content.")


class AgentEdit(Spelling[op.EditFile]):
    """Replace a text in a file."""

    native_name = "edit"
    read_only = HOSTED

    file_path: str = means("path", "Path of the file.")
    old_string: str = means("edits", "The text to replace.")
    new_string: str = means(None, "The text to put in its place.")
    replace_all: bool | None = means(None, "Wherever it stands.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        edit = op.Edit(self.old_string, self.new_string, everywhere=bool(self.replace_all))
        return (op.EditFile(self.file_path, (edit,)),)


def _unsaid(operation: type[op.Operation]) -> dict[str, str]:
    return dict.fromkeys(operation.__struct_fields__[2:], "it takes a pattern and a folder")


class AgentGlob(Spelling[op.FindFiles]):
    """Find files by a glob."""

    native_name = "glob"
    read_only = HOSTED
    unsaid = _unsaid(op.FindFiles)

    pattern: str = means("pattern", "The glob.")
    path: str = means("path", "The folder to look in.", default=".")


class AgentGrep(Spelling[op.SearchText]):
    """Search files for a regular expression."""

    native_name = "grep"
    read_only = HOSTED
    unsaid = _unsaid(op.SearchText)

    pattern: str = means("pattern", "The expression.")
    path: str = means("path", "The folder to look in.", default=".")


AGENT_TOOLS = (AgentBash, AgentRead, AgentWrite, AgentEdit, AgentGlob, AgentGrep)
