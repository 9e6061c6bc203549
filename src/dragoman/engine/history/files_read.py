"""Which files a model has read, when a run continues a conversation that another process began."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.errors import ToolError
from dragoman.model import Failure, conversation as conv, operations as op

if TYPE_CHECKING:
    from dragoman.engine.offer import Offer
    from dragoman.model import Call
    from dragoman.tools import Workspace

_READ = (op.ReadFile, op.WriteFile, op.EditFile)


def note_files_read(conversation: conv.Conversation, facade: Offer, workspace: Workspace) -> None:
    """Lets a workspace know the files that earlier calls of a conversation read or wrote.

    Some vocabularies refuse to edit a file that was not read; what was read before the run was interrupted counts.
    """
    open_calls: dict[str, Call] = {}
    for item in conversation:
        for part in item.parts:
            if isinstance(part, conv.CallPart):
                call = facade.read_call(part.call)
                if any(isinstance(operation, _READ) for operation in call.operations):
                    open_calls[call.id] = call
            elif isinstance(part, conv.ResultPart) and (asked := open_calls.pop(part.result.call_id, None)) is not None:
                _note(asked, facade, part, workspace)


def _note(call: Call, facade: Offer, part: conv.ResultPart, workspace: Workspace) -> None:
    outcomes = facade.read_result(call, part.result).outcomes
    for operation, outcome in zip(call.operations, outcomes, strict=False):
        if isinstance(operation, _READ) and not isinstance(outcome, Failure):
            try:
                workspace.note_read(workspace.resolve(operation.path))
            except ToolError:
                continue  # a path outside this workspace: nothing there can be edited
