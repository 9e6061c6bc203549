"""What the user can do about an error of a provider or of the network."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from dragoman.engine import models
from dragoman.errors import DragomanError, EngineError, nearest


async def advice(error: EngineError, model: str, engine: Any) -> list[str]:
    """What the user can do about an error of a provider or of the network."""
    provider, _, name = model.partition(":")
    row = next((models.PROVIDERS[known] for known in models.PROVIDERS if known == provider), None)
    local = row is not None and not row.key_needed
    # With 400: "API key not valid. Please pass a valid API key." (Gemini), "Incorrect API key provided." (xAI).
    if error.status == 401 or (error.status == 400 and "api key" in error.message.lower()):
        wanted = " or ".join(row.key) if row is not None and row.key else f"the key in [providers.{provider}]"
        return [f"{provider} did not accept the key: check {wanted}."]
    if error.status == 403:
        return [
            f"{provider} refuses this request to this account: it may have no access to {name}, or not from here.",
            f"Name another model: --model {provider}:NAME.",
        ]
    if error.code in ("html", "redirect"):
        return [f"Check the address: base_url in [providers.{provider}] of your settings{_or_variable(row)}."]
    if error.status == 404 or error.code == "model_not_found":
        return await _other_models(provider, name, engine)
    if error.code in ("dns", "connect", "connect_timeout", "network"):
        if local:
            return [f"Start the server of {provider}, or name another model: --model provider:model."]
        return [
            "Check your network and, behind a proxy, HTTPS_PROXY;",
            "or use a model on this machine: --model ollama:NAME, or --model local:qwen2.5-coder-1.5b.",
        ]
    is_said = not error.retry_after or "asks for a wait" in error.message
    asked = "" if is_said else f" {provider} asks for a wait of {error.retry_after:.15g} s."
    if error.status == 429:
        return [
            f"Wait a while, check the limits of your account, or name another model: --model provider:model.{asked}"
        ]
    if error.status is not None and error.status >= 500:
        return [f"The fault is on the side of {provider}: try again later, or name another model.{asked}"]
    return []


def _or_variable(row: models.Provider | None) -> str:
    return f", or the variable {row.base_url_env}" if row is not None and row.base_url_env else ""


async def _other_models(provider: str, name: str, engine: Any) -> list[str]:
    from dragoman.engine import HttpEngine

    names: tuple[str, ...] = ()
    if isinstance(engine, HttpEngine):
        with suppress(DragomanError):  # a server need not list its models
            names = await models.models_of(engine)
    if not names:
        return [f'Is "{name}" a model of {provider}? Name another one: --model {provider}:NAME.']
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return [f'{provider} has no model "{name}".{nearest(name, names)} It has {", ".join(names[:8])}{more}.']
