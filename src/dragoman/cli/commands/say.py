"""`dragoman say`: one operation in the words of a vocabulary."""

from __future__ import annotations

from textwrap import indent

import click

from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.cli.vocabulary import (
    NativeWords,
    complete_dialects,
    complete_operations,
    dialects_named,
    operation_of,
    shown,
)
from dragoman.errors import Unspeakable


@click.command
@click.argument("operation", shell_complete=complete_operations)
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]…")
@click.option(
    "--to",
    "names",
    metavar="DIALECT",
    multiple=True,
    shell_complete=complete_dialects,
    help="Only this vocabulary, or the one in this file. May be repeated.",
)
@json_option
@click.pass_obj
def command(
    console: Console, *, operation: str, arguments: tuple[str, ...], names: tuple[str, ...], as_json: bool
) -> ExitCode:
    """Say an operation in one vocabulary, or in all of them, with what is lost.

    \b
    dragoman say read_file path=a.py first_line=5 last_line=9
    dragoman say edit_file path=a.py 'edits=[{"old": "x", "new": "y"}]' --to codex
    """
    console.configuration()
    meant = operation_of(operation, arguments)
    said: dict[str, NativeWords] = {}
    unspoken: dict[str, str] = {}
    for dialect in dialects_named(console, names):
        try:
            said[dialect.name] = NativeWords(dialect.write_call("1", meant), dialect.loss(meant))
        except Unspeakable as error:
            unspoken[dialect.name] = error.reason
    if as_json:
        console.json({"operation": meant, "said": said, "unspoken": unspoken})
    else:
        for name, how in said.items():
            console.line(name, "strong")
            for call in how.calls:
                console.line(indent(shown(call), "  "))
            for loss in how.loss:
                console.line(f"  lost: {loss.field} ({loss.reason})", "warning")
        for name, reason in unspoken.items():
            console.line(name, "strong")
            console.line(f"  cannot say it: {reason}", "quiet")
    return ExitCode.OK if said else ExitCode.NO
