"""A transaction worked out in memory, before any of it is done: what each operation changes, and the steps to take.

Rule: operations see what earlier ones did, and only the end counts: a file written and deleted again was never there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from dragoman.errors import ToolError
from dragoman.model import operations as op
from dragoman.model.edit_rules import EXACT, EditRules
from dragoman.model.outcomes import Change

from .paths import HELD_LIMIT, components, is_reserved, join, shown, too_large, wrong_kind
from .text import decode, rewritten
from .tree import Loaded, Tree, missing


class Put(NamedTuple):
    """A step of a transaction: `path` holds `data` afterwards; `base` is what stood there before."""

    path: str
    data: bytes
    base: Loaded | None
    like: str | None
    """The file whose mode and owner it takes."""


class Rename(NamedTuple):
    """A step of a transaction: the file `origin` is called `path` afterwards, where nothing stood before."""

    origin: str
    path: str
    base: Loaded


class Remove(NamedTuple):
    """A step of a transaction: `path` is gone afterwards."""

    path: str
    base: Loaded
    makes_room: bool = False
    """Whether a folder takes its name, so that it has to go before anything else is done."""


Step = Put | Rename | Remove


class FileChange(NamedTuple):
    """What one operation does to one file, with the exact bytes before and after.

    `before` is `None` where nothing stood, or where it cannot be held (too large, or a link); `after` where nothing
    stands afterwards. For a move both are `None`: the content stays as it is.
    """

    change: Change
    before: bytes | None
    after: bytes | None


class _State(msgspec.Struct):
    """How a path will stand: `data`, or (`None`) what `origin` held before, moved here unread."""

    data: bytes | None
    origin: str | None


def _in_lf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class Draft:
    """A transaction being worked out in memory: the workspace as it will be. Nothing is written here."""

    def __init__(self, workspace: Tree, rules: EditRules | None = None) -> None:
        self.workspace = workspace
        self.rules = EXACT if rules is None else rules
        self._states: dict[str, _State | None] = {}
        self._bases: dict[str, Loaded | None] = {}
        self._folders: set[str] = set()
        self._links_gone: set[str] = set()
        self.changes: list[FileChange] = []
        """What was worked out so far, one for each operation."""

    def perform(self, operations: Sequence[op.Operation]) -> tuple[Change, ...]:
        """Work out every operation on top of the ones before; one change for each."""
        changes: list[Change] = []
        for operation in operations:
            try:
                changes.append(self._perform(operation))
            except ToolError as error:
                if len(operations) == 1:
                    raise
                head = f"operation {len(changes) + 1} of {len(operations)}"
                raise ToolError(
                    f"{head}: {error.message}\nNone of the {len(operations)} operations was done.",
                    kind=error.kind,
                    details={**error.details, "operation": len(changes)},
                ) from error
        return tuple(changes)

    def _perform(self, operation: op.Operation) -> Change:
        match operation:
            case op.WriteFile():
                return self.write_text(operation)
            case op.EditFile():
                return self.edit(operation)
            case op.InsertText():
                return self.insert(operation)
            case op.ReplaceLines():
                return self.replace_lines(operation)
            case op.DeleteFile():
                return self.remove(operation)
            case op.MoveFile():
                return self.move(operation)
            case op.EditNotebook():
                return self.edit_notebook(operation)
        raise ToolError(
            f"{type(operation).__name__} does not change files, so it has no place in a transaction",
            kind="invalid_arguments",
        )

    # -- looking

    def resolve(self, path: str, *, follow: bool = True) -> str:
        # A link this transaction has deleted or moved leads nowhere any more.
        if self._links_gone and (below := self._below_a_link_gone(path)):
            return below
        own = self.workspace.resolve(path, follow=False)
        return self.workspace.resolve(path) if follow and own not in self._states else own

    def _below_a_link_gone(self, path: str) -> str | None:
        names = components(path)
        for count in range(1, len(names)):
            try:
                above = self.workspace.resolve("/" * path.startswith("/") + join(names[:count]), follow=False)
            except ToolError:
                continue  # the beginning of an absolute path is outside
            if above in self._links_gone and ".." not in names[count:]:
                return join([above, *names[count:]])
        return None

    def _base(self, path: str) -> Loaded | None:
        if path not in self._bases:
            try:
                self._bases[path] = self.workspace._load(path)
            except ToolError as error:
                emptied = any(state is None and gone.startswith(f"{path}/") for gone, state in self._states.items())
                if error.details.get("reason") == "is_directory" and emptied:
                    raise ToolError(
                        f"{shown(path)} is a directory, and stays one when the files in it are deleted or moved; "
                        "choose another name for the file",
                        details=error.details,
                    ) from None
                raise
        return self._bases[path]

    def exists(self, path: str) -> bool:
        return self._states[path] is not None if path in self._states else self._base(path) is not None

    def data(self, path: str) -> bytes | None:
        """What a resolved path holds now; `None` when it is not held in memory, fails when there is nothing."""
        if path not in self._states:
            base = self._base(path)
            if base is None:
                raise missing(self.workspace, path)
            self.workspace.check_fresh(path, base)
            return base.data
        state = self._states[path]
        if state is None:
            raise ToolError(
                f"{shown(path)} does not exist any more: an earlier operation of this transaction took it away",
                details={"reason": "not_found", "path": path, "suggestions": []},
            )
        if state.data is not None or state.origin is None:
            return state.data
        return base.data if (base := self._base(state.origin)) else None

    def content(self, path: str, what: str) -> bytes:
        """What a resolved path holds, to be worked on."""
        data = self.data(path)
        if data is None:
            state = self._states.get(path)
            base = self._base((state and state.origin) or path)
            raise too_large(path, base.size, what) if base and base.size > HELD_LIMIT else wrong_kind(path, "link")
        return data

    # -- changing

    def put(self, path: str, data: bytes) -> None:
        self._make_room(path)
        state = self._states.get(path)
        like = state.origin if state else (path if self._base(path) is not None else None)
        self._states[path] = _State(data, like)

    def _make_room(self, path: str) -> None:
        """Check that a file may stand at `path`: every name above it is, or can become, a folder."""
        names = components(path)
        if not names or (path in self._folders and self._holds_something(path)):
            raise wrong_kind(path, "directory")
        self._folders.discard(path)
        if any(map(is_reserved, names)):
            raise ToolError(f"{shown(path)} is denied: such names are kept for unfinished writes", kind="denied")
        for count in range(1, len(names)):
            above = join(names[:count])
            if self._states.get(above) is not None or self._is_file(above):
                raise ToolError(
                    f"{shown(above)} is a file, so {shown(path)} cannot be below it",
                    details={"reason": "not_a_directory", "path": path},
                )
            self._folders.add(above)

    def _is_file(self, path: str) -> bool:
        if path in self._folders or path in self._states:
            return False
        entry = self.workspace.entry(path)
        return entry is not None and entry.kind != "directory"

    def _holds_something(self, folder: str) -> bool:
        """Whether a folder this transaction makes is still needed."""
        return any(state is not None and path.startswith(f"{folder}/") for path, state in self._states.items())

    def write(self, path: str, data: bytes, *, overwrite: bool, **facts: Any) -> Change:
        target = self.resolve(path)
        if not self.exists(target):
            if target not in self._states:
                self.workspace.check_not_taken_away(target)
            self.put(target, data)
            return self._changed(target, None, data, **facts)
        if not overwrite:
            raise ToolError(
                f"{shown(path)} exists already; choose another path, or edit it",
                details={"reason": "exists", "path": path},
            )
        before = self.data(target)
        self.put(target, data)
        return self._changed(target, before, data, was_there=True, **facts)

    def restore(self, path: str, data: bytes | None) -> Change:
        """Give a resolved path a content it had before; `None` takes the file away."""
        if data is not None:
            return self.write(path, data, overwrite=True)
        before = self.data(path)
        self._take_away(path)
        return self._changed(path, before, None, was_there=True)

    def write_text(self, operation: op.WriteFile) -> Change:
        from .excerpts import excerpts_of_whole

        target = self.resolve(operation.path)
        exists = self.exists(target)
        # Claude Code 2.1.325 leaves blanks where an edit of nothing makes a file.
        content = self._as_written(operation.content, target, trims=exists or operation.overwrite)
        if self.rules.empty_old == "fill_blank" and not content:
            raise ToolError(
                "the old and the new text are both empty, so nothing would change",
                kind="invalid_arguments",
                details={"reason": "no_change", "path": operation.path},
            )
        overwrite = self._is_blank(target) or (operation.overwrite and self.rules.empty_old != "create")
        if operation.overwrite and exists:
            self._check_read(target, operation.path)
        before = self.data(target) if overwrite and exists else None
        after = rewritten(before, content, operation.path, self.rules)
        if after == before and not operation.overwrite:
            raise ToolError(
                f"{shown(operation.path)} has this text already",
                details={"reason": "no_change", "path": operation.path},
            )
        lines, total = excerpts_of_whole(before, after, self.rules)
        change = self.write(
            operation.path,
            after,
            overwrite=overwrite,
            shows_line_ends=self.rules.diff_line_ends,
            shows_mark=self.rules.diff_line_ends,
            shown=lines,
            total_lines=total,
            current=self.rules.says_current if operation.overwrite else self._says_current(before),
        )
        if before == b"" and self.rules.whole_file.empty_is_new:
            change = msgspec.structs.replace(change, kind="created")
            self.changes[-1] = self.changes[-1]._replace(change=change)
        return change

    def _as_written(self, content: str, path: str, *, trims: bool) -> str:
        from .folding import decoded_escapes, without_blanks_at_ends

        if self.rules.decode_escapes:
            content = decoded_escapes(content)
        return without_blanks_at_ends(content, path) if trims and self.rules.trim_new else content

    def _check_read(self, target: str, path: str) -> None:
        if self.rules.read_first and target not in self._states and not self.workspace.was_read(target):
            raise ToolError(
                f"{shown(path)} has not been read yet; read it before you change it",
                details={"reason": "not_read", "path": path},
            )

    def _is_blank(self, path: str) -> bool:
        """Whether a file without text stands there, and the rules fill such a file as if there were none."""
        if self.rules.empty_old != "fill_blank" or not self.exists(path):
            return False
        from .folding import strip

        data = self.data(path)
        text = None if data is None else decode(data)
        return text is not None and not strip(text[0])

    def edit(self, operation: op.EditFile) -> Change:
        from .edits import edited
        from .excerpts import excerpts, seen_in_lf

        target, rules = self.resolve(operation.path), self.rules
        if rules.missing == "create" and not self.exists(target):
            return self.write(operation.path, rewritten(None, operation.edits[0].new, operation.path), overwrite=False)
        if not rules.notebooks and target.lower().endswith(".ipynb"):
            raise ToolError(
                f"{shown(operation.path)} is a notebook, which is not edited as text; edit its cells",
                kind="invalid_arguments",
                details={"reason": "notebook", "path": operation.path},
            )
        before = self.content(target, "edited")
        self._check_read(target, operation.path)
        after, replacements = edited(before, operation.edits, operation.path, rules)
        self.put(target, after)
        in_lf = seen_in_lf(before, rules)
        seen = after if in_lf is None else edited(in_lf, operation.edits, operation.path, rules)[0]
        lines, total = excerpts(before if in_lf is None else in_lf, seen, rules)
        return self._changed(
            target,
            before,
            after,
            shows_line_ends=rules.diff_line_ends,
            shows_mark=rules.byte_order_mark == "text",
            replacements=replacements,
            shown=lines,
            total_lines=total,
            current=self._says_current(before),
        )

    def _says_current(self, before: bytes | None) -> bool:
        """Claude Code 2.1.325 does not say it of an edit of a file that ends with a lone CR."""
        return self.rules.says_current and not (before or b"").endswith(b"\r")

    def insert(self, operation: op.InsertText) -> Change:
        from .edits import inserted

        target = self.resolve(operation.path)
        before = self.content(target, "edited")
        after = inserted(before, operation.line, operation.text, operation.path)
        self.put(target, after)
        return self._changed(target, before, after)

    def replace_lines(self, operation: op.ReplaceLines) -> Change:
        from .edits import with_lines_replaced

        target = self.resolve(operation.path)
        before = self.content(target, "edited")
        after = with_lines_replaced(before, operation)
        self.put(target, after)
        return self._changed(target, before, after)

    def edit_notebook(self, operation: op.EditNotebook) -> Change:
        from .notebook_file import edited_notebook

        target = self.resolve(operation.path)
        before = self.content(target, "edited")
        after = edited_notebook(before, operation)
        self.put(target, after)
        return self._changed(target, before, after)

    def remove(self, operation: op.DeleteFile) -> Change:
        return self.restore(self.resolve(operation.path, follow=False), None)

    def move(self, operation: op.MoveFile) -> Change:
        origin = self.resolve(operation.path, follow=False)
        target = self.resolve(operation.to, follow=False)
        self.data(origin)
        if target == origin:
            raise ToolError(
                f"{shown(operation.path)} cannot be moved onto itself; leave the move out",
                details={"reason": "exists", "path": operation.to},
            )
        if self.exists(target) and not self.rules.patch.moves_over:
            raise ToolError(
                f"{shown(operation.to)} exists already; delete it first, or choose another name",
                details={"reason": "exists", "path": operation.to},
            )
        replaced = self.exists(target)
        self._make_room(target)
        self._states[target] = self._moved(origin)
        self._take_away(origin)
        self.changes.append(FileChange(Change(origin, "moved", moved_to=target, replaced=replaced), None, None))
        return self.changes[-1].change

    def _moved(self, origin: str) -> _State:
        """What becomes of a file that is moved: with the rules that say so, edits of its line ends alone are undone."""
        state, base = self._states.get(origin), self._base(origin)
        if state is None or state.data is None or not self.rules.patch.moves_as_is:
            return state or _State(None, origin)
        before = base.data if base is not None else None
        same = before is not None and _in_lf(before) == _in_lf(state.data)
        return _State(before, state.origin) if same else state

    def _take_away(self, path: str) -> None:
        self._states[path] = None
        if (base := self._base(path)) is not None and base.data is None:
            self._links_gone.add(path)

    def _changed(self, path: str, before: bytes | None, after: bytes | None, **facts: Any) -> Change:
        self.changes.append(FileChange(changed(path, before, after, **facts), before, after))
        return self.changes[-1].change

    # -- ending

    def steps(self) -> list[Step]:
        """What has to be done: moves first, deletions last, so that no content is ever without a name.

        Only a file that gives its name to a folder goes before all others.
        """
        standing = {path: state for path, state in self._states.items() if state is not None}
        above = {join(names[:count]) for names in map(components, standing) for count in range(1, len(names))}
        displaced = {path for path in self._states if path in above and self._base(path) is not None}
        # A file is moved as it is where nothing stood; where something did, its content is put there. So is that of
        # one whose name becomes a folder's: the new place may be in a folder that is yet to be made.
        moves = {
            state.origin: Rename(state.origin, path, origin)
            for path, state in standing.items()
            if state.data is None
            and state.origin
            and state.origin not in displaced
            and self._base(path) is None
            and (origin := self._base(state.origin))
        }
        moved_here = {move.path for move in moves.values()}
        puts: list[Step] = []
        for path, state in standing.items():
            if path in moved_here:
                continue
            # What was moved away leaves a free place.
            base = None if path in moves else self._base(path)
            data = self.content(path, "moved over another") if state.data is None else state.data
            if base is None or base.data != data:
                puts.append(Put(path, data, base, state.origin))
        removals = [
            Remove(path, base, makes_room=path in displaced)
            for path, state in self._states.items()
            if state is None and path not in moves and (base := self._base(path)) is not None
        ]
        return [
            *(step for step in removals if step.makes_room),
            *moves.values(),
            *puts,
            *(step for step in removals if not step.makes_room),
        ]

    def results(self) -> Iterator[tuple[str, bytes | None, str | None]]:
        """Every path touched and what it holds afterwards: data, what an origin held before, or nothing."""
        for path, state in self._states.items():
            yield path, state.data if state else None, state.origin if state else None


def changed(
    path: str,
    before: bytes | None,
    after: bytes | None,
    *,
    was_there: bool = False,
    shows_line_ends: bool = False,
    shows_mark: bool = False,
    **facts: Any,
) -> Change:
    """What became of a file; `was_there` tells a file that was not held in memory from one that was not there."""
    from .diff import difference

    if before is None and not was_there:
        kind = "created"
    elif after is None:
        kind = "deleted"
    else:
        kind = "unchanged" if before == after else "modified"
    told: Mapping[str, Any] = (
        {}
        if before is None and was_there
        else difference(path, before, after, shows_line_ends=shows_line_ends, shows_mark=shows_mark)
    )
    return Change(path, kind, **facts, **told)  # type: ignore[arg-type]
