"""`dragoman events`: a session's events, one JSON object per line."""

from __future__ import annotations

import click

from .console import Console, ExitCode
from .log_files import as_line, events_of, files_of


@click.command
@click.argument("wanted", nargs=-1, required=True, metavar="PATH|ID...")
@click.option("--raw", is_flag=True, help="Add the original bytes of each event's record.")
@click.option("--kind", multiple=True, help="Only events of this kind, for example tool_called. May be repeated.")
@click.pass_obj
def command(console: Console, *, wanted: tuple[str, ...], raw: bool, kind: tuple[str, ...]) -> ExitCode:
    """Print the events of logs, whatever client wrote them, one JSON object per line.

    PATH is a log file or a folder; ID is the beginning of a session's id. A call comes with its native name and
    arguments and with the operations it means; a result with its typed outcomes; everything with the file, offset and
    length of the bytes it came from.
    """
    for event in events_of(console, files_of(console, wanted)):
        line = as_line(event, raw=raw)
        if not kind or line["kind"] in kind:
            console.json(line)
    return ExitCode.OK
