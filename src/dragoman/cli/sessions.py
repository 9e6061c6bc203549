"""`dragoman sessions`: what the coding agents on this machine did, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .console import Console, ExitCode, json_option
from .log_files import events_of, files_of

if TYPE_CHECKING:
    from dragoman.model import Session


@click.command
@click.argument("wanted", nargs=-1, metavar="[PATH|ID]...")
@click.option("--client", help="Only sessions of this client, for example codex.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many.")
@json_option
@click.pass_obj
def command(console: Console, *, wanted: tuple[str, ...], client: str | None, limit: int, as_json: bool) -> ExitCode:
    """List recorded sessions, newest first: of every client found here, or of the files and folders named."""
    from dragoman.logs import sessions_of

    files = [found for found in files_of(console, wanted) if client is None or found.format == client]
    found = sorted(sessions_of(events_of(console, files)), key=lambda one: str(one.started or ""), reverse=True)
    shown = [_facts(session) for session in found[:limit]]
    if as_json:
        console.json(shown)
    elif not shown:
        console.note("No session was found. `dragoman sources` shows where they are looked for.")
        return ExitCode.NO
    else:
        rows = [
            (
                one["id"][:12],
                one["client"] or "",
                (one["started"] or "")[:16].replace("T", " "),
                str(one["turns"]),
                str(one["calls"]),
                str(one["tokens"] if one["tokens"] is not None else ""),
                one["title"] or "",
            )
            for one in shown
        ]
        console.table(("session", "client", "began", "turns", "calls", "tokens", "title"), rows)
    return ExitCode.OK


def _facts(session: Session) -> dict[str, Any]:
    steps = [step for turn in session.turns for step in turn.steps]
    return {
        "id": session.id,
        "client": session.client,
        "version": session.version,
        "project": session.project,
        "models": session.models,
        "started": session.started.isoformat() if session.started else None,
        "ended": session.ended.isoformat() if session.ended else None,
        "turns": len(session.turns),
        "steps": len(steps),
        "calls": sum(len(step.tools) for step in steps),
        "tokens": session.usage.total,
        "title": session.title,
        "agents": len(session.children),
        "unreadable": session.unreadable,
        "unknown": session.unknown,
    }
