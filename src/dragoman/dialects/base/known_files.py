"""Files whose whole text a session has shown, so that a change of part of a line can be said as one of whole lines.

Rule: a text is known only while nothing can have changed it. A command may change any file, so after one nothing is.
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.model import operations as op, outcomes as out


class KnownFiles:
    """The files of a session that are known, by their paths."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._changed: dict[str, str] = {}
        """What files will be if the change of them that was begun succeeds."""

    def fork(self) -> KnownFiles:
        """A copy: both go on from here independently."""
        new = KnownFiles()
        new._texts, new._changed = {**self._texts}, {**self._changed}
        return new

    def in_whole_lines(self, asked: op.EditFile) -> op.EditFile | None:
        """The same change in whole lines, each found once in the file; `None` when the file is not known."""
        known = self._lines_changed(asked)
        return None if known is None else replace(asked, edits=known[0])

    def _lines_changed(self, asked: op.EditFile) -> tuple[tuple[op.Edit, ...], str] | None:
        """The edits in whole lines, and the text after them."""
        text = self._texts.get(asked.path)
        if text is None:
            return None
        edits: list[op.Edit] = []
        for edit in asked.edits:
            if not edit.old or edit.whole_lines or edit.anchors or edit.at_end or text.count(edit.old) != 1:
                return None
            start = text.index(edit.old)
            first, last = _lines_around(text, start, start + len(edit.old))
            changed = text[first:start] + edit.new + text[start + len(edit.old) : last]
            if not text[first:last].endswith("\n") or not changed.endswith("\n"):
                return None  # a patch ends every line
            if text.count(text[first:last]) != 1:
                return None
            edits.append(op.Edit(text[first:last], changed, whole_lines=True))
            text = text[:first] + changed + text[last:]
        return tuple(edits), text

    def begin(self, operation: op.Operation) -> None:
        """Something is done whose outcome is not known yet."""
        if isinstance(operation, op.Reading | op.Searching):
            return
        path = getattr(operation, "path", None)
        if not isinstance(operation, op.Writing) or not isinstance(path, str):
            self._texts.clear()
            self._changed.clear()
            return
        known = self._lines_changed(operation) if isinstance(operation, op.EditFile) else None
        for changed in (path, operation.to if isinstance(operation, op.MoveFile) else path):
            self._texts.pop(changed, None)
            self._changed.pop(changed, None)
        if known is not None:
            self._changed[path] = known[1]

    def end(self, operation: op.Operation, outcome: out.Outcome) -> None:
        """What was done gave this."""
        match operation, outcome:
            case op.ReadFile(first_line=None | 1, last_line=None), out.FileOutcome(truncated=False, first_line=1):
                self._texts[operation.path] = outcome.text
            case op.WriteFile(), out.ChangesOutcome(preview=False):
                self._texts[operation.path] = operation.content
            case op.EditFile(), out.ChangesOutcome(preview=False) if operation.path in self._changed:
                self._texts[operation.path] = self._changed.pop(operation.path)


def _lines_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The whole lines that hold a part of a text, and as many before them as make the run unique in it."""
    first = text.rfind("\n", 0, start) + 1
    last = end if end > first and text[end - 1] == "\n" else text.find("\n", end) + 1 or len(text)
    while first and text.count(text[first:last]) > 1:
        first = text.rfind("\n", 0, first - 1) + 1
    return first, last
