"""`dragoman untrust`: take back what `dragoman trust` gave."""

from __future__ import annotations

from pathlib import Path

import click

from dragoman.cli.terminal.console import Console, ExitCode, here


@click.command
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.pass_obj
def command(console: Console, *, path: Path | None) -> ExitCode:
    """Take back the trust in the project at PATH (here, when none is given)."""
    from dragoman import config

    place = path or here()
    root = config.find_project(place) or place.absolute()
    # Not the whole configuration: a project whose files are broken, or gone, can still be untrusted.
    if config.untrust(root, config.data_dir(flags=console.flags)):
        console.line(f"No longer trusted: {root}")
        return ExitCode.OK
    console.note(f"It was not trusted: {root}")
    return ExitCode.NO
