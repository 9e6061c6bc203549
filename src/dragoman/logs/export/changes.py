"""What a session did to each file, all its operations folded into one diff.

Rule: the diff is exact or there is none. It is made of the texts where the log holds them whole, else of the hunks that
its results show, put together by their line numbers. Where neither says enough, only the steps are given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

from dragoman.logs.history.tables import failure_of
from dragoman.model import events as ev, operations as op, outcomes as out
from dragoman.tools.workspace import difference, marked_lines


class FileStep(msgspec.Struct):
    """One operation on a file."""

    event: str
    """The id of the call's event."""
    note: str
    diff: str | None = None
    added: int = 0
    removed: int = 0
    """As the client counted them, else as many as the diff shows."""


class FileStory(msgspec.Struct):
    """All that a session did to one file."""

    path: str
    kind: Literal["created", "modified", "deleted"] = "modified"
    steps: list[FileStep] = []
    whole: str | None = None
    """One unified diff of everything; `None` where the log does not say enough."""
    added: int = 0
    removed: int = 0


def stories_of(events: Iterable[ev.AnyEvent]) -> list[FileStory]:
    """The files that were changed, in the order of their first change."""
    called: dict[str, ev.ToolCalled] = {}
    files: dict[str, _File] = {}
    for event in events:
        if isinstance(event, ev.ToolCalled):
            called.setdefault(event.call.id, event)
        elif isinstance(event, ev.ToolReturned) and (call := called.pop(event.result.call_id, None)) is not None:
            for operation, outcome in zip(call.call.operations, event.result.outcomes, strict=False):
                if failure_of(outcome, event.result.native) is None:
                    _take(files, call, operation, outcome)
    return [file.story() for file in files.values() if file.steps]


def _take(files: dict[str, _File], call: ev.ToolCalled, operation: op.Operation, outcome: out.Outcome) -> None:
    path = getattr(operation, "path", None)
    if isinstance(operation, op.ReadFile) and isinstance(outcome, out.FileOutcome):
        files.setdefault(operation.path, _File(operation.path)).read(outcome)
    elif isinstance(operation, op.Writing) and isinstance(outcome, out.ChangesOutcome) and not outcome.preview:
        for change in outcome.changes:
            if change.kind != "unchanged":
                files.setdefault(change.path, _File(change.path)).changed(call.id, operation, change)
    elif isinstance(operation, op.Writing) and isinstance(path, str):
        change = out.Change(path, "modified")
        files.setdefault(path, _File(path)).changed(call.id, operation, change)


