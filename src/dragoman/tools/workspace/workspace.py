"""Workspaces: the tree of files that operations act on, and what every kind of it promises.

Rules: no path leads out of the tree; a transaction happens whole or not at all; a file that
was changed behind the workspace's back since it was read is not overwritten; text keeps its
encoding, its byte order mark and its line ends. Changes made through a workspace can be undone
through it, file by file, as far as it remembers them: what it keeps for that is bounded.
"""

from __future__ import annotations

import abc
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dragoman.errors import ToolError
from dragoman.model.outcomes import Change, ChangesOutcome

from .paths import shown, stale
from .transaction_plan import Draft, FileChange, Put, Rename, Step
from .tree import Loaded, Tree, digest_of

if TYPE_CHECKING:
    from dragoman.model.edit_rules import EditRules
    from dragoman.model.operations import Operation

    from .journal import Journal


UNDO_LIMIT = 16 * 1024 * 1024
"""How many bytes of earlier contents are kept to undo changes with; what was changed longest ago is forgotten first."""
UNDO_DEPTH = 50
"""How many changes of one file can be undone."""


class Workspace(Tree):
    """A tree of files that can be changed."""

    def __init__(self, name: str, *, forgiving: bool) -> None:
        super().__init__(name, forgiving=forgiving)
        self._writing = threading.RLock()
        self._changes = _Changes()
        self._journals: list[Journal] = []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @abc.abstractmethod
    def _commit(self, steps: Sequence[Step], author: str | None) -> None:
        """Do all steps or none; a base that is no longer there makes it fail as stale."""

    def write(self, path: str, data: bytes, *, overwrite: bool = True, author: str | None = None) -> Change:
        """Make `data` the whole content of a file."""
        with self._writing:
            draft = Draft(self)
            change = draft.write(path, data, overwrite=overwrite)
            self._finish(draft, author)
        return change

    def apply(
        self,
        operations: Iterable[Operation],
        *,
        author: str | None = None,
        preview: bool = False,
        rules: EditRules | None = None,
    ) -> ChangesOutcome:
        """Do all operations, each seeing what the earlier ones did, or none; one change for each.

        With `preview` nothing is done, and the changes are those that would have been made. `rules` say how the places
        of edits are found: those of the vocabulary the operations were called in.

        A file that was read whole through this workspace and has changed since, other than through
        it, is stale: the transaction fails and asks to read it again.
        """
        with self._writing:
            draft = Draft(self, rules)
            changes = draft.perform(tuple(operations))
            if not preview:
                self._finish(draft, author)
        return ChangesOutcome(changes, preview)

    def plan(self, operations: Iterable[Operation], *, rules: EditRules | None = None) -> tuple[FileChange, ...]:
        """What `apply` would do, with the exact bytes of every file before and after; one change for each operation."""
        with self._writing:
            draft = Draft(self, rules)
            draft.perform(tuple(operations))
        return tuple(draft.changes)

    def plan_undo(self, path: str) -> FileChange:
        """What `undo` would do."""
        with self._writing:
            return self._undone(path)[1].changes[-1]

    def undo(self, path: str, *, author: str | None = None) -> ChangesOutcome:
        """Undo the last change of a file; a file that was created is deleted.

        Only changes made through this workspace can be undone, and only until something else changes the file.
        """
        with self._writing:
            target, draft = self._undone(path)
            self._finish(draft, author, remembered=False)
            self._changes.forget_last(target)
        return ChangesOutcome((draft.changes[-1].change,))

    def _undone(self, path: str) -> tuple[str, Draft]:
        """The resolved path, and the transaction that undoes its last change."""
        target = self.resolve(path)
        last = self._changes.last(target)
        if last is None:
            raise ToolError(
                f"no change of {shown(path)} is remembered that could be undone",
                details={"reason": "nothing_to_undo", "path": path},
            )
        loaded = self._load(target)
        if (None if loaded is None else digest_of(loaded.data or b"")) != last.after:
            raise stale(path)
        draft = Draft(self)
        draft.restore(target, last.before)
        return target, draft

    def follow(self, journal: Journal) -> None:
        """Lets a journal note every transaction from here on."""
        self._journals.append(journal)

    def unfollow(self, journal: Journal) -> None:
        """Stops telling a journal about changes."""
        self._journals.remove(journal)

    def held(self, path: str) -> Loaded | None:
        """The current content of a resolved path; `None` if nothing is there."""
        return self._load(path)

    def take_back(self, journal: Journal, *, author: str | None = None) -> ChangesOutcome:
        """Reverts everything a journal recorded, in one transaction; `ToolError` if that cannot be done exactly."""
        with self._writing:
            draft = Draft(self)
            journal.take_back(self.held, draft)
            self._finish(draft, author)
        return ChangesOutcome(tuple(change.change for change in draft.changes))

    def _finish(self, draft: Draft, author: str | None, *, remembered: bool = True) -> None:
        steps = draft.steps()
        self._commit(steps, author)
        for journal in self._journals:
            journal.note(steps)
        digests = {step.path: digest_of(step.data) for step in steps if isinstance(step, Put)}
        if remembered:
            self._changes.remember(steps, digests)
        results = list(draft.results())
        moved = {path: self._seen[origin] for path, data, origin in results if data is None and origin in self._seen}
        for path, data, _ in results:
            self.note_seen(path, data, digests.get(path))
        self._seen |= moved


