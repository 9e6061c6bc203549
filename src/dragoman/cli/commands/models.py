"""`dragoman models`: what each provider lists, with its window and its prices."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.runner import run
from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.errors import ConfigError, DragomanError, EngineError, nearest

if TYPE_CHECKING:
    from dragoman.config import Configuration


@click.command
@click.argument("providers", nargs=-1)
@json_option
@click.pass_obj
def command(console: Console, *, providers: tuple[str, ...], as_json: bool) -> ExitCode:
    """List the models that PROVIDERS offer, with context window and prices in US dollars per million tokens.

    Without arguments, every provider is asked whose key is set, and model servers on this machine.

    \b
    dragoman models
    dragoman models anthropic openai
    """
    from dragoman.engine.models import PROVIDERS

    configuration = console.configuration()
    known = (*PROVIDERS, *configuration.settings.providers)
    for name in providers:
        if name not in known:
            raise click.UsageError(
                f'there is no provider "{name}".{nearest(name, known)} There are {", ".join(known)}.'
            )
    found = run(_all(configuration, providers or known))
    rows: list[dict[str, Any]] = []
    warned = False
    for name, models in found:
        if isinstance(models, DragomanError):
            # Where nobody named providers, one without a key and a server that is not running are no news.
            if providers or (isinstance(models, EngineError) and _is_set_up(configuration, name)):
                console.warn(f"{name}: {models}")
                warned = True
            continue
        rows += [_row(configuration, name, model) for model in models]
    if as_json:
        console.json(rows)
    elif rows:
        cells = [tuple("" if value is None else _shown(value) for value in row.values()) for row in rows]
        console.table(("model", "context", "input $/M", "output $/M"), cells)
    elif not warned:
        console.note("No provider listed a model: set a key (dragoman keys set PROVIDER) or start a model server.")
    for alias, model in configuration.settings.aliases.items():
        console.note(f"alias: {alias} = {model}")
    return ExitCode.OK if rows else ExitCode.NO


def _is_set_up(configuration: Configuration, provider: str) -> bool:
    """Whether a provider has a key, or a section in the settings."""
    from dragoman.config.files import stored_keys
    from dragoman.engine.models import PROVIDERS

    variables = PROVIDERS[provider].key if provider in PROVIDERS else ()
    named = provider in configuration.settings.providers or provider in stored_keys(configuration.config_dir)
    return named or any(os.environ.get(variable) for variable in variables)


async def _all(
    configuration: Configuration, names: tuple[str, ...]
) -> list[tuple[str, tuple[str, ...] | DragomanError]]:
    return list(await asyncio.gather(*(_listed(configuration, name) for name in names)))


async def _listed(configuration: Configuration, name: str) -> tuple[str, tuple[str, ...] | DragomanError]:
    """The models of one provider, or why there are none."""
    from dragoman.engine import HttpEngine, Retry
    from dragoman.engine.models import engine_for, models_of

    try:
        engine, _ = engine_for(f"{name}:?", configuration=configuration, retry=Retry(times=0))
        if not isinstance(engine, HttpEngine):
            return name, ConfigError("its models run in this process; see dragoman run --help")
        try:
            return name, tuple(sorted(await models_of(engine)))
        finally:
            await engine.close()
    except DragomanError as error:
        return name, error


def _row(configuration: Configuration, provider: str, model: str) -> dict[str, Any]:
    from dragoman.context_windows import window_of
    from dragoman.prices import FREE, price_of

    price = price_of(f"{provider}:{model}" if provider in FREE else model, own=configuration.settings.prices)
    return {
        "model": f"{provider}:{model}",
        "context": window_of(model),
        "input": None if price is None else float(price.input),
        "output": None if price is None else float(price.output),
    }


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
