"""Which model answers when none was named: the settings' own, one whose key is set, one that is served on this machine,
and last the small one that runs in this process.

Rule: nothing is guessed, and nothing large is fetched that nobody agreed to. What was found says where, and what was
not found says what to set.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET

from dragoman.engine.engine import HttpEngine, read_json
from dragoman.engine.policy import Retry
from dragoman.engine.transport import Times
from dragoman.errors import ConfigError, DragomanError, EngineError
from dragoman.installation import install_command, packages_of

from .model_files import DEFAULT, MODEL_FILES, cached
from .providers import KEYED, PROVIDERS, engine_for, key_of

if TYPE_CHECKING:
    from dragoman.config import Chosen, Configuration

    from .providers import Provider

LOCAL: Final = ("ollama", "llamacpp", "lmstudio")
"""Servers looked for on this machine, in this order; the first model each lists answers."""

_PATIENCE: Final = Times(connect=0.5, read=2.0, total=3.0)


class ChosenModel(msgspec.Struct, frozen=True):
    """A model as `provider:model`, and why it is this one."""

    model: str
    why: str


async def default_model(
    configuration: Chosen = UNSET,
    environment: Mapping[str, str] = os.environ,
    *,
    may_fetch: Callable[[str], bool] = lambda model: False,
) -> ChosenModel:
    """The model to ask when none was named; `ConfigError` says what to set when there is none.

    `may_fetch` is asked before the model for this process is chosen where its file would have to be fetched.
    """
    from dragoman.config import chosen

    configuration = chosen(configuration)
    if configuration is not None and configuration.settings.model:
        origin = configuration.values["model"].origin
        return ChosenModel(configuration.settings.model, f"set by {origin}")
    for name, model in KEYED:
        why = _keyed(name, configuration, environment)
        if why is not None:
            return ChosenModel(f"{name}:{model}", why)
    served = await asyncio.gather(*(_served(name, configuration, environment) for name in LOCAL))
    found = next((one for one in served if one is not None), None) or _embedded(configuration, may_fetch)
    if found is None:
        raise ConfigError(_nothing_found())
    return found


def can_run_here() -> bool:
    """Whether the extra is installed that runs a model in this process."""
    from importlib.util import find_spec

    return find_spec("xllamacpp") is not None


def _embedded(configuration: Configuration | None, may_fetch: Callable[[str], bool]) -> ChosenModel | None:
    if not can_run_here():
        return None
    cache = configuration.cache_dir if configuration is not None else None
    if cached(DEFAULT, cache=cache).is_file():
        return ChosenModel(f"local:{DEFAULT}", "no key, no server; its file is in your cache; good for simple tasks")
    return ChosenModel(f"local:{DEFAULT}", "no key, no server; good for simple tasks") if may_fetch(DEFAULT) else None


def _keyed(name: str, configuration: Configuration | None, environment: Mapping[str, str]) -> str | None:
    """Where the key of a provider is from, or `None` when there is none."""
    row: Provider = PROVIDERS[name]
    section = configuration.settings.providers.get(name) if configuration is not None else None
    try:
        key_of(name, row, section, environment, configuration)
    except ConfigError:
        return None
    variable = next((variable for variable in row.key if environment.get(variable)), None)
    if variable:
        return f"{variable} is set"
    own = section is not None and (section.api_key is not None or section.api_key_env)
    return f"its key is in [providers.{name}] of the settings" if own else "its key is stored"


async def _served(name: str, configuration: Configuration | None, environment: Mapping[str, str]) -> ChosenModel | None:
    engine, _ = engine_for(
        f"{name}:?", configuration=configuration, times=_PATIENCE, retry=Retry(times=0), environment=environment
    )
    assert isinstance(engine, HttpEngine)
    try:
        models = await models_of(engine)
    except DragomanError:
        return None  # nobody listens there, or something else does
    finally:
        await engine.close()
    return ChosenModel(f"{name}:{models[0]}", f"it is served at {engine.transport.base_url}") if models else None


def _nothing_found() -> str:
    keys = [PROVIDERS[name].key[0] for name, _ in KEYED]
    return (
        "there is no model to ask: none is set, no key was found and no model server answers on this machine.\n"
        f"  - set a key: {', '.join(keys)}\n"
        "  - or start a server here: Ollama (port 11434), llama.cpp (8080) or LM Studio (1234)\n"
        "  - or name a model: --model provider:model, DRAGOMAN_MODEL, or model in your settings\n"
        f"  - or let a small one run in this process: {_how_to_have_it()}"
    )


def _how_to_have_it() -> str:
    size = f"{MODEL_FILES[DEFAULT].size / 1e9:.1f} GB, fetched once"
    installed = "" if can_run_here() else f"{install_command(*packages_of('local'))}, then "
    return f"{installed}--model local:{DEFAULT} --fetch ({size}; good for simple tasks)"


_PATHS: Final = {"anthropic_messages": "/v1/models"}
_HEADERS: Final = {"anthropic_messages": {"anthropic-version": "2023-06-01"}}


class _Row(msgspec.Struct):
    id: str | None = None
    name: str | None = None


class _Listing(msgspec.Struct):
    data: list[_Row] | None = None
    models: list[_Row] | None = None


async def models_of(engine: HttpEngine) -> tuple[str, ...]:
    """The names of the models a server says it has; `EngineError` when it does not say."""
    path, headers = _PATHS.get(engine.name, "/models"), _HEADERS.get(engine.name)
    response = await engine.transport.exchange(path, b"", headers=headers, method="GET")
    if response.status != 200:
        raise engine.api.error(response.status, response.headers, response.body)
    try:
        listing = msgspec.convert(read_json(response.body, engine.transport.bounds), _Listing)
    except (msgspec.ValidationError, EngineError) as error:
        raise ConfigError(f"{engine.transport.base_url} lists no models: {error}") from error
    rows = listing.data or listing.models or ()
    return tuple(name.removeprefix("models/") for row in rows if (name := row.id or row.name))
