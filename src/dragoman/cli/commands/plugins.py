"""`dragoman plugins`: everything the tables name, where it comes from, and what is broken."""

from __future__ import annotations

import contextlib
import sys

import click

from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.errors import DragomanError
from dragoman.registry import TABLES, entries


@click.command
@click.option("--check", is_flag=True, help="Exit with 1 when something is broken.")
@json_option
@click.pass_obj
def command(console: Console, *, check: bool, as_json: bool) -> ExitCode:
    """List all tools, dialects, APIs, log formats, providers and search backends.

    Each is loaded, so that what is broken shows. Plugins are entry points of installed packages (groups
    dragoman.tools, dragoman.dialects, …) and files in the plugins folder (`dragoman config path plugins`): a Python
    file says what it adds, TOOLS = {"name": tool}; a TOML or YAML file is a dialect.
    """
    console.configuration()
    _try_all(console)
    found = entries()
    if as_json:
        console.json(found)
    elif found:
        rows = [(entry.name, entry.kind, entry.origin, _state(entry.broken)) for entry in found]
        console.table(("name", "table", "origin", "state"), rows)
    else:
        console.note("There is nothing yet.")
    return ExitCode.NO if check and any(entry.broken for entry in found) else ExitCode.OK


def _state(broken: str | None) -> str:
    return "ok" if broken is None else f"broken: {broken}"


def _try_all(console: Console) -> None:
    names = [(table, name) for table in TABLES.values() for name in table]
    # What a plugin prints while it is imported must not get between our own lines.
    with console.progress("loading", len(names)) as advance, contextlib.redirect_stdout(sys.stderr):
        for table, name in names:
            with contextlib.suppress(DragomanError):  # the reason stays with the row
                table[name]
            advance(1)