class _File:
    """One file while its changes are folded."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.steps: list[FileStep] = []
        self._before: str | None = None
        """The text before the first change, where it is known."""
        self._text: str | None = None
        self._began_absent = self._is_gone = False
        self._hunks: _Hunks | None = _Hunks()

    def read(self, outcome: out.FileOutcome) -> None:
        lines = outcome.text.count("\n") + (not outcome.text.endswith("\n"))
        if self.steps or outcome.truncated or outcome.first_line != 1 or outcome.total_lines not in (lines, lines + 1):
            return
        # How a read shows the end of the last line differs between clients, so it is taken to have one.
        self._before = self._text = outcome.text.removesuffix("\n") + "\n"

    def changed(self, event: str, operation: op.Operation, change: out.Change) -> None:
        diff = change.diff or _shown(operation, self._path)
        if not self.steps and change.kind == "created":
            self._began_absent, self._before, self._text = True, "", ""
        self._text = self._after(operation, change)
        if self._hunks is not None and (change.diff is None or not self._hunks.apply(change.diff)):
            self._hunks = None
        self._is_gone = change.kind == "deleted"
        moved = f" to {change.moved_to}" if change.moved_to else ""
        added, removed = _counted(diff or "")
        added, removed = (
            shown if told is None else told for told, shown in ((change.added, added), (change.removed, removed))
        )
        self.steps.append(FileStep(event, f"{change.kind}{moved}", diff, added, removed))

    def _after(self, operation: op.Operation, change: out.Change) -> str | None:
        """The text after a change; `None` where it is not known."""
        if change.kind == "deleted":
            return ""
        if isinstance(operation, op.WriteFile) and operation.path == change.path:
            return operation.content
        if self._text is None or not isinstance(operation, op.EditFile) or operation.path != change.path:
            return None
        text = self._text
        for edit in operation.edits:
            # Anything but one plain place is for the hunks of the result to say.
            if not edit.old or edit.anchors or edit.at_end or text.count(edit.old) != 1:
                return None
            text = text.replace(edit.old, edit.new)
        return text

    def story(self) -> FileStory:
        kind: Literal["created", "modified", "deleted"]
        kind = "deleted" if self._is_gone else "created" if self._began_absent else "modified"
        whole: str | None = None
        if self._before is not None and self._text is not None:
            before = None if self._began_absent else self._before.encode("utf-8", "surrogatepass")
            after = None if self._is_gone else self._text.encode("utf-8", "surrogatepass")
            whole = difference(self._path, before, after).get("diff")
        elif self._hunks is not None:
            whole = self._hunks.unified(self._path)
        if whole is not None:
            added, removed = _counted(whole)
        else:
            added, removed = sum(step.added for step in self.steps), sum(step.removed for step in self.steps)
        return FileStory(self._path, kind, self.steps, whole, added, removed)


def _counted(diff: str) -> tuple[int, int]:
    marks = [mark for mark, _ in marked_lines(diff)]
    return marks.count("+"), marks.count("-")


def _shown(operation: op.Operation, path: str) -> str | None:
    """What an operation itself says of its change, where the result does not."""
    match operation:
        case op.WriteFile():
            return difference(path, None, operation.content.encode("utf-8", "surrogatepass")).get("diff")
        case op.EditFile():
            pieces = [
                difference(
                    path, (edit.old or "").encode("utf-8", "surrogatepass"), edit.new.encode("utf-8", "surrogatepass")
                )
                for edit in operation.edits
            ]
            # Where in the file the edit was is not known: the heads with line numbers would be wrong.
            lines = [line for one in pieces for mark, line in marked_lines(one.get("diff") or "") if mark in "+- "]
            return "\n".join(lines) or None
        case op.InsertText() | op.ReplaceLines():
            return "\n".join(f"+{line}" for line in operation.text.splitlines())
    return None


_HEAD: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


class _Hunks:
    """A file of which only the lines around its changes are known: hunks are put together by their line numbers.

    A line that is there is (number before all changes, text), either of which may be unknown; lines beyond the last one
    are all as they were.
    """

    def __init__(self) -> None:
        self._lines: list[tuple[int | None, str | None]] = []
        self._next = 1
        self._cut: dict[int, str] = {}
        """Lines that are gone, by their number before all changes."""

    def apply(self, diff: str) -> bool:
        """Takes up a diff of the file as it now is; false when it does not fit, and then nothing is known any more."""
        shift = 0
        at = 0
        for mark, line in marked_lines(diff):
            if mark == "names":
                continue
            if mark == "@":
                head = _HEAD.match(line)
                if head is None:
                    return False
                count = 1 if head[2] is None else int(head[2])
                at = int(head[1]) - 1 + (count == 0) + shift
                if at < 0:
                    return False
            elif mark == "+":
                self._lines_up_to(at)
                self._lines.insert(at, (None, line[1:]))
                at, shift = at + 1, shift + 1
            elif mark in ("-", " ", ""):
                self._lines_up_to(at + 1)
                number, known = self._lines[at]
                if known is not None and known != line[1:]:
                    return False
                if mark == "-":
                    del self._lines[at]
                    shift -= 1
                    if number is not None:
                        self._cut[number] = line[1:]
                else:
                    self._lines[at] = (number, line[1:])
                    at += 1
            elif mark != "\\":
                return False
        return True

    def _lines_up_to(self, count: int) -> None:
        while len(self._lines) < count:
            self._lines.append((self._next, None))
            self._next += 1

    def unified(self, path: str) -> str | None:
        """All changes as one diff, with the lines around them that are known."""
        marked = list(self._marked())
        changed = [place for place, (mark, _, _, _) in enumerate(marked) if mark != " "]
        if not changed:
            return ""
        wanted = {near for place in changed for near in range(place - 3, place + 4) if 0 <= near < len(marked)}
        kept = sorted(place for place in wanted if marked[place][3] is not None)
        parts = [f"--- a/{path}", f"+++ b/{path}"]
        for hunk in _runs(kept):
            lines = [marked[place] for place in hunk]
            old = [one for one in lines if one[0] != "+"]
            new = [one for one in lines if one[0] != "-"]
            first_old = old[0][1] if old else lines[0][1] - 1
            first_new = new[0][2] if new else lines[0][2] - 1
            parts.append(f"@@ -{first_old},{len(old)} +{first_new},{len(new)} @@")
            parts += [f"{mark}{text}" for mark, _, _, text in lines]
        return "\n".join(parts) + "\n"

    def _marked(self) -> Iterator[tuple[str, int, int, str | None]]:
        """Every line: its mark, its number before and after, and its text."""
        old = new = 1
        for number, text in self._lines:
            if number is not None:
                while old < number:
                    yield "-", old, new, self._cut.get(old)
                    old += 1
                yield " ", old, new, text
                old, new = old + 1, new + 1
            else:
                yield "+", old, new, text
                new += 1
        while old < self._next:
            yield "-", old, new, self._cut.get(old)
            old += 1


def _runs(places: list[int]) -> Iterator[list[int]]:
    run: list[int] = []
    for place in places:
        if run and place != run[-1] + 1:
            yield run
            run = []
        run.append(place)
    if run:
        yield run
