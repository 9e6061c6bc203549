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
    Refusal,
    chosen,
    current,
    data_dir,
    load,
    own_folders,
    plugin_files,
    shown,
    use,
)
from .folders import OTHER_CACHE_DIR, OTHER_CONFIG_DIR, OTHER_DATA_DIR, current_folder, home_folder, system_folder
from .kinds import UNTRUSTED, Kind, Rule
from .layers import Found, Origin, read_ordinary_file, read_settings_file, read_with_place
from .private_file import replacing, write_private
from .settings import (
    Approval,
    Logs,
    Mcp,
    McpServer,
    Model,
    Plugins,
    Policy,
    PolicyRule,
    Price,
    Profile,
    Provider,
    ProviderLimits,
    Sandbox,
    Search,
    Secret,
    Settings,
    known_settings,
    place_of,
    tightened,
)
from .toml_text import TomlPlace, read_toml
from .trust import SERVER_FILES, SKILL_FOLDERS, Project, Trust, digest, find_project, trust, trusted_folders, untrust

__all__ = [
    "DATA_SUFFIXES",
    "OTHER_CACHE_DIR",
    "OTHER_CONFIG_DIR",
    "OTHER_DATA_DIR",
    "SERVER_FILES",
    "SKILL_FOLDERS",
    "UNTRUSTED",
    "Approval",
    "Chosen",
    "Configuration",
    "Found",
    "Kind",
    "Logs",
    "Mcp",
    "McpServer",
    "Model",
    "Origin",
    "PluginFolder",
    "Plugins",
    "Policy",
    "PolicyRule",
    "Price",
    "Profile",
    "Project",
    "Provider",
    "ProviderLimits",
    "Refusal",
    "Rule",
    "Sandbox",
    "Search",
    "Secret",
    "Settings",
    "TomlPlace",
    "Trust",
    "chosen",
    "current",
    "current_folder",
    "data_dir",
    "digest",
    "find_project",
    "home_folder",
    "known_settings",
    "load",
    "own_folders",
    "place_of",
    "plugin_files",
    "read_ordinary_file",
    "read_settings_file",
    "read_toml",
    "read_with_place",
    "replacing",
    "shown",
    "system_folder",
    "tightened",
    "trust",
    "trusted_folders",
    "untrust",
    "use",
    "write_private",
]
