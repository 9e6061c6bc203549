"""`dragoman policy`: what your rules say about a command, before it matters."""

from __future__ import annotations

import click

from dragoman.cli.terminal.console import Console, ExitCode, here, json_option
from dragoman.serve.hook import CLIENTS


@click.group
def command() -> None:
    """Show what your [[policy.rules]] decide about the calls of coding agents."""


@command.command("explain")
@click.argument("line")
@click.option(
    "--client",
    type=click.Choice(list(CLIENTS)),
    metavar="CLIENT",
    default="claude_code",
    show_default=True,
    help=f"The client that would run it: {', '.join(CLIENTS)}.",
)
@json_option
@click.pass_obj
def explain(console: Console, /, *, line: str, client: str, as_json: bool) -> ExitCode:
    """Show what is decided about the command LINE in the current folder, by which rule, and what it may reach."""
    from dragoman.serve.hook import explained

    found = explained(line, client, str(here()))
    if as_json:
        console.json(found)
        return ExitCode.OK
    console.line(f"decision  {found.decision.verdict}")
    console.line(f"rule      {found.decision.rule or '-'}")
    for verb, target in found.effects:
        console.line(f"{verb:<9} {target}")
    for reason in found.unknown:
        console.line(f"unknown   {reason}")
    return ExitCode.OK
