"""What a command line may reach: its programs, files and addresses, never fewer than it really does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from dragoman.engine.command_lines import read_command_line as read_command_line

    from .folder import Folder as Folder
    from .line_effects import Effect as Effect, Reach as Reach, host_in as host_in
    from .named_places import places_in as places_in, plain_name as plain_name
    from .reach import reach_of as reach_of
    from .searching_programs import files_read as files_read, folders_listed as folders_listed
    from .text_patterns import (
        ANY as ANY,
        ONE as ONE,
        STAR as STAR,
        can_match as can_match,
        is_certain as is_certain,
        is_computed as is_computed,
    )
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "folder": ("Folder",),
            "line_effects": ("Effect", "Reach", "host_in"),
            "named_places": ("places_in", "plain_name"),
            "reach": ("reach_of",),
            "searching_programs": ("files_read", "folders_listed"),
            "text_patterns": ("ANY", "ONE", "STAR", "can_match", "is_certain", "is_computed"),
            ".command_lines": ("read_command_line",),
        },
    )
