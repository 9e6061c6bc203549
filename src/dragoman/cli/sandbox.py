"""The sandbox on the command line: the option `--sandbox`, and what holds for the commands of one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from .terminal.console import Console


MODES: Final = ("off", "auto", "require", "bubblewrap", "landlock")


sandbox_option = click.option(
    "--sandbox",
    type=click.Choice(MODES),
    metavar="MODE",
    help="The sandbox for commands: auto (the best one that works here, or none), require, bubblewrap, landlock "
    "or off. Default: the setting sandbox.mode.",
)


def use_mode(console: Console, mode: str | None) -> None:
    """Let `--sandbox` count as a setting of this call."""
    if mode is not None:
        console.flags = {**console.flags, "sandbox.mode": mode}
