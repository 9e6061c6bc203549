"""Workspaces: the tree of files that operations act on, and what every kind of it promises.

Rules: no path leads out of the tree; a transaction happens whole or not at all; a file that
was changed behind the workspace's back since it was read is not overwritten; text keeps its
encoding, its byte order mark and its line ends. Changes made through a workspace can be undone
through it, file by file, as far as it remembers them: what it keeps for that is bounded.
"""

from __future__ import annotations

import abc
import re
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from dragoman.errors import ToolError
from dragoman.model.outcomes import Change, ChangesOutcome, Entry

from .text import encoded

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from dragoman.model.operations import Operation

    from .open_directory import Folder
    from .transaction_plan import Draft, FileChange, Loaded, Step

HELD_LIMIT = 64 * 1024 * 1024
"""The largest file whose content is held in memory: what is larger is read in parts and never edited."""

UNDO_LIMIT = 16 * 1024 * 1024
"""How many bytes of earlier contents are kept to undo changes with; what was changed longest ago is forgotten first."""
UNDO_DEPTH = 50
"""How many changes of one file can be undone."""

_RESERVED = re.compile(r"\.dragoman-[0-9a-f]{16}(-\d+)?\.(tmp|new|old|journal|done)")
_SUGGESTED_FROM = 20_000


