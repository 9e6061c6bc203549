"""Acme's vocabulary: two tools of its own, and names for those of MCP servers."""

from __future__ import annotations

from dragoman.dialects import Dialect, McpNames, Spelling, means, native_only
from dragoman.model import operations as op


class OpenFile(Spelling[op.ReadFile]):
    """Read a file, or some of its lines."""

    native_name = "open_file"
    unsaid = {"pages": "a document is read whole"}

    name: str = means("path", "Path of the file.")
    first_line: int | None = means(None, "First line, from 1.", default=None)
    last_line: int | None = means(None, "Last line, inclusive.", default=None)
    cache: bool | None = native_only("how the client stores files is its own affair")


class Shell(Spelling[op.RunCommand]):
    """Run a command."""

    native_name = "shell"
    unsaid = {field: "it takes a line and no more" for field in op.RunCommand.__struct_fields__ if field != "command"}

    line: str = means("command", "The command line.")


DIALECT = Dialect("acme", (OpenFile, Shell), mcp=(McpNames("mcp__{server}__{tool}"),))
