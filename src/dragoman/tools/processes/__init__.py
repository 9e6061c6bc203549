"""Commands: starting, watching and ending processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .programs import find_program as find_program
    from .ripgrep import ripgrep_path as ripgrep_path
    from .supervisor import end_all as end_all, new_brand as new_brand
    from .threads import abandon as abandon, in_thread as in_thread
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "programs": ("find_program",),
            "ripgrep": ("ripgrep_path",),
            "supervisor": ("end_all", "new_brand"),
            "threads": ("abandon", "in_thread"),
        },
    )