class Workspace(abc.ABC):
    """A tree of files. Paths are relative to its root, with "/", or absolute inside it."""

    name: str
    """What messages call it."""
    forgiving: bool
    """Whether reading a wrong path reads the one file of that base name instead, and says so."""

    def __init__(self, name: str, *, forgiving: bool) -> None:
        self.name, self.forgiving = name, forgiving
        self._writing = threading.RLock()
        self._seen: dict[str, bytes] = {}
        self._changes = _Changes()

    @abc.abstractmethod
    def resolve(self, path: str, *, follow: bool = True) -> str:
        """The one spelling of `path` ("." is the root); it need not exist. Denied when it leads out.

        Links are followed; without `follow` the last name is taken as it is.
        """

    @abc.abstractmethod
    def open(self, path: str) -> BinaryIO:
        """A file opened for reading; it does not count as seen."""

    @abc.abstractmethod
    def entry(self, path: str) -> Entry | None:
        """What stands at `path`, links followed; `None` when nothing does."""

    @abc.abstractmethod
    def directory(self) -> AbstractContextManager[Path]:
        """The tree as a folder of this machine, to be read for as long as the context lasts."""

    @contextmanager
    def open_directory(self) -> Iterator[Folder]:
        """The same folder, opened where somebody else could put another in its place."""
        from .open_directory import Folder

        with self.directory() as path, Folder.at(str(path), handles=False) as folder:
            yield folder

    @abc.abstractmethod
    def _listed(self, path: str, below: str = "") -> list[Entry] | None:
        """What the folder at `path` holds, by name, `below` before each; `None` when it is no folder."""

    @abc.abstractmethod
    def _load(self, path: str) -> Loaded | None:
        """The file at a resolved path, or `None` when nothing stands there."""

    @abc.abstractmethod
    def _commit(self, steps: Sequence[Step], author: str | None) -> None:
        """Do all steps or none; a base that is no longer there makes it fail as stale."""

    def read(self, path: str, *, limit: int | None = None) -> bytes:
        """A file's bytes, at most `limit` of them. A file read whole counts as seen: see `apply`."""
        with self.open(path) as file:
            data = file.read() if limit is None else file.read(max(limit, 0))
        if limit is None or len(data) < limit:
            self._note(self.resolve(path), data)
        return data

    def entries(self, path: str = ".", *, below: str = "") -> list[Entry]:
        """What a folder holds, one level, by name, without times; paths are relative to the folder, after `below`."""
        found = self._listed(path, below)
        if found is None:
            raise missing(self, path) if self.entry(path) is None else not_a_directory(path)
        return found

    def write(self, path: str, data: bytes, *, overwrite: bool = True, author: str | None = None) -> Change:
        """Make `data` the whole content of a file."""
        from .transaction_plan import Draft

        with self._writing:
            draft = Draft(self)
            change = draft.write(path, data, overwrite=overwrite)
            self._finish(draft, author)
        return change

    def apply(
        self, operations: Iterable[Operation], *, author: str | None = None, preview: bool = False
    ) -> ChangesOutcome:
        """Do all operations, each seeing what the earlier ones did, or none; one change for each.

        With `preview` nothing is done, and the changes are those that would have been made.

        A file that was read whole through this workspace and has changed since, other than through
        it, is stale: the transaction fails and asks to read it again.
        """
        from .transaction_plan import Draft

        with self._writing:
            draft = Draft(self)
            changes = draft.perform(tuple(operations))
            if not preview:
                self._finish(draft, author)
        return ChangesOutcome(changes, preview)

    def plan(self, operations: Iterable[Operation]) -> tuple[FileChange, ...]:
        """What `apply` would do, with the exact bytes of every file before and after; one change for each operation."""
        from .transaction_plan import Draft

        with self._writing:
            draft = Draft(self)
            draft.perform(tuple(operations))
        return tuple(draft.changes)

    def plan_undo(self, path: str) -> FileChange:
        """What `undo` would do."""
        with self._writing:
            return self._undone(path)[1].changes[-1]

    def undo(self, path: str, *, author: str | None = None) -> ChangesOutcome:
        """Make the last change of a file undone: it is as it was before, or gone if it was not there.

        Only what was changed through this workspace can be undone, and not once somebody else has changed the file.
        """
        with self._writing:
            target, draft = self._undone(path)
            self._finish(draft, author, remembered=False)
            self._changes.forget_last(target)
        return ChangesOutcome((draft.changes[-1].change,))

    def _undone(self, path: str) -> tuple[str, Draft]:
        """The resolved path, and the transaction that undoes its last change."""
        from .transaction_plan import Draft

        target = self.resolve(path)
        last = self._changes.last(target)
        if last is None:
            raise ToolError(
                f"no change of {shown(path)} is remembered that could be undone",
                details={"reason": "nothing_to_undo", "path": path},
            )
        loaded = self._load(target)
        if (None if loaded is None else _digest(loaded.data or b"")) != last.after:
            raise stale(path)
        draft = Draft(self)
        draft.restore(target, last.before)
        return target, draft

    def _finish(self, draft: Draft, author: str | None, *, remembered: bool = True) -> None:
        steps = draft.steps()
        self._commit(steps, author)
        if remembered:
            self._changes.remember(steps)
        results = list(draft.results())
        moved = {path: self._seen[origin] for path, data, origin in results if data is None and origin in self._seen}
        for path, data, _ in results:
            self._note(path, data)
        self._seen |= moved

    def _note(self, path: str, data: bytes | None) -> None:
        """Remember what a resolved path is known to hold: nothing, or something that a draft would hold too."""
        if data is None or len(data) > HELD_LIMIT:
            self._seen.pop(path, None)
        else:
            self._seen[path] = _digest(data)

    def check_fresh(self, path: str, loaded: Loaded) -> None:
        """Fail when the file at a resolved path is not the one that was read."""
        seen = self._seen.get(path)
        if seen is not None and (loaded.data is None or _digest(loaded.data) != seen):
            raise stale(path)

    def check_not_taken_away(self, path: str) -> None:
        """Fail when nothing stands at a resolved path where a file was read; once, for then that is known."""
        if self._seen.pop(path, None) is not None:
            raise ToolError(
                f"{shown(path)} was deleted by somebody else since it was read; nothing was done. "
                "Repeat the change to make it anew.",
                details={"reason": "stale", "path": path},
            )

    def paths(self, path: str = ".") -> Iterator[str]:
        """The files below a folder, as resolved paths, level by level.

        For finding what was meant, not for searching: links are not entered, nor are folders that programs
        fill, or that cannot be read.
        """
        folders = [self.resolve(path)]
        for folder in folders:
            try:
                entries = self._listed(folder)
            except ToolError:
                continue
            for entry in entries or ():
                below = entry.path if folder == "." else f"{folder}/{entry.path}"
                if entry.kind != "directory":
                    yield below
                elif entry.path not in _SELDOM_MEANT:
                    folders.append(below)

    def suggest(self, path: str) -> tuple[str, ...]:
        """Up to five files `path` may have been meant for, likeliest first."""
        from difflib import get_close_matches  # only when something already went wrong

        wanted = path.replace("\\", "/").strip().strip("/").removeprefix("./").lower()[:1024]
        base = wanted.rpartition("/")[2]
        known = {known.lower(): known for known in islice(self.paths(), _SUGGESTED_FROM)}
        by_name: dict[str, list[str]] = {}
        for lowered in known:
            by_name.setdefault(lowered.rpartition("/")[2], []).append(lowered)
        found = [wanted] if wanted in known else []
        found += sorted(by_name.get(base, ()), key=lambda near: (-_shared_end(near, wanted), near))
        found += get_close_matches(wanted, known, n=5, cutoff=0.75)
        for close in get_close_matches(base, by_name, n=5, cutoff=0.7):
            found += sorted(by_name[close])
        return tuple(known[near] for near in dict.fromkeys(found))[:5]

    def same_name(self, path: str) -> str | None:
        """The one file with the base name of `path`; `None` when there is none, or more than one."""
        base = path.replace("\\", "/").rpartition("/")[2]
        found = [known for known in islice(self.paths(), _SUGGESTED_FROM) if known.rpartition("/")[2] == base]
        return found[0] if len(found) == 1 else None


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

    def remember(self, steps: Sequence[Step]) -> None:
        from .transaction_plan import Put, Rename

        moved = [step for step in steps if isinstance(step, Rename)]
        # All leave before any arrives: two files may change places.
        histories = {step.path: self._take(step.origin) for step in moved}
        for path, changes in histories.items():
            self._give(path, changes)
        for step in steps:
            if isinstance(step, Put):
                self._add(step.path, step.base, _digest(step.data))
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


