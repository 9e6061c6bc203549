"""One operation, done: the standard tool for it is found and run, and whatever happens is an outcome.

Rule: this is the one place where an exception of a tool becomes a `Failure`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, get_args

from dragoman.errors import DragomanError, ToolError
from dragoman.model import operations as op, outcomes as out
from dragoman.registry import TOOLS
from dragoman.tools.workspace.media import measured

if TYPE_CHECKING:
    from asyncio import Task

    from dragoman.tools.context import Cancellation, Context
    from dragoman.tools.definition import Tool
    from dragoman.tools.sandbox.enclosure import Enclosure
    from dragoman.tools.shell import Shell
    from dragoman.tools.web.web import Web
    from dragoman.tools.workspace.workspace import Workspace


NOT_HONOURED: Mapping[type[op.Operation], tuple[str, ...]] = {
    op.ReadFile: ("pages",),  # except where the reader of PDF documents is installed
    op.ViewImage: ("detail",),  # a picture is given as it is
    op.FetchPage: ("instructions",),  # the page itself is given, except where a model reads it
    op.WatchCommand: ("url",),  # commands are followed, sockets are not
    op.RunCommand: ("unsandboxed",),  # except where `honoured_in` says so
}
"""Fields of operations that the standard tools pass over or refuse, except where `honoured_in` says otherwise: they are
not offered for these tools, and no description names them."""


LARGEST_RESULT: Final = 16 * 1024 * 1024
"""Characters of a result that are kept in events and records. A model is given less: `ToolPolicy.max_result`."""
_LONGEST_MESSAGE: Final = 100_000


def enclosure_in(context: Context | None) -> Enclosure | None:
    """What the commands of a context run in; `None` where it has no shell."""
    if context is None or not context.provides:
        return None
    from dragoman.tools.shell import Shell

    shell = context.provides.get(Shell)
    return None if shell is None else shell.enclosure


def honoured_in(context: Context | None) -> Mapping[type[op.Operation], tuple[str, ...]]:
    """Fields of `NOT_HONOURED` that are honoured in this context: leaving a sandbox, where there is one to leave,
    instructions about a page, where a model reads it, and pages of a PDF, where their reader is installed."""
    from dragoman.tools.web.pdf import can_read_pdf

    honoured: dict[type[op.Operation], tuple[str, ...]] = {op.ReadFile: ("pages",)} if can_read_pdf() else {}
    enclosure = enclosure_in(context)
    if enclosure is not None and enclosure.can_be_left:
        honoured[op.RunCommand] = ("unsandboxed",)
    if context is not None and _reads_pages(context):
        honoured[op.FetchPage] = ("instructions",)
    return honoured


def _reads_pages(context: Context) -> bool:
    from dragoman.tools.web.web import PageReader, Web

    web = context.provides.get(Web)
    return PageReader in context.provides or (web is not None and web.reader is not None)


@asynccontextmanager
async def standard_context(
    workspace: Workspace,
    *,
    shell: Shell | None = None,
    web: Web | None = None,
    cancellation: Cancellation | None = None,
    report: Callable[[str, float | None], None] | None = None,
) -> AsyncIterator[Context]:
    """A context with everything the standard tools need; what is passed in is closed together with it."""
    from dragoman.tools.context import Context
    from dragoman.tools.plan import Plan
    from dragoman.tools.shell import Shell
    from dragoman.tools.web.web import Web

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
    from dragoman.tools.processes.threads import in_thread

    return await in_thread(tool.run, operation, context, to_its_end=tool.kind is op.Kind.WRITE)


class Postponed(Exception):
    """Raised by a tool whose result comes later, from another process perhaps: the run waits for it."""


async def outcome_of(run: Callable[[], Awaitable[Any]]) -> out.Outcome:
    """What running gave: its value as an outcome, or the failure its exception means, whatever that is.

    Cancelling the task that waits here is not an outcome and is raised, and so are `Postponed` and a user's Ctrl-C. A
    tool's own `KeyboardInterrupt` is a failure like any other, where the two can be told apart.
    """
    from asyncio import CancelledError, current_task

    here = current_task()
    try:
        return as_outcome(await run())
    except (CancelledError, Postponed):
        raise
    except KeyboardInterrupt as error:
        if _is_ctrl_c(error):
            raise
        return _told(error)
    except GeneratorExit as error:
        if not _is_running(here):
            raise  # nobody waits for this task any more: it is being thrown away
        return _told(error)
    except BaseException as error:  # noqa: BLE001 - a tool may raise anything, and the model must hear of it
        return _told(error)


def _told(error: BaseException) -> out.Failure:
    """The failure an exception means. What it says of itself is code of the tool, which may fail in its turn."""
    try:
        return _failure_of(error)
    except BaseException as trouble:
        if isinstance(trouble, KeyboardInterrupt) and _is_ctrl_c(trouble):
            raise
        return out.Failure("failed", "it failed with an error that cannot be shown")


def _is_ctrl_c(error: KeyboardInterrupt) -> bool:
    """Whether a signal raised this, and no `raise` of a tool: then the handler of the signal is in the traceback.

    Python's own handler leaves no trace. It is replaced while `asyncio.run`, `asyncio.Runner` or the command line runs;
    where it is not, any interrupt is taken for the user's.
    """
    import signal

    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        return True
    while isinstance(handler, partial):
        handler = handler.func
    code = getattr(getattr(handler, "__func__", handler), "__code__", None)
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is code:
            return True
        trace = trace.tb_next
    return False


def _is_running(task: Task[Any] | None) -> bool:
    from asyncio import current_task

    try:
        return current_task() is task
    except RuntimeError:  # no loop runs here
        return False


def _failure_of(error: BaseException) -> out.Failure:
    if isinstance(error, ToolError):
        kind = error.kind if error.kind in get_args(out.FailureKind) else "failed"
        return out.Failure(kind, _message_of(error), _plain(error.details))  # type: ignore[arg-type]
    if isinstance(error, TimeoutError):
        return out.Failure("timed_out", _message_of(error) or "it took too long")
    if isinstance(error, DragomanError):
        return out.Failure("failed", _message_of(error))
    if isinstance(error, SystemExit):
        message = f"it tried to end the program with {_message_of(error) or None}"
        return out.Failure("failed", message, {"exception": "SystemExit"})
    name = type(error).__name__
    return out.Failure("failed", f"{name}: {_message_of(error)}", {"exception": name})


def _plain(details: dict[str, Any]) -> dict[str, Any]:
    """The details of a failure as JSON, or why they are none: the record of a run could not hold them."""
    from dragoman.schema import to_json

    try:
        return dict(to_json(details, most=LARGEST_RESULT))
    except (TypeError, ValueError) as error:
        return {"dropped": str(error)}


def _message_of(error: BaseException) -> str:
    try:
        return _cut(str(error))
    except BaseException as trouble:
        if isinstance(trouble, KeyboardInterrupt) and _is_ctrl_c(trouble):
            raise
        return f"(its message cannot be shown: {type(trouble).__name__})"


def _cut(message: str) -> str:
    from dragoman.tools.processes.output import cut_middle

    return cut_middle(message, _LONGEST_MESSAGE)[0]


def as_outcome(value: Any) -> out.Outcome:
    """What a tool returned, as an outcome: its own, a text, nothing, media, texts and media, or JSON.

    A longer text than `LARGEST_RESULT` is cut in its middle; of anything else that large the tool fails.
    """
    if isinstance(value, out.TextOutcome) and len(value.text) > LARGEST_RESULT:
        value = value.text
    if isinstance(value, out.JsonOutcome):
        value = value.value
    elif isinstance(value, out.Outcome):
        return value
    elif isinstance(value, str):
        from dragoman.tools.processes.output import cut_middle

        # The text alone: the methods of a class of its own are the tool's code, which is over.
        return out.TextOutcome(cut_middle(str.__str__(value), LARGEST_RESULT)[0])
    elif value is None:
        return out.DoneOutcome()
    elif isinstance(value, out.Media):
        value = measured(value)
        return out.ImageOutcome(value) if value.media_type.startswith("image/") else out.ContentOutcome((value,))
    from dragoman.schema import TooLarge, to_json

    try:
        media: list[out.Media] = []
        if isinstance(value, dict | list | tuple) and not _has_room_for(value, media, iter(range(_MOST_VALUES))):
            raise TooLarge
        if media:
            return _content(value, media)
        return out.JsonOutcome(to_json(value, most=LARGEST_RESULT))
    except TooLarge:
        raise ToolError(
            f"it ran, but its result is larger than {LARGEST_RESULT:,} characters and was dropped; ask for less of it",
            details={"reason": "too_large", "most": LARGEST_RESULT},
        ) from None


_MEDIA_DEPTH: Final = 4
"""Levels of lists and dicts that are searched for media; deeper ones are written as JSON with the rest."""


_MOST_VALUES: Final = LARGEST_RESULT // 16
"""As many values as a result may have: `to_json` counts each as 16 characters."""


def _has_room_for(value: Any, media: list[out.Media], left: Iterator[int], depth: int = _MEDIA_DEPTH) -> bool:
    """Whether a value holds no more than may be told; its media are added to `media` as they are found."""
    if isinstance(value, out.Media):
        media.append(measured(value))
    elif depth:
        for inner in value.values() if isinstance(value, dict) else value:
            if next(left, None) is None:
                return False
            if isinstance(inner, _SEARCHED) and not _has_room_for(inner, media, left, depth - 1):
                return False
    return True


_SEARCHED: Final = (out.Media, dict, list, tuple)


def _content(value: Any, media: list[out.Media]) -> out.Outcome:
    """Texts and media in their order. Media inside of other values follow these, which name them by number."""
    if len(media) == len(value) == 1 and isinstance(value, list | tuple):
        return as_outcome(media[0])
    if isinstance(value, list | tuple) and all(isinstance(piece, str | out.Media) for piece in value):
        pictures = iter(media)  # measured
        return out.ContentOutcome(tuple(piece if isinstance(piece, str) else next(pictures) for piece in value))
    from dragoman.model.json_text import json_text
    from dragoman.schema import to_json

    numbers = iter(range(1, len(media) + 1))

    def named(value: Any, depth: int) -> Any:
        if isinstance(value, out.Media):
            return f"[{value.media_type}, number {next(numbers)} of those that follow]"
        if depth and isinstance(value, dict):
            return {key: named(inner, depth - 1) for key, inner in value.items()}
        return [named(inner, depth - 1) for inner in value] if depth and isinstance(value, list | tuple) else value

    rest = to_json(named(value, _MEDIA_DEPTH), most=LARGEST_RESULT)
    return out.ContentOutcome((json_text(rest), *media))
