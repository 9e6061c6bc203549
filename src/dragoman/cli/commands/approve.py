"""`dragoman approve`: a yes to calls that a run waits for."""

from __future__ import annotations

import click

from dragoman.cli.terminal.console import ExitCode


@click.command
@click.argument("run")
@click.argument("calls", nargs=-1, metavar="[CALL]...")
@click.pass_context
def command(ctx: click.Context, /, *, run: str, calls: tuple[str, ...]) -> ExitCode:
    """Allow calls that RUN waits for: those named by id or digest, or all of them.

    A run of the queue continues with the next worker that is free, on any machine. Any other run continues here, as
    with `dragoman run --resume RUN --approve CALL`.
    """
    from dragoman.cli.waiting_runs import decide

    from . import run as run_file

    return decide(ctx, "approve", run, calls, resume=run_file.command)
