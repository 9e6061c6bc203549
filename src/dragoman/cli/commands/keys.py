"""`dragoman keys`: store the keys of providers, and try them."""

from __future__ import annotations

import os
import sys
from typing import Final

import click

from dragoman.cli.runner import run
from dragoman.cli.terminal.call_lines import count
from dragoman.cli.terminal.console import Console, ExitCode, exit_code_of, json_option
from dragoman.errors import DragomanError, nearest


@click.group
def command() -> None:
    """Store the keys of providers, list where each key comes from, and try them.

    A key is typed or piped in, never given on the command line. A key in your settings or in the environment comes
    before a stored one.
    """


@command.command("set")
@click.argument("provider")
@click.pass_obj
def set_key(console: Console, *, provider: str) -> ExitCode:
    """Ask for the key of PROVIDER and store it. Without a terminal, the key is read from standard input."""
    from dragoman.config.files import store_key

    configuration = console.configuration()
    _check(provider, (*_known(console),))
    if sys.stdin.isatty():
        key = str(click.prompt(f"Key of {provider}", hide_input=True, err=True))
    else:
        key = sys.stdin.readline(_LONGEST + 1)
    key = key.strip()
    if not key or len(key) > _LONGEST or any(character.isspace() for character in key):
        raise click.UsageError("A key is one word without spaces; nothing like that was given.")
    place = store_key(configuration.config_dir, provider, key)
    file = configuration.config_dir / "keys.json"
    where = "in the system's keyring" if place == "keyring" else f"in {file}, which only you can read"
    console.note(f"The key of {provider} is stored {where}.")
    return ExitCode.OK


_LONGEST: Final = 16_384
"""Characters of a key. Of what is longer only a part would be stored, and no server takes such a header."""


@command.command("list")
@json_option
@click.pass_obj
def list_keys(console: Console, *, as_json: bool) -> ExitCode:
    """List the providers that have a key, and where it comes from; no key is shown."""
    from dragoman.config.files import stored_keys
    from dragoman.engine.models import PROVIDERS

    configuration = console.configuration()
    stored = stored_keys(configuration.config_dir)
    rows: list[tuple[str, str]] = []
    for name in _known(console):
        section = configuration.settings.providers.get(name)
        variables = PROVIDERS[name].key if name in PROVIDERS else ()
        variable = next((one for one in variables if os.environ.get(one)), None)
        if section is not None and section.api_key_env:
            rows.append((name, f"the variable {section.api_key_env}, named in the settings"))
        elif section is not None and section.api_key is not None:
            rows.append((name, "the settings"))
        elif variable is not None:
            rows.append((name, f"the variable {variable}"))
        elif name in stored:
            rows.append((name, "the system's keyring" if stored[name].place == "keyring" else "keys.json"))
    if as_json:
        console.json([{"provider": name, "from": place} for name, place in rows])
    elif rows:
        console.table(("provider", "its key is from"), rows)
    else:
        console.note("No provider has a key. dragoman keys set PROVIDER stores one.")
    return ExitCode.OK


@command.command("test")
@click.argument("provider")
@click.pass_obj
def test_key(console: Console, *, provider: str) -> ExitCode:
    """List the models of PROVIDER to check its key. Nothing is charged for that."""
    from .models import _listed

    _check(provider, _known(console))
    _, models = run(_listed(console.configuration(), provider))
    if isinstance(models, DragomanError):
        console.error(str(models))
        return exit_code_of(models)
    console.note(f"{provider} accepts the key and lists {count(len(models), 'model')}.")
    return ExitCode.OK


def _known(console: Console) -> tuple[str, ...]:
    from dragoman.engine.models import PROVIDERS

    return (*PROVIDERS, *console.configuration().settings.providers)


def _check(provider: str, known: tuple[str, ...]) -> None:
    if provider not in known:
        raise click.UsageError(f'there is no provider "{provider}".{nearest(provider, known)}')
