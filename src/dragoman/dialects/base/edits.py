"""Edits of a file as most clients say them: a text, and the text that takes its place."""

from __future__ import annotations

from typing import Final

from dragoman.model import operations as op, outcomes as out

OLD_TEXT: Final = "The exact text to replace, with enough around it to be unique."
NEW_TEXT: Final = "The text to put in its place."


def or_new_file(operation: op.EditFile) -> op.Operation:
    """The edit, or the file that nothing replaced by something makes where there is none yet."""
    edit = operation.edits[0]
    return operation if edit.old else op.WriteFile(operation.path, edit.new, overwrite=False)


def has_written(outcome: out.ChangesOutcome) -> bool:
    """Whether a file was written: also one that is as it was before, which clients tell like any other."""
    kind = outcome.changes[0].kind if outcome.changes else None
    return kind in ("created", "modified") or (kind == "unchanged" and not outcome.preview)
