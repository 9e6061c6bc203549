"""The `apply_patch` language, read and written: one patch means several operations on files.

Rule: a patch is read as forgivingly as the client reads it and written only in the form its grammar
accepts; `read_patch(write_patch(operations)) == operations` for everything that can be written.
Nothing is made up: an insertion has no old text, a place is named by its anchors alone.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PureWindowsPath
from typing import Literal, NamedTuple

from msgspec.structs import replace

from dragoman.model import operations as op, outcomes as out
from dragoman.model.line_pairs import Pairs, kept_lines

GRAMMAR = """\
start: "*** Begin Patch" LF change+ "*** End Patch" LF?
change: added | deleted | updated
added: "*** Add File: " path LF ("+" text LF)+
deleted: "*** Delete File: " path LF
updated: "*** Update File: " path LF moved? (edits last?)?
moved: "*** Move to: " path LF
edits: (anchor | line)+
anchor: ("@@" | "@@ " /(.+)/) LF
line: ("+" | "-" | " ") text LF
last: "*** End of File" LF
path: /(.+)/
text: /(.*)/

%import common.LF
"""
"""The language for models that are held to a grammar (Lark)."""

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
_MOVE, _LAST, _ANCHOR = "*** Move to: ", "*** End of File", "@@"
_ENVIRONMENT = "*** Environment ID:"
_HEADERS = (_ADD, _DELETE, _UPDATE)
_ENDS = (*_HEADERS, _END)
"""How the line begins that ends what is said of a file."""
_MARKS = frozenset({" ", "+", "-"})


class PatchError(ValueError):
    """A text that is no patch. `line` counts from 1 at "*** Begin Patch"."""

    def __init__(self, line: int, problem: str, expected: str) -> None:
        self.line, self.problem, self.expected = line, problem, expected
        super().__init__(f"line {line} of the patch {problem}; expected {expected}")


# ── reading ──────────────────────────────────────────────────────────────────


class PatchForm(NamedTuple):
    """How a client reads the lines of a patch, where clients differ."""

    strict: bool = False
    """Whether an update changes lines, and lines follow each anchor (Codex 0.166.0)."""
    returns: Literal["one", "two", "text", "ends"] = "one"
    """How many CR a line may have before its LF as a part of its end; `text`: none (opencode 1.18.33). Codex reads a
    line twice since 0.140.0, and takes one off each time. `ends`: a CR ends a line by itself (Copilot 1.0.102, droid
    0.215.0)."""
    ends_exactly: bool = False
    """Whether blanks after "*** End of File" make it another line (Codex up to 0.139.0, Copilot 1.0.102)."""
    one_anchor: bool = False
    """Whether an anchor that follows another without lines between is refused; a strict form refuses it as well."""
    blank_first: Literal["kept", "left_out"] = "kept"
    """What becomes of lines without text before the first anchor of a file (left out: Codex up to 0.139.0, Copilot
    1.0.102)."""
    needs_anchor: bool = False
    """Whether lines before the first anchor are refused. opencode (1.18.33) passes over them without a word, and over
    all that follows the end of the file."""
    empty_lines: Literal["kept", "left_out", "refused"] = "kept"
    """What becomes of a line without anything, not even the space of a kept one: models leave that out."""
    unmarked: Literal["refused", "kept"] = "refused"
    """What becomes of a line that begins with no mark: Cline (3.0.65) takes it for a kept one."""
    repeated: Literal["accepted", "updates_refused", "refused"] = "accepted"
    """What becomes of a second section about one file: Cline (3.0.65) refuses it. opencode (1.18.33) makes an update of
    the file as it was before the patch, and so loses what the first section did: such an update is refused."""
    moves_in_place: bool = False
    """Whether a file that is moved onto itself is only edited (Copilot 1.0.102, droid 0.215.0)."""
    kept_in_place: bool = False
    """Whether a line is kept that the old and the new lines have in the same place, whatever the marks say, and none
    where lines become fewer: where the file spells such a line otherwise, that shows (Copilot 1.0.102)."""


ANY_FORM = PatchForm()
CODEX = PatchForm(strict=True, returns="two")
FIRST_CODEX = PatchForm(strict=True, blank_first="left_out", ends_exactly=True)
OPENCODE = PatchForm(returns="text", needs_anchor=True, empty_lines="left_out", repeated="updates_refused")
COPILOT = PatchForm(
    returns="ends",
    ends_exactly=True,
    one_anchor=True,
    blank_first="left_out",
    kept_in_place=True,
    moves_in_place=True,
)
CLINE = PatchForm(empty_lines="refused", unmarked="kept", repeated="refused")
DROID = PatchForm(returns="ends", unmarked="kept", moves_in_place=True)


def read_patch(text: str, directory: str | None = None, form: PatchForm = ANY_FORM) -> tuple[op.Operation, ...]:
    """What a patch does, its paths taken from `directory`; raises `PatchError`.

    A file that is updated and moved is edited first.
    """
    return tuple(_placed(operation, directory) for operation in _Reader(_framed(text, form), form).operations())


FORMS = {"any": ANY_FORM, "codex": CODEX, "opencode": OPENCODE, "cline": CLINE}
"""The forms by name, for what is kept as data."""


def read_patch_in_form(text: str, form: str) -> tuple[op.Operation, ...]:
    """What a patch does that is in the form of this name; raises `PatchError`, which is a `ValueError`."""
    return read_patch(text, form=FORMS[form])


def _framed(text: str, form: PatchForm) -> list[str]:
    """The lines of a patch from its first mark to its last, a heredoc around them taken off."""
    if form.returns == "ends":
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.strip().split("\n")
    if form.returns == "text":
        lines = [line if line.strip("\r") else "" for line in lines]
    else:
        lines = [line.removesuffix("\r") for line in lines]
    if form.returns == "two":
        lines = [line.removesuffix("\r") for line in lines]
    if len(lines) >= 4 and re.fullmatch(r"<<(['\"]?)EOF\1", lines[0]) and lines[-1].endswith("EOF"):
        lines = lines[1:-1]
    if lines[0].strip() != _BEGIN:
        raise PatchError(1, f"is {_shown(lines[0])}", f'"{_BEGIN}"')
    if len(lines) == 1 or lines[-1].strip() != _END:
        raise PatchError(len(lines), f"is {_shown(lines[-1])} and the last one", f'"{_END}"')
    return lines


class _Hunk:
    """One run of changed lines, as it is being read."""

    def __init__(self) -> None:
        self.anchors: list[str] = []
        self.old: list[str] = []
        self.new: list[str] = []
        self.kept: list[tuple[int, int]] = []
        self.at_end = False

    @property
    def empty(self) -> bool:
        return not self.old and not self.new

    def add(self, line: str) -> None:
        """The next line, with its mark; one without anything is a kept one."""
        mark, text = line[:1], line[1:]
        if mark == "+":
            self.new.append(text)
        elif mark == "-":
            self.old.append(text)
        else:
            self.kept.append((len(self.old), len(self.new)))
            self.old.append(text)
            self.new.append(text)

    def edit(self, *, kept_in_place: bool = False) -> op.Edit:
        old = _text(self.old) if self.old else None
        kept = tuple(self._kept_in_place() if kept_in_place else self.kept)
        return op.Edit(
            old,
            _text(self.new),
            whole_lines=True,
            anchors=tuple(self.anchors),
            at_end=self.at_end,
            kept=None if kept == kept_lines(self.old, self.new) else kept,
        )

    def _kept_in_place(self) -> Iterator[tuple[int, int]]:
        if len(self.new) >= len(self.old):
            yield from ((at, at) for at, (old, new) in enumerate(zip(self.old, self.new, strict=False)) if old == new)


class _Reader:
    """Walks over the lines of one patch."""

    def __init__(self, lines: Sequence[str], form: PatchForm) -> None:
        self.lines, self.form, self.strict = lines, form, form.strict
        self.at = 1
        self.last = len(lines) - 1

    def operations(self) -> list[op.Operation]:
        found: list[op.Operation] = []
        if self.lines[self.at].strip().startswith(_ENVIRONMENT):
            self.at += 1  # which machine is meant stays in the call as it was made
        while self.at < self.last:
            before, at = {getattr(one, "path", None) for one in found}, self.at
            found += (change := self._change())
            refused = self.form.repeated == "refused" or (
                self.form.repeated == "updates_refused" and isinstance(change[0], op.EditFile | op.MoveFile)
            )
            if refused and getattr(change[0], "path", None) in before:
                raise PatchError(at + 1, "is about a file that the patch has changed already", "all in one section")
        if not found:
            raise PatchError(2, "ends the patch and nothing is changed", "a file to add, delete or update")
        return found

    def _change(self) -> list[op.Operation]:
        header = self.lines[self.at].strip()
        self.at += 1
        if header.startswith(_ADD):
            return [op.WriteFile(header[len(_ADD) :], self._added())]
        if header.startswith(_DELETE):
            return [op.DeleteFile(header[len(_DELETE) :])]
        if header.startswith(_UPDATE):
            return self._updated(header[len(_UPDATE) :])
        self.at -= 1
        if header == _END:
            raise self._wrong("ends the patch before its last line", "nothing after it")
        raise self._wrong(f"is {_shown(header)}", " or ".join(f'"{known}…"' for known in _HEADERS))

    def _added(self) -> str:
        lines: list[str] = []
        while self.at < self.last and self.lines[self.at].startswith("+"):
            lines.append(self.lines[self.at][1:])
            self.at += 1
        if self.at < self.last and not self.lines[self.at].strip().startswith(_ENDS):
            raise self._wrong(f"is {_shown(self.lines[self.at])}", 'a line of the new file, with "+" before it')
        return _text(lines)

    def _updated(self, path: str) -> list[op.Operation]:
        header = self.at
        moved: str | None = None
        if self.at < self.last and self.lines[self.at].rstrip().startswith(_MOVE):
            moved = self.lines[self.at].rstrip()[len(_MOVE) :]
            self.at += 1
        hunks = self._hunks()
        if not hunks and (self.strict or not moved):
            raise PatchError(header, f"updates {path!r} and nothing is changed", 'lines with " ", "+" or "-" before')
        edits = tuple(hunk.edit(kept_in_place=self.form.kept_in_place) for hunk in hunks)
        edited: list[op.Operation] = [op.EditFile(path, edits)] if edits else []
        if moved and self.form.moves_in_place and _is_in_place(path, moved):
            return edited
        return [*edited, op.MoveFile(path, moved)] if moved else edited

    def _hunks(self) -> list[_Hunk]:
        hunks: list[_Hunk] = []
        while self.at < self.last:
            line = self.lines[self.at]
            if hunks and line[:1] in _MARKS and not hunks[-1].at_end:  # as nearly all are
                hunks[-1].add(line)
            elif line.startswith("***") and line.rstrip().startswith(_ENDS):
                break
            else:
                self._line(line, hunks)
            self.at += 1
        if hunks and hunks[-1].empty:
            raise self._wrong("ends an edit that has no lines", 'lines with " ", "+" or "-" before')
        return hunks

    def _line(self, line: str, hunks: list[_Hunk]) -> None:
        bare = line.rstrip()
        if bare == _ANCHOR or bare.startswith(f"{_ANCHOR} "):
            if hunks and hunks[-1].at_end and self.form.needs_anchor:
                raise self._wrong("changes lines after the end of the file", "the next file")
            if not hunks or not hunks[-1].empty:
                hunks.append(_Hunk())
            elif self.strict or self.form.one_anchor:
                raise self._wrong("has an anchor after another one", 'lines with " ", "+" or "-" before')
            if line != _ANCHOR:
                hunks[-1].anchors.append(line[len(_ANCHOR) + 1 :])  # its blanks count up to Codex 0.139.0
        elif hunks and hunks[-1].at_end:
            if bare:
                raise self._wrong(f"is {_shown(line)} after the end of the file", f'"{_ANCHOR}" or the next file')
        elif bare == _LAST and line != _LAST and self.form.ends_exactly:
            raise self._wrong(f"is {_shown(line)}", f'"{_LAST}" without blanks after it')
        elif bare == _LAST and self.strict and not hunks and self.form.blank_first == "kept":
            pass  # Codex 0.166.0 passes over it before the first hunk, 0.128.0 refuses it
        elif bare == _LAST:
            if not hunks or hunks[-1].empty:
                raise self._wrong("ends an edit that has no lines", 'lines with " ", "+" or "-" before')
            hunks[-1].at_end = True
        elif not hunks and not bare and self.form.blank_first == "left_out":
            pass
        elif line and line[0] not in " +-" and (self.form.unmarked == "refused" or line.startswith(("***", _ANCHOR))):
            raise self._wrong(f"is {_shown(line)}", 'a line with " " (kept), "+" (added) or "-" (removed) before it')
        elif not line and self.form.empty_lines == "left_out":
            pass
        elif not line and self.form.empty_lines == "refused":
            raise self._wrong("is empty", 'a line with " " (kept), "+" (added) or "-" (removed) before it')
        elif not hunks and self.form.needs_anchor:
            raise self._wrong(f"is {_shown(line)}", f'"{_ANCHOR}" before the lines of an edit')
        else:
            if not hunks:
                hunks.append(_Hunk())
            hunks[-1].add(line if not line or line[0] in _MARKS else f" {line}")

    def _wrong(self, problem: str, expected: str) -> PatchError:
        return PatchError(self.at + 1, problem, expected)


def _text(lines: Sequence[str]) -> str:
    return "\n".join((*lines, "")) if lines else ""


def _shown(line: str) -> str:
    return f'"{line[:60]}…"' if len(line) > 60 else f'"{line}"'


def _placed(operation: op.Operation, directory: str | None) -> op.Operation:
    if directory in (None, "", "."):
        return operation
    assert directory is not None
    match operation:
        case op.MoveFile(path, to):
            return op.MoveFile(posixpath.join(directory, path), posixpath.join(directory, to))
        case op.WriteFile(path) | op.EditFile(path) | op.DeleteFile(path):
            return replace(operation, path=posixpath.join(directory, path))
    return operation


# ── as a command ─────────────────────────────────────────────────────────────


class Invocation(NamedTuple):
    """A patch given to a command, and the folder the command first went to."""

    patch: str
    directory: str | None = None


_COMMANDS = ("apply_patch", "applypatch")
_SHELLS = ("bash", "zsh", "sh")
_HEREDOC = re.compile(
    r"""\s*(?:cd\s+(?:"(?P<quoted>[^"$`\\]+)"|'(?P<raw>[^']+)'|(?P<word>[^\s;&|<>"'$`\\*?\[{~()\#-][^\s;&|<>"'$`\\*?\[{()]*))
    \s*&&\s*)?(?:apply_patch|applypatch)\s*<<\s*(?P<quote>['"]?)(?P<end>\w+)(?P=quote)[ \t]*\n
    (?P<patch>.*?)\n(?P=end)\s*""",
    re.DOTALL | re.VERBOSE,
)

_HERE_STRING = re.compile(
    r"""\s*@(?:'[ \t]*\r?\n(?P<raw>(?:(?!\n'@).)*)\r?\n'|"[ \t]*\r?\n(?P<quoted>(?:(?!\n"@)[^$`])*)\r?\n")@
    \s*\|\s*(?:apply_patch|applypatch)\s*""",
    re.DOTALL | re.VERBOSE,
)
"""A here-string of PowerShell that goes to the program; one in double quotes only where nothing in it is computed."""


def patch_in_arguments(arguments: Sequence[str]) -> Invocation | None:
    """The patch a program's arguments give to `apply_patch`, directly or through a shell; `None` when they do not."""
    if len(arguments) == 2 and arguments[0] in _COMMANDS:
        return Invocation(arguments[1])
    script = script_in(arguments) or _windows_script_in(arguments)
    return None if script is None else patch_in_command(script)


def patch_in_command(command: str) -> Invocation | None:
    """The patch a command line gives to `apply_patch` in a heredoc; `None` when it does anything else or more.

    The one other thing it may do is to go to a folder first.
    """
    if "apply_patch" not in command and "applypatch" not in command:
        return None
    found = _HEREDOC.fullmatch(command)
    piped = _HERE_STRING.fullmatch(command) if found is None else None
    if piped is not None:
        return Invocation(piped["raw"] or piped["quoted"])
    if found is None:
        return patch_in_arguments(_words(command)) if command.lstrip().startswith(_SHELLS) else None
    if found["end"] in found["patch"].split("\n"):
        return None  # the heredoc ends there, and more commands follow it
    return Invocation(found["patch"], found["quoted"] or found["raw"] or found["word"])


def script_in(arguments: Sequence[str]) -> str | None:
    """The command line in `["bash", "-lc", "…"]`, or `None` when the arguments are no such thing."""
    if len(arguments) == 3 and arguments[0].rpartition("/")[2] in _SHELLS and arguments[1] in ("-lc", "-c"):
        return arguments[2]
    return None


def _windows_script_in(arguments: Sequence[str]) -> str | None:
    """The command line in `["powershell.exe", "-NoProfile", "-Command", "…"]` or `["cmd", "/c", "…"]`: Codex on Windows
    finds a patch in those too, in a heredoc as bash has it (its public source of 2026)."""
    if len(arguments) < 3:
        return None
    program = PureWindowsPath(arguments[0]).stem.lower()
    flags = [argument.lower() for argument in arguments[1:-1]]
    if program in ("powershell", "pwsh") and flags in (["-command"], ["-noprofile", "-command"]):
        return arguments[-1]
    return arguments[-1] if program == "cmd" and flags == ["/c"] else None


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote that does not end: no command at all
        return []


# ── writing ──────────────────────────────────────────────────────────────────


def write_patch(operations: Iterable[op.Operation]) -> str | None:
    """The patch that says exactly these operations, or `None` when no patch does."""
    lines: list[str] = []
    rest = list(operations)
    while rest:
        operation = rest.pop(0)
        moved: str | None = None
        if isinstance(operation, op.EditFile) and rest:
            following = rest[0]
            if isinstance(following, op.MoveFile) and following.path == operation.path:
                moved, rest = following.to, rest[1:]
        said = _said(operation, moved)
        if said is None:
            return None
        lines += said
    return "\n".join((_BEGIN, *lines, _END)) if lines else None


def _said(operation: op.Operation, moved: str | None) -> list[str] | None:
    match operation:
        case op.WriteFile(path, content, overwrite=True):
            lines = _sayable(content)
            return [_ADD + path, *(f"+{line}" for line in lines)] if lines and _named(path) else None
        case op.DeleteFile(path):
            return [_DELETE + path] if _named(path) else None
        case op.MoveFile(path, to):
            return [_UPDATE + path, _MOVE + to] if _named(path) and _named(to) else None
        case op.EditFile(path, edits, purpose=None) if edits and _named(path):
            if any(edit.at_end for edit in edits[:-1]) or (moved is not None and not _named(moved)):
                return None  # the end of the file is said once, after the last edit
            lines = [_UPDATE + path] if moved is None else [_UPDATE + path, _MOVE + moved]
            for edit in edits:
                said = _said_edit(edit)
                if said is None:
                    return None
                lines += said
            return lines
    return None


def _said_edit(edit: op.Edit) -> list[str] | None:
    old, new = _sayable(edit.old), _sayable(edit.new)
    if old is None or new is None or not (old or new) or edit.old == "" or not all(map(_named, edit.anchors)):
        return None
    if not edit.whole_lines or edit.everywhere or edit.expected is not None:
        return None
    lines = [f"{_ANCHOR} {anchor}" for anchor in edit.anchors] or [_ANCHOR]
    place = new_place = 0
    for first, new_first in (*_kept(edit, old, new), (len(old), len(new))):
        lines += [f"-{line}" for line in old[place:first]]
        lines += [f"+{line}" for line in new[new_place:new_first]]
        lines += [f" {line}" for line in old[first : first + 1]]
        place, new_place = first + 1, new_first + 1
    return [*lines, *([_LAST] if edit.at_end else [])]


def _kept(edit: op.Edit, old: Sequence[str], new: Sequence[str]) -> Pairs:
    """The lines that stay; those that the edit names are believed where they can be true."""
    if edit.kept is not None:
        rising = all(a < b and c < d for (a, c), (b, d) in pairwise(edit.kept))
        inside = all(0 <= a < len(old) and 0 <= b < len(new) and old[a] == new[b] for a, b in edit.kept)
        if rising and inside:
            return edit.kept
    return kept_lines(old, new)


def _sayable(text: str | None) -> list[str] | None:
    """The lines of a text, or `None` when a patch would change them: it ends every line, with a newline alone."""
    if not text:
        return []
    lines = text.split("\n")
    return None if lines.pop() or any(line.endswith("\r") for line in lines) else lines


def _named(name: str) -> bool:
    """Whether a path or an anchor stands on its line as it is."""
    return name != "" and "\n" not in name and name == name.rstrip()


def in_whole_lines(operation: op.Operation) -> op.Operation:
    """The nearest operation a patch can say: texts taken as whole lines, the last one ended.

    What cannot be said so either (a text replaced everywhere, half a line joined to the next) stays as it is.
    """
    match operation:
        case op.WriteFile(path, content):
            return op.WriteFile(path, content if content.endswith("\n") or not content else f"{content}\n")
        case op.EditFile(path, edits):
            return op.EditFile(path, tuple(_in_lines(edit) for edit in edits))
    return operation


def _in_lines(edit: op.Edit) -> op.Edit:
    if edit.whole_lines:
        old = edit.old if not edit.old or edit.old.endswith("\n") else f"{edit.old}\n"
        new = edit.new if not edit.new or edit.new.endswith("\n") else f"{edit.new}\n"
        return replace(edit, old=old, new=new)
    if not edit.old or edit.everywhere or edit.expected not in (None, 1) or edit.anchors or edit.at_end:
        return edit
    if edit.old.endswith("\n"):
        # Lines with their ends: what stands in their place must be such lines too.
        return op.Edit(edit.old, edit.new, whole_lines=True) if not edit.new or edit.new.endswith("\n") else edit
    return op.Edit(f"{edit.old}\n", f"{edit.new}\n", whole_lines=True)


def by_ends(operation: op.Operation) -> list[op.Operation]:
    """An edit at the end of the file is the last of its patch, so what follows it needs another."""
    if not isinstance(operation, op.EditFile):
        return [operation]
    parts: list[list[op.Edit]] = [[]]
    for edit in operation.edits:
        if parts[-1] and parts[-1][-1].at_end:
            parts.append([])
        parts[-1].append(edit)
    return [op.EditFile(operation.path, tuple(edits)) for edits in parts]


def patches_for(operation: op.Operation, form: PatchForm = ANY_FORM) -> list[str] | None:
    """The patches that make a change, in whole lines; `None` where no patch can say it in this form."""
    if form.strict and isinstance(operation, op.MoveFile):
        return None
    if (form.strict or form.one_anchor) and _is_anchored_twice(operation):
        return None
    if form.moves_in_place and isinstance(operation, op.MoveFile) and _is_in_place(operation.path, operation.to):
        return None
    patches = [write_patch((part,)) for part in by_ends(in_whole_lines(operation))]
    said = [patch for patch in patches if patch and not (form.returns == "ends" and "\r" in patch)]
    return said if said and len(said) == len(patches) else None


def _is_in_place(path: str, to: str) -> bool:
    return posixpath.normpath(path) == posixpath.normpath(to)


def _is_anchored_twice(operation: op.Operation) -> bool:
    return isinstance(operation, op.EditFile) and any(len(edit.anchors) > 1 for edit in operation.edits)


ABOUT_PATCHES = """Change files with a patch: between "*** Begin Patch" and "*** End Patch" add, update (and move) or \
delete files.

A new file's lines have "+" before them. An update names its places by "@@" and a line that stands above, shows lines
with " ", takes them out with "-" and puts them in with "+".
"""
"""The description of a tool that takes a patch."""

PATCH_UNSAID = {
    "WriteFile.overwrite": "a file that exists is replaced",
    "EditFile.purpose": "there is no place for it in a patch",
}
PATCH_NEARLY = {
    "WriteFile.content": "a patch ends every line, so a last line without an end gets one",
    "EditFile.edits": "a patch speaks of whole lines, so a text is said as if it were whole lines",
}


def same_path(one: str, other: str) -> bool:
    """Whether two names are one file's, one of them perhaps absolute."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


# ── results ──────────────────────────────────────────────────────────────────

SUCCESS = "Success. Updated the following files:"
"""How Codex (0.20 to 0.166) and opencode (1.4.3 to 1.18.33) begin the list of the files that a patch changed."""


def changed_files(outcomes: Sequence[out.Outcome], letters: Mapping[str, str]) -> list[str] | None:
    """A line for each file with the letter of its change; a file that was moved has its new name. `None`: others."""
    if not outcomes or not all(isinstance(outcome, out.ChangesOutcome) for outcome in outcomes):
        return None
    changes = [change for outcome in outcomes if isinstance(outcome, out.ChangesOutcome) for change in outcome.changes]
    moved = {change.path for change in changes if change.moved_to}
    return [
        f"{letters[change.kind]} {change.moved_to or change.path}"
        for change in changes
        if change.kind not in ("modified", "unchanged") or change.path not in moved
    ]


def changes_listed(
    operations: Sequence[op.Operation],
    listed: Sequence[tuple[out.ChangeKind | None, str]],
    counted: Callable[[str], tuple[int | None, int | None]] = lambda _path: (None, None),
    *,
    moved_as: out.ChangeKind = "modified",
) -> tuple[out.Outcome, ...]:
    """One outcome per operation of a patch, by the files its result lists and what it says was done to each.

    `moved_as`: what is said of a file that was moved. `counted` gives the lines added to and removed from a file.
    """
    moved = {operation.path: operation.to for operation in operations if isinstance(operation, op.MoveFile)}

    def change(operation: op.Operation) -> out.Outcome:
        path = str(getattr(operation, "path", ""))
        goal = moved.get(path, path)
        kinds = [kind for name in (goal, path) for kind, other in listed if same_path(other, name)]
        kind = kinds[0] if kinds else None
        if kind is None:
            return out.UnknownOutcome("the result does not name this file")
        if isinstance(operation, op.MoveFile) and kind in (moved_as, "modified"):
            replaced = kind != moved_as  # what is there already is listed as modified (Copilot 1.0.102)
            return out.ChangesOutcome((out.Change(path, "moved", moved_to=operation.to, replaced=replaced),))
        if isinstance(operation, op.EditFile) and goal != path:
            kind = "modified"
        added, removed = counted(path)
        return out.ChangesOutcome((out.Change(path, kind, added=added, removed=removed),))

    return tuple([change(operation) for operation in operations])
