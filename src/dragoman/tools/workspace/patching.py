"""Patches applied to a file: runs of whole lines, found one after the other, by the rules of the client they are of.

Rule: all hunks are looked for in the file as it was, from where the one before ended; nothing is written unless all
are found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple, NoReturn

from msgspec.structs import replace

from dragoman.errors import ToolError
from dragoman.model.edit_rules import Fold, PatchRules
from dragoman.model.line_pairs import kept_lines
from dragoman.model.operations import Edit

from .file_lines import reindented
from .folding import BLANKS, TYPOGRAPHY, WIDE_BLANKS, distance, folded_text, strip
from .text import binary, decode, encode, encoded, most_common_end, printable, with_mark, without_second_mark

_WHITE_SPACE: Final = " \t\n\v\f\r\u0085" + WIDE_BLANKS
"""White space as Unicode has it. Python's has four separators of ASCII more."""
PASSES: Final[tuple[Callable[[str], str], ...]] = (
    str,
    lambda line: line.rstrip(_WHITE_SPACE),
    lambda line: line.strip(_WHITE_SPACE),
    lambda line: line.strip(_WHITE_SPACE).translate(TYPOGRAPHY),
)
"""From exact to forgiving: the first that finds a run of lines, anywhere in the rest of the file, is the one that
counts. (What a patch without rules overlooks.)"""

_LINE_ENDS = re.compile(r"\r\n|\n|\r")


class _Change(NamedTuple):
    """A run of the file's lines, and the lines that take its place."""

    start: int
    size: int
    new: list[str]
    after_all: bool = False
    """Whether what others put in the same place goes before it."""


def patched(data: bytes, edits: Sequence[Edit], path: str, rules: PatchRules) -> tuple[bytes, int]:
    """The file after all hunks, and how many there were."""
    decoded = decode(data)
    if decoded is None:
        raise binary(path, data)
    text, encoding = with_mark(*decoded) if rules.byte_order_mark == "text" else decoded
    unified = rules.line_ends in ("any", "first_five", "most")
    crlf = unified and "\r\n" in text
    written = "\n"
    if rules.line_ends == "most":
        written = most_common_end(text)
    elif crlf:
        first = re.findall("\r?\n", text)[:5] if rules.line_ends == "first_five" else ["\r\n"]
        written = "\r\n" if 2 * first.count("\r\n") > len(first) else "\n"
    if crlf:
        text = text.replace("\r\n", "\n")
    if rules.line_ends == "most":
        text = text.replace("\r", "\n")
    if rules.lone_returns == "refuse" and "\r" in text:
        raise ToolError(
            f'"{path}" has a CR that ends no line, and patches are of whole lines: edit it in another way',
            details={"reason": "no_match", "path": path},
        )
    ended = text.endswith("\n")
    lines, ends = _split(text, rules)
    newline = ends[0] if ends and ends[0] else "\n"
    changes: list[_Change] = []
    cursor = 0
    for number, edit in enumerate(edits, 1):
        encoded(edit.new)
        task = _Task(lines, edit, path, f"edit {number} of {len(edits)}: " if len(edits) > 1 else "", rules)
        found, cursor = task.changes(cursor)
        if rules.at_end == "preferred" and changes and found and found[0].start < changes[-1].start + changes[-1].size:
            task.fail("its lines are above those of the edit before, or among them", "no_match")
        changes += found
    for change in sorted(changes, key=lambda change: (change.start, change.after_all))[::-1]:
        _replace(lines, ends, change, newline)
    if (rules.blank_end or (rules.restores_end and ended)) and lines and not lines[-1]:
        lines.pop()
        ends.pop()
    if rules.restores_end and ends:
        ends[-1] = newline if ended else ""
    if ends and not ends[-1] and rules.ends_file:
        ends[-1] = newline
    if rules.last_empty:
        ends = ["\n"] * (len(lines) - 1) + [""] if lines else []
    joined = "".join([line + end for line, end in zip(lines, ends, strict=True)])
    if unified:
        joined = joined.replace("\r\n", "\n").replace("\n", written)
    after = encode(without_second_mark(joined, encoding, rules.byte_order_mark), encoding)
    if after == data and rules.no_change == "refuse":
        task.fail("the old and the new text are the same, so nothing would change", "no_change")
    return after, len(edits)


