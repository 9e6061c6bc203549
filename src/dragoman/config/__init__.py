"""Settings in layers, the folders dragoman keeps its things in, and which project files are trusted.

Layers, weakest first: defaults, the user's file, the project's file, the environment, flags; every value
knows where it came from.

Rule: a project's own files may not set URLs, keys, commands or paths, nor loosen a policy, until the user trusts
that folder, and never name code to import. It follows from the kind of each setting's value (`kinds.py`). Trust is
bound to the contents of the files, so a changed file has to be trusted again.
"""

from __future__ import annotations

from .configuration import (
    DATA_SUFFIXES,
    Chosen,
    Configuration,
    PluginFolder,
    chosen,
    current,
    data_dir,
    load,
    own_folders,
    plugin_files,
    shown,
    use,
)
from .kinds import UNTRUSTED, Kind
from .layers import Origin, read_settings_file
from .projects import SERVER_FILES, SKILL_FOLDERS, digest, find_project, trust, trusted_folders, untrust
from .settings import Model, Price, Provider, Sandbox, Secret, Settings, known_settings

__all__ = [
    "DATA_SUFFIXES",
    "SERVER_FILES",
    "SKILL_FOLDERS",
    "UNTRUSTED",
    "Chosen",
    "Configuration",
    "Kind",
    "Model",
    "Origin",
    "PluginFolder",
    "Price",
    "Provider",
    "Sandbox",
    "Secret",
    "Settings",
    "chosen",
    "current",
    "data_dir",
    "digest",
    "find_project",
    "known_settings",
    "load",
    "own_folders",
    "plugin_files",
    "read_settings_file",
    "shown",
    "trust",
    "trusted_folders",
    "untrust",
    "use",
]
