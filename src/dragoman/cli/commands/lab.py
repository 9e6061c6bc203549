"""`dragoman lab`: looking into logs closely; its commands are files of their own."""

from __future__ import annotations

import importlib

import click

from dragoman.cli.terminal.text import takes_only_text
from dragoman.errors import nearest

# `export` and `stats` are the commands of that name: people look for them here too.
COMMANDS = {
    "grep": ("lab_grep:grep_command", "Search what was said and done, or the bytes of the records."),
    "export": ("export:command", "Write a session in another form."),
    "stats": ("stats:command", "Count calls, failures, tokens and cost."),
}


class _Lab(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        target, text = COMMANDS[cmd_name]
        module, _, name = target.partition(":")
        command: click.Command = getattr(importlib.import_module(f"dragoman.cli.commands.{module}"), name)
        command.short_help = text
        return takes_only_text(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            ctx.fail(f'There is no command "{args[0]}".{nearest(args[0], COMMANDS)}')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=_Lab)
def command() -> None:
    """Look into logs closely."""