def _split(text: str, rules: PatchRules) -> tuple[list[str], list[str]]:
    """A text's lines and their ends; the last end is empty where the file has none there."""
    if rules.line_ends != "per_line":
        lines = text.split("\n")
        ends = ["\n"] * (len(lines) - 1) + [""]
    else:
        lines, ends, position = [], [], 0
        for found in _LINE_ENDS.finditer(text):
            lines.append(text[position : found.start()])
            ends.append(found[0])
            position = found.end()
        lines.append(text[position:])
        ends.append("")
    if lines[-1] == "" and not rules.last_empty:
        lines.pop()
        ends.pop()
    return lines, ends


def _replace(lines: list[str], ends: list[str], change: _Change, newline: str) -> None:
    """Puts new lines in the place of some."""
    start, stop = change.start, change.start + change.size
    if start >= len(lines) and ends and not ends[-1]:
        ends[-1] = newline  # what follows the last line needs one
    lines[start:stop] = change.new
    ends[start:stop] = [newline] * len(change.new)


class _Task:
    """One hunk of a patch."""

    def __init__(self, lines: Sequence[str], edit: Edit, path: str, where: str, rules: PatchRules) -> None:
        self.lines, self.edit, self.path, self.where, self.rules = lines, edit, path, where, rules
        kept = rules.anchors in ("as_written", "as_written_first")
        blanks = BLANKS if rules.white_space == "javascript" else _WHITE_SPACE
        self.anchors: Sequence[str] = edit.anchors if kept else trimmed_anchors(edit, blanks)
        if rules.anchors == "any_line":
            self.anchors = [anchor for anchor in edit.anchors if anchor]
        if rules.anchors == "trimmed_both":
            self.anchors = [strip(anchor) for anchor in self.anchors]

    def changes(self, cursor: int) -> tuple[list[_Change], int]:
        """Where it goes, looked for from line `cursor` (from 0) on, and where the next one is looked for."""
        edit = self.edit
        for anchor in self.anchors:
            if not anchor and cursor and self.rules.anchors == "as_written_first":
                self.fail('"@@ " without the line it is looked for after', "no_match")
            at = self._anchor(anchor, cursor)
            if at is not None:
                cursor = at + 1
            elif self.rules.missing_anchors == "refuse":
                self._not_found([anchor], cursor, "the line it is looked for after")
        new = self._lines_of(edit.new)
        if edit.old is None:
            insertion = self._insertion(new, cursor)
            return [insertion], insertion.start if self.rules.insert == "cursor_or_end" else cursor
        old = self._lines_of(edit.old)
        size = len(old)
        at = self._place(old, cursor)
        least = {"left_out": 1, "left_out_alone": 1, "left_out_after_others": 2}.get(self.rules.empty_last, size + 1)
        if self.rules.empty_last == "any_line" and old[-1] == "" and size > 1 and self._shows_last(old, new):
            # In droid 0.215.0 an empty line of the patch matches any line; one that begins with the space of a kept
            # line does so only if no empty line is found.
            there = self._place(old[:-1], cursor, size)
            if there is not None and there + size > len(self.lines):
                there = None
            empty = not all(map(strip, old[:-1]))  # other empty lines of it may stand for any then, too
            if at is None and not (empty and there is not None):
                at, old, new = there, old[:-1], new[:-1]
            elif at != there or (empty and self.edit.at_end):
                self.fail("the empty line that ends it may stand for any line: leave it out", "no_match")
        elif at is None and old[-1] == "" and self.rules.empty_last == "left_out_alone" and any(map(strip, old)):
            at = self._place_at_end(old, new, cursor)
            old, new = old[:-1], new[:-1] if new and new[-1] == "" else new
            size -= 1
        elif at is None and old[-1] == "" and size >= least:
            # A patch may show the end of the last line as an empty line.
            old, new = old[:-1], new[:-1] if new and new[-1] == "" else new
            at = self._place(old, cursor)
            size -= 1
        if at is None:
            self._not_found(old, cursor, "the lines to replace")
        if not old:
            return [_Change(at, 0, new, after_all=self.rules.insert == "anchor")], at
        given = new
        if self.rules.reindents:
            lines = reindented(old, self.lines[at : at + len(old)], new)
            if lines is None:
                self.fail("the lines to replace are indented otherwise in the file, in more than one way", "no_match")
            new = lines
        if not self.rules.keeps_context:
            return [_Change(at, len(old), new)], at + size
        kept = kept_lines(old, given) if edit.kept is None else edit.kept
        if self.rules.reindents and len(new) > len(old):  # then an empty line is written as the patch has it
            kept = tuple(pair for pair in kept if pair[0] >= len(old) or self._is_spelled(old[pair[0]], at + pair[0]))
        changes: list[_Change] = []
        place = new_place = 0
        # Lines that stay are not touched, so two hunks may put lines in the same place, in their order.
        for one, other in (*(pair for pair in kept if pair[0] < len(old) and pair[1] < len(new)), (len(old), len(new))):
            if one > place or other > new_place:
                changes.append(_Change(at + place, one - place, new[new_place:other]))
            place, new_place = one + 1, other + 1
        return changes, at + size

    def _lines_of(self, text: str) -> list[str]:
        return (
            whole_lines(text) if self.rules.returns == "ends" else text.removesuffix("\n").split("\n") if text else []
        )

    def _is_spelled(self, line: str, at: int) -> bool:
        """Whether a line has text, or is in the file with the same blanks."""
        return bool(strip(line)) or self.lines[at] == line

    def _shows_last(self, old: Sequence[str], new: Sequence[str]) -> bool:
        kept = kept_lines(old, new) if self.edit.kept is None else self.edit.kept
        return (len(old) - 1, len(new) - 1) in kept

    def _anchor(self, anchor: str, cursor: int) -> int | None:
        if self.rules.missing_anchors == "refuse":
            return _found(self.lines, [anchor], cursor, self.rules)
        if self.rules.anchors == "as_written_first":
            return self._anchor_below(anchor, cursor)
        # Cline looks for the first line that is the anchor, trimmed or not (3.0.65).
        strict, loose = self.rules.passes[0], self.rules.passes[-1]
        wanted = folded_text(strip(anchor), strict)
        rest = enumerate(self.lines[cursor:], cursor)
        return next((at for at, one in rest if wanted in (folded_text(one, strict), folded_text(one, loose))), None)

    def _anchor_below(self, anchor: str, cursor: int) -> int | None:
        """droid (0.215.0) looks for it as written, then trimmed; not where it has passed it already."""
        for folds in (self.rules.passes[0], self.rules.passes[-1]) if strip(anchor) else ():
            wanted = folded_text(anchor, folds)
            there = [folded_text(line, folds) for line in self.lines]
            if wanted in there and there.index(wanted) >= cursor:
                return there.index(wanted)
        return None

    def _insertion(self, new: list[str], cursor: int) -> _Change:
        to_end = self.rules.insert == "end" or (self.rules.insert == "anchor" and not self.anchors)
        end = len(self.lines) - (self.rules.blank_end and self.lines[-1:] == [""])
        if self.rules.insert == "cursor_or_end" and self.edit.at_end:
            cursor = len(self.lines)
        # Lines that another hunk puts there, below lines that it shows, Codex 0.166.0 puts after them, Copilot CLI
        # 1.0.102 before.
        return _Change(end if to_end else cursor, 0, new, after_all=self.rules.insert == "anchor")

    def _place(self, old: Sequence[str], cursor: int, size: int | None = None) -> int | None:
        """Where lines are that stand for `size` of the file's (without it, for as many)."""
        if not old:
            return cursor
        if not self.edit.at_end or self.rules.at_end == "ignored":
            return _found(self.lines, old, cursor, self.rules)
        last = len(self.lines) - (len(old) if size is None else size)
        if self.rules.at_end == "preferred":
            at = _found(self.lines, old, max(0, last), self.rules)
            return _found(self.lines, old, cursor, self.rules) if at is None else at
        if last < 0 or (last < cursor and self.rules.at_end == "after_cursor"):
            return None
        return _found(self.lines, old, last, self.rules)

    def _place_at_end(self, old: Sequence[str], new: Sequence[str], cursor: int) -> int | None:
        """Where the last lines of the file are `old` without the empty line that ends it, and nothing else is empty.

        Copilot CLI (1.0.102) overlooks all empty lines then, and letters as in its last pass: that comes to the same
        where there are no others.
        """
        there = self._place(old[:-1], cursor)
        if there is None:
            return None
        loosest = _found(self.lines, old[:-1], cursor, replace(self.rules, passes=self.rules.passes[-1:]))
        texts = new[:-1] if len(new) >= len(old) and new[-1] == "" else new
        at_end = there + len(old) > len(self.lines) and not self.edit.at_end
        if not at_end or loosest != there or not all(map(strip, (*old[:-1], *texts))):
            self.fail("its empty last line is not in the file: leave it out", "no_match")
        return there

    def fail(self, message: str, reason: str) -> NoReturn:
        raise ToolError(
            f'{self.where}{message} ("{self.path}" is unchanged)', details={"reason": reason, "path": self.path}
        )

    def _not_found(self, old: Sequence[str], cursor: int, what: str) -> NoReturn:
        shown = printable("\n".join(old[:5]) + ("\n…" if len(old) > 5 else ""))
        hint = ""
        if cursor and (earlier := _found(self.lines, old, 0, self.rules)) is not None:
            hint = f"; line {earlier + 1} has it, but this edit is looked for from line {cursor + 1} on"
        elif self.edit.at_end and _found(self.lines, old, 0, self.rules) is not None:
            hint = "; they are there, but not at the end of the file"
        self.fail(f"{what} cannot be found{hint}:\n{shown}", "no_match")


