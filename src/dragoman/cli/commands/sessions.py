"""`dragoman sessions`: what the coding agents on this machine did, newest first."""

from __future__ import annotations

from typing import Any

import click

from dragoman import logs
from dragoman.cli.filter_options import complete_sessions, corpus_option, filter_options, query_of
from dragoman.cli.terminal.console import Console, ExitCode, json_option


@click.command
@click.argument("wanted", nargs=-1, metavar="[PATH|ID]...", shell_complete=complete_sessions)
@filter_options(limit=20)
@corpus_option
@click.option("--no-update", is_flag=True, help="Use the index as it is, without looking for new logs.")
@click.option("--agents", is_flag=True, help="Also list sub-agents, one per line.")
@json_option
@click.pass_obj
def command(
    console: Console,
    *,
    wanted: tuple[str, ...],
    asked: logs.Filter,
    corpus: str | None,
    no_update: bool,
    agents: bool,
    as_json: bool,
) -> ExitCode:
    """List recorded sessions, newest first: of every client found here, or of the files and folders named.

    What was read once is kept in an index (`dragoman index info`); only logs that changed are read again.
    """
    query = query_of(console, wanted, update=not no_update, corpus=corpus)
    found = query.sessions(asked, with_agents=agents)
    if as_json:
        console.json([_facts(row) for row in found])
    elif not found:
        console.note("No session was found. `dragoman sources` shows where they are looked for.")
    else:
        console.table(
            ("session", "client", "began", "turns", "calls", "tokens", "title"),
            [_cells(row, query.in_short(row.session)) for row in found],
        )
        if len(found) == asked.limit and (every := query.count(asked, with_agents=agents)) > len(found):
            console.note(f"{len(found):,} of {every:,} sessions are shown; --all shows all of them.")
    return ExitCode.OK if found else ExitCode.NO


def _cells(row: logs.SessionRow, id: str) -> tuple[str, ...]:
    return (
        id if row.stream == "main" else f"  {row.stream}",
        row.client or "",
        "" if row.started is None else f"{row.started:%Y-%m-%d %H:%M}",
        f"{row.turns:,}",
        f"{row.calls:,}",
        "" if row.tokens is None else f"{row.tokens:,}{'?' if row.doubtful else ''}",
        row.title or "",
    )


def _facts(row: logs.SessionRow) -> dict[str, Any]:
    same = ("client", "version", "project", "repository", "branch", "models", "turns", "steps", "calls", "failures")
    about = ("tokens", "doubtful", "title", "agents", "parent_session", "parent_call", "unreadable", "unknown", "file")
    return {
        "id": row.session,
        "stream": row.stream,
        **{name: getattr(row, name) for name in same},
        "started": row.started.isoformat() if row.started else None,
        "ended": row.ended.isoformat() if row.ended else None,
        **{name: getattr(row, name) for name in about},
    }
