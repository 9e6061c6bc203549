"""Anthropic's tools for files that we run: the text editor, and the memory, which is a folder of the workspace.

Rule: what the memory calls `/memories` is the folder `memories` of the workspace, and nothing outside of
it can be said or reached with that tool.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

import msgspec

from dragoman.dialects.base.default_words import tell, text_of, understand, unnumbered
from dragoman.dialects.base.editor_commands import editor_operation, given, viewed
from dragoman.dialects.base.sentences import numbered
from dragoman.dialects.base.spelling import Content, Spelling, Spoken, Tells, means
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

MEMORIES = "memories"
NOT_LISTED_SO = "a folder is listed whole, two levels deep"

Editing = op.ReadFile | op.ListDirectory | op.WriteFile | op.EditFile | op.InsertText

LOSS = {
    "ReadFile.pages": "there is no parameter for the pages of a document",
    "ListDirectory.ignore": NOT_LISTED_SO,
    "ListDirectory.depth": NOT_LISTED_SO,
    "ListDirectory.limit": NOT_LISTED_SO,
    "ListDirectory.respect_ignore": NOT_LISTED_SO,
    "ListDirectory.prefix": NOT_LISTED_SO,
    "EditFile.purpose": "there is no parameter for it",
}
NEARLY = {
    "ReadFile.first_line": "a last line is only said together with a first",
    "ListDirectory.path": "a slash at its end tells a folder from a file",
    "EditFile.edits": "a text is matched, not whole lines; anchors and an expected count cannot be said",
}


class Editor(Spelling[Spoken]):
    """What the versions of the editor have in common: a command, a path, and what the command needs."""

    unsaid = LOSS
    approximated = NEARLY

    command: str = means(None, "What to do.")
    path: str = means("path", "Path of the file, or of a folder to view.")
    view_range: tuple[int, ...] | None = means(
        "first_line", "First and last line to view, from 1; -1 is the end of the file.", default=None
    )
    file_text: str | None = means("content", "The whole content of the file to create.", default=None)
    old_str: str | None = means(
        "edits", "The exact text to replace; it must occur exactly once in the file.", default=None
    )
    new_str: str | None = means(None, "The text to put in its place.", default=None)
    insert_line: int | None = means("line", "The line to insert after; 0 is the beginning.", default=None)
    insert_text: str | None = means("text", "The text to insert.", default=None)

    tells: ClassVar[Tells] = {
        out.FileOutcome: ("text", "first_line", "truncated"),
        out.DirectoryOutcome: ("truncated",),
    }

    def to_operations(self) -> tuple[op.Operation, ...]:
        path = self.canonical(self.path)
        if self.command not in self.commands:
            raise ValueError(f"command: there is no {self.command!r}; there are {', '.join(self.commands)}")
        if self.command == "view":
            return (self._looked_at(path),)
        return (
            editor_operation(
                self.command,
                path,
                file_text=self.file_text,
                overwrite=self.overwrites,
                old_str=self.old_str,
                new_str=self.new_str,
                insert_line=self.insert_line,
                insert_text=self.insert_text,
            ),
        )

    commands: ClassVar[tuple[str, ...]] = ("view", "create", "str_replace", "insert")

    def _looked_at(self, path: str) -> op.Operation:
        if self.view_range is None:
            folder = path.endswith("/") or path == self.folder
            return op.ListDirectory(_bare(path), depth=2) if folder else op.ReadFile(path)
        if len(self.view_range) != 2:
            raise ValueError("view_range: give the first line and the last")
        return viewed(path, self.view_range)

    @classmethod
    def from_operation(cls, operation: Any) -> Any:
        path = cls.native(operation.path)
        if path is None:
            return None
        match operation:
            case op.ListDirectory():
                return cls(command="view", path=path if path.endswith("/") else f"{path}/")
            case op.ReadFile(first_line=first, last_line=last):
                whole = first is None and last is None
                if last == -1 or (whole and (path.endswith("/") or operation.path == cls.folder)):
                    return None  # it would mean the end of the file, or a folder
                return cls(
                    command="view", path=path, view_range=None if whole else (first or 1, -1 if last is None else last)
                )
            case op.WriteFile():
                if operation.overwrite != cls.overwrites:
                    return None
                return cls(command="create", path=path, file_text=operation.content)
            case op.EditFile():
                if not operation.edits or any(not _plain(edit) for edit in operation.edits):
                    return None  # what has to be found elsewhere than in one place is not found so
                return tuple(
                    cls(command="str_replace", path=path, old_str=edit.old, new_str=edit.new)
                    for edit in operation.edits
                )
            case op.InsertText():
                return cls.inserting(path, operation)

    folder: ClassVar[str | None] = None
    """A path that is known to be a folder."""
    overwrites: ClassVar[bool] = True
    """Whether `create` replaces a file that is there."""

    @classmethod
    def inserting(cls, path: str, operation: op.InsertText) -> Any:
        return cls(command="insert", path=path, insert_line=operation.line, insert_text=operation.text)

    @classmethod
    def canonical(cls, path: str) -> str:
        """A path as the workspace has it."""
        return path

    @classmethod
    def native(cls, path: str) -> str | None:
        """A path as this tool says it; `None` when it cannot."""
        return path

    def meant_instead(self, operation: op.Operation, failure: out.Failure) -> op.Operation | None:
        """A view of a path that turned out to be a folder."""
        if not isinstance(operation, op.ReadFile) or failure.details.get("reason") != "is_directory":
            return None
        return None if self.view_range is not None else op.ListDirectory(operation.path, depth=2)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        match outcome:
            case out.DirectoryOutcome():
                return told_folder(self.path, outcome)
            case out.ChangesOutcome(changes=(change,), preview=False, skipped=0):
                return told_change(self._shown(change)) or tell(operation, outcome)
        return tell(operation, outcome)

    def _shown(self, change: out.Change) -> out.Change:
        """A change with its paths as the model knows them."""
        moved = None if change.moved_to is None else self.native(change.moved_to) or change.moved_to
        return msgspec.structs.replace(change, path=self.native(change.path) or change.path, moved_to=moved)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if isinstance(operation, op.ReadFile | op.ListDirectory):
            return folder_in(operation.path, text) or _file_in(operation, native, text) or understand(operation, native)
        return self._change_in(text) or understand(operation, native)

    def _change_in(self, text: str) -> out.ChangesOutcome | None:
        change = change_in(text)
        if change is None:
            return None
        try:
            path = self.canonical(change.path)
            moved = None if change.moved_to is None else self.canonical(change.moved_to)
        except ValueError:
            return None  # a path that this tool cannot have spoken of
        return out.ChangesOutcome((msgspec.structs.replace(change, path=path, moved_to=moved),))


class TextEditor(Editor[Editing]):
    """View, create and edit text files."""

    native_name = "str_replace_based_edit_tool"
    families = ("!claude-3-*",)


class StrReplaceEditor(Editor[Editing | op.UndoEdit]):
    """View, create and edit text files, and undo the last edit of one."""

    native_name = "str_replace_editor"
    families = ("claude-3-*",)
    commands = (*Editor.commands, "undo_edit")

    @classmethod
    def from_operation(cls, operation: Any) -> Any:
        if isinstance(operation, op.UndoEdit):
            return cls(command="undo_edit", path=operation.path)
        return super().from_operation(operation)

    @classmethod
    def inserting(cls, path: str, operation: op.InsertText) -> Any:
        return cls(command="insert", path=path, insert_line=operation.line, new_str=operation.text)


class Memory(Editor[Editing | op.DeleteFile | op.MoveFile]):
    """Keep notes beyond this conversation, as files below /memories."""

    native_name = "memory"
    only_by_id = partial = "it speaks of one folder alone"
    folder = MEMORIES
    overwrites = False
    commands = (*Editor.commands, "delete", "rename")

    path: str = means("path", "Path of the file or folder.", default="")
    old_path: str | None = means(None, "Path of what to rename.", default=None)
    new_path: str | None = means("to", "Its new path.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        match self.command:
            case "delete":
                return (op.DeleteFile(_below(self.path)),)
            case "rename":
                return (op.MoveFile(_below(self.old_path or self.path), _below(given("new_path", self.new_path))),)
        return super().to_operations()

    @classmethod
    def from_operation(cls, operation: Any) -> Any:
        path = cls.native(operation.path)
        match operation:
            case op.DeleteFile():
                return None if path is None else cls(command="delete", path=path)
            case op.MoveFile():
                to = cls.native(operation.to)
                return None if path is None or to is None else cls(command="rename", old_path=path, new_path=to)
        return super().from_operation(operation)

    @classmethod
    def canonical(cls, path: str) -> str:
        return _below(path)

    @classmethod
    def native(cls, path: str) -> str | None:
        inside = path == MEMORIES or path.startswith(f"{MEMORIES}/")
        return f"/{path}" if inside and not {"..", "."} & set(path.split("/")) else None

    def missing(self) -> tuple[Content, bool]:
        """What is told when nothing stands at the path: of the memory itself that it is empty; of no other file."""
        path = self.old_path or self.path
        if self.command == "view" and path.rstrip("/") == f"/{MEMORIES}":
            return told_folder(path, out.DirectoryOutcome(MEMORIES, ())), False
        return f"Error: The path {path} does not exist.", True

    @staticmethod
    def in_its_words(message: str) -> str:
        """A message that names paths of the workspace, with those of the memory as the model has to say them."""
        return re.sub(rf'"({MEMORIES}(?:/[^"]*)?)"', r'"/\1"', message)


def _below(path: str) -> str:
    """A path of the memory as one of the workspace."""
    if path != f"/{MEMORIES}" and not path.startswith(f"/{MEMORIES}/"):
        raise ValueError(f"{path!r}: a path of the memory begins with /{MEMORIES}")
    if {"..", "."} & set(path.split("/")):
        raise ValueError(f"{path!r}: a path of the memory has no . and no .. in it")
    return path[1:]


def _plain(edit: op.Edit) -> bool:
    return bool(edit.old) and not edit.everywhere and (edit.expected or 1) == 1


def _bare(path: str) -> str:
    return path.rstrip("/") or "/"


# ── results ──────────────────────────────────────────────────────────────────

_FOLDER = re.compile(
    r"Here(?:'s|'re| are) the files and (?:directories|folders) up to 2 levels deep in [^\n]*:(?:\n|\Z)"
)
_MORE = "[more entries are not shown]"
_CONTENT = re.compile(r"Here's the (?:content|result) of [^\n]*:\n")
_SIZED = re.compile(r"(?:[\d.]+[BKMGT]?B?)\t(.*)", re.DOTALL)


def told_folder(path: str, outcome: out.DirectoryOutcome) -> str:
    """A folder as these tools list one: a heading, then one path per line, folders with a slash."""
    names = [entry.path + ("/" if entry.kind == "directory" else "") for entry in outcome.entries]
    head = f"Here are the files and folders up to 2 levels deep in {path.replace(chr(10), ' ')}:"
    return "\n".join([head, *names, *([_MORE] if outcome.truncated else [])])


def folder_in(path: str, text: str) -> out.DirectoryOutcome | None:
    """The folder a text lists, with the sizes and full paths other programs give left out."""
    head = _FOLDER.match(text)
    if head is None:
        return None
    names = text[head.end() :].split("\n") if text[head.end() :] else []
    cut = names[-1:] == [_MORE]
    entries: list[out.Entry] = []
    for line in names[:-1] if cut else names:
        sized = _SIZED.fullmatch(line)
        name = line if sized is None else _relative(path, sized[1])
        if name:
            entries.append(out.Entry(name.removesuffix("/"), "directory" if name.endswith("/") else "file"))
    return out.DirectoryOutcome(_bare(path), tuple(entries), cut)


def _relative(path: str, name: str) -> str:
    """A name below the folder, where the whole path was given; nothing for the folder itself."""
    for folder in (_bare(path), f"/{_bare(path)}"):
        if name.rstrip("/") == folder:
            return ""
        if name.startswith(f"{folder}/"):
            return name[len(folder) + 1 :]
    return name


def _file_in(operation: op.ReadFile | op.ListDirectory, native: NativeResult, text: str) -> out.Outcome | None:
    """Numbered lines under a heading, as other programs that serve these tools give them."""
    head = _CONTENT.match(text)
    if head is None or not isinstance(native.content, str):
        return None
    lines = unnumbered(text[head.end() :].removesuffix("\n"))
    return None if lines is None else out.FileOutcome(operation.path, lines[1], lines[0])


_DONE: dict[str, Literal["created", "modified", "deleted", "unchanged"]] = {
    "File created successfully at: ": "created",
    "The file was edited: ": "modified",
    "Successfully deleted ": "deleted",
    "Nothing to change in ": "unchanged",
}
_RENAMED = re.compile(r"Successfully renamed (.*) to (.*)", re.DOTALL)
_SNIPPET = "\nThe lines around the change:\n"


def told_change(change: out.Change) -> str | None:
    """What was done to a file, and for an edit the lines around it as they are now."""
    if change.kind == "moved" and change.moved_to is not None:
        return f"Successfully renamed {change.path} to {change.moved_to}"
    for words, kind in _DONE.items():
        if kind == change.kind:
            return words + change.path + (_snippet(change.diff) if kind == "modified" else "")
    return None


def change_in(text: str) -> out.Change | None:
    """The change such a text tells of."""
    said = text.partition(_SNIPPET)[0]
    for words, kind in _DONE.items():
        if said.startswith(words):
            return out.Change(said[len(words) :], kind)
    renamed = _RENAMED.fullmatch(said)
    return None if renamed is None else out.Change(renamed[1], "moved", renamed[2])


def _snippet(diff: str | None) -> str:
    """The new side of a diff, its lines with their numbers; hunks are told apart by a line of dots."""
    pieces: list[str] = []
    for hunk in re.split(r"^@@ -\S+ \+(?=\d)", diff or "", flags=re.MULTILINE)[1:]:
        head, _, body = hunk.partition("\n")
        lines = [line[1:] for line in body.split("\n") if line[:1] in (" ", "+")]
        first = int(re.match(r"\d+", head)[0])  # type: ignore[index]
        if lines:
            pieces.append(numbered(out.FileOutcome("", "\n".join(lines), first)))
    return _SNIPPET + "\n...\n".join(pieces) if pieces else ""
