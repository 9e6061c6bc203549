"""What the files of a folder hold at one moment, to see later which of them changed, whoever changed them.

Rule: a file changed when its content did. A command that writes the same bytes again (`sed -i` that matches nothing)
changed nothing. Only where a folder is too large to be read do size and time of modification decide.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from stat import S_ISDIR, S_ISREG
from typing import Final

import msgspec

from .paths import is_reserved

MOST_FILES: Final = 20_000
"""Files that are looked at; of a larger folder the snapshot is not complete."""
MOST_BYTES: Final = 64 << 20
"""Bytes that are read for one snapshot."""
_PASSED_OVER: Final = frozenset(
    {".hg", ".svn", ".venv", "venv", "__pycache__", "node_modules", ".tox", ".mypy_cache", ".pytest_cache"}
)
_OF_GIT: Final = frozenset({"HEAD", "config", "refs", "packed-refs"})
"""What a user would call a change of a repository; looking at it already rewrites the rest."""

_Stamp = tuple[int, int, int]


class Snapshot(msgspec.Struct, frozen=True):
    """The files and folders below a root: their stamps, and digests of what was read."""

    stamps: Mapping[str, _Stamp]
    digests: Mapping[str, bytes]
    complete: bool
    """Whether all of it was looked at."""

    @classmethod
    def of(cls, root: str, before: Snapshot | None = None) -> Snapshot:
        """The state of a folder now. What is as it was in an earlier snapshot is not read again."""
        stamps: dict[str, _Stamp] = {}
        digests: dict[str, bytes] = {}
        left = MOST_BYTES
        for path, stamp in _walked(root):
            if len(stamps) == MOST_FILES:
                return cls(stamps, digests, complete=False)
            stamps[path] = stamp
            known = None if before is None or before.stamps.get(path) != stamp else before.digests.get(path)
            if known is None and stamp[0] >= 0 and stamp[0] <= left:
                known = _digest(os.path.join(root, path))
                left -= stamp[0]
            if known is not None:
                digests[path] = known
        return cls(stamps, digests, complete=True)

    def changed_since(self, before: Snapshot) -> dict[str, str]:
        """What happened to each path: `created`, `modified` or `deleted`. A new empty folder is `created` too."""
        found: dict[str, str] = {}
        for path in sorted(self.stamps.keys() | before.stamps.keys()):
            now, then = self.stamps.get(path), before.stamps.get(path)
            if now == then:
                continue
            if then is None:
                found[path] = "created"
            elif now is None:
                found[path] = "deleted"
            elif not self._same_content(before, path):
                found[path] = "modified"
        return {path: how for path, how in found.items() if not self._holds(path, found, before)}

    def _same_content(self, before: Snapshot, path: str) -> bool:
        now, then = self.digests.get(path), before.digests.get(path)
        return now is not None and now == then

    def _holds(self, path: str, found: Mapping[str, str], before: Snapshot) -> bool:
        """Whether it is a folder whose change is said by what is in it."""
        stamp = self.stamps.get(path) or before.stamps[path]
        return _is_folder(stamp) and any(other.startswith(f"{path}/") for other in found)


def _is_folder(stamp: _Stamp) -> bool:
    return stamp[0] < 0


def _walked(root: str) -> Iterator[tuple[str, _Stamp]]:
    """Everything below a folder that is not made by tools for themselves. Links are not followed."""
    folders = [""]
    while folders:
        folder = folders.pop()
        in_git = folder == ".git"
        try:
            entries = sorted(os.scandir(os.path.join(root, folder)), key=lambda entry: entry.name)
        except OSError:
            continue  # it is gone, or may not be looked into
        for entry in entries:
            if entry.name in _PASSED_OVER or is_reserved(entry.name) or (in_git and entry.name not in _OF_GIT):
                continue
            path = f"{folder}/{entry.name}" if folder else entry.name
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if S_ISDIR(status.st_mode):
                folders.append(path)
                if path != ".git":
                    yield path, (-1, 0, 0)
            else:
                size = status.st_size if S_ISREG(status.st_mode) else 0
                yield path, (size, status.st_mtime_ns, status.st_ino)


def _digest(path: str) -> bytes | None:
    """A digest of a plain file's content, or of where a link leads; `None` for anything else."""
    try:
        if os.path.islink(path):
            return hashlib.blake2b(os.fsencode(os.readlink(path)), digest_size=16).digest()
        # Opening a named pipe would wait for somebody to write into it.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(handle, "rb") as file:
            if not S_ISREG(os.fstat(handle).st_mode):
                return None
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()
    except OSError:
        return None
