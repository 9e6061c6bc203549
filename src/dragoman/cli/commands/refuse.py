"""`dragoman refuse`: a no to calls that a run waits for."""

from __future__ import annotations

import click

from dragoman.cli.terminal.console import Console, ExitCode


@click.command
@click.argument("run")
@click.argument("calls", nargs=-1, metavar="[CALL]...")
@click.pass_context
def command(ctx: click.Context, /, *, run: str, calls: tuple[str, ...]) -> ExitCode:
    """Refuse calls that RUN waits for: those named by id or digest, or all of them.

    A run of the queue continues with the next worker that is free, on any machine. Any other run continues here, as
    with `dragoman run --resume RUN --refuse CALL`.
    """
    from dragoman.cli.waiting_runs import decide_queued

    from . import run as run_file

    code = decide_queued(ctx.find_object(Console) or Console(), "refuse", run, calls)
    if code is not None:
        return code
    words = ["--resume", run, *(word for call in calls or ("all",) for word in ("--refuse", call))]
    with run_file.command.make_context("run", words, parent=ctx) as resumed:
        ended: ExitCode = run_file.command.invoke(resumed)
    return ended
