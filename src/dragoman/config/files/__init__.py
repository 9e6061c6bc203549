"""Files that dragoman keeps for the user: where they are, and how they are read and written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .folders import (
        OTHER_CACHE_DIR as OTHER_CACHE_DIR,
        OTHER_CONFIG_DIR as OTHER_CONFIG_DIR,
        OTHER_DATA_DIR as OTHER_DATA_DIR,
        current_folder as current_folder,
        home_folder as home_folder,
        system_folder as system_folder,
    )
    from .keys import store_key as store_key, stored_key as stored_key, stored_keys as stored_keys
    from .ordinary_file import read_ordinary_file as read_ordinary_file, read_with_place as read_with_place
    from .private_file import (
        make_private as make_private,
        private as private,
        replacing as replacing,
        write_private as write_private,
    )
    from .scratch import ScratchFolder as ScratchFolder, clear_scratch as clear_scratch
    from .toml_text import TextPlace as TextPlace, read_toml as read_toml
    from .whole_file import written_whole as written_whole
    from .yaml_text import YamlProblems as YamlProblems, read_yaml as read_yaml
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "folders": (
                "OTHER_CACHE_DIR",
                "OTHER_CONFIG_DIR",
                "OTHER_DATA_DIR",
                "current_folder",
                "home_folder",
                "system_folder",
            ),
            "keys": ("store_key", "stored_key", "stored_keys"),
            "ordinary_file": ("read_ordinary_file", "read_with_place"),
            "private_file": ("make_private", "private", "replacing", "write_private"),
            "scratch": ("ScratchFolder", "clear_scratch"),
            "toml_text": ("TextPlace", "read_toml"),
            "whole_file": ("written_whole",),
            "yaml_text": ("YamlProblems", "read_yaml"),
        },
    )
