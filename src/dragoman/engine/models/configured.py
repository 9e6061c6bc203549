"""What the settings say of one model: the one place that commands, Python programs and agents ask.

Rule: a dialect that is a file is used only if the user's own settings name it, since a Python file would be run.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.config import Chosen, Configuration, Model, Sandbox
    from dragoman.dialects import Dialect


def settings_for(configuration: Chosen, profile: str | None, *, wanted: bool) -> Configuration | None:
    """The settings a Python program goes by. `wanted`: those of this process are, when it names none itself."""
    if not wanted and profile is None and isinstance(configuration, msgspec.UnsetType):
        return None
    from dragoman.config import chosen

    settings = chosen(configuration)
    if profile is None or settings is None:
        if profile is not None:
            raise ConfigError(f"the profile {profile!r} is in the settings, and configuration=None reads none")
        return settings
    return settings.with_profile(profile)


def model_rows(configuration: Configuration, model: str) -> list[tuple[str, Model]]:
    """The sections `[models.PATTERN]` that a model's name fits, each with its pattern."""
    models = configuration.settings.models
    return [(pattern, row) for pattern, row in models.items() if fnmatchcase(model, pattern)]


def configured_options(configuration: Configuration, model: str) -> dict[str, Any]:
    """The options of a model, sent beside those of its provider."""
    return {key: value for _, row in model_rows(configuration, model) for key, value in row.options.items()}


def configured_dialect(configuration: Configuration, model: str) -> Dialect | None:
    """The vocabulary that the settings name for all models, or for this one."""
    from dragoman.dialects.plugins import dialect_named

    stated = configuration.settings.dialect
    if stated is not None:
        return dialect_named(stated, files=configuration.is_own("dialect"))
    for pattern, row in model_rows(configuration, model):
        if row.dialect:
            return dialect_named(row.dialect, files=configuration.is_own(f"models.{pattern}.dialect"))
    return None


def configured_sandbox(configuration: Configuration, *, askable: bool) -> Sandbox:
    """The sandbox that the settings state. Where nobody can be asked, no command is let out of it by asking."""
    from dragoman.config import own_folders

    stated = configuration.settings.sandbox
    usual = own_folders()
    config, data, cache = configuration.config_dir, configuration.data_dir, configuration.cache_dir
    return msgspec.structs.replace(
        stated,
        hidden=(*stated.hidden, *(str(folder) for folder in (config, data) if folder not in usual)),
        read_only=(*stated.read_only, *(str(folder) for folder in (data, cache) if folder not in usual)),
        unsandboxed="deny" if stated.unsandboxed == "ask" and not askable else stated.unsandboxed,
    )


def set_sandbox(configuration: Configuration, *, askable: bool) -> Sandbox | None:
    """The same for a Python program, which has a sandbox only if some layer of the settings says so."""
    said = any(configuration.is_set(key) for key in configuration.values if key.startswith("sandbox."))
    return configured_sandbox(configuration, askable=askable) if said else None
