"""Folders every part of dragoman relies on: the user's home, the usual places for settings and data, the current one.

Rule: a folder that cannot be told is a `ConfigError` that says what to set, never another exception.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from dragoman.errors import ConfigError

_NO_HOME: Final = "cannot tell your home folder: set HOME to its absolute path"
OTHER_DATA_DIR: Final = "DRAGOMAN_DATA_DIR can name another folder"
OTHER_CONFIG_DIR: Final = "DRAGOMAN_CONFIG_DIR can name another folder"
OTHER_CACHE_DIR: Final = "DRAGOMAN_CACHE_DIR can name another folder"


def home_folder() -> Path:
    """The home folder of the user, whether it exists or not.

    A relative HOME is refused: settings would be read from wherever the command is started.
    """
    try:
        home = Path.home()
    except RuntimeError as error:  # HOME is not set, and this user has no entry in the password database
        raise ConfigError(_NO_HOME) from error
    if os.environ.get("HOME") == "" or not home.is_absolute():
        raise ConfigError(_NO_HOME)
    return home


def system_folder(function: str) -> Path:
    """The usual place of this system, by the name of the function of platformdirs that knows it."""
    plain = _plain_folder(function) if sys.platform == "linux" else None
    if plain is not None:
        return plain
    import platformdirs

    find: Callable[..., Path] = getattr(platformdirs, function)
    try:
        return find("dragoman", appauthor=False)
    except RuntimeError as error:
        raise ConfigError(_NO_HOME) from error


_FOLDERS: Final = {
    "user_config_path": ("XDG_CONFIG_HOME", "/.config"),
    "user_data_path": ("XDG_DATA_HOME", "/.local/share"),
    "user_cache_path": ("XDG_CACHE_HOME", "/.cache"),
}


def _plain_folder(function: str) -> Path | None:
    """What platformdirs says on Linux where the variables are as usual; `None`: ask it, which has to be imported and
    takes a tenth of the time of a hook's decision."""
    name, below = _FOLDERS.get(function, ("", ""))
    stated, home = os.environ.get(name, ""), os.environ.get("HOME", "")
    folder = stated or f"{home}{below}"
    plain = re.fullmatch(r"(?:/[A-Za-z0-9._-]+)+", stated or home)
    return Path(folder, "dragoman") if name and plain and "ANDROID_DATA" not in os.environ else None


def current_folder() -> Path:
    """The folder this process is in."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise ConfigError("the current folder no longer exists; change to one that does") from error
