"""Which models there are, who provides them, and what a run takes from the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .configured import (
        configured_dialect as configured_dialect,
        configured_sandbox as configured_sandbox,
        set_sandbox as set_sandbox,
        settings_for as settings_for,
    )
    from .local import LocalEngine as LocalEngine
    from .model_choice import can_run_here as can_run_here, default_model as default_model, models_of as models_of
    from .model_files import MODEL_FILES as MODEL_FILES, cached as cached, fetched as fetched
    from .pace import MINUTE as MINUTE, Ledger as Ledger, seconds_until_room as seconds_until_room
    from .providers import (
        PROVIDERS as PROVIDERS,
        Provider as Provider,
        check_provider as check_provider,
        check_unvouched_model as check_unvouched_model,
        dialect_of as dialect_of,
        engine_for as engine_for,
        family_of as family_of,
        real_name as real_name,
        split_model as split_model,
    )
    from .who_runs import is_offered as is_offered, native_tool as native_tool, vendor_of as vendor_of
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "configured": ("configured_dialect", "configured_sandbox", "set_sandbox", "settings_for"),
            "local": ("LocalEngine",),
            "model_choice": ("can_run_here", "default_model", "models_of"),
            "model_files": ("MODEL_FILES", "cached", "fetched"),
            "pace": ("MINUTE", "Ledger", "seconds_until_room"),
            "providers": (
                "PROVIDERS",
                "Provider",
                "check_provider",
                "check_unvouched_model",
                "dialect_of",
                "family_of",
                "engine_for",
                "real_name",
                "split_model",
            ),
            "who_runs": ("is_offered", "native_tool", "vendor_of"),
        },
    )
