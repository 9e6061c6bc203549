"""All targets, by name."""

from __future__ import annotations

from importlib import import_module

from .target import Target

SUBJECTS = (
    "apis",
    "events",
    "dialects",
    "logs",
    "patches",
    "commands",
    "hooks",
    "agents",
    "files",
    "schemas",
    "pages",
    "secrets",
)
"""The modules of this package that hold targets."""


def all_targets() -> dict[str, Target]:
    found = [target for subject in SUBJECTS for target in import_module(f".{subject}", __package__).TARGETS]
    return {target.name: target for target in found}
