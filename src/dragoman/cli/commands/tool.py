"""`dragoman tool`: one operation done by hand with the standard tools, or one call of a plugin's tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.sandbox import sandbox_option, use_mode
from dragoman.cli.terminal.console import Console, ExitCode, here, json_option
from dragoman.cli.terminal.streams import prints_go_aside
from dragoman.cli.vocabulary import arguments_of, operation_of
from dragoman.errors import ToolError, nearest

if TYPE_CHECKING:
    from dragoman.config import Configuration
    from dragoman.model import AskUser, CallFunction, Operation, Outcome
    from dragoman.tools import Workspace


def _complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    from dragoman.registry import TOOLS

    return [name for name in TOOLS if name.startswith(incomplete)]


@click.command
@click.argument("operation", shell_complete=_complete)
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]…")
@click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder to work in; nothing outside of it is touched.",
)
@sandbox_option
@json_option
@click.pass_obj
def command(
    console: Console,
    *,
    operation: str,
    arguments: tuple[str, ...],
    workspace: Path | None,
    sandbox: str | None,
    as_json: bool,
) -> ExitCode:
    """Do one operation, or call a tool of a plugin, and show what it gave.

    A value is text, a number, true or false, or JSON for a list; @FILE takes it from a file, @- from standard input.

    \b
    dragoman tool read_file path=README.md last_line=5
    dragoman tool run_command command='ls -l' --sandbox require
    dragoman tool search_text pattern=TODO include='*.py' mode=files
    """
    from dragoman.cli.runner import run
    from dragoman.registry import TOOLS

    use_mode(console, sandbox)
    configuration = console.configuration()
    settings = configuration.settings
    if operation not in TOOLS:
        raise click.UsageError(f'There is no operation "{operation}" to do.{nearest(operation, TOOLS)}')
    wanted = operation_of(operation, arguments) if operation in TOOLS.built_in else _call(operation, arguments)
    if getattr(wanted, "background", False) or operation in ("read_output", "type_into", "stop_command"):
        raise click.UsageError("Background jobs end with this command, so there is nothing to leave or to find here.")
    with prints_go_aside(own_process=console.owns_process):
        outcome = run(_done(console, configuration, wanted, workspace or settings.workspace or here()))
    if as_json:
        console.json(outcome)
    else:
        _show(console, wanted, outcome)
    return _code(outcome)


def _call(name: str, arguments: tuple[str, ...]) -> CallFunction:
    from dragoman.model import CallFunction
    from dragoman.registry import TOOLS
    from dragoman.tools import Tool

    tool = TOOLS[name]
    if not isinstance(tool, Tool):
        raise click.UsageError(f'"{name}" is run by its provider, not here.')
    call = CallFunction(name, arguments_of(arguments))
    try:
        tool.read(call.arguments)
    except ToolError as error:
        raise click.UsageError(error.message) from error
    return call


async def _done(console: Console, configuration: Configuration, operation: Operation, folder: Path) -> Outcome:
    from dragoman.engine import web_for
    from dragoman.engine.models import configured_sandbox
    from dragoman.model import AskUser, CallFunction, CommandOutcome, FetchPage, ReadOutput, WatchCommand
    from dragoman.registry import TOOLS
    from dragoman.tools import DiskWorkspace, Shell, perform, standard_context
    from dragoman.tools.running import outcome_of

    web = web_for(configuration)
    # Who types `unsandboxed=true` has said yes.
    shell = Shell(sandbox=configured_sandbox(configuration, askable=True))
    # What a command writes is in its outcome; only a watch tells its lines as they come and nowhere else.
    report = (lambda message, _: console.line(message)) if isinstance(operation, WatchCommand) else None
    async with standard_context(DiskWorkspace(folder), shell=shell, web=web, report=report) as context:
        if isinstance(operation, CallFunction):
            return await outcome_of(lambda: TOOLS[operation.name].call(operation.arguments, context))
        if isinstance(operation, AskUser):
            context.provides = {**context.provides, **await _answers(console, operation, context.workspace)}
        outcome = await perform(operation, context)
        if isinstance(operation, FetchPage) and operation.instructions and web.reader is None:
            console.note("The instructions were not followed: no model reads pages here. Set web.reader_model.")
        while isinstance(operation, WatchCommand) and isinstance(outcome, CommandOutcome) and outcome.running:
            outcome = await perform(ReadOutput(outcome.job or "", block=True), context)
        return outcome


async def _answers(console: Console, operation: AskUser, workspace: Workspace) -> dict[Any, Any]:
    """What somebody at the terminal answers; nothing where nobody is, or where it is put off."""
    from dragoman.cli.terminal.approver import Asker
    from dragoman.cli.terminal.keyboard import Keyboard
    from dragoman.cli.terminal.live import Lines
    from dragoman.engine import Question
    from dragoman.model import Call, NativeCall
    from dragoman.tools import Answers

    keyboard = Keyboard.found()
    if keyboard is None:
        return {}
    call = Call("", (operation,), NativeCall("", "ask_user", {}))
    asker = Asker(console, Lines(console), workspace, keyboard, lambda _: None, lambda: "")
    try:
        answer = await asker(Question(call, ("ask_user",), "", asks=operation.questions))
    finally:
        keyboard.close()
    return {Answers: Answers(answer.answers)} if answer is not None and answer.answers else {}


def _show(console: Console, operation: Operation, outcome: Outcome) -> None:
    from dragoman.dialects import tell
    from dragoman.model import ChangesOutcome, Failure, Media

    if isinstance(outcome, Failure):
        console.error(outcome.message)
        return
    if isinstance(outcome, ChangesOutcome):
        for change in outcome.changes:
            moved = f" to {change.moved_to}" if change.moved_to else ""
            console.line(f"{change.kind} {change.path}{moved}", "strong")
            if change.diff:
                console.diff(change.diff)
        return
    told = tell(operation, outcome)
    for piece in (told,) if isinstance(told, str) else told:
        if isinstance(piece, Media):
            console.line(f"[{piece.media_type}, {piece.width or '?'}×{piece.height or '?'}, {piece.size or '?'} bytes]")
        else:
            console.line(piece)


def _code(outcome: Outcome) -> ExitCode:
    from dragoman.model import CommandOutcome, Failure, MatchesOutcome, PathsOutcome

    match outcome:
        case Failure(kind="invalid_arguments"):
            return ExitCode.USAGE
        case Failure():
            return ExitCode.TOOL
        case CommandOutcome() if not outcome.running and outcome.exit_code != 0:
            return ExitCode.NO
        case MatchesOutcome(matches=()) | PathsOutcome(paths=()):
            return ExitCode.NO
    return ExitCode.OK
