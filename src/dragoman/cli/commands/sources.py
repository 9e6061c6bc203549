"""`dragoman sources`: where logs are looked for, what is there, and further places."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from dragoman import logs
from dragoman.cli.log_files import log_places
from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.cli.terminal.default_group import DefaultGroup
from dragoman.cli.terminal.text import is_utf8
from dragoman.errors import LogError, nearest
from dragoman.logs import history

_FOLDER = click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path)


@click.group(cls=DefaultGroup)
def command() -> None:
    """List the folders where coding agents keep their sessions, find others, and add them.

    Without a sub-command: `run`, which lists them.
    """


@command.command("run")
@json_option
@click.pass_obj
def run(console: Console, *, as_json: bool) -> ExitCode:
    """List the folders that are looked at, and how many files each has."""
    places = log_places(console)
    rows = [_row(name, home, logs.FORMATS[name].files(home)) for name, home in history.homes(named=places.homes)]
    for folder in places.folders:
        found = [one for one in history.all_logs(named=places.homes, folders=[folder]) if one.home == folder]
        rows.append(_row("any", folder, (one.path for one in found)))
    if as_json:
        console.json(rows)
    elif rows:
        shown = [(row["format"], row["home"], str(row["files"]), str(row["bytes"])) for row in rows]
        console.table(("format", "folder", "files", "bytes"), shown)
    else:
        console.note(f"No logs were found here. Known formats: {', '.join(logs.FORMATS)}.")
    return ExitCode.OK if rows else ExitCode.NO


def _row(format: str, home: Path, files: Iterable[Path]) -> dict[str, Any]:
    sizes = [path.stat().st_size for path in files if path.exists()]
    return {"format": format, "home": str(home), "files": len(sizes), "bytes": sum(sizes)}


@command.command("detect")
@click.argument("folder", type=_FOLDER)
@json_option
@click.pass_obj
def detect(console: Console, *, folder: Path, as_json: bool) -> ExitCode:
    """Look for logs below FOLDER, by what the files hold, and say which client wrote them and how sure that is."""
    try:
        found = history.find_logs(str(folder))
    except LogError as error:
        console.note(str(error))
        if as_json:
            console.json([])
        return ExitCode.NO
    rows = [(one.path, one.format, logs.recognise(one.path)[1]) for one in found]
    if as_json:
        console.json([{"file": str(path), "format": format, "confidence": sure} for path, format, sure in rows])
    else:
        console.table(("format", "sure", "file"), [(name, f"{sure:.2f}", str(path)) for path, name, sure in rows])
    return ExitCode.OK


@command.command("add")
@click.argument("folder", type=_FOLDER)
@click.option("--client", help="The client whose logs they are; without it each file is taken as what it holds.")
@click.pass_obj
def add(console: Console, *, folder: Path, client: str | None) -> ExitCode:
    """Look for logs in FOLDER too, from now on. It is written into your settings."""
    if client is not None and client not in logs.FORMATS:
        raise click.BadParameter(
            f"there is no client {client!r}.{nearest(client, logs.FORMATS)}", param_hint="--client"
        )

    if not is_utf8(str(folder)):
        raise click.BadParameter("settings can hold only names that are UTF-8.", param_hint="FOLDER")

    def added(table: Any) -> bool:
        if client is not None:
            homes = table.setdefault("homes", {})
            if homes.get(client) == str(folder):
                return False
            homes[client] = str(folder)
            return True
        folders = table.setdefault("folders", [])
        if str(folder) in folders:
            return False
        folders.append(str(folder))
        return True

    return _changed(console, added, f"{folder} is looked at from now on.", f"{folder} is looked at already.")


@command.command("remove")
@click.argument("folder", type=click.Path(resolve_path=True, path_type=Path))
@click.pass_obj
def remove(console: Console, *, folder: Path) -> ExitCode:
    """Stop looking for logs in FOLDER. It is removed from your settings; its files stay."""

    def removed(table: Any) -> bool:
        folders = table.get("folders", [])
        homes = table.get("homes", {})
        there = [name for name, home in homes.items() if home == str(folder)]
        for name in there:
            del homes[name]
        if str(folder) in folders:
            folders.remove(str(folder))
            return True
        return bool(there)

    return _changed(
        console, removed, f"{folder} is no longer looked at.", f"{folder} is not among those that were added.", no=True
    )


def _changed(console: Console, change: Any, done: str, not_done: str, *, no: bool = False) -> ExitCode:
    """Changes the table `logs` of the user's settings; comments and the rest of the file stay as they are."""
    import tomlkit

    from dragoman.config.files import OTHER_CONFIG_DIR, replacing

    path = console.configuration().user_file
    with replacing(path, advice=OTHER_CONFIG_DIR) as write:
        document = tomlkit.parse(path.read_text("utf-8")) if path.exists() else tomlkit.document()
        is_changed = change(document.setdefault("logs", {}))
        if is_changed:
            write(tomlkit.dumps(document).encode())
    if is_changed:
        console.line(f"{done} ({path})")
        return ExitCode.OK
    console.note(not_done)
    return ExitCode.NO if no else ExitCode.OK
