"""`dragoman tool`: one operation done by hand with the standard tools, or one call of a plugin's tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman import engine, model, tools
from dragoman.cli.sandbox import sandbox_option, use_mode
from dragoman.cli.terminal.console import Console, ExitCode, here, json_option
from dragoman.cli.terminal.streams import prints_go_aside
from dragoman.cli.vocabulary import arguments_of, operation_of
from dragoman.engine import models
from dragoman.errors import ToolError, nearest
from dragoman.registry import TOOLS
from dragoman.tools import running

if TYPE_CHECKING:
    from dragoman.config import Configuration


def _complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in TOOLS if name.startswith(incomplete)]


@click.command
@click.argument("operation", shell_complete=_complete)
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]…")
@click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder to work in; nothing outside it is touched.",
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
    """Do one operation, or call a tool of a plugin, and show the result.

    A value is text, a number, true or false, or JSON for a list; @FILE takes it from a file, @- from standard input.

    \b
    dragoman tool read_file path=README.md last_line=5
    dragoman tool run_command command='ls -l' --sandbox require
    dragoman tool search_text pattern=TODO include='*.py' mode=files
    """
    from dragoman.cli.runner import run

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


def _call(name: str, arguments: tuple[str, ...]) -> model.CallFunction:
    tool = TOOLS[name]
    if not isinstance(tool, tools.Tool):
        raise click.UsageError(f'"{name}" is run by its provider, not here.')
    call = model.CallFunction(name, arguments_of(arguments))
    try:
        tool.read(call.arguments)
    except ToolError as error:
        raise click.UsageError(error.message) from error
    return call


async def _done(
    console: Console, configuration: Configuration, operation: model.Operation, folder: Path
) -> model.Outcome:
    web = engine.web_for(configuration)
    # Who types `unsandboxed=true` has said yes.
    shell = tools.Shell(sandbox=models.configured_sandbox(configuration, askable=True))
    # What a command writes is in its outcome; only a watch tells its lines as they come and nowhere else.
    report = (lambda message, _: console.line(message)) if isinstance(operation, model.WatchCommand) else None
    async with tools.standard_context(tools.DiskWorkspace(folder), shell=shell, web=web, report=report) as context:
        if isinstance(operation, model.CallFunction):
            return await running.outcome_of(lambda: TOOLS[operation.name].call(operation.arguments, context))
        if isinstance(operation, model.AskUser):
            context.provides = {**context.provides, **await _answers(console, operation, context.workspace)}
        outcome = await tools.perform(operation, context)
        if isinstance(operation, model.FetchPage) and operation.instructions and web.reader is None:
            console.note("The instructions were not followed: no model reads pages here. Set web.reader_model.")
        while (
            isinstance(operation, model.WatchCommand) and isinstance(outcome, model.CommandOutcome) and outcome.running
        ):
            outcome = await tools.perform(model.ReadOutput(outcome.job or "", block=True), context)
        return outcome


async def _answers(console: Console, operation: model.AskUser, workspace: tools.Workspace) -> dict[Any, Any]:
    """What somebody at the terminal answers; nothing where nobody is, or where it is put off."""
    from dragoman.cli.terminal.approver import Asker
    from dragoman.cli.terminal.keyboard import Keyboard
    from dragoman.cli.terminal.live import Lines

    keyboard = Keyboard.attached()
    if keyboard is None:
        return {}
    call = model.Call("", (operation,), model.NativeCall("", "ask_user", {}))
    asker = Asker(console, Lines(console), workspace, keyboard, lambda _: None, lambda: "")
    try:
        answer = await asker(engine.Question(call, ("ask_user",), "", asks=operation.questions))
    finally:
        keyboard.close()
    return {tools.Answers: tools.Answers(answer.answers)} if answer is not None and answer.answers else {}


def _show(console: Console, operation: model.Operation, outcome: model.Outcome) -> None:
    from dragoman.dialects import tell

    if isinstance(outcome, model.Failure):
        console.error(outcome.message)
        return
    if isinstance(outcome, model.ChangesOutcome):
        for change in outcome.changes:
            moved = f" to {change.moved_to}" if change.moved_to else ""
            console.line(f"{change.kind} {change.path}{moved}", "strong")
            if change.diff:
                console.diff(change.diff)
        return
    told = tell(operation, outcome)
    for piece in (told,) if isinstance(told, str) else told:
        if isinstance(piece, model.Media):
            console.line(f"[{piece.media_type}, {piece.width or '?'}×{piece.height or '?'}, {piece.size or '?'} bytes]")
        else:
            console.line(piece)


def _code(outcome: model.Outcome) -> ExitCode:
    match outcome:
        case model.Failure(kind="invalid_arguments"):
            return ExitCode.USAGE
        case model.Failure():
            return ExitCode.TOOL
        case model.CommandOutcome() if not outcome.running and outcome.exit_code != 0:
            return ExitCode.NO
        case model.MatchesOutcome(matches=()) | model.PathsOutcome(paths=()):
            return ExitCode.NO
    return ExitCode.OK
