"""`dragoman pack`: recent sessions on a page, for another agent or a person."""

from __future__ import annotations

import click

from dragoman import logs
from dragoman.cli.filter_options import filter_options, query_of
from dragoman.cli.terminal.console import Console, ExitCode, json_option


@click.command
@click.argument("wanted", nargs=-1, metavar="[PATH|ID]...")
@click.option(
    "--template",
    type=click.Choice(("compact", "diagnose", "tools")),
    default="compact",
    show_default=True,
    help="What was done; what went wrong; which tools were used.",
)
@click.option(
    "--size", type=click.IntRange(min=500), default=32_000, show_default=True, help="Maximum number of characters."
)
@filter_options(limit=20)
@json_option
@click.pass_obj
def command(
    console: Console, *, wanted: tuple[str, ...], template: str, size: int, asked: logs.Filter, as_json: bool
) -> ExitCode:
    """Hand over recent sessions in a page of Markdown: of this machine, or of the files and folders named.

    The page has at most --size characters, and says what did not fit. What the sessions said is escaped or fenced.

    \b
    dragoman pack --project . > HANDOVER.md
    dragoman pack --template diagnose --since 2d
    """
    query = query_of(console, wanted)
    sessions = query.sessions(asked)
    if not sessions and not as_json:
        console.note("No session was found. `dragoman sources` shows where they are looked for.")
        return ExitCode.NO
    page = logs.packed(query, asked, template, largest=size)  # type: ignore[arg-type]
    if as_json:
        console.json({"template": template, "sessions": [row.session for row in sessions], "markdown": page})
    else:
        console.line(page.rstrip("\n"))
    return ExitCode.OK