# Folders made by programs: a path is seldom meant for what they hold, and they are large.
_SELDOM_MEANT = frozenset({".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"})


def _shared_end(one: str, other: str) -> int:
    """How many of the last names of two paths are the same."""
    pairs = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    return next((count for count, (a, b) in enumerate(pairs) if a != b), min(one.count("/"), other.count("/")) + 1)


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


# ── paths ────────────────────────────────────────────────────────────────────


def components(path: str) -> list[str]:
    """The names a path is made of, ".." among them; what no tree of files could hold is refused."""
    if not path:
        raise ToolError('an empty path; "." is the root of the workspace', kind="invalid_arguments")
    if "\0" in path:
        raise ToolError(f"a path cannot hold a NUL character: {path!r}", kind="invalid_arguments")
    names = [name for name in path.split("/") if name not in ("", ".")]
    for name in names:
        if len(encoded(name)) > 255:
            shown = f"{name[:40]}…"
            raise ToolError(f"a name in the path is longer than 255 bytes: {shown!r}", kind="invalid_arguments")
    if len(names) > 1000 or len(path) > 4095:
        raise ToolError(f"the path is too long ({len(path)} characters)", kind="invalid_arguments")
    return names


def join(names: Iterable[str]) -> str:
    """Names as the one spelling of a path."""
    return "/".join(names) or "."


def is_reserved(name: str) -> bool:
    """Whether a name is kept for the files a transaction makes on its way."""
    return name.startswith(".dragoman-") and _RESERVED.fullmatch(name) is not None


# ── failures ─────────────────────────────────────────────────────────────────


def outside(path: str, why: str = "it leads out of the workspace") -> ToolError:
    """The path is not of this tree."""
    return ToolError(
        f"{shown(path)} is denied: {why}; use a path inside the workspace",
        kind="denied",
        details={"reason": "outside", "path": path},
    )


def missing(workspace: Workspace, path: str) -> ToolError:
    """Nothing stands at the path: say what is near, or what is there."""
    suggestions = workspace.suggest(path)
    if suggestions:
        advice = "Did you mean " + " or ".join(f'"{near}"' for near in suggestions) + "?"
    else:
        folder, names = _nearest_folder(workspace, path)
        advice = f"{shown(folder)} holds {', '.join(names)}." if names else f"{shown(folder)} is empty."
    return ToolError(
        f"{shown(path)} does not exist. {advice}",
        details={"reason": "not_found", "path": path, "suggestions": list(suggestions)},
    )


def _nearest_folder(workspace: Workspace, path: str) -> tuple[str, list[str]]:
    """The deepest folder of a path that exists, and the first names in it."""
    names = components(workspace.resolve(path))
    while names:
        names.pop()
        entry = workspace.entry(join(names))
        if entry is not None and entry.kind == "directory":
            break
    entries = workspace.entries(join(names))
    listed = [entry.path + ("/" if entry.kind == "directory" else "") for entry in entries[:20]]
    return join(names), listed + ([f"… ({len(entries) - 20} more)"] if len(entries) > 20 else [])


def stale(path: str) -> ToolError:
    """Somebody else changed the file."""
    return ToolError(
        f"{shown(path)} has changed since it was read; nothing was done. Read it again, then repeat the change.",
        details={"reason": "stale", "path": path},
    )


def wrong_kind(path: str, kind: str) -> ToolError:
    """Something other than a file stands at the path."""
    what = {"directory": "a directory", "link": "a symbolic link"}.get(
        kind, "not a regular file (a device, pipe or socket)"
    )
    return ToolError(
        f"{shown(path)} is {what}; a file is needed here",
        details={"reason": "is_directory" if kind == "directory" else "not_a_file", "path": path},
    )


def not_a_directory(path: str) -> ToolError:
    """A file stands where a directory is needed."""
    return ToolError(f"{shown(path)} is a file, not a directory", details={"reason": "not_a_directory", "path": path})


def too_large(path: str, size: int, what: str) -> ToolError:
    """The file cannot be held in memory."""
    return ToolError(
        f"{shown(path)} has {size:,} bytes; files of more than {HELD_LIMIT:,} bytes cannot be {what}",
        details={"reason": "too_large", "path": path, "size": size},
    )


def shown(path: str) -> str:
    """A path as messages quote it: short, and without what would break a line."""
    safe = path if path.isprintable() else path.encode("unicode_escape").decode("ascii")
    return f'"{safe}"' if len(safe) <= 200 else f'"{safe[:100]}…{safe[-99:]}"'
