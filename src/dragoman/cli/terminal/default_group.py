"""A command with sub-commands that does something without one, too."""

from __future__ import annotations

import click


class DefaultGroup(click.Group):
    """What is no sub-command is given to the one named in `default`: `doctor FILE` is `doctor run FILE`."""

    default = "run"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = [self.default, *args]
        return super().parse_args(ctx, args)
