"""What a session did to each file, all its operations folded into one diff.

Rule: the diff is exact or there is none. It is made of the texts where the log holds them whole, else of the hunks that
its results show, put together by their line numbers. Where neither says enough, only the steps are given.
"""

from __future__ import annotations

import datetime
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import Final, Literal, NamedTuple

import msgspec

from dragoman.logs.history.sessions import key_of
from dragoman.logs.history.tables import failure_of
from dragoman.model import events as ev, operations as op, outcomes as out
from dragoman.tools.workspace import difference, marked_lines, opcodes


class FileStep(msgspec.Struct):
    """One operation on a file."""

    event: str
    """The id of the call's event."""
    note: str
    diff: str | None = None
    added: int | None = 0
    removed: int | None = 0
    """As the client counted them, else as many as the diff shows; `None` where the log does not say."""


class FileStory(msgspec.Struct):
    """All that a session did to one file."""

    path: str
    kind: Literal["created", "modified", "deleted", "moved"] = "modified"
    steps: list[FileStep] = []
    whole: str | None = None
    """One unified diff of everything; `None` where the log does not say enough."""
    added: int | None = 0
    removed: int | None = 0
    was: str | None = None
    """Where it was before it was moved."""


def stories_of(events: Iterable[ev.AnyEvent]) -> list[FileStory]:
    """The files that were changed, in the order of their first change."""
    files: dict[str, _File] = {}
    for done in _in_time(events):
        _take(files, done)
    return [file.story() for file in files.values() if file.steps]


class _Done(NamedTuple):
    """An operation on a file that went well."""

    event: str
    operation: op.Operation
    outcome: out.Outcome
    folder: str | None
    """Where the session ran."""


def _in_time(events: Iterable[ev.AnyEvent]) -> list[_Done]:
    """What was done with files. Agents that ran at once are put in the order of time, each in that of its log."""
    called: dict[tuple[str, str, str], ev.ToolCalled] = {}
    folders: dict[tuple[str, str], str] = {}
    clocks: dict[tuple[str, str], datetime.datetime] = {}
    done: list[tuple[datetime.datetime, _Done]] = []
    read: dict[tuple[str, str, str], int] = {}
    for event in events:
        key = key_of(event)
        if event.time is not None:
            clocks[key] = max(event.time, clocks.get(key, _NO_TIME))
        if isinstance(event, ev.SessionStarted) and event.cwd is not None:
            folders[key] = event.cwd
        elif isinstance(event, ev.ToolCalled):
            called.setdefault((*key, event.call.id), event)
        elif (
            isinstance(event, ev.ToolReturned) and (call := called.pop((*key, event.result.call_id), None)) is not None
        ):
            for operation, outcome in zip(call.call.operations, event.result.outcomes, strict=False):
                if failure_of(outcome, event.result.native) is not None:
                    continue
                one = (clocks.get(key, _NO_TIME), _Done(call.id, operation, outcome, folders.get(key)))
                if isinstance(operation, op.Writing):
                    read = {place: at for place, at in read.items() if place[:2] != key}
                    done.append(one)
                elif isinstance(operation, op.ReadFile) and isinstance(outcome, out.FileOutcome) and _is_whole(outcome):
                    # Of a file that is read again and again, the last time before a change is what counts.
                    place = (*key, operation.path)
                    if place in read:
                        done[read[place]] = one
                    else:
                        read[place] = len(done)
                        done.append(one)
    return [one for _, one in sorted(done, key=lambda one: one[0])]


_NO_TIME: Final = datetime.datetime.min.replace(tzinfo=datetime.UTC)


def _is_whole(outcome: out.FileOutcome) -> bool:
    """Whether all of a file was read."""
    lines = outcome.text.count("\n") + (not outcome.text.endswith("\n"))
    return not outcome.truncated and outcome.first_line == 1 and outcome.total_lines in (lines, lines + 1)


