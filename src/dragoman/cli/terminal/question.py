"""What a person is shown before a call may run: everything that will happen, made from the exact operation.

Rule: each byte that would be written or executed, and each argument that changes the effect, is shown, or folded away
where a key shows it. No line is classified by how its text begins: text of a call stands behind a mark of ours on every
row, so it cannot pass for a question, a field or another line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from posixpath import join, normpath
from string import Formatter
from typing import Any, Final, NamedTuple

import msgspec

from dragoman import model
from dragoman.engine import Question
from dragoman.errors import DragomanError
from dragoman.model import operations as op
from dragoman.model.effects import fields_of, stated
from dragoman.tools import Workspace
from dragoman.tools.running import planned_changes, shown_change
from dragoman.tools.workspace import FileChange

from .call_lines import said_of_operation
from .visible import one_line, visible, wrapped

MOST_ROWS: Final = 40
"""Rows of a question that are shown at once; the middle of more is folded away."""
_SHORT: Final = 120
"""Characters of a text that stand beside its name; a longer one, or one of several lines, stands below it."""


class Line(NamedTuple):
    """A line of a question. `mark` says what the text is: `+`, `-` and ` ` of a change, `| ` of a text, "" our own."""

    mark: str
    text: str
    style: str | None = None


class Section(NamedTuple):
    """What one operation would do."""

    head: str
    lines: tuple[Line, ...]


class Shown(NamedTuple):
    """A whole question, before it is fitted to a terminal."""

    sections: tuple[Section, ...]
    notes: tuple[Line, ...]


# ── what there is to show ────────────────────────────────────────────────────


def shown_question(question: Question, workspace: Workspace, *, known_sandbox: bool = False) -> Shown:
    """Everything a call would do, as far as it can be known before.

    A sandbox that the user knows from an earlier question is only named.
    """
    written_out: Counter[str] = Counter()
    operations = question.call.operations
    sections: list[Section] = []
    changes, problem = _planned(question, workspace)
    for number, operation in enumerate(operations):
        sections.append(_section(operation, changes[number], workspace, written_out))
    notes: list[Line] = []
    if problem is not None:
        notes.append(Line("", one_line(f"This would fail now: {problem}", written_out), "bad"))
    if question.sandbox is not None:
        confined = question.sandbox.lower().partition(" ")[0] != "none"
        name = question.sandbox.partition(" ")[0] if known_sandbox and confined else question.sandbox
        notes.append(Line("", one_line(f"sandbox: {name}", written_out), "quiet" if confined else "warning"))
    if question.call.unmapped:
        notes += _field("not used", question.call.unmapped, written_out, "quiet")
    notes += _changed_definitions(question, written_out)
    if question.stated_rule is not None:
        notes.append(Line("", one_line(f"asked because of: {question.stated_rule}", written_out), "quiet"))
    if written_out:
        listed = ", ".join(f"{said} ({count:,} times)" if count > 1 else said for said, count in written_out.items())
        notes.append(Line("", f"Characters that cannot be seen are written out: {listed}", "warning"))
    return Shown(tuple(sections), tuple(notes))


def _planned(question: Question, workspace: Workspace) -> tuple[list[tuple[FileChange, ...] | None], str | None]:
    """What each operation would do to files, where that is known; and why they would fail, if they would."""
    operations = question.call.operations
    changes: list[tuple[FileChange, ...] | None] = [None] * len(operations)
    ours = [number for number, standard in enumerate(question.standard) if standard]
    try:
        for number, found in zip(
            ours,
            planned_changes([operations[number] for number in ours], workspace, question.edit_rules),
            strict=True,
        ):
            changes[number] = found
    except DragomanError as error:
        return [None] * len(operations), str(error)
    return changes, None


_IN_DIFF: Final[dict[type[op.Operation], tuple[str, ...]]] = {
    op.WriteFile: ("content",),
    op.EditFile: ("edits",),
    op.InsertText: ("text",),
    op.ReplaceLines: ("text",),
    op.EditNotebook: ("source",),
}
"""Fields whose whole effect is in the difference between a file before and after."""


def _section(
    operation: model.Operation,
    changes: tuple[FileChange, ...] | None,
    workspace: Workspace,
    written_out: Counter[str],
) -> Section:
    head, covered = _head(operation)
    if changes is not None:
        covered |= {*_IN_DIFF.get(type(operation), ())}
    fields = fields_of(operation)
    given = {name: value for name, value in stated(operation) if name not in covered}
    lines: list[Line] = []
    for name in (*fields.setting, *fields.limit):
        if name in given:
            lines += _field(name, given[name], written_out)
    for name in fields.subject:
        if name in given and name == "arguments" and isinstance(given[name], dict):
            for key, value in given[name].items():
                lines += _field(_argument(str(key), written_out), value, written_out)
        elif name in given:
            lines += _field(name, given[name], written_out)
    for name in fields.comment:
        if name in given:
            lines += _field(f"{name}, in the model's words", given[name], written_out)
    for change in changes or ():
        lines += _change(change, operation, workspace, written_out)
    created = [change.change.kind for change in changes or ()]
    kind = {"created": " (new file)", "unchanged": " (no change)"}.get(created[0], "") if len(created) == 1 else ""
    if kind == "" and isinstance(operation, op.WriteFile) and changes is not None:
        kind = " (replaces the file)"
    return Section(one_line(head, written_out) + kind, tuple(lines))


def _head(operation: model.Operation) -> tuple[str, set[str]]:
    """An operation in a few words, and the fields that are whole in them."""
    match operation:
        case op.RunCommand(command=command):
            if "\n" not in command and len(command) <= _SHORT:
                return f"run {command}", {"command"}
            return "run a command", set()
        case op.CallFunction(name=name) | op.Unrecognised(name=name) if not _is_long(name):
            return name, {"name"}
        case op.CallMcpTool(server=server, tool=tool) if not _is_long(f"{tool}{server}"):
            return f"{tool}{f' of {server}' if server is not None else ''}", {"server", "tool"}
    named = {name for _, name, _, _ in Formatter().parse(operation.in_short) if name}
    said = said_of_operation(operation)
    if named and "\n" not in said and not _is_long(said):
        return said, named
    return str(operation.__struct_config__.tag).replace("_", " "), set()


def _is_long(text: str) -> bool:
    return len(text) > _SHORT


def _size(text: str) -> str:
    lines = text.count("\n") + (not text.endswith("\n"))
    return f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"


def _field(label: str, value: Any, written_out: Counter[str], style: str | None = None) -> Iterator[Line]:
    """An argument by its label: beside it when it is short, below it line by line when not.

    A text that could pass for another value is quoted: `"true"` is a text and `true` is not.
    """
    text = value if isinstance(value, str) else _json(value)
    if "\n" not in text and not _is_long(text):
        shown = _json(value) if isinstance(value, str) and _reads_as_json(value) else text
        yield Line("", f"{label}: {one_line(shown, written_out)}", style)
        return
    size = _size(text) if isinstance(value, str) else f"JSON, {_size(text)}"
    yield Line("", f"{label} ({size}):")
    yield from _text(text, written_out)


def _reads_as_json(text: str) -> bool:
    """Whether a short text is empty or JSON: `12`, `true`, `"x"`, `[1]`."""
    from dragoman.model.json_text import read_json

    try:
        read_json(text)
    except msgspec.DecodeError:
        return not text.strip()
    return True


def _argument(name: str, written_out: Counter[str]) -> str:
    """The name of a function's argument. It may be any text, so one that could pass for words of ours is quoted."""
    return name if name.isascii() and name.isidentifier() else one_line(_json(name), written_out)


