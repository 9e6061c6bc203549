"""What `codex exec --json` prints of calls: not what the model said, but what the client did, item by item.

Rule: they are read and never said. A file's change is printed without its content, so it is an edit of that file
whose edits are not known; what became of it is the outcome's to tell.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from dragoman.dialects.base.default_words import text_of, understand
from dragoman.dialects.base.patch_text import script_in
from dragoman.dialects.base.responses_items import command_line
from dragoman.dialects.base.spelling import Conversion, Spelling, means
from dragoman.dialects.base.words import one_of
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_values import as_integer

from .results import agent_report

PRINTED = "the client prints it of a call; the model has other words for it"


def _item(native: NativeResult) -> Mapping[str, Any]:
    return native.item if isinstance(native.item, dict) else {}


def _ran(_asked: op.Operation, native: NativeResult) -> out.Outcome | None:
    match _item(native):
        case {"status": "declined", **rest}:
            return out.Failure("denied", str(rest.get("aggregated_output") or "declined"))
        # No command ends with -1: the client ended it (seen in 0.156.1 and 0.166.0).
        case {"exit_code": -1, "aggregated_output": str(output)}:
            timed_out = output.endswith("command timed out")
            return out.CommandOutcome(output=output, timed_out=True) if timed_out else out.Failure("failed", output)
        case {"aggregated_output": str(output), **rest}:
            known, running = as_integer(rest.get("exit_code")), rest.get("status") == "in_progress"
            return out.CommandOutcome(known, output=output, running=running)
    return None


class CommandExecution(Spelling[op.RunCommand]):
    """A command, with its shell, as one line."""

    native_name = "command_execution"
    read_only = PRINTED

    command: str

    def to_operations(self) -> tuple[op.Operation, ...]:
        try:
            words = shlex.split(self.command)
        except ValueError:  # Windows quotes otherwise
            words = []
        if script_in(words) is None:
            return (op.RunCommand(self.command),)
        line, shell, login = command_line(words)
        return (op.RunCommand(line, shell=shell, login=login),)

    results = one_of(from_native=_ran)


class PrintedChange(msgspec.Struct, frozen=True):
    """A file and what was done to it."""

    path: str
    kind: Literal["add", "update", "delete"]


_KINDS: Mapping[str, Any] = {"add": "created", "update": "modified", "delete": "deleted"}


class FileChange(Spelling[op.EditFile | op.DeleteFile]):
    """The files a patch changes."""

    native_name = "file_change"
    read_only = PRINTED

    changes: tuple[PrintedChange, ...] = means(None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.changes:
            raise ValueError("there is no change; give the files")
        return tuple(
            op.DeleteFile(one.path) if one.kind == "delete" else op.EditFile(one.path, ()) for one in self.changes
        )

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        status = _item(native).get("status")
        if status == "completed":
            return tuple(out.ChangesOutcome((out.Change(one.path, _KINDS[one.kind]),)) for one in self.changes)
        if status == "failed":
            return (out.Failure("failed", text_of(native.content) or "the patch was not applied"),) * len(operations)
        return tuple(understand(operation, native) for operation in operations)


class PrintedStep(msgspec.Struct, frozen=True):
    """One item of the to-do list."""

    text: str
    completed: bool = False


STEPS = Conversion(
    to=lambda steps: tuple(op.PlanItem(one.text, "completed" if one.completed else "pending") for one in steps),
    back=lambda items: tuple(PrintedStep(item.text, item.status == "completed") for item in items),
)


class TodoList(Spelling[op.UpdatePlan]):
    """The plan as it stands."""

    native_name = "todo_list"
    read_only = PRINTED

    items: tuple[PrintedStep, ...] = means("items", convert=STEPS)

    results = one_of(
        from_native=lambda asked, native: (
            out.PlanOutcome(asked.items) if _item(native).get("type") == "todo_list" else None
        )
    )


class CollabToolCall(Spelling[op.SpawnAgent | op.MessageAgent | op.WaitForAgent | op.StopAgent]):
    """What was done with other agents, and how it stands with them."""

    native_name = "collab_tool_call"
    read_only = PRINTED

    tool: Literal["spawn_agent", "send_input", "wait", "close_agent"] = means(None)
    receiver_thread_ids: tuple[str, ...] = means(None, default=())
    prompt: str | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if self.tool == "spawn_agent":
            return (op.SpawnAgent(self.prompt or ""),)
        if self.tool == "wait":
            return (op.WaitForAgent(self.receiver_thread_ids),)
        if not self.receiver_thread_ids:
            raise ValueError(f"{self.tool} names no agent; give receiver_thread_ids")
        if self.tool == "send_input":
            return tuple(op.MessageAgent(agent, self.prompt or "") for agent in self.receiver_thread_ids)
        return tuple(op.StopAgent(agent) for agent in self.receiver_thread_ids)

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        match _item(native):
            case {"status": "failed"}:
                return (out.Failure("failed", text_of(native.content) or f"{self.tool} failed"),) * len(operations)
            case {"agents_states": dict(states)}:
                reports = tuple(_report(id, state) for id, state in states.items())
                return (out.AgentsOutcome(reports),) * len(operations)
        return tuple(understand(operation, native) for operation in operations)


def _report(id: str, state: Any) -> out.AgentReport:
    match state:
        case {"status": str(status), "message": str(message)}:
            return agent_report(id, {status: message})
        case {"status": str(status)}:
            return agent_report(id, status)
    return agent_report(id, None)


READ = (CommandExecution, FileChange, TodoList, CollabToolCall)