def _take(files: dict[str, _File], done: _Done) -> None:
    operation, outcome = done.operation, done.outcome
    path = getattr(operation, "path", None)
    if isinstance(operation, op.ReadFile) and isinstance(outcome, out.FileOutcome):
        files.setdefault(_place(operation.path, done.folder), _File(operation.path)).read(outcome)
        return
    if isinstance(outcome, out.ChangesOutcome):
        changes = () if outcome.preview else outcome.changes
    else:
        changes = (out.Change(path, "modified"),) if isinstance(path, str) else ()
    for change in changes:
        if change.kind == "unchanged":
            continue
        place = _place(change.path, done.folder)
        is_its_own = isinstance(path, str) and _place(path, done.folder) == place
        file = files.setdefault(place, _File(change.path))
        file.changed(done.event, operation if is_its_own else None, change)
        if change.moved_to and (there := _place(change.moved_to, done.folder)) not in files:
            files[there] = files.pop(place)


def _place(path: str, folder: str | None) -> str:
    """A path by which a file is known: clients name one file from the root and from the folder they run in."""
    if not path or "\\" in path or path[1:2] == ":":
        return path
    return posixpath.normpath(posixpath.join(folder or "", path))


class _File:
    """One file while its changes are folded."""

    def __init__(self, path: str) -> None:
        self._path = self._first_path = path
        self.steps: list[FileStep] = []
        self._before: str | None = None
        """The text before the first change, where it is known."""
        self._text: str | None = None
        self._began_absent = self._is_gone = False
        self._hunks: _Hunks | None = _Hunks()

    def read(self, outcome: out.FileOutcome) -> None:
        if not self.steps:
            # How a read shows the end of the last line differs between clients, so it is taken to have one.
            self._before = self._text = outcome.text.removesuffix("\n") + "\n"

    def changed(self, event: str, operation: op.Operation | None, change: out.Change) -> None:
        """Takes up a change; `operation` is what made it, if that names this file."""
        if not self.steps and change.kind == "created":
            self._began_absent, self._before, self._text = True, "", ""
        text = self._text
        self._text = self._after(operation, change)
        if self._hunks is not None and (change.diff is None or not self._hunks.apply(change.diff)):
            self._hunks = None
        self._is_gone = change.kind == "deleted"
        if change.moved_to:
            self._path = change.moved_to
        moved = f" and moved to {change.moved_to}" if change.moved_to else ""
        diff, is_exact = change.diff, change.diff is not None
        if diff is None and None not in (text, self._text):
            absent = change.kind == "created"
            diff, is_exact = (
                _difference(self._path, None if absent else text, None if self._is_gone else self._text),
                True,
            )
        elif diff is None and operation is not None:
            diff, is_exact = _shown(operation, self._path, is_new=change.kind == "created")
        added, removed = _counted(diff) if is_exact and diff is not None else (None, None)
        self.steps.append(
            FileStep(
                event,
                f"{change.kind}{moved}",
                diff,
                added if change.added is None else change.added,
                removed if change.removed is None else change.removed,
            )
        )

    def _after(self, operation: op.Operation | None, change: out.Change) -> str | None:
        """The text after a change; `None` where it is not known."""
        if change.kind == "deleted":
            return ""
        if isinstance(operation, op.WriteFile):
            return operation.content
        if self._text is None:
            return None
        if change.diff is not None:
            text = _applied(self._text, change.diff)
            if text is not None:
                return text
            if _applied(self._text, change.diff, is_loose=True) is None:
                # What was read is not what was changed, perhaps since a command changed it in between.
                if not self.steps:
                    self._before = None
                return None
        return _edited(self._text, operation) if isinstance(operation, op.EditFile) else None

    def story(self) -> FileStory:
        kind: Literal["created", "modified", "deleted", "moved"]
        kind = "deleted" if self._is_gone else "created" if self._began_absent else "modified"
        was = self._first_path if self._path != self._first_path else None
        if kind == "modified" and was is not None:
            kind = "moved"
        whole: str | None = None
        if self._before is not None and self._text is not None:
            before, after = (None if self._began_absent else self._before), (None if self._is_gone else self._text)
            whole = _difference(self._path, before, after)
        elif self._hunks is not None:
            whole = self._hunks.unified(self._path)
        counts: list[tuple[int | None, int | None]]
        counts = [_counted(whole)] if whole is not None else [(step.added, step.removed) for step in self.steps]
        if whole and was is not None and kind == "moved":
            whole = whole.replace(f"--- {_named('a', self._path)}\n", f"--- {_named('a', was)}\n", 1)
        added, removed = (_sum(one) for one in zip(*counts, strict=True))
        return FileStory(self._path, kind, self.steps, whole, added, removed, was)


