"""`dragoman events`: a session's events, one JSON object per line."""

from __future__ import annotations

import click

from dragoman.cli.filter_options import corpus_events, corpus_option, kind_of_event
from dragoman.cli.log_files import as_line, events_of, files_of, format_option
from dragoman.cli.terminal.console import Console, ExitCode


@click.command
@click.argument("wanted", nargs=-1, required=True, metavar="PATH|ID...")
@click.option("--raw", is_flag=True, help="Add the original bytes of each event's record.")
@format_option
@corpus_option
@click.option(
    "--kind",
    multiple=True,
    callback=kind_of_event,
    help="Only events of this kind, for example tool_called. May be repeated.",
)
@click.pass_obj
def command(
    console: Console,
    *,
    wanted: tuple[str, ...],
    raw: bool,
    format: str | None,
    corpus: str | None,
    kind: tuple[str, ...],
) -> ExitCode:
    """Print the events of logs, whatever client wrote them, one JSON object per line.

    PATH is a log file, a folder, or - for what is piped in; ID is the beginning of a session's id. A call comes with
    its native name and arguments and with the operations it means; a result with its typed outcomes; everything with
    the file, offset and length of the bytes it came from.

    With --raw those bytes are in `raw`: as text where they are UTF-8, else as {"base64": "…"}; of a row in a database,
    {"row": {column: value}}. With --corpus, sessions are told from the tables of a corpus: long texts are cut, and
    there are no originals.
    """
    from dragoman.logs import Originals

    with Originals() as originals:
        if corpus is not None:
            found = corpus_events(console, corpus, wanted, raw=raw, format=format)
        else:
            found = events_of(console, files_of(console, wanted, format), printed=True)
        for event in found:
            line = as_line(event, originals if raw else None)
            if not kind or line["kind"] in kind:
                console.json(line)
    return ExitCode.OK
