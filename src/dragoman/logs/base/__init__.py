"""What every reader of logs is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .likeness import Likeness as Likeness
    from .line_file import LineFile as LineFile
    from .raw_bytes import Original as Original
    from .reading import confidences as confidences
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "likeness": ("Likeness",),
            "line_file": ("LineFile",),
            "raw_bytes": ("Original",),
            "reading": ("confidences",),
        },
    )
