"""The sandbox on the command line: the option `--sandbox`, and what holds for the commands of one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
import msgspec

if TYPE_CHECKING:
    from dragoman.config import Configuration, Sandbox

    from .console import Console

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


def sandbox_of(configuration: Configuration, *, askable: bool) -> Sandbox:
    """The sandbox that the settings state. Where nobody can be asked, no command is let out of it by asking."""
    from dragoman.config import own_folders

    stated = configuration.settings.sandbox
    usual = own_folders()
    config, data, cache = configuration.config_dir, configuration.data_dir, configuration.cache_dir
    return msgspec.structs.replace(
        stated,
        hidden=(*stated.hidden, *(str(folder) for folder in (config,) if folder not in usual)),
        read_only=(*stated.read_only, *(str(folder) for folder in (data, cache) if folder not in usual)),
        unsandboxed="deny" if stated.unsandboxed == "ask" and not askable else stated.unsandboxed,
    )