def _text(text: str, written_out: Counter[str]) -> Iterator[Line]:
    *lines, last = text.split("\n")
    for line in lines:
        yield Line("| ", visible(line, written_out))
    if last or not lines:
        yield Line("| ", visible(last, written_out))
    else:
        yield Line("\\", " The text ends with a line break", "quiet")  # typed into a program, it is the Enter key


def _json(value: Any) -> str:
    import json

    plain = msgspec.to_builtins(value)
    short = json.dumps(plain, ensure_ascii=False)
    return json.dumps(plain, ensure_ascii=False, indent=2) if _is_long(short) else short


_STYLES: Final = {"+": "good", "-": "bad"}


def _change(
    change: FileChange, operation: model.Operation, workspace: Workspace, written_out: Counter[str]
) -> Iterator[Line]:
    path = change.change.path
    named = getattr(operation, "path", "")
    if isinstance(operation, op.RewriteCode):
        yield Line("", one_line(f"{change.change.kind} {path}", written_out), "strong")
    elif _as_written(named, workspace) != path:
        yield Line("", one_line(f"the file is {path}: {named} leads there through a link", written_out), "warning")
    shown = shown_change(change)
    for note in shown.notes:
        yield Line("", note, "warning")
    for hunk in shown.hunks:
        yield Line("", hunk.head, "quiet")
        for mark, text in hunk.lines:
            ended = text.endswith("\n")
            yield Line(mark, visible(text[:-1] if ended else text, written_out), _STYLES.get(mark))
            if not ended:
                yield Line("\\", " No newline at end of file", "quiet")


