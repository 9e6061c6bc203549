"""A file that a command showed, where the vocabulary takes that for reading it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dragoman.dialects import with_intents
from dragoman.errors import ToolError
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call
from dragoman.model.edit_rules import EditRules

if TYPE_CHECKING:
    from dragoman.tools import Workspace

_SHOWING: Final = re.compile(r"\s*(?:cat|head|tail|sed|grep)\s[^|&;<>\n]*")
"""Seen with Claude Code 2.1.325: these programs count, alone and with one file; not before `|`, `&&` or `>`."""


def note_shown_file(call: Call, outcome: out.Outcome, rules: EditRules | None, workspace: Workspace | None) -> None:
    """Remembers the one file that a command did nothing but show, if the rules count that as reading."""
    if rules is None or not rules.commands_read or workspace is None or len(call.operations) != 1:
        return
    (command,) = call.operations
    if not isinstance(command, op.RunCommand) or not _SHOWING.fullmatch(command.command):
        return
    if not isinstance(outcome, out.CommandOutcome) or outcome.exit_code != 0:
        return
    match with_intents(call).intents:
        case (op.ReadFile(path=path),) | (op.SearchText(path=path),):
            try:
                workspace.note_read(workspace.resolve(path))
            except ToolError:
                return  # a file outside of the workspace cannot be edited either
