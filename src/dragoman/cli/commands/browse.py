"""`dragoman browse`: sessions on the whole screen of the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import click

from dragoman import logs
from dragoman.cli.filter_options import complete_sessions, filter_options, query_of
from dragoman.cli.terminal.console import Console, ExitCode

if TYPE_CHECKING:
    from dragoman.logs.export import Conversation


@click.command
@click.argument("session", metavar="[ID]", required=False, shell_complete=complete_sessions)
@filter_options(limit=None)
@click.pass_obj
def command(console: Console, *, session: str | None, asked: logs.Filter) -> ExitCode:
    """Browse recorded sessions on the whole terminal: the list, and what was said and done in each.

    Arrow keys move, Enter opens a session and folds a call, n goes to the next failure, t to the next turn, / filters
    the list, q quits. ID is a session's id, its beginning, or `last`.

    \b
    dragoman browse
    dragoman browse last
    dragoman browse --project . --since 1w
    """
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise click.UsageError("This needs a terminal; `dragoman sessions` and `dragoman show` print.")
    from dragoman.cli.terminal.browser import Browser, Costs

    query = query_of(console)
    rows = query.sessions(asked)
    if not rows:
        console.note("No session was found. `dragoman sources` shows where they are looked for.")
        return ExitCode.NO

    start = None if session is None else query.root_of(query.find(session))
    everything = cache(query.costs)

    def costs(some: Sequence[logs.SessionRow]) -> Costs:
        found = query.costs_of(some)
        return everything() if found is None else found

    Browser(rows, lambda row: conversation_of(query, row), costs, start).run()
    return ExitCode.OK


def conversation_of(query: logs.Query, row: logs.SessionRow) -> Conversation:
    """What is shown of a session."""
    from dragoman.logs.export import Chosen, Conversation, conversations_of

    events = list(query.events_of(row.session))
    found = conversations_of(Chosen(lambda: events, "clean"))
    # Of a log of which nothing is understood there is none.
    return found[0] if found else Conversation(row.session, row.title or "Untitled session", [], [], [])
