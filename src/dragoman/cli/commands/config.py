"""`dragoman config`: the settings, where each came from, and where the files are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.session_options import profile_option, use_profile
from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.errors import nearest

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.config import Configuration


@click.group
def command() -> None:
    """Show the settings.

    Stronger ones win over weaker ones: defaults, your file, the project's file, the environment (DRAGOMAN_MODEL,
    DRAGOMAN_POLICY__TIMEOUT), flags (--set policy.timeout=5).
    """


@command.command(short_help="Show every setting and where it came from.")
@click.argument("key", required=False)
@profile_option
@json_option
@click.pass_obj
def show(console: Console, *, key: str | None, profile: str | None, as_json: bool) -> ExitCode:
    """Show every setting, or those that begin with KEY, and where each came from. API keys are masked.

    With --profile, as they are when that profile is chosen; values that it states are marked.

    The last line says whether commands run in a sandbox here.
    """
    use_profile(console, profile)
    configuration = console.configuration()
    found = _values(configuration)
    if key is not None:
        found = {name: value for name, value in found.items() if f"{name}.".startswith(f"{key}.")}
        _check_known(key, found)
    if as_json:
        console.json(_document(configuration, found))
    else:
        rows = [(name, json.dumps(value), str(configuration.values[name].origin)) for name, value in found.items()]
        console.table(("setting", "value", "from"), rows)
        if "sandbox.mode" in found:
            console.line(f"sandbox here: {_sandbox(configuration)}", "quiet")
    return ExitCode.OK


def _sandbox(configuration: Configuration) -> str:
    """What commands would run in now: a sandbox that was tried, or none and why."""
    from dragoman.tools.sandbox import Enclosure

    return Enclosure(configuration.settings.sandbox).described()


def _values(configuration: Configuration) -> dict[str, Any]:
    from dragoman.config import shown

    return {name: shown(name, found.value) for name, found in configuration.values.items()}


def _check_known(key: str, found: dict[str, Any]) -> None:
    from dragoman.config import known_settings
    from dragoman.config.settings import place_of

    if not found and place_of(key.split(".")) is None:
        keys = [name.split(".") for name, _ in known_settings()]
        known = dict.fromkeys(".".join(parts[:length]) for parts in keys for length in range(1, len(parts) + 1))
        raise click.BadParameter(f'there is no setting "{key}".{nearest(key, known)}', param_hint="KEY")


def _document(configuration: Configuration, found: dict[str, Any]) -> dict[str, Any]:
    project = configuration.project
    sandbox = {"sandbox": _sandbox(configuration)} if "sandbox.mode" in found else {}
    return {
        "settings": {
            name: {"value": value, "from": configuration.values[name].origin} for name, value in found.items()
        },
        "project": project and {"root": project.root, "file": project.file, "trust": project.trust.state},
        "ignored": configuration.refusals,
        "warnings": configuration.warnings,
        **sandbox,
    }


@command.command(short_help="Show where the files and folders are.")
@click.argument("which", required=False, type=click.Choice(["user", "project", "config", "plugins", "data", "cache"]))
@json_option
@click.pass_obj
def path(console: Console, *, which: str | None, as_json: bool) -> ExitCode:
    """Show where the settings files and folders are, or only WHICH, for use in scripts."""
    places = _places(console.configuration())
    if which is not None:
        places = {which: places[which]}
    if as_json:
        console.json(places)
    elif which is not None and places[which] is None:
        console.note("There is no project here.")
    elif which is not None:
        console.line(str(places[which]))
    else:
        rows = [(name, str(place or "no project here"), _existence(place)) for name, place in places.items()]
        console.table(("which", "path", ""), rows)
    return ExitCode.OK if any(places.values()) else ExitCode.NO


def _places(configuration: Configuration) -> dict[str, Path | None]:
    project = configuration.project
    return {
        "user": configuration.user_file,
        "project": project.file or project.root if project else None,
        "config": configuration.config_dir,
        "plugins": configuration.config_dir / "plugins",
        "data": configuration.data_dir,
        "cache": configuration.cache_dir,
    }


def _existence(place: Path | None) -> str:
    return "" if place is None or place.exists() else "not there yet"
