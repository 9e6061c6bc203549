"""The sandbox on the command line: the option `--sandbox`, and what holds for the commands of one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from .terminal.console import Console

Function = TypeVar("Function", bound=Callable[..., Any])

MODES: Final = ("off", "auto", "require", "bubblewrap", "landlock")


def sandbox_option(function: Function) -> Function:
    """`--sandbox`, for commands that run commands."""
    return click.option(
        "--sandbox",
        type=click.Choice(MODES),
        metavar="MODE",
        help="The sandbox for commands: auto (the best one that works here, or none), require, bubblewrap, landlock "
        "or off. Default: the setting sandbox.mode.",
    )(function)


def use_mode(console: Console, mode: str | None) -> None:
    """Let `--sandbox` count as a setting of this call."""
    if mode is not None:
        console.flags = {**console.flags, "sandbox.mode": mode}
