"""A tree of files as it is read: its paths, what stands there, and whether a file is still the one that was read."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from dragoman.errors import ToolError
from dragoman.model.outcomes import Entry

from .open_directory import Folder
from .paths import HELD_LIMIT, components, join, not_a_directory, shown, stale

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

_SUGGESTED_FROM = 20_000


# Folders made by programs: a path is seldom meant for what they hold, and they are large.
_SELDOM_MEANT = frozenset({".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"})


class Loaded(NamedTuple):
    """A file as a transaction found it; `data` is `None` for what cannot be held (too large, or a link)."""

    data: bytes | None
    stamp: object
    """Equal for as long as nobody changes the file."""
    size: int


class Opened(NamedTuple):
    """A file that was found and opened: its resolved path, its bytes, and how many there are."""

    path: str
    file: BinaryIO
    size: int
    stamp: tuple[int, ...] | None = None
    """That of `Loaded`, where it can be told without reading the file."""


class Passed(NamedTuple):
    """A large file of UTF-8 text that was read once, block by block."""

    stamp: tuple[int, ...]
    size: int
    lines: int


class Tree(abc.ABC):
    """A tree of files that can be read. Paths are relative to its root, with "/", or absolute inside it."""

    name: str
    """What messages call it."""
    forgiving: bool
    """Whether reading a wrong path reads the one file of that base name instead, and says so."""

    def __init__(self, name: str, *, forgiving: bool) -> None:
        self.name, self.forgiving = name, forgiving
        self._seen: dict[str, bytes | Passed] = {}
        """Resolved path → the digest of what it held, or what is known of a large file."""
        self._read: set[str] = set()

    @abc.abstractmethod
    def resolve(self, path: str, *, follow: bool = True) -> str:
        """The one spelling of `path` ("." is the root); it need not exist. Denied when it leads out.

        Links are followed; without `follow` the last name is taken as it is.
        """

    @abc.abstractmethod
    def find(self, path: str) -> Opened | None:
        """The file at `path`, links followed, opened for reading; `None` when nothing is there.

        The path is looked up once: the resolved path, the size and the content are those of one and the same file.
        """

    def open(self, path: str) -> BinaryIO:
        """A file opened for reading; it does not count as seen."""
        return self._opened(path).file

    def _opened(self, path: str) -> Opened:
        found = self.find(path)
        if found is None:
            raise missing(self, path)
        return found

    @abc.abstractmethod
    def entry(self, path: str) -> Entry | None:
        """What stands at `path`, links followed; `None` when nothing does."""

    @abc.abstractmethod
    def directory(self) -> AbstractContextManager[Path]:
        """The tree as a folder of this machine, to be read for as long as the context lasts."""

    @contextmanager
    def open_directory(self) -> Iterator[Folder]:
        """The same folder, opened where somebody else could put another in its place."""
        with self.directory() as path, Folder.at(str(path), handles=False) as folder:
            yield folder

    @abc.abstractmethod
    def _listed(self, path: str, below: str = "") -> list[Entry] | None:
        """What the folder at `path` holds, by name, `below` before each; `None` when it is no folder."""

    @abc.abstractmethod
    def _load(self, path: str) -> Loaded | None:
        """The file at a resolved path, or `None` when nothing stands there."""

    def read(self, path: str, *, limit: int | None = None) -> bytes:
        """A file's bytes, at most `limit` of them. A file read whole counts as seen: see `apply`."""
        found = self._opened(path)
        with found.file as file:
            data = file.read() if limit is None else file.read(max(limit, 0))
        if limit is None or len(data) < limit:
            self.note_seen(found.path, data)
        return data

    def entries(self, path: str = ".", *, below: str = "") -> list[Entry]:
        """What a folder holds, one level, by name, without times; paths are relative to the folder, after `below`."""
        found = self._listed(path, below)
        if found is None:
            raise missing(self, path) if self.entry(path) is None else not_a_directory(path)
        return found

    def note_seen(self, path: str, data: bytes | None, digest: bytes | None = None) -> None:
        """Remember what a resolved path is known to hold: nothing, or something that a draft would hold too."""
        if data is None or len(data) > HELD_LIMIT:
            self._seen.pop(path, None)
        else:
            self._seen[path] = digest or digest_of(data)

    def note_passed(self, path: str, passed: Passed) -> None:
        """Remember what is known of a large file at a resolved path; a digest of it would cost more than reading it."""
        self._seen[path] = passed

    def passed(self, path: str, stamp: tuple[int, ...]) -> Passed | None:
        """What is known of a large file, if it has not changed since."""
        seen = self._seen.get(path)
        return seen if isinstance(seen, Passed) and seen.stamp == stamp else None

    def note_read(self, path: str) -> None:
        """Remember that the file at a resolved path was read, whole or in part."""
        self._read.add(path)

    def was_read(self, path: str) -> bool:
        """Whether the file at a resolved path was read through this workspace, or written."""
        return path in self._read or path in self._seen

    def check_fresh(self, path: str, loaded: Loaded) -> None:
        """Fail when the file at a resolved path is not the one that was read."""
        seen = self._seen.get(path)
        if seen is None:
            return
        if isinstance(seen, Passed):
            fresh = loaded.stamp == seen.stamp
        else:
            fresh = loaded.data is not None and digest_of(loaded.data) == seen
        if not fresh:
            raise stale(path)

    def check_not_taken_away(self, path: str) -> None:
        """Fail when nothing stands at a resolved path where a file was read; once, for then that is known."""
        if self._seen.pop(path, None) is not None:
            raise ToolError(
                f"{shown(path)} was deleted by something else since it was read; nothing was done. "
                "Repeat the change to create it again.",
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


def missing(tree: Tree, path: str) -> ToolError:
    """Nothing stands at the path: say what is near, or what is there."""
    suggestions = tree.suggest(path)
    if suggestions:
        advice = "Did you mean " + " or ".join(f'"{near}"' for near in suggestions) + "?"
    else:
        folder, names = _nearest_folder(tree, path)
        advice = f"{shown(folder)} holds {', '.join(names)}." if names else f"{shown(folder)} is empty."
    return ToolError(
        f"{shown(path)} does not exist. {advice}",
        details={"reason": "not_found", "path": path, "suggestions": list(suggestions)},
    )


def _nearest_folder(tree: Tree, path: str) -> tuple[str, list[str]]:
    """The deepest folder of a path that exists, and the first names in it."""
    names = components(tree.resolve(path))
    while names:
        names.pop()
        entry = tree.entry(join(names))
        if entry is not None and entry.kind == "directory":
            break
    entries = tree.entries(join(names))
    listed = [entry.path + ("/" if entry.kind == "directory" else "") for entry in entries[:20]]
    return join(names), listed + ([f"… ({len(entries) - 20} more)"] if len(entries) > 20 else [])


def _shared_end(one: str, other: str) -> int:
    """How many of the last names of two paths are the same."""
    pairs = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    return next((count for count, (a, b) in enumerate(pairs) if a != b), min(one.count("/"), other.count("/")) + 1)


def digest_of(data: bytes) -> bytes:
    return sha256(data).digest()  # twice as fast as BLAKE2 where the processor has instructions for it