def _found(lines: Sequence[str], old: Sequence[str], cursor: int, rules: PatchRules) -> int | None:
    """The first place of a run of lines from `cursor` on, by the strictest way of reading that finds one."""
    for folds in rules.passes:
        fold = (_SIMPLE if rules.white_space == "unicode" else {}).get(folds) or partial(folded_text, folds=folds)
        wanted = [fold(line) for line in old]
        there = [fold(line) for line in lines[cursor:]]
        for at in range(len(there) - len(wanted) + 1):
            if there[at] == wanted[0] and there[at : at + len(wanted)] == wanted:
                return at + cursor
    return _similar(lines, old, cursor, rules) if rules.similarity else None


_SIMPLE: Final[dict[tuple[Fold, ...], Callable[[str], str]]] = {
    (): PASSES[0],
    ("right_trim",): PASSES[1],
    ("trim",): PASSES[2],
    ("trim", "typography"): PASSES[3],
}


def _similar(lines: Sequence[str], old: Sequence[str], cursor: int, rules: PatchRules) -> int | None:
    """The first place where as many lines are similar enough; at the end of the file it may have fewer of them."""
    wanted = folded_text("\n".join(old), rules.passes[0])
    for at in range(cursor, len(lines)):
        there = folded_text("\n".join(lines[at : at + len(old)]), rules.passes[0])
        longer = max(len(there), len(wanted))
        if len(there) * len(wanted) > _MOST_CELLS:
            alike = _equal_ends(there, wanted)
        else:
            alike = longer - distance(there, wanted)
        if longer == 0 or alike / longer >= rules.similarity:
            return at
    return None


_MOST_CELLS = 1_000_000
"""Where more letters would be compared with each other, only equal ones at both ends are counted (Cline 3.0.65)."""


def _equal_ends(one: str, other: str) -> int:
    before = _equal_beginning(one, other)
    return before + _equal_beginning(one[before:][::-1], other[before:][::-1])


def _equal_beginning(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def trimmed_anchors(edit: Edit, blanks: str = _WHITE_SPACE) -> Sequence[str]:
    """The anchors of an edit without the blanks at their ends, and without those that are nothing else."""
    return [trimmed for anchor in edit.anchors if (trimmed := anchor.rstrip(blanks))]


def whole_lines(text: str) -> list[str]:
    """A run of whole lines: each ends with "\\n", which the last may lack; "" is no line at all."""
    text = text.replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n") if text else []
