"""Files: the workspace on disk or in memory, its transactions, and what text files are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .diff import marked_lines as marked_lines
    from .media import media_kind as media_kind
    from .transaction_plan import FileChange as FileChange
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "diff": ("marked_lines",),
            "media": ("media_kind",),
            "transaction_plan": ("FileChange",),
        },
    )