class _Change(NamedTuple):
    """What a file held before a change (`None`: it was not there), and the digest of what it held after it."""

    before: bytes | None
    after: bytes | None

    @property
    def size(self) -> int:
        """What it takes to remember it, also when nothing was there: changes without end must not take memory so."""
        return 256 + len(self.before or b"")


class _Changes:
    """The last changes of files, by path, so that they can be undone; bounded by `UNDO_LIMIT` and `UNDO_DEPTH`."""

    def __init__(self) -> None:
        self._by_path: OrderedDict[str, deque[_Change]] = OrderedDict()
        self._size = 0

    def last(self, path: str) -> _Change | None:
        changes = self._by_path.get(path)
        return changes[-1] if changes else None

    def forget_last(self, path: str) -> None:
        changes = self._by_path[path]
        self._size -= changes.pop().size
        if not changes:
            del self._by_path[path]

    def remember(self, steps: Sequence[Step], digests: Mapping[str, bytes]) -> None:
        moved = [step for step in steps if isinstance(step, Rename)]
        # All leave before any arrives: two files may change places.
        histories = {step.path: self._take(step.origin) for step in moved}
        for path, changes in histories.items():
            self._give(path, changes)
        for step in steps:
            if isinstance(step, Put):
                self._add(step.path, step.base, digests[step.path])
            elif not isinstance(step, Rename):
                self._add(step.path, step.base, None)
        while self._size > UNDO_LIMIT:
            self._drop_oldest(next(iter(self._by_path)))

    def _add(self, path: str, base: Loaded | None, after: bytes | None) -> None:
        if base is not None and (base.data is None or len(base.data) > UNDO_LIMIT):
            self._take(path)  # what is not kept cannot be undone, nor can anything before it
            return
        changes = self._by_path.setdefault(path, deque())
        self._by_path.move_to_end(path)
        changes.append(_Change(None if base is None else base.data, after))
        self._size += changes[-1].size
        if len(changes) > UNDO_DEPTH:
            self._drop_oldest(path)

    def _drop_oldest(self, path: str) -> None:
        changes = self._by_path[path]
        self._size -= changes.popleft().size
        if not changes:
            del self._by_path[path]

    def _take(self, path: str) -> deque[_Change]:
        changes: deque[_Change] = self._by_path.pop(path, deque())
        self._size -= sum(change.size for change in changes)
        return changes

    def _give(self, path: str, changes: deque[_Change]) -> None:
        self._take(path)
        if changes:
            self._by_path[path] = changes
            self._size += sum(change.size for change in changes)