def _edited(text: str, operation: op.EditFile) -> str | None:
    """A text after edits; `None` where it takes more than the log says to know it."""
    for edit in operation.edits:
        count = text.count(edit.old) if edit.old else 0
        if not count or edit.anchors or edit.at_end or (count > 1 and not edit.everywhere):
            return None
        text = text.replace(edit.old or "", edit.new)
    return text


def _sum(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else sum(filter(None, known))


def _difference(path: str, before: str | None, after: str | None) -> str | None:
    old, new = (None if one is None else one.encode("utf-8", "surrogatepass") for one in (before, after))
    return difference(path, old, new).get("diff")


def _without_space(line: str) -> str:
    return "".join(line.split())


def _named(side: str, path: str) -> str:
    return f"{side}/{path.lstrip('/')}"


def _applied(text: str, diff: str, *, is_loose: bool = False) -> str | None:
    """A text after a diff of it; `None` if it is of another text. `is_loose`: white space may differ.

    Claude Code 2.1 shows tabs at the beginning of a line as spaces in `structuredPatch`.
    """
    same = _without_space if is_loose else str
    old = text.split("\n")
    ends = old[-1] == ""
    old = old[:-1] if ends else old
    new: list[str] = []
    at, mark_before = 0, ""
    for mark, line in marked_lines(diff):
        if mark == "@":
            head = _HEAD.match(line)
            if head is None:
                return None
            first = int(head[1]) - (head[2] != "0")
            if not at <= first <= len(old):
                return None
            new += old[at:first]
            at = first
        elif mark == "+":
            new.append(line[1:])
        elif mark in ("-", " ", ""):
            if at >= len(old) or same(old[at]) != same(line[1:]):
                return None
            new += old[at : at + (mark != "-")]
            at += 1
        elif mark == "\\":
            ends = ends and mark_before == "-"
        elif mark != "names":
            return None
        if mark == "+" and at >= len(old):
            ends = True
        mark_before = mark
    new += old[at:]
    return "\n".join(new) + ("\n" if ends and new else "")


def _counted(diff: str) -> tuple[int, int]:
    marks = [mark for mark, _ in marked_lines(diff)]
    return marks.count("+"), marks.count("-")


def _shown(operation: op.Operation, path: str, *, is_new: bool) -> tuple[str | None, bool]:
    """What an operation itself says of its change, and whether that is all of it."""
    match operation:
        case op.WriteFile():
            if is_new:
                return _difference(path, None, operation.content), True
            return "\n".join(f"+{line}" for line in operation.content.splitlines()), False  # over what is not known
        case op.EditFile():
            pieces = [_difference(path, edit.old or "", edit.new) for edit in operation.edits]
            # Where in the file the edit was is not known: the heads with line numbers would be wrong.
            lines = [line for one in pieces for mark, line in marked_lines(one or "") if mark in "+- "]
            is_once = all(
                edit.old and not edit.anchors and not edit.everywhere and edit.expected in (None, 1)
                for edit in operation.edits
            )
            return "\n".join(lines) or None, is_once
        case op.InsertText():
            return "\n".join(f"+{line}" for line in operation.text.splitlines()), True
        case op.ReplaceLines():
            return "\n".join(f"+{line}" for line in operation.text.splitlines()), False
    return None, False


_HEAD: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


_NO_END: Final = "\n\\ No newline at end of file"
"""What a line without an end has after it."""
_Line = tuple[str, int, int, str | None]
"""A line of a diff: its mark, its number before and after, and its text."""


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
        shift = at = 0
        end: Callable[[], None] = lambda: None  # noqa: E731 - says that the line before has no end
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
                end = partial(self._end, at)
                at, shift = at + 1, shift + 1
            elif mark in ("-", " ", ""):
                self._lines_up_to(at + 1)
                number, known = self._lines[at]
                if known is not None and known.removesuffix(_NO_END) != line[1:]:
                    return False
                text = line[1:] if known is None else known
                if mark == "-":
                    del self._lines[at]
                    shift -= 1
                    if number is not None:
                        self._cut[number] = text
                    end = partial(self._end_cut, number)
                else:
                    self._lines[at] = (number, text)
                    end = partial(self._end, at)
                    at += 1
            elif mark == "\\":
                end()
            else:
                return False
        return True

    def _end(self, at: int) -> None:
        number, text = self._lines[at]
        self._lines[at] = number, f"{(text or '').removesuffix(_NO_END)}{_NO_END}"

    def _end_cut(self, number: int | None) -> None:
        if number is not None:
            self._cut[number] = f"{self._cut[number].removesuffix(_NO_END)}{_NO_END}"

    def _lines_up_to(self, count: int) -> None:
        while len(self._lines) < count:
            self._lines.append((self._next, None))
            self._next += 1

    def unified(self, path: str) -> str | None:
        """All changes as one diff, with the lines around them that are known."""
        marked = list(_settled(self._marked()))
        changed = [place for place, (mark, _, _, _) in enumerate(marked) if mark != " "]
        if not changed:
            return ""
        wanted = {near for place in changed for near in range(place - 3, place + 4) if 0 <= near < len(marked)}
        kept = sorted(place for place in wanted if marked[place][3] is not None)
        parts = [f"--- {_named('a', path)}", f"+++ {_named('b', path)}"]
        for hunk in _runs(kept):
            lines = [marked[place] for place in hunk]
            old = [one for one in lines if one[0] != "+"]
            new = [one for one in lines if one[0] != "-"]
            first_old = old[0][1] if old else lines[0][1] - 1
            first_new = new[0][2] if new else lines[0][2] - 1
            parts.append(f"@@ -{first_old},{len(old)} +{first_new},{len(new)} @@")
            parts += [f"{mark}{text}" for mark, _, _, text in lines]
        return "\n".join(parts) + "\n"

    def _marked(self) -> Iterator[_Line]:
        """Every line."""
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


def _settled(marked: Iterable[_Line]) -> Iterator[_Line]:
    """The same with what was taken out before what took its place; lines that were put back are as they were."""
    for is_changed, lines in groupby(marked, key=lambda one: one[0] != " "):
        run = list(lines)
        if not is_changed:
            yield from run
            continue
        old, new = run[0][1], run[0][2]
        cut, put = ([one[3] or "" for one in run if one[0] == mark] for mark in "-+")
        same = 0
        for first, last, begin, end in (*opcodes(cut, put), (len(cut), len(cut), len(put), len(put))):
            shift = begin - first
            yield from ((" ", old + at, new + at + shift, cut[at]) for at in range(same, first))
            yield from (("-", old + at, new + begin, cut[at]) for at in range(first, last))
            yield from (("+", old + last, new + at, put[at]) for at in range(begin, end))
            same = last


def _runs(places: list[int]) -> Iterator[list[int]]:
    run: list[int] = []
    for place in places:
        if run and place != run[-1] + 1:
            yield run
            run = []
        run.append(place)
    if run:
        yield run
