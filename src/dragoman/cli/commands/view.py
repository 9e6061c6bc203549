"""`dragoman view`: a local page over all recorded sessions."""

from __future__ import annotations

import asyncio
import os
import sys
import webbrowser
from urllib.parse import quote

import click

from dragoman import logs
from dragoman.cli.filter_options import complete_sessions, corpus_option, query_of
from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.errors import ConfigError
from dragoman.serve import page


@click.command
@click.argument("session", metavar="[ID|PATH]", required=False, shell_complete=complete_sessions)
@corpus_option
@click.option("--no-open", is_flag=True, help="Print the address instead of opening it in a browser.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="PORT", help="Default: a free port.")
@json_option
@click.pass_obj
def command(
    console: Console, *, session: str | None, corpus: str | None, no_open: bool, port: int, as_json: bool
) -> ExitCode:
    """Open a page on this machine with all recorded sessions, or with one of them. Ctrl-C ends it.

    ID is a session's id, its beginning, or `last`; PATH a log file or a folder with logs. The page only reads. It is
    served on 127.0.0.1, for the browser that opens the printed address first and for no other. Nothing is loaded from
    elsewhere.

    \b
    dragoman view
    dragoman view last
    dragoman view ~/backup/logs --no-open
    dragoman view --corpus s3://company/corpus
    """
    from dragoman.cli.runner import run

    is_path = corpus is None and session is not None and ("/" in session or os.path.lexists(session))
    query = query_of(console, (session,) if is_path and session is not None else (), corpus=corpus)
    start = _start(query, None if is_path else session)
    library = page.Library(query)
    library.prepare()
    run(_serve(console, page.Page(library), start, port, opens=not no_open, as_json=as_json))
    return ExitCode.OK


def _start(query: logs.Query, session: str | None) -> str:
    """The address to begin with."""
    if session is None:
        return "/"
    return f"/session/{quote(query.find(session).session, safe='')}"


def _has_display() -> bool:
    """Whether a browser has where to appear; without, one for terminals would take this one."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(one) for one in ("DISPLAY", "WAYLAND_DISPLAY"))


async def _serve(console: Console, served: page.Page, start: str, port: int, *, opens: bool, as_json: bool) -> None:
    try:
        await served.start(port)
    except OSError as error:
        raise ConfigError(f"cannot listen on port {port}: {error.strerror or error}; choose another") from error
    try:
        address = served.opening(start)
        if as_json:
            console.json({"url": served.url, "open": address})
        elif not opens or not _has_display() or not webbrowser.open(address):
            console.line(address)
        console.note(f"Serving {served.url} for one browser; Ctrl-C ends it.")
        await asyncio.Event().wait()
    finally:
        await served.close()
