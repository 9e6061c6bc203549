"""What every reader of logs is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .context_windows import window_of as window_of
    from .line_file import LineFile as LineFile
    from .raw_bytes import Original as Original
    from .reading import confidences as confidences
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "context_windows": ("window_of",),
            "line_file": ("LineFile",),
            "raw_bytes": ("Original",),
            "reading": ("confidences",),
        },
    )
