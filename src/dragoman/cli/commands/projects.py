"""`dragoman projects`: where the coding agents on this machine worked, all worktrees of a repository together."""

from __future__ import annotations

import click

from dragoman import logs
from dragoman.cli.filter_options import filter_options, query_of
from dragoman.cli.terminal.console import Console, ExitCode, json_option


@click.command
@click.argument("wanted", nargs=-1, metavar="[PATH|ID]...")
@filter_options(limit=20)
@json_option
@click.pass_obj
def command(console: Console, *, wanted: tuple[str, ...], asked: logs.Filter, as_json: bool) -> ExitCode:
    """List the projects of recorded sessions, the one worked in last first.

    The worktrees of one repository are one project, also those that are gone.
    """
    found = query_of(console, wanted).projects(asked)
    if as_json:
        console.json(found)
        return ExitCode.OK if found else ExitCode.NO
    if not found:
        console.note("No project was found. `dragoman sessions` lists sessions, `dragoman sources` where they lie.")
        return ExitCode.NO
    rows = [
        (
            one.name,
            f"{one.sessions:,}",
            ", ".join(f"{client} {count:,}" for client, count in sorted(one.clients.items())),
            f"{one.calls:,}",
            "" if one.tokens is None else f"{one.tokens:,}{'?' if one.doubtful else ''}",
            "" if one.last is None else f"{one.last:%Y-%m-%d %H:%M}",
            one.repository if one.exists else f"{one.repository} (gone)",
            f"{len(one.folders):,}",
        )
        for one in found
    ]
    console.table(("project", "sessions", "clients", "calls", "tokens", "last", "repository", "folders"), rows)
    return ExitCode.OK
