"""One operation, done: the standard tool for it is found and run, and whatever happens is an outcome.

Rule: this is the one place where an exception of a tool becomes a `Failure`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, get_args

from dragoman.errors import DragomanError, ToolError
from dragoman.model import operations as op, outcomes as out
from dragoman.registry import TOOLS

if TYPE_CHECKING:
    from .context import Cancellation, Context
    from .enclosure import Enclosure
    from .shell import Shell
    from .tool import Tool
    from .web import Web
    from .workspace import Workspace


NOT_HONOURED: Mapping[type[op.Operation], tuple[str, ...]] = {
    op.ReadFile: ("pages",),  # there is no reader of documents
    op.ViewImage: ("detail",),  # a picture is given as it is
    op.FetchPage: ("instructions",),  # the page itself is given; no model reads it here
    op.WatchCommand: ("url",),  # commands are followed, sockets are not
    op.RunCommand: ("unsandboxed",),  # except where `honoured_in` says so
}
"""Fields of operations that the standard tools pass over or refuse: they are not offered for these tools."""


def enclosure_in(context: Context | None) -> Enclosure | None:
    """What the commands of a context run in; `None` where it has no shell."""
    if context is None or not context.provides:
        return None
    from .shell import Shell

    shell = context.provides.get(Shell)
    return None if shell is None else shell.enclosure


def honoured_in(context: Context | None) -> Mapping[type[op.Operation], tuple[str, ...]]:
    """Fields of `NOT_HONOURED` that are honoured in this context: leaving a sandbox, where there is one to leave."""
    enclosure = enclosure_in(context)
    return {op.RunCommand: ("unsandboxed",)} if enclosure is not None and enclosure.can_be_left else {}


@asynccontextmanager
async def standard_context(
    workspace: Workspace,
    *,
    shell: Shell | None = None,
    web: Web | None = None,
    cancellation: Cancellation | None = None,
    report: Callable[[str, float | None], None] | None = None,
) -> AsyncIterator[Context]:
    """Everything the standard tools ask for, for as long as it is open; what is given here is closed with it."""
    from .context import Context
    from .plan import Plan
    from .shell import Shell
    from .web import Web

    async with shell or Shell() as running, web or Web() as reaching:
        provides = {Shell: running, Web: reaching, Plan: Plan()}
        yield Context(workspace=workspace, provides=provides, cancellation=cancellation, report=report)


async def perform(operation: op.Operation, context: Context) -> out.Outcome:
    """Do an operation with its standard tool."""
    tag = str(operation.__struct_config__.tag)
    if tag not in TOOLS:
        return out.Failure("unknown_tool", f"no tool here does {tag}", {"operation": tag})
    tool: Tool = TOOLS[tag]
    return await outcome_of(lambda: run_operation(tool, operation, context))


async def run_operation(tool: Tool, operation: op.Operation, context: Context) -> Any:
    """Runs a tool made from an operation on one that is already read."""
    if tool.is_async:
        return await tool.run(operation, context)
    from .threads import in_thread

    return await in_thread(tool.run, operation, context)


async def outcome_of(run: Callable[[], Awaitable[Any]]) -> out.Outcome:
    """What running gave: its value as an outcome, or the failure its exception means.

    Cancelling the task that waits here is not an outcome: it goes on up.
    """
    try:
        return as_outcome(await run())
    except ToolError as error:
        kind = error.kind if error.kind in get_args(out.FailureKind) else "failed"
        return out.Failure(kind, error.message, error.details)  # type: ignore[arg-type]
    except TimeoutError as error:
        return out.Failure("timed_out", str(error) or "it took too long")
    except DragomanError as error:
        return out.Failure("failed", str(error))
    except SystemExit as error:
        return out.Failure("failed", f"it tried to end the program with {error.code!r}", {"exception": "SystemExit"})
    except Exception as error:  # noqa: BLE001 - a tool may raise anything, and the model must hear of it
        return out.Failure("failed", f"{type(error).__name__}: {error}", {"exception": type(error).__name__})


def as_outcome(value: Any) -> out.Outcome:
    """What a tool returned, as an outcome: its own, a text, nothing, or JSON."""
    if isinstance(value, out.Outcome):
        return value
    if isinstance(value, str):
        return out.TextOutcome(value)
    if value is None:
        return out.DoneOutcome()
    if isinstance(value, out.Media):
        return out.ImageOutcome(value) if value.media_type.startswith("image/") else out.ContentOutcome((value,))
    from dragoman.schema import to_json

    return out.JsonOutcome(to_json(value))
