"""Dialects that others add: written as data, drafted from captured tools, and checked by the laws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .by_path import (
        dialect_from_file as dialect_from_file,
        dialect_named as dialect_named,
        dialects_in as dialects_in,
        is_dialect_file as is_dialect_file,
    )
    from .laws import (
        DIALECT_NAME as DIALECT_NAME,
        Problem as Problem,
        check as check,
        spoken as spoken,
    )
    from .skeleton import Captured as Captured, captured_tools as captured_tools, drafted as drafted
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "by_path": ("dialect_from_file", "dialect_named", "dialects_in", "is_dialect_file"),
            "laws": ("DIALECT_NAME", "Problem", "check", "spoken"),
            "skeleton": ("Captured", "captured_tools", "drafted"),
        },
    )
