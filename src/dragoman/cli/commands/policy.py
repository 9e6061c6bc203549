"""`dragoman policy`: what your rules say about a command, before it matters, and which rules you may want."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dragoman import logs
from dragoman.cli.filter_options import complete_sessions, filter_options, query_of
from dragoman.cli.terminal.console import Console, ExitCode, here, json_option
from dragoman.errors import ConfigError
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


@command.command("learn")
@click.argument("wanted", nargs=-1, metavar="[PATH|ID]...", shell_complete=complete_sessions)
@click.option("--yes", is_flag=True, help="Add the rules to your settings without asking.")
@filter_options(limit=None)
@json_option
@click.pass_obj
def learn(console: Console, /, *, wanted: tuple[str, ...], yes: bool, asked: logs.Filter, as_json: bool) -> ExitCode:
    """Propose the rules that would have allowed what was done in recorded sessions, by what they risk.

    What ran was allowed, by you or by the settings of its client. No rule is proposed that fits something that was
    denied. Nothing is written without a yes.

    \b
    dragoman policy learn --since 1w
    dragoman policy learn --project . --json
    """
    from dragoman.serve.hook import RISKS, as_toml, learned, own_rules

    found = learned(query_of(console, wanted), asked, own_rules().policy)
    if as_json:
        console.json(found)
        return ExitCode.OK if found.proposals else ExitCode.NO
    console.note(
        f"{found.calls} calls ran. Your rules allow {found.allowed} of them as they are; "
        f"these would allow {found.more} more."
    )
    texts: list[str] = []
    for risk in RISKS:
        rules = [one for one in found.proposals if one.risk == risk]
        if rules:
            console.line(f"# {risk} risk")
        for one in rules:
            text = f"# {one.calls} times: {'; '.join(' '.join(example.split())[:60] for example in one.examples)}\n"
            texts.append(text + as_toml(one.rule))
            console.line(texts[-1])
    if found.left:
        rest = ", ".join(f"{' '.join(what.split())[:40]} ({count})" for what, count in found.left[:5])
        console.note(f"No rule is proposed for {len(found.left)} other things, such as {rest}.")
    if not texts:
        return ExitCode.NO
    file = console.configuration().user_file
    if not yes:
        if not sys.stdin.isatty():
            console.note(f"Nothing was written: use --yes to add these rules to {file}.")
            return ExitCode.OK
        if not click.confirm(f"Add these rules to {file}?", default=False, err=True):
            return ExitCode.NO
    _add(file, texts)
    return ExitCode.OK


def _add(file: Path, texts: list[str]) -> None:
    from dragoman.config.files import read_toml, write_private

    before = file.read_text() if file.exists() else ""
    after = before + ("" if not before or before.endswith("\n") else "\n") + "\n" + "\n".join(texts)
    try:
        read_toml(after)
    except ValueError as error:
        raise ConfigError(
            f"the rules cannot be added to {file}: {error}; write its rules as [[policy.rules]], or add these by hand"
        ) from error
    write_private(file, after.encode())
