"""`dragoman watch`: what coding agents do, as they do it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dragoman import logs, model
from dragoman.cli.log_files import as_line, files_of
from dragoman.cli.terminal.console import Console, ExitCode, foreign, json_option
from dragoman.errors import LogError, nearest
from dragoman.logs import history

if TYPE_CHECKING:
    import datetime


@click.command
@click.argument("wanted", metavar="[PATH|ID]...", nargs=-1)
@click.option("--client", help="Only sessions of this client, for example codex.")
@click.option("--from-start", is_flag=True, help="Also show what is already in the logs.")
@click.option(
    "--every", type=click.FloatRange(min=0.05), default=0.5, show_default=True, help="Seconds between checks."
)
@click.option("--once", is_flag=True, help="Look once and end: with --from-start, everything so far.")
@json_option
@click.pass_obj
def command(
    console: Console,
    *,
    wanted: tuple[str, ...],
    client: str | None,
    from_start: bool,
    every: float,
    once: bool,
    as_json: bool,
) -> ExitCode:
    """Follow the sessions of this machine, or those that are named, as they are written. Ctrl-C ends it.

    Sessions and sub-agents that begin later are followed too.
    """
    if client is not None and client not in logs.FORMATS:
        raise click.BadParameter(
            f"there is no client {client!r}.{nearest(client, logs.FORMATS)}", param_hint="--client"
        )

    def find() -> list[logs.Found]:
        try:
            return [found for found in files_of(console, wanted, piped=False) if client in (None, found.format)]
        except LogError:
            if watch is None:
                raise
            return []  # what was named went away; it may come back

    watch: history.Watch | None = None
    watch = history.Watch(find, from_start=from_start)
    if not once:
        console.note("Following; Ctrl-C ends it.")
    told = 0
    for event in watch.look() if once else watch.events(every=every):
        told += 1
        if as_json:
            console.json(as_line(event))
        else:
            line = _line(event)
            if line is not None:
                console.line(line)
    return ExitCode.OK if told else ExitCode.NO


_QUIET = frozenset({"client_noted", "model_asked", "tokens_used", "model_finished", "system_said", "tool_progressed"})


def _line(event: model.AnyEvent) -> str | None:
    """An event on one line; `None` for what only machines care about."""
    from dragoman.cli.terminal.call_lines import said_of_operation, told_in_short
    from dragoman.cli.terminal.visible import short

    kind = str(event.__struct_config__.tag)
    if kind in _QUIET:
        return None
    if isinstance(event, model.ToolCalled):
        means = ", ".join(said_of_operation(one) for one in event.call.operations)
        said = f"→ {event.call.native.name}  {short(means, 120)}"
    elif isinstance(event, model.ToolReturned):
        said = "← " + "; ".join(told_in_short(one) for one in event.result.outcomes)
    else:
        words = next(
            (
                getattr(event, name)
                for name in ("text", "message", "summary", "name", "reason", "cwd")
                if isinstance(getattr(event, name, None), str)
            ),
            "",
        )
        said = f"{kind.replace('_', ' ')}  {short(words, 160)}"
    at = _clock(event.time)
    who = f"{event.client or ''} {(event.session or '')[:8]}" + (
        "" if event.stream == "main" else f" {event.stream[:12]}"
    )
    return foreign(f"{at:<8} {who:<24} {said}", one_line=True)


def _clock(time: datetime.datetime | None) -> str:
    try:
        return "" if time is None else time.astimezone().strftime("%H:%M:%S")
    except OverflowError:  # the last day there is, in another zone
        return ""
