"""`dragoman trust`: let a project's own files set what could do harm."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dragoman.cli.terminal.console import Console, ExitCode, foreign, here, json_option
from dragoman.errors import ConfigError


@click.command
@click.argument("path", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--list", "list_all", is_flag=True, help="List the folders that are trusted.")
@json_option
@click.pass_obj
def command(console: Console, *, path: Path | None, list_all: bool, as_json: bool) -> ExitCode:
    """Trust the project at PATH (here, when none is given) with the files it has now.

    Until then its dragoman.toml or .dragoman/config.toml may choose a model and tighten a policy, but set no URL,
    key or command and loosen nothing, and the plugins in .dragoman/plugins are not loaded. Read those files first.
    When one of them changes, the project must be trusted again.
    """
    if list_all:
        return _list(console, as_json=as_json)
    return _trust(console, path or here(), as_json=as_json)


def _list(console: Console, *, as_json: bool) -> ExitCode:
    from dragoman.config import data_dir, trusted_folders

    folders = trusted_folders(data_dir(flags=console.flags))
    if as_json:
        console.json(folders)
    else:
        for folder in folders:
            console.line(foreign(str(folder), one_line=True))
    return ExitCode.OK


def _trust(console: Console, path: Path, *, as_json: bool) -> ExitCode:
    from dragoman import config

    before = config.load(project_at=path, flags=console.flags)
    if before.project is None:
        raise ConfigError(f"{path}: there is no project here: no dragoman.toml and no .dragoman folder")
    files = sorted(config.trust(before.project.root, before.data_dir).digests)
    now = config.load(project_at=path, flags=console.flags).values
    refused = {refusal.key: now.get(refusal.key) for refusal in before.refusals}
    allowed = {
        key: config.shown(key, found.value)
        for key, found in refused.items()
        if found is not None and found.origin.layer == "project"
    }
    if as_json:
        console.json({"root": before.project.root, "files": files, "settings": allowed})
        return ExitCode.OK
    console.line(f"Trusted: {foreign(str(before.project.root), one_line=True)}", "good")
    for file in files:
        console.line(f"  {foreign(file, one_line=True)}")
    if allowed:
        console.line("Now in force:")
        for key, value in allowed.items():
            console.line(f"  {key} = {json.dumps(value)}")
    return ExitCode.OK
