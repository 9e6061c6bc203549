"""Folders every part of dragoman relies on: the user's home, the usual places for settings and data, the current one.

Rule: a folder that cannot be told is a `ConfigError` that says what to set, never another exception.
"""

from __future__ import annotations

import os
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
    import platformdirs

    find: Callable[..., Path] = getattr(platformdirs, function)
    try:
        return find("dragoman", appauthor=False)
    except RuntimeError as error:
        raise ConfigError(_NO_HOME) from error


def current_folder() -> Path:
    """The folder this process is in."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise ConfigError("the current folder no longer exists; change to one that does") from error
