"""Files: the workspace on disk or in memory, its transactions, and what text files are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .attachments import LARGEST_ATTACHMENT as LARGEST_ATTACHMENT, attachment as attachment
    from .diff import difference as difference, marked_lines as marked_lines, opcodes as opcodes
    from .edits import edited as edited
    from .journal import Journal as Journal
    from .line_marks import with_line_names as with_line_names
    from .media import measured as measured, media_kind as media_kind, picture_size as picture_size
    from .snapshot import Snapshot as Snapshot
    from .transaction_plan import FileChange as FileChange
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "attachments": ("LARGEST_ATTACHMENT", "attachment"),
            "diff": ("difference", "marked_lines", "opcodes"),
            "edits": ("edited",),
            "journal": ("Journal",),
            "line_marks": ("with_line_names",),
            "media": ("measured", "media_kind", "picture_size"),
            "snapshot": ("Snapshot",),
            "transaction_plan": ("FileChange",),
        },
    )
