"""`dragoman hook`: your rules for every coding agent that has hooks."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.serve.hook import CLIENTS

_client_option = click.option(
    "--client", type=click.Choice(list(CLIENTS)), help="The client, if its payload does not say."
)
_event_option = click.option("--event", help="The event, if the payload does not say.")


@click.group(invoke_without_command=True)
@_client_option
@_event_option
@click.pass_context
def command(ctx: click.Context, /, *, client: str | None, event: str | None) -> int | None:
    """Decide about a coding agent's tool call by your [[policy.rules]].

    Without a sub-command it reads the payload of a hook on standard input and answers in the form of the client that
    sent it. `dragoman hook install` puts that line into a client's settings.
    """
    if ctx.invoked_subcommand is not None:
        return None
    from dragoman.serve.hook import answer_here

    return answer_here(client, event)


@command.command("test")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@_client_option
@_event_option
@json_option
@click.pass_obj
def test_payload(console: Console, /, *, file: Path, client: str | None, event: str | None, as_json: bool) -> ExitCode:
    """Show what would be decided about the payload in FILE, by which rule, and what the client would get."""
    from dragoman.serve.hook import handle, own_rules

    text = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    handled = handle(text, client, event, own_rules)
    asked, decision = handled.asked, handled.decision
    if as_json:
        console.json({"asked": asked, "decision": decision, "answer": handled.answer, "note": handled.note})
        return ExitCode.OK
    if asked is not None:
        console.line(f"client    {asked.client}, event {asked.event}")
        for call in asked.calls:
            console.line(f"call      {call.name} {call.arguments}")
    console.line(f"decision  {decision.verdict}")
    console.line(f"rule      {decision.rule or '-'}")
    console.line(f"answer    {handled.answer.out or '(nothing)'}, exit code {handled.answer.code}")
    if handled.note:
        console.note(handled.note)
    return ExitCode.OK