def _as_written(path: str, workspace: Workspace) -> str:
    """A path within the workspace as its words say it, without a look at what is there: no link is followed."""
    root = str(getattr(workspace, "root", "/"))
    whole = normpath(join(root, path))
    return whole[len(root.rstrip("/")) + 1 :] if whole.startswith(f"{root.rstrip('/')}/") else whole


def _changed_definitions(question: Question, written_out: Counter[str]) -> Iterator[Line]:
    if question.again is not None:
        yield Line("", f"Asked again: {question.again}.", "warning")
    for change in question.changes:
        yield Line("", one_line(f"{change.part} of {change.tool} changed:", written_out), "warning")
        for mark, value in (("-", change.before), ("+", change.after)):
            if value is not None:
                text = value if isinstance(value, str) else _json(value)
                for line in text.split("\n"):
                    yield Line(mark, visible(line, written_out), _STYLES[mark])


# ── on a terminal ────────────────────────────────────────────────────────────

Row = tuple[str, str | None]
"""A row of a terminal and its style."""

CONTINUED: Final = ">"
"""The mark of a row that continues the line above; no line begins with it."""


def rows_of(shown: Shown, width: int) -> list[Row]:
    """All of a question, in rows of a terminal."""
    rows = [row for section in shown.sections for row in _section_rows(section, width)]
    return [*rows, *_rows(shown.notes, width)]


def folded_rows(shown: Shown, width: int, most: int = MOST_ROWS) -> tuple[list[Row], int]:
    """A question in about so many rows, and how many rows of it are folded away.

    Every operation keeps its head and, of what it does, the beginning and the end, for as long as there is room.
    """
    whole = [list(_section_rows(section, width)) for section in shown.sections]
    notes = list(_rows(shown.notes, width))
    room = max(most - min(len(notes), most // 2), most // 2)
    if sum(map(len, whole)) <= room and len(notes) <= most:
        return [*(row for rows in whole for row in rows), *notes], 0
    each = max(room // max(1, len(whole)), 4)
    kept = [_fold(rows, each) for rows in whole]
    rows, hidden = [row for part, _ in kept for row in part], sum(count for _, count in kept)
    if len(rows) > 2 * most:
        rows, more = _fold(rows, most)
        hidden += more
    shown_notes, more = _fold(notes, most)
    return [*rows, *shown_notes], hidden + more


def _fold(rows: Sequence[Row], most: int) -> tuple[list[Row], int]:
    if len(rows) <= most:
        return list(rows), 0
    head = max(2, most * 3 // 4)
    tail = max(1, most - head)
    hidden = len(rows) - head - tail
    return [*rows[:head], (f"  … {hidden:,} more rows: v shows them …", "warning"), *rows[-tail:]], hidden


def _section_rows(section: Section, width: int) -> Iterator[Row]:
    pieces = wrapped(section.head, max(8, width - 2))
    yield f"? {next(pieces)}", "strong"
    for piece in pieces:
        yield f"{CONTINUED} {piece}", "strong"
    yield from _rows(section.lines, width)


def _rows(lines: Sequence[Line], width: int) -> Iterator[Row]:
    for line in lines:
        pieces = wrapped(line.text, max(8, width - 2 - max(1, len(line.mark))), words=not line.mark)
        yield f"  {line.mark}{next(pieces)}", line.style
        for piece in pieces:
            yield f"  {CONTINUED.ljust(len(line.mark))}{piece}", line.style
