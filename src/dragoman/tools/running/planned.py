"""What operations would do to files, worked out before anything is done, and exactly how a person can be shown it.

Rule: nothing is left out. The lines shown, put in place of those they replace, give the very bytes that would be
written; what no line can show (an encoding, line ends, binary content) is said beside them.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from dragoman.model import operations as op
from dragoman.tools.workspace.diff import Hunk, hunks, lines_of, opcodes
from dragoman.tools.workspace.text import decode

if TYPE_CHECKING:
    from dragoman.model.edit_rules import EditRules
    from dragoman.tools.workspace.transaction_plan import FileChange
    from dragoman.tools.workspace.workspace import Workspace

_DRAFTED: Final = (
    op.WriteFile,
    op.EditFile,
    op.InsertText,
    op.ReplaceLines,
    op.DeleteFile,
    op.MoveFile,
    op.EditNotebook,
)


def planned_changes(
    operations: Sequence[op.Operation], workspace: Workspace, rules: EditRules | None = None
) -> tuple[tuple[FileChange, ...] | None, ...]:
    """What each operation would do to files; `None` for one whose changes cannot be known before it is done.

    Operations see what earlier ones would do; `rules` are those of the vocabulary of the call. Raises `ToolError` when
    one of them would fail.
    """
    drafted = iter(workspace.plan((one for one in operations if isinstance(one, _DRAFTED)), rules=rules))
    found: list[tuple[FileChange, ...] | None] = []
    for one in operations:
        if isinstance(one, _DRAFTED):
            found.append((next(drafted),))
        elif isinstance(one, op.UndoEdit):
            found.append((workspace.plan_undo(one.path),))
        elif isinstance(one, op.RewriteCode) and not one.preview:
            found.append(_rewritten(one, workspace))
        else:
            found.append(None)
    return tuple(found)


def _rewritten(operation: op.RewriteCode, workspace: Workspace) -> tuple[FileChange, ...]:
    from dragoman.tools.code import rewrites
    from dragoman.tools.context import Context

    edits, _, _ = rewrites(operation, Context(workspace=workspace))
    return workspace.plan(edits)


# ── how it is shown ──────────────────────────────────────────────────────────


class ShownChange(NamedTuple):
    """A change of content: what changes beside its lines, and the lines. A line end is part of a line's text."""

    notes: tuple[str, ...]
    hunks: tuple[Hunk, ...]


class _Content(NamedTuple):
    """One side of a change, as lines."""

    text: str
    encoding: str | None
    """`None` for what is not text."""
    notes: tuple[str, ...] = ()


def shown_change(change: FileChange) -> ShownChange:
    """A change of a file, to be shown: line by line, whole, and with everything that no line shows."""
    before, after = change.before, change.after
    if change.change.kind == "moved":
        return ShownChange((), ())
    notes: list[str] = []
    old, new = _content(before, "It replaces"), _content(after, "It has")
    if before is None and change.change.kind in ("modified", "deleted"):
        notes.append("The content that is there now is not shown: it is too large, or a link.")
    if old.encoding is None and before is not None:
        # Two binary contents have no lines in common; what is written is shown, what it replaces is named.
        notes += old.notes
        old = _Content("", None)
    notes += new.notes
    notes += _encodings(old, new, before, after)
    old_text, new_text = old.text, new.text
    ends = [text.count("\n") for text in (old_text, new_text)]
    if sum(ends) and ends == [text.count("\r\n") for text in (old_text, new_text)]:
        notes.append("Lines end in CRLF.")
        old_text, new_text = (text.replace("\r\n", "\n") for text in (old_text, new_text))
    old_lines, new_lines = lines_of(old_text), lines_of(new_text)
    changed = list(opcodes(old_lines, new_lines))
    if after == b"" and change.change.kind == "created":
        notes.append("The file is empty.")
    return ShownChange(tuple(notes), tuple(hunks(old_lines, new_lines, changed)))


def _content(data: bytes | None, verb: str) -> _Content:
    if data is None:
        return _Content("", "utf-8")
    decoded = decode(data)
    if decoded is not None:
        text, encoding = decoded
        stray = any("\udc80" <= character <= "\udcff" for character in text) if not text.isascii() else False
        return _Content(text, encoding.name, (f"{verb} bytes that are not {encoding.name} text.",) if stray else ())
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _Content(_dump(data), None, (f"{verb} binary content: {len(data):,} bytes, {_kind(data)}.",))
    return _Content(text, "utf-8", (f"{verb} NUL characters: most programs take it for a binary file.",))


def _kind(data: bytes) -> str:
    from dragoman.tools.workspace.media import describe

    return describe(data)


def _encodings(old: _Content, new: _Content, before: bytes | None, after: bytes | None) -> list[str]:
    """What is to be known of the encodings: one that is not plain UTF-8, and any change."""
    if after is None or new.encoding is None:
        return []
    if before is not None and old.encoding is not None and old.encoding != new.encoding:
        return [f"The encoding changes from {_named(old.encoding)} to {_named(new.encoding)}."]
    return [] if new.encoding == "utf-8" else [f"The encoding is {_named(new.encoding)}."]


def _named(encoding: str) -> str:
    if encoding == "utf-8-sig":
        return "UTF-8 with a byte order mark"
    if encoding.startswith(("utf-16", "utf-32")):
        return f"{encoding} with a byte order mark"
    return codecs.lookup(encoding).name


def _dump(data: bytes) -> str:
    """Bytes as lines of sixteen, with their places."""
    rows = (data[place : place + 16] for place in range(0, len(data), 16))
    return "".join(f"{number * 16:08x}  {row.hex(' ')}\n" for number, row in enumerate(rows))
